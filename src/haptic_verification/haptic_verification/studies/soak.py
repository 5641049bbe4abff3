"""The study of long runs: lost ticks, memory, open files and step times."""

from __future__ import annotations

import os
import re
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from matplotlib.figure import Figure
from pydantic import BaseModel, Field

from haptic_core.errors import HapticError
from haptic_core.qos import display_qos
from haptic_core.start.matching import RECORDER
from haptic_experiments.report import Claim
from haptic_experiments.study import Results, ResultTable, Study, StudyReport, Task
from haptic_launch.experiments import checked_names, experiment_names
from haptic_verification.faults import COMPOSED, StartedRun, words_of

#: fraction of a run at its beginning that does not count, since caches fill
_WARM = 0.2
#: largest growth that is not a leak: 1 MB in an hour of 1e6 ticks and more [MB per 1e6 ticks]
_GROWTH = 1.0
_P99 = "compute time p99 [us]"
_PAGE = os.sysconf("SC_PAGE_SIZE")


class SoakSettings(BaseModel):
    """Experiments, duration and layout of the study."""

    experiments: tuple[str, ...] = Field((), description="names; all if none is given")
    minutes: float = Field(10.0, gt=0.0, le=1e4, description="length of each run, after its first tick [min]")
    layout: Literal["automatic", "processes", "composed"] = Field(
        "automatic",
        description="composed: one process for all nodes; processes: one for each; automatic: the default",
    )
    interval: float = Field(1.0, gt=0.0, le=600.0, description="between samples [s]")
    domain: int = Field(141, ge=0, le=232, description="ROS domain of the runs")


@dataclass(frozen=True)
class Soak:
    """A run of one experiment in lockstep at its fastest rate, with its recorder; ended as by Ctrl-C."""

    experiment: str
    minutes: float
    layout: str
    interval: float
    domain: int

    def run(self) -> dict[str, np.ndarray]:
        """Runs the experiment and samples its processes.

        Returns:
            `time` of the samples [s]; `usage`, memory [MB] and number of open files by sample and process; `p99` of the
            step times [us] by sample and node; the smaller and the larger of the device's and the recorder's number of
            `ticks`; the number of `complaints` (errors).
        """
        words = words_of(self.experiment, {"mode": "lockstep", "layout": self.layout, "duration": "1e6"})
        p99: dict[str, float] = {}

        def note(message: DiagnosticArray) -> None:
            for status in message.status:
                for entry in status.values:
                    if entry.key == _P99:
                        p99[status.name] = float(entry.value)

        with tempfile.TemporaryDirectory(prefix="haptics-soak-") as folder:
            with StartedRun(self.experiment, *words, folder=Path(folder), domain=self.domain) as run:
                run.node.create_subscription(DiagnosticArray, "/diagnostics", note, display_qos())
                run.until(lambda: RECORDER in p99 and any(p99.values()), "the first steps")
                times, usage, steps = list[float](), list[list[tuple[float, float]]](), list[dict[str, float]]()
                pids, begin = run.pids(), time.monotonic()
                while (now := time.monotonic() - begin) < 60.0 * self.minutes and run.process.poll() is None:
                    if now < self.interval * len(times):
                        run.executor.spin_once(timeout_sec=self.interval * len(times) - now)
                        continue
                    times.append(now)
                    usage.append([_usage(pid) for pid in pids.values()])
                    steps.append(dict(p99))
            output = run.text
            ticks = [int(number) for number in re.findall(r"(\d+) ticks in ", output)]
            if len(ticks) < 2:
                raise HapticError(
                    f"{self.experiment}: device and recorder did not say how many ticks: {run.last_words()}"
                )
        nodes = sorted(node for node in p99 if node != RECORDER)
        return {
            "time": np.array(times),
            "processes": np.array(list(pids)),
            "usage": np.array(usage),
            "nodes": np.array(nodes),
            "p99": np.array([[row.get(node) or np.nan for node in nodes] for row in steps]),
            "ticks": np.array([min(ticks[:2]), max(ticks[:2])]),
            "complaints": np.array(len(re.findall(r"\[(?:ERROR|FATAL)\]", output))),
        }


