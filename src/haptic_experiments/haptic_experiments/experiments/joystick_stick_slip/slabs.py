"""Computations of two slabs on the joystick, for joystick_stick_slip: the run, networks in its place, and margins.

The computations without nodes are: the library's network with a given velocity of the tool; joystick, hand and network
in the in-process graph, either split like the nodes or with bodies and contacts in one implicit step; and that implicit
step with a sixteenth of the period.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from convex_contact.model.world_source import open_world
from convex_contact.node import worlds_folder
from haptic_bags.bags import Bag
from haptic_core.parameters import entry_values
from haptic_experiments import graph
from haptic_experiments.graph_steps import NetworkStep, Step
from haptic_experiments.kit.composed import SplitAndImplicit
from haptic_files import with_entries
from haptic_files.moved_modules import renamed
from haptic_friction import Body, ContactNetwork, ImplicitNetwork, NetworkRun
from haptic_friction.network_renderer import NetworkRenderer
from haptic_friction.reference import slab_chain
from haptic_friction.reference.networks import EnergyBalance, restlessness
from haptic_friction.reference.slab_chain import QUIET, Lightest, SlabChain, SlabMotion, bisected, lightest

NAMES = ("lower", "upper")
PAPER = (3e4, 300.0)  #: the paper's elements: stiffness [N/m], damping [N s/m]
SWEPT = 4000  #: ticks of the sweeps: the first stroke and most of the slow one back
STIFFEST = 1e3  #: end of the sweep of the contact's stiffness, as a factor
_MOVED = ("FINER", "LIGHTEST", "PARTNERS", "SplitMass")
__getattr__ = renamed(
    __name__,
    {name: f"{slab_chain.__name__}:{name}" for name in _MOVED} | {"StickSlip": f"{slab_chain.__name__}:SlabMotion"},
)


def of_bag(bag: Bag, home: np.ndarray) -> SlabMotion:
    """Takes the ticks that all nodes computed; `home`: positions of the slabs with relaxed springs (2,) [m]."""
    states = [f"{name}/state" for name in ("contact", *NAMES)]
    ticks = bag.ticks("/joystick", "device_state", "simulation_state", *states, least=1)
    device, truth, bodies, *contacts = ticks.values()

    def both(name: str) -> np.ndarray:
        return np.column_stack([contact[name][:, 0] for contact in contacts])

    position, velocity = (bodies[name].reshape(len(ticks.tick), -1, 3)[:, :, 0] for name in ("position", "velocity"))
    return SlabMotion(
        tool=truth["tool_pose"][:, 0],
        base=device["tool_twist"][:, 0],
        position=position - home,
        velocity=velocity,
        force=both("force"),
        displacement=both("elastic_displacement"),
        sticking=both("sticking").astype(bool),
        dissipated=np.array([contact["dissipated_energy"][-1] for contact in contacts]),
    )


class _Network(NetworkStep):
    """A network in the place of a rendering node; it acts on the tool by its first contact."""

    def __init__(self, network: Any) -> None:
        Step.__init__(self, {})
        self.renderer = NetworkRenderer(network, on_base=(-1.0, 0.0))

    def row(self) -> dict[str, Any]:
        network: Any = self.renderer.network
        rows = {"position": network.position, "velocity": network.velocity, "force": network.force}
        return {**rows, "displacement": network.elements.row("displacement"), "sticking": network.elements.sticking}


@dataclass(frozen=True)
class Scene(SlabChain):
    """Slabs of a run on the joystick."""

    delay: int = 0  #: ticks between a command and the period in which it acts
    bag: Bag | None = None  #: bag of the run; None without the joystick

    @classmethod
    def of(cls, bag: Bag) -> tuple[Scene, np.ndarray]:
        """Reads a bag; also returns the positions of the slabs with relaxed springs (2,) [m]."""
        device, contact = bag.parameters("device"), bag.parameters("contact")
        entries = entry_values(contact["world_parameters"])
        slabs = open_world(contact["world"], entries, worlds_folder()).bodies
        contacts = [bag.parameters(name) for name in NAMES]
        scene = cls(
            period=float(device["period"]),
            bodies=[Body(slab.mass, slab.spring_stiffness) for slab in slabs],
            elements=[(p["stiffness"], p["damping"]) for p in contacts],
            limits=np.array([p["friction_force"] for p in contacts]),
            delay=int(device["command_delay_ticks"]) + (bag.custom["mode"] == "realtime"),
            bag=bag,
        )
        return scene, np.array([slab.placement.position[0] for slab in slabs])

    def together(
        self, kind: Callable[..., Any], ticks: int, *, delay: int, smooth: bool = False, **options: Any
    ) -> SlabMotion:
        """Runs the in-process graph of joystick, hand and a network in place of the nodes.

        Args:
            kind: ContactNetwork computes as the nodes do, ImplicitNetwork has no delay.
            ticks: number of periods.
            delay: delay of the force on the tool [ticks].
            smooth: the encoders have no counts.
            **options: options of `network`.
        """
        assert self.bag is not None
        network = self.network(kind, **options)
        entries = self.bag.parameters("device")["device_parameters"]
        if smooth:
            entries = with_entries(entries, {"encoder_resolution": 0.0})
        device = {"command_delay_ticks": delay, "device_parameters": entries}
        built = graph.of_bag(
            self.bag, only=["lower"], changes={"device": device}, steps={"lower": lambda _: _Network(network)}
        )
        done = built.run(ticks, topics=["device_state", "simulation_state", "lower/state"])
        tool, base = done.columns["truth"]["tool_pose"][:, 0], done.columns["device"]["tool_twist"][:, 0]
        made = SlabMotion.of_network(tool, base, NetworkRun(**done.columns["lower"]), network)
        return replace(made, step_time=done.step_time())


def energy(run: SlabMotion, scene: Scene) -> EnergyBalance:
    """Computes the balance of the network's energy; the tool's force acts the delay later."""
    return scene.energy(run, scene.delay)


@dataclass(frozen=True)
class Margins:
    """Costs of the delay."""

    run: Lightest  #: the lightest slabs with the run's contacts
    paper: Lightest  #: the lightest slabs with the paper's contacts
    #: stiffest lower contact that is quiet at the joystick in the hand [N/m]
    stiffest_lower_no_delay: SplitAndImplicit[float]
    stiffest_lower_one_tick_delay: SplitAndImplicit[float]  #: the same with a tick of delay [N/m]
    tried: float  #: stiffest contact that was tried [N/m]

    @property
    def stiffest(self) -> tuple[SplitAndImplicit[float], SplitAndImplicit[float]]:
        """The stiffest contacts, by the delay."""
        return self.stiffest_lower_no_delay, self.stiffest_lower_one_tick_delay


def stiffest(scene: Scene, kind: Callable[..., Any], delay: int) -> float:
    """Finds the stiffest quiet lower contact at the joystick in the hand [N/m], damped in proportion; no counts."""
    K, B = scene.elements[0]

    def calm(factor: float) -> bool:
        elements = [(factor * K, factor * B), scene.elements[1]]
        run = scene.together(kind, SWEPT // 2, delay=delay, smooth=True, elements=elements)
        return restlessness(run.force, scene.limits) < QUIET

    return K * bisected(calm, 0.1, STIFFEST, 8)


def margins(bag: Bag, scene: Scene) -> Margins:
    """Finds the costs of the delay."""
    base, kinds = true_velocity(bag)[:SWEPT], (ContactNetwork, ImplicitNetwork)
    contacts = [SplitAndImplicit(*(stiffest(scene, kind, delay) for kind in kinds)) for delay in (0, 1)]
    return Margins(
        run=lightest(scene, base, scene.elements),
        paper=lightest(scene, base, [PAPER, PAPER]),
        stiffest_lower_no_delay=contacts[0],
        stiffest_lower_one_tick_delay=contacts[1],
        tried=STIFFEST * scene.elements[0][0],
    )


def true_velocity(bag: Bag) -> np.ndarray:
    """Returns the true velocity of the tool along x (n,) [m/s]."""
    return np.asarray(bag.topics["/joystick/simulation_state"]["tool_twist"])[:, 0]
