"""ROS node that simulates a world in the loop.

The tool drives a body of it and feels the virtual coupling's force. Or other nodes render the planes that this node
finds near the tool, and the reactions to their forces on the tool act on the bodies.
"""

from __future__ import annotations

import time
from array import array
from pathlib import Path
from typing import Any, ClassVar

from ament_index_python.packages import PackageNotFoundError, get_package_share_directory
from visualization_msgs.msg import MarkerArray

from convex_contact.haptics.contact_renderer import (
    ContactRenderer,
    ContactRows,
    InputMismatchError,
    RendererSettings,
    WallPush,
    WorldState,
    contact_rows,
)
from convex_contact.haptics.tool_planes import Planes
from convex_contact.model.world import World
from convex_contact.problem.errors import ConvergenceError
from convex_contact.view.body_shapes import simple_shape
from convex_contact.view.drawing import WorldDrawing
from haptic_core import process
from haptic_core.errors import InputError, ParameterError
from haptic_core.markers import MarkerCanvas
from haptic_core.messages import STATUS_OK, allocate, pose_array, set_stamp, set_wrench, twist_array, view
from haptic_core.qos import display_qos, latched_qos, tick_qos
from haptic_core.rendering_node import RenderingNode
from haptic_core.statistics import TimeStatistics
from haptic_core.tick_inputs import Input, of_kind
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


class ContactNode(RenderingNode):
    """Answers with the coupling's wrench, or with NONE if the tool drives no body; publishes the state of the bodies.

    Inputs of the kinds wall and friction exert their reactions on the bodies. With an input of the kind constraints
    the prescribed proxy follows that reference.
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
        self.renderer: ContactRenderer | None = None
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
        self._markers = self.create_lifecycle_publisher(MarkerArray, "~/markers", display_qos())
        self._display_ticks = self.ticks_between(self.parameters["display_rate"])
        self._canvas: MarkerCanvas | None = None

    def activate(self) -> None:
        assert self.renderer is not None
        super().activate()
        scene = scene_message(self.renderer.simulator.world)
        set_stamp(scene.header, 0 if self.parameters["mode"] == "lockstep" else time.time_ns())
        self._scene.publish(scene)

    def recorded_publishers(self) -> list[Any]:
        planes = [self._planes] if self.parameters["touch_radius"] else []
        return [*super().recorded_publishers(), self._contacts, self._statistics, *planes]

    def _consumed(self) -> dict[str, Any]:
        return {**super()._consumed(), "contacts": self._contacts, "planes": self._planes}

    def cleanup(self) -> None:
        super().cleanup()
        for publisher in (self._contacts, self._statistics, self._planes, self._scene, self._markers):
            self.destroy_publisher(publisher)
        self.renderer = None

    def build(self, parameters: dict[str, Any]) -> tuple[ContactRenderer, RendererSettings]:
        renderer = self.renderer
        try:
            if renderer is None:
                renderer = ContactRenderer.from_parameters(parameters, worlds_folder())
            return renderer, renderer.settings_of(parameters)
        except ValueError as error:
            raise ParameterError(str(error)) from None

    def install(self, built: tuple[ContactRenderer, RendererSettings]) -> None:
        first, (self.renderer, settings) = self.renderer is None, built
        self.renderer.change(settings)
        if first:
            self.command_mode = "WRENCH" if self.renderer.is_coupled else "NONE"
            count = len(self.renderer.simulator.world.bodies)
            widths = [(name, 4 if name == "orientation" else 3) for name in _STATE]
            self._rows = [allocate(self.state, name, n * count).reshape(count, n) for name, n in widths]
            self._contact_state, self._solver_state = ContactArray(), SolverStatistics()
            self._plane_state = ContactPlanes()
            self._solver_state.approximation = self.renderer.simulator.approximation
        warning = self.renderer.warning()
        if warning:
            self.get_logger().warning(warning)

    def reset(self) -> None:
        assert self.renderer is not None
        self.renderer.reset()
        self._canvas = None
        self._seconds = 0.0

    # ---- ticks ----------------------------------------------------------------------------------------------

    def render(self, device: DeviceState) -> None:
        assert self.renderer is not None
        start = time.perf_counter_ns()
        reference: Any = None
        for _, motion in of_kind(self.inputs, "constraints"):
            if motion is not None:
                reference = pose_array(motion.pose), twist_array(motion.twist)
        friction = {name: message.force for name, message in of_kind(self.inputs, "friction") if message is not None}
        walls = [
            WallPush(name, message.tick, view(message.push))
            for name, message in of_kind(self.inputs, "wall")
            if message is not None
        ]
        try:
            answer = self.renderer.step(
                pose_array(device.tool_pose),
                twist_array(device.tool_twist),
                tick=device.tick,
                follows=device.status == STATUS_OK,
                reference=reference,
                friction=friction,
                walls=walls,
            )
        except ConvergenceError as error:
            self.fail(f"{self.parameters['world']}: {error}; the device gets no force and the node ends")
            raise InputError("no solution", str(error)) from None
        except InputMismatchError as error:
            raise InputError("wrong length", str(error)) from None
        for text in answer.rejected:
            self.reject("unknown planes", text)
        spent = time.perf_counter_ns() - start
        self.step_time.add(spent)
        self._seconds = 1e-9 * spent
        set_wrench(self.command.tool_wrench, answer.wrench)
        if self.parameters["touch_radius"]:
            self._publish_planes(device, answer.planes)

    def _publish_planes(self, device: DeviceState, planes: Planes) -> None:
        message = self._plane_state
        message.header.stamp, message.header.frame_id = device.header.stamp, device.header.frame_id
        message.tick = device.tick
        message.key, message.body = array("I", planes.key.tobytes()), array("i", planes.body.tobytes())
        _fill(message, planes, ("point", "normal", "signed_distance", "velocity", "inverse_mass"))
        self._note_published()
        self.publish_tick(self._planes, message)

    def fill_state(self) -> None:
        assert self.renderer is not None
        world = self.renderer.observe(self.tick)
        bodies = world.bodies
        self.state.header.frame_id = WORLD_FRAME
        for row, name in zip(self._rows, _STATE, strict=True):
            row[:] = getattr(bodies, name)
        if self.transport.has_subscribers(self._contacts):
            self._publish_contacts(world)
        if self.transport.has_subscribers(self._statistics):
            self._publish_statistics(world)
        if self.tick % self._display_ticks == 0 and self._markers.get_subscription_count():
            self._draw()

    def _publish_contacts(self, world: WorldState) -> None:
        message = self._contact_state
        _fill_contacts(message, world.contacts)
        message.header.stamp, message.header.frame_id = self.state.header.stamp, WORLD_FRAME
        message.tick = self.tick
        self._note_published()
        self.publish_tick(self._contacts, message)

    def _publish_statistics(self, world: WorldState) -> None:
        message, row = self._solver_state, world.statistics
        message.header.stamp, message.header.frame_id = self.state.header.stamp, WORLD_FRAME
        message.tick = self.tick
        message.iterations, message.contacts, message.residual = row.iterations, row.contacts, row.residual
        message.cost, message.condition_number = row.cost, row.condition_number
        message.solve_time = self._seconds
        self.publish_tick(self._statistics, message)

    def _draw(self) -> None:
        assert self.renderer is not None
        p = self.parameters
        if self._canvas is None:
            frame = self.command.header.frame_id
            self._canvas = MarkerCanvas(frame, self.get_name(), p["frame_position"], p["frame_orientation"])
            self._drawing = WorldDrawing(self.renderer.rendering, force_length=p["force_length"], scale=p["scale"])
        self._drawing.draw(self._canvas)
        self._markers.publish(self._canvas.message(self.command.header.stamp))

    def diagnostic_values(self) -> dict[str, Any]:
        p50, p99 = self.step_time.percentiles(50, 99)
        values = super().diagnostic_values()
        values |= {"step time p50 [us]": f"{1e6 * p50:.1f}", "step time p99 [us]": f"{1e6 * p99:.1f}"}
        warning = self.renderer.warning() if self.renderer is not None else ""
        return {**values, "design": warning} if warning else values


def worlds_folder() -> Path | None:
    """Returns the folder of the suite's worlds; None where the suite is not installed."""
    try:
        return Path(get_package_share_directory("haptic_bringup")) / "config" / "worlds"
    except PackageNotFoundError:
        return None


