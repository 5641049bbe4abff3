"""Rows of joints between bodies, of gears, welds and motors on them, in the derivatives of a step.

A row has the velocity s = sum_X f_X . v_X + m_X . omega_X of the twists of its bodies X at the origins of their poses,
w_X = [f_X; m_X], and the impulse gamma = clamp((v^ - s)/R, lower, upper). With the directions u and n of
`body_row_kernels`, the levers r_X and the displacement d from the point of a to that of b,

    w_b = [u; n + r_b x u],    w_a = -[u; n + r_a x u].

By the tangents xi = [dc; dtheta] of the bodies' poses, a vector y that rotates with X changes by dtheta_X x y. So do
r_b with b, the point of a with a, and u and n with a (axes e), or n with b (effort and motor of a ball); those of a
`Weld` are constant. A distance has u = d/|d|, so that du = (I - u u^T) dd/|d|. A target depends on an error g,
dv^ = c dg:

    linear rows          dg = sum_X w_X . xi_X, for a distance as well,
    hinge                dg = (n_b x (e x n)) . (dtheta_b - dtheta_a),
    slide, weld          dg = (J_l^-T e) . (dtheta_b - dtheta_a), J_l^-1 at the rotation vector t of b,
    `Weld`               the same - (e x t) . dtheta_a, as its axes stay in the world,
    angle of a hinge     (x h x e_2 - y h x e_1)/(x^2 + y^2) . (dtheta_b - dtheta_a), h: e_1 that rotates with b,
    motor of a ball      that of a weld, at the rotation vector from b to the target,

with x = e_1 . h, y = e_2 . h. The sum of both hinges' angles, weighted by their teeth, is the error of a gear. c is
-1/(dt + tau) for springs, -kp/(dt kp + kd) for motors. A velocity limit cuts off the motor's impulse at a bound with
the derivative c dg/R of the motor's row.

A twist is V_X = T_X v, and xi_X = T_X dq with the Jacobian T_X of X, whose own derivative (links only) is H_X. Hence
J = sum_X T_X^T w_X, its derivative is dJ = sum_X T_X^T dw_X + H_X^T w_X, ds = v . dJ at fixed v, and

    dr = -dJ gamma - J dgamma,    dgamma = (dv^ - ds - J dv)/R - gamma dw/w (between the bounds),

the last term if R is the near-rigid limit beta^2 w/(4 pi^2) of w = J A^-1 J^T. With x = A^-1 J^T, dw = 2 dJ x -
x^T dA x. A free body has dA = [dtheta] A - A [dtheta].

Joints keep their places on their bodies if the position of a body changes that no tree moves.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pinocchio as pin

from convex_contact.differentiation.tape import BodyRowTape
from convex_contact.model.arrays import BodyRowArrays, WorldArrays
from convex_contact.model.bodies import FREE
from convex_contact.model.body_joint_kernels import (
    BALL,
    BALL_MOTOR,
    BALL_TARGET,
    DISTANCE,
    GEAR,
    HINGE,
    HINGE_MOTOR,
    KD,
    KP,
    RELAXATION_TIME,
    SLIDE_MOTOR,
)
from convex_contact.problem.contact_kernels import (
    ROW_BIAS,
    ROW_COMPLIANCE,
    ROW_LOWER,
    ROW_NEAR_RIGID,
    ROW_TARGET,
    ROW_UPPER,
)
from convex_contact.problem.near_rigid import near_rigid_compliance
from convex_contact.problem.row_law import row_impulse
from convex_contact.problem.row_numbers import controller_slope, rigid_slope
from convex_contact.simulation.body_joint_rows import BodyRows

_MOTORS = (HINGE_MOTOR, SLIDE_MOTOR, BALL_MOTOR)


class RowMotion(NamedTuple):
    """Data of a step for the derivatives of its rows; the mass matrices' derivatives are those of articulated trees."""

    arrays: WorldArrays
    poses: np.ndarray  # of the bodies at the start of the step (nb, 12)
    velocity: np.ndarray  # v (nv,)
    time: float
    period: float
    link_hessian: np.ndarray  # (links, 6, d, d): entry, column, tangent
    mass_by_q: dict[int, np.ndarray]  # by tree (n, n, n)


