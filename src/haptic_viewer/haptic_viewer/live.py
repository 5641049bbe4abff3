"""`./haptics doctor --live`: state of the experiments in this ROS domain, from some seconds of passive listening."""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeGuard

import rclpy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from lifecycle_msgs.srv import GetState
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import QoSCompatibility, qos_check_compatible
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from haptic_core.environment import SettingError, check_environment
from haptic_core.errors import InputError
from haptic_core.messages import detail_of
from haptic_core.qos import EVENT_DEPTH, display_qos, latched_qos
from haptic_core.start.matching import RECORDER
from haptic_msgs.msg import DeviceState, TickEvent
from haptic_viewer.text import plain

_DEVICE_STATE = "haptic_msgs/msg/DeviceState"
#: longest search for an experiment, and for its missing nodes [s]; the middleware announces itself every 3 s
SEARCH = 5.0
#: time of listening in between [s]; nodes report once a second
LISTEN = 2.5
#: longest wait for the lifecycle state of a node [s]
_ANSWER = 1.0
#: a realtime device below this fraction of its rate is too slow
_RATE = 0.98
_LEVELS = ("ok", "warning", "error", "stale")
_COLOURS = ("green", "yellow", "red", "red")
_NUMBERS = ("rate [1/s]", "compute time p50 [us]", "compute time p99 [us]", "missed ticks")


@dataclass
class NodeReport:
    """One line of the table.

    Attributes:
        name: name of the node.
        state: lifecycle state of the node; empty if unknown.
        numbers: rate, p50, p99 and missed ticks that the node reports, by key; empty without a report.
        rejected: number of rejected inputs by kind.
        level: 0 ok, 1 warning, 2 error.
        problems: descriptions of the problems.
    """

    name: str
    state: str = ""
    numbers: dict[str, str] = field(default_factory=dict)
    rejected: dict[str, str] = field(default_factory=dict)
    level: int = 0
    problems: list[str] = field(default_factory=list)

    def complain(self, problem: str, level: int = 2) -> None:
        """Adds the description of a problem."""
        self.problems.append(problem)
        self.level = max(self.level, level)


