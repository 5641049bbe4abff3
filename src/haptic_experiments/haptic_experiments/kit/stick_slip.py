"""Computations of two slabs on the joystick, for joystick_stick_slip: the run, networks in its place, and margins.

The computations without nodes are: the library's network with a given velocity of the tool; joystick, hand and network
in the in-process graph, either split like the nodes or with bodies and contacts in one implicit step; and that implicit
step with a sixteenth of the period.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
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
from haptic_friction import BASE, Body, Contact, ContactNetwork, CoulombLaw, ImplicitNetwork, ModelC, NetworkRun
from haptic_friction.network_renderer import NetworkRenderer
from haptic_friction.reference.networks import EnergyBalance, energy_balance, restlessness, stuck_radius

NAMES = ("lower", "upper")
PARTNERS = ((BASE, 0), (0, 1))
#: steps of the fine computation in one period
FINER = 16
#: a contact is quiet while its force changes so from tick to tick, RMS over the friction force
QUIET = 0.1
#: the paper's elements: stiffness [N/m], damping [N s/m]
PAPER = (3e4, 300.0)
#: ticks of the sweeps: the first stroke and most of the slow one back
SWEPT = 4000
#: ends of the sweeps: factor on the mass, and on the stiffness
LIGHTEST, STIFFEST = 1e-3, 1e3


@dataclass(frozen=True)
class StickSlip:
    """Motion and forces of a run or of a computation; n ticks, two slabs, two contacts (lower, upper)."""

    tool: np.ndarray  #: true position of the tool along x (n,) [m]
    base: np.ndarray  #: measured velocity of the tool (n,) [m/s]
    position: np.ndarray  #: positions of the slabs along x (n, 2) [m]
    velocity: np.ndarray  #: velocities of the slabs along x (n, 2) [m/s]
    force: np.ndarray  #: forces of the contacts (n, 2) [N]
    displacement: np.ndarray  #: elastic displacements of the contacts (n, 2) [m]
    sticking: np.ndarray  #: flags (n, 2)
    dissipated: np.ndarray  #: energy that each contact dissipated over the run (2,) [J]
    step_time: float = float("nan")  #: median duration of a step of the network [s]; nan if not measured

    @classmethod
    def of_network(cls, tool: np.ndarray, base: np.ndarray, run: NetworkRun, network: Any, every: int = 1) -> StickSlip:
        """Takes every so many steps of a network that was led by a tool."""
        x, v, f, e, sticking = (values[every - 1 :: every] for values in run)
        dissipated = network.elements.dissipated_energy.copy()
        return cls(tool, base, x[:, :, 0], v[:, :, 0], f[:, :, 0], e[:, :, 0], sticking, dissipated)

    @classmethod
    def of_bag(cls, bag: Bag, home: np.ndarray) -> StickSlip:
        """Takes the ticks that all nodes computed; `home`: positions of the slabs with relaxed springs (2,) [m]."""
        states = [f"{name}/state" for name in ("contact", *NAMES)]
        ticks = bag.ticks("/joystick", "device_state", "simulation_state", *states, least=1)
        device, truth, bodies, *contacts = ticks.values()

        def both(name: str) -> np.ndarray:
            return np.column_stack([contact[name][:, 0] for contact in contacts])

        position, velocity = (
            bodies[name].reshape(len(ticks.tick), -1, 3)[:, :, 0] for name in ("position", "velocity")
        )
        return cls(
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
class Scene:
    """Numbers of a run, and its computations."""

    period: float  #: T [s]
    bodies: list[Body]  #: slabs
    elements: list[tuple[float, float]]  #: stiffness [N/m] and damping [N s/m] of the contacts
    limits: np.ndarray  #: their friction forces (2,) [N]
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

    def network(
        self,
        kind: Callable[..., Any] = ContactNetwork,
        *,
        elements: list[tuple[float, float]] | None = None,
        lighter: float = 1.0,
        finer: int = 1,
        **options: Any,
    ) -> Any:
        """Makes a network like the nodes': springs implicit.

        Args:
            kind: ContactNetwork or ImplicitNetwork.
            elements: Stiffness and damping of the contacts; those of the run if not given.
            lighter: Factor on the masses.
            finer: Steps in one period.
            **options: Options of ContactNetwork.
        """
        period = self.period / finer
        contacts = [
            Contact(*partners, ModelC(CoulombLaw(F), stiffness=K, damping=B, period=period))
            for partners, F, (K, B) in zip(PARTNERS, self.limits, elements or self.elements, strict=True)
        ]
        if kind is ContactNetwork:
            options.setdefault("implicit_springs", True)
        return kind([Body(lighter * body.mass, body.stiffness) for body in self.bodies], contacts, **options)

    def played(self, base: np.ndarray, tool: np.ndarray, **options: Any) -> StickSlip:
        """Simulates the split network with a given velocity of the tool."""
        network = self.network(**options)
        return StickSlip.of_network(tool, base, network.simulate(base[:, None]), network)

    def fine(self, base: np.ndarray, tool: np.ndarray) -> StickSlip:
        """Simulates the implicit network with shorter steps; the tool's velocity is linear between the ticks."""
        network, n = self.network(ImplicitNetwork, finer=FINER), len(base)
        u = np.interp(np.arange(1, FINER * n + 1) / FINER, np.arange(n + 1), np.concatenate([[0.0], base]))
        return StickSlip.of_network(tool, base, network.simulate(u[:, None]), network, FINER)

    def together(
        self, kind: Callable[..., Any], ticks: int, *, delay: int, smooth: bool = False, **options: Any
    ) -> StickSlip:
        """Runs the in-process graph of joystick, hand and a network in place of the nodes.

        Args:
            kind: ContactNetwork computes as the nodes do, ImplicitNetwork has no delay.
            ticks: Number of periods.
            delay: Delay of the force on the tool [ticks].
            smooth: The encoders have no counts.
            **options: Options of `network`.
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
        made = StickSlip.of_network(tool, base, NetworkRun(**done.columns["lower"]), network)
        return replace(made, step_time=done.step_time())


def energy(run: StickSlip, scene: Scene) -> EnergyBalance:
    """Computes the balance of the network's energy; the tool's force acts the delay later."""
    stiffness, damping = np.array(scene.elements).T
    return energy_balance(
        run.tool,
        np.concatenate([np.zeros(scene.delay), run.force[: len(run.force) - scene.delay, 0]]),
        run.position,
        run.velocity,
        run.displacement,
        mass=np.array([body.mass for body in scene.bodies]),
        spring=np.array([body.stiffness for body in scene.bodies]),
        stiffness=stiffness,
        damping=damping,
        dissipated=float(run.dissipated.sum()),
        period=scene.period,
    )


def bisected(quiet: Callable[[float], bool], good: float, bad: float, steps: int = 9) -> float:
    """Bisects for the last quiet factor from a good one towards a bad one; nan if the good one is not quiet."""
    if not quiet(good):
        return float("nan")
    if quiet(bad):
        return bad
    for _ in range(steps):
        middle = float(np.sqrt(good * bad))
        good, bad = (middle, bad) if quiet(middle) else (good, middle)
    return good


@dataclass(frozen=True)
class SplitMass:
    """Factor on the slabs' masses down to which the split network is quiet: by its linear map, and simulated."""

    stuck_map: float
    simulated: float


