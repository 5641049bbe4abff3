"""Partial block Cholesky factorisation of sparse symmetric positive definite matrices with a fixed pattern.

    H = [[H_ii, H_ik], [H_ki, H_kk]],   H_ii = U^T U,   S = H_kk - H_ki H_ii^-1 H_ik

The inner variables are eliminated, and the kept ones remain in the Schur complement S, a by-product of the
factorisation. A library's factor of H_ii would need solves with many right-hand sides for it. Variables come in groups
that are eliminated as one dense block (`blocks`). Order and symbolic factorisation, by `structure`, are computed once.
"""

from __future__ import annotations

import warnings
from copy import copy

import numpy as np
from numba import njit

from convex_contact.solver.block_cholesky import BlockPattern, eliminate, solve_backward, solve_forward
from convex_contact.solver.blocks import backward_vector, factorise, forward_vector
from convex_contact.solver.structure import minimum_degree


@njit(error_model="numpy", _nrt=False, cache=True)
def _factorise(pattern: BlockPattern, groups: int, H: np.ndarray, L: np.ndarray, floor: np.ndarray) -> None:
    """Eliminates the first groups in place."""
    eliminate(pattern, 0, groups, H, L, floor)


@njit(error_model="numpy", _nrt=False, cache=True)
def _forward(pattern: BlockPattern, groups: int, H: np.ndarray, L: np.ndarray, x: np.ndarray) -> None:
    """Solves x_i <- U^-T x_i and subtracts H_ki H_ii^-1 x_i from x_k, in place."""
    solve_forward(pattern, 0, groups, H, L, x)


@njit(error_model="numpy", _nrt=False, cache=True)
def _backward(pattern: BlockPattern, groups: int, H: np.ndarray, L: np.ndarray, x: np.ndarray) -> None:
    """Replaces x_i of `_forward` by x_i of the solution, from x_k of the solution."""
    solve_backward(pattern, 0, groups, H, L, x)


@njit(error_model="numpy", _nrt=False, cache=True)
def _gather(H: np.ndarray, start: np.ndarray, first: int, block: np.ndarray, S: np.ndarray) -> None:
    """Copies the blocks of the kept groups, stored for p <= q, to the dense symmetric S."""
    for p in range(len(block)):
        i, m = start[first + p] - start[first], start[first + p + 1] - start[first + p]
        for q in range(p, len(block)):
            j, c = start[first + q] - start[first], start[first + q + 1] - start[first + q]
            for r in range(m):
                for k in range(c):
                    x = H[block[p, q] + r * c + k]
                    S[i + r, j + k] = x
                    S[j + k, i + r] = x


