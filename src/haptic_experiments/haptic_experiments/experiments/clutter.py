"""Report of the objects that fall into a box: Figs. 15 to 19 of Castro et al.

The bags hold the run at one time step. The report simulates the sweeps over time step and stiffness, with spheres.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from convex_contact import ConvergenceError, World
from convex_contact.model.world_source import open_world
from convex_contact.simulation.run_statistics import RunStatistics, run_statistics
from haptic_bags.bags import Bag
from haptic_experiments.kit.contact import ContactRun, curve, runs_of, swept
from haptic_experiments.kit.figures import DASHED, Curve, Panel, panels
from haptic_experiments.kit.results import Claims, Report
from haptic_launch.experiments import share

NAMES = ("sap", "lagged", "similar", "lagged_regularized")  #: approximations of the paper's figures
#: time steps [s] and contact stiffnesses [N/m] of the sweeps; where the other is not swept it has the paper's value
PERIODS, STIFFNESSES = (1e-3, 2e-3, 5e-3, 1e-2), (1e5, 1e7, 1e9, 1e12)
PERIOD, STIFFNESS, STICTION_TOLERANCE = 2e-3, 1e7, 1e-4
DURATION, SETTLED = 3.0, 1.25
#: largest relative error of m g/k, the depth of spheres on the floor; an independent implementation has 4 digits
_PENETRATION = 1e-3
WEIGHT = 0.5235987755982989 * 9.81  #: weight of a sphere of the clutter, pi/6 kg [N]


def spheres(stiffness: float = STIFFNESS) -> World:
    """Makes the world of forty spheres over the box, whose surfaces are twice as stiff as a contact [N/m]."""
    folder = Path(share()) / "config" / "worlds"
    return open_world("clutter_spheres", {"materials.surface.stiffness": 2.0 * stiffness}, folder)


@dataclass(frozen=True)
class Stages:
    """Means over the first and the last second of a run; NaN where it was not asked for."""

    early: float
    late: float


@dataclass(frozen=True)
class Iterations(Stages):
    """Newton iterations of a step."""

    mean: float  #: mean over the run
    largest: int


@dataclass(frozen=True)
class RunNumbers:
    """Numbers of one bag."""

    iterations: Iterations  #: Newton iterations
    condition: Stages  #: condition numbers of the Hessian
    penetration: float  #: mean depth of the overlapping contacts at rest [m]; NaN without any
    median_penetration: float  #: median of these depths [m]; NaN without any
    largest_residual: float  #: largest relative residual of the solver


#: numbers of `RunStatistics` that are the same on every machine; penetrations in m
_SWEPT = ("iterations", "condition", "penetration", "median_penetration")

#: statistics of a run with a step that did not converge
FAILED = RunStatistics(np.nan, np.nan, np.nan, np.nan, np.nan, np.full(1, np.nan))
Sweeps = Mapping[str, Mapping[float, RunStatistics]]


def sweep(name: str, period: float, stiffness: float, *, tolerances: bool = False) -> RunStatistics:
    """Simulates the spheres; FAILED where a step does not converge."""
    options: dict[str, Any] = {"duration": DURATION, "settled": SETTLED, "tolerances": tolerances}
    try:
        return run_statistics(spheres(stiffness), period=period, approximation=name, **options)
    except ConvergenceError:
        return FAILED


def measure(run: ContactRun) -> RunNumbers:
    """Measures one bag."""
    end = run.time[-1]

    def stages(values: np.ndarray) -> tuple[float, float]:
        return _mean(values[(run.time > 0.0) & (run.time <= 1.0)]), _mean(values[run.time > end - 1.0])

    early, late = stages(run.iterations)
    settled = [c.signed_distance for c, t in zip(run.contacts, run.time, strict=True) if t > end - SETTLED]
    deep = np.concatenate([-distance[distance < 0.0] for distance in settled])
    return RunNumbers(
        iterations=Iterations(
            mean=float(run.iterations[1:].mean()),
            largest=int(run.iterations.max()),
            early=early,
            late=late,
        ),
        condition=Stages(*stages(run.condition)),
        penetration=float(deep.mean()) if len(deep) else np.nan,
        median_penetration=float(np.median(deep)) if len(deep) else np.nan,
        largest_residual=float(run.residual.max()),
    )


def _mean(values: np.ndarray) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else np.nan


def analyse(bags: dict[str, Bag]) -> Report:
    """Makes the report of one or more bags of the experiment."""
    runs = runs_of(bags)
    numbers = {name: measure(run) for name, run in runs.items()}
    by_period = {
        name: {period: sweep(name, period, STIFFNESS, tolerances=period == PERIOD) for period in PERIODS}
        for name in NAMES
    }
    by_stiffness = {
        name: {k: by_period[name][PERIOD] if k == STIFFNESS else sweep(name, PERIOD, k) for k in STIFFNESSES}
        for name in NAMES
    }
    tolerances = {name: _late_and_early(of[PERIOD].tolerance) for name, of in by_period.items()}
    claims = Claims()
    _claim_time(claims, numbers)
    _claim_periods(claims, by_period, tolerances)
    _claim_stiffnesses(claims, by_stiffness)
    metrics: dict[str, Any] = {"runs": numbers, "by_period": _means(by_period), "by_stiffness": _means(by_stiffness)}
    metrics["stiction_tolerance"] = tolerances
    costs = [f"{n.replace('_', ' ')} {1e3 * of[STIFFNESS].step_time:.2f} ms" for n, of in by_stiffness.items()]
    caption = f"{_CAPTION} CPU time per step at {PERIOD:g} s and {STIFFNESS:g} N/m: {', '.join(costs)}."
    parameters = {"contact": next(iter(runs.values())).parameters}
    return Report(metrics, claims, lambda: _figure(runs, by_period, by_stiffness), caption, parameters)


def _means(sweeps: Sweeps) -> dict[str, dict[str, dict[str, float] | None]]:
    """Selects the means by approximation and by the swept value's text; None where a step did not converge."""

    def means(found: RunStatistics) -> dict[str, float] | None:
        return None if found is FAILED else {name: getattr(found, name) for name in _SWEPT}

    return {name: {f"{x:g}": means(found) for x, found in of.items()} for name, of in sweeps.items()}


