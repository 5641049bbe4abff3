"""Designs a wall controller for a device and writes its file (`tau_wall_control.study.design_wall`)."""

from __future__ import annotations

from pathlib import Path

from haptic_experiments.studies.tau_wall import from_answer
from haptic_experiments.study import Results, Study, StudyReport
from tau_wall_control.study.design_wall import DesignSettings, answer, tasks


def report(settings: DesignSettings, results: Results, directory: Path) -> StudyReport:
    """Makes the report: the controller's file, and its behaviour."""
    return from_answer(answer(settings, results, directory))


STUDY = Study(
    title="A wall controller for a TAU-type device",
    paper='Wang, Feng, Andersson: "Piece-wise linear model extension"',
    summary="Gains at every operating point of the grid, in a file that the wall's node and WallController.load take. "
    "The device is this project's stand-in unless a file was given.",
    settings=DesignSettings,
    tasks=tasks,
    report=report,
)
