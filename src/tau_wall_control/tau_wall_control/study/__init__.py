"""The study of the paper's comparison and of further questions, part by part (docs/tau.md, "Study").

`tasks` divides the chosen parts into independent tasks; `answers` makes metrics, findings, tables and figures of their
results. Any map over processes or machines can run the tasks.
"""

from __future__ import annotations

from tau_wall_control.study import delay, devices, force, grids, paper, schemes, sensing, walls
from tau_wall_control.study.settings import (
    PARTS,
    Answer,
    Finding,
    Grid,
    Part,
    Question,
    Results,
    StudySettings,
    Task,
    nine_points,
)

QUESTIONS: dict[Part, Question] = {
    "paper": paper,
    "devices": devices,
    "schemes": schemes,
    "walls": walls,
    "force": force,
    "grids": grids,
    "sensing": sensing,
    "delay": delay,
}


def tasks(settings: StudySettings) -> dict[str, Task]:
    """Returns the tasks of the chosen parts by name, "part.name".

    Raises:
        TauError: the device's or a controller's file is refused.
    """
    return {f"{part}.{name}": task for part in settings.parts for name, task in QUESTIONS[part].tasks(settings).items()}


def answers(settings: StudySettings, results: Results) -> dict[Part, Answer]:
    """Returns the answers of the parts from the results of all tasks."""
    own = {
        part: {name.partition(".")[2]: r for name, r in results.items() if name.startswith(f"{part}.")}
        for part in settings.parts
    }
    return {part: QUESTIONS[part].answer(settings, own[part]) for part in settings.parts}


__all__ = [
    "PARTS",
    "QUESTIONS",
    "Answer",
    "Finding",
    "Grid",
    "Part",
    "Question",
    "Results",
    "StudySettings",
    "Task",
    "answers",
    "nine_points",
    "tasks",
]
