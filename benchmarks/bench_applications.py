"""The applications of contact beside Drake: processor time per step, and figures that show it is the same problem.

Contact surfaces, the grasp, the gears of a finger, and a deformable finger (Castro et al., section XII), in one thread
with the same bodies, materials, motors, approximation and step. docs/benchmarks_contact.md says what differs.
Derivatives of steps, for trajectory optimisation, are in `./haptics bench trajectory`. Drake is installed on first use
(peers.py), and left out if it cannot be had.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import peers
from application_scenes import SIMULATIONS, Patch, PushedFinger, gears
from options import Parser, positive
from rich.console import Console
from rich.table import Table

from convex_contact.scenes.grasp import Grasp


@dataclass(frozen=True)
class Case:
    """A scene with steps.

    Attributes:
        words: description of the scene.
        scene: one of `application_scenes`.
        period: dt, s.
        steps: that are timed.
        approximations: with which it is run.
    """

    words: str
    scene: Any
    period: float
    steps: int
    approximations: tuple[str, ...]


@dataclass(frozen=True)
class Application:
    """A table.

    Attributes:
        title: over it.
        figures: names of what the simulations tell beside the time.
        cases: its rows.
    """

    title: str
    figures: tuple[str, ...]
    cases: tuple[Case, ...]


BALL = Patch("sphere", (0.05,), 2e5, 0.005, 0.05)
BLOCK = Patch("box", (0.1, 0.08, 0.06), 1e6, 0.02, 0.03, velocity=(3.0, 0.0, 0.0))
DISK = Patch("cylinder", (0.06, 0.04), 1e6, 0.012, 0.02, spin=(0.0, 0.0, 60.0))
SWUNG = Grasp(frequency=1.7)
BOTH = ("lagged", "similar")

APPLICATIONS = {
    "surfaces": Application(
        "Contact surfaces: a compliant body on a rigid floor, 0.4 s",
        ("faces at the end", "depth (mm)"),
        (
            Case("ball at rest", BALL, 2e-3, 200, ("lagged", "sap")),
            # SAP's relaxation time would lift what moves off the floor
            Case("sliding block", BLOCK, 2e-3, 200, ("lagged",)),
            Case("spinning disk", DISK, 2e-3, 200, ("lagged",)),
        ),
    ),
    "grasp": Application(
        "Grasp: a gripper moves a rod round a circle, 1 s",
        ("sunk after 1 s (mm)", "time to failure (s)"),
        (
            Case("0.5 Hz, steps of 10 ms", replace(SWUNG, frequency=0.5), 1e-2, 100, BOTH),
            Case("1.7 Hz, steps of 10 ms", SWUNG, 1e-2, 100, BOTH),
            Case("1.7 Hz, steps of 0.2 ms", SWUNG, 2e-4, 5000, BOTH),
        ),
    ),
    "gears": Application(
        "Gears: the finger's clutch is wound up and drives, 60 ms",
        ("motor (rad)", "link (mrad)", "gear in the washer (um)"),
        (Case("seven joints, steps of 0.25 ms", gears(), 2.5e-4, 240, ("lagged",)),),
    ),
    "deformable": Application(
        "Deformable finger: a rod pushes a FinRay of 995 vertices with 4 N, 0.6 s",
        ("wall under the rod (mm)", "tip (mm)"),
        (
            Case("frictionless, steps of 10 ms", PushedFinger(friction=0.0), 1e-2, 60, ("lagged",)),
            Case("mu = 0.7, steps of 10 ms", PushedFinger(), 1e-2, 60, ("lagged",)),
        ),
    ),
}


def measure(make: Callable[[], Any], steps: int, repetitions: int) -> tuple[float, list[str]]:
    """Processor time per step (s, the fastest repetition), and the simulation's figures after as many steps."""
    best, figures = np.inf, []
    for _ in range(repetitions):
        make().step()  # compiles
        simulation = make()
        start = time.process_time()
        for _ in range(steps):
            simulation.step()
        best = min(best, (time.process_time() - start) / steps)
        figures = simulation.figures
    return best, figures()


def drake() -> tuple[str, dict[type, Any]]:
    """Its name, and what simulates a scene in it, by the scene's kind.

    Raises:
        PeerError: It cannot be had.
    """
    peers.add("drake")
    from drake_scene import VERSION
    from finray_drake import DrakeFinger
    from gears_drake import DrakeGears
    from grasp_drake import DrakeGrasp
    from hydroelastic_drake import DrakePatch

    return f"Drake {VERSION}", dict(zip(SIMULATIONS, (DrakePatch, DrakeGrasp, DrakeGears, DrakeFinger), strict=True))


def show(application: Application, engines: dict[str, dict[type, Any]], repetitions: int) -> Table:
    """The table of an application."""
    table = Table(title=application.title)
    words = ("scene", "approximation", "engine")
    for column in (*words, "us per step", *application.figures):
        table.add_column(column, justify="left" if column in words else "right")
    for case in application.cases:
        for approximation in case.approximations:
            for engine, kinds in engines.items():
                kind = kinds[type(case.scene)]
                cost, figures = measure(
                    lambda kind=kind, c=case, a=approximation: kind(c.scene, c.period, a), case.steps, repetitions
                )
                table.add_row(case.words, approximation, engine, f"{1e6 * cost:.0f}", *figures)
    return table


def main() -> None:
    """Prints the tables."""
    parser = Parser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--repetitions", type=positive, default=3)
    parser.add_argument("--applications", nargs="+", default=list(APPLICATIONS), choices=list(APPLICATIONS))
    arguments = parser.parse_args()
    engines: dict[str, dict[type, Any]] = {"here": SIMULATIONS}
    console = Console()
    try:
        name, kinds = drake()
        engines[name] = kinds
    except peers.PeerError as error:
        console.print(f"Drake is left out: {error}")
    for name in arguments.applications:
        console.print(show(APPLICATIONS[name], engines, arguments.repetitions))
    console.print("Trajectory optimisation: the derivatives of its steps are in ./haptics bench trajectory.")


if __name__ == "__main__":
    main()
