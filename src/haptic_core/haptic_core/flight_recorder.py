"""Record of the last ticks of a realtime loop's thread, with counters of kernel and Python that show why one was late.

    recorder = FlightRecorder(("serve", "compute", "publish"))
    with recorder:
        while ...:
            serve()
            recorder.mark(0)
            compute()
            recorder.mark(1)
            publish()
            recorder.mark(2)
            recorder.end(tick)
    print(recorder.longest())

Outside the context `mark` and `end` do nothing.
"""

from __future__ import annotations

import gc
import os
import resource
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

#: counters of the loop's thread between the ends of two ticks; garbage collections are those of the process
_COUNTERS = (
    "on_core",
    "runnable",
    "minor_faults",
    "major_faults",
    "voluntary",
    "involuntary",
    "collections",
    "collecting",
)
#: the second number in this file is the time for which the thread could run and had no core [ns]
_SCHEDULE = "/proc/thread-self/schedstat"
#: a phase that computes this many times as long as usual had a slow core
_SLOWER = 10.0
_MS = 1e-6


@dataclass(frozen=True)
class TickRecord:
    """One tick of a loop.

    Attributes:
        tick: number of the tick.
        phases: durations by name [ns].
        usual: medians of the durations of these phases [ns].
        on_core: time for which the thread ran [ns].
        runnable: time for which the thread could run and had no core [ns].
        minor_faults, major_faults: pages that were mapped, and that were read from a disk.
        voluntary, involuntary: context switches because the thread waited, and because it was preempted.
        collections, collecting: garbage collections, and their duration [ns].
    """

    tick: int
    phases: Mapping[str, int]
    usual: Mapping[str, float]
    on_core: int
    runnable: int
    minor_faults: int
    major_faults: int
    voluntary: int
    involuntary: int
    collections: int
    collecting: int

    @property
    def duration(self) -> int:
        """Time from the end of the previous tick to the end of this one [ns]."""
        return sum(self.phases.values())

    @property
    def longest_phase(self) -> str:
        """Name of the phase that exceeded its usual duration most."""
        return max(self.phases, key=lambda name: self.phases[name] - self.usual[name])

    @property
    def cause(self) -> str:
        """Cause of most of the duration, in words."""
        half, name = 0.5 * self.duration, self.longest_phase
        if self.runnable > half:
            return "it waited for a core that others had"
        if self.collecting > half:
            return "Python collected garbage"
        if self.on_core > half:
            slow = self.phases[name] > _SLOWER * self.usual[name]
            return "it computed" + (", on a slow core or for the first time" if slow else "")
        if self.major_faults:
            return "it waited for pages from a disk"
        return "it slept or was stopped"

    def __str__(self) -> str:
        name = self.longest_phase
        return (
            f"tick {self.tick} took {_MS * self.duration:.2f} ms, {name} {_MS * self.phases[name]:.2f} ms of it "
            f"(usually {_MS * self.usual[name]:.2f}): {self.cause}; {_MS * self.on_core:.2f} ms on a core, "
            f"{_MS * self.runnable:.2f} ms without one, {self.voluntary} + {self.involuntary} switches, "
            f"{self.minor_faults} + {self.major_faults} page faults, "
            f"{self.collections} collections of {_MS * self.collecting:.2f} ms"
        )


