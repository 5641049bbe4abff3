"""Report of the impedance experiment: counterparts of Figs. 19 and 20 of Kikuuwe et al. and their claims."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from haptic_bags.bags import Bag
from haptic_core.errors import HapticError
from haptic_experiments.identification import identify_bag, known_parameters
from haptic_experiments.kit.figures import legend_or_note
from haptic_experiments.kit.planar import (
    PlanarRun,
    delay_words,
    draw_path,
    draw_position_and_force,
    joint_legend,
    radius_of_curvature,
    travel,
)
from haptic_experiments.kit.results import AFTER_DATA, Claims, Report
from haptic_friction.identification import Estimate
from haptic_friction.reference.lag import path_lag, steady_lag

#: a rest counts from here on, when the hand has let go of its stiffness [s]
_SETTLING = 0.6
#: shortest remaining rest that a drift is computed from [s]
_SHORTEST_REST = 0.5
#: speed above which the tip is said to slide [m/s]
_SLIDING_SPEED = 0.02
#: force above this frequency is neither the hand's nor its tremor's [Hz]
_CHATTER_FREQUENCY = 50.0
#: share of the sliding samples in which the force may lag no more than the spring and the encoder explain; chosen
#: before the data
_WITHIN_LAG = 0.95
#: symbols under which parameters are named in the claims
_SYMBOLS = {"force": "F", "viscosity": "D", "stiffness": "K", "damping": "B"}
#: what the encoder may change of F, D and K beyond their intervals, as a share, and of the delay in periods: the force
#: saturates at F, so the noise of the counts only lowers it
_BIAS, _DELAY_BIAS = 0.01, 0.1
#: speed [m/s] at which that share of the force counts as a bias of D
_TYPICAL_SPEED = 0.1


@dataclass(frozen=True)
class Run(PlanarRun):
    """The signals of one bag on common ticks, along x and y.

    Attributes:
        period: T [s].
        time: Times of the ticks (n,) [s].
        measured: Measured tip position (n, 2) [m].
        position: True tip position (n, 2) [m].
        velocity: True tip velocity (n, 2) [m/s].
        force: Friction force f (n, 2) [N]; the tip feels -f.
        displacement: Elastic displacement e of the model (n, 2) [m].
        sticking: Flags (n,).
        phases: Phases of the hand's plan.
    """

    period: float
    time: np.ndarray
    measured: np.ndarray
    position: np.ndarray
    velocity: np.ndarray
    force: np.ndarray
    displacement: np.ndarray
    sticking: np.ndarray
    phases: list[dict[str, Any]]

    @classmethod
    def from_bag(cls, bag: Bag) -> Run:
        """Takes the ticks that all topics have; in realtime the friction node may have missed some."""
        ticks = bag.ticks("/joystick", "device_state", "simulation_state", "friction/state")
        device, truth, friction = ticks.values()
        return cls(
            period=ticks.period,
            time=ticks.time,
            measured=device["tool_pose"][:, 0:2],
            position=truth["tool_pose"][:, 0:2],
            velocity=truth["tool_twist"][:, 0:2],
            force=friction["force"],
            # elements in parallel have one each; the last one begins to slip last
            displacement=friction["elastic_displacement"][:, -2:],
            sticking=friction["sticking"][:, 0].astype(bool),
            phases=bag.started("device").get("phases", []),
        )


def rest_drifts(run: Run) -> list[dict[str, float]]:
    """Drift of each rest, from the true position.

    The stuck element is a spring: the tip moves with the force without drifting. What may not move is
    the point where the element holds on to the ground, the true position less the elastic displacement
    (which follows the quantised position). The drift is the slope of a straight line through it times
    the length; a sine of the hand's or the tremor's frequency averages out over the rest.
    """
    results = []
    for phase, part in run.settled_rests(_SETTLING, _SHORTEST_REST):
        time, force, position = run.time[part], run.force[part], run.position[part]
        rate = np.polyfit(time - time[0], position - run.displacement[part], 1)[0]
        length = float(time[-1] - time[0])
        results.append(
            {
                "start": float(phase["start"] + _SETTLING),
                "length": length,
                "drift": float(np.linalg.norm(rate)) * length,
                "travel": travel(position),
                "largest_force": float(np.linalg.norm(force, axis=1).max()),
                "sticking_share": float(run.sticking[part].mean()),
                "chatter_force": chatter_force(force, run.period),
            }
        )
    return results


def chatter_force(force: np.ndarray, period: float) -> float:
    """RMS [N] of what a force (n, 2) contains above 50 Hz."""
    spectrum = np.fft.rfft(force - force.mean(axis=0), axis=0)
    high = np.fft.rfftfreq(len(force), period) > _CHATTER_FREQUENCY
    return float(np.sqrt(2.0 * np.sum(np.abs(spectrum[high]) ** 2)) / len(force))


def opposition(run: Run, yield_distance: float, count: float, delay: float) -> dict[str, float]:
    """How well the force opposes the velocity, in all samples in which the tip slides.

    The spring yields by F/K and turns with the path: on a curve of radius R the force lags the velocity by F/(K R),
    once it has settled over a way of some F/K. What the encoder adds is the angle by which the path turns during the
    measurement's delay, and one count along both axes of a stretch of F/K.

    Args:
        run: Signals.
        yield_distance: F/K [m].
        count: Way of the tip for one count of the encoder [m].
        delay: Delay of the measured velocity [s].
    """
    speed = np.linalg.norm(run.velocity, axis=1)
    magnitude = np.linalg.norm(run.force, axis=1)
    sliding = (speed > _SLIDING_SPEED) & (magnitude > 0.0) & ~run.sticking
    if not sliding.any():
        return {}
    along = np.sum(run.force[sliding] * run.velocity[sliding], axis=1)
    angle = np.arccos(np.clip(along / (speed[sliding] * magnitude[sliding]), -1.0, 1.0))
    radius = radius_of_curvature(run.velocity, run.time)[sliding]
    encoder = delay * speed[sliding] / radius + np.sqrt(2.0) * count / yield_distance
    # where the true tip does not slide yet, the stretch may point anywhere
    lag = np.nan_to_num(path_lag(run.position, run.velocity, yield_distance)[sliding], nan=np.pi) + encoder
    flips = np.count_nonzero(np.diff(np.sign(along)) != 0.0)
    return {
        "samples": int(sliding.sum()),
        "median_angle": float(np.median(angle)),
        "p95_angle": float(np.percentile(angle, 95)),
        "median_lag": float(np.median(lag)),
        "within_lag_share": float(np.mean(angle < lag)),
        "within_steady_lag_share": float(np.mean(angle < steady_lag(radius, yield_distance) + encoder)),
        "opposing_share": float(np.mean(angle < 0.5 * np.pi)),
        "mean_force": float(magnitude[sliding].mean()),
        "sign_flips_per_second": float(flips / (sliding.sum() * run.period)),
    }


def measurement_delay(bag: Bag) -> float:
    """Delay [s] of the measured behind the true velocity: T/2 of the difference, and the filter's (1 - a) T/a."""
    period, device = bag.parameters("friction")["period"], bag.started("device")["device"]
    return float(period * (0.5 + 1.0 / np.expm1(2.0 * np.pi * device["velocity_cutoff"] * period)))


