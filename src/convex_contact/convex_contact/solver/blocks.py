"""Small dense blocks inside one flat array: what the block Cholesky factorisation and the contact Jacobians need.

Blocks are stored row by row at an offset of a flat float64 array; sizes are numbers of velocities of a clique. Blocks
of 6 by 6 (free bodies) go to `vector_blocks`. Indices are unsigned, because Numba tests signed ones at each access.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from convex_contact.problem.contact_kernels import Response
from convex_contact.solver import vector_blocks

_U = np.uintp


@njit(error_model="numpy", _nrt=False, cache=True)
def subtract_product(D: np.ndarray, c: int, a: int, b: int, nk: int, nr: int, nc: int) -> None:
    """C -= A^T B with C (nr, nc), A (nk, nr), B (nk, nc) at the offsets c, a, b of D."""
    uc, ua, ub = _U(c), _U(a), _U(b)
    if nk == 6 and nr == 6 and nc == 6:
        vector_blocks.subtract_product6(D, c, a, b)
        return
    for k in range(_U(nk)):
        for r in range(_U(nr)):
            x = D[ua + k * _U(nr) + r]
            o, p = uc + r * _U(nc), ub + k * _U(nc)
            for j in range(_U(nc)):
                D[o + j] -= x * D[p + j]


@njit(error_model="numpy", _nrt=False, cache=True)
def lower_times(D: np.ndarray, h: int, L: np.ndarray, l: int, nk: int, nc: int) -> None:  # noqa: E741
    """H <- L H in place, L (nk, nk) lower triangular at offset l of L, H (nk, nc) at h of D."""
    uh, ul = _U(h), _U(l)
    if nk == 6 and nc == 6:
        vector_blocks.lower_times6(D, h, L, l)
        return
    un, uc = _U(nk), _U(nc)
    for reverse in range(un):
        r = un - _U(1) - reverse
        x = L[ul + r * un + r]
        for j in range(uc):
            D[uh + r * uc + j] *= x
        for k in range(r):
            x = L[ul + r * un + k]
            for j in range(uc):
                D[uh + r * uc + j] += x * D[uh + k * uc + j]


@njit(error_model="numpy", _nrt=False, cache=True)
def inverse_factor(D: np.ndarray, h: int, L: np.ndarray, l: int, n: int, floor: np.ndarray, f: int) -> None:  # noqa: E741
    """L = U^-T with H = U^T U, for H (n, n) symmetric at offset h of D, of which the upper half is read and lost.

    Pivots that rounding has made smaller than `floor`, from offset f on, are replaced by it.
    """
    if n == 6:
        vector_blocks.inverse_factor6(D, h, L, l, floor, f)
        return
    uh, ul, un, uf = _U(h), _U(l), _U(n), _U(f)
    for j in range(un):
        pivot = D[uh + j * un + j]
        if not pivot > floor[uf + j]:
            pivot = floor[uf + j]
        inverse = 1.0 / math.sqrt(pivot)
        for c in range(j, un):
            D[uh + j * un + c] *= inverse
        D[uh + j * un + j] = inverse  # of the diagonal
        for r in range(j + _U(1), un):
            x = D[uh + j * un + r]
            for c in range(r, un):
                D[uh + r * un + c] -= x * D[uh + j * un + c]
    # rows of L = (U^T)^-1 by forward substitution, whose inner loop runs along them
    for r in range(un):
        scale = D[uh + r * un + r]
        for c in range(r + _U(1), un):
            L[ul + r * un + c] = 0.0
        for c in range(r):
            L[ul + r * un + c] = 0.0
        for k in range(r):
            x = D[uh + k * un + r]
            for c in range(k + _U(1)):
                L[ul + r * un + c] += x * L[ul + k * un + c]
        for c in range(r):
            L[ul + r * un + c] = -L[ul + r * un + c] * scale
        L[ul + r * un + r] = scale


@njit(error_model="numpy", forceinline=True, _nrt=False, cache=True)
def lower_times_vector(L: np.ndarray, l: int, x: np.ndarray, s: int, n: int) -> None:  # noqa: E741
    """x <- L x in place, L (n, n) lower triangular at l, x (n,) at s."""
    if n == 6:
        vector_blocks.lower_times_vector6(L, l, x, s)
        return
    ul, us, un = _U(l), _U(s), _U(n)
    for back in range(un):
        r = un - _U(1) - back
        total = 0.0
        for k in range(r + _U(1)):
            total += L[ul + r * un + k] * x[us + k]
        x[us + r] = total


@njit(error_model="numpy", forceinline=True, _nrt=False, cache=True)
def transposed_lower_times_vector(L: np.ndarray, l: int, x: np.ndarray, s: int, n: int) -> None:  # noqa: E741
    """x <- L^T x in place."""
    if n == 6:
        vector_blocks.transposed_lower_times_vector6(L, l, x, s)
        return
    ul, us, un = _U(l), _U(s), _U(n)
    for r in range(un):
        total = 0.0
        for k in range(r, un):
            total += L[ul + k * un + r] * x[us + k]
        x[us + r] = total


@njit(error_model="numpy", forceinline=True, _nrt=False, cache=True)
def subtract_transposed(D: np.ndarray, a: int, x: np.ndarray, s: int, y: np.ndarray, t: int, nr: int, nc: int) -> None:
    """y -= A^T x, A (nr, nc) at offset a of D, x (nr,) at s, y (nc,) at t."""
    ua, us, ut, uc = _U(a), _U(s), _U(t), _U(nc)
    if nr == 6 and nc == 6:
        vector_blocks.subtract_transposed6(D, a, x, s, y, t)
        return
    for r in range(_U(nr)):
        z = x[us + r]
        for j in range(uc):
            y[ut + j] -= z * D[ua + r * uc + j]


@njit(error_model="numpy", forceinline=True, _nrt=False, cache=True)
def subtract_times(D: np.ndarray, a: int, x: np.ndarray, s: int, y: np.ndarray, t: int, nr: int, nc: int) -> None:
    """y -= A x, A (nr, nc) at offset a of D, x (nc,) at s, y (nr,) at t."""
    ua, us, ut, uc = _U(a), _U(s), _U(t), _U(nc)
    if nr == 6 and nc == 6:
        vector_blocks.subtract_times6(D, a, x, s, y, t)
        return
    for r in range(_U(nr)):
        total = 0.0
        for j in range(uc):
            total += D[ua + r * uc + j] * x[us + j]
        y[ut + r] -= total


@njit(error_model="numpy", forceinline=True, _nrt=False, cache=True)
def row_times(J: np.ndarray, j: int, x: np.ndarray, s: int, n: int) -> float:
    """J x of one row of n numbers at offset j, x at s."""
    uj, us = _U(j), _U(s)
    total = 0.0
    for k in range(_U(n)):
        total += J[uj + k] * x[us + k]
    return total


@njit(error_model="numpy", forceinline=True, _nrt=False, cache=True)
def add_row(J: np.ndarray, j: int, factor: float, x: np.ndarray, s: int, n: int) -> None:
    """x += factor J of one row."""
    uj, us = _U(j), _U(s)
    for k in range(_U(n)):
        x[us + k] += factor * J[uj + k]


@njit(error_model="numpy", forceinline=True, _nrt=False, cache=True)
def add_three_rows(J: np.ndarray, j: int, a: float, b: float, c: float, x: np.ndarray, s: int, n: int) -> None:
    """x += J^T (a, b, c), J (3, n) at offset j."""
    uj, us, un = _U(j), _U(s), _U(n)
    if n == 6:
        vector_blocks.add_three_rows6(J, j, a, b, c, x, s)
        return
    for k in range(un):
        x[us + k] += a * J[uj + k] + b * J[uj + un + k] + c * J[uj + _U(2) * un + k]


@njit(error_model="numpy", _nrt=False, cache=True)
def add_congruence(
    D: np.ndarray,
    h: int,
    J: np.ndarray,
    a: int,
    na: int,
    b: int,
    nb: int,
    G: Response,
) -> None:
    """H += Ja^T G Jb with Ja (3, na) at a, Jb (3, nb) at b of J, H (na, nb) at h of D."""
    uh, ua, ub, un, um = _U(h), _U(a), _U(b), _U(na), _U(nb)
    if na == 6 and nb == 6:
        vector_blocks.add_congruence6(D, h, J, a, b, G.h11, G.h12, G.h22, G.h1n, G.h2n, G.hnn)
        return
    for r in range(un):
        x, y, z = J[ua + r], J[ua + un + r], J[ua + _U(2) * un + r]
        if x == 0.0 and y == 0.0 and z == 0.0:  # most of a large clique's
            continue
        u = G.h11 * x + G.h12 * y + G.h1n * z
        v = G.h12 * x + G.h22 * y + G.h2n * z
        w = G.h1n * x + G.h2n * y + G.hnn * z
        for j in range(um):
            D[uh + r * um + j] += u * J[ub + j] + v * J[ub + um + j] + w * J[ub + _U(2) * um + j]


@njit(error_model="numpy", _nrt=False, cache=True)
def add_outer(D: np.ndarray, h: int, g: float, J: np.ndarray, a: int, na: int, b: int, nb: int) -> None:
    """H += g Ja^T Jb of two rows."""
    uh, ua, ub, um = _U(h), _U(a), _U(b), _U(nb)
    for r in range(_U(na)):
        x = g * J[ua + r]
        if x == 0.0:
            continue
        for j in range(um):
            D[uh + r * um + j] += x * J[ub + j]