def _late_and_early(tolerance: np.ndarray) -> Stages:
    """Measures an effective tolerance (n,) [m/s]: the largest in the first third of a run, the mean in the last."""
    third = len(tolerance) // 3
    return Stages(float(np.nanmax(tolerance[:third])), float(np.nanmean(tolerance[-third:])))


def _claim_time(claims: Claims, numbers: Mapping[str, RunNumbers]) -> None:
    text = (
        "More iterations and worse condition while the objects collide, and the reverse for SAP's condition (Fig. 15)."
    )
    known = {name: n for name, n in numbers.items() if np.isfinite(n.condition.early)}
    if not {"lagged", "similar", "sap"} <= known.keys():
        claims.say(text, unless="no run of SAP, Lagged and Similar with condition numbers")
        return
    two = [known[name] for name in ("lagged", "similar")]
    falls = all(stages.early > stages.late for n in two for stages in (n.iterations, n.condition))
    claims.say(
        text,
        "; ".join(
            f"{name}: {n.iterations.early:.1f} then {n.iterations.late:.1f} iterations, condition "
            f"{n.condition.early:.1e} then {n.condition.late:.1e}"
            for name, n in known.items()
        ),
        falls and known["sap"].condition.late > known["sap"].condition.early,
    )
    if "lagged_regularized" in known:
        lagged, regularized = known["lagged"], known["lagged_regularized"]
        work, less = lagged.iterations.early, regularized.iterations.early
        condition, lower = lagged.condition.early, regularized.condition.early
        claims.say(
            "The regularised tolerance (26) saves Lagged iterations and condition while they collide (Fig. 15).",
            f"iterations {work:.1f} and {less:.1f}, condition {condition:.1e} and {lower:.1e}",
            less < work and lower < condition,
        )


def _claim_periods(claims: Claims, sweeps: Sweeps, tolerances: Mapping[str, Stages]) -> None:
    short, long = PERIODS[0], PERIODS[-1]
    ratio = {name: of[long].condition / of[short].condition for name, of in sweeps.items()}
    work = {name: of[long].iterations / of[short].iterations for name, of in sweeps.items()}
    sap, regularized = tolerances["sap"], tolerances["lagged_regularized"]
    claims.say(
        "SAP and the regularised Lagged have a wide stiction tolerance in collisions, and SAP afterwards one far "
        "below v_s (Fig. 16).",
        "; ".join(f"{name}: up to {t.early:.1e}, then {t.late:.1e} m/s" for name, t in tolerances.items())
        + f"; v_s {STICTION_TOLERANCE:g} m/s",
        sap.early > STICTION_TOLERANCE > 2.0 * sap.late and regularized.early > STICTION_TOLERANCE,
    )
    claims.say(
        "The condition number of Lagged and Similar grows with the time step, that of SAP little (Fig. 17).",
        f"from {short:g} to {long:g} s: " + "; ".join(f"{n} {ratio[n]:.1f} times" for n in sweeps)
        + " (limit twice as much as SAP)",
        all(ratio[name] > 2.0 * ratio["sap"] for name in ("lagged", "similar")),
    )  # fmt: skip
    claims.say(
        "So do their iterations, and those of SAP hardly (Fig. 17).",
        f"from {short:g} to {long:g} s: " + "; ".join(f"{n} {work[n]:.2f} times" for n in sweeps)
        + " (limits 1.2 times SAP's; SAP below 1.2)",
        all(work[name] > 1.2 * work["sap"] for name in ("lagged", "similar")) and work["sap"] < 1.2,
    )  # fmt: skip


