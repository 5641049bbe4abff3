"""ROS node that shows the experiment of its namespace as a browser page, and passes on what its users do.

It changes nothing by being there: it reads latched descriptions and events, and topics only while a page is open, the
newest message of each picture alone. What a user does goes the way of any ROS program: parameter services, `~/reset`,
the device's `~/pause`, `~/step`, `~/hold` and `operator_handle`.
"""

from __future__ import annotations

import os
import queue
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import PoseStamped
from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.executors import Executor
from rclpy.node import Node
from rclpy.parameter import Parameter
from std_msgs.msg import String
from std_srvs.srv import SetBool, Trigger

from haptic_core import process
from haptic_core.errors import InputError
from haptic_core.messages import detail_of, pose_array, set_pose, wrench_array
from haptic_core.parameter_files import PARAMS_FILE, values_for
from haptic_core.parameters import check_all, load_parameter_specs
from haptic_core.process import stop_requested
from haptic_core.qos import EVENT_DEPTH, display_qos, latched_qos, status_qos
from haptic_core.statistics import Rejections
from haptic_math.rotations import matrix_from_quaternion
from haptic_msgs.msg import TickEvent
from haptic_msgs.srv import Step
from haptic_viewer.clock import ClockPanel
from haptic_viewer.handle import HandlePanel
from haptic_viewer.page import address, open_page
from haptic_viewer.parameters import ParameterPanel
from haptic_viewer.plots import SIGNALS, Plot
from haptic_viewer.scene import HAND, RENDERED, Arrow, Markers, Robot, floor, look_at
from haptic_viewer.services import Services, WantedValues
from haptic_viewer.state_line import StateLine
from haptic_viewer.taps import Taps
from haptic_viewer.text import plain

_FILE = Path(__file__).with_name("viewer.yaml")
_MARKERS = "visualization_msgs/msg/MarkerArray"
#: times between two looks at the graph, two drawings of the plots, two lines of the clock [s]
_LOOK, _PLOT, _TELL = 1.0, 0.1, 0.25
#: length of a force of 1 N [m]
_FORCE_LENGTH = 0.01
#: the page has at most this share of the time of its process
_SHARE = 0.6


