"""The study of faults: nodes are killed or stopped in realtime; time to the safe state, and recovery."""

from __future__ import annotations

import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from pydantic import BaseModel, Field

from haptic_experiments.report import Claim
from haptic_experiments.study import Results, ResultTable, Study, StudyReport
from haptic_launch.experiments import checked_names, experiment_names, load_experiment
from haptic_verification.faults import WatchedRun, arguments_of, words_of

#: namespace of scripted devices, which no hand holds, and which end by themselves before a fault
_SCRIPTED = "/script"
#: largest delay with which the observing node receives a tick [ticks]
SEEN_LATE = 5
#: duration that stands for a killed process [s]
KILLED = np.inf
#: largest displacement of a tool that was moving and is pushed by a hand when its device stops [m]
STAYS = 5e-3
#: number of ticks with status OK before a fault
CALM = 100


class FaultSettings(BaseModel):
    """Experiments, faults and loop settings of the study."""

    experiments: tuple[str, ...] = Field((), description="names; all with a device if none is given")
    durations: tuple[float, ...] = Field((0.005, 0.05, 0.5), description="of hold-ups by SIGSTOP [s]")
    period: float = Field(1e-3, gt=0.0, le=0.1, description="of the loop [s]; a slow machine needs longer ones")
    watchdog_periods: int = Field(20, ge=2, le=10000, description="silence after which a device is made safe [ticks]")
    domain: int = Field(140, ge=0, le=232, description="ROS domain of the runs")


@dataclass(frozen=True)
class Faults:
    """All faults of one experiment, one after the other in one run; the last fault may end the run."""

    experiment: str
    durations: tuple[float, ...]
    period: float
    watchdog_periods: int
    domain: int

    def run(self) -> dict[str, np.ndarray]:
        """Runs the experiment with all faults.

        Returns:
            Table by node with a row for each fault: duration [s]; ticks to the safe state; largest effort in it [N m or
            N] of an impedance device; displacement in it [m] of an admittance device; time to recover [s]. A value
            that does not apply is nan.
        """
        wanted = {
            "duration": 3600.0,
            "period": self.period,
            "watchdog_periods": self.watchdog_periods,
            "respawn": "true",
            "layout": "processes",
        }
        words, respawns = words_of(self.experiment, wanted), "respawn" in arguments_of(self.experiment)
        rows: dict[str, list[tuple[float, ...]]] = defaultdict(list)
        with (
            tempfile.TemporaryDirectory(prefix="haptics-faults-") as folder,
            WatchedRun(self.experiment, *words, folder=Path(folder), domain=self.domain) as run,
        ):
            run.until(lambda: run.parameters("device"), "the device")
            sources = list(run.parameters("device")["sources"])
            for name in (*sources, "device"):
                for duration in self.durations:
                    rows[name].append((duration, *self._held_up(run, sources, name, duration)))
                if respawns:
                    rows[name].append((KILLED, *self._killed(run, sources, name)))
            if not respawns:
                rows[sources[0]].append((KILLED, *self._ended(run, sources)))
        return {name: np.array(table) for name, table in rows.items()}

    def _held_up(self, run: WatchedRun, sources: list[str], name: str, duration: float) -> tuple[float, ...]:
        pid, stops = self._begin(run, sources, name)
        run.hold_up(pid, duration)
        end = run.device.tick + self.watchdog_periods + SEEN_LATE
        run.until(lambda: run.device.tick > end, "the watchdog")
        return self._result(run, sources, stops)

    def _killed(self, run: WatchedRun, sources: list[str], name: str) -> tuple[float, ...]:
        pid, stops = self._begin(run, sources, name)
        starts, new_starts = run.started(name), run.new_starts
        if name == "device":
            run.kill(pid)
            run.until(lambda: run.new_starts > new_starts, "a new device")
            return np.nan, *run.after_stop(), self._recover(run, sources)
        with run.runner_held():
            run.kill(pid)
            run.until(lambda: len(run.stops) > stops, "the safe state")
        run.until(lambda: run.started(name) > starts, f"a new {name}")
        return self._result(run, sources, stops)

    def _ended(self, run: WatchedRun, sources: list[str]) -> tuple[float, ...]:
        """Kills the first source in a run without respawn, which must end and name the source."""
        name = sources[0]
        pid, _ = self._begin(run, sources, name)
        start = time.monotonic()
        run.kill(pid)
        run.process.wait(60.0)
        named = f"{name} failed: killed by SIGKILL" in run.text and run.process.returncode == 1
        return np.nan, np.nan, np.nan, time.monotonic() - start if named else np.nan

    def _begin(self, run: WatchedRun, sources: list[str], name: str) -> tuple[int, int]:
        """Recovers the run before a fault; returns the process id of a node, and the number of stops so far."""
        pid = run.pid(name)
        self._recover(run, sources)
        run.forces = run.moved = 0.0
        return pid, len(run.stops)

    def _result(self, run: WatchedRun, sources: list[str], stops: int) -> tuple[float, ...]:
        """Returns ticks from the fault to the safe state (nan: none), effort, displacement, and time to recover [s]."""
        ticks = float(run.stops[stops] - run.struck) if len(run.stops) > stops else np.nan
        return ticks, *run.after_stop(), self._recover(run, sources)

    def _recover(self, run: WatchedRun, sources: list[str]) -> float:
        """Resets the stopped nodes as in docs/loop.md; returns the time [s] until the status is OK for `CALM` ticks."""
        start = time.monotonic()
        run.goes_on(CALM, resets=(*sources, "device"))
        return time.monotonic() - start


