"""Matrices of the equations of motion, eq. (13) of Faulring et al., and the inertia in the task space.

qddot = -A~ (dA/dt) qdot + M^-1 P_u (tau - C qdot)                                                        (13)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from admittance_constraints.errors import SingularConfigurationError
from admittance_constraints.model.mechanism import Mechanism


def constraint_inverse(mechanism: Mechanism, q: ArrayLike) -> np.ndarray:
    """Computes A~ = M^-1 A^T (A M^-1 A^T)^-1, shape (n, m), the right inverse of A weighted with the inertia.

    -A~ (dA/dt) qdot is the acceleration due to the constraints alone.

    Args:
        mechanism: mechanism with n coordinates and m constraints.
        q: coordinates, shape (n,).

    Raises:
        SingularConfigurationError: M or A M^-1 A^T is singular at q.

    Examples:
        >>> import numpy as np
        >>> from admittance_constraints import RollingDisk, constraint_inverse
        >>> disk = RollingDisk()
        >>> q = disk.configuration([0.0, 0.0, 0.0, 0.0])
        >>> product = disk.constraint_matrix(q) @ constraint_inverse(disk, q)
        >>> bool(np.allclose(product, np.eye(4)))
        True
    """
    A = mechanism.constraint_matrix(q)
    try:
        W = np.linalg.solve(mechanism.inertia(q), A.T)
        return np.asarray(np.linalg.solve((A @ W).T, W.T).T)
    except np.linalg.LinAlgError:
        raise SingularConfigurationError(f"the equations of motion are singular at q = {np.asarray(q)}") from None


def unconstrained_projection(mechanism: Mechanism, q: ArrayLike) -> np.ndarray:
    """Computes P_u = 1 - A^T (A M^-1 A^T)^-1 A M^-1, shape (n, n), which projects to the forces that do work.

    Args:
        mechanism: mechanism with n coordinates.
        q: coordinates, shape (n,).

    Raises:
        SingularConfigurationError: M or A M^-1 A^T is singular at q.

    Examples:
        >>> import numpy as np
        >>> from admittance_constraints import RollingDisk, unconstrained_projection
        >>> disk = RollingDisk()
        >>> P = unconstrained_projection(disk, disk.configuration([0.0, 0.0, 0.0, 0.0]))
        >>> bool(np.allclose(P @ P, P))
        True
    """
    A = mechanism.constraint_matrix(q)
    return np.asarray(np.eye(mechanism.dimension) - A.T @ constraint_inverse(mechanism, q).T)


def task_space_inertia(mechanism: Mechanism, q: ArrayLike) -> np.ndarray:
    """Computes M'(q) = J^-T M J^-1 (6, 6) with J = dphi/dq, the inertia in task-space coordinates (Fig. 1).

    For a mechanism with fewer than six coordinates J^-1 is the pseudoinverse. Then M' gives the kinetic energy of every
    motion that the mechanism can make, and is zero in the orthogonal directions.

    Args:
        mechanism: mechanism with n coordinates.
        q: coordinates, shape (n,).

    Raises:
        SingularConfigurationError: J does not have full column rank at q, e.g. where its angles are singular.

    Examples:
        >>> from admittance_constraints import RollingDisk, task_space_inertia
        >>> disk = RollingDisk()
        >>> task_space_inertia(disk, disk.configuration([0.0, 0.0, 0.0, 0.0])).shape
        (6, 6)
    """
    J = mechanism.task_jacobian(q)
    if np.linalg.matrix_rank(J, tol=1e-9 * max(1.0, float(np.abs(J).max()))) < J.shape[1]:
        raise SingularConfigurationError(f"the map to the task space is singular at q = {np.asarray(q)}")
    inverse = np.linalg.pinv(J)
    return np.asarray(inverse.T @ mechanism.inertia(q) @ inverse)
