"""Cost and error in one row: scenes of SimBenchmark, robots, towers and hulls beside MuJoCo and Drake.

All engines have the same bodies, forces, period, gravity and friction, each with the settings that suit a scene best
(`simulation_settings`). Errors are those of the motion against exact results (`simulation_measures`), by the same
formulas for all. Each engine runs in a process of its own with one thread, and the engines take turns. The other
engines are installed on first use (peers.py); one that cannot be had is left out.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import multiprocessing
import os
import platform
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import peers
from options import Parser, positive
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from simulation_measures import Errors, Motion
from simulation_settings import FAMILIES, Family, Setting

TITLES = {"ours": "this suite", "mujoco": "MuJoCo", "drake": "Drake"}
#: steps before the first that is timed, which may compile; shortest observed time for the errors [observations]
WARM, SHORTEST = 3, 2
#: what engines raise where a step fails
FAILURES = (ArithmeticError, RuntimeError, ValueError)
NUMBERS = ("seconds", "steps", "us per step", "median", "p99", "ms per s", "times")
#: of these, those that depend on the machine and its load
ABSOLUTE = {"us per step", "median", "p99", "ms per s"}
LEGEND = """seconds: simulated; fewer than others where the processor time of a run reached its limit
us per step: mean of processor time; median and 99th percentile where all steps have one length
ms per s: processor time per simulated second; times: that over the first row of this suite in the same seconds
growth: p of time per step = c size^p"""


@dataclass(frozen=True)
class Row:
    """One setting of one engine with one scene.

    Attributes:
        cost: processor time between observations (n,), s.
        steps: in all.
        step_times: of all steps (m,), s; empty if steps choose their lengths.
        errors: columns.
        failure: why the run ended early; empty if it did not.
    """

    cost: np.ndarray
    steps: int
    step_times: np.ndarray
    errors: Errors
    failure: str = ""


@dataclass
class Results:
    """Rows of a family.

    Attributes:
        family: the family.
        sizes: in the order of the table.
        rows: by size, engine and words of the setting.
    """

    family: Family
    sizes: Sequence[int]
    rows: dict[tuple[int, str, str], Row] = field(default_factory=dict)


def measure(engine: str, name: str, size: int, number: int, share: float, limit: float) -> Row:
    """Simulates a scene, and returns what it cost and how exact it was.

    Args:
        engine: one of `TITLES`.
        name: of the family.
        size: of the scene.
        number: of the setting.
        share: of the family's seconds.
        limit: of the processor time, s; the run ends after it.
    """
    family = FAMILIES[name]
    setting = family.settings[engine][number]
    make = importlib.import_module(f"simulation_{engine}").Simulation
    scene = family.build(size)
    warm = make(scene, setting)
    with suppress(*FAILURES):
        for _ in range(WARM):
            advance(warm, setting, family.sample)
    del warm
    gc.collect()
    simulation = make(scene, setting)
    observations = [simulation.observe()]
    cost: list[float] = []
    steps: list[float] = []
    failure = ""
    for _ in range(round(share * family.seconds / family.sample)):
        try:
            spent, each = advance(simulation, setting, family.sample)
            observations.append(simulation.observe())
        except FAILURES as error:
            failure = str(error).splitlines()[0][:80]
            break
        cost.append(spent)
        steps += each
        if not np.isfinite(observations[-1].position).all():
            failure = "positions are not finite"
            observations.pop()
            break
        if sum(cost) > limit:
            break
    errors: Errors = {}
    if len(observations) > SHORTEST:
        errors = family.errors(Motion(scene, observations), setting.damping_ratio)
    return Row(np.array(cost), simulation.steps, np.array(steps), errors, failure)


def advance(simulation: Any, setting: Setting, duration: float) -> tuple[float, list[float]]:
    """Moves a simulation on; returns the processor time, and that of each step if steps have one length, s."""
    if setting.period is None:
        before = time.process_time_ns()
        simulation.advance(duration)
        return 1e-9 * (time.process_time_ns() - before), []
    each = []
    for _ in range(round(duration / setting.period)):
        before = time.process_time_ns()
        simulation.step()
        each.append(1e-9 * (time.process_time_ns() - before))
    return sum(each), each


def enter(engine: str) -> None:
    """Begins the process of an engine."""
    if engine != "ours":
        peers.add(engine)


def available(names: Sequence[str], console: Console) -> list[str]:
    """This suite and the engines that are there, or can be had; a line for each other."""
    found = ["ours"]
    for name in names:
        try:
            peers.add(name)
            importlib.import_module(f"simulation_{name}")
            found.append(name)
        except (peers.PeerError, ImportError, OSError) as error:
            console.print(f"{TITLES[name]} is left out: {error}", soft_wrap=True, markup=False)
    return found


def runs(
    pools: dict[str, ProcessPoolExecutor], names: Sequence[str], arguments: argparse.Namespace
) -> Iterator[Results]:
    """The results of each family; engines take turns, and of repeated runs the fastest counts."""
    for name in names:
        family = FAMILIES[name]
        share = arguments.share * (family.quick if arguments.quick else 1.0)
        sizes = arguments.sizes or (family.sizes[:1] if arguments.quick else family.sizes)
        results = Results(family, sizes)
        for size in sizes:
            for _ in range(arguments.repeats):
                for engine, pool in pools.items():
                    for number, setting in enumerate(family.settings[engine]):
                        job = pool.submit(measure, engine, name, size, number, share, arguments.limit)
                        row, key = job.result(), (size, engine, setting.words)
                        old = results.rows.get(key)
                        if old is None or np.mean(row.cost) < np.mean(old.cost):
                            results.rows[key] = row
        yield results


# --- tables ----------------------------------------------------------------------------------------------------


def number(value: float | str) -> str:
    """Text of a number in a table; empty for nan."""
    if isinstance(value, str):
        return value
    if np.isnan(value):
        return ""
    return "0" if abs(value) < 1e-12 else f"{value:.1e}" if abs(value) < 0.1 or abs(value) > 1e4 else f"{value:.3g}"


def costs(row: Row, reference: Row, sample: float) -> list[str]:
    """Columns `NUMBERS` of a row; the reference is the first row of this suite."""
    n = len(row.cost)
    if not n:
        return ["0", *[""] * (len(NUMBERS) - 1)]
    common = min(n, len(reference.cost))
    times = row.cost[:common].sum() / reference.cost[:common].sum() if common else np.nan
    each = 1e6 * row.step_times
    spread = [f"{np.median(each):.0f}", f"{np.percentile(each, 99):.0f}"] if len(each) else ["", ""]
    mean = f"{1e6 * row.cost.sum() / max(row.steps, 1):.0f}"
    return [f"{n * sample:g}", str(row.steps), mean, *spread, f"{1e3 * row.cost.mean() / sample:.3g}", f"{times:.2f}"]


def growth(results: Results, engine: str, words: str) -> str:
    """p of time = c size^p of a setting, least squares of the logarithms; empty with one size."""
    found = [(size, results.rows[size, engine, words]) for size in results.sizes]
    points = np.array([(size, row.cost.sum() / row.steps) for size, row in found if row.steps])
    if len(points) < 2:
        return ""
    return f"{np.polyfit(np.log(points[:, 0]), np.log(points[:, 1]), 1)[0]:.2f}"


def cells(results: Results, relative: bool = False) -> tuple[list[str], list[list[str]]]:
    """Head and rows of a family's table.

    Args:
        results: of the family.
        relative: leave out the columns that depend on the machine and its load.
    """
    first = next(iter(results.family.settings["ours"])).words
    names = list(dict.fromkeys(name for row in results.rows.values() for name in row.errors))
    kept = [k for k, name in enumerate(NUMBERS) if not (relative and name in ABSOLUTE)]
    head = [results.family.size, "engine", "setting", *(NUMBERS[k] for k in kept), *names]
    grows = results.family.grows and len(results.sizes) > 1
    body = []
    for (size, engine, words), row in results.rows.items():
        numbers = costs(row, results.rows[size, "ours", first], results.family.sample)
        line = [str(size), TITLES[engine], words, *(numbers[k] for k in kept)]
        line += [number(row.errors[name]) if name in row.errors else "" for name in names]
        if row.failure:
            line[-1] = f"{line[-1]} fails: {row.failure}".strip()
        body.append(line + [growth(results, engine, words) if size == results.sizes[-1] else ""] * grows)
    return head + ["growth"] * grows, body


def shown(results: Results) -> Table:
    """The table of a family for a terminal."""
    head, body = cells(results)
    made = Table(title=escape(results.family.title))
    for k, name in enumerate(head):
        made.add_column(escape(name), justify="left" if k in (1, 2) else "right")
    last = None
    for line in body:
        if last not in (None, line[0]):
            made.add_section()
        last = line[0]
        made.add_row(*map(escape, line))
    return made


def markdown(results: Results, relative: bool) -> str:
    """The table of a family as Markdown; a size stands in its first row alone.

    Args:
        results: of the family.
        relative: as of `cells`.
    """
    head, body = cells(results, relative)
    lines = [f"{results.family.title[0].upper()}{results.family.title[1:]}:", "", row_of(head)]
    lines.append(row_of(["---"] * len(head)))
    last = ""
    for line in body:
        lines.append(row_of([line[0] if line[0] != last else "", *line[1:]]))
        last = line[0]
    return "\n".join([*lines, ""])


def row_of(columns: Sequence[str]) -> str:
    """A row of a Markdown table."""
    return f"| {' | '.join(column.replace('|', '/') for column in columns)} |"


def machine(engines: Sequence[str]) -> str:
    """Versions, processors and load, in a sentence."""
    names = [f"{TITLES[e]} {importlib.import_module(f'simulation_{e}').VERSION}" for e in engines if e != "ours"]
    load = f"load of the machine {os.getloadavg()[1]:.1f} on {os.cpu_count()} processors"
    return ", ".join([*names, f"Python {platform.python_version()}", processor(), load])


def processor() -> str:
    """Name of the processor, as far as the system gives one."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def parsed() -> argparse.Namespace:
    """The arguments of the command line."""
    parser = Parser(description=__doc__)
    parser.add_argument("--scenes", nargs="+", default=list(FAMILIES), choices=list(FAMILIES))
    parser.add_argument("--sizes", type=positive, nargs="+", help="of all chosen scenes, instead of their own")
    parser.add_argument("--peers", nargs="*", default=["mujoco", "drake"], choices=["mujoco", "drake"])
    parser.add_argument("--share", type=float, default=1.0, help="of the seconds that a scene has")
    parser.add_argument("--repeats", type=positive, default=1, help="of each run; the fastest counts")
    parser.add_argument("--limit", type=float, help="processor time of a run, s; default 4, quick 1")
    parser.add_argument("--quick", action="store_true", help="the smallest scene of each kind, and shorter")
    parser.add_argument("--markdown", type=Path, help="file for the tables as Markdown")
    parser.add_argument("--relative", action="store_true", help="no absolute times in it, as of a loaded machine")
    arguments = parser.parse_args()
    arguments.limit = arguments.limit or (1.0 if arguments.quick else 4.0)
    return arguments


def main() -> None:
    """Prints the tables."""
    arguments = parsed()
    console = Console()
    if not console.is_terminal:
        console = Console(width=200)
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"
    engines = available(arguments.peers, console)
    context = multiprocessing.get_context("spawn")
    pools = {e: ProcessPoolExecutor(1, mp_context=context, initializer=enter, initargs=(e,)) for e in engines}
    texts = []
    try:
        for results in runs(pools, arguments.scenes, arguments):
            console.print(shown(results))
            texts.append(markdown(results, arguments.relative))
            if arguments.markdown:
                arguments.markdown.write_text("\n".join([*texts, f"{machine(engines)}.\n"]))
    finally:
        for pool in pools.values():
            pool.shutdown()
    console.print(machine(engines), LEGEND, sep="\n", markup=False)


if __name__ == "__main__":
    main()
