"""A device under ros2_control, as a replacement of device_node: same parameters, topics, end and exit code.

The node starts controller_manager's ros2_control_node with the device's URDF, and then its spawner for the controller,
whose node gets the name of this process. `control_node` hosts the Python device (haptic_hardware), `mock_control_node`
is mock hardware. There is no lockstep mode, and the delay is that of the loop.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from ament_index_python.packages import PackageNotFoundError, get_package_prefix
from rclpy.executors import Executor
from rclpy.node import Node
from std_msgs.msg import String

from haptic_core import process
from haptic_core.errors import HapticError, InputError, ParameterError
from haptic_core.messages import detail_of
from haptic_core.parameters import check_all, load_parameter_specs
from haptic_core.process import SPIN_TIMEOUT, stop_requested
from haptic_core.qos import EVENT_DEPTH, latched_qos
from haptic_core.status import StatusTopic
from haptic_core.suite_node import given_parameters
from haptic_devices.control.description import (
    CONTROLLER,
    control_urdf,
    controller_parameters,
    description_detail,
    parameter_text,
)
from haptic_devices.factories import NODE_PARAMETER_FILE, find_device
from haptic_msgs.msg import TickEvent

PACKAGE = "controller_manager"

#: time for the controller manager to bring the device to its safe state, after SIGINT and after SIGTERM [s]
_PATIENCE = 10.0

#: parameters of the device node that the controller has; and all that the device in the URDF does not get
_CONTROLLER_PARAMETERS = (
    "sources",
    "watchdog_periods",
    "display_rate",
    "activation_timeout",
    "answer_timeout",
    "recorded",
)
_NODE_PARAMETERS = {*(*_CONTROLLER_PARAMETERS, "autostart", "mode", "duration", "command_delay_ticks", "passivity")}

# replaces itself by the command, which gets SIGINT when this process dies
_TIED = "import ctypes, os, sys; ctypes.CDLL(None).prctl(1, 2, 0, 0, 0); os.execv(sys.argv[1], sys.argv[1:])"


def find_programs() -> tuple[str, str]:
    """Returns the paths of ros2_control_node and spawner; raises HapticError if ros2_control is not installed."""
    try:
        directory = Path(get_package_prefix(PACKAGE)) / "lib" / PACKAGE
    except PackageNotFoundError:
        raise HapticError(
            "ros2_control is not installed; install ros-jazzy-ros2-control, then ./haptics setup"
        ) from None
    return str(directory / "ros2_control_node"), str(directory / "spawner")


def check_parameters(given: dict[str, Any]) -> dict[str, Any]:
    """Checks the device node's parameters for a realtime loop; returns them with their defaults."""
    parameters = check_all(load_parameter_specs(NODE_PARAMETER_FILE), given)
    for name, expected in (("mode", "realtime"), ("command_delay_ticks", 0)):
        if parameters[name] != expected:
            raise ParameterError(f"parameter {name}: expected {expected} under ros2_control, got {parameters[name]!r}")
    rate = round(1.0 / parameters["period"])
    if abs(rate * parameters["period"] - 1.0) > 1e-9:
        raise ParameterError(
            f"parameter period: expected 1/n s under ros2_control, n a whole number, got {parameters['period']}"
        )
    return parameters


def device_texts(parameters: dict[str, Any], given: dict[str, Any]) -> dict[str, str]:
    """Returns the parameters of the device in the URDF, as texts: those that the user gave, `device` and `period`."""
    names = ["device", "period", *(name for name in given if name not in _NODE_PARAMETERS)]
    values = {name: parameters[name] for name in dict.fromkeys(names)}
    return {
        name: value if isinstance(value, str) else json.dumps(value) for name, value in values.items() if value != ""
    }


