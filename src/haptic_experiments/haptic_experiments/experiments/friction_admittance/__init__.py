"""Report of the admittance experiment: counterparts of Figs. 16 and 17 of Kikuuwe et al. and their claims."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke

from haptic_bags.bags import Bag
from haptic_devices.five_bar.friction_analysis import coulomb_forces
from haptic_experiments.experiments.friction_admittance import manipulator
from haptic_experiments.experiments.friction_admittance.case import COMPENSATIONS, Case, RunNumbers
from haptic_experiments.experiments.friction_admittance.grip import Stability, claim_mass, draw_map, stability
from haptic_experiments.experiments.friction_admittance.manipulator import Run
from haptic_experiments.kit.figures import legend_or_note, make_room
from haptic_experiments.kit.planar import draw_path, draw_position_and_force, joint_legend, reported_parameters
from haptic_experiments.kit.results import AFTER_DATA, Claims, Report
from haptic_experiments.kit.signals import worst
from haptic_friction.factory import breakaway_parameter
from haptic_friction.reference.motions import noise_drift

# Limits of the verdicts. They were set before any run of this experiment was seen. The definitions of a rest and of
# straight motion (SHORTEST_REST, STRAIGHT_TIME of manipulator.py) were changed after first runs: in rests of 0.6 s
# hysteresis passed for a drift of 2 to 3 um.

#: largest error of the rendered force, as a fraction of F: a person notices a change of about 7 % (Jones 1989)
_FORCE_SHARE = 0.07
#: largest angle between force and straight motion (95 %): a sixth of F across, to the eye still along [rad]
_ALONG_ANGLE = np.radians(10.0)
_INWARD_SHARE = 0.95  #: fraction of a curve's samples in which the force is slanted to the inside
_COMPENSATED_SHARE = 0.5  #: largest fraction of the friction that a compensation leaves


def analyse(bags: dict[str, Bag]) -> Report:
    """Computes metrics, claims and figure of one or more bags of the experiment."""
    cases = {name: Case.of(bag) for name, bag in bags.items()}
    runs = {name: case.measure() for name, case in cases.items()}
    first = next(iter(cases.values()))
    count = encoder_count(first)
    found = stability(first.device, first.hand, first.settings)
    numbers = {"encoder_count_at_tool": count, "stability": found, "runs": runs}
    claims = _claims(first, list(runs.values()), count)
    claim_mass(claims, found, [result.shaking for result in runs.values()])
    _claim_compensations(claims, list(runs.values()))
    parameters = reported_parameters(next(iter(bags.values())))
    return Report(numbers, claims, lambda: _figure(cases, runs, found), _CAPTION, parameters)


def encoder_count(case: Case) -> float | None:
    """Returns the largest displacement of the tool by one count of one encoder [m]; None for an unknown device."""
    return None if case.device is None else case.device.tool_resolution


def _claims(case: Case, runs: list[RunNumbers], count: float | None) -> Claims:
    """Makes the claims about a mass that slides by model A."""
    claims = Claims()
    _claim_straight(claims, case, runs)
    _claim_curve(claims, runs)
    for result in runs:
        _claim_rest(claims, case, result, count)
    _claim_joint_friction(claims, runs, _FORCE_SHARE * case.friction["friction_force"])
    if not case.is_of_the_paper:
        p = case.friction
        words = f"model {p['model']}, law {p['law']}, F = {p['friction_force']:g} N"
        claims.set_aside(f"not model A with friction ({words})")
    return claims


def _claim_straight(claims: Claims, case: Case, runs: list[RunNumbers]) -> None:
    text = (
        "During straight motions the measured force has the direction of the motion: kinetic friction (Fig. 16, a-d)."
    )
    parts = [result.straight for result in runs]
    force, mass, left = case.friction["friction_force"], case.friction["mass"], worst(parts, lambda p: p.residual_rms)
    angle = claims.reached(text, worst(parts, lambda p: p.p95_angle), unless="no straight motion")
    if angle and left:
        claims.say(
            text,
            f"angle between h and the true velocity: median {np.degrees(angle.median_angle):.1f}°, 95 % below "
            f"{np.degrees(angle.p95_angle):.1f}° (limit {np.degrees(_ALONG_ANGLE):.0f}°); |h - M a| "
            f"{left.mean_friction:.3f} N on average (F = {force:g} N, M = {mass:g} kg); h - F v/|v| - M a "
            f"{left.residual_rms:.3f} N RMS below {manipulator.MOTION_FREQUENCY:g} Hz (limit "
            f"{_FORCE_SHARE * force:.2g} N; worst of {len(runs)} runs)",
            angle.p95_angle < _ALONG_ANGLE and left.residual_rms < _FORCE_SHARE * force,
        )


def _claim_curve(claims: Claims, runs: list[RunNumbers]) -> None:
    text = "In the curve the force is slanted to the inside, by the centrifugal force M v²/R (Fig. 16, d-e)."
    found = worst((result.curve for result in runs), lambda part: part.difference_rms)
    if curve := claims.reached(text, found, unless="no curve"):
        off = abs(curve.mean_inward / curve.mean_expected - 1.0) if curve.mean_expected else np.inf
        claims.say(
            text,
            f"slanted by {np.degrees(curve.median_slant):.0f}° (median), to the inside in "
            f"{100 * curve.inward_share:.0f} % of the samples (at least {100 * _INWARD_SHARE:g} %); component towards "
            f"the inside {curve.mean_inward:.2f} N on average, M v²/R {curve.mean_expected:.2f} N (within "
            f"{100 * _FORCE_SHARE:g} %); at most {curve.largest_inward:.2f} and {curve.largest_expected:.2f} N; "
            f"difference {curve.difference_rms:.2f} N RMS",
            off < _FORCE_SHARE and curve.inward_share >= _INWARD_SHARE,
        )


def _claim_rest(claims: Claims, case: Case, result: RunNumbers, count: float | None) -> None:
    text = (
        "Below F the end-effector is stationary and does not drift under a fluctuating force (Fig. 17, c); "
        f"{result.label}."
    )
    hold = case.friction[breakaway_parameter(case.friction["law"])]
    rests = [rest for rest in result.rests if rest.largest_force < hold]
    if not rests or case.device is None or count is None:
        claims.say(text, unless=f"no rest below {hold:g} N long enough")
        return
    drifts = max(rests, key=lambda rest: rest.drift)
    free = max(rests, key=lambda rest: rest.length)
    noise = case.device.parameters.force_noise
    alone = noise_drift(noise, case.friction["mass"], case.run.period, free.length)
    speed = max(rest.largest_target_speed for rest in rests)
    claims.say(
        text,
        f"commanded velocity {'exactly zero' if speed == 0.0 else f'up to {speed:.1e} m/s'}; true position drifts "
        f"{1e6 * drifts.drift:.1f} µm in {drifts.length:.1f} s (limit, one encoder count: {1e6 * count:.1f} µm; "
        f"rests from {manipulator.SHORTEST_REST:g} s on count, {AFTER_DATA}), "
        f"gives way elastically by {1e6 * max(rest.travel for rest in rests):.0f} µm to forces up to "
        f"{max(rest.largest_force for rest in rests):.1f} N. Without friction the same force would take the mass "
        f"{free.free_drift:.2f} m in {free.length:.1f} s, its fluctuation about the mean alone "
        f"{1e3 * free.free_drift_about_mean:.0f} mm, the sensor's noise alone {1e3 * alone:.1f} mm (standard "
        "deviation)",
        speed == 0.0 and drifts.drift < count,
    )


def _claim_joint_friction(claims: Claims, runs: list[RunNumbers], limit: float) -> None:
    """Adds the claims that the joints' friction is not felt, within a limit of the force [N]."""
    text = "The force is isotropic and homogeneous, although that of the joints' friction would not be."
    found = worst((result.isotropy for result in runs), lambda part: part.largest_deviation)
    if found is None or found.joint_friction is None or len(found.sectors) < 4:
        claims.say(text, unless="not enough directions of motion")
    else:
        sizes, (low, high) = [sector[1] for sector in found.sectors], found.joint_friction.along
        claims.say(
            text,
            f"|h - M a| is {min(sizes):.2f} to {max(sizes):.2f} N in {len(sizes)} sectors of 30°, at most "
            f"{found.largest_deviation:.3f} N off the law (limit {limit:.2g} N); the joints' Coulomb friction alone "
            f"would ask for {low:.0f} to {high:.0f} N along the motion, up to "
            f"{np.degrees(found.joint_friction.angle):.0f}° beside it, by direction and place",
            found.largest_deviation < limit and high / low > 1.0 + 2.0 * _FORCE_SHARE,
        )
    text = "The joint friction torque is almost totally annihilated by the stiff PID servo."
    joints = worst((r.isotropy.joint_friction for r in runs if r.isotropy is not None), lambda part: part.share)
    error = worst((result.joints for result in runs), lambda part: part.tracking_rms)
    if joints is None or error is None:
        claims.say(text, unless="no motion")
    else:
        share, size = joints.share, joints.rms
        claims.say(
            text,
            f"of the joints' friction ({error.friction_rms:.1f} N m RMS each, {size:.0f} N at the tool) the measured "
            f"force contains {100 * share:.2f} %, {abs(share) * size:.3f} N (limit {limit:.2g} N); the servo's error "
            f"is {1e3 * error.tracking_rms:.3f} mm RMS, at most {1e3 * error.largest_tracking_error:.2f} mm (true "
            "position of the tool)",
            abs(share) * size < limit,
        )


