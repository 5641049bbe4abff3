"""Rotations: the project's angles, quaternions x, y, z, w, rotation vectors. World axes."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike


def rotation_from_angles(angles: ArrayLike) -> np.ndarray:
    """Returns R = Rz(c) Ry(b) Rx(a), shape (3, 3), of angles a, b, c [rad]."""
    a, b, c = (float(x) for x in np.asarray(angles, dtype=float))
    (sa, ca), (sb, cb), (sc, cc) = ((math.sin(x), math.cos(x)) for x in (a, b, c))
    return np.array(
        [
            [cc * cb, cc * sb * sa - sc * ca, cc * sb * ca + sc * sa],
            [sc * cb, sc * sb * sa + cc * ca, sc * sb * ca - cc * sa],
            [-sb, cb * sa, cb * ca],
        ]
    )


def quaternion_from_rotation(R: np.ndarray) -> np.ndarray:
    """Returns the unit quaternion x, y, z, w of a rotation matrix, w not negative."""
    squares = np.array(
        [
            1.0 + R[0, 0] - R[1, 1] - R[2, 2],
            1.0 - R[0, 0] + R[1, 1] - R[2, 2],
            1.0 - R[0, 0] - R[1, 1] + R[2, 2],
            1.0 + R[0, 0] + R[1, 1] + R[2, 2],
        ]
    )
    k = int(np.argmax(squares))
    if k == 3:
        v = [R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1], squares[3]]
    elif k == 0:
        v = [squares[0], R[0, 1] + R[1, 0], R[2, 0] + R[0, 2], R[2, 1] - R[1, 2]]
    elif k == 1:
        v = [R[0, 1] + R[1, 0], squares[1], R[1, 2] + R[2, 1], R[0, 2] - R[2, 0]]
    else:
        v = [R[2, 0] + R[0, 2], R[1, 2] + R[2, 1], squares[2], R[1, 0] - R[0, 1]]
    q = np.array(v) / np.linalg.norm(v)
    return q if q[3] >= 0.0 else -q


def rotation_from_quaternion(quaternion: ArrayLike) -> np.ndarray:
    """Returns R (3, 3) of a unit quaternion x, y, z, w."""
    x, y, z, w = np.asarray(quaternion, dtype=float)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def rotation_from_vector(vector: ArrayLike) -> np.ndarray:
    """Returns exp([v]x), shape (3, 3), of a rotation vector [rad]."""
    x, y, z = np.asarray(vector, dtype=float)
    angle = math.sqrt(x * x + y * y + z * z)
    if angle < 1e-4:
        first, second = 1.0 - angle**2 / 6.0, 0.5 - angle**2 / 24.0
    else:
        first, second = math.sin(angle) / angle, (1.0 - math.cos(angle)) / angle**2
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + first * K + second * (K @ K)
