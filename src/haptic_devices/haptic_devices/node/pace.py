"""Pace of a loop: a tick ends in lockstep after all answers, in realtime at the next instant of a steady clock."""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from haptic_core.process import SPIN_TIMEOUT, RealtimeThrottle
from haptic_core.statistics import TimeStatistics
from haptic_devices.loop import SteadyClock, TickLoop

#: largest lag of a lockstep run that it makes up for; a run that is later continues from the present time [s]
_LARGEST_LAG = 0.05

#: ticks at the start of a realtime run that wait for all answers, because the first run of code takes up to 50 ms
_FIRST_TICKS = 5


class Pace(ABC):
    """Decides when the present tick of a loop ends.

    Args:
        loop: the loop with these ticks.
    """

    def __init__(self, loop: TickLoop) -> None:
        self._loop = loop

    @property
    @abstractmethod
    def waits_for_answers(self) -> bool:
        """True if the present tick ends only when all sources have answered."""

    @abstractmethod
    def time_left(self) -> float | None:
        """Returns the time [s] for which callbacks may be served before the next call; None if the tick ends now."""

    @abstractmethod
    def end_tick(self) -> int:
        """Ends the present tick; returns the number of whole periods that have passed without a tick."""

    @abstractmethod
    def throttle(self) -> None:
        """Keeps the thread below its fraction of a core by a pause, if necessary; called after each tick."""


class LockstepPace(Pace):
    """A tick ends when all sources have answered, unless the run is paused or ahead of its real-time factor.

    Args:
        loop: the loop with these ticks.
        period: control period T [s].
        factor: function that returns the largest real-time factor of the run [-]; 0: as fast as possible.

    Attributes:
        paused: whether ticks end only by `step`.
        steps: number of ticks that may still end while the run is paused.
    """

    waits_for_answers = True

    def __init__(self, loop: TickLoop, period: float, factor: Callable[[], float]) -> None:
        super().__init__(loop)
        self._period, self._factor = period, factor
        self.pause(False)

    def start(self) -> None:
        """Starts the clock at the first tick of a run."""
        self._deadline = time.monotonic()

    def pause(self, paused: bool) -> None:
        """Pauses the run before the next tick, or continues it."""
        self.paused, self.steps, self._deadline = paused, 0, time.monotonic()

    def step(self, ticks: int) -> None:
        """Allows a number of ticks of a paused run to end."""
        self.steps, self._deadline = ticks, time.monotonic()

    @property
    def is_held(self) -> bool:
        """True if the run is paused with no step left."""
        return self.paused and not self.steps

    def time_left(self) -> float | None:
        if not self._loop.collector.complete:
            return SPIN_TIMEOUT
        left = self._time_ahead()
        return min(left, SPIN_TIMEOUT) if left > 0.0 else None

    def _time_ahead(self) -> float:
        """Returns the time until an answered tick may end [s]; infinite while the run is paused."""
        if self.is_held:
            return math.inf
        return self._deadline - time.monotonic() if self._factor() else 0.0

    def end_tick(self) -> int:
        if self.steps:
            self.steps -= 1
        factor = self._factor()
        if factor:
            self._deadline = max(self._deadline, time.monotonic() - _LARGEST_LAG) + self._period / factor
        return 0

    def throttle(self) -> None:
        """Does nothing: a lockstep run has no realtime priority."""


class RealtimePace(Pace):
    """A tick ends once a period, on the grid of a steady clock that starts when the first ticks are answered.

    Args:
        loop: the loop with these ticks.
        period: control period T [s].
        transport: transport of the node, which delivers the answers of nodes in its process.
        periods: statistics to which the times between ticks are added.
    """

    def __init__(self, loop: TickLoop, period: float, transport: Any, periods: TimeStatistics) -> None:
        super().__init__(loop)
        self._period, self._transport, self._periods = period, transport, periods
        self._first_ticks = _FIRST_TICKS
        self._clock: SteadyClock | None = None

    @property
    def waits_for_answers(self) -> bool:
        return self._first_ticks > 0

    def time_left(self) -> float | None:
        if self._first_ticks:
            return None if self._loop.collector.complete else SPIN_TIMEOUT
        now = time.monotonic()
        if self._clock is None:
            self._clock, self._throttle, self._last = SteadyClock(self._period, now), RealtimeThrottle(), now
        answering = self._transport.has_undelivered and not self._loop.collector.complete
        if self._clock.is_due(now, answering=answering):
            self._now = now
            return None
        return max(0.0, self._clock.due - now)

    def end_tick(self) -> int:
        if self._clock is None:
            self._first_ticks -= 1
            return 0
        self._periods.add(round(1e9 * (self._now - self._last)))
        self._last = self._now
        return self._clock.open(self._now)

    def throttle(self) -> None:
        if self._clock is not None:
            self._throttle.throttle()
