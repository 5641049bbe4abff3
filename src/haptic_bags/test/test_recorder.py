"""The recorder: the log of ticks, stamp and tick read from serialised messages, its end."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.serialization import serialize_message

from haptic_bags import recorder
from haptic_bags.bags import Bag
from haptic_bags.recorder import Recorder, TickLog, stamp_of, tick_of
from haptic_core.events import make_event
from haptic_core.qos import EVENT_DEPTH, latched_qos, tick_publisher_qos
from haptic_msgs.msg import DeviceCommand, DeviceState, FrictionState, SimulationState, TickEvent


def test_tick_log_counts_gaps_and_repeats() -> None:
    log = TickLog()
    assert log.missing_until(2) == [(0, 2)]
    for tick in (1, 2, 2, 5, 4):
        log.add(tick)
    assert log.gaps == [(0, 0), (3, 4)] and log.repeated == 2 and log.last == 5
    assert log.missing_until(5) == [(0, 0), (3, 4)]
    assert log.missing_until(7) == [(0, 0), (3, 4), (6, 7)]


def test_a_tick_of_several_writers_has_come_when_all_have_written() -> None:
    log = TickLog(writers=2)
    for tick in (0, 1, 0, 1, 2, 3, 3):
        log.add(tick)
    assert log.last == 3 and log.repeated == 0
    assert log.missing_until(3) == [(2, 2)]
    log.add(3)
    assert log.repeated == 1


@pytest.mark.parametrize("length", range(18))
@pytest.mark.parametrize("kind", [DeviceState, SimulationState, DeviceCommand, FrictionState, TickEvent])
def test_stamp_and_tick_are_found_whatever_the_frame_id(kind: type, length: int) -> None:
    message = kind(tick=2**63 + 12345)
    message.header.frame_id = "abcdefghijklmnopq"[:length]
    message.header.stamp.sec, message.header.stamp.nanosec = 2_000_000_000, 999_999_999
    data = bytes(serialize_message(message))
    assert stamp_of(data) == 2_000_000_000_999_999_999
    assert tick_of(data) == 2**63 + 12345


def test_a_lifecycle_manager_starts_the_recorder_and_ends_its_bag(
    context: Context, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The node ended in a traceback before it was configured, and went on recording after its cleanup."""
    spins = iter([False, False, True])
    monkeypatch.setattr(recorder, "stop_requested", lambda: next(spins, True))
    overrides = [Parameter("output", value=str(tmp_path / "bag")), Parameter("autostart", value=False)]
    node = Recorder(context=context, parameter_overrides=overrides)
    try:
        executor = SingleThreadedExecutor(context=context)
        executor.add_node(node)
        node.start()
        node.spin(executor)
        assert node.exit_code == 0 and not (tmp_path / "bag").exists()
        before = len(list(node.subscriptions))
        node.trigger_configure()
        assert len(list(node.subscriptions)) > before
        node.trigger_cleanup()
        assert len(list(node.subscriptions)) == before
        Bag(tmp_path / "bag")
        node.spin(executor)
    finally:
        node.destroy_node()


