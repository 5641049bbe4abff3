"""The line of text about the state of the run: tick, simulated time, mode, rate, and what is wrong."""

from __future__ import annotations

import time
from typing import Any

from haptic_viewer.text import Strong

_LEVELS = ("", "warning", "error", "stale")
_STATUS = ("", "safe stop", "fault")


class StateLine:
    """Words for the device's newest state and for the last status that it published."""

    def __init__(self) -> None:
        self._status: tuple[str | Strong, ...] = ()
        self._shown = (0.0, 0)

    def set_status(self, level: int, message: str) -> None:
        """Keeps a status for the lines that follow; an OK status ends the one before.

        Args:
            level: of DiagnosticStatus, 0 to 3.
            message: reason of the status.
        """
        self._status = ("\n\n", Strong(_LEVELS[level]), f": {message}") if level else ()

    def parts(self, state: Any, mode: str, *, paused: bool) -> tuple[str | Strong, ...]:
        """Returns the line for a state; the rate is the mean since the line before.

        Args:
            state: DeviceState.
            mode: lockstep or realtime.
            paused: whether the clock stands still.
        """
        now, tick = time.monotonic(), int(state.tick)
        then, before = self._shown
        rate = max(tick - before, 0) / (now - then) if then else 0.0
        self._shown = now, tick
        pace = "paused" if paused else f"{rate * state.period:.2f} x real time"
        status = _STATUS[min(state.status, 2)]
        stop = (", ", Strong(status)) if status else ()
        return (f"tick {tick}, {tick * state.period:.3f} s, {mode}, {pace}", *stop, *self._status)
