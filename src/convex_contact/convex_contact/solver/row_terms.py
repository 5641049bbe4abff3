"""Scalar rows of constraints as terms of the problem: the functions of `terms`.

A row of velocity s = J v + b has the impulse gamma = clamp((v^ - s)/R, lower, upper).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from convex_contact.problem.contact_kernels import (
    ROW_BIAS,
    ROW_COMPLIANCE,
    ROW_LOWER,
    ROW_NEAR_RIGID,
    ROW_TARGET,
    ROW_UPPER,
)
from convex_contact.problem.near_rigid import near_rigid_compliance
from convex_contact.problem.row_law import row_hessian, row_impulse
from convex_contact.solver.blocks import add_outer, add_row, row_times
from convex_contact.solver.delassus import row_delassus
from convex_contact.solver.pattern import Couplings

_U = np.uintp


@njit(error_model="numpy", forceinline=True, _nrt=False, cache=True)
def _find_span(w: Any, i: int, side: int, clique: int, start: int) -> None:
    """Finds the range of nonzero entries of a side of row i; the side's entries begin at offset `start`."""
    J, first, end, at = w.row_J, _U(0), _U(0), _U(start)
    if clique >= 0:
        end = _U(w.dof_start[clique + 1] - w.dof_start[clique])
        while first < end and J[at + first] == 0.0:
            first += _U(1)
        while end > first and J[at + end - _U(1)] == 0.0:
            end -= _U(1)
        w.row_velocity[i, side] = w.dof_start[clique] + np.int64(first)
    w.row_first[i, side], w.row_count[i, side] = start + np.int64(first), np.int64(end - first)


@njit(error_model="numpy", forceinline=True, _nrt=False, cache=True)
def _jacobian_times(w: Any, i: int, v: np.ndarray) -> float:
    """Returns J v of row i [m/s]."""
    J, first, velocity, count = w.row_J, w.row_first, w.row_velocity, w.row_count
    total = row_times(J, first[i, 0], v, velocity[i, 0], count[i, 0])
    if count[i, 1] != 0:
        total += row_times(J, first[i, 1], v, velocity[i, 1], count[i, 1])
    return total


@njit(error_model="numpy", _nrt=False, cache=True)
def mark_needed_masses(w: Any) -> None:
    """Marks in `touched` the cliques whose inverse masses near-rigid rows need."""
    row_parameters, row_a, row_b, touched = w.row_parameters, w.row_a, w.row_b, w.touched
    for i in range(w.nr):
        if row_parameters[i, ROW_NEAR_RIGID] > 0.0:
            touched[row_a[i]] = 1
            if row_b[i] >= 0:
                touched[row_b[i]] = 1


@njit(error_model="numpy", _nrt=False, cache=True)
def prepare_terms(w: Any) -> None:
    """Computes compliances with their near-rigid limits and the ranges of nonzero entries; marks the rows' cliques."""
    touched, dof_start, row_J_start = w.touched, w.dof_start, w.row_J_start
    row_parameters, row_compliance, row_a, row_b = w.row_parameters, w.row_compliance, w.row_a, w.row_b
    for i in range(w.nr):
        a, b = row_a[i], row_b[i]
        touched[a] = 1
        if b >= 0:
            touched[b] = 1
        R, near = row_parameters[i, ROW_COMPLIANCE], row_parameters[i, ROW_NEAR_RIGID]
        if near > 0.0:
            R = max(R, near_rigid_compliance(near, row_delassus(w, i)))
        row_compliance[i] = R
        _find_span(w, i, 0, a, row_J_start[i])
        _find_span(w, i, 1, b, row_J_start[i] + dof_start[a + 1] - dof_start[a])


@njit(inline="always")  # no compilation and linking of its own
def couplings_of(w: Any) -> Couplings:
    """Returns the couplings of cliques by the rows."""
    return Couplings(w.nr, w.row_a, w.row_b, w.row_order, True, w.row_slot, w.row_order, w.island_rows)


@njit(error_model="numpy", _nrt=False, cache=True)
def update(w: Any, island: int) -> None:
    """Computes s and gamma of an island from v."""
    v, row_order, row_s, p = w.v, w.row_order, w.row_s, w.row_parameters
    for x in range(w.island_rows[island], w.island_rows[island + 1]):
        i = row_order[x]
        row_s[i] = p[i, ROW_BIAS] + _jacobian_times(w, i, v)
        w.row_gamma[i] = row_impulse(row_s[i], p[i, ROW_TARGET], w.row_compliance[i], p[i, ROW_LOWER], p[i, ROW_UPPER])


@njit(error_model="numpy", _nrt=False, cache=True)
def add_momentum(w: Any, island: int) -> None:
    """Adds J^T gamma of an island to j."""
    j, row_gamma, island_rows, row_J, row_order = w.j, w.row_gamma, w.island_rows, w.row_J, w.row_order
    first, velocity, count = w.row_first, w.row_velocity, w.row_count
    for x in range(island_rows[island], island_rows[island + 1]):
        i = row_order[x]
        for side in range(2):
            add_row(row_J, first[i, side], row_gamma[i], j, velocity[i, side], count[i, side])


@njit(error_model="numpy", _nrt=False, cache=True)
def add_rounding(w: Any, island: int) -> None:
    """Adds the effect of rounding of v on J^T gamma to `dv`: |J|^T (|gamma| + (|J| |v| + |b| + |v^|)/R)."""
    v, bound, row_order, row_J = w.v, w.dv, w.row_order, w.row_J
    first, velocity, count = w.row_first, w.row_velocity, w.row_count
    for x in range(w.island_rows[island], w.island_rows[island + 1]):
        i = row_order[x]
        u = abs(w.row_parameters[i, ROW_BIAS]) + abs(w.row_parameters[i, ROW_TARGET])
        for side in range(2):
            for k in range(count[i, side]):
                u += abs(row_J[first[i, side] + k] * v[velocity[i, side] + k])
        g = abs(w.row_gamma[i]) + u / w.row_compliance[i]
        for side in range(2):
            for k in range(count[i, side]):
                bound[velocity[i, side] + k] += abs(row_J[first[i, side] + k]) * g


