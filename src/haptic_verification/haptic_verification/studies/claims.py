"""The study of the alterations of recordings that fail the claims of a report (`haptic_verification.altered`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import numpy as np
from pydantic import BaseModel, Field

from haptic_bags.bags import Bag, read_custom_data
from haptic_core.errors import HapticError
from haptic_experiments.report import Claim, bags_of
from haptic_experiments.study import Results, ResultTable, Study, StudyReport, Task
from haptic_launch.experiments import load_experiment
from haptic_verification.altered import check_claims


class ClaimsSettings(BaseModel):
    """Runs, claims and alterations of the study."""

    runs: tuple[Path, ...] = Field(min_length=1, description="directories of runs, or of bags")
    without: tuple[str, ...] = Field(
        (), description="words of claims that are left out, such as those on computing times"
    )
    only: tuple[str, ...] = Field(
        (), description='alterations to make, such as "force of tau/friction/state half as large"; default: all'
    )


@dataclass(frozen=True)
class Claims:
    """The claims of one run."""

    directory: str
    without: tuple[str, ...] = ()
    only: tuple[str, ...] = ()

    def run(self) -> dict[str, np.ndarray]:
        """Returns a row for each claim: text, verdict, and the alteration that fails it."""
        bags = {name: Bag(path) for name, path in bags_of(Path(self.directory)).items()}
        analyse = import_module(load_experiment(experiment_of(self.directory)).report).analyse
        checked = check_claims(analyse, bags, self.without, self.only)
        rows = [(one.claim.text, one.claim.verdict, one.failed_by) for one in checked]
        return {"claims": np.array(rows)}


def experiment_of(directory: str | Path) -> str:
    """Returns the name of the experiment of a run, or "unknown"."""
    return read_custom_data(next(iter(bags_of(Path(directory)).values()))).get("experiment", "unknown")


def tasks(settings: ClaimsSettings) -> Mapping[str, Task]:
    """Creates a task for each run, by the experiment's name."""
    found = dict[str, Task]()
    for directory in settings.runs:
        try:
            name = experiment_of(directory)
        except HapticError as error:
            raise ValueError(str(error)) from None
        if name in found:
            raise ValueError(f"runs: two of {name}, expected one run of each experiment")
        found[name] = Claims(str(directory.resolve()), settings.without, settings.only)
    return found


def report(settings: ClaimsSettings, results: Results, directory: Path) -> StudyReport:
    """Reports the alteration that fails each claim, and the claims that no alteration fails."""
    del settings, directory
    rows = [
        (name, *(str(word) for word in row)) for name, result in sorted(results.items()) for row in result["claims"]
    ]
    checked = [row for row in rows if row[2] in ("shown", "NOT shown")]
    never = [f"{name}: {text}" for name, text, _, failed_by in checked if not failed_by]
    claims = [
        Claim(
            "Each claim that a run reaches fails with at least one altered recording.",
            f"{len(checked) - len(never)} of {len(checked)} claims of {len(results)} experiments; "
            f"{len(rows) - len(checked)} are not judged in these runs",
            not never,
        )
    ]
    metrics = {
        "never_failed": never,
        "failed_by": {
            name: [{"claim": row[1], "verdict": row[2], "failed_by": row[3]} for row in rows if row[0] == name]
            for name in sorted(results)
        },
    }
    table = ResultTable("Claims and what fails them", ("experiment", "claim", "verdict", "fails with"), rows)
    return StudyReport(metrics, claims, {}, [table])


STUDY = Study(
    title="What fails a claim",
    paper="none: what the suite promises",
    summary="Of recorded runs, each column of each topic and each number among the nodes' parameters is altered by "
    "itself, mildly at first; the report is made again, and the first alteration is kept that fails a claim.",
    settings=ClaimsSettings,
    tasks=tasks,
    report=report,
)
