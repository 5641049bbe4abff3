"""The fast decoders give what rclpy's own deserialisation gives, and the encoder what a publisher sends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.serialization import deserialize_message, serialize_message
from std_msgs.msg import Header, String, UInt8MultiArray

from haptic_core.cdr import DeviceStateDecoder, decode_bundle, decode_device_command, encode_bundle, encoder
from haptic_core.errors import InputError
from haptic_msgs.msg import (
    BodyStates,
    ConstrainedReference,
    ContactArray,
    ContactPlanes,
    DeviceCommand,
    DeviceState,
    FrictionState,
    PassivityState,
    SimulationState,
    SolverStatistics,
    TickBundle,
    WallState,
)

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


@given(LENGTHS, LENGTHS, LENGTHS, TEXTS, TEXTS, st.integers(0, 2**64 - 1), st.sampled_from([0, 1, 2, 3, 9]))
def test_fields_that_the_mode_of_a_command_uses_are_decoded_as_by_rclpy(
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
    if mode == DeviceCommand.MODE_MOTION:
        assert decoded == command


def test_a_motion_that_is_cut_off_anywhere_is_refused_as_malformed() -> None:
    command = DeviceCommand(mode=DeviceCommand.MODE_MOTION, joint_position=[1.0, 2.0], joint_velocity=[3.0, 4.0])
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


TICK_MESSAGES = (
    BodyStates, ConstrainedReference, ContactArray, ContactPlanes, DeviceCommand, DeviceState, FrictionState,
    PassivityState, SimulationState, SolverStatistics, WallState, Header, String,
)  # fmt: skip


def fill_all(message: Any, random: np.random.Generator, size: int) -> None:
    """Random values in all fields, sequences and texts of up to `size`."""
    for name, kind in message.get_fields_and_field_types().items():
        value = getattr(message, name)
        some = int(random.integers(0, size + 1))
        if kind.startswith("sequence<"):
            numbers = random.integers(0, 2, some)
            setattr(message, name, [bool(n) for n in numbers] if "boolean" in kind else (7 * numbers).tolist())
        elif kind == "string":
            setattr(message, name, "é" * some)
        elif kind == "boolean":
            setattr(message, name, bool(some % 2))
        elif kind in ("float", "double"):
            setattr(message, name, random.normal())
        elif hasattr(value, "get_fields_and_field_types"):
            fill_all(value, random, size)
        else:
            setattr(message, name, some)


@pytest.fixture
def sent(context: Context) -> Iterator[Callable[[Any], bytes]]:
    """Returns a function that publishes a message and returns the bytes that a subscription receives."""
    node, arrived = Node("sender", context=context), []
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)

    def send(message: Any) -> bytes:
        topic = f"sent_{type(message).__name__}"
        publisher = node.create_publisher(type(message), topic, 10)
        subscription = node.create_subscription(type(message), topic, arrived.append, 10, raw=True)
        while not publisher.get_subscription_count():
            executor.spin_once(timeout_sec=0.01)
        publisher.publish(message)
        while not arrived:
            executor.spin_once(timeout_sec=0.01)
        node.destroy_publisher(publisher)
        node.destroy_subscription(subscription)
        return bytes(arrived.pop())

    yield send
    executor.shutdown()
    node.destroy_node()


@pytest.mark.parametrize("kind", TICK_MESSAGES)
def test_a_message_is_encoded_as_a_publisher_sends_it(kind: type, sent: Callable[[Any], bytes]) -> None:
    random, encode = np.random.default_rng(5), encoder(kind)
    for size in (0, 9):
        message = kind()
        fill_all(message, random, size)
        assert encode(message) == sent(message)


@pytest.mark.parametrize("kind", TICK_MESSAGES)
def test_encoded_messages_are_decoded_with_any_alignment(kind: type) -> None:
    random, encode = np.random.default_rng(6), encoder(kind)
    for _ in range(50):  # texts and sequences of any length bring what follows to any misalignment
        message = kind()
        fill_all(message, random, 9)
        assert deserialize_message(encode(message), kind) == message


def test_a_message_with_other_fields_cannot_be_encoded() -> None:
    with pytest.raises(TypeError, match=r"MultiArrayLayout\.dim: expected primitives, strings, sequences of"):
        encoder(UInt8MultiArray)


def test_bundle_is_a_valid_message_and_is_split_again() -> None:
    samples = [("/tau/wall/state", b"12345"), ("/é", b""), ("/a", bytes(range(64)))]
    data = encode_bundle(samples)
    message = deserialize_message(data, TickBundle)
    assert [(sample.topic, bytes(sample.data)) for sample in message.samples] == samples
    assert list(decode_bundle(data)) == samples
    assert list(decode_bundle(encode_bundle([]))) == []
    for end in range(4, len(data) - 1):
        with pytest.raises(InputError, match="TickBundle"):
            list(decode_bundle(data[:end]))
    with pytest.raises(InputError, match="TickBundle: encapsulation"):
        list(decode_bundle(b"\0\0" + data[2:]))
