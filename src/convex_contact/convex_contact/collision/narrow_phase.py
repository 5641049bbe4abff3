"""Contact points of a pair of geometries.

Closed forms where one shape is a sphere, or one a half space:

=====================  =======================================================================================
sphere, anything       one point; to boxes, cylinders and capsules from the closest point of their surface
half space, capsule    the two ends
half space, box        the corners that lie lower than the centre: four, or six when the box stands on an edge
half space, hull       the vertices that lie lower than the middle of its bounding box
half space, cylinder   the lowest point of each rim, and three more on the lower rim, 90 degrees apart;
                       when it stands upright (to 1e-6 rad), four on the lower rim that rotate with it
=====================  =======================================================================================

Geometries with meshes for hydroelastic contact meet in the faces of `contact_surface`, if one of them is compliant.

All other pairs, and sphere and hull, go to Coal through the compiled library, in one call per query (see manifold.cpp
for manifolds of separated shapes).

A point lies midway between the two surfaces, its normal n points from the first geometry (the smaller number) into the
second, its gap phi is measured along n; phi < 0 overlaps. Points with a gap beyond the pair's reach are left out.
``feature`` identifies a point among those of its pair, such as a corner, over time; it is -1 for points of Coal.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from convex_contact.collision.broad_phase import FAILED, NATIVE_POINTS, PAIRS, REQUIRED_CONTACTS, REQUIRED_NATIVE
from convex_contact.collision.contact_surface import meets_in_patch
from convex_contact.model.arrays import ContactRecord, WorldRecord
from convex_contact.model.native import manifolds
from convex_contact.model.shapes import BOX, CAPSULE, CYLINDER, HALF_SPACE, HULL, SPHERE
from haptic_math.native_calls import call_integer

_UPRIGHT = 1e-6  # largest tilt of an upright cylinder [rad]
_TIE = 1e-9  # tolerance over the shape's radius: corners at the centre's height count as lower


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def _emit(
    c: ContactRecord,
    n: int,
    reach: float,
    a: int,
    b: int,
    feature: int,
    px: float,
    py: float,
    pz: float,
    nx: float,
    ny: float,
    nz: float,
    gap: float,
) -> int:
    """Appends a point with normal n from a into b, the smaller geometry first; returns the new number of contacts."""
    if not gap < reach:
        return n
    if n < c.phi0.shape[0]:
        if a > b:
            a, b, nx, ny, nz = b, a, -nx, -ny, -nz
        c.geometry[n, 0], c.geometry[n, 1], c.feature[n], c.phi0[n] = a, b, feature, gap
        c.area[n] = 0.0
        c.point[n, 0], c.point[n, 1], c.point[n, 2] = px, py, pz
        c.frame[n, 2, 0], c.frame[n, 2, 1], c.frame[n, 2, 2] = nx, ny, nz
    return n + 1


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def _emit_sphere(
    c: ContactRecord,
    n: int,
    reach: float,
    a: int,
    b: int,
    feature: int,
    x: float,
    y: float,
    z: float,
    radius: float,
    dx: float,
    dy: float,
    dz: float,
    distance: float,
) -> int:
    """Appends the contact of a sphere (geometry a) at (x, y, z), whose centre is at a distance from b along unit d."""
    gap = distance - radius
    s = radius + 0.5 * gap
    return _emit(c, n, reach, a, b, feature, x + s * dx, y + s * dy, z + s * dz, dx, dy, dz, gap)


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def _sphere_sphere(w: WorldRecord, c: ContactRecord, n: int, reach: float, a: int, b: int) -> int:
    p, q = w.geometry_pose[a], w.geometry_pose[b]
    dx, dy, dz = q[9] - p[9], q[10] - p[10], q[11] - p[11]
    distance = np.sqrt(dx * dx + dy * dy + dz * dz)
    if distance > 0:
        dx, dy, dz = dx / distance, dy / distance, dz / distance
    else:
        dx, dy, dz = 0.0, 0.0, 1.0
    other = w.geometry_size[b, 0]
    return _emit_sphere(c, n, reach, a, b, 0, p[9], p[10], p[11], w.geometry_size[a, 0], dx, dy, dz, distance - other)


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def closest_on_box(x: float, y: float, z: float, hx: float, hy: float, hz: float) -> tuple[float, float, float, float]:
    """Returns unit direction and signed distance [m] from a point to a box surface (half sides h), in the box frame."""
    ex, ey, ez = abs(x) - hx, abs(y) - hy, abs(z) - hz
    ox, oy, oz = max(ex, 0.0), max(ey, 0.0), max(ez, 0.0)
    distance = np.sqrt(ox * ox + oy * oy + oz * oz)
    sx, sy, sz = (1.0 if x >= 0 else -1.0), (1.0 if y >= 0 else -1.0), (1.0 if z >= 0 else -1.0)
    if distance > 0:
        return -sx * ox / distance, -sy * oy / distance, -sz * oz / distance, distance
    if ex >= ey and ex >= ez:
        return -sx, 0.0, 0.0, ex
    if ey >= ez:
        return 0.0, -sy, 0.0, ey
    return 0.0, 0.0, -sz, ez


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def closest_on_cylinder(x: float, y: float, z: float, radius: float, half: float) -> tuple[float, float, float, float]:
    """Returns unit direction and signed distance [m] from a point to the surface of a cylinder, in its frame."""
    rho = np.sqrt(x * x + y * y)
    ux, uy = (x / rho, y / rho) if rho > 0 else (1.0, 0.0)
    er, ez = rho - radius, abs(z) - half
    sz = 1.0 if z >= 0 else -1.0
    outside_r, outside_z = max(er, 0.0), max(ez, 0.0)
    distance = np.sqrt(outside_r * outside_r + outside_z * outside_z)
    if distance > 0:
        return -ux * outside_r / distance, -uy * outside_r / distance, -sz * outside_z / distance, distance
    if er >= ez:
        return -ux, -uy, 0.0, er
    return 0.0, 0.0, -sz, ez


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def closest_on_capsule(x: float, y: float, z: float, radius: float, half: float) -> tuple[float, float, float, float]:
    """Returns unit direction and signed distance [m] from a point to the surface of a capsule, in its frame."""
    dz = z - min(max(z, -half), half)
    distance = np.sqrt(x * x + y * y + dz * dz)
    if distance > 0:
        return -x / distance, -y / distance, -dz / distance, distance - radius
    return -1.0, 0.0, 0.0, -radius


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def _sphere_solid(w: WorldRecord, c: ContactRecord, n: int, reach: float, a: int, b: int) -> int:
    """Appends the contact of a sphere a and a box, cylinder or capsule b; returns the new number of contacts."""
    p, q, h = w.geometry_pose[a], w.geometry_pose[b], w.geometry_size[b]
    dx, dy, dz = p[9] - q[9], p[10] - q[10], p[11] - q[11]
    x = q[0] * dx + q[3] * dy + q[6] * dz
    y = q[1] * dx + q[4] * dy + q[7] * dz
    z = q[2] * dx + q[5] * dy + q[8] * dz
    kind = w.geometry_kind[b]
    if kind == BOX:
        lx, ly, lz, distance = closest_on_box(x, y, z, h[0], h[1], h[2])
    elif kind == CYLINDER:
        lx, ly, lz, distance = closest_on_cylinder(x, y, z, h[0], h[1])
    else:
        lx, ly, lz, distance = closest_on_capsule(x, y, z, h[0], h[1])
    nx = q[0] * lx + q[1] * ly + q[2] * lz
    ny = q[3] * lx + q[4] * ly + q[5] * lz
    nz = q[6] * lx + q[7] * ly + q[8] * lz
    return _emit_sphere(c, n, reach, a, b, 0, p[9], p[10], p[11], w.geometry_size[a, 0], nx, ny, nz, distance)


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def _plane_point(
    w: WorldRecord,
    c: ContactRecord,
    n: int,
    reach: float,
    a: int,
    plane: int,
    feature: int,
    x: float,
    y: float,
    z: float,
    radius: float,
) -> int:
    """Appends the contact of a half space and a sphere around a point of geometry a; returns the new count."""
    p = w.geometry_pose[plane]
    nx, ny, nz = p[2], p[5], p[8]
    height = nx * (x - p[9]) + ny * (y - p[10]) + nz * (z - p[11])
    return _emit_sphere(c, n, reach, a, plane, feature, x, y, z, radius, -nx, -ny, -nz, height)


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def _capsule_plane(w: WorldRecord, c: ContactRecord, n: int, reach: float, a: int, plane: int) -> int:
    p, radius, half = w.geometry_pose[a], w.geometry_size[a, 0], w.geometry_size[a, 1]
    for end in range(2):
        s = half if end else -half
        x, y, z = p[9] + s * p[2], p[10] + s * p[5], p[11] + s * p[8]
        n = _plane_point(w, c, n, reach, a, plane, end, x, y, z, radius)
    return n


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def _box_plane(w: WorldRecord, c: ContactRecord, n: int, reach: float, a: int, plane: int) -> int:
    p, h, q = w.geometry_pose[a], w.geometry_size[a], w.geometry_pose[plane]
    tie = _TIE * w.geometry_radius[a]
    for corner in range(8):
        sx = h[0] if corner & 1 else -h[0]
        sy = h[1] if corner & 2 else -h[1]
        sz = h[2] if corner & 4 else -h[2]
        x = p[0] * sx + p[1] * sy + p[2] * sz
        y = p[3] * sx + p[4] * sy + p[5] * sz
        z = p[6] * sx + p[7] * sy + p[8] * sz
        if q[2] * x + q[5] * y + q[8] * z <= tie:
            n = _plane_point(w, c, n, reach, a, plane, corner, p[9] + x, p[10] + y, p[11] + z, 0.0)
    return n


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def _hull_plane(w: WorldRecord, c: ContactRecord, n: int, reach: float, a: int, plane: int) -> int:
    p, q, m = w.geometry_pose[a], w.geometry_pose[plane], w.geometry_center[a]
    tie = _TIE * w.geometry_radius[a]
    for i in range(w.hull_range[a, 0], w.hull_range[a, 1]):
        vertex = w.hull_vertices[i]
        lx, ly, lz = vertex[0] - m[0], vertex[1] - m[1], vertex[2] - m[2]
        x = p[0] * lx + p[1] * ly + p[2] * lz
        y = p[3] * lx + p[4] * ly + p[5] * lz
        z = p[6] * lx + p[7] * ly + p[8] * lz
        if q[2] * x + q[5] * y + q[8] * z <= tie:
            x = p[9] + p[0] * vertex[0] + p[1] * vertex[1] + p[2] * vertex[2]
            y = p[10] + p[3] * vertex[0] + p[4] * vertex[1] + p[5] * vertex[2]
            z = p[11] + p[6] * vertex[0] + p[7] * vertex[1] + p[8] * vertex[2]
            n = _plane_point(w, c, n, reach, a, plane, i - w.hull_range[a, 0], x, y, z, 0.0)
    return n


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def _cylinder_plane(w: WorldRecord, c: ContactRecord, n: int, reach: float, a: int, plane: int) -> int:
    p, q, radius, half = w.geometry_pose[a], w.geometry_pose[plane], w.geometry_size[a, 0], w.geometry_size[a, 1]
    # the plane's normal in the cylinder's frame
    x = p[0] * q[2] + p[3] * q[5] + p[6] * q[8]
    y = p[1] * q[2] + p[4] * q[5] + p[7] * q[8]
    z = p[2] * q[2] + p[5] * q[5] + p[8] * q[8]
    tilt = np.sqrt(x * x + y * y)
    low = -half if z >= 0 else half
    ux, uy = (-x / tilt, -y / tilt) if tilt > _UPRIGHT else (1.0, 0.0)
    for k in range(5):
        if k == 0 or k == 4:
            lx, ly = radius * ux, radius * uy
        elif k == 1:
            lx, ly = -radius * uy, radius * ux
        elif k == 2:
            lx, ly = -radius * ux, -radius * uy
        else:
            lx, ly = radius * uy, -radius * ux
        if k == 4 and tilt <= _UPRIGHT:
            continue
        lz = -low if k == 4 else low
        wx = p[9] + p[0] * lx + p[1] * ly + p[2] * lz
        wy = p[10] + p[3] * lx + p[4] * ly + p[5] * lz
        wz = p[11] + p[6] * lx + p[7] * ly + p[8] * lz
        # features 0 .. 3 on one rim, 4 .. 7 on the other, so that they stay when the lower rim changes
        feature = (k if k < 4 else 0) + (4 if lz > 0 else 0)
        n = _plane_point(w, c, n, reach, a, plane, feature, wx, wy, wz, 0.0)
    return n


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def is_native(one: int, two: int) -> bool:
    """Returns whether the compiled library computes the contacts of two kinds of shape."""
    if one == HALF_SPACE or two == HALF_SPACE:
        return False
    if one == SPHERE or two == SPHERE:
        return one == HULL or two == HULL
    return True


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def _call_native(w: WorldRecord) -> int:
    """Computes the manifolds of the `is_native` pairs with the compiled library; returns the number of these pairs."""
    kind, count = w.geometry_kind, 0
    for k in range(w.counters[PAIRS]):
        i = w.pair_sorted[k]
        a, b = w.pair[i, 0], w.pair[i, 1]
        if is_native(kind[a], kind[b]) and not meets_in_patch(w, a, b):
            w.native_pair[count, 0], w.native_pair[count, 1] = a, b
            w.native_reach[count] = w.pair_reach[i]
            count += 1
    if count:
        points = manifolds(
            w.context[0], count, w.native_pair.ctypes.data, w.geometry_shape.ctypes.data, w.geometry_pose.ctypes.data,
            w.native_reach.ctypes.data, w.native_gap.shape[0], w.native_start.ctypes.data,
            w.native_normal.ctypes.data, w.native_point.ctypes.data, w.native_gap.ctypes.data,
        )  # fmt: skip
        w.counters[REQUIRED_NATIVE] = points
        w.counters[FAILED] = points < 0
    return count


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def find_points(w: WorldRecord, c: ContactRecord, find_faces: int) -> None:
    """Writes geometry, feature, point, normal and gap of all contacts, in the order of the pairs.

    The world's counters have the number of contacts, which may exceed the capacity.

    Args:
        w: the world.
        c: output, the contacts.
        find_faces: address of `contact_surface.find_faces`; 0 if no body has a pressure field.
    """
    kinds = w.geometry_kind
    w.counters[REQUIRED_NATIVE] = 0
    w.counters[FAILED] = 0
    count = _call_native(w)
    n, native = np.int64(0), 0  # a constant would have the functions compiled once more, for it
    if w.counters[REQUIRED_NATIVE] > w.native_gap.shape[0] or w.counters[FAILED]:
        return
    for k in range(w.counters[PAIRS]):
        i = w.pair_sorted[k]
        a, b, reach = w.pair[i, 0], w.pair[i, 1], w.pair_reach[i]
        if native < count and w.native_pair[native, 0] == a and w.native_pair[native, 1] == b:
            normal = w.native_normal[native]
            for j in range(w.native_start[native], w.native_start[native + 1]):
                p = w.native_point[j]
                n = _emit(
                    c, n, reach, a, b, -1, p[0], p[1], p[2], normal[0], normal[1], normal[2], w.native_gap[j]
                )  # fmt: skip
            native += 1
            continue
        if meets_in_patch(w, a, b):
            n = call_integer(find_faces, (w, c, n, a, b))
            continue
        one, two = kinds[a], kinds[b]
        if two == SPHERE or one == HALF_SPACE:  # the sphere first, the half space last
            a, b, one, two = b, a, two, one
        if two == HALF_SPACE:
            if one == SPHERE:
                p = w.geometry_pose[a]
                n = _plane_point(w, c, n, reach, a, b, 0, p[9], p[10], p[11], w.geometry_size[a, 0])
            elif one == BOX:
                n = _box_plane(w, c, n, reach, a, b)
            elif one == CYLINDER:
                n = _cylinder_plane(w, c, n, reach, a, b)
            elif one == CAPSULE:
                n = _capsule_plane(w, c, n, reach, a, b)
            else:
                n = _hull_plane(w, c, n, reach, a, b)
        elif two == SPHERE:
            n = _sphere_sphere(w, c, n, reach, a, b)
        else:
            n = _sphere_solid(w, c, n, reach, a, b)
    w.counters[NATIVE_POINTS] = w.counters[REQUIRED_NATIVE]
    w.counters[REQUIRED_CONTACTS] = n
