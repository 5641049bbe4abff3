"""Block Cholesky factorisation with a known pattern: the one elimination of the package, compiled.

A symmetric positive definite H consists of blocks between groups of variables. Groups are eliminated in the order of
their positions p: H = U^T U, where row p of the pattern lists the later positions that p couples to, fill included.
Blocks of H lie row by row in one flat array and are overwritten by those of U; L holds the factors of the diagonal
blocks (`blocks.factorise`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from convex_contact.solver.blocks import (
    backward_vector,
    factorise,
    forward_block,
    forward_vector,
    subtract_product,
    subtract_times,
    subtract_transposed,
)


class BlockPattern(NamedTuple):
    """Pattern of the blocks of n groups.

    Attributes:
        order: group at each position (n,).
        start: first variable of each group in a vector (n + 1,).
        factor_start: first entry in L of the factor of each group's diagonal block (n,).
        entry_start: first entry of each position (n + 1,).
        entry_column: later position of each entry, ascending within a row.
        entry_block: first number in H of the block of each entry.
        diagonal_block: first number in H of the diagonal block of each position (n,).
        update_start: first update of each position (n,).
        update_block: first numbers of the blocks that the elimination of a position
            updates, pair by pair of its entries.
    """

    order: np.ndarray
    start: np.ndarray
    factor_start: np.ndarray
    entry_start: np.ndarray
    entry_column: np.ndarray
    entry_block: np.ndarray
    diagonal_block: np.ndarray
    update_start: np.ndarray
    update_block: np.ndarray


@njit(inline="always")
def eliminate(pattern: BlockPattern, first: int, end: int, H: np.ndarray, L: np.ndarray, floor: np.ndarray) -> None:
    """Eliminates the positions first .. end - 1.

    Args:
        pattern: pattern of H.
        first, end: first position, and one after the last.
        H: blocks of H, overwritten by those of U.
        L: output, factors of the diagonal blocks.
        floor: least pivot of each variable; smaller pivots are replaced by it.
    """
    order, start, factor_start = pattern.order, pattern.start, pattern.factor_start
    entry_start, entry_column, entry_block = pattern.entry_start, pattern.entry_column, pattern.entry_block
    update_block = pattern.update_block
    for p in range(first, end):
        c = order[p]
        s, m, h, o = start[c], start[c + 1] - start[c], pattern.diagonal_block[p], factor_start[c]
        factorise(H, h, L, o, m, floor, s)
        for e in range(entry_start[p], entry_start[p + 1]):
            u = order[entry_column[e]]
            forward_block(H, entry_block[e], L, o, m, start[u + 1] - start[u])
        update = pattern.update_start[p]
        for e in range(entry_start[p], entry_start[p + 1]):
            u = order[entry_column[e]]
            mr = start[u + 1] - start[u]
            for f in range(e, entry_start[p + 1]):
                z = order[entry_column[f]]
                subtract_product(
                    H, update_block[update], entry_block[e], entry_block[f], m, mr, start[z + 1] - start[z]
                )
                update += 1


@njit(inline="always")
def solve_forward(pattern: BlockPattern, first: int, end: int, H: np.ndarray, L: np.ndarray, x: np.ndarray) -> None:
    """Solves x <- U^-T x for the positions first .. end - 1, and subtracts their part from the later positions."""
    order, start, factor_start = pattern.order, pattern.start, pattern.factor_start
    entry_start, entry_column, entry_block = pattern.entry_start, pattern.entry_column, pattern.entry_block
    for p in range(first, end):
        c = order[p]
        s, m = start[c], start[c + 1] - start[c]
        forward_vector(L, factor_start[c], x, s, m)
        for e in range(entry_start[p], entry_start[p + 1]):
            u = order[entry_column[e]]
            subtract_transposed(H, entry_block[e], x, s, x, start[u], m, start[u + 1] - start[u])


@njit(inline="always")
def solve_backward(pattern: BlockPattern, first: int, end: int, H: np.ndarray, L: np.ndarray, x: np.ndarray) -> None:
    """Solves x <- U^-1 x for the positions first .. end - 1, from the solution at later positions."""
    order, start, factor_start = pattern.order, pattern.start, pattern.factor_start
    entry_start, entry_column, entry_block = pattern.entry_start, pattern.entry_column, pattern.entry_block
    for back in range(end - first):
        p = end - 1 - back
        c = order[p]
        s, m = start[c], start[c + 1] - start[c]
        for e in range(entry_start[p], entry_start[p + 1]):
            u = order[entry_column[e]]
            subtract_times(H, entry_block[e], x, start[u], x, s, m, start[u + 1] - start[u])
        backward_vector(L, factor_start[c], x, s, m)
