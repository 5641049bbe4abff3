"""Vectors of three numbers and small matrices in compiled code."""

from __future__ import annotations

import math

import numpy as np
from numba import njit


@njit(cache=True, nogil=True, error_model="numpy")
def invert_leading(A: np.ndarray, n: int, out: np.ndarray) -> None:
    """Inverse of the leading n x n block, symmetric positive definite, by Cholesky's method."""
    L = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            s = A[i, j]
            for k in range(j):
                s -= L[i, k] * L[j, k]
            L[i, j] = math.sqrt(s) if i == j else s / L[j, j]
    x = np.zeros(n)
    for column in range(n):
        for i in range(n):
            s = 1.0 if i == column else 0.0
            for k in range(i):
                s -= L[i, k] * x[k]
            x[i] = s / L[i, i]
        for i in range(n - 1, -1, -1):
            s = x[i]
            for k in range(i + 1, n):
                s -= L[k, i] * x[k]
            x[i] = s / L[i, i]
            out[i, column] = x[i]


@njit(cache=True, nogil=True, error_model="numpy")
def add_cross(s: float, a: np.ndarray, b: np.ndarray, out: np.ndarray) -> None:
    """out += s a x b."""
    x, y, z = a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]
    out[0] += s * x
    out[1] += s * y
    out[2] += s * z


@njit(cache=True, nogil=True, error_model="numpy")
def dot(a: np.ndarray, b: np.ndarray) -> float:
    """a . b."""
    return float(a[0] * b[0] + a[1] * b[1] + a[2] * b[2])


@njit(cache=True, nogil=True, error_model="numpy")
def add_scaled(s: float, a: np.ndarray, out: np.ndarray) -> None:
    """out += s a."""
    for i in range(3):
        out[i] += s * a[i]
