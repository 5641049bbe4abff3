"""Branch-induced sparsity of articulated trees, compiled: factors, and Jacobians of points that move with one link.

The velocities of an articulated tree are numbered from the root on. The *path* of a velocity is itself and its
ancestors up to the root. A link moves with the velocities of one path, and masses couple two velocities only if one
lies on the path of the other. So a matrix A + J^T G J of such Jacobians J keeps the zeros of the branches, and
A = L^T D L has no fill-in (Featherstone, Rigid Body Dynamics Algorithms, 2008, section 6.5).

A path is a few *runs* of successive velocities. A Jacobian on a path has its columns run by run, the last run first,
and ascending within each. A Jacobian on a whole clique, which has -1 as last velocity, is a single run.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from convex_contact.problem.contact_kernels import Response

_U = np.uintp


class Branches(NamedTuple):
    """Order of the velocities of trees along their paths.

    Attributes:
        parent: velocity before each one on its path, -1: none (nv,).
        run: first velocity of the run that leads to each one on its path (nv,).
        depth: number of velocities on the path of each one (nv,).
    """

    parent: np.ndarray
    run: np.ndarray
    depth: np.ndarray


@njit(inline="always")  # no compilation and linking of its own
def branches_of(w: Any) -> Branches:
    """Returns the branches of a workspace or of a world."""
    return Branches(w.dof_parent, w.dof_run, w.dof_depth)


class Side(NamedTuple):
    """Velocities of the columns of a contact's Jacobian for one of its two bodies.

    Attributes:
        start: first velocity of the clique.
        size: number of velocities of the clique.
        last: last velocity of the path; -1: the whole clique.
        columns: number of columns.
    """

    start: int
    size: int
    last: int
    columns: int


@njit(error_model="numpy", forceinline=True, _nrt=False, cache=True)
def side_of(dof_start: np.ndarray, branches: Branches, clique: int, last: int) -> Side:
    """Returns the side of a clique on the path up to the velocity `last`, or with all velocities if it is -1."""
    start = dof_start[clique]
    size = dof_start[clique + 1] - start
    return Side(start, size, last, size if last < 0 else branches.depth[last])


@njit(error_model="numpy", forceinline=True, _nrt=False, cache=True)
def last_velocity(side: Side) -> int:
    """Returns the last velocity of the last run."""
    return side.start + side.size - 1 if side.last < 0 else side.last


@njit(error_model="numpy", forceinline=True, _nrt=False, cache=True)
def _first(side: Side, branches: Branches, k: int) -> int:
    """Returns the first velocity of the run that ends with k."""
    return side.start if side.last < 0 else branches.run[k]


@njit(error_model="numpy", forceinline=True, _nrt=False, cache=True)
def _before(side: Side, branches: Branches, first: int) -> int:
    """Returns the last velocity of the run before the one that begins with `first`, -1: none."""
    return -1 if side.last < 0 else branches.parent[first]


@njit(error_model="numpy", _nrt=False, cache=True)
def unpack_path(
    J: np.ndarray, j: int, side: Side, branches: Branches, y1: np.ndarray, y2: np.ndarray, y3: np.ndarray
) -> None:
    """Writes the three rows of J at offset j to the velocities of the side's clique (nv,), with zeros off its path."""
    n, a, k = side.columns, j, last_velocity(side)
    if side.last >= 0:
        for i in range(side.start, side.start + side.size):
            y1[i] = y2[i] = y3[i] = 0.0
    while k >= 0:
        first = _first(side, branches, k)
        for i in range(first, k + 1):
            y1[i], y2[i], y3[i] = J[a], J[a + n], J[a + 2 * n]
            a += 1
        k = _before(side, branches, first)


def side_columns(dof_start: np.ndarray, branches: Branches, clique: int, last: int) -> np.ndarray:
    """Returns the velocities of a side's columns, in the order of the columns."""
    if last < 0:
        return np.arange(dof_start[clique], dof_start[clique + 1])
    columns: list[int] = []
    while last >= 0:
        columns += range(branches.run[last], last + 1)
        last = int(branches.parent[branches.run[last]])
    return np.array(columns)


