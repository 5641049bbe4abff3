"""Subscriptions that are polled for each frame, and cost the loop nothing in between."""

from __future__ import annotations

from collections import deque
from importlib import import_module
from typing import Any

from rclpy.context import Context
from rclpy.node import Node
from rclpy.qos import HistoryPolicy, QoSProfile, ReliabilityPolicy

from haptic_core.qos import PICTURE_READER

#: QoS for the newest message only; no publisher waits for this reader
_NEWEST = QoSProfile(reliability=ReliabilityPolicy.BEST_EFFORT, history=HistoryPolicy.KEEP_LAST, depth=1)


def message_class(kind: str) -> Any:
    """Returns the class of a message type such as "std_msgs/msg/String"."""
    package, _, name = kind.split("/")
    return getattr(import_module(f"{package}.msg"), name)


class Taps:
    """Subscriptions without callbacks, which are polled for their newest message.

    No executor serves their node, so that thousands of messages a second are no work for Python. The end of its name
    marks it as a reader for pictures, to which nodes in one process need not send each message.

    Args:
        context: context of rclpy.
        name: name of the node, to which `PICTURE_READER` is appended.
    """

    def __init__(self, context: Context, name: str) -> None:
        self._node = Node(name + PICTURE_READER, context=context, enable_rosout=False, start_parameter_services=False)
        self._taps: dict[str, Any] = {}

    def open(self, topic: str, kind: str) -> None:
        """Subscribes to a topic, unless it is open already."""
        if topic not in self._taps:
            self._taps[topic] = self._node.create_subscription(message_class(kind), topic, lambda _: None, _NEWEST)

    def newest(self, topic: str) -> Any:
        """Returns the newest message since the last call; None without a message, or if the topic is not open."""
        tap, newest = self._taps.get(topic), deque[Any](maxlen=1)
        while tap is not None:
            with tap.handle:
                taken = tap.handle.take_message(tap.msg_type, tap.raw)
            if taken is None:
                break
            newest.append(taken[0])
        return newest[0] if newest else None

    def close(self) -> None:
        """Ends all subscriptions."""
        for tap in self._taps.values():
            self._node.destroy_subscription(tap)
        self._taps = {}

    def destroy(self) -> None:
        """Destroys the node."""
        self._node.destroy_node()
