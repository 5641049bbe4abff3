"""Report of the drift experiment: which friction models drift or chatter (Kikuuwe et al., sections II and III).

Two runs, told apart by the velocity that the mass starts with: at rest under a load that fluctuates below the
friction force and is then taken away, and sliding to rest against a constant pull.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from haptic_bags.bags import Bag
from haptic_experiments.kit.comparison import ScriptedRun
from haptic_experiments.kit.signals import roughness, sign_changes
from haptic_experiments.report import Claim, Report
from haptic_friction.factory import make_model, parameters_of

#: displacement [m] that is left after unloading from which on a model counts as drifting: far above rounding (below
#: 1e-16 m), far below the elastic yield under the load (3e-5 m)
_DRIFT = 1e-9
#: length [m] below which nothing but rounding is meant
_ROUNDING = 1e-15
#: speed [m/s] that is left of a stop from which on the mass counts as moving
_CREEP = 1e-9
#: a force chatters if its second differences are that many times those of the load, or if it changes its sign
#: that many times as often: a spring that resonates with the tremor reaches 7, a switching force 300
_ROUGHNESS_RATIO, _FLIP_RATIO = 20.0, 2.0
#: share of the load's duration, at its end, over which the rate of drift is taken
_RATE_SHARE = 1.0 / 6.0
#: repetitions of the timed run; the fastest counts
_TIMED = 3

_NAMES = {
    "A": "model A",
    "B": "model B",
    "C": "model C + mass",
    "D": "model D",
    "karnopp": "Karnopp",
    "quinn": "Quinn",
    "regularized_coulomb": "regularised",
    "explicit_coulomb": "explicit Coulomb",
    "dahl": "Dahl",
    "lugre": "LuGre",
    "elastoplastic": "elastoplastic",
    "reset_integrator": "reset integrator",
    "hayward_armstrong": "Hayward-Armstrong",
}
#: what tells columns of one model apart, with symbol, unit and its size
_DISTINCTIONS = {
    "velocity_threshold": ("ε", "mm/s", 1e-3),
    "stiffness": ("K", "kN/m", 1e3),
    "damping": ("B", "N s/m", 1.0),
    "mass": ("M", "kg", 1.0),
}
_WITH_THRESHOLD = ("karnopp", "quinn", "regularized_coulomb")
_PROPOSED = ("A", "C", "D")


def labels(run: ScriptedRun) -> list[str]:
    """A name for each column: the model's, and what tells it apart from the others of the same model."""
    found = []
    for column, model in enumerate(run.models):
        others = [c for c, other in enumerate(run.models) if other == model and c != column]
        parts = [_NAMES.get(model, model)]
        for name, (symbol, unit, size) in _DISTINCTIONS.items():
            if name == "velocity_threshold" and model not in _WITH_THRESHOLD:
                continue
            value = run.number(name, column)
            # the usual choice of damping goes with the stiffness: it says nothing more
            known = name == "damping" and len(parts) > 1
            if not known and any(run.number(name, other) != value for other in others):
                parts.append(f"{symbol} = {value / size:g} {unit}")
        label = ", ".join(parts)
        found.append(label if label not in found else f"{label} ({column})")
    return found


def position(run: ScriptedRun) -> np.ndarray:
    """x (n, columns) [m] of the masses: the sum of T v; over missed ticks the velocity is held."""
    return np.cumsum(run.velocity * (run.period * np.diff(run.tick, prepend=run.tick[0] - 1))[:, None], axis=0)


@dataclass(frozen=True)
class Load:
    """Where a load ends: it is taken away from `end` on, and is zero from `zero` on (indices of the samples)."""

    end: int
    zero: int

    @classmethod
    def of(cls, force: np.ndarray) -> Load:
        """The monotone fall to zero that ends a load (n,); none if the run ends under load, or has none at all."""
        loaded = np.flatnonzero(force)
        zero = int(loaded[-1]) + 1 if len(loaded) else len(force)
        if zero == len(force):
            return cls(zero, zero)
        end, magnitude = zero, np.abs(force)
        while end > 0 and magnitude[end - 1] > magnitude[end]:
            end -= 1
        return cls(end, zero)


