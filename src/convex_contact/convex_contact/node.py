"""ROS node that simulates a world in the loop.

The tool drives a body of it and feels the virtual coupling's force; or other nodes render the planes that this node
finds near the tool, and what they do to the tool acts on the bodies.
"""

from __future__ import annotations

import math
import time
from array import array
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from ament_index_python.packages import PackageNotFoundError, get_package_share_directory
from visualization_msgs.msg import MarkerArray

from convex_contact.haptics.rendering import ContactRendering, CouplingNumbers, make_rendering
from convex_contact.haptics.tool_planes import Planes
from convex_contact.model.shapes import Box, Capsule, Cylinder, HalfSpace, Sphere
from convex_contact.model.world import Body, World, WorldError
from convex_contact.problem.errors import ConvergenceError
from convex_contact.view.drawing import WorldDrawing
from haptic_core import process
from haptic_core.errors import EntryError, InputError, ParameterError
from haptic_core.local_topics import is_heard
from haptic_core.markers import MarkerCanvas
from haptic_core.matching import unrecorded, wait_for
from haptic_core.messages import allocate, pose_array, set_stamp, set_wrench, vector, view
from haptic_core.parameters import parse_entries
from haptic_core.process import stop_requested
from haptic_core.qos import ACKNOWLEDGEMENT_TIMEOUT, display_qos, latched_qos, tick_qos
from haptic_core.rendering_node import RenderingNode
from haptic_core.statistics import TimeStatistics
from haptic_core.tick_inputs import PATIENCE, Input, of_kind
from haptic_msgs.msg import (
    BodyStates,
    ConstrainedReference,
    ContactArray,
    ContactPlanes,
    DeviceState,
    FrictionState,
    Scene,
    SolverStatistics,
    WallState,
)

#: frame of everything but the command and the markers, which are in the device's base frame
WORLD_FRAME = "world"
_STATE = ("position", "orientation", "velocity", "angular_velocity")
#: element's end -> sign of the friction force f on it
_ENDS = {"first": -1.0, "second": 1.0}


