"""Bags in the rosbag2 layout (metadata.yaml and MCAP): message types, reading as arrays."""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterator
from dataclasses import MISSING, dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from ament_index_python.packages import PackageNotFoundError, get_package_share_directory
from rosbags.highlevel import AnyReader, AnyReaderError
from rosbags.rosbag2 import ReaderError
from rosbags.typesys import Stores, get_types_from_msg, get_typestore
from rosbags.typesys.store import Typestore

from haptic_core.errors import HapticError


@cache
def typestore() -> Typestore:
    """ROS 2 Jazzy's message types and those of haptic_msgs."""
    store = get_typestore(Stores.ROS2_JAZZY)
    try:
        directory = Path(get_package_share_directory("haptic_msgs")) / "msg"
    except PackageNotFoundError:
        raise HapticError("haptic_msgs is not built; run ./haptics setup") from None
    types: dict[str, Any] = {}
    for path in sorted(directory.glob("*.msg")):
        types.update(get_types_from_msg(path.read_text(), f"haptic_msgs/msg/{path.stem}"))
    store.register(types)
    return store


@dataclass(frozen=True)
class Event:
    """A recorded TickEvent with its detail parsed."""

    tick: int
    source: str
    kind: str
    detail: dict[str, Any]


class Bag:
    """A run's bag in memory.

    Attributes:
        path: directory of the bag.
        custom: what the recorder wrote beside the data (experiment, mode).
        topics: per topic a dict of arrays, one row a message; poses are (n, 7), twists and wrenches
            (n, 6), fixed-length lists (n, length), others lists of objects.
        events: TickEvents in the order of recording.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.topics: dict[str, dict[str, Any]] = {}
        self.events: list[Event] = []
        try:
            with AnyReader([path], default_typestore=typestore()) as reader:
                rows: dict[str, dict[str, list[Any]]] = {}
                for connection, _, data in reader.messages():
                    message = reader.deserialize(data, connection.msgtype)
                    if connection.msgtype == "haptic_msgs/msg/TickEvent":
                        self.events.append(parse_event(message))
                        continue
                    columns = rows.setdefault(connection.topic, {})
                    for name, value in _fields(message):
                        columns.setdefault(name, []).append(value)
                self.custom = read_custom_data(path)
        except (AnyReaderError, ReaderError, OSError) as error:
            raise HapticError(f"{path}: not a readable bag: {' '.join(str(error).split())}") from None
        self.topics = {topic: {k: _column(v) for k, v in columns.items()} for topic, columns in rows.items()}

    def parameters(self, source: str) -> dict[str, Any]:
        """Parameters with which a node became active; empty if it never did."""
        return dict(self.started(source).get("parameters", {}))

    def started(self, source: str) -> dict[str, Any]:
        """All that a node said when it became active; empty if it never did."""
        for event in self.events:
            if event.source == source and event.kind == "state" and event.detail.get("state") == "active":
                return event.detail
        return {}


def read_custom_data(path: Path) -> dict[str, str]:
    """What the recorder wrote beside the data of a bag."""
    import yaml  # only here: metadata.yaml is small

    metadata = yaml.safe_load((path / "metadata.yaml").read_text())
    return metadata["rosbag2_bagfile_information"].get("custom_data") or {}


def parse_event(message: Any) -> Event:
    """A TickEvent as read by rosbags, its detail parsed."""
    return Event(int(message.tick), message.source, message.kind, json.loads(message.detail))


@cache
def field_names(message_class: type) -> tuple[str, ...]:
    """Names of a message's fields; its constants, which rosbags lists too, have a default."""
    return tuple(field.name for field in fields(message_class) if field.default is MISSING)


def _fields(message: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Name and value of each field; nested numbers become one flat tuple."""
    for name in field_names(message.__class__):
        value = getattr(message, name)
        if name == "header":
            yield "stamp", value.stamp.sec + 1e-9 * value.stamp.nanosec
        elif hasattr(value, "__dataclass_fields__"):
            yield prefix + name, tuple(_numbers(value))
        else:
            yield prefix + name, value


def _numbers(message: Any) -> Iterator[float]:
    for name in field_names(message.__class__):
        value = getattr(message, name)
        if hasattr(value, "__dataclass_fields__"):
            yield from _numbers(value)
        else:
            yield value


def _column(values: list[Any]) -> Any:
    if isinstance(values[0], (str, bytes)):
        return values
    lengths = {len(value) for value in values} if isinstance(values[0], (np.ndarray, tuple, list, array)) else {0}
    return np.array(values) if len(lengths) == 1 else values
