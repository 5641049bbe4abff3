"""The study of the paper's comparison and of the questions it leaves, part by part (docs/tau.md, "Study").

`tasks` cuts the chosen parts into pieces of work that do not depend on each other; `answers` makes metrics, verdicts,
tables and figures of their results. What runs them is not here: any map over processes or machines will do.
"""

from __future__ import annotations

from tau_wall_control.study import delay, force, grids, paper, schemes, sensing, walls
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
    "schemes": schemes,
    "walls": walls,
    "force": force,
    "grids": grids,
    "sensing": sensing,
    "delay": delay,
}


def tasks(settings: StudySettings) -> dict[str, Task]:
    """The work of the chosen parts by name, "part.name".

    Raises:
        TauError: the device's or a controller's file is refused.
    """
    return {f"{part}.{name}": task for part in settings.parts for name, task in QUESTIONS[part].tasks(settings).items()}


def answers(settings: StudySettings, results: Results) -> dict[Part, Answer]:
    """What the parts answer, from the results of all tasks."""
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
