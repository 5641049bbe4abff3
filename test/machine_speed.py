"""Time limits of the tests. They end what hangs; nothing is measured by them, and no slow machine reaches them."""

from __future__ import annotations

import time

#: time of the loop below on the machine of README.md [s]
_REFERENCE = 0.0033


def _slowness() -> float:
    longest = 0.0
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(200_000):
            pass
        longest = max(longest, time.perf_counter() - start)
    return max(1.0, longest / _REFERENCE)


#: how many times slower this machine is, with the load that it had when the tests started; at least 1
SLOWNESS = _slowness()


def limit(seconds: float) -> float:
    """A limit against hanging [s] that is generous on the machine of README.md, scaled to this one."""
    return seconds * SLOWNESS
