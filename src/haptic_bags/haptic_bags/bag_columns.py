"""Conversion of the serialised messages of one topic to columns, one row per message.

Messages whose strings and sequences have equal lengths have every field at the same offset; each field then is a slice
of one table of bytes. `one_by_one` deserialises every message. It is used where few messages have the same layout,
contain fields of other kinds or are damaged; it raises the error of a damaged message. Tests compare it with `columns`.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import MISSING, dataclass, field, fields
from functools import cache
from typing import Any

import numpy as np
from rosbags.interfaces import Nodetype
from rosbags.typesys.store import Typestore

#: NumPy type by ROS type
_PRIMITIVES = {
    name: np.dtype(name).newbyteorder("<")
    for name in ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64")
}
_LITTLE_ENDIAN = b"\x00\x01"
#: smallest mean number of messages per layout; with fewer, each message is deserialised alone
_MIN_MESSAGES_PER_LAYOUT = 8

Columns = dict[str, Any]


def columns(samples: Sequence[bytes], kind: str, types: Typestore) -> Columns:
    """Converts serialised messages (CDR) of one type to columns.

    A header becomes its stamp [s]. Nested numbers become an array (n, k), lists of equal length an array (n, length),
    other lists a list of arrays, texts a list.

    Args:
        samples: at least one message.
        kind: message type, as haptic_msgs/msg/DeviceState.
        types: store with the definition of the type.
    """
    sizes: dict[int, list[int]] = {}
    for k, data in enumerate(samples):
        sizes.setdefault(len(data), []).append(k)
    groups, parts = list(sizes.values()), list[tuple[list[int], Columns]]()
    try:
        while groups:
            if len(samples) < _MIN_MESSAGES_PER_LAYOUT * (len(groups) + len(parts)):
                raise _UnlikeError
            rows = groups.pop()
            alike, part = _table([samples[k] for k in rows], kind, types)
            parts.append(([k for k, same in zip(rows, alike, strict=True) if same], part))
            if len(parts[-1][0]) < len(rows):
                groups.append([k for k, same in zip(rows, alike, strict=True) if not same])
    except _UnlikeError:
        return one_by_one(samples, lambda data: types.deserialize_cdr(data, kind))
    if len(parts) == 1:
        return parts[0][1]
    return {name: _merged([(rows, part[name]) for rows, part in parts], len(samples)) for name in parts[0][1]}


def one_by_one(samples: Sequence[bytes], deserialise: Callable[[bytes], Any]) -> Columns:
    """Converts messages to the same columns as `columns` by deserialising every message."""
    found: dict[str, list[Any]] = {}
    for data in samples:
        for name, value in _fields(deserialise(data)):
            found.setdefault(name, []).append(value)
    return {name: _column(values) for name, values in found.items()}


@cache
def field_names(message_class: type) -> tuple[str, ...]:
    """Returns the names of a message's fields, without its constants."""
    # rosbags lists constants as fields with a default
    return tuple(field.name for field in fields(message_class) if field.default is MISSING)


