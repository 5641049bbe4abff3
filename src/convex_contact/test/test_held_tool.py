"""A tool with given inertia and velocity in a world: its contact force changes its momentum."""

from __future__ import annotations

import numpy as np
import pytest

from convex_contact import Material, Simulator, World
from convex_contact.scenes.held_tool import GivenMotion, add_tool, forces_on_tool, free_bodies

T, RADIUS = 1e-3, 0.01


def test_contact_takes_the_momentum_of_the_given_motion() -> None:
    world = World(gravity=(0.0, 0.0, 0.0))
    world.add_half_space("table", material=Material(stiffness=1e5, dissipation=0.0, friction=0.5))
    tool = add_tool(world, radius=RADIUS, friction=0.3, stiffness=4e4, dissipation=20.0)
    assert free_bodies(world) == [tool]
    simulator = Simulator(world, period=T, relative_tolerance=1e-10)
    given = GivenMotion(simulator.dynamics, tool)
    simulator.couplings.append(given)  # type: ignore[arg-type]
    given.inertia, given.velocity = np.diag([0.2, 0.2, 0.5]), np.array([0.1, 0.0, -0.05])
    simulator.set_state(tool, position=(0.0, 0.0, RADIUS - 1e-4), velocity=given.velocity)
    simulator.step()
    push, friction, sticks, depth, parts = forces_on_tool(simulator, tool, np.eye(3))
    change = given.inertia @ (simulator.state(tool).velocity - given.velocity) / T
    np.testing.assert_allclose(push + friction, change, rtol=1e-6, atol=1e-6)
    assert push[2] > 1.0 and depth > 5e-5 and len(parts) == 1
    lagged = 4e4 * 1e-4 * (1.0 + 20.0 * 0.05)  # normal force at the beginning of the step
    assert not sticks and friction[0] == pytest.approx(-0.3 * lagged, rel=1e-3)
