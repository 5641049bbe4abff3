"""Rotations in NumPy: the paper's angles, quaternions (x, y, z, w), rotation vectors that are exact at every angle."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from admittance_constraints.checks import finite_matrix, finite_vector


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
    x, y, z, w = finite_vector("quaternion", quaternion, 4)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def quaternion_product(a: ArrayLike, b: ArrayLike) -> np.ndarray:
    """Computes the quaternion (x, y, z, w) of the rotation R(a) R(b)."""
    ax, ay, az, aw = finite_vector("a", a, 4).tolist()
    bx, by, bz, bw = finite_vector("b", b, 4).tolist()
    return np.array(
        (
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
            aw * bw - ax * bx - ay * by - az * bz,
        )
    )


def quaternion_from_rotation(rotation: ArrayLike) -> np.ndarray:
    """Computes a unit quaternion (x, y, z, w) of a rotation matrix from its largest component; w may be negative."""
    R = finite_matrix("rotation", rotation, (3, 3))
    trace = float(np.trace(R))
    skew = [R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]
    outer = np.empty((4, 4))  # 4 Q Q^T
    outer[:3, :3] = R + R.T
    outer[range(3), range(3)] = [1.0 + 2.0 * R[i, i] - trace for i in range(3)]
    outer[3, :3] = outer[:3, 3] = skew
    outer[3, 3] = 1.0 + trace
    row = outer[int(np.diag(outer).argmax())]
    return np.asarray(row / np.linalg.norm(row))


def rotation_vector(rotation: ArrayLike) -> np.ndarray:
    """Computes theta K [rad] of a rotation matrix, shape (3,), 0 <= theta <= pi.

    The printed (45), (46) divide by sin theta and take the arccosine of the trace: the result is not a number at
    theta = 0, and its relative error near pi is up to 1e8. The half angle of the quaternion is exact at both. At
    theta = pi, K and -K are the same rotation, and one of them is given.
    """
    Q = quaternion_from_rotation(rotation)
    if Q[3] < 0.0:
        Q = -Q
    sine = float(np.linalg.norm(Q[:3]))
    if sine == 0.0:
        return np.zeros(3)
    return np.asarray(2.0 * np.arctan2(sine, Q[3]) / sine * Q[:3])
