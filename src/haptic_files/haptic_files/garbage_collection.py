"""Python's garbage collector in programs that first make much that lasts."""

from __future__ import annotations

import gc

#: allocations between two collections of the youngest objects, and what follows for the older ones
_RARELY = (50_000, 10, 10)


def collect_rarely() -> tuple[int, int, int]:
    """Lets the garbage collector come less often, while a program imports, compiles and builds.

    With Python's own thresholds it takes a tenth of the time in which Numba compiles.

    Returns:
        The thresholds of before, for `gc.set_threshold`.
    """
    usual = gc.get_threshold()
    gc.set_threshold(*_RARELY)
    return usual
