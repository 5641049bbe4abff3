"""Derivatives of the motion of free bodies, and assembly of matrices from blocks."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from convex_contact.differentiation.records import trees_of
from convex_contact.differentiation.small_vectors import add_cross, dot
from convex_contact.model.arrays import WorldRecord
from convex_contact.model.bodies import FREE


@njit(cache=True, nogil=True, error_model="numpy")
def rotation_step(x: float, y: float, z: float, linear: bool, rotation: np.ndarray, jacobian: np.ndarray) -> None:
    """Computes E and K (3, 3) of d+ = E d + K dr, the change of an orientation's tangent d by a rotation r = (x, y, z).

    For the exact update, E = exp(r) and K is the left Jacobian of SO(3). For the paper's q0 + dt N(q0) v (`linear`),
    the angle is 2 atan(|r|/2), and K = (I + [r/2])/(1 + |r/2|^2).

    Args:
        x, y, z: rotation vector r [rad].
        linear: whether the update is linearised.
        rotation: output E.
        jacobian: output K.
    """
    square = x * x + y * y + z * z
    angle = math.sqrt(square)
    # E = I + a [r] + b [r]^2, K = scale I + e [r] + f [r]^2
    if linear:
        scale = 1.0 / (1.0 + 0.25 * square)
        a, b, e, f = scale, 0.5 * scale, 0.5 * scale, 0.0
    else:
        scale = 1.0
        if angle < 1e-3:
            a, b, f = 1.0 - square / 6.0, 0.5 - square / 24.0, 1.0 / 6.0 - square / 120.0
        else:
            half = math.sin(0.5 * angle)
            a, b = math.sin(angle) / angle, 2.0 * half * half / square
            f = (1.0 - a) / square
        e = b
    r = (x, y, z)
    for i in range(3):
        for j in range(3):
            one = 1.0 if i == j else 0.0
            # [r]_ij, and [r]^2 = r r^T - |r|^2 I
            skew = 0.0 if i == j else (-r[3 - i - j] if (j - i) % 3 == 1 else r[3 - i - j])
            twice = r[i] * r[j] - square * one
            rotation[i, j] = one + a * skew + b * twice
            jacobian[i, j] = scale * one + e * skew + f * twice


@njit(cache=True, nogil=True, error_model="numpy")
def _differentiate_rotation(
    inertia: np.ndarray, spin: np.ndarray, change: np.ndarray, period: float, by_theta: np.ndarray, by_spin: np.ndarray
) -> None:
    """Computes the angular part of `differentiate_free_bodies` (3, 3), from I, omega0 and a."""
    axis, x, y, momentum = np.zeros(3), np.zeros(3), np.zeros(3), np.zeros(3)
    for a in range(3):
        momentum[a] = dot(inertia[a], spin)
        y[a] = dot(inertia[a], change)
    for j in range(3):
        axis[:] = 0.0
        axis[j] = 1.0
        # by theta: axis x I u - I (axis x u) for u = a, and for u = omega0 under dt omega0 x
        column = by_theta[:, j]
        x[:] = 0.0
        add_cross(1.0, change, axis, x)
        for a in range(3):
            column[a] = dot(inertia[a], x)
        add_cross(1.0, axis, y, column)
        x[:] = 0.0
        add_cross(1.0, spin, axis, x)
        momentum_change = np.zeros(3)
        for a in range(3):
            momentum_change[a] = dot(inertia[a], x)
        add_cross(1.0, axis, momentum, momentum_change)
        add_cross(period, spin, momentum_change, column)
        column = by_spin[:, j]
        for a in range(3):
            column[a] = -inertia[a, j]
        add_cross(period, spin, inertia[j], column)
        add_cross(period, axis, momentum, column)


@njit(cache=True, nogil=True, error_model="numpy")
def differentiate_free_bodies(
    world: WorldRecord,
    poses: np.ndarray,
    start: np.ndarray,
    velocity: np.ndarray,
    period: float,
    linear: bool,
    R_q: np.ndarray,
    R_v: np.ndarray,
    Q_q: np.ndarray,
    Q_v: np.ndarray,
) -> None:
    """Computes derivatives of free bodies' residuals m (v - v0) ... by q and v0, and of their new poses by q and v.

    With L = I omega0 and a = omega - omega0, where I rotates with the body, the angular part has the derivatives

        by theta:   I [a] - [I a] + dt [omega0] (I [omega0] - [L]),        by omega0:   dt ([omega0] I - [L]) - I.

    Args:
        world: world after `prepare`.
        poses: poses of the bodies at the start of the step (nb, 12).
        start: v0 (nv,).
        velocity: v (nv,).
        period: dt [s].
        linear: whether the rotation is linearised.
        R_q, R_v: output, derivatives of the residual by q and v0 (trees, d, d), zeros before.
        Q_q, Q_v: output, derivatives of the new poses' tangents by q and v (trees, d, d), zeros before.
    """
    w = trees_of(world)
    inertia, change, spin = np.zeros((3, 3)), np.zeros(3), np.zeros(3)
    for tree in range(w.tree_kind.shape[0]):
        if w.tree_kind[tree] != FREE:
            continue
        i = w.tree_v[tree]
        pose = poses[w.tree_body[tree]]
        for a in range(3):
            spin[a], change[a] = start[i + 3 + a], velocity[i + 3 + a] - start[i + 3 + a]
            for b in range(3):
                inertia[a, b] = 0.0
                for p in range(3):
                    for q in range(3):
                        inertia[a, b] += pose[3 * a + p] * w.inertia[tree, 3 * p + q] * pose[3 * b + q]
        _differentiate_rotation(inertia, spin, change, period, R_q[tree, 3:6, 3:6], R_v[tree, 3:6, 3:6])
        for j in range(3):
            R_v[tree, j, j] = -w.mass[tree]
            Q_q[tree, j, j], Q_v[tree, j, j] = 1.0, period
        rotation_step(
            period * velocity[i + 3], period * velocity[i + 4], period * velocity[i + 5], linear,
            Q_q[tree, 3:6, 3:6], Q_v[tree, 3:6, 3:6],
        )  # fmt: skip
        for a in range(3):
            for b in range(3):
                Q_v[tree, 3 + a, 3 + b] *= period


@njit(cache=True, nogil=True, error_model="numpy")
def add_blocks(tree_v: np.ndarray, blocks: np.ndarray, out: np.ndarray) -> None:
    """Adds diagonal blocks (trees, d, d) to a matrix (nv, nv)."""
    for tree in range(blocks.shape[0]):
        i = tree_v[tree]
        n = tree_v[tree + 1] - i
        for a in range(n):
            for b in range(n):
                out[i + a, i + b] += blocks[tree, a, b]


@njit(cache=True, nogil=True, error_model="numpy")
def add_contact_blocks(tree_v: np.ndarray, trees: np.ndarray, blocks: np.ndarray, sign: float, out: np.ndarray) -> None:
    """Adds sign times blocks (m, s d, s d) of contacts or rows between s trees each (m, s) to a matrix (nv, nv)."""
    slots = trees.shape[1]
    d = blocks.shape[1] // slots
    for k in range(blocks.shape[0]):
        for one in range(slots):
            if trees[k, one] < 0:
                continue
            i = tree_v[trees[k, one]]
            for two in range(slots):
                if trees[k, two] < 0:
                    continue
                j = tree_v[trees[k, two]]
                for a in range(tree_v[trees[k, one] + 1] - i):
                    for b in range(tree_v[trees[k, two] + 1] - j):
                        out[i + a, j + b] += sign * blocks[k, one * d + a, two * d + b]
