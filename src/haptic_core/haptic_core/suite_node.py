"""Base of all nodes of the suite: lifecycle, parameters from YAML, events, rejections, diagnostics."""

from __future__ import annotations

import time
import traceback
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rcl_interfaces.msg import ParameterDescriptor, SetParametersResult
from rclpy.event_handler import PublisherEventCallbacks
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.publisher import Publisher
from rclpy.qos import QoSProfile
from std_srvs.srv import Trigger

from haptic_core.errors import HapticError, ParameterError
from haptic_core.events import fill_event
from haptic_core.messages import set_stamp
from haptic_core.parameter_files import PARAMS_FILE, values_for
from haptic_core.parameters import (
    FIXED_ONCE_CONFIGURED,
    ParameterSpec,
    check_all,
    fold_nested,
    load_parameter_specs,
    nested_spec,
)
from haptic_core.qos import EVENT_DEPTH, display_qos, latched_qos
from haptic_core.rclpy_guards import ClockGuard, guard_services
from haptic_core.statistics import RECENT, Rejections, TimeStatistics
from haptic_core.transport.interface import RosTopics, Transport
from haptic_msgs.msg import TickEvent

#: fraction of a realtime node's ticks that may be missed or rejected before its diagnostics warn; in lockstep none
TOLERATED = 0.01

#: value that parameter services report for a secret
HIDDEN = "(hidden)"

_ROS_OWN = {"use_sim_time", "start_type_description_service"}


def given_parameters(node: Node) -> dict[str, Any]:
    """Returns the values of the parameters that the user gave to a node, which declares them from overrides."""
    return {
        name: parameter.value
        for name, parameter in node.get_parameters_by_prefix("").items()
        if name not in _ROS_OWN and not name.startswith("qos_overrides.")
    }


def declare_fixed(node: Node, file: Path, secrets: Collection[str] = ()) -> dict[str, Any]:
    """Declares the parameters of a node without lifecycle, all of which are read-only.

    Args:
        node: node that declares its parameters from overrides.
        file: YAML file of `haptic_core.parameters`.
        secrets: names of parameters whose values the parameter services do not report; they report `HIDDEN`.

    Returns:
        Checked values by name.

    Raises:
        ParameterError: a value is refused.
    """
    specs = load_parameter_specs(file)
    given = {name: value for name, value in given_parameters(node).items() if name in specs}
    replaced = values_for(given[PARAMS_FILE], node.get_fully_qualified_name(), specs) if given.get(PARAMS_FILE) else {}
    values = check_all(specs, given | replaced)
    for name, value in values.items():
        if name in given:
            node.undeclare_parameter(name)
        spec, reported = specs[name], HIDDEN if value and name in secrets else value
        node.declare_parameter(name, reported, _descriptor(spec, spec.constraints), ignore_override=True)
    return values


def _descriptor(spec: ParameterSpec, constraints: str) -> ParameterDescriptor:
    fixed = FIXED_ONCE_CONFIGURED if spec.file and not spec.read_only else ""
    return ParameterDescriptor(
        description=spec.description,
        additional_constraints=" and ".join(filter(None, (constraints, fixed))),
        read_only=spec.read_only,
    )


