"""Copies of messages that are independent of the original.

A copy is made slot by slot, without the message's own checks. The parts that every tick message has, of geometry_msgs
and std_msgs, have separate functions: a loop over their slots takes three times as long.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from typing import Any

from builtin_interfaces.msg import Time
from geometry_msgs.msg import Accel, Point, Pose, Quaternion, Twist, Vector3, Wrench
from std_msgs.msg import Header

_new = object.__new__


def _copy_time(message: Any) -> Any:
    copy = _new(Time)
    copy._sec, copy._nanosec = message._sec, message._nanosec
    return copy


def _copy_header(message: Any) -> Any:
    copy = _new(Header)
    copy._stamp, copy._frame_id = _copy_time(message._stamp), message._frame_id
    return copy


def _copy_vector(message: Any) -> Any:
    copy = _new(Vector3)
    copy._x, copy._y, copy._z = message._x, message._y, message._z
    return copy


def _copy_point(message: Any) -> Any:
    copy = _new(Point)
    copy._x, copy._y, copy._z = message._x, message._y, message._z
    return copy


def _copy_quaternion(message: Any) -> Any:
    copy = _new(Quaternion)
    copy._x, copy._y, copy._z, copy._w = message._x, message._y, message._z, message._w
    return copy


def _copy_pose(message: Any) -> Any:
    copy = _new(Pose)
    copy._position, copy._orientation = _copy_point(message._position), _copy_quaternion(message._orientation)
    return copy


def _copy_twist(message: Any) -> Any:
    copy = _new(Twist)
    copy._linear, copy._angular = _copy_vector(message._linear), _copy_vector(message._angular)
    return copy


def _copy_accel(message: Any) -> Any:
    copy = _new(Accel)
    copy._linear, copy._angular = _copy_vector(message._linear), _copy_vector(message._angular)
    return copy


def _copy_wrench(message: Any) -> Any:
    copy = _new(Wrench)
    copy._force, copy._torque = _copy_vector(message._force), _copy_vector(message._torque)
    return copy


#: function that copies a message, by the message's class; other classes are added at their first message
_copiers: dict[type, Callable[[Any], Any]] = {
    Time: _copy_time,
    Header: _copy_header,
    Vector3: _copy_vector,
    Point: _copy_point,
    Quaternion: _copy_quaternion,
    Pose: _copy_pose,
    Twist: _copy_twist,
    Accel: _copy_accel,
    Wrench: _copy_wrench,
}


def copy_message(message: Any) -> Any:
    """Copies a message of any class, with its sequences."""
    copier = _copiers.get(type(message))
    return copier(message) if copier is not None else _copier(message)(message)


def _copier(message: Any) -> Callable[[Any], Any]:
    """Returns the function that copies messages of this message's class; makes it at the first call."""
    kind = type(message)
    found = _copiers.get(kind)
    if found is not None:
        return found
    shared: list[str] = []
    sequences: list[str] = []
    nested: list[tuple[str, Callable[[Any], Any]]] = []
    for slot in kind.__slots__:
        value = getattr(message, slot, None)
        if hasattr(value, "get_fields_and_field_types"):
            nested.append((slot, _copier(value)))
        elif isinstance(value, (array, list)):
            sequences.append(slot)
        elif hasattr(message, slot):
            shared.append(slot)  # immutable

    def copy(message: Any) -> Any:
        result = _new(kind)
        for slot in shared:
            setattr(result, slot, getattr(message, slot))
        for slot in sequences:
            setattr(result, slot, getattr(message, slot)[:])
        for slot, copier in nested:
            setattr(result, slot, copier(getattr(message, slot)))
        return result

    _copiers[kind] = copy
    return copy
