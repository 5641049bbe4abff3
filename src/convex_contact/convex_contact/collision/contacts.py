"""The list of contact candidates of a step, as flat arrays (`arrays.CONTACT_TABLE`).

The contact velocity v_c = J v + bias is the velocity of B's point minus that of A's, in the contact frame: v_n > 0
separates, and the impulse gamma acts on B, -gamma on A. A self-collision has both parts in the first block. d is the
largest number of velocities of a tree.

The list is sorted by A, then B, then in the order of the narrow phase: equal states give equal lists.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from convex_contact.collision.broad_phase import REQUIRED_CONTACTS
from convex_contact.collision.friction import adjust_friction
from convex_contact.model.arrays import (
    LAW_DIRECTIONAL,
    LAW_DISSIPATION,
    LAW_FRICTION,
    LAW_RELAXATION_TIME,
    LAW_REST,
    LAW_STIFFNESS,
    LAW_TORSION,
    ContactArrays,
    ContactRecord,
    WorldRecord,
)
from convex_contact.problem.elastoplastic import transport_contact_displacement

_U = np.uintp  # Numba tests at each access whether a signed index is negative


def empty_contacts(capacity: int, width: int) -> ContactArrays:
    """Returns arrays of zeros for contacts.

    Args:
        capacity: number of contacts.
        width: largest number of velocities of a tree.
    """
    n, integers = capacity, np.int64
    shapes: dict[str, tuple[Any, ...]] = {
        "count": (1, integers), "geometry": (n, 2, integers), "feature": (n, integers), "body": (n, 2, integers),
        "tree": (n, 2, integers), "last": (n, 2, integers), "previous": (n, integers), "taken": (n, np.bool_),
        "point": (n, 3, float), "frame": (n, 3, 3, float), "phi0": (n, float), "J": (n, 2, 3, width, float),
        "bias": (n, 3, float), "v_n0": (n, float), "anchor": (n, 2, 3, float),
        "stiffness": (n, float), "dissipation": (n, float), "relaxation_time": (n, float), "friction": (n, float),
        "friction_tensor": (n, 3, float), "torsional_friction": (n, float), "area": (n, float),
        "elastic_start": (n, 2, float), "elastic": (n, 2, float),
    }  # fmt: skip
    return ContactArrays(**{name: np.zeros(shape[:-1], dtype=shape[-1]) for name, shape in shapes.items()})


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def tangents(nx: float, ny: float, nz: float) -> tuple[float, float, float, float, float, float]:
    """Returns two unit vectors t1, t2 that form a right-handed frame with a unit normal n (Duff et al. 2017)."""
    sign = 1.0 if nz >= 0 else -1.0
    a = -1.0 / (sign + nz)
    b = nx * ny * a
    return 1.0 + sign * nx * nx * a, sign * b, -sign * nx, b, sign + ny * ny * a, -ny


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def _write_point_jacobian(
    J: np.ndarray, k: int, slot: int, frame: np.ndarray, x: float, y: float, z: float, sign: float
) -> None:
    """Writes sign times the Jacobian of a free body's point, (x, y, z) from its centre of mass, to J[k, slot]."""
    for i in range(3):
        fx, fy, fz = sign * frame[k, i, 0], sign * frame[k, i, 1], sign * frame[k, i, 2]
        J[k, slot, i, 0], J[k, slot, i, 1], J[k, slot, i, 2] = fx, fy, fz
        # f . (omega x r) = (r x f) . omega
        J[k, slot, i, 3], J[k, slot, i, 4], J[k, slot, i, 5] = y * fz - z * fy, z * fx - x * fz, x * fy - y * fx


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def _add_tree_jacobian(
    w: WorldRecord, c: ContactRecord, k: int, slot: int, body: int, sign: float, on_path: bool
) -> None:
    """Adds sign times the Jacobian of contact k's point on a link of a tree with kernels to the block J[k, slot].

    The columns are the velocities on the link's path, as in `branches`, or all velocities of the tree. About the
    tree's reference point O, the velocity along f of a point r from O is f . S_linear + (r x f) . S_angular.
    """
    J, S, parent, run, tree = c.J, w.dof_axis, w.dof_parent, w.dof_run, w.body_tree[body]
    point, frame, origin = c.point, c.frame, w.tree_origin
    base, last, at = w.tree_v[tree], w.link_dof[w.body_link[body]], _U(0)
    x, y, z = point[k, 0] - origin[tree, 0], point[k, 1] - origin[tree, 1], point[k, 2] - origin[tree, 2]
    f0, f1, f2 = sign * frame[k, 0, 0], sign * frame[k, 0, 1], sign * frame[k, 0, 2]
    g0, g1, g2 = sign * frame[k, 1, 0], sign * frame[k, 1, 1], sign * frame[k, 1, 2]
    h0, h1, h2 = sign * frame[k, 2, 0], sign * frame[k, 2, 1], sign * frame[k, 2, 2]
    f3, f4, f5 = y * f2 - z * f1, z * f0 - x * f2, x * f1 - y * f0
    g3, g4, g5 = y * g2 - z * g1, z * g0 - x * g2, x * g1 - y * g0
    h3, h4, h5 = y * h2 - z * h1, z * h0 - x * h2, x * h1 - y * h0
    while last >= 0:
        first = run[last]
        if not on_path:
            at = _U(first - base)
        for dof in range(_U(first), _U(last + 1)):
            s0, s1, s2, s3, s4, s5 = S[dof, 0], S[dof, 1], S[dof, 2], S[dof, 3], S[dof, 4], S[dof, 5]
            J[k, slot, 0, at] += f0 * s0 + f1 * s1 + f2 * s2 + f3 * s3 + f4 * s4 + f5 * s5
            J[k, slot, 1, at] += g0 * s0 + g1 * s1 + g2 * s2 + g3 * s3 + g4 * s4 + g5 * s5
            J[k, slot, 2, at] += h0 * s0 + h1 * s1 + h2 * s2 + h3 * s3 + h4 * s4 + h5 * s5
            at += _U(1)
        last = parent[first]


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def _add_link_jacobian(
    w: WorldRecord, J: np.ndarray, k: int, slot: int, frame: np.ndarray, body: int, x: float, y: float, z: float,
    sign: float,
) -> None:  # fmt: skip
    """Adds sign times the Jacobian of a point, (x, y, z) from the origin of a link of a tree without kernels."""
    link, K = w.body_link[body], w.link_jacobian
    for i in range(3):
        fx, fy, fz = sign * frame[k, i, 0], sign * frame[k, i, 1], sign * frame[k, i, 2]
        mx, my, mz = y * fz - z * fy, z * fx - x * fz, x * fy - y * fx
        for d in range(K.shape[2]):
            linear = fx * K[link, 0, d] + fy * K[link, 1, d] + fz * K[link, 2, d]
            J[k, slot, i, d] += linear + mx * K[link, 3, d] + my * K[link, 4, d] + mz * K[link, 5, d]


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def complete(w: WorldRecord, c: ContactRecord) -> None:
    """Computes all other fields of the contacts from geometry, feature, point, normal and gap."""
    geometry_body, geometry_class, law = w.geometry_body, w.geometry_class, w.law
    poses, twists, trees, links = w.body_pose, w.body_twist, w.body_tree, w.body_link
    geometry, points, frame, J, bias, anchor = c.geometry, c.point, c.frame, c.J, c.bias, c.anchor
    last_of, link_dof, depth = c.last, w.link_dof, w.dof_depth
    body_of, tree_of, v_n0, stiffness, dissipation, relaxation_time, area = (
        c.body, c.tree, c.v_n0, c.stiffness, c.dissipation, c.relaxation_time, c.area
    )  # fmt: skip
    friction, friction_tensor, torsional_friction = c.friction, c.friction_tensor, c.torsional_friction
    n, tree_v = w.counters[REQUIRED_CONTACTS], w.tree_v
    c.count[0] = n
    for k in range(n):
        nx, ny, nz = frame[k, 2, 0], frame[k, 2, 1], frame[k, 2, 2]
        t = tangents(nx, ny, nz)
        for i in range(3):
            frame[k, 0, i], frame[k, 1, i] = t[i], t[3 + i]
            bias[k, i] = 0.0
        one, two = geometry_class[geometry[k, 0]], geometry_class[geometry[k, 1]]
        if area[k] == 0.0:
            stiffness[k] = law[one, two, LAW_STIFFNESS]
        dissipation[k], relaxation_time[k] = law[one, two, LAW_DISSIPATION], law[one, two, LAW_RELAXATION_TIME]
        friction[k], torsional_friction[k] = law[one, two, LAW_FRICTION], law[one, two, LAW_TORSION]
        friction_tensor[k, 0], friction_tensor[k, 1], friction_tensor[k, 2] = 1.0, 0.0, 1.0
        first, second, v_n = -1, -1, 0.0
        last_of[k, 0] = last_of[k, 1] = -1
        apart = trees[geometry_body[geometry[k, 0]]] != trees[geometry_body[geometry[k, 1]]]
        for side in range(2):
            b = geometry_body[geometry[k, side]]
            body_of[k, side] = b
            sign = 2.0 * side - 1.0
            x, y, z = points[k, 0] - poses[b, 9], points[k, 1] - poses[b, 10], points[k, 2] - poses[b, 11]
            for i in range(3):
                anchor[k, side, i] = poses[b, i] * x + poses[b, 3 + i] * y + poses[b, 6 + i] * z
            vx = sign * (twists[b, 0] + twists[b, 4] * z - twists[b, 5] * y)
            vy = sign * (twists[b, 1] + twists[b, 5] * x - twists[b, 3] * z)
            vz = sign * (twists[b, 2] + twists[b, 3] * y - twists[b, 4] * x)
            v_n += nx * vx + ny * vy + nz * vz
            tree = trees[b]
            if tree < 0:
                for i in range(3):
                    bias[k, i] += frame[k, i, 0] * vx + frame[k, i, 1] * vy + frame[k, i, 2] * vz
                continue
            slot = 0 if first < 0 or first == tree else 1
            if slot == 0:
                first = tree
            else:
                second = tree
            if links[b] < 0:
                _write_point_jacobian(J, k, slot, frame, x, y, z, sign)
                continue
            last, columns = link_dof[links[b]], tree_v[tree + 1] - tree_v[tree]
            on_path = apart and last >= 0 and (w.tree_branched[tree] != 0 or 2 * depth[last] < columns)
            if on_path:
                last_of[k, slot], columns = last, depth[last]
            if apart or side == 0:  # a self-collision adds to what its first side wrote
                for i in range(3):
                    for d in range(columns):
                        J[k, slot, i, d] = 0.0
            if last >= 0:
                _add_tree_jacobian(w, c, k, slot, b, sign, on_path)
            else:
                _add_link_jacobian(w, J, k, slot, frame, b, x, y, z, sign)
        tree_of[k, 0], tree_of[k, 1] = first, second
        v_n0[k] = v_n
        if law[one, two, LAW_REST] > law[one, two, LAW_FRICTION] or law[one, two, LAW_DIRECTIONAL] != 0.0:
            adjust_friction(w, c, k, one, two)


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def match(w: WorldRecord, new: ContactRecord, old: ContactRecord) -> None:
    """Matches each contact of a list to a contact of the previous step.

    Within a pair of geometries, points with a feature match the same feature. Points without one match the nearest
    unmatched point within a quarter of the smaller shape's radius, measured in the frame of either body. So the corners
    of a box that slides on a table are matched, and so is the table's edge under it.
    """
    n, m = new.count[0], old.count[0]
    geometry, feature, anchor, previous = new.geometry, new.feature, new.anchor, new.previous
    old_geometry, old_feature, old_anchor, radius = old.geometry, old.feature, old.anchor, w.geometry_radius
    taken, j = old.taken, 0
    taken[:m] = False
    for i in range(n):
        previous[i] = -1
        a, b = geometry[i, 0], geometry[i, 1]
        while j < m and (old_geometry[j, 0] < a or (old_geometry[j, 0] == a and old_geometry[j, 1] < b)):
            j += 1
        limit = 0.25 * min(radius[a], radius[b])
        best, nearest = -1, limit * limit
        k = j
        while k < m and old_geometry[k, 0] == a and old_geometry[k, 1] == b:
            if not taken[k]:
                if feature[i] >= 0:
                    if old_feature[k] == feature[i]:
                        best = k
                        break
                else:
                    for side in range(2):
                        square = 0.0
                        for r in range(3):
                            d = anchor[i, side, r] - old_anchor[k, side, r]
                            square += d * d
                        if square < nearest:
                            best, nearest = k, square
            k += 1
        if best >= 0:
            taken[best] = True
            previous[i] = best


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def carry_tangential(
    w: WorldRecord, new: ContactRecord, old: ContactRecord, period: float, values: np.ndarray, out: np.ndarray
) -> None:
    """Transports a tangential quantity (n, 2), such as an elastic displacement, to the contacts of this step.

    It is rotated with the normal and by the mean spin of the two bodies, as by
    :func:`~convex_contact.transport_elastic_displacement`. New contacts start at zero; values of lost contacts are
    dropped.
    """
    twists, frame, frame_old = w.body_twist, new.frame, old.frame
    for i in range(new.count[0]):
        out[i, 0] = out[i, 1] = 0.0
        k = new.previous[i]
        if k < 0 or (values[k, 0] == 0.0 and values[k, 1] == 0.0):
            continue
        one, two = new.body[i, 0], new.body[i, 1]
        angle = 0.0
        for r in range(3):
            angle += 0.5 * period * frame[i, 2, r] * (twists[one, 3 + r] + twists[two, 3 + r])
        out[i, 0], out[i, 1] = transport_contact_displacement(values, k, frame_old, frame, i, angle)
