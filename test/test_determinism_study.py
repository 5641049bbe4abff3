"""The study that compares two runs, on a short one, and on two that differ."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from ros_domain import worker_domain

from haptic_verification.studies.determinism import DeterminismSettings, report, tasks


@pytest.mark.study
def test_two_short_runs_are_the_same(tmp_path: Path) -> None:
    settings = DeterminismSettings(experiments=("friction_impedance",), duration=0.2, busy=1, domain=worker_domain())
    results = {name: task.run() for name, task in tasks(settings).items()}
    made = report(settings, results, tmp_path)
    assert made.metrics == {"messages": 4 * 200, "differing": []} and made.claims[0].shown
    assert made.tables[0].rows == [("friction_impedance", "200", "4", "800", "0", "-")]


def test_difference_is_named_with_its_topic_field_and_tick(tmp_path: Path) -> None:
    result = {
        "ticks": np.array([9, 8]),
        "topics": np.array([("/a/state", ""), ("/b/state", "force"), ("/c/state", "")]),
        "counts": np.array([(9, 0, 0, -1), (9, 2, 0, 7), (8, 0, 1, -1)]),
    }
    made = report(DeterminismSettings(), {"one": result}, tmp_path)
    assert made.metrics["differing"] == ["one"] and not made.claims[0].shown
    (row,) = made.tables[0].rows
    assert row[4:] == ("3", "/b/state from tick 7: force; /c/state: 1 messages in one bag only")