def _claim_compensations(claims: Claims, runs: list[RunNumbers]) -> None:
    """Adds the claims of section VI: each compensation against the run without one at the same delay."""
    known = [(r.compensation, r.command_delay_ticks, r.joints) for r in runs if r.joints is not None]
    bare_at = {delay: joints for kind, delay, joints in reversed(known) if kind == "none"}
    for kind, name in (("model_c", "one model C a joint"), ("parallel", "models C in parallel")):
        pairs = ((bare_at[delay], joints) for own, delay, joints in known if own == kind and delay in bare_at)
        text = f"Models C can compensate joint friction (future work of section VI): {name}."
        missing = "no run with it beside one without, at the same delay"
        if pair := claims.reached(text, next(pairs, None), unless=missing):
            bare, joints = pair
            share = joints.residual_rms / joints.friction_rms if joints.friction_rms else np.inf
            claims.say(
                text,
                f"residual friction {joints.residual_rms:.2f} N m RMS of {joints.friction_rms:.2f} N m (limit "
                f"{100 * _COMPENSATED_SHARE:g} % of it), at most {joints.largest_residual:.1f} N m; servo's error "
                f"{1e3 * joints.tracking_rms:.3f} mm RMS, at most {1e3 * joints.largest_tracking_error:.2f} mm "
                f"(without: {1e3 * bare.tracking_rms:.3f} mm, {1e3 * bare.largest_tracking_error:.2f} mm)",
                share < _COMPENSATED_SHARE and joints.tracking_rms < bare.tracking_rms,
            )