def _fields(message: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yields the name and value of each field; nested numbers become one flat tuple."""
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


# ---- by layout ----------------------------------------------------------------------------------------


class _UnlikeError(Exception):
    """Messages that must be deserialised one by one."""


@dataclass
class _Layout:
    """Layout of the fields of one serialised message.

    Attributes:
        entries: path, ROS type ("string" for texts), offset and number of elements (None: a scalar) of each field.
        lengths: offset and value of each length of a string or sequence; they determine all other offsets.
    """

    data: bytes
    types: Typestore
    entries: list[tuple[tuple[str, ...], str, int, int | None]] = field(default_factory=list)
    lengths: list[tuple[int, int]] = field(default_factory=list)
    offset: int = 4

    def walk(self, kind: str, path: tuple[str, ...] = ()) -> None:
        for name, (node, argument) in self.types.fielddefs[kind][1]:
            if node == Nodetype.NAME:
                self.walk(str(argument), (*path, name))
            elif node == Nodetype.BASE:
                self._add_entry((*path, name), str(argument[0]), None)
            else:
                element: Any = argument[0]
                if element[0] != Nodetype.BASE or element[1][0] == "string":
                    raise _UnlikeError
                is_sequence = node == Nodetype.SEQUENCE
                count = self._read_length() if is_sequence else int(argument[1])  # type: ignore[call-overload]
                self._add_entry((*path, name), str(element[1][0]), count)

    def _align(self, size: int) -> None:
        self.offset += -(self.offset - 4) % size

    def _read_length(self) -> int:
        self._align(4)
        count = int.from_bytes(self.data[self.offset : self.offset + 4], "little")
        self.lengths.append((self.offset, count))
        self.offset += 4
        return count

    def _add_entry(self, path: tuple[str, ...], kind: str, count: int | None) -> None:
        if kind == "string":
            length = self._read_length()
            if length == 0:
                raise _UnlikeError
            self.entries.append((path, kind, self.offset, length - 1))
            self.offset += length
            return
        if kind not in _PRIMITIVES:
            raise _UnlikeError
        size = _PRIMITIVES[kind].itemsize
        if count != 0:
            self._align(size)
        self.entries.append((path, kind, self.offset, count))
        self.offset += size * (1 if count is None else count)


def _table(samples: list[bytes], kind: str, types: Typestore) -> tuple[list[bool], Columns]:
    """Finds the messages, all of one size, with the layout of the first (bool each), and returns their columns."""
    layout = _Layout(bytes(samples[0]), types)
    layout.walk(kind)
    if not layout.offset <= len(layout.data) <= layout.offset + 3:  # a writer may pad to a multiple of four
        raise _UnlikeError
    table = np.frombuffer(bytearray().join(samples), dtype=np.uint8).reshape(len(samples), -1)
    fixed = [0, 1] + [offset + i for offset, _ in layout.lengths for i in range(4)]
    alike = (table[:, fixed] == table[0, fixed]).all(axis=1)
    if layout.data[:2] != _LITTLE_ENDIAN:
        raise _UnlikeError
    table = table[alike]

    def values(offset: int, kind: str, count: int) -> np.ndarray:
        dtype = _PRIMITIVES[kind]
        part = np.ascontiguousarray(table[:, offset : offset + count * dtype.itemsize])
        return part.view(dtype) if count else np.empty((len(table), 0), dtype)

    found: Columns = {}
    nested: dict[str, list[np.ndarray]] = {}
    for path, kind, offset, count in layout.entries:
        name = path[0]
        if kind == "string":
            if len(path) == 1:
                found[name] = [row.tobytes().decode() for row in table[:, offset : offset + (count or 0)]]
            elif name != "header":
                raise _UnlikeError
        elif len(path) == 1 and count is not None:
            found[name] = values(offset, kind, count)
        elif len(path) == 1:
            found[name] = _scalars(values(offset, kind, 1)[:, 0])
        elif count is None and (name == "header" or kind == "float64"):
            if not nested.get(name):
                found["stamp" if name == "header" else name] = None  # keeps the order of the fields
            nested.setdefault(name, []).append(values(offset, kind, 1)[:, 0])
        else:
            raise _UnlikeError
    for name, rows in nested.items():
        if name == "header":
            seconds, nanoseconds = rows
            found["stamp"] = seconds + 1e-9 * nanoseconds
        else:
            found[name] = np.stack(rows, axis=1)
    return alike.tolist(), found


def _scalars(values: np.ndarray) -> np.ndarray:
    """Converts numbers to the type of an array that NumPy makes of Python's numbers."""
    if values.dtype.kind in "iu":
        if values.dtype == np.uint64 and (values >> np.uint64(63)).any():
            raise _UnlikeError
        return values.astype(np.int64)
    return values.astype(np.float64) if values.dtype.kind == "f" else values


def _merged(parts: list[tuple[list[int], Any]], n: int) -> Any:
    """Merges the columns of groups of rows into one column of n rows."""
    first = parts[0][1]
    if isinstance(first, np.ndarray) and all(values.shape[1:] == first.shape[1:] for _, values in parts):
        column = np.empty((n, *first.shape[1:]), first.dtype)
        for rows, values in parts:
            column[rows] = values
        return column
    listed: list[Any] = [None] * n
    for rows, values in parts:
        for k, value in zip(rows, values, strict=True):
            listed[k] = value
    return listed
