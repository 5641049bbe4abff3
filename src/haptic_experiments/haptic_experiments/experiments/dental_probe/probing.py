"""Arrays of a run of `dental_probe`, also in one process, and measures of taps, of the groove and of the forces."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from convex_contact.scenes import tooth
from convex_contact.scenes.tooth import CUSPS, CuspTap, InGroove, measure_groove, measure_tap
from haptic_bags.bags import Bag
from haptic_bags.ticks import Ticks
from haptic_devices.motions.wall import GROOVE
from haptic_experiments import graph
from haptic_experiments.graph import Graph
from haptic_experiments.graph_steps import Inputs, WallStep
from haptic_experiments.kit.phases import PhasedRun
from haptic_experiments.kit.signals import largest
from haptic_experiments.kit.wall_friction import WallFriction, dissipated
from haptic_files.moved_modules import renamed
from haptic_math.spectra import spectrum_without_mean
from tau_wall_control import MovingPlanes
from tau_wall_control.control.controller import WallController
from tau_wall_control.device.commanded_forces import limited_forces
from tau_wall_control.walls.factory import make_device

__getattr__ = renamed(__name__, {"Tap": f"{tooth.__name__}:CuspTap", "LEFT": f"{tooth.__name__}:LEFT"})
SETTLED = 0.2  #: time from the beginning of a phase until the tool has settled in the groove [s]
TREMOR = 15.0  #: largest frequency of the hand's tremor [Hz]
#: topics that make a `Probing`
TOPICS = ("device_state", "simulation_state", "contact/planes", "wall/state", "friction/state")


@dataclass(frozen=True)
class Probing(PhasedRun):
    """Motion and forces of a run; rows are ticks."""

    position: np.ndarray  #: true position of the tool (n, 3) [m]
    velocity: np.ndarray  #: true velocity of the tool (n, 3) [m/s]
    push: np.ndarray  #: normal force of each cusp (n, 4) [N]
    contact: np.ndarray  #: flags of contact with each cusp (n, 4)
    friction: np.ndarray  #: friction on the tool (n, 3) [N]
    dissipated: float  #: energy that the friction dissipated [J]
    effort: np.ndarray = field(default_factory=lambda: np.zeros((0, 6)))  #: sum of the commanded efforts (n, 6) [N m]
    #: force of wall and friction on the tool, within the motors' limits (n, 3) [N]; empty in a graph
    force: np.ndarray = field(default_factory=lambda: np.zeros((0, 3)))
    #: power of both on the tool (n,) [W]; empty in a graph
    power: np.ndarray = field(default_factory=lambda: np.zeros(0))
    #: median times of a tick's planes and of its rendering [s]; empty if not measured
    step_time: dict[str, float] = field(default_factory=dict)

    def at(self, ticks: np.ndarray) -> Probing:
        """Selects some of the ticks."""
        names = ("time", "position", "velocity", "push", "contact", "friction", "effort")
        return replace(self, **{name: getattr(self, name)[ticks] for name in names if len(getattr(self, name))})

    def span(self, name: str, after: float = 0.0) -> slice:
        """Finds the samples of a phase from a time [s] after its beginning on; empty without the phase."""
        for phase in self.phases:
            if phase["name"] == name:
                return self.part(phase["start"] + after, phase["end"])
        return slice(0, 0)


@dataclass(frozen=True)
class Difference:
    """Largest difference of two runs."""

    motion: float  #: largest distance of the tools [m]
    motion_in_the_groove: float  #: largest distance while they are in the groove [m]
    push: float  #: largest difference of the pushes [N]
    friction: float  #: largest difference of the frictions [N]
    dissipated: float  #: difference of the dissipated energies [J]


def _probing(ticks: Ticks, phases: list[dict[str, Any]], friction: str = "friction/state") -> Probing:
    """Reads a bag or a graph without efforts; `friction` is the topic with the friction.

    Without the topic of the planes there is one plane, which counts as the first cusp.
    """
    truth, wall, n = ticks["simulation_state"], ticks["wall/state"], len(ticks.tick)
    keys = ticks["contact/planes"]["key"] if "contact/planes" in ticks else [[0]] * n
    push, contact = np.zeros((n, CUSPS)), np.zeros((n, CUSPS), dtype=bool)
    for row, (key, pressing, touching) in enumerate(zip(keys, wall["push"], wall["in_contact"], strict=True)):
        if len(key) == len(pressing):
            key = np.asarray(key, dtype=int)
            push[row, key], contact[row, key] = pressing, touching
    if "dissipated_energy" in ticks[friction]:
        energy = float(ticks[friction]["dissipated_energy"][-1])
    else:
        energy = dissipated(ticks[friction]["force"], ticks["device_state"]["tool_twist"][:, :3], ticks.period)
    return Probing(
        period=ticks.period,
        time=ticks.time,
        phases=phases,
        position=truth["tool_pose"][:, :3],
        velocity=truth["tool_twist"][:, :3],
        push=push,
        contact=contact,
        friction=-np.asarray(ticks[friction]["force"]),
        dissipated=energy,
    )


def of_bag(bag: Bag) -> Probing:
    """Reads a recorded run."""
    ticks = bag.ticks("/tau", *TOPICS)
    run, device = _probing(ticks, bag.started("device").get("phases", [])), ticks["device_state"]
    effort, force, power = limited_forces(
        make_device(bag.parameters("wall")),
        device["tool_pose"],
        device["joint_velocity"],
        np.array(ticks["wall/state"]["effort"]),
        run.friction,
    )
    energy = float(bag.topics["/tau/friction/state"]["dissipated_energy"][-1])
    return replace(run, effort=effort, force=force, power=power, dissipated=energy)


def of_graph(made: Graph, ticks: np.ndarray, phases: list[dict[str, Any]], friction: str = "friction/state") -> Probing:
    """Runs the single-process reference and selects some ticks; the efforts are the sum of all steps' commands."""
    planes = ("contact/planes",) if "contact" in made.steps else ()
    topics = ("device_state", "simulation_state", *planes, "wall/state", friction)
    efforts: list[np.ndarray] = []

    def observe(graph: Graph) -> None:
        efforts.append(graph.loop.collector.effort(graph.loop.device.jacobian()).copy())

    done = made.run(int(ticks[-1]) + 1, topics=topics, observe=observe)
    rendering = [name for name in made.steps if name != "contact"]
    planning = done.step_time("contact") if planes else 0.0
    spent = {"planes": planning, "rendering": done.step_time(*rendering)}
    run = _probing(done.ticks(*topics), phases, friction)
    return replace(run, effort=np.array(efforts), step_time=spent).at(ticks)