@njit(error_model="numpy", cache=True)
def solve_dense(A: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Returns A^-1 b for a symmetric positive definite A (n, n); a library is slower up to some hundred rows."""
    n, x = len(b), b.copy()
    D, F = A.copy().reshape(n * n), np.empty(n * n)
    factorise(D, 0, F, 0, n, np.zeros(n), 0)
    forward_vector(F, 0, x, 0, n)
    backward_vector(F, 0, x, 0, n)
    return x


def _order_groups(n: int, edges: np.ndarray, kept: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
    """Orders groups of variables by minimum degree; the kept ones come last.

    Args:
        n: number of groups.
        edges: pairs of coupled groups (m, 2).
        kept: groups that are not eliminated (k,).

    Returns:
        Group at each position (n,); and for each position the sorted later positions of the blocks in its row.
    """
    k = len(kept)
    free = np.setdiff1d(np.arange(n), kept)
    rank = np.empty(n, dtype=np.int64)
    rank[free], rank[kept] = np.arange(n - k), np.arange(n - k, n)
    first, second = (np.ascontiguousarray(rank[edges[:, i]]) for i in range(2))
    adjacency = np.zeros((n, (n + 63) // 64), dtype=np.uint64)
    degree, lists = np.zeros(n, dtype=np.int64), np.zeros((5, n + 1), dtype=np.int64)
    minimum_degree(n, first, second, len(edges), adjacency, degree, lists, k)
    elimination = np.concatenate([lists[4, : n - k], np.arange(n - k, n)])
    position = np.empty(n, dtype=np.int64)  # of a rank
    position[elimination] = np.arange(n)
    columns = []
    for rank_eliminated in elimination[: n - k]:
        bits = np.unpackbits(adjacency[rank_eliminated].view(np.uint8), bitorder="little")[:n]
        columns.append(np.sort(position[np.flatnonzero(bits)]))
    columns += [np.arange(p + 1, n) for p in range(n - k, n)]  # S is dense
    return np.concatenate([free, kept])[elimination], columns


class BlockCholesky:
    """Values, factor and Schur complement of matrices of one pattern.

    Args:
        sizes: number of variables of each group (n,).
        edges: pairs of groups with a block off the diagonal (m, 2); either order, repetitions are allowed.
        kept: groups that are not eliminated, in the order of S.

    Attributes:
        values: entries of the matrix, flat, to be written before :meth:`factorise` at offsets by :meth:`find_block`.
        order: groups in the order of elimination, the kept ones last (n,).
        start: first variable of each group in this order (n + 1,); vectors are in this order.
        inner: number of variables that are eliminated.
    """

    def __init__(self, sizes: np.ndarray, edges: np.ndarray, kept: np.ndarray) -> None:
        n, k = len(sizes), len(kept)
        self.order, columns = _order_groups(n, edges, np.asarray(kept, dtype=np.int64))
        self._position = np.empty(n, dtype=np.int64)
        self._position[self.order] = np.arange(n)
        size = np.asarray(sizes, dtype=np.int64)[self.order]
        self.start = np.concatenate([[0], np.cumsum(size)]).astype(np.int64)
        self.inner, self._inner_groups = int(self.start[n - k]), n - k
        ends = np.cumsum([0, *(len(c) for c in columns)])
        entry_column = np.concatenate([*columns, np.zeros(0)]).astype(np.int64)
        blocks, diagonal = np.zeros(len(entry_column), dtype=np.int64), np.zeros(n, dtype=np.int64)
        at = 0
        self._block_start: dict[tuple[int, int], int] = {}
        for p in range(n):
            diagonal[p], self._block_start[p, p] = at, at
            at += size[p] ** 2
            for e in range(ends[p], ends[p + 1]):
                q = int(entry_column[e])
                blocks[e], self._block_start[p, q] = at, at
                at += size[p] * size[q]
        self.values = np.zeros(at)
        kept_positions = range(n - k, n)
        self._kept_block = np.array(
            [[self._block_start.get((p, q), -1) for q in kept_positions] for p in kept_positions], dtype=np.int64
        ).reshape(k, k)
        updates: list[int] = []
        update_start = [0]
        for p in range(n - k):
            c = columns[p].tolist()
            updates += [self._block_start[q, r] for i, q in enumerate(c) for r in c[i:]]
            update_start.append(len(updates))
        factor_start = np.concatenate([[0], np.cumsum(size**2)]).astype(np.int64)
        self._pattern = BlockPattern(
            order=np.arange(n),
            start=self.start,
            factor_start=factor_start,
            entry_start=ends[: n - k + 1].astype(np.int64),
            entry_column=entry_column,
            entry_block=blocks,
            diagonal_block=diagonal,
            update_start=np.array(update_start, dtype=np.int64),
            update_block=np.array(updates, dtype=np.int64),
        )
        self._L = np.zeros(int(factor_start[n - k]))
        self._floor = np.full(self.inner, 1e-300)

    def with_own_values(self) -> BlockCholesky:
        """Returns a matrix of the same pattern, with values and factor of its own."""
        made = copy(self)
        made.values, made._L = np.zeros_like(self.values), np.zeros_like(self._L)
        return made

    def find_block(self, a: int, b: int) -> tuple[int, int] | None:
        """Returns offset and row length in `values` of the block of groups a and b; None: that of b and a is stored."""
        p, q = int(self._position[a]), int(self._position[b])
        if p > q:
            return None
        return self._block_start[p, q], int(self.start[q + 1] - self.start[q])

    def place(self, a: int, b: int) -> tuple[int, int] | None:
        """Returns `find_block(a, b)`; deprecated."""
        warnings.warn("BlockCholesky.place is now called find_block", DeprecationWarning, stacklevel=2)
        return self.find_block(a, b)

    @property
    def variables(self) -> np.ndarray:
        """First variable of each group in a vector (n,)."""
        return self.start[self._position]

    def factorise(self) -> None:
        """Eliminates the inner groups; `values` is overwritten."""
        _factorise(self._pattern, self._inner_groups, self.values, self._L, self._floor)

    def schur_complement(self) -> np.ndarray:
        """Returns the Schur complement S (k, k), after :meth:`factorise`."""
        S = np.empty((int(self.start[-1]) - self.inner,) * 2)
        _gather(self.values, self.start, self._inner_groups, self._kept_block, S)
        return S

    def forward(self, x: np.ndarray) -> None:
        """Eliminates the inner variables of a right-hand side in place; its kept part becomes that of S."""
        _forward(self._pattern, self._inner_groups, self.values, self._L, x)

    def backward(self, x: np.ndarray) -> None:
        """Computes the inner variables of the solution in place, from those of :meth:`forward` and the kept ones."""
        _backward(self._pattern, self._inner_groups, self.values, self._L, x)
