"""Conversions between message fields and arrays, and checks of received messages.

Measured per call in CPython 3.11: reading a float64[] field as a NumPy view 0.3 us, writing one
through a view that is kept 0.15 us, assigning `array.tolist()` 0.3 us plus the message's own checks. Building
a whole message object costs 10 us, so nodes reuse one object.
Quaternions are x, y, z, w everywhere; wrenches and twists are [linear; angular] arrays of 6.
"""

from __future__ import annotations

import json
import math
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from operator import attrgetter, truediv
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from haptic_core.errors import InputError

#: largest plausible quantity of a device in SI units; its square and its products with gains are still finite
LARGEST = 1e20
#: squared norms of a quaternion that is a rotation up to rounding
_ROTATION = (0.98, 1.02)
#: values of DeviceState.status; the message class looks its own constants up through properties
STATUS_OK, STATUS_SAFE_STOP, STATUS_FAULT = range(3)
#: number of float64 values from which on NumPy adds them faster than Python
_FEWEST_FOR_NUMPY = 100

# Components are read and written without the messages' properties, which cost as much as the arithmetic. The values
# come from float arrays of known length.


def view(field: array) -> np.ndarray:
    """Returns a float64[] field of a message as a NumPy array that shares its memory."""
    return np.frombuffer(field, dtype=np.float64)


def allocate(message: Any, field: str, size: int) -> np.ndarray:
    """Gives a float64[] field `size` entries and returns the view through which to fill it."""
    setattr(message, field, array("d", bytes(8 * size)))
    return view(getattr(message, field))


def _floats(values: ArrayLike) -> list[float]:
    """Returns numbers as floats: rclpy reads the memory of other numbers as that of a float."""
    numbers: list[float] = np.asarray(values, dtype=float).tolist()
    return numbers


def set_vector(target: Any, values: Iterable[float]) -> None:
    """Writes three numbers into a Vector3 or Point."""
    target._x, target._y, target._z = map(float, values)  # see `_floats`; faster for three


def vector(source: Any) -> tuple[float, float, float]:
    """Returns the three numbers of a Vector3 or Point."""
    return source._x, source._y, source._z


def set_pose(pose: Any, values: ArrayLike) -> None:
    """Writes [x, y, z, qx, qy, qz, qw] into a Pose."""
    p, q = pose.position, pose.orientation
    p._x, p._y, p._z, q._x, q._y, q._z, q._w = _floats(values)


def set_twist(twist: Any, values: ArrayLike) -> None:
    """Writes [linear; angular] into a Twist or an Accel."""
    a, b = twist.linear, twist.angular
    a._x, a._y, a._z, b._x, b._y, b._z = _floats(values)


def set_wrench(wrench: Any, values: ArrayLike) -> None:
    """Writes [force; torque] into a Wrench."""
    f, t = wrench.force, wrench.torque
    f._x, f._y, f._z, t._x, t._y, t._z = _floats(values)


def pose_array(pose: Any) -> np.ndarray:
    """Returns [x, y, z, qx, qy, qz, qw] of a Pose, shape (7,)."""
    p, q = pose.position, pose.orientation
    return np.array((p._x, p._y, p._z, q._x, q._y, q._z, q._w))


def twist_array(twist: Any) -> np.ndarray:
    """Returns [linear; angular] of a Twist or an Accel, shape (6,)."""
    a, b = twist.linear, twist.angular
    return np.array((a._x, a._y, a._z, b._x, b._y, b._z))


def wrench_array(wrench: Any) -> np.ndarray:
    """Returns [force; torque] of a Wrench, shape (6,)."""
    f, t = wrench.force, wrench.torque
    return np.array((f._x, f._y, f._z, t._x, t._y, t._z))


class ToolWriter:
    """Writes pose, twist and wrench of a tool into a message that is reused every tick.

    Args:
        pose: geometry_msgs/Pose of the message.
        twist: geometry_msgs/Twist.
        wrench: geometry_msgs/Wrench.
    """

    def __init__(self, pose: Any, twist: Any, wrench: Any) -> None:
        self._parts = (
            pose.position, pose.orientation, twist.linear, twist.angular, wrench.force, wrench.torque
        )  # fmt: skip

    def write(self, values: Sequence[float]) -> None:
        """Writes 19 floats: pose (7) with quaternion x, y, z, w, twist (6), wrench (6)."""
        p, q, v, w, f, t = self._parts
        (
            p._x, p._y, p._z, q._x, q._y, q._z, q._w,
            v._x, v._y, v._z, w._x, w._y, w._z,
            f._x, f._y, f._z, t._x, t._y, t._z,
        ) = values  # fmt: skip


