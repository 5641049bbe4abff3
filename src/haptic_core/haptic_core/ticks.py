"""The tick counter of a node that answers a device: forward only, gaps counted."""

from __future__ import annotations

from haptic_core.errors import InputError

#: largest jump; a tick further ahead is refused, unless the next one follows it [ticks]
LARGEST_JUMP = 100_000


def is_mistaken(tick: int, last: int, suspect: int) -> bool:
    """Whether a tick is so far ahead of the last one that it is accepted only when the next one follows it.

    Args:
        tick: that has arrived.
        last: newest accepted tick; -1: none.
        suspect: last refused tick from far ahead; -1: none.
    """
    return last >= 0 and tick > last + LARGEST_JUMP and tick != suspect + 1


class TickCounter:
    """Accepts each tick once, in order; refuses a single tick from far ahead, which would exclude all later ones.

    Attributes:
        last: the tick accepted last; -1 before the first.
        missed: ticks that were jumped over since the start.
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forgets the past: the next tick may be any."""
        self.last = self._suspect = -1
        self.missed = 0

    def accept(self, tick: int) -> None:
        """Takes a tick.

        Raises:
            InputError: the tick was there before, lies before the last one or far ahead of it.
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
