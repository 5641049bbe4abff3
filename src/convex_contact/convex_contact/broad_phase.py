"""Which pairs of geometries come close enough to be asked for contact points.

Sweep and prune along the axis on which the geometries are spread most, with the order kept from call to call, so that
sorting costs O(n). Large geometries (walls, tables) and half spaces would overlap with most others on any axis and are
tried against all. The list of pairs does not depend on the order in which it was found: it is sorted by bucket.

A geometry reaches as far as the margin m of its body; a pair counts while its distance may be less than
min(threshold, mA + mB).
"""

from __future__ import annotations

import numpy as np
from numba import njit

from convex_contact.arrays import WorldRecord
from convex_contact.shapes import HALF_SPACE

#: counters
AXIS, PAIRS, NATIVE_POINTS, REQUIRED_PAIRS, REQUIRED_NATIVE, REQUIRED_CONTACTS, FAILED = range(7)
#: settings
THRESHOLD = 0
_KEEP_AXIS = 1.5  # a new axis must be this much wider


@njit(cache=True, nogil=True, error_model="numpy")
def place_geometries(w: WorldRecord) -> None:
    """World poses and bounding boxes of all geometries, from the poses of their bodies."""
    kinds, bodies, radii = w.geometry_kind, w.geometry_body, w.geometry_radius
    body, local, pose = w.body_pose, w.geometry_local, w.geometry_pose
    centers, extents, bounds = w.geometry_center, w.geometry_extent, w.geometry_bounds
    for g in range(kinds.shape[0]):
        b = bodies[g]
        for i in range(3):
            x, y, z = body[b, 3 * i], body[b, 3 * i + 1], body[b, 3 * i + 2]
            for j in range(3):
                pose[g, 3 * i + j] = x * local[g, j] + y * local[g, 3 + j] + z * local[g, 6 + j]
            pose[g, 9 + i] = x * local[g, 9] + y * local[g, 10] + z * local[g, 11] + body[b, 9 + i]
        if kinds[g] == HALF_SPACE:
            continue
        cx, cy, cz = centers[g, 0], centers[g, 1], centers[g, 2]
        centred = cx == 0 and cy == 0 and cz == 0
        for i in range(3):
            x, y, z = pose[g, 3 * i], pose[g, 3 * i + 1], pose[g, 3 * i + 2]
            middle = x * cx + y * cy + z * cz + pose[g, 9 + i]
            half = abs(x) * extents[g, 0] + abs(y) * extents[g, 1] + abs(z) * extents[g, 2]
            if centred:
                half = min(half, radii[g])
            bounds[g, i], bounds[g, 3 + i] = middle - half, middle + half


@njit(cache=True, nogil=True, error_model="numpy")
def _may_touch(w: WorldRecord, a: int, b: int) -> bool:
    """Whether two geometries (a < b) may collide at all."""
    one, two = w.geometry_body[a], w.geometry_body[b]
    if one == two or (w.body_tree[one] < 0 and w.body_tree[two] < 0):
        return False
    allowed = True
    for i in range(w.disabled_start[a], w.disabled_start[a + 1]):
        allowed &= w.disabled_other[i] != b
    return allowed


@njit(cache=True, nogil=True, error_model="numpy")
def _add(w: WorldRecord, a: int, b: int, reach: float) -> None:
    if a > b:
        a, b = b, a
    if not _may_touch(w, a, b):
        return
    n = w.counters[REQUIRED_PAIRS]
    w.counters[REQUIRED_PAIRS] = n + 1
    if n < w.pair.shape[0]:
        w.pair[n, 0], w.pair[n, 1], w.pair_reach[n] = a, b, reach


@njit(cache=True, nogil=True, error_model="numpy")
def _close(w: WorldRecord, a: int, b: int, reach: float) -> bool:
    """Whether boxes and spheres around two finite geometries come within reach."""
    p, q = w.geometry_bounds[a], w.geometry_bounds[b]
    square = 0.0
    for i in range(3):
        if p[i] - q[3 + i] >= reach or q[i] - p[3 + i] >= reach:
            return False
        d = w.geometry_pose[a, 9 + i] - w.geometry_pose[b, 9 + i]
        square += d * d
    far = w.geometry_radius[a] + w.geometry_radius[b] + reach
    return square < far * far