def identification(bag: Bag, velocity: str) -> dict[str, Any]:
    """What `identify_bag` finds, beside the known answers.

    With the measured velocity, the input of the element, these are the node's parameters. With the true one, the
    encoder and the filter are a part of what is identified, and the known damping is B - K t, t their delay.
    """
    known = known_parameters(bag)
    if velocity == "true" and known:
        known["damping"] -= known["stiffness"] * measurement_delay(bag)
    try:
        found = identify_bag(bag, velocity=velocity)
    except HapticError as error:
        return {"estimates": {}, "known": known, "not_identified": {"all": str(error)}}
    return {
        "law": found.law,
        "estimates": {name: vars(estimate) for name, estimate in found.estimates.items()},
        "known": known,
        "contained": {name: e.contains(known[name]) for name, e in found.estimates.items() if name in known},
        "not_identified": dict(found.not_identified),
        "residual_rms": found.residual_rms,
        "samples": found.samples,
    }


def analyse(bags: dict[str, Bag]) -> Report:
    """Metrics, claims and figure of one or more bags of the experiment."""
    runs = {name: Run.from_bag(bag) for name, bag in bags.items()}
    first = next(iter(bags.values()))
    friction, device = first.parameters("friction"), first.started("device")
    count = device["device"]["encoder_resolution"] * device["device"]["length"]
    count_force = (friction["stiffness"] + friction["damping"] / friction["period"]) * count
    metrics: dict[str, Any] = {"encoder_count_at_tip": count, "force_of_one_count": count_force, "runs": {}}
    for name, run in runs.items():
        metrics["runs"][name] = {
            "command_delay_ticks": bags[name].parameters("device")["command_delay_ticks"],
            "mode": bags[name].parameters("device")["mode"],
            "ticks": len(run.time),
            "sliding": opposition(
                run, breakaway_force(friction) / friction["stiffness"], count, measurement_delay(bags[name])
            ),
            "rests": rest_drifts(run),
            "identification": {velocity: identification(bags[name], velocity) for velocity in ("measured", "true")},
        }
    claims = _claims(metrics, friction)
    for result in metrics["runs"].values():
        _claim_measured(claims, result)
    for name, result in metrics["runs"].items():
        _claim_true(claims, result, bags[name])
    parameters = {"friction": friction, "device": first.parameters("device")}
    parameters |= {name: device[name] for name in ("device", "hand") if device.get(name)}
    return Report(metrics, claims, lambda: _figure(runs, metrics), _CAPTION, parameters)


