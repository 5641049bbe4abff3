"""One status for an experiment: the worst of its nodes, who is silent, the numbers that count."""

from __future__ import annotations

import time

import pytest
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from machine_speed import limit
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node

from haptic_core.qos import display_qos, status_qos
from haptic_core.statistics import Rejections
from haptic_core.status import PATIENCE, ExperimentStatus, StatusTopic
from haptic_core.suite_node import SuiteNode

OK, WARN, ERROR, STALE = DiagnosticStatus.OK, DiagnosticStatus.WARN, DiagnosticStatus.ERROR, DiagnosticStatus.STALE


def report(name: str, level: bytes = OK, message: str = "ok", **values: str) -> DiagnosticStatus:
    return DiagnosticStatus(
        name=name, level=level, message=message, values=[KeyValue(key=k, value=v) for k, v in values.items()]
    )


@pytest.fixture
def status() -> ExperimentStatus:
    made = ExperimentStatus("tau", "tau/device", ["tau/wall", "tau/friction"])
    for name in ("device", "wall", "friction"):
        made.take(report(f"tau/{name}"))
    return made


def values(summary: DiagnosticStatus) -> dict[str, str]:
    return {entry.key: entry.value for entry in summary.values}


def test_all_well(status: ExperimentStatus) -> None:
    summary = status.summary()
    assert (summary.level, summary.name, summary.message) == (OK, "tau", "ok")
    assert values(summary) == {
        "missed ticks": "0", "rejections": "0", "safe state": "", "device": "ok", "wall": "ok", "friction": "ok"
    }  # fmt: skip


def test_the_worst_comes_first_and_gives_the_level(status: ExperimentStatus) -> None:
    status.take(report("tau/wall", WARN, "2 ticks missed"))
    summary = status.summary()
    assert (summary.level, summary.message) == (WARN, "wall: 2 ticks missed")
    status.take(report("tau/friction", ERROR, "broken"))
    summary = status.summary()
    assert (summary.level, summary.message) == (ERROR, "friction: broken; wall: 2 ticks missed")
    status.take(report("tau/device", ERROR, "safe state: x", **{"safe state": "x", "missed ticks": "7"}))
    summary = status.summary()
    assert summary.message == "device: safe state: x; friction: broken; wall: 2 ticks missed"
    assert (values(summary)["safe state"], values(summary)["missed ticks"]) == ("x", "7")


def test_rejections_of_all_nodes_are_added_and_others_are_left_aside(status: ExperimentStatus) -> None:
    status.take(report("tau/device", **{"rejected: late": "3", "rejected: not finite": "1"}))
    status.take(report("tau/wall", **{"rejected: wrong tick": "2"}))
    status.take(report("joystick/wall", ERROR, "of another experiment", **{"rejected: late": "100"}))
    assert values(status.summary())["rejections"] == "6"
    assert status.summary().level == OK


@pytest.mark.parametrize("count", ["many", "-1", "1.5", "", "9" * 5000])
def test_diagnostics_with_a_count_that_is_none_are_ignored(status: ExperimentStatus, count: str) -> None:
    """A forged message ended the device's process."""
    status.take(report("tau/wall", ERROR, "forged", **{"rejected: late": count}))
    assert (status.summary().level, values(status.summary())["rejections"]) == (OK, "0")


def test_diagnostics_with_an_unknown_level_are_ignored(status: ExperimentStatus) -> None:
    status.take(report("tau/wall", b"\xc8", "forged"))
    assert (status.summary().level, status.summary().message) == (OK, "ok")


def test_silent_node_is_reported_and_recovers(status: ExperimentStatus) -> None:
    def next_one() -> DiagnosticStatus:
        status.take(report("tau/device"))
        status.take(report("tau/friction"))
        return status.summary()

    for _ in range(PATIENCE):
        assert next_one().level == OK
    summary = next_one()
    assert (summary.level, summary.message) == (ERROR, "wall: silent: it does not report any more")
    status.take(report("tau/wall"))
    assert next_one().level == OK


def test_an_experiment_that_does_not_go_on_is_stale(status: ExperimentStatus) -> None:
    assert (status.ended("why").level, status.ended("why").message) == (STALE, "why")


class Reporter:
    """The attributes of a node that `_health` reads."""

    def __init__(self, mode: str) -> None:
        self.parameters = {"mode": mode}
        self.rejections, self.problem, self._troubles = Rejections(), "", (0, 0)
        self.waiting_for = ""

    def trouble(self) -> str:
        return self.problem

    def health(self, ticks: int, missed: int) -> tuple[bytes, str]:
        return SuiteNode._health(self, ticks, missed)


@pytest.mark.parametrize(("mode", "tolerated"), [("lockstep", 0), ("realtime", 10)])
def test_a_node_warns_of_what_came_since_its_last_report(mode: str, tolerated: int) -> None:
    node = Reporter(mode)
    assert node.health(1000, tolerated) == (OK, "ok")
    assert node.health(1000, 2 * tolerated + 1) == (WARN, f"{tolerated + 1} ticks missed")
    assert node.health(1000, 2 * tolerated + 1) == (OK, "ok")
    for _ in range(tolerated + 1):
        node.rejections.add("not finite", 0.0)
    assert node.health(1000, 0) == (WARN, f"{tolerated + 1} inputs rejected")  # the device has started anew
    node.problem = "safe state: x"
    assert node.health(1000, 0) == (ERROR, "safe state: x")


@pytest.mark.parametrize("device", ["device", "controller"])
def test_device_or_its_monitor_sums_up_the_states_of_the_nodes(context: Context, device: str) -> None:
    """Under ros2_control the device's node is a controller, and another process sums up."""
    namespace = f"/status_{device}"
    node = Node("device", context=context, namespace=namespace)
    topic = StatusTopic(node, device, ["friction"], recorded=False)
    said: list[DiagnosticStatus] = []
    node.create_subscription(DiagnosticStatus, "status", said.append, status_qos())
    reports = node.create_publisher(DiagnosticArray, "/diagnostics", display_qos())
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)

    def until(count: int) -> None:
        end = time.monotonic() + limit(60.0)
        while len(said) < count and time.monotonic() < end:
            executor.spin_once(timeout_sec=0.1)

    while not reports.get_subscription_count():
        executor.spin_once(timeout_sec=0.01)
    place = namespace[1:]
    stopped = report(f"{place}/{device}", ERROR, "safe state: emergency stop", **{"safe state": "emergency stop"})
    if device == "device":
        topic.report(stopped)
    reports.publish(DiagnosticArray(status=[report(f"{place}/friction", WARN, "2 ticks missed"), stopped]))
    until(1)
    for _ in range(5):
        executor.spin_once(timeout_sec=0.02)
    (summary,) = said  # also where the device's node hears itself
    assert (summary.level, summary.name) == (ERROR, place)
    assert summary.message.startswith(f"{device}: safe state: emergency stop")
    assert values(summary)["safe state"] == "emergency stop"
    if device == "controller":
        assert summary.message.endswith("friction: 2 ticks missed")
    topic.end("the device is not active")
    until(2)
    assert (said[-1].level, said[-1].message) == (STALE, "the device is not active")
    topic.destroy()
    node.destroy_node()


def test_waiting_node_warns_and_names_the_reason() -> None:
    node = Reporter("lockstep")
    node.waiting_for = "source wall"
    assert node.health(0, 0) == (WARN, "waiting for source wall")
    node.problem = "safe state: silence"
    assert node.health(0, 0) == (ERROR, "safe state: silence")
