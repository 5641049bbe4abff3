"""Compiled arithmetic of a tick of the controller: frames of poses and twists, leads, feedback (17).

A call from Python takes less time than one NumPy operation on three numbers. Matrix products are those of BLAS, so they
have the same bits as in NumPy.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from haptic_math.array_assignment import assign
from haptic_math.rotations import product_entries

_product = njit(cache=True, nogil=True, error_model="numpy")(product_entries)


@njit(cache=True, nogil=True, error_model="numpy")
def write_in_base(rotation: np.ndarray, pair: np.ndarray, out: np.ndarray) -> None:
    """Writes a pair of vectors (6,) of the spatial frame in the base frame; `rotation` (3, 3) is spatial to base."""
    assign(out, (pair.reshape(2, 3) @ rotation.T).ravel())


@njit(cache=True, nogil=True, error_model="numpy")
def write_in_space(rotation: np.ndarray, pair: np.ndarray, out: np.ndarray) -> None:
    """Writes a pair of vectors (6,) of the base frame in the spatial frame; `rotation` (3, 3) is spatial to base."""
    assign(out, (pair.reshape(2, 3) @ rotation).ravel())


@njit(cache=True, nogil=True, error_model="numpy")
def write_position_inside(rotation: np.ndarray, origin: np.ndarray, position: np.ndarray, out: np.ndarray) -> None:
    """Writes a position (3,) of the base frame in the spatial frame with this origin [m]."""
    assign(out, rotation.T @ (position - origin))


@njit(cache=True, nogil=True, error_model="numpy")
def write_without_deadband(wrench: np.ndarray, force_deadband: float, moment_deadband: float, out: np.ndarray) -> None:
    """Writes a wrench (6,) whose force and moment are shorter by their deadbands [N; N m]."""
    for start, deadband in ((0, force_deadband), (3, moment_deadband)):
        part = wrench[start : start + 3]
        size = math.sqrt(np.dot(part, part))
        factor = 0.0 if size <= deadband else 1.0 - deadband / size
        for i in range(3):
            out[start + i] = factor * part[i]


@njit(cache=True, nogil=True, error_model="numpy")
def write_outside(
    origin: np.ndarray, rotation: np.ndarray, orientation: np.ndarray, tool_inverse: np.ndarray,
    position: np.ndarray, quaternion: np.ndarray, pose: np.ndarray,
) -> None:  # fmt: skip
    """Writes the pose (7,) of the display's tool for position (3,) and quaternion (4,) of the virtual tool.

    Args:
        origin: origin of the spatial frame [m], base frame, shape (3,).
        rotation: rotation matrix, spatial to base, shape (3, 3).
        orientation: the same rotation as a quaternion (x, y, z, w).
        tool_inverse: quaternion of the rotation from the display's tool to the virtual tool's body frame.
        position: of the virtual tool [m], spatial frame.
        quaternion: of the virtual tool, spatial frame.
        pose: result, base frame.
    """
    assign(pose[:3], origin + rotation @ position)
    o, q, t = orientation, quaternion, tool_inverse
    x, y, z, w = _product(o[0], o[1], o[2], o[3], q[0], q[1], q[2], q[3])
    pose[3], pose[4], pose[5], pose[6] = _product(x, y, z, w, t[0], t[1], t[2], t[3])


@njit(cache=True, nogil=True, error_model="numpy")
def write_pose_difference(target: np.ndarray, pose: np.ndarray, difference: np.ndarray) -> None:
    """Writes [position; rotation vector] from a pose (7,) to a target (7,), base frame, shape (6,) [m; rad]."""
    x, y, z, w = _product(target[3], target[4], target[5], target[6], -pose[3], -pose[4], -pose[5], pose[6])
    sine = math.sqrt(x * x + y * y + z * z)
    factor = 2.0 if sine < 1e-12 else 2.0 * math.atan2(sine, abs(w)) / sine
    factor = math.copysign(factor, w)
    for i in range(3):
        difference[i] = target[i] - pose[i]
    difference[3], difference[4], difference[5] = factor * x, factor * y, factor * z


@njit(cache=True, nogil=True, error_model="numpy")
def distance_and_angle(target: np.ndarray, pose: np.ndarray) -> tuple[float, float]:
    """Returns distance [m] and angle [rad] between two poses (7,)."""
    d = np.empty(6)
    write_pose_difference(target, pose, d)
    return math.sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]), math.sqrt(d[3] * d[3] + d[4] * d[4] + d[5] * d[5])


@njit(cache=True, nogil=True, error_model="numpy")
def leads_too_far(target: np.ndarray, present: np.ndarray, pose: np.ndarray, largest: np.ndarray) -> bool:
    """Returns whether a target is beyond the largest lead from a pose, and further away than the present target is.

    Args:
        target: pose (7,) of the reference after a step.
        present: pose (7,) of the reference before it.
        pose: measured pose (7,) of the tool.
        largest: lead of distance [m] and angle [rad], shape (2,).
    """
    distance, angle = distance_and_angle(target, pose)
    if distance <= largest[0] and angle <= largest[1]:
        return False
    before = distance_and_angle(present, pose)
    return (distance > largest[0] and distance > before[0]) or (angle > largest[1] and angle > before[1])


@njit(cache=True, nogil=True, error_model="numpy")
def write_error_rate(
    error: np.ndarray, before: np.ndarray, rate: np.ndarray, period: float, gain: float, filtered: np.ndarray
) -> None:
    """Writes the filtered rate of an error (6,) from its value and rate in the tick before."""
    for i in range(6):
        change = (error[i] - before[i]) / period
        filtered[i] = rate[i] + gain * (change - rate[i])


@njit(cache=True, nogil=True, error_model="numpy")
def write_feedback(
    gains: tuple[np.ndarray, np.ndarray, np.ndarray], error: np.ndarray, integral: np.ndarray, rate: np.ndarray,
    limit: np.ndarray, feedback: np.ndarray, saturated: np.ndarray,
) -> bool:  # fmt: skip
    """Writes (17) without limits, and flags of the components beyond them; returns whether there is one.

    Args:
        gains: K_p, K_i, K_d, shape (6, 6) each.
        error: e, shape (6,).
        integral: integral of e, shape (6,).
        rate: time derivative of e, shape (6,).
        limit: bound of each component, shape (6,).
        feedback: result, shape (6,).
        saturated: result, shape (6,).
    """
    assign(feedback, gains[0] @ error + gains[1] @ integral + gains[2] @ rate)
    assign(saturated, np.abs(feedback) > limit)
    return bool(saturated.any())


@njit(cache=True, nogil=True, error_model="numpy")
def write_bounded_sum(
    before: np.ndarray, rate: np.ndarray, period: float, bound: np.ndarray, correction: np.ndarray
) -> bool:
    """Writes before + T rate within its bounds (6,); returns whether a component is at its bound."""
    at_bound = False
    for i in range(6):
        unbounded = before[i] + period * rate[i]
        correction[i] = min(max(unbounded, -bound[i]), bound[i])
        at_bound |= correction[i] != unbounded
    return at_bound
