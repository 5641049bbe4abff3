"""Driver of 3D Systems' Touch (formerly Geomagic Touch, Phantom Omni), through the HDAPI of OpenHaptics.

The library is loaded when the device is configured; it is made by 3D Systems and not part of the suite. The driver
follows the public OpenHaptics programmer's guide and API reference, and the header hdDefines.h:

- The scheduler of the library calls back at 1 kHz. State is read and forces are set only between `hdBeginFrame` and
  `hdEndFrame`.
- Positions are in mm, velocities in mm/s, forces in newtons. The axes are x to the right, y upwards, z to the user.
- `HD_CURRENT_TRANSFORM` is the pose of the end effector, 16 numbers by columns.
- After each call `hdGetError` returns the last error and removes it.

Base frame: x right, y forward, z up, so that (x, y, z) = (x, -z, y) of the library. An asynchronous callback copies
states and forces; `read` and `write` use the copies. A force that no `write` renews within `hold_periods` callbacks
becomes zero.
"""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import Field

from haptic_devices.device import DeviceError
from haptic_devices.drivers.cartesian import CartesianDevice, Freshness, Sensed, SpatialParameters
from haptic_devices.drivers.driver import LIBRARY_NAME, Driver, Presence, load_library
from haptic_math.rotations import quaternion_from_matrix

#: major version of HDAPI with these functions
API_VERSION = 3
#: numbers of hdDefines.h
INVALID_HANDLE = 0xFFFFFFFF
BUTTONS, POSITION, VELOCITY, TRANSFORM, ANGULAR_VELOCITY = 0x2000, 0x2050, 0x2051, 0x2052, 0x2053
VERSION, MODEL, FORCE, FORCE_OUTPUT, CALIBRATION_OK = 0x2500, 0x2501, 0x2700, 0x4000, 0x5000
#: errors that need no action: motors that become warm, and forces or speeds that the device limits
_TOLERATED = {0x0200, 0x0201, 0x0202, 0x0203}
_CONTINUE, _PRIORITY = 1, 0x7FFF
#: rows: the base frame's axes in the frame of the library
AXES = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])


class _ErrorInfo(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint), ("internal", ctypes.c_int), ("handle", ctypes.c_uint))


CALLBACK = ctypes.CFUNCTYPE(ctypes.c_uint, ctypes.c_void_p)
_HANDLE, _ENUM = ctypes.c_uint, ctypes.c_uint
#: result and arguments of each function
_FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "hdInitDevice": (_HANDLE, [ctypes.c_char_p]),
    "hdDisableDevice": (None, [_HANDLE]),
    "hdGetError": (_ErrorInfo, []),
    "hdGetErrorString": (ctypes.c_char_p, [_ENUM]),
    "hdGetString": (ctypes.c_char_p, [_ENUM]),
    "hdCheckCalibration": (_ENUM, []),
    "hdEnable": (None, [_ENUM]),
    "hdDisable": (None, [_ENUM]),
    "hdBeginFrame": (None, [_HANDLE]),
    "hdEndFrame": (None, [_HANDLE]),
    "hdGetDoublev": (None, [_ENUM, ctypes.POINTER(ctypes.c_double)]),
    "hdGetIntegerv": (None, [_ENUM, ctypes.POINTER(ctypes.c_int)]),
    "hdSetDoublev": (None, [_ENUM, ctypes.POINTER(ctypes.c_double)]),
    "hdScheduleAsynchronous": (ctypes.c_ulong, [CALLBACK, ctypes.c_void_p, ctypes.c_ushort]),
    "hdUnschedule": (None, [ctypes.c_ulong]),
    "hdStartScheduler": (None, []),
    "hdStopScheduler": (None, []),
}


class TouchParameters(SpatialParameters):
    """Parameters of the Touch; touch.yaml has the reasons."""

    library: str = Field(pattern=LIBRARY_NAME, description="shared library of HDAPI")
    device: str = Field(max_length=128, description="name of the device in its setup program; empty: the default one")
    require_calibration: bool = Field(description="refuse a device that is not calibrated")
    hold_periods: int = Field(
        ge=1, le=1000, description="callbacks after which a force that is not renewed is zero [-]"
    )
    stale_periods: int = Field(ge=1, le=1000, description="periods without a callback that are a fault [-]")


