"""Meshes for hydroelastic contact: bodies with a pressure field inside, and rigid surfaces (Elandt et al. 2019).

A compliant body has a pressure field that is zero on its surface and grows inwards. Two compliant bodies that overlap
touch on the surface where their pressures are equal; a rigid body touches with its own surface. The pressure is given
at the vertices of tetrahedra and is linear in each. Fields made here from a shape grow from 0 on the surface to the
hydroelastic modulus E on its medial axis, as E (distance from the surface)/(distance of the medial axis):

=========  =================================================================================================
sphere     a polyhedron of triangles with its vertices on the sphere, and the centre
box        the sides and the points farthest from all of them: a rectangle, a line or a point; exact
cylinder   a prism with its edges on the cylinder, and the points farthest from its sides: a disk, a line or a point
hull       its faces, and the centre of its volume
=========  =================================================================================================

Elandt, Drumwright, Sherman, Ruina: A pressure field model for fast, robust approximation of net contact force and
moment between nominally rigid objects, IROS 2019.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy

from convex_contact.model.shapes import Box, Cylinder, Hull, Shape, Sphere
from convex_contact.problem import checks

#: largest number of faces on the surface of a mesh that is made from a shape
MOST_FACES = 40_000
_FLAT = 1e-12  # a smaller volume (area) is flat, in units of the cube (square) of the mesh's size
_FACES = ((1, 2, 3), (0, 3, 2), (0, 1, 3), (0, 2, 1))  # of a tetrahedron, seen from outside


def _array(name: str, values: Any, kind: type, columns: int | None) -> np.ndarray:
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name}: expected numbers, got {values!r:.80}") from None
    expected = "(n,)" if columns is None else f"(n, {columns})"
    if array.ndim != (1 if columns is None else 2) or not len(array) or (columns and array.shape[1] != columns):
        raise ValueError(f"{name}: expected shape {expected}, got {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"{name}: expected finite numbers")
    if kind is int and (array != np.round(array)).any():
        raise ValueError(f"{name}: expected numbers of vertices")
    return array.astype(np.int64 if kind is int else np.float64)


def _check_range(name: str, cells: np.ndarray, vertices: np.ndarray) -> None:
    if cells.min() < 0 or cells.max() >= len(vertices):
        raise ValueError(f"{name}: expected numbers of vertices from 0 to {len(vertices) - 1}, got {cells.max()}")


@dataclass(frozen=True, eq=False)
class RigidSurface:
    """A closed surface of triangles around rigid matter.

    Attributes:
        vertices: (n, 3) [m], in the shape's frame.
        triangles: vertex numbers (m, 3), counterclockwise as seen from outside.

    Raises:
        ValueError: a number is wrong, a triangle is flat, or the surface is open, inverted or not oriented.

    Examples:
        >>> import numpy as np
        >>> from convex_contact import RigidSurface
        >>> corners = np.vstack([np.zeros(3), np.eye(3)])
        >>> surface = RigidSurface(corners, np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]))
        >>> volume = np.linalg.det(surface.vertices[surface.triangles]).sum() / 6.0
        >>> round(6.0 * float(volume), 9)  # a sixth of the unit cube
        1.0
    """

    vertices: np.ndarray
    triangles: np.ndarray

    def __post_init__(self) -> None:
        vertices = _array("vertices", self.vertices, float, 3)
        triangles = _array("triangles", self.triangles, int, 3)
        _check_range("triangles", triangles, vertices)
        corners, size = vertices[triangles], float(np.ptp(vertices, axis=0).max())
        normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        flat = np.flatnonzero(np.linalg.norm(normals, axis=1) <= _FLAT * size**2)
        if len(flat):
            raise ValueError(f"triangles: expected areas, got none of number {flat[0]}")
        edges = np.concatenate([triangles[:, [i, (i + 1) % 3]] for i in range(3)])
        codes, back = edges[:, 0] * len(vertices) + edges[:, 1], edges[:, 1] * len(vertices) + edges[:, 0]
        if len(np.unique(codes)) < len(codes):
            raise ValueError("triangles: expected neighbours turned alike, got an edge used twice in one sense")
        open_edges = np.flatnonzero(~np.isin(codes, back))
        if len(open_edges):
            raise ValueError(f"triangles: expected a closed surface, got an open edge {edges[open_edges[0]].tolist()}")
        if not np.einsum("ij,ij->", corners[:, 0], normals) > 0:
            raise ValueError("triangles: expected them counterclockwise seen from outside, got a surface inside out")
        object.__setattr__(self, "vertices", vertices)
        object.__setattr__(self, "triangles", triangles)


@dataclass(frozen=True, eq=False)
class PressureField:
    """A compliant body: tetrahedra with a pressure at their vertices, linear inside each.

    Attributes:
        vertices: (n, 3) [m], in the shape's frame.
        tetrahedra: vertex numbers (m, 4), such that det[b - a, c - a, d - a] > 0 for the vertices a, b, c, d of each.
        pressure: (n,) [Pa]; zero on the surface, not negative, positive somewhere.
        surface: triangles of the surface (k, 3), counterclockwise as seen from outside.
        gradient: of the pressure in each tetrahedron (m, 3) [Pa/m].

    Raises:
        ValueError: a number is wrong, a tetrahedron is flat or inverted, more than two share a face, or the
            pressure is wrong or does not vanish on the surface.

    Examples:
        >>> import numpy as np
        >>> from convex_contact import Box, Geometry, Hydroelastic, Material, Pose
        >>> soft = Hydroelastic(modulus=1e6, resolution=0.1)
        >>> field = Geometry(Box((0.2, 0.2, 0.2)), Pose(), Material(), hydroelastic=soft).mesh
        >>> slopes = np.linalg.norm(field.gradient, axis=1)
        >>> np.unique(slopes.round(3)).tolist()  # the modulus over half the edge [Pa/m]
        [10000000.0]
    """

    vertices: np.ndarray
    tetrahedra: np.ndarray
    pressure: np.ndarray
    surface: np.ndarray = field(init=False)
    gradient: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        vertices = _array("vertices", self.vertices, float, 3)
        cells = _array("tetrahedra", self.tetrahedra, int, 4)
        pressure = _array("pressure", self.pressure, float, None)
        _check_range("tetrahedra", cells, vertices)
        if len(pressure) != len(vertices):
            raise ValueError(f"pressure: expected one for each of {len(vertices)} vertices, got {len(pressure)}")
        if pressure.min() < 0:
            raise ValueError(f"pressure: expected none below 0, got {pressure.min()}")
        edges = vertices[cells[:, 1:]] - vertices[cells[:, :1]]
        sixth = np.linalg.det(edges)
        size = float(np.ptp(vertices, axis=0).max())
        wrong = np.flatnonzero(sixth <= _FLAT * size**3)
        if len(wrong):
            defect = "flat" if sixth[wrong[0]] >= -_FLAT * size**3 else "inside out"
            raise ValueError(f"tetrahedra: expected positive volumes, number {wrong[0]} is {defect}")
        faces = cells[:, _FACES].reshape(-1, 3)
        _, first, count = np.unique(np.sort(faces, axis=1), axis=0, return_index=True, return_counts=True)
        if count.max() > 2:
            raise ValueError(f"tetrahedra: expected two at most at a face, got {count.max()}")
        surface = faces[np.sort(first[count == 1])]
        outside = np.unique(surface)
        if pressure[outside].max() > 1e-9 * pressure.max():
            worst = outside[pressure[outside].argmax()]
            raise ValueError(f"pressure: expected 0 on the surface, got {pressure[worst]} at vertex {worst}")
        if not pressure.max() > 0:
            raise ValueError("pressure: expected a positive one at a vertex inside the surface, got none")
        rise = pressure[cells[:, 1:]] - pressure[cells[:, :1]]
        gradient = np.linalg.solve(edges, rise[:, :, None])[:, :, 0]
        for name, value in (
            ("vertices", vertices), ("tetrahedra", cells), ("pressure", pressure), ("surface", surface),
            ("gradient", gradient),
        ):  # fmt: skip
            object.__setattr__(self, name, value)


Mesh = PressureField | RigidSurface


@dataclass(frozen=True)
class Hydroelastic:
    """Parameters of the mesh of a shape for hydroelastic contact.

    Attributes:
        modulus: hydroelastic modulus E, the pressure on the medial axis [Pa]; infinite for a rigid surface.
        resolution: target length of the longest edge on the surface [m].

    Raises:
        ValueError: a value is not positive, or the resolution is infinite.

    Examples:
        >>> from convex_contact import Box, Geometry, Hydroelastic, Material, Pose
        >>> soft = Hydroelastic(modulus=1e6, resolution=0.1)
        >>> mesh = Geometry(Box((0.2, 0.2, 0.2)), Pose(), Material(), hydroelastic=soft).mesh
        >>> float(mesh.pressure.min()), float(mesh.pressure.max())  # on the surface, in the middle [Pa]
        (0.0, 1000000.0)
    """

    modulus: float
    resolution: float

    def __post_init__(self) -> None:
        pascals, metres = "a positive number of pascals (infinite: rigid)", "a positive number of metres"
        object.__setattr__(self, "modulus", checks.positive("modulus", self.modulus, expected=pascals))
        object.__setattr__(self, "resolution", checks.number("resolution", self.resolution, above=0.0, expected=metres))


@functools.lru_cache(maxsize=64)
def mesh_of(shape: Shape, description: Hydroelastic) -> Mesh:
    """Makes the pressure field of a shape, or its surface if the modulus is infinite.

    Raises:
        ValueError: this shape has no field, or it would have more than `MOST_FACES` faces.
    """
    vertices, faces, scale, center = _surface(shape, description.resolution)
    modulus = 1.0 if math.isinf(description.modulus) else description.modulus
    made = _filled(vertices, faces, scale, center, modulus)
    return RigidSurface(made.vertices, made.surface) if math.isinf(description.modulus) else made


# --- surfaces ------------------------------------------------------------------------------------------------

Loops = list[tuple[int, ...]]


def _surface(shape: Shape, resolution: float) -> tuple[np.ndarray, Loops, np.ndarray, np.ndarray]:
    """Returns vertices (n, 3) and faces of a shape's surface; the medial axis is center + scale (vertex - center)."""
    origin = np.zeros(3)
    if isinstance(shape, Sphere):
        _check_count(80 * (shape.radius / resolution) ** 2, resolution)
        return *_icosphere(shape.radius, resolution), origin, origin
    if isinstance(shape, Box):
        half = np.array(shape.size) / 2
        counts = np.maximum(1, np.ceil(2 * half / resolution * (1 - 1e-9)).astype(int))
        _check_count(2 * (counts[0] * counts[1] + counts[1] * counts[2] + counts[2] * counts[0]), resolution)
        return *_box(half, counts), (half - half.min()) / half, origin
    if isinstance(shape, Cylinder):
        radius, tall = shape.base_radius, shape.length / 2
        around = max(6, math.ceil(2 * math.pi * radius / resolution))
        rings, levels = max(1, math.ceil(radius / resolution)), max(1, math.ceil(shape.length / resolution))
        _check_count(around * (2 * rings + levels), resolution)
        smaller = min(radius, tall)
        scale = np.array([(radius - smaller) / radius] * 2 + [(tall - smaller) / tall])
        return *_prism(radius, tall, around, rings, levels), scale, origin
    if isinstance(shape, Hull):
        center = shape.solid(1.0).center
        return *_hull(shape, center, resolution), origin, center
    raise ValueError(f"hydroelastic: expected a sphere, box, cylinder or hull, got a {shape.name}")


