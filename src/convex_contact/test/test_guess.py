"""The guess of a step's velocity: even motion takes fewer Newton steps, and memory of it is part of the state."""

from __future__ import annotations

import numpy as np
import pytest

from convex_contact import Material, Simulator, World
from convex_contact.solver.workspace import forget

PERIOD, MU, GRAVITY = 2e-3, 0.3, 9.81


def sliding(approximation: str) -> Simulator:
    """Two boxes on a floor, of which one is pulled so that it slides from the start with a constant acceleration."""
    world, material = World(gravity=(0.0, 0.0, -GRAVITY)), Material(friction=MU)
    world.add_half_space("floor", material=material)
    for name, y in (("pulled", 0.0), ("resting", 1.0)):
        world.add_box(name, mass=1.0, size=(0.2, 0.2, 0.1), position=(0.0, y, 0.05), material=material)
    simulator = Simulator(world, period=PERIOD, approximation=approximation)
    pull(simulator)
    return simulator


def pull(simulator: Simulator) -> None:
    simulator.apply_wrench("pulled", (2.0 * MU * GRAVITY, 0.0, 0.0))


def newton_steps(simulator: Simulator, count: int, *, with_memory: bool) -> list[int]:
    found = []
    for _ in range(count):
        if not with_memory:
            forget(simulator._workspace)
        simulator.step()
        found.append(simulator.statistics.iterations)
    return found


@pytest.mark.parametrize("approximation", ["sap", "similar"])
def test_even_motion_takes_fewer_newton_steps_to_the_same_solution(approximation: str) -> None:
    one, other = sliding(approximation), sliding(approximation)
    fewer, more = (newton_steps(s, 100, with_memory=s is one) for s in (one, other))
    assert sum(fewer[10:]) < 0.7 * sum(more[10:])
    np.testing.assert_allclose(one.dynamics.velocities(), other.dynamics.velocities(), rtol=0.0, atol=1e-7)


def test_a_reset_clears_the_memory_and_a_restored_state_has_it() -> None:
    simulator = sliding("sap")
    simulator.step(30)
    state, first = simulator.state(), simulator.dynamics.velocities()
    simulator.step(30)
    second = simulator.dynamics.velocities()
    simulator.restore(state)
    simulator.step(30)
    np.testing.assert_array_equal(simulator.dynamics.velocities(), second)
    simulator.reset()
    pull(simulator)
    simulator.step(30)
    np.testing.assert_array_equal(simulator.dynamics.velocities(), first)
