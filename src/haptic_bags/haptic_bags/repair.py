"""Closes bags that were not closed: a recorder was killed, or its disk was full. Index and metadata are made anew."""

from __future__ import annotations

import mmap
import os
import shutil
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

import yaml
import zstandard
from mcap.data_stream import ReadDataStream
from mcap.exceptions import McapError
from mcap.opcode import Opcode
from mcap.records import Channel, Chunk, Schema
from mcap.stream_reader import MAGIC_SIZE, get_chunk_data_stream
from rosbags.highlevel import AnyReader, AnyReaderError
from rosbags.interfaces import Connection
from rosbags.rosbag2 import ReaderError
from rosbags.rosbag2.metadata import parse_qos
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from haptic_bags.bag_writer import UNFINISHED, BagWriter
from haptic_bags.bags import BagError, read_custom_data, typestore
from haptic_bags.recorder import TickLog, ranges_text, tick_of

_MAGIC = b"\x89MCAP0\r\n"
_DEVICE_STATE = "haptic_msgs/msg/DeviceState"
#: largest chunk that is unpacked [bytes]; the recorder writes some of 1e6
_MAX_CHUNK = 2**28
#: LZ4 packs no better than this
_LZ4_RATIO = 255
_BROKEN = (McapError, zstandard.ZstdError, struct.error, ValueError, KeyError, OverflowError, RuntimeError)  # last: LZ4

Part = tuple[int, memoryview]


@dataclass
class Repair:
    """What was found in a bag, and what was done.

    Attributes:
        path: directory of the bag.
        whole: it was closed; nothing was done.
        messages: in the bag now.
        tail: bytes at the end of the file that were no whole record, dropped.
        damaged: chunks and records whose contents could not be read, dropped.
        ticks: ticks of the device in the bag, by its topic.
        custom: values that the recorder wrote beside the data; empty if that is lost.
    """

    path: Path
    whole: bool = False
    messages: int = 0
    tail: int = 0
    damaged: int = 0
    ticks: dict[str, TickLog] = field(default_factory=dict)
    custom: dict[str, str] = field(default_factory=dict)

    def lines(self) -> list[str]:
        """The lines of the report."""
        if self.whole:
            return [f"{self.path}: closed and readable, nothing to repair"]
        lines = [f"{self.path}: repaired, {self.messages} messages"]
        if self.tail:
            lines.append(f"dropped: {self.tail} bytes at the end, a chunk that was not written whole")
        if self.damaged:
            lines.append(f"dropped: {self.damaged} chunks whose contents cannot be read")
        for topic, log in self.ticks.items():
            gaps = f"; lacks ticks {ranges_text(log.gaps)}" if log.gaps else ""
            lines.append(f"{topic}: last tick {log.last}{gaps}")
        if "experiment" not in self.custom:
            lines.append("which experiment it was is lost: the bag opens, but cannot be reported or replayed")
        return lines


def repair(path: Path) -> Repair:
    """Closes a bag that was not closed, in its place; one that is whole stays as it is.

    The messages are copied to a new file, which takes the old one's place when it is whole: that needs as much free
    space as the bag has.

    Args:
        path: directory of the bag, of a run with one bag, or the MCAP file.

    Raises:
        BagError: there is no such bag, it holds no message, or the new file cannot be written.
    """
    file = find_file(path)
    bag = file.parent
    if _is_whole(bag):
        return Repair(bag, whole=True)
    result = Repair(bag, custom=_custom_data(bag))
    workplace = bag / ".repair"
    shutil.rmtree(workplace, ignore_errors=True)
    writer = BagWriter(workplace / file.stem, result.custom)
    try:
        writer.open()
        try:
            _copy(file, writer, result)
            if not result.messages:
                hint = "the recorder was stopped before the first messages were written"
                raise BagError(f"{bag}: holds no message", hint)
            writer.close()
        finally:
            if writer.storage is not None:
                writer.abort()
        os.replace(writer.path / file.name, file)
        os.replace(writer.metapath, bag / "metadata.yaml")
        (bag / UNFINISHED).unlink(missing_ok=True)
    except OSError as error:
        hint = f"free {file.stat().st_size / 1e6:.0f} MB beside it, or copy the bag elsewhere; it is as it was"
        raise BagError(f"{bag}: cannot be repaired: {error.strerror or error}", hint) from None
    finally:
        shutil.rmtree(workplace, ignore_errors=True)
    return result


def find_file(path: Path) -> Path:
    """The MCAP file that is meant.

    Raises:
        BagError: there is none, or more than one.
    """
    files = [path] if path.is_file() else sorted(path.glob("*.mcap")) or sorted(path.glob("bag*/*.mcap"))
    if len(files) != 1:
        found = ", ".join(file.parent.name for file in files)
        problem = f"has several bags: {found}" if files else "no bag (no .mcap file in it)"
        raise BagError(f"{path}: {problem}", "./haptics repair runs/<time>-<name>/bag")
    return files[0]


