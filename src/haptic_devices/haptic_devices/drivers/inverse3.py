"""Driver of the Haply Inverse3, with or without a VerseGrip, through Haply's Inverse Service.

The driver follows Haply's public documentation of the Inverse Service 3.x (pages "WebSocket Protocol", "Simulation
Channel", "HTTP", "Basis Permutation") and its tutorials:

- GET /version returns `project_version`, on the port of the WebSocket.
- After the connection the service sends an inventory: `inverse3` (device_id, config, state, status), `verse_grip`,
  `wireless_verse_grip`. Then it sends one state for each message that it receives.
- Positions are in metres, velocities in m/s, forces in newtons. The frame is right-handed: x right, y forward, z up.
- `set_cursor_force` commands a force. `probe_position` requests a state without a command.

A thread does the input and output: each `write` wakes it, and it sends the force and receives the state. `read` and
`write` never wait. A force that no `write` renews within `hold_periods` becomes zero.
"""

from __future__ import annotations

import json
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from pydantic import Field

from haptic_devices.device import DeviceError
from haptic_devices.drivers.cartesian import CartesianDevice, Freshness, Sensed, SpatialParameters
from haptic_devices.drivers.driver import Driver, Presence

#: supported versions of the service: from 3.1, which introduced the format of this port, to below 4.0
OLDEST, BELOW = (3, 1), (4, 0)
#: opener without a proxy, which would not reach this machine
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))
#: longest wait for the service while `./haptics devices` searches [s]
_SEARCH_TIMEOUT = 0.4
#: lists of grips in an inventory, by preference
_GRIPS = ("wireless_verse_grip", "verse_grip", "custom_verse_grip")


class Inverse3Parameters(SpatialParameters):
    """Parameters of the Inverse3; inverse3.yaml has the reasons."""

    address: str = Field(pattern=r"^ws://[^/\s]+/?$", description="address of the service's WebSocket")
    device_id: str = Field(max_length=64, description="identifier of the device; empty: the first one")
    require_calibration: bool = Field(description="refuse a device that the service reports as not calibrated")
    answer_timeout: float = Field(gt=0.0, le=30.0, description="longest wait for an answer of the service [s]")
    hold_periods: int = Field(ge=1, le=1000, description="periods after which a force that is not renewed is zero [-]")
    stale_periods: int = Field(ge=1, le=1000, description="periods without a new state that are a fault [-]")


class NotRunningError(DeviceError):
    """The Inverse Service does not answer."""


def service_version(address: str, timeout: float) -> tuple[int, ...]:
    """Requests the version of the service.

    Args:
        address: address of the service's WebSocket.
        timeout: longest wait [s].

    Raises:
        NotRunningError: the service does not run.
        DeviceError: the program at the address returns no version.
    """
    url = f"http://{urlsplit(address).netloc}/version"
    try:
        with _DIRECT.open(url, timeout=timeout) as answer:
            text = str(json.load(answer)["project_version"])
        return tuple(int(part) for part in text.split(".")[:3])
    except (urllib.error.URLError, TimeoutError, ConnectionError) as error:
        reason = getattr(error, "reason", error)
        raise NotRunningError(f"address {address}: the Inverse Service does not answer ({reason})") from None
    except (ValueError, KeyError, TypeError) as error:
        raise DeviceError(f"address {address}: expected a version of the Inverse Service, got {error!r}") from None


def check_version(version: tuple[int, ...]) -> None:
    """Raises DeviceError for a version of the service whose messages are unknown."""
    if not OLDEST <= version[:2] < BELOW:
        expected = f"{OLDEST[0]}.{OLDEST[1]} or newer, below {BELOW[0]}"
        raise DeviceError(f"Inverse Service: expected version {expected}, got {'.'.join(map(str, version))}")


