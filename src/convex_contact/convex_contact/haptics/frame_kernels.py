"""Compiled transforms between the device's base frame and the world, see `rendering`.

Arguments of all: rotation R (3, 3) and origin p (3,) [m] of the world's frame in the device's base, and the scale s.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from haptic_math.array_assignment import assign_rows

#: all three axes
ALL_AXES = np.ones(3, dtype=np.bool_)


@njit(cache=True, nogil=True, error_model="numpy")
def map_position(
    rotation: np.ndarray,
    origin: np.ndarray,
    scale: float,
    axes: np.ndarray,
    home: np.ndarray,
    pose: np.ndarray,
    out: np.ndarray,
) -> None:
    """Writes scale R^T (x - p) for axes that the tool drives, and the proxy's initial coordinate for the others."""
    for i in range(3):
        along = 0.0
        for k in range(3):
            along += rotation[k, i] * (pose[k] - origin[k])
        out[i] = scale * along if axes[i] else home[i]


@njit(cache=True, nogil=True, error_model="numpy")
def transform_limited(
    rotation: np.ndarray,
    scale: float,
    axes: np.ndarray,
    vector: np.ndarray,
    fraction: float,
    largest: float,
    out: np.ndarray,
) -> None:
    """Writes a fraction of scale R x, with x limited to the driven axes and the length to a largest one."""
    size = 0.0
    for i in range(3):
        out[i] = 0.0
        for k in range(3):
            if axes[k]:
                out[i] += scale * rotation[i, k] * vector[k]
        size += out[i] * out[i]
    size = math.sqrt(size)
    factor = fraction * largest / size if size > largest else fraction
    for i in range(3):
        out[i] *= factor


@njit(cache=True, nogil=True, error_model="numpy")
def is_identity(rotation: np.ndarray) -> bool:
    """Returns whether a matrix (3, 3) is the identity to the last bit."""
    for i in range(3):
        for j in range(3):
            if rotation[i, j] != (1.0 if i == j else 0.0):
                return False
    return True


@njit(cache=True, nogil=True, error_model="numpy")
def express_in_base(
    rotation: np.ndarray,
    origin: np.ndarray,
    scale: float,
    point: np.ndarray,
    normal: np.ndarray,
    distance: np.ndarray,
    velocity: np.ndarray,
    inverse_mass: np.ndarray,
) -> None:
    """Converts the fields of planes in place from the world to the device's base frame and measures."""
    vectors, n = np.concatenate((point, normal, velocity)) @ rotation.T, len(distance)
    assign_rows(point, vectors[:n] / scale + origin)
    assign_rows(normal, vectors[n : 2 * n])
    assign_rows(velocity, vectors[2 * n :] / scale)
    distance /= scale
    inverse_mass /= scale**2


@njit(cache=True, nogil=True, error_model="numpy")
def add_force(rotation: np.ndarray, scale: float, force: np.ndarray, wrench: np.ndarray) -> None:
    """Adds a force (3,) [N] of the device's base frame and measure to a wrench (6,) in the world frame."""
    f = force @ rotation / scale
    for i in range(3):
        wrench[i] += f[i]


@njit(cache=True, nogil=True, error_model="numpy")
def add_force_at(
    rotation: np.ndarray,
    origin: np.ndarray,
    scale: float,
    force: np.ndarray,
    point: np.ndarray,
    center: np.ndarray,
    wrench: np.ndarray,
) -> None:
    """Adds a force at a point (3,) [m] of the device's base frame to a wrench about a center (3,) [m] of the world."""
    f, arm = force @ rotation / scale, scale * ((point - origin) @ rotation) - center
    for i in range(3):
        wrench[i] += f[i]
    wrench[3] += arm[1] * f[2] - arm[2] * f[1]
    wrench[4] += arm[2] * f[0] - arm[0] * f[2]
    wrench[5] += arm[0] * f[1] - arm[1] * f[0]