@dataclass(frozen=True)
class Lightest:
    """Factors on the slabs' masses down to which networks are quiet."""

    one_tick: SplitMass  #: factors of the split network
    two_ticks: SplitMass  #: factors of the split network with a tick of delay
    implicit: float  #: factor of the implicit network; `LIGHTEST` if it is quiet everywhere

    @property
    def split(self) -> tuple[SplitMass, SplitMass]:
        """The split network's, by the delay."""
        return self.one_tick, self.two_ticks


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


def lightest(scene: Scene, base: np.ndarray, elements: list[tuple[float, float]]) -> Lightest:
    """Finds the lightest slabs.

    The true velocity of the tool drives the simulations, so that no encoder counts disturb them.
    """

    def calm(lighter: float, kind: Callable[..., Any], **options: Any) -> bool:
        network = scene.network(kind, elements=elements, lighter=lighter, **options)
        return restlessness(network.simulate(base[:, None]).force[:, :, 0], scene.limits) < QUIET

    def stable(lighter: float, delay: int) -> bool:
        return stuck_radius(scene.network(elements=elements, lighter=lighter, delay=delay)) < 1.0

    def split(delay: int) -> SplitMass:
        by_map = bisected(partial(stable, delay=delay), 10.0, LIGHTEST, 30)
        return SplitMass(by_map, bisected(partial(calm, kind=ContactNetwork, delay=delay), 10.0, LIGHTEST))

    return Lightest(split(0), split(1), bisected(partial(calm, kind=ImplicitNetwork), 10.0, LIGHTEST))


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
