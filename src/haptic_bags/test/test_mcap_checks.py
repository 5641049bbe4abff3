"""Truncated, lying and exploding MCAP files: report, replay and repair end in one line, in bounded memory."""

from __future__ import annotations

import random
import struct
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
import zstandard
from mcap.opcode import Opcode
from rclpy.serialization import serialize_message

from haptic_bags import mcap_checks
from haptic_bags.bag_writer import BagWriter
from haptic_bags.bags import Bag, BagError, typestore
from haptic_bags.mcap_checks import MAGIC, check_definition
from haptic_bags.recording import Recording, ReplayError
from haptic_bags.repair import repair
from haptic_msgs.msg import DeviceState

TOPIC, KIND = "/joystick/device_state", "haptic_msgs/msg/DeviceState"
FOOTER = struct.pack("<QQI", 0, 0, 0)
#: more than what the reading of a small bag takes [bytes]
MEMORY = 2**26
Change = Callable[[dict[str, Any]], None]
SEPARATOR = "=" * 80 + "\n"


def text(words: str) -> bytes:
    return struct.pack("<I", len(words)) + words.encode()


def record(opcode: int, content: bytes, length: int | None = None) -> bytes:
    return struct.pack("<BQ", opcode, len(content) if length is None else length) + content


def chunk(packed: bytes, stated: int, compression: str = "zstd", *, length: int | None = None) -> bytes:
    content = struct.pack("<QQQI", 0, 1, stated, 0) + text(compression)
    return record(Opcode.CHUNK, content + struct.pack("<Q", len(packed) if length is None else length) + packed)


def chunk_index(place: int, packed: int, stated: int) -> bytes:
    content = struct.pack("<QQQQ", 0, 1, place, 10) + struct.pack("<I", 0) + struct.pack("<Q", 0) + text("zstd")
    return record(Opcode.CHUNK_INDEX, content + struct.pack("<QQ", packed, stated))


def schema(definition: str, encoding: str = "ros2msg") -> bytes:
    content = struct.pack("<H", 1) + text("x/msg/A") + text(encoding) + text(definition)
    return record(Opcode.SCHEMA, content)


def channel() -> bytes:
    return record(Opcode.CHANNEL, struct.pack("<HH", 1, 1) + text("/x") + text("cdr") + struct.pack("<I", 0))


def message(data: bytes = b"\0\1\0\0") -> bytes:
    return record(Opcode.MESSAGE, struct.pack("<HIQQ", 1, 0, 0, 0) + data)


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    """A closed bag with one message."""
    writer = BagWriter(tmp_path / "bag", {"experiment": "friction_impedance", "mode": "lockstep"})
    writer.open()
    connection = writer.add_connection(TOPIC, KIND, typestore=typestore())
    data = bytes(serialize_message(DeviceState()))  # with spare bytes behind its end
    definition = typestore().get_msgdef(KIND)
    writer.write(connection, 0, data[: 4 + definition.deserialize_cdr_le(data[4:], 0, definition.cls, typestore())[1]])
    writer.close()
    return tmp_path / "bag"


def check_refused(bag: Path, error: str) -> None:
    """Checks that the bag is refused in one line by what reads it, and what memory that takes."""
    for read in (Bag, Recording.read):
        tracemalloc.start()
        with pytest.raises((BagError, ReplayError), match=error) as caught:
            read(bag)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        line = str(caught.value)
        assert "\n" not in line and len(line.replace(str(bag), "")) < 300
        assert peak < MEMORY, peak


