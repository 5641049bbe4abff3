"""ROS node that renders stiff walls on a TAU-type device: joint angles in, joint efforts out."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from rclpy.parameter import Parameter
from visualization_msgs.msg import Marker, MarkerArray

from haptic_core import process
from haptic_core.errors import InputError
from haptic_core.markers import MarkerCanvas
from haptic_core.messages import STATUS_OK, allocate, require_length, vector, view
from haptic_core.qos import display_qos
from haptic_core.rendering_node import RenderingNode
from haptic_core.statistics import RECENT, TimeStatistics
from haptic_core.tick_inputs import Input, of_kind
from haptic_msgs.msg import ContactPlanes, DeviceState, TickEvent, WallState
from haptic_msgs.srv import SetWalls
from tau_wall_control.errors import PlanesError, SafeStopError
from tau_wall_control.walls.drawing import draw
from tau_wall_control.walls.planes import MovingPlanes, Plane
from tau_wall_control.walls.renderer import WallRenderer


class WallNode(RenderingNode):
    """Answers with the efforts of a `WallRenderer`: walls, and the device's own weight everywhere.

    After a safe stop it answers NONE until `~/reset`. Walls are parameters; the service `~/set_walls` sets both lists
    at once, between ticks, whole or not at all, and is recorded as a change of these parameters.

    With an input of the kind planes, these surfaces replace the walls of the parameters. Each plane lies the signed
    distance of the tool's surface from the tool's point: the shape of the tool is known to the other node only.
    """

    parameter_file = Path(__file__).with_name("wall_node.yaml")
    command_mode = "EFFORT"
    state_type = WallState
    input_types: ClassVar = {"planes": Input(ContactPlanes, "planes")}

    def __init__(self, **node_options: Any) -> None:
        self.walls: WallRenderer | None = None
        self.step_time, self.processor_time = TimeStatistics(65536), TimeStatistics(65536)
        super().__init__("wall", **node_options)
        self.create_service(SetWalls, "~/set_walls", self._on_set_walls)

    def configure(self) -> None:
        super().configure()
        self._markers = self.create_lifecycle_publisher(MarkerArray, "~/markers", display_qos())
        self._display_ticks = self.ticks_between(self.parameters["display_rate"])

    def deactivate(self) -> None:
        if self.step_time.count:
            p50, p99 = (1e6 * seconds for seconds in self.step_time.percentiles(50, 99))
            cpu = 1e6 * self.processor_time.percentiles(99)[0]  # without the time of other programs
            times = {"control_step_p50": p50, "control_step_p99": p99, "processor_time_p99": cpu, "unit": "us"}
            self.publish_event(TickEvent.KIND_TIMING, times)
        super().deactivate()

    def cleanup(self) -> None:
        super().cleanup()
        self.destroy_publisher(self._markers)
        self.walls = None

    def build(self, parameters: dict[str, Any]) -> WallRenderer:
        known = self.walls.controller if self.walls is not None else None
        return WallRenderer.from_parameters(parameters, controller=known)

    def install(self, built: WallRenderer) -> None:
        if self.walls is not None:
            built.take_over(self.walls)
        self.walls = built
        self._canvas: MarkerCanvas | None = None
        self._drawn = 0
        report = built.report()
        self._make_room(len(report.push))
        self._point[:], self._normal[:] = report.point.ravel(), report.normal.ravel()
        self._effort, self._saturation = allocate(self.state, "effort", 6), allocate(self.state, "saturation", 6)
        self._command = allocate(self.command, "joint_effort", 6)

    def _make_room(self, walls: int) -> None:
        """Gives the arrays of the state message one entry for each wall."""
        self._point, self._normal, self._velocity = (
            allocate(self.state, name, 3 * walls) for name in ("point", "normal", "velocity")
        )
        self._penetration, self._push = (allocate(self.state, name, walls) for name in ("penetration", "push"))
        self._none = [False] * walls

    def reset(self) -> None:
        assert self.walls is not None
        self.walls.reset()

    def render(self, device: DeviceState) -> None:
        walls = self.walls
        assert walls is not None
        require_length("joint_position", device.joint_position, 6)
        planes = self._planes(device) if walls.moving else None
        obeys, stopped = device.status == STATUS_OK, walls.stopped
        start, processor = time.perf_counter_ns(), time.thread_time_ns()
        try:
            rendered = walls.step(view(device.joint_position), view(device.joint_velocity), planes, obeys=obeys)
            self._command[:] = rendered.torque
        except PlanesError as error:
            self._command[:] = 0.0
            raise InputError("bad planes", str(error)) from None
        except SafeStopError as error:
            self._command[:] = 0.0
            if not stopped:
                self.publish_event(TickEvent.KIND_ERROR, {"reason": str(error)})
            raise InputError("safe stop", f"{error}; no effort until {self.get_name()}/reset") from None
        self.step_time.add(time.perf_counter_ns() - start)
        self.processor_time.add(time.thread_time_ns() - processor)

    def _planes(self, device: DeviceState) -> MovingPlanes:
        """Returns the planes of the tick, and copies them to the state message."""
        ((_, message),) = of_kind(self.inputs, "planes")
        w = len(message.key)
        if len(self._push) != w:
            self._make_room(w)
        self._point[:], self._normal[:] = view(message.point), view(message.normal)
        self._velocity[:] = view(message.velocity)
        return MovingPlanes.at_distances(
            np.array(vector(device.tool_pose.position)),
            key=np.asarray(message.key, dtype=np.int64),
            surface_point=self._point.reshape(w, 3),
            signed_distance=view(message.signed_distance),
            normal=self._normal.reshape(w, 3),
            velocity=self._velocity.reshape(w, 3),
            inverse_mass=view(message.inverse_mass),
            body=np.asarray(message.body),
        )

    def fill_state(self) -> None:
        walls, state = self.walls, self.state
        assert walls is not None
        report = walls.report(self._command)
        self._effort[:], self._saturation[:] = report.effort, report.saturation
        state.rendered_stiffness, state.operating_point = report.rendered_stiffness, report.operating_point
        if walls.state is None:
            self._penetration[:] = self._push[:] = 0.0
            state.in_contact = self._none
            return
        self._penetration[:], self._push[:] = report.penetration, report.push
        state.in_contact = report.in_contact.tolist()
        if self.tick % self._display_ticks == 0 and self._markers.get_subscription_count():
            self._draw(walls)

    def _draw(self, walls: WallRenderer) -> None:
        assert walls.state is not None
        old = []
        walls_drawn, self._drawn = self._drawn, len(self._push)
        if self._canvas is None or self._drawn < walls_drawn:  # markers of walls that no longer exist
            self._canvas = MarkerCanvas(self.command.header.frame_id, self.get_name())
            old = [Marker(action=Marker.DELETEALL)]
        planes = walls.planes
        if walls.moving:
            rows = zip(self._point.reshape(-1, 3).tolist(), self._normal.reshape(-1, 3).tolist(), strict=True)
            planes = tuple(Plane(tuple(point), tuple(normal)) for point, normal in rows)
        draw(self._canvas, walls.device, planes, walls.state, tangent=walls.moving)
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
        p99 = 1e6 * self.step_time.percentiles(99, last=RECENT)[0]
        values = {**super().diagnostic_values(), "control step p99 [us]": f"{p99:.1f}"}
        if self.walls is None:
            return values
        # 100 %: as hot as under the continuous torque in the long run
        values["thermal load of the motors [%]"] = ", ".join(f"{100 * load:.0f}" for load in self.walls.thermal.load)
        return {**values, "safe stop": self.walls.stopped} if self.walls.stopped else values


def main() -> None:
    """Runs the executable wall_node."""
    process.main(WallNode)
