"""Two slabs in a row on a moving base as a network of contacts (section IV-A of Kikuuwe et al.), and its stability.

The network steps in turn like nodes that exchange forces, or bodies and contacts step together (implicit); the limits
are the lightest slabs that each of the two moves quietly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from haptic_friction.laws import CoulombLaw
from haptic_friction.models.model_c import ModelC
from haptic_friction.network import BASE, Body, Contact, ContactNetwork, ImplicitNetwork, NetworkRun
from haptic_friction.reference.networks import EnergyBalance, energy_balance, restlessness, stuck_radius

PARTNERS = ((BASE, 0), (0, 1))
#: steps of the fine computation in one period
FINER = 16
#: a contact is quiet while its force changes so from tick to tick, RMS over the friction force
QUIET = 0.1
#: end of the search for the lightest slabs: factor on the mass
LIGHTEST = 1e-3


@dataclass(frozen=True)
class SlabMotion:
    """Motion and forces of a run or of a computation; n ticks, two slabs, two contacts (lower, upper).

    Attributes:
        tool: True position of the base along x [m], shape (n,).
        base: velocity of the base as the network has it [m/s], shape (n,).
        position: positions of the slabs along x [m], shape (n, 2).
        velocity: velocities of the slabs along x [m/s], shape (n, 2).
        force: forces of the contacts [N], shape (n, 2).
        displacement: elastic displacements of the contacts [m], shape (n, 2).
        sticking: flags of the contacts, shape (n, 2).
        dissipated: energy that each contact dissipated over the run [J], shape (2,).
        step_time: median duration of a step of the network [s]; NaN if not measured.
    """

    tool: np.ndarray
    base: np.ndarray
    position: np.ndarray
    velocity: np.ndarray
    force: np.ndarray
    displacement: np.ndarray
    sticking: np.ndarray
    dissipated: np.ndarray
    step_time: float = float("nan")

    @classmethod
    def of_network(
        cls, tool: np.ndarray, base: np.ndarray, run: NetworkRun, network: Any, every: int = 1
    ) -> SlabMotion:
        """Takes every so many steps of a network that was led by a tool."""
        x, v, f, e, sticking = (values[every - 1 :: every] for values in run)
        dissipated = network.elements.dissipated_energy.copy()
        return cls(tool, base, x[:, :, 0], v[:, :, 0], f[:, :, 0], e[:, :, 0], sticking, dissipated)


@dataclass(frozen=True)
class SlabChain:
    """Numbers of two slabs, and their computations.

    Attributes:
        period: T [s].
        bodies: slabs.
        elements: stiffness [N/m] and damping [N s/m] of the contacts.
        limits: friction forces of the contacts [N], shape (2,).
    """

    period: float
    bodies: list[Body]
    elements: list[tuple[float, float]]
    limits: np.ndarray

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
            elements: stiffness and damping of the contacts; those of the run if not given.
            lighter: factor on the masses.
            finer: steps in one period.
            **options: options of ContactNetwork.
        """
        period = self.period / finer
        contacts = [
            Contact(*partners, ModelC(CoulombLaw(F), stiffness=K, damping=B, period=period))
            for partners, F, (K, B) in zip(PARTNERS, self.limits, elements or self.elements, strict=True)
        ]
        if kind is ContactNetwork:
            options.setdefault("implicit_springs", True)
        return kind([Body(lighter * body.mass, body.stiffness) for body in self.bodies], contacts, **options)

    def played(self, base: np.ndarray, tool: np.ndarray, **options: Any) -> SlabMotion:
        """Simulates the split network with a given velocity of the tool."""
        network = self.network(**options)
        return SlabMotion.of_network(tool, base, network.simulate(base[:, None]), network)

    def fine(self, base: np.ndarray, tool: np.ndarray) -> SlabMotion:
        """Simulates the implicit network with shorter steps; the tool's velocity is linear between the ticks."""
        network, n = self.network(ImplicitNetwork, finer=FINER), len(base)
        u = np.interp(np.arange(1, FINER * n + 1) / FINER, np.arange(n + 1), np.concatenate([[0.0], base]))
        return SlabMotion.of_network(tool, base, network.simulate(u[:, None]), network, FINER)

    def energy(self, run: SlabMotion, delay: int = 0) -> EnergyBalance:
        """Computes the balance of the slabs' energy; the force on the base acts some ticks of delay later."""
        stiffness, damping = np.array(self.elements).T
        return energy_balance(
            run.tool,
            np.concatenate([np.zeros(delay), run.force[: len(run.force) - delay, 0]]),
            run.position,
            run.velocity,
            run.displacement,
            mass=np.array([body.mass for body in self.bodies]),
            spring=np.array([body.stiffness for body in self.bodies]),
            stiffness=stiffness,
            damping=damping,
            dissipated=float(run.dissipated.sum()),
            period=self.period,
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
    """Factor on the slabs' masses down to which the split network is quiet.

    Attributes:
        stuck_map: by its linear map while both contacts stick.
        simulated: by simulation.
    """

    stuck_map: float
    simulated: float


@dataclass(frozen=True)
class Lightest:
    """Factors on the slabs' masses down to which networks are quiet.

    Attributes:
        one_tick: of the split network.
        two_ticks: of the split network with a tick of delay.
        implicit: of the implicit network; `LIGHTEST` if it is quiet everywhere.
    """

    one_tick: SplitMass
    two_ticks: SplitMass
    implicit: float

    @property
    def split(self) -> tuple[SplitMass, SplitMass]:
        """The split network's, by the delay."""
        return self.one_tick, self.two_ticks


def lightest(chain: SlabChain, base: np.ndarray, elements: list[tuple[float, float]]) -> Lightest:
    """Finds the lightest slabs that stay quiet.

    Args:
        chain: the slabs.
        base: velocity of the base without counts of an encoder [m/s], shape (n,).
        elements: stiffness [N/m] and damping [N s/m] of the contacts.
    """

    def calm(lighter: float, kind: Callable[..., Any], **options: Any) -> bool:
        network = chain.network(kind, elements=elements, lighter=lighter, **options)
        return restlessness(network.simulate(base[:, None]).force[:, :, 0], chain.limits) < QUIET

    def stable(lighter: float, delay: int) -> bool:
        return stuck_radius(chain.network(elements=elements, lighter=lighter, delay=delay)) < 1.0

    def split(delay: int) -> SplitMass:
        by_map = bisected(partial(stable, delay=delay), 10.0, LIGHTEST, 30)
        return SplitMass(by_map, bisected(partial(calm, kind=ContactNetwork, delay=delay), 10.0, LIGHTEST))

    return Lightest(split(0), split(1), bisected(partial(calm, kind=ImplicitNetwork), 10.0, LIGHTEST))
