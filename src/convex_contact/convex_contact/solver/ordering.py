"""Elimination order of the cliques, islands, and the symbolic factorisation of H."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from convex_contact.solver import terms
from convex_contact.solver.borrowed import borrow
from convex_contact.solver.structure import find, minimum_degree, trailing_zeros


@njit(error_model="numpy", _nrt=False, cache=True)
def match_pattern(w: Any) -> bool:
    """Finds the block of each coupling; returns False if one is missing, or if the pattern has become too large."""
    if w.pattern == 0:
        return False
    pairs = terms.match_entries(w)
    return pairs >= 0 and 2 * pairs + 4 >= w.pattern_edges


@njit(error_model="numpy", cache=True)
def order_cliques(w: Any) -> None:
    """Finds the elimination order, the symbolic factorisation and the islands of the present candidates."""
    b = borrow(w)
    n = w.n
    edges = _join_islands(b)
    lists, adjacency = w.lists, w.adjacency
    total = minimum_degree(n, w.edge_a, w.edge_b, edges, adjacency, w.degree, lists)
    islands = _sort_cliques(b, lists)
    if len(w.entry_column) < total:
        w.entry_column = np.zeros(2 * total, dtype=np.int64)
        w.entry_block = np.zeros(2 * total, dtype=np.int64)
    block, updates = _list_entries(b, adjacency)
    if len(w.H) < block:
        w.H = np.zeros(2 * block)
    if len(w.update_block) < updates:
        w.update_block = np.zeros(2 * updates, dtype=np.int64)
    _list_updates(b)
    island_factor, island_rounded = w.island_factor, w.island_rounded
    for i in range(islands):  # what was known of other islands
        island_factor[i], island_rounded[i] = 0, 0.0
    w.islands, w.pattern, w.pattern_edges = islands, 1, edges
    w.orderings += 1


@njit(error_model="numpy", _nrt=False, cache=True)
def _join_islands(w: Any) -> int:
    """Lists the edges and joins the cliques that they connect to islands; returns the number of edges."""
    edge_a, edge_b, parent = w.edge_a, w.edge_b, w.parent
    for c in range(w.n):
        parent[c] = c
    edges = terms.append_edges(w, 0)
    for e in range(edges):
        x, y = find(parent, edge_a[e]), find(parent, edge_b[e])
        if x != y:
            parent[max(x, y)] = min(x, y)
    return int(edges)


@njit(error_model="numpy", _nrt=False, cache=True)
def _sort_cliques(w: Any, lists: np.ndarray) -> int:
    """Lists islands in the order of their first elimination, each with its cliques in that order; returns their number.

    Args:
        w: workspace.
        lists: lists of `minimum_degree`; row 4 is the elimination order.
    """
    n, parent = w.n, w.parent
    clique_island, island_start, order, position = w.clique_island, w.island_start, w.order, w.position
    elimination, label = lists[4], lists[0]
    for c in range(n):
        label[c] = -1
    islands = 0
    for k in range(n):
        root = find(parent, elimination[k])
        if label[root] < 0:
            label[root] = islands
            island_start[islands] = 0
            islands += 1
        clique_island[elimination[k]] = label[root]
        island_start[label[root]] += 1
    first = 0
    for i in range(islands):
        count = island_start[i]
        island_start[i] = first
        first += count
    island_start[islands] = n
    following = lists[1]
    for i in range(islands):
        following[i] = island_start[i]
    for k in range(n):
        c = elimination[k]
        p = following[clique_island[c]]
        following[clique_island[c]] += 1
        order[p], position[c] = c, p
    return islands


@njit(error_model="numpy", _nrt=False, cache=True)
def _list_entries(w: Any, adjacency: np.ndarray) -> tuple[int, int]:
    """Lists the blocks of each row of the factor; returns the size of H and the number of updates."""
    n, order, position = w.n, w.order, w.position
    entry_start, entry_column, entry_block = w.entry_start, w.entry_column, w.entry_block
    diagonal_block, dof_start = w.diagonal_block, w.dof_start
    words = (n + 63) // 64
    entry, block, updates = 0, 0, 0
    for p in range(n):
        c = order[p]
        entry_start[p] = entry
        for q in range(words):
            word = adjacency[c, q]
            while word != np.uint64(0):
                u = (q << 6) + trailing_zeros(word)
                word &= word - np.uint64(1)
                x, e = position[u], entry
                while e > entry_start[p] and entry_column[e - 1] > x:
                    entry_column[e] = entry_column[e - 1]
                    e -= 1
                entry_column[e] = x
                entry += 1
        m = dof_start[c + 1] - dof_start[c]
        diagonal_block[p] = block
        block += m * m
        for e in range(entry_start[p], entry):
            u = order[entry_column[e]]
            entry_block[e] = block
            block += m * (dof_start[u + 1] - dof_start[u])
        count = entry - entry_start[p]
        updates += count * (count + 1) // 2
    entry_start[n], diagonal_block[n] = entry, block
    return block, updates


@njit(error_model="numpy", _nrt=False, cache=True)
def _list_updates(w: Any) -> None:
    """Lists the blocks that the elimination of each clique updates."""
    entry_start, entry_column, entry_block, diagonal_block = (
        w.entry_start, w.entry_column, w.entry_block, w.diagonal_block
    )  # fmt: skip
    update_start, update_block = w.update_start, w.update_block
    update = 0
    for p in range(w.n):
        update_start[p] = update
        for e in range(entry_start[p], entry_start[p + 1]):
            q = entry_column[e]
            update_block[update] = diagonal_block[q]
            update += 1
            at = entry_start[q]
            for f in range(e + 1, entry_start[p + 1]):
                while entry_column[at] != entry_column[f]:
                    at += 1
                update_block[update] = entry_block[at]
                update += 1
