"""Kinematics of the display: slides x, y, z and a gimbal; the equations are in `simulation`.

Joint positions q and velocities qd have the shape (6,): x, y, z [m], yaw, tilt, roll [rad].
"""

from __future__ import annotations

import numpy as np
from numba import njit

from haptic_math.array_assignment import assign


@njit(cache=True)
def rotation(q: np.ndarray, matrix: np.ndarray) -> None:
    """Writes the rotation matrix R (3, 3), tool to base, of joint positions (6,)."""
    cy, sy = np.cos(q[3]), np.sin(q[3])
    ct, st = np.cos(q[4]), np.sin(q[4])
    cr, sr = np.cos(q[5]), np.sin(q[5])
    matrix[0, 0], matrix[0, 1], matrix[0, 2] = cy * cr - sy * st * sr, -sy * ct, cy * sr + sy * st * cr
    matrix[1, 0], matrix[1, 1], matrix[1, 2] = sy * cr + cy * st * sr, cy * ct, sy * sr - cy * st * cr
    matrix[2, 0], matrix[2, 1], matrix[2, 2] = -ct * sr, st, ct * cr


@njit(cache=True)
def tool_jacobian(q: np.ndarray, jacobian: np.ndarray) -> None:
    """Writes the tool's Jacobian (6, 6) in the base frame, rows [linear; angular]."""
    cy, sy, ct, st = np.cos(q[3]), np.sin(q[3]), np.cos(q[4]), np.sin(q[4])
    jacobian[:, :] = 0.0
    jacobian[0, 0] = jacobian[1, 1] = jacobian[2, 2] = jacobian[5, 3] = 1.0
    jacobian[3, 4], jacobian[4, 4] = cy, sy
    jacobian[3, 5], jacobian[4, 5], jacobian[5, 5] = -sy * ct, cy * ct, st


@njit(cache=True)
def forward(q: np.ndarray, qd: np.ndarray, pose: np.ndarray, twist: np.ndarray) -> None:
    """Writes the tool's pose (7,), quaternion x, y, z, w, and twist (6,) in the base frame."""
    assign(pose[0:3], q[0:3])
    assign(twist[0:3], qd[0:3])
    cy, sy, ct, st = np.cos(q[3]), np.sin(q[3]), np.cos(q[4]), np.sin(q[4])
    twist[3] = cy * qd[4] - sy * ct * qd[5]
    twist[4] = sy * qd[4] + cy * ct * qd[5]
    twist[5] = qd[3] + st * qd[5]
    cy, sy = np.cos(0.5 * q[3]), np.sin(0.5 * q[3])
    ct, st = np.cos(0.5 * q[4]), np.sin(0.5 * q[4])
    cr, sr = np.cos(0.5 * q[5]), np.sin(0.5 * q[5])
    x, y, z, w = cy * st, sy * st, sy * ct, cy * ct
    pose[3], pose[4], pose[5], pose[6] = cr * x - sr * z, cr * y + sr * w, cr * z + sr * x, cr * w - sr * y


@njit(cache=True)
def inverse(pose: np.ndarray, near: np.ndarray, q: np.ndarray) -> None:
    """Writes the joint positions (6,) of a pose (7,): |tilt| <= 90 degrees, yaw and roll nearest to `near`.

    Args:
        pose: pose of the tool; the quaternion need not be normalised. At 90 degrees of tilt, where yaw and roll are not
            unique, the yaw is that of `near`. With a zero quaternion all angles are those of `near`.
        near: joint positions (6,).
        q: result.
    """
    assign(q[0:3], pose[0:3])
    x, y, z, w = pose[3], pose[4], pose[5], pose[6]
    square = x * x + y * y + z * z + w * w
    if square == 0.0:
        assign(q[3:6], near[3:6])
        return
    s = 2.0 / square
    sine = s * (y * z + x * w)
    r20, r22 = s * (x * z - y * w), 1.0 - s * (x * x + y * y)
    cosine = np.sqrt(r20 * r20 + r22 * r22)
    q[4] = np.arctan2(sine, cosine)
    if cosine > 1e-12:
        q[3] = np.arctan2(-s * (x * y - z * w), 1.0 - s * (x * x + z * z))
        q[5] = np.arctan2(-r20, r22)
    else:  # Rz(yaw) Rx(+-90 degrees) Ry(roll) is a rotation by yaw +- roll
        q[3] = near[3]
        both = np.arctan2(s * (x * y + z * w), 1.0 - s * (y * y + z * z))
        q[5] = (both - near[3]) * (1.0 if sine > 0.0 else -1.0)
    for i in (3, 5):
        q[i] += 2.0 * np.pi * np.round((near[i] - q[i]) / (2.0 * np.pi))


@njit(cache=True)
def joint_rates(q: np.ndarray, twist: np.ndarray, rates: np.ndarray) -> None:
    """Writes the joint rates (6,), J^-1 times a twist (6,)."""
    cy, sy, ct, st = np.cos(q[3]), np.sin(q[3]), np.cos(q[4]), np.sin(q[4])
    assign(rates[0:3], twist[0:3])
    rates[4] = cy * twist[3] + sy * twist[4]
    rates[5] = (-sy * twist[3] + cy * twist[4]) / ct
    rates[3] = twist[5] - st * rates[5]


@njit(cache=True)
def bias(q: np.ndarray, qd: np.ndarray, angular: np.ndarray) -> None:
    """Writes E' (yaw', tilt', roll')^T (3,), the angular acceleration at zero joint accelerations [rad/s^2]."""
    cy, sy, ct, st = np.cos(q[3]), np.sin(q[3]), np.cos(q[4]), np.sin(q[4])
    yaw, tilt, roll = qd[3], qd[4], qd[5]
    angular[0] = -sy * tilt * yaw - cy * ct * roll * yaw + sy * st * roll * tilt
    angular[1] = cy * tilt * yaw - sy * ct * roll * yaw - cy * st * roll * tilt
    angular[2] = ct * roll * tilt
