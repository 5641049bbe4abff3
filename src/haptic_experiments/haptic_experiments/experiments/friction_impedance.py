"""Report of the impedance experiment: counterparts of Figs. 19 and 20 of Kikuuwe et al. and their claims."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
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
from haptic_experiments.kit.results import AFTER_DATA, OPTIONAL, Claims, Report
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
    """The signals of one bag on common ticks; the force is the friction force f, the tip feels -f.

    Attributes:
        displacement: Elastic displacement e of the model (n, 2) [m].
    """

    displacement: np.ndarray

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


@dataclass(frozen=True)
class Rest:
    """A rest without its beginning.

    The stuck element is a spring: the tip moves with the force without drifting. What may not move is
    the point where the element holds on to the ground, the true position less the elastic displacement
    (which follows the quantised position). The drift is the slope of a straight line through it times
    the length; a sine of the hand's or the tremor's frequency averages out over the rest.

    Attributes:
        start, length: Start and length [s].
        drift: Drift of the true position [m].
        travel: Diagonal of the box of the true positions [m].
        largest_force: Largest force [N].
        sticking_share: Fraction of the ticks that stick.
        chatter_force: RMS of the force above 50 Hz [N].
    """

    start: float
    length: float
    drift: float
    travel: float
    largest_force: float
    sticking_share: float
    chatter_force: float


@dataclass(frozen=True)
class Sliding:
    """How well the force opposes the velocity, in all samples in which the tip slides.

    Attributes:
        samples: Number of samples.
        median_angle, p95_angle: Angle between -f and -v [rad].
        median_lag: Angle that spring and encoder explain [rad].
        within_lag_share: Fraction of the samples with less than that.
        within_steady_lag_share: The same with the settled lag of the spring.
        opposing_share: Fraction of the samples with an angle below 90 degrees.
        mean_force: Mean force [N].
        sign_flips_per_second: Changes of sign of the force along the motion [1/s].
    """

    samples: int
    median_angle: float
    p95_angle: float
    median_lag: float
    within_lag_share: float
    within_steady_lag_share: float
    opposing_share: float
    mean_force: float
    sign_flips_per_second: float


@dataclass(frozen=True)
class Identified:
    """What `identify_bag` finds, beside the known answers; None where it finds nothing.

    Attributes:
        estimates: Estimates by name of the parameter.
        known: Known parameters by name, in the units of the estimates.
        not_identified: Reasons by name of the parameter.
        law: Name of the law.
        contained: Whether the known parameter lies in the interval, by name.
        residual_rms: RMS of the force that is left [N].
        samples: Number of samples.
    """

    estimates: Mapping[str, Estimate]
    known: dict[str, float]
    not_identified: dict[str, str]
    law: str | None = field(default=None, metadata=OPTIONAL)
    contained: dict[str, bool] | None = field(default=None, metadata=OPTIONAL)
    residual_rms: float | None = field(default=None, metadata=OPTIONAL)
    samples: int | None = field(default=None, metadata=OPTIONAL)

    @property
    def words(self) -> str:
        """Estimates and intervals in words."""
        found = [f"{_SYMBOLS.get(name, name)} = {estimate}" for name, estimate in self.estimates.items()]
        missing = [f"{_SYMBOLS.get(n, n)} not identified: {why}" for n, why in self.not_identified.items()]
        return ", ".join(found + missing)

    @property
    def outside(self) -> list[str]:
        """Names of the parameters whose intervals do not contain the known ones."""
        return [name for name, inside in (self.contained or {}).items() if not inside]

    @property
    def is_complete(self) -> bool:
        """All known parameters are identified, and no others."""
        return not self.not_identified and set(self.known) == set(self.estimates)


@dataclass(frozen=True)
class RunNumbers:
    """Numbers of one bag.

    Attributes:
        command_delay_ticks: Delay of the commands.
        mode: Mode of the loop.
        ticks: Number of ticks.
        sliding: While the tip slides; None if it does not.
        rests: The rests of the hand.
        identification: Identification from the "measured" and from the "true" velocity.
    """

    command_delay_ticks: int
    mode: str
    ticks: int
    sliding: Sliding | None
    rests: list[Rest]
    identification: dict[str, Identified]

    @property
    def delay(self) -> str:
        """Delay in words."""
        return delay_words(self.mode, self.command_delay_ticks)


@dataclass(frozen=True)
class Numbers:
    """Numbers of the report.

    Attributes:
        encoder_count_at_tip: Displacement of the tip for one count of the encoder [m].
        force_of_one_count: Force that one count makes [N].
        runs: Numbers by bag.
    """

    encoder_count_at_tip: float
    force_of_one_count: float
    runs: dict[str, RunNumbers]


def rest_drifts(run: Run) -> list[Rest]:
    """Measures each rest."""
    results = []
    for phase, part in run.settled_rests(_SETTLING, _SHORTEST_REST):
        time, force, position = run.time[part], run.force[part], run.position[part]
        rate = np.polyfit(time - time[0], position - run.displacement[part], 1)[0]
        length = float(time[-1] - time[0])
        results.append(
            Rest(
                start=float(phase["start"] + _SETTLING),
                length=length,
                drift=float(np.linalg.norm(rate)) * length,
                travel=travel(position),
                largest_force=float(np.linalg.norm(force, axis=1).max()),
                sticking_share=float(run.sticking[part].mean()),
                chatter_force=chatter_force(force, run.period),
            )
        )
    return results


def chatter_force(force: np.ndarray, period: float) -> float:
    """RMS [N] of what a force (n, 2) contains above 50 Hz."""
    spectrum = np.fft.rfft(force - force.mean(axis=0), axis=0)
    high = np.fft.rfftfreq(len(force), period) > _CHATTER_FREQUENCY
    return float(np.sqrt(2.0 * np.sum(np.abs(spectrum[high]) ** 2)) / len(force))


def opposition(run: Run, yield_distance: float, count: float, delay: float) -> Sliding | None:
    """Measures the angle between force and velocity; None if the tip does not slide.

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
        return None
    along = np.sum(run.force[sliding] * run.velocity[sliding], axis=1)
    angle = np.arccos(np.clip(along / (speed[sliding] * magnitude[sliding]), -1.0, 1.0))
    radius = radius_of_curvature(run.velocity, run.time)[sliding]
    encoder = delay * speed[sliding] / radius + np.sqrt(2.0) * count / yield_distance
    # where the true tip does not slide yet, the stretch may point anywhere
    lag = np.nan_to_num(path_lag(run.position, run.velocity, yield_distance)[sliding], nan=np.pi) + encoder
    flips = np.count_nonzero(np.diff(np.sign(along)) != 0.0)
    return Sliding(
        samples=int(sliding.sum()),
        median_angle=float(np.median(angle)),
        p95_angle=float(np.percentile(angle, 95)),
        median_lag=float(np.median(lag)),
        within_lag_share=float(np.mean(angle < lag)),
        within_steady_lag_share=float(np.mean(angle < steady_lag(radius, yield_distance) + encoder)),
        opposing_share=float(np.mean(angle < 0.5 * np.pi)),
        mean_force=float(magnitude[sliding].mean()),
        sign_flips_per_second=float(flips / (sliding.sum() * run.period)),
    )