class SuiteNode(ClockGuard, LifecycleNode):
    """A lifecycle node whose parameters are declared by YAML files.

    Parameters are checked when they are declared and again, all together, when they are set. A change is applied
    between ticks, completely or not at all, and published as a TickEvent. Parameters that name files are fixed
    from configure to cleanup: a change is refused before any file is opened.

    Args:
        name: default name of the node.
        parameter_files: YAML files of `haptic_core.parameters`; later files may not repeat a name.
        transport: transport of the messages of tick topics; None: ROS topics.
        **node_options: options for rclpy (context, parameter_overrides, namespace).

    Attributes:
        transport: transport of the messages of tick topics.
        specs: declared parameters.
        configured: true from configure to cleanup, while the node has an object of `build`.
        active: true while the node answers.
        parameters: current values, checked.
        waiting_for: condition that the active node awaits before it begins its work; empty: none.
        finished: true when the node has done its work and the process may end.
        exit_code: exit code of the process.
    """

    def __init__(
        self, name: str, parameter_files: Sequence[Path], *, transport: Transport | None = None, **node_options: Any
    ) -> None:
        super().__init__(name, automatically_declare_parameters_from_overrides=True, **node_options)
        self.transport = RosTopics() if transport is None else transport
        self.finished = False
        self.exit_code = 0
        self.configured = False
        self.active = False
        self.waiting_for = ""
        self.tick = -1
        self.compute_time = TimeStatistics()
        self.rejections = Rejections()
        self.missed_deadlines: Counter[str] = Counter()
        self._diagnosed, self._report_waits = (time.monotonic(), -1), False
        self._troubles = 0, 0
        self.specs: dict[str, ParameterSpec] = {}
        for file in parameter_files:
            specs = load_parameter_specs(file)
            repeated = sorted(self.specs.keys() & specs.keys())
            if repeated:
                raise ParameterError(f"{file.name}: {repeated[0]}: declared by another file of this node already")
            self.specs.update(specs)
        self.parameters = self._declare()
        if self.parameters["mode"] == "lockstep":  # the device publishes the time of the ticks on /clock
            self.set_parameters([Parameter("use_sim_time", value=True)])
        self._event = TickEvent(source=self.get_name())
        self._events = self.create_publisher(TickEvent, "tick_event", latched_qos(EVENT_DEPTH))
        self._diagnostics = self.create_publisher(DiagnosticArray, "/diagnostics", display_qos())
        self.create_service(Trigger, "~/reset", self._on_reset)
        self._pending: Any = None
        guard_services(self)
        self.add_on_set_parameters_callback(self._on_set_parameters)
        self.add_post_set_parameters_callback(self._on_parameters_set)

    # ---- what a node implements -------------------------------------------------------------------

    @abstractmethod
    def build(self, parameters: dict[str, Any]) -> Any:
        """Makes the object that does the node's work from checked parameters.

        Called at configure and, while the last object is still in use, before parameters change. It must not modify
        the node. Raises ValueError (HapticError) to refuse.
        """

    @abstractmethod
    def install(self, built: Any) -> None:
        """Replaces the object in use by one of `build`, which takes over its state."""

    @abstractmethod
    def reset(self) -> None:
        """Brings the node's state back to its start, between ticks."""

    def restart(self) -> None:
        """Resets the node and the states of its base classes; extend."""
        self.reset()

    # ---- parameters -------------------------------------------------------------------------------

    def _declare(self) -> dict[str, Any]:
        given = given_parameters(self)
        replaced = {}
        if given.get(PARAMS_FILE) and PARAMS_FILE in self.specs:
            replaced = values_for(given[PARAMS_FILE], self.get_fully_qualified_name(), self.specs)
        values = check_all(self.specs, given | replaced)
        nested = {name: value for name, value in (given | replaced).items() if nested_spec(self.specs, name)}
        for name, value in {**values, **nested}.items():
            if name in given:
                self.undeclare_parameter(name)
            spec: Any = self._spec(name)
            descriptor = _descriptor(spec, "" if name in nested else spec.constraints)
            self.declare_parameter(name, value, descriptor, ignore_override=True)
        return values

    def _spec(self, name: str) -> ParameterSpec | None:
        """Returns the declaration of a parameter, or of the list of a nested one; None for a parameter of ROS."""
        return self.specs.get(name) or nested_spec(self.specs, name)

    def _on_set_parameters(self, changes: list[Parameter]) -> SetParametersResult:
        try:
            self._check_files_unchanged(changes)
            values = {change.name: change.value for change in changes if self._spec(change.name)}
            folded = fold_nested(self.specs, values, self.parameters)
            wanted = {name: self.specs[name].check(value) for name, value in folded.items()}
            candidate = {**self.parameters, **wanted}
            self._pending = (candidate, wanted, self.build(candidate) if self.configured else None)
        except (ValueError, OSError, HapticError) as error:
            self.get_logger().error(f"refused: {error}")
            return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)

    def _check_files_unchanged(self, changes: list[Parameter]) -> None:
        """Refuses any change of a parameter that names a file while the node is configured."""
        for change in changes if self.configured else ():
            name, spec = change.name, self._spec(change.name)
            if spec and spec.file and change.value != self.parameters.get(name):
                raise ParameterError(f"{name}: is {FIXED_ONCE_CONFIGURED}; clean the node up before it is set")

    def _on_parameters_set(self, _: list[Parameter]) -> None:
        candidate, wanted, built = self._pending
        self.parameters = candidate
        if built is not None:
            self.install(built)
        self.publish_event(TickEvent.KIND_PARAMETER, wanted)

    # ---- lifecycle --------------------------------------------------------------------------------

    def prepare(self) -> None:
        """Configures the node if its parameter `autostart` is true.

        Raises:
            HapticError: the transition was refused; the reason is in the log.
        """
        self._start(self.trigger_configure)

    def start(self) -> None:
        """Activates the node if `autostart` is true, after `prepare` if it is not configured; raises as `prepare`."""
        if not self.configured:
            self.prepare()
        self._start(self.trigger_activate)

    def _start(self, transition: Callable[[], TransitionCallbackReturn]) -> None:
        if self.parameters["autostart"] and transition() != TransitionCallbackReturn.SUCCESS:
            raise HapticError("not started")

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        result = self._guarded(self.configure)
        self.configured = result == TransitionCallbackReturn.SUCCESS
        return result

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        super().on_activate(state)
        result = self._guarded(self.activate)
        self.transport.refresh()
        self.active = result == TransitionCallbackReturn.SUCCESS
        if self.active:
            self.report_diagnostics(0.0)  # the first report takes 20 ms, too long within a tick
        return result

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        self.active = False
        self.transport.flush()
        result = self._guarded(self.deactivate)
        self.transport.wait_until_taken([self._events])
        super().on_deactivate(state)
        return result

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        self.configured = False
        return self._guarded(self.cleanup)

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Releases what `configure` made, after an error in another transition; the node is unconfigured then."""
        self.active = False
        if self.configured:
            self.configured = False
            self._guarded(self.cleanup)
        return TransitionCallbackReturn.SUCCESS

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        if self.active:
            self.on_deactivate(state)
        return TransitionCallbackReturn.SUCCESS

    def _guarded(self, step: Any) -> TransitionCallbackReturn:
        try:
            step()
        except (ValueError, OSError, HapticError) as error:
            self.get_logger().error(f"{step.__name__} refused: {error}")
            return TransitionCallbackReturn.FAILURE
        except Exception:  # an error in the code of a device or renderer, which rclpy would not show
            self.get_logger().error(f"{step.__name__} failed:\n{traceback.format_exc()}")
            return TransitionCallbackReturn.ERROR
        return TransitionCallbackReturn.SUCCESS

    def configure(self) -> None:
        """Validates the parameters and makes publishers; extend, calling the base first."""
        self.install(self.build(self.parameters))

    def activate(self) -> None:
        """Starts to answer; extend."""

    def deactivate(self) -> None:
        """Stops to answer; extend."""

    def cleanup(self) -> None:
        """Releases the resources of `configure`; extend."""

    # ---- events, rejections, diagnostics ----------------------------------------------------------

    def publish_event(self, kind: str, detail: dict[str, Any]) -> None:
        """Publishes a change that acts before the next tick, for recording and replay."""
        event = self._event
        event.tick = self.tick + 1
        lockstep = self.parameters["mode"] == "lockstep"
        period = self.parameters["period"]
        set_stamp(event.header, event.tick * round(period * 1e9) if lockstep else time.time_ns())
        fill_event(event, kind, detail)
        self._events.publish(event)

    def _on_reset(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        if not self.active:
            response.message = f"{self.get_name()}: not active, nothing to reset"
            return response
        try:
            self.restart()
        except HapticError as error:  # a device that is still disconnected
            response.message = f"{self.get_name()}: {error}"
            return response
        self.publish_event(TickEvent.KIND_RESET, {})
        response.success = True
        response.message = f"{self.get_name()}: reset before tick {self.tick + 1}"
        return response

    def take_ticks(
        self, kind: type, topic: str, callback: Callable[[Any], None], qos: QoSProfile, sources: Iterable[str]
    ) -> Callable[[], object]:
        """Subscribes to a tick topic: serialised messages, or message objects if all its sources share the process.

        Returns:
            Function that unsubscribes.
        """
        return self.transport.subscribe(self, kind, topic, callback, qos, sources)

    def deadline_events(self, topic: str) -> PublisherEventCallbacks:
        """Makes callbacks that count the deadlines that a publisher of this topic misses while the node is active."""

        def count(event: Any) -> None:
            if self.active:
                self.missed_deadlines[topic] += event.total_count_change

        return PublisherEventCallbacks(deadline=count if self.parameters["mode"] == "realtime" else None)

    def publish_tick(self, publisher: Publisher, message: Any) -> None:
        """Publishes on a tick topic, unless there is no subscriber."""
        self.transport.publish(publisher, message)

    def ticks_between(self, rate: float) -> int:
        """Returns the number of ticks between messages at a rate [Hz], at least 1."""
        return max(1, round(1.0 / (rate * self.parameters["period"])))

    def reject(self, kind: str, message: str) -> None:
        """Counts a rejected input and logs it at most once a second for each kind."""
        if self.rejections.add(kind, time.monotonic()):
            count = self.rejections.counts[kind]
            self.get_logger().error(f"rejected ({kind}, {count} so far): {message}")

    def report_diagnostics(self, interval: float = 1.0) -> bool:
        """Publishes rate, compute time and rejections, at most once per `interval` of wall time [s].

        Returns:
            True if the diagnostics were published.
        """
        now = time.monotonic()
        then, tick = self._diagnosed
        if now - then < interval:
            return False
        self._diagnosed = (now, self.tick)
        p50, p99 = self.compute_time.percentiles(50, 99, last=RECENT)
        own = self.diagnostic_values()
        values = {
            "rate [1/s]": f"{(self.tick - tick) / (now - then):.1f}",
            "compute time p50 [us]": f"{1e6 * p50:.1f}",
            "compute time p99 [us]": f"{1e6 * p99:.1f}",
            **{key: str(value) for key, value in own.items()},
            **{f"deadline missed: {topic}": str(count) for topic, count in sorted(self.missed_deadlines.items())},
            **{f"rejected: {kind}": str(count) for kind, count in sorted(self.rejections.counts.items())},
        }
        level, text = self._health(self.tick - tick, own.get("missed ticks", 0))
        status = DiagnosticStatus(
            name=self.get_fully_qualified_name().lstrip("/"),
            hardware_id=self.get_namespace().lstrip("/"),
            level=level,
            message=text,
            values=[KeyValue(key=key, value=value) for key, value in values.items()],
        )
        message = DiagnosticArray(status=[status])
        message.header.stamp = self.get_clock().now().to_msg()
        self._diagnostics.publish(message)
        self.reported(status)
        return True

    def report_soon(self) -> None:
        """Calls `report_diagnostics` once a second, when no message waits: the report takes half a tick."""
        age = time.monotonic() - self._diagnosed[0]
        if age >= 2.0:  # the transport was never idle
            self.report_diagnostics()
        elif age >= 1.0 and not self._report_waits:
            self._report_waits = True
            self.transport.when_idle(self._report)

    def _report(self) -> None:
        self._report_waits = False
        self.report_diagnostics()

    def reported(self, status: DiagnosticStatus) -> None:
        """Receives the diagnostics that were just published; extend."""

    def diagnostic_values(self) -> dict[str, Any]:
        """Returns further values for the diagnostics; extend."""
        return {}

    def trouble(self) -> str:
        """Returns the reason why the node does not do its work; empty if it does."""
        return ""

    def _health(self, ticks: int, missed: int) -> tuple[bytes, str]:
        """Returns level and message of the diagnostics for the `ticks` ticks since the last diagnostics."""
        rejected = self.rejections.counts.total()
        before, self._troubles = self._troubles, (missed, rejected)
        counts = [max(0, now - then) for now, then in zip(self._troubles, before, strict=True)]
        tolerated = TOLERATED * ticks if self.parameters["mode"] == "realtime" else 0
        texts = [f"{n} {what}" for n, what in zip(counts, ("ticks missed", "inputs rejected"), strict=True) if n]
        if self.trouble():
            return DiagnosticStatus.ERROR, self.trouble()
        if self.waiting_for:
            return DiagnosticStatus.WARN, f"waiting for {self.waiting_for}"
        if max(counts) > tolerated:  # a late answer is both
            return DiagnosticStatus.WARN, ", ".join(texts)
        return DiagnosticStatus.OK, "ok"

    def fail(self, message: str) -> None:
        """Ends the process with exit code 1 after one clear line."""
        self.get_logger().fatal(message)
        self.exit_code = 1
        self.finished = True