class FlatWallStep(WallStep):
    """`wall_node` with one plane that stands still at the groove's height."""

    def __init__(self, values: Mapping[str, Any], *, controller: WallController) -> None:
        super().__init__({**values, "inputs": ["contact:planes"]}, controller=controller)
        self.values = values

    def planes(self, reading: Any, inputs: Inputs) -> MovingPlanes:
        return MovingPlanes([0], [GROOVE], [[0.0, 0.0, 1.0]], [[0.0, 0.0, 0.0]], [0.0], [0])


def difference(one: Probing, other: Probing) -> Difference:
    """Compares two runs at the same ticks."""
    rest = one.named("rest", "along", "back", "to the pit", "out of")
    apart = np.linalg.norm(one.position - other.position, axis=1)
    return Difference(
        motion=largest(apart),
        motion_in_the_groove=largest(apart[rest]),
        push=largest(one.push - other.push),
        friction=largest(one.friction - other.friction),
        dissipated=one.dissipated - other.dissipated,
    )


def distances(geometry: Any, position: np.ndarray) -> np.ndarray:
    """Measures the distance (n,) [m] of points (n, 3) [m] from a geometry's nearest plane; infinite without any."""
    return np.array([geometry.planes(p).signed_distance.min(initial=np.inf) for p in position])


def taps(run: Probing, distance: np.ndarray) -> list[CuspTap]:
    """Measures each tap; `distance` is that of the true tool from the tooth (n,) [m]."""
    ends = [phase for phase in run.phases if phase["name"].endswith("let go") and "tap" in phase["name"]]
    parts = [(phase["name"].split(",")[0], run.part(phase["start"] - 0.01, phase["end"])) for phase in ends]
    found = [measure_tap(run.velocity, run.force, distance, part, name) for name, part in parts]
    return [tap for tap in found if tap is not None]


def groove(run: Probing, distance: np.ndarray, radius: float) -> dict[str, InGroove]:
    """Measures each phase in the groove; rests are phases of their own."""
    numbers: dict[str, InGroove] = {}
    for name in ("rest in the groove", "along the groove", "back", "to the pit", "rest in the pit", "out of the pit"):
        part = run.span(name, SETTLED)
        if part.stop - part.start < 10:
            continue
        signals = run.position[part], distance[part], run.contact[part], run.push[part] > 0.0
        numbers[name] = measure_groove(*signals, radius)
    return numbers


def jerk(run: Probing) -> float:
    """Measures the largest change of a torque from tick to tick while the tip slides along the groove [N m]."""
    slides = [run.effort[run.span(name, SETTLED)] for name in ("along the groove", "back")]
    return max(largest(np.diff(effort, axis=0)) if len(effort) > 2 else 0.0 for effort in slides)


def spectrum(run: Probing, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Computes frequencies [Hz] and amplitudes [N] of the normal force of all planes while the tip rests."""
    push = run.push[run.span(name, SETTLED)].sum(axis=1)
    return spectrum_without_mean(push, run.period) if len(push) >= 16 else (np.zeros(0), np.zeros(0))


def ringing_of(run: Probing, name: str) -> float:
    """Measures the largest line of the normal force above the hand's tremor [N]."""
    frequency, amplitude = spectrum(run, name)
    return float(amplitude[frequency > TREMOR].max(initial=0.0))


def flat_graph(bag: Bag, scene: WallFriction) -> Graph:
    """Makes the graph of a run whose wall is flat."""
    wall = partial(FlatWallStep, controller=scene.controller)
    return graph.of_bag(bag, only=("wall", "friction"), steps={"wall": wall})


def until_rest(run: Probing) -> np.ndarray:
    """Marks the ticks of the first rest in the groove in which the tool has settled; the flags end with the rest."""
    for phase in run.phases:
        if phase["name"] == "rest in the groove":
            first, end = (round(time / run.period) for time in (phase["start"] + SETTLED, phase["end"]))
            return np.arange(end) >= first
    return np.zeros(1, dtype=bool)
