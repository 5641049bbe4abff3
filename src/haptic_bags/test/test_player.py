"""The player on a live graph, with stand-ins for the rendering nodes: order, changes between ticks, what goes wrong."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticStatus
from rcl_interfaces.msg import SetParametersResult
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.lifecycle import TransitionCallbackReturn
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.serialization import deserialize_message, serialize_message
from rosbags.rosbag2 import StoragePlugin, Writer
from rosgraph_msgs.msg import Clock
from std_srvs.srv import Trigger

from haptic_bags import player
from haptic_bags.bags import typestore
from haptic_bags.player import Player
from haptic_core.commands import CommandConflictError
from haptic_core.errors import HapticError
from haptic_core.events import make_event
from haptic_core.messages import detail_of, set_stamp
from haptic_core.qos import EVENT_DEPTH, clock_qos, latched_qos, status_qos, tick_qos
from haptic_msgs.msg import DeviceCommand, DeviceState, TickEvent

TICKS = 20
_namespaces = (f"/test_player_{os.getpid()}_{number}" for number in itertools.count())


def wire(message: Any) -> bytes:
    """A message as it is on the wire: rclpy.serialization leaves spare bytes behind its end, which go here."""
    data = bytes(serialize_message(message))
    definition = typestore().get_msgdef(f"haptic_msgs/msg/{type(message).__name__}")
    return data[: 4 + definition.deserialize_cdr_le(data[4:], 0, definition.cls, typestore())[1]]


def record(path: Path, *changes: tuple[int, str, dict[str, Any]], left_out: tuple[int, ...] = ()) -> Path:
    """A bag of a joystick with one source, whose changes (tick, kind, detail) are recorded as events."""
    device = {"device": "joystick", "sources": ["friction"]}
    events = [
        (0, "friction", "state", {"state": "active", "mode": "WRENCH", "parameters": {}}),
        (0, "device", "state", {"state": "active", "parameters": device}),
        *((tick, "friction", kind, detail) for tick, kind, detail in changes),
        (TICKS, "device", "state", {"state": "inactive"}),
    ]
    writer = Writer(path, version=9, storage_plugin=StoragePlugin.MCAP)
    writer.set_custom_data("experiment", "friction_impedance")
    with writer:
        topics = {
            name: writer.add_connection(f"/joystick/{name}", f"haptic_msgs/msg/{kind}", typestore=typestore())
            for name, kind in (
                ("tick_event", "TickEvent"),
                ("device_state", "DeviceState"),
                ("device_command", "DeviceCommand"),
            )
        }
        for tick, source, kind, detail in events:
            data = wire(make_event(source, kind, detail, tick=tick))
            writer.write(topics["tick_event"], tick, data)
        for tick in range(TICKS):
            state = DeviceState(tick=tick, period=0.001, joint_position=[0.1 * tick, 0.0])
            set_stamp(state.header, 5_000_000_000 + 1_000_017 * tick)  # a realtime recording's
            writer.write(topics["device_state"], tick, wire(state))
            if tick not in left_out:
                writer.write(topics["device_command"], tick, wire(DeviceCommand(tick=tick, source="friction")))
    return path


class Source(Node):
    """Answers every tick but `silent_at`; keeps, in order, what it gets: states, resets, parameters."""

    def __init__(self, context: Context, namespace: str, mode: str, silent_at: int, joints: int) -> None:
        super().__init__("friction", context=context, namespace=namespace)
        self.seen: list[Any] = []
        self.events: list[TickEvent] = []
        self.was_silent = False
        self._silent_at, self._joints = silent_at, joints
        self._commands = self.create_publisher(DeviceCommand, "device_command", tick_qos("lockstep"))
        self._events = self.create_publisher(TickEvent, "tick_event", latched_qos(EVENT_DEPTH))
        state = {"state": "active", "mode": mode, "parameters": {}}
        self._events.publish(make_event("friction", "state", state))
        self.declare_parameter("stiffness", 1.0)
        self.declare_parameter("points", [1.0, 2.0])
        self.add_on_set_parameters_callback(self._set)
        self.create_service(Trigger, "~/reset", self._reset)
        self.create_subscription(DeviceState, "device_state", self._answer, tick_qos("lockstep"), raw=True)
        self.create_subscription(TickEvent, "tick_event", self.events.append, latched_qos(EVENT_DEPTH))
        self.times: list[Clock] = []
        self.create_subscription(Clock, "/clock", self.times.append, clock_qos())
        self.statuses: list[DiagnosticStatus] = []
        self.create_subscription(DiagnosticStatus, "status", self.statuses.append, status_qos())

    def _set(self, parameters: list[Parameter]) -> SetParametersResult:
        self.seen.append({parameter.name: np.array(parameter.value).tolist() for parameter in parameters})
        negative = any(parameter.name == "stiffness" and parameter.value < 0.0 for parameter in parameters)
        return SetParametersResult(successful=not negative, reason="negative" if negative else "")

    def _reset(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self.seen.append("reset")
        response.success = True
        return response

    def _answer(self, data: bytes) -> None:
        state = deserialize_message(data, DeviceState)
        self.seen.append((state.tick, data))
        command = DeviceCommand(source="friction", tick=state.tick, mode=DeviceCommand.MODE_EFFORT)
        command.joint_effort = [0.0] * self._joints
        if state.tick != self._silent_at:
            self._commands.publish(command)
        else:
            self.was_silent = True


@pytest.fixture
def play(context: Context, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Source]]:
    made: list[Any] = []

    def start(
        bag: Path,
        *,
        mode: str = "EFFORT",
        silent_at: int = -1,
        joints: int = 2,
        period: float = 0.001,
    ) -> Source:
        namespace = next(_namespaces)
        values = {"bag": str(bag), "answer_timeout": 0.5, "period": period}
        overrides = [Parameter(name, value=value) for name, value in values.items()]
        node = Player(context=context, namespace=namespace, parameter_overrides=overrides)
        source = Source(context, namespace, mode, silent_at, joints)
        # the timeout passes as soon as the source is silent, and not before
        steps = itertools.count()
        clock = SimpleNamespace(monotonic=lambda: 1e-9 * next(steps) + source.was_silent)
        monkeypatch.setattr(player, "time", clock)
        executor = SingleThreadedExecutor(context=context)
        made.extend([executor.shutdown, node.destroy_node, source.destroy_node])
        for each in (node, source):
            executor.add_node(each)
        node.start()
        try:
            node.spin(executor)
        finally:
            assert node.trigger_deactivate() == TransitionCallbackReturn.SUCCESS
        # the last messages may still be on their way
        while [e.source for e in source.events].count("device") < 2 or not ended(source):
            executor.spin_once(timeout_sec=1.0)
        return source

    yield start
    for end in made:
        end()


def ended(source: Source) -> bool:
    """Returns true if the status of the replay is that of one that has ended."""
    return any(status.level == DiagnosticStatus.STALE for status in source.statuses)


def ticks(source: Source) -> list[int]:
    return [entry[0] for entry in source.seen if isinstance(entry, tuple)]


def test_the_states_are_played_as_they_were_recorded(play, tmp_path: Path) -> None:
    source = play(record(tmp_path / "bag"))
    assert ticks(source) == list(range(TICKS))
    states = [deserialize_message(data, DeviceState) for _, data in source.seen]
    assert [list(state.joint_position) for state in states] == [[0.1 * k, 0.0] for k in range(TICKS)]
    stamps = [1_000_000_000 * state.header.stamp.sec + state.header.stamp.nanosec for state in states]
    assert stamps == [5_000_000_000 + 1_000_017 * k for k in range(TICKS)]
    spoken = [(e.tick, detail_of(e)["state"]) for e in source.events if e.source == "device"]
    assert spoken == [(0, "active"), (TICKS, "inactive")]


def test_a_replay_has_a_status_until_it_has_ended(play, tmp_path: Path) -> None:
    *before, last = play(record(tmp_path / "bag")).statuses
    assert last.name.startswith("test_player_") and last.message == "the replay has ended"
    for status in before:  # none, where the replay was over before they were matched
        assert {entry.key.rpartition("/")[2] for entry in status.values} >= {"player", "friction"}


def test_recorded_time_is_published_as_the_clock(play, tmp_path: Path) -> None:
    source = play(record(tmp_path / "bag"))
    assert [(time.clock.sec, time.clock.nanosec) for time in source.times] == [(5, 0)]  # then every 33 ticks


def test_ticks_without_answers_are_left_out(play, tmp_path: Path) -> None:
    assert ticks(play(record(tmp_path / "bag", left_out=(3, 4, 19)))) == [0, 1, 2, *range(5, 19)]


def test_changes_are_made_again_before_their_tick_and_in_their_order(play, tmp_path: Path) -> None:
    changes = [
        (0, "parameter", {"stiffness": 2.0}),
        (7, "parameter", {"stiffness": 3.0, "points": []}),
        (7, "reset", {}),
        (7, "parameter", {"points": [4.0]}),
        (TICKS, "parameter", {"stiffness": 5.0}),
    ]
    seen = [entry[0] if isinstance(entry, tuple) else entry for entry in play(record(tmp_path / "bag", *changes)).seen]
    assert seen == [
        {"stiffness": 2.0},
        *range(7),
        {"stiffness": 3.0, "points": []},
        "reset",
        {"points": [4.0]},
        *range(7, TICKS),
        {"stiffness": 5.0},
    ]


@pytest.mark.parametrize(
    ("detail", "reason"),
    [({"stiffness": -1.0}, "negative"), ({"nonsense": 1.0}, "parameter nonsense: unknown")],
)
def test_a_change_that_is_refused_ends_the_replay(play, tmp_path: Path, detail: dict[str, Any], reason: str) -> None:
    with pytest.raises(HapticError, match=f"^source friction: parameter before tick 7 refused: {reason}"):
        play(record(tmp_path / "bag", (7, "parameter", detail)))


def test_a_silent_source_is_named_with_the_tick(play, tmp_path: Path) -> None:
    with pytest.raises(HapticError, match=r"^source friction: no answer to tick 12 within 0\.5 s$"):
        play(record(tmp_path / "bag"), silent_at=12)


def test_answers_for_another_number_of_joints_are_refused(play, tmp_path: Path) -> None:
    with pytest.raises(HapticError, match=r"joint_effort: expected 2 numbers, got 6; the recorded device has 2 joints"):
        play(record(tmp_path / "bag"), joints=6)


def test_a_motion_for_a_device_that_took_forces_is_refused(play, tmp_path: Path) -> None:
    with pytest.raises(CommandConflictError, match="an impedance device takes EFFORT or WRENCH, not MOTION"):
        play(record(tmp_path / "bag"), mode="MOTION")


def test_another_period_is_refused(play, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(HapticError, match="not started"):
        play(record(tmp_path / "bag"), period=0.002)
    assert "parameter period: expected the recording's 0.001 [s], got 0.002" in capfd.readouterr().err