def kinetic_force(friction: dict[str, Any]) -> float:
    """Force F [N] at which the friction node's contact slides; of elements in parallel all of theirs."""
    return float(friction["loading_force"][-1] if friction.get("model") == "parallel" else friction["friction_force"])


def breakaway_force(friction: dict[str, Any]) -> float:
    """Force [N] at which the friction node's contact begins to slide: F, of the Stribeck law Fs."""
    return float(friction["static_force"] if friction.get("law") == "stribeck" else kinetic_force(friction))


def _claims(metrics: dict[str, Any], friction: dict[str, Any]) -> Claims:
    """The claims about model C and a law with F."""
    claims, runs, force = Claims(), list(metrics["runs"].values()), kinetic_force(friction)
    slidings = [result["sliding"] for result in runs if result["sliding"]]
    worst: dict[str, Any] = min(slidings, key=lambda sliding: sliding["within_lag_share"], default={})
    claims.say(
        "While the tip slides, also in curves, the force opposes the velocity but for the lag of the spring (Fig. 19).",
        f"angle between -f and -v below the spring's lag on this path and the encoder's part (delay, one count) in "
        f"{100 * worst['within_lag_share']:.1f} % of all {worst['samples']} sliding samples (at least "
        f"{100 * _WITHIN_LAG:g} %), below the settled lag F/(K R) and that part in "
        f"{100 * worst['within_steady_lag_share']:.1f} %, below 90° in {100 * worst['opposing_share']:.1f} %; median "
        f"{np.degrees(worst['median_angle']):.1f}°, 95 % below {np.degrees(worst['p95_angle']):.1f}°; mean force "
        f"{worst['mean_force']:.2f} N (F = {force:g} N)"
        if worst
        else "",
        bool(worst) and worst["within_lag_share"] >= _WITHIN_LAG,
        unless="" if worst else "no sliding",
    )
    for result in runs:
        _claim_drift(claims, result, force, metrics["encoder_count_at_tip"])
    for result in runs:
        _claim_chatter(claims, result, metrics["force_of_one_count"])
    model, law = friction.get("model", "C"), friction.get("law", "coulomb")
    if model != "C":
        claims.set_aside(f"model {model}, not C")
    elif law in ("table", "function", "anisotropic"):
        claims.set_aside(f"law {law}, which has no F")
    return claims


