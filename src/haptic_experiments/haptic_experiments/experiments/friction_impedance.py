"""Report of the impedance experiment: counterparts of Figs. 19 and 20 of Kikuuwe et al. and their claims."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from haptic_bags.bags import Bag
from haptic_core.errors import HapticError
from haptic_experiments.identification import identify_bag, known_parameters
from haptic_experiments.kit.phases import PhasedRun
from haptic_experiments.report import Claim, Report
from haptic_friction.identification import Estimate

#: a rest counts from here on, when the hand has let go of its stiffness [s]
_SETTLING = 0.6
#: shortest remaining rest that a drift is computed from [s]
_SHORTEST_REST = 0.5
#: speed above which the tip is said to slide [m/s]
_SLIDING_SPEED = 0.02
#: force above this frequency is neither the hand's nor its tremor's [Hz]
_CHATTER_FREQUENCY = 50.0
#: largest angle between force and velocity that still counts as opposing [rad]
_OPPOSING_ANGLE = np.radians(20.0)
#: symbols under which parameters are named in the claims
_SYMBOLS = {"force": "F", "viscosity": "D", "stiffness": "K", "damping": "B"}
#: what the encoder may change of F, D and K beyond their intervals, as a share, and of the delay in periods: the force
#: saturates at F, so the noise of the counts only lowers it
_BIAS, _DELAY_BIAS = 0.01, 0.1
#: speed [m/s] at which that share of the force counts as a bias of D
_TYPICAL_SPEED = 0.1
#: what is read of device_state, simulation_state and friction/state
_COLUMNS = (
    ("period", "tool_pose"),
    ("tool_pose", "tool_twist"),
    ("force", "elastic_displacement", "sticking"),
)


@dataclass(frozen=True)
class Run(PhasedRun):
    """The signals of one bag on common ticks, along x and y."""

    period: float
    time: np.ndarray
    measured: np.ndarray  # measured tip position (n, 2) [m]
    position: np.ndarray  # true tip position (n, 2) [m]
    velocity: np.ndarray  # true tip velocity (n, 2) [m/s]
    force: np.ndarray  # friction force f (n, 2) [N]; the tip feels -f
    displacement: np.ndarray  # elastic displacement e of the model (n, 2) [m]
    sticking: np.ndarray  # (n,)
    phases: list[dict[str, Any]]

    @classmethod
    def from_bag(cls, bag: Bag) -> Run:
        """Takes the ticks that all topics have; in realtime the friction node may have missed some."""
        topics = [bag.topics[f"/joystick/{name}"] for name in ("device_state", "simulation_state", "friction/state")]
        ticks = reduce(np.intersect1d, [topic["tick"] for topic in topics])
        if len(ticks) < 2:
            raise HapticError(f"{bag.path}: too short for a report ({len(ticks)} ticks that all topics have)")
        device, truth, friction = (
            {name: topic[name][np.searchsorted(topic["tick"], ticks)] for name in names}
            for topic, names in zip(topics, _COLUMNS, strict=True)
        )
        period = float(device["period"][0])
        return cls(
            period=period,
            time=ticks * period,
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
    for phase in run.phases:
        start, end = phase["start"] + _SETTLING, min(phase["end"], run.time[-1])
        if phase["kind"] != "rest" or end - start < _SHORTEST_REST:
            continue
        part = run.part(start, end)
        time, force, position = run.time[part], run.force[part], run.position[part]
        rate = np.polyfit(time - time[0], position - run.displacement[part], 1)[0]
        length = float(time[-1] - time[0])
        results.append(
            {
                "start": float(start),
                "length": length,
                "drift": float(np.linalg.norm(rate)) * length,
                "travel": float(np.linalg.norm(np.ptp(position, axis=0))),
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


def travel_since_sticking(run: Run) -> np.ndarray:
    """Path length [m] since the element last stuck, (n,)."""
    path = np.concatenate(([0.0], np.cumsum(np.linalg.norm(np.diff(run.position, axis=0), axis=1))))
    return path - np.maximum.accumulate(np.where(run.sticking, path, 0.0))


def radius_of_curvature(run: Run) -> np.ndarray:
    """Radius [m] of the tip's true path, (n,); infinite on a straight line and at rest."""
    acceleration = np.gradient(run.velocity, run.time, axis=0)
    speed = np.linalg.norm(run.velocity, axis=1)
    turning = np.abs(run.velocity[:, 0] * acceleration[:, 1] - run.velocity[:, 1] * acceleration[:, 0])
    return np.divide(speed**3, turning, out=np.full_like(speed, np.inf), where=turning > 0.0)


