"""Repair of bags that were not closed: the recorder was killed, or its disk was full. Rebuilds index and metadata."""

from __future__ import annotations

import math
import mmap
import os
import shutil
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

import zstandard
from mcap.data_stream import ReadDataStream
from mcap.exceptions import McapError
from mcap.opcode import Opcode
from mcap.records import Channel, Chunk, Schema
from mcap.stream_reader import MAGIC_SIZE, get_chunk_data_stream
from rosbags.highlevel import AnyReaderError
from rosbags.interfaces import Connection
from rosbags.rosbag2 import ReaderError
from rosbags.rosbag2.metadata import parse_qos
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from haptic_bags.bag_writer import UNFINISHED, BagWriter
from haptic_bags.bags import BagError, bag_folders, opened, read_custom_data, with_name
from haptic_bags.mcap_checks import (
    MAGIC,
    MAX_RATIO,
    MAX_UNPACKED,
    check_chunk,
    check_definition,
    records,
)
from haptic_bags.recorder import TickLog, ranges_text, tick_of
from haptic_core.errors import HapticError
from haptic_files import FileError, check_file, read_yaml

_DEVICE_STATE = "haptic_msgs/msg/DeviceState"
_BROKEN = (McapError, zstandard.ZstdError, struct.error, ValueError, KeyError, OverflowError, RuntimeError)  # last: LZ4

Part = tuple[int, memoryview]


@dataclass
class Repair:
    """Result of the repair of a bag.

    Attributes:
        path: directory of the bag.
        whole: True if the bag was closed; nothing was changed then.
        messages: number of messages in the repaired bag.
        tail: number of dropped bytes at the end of the file that form no complete record.
        damaged: number of dropped chunks and records whose contents cannot be read.
        ticks: ticks of each device in the bag, by topic.
        custom: texts that the recorder wrote into the metadata; empty if they are lost.
    """

    path: Path
    whole: bool = False
    messages: int = 0
    tail: int = 0
    damaged: int = 0
    ticks: dict[str, TickLog] = field(default_factory=dict)
    custom: dict[str, str] = field(default_factory=dict)

    def lines(self) -> list[str]:
        """Returns the lines of the report."""
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
    """Repairs a bag that was not closed, in place; a bag that was closed stays as it is.

    The messages are copied to a new file, which replaces the old one when it is complete. This needs as much free space
    as the size of the bag.

    Args:
        path: directory of the bag, directory of a run with one bag, or the MCAP file.

    Raises:
        BagError: there is no such bag, it holds no message, it is no regular file, or the new file cannot be written.
    """
    file = find_file(path)
    bag = file.parent
    if _is_whole(bag):
        return Repair(bag, whole=True)
    try:
        check_file(file, max_size=math.inf)
    except FileError as error:
        raise BagError(str(error), "./haptics repair runs/<time>-<name>/bag") from None
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
    """Finds the MCAP file of a path: the file itself, the only one in a bag, or that of the only bag of a run.

    Raises:
        BagError: there is no file, or more than one.
    """
    path = with_name(path)
    files = [path] if path.is_file() else sorted(path.glob("*.mcap"))
    bags = [] if files else bag_folders(path)
    if len(bags) == 1:
        files = sorted(bags[0].glob("*.mcap"))
    if len(files) != 1:
        several = ", ".join(one.name for one in (bags if len(bags) > 1 else files))
        problem = f"has several bags: {several}" if several else "no bag (no .mcap file in it)"
        raise BagError(f"{path}: {problem}", "./haptics repair runs/<time>-<name>/bag")
    return files[0]


def _is_whole(bag: Path) -> bool:
    try:
        with opened(bag):
            return not (bag / UNFINISHED).exists()
    except (AnyReaderError, ReaderError, HapticError, OSError, *_BROKEN, AssertionError, TypeError, AttributeError):
        return False


def _custom_data(bag: Path) -> dict[str, str]:
    for read in (lambda: read_yaml(bag / UNFINISHED).value, lambda: read_custom_data(bag)):
        try:
            return {str(key): str(value) for key, value in read().items()}
        except (AttributeError, KeyError, TypeError, ValueError):
            continue
    return {}


def _copy(file: Path, writer: BagWriter, result: Repair) -> None:
    """Copies the messages of all complete records."""
    topics = _Topics(writer)
    with file.open("rb") as stream:
        size = os.fstat(stream.fileno()).st_size
        head = stream.read(MAGIC_SIZE)
        if head != MAGIC[: len(head)]:
            raise BagError(f"{file}: not an MCAP file", "./haptics run writes runs/<time>-<name>/bag")
        if size <= MAGIC_SIZE:
            return
        data = memoryview(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ))
    end, left = MAGIC_SIZE, MAX_UNPACKED + MAX_RATIO * size
    for offset, opcode, content in records(data, MAGIC_SIZE):
        end = offset + 9 + len(content)
        if opcode == Opcode.FOOTER:
            return  # a closed file without its metadata
        try:
            parts = list(_parts(opcode, content, left))
        except _BROKEN:
            result.damaged += 1
            continue
        left -= sum(len(body) for _, body in parts) if opcode == Opcode.CHUNK else 0
        for part, body in parts:
            try:
                topics.copy(part, body, result)
            except _BROKEN:  # such as a message of a channel that the file does not have
                result.damaged += 1
    result.tail = size - end


def _parts(opcode: int, content: memoryview, max_size: int) -> Iterator[Part]:
    """Yields the record, or those in a chunk of at most `max_size` bytes; raises one of `_BROKEN` if one is damaged."""
    if opcode != Opcode.CHUNK:
        yield opcode, content
        return
    chunk = Chunk.read(_stream(content))
    if len(check_chunk(chunk)) > max_size:
        raise ValueError("a chunk that exceeds what a file of this size may hold")
    stream, size = get_chunk_data_stream(chunk, validate_crc=True)
    inside, parsed = memoryview(stream.read(size)), 0
    for offset, part, body in records(inside, 0):
        parsed = offset + 9 + len(body)
        yield part, body
    if parsed != len(inside):
        raise ValueError("a record of the chunk is not whole")


def _stream(content: memoryview) -> Any:
    return ReadDataStream(BytesIO(content))


class _Topics:
    """Copies schemas, channels and messages to a writer in the order of the records."""

    def __init__(self, writer: BagWriter) -> None:
        self._writer = writer
        self._schemas: dict[int, Schema] = {}
        self._connections: dict[int, Connection] = {}

    def copy(self, opcode: int, content: memoryview, result: Repair) -> None:
        """Copies a record; ignores records other than schemas, channels and messages."""
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
        check_definition(schema.name, schema.encoding, text)
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
