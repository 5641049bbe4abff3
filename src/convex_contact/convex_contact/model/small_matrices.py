"""Cholesky's method for small matrices in compiled code."""

from __future__ import annotations

import math

import numpy as np
from numba import njit


@njit(cache=True, nogil=True, error_model="numpy")
def factorise_leading(A: np.ndarray, n: int, L: np.ndarray) -> None:
    """Factorises the leading n x n block A = L L^T, symmetric positive definite; writes the lower half of L."""
    for i in range(n):
        for j in range(i + 1):
            x = A[i, j]
            for k in range(j):
                x -= L[i, k] * L[j, k]
            L[i, j] = math.sqrt(x) if i == j else x / L[j, j]


@njit(cache=True, nogil=True, error_model="numpy")
def solve_factorised(L: np.ndarray, n: int, x: np.ndarray) -> None:
    """Computes x <- (L L^T)^-1 x in place."""
    for i in range(n):
        s = x[i]
        for k in range(i):
            s -= L[i, k] * x[k]
        x[i] = s / L[i, i]
    for i in range(n - 1, -1, -1):
        s = x[i]
        for k in range(i + 1, n):
            s -= L[k, i] * x[k]
        x[i] = s / L[i, i]
