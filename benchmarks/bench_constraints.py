"""Constrained mechanisms: time of a step, energy, and both beside MuJoCo, Drake and Pinocchio in the same run.

The step is timed call by call, as a node calls it: force in, all of the reference out. The loop is the engine's own,
compiled one. The other engines are installed on first use (peers.py); one that cannot be had is left out.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import peers
from constraint_cases import CASES, START, Case, Rows, Simulation, generator
from options import Parser, positive
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from admittance_constraints import FreeDirectionFriction, GeneratorState, ReferenceGenerator, load_mechanism
from haptic_friction import CoulombLaw

PERIOD = 1e-3
INTEGRATORS = ("algorithm1", "symplectic_euler", "midpoint", "rk4")
TITLES = {"mujoco": "MuJoCo", "drake": "Drake", "pinocchio": "Pinocchio"}
FINE = 50  # a model is the same mechanism if it stays within AGREES of the truth for a second with steps of T/50
AGREES = 1e-4  # [m]
LEGEND = f"""p50, p99: of a second's steps, medians over the seconds; loop: the fastest of ten
gap, slip: largest violation of the constraints and of its rate (RollingDisk: the contact's velocity)
energy: largest relative change
error: largest distance from the truth, our rk4 with steps of T/{FINE}
at T/{FINE}: the same in the first second, with such steps; without it a row has no numbers: another mechanism"""


def table(title: str, *columns: str) -> Table:
    """A table; units in square brackets are no markup."""
    return Table(*map(escape, columns), title=escape(title))


def step_times(g: ReferenceGenerator, steps: int) -> np.ndarray:
    """Time of each step [us] under a small force that varies; the state goes back before it wanders off."""
    start = g.state
    forces = 0.01 * np.sin(0.1 * np.arange(1000))[:, None] * [1.0, 0.5, -1.0, 0.01, 0.02, 0.01]
    times = np.empty(steps)
    for k in range(steps):
        if k % 1000 == 0:
            g.restore(start)
        before = time.perf_counter_ns()
        g.step(wrench=forces[k % 1000])
        times[k] = time.perf_counter_ns() - before
    g.restore(start)
    return times / 1e3


def percentiles(times: np.ndarray) -> list[str]:
    """p50 and p99 of a second's steps, their medians over the seconds: other work on the machine bends few of them."""
    parts = np.array_split(times, max(1, len(times) // 1000))
    return [f"{value:.1f}" for value in np.median([np.percentile(part, [50, 99]) for part in parts], axis=0)]


def loop_time(run: Callable[[], None], steps: int) -> str:
    """Time per step [us] of a loop over some steps, the fastest of ten."""
    times = []
    for _ in range(10):
        before = time.perf_counter_ns()
        run()
        times.append(time.perf_counter_ns() - before)
    return f"{min(times) / steps / 1e3:.2f}"


def speed(steps: int) -> Table:
    title = "one step (wanted: p99 below 60 us, derivatives included)"
    made = table(title, "mechanism", "options", "p50 [us]", "p99 [us]", "loop [us/step]")
    cases: list[tuple[str, Mapping[str, Any]]] = [(name, {}) for name in START]
    cases += [("RollingDisk", {"integrator": rule}) for rule in INTEGRATORS[2:]]
    cases += [("RollingDisk", {"compiled": False})]
    cases += [("DiskOnSphere", {"orientation": "quaternion", "integrator": rule}) for rule in ("algorithm1", "rk4")]
    laws = {"translation": CoulombLaw(0.1)}, {"rotation": CoulombLaw(1e-3)}
    for chosen in (*laws, {**laws[0], **laws[1]}):
        cases.append(("DiskOnSphere", {"friction": FreeDirectionFriction(**chosen)}))
    for name, options in cases:
        g = generator(name, load_mechanism(name), **options)
        times = step_times(g, steps)
        loop = ""
        if "friction" not in options:
            rows, start = np.zeros((1000, 6)), g.state

            def run(g: ReferenceGenerator = g, rows: np.ndarray = rows, start: GeneratorState = start) -> None:
                g.simulate(wrenches=rows, every=len(rows))
                g.restore(start)

            loop = loop_time(run, len(rows))
        words = ", ".join(f"{key}={value}" for key, value in options.items() if key != "friction")
        if "friction" in options:
            on = {"translation": options["friction"].translation, "rotation": options["friction"].rotation}
            words = f"friction on {' and '.join(name for name, law in on.items() if law)}"
        made.add_row(name, words, *percentiles(times), loop)
    return made


def energy(seconds: float) -> Table:
    made = table(f"largest relative change of energy in {seconds:g} s of free motion", "mechanism", *INTEGRATORS)
    for kind in CASES:
        case, row = kind(), []
        for rule in INTEGRATORS:
            if rule not in integrators(case):
                row.append("")
                continue
            rows = case.generator(integrator=rule).simulate(wrenches=np.zeros((round(seconds / PERIOD), 6)))
            row.append(f"{np.abs(relative_energy(case, *case.natural(rows))).max():.1e}")
        made.add_row(case.name, *row)
    return made


def integrators(case: Case) -> list[str]:
    """Those that the mechanism goes with: the midpoint rule needs psi(z) where there are holonomic constraints."""
    m = case.mechanism
    return [rule for rule in INTEGRATORS if rule != "midpoint" or m.has_parametrisation or not m.holonomic_count]


# --- side by side ------------------------------------------------------------------------------------------


class Ours:
    """A generator in free motion, as the other engines' simulations."""

    compiled_loop = True

    def __init__(self, case: Case, period: float, rule: str) -> None:
        self._case, self._generator = case, case.generator(period=period, integrator=rule)
        self._force = np.zeros(6)

    def step(self) -> None:
        self._last = self._generator.step(wrench=self._force)

    def run(self, steps: int) -> None:
        self._last = self._generator.simulate(wrenches=np.zeros((steps, 6)), every=steps)

    def state(self) -> Rows:
        r = self._last
        q, v = (r.q, r.x, r.orientation), (r.q_velocity, r.twist)
        return np.concatenate([part.ravel() for part in q]), np.concatenate([part.ravel() for part in v])

    def natural(self, q: np.ndarray, v: np.ndarray) -> Rows:
        n = self._case.mechanism.dimension
        fields = {"q": q[:, :n], "x": q[:, n : n + 6], "orientation": q[:, n + 6 :]}
        return self._case.natural(SimpleNamespace(**fields, q_velocity=v[:, :n], twist=v[:, n:]))


def ours(case: Case) -> list[tuple[str, Callable[[float], Simulation]]]:
    """Words and a maker of each integrator."""
    rules = [rule for rule in integrators(case) if rule != "symplectic_euler"]
    return [(rule, lambda period, rule=rule: Ours(case, period, rule)) for rule in rules]


def truth(case: Case, seconds: float) -> np.ndarray:
    """The marker each T by our rk4 with steps of T/50, shape (n, 3)."""
    g = case.generator(period=PERIOD / FINE, integrator="rk4")
    rows = g.simulate(wrenches=np.zeros((round(seconds / PERIOD) * FINE, 6)), every=FINE)
    return case.marker(case.natural(rows)[0])


def relative_energy(case: Case, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Change of energy since the start over the energy at the start."""
    return case.energy(q, v) / case.energy(case.q[None], case.v[None])[0] - 1.0


def motion(simulation: Simulation, advance: Callable[[], None], count: int) -> tuple[Rows, np.ndarray]:
    """Natural coordinates after each of `count` calls, and the time of each [us]."""
    states, times = [], np.empty(count)
    for k in range(count):
        before = time.perf_counter_ns()
        advance()
        times[k] = time.perf_counter_ns() - before
        states.append(simulation.state())
    q, v = (np.array(part) for part in zip(*states, strict=True))
    return simulation.natural(q, v), times / 1e3


def measured(case: Case, make: Callable[[float], Simulation], wanted: np.ndarray) -> list[str]:
    """The numbers of a row; only of a model that with small steps makes the wanted motion."""
    fine = make(PERIOD / FINE)
    (q, _), _ = motion(fine, lambda: fine.run(FINE), min(len(wanted), round(1.0 / PERIOD)))
    distance = np.linalg.norm(case.marker(q) - wanted[: len(q)], axis=1).max()
    if not distance < AGREES:
        return [*[""] * 7, f"no: {distance:.0e}"]
    simulation = make(PERIOD)
    (q, v), times = motion(simulation, simulation.step, len(wanted))
    loop = ""
    if simulation.compiled_loop:
        again, part = make(PERIOD), max(1, len(wanted) // 10)
        loop = loop_time(lambda: again.run(part), part)
    change = relative_energy(case, q, v)
    error = np.linalg.norm(case.marker(q) - wanted, axis=1).max()
    errors = [f"{x:.1e}" if x else "0" for x in (case.gap(q).max(), case.slip(q, v).max())]
    largest = change[np.abs(change).argmax()]
    return [*percentiles(times), loop, *errors, f"{largest:+.1e}", f"{error:.1e}", f"{distance:.0e}"]


def side_by_side(case: Case, engines: Sequence[ModuleType], seconds: float) -> Table:
    made = table(
        f"{case.name}, {seconds:g} s of free motion at 1 kHz", "engine", "formulation", "p50 [us]", "p99 [us]",
        "loop [us/step]", "gap [m]", "slip [m/s]", "energy", "error [m]", f"at T/{FINE} [m]",
    )  # fmt: skip
    wanted = truth(case, seconds)
    for words, make in ours(case):
        made.add_row("this suite", words, *measured(case, make, wanted))
    for engine in engines:
        made.add_section()
        name = TITLES[engine.__name__.removeprefix("constraint_")]
        for words, make in engine.models(case):
            made.add_row(name, words, *measured(case, make, wanted))
    return made


def available(names: Sequence[str], console: Console) -> list[ModuleType]:
    """The engines that are there, or can be had; a line for each other."""
    found = []
    for name in names:
        try:
            peers.add(name)
            found.append(importlib.import_module(f"constraint_{name}"))
        except (peers.PeerError, ImportError, OSError) as error:
            console.print(f"{TITLES[name]} is left out: {error}", soft_wrap=True, markup=False)
    return found


def main() -> None:
    parser = Parser(description=__doc__)
    parser.add_argument("--steps", type=positive, default=20_000, help="timed steps per case")
    parser.add_argument("--seconds", type=float, default=10.0, help="duration of the free motions")
    parser.add_argument("--quick", action="store_true", help="a twentieth of both")
    parser.add_argument(
        "--peers", nargs="*", default=list(TITLES), choices=TITLES, help="engines to measure beside ours"
    )
    arguments = parser.parse_args()
    part = 0.05 if arguments.quick else 1.0
    seconds = part * arguments.seconds
    console = Console()
    if not console.is_terminal:
        console = Console(width=150)
    engines = available(arguments.peers, console)
    console.print(speed(round(part * arguments.steps)))
    console.print(energy(seconds))
    for kind in CASES:
        console.print(side_by_side(kind(), engines, seconds))
    if engines:
        console.print(", ".join(f"{TITLES[e.__name__.removeprefix('constraint_')]} {e.VERSION}" for e in engines))
    console.print(LEGEND)


if __name__ == "__main__":
    main()
