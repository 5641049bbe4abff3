"""The last ticks before a stop are written by a thread: no tick waits for the disk, and few files are kept."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from haptic_core import stop_records
from haptic_core.flight_recorder import FlightRecorder, longest_tick
from haptic_core.stop_records import KEPT_FILES, StopRecords, find_records, records_directory

PHASES = ("callbacks", "device")


def table_of(ticks: int, size: int = 2048) -> np.ndarray:
    """Table of a loop in which these ticks have ended, and the next one has not."""
    recorder = FlightRecorder(PHASES, size=size)
    with recorder:
        for tick in range(ticks):
            recorder.mark(0)
            recorder.mark(1)
            recorder.end(tick)
        table = recorder.table(tick=ticks)
    assert table is not None
    return table


@pytest.fixture
def warnings() -> list[str]:
    return []


@pytest.fixture
def records(tmp_path: Path, warnings: list[str]) -> StopRecords:
    return StopRecords("/joystick/device", tmp_path / "flight_records", warnings.append)


def test_a_table_has_the_last_ticks_in_order_and_the_one_that_has_not_ended() -> None:
    table = table_of(20, size=8)
    assert table.dtype.names is not None and table.dtype.names[:3] == ("tick", *PHASES)
    assert_array_equal(table["tick"], range(12, 21))


def test_outside_the_recorded_loop_there_is_no_table() -> None:
    recorder = FlightRecorder(PHASES)
    assert recorder.table() is None
    with recorder:
        assert recorder.table() is None  # no tick yet
        recorder.end(0)
        assert recorder.table() is not None
    assert recorder.table() is None


def test_the_longest_tick_of_a_table_is_that_of_its_recorder() -> None:
    recorder = FlightRecorder(PHASES)
    with recorder:
        for tick in range(100):
            recorder.mark(0)
            recorder.end(tick)
        table, longest = recorder.table(), recorder.longest()
    assert table is not None and longest_tick(table) == longest


def test_a_stop_gives_one_file_that_numpy_reads(records: StopRecords, tmp_path: Path, warnings: list[str]) -> None:
    table = table_of(5)
    records.start()
    file = records.save(table, 5)
    records.finish()
    assert file == tmp_path / "flight_records/joystick.device-tick-5.npy" and warnings == []
    assert_array_equal(np.load(file, allow_pickle=False), table)
    assert find_records(tmp_path) == [("joystick.device", 5, file)]


def test_saving_waits_for_no_disk(records: StopRecords, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that takes nothing holds up the thread alone; a stop in this time has no file."""
    ready, taken = threading.Event(), threading.Event()
    save = np.save

    def slow(*given: object) -> None:
        taken.set()
        ready.wait()
        save(*given)  # type: ignore[call-overload]

    monkeypatch.setattr(stop_records.np, "save", slow)
    records.start()
    file = records.save(table_of(3), 3)
    taken.wait()
    assert file is not None and not file.exists()
    assert records.save(table_of(4), 4) is None
    ready.set()
    records.finish()
    assert [path.name for path in file.parent.iterdir()] == ["joystick.device-tick-3.npy"]


def test_the_newest_files_of_a_node_stay_and_those_of_others_do(records: StopRecords, tmp_path: Path) -> None:
    folder = tmp_path / "flight_records"
    folder.mkdir()
    for name in ("joystick.friction-tick-1.npy", "notes.npy"):
        (folder / name).touch()
    for tick in range(KEPT_FILES + 3):
        records.start()
        assert records.save(table_of(1), tick)
        records.finish()
    ticks = [tick for node, tick, _ in find_records(tmp_path) if node == "joystick.device"]
    assert ticks == list(range(3, KEPT_FILES + 3))
    assert len(list(folder.iterdir())) == KEPT_FILES + 2
    assert max(file.stat().st_size for file in folder.iterdir()) < 250_000


def test_a_file_of_a_full_table_is_within_the_promised_size(records: StopRecords) -> None:
    records.start()
    file = records.save(table_of(3000), 3000)
    records.finish()
    assert file is not None and 150_000 < file.stat().st_size < 250_000


def test_a_directory_that_cannot_be_made_is_a_warning(
    records: StopRecords, tmp_path: Path, warnings: list[str]
) -> None:
    (tmp_path / "flight_records").touch()
    records.start()
    file = records.save(table_of(1), 1)
    records.finish()
    assert warnings == [f"{file}: not written: File exists"]


def test_without_a_thread_nothing_is_written(records: StopRecords, tmp_path: Path) -> None:
    assert records.save(table_of(1), 1) is None
    records.start()
    records.finish()
    assert records.save(table_of(1), 1) is None
    assert list(tmp_path.iterdir()) == []


def test_the_files_are_in_the_directory_of_the_run_or_else_of_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HAPTICS_RUN_DIRECTORY", "/runs/one")
    assert records_directory("/log") == Path("/runs/one/flight_records")
    monkeypatch.delenv("HAPTICS_RUN_DIRECTORY")
    assert records_directory("/log") == Path("/log/flight_records")
