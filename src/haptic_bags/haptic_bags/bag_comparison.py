"""Comparison of two recordings of one experiment, message by message and bit by bit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from haptic_bags.bag_columns import field_names
from haptic_bags.bags import typestore
from haptic_bags.recording import DEVICE_STATE, SIMULATION_STATE, Key, Recording

#: fields with times measured on the wall clock, which differ in every replay
WALL_CLOCK_FIELDS = {"haptic_msgs/msg/SolverStatistics": ("solve_time",)}


@dataclass
class FieldDifference:
    """Differences of one field between two recordings.

    Attributes:
        ticks: number of messages in which the field differs.
        largest: largest absolute difference of an entry, in the field's unit; None if no difference can be computed.
        rms: root of the mean squared norm of the difference, in the field's unit, over all compared messages but those
            in `unlike`; None if no difference can be computed.
        unlike: number of messages whose values cannot be subtracted (text, truth value, other length, not finite).
    """

    ticks: int = 0
    largest: float | None = None
    rms: float | None = None
    unlike: int = 0
    squares: float = field(default=0.0, repr=False)

    def add(self, difference: np.ndarray | None) -> None:
        """Adds the difference of one message; None if it cannot be computed."""
        self.ticks += 1
        if difference is None:
            self.unlike += 1
            return
        self.largest = max(self.largest or 0.0, float(np.abs(difference).max()))
        self.squares += float((difference * difference).sum())


@dataclass
class TopicComparison:
    """Result of comparing two recordings of a topic.

    Attributes:
        type: message type.
        recorded, replayed: number of messages in each recording.
        compared: number of ticks (and sources) with a message in both recordings.
        differing: number of compared messages that are not equal bit for bit.
        first: tick of the first message that differs; None if none does.
        fields: differences by name of the field; fields without a difference are absent.
        left_out: fields that were not compared.
    """

    type: str
    recorded: int
    replayed: int
    compared: int = 0
    differing: int = 0
    first: int | None = None
    fields: dict[str, FieldDifference] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()

    @property
    def equal(self) -> bool:
        """True if at least one message was compared and all compared messages are equal bit for bit."""
        return self.compared > 0 and not self.differing


def compare_topic(kind: str, recorded: Mapping[Key, bytes], replayed: Mapping[Key, bytes]) -> TopicComparison:
    """Compares the messages of one topic that are in both recordings.

    The bits of the fields are compared, not the padding between fields. NaN equals NaN.

    Args:
        kind: message type.
        recorded: serialised messages by tick and source.
        replayed: serialised messages by tick and source. If each recording has one source, its name may differ.
    """
    recorded, replayed = _same_keys(recorded, replayed)
    left_out = WALL_CLOCK_FIELDS.get(kind, ())
    result = TopicComparison(kind, len(recorded), len(replayed), left_out=left_out)
    for key in sorted(recorded.keys() & replayed.keys()):
        result.compared += 1
        if recorded[key] == replayed[key]:
            continue
        one, other = (_without(typestore().deserialize_cdr(data[key], kind), left_out) for data in (recorded, replayed))
        if typestore().serialize_cdr(one, kind) == typestore().serialize_cdr(other, kind):
            continue
        result.differing += 1
        result.first = key[0] if result.first is None else result.first
        for (name, a), (_, b) in zip(leaves(one), leaves(other), strict=True):
            if not _same_bits(a, b):
                result.fields.setdefault(name, FieldDifference()).add(_difference(a, b))
    for difference in result.fields.values():
        if difference.largest is not None:
            difference.rms = float(np.sqrt(difference.squares / (result.compared - difference.unlike)))
    return result


def _same_keys(
    recorded: Mapping[Key, bytes], replayed: Mapping[Key, bytes]
) -> tuple[Mapping[Key, bytes], Mapping[Key, bytes]]:
    sources = [{source for _, source in messages} for messages in (recorded, replayed)]
    if sources[0] == sources[1] or max(map(len, sources)) > 1:
        return recorded, replayed
    return {(tick, ""): data for (tick, _), data in recorded.items()}, {
        (tick, ""): data for (tick, _), data in replayed.items()
    }


def _without(message: Any, names: tuple[str, ...]) -> Any:
    for name in names:
        object.__setattr__(message, name, 0.0)
    return message


def leaves(message: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yields the name and value of every field; vectors and quaternions are arrays, a stamp is in nanoseconds."""
    for name in field_names(message.__class__):
        value, full = getattr(message, name), prefix + name
        if hasattr(value, "sec") and hasattr(value, "nanosec"):
            yield full, np.array([1_000_000_000 * value.sec + value.nanosec])
        elif not hasattr(value, "__dataclass_fields__"):
            yield full, value
        elif all(isinstance(getattr(value, part), float) for part in field_names(value.__class__)):
            yield full, np.array([getattr(value, part) for part in field_names(value.__class__)])
        else:
            yield from leaves(value, full + ".")


def _same_bits(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return a.dtype == b.dtype and a.tobytes() == b.tobytes()
    if isinstance(a, float):
        return np.float64(a).tobytes() == np.float64(b).tobytes()
    return bool(a == b)


def _difference(a: Any, b: Any) -> np.ndarray | None:
    """Computes b - a; None if the values are not numbers, differ in shape, or the difference is not finite."""
    one, other = np.asarray(a), np.asarray(b)
    if one.dtype.kind not in "iuf" or other.dtype.kind not in "iuf" or one.shape != other.shape:
        return None
    one, other = np.atleast_1d(one), np.atleast_1d(other)
    both = (one == other) | (np.isnan(one) & np.isnan(other))
    if one.dtype.kind in "iu":
        difference = np.array([int(y) - int(x) for x, y in zip(one.tolist(), other.tolist(), strict=True)], float)
    else:
        with np.errstate(invalid="ignore"):
            difference = np.where(both, 0.0, other - one)
    return difference if np.isfinite(difference).all() else None


def compare_recordings(recorded: Recording, replayed: Recording) -> dict[str, TopicComparison]:
    """Compares the rendering nodes' topics that are in both recordings, in alphabetical order."""
    skipped = (DEVICE_STATE, SIMULATION_STATE)
    topics = sorted(recorded.messages.keys() & replayed.messages.keys())
    return {
        topic: compare_topic(recorded.types[topic], recorded.messages[topic], replayed.messages[topic])
        for topic in topics
        if recorded.types[topic] == replayed.types[topic] and recorded.types[topic] not in skipped
    }


def device_differs(recorded: Recording, replayed: Recording) -> str:
    """Describes where the replayed device differs from the recorded one; empty if it does not, as a replay requires."""
    played = set(recorded.played)
    for topic, kind in recorded.types.items():
        if kind not in (DEVICE_STATE, SIMULATION_STATE) or topic not in recorded.messages:
            continue
        again = replayed.messages.get(topic, {})
        wanted = {key: data for key, data in recorded.messages[topic].items() if key[0] in played}
        missing = sorted(tick for tick, _ in wanted.keys() - again.keys())
        if missing:
            return f"{topic} lacks {len(missing)} of {len(wanted)} ticks, the first is {missing[0]}"
        result = compare_topic(kind, wanted, again)
        if result.differing:
            return f"{topic} differs from tick {result.first} on"
    return ""
