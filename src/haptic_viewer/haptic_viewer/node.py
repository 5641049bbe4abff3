"""ROS node that shows the experiment of its namespace as a browser page, and sends the actions of its users.

The node does not affect the experiment: it reads latched descriptions and events, and other topics only while a page is
open, the newest message for each frame. Actions of users use the interfaces of any ROS program: parameter services,
`~/reset`, the device's `~/pause`, `~/step`, `~/hold` and `operator_handle`.
"""

from __future__ import annotations

import os
import queue
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import viser
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.executors import Executor
from rclpy.parameter import Parameter
from std_msgs.msg import String

from haptic_core import process
from haptic_core.errors import HapticError, InputError
from haptic_core.messages import detail_of
from haptic_core.qos import EVENT_DEPTH, display_qos, latched_qos, status_qos
from haptic_core.rclpy_guards import ClockGuard, guard_services
from haptic_core.statistics import Rejections
from haptic_core.suite_node import declare_fixed
from haptic_launch.experiments import load_experiment
from haptic_msgs.msg import Scene, TickEvent
from haptic_viewer.clock import ClockPanel
from haptic_viewer.frame_rate import FrameRate, make_pictures
from haptic_viewer.handle import HandlePanel
from haptic_viewer.hands import HOLD_BUTTON, PAUSE_BUTTON, Hands
from haptic_viewer.keys import Keys
from haptic_viewer.layout import Layout
from haptic_viewer.learning import LearningPanel
from haptic_viewer.page import address, open_page
from haptic_viewer.parameters import ParameterPanel
from haptic_viewer.picture import Picture
from haptic_viewer.share import SharePanel, link_of
from haptic_viewer.stage import CameraPanel
from haptic_viewer.state_line import StateLine
from haptic_viewer.taps import Taps
from haptic_viewer.text import plain
from haptic_viewer.user_actions import UserActions

_FILE = Path(__file__).with_name("viewer.yaml")
#: intervals of updating the ROS graph, the plots, the line of the clock and the frame rate [s]
_INTERVALS = {"graph": 1.0, "plot": 0.1, "clock": 0.25, "frame rate": 1.0}


