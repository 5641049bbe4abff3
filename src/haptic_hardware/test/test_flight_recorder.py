"""The controller's flight recorder writes what the Python recorder does; it needs a compiler, not ros2_control."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from haptic_core.environment import RUN_DIRECTORY
from haptic_core.flight_recorder import FlightRecorder, longest_tick
from haptic_core.stop_records import FLIGHT_RECORDS, KEPT_FILES, find_records

PHASES = ("publishing", "manager", "answers", "write", "read")
PERIOD, SIZE = 1_000_000, 8


class Recorder:
    """The C++ recorder with clocks and counters that a test sets."""

    def __init__(self, library: ctypes.CDLL, size: int = SIZE) -> None:
        self._library, self._size = library, size
        self._recorder = ctypes.c_void_p(library.recorder_make(ctypes.c_int64(PERIOD), ctypes.c_int64(size)))
        #: time, time on a core by the fast and the slow counter, time without one, faults (2), switches (2)
        self.values = [0] * 8
        self._set()

    def close(self) -> None:
        self._library.recorder_destroy(self._recorder)

    def start(self) -> None:
        self._library.recorder_start(self._recorder)

    def stop(self) -> None:
        self._library.recorder_stop(self._recorder)

    def tick(self, number: int, durations: list[int], counters: tuple[int, ...] = (0,) * 7) -> None:
        """Records a tick with these durations of its phases [ns], in which the counters have grown so much."""
        for phase, duration in enumerate(durations):
            self.values[0] += duration
            self._set()
            self._library.recorder_mark(self._recorder, phase)
        self.values[1:] = [value + growth for value, growth in zip(self.values[1:], counters, strict=True)]
        self._set()
        self._library.recorder_end(self._recorder, ctypes.c_int64(number))

    def _set(self) -> None:
        self._library.recorder_set(self._recorder, (ctypes.c_int64 * 8)(*self.values))

    @property
    def slow_reads(self) -> int:
        return int(self._library.recorder_slow_reads(self._recorder))

    def rows(self) -> np.ndarray:
        out = np.zeros((self._size, 14), dtype=np.int64)
        return out[: self._library.recorder_rows(self._recorder, ctypes.c_void_p(out.ctypes.data))]

    def describe(self, last: int = 64) -> str:
        text = ctypes.create_string_buffer(500)
        self._library.recorder_describe(self._recorder, last, text, len(text))
        return text.value.decode()

    def save(self, directory: Path, tick: int, node: str = "/joystick/device") -> tuple[str, str]:
        """Saves the rows; returns the path of the file and the warning."""
        path, warning = ctypes.create_string_buffer(500), ctypes.create_string_buffer(500)
        where = str(directory).encode()
        self._library.records_save(
            self._recorder, node.encode(), where, ctypes.c_int64(tick), path, warning, len(path)
        )  # fmt: skip
        return path.value.decode(), warning.value.decode()


@pytest.fixture
def recorder(library: ctypes.CDLL) -> Iterator[Recorder]:
    made = Recorder(library)
    made.start()
    yield made
    made.close()


def test_the_ring_keeps_the_last_ticks_in_their_order(recorder: Recorder) -> None:
    for tick in range(3):
        recorder.tick(tick, [tick] * 5)
    assert_array_equal(recorder.rows()[:, 0], range(3))
    for tick in range(3, 20):
        recorder.tick(tick, [tick] * 5)
    rows = recorder.rows()
    assert_array_equal(rows[:, 0], range(12, 20))
    assert_array_equal(rows[:, 1:6], np.repeat(np.arange(12, 20)[:, None], 5, axis=1))


def test_nothing_is_recorded_outside_start_and_stop(library: ctypes.CDLL) -> None:
    recorder = Recorder(library)
    recorder.tick(0, [1] * 5)
    assert len(recorder.rows()) == 0 and recorder.describe() == ""
    recorder.start()
    recorder.tick(1, [1] * 5)
    recorder.stop()
    recorder.tick(2, [1] * 5)
    assert_array_equal(recorder.rows()[:, 0], [1])
    recorder.start()
    assert len(recorder.rows()) == 0
    recorder.close()


def test_the_file_is_a_table_as_the_python_recorder_writes_it(recorder: Recorder, tmp_path: Path) -> None:
    for tick in range(11):
        recorder.tick(tick, [10, 20, 30, 40, 50 + tick], (7, 7, 0, 3, 1, 2, 0))
    path, warning = recorder.save(tmp_path / FLIGHT_RECORDS, 11)
    assert warning == "" and find_records(tmp_path) == [("joystick.device", 11, Path(path))]
    table = np.load(path)
    python = FlightRecorder(PHASES)
    with python:
        python.end(0)
        expected = python.table()
    assert expected is not None and table.dtype == expected.dtype
    assert_array_equal(table["tick"], range(3, 11))
    assert_array_equal(table["read"], range(53, 61))
    for name, value in {"publishing": 10, "write": 40, "on_core": 7, "minor_faults": 3, "major_faults": 1,
                        "voluntary": 2, "involuntary": 0, "collections": 0}.items():  # fmt: skip
        assert_array_equal(table[name], [value] * SIZE)


LATE = 30_000_000

#: growth of time on a core, again, time without a core, faults, switches; what the line says
CAUSES = [
    ((0, 0, 29_000_000, 0, 0, 0, 1), "it waited for a core that others had"),
    ((28_000_000, 28_000_000, 0, 5, 0, 0, 0), "it computed, on a slow core or for the first time"),
    ((0, 100, 0, 0, 4, 3, 0), "it waited for pages from a disk"),
    ((0, 100, 0, 0, 0, 1, 0), "it slept or was stopped"),
]


@pytest.mark.parametrize(("counters", "cause"), CAUSES)
@pytest.mark.parametrize("late_phase", range(5))
def test_a_late_tick_is_described_in_the_words_of_the_python_recorder(
    recorder: Recorder, tmp_path: Path, counters: tuple[int, ...], cause: str, late_phase: int
) -> None:
    usual = [2_000, 900_000, 7_000, 30_000, 12_345]
    for tick in range(6):
        recorder.tick(tick, [value + tick for value in usual], (5, 5, 1, 0, 0, 1, 0))
    late = list(usual)
    late[late_phase] += LATE
    recorder.tick(6, late, counters)
    recorder.tick(7, usual)
    text = recorder.describe()
    path, _ = recorder.save(tmp_path, 8)
    assert text == str(longest_tick(np.load(path)))
    assert text.startswith("tick 6 took") and f"{PHASES[late_phase]} " in text and cause in text
    assert recorder.describe(1).startswith("tick 7 took")


def test_a_tick_that_only_computed_longer_had_no_slow_core(recorder: Recorder) -> None:
    for tick in range(7):
        recorder.tick(tick, [0, 0, 0, 10_000_000 + (tick == 3), 0], (10_000_000, 10_000_000, 0, 0, 0, 0, 0))
    assert "tick 3 took 10.00 ms" in recorder.describe() and "it computed;" in recorder.describe()


def test_the_slow_counters_are_read_in_late_ticks_and_now_and_then_only(library: ctypes.CDLL) -> None:
    recorder = Recorder(library, 2048)
    recorder.start()
    for tick in range(640):
        recorder.tick(tick, [0, PERIOD, 0, 0, 0], (5, 5, 1_000, 0, 0, 1, 0))
    assert recorder.slow_reads == 10
    recorder.tick(640, [0, 2 * PERIOD, 0, 0, 0], (5, 5, PERIOD, 0, 0, 1, 0))
    assert recorder.slow_reads == 11
    recorder.tick(641, [0, 3 * PERIOD, 0, 0, 0], (2 * PERIOD, 2 * PERIOD, 9 * PERIOD, 0, 0, 1, 0))
    runnable = recorder.rows()[:, 7]
    assert not runnable[:640].any()
    assert runnable[640] == PERIOD + 63 * 1_000  # of this tick, and of those since the counter was read
    assert runnable[641] == PERIOD  # not more than the tick left beside what it computed
    recorder.close()


def test_only_the_newest_files_of_a_node_are_kept(recorder: Recorder, tmp_path: Path) -> None:
    others = [tmp_path / name for name in ("other.device-tick-1.npy", "joystick.device-tick-x.npy", "notes.txt")]
    for file in others:
        file.touch()
    recorder.tick(0, [1] * 5)
    for tick in range(KEPT_FILES + 3):
        path, warning = recorder.save(tmp_path, tick)
        os.utime(path, ns=(tick, tick))  # files of one moment have an order, too
        assert warning == ""
    own = {file for file in tmp_path.iterdir() if file not in others}
    assert own == {tmp_path / f"joystick.device-tick-{tick}.npy" for tick in range(3, KEPT_FILES + 3)}
    assert all(file.exists() for file in others)


def test_without_ticks_there_is_no_file(library: ctypes.CDLL, tmp_path: Path) -> None:
    recorder = Recorder(library)
    assert recorder.save(tmp_path, 0) == ("", "") and not list(tmp_path.iterdir())
    recorder.close()


def test_a_file_that_cannot_be_written_gives_a_warning(recorder: Recorder, tmp_path: Path) -> None:
    (tmp_path / "taken").touch()
    recorder.tick(0, [1] * 5)
    path, warning = recorder.save(tmp_path / "taken", 5)
    assert path and warning.startswith(f"{path}: not written: ")


@pytest.mark.parametrize("run", [None, "", "/runs/one"])
def test_the_directory_is_that_of_the_run(
    library: ctypes.CDLL, monkeypatch: pytest.MonkeyPatch, run: str | None
) -> None:
    monkeypatch.delenv(RUN_DIRECTORY, raising=False)
    if run is not None:
        monkeypatch.setenv(RUN_DIRECTORY, run)
    text = ctypes.create_string_buffer(200)
    library.directory_of_records(b"/log", text, len(text))
    assert text.value.decode() == f"{run or '/log'}/{FLIGHT_RECORDS}"


def test_rows_that_are_copied_during_the_ticks_are_whole_and_in_order(library: ctypes.CDLL) -> None:
    assert library.rows_under_way(5000) == 0


def test_clocks_and_counters_are_those_of_the_thread(library: ctypes.CDLL) -> None:
    out = np.zeros((2, 14), dtype=np.int64)
    assert library.record_this_thread(ctypes.c_void_p(out.ctypes.data)) == 2
    names = ("tick", *PHASES, "on_core", "runnable", "minor", "major", "voluntary")
    first, second = (dict(zip(names, row, strict=False)) for row in out)
    assert (first["tick"], second["tick"]) == (0, 1)
    assert first["answers"] > 0 and first["manager"] == 0
    assert second["manager"] >= 2_000_000 and second["answers"] == 0
    assert second["minor"] + second["major"] >= 1 and second["voluntary"] >= 1
    assert second["on_core"] >= 0 and 0 <= second["runnable"] <= second["manager"]


LOOK = """
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
out = (ctypes.c_int * 8)()
library.raise_and_look(out)
print(*out)
"""


def test_only_the_controller_s_threads_and_those_of_fast_dds_become_realtime(library_file: Path) -> None:
    """Nothing that they start inherits it, nor do the controller's threads what the controller manager has."""
    done = subprocess.run([sys.executable, "-c", LOOK, str(library_file)], check=True, capture_output=True, text=True)
    allowed, own, started, dds, sender, other, before, after = map(int, done.stdout.split())
    ordinary: Any = os.SCHED_OTHER
    raised = os.SCHED_FIFO | os.SCHED_RESET_ON_FORK if allowed else ordinary
    assert (own, dds) == (raised, raised)
    assert (started, sender, other, after) == (ordinary,) * 4
    assert before == (os.SCHED_FIFO if allowed else ordinary)
