"""The study of realtime runs: period, round trip and missed ticks, for each executor, layout, priority and pinning."""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import struct
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from matplotlib.figure import Figure
from pydantic import BaseModel, Field
from rosbags.highlevel import AnyReader

from haptic_bags.bags import parse_event, typestore
from haptic_core.errors import HapticError
from haptic_core.qos import tick_qos
from haptic_experiments.report import Claim
from haptic_experiments.study import Results, ResultTable, Study, StudyReport, Task
from haptic_launch.experiments import checked_names, experiment_names, load_experiment
from haptic_msgs.msg import DeviceState
from haptic_verification.faults import COMPOSED, StartedRun, words_of
from haptic_verification.thread_watch import ThreadWatch

#: largest allowed fraction of ticks without the answers of all nodes
_LIMIT = 0.01
#: a computation that takes this many times its median time shared the core with other programs
_SLOW = 1.5
#: report of a safe stop in the output of the device
_STOP = re.compile(r"safe state at (tick .*)")
#: report of the flight recorders of device and nodes at a stop (docs/loop.md)
_RECORD = re.compile(r"\[(\S+)\]: .*longest of the last ticks: (.*)")
#: time between two checks for a stop of the device [s]
_CHECK_INTERVAL = 0.5
#: largest number of hindrances of threads that are kept for a stop
_HINDRANCES = 5
#: time for which the slowness of the machine is measured before each run [s]
_ALONE = 5.0


class RealtimeSettings(BaseModel):
    """Experiments, duration, and settings of the runs, of which all combinations are run."""

    experiments: tuple[str, ...] = Field((), description="names; all if none is given")
    minutes: float = Field(10.0, gt=0.0, le=1e4, description="length of each run [min]")
    layouts: tuple[Literal["automatic", "processes", "composed"], ...] = Field(
        ("automatic",), description="of experiments of several nodes: automatic, processes, composed"
    )
    executors: tuple[Literal["events", "single_threaded"], ...] = Field(
        ("events",), description="of each process: events, single_threaded"
    )
    priorities: tuple[int, ...] = Field((20,), description="of SCHED_FIFO; 0: ordinary")
    pinning: tuple[Literal["free", "pinned"], ...] = Field(
        ("free",), description="pinned: the device's process has the first core for itself, the others the second one"
    )
    record: bool = Field(True, description="with the recorder; the histograms come from its bag")
    watch: bool = Field(
        False, description="the threads of the nodes are looked at from outside, which takes up to a third of a core"
    )
    domain: int = Field(142, ge=0, le=232, description="ROS domain of the runs")


@dataclass(frozen=True)
class RealtimeRun:
    """A run of one experiment with one combination of settings, from its start to Ctrl-C."""

    experiment: str
    minutes: float
    layout: str
    executor: str
    priority: int
    pinning: str
    record: bool
    watch: bool
    domain: int

    def run(self) -> dict[str, np.ndarray]:
        """Runs the experiment.

        Returns:
            `counts` of all and of missed ticks; `periods` and round `trips` [s], empty without a bag; `slow`, see
            `slowness`, before the run; `threads`, the hindrances at each stop; and the arrays of `stops_in`.
        """
        experiment = load_experiment(self.experiment)
        wanted = {"mode": "realtime", "layout": self.layout, "duration": "1e6", "record": str(self.record).lower()}
        words = words_of(self.experiment, wanted)
        variables = {"HAPTICS_EXECUTOR": self.executor, "HAPTICS_PRIORITY": str(self.priority)}
        alone = slowness(_ALONE)
        with tempfile.TemporaryDirectory(prefix="haptics-realtime-") as folder:
            path = Path(folder)
            with StartedRun(self.experiment, *words, folder=path, domain=self.domain, variables=variables) as run:
                seen: list[DeviceState] = []
                ticks = run.node.create_subscription(DeviceState, experiment.clock, seen.append, tick_qos("realtime"))
                run.until(lambda: seen, "the first tick")
                run.node.destroy_subscription(ticks)  # it would take computing time from the nodes
                if self.pinning == "pinned":
                    _pin(run.pids())
                threads = self._wait(run)
            output = run.text
            found = re.search(r"(\d+) ticks in [\d.]+ s .*?missed (\d+)", output)
            if found is None:
                raise HapticError(f"{self.experiment}: the device did not say how many ticks: {run.last_words()}")
            periods, trips = np.empty(0), np.empty(0)
            if self.record:
                (bag,) = path.glob("runs/*/bag")
                periods, trips = _read(bag, experiment.clock)
        return {
            "counts": np.array([int(found[1]), int(found[2])]),
            "periods": periods,
            "trips": trips,
            "slow": np.array(alone),
            "threads": np.array(threads, dtype=str),
        } | stops_in(output)

    def _wait(self, run: StartedRun) -> list[str]:
        """Waits for the duration of a run and resets the device after stops; returns the hindrances before stops."""
        end, stops, seen = time.monotonic() + 60.0 * self.minutes, 0, list[str]()
        with ThreadWatch(run.pids()) if self.watch else contextlib.nullcontext() as watch:
            while time.monotonic() < end and run.process.poll() is None:
                time.sleep(min(_CHECK_INTERVAL, max(0.0, end - time.monotonic())))
                if len(_STOP.findall(run.text)) > stops:  # a user would reset it as well
                    stops += 1
                    seen += watch.found(2.0 * _CHECK_INTERVAL)[: 1 + _HINDRANCES] if watch else []
                    run.reset("device")
        return seen


