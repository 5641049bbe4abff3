"""Damping and stiffness on SE(3), appendices I and II, eqs. (41) to (46).

Both wrenches are [force; moment] in the body frame at the body's origin, and act as -tau_d and -tau_s
(section II-E). Generalised forces follow as tau_q = J_b^T tau with the body Jacobian J_b of `body_jacobian`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from admittance_constraints import rotations
from admittance_constraints.checks import finite_matrix, finite_number, finite_vector


def body_jacobian(q: ArrayLike) -> np.ndarray:
    """Computes J_b with [v; omega] = J_b qdot in the body frame, eqs. (42), (43), shape (6, 6).

    Args:
        q: coordinates of a rigid body, position [m] and angles (q4, q5, q6) [rad], shape (6,).
    """
    q = finite_vector("q", q, 6)
    J = np.zeros((6, 6))
    J[:3, :3] = rotations.rotation_from_angles(q[3:]).T
    J[3:, 3:] = rotations.body_rates(q[3:])
    return J


def body_twist(q: ArrayLike, qdot: ArrayLike) -> np.ndarray:
    """Computes [v; omega] in the body frame, eqs. (42), (43), shape (6,) [m/s; rad/s]."""
    return body_jacobian(q) @ finite_vector("qdot", qdot, 6)


def generalised_force(wrench: ArrayLike, q: ArrayLike) -> np.ndarray:
    """Computes tau_q = J_b^T tau of a body-frame wrench, shape (6,)."""
    return body_jacobian(q).T @ finite_vector("wrench", wrench, 6)


def damping_wrench(twist: ArrayLike, translational: float, rotational: float) -> np.ndarray:
    """Computes tau_d in the body frame, eq. (41), shape (6,) [N; N m]; the force on the body is -tau_d.

    Args:
        twist: [v; omega] in the body frame, shape (6,) [m/s; rad/s].
        translational: b_t [N s/m], not negative.
        rotational: b_r [N m s/rad], not negative.
    """
    V = finite_vector("twist", twist, 6)
    b_t = finite_number("translational", translational, minimum=0.0)
    b_r = finite_number("rotational", rotational, minimum=0.0)
    return np.concatenate([b_t * V[:3], b_r * V[3:]])


def spring_wrench(
    position: ArrayLike,
    rotation: ArrayLike,
    translational: float,
    rotational: float,
    *,
    origin: ArrayLike,
    origin_rotation: ArrayLike,
) -> np.ndarray:
    """Computes tau_s in the body frame, eq. (44), shape (6,) [N; N m]; -tau_s pulls the body to the origin.

    theta K of (45), (46) is computed from a quaternion, exact near theta = 0 and pi. At theta = pi both directions are
    equivalent, and one is taken.

    Args:
        position: position of the body [m], base frame, shape (3,).
        rotation: R, body to space, shape (3, 3).
        translational: k_t [N/m], not negative.
        rotational: k_r [N m/rad], not negative.
        origin: p_o [m], base frame, shape (3,).
        origin_rotation: R_o, shape (3, 3).
    """
    p, p_o = finite_vector("position", position, 3), finite_vector("origin", origin, 3)
    R = finite_matrix("rotation", rotation, (3, 3))
    R_o = finite_matrix("origin_rotation", origin_rotation, (3, 3))
    k_t = finite_number("translational", translational, minimum=0.0)
    k_r = finite_number("rotational", rotational, minimum=0.0)
    return -np.concatenate([k_t * (R.T @ (p_o - p)), k_r * rotations.rotation_vector(R.T @ R_o)])


def spring_energy(
    position: ArrayLike,
    rotation: ArrayLike,
    translational: float,
    rotational: float,
    *,
    origin: ArrayLike,
    origin_rotation: ArrayLike,
) -> float:
    """Computes the spring's energy k_t |p_o - p|^2 / 2 + k_r theta^2 / 2 [J]; arguments as for `spring_wrench`."""
    p, p_o = finite_vector("position", position, 3), finite_vector("origin", origin, 3)
    R = finite_matrix("rotation", rotation, (3, 3))
    theta = rotations.rotation_vector(R.T @ finite_matrix("origin_rotation", origin_rotation, (3, 3)))
    return float(translational * (p_o - p) @ (p_o - p) + rotational * theta @ theta) / 2.0
