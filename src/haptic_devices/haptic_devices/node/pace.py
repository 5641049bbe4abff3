"""The end of a tick: in lockstep after all answers, in realtime at the next instant of a steady clock."""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from haptic_core.process import SPIN_TIMEOUT, RealtimeShare
from haptic_core.statistics import TimeStatistics
from haptic_devices.loop import SteadyClock, TickLoop

#: a lockstep run that is behind its pace by more than this continues from the present time [s]
_LARGEST_LAG = 0.05

#: ticks at the start of a realtime run that wait for all answers: code that runs for the first time takes up to 50 ms
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
        """Whether the present tick ends only when all sources have answered."""

    @abstractmethod
    def time_left(self) -> float | None:
        """Longest time for which callbacks may be served before the next call [s]; None: the tick ends now."""

    @abstractmethod
    def end_tick(self) -> int:
        """The present tick ends; returns how many whole periods have passed without a tick."""

    @abstractmethod
    def rest(self) -> None:
        """Is called after each tick."""


class LockstepPace(Pace):
    """A tick ends when all sources have answered, unless the run is paused or ahead of its real-time factor.

    Args:
        loop: the loop with these ticks.
        period: T [s].
        factor: returns the real-time factor that the run keeps to at most; 0: as fast as possible [-].

    Attributes:
        paused: ticks end only by `step`.
        steps: ticks that may still end while the run is paused.
    """

    waits_for_answers = True

    def __init__(self, loop: TickLoop, period: float, factor: Callable[[], float]) -> None:
        super().__init__(loop)
        self._period, self._factor = period, factor
        self.pause(False)

    def start(self) -> None:
        """The first tick of a run begins now."""
        self._deadline = time.monotonic()

    def pause(self, paused: bool) -> None:
        """Stops the run before the next tick, or lets it go on."""
        self.paused, self.steps, self._deadline = paused, 0, time.monotonic()

    def step(self, ticks: int) -> None:
        """Lets some ticks of a paused run end."""
        self.steps, self._deadline = ticks, time.monotonic()

    @property
    def is_held(self) -> bool:
        """Whether the run is paused with no step left."""
        return self.paused and not self.steps

    def time_left(self) -> float | None:
        if not self._loop.collector.complete:
            return SPIN_TIMEOUT
        left = self._held_back()
        return min(left, SPIN_TIMEOUT) if left > 0.0 else None

    def _held_back(self) -> float:
        """Time until an answered tick may end [s]; infinite while the run is paused."""
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

    def rest(self) -> None:
        """Nothing: a lockstep run does not compete for its core."""


class RealtimePace(Pace):
    """A tick ends once a period, on the grid of a steady clock that starts when the first ticks are answered.

    Args:
        loop: the loop with these ticks.
        period: T [s].
        transport: of the node, which delivers answers that are made in its process.
        periods: takes the time between ticks.
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
            self._clock, self._share, self._last = SteadyClock(self._period, now), RealtimeShare(), now
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

    def rest(self) -> None:
        if self._clock is not None:
            self._share.keep()
