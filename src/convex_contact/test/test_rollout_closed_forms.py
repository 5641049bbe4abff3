"""Gradients of a world's motion against closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from rollout_scenes import Scene, cube
from scipy.spatial.transform import Rotation

from convex_contact import Simulator, World, rollout


def test_free_flight() -> None:
    """Symplectic Euler: x_n = x_0 + n dt v_0 + n (n + 1)/2 dt^2 (g + f/m), v_n = v_0 + n dt (g + f/m)."""
    world = World()
    world.add_sphere("ball", radius=0.05, mass=0.5, position=(0, 0, 1), velocity=(1, 0, 2), angular_velocity=(0, 0, 7))
    simulator = Simulator(world, period=1e-2)
    simulator.apply_wrench("ball", (0, 2.0, 0))
    n, dt = 30, 1e-2
    r = rollout(simulator, n)
    J = r.jacobian(["initial_position", "initial_velocity", "gravity", "mass(ball)"])[-1]
    expected = np.zeros((6, J.shape[1]))
    expected[:3, :3] = expected[3:, 6:9] = np.eye(3)
    expected[:3, 6:9] = n * dt * np.eye(3)
    expected[:3, 12:15], expected[3:, 12:15] = n * (n + 1) / 2 * dt**2 * np.eye(3), n * dt * np.eye(3)
    expected[1, 15], expected[4, 15] = -n * (n + 1) / 2 * dt**2 * 2.0 / 0.5**2, -n * dt * 2.0 / 0.5**2
    assert J[[0, 1, 2, 6, 7, 8]] == pytest.approx(expected, abs=1e-12)
    # a turn of the start about the spin's axis stays, one across it is carried round by the spin
    turn = Rotation.from_rotvec([0, 0, 7 * n * dt]).as_matrix()
    assert J[3:6, 3:6] == pytest.approx(turn, abs=1e-12)
    # a force in step i acts for the steps that are left
    pushed = r.pullback({-1: np.eye(12)[0]})["actuation"][:, 0]
    assert pushed == pytest.approx(dt * dt / 0.5 * np.arange(n, 0, -1), rel=1e-12)


def test_stopping_distance() -> None:
    """A block stops after d = v^2/(2 mu g): d' = -d/mu; and d by v is v/(mu g), by g -d/g.

    Symplectic Euler adds a relative dt mu g/v = 0.2 %, the soft norm a stop that takes some v_s/(mu g) = 0.3 ms
    longer; creep ends with the step. One per cent.
    """
    mu, speed, g = 0.4, 1.0, 9.81
    world = World()
    world.add_half_space("floor")
    world.add_box("block", size=(0.1, 0.1, 0.02), mass=1.0, position=(0, 0, 0.01), velocity=(speed, 0, 0))
    world.set_pair("floor", "block", friction=mu, stiffness=1e6)
    simulator = Simulator(world, period=1e-3, polish=True, stiction_tolerance=1e-3)
    simulator.set_state("block", position=(0, 0, 0.01 - g / 4e6))
    r = rollout(simulator, 300)
    distance = r.q[-1, 0]
    assert distance == pytest.approx(speed**2 / (2 * mu * g), rel=1e-2)
    assert np.abs(r.v[-1]).max() < 1e-3
    J = r.jacobian(
        ["friction(floor, block)", {"initial_velocity": np.eye(6)[0]}, {"gravity": [0, 0, -1]}, "mass(block)"]
    )
    assert J[-1, 0, 0] == pytest.approx(-distance / mu, rel=1e-2)
    assert J[-1, 0, 1] == pytest.approx(speed / (mu * g), rel=1e-2)
    assert J[-1, 0, 2] == pytest.approx(-distance / g, rel=1e-2)
    assert abs(J[-1, 0, 3]) < 1e-2 * distance  # the mass does not matter


def test_lifted_board_lifts_what_rests_on_it() -> None:
    """Position of a fixed body: a cube in free fall and rest keeps its motion if board and cube rise together."""
    r = Scene(cube(), 60).rollout()
    together = {"position(board)": [0.0, 0.0, 1.0], "initial_position": [0, 0, 1.0, 0, 0, 0]}
    t = r.tangent(together)
    assert t[-1] == pytest.approx([0, 0, 1.0, *np.zeros(9)], abs=1e-9)
    sideways = {"position(board)": [1.0, 0.3, 0.0 - 0.05 * 0.3]}  # along the plane nothing happens
    assert np.abs(r.tangent(sideways)[-1]).max() < 1e-9
