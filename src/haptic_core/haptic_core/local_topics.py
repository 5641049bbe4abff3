"""Tick topics between nodes of one process: copies of messages are handed over in order, past the middleware.

A message that goes through DDS and back costs some 100 us of processor time, and nodes of a composed process (see
`composition`) pass a dozen in a tick. Here they share a queue. Who takes a message gets a copy of what it was when it
was published, which he must not change; it is delivered later, by the executor, never from within the publisher's call.
So nodes see of one another what they would see in processes of their own. Other processes get it through DDS when the
nodes have nothing to tell each other: the answers to a tick do not wait for that. What the recorder takes travels there
in one message, a TickBundle, since a message costs 35 to 50 us to send, and 5 to 10 us to serialise.
"""

from __future__ import annotations

import time
from array import array
from collections import deque
from collections.abc import Callable, Collection
from functools import partial
from typing import Any

from rclpy.executors import Executor
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.publisher import Publisher

from haptic_core.cdr import encode_bundle, encoder
from haptic_core.errors import HapticError

Callback = Callable[[Any], None]

RCLError = rclpy_implementation.RCLError

#: how long a full history of a tick topic is waited for [s]
WRITE_TIMEOUT = 30.0

#: between two attempts to write [s]
_WRITE_PAUSE = 2e-4

#: deliveries after which the middleware is served, too, although more is waiting
_AT_ONCE = 64

#: messages to nodes that are delivered in a row in realtime, where going round the device's loop costs 3 us
_IN_A_ROW = 8

#: a topic's messages between two questions whether other processes take them
_LOOK_EVERY = 32

#: samples in a bundle at most: about a tick's, so that after ticks that took long none waits for a large one
_BUNDLED = 12

#: messages to other processes that wait for the nodes to be quiet, at most; in lockstep they never are
_HELD_BACK = 2000


def snapshot(message: Any) -> Any:
    """A copy of a message that later changes of it do not reach."""
    kind = type(message)
    copy = _copiers.get(kind)
    if copy is None:
        copy = _copiers[kind] = _copier(message)
    return copy(message)


_copiers: dict[type, Callable[[Any], Any]] = {}


def _copier(message: Any) -> Callable[[Any], Any]:
    """A function that copies messages of this class slot by slot, written out: a loop takes three times as long."""
    kinds: list[type] = []
    lines = ["def copy(m0):"]

    def add(message: Any, source: str, target: str) -> None:
        kinds.append(type(message))
        lines.append(f"    {target} = new(kinds[{len(kinds) - 1}])")
        for slot in type(message).__slots__:
            value = getattr(message, slot, None)
            if hasattr(value, "get_fields_and_field_types"):
                inner = f"{len(kinds)}"
                lines.append(f"    m{inner} = {source}.{slot}")
                add(value, f"m{inner}", f"c{inner}")
                lines.append(f"    {target}.{slot} = c{inner}")
            elif hasattr(message, slot):
                whole = "[:]" if isinstance(value, (array, list)) else ""
                lines.append(f"    {target}.{slot} = {source}.{slot}{whole}")

    add(message, "m0", "c0")
    lines.append("    return c0")
    names: dict[str, Any] = {"new": object.__new__, "kinds": tuple(kinds)}
    exec("\n".join(lines), names)  # of nothing but the names of a message's slots
    return names["copy"]  # type: ignore[no-any-return]


class _Route:
    """Where the messages of a publisher go.

    Attributes:
        topic: full name.
        far: somebody outside this process takes them.
        write: sends them there.
        waiting: by the listeners' callbacks, what was last put on its way, as in `LocalTopics._waiting`.
    """

    __slots__ = ("far", "looks", "publisher", "topic", "waiting", "write")

    def __init__(self, publisher: Publisher) -> None:
        self.topic, self.publisher = publisher.topic_name, publisher
        self.write: Callback = partial(write, publisher)
        self.waiting: dict[Callback, list[Any]] = {}
        self.far, self.looks = False, 0

    def look(self) -> None:
        """Asks now and then: it costs a microsecond."""
        if self.looks == 0:
            self.far, self.looks = bool(self.publisher.get_subscription_count()), _LOOK_EVERY
        self.looks -= 1