def _is_whole(bag: Path) -> bool:
    try:
        with AnyReader([bag], default_typestore=typestore()):
            return not (bag / UNFINISHED).exists()
    except (AnyReaderError, ReaderError, OSError, *_BROKEN, AssertionError, TypeError, AttributeError):
        return False


def _custom_data(bag: Path) -> dict[str, str]:
    for read in (lambda: yaml.safe_load((bag / UNFINISHED).read_text()), lambda: read_custom_data(bag)):
        try:
            return {str(key): str(value) for key, value in read().items()}
        except (OSError, yaml.YAMLError, AttributeError, KeyError, TypeError, ValueError):
            continue
    return {}


def _copy(file: Path, writer: BagWriter, result: Repair) -> None:
    """Copies all messages of whole records."""
    topics = _Topics(writer)
    with file.open("rb") as stream:
        size = os.fstat(stream.fileno()).st_size
        head = stream.read(MAGIC_SIZE)
        if head != _MAGIC[: len(head)]:
            raise BagError(f"{file}: not an MCAP file", "./haptics run writes runs/<time>-<name>/bag")
        if size <= MAGIC_SIZE:
            return
        data = memoryview(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ))
    end = MAGIC_SIZE
    for opcode, content in _records(data[MAGIC_SIZE:]):
        end += 9 + len(content)
        if opcode == Opcode.FOOTER:
            return  # a closed file without its metadata
        try:
            parts = list(_parts(opcode, content))
        except _BROKEN:
            result.damaged += 1
            continue
        for part, body in parts:
            try:
                topics.take(part, body, result)
            except _BROKEN:  # such as a message of a channel that the file does not have
                result.damaged += 1
    result.tail = size - end


def _records(data: memoryview) -> Iterator[Part]:
    """Opcode and content of all records that are there as a whole."""
    place = 0
    while place + 9 <= len(data):
        opcode, length = struct.unpack_from("<BQ", data, place)
        if length > len(data) - place - 9:
            return
        yield opcode, data[place + 9 : place + 9 + length]
        place += 9 + length


def _parts(opcode: int, content: memoryview) -> Iterator[Part]:
    """The record, or those in a chunk; raises one of `_BROKEN` unless all of them are whole."""
    if opcode != Opcode.CHUNK:
        yield opcode, content
        return
    chunk = Chunk.read(_stream(content))
    _check_size(chunk)
    stream, size = get_chunk_data_stream(chunk, validate_crc=True)
    inside, parsed = memoryview(stream.read(size)), 0
    for part in _records(inside):
        parsed += 9 + len(part[1])
        yield part
    if parsed != len(inside):
        raise ValueError("a record of the chunk is not whole")


def _check_size(chunk: Chunk) -> None:
    """Raises ValueError for a chunk that would not fit its stated size, or the memory, before it is unpacked."""
    stated, size = chunk.uncompressed_size, 0
    if chunk.compression == "zstd":  # -1 if unknown: then the reader unpacks no more than is stated
        size = zstandard.frame_content_size(chunk.data)
    elif chunk.compression == "lz4":
        stated = max(stated, _LZ4_RATIO * len(chunk.data))
    if stated > _MAX_CHUNK or size > stated:
        raise ValueError(f"a chunk of {max(stated, size)} bytes")


def _stream(content: memoryview) -> Any:
    return ReadDataStream(BytesIO(content))


class _Topics:
    """Schemas and channels as they come, and the messages of them, handed on to a writer."""

    def __init__(self, writer: BagWriter) -> None:
        self._writer = writer
        self._schemas: dict[int, Schema] = {}
        self._connections: dict[int, Connection] = {}

    def take(self, opcode: int, content: memoryview, result: Repair) -> None:
        """Takes a record; one that is no schema, channel or message says nothing new."""
        if opcode == Opcode.SCHEMA:
            schema = Schema.read(_stream(content))
            self._schemas[schema.id] = schema
        elif opcode == Opcode.CHANNEL:
            channel = Channel.read(_stream(content))
            if channel.id not in self._connections:
                self._connections[channel.id] = self._connect(channel, self._schemas[channel.schema_id])
        elif opcode == Opcode.MESSAGE:
            number, _, stamp, _ = struct.unpack_from("<HIQQ", content)
            connection, data = self._connections[number], bytes(content[22:])
            self._writer.write(connection, stamp, data)
            result.messages += 1
            if connection.msgtype == _DEVICE_STATE:
                result.ticks.setdefault(connection.topic, TickLog()).add(tick_of(data))

    def _connect(self, channel: Channel, schema: Schema) -> Connection:
        text = schema.data.decode()
        store = get_typestore(Stores.EMPTY)
        store.register(get_types_from_msg(text, schema.name))
        return self._writer.add_connection(
            channel.topic,
            schema.name,
            msgdef=text,
            rihs01=store.hash_rihs01(schema.name),
            serialization_format=channel.message_encoding,
            offered_qos_profiles=parse_qos(channel.metadata.get("offered_qos_profiles", "")),
        )
