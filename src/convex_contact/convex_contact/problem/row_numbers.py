"""Numbers b, v^, R, beta, lower, upper of constraint rows (`constraints`), for Python and compiled code."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from convex_contact.problem.row_law import row_impulse, spring_compliance

#: stiffness [N/m] above the near-rigid limit of any mass of interest, as in Drake
NEAR_RIGID_STIFFNESS = 1e12
#: beta of rigid constraints
NEAR_RIGID = 0.1


@njit(cache=True, error_model="numpy")
def controller_row(
    period: float, q: float, kp: float, kd: float, q_d: float, v_d: float, u: float, limit: float
) -> tuple[float, float, float, float, float, float]:
    """Returns the numbers of the row of a PD controller with an effort limit."""
    gain = period * kp + kd
    return 0.0, (kp * (q_d - q) + kd * v_d + u) / gain, 1.0 / (period * gain), 0.0, -period * limit, period * limit


def controller_slope(period: float, kp: float, kd: float) -> float:
    """Returns the derivative of v^ of :func:`controller_row` by q [1/s]."""
    return -kp / (period * kp + kd)


@njit(cache=True, error_model="numpy")
def rigid_row(
    period: float, value: float, bias: float, lower: float
) -> tuple[float, float, float, float, float, float]:
    """Returns the numbers of a row with the near-rigid limit that halves an error g = `value` in each step."""
    dt_plus_tau = period + period
    R = spring_compliance(period, NEAR_RIGID_STIFFNESS, dt_plus_tau)
    return bias, -value / dt_plus_tau, R, NEAR_RIGID, lower, math.inf


@njit(cache=True, error_model="numpy")
def coupler_row(
    period: float, q: float, q_other: float, ratio: float, offset: float
) -> tuple[float, float, float, float, float, float]:
    """Returns the numbers of the row of q = ratio q_other + offset."""
    return rigid_row(period, q - ratio * q_other - offset, 0.0, -math.inf)


@njit(cache=True, error_model="numpy")
def friction_row(period: float, friction: float) -> tuple[float, float, float, float, float, float]:
    """Returns the numbers of the row of Coulomb friction with a force or torque [N or N m]."""
    _, _, R, beta, _, _ = rigid_row(period, 0.0, 0.0, 0.0)
    return 0.0, 0.0, R, beta, -period * friction, period * friction


@njit(cache=True, error_model="numpy")
def actuator_row(
    period: float, length: float, offset: float, kp: float, kd: float, low: float, high: float
) -> tuple[float, float, float, float, float, float]:
    """Returns the numbers of the row of f = offset - kp l - kd dl/dt at the end of the step, clamped to low and high.

    A force that rises with the length, kp < 0, is that at the length of the step's start. kd is not negative.
    """
    if kp < 0.0:
        offset, kp = offset - kp * length, 0.0
    gain = period * kp + kd
    if gain <= 0.0:
        impulse = period * min(max(offset, low), high)
        return 0.0, 0.0, 1.0, 0.0, impulse, impulse
    b, target, R, beta, _, _ = controller_row(period, length, kp, kd, 0.0, 0.0, offset, math.inf)
    return b, target, R, beta, period * low, period * high


def rigid_slope(period: float) -> float:
    """Returns the derivative of v^ of :func:`rigid_row` by its value [1/s]."""
    return -0.5 / period


@njit(cache=True, error_model="numpy")
def write_speed_row(period: float, limit: float, sign: float, motor: np.ndarray, numbers: np.ndarray) -> None:
    """Writes one side of a motor's velocity limit, as a row of its own (6,), and the bound in the motor's row (6,).

    Between its velocity limits +-V the motor has the effort u(v) of its controller. Beyond V, u falls to -E, with the
    effort limit E. This is the sum of two rows: the controller's row with the lower bound dt u(V), and a row of target
    V whose impulse falls from 0 to -dt (u(V) + E). The same holds beyond -V with opposite signs.
    """
    V = min(limit, 1e100)  # inf would make NaN
    target, R, lower, upper = motor[1], motor[2], motor[4], motor[5]
    bound = row_impulse(sign * V, target, R, lower, upper)
    _, _, rigid, beta, _, _ = rigid_row(period, 0.0, 0.0, 0.0)
    numbers[0], numbers[1], numbers[2], numbers[3], numbers[4] = 0.0, -V, rigid, beta, 0.0
    if sign > 0.0:
        numbers[5], motor[4] = bound - lower, bound
    else:
        numbers[5], motor[5] = upper - bound, bound
