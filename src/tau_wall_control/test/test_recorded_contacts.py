"""Pushes and releases at one wall, of signals with known answers."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tau_wall_control import TauDevice
from tau_wall_control.simulation.recorded_contacts import WallMotion, measure_push, measure_release

N, T = 400, 1e-3


def motion(device: TauDevice, depth: np.ndarray, force: float = 0.0) -> WallMotion:
    """The tool at depths (n,) behind the wall z = 0, pushed by a hand with a force."""
    position = np.column_stack((np.zeros((N, 2)), -depth))
    pose = np.column_stack((position, np.tile([0.0, 0.0, 0.0, 1.0], (N, 1))))
    hand = np.tile([0.0, 0.0, -force], (N, 1))
    normal, none = np.array([[0.0, 0.0, 1.0]]), np.zeros((N, 6))
    inside = (depth > 0.0)[:, None]
    return WallMotion(
        position, np.gradient(position, T, axis=0), pose, hand, none, none, np.zeros((1, 3)), normal, inside,
        np.zeros(N, dtype=int), device,
    )  # fmt: skip


def test_push_has_the_stiffness_of_its_depth(device: TauDevice) -> None:
    run = motion(device, np.full(N, 5e-4), 10.0)
    found = measure_push(run, slice(0, N), "step")
    assert (found.force, found.penetration, found.stiffness) == pytest.approx((10.0, 5e-4, 2e4))
    assert (found.static, found.rmse, found.contact, found.sideways) == pytest.approx((5e-4, 5e-4, 1.0, 0.0))
    assert math.isnan(measure_push(run, slice(0, N), "ramp").stiffness)


def test_released_tool_leaves_with_its_speed(device: TauDevice) -> None:
    time = T * np.arange(N)
    found = measure_release(motion(device, 1e-3 - 0.02 * time), slice(0, N), "let go", T)
    assert (found.contact_ends, found.speed, found.pull) == pytest.approx((0.05, 0.02, 0.0), abs=T)
