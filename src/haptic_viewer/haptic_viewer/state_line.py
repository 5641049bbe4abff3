"""Text about the state of the run: tick, simulated time, rate, missed ticks, limit of the rate, status."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from haptic_viewer.text import Strong

_LEVELS = ("", "warning", "error", "stale")
_STATUS = ("", "safe stop", "fault")
#: ratio of the real-time factor to the pace above which the pace limits the run
_PACED = 0.95
#: fractions of the time above which a computing node limits the run, and above which the processors are busy
_COMPUTES, _BUSY = 0.5, 0.9
_COMPUTE_TIME = "compute time p50 [us]"


class Processors:
    """Load of this machine's processors by all programs.

    Args:
        file: statistics of the kernel.
    """

    def __init__(self, file: Path = Path("/proc/stat")) -> None:
        self._file, self._before, self._busy = file, (0, 0), 0.0

    def busy(self) -> float:
        """Returns the busy fraction of the processors' time since the last call; 0 if the kernel does not report it."""
        try:
            numbers = [int(word) for word in self._file.read_text().split("\n", 1)[0].split()[1:9]]
        except (OSError, ValueError):
            return 0.0
        idle, total = sum(numbers[3:5]), sum(numbers)
        waited, passed = idle - self._before[0], total - self._before[1]
        if passed > 0:
            self._before, self._busy = (idle, total), 1.0 - waited / passed
        return self._busy


def limit_of(factor: float, pace: float, rate: float, compute: Mapping[str, float], busy: float) -> str:
    """Describes the limit of the real-time factor of a lockstep run.

    Args:
        factor: real-time factor.
        pace: largest allowed real-time factor; 0: unlimited.
        rate: ticks per second [Hz].
        compute: computing time per tick [s] by name of the node.
        busy: busy fraction of the processors' time.
    """
    if pace > 0.0 and factor >= _PACED * pace:
        return "limited by the pace"
    slowest = max(compute, key=lambda name: compute[name], default="")
    if slowest and compute[slowest] * rate > _COMPUTES:
        return f"limited by {slowest}, {1e6 * compute[slowest]:.0f} µs a tick"
    if busy > _BUSY:
        return f"limited by the processors, {100.0 * busy:.0f} % busy: the browser or another program"
    return "limited by the messages between the processes"


class StateLine:
    """Text about the device's newest state and the reports of the nodes."""

    def __init__(self) -> None:
        self._status: tuple[str | Strong, ...] = ()
        self._missed = ""
        self._compute: dict[str, float] = {}
        self._processors = Processors()
        self._shown = (0.0, 0)
        #: real-time factor between the last two lines [-]
        self.factor = 0.0

    def begin(self) -> None:
        """Resets the rate when a page is opened; it is available again from the second state on."""
        self._shown, self.factor = (0.0, self._shown[1]), 0.0

    def set_status(self, level: int, message: str, values: Mapping[str, str] | None = None) -> None:
        """Sets the status for the next lines; an OK status clears it.

        Args:
            level: level of DiagnosticStatus, 0 to 3.
            message: reason of the status.
            values: values of the status, by key.
        """
        self._status = ("\n\n", Strong(_LEVELS[level]), f": {message}") if level else ()
        self._missed = (values or {}).get("missed ticks", self._missed)

    def set_diagnostics(self, node: str, values: Mapping[str, str]) -> None:
        """Sets the computing time of a node.

        Raises:
            ValueError: the value is not a number.
        """
        if _COMPUTE_TIME in values:
            self._compute[node] = 1e-6 * float(values[_COMPUTE_TIME])

    def parts(self, state: Any, mode: str, *, paused: bool, pace: float = 0.0) -> tuple[str | Strong, ...]:
        """Returns the text for a state; the rate is the mean since the last call.

        Args:
            state: DeviceState.
            mode: lockstep or realtime.
            paused: True if the clock is paused.
            pace: largest real-time factor of a lockstep run; 0: unlimited.
        """
        now, tick = time.monotonic(), int(state.tick)
        then, before = self._shown
        rate = max(tick - before, 0) / (now - then) if then else 0.0
        self._shown, self.factor = (now if then or tick != before else 0.0, tick), rate * state.period
        busy = self._processors.busy()
        pace_words = "paused" if paused else f"{self.factor:.2f} × real time"
        status = _STATUS[min(state.status, 2)]
        stop = (", ", Strong(status)) if status else ()
        missed = f", {self._missed} ticks missed" if self._missed else ""
        limit = (
            f"\n{limit_of(self.factor, pace, rate, self._compute, busy)}" if mode == "lockstep" and not paused else ""
        )
        line = f"tick {tick}, {tick * state.period:.3f} s, {mode}\n{pace_words}{missed}"
        return (line, *stop, limit, *self._status)