class Touch(CartesianDevice):
    """The Touch: position and orientation are measured, three forces are commanded."""

    name = "touch"
    parameters: TouchParameters

    def _open(self) -> None:
        p = self.parameters
        api = self._api = load_library(p.library, _FUNCTIONS)
        self._handle = api.hdInitDevice(p.device.encode() or None)
        if self._handle == INVALID_HANDLE:
            raise DeviceError(f"touch: {self._last_error() or 'no device'}")
        try:
            self._check("hdInitDevice")
            self._check_version()
            if p.require_calibration and api.hdCheckCalibration() != CALIBRATION_OK:
                raise DeviceError("touch: not calibrated; put the stylus into the inkwell, then start again")
        except DeviceError:
            api.hdDisableDevice(self._handle)
            raise
        self._model = (api.hdGetString(MODEL) or b"Touch").decode(errors="replace")
        self._freshness = Freshness(self.name, p.stale_periods)
        self._sensed: Sensed | None = None
        self._number, self._failure = 0, ""
        self._wanted, self._age = (0.0, 0.0, 0.0), 0
        self._numbers, self._pressed = (ctypes.c_double * 16)(), ctypes.c_int()
        self._output = (ctypes.c_double * 3)()
        self._callback = CALLBACK(self._frame)  # stored, because the library has only its address
        self._schedule = api.hdScheduleAsynchronous(self._callback, None, _PRIORITY)
        api.hdStartScheduler()
        self._check("hdStartScheduler")

    def _check_version(self) -> None:
        text = (self._api.hdGetString(VERSION) or b"").decode(errors="replace")
        if text.partition(".")[0] != str(API_VERSION):
            raise DeviceError(
                f"library {self.parameters.library}: expected version {API_VERSION} of HDAPI, got {text!r}"
            )

    def _frame(self, _: Any) -> int:
        """Copies the state and sends the force; callback of the scheduler's thread."""
        try:
            self._exchange()
        except Exception as error:  # an exception cannot pass through the library
            self._failure = str(error) or type(error).__name__
        return _CONTINUE

    def _exchange(self) -> None:
        api, output = self._api, self._output
        api.hdBeginFrame(self._handle)
        try:
            x, y, z = self._get(POSITION, 3)
            u, v, w = self._get(VELOCITY, 3)
            a, b, c = self._get(ANGULAR_VELOCITY, 3)
            rotation = np.array(self._get(TRANSFORM, 16)).reshape(4, 4).T[:3, :3]
            api.hdGetIntegerv(BUTTONS, ctypes.byref(self._pressed))
            self._age += 1
            force = self._wanted if self._age <= self.parameters.hold_periods and not self._failure else (0.0, 0.0, 0.0)
            output[0], output[1], output[2] = force[0], force[2], -force[1]
            api.hdSetDoublev(FORCE, output)
        finally:
            api.hdEndFrame(self._handle)
        self._check("frame")
        position, velocity = (1e-3 * x, -1e-3 * z, 1e-3 * y), (1e-3 * u, -1e-3 * w, 1e-3 * v)
        orientation = quaternion_from_matrix(AXES @ rotation).tolist()
        self._sensed = Sensed(position, velocity, self._pressed.value, orientation, (a, -c, b))
        self._number += 1

    def _get(self, name: int, count: int) -> list[float]:
        self._api.hdGetDoublev(name, self._numbers)
        return list(self._numbers[:count])

    def _start(self) -> None:
        self._send(np.zeros(3))
        self._api.hdEnable(FORCE_OUTPUT)
        self._check("hdEnable")

    def _sense(self) -> Sensed:
        if self._failure:
            raise DeviceError(f"touch: {self._failure}")
        self._freshness.check(self._number)
        if self._sensed is None:  # before the first callback
            return Sensed(self._center.tolist(), (0.0, 0.0, 0.0))
        return self._sensed

    def _send(self, force: np.ndarray) -> None:
        self._wanted, self._age = (float(force[0]), float(force[1]), float(force[2])), 0

    def _stop(self) -> None:
        self._send(np.zeros(3))
        self._api.hdDisable(FORCE_OUTPUT)

    def _close(self) -> None:
        api = self._api
        api.hdStopScheduler()
        api.hdUnschedule(self._schedule)
        api.hdDisableDevice(self._handle)

    def _check(self, call: str) -> None:
        error = self._last_error()
        if error:
            raise DeviceError(f"{call}: {error}")

    def _last_error(self) -> str:
        """Returns the text of the last error; empty if there is none, or if it needs no action."""
        info = self._api.hdGetError()
        if info.code == 0 or info.code in _TOLERATED:
            return ""
        return (self._api.hdGetErrorString(info.code) or b"unknown error").decode(errors="replace")

    def _product(self) -> str:
        return f"3D Systems {self._model}"


def search(parameters: TouchParameters) -> Presence:
    """Opens the device briefly without forces, because the library has no other search."""
    try:
        api = load_library(parameters.library, _FUNCTIONS)
    except DeviceError as error:
        return Presence(False, str(error))
    handle = api.hdInitDevice(parameters.device.encode() or None)
    info = api.hdGetError()
    if handle == INVALID_HANDLE or info.code:
        text = (api.hdGetErrorString(info.code) or b"").decode(errors="replace")
        return Presence(False, f"library found, no device ({text})")
    model = (api.hdGetString(MODEL) or b"").decode(errors="replace")
    api.hdDisableDevice(handle)
    return Presence(True, model)


DRIVER = Driver(
    "touch",
    "3D Systems Touch (OpenHaptics)",
    3,
    TouchParameters,
    Path(__file__).with_name("touch.yaml"),
    Touch,
    search,
)
