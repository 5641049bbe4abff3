"""Gamepads and joysticks through the joystick interface of Linux.

The module follows the kernel's public documentation "Linux Joystick support - API documentation" and its header
joystick.h. A read of /dev/input/js* returns events of eight bytes: time [ms], value, type, number. Type 1 is a button,
type 2 an axis from -32767 to 32767; bit 0x80 marks the values that are sent when the file is opened.

Axes of a usual gamepad: the left stick moves along x and y (axes 0 and 1, forward is negative), the right stick along z
(axis 4, upwards is negative) and about z (axis 3, to the right is positive and rotates clockwise).
"""

from __future__ import annotations

import os
import struct
from pathlib import Path

from haptic_devices.drivers.driver import Presence
from haptic_devices.inputs.source import Deflection, Input, InputDeviceError, InputSource

EVENT = struct.Struct("=IhBB")
BUTTON, AXIS, INITIAL = 0x01, 0x02, 0x80
_FULL_SCALE = 32767.0
_FOLDER = Path("/dev/input")


def find_joystick(folder: Path = _FOLDER) -> str:
    """Returns the path of the first joystick; empty if there is none."""
    return next(iter(map(str, sorted(folder.glob("js*")))), "")


class Gamepad(InputSource):
    """An open gamepad.

    Args:
        path: path of the gamepad's file; empty: the first one.
    """

    def __init__(self, path: str = "") -> None:
        self._path = path or find_joystick()
        if not self._path:
            raise InputDeviceError("gamepad: none is connected (no /dev/input/js*)")
        try:
            self._file = os.open(self._path, os.O_RDONLY | os.O_NONBLOCK)
        except OSError as error:
            raise InputDeviceError(f"gamepad {self._path}: {error.strerror}") from None
        self._axes: dict[int, float] = {}
        self._buttons = 0
        self._rest = b""

    def read(self) -> Deflection:
        try:
            while data := os.read(self._file, 64 * EVENT.size):
                self._take(data)
        except BlockingIOError:
            return self._deflection()
        except OSError as error:
            raise InputDeviceError(f"gamepad {self._path}: {error.strerror}") from None
        raise InputDeviceError(f"gamepad {self._path}: disconnected")

    def _take(self, data: bytes) -> None:
        data = self._rest + data
        whole = len(data) - len(data) % EVENT.size
        self._rest = data[whole:]
        for _, value, kind, number in EVENT.iter_unpack(data[:whole]):
            if kind & ~INITIAL == AXIS:
                self._axes[number] = max(-1.0, value / _FULL_SCALE)
            elif kind & ~INITIAL == BUTTON and number < 32:
                self._buttons = self._buttons | 1 << number if value else self._buttons & ~(1 << number)

    def _deflection(self) -> Deflection:
        axis = self._axes.get
        linear = axis(0, 0.0), -axis(1, 0.0), -axis(4, 0.0)
        return Deflection(linear, (0.0, 0.0, -axis(3, 0.0)), self._buttons)

    def close(self) -> None:
        os.close(self._file)


def search() -> Presence:
    """Looks for a joystick's file."""
    path = find_joystick()
    if not path:
        return Presence(False, "no /dev/input/js*")
    if not os.access(path, os.R_OK):
        return Presence(False, f"no permission for {path}; is your user in the group input?")
    return Presence(True, path)


INPUT = Input("gamepad", "gamepad or joystick", 4, Gamepad, search)
