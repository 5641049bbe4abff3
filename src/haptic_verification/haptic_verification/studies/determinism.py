"""The study of determinism: two runs of each experiment, the second beside busy processes, compared bit by bit."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from pydantic import BaseModel, Field

from haptic_bags.bag_comparison import compare_topic
from haptic_bags.recording import Recording
from haptic_core.errors import HapticError
from haptic_experiments.report import Claim
from haptic_experiments.study import Results, ResultTable, Study, StudyReport, Task
from haptic_launch import process_guard
from haptic_launch.experiments import checked_names, experiment_names
from haptic_verification.faults import StartedRun, words_of

#: longest time of a run and its report, on a busy machine [s]
_PATIENCE = 1800.0


class DeterminismSettings(BaseModel):
    """Experiments, duration and load of the study."""

    experiments: tuple[str, ...] = Field((), description="names; all if none is given")
    duration: float = Field(3.0, gt=0.0, le=1e4, description="length of each run, in the experiment's time [s]")
    busy: int = Field(2, ge=0, le=256, description="processes that only count, beside the second run")
    domain: int = Field(139, ge=0, le=232, description="ROS domain of the runs")


@dataclass(frozen=True)
class Pair:
    """Two runs of an experiment in lockstep, the second under load and with each node in its own process."""

    experiment: str
    duration: float
    busy: int
    domain: int

    def run(self) -> dict[str, np.ndarray]:
        """Runs the experiment twice and compares the bags.

        Returns:
            Numbers of `ticks` of both runs, names and differing fields of `topics`, and a row of `counts` for each
            topic: messages that were compared, that differ, that are in one bag only, and the first tick that differs.
        """
        with tempfile.TemporaryDirectory(prefix="haptics-determinism-") as folder:
            one = self._recording(Path(folder, "alone"))
            with _busy(self.busy):
                other = self._recording(Path(folder, "beside"), layout="processes")
        rows, words = list[tuple[int, int, int, int]](), list[tuple[str, str]]()
        for topic in sorted(one.messages.keys() | other.messages.keys()):
            found = compare_topic(one.types[topic], one.messages.get(topic, {}), other.messages.get(topic, {}))
            alone = found.recorded + found.replayed - 2 * found.compared
            rows.append((found.compared, found.differing, alone, -1 if found.first is None else found.first))
            words.append((topic, ", ".join(found.fields)))
        return {
            "ticks": np.array([len(one.ticks), len(other.ticks)]),
            "topics": np.array(words),
            "counts": np.array(rows),
        }

    def _recording(self, folder: Path, **more: str) -> Recording:
        folder.mkdir()
        wanted = {"mode": "lockstep", "duration": self.duration, "command_delay_ticks": 0, **more}
        bag = folder / "bag"
        words = [*words_of(self.experiment, wanted), f"output:={bag}"]  # neither a report nor variants are compared
        with StartedRun(self.experiment, *words, folder=folder, domain=self.domain) as run:
            if run.process.wait(_PATIENCE):
                raise HapticError(f"{self.experiment}: {run.last_words()}")
        return Recording.read(bag)


@contextmanager
def _busy(count: int) -> Iterator[None]:
    """Runs a number of processes that use a core each, until the context ends."""
    command = process_guard.start_command([sys.executable, "-c", "while True: pass"])
    started = [subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for _ in range(count)]
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()


def tasks(settings: DeterminismSettings) -> Mapping[str, Task]:
    """Creates a task for each experiment."""
    names = checked_names(settings.experiments or experiment_names())
    return {name: Pair(name, settings.duration, settings.busy, settings.domain) for name in names}


def report(settings: DeterminismSettings, results: Results, directory: Path) -> StudyReport:
    """Reports the topics, ticks and fields that differ between the runs."""
    rows, bad = list[tuple[str, ...]](), list[str]()
    for name, result in results.items():
        compared, differing, alone, _ = result["counts"].T
        differences = [
            f"{topic} from tick {first}: {fields}" if differs else f"{topic}: {missing} messages in one bag only"
            for (topic, fields), (_, differs, missing, first) in zip(
                result["topics"].tolist(), result["counts"].tolist(), strict=True
            )
            if differs or missing
        ]
        bad += [name] if differences or not compared.sum() else []
        rows.append(
            (
                name,
                str(int(result["ticks"][0])),
                str(len(compared)),
                str(int(compared.sum())),
                str(int(differing.sum() + alone.sum())),
                "; ".join(differences) or "-",
            )
        )
    total = sum(int(result["counts"][:, 0].sum()) for result in results.values())
    claims = [
        Claim(
            "The second run is the first one bit for bit.",
            f"{len(results) - len(bad)} of {len(results)} experiments, {total} messages, {settings.busy} busy programs",
            not bad,
        )
    ]
    head = ("experiment", "ticks", "topics", "messages", "that differ", "where")
    metrics = {"messages": total, "differing": bad}
    return StudyReport(metrics, claims, {}, [ResultTable("Two runs", head, rows)])


STUDY = Study(
    title="Two runs are the same",
    paper="none: what the suite promises",
    summary="Each experiment twice in lockstep, the second time beside busy processes and with each node in a process "
    "of its own; all messages of every tick are compared but for solve times.",
    settings=DeterminismSettings,
    tasks=tasks,
    report=report,
    workers=1,
)
