"""Two bodies in a row on a moving base with rigid Coulomb contacts (section IV-A of Kikuuwe et al., Figs. 9 to 11)."""

from __future__ import annotations

from itertools import pairwise

import numpy as np


def rigid_chain(
    base_velocity: np.ndarray,
    *,
    period: float,
    mass: tuple[float, float],
    stiffness: tuple[float, float],
    force: tuple[float, float],
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Steps two bodies on a moving base by implicit Euler.

    Every step ends at velocities v1, v2 and forces f1, f2 with

        (M1 + T^2 K1) v1 = M1 v1_old - T K1 x1 + T (f1 - f2),    f1 in F1 Sgn(u - v1)
        (M2 + T^2 K2) v2 = M2 v2_old - T K2 x2 + T f2,           f2 in F2 Sgn(v1 - v2)

    Each iteration computes one force after the other: the force at which the contact sticks, clipped to its friction
    force. This is a contraction by a factor of 2 or more.

    Args:
        base_velocity: u [m/s], shape (n,).
        period: T [s].
        mass: M1, M2 [kg].
        stiffness: K1, K2 of the springs to the wall [N/m].
        force: F1, F2 [N].

    Returns:
        Positions [m], forces [N] and flags of sticking, shape (n, 2) each.
    """
    T, (M1, M2), (K1, K2) = period, mass, stiffness
    limit1, limit2 = T * force[0], T * force[1]
    m1, m2 = M1 + T * T * K1, M2 + T * T * K2
    both = m1 * m2 / (m1 + m2)
    tolerance = 1e-13 * max(limit1, limit2)
    x1 = x2 = v1 = v2 = p1 = p2 = 0.0
    positions, forces, sticking = [], [], []
    for u in base_velocity.tolist():
        a1, a2 = (M1 * v1 - T * K1 * x1) / m1, (M2 * v2 - T * K2 * x2) / m2
        for _ in range(200):
            before = p1
            p1 = min(max(m1 * (u - a1) + p2, -limit1), limit1)
            p2 = min(max(both * (a1 - a2 + p1 / m1), -limit2), limit2)
            if abs(p1 - before) <= tolerance:
                break
        v1, v2 = a1 + (p1 - p2) / m1, a2 + p2 / m2
        x1, x2 = x1 + T * v1, x2 + T * v2
        positions.append((x1, x2))
        forces.append((p1 / T, p2 / T))
        sticking.append((abs(p1) < limit1, abs(p2) < limit2))
    return np.array(positions), np.array(forces), np.array(sticking)


def momentum_residual(
    velocity: np.ndarray,
    position: np.ndarray,
    force: np.ndarray,
    *,
    mass: np.ndarray,
    spring: np.ndarray,
    period: float,
) -> float:
    """Computes the largest error of M v' = sum of forces - K x, with the forces of the step before (60).

    Args:
        velocity: velocities of the bodies [m/s], shape (n, 2).
        position: positions of the bodies [m], shape (n, 2).
        force: forces of the contacts, the first on body 1 alone [N], shape (n, 2).
        mass: M1, M2 [kg].
        spring: K1, K2 of the springs to the wall [N/m].
        period: T [s].

    Returns:
        Error over the largest of these forces.
    """
    pull = np.column_stack((force[:-1, 0] - force[:-1, 1], force[:-1, 1])) - spring * position[:-1]
    residual = mass * np.diff(velocity, axis=0) / period - pull
    return float(np.abs(residual).max(initial=0.0)) / max(float(np.abs(pull).max(initial=0.0)), 1e-300)


def rising_periods(signal: np.ndarray) -> list[tuple[int, int]]:
    """Finds first index and end of each period of a signal (n,), from one rise through zero to the next."""
    rises = np.flatnonzero((signal[:-1] <= 0.0) & (signal[1:] > 0.0))
    return [(int(a), int(b)) for a, b in pairwise(rises)]
