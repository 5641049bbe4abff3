"""Torque limits as constraints over a short horizon: a small quadratic program in every sample.

With v = u + d (torque beyond tau0, plus the estimated input torque), constant in blocks,

    minimise sum x_k^T Q x_k + v_k^T R v_k + x_N^T P x_N,   x_k+1 = A_d x_k + B_d v_k,   |tau0 + v - d| <= peak,

P from the Riccati equation, so that without active limits the solution differs from the LQR's only by the blocks (1 %).
Condensed: v^T H v / 2 + v^T F x with lower <= v <= upper. Only the first block is applied.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

#: samples of each block
BLOCKS = (1, 1, 1, 2, 3, 4)
SIZE = 6 * len(BLOCKS)
#: largest number of iterations of the solver in one sample, and sweeps of coordinate descent after them
ITERATIONS = 15
SWEEPS = 5


def condense(A: np.ndarray, B: np.ndarray, Q: np.ndarray, R: np.ndarray, P: np.ndarray) -> tuple[np.ndarray, ...]:
    """Returns the Hessian H (SIZE, SIZE), the gradient F (SIZE, 12) per state, and the free solution -H^-1 F."""
    n, m = B.shape
    free, forced = np.eye(n), np.zeros((n, SIZE))
    H, F = np.zeros((SIZE, SIZE)), np.zeros((SIZE, n))
    N, k = sum(BLOCKS), 0
    for b, length in enumerate(BLOCKS):
        block = slice(m * b, m * (b + 1))
        for _ in range(length):
            k += 1
            free = A @ free
            forced = A @ forced
            forced[:, block] += B
            weight = P if k == N else Q
            H += forced.T @ weight @ forced
            F += forced.T @ weight @ free
        H[block, block] += length * R
    H = 0.5 * (H + H.T)
    return H, F, -np.linalg.solve(H, F)


@njit(cache=True, error_model="numpy")
def solve_box(
    H: np.ndarray, g: np.ndarray, lower: np.ndarray, upper: np.ndarray, v: np.ndarray, iterations: int
) -> int:
    """Minimises v^T H v / 2 + g^T v over lower <= v <= upper, starting from v; returns the iterations taken.

    Primal-dual active sets: a variable at a limit stays there while the gradient points outwards, the others are solved
    exactly, and the sets follow from the result. It takes three to six iterations in most samples. If the sets still
    change in the last iteration, the result is clipped to the limits and improved by coordinate descent.
    """
    n = v.shape[0]
    side = np.zeros(n, dtype=np.int64)
    free = np.empty(n, dtype=np.int64)
    L, b = np.empty((n, n)), np.empty(n)
    for i in range(n):
        side[i] = -1 if v[i] <= lower[i] else (1 if v[i] >= upper[i] else 0)
    for iteration in range(iterations):
        count = 0
        for i in range(n):
            if side[i] == 0:
                free[count] = i
                count += 1
            else:
                v[i] = upper[i] if side[i] > 0 else lower[i]
        for a in range(count):
            i = free[a]
            s = -g[i]
            for j in range(n):
                if side[j] != 0:
                    s -= H[i, j] * v[j]
            for c in range(a + 1):
                t = H[i, free[c]]
                for k in range(c):
                    t -= L[a, k] * L[c, k]
                if c == a:
                    L[a, a] = math.sqrt(t)
                else:
                    L[a, c] = t / L[c, c]
                    s -= L[a, c] * b[c]
            b[a] = s / L[a, a]
        for a in range(count - 1, -1, -1):
            s = b[a]
            for c in range(a + 1, count):
                s -= L[c, a] * b[c]
            b[a] = s / L[a, a]
            v[free[a]] = b[a]
        settled = True
        for i in range(n):
            if side[i] == 0:
                if v[i] < lower[i]:
                    side[i], settled = -1, False
                elif v[i] > upper[i]:
                    side[i], settled = 1, False
            else:
                s = g[i]
                for j in range(n):
                    s += H[i, j] * v[j]
                if s * side[i] > 0.0:
                    side[i], settled = 0, False
        if settled:
            return iteration + 1
    for i in range(n):
        v[i] = min(max(v[i], lower[i]), upper[i])
    for _ in range(SWEEPS):
        for i in range(n):
            s = g[i]
            for j in range(n):
                s += H[i, j] * v[j]
            v[i] = min(max(v[i] - s / H[i, i], lower[i]), upper[i])
    return iterations
