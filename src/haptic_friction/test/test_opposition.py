"""Direction of the friction force on a straight path, where nothing lags."""

from __future__ import annotations

import numpy as np
import pytest

from haptic_friction.reference.opposition import Sliding, opposition

T = 1e-3
TIME = T * np.arange(1000)
VELOCITY = np.tile([0.1, 0.0], (1000, 1))


def measured(force: np.ndarray, sticking: bool = False) -> Sliding | None:
    position = np.cumsum(VELOCITY, axis=0) * T
    flags = np.full(len(TIME), sticking)
    return opposition(TIME, position, VELOCITY, force, flags, T, yield_distance=1e-3, count=0.0, delay=0.0)


def test_force_along_the_motion_opposes_it_and_a_turned_one_is_beyond_the_lag() -> None:
    found = measured(4.0 * VELOCITY / 0.1)
    assert found is not None and found.samples == 1000
    assert (found.median_angle, found.opposing_share, found.mean_force) == pytest.approx((0.0, 1.0, 4.0))
    turned = measured(4.0 * np.tile([np.cos(0.3), np.sin(0.3)], (1000, 1)))
    assert turned is not None and turned.median_angle == pytest.approx(0.3)
    assert turned.within_steady_lag_share == 0.0


def test_sticking_tip_has_no_direction() -> None:
    assert measured(4.0 * VELOCITY, sticking=True) is None