@njit(cache=True, nogil=True, error_model="numpy")
def _sorted_sweep(w: WorldRecord) -> int:
    """Chooses the axis and brings the finite geometries into the order of their lower ends on it."""
    finite, bounds, margin = w.finite, w.geometry_bounds, w.body_margin
    n = finite.shape[0]
    axis, width = w.counters[AXIS], np.zeros(3)
    for i in range(3):
        low, high = np.inf, -np.inf
        for k in range(n):
            low, high = min(low, bounds[finite[k], i]), max(high, bounds[finite[k], i])
        width[i] = high - low
    for i in range(3):
        if width[i] > _KEEP_AXIS * width[axis]:
            axis = i
    w.counters[AXIS] = axis
    for k in range(1, n):
        g = finite[k]
        key, j = bounds[g, axis] - margin[w.geometry_body[g]], k - 1
        while j >= 0 and bounds[finite[j], axis] - margin[w.geometry_body[finite[j]]] > key:
            finite[j + 1] = finite[j]
            j -= 1
        finite[j + 1] = g
    return axis


@njit(cache=True, nogil=True, error_model="numpy")
def find_pairs(w: WorldRecord) -> None:
    """Fills ``pair`` and ``pair_reach``, sorted by geometry; counters say how many there are and would be."""
    threshold, margin, body = w.settings[THRESHOLD], w.body_margin, w.geometry_body
    w.counters[REQUIRED_PAIRS] = 0
    finite, bounds = w.finite, w.geometry_bounds
    n = finite.shape[0]
    axis = _sorted_sweep(w)
    for i in range(n):
        a = finite[i]
        m = margin[body[a]]
        end = bounds[a, 3 + axis] + m
        for j in range(i + 1, n):
            b = finite[j]
            if bounds[b, axis] - margin[body[b]] >= end:
                break
            reach = min(threshold, m + margin[body[b]])
            if _close(w, a, b, reach):
                _add(w, a, b, reach)
        for large in w.large:
            reach = min(threshold, m + margin[body[large]])
            if _close(w, a, large, reach):
                _add(w, a, large, reach)
    for i in range(w.large.shape[0]):
        for j in range(i + 1, w.large.shape[0]):
            reach = min(threshold, margin[body[w.large[i]]] + margin[body[w.large[j]]])
            if _close(w, w.large[i], w.large[j], reach):
                _add(w, w.large[i], w.large[j], reach)
    for plane in w.planes:
        p = w.geometry_pose[plane]
        nx, ny, nz = p[2], p[5], p[8]
        offset = nx * p[9] + ny * p[10] + nz * p[11]
        for i in range(n + w.large.shape[0]):
            g = finite[i] if i < n else w.large[i - n]
            reach = min(threshold, margin[body[plane]] + margin[body[g]])
            b = bounds[g]
            height = 0.5 * (nx * (b[0] + b[3]) + ny * (b[1] + b[4]) + nz * (b[2] + b[5])) - offset
            spread = 0.5 * (abs(nx) * (b[3] - b[0]) + abs(ny) * (b[4] - b[1]) + abs(nz) * (b[5] - b[2]))
            if height - spread < reach:
                _add(w, g, plane, reach)
    w.counters[PAIRS] = min(w.counters[REQUIRED_PAIRS], w.pair.shape[0])
    _sort_pairs(w)


@njit(cache=True, nogil=True, error_model="numpy")
def _sort_pairs(w: WorldRecord) -> None:
    """Writes the order of the pairs by first and second geometry to ``pair_sorted``."""
    count, start, fill, order = w.counters[PAIRS], w.pair_start, w.pair_fill, w.pair_sorted
    start[:] = 0
    for k in range(count):
        start[w.pair[k, 0] + 1] += 1
    for g in range(fill.shape[0]):
        start[g + 1] += start[g]
        fill[g] = start[g]
    for k in range(count):
        a, b = w.pair[k, 0], w.pair[k, 1]
        j = fill[a]
        fill[a] = j + 1
        while j > start[a] and w.pair[order[j - 1], 1] > b:
            order[j] = order[j - 1]
            j -= 1
        order[j] = k
