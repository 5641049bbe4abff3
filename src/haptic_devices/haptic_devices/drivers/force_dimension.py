"""Driver of Force Dimension's omega, delta, sigma and lambda, and of the Novint Falcon, through the DHD library.

The library is loaded when the device is configured; it is made by Force Dimension and not part of the suite. The driver
follows the public SDK documentation of version 3 and its header dhdc.h:

- Functions return a negative number on failure. `dhdSetForce` also returns 1 (DHD_TIMEGUARD) and 2
  (DHD_MOTOR_SATURATED), which are no failures.
- Positions are in metres, velocities in m/s and rad/s, forces in newtons. The SDK's x axis points to the user, y to the
  right, z upwards.
- `dhdGetStatus` reports whether the device has power (entry 0) and is calibrated (entry 3, "reset").

Base frame: x right, y forward, z up, so that x = y_SDK and y = -x_SDK. A device with a wrist measures the orientation.
Torques and the force of a gripper are not commanded.
"""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import Field

from haptic_devices.device import DeviceError
from haptic_devices.drivers.cartesian import CartesianDevice, Sensed, SpatialParameters
from haptic_devices.drivers.driver import LIBRARY_NAME, Driver, Presence, load_library
from haptic_math.rotations import quaternion_from_matrix

#: major version of the SDK whose functions these are
SDK_VERSION = 3
#: length and entries of the status vector
_STATUS_SIZE, _POWER, _CALIBRATED = 16, 0, 3
#: rows: the base frame's axes in the SDK's frame
AXES = np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])

_DOUBLE_P, _INT_P, _ID = ctypes.POINTER(ctypes.c_double), ctypes.POINTER(ctypes.c_int), ctypes.c_byte
_MATRIX = ctypes.c_double * 3 * 3
_CODE, _NUMBER = ctypes.c_int, ctypes.c_double
#: result and arguments of each function
_FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "dhdOpen": (_CODE, []),
    "dhdOpenSerial": (_CODE, [ctypes.c_int]),
    "dhdClose": (_CODE, [_ID]),
    "dhdGetDeviceCount": (_CODE, []),
    "dhdGetStatus": (_CODE, [_INT_P, _ID]),
    "dhdHasWrist": (ctypes.c_bool, [_ID]),
    "dhdSetGravityCompensation": (_CODE, [ctypes.c_int, _ID]),
    "dhdEnableForce": (_CODE, [ctypes.c_ubyte, _ID]),
    "dhdGetPosition": (_CODE, [_DOUBLE_P, _DOUBLE_P, _DOUBLE_P, _ID]),
    "dhdGetLinearVelocity": (_CODE, [_DOUBLE_P, _DOUBLE_P, _DOUBLE_P, _ID]),
    "dhdGetAngularVelocityRad": (_CODE, [_DOUBLE_P, _DOUBLE_P, _DOUBLE_P, _ID]),
    "dhdGetOrientationFrame": (_CODE, [ctypes.POINTER(ctypes.c_double * 3), _ID]),
    "dhdGetButtonMask": (ctypes.c_uint, [_ID]),
    "dhdSetForce": (_CODE, [_NUMBER, _NUMBER, _NUMBER, _ID]),
    "dhdGetSystemName": (ctypes.c_char_p, [_ID]),
    "dhdGetSDKVersion": (None, [_INT_P, _INT_P, _INT_P, _INT_P]),
    "dhdErrorGetLastStr": (ctypes.c_char_p, []),
}


class ForceDimensionParameters(SpatialParameters):
    """Parameters of the device; force_dimension.yaml has the reasons."""

    library: str = Field(pattern=LIBRARY_NAME, description="shared library of the SDK")
    serial: int = Field(ge=0, le=2**31 - 1, description="serial number of the device; 0: the first one [-]")
    require_calibration: bool = Field(description="refuse a device that is not calibrated")
    gravity_compensation: bool = Field(description="let the SDK carry the weight of the arms")


def load_sdk(library: str) -> Any:
    """Loads the SDK's functions with their C types.

    Raises:
        DeviceError: the library is not installed, lacks a function, or has another version.
    """
    sdk = load_library(library, _FUNCTIONS)
    version = [ctypes.c_int() for _ in range(4)]
    sdk.dhdGetSDKVersion(*map(ctypes.byref, version))
    if version[0].value != SDK_VERSION:
        got = ".".join(str(part.value) for part in version[:3])
        raise DeviceError(f"library {library}: expected version {SDK_VERSION} of the SDK, got {got}")
    return sdk