def _usage(pid: int) -> tuple[float, float]:
    """Returns the resident memory [MB] and the number of open files of a process."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return 1e-6 * _PAGE * pages, float(len(os.listdir(f"/proc/{pid}/fd")))


def tasks(settings: SoakSettings) -> Mapping[str, Task]:
    """Creates a task for each experiment."""
    names = checked_names(settings.experiments or experiment_names())
    return {name: Soak(name, settings.minutes, settings.layout, settings.interval, settings.domain) for name in names}


@dataclass(frozen=True)
class Trend:
    """Memory and open files of one process.

    Attributes:
        memory: memory at the end [MB].
        growth: fitted slope of the memory [MB per 1e6 ticks].
        files: largest minus smallest number of open files.
    """

    memory: float
    growth: float
    files: int


def trend(time: np.ndarray, usage: np.ndarray, ticks: int) -> Trend:
    """Fits a straight line to the memory after the first part of a run.

    Args:
        time: times of the samples [s], shape (n,).
        usage: memory [MB] and number of open files, shape (n, 2).
        ticks: number of ticks of the whole run.
    """
    late = time >= _WARM * time[-1]
    slope = float(np.polyfit(time[late], usage[late, 0], 1)[0]) if late.sum() > 2 else float("nan")
    return Trend(float(usage[-1, 0]), slope * time[-1] / ticks * 1e6, int(np.ptp(usage[late, 1])))


def _thirds(result: dict[str, np.ndarray]) -> dict[str, list[float]]:
    """Computes medians of the p99 of each node's steps [us] over the thirds of a run; omits nodes with few samples."""
    found = {}
    for name, column in zip(result["nodes"].tolist(), result["p99"].T, strict=True):
        finite = column[np.isfinite(column)]
        if len(finite) > 2:
            found[name.rpartition("/")[2]] = [float(np.median(part)) for part in np.array_split(finite, 3)]
    return found


def report(settings: SoakSettings, results: Results, directory: Path) -> StudyReport:
    """Reports the trends of all processes, and the lost ticks."""
    rows, trends, ratios = list[tuple[str, ...]](), list[Trend](), list[float]()
    for name, result in results.items():
        clock, ticks = result["time"], int(result["ticks"][1])
        steps = _thirds(result)
        ratios += [last / first for first, _, last in steps.values()]
        for i, process in enumerate(result["processes"].tolist()):
            found = trend(clock, result["usage"][:, i], ticks)
            trends.append(found)
            parts = [steps[process]] if process in steps else list(steps.values()) if process == COMPOSED else []
            last = ", ".join(f"{first:.0f} to {last:.0f}" for first, _, last in parts) or "-"
            rows.append(
                (name, process, str(ticks), f"{found.memory:.0f}", f"{found.growth:+.2f}", str(found.files), last)
            )
    lost = sum(int(result["ticks"][1] - result["ticks"][0]) for result in results.values())
    total = sum(int(result["ticks"][1]) for result in results.values())
    complaints = sum(int(result["complaints"]) for result in results.values())
    growth, files = max(one.growth for one in trends), max(one.files for one in trends)
    claims = [
        Claim(
            "No tick is lost, and no node complains.",
            f"{total} ticks, {lost} not in a bag, {complaints} errors",
            not lost and not complaints,
        ),
        Claim(
            "Memory stays what it is.", f"at most {growth:+.2f} MB in 1e6 ticks (limit: {_GROWTH:g})", growth < _GROWTH
        ),
        Claim("Open files stay what they are.", f"change by {files} at most", files == 0),
        Claim(
            "Steps take as long at the end as at the beginning.",
            f"99 % of them {min(ratios):.2f} to {max(ratios):.2f} times (medians of last and first third; limit: 1.25)",
            max(ratios) < 1.25,
        )
        if ratios
        else Claim("Steps take as long at the end as at the beginning.", "no node said", None),
    ]
    head = ("experiment", "process", "ticks", "memory [MB]", "growth [MB/1e6 ticks]", "open files +-", "p99 [us]")
    metrics = {"ticks": total, "lost": lost, "largest_growth": growth, "open_files": files}
    return StudyReport(metrics, claims, {"memory": (_plot(results), _CAPTION)}, [ResultTable("Long runs", head, rows)])


_CAPTION = "Resident memory of each process less that at the end of the first fifth of its run."


def _plot(results: Results) -> Figure:
    figure = Figure(figsize=(7.0, 4.0), layout="constrained")
    axes = figure.subplots()
    for name, result in results.items():
        time, memory = result["time"] / 60.0, result["usage"][:, :, 0]
        warm = int(np.searchsorted(time, _WARM * time[-1]))
        for i, process in enumerate(result["processes"].tolist()):
            axes.plot(time, memory[:, i] - memory[warm, i], linewidth=0.8, label=f"{name}: {process}")
    axes.set_xlabel("time [min]")
    axes.set_ylabel("memory [MB]")
    if len(axes.lines) <= 12:
        axes.legend(fontsize="small")
    return figure


STUDY = Study(
    title="Long runs",
    paper="none: what the suite promises",
    summary="Experiments run in lockstep with their recorder as long as asked; every second memory and open files of "
    "each process and the p99 of each node's steps.",
    settings=SoakSettings,
    tasks=tasks,
    report=report,
    workers=1,
)