def measurement_delay(bag: Bag) -> float:
    """Delay [s] of the measured behind the true velocity: T/2 of the difference, and the filter's (1 - a) T/a."""
    period, device = bag.parameters("friction")["period"], bag.started("device")["device"]
    return float(period * (0.5 + 1.0 / np.expm1(2.0 * np.pi * device["velocity_cutoff"] * period)))


def identification(bag: Bag, velocity: str) -> Identified:
    """Identifies the friction from a velocity.

    With the measured velocity, the input of the element, these are the node's parameters. With the true one, the
    encoder and the filter are a part of what is identified, and the known damping is B - K t, t their delay.
    """
    known = known_parameters(bag)
    if velocity == "true" and known:
        known["damping"] -= known["stiffness"] * measurement_delay(bag)
    try:
        found = identify_bag(bag, velocity=velocity)
    except HapticError as error:
        return Identified({}, known, {"all": str(error)})
    return Identified(
        estimates=found.estimates,
        known=known,
        not_identified=dict(found.not_identified),
        law=found.law,
        contained={name: e.contains(known[name]) for name, e in found.estimates.items() if name in known},
        residual_rms=found.residual_rms,
        samples=found.samples,
    )


def analyse(bags: dict[str, Bag]) -> Report:
    """Metrics, claims and figure of one or more bags of the experiment."""
    runs = {name: Run.from_bag(bag) for name, bag in bags.items()}
    first = next(iter(bags.values()))
    friction, device = first.parameters("friction"), first.started("device")
    count = device["device"]["encoder_resolution"] * device["device"]["length"]
    count_force = (friction["stiffness"] + friction["damping"] / friction["period"]) * count
    yield_distance, found = breakaway_force(friction) / friction["stiffness"], {}
    for name, run in runs.items():
        bag = bags[name]
        found[name] = RunNumbers(
            command_delay_ticks=bag.parameters("device")["command_delay_ticks"],
            mode=bag.parameters("device")["mode"],
            ticks=len(run.time),
            sliding=opposition(run, yield_distance, count, measurement_delay(bag)),
            rests=rest_drifts(run),
            identification={velocity: identification(bag, velocity) for velocity in ("measured", "true")},
        )
    numbers = Numbers(count, count_force, found)
    claims = _claims(numbers, friction)
    for result in found.values():
        _claim_measured(claims, result)
    for name, result in found.items():
        _claim_true(claims, result, bags[name])
    parameters = {"friction": friction, "device": first.parameters("device")}
    parameters |= {name: device[name] for name in ("device", "hand") if device.get(name)}
    return Report(numbers, claims, lambda: _figure(runs, found), _CAPTION, parameters)


