"""Inputs of a node from other nodes: messages of a tick, gathered until the tick can be computed. No ROS.

An input is the state of another node at the same tick. A delayed input, which breaks a cycle in the graph of an
experiment, is the state at the previous tick. A tick is ready when the message of every input has arrived. After a gap
(realtime: the device does not wait) a delayed input may be older than one tick. It is used for a limited number of
ticks; then the input is missing, as at the start, until the next message arrives.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from haptic_core.errors import InputError, ParameterError
from haptic_files.entries import node_and_kind


class Input(NamedTuple):
    """A kind of input: the message, and the topic `~/<topic>` of the node that publishes it."""

    message: type
    topic: str = "state"


def of_kind(inputs: Mapping[str, Any], kind: str) -> list[tuple[str, Any]]:
    """Returns node and message of each input of one kind, in the order of the inputs."""
    found = []
    for entry, message in inputs.items():
        node, its = node_and_kind(entry)
        if its == kind:
            found.append((node, message))
    return found


#: ticks beyond its own for which the message of a delayed input is used in realtime
PATIENCE = 5

#: largest plausible lead of a message over the device's tick; one further ahead does not exclude earlier ones [ticks]
_AHEAD = PATIENCE + 3


class TickInputs:
    """The newest messages of each input.

    Args:
        names: inputs.
        delayed: inputs of which tick k uses the message of tick k - 1.
        patient: whether a delayed message may be up to `PATIENCE` ticks older than that.

    Attributes:
        old: number of ticks that were computed with an older message, or after a gap with none.

    Raises:
        ParameterError: a delayed input is none of the inputs, or a name is repeated.
    """

    def __init__(self, names: Sequence[str], delayed: Sequence[str] = (), *, patient: bool = False) -> None:
        if len(set(names)) != len(names):
            raise ParameterError(f"parameter inputs: expected each name once, got {list(names)}")
        for name in delayed:
            if name not in names:
                raise ParameterError(f"parameter delayed_inputs: expected some of {list(names)}, got {name!r}")
        self.names = tuple(names)
        self._delays = {name: int(name in delayed) for name in names}
        self._patience = PATIENCE if patient else 0
        self.restart()

    def restart(self) -> None:
        """Forgets all messages; at the next tick, the first, delayed inputs have no message."""
        self._messages: dict[str, dict[int, Any]] = {name: {} for name in self.names}  # by tick, in ascending order
        self._first: int | None = None
        self._last = -1
        self._forgotten: list[str] = []
        self.old = 0

    def begin(self) -> None:
        """Begins at tick 0 of a device that has started anew: forgets all messages except those of this tick."""
        self._first = None
        for kept in self._messages.values():
            if _newest(kept) > 0:
                kept.clear()

    def offer(self, name: str, tick: int, message: Any) -> None:
        """Stores a message.

        Raises:
            InputError: a message of this tick or a later one came before. Two cases are accepted: the earlier message
                is far ahead of the computed ticks, or the new one is tick 0 of a new start.
        """
        kept = self._messages[name]
        newest = _newest(kept)
        if not tick and newest > 0:
            kept.clear()
            newest = -1
        if tick <= newest:
            if tick in kept or tick < self._last - self._delays[name] or newest <= self._last + _AHEAD:
                raise InputError("wrong input tick", f"{name}: expected a tick above {newest}, got {tick}")
            self._forget_beyond(name, tick)
        kept[tick] = message
        while len(kept) > 3 + self._patience:
            del kept[next(iter(kept))]

    def expect(self, tick: int) -> list[str]:
        """Sets the device's tick; returns a line for each message far ahead that was dropped since the last tick."""
        self._last = tick
        for name in self.names:
            self._forget_beyond(name, tick + _AHEAD)
        forgotten, self._forgotten = self._forgotten, []
        return forgotten

    def _forget_beyond(self, name: str, tick: int) -> None:
        kept = self._messages[name]
        if _newest(kept) <= tick:
            return
        for ahead in [one for one in kept if one > tick]:
            del kept[ahead]
            self._forgotten.append(f"{name}: expected a tick near {self._last}, got {ahead}")

    def missing(self, tick: int) -> list[str]:
        """Returns the inputs that a tick still waits for."""
        return [name for name in self.names if self._tick_of(name, tick) is None]

    def take(self, tick: int) -> dict[str, Any]:
        """Returns the messages of a tick by input; None if a delayed input has no message yet."""
        if self._first is None:
            self._first = tick
        taken = {}
        for name in self.names:
            found = self._tick_of(name, tick)
            assert found is not None
            taken[name] = self._messages[name].get(found)
            self.old += found < tick - self._delays[name] and tick != self._first
        return taken

    def _tick_of(self, name: str, tick: int) -> int | None:
        """Returns the tick of an input's message that a tick uses; -1 if it needs none, None if it has not arrived."""
        kept, wanted = self._messages[name], tick - self._delays[name]
        if wanted in kept:
            return wanted
        if not self._delays[name]:
            return None
        if self._first is None or tick == self._first:
            return -1
        # nodes of a cycle that waited here after a longer gap would wait for each other
        no_message = -1 if self._patience else None
        return next((t for t in range(wanted - 1, wanted - 1 - self._patience, -1) if t in kept), no_message)


def _newest(kept: dict[int, Any]) -> int:
    """Returns the last tick of an input's messages; -1 if there are none."""
    return next(reversed(kept), -1)
