"""Transport of the messages of a tick between nodes: the interface, and its implementation by ROS topics.

A node has one `Transport`. Nodes in separate processes use `RosTopics`; nodes that share a process share a
`local_topics.LocalTopics`, which delivers copies of messages without the middleware.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from rclpy.duration import Duration
from rclpy.executors import Executor
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import QoSProfile

from haptic_core.errors import HapticError
from haptic_core.qos import ACKNOWLEDGEMENT_TIMEOUT
from haptic_core.rclpy_parts import RCLError

Callback = Callable[[Any], None]

#: longest time that `write` waits while the history of a tick topic is full [s]
WRITE_TIMEOUT = 30.0

#: pause between two attempts to write [s]
_WRITE_PAUSE = 2e-4


def write(publisher: Publisher, message: Any) -> None:
    """Publishes on a tick topic through the middleware; waits for a reader that has fallen behind.

    A keep-all writer refuses a sample while its history is full of unacknowledged ones.

    Raises:
        HapticError: the history stayed full for `WRITE_TIMEOUT`.
    """
    end = time.monotonic() + WRITE_TIMEOUT
    while True:
        try:
            publisher.publish(message)
            return
        except RCLError:
            if time.monotonic() > end:
                raise HapticError(
                    f"{publisher.topic_name}: a subscriber has not taken anything for {WRITE_TIMEOUT:g} s"
                ) from None
            time.sleep(_WRITE_PAUSE)  # lets the subscriber have this core


class Transport(ABC):
    """Interface that delivers the messages of tick topics from a node to its subscribers."""

    _waited_in_vain = False

    @abstractmethod
    def subscribe(
        self, node: Node, kind: type, topic: str, callback: Callback, qos: QoSProfile, sources: Iterable[str]
    ) -> Callable[[], object]:
        """Delivers the messages of a tick topic to a callback.

        Args:
            node: node that subscribes.
            kind: class of the messages.
            topic: relative or absolute name.
            callback: function that receives serialised messages (bytes), or message objects if all sources share the
                process.
            qos: profile of the subscription through the middleware.
            sources: names of the nodes that publish on the topic.

        Returns:
            Function that unsubscribes.
        """

    @abstractmethod
    def publish(self, publisher: Publisher, message: Any) -> None:
        """Sends a message to all subscribers of a tick topic; does nothing if there is none."""

    @abstractmethod
    def has_subscribers(self, publisher: Publisher) -> bool:
        """Returns whether a node of any process subscribes to this publisher."""

    @abstractmethod
    def local_subscribers(self, topic: str) -> list[str]:
        """Returns the names of the nodes that receive a topic (absolute name) without the middleware."""

    @abstractmethod
    def recorded_publishers(self, publishers: Sequence[Publisher]) -> Sequence[Publisher]:
        """Returns the publishers through which the recorder gets the messages of the given publishers."""

    @property
    @abstractmethod
    def has_undelivered(self) -> bool:
        """Whether a message to a node of this process has not been delivered yet."""

    @abstractmethod
    def when_idle(self, work: Callable[[], object]) -> None:
        """Calls a function that no tick needs when the nodes of this process have no messages to exchange."""

    @abstractmethod
    def refresh(self) -> None:
        """Looks for new subscribers before the next message."""

    @abstractmethod
    def flush(self) -> None:
        """Sends all messages that wait to be sent."""

    def wait_until_taken(self, publishers: Sequence[Publisher]) -> None:
        """Sends all waiting messages and waits until every reader, also the recorder, has acknowledged them.

        DDS still waits for a reader that was killed: after one wait of `ACKNOWLEDGEMENT_TIMEOUT` without success no
        node of this transport waits again.
        """
        self.flush()
        end = time.monotonic() + (0.0 if self._waited_in_vain else ACKNOWLEDGEMENT_TIMEOUT)
        for publisher in {*publishers, *self.recorded_publishers(publishers)}:
            left = Duration(seconds=max(end - time.monotonic(), 0.0))
            self._waited_in_vain |= not publisher.wait_for_all_acked(left)

    @abstractmethod
    def executor(self, executor: Executor) -> Any:
        """Returns an executor that serves both this transport and the nodes of the given executor."""


class RosTopics(Transport):
    """Transport of a node in a separate process: each tick topic is a ROS topic."""

    def subscribe(
        self, node: Node, kind: type, topic: str, callback: Callback, qos: QoSProfile, sources: Iterable[str]
    ) -> Callable[[], object]:
        subscription = node.create_subscription(kind, topic, callback, qos, raw=True)
        return lambda: node.destroy_subscription(subscription)

    def publish(self, publisher: Publisher, message: Any) -> None:
        if publisher.get_subscription_count():
            write(publisher, message)

    def has_subscribers(self, publisher: Publisher) -> bool:
        return bool(publisher.get_subscription_count())

    def local_subscribers(self, topic: str) -> list[str]:
        return []

    def recorded_publishers(self, publishers: Sequence[Publisher]) -> Sequence[Publisher]:
        return publishers

    @property
    def has_undelivered(self) -> bool:
        return False

    def when_idle(self, work: Callable[[], object]) -> None:
        work()

    def refresh(self) -> None:
        pass

    def flush(self) -> None:
        pass

    def executor(self, executor: Executor) -> Executor:
        return executor
