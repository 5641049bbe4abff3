"""Frame rate of the page, which is reduced when the run falls behind its pace."""

from __future__ import annotations

import time
from collections.abc import Callable

from rclpy.executors import Executor

from haptic_core.process import stop_requested

#: slowest rate [Hz]
SLOWEST = 2.0
#: ratios of the real-time factor to the target below which the rate falls, and above which it rises again
_BEHIND, _ON_TIME = 0.93, 0.97
#: factors of the rate from one second to the next
_FALL, _RISE = 0.5, 1.25
#: largest fraction of the process's time for drawing
_DRAWING_FRACTION = 0.6


class FrameRate:
    """Rate that is halved in each second in which the run is behind, and rises slowly otherwise.

    Args:
        largest: largest rate [Hz].
    """

    def __init__(self, largest: float) -> None:
        self._largest = self.rate = largest

    def adapt(self, factor: float, target: float) -> float:
        """Returns the rate for the next second [Hz].

        Args:
            factor: real-time factor of the last second.
            target: largest real-time factor; 0: as fast as possible, and the rate rises to the largest one.
        """
        if not target > 0.0 or factor >= _ON_TIME * target:
            self.rate = min(self._largest, _RISE * self.rate)
        elif factor < _BEHIND * target:
            self.rate = max(min(SLOWEST, self._largest), _FALL * self.rate)
        return self.rate


def make_pictures(executor: Executor, frame: Callable[[], None], rate: Callable[[], float]) -> None:
    """Calls `frame` at a rate [Hz] until the process is stopped, and serves the executor in between.

    The calls take at most the fraction `_DRAWING_FRACTION` of the time.
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
        due = max(due + 1.0 / rate(), start + (now - start) / _DRAWING_FRACTION)
