"""Compiled parts of the rows of joints between bodies: relative poses, and one row at a time.

T is the twist of body b against body a at a point of b, or of a. A row takes u . T_linear + n . T_angular. On the twist
[v; omega] of a body at the origin of its pose this is f . v + m . omega, with the lever r from there to the point:

    f = u,   m = n + r x u   for b;       f = -u,   m = -(n + r x u)   for a.

A tree's velocities enter by the Jacobian of this twist. The velocity of a body that no tree moves is a constant part of
the row. A row without an entry is left out: a mechanism in a plane does not move across it. Near-rigid limits are those
of the solver (:mod:`convex_contact.problem.constraints`). The arrays are those of `arrays.BODY_ROW_TABLE`.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from convex_contact.model.arrays import BodyRowRecord, WorldRecord
from convex_contact.model.bodies import write_quaternion
from convex_contact.model.tree_kernels import link_column
from convex_contact.solver.workspace import TermInputs
from haptic_math.rotations import vector_entries

#: columns of `count` in `arrays.BODY_ROW_TABLE`
ROWS, STATUS, FAILED_ITEM = range(3)
#: statuses; the points of a distance are the same, or a row couples more than two trees
DONE, SAME_POINT, TOO_MANY_TREES = range(3)
#: trees that an item may couple
TREES = 4

Triple = tuple[float, float, float]
Numbers = tuple[float, float, float, float, float, float]


# --- poses ---------------------------------------------------------------------------------------------------------


_vector_entries = njit(cache=True, nogil=True, error_model="numpy", _nrt=False)(vector_entries)


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False, forceinline=True)
def rotation_entry(poses: np.ndarray, body: int, r: int, c: int) -> float:
    """Returns an entry of the rotation of a body's pose; -1 is the world."""
    if body < 0:
        return 1.0 if r == c else 0.0
    return float(poses[body, 3 * r + c])


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def place_joint(w: WorldRecord, rows: BodyRowRecord, j: int) -> None:
    """Writes the axes of a joint, the displacement and rotation of b, and the levers, in the world."""
    poses, a, b = w.body_pose, rows.body[j, 0], rows.body[j, 1]
    axes, relative, point, frame, rotation = rows.axes, rows.relative, rows.point, rows.frame, rows.rotation
    lever, displacement, at_a = rows.lever, rows.displacement, rows.at_a[j] != 0
    for r in range(3):
        x, y, z = rotation_entry(poses, a, r, 0), rotation_entry(poses, a, r, 1), rotation_entry(poses, a, r, 2)
        for c in range(3):
            if at_a:  # springs have the world's axes
                frame[j, 3 * r + c] = 1.0 if r == c else 0.0
            else:
                frame[j, 3 * r + c] = x * axes[j, c] + y * axes[j, 3 + c] + z * axes[j, 6 + c]
        there = x * point[j, 0, 0] + y * point[j, 0, 1] + z * point[j, 0, 2]
        here = 0.0
        for k in range(3):
            here += rotation_entry(poses, b, r, k) * point[j, 1, k]
        p = poses[a, 9 + r] if a >= 0 else 0.0
        q = poses[b, 9 + r] if b >= 0 else 0.0
        displacement[j, r] = (q + here) - (p + there)
        lever[j, 0, r], lever[j, 1, r] = (there if at_a else (q + here) - p), here
    for c in range(3):
        # column c of (R relative)^T, a row of R relative
        x, y, z = rotation_entry(poses, a, c, 0), rotation_entry(poses, a, c, 1), rotation_entry(poses, a, c, 2)
        t0 = x * relative[j, 0] + y * relative[j, 3] + z * relative[j, 6]
        t1 = x * relative[j, 1] + y * relative[j, 4] + z * relative[j, 7]
        t2 = x * relative[j, 2] + y * relative[j, 5] + z * relative[j, 8]
        for r in range(3):
            rotation[j, 3 * r + c] = (
                rotation_entry(poses, b, r, 0) * t0
                + rotation_entry(poses, b, r, 1) * t1
                + rotation_entry(poses, b, r, 2) * t2
            )


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False, forceinline=True)
def axis_of(rows: BodyRowRecord, j: int, k: int) -> Triple:
    """Returns the axis e_(k + 1) of a joint in the world."""
    frame = rows.frame
    return frame[j, k], frame[j, 3 + k], frame[j, 6 + k]


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False, forceinline=True)
def rotated(rows: BodyRowRecord, j: int, x: float, y: float, z: float) -> Triple:
    """Returns a vector that has rotated with b since the start."""
    R = rows.rotation
    return (
        R[j, 0] * x + R[j, 1] * y + R[j, 2] * z,
        R[j, 3] * x + R[j, 4] * y + R[j, 5] * z,
        R[j, 6] * x + R[j, 7] * y + R[j, 8] * z,
    )


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def rotation_vector(scratch: np.ndarray) -> Triple:
    """Returns the rotation vector of the matrix in `scratch`, at most pi long [rad]."""
    q = scratch[9:]
    write_quaternion(scratch, q)
    return _vector_entries(q[0], q[1], q[2], q[3])


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def angle_of(rows: BodyRowRecord, j: int) -> float:
    """Returns the angle of a hinge, from -pi to pi [rad]."""
    x, y, z = axis_of(rows, j, 0)
    a, b, c = axis_of(rows, j, 1)
    u, v, t = rotated(rows, j, x, y, z)
    return float(np.arctan2(a * u + b * v + c * t, x * u + y * v + z * t))


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def nearest(angle: float) -> float:
    """Returns an angle minus the nearest multiple of 2 pi [rad], exactly."""
    rest = abs(angle) % (2.0 * math.pi)
    if rest > math.pi:
        rest -= 2.0 * math.pi
    return -rest if angle < 0.0 else rest


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False, forceinline=True)
def own_axis(w: WorldRecord, rows: BodyRowRecord, j: int, k: int) -> Triple:
    """Returns axis k of the pose of b in the world."""
    poses, b = w.body_pose, rows.body[j, 1]
    return rotation_entry(poses, b, 0, k), rotation_entry(poses, b, 1, k), rotation_entry(poses, b, 2, k)


