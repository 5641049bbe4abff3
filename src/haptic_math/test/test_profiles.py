"""Smooth profiles: their ends, and that step, rate, curvature and polynomial are of one function."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose

from haptic_math import profiles

S = np.linspace(0.0, 1.0, 101)


def test_the_step_begins_and_ends_at_rest() -> None:
    for s, value in ((0.0, 0.0), (1.0, 1.0)):
        assert profiles.smooth_step(s) == value
        assert profiles.smooth_step_rate(s) == profiles.smooth_step_curvature(s) == 0.0


def test_the_forms_of_the_step_agree() -> None:
    assert_allclose(profiles.STEP(S), profiles.smooth_step(S), atol=1e-15)
    assert_allclose(profiles.STEP_RATE(S), profiles.smooth_step_rate(S), atol=1e-14)
    assert_allclose(profiles.STEP.deriv(2)(S), profiles.smooth_step_curvature(S), atol=1e-13)
    assert profiles.STEP_INTEGRAL(1.0) == 0.5


def test_a_quintic_from_rest_to_rest_is_the_scaled_step() -> None:
    still, target = np.zeros(2), np.array([0.1, -0.2])
    position, velocity = profiles.quintic(still, still, target, still, 2.0 * S[1:])
    assert_allclose(position, profiles.smooth_step(S[1:])[:, None] * target, atol=1e-15)
    assert_allclose(velocity, 0.5 * profiles.smooth_step_rate(S[1:])[:, None] * target, atol=1e-15)


def test_a_quintic_meets_the_velocities_at_its_ends() -> None:
    t = np.linspace(0.0, 0.5, 51)
    position, velocity = profiles.quintic(np.array([1.0]), np.array([2.0]), np.array([3.0]), np.array([-1.0]), t)
    assert_allclose((position[0, 0], velocity[0, 0], position[-1, 0], velocity[-1, 0]), (1.0, 2.0, 3.0, -1.0))