class FlightRecorder:
    """Ring buffer of the last ticks of a loop; recording never blocks.

    Used as a context manager, it records the thread that entered it.

    Args:
        phases: names of the parts of a tick, in the order in which `mark` ends them.
        size: number of ticks that are kept.
    """

    def __init__(self, phases: Sequence[str], size: int = 2048) -> None:
        self._names = tuple(phases)
        self._rows = np.zeros((size, 1 + len(self._names) + len(_COUNTERS)), dtype=np.int64)
        self._count = 0
        self._schedule: int | None = None
        self._on = False

    def __enter__(self) -> FlightRecorder:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Records the calling thread from now on."""
        self.stop()
        try:
            self._schedule = os.open(_SCHEDULE, os.O_RDONLY)
        except OSError:  # a kernel without it
            self._schedule = None
        self._collections = self._collecting = self._began = 0
        gc.callbacks.append(self._on_collection)
        self._on, self._count = True, 0
        self._phases = [0] * len(self._names)
        self._before, self._last = self._counters(), time.monotonic_ns()

    def stop(self) -> None:
        """Stops recording; the records stay."""
        if not self._on:
            return
        self._on = False
        gc.callbacks.remove(self._on_collection)
        if self._schedule is not None:
            os.close(self._schedule)

    def _on_collection(self, phase: str, _: Mapping[str, int]) -> None:
        if phase == "start":
            self._began = time.monotonic_ns()
        else:
            self._collections += 1
            self._collecting += time.monotonic_ns() - self._began

    def mark(self, phase: int) -> None:
        """Ends the phase with this number."""
        if self._on:
            now = time.monotonic_ns()
            self._phases[phase] += now - self._last
            self._last = now

    def end(self, tick: int) -> None:
        """Ends the tick: stores its number, the phases since the last end, and the counters."""
        if self._on:
            now = self._counters()
            self._rows[self._count % len(self._rows)] = self._row(tick, now)
            self._count += 1
            self._before = now
            self._phases = [0] * len(self._names)

    def _row(self, tick: int, counters: tuple[int, ...]) -> tuple[int, ...]:
        """Returns the row of a tick: number, durations of the phases, change of each counter since the last end."""
        return (tick, *self._phases, *(now - then for now, then in zip(counters, self._before, strict=True)))

    def _counters(self) -> tuple[int, ...]:
        used = resource.getrusage(resource.RUSAGE_THREAD)
        runnable = 0 if self._schedule is None else int(os.pread(self._schedule, 64, 0).split()[1])
        faults = used.ru_minflt, used.ru_majflt
        return (
            time.thread_time_ns(),
            runnable,
            *faults,
            used.ru_nvcsw,
            used.ru_nivcsw,
            self._collections,
            self._collecting,
        )

    def longest(self, last: int = 64, tick: int | None = None) -> TickRecord | None:
        """Returns the longest of the last ticks; None if there is none.

        Args:
            last: number of ticks to compare.
            tick: number of the tick that has not ended, which is then compared, too.
        """
        table = self._entries(tick)
        if table is None:
            return None
        unfinished = int(tick is not None and self._on)
        ended = table[: len(table) - unfinished]
        return _longest(table[max(0, len(ended) - last) :], ended if len(ended) else table)

    def table(self, tick: int | None = None) -> np.ndarray | None:
        """Copies the recorded ticks; None outside the context or if there are none.

        Args:
            tick: number of the tick that has not ended, which is then the last entry.

        Returns:
            Structured array with one entry for each tick in order: tick, durations of the phases by name [ns] and
            the counters of `TickRecord`.
        """
        return self._entries(tick) if self._on else None

    def _entries(self, tick: int | None) -> np.ndarray | None:
        """Copies the recorded ticks, also after the end of the context; the arguments are those of `table`."""
        n = min(self._count, len(self._rows))
        rows = self._rows[np.arange(self._count - n, self._count) % len(self._rows)]
        if tick is not None and self._on:
            rows = np.vstack([rows, self._row(tick, self._counters())])
        if not len(rows):
            return None
        names = ("tick", *self._names, *_COUNTERS)
        return rows.view([(name, np.int64) for name in names]).reshape(-1)


def longest_tick(table: np.ndarray, last: int = 64) -> TickRecord:
    """Returns the longest of the last ticks of a `FlightRecorder.table` that is not empty."""
    return _longest(table[-last:], table)


def _longest(recent: np.ndarray, usual: np.ndarray) -> TickRecord:
    """Returns the longest of recent ticks, with the medians of the phases of usual ones."""
    names = tuple(name for name in recent.dtype.names or () if name not in ("tick", *_COUNTERS))
    row: Any = recent[np.argmax(sum(recent[name] for name in names))]
    return TickRecord(
        int(row["tick"]),
        {name: int(row[name]) for name in names},
        {name: float(np.median(usual[name])) for name in names},
        *(int(row[name]) for name in _COUNTERS),
    )
