"""Planes that come, go and change their order: memory by key, what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tau_wall_control import MovingPlanes, Plane, TauDevice, TauError, WallRenderer

T = 1e-3
X, Y, Z = np.eye(3)


def pressed(device: TauDevice, design: Any, ticks: int = 50) -> tuple[WallRenderer, np.ndarray]:
    """Walls z = 0 (key 1) and x = -0.05 (key 2) with the tool held 50 µm inside the first for some ticks."""
    r, theta = WallRenderer(design("scheduled"), None), device.inverse_kinematics((0.0, 0.0, -5e-5))
    r.reset(theta)
    for _ in range(ticks):
        r.step(theta, np.zeros(6), BOTH)
    return r, theta


BOTH = MovingPlanes([1, 2], [[0, 0, 0], [-0.05, 0, 0]], [Z, X])
TURNED_ROUND = MovingPlanes([2, 1], [[-0.05, 0, 0], [0, 0, 0]], [X, Z])


def test_memory_goes_by_key_and_not_by_place(device: TauDevice, design: Any) -> None:
    (one, theta), (other, _) = pressed(device, design), pressed(device, design)
    a, b = one.step(theta, np.zeros(6), BOTH), other.step(theta, np.zeros(6), TURNED_ROUND)
    assert_array_equal(a.push, b.push[::-1])
    assert_array_equal(a.torque, b.torque)
    assert a.in_contact.tolist() == [True, False]


def test_a_plane_that_vanishes_is_forgotten(device: TauDevice, design: Any) -> None:
    r, theta = pressed(device, design)
    held = r.step(theta, np.zeros(6), BOTH).push[0]
    gone = r.step(theta, np.zeros(6), MovingPlanes([2], [[-0.05, 0, 0]], [X]))
    assert gone.push.tolist() == [0.0] and gone.in_contact.tolist() == [False]
    assert_allclose(gone.torque, device.gravity_torque_at((0.0, 0.0, -5e-5)), atol=1e-9)
    nothing = r.step(theta, np.zeros(6), MovingPlanes([], np.zeros((0, 3)), np.zeros((0, 3))))
    assert nothing.push.shape == (0,)
    again = r.step(theta, np.zeros(6), BOTH).push[0]
    first, _ = pressed(device, design, 0)
    assert again == pytest.approx(first.step(theta, np.zeros(6), BOTH).push[0], rel=1e-12)
    assert again < 0.7 * held


def test_a_new_plane_starts_with_its_distance_and_rate(device: TauDevice, design: Any) -> None:
    """It comes up 0.1 mm before a tool at 50 mm/s, half of which is its own, and answers as if it was always there."""
    c, pushes = design("stiff", delay=1), []
    for known in (0, 36):
        r = WallRenderer(c, None)
        for k in range(44):
            p = np.array([0.0, 0.0, 1e-3 - 0.025 * k * T])
            theta = device.inverse_kinematics(p)
            rate = device.dynamics(p).actuated_map @ np.array([0.0, 0.0, -0.025, 0.0, 0.0, 0.0])
            if k == 0:
                r.reset(theta)
            there = k >= known
            planes = MovingPlanes([8] * there, [(0.025 * k * T - 9e-4) * Z] * there or np.zeros((0, 3)),
                                  [Z] * there or np.zeros((0, 3)), [0.025 * Z] * there or np.zeros((0, 3)))  # fmt: skip
            state = r.step(theta, rate, planes)
        pushes.append(state.push[0])
    assert pushes[0] > 1.0
    assert pushes[1] == pytest.approx(pushes[0], rel=1e-6)  # nothing disturbs it before the touch


def test_a_reset_forgets_and_a_successor_goes_on(device: TauDevice, design: Any) -> None:
    r, theta = pressed(device, design)
    heir = WallRenderer(design("scheduled"), None, release_gap=2e-4)
    heir.reset(theta)
    heir.take_over(r)
    held = r.step(theta, np.zeros(6), BOTH)
    assert_array_equal(heir.step(theta, np.zeros(6), BOTH).torque, held.torque)
    r.reset(theta)
    first, _ = pressed(device, design, 0)
    assert_array_equal(r.step(theta, np.zeros(6), BOTH).torque, first.step(theta, np.zeros(6), BOTH).torque)


# ---- refusals -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("planes", "message"),
    [
        (None, "planes: expected the planes of each step, got None"),
        (MovingPlanes(range(33), np.zeros((33, 3)), [Z] * 33), "planes: expected 32 at the most, got 33"),
        (MovingPlanes([1, 1], np.zeros((2, 3)), [Z] * 2), "key: expected each key once, got 1 again"),
        (MovingPlanes([1.5], [[0, 0, 0]], [Z]), "key: expected a row of whole numbers"),
        (MovingPlanes([1], [0, 0, 0], [Z]), r"point: expected shape \(1, 3\) for 1 planes, got \(3,\)"),
        (MovingPlanes([1], [[0, 0, 0]], [Z, Z]), r"normal: expected shape \(1, 3\) for 1 planes, got \(2, 3\)"),
        (MovingPlanes([1], [[0, 0, 0]], [Z], [[0, 0]]), r"velocity: expected shape \(1, 3\)"),
        (MovingPlanes([1], [[0, 0, 0]], [Z], None, [0, 0]), r"inverse_mass: expected shape \(1,\)"),
        (MovingPlanes([1], [[0, 0, 0]], [Z], None, None, [[1]]), r"body: expected shape \(1,\)"),
        (MovingPlanes([1], [[0, np.nan, 0]], [Z]), "planes: expected finite numbers, got .* for key 1"),
        (MovingPlanes([1], [[0, 0, 0]], [Z], [[0, 0, np.inf]]), "planes: expected finite numbers"),
        (MovingPlanes([4], [[0, 0, 0]], [2 * Z]), r"normal: expected unit vectors, got \[0.0, 0.0, 2.0\] for key 4"),
        (MovingPlanes([4], [[0, 0, 0]], [Z], None, [-1.0]), "inverse_mass: expected 0 or more, got -1.0 for key 4"),
    ],
)
def test_planes_that_cannot_be_used_are_refused_and_change_nothing(
    device: TauDevice, design: Any, planes: MovingPlanes | None, message: str
) -> None:
    (r, theta), (twin, _) = pressed(device, design), pressed(device, design)
    with pytest.raises(TauError, match=message):
        r.step(theta, np.zeros(6), planes)
    assert_array_equal(r.step(theta, np.zeros(6), BOTH).torque, twin.step(theta, np.zeros(6), BOTH).torque)


def test_one_plane_without_a_list_is_refused(design: Any, wall: Plane) -> None:
    with pytest.raises(TauError, match="planes: expected a list of planes, got Plane"):
        WallRenderer(design("scheduled"), wall)


def test_fixed_and_moving_walls_are_not_mixed(device: TauDevice, design: Any, wall: Plane) -> None:
    fixed, moving = WallRenderer(design("scheduled"), (wall,)), WallRenderer(design("scheduled"), None)
    with pytest.raises(TauError, match="planes: expected none beside those that are set"):
        fixed.step(device.inverse_kinematics((0, 0, 0)), np.zeros(6), BOTH)
    with pytest.raises(TauError, match="planes: expected none to be set"):
        moving.set_planes((wall,))
    with pytest.raises(TauError, match="take_over: expected walls that move both times"):
        moving.take_over(fixed)
