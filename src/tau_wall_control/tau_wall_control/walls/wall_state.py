"""What a step of the walls rendered."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class WallState(NamedTuple):
    """What a step of the walls rendered.

    Attributes:
        torque: joint torques to command (6,) [N m].
        position, rotation: the tool's pose.
        twist: the tool's (6,) [m/s, rad/s].
        in_contact: (w,) per plane.
        penetration: (w,) depth inside each plane, negative outside [m].
        push: (w,) of each plane along its normal, as wanted [N].
        friction: force along the planes (3,) [N].
        operating_point: index of the subspace in use.
        saturated: whether torque limits acted.
    """

    torque: np.ndarray
    position: np.ndarray
    rotation: np.ndarray
    twist: np.ndarray
    in_contact: np.ndarray
    penetration: np.ndarray
    push: np.ndarray
    friction: np.ndarray
    operating_point: int
    saturated: bool

    @property
    def stiffness(self) -> np.ndarray:
        """(w,) push over depth [N/m]; 0 without contact, infinite where the plane is held without depth."""
        depth = np.maximum(self.penetration, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.in_contact & (self.push > 0.0), self.push / depth, 0.0)
