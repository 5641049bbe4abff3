"""Transport of nodes that share a process: copies of messages are handed over in order, without the middleware.

A message that goes through DDS and back costs some 100 us of processor time, and the nodes of a composed process
(`haptic_core.composition`) exchange a dozen in a tick. Here they share a queue. A subscriber gets a copy of the message
as it was when it was published, and must not change it; the executor delivers it later, never from within the
publisher's call. So nodes receive the same messages as in processes of their own. Other processes get the message
through DDS when the nodes have no messages for each other: the answers to a tick do not wait for that. The recorder
gets the messages in bundles (TickBundle), since a message costs 35 to 50 us to send, and 5 to 10 us to serialise. For
the same reason a reader that only makes pictures (`PICTURE_READER`) gets the newest message `_PICTURES` times a second.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from typing import Any

from rclpy.executors import Executor
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import QoSProfile

from haptic_core.cdr import encode_bundle, encoder
from haptic_core.qos import PICTURE_READER
from haptic_core.transport.interface import Callback, Transport, write
from haptic_core.transport.message_copies import copy_message

#: deliveries after which the middleware is served, too, although more is waiting
_AT_ONCE = 64

#: messages to nodes that are delivered in a row in realtime, where each iteration of the device's loop costs 3 us
_IN_A_ROW = 8

#: messages of a topic between two checks whether other processes subscribe to it
_LOOK_EVERY = 32

#: most samples in a bundle: about those of a tick, so that after ticks that took long none waits for a large one
_BUNDLED = 12

#: most messages to other processes that wait until the nodes have none for each other; in lockstep they always have
_HELD_BACK = 2000

#: messages of a topic in a second of wall time for readers that only make pictures [Hz]
_PICTURES = 60.0

#: beginning of the name that rclpy gives a node whose own name DDS has not sent yet
_UNNAMED = "_NODE_NAME_UNKNOWN"


class _Route:
    """Subscribers of a publisher.

    Attributes:
        topic: absolute name.
        far: a node of another process subscribes.
        pictures: all of those nodes only make pictures.
        write: sends a message to other processes.
        waiting: last entry of `LocalTopics._waiting`, by the subscriber's callback.
    """

    __slots__ = ("_asked", "_count", "_looks", "far", "pictures", "publisher", "topic", "waiting", "write")

    def __init__(self, publisher: Publisher) -> None:
        self.topic, self.publisher = publisher.topic_name, publisher
        self.write: Callback = partial(write, publisher)
        self.waiting: dict[Callback, list[Any]] = {}
        self.far, self.pictures = False, False
        self._count, self._looks, self._asked = 0, 0, 0.0

    def look(self, names_of: Callable[[str], Sequence[str]]) -> None:
        """Checks once in `_LOOK_EVERY` calls whether other processes subscribe: that costs a microsecond.

        Args:
            names_of: names of the nodes that subscribe to a topic, which takes longer.
        """
        if self._looks == 0:
            self._looks, now, count = _LOOK_EVERY, time.monotonic(), self.publisher.get_subscription_count()
            self.far = bool(count)
            if count != self._count or (self.pictures and now > self._asked + 1.0):
                names = [name for name in names_of(self.topic) if not name.startswith(_UNNAMED)] if count else []
                self._count, self._asked = len(names), now  # DDS names a node later than its subscription: ask again
                only_pictures = len(names) == count and all(name.endswith(PICTURE_READER) for name in names)
                self.pictures = self.far and only_pictures
        self._looks -= 1

    def forget(self) -> None:
        """Looks again before the next message."""
        self._looks = 0


class LocalTopics(Transport):
    """Subscribers of this process by topic, and the messages that wait for delivery to them.

    Args:
        nodes: names of the nodes of this process; messages of others come through DDS.
        newest: for realtime. A message that still waits when the next one of its publisher comes is dropped: a late
            message must not make the next tick late, too. Work that no tick needs waits (see `when_idle`).

    Attributes:
        bundle: publisher of TickBundles; None: no recorder takes them.
        names_of: names of the nodes that subscribe to a topic (absolute name) through the middleware.
    """

    def __init__(self, nodes: Collection[str], *, newest: bool = False) -> None:
        self.nodes = frozenset(nodes)
        self._newest = newest
        self._routes: dict[Publisher, _Route] = {}
        self.bundle: Publisher | None = None
        self.names_of: Callable[[str], Sequence[str]] = lambda _: ()
        self._samples: list[tuple[str, Any]] = []
        self._encoders: dict[type, Callable[[Any], bytes]] = {}
        self._listeners: dict[str, list[tuple[str, Callback]]] = {}
        self._waiting: deque[list[Any]] = deque()
        self._leaving: deque[tuple[Callback, Any]] = deque()
        self._pictures: dict[_Route, Any] = {}
        self._pictures_due = 0.0
        self._later: deque[Callable[[], object]] = deque()
        self._posted = False

    def subscribe(
        self, node: Node, kind: type, topic: str, callback: Callback, qos: QoSProfile, sources: Iterable[str]
    ) -> Callable[[], object]:
        if self.nodes.issuperset(sources):
            return self.listen(node.resolve_topic_name(topic), node.get_name(), callback)
        subscription = node.create_subscription(kind, topic, callback, qos, raw=True)
        return lambda: node.destroy_subscription(subscription)

    def listen(self, topic: str, node: str, callback: Callback) -> Callable[[], None]:
        """Delivers the messages of a topic (absolute name) to a node; returns the function that ends that."""
        entry = (node, callback)
        self._listeners.setdefault(topic, []).append(entry)
        return lambda: self._listeners[topic].remove(entry)

    def local_subscribers(self, topic: str) -> list[str]:
        return [node for node, _ in self._listeners.get(topic, ())]

    def recorded_publishers(self, publishers: Sequence[Publisher]) -> Sequence[Publisher]:
        return publishers if self.bundle is None else [self.bundle]

    def has_subscribers(self, publisher: Publisher) -> bool:
        route = self._looked_up(publisher)
        return bool(self._listeners.get(route.topic)) or route.far or self.sends_bundles()

    def _looked_up(self, publisher: Publisher) -> _Route:
        """The subscribers of a publisher, as far as they are known now."""
        route = self._routes.get(publisher)
        if route is None:
            route = self._routes[publisher] = _Route(publisher)
        route.look(self.names_of)
        return route

    def refresh(self) -> None:
        for route in self._routes.values():
            route.forget()

    def publish(self, publisher: Publisher, message: Any) -> None:
        """Queues a copy of a message for all subscribers, for the recorder and for other processes that take it."""
        route = self._looked_up(publisher)
        listeners, bundled = self._listeners.get(route.topic, ()), self.sends_bundles()
        if not (listeners or bundled or route.far):
            return
        self._posted = True
        copy = copy_message(message)
        for _, callback in listeners:
            entry = [callback, copy]
            if self._newest:
                before = route.waiting.get(callback)
                if before is not None:
                    before[0] = _drop
                route.waiting[callback] = entry
            self._waiting.append(entry)
        if bundled:
            self._samples.append((route.topic, copy))
        if route.pictures:
            self._pictures[route] = copy
        elif route.far:
            self._leaving.append((route.write, copy))

    @property
    def has_undelivered(self) -> bool:
        return bool(self._waiting)

    def when_idle(self, work: Callable[[], object]) -> None:
        """In realtime calls a function when no message waits for delivery, one between two messages; else at once."""
        if self._newest:
            self._later.append(work)
        else:
            work()

    def deliver(self) -> bool:
        """Delivers messages to nodes, publishes one, or does work that waits; False if there is nothing to do."""
        held_back = len(self._leaving) + len(self._samples)
        if self._pictures and not (self._newest and self._waiting) and time.monotonic() >= self._pictures_due:
            self._send_pictures()
        elif self._waiting and held_back <= _HELD_BACK:
            for _ in range(_IN_A_ROW if self._newest else 1):
                entry = self._waiting.popleft()
                callback, entry[0] = entry[0], _drop
                callback(entry[1])
                if not self._waiting:
                    break
        elif self._leaving:
            publish, message = self._leaving.popleft()
            publish(message)
        elif self._samples:
            self._send_bundle()
        elif self._later and self._posted:
            self._posted = False
            self._later.popleft()()
        else:
            return False
        return True

    def _send_pictures(self) -> None:
        """Sends the newest messages to those who make pictures: in lockstep at once, else one between two others."""
        self._pictures_due = time.monotonic() + 1.0 / _PICTURES
        newest = [(route.write, message) for route, message in self._pictures.items()]
        self._pictures.clear()
        if self._newest:
            self._leaving.extend(newest)
            return
        for send, message in newest:
            send(message)

    def sends_bundles(self) -> bool:
        """Whether a recorder takes the messages of the nodes in bundles."""
        return self.bundle is not None and self._looked_up(self.bundle).far

    def _send_bundle(self) -> None:
        samples, self._samples = self._samples[:_BUNDLED], self._samples[_BUNDLED:]
        assert self.bundle is not None
        write(self.bundle, encode_bundle([(topic, self._encoded(message)) for topic, message in samples]))

    def _encoded(self, message: Any) -> bytes:
        kind = type(message)
        encode = self._encoders.get(kind)
        if encode is None:
            encode = self._encoders[kind] = encoder(kind)
        return encode(message)

    def flush(self) -> None:
        if self._pictures:
            self._send_pictures()
        while self._leaving:
            publish, message = self._leaving.popleft()
            publish(message)
        while self._samples:
            self._send_bundle()

    def executor(self, executor: Executor) -> LocalExecutor:
        return LocalExecutor(executor, self)


def _drop(message: Any) -> None:
    """Receives a message that is dropped."""


class LocalExecutor:
    """An executor that first delivers the messages between nodes of this process.

    Args:
        executor: serves everything else.
        topics: transport of the process.
    """

    def __init__(self, executor: Executor, topics: LocalTopics) -> None:
        self._executor, self._topics = executor, topics
        self._delivered = 0

    def spin_once(self, timeout_sec: float | None = None) -> None:
        """Delivers local messages, or waits for the middleware as the executor does."""
        if self._topics.deliver():
            self._delivered += 1
            if self._delivered % _AT_ONCE:
                return
            timeout_sec = 0.0
        self._executor.spin_once(timeout_sec=timeout_sec)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._executor, name)
