"""Report of the drift experiment: which friction models drift or chatter (Kikuuwe et al., sections II and III).

Two runs, which differ in the velocity that the mass starts with: at rest under a load that fluctuates below the
friction force and is then taken away, and sliding to rest against a constant pull.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from haptic_bags.bags import Bag
from haptic_experiments.experiments.friction_drift.measures import ModelNumbers, RunNumbers, costs, measure, position
from haptic_experiments.kit.comparison import ScriptedRun
from haptic_experiments.kit.figures import legend_or_note
from haptic_experiments.kit.results import AFTER_DATA, Claims, Report, Verdict
from haptic_friction.reference.drift import FLIP_RATIO, ROUGHNESS_RATIO

#: displacement [m] that is left after unloading from which on a model counts as drifting: far above rounding (below
#: 1e-16 m), far below the elastic yield under the load (3e-5 m)
_DRIFT = 1e-9
_ROUNDING = 1e-15  #: length [m] below which nothing but rounding is meant
_CREEP = 1e-9  #: speed [m/s], left of a stop or at the end of the load, from which on the mass counts as moving

#: title of the times in the report's parameters
_COST = "time per step of the compiled loop, on the machine of this report"

_PROPOSED = ("A", "C", "D")


def analyse(bags: dict[str, Bag]) -> Report:
    """Computes metrics, claims and figure of one or more bags of the experiment."""
    runs = {name: ScriptedRun.from_bag(bag) for name, bag in bags.items()}
    numbers = {name: measure(run) for name, run in runs.items()}
    # the first run of each kind, if there is one
    drifting, stopping = (next((n for n in numbers if numbers[n].kind == kind), "") for kind in ("drift", "stop"))
    first = next(iter(runs.values()))
    claims = _claims(Evidence("drift", numbers.get(drifting)), Evidence("stop", numbers.get(stopping)))
    cost = costs(first)
    parameters: dict[str, dict[str, Any]] = {"comparison": first.parameters, "device": first.device}
    parameters[_COST] = {label: f"{value:.0f} ns" for label, value in cost.items()}
    return Report(
        {"runs": numbers}, claims, lambda: _figure(runs, numbers, drifting, stopping, cost), _CAPTION, parameters
    )


Results = dict[str, ModelNumbers]  # by label of the column
_NO_MODEL = "the run does not have the model"


@dataclass(frozen=True)
class Evidence:
    """The run of one kind, as far as it reaches the claims."""

    kind: str  #: kind of the run, drift or stop
    run: RunNumbers | None  #: numbers of the run; None if there is none

    def of(self, *models: str) -> Results:
        """Returns the results of some models; none if the run does not reach the claims."""
        if self.run is None or self.missing:
            return {}
        return {name: result for name, result in self.run.models.items() if result.model in models}

    @property
    def missing(self) -> str:
        """Reason why the run does not reach the claims; empty if it does."""
        if self.run is None:
            return f"no run that shows a {self.kind}"
        if not self.run.load_below_friction_force:
            return f"the load reaches {self.run.largest_load:.3g} N, F is {self.run.friction_force:g} N"
        if not self.run.is_long_enough:
            return f"the run ends before the {'load is taken away' if self.kind == 'drift' else 'mass rests'}"
        return ""

    def claim(self, claims: Claims, text: str, verdict: Callable[[RunNumbers, Results], Verdict], *models: str) -> None:
        """Adds a claim about some models."""
        found = self.of(*models)
        if self.run is None or not found:
            claims.say(text, unless=self.missing or _NO_MODEL)
        else:
            claims.say(text, *verdict(self.run, found))


def _claims(drift: Evidence, stop: Evidence) -> Claims:
    claims = Claims()
    text = (
        "Models A, C (with a mass, Fig. 12(b)) and D do not drift under a force that fluctuates below F (III-A to D)."
    )
    drift.claim(claims, text, _no_drift, *_PROPOSED)
    drift.claim(claims, "Models A, C and D do not chatter (III).", _no_chatter, *_PROPOSED)
    text = "What Karnopp's model (3) does depends on the threshold ε (II-A)."
    stop.claim(claims, text, lambda _, found: _threshold(found, drift.of("karnopp")), "karnopp")
    text = "Quinn's model (4) drifts or chatters, depending on its threshold (II-A)."
    drift.claim(claims, text, _depends_on_threshold, "quinn")
    text = "Friction that is viscous below a threshold (5) does not hold a force: it creeps, or chatters (II-A)."
    drift.claim(claims, text, _creep, "regularized_coulomb")
    text = "Coulomb friction (6) taken explicitly chatters and drifts (II-A)."
    drift.claim(claims, text, _drift_and_chatter, "explicit_coulomb")
    drift.claim(claims, "Dahl's model drifts without bound (II-B).", _unbounded_drift, "dahl")
    drift.claim(claims, "The LuGre model drifts (II-B).", _drift, "lugre")
    text = "Later models (here the elastoplastic one) remove the drift of LuGre's (II-B)."
    drift.claim(claims, text, _elastoplastic, "elastoplastic", "lugre")
    text = "A spring without damping (Hayward and Armstrong) is prone to oscillations in static friction (II-B)."
    stop.claim(claims, text, lambda run, found: _oscillation(run, found, stop.of("C", "D")), "hayward_armstrong")
    return claims


def metres(value: float) -> str:
    """Writes a length in words."""
    size = abs(value)
    if size < _ROUNDING:
        return f"below {_ROUNDING:g} m" if size else "0 m exactly"
    for factor, unit in ((1.0, "m"), (1e-3, "mm"), (1e-6, "µm")):
        if size >= 0.1 * factor:
            return f"{value / factor:.3g} {unit}"
    return f"{value:.1e} m"


def _left(result: ModelNumbers) -> str:
    return metres(result.motion.residual_displacement)


def _drifts(result: ModelNumbers) -> bool:
    return bool(abs(result.motion.residual_displacement) > _DRIFT)


def _no_drift(run: RunNumbers, found: Results) -> Verdict:
    parts = [f"{name} {_left(result)}" for name, result in found.items()]
    words = (
        f"left after {run.about.load_duration:.3g} s of load up to {run.largest_load:.3g} N (F = "
        f"{run.friction_force:g} N): {'; '.join(parts)} (limit {_DRIFT:g} m)"
    )
    return words, not any(map(_drifts, found.values()))


def _no_chatter(run: RunNumbers, found: Results) -> Verdict:
    if all(result.motion.chatters is None for result in found.values()):
        return "no load", None
    parts = [
        f"{name} {result.motion.roughness_over_load:.3g} times as rough as the load, "
        f"{result.motion.sign_flips_per_second:.0f} sign flips/s"
        for name, result in found.items()
    ]
    words = (
        f"friction force (second differences): {'; '.join(parts)}; the load itself flips "
        f"{run.about.load_sign_flips_per_second:.0f} times/s (limits: {ROUGHNESS_RATIO:g} times as rough, "
        f"{FLIP_RATIO:g} times the flips, {AFTER_DATA}: the models have a gap from 7 to 366 times)"
    )
    return words, not any(result.motion.chatters for result in found.values())


def _threshold(found: Results, held: Results) -> Verdict:
    if len(found) < 2:
        return "only one threshold in this run", None
    parts = [f"{r.motion.largest_speed:.2g} m/s with ε = {r.velocity_threshold:g} m/s" for r in found.values()]
    drifts = [abs(result.motion.residual_displacement) for result in held.values()]
    rest = f"; from rest under the fluctuating load it drifts {metres(max(drifts))}" if drifts else ""
    speeds = [result.motion.largest_speed for result in found.values()]
    words = f"speed left after a stop: {', '.join(parts)} (they differ by more than {_CREEP:g} m/s){rest}"
    return words, max(speeds) - min(speeds) > _CREEP


def _in_words(found: Results, limits: str) -> str:
    """Describes drift and chatter of each choice of parameters of a model, with the limits of the verdict."""
    parts = []
    for name, result in found.items():
        rough = result.motion.roughness_over_load
        chatter = f", {rough:.3g} times as rough as the load" if rough is not None else ""
        rate = f"{1e3 * result.motion.drift_rate:.2g} mm/s at the end of the load"
        parts.append(f"{name}: {_left(result)} left, {rate}{chatter}")
    return f"{'; '.join(parts)} (limits {limits})"


_OF_BOTH = f"{_DRIFT:g} m; {ROUGHNESS_RATIO:g} times, {AFTER_DATA}"


def _suffers(result: ModelNumbers) -> bool:
    return bool(_drifts(result) or result.motion.chatters)


def _depends_on_threshold(run: RunNumbers, found: Results) -> Verdict:
    """Shows that a model drifts or chatters with some of its thresholds, and with some not."""
    if len(found) < 2:
        return "only one threshold in this run", None
    suffering = [_suffers(result) for result in found.values()]
    return _in_words(found, _OF_BOTH), any(suffering) and not all(suffering)


def _drift_and_chatter(run: RunNumbers, found: Results) -> Verdict:
    shown = all(_drifts(result) and result.motion.chatters for result in found.values())
    return _in_words(found, _OF_BOTH), shown


def _drift(run: RunNumbers, found: Results) -> Verdict:
    return _in_words(found, f"{_DRIFT:g} m"), all(map(_drifts, found.values()))


def _unbounded_drift(run: RunNumbers, found: Results) -> Verdict:
    """Shows that a model drifts, and still does at the end of the load."""
    goes_on = all(abs(result.motion.drift_rate) > _CREEP for result in found.values())
    return _in_words(found, f"{_DRIFT:g} m; {_CREEP:g} m/s"), goes_on and all(map(_drifts, found.values()))


def _creep(run: RunNumbers, found: Results) -> Verdict:
    creeps = [metres(r.velocity_threshold / run.friction_force * run.about.impulse) for r in found.values()]
    words = f"{_in_words(found, _OF_BOTH)}; a creep of ε h/F makes {', '.join(creeps)}"
    return words, all(map(_suffers, found.values()))


def _elastoplastic(run: RunNumbers, found: Results) -> Verdict:
    own, lugre = ([r for r in found.values() if r.model == model] for model in ("elastoplastic", "lugre"))
    pairs = [(a, b) for a in own for b in lugre if a.stiffness == b.stiffness]
    if not pairs:
        return _NO_MODEL, None
    parts = [f"{_left(mine)} left, LuGre {_left(other)} with K = {mine.stiffness:g} N/m" for mine, other in pairs]
    words = (
        f"{'; '.join(parts)} (limit {_DRIFT:g} m, as for every model); it is elastic up to 0.7 F, and the load reaches "
        f"{run.largest_load / run.friction_force:.2g} F"
    )
    return words, not any(_drifts(mine) for mine, _ in pairs)


def _oscillation(run: RunNumbers, found: Results, damped: Results) -> Verdict:
    half = 0.5 * run.ticks * run.period
    parts = [
        f"{name} {r.motion.largest_speed:.2g} m/s, {r.motion.velocity_sign_changes / half:.0f} sign changes/s"
        for name, r in {**found, **damped}.items()
    ]
    words = f"speed left from {half:.3g} s on, after a stop: {'; '.join(parts)} (limit {_CREEP:g} m/s)"
    return words, any(r.motion.largest_speed > _CREEP and r.motion.velocity_sign_changes > 0 for r in found.values())


_CAPTION = (
    "Top left: position of the masses over time, averaged over 0.1 s, of the models that drift by more than 1 mm; top "
    "right: of the others; models C and D and the reset integrator yield elastically and come back to zero when the "
    "load is taken away. Second row: friction force at the end of the load, of models that chatter and of the others; "
    "the load is grey. Third row: what is left of the position after unloading, roughness of the force (RMS of its "
    "second differences over that of the load) and time per step of the compiled loop, measured on the machine that "
    "made this report. Bottom: largest speed within 20 ms of a mass that slides to rest against a constant pull; the "
    "shaded half is where it should be zero."
)
#: names and titles of the panels, row by row
_PANELS = (
    {"moving": "position, models that drift by more than 1 mm", "staying": "position, the others"},
    {"rough": "friction force, models that chatter", "smooth": "friction force, the others"},
    {"residual": "drift", "roughness": "chatter", "cost": "cost, measured on this machine"},
    {"stop": "a mass that slides to rest"},
)
#: values that are drawn in place of smaller ones on logarithmic axes
_SMALLEST_DISPLACEMENT, _SMALLEST_SPEED = 1e-12, 1e-12
_LARGE = 1e-3  #: displacement [m] that parts the two plots of the position
#: averaging of the positions [s], three periods of the tremor; length of the force's detail [s]; of the envelope [s]
_AVERAGING, _DETAIL, _ENVELOPE = 0.1, 0.1, 0.02


def _figure(
    runs: dict[str, ScriptedRun], numbers: dict[str, RunNumbers], drifting: str, stopping: str, cost: dict[str, float]
) -> Figure:
    figure = Figure(figsize=(16, 20), layout="constrained")
    rows: Any = figure.subfigures(len(_PANELS), 1, height_ratios=(3, 3, 3.5, 3))
    axes: dict[str, Axes] = {}
    for row, titles in zip(rows, _PANELS, strict=True):
        own = row.subplot_mosaic([list(titles)])
        for name, panel in own.items():
            panel.set_title(titles[name])
        axes |= own
    if drifting:
        _draw_positions(axes, runs[drifting], numbers[drifting])
        _draw_forces(axes, runs[drifting], numbers[drifting])
        _draw_drift(axes, numbers[drifting])
    if stopping:
        _draw_stop(axes["stop"], runs[stopping], numbers[stopping])
    _draw_bars(axes["cost"], list(cost), list(cost.values()), "time per step (ns)")
    for name, panel in axes.items():
        legend_or_note(panel, "not reached in this run", fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
        if name in ("roughness", "cost") and axes["residual"].has_data():
            panel.tick_params(labelleft=False)
    return figure


def _style(column: int) -> dict[str, Any]:
    """Chooses colour and line of a column for all panels; later lines are thinner, so none hides another."""
    width = max(1.0, 3.5 - 0.25 * column)
    return {"color": f"C{column % 10}", "linestyle": ("-", "--", ":")[column // 10 % 3], "linewidth": width}


def _windows(values: np.ndarray, period: float, length: float) -> np.ndarray:
    """Divides rows into successive windows of a length [s], shape (windows, rows, columns), without the remainder."""
    rows = min(max(1, round(length / period)), len(values))
    whole = len(values) // rows
    return values[: whole * rows].reshape(whole, rows, values.shape[1])


def _draw_positions(axes: dict[str, Axes], run: ScriptedRun, result: RunNumbers) -> None:
    x, times = (_windows(v, run.period, _AVERAGING).mean(axis=1) for v in (position(run), run.time[:, None]))
    for column, name in enumerate(result.models):
        panel, scale = (axes["moving"], 1e3) if abs(x[-1, column]) > _LARGE else (axes["staying"], 1e6)
        panel.plot(times, scale * x[:, column], label=name, **_style(column))
    axes["moving"].set(xlabel="time (s)", ylabel="position (mm)")
    axes["staying"].set(xlabel="time (s)", ylabel="position (µm)")


def _draw_forces(axes: dict[str, Axes], run: ScriptedRun, result: RunNumbers) -> None:
    end = round(result.about.load_duration / run.period)
    part = slice(max(0, end - round(_DETAIL / run.period)), end)
    for column, (name, model) in enumerate(result.models.items()):
        panel = axes["rough"] if model.motion.chatters else axes["smooth"]
        panel.plot(run.time[part], run.force[part, column], label=name, **_style(column))
    for panel in (axes["rough"], axes["smooth"]):
        if panel.has_data():
            panel.plot(run.time[part], run.input_force[part], "k", linewidth=6, alpha=0.25, zorder=0, label="load")
        panel.set(xlabel="time (s)", ylabel="friction force (N)")


def _draw_drift(axes: dict[str, Axes], result: RunNumbers) -> None:
    names, drifts = list(result.models), [model.motion for model in result.models.values()]
    if result.about.unloaded:
        left = [abs(drift.residual_displacement) for drift in drifts]
        _draw_bars(axes["residual"], names, left, "|position| after unloading (m)", _SMALLEST_DISPLACEMENT)
    ratios = [drift.roughness_over_load for drift in drifts]
    if None not in ratios:
        _draw_bars(axes["roughness"], names, ratios, "roughness of the force over that of the load", 0.1)


def _draw_bars(axes: Axes, names: list[str], values: list[float], label: str, smallest: float = 0.0) -> None:
    """Draws horizontal bars with their values; logarithmic from `smallest` on, or linear if that is zero."""
    places = range(len(names))
    axes.barh(places, np.maximum(values, smallest), color=[_style(column)["color"] for column in places])
    axes.set_yticks(places, names, fontsize=8)
    axes.invert_yaxis()
    axes.set_xlabel(label)
    if smallest:
        axes.set_xscale("log")
        axes.set_xlim(smallest, 100.0 * max(*values, smallest))
    else:
        axes.set_xlim(0.0, 1.2 * max(values))
    for place, value in zip(places, values, strict=True):
        text = (
            f"below {_ROUNDING:g}" if 0.0 < value < _ROUNDING else f"{value:.2g}" if value < 100.0 else f"{value:.0f}"
        )
        axes.text(max(value, smallest), place, f" {text}", va="center", fontsize=8)


def _draw_stop(axes: Axes, run: ScriptedRun, result: RunNumbers) -> None:
    speed, times = (_windows(v, run.period, _ENVELOPE) for v in (np.abs(run.velocity), run.time[:, None]))
    for column, name in enumerate(result.models):
        envelope = np.maximum(speed[:, :, column].max(axis=1), _SMALLEST_SPEED)
        axes.semilogy(times[:, 0, 0], envelope, label=name, **_style(column))
    axes.axvspan(run.time[len(run.time) // 2], run.time[-1], color="0.9", zorder=0)
    axes.set(xlabel="time (s)", ylabel=f"|velocity| (m/s), or {_SMALLEST_SPEED:g}")
