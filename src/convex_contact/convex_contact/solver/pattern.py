"""Blocks of the sparse factor: where the block of two cliques lies."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(error_model="numpy", _nrt=False, cache=True)
def find_entry(position: np.ndarray, entry_start: np.ndarray, entry_column: np.ndarray, a: int, b: int) -> int:
    """2 e + swapped for the block of cliques a and b, -2 where the pattern has none."""
    p, q, swapped = position[a], position[b], 0
    if p > q:
        p, q, swapped = q, p, 1
    for e in range(entry_start[p], entry_start[p + 1]):
        if entry_column[e] == q:
            return 2 * e + swapped
    return -2
