"""Actions of the page's users on the experiment: clock, hand and parameters."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped
from rclpy.node import Node
from std_srvs.srv import SetBool, Trigger

from haptic_core.messages import set_pose
from haptic_core.qos import display_qos
from haptic_msgs.srv import Step
from haptic_viewer.clock import ClockPanel
from haptic_viewer.handle import HandlePanel
from haptic_viewer.parameters import ParameterPanel
from haptic_viewer.services import QueuedValues, Services


class UserActions:
    """Actions of the users, as calls of the experiment's services and poses of the handle.

    Args:
        node: node of the viewer.
        clock: panel that shows the reason of a refusal.
        atomic: context whose changes of the page are sent together at its end, when their callbacks exist.
    """

    def __init__(self, node: Node, clock: ClockPanel, atomic: Callable[[], AbstractContextManager[None]]) -> None:
        self._node, self._clock, self._atomic = node, clock, atomic
        self._services = Services(node, clock.say)
        self._handles = node.create_publisher(PoseStamped, "operator_handle", display_qos())
        self._handle_pose: np.ndarray | None = None
        self._device, self._detail = "", dict[str, Any]()
        self._linked: dict[str, Any] = {}
        #: panel of the parameters by node
        self.panels: dict[str, ParameterPanel] = {}
        self._queue = QueuedValues(self._services, self.panels, clock.say)
        #: handle; None without a hand
        self.handle_panel: HandlePanel | None = None
        #: True if the run is paused
        self.paused = False

    def meet(self, name: str, detail: Mapping[str, Any]) -> None:
        """Sets the name of the device's node, and its description."""
        self._device, self._detail, self.paused = name, dict(detail), False

    def send(self) -> None:
        """Sends the actions of the users since the last call."""
        self._queue.send()
        self._services.send()
        if self._handle_pose is not None:
            self._publish_handle(self._handle_pose)
            self._handle_pose = None

    def add_panel(self, source: str, panel: ParameterPanel) -> None:
        """Fills the panel of a node once the node has sent its parameters, and sets those that a link names."""

        def show(descriptors: Sequence[Any], values: dict[str, Any]) -> None:
            with self._atomic():
                panel.show(descriptors, values)
            self._follow_link(source, values)

        self.panels[source] = panel
        self._services.ask_parameters(source, show)

    def follow_link(self, values: Mapping[str, Any]) -> None:
        """Sets parameters by node.parameter; those of a node without a panel wait until it has sent its parameters."""
        self._linked |= values
        for source, panel in self.panels.items():
            self._follow_link(source, panel.values)

    def _follow_link(self, source: str, known: Mapping[str, Any]) -> None:
        for name in known:
            full = f"{source}.{name}"
            if full in self._linked:
                value = self._linked.pop(full)
                self._queue.queue(source, name, json.dumps(value) if isinstance(value, list) else value)

    def set_parameter(self, source: str, name: str, value: Any) -> None:
        """Sets a parameter of a node."""
        self._queue.queue(source, name, value)

    def act(self, word: str, number: float) -> None:
        """Performs an action: starts, pauses, steps or resets the run, or sets its pace.

        Args:
            word: start, pause, step, reset or pace.
            number: ticks of a step, or the pace.
        """
        device = self._device
        if not device:
            self._clock.say("there is no device yet")
        elif word in ("start", "pause"):
            self._services.call_in_turn([(SetBool, f"{device}/pause", SetBool.Request(data=word == "pause"))])
        elif word == "step":
            self._services.call_in_turn([(Step, f"{device}/step", Step.Request(ticks=int(number)))])
        elif word == "pace":
            self._queue.queue(device, "pace", number)
        else:
            self._reset()

    def toggle_pause(self) -> None:
        """Pauses or continues the run."""
        self.act("start" if self.paused else "pause", 0.0)

    def hold(self, held: bool) -> None:
        """Takes or releases the handle."""

        def done(answer: Any) -> None:
            if self.handle_panel is not None and (answer is None or not answer.success):
                self.handle_panel.say("no answer" if answer is None else answer.message)

        self._services.call(SetBool, f"{self._device}/hold", SetBool.Request(data=held), done)

    def move(self, pose: np.ndarray) -> None:
        """Moves the held handle to a pose (7,) in the device's base frame."""
        self._handle_pose = pose

    def _reset(self) -> None:
        """Resets device and nodes; a lockstep run is paused meanwhile, so that all are reset before the same tick."""
        parameters = self._detail["parameters"]
        names = [self._device, *parameters["sources"]]
        calls: list[tuple[Any, str, Any]] = [(Trigger, f"{name}/reset", Trigger.Request()) for name in names]
        if parameters["mode"] == "lockstep" and not self.paused:
            stop, go = ((SetBool, f"{self._device}/pause", SetBool.Request(data=data)) for data in (True, False))
            calls = [stop, *calls, go]
        self._services.call_in_turn(calls)

    def _publish_handle(self, pose: np.ndarray) -> None:
        message = PoseStamped()
        message.header.frame_id = self._detail.get("base_frame", "")
        message.header.stamp = self._node.get_clock().now().to_msg()
        set_pose(message.pose, pose)
        self._handles.publish(message)
