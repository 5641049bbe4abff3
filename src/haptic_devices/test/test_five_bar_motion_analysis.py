"""Motion of the tool on a circle, its drift on elastic gears, and the filters, against closed forms."""

from __future__ import annotations

import numpy as np
import pytest

from haptic_devices.five_bar.motion_analysis import compliant_drift, high_passed, low_passed, path_motion

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
