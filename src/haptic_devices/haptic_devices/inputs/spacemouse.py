"""SpaceMouse and other 3D mice through spacenavd, the free driver.

The module follows the public sources and documentation of spacenavd and libspnav. The daemon listens on a Unix
socket, $SPNAV_SOCKET or /var/run/spnav.sock. It sends events of eight 32-bit integers. The first is the type. A motion
(type 0) then has x, y, z, rx, ry, rz and the time since the last event [ms], a button (type 1 pressed, 2 released) its
number.

The axes of the daemon are x to the right, y upwards, z away from the user. So along and about the axes right, forward,
up the values are (x, z, y) and (rx, rz, ry), as in ROS's spacenav_node.
"""

from __future__ import annotations

import os
import socket
import struct

from haptic_devices.drivers.driver import Presence
from haptic_devices.inputs.source import Deflection, Input, InputDeviceError, InputSource

EVENT = struct.Struct("=8i")
MOTION, PRESSED, RELEASED = range(3)
#: approximate value of a cap at its stop
FULL_SCALE = 350.0
_DEFAULT_SOCKET = "/var/run/spnav.sock"


def socket_path() -> str:
    """Returns the path of the daemon's socket."""
    return os.environ.get("SPNAV_SOCKET") or _DEFAULT_SOCKET


class SpaceMouse(InputSource):
    """A connection to spacenavd.

    Args:
        path: path of its socket; empty: the default one.
    """

    def __init__(self, path: str = "") -> None:
        self._path = path or socket_path()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._socket.connect(self._path)
        except OSError as error:
            self._socket.close()
            raise InputDeviceError(f"spacemouse: spacenavd at {self._path}: {error.strerror}") from None
        self._socket.setblocking(False)
        self._deflection, self._rest = Deflection(), b""

    def read(self) -> Deflection:
        try:
            while data := self._socket.recv(64 * EVENT.size):
                self._take(data)
        except BlockingIOError:
            return self._deflection
        except OSError as error:
            raise InputDeviceError(f"spacemouse: spacenavd at {self._path}: {error.strerror}") from None
        raise InputDeviceError(f"spacemouse: spacenavd at {self._path} has ended")

    def _take(self, data: bytes) -> None:
        data = self._rest + data
        whole = len(data) - len(data) % EVENT.size
        self._rest = data[whole:]
        for kind, *values in EVENT.iter_unpack(data[:whole]):
            buttons = self._deflection.buttons
            if kind == MOTION:
                x, y, z, rx, ry, rz = (max(-1.0, min(1.0, value / FULL_SCALE)) for value in values[:6])
                self._deflection = Deflection((x, z, y), (rx, rz, ry), buttons)
            elif kind in (PRESSED, RELEASED) and 0 <= values[0] < 32:
                bit = 1 << values[0]
                pressed = buttons | bit if kind == PRESSED else buttons & ~bit
                self._deflection = self._deflection._replace(buttons=pressed)

    def close(self) -> None:
        self._socket.close()


def search() -> Presence:
    """Connects to the daemon briefly; this does not show whether a mouse is plugged in."""
    try:
        SpaceMouse().close()
    except InputDeviceError:
        return Presence(False, f"spacenavd not running at {socket_path()}")
    return Presence(True, f"spacenavd at {socket_path()}")


INPUT = Input("spacemouse", "SpaceMouse (spacenavd)", 6, SpaceMouse, search)
