"""A stack of ten stiff boxes stays up with every approximation.

Flat faces are where discrete contact falls over: a corner that does not overlap at the start of a step is no contact,
the others carry the load, the box rocks onto it, and the next step begins with other corners. Here all corners near
each other are in the problem, whether they overlap or not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from convex_contact import Material, Simulator, World

GRAVITY, SIDE = 9.81, 0.1
EQUAL, HEAVY_ON_TOP, LIGHT_ON_TOP = np.ones(10), np.geomspace(1.0, 1e3, 10), np.geomspace(1e3, 1.0, 10)
ONE_HEAVY = np.r_[np.ones(9), 1e4]


@dataclass
class Stack:
    """Boxes on a plane; every second one is `offset` beside the axis, each a `lift` (m) above where it will rest."""

    masses: np.ndarray
    stiffness: float
    offset: float = 0.0
    lift: float = 0.0

    @property
    def rest(self) -> np.ndarray:
        """Heights of the centres at rest: four corners of stiffness k bear the load at each interface."""
        load = GRAVITY * np.cumsum(self.masses[::-1])[::-1]
        return SIDE * (np.arange(10) + 0.5) - np.cumsum(load / (4.0 * self.stiffness))

    def simulator(self, period: float, approximation: str, **options: Any) -> Simulator:
        surface = Material(stiffness=2.0 * self.stiffness, dissipation=10.0, relaxation_time=5e-5, friction=0.5)
        world = World((0.0, 0.0, -GRAVITY))
        world.add_half_space("ground", material=surface)
        for k, (mass, height) in enumerate(zip(self.masses, self.rest, strict=True)):
            position = (self.offset * (k % 2), 0.0, height + self.lift * (k + 1))
            world.add_box(f"box {k}", size=(SIDE,) * 3, mass=float(mass), position=position, material=surface)
        return Simulator(world, period=period, approximation=approximation, **options)

    def energy(self, sim: Simulator) -> float:
        """Returns the kinetic energy and that of the heights over rest, without that of the springs [J]."""
        q, v = sim.dynamics.arrays.q.reshape(-1, 7), sim.dynamics.arrays.v.reshape(-1, 6)
        inertia = self.masses * SIDE**2 / 6.0
        motion = self.masses @ (v[:, :3] ** 2).sum(axis=1) + inertia @ (v[:, 3:] ** 2).sum(axis=1)
        return float(0.5 * motion + GRAVITY * self.masses @ (q[:, 2] - self.rest))


@dataclass
class Run:
    """Largest motion sideways (m), tilt (rad) and distance from the height at rest (m) at the end; energies (n,), J."""

    sideways: float
    tilt: float
    height: float
    energies: np.ndarray


def run(stack: Stack, period: float, approximation: str, seconds: float, **options: Any) -> Run:
    """The stack after some time."""
    sim = stack.simulator(period, approximation, **options)
    start, energies = sim.body_states()[0][1:], [stack.energy(sim)]
    for _ in range(round(seconds / period)):
        sim.step()
        energies.append(stack.energy(sim))
    position, orientation = (part[1:] for part in sim.body_states()[:2])
    return Run(
        float(np.abs(position - start)[:, :2].max()),
        2.0 * float(np.linalg.norm(orientation[:, :3], axis=1).max()),
        float(np.abs(position[:, 2] - stack.rest).max()),
        np.array(energies),
    )


STIFF = [(1e9, 1e-3), (1e12, 1e-3), (1e12, 1e-2)]


@pytest.mark.slow
@pytest.mark.covering(3)
@pytest.mark.parametrize(("stiffness", "period"), STIFF)
def test_at_rest_it_stays(approximation: str, stiffness: float, period: float) -> None:
    """Overlaps are 2.5 pm at the least, ten thousand times the rounding of the heights."""
    for masses in (EQUAL, HEAVY_ON_TOP, LIGHT_ON_TOP, ONE_HEAVY):
        stack = Stack(masses, stiffness)
        r = run(stack, period, approximation, 3.0 if period > 1e-3 else 0.5)
        assert r.height < 1e-14  # a hundred times the rounding of a height
        # a patch's corners come from GJK to 1e-10 m: a lever that makes a moment, and the soft norm yields to it
        assert r.sideways < 1e-7 and r.tilt < 1e-8
        scale = GRAVITY * SIDE * masses.sum()  # what it takes to lift all by the size of a box
        assert np.abs(r.energies).max() < 1e-11 * scale


@pytest.mark.covering(3)
@pytest.mark.parametrize(("stiffness", "period"), [(1e7, 2e-3), (1e10, 1e-2), (1e12, 1e-3)])
def test_dropped_it_settles(approximation: str, stiffness: float, period: float) -> None:
    """Ten gaps of 1 mm close one after the other. Implicit Euler and dissipation only take energy away."""
    stack = Stack(EQUAL, stiffness, lift=1e-3)
    r = run(stack, period, approximation, 1.0)
    assert r.height < 1e-12 and r.sideways < 1e-8 and r.tilt < 1e-8
    assert r.energies.max() <= r.energies[0] * (1.0 + 1e-9)
    assert r.energies[0] == pytest.approx(GRAVITY * 1e-3 * 55.0) and np.abs(r.energies[-1]) < 1e-10


@pytest.mark.covering(3)
@pytest.mark.parametrize(("stiffness", "period"), [(1e7, 2e-3), (1e10, 1e-2), (1e12, 1e-3)])
def test_a_staggered_one_stands(approximation: str, stiffness: float, period: float) -> None:
    """Faces overlap by 7 of 10 cm. The springs give way by the weight over k, and the top leans by a few times that."""
    stack = Stack(EQUAL, stiffness, offset=0.3 * SIDE)
    r = run(stack, period, approximation, 1.0)
    give = GRAVITY * stack.masses.sum() / stiffness
    assert r.height < give and 0.1 * give < r.sideways < 10.0 * give and r.tilt < 10.0 * give / SIDE


def test_with_pairs_that_overlap_alone_it_is_thrown_up() -> None:
    """A box that falls 1 mm in a period ends deep in the next box, and SAP throws it out unless all pairs are found."""
    stack = Stack(EQUAL, 1e10, lift=1e-4)
    assert run(stack, 1e-2, "sap", 0.5).energies.max() < 0.06
    assert run(stack, 1e-2, "sap", 0.5, threshold=1e-13).energies.max() > 1.0


@pytest.mark.parametrize("approximation", ["lagged", "sap"])
def test_at_rest_newton_mostly_has_nothing_to_do_until_a_force_acts(approximation: str) -> None:
    """The residual at rest of boxes of 1 and 1000 kg in turn is rounding; a force of 1e-8 of the top's weight is not.

    The force relieves each of the ten interfaces, whose four corners have the stiffness 4 k together.
    """
    stack = Stack(np.where(np.arange(10) % 2, 1e3, 1.0), 1e7)
    sim = stack.simulator(2e-3, approximation)
    sim.step(100)
    iterations = []
    for _ in range(100):
        sim.step()
        iterations.append(sim.statistics.iterations)
    assert np.mean(iterations) < 0.5
    force = 1e-8 * GRAVITY * stack.masses[9]
    sim.apply_wrench("box 9", force=(0.0, 0.0, force))
    height = sim.state("box 9").position[2]
    sim.step(2000)
    risen = sim.state("box 9").position[2] - height
    assert risen == pytest.approx(10 * force / (4.0 * stack.stiffness), rel=0.05)


def test_at_rest_a_residual_above_the_bound_of_rounding_is_not_taken_for_one_below_it() -> None:
    """1e-13 of the weight makes ten times the residual that has passed for rounding before, far below any tolerance."""
    stack = Stack(EQUAL, 1e7)
    sim = stack.simulator(2e-3, "lagged")
    sim.step(300)
    assert sim.statistics.iterations == 0
    sim.apply_wrench("box 9", force=(0.0, 0.0, 1e-13 * GRAVITY * stack.masses.sum()))
    sim.step()
    assert sim.statistics.iterations == 1
