"""Derivatives of a contact's w, the diagonal estimate of its Delassus operator."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from convex_contact.differentiation.records import ContactMotion, ContactPartials, Points, Trees
from convex_contact.differentiation.small_vectors import add_cross, dot
from convex_contact.model.bodies import FREE


@njit(cache=True, nogil=True, error_model="numpy")
def differentiate_delassus_norm(
    w: Trees,
    c: Points,
    k: int,
    motion: ContactMotion,
    J: np.ndarray,
    inverse: np.ndarray,
    link_hessian: np.ndarray,
    mass_hessian: np.ndarray,
    w_A: np.ndarray,
    out: ContactPartials,
) -> float:
    """Returns w = ||D||_F/3 of contact k [1/kg]; writes -dw/dA (2, d, d), dw/dr, and dw/dq at fixed r.

    With Z = D/(3 ||D||_F), X = A^-1 Q^T and Y = X Z: dw = 2 <dQ^T, Y> - <Y X^T, dA>.
    """
    d = J.shape[1] // 2
    X, Y, D = np.zeros((2 * d, 3)), np.zeros((2 * d, 3)), np.zeros((3, 3))
    F = c.frame[k]
    for slot in range(2):
        tree = c.tree[k, slot]
        if tree < 0:
            continue
        for i in range(d):
            for j in range(d):
                for row in range(3):
                    x = inverse[tree, i, j] * J[row, slot * d + j]
                    for a in range(3):
                        X[slot * d + i, a] += F[row, a] * x
        for j in range(d):
            for row in range(3):
                for i in range(3):
                    for a in range(3):
                        D[i, a] += F[row, i] * J[row, slot * d + j] * X[slot * d + j, a]
    norm = 0.0
    for i in range(3):
        norm += dot(D[i], D[i])
    norm = math.sqrt(norm)
    for i in range(2 * d):
        for a in range(3):
            Y[i, a] = dot(D[a], X[i]) / (3.0 * norm)
    out.w_r[:], out.w_q[:] = 0.0, 0.0
    _add_mass_terms(w, c, k, X, Y, mass_hessian, w_A, out.w_q)
    _add_jacobian_terms(w, c, k, motion, Y, link_hessian, out)
    return norm / 3.0


@njit(cache=True, nogil=True, error_model="numpy")
def _add_mass_terms(
    w: Trees,
    c: Points,
    k: int,
    X: np.ndarray,
    Y: np.ndarray,
    mass_hessian: np.ndarray,
    w_A: np.ndarray,
    w_q: np.ndarray,
) -> None:
    """Computes the terms of the mass matrices: writes -dw/dA, and adds dw/dq by the change of A with q."""
    d = len(X) // 2
    for slot in range(2):
        tree = c.tree[k, slot]
        if tree < 0:
            continue
        U = w_A[slot]
        for i in range(d):
            for j in range(d):
                U[i, j] = 0.5 * (dot(Y[slot * d + i], X[slot * d + j]) + dot(Y[slot * d + j], X[slot * d + i]))
        if w.tree_kind[tree] == FREE:
            # dA = [t] A - A [t], [t] acting on both halves: <U, dA> = 2 tr([t] A U)
            M = np.zeros((3, 3))
            for i in range(3):
                for a in range(3):
                    for j in range(6):
                        M[i, a] += w.A[tree, i, j] * U[j, a] + w.A[tree, 3 + i, j] * U[j, 3 + a]
            w_q[slot * d + 3] -= 2.0 * (M[1, 2] - M[2, 1])
            w_q[slot * d + 4] -= 2.0 * (M[2, 0] - M[0, 2])
            w_q[slot * d + 5] -= 2.0 * (M[0, 1] - M[1, 0])
        else:
            for i in range(d):
                for j in range(d):
                    for a in range(d):
                        w_q[slot * d + a] -= U[i, j] * mass_hessian[tree, i, j, a]


@njit(cache=True, nogil=True, error_model="numpy")
def _add_jacobian_terms(
    w: Trees, c: Points, k: int, motion: ContactMotion, Y: np.ndarray, link_hessian: np.ndarray, out: ContactPartials
) -> None:
    """Adds the terms of the contact Jacobian: dw/dr, and dw/dq by the change of the link Jacobians with q."""
    d, slots, T, r, by_r, w_q = len(Y) // 2, motion.slots, motion.T, motion.r, out.w_r, out.w_q
    at = np.zeros(3)
    for side in range(2):
        slot, link = slots[side], w.body_link[c.body[k, side]]
        sign = 2.0 * side - 1.0
        if slot < 0:
            continue
        for i in range(d):
            add_cross(2.0 * sign, Y[slot * d + i], T[side, 3:, i], by_r[side])
            if link < 0:
                continue
            for j in range(d):
                column = link_hessian[link, :, i, j]
                at[0], at[1], at[2] = column[0], column[1], column[2]
                add_cross(1.0, column[3:], r[side], at)
                w_q[slot * d + j] += 2.0 * sign * dot(at, Y[slot * d + i])