def _check_count(faces: float, resolution: float) -> None:
    if faces > MOST_FACES:
        raise ValueError(f"resolution: {resolution} m gives about {faces:.3g} faces; expected {MOST_FACES} at most")


def _split(vertices: np.ndarray, triangles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Splits each triangle into four at the midpoints of its edges."""
    edges = np.sort(np.concatenate([triangles[:, [i, (i + 1) % 3]] for i in range(3)]), axis=1)
    unique, number = np.unique(edges, axis=0, return_inverse=True)
    middle = number.reshape(3, -1).T + len(vertices)
    a, b, c = triangles.T
    d, e, f = middle.T
    parts = np.concatenate([np.column_stack(t) for t in ((a, d, f), (d, b, e), (f, e, c), (d, e, f))])
    return np.vstack([vertices, vertices[unique].mean(axis=1)]), parts


def _icosphere(radius: float, resolution: float) -> tuple[np.ndarray, Loops]:
    golden = (1 + math.sqrt(5)) / 2
    vertices = np.array([(0, s, t * golden) for s in (-1, 1) for t in (-1, 1)], dtype=np.float64)
    vertices = np.concatenate([np.roll(vertices, k, axis=1) for k in range(3)])
    vertices /= np.linalg.norm(vertices[0])
    triangles = _outward(vertices, scipy.spatial.ConvexHull(vertices).simplices)
    while radius * _longest(vertices, triangles) > resolution:
        vertices, triangles = _split(vertices, triangles)
        vertices /= np.linalg.norm(vertices, axis=1)[:, None]
    return radius * vertices, [tuple(t) for t in triangles.tolist()]


def _outward(vertices: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Orients triangles of a convex surface counterclockwise as seen from outside."""
    corners = vertices[triangles]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    inward = np.einsum("ij,ij->i", normals, corners[:, 0] - vertices.mean(axis=0)) < 0
    triangles = triangles.copy()
    triangles[inward] = triangles[inward][:, [0, 2, 1]]
    return triangles


def _longest(vertices: np.ndarray, triangles: np.ndarray) -> float:
    corners = vertices[triangles]
    return float(np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2).max())


