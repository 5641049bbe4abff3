"""The driver of a serial board: the protocol on a pseudo-terminal, its faults, and the reference sketch itself."""

from __future__ import annotations

import math
import os
import shutil
import struct
import subprocess
import threading
import time
import tty
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from device_emulators import EMULATORS, host, make, pass_period, run, until
from machine_speed import limit
from numpy.testing import assert_array_equal

from haptic_devices.device import DeviceError
from haptic_devices.drivers import hapkit
from haptic_devices.loop import FAULT, OK, TickLoop

PERIOD = 1e-3
#: no fault is found by waiting for so long, unless the test is about it
PATIENT = ("answer_timeout=30.0", "stale_periods=1000")


class Board:
    """A board that sends a state each millisecond, and keeps the commands.

    Attributes:
        position, velocity: that it sends [m], [m/s].
        flags, version: of its messages.
        sends: function of a message that gives the bytes to send; no bytes: silence.
        commands: flags and force [N] of all valid commands.
    """

    def __init__(self) -> None:
        self.master, self._slave = os.openpty()
        tty.setraw(self._slave)  # a new terminal would echo
        self.port = os.ttyname(self._slave)
        self.position, self.velocity, self.flags, self.version = 0.01, -0.02, 0, hapkit.VERSION
        self.sends: Callable[[bytes], bytes] = bytes
        self.commands: list[tuple[int, float]] = []
        self._ended = threading.Event()
        os.set_blocking(self.master, False)
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def message(self) -> bytes:
        body = struct.pack("<BBHff", self.version, self.flags, 0, self.position, self.velocity)
        return hapkit.START + body + bytes((hapkit.crc8(body),))

    def _run(self) -> None:
        heard = b""
        while not self._ended.wait(1e-3):
            with suppress(OSError):
                os.write(self.master, self.sends(self.message()))
            with suppress(OSError):
                heard += os.read(self.master, 4096)
            while len(heard) >= hapkit.COMMAND.size:
                message, heard = heard[: hapkit.COMMAND.size], heard[hapkit.COMMAND.size :]
                start, version, flags, force, crc = hapkit.COMMAND.unpack(message)
                assert (start, version, crc & 0xFF) == (hapkit.START, hapkit.VERSION, hapkit.crc8(message[2:-1]))
                self.commands.append((flags, force))

    def unplug(self) -> None:
        """Ends the board and both ends of its line."""
        self._ended.set()
        self._thread.join()
        for file in (self.master, self._slave):
            with suppress(OSError):
                os.close(file)


@pytest.fixture
def board() -> Iterator[Board]:
    made = Board()
    yield made
    made.unplug()


@pytest.fixture
def devices(board: Board) -> Iterator[Any]:
    """Makes configured and activated devices, and leaves none connected."""
    made: list[Any] = []

    def start(*entries: str) -> Any:
        chosen = {entry.partition("=")[0]: entry for entry in (*PATIENT, f"port={board.port}", *entries)}
        device = make(hapkit.DRIVER, *chosen.values())
        made.append(device)
        device.configure(PERIOD)
        device.activate()
        return device

    yield start
    for device in made:
        device.deactivate()


def settle(device: Any, condition: Callable[[Any], Any]) -> None:
    """Reads until a condition of the reading holds."""
    until(lambda: condition(device.read()))


def test_the_crc_is_that_of_the_polynomial_07() -> None:
    assert hapkit.crc8(b"123456789") == 0xF4  # the check value of CRC-8 in the catalogue of CRC algorithms


