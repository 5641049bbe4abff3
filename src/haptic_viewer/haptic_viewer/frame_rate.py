"""The rate of the pictures: it gives way first where the run falls behind its pace."""

from __future__ import annotations

import time
from collections.abc import Callable

from rclpy.executors import Executor

from haptic_core.process import stop_requested

#: slowest rate [Hz]
SLOWEST = 2.0
#: real-time factor over the wanted one below which the rate falls, and above which it rises again
_BEHIND, _ON_TIME = 0.93, 0.97
#: factors of the rate from one second to the next
_FALL, _RISE = 0.5, 1.25
#: largest fraction of the time of the process for the pictures
_SHARE = 0.6


class FrameRate:
    """A rate that is halved in each second in which the run is behind, and rises slowly in the others.

    Args:
        largest: rate where nothing is short [Hz].
    """

    def __init__(self, largest: float) -> None:
        self._largest = self.rate = largest

    def adapt(self, factor: float, wanted: float) -> float:
        """Returns the rate for the next second [Hz].

        Args:
            factor: real-time factor of the last second.
            wanted: real-time factor that the run is to have; 0: as fast as possible, and the rate is the largest.
        """
        if not wanted > 0.0 or factor >= _ON_TIME * wanted:
            self.rate = min(self._largest, _RISE * self.rate)
        elif factor < _BEHIND * wanted:
            self.rate = max(min(SLOWEST, self._largest), _FALL * self.rate)
        return self.rate


def make_pictures(executor: Executor, frame: Callable[[], None], rate: Callable[[], float]) -> None:
    """Calls `frame` at a rate [Hz] until the process is stopped, and serves the executor in between.

    The frames have at most the fraction `_SHARE` of the time.
    """
    due = time.monotonic()
    while not stop_requested():
        wait = due - time.monotonic()
        if wait > 0.0:
            executor.spin_once(timeout_sec=wait)
            continue
        start = time.monotonic()
        frame()
        now = time.monotonic()
        due = max(due + 1.0 / rate(), start + (now - start) / _SHARE)
