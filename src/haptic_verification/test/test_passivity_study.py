"""The study of sampled walls, on a coarse grid."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from haptic_math.passivity import largest_passive_stiffness
from haptic_verification.studies.passivity import STUDY, PassivitySettings


@pytest.mark.study
def test_a_coarse_study_shows_every_claim(tmp_path: Path) -> None:
    settings = PassivitySettings(cells=2, stiffest=2)
    made = STUDY.report(settings, {name: task.run() for name, task in STUDY.tasks(settings).items()}, tmp_path)
    assert [claim.shown for claim in made.claims] == [True] * 6, made.claims
    assert made.metrics["cells"] == 16 and 0 < made.metrics["passive_cells"] < 16
    assert made.metrics["cells_without_rest_without_controller"] > 0
    (figure, caption) = made.figures["passivity"]
    assert len(figure.axes) == 5 and "Colgate" in caption
    limit = made.figures["passivity"][0].axes[0].get_lines()[0]
    expected = [largest_passive_stiffness(1.0, 1e-3, B) * 1e-3 / 2.0 for B in settings.dampings()]
    np.testing.assert_allclose(limit.get_ydata(), expected)


@pytest.mark.study
def test_study_reports_the_cases_in_which_the_controller_fails(tmp_path: Path) -> None:
    settings = PassivitySettings(cells=2, stiffest=2, largest_damping=0.0)
    made = STUDY.report(settings, {name: task.run() for name, task in STUDY.tasks(settings).items()}, tmp_path)
    assert [claim.shown for claim in made.claims] == [True, True, True, False, False, True]


def test_no_cell_of_a_grid_lies_on_the_limit() -> None:
    for cells in (2, 3, 10):
        settings = PassivitySettings(cells=cells)
        limits = np.array([largest_passive_stiffness(1.0, 1e-3, B) for B in settings.dampings()])
        assert np.abs(settings.stiffnesses()[:, None] - limits).min() > 0.4 / cells * 2.0 / 1e-3
