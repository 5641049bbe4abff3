"""H = A + J^T G J by blocks, its Cholesky factor, and solutions with the factor."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from convex_contact.solver import terms
from convex_contact.solver.block_cholesky import BlockPattern, eliminate, solve_backward, solve_forward
from convex_contact.solver.branches import branches_of, copy_branches, factorise_branches, solve_branches
from convex_contact.solver.island_states import ACTIVE, EPS
from convex_contact.solver.masses import load_mass

_U = np.uintp


@njit(error_model="numpy", _nrt=False, cache=True)
def _is_branched(w: Any, island: int) -> bool:
    """Returns whether an island is one branched tree whose H has the zeros of the branches."""
    first = w.island_start[island]
    if w.island_start[island + 1] - first != 1 or w.clique_branched[w.order[first]] == 0:
        return False
    return bool(terms.keep_branches(w, island))


@njit(inline="always")
def _pattern(w: Any) -> BlockPattern:
    """Returns the pattern of the cliques' blocks of H."""
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
        w.island_branched[island] = 1 if _is_branched(w, island) else 0
        _load_masses(w, island)
        terms.add_hessian(w, island)
        if w.island_branched[island] != 0:
            _eliminate_tree(w, island)
        else:
            _eliminate(w, island)
        factor[island] = 1
        w.factorizations += 1


@njit(error_model="numpy", _nrt=False, cache=True)
def _load_masses(w: Any, island: int) -> None:
    """Initialises H of an island with A: the cliques' diagonal blocks, and zeros for their couplings."""
    H, order, diagonal_block = w.H, w.order, w.diagonal_block
    first, end = w.island_start[island], w.island_start[island + 1]
    if w.island_branched[island] == 0:  # otherwise only entries along paths are read
        for k in range(_U(diagonal_block[first]), _U(diagonal_block[end])):
            H[k] = 0.0
    for p in range(first, end):
        load_mass(w, order[p], diagonal_block[p])


@njit(error_model="numpy", _nrt=False, cache=True)
def _set_floor(w: Any, island: int) -> None:
    """Computes the least pivots of an island: the rounding of H's diagonal, but at most A's diagonal."""
    dof_start, A_start, A, order = w.dof_start, w.A_start, w.A, w.order
    diagonal_block, H, floor = w.diagonal_block, w.H, w.floor
    for p in range(w.island_start[island], w.island_start[island + 1]):
        c = order[p]
        s, m, h, o = dof_start[c], dof_start[c + 1] - dof_start[c], diagonal_block[p], A_start[c]
        for k in range(m):
            floor[s + k] = min(8.0 * EPS * H[h + k * m + k], A[o + k * m + k])


@njit(error_model="numpy", _nrt=False, cache=True)
def _eliminate(w: Any, island: int) -> None:
    """Factorises H = U^T U of an island."""
    _set_floor(w, island)
    eliminate(_pattern(w), w.island_start[island], w.island_start[island + 1], w.H, w.L, w.floor)


@njit(error_model="numpy", _nrt=False, cache=True)
def _eliminate_tree(w: Any, island: int) -> None:
    """Factorises H = L^T D L of an island that is one tree."""
    first = w.island_start[island]
    c = w.order[first]
    s, end, o = w.dof_start[c], w.dof_start[c + 1], w.A_start[c]
    _set_floor(w, island)
    n = end - s
    copy_branches(w.H, w.diagonal_block[first], (1, n), w.L, o, (n, 1), branches_of(w), s, end)
    factorise_branches(w.L, o, n, branches_of(w), s, end, w.floor)


@njit(error_model="numpy", _nrt=False, cache=True)
def solve_island(w: Any, island: int, x: np.ndarray) -> None:
    """Solves x <- H^-1 x for the velocities of one island, with its last factor."""
    first, end, pattern = w.island_start[island], w.island_start[island + 1], _pattern(w)
    if w.island_branched[island] != 0:
        c = w.order[first]
        s, t = w.dof_start[c], w.dof_start[c + 1]
        solve_branches(w.L, w.A_start[c], t - s, branches_of(w), s, t, x)
        return
    solve_forward(pattern, first, end, w.H, w.L, x)
    solve_backward(pattern, first, end, w.H, w.L, x)


@njit(error_model="numpy", _nrt=False, cache=True)
def find_direction(w: Any) -> None:
    """Computes the Newton direction dv = -H^-1 r of the active islands."""
    dof_start, order, island_start, state, dv, r = w.dof_start, w.order, w.island_start, w.island_state, w.dv, w.r
    for island in range(w.islands):
        if state[island] != ACTIVE:
            continue
        for p in range(island_start[island], island_start[island + 1]):
            c = order[p]
            for k in range(dof_start[c], dof_start[c + 1]):
                dv[k] = -r[k]
        solve_island(w, island, dv)
