"""Clutter beside Drake and MuJoCo: processor time per step, what the speed is bought with, memory; then the creep.

Columns of ten spheres, or spheres and boxes, fall and collapse on a wide floor between walls (Castro et al., section
XII-A); every engine has the same objects, period, gravity and friction, and one thread. Drake and this suite have the
same stiffness and dissipation; MuJoCo's contacts know none (contact_mujoco.py). Each engine runs in a process of its
own. The other engines are installed on first use (peers.py); one that cannot be had is left out.
"""

from __future__ import annotations

import gc
import importlib
import multiprocessing
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import peers
from bench_contact_creep import TITLES, available, creep, ours
from contact_scenes import Scene, clutter
from options import Parser, positive
from rich.console import Console
from rich.markup import escape
from rich.table import Table

KINDS = ("spheres", "mixed")
SIZES = (10, 40, 160, 400)
OURS = ("lagged", "lagged_regularized")
SAMPLES = 20  # steps after the run of which residuals and penetrations are taken
LEGEND = """mean, late, p99: processor time per step in us, of the whole run, of its last third, 99th percentile; the
fastest of the repetitions. steps: Newton's, mean; contacts: late mean, of those in the solver (here: that took part)
residual: largest |A (v - v*) - J^T gamma| / max(|A v|, |J^T gamma|) of 20 steps after the run, scaled by A^(-1/2), from
the motion and the forces that the engine states; penetration: of these steps, by the same geometry for all engines
memory: peak of the process over that before its first scene"""


