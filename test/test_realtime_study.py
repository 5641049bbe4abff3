"""The study of realtime runs, on a short one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from haptic_bringup.studies.realtime import RealtimeSettings, report, round_trips, tasks

DOMAIN = 106


def test_a_round_trip_ends_with_the_last_answer_and_needs_all_of_them() -> None:
    times = {"wall": [[7, 8, 9], [130, 250, 330]], "published": [[7, 8, 9, 10], [100, 200, 300, 400]],
             "friction": [[7, 9, 10], [170, 320, 480]]}  # fmt: skip
    np.testing.assert_allclose(round_trips(times), [70e-9, 30e-9])  # nobody but the wall answered 8, only friction 10
    np.testing.assert_allclose(
        round_trips({name: times[name] for name in ("wall", "published")}), [30e-9, 50e-9, 30e-9]
    )


def test_each_way_is_run_and_one_node_has_no_layout() -> None:
    ways = {"layouts": ("processes", "composed"), "priorities": (0, 20), "pinning": ("free", "pinned")}
    assert len(tasks(RealtimeSettings(experiments=("tau_rough_wall",), **ways))) == 8
    assert len(tasks(RealtimeSettings(experiments=("friction_impedance",), **ways))) == 4


@pytest.mark.parametrize("record", [True, False])
def test_a_short_run_is_counted(record: bool, tmp_path: Path) -> None:
    settings = RealtimeSettings(
        experiments=("friction_impedance",), minutes=0.05, pinning=("pinned",), record=record, domain=DOMAIN
    )
    results = {name: task.run() for name, task in tasks(settings).items()}
    (result,) = results.values()
    ticks, missed, _ = result["counts"].tolist()
    assert ticks > 100 and 0 <= missed <= ticks
    assert len(result["periods"]) == (ticks - 1 if record else 0)
    if record:
        assert result["periods"].mean() == pytest.approx(1e-3, rel=0.5) and (result["trips"] > 0.0).all()
    made = report(settings, results, tmp_path)
    assert made.metrics["runs"]["friction_impedance-processes-events-20-pinned"]["missed"] == missed / ticks
    assert len(made.tables[0].rows) == 1 and len(made.figures) == record