CYCLE = f"x/msg/B b\n{SEPARATOR}MSG: x/B\nx/msg/A[] a\n"
MANY = f"x/msg/B[100] b\n{SEPARATOR}MSG: x/B\nx/msg/C[100] c\n{SEPARATOR}MSG: x/C\nfloat64 d\n"
LARGE = record(Opcode.MESSAGE, bytes(2**19))
BOMB = zstandard.compress(bytes(2**22))
FILES: dict[str, tuple[bytes, str]] = {
    "record beyond the file": (record(Opcode.MESSAGE, b"", length=2**40), "byte 8 of .* is not whole"),
    "largest length": (record(Opcode.METADATA, b"", length=2**64 - 1), "byte 8 of .* is not whole"),
    "chunk that states 16 GiB": (chunk(BOMB, 2**34), "a chunk states 17179869184 bytes, expected at most 1048576"),
    "zstd beyond what is stated": (chunk(BOMB, 1000), "a chunk states 1000 bytes, but unpacks to more"),
    "frames of zstd": (chunk(zstandard.compress(b"a") * 3, 1), "a chunk states 1 bytes, but unpacks to more"),
    "less than stated": (chunk(zstandard.compress(b"a"), 2), "a chunk states 2 bytes, but unpacks to fewer"),
    "no zstd": (chunk(b"no zstd at all", 5), "a chunk cannot be unpacked: "),
    "lz4 that states 1 TiB": (
        chunk(b"\x04\x22\x4d\x18\x68\x40" + struct.pack("<Q", 2**40) + bytes(8), 100, "lz4"),
        "a chunk states 100 bytes, but unpacks to fewer",
    ),
    "no lz4": (chunk(b"no lz4 at all", 5, "lz4"), "a record is damaged: "),
    "unknown compression": (chunk(b"", 0, "rar"), "compression of a chunk: expected zstd or lz4, got 'rar'"),
    "chunk longer than its record": (chunk(b"abc", 3, "", length=2**50), "Unexpected record"),
    "many chunks": (chunk(zstandard.compress(LARGE), len(LARGE)) * 9, "unpacks to more than 10 times"),
    "chunk of empty records": (chunk(BOMB, 2**22), "a chunk states|record of kind 0"),
    "chunk in a chunk": (chunk(chunk(b"", 0, ""), len(chunk(b"", 0, "")), ""), "a chunk has a record of kind 6"),
    "index of no chunk": (chunk_index(8, 10, 10), "the index has a chunk at byte 8 that is not there"),
    "index with another size": (
        chunk(zstandard.compress(b""), 0) + chunk_index(8, 9, 2**40),
        "the index has a chunk at byte 8 that is not there",
    ),
    "summary elsewhere": (record(Opcode.FOOTER, struct.pack("<QQI", 11, 0, 0)), "the summary is not at byte 11"),
    "cyclic definition": (schema(CYCLE) + channel() + message(), "x/msg/A: a message has itself as a part"),
    "cyclic definition in a chunk": (
        chunk(zstandard.compress(schema(CYCLE) + channel()), len(schema(CYCLE) + channel())),
        "x/msg/A: a message has itself as a part",
    ),
    "thousands of messages in one": (schema(MANY) + channel() + message(), "x/msg/A: more than 4096 values"),
    "array of texts": (schema("string[1000000000000] a\n") + channel(), "x/msg/A: more than 4096 values"),
    "no definition": (schema("[" * 5000) + channel(), "x/msg/A: not of the grammar of ROS 2"),
    "definition of no text": (record(Opcode.SCHEMA, b"\1\0" + text("a") * 2 + b"\1\0\0\0\xff"), "damaged|decode"),
    "long definition": (schema("#" * 2**19 + "\n"), "message definitions of 524289 bytes, expected at most 524288"),
}


@pytest.mark.parametrize("name", FILES)
def test_file_that_lies_is_refused_in_one_line(whole: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    for limit, value in (("MAX_CHUNK", 2**20), ("MAX_UNPACKED", 0), ("MAX_RATIO", 10)):
        monkeypatch.setattr(mcap_checks, limit, value)
    if name != "many chunks":
        monkeypatch.setattr(mcap_checks, "MAX_UNPACKED", 2**24)
    content, error = FILES[name]
    (whole / "bag.mcap").write_bytes(MAGIC + content + record(Opcode.FOOTER, FOOTER) + MAGIC)
    check_refused(whole, error)
    tracemalloc.start()
    with pytest.raises(BagError, match="holds no message") as caught:
        repair(whole)
    assert "\n" not in str(caught.value)
    assert tracemalloc.get_traced_memory()[1] < MEMORY
    tracemalloc.stop()


def test_file_that_ends_early_is_refused_wherever_it_ends(whole: Path) -> None:
    file = whole / "bag.mcap"
    data = file.read_bytes()
    for end in [*range(12), *random.Random(1).sample(range(12, len(data) - len(MAGIC)), 12), len(data) - 1]:
        file.write_bytes(data[:end])
        check_refused(whole, "not a readable bag: ")


@pytest.mark.fuzz
def test_file_with_changed_bytes_is_read_or_refused(whole: Path) -> None:
    file, rng = whole / "bag.mcap", random.Random(2)
    data = file.read_bytes()
    for _ in range(60):
        changed = bytearray(data)
        for place in rng.sample(range(len(MAGIC), len(data)), 3):
            changed[place] = rng.randrange(256)
        file.write_bytes(changed)
        for read in (Bag, Recording.read):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(mcap_checks, "MAX_CHUNK", 2**20)
                try:
                    read(whole)
                except (BagError, ReplayError) as error:
                    assert "\n" not in str(error)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (lambda about: about.update(compression_mode="FILE", compression_format="zstd"), "compression_mode: expected "),
        (lambda about: about.update(relative_file_paths=["bag.mcap"] * 1000), "relative_file_paths: expected each "),
    ],
)
def test_metadata_that_multiply_a_file_are_refused(whole: Path, change: Change, error: str) -> None:
    document = yaml.safe_load((whole / "metadata.yaml").read_text())
    change(document["rosbag2_bagfile_information"])
    (whole / "metadata.yaml").write_text(yaml.safe_dump(document))
    check_refused(whole, error)


def test_long_metadata_are_refused(whole: Path) -> None:
    with (whole / "metadata.yaml").open("a") as stream:
        stream.write("#" * 2**20)
    check_refused(whole, "metadata.yaml: cannot be read: expected at most ")


def test_definitions_of_the_suite_and_of_ros_are_taken() -> None:
    store = typestore()
    for name in sorted(store.fielddefs):
        check_definition(name, "ros2msg", store.generate_msgdef(name, ros_version=2)[0])


def test_whole_bag_is_read(whole: Path) -> None:
    assert Bag(whole).topics[TOPIC]["tick"].tolist() == [0]
