"""Columns of serialised messages: all at once gives what deserialising each message gives."""

from __future__ import annotations

from array import array
from typing import Any

import numpy as np
import pytest
from rclpy.serialization import serialize_message

from haptic_bags import bag_columns
from haptic_bags.bags import typestore
from haptic_core.cdr import encoder
from haptic_msgs import msg
from haptic_msgs.msg import ContactArray, DeviceCommand, DeviceState, Scene, SolverStatistics

TICKS = 60


def reference(samples: list[bytes], kind: str) -> dict[str, Any]:
    return bag_columns.one_by_one(samples, lambda data: typestore().deserialize_cdr(data, kind))


def assert_the_same(samples: list[bytes], kind: str) -> dict[str, Any]:
    found, expected = bag_columns.columns(samples, kind, typestore()), reference(samples, kind)
    assert list(found) == list(expected)
    for name, column in expected.items():
        assert type(found[name]) is type(column), name
        if isinstance(column, np.ndarray):
            assert found[name].dtype == column.dtype and found[name].flags.writeable, name
            np.testing.assert_array_equal(found[name], column, err_msg=name)
        else:
            for mine, its in zip(found[name], column, strict=True):
                assert np.asarray(mine).dtype == np.asarray(its).dtype, name
                np.testing.assert_array_equal(mine, its, err_msg=name)
    return found


def filled(kind: type, tick: int, length: int, text: str) -> Any:
    """A message with numbers of its own in every field, lists of `length` and texts `text`."""
    message, number = kind(), iter(range(1, 10_000))

    def fill(part: Any) -> None:
        for name, type_ in part.get_fields_and_field_types().items():
            value = getattr(part, name)
            if type_ == "string":
                setattr(part, name, f"{name}{text}")
            elif isinstance(value, array):
                numbers = (tick + next(number) for _ in range(length))
                setattr(
                    part, name, array(value.typecode, (n % 200 if value.typecode != "d" else n / 7 for n in numbers))
                )
            elif type_ == "sequence<boolean>":
                setattr(part, name, [bool((tick + next(number)) % 3) for _ in range(length)])
            elif isinstance(value, bytes):
                setattr(part, name, bytes([tick % 2]))
            elif hasattr(value, "get_fields_and_field_types"):
                fill(value)
            elif isinstance(value, bool):
                setattr(part, name, bool((tick + next(number)) % 2))
            elif isinstance(value, int):
                setattr(part, name, (tick + next(number)) % 120)
            elif isinstance(value, float):
                setattr(part, name, float(np.float32((tick + next(number)) / 7)))

    fill(message)
    return message


def encodable(kind: Any) -> bool:
    """Whether it is a message that `encoder` takes: without lists of texts or of messages."""
    try:
        return callable(encoder(kind))
    except (AttributeError, TypeError):
        return False


KINDS = sorted(name for name in dir(msg) if encodable(getattr(msg, name)))


@pytest.mark.parametrize("name", KINDS)
def test_of_every_message_type(name: str) -> None:
    kind = getattr(msg, name)
    encode = encoder(kind)
    samples = [encode(filled(kind, k, 3, "one")) for k in range(TICKS)]
    assert_the_same(samples, f"haptic_msgs/msg/{name}")
    # lists and texts whose lengths change: several sizes
    mixed = [encode(filled(kind, k, k % 3, "one" if k % 2 else "another")) for k in range(TICKS)]
    assert_the_same(mixed, f"haptic_msgs/msg/{name}")


def test_messages_of_the_suite_s_loop_take_the_short_way(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any) -> Any:
        raise AssertionError("deserialised one by one")

    samples = {kind: [encoder(kind)(filled(kind, k, 6, "a")) for k in range(TICKS)]
               for kind in (DeviceState, DeviceCommand, ContactArray, SolverStatistics)}  # fmt: skip
    monkeypatch.setattr(bag_columns, "one_by_one", refused)
    for kind, messages in samples.items():
        found = bag_columns.columns(messages, f"haptic_msgs/msg/{kind.__name__}", typestore())
        assert len(found["tick"]) == TICKS
    with pytest.raises(AssertionError, match="one by one"):
        scene = [bytes(serialize_message(Scene(name=["a"]))) for _ in range(TICKS)]
        bag_columns.columns(scene, "haptic_msgs/msg/Scene", typestore())


def test_lists_that_change_places_in_messages_of_one_size_are_not_mixed_up() -> None:
    """Two numbers and one, one and two: as many bytes, other offsets."""
    encode = encoder(DeviceState)
    samples = [
        encode(
            DeviceState(
                tick=k, joint_position=array("d", [k] * (1 + k % 2)), joint_effort=array("d", [-k] * (2 - k % 2))
            )
        )
        for k in range(TICKS)
    ]
    assert len({len(data) for data in samples}) == 1
    found = assert_the_same(samples, "haptic_msgs/msg/DeviceState")
    assert list(found["joint_position"][3]) == [3.0, 3.0] and list(found["joint_effort"][3]) == [-3.0]


def test_a_damaged_message_is_refused_as_it_is_alone() -> None:
    encode = encoder(DeviceState)
    samples = [encode(DeviceState(tick=k, joint_position=array("d", [1.0, 2.0])))[:-90] for k in range(TICKS)]
    with pytest.raises(Exception) as alone:  # rosbags raises what it stumbles over
        reference(samples, "haptic_msgs/msg/DeviceState")
    with pytest.raises(type(alone.value)):
        bag_columns.columns(samples, "haptic_msgs/msg/DeviceState", typestore())


def test_large_numbers_stay_what_they_are() -> None:
    encode = encoder(DeviceState)
    samples = [encode(DeviceState(tick=2**64 - 1 - k)) for k in range(TICKS)]
    found = assert_the_same(samples, "haptic_msgs/msg/DeviceState")
    assert int(found["tick"][0]) == 2**64 - 1
