"""Report of model B and its alternative at a ramp of velocity: Fig. 13 of Kikuuwe et al."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.linalg import expm

from haptic_bags.bags import Bag
from haptic_experiments.kit.comparison import (
    ScriptedRun,
    dominant_mode,
    largest,
    measured_by_period,
    named,
    power_of_ten,
    roughness,
    stiffness_style,
)
from haptic_experiments.report import Claim, Report
from haptic_friction.design import evaluate_model_c

#: the original, and what stands in front of its spring in the alternative of Fig. 12(a)
_ORIGINAL, _ALTERNATIVE = "B", "A"
#: the input counts as a ramp where it is one to rounding, relative to its end
_ROUNDING = 1e-9
#: a force is said to vibrate when its second differences are so many times those of the continuous motion
_VIBRATING = 10.0
#: agreement of a growth measured over a few steps with the eigenvalue
_GROWTH = 1e-3


def ramp_response(
    time: np.ndarray, *, slope: float, mass: float, stiffness: float, damping: float, force: float
) -> np.ndarray:
    """Force h = K e + B e' [N] of the continuous motion when the free end moves with u = slope t, (n,).

    The mass rests, e = slope t^2/2, until h reaches F; then it slides,

        e'' = slope - (K e + B e' - F)/M,

    a linear equation whose steps over a constant interval are exact matrix exponentials. From rest, with B of
    critical damping or more, it does not stop again.

    Args:
        time: equally spaced, rising from 0 [s].
        slope: of the input [m/s^2], above 0.
        mass: M [kg].
        stiffness: K [N/m].
        damping: B [N s/m].
        force: friction force F [N].
    """
    h = stiffness * slope * time**2 / 2.0 + damping * slope * time
    # root of K slope t^2/2 + B slope t = F without cancellation
    breakaway = 2.0 * force / (damping * slope + np.sqrt((damping * slope) ** 2 + 2.0 * stiffness * slope * force))
    sliding = np.flatnonzero(time > breakaway)
    if not len(sliding):
        return h
    rate = np.array([[0.0, 1.0], [-stiffness / mass, -damping / mass]])
    rest = np.array([(slope * mass + force) / stiffness, 0.0])
    state = np.array([slope * breakaway**2 / 2.0, slope * breakaway]) - rest
    state = expm(rate * (time[sliding[0]] - breakaway)) @ state
    step = expm(rate * (time[1] - time[0]))
    for k in sliding:
        h[k] = stiffness * (state + rest)[0] + damping * state[1]
        state = step @ state
    return h


def free_growth(run: ScriptedRun, column: int) -> float | None:
    """Factor per step of the strongest mode, from the first stretch in which the mass slides without stopping.

    There the alternative is linear, and at a ramp its velocity's second differences are free of the input.
    """
    v, sticks = run.velocity[:, column], run.sticking[:, column]
    moving = np.flatnonzero(~sticks & (v > 0.0))
    if not len(moving):
        return None
    first = int(moving[0])
    ends = np.flatnonzero(sticks[first:] | (v[first:] <= 0.0))
    last = first + (int(ends[0]) if len(ends) else len(v) - first)
    return dominant_mode(np.diff(v[first:last], n=2))


def slope_of(run: ScriptedRun) -> float | None:
    """Slope of the input velocity [m/s^2]; None where it is no ramp from zero or a tick is missing."""
    slope = float(run.input_velocity[-1] / run.time[-1])
    is_ramp = largest(run.input_velocity - slope * run.time) <= _ROUNDING * largest(run.input_velocity)
    return slope if run.is_complete and is_ramp and slope > 0.0 else None


def measure(run: ScriptedRun, column: int) -> dict[str, Any]:
    """Numbers of one model in one run."""
    T, K, B, M = run.period, *(run.number(name, column) for name in ("stiffness", "damping", "mass"))
    h = run.force[:, column]
    numbers: dict[str, Any] = {
        "period": T,
        "stiffness": K,
        "damping": B,
        "mass": M,
        "largest_force": largest(h),
        "roughness": roughness(h),
    }
    slope = slope_of(run)
    if run.parameters["law"] != "coulomb" or slope is None or M * K > 1.000001 * B * B / 4.0:
        return numbers
    F = run.parameters["friction_force"]
    exact = ramp_response(run.time, slope=slope, mass=M, stiffness=K, damping=B, force=F)
    if exact[-1] < F:
        return numbers  # it did not yet slide
    breakaway = int(np.argmax(exact >= F)) * T
    numbers |= {
        "deviation": largest(h - exact),
        "force_step": slope * (K * breakaway + B) * T,
        "roughness_ratio": roughness(h) / roughness(exact),
    }
    if run.models[column] == _ALTERNATIVE:
        design = evaluate_model_c(mass=M, stiffness=K, damping=B, period=T)
        numbers |= {
            "growth": free_growth(run, column),
            "spectral_radius": design.spectral_radius,
            "monotone": design.is_monotone,
            "stable": design.is_stable,
        }
    return numbers


def analyse(bags: dict[str, Bag]) -> Report:
    """Metrics, claims and figure of one or more bags of the experiment."""
    runs, metrics, entries = measured_by_period(bags, measure)
    known = [entry for entry in entries if "deviation" in entry]
    originals = [entry for entry in known if entry["model"] == _ORIGINAL]
    alternatives = [entry for entry in known if entry["model"] == _ALTERNATIVE]
    claims = [_original_claim(originals), _alternative_claim(alternatives), _period_claim(alternatives)]
    claims.append(_growth_claim(alternatives))
    first = next(iter(runs.values()))
    parameters = {"comparison": first.parameters, "device": first.device}
    return Report({"runs": metrics}, claims, lambda: _figure(runs), _CAPTION, parameters)


_NOT_REACHED = "no run of model {} with Coulomb friction, critical damping or more, and a ramp that makes it slide"


def _vibrates(entry: dict[str, Any]) -> bool:
    return bool(entry["roughness_ratio"] > _VIBRATING)


def _original_claim(originals: list[dict[str, Any]]) -> Claim:
    text = "The stiffness of model B is not limited: its force neither vibrates nor grows (Fig. 13, left)."
    if not originals:
        return Claim(text, _NOT_REACHED.format(_ORIGINAL), None)
    worst = max(originals, key=lambda entry: entry["deviation"] / entry["force_step"])
    rough = max(entry["roughness_ratio"] for entry in originals)
    return Claim(
        text,
        f"{len(originals)} cases up to T^2 K/M = {max(map(_number, originals)):.3g}: at most "
        f"{worst['deviation']:.3f} N from the continuous motion ({named(worst)}; before it slides the force rises "
        f"by {worst['force_step']:.3f} N a step), second differences at most {rough:.2f} times those of that motion",
        all(entry["deviation"] < entry["force_step"] and not _vibrates(entry) for entry in originals),
    )


def _number(entry: dict[str, Any]) -> float:
    """T^2 K/M."""
    return float(entry["period"] ** 2 * entry["stiffness"] / entry["mass"])


def _alternative_claim(alternatives: list[dict[str, Any]]) -> Claim:
    text = "The alternative becomes vibratory or unstable with high stiffness (Fig. 13, right)."
    shortest = min((entry["period"] for entry in alternatives), default=0.0)
    cases = [entry for entry in alternatives if entry["period"] == shortest]
    if not any(not entry["stable"] for entry in cases) or not any(entry["monotone"] for entry in cases):
        return Claim(text, "no low and no high stiffness of model A with a spring in front at one period", None)
    parts = [f"{named(entry)}: second differences {entry['roughness_ratio']:.3g} times" for entry in cases]
    return Claim(
        text,
        f"{'; '.join(parts)} those of the continuous motion",
        all(_vibrates(entry) == (not entry["stable"]) for entry in cases if entry["monotone"] or not entry["stable"]),
    )


def _period_claim(alternatives: list[dict[str, Any]]) -> Claim:
    text = "The alternative becomes vibratory or unstable with a large timestep size."
    pairs = [
        (short, long)
        for short in alternatives
        for long in alternatives
        if short["stiffness"] == long["stiffness"] and short["monotone"] and not long["stable"]
    ]
    if not pairs:
        return Claim(text, "no stiffness that is stable at one period and unstable at a longer one", None)
    parts = [
        f"{named(entry)}: force up to {entry['largest_force']:.3g} N, second differences "
        f"{entry['roughness_ratio']:.3g} times those of the continuous motion"
        for entry in pairs[0]
    ]
    return Claim(text, "; ".join(parts), all(_vibrates(long) and not _vibrates(short) for short, long in pairs))


def _growth_claim(alternatives: list[dict[str, Any]]) -> Claim:
    text = "What makes it unstable is the added delay: while it slides, its map has the eigenvalues of (63)."
    measured = [entry for entry in alternatives if entry["growth"] is not None]
    if not measured:
        return Claim(text, "no alternative that slides for long enough", None)
    parts = [
        f"{named(entry)}: {entry['growth']:.4f} per step (eigenvalue {entry['spectral_radius']:.4f})"
        for entry in measured
    ]
    close = [abs(entry["growth"] / entry["spectral_radius"] - 1.0) < _GROWTH for entry in measured]
    return Claim(text, "; ".join(parts), all(close))


#: a force beyond so many times F is not drawn
_CUT = 6.0

_CAPTION = (
    "Force h of the spring and damper over time, as in Fig. 13: left model B, right its alternative of Fig. 12(a), a "
    "model A with spring and damper in front; a row for each control period T. Line styles as in the paper: lowest "
    "stiffness grey, middle one dashed, highest black. The line of one that diverges ends where it leaves the axes."
)


def _figure(runs: dict[str, ScriptedRun]) -> Figure:
    figure = Figure(figsize=(11, 3.8 * len(runs)), layout="constrained")
    axes = figure.subplots(len(runs), 2, squeeze=False)
    for row, run in zip(axes, runs.values(), strict=True):
        left = [i for i, model in enumerate(run.models) if model == _ORIGINAL]
        right = [i for i, model in enumerate(run.models) if model != _ORIGINAL]
        is_paper = {run.models[i] for i in right} <= {_ALTERNATIVE}
        other = "alternative, Fig. 12(a)" if is_paper else "other models"
        for side, columns, name in ((row[0], left, "model B"), (row[1], right, other)):
            _draw(side, run, columns)
            side.set_title(f"{name}; T = {1e3 * run.period:g} ms")
    return figure


def _draw(axes: Axes, run: ScriptedRun, columns: list[int]) -> None:
    force = run.parameters["friction_force"]
    limit = _CUT * max(force, 1.0)
    top = 0.0
    for place, column in enumerate(columns):
        model, K, h = run.models[column], run.number("stiffness", column), run.force[:, column]
        label = f"{model}, K = {power_of_ten(K)} N/m"
        beyond = np.flatnonzero(np.abs(h) > limit)
        end = int(beyond[0]) + 1 if len(beyond) else len(h)
        axes.plot(run.time[:end], h[:end], label=label, **stiffness_style(place))
        top = max(top, min(largest(h), limit))
    axes.set(xlim=(0.0, run.time[-1]), xlabel="time t (s)", ylabel="force h (N)")
    top = max(top, force, 1e-3)
    axes.set_ylim(-top if top > 1.5 * force else -0.05 * top, 1.1 * top)
    if columns:
        axes.legend(loc="upper left" if top > 1.5 * force else "lower right", framealpha=1.0)
    else:
        axes.text(0.5, 0.5, "not in this run", ha="center", transform=axes.transAxes)
