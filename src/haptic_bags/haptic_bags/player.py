"""Node that plays the recorded device of a bag to rendering nodes, each tick after all answers to the tick before."""

from __future__ import annotations

import time
from collections import deque
from pathlib import Path
from typing import Any

from diagnostic_msgs.msg import DiagnosticStatus
from rcl_interfaces.srv import GetParameterTypes, SetParametersAtomically
from rclpy.client import Client
from rclpy.executors import Executor
from rclpy.parameter import Parameter
from rclpy.serialization import deserialize_message
from rosgraph_msgs.msg import Clock
from std_srvs.srv import Trigger

from haptic_bags.bags import Event
from haptic_bags.recording import CHANGES, PLAYED, SIMULATION_STATE, Recording
from haptic_core import process
from haptic_core.cdr import decode_device_command
from haptic_core.commands import CommandCollector
from haptic_core.errors import HapticError, InputError
from haptic_core.process import SPIN_TIMEOUT, stop_requested
from haptic_core.qos import clock_qos, tick_qos
from haptic_core.start.handshake import StartHandshake
from haptic_core.status import StatusTopic
from haptic_core.suite_node import SuiteNode
from haptic_msgs.msg import DeviceCommand, DeviceState, SimulationState, TickEvent

#: rate of /clock [Hz]
_CLOCK_RATE = 30.0

#: services that repeat a recorded change
_SERVICES = {
    "reset": Trigger,
    "get_parameter_types": GetParameterTypes,
    "set_parameters_atomically": SetParametersAtomically,
}


