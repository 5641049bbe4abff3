"""A driver for a translational Force Dimension device (omega.3, delta.3) behind the suite's device interface.

The SDK (DHD) gives position, velocity and buttons in the device's frame, x towards the user, z upwards, and takes a
force there. So the three "joints" are the tool's coordinates, the Jacobian's upper half is the identity, and
efforts are forces [N]. A skeleton: it was tested with a stand-in for the SDK, never on a device.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import Field

from haptic_core.errors import ParameterError
from haptic_devices.device import Device, DeviceError, DeviceParameters, Joint, Reading, load_parameters

DEFAULT_FILE = Path(__file__).with_name("force_dimension.yaml")
DEFAULT_DEVICE = -1  # the SDK's name for the device that was opened last


class ForceDimensionParameters(DeviceParameters):
    """Numbers of the device; see force_dimension.yaml for the reasons."""

    library: str = Field(min_length=1, description="shared library of the SDK")
    force_limit: float = Field(gt=0.0, le=50.0, description="largest force along each axis [N]")
    velocity_limit: float = Field(gt=0.0, le=10.0, description="speed along an axis that is a fault [m/s]")
    force_rate_limit: float = Field(gt=0.0, le=1e6, description="fastest change of the force along an axis [N/s]")
    reach: float = Field(gt=0.0, le=1.0, description="half of the workspace along each axis: outside is a fault [m]")


def load_sdk(library: str) -> Any:
    """The SDK's functions with their C types; raises DeviceError where it is not installed."""
    try:
        sdk = ctypes.CDLL(library)
    except OSError as error:
        raise DeviceError(f"library {library}: {error}") from None
    c_double_p, device = ctypes.POINTER(ctypes.c_double), ctypes.c_byte
    for name, types in {
        "dhdOpen": [],
        "dhdClose": [device],
        "dhdEnableForce": [ctypes.c_ubyte, device],
        "dhdGetPosition": [c_double_p, c_double_p, c_double_p, device],
        "dhdGetLinearVelocity": [c_double_p, c_double_p, c_double_p, device],
        "dhdGetButtonMask": [device],
        "dhdSetForce": [ctypes.c_double, ctypes.c_double, ctypes.c_double, device],
    }.items():
        getattr(sdk, name).argtypes = types
    sdk.dhdGetButtonMask.restype = ctypes.c_uint
    sdk.dhdErrorGetLastStr.restype = ctypes.c_char_p
    return sdk


class ForceDimension(Device):
    """The device as three prismatic joints along the axes of its base.

    Args:
        parameters: numbers of the device.
        sdk: the SDK's functions; None loads the library when the device is configured.
    """

    kind = "impedance"
    base_frame = "force_dimension_base"

    def __init__(self, parameters: ForceDimensionParameters, sdk: Any = None) -> None:
        p = self.parameters = parameters
        self.joints = tuple(
            Joint(name, p.force_limit, p.velocity_limit, -p.reach, p.reach, "prismatic", p.force_rate_limit)
            for name in "xyz"
        )
        self.workspace = ((-p.reach,) * 3, (p.reach,) * 3)
        self._sdk = sdk
        self._reading = Reading(3)
        self._jacobian = np.eye(6, 3)
        self._vector = [ctypes.c_double() for _ in range(3)]
        self._powered = self._failed = False

    def configure(self, period: float) -> None:
        if self._sdk is None:
            self._sdk = load_sdk(self.parameters.library)
        self._call("dhdOpen")

    def activate(self) -> None:
        self._failed = False
        self._apply(np.zeros(3))
        self._call("dhdEnableForce", 1, DEFAULT_DEVICE)
        self._powered = True

    def read(self) -> Reading:
        """The sensors now. After a failure the last values, so that the loop can go to its safe state."""
        if self._failed:
            return self._reading
        reading = self._reading
        reading.position[:] = reading.tool_pose[0:3] = self._get("dhdGetPosition")
        reading.velocity[:] = reading.tool_twist[0:3] = self._get("dhdGetLinearVelocity")
        reading.buttons = self._sdk.dhdGetButtonMask(DEFAULT_DEVICE)
        return reading

    def write(self, effort: np.ndarray) -> None:
        if self._powered:
            self._apply(effort)

    def jacobian(self) -> np.ndarray:
        return self._jacobian

    def safe_stop(self) -> None:
        """Zero force, then the motors off. Both are tried whatever the SDK answers: no other part could stop them."""
        self._sdk.dhdSetForce(0.0, 0.0, 0.0, DEFAULT_DEVICE)
        self._sdk.dhdEnableForce(0, DEFAULT_DEVICE)
        self._reading.effort[:] = 0.0
        self._powered = False

    def deactivate(self) -> None:
        self.safe_stop()
        self._sdk.dhdClose(DEFAULT_DEVICE)

    def _apply(self, effort: np.ndarray) -> None:
        limit = self.parameters.force_limit
        force = np.clip(effort, -limit, limit)
        self._call("dhdSetForce", *force.tolist(), DEFAULT_DEVICE)
        self._reading.effort[:] = force

    def _get(self, name: str) -> list[float]:
        """A vector that the SDK writes to three pointers."""
        self._call(name, *map(ctypes.byref, self._vector), DEFAULT_DEVICE)
        return [number.value for number in self._vector]

    def _call(self, name: str, *arguments: Any) -> None:
        """Calls the SDK, which answers a failure with a negative number."""
        if getattr(self._sdk, name)(*arguments) < 0:
            self._failed = True
            raise DeviceError(f"{name}: {self._sdk.dhdErrorGetLastStr().decode()}")


def make(file: Path, overrides: Sequence[str] = (), sdk: Any = None) -> ForceDimension:
    """The device of a YAML file."""
    return ForceDimension(load_parameters(ForceDimensionParameters, file, overrides), sdk)


def force_dimension(parameters: dict[str, Any]) -> ForceDimension:
    """The factory that the entry point names: from the device node's parameters to the device."""
    if parameters["mode"] != "realtime":  # real time does not wait for an answer
        raise ParameterError(f"parameter mode: expected realtime for a real device, got {parameters['mode']!r}")
    file = Path(parameters["device_file"]) if parameters["device_file"] else DEFAULT_FILE
    return make(file, parameters["device_parameters"])
