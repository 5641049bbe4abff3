"""Base of the drivers of devices that measure the tool's position and exert a force on it. No ROS import.

The "joints" are prismatic, along the axes x (right), y (forward, away from the user) and z (up) of the base frame. So
joint positions are the tool's coordinates and joint efforts are forces. The Jacobian's upper rows are the identity.

A planar experiment does not command one axis of the device. The driver constrains this axis to a virtual plane, by a
spring and a damper with a force limit. The plane contains the tool's position at the first command after `activate`,
so the first force is zero.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from pydantic import Field

from haptic_devices.components.urdf import FRAME, TOOL, Robot
from haptic_devices.device import TRANSLATIONS, Device, DeviceError, DeviceParameters, Joint, Reading
from haptic_math.quantities import finite_array

Coordinate = Annotated[float, Field(ge=-1.0, le=1.0)]

#: radius of the ball that stands for the tool in the robot description [m]
_BALL = 0.008


class CartesianParameters(DeviceParameters):
    """Parameters that all Cartesian devices have."""

    force_limit: float = Field(gt=0.0, le=50.0, description="largest force along each axis [N]")
    force_rate_limit: float = Field(gt=0.0, le=1e6, description="fastest change of the force along an axis [N/s]")
    velocity_limit: float = Field(gt=0.0, le=10.0, description="speed along an axis that is a fault [m/s]")
    reach: float = Field(gt=0.0, le=1.0, description="half of the workspace along each axis: outside is a fault [m]")


class SpatialParameters(CartesianParameters):
    """Parameters of devices with three translations."""

    center: tuple[Coordinate, Coordinate, Coordinate] = Field(
        description="origin of the base frame in the device's own frame, along x, y, z of the base [m]"
    )
    plane_stiffness: float = Field(
        ge=0.0, le=5000.0, description="stiffness of the virtual plane of a held axis; 0: no plane [N/m]"
    )
    plane_damping: float = Field(ge=0.0, le=50.0, description="damping of the virtual plane [N s/m]")
    plane_force: float = Field(ge=0.0, le=50.0, description="largest force of the virtual plane [N]")


class Sensed(NamedTuple):
    """Values of the device's sensors in the base frame.

    Attributes:
        position: position of the tool from the device's own origin (n,) [m].
        velocity: velocity of the tool (n,) [m/s].
        buttons: button states; bit i is button i.
        orientation: orientation of the tool, unit quaternion x, y, z, w; None: not measured.
        angular_velocity: angular velocity of the tool (3,) [rad/s]; None: not measured.
    """

    position: Sequence[float]
    velocity: Sequence[float]
    buttons: int = 0
    orientation: Sequence[float] | None = None
    angular_velocity: Sequence[float] | None = None


class CartesianDevice(Device):
    """A real device with n translations.

    A subclass defines `name` and `axes`, and implements `_open`, `_start`, `_sense`, `_send`, `_stop` and `_close`.
    These raise DeviceError on failure. After a failure `read` returns the last values until `activate`.

    Args:
        parameters: parameters of the device.
        held_axis: axis normal to the virtual plane; empty: no plane.
    """

    name: ClassVar[str]
    axes: ClassVar[str] = "xyz"

    def __init__(self, parameters: Any, held_axis: str = "") -> None:
        p = self.parameters = parameters
        n = len(self.axes)
        self.base_frame = f"{self.name}_base"
        self.joints = tuple(
            Joint(name, p.force_limit, p.velocity_limit, -p.reach, p.reach, "prismatic", p.force_rate_limit)
            for name, axis in zip(TRANSLATIONS, "xyz", strict=True)
            if axis in self.axes
        )
        self.workspace = ((-p.reach,) * 3, (p.reach,) * 3)
        self._reading = Reading(n)
        self._jacobian = np.eye(6, n)
        self._center = np.zeros(n)
        self._force = np.zeros(n)
        self._held: int | None = None
        if isinstance(p, SpatialParameters):
            self._center[:] = p.center
            self._held = "xyz".index(held_axis) if held_axis and p.plane_stiffness > 0.0 else None
        self._plane: float | None = None
        self._opened = self._powered = self._failed = False

    def configure(self, period: float) -> None:
        self._period = period
        self._open()
        self._opened = True

    def activate(self) -> None:
        """Switches the device on with zero force; a device that was closed or has failed is opened again."""
        if self._failed and self._opened:
            self._shut()
        if not self._opened:
            self._open()
            self._opened = True
        self._failed, self._plane = False, None
        self._start()
        self._powered = True

    def read(self) -> Reading:
        """Reads the sensors; returns the last values after a failure and while closed (at first the origin)."""
        if self._failed or not self._opened:
            return self._reading
        try:
            self._take(self._sense())
        except DeviceError:
            self._failed = True
            raise
        return self._reading

    def _take(self, sensed: Sensed) -> None:
        numbers = [*sensed.position, *sensed.velocity, *(sensed.orientation or ()), *(sensed.angular_velocity or ())]
        if not all(map(math.isfinite, numbers)):
            raise DeviceError(f"{self.name}: expected finite position and velocity, got {numbers}")
        reading, n = self._reading, len(self.axes)
        reading.position[:] = sensed.position
        reading.position -= self._center
        reading.velocity[:] = sensed.velocity
        reading.tool_pose[0:n], reading.tool_twist[0:n] = reading.position, reading.velocity
        if sensed.orientation is not None:
            reading.tool_pose[3:7] = sensed.orientation
        if sensed.angular_velocity is not None:
            reading.tool_twist[3:6] = sensed.angular_velocity
        reading.buttons = sensed.buttons

    def write(self, effort: np.ndarray) -> None:
        """Commands forces (n,) [N] for the next period, which are limited; raises DeviceError on failure.

        Forces that are not n finite numbers, for which no limit holds, stop the device.
        """
        if not self._powered or self._failed:
            self._rest()
            return
        limit, force = self.parameters.force_limit, self._force
        try:
            wanted = finite_array(f"{self.name}: effort", effort, force.shape, copy=False, error=DeviceError)
        except DeviceError:
            self.safe_stop()
            raise
        np.clip(wanted, -limit, limit, out=force)
        if self._held is not None:
            force[self._held] = self._plane_force(self._held)
        try:
            self._send(force)
        except DeviceError:
            self._failed = True
            raise
        self._reading.effort[:] = force

    def _plane_force(self, axis: int) -> float:
        """Computes the force of the virtual plane along its axis [N]."""
        p, position = self.parameters, float(self._reading.position[axis])
        if self._plane is None:
            self._plane = position
        force = -p.plane_stiffness * (position - self._plane) - p.plane_damping * float(self._reading.velocity[axis])
        largest = min(p.plane_force, p.force_limit)
        return min(max(force, -largest), largest)

    def jacobian(self) -> np.ndarray:
        return self._jacobian

    def safe_stop(self) -> None:
        """Commands zero force, then switches the motors off; errors are ignored, since no other part could do it."""
        self._powered = False
        self._reading.effort[:] = 0.0
        if self._opened:
            with suppress(Exception):
                self._stop()

    def deactivate(self) -> None:
        self.safe_stop()
        self._shut()

    def _shut(self) -> None:
        self._opened = False
        with suppress(Exception):
            self._close()

    def description(self) -> dict[str, Any]:
        return {"product": self._product() if self._opened else self.name}

    def robot_description(self) -> str:
        """Returns the URDF: a chain of slides with a ball at the tool point."""
        robot, parent = Robot(self.name), self.base_frame
        robot.link(parent).ball((0.0, 0.0, 0.0), 0.3 * _BALL, FRAME)
        for joint, axis in zip(self.joints, self.axes, strict=True):
            last = joint is self.joints[-1]
            child = f"{self.name}_tool" if last else f"{self.name}_slide_{axis}"
            link = robot.link(child)
            if last:
                link.ball((0.0, 0.0, 0.0), _BALL, TOOL)
            robot.joint(joint, parent, child, tuple(float(axis == each) for each in "xyz"))
            parent = child
        return robot.xml()

    def _product(self) -> str:
        """Returns the name of the connected device."""
        return self.name

    @abstractmethod
    def _open(self) -> None:
        """Connects to the device, or to its service, and checks versions."""

    @abstractmethod
    def _start(self) -> None:
        """Switches the motors on with zero force."""

    @abstractmethod
    def _sense(self) -> Sensed:
        """Returns the newest values of the sensors; does not wait for the device."""

    @abstractmethod
    def _send(self, force: np.ndarray) -> None:
        """Commands a force (n,) [N] in the base frame; does not wait for the device."""

    def _rest(self) -> None:
        """Runs instead of `_send` in each period without power; a service may need a message to report a state."""

    @abstractmethod
    def _stop(self) -> None:
        """Commands zero force and switches the motors off; does not wait for the device."""

    @abstractmethod
    def _close(self) -> None:
        """Closes the connection."""


class Freshness:
    """Counts consecutive periods in which a device sent no new values.

    Args:
        name: name of the device, for the error.
        periods: number of consecutive periods without new values that is a fault.
    """

    def __init__(self, name: str, periods: int) -> None:
        self._name, self._periods = name, periods
        self._last, self._count = -1, 0

    def check(self, number: int) -> None:
        """Compares the number of the newest values with the last one; raises DeviceError if they are too old."""
        self._count = self._count + 1 if number == self._last else 0
        self._last = number
        if self._count >= self._periods:
            raise DeviceError(f"{self._name}: no new values for {self._count} periods")
