"""Measures of drift and chatter on signals whose measures are known."""

from __future__ import annotations

import numpy as np
import pytest

from haptic_friction.reference.drift import Stop, roughness


def test_roughness_is_zero_for_a_line_and_four_times_the_amplitude_of_a_zigzag() -> None:
    assert roughness(np.arange(7.0)) == 0.0
    assert roughness(np.array([0.3, -0.3, 0.3, -0.3, 0.3])) == pytest.approx(4.0 * 0.3)
    assert roughness(np.array([0.0, 1.0])) == 0.0


def test_a_stop_is_measured_over_the_second_half() -> None:
    """It slides in the first half, then is pushed back and forth."""
    velocity = np.array([5.0, 4.0, 3.0, 2.0, 0.2, -0.5, 0.0, 0.1])
    found = Stop.of(np.arange(8.0), velocity)
    assert (found.largest_speed, found.displacement, found.velocity_sign_changes) == (0.5, 3.0, 2)
