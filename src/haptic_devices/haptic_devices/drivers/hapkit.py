"""Driver of a serial device with one degree of freedom, such as Stanford's Hapkit.

The Hapkit defines no protocol; the protocol below is the suite's. `firmware/hapkit/hapkit.ino` is the reference
sketch, with the pins and the sensor of the public Hapkit course material. Any board with the same messages can be used.
Numbers are little-endian, floats have 32 bits:

    device to host, each millisecond   A5 5A  version  flags  counter (uint16)  position [m]  velocity [m/s]  CRC
    host to device, each period        A5 5A  version  flags  force [N]  CRC

Flags of the device: bit 0 the motor is on, bit 1 the device's watchdog has switched it off, bits 2 and up are buttons.
Flag of the host: bit 0 the motor shall be on. The CRC has 8 bits (polynomial 0x07, start 0) and covers the bytes from
the version on. The device switches its motor off if no valid message arrives for 20 ms. Position and force are positive
to the right of the user.

The port is read and written without waiting. A damaged message is dropped and counted.
"""

from __future__ import annotations

import os
import struct
import termios
import time
import tty
from pathlib import Path

import numpy as np
from pydantic import Field

from haptic_devices.device import DeviceError
from haptic_devices.drivers.cartesian import CartesianDevice, CartesianParameters, Freshness, Sensed
from haptic_devices.drivers.driver import Driver, Presence

#: version of the protocol
VERSION = 1
START = b"\xa5\x5a"
STATE, COMMAND = struct.Struct("<2sBBHffB"), struct.Struct("<2sBBfB")
MOTOR_ON, WATCHDOG = 1, 2
#: names of ports of boards, by preference
_PORTS = ("ttyACM*", "ttyUSB*")
#: messages that a board may have sent before it received the first command
_SENT_BEFORE = 20
#: size of the buffer for incomplete messages [bytes]
_BUFFER_SIZE = 4096


def _table() -> tuple[int, ...]:
    """Computes the CRC of each byte."""
    entries = []
    for value in range(256):
        for _ in range(8):
            value = (value << 1 ^ 0x07) & 0xFF if value & 0x80 else value << 1
        entries.append(value)
    return tuple(entries)


_CRC = _table()


def crc8(data: bytes) -> int:
    """Computes the CRC of 8 bits with the polynomial 0x07 and the start value 0."""
    crc = 0
    for byte in data:
        crc = _CRC[crc ^ byte]
    return crc


def command_message(force: float, on: bool) -> bytes:
    """Makes the host's message with a force [N]."""
    body = COMMAND.pack(START, VERSION, MOTOR_ON if on else 0, force, 0)[:-1]
    return body + bytes((crc8(body[2:]),))


class HapkitParameters(CartesianParameters):
    """Parameters of the device; hapkit.yaml has the reasons."""

    port: str = Field(max_length=4096, description="serial port; empty: the first that looks like a board")
    answer_timeout: float = Field(gt=0.0, le=30.0, description="longest wait for the first message [s]")
    stale_periods: int = Field(ge=1, le=1000, description="periods without a new message that are a fault [-]")


def find_port(folder: Path = Path("/dev")) -> str:
    """Returns the path of the first port with the name of a board; empty if there is none."""
    return next((str(path) for pattern in _PORTS for path in sorted(folder.glob(pattern))), "")


