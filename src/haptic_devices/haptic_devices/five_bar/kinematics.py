"""Kinematics of the parallelogram linkage, and its mechanical stops; the equations are in `simulation`.

The array `geometry` of all functions is a_1, a_2, x_0 (2), home angles (2), range: see `FiveBar.geometry`.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit


@njit(cache=True)
def tool_jacobian(geometry: np.ndarray, q: np.ndarray, jacobian: np.ndarray) -> None:
    """Writes the tool's Jacobian (6, 2) in the base frame, rows [linear; angular]; the tool is part of the forearm."""
    jacobian[0, 0], jacobian[0, 1] = -geometry[0] * np.sin(q[0]), -geometry[1] * np.sin(q[1])
    jacobian[1, 0], jacobian[1, 1] = geometry[0] * np.cos(q[0]), geometry[1] * np.cos(q[1])
    jacobian[2:6, :] = 0.0
    jacobian[5, 1] = 1.0


@njit(cache=True)
def forward(geometry: np.ndarray, q: np.ndarray, qd: np.ndarray, pose: np.ndarray, twist: np.ndarray) -> None:
    """Writes the tool's pose (7,), quaternion x, y, z, w, and twist (6,) in the base frame.

    The tool's frame is rotated by q2 about z, so its x axis lies along the forearm.
    """
    s1, c1, s2, c2 = np.sin(q[0]), np.cos(q[0]), np.sin(q[1]), np.cos(q[1])
    pose[0] = geometry[2] + geometry[0] * c1 + geometry[1] * c2
    pose[1] = geometry[3] + geometry[0] * s1 + geometry[1] * s2
    pose[2:5] = 0.0
    pose[5], pose[6] = np.sin(0.5 * q[1]), np.cos(0.5 * q[1])
    twist[0] = -geometry[0] * s1 * qd[0] - geometry[1] * s2 * qd[1]
    twist[1] = geometry[0] * c1 * qd[0] + geometry[1] * c2 * qd[1]
    twist[2:5] = 0.0
    twist[5] = qd[1]


@njit(cache=True)
def inverse(geometry: np.ndarray, x: float, y: float, q: np.ndarray) -> None:
    """Writes the angles (2,) that bring the tool to x, y [m] with the elbow on the same side as at home.

    For a position out of reach the arm is extended or folded towards it.
    """
    a1, a2 = geometry[0], geometry[1]
    dx, dy = x - geometry[2], y - geometry[3]
    cosine = (dx * dx + dy * dy - a1 * a1 - a2 * a2) / (2.0 * a1 * a2)  # cos(q2 - q1)
    elbow = math.copysign(np.arccos(min(max(cosine, -1.0), 1.0)), np.sin(geometry[5] - geometry[4]))
    angle = np.arctan2(dy, dx) - np.arctan2(a2 * np.sin(elbow), a1 + a2 * np.cos(elbow))
    for i in range(2):
        from_home = angle + i * elbow - geometry[4 + i]
        q[i] = geometry[4 + i] + from_home - 2.0 * np.pi * np.round(from_home / (2.0 * np.pi))  # nearest revolution


@njit(cache=True)
def joint_rates(geometry: np.ndarray, q: np.ndarray, vx: float, vy: float, rates: np.ndarray) -> None:
    """Writes the joint velocities (2,) [rad/s] that give the tool the velocity vx, vy [m/s]."""
    a1, a2 = geometry[0], geometry[1]
    determinant = np.sin(q[1] - q[0])
    rates[0] = (np.cos(q[1]) * vx + np.sin(q[1]) * vy) / (a1 * determinant)
    rates[1] = -(np.cos(q[0]) * vx + np.sin(q[0]) * vy) / (a2 * determinant)


@njit(cache=True)
def stop(geometry: np.ndarray, q: np.ndarray) -> int:
    """Clips angles to the mechanical stops; bit i of the result is set if joint i was at or beyond a stop."""
    blocked = 0
    for i in range(2):
        from_home = q[i] - geometry[4 + i]
        if abs(from_home) >= geometry[6]:
            q[i] = geometry[4 + i] + math.copysign(geometry[6], from_home)
            blocked |= 1 << i
    return blocked
