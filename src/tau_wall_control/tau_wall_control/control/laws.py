"""Compiled control law of all schemes: one sample, from joint angles to joint torques (docs/tau.md, "Controllers").

A law is a row of numbers (gains of one operating point, or interpolated ones), flags, and a memory:

    x = [theta - r; thetadot], measured or estimated, predicted over the known delay
    tau = tau0 - K_theta x_theta - K_v x_rate + K_i xi - d^, then limited to the torque limits
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from haptic_math.array_assignment import assign
from tau_wall_control.control.horizon import ITERATIONS, SIZE, solve_box
from tau_wall_control.device.kernels import cholesky_solve

#: integral of r - theta
INTEGRAL = 1
#: stationary Kalman filter for x and an input torque d, which is subtracted
OBSERVER = 2
#: torque sharing: when a joint saturates, the others keep the weighted wrench
SHARING = 4
#: feedback of the filter's x instead of the measured one
ESTIMATED = 8
#: torque limits as constraints over a horizon (`horizon`)
CONSTRAINED = 16
#: after an improbable innovation, the gains of a filter whose covariance contains a jump of d
JUMPS = 32

# a row: gains of the linear law and its model, then those of jumps, then those of the horizon
TORQUE, K_THETA, K_RATE, K_INTEGRAL = slice(0, 6), slice(6, 42), slice(42, 78), slice(78, 114)
#: numbers of the linear law
LINEAR = K_INTEGRAL.stop
A_D, B_D, FILTER = slice(114, 258), slice(258, 330), slice(330, 438)
#: samples in which the gains after a jump are used, and until the next jump may be detected
JUMP_GAINS, JUMP_REST = 12, 20
SURPRISE, THRESHOLD, JUMP_FILTER = slice(438, 474), 474, slice(475, 475 + 108 * JUMP_GAINS)
_END = JUMP_FILTER.stop
HESSIAN = slice(_END, _END + SIZE**2)
SLOPE = slice(HESSIAN.stop, HESSIAN.stop + 12 * SIZE)
PLAN = slice(SLOPE.stop, SLOPE.stop + 12 * SIZE)


def row_length(mode: int) -> int:
    """Returns the length of a row of a law with these flags."""
    if mode & CONSTRAINED:
        return PLAN.stop
    return JUMP_FILTER.stop if mode & JUMPS else FILTER.stop


class LinearGains(NamedTuple):
    """Gains of the linear law in a row.

    Attributes:
        torque: tau0 (6,) [N m].
        angle: K_theta (6, 6) [N m/rad].
        rate: K_v (6, 6) [N m s/rad].
        integral: K_i (6, 6) [N m/(rad s)].
    """

    torque: np.ndarray
    angle: np.ndarray
    rate: np.ndarray
    integral: np.ndarray


@njit(cache=True, error_model="numpy", forceinline=True)
def linear_gains(row: np.ndarray) -> LinearGains:
    """Returns views of the linear law's gains in a row."""
    return LinearGains(
        row[TORQUE], row[K_THETA].reshape((6, 6)), row[K_RATE].reshape((6, 6)), row[K_INTEGRAL].reshape((6, 6))
    )


#: longest known delay [samples]
LONGEST_DELAY = 8
# a memory
XI, ESTIMATE, PAST = slice(0, 6), slice(6, 24), slice(24, 24 + 6 * LONGEST_DELAY)
#: flag of active torque limits, iterations of the horizon, samples since a jump, solution of the horizon
SATURATED, STEPS, AGE, SOLUTION = 72, 73, 74, slice(80, 80 + SIZE)
MEMORY = 80 + SIZE


@njit(cache=True, error_model="numpy")
def share(weight: np.ndarray, wanted: np.ndarray, peak: float, u: np.ndarray) -> None:
    """Minimises (u - wanted)^T weight (u - wanted) over |u| <= peak, approximately.

    The joint with the largest excess is set to its limit and the rest is solved again, at most six times.
    """
    fixed = np.zeros(6, dtype=np.bool_)
    A, b = np.empty((6, 6)), np.empty(6)
    assign(u, wanted)
    for _ in range(6):
        worst, excess = -1, 1e-12
        for j in range(6):
            if not fixed[j] and abs(u[j]) - peak > excess:
                worst, excess = j, abs(u[j]) - peak
        if worst < 0:
            return
        fixed[worst] = True
        u[worst] = math.copysign(peak, u[worst])
        for i in range(6):
            b[i] = 0.0
            for j in range(6):
                A[i, j] = 0.0 if fixed[i] or fixed[j] else weight[i, j]
            if fixed[i]:
                A[i, i] = 1.0
                continue
            for j in range(6):
                if fixed[j]:
                    b[i] -= weight[i, j] * (u[j] - wanted[j])
        cholesky_solve(A, b)
        for i in range(6):
            if not fixed[i]:
                u[i] = wanted[i] + b[i]


@njit(cache=True, error_model="numpy")
def predict(row: np.ndarray, s: np.ndarray, torque: np.ndarray, d: np.ndarray, result: np.ndarray) -> None:
    """Writes A_d s + B_d (torque + d) to the result (12,)."""
    A, B = row[A_D], row[B_D]
    for i in range(12):
        total = 0.0
        for j in range(12):
            total += A[12 * i + j] * s[j]
        for j in range(6):
            total += B[6 * i + j] * (torque[j] + d[j])
        result[i] = total