class _Rows(NamedTuple):
    """m rows of S bodies each, by the tangents of their poses (6 S columns, body by body).

    Attributes:
        body: numbers of the bodies, -1: the world (m, S).
        w: the row on each body's twist (m, S, 6).
        dw: its derivative (m, S, 6, 6 S).
        target, lower, upper: derivatives of v^ and of the bounds (m, 6 S).
        numbers: b, v^, R, beta, lower, upper (m, 6).
    """

    body: np.ndarray
    w: np.ndarray
    dw: np.ndarray
    target: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    numbers: np.ndarray


class RowBlocks(NamedTuple):
    """Derivatives of the residual's part of m rows between S trees each (m, S), with a slot of d velocities per tree.

    Attributes:
        tree: trees, -1: none (m, S).
        R_q, H: derivatives by q and by v (m, S d, S d).
        tape: derivatives by parameters.
    """

    tree: np.ndarray
    R_q: np.ndarray
    H: np.ndarray
    tape: BodyRowTape


def differentiate_body_rows(rows: BodyRows, numbers: np.ndarray, motion: RowMotion) -> list[RowBlocks]:
    """Differentiates the rows of all joints between bodies, gears, welds and motors of the last step.

    Args:
        rows: rows of the last step.
        numbers: b, v^, R, beta, lower, upper of these rows (m, 6).
        motion: the step.

    Returns:
        Blocks of the rows of two bodies, and of gears, which have four; no blocks if there are no such rows.
    """
    x, m = rows.arrays, len(numbers)
    gear = x.item[x.source[:m, 0], 0] == GEAR
    found = []
    if not gear.all():
        rows.evaluate(motion.time)
        found.append(_joint_rows(x, x.motor, np.flatnonzero(~gear), numbers, motion))
    if gear.any():
        found.append(_gear_rows(x, np.flatnonzero(gear), numbers, motion.period))
    return [_blocks(each, motion) for each in found]


# --- rows by the tangents of their bodies ----------------------------------------------------------------------------


def _skew(y: np.ndarray) -> np.ndarray:
    """Returns the matrices [y] (m, 3, 3) of the vector products y x."""
    out = np.zeros((len(y), 3, 3))
    out[:, 2, 1], out[:, 0, 2], out[:, 1, 0] = y[:, 0], y[:, 1], y[:, 2]
    return out - out.transpose(0, 2, 1)


def _turned(y: np.ndarray, side: int) -> np.ndarray:
    """Returns the derivative (m, 3, 12) of vectors that rotate with body a (0) or b (1)."""
    out = np.zeros((len(y), 3, 12))
    out[:, :, 6 * side + 3 : 6 * side + 6] = -_skew(y)
    return out