def _delay(result: dict[str, Any]) -> str:
    return delay_words(result["mode"], result["command_delay_ticks"])


def _claim_drift(claims: Claims, result: dict[str, Any], force: float, count: float) -> None:
    text = f"Below F = {force:g} N the joystick stays where it is, without drift (Fig. 20, b); {_delay(result)}."
    rests = [rest for rest in result["rests"] if rest["largest_force"] < force]
    if not rests:
        claims.say(text, unless="no rest below F long enough")
        return
    worst = max(rests, key=lambda rest: rest["drift"])
    claims.below(
        text,
        worst["drift"],
        count,
        "m",
        about=f"largest drift of {len(rests)} rests with tremor, of the true position in {worst['length']:.1f} s, "
        f"under forces up to {max(rest['largest_force'] for rest in rests):.2f} N, limited by one encoder count:",
    )


def _claim_chatter(claims: Claims, result: dict[str, Any], count_force: float) -> None:
    chatter = max((rest["chatter_force"] for rest in result["rests"]), default=np.nan)
    flips = result["sliding"].get("sign_flips_per_second", 0.0)
    claims.say(
        f"The force does not chatter; {_delay(result)}.",
        f"RMS above {_CHATTER_FREQUENCY:g} Hz at rest {chatter:.3f} N (limit: {count_force:.3f} N, which one encoder "
        f"count makes); sign flips of the force along the motion while sliding: {flips:.2f} per second (limit 1)",
        chatter < count_force and flips < 1.0,
        unless="" if result["rests"] else "no rest long enough",
    )


def _found(result: dict[str, Any]) -> str:
    """Estimates and intervals in words."""
    estimates = {name: Estimate(**values) for name, values in result["estimates"].items()}
    found = [f"{_SYMBOLS.get(name, name)} = {estimate}" for name, estimate in estimates.items()]
    return ", ".join(
        found + [f"{_SYMBOLS.get(n, n)} not identified: {why}" for n, why in result["not_identified"].items()]
    )


def _is_complete(found: dict[str, Any]) -> bool:
    return not found["not_identified"] and set(found["known"]) == set(found["estimates"])


def _claim_measured(claims: Claims, result: dict[str, Any]) -> None:
    found = result["identification"]["measured"]
    answers = ", ".join(f"{value:g}" for value in found["known"].values())
    claims.say(
        "The force is that of model C (38) at the measured velocity: identification finds the node's parameters again; "
        f"{_delay(result)}.",
        f"identified from the bag: {_found(found)} (rendered: {answers}; {found.get('residual_rms', np.nan):.1e} N RMS "
        "left, so the intervals are the solver's resolution)",
        all(found["contained"].values()) if _is_complete(found) else None,
        unless="" if found["estimates"] else _found(found),
    )


def _claim_true(claims: Claims, result: dict[str, Any], bag: Bag) -> None:
    text = (
        "At the tip's true velocity encoder and filter only take K times their delay off the damping; "
        f"{_delay(result)}."
    )
    found = result["identification"]["true"]
    words = f"identified from the true velocity: {_found(found)}"
    if not found["estimates"] or not _is_complete(found):
        claims.say(text, words if found["estimates"] else _found(found))
        return
    known = found["known"]
    bias = {name: _BIAS * value for name, value in known.items()}
    bias["viscosity"] = _BIAS * known.get("force", 0.0) / _TYPICAL_SPEED
    bias["damping"] = _DELAY_BIAS * bag.parameters("friction")["period"] * known["stiffness"]
    outside = [
        f"{_SYMBOLS.get(name, name)} by {estimate['value'] - known[name]:+.2g} {estimate['unit']}"
        for name, estimate in found["estimates"].items()
        if not found["contained"][name]
    ]
    claims.say(
        text,
        f"{words}; B less K times {1e3 * measurement_delay(bag):.2f} ms is {known['damping']:.2f} N s/m; the encoder "
        f"leaves {found['residual_rms']:.3f} N RMS; outside the intervals: {', '.join(outside) or 'nothing'} (as a "
        f"bias {100 * _BIAS:g} % of the force and of K, and {_DELAY_BIAS:g} T of delay are allowed, {AFTER_DATA})",
        all(e["low"] - bias[n] <= known[n] <= e["high"] + bias[n] for n, e in found["estimates"].items()),
    )


