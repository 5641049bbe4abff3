"""The plugins in a controller manager: only collected where ros2_control is installed (conftest.py)."""

from __future__ import annotations

import itertools
import math
import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ament_index_python.packages import get_package_prefix
from diagnostic_msgs.msg import DiagnosticStatus
from machine_speed import limit
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from std_msgs.msg import Bool
from std_srvs.srv import Trigger

from haptic_core.events import make_event
from haptic_core.messages import detail_of
from haptic_core.qos import EVENT_DEPTH, latched_qos, recorder_qos, tick_qos
from haptic_devices.loop import OK, SAFE_STOP
from haptic_msgs.msg import DeviceCommand, DeviceState, SimulationState, TickEvent

#: far above what a loaded machine takes to start a controller manager and to compile a device [s]
LONGEST = limit(200.0)

FAULTY = """
from haptic_devices import factories

def make(parameters):
    device = factories.joystick(parameters)
    write, calls = device.write, []

    def broken(effort):
        if effort.any():  # the controller runs
            calls.append(1)
        if len(calls) > 200:
            raise ZeroDivisionError("in the driver")
        write(effort)

    device.write = broken
    return device
"""


class Source(Node):
    """Answers every DeviceState by what `answer` makes of its tick, and keeps what it has seen."""

    def __init__(self, context: Any, device: str, answer: Callable[[DeviceState], DeviceCommand | None]) -> None:
        super().__init__("source", namespace=device, context=context)
        self._answer = answer
        self.states: list[DeviceState] = []
        self.truths: list[SimulationState] = []
        self.events: list[TickEvent] = []
        self.button = self.create_publisher(Bool, "emergency_stop", 10)
        self.clients_of = {name: self.create_client(Trigger, f"device/{name}") for name in ("emergency_stop", "reset")}
        events = self.create_publisher(TickEvent, "tick_event", latched_qos())
        self._commands = self.create_publisher(DeviceCommand, "device_command", tick_qos("realtime"))
        self.create_subscription(DeviceState, "device_state", self._on_state, recorder_qos())
        self.create_subscription(SimulationState, "simulation_state", self.truths.append, recorder_qos())
        self.create_subscription(TickEvent, "tick_event", self.events.append, latched_qos(EVENT_DEPTH))
        self.statuses: list[DiagnosticStatus] = []
        self.create_subscription(DiagnosticStatus, "status", self.statuses.append, latched_qos(EVENT_DEPTH))
        events.publish(make_event("source", "state", {"state": "active"}))

    def _on_state(self, state: DeviceState) -> None:
        self.states.append(state)
        command = self._answer(state)
        if command is not None:
            command.tick, command.source = state.tick, "source"
            self._commands.publish(command)

    def device_events(self, kind: str) -> list[dict[str, Any]]:
        return [detail_of(event) for event in self.events if event.source == "device" and event.kind == kind]


