"""ROS node that renders stiff walls on a TAU-type device: joint angles in, joint efforts out."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
from rclpy.parameter import Parameter
from visualization_msgs.msg import Marker, MarkerArray

from haptic_core import process
from haptic_core.errors import InputError
from haptic_core.markers import MarkerCanvas
from haptic_core.messages import allocate, require_length, view
from haptic_core.qos import display_qos
from haptic_core.rendering_node import RenderingNode
from haptic_core.statistics import TimeStatistics
from haptic_msgs.msg import DeviceState, WallState
from haptic_msgs.srv import SetWalls
from tau_wall_control.drawing import draw
from tau_wall_control.factory import make_walls
from tau_wall_control.guard import GuardedWalls, SafeStopError


class WallNode(RenderingNode):
    """Answers with the efforts that hold the tool at the walls, and its own weight everywhere.

    After a safe stop it answers NONE until `~/reset`. Walls are parameters; the service `~/set_walls` sets both lists
    at once, between ticks, whole or not at all, and is recorded as the change of parameters that it is.
    """

    parameter_file = Path(__file__).with_name("wall_node.yaml")
    command_mode = "EFFORT"
    state_type = WallState

    def __init__(self, **node_options: Any) -> None:
        self.walls: GuardedWalls | None = None
        self.step_time, self.processor_time = TimeStatistics(65536), TimeStatistics(65536)
        super().__init__("wall", **node_options)
        self.create_service(SetWalls, "~/set_walls", self._on_set_walls)

    def configure(self) -> None:
        super().configure()
        self._markers = self.create_lifecycle_publisher(MarkerArray, "markers", display_qos())
        self._display_ticks = max(1, round(1.0 / (self.parameters["display_rate"] * self.parameters["period"])))

    def deactivate(self) -> None:
        if self.step_time.count:
            p50, p99 = (1e6 * seconds for seconds in self.step_time.percentiles(50, 99))
            cpu = 1e6 * self.processor_time.percentiles(99)[0]  # without what other programs have taken
            times = {"control_step_p50": p50, "control_step_p99": p99, "processor_time_p99": cpu, "unit": "us"}
            self.publish_event("timing", times)
        super().deactivate()

    def cleanup(self) -> None:
        super().cleanup()
        self.destroy_publisher(self._markers)
        self.walls = None

    def build(self, parameters: dict[str, Any]) -> GuardedWalls:
        return make_walls(parameters, self.walls.renderer.controller if self.walls is not None else None)

    def install(self, built: GuardedWalls) -> None:
        if self.walls is not None:
            built.take_over(self.walls)
        self.walls = built
        self._canvas: MarkerCanvas | None = None
        planes = built.planes
        for name in ("point", "normal"):
            allocate(self.state, name, 3 * len(planes))[:] = np.ravel([getattr(plane, name) for plane in planes])
        self._penetration = allocate(self.state, "penetration", len(planes))
        self._push = allocate(self.state, "push", len(planes))
        self._effort, self._saturation = allocate(self.state, "effort", 6), allocate(self.state, "saturation", 6)
        self._command = allocate(self.command, "joint_effort", 6)
        self._none = [False] * len(planes)

    def reset(self) -> None:
        assert self.walls is not None
        self.walls.restart()

    def render(self, device: DeviceState) -> None:
        walls = self.walls
        assert walls is not None
        require_length("joint_position", device.joint_position, 6)
        obeys, stopped = device.status == DeviceState.STATUS_OK, walls.stopped
        start, processor = time.perf_counter_ns(), time.thread_time_ns()
        try:
            self._command[:] = walls.step(view(device.joint_position), view(device.joint_velocity), obeys=obeys)
        except SafeStopError as error:
            self._command[:] = 0.0
            if not stopped:
                self.publish_event("error", {"reason": str(error)})
            raise InputError("safe stop", f"{error}; no effort until {self.get_name()}/reset") from None
        self.step_time.add(time.perf_counter_ns() - start)
        self.processor_time.add(time.thread_time_ns() - processor)

    def fill_state(self) -> None:
        walls, state = self.walls, self.state
        assert walls is not None
        rendered = walls.state
        self._effort[:] = self._command
        self._saturation[:] = np.abs(self._command) / walls.renderer.device.peak_torque
        state.rendered_stiffness = walls.stiffness
        if rendered is None:
            self._penetration[:] = self._push[:] = 0.0
            state.in_contact, state.operating_point = self._none, -1
            return
        np.maximum(rendered.penetration, 0.0, out=self._penetration)
        self._push[:] = rendered.push
        state.in_contact, state.operating_point = rendered.in_contact.tolist(), rendered.operating_point
        if self.tick % self._display_ticks == 0 and self._markers.get_subscription_count():
            self._draw(walls)

    def _draw(self, walls: GuardedWalls) -> None:
        assert walls.state is not None
        old = []
        if self._canvas is None:  # there may be markers of walls that are no more
            self._canvas = MarkerCanvas(self.command.header.frame_id, self.get_name())
            old = [Marker(action=Marker.DELETEALL)]
        draw(self._canvas, walls.renderer.device, walls.planes, walls.state)
        message = self._canvas.message(self.command.header.stamp)
        message.markers = [*old, *message.markers]
        self._markers.publish(message)

    def _on_set_walls(self, request: SetWalls.Request, response: SetWalls.Response) -> SetWalls.Response:
        lists = (("wall_points", request.points), ("wall_normals", request.normals))
        kind = Parameter.Type.DOUBLE_ARRAY
        result = self.set_parameters_atomically([Parameter(name, kind, list(values)) for name, values in lists])
        response.success = result.successful
        response.message = (
            result.reason or f"{self.get_name()}: {len(request.points) // 3} walls before tick {self.tick + 1}"
        )
        return response

    def diagnostic_values(self) -> dict[str, Any]:
        p99 = 1e6 * self.step_time.percentiles(99)[0]
        values = {**super().diagnostic_values(), "control step p99 [us]": f"{p99:.1f}"}
        return {**values, "safe stop": self.walls.stopped} if self.walls is not None and self.walls.stopped else values


def main() -> None:
    """Entry point of the executable wall_node."""
    process.main(WallNode)