def kinetic_force(friction: dict[str, Any]) -> float:
    """Force F [N] at which the friction node's contact slides; of elements in parallel all of theirs."""
    return float(friction["loading_force"][-1] if friction.get("model") == "parallel" else friction["friction_force"])


def breakaway_force(friction: dict[str, Any]) -> float:
    """Force [N] at which the friction node's contact begins to slide: F, of the Stribeck law Fs."""
    return float(friction["static_force"] if friction.get("law") == "stribeck" else kinetic_force(friction))


def _claims(numbers: Numbers, friction: dict[str, Any]) -> Claims:
    """The claims about model C and a law with F."""
    claims, runs, force = Claims(), list(numbers.runs.values()), kinetic_force(friction)
    slidings = [result.sliding for result in runs if result.sliding is not None]
    worst = min(slidings, key=lambda sliding: sliding.within_lag_share, default=None)
    claims.say(
        "While the tip slides, also in curves, the force opposes the velocity but for the lag of the spring (Fig. 19).",
        f"angle between -f and -v below the spring's lag on this path and the encoder's part (delay, one count) in "
        f"{100 * worst.within_lag_share:.1f} % of all {worst.samples} sliding samples (at least "
        f"{100 * _WITHIN_LAG:g} %), below the settled lag F/(K R) and that part in "
        f"{100 * worst.within_steady_lag_share:.1f} %, below 90° in {100 * worst.opposing_share:.1f} %; median "
        f"{np.degrees(worst.median_angle):.1f}°, 95 % below {np.degrees(worst.p95_angle):.1f}°; mean force "
        f"{worst.mean_force:.2f} N (F = {force:g} N)"
        if worst
        else "",
        worst is not None and worst.within_lag_share >= _WITHIN_LAG,
        unless="" if worst else "no sliding",
    )
    for result in runs:
        _claim_drift(claims, result, force, numbers.encoder_count_at_tip)
    for result in runs:
        _claim_chatter(claims, result, numbers.force_of_one_count)
    model, law = friction.get("model", "C"), friction.get("law", "coulomb")
    if model != "C":
        claims.set_aside(f"model {model}, not C")
    elif law in ("table", "function", "anisotropic"):
        claims.set_aside(f"law {law}, which has no F")
    return claims


def _claim_drift(claims: Claims, result: RunNumbers, force: float, count: float) -> None:
    text = f"Below F = {force:g} N the joystick stays where it is, without drift (Fig. 20, b); {result.delay}."
    rests = [rest for rest in result.rests if rest.largest_force < force]
    if not rests:
        claims.say(text, unless="no rest below F long enough")
        return
    worst = max(rests, key=lambda rest: rest.drift)
    claims.below(
        text,
        worst.drift,
        count,
        "m",
        about=f"largest drift of {len(rests)} rests with tremor, of the true position in {worst.length:.1f} s, "
        f"under forces up to {max(rest.largest_force for rest in rests):.2f} N, limited by one encoder count:",
    )