class ContactNode(RenderingNode):
    """Answers with the coupling's wrench, or with NONE where the tool drives no body; its state are the bodies'.

    With inputs of the kinds wall and friction their pushes and friction act on the bodies, with the other sign; with
    one of the kind constraints the prescribed proxy is where that reference is.
    """

    parameter_file = Path(__file__).with_name("contact_node.yaml")
    command_mode = "WRENCH"
    state_type = BodyStates
    forceless = frozenset({"device_damping", "condition_interval"})
    input_types: ClassVar = {
        "wall": Input(WallState),
        "friction": Input(FrictionState),
        "constraints": Input(ConstrainedReference),
    }

    def __init__(self, **node_options: Any) -> None:
        self.rendering: ContactRendering | None = None
        self.step_time = TimeStatistics()
        super().__init__("contact", **node_options)

    # ---- lifecycle ------------------------------------------------------------------------------------------

    def configure(self) -> None:
        super().configure()
        qos = tick_qos(self.parameters["mode"])
        self._contacts = self.create_lifecycle_publisher(ContactArray, "~/contacts", qos)
        self._statistics = self.create_lifecycle_publisher(SolverStatistics, "~/statistics", qos)
        self._planes = self.create_lifecycle_publisher(ContactPlanes, "~/planes", qos)
        self._scene = self.create_lifecycle_publisher(Scene, "scene", latched_qos())
        self._markers = self.create_lifecycle_publisher(MarkerArray, "markers", display_qos())
        self._display_ticks = max(1, round(1.0 / (self.parameters["display_rate"] * self.parameters["period"])))
        self._canvas: MarkerCanvas | None = None

    def activate(self) -> None:
        assert self.rendering is not None
        if self.parameters["recorded"]:
            topics = [self._contacts, self._statistics]
            if self.parameters["touch_radius"]:
                topics.append(self._planes)

            def missing() -> str:
                return ", ".join(unrecorded(self, topics))

            timeout = self.parameters["activation_timeout"]
            wait_for(missing, timeout, "the recorder", lambda: not stop_requested(), self.get_logger().info)
        super().activate()
        scene = scene_message(self.rendering.simulator.world)
        set_stamp(scene.header, 0 if self.parameters["mode"] == "lockstep" else time.time_ns())
        self._scene.publish(scene)

    def _consumed(self) -> dict[str, Any]:
        return {**super()._consumed(), "contacts": self._contacts, "planes": self._planes}

    def deactivate(self) -> None:
        super().deactivate()
        for publisher in (self._contacts, self._statistics, self._planes):
            publisher.wait_for_all_acked(ACKNOWLEDGEMENT_TIMEOUT)

    def cleanup(self) -> None:
        super().cleanup()
        for publisher in (self._contacts, self._statistics, self._planes, self._scene, self._markers):
            self.destroy_publisher(publisher)
        self.rendering = None

    def build(self, parameters: dict[str, Any]) -> tuple[ContactRendering, CouplingNumbers]:
        try:
            entries = parse_entries(parameters["world_parameters"])
        except EntryError as error:
            raise ParameterError(f"parameter world_parameters: {error}") from None
        rendering = self.rendering
        if rendering is None:
            values = {name: value for name, (value, _) in entries.items()}
            try:
                rendering = make_rendering(parameters, values, worlds_folder())
            except ConvergenceError as error:
                raise ParameterError(f"world {parameters['world']}: {error}") from None
        _ends(parameters, rendering.simulator.world)
        return rendering, CouplingNumbers.of(parameters)

    def install(self, built: tuple[ContactRendering, CouplingNumbers]) -> None:
        first, (self.rendering, numbers) = self.rendering is None, built
        self.rendering.retune(numbers)
        if first:
            self.command_mode = "WRENCH" if self.rendering.is_coupled else "NONE"
            count = len(self.rendering.simulator.world.bodies)
            sizes = {"orientation": 4}
            self._rows = [allocate(self.state, name, sizes.get(name, 3) * count) for name in _STATE]
            self._contact_state, self._solver_state = ContactArray(), SolverStatistics()
            self._plane_state = ContactPlanes()
            self._between = _ends(self.parameters, self.rendering.simulator.world)
            self._told: dict[int, Planes] = {}
            self._solver_state.approximation = self.rendering.simulator.approximation
        warning = self.rendering.warning()
        if warning:
            self.get_logger().warning(warning)

    def reset(self) -> None:
        assert self.rendering is not None
        self.rendering.reset()
        self._canvas = None
        self._seconds = 0.0
        self._told.clear()

    # ---- ticks ----------------------------------------------------------------------------------------------

    def render(self, device: DeviceState) -> None:
        assert self.rendering is not None
        start = time.perf_counter_ns()
        pose, twist, arrives = device.tool_pose, device.tool_twist, False
        follows = device.status == DeviceState.STATUS_OK
        for _, reference in of_kind(self.inputs, "constraints"):
            if reference is not None:
                pose, twist, arrives = reference.pose, reference.twist, True
        a, b = twist.linear, twist.angular
        if self.inputs:
            self._react(follows)
        try:
            wrench = self.rendering.step(
                pose_array(pose), np.array((a.x, a.y, a.z, b.x, b.y, b.z)), follows=follows, arrives=arrives
            )
        except ConvergenceError as error:
            self.fail(f"{self.parameters['world']}: {error}; the device gets no force and the node ends")
            raise InputError("no solution", str(error)) from None
        spent = time.perf_counter_ns() - start
        self.step_time.add(spent)
        self._seconds = 1e-9 * spent
        set_wrench(self.command.tool_wrench, wrench)
        if self.parameters["touch_radius"]:
            self._publish_planes(device)

    def _react(self, acts: bool) -> None:
        """Lets the bodies feel, with the other sign, what the inputs have done to the tool and to each other."""
        rendering = self.rendering
        assert rendering is not None
        rendering.release()
        if not acts:
            return
        rubbing = np.zeros(3)
        for name, message in of_kind(self.inputs, "friction"):
            if message is None:
                continue
            if len(message.force) > 3:
                raise InputError("wrong length", f"{name}: force: expected at most 3 numbers, got {len(message.force)}")
            force = np.zeros(3)
            force[: len(message.force)] = message.force
            if name not in self._between:
                rubbing -= force
            for body, sign in self._between.get(name, ()):
                rendering.pull(body, sign * force)
        for name, message in of_kind(self.inputs, "wall"):
            if message is None:
                continue
            planes, push = self._told.get(message.tick), view(message.push)
            if planes is None or len(planes.key) != len(push):
                told = "none" if planes is None else str(len(planes.key))
                text = f"{name}: {len(push)} pushes at tick {message.tick}, and {told} were told"
                self.reject("unknown planes", text)
                continue
            rendering.react(planes, push, rubbing)

    def _publish_planes(self, device: DeviceState) -> None:
        assert self.rendering is not None
        planes, message = self.rendering.planes(np.array(vector(device.tool_pose.position))), self._plane_state
        self._told[device.tick] = planes
        while len(self._told) > PATIENCE + 2:
            del self._told[min(self._told)]
        message.header.stamp, message.header.frame_id = device.header.stamp, device.header.frame_id
        message.tick = device.tick
        message.key, message.body = array("I", planes.key.tobytes()), array("i", planes.body.tobytes())
        for name in ("point", "normal", "signed_distance", "velocity", "inverse_mass"):
            setattr(message, name, array("d", np.ascontiguousarray(getattr(planes, name)).tobytes()))
        self._note_published()
        self.publish_tick(self._planes, message)

    def fill_state(self) -> None:
        rendering, state = self.rendering, self.state
        assert rendering is not None
        bodies = rendering.bodies.read()
        state.header.frame_id = WORLD_FRAME
        for row, name in zip(self._rows, _STATE, strict=True):
            row[:] = getattr(bodies, name).ravel()
        if is_heard(self._contacts):
            self._publish_contacts()
        if is_heard(self._statistics):
            self._publish_statistics()
        if self.tick % self._display_ticks == 0 and self._markers.get_subscription_count():
            self._draw()

    def _publish_contacts(self) -> None:
        assert self.rendering is not None
        simulator, message = self.rendering.simulator, self._contact_state
        fill_contacts(message, simulator.contacts, simulator.period)
        message.header.stamp, message.header.frame_id = self.state.header.stamp, WORLD_FRAME
        message.tick = self.tick
        self._note_published()
        self.publish_tick(self._contacts, message)

    def _publish_statistics(self) -> None:
        assert self.rendering is not None
        simulator, message = self.rendering.simulator, self._solver_state
        message.header.stamp, message.header.frame_id = self.state.header.stamp, WORLD_FRAME
        message.tick = self.tick
        message.cost = message.condition_number = math.nan
        stepped = simulator.time > 0.0
        if stepped:
            done, interval = simulator.statistics, self.parameters["condition_interval"]
            message.iterations, message.contacts = int(done.iterations), int(done.contacts)
            message.residual = float(done.residual)
            if interval and self.tick % interval == 0:
                solution = simulator.solution
                message.cost, message.condition_number = float(solution.cost), float(solution.condition_number)
        else:
            message.iterations = message.contacts = 0
            message.residual = 0.0
        message.solve_time = self._seconds
        self.publish_tick(self._statistics, message)

    def _draw(self) -> None:
        assert self.rendering is not None
        p = self.parameters
        if self._canvas is None:
            frame = self.command.header.frame_id
            self._canvas = MarkerCanvas(frame, self.get_name(), p["frame_position"], p["frame_orientation"])
            self._drawing = WorldDrawing(self.rendering, force_length=p["force_length"], scale=p["scale"])
        self._drawing.draw(self._canvas)
        self._markers.publish(self._canvas.message(self.command.header.stamp))

    def diagnostic_values(self) -> dict[str, Any]:
        p50, p99 = self.step_time.percentiles(50, 99)
        values = super().diagnostic_values()
        values |= {"step time p50 [us]": f"{1e6 * p50:.1f}", "step time p99 [us]": f"{1e6 * p99:.1f}"}
        warning = self.rendering.warning() if self.rendering is not None else ""
        return {**values, "design": warning} if warning else values


