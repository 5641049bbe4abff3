"""Recorded run as serialised messages, for a replay: messages by tick, and the events between ticks."""

from __future__ import annotations

import struct
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from haptic_bags.bags import (
    TICK_EVENT,
    BagError,
    Event,
    damage,
    opened,
    parse_event,
    read_custom_data,
    repair_hint,
    typestore,
)
from haptic_bags.older_layouts import upgraded
from haptic_bags.recorder import tick_of, tick_offset

DEVICE_STATE, SIMULATION_STATE, DEVICE_COMMAND = (
    f"haptic_msgs/msg/{name}" for name in ("DeviceState", "SimulationState", "DeviceCommand")
)
#: message types that the player reads from a bag
PLAYED = (DEVICE_STATE, SIMULATION_STATE, DEVICE_COMMAND, TICK_EVENT)
#: kinds of events that change the answers of a rendering node
CHANGES = ("parameter", "reset")
#: kinds of events that inform and change nothing
_REMARKS = ("state", "error", "timing", "times")

Key = tuple[int, str]


class ReplayError(BagError):
    """A bag that cannot be replayed, or not with the given arguments."""


def source_of(data: bytes) -> str:
    """Returns the field `source` (after header and tick) of a serialised DeviceCommand."""
    offset = tick_offset(data) + 8
    (length,) = struct.unpack_from("<I", data, offset)
    return data[offset + 4 : offset + 3 + length].decode()


@dataclass(frozen=True)
class RecordedEvent:
    """A TickEvent, parsed and serialised, in the present layout."""

    event: Event
    data: bytes = field(repr=False)


@dataclass(frozen=True)
class Recording:
    """A run's bag, serialised.

    Attributes:
        path: directory of the bag.
        custom: texts that the recorder wrote into the metadata (experiment, mode, replay_of).
        types: message type by topic.
        messages: serialised messages by topic, then by tick and source; the source is empty except for commands.
        events: TickEvents ordered by tick, those of one tick in the order of recording.
        clock: topic of the device's states.
        latched: newest message by topic of each topic without ticks, such as the scene.
    """

    path: Path
    custom: dict[str, str]
    types: dict[str, str]
    messages: dict[str, dict[Key, bytes]]
    events: list[RecordedEvent]
    clock: str
    latched: dict[str, bytes] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path, types: Collection[str] | None = None) -> Recording:
        """Reads a bag.

        Args:
            path: directory of the bag.
            types: message types to read; None: all.

        Raises:
            ReplayError: there is no bag, it cannot be read, or it is not from a run of the suite.
        """
        if not path.exists():
            raise ReplayError(f"{path}: no such bag", "./haptics run writes runs/<time>-<name>/bag")
        messages: dict[str, dict[Key, bytes]] = {}
        events: list[RecordedEvent] = []
        latched: dict[str, bytes] = {}
        try:
            with opened(path) as reader:
                custom = read_custom_data(path)
                kinds = {connection.topic: connection.msgtype for connection in reader.connections}
                _check_is_a_run(path, custom, kinds)
                wanted = [c for c in reader.connections if types is None or c.msgtype in types]
                for connection, _, data in reader.messages(wanted):
                    if connection.msgtype == TICK_EVENT:
                        message = reader.deserialize(data, TICK_EVENT)
                        current = upgraded(message, typestore())
                        if current is not message:
                            data = bytes(typestore().serialize_cdr(current, TICK_EVENT))
                        events.append(RecordedEvent(parse_event(current), bytes(data)))
                    elif connection.topic in messages or _has_tick(connection.msgtype):
                        source = source_of(data) if connection.msgtype == DEVICE_COMMAND else ""
                        messages.setdefault(connection.topic, {})[tick_of(data), source] = bytes(data)
                    else:
                        latched[connection.topic] = bytes(data)
        except ReplayError:
            raise
        except Exception as error:  # a damaged file can fail anywhere in the libraries that read it
            raise ReplayError(f"{path}: not a readable bag: {damage(error)}", repair_hint(path)) from None
        events.sort(key=lambda recorded: recorded.event.tick)
        (clock,) = (topic for topic, kind in kinds.items() if kind == DEVICE_STATE)
        recording = cls(path, custom, kinds, messages, events, clock, latched)
        if not recording.played:
            raise ReplayError(f"{path}: no tick with an answer to replay", "the run ended before its first tick")
        return recording

    @property
    def experiment(self) -> str:
        """Name of the recorded experiment."""
        return self.custom["experiment"]

    @property
    def command_topic(self) -> str:
        """Topic of the commands."""
        return self.clock.removesuffix("device_state") + "device_command"

    @property
    def ticks(self) -> list[int]:
        """All ticks of the device."""
        return sorted(tick for tick, _ in self.messages.get(self.clock, {}))

    @property
    def played(self) -> list[int]:
        """Ticks with at least one command; the others did not reach the nodes, or ended the run."""
        answered = {tick for tick, _ in self.messages.get(self.command_topic, {})}
        return [tick for tick in self.ticks if tick in answered]

    @property
    def device(self) -> str:
        """Name of the device's node in its events; empty if it published none."""
        for recorded in self.events:
            if {"device", "sources"} <= recorded.event.detail.get("parameters", {}).keys():
                return recorded.event.source
        return ""

    @property
    def sources(self) -> list[str]:
        """Names of the rendering nodes that were the device's sources."""
        listed = self.parameters(self.device).get("sources")
        return list(listed or sorted({source for _, source in self.messages.get(self.command_topic, {})}))

    @property
    def kind(self) -> str:
        """Kind of the device by the commands that it accepts: "impedance", "admittance", or "scripted" (all)."""
        if self.parameters(self.device).get("device") == "scripted":
            return "scripted"
        modes = {self.started(source).get("mode") for source in self.sources}
        return "admittance" if "MOTION" in modes else "impedance"

    def started(self, source: str) -> dict[str, Any]:
        """Returns the event detail that a node published when it became active; empty if it never did."""
        for recorded in self.events:
            if recorded.event.source == source and _activates(recorded.event):
                return recorded.event.detail
        return {}

    def parameters(self, source: str) -> dict[str, Any]:
        """Returns the parameters with which a node became active; empty if it never did."""
        return dict(self.started(source).get("parameters", {}))

    def first_state(self) -> Any:
        """Deserialises the device's first DeviceState by rosbags."""
        tick = self.ticks[0]
        return typestore().deserialize_cdr(self.messages[self.clock][tick, ""], DEVICE_STATE)

    def changes(self, sources: Sequence[str]) -> list[Event]:
        """Returns the events that changed these rendering nodes between ticks, in order; see `changes_of`."""
        return changes_of([recorded.event for recorded in self.events], sources)