@njit(error_model="numpy", _nrt=False, cache=True)
def path_times(J: np.ndarray, j: int, x: np.ndarray, side: Side, branches: Branches) -> tuple[float, float, float]:
    """Returns the three components of J x, for J (3, columns) at offset j."""
    n, a = _U(side.columns), _U(j)
    b, c = a + n, a + _U(2) * n
    t1 = t2 = t3 = 0.0
    k = last_velocity(side)
    while k >= 0:
        first = _first(side, branches, k)
        for i in range(_U(first), _U(k + 1)):
            value = x[i]
            t1, t2, t3 = t1 + J[a] * value, t2 + J[b] * value, t3 + J[c] * value
            a, b, c = a + _U(1), b + _U(1), c + _U(1)
        k = _before(side, branches, first)
    return t1, t2, t3


@njit(error_model="numpy", _nrt=False, cache=True)
def add_path(
    J: np.ndarray, j: int, u: float, v: float, w: float, x: np.ndarray, side: Side, branches: Branches
) -> None:
    """Adds J^T (u, v, w) to x, for J (3, columns) at offset j."""
    n, a = _U(side.columns), _U(j)
    k = last_velocity(side)
    while k >= 0:
        first = _first(side, branches, k)
        for i in range(_U(first), _U(k + 1)):
            x[i] += u * J[a] + v * J[a + n] + w * J[a + _U(2) * n]
            a += _U(1)
        k = _before(side, branches, first)


@njit(error_model="numpy", _nrt=False, cache=True)
def add_path_sizes(
    J: np.ndarray, j: int, u: float, v: float, w: float, x: np.ndarray, side: Side, branches: Branches
) -> None:
    """Adds |J|^T (u, v, w) to x, for J (3, columns) at offset j."""
    n, a, k = side.columns, j, last_velocity(side)
    while k >= 0:
        first = _first(side, branches, k)
        for i in range(first, k + 1):
            x[i] += abs(J[a]) * u + abs(J[a + n]) * v + abs(J[a + 2 * n]) * w
            a += 1
        k = _before(side, branches, first)


@njit(error_model="numpy", _nrt=False, cache=True)
def path_times_sizes(
    J: np.ndarray, j: int, x: np.ndarray, side: Side, branches: Branches
) -> tuple[float, float, float]:
    """Returns the three components of |J| |x|, for J (3, columns) at offset j."""
    n, a, k = side.columns, j, last_velocity(side)
    t1 = t2 = t3 = 0.0
    while k >= 0:
        first = _first(side, branches, k)
        for i in range(first, k + 1):
            t1, t2, t3 = t1 + abs(J[a] * x[i]), t2 + abs(J[a + n] * x[i]), t3 + abs(J[a + 2 * n] * x[i])
            a += 1
        k = _before(side, branches, first)
    return t1, t2, t3


@njit(error_model="numpy", _nrt=False, cache=True)
def add_path_congruence(
    D: np.ndarray, h: int, J: np.ndarray, a: int, rows: Side, b: int, columns: Side, G: Response, branches: Branches
) -> None:
    """Adds Ja^T G Jb to H (rows.size, columns.size) at h of D; if a = b, to its upper half."""
    na, nb, width, ua = _U(rows.columns), _U(columns.columns), _U(columns.size), _U(a)
    k = last_velocity(rows)
    while k >= 0:
        first = _first(rows, branches, k)
        for i in range(first, k + 1):
            x, y, z = J[ua], J[ua + na], J[ua + _U(2) * na]
            ua += _U(1)
            u = G.h11 * x + G.h12 * y + G.h1n * z
            v = G.h12 * x + G.h22 * y + G.h2n * z
            w = G.h1n * x + G.h2n * y + G.hnn * z
            row = _U(h) + _U(i - rows.start) * width
            ub, m = _U(b), last_velocity(columns)
            least = i if a == b else 0
            while m >= least:
                begin = _first(columns, branches, m)
                for c in range(_U(max(begin, least)), _U(m + 1)):
                    at = ub + c - _U(begin)
                    D[row + c - _U(columns.start)] += u * J[at] + v * J[at + nb] + w * J[at + _U(2) * nb]
                ub += _U(m + 1 - begin)
                m = _before(columns, branches, begin)
        k = _before(rows, branches, first)


