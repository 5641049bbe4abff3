"""Transport of nodes that share a process: delivers copies of messages in order, without the middleware.

A message through DDS costs some 100 us of processor time, and the nodes of a composed process
(`haptic_core.composition`) exchange a dozen in a tick. Here they share a queue. A subscriber gets a copy of the message
as it was when it was published, and must not change it. The executor delivers it later, never within the publisher's
call, so nodes receive the same messages as in separate processes. Other processes get the message through DDS when the
nodes have no messages for each other, so the answers to a tick do not wait for them. The recorder gets them in bundles
(TickBundle), since it takes 35 to 100 us to send one: in realtime the messages of up to `_BUNDLED_FOR`, in lockstep
many bundles in a row. For the same reason a display reader (`PICTURE_READER`) gets the newest message `_PICTURES` times
a second.
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

#: longest time for which the middleware is not served while messages wait [s]; to serve it takes 80 us
_SERVE_EVERY = 0.01

#: messages to nodes that are delivered in a row, because each iteration of the device's loop takes 3 us
_IN_A_ROW = 8

#: messages of a topic between two checks for subscribers in other processes
_LOOK_EVERY = 32

#: number of samples from which on a bundle leaves in realtime, and the largest one: it takes 35 to 100 us to send a
#: bundle, whatever its size, and no tick shall wait for a large one; at 1 kHz five nodes have 48 samples in four ticks
_FEWEST_BUNDLED, _BUNDLED = 36, 48

#: longest time for which a sample waits for others in realtime [s]
_BUNDLED_FOR = 0.005

#: size from which on a bundle gets no more samples [bytes]; a larger message than 65 kB is sent in fragments
_BUNDLE_SIZE = 32_000

#: largest number of messages to other processes that wait while the nodes exchange messages, as always in lockstep
_MAX_WAITING = 2000

#: number of samples after which all of them are sent in lockstep, where no answer can be late. In a row they take half
#: the time, because the code that serialises and sends them is then in the caches of the core
_SENT_TOGETHER = 500

#: rate of the messages of a topic for display readers, in wall time [Hz]
_PICTURES = 60.0

#: beginning of the name that rclpy gives a node whose own name DDS has not sent yet
_UNNAMED = "_NODE_NAME_UNKNOWN"


class _Route:
    """Subscribers of a publisher.

    Attributes:
        topic: absolute name.
        far: true if a node of another process subscribes.
        pictures: true if all of those nodes are display readers.
        write: function that sends a message to other processes.
        waiting: last entry of `LocalTopics._waiting`, by the subscriber's callback.
        looks: number of messages until the next call of `look`.
    """

    __slots__ = ("_asked", "_count", "far", "looks", "pictures", "publisher", "topic", "waiting", "write")

    def __init__(self, publisher: Publisher) -> None:
        self.topic, self.publisher = publisher.topic_name, publisher
        self.write: Callback = partial(write, publisher)
        self.waiting: dict[Callback, list[Any]] = {}
        self.far, self.pictures = False, False
        self._count, self.looks, self._asked = 0, 0, 0.0

    def look(self, names_of: Callable[[str], Sequence[str]]) -> None:
        """Looks for subscribers in other processes, which takes a microsecond: once in `_LOOK_EVERY` messages.

        Args:
            names_of: function that returns the names of the nodes that subscribe to a topic, which takes longer.
        """
        self.looks, now, count = _LOOK_EVERY, time.monotonic(), self.publisher.get_subscription_count()
        self.far = bool(count)
        if count != self._count or (self.pictures and now > self._asked + 1.0):
            names = [name for name in names_of(self.topic) if not name.startswith(_UNNAMED)] if count else []
            self._count, self._asked = len(names), now  # DDS sends a node's name after its subscription: ask again
            only_pictures = len(names) == count and all(name.endswith(PICTURE_READER) for name in names)
            self.pictures = self.far and only_pictures

    def forget(self) -> None:
        """Looks again before the next message."""
        self.looks = 0


class LocalTopics(Transport):
    """Subscribers of this process by topic, and the messages that wait for delivery to them.

    Args:
        nodes: names of the nodes of this process; messages of others come through DDS.
        newest: true in realtime. A message that still waits when the next one of its publisher comes is dropped, so
            that it does not delay the next tick. Work that no tick needs waits (see `when_idle`).

    Attributes:
        bundle: publisher of TickBundles; None: no recorder subscribes to them.
        names_of: function that returns the names of the nodes that subscribe to a topic (absolute name) through the
            middleware.
    """

    def __init__(self, nodes: Collection[str], *, newest: bool = False) -> None:
        self.nodes = frozenset(nodes)
        self._newest = newest
        self._routes: dict[Publisher, _Route] = {}
        self.bundle: Publisher | None = None
        self.names_of: Callable[[str], Sequence[str]] = lambda _: ()
        self._samples: deque[tuple[str, Any]] = deque()
        self._sampled = 0.0  # when the oldest sample came, on the monotonic clock [s]
        self._fewest_bundled = _FEWEST_BUNDLED if newest else 1
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
        """Delivers the messages of a topic (absolute name) to a node; returns the function that unsubscribes."""
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
        """Returns the known subscribers of a publisher."""
        route = self._routes.get(publisher)
        if route is None:
            route = self._routes[publisher] = _Route(publisher)
        if not route.looks:
            route.look(self.names_of)
        route.looks -= 1
        return route

    def refresh(self) -> None:
        for route in self._routes.values():
            route.forget()

    def publish(self, publisher: Publisher, message: Any) -> None:
        """Queues a copy of a message for all subscribers, for the recorder and for subscribing processes."""
        route = self._looked_up(publisher)
        listeners = self._listeners.get(route.topic, ())
        bundled = self.sends_bundles()
        if self._samples and not bundled:  # the recorder has gone
            self._samples.clear()
        if not (listeners or bundled or route.far):
            return
        self._posted = True
        copy = copy_message(message)
        for _, callback in listeners:
            entry = [callback, copy]
            if self._newest:
                previous = route.waiting.get(callback)
                if previous is not None:
                    previous[0] = _drop
                route.waiting[callback] = entry
            self._waiting.append(entry)
        if bundled:
            if not self._samples:
                self._sampled = time.monotonic()
            self._samples.append((route.topic, copy))
        if route.pictures:
            self._pictures[route] = copy
        elif route.far:
            self._leaving.append((route.write, copy))

    @property
    def has_undelivered(self) -> bool:
        return bool(self._waiting)

    def when_idle(self, work: Callable[[], object]) -> None:
        """Calls a function at once in lockstep; in realtime when no message waits, one between two messages."""
        if self._newest:
            self._later.append(work)
        else:
            work()

    def deliver(self) -> bool:
        """Delivers messages to nodes, sends some, or calls a waiting function; returns False if none waits."""
        if self._pictures and not (self._newest and self._waiting) and time.monotonic() >= self._pictures_due:
            self._send_pictures()
        elif len(self._samples) > _SENT_TOGETHER and not self._newest:
            self._send_samples()
        elif self._waiting and len(self._leaving) + len(self._samples) <= _MAX_WAITING:
            self._deliver_in_a_row()
        elif self._leaving:
            publish, message = self._leaving.popleft()
            publish(message)
        elif self._samples and self._is_due():
            self._send_bundle()
        elif self._later and self._posted:
            self._posted = False
            self._later.popleft()()
        else:
            return False
        return True

    def _is_due(self) -> bool:
        """Returns whether a bundle of the samples is to be sent: they are enough, or have waited for long enough."""
        return len(self._samples) >= self._fewest_bundled or time.monotonic() >= self._sampled + _BUNDLED_FOR

    def _deliver_in_a_row(self) -> None:
        waiting = self._waiting
        for _ in range(_IN_A_ROW):
            entry = waiting.popleft()
            callback, message = entry
            entry[0] = _drop
            callback(message)
            if not waiting:
                return

    def _send_pictures(self) -> None:
        """Sends the newest messages to display readers: in lockstep at once, in realtime one between two others."""
        self._pictures_due = time.monotonic() + 1.0 / _PICTURES
        newest = [(route.write, message) for route, message in self._pictures.items()]
        self._pictures.clear()
        if self._newest:
            self._leaving.extend(newest)
            return
        for send, message in newest:
            send(message)

    def sends_bundles(self) -> bool:
        """Returns whether a recorder receives the messages of the nodes in bundles."""
        return self.bundle is not None and self._looked_up(self.bundle).far

    def _send_bundle(self) -> None:
        assert self.bundle is not None
        samples: list[tuple[str, bytes]] = []
        size = 0
        while self._samples and len(samples) < _BUNDLED and size < _BUNDLE_SIZE:
            topic, message = self._samples.popleft()
            data = self._encoded(message)
            samples.append((topic, data))
            size += len(data)
        write(self.bundle, encode_bundle(samples))

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
        self._send_samples()

    def _send_samples(self) -> None:
        """Sends all samples for the recorder."""
        while self._samples:
            self._send_bundle()

    def executor(self, executor: Executor) -> LocalExecutor:
        return LocalExecutor(executor, self)


def _drop(message: Any) -> None:
    """Receives a message that is dropped."""


class LocalExecutor:
    """An executor that first delivers the messages between nodes of this process.

    Args:
        executor: executor of all other callbacks.
        topics: transport of the process.
    """

    def __init__(self, executor: Executor, topics: LocalTopics) -> None:
        self._executor, self._topics = executor, topics
        self._served = time.monotonic()

    def spin_once(self, timeout_sec: float | None = None) -> None:
        """Delivers local messages; without any it waits for the middleware."""
        if self._topics.deliver():
            if time.monotonic() - self._served < _SERVE_EVERY:
                return
            timeout_sec = 0.0
        self._executor.spin_once(timeout_sec=timeout_sec)
        self._served = time.monotonic()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._executor, name)
