"""Torque limits as constraints over a short horizon: a small quadratic program in every sample.

With v = u + d (torque beyond tau0, plus the estimated input torque), constant in blocks,

    minimise sum x_k^T Q x_k + v_k^T R v_k + x_N^T P x_N,   x_k+1 = A_d x_k + B_d v_k,   |tau0 + v - d| <= peak,

P from the Riccati equation, so that without active limits the solution is the LQR's but for the blocks (1 %). Condensed to the blocks:
v^T H v / 2 + v^T F x with lower <= v <= upper, solved by a projected Newton method on the free variables. Every
iterate is inside the limits; the first block is what acts.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

#: samples of each block
BLOCKS = (1, 1, 1, 2, 3, 4)
SIZE = 6 * len(BLOCKS)
#: Newton steps of one sample at most
ITERATIONS = 12


def condense(A: np.ndarray, B: np.ndarray, Q: np.ndarray, R: np.ndarray, P: np.ndarray) -> tuple[np.ndarray, ...]:
    """Hessian H (SIZE, SIZE), gradient F (SIZE, 12) per state, and the solution without limits -H^-1 F."""
    n, m = B.shape
    free, forced = np.eye(n), np.zeros((n, SIZE))
    H, F = np.zeros((SIZE, SIZE)), np.zeros((SIZE, n))
    N, k = sum(BLOCKS), 0
    for b, length in enumerate(BLOCKS):
        place = slice(m * b, m * (b + 1))
        for _ in range(length):
            k += 1
            free = A @ free
            forced = A @ forced
            forced[:, place] += B
            weight = P if k == N else Q
            H += forced.T @ weight @ forced
            F += forced.T @ weight @ free
        H[place, place] += length * R
    H = 0.5 * (H + H.T)
    return H, F, -np.linalg.solve(H, F)


@njit(cache=True, error_model="numpy")
def solve_box(
    H: np.ndarray, g: np.ndarray, lower: np.ndarray, upper: np.ndarray, v: np.ndarray, iterations: int
) -> int:
    """Minimises v^T H v / 2 + g^T v over lower <= v <= upper from v inside; returns the Newton steps taken.

    Variables at a limit that the gradient presses against stay; the others take a Newton step, cut at the limits
    and halved until the cost falls.
    """
    n = v.shape[0]
    gradient, step, trial = np.empty(n), np.empty(n), np.empty(n)
    free = np.empty(n, dtype=np.int64)
    L = np.empty((n, n))
    for iteration in range(iterations):
        count = 0
        largest = 0.0
        for i in range(n):
            s = g[i]
            for j in range(n):
                s += H[i, j] * v[j]
            gradient[i] = s
            pressed = (v[i] <= lower[i] and s > 0.0) or (v[i] >= upper[i] and s < 0.0)
            if not pressed:
                free[count] = i
                count += 1
        # Newton step of the free ones
        for a in range(count):
            i = free[a]
            for b in range(a + 1):
                s = H[i, free[b]]
                for c in range(b):
                    s -= L[a, c] * L[b, c]
                if a == b:
                    L[a, a] = math.sqrt(max(s, 1e-300))
                else:
                    L[a, b] = s / L[b, b]
        for a in range(count):
            s = -gradient[free[a]]
            for c in range(a):
                s -= L[a, c] * step[c]
            step[a] = s / L[a, a]
        for a in range(count - 1, -1, -1):
            s = step[a]
            for c in range(a + 1, count):
                s -= L[c, a] * step[c]
            step[a] = s / L[a, a]
            largest = max(largest, abs(step[a]))
        if largest < 1e-9:
            return iteration
        length, accepted, cut = 1.0, False, False
        for _ in range(8):
            fall = 0.0
            cut = False
            for i in range(n):
                trial[i] = v[i]
            for a in range(count):
                i = free[a]
                x = v[i] + length * step[a]
                if x < lower[i]:
                    x, cut = lower[i], True
                elif x > upper[i]:
                    x, cut = upper[i], True
                trial[i] = x
            for i in range(n):
                di = trial[i] - v[i]
                if di == 0.0:
                    continue
                s = 0.0
                for j in range(n):
                    s += H[i, j] * (trial[j] - v[j])
                fall += di * (gradient[i] + 0.5 * s)
            if fall < 0.0:
                accepted = True
                break
            length *= 0.5
        if not accepted:
            return iteration
        for i in range(n):
            v[i] = trial[i]
        if not cut and length == 1.0 and count == n:
            return iteration + 1
    return iterations
