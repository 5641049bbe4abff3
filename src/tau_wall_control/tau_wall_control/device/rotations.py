"""Rotations: the project's angles, quaternions x, y, z, w, rotation vectors. World axes."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from haptic_math import rotations
from haptic_math.rotations import matrix_from_quaternion as rotation_from_quaternion
from haptic_math.rotations import matrix_from_vector as rotation_from_vector

__all__ = ["quaternion_from_rotation", "rotation_from_angles", "rotation_from_quaternion", "rotation_from_vector"]


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
    return rotations.quaternion_from_matrix(R, positive_w=True)
