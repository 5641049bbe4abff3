"""Report of model B and its alternative at a ramp of velocity: Fig. 13 of Kikuuwe et al."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from haptic_bags.bags import Bag
from haptic_experiments.kit.comparison import (
    ScriptedRun,
    figure_beside_alternative,
    measured_by_period,
    named,
    pairs_of_periods,
    power_of_ten,
    stiffness_style,
)
from haptic_experiments.kit.results import Claims, Report
from haptic_experiments.kit.signals import dominant_mode, largest, roughness
from haptic_friction.design import evaluate_model_c
from haptic_friction.reference.motions import ramp_response

#: the original, and the model in front of the spring in the alternative of Fig. 12(a)
_ORIGINAL, _ALTERNATIVE = "B", "A"
#: largest deviation of an input that counts as a ramp, relative to its end
_ROUNDING = 1e-9
#: a force vibrates when its second differences are so many times those of the continuous motion
_VIBRATING = 10.0
#: agreement of a growth measured over a few steps with the eigenvalue
_GROWTH = 1e-3
#: a force beyond so many times F is not drawn
_CUT = 6.0


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
    element, h = run.element(column), run.force[:, column]
    T, K, B, M = element.values()
    numbers: dict[str, Any] = {**element, "largest_force": largest(h), "roughness": roughness(h)}
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
    claims = Claims()
    _claim_original(claims, [entry for entry in known if entry["model"] == _ORIGINAL])
    _claim_alternative(claims, [entry for entry in known if entry["model"] == _ALTERNATIVE])
    first = next(iter(runs.values()))
    parameters = {"comparison": first.parameters, "device": first.device}
    return Report(
        {"runs": metrics},
        claims,
        lambda: figure_beside_alternative(runs, _ORIGINAL, _ALTERNATIVE, _draw, figure_part="a", height=3.8),
        _CAPTION,
        parameters,
    )


def _vibrates(entry: dict[str, Any]) -> bool:
    return bool(entry["roughness_ratio"] > _VIBRATING)


def _claim_original(claims: Claims, cases: list[dict[str, Any]]) -> None:
    text = "The stiffness of model B is not limited: its force neither vibrates nor grows (Fig. 13, left)."
    if not cases:
        missing = "Coulomb friction, critical damping or more, and a ramp that makes it slide"
        claims.say(text, unless=f"no run of model {_ORIGINAL} with {missing}")
        return
    worst = max(cases, key=lambda entry: entry["deviation"] / entry["force_step"])
    number = max(entry["period"] ** 2 * entry["stiffness"] / entry["mass"] for entry in cases)
    claims.say(
        text,
        f"{len(cases)} cases up to T^2 K/M = {number:.3g}: at most "
        f"{worst['deviation']:.3f} N from the continuous motion ({named(worst)}; before it slides the force rises "
        f"by {worst['force_step']:.3f} N a step, the limit), second differences at most "
        f"{max(entry['roughness_ratio'] for entry in cases):.2f} times those of that motion (limit {_VIBRATING:g})",
        all(entry["deviation"] < entry["force_step"] and not _vibrates(entry) for entry in cases),
    )


def _claim_alternative(claims: Claims, cases: list[dict[str, Any]]) -> None:
    shortest = min((entry["period"] for entry in cases), default=0.0)
    short = [entry for entry in cases if entry["period"] == shortest]
    extreme = [entry for entry in short if entry["monotone"] or not entry["stable"]]
    both = any(not entry["stable"] for entry in short) and any(entry["monotone"] for entry in short)
    parts = [f"{named(entry)}: second differences {entry['roughness_ratio']:.3g} times" for entry in short]
    claims.say(
        "The alternative becomes vibratory or unstable with high stiffness (Fig. 13, right).",
        f"{'; '.join(parts)} those of the continuous motion (limit {_VIBRATING:g})",
        all(_vibrates(entry) == (not entry["stable"]) for entry in extreme),
        unless="" if both else "no low and no high stiffness of model A with a spring in front at one period",
    )
    pairs = pairs_of_periods(cases, lambda entry: entry["monotone"], lambda entry: not entry["stable"])
    parts = [
        f"{named(entry)}: force up to {entry['largest_force']:.3g} N, second differences "
        f"{entry['roughness_ratio']:.3g} times those of the continuous motion (limit {_VIBRATING:g})"
        for entry in (pairs[0] if pairs else ())
    ]
    claims.say(
        "The alternative becomes vibratory or unstable with a large timestep size.",
        "; ".join(parts),
        all(_vibrates(long) and not _vibrates(short) for short, long in pairs),
        unless="" if pairs else "no stiffness that is stable at one period and unstable at a longer one",
    )
    measured = [entry for entry in cases if entry["growth"] is not None]
    parts = [
        f"{named(entry)}: {entry['growth']:.4f} per step (eigenvalue {entry['spectral_radius']:.4f})"
        for entry in measured
    ]
    claims.say(
        "What makes it unstable is the added delay: while it slides, its map has the eigenvalues of (63).",
        f"{'; '.join(parts)}; limit {100 * _GROWTH:g} %",
        all(abs(entry["growth"] / entry["spectral_radius"] - 1.0) < _GROWTH for entry in measured),
        unless="" if measured else "no alternative that slides for long enough",
    )


_CAPTION = (
    "Force h of the spring and damper over time, as in Fig. 13: left model B, right its alternative of Fig. 12(a), a "
    "model A with spring and damper in front; a row for each control period T. Line styles as in the paper: lowest "
    "stiffness grey, middle one dashed, highest black. The line of one that diverges ends where it leaves the axes."
)


def _draw(axes: Axes, run: ScriptedRun, columns: list[int]) -> None:
    force = run.parameters["friction_force"]
    limit = _CUT * max(force, 1.0)
    top = 0.0
    for place, column in enumerate(columns):
        h = run.force[:, column]
        label = f"{run.models[column]}, K = {power_of_ten(run.number('stiffness', column))} N/m"
        beyond = np.flatnonzero(np.abs(h) > limit)
        end = int(beyond[0]) + 1 if len(beyond) else len(h)
        axes.plot(run.time[:end], h[:end], label=label, **stiffness_style(place))
        top = max(top, min(largest(h), limit))
    axes.set(xlim=(0.0, run.time[-1]), xlabel="time t (s)", ylabel="force h (N)")
    top = max(top, force, 1e-3)
    axes.set_ylim(-top if top > 1.5 * force else -0.05 * top, 1.1 * top)
    if columns:
        axes.legend(loc="upper left" if top > 1.5 * force else "lower right", framealpha=1.0)
