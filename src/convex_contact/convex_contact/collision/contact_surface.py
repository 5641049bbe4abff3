"""The faces of hydroelastic contact surfaces, as contacts (Elandt et al. 2019; Masterjohn et al. 2022).

A compliant body A has a pressure p_A inside (`pressure_fields`). Its contact surface with

* a rigid body is the part of the rigid surface inside A, with the pressure p_A;
* a compliant body B is the surface p_A = p_B inside both. The pressures are linear in a pair of tetrahedra, so that the
  surface there is the plane p_A = p_B, clipped by both.

The traction on it is -p n on A and p n on B, n from A into B. With this surface the force is the gradient of the energy
U = int min(p_A, p_B) dV over the overlap (p_A, where B is rigid), so that no face is left out, whatever its direction.

**One contact per face.** A face is a convex polygon in which p is linear. With its area a and its mean pressure p0 it
has the force a p0 at its centre of pressure, int p x da / int p da: force and moment of the faces are exactly those
of the pressure. Within a step p changes with the normal velocity as

    p = p0 - dt g v_n,      g = -n . grad p_A  against a rigid body,      1/g = 1/g_A + 1/g_B  with  g_B = n . grad p_B,

which is the linear law of `normal_laws` with the stiffness k = a g and the gap phi0 = -p0/g. Where a pressure does not
fall towards the other body, as at the sides of an indenter, g would vanish or be negative. It is therefore at least
`FLATTEST` times the largest gradient of its body; the force of such a face hardly changes within the step.

R. Elandt, E. Drumwright, M. Sherman, A. Ruina: A pressure field model for fast, robust approximation of net contact
force and moment between nominally rigid objects, IROS 2019. J. Masterjohn, D. Guoy, J. Shepherd, A. Castro: Velocity
level approximation of pressure field contact patches, RA-L 7(4), 2022.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numba import njit

from convex_contact.collision.polygons import clip_polygon, largest_extent, slice_tetrahedron
from convex_contact.model.arrays import ContactRecord, WorldRecord
from convex_contact.model.pressure_fields import Mesh, PressureField, RigidSurface
from convex_contact.model.shapes import HALF_SPACE

FLATTEST = 1e-3  # least gradient over the largest one of the body


_NEGLIGIBLE = 1e-12  # distances below this fraction of an element's size are zero


def mesh_arrays(meshes: Sequence[Mesh]) -> dict[str, np.ndarray]:
    """Returns the arrays of a world's meshes and of the boxes that hold their elements (`arrays.WORLD_TABLE`)."""
    roots, firsts, flattest, bounds, children = [], [], [], [], []
    vertices, planes, fields = [np.zeros((0, 4, 3))], [np.zeros((0, 4, 4))], [np.zeros((0, 4))]
    boxes = elements = 0
    for mesh in meshes:
        if isinstance(mesh, PressureField):
            corner, plane = _tetrahedra(mesh)
            constant = mesh.pressure[mesh.tetrahedra[:, 0]] - np.einsum("ij,ij->i", mesh.gradient, corner[:, 0])
            values = np.column_stack([mesh.gradient, constant])
            flattest.append(FLATTEST * float(np.linalg.norm(mesh.gradient, axis=1).max()))
        else:
            corner, plane = _triangles(mesh)
            values = np.zeros((len(corner), 4))
            flattest.append(0.0)
        points = corner if isinstance(mesh, PressureField) else corner[:, :3]
        box, child = _tree(points.min(axis=1), points.max(axis=1))
        roots.append(boxes)
        firsts.append(elements)
        bounds.append(box)
        children.append(child + np.where(child[:, :1] < 0, [[0, elements]], boxes))
        vertices.append(corner)
        planes.append(plane)
        fields.append(values)
        boxes, elements = boxes + len(box), elements + len(corner)
    return {
        "mesh_root": np.array(roots, dtype=np.int64),
        "mesh_element": np.array(firsts, dtype=np.int64),
        "mesh_flattest": np.array(flattest, dtype=np.float64),
        "box_bounds": np.concatenate([*bounds, np.zeros((0, 6))]),
        "box_child": np.concatenate([*children, np.zeros((0, 2), dtype=np.int64)]),
        "element_vertex": np.concatenate(vertices),
        "element_plane": np.concatenate(planes),
        "element_field": np.concatenate(fields),
        # room for the stack of a query, two polygons, and the faces of an element in the other body's frame
        "box_stack": np.zeros((256, 2), dtype=np.int64),
        "polygon": np.zeros((2, 12, 3)),
        "moved_plane": np.zeros((4, 4)),
    }