def scene_message(world: World) -> Scene:
    """Returns the bodies of a world as a message, in their order.

    Each body is described by one simple shape (`convex_contact.view.body_shapes`).
    """
    scene = Scene()
    scene.header.frame_id = WORLD_FRAME
    described = [simple_shape(body) for body in world.bodies]
    scene.name = [body.name for body in world.bodies]
    scene.shape = [getattr(Scene, f"SHAPE_{shape.upper()}") for shape, _ in described]
    scene.size = [float(x) for _, size in described for x in size]
    scene.mass = [float(body.mass) for body in world.bodies]
    scene.mesh = [""] * len(described)
    return scene


def fill_contacts(message: ContactArray, report: Any, period: float) -> None:
    """Writes the contacts of a step of a period [s] into a message."""
    _fill_contacts(message, contact_rows(report, period))


def _fill_contacts(message: ContactArray, rows: ContactRows) -> None:
    message.period = rows.period
    message.body_a, message.body_b = array("I", rows.body_a.tobytes()), array("I", rows.body_b.tobytes())
    _fill(message, rows, ("position", "normal", "signed_distance"))
    _fill(message, rows, ("normal_impulse", "tangential_impulse", "slip_velocity"))
    message.sticking = rows.sticking.tolist()


def _fill(message: Any, rows: Any, names: tuple[str, ...]) -> None:
    """Writes arrays of numbers into the fields of a message."""
    for name in names:
        setattr(message, name, array("d", getattr(rows, name).tobytes()))


def main() -> None:
    """Runs the executable contact_node."""
    process.main(ContactNode)