def run(
    context: Any,
    device: str,
    answer: Any,
    *parameters: str,
    program: str = "control_node",
    prepare: Callable[[Source], None] = lambda source: None,
    **variables: str,
) -> tuple[int, str, Source]:
    """Exit code and output of a run of the program, and what the source saw."""
    executable = Path(get_package_prefix("haptic_devices")) / "lib" / "haptic_devices" / program
    words = [f"device:={device}", "mode:=realtime", "sources:=[source]", "watchdog_periods:=10000", *parameters]
    command = [str(executable), "--ros-args", "-r", "__node:=device", "-r", f"__ns:=/{device}"]
    for word in words:
        command += ["-p", word]
    environment = {**os.environ, "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
    source = Source(context, device, answer)
    prepare(source)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(source)
    with tempfile.TemporaryFile("w+") as log:
        process = subprocess.Popen(command, env={**environment, **variables}, stdout=log, stderr=subprocess.STDOUT)
        end = time.monotonic() + LONGEST
        while process.poll() is None and time.monotonic() < end:
            executor.spin_once(timeout_sec=0.1)
        if process.returncode is None:
            process.terminate()
            process.wait()
        log.seek(0)
        output = log.read()
    for _ in range(10):
        executor.spin_once(timeout_sec=0.05)  # what was under way
    executor.shutdown()
    source.destroy_node()
    return process.returncode, output, source


def stop_event(source: Source) -> dict[str, Any]:
    """Returns the device's only error event, without the longest tick and the flight record, which it must have."""
    (event,) = source.device_events("error")
    assert event.pop("longest_tick").startswith("tick ") and event.pop("flight_record").endswith(".npy")
    return event


def effort(value: float) -> Callable[[DeviceState], DeviceCommand]:
    return lambda state: DeviceCommand(mode=DeviceCommand.MODE_EFFORT, joint_effort=[value] * len(state.joint_position))


def test_every_tick_is_published_once_and_commands_act(context: Any) -> None:
    code, output, source = run(context, "joystick", effort(0.1), "duration:=1.0", "held:=false")
    assert code == 0, output
    assert [state.tick for state in source.states] == list(range(1000))
    assert [truth.tick for truth in source.truths] == list(range(1000))
    moved = source.states[-1]
    assert list(moved.joint_effort) == [0.1, 0.1] and moved.status == OK
    assert moved.joint_position[0] > 0.0 and moved.tool_pose.orientation.w > 0.0 and moved.period == 1e-3
    assert source.states[0].joint_effort[0] == 0.0
    first, last = source.device_events("state")
    assert first["state"] == "active" and first["parameters"]["device"] == "joystick" and "phases" in first
    assert last["state"] == "inactive" and last["over"] and last["ticks"] == 1000


def test_a_motion_moves_an_admittance_device(context: Any) -> None:
    def answer(state: DeviceState) -> DeviceCommand:
        command = DeviceCommand(mode=DeviceCommand.MODE_MOTION, motion_fields=DeviceCommand.FIELD_VELOCITY)
        command.tool_twist.linear.y = 0.02
        return command

    code, output, source = run(context, "cobotic_hand_controller", answer, "duration:=1.0", "held:=false")
    assert code == 0, output
    # 1 s at 0.02 m/s, less the ticks that this ordinary process has answered too late (the tool then rests)
    assert 0.001 < source.states[-1].tool_pose.position.y < 0.021
    assert abs(source.states[-1].tool_pose.position.x) < 1e-3


def test_a_silent_source_stops_the_device(context: Any) -> None:
    def answer(state: DeviceState) -> DeviceCommand | None:
        return effort(0.1)(state) if state.tick < 300 else None

    code, output, source = run(context, "joystick", answer, "duration:=3.0", "held:=false", "watchdog_periods:=150")
    assert code == 0, output
    stopped = next(state.tick for state in source.states if state.status == SAFE_STOP)
    assert 150 <= stopped <= 300 + 150  # the last answer may have come too late on a busy machine
    assert source.states[-1].status == SAFE_STOP and list(source.states[-1].joint_effort) == [0.0, 0.0]
    assert stop_event(source) == {"status": SAFE_STOP, "reason": "source source: silent for 150 ticks"}
    assert output.count("safe state: the controller asks for it") == 1
    assert source.statuses[-1].level == DiagnosticStatus.STALE
    worst = next(status for status in source.statuses if "safe state" in status.message)
    values = {entry.key: entry.value for entry in worst.values}
    assert worst.level == DiagnosticStatus.ERROR and worst.name == "joystick"
    assert worst.message.startswith("device: safe state: source source: silent for 150 ticks")
    assert values["safe state"] == "source source: silent for 150 ticks" and int(values["missed ticks"]) >= 150


@pytest.mark.parametrize("by", ["service", "topic"])
def test_an_emergency_stop_is_latched_until_a_reset_and_then_the_force_comes_in_slowly(context: Any, by: str) -> None:
    sources: list[Source] = []
    seen = itertools.count(1)

    def answer(state: DeviceState) -> DeviceCommand:
        (source,) = sources
        stopped = next(seen) if state.status == SAFE_STOP else 0
        if state.tick == 300 and by == "service":
            source.clients_of["emergency_stop"].call_async(Trigger.Request())
        elif state.tick == 300:
            source.button.publish(Bool(data=True))
        elif stopped == 100:  # a button that is let go ends nothing
            source.button.publish(Bool(data=False))
        elif stopped == 200:
            source.clients_of["reset"].call_async(Trigger.Request())
        return effort(0.01)(state)

    words = ("duration:=4.0", "held:=false", "engagement_time:=0.2")
    code, output, source = run(context, "joystick", answer, *words, prepare=sources.append)
    assert code == 0, output
    stopped = [state.tick for state in source.states if state.status == SAFE_STOP]
    assert stopped[0] > 300 and stopped == list(range(stopped[0], stopped[-1] + 1)) and len(stopped) >= 200
    acted = [state.joint_effort[0] for state in source.states]
    assert 0.01 in acted[:301] and not any(acted[stopped[0] + 1 : stopped[-1] + 1]) and acted[-1] == 0.01
    ramp = [state.tick for state in source.states if state.limited == DeviceState.ENGAGING]
    assert len(ramp) == 200 and ramp[0] > stopped[-1]
    assert [acted[tick] for tick in ramp] == pytest.approx([0.01 * j / 200 for j in range(200)])
    assert stop_event(source) == {"status": SAFE_STOP, "reason": f"emergency stop by {by}"}


def test_active_limits_are_reported(context: Any) -> None:
    code, output, source = run(context, "joystick", effort(3.5), "duration:=0.2", "held:=false")
    assert code == 0, output
    limited = [state.limited for state in source.states]
    assert DeviceState.LIMITED_EFFORT in limited and "limited at tick" in output
    first = source.device_events("limit")[0]["limited"]
    assert first == {"effort": 1, "effort rate": 1}
    last = source.device_events("state")[-1]["limited"]
    assert last["effort"] == sum(bool(each & DeviceState.LIMITED_EFFORT) for each in limited)


def test_a_command_that_is_not_finite_commands_nothing(context: Any) -> None:
    def answer(state: DeviceState) -> DeviceCommand:
        return effort(math.nan if state.tick >= 500 else 0.1)(state)

    code, output, source = run(context, "joystick", answer, "duration:=1.0", "held:=false")
    assert code == 0 and "rejected (not finite, 1 so far): command of source" in output
    assert any(state.joint_effort[0] == 0.1 for state in source.states[:500])
    assert list(source.states[-1].joint_effort) == [0.0, 0.0] and source.states[-1].status == OK


def test_an_exception_in_python_ends_the_run_with_its_traceback(context: Any, tmp_path: Path) -> None:
    info = tmp_path / "faulty-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: faulty\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[haptic_devices]\nfaulty = faulty_device:make\n")
    (tmp_path / "faulty_device.py").write_text(FAULTY)
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    code, output, source = run(context, "faulty", effort(0.1), "duration:=5.0", PYTHONPATH=path)
    assert code == 1
    assert output.count("write: the device's Python code failed, safe state") == 1
    assert output.count("ZeroDivisionError: in the driver") == 1 and "in broken" in output
    assert 0 < len(source.states) < 5000
    assert "over" not in source.device_events("state")[-1]


def test_mock_hardware_runs_the_loop(context: Any) -> None:
    code, output, source = run(
        context, "tau", effort(0.01), "duration:=0.5", "held:=false", program="mock_control_node"
    )
    assert code == 0, output
    assert [state.tick for state in source.states] == list(range(500)) and not source.truths
    assert list(source.states[-1].joint_effort) == [0.01] * 6  # it has what it was commanded
    assert source.states[-1].joint_position[1] > 1.0


@pytest.mark.parametrize(
    ("parameter", "text"),
    [("mode:=lockstep", "expected realtime under ros2_control"), ("motion:=letters2", "parameter motion")],
)
def test_bad_parameters_are_refused_in_one_line(context: Any, parameter: str, text: str) -> None:
    code, output, _ = run(context, "joystick", effort(0.0), parameter)
    assert code == 1 and text in output and "Traceback" not in output
