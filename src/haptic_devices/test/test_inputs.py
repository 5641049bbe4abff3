"""Input devices without force: the joystick interface, spacenavd, and the node with which they lead the hand."""

from __future__ import annotations

import math
import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from geometry_msgs.msg import PoseStamped
from numpy.testing import assert_allclose, assert_array_equal
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from std_srvs.srv import SetBool

from haptic_core.errors import ParameterError
from haptic_core.events import make_event
from haptic_core.messages import pose_array
from haptic_core.parameters import load_parameter_specs
from haptic_core.qos import EVENT_DEPTH, display_qos, latched_qos
from haptic_devices.factories import NODE_PARAMETER_FILE
from haptic_devices.inputs import gamepad, spacemouse
from haptic_devices.inputs.source import Deflection, InputDeviceError, Leader, find_input, installed_inputs
from haptic_devices.node import input_node
from haptic_devices.node.input_node import InputNode
from haptic_msgs.msg import TickEvent

PATIENCE = 120.0  # longest wait for a condition [s]; only a defect lets it pass
HOME = np.array([0.01, 0.02, 0.15, 0.0, 0.0, 0.0, 1.0])
NUMBERS = {"speed": 0.1, "angular_speed": 1.0, "deadzone": 0.1, "reach": 0.1}


class Pad:
    """A file that gives the events of a joystick."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "js0"
        os.mkfifo(self.path)
        self._keeper = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK)  # a writer needs a reader
        self._file = os.open(self.path, os.O_WRONLY)

    def send(self, kind: int, number: int, value: int) -> None:
        os.write(self._file, gamepad.EVENT.pack(0, value, kind, number))

    def unplug(self) -> None:
        for file in (self._file, self._keeper):
            with suppress(OSError):
                os.close(file)


@pytest.fixture
def pad(tmp_path: Path) -> Iterator[Pad]:
    made = Pad(tmp_path)
    yield made
    made.unplug()


@pytest.fixture
def source(pad: Pad) -> Iterator[gamepad.Gamepad]:
    found = gamepad.Gamepad(str(pad.path))
    yield found
    found.close()


# ---- the devices ----------------------------------------------------------------------------------------


def test_an_event_has_the_eight_bytes_of_the_kernel_s_header() -> None:
    assert gamepad.EVENT.size == 8 and gamepad.EVENT.unpack(b"\1\0\0\0\xff\x7f\x82\3") == (1, 32767, 0x82, 3)


def test_sticks_move_right_forward_up_and_turn_about_z(pad: Pad, source: gamepad.Gamepad) -> None:
    assert source.read() == Deflection()
    for number, value in {0: 32767, 1: -32767, 4: -16384, 3: 32767}.items():
        pad.send(gamepad.AXIS | gamepad.INITIAL, number, value)
    found = source.read()
    assert_allclose(found.linear, [1.0, 1.0, 0.5], atol=1e-4)
    assert_allclose(found.angular, [0.0, 0.0, -1.0])  # to the right is clockwise, seen from above
    pad.send(gamepad.AXIS, 0, -32768)
    assert source.read().linear[0] == -1.0


def test_buttons_are_bits(pad: Pad, source: gamepad.Gamepad) -> None:
    for number, value in ((0, 1), (3, 1), (0, 0), (40, 1)):
        pad.send(gamepad.BUTTON, number, value)
    assert source.read().buttons == 8


def test_an_unplugged_or_missing_gamepad_is_named(pad: Pad, source: gamepad.Gamepad, tmp_path: Path) -> None:
    pad.unplug()
    with pytest.raises(InputDeviceError, match=f"gamepad {pad.path}: disconnected"):
        source.read()
    with pytest.raises(InputDeviceError, match="gamepad /nowhere: No such file"):
        gamepad.Gamepad("/nowhere")
    assert gamepad.find_joystick(tmp_path / "empty") == ""


class Daemon:
    """A socket that gives the events of spacenavd."""

    def __init__(self, folder: Path) -> None:
        self.path = str(folder / "spnav.sock")
        self._server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._server.bind(self.path)
        self._server.listen()

    def accept(self) -> None:
        self._client, _ = self._server.accept()

    def send(self, *numbers: int) -> None:
        self._client.sendall(spacemouse.EVENT.pack(*numbers, *[0] * (8 - len(numbers))))

    def close(self) -> None:
        self._client.close()
        self._server.close()


def test_a_cap_moves_right_forward_up_where_the_daemon_has_right_up_forward(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path)
    mouse = spacemouse.SpaceMouse(daemon.path)
    daemon.accept()
    daemon.send(spacemouse.MOTION, 35, 70, -105, 350, -700, 175, 16)
    daemon.send(spacemouse.PRESSED, 1)
    found = mouse.read()
    assert_allclose(found.linear, [0.1, -0.3, 0.2])
    assert_allclose(found.angular, [1.0, 0.5, -1.0])  # at most 1
    assert found.buttons == 2
    daemon.send(spacemouse.MOTION)
    daemon.send(spacemouse.RELEASED, 1)
    assert mouse.read() == Deflection()
    daemon.close()
    with pytest.raises(InputDeviceError, match="has ended"):
        mouse.read()
    mouse.close()


def test_a_daemon_that_does_not_run_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SPNAV_SOCKET", str(tmp_path / "none"))
    with pytest.raises(InputDeviceError, match=f"spacenavd at {tmp_path}/none: No such file"):
        spacemouse.SpaceMouse()
    found = spacemouse.search()
    assert (found.connected, found.detail) == (False, f"spacenavd not running at {tmp_path}/none")


def test_the_inputs_are_found_by_their_names() -> None:
    assert {"gamepad", "spacemouse"} <= installed_inputs().keys()
    with pytest.raises(ParameterError, match="parameter source: expected one of gamepad, spacemouse, got 'mouse'"):
        find_input("mouse")


# ---- the handle -----------------------------------------------------------------------------------------


def leader(**changes: float) -> Leader:
    return Leader(HOME, **{**NUMBERS, **changes})


def test_a_full_deflection_moves_the_handle_with_the_full_speed() -> None:
    one = leader()
    assert one.advance(Deflection((1.0, 0.0, 0.0)), 0.5)
    assert_allclose(one.pose - HOME, [0.05, 0, 0, 0, 0, 0, 0], atol=1e-15)
    assert_array_equal(HOME[0], 0.01)  # the start is not changed


def test_the_dead_zone_keeps_the_handle_and_the_motion_begins_at_its_edge() -> None:
    one = leader()
    assert not one.advance(Deflection((0.06, 0.08, 0.0), (0.1, 0.0, 0.0)), 1.0)
    assert_array_equal(one.pose, HOME)
    one.advance(Deflection((0.55, 0.0, 0.0)), 0.1)
    assert one.pose[0] - HOME[0] == pytest.approx(0.1 * 0.1 * 0.5)
    two = leader(deadzone=0.0)
    assert two.advance(Deflection((0.06, 0.0, 0.0)), 1.0)


def test_a_diagonal_deflection_is_no_faster() -> None:
    one = leader()
    one.advance(Deflection((1.0, 1.0, 0.0)), 0.1)
    assert np.linalg.norm(one.pose[0:2] - HOME[0:2]) == pytest.approx(0.01)


def test_the_handle_stays_within_reach_of_its_start() -> None:
    one = leader(reach=0.03)
    for _ in range(10):
        one.advance(Deflection((1.0, 0.0, -1.0)), 0.1)
    assert_allclose(one.pose[0:3] - HOME[0:3], [0.03, 0.0, -0.03])


def test_an_angular_deflection_turns_about_the_axes_of_the_base() -> None:
    one = leader(angular_speed=math.pi)
    for _ in range(50):
        one.advance(Deflection((0.0, 0.0, 0.0), (0.0, 0.0, 1.0)), 0.01)
    half = math.sqrt(0.5)
    assert_allclose(one.pose[3:7], [0.0, 0.0, half, half], atol=1e-9)  # a quarter turn
    for _ in range(50):
        one.advance(Deflection((0.0, 0.0, 0.0), (1.0, 0.0, 0.0)), 0.01)
    assert_allclose(one.pose[3:7], [0.5, -0.5, 0.5, 0.5], atol=1e-9)  # about the base's x axis, not the handle's


# ---- the node -------------------------------------------------------------------------------------------


class FakeDevice:
    """The device's side of the handle: events and the service `hold`."""

    def __init__(self, context: Context) -> None:
        self.node = Node("device", context=context, namespace="/led")
        self._events = self.node.create_publisher(TickEvent, "tick_event", latched_qos(EVENT_DEPTH))
        self.node.create_service(SetBool, "~/hold", self._hold)
        self.node.create_subscription(PoseStamped, "operator_handle", self._moved, display_qos())
        self.refusal = ""
        self.holds = 0
        self.handles: list[np.ndarray] = []

    def _moved(self, message: PoseStamped) -> None:
        self.handles.append(pose_array(message.pose))

    def say(self, kind: str, **detail: Any) -> None:
        self._events.publish(make_event("device", kind, detail))

    def _hold(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        self.holds += 1
        response.success, response.message = not self.refusal, self.refusal
        if response.success:
            self.say("hold", held=True, target=HOME.tolist())
        return response


@pytest.fixture
def device(context: Context) -> Iterator[FakeDevice]:
    made = FakeDevice(context)
    yield made
    made.node.destroy_node()


@pytest.fixture
def node(context: Context, pad: Pad) -> Iterator[InputNode]:
    overrides = [Parameter("source", value="gamepad"), Parameter("port", value=str(pad.path))]
    made = InputNode(context=context, namespace="/led", parameter_overrides=overrides)
    yield made
    made.destroy_node()


@pytest.fixture
def until(context: Context, device: FakeDevice, node: InputNode) -> Iterator[Callable[[Callable[[], Any]], None]]:
    """Serves both nodes, and lets the input move the handle by 10 ms at each look, until a condition holds."""
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(device.node)
    executor.add_node(node)

    def wait(condition: Callable[[], Any]) -> None:
        end = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < end, "the awaited condition did not come"
            executor.spin_once(timeout_sec=0.01)
            node.move(0.01)

    yield wait
    executor.shutdown()


def test_node_requests_the_handle_and_moves_it_from_the_hand_s_target(
    device: FakeDevice, node: InputNode, pad: Pad, until: Callable[[Callable[[], Any]], None]
) -> None:
    device.say("state", state="active")
    until(lambda: node.leader is not None)
    assert device.holds == 1 and not device.handles  # at rest nothing moves
    pad.send(gamepad.AXIS, 0, 32767)
    until(lambda: len(device.handles) >= 5)
    first = device.handles[0] - HOME
    assert first[0] == pytest.approx(0.001) and not first[1:].any()  # 0.1 m/s for 10 ms
    pad.send(gamepad.AXIS, 0, 0)
    device.say("reset")  # the hand follows its plan again
    until(lambda: device.holds == 2 and node.leader is not None)
    assert_array_equal(node.leader.pose, HOME)


@pytest.mark.parametrize(
    "target",
    [
        *("text", {"a": 1}, [1.0], [[1.0], 2.0], None, ["a", *HOME[1:]], [float("nan"), *HOME[1:]]),
        *([1e300, *HOME[1:]], [10**400, *HOME[1:]], [0.0] * 7, HOME.tolist() * 2),
    ],
)
def test_a_target_that_is_no_pose_is_ignored(node: InputNode, pad: Pad, target: Any) -> None:
    """A forged event ended the node."""
    pad.send(gamepad.AXIS, 0, 32767)
    node._on_event(make_event("device", "hold", {"held": True, "target": target}))
    node.move(0.01)
    assert node.leader is None and not node.finished


def test_a_device_without_a_hand_ends_the_node_with_the_reason(
    device: FakeDevice, node: InputNode, until: Callable[[Callable[[], Any]], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(input_node, "_REQUEST_INTERVAL", 0.01)
    device.refusal = "the device has no simulated hand to lead"
    device.say("state", state="active")
    until(lambda: node.finished)
    assert node.exit_code == 1


def test_a_disconnected_input_ends_the_node(node: InputNode, pad: Pad) -> None:
    pad.unplug()
    node.move(0.01)
    assert (node.finished, node.exit_code) == (True, 1)


def test_the_parameters_of_the_node_are_declared_and_fixed(node: InputNode) -> None:
    """Those that were not given were unknown, and a change of the others had no effect."""
    assert node.get_parameter("speed").value == 0.1
    descriptor = node.describe_parameter("speed")
    assert descriptor.read_only and descriptor.additional_constraints == "from 0.001 to 1"
    assert "[m/s]" in descriptor.description
    assert not node.set_parameters([Parameter("port", value="/dev/null")])[0].successful


def test_every_parameter_of_the_node_is_tested_here() -> None:
    specs = load_parameter_specs(NODE_PARAMETER_FILE.with_name("input_node.yaml"))
    assert specs.keys() == {*NUMBERS, "source", "port", "rate", "params_file"}


def test_the_rate_sets_how_often_the_input_is_read(context: Context, pad: Pad, monkeypatch: pytest.MonkeyPatch) -> None:
    overrides = [Parameter("port", value=str(pad.path)), Parameter("rate", value=10.0)]
    node = InputNode(context=context, namespace="/led", parameter_overrides=overrides)
    times: list[float] = []

    def move(elapsed: float) -> None:
        times.append(elapsed)
        node.finished = len(times) == 3

    monkeypatch.setattr(node, "move", move)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    node.spin(executor)
    assert all(0.1 <= elapsed <= 0.5 for elapsed in times)  # never more often, and a long pause counts for 5 periods
    executor.shutdown()
    node.destroy_node()


def test_a_start_in_whole_numbers_is_a_start():
    """The pose stayed whole numbers, so that the handle never moved."""
    made = Leader(np.array([0, 0, 0, 0, 0, 0, 1]), **NUMBERS)
    assert made.advance(Deflection((1.0, 0.0, 0.0)), 0.1)
    assert made.pose[0] == pytest.approx(0.1 * NUMBERS["speed"])