def _ends(parameters: dict[str, Any], world: World) -> dict[str, list[tuple[int, float]]]:
    """Bodies between which the elements of friction nodes lie, by node: number, and the sign of f on it.

    Raises:
        ParameterError: an entry of friction_bodies has another form, or names no free body.
    """
    found: dict[str, list[tuple[int, float]]] = {}
    try:
        for name, (body, entry) in parse_entries(parameters["friction_bodies"]).items():
            node, _, end = name.partition(".")
            number = world.number(str(body))
            if end not in _ENDS or world.bodies[number].kind != "free":
                raise EntryError(f"entry {entry!r}: expected node.first=body or node.second=body with a free body")
            found.setdefault(node, []).append((number, _ENDS[end]))
    except (EntryError, WorldError) as error:
        raise ParameterError(f"parameter friction_bodies: {error}") from None
    return found


def worlds_folder() -> Path | None:
    """Where the suite's worlds are; None where it is not installed."""
    try:
        return Path(get_package_share_directory("haptic_bringup")) / "config" / "worlds"
    except PackageNotFoundError:
        return None


def scene_message(world: World) -> Scene:
    """The bodies of a world, in their order.

    A body of several shapes, or of a hull, is described by the box about its frame's origin that holds it; one with a
    half space, which has the body's z axis as its normal, as a half space.
    """
    scene = Scene()
    scene.header.frame_id = WORLD_FRAME
    described = [_described(body) for body in world.bodies]
    scene.names = [body.name for body in world.bodies]
    scene.shapes = [shape for shape, _ in described]
    scene.sizes = [float(x) for _, size in described for x in size]
    scene.masses = [float(body.mass) for body in world.bodies]
    scene.meshes = [""] * len(described)
    return scene


