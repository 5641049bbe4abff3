"""Scalar rows of constraints as terms of the problem: the operations of `terms`.

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
from convex_contact.solver.blocks import add_outer, add_row, row_times
from convex_contact.solver.delassus import row_delassus
from convex_contact.solver.pattern import Couplings


@njit(error_model="numpy", _nrt=False, cache=True)
def jacobian_times(dof_start: np.ndarray, J: np.ndarray, j: int, a: int, b: int, v: np.ndarray) -> float:
    """J v of one constraint row."""
    s, m = dof_start[a], dof_start[a + 1] - dof_start[a]
    total = row_times(J, j, v, s, m)
    if b >= 0:
        s, k = dof_start[b], dof_start[b + 1] - dof_start[b]
        total += row_times(J, j + m, v, s, k)
    return total


@njit(error_model="numpy", _nrt=False, cache=True)
def mark_near_rigid(w: Any) -> None:
    """Marks in `touched` the cliques whose inverse masses near-rigid rows need."""
    row_parameters, row_a, row_b, touched = w.row_parameters, w.row_a, w.row_b, w.touched
    for i in range(w.nr):
        if row_parameters[i, ROW_NEAR_RIGID] > 0.0:
            touched[row_a[i]] = 1
            if row_b[i] >= 0:
                touched[row_b[i]] = 1


@njit(error_model="numpy", _nrt=False, cache=True)
def prepare_terms(w: Any) -> None:
    """Computes the compliances with their near-rigid limits; marks cliques in `touched`."""
    touched = w.touched
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


@njit(inline="always")  # no compilation and linking of its own
def couplings_of(w: Any) -> Couplings:
    """Returns the cliques that the rows couple."""
    return Couplings(w.nr, w.row_a, w.row_b, w.row_order, True, w.row_slot, w.row_order, w.island_rows)


@njit(error_model="numpy", _nrt=False, cache=True)
def update(w: Any, island: int) -> None:
    """Computes s and gamma of an island from v."""
    dof_start, v, row_order, row_s, row_parameters = w.dof_start, w.v, w.row_order, w.row_s, w.row_parameters
    for x in range(w.island_rows[island], w.island_rows[island + 1]):
        i = row_order[x]
        velocity = jacobian_times(dof_start, w.row_J, w.row_J_start[i], w.row_a[i], w.row_b[i], v)
        row_s[i] = row_parameters[i, ROW_BIAS] + velocity
        y = (row_parameters[i, ROW_TARGET] - row_s[i]) / w.row_compliance[i]
        w.row_gamma[i] = min(max(y, row_parameters[i, ROW_LOWER]), row_parameters[i, ROW_UPPER])


@njit(error_model="numpy", _nrt=False, cache=True)
def add_momentum(w: Any, island: int) -> None:
    """Adds J^T gamma to j."""
    dof_start, j, row_gamma, island_rows = w.dof_start, w.j, w.row_gamma, w.island_rows
    row_a, row_b, row_J, row_J_start, row_order = w.row_a, w.row_b, w.row_J, w.row_J_start, w.row_order
    for x in range(island_rows[island], island_rows[island + 1]):
        i = row_order[x]
        a, b, o = row_a[i], row_b[i], row_J_start[i]
        m = dof_start[a + 1] - dof_start[a]
        add_row(row_J, o, row_gamma[i], j, dof_start[a], m)
        if b >= 0:
            add_row(row_J, o + m, row_gamma[i], j, dof_start[b], dof_start[b + 1] - dof_start[b])


@njit(error_model="numpy", _nrt=False, cache=True)
def add_rounding(w: Any, island: int) -> None:
    """Adds to `dv` what rounding of v does to J^T gamma: |J|^T (|gamma| + (|J| |v| + |b| + |v^|)/R)."""
    dof_start, v, bound = w.dof_start, w.v, w.dv
    row_order, row_a, row_b, row_J, row_J_start = w.row_order, w.row_a, w.row_b, w.row_J, w.row_J_start
    for x in range(w.island_rows[island], w.island_rows[island + 1]):
        i = row_order[x]
        a, b = row_a[i], row_b[i]
        u = abs(w.row_parameters[i, ROW_BIAS]) + abs(w.row_parameters[i, ROW_TARGET])
        for side in range(2):
            c = a if side == 0 else b
            o = row_J_start[i] if side == 0 else row_J_start[i] + dof_start[a + 1] - dof_start[a]
            if c >= 0:
                for k in range(dof_start[c + 1] - dof_start[c]):
                    u += abs(row_J[o + k] * v[dof_start[c] + k])
        g = abs(w.row_gamma[i]) + u / w.row_compliance[i]
        for side in range(2):
            c = a if side == 0 else b
            o = row_J_start[i] if side == 0 else row_J_start[i] + dof_start[a + 1] - dof_start[a]
            if c >= 0:
                for k in range(dof_start[c + 1] - dof_start[c]):
                    bound[dof_start[c] + k] += abs(row_J[o + k]) * g


@njit(error_model="numpy", _nrt=False, cache=True)
def add_hessian(w: Any, island: int) -> None:
    """Adds J^T G J to the blocks of H."""
    dof_start, H, diagonal_block, entry_block, position = w.dof_start, w.H, w.diagonal_block, w.entry_block, w.position
    row_a, row_b, row_J, row_J_start, row_order = w.row_a, w.row_b, w.row_J, w.row_J_start, w.row_order
    row_s, row_parameters, row_compliance, row_slot = w.row_s, w.row_parameters, w.row_compliance, w.row_slot
    island_rows = w.island_rows
    for x in range(island_rows[island], island_rows[island + 1]):
        i = row_order[x]
        y = (row_parameters[i, ROW_TARGET] - row_s[i]) / row_compliance[i]
        if y <= row_parameters[i, ROW_LOWER] or y >= row_parameters[i, ROW_UPPER]:
            continue
        g = 1.0 / row_compliance[i]
        a, b, o = row_a[i], row_b[i], row_J_start[i]
        m = dof_start[a + 1] - dof_start[a]
        add_outer(H, diagonal_block[position[a]], g, row_J, o, m, o, m)
        if b >= 0:
            ob, mb = o + m, dof_start[b + 1] - dof_start[b]
            add_outer(H, diagonal_block[position[b]], g, row_J, ob, mb, ob, mb)
            h = entry_block[row_slot[i] >> 1]
            if row_slot[i] & 1 == 0:
                add_outer(H, h, g, row_J, o, m, ob, mb)
            else:
                add_outer(H, h, g, row_J, ob, mb, o, m)


@njit(error_model="numpy", _nrt=False, cache=True)
def keep_branches(w: Any, island: int) -> bool:
    """Whether J^T G J of an island that is one tree with branches has their zeros: each row acts along one path."""
    dof_start, row_order, row_a, row_J, row_J_start, parent = (
        w.dof_start, w.row_order, w.row_a, w.row_J, w.row_J_start, w.dof_parent
    )  # fmt: skip
    for x in range(w.island_rows[island], w.island_rows[island + 1]):
        i = row_order[x]
        s, o = dof_start[row_a[i]], row_J_start[i]
        begun, following = False, -1  # the next velocity on the way to the root
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
    """Computes J dv."""
    dof_start, dv, row_ds, row_order, island_rows = w.dof_start, w.dv, w.row_ds, w.row_order, w.island_rows
    for x in range(island_rows[island], island_rows[island + 1]):
        i = row_order[x]
        row_ds[i] = jacobian_times(dof_start, w.row_J, w.row_J_start[i], w.row_a[i], w.row_b[i], dv)


@njit(error_model="numpy", _nrt=False, cache=True)
def subtract_slope(w: Any, island: int, alpha: float, curved: bool, f: float, h: float) -> tuple[float, float]:
    """Computes gamma at v + alpha dv; returns f less its part of l'(alpha), and h plus that of l''(alpha)."""
    row_s, row_ds, row_gamma, row_order, island_rows = w.row_s, w.row_ds, w.row_gamma, w.row_order, w.island_rows
    row_parameters, row_compliance = w.row_parameters, w.row_compliance
    for x in range(island_rows[island], island_rows[island + 1]):
        i = row_order[x]
        y = (row_parameters[i, ROW_TARGET] - row_s[i] - alpha * row_ds[i]) / row_compliance[i]
        if row_parameters[i, ROW_LOWER] < y < row_parameters[i, ROW_UPPER]:
            h += row_ds[i] * row_ds[i] / row_compliance[i]
        row_gamma[i] = min(max(y, row_parameters[i, ROW_LOWER]), row_parameters[i, ROW_UPPER])
        f -= row_ds[i] * row_gamma[i]
    return f, h


@njit(error_model="numpy", _nrt=False, cache=True)
def advance(w: Any, island: int, alpha: float) -> None:
    """Moves s by alpha J dv."""
    row_s, row_ds, row_order, island_rows = w.row_s, w.row_ds, w.row_order, w.island_rows
    for x in range(island_rows[island], island_rows[island + 1]):
        row_s[row_order[x]] += alpha * row_ds[row_order[x]]