_CAPTION = (
    "Top left: measured path (grey) and the measured force h every 0.02 s (thin lines), as in Fig. 16. Top right: "
    "rendered mass and grasp stiffness for which the linear loop is unstable (shaded: with the run's delay), and what "
    "the simulated device does. Second row: position and magnitude of h over time, as in Fig. 17; rests are shaded, "
    "letters as in the path. Below: friction torque of the first joint, and what the compensation leaves of it; the "
    "servo's error at the tool. Right: force by direction of motion, as rendered and as the joints' Coulomb friction "
    "alone would ask for at the start of the motion."
)

_FORCE_SCALE = 2.5e-3  #: drawn length of one newton in the path plot [m/N]
#: lines of the runs in the panels of friction and error, by compensation
_STYLES: dict[str, dict[str, Any]] = {
    "none": {"color": "0.6", "linewidth": 1.6},
    "model_c": {"color": "tab:orange", "linewidth": 0.9},
    "parallel": {"color": "tab:blue", "linewidth": 0.9},
}


def _figure(cases: dict[str, Case], runs: dict[str, RunNumbers], found: Stability | None) -> Figure:
    figure = Figure(figsize=(14, 15), layout="constrained")
    rows: list[Any] = [
        ["path", "path", "map"],
        ["time"] * 3,
        ["friction", "friction", "polar"],
        ["error", "error", "polar"],
    ]
    axes = figure.subplot_mosaic(
        rows, height_ratios=(4.4, 3, 2, 2), width_ratios=(1, 1, 1.15), per_subplot_kw={"polar": {"projection": "polar"}}
    )
    first = next(iter(cases.values()))
    _draw_path(axes["path"], first.run)
    draw_map(axes["map"], first.device, first.hand, first.settings, found)
    _draw_time(axes["time"], first)
    _draw_joints(axes["friction"], axes["error"], cases)
    _draw_directions(axes["polar"], first, next(iter(runs.values())).isotropy)
    return figure