class _Connection:
    """Connection to the service, with the thread that exchanges forces and states."""

    def __init__(self, parameters: Inverse3Parameters, period: float) -> None:
        from websockets.sync.client import connect  # loaded only if the device is used

        p = self._parameters = parameters
        self._hold = p.hold_periods * period
        self._poll = min(p.hold_periods, max(1, p.stale_periods // 2)) * period  # keeps states new without commands
        self._commanded = time.monotonic()
        try:
            options: dict[str, Any] = {"ping_interval": None, "compression": None, "proxy": None}
            self._socket = connect(p.address, open_timeout=p.answer_timeout, **options)
        except (OSError, TimeoutError, ValueError) as error:
            raise DeviceError(f"address {p.address}: {error}") from None
        except Exception as error:  # the library has several classes for a handshake that fails
            raise DeviceError(f"address {p.address}: no WebSocket: {error}") from None
        self.number = 0
        self.state: Sensed | None = None
        self.failure = ""
        self._force = (0.0, 0.0, 0.0)
        self._ended = False
        self._wake = threading.Event()
        try:
            self.inventory = self._first()
            self.device_id = str(self._chosen().get("device_id"))
            self._take(self.inventory)
        except DeviceError:
            self._socket.close()
            raise
        self._thread = threading.Thread(target=self._run, name="inverse3", daemon=True)

    def _first(self) -> dict[str, Any]:
        from websockets.exceptions import ConnectionClosed

        try:
            return self._parsed(self._socket.recv(timeout=self._parameters.answer_timeout))
        except (TimeoutError, ConnectionClosed):
            raise DeviceError(f"address {self._parameters.address}: the service sends no inventory") from None

    def _chosen(self) -> dict[str, Any]:
        """Returns the device of the inventory that the parameters name."""
        devices = self.inventory.get("inverse3") or []
        wanted = self._parameters.device_id
        found = [device for device in devices if wanted in ("", device.get("device_id"))]
        if not found:
            if not devices:
                raise DeviceError("Inverse Service: runs, but no Inverse3 is connected")
            names = ", ".join(str(device.get("device_id")) for device in devices)
            raise DeviceError(f"device_id: expected one of {names}, got {wanted!r}")
        return dict(found[0])

    def begin(self) -> None:
        """Starts the exchange."""
        self._thread.start()

    def command(self, force: np.ndarray) -> None:
        """Stores a force (3,) [N] and wakes the thread, which sends it."""
        self._force = (float(force[0]), float(force[1]), float(force[2]))
        self._commanded = time.monotonic()
        self._wake.set()

    def close(self) -> None:
        """Sends zero force and ends the thread."""
        self._force, self._ended = (0.0, 0.0, 0.0), True
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join(self._parameters.answer_timeout + 2.0 * self._hold)
        self._socket.close()

    def _run(self) -> None:
        try:
            self._exchange()
        except Exception as error:  # any error ends the thread; then the device is safe
            self.failure = str(error) or type(error).__name__

    def _exchange(self) -> None:
        outstanding, answered = 0, time.monotonic()
        while True:
            self._wake.wait(self._poll)
            self._wake.clear()
            if time.monotonic() - self._commanded > self._hold:
                self._force = (0.0, 0.0, 0.0)
            ended = self._ended
            self._socket.send(self._message())
            outstanding += 1
            while outstanding:
                try:
                    text = self._socket.recv(timeout=self._poll)
                except TimeoutError:
                    break  # the next iteration sends the newest force, also the zero of a stop
                outstanding, answered = outstanding - 1, time.monotonic()
                self._take(self._parsed(text))
            if time.monotonic() - answered > self._parameters.answer_timeout:
                raise DeviceError(f"no answer within {self._parameters.answer_timeout:g} s")
            if ended:
                return

    def _message(self) -> str:
        x, y, z = self._force
        commands = {"set_cursor_force": {"values": {"x": x, "y": y, "z": z}}}
        return json.dumps({"inverse3": [{"device_id": self.device_id, "commands": commands}]})

    def _parsed(self, text: str | bytes) -> dict[str, Any]:
        try:
            document = json.loads(text)
        except ValueError:
            document = None
        if not isinstance(document, dict):
            raise DeviceError(f"expected a JSON object, got {text[:80]!r}")
        return document

    def _take(self, document: dict[str, Any]) -> None:
        """Stores the state in a message; a message without this device means that it was unplugged."""
        devices = document.get("inverse3") or []
        mine = next((device for device in devices if str(device.get("device_id")) == self.device_id), None)
        if mine is None:
            raise DeviceError(f"device {self.device_id} is disconnected")
        try:
            state = mine["state"]
            position, velocity = _vector(state["cursor_position"]), _vector(state["cursor_velocity"])
            orientation, buttons = _grip(document)
        except (KeyError, TypeError, ValueError) as error:
            raise DeviceError(f"device {self.device_id}: expected a state, got {error!r}") from None
        self.state = Sensed(position, velocity, buttons, orientation)
        self.number += 1


def _vector(entries: Any) -> tuple[float, float, float]:
    return float(entries["x"]), float(entries["y"]), float(entries["z"])


def _grip(document: dict[str, Any]) -> tuple[tuple[float, ...] | None, int]:
    """Returns orientation x, y, z, w and buttons of the first grip; None and 0 if there is none."""
    grips = next((document[kind] for kind in _GRIPS if document.get(kind)), None)
    if not grips or "state" not in grips[0]:
        return None, 0
    state = grips[0]["state"]
    pressed = state.get("buttons")
    names = ("a", "b", "c") if isinstance(pressed, dict) else ("button",)
    values = pressed if isinstance(pressed, dict) else state
    buttons = sum(1 << bit for bit, name in enumerate(names) if values.get(name))
    orientation = state.get("orientation")
    if not orientation:
        return None, buttons
    q = np.array([float(orientation[axis]) for axis in "xyzw"])
    norm = float(np.linalg.norm(q))
    if norm < 0.5:  # a grip that sleeps reports zeros
        return None, buttons
    return tuple((q / norm).tolist()), buttons


class Inverse3(CartesianDevice):
    """The Inverse3 with the service's default basis; a VerseGrip measures orientation and buttons."""

    name = "inverse3"
    parameters: Inverse3Parameters
    _connection: _Connection | None = None

    def _open(self) -> None:
        p = self.parameters
        version = service_version(p.address, p.answer_timeout)
        check_version(version)
        self._version = ".".join(map(str, version))
        connection = _Connection(p, self._period)
        status = connection._chosen().get("status") or {}
        problem = ""
        if status.get("power_supply") is False:
            problem = "has no power supply"
        elif p.require_calibration and status.get("calibrated") is False:
            problem = "is not calibrated: put the grip into the inkwell until the light is steady"
        if problem:
            connection.close()
            raise DeviceError(f"device {connection.device_id} {problem}")
        self._connection = connection
        self._freshness = Freshness(self.name, p.stale_periods)
        connection.begin()

    def _start(self) -> None:
        self._send(np.zeros(3))

    def _live(self) -> _Connection:
        connection = self._connection
        if connection is None:
            raise DeviceError("inverse3: not connected")
        if connection.failure:
            raise DeviceError(f"inverse3: {connection.failure}")
        return connection

    def _sense(self) -> Sensed:
        connection = self._live()
        self._freshness.check(connection.number)
        assert connection.state is not None
        return connection.state

    def _send(self, force: np.ndarray) -> None:
        self._live().command(force)

    def _stop(self) -> None:
        if self._connection is not None:
            self._connection.command(np.zeros(3))

    def _rest(self) -> None:
        self._stop()

    def _close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _product(self) -> str:
        connection = self._connection
        return f"Haply Inverse3 {connection.device_id}, service {self._version}" if connection else "Haply Inverse3"


def search(parameters: Inverse3Parameters) -> Presence:
    """Requests the list of devices from the service; sends no command."""
    p = parameters.model_copy(update={"answer_timeout": _SEARCH_TIMEOUT})
    try:
        version = service_version(p.address, p.answer_timeout)
        check_version(version)
        connection = _Connection(p, 1e-3)
        name, grips = connection.device_id, [kind for kind in _GRIPS if connection.inventory.get(kind)]
        connection._socket.close()
    except NotRunningError:
        return Presence(False, f"service not running at {p.address}")
    except DeviceError as error:
        return Presence(False, str(error))
    return Presence(True, " with ".join([f"device {name}", *grips[:1]]))


DRIVER = Driver(
    "inverse3",
    "Haply Inverse3, with or without VerseGrip",
    3,
    Inverse3Parameters,
    Path(__file__).with_name("inverse3.yaml"),
    Inverse3,
    search,
)
