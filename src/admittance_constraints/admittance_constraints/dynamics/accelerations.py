"""Accelerations and multipliers of a constrained mechanism, eqs. (11) to (13), in the form of the paper.

`chart` has the same equations as compiled code.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from admittance_constraints.checks import finite_vector
from admittance_constraints.errors import SingularConfigurationError
from admittance_constraints.model.mechanism import Mechanism, checked_mechanism


def solve_accelerations(
    mechanism: Mechanism, q: ArrayLike, qdot: ArrayLike, tau: ArrayLike
) -> tuple[np.ndarray, np.ndarray]:
    """Solves M qddot + C qdot = tau + A^T lambda with A qddot + (dA/dt) qdot = 0.

    Args:
        mechanism: mechanism with n coordinates and m constraints.
        q: coordinates, shape (n,).
        qdot: velocities, shape (n,); they need not satisfy A qdot = 0.
        tau: all generalised forces except those of the constraints, shape (n,): f_q - tau_d - tau_s - g. The
            mechanism's own part is `mechanism.passive_force(q, qdot)`.

    Returns:
        qddot, shape (n,), eq. (13), and the multipliers lambda, shape (m,), eq. (11).

    Raises:
        ValueError: wrong shape, or a number that is not finite.
        SingularConfigurationError: M or A M^-1 A^T is singular at q.

    Examples:
        >>> from admittance_constraints import RollingDisk, solve_accelerations
        >>> disk = RollingDisk(mass=1.0, inertia=(0.01, 0.02, 0.01), radius=0.1)
        >>> q = disk.configuration([0.0, 0.0, 0.0, 0.0])
        >>> accelerations, multipliers = solve_accelerations(disk, q, [0.0] * 6, [0.0] * 6)
        >>> float(abs(accelerations).max())
        0.0
    """
    mechanism = checked_mechanism(mechanism)
    force = finite_vector("tau", tau, mechanism.dimension)
    v = finite_vector("qdot", qdot, mechanism.dimension)
    M, h = mechanism.inertia(q), mechanism.coriolis_force(q, v)
    A, bias = mechanism.constraint_matrix(q), mechanism.constraint_matrix_rate(q, v) @ v
    try:
        W = np.linalg.solve(M, A.T)  # M^-1 A^T
        multipliers = np.linalg.solve(A @ W, -bias + W.T @ (h - force))  # (11)
        acceleration = np.linalg.solve(M, force - h) + W @ multipliers  # (12), (13)
    except np.linalg.LinAlgError:
        raise SingularConfigurationError(f"the equations of motion are singular at q = {np.asarray(q)}") from None
    return acceleration, multipliers
