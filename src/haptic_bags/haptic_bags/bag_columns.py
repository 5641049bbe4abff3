"""Serialised messages of one topic as columns, one row a message: all at once where messages are laid out alike.

Messages whose lengths of strings and sequences agree have every field at the same place; the field then is a slice of
one table of bytes. `one_by_one` deserialises each message and is what `columns` is tested against; it takes over where
few messages are alike, where they hold fields of other kinds, or are damaged, and then says what is wrong.
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

#: bytes and NumPy's type by ROS type
_PRIMITIVES = {
    name: np.dtype(name).newbyteorder("<")
    for name in ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64")
}
_LITTLE_ENDIAN = b"\x00\x01"
#: groups of messages that are alike have at least so many on average, else each is deserialised alone
_WORTHWHILE = 8

Columns = dict[str, Any]


def columns(samples: Sequence[bytes], kind: str, types: Typestore) -> Columns:
    """Columns of serialised messages (CDR) of one type.

    A header becomes its stamp [s], nested numbers one row (n, k), lists of one length (n, length), others lists of
    arrays, texts lists.

    Args:
        samples: at least one message.
        kind: their type, as haptic_msgs/msg/DeviceState.
        types: knows it.
    """
    sizes: dict[int, list[int]] = {}
    for k, data in enumerate(samples):
        sizes.setdefault(len(data), []).append(k)
    groups, parts = list(sizes.values()), list[tuple[list[int], Columns]]()
    try:
        while groups:
            if len(samples) < _WORTHWHILE * (len(groups) + len(parts)):
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
    """The same by deserialising every message."""
    found: dict[str, list[Any]] = {}
    for data in samples:
        for name, value in _fields(deserialise(data)):
            found.setdefault(name, []).append(value)
    return {name: _column(values) for name, values in found.items()}


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


# ---- all at once ----------------------------------------------------------------------------------------


class _UnlikeError(Exception):
    """Messages that have to be deserialised one by one."""


@dataclass
class _Layout:
    """Where the fields of one message lie, by its bytes.

    Attributes:
        places: path, ROS type ("string" for texts), offset and number of elements (None: a scalar) of each field.
        lengths: offsets and values of all lengths of strings and sequences, which settle where everything lies.
    """

    data: bytes
    types: Typestore
    places: list[tuple[tuple[str, ...], str, int, int | None]] = field(default_factory=list)
    lengths: list[tuple[int, int]] = field(default_factory=list)
    offset: int = 4

    def walk(self, kind: str, path: tuple[str, ...] = ()) -> None:
        for name, (node, argument) in self.types.fielddefs[kind][1]:
            if node == Nodetype.NAME:
                self.walk(str(argument), (*path, name))
            elif node == Nodetype.BASE:
                self._place((*path, name), str(argument[0]), None)
            else:
                element: Any = argument[0]
                if element[0] != Nodetype.BASE or element[1][0] == "string":
                    raise _UnlikeError
                count = self._length() if node == Nodetype.SEQUENCE else int(argument[1])  # type: ignore[call-overload]
                self._place((*path, name), str(element[1][0]), count)

    def _aligned(self, size: int) -> None:
        self.offset += -(self.offset - 4) % size

    def _length(self) -> int:
        self._aligned(4)
        count = int.from_bytes(self.data[self.offset : self.offset + 4], "little")
        self.lengths.append((self.offset, count))
        self.offset += 4
        return count

    def _place(self, path: tuple[str, ...], kind: str, count: int | None) -> None:
        if kind == "string":
            length = self._length()
            if length == 0:
                raise _UnlikeError
            self.places.append((path, kind, self.offset, length - 1))
            self.offset += length
            return
        if kind not in _PRIMITIVES:
            raise _UnlikeError
        size = _PRIMITIVES[kind].itemsize
        if count != 0:
            self._aligned(size)
        self.places.append((path, kind, self.offset, count))
        self.offset += size * (1 if count is None else count)


def _table(samples: list[bytes], kind: str, types: Typestore) -> tuple[list[bool], Columns]:
    """Which of these messages of one size are laid out as the first, and their columns."""
    layout = _Layout(bytes(samples[0]), types)
    layout.walk(kind)
    if not layout.offset <= len(layout.data) <= layout.offset + 3:  # a writer may fill up to a multiple of four
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
    for path, kind, offset, count in layout.places:
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
                found["stamp" if name == "header" else name] = None  # keeps its place
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
    """As NumPy makes an array of Python's numbers."""
    if values.dtype.kind in "iu":
        if values.dtype == np.uint64 and (values >> np.uint64(63)).any():
            raise _UnlikeError
        return values.astype(np.int64)
    return values.astype(np.float64) if values.dtype.kind == "f" else values


def _merged(parts: list[tuple[list[int], Any]], n: int) -> Any:
    """One column of those of groups of rows."""
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