def opposition(run: Run, yield_distance: float) -> dict[str, float]:
    """How well the force opposes the velocity while the tip slides: angle between f and the true velocity.

    The spring yields by F/K and turns with the path, so on a curve of radius R the force lags by about
    F/(K R), and after a stop it needs a way of F/K to turn at all. Counted is what is wide against that:
    after a way of 3 F/K since the element stuck, on curves with R above 10 F/K (there the lag is 6°).

    Args:
        run: the signals.
        yield_distance: F/K [m].
    """
    speed = np.linalg.norm(run.velocity, axis=1)
    magnitude = np.linalg.norm(run.force, axis=1)
    sliding = (
        (speed > _SLIDING_SPEED)
        & (magnitude > 0.0)
        & (travel_since_sticking(run) > 3.0 * yield_distance)
        & (radius_of_curvature(run) > 10.0 * yield_distance)
    )
    if not sliding.any():
        return {}
    along = np.sum(run.force[sliding] * run.velocity[sliding], axis=1)
    angle = np.arccos(np.clip(along / (speed[sliding] * magnitude[sliding]), -1.0, 1.0))
    flips = np.count_nonzero(np.diff(np.sign(along)) != 0.0)
    return {
        "samples": int(sliding.sum()),
        "median_angle": float(np.median(angle)),
        "p95_angle": float(np.percentile(angle, 95)),
        "opposing_share": float(np.mean(angle < _OPPOSING_ANGLE)),
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
            "sliding": opposition(run, breakaway_force(friction) / friction["stiffness"]),
            "rests": rest_drifts(run),
            "identification": {velocity: identification(bags[name], velocity) for velocity in ("measured", "true")},
        }
    claims = [_opposition_claim(metrics, kinetic_force(friction))]
    claims += [_drift_claim(result, kinetic_force(friction), count) for result in metrics["runs"].values()]
    claims += [_chatter_claim(result, count_force) for result in metrics["runs"].values()]
    claims = [_of_model_c(claim, friction) for claim in claims]
    claims += [_measured_claim(result) for result in metrics["runs"].values()]
    claims += [_true_claim(result, bags[name]) for name, result in metrics["runs"].items()]
    parameters = {"friction": friction, "device": first.parameters("device")}
    parameters |= {name: device[name] for name in ("device", "hand") if device.get(name)}
    return Report(metrics, claims, lambda: _figure(runs, metrics), _CAPTION, parameters)


def kinetic_force(friction: dict[str, Any]) -> float:
    """Force F [N] at which the friction node's contact slides; of elements in parallel all of theirs."""
    return float(friction["loading_force"][-1] if friction.get("model") == "parallel" else friction["friction_force"])


def breakaway_force(friction: dict[str, Any]) -> float:
    """Force [N] at which the friction node's contact begins to slide: F, of the Stribeck law Fs."""
    return float(friction["static_force"] if friction.get("law") == "stribeck" else kinetic_force(friction))