_CAPTION = (
    "Top: measured path (grey) and the friction force on the tip every 0.01 s (thin lines; 1 N is drawn "
    "1 mm long), as in Fig. 19. Middle: position and magnitude of the force over time, as in Fig. 20; rests are "
    "shaded. Bottom left: where the stuck element holds on in the last rest (true position less elastic "
    "displacement, less the mean), averaged over 0.05 s. Bottom right: amplitude spectrum of the force in "
    "that rest."
)

#: moving average of the drift plot; single encoder counts otherwise hide it [s]
_SMOOTHING = 0.05

#: drawn length of one newton in the path plot [m/N]
_FORCE_SCALE = 1e-3


def _figure(runs: dict[str, Run], metrics: dict[str, Any]) -> Figure:
    figure = Figure(figsize=(12, 11), layout="constrained")
    panels: list[Any] = [["path", "path"], ["time", "time"], ["drift", "spectrum"]]
    axes_of = figure.subplot_mosaic(panels, height_ratios=(3, 3, 2))
    path, time, drift, spectrum = (axes_of[name] for name in ("path", "time", "drift", "spectrum"))
    first = next(iter(runs.values()))
    _draw_path(path, first)
    _draw_time(time, first)
    for name, run in runs.items():
        rests = metrics["runs"][name]["rests"]
        if rests:
            _draw_rest(drift, spectrum, run, rests[-1], _delay(metrics["runs"][name]))
    drift.set(xlabel="time (s)", ylabel="position - e, less its mean (µm)", title="drift in the last rest")
    spectrum.set(xlabel="frequency (Hz)", ylabel="force amplitude (N)", title="force in the last rest")
    for axes in (drift, spectrum):
        legend_or_note(axes, "no rest reached in this run")
    return figure


def _draw_path(axes: Axes, run: Run) -> None:
    draw_path(axes, run, -run.force, every=0.01, scale=_FORCE_SCALE, widths=(3, 0.5))
    axes.set_title("path and force (Fig. 19)")
    for phase in run.reached():
        if phase["kind"] == "rest":
            point = 1e3 * run.measured[run.part(phase["start"], run.time[-1]).start]
            axes.annotate(phase["name"], point, xytext=(4, 4), textcoords="offset points", color="tab:red")


def _draw_time(axes: Axes, run: Run) -> None:
    force = draw_position_and_force(axes, run, "f", 0.8)
    axes.set_title("position and force (Fig. 20)")
    force.set_ylim(0.0, 12.0)
    joint_legend(axes, force, loc="upper right")


def _draw_rest(drift: Axes, spectrum: Axes, run: Run, rest: dict[str, float], label: str) -> None:
    part = run.part(rest["start"], rest["start"] + rest["length"])
    time, force, position = run.time[part], run.force[part], run.position[part]
    anchor = 1e6 * (position - run.displacement[part])
    anchor -= anchor.mean(axis=0)
    window = min(round(_SMOOTHING / run.period), len(anchor))
    anchor = np.column_stack([np.convolve(column, np.full(window, 1.0 / window), "same") for column in anchor.T])
    lines = drift.plot(time, anchor[:, 0], linewidth=0.8, label=f"x, {label}")
    drift.plot(time, anchor[:, 1], "--", linewidth=0.8, color=lines[0].get_color(), label=f"y, {label}")
    amplitude = 2.0 * np.abs(np.fft.rfft(force - force.mean(axis=0), axis=0)) / len(force)
    spectrum.loglog(np.fft.rfftfreq(len(force), run.period)[1:], np.linalg.norm(amplitude, axis=1)[1:], label=label)
