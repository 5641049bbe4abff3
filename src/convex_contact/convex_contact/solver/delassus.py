"""Diagonal estimate of the Delassus operator J A^-1 J^T, from the inverse masses of the cliques."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from convex_contact.solver.blocks import inverse_factor


@njit(error_model="numpy", _nrt=False, cache=True)
def invert_masses(w: Any, every: bool) -> None:
    """L of A^-1 = L^T L for each clique, or for each that is touched."""
    dof_start, A_start, A, A_factor, floor, scratch = w.dof_start, w.A_start, w.A, w.A_factor, w.floor, w.scratch
    touched = w.touched
    for c in range(w.n):
        if not every and touched[c] == 0:
            continue
        s, m, a = dof_start[c], dof_start[c + 1] - dof_start[c], A_start[c]
        for k in range(m * m):
            scratch[k] = A[a + k]
        for k in range(m):
            floor[s + k] = 0.0
        inverse_factor(scratch, 0, A_factor, a, m, floor, s)


@njit(error_model="numpy", _nrt=False, cache=True)
def delassus_norm(
    dof_start: np.ndarray,
    A_start: np.ndarray,
    A_factor: np.ndarray,
    J: np.ndarray,
    j: int,
    a: int,
    b: int,
) -> float:
    """w = ||J A^-1 J^T||_F / 3 of a contact; A^-1 = L^T L with the L of `inverse_factor`."""
    w11 = w12 = w13 = w22 = w23 = w33 = 0.0
    c = a
    while c >= 0:
        m, o = dof_start[c + 1] - dof_start[c], A_start[c]
        for r in range(m):
            y1 = y2 = y3 = 0.0
            for k in range(r + 1):
                x = A_factor[o + r * m + k]
                y1 += x * J[j + k]
                y2 += x * J[j + m + k]
                y3 += x * J[j + 2 * m + k]
            w11 += y1 * y1
            w12 += y1 * y2
            w13 += y1 * y3
            w22 += y2 * y2
            w23 += y2 * y3
            w33 += y3 * y3
        j += 3 * m
        c = b if c == a else -1
    return math.sqrt(w11 * w11 + w22 * w22 + w33 * w33 + 2.0 * (w12 * w12 + w13 * w13 + w23 * w23)) / 3.0


@njit(error_model="numpy", _nrt=False, cache=True)
def row_delassus(
    dof_start: np.ndarray, A_start: np.ndarray, A_factor: np.ndarray, J: np.ndarray, j: int, a: int, b: int
) -> float:
    """J A^-1 J^T of one row."""
    total = 0.0
    c = a
    while c >= 0:
        m, o = dof_start[c + 1] - dof_start[c], A_start[c]
        for r in range(m):
            y = 0.0
            for k in range(r + 1):
                y += A_factor[o + r * m + k] * J[j + k]
            total += y * y
        j += m
        c = b if c == a else -1
    return total
