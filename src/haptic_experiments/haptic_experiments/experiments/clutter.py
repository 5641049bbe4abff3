"""Report of the objects that fall into a box: Figs. 15 to 19 of Castro et al.

The bags hold the run at one time step; the sweeps over time step and stiffness are simulated here, on spheres.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from convex_contact import ConvergenceError, Simulator, World
from convex_contact.model.world_source import open_world
from convex_contact.problem import contact_kernels
from convex_contact.solver.workspace import inputs, outputs
from haptic_bags.bags import Bag
from haptic_experiments.kit.contact import ContactRun, by_approximation, style
from haptic_experiments.report import Claim, Report
from haptic_launch.experiments import share

#: approximations of the paper's figures
NAMES = ("sap", "lagged", "similar", "lagged_regularized")
#: time steps [s] and contact stiffnesses [N/m] of the sweeps; where the other is not swept it has the paper's value
PERIODS, STIFFNESSES = (1e-3, 2e-3, 5e-3, 1e-2), (1e5, 1e7, 1e9, 1e12)
PERIOD, STIFFNESS, STICTION_TOLERANCE = 2e-3, 1e7, 1e-4
DURATION, SETTLED = 3.0, 1.25
#: condition numbers of a swept run
_SAMPLES = 8
#: m g/k of one sphere, which all that lie on the floor have, is met to 4 digits by an independent implementation
_PENETRATION = 1e-3
GRAVITY = 9.81


def spheres(stiffness: float = STIFFNESS) -> World:
    """Forty spheres over the box; surfaces are twice as stiff as a contact of two."""
    folder = Path(share()) / "config" / "worlds"
    return open_world("clutter_spheres", {"materials.surface.stiffness": 2.0 * stiffness}, folder)


def stiction_tolerances(simulator: Simulator) -> np.ndarray:
    """Effective stiction tolerance of the last step's contacts that bear a force [m/s].

    The slip speed at which friction reaches its bound: v_s of Lagged and Similar, the larger one of v_s and sigma w mu
    gamma_n0 of the regularised Lagged (26), mu R_t gamma_n of SAP (25).
    """
    n = int(simulator.dynamics.contacts.count[0])
    workspace = simulator._workspace
    gamma, _, derived = (table[:n] for table in outputs(workspace)[:3])
    bears = gamma[:, 2] > 0.0
    tolerance = derived[bears, contact_kernels.D_EPS]
    if simulator.approximation == "sap":
        mu = inputs(workspace)[1][4][:n][bears, contact_kernels.COEFFICIENT]
        tolerance = mu * tolerance * gamma[bears, 2]
    return np.asarray(tolerance)


@dataclass(frozen=True)
class Swept:
    """One run of a sweep.

    Attributes:
        iterations: mean of all steps; condition: mean of a sample of them.
        penetration: mean depth of the overlapping contacts [m], and its median, over the last 1.25 s.
        step_time: CPU time per step [s].
        tolerance: mean effective stiction tolerance of each step (n,), NaN without contact [m/s]; only where asked for.
    """

    iterations: float
    condition: float
    penetration: float
    median_penetration: float
    step_time: float
    tolerance: np.ndarray


#: of a run with a step that did not converge
FAILED = Swept(np.nan, np.nan, np.nan, np.nan, np.nan, np.full(1, np.nan))


def sweep(name: str, period: float, stiffness: float, *, tolerances: bool = False) -> Swept:
    """Simulates the spheres; FAILED where a step does not converge."""
    try:
        return _swept(name, period, stiffness, tolerances)
    except ConvergenceError:
        return FAILED


def _swept(name: str, period: float, stiffness: float, tolerances: bool) -> Swept:
    simulator = Simulator(spheres(stiffness), period=period, approximation=name)
    simulator.step()
    simulator.reset()
    steps = round(DURATION / period)
    sampled = max(1, steps // _SAMPLES)
    iterations, condition, depth = np.empty(steps), [], []
    tolerance, spent = np.full(steps, np.nan), 0.0
    for k in range(steps):
        start = time.process_time()
        simulator.step()
        spent += time.process_time() - start
        iterations[k] = simulator.statistics.iterations
        if k % sampled == sampled - 1:
            condition.append(simulator.solution.condition_number)
        if tolerances:
            values = stiction_tolerances(simulator)
            tolerance[k] = values.mean() if len(values) else np.nan
        if (steps - k) * period <= SETTLED and k % 5 == 0:
            distance = simulator.contacts.signed_distance
            depth.append(-distance[distance < 0.0])
    deep = np.concatenate(depth)
    return Swept(
        float(iterations.mean()),
        float(np.mean(condition)),
        float(deep.mean()),
        float(np.median(deep)),
        spent / steps,
        tolerance,
    )


def measure(run: ContactRun) -> dict[str, Any]:
    """Numbers of one bag; early is the first second, late the last."""
    end = run.time[-1]
    early, late = (run.time > 0.0) & (run.time <= 1.0), run.time > end - 1.0
    deep = np.concatenate(
        [
            -c.signed_distance[c.signed_distance < 0.0]
            for c, t in zip(run.contacts, run.time, strict=True)
            if t > end - SETTLED
        ]
    )
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
    runs = by_approximation({name: ContactRun.from_bag(bag) for name, bag in bags.items()})
    numbers = {name: measure(run) for name, run in runs.items()}
    by_period = {
        name: {period: sweep(name, period, STIFFNESS, tolerances=period == PERIOD) for period in PERIODS}
        for name in NAMES
    }
    by_stiffness = {
        name: {k: by_period[name][PERIOD] if k == STIFFNESS else sweep(name, PERIOD, k) for k in STIFFNESSES}
        for name in NAMES
    }
    claims = [*_time_claims(numbers), *_period_claims(by_period), *_stiffness_claims(by_stiffness)]
    metrics = {
        "runs": numbers,
        "by_period": _plain(by_period),
        "by_stiffness": _plain(by_stiffness),
        "stiction_tolerance": {name: _late_and_early(of[PERIOD].tolerance) for name, of in by_period.items()},
    }
    first = next(iter(runs.values()))
    caption = _CAPTION + _costs(by_stiffness)
    parameters = {"contact": first.parameters}
    return Report(metrics, claims, lambda: _figure(runs, by_period, by_stiffness), caption, parameters)


Sweeps = Mapping[str, Mapping[float, Swept]]


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


def _time_claims(numbers: Mapping[str, Mapping[str, Any]]) -> list[Claim]:
    text = (
        "More iterations and worse condition while the objects collide, and the reverse for SAP's condition (Fig. 15)."
    )
    known = {name: entry for name, entry in numbers.items() if entry["condition"]["early"] is not None}
    if not {"lagged", "similar", "sap"} <= known.keys():
        return [Claim(text, "no run of SAP, Lagged and Similar with condition numbers", None)]
    words = [
        f"{name}: {entry['iterations']['early']:.1f} then {entry['iterations']['late']:.1f} iterations, condition "
        f"{entry['condition']['early']:.1e} then {entry['condition']['late']:.1e}"
        for name, entry in known.items()
    ]
    falls = all(
        known[name][key]["early"] > known[name][key]["late"]
        for name in ("lagged", "similar")
        for key in ("iterations", "condition")
    )
    rises = known["sap"]["condition"]["late"] > known["sap"]["condition"]["early"]
    claims = [Claim(text, "; ".join(words), falls and rises)]
    if "lagged_regularized" in known:
        a, b = known["lagged"], known["lagged_regularized"]
        claims.append(
            Claim(
                "The regularised tolerance (26) saves Lagged iterations and condition while they collide (Fig. 15).",
                f"iterations {a['iterations']['early']:.1f} and {b['iterations']['early']:.1f}, condition "
                f"{a['condition']['early']:.1e} and {b['condition']['early']:.1e}",
                b["iterations"]["early"] < a["iterations"]["early"]
                and b["condition"]["early"] < a["condition"]["early"],
            )
        )
    return claims


def _period_claims(sweeps: Sweeps) -> list[Claim]:
    short, long = PERIODS[0], PERIODS[-1]
    ratio = {name: of[long].condition / of[short].condition for name, of in sweeps.items()}
    work = {name: of[long].iterations / of[short].iterations for name, of in sweeps.items()}
    late = {name: _late_and_early(of[PERIOD].tolerance) for name, of in sweeps.items()}
    return [
        Claim(
            "SAP and the regularised Lagged have a wide stiction tolerance in collisions, and SAP afterwards one far "
            "below v_s (Fig. 16).",
            "; ".join(f"{n}: up to {t['early']:.1e}, then {t['late']:.1e} m/s" for n, t in late.items()),
            late["sap"]["early"] > STICTION_TOLERANCE > 2.0 * late["sap"]["late"]
            and late["lagged_regularized"]["early"] > STICTION_TOLERANCE,
        ),
        Claim(
            "The condition number of Lagged and Similar grows with the time step, that of SAP little (Fig. 17).",
            f"from {short:g} to {long:g} s: " + "; ".join(f"{n} {ratio[n]:.1f} times" for n in sweeps),
            all(ratio[name] > 2.0 * ratio["sap"] for name in ("lagged", "similar")),
        ),
        Claim(
            "So do their iterations, and those of SAP hardly (Fig. 17).",
            f"from {short:g} to {long:g} s: " + "; ".join(f"{n} {work[n]:.2f} times" for n in sweeps),
            all(work[name] > 1.2 * work["sap"] for name in ("lagged", "similar")) and work["sap"] < 1.2,
        ),
    ]


def _stiffness_claims(sweeps: Sweeps) -> list[Claim]:
    weight = 0.5235987755982989 * GRAVITY
    failed = [f"{name} at {k:g} N/m" for name, of in sweeps.items() for k, s in of.items() if s is FAILED]
    worst = max(
        (abs(s.median_penetration * k / weight - 1.0), name, k)
        for name, of in sweeps.items()
        for k, s in of.items()
        if s is not FAILED
    )
    soft, hard = STIFFNESSES[0], STIFFNESSES[-1]
    return [
        Claim(
            "The penetration at rest is m g/k over all stiffnesses, up to five orders beyond steel's (Fig. 18).",
            f"from {soft:g} to {hard:g} N/m the median is m g/k within {worst[0]:.1e} ({worst[1]}, {worst[2]:g} N/m)",
            worst[0] < _PENETRATION,
        ),
        Claim(
            "Every step converges, at stiffnesses five orders beyond steel's too (Fig. 18).",
            f"not {', '.join(failed)}" if failed else f"{sum(map(len, sweeps.values()))} runs of {DURATION:g} s",
            not failed,
        ),
        Claim(
            "Up to steel's stiffness the iterations grow by 20 % at most (Fig. 19).",
            "; ".join(
                f"{name}: {of[soft].iterations:.1f}, {of[STIFFNESS].iterations:.1f} and {of[hard].iterations:.1f} at "
                f"{soft:g}, {STIFFNESS:g} and {hard:g} N/m"
                for name, of in sweeps.items()
            ),
            all(of[STIFFNESS].iterations < 1.2 * of[soft].iterations for of in sweeps.values()),
        ),
    ]


def _costs(sweeps: Sweeps) -> str:
    parts = [f"{name.replace('_', ' ')} {1e3 * of[STIFFNESS].step_time:.2f} ms" for name, of in sweeps.items()]
    return f" CPU time per step at {PERIOD:g} s and {STIFFNESS:g} N/m: {', '.join(parts)}."


_CAPTION = (
    "From above: iterations (moving mean) and condition number over time (Fig. 15); effective stiction tolerance, "
    "mean of the contacts (Fig. 16; dashed: v_s), and CPU time per step over the stiffness; mean iterations and "
    "condition number over the time step (Fig. 17) and over the stiffness (Fig. 19); penetration at rest "
    "(Fig. 18; dashed: m g/k)."
)


def _figure(runs: Mapping[str, ContactRun], by_period: Sweeps, by_stiffness: Sweeps) -> Figure:
    figure = Figure(figsize=(13, 20), layout="constrained")
    grid = figure.add_gridspec(5, 2)
    axes = [[figure.add_subplot(grid[row, column]) for column in range(2)] for row in range(4)]
    last = figure.add_subplot(grid[4, :])
    for name, run in runs.items():
        line = {**style(run.approximation), "label": name.replace("_", " ")}
        width = max(1, round(0.04 / run.period))
        smooth = np.convolve(run.iterations[1:], np.full(width, 1.0 / width), mode="same")
        axes[0][0].plot(run.time[1:], smooth, **line)
        known = np.isfinite(run.condition)
        axes[0][1].semilogy(run.time[known], run.condition[known], **line)
    axes[0][0].legend(fontsize=8)
    for name, of in by_period.items():
        tolerance = of[PERIOD].tolerance
        axes[1][0].semilogy(PERIOD * np.arange(1, len(tolerance) + 1), tolerance, **{**style(name), "linewidth": 0.7})
    axes[1][0].axhline(STICTION_TOLERANCE, color="black", linestyle="--", linewidth=0.8)
    for row, sweeps in ((2, by_period), (3, by_stiffness)):
        for name, of in sweeps.items():
            _points(axes[row][0], name, of, "iterations")
            _points(axes[row][1], name, of, "condition")
    for name, of in by_stiffness.items():
        _points(axes[1][1], name, of, "step_time", 1e3)
        _points(last, name, of, "penetration")
    stiffness = np.array(STIFFNESSES)
    last.loglog(stiffness, 0.5235987755982989 * GRAVITY / stiffness, "k--", linewidth=0.8)
    _label(axes, last)
    return figure


def _points(axes: Axes, name: str, of: Mapping[float, Swept], key: str, factor: float = 1.0) -> None:
    values = [factor * getattr(swept, key) for swept in of.values()]
    axes.plot(list(of), values, marker="o", markersize=4, **style(name))


def _label(axes: list[list[Axes]], last: Axes) -> None:
    texts = (
        (axes[0][0], "iterations (Fig. 15)", "time (s)", "Newton iterations"),
        (axes[0][1], "condition number (Fig. 15)", "time (s)", "condition of the Hessian"),
        (axes[1][0], "effective stiction tolerance (Fig. 16)", "time (s)", "mean tolerance (m/s)"),
        (axes[1][1], "cost", "stiffness (N/m)", "CPU time per step (ms)"),
        (axes[2][0], "iterations over the time step (Fig. 17)", "time step (s)", "mean iterations"),
        (axes[2][1], "condition over the time step (Fig. 17)", "time step (s)", "mean condition number"),
        (axes[3][0], "iterations over the stiffness (Fig. 19)", "stiffness (N/m)", "mean iterations"),
        (axes[3][1], "condition over the stiffness (Fig. 19)", "stiffness (N/m)", "mean condition number"),
        (last, "penetration at rest (Fig. 18)", "stiffness (N/m)", "mean penetration (m)"),
    )
    for each, title, x, y in texts:
        each.set(title=title, xlabel=x, ylabel=y)
    for each in (axes[1][1], axes[2][0], axes[3][0]):
        each.set_xscale("log")
    for each in (axes[2][1], axes[3][1], last):
        each.set_xscale("log")
        each.set_yscale("log")
