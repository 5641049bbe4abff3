"""Kinematics of the parallelogram linkage, and its mechanical stops; the equations are in `simulation`."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numba.np.unsafe.ndarray import to_fixed_tuple


class Linkage(NamedTuple):
    """Geometry of the linkage.

    Attributes:
        upper_arm, forearm: lengths a_1 and a_2 [m].
        axis: position x_0 of the motors' axis [m].
        home: angles at the origin of the base frame [rad].
        range: mechanical stop of each joint, on both sides of home [rad].
    """

    upper_arm: float
    forearm: float
    axis: tuple[float, float]
    home: tuple[float, float]
    range: float

    def numbers(self) -> np.ndarray:
        """Returns the numbers as one array (7,), for `linkage_of`."""
        return np.array([self.upper_arm, self.forearm, *self.axis, *self.home, self.range])


@njit(cache=True)
def linkage_of(numbers: np.ndarray) -> Linkage:
    """Returns the linkage of `Linkage.numbers`."""
    upper_arm, forearm, x, y, first, second, limit = to_fixed_tuple(numbers, 7)
    return Linkage(upper_arm, forearm, (x, y), (first, second), limit)


@njit(cache=True)
def tool_jacobian(linkage: Linkage, q: np.ndarray, jacobian: np.ndarray) -> None:
    """Writes the tool's Jacobian (6, 2) in the base frame, rows [linear; angular]; the tool is part of the forearm."""
    a1, a2 = linkage.upper_arm, linkage.forearm
    jacobian[0, 0], jacobian[0, 1] = -a1 * np.sin(q[0]), -a2 * np.sin(q[1])
    jacobian[1, 0], jacobian[1, 1] = a1 * np.cos(q[0]), a2 * np.cos(q[1])
    jacobian[2:6, :] = 0.0
    jacobian[5, 1] = 1.0


@njit(cache=True)
def forward(linkage: Linkage, q: np.ndarray, qd: np.ndarray, pose: np.ndarray, twist: np.ndarray) -> None:
    """Writes the tool's pose (7,), quaternion x, y, z, w, and twist (6,) in the base frame.

    The tool's frame is rotated by q2 about z, so its x axis lies along the forearm.
    """
    s1, c1, s2, c2 = np.sin(q[0]), np.cos(q[0]), np.sin(q[1]), np.cos(q[1])
    a1, a2 = linkage.upper_arm, linkage.forearm
    pose[0] = linkage.axis[0] + a1 * c1 + a2 * c2
    pose[1] = linkage.axis[1] + a1 * s1 + a2 * s2
    pose[2:5] = 0.0
    pose[5], pose[6] = np.sin(0.5 * q[1]), np.cos(0.5 * q[1])
    twist[0] = -a1 * s1 * qd[0] - a2 * s2 * qd[1]
    twist[1] = a1 * c1 * qd[0] + a2 * c2 * qd[1]
    twist[2:5] = 0.0
    twist[5] = qd[1]


@njit(cache=True)
def inverse(linkage: Linkage, x: float, y: float, q: np.ndarray) -> None:
    """Writes the angles (2,) that bring the tool to x, y [m] with the elbow on the same side as at home.

    For a position out of reach the arm is extended or folded towards it.
    """
    a1, a2 = linkage.upper_arm, linkage.forearm
    dx, dy = x - linkage.axis[0], y - linkage.axis[1]
    cosine = (dx * dx + dy * dy - a1 * a1 - a2 * a2) / (2.0 * a1 * a2)  # cos(q2 - q1)
    elbow = math.copysign(np.arccos(min(max(cosine, -1.0), 1.0)), np.sin(linkage.home[1] - linkage.home[0]))
    angle = np.arctan2(dy, dx) - np.arctan2(a2 * np.sin(elbow), a1 + a2 * np.cos(elbow))
    for i in range(2):
        from_home = angle + i * elbow - linkage.home[i]
        q[i] = linkage.home[i] + from_home - 2.0 * np.pi * np.round(from_home / (2.0 * np.pi))  # nearest revolution


@njit(cache=True)
def joint_rates(linkage: Linkage, q: np.ndarray, vx: float, vy: float, rates: np.ndarray) -> None:
    """Writes the joint velocities (2,) [rad/s] that give the tool the velocity vx, vy [m/s]."""
    a1, a2 = linkage.upper_arm, linkage.forearm
    determinant = np.sin(q[1] - q[0])
    rates[0] = (np.cos(q[1]) * vx + np.sin(q[1]) * vy) / (a1 * determinant)
    rates[1] = -(np.cos(q[0]) * vx + np.sin(q[0]) * vy) / (a2 * determinant)


@njit(cache=True)
def stop(linkage: Linkage, q: np.ndarray) -> int:
    """Clips angles to the mechanical stops; bit i of the result is set if joint i was at or beyond a stop."""
    blocked = 0
    for i in range(2):
        from_home = q[i] - linkage.home[i]
        if abs(from_home) >= linkage.range:
            q[i] = linkage.home[i] + math.copysign(linkage.range, from_home)
            blocked |= 1 << i
    return blocked
