"""Base of the rendering nodes: device state in, library step, command out.

A subclass defines `parameter_file`, `command_mode`, `state_type` and five methods: `build` (library object from
parameters), `install` (uses that object), `reset`, `render` (one step, fills `command`) and `fill_state` (its own state
message).
A node may also use the states of other nodes: `input_types` lists the kinds that it understands, its parameter `inputs`
the inputs that it waits for before it computes a tick (docs/loop.md). This module has no physics and no timer for the
ticks: the device is the clock.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from rclpy.logging import get_logging_directory
from rclpy.parameter import Parameter

from haptic_core import commands
from haptic_core.cdr import DeviceStateDecoder, deserialized
from haptic_core.change_ramp import ChangeRamp
from haptic_core.errors import InputError, ParameterError
from haptic_core.flight_recorder import FlightRecorder
from haptic_core.messages import STATUS_OK, check_device_state, check_state, set_header
from haptic_core.process import prepare_realtime
from haptic_core.qos import tick_publisher_qos, tick_qos
from haptic_core.rendering_port import RenderingPort
from haptic_core.start.matching import unmatched, unrecorded
from haptic_core.start.waiting import Wait
from haptic_core.statistics import TickTimes
from haptic_core.stop_records import StopRecords, records_directory
from haptic_core.suite_node import SuiteNode
from haptic_core.tick_inputs import Input, TickInputs
from haptic_core.ticks import TickCounter
from haptic_core.transport.interface import RosTopics
from haptic_files.entries import node_and_kind
from haptic_msgs.msg import DeviceCommand, DeviceState, PassivityState, TickEvent

_BASE_FILE = Path(__file__).with_name("rendering_node.yaml")


#: phases of a tick in the flight recorder
_WAITING, _COMPUTING, _PUBLISHING = range(3)


class RenderingNode(SuiteNode):
    """A node that answers every DeviceState with exactly one DeviceCommand of the same tick.

    Attributes:
        parameter_file: YAML file of the node's own parameters.
        command_mode: "EFFORT", "WRENCH", "MOTION" or "NONE"; may be set before `configure`.
        state_type: message class of the topic `~/state`.
        command: message to fill in `render`; the base class sets tick, stamp, source and mode.
        state: message to fill in `fill_state`.
        input_types: inputs that the node understands, by kind.
        forceless: parameters that may change while the node is active and do not act on its commands. After a change of
            any other the command is blended to its new value within `change_time` (`haptic_core.change_ramp`).
        inputs: the tick's messages while `render` runs, by entry `node` or `node:kind` of the parameter; None if a
            delayed input has no message yet.
    """

    parameter_file: Path
    command_mode: str
    state_type: type
    input_types: ClassVar[dict[str, Input]] = {}
    forceless: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, name: str, **node_options: Any) -> None:
        super().__init__(name, (_BASE_FILE, self.parameter_file), **node_options)
        self.command = DeviceCommand(source=self.get_name())
        self.state = self.state_type()
        self._decoders = DeviceStateDecoder(), DeviceStateDecoder()  # one keeps the state that waits for its inputs
        self._ticks = TickCounter()
        self.inputs: dict[str, Any] = {}
        self._waiting: DeviceState | None = None
        self._flight = FlightRecorder(("waiting", "computing", "publishing"))
        directory = records_directory(get_logging_directory())
        self._stop_records = StopRecords(self.get_fully_qualified_name(), directory, self.get_logger().warning)
        self._device_status = STATUS_OK
        self._times = {"published": TickTimes(), "commanded": TickTimes(), "device": TickTimes()}

    @abstractmethod
    def render(self, device: DeviceState) -> None:
        """Computes one step of the library: reads the device's state and fills `self.command`.

        Raises InputError for a state that cannot be used; then the command is NONE.
        """

    @abstractmethod
    def fill_state(self) -> None:
        """Fills `self.state` (all but header and tick) after `render`."""

    @property
    def next_tick(self) -> int:
        """Lowest tick that the node accepts in a state of the device."""
        return self._ticks.last + 1

    def configure(self) -> None:
        super().configure()
        inputs = self._check_inputs()  # before anything is made that a refusal would leave behind
        self._mode = commands.MODE_NAMES.index(self.command_mode)
        mode, period = self.parameters["mode"], self.parameters["period"]
        self._ramp = ChangeRamp(self._mode, period=period, change_time=self.parameters["change_time"])
        qos = tick_publisher_qos(mode)
        self._commands = self.create_lifecycle_publisher(
            DeviceCommand,
            "device_command",
            tick_publisher_qos(mode, period),
            event_callbacks=self.deadline_events("device_command"),
        )
        self._states = self.create_lifecycle_publisher(self.state_type, "~/state", qos)
        self._port: RenderingPort | None = None
        if self.parameters["passivity"] != "off" and self._mode != commands.NONE:
            self._port = RenderingPort(self.get_name(), self._mode, self.parameters)
            self._balances = self.create_lifecycle_publisher(PassivityState, "~/passivity", qos)
        self._unsubscribe = [
            self.take_ticks(DeviceState, "device_state", self._on_device_state, tick_qos(mode), ["device"])
        ]
        for entry, (message, topic) in inputs.items():
            source = node_and_kind(entry)[0]
            receiver = self._receiver(entry, message)
            self._unsubscribe.append(self.take_ticks(message, topic, receiver, tick_qos(mode), [source]))

    def _names(self, parameter: str) -> list[str]:
        return [name for name in self.parameters[parameter] if name]

    def _check_inputs(self) -> dict[str, tuple[type, str]]:
        """Returns message class and topic of each input; raises ParameterError if one is refused."""
        entries, topics = self._names("inputs"), {}
        for entry in entries:
            node, kind = node_and_kind(entry)
            if kind not in self.input_types:
                known = ", ".join(self.input_types) or "none"
                raise ParameterError(f"parameter inputs: expected kinds of {known}, as node:kind, got {entry!r}")
            topics[entry] = (self.input_types[kind].message, f"{node}/{self.input_types[kind].topic}")
            self._times[node] = TickTimes()
        patient = self.parameters["mode"] == "realtime"
        self._gathered = TickInputs(entries, self._names("delayed_inputs"), patient=patient)
        return topics

    def _receiver(self, entry: str, kind: type) -> Callable[[Any], None]:
        arrived = self._times[node_and_kind(entry)[0]]

        def receive(data: Any) -> None:
            if not self.active:
                return
            try:
                message = deserialized(data, kind) if isinstance(data, bytes) else data
                tick, taken = message.tick, message
                arrived.add(tick)
                try:
                    check_state(message)
                except InputError as error:  # the tick is still answered, with NONE
                    self.reject(error.kind, f"{entry}: {error}")
                    taken = InputError("unusable input", f"{entry}: {error}")
                self._gathered.offer(entry, tick, taken)
            except InputError as error:
                self.reject(error.kind, f"{entry}: {error}")
            self._compute()

        return receive

    def _consumed(self) -> dict[str, Any]:
        """Returns the publishers whose messages can be inputs of other nodes, by topic."""
        return {"state": self._states} | ({} if self._port is None else {"passivity": self._balances})

    def _unmatched_consumers(self) -> list[str]:
        """Returns the consumers that do not yet receive their input from this node."""
        wanted: dict[str, list[str]] = {}
        for entry in self._names("consumers"):
            node, _, topic = entry.partition(":")
            wanted.setdefault(topic or "state", []).append(node)
        publishers = self._consumed()
        for topic in wanted:
            if topic not in publishers:
                known = ", ".join(publishers)
                raise ParameterError(f"parameter consumers: expected topics of {known}, as node:topic, got {topic!r}")
        return [name for topic, names in wanted.items() for name in unmatched(self, publishers[topic], names)]

    def activate(self) -> None:
        """Announces the node as a source once the device, its consumers and the recorder are matched.

        A tick that arrives earlier is answered after the announcement.
        """
        self._ticks.reset()
        self._gathered.restart()
        self._waiting = None
        self.tick = self._noted = -1
        self.restart()
        timeout = self.parameters["activation_timeout"]
        self._start_wait = Wait(
            self,
            self._unmatched,
            timeout=timeout,
            subject="the subscribers",
            then=self._announce,
            expired=self._give_up,
        )

    def _unmatched(self) -> str:
        """Returns the names of the nodes that do not yet receive this node's messages; empty if all do."""
        recorded = self.parameters["recorded"]
        recorders = int(recorded and self._commands in self.transport.recorded_publishers([self._commands]))
        names = unrecorded(self, self.recorded_publishers()) if recorded else []
        names += self._unmatched_consumers()
        near = self.transport.local_subscribers(self._commands.topic_name)
        if self._commands.get_subscription_count() + len(near) <= recorders:
            names.append(f"a device on {self._commands.topic_name}")
        return ", ".join(dict.fromkeys(names))

    def _announce(self) -> None:
        if self.parameters["mode"] == "realtime":
            own_thread = isinstance(self.transport, RosTopics)  # else the device's flight recorder has their common one
            if own_thread:
                self._stop_records.start()
            prepare_realtime()
            if own_thread:
                self._flight.start()
        self.publish_event(
            TickEvent.KIND_STATE, {"state": "active", "mode": self.command_mode, "parameters": self.parameters}
        )
        self._compute()

    def _give_up(self, line: str) -> None:
        """Ends the process, or deactivates the node if a lifecycle manager controls it."""
        if self.parameters["autostart"]:
            self.fail(line)
        else:
            self.get_logger().error(f"activate refused: {line}")
            self.trigger_deactivate()

    def deactivate(self) -> None:
        """Stops to answer, and waits until all published messages have arrived."""
        self._start_wait.cancel()
        self._flight.stop()
        if self._names("inputs") or self._names("consumers"):
            times = {name: seen.lists() for name, seen in self._times.items()}
            self.publish_event(TickEvent.KIND_TIMES, {**times, "old": self._gathered.old})
        self.publish_event(TickEvent.KIND_STATE, {"state": "inactive"})
        self.transport.wait_until_taken(self.recorded_publishers())
        self._stop_records.finish()

    def cleanup(self) -> None:
        for publisher in self._tick_publishers():
            self.destroy_publisher(publisher)
        for unsubscribe in self._unsubscribe:
            unsubscribe()

    def recorded_publishers(self) -> list[Any]:
        """Returns the publishers of which the recorder needs each message; extend."""
        return self._tick_publishers()

    def _tick_publishers(self) -> list[Any]:
        return [self._commands, self._states, *([] if self._port is None else [self._balances])]

    def restart(self) -> None:
        super().restart()
        self._ramp.cancel()
        if self._port is not None:
            self._port.restart()

    def _on_parameters_set(self, changes: list[Parameter]) -> None:
        candidate = self._pending[0]
        changed = {name for name, value in candidate.items() if value != self.parameters[name]}
        if self.active and changed - self.forceless - {"activation_timeout"}:
            self._ramp.start(self.command)
        super()._on_parameters_set(changes)

    def _on_device_state(self, data: Any) -> None:
        if not self.active:
            return
        start = time.perf_counter_ns()
        try:
            device = self._decoders[0].decode(data) if isinstance(data, bytes) else data
            tick = device.tick
            if tick == 0 < self._ticks.last:
                check_device_state(device, None)  # a malformed message is not a new start
                self._check_period(device)
                self._begin_again()
            self._ticks.accept(tick)
        except InputError as error:
            self.reject(error.kind, str(error))
            return
        waiting = self._waiting
        if waiting is not None:  # realtime: the device did not wait either
            missing = ", ".join(self._gathered.missing(waiting.tick))
            self.reject("input missing", f"tick {waiting.tick}: nothing from {missing} before the next one")
        self._decoders = self._decoders[::-1]
        for line in self._gathered.expect(tick):
            self.reject("wrong input tick", line)
        self._times["device"].add(tick)
        self._waiting = device
        self._decoding = time.perf_counter_ns() - start
        self._compute()

    def _begin_again(self) -> None:
        """Resets the node, because the device has started again with tick 0."""
        self.get_logger().warning(f"the device has started anew after tick {self._ticks.last}: reset")
        self._ticks.reset()
        self._gathered.begin()
        self.tick = -1
        self.restart()
        self.publish_event(TickEvent.KIND_RESET, {"because": "the device has started anew"})

    def _compute(self) -> None:
        """Answers the device's state that waits, if all its inputs have arrived."""
        device = self._waiting
        if device is None or self.waiting_for:
            return
        tick, status = device.tick, device.status
        if self._gathered.missing(tick):
            return
        self._waiting = None
        self._flight.mark(_WAITING)
        start = time.perf_counter_ns() - self._decoding
        self.inputs = self._gathered.take(tick)
        command = self.command
        self.tick = command.tick = tick
        set_header(command.header, device.header)
        try:
            check_device_state(device, None)
            self._check_period(device)
            for taken in self.inputs.values():
                if isinstance(taken, InputError):
                    raise taken
            seen = device if self._port is None else self._port.arrive(device, command)
            self._ramp.restore(command)
            self.render(seen)
            command.mode = self._mode
            self._check_answer()
            if status != STATUS_OK:
                self._ramp.cancel()  # after its stop the device has a ramp of its own
            self._ramp.apply(command)
        except InputError as error:
            command.mode = commands.NONE
            self._ramp.cancel()
            self.reject(error.kind, f"tick {tick}: {error}")
        if self._port is not None:
            self._port.hold(device, command)
        self._flight.mark(_COMPUTING)
        self._times["commanded"].add(tick)
        self.publish_tick(self._commands, command)
        state = self.state
        set_header(state.header, device.header)
        state.tick = tick
        self.fill_state()
        self._note_published()
        self.publish_tick(self._states, state)
        if self._port is not None:
            balance = self._port.message
            balance.header, balance.tick = state.header, tick
            self.publish_tick(self._balances, balance)
        self.compute_time.add(time.perf_counter_ns() - start)
        self._flight.mark(_PUBLISHING)
        self._flight.end(tick)
        self._look_back(status)
        self.report_soon()

    def _look_back(self, status: int) -> None:
        """Logs the longest of the last ticks when the device has just stopped."""
        if status != self._device_status:
            self._device_status = status
            longest = self._flight.longest()
            if status != STATUS_OK and longest is not None:
                self.get_logger().error(f"the device has stopped; longest of the last ticks: {longest}")
                if file := self._stop_records.save(self._flight.table(), self.tick):
                    self.get_logger().error(f"flight record: {file}")

    def _check_answer(self) -> None:
        """Refuses an answer that is not finite, and resets the node, whose state may not be finite either."""
        c = self.command
        try:
            commands.check_command(c, len(c.joint_effort or c.joint_position or c.joint_velocity))
        except InputError as error:
            self.reset()
            self.publish_event(TickEvent.KIND_RESET, {"because": str(error)})
            raise InputError("no answer", f"{error}; reset") from None

    def _note_published(self) -> None:
        """Stores the time of the first message for other nodes in this tick."""
        if self._noted != self.tick:
            self._noted = self.tick
            self._times["published"].add(self.tick)

    def _check_period(self, device: DeviceState) -> None:
        expected = self.parameters["period"]
        if abs(device.period - expected) > 1e-9:
            raise InputError(
                "wrong period", f"period: expected {expected:g} s (parameter period), got {device.period:g}"
            )

    def diagnostic_values(self) -> dict[str, Any]:
        return {"missed ticks": self._ticks.missed}
