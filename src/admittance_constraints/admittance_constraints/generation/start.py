"""Start of a reference, line 1 of Algorithm 1: parameters z, and velocities that satisfy the constraints."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import ArrayLike

from admittance_constraints.model import consistency
from admittance_constraints.model.mechanism import Mechanism

#: A qdot of a stated velocity, relative to the velocity, that counts as rounding of a user's input
_CONSISTENT = 1e-6


def nominal_parameters(mechanism: Mechanism, q: ArrayLike | None) -> np.ndarray:
    """Returns z of the mechanism's nominal point, shape (nz,).

    Args:
        mechanism: mechanism; without psi(z), z is the point of the submanifold next to q.
        q: coordinates, shape (n,); the nominal ones, or zero, if not given.

    Raises:
        SingularConfigurationError: no point of the submanifold is found.
    """
    d = mechanism.definition
    if mechanism.has_parametrisation:
        return consistency.nominal_z(d)
    if q is not None:
        return mechanism.project_position(q)
    return mechanism.project_position(np.zeros(mechanism.dimension) if d.nominal_q is None else d.nominal_q)


def consistent_velocity(
    mechanism: Mechanism,
    z: np.ndarray,
    q: np.ndarray,
    z_velocity: np.ndarray,
    q_velocity: np.ndarray,
    *,
    is_projected: bool,
) -> tuple[np.ndarray, np.ndarray]:
    """Projects the velocities of the start onto A qdot = 0.

    Issues a warning, attributed to the caller of the generator's class, if the velocities violate a constraint by more
    than rounding.

    Args:
        mechanism: mechanism with nz parameters and n coordinates.
        z: parameters, shape (nz,).
        q: coordinates, shape (n,).
        z_velocity: velocity of z, shape (nz,).
        q_velocity: velocity of q, shape (n,).
        is_projected: false leaves the velocities unchanged, with the same warning.

    Returns:
        z_velocity and q_velocity.
    """
    m = mechanism
    residual = m.constraint_matrix(q) @ q_velocity
    if not residual.size or not np.abs(residual).max() > 0.0:
        return z_velocity, q_velocity
    if np.abs(residual).max() > _CONSISTENT * max(float(np.abs(q_velocity).max()), 1e-3):
        worst = int(np.abs(residual).argmax())
        what = "is projected onto it" if is_projected else "is kept"
        warnings.warn(
            f"z_velocity: constraint {m.constraint_names[worst]} is violated by {residual[worst]:.3g}; "
            f"the velocity {what}",
            stacklevel=4,
        )
    if not is_projected:
        return z_velocity, q_velocity
    projected = m.project_velocity(q, q_velocity)
    if m.has_parametrisation:
        z_velocity = np.linalg.lstsq(m.parametric_jacobian(z), m.task_jacobian(q) @ projected, rcond=None)[0]
    else:
        z_velocity = projected
    return z_velocity, projected