def test_metres_and_newtons_arrive_unchanged(devices: Any, board: Board) -> None:
    board.flags = hapkit.MOTOR_ON | 5 << 2
    device = devices()
    settle(device, lambda reading: reading.buttons == 5)
    reading = device.read()
    assert reading.position[0] == pytest.approx(0.01, rel=1e-6)  # 32 bits
    assert reading.velocity[0] == pytest.approx(-0.02, rel=1e-6)
    assert_array_equal(reading.tool_pose[1:], [0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
    device.write(np.array([0.75]))
    until(lambda: (hapkit.MOTOR_ON, 0.75) in board.commands)
    assert [joint.name for joint in device.joints] == ["translation_x"]
    assert_array_equal(device.jacobian(), np.eye(6, 1))


def test_the_force_is_limited_and_a_safe_stop_turns_the_motor_off(devices: Any, board: Board) -> None:
    device = devices("force_limit=0.5")
    device.write(np.array([-9.0]))
    until(lambda: (hapkit.MOTOR_ON, -0.5) in board.commands)
    device.safe_stop()
    until(lambda: board.commands[-1:] == [(0, 0.0)])
    device.write(np.array([0.5]))  # does nothing
    assert device.read().effort[0] == 0.0


def test_the_motor_is_off_until_the_first_command_and_an_older_trip_is_no_fault(devices: Any, board: Board) -> None:
    board.flags = hapkit.WATCHDOG  # of an earlier run
    device = devices()
    until(lambda: board.commands, device.read)
    assert set(board.commands) == {(0, 0.0)}
    device.write(np.array([0.5]))
    device.read()  # messages that were under way
    board.flags = hapkit.MOTOR_ON
    until(lambda: (hapkit.MOTOR_ON, 0.5) in board.commands, device.read)


def test_damaged_bytes_are_dropped_and_counted(devices: Any, board: Board) -> None:
    noise = cycle([b"\xa5\x5a\x01", b"", b"\x00" * 20, b"", b"\xa5", b"", b"\xa5\x5a" + b"\x07" * 13, b""])
    board.sends = lambda message: next(noise) + message
    device = devices()
    board.position = 0.03
    settle(device, lambda reading: device.damaged > 0 and reading.position[0] == pytest.approx(0.03))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"position": math.nan}, "hapkit: expected finite position and velocity, got [nan"),
        ({"velocity": math.inf}, "hapkit: expected finite position and velocity"),
        ({"version": 2}, "expected version 1 of the protocol, got 2"),
        ({"flags": hapkit.WATCHDOG}, "hapkit: the board's watchdog turned the motor off"),
    ],
)
def test_a_fault_ends_the_force_until_a_reset(devices: Any, board: Board, change: dict[str, Any], reason: str) -> None:
    device = devices()
    loop = TickLoop(device, ["a"])
    good = {name: getattr(board, name) for name in change}
    for name, value in change.items():
        setattr(board, name, value)
    until(lambda: loop.status == FAULT, lambda: run(loop, 1, (1.0, 0.0, 0.0)))
    assert reason in loop.reason
    until(lambda: board.commands[-1:] == [(0, 0.0)])
    for name, value in good.items():
        setattr(board, name, value)
    device.activate()
    loop.resume()
    until(lambda: (hapkit.MOTOR_ON, 1.0) in board.commands[-5:], lambda: run(loop, 1, (1.0, 0.0, 0.0)))
    assert loop.status == OK


def test_a_silent_board_is_a_fault(devices: Any, board: Board) -> None:
    device = devices("stale_periods=5")
    board.sends = lambda message: b""
    with pytest.raises(DeviceError, match="hapkit: no new values for 5 periods"):
        for _ in range(1000):  # some messages may still be on their way
            device.read()


def test_an_unplugged_board_is_a_fault(devices: Any, board: Board) -> None:
    device = devices()
    loop = TickLoop(device, ["a"])
    board.unplug()
    until(lambda: loop.status == FAULT, lambda: run(loop, 1, (1.0, 0.0, 0.0)))
    assert f"port {board.port}: " in loop.reason
    device.safe_stop()  # raises nothing


