"""`./haptics doctor --live` and the topic `status`, on runs whose nodes are well, stopped, or make the device safe."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from machine_speed import limit
from rclpy.context import Context
from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rich.console import Console
from started_runs import find_child, wait_until

from haptic_core.events import make_event
from haptic_core.qos import display_qos, status_qos
from haptic_msgs.msg import DeviceState, TickEvent
from haptic_viewer import live


def doctor() -> tuple[int, str]:
    """Exit code and output of the command, as the script starts it."""
    command = [sys.executable, "-m", "haptic_viewer.live"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=limit(200.0))
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stdout + done.stderr


def line_of(text: str, node: str) -> str:
    """The line of a node, without its borders."""
    (line,) = (line for line in text.splitlines() if line.startswith(f"│ {node} "))
    return " ".join(line.replace("│", " ").split())


@pytest.fixture
def statuses(context: Context) -> Iterator[list[DiagnosticStatus]]:
    """What the experiment says of itself while `heard_until` waits; that keeps signs of life and the nodes' values."""
    node = Node("listener", context=context, namespace="joystick")
    heard: list[DiagnosticStatus] = []
    heard_until.alive, heard_until.nodes = [], {}
    events = SubscriptionEventCallbacks(liveliness=lambda event: heard_until.alive.append(event.alive_count))
    node.create_subscription(DiagnosticStatus, "status", heard.append, status_qos(), event_callbacks=events)
    node.create_subscription(DiagnosticArray, "/diagnostics", take_diagnostics, display_qos())
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    heard_until.executor = executor
    yield heard
    executor.shutdown()
    node.destroy_node()


def take_diagnostics(message: DiagnosticArray) -> None:
    for status in message.status:
        heard_until.nodes[status.name] = {entry.key: entry.value for entry in status.values}


def heard_until(condition) -> None:
    def served() -> object:
        heard_until.executor.spin_once(timeout_sec=0.05)
        return condition()

    wait_until(served)


@pytest.mark.experiment
def test_a_run_that_is_well_and_then_hangs(start, statuses: list[DiagnosticStatus]) -> None:
    run = start("command_delay_ticks:=0", "pace:=0.1", "duration:=3600.0", "layout:=processes")
    wait_until(run.is_running)
    texts: list[str] = []

    def well() -> bool:
        """A node of a machine with other work may answer late."""
        code, text = doctor()
        texts.append(text)
        return code == 0

    wait_until(well)
    text = texts[-1]
    assert "/joystick: lockstep, tick " in text and "status ok\n" in text
    for node in ("device", "friction", "recorder"):
        words = line_of(text, node).split()
        assert words[1] == "active" and words[-1] == "ok", text
        assert float(words[2]) > 0.0
    friction = find_child(run.pid, "friction_node")
    os.kill(friction, signal.SIGSTOP)
    heard_until(lambda: statuses and statuses[-1].level == DiagnosticStatus.ERROR)
    code, text = doctor()
    os.kill(friction, signal.SIGCONT)
    assert code == 1
    assert "device: waits for the answer of friction to tick " in statuses[-1].message
    assert "waits for the answer of friction to tick" in line_of(text, "device")
    assert "missing: there is no such node, or it hangs" in line_of(text, "friction")
    assert line_of(text, "recorder").endswith("ok")


@pytest.mark.realtime
def test_a_device_in_its_safe_state_is_an_error_of_the_experiment(start, statuses: list[DiagnosticStatus]) -> None:
    run = start("mode:=realtime", "period:=0.02", "record:=false", "duration:=3600.0", "watchdog_periods:=100")
    heard_until(lambda: sum("waiting for" not in status.message for status in statuses) > 1)  # so ticks pass
    assert statuses[-1].name == "joystick" and statuses[-1].level in (DiagnosticStatus.OK, DiagnosticStatus.WARN)
    friction = find_child(run.pid, "friction_node")
    os.kill(friction, signal.SIGSTOP)
    reason = "safe state: source friction: silent for 100 ticks"
    heard_until(lambda: statuses[-1].level == DiagnosticStatus.ERROR and "friction: silent:" in statuses[-1].message)
    values = {entry.key: entry.value for entry in statuses[-1].values}
    os.kill(friction, signal.SIGCONT)
    assert statuses[-1].message.startswith(f"device: {reason}; friction: silent: it does not report any more")
    assert values["safe state"] == reason.removeprefix("safe state: ")
    assert int(values["missed ticks"]) >= 100 and values["device"] == reason
    device = find_child(run.pid, "device_node")
    os.kill(device, signal.SIGSTOP)
    heard_until(lambda: heard_until.alive[-1] == 0)
    os.kill(device, signal.SIGCONT)
    heard_until(lambda: heard_until.alive[-1] == 1)
    # without states for longer than the lease friction sent no command; its middleware counted, and now it can say so
    heard_until(lambda: int(heard_until.nodes.get("joystick/friction", {}).get("deadline missed: device_command", 0)))


@pytest.fixture
def node_named(context: Context) -> Iterator[Callable[[str], Node]]:
    """Makes nodes of an experiment in /tau that is only acted here."""
    made: list[Node] = []

    def make(name: str) -> Node:
        made.append(Node(name, context=context, namespace="/tau"))
        return made[-1]

    yield make
    for node in made:
        node.destroy_node()


