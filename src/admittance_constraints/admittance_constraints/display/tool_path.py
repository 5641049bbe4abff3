"""Motion of the virtual tool over a run, from the poses and twists of the display's tool."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation


@dataclass(frozen=True)
class ToolPath:
    """Motion of the virtual tool.

    Attributes:
        position: positions in the spatial frame [m], shape (n, 3).
        rotation: rotations from body to spatial frame, n of them.
        velocity: velocities in the spatial frame [m/s], shape (n, 3).
        angular_velocity: angular velocities in the spatial frame [rad/s], shape (n, 3).
    """

    position: np.ndarray
    rotation: Rotation
    velocity: np.ndarray
    angular_velocity: np.ndarray


class RecordedFrames:
    """Transforms recorded poses, twists and wrenches as `DisplayTransform` does single ones.

    Args:
        position: origin of the spatial frame [m], base frame, shape (3,).
        orientation: orientation of the spatial frame, spatial to base, quaternion (x, y, z, w).
        tool_orientation: orientation of the virtual tool's body frame, body to display's tool, quaternion.
    """

    def __init__(self, position: ArrayLike, orientation: ArrayLike, tool_orientation: ArrayLike) -> None:
        self._origin = np.array(position)
        self._back = Rotation.from_quat(orientation).inv()
        self._tool = Rotation.from_quat(tool_orientation)

    def path(self, pose: np.ndarray, twist: np.ndarray) -> ToolPath:
        """Returns the motion of the virtual tool for poses (n, 7) and twists (n, 6) of the display's tool."""
        return ToolPath(
            position=self._back.apply(pose[:, :3] - self._origin),
            rotation=self._back * Rotation.from_quat(pose[:, 3:]) * self._tool,
            velocity=self._back.apply(twist[:, :3]),
            angular_velocity=self._back.apply(twist[:, 3:]),
        )

    def wrench(self, wrench: np.ndarray) -> np.ndarray:
        """Expresses wrenches (n, 6) of the base frame in the spatial frame."""
        return np.hstack((self._back.apply(wrench[:, :3]), self._back.apply(wrench[:, 3:])))
