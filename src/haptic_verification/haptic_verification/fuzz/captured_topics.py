"""Transport for a single node: its tick topics end in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import QoSProfile

from haptic_core.rendering_node import RenderingNode
from haptic_core.transport.interface import Callback, RosTopics
from haptic_files.entries import node_and_kind


class CapturedTopics(RosTopics):
    """Transport of one node that stores its callbacks and passes its messages to a function; nothing is sent.

    Args:
        take: function that receives the absolute name of a topic and a message.
        subscribed: True if the topics count as subscribed: some messages are published only for subscribers.

    Attributes:
        callbacks: callbacks of the subscribed tick topics, by relative name.
    """

    def __init__(self, take: Callable[[str, Any], None], *, subscribed: bool = True) -> None:
        self.callbacks: dict[str, Callback] = {}
        self._take, self._subscribed = take, subscribed

    def subscribe(
        self, node: Node, kind: type, topic: str, callback: Callback, qos: QoSProfile, sources: Iterable[str]
    ) -> Callable[[], object]:
        self.callbacks[topic] = callback
        return lambda: self.callbacks.pop(topic, None)

    def input_of(self, node: RenderingNode, entry: str) -> Callback:
        """Returns the callback of an entry of the node's parameter `inputs`."""
        source, kind = node_and_kind(entry)
        return self.callbacks[f"{source}/{node.input_types[kind].topic}"]

    def publish(self, publisher: Publisher, message: Any) -> None:
        self._take(publisher.topic_name, message)

    def has_subscribers(self, publisher: Publisher) -> bool:
        return self._subscribed

    def local_subscribers(self, topic: str) -> list[str]:
        return ["fuzz"]  # so that the node does not wait for others when it is activated
