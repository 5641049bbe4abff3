"""Checks of an MCAP file before a library reads it: sizes and definitions must fit the file and limits of memory.

The libraries trust the sizes that a file states: they would decompress a chunk of a few bytes to gigabytes, and
generate code for a message definition with a million strings. These checks decompress chunks piece by piece.
"""

from __future__ import annotations

import mmap
import os
import struct
from collections.abc import Iterator, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import zstandard
from mcap.data_stream import ReadDataStream
from mcap.exceptions import McapError
from mcap.opcode import Opcode
from mcap.records import Chunk, ChunkIndex, Footer, Schema
from mcap.stream_reader import get_chunk_data_stream
from rosbags.interfaces import Nodetype
from rosbags.typesys import TypesysError, get_types_from_idl, get_types_from_msg

from haptic_core.errors import HapticError, shortened

MAGIC = b"\x89MCAP0\r\n"
#: largest size of a decompressed chunk [bytes]; the recorder writes chunks of 1e6
MAX_CHUNK = 2**28
#: a file may decompress to `MAX_UNPACKED` [bytes] plus `MAX_RATIO` times its own size
MAX_UNPACKED, MAX_RATIO = 2**28, 100
#: largest total length of all message definitions; the suite's have 1e5 [characters]
MAX_DEFINITIONS = 2**19
#: largest number of values of a message, an array of numbers counting as one; the library generates code for each
MAX_VALUES = 4096
#: bound of the compression ratio of LZ4
_LZ4_RATIO = 255
_LZ4_MAGIC, _LZ4_HAS_SIZE = b"\x04\x22\x4d\x18", 0x08
_PIECE = 2**20

#: offset in the file, opcode, content
Record = tuple[int, int, memoryview]


class DamagedFileError(HapticError, ValueError):
    """An MCAP file whose records contradict each other or exceed a limit."""


def check_mcap(path: Path) -> None:
    """Checks records, chunks, index and message definitions of a file.

    Raises:
        DamagedFileError: a record is incomplete, a size differs from the stated one or exceeds a limit, or a message
            definition cannot be parsed, refers to itself, or describes too many values.
        OSError: the file cannot be read.
    """
    with path.open("rb") as stream:
        size = os.fstat(stream.fileno()).st_size
        if stream.read(len(MAGIC)) != MAGIC:
            raise DamagedFileError(f"{path.name}: not an MCAP file")
        if size <= len(MAGIC):
            raise DamagedFileError(f"{path.name}: ends after byte {size}")
        data = memoryview(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ))
    try:
        _check_records(data)
    except DamagedFileError as error:
        raise DamagedFileError(f"{path.name}: {error}") from None
    except (McapError, struct.error, ValueError, OverflowError, RuntimeError) as error:  # last: LZ4
        raise DamagedFileError(f"{path.name}: a record is damaged: {error}") from None


def records(data: memoryview, start: int) -> Iterator[Record]:
    """Yields the records from an offset on, up to the first incomplete one."""
    offset = start
    while offset + 9 <= len(data):
        opcode, length = struct.unpack_from("<BQ", data, offset)
        if length > len(data) - offset - 9:
            return
        yield offset, opcode, data[offset + 9 : offset + 9 + length]
        offset += 9 + length


def _check_records(data: memoryview) -> None:
    chunks: dict[int, tuple[str, int, int]] = {}
    schemas: list[Schema] = []
    offsets, indexed, left = set(), set(), MAX_UNPACKED + MAX_RATIO * len(data)
    end = len(MAGIC)
    for offset, opcode, content in records(data, end):
        end = offset + 9 + len(content)
        if opcode != Opcode.MESSAGE:
            offsets.add(offset)
        if opcode == Opcode.CHUNK:
            chunk = Chunk.read(_stream(content))
            unpacked = check_chunk(chunk)
            left -= len(unpacked)
            if left < 0:
                raise DamagedFileError(f"unpacks to more than {MAX_RATIO} times its size")
            chunks[offset] = chunk.compression, len(chunk.data), chunk.uncompressed_size
            schemas += _schemas_in(memoryview(unpacked))
        elif opcode == Opcode.CHUNK_INDEX:
            index = ChunkIndex.read(_stream(content))
            stated = index.compression, index.compressed_size, index.uncompressed_size
            if chunks.get(index.chunk_start_offset) != stated or index.chunk_start_offset in indexed:
                raise DamagedFileError(f"the index has a chunk at byte {index.chunk_start_offset} that is not there")
            indexed.add(index.chunk_start_offset)
        elif opcode == Opcode.SCHEMA:
            schemas.append(Schema.read(_stream(content)))
        elif opcode == Opcode.FOOTER:
            summary = Footer.read(_stream(content)).summary_start
            if summary and summary not in offsets:
                raise DamagedFileError(f"the summary is not at byte {summary}, where the file states it")
            break
    else:
        raise DamagedFileError(f"the record at byte {end} of {len(data)} is not whole")
    _check_definitions(schemas)