def _of_model_c(claim: Claim, friction: dict[str, Any]) -> Claim:
    """The claim, which is about model C and a law with F: the numbers of others are given, but not judged."""
    model, law = friction.get("model", "C"), friction.get("law", "coulomb")
    if model != "C":
        return Claim(claim.text, f"model {model}, not C: {claim.measured}", None)
    if law in ("table", "function", "anisotropic"):
        return Claim(claim.text, f"law {law}, which has no F: {claim.measured}", None)
    return claim


def _delay(result: dict[str, Any]) -> str:
    if result["mode"] == "realtime":
        return "realtime"
    ticks = result["command_delay_ticks"]
    return f"{ticks} tick{'' if ticks == 1 else 's'} of delay"


def _opposition_claim(metrics: dict[str, Any], force: float) -> Claim:
    text = "While the tip slides, also in curves, the force opposes the velocity (Fig. 19; curves wide against F/K)."
    results = [result["sliding"] for result in metrics["runs"].values() if result["sliding"]]
    if not results:
        return Claim(text, "no sliding", None)
    worst = max(results, key=lambda result: result["p95_angle"])
    return Claim(
        text,
        f"angle between -f and -v: median {np.degrees(worst['median_angle']):.1f}°, 95 % below "
        f"{np.degrees(worst['p95_angle']):.1f}°; mean force {worst['mean_force']:.2f} N (F = {force:g} N)",
        bool(worst["p95_angle"] < _OPPOSING_ANGLE),
    )


def _drift_claim(result: dict[str, Any], force: float, count: float) -> Claim:
    text = f"Below F = {force:g} N the joystick stays where it is, without drift (Fig. 20, b); {_delay(result)}."
    rests = [rest for rest in result["rests"] if rest["largest_force"] < force]
    if not rests:
        return Claim(text, "no rest below F long enough", None)
    worst = max(rests, key=lambda rest: rest["drift"])
    return Claim(
        text,
        f"drift at most {worst['drift']:.2e} m in {worst['length']:.1f} s with tremor (true position, "
        f"{len(rests)} rests, force up to {max(rest['largest_force'] for rest in rests):.2f} N; one encoder "
        f"count is {count:.1e} m)",
        bool(worst["drift"] < count),
    )


def _chatter_claim(result: dict[str, Any], count_force: float) -> Claim:
    text = f"The force does not chatter; {_delay(result)}."
    if not result["rests"]:
        return Claim(text, "no rest long enough", None)
    chatter = max(rest["chatter_force"] for rest in result["rests"])
    flips = result["sliding"].get("sign_flips_per_second", 0.0)
    return Claim(
        text,
        f"RMS above {_CHATTER_FREQUENCY:g} Hz at rest {chatter:.3f} N (one encoder count makes {count_force:.3f} N); "
        f"sign flips of the force along the motion while sliding: {flips:.2f} per second",
        bool(chatter < count_force and flips < 1.0),
    )


def _found(result: dict[str, Any]) -> str:
    """Estimates and intervals in words."""
    estimates = {name: Estimate(**values) for name, values in result["estimates"].items()}
    found = [f"{_SYMBOLS.get(name, name)} = {estimate}" for name, estimate in estimates.items()]
    return ", ".join(
        found + [f"{_SYMBOLS.get(n, n)} not identified: {why}" for n, why in result["not_identified"].items()]
    )


def _measured_claim(result: dict[str, Any]) -> Claim:
    text = (
        "The force is that of model C (38) at the measured velocity: identification finds the node's parameters again; "
        f"{_delay(result)}."
    )
    found = result["identification"]["measured"]
    if not found["estimates"]:
        return Claim(text, _found(found), None)
    answers = ", ".join(f"{value:g}" for value in found["known"].values())
    complete = not found["not_identified"] and set(found["known"]) == set(found["estimates"])
    return Claim(
        text,
        f"identified from the bag: {_found(found)} (rendered: {answers}; {found['residual_rms']:.1e} N RMS left, so "
        "the intervals are the solver's resolution)",
        all(found["contained"].values()) if complete else None,
    )


