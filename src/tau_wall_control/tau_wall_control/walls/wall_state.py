"""Result of a step of the walls."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class WallState(NamedTuple):
    """Result of a step of the walls.

    Attributes:
        torque: joint torques to command (6,) [N m].
        position, rotation: pose of the tool (3,) [m], (3, 3).
        twist: twist of the tool (6,) [m/s, rad/s].
        in_contact: contact flag of each plane (w,).
        penetration: depth inside each plane (w,) [m], negative outside.
        push: normal force of each plane (w,) [N], before the torque limits.
        friction: force along the planes (3,) [N].
        operating_point: index of the subspace in use.
        saturated: true if torque limits are active.

    Examples:
        >>> from tau_wall_control import Plane, TauDevice, WallRenderer, design_wall_controller
        >>> device = TauDevice.default()
        >>> controller = design_wall_controller(device, scheme="stiff")
        >>> walls = WallRenderer(controller, [Plane(point=(0.0, 0.0, 0.0), normal=(0.0, 0.0, 1.0))])
        >>> state = walls.step(device.inverse_kinematics((0.0, 0.0, 2e-3)), [0.0] * 6)  # 2 mm outside
        >>> (1e3 * state.penetration).round(3).tolist(), state.push.tolist(), state.stiffness.tolist()
        ([-2.0], [0.0], [0.0])
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

    def __repr__(self) -> str:
        named = (f"{name}={np.asarray(value).tolist()}" for name, value in zip(self._fields, self, strict=True))
        return f"WallState({', '.join(named)})"

    @property
    def stiffness(self) -> np.ndarray:
        """Normal force over depth of each plane (w,) [N/m]; 0 without contact, infinite without depth."""
        depth = np.maximum(self.penetration, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.in_contact & (self.push > 0.0), self.push / depth, 0.0)
