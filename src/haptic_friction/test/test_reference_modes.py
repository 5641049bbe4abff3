"""Modes of linear motions against their known factors."""

from __future__ import annotations

import numpy as np
import pytest

from haptic_friction.reference.modes import dominant_mode, first_slide_mode


@pytest.mark.parametrize(("first", "second"), [(0.9, 0.3), (-1.2, 0.8), (0.75, 0.75), (-0.5, 0.0)])
def test_dominant_mode_of_a_free_system_is_found(first: float, second: float) -> None:
    x = [1.0, 0.5]
    for _ in range(30):
        x.append((first + second) * x[-1] - first * second * x[-2])
    # a double root is known to the square root of the rounding
    assert dominant_mode(np.array(x)) == pytest.approx(abs(first), rel=1e-6)


def test_pair_of_complex_modes_has_its_magnitude() -> None:
    k = np.arange(40)
    assert dominant_mode(0.95**k * np.cos(0.7 * k)) == pytest.approx(0.95)


@pytest.mark.parametrize("values", [[], [1.0, 0.5, 0.25, 0.125], [0.0] * 10])
def test_too_few_values_or_zeros_have_no_mode(values: list[float]) -> None:
    assert dominant_mode(np.array(values)) is None


def test_first_slide_has_the_mode_of_the_motion_until_its_stop() -> None:
    """On a ramp of the input the velocity is a line and a mode, here 0.8^k; the second slide has 0.5^k."""
    k = np.arange(20)
    stick, sticking = np.full(5, 0.1), np.repeat([True, False, True, False], (5, 20, 5, 20))  # on a moving base
    velocity = np.concatenate((stick, 1.0 + 0.1 * k + 0.8**k, stick, 1.0 + 0.1 * k + 0.5**k))
    assert first_slide_mode(velocity, sticking) == pytest.approx(0.8, rel=1e-6)  # second differences' rounding
    assert first_slide_mode(velocity[5:25], np.zeros(20, dtype=bool)) == pytest.approx(0.8, rel=1e-6)
    reversing = np.concatenate((velocity[5:25], -velocity[30:]))  # velocities below zero end the motion, too
    assert first_slide_mode(reversing, np.zeros(40, dtype=bool)) == pytest.approx(0.8, rel=1e-6)


def test_rest_and_a_motion_backwards_have_no_slide() -> None:
    assert first_slide_mode(np.ones(20), np.ones(20, dtype=bool)) is None
    assert first_slide_mode(-np.ones(20), np.zeros(20, dtype=bool)) is None