def tasks(settings: FaultSettings) -> dict[str, Faults]:
    """Creates a task for each experiment; all share a domain, since they run one after the other."""
    names = checked_names(settings.experiments or [name for name in experiment_names() if _has_hand(name)])
    return {
        name: Faults(name, settings.durations, settings.period, settings.watchdog_periods, settings.domain)
        for name in names
    }


def _has_hand(name: str) -> bool:
    """Returns whether an experiment's device can be held by a hand."""
    return not load_experiment(name).clock.startswith(_SCRIPTED)


def report(settings: FaultSettings, results: Results, directory: Path) -> StudyReport:
    """Reports the ticks to the safe state, and whether the requirements are met."""
    rows = [(experiment, node, *row) for experiment, nodes in results.items()
            for node, table in nodes.items() for row in table]  # fmt: skip
    limit = settings.watchdog_periods + SEEN_LATE
    period = settings.period
    silent = [row for row in rows if row[1] != "device" and row[2] > (settings.watchdog_periods + 1) * period]
    silent = [row for row in silent if np.isfinite(row[2]) or not np.isnan(row[3])]
    ended = [row for row in rows if row[2] == KILLED and np.isnan(row[3]) and row[1] != "device"]
    stood = [row for row in rows if row[1] == "device" and np.isfinite(row[2]) and row[2] > limit * period]
    ticks = np.array([row[3] for row in silent])
    efforts, displacements = (np.array([row[i] for row in rows if not np.isnan(row[i])]) for i in (4, 5))
    back = np.array([row[6] for row in rows])
    claims = [
        Claim(
            "A source that is silent for longer than the watchdog brings the device to its safe state within it.",
            f"{len(ticks)} faults, {np.nanmin(ticks):.0f} to {np.nanmax(ticks):.0f} ticks "
            f"(limit: {settings.watchdog_periods}, seen up to {SEEN_LATE} ticks late)",
            bool(np.all(ticks <= limit)),
        )
        if len(ticks)
        else Claim("A silent source brings the device to its safe state.", "no such fault", None),
        Claim(
            "A device that was itself held up for longer obeys nothing that is older: it is safe when it goes on.",
            f"{sum(not np.isnan(row[3]) for row in stood)} of {len(stood)} hold-ups",
            all(not np.isnan(row[3]) for row in stood) if stood else None,
        ),
        Claim(
            "No effort acts in the safe state of an impedance device.",
            f"largest {efforts.max():.3g} N m or N in {len(efforts)} faults" if len(efforts) else "no such device",
            bool(efforts.max() == 0.0) if len(efforts) else None,
        ),
        Claim(
            "An admittance device stays where it is in its safe state.",
            f"the tool moves by at most {1e3 * displacements.max():.2g} mm in {len(displacements)} faults "
            f"(limit: {1e3 * STAYS:g} mm)"
            if len(displacements)
            else "no such device",
            bool(displacements.max() <= STAYS) if len(displacements) else None,
        ),
        Claim(
            "All come back by resets and new starts, or the run ends and names the node that was killed.",
            f"{np.isfinite(back).sum()} of {len(back)}, at most {np.nanmax(back):.1f} s",
            bool(np.isfinite(back).all()),
        ),
    ]
    table = ResultTable(
        "Faults",
        ("experiment", "node", "fault", "safe after [ticks]", "effort after it", "way after it [mm]", "back after [s]"),
        [
            (experiment, node, _fault(duration), _number(n), _number(effort), _number(1e3 * moved), f"{seconds:.1f}")
            for experiment, node, duration, n, effort, moved, seconds in rows
        ],
    )
    metrics: dict[str, Any] = {
        "faults": len(rows),
        "ended_runs": len(ended),
        "most_ticks": float(np.nanmax(ticks)) if len(ticks) else None,
        "largest_effort": float(efforts.max()) if len(efforts) else None,
        "largest_way": float(displacements.max()) if len(displacements) else None,
    }
    return StudyReport(metrics, claims, {"faults": (_plot(settings, silent), _CAPTION)}, [table])


_CAPTION = (
    "Ticks from a fault of a source until the watcher saw the device in its safe state; dashed: the watchdog. One mark "
    "for each fault that is longer than the watchdog."
)


def _fault(duration: float) -> str:
    return "killed" if duration == KILLED else f"held up for {1e3 * duration:g} ms"


def _number(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:.3g}"


def _plot(settings: FaultSettings, rows: Iterable[tuple[Any, ...]]) -> Figure:
    rows = list(rows)
    names = list(dict.fromkeys(row[0] for row in rows))
    figure = Figure(figsize=(7.0, 1.2 + 0.28 * max(1, len(names))), layout="constrained")
    axes = figure.subplots()
    for duration in dict.fromkeys(row[2] for row in rows):
        some = [row for row in rows if row[2] == duration]
        axes.plot([row[3] for row in some], [names.index(row[0]) for row in some], "o", alpha=0.6,
                  label=_fault(duration))  # fmt: skip
    axes.axvline(settings.watchdog_periods, color="black", linestyle="--", linewidth=0.8)
    axes.set_yticks(range(len(names)), names)
    axes.set_xlabel("time to the safe state [ticks]")
    axes.set_xlim(0.0, None)
    axes.invert_yaxis()
    if rows:
        axes.legend(loc="lower left", fontsize="small")
    return figure


STUDY = Study(
    title="Killed and held-up nodes of running experiments",
    paper="-",
    summary="Each node of each experiment in realtime is stopped for 5, 50 and 500 ms and killed; the watchdog is that "
    "of the settings. Run it on a quiet machine.",
    settings=FaultSettings,
    tasks=tasks,
    report=report,
    workers=1,
)