def _claim_stiffnesses(claims: Claims, sweeps: Sweeps) -> None:
    converged = {(name, k): s for name, of in sweeps.items() for k, s in of.items() if s is not FAILED}
    failed = [f"{name} at {k:g} N/m" for name, of in sweeps.items() for k, s in of.items() if s is FAILED]
    off = {where: abs(s.median_penetration * where[1] / WEIGHT - 1.0) for where, s in converged.items()}
    # a run without contact has no penetration (NaN) and counts as the largest error
    name, stiffness = max(off, key=lambda where: (np.isnan(off[where]), off[where]))
    worst = off[name, stiffness]
    soft, hard = STIFFNESSES[0], STIFFNESSES[-1]
    claims.say(
        "The penetration at rest is m g/k over all stiffnesses, up to five orders beyond steel's (Fig. 18).",
        f"from {soft:g} to {hard:g} N/m the median is m g/k within {worst:.1e} ({name}, {stiffness:g} N/m), below "
        f"{_PENETRATION:g}",
        worst < _PENETRATION,
    )
    claims.say(
        "Every step converges, at stiffnesses five orders beyond steel's too (Fig. 18).",
        f"not {', '.join(failed)}" if failed else f"{sum(map(len, sweeps.values()))} runs of {DURATION:g} s",
        not failed,
    )
    claims.each(
        "Up to steel's stiffness the iterations grow by 20 % at most (Fig. 19).",
        [
            (
                f"{name}: {of[soft].iterations:.1f}, {of[STIFFNESS].iterations:.1f} and {of[hard].iterations:.1f} at "
                f"{soft:g}, {STIFFNESS:g} and {hard:g} N/m",
                of[STIFFNESS].iterations < 1.2 * of[soft].iterations,
            )
            for name, of in sweeps.items()
        ],
    )


_CAPTION = (
    "From above: iterations (moving mean) and condition number over time (Fig. 15); effective stiction tolerance, "
    "mean of the contacts (Fig. 16; dashed: v_s), and CPU time per step over the stiffness; mean iterations and "
    "condition number over the time step (Fig. 17) and over the stiffness (Fig. 19); penetration at rest "
    "(Fig. 18; dashed: m g/k)."
)


def _figure(runs: Mapping[str, ContactRun], by_period: Sweeps, by_stiffness: Sweeps) -> Figure:
    iterations, condition = [], []
    for name, run in runs.items():
        width = max(1, round(0.04 / run.period))
        mean = np.convolve(run.iterations[1:], np.full(width, 1.0 / width), mode="same")
        known = np.isfinite(run.condition)
        iterations.append(curve(name, run.approximation, run.time[1:], mean))
        condition.append(curve(name, run.approximation, run.time[known], run.condition[known]))
    tolerance = []
    for name, of in by_period.items():
        values = of[PERIOD].tolerance
        tolerance.append(curve(name, name, PERIOD * np.arange(1, len(values) + 1), values, linewidth=0.7))
    tolerance.append(Curve.level(np.array([0.0, DURATION]), STICTION_TOLERANCE, **DASHED))
    stiffness, log = np.array(STIFFNESSES), {"yscale": "log"}

    def over(sweeps: Sweeps, x: str, key: str, y: str, title: str, *more: Curve, factor: float = 1.0) -> Panel:
        """Draws a number of the runs over the swept quantity x."""
        lines = [swept(name, name, {x: factor * getattr(s, key) for x, s in of.items()}) for name, of in sweeps.items()]
        scale = {"xscale": "log", "yscale": "log" if key in ("condition", "penetration") else "linear"}
        return Panel(y, [*lines, *more], x, scale, title=title, legend=None)

    return panels(
        [
            Panel("Newton iterations", iterations, title="iterations (Fig. 15)"),
            Panel("condition of the Hessian", condition, settings=log, title="condition number (Fig. 15)", legend=None),
        ],
        [
            Panel("mean tolerance (m/s)", tolerance, settings=log, title="effective stiction tolerance (Fig. 16)",
                  legend=None),
            over(by_stiffness, "stiffness (N/m)", "step_time", "CPU time per step (ms)", "cost", factor=1e3),
        ],
        [
            over(by_period, "time step (s)", "iterations", "mean iterations",
                 "iterations over the time step (Fig. 17)"),
            over(by_period, "time step (s)", "condition", "mean condition number",
                 "condition over the time step (Fig. 17)"),
        ],
        [
            over(by_stiffness, "stiffness (N/m)", "iterations", "mean iterations",
                 "iterations over the stiffness (Fig. 19)"),
            over(by_stiffness, "stiffness (N/m)", "condition", "mean condition number",
                 "condition over the stiffness (Fig. 19)"),
        ],
        over(by_stiffness, "stiffness (N/m)", "penetration", "mean penetration (m)", "penetration at rest (Fig. 18)",
             Curve(stiffness, WEIGHT / stiffness, style=DASHED)),
        size=(13, 20),
    )  # fmt: skip