def changes_of(events: Sequence[Event], sources: Sequence[str]) -> list[Event]:
    """Returns the parameter changes and resets of nodes since each of them became active, in order.

    Earlier changes are contained in the parameters with which a node became active.

    Args:
        events: events ordered by tick.
        sources: names of the nodes.

    Raises:
        ReplayError: a node became active twice, or an event is of a kind that cannot be repeated.
    """
    hint = "only changes of parameters and resets can be repeated"
    active: set[str] = set()
    changes = []
    for event in events:
        if event.source not in sources:
            continue
        if _activates(event):
            if event.source in active:
                raise ReplayError(f"{event.source} became active again at tick {event.tick}", hint)
            active.add(event.source)
        elif event.source in active and event.kind in CHANGES:
            if event.detail or event.kind != "parameter":  # without detail, no parameter of the node's own changed
                changes.append(event)
        elif event.kind not in (*CHANGES, *_REMARKS):
            raise ReplayError(f"event {event.kind!r} of {event.source} at tick {event.tick} is unknown", hint)
    return changes


def _activates(event: Event) -> bool:
    return event.kind == "state" and event.detail.get("state") == "active"


def _has_tick(kind: str) -> bool:
    """Returns whether messages of a type start with a header and a tick."""
    return [name for name, _ in typestore().fielddefs[kind][1][:2]] == ["header", "tick"]


def _check_is_a_run(path: Path, custom: dict[str, str], kinds: dict[str, str]) -> None:
    clocks = [topic for topic, kind in kinds.items() if kind == DEVICE_STATE]
    missing = [] if custom.get("experiment") else ["the experiment's name"]
    missing += [] if len(clocks) == 1 and clocks[0].endswith("/device_state") else ["one topic device_state"]
    missing += [kind.rpartition("/")[2] for kind in (DEVICE_COMMAND, TICK_EVENT) if kind not in kinds.values()]
    if missing:
        hint = "runs/<time>-<name>/bag of ./haptics run can be replayed"
        raise ReplayError(f"{path}: no run of the suite, it lacks {', '.join(missing)}", hint)
