"""Input devices without force: interface and deflection of stick or cap. No ROS import.

An input device is not a device of the loop: it has no force, and its stick commands a velocity, not a position. It
leads the simulated hand, like the handle of the browser page, so it works with every simulated device.
Installed packages add inputs as entry points of group `haptic_inputs`, which name an `Input`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from haptic_core.errors import HapticError, ParameterError
from haptic_devices.drivers.driver import Presence
from haptic_files.plugins import load_plugins
from haptic_math.rotations import quaternion_from_vector, quaternion_product

ENTRY_POINTS = "haptic_inputs"

Vector = tuple[float, float, float]


class InputDeviceError(HapticError):
    """The input device is missing or was disconnected."""


class Deflection(NamedTuple):
    """Deflection of a stick or cap, each number from -1 to 1.

    Attributes:
        linear: deflection along x (right), y (forward) and z (up).
        angular: deflection about the same axes, positive by the right-hand rule.
        buttons: button states; bit i is button i.
    """

    linear: Vector = (0.0, 0.0, 0.0)
    angular: Vector = (0.0, 0.0, 0.0)
    buttons: int = 0


class InputSource(ABC):
    """An open input device."""

    @abstractmethod
    def read(self) -> Deflection:
        """Returns the present deflection without waiting; raises InputDeviceError if the device was disconnected."""

    @abstractmethod
    def close(self) -> None:
        """Closes the device."""


@dataclass(frozen=True)
class Input:
    """A kind of input device.

    Attributes:
        name: name of the entry point.
        title: name of the product.
        axes: number of axes.
        open: function that opens the device at a path, or the default one if the path is empty; raises
            InputDeviceError.
        search: function that looks for the device; raises no error.
    """

    name: str
    title: str
    axes: int
    open: Callable[[str], InputSource]
    search: Callable[[], Presence]


def installed_inputs() -> dict[str, Input]:
    """Loads the input devices of all installed packages, by name; those that cannot be loaded are left out."""
    return {name: found for name, found in load_inputs().items() if isinstance(found, Input)}


def load_inputs() -> dict[str, Input | HapticError]:
    """Loads the input devices of all installed packages, by name; gives the error of one that cannot be loaded."""
    loaded = load_plugins(ENTRY_POINTS, HapticError)
    return {name: found for name, found in loaded.items() if isinstance(found, Input | HapticError)}


def find_input(name: str) -> Input:
    """Returns the input device of a name; raises ParameterError with the known names."""
    known = load_inputs()
    if name not in known:
        raise ParameterError(f"parameter source: expected one of {', '.join(known)}, got {name!r}")
    found = known[name]
    if isinstance(found, HapticError):
        raise ParameterError(f"parameter source: {name}: {found}")
    return found


class Leader:
    """Integrates deflections, which command a velocity, to the pose of a handle.

    Args:
        pose: pose of the handle at the start (7,), quaternion x, y, z, w.
        speed: speed at full deflection [m/s].
        angular_speed: angular speed at full deflection [rad/s].
        deadzone: deflection below which the handle does not move [-].
        reach: largest distance from the start along each axis [m].
    """

    def __init__(self, pose: np.ndarray, *, speed: float, angular_speed: float, deadzone: float, reach: float) -> None:
        self.pose = np.array(pose, dtype=float)
        self._start = self.pose[0:3].copy()
        self._speed, self._angular_speed, self._deadzone, self._reach = speed, angular_speed, deadzone, reach

    def advance(self, deflection: Deflection, time: float) -> bool:
        """Moves the handle for a time [s]; returns whether it has moved."""
        linear, angular = self._shaped(deflection.linear), self._shaped(deflection.angular)
        if not (linear.any() or angular.any()):
            return False
        position = self.pose[0:3] + time * self._speed * linear
        self.pose[0:3] = np.clip(position, self._start - self._reach, self._start + self._reach)
        if angular.any():
            q = quaternion_product(quaternion_from_vector(time * self._angular_speed * angular), self.pose[3:7])
            self.pose[3:7] = q / np.linalg.norm(q)
        return True

    def _shaped(self, values: Vector) -> np.ndarray:
        """Scales the deflection beyond the dead zone to lengths from 0 to 1; keeps the direction."""
        vector = np.array(values)
        length = math.sqrt(vector @ vector)
        if length <= self._deadzone:
            return np.zeros(3)
        shaped: np.ndarray = vector * (min((length - self._deadzone) / (1.0 - self._deadzone), 1.0) / length)
        return shaped
