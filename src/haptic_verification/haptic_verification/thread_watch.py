"""Sampling of the threads of other processes, a thousand times a second.

    with ThreadWatch({"device": pid}) as watch:
        ...
        print(watch.found(last=1.0))

A node's own record (`haptic_core.flight_recorder`) shows that its thread slept or had no core. The samples distinguish
whether it slept, was stopped or waited in the kernel. A gap between samples shows that the whole machine stood still.
The time that a hypervisor took from the cores is counted as well.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

#: states of a thread in words, by the kernel's letter
STATES = {"R": "without a core", "D": "waiting in the kernel", "T": "stopped", "t": "stopped by a debugger"}
#: a runnable thread that ran for less than this fraction of the time between two samples had no core
_RUN_FRACTION = 0.5
#: number of samples between two readings of the hypervisor's time, which take longer than a sample
_STOLEN_INTERVAL = 50


@dataclass(frozen=True)
class Hindrance:
    """Longest time for which a thread was in one state in which it could not run.

    Attributes:
        thread: name of the process, number and name of the thread.
        state: state in words.
        duration: duration [s], with the resolution of the samples.
    """

    thread: str
    state: str
    duration: float

    def __str__(self) -> str:
        return f"{self.thread}: {self.state} for {1e3 * self.duration:.1f} ms"


class ThreadWatch:
    """Samples, in its own thread, all threads that some processes have when it is created.

    Args:
        pids: process ids by name.
        rate: samples per second [Hz]; fewer if the machine is slower.
        size: number of samples that are kept.
    """

    def __init__(self, pids: Mapping[str, int], *, rate: float = 1000.0, size: int = 4000) -> None:
        self._files: list[tuple[int, int]] = []
        self._names: list[str] = []
        for name, pid in pids.items():
            for thread in sorted(map(int, os.listdir(f"/proc/{pid}/task"))):
                with contextlib.suppress(OSError):  # a thread that has just ended
                    self._open(name, f"/proc/{pid}/task/{thread}")
        self._interval, self._count = 1.0 / rate, 0
        self._stamps = np.zeros(size)
        self._states = np.full((size, len(self._names)), "", dtype="U1")
        self._on_core = np.zeros((size, len(self._names)))
        self._stolen = np.zeros(size)
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._sample, name="thread watch", daemon=True)

    def _open(self, name: str, folder: str) -> None:
        stat, schedule = (os.open(f"{folder}/{file}", os.O_RDONLY) for file in ("stat", "schedstat"))
        self._files.append((stat, schedule))
        comm, _ = parsed(os.pread(stat, 512, 0))
        self._names.append(f"{name}, thread {os.path.basename(folder)} ({comm})")

    def __enter__(self) -> ThreadWatch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.set()
        self._thread.join()
        for files in self._files:
            for file in files:
                os.close(file)

    def _sample(self) -> None:
        due = time.monotonic()
        while not self._ends.is_set():
            row = self._count % len(self._stamps)
            if self._count % _STOLEN_INTERVAL == 0:
                stolen = stolen_time(Path("/proc/stat").read_text())
            self._stolen[row] = stolen
            for column, (stat, schedule) in enumerate(self._files):
                try:
                    self._states[row, column] = parsed(os.pread(stat, 512, 0))[1]
                    self._on_core[row, column] = 1e-9 * int(os.pread(schedule, 64, 0).split()[0])
                except OSError:  # the thread has ended
                    self._states[row, column] = ""
            self._stamps[row] = time.monotonic()
            self._count += 1
            due = max(due + self._interval, time.monotonic())
            self._ends.wait(max(0.0, due - time.monotonic()))

    @property
    def samples(self) -> int:
        """Number of samples so far."""
        return self._count

    def found(self, last: float) -> list[str]:
        """Describes the sampling intervals of the last time, and then the hindrances of the threads, longest first.

        Args:
            last: length of that time [s].
        """
        count = self._count
        order = np.arange(max(0, count - len(self._stamps) + 1), count) % len(self._stamps)
        order = order[self._stamps[order] >= time.monotonic() - last]
        if len(order) < 2:
            return ["nothing was seen"]
        stamps = self._stamps[order]
        seen = hindrances(self._names, stamps, self._states[order], self._on_core[order])
        gaps = np.diff(stamps)
        middle, largest, stolen = 1e3 * np.array([np.median(gaps), gaps.max(), np.ptp(self._stolen[order])])
        own = f"looked at every {middle:.1f} ms; largest gap {largest:.1f} ms"
        return [f"{own}; a hypervisor took {stolen:.0f} ms of the cores", *map(str, seen)]


def stolen_time(stat: str) -> float:
    """Reads from the text of /proc/stat the time that a hypervisor took from the cores [s]."""
    return int(stat.split(maxsplit=9)[8]) / os.sysconf("SC_CLK_TCK")


def parsed(stat: bytes) -> tuple[str, str]:
    """Parses the file `stat` of a thread: its name, which may have blanks and brackets, and the letter of its state."""
    text = stat.decode(errors="replace")
    return text[text.index("(") + 1 : text.rindex(")")], text[text.rindex(")") + 2]


def hindrances(names: list[str], stamps: np.ndarray, states: np.ndarray, on_core: np.ndarray) -> list[Hindrance]:
    """Finds the longest time of each thread in each state of `STATES`.

    Args:
        names: names of the m threads.
        stamps: times of the samples [s], shape (n,).
        states: letters of the kernel, shape (n, m).
        on_core: time for which each thread has run [s], shape (n, m).

    Returns:
        Hindrances, the longest first; sleeping threads, which have no work, are left out.
    """
    steps = np.diff(stamps)
    waits = np.diff(on_core, axis=0) < _RUN_FRACTION * steps[:, None]
    found = []
    for column, name in enumerate(names):
        for letter, words in STATES.items():
            hindered = states[1:, column] == letter
            if letter == "R":
                hindered &= waits[:, column]
            longest = present = 0.0
            for step, holds in zip(steps, hindered, strict=True):
                present = present + step if holds else 0.0
                longest = max(longest, present)
            if longest > 0.0:
                found.append(Hindrance(name, words, float(longest)))
    return sorted(found, key=lambda one: -one.duration)