def _planes(corners: np.ndarray) -> np.ndarray:
    """Returns unit normals and offsets (n, 4) of triangles (n, 3, 3)."""
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normal /= np.linalg.norm(normal, axis=1)[:, None]
    return np.column_stack([normal, np.einsum("ij,ij->i", normal, corners[:, 0])])


def _tetrahedra(mesh: PressureField) -> tuple[np.ndarray, np.ndarray]:
    corner = mesh.vertices[mesh.tetrahedra]
    faces = ((1, 2, 3), (0, 3, 2), (0, 1, 3), (0, 2, 1))
    return corner, np.stack([_planes(corner[:, face]) for face in faces], axis=1)


def _triangles(mesh: RigidSurface) -> tuple[np.ndarray, np.ndarray]:
    corner, plane = np.zeros((len(mesh.triangles), 4, 3)), np.zeros((len(mesh.triangles), 4, 4))
    corner[:, :3] = mesh.vertices[mesh.triangles]
    plane[:, 0] = _planes(corner[:, :3])
    return corner, plane


def _tree(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Builds a binary tree of bounding boxes, halved at the median along the widest axis, one element in each leaf."""
    middle = 0.5 * (low + high)
    bounds, children = np.zeros((2 * len(low) - 1, 6)), np.zeros((2 * len(low) - 1, 2), dtype=np.int64)
    waiting, made = [(0, np.arange(len(low)))], 1
    while waiting:
        box, members = waiting.pop()
        bottom, top = low[members].min(axis=0), high[members].max(axis=0)
        bounds[box] = np.concatenate([0.5 * (bottom + top), 0.5 * (top - bottom)])
        if len(members) == 1:
            children[box] = -1, members[0]
            continue
        axis = int(np.ptp(middle[members], axis=0).argmax())
        order = members[np.argsort(middle[members, axis], kind="stable")]
        children[box] = made, made + 1
        waiting += [(made, order[: len(order) // 2]), (made + 1, order[len(order) // 2 :])]
        made += 2
    return bounds, children


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def _emit_face(
    w: WorldRecord,
    c: ContactRecord,
    n: int,
    a: int,
    b: int,
    feature: int,
    polygon: np.ndarray,
    count: int,
    nx: float,
    ny: float,
    nz: float,
    field: np.ndarray,
    gradient: float,
) -> int:
    """Appends a polygon in the frame of geometry a, with normal n from a into b and the pressure of a's field.

    Returns the new number of contacts.
    """
    area, force, mx, my, mz = 0.0, 0.0, 0.0, 0.0, 0.0
    x0, y0, z0 = polygon[0, 0], polygon[0, 1], polygon[0, 2]
    p0 = max(field[0] * x0 + field[1] * y0 + field[2] * z0 + field[3], 0.0)
    x1, y1, z1 = polygon[1, 0] - x0, polygon[1, 1] - y0, polygon[1, 2] - z0
    p1 = max(p0 + field[0] * x1 + field[1] * y1 + field[2] * z1, 0.0)
    for i in range(2, count):
        x2, y2, z2 = polygon[i, 0] - x0, polygon[i, 1] - y0, polygon[i, 2] - z0
        p2 = max(p0 + field[0] * x2 + field[1] * y2 + field[2] * z2, 0.0)
        part = 0.5 * abs(nx * (y1 * z2 - z1 * y2) + ny * (z1 * x2 - x1 * z2) + nz * (x1 * y2 - y1 * x2))
        whole = p0 + p1 + p2
        area += part
        force += part * whole / 3.0
        mx += part / 12.0 * (whole * (x1 + x2) + p1 * x1 + p2 * x2)
        my += part / 12.0 * (whole * (y1 + y2) + p1 * y1 + p2 * y2)
        mz += part / 12.0 * (whole * (z1 + z2) + p1 * z1 + p2 * z2)
        x1, y1, z1, p1 = x2, y2, z2, p2
    if not force > 0.0 or not area > 0.0:
        return n
    if n < c.phi0.shape[0]:
        x, y, z = x0 + mx / force, y0 + my / force, z0 + mz / force
        p, sign = w.geometry_pose[a], 1.0 if a < b else -1.0
        c.geometry[n, 0], c.geometry[n, 1], c.feature[n] = min(a, b), max(a, b), feature
        for r in range(3):
            c.point[n, r] = p[3 * r] * x + p[3 * r + 1] * y + p[3 * r + 2] * z + p[9 + r]
            c.frame[n, 2, r] = sign * (p[3 * r] * nx + p[3 * r + 1] * ny + p[3 * r + 2] * nz)
        c.phi0[n] = -force / (area * gradient)
        c.area[n], c.stiffness[n] = area, area * gradient
    return n + 1


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def is_compliant(w: WorldRecord, g: int) -> bool:
    """Returns whether a geometry has a pressure field."""
    mesh = w.geometry_mesh[g]
    return mesh >= 0 and w.mesh_flattest[mesh] > 0


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def meets_in_patch(w: WorldRecord, a: int, b: int) -> bool:
    """Returns whether two geometries meet in a contact surface instead of contact points."""
    if is_compliant(w, a):
        return w.geometry_mesh[b] >= 0 or w.geometry_kind[b] == HALF_SPACE
    return is_compliant(w, b) and (w.geometry_mesh[a] >= 0 or w.geometry_kind[a] == HALF_SPACE)


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def find_faces(w: WorldRecord, c: ContactRecord, n: int, a: int, b: int) -> int:
    """Appends the faces of the contact surface of two geometries; returns the new number of contacts."""
    if not is_compliant(w, a):
        a, b = b, a
    if w.geometry_kind[b] == HALF_SPACE and w.geometry_mesh[b] < 0:
        return _with_plane(w, c, n, a, b)
    return _with_mesh(w, c, n, a, b)


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def _with_plane(w: WorldRecord, c: ContactRecord, n: int, a: int, plane: int) -> int:
    """Appends the faces of a pressure field and a half space; returns the new number of contacts."""
    p, q, mesh = w.geometry_pose[a], w.geometry_pose[plane], w.geometry_mesh[a]
    bounds, child, vertex, field = w.box_bounds, w.box_child, w.element_vertex, w.element_field
    stack, polygon, flattest = w.box_stack, w.polygon[0], w.mesh_flattest[mesh]
    # the plane in a's frame
    ux = p[0] * q[2] + p[3] * q[5] + p[6] * q[8]
    uy = p[1] * q[2] + p[4] * q[5] + p[7] * q[8]
    uz = p[2] * q[2] + p[5] * q[5] + p[8] * q[8]
    offset = q[2] * (q[9] - p[9]) + q[5] * (q[10] - p[10]) + q[8] * (q[11] - p[11])
    waiting = 1
    stack[0, 0] = w.mesh_root[mesh]
    while waiting:
        waiting -= 1
        box = stack[waiting, 0]
        middle = ux * bounds[box, 0] + uy * bounds[box, 1] + uz * bounds[box, 2] - offset
        if abs(middle) > abs(ux) * bounds[box, 3] + abs(uy) * bounds[box, 4] + abs(uz) * bounds[box, 5]:
            continue
        if child[box, 0] >= 0:
            stack[waiting, 0], stack[waiting + 1, 0] = child[box, 1], child[box, 0]
            waiting += 2
            continue
        e = child[box, 1]
        count = slice_tetrahedron(vertex[e], ux, uy, uz, offset, _NEGLIGIBLE * largest_extent(vertex[e], 4), polygon)
        if count:
            f = field[e]
            gradient = max(f[0] * ux + f[1] * uy + f[2] * uz, flattest)
            feature = e - w.mesh_element[mesh]
            n = _emit_face(w, c, n, a, plane, feature, polygon, count, -ux, -uy, -uz, f, gradient)
    return n


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def _are_separated(r: tuple[float, ...], t: tuple[float, ...], one: np.ndarray, two: np.ndarray) -> bool:
    """Returns whether a face of one of two boxes separates them; the second's frame has rotation r and origin t."""
    x = r[0] * two[0] + r[1] * two[1] + r[2] * two[2] + t[0] - one[0]
    y = r[3] * two[0] + r[4] * two[1] + r[5] * two[2] + t[1] - one[1]
    z = r[6] * two[0] + r[7] * two[1] + r[8] * two[2] + t[2] - one[2]
    return (
        abs(x) > one[3] + abs(r[0]) * two[3] + abs(r[1]) * two[4] + abs(r[2]) * two[5]
        or abs(y) > one[4] + abs(r[3]) * two[3] + abs(r[4]) * two[4] + abs(r[5]) * two[5]
        or abs(z) > one[5] + abs(r[6]) * two[3] + abs(r[7]) * two[4] + abs(r[8]) * two[5]
        or abs(r[0] * x + r[3] * y + r[6] * z) > two[3] + abs(r[0]) * one[3] + abs(r[3]) * one[4] + abs(r[6]) * one[5]
        or abs(r[1] * x + r[4] * y + r[7] * z) > two[4] + abs(r[1]) * one[3] + abs(r[4]) * one[4] + abs(r[7]) * one[5]
        or abs(r[2] * x + r[5] * y + r[8] * z) > two[5] + abs(r[2]) * one[3] + abs(r[5]) * one[4] + abs(r[8]) * one[5]
    )


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def _with_mesh(w: WorldRecord, c: ContactRecord, n: int, a: int, b: int) -> int:
    """Appends the faces of a pressure field and another mesh; returns the new number of contacts."""
    p, q, one, two = w.geometry_pose[a], w.geometry_pose[b], w.geometry_mesh[a], w.geometry_mesh[b]
    bounds, child, stack = w.box_bounds, w.box_child, w.box_stack
    # the pose of b in the frame of a
    r = (
        p[0] * q[0] + p[3] * q[3] + p[6] * q[6], p[0] * q[1] + p[3] * q[4] + p[6] * q[7],
        p[0] * q[2] + p[3] * q[5] + p[6] * q[8], p[1] * q[0] + p[4] * q[3] + p[7] * q[6],
        p[1] * q[1] + p[4] * q[4] + p[7] * q[7], p[1] * q[2] + p[4] * q[5] + p[7] * q[8],
        p[2] * q[0] + p[5] * q[3] + p[8] * q[6], p[2] * q[1] + p[5] * q[4] + p[8] * q[7],
        p[2] * q[2] + p[5] * q[5] + p[8] * q[8],
    )  # fmt: skip
    x, y, z = q[9] - p[9], q[10] - p[10], q[11] - p[11]
    t = (p[0] * x + p[3] * y + p[6] * z, p[1] * x + p[4] * y + p[7] * z, p[2] * x + p[5] * y + p[8] * z)
    waiting = 1
    stack[0, 0], stack[0, 1] = w.mesh_root[one], w.mesh_root[two]
    while waiting:
        waiting -= 1
        i, j = stack[waiting, 0], stack[waiting, 1]
        if _are_separated(r, t, bounds[i], bounds[j]):
            continue
        leaf_i, leaf_j = child[i, 0] < 0, child[j, 0] < 0
        if leaf_i and leaf_j:
            n = _with_element(w, c, n, a, b, child[i, 1], child[j, 1], r, t)
            continue
        # the larger box is split; the order does not depend on the poses
        wide_i = bounds[i, 3] + bounds[i, 4] + bounds[i, 5]
        wide_j = bounds[j, 3] + bounds[j, 4] + bounds[j, 5]
        if leaf_j or (not leaf_i and wide_i >= wide_j):
            stack[waiting, 0], stack[waiting + 1, 0] = child[i, 1], child[i, 0]
            stack[waiting, 1], stack[waiting + 1, 1] = j, j
        else:
            stack[waiting, 0], stack[waiting + 1, 0] = i, i
            stack[waiting, 1], stack[waiting + 1, 1] = child[j, 1], child[j, 0]
        waiting += 2
    return n


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def _with_element(
    w: WorldRecord, c: ContactRecord, n: int, a: int, b: int, e: int, h: int, r: tuple[float, ...], t: tuple[float, ...]
) -> int:
    """Appends the face of element e of a's pressure field and element h of b's mesh.

    The frame of b has rotation r and origin t in the frame of a. Returns the new number of contacts.
    """
    one, two = w.geometry_mesh[a], w.geometry_mesh[b]
    vertex, plane, field = w.element_vertex[e], w.element_plane[e], w.element_field[e]
    other, faces, other_field = w.element_vertex[h], w.element_plane[h], w.element_field[h]
    first, second, clips = w.polygon[0], w.polygon[1], w.moved_plane
    soft = w.mesh_flattest[two] > 0
    tiny = _NEGLIGIBLE * max(largest_extent(vertex, 4), largest_extent(other, 4 if soft else 3))
    if soft:
        # b's field in a's frame, and the plane where both are equal
        fx = r[0] * other_field[0] + r[1] * other_field[1] + r[2] * other_field[2]
        fy = r[3] * other_field[0] + r[4] * other_field[1] + r[5] * other_field[2]
        fz = r[6] * other_field[0] + r[7] * other_field[1] + r[8] * other_field[2]
        constant = other_field[3] - fx * t[0] - fy * t[1] - fz * t[2]
        nx, ny, nz = fx - field[0], fy - field[1], fz - field[2]
        size = np.sqrt(nx * nx + ny * ny + nz * nz)
        steepest = np.sqrt(max(fx * fx + fy * fy + fz * fz, field[0] ** 2 + field[1] ** 2 + field[2] ** 2))
        if not size > 1e-9 * steepest:
            return n  # equal fields have no such plane
        nx, ny, nz = nx / size, ny / size, nz / size
        count = slice_tetrahedron(vertex, nx, ny, nz, (field[3] - constant) / size, tiny, first)
        if count == 0:
            return n
    else:
        count = 3
        for i in range(3):
            for s in range(3):
                first[i, s] = r[3 * s] * other[i, 0] + r[3 * s + 1] * other[i, 1] + r[3 * s + 2] * other[i, 2] + t[s]
        normal = faces[0]
        nx = -(r[0] * normal[0] + r[1] * normal[1] + r[2] * normal[2])
        ny = -(r[3] * normal[0] + r[4] * normal[1] + r[5] * normal[2])
        nz = -(r[6] * normal[0] + r[7] * normal[1] + r[8] * normal[2])
        fx = fy = fz = 0.0
    current, spare = first, second
    if soft:
        for k in range(4):
            for s in range(3):
                clips[k, s] = r[3 * s] * faces[k, 0] + r[3 * s + 1] * faces[k, 1] + r[3 * s + 2] * faces[k, 2]
            clips[k, 3] = faces[k, 3] + clips[k, 0] * t[0] + clips[k, 1] * t[1] + clips[k, 2] * t[2]
    else:
        clips = plane
    for k in range(4):
        count = clip_polygon(current, count, clips[k], nx, ny, nz, tiny, spare)
        if count < 3:
            return n
        current, spare = spare, current
    gradient = max(-(field[0] * nx + field[1] * ny + field[2] * nz), w.mesh_flattest[one])
    if soft:
        against = max(fx * nx + fy * ny + fz * nz, w.mesh_flattest[two])
        gradient = gradient * against / (gradient + against)
    elements = w.element_field.shape[0]
    feature = (e - w.mesh_element[one]) * elements + (h - w.mesh_element[two])
    return _emit_face(w, c, n, a, b, feature, current, count, nx, ny, nz, field, gradient)