class Hapkit(CartesianDevice):
    """A handle that moves along x."""

    name, axes = "hapkit", "x"
    parameters: HapkitParameters
    _file = -1

    def _open(self) -> None:
        p = self.parameters
        port = p.port or find_port()
        if not port:
            raise DeviceError("port: no board is connected (no /dev/ttyACM*, /dev/ttyUSB*)")
        self._port = port
        try:
            self._file = os.open(port, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
            self._prepare()
        except (OSError, termios.error) as error:
            self._close()
            raise DeviceError(f"port {port}: {error.args[-1] if error.args else error}") from None
        self._buffer, self._sensed, self._number = b"", Sensed((0.0,), (0.0,)), 0
        self._on, self._tripped, self._first = False, False, 0
        self.damaged = 0
        self._freshness = Freshness(self.name, p.stale_periods)
        try:
            self._await_message()
        except DeviceError:
            self._close()
            raise

    def _prepare(self) -> None:
        """Sets the port to raw bytes at 500000 baud, which an ATmega with 16 MHz generates exactly."""
        tty.setraw(self._file, termios.TCSANOW)
        settings = termios.tcgetattr(self._file)
        settings[4] = settings[5] = termios.B500000
        termios.tcsetattr(self._file, termios.TCSANOW, settings)
        termios.tcflush(self._file, termios.TCIFLUSH)

    def _await_message(self) -> None:
        """Waits for the first message: a board restarts when its port is opened."""
        end = time.monotonic() + self.parameters.answer_timeout
        while not self._number:
            if time.monotonic() > end:
                damaged = f", {self.damaged} damaged ones" if self.damaged else ""
                raise DeviceError(
                    f"port {self._port}: no valid message within {self.parameters.answer_timeout:g} s{damaged}; "
                    "does the board run the sketch hapkit.ino?"
                )
            time.sleep(2e-3)
            self._receive()

    def _start(self) -> None:
        """Leaves the motor off until the first command, since the board's watchdog would not wait for the loop."""
        self._stop()

    def _sense(self) -> Sensed:
        self._receive()
        self._freshness.check(self._number)
        if self._tripped and self._on and self._number > self._first + _SENT_BEFORE:
            raise DeviceError("hapkit: the board's watchdog turned the motor off")
        return self._sensed

    def _receive(self) -> None:
        """Reads all available messages; the last one is used."""
        try:
            data = os.read(self._file, _BUFFER_SIZE)
        except BlockingIOError:
            return
        except OSError as error:
            raise DeviceError(f"port {self._port}: {error.strerror}") from None
        if not data:
            raise DeviceError(f"port {self._port}: disconnected")
        buffer = self._buffer + data
        while True:
            start = buffer.find(START)
            if start < 0:
                buffer = buffer[-1:]
                break
            if len(buffer) - start < STATE.size:
                buffer = buffer[start:]
                break
            message = buffer[start : start + STATE.size]
            if crc8(message[2:-1]) == message[-1]:
                self._accept(message)
                buffer = buffer[start + STATE.size :]
            else:
                self.damaged += 1
                buffer = buffer[start + 2 :]
        self._buffer = buffer[-_BUFFER_SIZE:]

    def _accept(self, message: bytes) -> None:
        _, version, flags, _, position, velocity, _ = STATE.unpack(message)
        if version != VERSION:
            raise DeviceError(f"port {self._port}: expected version {VERSION} of the protocol, got {version}")
        self._tripped = bool(flags & WATCHDOG) and not flags & MOTOR_ON
        self._sensed = Sensed((position,), (velocity,), flags >> 2)
        self._number += 1

    def _send(self, force: np.ndarray) -> None:
        if not self._on:
            self._on, self._first = True, self._number
        self._write(float(force[0]))

    def _write(self, force: float) -> None:
        try:
            os.write(self._file, command_message(force, self._on))
        except BlockingIOError:
            pass  # a board that receives nothing switches its motor off, and `Freshness` detects that it is silent
        except OSError as error:
            raise DeviceError(f"port {self._port}: {error.strerror}") from None

    def _stop(self) -> None:
        self._on = False
        self._write(0.0)

    def _close(self) -> None:
        file, self._file = self._file, -1
        if file >= 0:
            os.close(file)

    def _product(self) -> str:
        return f"Hapkit at {self._port}"


def search(parameters: HapkitParameters) -> Presence:
    """Looks for a serial port; does not open it, since that would restart a board that another program uses."""
    port = parameters.port or find_port()
    if not port or not os.path.exists(port):
        return Presence(False, f"no port {port}" if port else "no board is connected")
    if not os.access(port, os.R_OK | os.W_OK):
        return Presence(False, f"no permission for {port}; is your user in the group dialout?")
    return Presence(True, f"port {port}; the run asks whether the sketch is on it")


DRIVER = Driver(
    "hapkit",
    "Hapkit and other serial boards with one degree of freedom",
    1,
    HapkitParameters,
    Path(__file__).with_name("hapkit.yaml"),
    lambda parameters, held_axis: Hapkit(parameters),
    search,
)