def stops_in(log: str) -> dict[str, np.ndarray]:
    """Finds the safe stops in the output of a run, and the records of its nodes at the stops."""
    records = [f"{node}: {record}" for node, record in _RECORD.findall(log)]
    return {"stops": np.array(_STOP.findall(log), dtype=str), "records": np.array(records, dtype=str)}


def slowness(duration: float) -> float:
    """Measures the fraction of the time in which the machine is slow because of other programs or virtual machines.

    A computation of about 50 us is repeated. On virtual machines it takes up to twice its time while a neighbour uses
    the core's other hardware thread. No control loop can have less jitter than this measurement.

    Args:
        duration: duration of the measurement [s].
    """
    times = list[int]()
    end = time.perf_counter_ns() + round(1e9 * duration)
    while (start := time.perf_counter_ns()) < end:
        sum(range(4000))
        times.append(time.perf_counter_ns() - start)
    taken = np.array(times)
    return float(taken[taken > _SLOW * np.median(taken)].sum() / taken.sum())


def _pin(pids: Mapping[str, int]) -> None:
    """Pins the device, or the process that it shares with all nodes, to the first core, and the others to the rest."""
    first, *others = sorted(os.sched_getaffinity(0))
    for name, pid in pids.items():
        alone = name == (COMPOSED if COMPOSED in pids else "device")
        for thread in os.listdir(f"/proc/{pid}/task"):
            os.sched_setaffinity(int(thread), {first} if alone else set(others) or {first})


def _read(bag: Path, clock: str) -> tuple[np.ndarray, np.ndarray]:
    """Reads from a bag the periods between ticks [s], and the round trips of the last ticks [s]."""
    events = f"{clock.rpartition('/')[0]}/tick_event"
    stamps, trips = list[tuple[int, int]](), np.empty(0)
    with AnyReader([bag], default_typestore=typestore()) as reader:
        wanted = [connection for connection in reader.connections if connection.topic in (clock, events)]
        for connection, _, data in reader.messages(connections=wanted):
            if connection.topic == clock:
                stamps.append(struct.unpack_from("<iI", data, 4))  # after the header of CDR
                continue
            event = parse_event(reader.deserialize(data, connection.msgtype))
            if event.kind == "times" and event.source == "device":
                trips = round_trips(event.detail)
    seconds = np.array(stamps, dtype=np.int64).reshape(-1, 2) @ np.array([1_000_000_000, 1])
    return 1e-9 * np.diff(seconds), trips


def round_trips(times: Mapping[str, Sequence[Sequence[int]]]) -> np.ndarray:
    """Computes the times from a tick's publishing to the arrival of its last answer [s].

    Ticks that not all sources have answered are left out.

    Args:
        times: ticks and times [ns] in the device's last event: of publishing ("published"), and of the arrival of the
            answers by source.
    """
    (ticks, sent), *answers = [(np.array(pair[0]), np.array(pair[1])) for name, pair in
                               sorted(times.items(), key=lambda item: item[0] != "published")]  # fmt: skip
    last = np.zeros(len(ticks), dtype=np.int64)
    everywhere = np.ones(len(ticks), dtype=bool)
    for which, arrived in answers:
        _, one, other = np.intersect1d(ticks, which, return_indices=True)
        last[one] = np.maximum(last[one], arrived[other])
        everywhere &= np.isin(ticks, which)
    return 1e-9 * (last - sent)[everywhere]