def test_a_publisher_that_does_not_reach_a_reader_is_named(node_named: Callable[[str], Node]) -> None:
    doctor_node, device, wall = map(node_named, ("doctor", "device", "wall"))
    device.create_publisher(DeviceState, "device_state", QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT))
    for depth in (1, 2):  # two readers, one of which asks for what there is
        reliability = ReliabilityPolicy.RELIABLE if depth == 1 else ReliabilityPolicy.BEST_EFFORT
        wall.create_subscription(DeviceState, "device_state", print, QoSProfile(depth=depth, reliability=reliability))
    wait_until(lambda: len(doctor_node.get_subscriptions_info_by_topic("/tau/device_state")) == 2)
    experiment = live.LiveExperiment(device, "/tau")
    (line,) = [line for line in experiment.mismatches() if "device does not reach wall" in line]
    assert line.startswith("/tau/device_state: device does not reach wall: ERROR: Best effort publisher")


def test_missing_inactive_and_stale_nodes_are_reported(node_named: Callable[[str], Node]) -> None:
    nodes = {name: node_named(name) for name in ("doctor", "device", "wall", "friction")}
    experiment = live.LiveExperiment(nodes["doctor"], "/tau")
    wait_until(lambda: {"device", "wall", "friction"} <= set(nodes["doctor"].get_node_names()))
    states = {"/tau/device": "active", "/tau/wall": "inactive", "/tau/friction": "active"}

    def told() -> dict[str, list[str]]:
        return {row.name: row.problems for row in experiment.reports(states.__getitem__) if row.name != "doctor"}

    assert told() == {"device": ["publishes device_state, but has not said what it is"]}
    parameters = {"sources": ["wall", "friction", "contact"], "mode": "realtime", "period": 1e-3, "recorded": False}
    experiment._on_event(make_event("device", "state", {"state": "active", "parameters": parameters}))
    missing = {"wall": ["inactive: it is to be active"], "contact": ["missing: there is no such node, or it hangs"]}
    waits = "no tick: it waits for its sources or the recorder, or for an answer"
    assert told() == {"device": [waits], "friction": [], **missing}
    experiment._ticks.append(7)
    values = [KeyValue(key="rate [1/s]", value="900.0"), KeyValue(key="rejected: late", value="3")]
    status = DiagnosticStatus(name="tau/device", level=DiagnosticStatus.WARN, message="3 ticks missed", values=values)
    experiment._on_diagnostics(DiagnosticArray(status=[status]))
    device = experiment.reports(states.__getitem__)[0]
    assert (device.level, device.rejected) == (1, {"late": "3"})
    stale = {"friction": ["stale: no diagnostics although ticks pass"], **missing}
    assert told() == {"device": ["3 ticks missed", "too slow: 900.0 ticks/s instead of 1000"], **stale}
    states["/tau/friction"] = ""
    assert told()["friction"] == ["no answer: it hangs, or has just died"]
    experiment._ticks.clear()
    experiment._on_event(make_event("device", "pause", {"paused": True}))
    assert told()["device"] == ["3 ticks missed"] and "paused" in experiment.title


def test_forged_events_and_reports_end_neither_the_command_nor_the_terminal(
    node_named: Callable[[str], Node], capsys: pytest.CaptureFixture[str]
) -> None:
    doctor_node, _ = node_named("doctor"), node_named("device")
    experiment = live.LiveExperiment(doctor_node, "/tau")
    for parameters in (5, {"sources": 3}, {"sources": [1], "period": 1e-3}, {"sources": [], "period": "x"}):
        experiment._on_event(make_event("device", "state", {"state": "active", "parameters": parameters}))
    experiment._on_event(make_event("device", "pause", {}))
    contradiction = [KeyValue(key="a", value="1"), KeyValue(key="a/b", value="2")]
    experiment._on_event(TickEvent(source="device", kind="state", values=contradiction))
    assert not experiment.device
    device = {"sources": [], "mode": "[/b]\x1b[31m", "period": 1e-3}
    experiment._on_event(make_event("device", "state", {"state": "active", "parameters": device}))
    rate = [KeyValue(key="rate [1/s]", value="fast")]
    unknown = DiagnosticStatus(name="tau/device", level=b"\xc8")
    forged = DiagnosticStatus(name="tau/device", level=b"\x01", message="[/red] 5 [s] \x1b[2J", values=rate)
    wait_until(lambda: "device" in doctor_node.get_node_names())
    for status in (forged, unknown):
        experiment._on_status(status)
        experiment._on_diagnostics(DiagnosticArray(status=[status]))
    assert not live.show(Console(width=150), experiment, experiment.reports(lambda _: "active"), ["[/b]"])
    text = capsys.readouterr().out
    assert text.count("[/red] 5 [s]") == 2 and "\x1b[2J" not in text


def test_a_setting_that_no_node_can_use_is_refused(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ROS_DOMAIN_ID", "abc")
    assert live.main() == 1
    assert capfd.readouterr().err.startswith("error: ROS_DOMAIN_ID: expected 0 to 232, got 'abc'\n  hint: ")


def test_without_a_running_experiment_there_is_one_error(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(live, "SEARCH", 0.3)
    assert live.main() == 1
    assert capfd.readouterr().err.startswith("error: no experiment is running\n  hint: ")