def last_error(sdk: Any) -> str:
    """Returns the SDK's text for its last error."""
    return (sdk.dhdErrorGetLastStr() or b"unknown error").decode(errors="replace")


class ForceDimension(CartesianDevice):
    """A device of Force Dimension as three translations."""

    name = "force_dimension"
    parameters: ForceDimensionParameters

    def _open(self) -> None:
        p = self.parameters
        self._sdk = load_sdk(p.library)
        self._id = -1  # the SDK's identifier of the last opened device
        opened = self._call("dhdOpenSerial", p.serial) if p.serial else self._call("dhdOpen")
        self._id = opened
        try:
            self._check_status()
            self._call("dhdSetGravityCompensation", int(p.gravity_compensation), self._id)
        except DeviceError:
            self._sdk.dhdClose(self._id)
            raise
        self._has_wrist = bool(self._sdk.dhdHasWrist(self._id))
        self._numbers = [ctypes.c_double() for _ in range(3)]
        self._matrix = _MATRIX()

    def _check_status(self) -> None:
        status = (ctypes.c_int * _STATUS_SIZE)()
        self._call("dhdGetStatus", status, self._id)
        if not status[_POWER]:
            raise DeviceError(f"{self._product()}: no power")
        if self.parameters.require_calibration and not status[_CALIBRATED]:
            raise DeviceError(f"{self._product()}: not calibrated; move it as its manual describes, then start again")

    def _start(self) -> None:
        self._send(np.zeros(3))
        self._call("dhdEnableForce", 1, self._id)

    def _sense(self) -> Sensed:
        x, y, z = self._get("dhdGetPosition")
        u, v, w = self._get("dhdGetLinearVelocity")
        orientation = angular = None
        if self._has_wrist:
            self._call("dhdGetOrientationFrame", self._matrix, self._id)
            orientation = quaternion_from_matrix(AXES @ np.array(self._matrix)).tolist()
            a, b, c = self._get("dhdGetAngularVelocityRad")
            angular = (b, -a, c)
        return Sensed((y, -x, z), (v, -u, w), self._sdk.dhdGetButtonMask(self._id), orientation, angular)

    def _send(self, force: np.ndarray) -> None:
        x, y, z = force.tolist()
        self._call("dhdSetForce", -y, x, z, self._id)

    def _stop(self) -> None:
        """Commands zero force and switches the motors off; makes both calls whatever the SDK returns."""
        self._sdk.dhdSetForce(0.0, 0.0, 0.0, self._id)
        self._sdk.dhdEnableForce(0, self._id)

    def _close(self) -> None:
        self._sdk.dhdClose(self._id)

    def _get(self, name: str) -> list[float]:
        """Returns a vector (3,) that the SDK writes to three pointers."""
        self._call(name, *map(ctypes.byref, self._numbers), self._id)
        return [number.value for number in self._numbers]

    def _call(self, name: str, *arguments: Any) -> int:
        """Calls a function of the SDK; raises DeviceError on failure."""
        code = int(getattr(self._sdk, name)(*arguments))
        if code < 0:
            raise DeviceError(f"{name}: {last_error(self._sdk)}")
        return code

    def _product(self) -> str:
        name = self._sdk.dhdGetSystemName(self._id)
        return name.decode(errors="replace") if name else "Force Dimension device"


def search(parameters: ForceDimensionParameters) -> Presence:
    """Counts the devices that the SDK finds; opens none."""
    try:
        sdk = load_sdk(parameters.library)
    except DeviceError as error:
        return Presence(False, str(error))
    count = sdk.dhdGetDeviceCount()
    if count < 0:
        return Presence(False, f"dhdGetDeviceCount: {last_error(sdk)}")
    return Presence(count > 0, f"{count} connected" if count else "library found, no device")


DRIVER = Driver(
    "force_dimension",
    "Force Dimension omega, delta, sigma, lambda; Novint Falcon",
    3,
    ForceDimensionParameters,
    Path(__file__).with_name("force_dimension.yaml"),
    ForceDimension,
    search,
)
