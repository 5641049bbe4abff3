"""The study of realtime runs, on a short one."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from ros_domain import worker_domain

from haptic_verification.studies.realtime import RealtimeSettings, report, round_trips, slowness, stops_in, tasks


def test_a_round_trip_ends_with_the_last_answer_and_needs_all_of_them() -> None:
    times = {"wall": [[7, 8, 9], [130, 250, 330]], "published": [[7, 8, 9, 10], [100, 200, 300, 400]],
             "friction": [[7, 9, 10], [170, 320, 480]]}  # fmt: skip
    np.testing.assert_allclose(round_trips(times), [70e-9, 30e-9])  # only the wall answered 8, only friction 10
    np.testing.assert_allclose(
        round_trips({name: times[name] for name in ("wall", "published")}), [30e-9, 50e-9, 30e-9]
    )


def test_each_way_is_run() -> None:
    ways = {"layouts": ("processes", "composed"), "priorities": (0, 20), "pinning": ("free", "pinned")}
    assert len(tasks(RealtimeSettings(experiments=("tau_rough_wall", "friction_impedance"), **ways))) == 16


def test_stops_are_reported_with_their_records(tmp_path: Path) -> None:
    log = (
        "[device] [ERROR] [179.3] [joystick.device]: safe state at tick 9: source friction: silent for 20 ticks\n"
        "[device] [ERROR] [179.4] [joystick.device]: longest of the last ticks: tick 8 took 3.01 ms\n"
        "[friction] [ERROR] [179.5] [joystick.friction]: the device has stopped; longest of the last ticks: tick 7\n"
    )
    result = {"counts": np.array([9, 1]), "slow": np.array(0.0), "periods": np.empty(0), "trips": np.empty(0)}
    made = report(RealtimeSettings(record=False), {"a": result | stops_in(log)}, tmp_path)
    assert [table.rows for table in made.tables[1:]] == [
        [("a", "tick 9: source friction: silent for 20 ticks")],
        [("a", "joystick.device: tick 8 took 3.01 ms"), ("a", "joystick.friction: tick 7")],
    ]


@pytest.mark.slow
def test_a_machine_is_slow_while_its_pieces_of_work_take_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a clock of which each tenth piece of work takes three times as long: 3 of 12 parts of the time."""
    now, count = 0, 0

    def clock() -> int:
        nonlocal now, count
        count += 1
        if count % 2 == 1 and count > 1:  # a piece has been done, and two questions were asked
            now += 150_000 if count // 2 % 10 == 0 else 50_000
        return now

    monkeypatch.setattr("haptic_verification.studies.realtime.time", SimpleNamespace(perf_counter_ns=clock))
    assert slowness(1.0) == pytest.approx(3 / 12, abs=0.01)


@pytest.mark.realtime
@pytest.mark.parametrize("record", [True, False])
def test_a_short_run_is_counted(record: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("haptic_verification.studies.realtime._ALONE", 0.1)
    settings = RealtimeSettings(
        experiments=("friction_impedance",),
        minutes=0.02,
        pinning=("pinned",),
        record=record,
        watch=not record,
        domain=worker_domain(),
    )
    results = {name: task.run() for name, task in tasks(settings).items()}
    (result,) = results.values()
    ticks, missed = result["counts"].tolist()
    assert ticks > 10 and missed >= 0  # the skipped ones count as missed, too
    assert 0.0 <= result["slow"] < 1.0
    assert len(result["periods"]) == (ticks - 1 if record else 0)
    if record:
        # a tick that is late may be followed by one in time, but the mean period is the clock's, or longer
        assert (result["periods"] > 0.0).all() and result["periods"].mean() > 0.5e-3
        assert (result["trips"] > 0.0).all()
    made = report(settings, results, tmp_path)
    assert made.metrics["runs"]["friction_impedance-automatic-events-20-pinned"]["missed"] == missed / ticks
    assert len(made.tables[0].rows) == 1 and len(made.figures) == record
