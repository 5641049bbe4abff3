"""The paper's wall: at contact the whole pose is held until the tool is pulled away (docs/tau.md, "Walls")."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from haptic_math.quantities import finite_number
from tau_wall_control.checks import instance, vector
from tau_wall_control.control.controller import WallController
from tau_wall_control.device.tau_device import Pose, TauDevice
from tau_wall_control.errors import TauError
from tau_wall_control.walls.planes import Plane
from tau_wall_control.walls.wall_state import WallState


class HoldingWall:
    """One plane; in contact the controller holds the tool's whole pose.

    The reference is the pose at contact, moved onto the plane along its normal. The part of the torque that would pull
    the tool to the wall is removed; contact ends outside the wall without normal force. The controllers do not know
    the removed part, so their estimates are wrong while the user pulls; they restart at the next contact.

    Args:
        controller: controller of any scheme.
        plane: plane of the wall.
        release_gap: distance outside the wall at which contact ends at the latest [m].

    Attributes:
        saturated_steps: number of consecutive steps with active torque limits.
        torque_limit: largest torque of each joint [N m], the peak torque or less.

    Examples:
        >>> from tau_wall_control import HoldingWall, Plane, TauDevice, design_wall_controller
        >>> device = TauDevice.default()
        >>> controller = design_wall_controller(device, scheme="sopc")
        >>> wall = HoldingWall(controller, Plane(point=(0.0, 0.0, 0.0), normal=(0.0, 0.0, 1.0)))
        >>> state = wall.step(device.inverse_kinematics((0.0, 0.0, -1e-4)), [0.0] * 6)
        >>> state.in_contact.tolist()
        [True]
    """

    def __init__(self, controller: WallController, plane: Plane, *, release_gap: float = 1e-4) -> None:
        self.controller = instance("controller", controller, WallController, "design_wall_controller(device)")
        self.plane = instance("plane", plane, Plane, "Plane(point=(0, 0, 0), normal=(0, 0, 1))")
        self.release_gap = finite_number(
            "release_gap", release_gap, above=0.0, expected="a number above 0", error=TauError
        )
        self._point, self._normal = np.array(plane.point), np.array(plane.normal)
        self._pose: Pose = (np.zeros(3), np.eye(3))
        self._contact = False
        self.saturated_steps = 0
        self.torque_limit = controller.device.peak_torque

    def __repr__(self) -> str:
        return f"HoldingWall({self.plane!r}, controller {self.controller.scheme!r})"

    @property
    def device(self) -> TauDevice:
        """Device of the controller's design."""
        return self.controller.device

    @property
    def pose(self) -> Pose:
        """Position (3,) [m] and rotation (3, 3) of the tool in the last step."""
        return self._pose

    def take_over(self, old: HoldingWall) -> None:
        """Takes the state of another wall with the same controller; a different plane begins without contact."""
        instance("take_over", old, HoldingWall)
        self._pose, self.saturated_steps = old._pose, old.saturated_steps
        self._contact = old._contact and old.plane == self.plane

    def reset(self, theta: ArrayLike, guess: Pose | None = None) -> None:
        """Starts at joint angles (6,), without contact; `guess` is a pose near the start."""
        self._pose = self.device.forward_kinematics(theta, guess)
        self._contact = False
        self.saturated_steps = 0

    def _limited(self, torque: np.ndarray) -> np.ndarray:
        """Returns joint torques (6,) [N m] within the limit."""
        return np.clip(torque, -self.torque_limit, self.torque_limit)

    def step(self, theta: ArrayLike, rate: ArrayLike) -> WallState:
        """Renders one sample, see `SlidingWalls.step`."""
        angles, rates = vector("theta", theta, (6,)), vector("rate", rate, (6,))
        self._pose = p, R = self.device.forward_kinematics(angles, self._pose, tolerance=1e-11)
        d = self.device.dynamics(p, R)
        gravity = np.linalg.solve(d.actuated_map.T, d.gravity_force)
        distance = float(self._normal @ (p - self._point))
        if not self._contact and distance < 0.0:
            self._contact = True
            self.controller.start(p - distance * self._normal, R)
        torque, push, saturated = self._limited(gravity), 0.0, False
        if self._contact:
            unlimited = self.controller.step(angles, rates)
            torque = self._limited(unlimited)
            saturated = self.controller.saturated or bool((torque != unlimited).any())
            wrench = d.actuated_map.T @ (torque - gravity)
            push = float(self._normal @ wrench[:3])
            if push < 0.0:
                along = np.concatenate([self._normal, np.zeros(3)])
                torque = self._limited(torque - push * np.linalg.solve(d.actuated_map.T, along))
            if distance > self.release_gap or (distance > 0.0 and push <= 0.0):
                self._contact, torque = False, self._limited(gravity)
            push = max(push, 0.0) if self._contact else 0.0
        self.saturated_steps = self.saturated_steps + 1 if saturated else 0
        return WallState(
            torque=torque,
            position=p,
            rotation=R,
            twist=np.linalg.solve(d.actuated_map, rates),
            in_contact=np.array([self._contact]),
            penetration=np.array([-distance]),
            push=np.array([push]),
            friction=np.zeros(3),
            operating_point=self.controller.operating_point,
            saturated=saturated,
        )