def check_chunk(chunk: Chunk) -> bytes:
    """Decompresses a chunk and checks its size; its checksum is not checked.

    Raises:
        DamagedFileError: the size is not the stated one or exceeds `MAX_CHUNK`, or the compression is unknown.
    """
    stated, packed = chunk.uncompressed_size, chunk.data
    if stated > MAX_CHUNK:
        raise DamagedFileError(f"a chunk states {stated} bytes, expected at most {MAX_CHUNK}")
    unpacked, size = packed, stated
    if chunk.compression == "zstd":
        unpacked = _unpacked(packed, stated)
    elif chunk.compression == "lz4":
        flags = packed[4] if packed[:4] == _LZ4_MAGIC and len(packed) > 14 else 0
        if flags & _LZ4_HAS_SIZE:
            size = struct.unpack_from("<Q", packed, 6)[0]
        elif _LZ4_RATIO * len(packed) > MAX_CHUNK:
            raise DamagedFileError("a chunk packed with lz4 states no size")
        unpacked = get_chunk_data_stream(chunk)[0].read(MAX_CHUNK) if size == stated else b""
    elif chunk.compression:
        raise DamagedFileError(f"compression of a chunk: expected zstd or lz4, got {shortened(chunk.compression, 20)}")
    if len(unpacked) != stated:
        found = "more" if len(unpacked) > stated else "fewer"
        raise DamagedFileError(f"a chunk states {stated} bytes, but unpacks to {found}")
    return unpacked


def _unpacked(packed: bytes, stated: int) -> bytes:
    """Decompresses all frames of zstd, but stops once the result is longer than stated [bytes]."""
    found = bytearray()
    try:
        with zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True) as reader:
            while len(found) <= stated and (piece := reader.read(_PIECE)):
                found += piece
    except zstandard.ZstdError as error:
        raise DamagedFileError(f"a chunk cannot be unpacked: {' '.join(str(error).split())}") from None
    return bytes(found)


def _schemas_in(unpacked: memoryview) -> Iterator[Schema]:
    for _, opcode, content in records(unpacked, 0):
        if opcode == Opcode.SCHEMA:
            yield Schema.read(_stream(content))
        elif opcode not in (Opcode.CHANNEL, Opcode.MESSAGE):
            raise DamagedFileError(f"a chunk has a record of kind {opcode}, expected schemas, channels and messages")


def _stream(content: memoryview) -> ReadDataStream:
    return ReadDataStream(BytesIO(content))


# ---- message definitions --------------------------------------------------------------------------------


def _check_definitions(schemas: list[Schema]) -> None:
    texts = {(schema.name, schema.encoding, schema.data) for schema in schemas}
    length = sum(len(data) for _, _, data in texts)
    if length > MAX_DEFINITIONS:
        raise DamagedFileError(f"message definitions of {length} bytes, expected at most {MAX_DEFINITIONS}")
    for name, encoding, data in sorted(texts):
        check_definition(name, encoding, data.decode())


def check_definition(name: str, encoding: str, text: str) -> None:
    """Checks the definition of a message type and of the types in it.

    Args:
        name: name of the type, as haptic_msgs/msg/DeviceState.
        encoding: "ros2msg"; "ros2idl", "omgidl".
        text: text of the definition.

    Raises:
        DamagedFileError: the text is no definition, a type contains itself, or a message has more than `MAX_VALUES`
            values.
    """
    subject = f"message definition {shortened(name, 60)[1:-1]}"
    if len(text) > MAX_DEFINITIONS:
        raise DamagedFileError(f"{subject}: {len(text)} characters, expected at most {MAX_DEFINITIONS}")
    try:
        types = get_types_from_msg(text, name) if encoding == "ros2msg" else get_types_from_idl(text)
    except (TypesysError, ValueError, KeyError, IndexError, RecursionError):
        raise DamagedFileError(f"{subject}: not of the grammar of ROS 2") from None
    counted: dict[str, int] = {}
    for kind in types:
        if _values(kind, types, counted, subject) > MAX_VALUES:
            raise DamagedFileError(f"{subject}: more than {MAX_VALUES} values in a message")


def _values(kind: str, types: Mapping[str, Any], counted: dict[str, int], subject: str) -> int:
    """Counts the values of a message of a type, those of each element of a fixed array of texts or messages.

    The count stops at `MAX_VALUES` + 1. An array of numbers and a sequence count as one element.
    """
    if kind in counted:
        if not counted[kind]:
            raise DamagedFileError(f"{subject}: a message has itself as a part")
        return counted[kind]
    counted[kind], total = 0, 1
    for _, (node, argument) in types[kind][1] if kind in types else ():
        element, repeated = (node, argument), 1
        if node in (Nodetype.ARRAY, Nodetype.SEQUENCE):
            element, length = argument
            is_number = element[0] == Nodetype.BASE and element[1][0] != "string"
            repeated = length if node == Nodetype.ARRAY and not is_number else 1
        inner = _values(str(element[1]), types, counted, subject) if element[0] == Nodetype.NAME else 1
        total = min(total + repeated * inner, MAX_VALUES + 1)
    counted[kind] = total
    return total
