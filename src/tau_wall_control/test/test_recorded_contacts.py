"""Pushes, taps, slides, releases and jumps at borders, at one wall, of signals with known answers."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from tau_wall_control import TauDevice
from tau_wall_control.simulation.border_jumps import WINDOW, borders
from tau_wall_control.simulation.limits import tap_bound
from tau_wall_control.simulation.recorded_contacts import (
    TAP_MARGIN,
    WallMotion,
    measure_push,
    measure_release,
    measure_slide,
    measure_tap,
)

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


def efforts(device: TauDevice, run: WallMotion, force: np.ndarray) -> np.ndarray:
    """Efforts (n, 6) that exert forces (n, 3) on the tool beyond its weight."""
    rows = []
    for position, wrench in zip(run.position, np.column_stack((force, np.zeros((N, 3)))), strict=True):
        d = device.dynamics(position)
        rows.append(np.linalg.solve(d.actuated_map.T, wrench + d.gravity_force))
    return np.array(rows)


def tap(device: TauDevice) -> WallMotion:
    """The tool enters the wall at 0.2 m/s after tick 130 and turns back at tick 140, 2 mm deep, with 0.1 m/s."""
    k = np.arange(N)
    run = motion(device, np.where(k < 140, 2e-4 * (k - 130), 2e-3 - 1e-4 * (k - 140)))
    saturation = np.zeros((N, 6))
    saturation[132:139, 3] = 1.0
    return replace(run, saturation=saturation)


def test_tap_is_measured_at_the_touch(device: TauDevice) -> None:
    run = tap(device)
    found = measure_tap(run, slice(100, N), "tap", static=1e-4, period=T, ticks=2)
    assert found is not None
    assert (found.name, found.static, found.saturated) == ("tap", 1e-4, pytest.approx(7 * T))
    assert (found.speed, found.penetration, found.rebound) == pytest.approx((0.2, 2e-3, 0.1))
    assert found.late == pytest.approx(2 * T * 0.2)
    # the bound is proportional to the speed squared
    assert found.energy_bound == pytest.approx(tap_bound(device, run.position[131], 0.1) * 4.0)
    assert found.allowed == pytest.approx(TAP_MARGIN * found.energy_bound + 1e-4)


def test_tool_that_is_outside_or_already_inside_makes_no_tap(device: TauDevice) -> None:
    for part in (slice(30, 110), slice(145, N)):
        assert measure_tap(tap(device), part, "tap", static=0.0, period=T, ticks=0) is None


def test_slide_has_the_friction_of_its_forces(device: TauDevice) -> None:
    """The tool moves along x against 0.3 of the normal force; the first 0.1 s have another depth and force."""
    late = np.arange(N) >= 100
    run = motion(device, np.where(late, 2e-4, 9e-4))
    position = run.position + np.outer(0.02 * T * (np.arange(N) - N / 2), [1.0, 0.0, 0.0])
    run = replace(run, position=position, measured=np.column_stack((position, run.measured[:, 3:])),
                  velocity=np.tile([0.02, 0.0, 0.0], (N, 1)), in_contact=np.arange(N)[:, None] % 4 != 0)  # fmt: skip
    push = np.where(late, 5.0, 8.0)
    force = np.column_stack((-0.3 * np.where(late, push, 0.0), np.zeros(N), push))
    found = measure_slide(replace(run, effort=efforts(device, run, force)), slice(0, N), "slide", T)
    assert (found.displacement, found.penetration) == pytest.approx((np.hypot(0.02 * T * (N - 1), 7e-4), 2e-4))
    assert (found.contact, found.friction) == pytest.approx((0.75, 0.3))


def test_slide_without_contact_or_push_has_no_depth_or_friction(device: TauDevice) -> None:
    run = replace(motion(device, np.full(N, -1e-3)), velocity=np.tile([0.02, 0.0, 0.0], (N, 1)))
    found = measure_slide(run, slice(0, N), "slide", T)
    assert math.isnan(found.penetration) and math.isnan(found.friction) and found.contact == 0.0


def test_jumps_at_borders_are_those_of_effort_and_force(device: TauDevice) -> None:
    """The force steps by (0, 0.3, 0.4) N at the border; elsewhere it drifts by 1 mN per tick."""
    run, k = motion(device, np.full(N, 1e-4)), np.arange(N)
    force = np.outer(k >= 200, [0.0, 0.3, 0.4]) + np.outer(1e-3 * k, [0.0, 0.6, 0.8])
    effort = efforts(device, run, force)
    run = replace(run, effort=effort, operating_point=np.where(k >= 200, 7, 3))
    found = borders(run, [slice(0, N)], T)
    assert (found.operating_points, found.crossed) == ([3, 7], 1)
    drift = 1e-3 * WINDOW  # the centres of both means are this many ticks apart
    assert found.force_at == found.largest_force_at == pytest.approx(0.5 + drift)
    assert found.force_elsewhere == pytest.approx(drift)
    step = np.abs(effort[200 + WINDOW] - effort[200]).max()
    assert found.effort_elsewhere == pytest.approx(step)
    assert found.effort_at == found.largest_effort_at == pytest.approx(np.abs(effort[200] - effort[200 - WINDOW]).max())


def test_slides_without_contact_or_as_short_as_the_settling_have_no_jumps(device: TauDevice) -> None:
    pushed = replace(motion(device, np.full(N, 1e-4)), operating_point=np.arange(N) // 50)
    for run, slides in ((motion(device, np.full(N, -1e-4)), [slice(0, N)]), (pushed, [slice(0, 100), slice(150, 250)])):
        found = borders(run, slides, T)
        assert (found.operating_points, found.crossed) == ([], 0)
        assert math.isnan(found.force_at) and math.isnan(found.effort_elsewhere)
