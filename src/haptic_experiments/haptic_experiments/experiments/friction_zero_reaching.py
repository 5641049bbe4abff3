"""Report of the runs in which model A comes to rest or turns round: Figs. 6 and 7 of Kikuuwe et al."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from haptic_bags.bags import Bag
from haptic_experiments.kit.comparison import ScriptedRun, largest, sign_changes
from haptic_experiments.report import Claim, Report

#: the model whose claims these are
_MODEL = "A"
#: a few hundred additions of numbers around 1, each off by at most 1.1e-16
_ROUNDING = 1e-12


def closed_form(
    steps: int, *, period: float, mass: float, force: float, pull: float, start: float
) -> tuple[np.ndarray, np.ndarray]:
    """Velocity [m/s] and friction force [N] of model A with Coulomb friction under a constant pull, (steps,) each.

    The velocity falls along a straight line until a step would carry it past zero. In that step, v* is what it
    would be without friction, and the friction takes up to T F/M of it; after it the velocity is zero for good
    where |pull| is at most F, or follows another straight line.

    Args:
        steps: number of steps; entry 0 is step 1.
        period: T [s].
        mass: M [kg].
        force: friction force F [N].
        pull: h [N], against the start velocity.
        start: v_0 [m/s], not zero.
    """
    k, gain, way = np.arange(1, steps + 1), period / mass, np.sign(start)
    v = start + k * gain * (pull - way * force)
    f = np.full(steps, way * force)
    crossing = int(np.count_nonzero(way * v > 0.0))  # first entry that would pass zero
    if crossing < steps:
        free = start + crossing * gain * (pull - way * force) + gain * pull
        left = np.sign(free) * max(abs(free) - gain * force, 0.0)
        slope = np.sign(pull) * max(abs(pull) - force, 0.0)
        v[crossing:] = left + np.arange(steps - crossing) * gain * slope
        f[crossing] = (free - left) / gain
        f[crossing + 1 :] = pull - slope
    return v, f


def stop_time(mass: float, force: float, pull: float, start: float) -> float:
    """When the continuous motion reaches zero velocity [s]: v_0 M/(F sgn v_0 - h)."""
    return start * mass / (np.sign(start) * force - pull)


def measure(run: ScriptedRun, column: int) -> dict[str, Any]:
    """Numbers of one model in one run.

    `first_zero_step` is the first step that ends at a velocity of exactly zero (1-based, None if there is none),
    `nonzero_after` how many later ones do not.
    """
    v, f = run.velocity[:, column], run.force[:, column]
    zeros = np.flatnonzero(v == 0.0)
    first = int(zeros[0]) + 1 if len(zeros) else None
    numbers: dict[str, Any] = {
        "period": run.period,
        "first_zero_step": first,
        "nonzero_after": int(np.count_nonzero(v[zeros[0] :])) if len(zeros) else None,
        "sign_changes": sign_changes(np.concatenate(([run.parameters["initial_velocity"]], v))),
        "final_velocity": float(v[-1]),
        "final_force": float(f[-1]),
    }
    if column == run.column(_MODEL) and is_paper_case(run):
        setting = {
            "mass": run.number("mass", column),
            "force": run.parameters["friction_force"],
            "pull": float(run.input_force[0]),
            "start": run.parameters["initial_velocity"],
        }
        velocity, force = closed_form(len(v), period=run.period, **setting)
        numbers |= {
            "kind": "stop" if abs(setting["pull"]) <= setting["force"] else "reversal",
            "stop_time": stop_time(**setting),
            "velocity_deviation": largest(v - velocity),
            "force_deviation": largest(f - force),
        }
    return numbers


def is_paper_case(run: ScriptedRun) -> bool:
    """Coulomb friction, a constant pull against the start velocity, no tick missed, and long enough to stop."""
    pull, start = float(run.input_force[0]), run.parameters["initial_velocity"]
    force, column = run.parameters["friction_force"], run.column(_MODEL)
    if column is None or run.parameters["law"] != "coulomb" or pull * start >= 0.0:
        return False
    end = stop_time(run.number("mass", column), force, pull, start)
    return bool(run.is_complete and (run.input_force == pull).all() and end < run.time[-1])


def analyse(bags: dict[str, Bag]) -> Report:
    """Metrics, claims and figure of one or more bags of the experiment."""
    runs = {name: ScriptedRun.from_bag(bag) for name, bag in bags.items()}
    runs = dict(sorted(runs.items(), key=lambda item: (-float(item[1].input_force[0]), item[1].period)))
    metrics = {name: {m: measure(run, i) for i, m in enumerate(run.labels)} for name, run in runs.items()}
    cases = [of_run[_MODEL] for of_run in metrics.values() if "kind" in of_run.get(_MODEL, {})]
    claims = [_stop_claim(cases), _reversal_claim(cases), _closed_form_claim(cases)]
    first = next(iter(runs.values()))
    parameters = {"comparison": first.parameters, "device": first.device}
    return Report({"runs": metrics}, claims, lambda: _figure(runs), _CAPTION, parameters)


def _ms(case: dict[str, Any]) -> str:
    return f"T = {1e3 * case['period']:g} ms"


def _stop_claim(cases: list[dict[str, Any]]) -> Claim:
    text = "The object reaches the zero velocity without chattering, irrespective of the timestep size (Fig. 6)."
    stops = [case for case in cases if case["kind"] == "stop"]
    if not stops:
        return Claim(text, "no run of model A with Coulomb friction and a constant pull below F", None)
    parts = []
    for case in stops:
        first = case["first_zero_step"]
        reached = f"exactly zero from step {first} ({first * case['period']:.4g} s) on" if first else "never zero"
        parts.append(f"{_ms(case)}: {reached}, {case['sign_changes']} sign changes")
    shown = all(
        case["first_zero_step"] == int(np.ceil(case["stop_time"] / case["period"] - 1e-9))
        and case["nonzero_after"] == 0
        and case["sign_changes"] == 0
        for case in stops
    )
    return Claim(text, f"{'; '.join(parts)}; v0 M/(F - h) = {stops[0]['stop_time']:.4g} s", shown)


def _reversal_claim(cases: list[dict[str, Any]]) -> Claim:
    text = (
        "Pulled harder than F the velocity is reversed after crossing zero; it may or may not be exactly zero at one "
        "step (Fig. 7)."
    )
    turns = [case for case in cases if case["kind"] == "reversal"]
    if not turns:
        return Claim(text, "no run of model A with Coulomb friction and a constant pull above F", None)
    parts = []
    for case in turns:
        first = case["first_zero_step"]
        passed = f"exactly zero at step {first}" if first else "no step exactly zero"
        parts.append(
            f"{_ms(case)}: {case['sign_changes']} sign change, {passed}, {case['final_velocity']:.3f} m/s at the end"
        )
    return Claim(text, "; ".join(parts), all(case["sign_changes"] == 1 for case in turns))


def _closed_form_claim(cases: list[dict[str, Any]]) -> Claim:
    text = "Each step is the solution of (12) and (13): the closed form of the motion, straight lines in time."
    if not cases:
        return Claim(text, "no run of model A with Coulomb friction and a constant pull against the motion", None)
    velocity = max(case["velocity_deviation"] for case in cases)
    force = max(case["force_deviation"] for case in cases)
    # the force of the step that crosses zero is a difference of velocities over T/M
    shown = velocity < _ROUNDING and all(case["force_deviation"] < _ROUNDING / case["period"] for case in cases)
    return Claim(text, f"at most {velocity:.1e} m/s and {force:.1e} N off (runs: {len(cases)})", shown)


_CAPTION = (
    "Velocity and friction force of each step, black, as in Figs. 6 and 7; grey: the continuous motion. T, start "
    "velocity v0 and pull h stand above each pair; the value at t = 0 is the start. Fig. 6 uses the v0 = 0.7 m/s of "
    "the caption (the text says 1.3 m/s)."
)


def _figure(runs: dict[str, ScriptedRun]) -> Figure:
    columns = min(len(runs), 2)
    blocks = -(-len(runs) // 2)
    figure = Figure(figsize=(5.5 * columns, 4.6 * blocks), layout="constrained")
    axes = figure.subplots(2 * blocks, columns, squeeze=False)
    for place, run in enumerate(runs.values()):
        block, side = divmod(place, 2)
        above, below = axes[2 * block, side], axes[2 * block + 1, side]
        _draw(above, below, run)
    for unused in axes.ravel():
        if not unused.has_data():
            unused.set_axis_off()
    return figure


def _draw(above: Axes, below: Axes, run: ScriptedRun) -> None:
    start, pull = run.parameters["initial_velocity"], float(run.input_force[0])
    time = np.concatenate(([0.0], run.time + run.period))
    marker = "." if run.period > 2e-3 else ""
    if is_paper_case(run):
        _draw_exact(above, below, run, time[-1])
    for column, model in enumerate(run.labels):
        color = "black" if model == _MODEL else None
        velocity = np.concatenate(([start], run.velocity[:, column]))
        (line,) = above.plot(time, velocity, marker=marker, color=color, linewidth=1.2, label=f"model {model}")
        below.plot(time[1:], run.force[:, column], marker=marker, color=line.get_color(), linewidth=1.2)
    for axes in (above, below):
        axes.axhline(0.0, color="0.8", linewidth=0.6, zorder=0)
        axes.set(xlim=(0.0, time[-1]), xlabel="time t (s)")
    above.set(ylabel="velocity v (m/s)", title=f"T = {1e3 * run.period:g} ms; v0 = {start:g} m/s, h = {pull:g} N")
    above.legend(loc="upper right")
    below.set_ylabel("friction force f (N)")


def _draw_exact(above: Axes, below: Axes, run: ScriptedRun, end: float) -> None:
    """The continuous motion: infinitely many steps of the closed form."""
    column = run.column(_MODEL)
    steps = 4000
    setting = {
        "mass": run.number("mass", column or 0),
        "force": run.parameters["friction_force"],
        "pull": float(run.input_force[0]),
        "start": run.parameters["initial_velocity"],
    }
    velocity, force = closed_form(steps, period=end / steps, **setting)
    time = np.linspace(end / steps, end, steps)
    above.plot(time, velocity, color="0.75", linewidth=3, label="continuous")
    below.plot(time, force, color="0.75", linewidth=3)
