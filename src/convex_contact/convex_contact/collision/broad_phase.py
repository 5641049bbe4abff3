"""Broad phase: finds the pairs of geometries that are close enough for contact points.

Sweep and prune along the axis of the largest spread of the geometries. The order is kept from call to call, so that
sorting costs O(n). Large geometries (walls, tables) and half spaces would overlap with most others on any axis and are
compared with all. A bucket sort makes the list of pairs independent of the order of the search.

Each body has a margin m. A pair is listed while its distance may be less than min(threshold, mA + mB).
"""

from __future__ import annotations

import numpy as np
from numba import njit

from convex_contact.model.arrays import WorldRecord
from convex_contact.model.shapes import HALF_SPACE

#: indices of the world's counters
AXIS, PAIRS, NATIVE_POINTS, REQUIRED_PAIRS, REQUIRED_NATIVE, REQUIRED_CONTACTS, FAILED = range(7)
#: indices of the world's settings
THRESHOLD = 0
_KEEP_AXIS = 1.5  # ratio of spreads above which the sweep changes to another axis


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def place_geometries(w: WorldRecord) -> None:
    """Computes world poses and bounding boxes of all geometries from the poses of their bodies."""
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


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def _add(w: WorldRecord, a: int, b: int, reach: float) -> None:
    """Appends a pair of geometries, the smaller number first; skips a pair of one body, without trees, or disabled."""
    if a > b:
        a, b = b, a
    one, two = w.geometry_body[a], w.geometry_body[b]
    if one == two or (w.body_tree[one] < 0 and w.body_tree[two] < 0):
        return
    for i in range(w.disabled_start[a], w.disabled_start[a + 1]):
        if w.disabled_other[i] == b:
            return
    n = w.counters[REQUIRED_PAIRS]
    w.counters[REQUIRED_PAIRS] = n + 1
    if n < w.pair.shape[0]:
        w.pair[n, 0], w.pair[n, 1], w.pair_reach[n] = a, b, reach


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def _within_reach(bounds: np.ndarray, pose: np.ndarray, radius: np.ndarray, a: int, b: int, reach: float) -> bool:
    """Returns whether the bounding boxes and spheres of two finite geometries are less than `reach` apart."""
    square = 0.0
    for i in range(3):
        if bounds[a, i] - bounds[b, 3 + i] >= reach or bounds[b, i] - bounds[a, 3 + i] >= reach:
            return False
        d = pose[a, 9 + i] - pose[b, 9 + i]
        square += d * d
    far = radius[a] + radius[b] + reach
    return square < far * far


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def _spread(finite: np.ndarray, bounds: np.ndarray, axis: int) -> float:
    """Returns the spread of the lower ends of the finite geometries on an axis [m]."""
    low, high = np.inf, -np.inf
    for g in finite:
        low, high = min(low, bounds[g, axis]), max(high, bounds[g, axis])
    return high - low


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def _sorted_sweep(w: WorldRecord) -> int:
    """Chooses the axis and sorts the finite geometries by their lower ends, with margins, on it; returns the axis."""
    finite, bounds, margin = w.finite, w.geometry_bounds, w.body_margin
    n = finite.shape[0]
    axis = w.counters[AXIS]
    width = _spread(finite, bounds, axis)
    for i in range(3):
        other = _spread(finite, bounds, i)
        if other > _KEEP_AXIS * width:
            axis, width = i, other
    w.counters[AXIS] = axis
    for k in range(1, n):
        g = finite[k]
        key, j = bounds[g, axis] - margin[w.geometry_body[g]], k - 1
        while j >= 0 and bounds[finite[j], axis] - margin[w.geometry_body[finite[j]]] > key:
            finite[j + 1] = finite[j]
            j -= 1
        finite[j + 1] = g
    return axis


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def find_pairs(w: WorldRecord) -> None:
    """Fills ``pair``, ``pair_reach`` and ``pair_sorted``, and counts the pairs that are listed and required."""
    threshold, margin, body = w.settings[THRESHOLD], w.body_margin, w.geometry_body
    w.counters[REQUIRED_PAIRS] = 0
    finite, large, bounds, pose, radius = w.finite, w.large, w.geometry_bounds, w.geometry_pose, w.geometry_radius
    n, ends = finite.shape[0], w.sweep
    axis = _sorted_sweep(w)
    other, third = (axis + 1) % 3, (axis + 2) % 3
    # in the order of the sweep: ends with margins along the axis and along the two others, which reject most neighbours
    for k in range(n):
        g = finite[k]
        m = margin[body[g]]
        ends[k, 0], ends[k, 1], ends[k, 2], ends[k, 3], ends[k, 4], ends[k, 5] = (
            bounds[g, axis] - m, bounds[g, 3 + axis] + m, bounds[g, other] - m, bounds[g, 3 + other] + m,
            bounds[g, third] - m, bounds[g, 3 + third] + m,
        )  # fmt: skip
    for i in range(n):
        a = finite[i]
        m, end, low, high, bottom, top = margin[body[a]], ends[i, 1], ends[i, 2], ends[i, 3], ends[i, 4], ends[i, 5]
        for j in range(i + 1, n):
            if ends[j, 0] >= end:
                break
            if ends[j, 2] >= high or ends[j, 3] <= low or ends[j, 4] >= top or ends[j, 5] <= bottom:
                continue
            b = finite[j]
            reach = min(threshold, m + margin[body[b]])
            if _within_reach(bounds, pose, radius, a, b, reach):
                _add(w, a, b, reach)
        for b in large:
            reach = min(threshold, m + margin[body[b]])
            if _within_reach(bounds, pose, radius, a, b, reach):
                _add(w, a, b, reach)
    for i in range(large.shape[0]):
        for j in range(i + 1, large.shape[0]):
            reach = min(threshold, margin[body[large[i]]] + margin[body[large[j]]])
            if _within_reach(bounds, pose, radius, large[i], large[j], reach):
                _add(w, large[i], large[j], reach)
    for plane in w.planes:
        nx, ny, nz, own = pose[plane, 2], pose[plane, 5], pose[plane, 8], margin[body[plane]]
        offset = nx * pose[plane, 9] + ny * pose[plane, 10] + nz * pose[plane, 11]
        # the lowest corner of the bounding box along the normal
        x, y, z = (0 if nx >= 0 else 3), (1 if ny >= 0 else 4), (2 if nz >= 0 else 5)
        for i in range(n + large.shape[0]):
            g = finite[i] if i < n else large[i - n]
            reach = min(threshold, own + margin[body[g]])
            if nx * bounds[g, x] + ny * bounds[g, y] + nz * bounds[g, z] - offset < reach:
                _add(w, g, plane, reach)
    w.counters[PAIRS] = min(w.counters[REQUIRED_PAIRS], w.pair.shape[0])
    _sort_pairs(w)


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def _sort_pairs(w: WorldRecord) -> None:
    """Sorts the pairs by first and second geometry; writes the order to ``pair_sorted``."""
    count, start, fill, order, pair = w.counters[PAIRS], w.pair_start, w.pair_fill, w.pair_sorted, w.pair
    by_second = w.pair_second
    for column in (1, 0):  # stable counting sorts: a plane has a pair with every body near it
        start[:] = 0
        for k in range(count):
            start[pair[k, column] + 1] += 1
        for g in range(fill.shape[0]):
            start[g + 1] += start[g]
            fill[g] = start[g]
        for x in range(count):
            k = x if column == 1 else by_second[x]
            g = pair[k, column]
            if column == 1:
                by_second[fill[g]] = k
            else:
                order[fill[g]] = k
            fill[g] += 1
