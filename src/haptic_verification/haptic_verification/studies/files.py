"""The study of damaged files (`haptic_verification.fuzz.files`)."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from haptic_experiments.report import Claim
from haptic_experiments.study import Results, ResultTable, Study, StudyReport, Task


class FilesSettings(BaseModel):
    """Number and seed of the damaged files."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    files: int = Field(default=2000, ge=20, le=10**7, description="damaged files of each kind [-]")
    seed: int = Field(default=0, ge=0, description="of the damage [-]")


@dataclass(frozen=True)
class Files:
    """Damaged files for one reader."""

    reader: str
    files: int
    seed: int

    def run(self) -> dict[str, np.ndarray]:
        """Returns the counts by kind of damage and outcome; `found` describes the first requirement that is not met."""
        from haptic_verification.fuzz.files import FileBarrage, FoundError
        from haptic_verification.fuzz.readers import all_readers

        with tempfile.TemporaryDirectory(prefix="haptics-files-") as folder:
            reader = all_readers(Path(folder))[self.reader]
            barrage, found = FileBarrage(reader, Path(folder)), ""
            try:
                barrage.run(self.files, self.seed)
            except FoundError as error:
                found = str(error)
        rows = [(kind, what, count) for kind, counts in barrage.counts.items() for what, count in counts.items()]
        return {
            "words": np.array([row[:2] for row in rows]).reshape(-1, 2),
            "counts": np.array([row[2] for row in rows]),
            "found": np.array(found),
        }


def tasks(settings: FilesSettings) -> Mapping[str, Task]:
    """Creates a task for each reader."""
    from haptic_verification.fuzz.readers import all_readers

    with tempfile.TemporaryDirectory(prefix="haptics-files-") as folder:
        names = list(all_readers(Path(folder)))
    return {name.replace(", ", "-").replace(" ", "_"): Files(name, settings.files, settings.seed) for name in names}


def report(settings: FilesSettings, results: Results, directory: Path) -> StudyReport:
    """Reports the number of files that were read and refused, by reader."""
    rows, metrics, found = list[tuple[str, ...]](), dict[str, dict[str, Any]](), list[str]()
    for name, result in results.items():
        counts: dict[str, int] = {"read": 0, "refused": 0}
        for (_, what), count in zip(result["words"].tolist(), result["counts"].tolist(), strict=True):
            counts[what] += count
        wrong = str(result["found"])
        rows.append(
            (name, str(sum(counts.values())), str(counts["read"]), str(counts["refused"]), "1" if wrong else "0")
        )
        metrics[name] = {**counts, "found": wrong}
        if wrong:
            found.append(wrong)
    total = sum(metrics[name]["read"] + metrics[name]["refused"] for name in metrics)
    claims = [
        Claim(
            "a damaged file gives a result or an error of one line that names it, never a traceback",
            f"{total} files for {len(results)} readers; " + ("; ".join(found) or "nothing found"),
            not found,
        )
    ]
    table = ResultTable("Damaged files", ("reader", "files", "read", "refused", "found"), rows)
    return StudyReport({"readers": metrics}, claims, {}, [table])


STUDY = Study(
    title="Damaged files",
    paper="none: what the suite promises of its files",
    summary="Cut off, with bits or values changed, empty, missing, of other bytes: files of devices, worlds, scripts, "
    "laws, gains, metadata, launch files, URDF and bags, read as the suite reads them.",
    settings=FilesSettings,
    tasks=tasks,
    report=report,
)
