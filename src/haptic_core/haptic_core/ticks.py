"""The tick counter of a node that answers a device: forward only, gaps counted."""

from __future__ import annotations

from haptic_core.errors import InputError


class TickCounter:
    """Accepts each tick once, in order.

    Attributes:
        last: the tick accepted last; -1 before the first.
        missed: ticks that were jumped over since the start.
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forgets the past: the next tick may be any."""
        self.last = -1
        self.missed = 0

    def accept(self, tick: int) -> None:
        """Takes a tick.

        Raises:
            InputError: the tick was there before or lies before the last one.
        """
        last = self.last
        if tick <= last:
            raise InputError("wrong tick", f"tick: expected above {last}, got {tick}")
        if last >= 0:
            self.missed += tick - last - 1
        self.last = tick
