"""Motion of the tool on a circle, its drift on elastic gears, and the filters, against closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from five_bar_cases import HOME, five_bar

from haptic_devices.five_bar.motion_analysis import (
    compliant_drift,
    coulomb_force_ranges,
    high_passed,
    low_passed,
    path_motion,
)

T = 1e-3
TIME = T * np.arange(4000)


def test_motion_on_a_circle_has_its_normal_acceleration_towards_the_inside() -> None:
    angle = 2.0 * TIME
    found = path_motion(0.1 * np.column_stack((-np.sin(angle), np.cos(angle))), TIME)
    inner = slice(2, -2)
    assert found.speed == pytest.approx(0.1)
    assert found.normal[inner] == pytest.approx(0.2, rel=1e-5)  # v omega
    np.testing.assert_allclose(found.inside, -np.column_stack((np.cos(angle), np.sin(angle))), atol=1e-12)


def test_drift_is_distinguished_from_elastic_displacement() -> None:
    force = np.column_stack((np.sin(9.0 * TIME), np.cos(7.0 * TIME)))
    position = 0.1 + np.outer(TIME, [1e-6, -2e-6]) + force @ np.array([[3e-5, 1e-6], [0.0, 2e-5]])
    np.testing.assert_allclose(compliant_drift(TIME, force, position), TIME[-1] * np.array([1e-6, -2e-6]), rtol=1e-6)


def test_filters_part_slow_from_fast_and_leave_short_signals_alone() -> None:
    slow, fast = (np.sin(2.0 * np.pi * f * TIME)[:, None] for f in (2.0, 100.0))
    inner = slice(1000, 3000)
    np.testing.assert_allclose(low_passed(slow + fast, T, 20.0)[inner], slow[inner], atol=2e-3)
    found = high_passed(slow + fast, T, 20.0)
    assert found is not None
    np.testing.assert_allclose(found[inner], fast[inner], atol=2e-3)
    assert low_passed(slow[:10], T, 20.0) is not None and high_passed(slow[:10], T, 20.0) is None


def test_coulomb_friction_of_arms_at_a_right_angle_is_that_of_two_perpendicular_forces() -> None:
    """The friction of a joint is a force c/a across its arm; a motion across one arm meets only this one."""
    device = five_bar(friction_coulomb=6.0, length_forearm=0.2)
    along, size, angle = coulomb_force_ranges(device, HOME[None])
    upper_arm, forearm = 6.0 / 0.3, 6.0 / 0.2
    assert size == pytest.approx((np.hypot(upper_arm, forearm),) * 2)
    # the largest lies between two of the directions, at most 2.5 degrees from one
    assert along == (pytest.approx(upper_arm), pytest.approx(size[1], rel=1.0 - np.cos(np.radians(2.5))))
    assert angle == pytest.approx(np.arctan2(forearm, upper_arm))


def test_coulomb_friction_ranges_over_all_positions() -> None:
    """The force is c/(a cos 30) or c/(a cos 60) with 60 degrees between the arms, and c/(a cos 45) with 90."""
    turn = np.radians(15.0)
    device = five_bar(friction_coulomb=6.0)
    along, size, angle = coulomb_force_ranges(device, np.array((HOME, HOME + np.array((turn, -turn)))))
    assert along == pytest.approx((20.0, 40.0))
    assert size == pytest.approx((40.0 / np.sqrt(3.0), 40.0))
    assert angle == pytest.approx(np.radians(60.0))


def test_coulomb_friction_of_zero_has_no_ranges() -> None:
    device = five_bar(friction_coulomb=0.0)
    assert coulomb_force_ranges(device, HOME[None]) == ((0.0, 0.0), (0.0, 0.0), 0.0)