def _true_claim(result: dict[str, Any], bag: Bag) -> Claim:
    text = (
        "At the tip's true velocity encoder and filter only take K times their delay off the damping; "
        f"{_delay(result)}."
    )
    found = result["identification"]["true"]
    if not found["estimates"]:
        return Claim(text, _found(found), None)
    known, delay = found["known"], measurement_delay(bag)
    if found["not_identified"] or set(known) != set(found["estimates"]):
        return Claim(text, f"identified from the true velocity: {_found(found)}", None)
    bias = {name: _BIAS * value for name, value in known.items()}
    bias["viscosity"] = _BIAS * known.get("force", 0.0) / _TYPICAL_SPEED
    bias["damping"] = _DELAY_BIAS * bag.parameters("friction")["period"] * known["stiffness"]
    near = [e["low"] - bias[n] <= known[n] <= e["high"] + bias[n] for n, e in found["estimates"].items()]
    outside = [
        f"{_SYMBOLS.get(name, name)} by {estimate['value'] - known[name]:+.2g} {estimate['unit']}"
        for name, estimate in found["estimates"].items()
        if not found["contained"][name]
    ]
    return Claim(
        text,
        f"identified from the true velocity: {_found(found)}; B less K times {1e3 * delay:.2f} ms is "
        f"{known['damping']:.2f} N s/m; the encoder leaves "
        f"{found['residual_rms']:.3f} N RMS; outside the intervals: {', '.join(outside) or 'nothing'} (as a bias "
        f"{100 * _BIAS:g} % of the force and of K, and {_DELAY_BIAS:g} T of delay are allowed)",
        all(near),
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
        if axes.get_legend_handles_labels()[0]:
            axes.legend()
        else:
            axes.text(0.5, 0.5, "no rest reached in this run", ha="center", transform=axes.transAxes)
    return figure


def _draw_path(axes: Axes, run: Run) -> None:
    axes.plot(*(1e3 * run.measured.T), color="0.7", linewidth=3, solid_capstyle="round")
    every = max(1, round(0.01 / run.period))
    start, force = run.measured[::every], -run.force[::every]
    ends = start + _FORCE_SCALE * force
    segments_x, segments_y = (
        np.column_stack((1e3 * start[:, i], 1e3 * ends[:, i], np.full(len(start), np.nan))).ravel() for i in range(2)
    )
    axes.plot(segments_x, segments_y, color="black", linewidth=0.5)
    for phase in run.phases:
        if phase["kind"] == "rest" and phase["start"] < run.time[-1]:
            point = 1e3 * run.measured[run.part(phase["start"], run.time[-1]).start]
            axes.annotate(phase["name"], point, xytext=(4, 4), textcoords="offset points", color="tab:red")
    axes.set(xlabel="x (mm)", ylabel="y (mm)", title="path and force (Fig. 19)", aspect="equal")


def _draw_time(axes: Axes, run: Run) -> None:
    axes.plot(run.time, 1e3 * run.measured[:, 0], "k-", label="x")
    axes.plot(run.time, 1e3 * run.measured[:, 1], "k--", label="y")
    axes.set(xlabel="time (s)", ylabel="position (mm)", title="position and force (Fig. 20)")
    force = axes.twinx()
    force.plot(run.time, np.linalg.norm(run.force, axis=1), color="0.6", linewidth=0.8, label="||f||")
    force.set_ylabel("||f|| (N)")
    force.set_ylim(0.0, 12.0)
    axes.set_zorder(force.get_zorder() + 1)
    axes.patch.set_visible(False)
    for phase in run.phases:
        if phase["kind"] == "rest" and phase["start"] < run.time[-1]:
            axes.axvspan(phase["start"], min(phase["end"], run.time[-1]), color="tab:red", alpha=0.08)
    handles = [*axes.get_lines(), *force.get_lines()]
    axes.legend(handles, [str(line.get_label()) for line in handles], loc="upper right")


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