class LocalTopics:
    """Listeners by topic, and the messages that are on their way to them.

    Args:
        nodes: names of the nodes of this process; what others publish comes through DDS.
        newest: for realtime. A message that is still on its way when the next one of its publisher comes is left out:
            what is late must not make the next tick late, too. Work that no tick needs waits (see `later`).

    Attributes:
        bundle: publisher of TickBundles; None: there is no recorder that takes them.
    """

    def __init__(self, nodes: Collection[str], *, newest: bool = False) -> None:
        self.nodes = frozenset(nodes)
        self._newest = newest
        self._routes: dict[Publisher, _Route] = {}
        self.bundle: Publisher | None = None
        self._samples: list[tuple[str, Any]] = []
        self._encoders: dict[type, Callable[[Any], bytes]] = {}
        self._listeners: dict[str, list[tuple[str, Callback]]] = {}
        self._waiting: deque[list[Any]] = deque()
        self._leaving: deque[tuple[Callback, Any]] = deque()
        self._later: deque[Callable[[], object]] = deque()
        self._posted = False

    def listen(self, topic: str, node: str, callback: Callback) -> Callable[[], None]:
        """From now on a node takes the messages of a topic; returns what ends that."""
        entry = (node, callback)
        self._listeners.setdefault(topic, []).append(entry)
        return lambda: self._listeners[topic].remove(entry)

    def listeners(self, topic: str) -> list[str]:
        """Names of the nodes that take a topic."""
        return [node for node, _ in self._listeners.get(topic, ())]

    def look_again(self) -> None:
        """Asks anew, before the next messages, who takes them."""
        for route in self._routes.values():
            route.looks = 0

    def post(self, publisher: Publisher, message: Any) -> None:
        """Puts a copy of a message on its way: to all listeners, to the recorder, to whoever else takes the topic."""
        route = self._routes.get(publisher)
        if route is None:
            route = self._routes[publisher] = _Route(publisher)
        route.look()
        listeners, bundled = self._listeners.get(route.topic, ()), self.bundled()
        if not (listeners or bundled or route.far):
            return
        self._posted = True
        copy = snapshot(message)
        for _, callback in listeners:
            entry = [callback, copy]
            if self._newest:
                before = route.waiting.get(callback)
                if before is not None:
                    before[0] = _nobody
                route.waiting[callback] = entry
            self._waiting.append(entry)
        if bundled:
            self._samples.append((route.topic, copy))
        if route.far:
            self._leaving.append((route.write, copy))

    @property
    def under_way(self) -> bool:
        """A node has not yet been given what another one told it."""
        return bool(self._waiting)

    def later(self, work: Callable[[], object]) -> None:
        """Has something done when the nodes have nothing to tell each other, once between two messages.

        In lockstep, where they always have, at once.
        """
        if self._newest:
            self._later.append(work)
        else:
            work()

    def deliver(self) -> bool:
        """Delivers messages to nodes, publishes one, or does what waits; False if there is nothing to do."""
        held_back = len(self._leaving) + len(self._samples)
        if self._waiting and held_back <= _HELD_BACK:
            for _ in range(_IN_A_ROW if self._newest else 1):
                entry = self._waiting.popleft()
                callback, entry[0] = entry[0], _nobody
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

    def bundled(self) -> bool:
        """A recorder takes what the nodes publish in bundles."""
        if self.bundle is None:
            return False
        route = self._routes.get(self.bundle)
        if route is None:
            route = self._routes[self.bundle] = _Route(self.bundle)
        route.look()
        return route.far

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
        """Publishes all that is held back."""
        while self._leaving:
            publish, message = self._leaving.popleft()
            publish(message)
        while self._samples:
            self._send_bundle()


def _nobody(message: Any) -> None:
    """Takes what is left out."""


def write(publisher: Publisher, message: Any) -> None:
    """Publishes on a tick topic; waits for a reader that has fallen behind.

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
            time.sleep(_WRITE_PAUSE)  # the subscriber may need this core


class LocalExecutor:
    """An executor that first delivers what the nodes of this process tell each other.

    Args:
        executor: for everything else.
        topics: of the process.
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


#: of this process; None: every node has a process of its own
shared: LocalTopics | None = None


def share(nodes: Collection[str], *, newest: bool = False) -> None:
    """From now on the nodes of these names, made in this process, hand their tick topics over to each other."""
    global shared
    shared = LocalTopics(nodes, newest=newest)


def bundle() -> Publisher | None:
    """Publisher of the bundles in which this process sends its tick topics to the recorder, if it does."""
    return shared.bundle if shared is not None else None


def is_heard(publisher: Publisher) -> bool:
    """Somebody takes what a publisher of ticks sends."""
    if shared is not None and (shared.listeners(publisher.topic_name) or shared.bundled()):
        return True
    return bool(publisher.get_subscription_count())


def when_quiet(work: Callable[[], object]) -> None:
    """Does something that no tick needs: at once, or where the nodes of a realtime run share a process, `later`."""
    if shared is None:
        work()
    else:
        shared.later(work)


def under_way() -> bool:
    """A node of this process has not yet been given what another one told it."""
    return shared is not None and shared.under_way


def listeners(topic: str) -> list[str]:
    """Names of the nodes of this process that take a topic past the middleware."""
    return shared.listeners(topic) if shared is not None else []