def drift(run: ScriptedRun, load: Load, x: np.ndarray, column: int) -> dict[str, float | None]:
    """Drift and chatter of one column under a load.

    Returns:
        displacement_at_load_end [m], largest_displacement [m], residual_displacement [m] (null if the load is
        not taken away), drift_rate [m/s] over the last sixth of the load, exact_zero_velocity_share,
        sign_flips_per_second of the friction force and its second differences over those of the load.
    """
    end, last = max(load.end, 2), min(max(load.end, 1), len(x) - 1)
    start = last - max(1, round(_RATE_SHARE * last))
    force, duration = run.force[:end, column], end * run.period
    smooth = roughness(run.input_force[:end])
    return {
        "displacement_at_load_end": float(x[last, column]),
        "largest_displacement": float(np.abs(x[:, column]).max()),
        "residual_displacement": float(x[-1, column]) if load.zero < len(x) else None,
        "drift_rate": float((x[last, column] - x[start, column]) / ((last - start) * run.period)),
        "exact_zero_velocity_share": float(np.mean(run.velocity[:end, column] == 0.0)),
        "sign_flips_per_second": float(sign_changes(force) / duration),
        "roughness_over_load": roughness(force) / smooth if smooth > 0.0 else None,
    }


def stop(run: ScriptedRun, x: np.ndarray, column: int) -> dict[str, float]:
    """What is left of the motion in the second half of a run in which the mass should have come to rest."""
    half = len(x) // 2
    velocity = run.velocity[half:, column]
    return {
        "largest_speed": float(np.abs(velocity).max()),
        "displacement": float(x[-1, column] - x[half, column]),
        "velocity_sign_changes": sign_changes(velocity),
    }


def chatters(result: dict[str, Any], flips_of_load: float) -> bool | None:
    """Whether a force is that much rougher than the load, or switches that much more often; None without a load."""
    if result["roughness_over_load"] is None:
        return None
    return bool(
        result["roughness_over_load"] > _ROUGHNESS_RATIO
        or result["sign_flips_per_second"] > _FLIP_RATIO * flips_of_load
    )


def costs(run: ScriptedRun) -> dict[str, float]:
    """Time of one step [ns] of each model's compiled loop over the recorded input, on the machine at hand.

    A model whose law stands in a file or module that is not there any more is left out.
    """
    force, measured = run.input_force[:, None], {}
    for column, label in enumerate(labels(run)):
        try:
            model = make_model(parameters_of(run.parameters, column), dimension=1)
        except ValueError:
            continue
        times = []
        for _ in range(_TIMED):
            model.reset()
            start = time.perf_counter()
            model.simulate(force)
            times.append(time.perf_counter() - start)
        measured[label] = 1e9 * min(times) / len(force)
    return measured


def analyse(bags: dict[str, Bag]) -> Report:
    """Metrics, claims and figure of one or more bags of the experiment."""
    runs = {name: ScriptedRun.from_bag(bag) for name, bag in bags.items()}
    metrics: dict[str, Any] = {"runs": {name: _metrics(run) for name, run in runs.items()}}
    drifting, stopping = _first(metrics, "drift"), _first(metrics, "stop")
    first = next(iter(runs.values()))
    shown = [name for name in (drifting, stopping) if name]
    results = {name: metrics["runs"][name] for name in shown}
    claims = _claims(results.get(drifting or ""), results.get(stopping or ""))
    cost = costs(first)
    parameters = {
        "comparison": first.parameters,
        "device": first.device,
        "time per step of the compiled loop, on the machine of this report": {
            k: f"{v:.0f} ns" for k, v in cost.items()
        },
    }
    return Report(metrics, claims, lambda: _figure(runs, metrics, drifting, stopping, cost), _CAPTION, parameters)


