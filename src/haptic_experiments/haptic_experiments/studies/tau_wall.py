"""The study of the TAU device's walls (`tau_wall_control.study`)."""

from __future__ import annotations

from pathlib import Path

from haptic_experiments.report import Claim
from haptic_experiments.study import Results, ResultTable, Study, StudyReport
from tau_wall_control.study import Answer, StudySettings, answers, tasks


def from_answer(answer: Answer) -> StudyReport:
    """Makes a report of the library's answer; draws its figures."""
    return StudyReport(
        answer.metrics,
        [Claim(*finding) for finding in answer.findings],
        {name: (draw(), caption) for name, (draw, caption) in answer.figures.items()},
        [ResultTable(*table) for table in answer.tables],
        answer.timings,
    )


def report(settings: StudySettings, results: Results, directory: Path) -> StudyReport:
    """Makes one report of all parts."""
    whole = StudyReport({})
    for part, answer in answers(settings, results).items():
        own = from_answer(answer)
        whole.metrics[part] = own.metrics
        whole.claims += own.claims
        whole.figures |= own.figures
        whole.tables += own.tables
        whole.timings |= own.timings
    return whole


STUDY = Study(
    title="Stiff walls by position control on the TAU device",
    paper="Wang, Feng, Andersson: Figs. 3, 4, 5, 6, Table 2, and the questions that the paper leaves",
    summary="A push against a held pose on the full nonlinear model of the stand-in device: geometry, masses, weights "
    "and noise are this project's, so compare the pattern with the paper, not newtons per metre.",
    settings=StudySettings,
    tasks=tasks,
    report=report,
)
