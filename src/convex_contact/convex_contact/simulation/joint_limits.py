"""Limits of the positions of a tree's joints."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pinocchio as pin


@dataclass(frozen=True)
class JointLimits:
    """Limits of the joints with one coordinate.

    Attributes:
        velocity: indices of the velocities (n,).
        coordinate: indices of the coordinates (n,).
        lower: (n,) [m or rad]; -inf if none.
        upper: (n,) [m or rad]; inf if none.

    Examples:
        >>> from importlib.resources import files
        >>> from convex_contact import Simulator, World
        >>> world = World()
        >>> _ = world.add_urdf("gripper", files("convex_contact") / "data/parallel_gripper.urdf", self_collision=False)
        >>> limits = Simulator(world, period=0.01).dynamics.joint_limits()
        >>> (limits.lower < limits.upper).tolist()  # of slide_x, slide_y and the two fingers
        [True, True, True, True]
    """

    velocity: np.ndarray
    coordinate: np.ndarray
    lower: np.ndarray
    upper: np.ndarray


def position_limits(model: pin.Model, joint: pin.JointModel) -> tuple[float, float]:
    """Returns lower and upper limit of a joint with one coordinate [m or rad]; infinite where the model has none."""
    low, high = float(model.lowerPositionLimit[joint.idx_q]), float(model.upperPositionLimit[joint.idx_q])
    return low if abs(low) < 1e300 else -math.inf, high if abs(high) < 1e300 else math.inf
