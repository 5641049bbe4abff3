"""Smooth motion profiles: polynomials of degree five (minimum jerk) over a time from 0 to 1."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.polynomial import Polynomial

Scalar = TypeVar("Scalar", float, np.ndarray)

#: the step as a polynomial on [0, 1], its derivative and its integral
STEP = Polynomial([0.0, 0.0, 0.0, 10.0, -15.0, 6.0])
STEP_RATE, STEP_INTEGRAL = STEP.deriv(), STEP.integ()


def smooth_step(s: Scalar) -> Scalar:
    """Rises from 0 at s = 0 to 1 at s = 1 with zero first and second derivatives at both ends."""
    return s**3 * (10.0 - 15.0 * s + 6.0 * s * s)


def smooth_step_rate(s: Scalar) -> Scalar:
    """Computes the first derivative of `smooth_step`."""
    return 30.0 * s**2 * (1.0 - s) ** 2


def smooth_step_curvature(s: Scalar) -> Scalar:
    """Computes the second derivative of `smooth_step`."""
    return 60.0 * s * (1.0 - s) * (1.0 - 2.0 * s)


def quintic(
    start: np.ndarray, velocity: np.ndarray, target: np.ndarray, end_velocity: np.ndarray, t: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Computes a quintic motion with zero acceleration at both ends.

    Args:
        start: position at time 0, shape (d,).
        velocity: velocity at time 0, shape (d,).
        target: position at the last of the times, shape (d,).
        end_velocity: velocity at the last of the times, shape (d,).
        t: times from 0 [s], shape (n,).

    Returns:
        Positions and velocities, shape (n, d) each.
    """
    length = t[-1]
    s = t / length
    v0, v1 = velocity * length, end_velocity * length
    gap = target - start
    a, b, c = 10 * gap - 6 * v0 - 4 * v1, -15 * gap + 8 * v0 + 7 * v1, 6 * gap - 3 * v0 - 3 * v1
    power = [np.power(s, n)[:, None] for n in range(6)]
    position = start + v0 * power[1] + a * power[3] + b * power[4] + c * power[5]
    return position, (v0 + 3 * a * power[2] + 4 * b * power[3] + 5 * c * power[4]) / length
