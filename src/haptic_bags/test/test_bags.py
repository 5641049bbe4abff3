"""Bags: what the recorder writes, `Bag` and the mcap package read; what is missing is reported."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import yaml
from ament_index_python.packages import get_package_share_directory
from mcap.reader import make_reader
from rclpy.serialization import serialize_message

from haptic_bags.bags import Bag, typestore
from haptic_bags.recorder import Recorder
from haptic_bags.ticks import Rows
from haptic_core.errors import HapticError
from haptic_core.events import fill_event
from haptic_core.messages import set_stamp
from haptic_msgs.msg import DeviceCommand, DeviceState, FrictionState, SimulationState, TickEvent

TOPICS = {
    "/joystick/device_state": DeviceState,
    "/joystick/simulation_state": SimulationState,
    "/joystick/device_command": DeviceCommand,
    "/joystick/friction/state": FrictionState,
}
EVENTS = "/joystick/tick_event"
TICKS = 5
PERIOD_NS = 1_000_000


def wire(message: Any) -> bytes:
    """A message as a reader gets it: rclpy.serialization leaves spare bytes behind its end, which go here."""
    data = bytes(serialize_message(message))
    definition = typestore().get_msgdef(f"haptic_msgs/msg/{type(message).__name__}")
    _, length = definition.deserialize_cdr_le(data[4:], 0, definition.cls, typestore())
    return data[: 4 + length]


class OfflineRecorder(Recorder):
    """The recorder without ROS: `receive` delivers a message in the place of a subscription."""

    def __init__(self, output: Path, mode: str = "lockstep", replay_of: str = "") -> None:
        self.parameters = {"experiment": "friction_impedance", "mode": mode}
        self.parameters |= {"output": str(output), "replay_of": replay_of, "layout": "processes"}
        self.callbacks: dict[str, Callable[[bytes], None]] = {}
        self.errors: list[str] = []
        self.configure()

    def create_subscription(self, kind: type, topic: str, callback: Any, qos: Any, *, raw: bool) -> None:
        assert raw
        self.callbacks[topic] = callback

    def get_namespace(self) -> str:
        return "/"

    def get_logger(self) -> Any:
        return SimpleNamespace(info=lambda text: None)

    def fail(self, message: str) -> None:
        self.errors.append(message)

    def receive(self, topic: str, message: Any) -> None:
        self.callbacks[topic](wire(message))


def stamped(kind: type, tick: int, /, **fields: Any) -> Any:
    message = kind(tick=tick, **fields)
    set_stamp(message.header, tick * PERIOD_NS)
    message.header.frame_id = "base"
    return message


def event(tick: int, source: str, kind: str, **detail: Any) -> TickEvent:
    message = stamped(TickEvent, tick, source=source)
    fill_event(message, kind, detail)
    return message


def record_run(recorder: OfflineRecorder) -> None:
    """Delivers a short run: the friction node becomes active, every topic has every tick, one parameter changes."""
    deliver = recorder.receive
    deliver(EVENTS, event(0, "friction", "state", state="active", parameters={"stiffness": 6000.0}))
    for k in range(TICKS):
        device = stamped(DeviceState, k, period=1e-3, joint_position=[0.1 * k, -0.1 * k])
        device.tool_pose.position.x, device.tool_pose.orientation.w = 0.01 * k, 1.0
        device.tool_twist.angular.z = 2.0 * k
        device.tool_wrench.force.y = 3.0 * k
        deliver("/joystick/device_state", device)
        deliver("/joystick/simulation_state", stamped(SimulationState, k, applied_effort=[1.0] * (1 + k % 2)))
        deliver(
            "/joystick/device_command", stamped(DeviceCommand, k, source="friction", mode=DeviceCommand.MODE_WRENCH)
        )
        friction = stamped(FrictionState, k, model="C", force=[4.0, 0.0], sticking=[k % 2 == 0], dissipated_energy=0.5)
        deliver("/joystick/friction/state", friction)
    deliver(EVENTS, event(3, "friction", "parameter", stiffness=7000.0))
    deliver(EVENTS, event(4, "device", "state", state="inactive"))
    recorder.close()


@pytest.fixture
def bag(tmp_path: Path) -> Bag:
    record_run(OfflineRecorder(tmp_path / "bag"))
    return Bag(tmp_path / "bag")


# Contents


def test_every_topic_and_tick_comes_back_with_its_stamp(bag: Bag) -> None:
    assert set(bag.topics) == set(TOPICS)
    for columns in bag.topics.values():
        np.testing.assert_array_equal(columns["tick"], np.arange(TICKS))
        np.testing.assert_allclose(columns["stamp"], 1e-3 * np.arange(TICKS), rtol=1e-12)
    assert bag.custom == {"experiment": "friction_impedance", "mode": "lockstep"}


def test_every_field_of_a_message_is_a_column(bag: Bag) -> None:
    for topic, kind in TOPICS.items():
        expected = set(kind.get_fields_and_field_types()) - {"header"} | {"stamp"}
        assert set(bag.topics[topic]) == expected


def test_columns_have_the_documented_shapes(bag: Bag) -> None:
    device, friction = bag.topics["/joystick/device_state"], bag.topics["/joystick/friction/state"]
    shapes = {name: np.shape(column) for name, column in device.items()}
    assert shapes["joint_position"] == (TICKS, 2)
    assert shapes["tool_pose"] == (TICKS, 7)
    assert shapes["tool_twist"] == shapes["tool_wrench"] == (TICKS, 6)
    assert shapes["period"] == shapes["has_force_sensor"] == (TICKS,)
    assert shapes["joint_velocity"] == (TICKS, 0)
    assert friction["sticking"].shape == (TICKS, 1)
    assert friction["model"] == ["C"] * TICKS
    np.testing.assert_array_equal(device["joint_position"], np.outer(np.arange(TICKS), [0.1, -0.1]))
    np.testing.assert_array_equal(device["tool_pose"][3], [0.03, 0, 0, 0, 0, 0, 1])
    np.testing.assert_array_equal(device["tool_twist"][3], [0, 0, 0, 0, 0, 6.0])
    np.testing.assert_array_equal(device["tool_wrench"][3], [0, 9.0, 0, 0, 0, 0])


def test_lists_of_varying_length_stay_lists(bag: Bag) -> None:
    efforts = bag.topics["/joystick/simulation_state"]["applied_effort"]
    assert [len(effort) for effort in efforts] == [1, 2, 1, 2, 1]


def test_events_keep_their_order_and_details(bag: Bag) -> None:
    order = [(0, "friction", "state"), (3, "friction", "parameter"), (4, "device", "state")]
    assert [(e.tick, e.source, e.kind) for e in bag.events] == order
    assert bag.events[1].detail == {"stiffness": 7000.0}
    assert bag.parameters("friction") == {"stiffness": 6000.0}  # those at the start
    assert bag.started("device") == {} == bag.parameters("device")  # it never became active


def test_the_type_hashes_are_those_of_the_built_messages(bag: Bag) -> None:
    metadata = yaml.safe_load((bag.path / "metadata.yaml").read_text())["rosbag2_bagfile_information"]
    found = {
        entry["topic_metadata"]["type"]: entry["topic_metadata"]["type_description_hash"]
        for entry in metadata["topics_with_message_count"]
    }
    assert len(found) == 5
    share = Path(get_package_share_directory("haptic_msgs"))
    for name, digest in found.items():
        built = json.loads((share / "msg" / f"{name.rpartition('/')[2]}.json").read_text())["type_hashes"]
        assert digest == {entry["type_name"]: entry["hash_string"] for entry in built}[name]


def test_the_mcap_package_reads_it_with_all_message_definitions(bag: Bag) -> None:
    (path,) = bag.path.glob("*.mcap")
    with path.open("rb") as stream:
        summary = make_reader(stream).get_summary()
        assert summary is not None and summary.statistics is not None
        assert summary.statistics.message_count == 4 * TICKS + 3
        schemas = {channel.topic: summary.schemas[channel.schema_id] for channel in summary.channels.values()}
        times = [message.log_time for _, _, message in make_reader(stream).iter_messages("/joystick/device_state")]
    assert set(schemas) == {*TOPICS, EVENTS}
    for topic, kind in {**TOPICS, EVENTS: TickEvent}.items():
        schema = schemas[topic]
        assert (schema.name, schema.encoding) == (f"haptic_msgs/msg/{kind.__name__}", "ros2msg")
        text = schema.data.decode()
        for needed in ("uint64 tick", "MSG: std_msgs/Header", "MSG: builtin_interfaces/Time"):
            assert needed in text
    assert times == [k * PERIOD_NS for k in range(TICKS)]


# What a recorder checks


def test_a_complete_run_is_recorded_without_complaint(tmp_path: Path) -> None:
    recorder = OfflineRecorder(tmp_path / "bag")
    record_run(recorder)
    assert recorder.errors == []


@pytest.mark.parametrize("mode", ["lockstep", "realtime"])
def test_missing_and_repeated_ticks_are_reported(tmp_path: Path, mode: str) -> None:
    recorder = OfflineRecorder(tmp_path / "bag", mode)
    for topic, ticks in {
        "/joystick/device_state": [0, 1, 3, 4, 5, 6],
        "/joystick/simulation_state": [0, 1, 3, 4, 5],  # the last tick may be without
        "/joystick/device_command": [2, 3, 3, 4, 5, 6],
        "/joystick/friction/state": [0, 1],
    }.items():
        for tick in ticks:
            recorder.receive(topic, stamped(TOPICS[topic], tick))
    recorder.close()
    lines = [
        "/joystick/device_state, /joystick/simulation_state lack ticks 2",
        "/joystick/device_command lacks ticks 0-1",
        "/joystick/friction/state lacks ticks 2-5",
        "/joystick/device_command has 1 ticks twice",
    ]
    expected = lines if mode == "lockstep" else ["/joystick/device_state lacks ticks 2"]
    assert recorder.errors == [f"bag {tmp_path / 'bag'}: {line}" for line in expected]


def test_a_replay_may_leave_ticks_out_but_no_answers(tmp_path: Path) -> None:
    recorder = OfflineRecorder(tmp_path / "bag", replay_of="/original")
    ticks = [0, 1, 4, 5, 8, 9]
    for topic, kind in TOPICS.items():
        for tick in ticks:
            if topic != "/joystick/friction/state" or tick not in (4, 5):
                recorder.receive(topic, stamped(kind, tick))
    recorder.close()
    assert Bag(recorder.path).custom["replay_of"] == "/original"
    assert recorder.errors == [f"bag {tmp_path / 'bag'}: /joystick/friction/state lacks ticks 2-7"]


def test_a_bag_is_never_overwritten(tmp_path: Path) -> None:
    with pytest.raises(HapticError, match=f"^output: {tmp_path} exists already"):
        OfflineRecorder(tmp_path)


# Bags that cannot be read


def assert_refused(path: Path) -> None:
    with pytest.raises(HapticError) as caught:
        Bag(path)
    assert str(caught.value).startswith(f"{path}: not a readable bag: ") and "\n" not in str(caught.value)


def test_a_directory_without_a_bag_is_refused_in_one_line(tmp_path: Path) -> None:
    assert_refused(tmp_path)
    with pytest.raises(HapticError, match=r"/nowhere: no such bag$"):
        Bag(tmp_path / "nowhere")


@pytest.mark.parametrize("text", ["", "x", "a: [1"])
def test_broken_metadata_are_refused_in_one_line(bag: Bag, text: str) -> None:
    (bag.path / "metadata.yaml").write_text(text)
    assert_refused(bag.path)


@pytest.mark.parametrize("length", [0, 1000])
def test_broken_data_are_refused_in_one_line(bag: Bag, length: int) -> None:
    (path,) = bag.path.glob("*.mcap")
    path.write_bytes(path.read_bytes()[:length])
    assert_refused(bag.path)
    path.unlink()
    assert_refused(bag.path)


def test_a_held_topic_has_its_last_message_at_each_tick() -> None:
    columns = {"tick": np.array([2, 3, 6], dtype=np.uint64), "force": np.array([0.2, 0.3, 0.6]), "text": list("bcf")}
    held = Rows.held(columns, np.array([0, 2, 4, 5, 6, 9]))
    np.testing.assert_array_equal(held["tick"], [2, 2, 3, 3, 6, 6])  # before the first message: that one
    np.testing.assert_array_equal(held["force"], [0.2, 0.2, 0.3, 0.3, 0.6, 0.6])
    assert held["text"] == ["b", "b", "c", "c", "f", "f"]
