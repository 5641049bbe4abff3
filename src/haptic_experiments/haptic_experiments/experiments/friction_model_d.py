"""Report of model D and its alternative sliding to rest: Fig. 14 of Kikuuwe et al., and section IV-C."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from haptic_bags.bags import Bag
from haptic_experiments.kit.comparison import (
    ScriptedRun,
    dominant_mode,
    largest,
    measured_by_period,
    named,
    power_of_ten,
    sign_changes,
    stiffness_style,
)
from haptic_experiments.report import Claim, Report
from haptic_friction.design import CONVERGENCE_LIMIT, INSTABILITY_LIMIT, evaluate_model_c

#: the original, and what the mass of the alternative of Fig. 12(b) slides on
_ORIGINAL, _ALTERNATIVE = "D", "C"
#: what is left of the largest velocity after the stop when an object counts as at rest at the end
_AT_REST = 1e-3
#: part of the run, at its end, that is looked at for that
_END = 0.1
#: part of the start velocity below which an object's velocity is rounding
_SMALL = 1e-12
#: the spring fills within this share of the sliding at most
_FILLING = 0.1
#: an eigenvalue measured over a few steps agrees with the computed one within this share
_GROWTH = 1e-3
#: an element counts as critically damped to this share
_CRITICAL = 1e-6


def slide_to_rest(
    time: np.ndarray, *, mass: float, stiffness: float, damping: float, force: float, start: float
) -> np.ndarray:
    """Velocity u [m/s] of the continuous motion from a velocity above zero without input force, (n,).

    While it slides, u falls with F/M and the spring is loaded, e' = (F - K e)/B; it sticks when e' is as fast as
    u, which for F B/(K M u_0) well below 1 is when the spring is full, e = F/K, to exp(-K t/B). Then mass, spring and
    damper are a free, critically damped oscillator.

    Args:
        time: [s].
        mass: M [kg].
        stiffness: K [N/m].
        damping: B = 2 sqrt(K M) [N s/m].
        force: friction force F [N].
        start: u_0 [m/s], above 0.
    """
    stop = start * mass / force
    omega = np.sqrt(stiffness / mass)
    since = np.clip(time - stop, 0.0, None)
    back = -(force / mass) * since * np.exp(-omega * since)
    return np.where(time < stop, start - force / mass * time, back)


def measure(run: ScriptedRun, column: int) -> dict[str, Any]:
    """Numbers of one model in one run.

    `sign_changes` counts from the start, 1 being the spring's pull back after the stop; `left` is the largest speed
    in the last tenth of the run over the largest against the start velocity.
    """
    u, start = run.velocity[:, column], run.parameters["initial_velocity"]
    T, K, B, M = run.period, *(run.number(name, column) for name in ("stiffness", "damping", "mass"))
    numbers: dict[str, Any] = {"period": T, "stiffness": K, "damping": B, "mass": M, "ratio": T * T * K / M}
    F = run.parameters["friction_force"]
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
    originals = [entry for entry in known if entry["model"] == _ORIGINAL]
    alternatives = sorted((e for e in known if e["model"] == _ALTERNATIVE), key=lambda entry: float(entry["ratio"]))
    claims = [_original_claim(originals), _alternative_claim(alternatives), _period_claim(alternatives)]
    claims += [_convergence_claim(alternatives), _instability_claim(alternatives), _decay_claim(alternatives)]
    first = next(iter(runs.values()))
    parameters = {"comparison": first.parameters, "device": first.device}
    return Report({"runs": metrics}, claims, lambda: _figure(runs), _CAPTION, parameters)


_NOT_REACHED = (
    "no run of model {} with Coulomb friction, critical damping, a start velocity and no force until it rests"
)


def _times(sign_changes: int) -> str:
    return f"{sign_changes} change{'' if sign_changes == 1 else 's'} of sign"


def _rests(entry: dict[str, Any]) -> bool:
    return bool(entry["left"] < _AT_REST)


def _original_claim(originals: list[dict[str, Any]]) -> Claim:
    text = "The stiffness of model D is not limited: it comes to rest without oscillation (Fig. 14, left)."
    if not originals:
        return Claim(text, _NOT_REACHED.format(_ORIGINAL), None)
    worst = max(originals, key=lambda entry: entry["deviation"] / entry["velocity_step"])
    return Claim(
        text,
        f"{len(originals)} cases up to T^2 K/M = {max(e['ratio'] for e in originals):.3g}: one change of sign each "
        f"(the spring's pull back), at the end at most {max(e['left'] for e in originals):.1e} of it left; at most "
        f"{1e3 * worst['deviation']:.2f} mm/s from the continuous motion ({named(worst)}; T F/M = "
        f"{1e3 * worst['velocity_step']:g} mm/s)",
        all(e["sign_changes"] <= 1 and _rests(e) and e["deviation"] < e["velocity_step"] for e in originals),
    )


def _alternative_claim(alternatives: list[dict[str, Any]]) -> Claim:
    text = "The alternative becomes vibratory or unstable with high stiffness (Fig. 14, right)."
    shortest = min((entry["period"] for entry in alternatives), default=0.0)
    cases = [entry for entry in alternatives if entry["period"] == shortest]
    low = [entry for entry in cases if entry["ratio"] <= CONVERGENCE_LIMIT]
    high = [entry for entry in cases if entry["ratio"] > INSTABILITY_LIMIT]
    if not low or not high:
        return Claim(text, "no low and no high stiffness of a mass on model C at one period", None)
    parts = [
        f"{named(entry)}: {_times(entry['sign_changes'])}, {entry['left']:.2g} of the pull back left" for entry in cases
    ]
    return Claim(text, "; ".join(parts), all(map(_rests, low)) and not any(map(_rests, high)))


def _period_claim(alternatives: list[dict[str, Any]]) -> Claim:
    text = "The alternative becomes vibratory or unstable with a large timestep size."
    pairs = [
        (short, long)
        for short in alternatives
        for long in alternatives
        if short["stiffness"] == long["stiffness"] and short["ratio"] <= CONVERGENCE_LIMIT < long["ratio"]
    ]
    if not pairs:
        return Claim(text, "no stiffness below 1/4 at one period and above it at a longer one", None)
    parts = [
        f"{named(entry)}: {_times(entry['sign_changes'])}, {entry['left']:.2g} of the pull back left"
        for entry in pairs[0]
    ]
    return Claim(text, "; ".join(parts), all(_rests(a) and b["sign_changes"] > a["sign_changes"] for a, b in pairs))


def _convergence_claim(alternatives: list[dict[str, Any]]) -> Claim:
    text = "With critical damping, T^2 K/M < 1/4 is necessary for a convergence without oscillation; 1/4 is the margin."
    inside = [entry for entry in alternatives if entry["ratio"] <= CONVERGENCE_LIMIT * (1.0 + _CRITICAL)]
    outside = [entry for entry in alternatives if entry not in inside]
    if not inside or not outside:
        return Claim(text, "no cases on both sides of the limit", None)
    parts = [f"{entry['ratio']:.3g}: {entry['sign_changes']}" for entry in alternatives]
    return Claim(
        text,
        f"T^2 K/M and sign changes: {', '.join(parts)} (1 is the spring's pull back)",
        all(e["sign_changes"] <= 1 for e in inside) and all(e["sign_changes"] > 1 for e in outside),
    )


def _instability_claim(alternatives: list[dict[str, Any]]) -> Claim:
    text = f"It does not come to rest from T^2 K/M = (2 sqrt 2 - 2)^2 = {INSTABILITY_LIMIT:.3f} on (from (63))."
    below = [entry for entry in alternatives if entry["ratio"] < INSTABILITY_LIMIT]
    above = [entry for entry in alternatives if entry["ratio"] > INSTABILITY_LIMIT]
    if not below or not above:
        return Claim(text, "no cases on both sides of the limit", None)
    parts = [f"{entry['ratio']:.3g}: {entry['left']:.2g}" for entry in alternatives]
    return Claim(
        text,
        f"T^2 K/M and share of the pull back at the end: {', '.join(parts)}",
        all(map(_rests, below)) and not any(map(_rests, above)),
    )


def _decay_claim(alternatives: list[dict[str, Any]]) -> Claim:
    text = "While it sticks, its velocity decays with the eigenvalues of (63)."
    measured = [entry for entry in alternatives if entry["decay"] is not None]
    if not measured:
        return Claim(text, "no alternative that sticks for long enough", None)
    parts = [f"{named(e)}: {e['decay']:.4f} per step (eigenvalue {e['spectral_radius']:.4f})" for e in measured]
    close = [abs(entry["decay"] / entry["spectral_radius"] - 1.0) < _GROWTH for entry in measured]
    return Claim(text, "; ".join(parts), all(close))


_CAPTION = (
    "Velocity u over time, as in Fig. 14: left model D, right its alternative of Fig. 12(b), a mass on model C; a row "
    "for each control period T. Large: the stop; small: the whole run. Line styles as in the paper: lowest stiffness "
    "grey, middle one dashed (with T = 1 ms the marginal case T^2 K/M = 1/4), highest black; in colour stiffnesses "
    "that the paper does not have, on either side of the limit of stability 0.686."
)


def _figure(runs: dict[str, ScriptedRun]) -> Figure:
    figure = Figure(figsize=(11, 4.4 * len(runs)), layout="constrained")
    axes = figure.subplots(len(runs), 2, squeeze=False)
    for row, run in zip(axes, runs.values(), strict=True):
        left = [i for i, model in enumerate(run.models) if model == _ORIGINAL]
        right = [i for i, model in enumerate(run.models) if model != _ORIGINAL]
        is_paper = {run.models[i] for i in right} <= {_ALTERNATIVE}
        other = "alternative, Fig. 12(b)" if is_paper else "other models"
        for side, columns, name in ((row[0], left, "model D"), (row[1], right, other)):
            _draw(side, run, columns)
            side.set(xlabel="time t (s)", ylabel="velocity u (m/s)", title=f"{name}; T = {1e3 * run.period:g} ms")
            if columns:
                side.legend(loc="lower right", framealpha=1.0, fontsize="small")
            else:
                side.text(0.5, 0.5, "not in this run", ha="center", transform=side.transAxes)
            window = _window(run)
            if window and columns:
                inset = side.inset_axes((0.5, 0.6, 0.48, 0.37))
                _draw(inset, run, columns)
                inset.tick_params(labelsize="small")
                side.set(xlim=window[0], ylim=window[1])
    return figure


def _draw(axes: Axes, run: ScriptedRun, columns: list[int]) -> None:
    start = run.parameters["initial_velocity"]
    time = np.concatenate(([0.0], run.time + run.period))
    for place, column in enumerate(columns):
        model, K = run.models[column], run.number("stiffness", column)
        label = f"{model}, K = {power_of_ten(K)} N/m"
        u = np.concatenate(([start], run.velocity[:, column]))
        axes.plot(time, u, label=label, **stiffness_style(place))
    axes.set_xlim(0.0, time[-1])


def _window(run: ScriptedRun) -> tuple[tuple[float, float], tuple[float, float]] | None:
    """Times and velocities around the stop; None where the run has none."""
    F, M, start = run.parameters["friction_force"], run.number("mass"), run.parameters["initial_velocity"]
    end = float(run.time[-1])
    stop = abs(start) * M / F if F > 0.0 else np.inf
    after = run.velocity[run.time > stop + 2.0 * run.period]
    reach = largest(after)
    if not 0.0 < stop < end or not 0.0 < reach < abs(start):
        return None
    return (stop - 0.03 * end, min(stop + 0.25 * end, end)), (-2.0 * reach, 3.5 * reach)
