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


@njit(cache=True, error_model="numpy")
def write_joint_numbers(
    q: np.ndarray, period: float, motors: np.ndarray, motor_rows: np.ndarray, speeds: np.ndarray, bounds: np.ndarray,
    numbers: np.ndarray,
) -> None:  # fmt: skip
    """Writes the numbers of the rows of motors, of their velocity limits and of joint limits, which are the last rows.

    Args:
        q: coordinates.
        period: dt [s].
        motors: index of the coordinate, kp, kd, q_d, v_d, u_0, effort and velocity limit of each motor, shape (m, 8).
        motor_rows: row of each motor, shape (m,).
        speeds: row, motor and sign of each side of a velocity limit, whole numbers, shape (s, 3).
        bounds: index of the coordinate, sign of the row and bound of each joint limit, shape (l, 3).
        numbers: output, numbers of all rows, shape (rows, 6).
    """
    for k in range(len(motors)):
        x = motors[k]
        found = controller_row(period, q[int(x[0])], x[1], x[2], x[3], x[4], x[5], x[6])
        for i in range(6):
            numbers[motor_rows[k], i] = found[i]
    for k in range(len(speeds)):
        row, motor, sign = speeds[k, 0], speeds[k, 1], float(speeds[k, 2])
        write_speed_row(period, motors[motor, 7], sign, numbers[motor_rows[motor]], numbers[row])
    first = len(numbers) - len(bounds)
    for k in range(len(bounds)):
        found = rigid_row(period, bounds[k, 1] * (q[int(bounds[k, 0])] - bounds[k, 2]), 0.0, 0.0)
        for i in range(6):
            numbers[first + k, i] = found[i]
