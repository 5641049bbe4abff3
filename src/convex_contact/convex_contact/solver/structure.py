"""Elimination order and symbolic block factorisation of the clique graph (section X).

Nodes are cliques (bodies or trees), edges the pairs of cliques that a contact or a constraint couples. The order is
exact minimum degree on the elimination graph, kept as bit sets: for graphs of hundreds of nodes the exact degree is as
cheap as the approximate one (Amestoy, Davis, Duff 1996), since the neighbours of an eliminated node become a clique by
ORs of whole words. Connected components (islands) get consecutive positions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

_ONE = np.uint64(1)


@intrinsic
def trailing_zeros(context, word):  # type: ignore[no-untyped-def]
    """Returns the number of zero bits below the lowest one bit of a uint64 that is not zero."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.IntType(1)(1))

    return types.int64(types.uint64), generate


@intrinsic
def _count_ones(context, word):  # type: ignore[no-untyped-def]
    """Returns the number of one bits of a uint64."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.int64(types.uint64), generate


@njit(error_model="numpy", _nrt=False, cache=True)
def find(parent: np.ndarray, i: int) -> int:
    """Returns the root of i in a union-find forest, with path halving."""
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


# Longer than others: every loop updates the lists by degree; passing them to functions takes more lines than it saves.
@njit(error_model="numpy", _nrt=False, cache=True)
def minimum_degree(
    n: int,
    first: np.ndarray,
    second: np.ndarray,
    edges: int,
    adjacency: np.ndarray,
    degree: np.ndarray,
    lists: np.ndarray,
    kept: int = 0,
) -> int:
    """Computes a minimum-degree order of elimination and the structure of each eliminated row.

    Args:
        n: number of nodes.
        first: node of each edge, at least `edges` long; repeated edges and edges from a node to itself are allowed.
        second: other node of each edge.
        edges: number of edges.
        adjacency: bit sets, shape (>= n, words) with 64 words >= n; overwritten. On return row i has the neighbours of
            i that are eliminated after it.
        degree: work array, shape (>= n,), overwritten.
        lists: integers, shape (5, >= n + 1); on return lists[4, :n - kept] is the order.
        kept: number of nodes at the end that are not eliminated.

    Returns:
        Number of blocks off the diagonal, with fill.
    """
    words = (n + 63) // 64
    head, following, previous, alive, order = lists[0], lists[1], lists[2], lists[3], lists[4]
    for i in range(n):
        for w in range(words):
            adjacency[i, w] = np.uint64(0)
    for e in range(edges):
        a, b = first[e], second[e]
        if a != b:
            adjacency[a, b >> 6] |= _ONE << np.uint64(b & 63)
            adjacency[b, a >> 6] |= _ONE << np.uint64(a & 63)
    for d in range(n):
        head[d] = -1
    for back in range(n):  # so that the smallest index comes first among equals
        i = n - 1 - back
        d = 0
        for w in range(words):
            d += _count_ones(adjacency[i, w])
        degree[i], alive[i] = d, 1
        if i >= n - kept:
            continue
        following[i], previous[i] = head[d], -1
        if head[d] >= 0:
            previous[head[d]] = i
        head[d] = i
    total, smallest = 0, 0
    for k in range(n - kept):
        while head[smallest] < 0:
            smallest += 1
        v = head[smallest]
        head[smallest] = following[v]
        if following[v] >= 0:
            previous[following[v]] = -1
        order[k], alive[v] = v, 0
        total += degree[v]
        for w in range(words):
            word = adjacency[v, w]
            while word != np.uint64(0):
                u = (w << 6) + trailing_zeros(word)
                word &= word - _ONE
                d = 0
                for x in range(words):
                    bits = adjacency[u, x] | adjacency[v, x]
                    if x == u >> 6:
                        bits &= ~(_ONE << np.uint64(u & 63))
                    if x == v >> 6:
                        bits &= ~(_ONE << np.uint64(v & 63))
                    adjacency[u, x] = bits
                    d += _count_ones(bits)
                if u < n - kept and d != degree[u]:
                    p, f = previous[u], following[u]
                    if p >= 0:
                        following[p] = f
                    else:
                        head[degree[u]] = f
                    if f >= 0:
                        previous[f] = p
                    degree[u] = d
                    following[u], previous[u] = head[d], -1
                    if head[d] >= 0:
                        previous[head[d]] = u
                    head[d] = u
                    smallest = min(smallest, d)
    return total