class Viewer(Node):
    """The page of the experiment in this node's namespace.

    Attributes:
        url: of the page, once `start` has opened it.
    """

    def __init__(self, **node_options: Any) -> None:
        super().__init__("viewer", automatically_declare_parameters_from_overrides=True, **node_options)
        specs = load_parameter_specs(_FILE)
        given = {name: parameter.value for name, parameter in self.get_parameters_by_prefix("").items()}
        given = {name: given[name] for name in given.keys() & specs.keys()}
        if given.get(PARAMS_FILE):
            given |= values_for(given[PARAMS_FILE], self.get_fully_qualified_name(), specs)
        self.parameters = check_all(specs, given)
        self.finished, self.exit_code = False, 0
        self.rejections = Rejections()
        self._tasks: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._service_calls = Services(self, lambda line: self._clock_panel.say(line))
        self._active: set[str] = set()
        self._device: dict[str, Any] = {}
        self._device_name, self._sources = "", list[str]()
        self._description, self._watching = "", False
        self._state_line = StateLine()
        self._paused = False
        self._robot: Robot | None = None
        self._markers: dict[str, Markers] = {}
        self._plots: dict[str, list[Plot]] = {}
        self._panels: dict[str, ParameterPanel] = {}
        self._wanted = WantedValues(self._service_calls, self._panels, lambda line: self._clock_panel.say(line))
        self._handle_panel: HandlePanel | None = None
        self._handle_pose: np.ndarray | None = None
        self._looked = False
        self._last = dict.fromkeys(("look", "plot", "tell"), 0.0)
        self._tool = np.array([0.0] * 6 + [1.0])
        self._target: np.ndarray | None = None
        self._state: Any = None

    # ---- life -------------------------------------------------------------------------------------

    def start(self) -> None:
        """Opens the page; raises PageError where that is not possible."""
        p = self.parameters
        self.server = open_page(p["host"], p["port"], p["token"])
        self.url = address(self.server, p["host"], p["token"])
        self.server.gui.set_panel_label(plain(self.get_namespace().strip("/") or "haptics"))
        self._clock_panel = ClockPanel(self.server.gui, lambda word, number: self._do(partial(self._act, word, number)))
        self._plot_panel = self.server.gui.add_panel()
        self._plot_tab = self._plot_panel.add_tab("Signals")
        self._plot_panel.dock_left()
        self._plot_panel.set_width(330)
        self.server.gui.main_panel.dock_right()
        self.server.gui.main_panel.set_width(360)
        self._arrows = {
            "hand": Arrow(self.server.scene, "/forces/hand", HAND),
            "rendered": Arrow(self.server.scene, "/forces/rendered", RENDERED),
        }
        self._taps = Taps(self.context, f"{self.get_name()}_taps")
        self._handles = self.create_publisher(PoseStamped, "operator_handle", display_qos())
        self.create_subscription(TickEvent, "tick_event", self._on_event, latched_qos(EVENT_DEPTH))
        self.create_subscription(String, "robot_description", self._on_description, latched_qos())
        alive = SubscriptionEventCallbacks(liveliness=self._on_liveliness)
        self.create_subscription(DiagnosticStatus, "status", self._on_status, status_qos(), event_callbacks=alive)
        self.get_logger().info(f"the page is at {self.url}")

    def spin(self, executor: Executor) -> None:
        """Makes pictures until it is stopped."""
        period = 1.0 / self.parameters["frame_rate"]
        due = time.monotonic()
        while not stop_requested():
            wait = due - time.monotonic()
            if wait > 0.0:
                executor.spin_once(timeout_sec=wait)
                continue
            start = time.monotonic()
            self.frame()
            now = time.monotonic()
            due = max(due + period, start + (now - start) / _SHARE)
        self.close()

    def close(self) -> None:
        """Closes the page."""
        self.server.stop()
        self._taps.destroy()

    def _do(self, task: Callable[[], None]) -> None:
        """Leaves something to the thread of `frame`; viser's threads call this."""
        self._tasks.put(task)

    def frame(self) -> None:
        """One picture: what users did, then what has changed."""
        while not self._tasks.empty():
            self._tasks.get()()
        self._wanted.send()
        self._service_calls.send()
        if self._handle_pose is not None:
            self._publish_handle(self._handle_pose)
            self._handle_pose = None
        watched = bool(self.server.get_clients())
        if watched != self._watching:
            self._watching = watched
            if not watched:
                self._taps.close()
        if watched and self._device:
            self._draw()

    def _often(self, what: str, interval: float) -> bool:
        now = time.monotonic()
        if now - self._last[what] < interval:
            return False
        self._last[what] = now
        return True

    # ---- what the experiment says -----------------------------------------------------------------

    def _on_status(self, message: DiagnosticStatus) -> None:
        self._shown("status", self._state_line.set_status, message.level[0], message.message)

    def _on_liveliness(self, event: Any) -> None:
        if not event.alive_count:
            self._on_status(DiagnosticStatus(level=DiagnosticStatus.STALE, message="the device gives no sign of life"))

    def _shown(self, what: str, show: Callable[..., None], *arguments: Any) -> None:
        """Shows something that came; what cannot be shown is counted and reported, and the page goes on."""
        try:
            show(*arguments)
        except Exception as error:  # whatever another program has sent
            if self.rejections.add(what, time.monotonic()):
                reason = " ".join(str(error).split())
                count = self.rejections.counts[what]
                self.get_logger().warning(f"not shown ({what}, {count} so far): {type(error).__name__}: {reason}")

    def _on_description(self, message: String) -> None:
        self._shown("robot_description", self._describe, message.data)

    def _describe(self, description: str) -> None:
        robot = Robot(self.server.scene, description)
        if self._robot is not None:
            self._robot.remove()
        self._description, self._robot = description, robot
        self._looked = False

    def _on_event(self, event: TickEvent) -> None:
        self._shown("tick_event", self._take_event, event)

    def _take_event(self, event: TickEvent) -> None:
        detail = detail_of(event)
        if event.kind == "state" and "sources" in detail.get("parameters", {}):
            self._meet(event.source, detail)
        if event.kind == "state" and detail.get("state") == "active":
            self._active.add(event.source)
            self._show_parameters()
        elif event.kind == "parameter" and event.source in self._panels:
            for name, value in detail.items():
                self._panels[event.source].take(name, value)
        if event.source != self._device_name:
            return
        if event.kind == "parameter" and "pace" in detail:
            self._clock_panel.set_pace(float(detail["pace"]), lockstep=self._mode == "lockstep")
        elif event.kind == "pause":
            self._paused = bool(detail["paused"])
        elif event.kind in ("hold", "reset") and self._handle_panel is not None:
            self._handle_panel.set_held(bool(detail.get("held", False)), np.array(detail.get("target", self._tool)))

    @property
    def _mode(self) -> str:
        return str(self._device["parameters"]["mode"])

    def _meet(self, name: str, detail: dict[str, Any]) -> None:
        """The device says what it is: the page gets its parts."""
        first = not self._device
        parameters, axis = detail["parameters"], detail.get("up_axis", "z")
        upwards, pace = np.eye(3)["xyz".index(axis)], float(parameters.get("pace", 0.0))
        if not (parameters["period"] > 0.0 and all(isinstance(source, str) for source in parameters["sources"])):
            raise InputError("malformed", f"event of {name}: expected a period above 0 and names of sources")
        lockstep = parameters["mode"] == "lockstep"
        self._device, self._device_name, self._paused = detail, name, False
        self.server.scene.set_up_direction(upwards)
        self._clock_panel.set_pace(pace, lockstep=lockstep)
        if not first:
            return
        self.set_parameters([Parameter("use_sim_time", value=lockstep)])
        plane: Any = {"z": "xy", "y": "xz", "x": "yz"}[axis]
        self.server.scene.add_grid(
            "/grid",
            2.0,
            2.0,
            plane=plane,
            cell_size=0.05,
            section_size=0.25,
            position=floor(axis, bool(self._device.get("handle_axes"))),
        )
        axes = int(detail.get("handle_axes", 0))
        if axes:
            self._handle_panel = HandlePanel(
                self.server,
                axes,
                lambda held: self._do(partial(self._hold, held)),
                lambda pose: self._do(partial(self._move, pose)),
            )

    def _show_parameters(self) -> None:
        """Makes the panels of the nodes that are active and answer the device."""
        for source in self._device.get("parameters", {}).get("sources", ()):
            if source in self._active and source not in self._panels:
                self._panels[source] = ParameterPanel(
                    self.server.gui,
                    source,
                    partial(self._do_want, source),
                )
                self._service_calls.ask_parameters(source, self._panels[source].show)

    # ---- what the users do ------------------------------------------------------------------------

    def _do_want(self, source: str, name: str, value: Any) -> None:
        self._do(partial(self._wanted.want, source, name, value))

    def _act(self, word: str, number: float) -> None:
        device = self._device_name
        if not device:
            self._clock_panel.say("there is no device yet")
        elif word in ("start", "pause"):
            self._service_calls.call_in_turn([(SetBool, f"{device}/pause", SetBool.Request(data=word == "pause"))])
        elif word == "step":
            self._service_calls.call_in_turn([(Step, f"{device}/step", Step.Request(ticks=int(number)))])
        elif word == "pace":
            self._wanted.want(device, "pace", number)
        else:
            self._reset()

    def _reset(self) -> None:
        """Device and nodes start anew before the same tick: a lockstep run stands still for it."""
        names = [self._device_name, *self._device["parameters"]["sources"]]
        calls: list[tuple[Any, str, Any]] = [(Trigger, f"{name}/reset", Trigger.Request()) for name in names]
        if self._mode == "lockstep" and not self._paused:
            stop, go = ((SetBool, f"{self._device_name}/pause", SetBool.Request(data=data)) for data in (True, False))
            calls = [stop, *calls, go]
        self._service_calls.call_in_turn(calls)

    def _hold(self, held: bool) -> None:
        def done(answer: Any) -> None:
            if self._handle_panel is not None and (answer is None or not answer.success):
                self._handle_panel.say("no answer" if answer is None else answer.message)

        self._service_calls.call(SetBool, f"{self._device_name}/hold", SetBool.Request(data=held), done)

    def _move(self, pose: np.ndarray) -> None:
        self._handle_pose = pose

    def _publish_handle(self, pose: np.ndarray) -> None:
        message = PoseStamped()
        message.header.frame_id = self._device.get("base_frame", "")
        message.header.stamp = self.get_clock().now().to_msg()
        set_pose(message.pose, pose)
        self._handles.publish(message)

    # ---- drawing ----------------------------------------------------------------------------------

    def _topic(self, name: str) -> str:
        return f"{self.get_namespace().rstrip('/')}/{name}"

    def _look_around(self) -> None:
        """Listens to what there is to be shown; to what is published in every tick only once ticks come.

        The first tick is published when those who need it are matched, and no other node must be counted among them.
        """
        graph = {name: kinds[0] for name, kinds in self.get_topic_names_and_types()}
        prefix = self._topic("")
        self._taps.open(self._topic("joint_states"), "sensor_msgs/msg/JointState")
        for name, kind in graph.items():
            if not name.startswith(prefix):
                continue
            if kind == _MARKERS:
                self._taps.open(name, kind)
                if name not in self._markers:
                    self._markers[name] = Markers(self.server.scene, "/markers" + name)
            elif kind in SIGNALS and self._ticking:
                self._taps.open(name, kind)
                self._plots_of(name, kind)
        if self._ticking:
            for name in ("rendered_wrench", "measured_wrench"):
                if self._topic(name) in graph:
                    self._taps.open(self._topic(name), "geometry_msgs/msg/WrenchStamped")

    def _plots_of(self, topic: str, kind: str) -> list[Plot]:
        """The plots of a topic, which are made for its first message."""
        if topic not in self._plots:
            subject = topic.removeprefix(self._topic("")).rpartition("/")[0].partition("/")[0]
            gui, tab = self.server.gui, self._plot_tab
            self._plots[topic] = [Plot(gui, tab, signal, subject) for signal in SIGNALS[kind]]
        return self._plots[topic]

    def show(self, topic: str, kind: str, message: Any) -> None:
        """Shows a message as a picture does: its plots, the forces and the line of the clock.

        Args:
            topic: Absolute name.
            kind: Type of the message, one of `plots.SIGNALS`.
            message: Counted as a rejection, where it cannot be shown.
        """
        self._shown(topic, self._take, topic, message, self._plots_of(topic, kind))
        self._shown("forces", self._draw_forces)
        self._tell()

    @property
    def _ticking(self) -> bool:
        return self._joints_came

    _joints_came = False

    def _draw(self) -> None:
        if self._often("look", _LOOK):
            self._look_around()
        taps, topic = self._taps, self._topic
        with self.server.atomic():
            joints = taps.newest(topic("joint_states"))
            if joints is not None:
                self._joints_came = True
                if self._robot is not None:
                    self._shown("joint_states", self._robot.move, dict(zip(joints.name, joints.position, strict=False)))
            for name, markers in self._markers.items():
                message = taps.newest(name)
                if message is not None:
                    self._shown(name, markers.show, message)
            for name, plots in self._plots.items():
                message = taps.newest(name)
                if message is not None:
                    self._shown(name, self._take, name, message, plots)
            self._shown("forces", self._draw_forces)
        if not self._looked:
            self._aim()
        if self._often("plot", _PLOT):
            for plots in self._plots.values():
                for plot in plots:
                    plot.draw()
        if self._often("tell", _TELL):
            self._tell()

    def _take(self, name: str, message: Any, plots: Sequence[Plot]) -> None:
        now = message.tick * float(self._device["parameters"]["period"])
        for plot in plots:
            plot.add(now, message)
        if name == self._topic("device_state"):
            self._state = message
            self._tool = pose_array(message.tool_pose)
        elif name == self._topic("simulation_state"):
            self._target = pose_array(message.operator_target)
            if self._device.get("handle_axes") == 2:
                self._target[2] = self._tool[2]  # the plan is in the plane
            self._arrows["hand"].show(self._tool[:3], wrench_array(message.operator_wrench)[:3], _FORCE_LENGTH)
            if self._handle_panel is not None:
                self._handle_panel.show(self._target[:3], self._tool[:3])

    def _draw_forces(self) -> None:
        arrows = {"rendered_wrench": "rendered"}
        if self._target is None:  # a real device: what it measures
            arrows["measured_wrench"] = "hand"
        for name, arrow in arrows.items():
            message = self._taps.newest(self._topic(name))
            if message is not None:
                force = wrench_array(message.wrench)[:3]
                if message.header.frame_id != self._device.get("base_frame"):
                    force = matrix_from_quaternion(self._tool[3:]) @ force  # given in the tool's axes
                self._arrows[arrow].show(self._tool[:3], force, _FORCE_LENGTH)

    def _aim(self) -> None:
        """Puts the camera where it sees all, once there is something to see."""
        points = [point for markers in self._markers.values() for point in markers.points()]
        points += self._robot.points() if self._robot is not None else []
        if len(points) > 1 and self._joints_came:
            look_at(self.server, points, self._device.get("up_axis", "z"))
            self._looked = True

    def _tell(self) -> None:
        if self._state is None:
            self._clock_panel.show("waiting for the first tick")
        else:
            self._clock_panel.show(*self._state_line.parts(self._state, self._mode, paused=self._paused))


def main() -> None:
    """Entry point of the executable viewer; it gives way to the loop."""
    os.nice(10)
    process.main(Viewer)
