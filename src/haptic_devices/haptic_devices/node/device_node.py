"""ROS node that hosts a device and is the clock of the loop."""

from __future__ import annotations

import contextlib
import time
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import PoseStamped
from rclpy.executors import Executor
from rclpy.logging import get_logging_directory
from std_msgs.msg import Bool
from std_srvs.srv import SetBool, Trigger

from haptic_core import process
from haptic_core.cdr import decode_device_command
from haptic_core.errors import InputError
from haptic_core.flight_recorder import FlightRecorder
from haptic_core.messages import pose_array
from haptic_core.process import SPIN_TIMEOUT, awake_cores, prepare_realtime, stop_requested
from haptic_core.qos import (
    display_qos,
    tick_qos,
)
from haptic_core.start.handshake import StartHandshake
from haptic_core.statistics import RECENT, TickTimes, TimeStatistics
from haptic_core.status import StatusTopic
from haptic_core.stop_records import StopRecords, records_directory
from haptic_core.suite_node import SuiteNode
from haptic_devices.device import Device, DeviceError, Reading
from haptic_devices.factories import NODE_PARAMETER_FILE, find_device
from haptic_devices.hands.operator import HandHeldDevice
from haptic_devices.loop import OK, SAFE_STOP, TickLoop
from haptic_devices.node.pace import LockstepPace, Pace, RealtimePace
from haptic_devices.node.rival import Rival
from haptic_devices.node.topics import DeviceTopics
from haptic_files.entries import node_and_kind
from haptic_msgs.msg import DeviceCommand, TickEvent
from haptic_msgs.srv import Step

#: time without an answer after which the diagnostics name the source [s]
_LONG_WAIT = 1.0

#: largest plausible coordinate of a hand [m]
_MAX_PLAUSIBLE_POSITION = 1e3

#: phases of a tick in the flight recorder
_CALLBACKS, _DEVICE, _PUBLISHING, _DIAGNOSTICS = range(4)

#: ticks between two events that report limited ticks; the first event comes at once
_LIMIT_TICKS = 1000