def _first(metrics: dict[str, Any], kind: str) -> str | None:
    return next((name for name, run in metrics["runs"].items() if run["kind"] == kind), None)


def _metrics(run: ScriptedRun) -> dict[str, Any]:
    """All numbers of one run."""
    x, force, end = position(run), run.input_force, Load.of(run.input_force)
    start = run.number("initial_velocity")
    largest = float(np.abs(force).max())
    common = {
        "kind": "stop" if start else "drift",
        "mode": run.device["mode"],
        "ticks": len(run.tick),
        "period": run.period,
        "friction_force": run.number("friction_force"),
        "largest_load": largest,
        "load_below_friction_force": bool(largest < run.number("friction_force")),
    }
    names = labels(run)
    if start:
        # the slowest way to rest is with the pull along the motion
        margin = run.number("friction_force") - largest
        heaviest = max(run.number("mass", column) for column in range(len(names)))
        rests = margin > 0.0 and heaviest * abs(start) / margin < 0.5 * run.period * len(x)
        models: dict[str, Any] = {n: stop(run, x, c) for c, n in enumerate(names)}
        common |= {"initial_velocity": start, "should_rest": bool(rests)}
    else:
        models = {n: drift(run, end, x, c) for c, n in enumerate(names)}
        flips = sign_changes(force[: end.end]) / (max(end.end, 1) * run.period)
        for result in models.values():
            result["chatters"] = chatters(result, flips)
        common |= {
            "load_duration": end.end * run.period,
            "unloaded": bool(end.zero < len(x)),
            "load_sign_flips_per_second": flips,
            # the creep of the regularised model, eps/F h, summed over the run
            "impulse": float(run.period * force.sum()),
        }
    for column, (name, result) in enumerate(zip(names, models.values(), strict=True)):
        own = {p: run.number(p, column) for p in _DISTINCTIONS}
        models[name] = {"model": run.models[column], **own, **result}
    return {**common, "models": models}


# Claims


def _claims(drifting: dict[str, Any] | None, stopping: dict[str, Any] | None) -> list[Claim]:
    return [
        _no_drift_claim(drifting),
        _no_chatter_claim(drifting),
        _threshold_claim(stopping, drifting),
        _either_claim(drifting, "quinn", "Quinn's model (4) drifts or chatters, depending on its threshold (II-A)."),
        _creep_claim(drifting),
        _either_claim(
            drifting, "explicit_coulomb", "Coulomb friction (6) taken explicitly chatters and drifts (II-A)."
        ),
        _either_claim(drifting, "dahl", "Dahl's model drifts without bound (II-B)."),
        _either_claim(drifting, "lugre", "The LuGre model drifts (II-B)."),
        _elastoplastic_claim(drifting),
        _oscillation_claim(stopping),
    ]


def _of(run: dict[str, Any] | None, *models: str) -> dict[str, dict[str, Any]]:
    """The results of some models in a run in which the claim can be judged at all."""
    if run is None or not run["load_below_friction_force"] or not run.get("unloaded", run.get("should_rest")):
        return {}
    return {name: result for name, result in run["models"].items() if result["model"] in models}


def _why_not(run: dict[str, Any] | None, kind: str) -> str:
    if run is None:
        return f"no run that shows a {kind}"
    if not run["load_below_friction_force"]:
        return f"the load reaches {run['largest_load']:.3g} N, F is {run['friction_force']:g} N"
    if not run.get("unloaded", run.get("should_rest")):
        return "the run ends before the load is taken away" if kind == "drift" else "the run ends before the mass rests"
    return "the run does not have the model"


def metres(value: float) -> str:
    """A length in words."""
    size = abs(value)
    if size < _ROUNDING:
        return f"below {_ROUNDING:g} m" if size else "0 m exactly"
    for factor, unit in ((1.0, "m"), (1e-3, "mm"), (1e-6, "µm")):
        if size >= 0.1 * factor:
            return f"{value / factor:.3g} {unit}"
    return f"{value:.1e} m"


