"""Report of the objects that fall into a box: Figs. 15 to 19 of Castro et al.

The bags hold the run at one time step; the sweeps over time step and stiffness are simulated here, on spheres.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from convex_contact import ConvergenceError, World
from convex_contact.model.world_source import open_world
from convex_contact.simulation.run_statistics import RunStatistics, run_statistics
from haptic_bags.bags import Bag
from haptic_experiments.kit.contact import ContactRun, curve, runs_of
from haptic_experiments.kit.figures import Curve, Panel, panels
from haptic_experiments.kit.results import Claims, Report
from haptic_launch.experiments import share

#: approximations of the paper's figures
NAMES = ("sap", "lagged", "similar", "lagged_regularized")
#: time steps [s] and contact stiffnesses [N/m] of the sweeps; where the other is not swept it has the paper's value
PERIODS, STIFFNESSES = (1e-3, 2e-3, 5e-3, 1e-2), (1e5, 1e7, 1e9, 1e12)
PERIOD, STIFFNESS, STICTION_TOLERANCE = 2e-3, 1e7, 1e-4
DURATION, SETTLED = 3.0, 1.25
#: m g/k of one sphere, which all that lie on the floor have, is met to 4 digits by an independent implementation
_PENETRATION = 1e-3
#: of a sphere of the clutter, pi/6 kg [N]
WEIGHT = 0.5235987755982989 * 9.81


def spheres(stiffness: float = STIFFNESS) -> World:
    """Forty spheres over the box; surfaces are twice as stiff as a contact of two."""
    folder = Path(share()) / "config" / "worlds"
    return open_world("clutter_spheres", {"materials.surface.stiffness": 2.0 * stiffness}, folder)


#: of a run with a step that did not converge
FAILED = RunStatistics(np.nan, np.nan, np.nan, np.nan, np.nan, np.full(1, np.nan))
Sweeps = Mapping[str, Mapping[float, RunStatistics]]


def sweep(name: str, period: float, stiffness: float, *, tolerances: bool = False) -> RunStatistics:
    """Simulates the spheres; FAILED where a step does not converge."""
    options: dict[str, Any] = {"duration": DURATION, "settled": SETTLED, "tolerances": tolerances}
    try:
        return run_statistics(spheres(stiffness), period=period, approximation=name, **options)
    except ConvergenceError:
        return FAILED


def measure(run: ContactRun) -> dict[str, Any]:
    """Numbers of one bag; early is the first second, late the last."""
    end = run.time[-1]
    early, late = (run.time > 0.0) & (run.time <= 1.0), run.time > end - 1.0
    settled = [c.signed_distance for c, t in zip(run.contacts, run.time, strict=True) if t > end - SETTLED]
    deep = np.concatenate([-distance[distance < 0.0] for distance in settled])
    return {
        "iterations": {
            "mean": float(run.iterations[1:].mean()),
            "largest": int(run.iterations.max()),
            "early": float(run.iterations[early].mean()),
            "late": float(run.iterations[late].mean()),
        },
        "condition": {"early": _mean(run.condition[early]), "late": _mean(run.condition[late])},
        "penetration": float(deep.mean()) if len(deep) else None,
        "median_penetration": float(np.median(deep)) if len(deep) else None,
        "largest_residual": float(run.residual.max()),
    }


def _mean(values: np.ndarray) -> float | None:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else None


def analyse(bags: dict[str, Bag]) -> Report:
    """Metrics, claims and figure of one or more bags of the experiment."""
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
    _judge_time(claims, numbers)
    _judge_periods(claims, by_period, tolerances)
    _judge_stiffnesses(claims, by_stiffness)
    metrics = {
        "runs": numbers,
        "by_period": _plain(by_period),
        "by_stiffness": _plain(by_stiffness),
        "stiction_tolerance": tolerances,
    }
    costs = [f"{n.replace('_', ' ')} {1e3 * of[STIFFNESS].step_time:.2f} ms" for n, of in by_stiffness.items()]
    caption = f"{_CAPTION} CPU time per step at {PERIOD:g} s and {STIFFNESS:g} N/m: {', '.join(costs)}."
    parameters = {"contact": next(iter(runs.values())).parameters}
    return Report(metrics, claims, lambda: _figure(runs, by_period, by_stiffness), caption, parameters)


def _plain(sweeps: Sweeps) -> dict[str, Any]:
    """Without times and series; None for a run that failed."""
    names = ("iterations", "condition", "penetration", "median_penetration")
    return {
        name: {
            f"{value:g}": None if swept is FAILED else {key: getattr(swept, key) for key in names}
            for value, swept in of.items()
        }
        for name, of in sweeps.items()
    }


def _late_and_early(tolerance: np.ndarray) -> dict[str, float]:
    third = len(tolerance) // 3
    return {"early": float(np.nanmax(tolerance[:third])), "late": float(np.nanmean(tolerance[-third:]))}


def _judge_time(claims: Claims, numbers: Mapping[str, Mapping[str, Any]]) -> None:
    text = (
        "More iterations and worse condition while the objects collide, and the reverse for SAP's condition (Fig. 15)."
    )
    known = {name: entry for name, entry in numbers.items() if entry["condition"]["early"] is not None}
    if not {"lagged", "similar", "sap"} <= known.keys():
        claims.say(text, unless="no run of SAP, Lagged and Similar with condition numbers")
        return
    falls = all(known[name][key]["early"] > known[name][key]["late"]
                for name in ("lagged", "similar") for key in ("iterations", "condition"))  # fmt: skip
    claims.say(
        text,
        "; ".join(
            f"{name}: {entry['iterations']['early']:.1f} then {entry['iterations']['late']:.1f} iterations, condition "
            f"{entry['condition']['early']:.1e} then {entry['condition']['late']:.1e}"
            for name, entry in known.items()
        ),
        falls and known["sap"]["condition"]["late"] > known["sap"]["condition"]["early"],
    )
    if "lagged_regularized" in known:
        plain, regularized = ({key: known[name][key]["early"] for key in ("iterations", "condition")}
                              for name in ("lagged", "lagged_regularized"))  # fmt: skip
        claims.say(
            "The regularised tolerance (26) saves Lagged iterations and condition while they collide (Fig. 15).",
            f"iterations {plain['iterations']:.1f} and {regularized['iterations']:.1f}, condition "
            f"{plain['condition']:.1e} and {regularized['condition']:.1e}",
            all(regularized[key] < plain[key] for key in plain),
        )


def _judge_periods(claims: Claims, sweeps: Sweeps, tolerances: Mapping[str, Mapping[str, float]]) -> None:
    short, long = PERIODS[0], PERIODS[-1]
    ratio = {name: of[long].condition / of[short].condition for name, of in sweeps.items()}
    work = {name: of[long].iterations / of[short].iterations for name, of in sweeps.items()}
    sap, regularized = tolerances["sap"], tolerances["lagged_regularized"]
    claims.say(
        "SAP and the regularised Lagged have a wide stiction tolerance in collisions, and SAP afterwards one far "
        "below v_s (Fig. 16).",
        "; ".join(f"{name}: up to {t['early']:.1e}, then {t['late']:.1e} m/s" for name, t in tolerances.items())
        + f"; v_s {STICTION_TOLERANCE:g} m/s",
        sap["early"] > STICTION_TOLERANCE > 2.0 * sap["late"] and regularized["early"] > STICTION_TOLERANCE,
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


def _judge_stiffnesses(claims: Claims, sweeps: Sweeps) -> None:
    converged = {(name, k): s for name, of in sweeps.items() for k, s in of.items() if s is not FAILED}
    failed = [f"{name} at {k:g} N/m" for name, of in sweeps.items() for k, s in of.items() if s is FAILED]
    worst, name, stiffness = max(
        (abs(s.median_penetration * k / WEIGHT - 1.0), name, k) for (name, k), s in converged.items()
    )
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
    claims.say(
        "Up to steel's stiffness the iterations grow by 20 % at most (Fig. 19).",
        "; ".join(
            f"{name}: {of[soft].iterations:.1f}, {of[STIFFNESS].iterations:.1f} and {of[hard].iterations:.1f} at "
            f"{soft:g}, {STIFFNESS:g} and {hard:g} N/m"
            for name, of in sweeps.items()
        ),
        all(of[STIFFNESS].iterations < 1.2 * of[soft].iterations for of in sweeps.values()),
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
    dashed = {"color": "black", "linestyle": "--"}
    tolerance.append(Curve(np.array([0.0, DURATION]), np.full(2, STICTION_TOLERANCE), style=dashed))
    stiffness, log = np.array(STIFFNESSES), {"yscale": "log"}

    def over(sweeps: Sweeps, x: str, key: str, y: str, title: str, *more: Curve, factor: float = 1.0) -> Panel:
        """A number of the runs over what is swept."""
        lines = [
            curve(
                name,
                name,
                np.array(list(of)),
                np.array([factor * getattr(s, key) for s in of.values()]),
                marker="o",
                markersize=4,
            )
            for name, of in sweeps.items()
        ]
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
             Curve(stiffness, WEIGHT / stiffness, style=dashed)),
        size=(13, 20),
    )  # fmt: skip
