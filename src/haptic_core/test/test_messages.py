"""Conversions between messages and arrays, and the check of what came over the wire."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator
from operator import attrgetter
from typing import Any

import numpy as np
import pytest
from diagnostic_msgs.msg import KeyValue
from geometry_msgs.msg import Point, Pose, Twist, Vector3, Wrench
from hypothesis import given
from hypothesis import strategies as st
from rclpy.serialization import deserialize_message, serialize_message
from std_msgs.msg import Header

from haptic_core.errors import InputError
from haptic_core.events import make_event
from haptic_core.messages import (
    LARGEST,
    STATUS_FAULT,
    STATUS_OK,
    STATUS_SAFE_STOP,
    ToolWriter,
    allocate,
    check_device_state,
    check_state,
    detail_of,
    event_texts,
    require_finite,
    require_length,
    set_pose,
    set_stamp,
    set_twist,
    set_vector,
    set_wrench,
    vector,
    view,
    wrench_array,
)
from haptic_msgs.msg import (
    ConstrainedReference,
    ContactArray,
    DeviceState,
    FrictionState,
    TickEvent,
    WallState,
)

JOINTS = 2


def numbers(message: Any, path: str = "") -> Iterator[str]:
    """Paths of all floating-point numbers of a message, from its type; array entries as name[i]."""
    for name, kind in message.get_fields_and_field_types().items():
        here = f"{path}.{name}" if path else name
        if kind == "double":
            yield here
        elif kind == "sequence<double>":
            yield from (f"{here}[{i}]" for i in range(len(getattr(message, name))))
        elif "/" in kind and not kind.startswith("std_msgs"):
            yield from numbers(getattr(message, name), here)


def put(message: Any, path: str, value: float) -> None:
    """Writes a number at a path of `numbers`."""
    *parents, last = path.split(".")
    for parent in parents:
        message = getattr(message, parent)
    name, _, index = last.rstrip("]").partition("[")
    if index:
        getattr(message, name)[int(index)] = value
    else:
        setattr(message, name, value)


@pytest.mark.parametrize("kind", [int, np.float32, list])
def test_numbers_that_are_no_floats_are_published_as_floats(kind: Any) -> None:
    """rclpy reads the memory of other numbers as that of a float: -5 became NaN, 1 became 5e-324."""
    pose, twist, wrench = Pose(), Twist(), Wrench()
    values = [1, 2, -5, 0, 0, 0, 1]
    given = values if kind is list else np.array(values, dtype=kind)
    set_pose(pose, given)
    set_twist(twist, given[:6])
    set_wrench(wrench, given[:6])
    for message in (pose, twist, wrench):
        again = deserialize_message(serialize_message(message), type(message))
        assert again == message
        assert [*map(float, given[: len(list(numbers(message)))])] == [
            attrgetter(path)(again) for path in numbers(message)
        ]
    set_vector(wrench.torque, given[:3])
    assert vector(deserialize_message(serialize_message(wrench), Wrench).torque) == (1.0, 2.0, -5.0)


def device_state() -> DeviceState:
    state = DeviceState(period=1e-3)
    for name in ("joint_position", "joint_velocity", "joint_effort"):
        allocate(state, name, JOINTS)
    return state


def test_status_is_that_of_the_message() -> None:
    assert DeviceState.STATUS_OK == STATUS_OK
    assert DeviceState.STATUS_SAFE_STOP == STATUS_SAFE_STOP
    assert DeviceState.STATUS_FAULT == STATUS_FAULT


def test_a_view_shares_the_field_s_memory_both_ways():
    state = device_state()
    position = view(state.joint_position)
    position[1] = 2.5
    assert state.joint_position[1] == 2.5
    state.joint_position[0] = -1.0
    assert position[0] == -1.0


def test_an_allocated_field_has_the_size_and_is_zero():
    state = DeviceState()
    filled = allocate(state, "joint_effort", 3)
    assert list(state.joint_effort) == [0.0, 0.0, 0.0]
    filled[:] = (1.0, 2.0, 3.0)
    assert list(state.joint_effort) == [1.0, 2.0, 3.0]


@pytest.mark.parametrize("target", [Vector3(), Point()], ids=["Vector3", "Point"])
def test_a_vector_is_x_y_z(target):
    set_vector(target, (1.0, 2.0, 3.0))
    assert (target.x, target.y, target.z) == (1.0, 2.0, 3.0)
    assert vector(target) == (1.0, 2.0, 3.0)


def test_a_pose_is_position_then_quaternion_x_y_z_w():
    pose = Pose()
    set_pose(pose, np.arange(1.0, 8.0))
    p, q = pose.position, pose.orientation
    assert (p.x, p.y, p.z, q.x, q.y, q.z, q.w) == (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0)


def test_a_twist_is_linear_then_angular():
    twist = Twist()
    set_twist(twist, np.arange(1.0, 7.0))
    assert vector(twist.linear) + vector(twist.angular) == (1.0, 2.0, 3.0, 4.0, 5.0, 6.0)


@given(st.lists(st.floats(allow_nan=False), min_size=6, max_size=6))
def test_a_wrench_is_force_then_torque_and_comes_back_bit_for_bit(values):
    wrench = Wrench()
    set_wrench(wrench, np.array(values))
    assert vector(wrench.force) + vector(wrench.torque) == tuple(values)
    assert wrench_array(wrench).tolist() == values


def test_the_tool_writer_takes_pose_twist_wrench_in_this_order():
    state = DeviceState()
    ToolWriter(state.tool_pose, state.tool_twist, state.tool_wrench).write([float(i) for i in range(19)])
    p, q = state.tool_pose.position, state.tool_pose.orientation
    assert (p.x, p.y, p.z, q.x, q.y, q.z, q.w) == tuple(range(7))
    assert vector(state.tool_twist.linear) + vector(state.tool_twist.angular) == tuple(range(7, 13))
    assert wrench_array(state.tool_wrench).tolist() == list(range(13, 19))


@pytest.mark.parametrize(("nanoseconds", "stamp"), [(0, (0, 0)), (1_000_000, (0, 10**6)), (3_000_000_001, (3, 1))])
def test_a_stamp_is_split_into_seconds_and_nanoseconds(nanoseconds, stamp):
    header = Header()
    set_stamp(header, nanoseconds)
    assert (header.stamp.sec, header.stamp.nanosec) == stamp


def test_a_complete_finite_state_passes():
    check_device_state(device_state(), JOINTS)
    check_device_state(device_state(), None)
    assert len(list(numbers(device_state()))) == 1 + 3 * JOINTS + 19  # so the tests below cover every number


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("path", list(numbers(device_state())))
def test_a_number_that_is_not_finite_is_refused_by_its_field(path, value):
    state = device_state()
    put(state, path, value)
    field = path.split(".")[0].split("[")[0]
    with pytest.raises(InputError, match=f"^{field}: expected finite numbers, got {value}$") as error:
        check_device_state(state, JOINTS)
    assert error.value.kind == "not finite"


def test_infinities_that_cancel_are_refused_too():
    state = device_state()
    state.joint_position[0], state.tool_twist.linear.x = math.inf, -math.inf
    with pytest.raises(InputError, match=r"^joint_position: expected finite numbers, got inf$"):
        check_device_state(state, JOINTS)


@pytest.mark.parametrize("values", [(1.7e308, 1.7e308), (1e200, -1e200), (0.0, -1.01 * LARGEST)])
def test_numbers_that_no_device_has_are_refused(values: tuple[float, float]) -> None:
    """Also those whose sum is zero."""
    state = device_state()
    state.joint_position[:2] = array("d", values)
    with pytest.raises(InputError, match="joint_position: expected numbers below 1e") as caught:
        check_device_state(state, JOINTS)
    assert caught.value.kind == "too large"
    state.joint_position[:2] = array("d", (0.1 * LARGEST, -0.1 * LARGEST))
    check_device_state(state, JOINTS)


@pytest.mark.parametrize("factor", [0.0, 0.98, 1.02, 1e9])
def test_quaternion_that_is_no_rotation_is_refused(factor: float) -> None:
    state = device_state()
    q = state.tool_pose.orientation
    q.x, q.y, q.z, q.w = 0.0, 0.6 * factor, 0.0, 0.8 * factor
    with pytest.raises(InputError, match=r"tool_pose.orientation: expected a quaternion of norm 1, got") as caught:
        check_device_state(state, JOINTS)
    assert caught.value.kind == "no rotation"
    q.y, q.w = 0.6, 0.8 + 1e-3
    check_device_state(state, JOINTS)


def test_a_status_that_there_is_not_is_refused() -> None:
    state = device_state()
    for state.status in (0, 1, 2):
        check_device_state(state, JOINTS)
    state.status = 3
    with pytest.raises(InputError, match="status: expected 0 to 2, got 3") as caught:
        check_device_state(state, JOINTS)
    assert caught.value.kind == "unknown status"


def _contacts(**fields: object) -> ContactArray:
    one = {name: [0.0] for name in ("signed_distance", "normal_impulse")}
    three = {name: [0.0] * 3 for name in ("position", "normal", "tangential_impulse", "slip_velocity")}
    return ContactArray(**{"period": 1e-3, "body_a": [0], "body_b": [1], "sticking": [True], **one, **three, **fields})


@pytest.mark.parametrize(
    ("message", "kind", "told"),
    [
        (_contacts(normal=[0.0] * 6), "wrong length", "expected arrays of as many items each, got .*normal of 2"),
        (_contacts(sticking=[]), "wrong length", "sticking of 0"),
        (
            _contacts(slip_velocity=[0.0, math.nan, 0.0]),
            "not finite",
            "slip_velocity: expected finite numbers, got nan",
        ),
        (_contacts(normal_impulse=[1e300]), "too large", "normal_impulse: expected numbers below 1e"),
        (_contacts(period=0.0), "wrong period", "period: expected a number above 0, got 0"),
        (WallState(push=[1.0]), "wrong length", "WallState: expected arrays of as many"),
        (FrictionState(force=[math.inf]), "not finite", "FrictionState: force: expected finite numbers, got inf"),
        (ConstrainedReference(kinetic_energy=math.nan), "not finite", "kinetic_energy"),
    ],
)
def test_a_state_of_another_node_that_cannot_be_used_is_refused(message: object, kind: str, told: str) -> None:
    with pytest.raises(InputError, match=told) as caught:
        check_state(message)
    assert caught.value.kind == kind


def test_a_state_of_another_node_that_can_be_used_passes() -> None:
    reference = ConstrainedReference(multipliers=[1.0, 2.0])
    for message in (_contacts(), WallState(), FrictionState(force=[1.0]), reference):
        check_state(message)
    reference.twist.linear.y = math.nan
    with pytest.raises(InputError, match="twist: linear: y: expected finite numbers, got nan"):
        check_state(reference)


@pytest.mark.parametrize("keys", [("a", "a"), ("a", "a/b"), ("a/b", "a"), ("a/b", "a/b/c"), ("/", "")])
def test_values_of_an_event_that_contradict_each_other_are_refused(keys: tuple[str, ...]) -> None:
    event = TickEvent(source="wall", values=[KeyValue(key=key, value="1") for key in keys])
    with pytest.raises(InputError, match=r"event of wall: values: '.*' contradicts another entry") as caught:
        detail_of(event)
    assert caught.value.kind == "malformed"


def test_values_of_an_event_are_read_as_they_were_given() -> None:
    detail = {
        "parameters": {"stiffness": 6000.0, "gains": [1.0, 2.0], "ball.mass": 0.1, "off": False, "none": {}, "": 3},
        "reason": "source a: silent",
        "texts": {"true": "true", "1.0": "1.0", "NaN": "NaN", '"a"': '"a"', "": "", "[": "[" * 5000, "a/b~1~": "ü"},
        "large": 2**70,
        "tiny": 5e-324,
        "deep": {"a": {"b": {"c": [{"d": None}]}}},
    }
    event = make_event("wall", TickEvent.KIND_STATE, detail, tick=3)
    assert (event.source, event.tick, event.kind, detail_of(event)) == ("wall", 3, "state", detail)
    assert repr(detail_of(event)["tiny"]) == repr(5e-324)


def test_values_of_an_event_can_be_read_without_a_program() -> None:
    detail = {"state": "active", "parameters": {"stiffness": 6000.0, "model": "d", "points": [1.0, 2.0]}}
    assert event_texts(detail) == {
        "parameters/model": "d",
        "parameters/points": "[1.0, 2.0]",
        "parameters/stiffness": "6000.0",
        "state": "active",
    }


@pytest.mark.parametrize("length", [0, 1, 3])
@pytest.mark.parametrize("field", ["joint_position", "joint_velocity", "joint_effort"])
def test_an_array_of_wrong_length_is_refused_by_its_field(field, length):
    state = device_state()
    allocate(state, field, length)
    with pytest.raises(InputError, match=f"^{field}: expected {JOINTS} numbers, got {length}$") as error:
        check_device_state(state, JOINTS)
    assert error.value.kind == "wrong length"


def test_without_an_expected_number_of_joints_the_arrays_must_agree():
    state = device_state()
    allocate(state, "joint_velocity", 3)
    with pytest.raises(InputError, match=r"^joint_velocity: expected 2 numbers, got 3$"):
        check_device_state(state, None)


def test_requirements_name_the_field_what_was_expected_and_what_came():
    with pytest.raises(InputError, match=r"^load: expected finite numbers, got nan$"):
        require_finite("load", 1.0, math.nan)
    with pytest.raises(InputError, match=r"^load: expected 2 numbers, got 1$"):
        require_length("load", [1.0], 2)
