"""Base of the rendering nodes: device state in, library step, command out.

A subclass gives `parameter_file`, `command_mode`, `state_type` and three methods: `build` (library
object from parameters), `render` (one step, fills `command`) and `fill_state` (its own state message).
A node may take the states of other nodes, too: `input_types` says which it understands, its parameter `inputs` which it
waits for before it computes a tick (docs/loop.md). No physics here, no timers: the device is the clock.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from rclpy.qos import QoSProfile

from haptic_core import commands
from haptic_core.cdr import DeviceStateDecoder
from haptic_core.errors import InputError, ParameterError
from haptic_core.matching import RECORDER, unmatched, wait_for
from haptic_core.messages import check_device_state
from haptic_core.process import raise_priority, stop_requested
from haptic_core.qos import ACKNOWLEDGEMENT_TIMEOUT, tick_publisher_qos, tick_qos
from haptic_core.statistics import TickTimes
from haptic_core.suite_node import SuiteNode
from haptic_core.tick_inputs import TickInputs
from haptic_core.ticks import TickCounter
from haptic_msgs.msg import DeviceCommand, DeviceState

_BASE_FILE = Path(__file__).with_name("rendering_node.yaml")


class RenderingNode(SuiteNode):
    """A node that answers every DeviceState with exactly one DeviceCommand of the same tick.

    Attributes:
        parameter_file: YAML file of the node's own parameters.
        command_mode: "EFFORT", "WRENCH", "MOTION" or "NONE"; may be set before `configure`.
        state_type: message class of the topic `~/state`.
        command: the message to fill in `render`; tick, stamp, source and mode are set by the base.
        state: the message to fill in `fill_state`.
        input_types: inputs that the node understands, and the messages that they are.
        inputs: while `render` runs: the tick's messages by input; None where a delayed input has none yet.
    """

    parameter_file: Path
    command_mode: str
    state_type: type
    input_types: ClassVar[dict[str, type]] = {}

    def __init__(self, name: str, **node_options: Any) -> None:
        super().__init__(name, (_BASE_FILE, self.parameter_file), **node_options)
        self.command = DeviceCommand(source=self.get_name())
        self.state = self.state_type()
        self._decoder = DeviceStateDecoder()
        self._ticks = TickCounter()
        self.inputs: dict[str, Any] = {}
        self._waiting: DeviceState | None = None
        self._times = {"published": TickTimes(), "device": TickTimes()}

    @abstractmethod
    def render(self, device: DeviceState) -> None:
        """One library step: reads the device's state and fills `self.command`.

        Raises InputError for a state that cannot be used; the command then is NONE.
        """

    @abstractmethod
    def fill_state(self) -> None:
        """Fills `self.state` (all but header and tick) after `render`."""

    def configure(self) -> None:
        super().configure()
        self._mode = commands.MODE_NAMES.index(self.command_mode)
        mode = self.parameters["mode"]
        qos = tick_publisher_qos(mode)
        self._commands = self.create_lifecycle_publisher(DeviceCommand, "device_command", qos)
        self._states = self.create_lifecycle_publisher(self.state_type, "~/state", qos)
        self._input = self.create_subscription(
            DeviceState, "device_state", self._on_device_state, tick_qos(mode), raw=True
        )
        self._connect_inputs(tick_qos(mode))

    def _names(self, parameter: str) -> list[str]:
        return [name for name in self.parameters[parameter] if name]

    def _connect_inputs(self, qos: QoSProfile) -> None:
        names = self._names("inputs")
        for name in names:
            if name not in self.input_types:
                known = ", ".join(self.input_types) or "none"
                raise ParameterError(f"parameter inputs: expected some of {known}, got {name!r}")
        patient = self.parameters["mode"] == "realtime"
        self._gathered = TickInputs(names, self._names("delayed_inputs"), patient=patient)
        self._times |= {name: TickTimes() for name in names}
        self._input_subscriptions = [
            self.create_subscription(self.input_types[name], f"{name}/state", self._receiver(name), qos)
            for name in names
        ]

    def _receiver(self, name: str) -> Callable[[Any], None]:
        arrived = self._times[name]

        def receive(message: Any) -> None:
            if not self.active:
                return
            arrived.add(message.tick)
            try:
                self._gathered.offer(name, message.tick, message)
            except InputError as error:
                self.reject(error.kind, str(error))
            self._compute()

        return receive

    def activate(self) -> None:
        """Waits until the device (and the recorder) are matched, then announces itself as a source."""
        recorder = [RECORDER] if self.parameters["recorded"] else []

        def missing() -> str:
            names = unmatched(self, self._commands, recorder)
            names += unmatched(self, self._states, [*recorder, *self._names("consumers")])
            if self._commands.get_subscription_count() <= len(recorder):
                names.append(f"a device on {self._commands.topic_name}")
            return ", ".join(dict.fromkeys(names))

        timeout = self.parameters["activation_timeout"]
        wait_for(missing, timeout, "the subscribers", lambda: not stop_requested(), self.get_logger().info)
        self._ticks.reset()
        self._gathered.restart()
        self._waiting = None
        self.tick = -1
        self.reset()
        if self.parameters["mode"] == "realtime":
            raise_priority()
        self.publish_event("state", {"state": "active", "mode": self.command_mode, "parameters": self.parameters})

    def deactivate(self) -> None:
        """Waits until what was published has arrived."""
        if self._names("inputs") or self._names("consumers"):
            times = {name: seen.lists() for name, seen in self._times.items()}
            self.publish_event("times", {**times, "old": self._gathered.old})
        self.publish_event("state", {"state": "inactive"})
        for publisher in (self._commands, self._states):
            publisher.wait_for_all_acked(ACKNOWLEDGEMENT_TIMEOUT)

    def cleanup(self) -> None:
        for publisher in (self._commands, self._states):
            self.destroy_publisher(publisher)
        for subscription in (self._input, *self._input_subscriptions):
            self.destroy_subscription(subscription)

    def _on_device_state(self, data: bytes) -> None:
        if not self.active:
            return
        waiting = self._waiting
        if waiting is not None:  # realtime: the device did not wait either
            missing = ", ".join(self._gathered.missing(waiting.tick))
            self.reject("input missing", f"tick {waiting.tick}: nothing from {missing} before the next one")
        self._waiting = None
        start = time.perf_counter_ns()
        try:
            device = self._decoder.decode(data)
            self._ticks.accept(device.tick)
        except InputError as error:
            self.reject(error.kind, str(error))
            return
        self._times["device"].add(device.tick)
        self._waiting = device
        self._decoding = time.perf_counter_ns() - start
        self._compute()

    def _compute(self) -> None:
        """Answers the device's state that waits, if all its inputs are there."""
        device = self._waiting
        if device is None or (self._gathered.names and self._gathered.missing(device.tick)):
            return
        self._waiting = None
        start = time.perf_counter_ns() - self._decoding
        self.inputs = self._gathered.take(device.tick)
        command = self.command
        self.tick = command.tick = device.tick
        command.header.stamp = device.header.stamp
        command.header.frame_id = device.header.frame_id
        try:
            check_device_state(device, None)
            self._check_period(device)
            self.render(device)
            command.mode = self._mode
        except InputError as error:
            command.mode = commands.NONE
            self.reject(error.kind, f"tick {device.tick}: {error}")
        self.publish_tick(self._commands, command)
        state = self.state
        state.header.stamp = device.header.stamp
        state.header.frame_id = device.header.frame_id
        state.tick = device.tick
        self.fill_state()
        self._times["published"].add(state.tick)
        self.publish_tick(self._states, state)
        self.compute_time.add(time.perf_counter_ns() - start)
        self.report_diagnostics()

    def _check_period(self, device: DeviceState) -> None:
        expected = self.parameters["period"]
        if abs(device.period - expected) > 1e-9:
            raise InputError(
                "wrong period", f"period: expected {expected:g} s (parameter period), got {device.period:g}"
            )

    def diagnostic_values(self) -> dict[str, Any]:
        return {"missed ticks": self._ticks.missed}
