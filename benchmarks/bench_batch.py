"""Simulators at once: how much faster a batch moves in several threads than in one.

Each scene is there four times as often as there are threads at most. Wall time, the least of the rounds; the threads
share the processors with whatever else runs.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

import numpy as np
from options import Parser, positive
from rich.console import Console
from rich.table import Table
from simulation_scenes import Scene, grid, hulls, standing, tower

from convex_contact import Batch

#: scene, its size, period [s], steps
SCENES: dict[str, tuple[Callable[[int], Scene], int, float, int]] = {
    "quadruped": (standing, 1, 5e-3, 2000),
    "tower of ten boxes": (tower, 1, 2e-3, 1000),
    "100 balls that fall": (lambda count: grid(count, elastic=False), 100, 1e-3, 300),
    "50 hulls that fall": (hulls, 50, 2e-3, 200),
}


def seconds(name: str, workers: int, count: int, rounds: int, *, states: bool = False) -> float:
    """Least wall time of the steps of `count` simulators, s; with the states after each of them if asked for."""
    build, size, period, steps = SCENES[name]
    world, best = build(size).world(), np.inf
    for _ in range(rounds):
        batch = Batch.of(world, count, workers=workers, period=period)
        make = batch.trajectories if states else batch.step
        make(2)  # may compile
        before = time.perf_counter()
        make(steps)
        best = min(best, time.perf_counter() - before)
    return best


def main() -> None:
    """Prints a row for each scene."""
    parser = Parser(description=__doc__)
    parser.add_argument("--threads", type=positive, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=positive, default=3)
    arguments = parser.parse_args()
    count = 4 * arguments.threads
    threads = f"{arguments.threads} threads"
    table = Table("scene", "simulators", "us per step, 1 thread", threads, "times as fast", f"{threads}, states")
    for name, (_, _, _, steps) in SCENES.items():
        one, all_ = (1e6 * seconds(name, n, count, arguments.rounds) / (count * steps) for n in (1, arguments.threads))
        recorded = seconds(name, arguments.threads, count, arguments.rounds, states=True)
        recorded *= 1e6 / (count * steps)
        table.add_row(name, str(count), f"{one:.2f}", f"{all_:.2f}", f"{one / all_:.2f}", f"{recorded:.2f}")
    Console().print(table)


if __name__ == "__main__":
    main()
