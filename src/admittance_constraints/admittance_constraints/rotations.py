"""Rotations in NumPy: the paper's angles, quaternions (x, y, z, w), rotation vectors that are exact at every angle."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from admittance_constraints.checks import finite_matrix, finite_vector
from haptic_math import rotations


def rotation_from_angles(angles: ArrayLike) -> np.ndarray:
    """Computes R = Rz(q4) Rx(q6) Rz(q5), body to space, of angles (q4, q5, q6) [rad], shape (3, 3)."""
    q4, q5, q6 = finite_vector("angles", angles, 3)
    c4, c5, c6, s4, s5, s6 = np.cos(q4), np.cos(q5), np.cos(q6), np.sin(q4), np.sin(q5), np.sin(q6)
    return np.array(
        [
            [c4 * c5 - s4 * c6 * s5, -c4 * s5 - s4 * c6 * c5, s4 * s6],
            [s4 * c5 + c4 * c6 * s5, -s4 * s5 + c4 * c6 * c5, -c4 * s6],
            [s6 * s5, s6 * c5, c6],
        ]
    )


def body_rates(angles: ArrayLike) -> np.ndarray:
    """Computes E with omega_body = E (q4', q5', q6'), from (42), shape (3, 3)."""
    _, q5, q6 = finite_vector("angles", angles, 3)
    c5, c6, s5, s6 = np.cos(q5), np.cos(q6), np.sin(q5), np.sin(q6)
    return np.array([[s6 * s5, 0.0, c5], [s6 * c5, 0.0, -s5], [c6, 1.0, 0.0]])


def angle_jacobian(angles: ArrayLike) -> np.ndarray:
    """Maps (q4', q5', q6') to the angular velocity in the base frame, shape (3, 3)."""
    return rotation_from_angles(angles) @ body_rates(angles)


def rotation_from_quaternion(quaternion: ArrayLike) -> np.ndarray:
    """Computes the rotation matrix of a unit quaternion (x, y, z, w), shape (3, 3)."""
    return rotations.matrix_from_quaternion(finite_vector("quaternion", quaternion, 4))


def quaternion_product(a: ArrayLike, b: ArrayLike) -> np.ndarray:
    """Computes the quaternion (x, y, z, w) of the rotation R(a) R(b)."""
    return rotations.quaternion_product(finite_vector("a", a, 4), finite_vector("b", b, 4))


def quaternion_from_rotation(rotation: ArrayLike) -> np.ndarray:
    """Computes a unit quaternion (x, y, z, w) of a rotation matrix from its largest component; w may be negative."""
    return rotations.quaternion_from_matrix(finite_matrix("rotation", rotation, (3, 3)))


def rotation_vector(rotation: ArrayLike) -> np.ndarray:
    """Computes theta K [rad] of a rotation matrix, shape (3,), 0 <= theta <= pi.

    The printed (45), (46) divide by sin theta and take the arccosine of the trace, which is not accurate near 0 and pi;
    see `haptic_math.rotations.vector_from_matrix`.
    """
    return rotations.vector_from_matrix(finite_matrix("rotation", rotation, (3, 3)))
