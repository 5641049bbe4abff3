"""The commanded motion of a simulated admittance device, for compiled code."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from haptic_core.commands import Motion
from haptic_math.borrowed_arrays import borrowed


class CommandedMotion(NamedTuple):
    """A `Motion` for a device with n joints.

    Attributes:
        fields: sum of those of POSITION, VELOCITY, ACCELERATION that are given; 0 holds the target's position.
        pose: (7,) x, y, z [m] and quaternion x, y, z, w of the tool.
        twist: (6,) of the tool point [m/s], [rad/s].
        acceleration: (6,) of the tool point [m/s^2], [rad/s^2].
        joint_position: (n,) [rad] or [m].
        joint_velocity: (n,) [rad/s] or [m/s].
        by_joints: (2,) whether `joint_position` replaces `pose`, and whether `joint_velocity` replaces `twist`.
    """

    fields: int
    pose: np.ndarray
    twist: np.ndarray
    acceleration: np.ndarray
    joint_position: np.ndarray
    joint_velocity: np.ndarray
    by_joints: np.ndarray


def _views(fields: int, values: np.ndarray, by_joints: np.ndarray, joints: int) -> CommandedMotion:
    return CommandedMotion(
        fields, values[0:7], values[7:13], values[13:19], values[19 : 19 + joints], values[19 + joints :], by_joints
    )


_compiled_views = njit(cache=True)(_views)


@njit(cache=True)
def commanded(fields: int, values: np.ndarray, by_joints: np.ndarray, joints: int) -> CommandedMotion:
    """Returns the record of what a `MotionArrays` holds, for a kernel that has the arrays as arguments."""
    return _compiled_views(fields, borrowed(values), borrowed(by_joints), joints)


class MotionArrays:
    """Arrays that hold one commanded motion.

    Args:
        joints: number of joints n.

    Attributes:
        values: numbers of the motion, (19 + 2 n,), in the order of `CommandedMotion`.
        by_joints: (2,) as in `CommandedMotion`.
    """

    def __init__(self, joints: int) -> None:
        self.values, self.by_joints = np.zeros(19 + 2 * joints), np.zeros(2, dtype=np.bool_)
        self._views = _views(0, self.values, self.by_joints, joints)

    def hold(self, motion: Motion | None) -> int:
        """Copies a motion; returns its fields, 0 for None."""
        if motion is None:
            return 0
        own, given = self._views, self.by_joints
        own.pose[:], own.twist[:], own.acceleration[:] = motion.pose, motion.twist, motion.acceleration
        given[0], given[1] = motion.joint_position is not None, motion.joint_velocity is not None
        if motion.joint_position is not None:
            own.joint_position[:] = motion.joint_position
        if motion.joint_velocity is not None:
            own.joint_velocity[:] = motion.joint_velocity
        return motion.fields
