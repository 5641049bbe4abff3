"""Running statistics of a node: compute time, rate, rejected inputs."""

from __future__ import annotations

import time
from array import array
from collections import Counter

import numpy as np

#: durations that a node's diagnostics use; all of a large window would delay a tick
RECENT = 1000


class TimeStatistics:
    """Percentiles of the last `size` durations, stored without allocation.

    Args:
        size: number of durations in the window.
    """

    def __init__(self, size: int = 4096) -> None:
        self._window = np.zeros(size)
        self.count = 0

    def add(self, nanoseconds: int) -> None:
        """Adds one duration [ns]."""
        self._window[self.count % len(self._window)] = nanoseconds
        self.count += 1

    def percentiles(self, *percent: float, last: int | None = None) -> list[float]:
        """Computes percentiles [s] of the durations in the window, or of the `last` ones; zeros if it is empty."""
        window, end = self._window, self.count % len(self._window)
        n = min(self.count, len(window), self.count if last is None else max(0, last))
        if not n:
            return [0.0 for _ in percent]
        rising = np.sort(np.concatenate((window[max(0, end - n) : end], window[len(window) - max(0, n - end) :])))
        ranks = (n - 1) / 100.0 * np.array(percent)
        return (1e-9 * np.interp(ranks, np.arange(n), rising)).tolist()  # type: ignore[no-any-return]


class TickTimes:
    """Times at which the last ticks were published or arrived, on the steady clock that all processes share.

    Args:
        size: number of ticks to store.
    """

    def __init__(self, size: int = 1000) -> None:
        self._ticks, self._times = array("q", [-1]) * size, array("q", [0]) * size

    def add(self, tick: int) -> None:
        """Stores the present time for a tick; ticks of 2^63 and more are ignored."""
        if tick >> 63:
            return
        slot = tick % len(self._ticks)
        self._ticks[slot], self._times[slot] = tick, time.monotonic_ns()

    def lists(self) -> tuple[list[int], list[int]]:
        """Returns the stored ticks in ascending order, and their times [ns]."""
        ticks, times = np.array(self._ticks), np.array(self._times)
        order = np.argsort(ticks)[np.sum(ticks < 0) :]
        return ticks[order].tolist(), times[order].tolist()


class Rejections:
    """Counts rejected inputs by kind, and limits the rate of their log lines.

    Args:
        interval: shortest time between two log lines of one kind [s].
    """

    def __init__(self, interval: float = 1.0) -> None:
        self.counts: Counter[str] = Counter()
        self._interval = interval
        self._last: dict[str, float] = {}

    def add(self, kind: str, now: float) -> bool:
        """Counts one rejection at the steady time `now` [s]; returns whether it is to be logged."""
        self.counts[kind] += 1
        if now - self._last.get(kind, float("-inf")) < self._interval:
            return False
        self._last[kind] = now
        return True