@njit(cache=True, error_model="numpy")
def correct(mode: int, row: np.ndarray, memory: np.ndarray, s: np.ndarray) -> None:
    """Corrects the filter's [x; d] by the measured theta - r, s[:6].

    With JUMPS: an innovation nu with nu^T S^-1 nu above the threshold indicates a jump of d at the start of the period.
    The gains of the next samples are those of a filter whose covariance contains this jump.
    """
    estimate, L = memory[ESTIMATE], row[FILTER]
    innovation = np.empty(6)
    for j in range(6):
        innovation[j] = s[j] - estimate[j]
    if mode & JUMPS:
        age = int(memory[AGE])
        if age == 0:
            surprise, weight = 0.0, row[SURPRISE]
            for i in range(6):
                for j in range(6):
                    surprise += innovation[i] * weight[6 * i + j] * innovation[j]
            if surprise > row[THRESHOLD]:
                age = 1
        if 0 < age <= JUMP_GAINS:
            L = row[JUMP_FILTER][108 * (age - 1) : 108 * age]
        if age > 0:
            age = age + 1 if age < JUMP_REST else 0
        memory[AGE] = age
    for i in range(18):
        for j in range(6):
            estimate[i] += L[6 * i + j] * innovation[j]


@njit(cache=True, error_model="numpy")
def feedback(
    mode: int,
    period: float,
    peak: float,
    row: np.ndarray,
    weight: np.ndarray,
    memory: np.ndarray,
    s: np.ndarray,
    d: np.ndarray,
    error: np.ndarray,
    torque: np.ndarray,
) -> None:
    """Computes the linear law with saturation; a joint at its limit does not integrate further into it."""
    gains, xi, wanted = linear_gains(row), memory[XI], np.empty(6)
    memory[SATURATED] = 0.0
    for i in range(6):
        total = gains.torque[i] - d[i]
        for j in range(6):
            total -= gains.angle[i, j] * s[j] + gains.rate[i, j] * s[6 + j]
            if mode & INTEGRAL:
                total += gains.integral[i, j] * xi[j]
        wanted[i] = total
        if abs(total) > peak:
            memory[SATURATED] = 1.0
        torque[i] = min(max(total, -peak), peak)
    if mode & SHARING and memory[SATURATED] != 0.0:
        share(weight, wanted, peak, torque)
    if mode & INTEGRAL:
        for j in range(6):
            if abs(wanted[j]) <= peak or error[j] * wanted[j] <= 0.0:
                xi[j] += period * error[j]


@njit(cache=True, error_model="numpy")
def plan(row: np.ndarray, memory: np.ndarray, s: np.ndarray, d: np.ndarray, peak: float, torque: np.ndarray) -> None:
    """Computes the law with torque limits over the horizon, starting from the solution of the last sample."""
    v, lower, upper, g = memory[SOLUTION], np.empty(SIZE), np.empty(SIZE), np.empty(SIZE)
    best, slope = row[PLAN], row[SLOPE]
    inside = True
    for i in range(SIZE):
        total, j = 0.0, i % 6
        for k in range(12):
            total += best[12 * i + k] * s[k]
        lower[i], upper[i] = d[j] - row[j] - peak, d[j] - row[j] + peak
        inside = inside and lower[i] <= total <= upper[i]
        g[i] = total
    memory[STEPS] = 0.0
    if inside:
        assign(v, g)
    else:
        for i in range(SIZE):
            start = v[i] if memory[SATURATED] != 0.0 else g[i]
            v[i] = min(max(start, lower[i]), upper[i])
            g[i] = 0.0
            for k in range(12):
                g[i] += slope[12 * i + k] * s[k]
        memory[STEPS] = solve_box(row[HESSIAN].reshape((SIZE, SIZE)), g, lower, upper, v, ITERATIONS)
    memory[SATURATED] = 0.0 if inside else 1.0
    for j in range(6):
        torque[j] = min(max(row[j] + v[j] - d[j], -peak), peak)


@njit(cache=True, error_model="numpy")
def control(
    mode: int,
    delay: int,
    period: float,
    peak: float,
    row: np.ndarray,
    weight: np.ndarray,
    memory: np.ndarray,
    reference: np.ndarray,
    theta: np.ndarray,
    rate: np.ndarray,
    torque: np.ndarray,
) -> None:
    """Computes the joint torques (6,) of one sample and updates the memory.

    Args:
        mode: flags.
        delay: known delay of a command [samples].
        period: Ts [s].
        peak: torque limit of each joint [N m].
        row: gains, `row_length(mode)` numbers.
        weight: weight of torque sharing (6, 6), G Wt G^T.
        memory: memory of the law (MEMORY,); zeros at the start.
        reference, theta, rate: r, theta, thetadot (6,) [rad], [rad/s].
        torque: result (6,) [N m].
    """
    estimate, past = memory[ESTIMATE], memory[PAST]
    s, ahead, d, error = np.empty(12), np.empty(12), np.zeros(6), np.empty(6)
    for j in range(6):
        error[j] = reference[j] - theta[j]
        s[j], s[6 + j] = -error[j], rate[j]
    if mode & OBSERVER:
        correct(mode, row, memory, s)
        assign(d, estimate[12:])
        if mode & ESTIMATED:
            assign(s, estimate[:12])
    for k in range(delay):
        predict(row, s, past[6 * k : 6 * k + 6], d, ahead)
        assign(s, ahead)
    if mode & CONSTRAINED:
        plan(row, memory, s, d, peak, torque)
    else:
        feedback(mode, period, peak, row, weight, memory, s, d, error, torque)
    command = np.empty(6)
    for j in range(6):
        command[j] = torque[j] - row[j]
    if mode & OBSERVER:
        predict(row, estimate[:12], past[:6] if delay > 0 else command, d, ahead)
        assign(estimate[:12], ahead)
    if delay > 0:
        for j in range(6 * (delay - 1)):
            past[j] = past[j + 6]
        assign(past[6 * (delay - 1) : 6 * delay], command)
