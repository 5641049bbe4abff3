"""Small dense blocks inside one flat array, for the block Cholesky factorisation and the contact Jacobians.

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
_FOUR = _U(4)


@njit(error_model="numpy", _nrt=False, cache=True)
def subtract_product(D: np.ndarray, c: int, a: int, b: int, nk: int, nr: int, nc: int) -> None:
    """Subtracts A^T B from C, for C (nr, nc), A (nk, nr), B (nk, nc) at the offsets c, a, b of D."""
    uc, ua, ub = _U(c), _U(a), _U(b)
    if nk == 6 and nr == 6 and nc == 6:
        vector_blocks.subtract_product6(D, c, a, b)
        return
    un, ur, um, k = _U(nk), _U(nr), _U(nc), _U(0)
    while k + _FOUR <= un:  # four rows of A and B at a time, so that C is loaded and stored less often
        i, p = ua + k * ur, ub + k * um
        for r in range(ur):
            row, xa, xb = uc + r * um, D[i + r], D[i + ur + r]
            xc, xd = D[i + _U(2) * ur + r], D[i + _U(3) * ur + r]
            for j in range(um):
                d = (D[row + j] - xa * D[p + j]) - xb * D[p + um + j]
                D[row + j] = (d - xc * D[p + _U(2) * um + j]) - xd * D[p + _U(3) * um + j]
        k += _FOUR
    while k < un:
        for r in range(ur):
            x, row = D[ua + k * ur + r], uc + r * um
            for j in range(um):
                D[row + j] -= x * D[ub + k * um + j]
        k += _U(1)


@njit(error_model="numpy", _nrt=False, cache=True)
def factorise(D: np.ndarray, h: int, F: np.ndarray, f: int, n: int, floor: np.ndarray, first: int) -> None:
    """Computes a factor of H = U^T U, for H (n, n) symmetric at offset h of D; overwrites the upper half of H.

    The factor at f of F is U^-T for a free body (n = 6). Otherwise it is U with the inverse of its diagonal, and U^T
    below: systems are solved along rows, and no inverse is needed. Pivots that rounding has made smaller than `floor`,
    from offset `first` on, are replaced by it.
    """
    if n == 6:
        vector_blocks.inverse_factor6(D, h, F, f, floor, first)
        return
    uh, uf, un = _U(h), _U(f), _U(n)
    _factorise_upper(D, uh, un, floor, _U(first))
    for r in range(un):
        for k in range(r, un):
            x = D[uh + r * un + k]
            F[uf + r * un + k] = x
            F[uf + k * un + r] = x


@njit(error_model="numpy", _nrt=False, cache=True)
def forward_block(D: np.ndarray, h: int, F: np.ndarray, f: int, nk: int, nc: int) -> None:
    """Replaces H by U^-T H, for H (nk, nc) at offset h of D, with the factor of U (nk, nk) at f of F."""
    uh, uf = _U(h), _U(f)
    if nk == 6 and nc == 6:
        vector_blocks.lower_times6(D, h, F, f)
        return
    un, uc = _U(nk), _U(nc)
    if nk == 6:
        _lower_times(D, uh, F, uf, un, uc)
        return
    for k in range(un):
        row, u = uh + k * uc, uf + k * un
        for j in range(uc):
            D[row + j] *= F[u + k]
        for r in range(k + _U(1), un):
            x = F[u + r]
            for j in range(uc):
                D[uh + r * uc + j] -= x * D[row + j]


@njit(error_model="numpy", _nrt=False, cache=True)
def _lower_times(D: np.ndarray, h: int, L: np.ndarray, l: int, n: int, columns: int) -> None:  # noqa: E741
    """Replaces H by L H, for H (n, columns) at h of D, L (n, n) lower triangular at l of L."""
    for reverse in range(n):
        r = n - _U(1) - reverse
        x = L[l + r * n + r]
        for j in range(columns):
            D[h + r * columns + j] *= x
        for k in range(r):
            x = L[l + r * n + k]
            for j in range(columns):
                D[h + r * columns + j] += x * D[h + k * columns + j]


@njit(error_model="numpy", _nrt=False, cache=True)
def _factorise_upper(D: np.ndarray, h: int, n: int, floor: np.ndarray, f: int) -> None:
    """Replaces the upper half of H (n, n) at h of D by U of H = U^T U, with the inverse of its diagonal."""
    for r in range(n):  # row by row; rows above are subtracted in their order, four at a time
        row, j = h + r * n, _U(0)
        while j + _FOUR <= r:
            a, b, c, d = h + j * n, h + (j + _U(1)) * n, h + (j + _U(2)) * n, h + (j + _U(3)) * n
            xa, xb, xc, xd = D[a + r], D[b + r], D[c + r], D[d + r]
            for k in range(r, n):
                D[row + k] = (((D[row + k] - xa * D[a + k]) - xb * D[b + k]) - xc * D[c + k]) - xd * D[d + k]
            j += _FOUR
        while j < r:
            a = h + j * n
            xa = D[a + r]
            for k in range(r, n):
                D[row + k] -= xa * D[a + k]
            j += _U(1)
        pivot = D[row + r]
        if not pivot > floor[f + r]:
            pivot = floor[f + r]
        inverse = 1.0 / math.sqrt(pivot)
        for k in range(r, n):
            D[row + k] *= inverse
        D[row + r] = inverse  # of the diagonal


@njit(error_model="numpy", forceinline=True, _nrt=False, cache=True)
def forward_vector(F: np.ndarray, f: int, x: np.ndarray, s: int, n: int) -> None:
    """Replaces x by U^-T x, for x (n,) at s, with the factor of U (n, n) at f of F."""
    if n == 6:
        vector_blocks.lower_times_vector6(F, f, x, s)
        return
    uf, us, un = _U(f), _U(s), _U(n)
    for k in range(un):
        row = uf + k * un
        value = x[us + k] * F[row + k]
        x[us + k] = value
        for r in range(k + _U(1), un):
            x[us + r] -= F[row + r] * value


@njit(error_model="numpy", forceinline=True, _nrt=False, cache=True)
def backward_vector(F: np.ndarray, f: int, x: np.ndarray, s: int, n: int) -> None:
    """Replaces x by U^-1 x, for x (n,) at s, with the factor of U (n, n) at f of F."""
    if n == 6:
        vector_blocks.transposed_lower_times_vector6(F, f, x, s)
        return
    uf, us, un = _U(f), _U(s), _U(n)
    for reverse in range(un):
        k = un - _U(1) - reverse
        row = uf + k * un
        value = x[us + k] * F[row + k]
        x[us + k] = value
        for r in range(k):
            x[us + r] -= F[row + r] * value


@njit(error_model="numpy", forceinline=True, _nrt=False, cache=True)
def subtract_transposed(D: np.ndarray, a: int, x: np.ndarray, s: int, y: np.ndarray, t: int, nr: int, nc: int) -> None:
    """Subtracts A^T x from y, for A (nr, nc) at offset a of D, x (nr,) at s, y (nc,) at t."""
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
    """Subtracts A x from y, for A (nr, nc) at offset a of D, x (nc,) at s, y (nr,) at t."""
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
def negative_product(D: np.ndarray, a: int, x: np.ndarray, y: np.ndarray, s: int, n: int) -> None:
    """Computes y = -A x, for A (n, n) symmetric at offset a of D, x, y (n,) at s; sums as in `subtract_times`."""
    ua, us, un = _U(a), _U(s), _U(n)
    for k in range(un):
        y[us + k] = 0.0
    if n == 6:
        vector_blocks.subtract_times6(D, a, x, s, y, s)
        return
    for r in range(un):  # along the rows, which are the columns
        z, row = x[us + r], ua + r * un
        for k in range(un):
            y[us + k] -= z * D[row + k]


@njit(error_model="numpy", forceinline=True, _nrt=False, cache=True)
def row_times(J: np.ndarray, j: int, x: np.ndarray, s: int, n: int) -> float:
    """Returns J x of one row J (n,) at offset j, x at s."""
    uj, us = _U(j), _U(s)
    total = 0.0
    for k in range(_U(n)):
        total += J[uj + k] * x[us + k]
    return total


@njit(error_model="numpy", forceinline=True, _nrt=False, cache=True)
def add_row(J: np.ndarray, j: int, factor: float, x: np.ndarray, s: int, n: int) -> None:
    """Adds factor J^T to x, for one row J (n,) at offset j, x at s."""
    uj, us = _U(j), _U(s)
    for k in range(_U(n)):
        x[us + k] += factor * J[uj + k]


@njit(error_model="numpy", forceinline=True, _nrt=False, cache=True)
def add_three_rows(J: np.ndarray, j: int, a: float, b: float, c: float, x: np.ndarray, s: int, n: int) -> None:
    """Adds J^T (a, b, c) to x, for J (3, n) at offset j, x at s."""
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
    """Adds Ja^T G Jb to H (na, nb) at h of D, for Ja (3, na), Jb (3, nb) at a, b of J; if a = b, to its upper half."""
    uh, ua, ub, un, um = _U(h), _U(a), _U(b), _U(na), _U(nb)
    if na == 6 and nb == 6:
        vector_blocks.add_congruence6(D, h, J, a, b, G.h11, G.h12, G.h22, G.h1n, G.h2n, G.hnn)
        return
    second, third, end = ub + um, ub + _U(2) * um, um
    while end > _U(0):  # a link moves with the first velocities of its tree
        k = end - _U(1)
        if J[ub + k] != 0.0 or J[second + k] != 0.0 or J[third + k] != 0.0:
            break
        end = k
    for r in range(un):
        x, y, z = J[ua + r], J[ua + un + r], J[ua + _U(2) * un + r]
        if x == 0.0 and y == 0.0 and z == 0.0:  # true for most columns of a large clique
            continue
        u = G.h11 * x + G.h12 * y + G.h1n * z
        v = G.h12 * x + G.h22 * y + G.h2n * z
        w = G.h1n * x + G.h2n * y + G.hnn * z
        row = uh + r * um
        for j in range(r if a == b else _U(0), end):
            D[row + j] += u * J[ub + j] + v * J[second + j] + w * J[third + j]


@njit(error_model="numpy", _nrt=False, cache=True)
def add_outer(D: np.ndarray, h: int, width: int, g: float, J: np.ndarray, a: int, na: int, b: int, nb: int) -> None:
    """Adds g Ja^T Jb of two rows to H, whose rows have `width` numbers; if a = b, to its upper half."""
    uh, ua, ub, uw = _U(h), _U(a), _U(b), _U(width)
    for r in range(_U(na)):
        x = g * J[ua + r]
        if x == 0.0:
            continue
        for j in range(r if a == b else _U(0), _U(nb)):
            D[uh + r * uw + j] += x * J[ub + j]