def _drifts(result: dict[str, Any]) -> bool:
    return abs(result["residual_displacement"]) > _DRIFT


def _no_drift_claim(run: dict[str, Any] | None) -> Claim:
    text = (
        "Models A, C (with a mass, Fig. 12(b)) and D do not drift under a force that fluctuates below F (III-A to D)."
    )
    found = _of(run, *_PROPOSED)
    if not found or run is None:
        return Claim(text, _why_not(run, "drift"), None)
    parts = [f"{name} {metres(result['residual_displacement'])}" for name, result in found.items()]
    return Claim(
        text,
        f"left after {run['load_duration']:.3g} s of load up to {run['largest_load']:.3g} N (F = "
        f"{run['friction_force']:g} N): {'; '.join(parts)}",
        not any(_drifts(result) for result in found.values()),
    )


def _roughness(result: dict[str, Any]) -> str:
    return f"{result['roughness_over_load']:.3g} times as rough as the load"


def _no_chatter_claim(run: dict[str, Any] | None) -> Claim:
    text = "Models A, C and D do not chatter (III)."
    found = {n: r for n, r in _of(run, *_PROPOSED).items() if r["chatters"] is not None}
    if not found or run is None:
        return Claim(text, _why_not(run, "drift"), None)
    parts = [f"{n} {_roughness(r)}, {r['sign_flips_per_second']:.0f} sign flips/s" for n, r in found.items()]
    return Claim(
        text,
        f"friction force (second differences): {'; '.join(parts)}; the load itself flips "
        f"{run['load_sign_flips_per_second']:.0f} times/s",
        not any(result["chatters"] for result in found.values()),
    )


def _threshold_claim(stopping: dict[str, Any] | None, drifting: dict[str, Any] | None) -> Claim:
    text = "What Karnopp's model (3) does depends on the threshold ε (II-A)."
    found = _of(stopping, "karnopp")
    if len(found) < 2:
        return Claim(text, _why_not(stopping, "stop") if not found else "only one threshold in this run", None)
    parts = [f"{r['largest_speed']:.2g} m/s with ε = {r['velocity_threshold']:g} m/s" for r in found.values()]
    held = _of(drifting, "karnopp")
    drifts = [abs(result["residual_displacement"]) for result in held.values()]
    rest = f"; from rest under the fluctuating load it drifts {metres(max(drifts))}" if drifts else ""
    speeds = [result["largest_speed"] for result in found.values()]
    return Claim(text, f"speed left after a stop: {', '.join(parts)}{rest}", max(speeds) - min(speeds) > _CREEP)


def _either_claim(run: dict[str, Any] | None, model: str, text: str) -> Claim:
    """A model that drifts or chatters with at least one of its choices of parameters."""
    found = _of(run, model)
    if not found:
        return Claim(text, _why_not(run, "drift"), None)
    parts = []
    for name, result in found.items():
        chatter = f", {_roughness(result)}" if result["roughness_over_load"] is not None else ""
        parts.append(
            f"{name}: {metres(result['residual_displacement'])} left, {1e3 * result['drift_rate']:.2g} mm/s at the "
            f"end of the load{chatter}"
        )
    return Claim(text, "; ".join(parts), any(_drifts(r) or r["chatters"] for r in found.values()))


def _creep_claim(run: dict[str, Any] | None) -> Claim:
    text = "Friction that is viscous below a threshold (5) does not hold a force: it creeps, or chatters (II-A)."
    claim = _either_claim(run, "regularized_coulomb", text)
    found = _of(run, "regularized_coulomb")
    if not found or run is None:
        return claim
    creeps = [f"{metres(r['velocity_threshold'] / run['friction_force'] * run['impulse'])}" for r in found.values()]
    return Claim(text, f"{claim.measured}; a creep of ε h/F makes {', '.join(creeps)}", claim.shown)


