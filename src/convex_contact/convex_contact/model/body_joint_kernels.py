"""Compiled rows of joints between bodies, gears, welds and motors (`body_joints`, `weld`, `motors`), in one call.

Kinds, rows and errors are those of `body_joints`. The arrays are those of `arrays.BODY_ROW_TABLE`.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from convex_contact.model.arrays import BodyRowRecord, WorldRecord
from convex_contact.model.bodies import rotation_entries
from convex_contact.model.body_row_kernels import (
    DONE,
    FAILED_ITEM,
    ROWS,
    SAME_POINT,
    STATUS,
    Numbers,
    Triple,
    add_velocity,
    angle_of,
    axis_of,
    begin_row,
    end_row,
    nearest,
    own_axis,
    place_joint,
    rotated,
    rotation_entry,
    rotation_vector,
    write_numbers,
)
from convex_contact.problem.contact_kernels import ROW_BIAS
from convex_contact.problem.row_law import spring_compliance
from convex_contact.problem.row_numbers import NEAR_RIGID, NEAR_RIGID_STIFFNESS, controller_row, write_speed_row
from convex_contact.solver.workspace import TermInputs

#: kinds of items; SPRINGS are those of a `Weld`
BALL, HINGE, SLIDE, WELD, DISTANCE, SPRINGS, GEAR, HINGE_MOTOR, SLIDE_MOTOR, BALL_MOTOR = range(10)
#: columns of `spring`
LINEAR_STIFFNESS, ANGULAR_STIFFNESS, RELAXATION_TIME, BETA, LENGTH = range(5)
#: columns of `motor`; those of a ball from its target on
KP, KD, TARGET, TARGET_VELOCITY, FEEDFORWARD, EFFORT_LIMIT, VELOCITY_LIMIT = range(7)
BALL_TARGET, BALL_VELOCITY, BALL_FEEDFORWARD, BALL_EFFORT_LIMIT, BALL_VELOCITY_LIMIT = 2, 6, 9, 12, 13


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def write_body_rows(w: WorldRecord, rows: BodyRowRecord, period: float, out: TermInputs) -> int:
    """Writes the rows of a step, item by item, and their number and the status to `count`.

    Args:
        w: the world, prepared; trees without kernels have their Jacobians.
        rows: joints, gears and motors; the values of functions of time are in `motor`.
        period: dt [s].
        out: output, the rows from number 0 on; with `room` for all of them.

    Returns:
        Number of rows.
    """
    count, item, motors = rows.count, rows.item, rows.motor
    count[STATUS] = DONE
    for j in range(len(rows.body)):
        place_joint(w, rows, j)
    out.start[0] = 0
    m = 0
    for i in range(len(item)):
        kind, number, j = item[i, 0], item[i, 1], item[i, 2]
        if kind == GEAR:
            m = _write_gear(w, rows, i, number, period, out, m)
        elif kind in (HINGE_MOTOR, SLIDE_MOTOR):
            m = _write_motor(w, rows, i, j, kind, motors[number], period, out, m)
        elif kind == BALL_MOTOR:
            m = _write_ball_motor(w, rows, i, j, motors[number], period, out, m)
        else:
            m = _write_joint(w, rows, i, j, kind, period, out, m)
        if count[STATUS] != DONE:
            count[FAILED_ITEM] = i
            return 0
    count[ROWS] = m
    return m


# --- joints and gears ----------------------------------------------------------------------------------------------


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def _write_spring(
    w: WorldRecord, rows: BodyRowRecord, i: int, j: int, period: float, out: TermInputs, m: int, u: Triple, n: Triple,
    error: float, stiffness: float,
) -> int:  # fmt: skip
    """Writes a row that pulls an error [m or rad] to zero; returns the number of rows."""
    begin_row(w, rows, i, out, m)
    bias = add_velocity(w, rows, i, j, out, m, u, n)
    relaxation_time = rows.spring[j, RELAXATION_TIME]
    dt_plus_tau = period + (period if np.isnan(relaxation_time) else relaxation_time)
    R = spring_compliance(period, stiffness, dt_plus_tau)
    numbers = (0.0, -error / dt_plus_tau - bias, R, rows.spring[j, BETA], -np.inf, np.inf)
    write_numbers(out, m, numbers)
    return end_row(w, rows, i, out, m)


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def _write_joint(
    w: WorldRecord, rows: BodyRowRecord, i: int, j: int, kind: int, period: float, out: TermInputs, m: int
) -> int:
    """Writes the rows of a joint, or of a weld's springs, and those of its applied effort."""
    none, d, spring = (0.0, 0.0, 0.0), rows.displacement, rows.spring
    x, y, z = d[j, 0], d[j, 1], d[j, 2]
    if kind == DISTANCE:
        distance = np.sqrt(x * x + y * y + z * z)
        if not distance > 0.0:
            rows.count[STATUS] = SAME_POINT
            return m
        u, error = (x / distance, y / distance, z / distance), distance - spring[j, LENGTH]
        m = _write_spring(w, rows, i, j, period, out, m, u, none, error, spring[j, LINEAR_STIFFNESS])
        return _write_effort(w, rows, i, j, period, out, m, 0, u, none)
    for k in range(2 if kind == SLIDE else 3):
        e = axis_of(rows, j, k)
        error = e[0] * x + e[1] * y + e[2] * z
        m = _write_spring(w, rows, i, j, period, out, m, e, none, error, spring[j, LINEAR_STIFFNESS])
    angular = 0 if kind == BALL or spring[j, ANGULAR_STIFFNESS] == 0.0 else (2 if kind == HINGE else 3)
    if angular > 0:
        t0, t1, t2 = _angular_error(rows, j, kind)
        for k in range(angular):
            e = axis_of(rows, j, k)
            error = e[0] * t0 + e[1] * t1 + e[2] * t2
            m = _write_spring(w, rows, i, j, period, out, m, none, e, error, spring[j, ANGULAR_STIFFNESS])
    n = axis_of(rows, j, 2)
    if kind == HINGE:
        m = _write_effort(w, rows, i, j, period, out, m, 0, none, n)
    elif kind == SLIDE:
        m = _write_effort(w, rows, i, j, period, out, m, 0, n, none)
    elif kind == BALL:
        for k in range(3):
            m = _write_effort(w, rows, i, j, period, out, m, k, none, own_axis(w, rows, j, k))
    return m


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def _angular_error(rows: BodyRowRecord, j: int, kind: int) -> Triple:
    """Returns n x n_b of a hinge, else the rotation vector of b."""
    if kind == HINGE:
        x, y, z = axis_of(rows, j, 2)
        u, v, t = rotated(rows, j, x, y, z)
        return y * t - z * v, z * u - x * t, x * v - y * u
    for k in range(9):
        rows.scratch[k] = rows.rotation[j, k]
    return rotation_vector(rows.scratch)


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def _write_effort(
    w: WorldRecord, rows: BodyRowRecord, i: int, j: int, period: float, out: TermInputs, m: int, k: int, u: Triple,
    n: Triple,
) -> int:  # fmt: skip
    """Writes the row of component k of an applied effort, if it is not zero; returns the number of rows."""
    impulse = period * rows.effort[j, k]
    if impulse == 0.0:
        return m
    begin_row(w, rows, i, out, m)
    bias = add_velocity(w, rows, i, j, out, m, u, n)
    write_numbers(out, m, (bias, 0.0, 1.0, 0.0, impulse, impulse))
    return end_row(w, rows, i, out, m)


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def _write_gear(w: WorldRecord, rows: BodyRowRecord, i: int, g: int, period: float, out: TermInputs, m: int) -> int:
    """Writes the row of a gear: the phase divided by the first number of teeth has no error."""
    first, second = rows.gear[g, 0], rows.gear[g, 1]
    one, other = float(rows.gear[g, 2]), float(rows.gear[g, 3])
    error = nearest(one * angle_of(rows, first) + other * angle_of(rows, second)) / one
    none, ratio, n = (0.0, 0.0, 0.0), other / one, axis_of(rows, second, 2)
    begin_row(w, rows, i, out, m)
    bias = add_velocity(w, rows, i, first, out, m, none, axis_of(rows, first, 2))
    bias += add_velocity(w, rows, i, second, out, m, none, (ratio * n[0], ratio * n[1], ratio * n[2]))
    R = spring_compliance(period, NEAR_RIGID_STIFFNESS, period + period)
    write_numbers(out, m, (0.0, -error / (period + period) - bias, R, NEAR_RIGID, -np.inf, np.inf))
    return end_row(w, rows, i, out, m)


