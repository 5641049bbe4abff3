"""ROS node with which an input device without force leads the simulated hand of its namespace.

It requests the handle (`device/hold`) from the device as soon as the device is active, and again after a reset, and
moves the handle (`operator_handle`), starting at the hand's target. The device limits speed and force of the hand, as
for the browser page.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped
from rclpy.executors import Executor
from rclpy.node import Node
from std_srvs.srv import SetBool

from haptic_core import process
from haptic_core.errors import InputError
from haptic_core.messages import detail_of, require_finite, require_rotation, set_pose
from haptic_core.process import stop_requested
from haptic_core.qos import EVENT_DEPTH, display_qos, latched_qos
from haptic_core.rclpy_guards import guard_services
from haptic_core.suite_node import declare_fixed
from haptic_devices.factories import NODE_PARAMETER_FILE
from haptic_devices.inputs.source import InputDeviceError, Leader, find_input
from haptic_msgs.msg import TickEvent

_FILE = NODE_PARAMETER_FILE.with_name("input_node.yaml")
#: time between two requests for the handle [s]
_REQUEST_INTERVAL = 0.5
#: refused requests after which the node fails: an active device may just have stopped
_MAX_REFUSALS = 3


class InputNode(Node):
    """Reads an input device and moves the handle of the simulated hand.

    Attributes:
        leader: integrator of the handle's pose; None while the node does not lead the hand.
        finished: true when the run is over.
        exit_code: exit code of the process.
    """

    def __init__(self, **node_options: Any) -> None:
        super().__init__("input", automatically_declare_parameters_from_overrides=True, **node_options)
        guard_services(self)
        p = self.parameters = declare_fixed(self, _FILE)
        self.finished, self.exit_code = False, 0
        self._source = find_input(p["source"]).open(p["port"])
        self.leader: Leader | None = None
        self._holds = self.create_client(SetBool, "device/hold")
        self._handles = self.create_publisher(PoseStamped, "operator_handle", display_qos())
        self.create_subscription(TickEvent, "tick_event", self._on_event, latched_qos(EVENT_DEPTH))
        self._active = False
        self._requested, self._refusals, self._pending = -_REQUEST_INTERVAL, 0, False

    def start(self) -> None:
        """Does nothing: the node starts to lead the hand at an event of the device."""

    def _on_event(self, event: TickEvent) -> None:
        try:
            detail = detail_of(event)
        except InputError:
            return
        if event.source != "device":
            return
        if event.kind == TickEvent.KIND_STATE:
            self._active = detail.get("state") == "active"
            self.leader = None
        elif event.kind == TickEvent.KIND_RESET:
            self.leader = None
        elif event.kind == TickEvent.KIND_HOLD:
            self._set_leader(bool(detail.get("held")), detail.get("target"))

    def _set_leader(self, held: bool, target: object) -> None:
        p = self.parameters
        self.leader, self._refusals = None, 0
        if held and (pose := _pose_of(target)) is not None:
            numbers = {name: p[name] for name in ("speed", "angular_speed", "deadzone", "reach")}
            self.leader = Leader(pose, **numbers)
            self.get_logger().info(f"{p['source']} leads the hand")

    def _request_handle(self) -> None:
        """Requests the handle if the last request is old enough."""
        now = time.monotonic()
        waited = now - self._requested
        due = self._active and self.leader is None and not self._pending and waited > _REQUEST_INTERVAL
        if due and self._holds.service_is_ready():
            self._requested, self._pending = now, True
            self._holds.call_async(SetBool.Request(data=True)).add_done_callback(self._on_answer)

    def _on_answer(self, future: Any) -> None:
        self._pending = False
        answer = future.result()
        if answer is not None and not answer.success:
            self._refusals += 1
            if self._refusals == _MAX_REFUSALS:
                self._fail(answer.message)

    def _fail(self, message: str) -> None:
        self.get_logger().fatal(message)
        self.finished, self.exit_code = True, 1

    def move(self, elapsed: float) -> None:
        """Reads the input device and moves the handle for a time [s]."""
        try:
            deflection = self._source.read()
        except InputDeviceError as error:
            self._fail(str(error))
            return
        if self.leader is None:
            self._request_handle()
        elif self.leader.advance(deflection, elapsed):
            message = PoseStamped()
            set_pose(message.pose, self.leader.pose)
            self._handles.publish(message)

    def spin(self, executor: Executor) -> None:
        """Moves the handle until the run is over."""
        period = 1.0 / self.parameters["rate"]
        last = time.monotonic()
        while not (stop_requested() or self.finished):
            wait = last + period - time.monotonic()
            if wait > 0.0:
                executor.spin_once(timeout_sec=wait)
                continue
            now = time.monotonic()
            self.move(min(now - last, 5.0 * period))
            last = now
        self._source.close()


def _pose_of(target: object) -> np.ndarray | None:
    """Returns the target of an event as a pose (7,), quaternion x, y, z, w; None if it is none."""
    try:
        pose = np.array(target, dtype=float)
        if pose.shape != (7,):
            return None
        require_finite("target", *pose)
        require_rotation("target", *pose[3:7])
    except (TypeError, ValueError, OverflowError, InputError):
        return None
    return pose


def main() -> None:
    """Runs the executable input_node."""
    process.main(InputNode)