def _elastoplastic_claim(run: dict[str, Any] | None) -> Claim:
    text = "Later models (here the elastoplastic one) remove the drift of LuGre's (II-B)."
    own, lugre = _of(run, "elastoplastic"), _of(run, "lugre")
    pairs = [(a, b) for a in own.values() for b in lugre.values() if a["stiffness"] == b["stiffness"]]
    if not pairs or run is None:
        return Claim(text, _why_not(run, "drift"), None)
    mine, other = (abs(result["residual_displacement"]) for result in pairs[0])
    return Claim(
        text,
        f"{metres(mine)} left, LuGre {metres(other)}; it is elastic up to 0.7 F, and the load reaches "
        f"{run['largest_load'] / run['friction_force']:.2g} F",
        bool(mine < 0.01 * other),
    )


def _oscillation_claim(run: dict[str, Any] | None) -> Claim:
    text = "A spring without damping (Hayward and Armstrong) is prone to oscillations in static friction (II-B)."
    found, damped = _of(run, "hayward_armstrong"), _of(run, "C", "D")
    if not found or run is None:
        return Claim(text, _why_not(run, "stop"), None)
    half = 0.5 * run["ticks"] * run["period"]
    parts = [
        f"{name} {r['largest_speed']:.2g} m/s, {r['velocity_sign_changes'] / half:.0f} sign changes/s"
        for name, r in {**found, **damped}.items()
    ]
    return Claim(
        text,
        f"speed left from {half:.3g} s on, after a stop: {'; '.join(parts)}",
        any(r["largest_speed"] > _CREEP and r["velocity_sign_changes"] > 0 for r in found.values()),
    )


# Figure

_CAPTION = (
    "Top left: position of the masses over time, averaged over 0.1 s, of the models that drift by more than 1 mm; top "
    "right: of the others; models C and D and the reset integrator yield elastically and come back to zero when the "
    "load is taken away. Second row: friction force at the end of the load, of models that chatter and of the others; "
    "the load is grey. Third row: what is left of the position after unloading, roughness of the force (RMS of its "
    "second differences over that of the load) and time per step of the compiled loop, measured on the machine that "
    "made this report. Bottom: largest speed within 20 ms of a mass that slides to rest against a constant pull; the "
    "shaded half is where it should be zero."
)
_PANELS = [["moving", "staying"], ["rough", "smooth"], ["residual", "roughness", "cost"], ["stop"]]
_TITLES = {
    "moving": "position, models that drift by more than 1 mm",
    "staying": "position, the others",
    "rough": "friction force, models that chatter",
    "smooth": "friction force, the others",
    "residual": "drift",
    "roughness": "chatter",
    "cost": "cost, measured on this machine",
    "stop": "a mass that slides to rest",
}
#: what is drawn where the logarithm has no place
_SMALLEST_DISPLACEMENT, _SMALLEST_SPEED = 1e-12, 1e-12
#: displacement [m] that parts the two plots of the position
_LARGE = 1e-3
#: averaging of the positions [s], three periods of the tremor; length of the force's detail [s]; of the envelope [s]
_AVERAGING, _DETAIL, _ENVELOPE = 0.1, 0.1, 0.02


def _figure(
    runs: dict[str, ScriptedRun],
    metrics: dict[str, Any],
    drifting: str | None,
    stopping: str | None,
    cost: dict[str, float],
) -> Figure:
    figure = Figure(figsize=(16, 20), layout="constrained")
    rows: Any = figure.subfigures(len(_PANELS), 1, height_ratios=(3, 3, 3.5, 3))
    axes: dict[str, Axes] = {}
    for row, names in zip(rows, _PANELS, strict=True):
        axes |= row.subplot_mosaic([names])
    if drifting:
        _draw_positions(axes, runs[drifting], metrics["runs"][drifting])
        _draw_forces(axes, runs[drifting], metrics["runs"][drifting])
        _draw_drift(axes, metrics["runs"][drifting])
    if stopping:
        _draw_stop(axes["stop"], runs[stopping], metrics["runs"][stopping])
    _draw_bars(axes["cost"], list(cost), list(cost.values()), "time per step (ns)")
    for name, panel in axes.items():
        panel.set_title(_TITLES[name])
        if not panel.has_data():
            panel.text(0.5, 0.5, "not reached in this run", ha="center", va="center", transform=panel.transAxes)
        elif name not in ("residual", "roughness", "cost"):
            panel.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
        if name in ("roughness", "cost") and axes["residual"].has_data():
            panel.tick_params(labelleft=False)
    return figure