@njit(error_model="numpy", _nrt=False, cache=True)
def add_hessian(w: Any, island: int) -> None:
    """Adds J^T G J of an island to the blocks of H."""
    diagonal_block, entry_block, position = w.diagonal_block, w.entry_block, w.position
    row_a, row_b, row_order, island_rows = w.row_a, w.row_b, w.row_order, w.island_rows
    row_s, p, R, row_slot = w.row_s, w.row_parameters, w.row_compliance, w.row_slot
    for x in range(island_rows[island], island_rows[island + 1]):
        i = row_order[x]
        g = row_hessian(row_s[i], p[i, ROW_TARGET], R[i], p[i, ROW_LOWER], p[i, ROW_UPPER])
        if g == 0.0:
            continue
        b = row_b[i]
        _add_block(w, diagonal_block[position[row_a[i]]], g, i, 0, 0)
        if b >= 0:
            _add_block(w, diagonal_block[position[b]], g, i, 1, 1)
            order = row_slot[i] & 1
            _add_block(w, entry_block[row_slot[i] >> 1], g, i, order, 1 - order)


@njit(error_model="numpy", forceinline=True, _nrt=False, cache=True)
def _add_block(w: Any, h: int, g: float, i: int, rows: int, columns: int) -> None:
    """Adds g J^T J of two sides of row i to the block of H at h; if the sides are the same, to its upper half."""
    dof_start, first, velocity, count = w.dof_start, w.row_first, w.row_velocity, w.row_count
    a = w.row_a[i] if rows == 0 else w.row_b[i]
    b = w.row_a[i] if columns == 0 else w.row_b[i]
    width = dof_start[b + 1] - dof_start[b]
    at = h + (velocity[i, rows] - dof_start[a]) * width + velocity[i, columns] - dof_start[b]
    add_outer(w.H, at, width, g, w.row_J, first[i, rows], count[i, rows], first[i, columns], count[i, columns])


@njit(error_model="numpy", _nrt=False, cache=True)
def keep_branches(w: Any, island: int) -> bool:
    """Returns whether J^T G J of an island that is one branched tree keeps its zeros: each row acts along one path."""
    dof_start, row_order, row_a, row_J, row_J_start, parent = (
        w.dof_start, w.row_order, w.row_a, w.row_J, w.row_J_start, w.dof_parent
    )  # fmt: skip
    for x in range(w.island_rows[island], w.island_rows[island + 1]):
        i = row_order[x]
        s, o = dof_start[row_a[i]], row_J_start[i]
        begun, following = False, -1  # following: next velocity on the path to the root
        for back in range(dof_start[row_a[i] + 1] - s):
            k = dof_start[row_a[i] + 1] - 1 - back
            if k == following:
                following = parent[k]
            elif row_J[o + k - s] != 0.0:
                if begun:
                    return False
                begun, following = True, parent[k]
    return True


@njit(error_model="numpy", _nrt=False, cache=True)
def project(w: Any, island: int) -> None:
    """Computes J dv of an island."""
    dv, row_ds, row_order, island_rows = w.dv, w.row_ds, w.row_order, w.island_rows
    for x in range(island_rows[island], island_rows[island + 1]):
        i = row_order[x]
        row_ds[i] = _jacobian_times(w, i, dv)


@njit(error_model="numpy", _nrt=False, cache=True)
def subtract_slope(w: Any, island: int, alpha: float, curved: bool, f: float, h: float) -> tuple[float, float]:
    """Computes gamma at v + alpha dv; adds its parts of l'(alpha) to f and of l''(alpha) to h."""
    row_s, row_ds, row_gamma, row_order, island_rows = w.row_s, w.row_ds, w.row_gamma, w.row_order, w.island_rows
    p, R = w.row_parameters, w.row_compliance
    for x in range(island_rows[island], island_rows[island + 1]):
        i = row_order[x]
        change, target = alpha * row_ds[i], p[i, ROW_TARGET] - row_s[i]  # of the velocity; target relative to s
        gamma = row_impulse(change, target, R[i], p[i, ROW_LOWER], p[i, ROW_UPPER])
        if p[i, ROW_LOWER] < gamma < p[i, ROW_UPPER]:
            h += row_ds[i] * row_ds[i] / R[i]
        row_gamma[i] = gamma
        f -= row_ds[i] * gamma
    return f, h


@njit(error_model="numpy", _nrt=False, cache=True)
def advance(w: Any, island: int, alpha: float) -> None:
    """Adds alpha J dv to s of an island."""
    row_s, row_ds, row_order, island_rows = w.row_s, w.row_ds, w.row_order, w.island_rows
    for x in range(island_rows[island], island_rows[island + 1]):
        row_s[row_order[x]] += alpha * row_ds[row_order[x]]


@njit(inline="always")  # no compilation and linking of its own
def wake(w: Any) -> bool:
    """Returns False: no row is ever idle."""
    return False


@njit(inline="always")
def soften(w: Any, island: int, level: float) -> int:
    """Returns 0: rows are linear between their bounds, and keep their compliance."""
    return 0


@njit(inline="always")
def start_hessian(w: Any, island: int) -> None:
    """Does nothing: G of a row is always the Hessian."""
