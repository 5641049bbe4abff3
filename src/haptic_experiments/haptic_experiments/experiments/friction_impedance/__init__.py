"""Report of the impedance experiment: counterparts of Figs. 19 and 20 of Kikuuwe et al. and their claims."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from haptic_bags.bags import Bag
from haptic_experiments.experiments.friction_impedance import joystick
from haptic_experiments.experiments.friction_impedance.joystick import Identified, Rest, Run
from haptic_experiments.kit import planar
from haptic_experiments.kit.figures import Curve, Panel, make_room, panels
from haptic_experiments.kit.results import AFTER_DATA, Claims, Report
from haptic_friction.factory import breakaway_force, kinetic_force
from haptic_friction.reference.opposition import Sliding

#: fraction of the sliding samples in which the force may lag no more than the spring and the encoder explain; chosen
#: before the data
_WITHIN_LAG = 0.95
#: bias by the encoder beyond the intervals, as a fraction of F, D and K, and of the delay in periods: the force
#: saturates at F, so the noise of the counts only lowers it
_BIAS, _DELAY_BIAS = 0.01, 0.1
_TYPICAL_SPEED = 0.1  #: speed [m/s] at which that fraction of the force counts as a bias of D


@dataclass(frozen=True)
class RunNumbers:
    """Numbers of one bag."""

    command_delay_ticks: int  #: delay of the commands
    mode: str  #: mode of the loop
    ticks: int  #: number of ticks
    sliding: Sliding | None  #: while the tip slides; None if it does not
    rests: list[Rest]  #: the rests of the hand
    identification: dict[str, Identified]  #: identification from the "measured" and from the "true" velocity

    @property
    def delay(self) -> str:
        """Delay in words."""
        return planar.delay_words(self.mode, self.command_delay_ticks)


def analyse(bags: dict[str, Bag]) -> Report:
    """Computes metrics, claims and figure of one or more bags of the experiment."""
    runs = {name: Run.from_bag(bag) for name, bag in bags.items()}
    first = next(iter(bags.values()))
    friction, device = first.parameters("friction"), first.started("device")["device"]
    # displacement of the tip by one count of the encoder [m], and the force that it makes [N]
    count = device["encoder_resolution"] * device["length"]
    count_force = (friction["stiffness"] + friction["damping"] / friction["period"]) * count
    yield_distance, found = breakaway_force(friction) / friction["stiffness"], {}
    for name, run in runs.items():
        bag = bags[name]
        found[name] = RunNumbers(
            command_delay_ticks=bag.parameters("device")["command_delay_ticks"],
            mode=bag.parameters("device")["mode"],
            ticks=len(run.time),
            sliding=joystick.opposition(run, yield_distance, count, joystick.measurement_delay(bag)),
            rests=joystick.rest_drifts(run),
            identification={velocity: joystick.identification(bag, velocity) for velocity in ("measured", "true")},
        )
    numbers = {"encoder_count_at_tip": count, "force_of_one_count": count_force, "runs": found}
    claims = _claims(list(found.values()), friction, count, count_force)
    for result in found.values():
        _claim_measured(claims, result)
    for name, result in found.items():
        _claim_true(claims, result, bags[name])
    return Report(numbers, claims, lambda: _figure(runs, found), _CAPTION, planar.reported_parameters(first))


def _claims(runs: list[RunNumbers], friction: dict[str, Any], count: float, count_force: float) -> Claims:
    """Makes the claims about model C and a law with F."""
    claims, force = Claims(), kinetic_force(friction)
    slidings = [result.sliding for result in runs if result.sliding is not None]
    text = (
        "While the tip slides, also in curves, the force opposes the velocity but for the lag of the spring (Fig. 19)."
    )
    least = min(slidings, key=lambda sliding: sliding.within_lag_share, default=None)
    if worst := claims.reached(text, least, unless="no sliding"):
        claims.say(
            text,
            "angle between -f and -v below the spring's lag on this path and the encoder's part (delay, one count) in "
            f"{100 * worst.within_lag_share:.1f} % of all {worst.samples} sliding samples (at least "
            f"{100 * _WITHIN_LAG:g} %), below the settled lag F/(K R) and that part in "
            f"{100 * worst.within_steady_lag_share:.1f} %, below 90° in {100 * worst.opposing_share:.1f} %; median "
            f"{np.degrees(worst.median_angle):.1f}°, 95 % below {np.degrees(worst.p95_angle):.1f}°; mean force "
            f"{worst.mean_force:.2f} N (F = {force:g} N)",
            worst.within_lag_share >= _WITHIN_LAG,
        )
    for result in runs:
        _claim_drift(claims, result, force, count)
    for result in runs:
        _claim_chatter(claims, result, count_force)
    model, law = friction.get("model", "C"), friction.get("law", "coulomb")
    if model != "C":
        claims.set_aside(f"model {model}, not C")
    elif law in ("table", "function", "anisotropic"):
        claims.set_aside(f"law {law}, which has no F")
    return claims


def _claim_drift(claims: Claims, result: RunNumbers, force: float, count: float) -> None:
    text = f"Below F = {force:g} N the joystick stays where it is, without drift (Fig. 20, b); {result.delay}."
    rests = [rest for rest in result.rests if rest.largest_force < force]
    farthest = max(rests, key=lambda rest: rest.drift, default=None)
    if worst := claims.reached(text, farthest, unless="no rest below F long enough"):
        about = (
            f"largest drift of {len(rests)} rests with tremor, of the true position in {worst.length:.1f} s, "
            f"under forces up to {max(rest.largest_force for rest in rests):.2f} N, limited by one encoder count:"
        )
        claims.below(text, worst.drift, count, "m", about=about)


def _claim_chatter(claims: Claims, result: RunNumbers, count_force: float) -> None:
    chatter = max((rest.chatter_force for rest in result.rests), default=np.nan)
    flips = result.sliding.sign_flips_per_second if result.sliding else 0.0
    claims.say(
        f"The force does not chatter; {result.delay}.",
        f"RMS above {joystick.CHATTER_FREQUENCY:g} Hz at rest {chatter:.3f} N (limit: {count_force:.3f} N, which "
        f"one encoder count makes); sign flips of the force along the motion while sliding: {flips:.2f} per second "
        "(limit 1)",
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
        f"{joystick.SYMBOLS.get(n, n)} by {found.estimates[n].value - known[n]:+.2g} {found.estimates[n].unit}"
        for n in found.outside
    ]
    claims.say(
        text,
        f"{words}; B less K times {1e3 * joystick.measurement_delay(bag):.2f} ms is {known['damping']:.2f} N s/m; "
        f"the encoder leaves {found.residual_rms:.3f} N RMS; outside the intervals: {', '.join(outside) or 'nothing'} "
        f"(as a bias {100 * _BIAS:g} % of the force and of K, and {_DELAY_BIAS:g} T of delay are allowed, "
        f"{AFTER_DATA})",
        all(e.low - bias[n] <= known[n] <= e.high + bias[n] for n, e in found.estimates.items()),
    )


_CAPTION = (
    "Top: measured path (grey) and the friction force on the tip every 0.01 s (thin lines; 1 N is drawn "
    "1 mm long), as in Fig. 19. Middle: position and magnitude of the force over time, as in Fig. 20; rests are "
    "shaded. Bottom left: where the stuck element holds on in the last rest (true position less elastic "
    "displacement, less the mean), averaged over 0.05 s. Bottom right: amplitude spectrum of the force in "
    "that rest."
)

_SMOOTHING = 0.05  #: moving average of the drift plot; single encoder counts otherwise hide it [s]

_FORCE_SCALE = 1e-3  #: drawn length of one newton in the path plot [m/N]


def _figure(runs: dict[str, Run], numbers: dict[str, RunNumbers]) -> Figure:
    first, note = next(iter(runs.values())), "no rest reached in this run"
    drift, spectrum = list[Curve](), list[Curve]()
    for i, (name, run) in enumerate(runs.items()):
        if rests := numbers[name].rests:
            line = {"color": f"C{i}"}
            x, y, amplitude = _rest_curves(run, rests[-1], numbers[name].delay, line)
            drift += [x, y]
            spectrum.append(amplitude)
    log = {"xscale": "log", "yscale": "log"}
    return panels(
        Panel("y (mm)", (), "x (mm)", title="path and force (Fig. 19)", extra=partial(_draw_path, run=first)),
        Panel("position (mm)", (), title="position and force (Fig. 20)", extra=partial(_draw_time, run=first)),
        [
            Panel(
                "position - e, less its mean (µm)",
                drift,
                title="drift in the last rest",
                note=note,
                legend={"loc": "upper center", "ncols": 2},
                extra=make_room,
            ),
            Panel("force amplitude (N)", spectrum, "frequency (Hz)", log, title="force in the last rest", note=note),
        ],
        size=(12, 11),
        height_ratios=(3, 3, 2),
    )


def _draw_path(axes: Axes, run: Run) -> None:
    planar.draw_path(axes, run, -run.force, every=0.01, scale=_FORCE_SCALE, widths=(3, 0.5))
    axes.margins(y=0.25)  # for the names
    for phase in run.reached():
        if phase["kind"] == "rest":
            point = 1e3 * run.measured[run.part(phase["start"], run.time[-1]).start]
            axes.annotate(
                phase["name"], point, xytext=(0, 14), textcoords="offset points", color="tab:red", ha="center",
                arrowprops={"arrowstyle": "-", "color": "tab:red", "linewidth": 0.5},
            )  # fmt: skip


def _draw_time(axes: Axes, run: Run) -> None:
    force = planar.draw_position_and_force(axes, run, "f", 0.8)
    force.set_ylim(0.0, 12.0)
    planar.joint_legend(axes, force, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=3)


def _rest_curves(run: Run, rest: Rest, label: str, line: dict[str, Any]) -> tuple[Curve, Curve, Curve]:
    """Makes the curves of a rest: drift along x and along y, and spectrum of the force."""
    part = run.part(rest.start, rest.start + rest.length)
    time, force, position = run.time[part], run.force[part], run.position[part]
    anchor = 1e6 * (position - run.displacement[part])
    anchor -= anchor.mean(axis=0)
    window = min(round(_SMOOTHING / run.period), len(anchor))
    x, y = (np.convolve(column, np.full(window, 1.0 / window), "same") for column in anchor.T)
    amplitude = 2.0 * np.abs(np.fft.rfft(force - force.mean(axis=0), axis=0)) / len(force)
    frequency, size = np.fft.rfftfreq(len(force), run.period)[1:], np.linalg.norm(amplitude, axis=1)[1:]
    dashed = {**line, "linestyle": "--"}
    return (
        Curve(time, x, f"x, {label}", line),
        Curve(time, y, f"y, {label}", dashed),
        Curve(frequency, size, label, {**line, "linewidth": 1.5}),
    )
