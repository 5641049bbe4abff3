"""Derivatives of a contact's gap, point and normal by the poses of its two bodies.

A body's pose changes by a tangent xi = [dc; dtheta]: its origin by dc (m), its orientation R to exp(dtheta) R (rad,
world axes). `differentiate` computes, for each contact, the 7 x 12 matrix of d(phi, p, n) by [xi_A; xi_B], the
derivative of the function that `narrow_phase` evaluates.

Closed forms are used if one shape is a sphere or a half space. A point s with a ball of radius r around it (a sphere's
centre, a corner, an end of a capsule, a point of a rim) is near a surface with signed distance d and e = -grad d, from
s towards the surface. With u = ds - (dc_B + dtheta_B x (s - c_B)), the motion of the point relative to the other body,
and H = hess d,

    dgap = -e . u,    de = dtheta_B x e - H u,    p = s + (r + gap/2) e.

Pairs of Coal are differentiated by central differences in the relative pose. Six of them suffice, since a common motion
of both bodies moves p and n rigidly and does not change phi. Points are matched to the nearest of the undisturbed ones.
If a point has no match on one side (a corner appears), the difference is one-sided. If it has none on both sides, the
contact is treated as a point of the first body under a plane of the second, whose gap has the derivative
n . (v_B - v_A). Between polytopes Coal is exact to rounding, and the differences have about eight digits; with a
sphere or capsule about five; with a cylinder, whose normals move by small jumps, two or fewer.

No force depends on the frame's spin about its normal (friction of a world is isotropic). The frame's rotation is
n x dn, without spin.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from convex_contact.collision.narrow_phase import _UPRIGHT, is_native
from convex_contact.model.arrays import ContactRecord, WorldRecord
from convex_contact.model.native import manifolds
from convex_contact.model.shapes import BOX, CAPSULE, CYLINDER, HALF_SPACE, HULL, SPHERE
from haptic_math.array_assignment import assign

#: steps of the central differences over the smaller shape's radius, between polytopes and with a curved shape
_STEP, _CURVED_STEP = 1e-5, 2e-3


class _Shapes(NamedTuple):
    """Arrays of a world that this module uses; each access to an array of a record takes long to compile."""

    geometry_kind: np.ndarray
    geometry_pose: np.ndarray
    geometry_size: np.ndarray
    geometry_body: np.ndarray
    geometry_radius: np.ndarray
    geometry_shape: np.ndarray
    context: np.ndarray


class _Points(NamedTuple):
    """Arrays of a list of contacts that this module uses."""

    geometry: np.ndarray
    feature: np.ndarray
    point: np.ndarray
    frame: np.ndarray
    phi0: np.ndarray


@njit(cache=True, nogil=True, error_model="numpy")
def _distance_hessian(kind: int, size: np.ndarray, x: float, y: float, z: float, H: np.ndarray) -> None:
    """Computes the Hessian (3, 3) of the signed distance of a box, cylinder or capsule at a point in its frame."""
    H[:] = 0.0
    if kind == BOX:
        o = np.array([max(abs(x) - size[0], 0.0), max(abs(y) - size[1], 0.0), max(abs(z) - size[2], 0.0)])
        distance = np.sqrt((o * o).sum())
        if distance > 0:
            o[0] *= 1.0 if x >= 0 else -1.0
            o[1] *= 1.0 if y >= 0 else -1.0
            o[2] *= 1.0 if z >= 0 else -1.0
            for i in range(3):
                for j in range(3):
                    H[i, j] = -o[i] * o[j] / distance**3
                if o[i] != 0:
                    H[i, i] += 1 / distance
        return
    rho = np.sqrt(x * x + y * y)
    cx, cy = (x / rho, y / rho) if rho > 0 else (1.0, 0.0)
    if kind == CAPSULE:
        dz = z - min(max(z, -size[1]), size[1])
        distance = np.sqrt(rho * rho + dz * dz)
        if not distance > 0:
            return
        # d = |(rho, dz)|, in the plane of rho and z
        r, h = rho / distance, dz / distance
        rr, hh, rh = (1 - r * r) / distance, (1 - h * h) / distance if dz != 0 else 0.0, -r * h / distance
        tt = 1 / distance  # around the axis
    else:
        er, ez = rho - size[0], abs(z) - size[1]
        outside_r, outside_z = max(er, 0.0), max(ez, 0.0)
        distance = np.sqrt(outside_r**2 + outside_z**2)
        rr = hh = rh = tt = 0.0
        if outside_r > 0 and outside_z > 0:
            r, h = outside_r / distance, (outside_z if z >= 0 else -outside_z) / distance
            rr, hh, rh = (1 - r * r) / distance, (1 - h * h) / distance, -r * h / distance
            tt = r / rho
        elif outside_r > 0 or (not outside_z > 0 and er >= ez):
            tt = 1 / rho if rho > 0 else 0.0
    H[0, 0], H[1, 1], H[0, 1] = rr * cx * cx + tt * cy * cy, rr * cy * cy + tt * cx * cx, (rr - tt) * cx * cy
    H[1, 0] = H[0, 1]
    H[0, 2], H[1, 2] = rh * cx, rh * cy
    H[2, 0], H[2, 1], H[2, 2] = H[0, 2], H[1, 2], hh


@njit(cache=True, nogil=True, error_model="numpy")
def _cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


@njit(cache=True, nogil=True, error_model="numpy")
def _differentiate_closed_form(w: _Shapes, poses: np.ndarray, c: _Points, k: int, out: np.ndarray) -> None:
    """Computes d(phi, p, n) (7, 12) of a contact with a closed form."""
    kinds, geometry_poses, sizes, body = w.geometry_kind, w.geometry_pose, w.geometry_size, w.geometry_body
    first = 0  # index of the geometry with the point
    one, two = kinds[c.geometry[k, 0]], kinds[c.geometry[k, 1]]
    if two == SPHERE or one == HALF_SPACE:
        first = 1
        one, two = two, one
    a, b = c.geometry[k, first], c.geometry[k, 1 - first]
    radius = sizes[a, 0] if one in (SPHERE, CAPSULE) else 0.0
    gap = c.phi0[k]
    sign = 1.0 if first == 0 else -1.0
    e, p = sign * c.frame[k, 2], c.point[k]
    s = p - (radius + 0.5 * gap) * e
    pose = geometry_poses[b]
    H = np.zeros((3, 3))
    if two == SPHERE:
        distance = gap + radius + sizes[b, 0]
        if distance > 0:
            for i in range(3):
                for j in range(3):
                    H[i, j] = ((1.0 if i == j else 0.0) - e[i] * e[j]) / distance
    elif two != HALF_SPACE:
        R = pose[:9].copy().reshape(3, 3)
        local = R.T @ (s - pose[9:])
        _distance_hessian(two, sizes[b], local[0], local[1], local[2], H)
        H = R @ H @ R.T
    # motion of the point relative to its body by dtheta_plane - dtheta_A: a rim's lowest point follows the plane
    slide = np.zeros((3, 3))
    if one == CYLINDER:
        R = geometry_poses[a, :9].copy().reshape(3, 3)
        n = np.array([pose[2], pose[5], pose[8]])
        m = R.T @ n
        tilt = np.sqrt(m[0] * m[0] + m[1] * m[1])
        if tilt > _UPRIGHT:
            quarter = c.feature[k] % 4
            ux, uy = -m[0] / tilt, -m[1] / tilt
            for j in range(3):
                axis = np.zeros(3)
                axis[j] = 1.0
                dm = R.T @ _cross(axis, n)
                dx, dy = -dm[0] / tilt, -dm[1] / tilt
                along = ux * dx + uy * dy
                dx, dy = sizes[a, 0] * (dx - along * ux), sizes[a, 0] * (dy - along * uy)
                for _ in range(quarter):
                    dx, dy = -dy, dx
                assign(slide[:, j], R[:, 0] * dx + R[:, 1] * dy)
    ca, cb = poses[body[a], 9:], poses[body[b], 9:]
    ra, rb = s - ca, s - cb
    for side in range(2):
        own = side == first
        for j in range(6):
            axis = np.zeros(3)
            axis[j % 3] = 1.0
            ds, u, de = np.zeros(3), np.zeros(3), np.zeros(3)
            if own:
                ds = axis if j < 3 else _cross(axis, ra) - slide[:, j % 3]
                u = ds
            else:
                ds = np.zeros(3) if j < 3 else slide[:, j % 3].copy()
                u = ds - (axis if j < 3 else _cross(axis, rb))
                if j >= 3:
                    de = _cross(axis, e)
            de = de - H @ u
            dgap = -(e[0] * u[0] + e[1] * u[1] + e[2] * u[2])
            column = 6 * side + j
            out[0, column] = dgap
            for i in range(3):
                out[1 + i, column] = ds[i] + 0.5 * dgap * e[i] + (radius + 0.5 * gap) * de[i]
                out[4 + i, column] = sign * de[i]


@njit(cache=True, nogil=True, error_model="numpy")
def _from_relative(
    poses: np.ndarray,
    a: int,
    b: int,
    c: _Points,
    k: int,
    origin: np.ndarray,
    relative: np.ndarray,
    out: np.ndarray,
) -> None:
    """Computes d(phi, p, n) (7, 12) by both bodies' tangents from the derivatives `relative` (7, 6).

    These are by the twist of B relative to A at an origin, world axes.
    """
    p, n = c.point[k], c.frame[k, 2]
    for side in range(2):
        center = poses[b if side else a, 9:]
        for j in range(6):
            axis = np.zeros(3)
            axis[j % 3] = 1.0
            column = 6 * side + j
            if j < 3:
                at, rotation = axis, np.zeros(3)
            else:
                at, rotation = _cross(axis, origin - center), axis
            # xi_B = xi_A + relative: a common motion, and one of B relative to A
            for i in range(7):
                x = 0.0
                for r in range(3):
                    x += relative[i, r] * at[r] + relative[i, 3 + r] * rotation[r]
                out[i, column] = x if side else -x
            if not side:
                dp = axis if j < 3 else _cross(axis, p - center)
                dn = np.zeros(3) if j < 3 else _cross(axis, n)
                for i in range(3):
                    out[1 + i, column] += dp[i]
                    out[4 + i, column] += dn[i]


@njit(cache=True, nogil=True, error_model="numpy")
def _move(pose: np.ndarray, j: int, h: float, origin: np.ndarray) -> None:
    """Moves a pose (12,) by h along an axis j < 3, or rotates it about the axis j - 3 through an origin."""
    if j < 3:
        pose[9 + j] += h
        return
    cosine, sine = np.cos(h), np.sin(h)
    r, s = (j - 2) % 3, (j - 1) % 3  # the axes normal to the axis j - 3
    for column in range(3):
        x, y = pose[3 * r + column], pose[3 * s + column]
        pose[3 * r + column], pose[3 * s + column] = cosine * x - sine * y, sine * x + cosine * y
    x, y = pose[9 + r] - origin[r], pose[9 + s] - origin[s]
    pose[9 + r], pose[9 + s] = origin[r] + cosine * x - sine * y, origin[s] + sine * x + cosine * y


@njit(cache=True, nogil=True, error_model="numpy")
def _differentiate_native(w: _Shapes, poses: np.ndarray, c: _Points, start: int, end: int, out: np.ndarray) -> None:
    """Computes d(phi, p, n) (n, 7, 12) of the contacts start .. end - 1 of one pair of Coal, by central differences."""
    a, b = c.geometry[start, 0], c.geometry[start, 1]
    count = end - start
    kinds, shapes = w.geometry_kind, w.geometry_shape
    body_a, body_b = w.geometry_body[a], w.geometry_body[b]
    size = min(w.geometry_radius[a], w.geometry_radius[b])
    exact = (kinds[a] == BOX or kinds[a] == HULL) and (kinds[b] == BOX or kinds[b] == HULL)
    step = (_STEP if exact else _CURVED_STEP) * size
    origin = np.zeros(3)
    for k in range(start, end):
        origin += c.point[k] / count
    pair = np.zeros((1, 2), dtype=np.int64)
    pair[0, 1] = 1
    shape = np.array([shapes[a], shapes[b]])
    both = np.empty((2, 12))
    assign(both[0], w.geometry_pose[a])
    reach = np.array([1.0])
    for k in range(start, end):
        reach[0] = max(reach[0], 2 * abs(c.phi0[k]))
    room = 64
    first, normal, point, gap = np.zeros(2, dtype=np.int64), np.zeros((1, 3)), np.zeros((room, 3)), np.zeros(room)
    relative = np.zeros((count, 7, 6))
    width = np.zeros((count, 6))
    for j in range(6):
        length = step if j < 3 else step / size
        for side in range(2):
            h = length if side else -length
            assign(both[1], w.geometry_pose[b])
            _move(both[1], j, h, origin)
            found = manifolds(
                w.context[0], 1, pair.ctypes.data, shape.ctypes.data, both.ctypes.data, reach.ctypes.data, room,
                first.ctypes.data, normal.ctypes.data, point.ctypes.data, gap.ctypes.data,
            )  # fmt: skip
            if found < 1 or found > room:
                continue
            for k in range(count):
                best, nearest = -1, (20 * step) ** 2
                for i in range(found):
                    square = 0.0
                    for r in range(3):
                        square += (point[i, r] - c.point[start + k, r]) ** 2
                    if square < nearest:
                        best, nearest = i, square
                change = 0.0
                for r in range(3):
                    change += (normal[0, r] - c.frame[start + k, 2, r]) ** 2
                if best < 0 or change > (20 * step / size) ** 2:
                    continue
                sign = 1.0 if side else -1.0
                width[k, j] += length
                relative[k, 0, j] += sign * (gap[best] - c.phi0[start + k])
                for r in range(3):
                    relative[k, 1 + r, j] += sign * (point[best, r] - c.point[start + k, r])
                    relative[k, 4 + r, j] += sign * (normal[0, r] - c.frame[start + k, 2, r])
    for k in range(count):
        n, lever = c.frame[start + k, 2], c.point[start + k] - origin
        for j in range(6):
            if width[k, j] > 0:
                for r in range(7):
                    relative[k, r, j] /= width[k, j]
                continue
            relative[k, :, j] = 0.0
            axis = np.zeros(3)
            axis[j % 3] = 1.0
            v = axis if j < 3 else _cross(axis, lever)
            relative[k, 0, j] = n[0] * v[0] + n[1] * v[1] + n[2] * v[2]
        _from_relative(poses, body_a, body_b, c, start + k, origin, relative[k], out[start + k])


@njit(cache=True, nogil=True, error_model="numpy")
def differentiate(
    world: WorldRecord, poses: np.ndarray, contacts: ContactRecord, wanted: np.ndarray, out: np.ndarray
) -> None:
    """Computes d(phi, p, n) by [xi_A; xi_B] of the contacts of the last query.

    Args:
        world: world with the geometries' poses of the query.
        poses: poses of the bodies at the query (nb, 12).
        contacts: contacts of the query.
        wanted: mask of the contacts to differentiate (n,).
        out: output (n, 7, 12).
    """
    w = _Shapes(
        world.geometry_kind,
        world.geometry_pose,
        world.geometry_size,
        world.geometry_body,
        world.geometry_radius,
        world.geometry_shape,
        world.context,
    )
    c = _Points(contacts.geometry, contacts.feature, contacts.point, contacts.frame, contacts.phi0)
    kinds = w.geometry_kind
    k, n = np.int64(0), contacts.count[0]  # for a literal 0 all that is called with k would be compiled once more
    while k < n:
        end = k + 1
        if is_native(kinds[c.geometry[k, 0]], kinds[c.geometry[k, 1]]):
            some = wanted[k]
            while end < n and c.geometry[end, 0] == c.geometry[k, 0] and c.geometry[end, 1] == c.geometry[k, 1]:
                some |= wanted[end]
                end += 1
            if some:
                _differentiate_native(w, poses, c, k, end, out)
        elif wanted[k]:
            _differentiate_closed_form(w, poses, c, k, out[k])
        k = end


def contact_derivatives(dynamics: Any) -> np.ndarray:
    """Returns d(phi, p, n) by [xi_A; xi_B] of all contacts of a world's last query (n, 7, 12), before it advances."""
    c = dynamics.contacts
    n = int(c.count[0])
    out = np.zeros((n, 7, 12))
    differentiate(dynamics.arrays.record, dynamics.arrays.body_pose, c.record, np.ones(n, dtype=np.bool_), out)
    return out