def _described(body: Body) -> tuple[int, tuple[float, float, float]]:
    geometry = body.geometries[0] if len(body.geometries) == 1 else None
    if geometry is not None and not geometry.placement.position.any() and geometry.placement.orientation[3] == 1.0:
        shape = geometry.shape
        if isinstance(shape, Sphere):
            return Scene.SPHERE, (shape.radius, 0.0, 0.0)
        if isinstance(shape, Box):
            return Scene.BOX, shape.size
        if isinstance(shape, Cylinder | Capsule):
            kind = Scene.CYLINDER if isinstance(shape, Cylinder) else Scene.CAPSULE
            return kind, (shape.base_radius, shape.length, 0.0)
        if isinstance(shape, HalfSpace):
            return Scene.HALF_SPACE, (0.0, 0.0, 0.0)
    half = np.zeros(3)
    for g in body.geometries:
        if isinstance(g.shape, HalfSpace):
            return Scene.HALF_SPACE, (0.0, 0.0, 0.0)
        reach = np.abs(g.placement.rotation) @ g.shape.extent
        half = np.maximum(half, np.abs(g.placement.position + g.placement.rotation @ g.shape.center) + reach)
    x, y, z = (2.0 * half).tolist()
    return Scene.BOX, (x, y, z)


def fill_contacts(message: ContactArray, report: Any, period: float) -> None:
    """Writes the contacts of a step of a period [s] into a message."""
    normal_impulse = np.ascontiguousarray(report.impulse[:, 2])
    tangential = np.einsum("nk,nki->ni", report.impulse[:, :2], report.frame[:, :2])
    message.period = period
    message.body_a = array("I", report.body[:, 0].astype(np.uint32).tobytes())
    message.body_b = array("I", report.body[:, 1].astype(np.uint32).tobytes())
    for name, values in (
        ("position", report.position),
        ("normal", report.frame[:, 2]),
        ("signed_distance", report.signed_distance),
        ("normal_impulse", normal_impulse),
        ("tangential_impulse", tangential),
        ("slip_velocity", report.slip_velocity),
    ):
        setattr(message, name, array("d", np.ascontiguousarray(values).tobytes()))
    message.sticking = report.sticking.tolist()


def main() -> None:
    """Entry point of the executable contact_node."""
    process.main(ContactNode)
