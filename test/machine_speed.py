"""Time limits of the tests. They end what hangs; nothing is measured by them, and no slow machine reaches them."""

from __future__ import annotations

from machine import slowness

#: how many times slower this machine is, with the load that it had when the tests started; at least 1
SLOWNESS = max(1.0, *(slowness() for _ in range(5)))


def limit(seconds: float) -> float:
    """A limit against hanging [s] that is generous on the machine of README.md, scaled to this one."""
    return seconds * SLOWNESS
