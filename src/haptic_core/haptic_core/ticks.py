"""Tick counter of a node that answers a device: it only counts forward, and counts gaps."""

from __future__ import annotations

from haptic_core.errors import InputError

#: largest accepted jump; a tick further ahead is refused, unless it follows the last refused one [ticks]
LARGEST_JUMP = 100_000


def is_mistaken(tick: int, last: int, suspect: int) -> bool:
    """Returns whether a tick is too far ahead of the last one and does not follow the last refused one.

    Args:
        tick: received tick.
        last: newest accepted tick; -1: none.
        suspect: last refused tick from far ahead; -1: none.
    """
    return last >= 0 and tick > last + LARGEST_JUMP and tick != suspect + 1


class TickCounter:
    """Accepts each tick once, in order; refuses a single tick from far ahead, which would exclude all later ones.

    Attributes:
        last: last accepted tick; -1 before the first.
        missed: number of ticks that were skipped since the start.
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forgets all ticks; any tick may be next."""
        self.last = self._suspect = -1
        self.missed = 0

    def accept(self, tick: int) -> None:
        """Accepts a tick.

        Raises:
            InputError: the tick is not above the last one, or too far ahead of it.
        """
        last = self.last
        if tick <= last:
            raise InputError("wrong tick", f"tick: expected above {last}, got {tick}")
        if is_mistaken(tick, last, self._suspect):
            self._suspect = tick
            raise InputError("wrong tick", f"tick: expected at most {LARGEST_JUMP} above {last}, got {tick}")
        if last >= 0:
            self.missed += tick - last - 1
        self.last = tick
