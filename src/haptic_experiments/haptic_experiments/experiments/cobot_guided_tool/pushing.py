"""A run of `cobot_guided_tool` as arrays, the computations beside it, and measures of motion and forces.

Rows are ticks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from haptic_bags.bags import Bag
from haptic_bags.ticks import Ticks
from haptic_devices.device import DeviceError
from haptic_experiments import graph
from haptic_experiments.experiments.cobot_guided_tool.reference import GuidedStep, RunAwayError
from haptic_experiments.kit.composed import variation
from haptic_experiments.kit.phases import PhasedRun, phased
from haptic_files import with_entries

NAMESPACE = "/cobotic_hand_controller"
#: topics that make a `Pushing`
TOPICS = ("device_state", "constraints/state", "contact/state", "contact/contacts", "friction/state")
#: the resting tool has settled in this time [s], and is let go so long before the end of the press
SETTLED, RAMP = 0.6, 0.4
#: lighter tools that are tried [kg], and for how long: the first push of the hand's plan [s]
LIGHTER, FIRST_PUSH = (0.2, 0.1, 0.05), 2.7


@dataclass(frozen=True)
class Pushing:
    """Motion and forces of a run; rows are ticks, base frame."""

    position: np.ndarray  #: position of the reference (n, 3) [m]
    velocity: np.ndarray  #: velocity of the reference (n, 3) [m/s]
    surface: np.ndarray  #: force of the guide on the tool along its normal (n,) [N]
    contact: np.ndarray  #: force of the bodies on the tool, computed in that tick (n, 3) [N]
    friction: np.ndarray  #: friction on the tool, computed in that tick (n, 3) [N]
    bodies: np.ndarray  #: positions of the bodies in the world frame (n, b, 3) [m]
    slides: np.ndarray  #: whether the friction does not stick (n,)
    step_time: float = math.nan  #: median duration of a tick's rendering [s]; nan if not measured

    @classmethod
    def of_ticks(cls, ticks: Ticks, body: int) -> Pushing:
        """Takes the rows of `TOPICS`, of a bag or of a graph; `body` is the number of the tool in the world."""
        reference, contacts, friction = (ticks[name] for name in ("constraints/state", *TOPICS[3:]))
        n = len(ticks.tick)
        return cls(
            position=reference["pose"][:, :3],
            velocity=reference["twist"][:, :3],
            surface=reference["multipliers"][:, 0],
            contact=np.array([_force_on(contacts, k, body) for k in range(n)]),
            friction=-np.asarray(friction["force"]),
            bodies=np.asarray(ticks["contact/state"]["position"]).reshape(n, -1, 3),
            slides=~np.asarray(friction["sticking"], dtype=bool)[:, 0],
        )


@dataclass(frozen=True)
class GuidedRun(PhasedRun):
    """Signals of a bag."""

    names: list[str]  #: names of the bodies
    did: Pushing  #: motion and forces
    residual: np.ndarray  #: residual of the guide's constraint (n,) [m]
    kinetic_energy: np.ndarray  #: kinetic energy of the tool (n,) [J]
    missed: int  #: number of ticks that some node did not answer
    mode: str  #: mode of the loop

    @classmethod
    def from_bag(cls, bag: Bag) -> GuidedRun:
        """Takes the ticks that all topics have.

        Raises:
            HapticError: There are fewer than two.
        """
        ticks = bag.ticks(NAMESPACE, *TOPICS)
        reference = ticks["constraints/state"]
        return cls(
            **phased(ticks, bag),
            names=[str(name) for name in bag.topics[f"{NAMESPACE}/scene"]["name"][0]],
            did=Pushing.of_ticks(ticks, bag.parameters("constraints")["contact_body"]),
            residual=reference["constraint_residual"],
            kinetic_energy=reference["kinetic_energy"],
            missed=len(bag.topics[f"{NAMESPACE}/device_state"]["tick"]) - len(ticks.tick),
            mode=bag.custom["mode"],
        )


@dataclass(frozen=True)
class Difference:
    """Largest difference of two runs."""

    motion: float  #: distance of the references [m]
    contact: float  #: difference of the contact forces [N]
    friction: float  #: difference of the frictions [N]
    bodies: list[float]  #: largest distance of each body [m]
    bodies_end: list[float]  #: distance of each body in the end [m]


@dataclass(frozen=True)
class Energies:
    """Work on the tool."""

    contact: float  #: work of the contacts [J]
    contact_made: float  #: work that the delayed edge adds to that of the contacts [J]
    friction: float  #: work of the friction [J]
    friction_made: float  #: work that the delayed edge adds to that of the friction [J]


@dataclass(frozen=True)
class Tool:
    """A tool of another mass."""

    mass: float  #: mass [kg]
    #: variation of the contact force from tick to tick [N]; None where the reference runs away from the display
    split: float | None
    implicit: float | None  #: the same in one implicit step [N]


def _force_on(contacts: Mapping[str, Any], k: int, body: int) -> np.ndarray:
    """Sums the forces of all contacts of a row on a body (3,) [N]."""
    a, b = (np.asarray(contacts[name][k]) for name in ("body_a", "body_b"))
    sign = (b == body).astype(float) - (a == body)
    if not sign.any():
        return np.zeros(3)
    normal, tangential = (np.asarray(contacts[n][k]).reshape(-1, 3) for n in ("normal", "tangential_impulse"))
    impulse = np.asarray(contacts["normal_impulse"][k])[:, None] * normal + tangential
    return np.asarray(sign @ impulse / contacts["period"][k])


def split(bag: Bag, ticks: int, mass: float | None = None) -> Pushing:
    """Runs the graph of the nodes.

    Args:
        bag: bag of the run.
        ticks: number of ticks.
        mass: mass of the tool [kg]; None: that of the run.

    Raises:
        DeviceError: The display has stopped, with a mass of its own.
    """
    made = graph.of_bag(bag, changes={"constraints": _constraints(bag, mass)})
    done = made.run(ticks, topics=TOPICS, raise_on_stop=mass is not None)
    did = Pushing.of_ticks(done.ticks(*TOPICS), bag.parameters("constraints")["contact_body"])
    return replace(did, step_time=done.step_time())


def implicit(bag: Bag, ticks: int, mass: float | None = None) -> Pushing:
    """Runs with the tool as a free body of the world, on its guide and with its friction, in one step.

    Args:
        bag, ticks, mass: bag, number of ticks and mass as in `split`.

    Raises:
        RunAwayError: The display does not follow the reference.
        DeviceError: The display has stopped, with a mass of its own.
    """
    step = partial(GuidedStep, contact=bag.parameters("contact"), friction=bag.parameters("friction"))
    changes = {"constraints": _constraints(bag, mass), "device": {"command_delay_ticks": 0}}
    made = graph.of_bag(bag, only=("constraints",), changes=changes, steps={"constraints": step})
    done = made.run(ticks, topics=("constraints/state",), raise_on_stop=mass is not None)
    return Pushing(**done.columns["constraints"], step_time=done.step_time())  # type: ignore[arg-type]


def _constraints(bag: Bag, mass: float | None) -> dict[str, Any]:
    """Returns the parameters of the constraint node that a mass of the tool changes."""
    entries = bag.parameters("constraints")["mechanism_parameters"]
    return {} if mass is None else {"mechanism_parameters": with_entries(entries, {"mass": mass})}


def difference(one: Pushing, other: Pushing) -> Difference:
    """Compares two runs on their common ticks."""
    n = min(len(one.position), len(other.position))
    signals = ("position", "contact", "friction", "bodies")
    *vectors, bodies = (np.linalg.norm(getattr(one, of)[:n] - getattr(other, of)[:n], axis=-1) for of in signals)
    motion, contact, friction = (float(distance.max()) for distance in vectors)
    return Difference(motion, contact, friction, bodies.max(axis=0).tolist(), bodies[-1].tolist())


def energies(run: Pushing, *, late: int) -> Energies:
    """Computes the work of contacts and friction on the tool.

    A force acts on the tool `late` steps after the step in which it is found. World and friction themselves do work
    over the tool's displacement in the step in which it is found; the delay makes, or takes, the difference.
    """
    moved = np.diff(run.position, axis=0)

    def work(force: np.ndarray) -> tuple[float, float]:
        taken = float(np.sum(force[: len(force) - late] * moved[late:]))
        return taken, taken - float(np.sum(force * moved))

    return Energies(*work(run.contact[1:]), *work(run.friction[1:]))


def lighter(bag: Bag, ticks: int) -> list[Tool]:
    """Runs the first push with lighter tools."""

    def varies(play: Callable[[Bag, int, float], Pushing], mass: float) -> float | None:
        try:
            return variation(play(bag, ticks, mass).contact)
        except (RunAwayError, DeviceError):
            return None

    return [Tool(mass, varies(split, mass), varies(implicit, mass)) for mass in LIGHTER]


def rest(run: GuidedRun) -> np.ndarray:
    """Marks the ticks (n,) at which the tool rests pressed, settled."""
    flags = np.zeros(len(run.time), dtype=bool)
    for phase in run.phases:
        if phase["name"] == "press":
            flags[run.part(phase["start"] + SETTLED, phase["end"] - RAMP)] = True
    return flags


def chatter(did: Pushing, part: np.ndarray) -> float:
    """Computes the standard deviation of contact and friction from tick to tick [N], of the worst component."""
    return max(variation(did.contact, part), variation(did.friction, part))


def coefficients(run: GuidedRun) -> dict[str, float]:
    """Computes friction over the guide's force in each pressed slide, where it is farthest from its median."""
    found, did = {}, run.did
    for phase in run.phases:
        part = run.part(phase["start"], phase["end"])
        middle = np.arange(part.start, part.stop)[did.slides[part] & (np.abs(did.surface[part]) > 1.0)]
        if phase["kind"] == "push" and len(middle) > 20:
            share = np.linalg.norm(did.friction[middle], axis=1) / np.abs(did.surface[middle])
            found[phase["name"]] = float(share[np.abs(share - np.median(share)).argmax()])
    return found
