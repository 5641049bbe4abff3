"""What a node takes from other nodes each tick: messages gathered until the tick can be computed. No ROS.

An input is the state of another node at the same tick, or, where the graph of an experiment would be a cycle, that of
the tick before: then the input is delayed. A tick is ready when the message of every input is there. After a gap
(realtime: the device does not wait) a delayed input may be older than one tick; it is used for a limited number of
ticks, and then the tick is not ready.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from haptic_core.errors import InputError, ParameterError

#: ticks for which the message of a delayed input serves beyond its own, in realtime
PATIENCE = 5


class TickInputs:
    """The newest messages of each input.

    Args:
        names: inputs.
        delayed: those of them of which tick k takes tick k - 1.
        patient: a delayed message may be up to `PATIENCE` ticks older than that.

    Attributes:
        old: ticks that were computed with an older message.

    Raises:
        ParameterError: a delayed input is none of the inputs, or a name comes twice.
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
        """Forgets all messages; the next tick is the first, of which delayed inputs have none."""
        self._messages: dict[str, dict[int, Any]] = {name: {} for name in self.names}
        self._first: int | None = None
        self.old = 0

    def offer(self, name: str, tick: int, message: Any) -> None:
        """Takes a message.

        Raises:
            InputError: a message of this tick or a later one was there before.
        """
        kept = self._messages[name]
        newest = max(kept, default=-1)
        if tick <= newest:
            raise InputError("wrong input tick", f"{name}: expected a tick above {newest}, got {tick}")
        kept[tick] = message
        while len(kept) > 2 + self._patience:
            del kept[min(kept)]

    def missing(self, tick: int) -> list[str]:
        """Inputs that a tick still waits for."""
        return [name for name in self.names if self._tick_of(name, tick) is None]

    def take(self, tick: int) -> dict[str, Any]:
        """The messages that belong to a tick, by input; None where a delayed input has none yet."""
        if self._first is None:
            self._first = tick
        taken = {}
        for name in self.names:
            found = self._tick_of(name, tick)
            assert found is not None
            taken[name] = self._messages[name].get(found)
            self.old += 0 <= found < tick - self._delays[name]
        return taken

    def _tick_of(self, name: str, tick: int) -> int | None:
        """Which message of an input a tick takes; -1: none, and none is needed; None: it is not there."""
        kept, wanted = self._messages[name], tick - self._delays[name]
        if wanted in kept:
            return wanted
        if not self._delays[name]:
            return None
        if self._first is None or tick == self._first:
            return -1  # before the start there was nothing
        return next((t for t in range(wanted - 1, wanted - 1 - self._patience, -1) if t in kept), None)
