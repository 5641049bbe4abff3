"""Compiled linear algebra for matrices of a few rows."""

from __future__ import annotations

import math

import numpy as np
from numba import njit


@njit(cache=True, error_model="numpy")
def cholesky_solve(A: np.ndarray, b: np.ndarray) -> bool:
    """Solves A x = b for a positive definite A; overwrites A with its factor and b with x."""
    n = b.shape[0]
    for j in range(n):
        d = A[j, j]
        for k in range(j):
            d -= A[j, k] * A[j, k]
        if not d > 0.0:
            return False
        d = math.sqrt(d)
        A[j, j] = d
        for i in range(j + 1, n):
            s = A[i, j]
            for k in range(j):
                s -= A[i, k] * A[j, k]
            A[i, j] = s / d
    for i in range(n):
        s = b[i]
        for k in range(i):
            s -= A[i, k] * b[k]
        b[i] = s / A[i, i]
    for i in range(n - 1, -1, -1):
        s = b[i]
        for k in range(i + 1, n):
            s -= A[k, i] * b[k]
        b[i] = s / A[i, i]
    return True


@njit(cache=True, error_model="numpy")
def gauss_solve(A: np.ndarray, B: np.ndarray) -> bool:
    """Solves A X = B by elimination with pivoting; overwrites A, and B (n, m) with X. False if A is singular."""
    n, m = A.shape[0], B.shape[1]
    for j in range(n):
        pivot = j
        for i in range(j + 1, n):
            if abs(A[i, j]) > abs(A[pivot, j]):
                pivot = i
        if A[pivot, j] == 0.0:
            return False
        if pivot != j:
            for k in range(n):
                A[j, k], A[pivot, k] = A[pivot, k], A[j, k]
            for k in range(m):
                B[j, k], B[pivot, k] = B[pivot, k], B[j, k]
        for i in range(j + 1, n):
            f = A[i, j] / A[j, j]
            if f != 0.0:
                for k in range(j + 1, n):
                    A[i, k] -= f * A[j, k]
                for k in range(m):
                    B[i, k] -= f * B[j, k]
    for k in range(m):
        for i in range(n - 1, -1, -1):
            s = B[i, k]
            for j in range(i + 1, n):
                s -= A[i, j] * B[j, k]
            B[i, k] = s / A[i, i]
    return True