@njit(error_model="numpy", _nrt=False, cache=True)
def copy_branches(
    A: np.ndarray, a: int, A_steps: tuple[int, int], B: np.ndarray, b: int, B_steps: tuple[int, int],
    branches: Branches, base: int, end: int,
) -> None:  # fmt: skip
    """Copies the entries along the paths of the velocities base .. end - 1.

    Entry (k, i), i on the path of k, lies at a + k A_steps[0] + i A_steps[1], with k and i counted from base. Steps
    (n, 1) give the lower half of rows of n numbers, steps (1, n) the upper half.
    """
    parent, run = branches.parent, branches.run
    for k in range(base, end):
        source, target, j = a + (k - base) * A_steps[0], b + (k - base) * B_steps[0], k
        while j >= 0:
            for i in range(_U(run[j] - base), _U(j - base + 1)):
                B[_U(target) + i * _U(B_steps[1])] = A[_U(source) + i * _U(A_steps[1])]
            j = parent[run[j]]


@njit(error_model="numpy", _nrt=False, cache=True)
def negative_branch_product(
    A: np.ndarray, a: int, branches: Branches, base: int, end: int, x: np.ndarray, y: np.ndarray
) -> None:
    """Computes y = -A x for the velocities base .. end - 1, from the lower half of A along their paths at offset a."""
    parent, run, n, first = branches.parent, branches.run, end - base, _U(base)
    for k in range(base, end):
        row, j = _U(a + (k - base) * n), parent[k]
        value, total = x[k], A[row + _U(k - base)] * x[k]
        while j >= 0:
            for i in range(_U(run[j] - base), _U(j - base + 1)):
                total += A[row + i] * x[first + i]
                y[first + i] -= A[row + i] * value
            j = parent[run[j]]
        y[k] = -total


@njit(error_model="numpy", _nrt=False, cache=True)
def add_branch_sizes(
    A: np.ndarray, a: int, branches: Branches, base: int, end: int, u: np.ndarray, v: np.ndarray, y: np.ndarray
) -> None:
    """Adds |A| (|u| + |v|) to y, for the velocities base .. end - 1 and A as in `negative_branch_product`."""
    parent, n = branches.parent, end - base
    for k in range(base, end):
        j = k
        while j >= 0:
            x = abs(A[a + (k - base) * n + j - base])
            y[k] += x * (abs(u[j]) + abs(v[j]))
            if j != k:
                y[j] += x * (abs(u[k]) + abs(v[k]))
            j = parent[j]


@njit(error_model="numpy", _nrt=False, cache=True)
def factorise_branches(
    L: np.ndarray, o: int, width: int, branches: Branches, base: int, end: int, floor: np.ndarray | None
) -> None:
    """Factorises A = L^T D L of the velocities base .. end - 1 in place, with D on the diagonal.

    Args:
        L: lower half of A at offset o, overwritten by L and D; only entries along paths are read.
        o: offset of the first entry.
        width: entries per row.
        branches: branches of the tree.
        base: first velocity.
        end: one after the last velocity.
        floor: least pivots (nv,), which replace smaller ones; None: no pivot is replaced.
    """
    parent, run = branches.parent, branches.run
    for back in range(end - base):
        k = end - 1 - back
        row = _U(o + (k - base) * width)
        if floor is not None and not L[row + _U(k - base)] > floor[k]:
            L[row + _U(k - base)] = floor[k]
        pivot = 1.0 / L[row + _U(k - base)]
        i = parent[k]
        while i >= 0:
            above = _U(o + (i - base) * width)
            factor = L[row + _U(i - base)] * pivot
            j = i
            while j >= 0:
                for x in range(_U(run[j] - base), _U(j - base + 1)):
                    L[above + x] -= factor * L[row + x]
                j = parent[run[j]]
            L[row + _U(i - base)] = factor
            i = parent[i]


@njit(error_model="numpy", _nrt=False, cache=True)
def solve_branches(L: np.ndarray, o: int, width: int, branches: Branches, base: int, end: int, x: np.ndarray) -> None:
    """Solves x[base:end] <- A^-1 x[base:end] with the factors of :func:`factorise_branches`."""
    parent, run, first = branches.parent, branches.run, _U(base)
    for back in range(end - base):
        k = end - 1 - back
        j, value, row = parent[k], x[k], _U(o + (k - base) * width)
        while j >= 0:
            for i in range(_U(run[j] - base), _U(j - base + 1)):
                x[first + i] -= L[row + i] * value
            j = parent[run[j]]
    for k in range(base, end):
        row = _U(o + (k - base) * width)
        j, value = parent[k], x[k] / L[row + _U(k - base)]
        while j >= 0:
            for i in range(_U(run[j] - base), _U(j - base + 1)):
                value -= L[row + i] * x[first + i]
            j = parent[run[j]]
        x[k] = value
