"""Scene and plots of the experiment: the newest message of each topic, drawn while a page is open."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import viser

from haptic_core.messages import pose_array, wrench_array
from haptic_math.rotations import matrix_from_quaternion
from haptic_msgs.msg import Scene
from haptic_viewer.curves import Curves
from haptic_viewer.force_shapes import Arrow, ContactShapes, WallShapes
from haptic_viewer.forces import HAND, RENDERED, ForcePanel, WorldFrame
from haptic_viewer.handle import HandlePanel
from haptic_viewer.marker_shapes import Markers
from haptic_viewer.plots import SIGNALS, Plot
from haptic_viewer.scene import Robot
from haptic_viewer.stage import Stage
from haptic_viewer.taps import Taps
from haptic_viewer.timeline import Timeline, TimePanel

_MARKERS = "visualization_msgs/msg/MarkerArray"
_JOINTS = "joint_states"
#: topics of forces, and the arrow of each
_WRENCHES = {"rendered_wrench": "rendered", "measured_wrench": "hand"}
#: messages whose forces the page draws itself, instead of the markers of their node
_FORCES = ("haptic_msgs/msg/ContactArray", "haptic_msgs/msg/WallState")


class Picture:
    """Scene and plots of one experiment.

    Args:
        server: server of the page.
        taps: subscriptions.
        prefix: namespace of the experiment, with a slash at its end.
        signals: tab of the plots; None for a recorded run, which has neither live plots nor a timeline of a minute.
        guarded: function that calls another one with its arguments, and counts and reports its errors under a name.
    """

    def __init__(
        self, server: viser.ViserServer, taps: Taps, prefix: str, signals: Any, guarded: Callable[..., None]
    ) -> None:
        self._server, self._taps, self._prefix = server, taps, prefix
        self._signals, self._guarded = signals, guarded
        self._panel = ForcePanel(server.gui)
        self._robot: Robot | None = None
        self._markers: dict[str, Markers] = {}
        self._plots: dict[str, list[Plot]] = {}
        self._forces: dict[str, ContactShapes | WallShapes] = {}
        self._frames: dict[str, WorldFrame] = {}
        self.curves = Curves(self._color_of)
        self._device: Mapping[str, Any] = {}
        self._arrows = {
            "hand": Arrow(server.scene, "/forces/hand", HAND),
            "rendered": Arrow(server.scene, "/forces/rendered", RENDERED),
        }
        self.stage, self.timeline, self._now = Stage(server), Timeline(), 0.0
        self.time_panel = TimePanel(server.gui, lambda: self._now) if signals is not None else None
        #: topics of markers that the camera's view contains; None: there is no view yet
        self._viewed: set[str] | None = None
        self._drawn, self._settings = dict[str, Any](), self._panel.settings
        self._ticking = False
        self._seen = list[np.ndarray]()
        self._target: np.ndarray | None = None
        #: pose of the tool (7,)
        self.tool = np.array([0.0] * 6 + [1.0])
        #: newest DeviceState
        self.state: Any = None
        #: magnitude of the rendered force [N]
        self.felt = 0.0
        self.handle_panel: HandlePanel | None = None

    # ---- descriptions -------------------------------------------------------------------------------

    def meet(self, device: Mapping[str, Any]) -> None:
        """Sets the description of the device: parameters, base frame, up direction, axes of the handle."""
        self._device = device

    def describe(self, description: str) -> None:
        """Sets the robot description (URDF), and replaces the shown robot."""
        robot = Robot(self._server.scene, description)
        if self._robot is not None:
            self._robot.remove()
        self._robot, self._viewed = robot, None

    def set_scene(self, scene: Scene) -> None:
        """Sets the names of the bodies."""
        self.curves.set_scene(scene)

    def set_parameters(self, source: str, parameters: Mapping[str, Any]) -> None:
        """Sets the parameters of a node: the frame of its world, and the axes of its friction."""
        self._frames[source] = WorldFrame.of(parameters)
        if isinstance(parameters.get("axes"), list):
            self.curves.set_names("elements", [str(axis) for axis in parameters["axes"]])

    def _color_of(self, body: str) -> tuple[int, int, int] | None:
        return next((color for markers in self._markers.values() if (color := markers.color_of(body))), None)

    # ---- topics -------------------------------------------------------------------------------------

    def look_around(self, graph: Mapping[str, str]) -> None:
        """Subscribes to the topics that can be shown; to those of every tick only after the first tick.

        The device publishes the first tick once its subscribers are matched; this node must not count as one of them.

        Args:
            graph: type of each topic by its name.
        """
        self._taps.open(self._prefix + _JOINTS, "sensor_msgs/msg/JointState")
        mine = {name: kind for name, kind in graph.items() if name.startswith(self._prefix)}
        drawn = {name.rpartition("/")[0] for name, kind in mine.items() if kind in _FORCES}
        for name, kind in mine.items():
            if kind == _MARKERS:
                self._taps.open(name, kind)
                if name not in self._markers:
                    self._markers[name] = Markers(self._server.scene, "/markers" + name)
                self._markers[name].with_forces = name.rpartition("/")[0] not in drawn
            elif kind in SIGNALS and self._ticking:
                self._taps.open(name, kind)
                self._plots_of(name, kind)
        if self._ticking:
            for name in _WRENCHES:
                if self._prefix + name in graph:
                    self._taps.open(self._prefix + name, "geometry_msgs/msg/WrenchStamped")

    def offer(self, kinds: Mapping[str, str], markers: Sequence[str], points: Sequence[np.ndarray]) -> None:
        """Creates the forces of topics and the shapes of markers that `show_moment` draws.

        Args:
            kinds: type of each topic, one of `plots.SIGNALS`.
            markers: topics of the markers; their forces are left out.
            points: points (3,) [m] that the first view shows in addition to the bodies.
        """
        self._seen = list(points)
        for topic in markers:
            self._markers[topic] = Markers(self._server.scene, "/markers" + topic, with_forces=False)
        for topic, kind in kinds.items():
            self._plots_of(topic, kind)
        self._ticking = True

    def _plots_of(self, topic: str, kind: str) -> list[Plot]:
        """Returns the plots of a topic; creates its plots and forces at the first call."""
        if topic not in self._plots:
            node = topic.removeprefix(self._prefix).rpartition("/")[0].partition("/")[0]
            gui, scene = self._server.gui, self._server.scene
            signals = SIGNALS[kind] if self._signals is not None else ()
            self._plots[topic] = [Plot(gui, self._signals, signal, node, self.curves.of) for signal in signals]
            if kind == "haptic_msgs/msg/ContactArray":
                frame = self._frames.get(node, WorldFrame())
                self._forces[topic] = ContactShapes(scene, f"/forces/{node}", self._panel, frame)
            elif kind == "haptic_msgs/msg/WallState":
                self._forces[topic] = WallShapes(scene, f"/forces/{node}", self._panel)
        return self._plots[topic]

    # ---- drawing ------------------------------------------------------------------------------------

    def draw(self) -> None:
        """Draws the messages since the last frame, or the moment of the last minute that a user has chosen."""
        self._now, prefix = time.monotonic(), self._prefix
        topics = (prefix + _JOINTS, *self._markers, *self._plots, *(prefix + name for name in _WRENCHES))
        newest = {topic: message for topic in topics if (message := self._taps.newest(topic)) is not None}
        for topic, message in newest.items():
            self.timeline.add(topic, self._now, message)
            if topic in self._plots:
                self._guarded(topic, self._plot, topic, message)
        self._ticking = self._ticking or prefix + _JOINTS in newest
        moment = self.time_panel.moment if self.time_panel is not None else None
        shown = newest if moment is None else self.timeline.at(moment)
        self.show_moment(shown)
        if self.time_panel is not None:
            self.time_panel.say(self._words_of(shown) if moment is not None else "")

    def show_moment(self, messages: Mapping[str, Any]) -> None:
        """Draws messages by absolute topic, in this order: those of the device come before those of its nodes.

        If a user has changed a setting of the forces, the last message of every topic is drawn again.
        """
        self._drawn |= messages
        if self.outdated:
            messages, self._settings = self._drawn, self._panel.settings
        with self._server.atomic():
            for topic, message in messages.items():
                self._guarded(topic, self._show, topic, message)
        self._build()
        self.stage.follow(self.tool[:3])

    @property
    def outdated(self) -> bool:
        """True if a user has changed a setting of the forces since the last frame."""
        return self._panel.settings != self._settings

    def _words_of(self, shown: Mapping[str, Any]) -> str:
        state = shown.get(self._prefix + "device_state")
        return f"the scene shows tick {state.tick}, {state.tick * state.period:.3f} s" if state is not None else ""

    def _show(self, topic: str, message: Any) -> None:
        """Draws one message in the scene."""
        if topic == self._prefix + _JOINTS:
            self._move(message)
        elif topic in self._markers:
            self._markers[topic].see_through = self._panel.patches
            self._markers[topic].show(message)
        elif topic in self._plots:
            self._take(topic, message)
        else:
            self._draw_wrench(topic.removeprefix(self._prefix), message)

    def draw_plots(self) -> None:
        """Sends the curves that have changed."""
        for plots in self._plots.values():
            for plot in plots:
                plot.draw()

    def show(self, topic: str, kind: str, message: Any) -> None:
        """Shows a message as a frame does: its plots and the forces.

        Args:
            topic: absolute name of the topic.
            kind: type of the message, one of `plots.SIGNALS`.
            message: message to show; if it cannot be shown, it counts as a rejection.
        """
        self._plots_of(topic, kind)
        self._guarded(topic, self._plot, topic, message)
        self._guarded(topic, self._take, topic, message)

    def _move(self, joints: Any) -> None:
        self.curves.set_names("joints", joints.name)
        if self._robot is not None:
            self._robot.move(dict(zip(joints.name, joints.position, strict=False)), joints.header.frame_id)

    def _plot(self, topic: str, message: Any) -> None:
        now = message.tick * float(self._device["parameters"]["period"])
        for plot in self._plots[topic]:
            plot.add(now, message)
        if topic == self._prefix + "device_state":
            self.state = message

    def _take(self, topic: str, message: Any) -> None:
        shapes = self._forces.get(topic)
        if isinstance(shapes, ContactShapes):
            shapes.show(message)
        elif shapes is not None:
            shapes.show(message, self.tool[:3])
        if topic == self._prefix + "device_state":
            self.tool = pose_array(message.tool_pose)
        elif topic == self._prefix + "simulation_state":
            self._target = pose_array(message.operator_target)
            if self._device.get("handle_axes") == 2:
                self._target[2] = self.tool[2]  # the plan is planar
            force = wrench_array(message.operator_wrench)[:3]
            self._arrows["hand"].draw(self.tool[:3], force, self._panel.length)
            if self.handle_panel is not None:
                self.handle_panel.show(self._target[:3], self.tool[:3])

    def _draw_wrench(self, name: str, message: Any) -> None:
        arrow = _WRENCHES[name]
        if arrow == "hand" and self._target is not None:
            return  # the force of a simulated hand is known, so the measured one is not needed
        force = wrench_array(message.wrench)[:3]
        if message.header.frame_id != self._device.get("base_frame"):
            force = matrix_from_quaternion(self.tool[3:]) @ force  # wrench in the tool's frame
        self._arrows[arrow].draw(self.tool[:3], force, self._panel.length)
        if arrow == "rendered":
            self.felt = float(np.linalg.norm(force))

    def _build(self) -> None:
        """Adds the floor and places the camera to show all shapes; again for the first shapes of a topic."""
        drawn = {topic for topic, markers in self._markers.items() if markers.points()}
        if not self._ticking or (self._viewed is not None and drawn <= self._viewed):
            return
        points: list[np.ndarray] = [point for markers in self._markers.values() for point in markers.points()]
        points += self._seen + self._robot.points() if self._robot is not None else self._seen
        if len(points) > 1:
            self.stage.build(self._finite(points), str(self._device.get("up_axis", "z")))
            self._viewed = drawn

    @staticmethod
    def _finite(points: Sequence[np.ndarray]) -> list[np.ndarray]:
        return [point for point in points if np.isfinite(point).all()] or [np.zeros(3)]
