"""Bags that were recorded with older definitions of the messages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rclpy.serialization import deserialize_message
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

import haptic_bags
from haptic_bags.bags import Bag, typestore
from haptic_bags.recording import DEVICE_COMMAND, DEVICE_STATE, TICK_EVENT, Recording, ReplayError
from haptic_core.cdr import encoder
from haptic_core.messages import detail_of
from haptic_msgs.msg import DeviceCommand, DeviceState, Scene, TickEvent

DEFINITION = """
std_msgs/Header header
uint64 tick
string source
string kind
string detail
"""
SCENE, OLDER_SCENE = (
    "haptic_msgs/msg/Scene",
    """
std_msgs/Header header
string[] names
uint8[] shapes
float64[] sizes
float64[] masses
string[] meshes
""",
)
EVENTS = [
    (0, "friction", "state", {"state": "active", "mode": "WRENCH", "parameters": {"stiffness": 6000.0}}),
    (0, "device", "state", {"state": "active", "parameters": {"device": "joystick", "sources": ["friction"]}}),
    (2, "friction", "parameter", {"stiffness": 7000.0, "law": "true"}),
    (3, "device", "state", {"state": "inactive", "ticks": 3}),
]


def older_bag(path: Path, events: list[tuple[int, str, str, str]]) -> Path:
    """A run of three ticks, whose events have JSON in the field `detail`."""
    types = get_typestore(Stores.ROS2_JAZZY)
    types.register(get_types_from_msg(DEFINITION, TICK_EVENT))
    types.register(get_types_from_msg(OLDER_SCENE, SCENE))
    header = types.types["std_msgs/msg/Header"](types.types["builtin_interfaces/msg/Time"](1, 5), "")
    writer = Writer(path, version=9, storage_plugin=StoragePlugin.MCAP)
    writer.set_custom_data("experiment", "friction_impedance")
    with writer:
        topic = writer.add_connection("/joystick/tick_event", TICK_EVENT, typestore=types)
        for tick, *content in events:
            message = types.types[TICK_EVENT](header, tick, *content)
            writer.write(topic, tick, types.serialize_cdr(message, TICK_EVENT))
        topic = writer.add_connection("/joystick/scene", SCENE, typestore=types)
        arrays = (["box", "floor"], np.array([1, 4], np.uint8), 0.1 * np.arange(6), np.array([0.5, 0.0]), ["", ""])
        writer.write(topic, 0, types.serialize_cdr(types.types[SCENE](header, *arrays), SCENE))
        for kind, name in ((DeviceState, "device_state"), (DeviceCommand, "device_command")):
            full = {"device_state": DEVICE_STATE, "device_command": DEVICE_COMMAND}[name]
            topic = writer.add_connection(f"/joystick/{name}", full, typestore=typestore())
            for tick in range(3):
                writer.write(topic, tick, wire(kind, tick))
    return path


def wire(kind: type, tick: int) -> bytes:
    """A message of zeros as it is recorded."""
    return bytes(encoder(kind)(kind(tick=tick, **({"source": "friction"} if kind is DeviceCommand else {}))))


def texts(events: list[tuple[int, str, str, dict[str, Any]]]) -> list[tuple[int, str, str, str]]:
    return [(tick, source, kind, json.dumps(detail)) for tick, source, kind, detail in events]


def test_events_with_json_are_read(tmp_path: Path) -> None:
    bag = Bag(older_bag(tmp_path / "bag", texts(EVENTS)))
    assert [(event.tick, event.source, event.kind, event.detail) for event in bag.events] == EVENTS
    assert bag.parameters("friction") == {"stiffness": 6000.0}
    table = haptic_bags.read(tmp_path / "bag")["/joystick/tick_event"]
    assert json.loads(table["detail"][2]) == EVENTS[2][3]


def test_a_scene_has_its_present_names(tmp_path: Path) -> None:
    path = older_bag(tmp_path / "bag", texts(EVENTS))
    scene = Bag(path).topics["/joystick/scene"]
    assert list(scene["name"][0]) == ["box", "floor"] and scene["mass"][0].tolist() == [0.5, 0.0]
    message = deserialize_message(Recording.read(path).latched["/joystick/scene"], Scene)
    assert list(message.name) == ["box", "floor"] and list(message.shape) == [Scene.SHAPE_BOX, Scene.SHAPE_HALF_SPACE]
    assert list(message.size) == scene["size"][0].tolist()


def test_events_with_json_are_replayed_in_the_present_layout(tmp_path: Path) -> None:
    recording = Recording.read(older_bag(tmp_path / "bag", texts(EVENTS)))
    assert (recording.device, recording.sources) == ("device", ["friction"])
    (change,) = recording.changes(["friction"])
    assert change.detail == {"stiffness": 7000.0, "law": "true"}
    messages = [deserialize_message(recorded.data, TickEvent) for recorded in recording.events]
    assert [(m.tick, m.source, m.kind, detail_of(m)) for m in messages] == EVENTS
    assert {(m.header.stamp.sec, m.header.stamp.nanosec) for m in messages} == {(1, 5)}


@pytest.mark.parametrize(
    ("detail", "problem"), [("{", "not JSON"), ("[1]", "expected a JSON object"), ("[" * 99999, "not JSON")]
)
def test_a_damaged_event_is_refused(tmp_path: Path, detail: str, problem: str) -> None:
    path = older_bag(tmp_path / "bag", [(0, "friction", "state", detail)])
    with pytest.raises(ReplayError, match=f"event of friction: {problem}"):
        Recording.read(path)
