"""Base of the rendering nodes: device state in, library step, command out.

A subclass gives `parameter_file`, `command_mode`, `state_type` and three methods: `build` (library
object from parameters), `render` (one step, fills `command`) and `fill_state` (its own state message).
No physics here, no timers: the device is the clock.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from pathlib import Path
from typing import Any

from haptic_core import commands
from haptic_core.cdr import DeviceStateDecoder
from haptic_core.errors import InputError
from haptic_core.matching import RECORDER, unmatched, wait_for
from haptic_core.messages import check_device_state
from haptic_core.process import raise_priority, stop_requested
from haptic_core.qos import ACKNOWLEDGEMENT_TIMEOUT, tick_qos
from haptic_core.suite_node import SuiteNode
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
    """

    parameter_file: Path
    command_mode: str
    state_type: type

    def __init__(self, name: str, **node_options: Any) -> None:
        super().__init__(name, (_BASE_FILE, self.parameter_file), **node_options)
        self.command = DeviceCommand(source=self.get_name())
        self.state = self.state_type()
        self._decoder = DeviceStateDecoder()
        self._ticks = TickCounter()

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
        qos = tick_qos(self.parameters["mode"])
        self._commands = self.create_lifecycle_publisher(DeviceCommand, "device_command", qos)
        self._states = self.create_lifecycle_publisher(self.state_type, "~/state", qos)
        self._input = self.create_subscription(DeviceState, "device_state", self._on_device_state, qos, raw=True)

    def activate(self) -> None:
        """Waits until the device (and the recorder) are matched, then announces itself as a source."""
        recorder = [RECORDER] if self.parameters["recorded"] else []

        def missing() -> str:
            names = unmatched(self, self._states, recorder)
            names += unmatched(self, self._commands, recorder)
            if self._commands.get_subscription_count() <= len(recorder):
                names.append(f"a device on {self._commands.topic_name}")
            return ", ".join(dict.fromkeys(names))

        timeout = self.parameters["activation_timeout"]
        wait_for(missing, timeout, "the subscribers", lambda: not stop_requested(), self.get_logger().info)
        self._ticks.reset()
        self.tick = -1
        self.reset()
        if self.parameters["mode"] == "realtime":
            raise_priority()
        self.publish_event("state", {"state": "active", "mode": self.command_mode, "parameters": self.parameters})

    def deactivate(self) -> None:
        """Waits until what was published has arrived."""
        self.publish_event("state", {"state": "inactive"})
        for publisher in (self._commands, self._states):
            publisher.wait_for_all_acked(ACKNOWLEDGEMENT_TIMEOUT)

    def cleanup(self) -> None:
        for publisher in (self._commands, self._states):
            self.destroy_publisher(publisher)
        self.destroy_subscription(self._input)

    def _on_device_state(self, data: bytes) -> None:
        if not self.active:
            return
        start = time.perf_counter_ns()
        command = self.command
        try:
            device = self._decoder.decode(data)
            self._ticks.accept(device.tick)
        except InputError as error:
            self.reject(error.kind, str(error))
            return
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