def set_stamp(header: Any, nanoseconds: int) -> None:
    """Writes a time in nanoseconds into a header's stamp."""
    header.stamp.sec, header.stamp.nanosec = divmod(nanoseconds, 1_000_000_000)


def set_header(header: Any, other: Any) -> None:
    """Gives a header stamp and frame of another one."""
    header._stamp, header._frame_id = other._stamp, other._frame_id


def require_length(name: str, field: array, expected: int) -> None:
    """Raises InputError unless a float64[] field has the expected length."""
    if len(field) != expected:
        raise InputError("wrong length", f"{name}: expected {expected} numbers, got {len(field)}")


def require_finite(name: str, *numbers: float) -> None:
    """Raises InputError if one of the numbers is NaN, infinite or beyond `LARGEST`."""
    if not sum(map(abs, numbers)) < LARGEST:
        for number in numbers:
            if not math.isfinite(number):
                raise InputError("not finite", f"{name}: expected finite numbers, got {number}")
        for number in numbers:
            if not abs(number) < LARGEST / len(numbers):
                raise InputError("too large", f"{name}: expected numbers below {LARGEST:g}, got {number:g}")


def require_rotation(name: str, x: float, y: float, z: float, w: float) -> None:
    """Raises InputError unless a quaternion has the norm 1 within 1 %."""
    square = x * x + y * y + z * z + w * w
    if not _ROTATION[0] < square < _ROTATION[1]:
        raise InputError("no rotation", f"{name}: expected a quaternion of norm 1, got {math.sqrt(square):.3g}")


def check_device_state(state: Any, joints: int | None) -> None:
    """Raises InputError unless a DeviceState is complete and finite, with a unit quaternion and a known status.

    Args:
        state: haptic_msgs/DeviceState.
        joints: expected number of joints; None: the length of joint_position.
    """
    n = len(state.joint_position) if joints is None else joints
    require_length("joint_position", state.joint_position, n)
    require_length("joint_velocity", state.joint_velocity, n)
    require_length("joint_effort", state.joint_effort, n)
    groups = _device_state_numbers(state)
    total = abs(state.period) + sum(map(abs, chain.from_iterable(groups.values())))
    if not total < LARGEST:  # one test a tick; the field is looked for only when it fails
        require_finite("period", state.period)
        for name, numbers in groups.items():
            require_finite(name, *numbers)
        raise InputError("too large", f"the numbers of a DeviceState: expected a sum below {LARGEST:g}, got {total:g}")
    require_rotation("tool_pose.orientation", *groups["tool_pose"][3:])
    if state.status > STATUS_FAULT:
        raise InputError("unknown status", f"status: expected 0 to {STATUS_FAULT}, got {state.status}")


def _device_state_numbers(state: Any) -> dict[str, Any]:
    """Returns the numbers of a DeviceState by field, read without properties: this runs in every tick."""
    pose, twist, wrench = state.tool_pose, state.tool_twist, state.tool_wrench
    p, q = pose._position, pose._orientation
    v, w = twist._linear, twist._angular
    f, t = wrench._force, wrench._torque
    return {
        "joint_position": state.joint_position,
        "joint_velocity": state.joint_velocity,
        "joint_effort": state.joint_effort,
        "tool_pose": (p._x, p._y, p._z, q._x, q._y, q._z, q._w),
        "tool_twist": (v._x, v._y, v._z, w._x, w._y, w._z),
        "tool_wrench": (f._x, f._y, f._z, t._x, t._y, t._z),
    }


#: numbers per item of the arrays of a message about several items, by type and field
_ROWS: dict[str, dict[str, int]] = {
    "BodyStates": {"position": 3, "orientation": 4, "velocity": 3, "angular_velocity": 3},
    "ContactArray": {
        **dict.fromkeys(("body_a", "body_b", "signed_distance", "normal_impulse", "sticking"), 1),
        **dict.fromkeys(("position", "normal", "tangential_impulse", "slip_velocity"), 3),
    },
    "ContactPlanes": {
        **dict.fromkeys(("key", "body", "signed_distance", "inverse_mass"), 1),
        **dict.fromkeys(("point", "normal", "velocity"), 3),
    },
    "WallState": {"push": 1, "penetration": 1, "in_contact": 1, "point": 3, "normal": 3, "velocity": 3},
}


