"""Implicit joint springs, damping and rotor inertia as part of A and v* (section III-A).

With the stiff forces k_1 = -K (q - q_rest) - D v at the end of the step, q = q0 + dt v, and all others k_2 at its
start,

    M (v - v0) = dt k_1 + dt k_2    becomes    A (v - v*) = 0,
    A = M + R + dt D + dt^2 K,      v* = A^-1 ((M + R) v0 + dt k_2 - dt K (q0 - q_rest)).
"""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import ArrayLike

from convex_contact.problem import checks


def implicit_terms(
    mass_matrix: ArrayLike,
    velocity: ArrayLike,
    *,
    period: float,
    force: ArrayLike | None = None,
    damping: ArrayLike | None = None,
    stiffness: ArrayLike | None = None,
    deflection: ArrayLike | None = None,
    rotor_inertia: ArrayLike | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Computes A and v* of a step.

    Args:
        mass_matrix: M, shape (nv, nv).
        velocity: v0, shape (nv,).
        period: dt [s].
        force: k_2, all generalised forces evaluated at the start of the step, with gravity and gyroscopic terms,
            shape (nv,).
        damping: D, shape (nv,) for its diagonal or (nv, nv), positive semidefinite.
        stiffness: K, shape (nv,) for its diagonal or (nv, nv), positive semidefinite.
        deflection: q0 - q_rest, shape (nv,).
        rotor_inertia: reflected inertia R [kg m^2], its diagonal, shape (nv,).

    Returns:
        A, shape (nv, nv), and v*, shape (nv,).

    Raises:
        ValueError: a wrong shape, a number that is not finite, or A is not positive definite.

    Examples:
        >>> from convex_contact import implicit_terms
        >>> A, momentum = implicit_terms([[1.0]], [0.0], period=0.1, damping=[[10.0]])[:2]
        >>> A.tolist()
        [[2.0]]
    """
    v0 = np.asarray(velocity, dtype=float)
    n = v0.size
    v0 = checks.array("velocity", v0, (n,))
    dt = checks.number("period", period, above=0.0)

    def matrix(name: str, value: ArrayLike | None) -> np.ndarray:
        if value is None:
            return np.zeros((n, n))
        return np.diag(checks.array(name, value, (n,))) if np.ndim(value) == 1 else checks.array(name, value, (n, n))

    def vector(name: str, value: ArrayLike | None) -> np.ndarray:
        return np.zeros(n) if value is None else checks.array(name, value, (n,))

    M = checks.array("mass_matrix", mass_matrix, (n, n)) + np.diag(vector("rotor_inertia", rotor_inertia))
    D, K = matrix("damping", damping), matrix("stiffness", stiffness)
    A = checks.positive_definite("mass_matrix, damping, stiffness", M + dt * D + dt * dt * K, (n, n))
    momentum = M @ v0 + dt * vector("force", force) - dt * K @ vector("deflection", deflection)
    return A, np.asarray(scipy.linalg.solve(A, momentum, assume_a="pos"))
