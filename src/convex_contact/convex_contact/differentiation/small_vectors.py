"""Vectors of three numbers and small matrices in compiled code."""

from __future__ import annotations

import numpy as np
from numba import njit

from convex_contact.model.small_matrices import factorise_leading, solve_factorised


@njit(cache=True, nogil=True, error_model="numpy")
def invert_leading(A: np.ndarray, n: int, out: np.ndarray) -> None:
    """Inverts the leading n x n block of A, symmetric positive definite, by Cholesky factorisation."""
    L, x = np.zeros((n, n)), np.zeros(n)
    factorise_leading(A, n, L)
    for column in range(n):
        x[:] = 0.0
        x[column] = 1.0
        solve_factorised(L, n, x)
        for i in range(n):
            out[i, column] = x[i]


@njit(cache=True, nogil=True, error_model="numpy")
def add_cross(s: float, a: np.ndarray, b: np.ndarray, out: np.ndarray) -> None:
    """Adds s a x b to out, for vectors (3,)."""
    x, y, z = a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]
    out[0] += s * x
    out[1] += s * y
    out[2] += s * z


@njit(cache=True, nogil=True, error_model="numpy")
def dot(a: np.ndarray, b: np.ndarray) -> float:
    """Returns the scalar product of vectors (3,)."""
    return float(a[0] * b[0] + a[1] * b[1] + a[2] * b[2])


@njit(cache=True, nogil=True, error_model="numpy")
def add_scaled(s: float, a: np.ndarray, out: np.ndarray) -> None:
    """Adds s a to out, for vectors (3,)."""
    for i in range(3):
        out[i] += s * a[i]