def _hull(shape: Hull, center: np.ndarray, resolution: float) -> tuple[np.ndarray, Loops]:
    vertices = shape.vertices
    triangles = _outward(vertices, scipy.spatial.ConvexHull(vertices).simplices)
    while _longest(vertices, triangles) > resolution:
        _check_count(4 * len(triangles), resolution)
        vertices, triangles = _split(vertices, triangles)
    return vertices, [tuple(t) for t in triangles.tolist()]


def _grid(points: np.ndarray, size: float) -> np.ndarray:
    """Rounds points to integers (n, 3), so that points that differ by rounding are equal; the offset avoids ties."""
    return np.round(points / size * 1e9 + 0.271828).astype(np.int64)


def _merged(points: np.ndarray, loops: list[np.ndarray]) -> tuple[np.ndarray, list[list[int]]]:
    """Removes repeated points (within 1e-9 of their extent), and repeated corners of loops."""
    grid = _grid(points, float(np.ptp(points, axis=0).max()))
    _, first, number = np.unique(grid, axis=0, return_index=True, return_inverse=True)
    number = number.reshape(-1)
    return points[first], [[int(i) for k, i in enumerate(n) if i != n[k - 1]] for n in (number[loop] for loop in loops)]


def _box(half: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, Loops]:
    points, loops, start = [], [], 0
    for axis in range(3):
        u, v = (axis + 1) % 3, (axis + 2) % 3
        for side in (-1, 1):
            i, j = np.meshgrid(np.arange(counts[u] + 1), np.arange(counts[v] + 1), indexing="ij")
            grid = np.empty((i.size, 3))
            grid[:, axis] = side * half[axis]
            grid[:, u] = half[u] * (2 * i.ravel() / counts[u] - 1)
            grid[:, v] = half[v] * (2 * j.ravel() / counts[v] - 1)
            points.append(grid)
            width = counts[v] + 1
            for p in range(counts[u]):
                for q in range(counts[v]):
                    at = start + p * width + q
                    loop = np.array([at, at + width, at + width + 1, at + 1])
                    loops.append(loop if side > 0 else loop[::-1])
            start += len(grid)
    vertices, merged = _merged(np.concatenate(points), loops)
    return vertices, [tuple(loop) for loop in merged]


