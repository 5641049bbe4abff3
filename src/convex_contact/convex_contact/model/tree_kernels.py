"""Compiled kinematics and dynamics of articulated trees: composite-rigid-body and recursive Newton-Euler methods.

Spatial vectors are [linear; angular] along the world's axes at the tree's reference point O, the origin of its first
joint, so that they do not lose digits far from the world's origin. S_k is the spatial axis of velocity coordinate k
(Featherstone, Rigid Body Dynamics Algorithms, 2008; equation numbers are his):

    V_i = V_parent + sum S_k v_k,      a_i = a_parent + V_i x sum S_k v_k,      a_0 = -g                       (5.7)
    f_i = I_i a_i + V_i x* I_i V_i + sum of the children's f,      bias_k = S_k . f_i                          (5.9)
    M_kl = S_l . I^c_i S_k for every l from which k descends, I^c the inertia of all that joint i moves        (6.3)

A is factorised as L^T D L (`branches`). The arrays are those of `arrays.WORLD_TABLE`.
Tests compare the results with Pinocchio.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from convex_contact.model.arrays import WorldRecord
from convex_contact.solver.branches import branches_of, copy_branches, factorise_branches, solve_branches

_U = np.uintp  # Numba tests at each access whether a signed index is negative
#: kinds of joints; their coordinates: 1; 1; 2 (cosine, sine); 7 (position, quaternion); 4 (quaternion), as Pinocchio's
REVOLUTE, PRISMATIC, CONTINUOUS, FREE_FLYER, SPHERICAL = range(5)
#: number of velocities of each kind; of the last two along the axes of the link
VELOCITIES = (1, 1, 1, 6, 3)
#: six entries of a spatial vector
SpatialVector = tuple[float, float, float, float, float, float]


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def prepare_trees(w: WorldRecord, period: float) -> None:
    """Writes poses and twists of links, blocks of A and free-motion velocities of all trees, from q and v."""
    starts = w.joint_start
    for tree in range(starts.shape[0] - 1):
        if starts[tree] < starts[tree + 1]:
            place_links(w, tree)
            _find_bias(w, tree)
            _fill_block(w, tree, period)
            _find_free_motion(w, tree, period)


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def place_links(w: WorldRecord, tree: int) -> None:
    """Writes poses and twists of the links of a tree, and its spatial axes and velocities."""
    first, last = w.joint_start[tree], w.joint_start[tree + 1]
    poses, joint_body = w.body_pose, w.joint_body
    for j in range(first, last):
        _place_joint(w, j)
        b = joint_body[j]
        if j == first:
            w.tree_origin[tree, 0], w.tree_origin[tree, 1] = poses[b, 9], poses[b, 10]
            w.tree_origin[tree, 2] = poses[b, 11]
        _write_axes(w, tree, j)
    for j in range(first, last):
        _write_twist(w, tree, j)


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def _place_joint(w: WorldRecord, j: int) -> None:
    """Writes the pose of the link that a joint moves, and the joint's axis in the world frame to joint_world_axis."""
    poses, parent, P, q = w.body_pose, w.joint_parent[j], w.joint_placement, w.q
    b, i, kind, axis = w.joint_body[j], w.joint_q[j], w.joint_kind[j], w.joint_axis
    if parent < 0:
        for k in range(12):
            poses[b, k] = P[j, k]
    else:
        a = w.joint_body[parent]
        for r in range(3):
            x, y, z = poses[a, 3 * r], poses[a, 3 * r + 1], poses[a, 3 * r + 2]
            for c in range(3):
                poses[b, 3 * r + c] = x * P[j, c] + y * P[j, 3 + c] + z * P[j, 6 + c]
            poses[b, 9 + r] = poses[a, 9 + r] + x * P[j, 9] + y * P[j, 10] + z * P[j, 11]
    if kind == FREE_FLYER:
        for r in range(3):
            poses[b, 9 + r] += poses[b, 3 * r] * q[i] + poses[b, 3 * r + 1] * q[i + 1] + poses[b, 3 * r + 2] * q[i + 2]
        i += 3
    if kind in (FREE_FLYER, SPHERICAL):
        x, y, z, s = q[i], q[i + 1], q[i + 2], q[i + 3]
        size = 1.0 / np.sqrt(x * x + y * y + z * z + s * s)
        x, y, z, s = x * size, y * size, z * size, s * size
        _rotate_pose(
            poses, b,
            1 - 2 * (y * y + z * z), 2 * (x * y - z * s), 2 * (x * z + y * s),
            2 * (x * y + z * s), 1 - 2 * (x * x + z * z), 2 * (y * z - x * s),
            2 * (x * z - y * s), 2 * (y * z + x * s), 1 - 2 * (x * x + y * y),
        )  # fmt: skip
        return
    x, y, z = axis[j, 0], axis[j, 1], axis[j, 2]
    for r in range(3):
        w.joint_world_axis[j, r] = poses[b, 3 * r] * x + poses[b, 3 * r + 1] * y + poses[b, 3 * r + 2] * z
    if kind == PRISMATIC:
        for r in range(3):
            poses[b, 9 + r] += w.joint_world_axis[j, r] * q[i]
        return
    c, s = (q[i], q[i + 1]) if kind == CONTINUOUS else (np.cos(q[i]), np.sin(q[i]))
    d = 1.0 - c
    _rotate_pose(
        poses, b, c + d * x * x, d * x * y - s * z, d * x * z + s * y, d * x * y + s * z, c + d * y * y,
        d * y * z - s * x, d * x * z - s * y, d * y * z + s * x, c + d * z * z,
    )  # fmt: skip


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False, forceinline=True)
def _rotate_pose(
    poses: np.ndarray, b: int, m00: float, m01: float, m02: float, m10: float, m11: float, m12: float, m20: float,
    m21: float, m22: float,
) -> None:  # fmt: skip
    """Rotates a pose: R <- R M."""
    for r in range(3):
        x, y, z = poses[b, 3 * r], poses[b, 3 * r + 1], poses[b, 3 * r + 2]
        poses[b, 3 * r] = x * m00 + y * m10 + z * m20
        poses[b, 3 * r + 1] = x * m01 + y * m11 + z * m21
        poses[b, 3 * r + 2] = x * m02 + y * m12 + z * m22


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False, forceinline=True)
def _joint_twist(S: np.ndarray, k: int, n: int, v: np.ndarray) -> SpatialVector:
    """Returns sum S_k v_k of the n velocities of a joint, the first of which is k."""
    s0 = s1 = s2 = s3 = s4 = s5 = 0.0
    for i in range(k, k + n):
        rate = v[i]
        s0, s1, s2 = s0 + S[i, 0] * rate, s1 + S[i, 1] * rate, s2 + S[i, 2] * rate
        s3, s4, s5 = s3 + S[i, 3] * rate, s4 + S[i, 4] * rate, s5 + S[i, 5] * rate
    return s0, s1, s2, s3, s4, s5


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def find_twists(w: WorldRecord, tree: int, velocity: np.ndarray) -> None:
    """Writes to `joint_twist` the spatial velocities of the links of a tree at velocity (nv,), after `place_links`."""
    V, S = w.joint_twist, w.dof_axis
    for j in range(w.joint_start[tree], w.joint_start[tree + 1]):
        s = _joint_twist(S, w.joint_v[j], VELOCITIES[w.joint_kind[j]], velocity)
        parent = w.joint_parent[j]
        for r in range(6):
            V[j, r] = s[r] if parent < 0 else V[parent, r] + s[r]


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def _write_axes(w: WorldRecord, tree: int, j: int) -> None:
    """Writes a joint's spatial axes S, and its link's spatial velocity and acceleration without joint accelerations."""
    S, V, a, v, poses, origin = w.dof_axis, w.joint_velocity, w.joint_acceleration, w.v, w.body_pose, w.tree_origin
    b, k, kind, parent = w.joint_body[j], w.joint_v[j], w.joint_kind[j], w.joint_parent[j]
    x, y, z = origin[tree, 0] - poses[b, 9], origin[tree, 1] - poses[b, 10], origin[tree, 2] - poses[b, 11]
    n = VELOCITIES[kind]
    for i in range(n):
        if n > 1:
            c = i % 3
            ex, ey, ez = poses[b, c], poses[b, 3 + c], poses[b, 6 + c]
        else:
            ex, ey, ez = w.joint_world_axis[j, 0], w.joint_world_axis[j, 1], w.joint_world_axis[j, 2]
        if kind == PRISMATIC or (kind == FREE_FLYER and i < 3):
            S[k + i, 0], S[k + i, 1], S[k + i, 2] = ex, ey, ez
            S[k + i, 3] = S[k + i, 4] = S[k + i, 5] = 0.0
        else:
            S[k + i, 3], S[k + i, 4], S[k + i, 5] = ex, ey, ez
            S[k + i, 0], S[k + i, 1], S[k + i, 2] = ey * z - ez * y, ez * x - ex * z, ex * y - ey * x
    s0, s1, s2, s3, s4, s5 = _joint_twist(S, k, n, v)
    if parent < 0:
        V[j, 0], V[j, 1], V[j, 2], V[j, 3], V[j, 4], V[j, 5] = s0, s1, s2, s3, s4, s5
        for r in range(3):
            a[j, r], a[j, 3 + r] = -w.gravity[r], 0.0
    else:
        V[j, 0], V[j, 1], V[j, 2] = V[parent, 0] + s0, V[parent, 1] + s1, V[parent, 2] + s2
        V[j, 3], V[j, 4], V[j, 5] = V[parent, 3] + s3, V[parent, 4] + s4, V[parent, 5] + s5
        for r in range(6):
            a[j, r] = a[parent, r]
    # V x S v: the axes move with the link
    v0, v1, v2, w0, w1, w2 = V[j, 0], V[j, 1], V[j, 2], V[j, 3], V[j, 4], V[j, 5]
    a[j, 0] += w1 * s2 - w2 * s1 + v1 * s5 - v2 * s4
    a[j, 1] += w2 * s0 - w0 * s2 + v2 * s3 - v0 * s5
    a[j, 2] += w0 * s1 - w1 * s0 + v0 * s4 - v1 * s3
    a[j, 3] += w1 * s5 - w2 * s4
    a[j, 4] += w2 * s3 - w0 * s5
    a[j, 5] += w0 * s4 - w1 * s3


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def _write_twist(w: WorldRecord, tree: int, j: int) -> None:
    """Writes the twist of a link at its origin."""
    V, poses, origin, b, twist = w.joint_velocity, w.body_pose, w.tree_origin, w.joint_body[j], w.body_twist
    x, y, z = poses[b, 9] - origin[tree, 0], poses[b, 10] - origin[tree, 1], poses[b, 11] - origin[tree, 2]
    v0, v1, v2 = V[j, 3], V[j, 4], V[j, 5]
    twist[b, 0] = V[j, 0] + v1 * z - v2 * y
    twist[b, 1] = V[j, 1] + v2 * x - v0 * z
    twist[b, 2] = V[j, 2] + v0 * y - v1 * x
    twist[b, 3], twist[b, 4], twist[b, 5] = v0, v1, v2


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False, forceinline=True)
def link_column(w: WorldRecord, body: int, k: int) -> SpatialVector:
    """Returns the column of a link's Jacobian at its origin for velocity k on its path, after `place_links`."""
    S, poses, origin, tree = w.dof_axis, w.body_pose, w.tree_origin, w.body_tree[body]
    x, y, z = poses[body, 9] - origin[tree, 0], poses[body, 10] - origin[tree, 1], poses[body, 11] - origin[tree, 2]
    s0, s1, s2 = S[k, 3], S[k, 4], S[k, 5]
    return S[k, 0] + s1 * z - s2 * y, S[k, 1] + s2 * x - s0 * z, S[k, 2] + s0 * y - s1 * x, s0, s1, s2


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def write_jacobians(w: WorldRecord) -> None:
    """Writes the Jacobians of all links at their origins, after `place_links`; columns of other branches stay zero."""
    J = w.link_jacobian
    for j in range(w.joint_kind.shape[0]):
        b = w.joint_body[j]
        link, base = w.body_link[b], w.tree_v[w.body_tree[b]]
        k = w.link_dof[link]
        while k >= 0:
            column = link_column(w, b, k)
            for r in range(6):
                J[link, r, k - base] = column[r]
            k = w.dof_parent[k]


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def _find_bias(w: WorldRecord, tree: int) -> None:
    """Writes a tree's bias forces, weight included, and the composite inertias of its joints about O."""
    first, last = w.joint_start[tree], w.joint_start[tree + 1]
    V, a, f, Y, S = w.joint_velocity, w.joint_acceleration, w.joint_force, w.joint_composite, w.dof_axis
    for j in range(first, last):
        _write_inertia(w, tree, j)
        m, h0, h1, h2 = Y[j, 0], Y[j, 1], Y[j, 2], Y[j, 3]
        v0, v1, v2, w0, w1, w2 = V[j, 0], V[j, 1], V[j, 2], V[j, 3], V[j, 4], V[j, 5]
        p0, p1, p2 = m * v0 + w1 * h2 - w2 * h1, m * v1 + w2 * h0 - w0 * h2, m * v2 + w0 * h1 - w1 * h0
        l0 = Y[j, 4] * w0 + Y[j, 5] * w1 + Y[j, 6] * w2 + h1 * v2 - h2 * v1
        l1 = Y[j, 5] * w0 + Y[j, 7] * w1 + Y[j, 8] * w2 + h2 * v0 - h0 * v2
        l2 = Y[j, 6] * w0 + Y[j, 8] * w1 + Y[j, 9] * w2 + h0 * v1 - h1 * v0
        a0, a1, a2, b0, b1, b2 = a[j, 0], a[j, 1], a[j, 2], a[j, 3], a[j, 4], a[j, 5]
        f[j, 0] = m * a0 + b1 * h2 - b2 * h1 + w1 * p2 - w2 * p1
        f[j, 1] = m * a1 + b2 * h0 - b0 * h2 + w2 * p0 - w0 * p2
        f[j, 2] = m * a2 + b0 * h1 - b1 * h0 + w0 * p1 - w1 * p0
        f[j, 3] = Y[j, 4] * b0 + Y[j, 5] * b1 + Y[j, 6] * b2 + h1 * a2 - h2 * a1
        f[j, 4] = Y[j, 5] * b0 + Y[j, 7] * b1 + Y[j, 8] * b2 + h2 * a0 - h0 * a2
        f[j, 5] = Y[j, 6] * b0 + Y[j, 8] * b1 + Y[j, 9] * b2 + h0 * a1 - h1 * a0
        f[j, 3] += w1 * l2 - w2 * l1 + v1 * p2 - v2 * p1
        f[j, 4] += w2 * l0 - w0 * l2 + v2 * p0 - v0 * p2
        f[j, 5] += w0 * l1 - w1 * l0 + v0 * p1 - v1 * p0
        _subtract_wrench(w, j)
    for back in range(last - first):
        j = last - 1 - back
        k, parent = w.joint_v[j], w.joint_parent[j]
        for i in range(VELOCITIES[w.joint_kind[j]]):
            total = 0.0
            for r in range(6):
                total += S[k + i, r] * f[j, r]
            w.dof_bias[k + i] = total
        if parent >= 0:
            for r in range(6):
                f[parent, r] += f[j, r]
            for r in range(10):
                Y[parent, r] += Y[j, r]


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def _subtract_wrench(w: WorldRecord, j: int) -> None:
    """Subtracts the wrench that is applied to a link, at its centre of mass, from the force of its joint."""
    f, Y, wrench, b = w.joint_force, w.joint_composite, w.body_wrench, w.joint_body[j]
    acts = False
    for r in range(6):
        acts = acts or wrench[b, r] != 0.0
    if not acts:
        return
    m = Y[j, 0]
    if m > 0.0:
        x, y, z = Y[j, 1] / m, Y[j, 2] / m, Y[j, 3] / m
        f[j, 3] -= y * wrench[b, 2] - z * wrench[b, 1]
        f[j, 4] -= z * wrench[b, 0] - x * wrench[b, 2]
        f[j, 5] -= x * wrench[b, 1] - y * wrench[b, 0]
    for r in range(6):
        f[j, r] -= wrench[b, r]


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def _write_inertia(w: WorldRecord, tree: int, j: int) -> None:
    """Writes the inertia of one link about O: mass, m c (3,), and xx, xy, xz, yy, yz, zz."""
    R, b, inertia, Y = w.body_pose, w.joint_body[j], w.joint_inertia, w.joint_composite
    m, x, y, z = inertia[j, 0], inertia[j, 1], inertia[j, 2], inertia[j, 3]
    c0 = R[b, 9] - w.tree_origin[tree, 0] + R[b, 0] * x + R[b, 1] * y + R[b, 2] * z
    c1 = R[b, 10] - w.tree_origin[tree, 1] + R[b, 3] * x + R[b, 4] * y + R[b, 5] * z
    c2 = R[b, 11] - w.tree_origin[tree, 2] + R[b, 6] * x + R[b, 7] * y + R[b, 8] * z
    Y[j, 0], Y[j, 1], Y[j, 2], Y[j, 3] = m, m * c0, m * c1, m * c2
    entry = 4
    for r in range(3):
        t0 = R[b, 3 * r] * inertia[j, 4] + R[b, 3 * r + 1] * inertia[j, 7] + R[b, 3 * r + 2] * inertia[j, 10]
        t1 = R[b, 3 * r] * inertia[j, 5] + R[b, 3 * r + 1] * inertia[j, 8] + R[b, 3 * r + 2] * inertia[j, 11]
        t2 = R[b, 3 * r] * inertia[j, 6] + R[b, 3 * r + 1] * inertia[j, 9] + R[b, 3 * r + 2] * inertia[j, 12]
        for s in range(r, 3):
            Y[j, entry] = t0 * R[b, 3 * s] + t1 * R[b, 3 * s + 1] + t2 * R[b, 3 * s + 2]
            entry += 1
    Y[j, 4] += m * (c1 * c1 + c2 * c2)
    Y[j, 5] -= m * c0 * c1
    Y[j, 6] -= m * c0 * c2
    Y[j, 7] += m * (c0 * c0 + c2 * c2)
    Y[j, 8] -= m * c1 * c2
    Y[j, 9] += m * (c0 * c0 + c1 * c1)


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def _fill_block(w: WorldRecord, tree: int, period: float) -> None:
    """Writes the block of A: mass matrix, rotors, implicit damping and springs."""
    S, Y, A, base, end = w.dof_axis, w.joint_composite, w.A, w.tree_v[tree], w.tree_v[tree + 1]
    parent, run, first = w.dof_parent, w.dof_run, _U(base)
    for k in range(base, end):
        j = w.dof_joint[k]
        m, h0, h1, h2 = Y[j, 0], Y[j, 1], Y[j, 2], Y[j, 3]
        v0, v1, v2, w0, w1, w2 = S[k, 0], S[k, 1], S[k, 2], S[k, 3], S[k, 4], S[k, 5]
        p0, p1, p2 = m * v0 + w1 * h2 - w2 * h1, m * v1 + w2 * h0 - w0 * h2, m * v2 + w0 * h1 - w1 * h0
        l0 = Y[j, 4] * w0 + Y[j, 5] * w1 + Y[j, 6] * w2 + h1 * v2 - h2 * v1
        l1 = Y[j, 5] * w0 + Y[j, 7] * w1 + Y[j, 8] * w2 + h2 * v0 - h0 * v2
        l2 = Y[j, 6] * w0 + Y[j, 8] * w1 + Y[j, 9] * w2 + h0 * v1 - h1 * v0
        last = k
        while last >= 0:
            for i in range(_U(run[last]), _U(last + 1)):
                entry = S[i, 0] * p0 + S[i, 1] * p1 + S[i, 2] * p2 + S[i, 3] * l0 + S[i, 4] * l1 + S[i, 5] * l2
                A[tree, k - base, i - first] = A[tree, i - first, k - base] = entry
            last = parent[run[last]]
        implicit = period * (w.dof_damping[k] + period * w.dof_stiffness[k])
        A[tree, k - base, k - base] += w.dof_armature[k] + implicit


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def _find_free_motion(w: WorldRecord, tree: int, period: float) -> None:
    """Computes v* = v0 + dt A^-1 (effort - bias - K (q - rest) - (D + dt K) v0)."""
    blocks, L, base, end, x = w.A, w.tree_factor, w.tree_v[tree], w.tree_v[tree + 1], w.v_star
    for k in range(base, end):
        force = w.effort[k] + w.drive_effort[k] - w.dof_bias[k]
        force -= (w.dof_damping[k] + period * w.dof_stiffness[k]) * w.v[k]
        if w.dof_stiffness[k] > 0.0:
            force -= w.dof_stiffness[k] * _spring_displacement(w, k)
        x[k] = period * force
    factors, width, branches, size = L.reshape(-1), L.shape[1], branches_of(w), blocks.shape[1]
    copy_branches(blocks.reshape(-1), tree * size * size, (size, 1), factors, 0, (width, 1), branches, base, end)
    factorise_branches(factors, 0, width, branches, base, end, None)
    solve_branches(factors, 0, width, branches, base, end, x)
    for k in range(base, end):
        x[k] += w.v[k]


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def _spring_displacement(w: WorldRecord, k: int) -> float:
    """Returns the displacement of a joint from the rest position of its spring [m or rad]."""
    j = w.dof_joint[k]
    i = w.joint_q[j]
    if w.joint_kind[j] == CONTINUOUS:
        c, s, c0, s0 = w.q[i], w.q[i + 1], w.dof_rest[k, 0], w.dof_rest[k, 1]
        return float(np.arctan2(s * c0 - c * s0, c * c0 + s * s0))
    return float(w.q[i] - w.dof_rest[k, 0])


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def move_trees(w: WorldRecord, period: float) -> None:
    """Moves the coordinates of all trees by their velocities, exact for rotations."""
    q, v = w.q, w.v
    for j in range(w.joint_kind.shape[0]):
        i, k, kind = w.joint_q[j], w.joint_v[j], w.joint_kind[j]
        if kind == FREE_FLYER:
            _move_free_flyer(q, i, v, k, period)
        elif kind == SPHERICAL:
            rx, ry, rz = period * v[k], period * v[k + 1], period * v[k + 2]
            square = rx * rx + ry * ry + rz * rz
            angle = np.sqrt(square)
            sine = 0.5 - square / 48 if angle < 1e-4 else np.sin(0.5 * angle) / angle
            _rotate(q, i, sine * rx, sine * ry, sine * rz, np.cos(0.5 * angle))
        elif kind == CONTINUOUS:
            c, s = np.cos(period * v[k]), np.sin(period * v[k])
            x, y = c * q[i] - s * q[i + 1], s * q[i] + c * q[i + 1]
            size = 1.0 / np.sqrt(x * x + y * y)
            q[i], q[i + 1] = x * size, y * size
        else:
            q[i] += period * v[k]


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def _move_free_flyer(q: np.ndarray, i: int, v: np.ndarray, k: int, period: float) -> None:
    """Moves (p, R) <- (p, R) exp(dt [v; w]), both along the link's axes."""
    vx, vy, vz = period * v[k], period * v[k + 1], period * v[k + 2]
    rx, ry, rz = period * v[k + 3], period * v[k + 4], period * v[k + 5]
    square = rx * rx + ry * ry + rz * rz
    angle = np.sqrt(square)
    if angle < 1e-4:
        first, second, sine = 0.5 - square / 24, 1.0 / 6 - square / 120, 0.5 - square / 48
    else:
        half = np.sin(0.5 * angle)
        first, second, sine = 2.0 * half * half / square, (angle - np.sin(angle)) / (square * angle), half / angle
    cx, cy, cz = ry * vz - rz * vy, rz * vx - rx * vz, rx * vy - ry * vx
    x = vx + first * cx + second * (ry * cz - rz * cy)
    y = vy + first * cy + second * (rz * cx - rx * cz)
    z = vz + first * cz + second * (rx * cy - ry * cx)
    a, b, c, s = q[i + 3], q[i + 4], q[i + 5], q[i + 6]
    # R x = x + 2 s (u x x) + 2 u x (u x x), with the quaternion's vector part u
    tx, ty, tz = 2.0 * (b * z - c * y), 2.0 * (c * x - a * z), 2.0 * (a * y - b * x)
    q[i] += x + s * tx + b * tz - c * ty
    q[i + 1] += y + s * ty + c * tx - a * tz
    q[i + 2] += z + s * tz + a * ty - b * tx
    _rotate(q, i + 3, sine * rx, sine * ry, sine * rz, np.cos(0.5 * angle))


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False, forceinline=True)
def _rotate(q: np.ndarray, i: int, dx: float, dy: float, dz: float, dw: float) -> None:
    """Multiplies the quaternion at q[i] by another from the right, and makes its length 1."""
    a, b, c, s = q[i], q[i + 1], q[i + 2], q[i + 3]
    na, nb = s * dx + a * dw + b * dz - c * dy, s * dy - a * dz + b * dw + c * dx
    nc, ns = s * dz + a * dy - b * dx + c * dw, s * dw - a * dx - b * dy - c * dz
    size = 1.0 / np.sqrt(na * na + nb * nb + nc * nc + ns * ns)
    q[i], q[i + 1], q[i + 2], q[i + 3] = na * size, nb * size, nc * size, ns * size