def check_state(message: Any) -> None:
    """Raises InputError unless a rendering node's state is finite and its arrays have the same number of items."""
    kind: Any = type(message)
    name = kind.__name__
    if name in _ROWS:
        _check_rows(name, message)
    if hasattr(kind, "period") and not message.period > 0.0:
        raise InputError("wrong period", f"{name}: period: expected a number above 0, got {message.period}")
    total = _sum_of_magnitudes(message)
    if not total < LARGEST:  # one test a tick; the field is looked for only when it fails
        _check_numbers(name, message)
        raise InputError("too large", f"the numbers of a {name}: expected a sum below {LARGEST:g}, got {total:g}")


def _check_rows(name: str, message: Any) -> None:
    """Raises InputError unless the arrays of a message about several items have the same number of items."""
    rows = _ROWS[name]
    lengths = map(len, _arrays_of(name)(message))
    counts = list(map(truediv, lengths, rows.values()))
    if len(set(counts)) > 1:
        text = ", ".join(f"{field} of {count:g}" for field, count in zip(rows, counts, strict=True))
        raise InputError("wrong length", f"{name}: expected arrays of as many items each, got {text}")


@cache
def _arrays_of(name: str) -> Callable[[Any], Any]:
    """Makes a function that reads the arrays of a message about several items without properties."""
    return attrgetter(*(f"_{field}" for field in _ROWS[name]))


def _sum_of_magnitudes(message: Any) -> float:
    """Adds the magnitudes of all float64 numbers of a message."""
    kind: Any = type(message)
    scalars, arrays = _numbers_of(kind)
    total: float = sum(map(abs, scalars(message)))
    values = arrays(message)
    if sum(map(len, values)) < _FEWEST_FOR_NUMPY:
        return total + sum(map(abs, chain.from_iterable(values)))
    with np.errstate(over="ignore"):
        return total + float(np.abs(np.frombuffer(b"".join(values))).sum())


@cache
def _numbers_of(kind: Any) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """Makes two functions that read all float64 fields, and all float64 arrays, of a message without properties."""
    found: dict[str, list[str]] = {"double": [], "sequence<double>": []}

    def look(message: Any, prefix: str) -> None:
        for field, its in message.get_fields_and_field_types().items():
            value = getattr(message, field)
            if its in found:
                found[its].append(f"{prefix}_{field}")
            elif field != "header" and hasattr(value, "get_fields_and_field_types"):
                look(value, f"{prefix}_{field}.")

    look(kind(), "")
    scalars, arrays = ([*names, *names[:1]] if len(names) == 1 else names for names in found.values())
    return (
        attrgetter(*scalars) if scalars else lambda _: (),
        attrgetter(*arrays) if arrays else lambda _: (),
    )


def _check_numbers(name: str, message: Any) -> None:
    for field in message.__slots__:
        value = getattr(message, field)
        if isinstance(value, float):
            require_finite(f"{name}: {field[1:]}", value)
        elif isinstance(value, array):
            if value.typecode == "d" and not sum(map(abs, value)) < LARGEST:
                require_finite(f"{name}: {field[1:]}", *value)
        elif hasattr(value, "__slots__"):
            _check_numbers(f"{name}: {field[1:]}", value)


def event_texts(detail: Mapping[str, Any]) -> dict[str, str]:
    """Converts the detail of an event to the texts of TickEvent.values.

    Args:
        detail: JSON values (numbers, texts, lists, objects) by name.

    Returns:
        Texts by path, sorted by name: the names of nested objects are joined by "/" (RFC 6901, without the first "/").
        A text that is no JSON is kept unchanged; all other values are JSON.
    """
    return {path: _event_text(value) for path, value in _leaves(detail)}


def detail_of(event: Any) -> dict[str, Any]:
    """Parses the values of a TickEvent, the inverse of `event_texts`; raises InputError if paths contradict."""
    detail: dict[str, Any] = {}
    for entry in event.values:
        *path, name = (part.replace("~1", "/").replace("~0", "~") for part in entry.key.split("/"))
        level: Any = detail
        for part in path:
            level = level.setdefault(part, {}) if isinstance(level, dict) else None
        if not isinstance(level, dict) or name in level:
            raise InputError(
                "malformed", f"event of {event.source}: values: {entry.key[:50]!r} contradicts another entry"
            )
        level[name] = _event_value(entry.value)
    return detail


def _leaves(detail: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in sorted(detail.items()):
        full_path = path + name.replace("~", "~0").replace("/", "~1")
        if isinstance(value, Mapping) and value:
            yield from _leaves(value, f"{full_path}/")
        else:
            yield full_path, value


def _event_text(value: Any) -> str:
    plain = isinstance(value, str) and _event_value(value) is value
    return str(value) if plain else json.dumps(value, sort_keys=True)


def _event_value(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