class LiveExperiment:
    """Subscriptions to the events, the status and the diagnostics of an experiment.

    Args:
        node: node of the subscriptions.
        namespace: namespace of the device.
    """

    def __init__(self, node: Node, namespace: str) -> None:
        self._node, self.namespace = node, namespace
        self.device, self._parameters = "", dict[str, Any]()
        self._active: set[str] = set()
        self._paused = False
        self.status: DiagnosticStatus | None = None
        self._reports: dict[str, DiagnosticStatus] = {}
        self._ticks: list[int] = []
        node.create_subscription(TickEvent, f"{namespace}/tick_event", self._on_event, latched_qos(EVENT_DEPTH))
        node.create_subscription(DiagnosticStatus, f"{namespace}/status", self._on_status, latched_qos())
        node.create_subscription(DiagnosticArray, "/diagnostics", self._on_diagnostics, display_qos())
        node.create_subscription(
            DeviceState, f"{namespace}/device_state", lambda state: self._ticks.append(state.tick), display_qos()
        )

    def _on_event(self, event: TickEvent) -> None:
        try:
            detail = detail_of(event)
        except InputError:
            return
        parameters = detail.get("parameters")
        if event.kind == TickEvent.KIND_STATE:
            (self._active.add if detail.get("state") == "active" else self._active.discard)(event.source)
            if _describes_device(parameters):
                self.device, self._parameters, self._paused = event.source, parameters, False
        elif event.kind == TickEvent.KIND_PAUSE:
            self._paused = detail.get("paused") is True

    def _on_status(self, status: DiagnosticStatus) -> None:
        if status.level[0] < len(_LEVELS):
            self.status = status

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            if status.level[0] < len(_LEVELS):
                self._reports[status.name] = status

    @property
    def title(self) -> str:
        """Namespace, mode and newest tick of the device."""
        mode = self._parameters.get("mode", "unknown mode")
        ticks = f"tick {self._ticks[-1]}" if self._ticks else "no tick"
        return f"{self.namespace}: {mode}, {ticks}{', paused' if self._paused else ''}"

    def _expected(self) -> list[str]:
        """Returns the full names of the nodes that belong to the experiment, the device first."""
        sources = [f"{self.namespace}/{name}" for name in self._parameters.get("sources", [])]
        device = f"{self.namespace}/{self.device}"
        expected = [device] if self.device else []
        return expected + sources + ([f"/{RECORDER}"] if self._parameters.get("recorded") else [])

    def _known(self) -> set[str]:
        """Returns the full names of the discovered nodes of the experiment, and of the recorder."""
        names = self._node.get_node_names_and_namespaces()
        there = {f"{space.rstrip('/')}/{name}" for name, space in names if space == (self.namespace or "/")}
        return there | {f"/{name}" for name, _ in names if name == RECORDER}

    def complete(self) -> bool:
        """Returns whether the device has described itself, and every expected node is discovered and has reported."""
        expected = set(self._expected())
        return bool(expected) and expected <= self._known() & {f"/{name.lstrip('/')}" for name in self._reports}

    def reports(self, state_of: Callable[[str], str]) -> list[NodeReport]:
        """Returns the lines of the table, the device first.

        Args:
            state_of: function that returns the lifecycle state of a node by its full name; empty without an answer.
        """
        expected, known = self._expected(), self._known()
        others = sorted(f"/{name}" for name in self._reports if f"/{name}" in known and f"/{name}" not in expected)
        rows = []
        for name in [*expected, *others]:
            row = NodeReport(name.rpartition("/")[2] if self.namespace else name)
            rows.append(row)
            if name not in known:
                row.complain("missing: there is no such node, or it hangs")
                continue
            row.state = state_of(name)
            if not row.state:
                row.complain("no answer: it hangs, or has just died")
            elif row.state != "active":
                row.complain(f"{row.state}: it is to be active")
            self._take_report(row, self._reports.get(name.lstrip("/")), moves=bool(self._ticks))
        if rows:
            self._check_device(rows[0])
        else:
            rows.append(NodeReport("device"))
            rows[0].complain("publishes device_state, but has not said what it is")
        return rows

    def _take_report(self, row: NodeReport, report: DiagnosticStatus | None, *, moves: bool) -> None:
        if report is None:
            if moves and row.state == "active":
                row.complain("stale: no diagnostics although ticks pass")
            return
        values = {entry.key: entry.value for entry in report.values}
        row.numbers = {key: values[key] for key in _NUMBERS if key in values}
        row.rejected = {
            key.removeprefix("rejected: "): value for key, value in values.items() if key.startswith("rejected: ")
        }
        if report.level[0]:
            row.complain(report.message, report.level[0])

    def _check_device(self, row: NodeReport) -> None:
        if self._paused:
            return
        if not self._ticks:
            row.complain("no tick: it waits for its sources or the recorder, or for an answer")
        elif self._parameters.get("mode") == "realtime" and "rate [1/s]" in row.numbers:
            expected = 1.0 / self._parameters["period"]
            if _number(row.numbers["rate [1/s]"]) < _RATE * expected:
                row.complain(f"too slow: {row.numbers['rate [1/s]']} ticks/s instead of {expected:g}", 1)

    def mismatches(self) -> list[str]:
        """Describes the pairs of publisher and subscription that are not connected because of their QoS."""
        node, found = self._node, []
        for topic, _ in node.get_topic_names_and_types():
            if not (topic.startswith(f"{self.namespace}/") or topic == "/diagnostics"):
                continue
            for publisher in node.get_publishers_info_by_topic(topic):
                for subscription in node.get_subscriptions_info_by_topic(topic):
                    answer, reason = qos_check_compatible(publisher.qos_profile, subscription.qos_profile)
                    if answer == QoSCompatibility.ERROR:
                        names = f"{publisher.node_name} does not reach {subscription.node_name}"
                        found.append(f"{topic}: {names}: {reason.strip().rstrip(';')}")
        return found


def _describes_device(parameters: object) -> TypeGuard[dict[str, Any]]:
    """Returns whether the parameters of an event are those of a device, as far as this module reads them."""
    if not isinstance(parameters, dict):
        return False
    sources, period = parameters.get("sources"), parameters.get("period")
    named = isinstance(sources, list) and all(isinstance(source, str) for source in sources)
    return named and isinstance(period, float) and period > 0.0


