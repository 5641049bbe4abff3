"""H = A + J^T G J by blocks, its Cholesky factor, and solutions with it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from convex_contact.solver import terms
from convex_contact.solver.block_cholesky import BlockPattern, eliminate, solve_backward, solve_forward
from convex_contact.solver.island_states import ACTIVE, EPS

_U = np.uintp


@njit(inline="always")
def _pattern(w: Any) -> BlockPattern:
    """The cliques' blocks of H."""
    return BlockPattern(
        w.order, w.dof_start, w.A_start, w.entry_start, w.entry_column, w.entry_block, w.diagonal_block,
        w.update_start, w.update_block,
    )  # fmt: skip


@njit(error_model="numpy", _nrt=False, cache=True)
def factorise(w: Any) -> None:
    """Computes H and its factor for the active islands whose factor is out of date."""
    state, factor = w.island_state, w.island_factor
    for island in range(w.islands):
        if state[island] != ACTIVE or factor[island] != 0:
            continue
        _load_masses(w, island)
        terms.add_hessian(w, island)
        _eliminate(w, island)
        factor[island] = 1
        w.factorizations += 1


@njit(error_model="numpy", _nrt=False, cache=True)
def _load_masses(w: Any, island: int) -> None:
    """H <- A for the cliques of an island, without couplings."""
    dof_start, A_start, A, order = w.dof_start, w.A_start, w.A, w.order
    H, diagonal_block = w.H, w.diagonal_block
    first, end = w.island_start[island], w.island_start[island + 1]
    for k in range(_U(diagonal_block[first]), _U(diagonal_block[end])):
        H[k] = 0.0
    for p in range(first, end):
        c = order[p]
        m = dof_start[c + 1] - dof_start[c]
        o, h = _U(A_start[c]), _U(diagonal_block[p])
        for k in range(_U(m * m)):
            H[h + k] = A[o + k]


@njit(error_model="numpy", _nrt=False, cache=True)
def _eliminate(w: Any, island: int) -> None:
    """H = U^T U for an island; pivots below the rounding of H are replaced by those of A."""
    dof_start, A_start, A, order = w.dof_start, w.A_start, w.A, w.order
    diagonal_block, H, floor = w.diagonal_block, w.H, w.floor
    first, end = w.island_start[island], w.island_start[island + 1]
    for p in range(first, end):
        c = order[p]
        s, m, h, o = dof_start[c], dof_start[c + 1] - dof_start[c], diagonal_block[p], A_start[c]
        for k in range(m):
            floor[s + k] = min(8.0 * EPS * H[h + k * m + k], A[o + k * m + k])
    eliminate(_pattern(w), first, end, H, w.L, floor)


@njit(error_model="numpy", _nrt=False, cache=True)
def solve_island(w: Any, island: int, x: np.ndarray) -> None:
    """x <- H^-1 x for the velocities of one island, with its last factor."""
    first, end, pattern = w.island_start[island], w.island_start[island + 1], _pattern(w)
    solve_forward(pattern, first, end, w.H, w.L, x)
    solve_backward(pattern, first, end, w.H, w.L, x)


@njit(error_model="numpy", _nrt=False, cache=True)
def find_direction(w: Any) -> None:
    """dv = -H^-1 r of the active islands."""
    dof_start, order, island_start, state, dv, r = w.dof_start, w.order, w.island_start, w.island_state, w.dv, w.r
    for island in range(w.islands):
        if state[island] != ACTIVE:
            continue
        for p in range(island_start[island], island_start[island + 1]):
            c = order[p]
            for k in range(dof_start[c], dof_start[c + 1]):
                dv[k] = -r[k]
        solve_island(w, island, dv)
