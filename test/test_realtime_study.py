"""The study of realtime runs, on a short one."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from ros_domain import worker_domain

from haptic_verification.studies.realtime import RealtimeSettings, report, round_trips, slowness, tasks


def test_a_round_trip_ends_with_the_last_answer_and_needs_all_of_them() -> None:
    times = {"wall": [[7, 8, 9], [130, 250, 330]], "published": [[7, 8, 9, 10], [100, 200, 300, 400]],
             "friction": [[7, 9, 10], [170, 320, 480]]}  # fmt: skip
    np.testing.assert_allclose(round_trips(times), [70e-9, 30e-9])  # only the wall answered 8, only friction 10
    np.testing.assert_allclose(
        round_trips({name: times[name] for name in ("wall", "published")}), [30e-9, 50e-9, 30e-9]
    )


def test_each_way_is_run_and_one_node_has_one_layout() -> None:
    ways = {"layouts": ("processes", "composed"), "priorities": (0, 20), "pinning": ("free", "pinned")}
    assert len(tasks(RealtimeSettings(experiments=("tau_rough_wall",), **ways))) == 8
    assert len(tasks(RealtimeSettings(experiments=("friction_impedance",), **ways))) == 4


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
        experiments=("friction_impedance",), minutes=0.02, pinning=("pinned",), record=record, domain=worker_domain()
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
