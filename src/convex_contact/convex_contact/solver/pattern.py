"""Blocks of the sparse factor, and the couplings of cliques that need them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit


@njit(error_model="numpy", _nrt=False, cache=True)
def find_entry(position: np.ndarray, entry_start: np.ndarray, entry_column: np.ndarray, a: int, b: int) -> int:
    """Returns 2 e + swapped for entry e, the block of cliques a and b; -2 if the pattern has none."""
    p, q, swapped = position[a], position[b], 0
    if p > q:
        p, q, swapped = q, p, 1
    for e in range(entry_start[p], entry_start[p + 1]):
        if entry_column[e] == q:
            return 2 * e + swapped
    return -2


class Couplings(NamedTuple):
    """Entries of one family of terms, each between the cliques a and b (-1: none).

    Attributes:
        entries: number of entries.
        a, b: cliques (entries,).
        taken: 1: the entry takes part; not used with all_taken (entries,).
        all_taken: whether all entries take part.
        slot: block of H of each entry as in `find_entry`, output of `match_couplings` (entries,).
        order: entries island by island, output of `list_by_island`.
        island_start: first position of each island in `order`, output of `list_by_island`.
    """

    entries: int
    a: np.ndarray
    b: np.ndarray
    taken: np.ndarray
    all_taken: bool
    slot: np.ndarray
    order: np.ndarray
    island_start: np.ndarray


@njit(error_model="numpy", _nrt=False, cache=True)
def match_couplings(w: Any, x: Couplings) -> int:
    """Finds the block of each coupling of two cliques; returns the number of couplings, -1 if a block is missing."""
    pairs = 0
    position, entry_start, entry_column = w.position, w.entry_start, w.entry_column
    for i in range(x.entries):
        if (x.all_taken or x.taken[i] != 0) and x.b[i] >= 0:
            x.slot[i] = find_entry(position, entry_start, entry_column, x.a[i], x.b[i])
            pairs += 1
            if x.slot[i] < 0:
                return -1
    return pairs


@njit(error_model="numpy", _nrt=False, cache=True)
def list_couplings(w: Any, x: Couplings, edges: int) -> int:
    """Appends the couplings of two cliques to the first edges; returns the new number of edges."""
    edge_a, edge_b = w.edge_a, w.edge_b
    for i in range(x.entries):
        if (x.all_taken or x.taken[i] != 0) and x.b[i] >= 0:
            edge_a[edges], edge_b[edges] = x.a[i], x.b[i]
            edges += 1
    return edges


@njit(error_model="numpy", _nrt=False, cache=True)
def list_by_island(w: Any, x: Couplings) -> None:
    """Lists the entries island by island."""
    islands, clique_island, order, start = w.islands, w.clique_island, x.order, x.island_start
    total = 0
    for i in range(islands + 1):
        start[i] = 0
    for i in range(x.entries):
        if x.all_taken or x.taken[i] != 0:
            start[clique_island[x.a[i]] + 1] += 1
            total += 1
    for i in range(islands):
        start[i + 1] += start[i]
    for back in range(x.entries):
        i = x.entries - 1 - back
        if x.all_taken or x.taken[i] != 0:
            island = clique_island[x.a[i]] + 1
            start[island] -= 1
            order[start[island]] = i
    for i in range(islands):
        start[i] = start[i + 1]
    start[islands] = total
