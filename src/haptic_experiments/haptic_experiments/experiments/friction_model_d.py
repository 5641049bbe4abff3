"""Report of model D and its alternative sliding to rest: Fig. 14 of Kikuuwe et al., and section IV-C."""

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
from haptic_experiments.kit.signals import dominant_mode, largest, sign_changes
from haptic_friction.design import CONVERGENCE_LIMIT, INSTABILITY_LIMIT, evaluate_model_c
from haptic_friction.reference.motions import slide_to_rest

#: the original, and the model on which the mass of the alternative of Fig. 12(b) slides
_ORIGINAL, _ALTERNATIVE = "D", "C"
#: fraction of the largest velocity after the stop that is left at the end of an object that counts as at rest
_AT_REST = 1e-3
#: fraction of the run, at its end, that decides that
_END = 0.1
#: fraction of the start velocity below which an object's velocity is rounding
_SMALL = 1e-12
#: the spring fills within this fraction of the sliding at most
_FILLING = 0.1
#: agreement of an eigenvalue measured over a few steps with the computed one
_GROWTH = 1e-3
#: relative deviation within which an element counts as critically damped
_CRITICAL = 1e-6


def measure(run: ScriptedRun, column: int) -> dict[str, Any]:
    """Numbers of one model in one run.

    `sign_changes` counts from the start, 1 being the spring's pull back after the stop; `left` is the largest speed
    in the last tenth of the run over the largest against the start velocity.
    """
    u, start, F = run.velocity[:, column], run.parameters["initial_velocity"], run.parameters["friction_force"]
    element = run.element(column)
    T, K, B, M = element.values()
    numbers: dict[str, Any] = {**element, "ratio": T * T * K / M}
    is_free = run.is_complete and not run.input_force.any() and run.parameters["law"] == "coulomb"
    if not is_free or start <= 0.0 or F == 0.0 or abs(B * B / (4.0 * K * M) - 1.0) > _CRITICAL:
        return numbers
    if 2.0 * start * M / F > run.time[-1] or F * B / (K * M * start) > _FILLING:
        return numbers  # the run ends before the object has come to rest, or the spring fills too slowly
    pull_back = max(largest(np.minimum(u, 0.0)), _SMALL * start)
    exact = slide_to_rest(run.time + T, mass=M, stiffness=K, damping=B, force=F, start=start)
    numbers |= {
        "stop_step": int(np.argmax(u <= 0.0)) + 1,
        "sign_changes": sign_changes(np.where(np.abs(u) > _SMALL * start, u, 0.0)),
        "pull_back": pull_back,
        "left": largest(u[-max(1, round(_END * len(u))) :]) / pull_back,
        "deviation": largest(u - exact),
        "velocity_step": T * F / M,
    }
    if run.models[column] == _ALTERNATIVE:
        design = evaluate_model_c(mass=M, stiffness=K, damping=B, period=T)
        slides = np.flatnonzero(~run.sticking[:, column])
        # the velocity of the first step that sticks still answers to a force of sliding
        stuck = u[int(slides[-1]) + 2 if len(slides) else 0 :]
        numbers |= {
            "decay": dominant_mode(stuck[np.abs(stuck) > _SMALL * start]),
            "spectral_radius": design.spectral_radius,
        }
    return numbers


def analyse(bags: dict[str, Bag]) -> Report:
    """Metrics, claims and figure of one or more bags of the experiment."""
    runs, metrics, entries = measured_by_period(bags, measure)
    known = [entry for entry in entries if "stop_step" in entry]
    alternatives = sorted((e for e in known if e["model"] == _ALTERNATIVE), key=lambda entry: float(entry["ratio"]))
    claims = Claims()
    _claim_original(claims, [entry for entry in known if entry["model"] == _ORIGINAL])
    _claim_vibration(claims, alternatives)
    _claim_limits(claims, alternatives)
    first = next(iter(runs.values()))
    parameters = {"comparison": first.parameters, "device": first.device}
    return Report(
        {"runs": metrics},
        claims,
        lambda: figure_beside_alternative(runs, _ORIGINAL, _ALTERNATIVE, _draw, figure_part="b", height=4.4),
        _CAPTION,
        parameters,
    )


def _rests(entry: dict[str, Any]) -> bool:
    return bool(entry["left"] < _AT_REST)


def _words(entry: dict[str, Any]) -> str:
    changes = entry["sign_changes"]
    plural = "" if changes == 1 else "s"
    return f"{named(entry)}: {changes} change{plural} of sign, {entry['left']:.2g} of the pull back left"


def _claim_original(claims: Claims, cases: list[dict[str, Any]]) -> None:
    text = "The stiffness of model D is not limited: it comes to rest without oscillation (Fig. 14, left)."
    if not cases:
        missing = "Coulomb friction, critical damping, a start velocity and no force until it rests"
        claims.say(text, unless=f"no run of model {_ORIGINAL} with {missing}")
        return
    worst = max(cases, key=lambda entry: entry["deviation"] / entry["velocity_step"])
    claims.say(
        text,
        f"{len(cases)} cases up to T^2 K/M = {max(e['ratio'] for e in cases):.3g}: at most "
        f"{max(e['sign_changes'] for e in cases)} change of sign each (1 is the spring's pull back), at the end at "
        f"most {max(e['left'] for e in cases):.1e} of it left (limit {_AT_REST:g}); at most "
        f"{1e3 * worst['deviation']:.2f} mm/s from the continuous motion ({named(worst)}; limit T F/M = "
        f"{1e3 * worst['velocity_step']:g} mm/s)",
        all(e["sign_changes"] <= 1 and _rests(e) and e["deviation"] < e["velocity_step"] for e in cases),
    )


