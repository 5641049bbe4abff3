"""The fast decoders give what rclpy's own deserialisation gives, and refuse what is no message."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rclpy.serialization import serialize_message

from haptic_core.cdr import DeviceStateDecoder, decode_device_command
from haptic_core.errors import InputError
from haptic_msgs.msg import DeviceCommand, DeviceState

LENGTHS = st.integers(0, 5)
TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\x00", exclude_categories=["Cs"]), max_size=9)


def fill(message: object, random: np.random.Generator) -> None:
    """Random numbers in every float field of a message and of the messages in it."""
    for name, kind in message.get_fields_and_field_types().items():
        value = getattr(message, name)
        if kind == "double":
            setattr(message, name, random.normal())
        elif hasattr(value, "get_fields_and_field_types"):
            fill(value, random)


@settings(derandomize=True, deadline=None, database=None)
@given(LENGTHS, LENGTHS, LENGTHS, TEXTS, st.integers(0, 2**64 - 1), st.integers(0, 2**32 - 1), st.booleans())
def test_a_device_state_is_decoded_as_rclpy_does(
    n: int, m: int, k: int, frame: str, tick: int, buttons: int, sensor: bool
) -> None:
    random = np.random.default_rng(n + 7 * m + 31 * k)
    state = DeviceState(tick=tick, buttons=buttons, has_force_sensor=sensor, status=1)
    fill(state, random)
    state.header.frame_id = frame
    state.header.stamp.sec, state.header.stamp.nanosec = 12, 34
    state.joint_position = random.normal(size=n).tolist()
    state.joint_velocity = random.normal(size=m).tolist()
    state.joint_effort = random.normal(size=k).tolist()
    decoder = DeviceStateDecoder()
    decoder.decode(serialize_message(DeviceState(joint_position=[1.0] * 4)))  # leaves nothing behind
    assert decoder.decode(serialize_message(state)) == state


@settings(derandomize=True, deadline=None, database=None)
@given(LENGTHS, LENGTHS, LENGTHS, TEXTS, TEXTS, st.integers(0, 2**64 - 1), st.sampled_from([0, 1, 2, 3, 9]))
def test_what_a_command_s_mode_uses_is_decoded_as_rclpy_does(
    n: int, m: int, k: int, frame: str, source: str, tick: int, mode: int
) -> None:
    random = np.random.default_rng(n + 7 * m + 31 * k)
    command = DeviceCommand(source=source, tick=tick, mode=mode, motion_fields=3)
    fill(command, random)
    command.header.frame_id = frame
    command.joint_effort = random.normal(size=n).tolist()
    command.joint_position = random.normal(size=m).tolist()
    command.joint_velocity = random.normal(size=k).tolist()
    used = DeviceCommand(mode=3, motion_fields=7, joint_position=[1.0] * 4, joint_velocity=[2.0])  # leaves nothing
    decoded = decode_device_command(serialize_message(command), used)
    for name in ("header", "source", "tick", "mode", "joint_effort", "tool_wrench"):
        assert getattr(decoded, name) == getattr(command, name), name
    if mode == DeviceCommand.MOTION:
        assert decoded == command


def test_a_motion_that_is_cut_off_anywhere_is_refused_as_malformed() -> None:
    command = DeviceCommand(mode=DeviceCommand.MOTION, joint_position=[1.0, 2.0], joint_velocity=[3.0, 4.0])
    data = serialize_message(command)
    whole = len(data.rstrip(b"\x00"))  # the serialiser may pad the end; the last number is not zero
    for length in range(whole):
        with pytest.raises(InputError) as caught:
            decode_device_command(data[:length], DeviceCommand())
        assert caught.value.kind == "malformed"


@pytest.mark.parametrize("kind", [DeviceState, DeviceCommand])
def test_cut_off_or_senseless_bytes_are_refused_as_malformed(kind: type) -> None:
    message = kind(joint_effort=[1.0, 2.0])
    message.header.frame_id = "base"
    data = serialize_message(message)
    decode = DeviceStateDecoder().decode if kind is DeviceState else lambda d: decode_device_command(d, DeviceCommand())
    for length in (2, 3, 10, 17, 30, 60, 80):
        with pytest.raises(InputError) as caught:
            decode(data[:length])
        assert caught.value.kind == "malformed"
    with pytest.raises(InputError):
        decode(data[:12] + b"\xff\xff\xff\xff" + data[16:])  # a frame name of 4 GiB
    with pytest.raises(InputError):
        decode(b"\x00\x01\x00\x00" + b"\xff" * 40)
