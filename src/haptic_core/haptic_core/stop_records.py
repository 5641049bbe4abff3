"""Files with the last ticks before each stop of a realtime loop, written by a thread of their own.

A file is a NumPy array (`numpy.load`) of `FlightRecorder.table`: one entry for each tick, durations in nanoseconds.
"""

from __future__ import annotations

import contextlib
import os
import re
import threading
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue

import numpy as np

from haptic_core.environment import RUN_DIRECTORY

#: directory of the files in that of the run
FLIGHT_RECORDS = "flight_records"
#: number of files of one node; a new file replaces the oldest one. A file has less than 250 kB
KEPT_FILES = 16

#: longest wait for a slow disk when the node ends [s]
_END_TIMEOUT = 2.0
_NAME = re.compile(r"(.+)-tick-(\d+)\.npy")


class StopRecords:
    """Writes tables of a flight recorder to files; `save` returns at once, whatever the disk does.

    Args:
        node: full name of the node, as "/joystick/device".
        directory: directory of the files; it is made with the first file.
        warn: function that is called with a line if a file cannot be written, from the thread that writes.
    """

    def __init__(self, node: str, directory: Path, warn: Callable[[str], object]) -> None:
        self._name, self._directory, self._warn = node.strip("/").replace("/", "."), directory, warn
        self._queue: SimpleQueue[tuple[Path, np.ndarray] | None] = SimpleQueue()
        self._idle = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Starts the thread; before that `save` writes nothing."""
        self.finish()
        self._idle.set()
        self._thread = threading.Thread(target=self._run, name="stop_records", daemon=True)
        self._thread.start()

    def save(self, table: np.ndarray | None, tick: int) -> Path | None:
        """Hands a table over to the thread.

        Args:
            table: table of a flight recorder; it must not change later. None: there is none.
            tick: tick of the stop, for the name of the file.

        Returns:
            Path of the file; None if there is no table, or the thread is not running or still writes the last file.
        """
        if table is None or self._thread is None or not self._idle.is_set():
            return None
        path = self._directory / f"{self._name}-tick-{tick}.npy"
        self._idle.clear()
        self._queue.put((path, table))
        return path

    def finish(self) -> None:
        """Ends the thread after its last file, or leaves it to a disk that does not take the file in time."""
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join(_END_TIMEOUT)
            self._thread, self._queue = None, SimpleQueue()

    def _run(self) -> None:
        queue = self._queue
        while (taken := queue.get()) is not None:
            try:
                self._write(*taken)
            except OSError as error:
                self._warn(f"{taken[0]}: not written: {error.strerror}")
            self._idle.set()

    def _write(self, path: Path, table: np.ndarray) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        named = [(match[1], file) for file in path.parent.glob("*.npy") if (match := _NAME.fullmatch(file.name))]
        own = sorted((file for name, file in named if name == self._name), key=lambda file: file.stat().st_mtime_ns)
        for file in own[: max(0, len(own) + 1 - KEPT_FILES)]:
            file.unlink(missing_ok=True)
        part = path.with_suffix(".part")
        try:
            with part.open("wb") as target:
                np.save(target, table)
            part.replace(path)
        except OSError:
            with contextlib.suppress(OSError):
                part.unlink(missing_ok=True)
            raise


def records_directory(default: str | Path) -> Path:
    """Returns the directory for flight records: that of the run (`RUN_DIRECTORY`), else one below a default."""
    return Path(os.environ.get(RUN_DIRECTORY) or default, FLIGHT_RECORDS)


def find_records(directory: Path) -> list[tuple[str, int, Path]]:
    """Finds the flight records in the directory of a run: name of the node, tick of the stop, file; by tick."""
    files = (directory / FLIGHT_RECORDS).glob("*.npy")
    found = [(match[1], int(match[2]), file) for file in files if (match := _NAME.fullmatch(file.name))]
    return sorted(found, key=lambda record: (record[1], record[0]))
