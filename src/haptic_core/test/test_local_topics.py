"""Topics between nodes that share a process: copies, order, and when a message is sent to other processes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from rclpy.duration import Duration
from rclpy.serialization import deserialize_message

from haptic_core.cdr import decode_bundle, encoder
from haptic_core.qos import ACKNOWLEDGEMENT_TIMEOUT
from haptic_core.start.matching import unmatched, unrecorded
from haptic_core.transport import local_topics
from haptic_core.transport.local_topics import LocalExecutor, LocalTopics
from haptic_core.transport.message_copies import copy_message
from haptic_msgs.msg import (
    BodyStates,
    ConstrainedReference,
    ContactArray,
    ContactPlanes,
    DeviceCommand,
    DeviceState,
    FrictionState,
    PassivityState,
    SimulationState,
    SolverStatistics,
    WallState,
)


def filled(kind: type) -> Any:
    message = kind(tick=7)
    message.header.frame_id, message.header.stamp.sec = "base", 3
    if kind is DeviceState:
        message.joint_position, message.tool_pose.position.x = [1.0, 2.0], 0.5
    if kind is WallState:
        message.push, message.in_contact = [1.0, 2.0], [True, False]
    if kind is ContactArray:
        message.body_a, message.sticking = [1, 2], [True, True]
    return message


@pytest.mark.parametrize(
    "kind",
    [
        *(DeviceState, DeviceCommand, SimulationState, FrictionState, ConstrainedReference, PassivityState),
        *(WallState, ContactArray, ContactPlanes, BodyStates, SolverStatistics),
    ],
)
def test_a_copy_is_equal_and_its_own(kind: type) -> None:
    message = filled(kind)
    copy, serialised = copy_message(message), encoder(kind)
    assert copy == message and serialised(copy) == serialised(message)
    before = serialised(copy)
    message.tick, message.header.frame_id = 8, "other"
    for name in ("joint_position", "push", "in_contact", "sticking", "position"):
        if len(getattr(message, name, ())):
            getattr(message, name)[0] = False if name in ("in_contact", "sticking") else 9.0
    if kind is DeviceState:
        message.tool_pose.position.x = 9.0
    assert serialised(copy) == before


class Publisher:
    """A publisher with so many subscriptions outside the process."""

    def __init__(self, topic: str, far: int = 0) -> None:
        self.topic_name, self.far, self.sent = topic, far, list[Any]()
        self.waits, self.taken = list[float](), True

    def get_subscription_count(self) -> int:
        return self.far

    def publish(self, message: Any) -> None:
        self.sent.append(message)

    def wait_for_all_acked(self, timeout: Duration) -> bool:
        self.waits.append(timeout.nanoseconds * 1e-9)
        return self.taken


def deliver_all(topics: LocalTopics) -> None:
    while topics.deliver():
        pass


def test_messages_come_in_order_to_all_listeners_and_later() -> None:
    topics, came = LocalTopics(()), []
    a, b = Publisher("/a"), Publisher("/b")
    topics.listen("/a", "one", lambda m: came.append(("one", m.tick)))
    leave = topics.listen("/a", "two", lambda m: came.append(("two", m.tick)))
    message = WallState(tick=1)
    topics.publish(a, message)
    message.tick = 2
    topics.publish(a, message)
    topics.publish(b, message)
    assert came == [] and topics.local_subscribers("/a") == ["one", "two"]
    deliver_all(topics)
    assert came == [("one", 1), ("two", 1), ("one", 2), ("two", 2)]
    leave()
    topics.publish(a, message)
    assert topics.deliver() and not topics.deliver() and came[-1] == ("one", 2)


def test_calls_for_idle_time_run_one_a_tick_when_the_nodes_are_idle_in_realtime() -> None:
    topics, done = LocalTopics((), newest=True), []
    topics.listen("/a", "one", lambda m: done.append(m.tick))
    for name in ("first", "second"):
        topics.when_idle(lambda name=name: done.append(name))
    assert not topics.deliver()  # no tick yet
    for tick in (1, 2):
        topics.publish(Publisher("/a"), WallState(tick=tick))
        deliver_all(topics)
    assert done == [1, "first", 2, "second"]
    LocalTopics(()).when_idle(lambda: done.append("lockstep"))
    assert done[-1] == "lockstep"


@pytest.mark.parametrize("newest", [False, True])
def test_a_few_are_delivered_in_a_row(newest: bool) -> None:
    """Also what a node answers: each of these makes the next one."""
    topics, came, a = LocalTopics((), newest=newest), [], Publisher("/a")
    topics.listen("/a", "one", lambda m: (came.append(m.tick), topics.publish(a, WallState(tick=m.tick + 1))))
    topics.publish(a, WallState(tick=1))
    assert topics.deliver() and came == [1, 2, 3, 4, 5, 6, 7, 8]


def test_late_message_is_replaced_by_the_next_of_its_publisher_in_realtime(monkeypatch) -> None:
    monkeypatch.setattr(local_topics, "_IN_A_ROW", 1)
    topics, came = LocalTopics((), newest=True), []
    a, other = Publisher("/a"), Publisher("/a")
    for name in ("one", "two"):
        topics.listen("/a", name, lambda m, name=name: came.append((name, m.tick)))
    topics.publish(a, WallState(tick=1))
    topics.publish(other, WallState(tick=1))
    assert topics.deliver() and came == [("one", 1)]
    topics.publish(a, WallState(tick=2))  # "two" has not had a's tick 1 yet
    deliver_all(topics)
    assert came[1:] == [("one", 1), ("two", 1), ("one", 2), ("two", 2)]


def test_other_processes_wait_until_the_nodes_are_quiet_but_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_topics, "_MAX_WAITING", 3)
    topics, order = LocalTopics(()), []
    a = Publisher("/a", far=1)
    a.publish = lambda m: order.append(f"far {m.tick}")
    topics.listen("/a", "one", lambda m: order.append(f"near {m.tick}"))
    for tick in range(3):
        topics.publish(a, WallState(tick=tick))
    deliver_all(topics)
    assert order == ["near 0", "near 1", "near 2", "far 0", "far 1", "far 2"]
    order.clear()
    for tick in range(5):
        topics.publish(a, WallState(tick=tick))
    deliver_all(topics)
    assert order[:2] == ["far 0", "far 1"] and order[2] == "near 0"
    topics.publish(a, WallState(tick=9))
    topics.flush()
    assert order[-1] == "far 9"


def test_external_subscribers_are_counted_periodically(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_topics, "_LOOK_EVERY", 3)
    topics, a = LocalTopics(()), Publisher("/a")
    topics.publish(a, WallState(tick=0))
    a.far = 1
    for tick in range(1, 4):
        topics.publish(a, WallState(tick=tick))
    deliver_all(topics)
    assert [m.tick for m in a.sent] == [3]
    a.far = 0
    topics.refresh()
    topics.publish(a, WallState(tick=4))
    assert not topics.deliver()


@pytest.mark.parametrize("newest", [False, True])
def test_picture_makers_get_the_newest_message_periodically(monkeypatch: pytest.MonkeyPatch, newest: bool) -> None:
    now = [10.0]
    monkeypatch.setattr(local_topics, "time", SimpleNamespace(monotonic=lambda: now[0]))
    topics, a, near = LocalTopics((), newest=newest), Publisher("/a", far=1), list[int]()
    topics.names_of = {"/a": ["viewer_pictures"]}.__getitem__
    topics.listen("/a", "one", lambda m: near.append(m.tick))
    message = WallState()

    def ticks(first: int, last: int) -> list[int]:
        a.sent.clear()
        for message.tick in range(first, last + 1):
            topics.publish(a, message)
            deliver_all(topics)
        return [m.tick for m in a.sent]

    assert ticks(0, 4) == [0]  # the first picture; from then on it is not time
    now[0] += 1.01 / local_topics._PICTURES
    deliver_all(topics)
    assert [m.tick for m in a.sent] == [0, 4]  # nothing older than a picture, also where no tick follows
    assert ticks(5, 9) == []
    topics.flush()
    assert [m.tick for m in a.sent] == [9]
    assert near == list(range(10))


def test_another_reader_of_the_topic_of_a_picture_gets_each_message(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [10.0]
    monkeypatch.setattr(local_topics, "time", SimpleNamespace(monotonic=lambda: now[0]))
    topics, a, names = LocalTopics(()), Publisher("/a", far=1), [local_topics._UNNAMED]
    topics.names_of = lambda topic: names

    def ticks() -> list[int]:
        a.sent.clear()
        topics.refresh()
        for tick in range(3):
            topics.publish(a, WallState(tick=tick))
            deliver_all(topics)
        return [m.tick for m in a.sent]

    assert ticks() == [0, 1, 2]  # not known yet
    names[:] = ["viewer_pictures"]
    assert ticks() == [0]
    names.append("logger")
    a.far = 2
    assert ticks() == [0, 1, 2]
    names.remove("logger")
    a.far = 1
    assert ticks() == []
    names[:] = ["logger"]  # as many as before
    assert ticks() == []
    topics.flush()
    now[0] += 2.0
    assert ticks() == [0, 1, 2]


def test_the_executor_serves_the_middleware_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_topics, "_IN_A_ROW", 1)
    now, waits = [10.0], list[float | None]()
    monkeypatch.setattr(local_topics, "time", SimpleNamespace(monotonic=lambda: now[0]))
    inner: Any = SimpleNamespace(spin_once=lambda timeout_sec: waits.append(timeout_sec), context="its own")
    topics, a = LocalTopics(()), Publisher("/a")
    executor = LocalExecutor(inner, topics)
    topics.listen("/a", "one", lambda m: None)
    for _ in range(9):
        topics.publish(a, WallState())
    for _ in range(9):
        now[0] += 0.26 * local_topics._SERVE_EVERY
        executor.spin_once(timeout_sec=1.0)
    assert waits == [0.0, 0.0]  # after the fourth and the eighth
    executor.spin_once(timeout_sec=0.5)
    assert waits[2:] == [0.5] and executor.context == "its own"


def test_recorded_messages_leave_in_one_bundle_when_the_nodes_are_idle() -> None:
    topics, order = LocalTopics(()), []
    a, b, bundle = Publisher("/a"), Publisher("/b"), Publisher("/tau/tick_bundle", far=1)
    topics.bundle = bundle  # type: ignore[assignment]
    assert topics.has_subscribers(b)  # by the recorder
    topics.listen("/a", "one", lambda m: order.append((m.tick, len(bundle.sent))))
    message = WallState(tick=1)
    topics.publish(a, message)
    message.tick = 2
    topics.publish(b, message)
    deliver_all(topics)
    assert order == [(1, 0)]
    (data,) = bundle.sent
    samples = [(topic, deserialize_message(sample, WallState).tick) for topic, sample in decode_bundle(data)]
    assert samples == [("/a", 1), ("/b", 2)]
    topics.publish(b, message)
    topics.flush()
    assert len(bundle.sent) == 2 and not topics.deliver()
    bundle.far = 0
    topics.refresh()
    topics.publish(b, message)
    assert not topics.deliver() and not topics.has_subscribers(b)


def test_a_realtime_bundle_has_the_messages_of_some_ticks_and_a_limited_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_topics, "_FEWEST_BUNDLED", 3)
    now = [10.0]
    monkeypatch.setattr(local_topics, "time", SimpleNamespace(monotonic=lambda: now[0]))
    topics, bundle, a = LocalTopics((), newest=True), Publisher("/tau/tick_bundle", far=1), Publisher("/a")
    topics.bundle = bundle  # type: ignore[assignment]
    for tick in (1, 2):
        topics.publish(a, WallState(tick=tick))
    assert not topics.deliver() and not bundle.sent
    topics.publish(a, WallState(tick=3))
    deliver_all(topics)
    assert [len(list(decode_bundle(data))) for data in bundle.sent] == [3]
    topics.publish(a, WallState(tick=4))
    assert not topics.deliver()
    now[0] += local_topics._BUNDLED_FOR
    deliver_all(topics)
    assert [len(list(decode_bundle(data))) for data in bundle.sent] == [3, 1]
    monkeypatch.setattr(local_topics, "_BUNDLE_SIZE", 2 * len(encoder(WallState)(WallState())))
    for tick in range(5, 10):
        topics.publish(a, WallState(tick=tick))
    topics.flush()
    assert [len(list(decode_bundle(data))) for data in bundle.sent[2:]] == [2, 2, 1]


def test_a_process_that_sends_bundles_waits_for_the_recorder_there() -> None:
    topics = LocalTopics(())
    publisher: Any = SimpleNamespace(topic_name="/b", get_subscription_count=lambda: 0)
    bundle: Any = SimpleNamespace(topic_name="/tau/tick_bundle", get_subscription_count=lambda: 1)
    known = {"/tau/tick_bundle": "recorder"}
    node: Any = SimpleNamespace(
        get_subscriptions_info_by_topic=lambda topic: [SimpleNamespace(node_name=known.get(topic))],
        transport=topics,
    )
    assert unrecorded(node, [publisher]) == ["recorder of /b"]
    topics.bundle = bundle
    assert unrecorded(node, [publisher]) == []
    known.clear()
    assert unrecorded(node, [publisher]) == ["recorder of /tau/tick_bundle"]


def test_listeners_of_this_process_need_not_be_matched() -> None:
    topics = LocalTopics(())
    topics.listen("/tau/wall/state", "friction", lambda m: None)
    publisher: Any = SimpleNamespace(topic_name="/tau/wall/state", get_subscription_count=lambda: 0)
    node: Any = SimpleNamespace(transport=topics)
    assert unmatched(node, publisher, ["friction"]) == []
    assert unmatched(node, publisher, ["friction", "recorder"]) == ["recorder"]


def test_the_end_waits_for_the_recorder_of_the_bundles_and_gives_a_dead_one_up() -> None:
    topics, states, bundle = LocalTopics(["device"]), Publisher("/states"), Publisher("/bundle", far=1)
    topics.bundle = bundle
    topics.publish(states, filled(DeviceState))
    topics.wait_until_taken([states])
    assert len(bundle.sent) == 1 and all(0.0 < one.waits[0] <= ACKNOWLEDGEMENT_TIMEOUT for one in (states, bundle))
    bundle.taken = False
    for _ in range(2):
        topics.wait_until_taken([states])
    assert bundle.waits[1] > 0.0 == bundle.waits[2]


def test_samples_of_a_recorder_that_has_gone_are_dropped() -> None:
    topics, bundle, a = LocalTopics((), newest=True), Publisher("/tau/tick_bundle", far=1), Publisher("/a")
    topics.bundle = bundle  # type: ignore[assignment]
    topics.publish(a, WallState(tick=1))
    for count, tick in ((0, 2), (1, 3)):
        bundle.far = count
        topics.refresh()
        topics.publish(a, WallState(tick=tick))
    topics.flush()
    (data,) = bundle.sent
    assert len(list(decode_bundle(data))) == 1  # the third