def _style(column: int) -> dict[str, Any]:
    """Colour and line of a column, the same in all panels; later lines are thinner, so none hides another."""
    width = max(1.0, 3.5 - 0.25 * column)
    return {"color": f"C{column % 10}", "linestyle": ("-", "--", ":")[column // 10 % 3], "linewidth": width}


def _averaged(values: np.ndarray, window: int) -> np.ndarray:
    """Means of successive stretches of so many rows; what is left at the end is left out."""
    whole = len(values) // window
    return values[: whole * window].reshape(whole, window, values.shape[1]).mean(axis=1)


def _draw_positions(axes: dict[str, Axes], run: ScriptedRun, result: dict[str, Any]) -> None:
    window = min(max(1, round(_AVERAGING / run.period)), len(run.tick))
    x, times = _averaged(position(run), window), _averaged(run.time[:, None], window)
    for column, name in enumerate(result["models"]):
        panel, scale = (axes["moving"], 1e3) if abs(x[-1, column]) > _LARGE else (axes["staying"], 1e6)
        panel.plot(times, scale * x[:, column], label=name, **_style(column))
    axes["moving"].set(xlabel="time (s)", ylabel="position (mm)")
    axes["staying"].set(xlabel="time (s)", ylabel="position (µm)")


def _draw_forces(axes: dict[str, Axes], run: ScriptedRun, result: dict[str, Any]) -> None:
    end = round(result["load_duration"] / run.period)
    part = slice(max(0, end - round(_DETAIL / run.period)), end)
    for column, (name, model) in enumerate(result["models"].items()):
        panel = axes["rough"] if model["chatters"] else axes["smooth"]
        panel.plot(run.time[part], run.force[part, column], label=name, **_style(column))
    for panel in (axes["rough"], axes["smooth"]):
        if panel.has_data():
            panel.plot(run.time[part], run.input_force[part], "k", linewidth=6, alpha=0.25, zorder=0, label="load")
        panel.set(xlabel="time (s)", ylabel="friction force (N)")


def _draw_drift(axes: dict[str, Axes], result: dict[str, Any]) -> None:
    names, models = list(result["models"]), list(result["models"].values())
    if result["unloaded"]:
        left = [abs(model["residual_displacement"]) for model in models]
        _draw_bars(axes["residual"], names, left, "|position| after unloading (m)", _SMALLEST_DISPLACEMENT)
    ratios = [model["roughness_over_load"] for model in models]
    if None not in ratios:
        _draw_bars(axes["roughness"], names, ratios, "roughness of the force over that of the load", 0.1)


def _draw_bars(axes: Axes, names: list[str], values: list[float], label: str, smallest: float = 0.0) -> None:
    """Horizontal bars with their values; logarithmic from `smallest` on, or linear if that is zero."""
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


def _draw_stop(axes: Axes, run: ScriptedRun, result: dict[str, Any]) -> None:
    window = min(max(1, round(_ENVELOPE / run.period)), len(run.tick))
    whole = len(run.tick) // window
    speed = np.abs(run.velocity[: whole * window]).reshape(whole, window, -1).max(axis=1)
    for column, name in enumerate(result["models"]):
        axes.semilogy(
            run.time[: whole * window : window],
            np.maximum(speed[:, column], _SMALLEST_SPEED),
            label=name,
            **_style(column),
        )
    axes.axvspan(run.time[len(run.time) // 2], run.time[-1], color="0.9", zorder=0)
    axes.set(xlabel="time (s)", ylabel=f"|velocity| (m/s), or {_SMALLEST_SPEED:g}")