class Viewer(ClockGuard):
    """Page of the experiment in this node's namespace.

    Attributes:
        url: URL of the page, once `start` has opened it.
    """

    def __init__(self, **node_options: Any) -> None:
        super().__init__("viewer", automatically_declare_parameters_from_overrides=True, **node_options)
        guard_services(self)
        self.parameters = declare_fixed(self, _FILE, secrets=("token",))
        self.finished, self.exit_code = False, 0
        self.rejections = Rejections()
        self._tasks: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._active: dict[str, dict[str, Any]] = {}
        self._device: dict[str, Any] = {}
        self._device_name, self._watching = "", False
        self._pace, self._state_line = 0.0, StateLine()
        self._frame_rate = FrameRate(self.parameters["frame_rate"])
        self._last = dict.fromkeys(_INTERVALS, 0.0)
        self._diagnostics: Any = None
        self._changed: dict[str, Any] = {}

    # ---- life -------------------------------------------------------------------------------------

    def start(self) -> None:
        """Opens the page; raises PageError if that is not possible."""
        p = self.parameters
        hands = Hands()
        server = open_page(p["host"], p["port"], p["token"], hands)
        self.url = address(server, p["host"], p["token"])
        self.show_on(server, Layout(server), hands)
        print(f"the page is at {self.url}", flush=True)  # not on /rosout, since the address may hold the token

    def show_on(self, server: viser.ViserServer, layout: Layout, hands: Hands, link: str = "") -> None:
        """Shows the experiment on an open page.

        Args:
            server, layout: server and panels of the page.
            hands: keys and gamepads of the page's users.
            link: address of the page in links that reopen the scene; empty: no links.
        """
        self.server, self._hands, self._link = server, hands, link
        with server.atomic():
            self._add_panels(layout)
        self.create_subscription(TickEvent, "tick_event", self._on_event, latched_qos(EVENT_DEPTH))
        for kind, topic, take in (
            (String, "robot_description", lambda message: self._picture.describe(message.data)),
            (Scene, "scene", lambda message: self._picture.set_scene(message)),
        ):
            self.create_subscription(kind, topic, partial(self._shown, topic, take), latched_qos())
        alive = SubscriptionEventCallbacks(liveliness=self._on_liveliness)
        self.create_subscription(DiagnosticStatus, "status", self._on_status, status_qos(), event_callbacks=alive)

    def _add_panels(self, layout: Layout) -> None:
        server = self.server
        server.gui.set_panel_label(plain(self.get_namespace().strip("/") or "haptics"))
        self._first = self._add_learning_panel(str(self.parameters["experiment"]))
        self._clock_panel = ClockPanel(
            server.gui, lambda word, number: self._queue_task(partial(self._actions.act, word, number))
        )
        self._actions = UserActions(self, self._clock_panel, server.atomic)
        prefix = f"{self.get_namespace().rstrip('/')}/"
        self._taps = Taps(self.context, self.get_name())
        self._camera = CameraPanel(
            server.gui, lambda client, view: self._queue_task(partial(self._picture.stage.look, client, view))
        )
        self._share = SharePanel(server.gui, str(self.parameters["experiment"]) or "scene")
        self._show_link()
        Keys(server.gui, lambda word: self._queue_task(partial(self._on_key, word)))
        self._picture = Picture(server, self._taps, prefix, layout.signals, self._shown)

    def _add_learning_panel(self, name: str) -> Sequence[str]:
        """Shows the suggestions of an experiment; returns the parameters that the page shows first."""
        try:
            experiment = load_experiment(name) if name else None
        except HapticError as error:
            self.get_logger().warning(f"parameter experiment: {error}")
            return ()
        if experiment is None:
            return ()
        LearningPanel(self.server.gui, experiment)
        return experiment.first_parameters

    def spin(self, executor: Executor) -> None:
        """Draws frames until it is stopped, then closes the page."""
        make_pictures(executor, self.frame, lambda: self.rate)
        self.close()

    def close(self) -> None:
        """Closes the page."""
        self.server.stop()
        self.leave()

    def leave(self) -> None:
        """Ends the subscriptions to the topics; the page stays open."""
        self._taps.destroy()

    @property
    def rate(self) -> float:
        """Frame rate [Hz]."""
        return self._frame_rate.rate

    def _queue_task(self, task: Callable[[], None]) -> None:
        """Queues a task for the thread of `frame`; viser's threads call this."""
        self._tasks.put(task)

    def frame(self) -> None:
        """Draws one frame, after the actions of the users."""
        while not self._tasks.empty():
            self._tasks.get()()
        self._apply_hands()
        self._actions.send()
        watched = bool(self.server.get_clients())
        if watched != self._watching:
            self._watching = watched
            self._watch(watched)
        if watched and self._device:
            self._draw()

    def _apply_hands(self) -> None:
        """Moves the handle by keys and gamepads, and sets their rumble from the rendered force."""
        handle = self._actions.handle_panel
        if handle is None:
            return
        for button in self._hands.pressed():
            if button == HOLD_BUTTON:
                self._actions.hold(not handle.held)
            elif button == PAUSE_BUTTON:
                self._actions.toggle_pause()
        up_axis = str(self._device.get("up_axis", "z"))
        handle.shift(self._hands.displacement(up_axis, planar=handle.planar))
        self._hands.feel(held=handle.held, force=self._picture.felt)

    def _watch(self, watched: bool) -> None:
        """Starts or ends the subscriptions that only an open page needs."""
        if watched:
            self._state_line.begin()
            report = partial(self._shown, "diagnostics", self._take_diagnostics)
            self._diagnostics = self.create_subscription(DiagnosticArray, "/diagnostics", report, display_qos())
            return
        self._taps.close()
        self.destroy_subscription(self._diagnostics)

    def _is_due(self, update: str) -> bool:
        now = time.monotonic()
        if now - self._last[update] < _INTERVALS[update]:
            return False
        self._last[update] = now
        return True

    # ---- messages of the experiment ---------------------------------------------------------------

    def _on_status(self, message: DiagnosticStatus) -> None:
        values = {entry.key: entry.value for entry in message.values}
        self._shown("status", self._state_line.set_status, message.level[0], message.message, values)

    def _on_liveliness(self, event: Any) -> None:
        if not event.alive_count:
            self._on_status(DiagnosticStatus(level=DiagnosticStatus.STALE, message="the device gives no sign of life"))

    def _take_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            namespace, _, node = f"/{status.name}".rpartition("/")
            if namespace == self.get_namespace():
                self._state_line.set_diagnostics(node, {entry.key: entry.value for entry in status.values})

    def _shown(self, what: str, show: Callable[..., None], *arguments: Any) -> None:
        """Shows the content of a message; an error is counted and reported, and the page goes on.

        Browsers get all changes at once: the input of a user to a control without a callback would be lost.
        """
        try:
            with self.server.atomic():
                show(*arguments)
        except Exception as error:  # another program may send any content
            if self.rejections.add(what, time.monotonic()):
                reason = " ".join(str(error).split())
                count = self.rejections.counts[what]
                self.get_logger().warning(f"not shown ({what}, {count} so far): {type(error).__name__}: {reason}")

    def _on_event(self, event: TickEvent) -> None:
        self._shown("tick_event", self._take_event, event)

    def _take_event(self, event: TickEvent) -> None:
        detail, panels = detail_of(event), self._actions.panels
        if event.kind == TickEvent.KIND_STATE and "sources" in detail.get("parameters", {}):
            self._set_device(event.source, detail)
        if event.kind == TickEvent.KIND_STATE and detail.get("state") == "active":
            self._active[event.source] = detail
            self._picture.set_parameters(event.source, detail.get("parameters", {}))
            self._show_parameters()
        elif event.kind == TickEvent.KIND_PARAMETER and event.source in panels:
            for name, value in detail.items():
                panels[event.source].take(name, value)
                self._changed[f"{event.source}.{name}"] = value
            self._show_link()
        if event.source == self._device_name:
            self._take_device_event(event.kind, detail)

    def _take_device_event(self, kind: str, detail: dict[str, Any]) -> None:
        handle = self._picture.handle_panel
        if kind == TickEvent.KIND_PARAMETER and "pace" in detail:
            self._set_pace(float(detail["pace"]))
        elif kind == TickEvent.KIND_PAUSE:
            self._actions.paused = bool(detail["paused"])
        elif kind in (TickEvent.KIND_HOLD, TickEvent.KIND_RESET) and handle is not None:
            handle.set_held(bool(detail.get("held", False)), np.array(detail.get("target", self._picture.tool)))

    @property
    def _mode(self) -> str:
        return str(self._device["parameters"]["mode"])

    def _set_pace(self, pace: float) -> None:
        self._pace = pace
        self._clock_panel.set_pace(pace, lockstep=self._mode == "lockstep")

    def _set_device(self, name: str, detail: dict[str, Any]) -> None:
        """Sets the device from its description, and adds its parts to the page."""
        first = not self._device
        parameters = detail["parameters"]
        if detail.get("up_axis", "z") not in ("x", "y", "z"):
            raise InputError("malformed", f"event of {name}: expected an axis x, y or z that is up")
        if not (parameters["period"] > 0.0 and all(isinstance(source, str) for source in parameters["sources"])):
            raise InputError("malformed", f"event of {name}: expected a period above 0 and names of sources")
        pace = float(parameters.get("pace", 0.0))
        self._device, self._device_name = detail, name
        self._picture.meet(detail)
        self._actions.meet(name, detail)
        self._set_pace(pace)
        if not first:
            return
        self.set_parameters([Parameter("use_sim_time", value=self._mode == "lockstep")])
        axes = int(detail.get("handle_axes", 0))
        if axes:
            handle = HandlePanel(
                self.server,
                axes,
                lambda held: self._queue_task(partial(self._actions.hold, held)),
                lambda pose: self._queue_task(partial(self._actions.move, pose)),
            )
            self._picture.handle_panel = self._actions.handle_panel = handle

    def _show_parameters(self) -> None:
        """Adds the panels of the active sources of the device."""
        for source in self._device.get("parameters", {}).get("sources", ()):
            if source in self._active and source not in self._actions.panels:
                first = [name.partition(".")[2] for name in self._first if name.startswith(f"{source}.")]
                panel = ParameterPanel(self.server.gui, source, partial(self._queue_value, source), first)
                self._actions.add_panel(source, panel)

    def _on_key(self, word: str) -> None:
        handle = self._actions.handle_panel
        if word == "pause":
            self._actions.toggle_pause()
        elif word == "reset":
            self._actions.act("reset", 0.0)
        elif handle is not None:
            self._actions.hold(not handle.held)

    def follow_link(self, values: Mapping[str, Any]) -> None:
        """Sets the parameters of a link, by node.parameter; unknown ones are ignored."""
        self._actions.follow_link(values)

    def _show_link(self) -> None:
        if self._link:
            self._share.show_link(link_of(self._link, str(self.parameters["experiment"]), self._changed))

    def _queue_value(self, source: str, name: str, value: Any) -> None:
        self._queue_task(partial(self._actions.set_parameter, source, name, value))

    # ---- drawing ----------------------------------------------------------------------------------

    def show(self, topic: str, kind: str, message: Any) -> None:
        """Shows a message as a frame does: its plots, the forces and the line of the clock.

        Args:
            topic: absolute name of the topic.
            kind: type of the message, one of `plots.SIGNALS`.
            message: message to show; if it cannot be shown, it counts as a rejection.
        """
        self._picture.show(topic, kind, message)
        self._show_clock()

    def _draw(self) -> None:
        if self._is_due("graph"):
            graph = {name: kinds[0] for name, kinds in self.get_topic_names_and_types()}
            self._picture.look_around(graph)
        self._picture.draw()
        if self._is_due("plot"):
            self._picture.draw_plots()
        if self._is_due("clock"):
            self._show_clock()
        if self._is_due("frame rate") and not self._actions.paused:
            self._frame_rate.adapt(self._state_line.factor, self._pace if self._mode == "lockstep" else 0.0)

    def _show_clock(self) -> None:
        self._camera.show_square(self._picture.stage.square)
        state = self._picture.state
        if state is None:
            self._clock_panel.show("waiting for the first tick")
        else:
            paused = self._actions.paused
            self._clock_panel.show(*self._state_line.parts(state, self._mode, paused=paused, pace=self._pace))


def main() -> None:
    """Runs the executable viewer with a lower priority than the nodes of the loop."""
    os.nice(10)
    process.main(Viewer)