def tasks(settings: RealtimeSettings) -> Mapping[str, Task]:
    """Creates a task for each experiment and each combination of settings."""
    found: dict[str, Task] = {}
    for name in checked_names(settings.experiments or experiment_names()):
        choices = (settings.layouts, settings.executors, settings.priorities, settings.pinning)
        for layout, executor, priority, pinning in itertools.product(*choices):
            task = RealtimeRun(
                name,
                settings.minutes,
                layout,
                executor,
                priority,
                pinning,
                settings.record,
                settings.watch,
                settings.domain,
            )
            found[f"{name}-{layout}-{executor}-{priority}-{pinning}"] = task
    return found


def report(settings: RealtimeSettings, results: Results, directory: Path) -> StudyReport:
    """Reports the fractions of missed ticks, and percentiles of period and round trip."""
    rows, missed, metrics = list[tuple[str, ...]](), dict[str, float](), dict[str, dict[str, float | None]]()
    for name, result in results.items():
        ticks, count = result["counts"].tolist()
        stops = len(result["stops"])
        missed[name] = count / max(1, ticks)
        periods, trips = (1e6 * result[part] for part in ("periods", "trips"))
        middle = [_percentile(periods, q) for q in (50, 99, 99.9, 100)] + [_percentile(trips, q) for q in (50, 99)]
        rows.append(
            (
                name,
                str(ticks),
                f"{100.0 * missed[name]:.2f}",
                f"{100.0 * float(result['slow']):.1f}",
                str(stops),
                *("-" if q is None else f"{q:.0f}" for q in middle),
            )
        )
        metrics[name] = {
            "missed": missed[name],
            "slow": float(result["slow"]),
            "stops": stops,
            "period_p99": middle[1],
            "round_trip_p99": middle[5],
        }
    good = sum(fraction <= _LIMIT for fraction in missed.values())
    claims = [
        Claim(
            f"At most {100.0 * _LIMIT:g} % of the ticks pass without the answers of all nodes.",
            f"{good} of {len(missed)} runs; {100.0 * min(missed.values()):.2f} to {100.0 * max(missed.values()):.2f} %",
            good == len(missed),
        )
    ]
    head = (
        "run",
        "ticks",
        "missed [%]",
        "machine slow [%]",
        "stops",
        "period p50 [us]",
        "p99",
        "p99.9",
        "max",
        "answer p50 [us]",
        "p99",
    )
    figures = {"histograms": (_plot(results), _CAPTION)} if settings.record else {}
    reasons = [(name, text) for name, result in results.items() for text in result["stops"].tolist()]
    tables = [ResultTable("Realtime", head, rows)]
    if reasons:
        tables.append(ResultTable("Safe stops, each of which was reset", ("run", "the device said"), reasons))
        records = [(name, text) for name, result in results.items() for text in result["records"].tolist()]
        tables.append(ResultTable("What held them up", ("run", "recorded at the stop"), records))
        if settings.watch:
            threads = [(name, text) for name, result in results.items() for text in result["threads"].tolist()]
            tables.append(ResultTable("What was seen from outside", ("run", "in the second before the stop"), threads))
    return StudyReport({"runs": metrics}, claims, figures, tables)


def _percentile(values: np.ndarray, q: float) -> float | None:
    return float(np.percentile(values, q)) if len(values) else None


_CAPTION = (
    "Time between two ticks, and time from a tick to the last answer to it, over the last 1000 ticks: share of "
    "what took longer."
)


def _plot(results: Results) -> Figure:
    figure = Figure(figsize=(8.0, 3.5), layout="constrained")
    sides = figure.subplots(1, 2, sharey=True)
    for name, result in results.items():
        for axes, part in zip(sides, ("periods", "trips"), strict=True):
            values = np.sort(1e3 * result[part])
            axes.semilogy(values, 1.0 - np.arange(len(values)) / max(1, len(values)), linewidth=0.9, label=name)
    for axes, what in zip(sides, ("period [ms]", "answer after [ms]"), strict=True):
        axes.set_xlabel(what)
        axes.set_xlim(0.0, 4.0)
    sides[0].set_ylabel("share of longer ones")
    if len(results) <= 10:
        sides[1].legend(fontsize="x-small")
    return figure


STUDY = Study(
    title="Realtime",
    paper="none: what the suite promises",
    summary="Experiments run in realtime for as long as asked, in each of the ways that are named; period, time to the "
    "last answer, missed ticks, and how much of the time the machine by itself is slow. Run it on a quiet machine.",
    settings=RealtimeSettings,
    tasks=tasks,
    report=report,
    workers=1,
)
