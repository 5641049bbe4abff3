"""Detection of another device that publishes on the same topics; the start waits until DDS removes a killed one."""

from __future__ import annotations

from typing import Any

from haptic_core.errors import HapticError
from haptic_core.qos import tick_qos
from haptic_core.start.handshake import StartHandshake
from haptic_core.suite_node import SuiteNode
from haptic_msgs.msg import DeviceState

#: time after which DDS has removed a process that was killed [s]
_REMOVAL_TIME = 25.0


class Rival:
    """Looks for another device with the topics of this one.

    Args:
        node: node of the device.
        states: publisher of DeviceState of the node.
    """

    def __init__(self, node: SuiteNode, states: Any) -> None:
        self._node, self._topic = node, states.topic_name
        self._listener: Any = None
        self._received: list[bytes] = []

    def description(self) -> str:
        """Returns the error about another device; empty if there is none."""
        if self._node.count_publishers(self._topic) < 2:
            return ""
        return f"another device already publishes {self._topic} in this ROS domain; end it or set another ROS_DOMAIN_ID"

    def wait_for_its_end(self, start: StartHandshake) -> None:
        """Delays the start until DDS removes a silent device, perhaps a killed one, or that device publishes."""
        if not self.description():
            return
        node, self._received = self._node, []
        qos = tick_qos(node.parameters["mode"])
        self._listener = node.create_subscription(DeviceState, self._topic, self._received.append, qos, raw=True)
        node.get_logger().info("there was another device; one that was killed is forgotten after 20 s")
        start.wait_for(lambda: "" if self._received else self.description(), _REMOVAL_TIME, "it to be forgotten")

    def stop_listening(self) -> None:
        """Destroys the subscription of `wait_for_its_end`."""
        if self._listener is not None:
            self._node.destroy_subscription(self._listener)
            self._listener = None

    def check(self) -> None:
        """Raises HapticError if there is another device."""
        self.stop_listening()
        if self.description():
            raise HapticError(self.description())