class DeviceNode(SuiteNode):
    """Publishes DeviceState, gathers the sources' DeviceCommands and advances the device."""

    def __init__(self, **node_options: Any) -> None:
        super().__init__("device", (NODE_PARAMETER_FILE,), **node_options)
        self._running = False
        self._spare_command = DeviceCommand()
        self._periods = TimeStatistics(65536)
        self._published = TickTimes()
        self._arrived: dict[str, TickTimes] = {}
        self._seconds = 0
        self._waits = ""
        self._waited_tick, self._waited_since = -1, 0.0
        self._emergency = ""
        self._flight = FlightRecorder(("callbacks", "device", "publishing", "diagnostics"))
        directory = records_directory(get_logging_directory())
        self._stop_records = StopRecords(self.get_fully_qualified_name(), directory, self.get_logger().warning)
        self.create_service(Trigger, "~/emergency_stop", self._on_emergency_stop)
        self.create_subscription(Bool, "emergency_stop", self._on_emergency, display_qos())
        self.create_service(SetBool, "~/pause", self._on_pause)
        self.create_service(Step, "~/step", self._on_step)
        self.create_service(SetBool, "~/hold", self._on_hold)

    # ---- lifecycle --------------------------------------------------------------------------------

    def build(self, parameters: dict[str, Any]) -> Device:
        if self.configured:
            return self.device  # the parameters that may change do not affect the device
        device = find_device(parameters["device"])(parameters)
        device.configure(parameters["period"])
        return device

    def install(self, built: Device) -> None:
        self.device = built

    def configure(self) -> None:
        super().configure()
        p = self.parameters
        self._lockstep = p["mode"] == "lockstep"
        self._arrived = {source: TickTimes() for source in p["sources"]}
        self._loop = TickLoop(
            self.device,
            p["sources"],
            command_delay_ticks=p["command_delay_ticks"],
            watchdog_periods=None if self._lockstep else p["watchdog_periods"],
            period=p["period"],
            engagement_time=p["engagement_time"],
        )
        self._lockstep_pace = LockstepPace(self._loop, p["period"], lambda: float(self.parameters["pace"]))
        self._limits_reported, self._limits_tick = 0, -_LIMIT_TICKS
        length = p["duration"] or self.device.end_time
        self._last_tick = round(length / p["period"]) - 1 if length != float("inf") else None
        self._period_ns = round(p["period"] * 1e9)
        self._display_ticks = self.ticks_between(p["display_rate"])
        self._topics = DeviceTopics(self, self.device, self._loop)
        qos = tick_qos(p["mode"])
        self._unsubscribe = self.take_ticks(DeviceCommand, "device_command", self._on_command, qos, p["sources"])
        self._start_handshake = StartHandshake(self, self._on_source)
        self._rival = Rival(self, self._topics.states)
        self._handles = self.create_subscription(PoseStamped, "operator_handle", self._on_handle, display_qos())
        self._status = StatusTopic(self, self.get_name(), p["sources"], recorded=p["recorded"])

    def reported(self, status: DiagnosticStatus) -> None:
        self._status.report(status)
        if self._running:
            self._show_progress()

    def activate(self) -> None:
        """Starts the device; after a pause the ticks continue, as sources and recorder expect."""
        self.device.activate()
        self._topics.restart()
        self._loop.restart(self.tick + 1)
        if self._emergency:  # only a reset ends it
            self._loop.stop(SAFE_STOP, self._emergency)
        self._running = False
        self._lockstep_pace.pause(False)
        device = self.device
        about = {"base_frame": device.base_frame, "up_axis": device.up_axis, "simulated": device.truth() is not None}
        about |= device.description()
        self.publish_event(TickEvent.KIND_STATE, {"state": "active", "parameters": self.parameters, **about})
        self._start_handshake.begin(self._topics.tick_publishers(), before=self._rival.silent_one)

    def deactivate(self) -> None:
        """Brings the device to its safe state, and waits until all published messages have arrived."""
        self._running = False
        self._start_handshake.cancel()
        self._rival.stop_listening()
        self.device.safe_stop()
        self.device.deactivate()
        arrived = {source: times.lists() for source, times in self._arrived.items()}
        self.publish_event(TickEvent.KIND_TIMES, {"published": self._published.lists(), **arrived})
        ending = {"state": "inactive", "ticks": self.tick + 1, "missed": self._loop.missed}
        if self._loop.safety.counts:
            ending["limited"] = dict(self._loop.safety.counts)
        self.publish_event(TickEvent.KIND_STATE, ending)
        self._status.end("the device is not active")
        self.transport.wait_until_taken(self._topics.tick_publishers())
        self._stop_records.finish()

    def cleanup(self) -> None:
        self._topics.destroy()
        self._unsubscribe()
        self._start_handshake.destroy()
        self.destroy_subscription(self._handles)
        self._status.destroy()

    def reset(self) -> None:
        """Restarts the device, a simulated one at the start of its plan; ends an emergency stop. The ticks continue."""
        self.device.activate()
        self._topics.restart()
        self._loop.resume()
        self._emergency = ""

    # ---- emergency stop ---------------------------------------------------------------------------

    def _on_emergency_stop(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self._stop_now("emergency stop by service")
        response.success = True
        response.message = f"{self.get_name()}: {self._emergency}; {self.get_name()}/reset ends it"
        return response

    def _on_emergency(self, message: Bool) -> None:
        if message.data:  # false means that the button is released, which does not end the stop
            self._stop_now("emergency stop by topic")

    def _stop_now(self, reason: str) -> None:
        """Latches the safe state of the device, also through deactivation and a new start."""
        if self._emergency:
            return
        self._emergency = reason
        if self.configured:
            self._loop.stop(max(self._loop.status, SAFE_STOP), reason)
        self._report_stop(SAFE_STOP, reason)

    def _report_stop(self, status: int, reason: str) -> None:
        self.get_logger().error(f"safe state at tick {self.tick + 1}: {reason}")
        detail: dict[str, Any] = {"status": status, "reason": reason}
        longest = self._flight.longest(tick=self.tick + 1)
        if longest is not None:
            self.get_logger().error(f"longest of the last ticks: {longest}")
            detail["longest_tick"] = str(longest)
        if file := self._stop_records.save(self._flight.table(tick=self.tick + 1), self.tick + 1):
            self.get_logger().error(f"flight record: {file}")
            detail["flight_record"] = str(file)
        self.publish_event(TickEvent.KIND_ERROR, detail)

    # ---- services for the clock and the hand ----------------------------------------------------

    def _on_pause(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        """Pauses a lockstep run before the next tick, or continues it."""
        response.message = self._pause_refusal()
        if response.message:
            return response
        self._lockstep_pace.pause(request.data)
        return self._acted(response, TickEvent.KIND_PAUSE, {"paused": request.data})

    def _on_step(self, request: Step.Request, response: Step.Response) -> Step.Response:
        """Advances a paused run by a number of ticks."""
        response.message = self._pause_refusal()
        if not response.message and not self._lockstep_pace.paused:
            response.message = f"{self.get_name()}: the run is not paused"
        if not response.message and not request.ticks:
            response.message = "ticks: expected 1 or more, got 0"
        if response.message:
            return response
        self._lockstep_pace.step(request.ticks)
        return self._acted(response, TickEvent.KIND_STEP, {"ticks": request.ticks})

    def _pause_refusal(self) -> str:
        """Returns the reason why the run cannot be paused; empty if it can."""
        if not self.active:
            return f"{self.get_name()}: not active"
        return "" if self._lockstep else "mode realtime: the device keeps its own clock; only lockstep can be paused"

    def _on_hold(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        """Makes the simulated hand follow `operator_handle` from its present target on, or stay at its target."""
        try:
            if not self.active:
                raise DeviceError(f"{self.get_name()}: not active")
            if not isinstance(self.device, HandHeldDevice):
                raise DeviceError("the device has no simulated hand to lead")
            target = self.device.hold_handle(request.data)
        except DeviceError as error:
            response.message = str(error)
            return response
        return self._acted(response, TickEvent.KIND_HOLD, {"held": request.data, "target": target.tolist()})

    def _acted(self, response: Any, kind: str, detail: dict[str, Any]) -> Any:
        self.publish_event(kind, detail)
        response.success, response.message = True, f"before tick {self.tick + 1}"
        return response

    def _on_handle(self, message: PoseStamped) -> None:
        pose, frame = pose_array(message.pose), message.header.frame_id
        plausible = np.abs(pose).max() < _MAX_PLAUSIBLE_POSITION and 0.5 < np.linalg.norm(pose[3:7]) < 2.0
        if not plausible:  # also if it has NaN
            expected = f"expected a pose within {_MAX_PLAUSIBLE_POSITION:g} m"
            self.reject("operator_handle", f"operator_handle: {expected}, got {pose.tolist()}")
        elif frame not in ("", self.device.base_frame):
            self.reject("operator_handle", f"operator_handle: expected frame {self.device.base_frame}, got {frame!r}")
        elif isinstance(self.device, HandHeldDevice):
            self.device.move_handle(pose)

    # ---- the loop ---------------------------------------------------------------------------------

    def _continues(self) -> bool:
        return self.active and not (stop_requested() or self.finished)

    def spin(self, executor: Executor) -> None:
        """Runs the loop while the node is active, until the run is over."""
        while not (stop_requested() or self.finished):
            if self.active and self._start_handshake.is_complete():
                self._check_sources()
                self._run(executor)
            else:
                executor.spin_once(timeout_sec=SPIN_TIMEOUT)

    def _check_sources(self) -> None:
        self._rival.check()
        self._loop.inputs = {
            name: {node_and_kind(entry)[0] for entry in state.get("parameters", {}).get("inputs", [])}
            for name, state in self._start_handshake.states.items()
        }
        self._start_handshake.check_modes(self.device.kind)

    def begin(self) -> None:
        """Publishes the first tick."""
        self._running = True
        self._lockstep_pace.start()
        self._pace: Pace = self._lockstep_pace
        if not self._lockstep:
            self._pace = RealtimePace(self._loop, self.parameters["period"], self.transport, self._periods)
        self._waited_tick, self._waited_since = -1, time.monotonic()
        self._publish(self.device.read())

    def _run(self, executor: Executor) -> None:
        start, before = time.monotonic(), self.tick
        self.begin()
        with contextlib.ExitStack() as realtime:
            if not self._lockstep:
                self._stop_records.start()
                realtime.enter_context(awake_cores())
                for refused in prepare_realtime():
                    self.get_logger().warning(refused)
                realtime.enter_context(self._flight)
            while self._running and self._continues():
                left = self.advance_if_due()
                if left is not None:
                    executor.spin_once(timeout_sec=left)
                    if self._pace.waits_for_answers:
                        self._check_silence()
        elapsed, ticks, missed = time.monotonic() - start, self.tick - before, self._loop.missed
        text = f"{ticks} ticks in {elapsed:.2f} s ({ticks / elapsed:.0f} ticks/s), missed {missed}"
        if self._periods.count:
            p50, p99, longest = (1e6 * value for value in self._periods.percentiles(50, 99, 100))
            text += f"; period p50 {p50:.0f}, p99 {p99:.0f}, max {longest:.0f} us"
        self.get_logger().info(text)

    def advance_if_due(self) -> float | None:
        """Ends the present tick and publishes the next one if it is time.

        Returns:
            Longest time for which callbacks may be served before the next call [s]; None: the tick has ended.
        """
        left = self._pace.time_left()
        if left is None:
            self.end_tick()
        return left

    def end_tick(self) -> None:
        """Ends the present tick and publishes the next one, whatever the time."""
        self._advance(self._pace.end_tick())
        self._pace.throttle()

    def _check_silence(self) -> None:
        """Ends the process if a source does not answer the present tick within `answer_timeout`."""
        now, loop = time.monotonic(), self._loop
        waited = now - self._waited_since
        if loop.tick != self._waited_tick or loop.collector.complete:
            self._waited_tick, self._waited_since, self._waits = loop.tick, now, ""
        elif waited > self.parameters["answer_timeout"]:
            missing = ", ".join(loop.collector.missing)
            timeout = self.parameters["answer_timeout"]
            silence = f"source {missing}: no answer to tick {loop.tick} within {timeout:g} s"
            self.fail(self._rival.description() or silence)
        elif waited > _LONG_WAIT:
            self._waits = f"waits for the answer of {', '.join(loop.collector.missing)} to tick {loop.tick}"
            self.report_diagnostics()

    def _on_source(self, source: str) -> None:
        """Ramps the commands in when a source becomes active during a run, because it has been restarted."""
        if self._running:
            self._loop.safety.disengage()
            self.get_logger().warning(f"source {source} has started anew: the commands come in slowly")

    def _on_command(self, data: Any) -> None:
        if not self._running:
            return
        try:
            serialised = isinstance(data, bytes)
            command = decode_device_command(data, self._spare_command) if serialised else data
            if command.source in self._arrived:
                self._arrived[command.source].add(command.tick)
            replaced = self._loop.collector.command_of(command.source)
            self._loop.offer(command)
            if serialised:
                self._spare_command = replaced or DeviceCommand()  # the loop keeps the decoded one
        except InputError as error:
            self.reject(error.kind, str(error))

    def _advance(self, skipped: int) -> None:
        """Advances the device by one period and publishes the next tick, or ends the run.

        Args:
            skipped: whole periods that have passed without a tick.
        """
        loop = self._loop
        if self._last_tick is not None and loop.tick >= self._last_tick:
            self._running = False
            self.finished = True
            return
        status = loop.status
        self._flight.mark(_CALLBACKS)
        start = time.perf_counter_ns()
        reading = loop.advance(skipped)
        self._flight.mark(_DEVICE)
        if loop.status != status:
            self._report_stop(loop.status, loop.reason)
        if loop.safety.counts and loop.tick - self._limits_tick >= _LIMIT_TICKS:
            self._report_limits()
        self._publish(reading)
        self.compute_time.add(time.perf_counter_ns() - start)
        self._flight.mark(_PUBLISHING)
        self.report_soon()
        self._flight.mark(_DIAGNOSTICS)
        self._flight.end(loop.tick)

    def _report_limits(self) -> None:
        """Reports the number of ticks in which limits have acted, if it has grown."""
        counts = self._loop.safety.counts
        if counts.total() == self._limits_reported:
            return
        self._limits_reported, self._limits_tick = counts.total(), self._loop.tick
        self.publish_event(TickEvent.KIND_LIMIT, {"limited": dict(counts)})
        text = ", ".join(f"{name} in {count}" for name, count in sorted(counts.items()))
        self.get_logger().warning(f"limited at tick {self._loop.tick}: {text} ticks so far")

    def _show_progress(self) -> None:
        """Logs the progress of the run about every five seconds."""
        self._seconds += 1
        if self._seconds % 5 == 0:
            end = f" of {self._last_tick + 1}" if self._last_tick is not None else ""
            self.get_logger().info(f"tick {self.tick}{end}")

    def _publish(self, reading: Reading) -> None:
        tick = self.tick = self._loop.tick
        stamp = tick * self._period_ns if self._lockstep else time.time_ns()
        self._published.add(tick)
        self._topics.publish(reading, stamp)
        if tick % self._display_ticks == 0 or self._lockstep_pace.is_held:
            self._topics.publish_display(reading)

    def diagnostic_values(self) -> dict[str, Any]:
        loop = self._loop
        values: dict[str, Any] = {"missed ticks": loop.missed}
        if self._periods.count:
            p50, p99 = self._periods.percentiles(50, 99, last=RECENT)
            values |= {"period p50 [us]": f"{1e6 * p50:.1f}", "period p99 [us]": f"{1e6 * p99:.1f}"}
        if loop.status != OK:
            values["safe state"] = loop.reason
        values |= {f"limited: {name}": count for name, count in sorted(loop.safety.counts.items())}
        return values

    def trouble(self) -> str:
        return f"safe state: {self._loop.reason}" if self._loop.status != OK else self._waits


def main() -> None:
    """Runs the executable device_node."""
    process.main(DeviceNode)