def _claim_chatter(claims: Claims, result: RunNumbers, count_force: float) -> None:
    chatter = max((rest.chatter_force for rest in result.rests), default=np.nan)
    flips = result.sliding.sign_flips_per_second if result.sliding else 0.0
    claims.say(
        f"The force does not chatter; {result.delay}.",
        f"RMS above {_CHATTER_FREQUENCY:g} Hz at rest {chatter:.3f} N (limit: {count_force:.3f} N, which one encoder "
        f"count makes); sign flips of the force along the motion while sliding: {flips:.2f} per second (limit 1)",
        chatter < count_force and flips < 1.0,
        unless="" if result.rests else "no rest long enough",
    )


def _claim_measured(claims: Claims, result: RunNumbers) -> None:
    found = result.identification["measured"]
    answers = ", ".join(f"{value:g}" for value in found.known.values())
    left = np.nan if found.residual_rms is None else found.residual_rms
    claims.say(
        "The force is that of model C (38) at the measured velocity: identification finds the node's parameters again; "
        f"{result.delay}.",
        f"identified from the bag: {found.words} (rendered: {answers}; {left:.1e} N RMS "
        "left, so the intervals are the solver's resolution)",
        not found.outside if found.is_complete else None,
        unless="" if found.estimates else found.words,
    )


def _claim_true(claims: Claims, result: RunNumbers, bag: Bag) -> None:
    text = (
        f"At the tip's true velocity encoder and filter only take K times their delay off the damping; {result.delay}."
    )
    found = result.identification["true"]
    words = f"identified from the true velocity: {found.words}"
    if not found.estimates or not found.is_complete:
        claims.say(text, words if found.estimates else found.words)
        return
    known = found.known
    bias = {name: _BIAS * value for name, value in known.items()}
    bias["viscosity"] = _BIAS * known.get("force", 0.0) / _TYPICAL_SPEED
    bias["damping"] = _DELAY_BIAS * bag.parameters("friction")["period"] * known["stiffness"]
    outside = [
        f"{_SYMBOLS.get(n, n)} by {found.estimates[n].value - known[n]:+.2g} {found.estimates[n].unit}"
        for n in found.outside
    ]
    claims.say(
        text,
        f"{words}; B less K times {1e3 * measurement_delay(bag):.2f} ms is {known['damping']:.2f} N s/m; the encoder "
        f"leaves {found.residual_rms:.3f} N RMS; outside the intervals: {', '.join(outside) or 'nothing'} (as a "
        f"bias {100 * _BIAS:g} % of the force and of K, and {_DELAY_BIAS:g} T of delay are allowed, {AFTER_DATA})",
        all(e.low - bias[n] <= known[n] <= e.high + bias[n] for n, e in found.estimates.items()),
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


def _figure(runs: dict[str, Run], numbers: dict[str, RunNumbers]) -> Figure:
    figure = Figure(figsize=(12, 11), layout="constrained")
    panels: list[Any] = [["path", "path"], ["time", "time"], ["drift", "spectrum"]]
    axes_of = figure.subplot_mosaic(panels, height_ratios=(3, 3, 2))
    path, time, drift, spectrum = (axes_of[name] for name in ("path", "time", "drift", "spectrum"))
    first = next(iter(runs.values()))
    _draw_path(path, first)
    _draw_time(time, first)
    for name, run in runs.items():
        if rests := numbers[name].rests:
            _draw_rest(drift, spectrum, run, rests[-1], numbers[name].delay)
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


def _draw_rest(drift: Axes, spectrum: Axes, run: Run, rest: Rest, label: str) -> None:
    part = run.part(rest.start, rest.start + rest.length)
    time, force, position = run.time[part], run.force[part], run.position[part]
    anchor = 1e6 * (position - run.displacement[part])
    anchor -= anchor.mean(axis=0)
    window = min(round(_SMOOTHING / run.period), len(anchor))
    anchor = np.column_stack([np.convolve(column, np.full(window, 1.0 / window), "same") for column in anchor.T])
    lines = drift.plot(time, anchor[:, 0], linewidth=0.8, label=f"x, {label}")
    drift.plot(time, anchor[:, 1], "--", linewidth=0.8, color=lines[0].get_color(), label=f"y, {label}")
    amplitude = 2.0 * np.abs(np.fft.rfft(force - force.mean(axis=0), axis=0)) / len(force)
    spectrum.loglog(np.fft.rfftfreq(len(force), run.period)[1:], np.linalg.norm(amplitude, axis=1)[1:], label=label)