def _prism(radius: float, half: float, around: int, rings: int, levels: int) -> tuple[np.ndarray, Loops]:
    angles = 2 * math.pi * np.arange(around + 1) / around
    circle = np.column_stack([np.cos(angles), np.sin(angles), np.zeros(around + 1)])
    circle[-1] = circle[0]
    # from the middle of the lower cap over the wall to the middle of the upper cap
    r = np.concatenate([np.arange(rings) / rings, np.ones(levels), np.arange(rings, -1, -1) / rings])
    z = np.concatenate([-np.ones(rings), -1 + 2 * np.arange(levels) / levels, np.ones(rings + 1)])
    points = (radius * r[:, None, None] * circle + half * z[:, None, None] * np.array([0, 0, 1.0])).reshape(-1, 3)
    width, loops = around + 1, []
    for k in range(len(r) - 1):
        for i in range(around):
            at = k * width + i
            loops.append(np.array([at, at + 1, at + width + 1, at + width]))
    vertices, merged = _merged(points, loops)
    return vertices, [tuple(loop) for loop in merged]


def _filled(vertices: np.ndarray, faces: Loops, scale: np.ndarray, center: np.ndarray, modulus: float) -> PressureField:
    """Fills the space between a surface and its medial axis with tetrahedra that share whole faces.

    Each cell is convex and lies between a face and its image. It is divided into cones from its corner with the
    smallest number to the triangles of the faces without that corner. These faces are divided in the same way, so two
    cells divide the face between them alike.
    """
    n = len(vertices)
    both = np.vstack([vertices, center + scale * (vertices - center)])
    loops = []
    for face in faces:
        loops += [np.array(face), np.array(face) + n]
        for k, i in enumerate(face):
            j = face[(k + 1) % len(face)]
            loops.append(np.array([i, j, j + n, i + n]))
    points, merged = _merged(both, loops)
    cells, start = [], 0
    for face in faces:
        sides = merged[start : start + 2 + len(face)]
        start += 2 + len(face)
        apex = min(min(side) for side in sides if side)
        for side in sides:
            if len(side) < 3 or apex in side:
                continue
            low = side.index(min(side))
            loop = side[low:] + side[:low]
            cells += [(apex, loop[0], loop[k], loop[k + 1]) for k in range(1, len(loop) - 1)]
    tetrahedra = np.array(cells)
    corners = points[tetrahedra]
    sixth = np.linalg.det(corners[:, 1:] - corners[:, :1])
    size = float(np.ptp(points, axis=0).max())
    kept = np.abs(sixth) > _FLAT * size**3
    tetrahedra[sixth < 0] = tetrahedra[sixth < 0][:, [0, 2, 1, 3]]
    surface = {tuple(p) for p in _grid(vertices, size).tolist()}
    outside = np.array([tuple(p) in surface for p in _grid(points, size).tolist()])
    return PressureField(points, tetrahedra[kept], np.where(outside, 0.0, modulus))