def _claim_vibration(claims: Claims, cases: list[dict[str, Any]]) -> None:
    shortest = min((entry["period"] for entry in cases), default=0.0)
    short = [entry for entry in cases if entry["period"] == shortest]
    low = [entry for entry in short if entry["ratio"] <= CONVERGENCE_LIMIT]
    high = [entry for entry in short if entry["ratio"] > INSTABILITY_LIMIT]
    claims.say(
        "The alternative becomes vibratory or unstable with high stiffness (Fig. 14, right).",
        f"{'; '.join(map(_words, short))} (limit {_AT_REST:g})",
        all(map(_rests, low)) and not any(map(_rests, high)),
        unless="" if low and high else "no low and no high stiffness of a mass on model C at one period",
    )
    pairs = pairs_of_periods(
        cases, lambda entry: entry["ratio"] <= CONVERGENCE_LIMIT, lambda entry: entry["ratio"] > CONVERGENCE_LIMIT
    )
    claims.say(
        "The alternative becomes vibratory or unstable with a large timestep size.",
        f"{'; '.join(map(_words, pairs[0] if pairs else ()))} (limit {_AT_REST:g})",
        all(_rests(a) and b["sign_changes"] > a["sign_changes"] for a, b in pairs),
        unless="" if pairs else "no stiffness below 1/4 at one period and above it at a longer one",
    )


def _claim_limits(claims: Claims, cases: list[dict[str, Any]]) -> None:
    def sides(limit: float) -> tuple[list[dict[str, Any]], list[dict[str, Any]], str]:
        """Cases on both sides of a ratio, and what is missing."""
        inside, outside = ([e for e in cases if (e["ratio"] <= limit) is below] for below in (True, False))
        return inside, outside, "" if inside and outside else "no cases on both sides of the limit"

    inside, outside, missing = sides(CONVERGENCE_LIMIT * (1.0 + _CRITICAL))
    changes = ", ".join(f"{e['ratio']:.3g}: {e['sign_changes']}" for e in cases)
    claims.say(
        "With critical damping, T^2 K/M < 1/4 is necessary for a convergence without oscillation; 1/4 is the margin.",
        f"T^2 K/M and sign changes: {changes} (1 is the spring's pull back)",
        all(e["sign_changes"] <= 1 for e in inside) and all(e["sign_changes"] > 1 for e in outside),
        unless=missing,
    )
    below, above, missing = sides(INSTABILITY_LIMIT)
    left = ", ".join(f"{e['ratio']:.3g}: {e['left']:.2g}" for e in cases)
    claims.say(
        f"It does not come to rest from T^2 K/M = (2 sqrt 2 - 2)^2 = {INSTABILITY_LIMIT:.3f} on (from (63)).",
        f"T^2 K/M and share of the pull back at the end: {left} (limit {_AT_REST:g})",
        all(map(_rests, below)) and not any(map(_rests, above)),
        unless=missing,
    )
    measured = [entry for entry in cases if entry["decay"] is not None]
    parts = [f"{named(e)}: {e['decay']:.4f} per step (eigenvalue {e['spectral_radius']:.4f})" for e in measured]
    claims.say(
        "While it sticks, its velocity decays with the eigenvalues of (63).",
        f"{'; '.join(parts)}; limit {100 * _GROWTH:g} %",
        all(abs(entry["decay"] / entry["spectral_radius"] - 1.0) < _GROWTH for entry in measured),
        unless="" if measured else "no alternative that sticks for long enough",
    )


_CAPTION = (
    "Velocity u over time, as in Fig. 14: left model D, right its alternative of Fig. 12(b), a mass on model C; a row "
    "for each control period T. Large: the stop; small: the whole run. Line styles as in the paper: lowest stiffness "
    "grey, middle one dashed (with T = 1 ms the marginal case T^2 K/M = 1/4), highest black; in colour stiffnesses "
    "that the paper does not have, on either side of the limit of stability 0.686."
)


def _draw(axes: Axes, run: ScriptedRun, columns: list[int]) -> None:
    """The stop, and the whole run in an inset."""
    window = _window(run)
    _draw_velocities(axes, run, columns)
    axes.set(xlabel="time t (s)", ylabel="velocity u (m/s)")
    if columns:
        axes.legend(loc="lower right", framealpha=1.0, fontsize="small")
    if window and columns:
        inset = axes.inset_axes((0.5, 0.6, 0.48, 0.37))
        _draw_velocities(inset, run, columns)
        inset.tick_params(labelsize="small")
        axes.set(xlim=window[0], ylim=window[1])


def _draw_velocities(axes: Axes, run: ScriptedRun, columns: list[int]) -> None:
    time = np.concatenate(([0.0], run.time + run.period))
    for place, column in enumerate(columns):
        label = f"{run.models[column]}, K = {power_of_ten(run.number('stiffness', column))} N/m"
        u = np.concatenate(([run.parameters["initial_velocity"]], run.velocity[:, column]))
        axes.plot(time, u, label=label, **stiffness_style(place))
    axes.set_xlim(0.0, time[-1])


def _window(run: ScriptedRun) -> tuple[tuple[float, float], tuple[float, float]] | None:
    """Times and velocities around the stop; None where the run has none."""
    F, M, start = run.parameters["friction_force"], run.number("mass"), run.parameters["initial_velocity"]
    end = float(run.time[-1])
    stop = abs(start) * M / F if F > 0.0 else np.inf
    reach = largest(run.velocity[run.time > stop + 2.0 * run.period])
    if not 0.0 < stop < end or not 0.0 < reach < abs(start):
        return None
    return (stop - 0.03 * end, min(stop + 0.25 * end, end)), (-2.0 * reach, 3.5 * reach)
