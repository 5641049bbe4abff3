"""Rotations: quaternions x, y, z, w, matrices, rotation vectors.

R(q) maps vectors of the rotated frame to the base frame. q and -q are the same rotation. The functions take one
quaternion (4,) or, where the shape is (..., 4), arrays of them; they neither normalise nor check their arguments.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

#: angle below which exp([v]x) is a series [rad]; the error of its coefficients is below 1e-18
_SMALL_ANGLE = 1e-4
#: angle below which the quaternion of a rotation vector is linear in it [rad]
_TINY_ANGLE = 1e-12


def matrix_entries(x: Any, y: Any, z: Any, w: Any) -> tuple[Any, ...]:
    """Returns the nine entries of R, row by row, of a unit quaternion x, y, z, w; Numba can compile this function."""
    return (
        1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w),
        2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w),
        2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y),
    )  # fmt: skip


def matrix_from_quaternion(quaternion: ArrayLike) -> np.ndarray:
    """Returns R (..., 3, 3) of unit quaternions x, y, z, w, shape (..., 4)."""
    q = np.asarray(quaternion, dtype=float)
    if q.ndim == 1:
        return np.array(matrix_entries(*q.tolist())).reshape(3, 3)
    entries = matrix_entries(q[..., 0], q[..., 1], q[..., 2], q[..., 3])
    return np.stack(entries, axis=-1).reshape(*q.shape[:-1], 3, 3)


def quaternion_product(a: ArrayLike, b: ArrayLike) -> np.ndarray:
    """Returns the quaternions (..., 4) of the rotations R(a) R(b)."""
    p, q = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    if p.ndim == 1 and q.ndim == 1:
        return np.array(product_entries(*p.tolist(), *q.tolist()))
    return np.stack(product_entries(*np.moveaxis(p, -1, 0), *np.moveaxis(q, -1, 0)), axis=-1)


def product_entries(
    ax: Any, ay: Any, az: Any, aw: Any, bx: Any, by: Any, bz: Any, bw: Any
) -> tuple[Any, Any, Any, Any]:
    """Returns x, y, z, w of the quaternion of the rotation R(a) R(b); Numba can compile this function."""
    return (
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
        aw * bw - ax * bx - ay * by - az * bz,
    )


def quaternion_from_matrix(rotation: ArrayLike, *, positive_w: bool = False) -> np.ndarray:
    """Returns a unit quaternion x, y, z, w of a rotation matrix.

    Args:
        rotation: R, shape (3, 3).
        positive_w: of q and -q the one with w >= 0; without it the largest component is positive.
    """
    R = np.asarray(rotation, dtype=float)
    trace = float(np.trace(R))
    outer = np.empty((4, 4))  # 4 q q^T
    outer[:3, :3] = R + R.T
    outer[range(3), range(3)] = [1.0 + 2.0 * R[i, i] - trace for i in range(3)]
    outer[3, :3] = outer[:3, 3] = [R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]
    outer[3, 3] = 1.0 + trace
    row = outer[int(np.diag(outer).argmax())]
    q = np.asarray(row / np.linalg.norm(row))
    return -q if positive_w and q[3] < 0.0 else q


def vector_from_matrix(rotation: ArrayLike) -> np.ndarray:
    """Returns the rotation vector (3,) [rad] of a rotation matrix: log R, at most pi long.

    The half angle of the quaternion is accurate at every angle. The arccosine of the trace, divided by the sine, is not
    a number at 0, and its relative error near pi is up to 1e8. At pi, v and -v are the same rotation; the function
    returns one of them.
    """
    return np.array(vector_entries(*quaternion_from_matrix(rotation).tolist()))


def vector_entries(x: float, y: float, z: float, w: float) -> tuple[float, float, float]:
    """Returns the rotation vector, at most pi long [rad], of a quaternion; Numba can compile this function."""
    sine = math.sqrt(x * x + y * y + z * z)
    if sine == 0.0:
        return 0.0, 0.0, 0.0
    sign = -1.0 if w < 0.0 else 1.0
    factor = sign * 2.0 * math.atan2(sine, sign * w) / sine
    return factor * x, factor * y, factor * z


def wxyz(quaternion: Sequence[float] | np.ndarray) -> tuple[float, float, float, float]:
    """Converts a quaternion from x, y, z, w, the order of the suite, to w, x, y, z, the order of viser's page."""
    x, y, z, w = (float(value) for value in quaternion)
    return w, x, y, z


def quaternion_from_vector(vector: np.ndarray) -> np.ndarray:
    """Returns the unit quaternion x, y, z, w of a rotation vector (3,) [rad]: exp(v/2)."""
    angle = math.sqrt(float(vector @ vector))
    factor = 0.5 if angle < _TINY_ANGLE else math.sin(0.5 * angle) / angle
    return np.array((*(factor * vector), math.cos(0.5 * angle)))


def matrix_from_vector(vector: ArrayLike) -> np.ndarray:
    """Returns exp([v]x), shape (3, 3), of a rotation vector v [rad]."""
    x, y, z = np.asarray(vector, dtype=float)
    angle = math.sqrt(x * x + y * y + z * z)
    if angle < _SMALL_ANGLE:
        first, second = 1.0 - angle**2 / 6.0, 0.5 - angle**2 / 24.0
    else:
        first, second = math.sin(angle) / angle, (1.0 - math.cos(angle)) / angle**2
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + first * K + second * (K @ K)
