"""Messages of a tick to and from their serialised form (CDR, little endian), and bundles of them.

rclpy builds a Python object for every nested field: 36 us for a DeviceState, 38 us for a DeviceCommand on
a machine where these decoders take 5 us. The decoders refill kept message objects, so the code that
uses the messages does not change; the tests compare them with rclpy's own deserialisation. `encoder` writes what a
publisher sends: rclpy's `serialize_message` appends bytes that belong to nothing, and does not clear its padding.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib import import_module
from operator import attrgetter
from struct import Struct, pack
from struct import error as StructError  # noqa: N812
from typing import Any

from rclpy.serialization import deserialize_message
from rosidl_parser.definition import AbstractSequence, AbstractString, BasicType, NamespacedType

from haptic_core.errors import InputError
from haptic_core.messages import ToolWriter
from haptic_msgs.msg import DeviceCommand, DeviceState

_CDR_LITTLE_ENDIAN = b"\x00\x01"
_LENGTH = Struct("<I")
_STAMP = Struct("<iII")
_TICK_PERIOD = Struct("<Qd")
_TICK = Struct("<Q")
_TOOL = Struct("<19d")
_WRENCH = Struct("<6d")
_TAIL = Struct("<?3xIBB")


def _align(offset: int, size: int) -> int:
    """Returns the next offset that is a multiple of `size`, counted from the end of the 4 encapsulation bytes."""
    return ((offset - 4 + size - 1) & -size) + 4


def _text(data: bytes, offset: int) -> tuple[str, int]:
    """Reads a string; returns it and the offset of the next byte."""
    (length,) = _LENGTH.unpack_from(data, offset)
    start = offset + 4
    return data[start : start + length - 1].decode(), start + length


def _numbers(data: bytes, offset: int) -> tuple[array, int]:
    """Reads a float64[]; returns it and the offset of the next byte."""
    offset = _align(offset, 4)
    (length,) = _LENGTH.unpack_from(data, offset)
    if not length:
        return array("d"), offset + 4
    start = _align(offset + 4, 8)
    end = start + 8 * length
    if end > len(data):
        raise ValueError(f"{length} numbers do not fit")
    return array("d", data[start:end]), end


def _header(data: bytes, header: Any) -> int:
    """Fills a std_msgs/Header; returns the offset of the next byte."""
    header.stamp._sec, header.stamp._nanosec, length = _STAMP.unpack_from(data, 4)
    header._frame_id = data[16 : 15 + length].decode()
    return int(16 + length)


class DeviceStateDecoder:
    """Decodes DeviceStates into one message object, which is reused."""

    def __init__(self) -> None:
        self._message = DeviceState()
        m = self._message
        self._tool = ToolWriter(m.tool_pose, m.tool_twist, m.tool_wrench)

    def decode(self, data: bytes) -> DeviceState:
        """Decodes a serialised DeviceState; the returned message is valid until the next call.

        Raises:
            InputError: the bytes are no DeviceState.
        """
        if data[:2] != _CDR_LITTLE_ENDIAN:
            return deserialized(data, DeviceState)
        m = self._message
        try:
            offset = _align(_header(data, m.header), 8)
            m._tick, m._period = _TICK_PERIOD.unpack_from(data, offset)
            m._joint_position, offset = _numbers(data, offset + 16)
            m._joint_velocity, offset = _numbers(data, offset)
            m._joint_effort, offset = _numbers(data, offset)
            offset = _align(offset, 8)
            self._tool.write(_TOOL.unpack_from(data, offset))
            m._has_force_sensor, m._buttons, m._status, m._limited = _TAIL.unpack_from(data, offset + 152)
        except (StructError, ValueError) as error:
            raise InputError("malformed", f"DeviceState: {error}") from None
        return m


def decode_device_command(data: bytes, message: DeviceCommand) -> DeviceCommand:
    """Decodes a DeviceCommand into a message; fields that its mode does not use are not changed.

    Args:
        data: serialised message.
        message: object to fill. A message in another encoding than CDR, little endian, is a new object, made by rclpy.

    Raises:
        InputError: the bytes are no DeviceCommand.
    """
    if data[:2] != _CDR_LITTLE_ENDIAN:
        return deserialized(data, DeviceCommand)
    m = message
    try:
        offset = _align(_header(data, m.header), 8)
        (m._tick,) = _TICK.unpack_from(data, offset)
        m._source, offset = _text(data, offset + 8)
        m._mode = data[offset]
        m._joint_effort, offset = _numbers(data, offset + 1)
        offset = _align(offset, 8)
        f, t = m.tool_wrench.force, m.tool_wrench.torque
        f._x, f._y, f._z, t._x, t._y, t._z = _WRENCH.unpack_from(data, offset)
        if m._mode == DeviceCommand.MODE_MOTION:
            _motion(data, offset + 48, m)
    except (StructError, ValueError, IndexError) as error:
        raise InputError("malformed", f"DeviceCommand: {error}") from None
    return m


def _motion(data: bytes, offset: int, m: DeviceCommand) -> None:
    """Fills the fields of the mode MOTION."""
    m._motion_fields = data[offset]
    p, q = m.tool_pose.position, m.tool_pose.orientation
    v, w = m.tool_twist.linear, m.tool_twist.angular
    a, b = m.tool_acceleration.linear, m.tool_acceleration.angular
    offset = _align(offset + 1, 8)
    (
        p._x, p._y, p._z, q._x, q._y, q._z, q._w,
        v._x, v._y, v._z, w._x, w._y, w._z,
        a._x, a._y, a._z, b._x, b._y, b._z,
    ) = _TOOL.unpack_from(data, offset)  # fmt: skip
    m._joint_position, offset = _numbers(data, offset + 152)
    m._joint_velocity, offset = _numbers(data, offset)


#: format characters of `struct` by ROS type
_FORMATS = {
    "boolean": "?", "octet": "B", "uint8": "B", "int8": "b", "uint16": "H", "int16": "h", "uint32": "I", "int32": "i",
    "uint64": "Q", "int64": "q", "float": "f", "double": "d",
}  # fmt: skip

#: serialises one part of a message, given its offset from the end of the encapsulation
_Part = Callable[[Any, int], bytes]


def encoder(kind: type) -> Callable[[Any], bytes]:
    """Makes a function that serialises messages of a class as a publisher sends them, with zeros as padding.

    Args:
        kind: message class whose fields are primitives, strings, sequences of primitives, and messages of such.

    Raises:
        TypeError: the class has other fields.
    """
    parts: list[_Part] = []
    fixed: list[tuple[str, str]] = []

    def close() -> None:
        if fixed:
            parts.append(_fixed([name for name, _ in fixed], "".join(code for _, code in fixed)))
            fixed.clear()

    def add(kind: Any, prefix: str) -> None:
        for slot, field in zip(kind.get_fields_and_field_types(), kind.SLOT_TYPES, strict=True):
            name = f"{prefix}_{slot}"
            if isinstance(field, BasicType) and field.typename in _FORMATS:
                fixed.append((name, _FORMATS[field.typename]))
            elif isinstance(field, NamespacedType):
                add(getattr(import_module(".".join(field.namespaces)), field.name), f"{name}.")
            elif isinstance(field, AbstractString):
                close()
                parts.append(_string(name))
            elif isinstance(field, AbstractSequence) and getattr(field.value_type, "typename", "") in _FORMATS:
                close()
                parts.append(_sequence(name, _FORMATS[field.value_type.typename]))
            else:
                raise TypeError(f"{kind.__name__}.{slot}: expected primitives, strings, sequences of primitives")

    add(kind, "")
    close()

    def encode(message: Any) -> bytes:
        written, offset = [_CDR_LITTLE_ENDIAN, b"\0\0"], 0
        for part in parts:
            data = part(message, offset)
            written.append(data)
            offset += len(data)
        return b"".join(written)

    return encode


def _fixed(names: list[str], codes: str) -> _Part:
    def layout(misalignment: int) -> Struct:
        text, offset = "<", misalignment
        for code in codes:
            size = Struct("<" + code).size
            text += f"{-offset % size}x{code}"
            offset += -offset % size + size
        return Struct(text)

    layouts = [layout(misalignment) for misalignment in range(8)]
    get = attrgetter(*names)
    if len(names) == 1:
        return lambda message, offset: layouts[offset & 7].pack(get(message))
    return lambda message, offset: layouts[offset & 7].pack(*get(message))


def _string(name: str) -> _Part:
    get, heads = attrgetter(name), _heads(1)

    def write(message: Any, offset: int) -> bytes:
        text: bytes = get(message).encode() + b"\0"
        return heads[offset & 7].pack(len(text)) + text

    return write


def _sequence(name: str, code: str) -> _Part:
    get, heads, empty = attrgetter(name), _heads(Struct("<" + code).size), _heads(1)[0].pack(0)

    def write(message: Any, offset: int) -> bytes:
        values = get(message)
        if not values:
            return bytes(-offset & 3) + empty
        data: bytes = values.tobytes() if values.__class__ is array else pack(f"<{len(values)}{code}", *values)
        return heads[offset & 7].pack(len(values)) + data

    return write


def _heads(size: int) -> list[Struct]:
    """Makes the layouts of a length that is followed by entries of a size [bytes], by the offset modulo 8."""
    heads = []
    for misalignment in range(8):
        before = -misalignment & 3
        heads.append(Struct(f"<{before}xI{-(misalignment + before + 4) % size}x"))
    return heads


def encode_bundle(samples: Sequence[tuple[str, bytes]]) -> bytes:
    """Serialises pairs of topic and serialised message as a TickBundle."""
    parts = [_CDR_LITTLE_ENDIAN, b"\0\0", _LENGTH.pack(len(samples))]
    for topic, data in samples:
        parts += (_topic_head(topic), _LENGTH.pack(len(data)), data, bytes(-len(data) % 4))
    return b"".join(parts)


@cache
def _topic_head(topic: str) -> bytes:
    """Serialises the topic of a sample, up to the length of its data; a process has few topics."""
    name = topic.encode() + b"\0"
    return _LENGTH.pack(len(name)) + name + bytes(-len(name) % 4)


def decode_bundle(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Yields topic and serialised message of each sample of a serialised TickBundle.

    Raises:
        InputError: the bytes are no TickBundle.
    """
    try:
        if data[:2] != _CDR_LITTLE_ENDIAN:
            raise ValueError(f"encapsulation {data[:2]!r}")
        (count,) = _LENGTH.unpack_from(data, 4)
        offset = 8
        for _ in range(count):
            topic, offset = _text(data, _align(offset, 4))
            start = _align(offset, 4) + 4
            (length,) = _LENGTH.unpack_from(data, start - 4)
            offset = start + length
            if offset > len(data):
                raise ValueError(f"{length} bytes do not fit")
            yield topic, data[start:offset]
    except (StructError, ValueError) as error:
        raise InputError("malformed", f"TickBundle: {error}") from None


def deserialized(data: bytes, kind: type) -> Any:
    """Deserialises a message of any type with rclpy; raises InputError if the bytes are no such message."""
    try:
        return deserialize_message(data, kind)
    except Exception as error:  # rclpy raises its own RCLError and plain Exceptions here
        raise InputError("malformed", f"{kind.__name__}: {error}") from None