# --- motors --------------------------------------------------------------------------------------------------------


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def _write_controller(
    w: WorldRecord, rows: BodyRowRecord, i: int, j: int, out: TermInputs, m: int, u: Triple, n: Triple,
    numbers: Numbers,
) -> int:  # fmt: skip
    """Writes the row of a controller; returns the number of rows."""
    if not np.isfinite(numbers[2]):  # both gains are zero
        return m
    begin_row(w, rows, i, out, m)
    bias = add_velocity(w, rows, i, j, out, m, u, n)
    write_numbers(out, m, numbers)
    out.parameters[m, ROW_BIAS] += bias
    return end_row(w, rows, i, out, m)


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def _write_speed_limits(rows: BodyRowRecord, out: TermInputs, row: int, limit: float, period: float, m: int) -> int:
    """Writes both sides of the velocity limit of a controller in `row`, and its bounds; returns the number of rows."""
    if not limit < np.inf:
        return m
    first, end, p = out.start[row], out.start[row + 1], out.parameters
    source, direction = rows.source, rows.direction
    for side in range(2):
        sign = 1.0 - 2.0 * side
        bias = p[row, ROW_BIAS]
        write_speed_row(period, limit, sign, p[row], p[m])
        p[m, ROW_BIAS] = -sign * bias
        out.a[m], out.b[m] = out.a[row], out.b[row]
        at = out.start[m]
        for k in range(end - first):
            out.J[at + k] = -sign * out.J[first + k]
        out.start[m + 1] = at + end - first
        source[m, 0], source[m, 1] = source[row, 0], row
        for k in range(3):
            direction[m, 0, k], direction[m, 1, k] = -sign * direction[row, 0, k], -sign * direction[row, 1, k]
        m += 1
    return m


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def _write_motor(
    w: WorldRecord,
    rows: BodyRowRecord,
    i: int,
    j: int,
    kind: int,
    x: np.ndarray,
    period: float,
    out: TermInputs,
    m: int,
) -> int:
    """Writes the rows of the motor of a hinge, which rotates the shorter way, or of a slide."""
    n, d = axis_of(rows, j, 2), rows.displacement
    none = (0.0, 0.0, 0.0)
    if kind == HINGE_MOTOR:
        position = x[TARGET] - nearest(x[TARGET] - angle_of(rows, j))
        u = none
    else:
        position = n[0] * d[j, 0] + n[1] * d[j, 1] + n[2] * d[j, 2]
        u, n = n, none
    numbers = controller_row(
        period, position, x[KP], x[KD], x[TARGET], x[TARGET_VELOCITY], x[FEEDFORWARD], x[EFFORT_LIMIT]
    )
    end = _write_controller(w, rows, i, j, out, m, u, n, numbers)
    return end if end == m else _write_speed_limits(rows, out, m, x[VELOCITY_LIMIT], period, end)


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def _write_ball_motor(
    w: WorldRecord, rows: BodyRowRecord, i: int, j: int, x: np.ndarray, period: float, out: TermInputs, m: int
) -> int:
    """Writes the rows of the motor of a ball, along the axes of b."""
    first, none = m, (0.0, 0.0, 0.0)
    error = _ball_error(w, rows, j, x)
    for k in range(3):
        numbers = controller_row(
            period, 0.0, x[KP], x[KD], error[k], x[BALL_VELOCITY + k], x[BALL_FEEDFORWARD + k], x[BALL_EFFORT_LIMIT]
        )
        m = _write_controller(w, rows, i, j, out, m, none, own_axis(w, rows, j, k), numbers)
    end = m
    for row in range(first, end):
        m = _write_speed_limits(rows, out, row, x[BALL_VELOCITY_LIMIT], period, m)
    return m


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def _ball_error(w: WorldRecord, rows: BodyRowRecord, j: int, x: np.ndarray) -> Triple:
    """Returns the rotation vector from the position of a ball to the target of its motor, along the axes of b [rad]."""
    poses, a, b, relative, scratch = w.body_pose, rows.body[j, 0], rows.body[j, 1], rows.relative, rows.scratch
    q0, q1, q2, q3 = x[BALL_TARGET], x[BALL_TARGET + 1], x[BALL_TARGET + 2], x[BALL_TARGET + 3]
    s = 1.0 / np.sqrt(q0 * q0 + q1 * q1 + q2 * q2 + q3 * q3)
    target = rotation_entries(q0 * s, q1 * s, q2 * s, q3 * s)
    for r in range(3):
        # a row of Q^T R, of Q^T R relative, and of their product with the target
        x0, x1, x2 = 0.0, 0.0, 0.0
        for k in range(3):
            y = rotation_entry(poses, b, k, r)
            x0 += y * rotation_entry(poses, a, k, 0)
            x1 += y * rotation_entry(poses, a, k, 1)
            x2 += y * rotation_entry(poses, a, k, 2)
        y0 = x0 * relative[j, 0] + x1 * relative[j, 3] + x2 * relative[j, 6]
        y1 = x0 * relative[j, 1] + x1 * relative[j, 4] + x2 * relative[j, 7]
        y2 = x0 * relative[j, 2] + x1 * relative[j, 5] + x2 * relative[j, 8]
        scratch[3 * r] = y0 * target[0] + y1 * target[3] + y2 * target[6]
        scratch[3 * r + 1] = y0 * target[1] + y1 * target[4] + y2 * target[7]
        scratch[3 * r + 2] = y0 * target[2] + y1 * target[5] + y2 * target[8]
    return rotation_vector(scratch)