def _letters(run: Run) -> list[tuple[str, float]]:
    """Finds the letters and the times at which the motion reaches them; a rest is at its start."""
    found: dict[str, float] = {}
    for phase in run.reached():
        begin, _, end = phase["name"].partition("-")
        found.setdefault(begin if end else phase["name"], phase["start"])
        if end:
            found.setdefault(end, min(phase["end"], run.time[-1]))
    return list(found.items())


def _draw_path(axes: Axes, run: Run) -> None:
    draw_path(axes, run, run.force, every=0.02, scale=_FORCE_SCALE, widths=(4, 0.6))
    for letter, time in _letters(run):
        place = 1e3 * run.measured[min(run.part(time, np.inf).start, len(run.time) - 1)]
        note = axes.annotate(letter, place, xytext=(-9, -11), textcoords="offset points", color="tab:red", fontsize=14)
        note.set_path_effects([withStroke(linewidth=3, foreground="white")])
    axes.set_title("path and measured force (Fig. 16)")
    axes.margins(0.08)
    corner = (axes.get_xlim()[0] + 0.04 * np.diff(axes.get_xlim())[0], axes.get_ylim()[1] - 8.0)
    axes.plot([corner[0], corner[0] + 5e3 * _FORCE_SCALE], [corner[1]] * 2, color="black", linewidth=1.5)
    axes.text(corner[0] + 2.5e3 * _FORCE_SCALE, corner[1] + 1.5, "5 N", ha="center", va="bottom")


def _draw_time(axes: Axes, case: Case) -> None:
    run, limit = case.run, case.friction["friction_force"]
    force = draw_position_and_force(axes, run, "h", 0.9)
    axes.set(title="measured position and force (Fig. 17)", xlim=(run.time[0], run.time[-1]))
    make_room(axes, 0.15)
    force.axhline(limit, color="0.6", linestyle=":", linewidth=1.2, label=f"F = {limit:g} N")
    force.set_ylim(0.0, 1.25 * max(float(np.linalg.norm(run.force, axis=1).max()), limit, 1.0))
    for phase in run.reached():
        middle = (phase["start"] + min(phase["end"], run.time[-1])) / 2
        axes.axvline(phase["start"], color="0.8", linewidth=0.8, zorder=0)
        axes.text(middle, 0.93, phase["name"], color="tab:red", fontsize=13, ha="center",
                  transform=axes.get_xaxis_transform())  # fmt: skip
    joint_legend(axes, force, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=4)


def _draw_joints(friction: Axes, error: Axes, cases: dict[str, Case]) -> None:
    """Draws one line for each kind of compensation, the last run of a kind: with delay where there is one."""
    kinds = {case.compensation: case for case in cases.values() if case.device is not None}
    for kind, case in kinds.items():
        assert case.device is not None
        run = case.run
        torque = manipulator.friction_torque(case.device, run)
        left = torque - manipulator.compensation_torque(case.device, run)
        if kind == next(iter(kinds)):
            friction.plot(run.time, torque[:, 0], **_STYLES["none"], label="friction torque")
        if kind != "none":
            friction.plot(run.time, left[:, 0], **_STYLES[kind], label=f"left by {COMPENSATIONS[kind]}")
        lengths = 1e3 * np.linalg.norm(run.position - run.target, axis=1)
        error.plot(run.time, lengths, **_STYLES[kind], label=COMPENSATIONS[kind])
    friction.set(ylabel="torque (N m)", title="friction of the first joint")
    error.set(xlabel="time (s)", ylabel="error (mm)", title="servo's error at the tool")
    for axes in (friction, error):
        axes.margins(x=0.0)
        if kinds:
            make_room(axes)
        legend_or_note(axes, "the device is not known", loc="upper right", ncols=3, fontsize=9)


def _draw_directions(axes: Any, case: Case, isotropy: manipulator.Isotropy | None) -> None:
    axes.set_title("force by direction of motion (N)")
    sectors = np.array(isotropy.sectors if isotropy else []).reshape(-1, 3)
    axes.plot(sectors[:, 0], sectors[:, 1], "ko", ms=5, label="rendered, |h - M a|")
    if case.device is not None:
        angle = np.linspace(0.0, 2.0 * np.pi, 361)
        forces = coulomb_forces(case.device, case.run.joints[0], angle)
        along = np.sum(forces * np.column_stack((np.cos(angle), np.sin(angle))), axis=1)
        axes.plot(angle, along, color="tab:red", linewidth=1.2, label="joints' friction alone, along the motion")
    axes.set_rmin(0.0)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.08), fontsize=9)