def test_a_port_without_the_sketch_is_refused(board: Board, tmp_path: Path) -> None:
    board.sends = lambda message: b"position 0.01\r\n"
    device = make(hapkit.DRIVER, f"port={board.port}", "answer_timeout=0.1")
    with pytest.raises(DeviceError, match=r"no valid message within 0\.1 s; does the board run the sketch"):
        device.configure(PERIOD)
    with pytest.raises(DeviceError, match="port /nowhere: No such file"):
        make(hapkit.DRIVER, "port=/nowhere").configure(PERIOD)
    (tmp_path / "file").touch()
    with pytest.raises(DeviceError, match=f"port {tmp_path}/file: "):
        make(hapkit.DRIVER, f"port={tmp_path}/file").configure(PERIOD)


def test_the_search_finds_a_port_and_does_not_open_it(board: Board, tmp_path: Path) -> None:
    assert hapkit.find_port(tmp_path) == ""
    for name in ("ttyUSB0", "ttyACM1", "ttyS0"):
        (tmp_path / name).touch()
    assert hapkit.find_port(tmp_path) == str(tmp_path / "ttyACM1")
    found = hapkit.search(make(hapkit.DRIVER, f"port={board.port}").parameters)
    assert found.connected and board.port in found.detail
    assert not hapkit.search(make(hapkit.DRIVER, "port=/nowhere").parameters).connected


@pytest.fixture(scope="module")
def sketch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The reference sketch, compiled for this machine."""
    compiler, program = shutil.which("c++") or shutil.which("g++"), tmp_path_factory.mktemp("hapkit") / "board"
    assert compiler is not None
    source = Path(hapkit.__file__).parent / "firmware" / "hapkit" / "hapkit.ino"
    options = ["-std=c++11", "-O1", "-Wall", "-Werror", "-Wno-unused-function", f'-DSKETCH="{source}"']
    subprocess.run([compiler, *options, "-o", str(program), str(EMULATORS / "hapkit_board.cpp")], check=True)
    return program


@pytest.mark.slow
def test_the_reference_sketch_and_the_driver_understand_each_other(sketch: Path) -> None:
    master, slave = os.openpty()
    tty.setraw(slave)
    board = subprocess.Popen([sketch, str(master)], pass_fds=[master], stdin=subprocess.PIPE)
    device = make(hapkit.DRIVER, f"port={os.ttyname(slave)}", *PATIENT)
    try:
        device.configure(PERIOD)
        device.activate()

        def pushed(force: float) -> float:
            """Position under a force, read a millisecond later."""
            try:
                device.write(np.array([force]))
                time.sleep(1e-3)
                return float(device.read().position[0])
            except DeviceError:  # this machine was held up for longer than the board's watchdog waits
                device.activate()
                return np.nan

        # at rest the emulated spring of 50 N/m balances the force; the duty has 255 steps of 0.0145 N: 0.3 mm
        for force in (0.5, -1.0):
            expected = force / 50.0
            end, inside = time.monotonic() + limit(120.0), 0
            while inside < 20:
                position = pushed(force)
                inside = inside + 1 if abs(position - expected) < 5e-4 else 0
                assert time.monotonic() < end, position
        while np.isnan(pushed(0.0)):
            assert time.monotonic() < end
        with pytest.raises(DeviceError, match="the board's watchdog turned the motor off"):
            end = time.monotonic() + limit(120.0)
            while time.monotonic() < end:
                device.read()
                time.sleep(1e-3)
    finally:
        device.deactivate()
        board.stdin.close()
        board.wait()
        os.close(master)
        os.close(slave)


def test_ros2_control_hosts_the_driver(board: Board) -> None:
    board.flags = hapkit.MOTOR_ON
    hosted = host(hapkit.DRIVER, *PATIENT, f"port={board.port}", force=0.5)
    try:
        until(lambda: any(force == 0.5 for _, force in list(board.commands)), lambda: pass_period(hosted))
        until(lambda: pass_period(hosted)["translation_x/position"] == pytest.approx(board.position, rel=1e-6))
        assert hosted.status == OK
    finally:
        hosted.deactivate()