class Player(SuiteNode):
    """Replaces the device: publishes its recorded messages unchanged, with their stamps.

    Recorded events between ticks are repeated before the same tick: the player calls the services of the sources for
    changes of parameters and resets, and publishes the device's own events.
    """

    def __init__(self, **node_options: Any) -> None:
        super().__init__("player", (Path(__file__).with_name("player.yaml"),), **node_options)
        self._command = DeviceCommand()
        self._misfit = ""
        self._seconds = 0

    # ---- lifecycle --------------------------------------------------------------------------------

    def build(self, parameters: dict[str, Any]) -> Recording:
        return self.recording if self.configured else Recording.read(Path(parameters["bag"]), PLAYED)

    def install(self, built: Recording) -> None:
        self.recording = built

    def reset(self) -> None:
        """Does nothing: the recording stays as it is."""

    def configure(self) -> None:
        super().configure()
        p, recording = self.parameters, self.recording
        first = recording.first_state()
        if abs(first.period - p["period"]) > 1e-9:
            raise HapticError(f"parameter period: expected the recording's {first.period:g} [s], got {p['period']:g}")
        self._joints = len(first.joint_position)
        self._collector = CommandCollector(p["sources"], self._joints)
        truth_topics = [topic for topic in recording.messages if recording.types[topic] == SIMULATION_STATE]
        qos = tick_qos("lockstep")
        self._players = [(self.create_lifecycle_publisher(DeviceState, "device_state", qos), recording.clock)]
        if truth_topics:
            truth_publisher = self.create_lifecycle_publisher(SimulationState, "simulation_state", qos)
            self._players.append((truth_publisher, truth_topics[0]))
        self._clocks = self.create_lifecycle_publisher(Clock, "/clock", clock_qos())
        self._clock_ticks = self.ticks_between(_CLOCK_RATE)
        self._commands = self.create_subscription(DeviceCommand, "device_command", self._on_command, qos, raw=True)
        self._start_handshake = StartHandshake(self)
        self._status = StatusTopic(self, self.get_name(), p["sources"], recorded=p["recorded"])
        changed = dict.fromkeys(event.source for event in recording.changes(p["sources"]))
        self._change_clients: dict[tuple[str, str], Client] = {
            (source, name): self.create_client(kind, f"{source}/{name}")
            for source in changed
            for name, kind in _SERVICES.items()
        }

    def reported(self, status: DiagnosticStatus) -> None:
        self._status.report(status)

    def activate(self) -> None:
        simulated = len(self._players) > 1
        about = {"state": "active", "parameters": self.parameters, "simulated": simulated}
        self.publish_event(TickEvent.KIND_STATE, about)
        self._start_handshake.begin([publisher for publisher, _ in self._players], also=self._missing_services)

    def deactivate(self) -> None:
        """Ends the replay and waits until the subscribers have received all published messages."""
        self._start_handshake.cancel()
        self.publish_event(TickEvent.KIND_STATE, {"state": "inactive", "ticks": self.tick + 1})
        self._status.end("the replay has ended")
        self.transport.wait_until_taken([publisher for publisher, _ in self._players])

    def cleanup(self) -> None:
        for publisher, _ in self._players:
            self.destroy_publisher(publisher)
        self.destroy_publisher(self._clocks)
        self.destroy_subscription(self._commands)
        self._start_handshake.destroy()
        self._status.destroy()
        for client in self._change_clients.values():
            self.destroy_client(client)

    # ---- start ------------------------------------------------------------------------------------

    def _missing_services(self) -> list[str]:
        return [client.srv_name for client in self._change_clients.values() if not client.service_is_ready()]

    def _check_sources(self) -> None:
        topic = self._players[0][0].topic_name
        if self.count_publishers(topic) > 1:
            raise HapticError(
                f"a device already publishes {topic} in this ROS domain; end it or set another ROS_DOMAIN_ID"
            )
        self._start_handshake.check_modes(self.recording.kind)

    # ---- ticks ------------------------------------------------------------------------------------

    def spin(self, executor: Executor) -> None:
        """Waits for the sources, then plays the recording to its end, or until a stop is requested."""
        while not stop_requested() and not (self.active and self._start_handshake.is_complete()):
            executor.spin_once(timeout_sec=SPIN_TIMEOUT)
        if stop_requested():
            return
        self._check_sources()
        recording, sources = self.recording, self.parameters["sources"]
        changes = {id(event) for event in recording.changes(sources)}
        actions = deque(
            recorded
            for recorded in recording.events
            if id(recorded.event) in changes or recorded.event.source == recording.device
        )
        played, start = recording.played, time.monotonic()
        for tick in played:
            while actions and actions[0].event.tick <= tick:
                self._act(executor, *_event_and_data(actions.popleft()))
            self.tick = tick
            self._collector.expect(tick)
            for publisher, topic in self._players:
                data = recording.messages[topic].get((tick, ""))
                if data is not None:
                    self.publish_tick(publisher, data)
            self._publish_clock(tick)
            if not self._wait_for_answers(executor):
                return
            if self.report_diagnostics():
                self._show_progress(played[-1])
        while actions:
            self._act(executor, *_event_and_data(actions.popleft()))
        elapsed = time.monotonic() - start
        self.get_logger().info(f"{len(played)} ticks replayed in {elapsed:.2f} s ({len(played) / elapsed:.0f} ticks/s)")
        self.finished = True

    def _publish_clock(self, tick: int) -> None:
        """Publishes the recorded time of a tick, at display rate."""
        data = self.recording.messages[self.recording.clock].get((tick, ""))
        if tick % self._clock_ticks == 0 and data is not None and self._clocks.get_subscription_count():
            self._clocks.publish(Clock(clock=deserialize_message(data, DeviceState).header.stamp))

    def _on_command(self, data: bytes) -> None:
        try:
            self._collector.offer(decode_device_command(data, self._command))
        except InputError as error:
            self.reject(error.kind, str(error))
            if error.kind == "wrong length":
                self._misfit = f"{error}; the recorded device has {self._joints} joints"

    def _wait_for_answers(self, executor: Executor) -> bool:
        """Serves callbacks until all sources have answered the tick; returns False if a stop was requested.

        Raises:
            HapticError: an answer does not fit the recorded device, or does not arrive in time.
        """
        since, timeout = time.monotonic(), self.parameters["answer_timeout"]
        while not self._collector.complete:
            if stop_requested():
                return False
            if time.monotonic() - since > timeout:
                names = ", ".join(self._collector.missing)
                raise HapticError(f"source {names}: no answer to tick {self.tick} within {timeout:g} s")
            executor.spin_once(timeout_sec=SPIN_TIMEOUT)
        if self._misfit:
            raise HapticError(self._misfit)
        return True

    def _show_progress(self, last: int) -> None:
        """Logs the progress of the replay about every five seconds."""
        self._seconds += 1
        if self._seconds % 5 == 0:
            self.get_logger().info(f"tick {self.tick} of {last + 1}")

    # ---- between ticks ----------------------------------------------------------------------------

    def _act(self, executor: Executor, event: Event, data: bytes) -> None:
        if event.kind not in CHANGES or event.source == self.recording.device:
            self._events.publish(data)
        elif event.kind == "reset":
            done = self._call(executor, event, "reset", Trigger.Request())
            self._check(event, done.success, done.message)
        else:
            self._set_parameters(executor, event)

    def _set_parameters(self, executor: Executor, event: Event) -> None:
        request = SetParametersAtomically.Request()
        for name, value in event.detail.items():
            asked = GetParameterTypes.Request(names=[name])
            kinds = self._call(executor, event, "get_parameter_types", asked).types  # JSON has one type of number
            self._check(event, any(kinds), f"parameter {name}: unknown")
            parameter = Parameter(name, Parameter.Type(kinds[0]), value)
            request.parameters.append(parameter.to_parameter_msg())
        result = self._call(executor, event, "set_parameters_atomically", request).result
        self._check(event, result.successful, result.reason)

    def _call(self, executor: Executor, event: Event, name: str, request: Any) -> Any:
        """Calls a service of the event's source and serves callbacks until the result arrives."""
        timeout = self.parameters["answer_timeout"]
        end = time.monotonic() + timeout
        future = self._change_clients[event.source, name].call_async(request)
        while not future.done():
            if stop_requested():
                raise HapticError("stopped")
            self._check(event, time.monotonic() < end, f"no answer of {name} within {timeout:g} s")
            executor.spin_once(timeout_sec=SPIN_TIMEOUT)
        return future.result()

    def _check(self, event: Event, holds: bool, reason: str) -> None:
        if not holds:
            raise HapticError(f"source {event.source}: {event.kind} before tick {event.tick} refused: {reason}")


def _event_and_data(recorded: Any) -> tuple[Event, bytes]:
    return recorded.event, recorded.data


def main() -> None:
    """Runs the executable player."""
    process.main(Player)
