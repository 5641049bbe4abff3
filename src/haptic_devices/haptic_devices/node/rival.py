"""Detection of another device that publishes on the same topics; the start waits until DDS removes a killed one."""

from __future__ import annotations

import random
import time
from typing import Any

from haptic_core.errors import HapticError
from haptic_core.qos import tick_qos
from haptic_core.suite_node import SuiteNode
from haptic_msgs.msg import DeviceState

#: time after which DDS has removed a process that was killed, and a further time of random length, so that of two
#: devices that wait for each other only one gives up [s]
_REMOVAL_TIME, _FURTHER_TIME = 25.0, 5.0


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
        self._deadline = 0.0

    def description(self) -> str:
        """Returns the error about another device; empty if there is none."""
        if self._node.count_publishers(self._topic) < 2:
            return ""
        return f"another device already publishes {self._topic} in this ROS domain; end it or set another ROS_DOMAIN_ID"

    def silent_one(self) -> str:
        """Returns a description of another device that is silent, perhaps a killed one; empty if there is none.

        Raises:
            HapticError: the other device publishes, or DDS has not removed it in time.
        """
        if not self.description():
            self.stop_listening()
            return ""
        if self._listener is None:
            self._listen()
        if self._received or time.monotonic() > self._deadline:
            raise HapticError(self.description())
        return f"the end of another device on {self._topic}"

    def _listen(self) -> None:
        node, self._received = self._node, []
        self._deadline = time.monotonic() + _REMOVAL_TIME + random.uniform(0.0, _FURTHER_TIME)
        qos = tick_qos(node.parameters["mode"])
        self._listener = node.create_subscription(DeviceState, self._topic, self._received.append, qos, raw=True)
        node.get_logger().info("there is another device; one that was killed is forgotten after 20 s")

    def stop_listening(self) -> None:
        """Destroys the subscription of `silent_one`."""
        if self._listener is not None:
            self._node.destroy_subscription(self._listener)
            self._listener = None

    def check(self) -> None:
        """Raises HapticError if there is another device."""
        self.stop_listening()
        if self.description():
            raise HapticError(self.description())
