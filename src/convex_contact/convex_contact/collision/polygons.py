"""Convex polygons: the section of a tetrahedron by a plane, and the part of a polygon behind a plane."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def slice_tetrahedron(
    vertex: np.ndarray, nx: float, ny: float, nz: float, offset: float, tiny: float, out: np.ndarray
) -> int:
    """Writes the section of a tetrahedron (4, 3) by the plane n . x = offset; returns its number of corners.

    A corner in the plane (to `tiny`) counts as below it, so that a face in the plane belongs to one of its two cells.
    """
    s0 = nx * vertex[0, 0] + ny * vertex[0, 1] + nz * vertex[0, 2] - offset
    s1 = nx * vertex[1, 0] + ny * vertex[1, 1] + nz * vertex[1, 2] - offset
    s2 = nx * vertex[2, 0] + ny * vertex[2, 1] + nz * vertex[2, 2] - offset
    s3 = nx * vertex[3, 0] + ny * vertex[3, 1] + nz * vertex[3, 2] - offset
    a0, a1, a2, a3 = s0 > tiny, s1 > tiny, s2 > tiny, s3 > tiny
    above = int(a0) + int(a1) + int(a2) + int(a3)
    if above == 0 or above == 4:
        return 0
    s = (s0, s1, s2, s3)
    if above == 2:
        i = 0
        j = 1 if a1 == a0 else (2 if a2 == a0 else 3)
        k = 1 if j != 1 else 2
        m = 6 - j - k
        edges = ((i, k), (i, m), (j, m), (j, k))
        count = 4
    else:
        lone = above == 1
        i = 0 if a0 == lone else (1 if a1 == lone else (2 if a2 == lone else 3))
        edges = ((i, (i + 1) % 4), (i, (i + 2) % 4), (i, (i + 3) % 4), (i, i))
        count = 3
    for e in range(count):
        p, q = edges[e]
        # in a fixed order, so that cells with a common edge find the same point
        if vertex[p, 0] > vertex[q, 0] or (vertex[p, 0] == vertex[q, 0] and vertex[p, 1] > vertex[q, 1]):
            p, q = q, p
        sp = s[p] if abs(s[p]) > tiny else 0.0
        sq = s[q] if abs(s[q]) > tiny else 0.0
        fraction = sp / (sp - sq)
        for r in range(3):
            out[e, r] = vertex[p, r] + fraction * (vertex[q, r] - vertex[p, r])
    return count


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def clip_polygon(
    polygon: np.ndarray, count: int, plane: np.ndarray, nx: float, ny: float, nz: float, tiny: float, out: np.ndarray
) -> int:
    """Writes the part of a convex polygon with normal n behind a plane (4,); returns its number of corners.

    A polygon in the plane (to `tiny`) is kept if the two normals agree: it belongs to one of the cells that meet there.
    """
    highest, lowest = -np.inf, np.inf
    for i in range(count):
        s = plane[0] * polygon[i, 0] + plane[1] * polygon[i, 1] + plane[2] * polygon[i, 2] - plane[3]
        highest, lowest = max(highest, s), min(lowest, s)
    if highest <= tiny and lowest >= -tiny and plane[0] * nx + plane[1] * ny + plane[2] * nz < 0:
        return 0
    if highest <= tiny:
        for i in range(count):
            for r in range(3):
                out[i, r] = polygon[i, r]
        return count
    if lowest >= -tiny:
        return 0
    made, j = 0, count - 1
    before = plane[0] * polygon[j, 0] + plane[1] * polygon[j, 1] + plane[2] * polygon[j, 2] - plane[3]
    for i in range(count):
        s = plane[0] * polygon[i, 0] + plane[1] * polygon[i, 1] + plane[2] * polygon[i, 2] - plane[3]
        if (s > 0) != (before > 0):
            fraction = before / (before - s)
            for r in range(3):
                out[made, r] = polygon[j, r] + fraction * (polygon[i, r] - polygon[j, r])
            made += 1
        if s <= 0:
            for r in range(3):
                out[made, r] = polygon[i, r]
            made += 1
        before, j = s, i
    return made


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def largest_extent(vertex: np.ndarray, count: int) -> float:
    """Returns the largest extent of the first `count` corners along the coordinate axes [m]."""
    size = 0.0
    for r in range(3):
        low = high = vertex[0, r]
        for i in range(1, count):
            low, high = min(low, vertex[i, r]), max(high, vertex[i, r])
        size = max(size, high - low)
    return size