# --- one row -------------------------------------------------------------------------------------------------------


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def begin_row(w: WorldRecord, rows: BodyRowRecord, i: int, out: TermInputs, m: int) -> None:
    """Sets the entries of row m of item i to zero, for all trees of the item, and notes the item."""
    at, tree_v, trees, source = out.start[m], w.tree_v, rows.tree, rows.source
    source[m, 0], source[m, 1] = i, -1
    for s in range(TREES):
        t = trees[i, s]
        if t < 0:
            break
        for _ in range(tree_v[t + 1] - tree_v[t]):
            out.J[at] = 0.0
            at += 1


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def _add_body(
    w: WorldRecord, rows: BodyRowRecord, i: int, out: TermInputs, m: int, body: int, f: Triple, n: Triple
) -> float:
    """Adds f . v + n . omega of a body to row m of item i; returns this velocity of a body that no tree moves."""
    if body < 0:
        return 0.0
    f0, f1, f2 = f
    n0, n1, n2 = n
    tree = w.body_tree[body]
    if tree < 0:
        V = w.body_twist
        return float(
            f0 * V[body, 0] + f1 * V[body, 1] + f2 * V[body, 2] + n0 * V[body, 3] + n1 * V[body, 4] + n2 * V[body, 5]
        )
    at, tree_v, trees, J, link = out.start[m], w.tree_v, rows.tree, out.J, w.body_link[body]
    for s in range(TREES):
        t = trees[i, s]
        if t == tree:
            break
        at += tree_v[t + 1] - tree_v[t]
    if link < 0:
        J[at] += f0
        J[at + 1] += f1
        J[at + 2] += f2
        J[at + 3] += n0
        J[at + 4] += n1
        J[at + 5] += n2
    elif w.link_dof[link] < 0:
        K = w.link_jacobian
        for d in range(tree_v[tree + 1] - tree_v[tree]):
            J[at + d] += f0 * K[link, 0, d] + f1 * K[link, 1, d] + f2 * K[link, 2, d]
            J[at + d] += n0 * K[link, 3, d] + n1 * K[link, 4, d] + n2 * K[link, 5, d]
    else:
        k = w.link_dof[link]
        while k >= 0:
            c = link_column(w, body, k)
            J[at + k - tree_v[tree]] += f0 * c[0] + f1 * c[1] + f2 * c[2] + n0 * c[3] + n1 * c[4] + n2 * c[5]
            k = w.dof_parent[k]
    return 0.0


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def add_velocity(
    w: WorldRecord, rows: BodyRowRecord, i: int, j: int, out: TermInputs, m: int, u: Triple, n: Triple
) -> float:
    """Adds u . T_linear + n . T_angular of joint j to row m of item i; returns the part that no tree moves."""
    u0, u1, u2 = u
    n0, n1, n2 = n
    lever, direction = rows.lever, rows.direction
    for k in range(3):
        direction[m, 0, k], direction[m, 1, k] = u[k], n[k]
    x, y, z = lever[j, 1, 0], lever[j, 1, 1], lever[j, 1, 2]
    moment = n0 + y * u2 - z * u1, n1 + z * u0 - x * u2, n2 + x * u1 - y * u0
    bias = _add_body(w, rows, i, out, m, rows.body[j, 1], u, moment)
    x, y, z = lever[j, 0, 0], lever[j, 0, 1], lever[j, 0, 2]
    moment = -(n0 + y * u2 - z * u1), -(n1 + z * u0 - x * u2), -(n2 + x * u1 - y * u0)
    return bias + _add_body(w, rows, i, out, m, rows.body[j, 0], (-u0, -u1, -u2), moment)


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def end_row(w: WorldRecord, rows: BodyRowRecord, i: int, out: TermInputs, m: int) -> int:
    """Leaves out the trees that row m does not couple; returns the number of rows, m if the row has no entry."""
    source, tree_v, trees, J = out.start[m], w.tree_v, rows.tree, out.J
    at, found = source, 0
    for s in range(TREES):
        t = trees[i, s]
        if t < 0:
            break
        size = tree_v[t + 1] - tree_v[t]
        acts = False
        for k in range(size):
            acts = acts or J[source + k] != 0.0
        if acts:
            if found == 0:
                out.a[m], out.b[m] = t, -1
            elif found == 1:
                out.b[m] = t
            else:
                rows.count[STATUS] = TOO_MANY_TREES
                return m
            for k in range(size):
                J[at + k] = J[source + k]
            at += size
            found += 1
        source += size
    if found == 0:
        return m
    out.start[m + 1] = at
    return m + 1


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False, forceinline=True)
def write_numbers(out: TermInputs, m: int, numbers: Numbers) -> None:
    """Writes b, v^, R, beta, lower, upper of row m."""
    for k in range(6):
        out.parameters[m, k] = numbers[k]
