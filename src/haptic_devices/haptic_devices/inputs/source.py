"""An input device without force: how far its stick or cap is deflected. No ROS import.

An input device is no device of the loop: it has no force, and its stick gives a velocity rather than a position. It
leads the simulated hand instead, as the handle of the browser page does, so it works with every simulated device.
Installed packages add inputs as entry points of group `haptic_inputs`, which name an `Input`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import NamedTuple

import numpy as np

from haptic_core.errors import HapticError, ParameterError
from haptic_devices.drivers.driver import Presence
from haptic_math.rotations import quaternion_from_vector, quaternion_product

ENTRY_POINTS = "haptic_inputs"

Vector = tuple[float, float, float]


class InputDeviceError(HapticError):
    """The input device is missing or was disconnected."""


class Deflection(NamedTuple):
    """Deflection of a stick or cap, each number from -1 to 1.

    Attributes:
        linear: along x (right), y (forward) and z (up).
        angular: about the same axes, positive by the right-hand rule.
        buttons: bit i is button i.
    """

    linear: Vector = (0.0, 0.0, 0.0)
    angular: Vector = (0.0, 0.0, 0.0)
    buttons: int = 0


class InputSource(ABC):
    """An open input device."""

    @abstractmethod
    def read(self) -> Deflection:
        """The deflection now; does not wait. Raises InputDeviceError if the device was disconnected."""

    @abstractmethod
    def close(self) -> None:
        """Gives the device back."""


@dataclass(frozen=True)
class Input:
    """What is known of a kind of input device.

    Attributes:
        name: of the entry point.
        title: name of the product.
        axes: number of axes.
        open: opens the device at a path, or the usual one if it is empty; raises InputDeviceError.
        search: looks for the device; raises no error.
    """

    name: str
    title: str
    axes: int
    open: Callable[[str], InputSource]
    search: Callable[[], Presence]


def installed_inputs() -> dict[str, Input]:
    """The input devices of all installed packages, by name."""
    found = {point.name: point.load() for point in entry_points(group=ENTRY_POINTS)}
    return {name: found[name] for name in sorted(found) if isinstance(found[name], Input)}


def find_input(name: str) -> Input:
    """The input device of this name; raises ParameterError with the names that there are."""
    known = installed_inputs()
    if name not in known:
        raise ParameterError(f"parameter source: expected one of {', '.join(known)}, got {name!r}")
    return known[name]


class Leader:
    """Turns deflections into the pose of a handle: the deflection is a velocity.

    Args:
        pose: of the handle at the start (7,), quaternion x, y, z, w.
        speed: at full deflection [m/s].
        angular_speed: at full deflection [rad/s].
        deadzone: deflection below which the handle stays [-].
        reach: largest distance from the start along each axis [m].
    """

    def __init__(self, pose: np.ndarray, *, speed: float, angular_speed: float, deadzone: float, reach: float) -> None:
        self._start, self.pose = pose[0:3].copy(), pose.copy()
        self._speed, self._angular_speed, self._deadzone, self._reach = speed, angular_speed, deadzone, reach

    def advance(self, deflection: Deflection, time: float) -> bool:
        """Moves the handle for a time [s]; returns whether it has moved."""
        linear, angular = self._shaped(deflection.linear), self._shaped(deflection.angular)
        if not (linear.any() or angular.any()):
            return False
        place = self.pose[0:3] + time * self._speed * linear
        self.pose[0:3] = np.clip(place, self._start - self._reach, self._start + self._reach)
        if angular.any():
            turned = quaternion_product(quaternion_from_vector(time * self._angular_speed * angular), self.pose[3:7])
            self.pose[3:7] = turned / np.linalg.norm(turned)
        return True

    def _shaped(self, values: Vector) -> np.ndarray:
        """Deflection beyond the dead zone, scaled so that it begins at 0 and ends at 1; the direction stays."""
        vector = np.array(values)
        length = math.sqrt(vector @ vector)
        if length <= self._deadzone:
            return np.zeros(3)
        shaped: np.ndarray = vector * (min((length - self._deadzone) / (1.0 - self._deadzone), 1.0) / length)
        return shaped