@dataclass
class Result:
    """One run.

    Attributes:
        times: processor time of each step (n,), us.
        contacts, iterations: means, late and over the run.
        residual: largest of the samples.
        penetration: median and maximum, m.
        memory: MB.
    """

    times: np.ndarray
    contacts: float
    iterations: float
    residual: float
    penetration: tuple[float, float]
    memory: float

    @property
    def late(self) -> np.ndarray:
        return self.times[-(len(self.times) // 3) :]


def peak(reset: bool = False) -> float:
    """Peak resident memory of this process, MB; nan where the system does not tell."""
    try:
        if reset:
            Path("/proc/self/clear_refs").write_text("5")
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return np.nan
    return next(float(line.split()[1]) / 1024.0 for line in lines if line.startswith("VmHWM"))


def makers(engine: str) -> list[tuple[str, Callable[[Scene, float], Any]]]:
    """Words and makers of an engine's variants."""
    if engine == "ours":
        return list(ours(OURS))
    peers.add(engine)
    return list(importlib.import_module(f"contact_{engine}").models())


def run(make: Callable[[Scene, float], Any], scene: Scene, period: float, steps: int, base: float) -> Result:
    """Steps of a scene, one by one."""
    gc.collect()
    peak(reset=True)
    simulation = make(scene, period)
    times, counts = np.empty(steps), np.empty((steps, 2))
    for k in range(steps):
        before = time.process_time_ns()
        simulation.step()
        times[k] = time.process_time_ns() - before
        counts[k] = simulation.counts()
    memory = peak() - base
    residuals, gaps = [], []
    for _ in range(SAMPLES):
        residuals.append(simulation.residual())
        gaps.append(scene.gaps(simulation.poses()))
    depth = -np.concatenate(gaps)
    depth = depth[depth > 0.0]
    late = counts[-(steps // 3) :, 0].mean()
    extent = (float(np.median(depth)), float(depth.max())) if len(depth) else (0.0, 0.0)
    return Result(times / 1e3, float(late), float(counts[:, 1].mean()), max(residuals), extent, memory)


def engine_runs(
    engine: str, kind: str, sizes: Sequence[int], period: float, steps: Sequence[int], repeats: int
) -> dict[tuple[str, int], Result]:
    """All runs of an engine with scenes of one kind, in a process of its own."""
    variants = makers(engine)
    for _, make in variants:  # compiles
        warm = make(clutter(kind, 10), period)
        for _ in range(30):
            warm.step()
        warm.residual()
    clutter(kind, 10).gaps(warm.poses())
    del warm
    gc.collect()
    base = peak(reset=True)
    results = {}
    for n, count in zip(sizes, steps, strict=True):
        for words, make in variants:
            each = [run(make, clutter(kind, n), period, count, base) for _ in range(repeats)]
            results[words, n] = min(each, key=lambda result: result.times.mean())
    return results


def in_a_process(*arguments: Any) -> dict[tuple[str, int], Result]:
    """`engine_runs` in a fresh process with one thread."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(engine_runs, *arguments).result()


def exponent(sizes: Sequence[int], times: Sequence[float]) -> float:
    """p of time = c n^p, least squares of the logarithms, from 40 objects on."""
    chosen = [(n, t) for n, t in zip(sizes, times, strict=True) if n >= 40]
    if len(chosen) < 2:
        return np.nan
    return float(np.polyfit(*np.log(np.array(chosen)).T, 1)[0])


def side_by_side(kind: str, results: dict[tuple[str, str, int], Result], sizes: Sequence[int], period: float) -> Table:
    """The runs of one kind."""
    made = Table(title=escape(f"clutter, {kind}, T = {1e3 * period:g} ms, k = 1e7 N/m, mu = 1"))
    names = ("objects", "engine", "model", "seconds", "mean", "late", "p99", "steps", "contacts", "residual")
    for name in (*names, "penetration [m]", "largest [m]", "memory [MB]"):
        made.add_column(escape(name))
    for n in sizes:
        for (engine, words, count), r in results.items():
            if count != n:
                continue
            times = [f"{x:.0f}" for x in (r.times.mean(), r.late.mean(), np.percentile(r.times, 99))]
            steps = "" if np.isnan(r.iterations) else f"{r.iterations:.1f}"
            rest = [steps, f"{r.contacts:.0f}", f"{r.residual:.0e}", *(f"{x:.1e}" for x in r.penetration)]
            title = TITLES.get(engine, "this suite")
            made.add_row(str(n), title, words, f"{len(r.times) * period:g}", *times, *rest, f"{r.memory:.1f}")
        made.add_section()
    return made


def verdict(everything: dict[str, dict[tuple[str, str, int], Result]], sizes: Sequence[int]) -> Table:
    """Growth, and times over those of Lagged here in the same steps."""
    made = Table(title="mean time over that of lagged here, same steps; growth: p of n^p from 40 objects on")
    for name in ("scene", "engine", "model", *(f"{n} objects" for n in sizes), "growth"):
        made.add_column(escape(name))
    for kind, results in everything.items():
        for engine, words in dict.fromkeys((engine, words) for engine, words, _ in results):
            ratios, times, counted = [], [], []
            for n in sizes:
                r = results.get((engine, words, n))
                if r is None:
                    ratios.append("")
                    continue
                own = results["ours", "lagged", n].times[: len(r.times)]
                ratios.append(f"{r.times.mean() / own.mean():.2f}")
                counted.append(n)
                times.append(float(r.times.mean()))
            made.add_row(kind, TITLES.get(engine, "this suite"), words, *ratios, f"{exponent(counted, times):.2f}")
        made.add_section()
    return made


def main() -> None:
    parser = Parser(description=__doc__)
    parser.add_argument("--sizes", type=positive, nargs="+", default=SIZES)
    parser.add_argument("--kinds", nargs="+", default=KINDS, choices=KINDS)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--drake-seconds", type=float, default=1.0, help="for Drake with more than 40 objects")
    parser.add_argument("--period", type=float, default=2e-3)
    parser.add_argument("--repeats", type=positive, default=3, help="of each run; Drake's are made once")
    parser.add_argument("--creep-seconds", type=float, default=600.0, help="of the table of creep; 0: without it")
    parser.add_argument("--peers", nargs="*", default=list(TITLES), choices=TITLES, help="engines beside ours")
    arguments = parser.parse_args()
    sizes, period = sorted(arguments.sizes), arguments.period
    console = Console()
    if not console.is_terminal:
        console = Console(width=170)
    engines = available(arguments.peers, console)
    everything: dict[str, dict[tuple[str, str, int], Result]] = {}
    for kind in arguments.kinds:
        results = everything[kind] = {}
        for engine in ("ours", *(module.__name__.removeprefix("contact_") for module in engines)):
            short = engine == "drake"
            seconds = [arguments.drake_seconds if short and n > 40 else arguments.seconds for n in sizes]
            steps = [round(each / period) for each in seconds]
            runs = in_a_process(engine, kind, sizes, period, steps, 1 if short else arguments.repeats)
            results.update({(engine, words, n): result for (words, n), result in runs.items()})
        console.print(side_by_side(kind, results, sizes, period))
    console.print(verdict(everything, sizes))
    if engines:
        names = (f"{TITLES[e.__name__.removeprefix('contact_')]} {e.VERSION}" for e in engines)
        console.print(", ".join(names), f"load of the machine {os.getloadavg()[1]:.1f} on {os.cpu_count()} processors")
    console.print(LEGEND)
    if arguments.creep_seconds > 0:
        console.print(creep(engines, arguments.creep_seconds, 1e-2))


if __name__ == "__main__":
    main()
