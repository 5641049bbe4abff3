"""Bad messages at the inputs of a node in this process, and the requirements on its answers.

A `Barrage` modifies messages that are right for the next tick of a node, each in one of the `KINDS`: malformed bytes,
wrong ticks, numbers that are not finite or implausible, wrong lengths, unknown values. No message may raise an error or
lead to a published number that is not finite, and refused messages must be counted. Good ticks in between, and three at
the end, must be answered.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from rclpy.serialization import serialize_message

from haptic_core.ticks import LARGEST_JUMP

#: modifications of a message
KINDS = (
    *("good", "gap", "swapped", "duplicate", "late", "far tick", "first again"),
    *("not finite", "extreme", "large", "tiny", "wrong length", "huge array", "unknown value", "no rotation", "period"),
    *("wrong source", "cut off", "flipped bits", "random bytes", "no bytes", "other endian", "long text"),
)
#: kinds of which a message must be refused, if it has the modified field
REFUSED = frozenset(
    {"duplicate", "late", "far tick", "not finite", "extreme", "no bytes", "wrong source", "period", "unknown value"}
)
#: fields of which every value is valid: free choices, or bits
_FREE = {"buttons", "has_force_sensor", "limited"}
_TINY = (5e-324, -2.2e-308, 1e-200, -0.0)
_LARGE = (1e9, -1e12, 9e14, 1e18)
_EXTREME = (1e308, -1e308, 1e200, -1e155, 1.7976931348623157e308, 1e21)
_NOT_FINITE = (math.nan, math.inf, -math.inf)


def numbers_of(message: Any) -> Iterator[tuple[Any, str, int]]:
    """Yields every float64 of a message: the part that contains it, its field, and its index in an array or -1."""
    for name, kind in message.get_fields_and_field_types().items():
        if name == "header":
            continue
        value = getattr(message, name)
        if kind == "double":
            yield message, name, -1
        elif kind == "sequence<double>":
            yield from ((message, name, index) for index in range(len(value)))
        elif hasattr(value, "get_fields_and_field_types"):
            yield from numbers_of(value)


def is_finite(message: Any, leave_out: frozenset[str] = frozenset()) -> bool:
    """Returns whether all float64 of a message are finite; the fields `leave_out` do not count."""
    for name, kind in message.get_fields_and_field_types().items():
        if name == "header" or name in leave_out:
            continue
        value = getattr(message, name)
        if kind == "double":
            fine = math.isfinite(value)
        elif kind == "sequence<double>":
            fine = bool(np.isfinite(value).all())
        else:
            fine = not hasattr(value, "get_fields_and_field_types") or is_finite(value)
        if not fine:
            return False
    return True


@dataclass
class Port:
    """An input of a node.

    Attributes:
        name: name of the topic, for the table.
        make: function that creates a new message that is right for a tick.
        take: function that passes serialised bytes, or a message, to the node.
        serialised: True if the node takes bytes; else rclpy discards bytes that are no message.
        checked: kinds that must be refused here.
    """

    name: str
    make: Callable[[int], Any]
    take: Callable[[Any], Any]
    serialised: bool = True
    checked: frozenset[str] = REFUSED


@dataclass
class Subject:
    """A node that is ready for messages.

    Attributes:
        name: name of the node, for the table.
        ports: inputs in the order of their messages in a tick.
        tick: function that returns the next tick that the node expects.
        rejections: number of rejected messages by reason.
        output: topic of each published message with its tick and mode, or False if a number is not finite.
        answered: function that returns whether a tick was answered correctly, after a good message to all ports.
        close: function that ends the node.
    """

    name: str
    ports: list[Port]
    tick: Callable[[], int]
    rejections: Counter[str]
    output: list[tuple[str, Any]]
    answered: Callable[[int], bool]
    close: Callable[[], None] = lambda: None


class FoundError(AssertionError):
    """A requirement that a node does not meet."""


def _spoil_number(message: Any, values: tuple[float, ...], random: np.random.Generator) -> bool:
    numbers = list(numbers_of(message))
    if not numbers:
        return False
    part, name, index = numbers[random.integers(len(numbers))]
    value = float(values[random.integers(len(values))])
    if index < 0:
        setattr(part, f"_{name}", value)
    else:
        getattr(part, name)[index] = value
    return True


def _spoil_length(message: Any, random: np.random.Generator, huge: bool) -> bool:
    kinds = message.get_fields_and_field_types()
    arrays = [
        name
        for name, kind in kinds.items()
        if kind.startswith("sequence<") and "string" not in kind and ("/" not in kind or getattr(message, name))
    ]
    if not arrays:
        return False
    name = arrays[random.integers(len(arrays))]
    old = getattr(message, name)
    if huge:
        length = 1_000 if "/" in kinds[name] else 100_000  # messages, which rclpy converts one by one, or numbers
    else:
        length = int(random.choice([n for n in (0, 1, len(old) - 1, len(old) + 1, 7, 64) if n >= 0 and n != len(old)]))
    if isinstance(old, array):
        setattr(message, name, array(old.typecode, [1 if old.typecode != "d" else 0.5]) * length)
    else:
        setattr(message, name, [old[0] if "/" in kinds[name] else True] * length)  # messages, or truth values
    return True


def _spoil_value(message: Any, random: np.random.Generator) -> bool:
    kinds = message.get_fields_and_field_types()
    names = [name for name, kind in kinds.items() if kind == "uint8" and name not in _FREE]
    if getattr(message, "mode", 3) != 3:
        names = [name for name in names if name != "motion_fields"]  # only a MOTION has them
    if not names:
        return False
    setattr(message, "_" + names[random.integers(len(names))], int(random.integers(8, 256)))
    return True


def _spoil_rotation(message: Any, random: np.random.Generator) -> bool:
    names = [name for name in ("tool_pose", "pose") if hasattr(message, name)]
    if not names:
        return False
    q = getattr(message, names[0])
    q = getattr(q, "pose", q).orientation
    factor = float(random.choice([0.0, 1e-9, 100.0]))
    q._x, q._y, q._z, q._w = (factor * value for value in (q._x, q._y, q._z, q._w))
    return True


def _spoil_bytes(kind: str, data: bytes, random: np.random.Generator) -> bytes:
    if kind == "cut off":
        return data[: random.integers(4, len(data) - 8)]
    if kind == "no bytes":
        return data[: random.integers(0, 4)]
    if kind == "random bytes":
        return b"\x00\x01\x00\x00" + random.bytes(int(random.integers(0, len(data))))
    if kind == "other endian":
        return b"\x00\x00" + data[2:]
    spoilt = bytearray(data)
    for _ in range(int(random.integers(1, 9))):
        spoilt[random.integers(2, len(spoilt))] ^= 1 << int(random.integers(8))
    return bytes(spoilt)


def spoilt(kind: str, port: Port, tick: int, random: np.random.Generator) -> list[Any] | None:
    """Creates the messages of a kind for a tick, in the form that the port takes; None if the kind does not apply."""
    message = port.make(tick)
    has_tick, fits = hasattr(message, "tick"), True
    if kind in ("gap", "swapped", "duplicate", "late", "far tick", "first again") and not has_tick:
        return None
    if kind == "gap":
        message.tick = tick + int(random.integers(1, 5))
    elif kind == "swapped":
        return [_packed(port, port.make(tick + 1)), _packed(port, message)]
    elif kind == "duplicate":
        message.tick = tick - 1
        fits = tick > 1
    elif kind == "late":
        fits = tick > 2
        message.tick = int(random.integers(1, tick - 1)) if fits else 0
    elif kind == "far tick":
        far = (tick + LARGEST_JUMP + int(random.integers(1, 10**9)), 2**63 - 1, 2**63 + 5, 2**64 - 1)
        message.tick = far[random.integers(len(far))]
    elif kind == "first again":
        message.tick = 0
    elif kind == "not finite":
        fits = _spoil_number(message, _NOT_FINITE, random)
    elif kind == "extreme":
        fits = _spoil_number(message, _EXTREME, random)
    elif kind == "large":
        fits = _spoil_number(message, _LARGE, random)
    elif kind == "tiny":
        fits = _spoil_number(message, _TINY, random)
    elif kind in ("wrong length", "huge array"):
        fits = _spoil_length(message, random, kind == "huge array")
    elif kind == "unknown value":
        fits = _spoil_value(message, random)
    elif kind == "no rotation":
        fits = _spoil_rotation(message, random)
    elif kind == "period":
        fits = hasattr(message, "period")
        if fits:
            message.period = float(random.choice([0.0, -1e-3, 2e-3, 1e-300]))
    elif kind == "wrong source":
        fits = hasattr(message, "source")
        if fits:
            message.source = str(random.choice(["", "nobody", "x" * 1000]))
    elif kind == "long text":
        fits = hasattr(message, "header")
        if fits:
            message.header.frame_id = "x" * int(random.choice([0, 1, 100_000]))
    elif kind != "good":
        fits = port.serialised
        return [_spoil_bytes(kind, serialize_message(message), random)] if fits else None
    return [_packed(port, message)] if fits else None


def _packed(port: Port, message: Any) -> Any:
    return serialize_message(message) if port.serialised else message


@dataclass
class Barrage:
    """Messages to one node, and their outcomes.

    Attributes:
        subject: node under test.
        counts: number of messages that were sent, answered, and refused for each reason, by port and kind.
        sent: number of all messages, including the good ones.
    """

    subject: Subject
    counts: dict[tuple[str, str], Counter[str]] = field(default_factory=dict)
    sent: int = 0

    def send(self, kind: str, port: Port, seed: int) -> None:
        """Sends messages of one kind to a port, after good messages to most other ports; raises FoundError."""
        subject, random = self.subject, np.random.default_rng(seed)
        tick = subject.tick()
        messages = spoilt(kind, port, tick, random)
        if messages is None:
            return
        before = Counter(subject.rejections)
        for other in subject.ports:
            if other is not port and random.random() < 0.8:
                self._take(other, _packed(other, other.make(tick)), "good")
        own, first = Counter(subject.rejections), len(subject.output)
        for data in messages:
            self._take(port, data, kind)
        refused = subject.rejections - own
        known = self.counts.setdefault((port.name, kind), Counter())
        known["sent"] += len(messages)
        known.update({f"refused: {name}": count for name, count in (subject.rejections - before).items()})
        known["answered"] += sum("command" in topic for topic, _ in subject.output)
        acted = any("command" in topic and what[1] for topic, what in subject.output[first:])
        if kind in port.checked and not refused and (acted or port is not subject.ports[-1]):
            raise FoundError(f"{subject.name}: {port.name}: {kind} (seed {seed}) was taken")
        subject.output.clear()

    def good(self) -> None:
        """Sends good messages of one tick, which must be answered; raises FoundError."""
        subject = self.subject
        tick = subject.tick()
        for _ in range(10):  # a bad message may have replaced a good one of this tick, or of one of the next ticks
            for port in subject.ports:
                self._take(port, _packed(port, port.make(tick)), "good")
            if subject.answered(tick):
                subject.output.clear()
                return
            tick = subject.tick()
        raise FoundError(f"{subject.name}: no answer to good messages of tick {tick}: {dict(subject.rejections)}")

    def _take(self, port: Port, data: Any, kind: str) -> None:
        subject = self.subject
        self.sent += 1
        try:
            port.take(data)
        except Exception as error:
            raise FoundError(f"{subject.name}: {port.name}: {kind} raised {type(error).__name__}: {error}") from error
        for topic, fine in subject.output:
            if fine is False:
                raise FoundError(f"{subject.name}: {port.name}: {kind} made {topic} not finite")

    def run(self, messages: int, seed: int) -> None:
        """Sends about this number of messages, and three good ticks at the end; raises FoundError."""
        random = np.random.default_rng(seed)
        end = self.sent + messages
        while self.sent < end:
            kind = KINDS[random.integers(len(KINDS))]
            port = self.subject.ports[random.integers(len(self.subject.ports))]
            self.send(kind, port, int(random.integers(2**63)))
            if random.random() < 0.2:
                self.good()
        for _ in range(3):
            self.good()
