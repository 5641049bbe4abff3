"""Reading of bags in the rosbag2 layout (metadata.yaml and MCAP) as arrays, with their message types."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from ament_index_python.packages import PackageNotFoundError, get_package_share_directory
from rosbags.highlevel import AnyReader, AnyReaderError
from rosbags.typesys import Stores, get_types_from_msg, get_typestore
from rosbags.typesys.store import Typestore

from haptic_bags.bag_columns import columns
from haptic_bags.bag_writer import UNFINISHED
from haptic_bags.mcap_checks import check_mcap
from haptic_bags.older_layouts import present_names, upgraded
from haptic_bags.ticks import Ticks
from haptic_core.errors import HapticError
from haptic_core.messages import detail_of
from haptic_files import FileError, check_file, kind_of, read_yaml

TICK_EVENT = "haptic_msgs/msg/TickEvent"
#: largest metadata file of a bag; a run's has a few thousand [bytes]
_MAX_METADATA = 2**20


class BagError(HapticError):
    """A bag that cannot be read, repaired, or converted to a table.

    Attributes:
        hint: advice to the user.
    """

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


def repair_hint(path: Path) -> str:
    """Returns the hint for a bag that cannot be read: the cause, and the command that repairs it if that can help."""
    files = list(path.glob("*.mcap"))
    if len(files) != 1 or not files[0].is_file():
        return "a bag needs its one .mcap file, without which ./haptics repair cannot help"
    return f"of a recorder that was killed, or whose disk was full: ./haptics repair {path}"


@cache
def typestore() -> Typestore:
    """Returns the store of the message types of ROS 2 Jazzy and haptic_msgs.

    Raises:
        HapticError: haptic_msgs is not built.
    """
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
    """A recorded TickEvent with its values parsed by `haptic_core.messages.detail_of`."""

    tick: int
    source: str
    kind: str
    detail: dict[str, Any]


class Bag:
    """A run's bag in memory.

    Attributes:
        path: directory of the bag.
        custom: texts that the recorder wrote into the metadata (experiment, mode).
        topics: columns by topic and field, one row per message: poses (n, 7), twists and wrenches (n, 6), lists of
            equal length (n, length), other fields as lists of objects.
        types: message type by topic, including topics without a message.
        events: TickEvents in the order of recording.
    """

    def __init__(self, path: Path) -> None:
        if not path.exists():
            raise BagError(f"{path}: no such bag", "./haptics run writes runs/<time>-<name>/bag")
        self.path = path
        self.topics: dict[str, dict[str, Any]] = {}
        self.types: dict[str, str] = {}
        self.events: list[Event] = []
        try:
            with opened(path) as reader:
                self.types = {connection.topic: connection.msgtype for connection in reader.connections}
                samples: dict[tuple[str, str], list[bytes]] = {}
                for connection, _, data in reader.messages():
                    if connection.msgtype == TICK_EVENT:
                        self.events.append(parse_event(reader.deserialize(data, connection.msgtype)))
                    else:
                        samples.setdefault((connection.topic, connection.msgtype), []).append(data)
                for (topic, kind), rows in samples.items():
                    self.topics[topic] = present_names(kind, columns(rows, kind, reader.typestore))
                self.custom = read_custom_data(path)
        except Exception as error:  # a damaged file can fail anywhere in the libraries that read it
            raise BagError(f"{path}: not a readable bag: {damage(error)}", repair_hint(path)) from None

    def parameters(self, source: str) -> dict[str, Any]:
        """Returns the parameters with which a node became active; empty if it never did."""
        return dict(self.started(source).get("parameters", {}))

    def ticks(
        self,
        namespace: str,
        *topics: str,
        least: int = 2,
        shift: Mapping[str, int] | None = None,
        keep: Mapping[str, np.ndarray] | None = None,
    ) -> Ticks:
        """Aligns topics of a device at their common ticks.

        Args:
            namespace: namespace of the device, for example ``/joystick``.
            *topics: names below the namespace, for example ``device_state`` and ``friction/state``.
            least: smallest accepted number of common ticks.
            shift: number of ticks by topic that is added to its ticks, for an answer that acts later.
            keep: mask (bool) by topic of the messages that count.

        Raises:
            HapticError: A topic was not recorded, or there are too few common ticks.
        """
        absent = [f"{namespace}/{name}" for name in topics if f"{namespace}/{name}" not in self.topics]
        if absent:
            raise HapticError(f"{self.path}: nothing recorded on {', '.join(absent)}")
        tables = {name: self.topics[f"{namespace}/{name}"] for name in topics}
        return Ticks.align(self.path, tables, least=least, shift=shift, keep=keep)

    def started(self, source: str) -> dict[str, Any]:
        """Returns the event detail that a node published when it became active; empty if it never did."""
        for event in self.events:
            if event.source == source and event.kind == "state" and event.detail.get("state") == "active":
                return event.detail
        return {}


def bag_folders(run: Path) -> list[Path]:
    """Returns the bags in the directory of a run, also those that lack a file, sorted by name."""
    files = ("metadata.yaml", UNFINISHED, "*.mcap")
    return sorted({found.parent for file in files for found in run.glob(f"bag*/{file}")})


def with_name(path: Path) -> Path:
    """Returns the absolute path of "." and ".."; the `parent` of these is not the directory that contains them."""
    return path.resolve() if path.name in ("", "..") else path


def find_bag(path: Path) -> Path:
    """Finds the bag of a path: the directory itself, or the only bag of a run.

    Raises:
        BagError: the run has several bags, or the path is a file.
    """
    path = with_name(path)
    if path.is_file():
        raise BagError(f"{path}: expected the directory of a bag, got a file", f"name the directory: {path.parent}")
    bags = [] if (path / "metadata.yaml").exists() else bag_folders(path)
    if len(bags) > 1:
        names = ", ".join(bag.name for bag in bags)
        raise BagError(f"{path}: has several bags: {names}", f"name one of them: {bags[0]}")
    return bags[0] if bags else path


def damage(error: Exception) -> str:
    """Describes in one line an error, of any class, that reading a bag raised."""
    words = " ".join(str(error).split())[:300]
    clear = isinstance(error, (AnyReaderError, FileError, HapticError, OSError))
    return words if clear else f"{type(error).__name__}: {words}"


def check_bag(path: Path) -> None:
    """Checks the metadata of a bag, and the files that the library will open; ignores other files and directories.

    Raises:
        FileError: a file is not regular, or the metadata are not YAML or too long.
        HapticError: the metadata state a compression or name a file twice, or as `haptic_bags.mcap_checks.check_mcap`.
    """
    check_file(path / "metadata.yaml", max_size=_MAX_METADATA)
    metadata = read_yaml(path / "metadata.yaml").value
    about = metadata.get("rosbag2_bagfile_information") if isinstance(metadata, dict) else None
    files = set(path.glob("*.mcap"))
    if isinstance(about, dict):
        mode = about.get("compression_mode") or "none"
        if str(mode).lower() != "none":
            raise HapticError(f"compression_mode: expected none, got {kind_of(mode)}; unpack it by ros2 bag convert")
        names = about.get("relative_file_paths")
        if isinstance(names, list):
            files |= {path / str(name) for name in names if (path / str(name)).exists()}
            if len(set(map(str, names))) != len(names):
                raise HapticError("relative_file_paths: expected each file once")
    for file in sorted(files):
        check_file(file, max_size=math.inf)
        if file.suffix == ".mcap":
            check_mcap(file)


def opened(path: Path) -> AnyReader:
    """Checks a bag and returns a reader of it, a context manager that opens the files; raises as `check_bag`."""
    check_bag(path)
    return AnyReader([path], default_typestore=typestore())


def read_custom_data(path: Path) -> dict[str, str]:
    """Reads the texts that the recorder wrote into a bag's metadata, such as the experiment's name."""
    metadata = read_yaml(path / "metadata.yaml").value
    custom = metadata["rosbag2_bagfile_information"].get("custom_data") or {}
    if not (isinstance(custom, dict) and all(isinstance(word, str) for pair in custom.items() for word in pair)):
        raise HapticError(f"{path / 'metadata.yaml'}: custom_data: expected texts by name, got {kind_of(custom)}")
    return custom


def parse_event(message: Any) -> Event:
    """Parses a TickEvent of either layout, as rosbags reads it; raises InputError if its content is damaged."""
    message = upgraded(message, typestore())
    return Event(int(message.tick), message.source, message.kind, detail_of(message))
