"""Time per step of every friction model: compiled simulation beside loops in C, and the Python step.

The C loops (friction_loops.c) are compiled with -O3 in the same run and compute the same numbers, which is
checked first. Each round runs all cases in turn; ratios are taken within a round, so that a machine whose
speed drifts does not bend them.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from options import Parser, positive
from rich.console import Console
from rich.table import Table

import haptic_friction
from haptic_core.parameters import load_parameter_specs
from haptic_friction import Batch, CoulombLaw, ModelC
from haptic_friction.factory import MODELS

HERE = Path(__file__).parent
SPECS = load_parameter_specs(Path(haptic_friction.__file__).with_name("friction_node.yaml"))
FORCE, MASS, STIFFNESS, DAMPING, PERIOD = 6.0, 2.0, 1e5, 447.2, 1e-3
DIMENSIONS = (1, 2, 3)


def compiled_loops(directory: Path) -> dict[tuple[str, int], Callable[..., None]]:
    """The loops of friction_loops.c by model and dimension."""
    loops: dict[tuple[str, int], Callable[..., None]] = {}
    for dimension in DIMENSIONS:
        library = directory / f"loops{dimension}.so"
        flags = ["-O3", "-shared", "-fPIC", f"-DN={dimension}", "-o", str(library)]
        subprocess.run([os.environ.get("CC", "cc"), *flags, str(HERE / "friction_loops.c"), "-lm"], check=True)
        for model in "ABCD":
            loop = getattr(ctypes.CDLL(str(library)), f"loop_{model.lower()}")
            loop.argtypes = [ctypes.c_long, *[ctypes.c_double] * 5, ctypes.c_void_p, ctypes.c_void_p]
            loop.restype = None
            loops[model, dimension] = loop
    return loops


def inputs(kind: str, dimension: int, steps: int) -> np.ndarray:
    """A motion [m/s] or force [N] that sticks and slides: half the steps or so in each branch."""
    phase = 0.01 * np.arange(steps)[:, None] + np.arange(dimension)
    noise = np.random.default_rng(0).normal(size=(steps, dimension))
    if kind == "impedance":
        return 0.02 * np.sin(phase) + 0.005 * noise
    return 1.5 * FORCE * np.sin(phase) / np.sqrt(dimension) + noise


def elapsed(work: Callable[[], object]) -> float:
    """Seconds that a call takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def step_many(step: Callable[[np.ndarray], np.ndarray], values: np.ndarray) -> None:
    """Calls `step` row by row."""
    for value in values:
        step(value)


def main() -> None:
    """Prints the tables."""
    parser = Parser(description=__doc__)
    parser.add_argument("--steps", type=positive, default=200_000, help="steps of a compiled run")
    parser.add_argument("--python-steps", type=positive, default=20_000, help="calls of step")
    parser.add_argument("--rounds", type=positive, default=7)
    parser.add_argument("--elements", type=positive, default=1_000_000, help="elements of the batch")
    options = parser.parse_args()
    console = Console()
    table = Table(
        "model", "dimension", "simulate [ns/step]", "C -O3 [ns/step]", "ratio (min to max)", "Python step [us]",
        title=f"Coulomb's law, median of {options.rounds} rounds",
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as directory:
        loops = compiled_loops(Path(directory))
        for name in MODELS:
            for dimension in DIMENSIONS:
                table.add_row(*measure(name, dimension, loops.get((name, dimension)), options))
    console.print(table)
    console.print(memory(options.elements))


def measure(name: str, dimension: int, loop: Callable[..., None] | None, options: argparse.Namespace) -> list[str]:
    """One line of the table."""
    parameters = {key: spec.default for key, spec in SPECS.items()} | {
        "mass": MASS, "stiffness": STIFFNESS, "damping": DAMPING
    }  # fmt: skip
    model = MODELS[name](CoulombLaw(FORCE), parameters, {"period": PERIOD, "dimension": dimension})
    x = inputs(model.kind, dimension, options.steps)
    y = np.empty_like(x)
    few = list(x[: options.python_steps])

    def in_c() -> None:
        assert loop is not None
        loop(len(x), FORCE, MASS, STIFFNESS, DAMPING, PERIOD, x.ctypes.data, y.ctypes.data)

    simulated = model.simulate(x)  # compiles
    if loop is not None:
        in_c()
        np.testing.assert_allclose(y, simulated, rtol=1e-6, atol=1e-6)
    times: dict[str, list[float]] = {"simulate": [], "c": [], "step": []}
    for _ in range(options.rounds):
        times["simulate"].append(elapsed(lambda: model.simulate(x)) / len(x))
        if loop is not None:
            times["c"].append(elapsed(in_c) / len(x))
        times["step"].append(elapsed(lambda: step_many(model.step, few)) / len(few))
    ratios = [ours / theirs for ours, theirs in zip(times["simulate"], times["c"], strict=False)]
    spread = f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})" if ratios else ""
    written = f"{1e9 * statistics.median(times['c']):.1f}" if ratios else ""
    simulate, step = (statistics.median(times[case]) for case in ("simulate", "step"))
    return [name, str(dimension), f"{1e9 * simulate:.1f}", written, spread, f"{1e6 * step:.2f}"]


def memory(elements: int) -> str:
    """Measures the memory and the time per step of a batch of model C."""
    model = ModelC(CoulombLaw(FORCE), stiffness=STIFFNESS, damping=DAMPING, period=PERIOD)
    batch = Batch(model, count=elements)
    velocity = inputs("impedance", 1, elements)
    batch.step(velocity)
    seconds = statistics.median(elapsed(lambda: batch.step(velocity)) for _ in range(7))
    kept = batch.states.nbytes + batch.sticking.nbytes + batch.dissipated_energy.nbytes
    return (
        f"batch of {elements} elements of model C, one dimension: {kept / 1e6:.1f} MB kept "
        f"({kept / elements:.0f} bytes an element), "
        f"{velocity.nbytes / 1e6:.1f} MB of input and of output each; a step takes {1e3 * seconds:.1f} ms "
        f"({1e9 * seconds / elements:.1f} ns an element)"
    )


if __name__ == "__main__":
    main()