class ControlNode(Node):
    """Starts, watches and ends the controller manager.

    Args:
        hardware: "ros2_control" or "mock".

    Attributes:
        finished: true when the run is over.
        exit_code: exit code of the process.
    """

    def __init__(self, hardware: str = "ros2_control") -> None:
        self._programs = find_programs()
        asked = Node("device", automatically_declare_parameters_from_overrides=True, start_parameter_services=False)
        name, namespace, given = asked.get_name(), asked.get_namespace().rstrip("/"), given_parameters(asked)
        asked.destroy_node()  # the controller gets its name
        super().__init__(
            f"{name}_{PACKAGE}_process",
            namespace=namespace or "/",
            use_global_arguments=False,
            start_parameter_services=False,
        )
        self.finished, self.exit_code = False, 0
        self._name, self._namespace = name, namespace
        self._parameters = check_parameters(given)
        self._texts = device_texts(self._parameters, given)
        self._device = find_device(self._parameters["device"])(self._parameters)
        if self._device.truth() is not None:  # a real device is opened once, in the controller manager's process
            self._device.configure(self._parameters["period"])
        self._hardware = hardware
        self._children: list[subprocess.Popen[bytes]] = []

    def start(self) -> None:
        """Publishes the URDF and starts the processes."""
        urdf = control_urdf(self._device, self._parameters["device"], self._hardware, self._texts)
        self._description = self.create_publisher(String, "robot_description", latched_qos())
        self._description.publish(String(data=urdf))
        self.create_subscription(TickEvent, "tick_event", self._on_event, latched_qos(EVENT_DEPTH))
        p = self._parameters
        self._status = StatusTopic(self, self._name, p["sources"], recorded=p["recorded"])
        self._files = tempfile.TemporaryDirectory(prefix="haptics-")
        file = Path(self._files.name) / "controllers.yaml"
        file.write_text(parameter_text(self._controllers()))
        manager, spawner = self._programs
        self._start(manager, "--ros-args", "-r", f"__ns:={self._namespace or '/'}", "--params-file", str(file))
        self._start(spawner, self._name, "-c", f"{self._namespace}/{PACKAGE}", "--param-file", str(file))

    def _controllers(self) -> dict[str, Any]:
        """Returns the parameters of the controller manager and of the controller."""
        p, device = self._parameters, self._device
        length = p["duration"] or device.end_time
        controller = {
            **controller_parameters(device, p["device"]),
            **{name: p[name] for name in _CONTROLLER_PARAMETERS},
            "ticks": round(length / p["period"]) if length != float("inf") else 0,
            "detail": description_detail(device, p),
        }
        if self._hardware == "mock":
            controller["simulated"] = False
        manager = {"update_rate": round(1.0 / p["period"]), self._name: {"type": CONTROLLER}}
        return {
            f"{self._namespace}/{PACKAGE}": {"ros__parameters": manager},
            f"{self._namespace}/{self._name}": {"ros__parameters": controller},
        }

    def _start(self, *command: str) -> None:
        child = subprocess.Popen([sys.executable, "-I", "-S", "-c", _TIED, *command], start_new_session=True)
        self._children.append(child)

    def _on_event(self, event: TickEvent) -> None:
        if event.source != self._name or event.kind != TickEvent.KIND_STATE or self.finished:
            return
        try:
            detail = detail_of(event)
        except InputError as error:
            self.get_logger().error(f"rejected: {error}")
            return
        if detail.get("state") == "failed":
            self._end("the controller gave up")
        elif detail.get("state") == "inactive":
            self._end("" if detail.get("over") else "the controller was deactivated")

    def _end(self, failure: str) -> None:
        self.finished = True
        self._status.end(failure or "the device is not active")
        if failure:
            self.exit_code = 1
            self.get_logger().fatal(failure)

    def spin(self, executor: Executor) -> None:
        """Watches until the run is over, one of the processes fails, or a stop is requested."""
        while not (self.finished or stop_requested()):
            executor.spin_once(timeout_sec=SPIN_TIMEOUT)
            manager, spawner = (child.poll() for child in self._children)
            if manager is not None:
                self._end(f"ros2_control_node ended with code {manager}")
            elif spawner:
                self._end(f"the controller was not started: spawner ended with code {spawner}")
        self._stop()

    def _stop(self) -> None:
        """Ends the processes, the spawner first."""
        for child in reversed(self._children):
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
                if child.poll() is None:
                    os.killpg(child.pid, number)
                try:
                    child.wait(_PATIENCE)
                    break
                except subprocess.TimeoutExpired:
                    self.get_logger().error(f"process {child.pid} does not end after {number.name}")
        self._files.cleanup()


def main() -> None:
    """Runs the executable control_node."""
    process.main(ControlNode)


def main_mock() -> None:
    """Runs the executable mock_control_node."""
    process.main(lambda: ControlNode("mock"))
