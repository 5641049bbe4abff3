"""Messages and bags of short runs for the tests of replays."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from rosbags.rosbag2 import StoragePlugin, Writer

from haptic_bags.bags import typestore
from haptic_bags.recorder import _offered_qos
from haptic_bags.recording import DEVICE_COMMAND, DEVICE_STATE, TICK_EVENT
from haptic_core.messages import event_texts

FRICTION_STATE = "haptic_msgs/msg/FrictionState"
KEY_VALUE = "diagnostic_msgs/msg/KeyValue"

TYPES = typestore().types


def make(kind: str, tick: int, /, **fields: Any) -> Any:
    """A message with zeros where nothing is given."""

    def zero(definition: Any) -> Any:
        node, content = definition
        if node == 1:  # a name
            return {"string": "", "bool": False}.get(content[0], 0.0 if content[0].startswith("float") else 0)
        if node == 2:
            return build(content)
        if content[0][0] != 1:  # messages
            return []
        element = content[0][1][0]
        return np.zeros(0, dtype=bool if element == "bool" else element)

    def build(name: str) -> Any:
        return TYPES[name](**{field: zero(d) for field, d in typestore().fielddefs[name][1]})

    message = build(kind)
    message.header.stamp.nanosec = tick * 1_000_000
    for name, value in {"tick": tick, **fields}.items():
        *path, last = name.split("__")
        target = message
        for part in path:
            target = getattr(target, part)
        setattr(target, last, value)
    return message


def wire(kind: str, tick: int, /, **fields: Any) -> bytes:
    return bytes(typestore().serialize_cdr(make(kind, tick, **fields), kind))


def write_bag(path: Path, messages: Iterable[tuple[str, str, int, bytes]], **custom: str) -> Path:
    """Writes (topic, type, tick, data) with the recorder's own profiles."""
    writer = Writer(path, version=9, storage_plugin=StoragePlugin.MCAP)
    for name, value in custom.items():
        writer.set_custom_data(name, value)
    with writer:
        connections: dict[str, Any] = {}
        for topic, kind, tick, data in messages:
            if topic not in connections:
                qos = [_offered_qos(kind == TICK_EVENT)]
                connections[topic] = writer.add_connection(topic, kind, typestore=typestore(), offered_qos_profiles=qos)
            writer.write(connections[topic], tick * 1_000_000, data)
    return path


def event(tick: int, source: str, kind: str, /, **detail: Any) -> tuple[str, str, int, bytes]:
    values = [TYPES[KEY_VALUE](*entry) for entry in event_texts(detail).items()]
    data = wire(TICK_EVENT, tick, source=source, kind=kind, values=values)
    return "/joystick/tick_event", TICK_EVENT, tick, data


def a_run(ticks: Iterable[int] = range(5), answered: Iterable[int] = range(5), **friction: Any) -> list[Any]:
    """The messages of a short run on the joystick."""
    device = {"device": "joystick", "sources": ["friction"], "period": 0.001}
    run = [
        event(0, "friction", "state", state="active", mode="WRENCH", parameters={"stiffness": 6000.0, **friction}),
        event(0, "device", "state", state="active", parameters=device),
    ]
    for k in ticks:
        state = wire(DEVICE_STATE, k, period=0.001, joint_position=np.array([0.1 * k, 0.0]))
        run.append(("/joystick/device_state", DEVICE_STATE, k, state))
    for k in answered:
        run.append(("/joystick/device_command", DEVICE_COMMAND, k, wire(DEVICE_COMMAND, k, source="friction", mode=2)))
    return run