def _on_twists(
    x: BodyRowArrays, joint: np.ndarray, kind: np.ndarray, u: np.ndarray, n: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Returns rows u . T_linear + n . T_angular on the twists of a and b (m, 2, 6), and their derivatives."""
    r_a, r_b, d = x.lever[joint, 0], x.lever[joint, 1], x.displacement[joint]
    in_world = (x.at_a[joint] != 0)[:, None]
    by_b = _turned(r_b, 1)
    from_a = by_b.copy()  # of the point of b from the origin of a
    from_a[:, :, :3] -= np.eye(3)
    from_a[:, :, 6:9] += np.eye(3)
    point = _turned(np.where(in_world, r_a, r_a - d), 0)  # of the point of a
    by_a = np.where(in_world[..., None], point, from_a)
    by_u = _turned(np.where(in_world, 0.0, u), 0)
    far = kind == DISTANCE
    if far.any():
        length = np.linalg.norm(d[far], axis=1)[:, None, None]
        across = np.eye(3) - u[far, :, None] * u[far, None]
        by_u[far] = across @ (from_a - point)[far] / length
    of_b = ((kind == BALL) | (kind == BALL_MOTOR))[:, None]
    by_n = _turned(np.where(of_b, n, 0.0), 1) + _turned(np.where(of_b | in_world, 0.0, n), 0)
    w, dw = np.empty((len(u), 2, 6)), np.empty((len(u), 2, 6, 12))
    for side, sign, r, by_r in ((0, -1.0, r_a, by_a), (1, 1.0, r_b, by_b)):
        w[:, side, :3], w[:, side, 3:] = sign * u, sign * (n + np.cross(r, u))
        dw[:, side, :3] = sign * by_u
        dw[:, side, 3:] = sign * (by_n - _skew(u) @ by_r + _skew(r) @ by_u)
    return w, dw


def _frame(x: BodyRowArrays, joint: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns the axes e of a joint as columns (3, 3), and the rotation of b (3, 3), world."""
    return x.frame[joint].reshape(3, 3), x.rotation[joint].reshape(3, 3)


def _angle_slope(x: BodyRowArrays, joint: int) -> np.ndarray:
    """Returns the derivative of a hinge's angle by dtheta_b - dtheta_a (3,)."""
    e, rotation = _frame(x, joint)
    h = rotation @ e[:, 0]
    c, s = e[:, 0] @ h, e[:, 1] @ h
    return np.asarray(pin.skew(h) @ (c * e[:, 1] - s * e[:, 0])) / (c * c + s * s)


def _angular_slope(
    x: BodyRowArrays, joint: int, kind: int, n: np.ndarray, motor: np.ndarray, poses: np.ndarray
) -> np.ndarray:
    """Returns the derivative of a row's angular error by dtheta_b - dtheta_a (3,)."""
    e, rotation = _frame(x, joint)
    if kind == HINGE:
        return np.asarray(pin.skew(rotation @ e[:, 2]) @ pin.skew(n) @ e[:, 2])
    if kind == HINGE_MOTOR:
        return _angle_slope(x, joint)
    if kind == BALL_MOTOR:
        a, b = x.body[joint]
        R, Q = (np.eye(3) if body < 0 else poses[body, :9].reshape(3, 3) for body in (a, b))
        target = pin.Quaternion(motor[BALL_TARGET : BALL_TARGET + 4].copy()).normalized().matrix()
        rotation = R @ x.relative[joint].reshape(3, 3) @ target @ Q.T
    return np.asarray(pin.Jlog3(rotation) @ n)


def _joint_rows(x: BodyRowArrays, motors: np.ndarray, which: np.ndarray, every: np.ndarray, motion: RowMotion) -> _Rows:
    """Differentiates the rows of two bodies, by their numbers in the step."""
    period, numbers, limited = motion.period, every[which], x.source[which, 1]
    kind, number, joint = x.item[x.source[which, 0]].T
    u, n = x.direction[which, 0], x.direction[which, 1]
    w, dw = _on_twists(x, joint, kind, u, n)
    target = w.reshape(-1, 12).copy()
    tau = x.spring[joint, RELAXATION_TIME]
    slope = -1.0 / (period + np.where(np.isnan(tau), period, tau))
    of_motor = np.isin(kind, _MOTORS)
    gains = motors[number[of_motor]]
    slope[of_motor] = controller_slope(period, gains[:, KP], gains[:, KD])
    slope[(numbers[:, ROW_LOWER] == numbers[:, ROW_UPPER]) | (limited >= 0)] = 0.0  # efforts and velocity limits
    for i in np.flatnonzero(n.any(axis=1) & (slope != 0.0)):
        motor = motors[number[i]] if of_motor[i] else np.zeros(0)
        by = _angular_slope(x, joint[i], kind[i], n[i], motor, motion.poses)
        target[i, 9:], target[i, 3:6] = by, -by
        if x.at_a[joint[i]]:
            target[i, 3:6] -= pin.skew(n[i]) @ pin.log3(_frame(x, joint[i])[1])
    target *= slope[:, None]
    lower, upper = np.zeros_like(target), np.zeros_like(target)
    place = np.searchsorted(which, limited)
    for i in np.flatnonzero(limited >= 0):
        motor_row = place[i]
        above = float(np.sum(w[i] * w[motor_row])) < 0.0
        sign, bound = (1.0, ROW_LOWER) if above else (-1.0, ROW_UPPER)
        impulse = numbers[motor_row, bound]
        if abs(impulse) < numbers[i, ROW_UPPER] - sign * impulse:  # dt times the effort limit
            change = target[motor_row] / numbers[motor_row, ROW_COMPLIANCE]
            (lower if above else upper)[motor_row] = change
            upper[i] = sign * change
    return _Rows(x.body[joint], w, dw, target, lower, upper, numbers)


def _gear_rows(x: BodyRowArrays, which: np.ndarray, every: np.ndarray, period: float) -> _Rows:
    """Differentiates the rows of gears, with the bodies of both hinges; see :func:`_joint_rows`."""
    m = len(which)
    gear = x.gear[x.item[x.source[which, 0], 1]]
    w, dw, target = np.zeros((m, 4, 6)), np.zeros((m, 4, 6, 24)), np.zeros((m, 24))
    for k in range(2):
        joint, ratio = gear[:, k], gear[:, 2 + k] / gear[:, 2]
        n = ratio[:, None] * x.frame[joint].reshape(-1, 3, 3)[:, :, 2]
        sides, columns = slice(2 * k, 2 * k + 2), slice(12 * k, 12 * k + 12)
        w[:, sides], dw[:, sides, :, columns] = _on_twists(x, joint, np.full(m, GEAR), np.zeros((m, 3)), n)
        by = ratio[:, None] * np.array([_angle_slope(x, j) for j in joint])
        target[:, 12 * k + 9 : 12 * k + 12], target[:, 12 * k + 3 : 12 * k + 6] = by, -by
    none = np.zeros_like(target)
    body = x.body[gear[:, :2]].reshape(m, 4)
    return _Rows(body, w, dw, rigid_slope(period) * target, none, none, every[which])


# --- rows by the trees -----------------------------------------------------------------------------------------------


class _Maps(NamedTuple):
    """Maps of the trees' velocities to the twists of the rows' bodies.

    Attributes:
        tree: trees of the slots; that of two bodies has one slot (m, S).
        slot: slot of each body, with a tree or without (m, S).
        columns: velocities of the slots (m, S d); 0 for none.
        M: the maps (m, S, 6, S d).
        twist: twists at the end of the step (m, S, 6).
        L: derivative of the rows' Jacobians by that of the links' Jacobians (m, S d, S d): entry, tangent.
    """

    tree: np.ndarray
    slot: np.ndarray
    columns: np.ndarray
    M: np.ndarray
    twist: np.ndarray
    L: np.ndarray


def _maps(rows: _Rows, motion: RowMotion) -> _Maps:
    """Returns the maps of rows."""
    a, d = motion.arrays, motion.arrays.A.shape[1]
    m, S = rows.body.shape
    tree = np.where(rows.body >= 0, a.body_tree[rows.body], -1)
    slot = np.argmax(tree[:, :, None] == tree[:, None], axis=2)  # the first body of the same tree
    M, L = np.zeros((m, S, 6, S, d)), np.zeros((m, S, d, S, d))
    row = np.arange(m)
    for side in range(S):
        body, at = rows.body[:, side], slot[:, side]
        link = a.body_link[body]
        free = (tree[:, side] >= 0) & (link < 0)
        M[row[free], side, :, at[free], :6] = np.eye(6)
        linked = (tree[:, side] >= 0) & (link >= 0)
        M[row[linked], side, :, at[linked]] = a.link_jacobian[link[linked]]
        own = row[linked], at[linked], slice(None), at[linked]
        L[own] += np.einsum("ma,maij->mij", rows.w[linked, side], motion.link_hessian[link[linked]])
    slots = np.where(slot == np.arange(S), tree, -1)
    inside = (slots >= 0)[:, :, None] & (np.arange(d) < np.diff(a.tree_v)[slots][:, :, None])
    columns = np.where(inside, a.tree_v[slots][:, :, None] + np.arange(d), 0).reshape(m, S * d)
    maps = M.reshape(m, S, 6, S * d)
    unmoved = ((rows.body >= 0) & (tree < 0))[:, :, None]
    twist = np.einsum("msai,mi->msa", maps, motion.velocity[columns]) + unmoved * a.body_twist[rows.body]
    return _Maps(slots, slot, columns, maps, twist, L.reshape(m, S * d, S * d))


def _mass_terms(maps: _Maps, J: np.ndarray, motion: RowMotion) -> tuple[np.ndarray, np.ndarray]:
    """Returns A^-1 J (m, S d), and the part of dw/dq by the change of A (m, S d)."""
    a = motion.arrays
    d = a.A.shape[1]
    shape = *maps.tree.shape, d
    own, column, by_q = J.reshape(shape), np.zeros(shape), np.zeros(shape)
    free = (maps.tree >= 0) & (a.tree_kind[maps.tree] == FREE)
    column[free, :6] = np.linalg.solve(a.A[maps.tree[free], :6, :6], own[free][:, :6, None])[..., 0]
    for half in (slice(0, 3), slice(3, 6)):
        by_q[free, 3:6] -= 2.0 * np.cross(own[free][:, half], column[free][:, half])
    for t in np.unique(maps.tree[(maps.tree >= 0) & ~free]):
        n, at = int(a.tree_v[t + 1] - a.tree_v[t]), maps.tree == t
        found = np.linalg.solve(a.A[t, :n, :n], own[at][:, :n].T).T
        column[at, :n] = found
        by_q[at, :n] = -np.einsum("mi,mj,ijk->mk", found, found, motion.mass_by_q[int(t)], optimize=True)
    return column.reshape(J.shape), by_q.reshape(J.shape)


def _blocks(rows: _Rows, motion: RowMotion) -> RowBlocks:
    """Returns the derivatives of the residual's part -J^T gamma of rows."""
    maps, dw = _maps(rows, motion), rows.dw
    m, S = rows.body.shape
    d = motion.arrays.A.shape[1]
    J = np.einsum("msa,msai->mi", rows.w, maps.M)
    J_x = np.einsum("msai,msax->mix", maps.M, dw)
    v = motion.velocity[maps.columns]
    column, w_A = _mass_terms(maps, J, motion)
    w = (J * column).sum(axis=1)
    numbers = rows.numbers
    rigid = near_rigid_compliance(numbers[:, ROW_NEAR_RIGID], w)
    near = (numbers[:, ROW_NEAR_RIGID] > 0.0) & (rigid >= numbers[:, ROW_COMPLIANCE])
    R = np.maximum(numbers[:, ROW_COMPLIANCE], rigid)
    low, high = numbers[:, ROW_LOWER], numbers[:, ROW_UPPER]
    gamma = row_impulse(numbers[:, ROW_BIAS] + (J * v).sum(axis=1), numbers[:, ROW_TARGET], R, low, high)
    between = (low < gamma) & (gamma < high)
    stiffness = (between / R)[:, None]
    by_w = (-gamma * (between & near) / w)[:, None]  # dgamma/dw
    gamma_x = stiffness * (rows.target - np.einsum("msa,msax->mx", maps.twist, dw))
    gamma_x += by_w * 2.0 * np.einsum("mi,mix->mx", column, J_x)
    gamma_x += np.where((~between & (gamma <= low))[:, None], rows.lower, 0.0)
    gamma_x += np.where((~between & (gamma > low))[:, None], rows.upper, 0.0)
    gamma_q = -stiffness * np.einsum("mi,mik->mk", v, maps.L)
    gamma_q += by_w * (2.0 * np.einsum("mi,mik->mk", column, maps.L) + w_A)
    R_x = -gamma[:, None, None] * J_x - J[:, :, None] * gamma_x[:, None]
    R_q = R_x @ maps.M.reshape(m, 6 * S, S * d) - gamma[:, None, None] * maps.L - J[:, :, None] * gamma_q[:, None]
    square = J[:, :, None] * J[:, None]
    unmoved = (rows.body >= 0) & (motion.arrays.body_tree[rows.body] < 0)
    by_slot = column.reshape(m, S, d)
    tape = BodyRowTape(
        tree=maps.tree,
        columns=maps.columns,
        body=np.where(unmoved, rows.body, 0),
        R_fixed=R_x.reshape(m, S * d, S, 6) * unmoved[:, None, :, None],
        slope=J * by_w,
        U=by_slot[:, :, :, None] * by_slot[:, :, None],
    )
    return RowBlocks(maps.tree, R_q, stiffness[:, :, None] * square, tape)