def _number(text: str) -> float:
    """Returns the number in a text; NaN if there is none."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def _safe(text: object) -> str:
    """Returns text of another program so that the terminal shows it as it is: no markup, no control characters."""
    return escape(plain(str(text)))


def find_experiments(node: Node) -> list[str]:
    """Returns the namespaces in which a device publishes its state."""
    return sorted(
        name.rpartition("/")[0]
        for name, kinds in node.get_topic_names_and_types()
        if kinds == [_DEVICE_STATE] and node.count_publishers(name)
    )


class Examination:
    """Examination of all experiments of a ROS domain.

    Args:
        context: initialised context of rclpy.
    """

    def __init__(self, context: Context) -> None:
        self._node = Node("haptics_doctor", context=context, start_parameter_services=False, enable_rosout=False)
        self._executor = SingleThreadedExecutor(context=context)
        self._executor.add_node(self._node)

    def close(self) -> None:
        """Destroys the node."""
        self._executor.shutdown()
        self._node.destroy_node()

    def _until(self, condition: Callable[[], object], seconds: float) -> None:
        end = time.monotonic() + seconds
        while not condition() and time.monotonic() < end:
            self._executor.spin_once(timeout_sec=0.05)

    def _state_of(self, name: str) -> str:
        client = self._node.create_client(GetState, f"{name}/get_state")
        try:
            self._until(client.service_is_ready, _ANSWER)
            if not client.service_is_ready():
                return ""
            future = client.call_async(GetState.Request())
            self._until(future.done, _ANSWER)
            return future.result().current_state.label if future.done() else ""
        finally:
            self._node.destroy_client(client)

    def run(self) -> list[tuple[LiveExperiment, list[NodeReport], list[str]]]:
        """Examines the experiments; returns each with its nodes and QoS mismatches."""
        self._until(lambda: find_experiments(self._node), SEARCH)
        experiments = [LiveExperiment(self._node, namespace) for namespace in find_experiments(self._node)]
        if experiments:
            self._until(lambda: False, LISTEN)
            self._until(lambda: all(one.complete() for one in experiments), SEARCH)
        return [(one, one.reports(self._state_of), one.mismatches()) for one in experiments]


def show(console: Console, experiment: LiveExperiment, rows: list[NodeReport], mismatches: list[str]) -> bool:
    """Prints the table of one experiment; returns whether there is no problem."""
    table = Table("node", "state", "ticks/s", "missed", "p50 [µs]", "p99 [µs]", "rejected", "what is wrong")
    for row in rows:
        rate, p50, p99, missed = (row.numbers.get(key, "") for key in _NUMBERS)
        rejected = ", ".join(f"{count} {kind}" for kind, count in row.rejected.items())
        wrong = f"[{_COLOURS[row.level]}]{_safe('; '.join(row.problems) or 'ok')}[/]"
        table.add_row(*map(_safe, (row.name, row.state, rate, missed, p50, p99, rejected)), wrong)
    console.print(_safe(experiment.title), highlight=False)
    console.print(table)
    for line in mismatches:
        console.print(f"[red]QoS mismatch[/] {_safe(line)}", highlight=False, soft_wrap=True)
    if experiment.status is not None:
        level = experiment.status.level[0]
        reason = f": {_safe(experiment.status.message)}" if level else ""
        text = f"status [{_COLOURS[level]}]{_LEVELS[level]}[/]{reason}"
        console.print(text, highlight=False, soft_wrap=True)
    return not (mismatches or any(row.problems for row in rows))


def main() -> int:
    """Prints the state of the running experiments.

    Returns:
        0 if an experiment runs and there is no problem, else 1.
    """
    try:
        check_environment(os.environ)
    except SettingError as error:
        print(f"error: {error}\n  hint: {error.hint}", file=sys.stderr)
        return 1
    console = Console(width=None if sys.stdout.isatty() else 150)
    context = Context()
    rclpy.init(context=context)
    examination = Examination(context)
    try:
        return _show_all(console, examination.run())  # before the end, in which the middleware may hang
    finally:
        examination.close()
        context.try_shutdown()


def _show_all(console: Console, found: list[tuple[LiveExperiment, list[NodeReport], list[str]]]) -> int:
    """Prints what was found; returns the exit code."""
    if not found:
        hint = "./haptics run EXPERIMENT starts one; what is in another ROS_DOMAIN_ID, or hangs, is not seen"
        print(f"error: no experiment is running\n  hint: {hint}", file=sys.stderr)
        return 1
    well = [show(console, *one) for one in found]
    return 0 if all(well) else 1


if __name__ == "__main__":
    sys.exit(main())