@pytest.mark.parametrize("ends_by", ["_SILENCE", "_DRAIN_TIMEOUT"])
def test_the_bag_is_finished_although_a_killed_publisher_is_still_known(
    ends_by: str, context: Context, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A publisher that is never taken down stands for one that was killed; or it goes on and on."""
    for name in ("_SILENCE", "_DRAIN_TIMEOUT"):
        monkeypatch.setattr(recorder, name, 0.3 if name == ends_by else 1e9)
    monkeypatch.setattr(recorder, "stop_requested", lambda: True)
    overrides = [Parameter("output", value=str(tmp_path / "bag"))]
    node = Recorder(context=context, parameter_overrides=overrides)
    other = Node("device", context=context, namespace="joystick")
    try:
        publisher = other.create_publisher(DeviceState, "device_state", tick_publisher_qos("realtime"))
        node.start()
        executor = SingleThreadedExecutor(context=context)
        executor.add_node(node)
        if ends_by == "_DRAIN_TIMEOUT":
            executor.add_node(other)
            other.create_timer(0.001, lambda: publisher.publish(DeviceState()))
        node.spin(executor)
        assert other.count_publishers("/joystick/device_state") == 1
        Bag(tmp_path / "bag")  # it has its index
        assert node.exit_code == (ends_by == "_DRAIN_TIMEOUT")  # what came later is missing
    finally:
        for made in (node, other):
            made.destroy_node()


def test_ticks_that_the_device_tells_of_and_that_did_not_come_are_missing(
    context: Context, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The end of a run that a recorder was too slow for: no later tick shows the gap."""
    monkeypatch.setattr(recorder, "_SILENCE", 0.1)
    overrides = [Parameter("output", value=str(tmp_path / "bag")), Parameter("mode", value="realtime")]
    node = Recorder(context=context, parameter_overrides=overrides)
    other = Node("device", context=context, namespace="joystick")
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    try:
        states = other.create_publisher(DeviceState, "device_state", tick_publisher_qos("realtime"))
        events = other.create_publisher(TickEvent, "tick_event", latched_qos(EVENT_DEPTH))
        node.start()
        while not (states.get_subscription_count() and events.get_subscription_count()):
            executor.spin_once(timeout_sec=0.1)
        for tick in range(3):
            states.publish(DeviceState(tick=tick))
        events.publish(make_event("device", "state", {"state": "inactive", "ticks": 5, "missed": 0}, tick=4))
        monkeypatch.setattr(recorder, "stop_requested", lambda: node._messages == 4)
        node.spin(executor)
        assert node.exit_code == 1
        assert "/joystick/device_state lacks ticks 3-4" in capfd.readouterr().err
    finally:
        for made in (node, other):
            made.destroy_node()


@pytest.mark.parametrize(
    ("namespace", "pushed"),
    [("/", ""), ("/robot", "/robot"), ("/lab/robot", "/lab/robot"), ("/joystick", ""), ("/robot/joystick", "/robot")],
)
def test_namespace_around_an_experiment_is_not_that_of_its_device(namespace: str, pushed: str) -> None:
    assert recorder.pushed_namespace(namespace, "/joystick/device_state") == pushed


def test_bag_of_a_run_in_a_pushed_namespace_has_the_topics_of_the_experiment(
    context: Context, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`push_ros_namespace` of ROS 2's launch puts a namespace before those of recorder and device."""
    overrides = [Parameter("output", value=str(tmp_path / "bag")), Parameter("mode", value="realtime")]
    node = Recorder(context=context, parameter_overrides=overrides, namespace="robot")
    other = Node("device", context=context, namespace="robot/joystick")
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    try:
        states = other.create_publisher(DeviceState, "device_state", tick_publisher_qos("realtime"))
        node.start()
        assert {topic.topic_name for topic in node._topics} >= {states.topic_name}
        while not states.get_subscription_count():
            executor.spin_once(timeout_sec=0.1)
        states.publish(DeviceState())
        while not node._messages:
            executor.spin_once(timeout_sec=0.1)
        monkeypatch.setattr(recorder, "_SILENCE", 0.1)
        monkeypatch.setattr(recorder, "stop_requested", lambda: True)
        node.spin(executor)
        assert list(Bag(tmp_path / "bag").topics) == ["/joystick/device_state"]
    finally:
        for made in (node, other):
            made.destroy_node()


def test_waiting_messages_are_recorded_when_the_last_publisher_leaves(
    context: Context, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A recorder on a busy machine is asked to stop while messages wait; callbacks of other kinds come between them."""
    monkeypatch.setattr(recorder, "stop_requested", lambda: True)
    overrides = [Parameter("output", value=str(tmp_path / "bag")), Parameter("mode", value="realtime")]
    node = Recorder(context=context, parameter_overrides=overrides)
    other = Node("device", context=context, namespace="joystick")
    executor = SingleThreadedExecutor(context=context)
    try:
        states = other.create_publisher(DeviceState, "device_state", tick_publisher_qos("realtime"))
        events = other.create_publisher(TickEvent, "tick_event", latched_qos(EVENT_DEPTH))
        node.start()
        while not (states.get_subscription_count() and events.get_subscription_count()):
            time.sleep(0.01)
        for tick in range(300):
            states.publish(DeviceState(tick=tick))
        events.publish(make_event("device", "state", {"state": "inactive", "ticks": 300, "missed": 0}, tick=299))
        assert states.wait_for_all_acked() and events.wait_for_all_acked()
        other.destroy_node()
        executor.add_node(node)
        node.create_timer(1e-9, lambda: None)  # always due: the executor serves it before any message
        node.spin(executor)
        assert node.exit_code == 0
        (states_of_bag,) = (columns for topic, columns in Bag(tmp_path / "bag").topics.items() if "state" in topic)
        assert len(states_of_bag["tick"]) == 300
    finally:
        node.destroy_node()
