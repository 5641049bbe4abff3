"""Report of the runs in which model A comes to rest or reverses: Figs. 6 and 7 of Kikuuwe et al."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from matplotlib.figure import Figure

from haptic_bags.bags import Bag
from haptic_experiments.kit.comparison import ScriptedRun
from haptic_experiments.kit.figures import Curve, Panel, panels
from haptic_experiments.kit.results import MERGED, Claims, Report
from haptic_experiments.kit.signals import largest, sign_changes
from haptic_friction.reference.motions import model_a_motion, stop_time

_MODEL = "A"  #: model of the claims
_ROUNDING = 1e-12  #: a few hundred additions of numbers around 1, each off by at most 1.1e-16


@dataclass(frozen=True)
class Known:
    """Numbers of a run whose motion has a closed form."""

    kind: str  #: "stop" or "reversal"
    stop_time: float  #: time at which the continuous motion has no velocity [s]
    velocity_deviation: float  #: largest difference from the closed form [m/s]
    force_deviation: float  #: largest difference from the closed form [N]


@dataclass(frozen=True)
class Numbers:
    """Numbers of one model in one run."""

    period: float  #: T [s]
    first_zero_step: int | None  #: first step that ends at a velocity of exactly zero (1-based); None if there is none
    nonzero_after: int | None  #: number of later ones that do not; None without such a step
    sign_changes: int  #: changes of the velocity's sign
    final_velocity: float  #: velocity at the end [m/s]
    final_force: float  #: friction force at the end [N]
    known: Known | None = field(metadata=MERGED)  #: beside the closed form; None without one

    @property
    def words(self) -> str:
        """Step and changes of sign in words."""
        step, changes = self.first_zero_step, self.sign_changes
        zero = f"exactly zero at step {step} ({step * self.period:.4g} s)" if step else "no step exactly zero"
        return f"T = {1e3 * self.period:g} ms: {zero}, {changes} sign change{'' if changes == 1 else 's'}"


def setting(run: ScriptedRun) -> dict[str, float] | None:
    """Returns mass, friction force, pull and start velocity of a run as in the paper; None for another run.

    The law is Coulomb's, the pull is constant and against the start velocity, no tick was missed, and the run is long
    enough to stop.
    """
    column, pull, start = run.column(_MODEL), float(run.input_force[0]), run.parameters["initial_velocity"]
    if column is None or run.parameters["law"] != "coulomb" or pull * start >= 0.0:
        return None
    found = {"mass": run.number("mass", column), "force": run.parameters["friction_force"], "pull": pull}
    found["start"] = start
    constant = run.is_complete and (run.input_force == pull).all()
    return found if constant and stop_time(**found) < run.time[-1] else None


def measure(run: ScriptedRun, column: int) -> Numbers:
    """Measures one model in one run."""
    v, f = run.velocity[:, column], run.force[:, column]
    zeros, due, known = np.flatnonzero(v == 0.0), setting(run), None
    if column == run.column(_MODEL) and due:
        velocity, force = model_a_motion(len(v), period=run.period, **due)
        kind = "stop" if abs(due["pull"]) <= due["force"] else "reversal"
        known = Known(kind, stop_time(**due), largest(v - velocity), largest(f - force))
    return Numbers(
        period=run.period,
        first_zero_step=int(zeros[0]) + 1 if len(zeros) else None,
        nonzero_after=int(np.count_nonzero(v[zeros[0] :])) if len(zeros) else None,
        sign_changes=sign_changes(np.concatenate(([run.parameters["initial_velocity"]], v))),
        final_velocity=float(v[-1]),
        final_force=float(f[-1]),
        known=known,
    )


def analyse(bags: dict[str, Bag]) -> Report:
    """Computes metrics, claims and figure of one or more bags of the experiment."""
    runs = {name: ScriptedRun.from_bag(bag) for name, bag in bags.items()}
    runs = dict(sorted(runs.items(), key=lambda item: (-float(item[1].input_force[0]), item[1].period)))
    numbers = {name: {m: measure(run, i) for i, m in enumerate(run.labels)} for name, run in runs.items()}
    models = [of_run[_MODEL] for of_run in numbers.values() if _MODEL in of_run]
    cases = [(case, case.known) for case in models if case.known is not None]
    first = next(iter(runs.values()))
    parameters = {"comparison": first.parameters, "device": first.device}
    return Report({"runs": numbers}, _claims(cases), lambda: _figure(runs), _CAPTION, parameters)


def _claims(cases: list[tuple[Numbers, Known]]) -> Claims:
    claims, missing = Claims(), f"no run of model {_MODEL} with Coulomb friction and a constant pull "
    stops = [(case, known.stop_time) for case, known in cases if known.kind == "stop"]
    turns = [case for case, known in cases if known.kind == "reversal"]
    claims.say(
        "The object reaches the zero velocity without chattering, irrespective of the timestep size (Fig. 6).",
        "; ".join(
            f"{case.words}, {case.nonzero_after} later steps not zero, v0 M/(F - h) = {end:.4g} s"
            for case, end in stops
        ),
        all(
            case.first_zero_step == int(np.ceil(end / case.period - 1e-9))
            and case.nonzero_after == 0
            and case.sign_changes == 0
            for case, end in stops
        ),
        unless="" if stops else f"{missing}below F",
    )
    claims.say(
        "Pulled harder than F the velocity is reversed after crossing zero; it may or may not be exactly zero at one "
        "step (Fig. 7).",
        "; ".join(f"{case.words}, {case.final_velocity:.3f} m/s at the end" for case in turns),
        all(case.sign_changes == 1 for case in turns),
        unless="" if turns else f"{missing}above F",
    )
    velocity = max((known.velocity_deviation for _, known in cases), default=0.0)
    force = max((known.force_deviation for _, known in cases), default=0.0)
    claims.say(
        "Each step is the solution of (12) and (13): the closed form of the motion, straight lines in time.",
        f"at most {velocity:.1e} m/s and {force:.1e} N off (runs: {len(cases)}; limits {_ROUNDING:g} m/s and "
        f"{_ROUNDING:g}/T N)",
        # the force of the step that crosses zero is a difference of velocities over T/M
        velocity < _ROUNDING and all(known.force_deviation < _ROUNDING / case.period for case, known in cases),
        unless="" if cases else f"{missing}against the motion",
    )
    return claims


_CAPTION = (
    "Velocity and friction force of each step, black, as in Figs. 6 and 7; grey: the continuous motion. T, start "
    "velocity v0 and pull h stand above each pair; the value at t = 0 is the start. Fig. 6 uses the v0 = 0.7 m/s of "
    "the caption (the text says 1.3 m/s)."
)


def _figure(runs: dict[str, ScriptedRun]) -> Figure:
    drawn = [_panels(run) for run in runs.values()]
    blocks = [drawn[place : place + 2] for place in range(0, len(drawn), 2)]
    rows = [[pair[part] for pair in block] for block in blocks for part in (0, 1)]
    return panels(*rows, size=(5.5 * min(len(runs), 2), 4.6 * len(blocks)))


def _panels(run: ScriptedRun) -> tuple[Panel, Panel]:
    """Makes the panels of velocity and force of a run."""
    start, pull = run.parameters["initial_velocity"], float(run.input_force[0])
    time = np.concatenate(([0.0], run.time + run.period))
    zero = Curve(time[[0, -1]], np.zeros(2), style={"color": "0.8", "linewidth": 0.6, "zorder": 0})
    above, below, known = [zero], [zero], setting(run)
    if known:  # the continuous motion: infinitely many steps of the closed form
        steps, grey = 4000, {"color": "0.75", "linewidth": 3}
        velocity, force = model_a_motion(steps, period=time[-1] / steps, **known)
        fine = np.linspace(time[-1] / steps, time[-1], steps)
        above.append(Curve(fine, velocity, "continuous", grey))
        below.append(Curve(fine, force, style=grey))
    for column, model in enumerate(run.labels):
        style = {"color": "black" if model == _MODEL else f"C{column}", "linewidth": 1.2}
        style["marker"] = "." if run.period > 2e-3 else ""
        above.append(Curve(time, np.concatenate(([start], run.velocity[:, column])), f"model {model}", style))
        below.append(Curve(time[1:], run.force[:, column], style=style))
    title, limits = f"T = {1e3 * run.period:g} ms; v0 = {start:g} m/s, h = {pull:g} N", (0.0, time[-1])
    legend = {"loc": "upper right", "fontsize": "medium"}
    return (
        Panel("velocity v (m/s)", above, "time t (s)", {"title": title, "xlim": limits}, legend=legend),
        Panel("friction force f (N)", below, "time t (s)", {"xlim": limits}),
    )
