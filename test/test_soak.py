"""The study of long runs, on a short one: what it counts and fits."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from ros_domain import worker_domain

from haptic_verification.studies.soak import SoakSettings, report, tasks, trend


def test_a_straight_growth_and_files_that_stay_open_are_found() -> None:
    time = np.linspace(0.0, 60.0, 61)
    memory = np.where(time < 12.0, 80.0 + 5.0 * time, 140.0 + 0.1 * (time - 12.0))  # caches fill, then a leak
    usage = np.column_stack([memory, 20.0 + (time > 30.0)])
    found = trend(time, usage, ticks=120_000)
    assert found.growth == pytest.approx(0.1 * 60.0 / 0.12) and found.files == 1
    assert found.memory == pytest.approx(140.0 + 4.8)
    assert trend(time, np.ones((61, 2)), ticks=1).growth == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("last", [1.1, 1.3])
def test_steps_of_nodes_that_share_a_process_are_compared_too(last: float, tmp_path: Path) -> None:
    result = {
        "time": np.arange(30.0),
        "processes": np.array(["nodes", "recorder"]),
        "usage": np.ones((30, 2, 2)),
        "nodes": np.array(["tau/contact", "tau/wall"]),
        "p99": np.column_stack([np.repeat([500.0, 450.0, 500.0 * last], 10), np.full(30, 90.0)]),
        "ticks": np.array([9000, 9000]),
        "complaints": np.array(0),
    }
    made = report(SoakSettings(), {"tau_touch_world": result}, tmp_path)
    assert made.claims[-1].shown == (last < 1.25) and f"1.00 to {last:.2f} times" in made.claims[-1].measured
    assert made.tables[0].rows[0][-1] == f"500 to {500.0 * last:.0f}, 90 to 90" and made.tables[0].rows[1][-1] == "-"


@pytest.mark.study
def test_a_short_run_loses_nothing(tmp_path: Path) -> None:
    short = {"minutes": 0.02, "interval": 0.2, "layout": "processes", "domain": worker_domain()}
    settings = SoakSettings(experiments=("friction_impedance",), **short)
    results = {name: task.run() for name, task in tasks(settings).items()}
    (result,) = results.values()
    assert sorted(result["processes"]) == ["device", "friction", "recorder"]
    assert list(result["nodes"]) == ["joystick/device", "joystick/friction"]
    assert 1 < len(result["time"]) <= 6 and (np.diff(result["time"]) > 0.0).all()
    assert (result["usage"][:, :, 0] > 20.0).all() and (result["usage"][:, :, 1] > 5.0).all()
    made = report(settings, results, tmp_path)
    assert made.claims[0].shown and re.fullmatch(r"\d+ ticks, 0 not in a bag, 0 errors", made.claims[0].measured)
    assert made.metrics["ticks"] > 100 and len(made.tables[0].rows) == 3
