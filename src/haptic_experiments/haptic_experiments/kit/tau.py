"""What the reports of walls on the TAU device share: their claims and panels; the runs are those of `wall_run`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import numpy as np
from matplotlib.figure import Figure

from haptic_bags.bags import Bag
from haptic_experiments.kit.figures import Curve, Panel
from haptic_experiments.kit.results import Claims, Report
from haptic_experiments.kit.wall_run import TAP_MARGIN, WallNumbers, WallRun

_Numbers = TypeVar("_Numbers")

#: a control step may take so long [s]
STEP_LIMIT = 150e-6
#: a push has come to rest when the wall's force varies by less than this in its second half, standard deviation [N]
RESTLESS = 1.0
#: a released tool has left the wall after this time [s]
LEAVING = 0.05
#: depth that may be left under a push: five counts of 11 µm [m]
STATIC = 5.5e-5
#: pull towards a wall that passes for the rounding of the measured pose, whose weight differs from the true one's [N]
PULL = 0.05


# ---- the report -------------------------------------------------------------------------------------


def wall_report(
    bags: Mapping[str, Bag],
    measure: Callable[[WallRun], _Numbers],
    judge: Callable[[Claims, WallRun, _Numbers], None],
    figure: Callable[[dict[str, WallRun]], Figure],
    caption: str,
) -> Report:
    """Makes a report of runs with walls alone.

    Args:
        bags: Of the runs, by name.
        measure: Makes the numbers of a run.
        judge: Adds the claims on a run with its numbers.
        figure: Draws the runs.
        caption: Of the figure.
    """
    runs = {name: WallRun.from_bag(bag) for name, bag in bags.items()}
    numbers = {name: measure(run) for name, run in runs.items()}
    claims = Claims()
    for name, run in runs.items():
        judge(claims, run, numbers[name])
    time_claim(claims, runs)
    first = next(iter(runs.values()))
    words = caption + first.left_out
    return Report({"runs": numbers}, claims, lambda: figure(runs), words, {"wall": first.parameters})


def rest_claim(claims: Claims, run: WallRun, n: WallNumbers) -> None:
    """Adds: no push makes the walls bounce, and none leaves a depth."""
    steady = [push for push in n.pushes if not math.isnan(push.restless)]
    numbers = {}
    if steady:
        worst = max(steady, key=lambda push: push.restless)
        deepest = max(abs(push.static) for push in steady)
        numbers = {f"variation of the force at '{worst.name}' [N]": (worst.restless, RESTLESS)}
        numbers["depth left [µm]"] = (1e6 * deepest, 1e6 * STATIC)
    text = f"The walls come to rest under every push, and hold it without depth in the end ({run.name})."
    claims.all_below(text, numbers, about=f"{len(steady)} pushes;")


def stiffness_claim(claims: Claims, run: WallRun, n: WallNumbers, wanted: float) -> None:
    """Adds: every push meets more than a stiffness [N/m]."""
    steady = [push for push in n.pushes if not math.isnan(push.stiffness)]
    numbers = ", ".join(f"{p.force:.1f} N: {1e3 * p.penetration:.3f} mm, {1e-3 * p.stiffness:.1f} kN/m" for p in steady)
    claims.say(
        f"A step of the hand's force meets more than {1e-3 * wanted:g} kN/m ({run.name}).",
        f"{numbers} (limit {1e-3 * wanted:g} kN/m)",
        all(push.stiffness > wanted for push in steady),
        unless="" if steady else "no push",
    )


def tap_claim(claims: Claims, run: WallRun, n: WallNumbers) -> None:
    """Adds: taps stay within the motors' energy bound."""
    words = [
        f"{tap.speed:.2f} m/s: {1e3 * tap.penetration:.2f} mm (allowed {1e3 * tap.allowed:.2f} mm"
        + (f", and {1e3 * tap.late:.2f} mm in the ticks of delay)" if tap.late else ")")
        for tap in n.taps
    ]
    claims.say(
        f"A tap passes the wall by no more than {TAP_MARGIN:g} m v²/(2 F_max), the motors' energy bound, plus the "
        f"static penetration ({run.name}).",
        "; ".join(words),
        all(tap.penetration <= tap.allowed for tap in n.taps),
        unless="" if words else "no tap",
    )


def release_claim(claims: Claims, run: WallRun, n: WallNumbers) -> None:
    """Adds: a released tool leaves the walls."""
    numbers = {}
    for found in n.releases:
        numbers[f"{found.name}: contact ends after [ms]"] = (1e3 * found.contact_ends, 1e3 * LEAVING)
        numbers[f"{found.name}: pull [N]"] = (found.pull, PULL)
    claims.all_below(f"A released tool does not stick: contact ends, and no wall pulls ({run.name}).", numbers)


def time_claim(claims: Claims, runs: Mapping[str, WallRun]) -> None:
    """Adds: the control steps are short, as the node has published."""
    steps = {run.name: run.timing["control_step_p99"] for run in runs.values() if run.timing}
    text = f"The node's control step takes less than {1e6 * STEP_LIMIT:g} µs in 99 % of the ticks."
    claims.all_below(text, {f"{name} [µs]": (1e6 * step, 1e6 * STEP_LIMIT) for name, step in steps.items()})


# ---- panels -----------------------------------------------------------------------------------------

_LEGEND = {"loc": "upper right"}
#: the wall's surface in a panel of distances
_SURFACE = {"color": "black", "linewidth": 0.5}


def depth_panel(runs: Mapping[str, WallRun], wall: int = 0, limit: float = 0.5) -> Panel:
    """Distance of the tool from a wall over time, outside upwards; |limit| [mm] either way."""
    first = next(iter(runs.values()))
    curves = [Curve(run.time, -1e3 * run.depth[:, wall], run.name) for run in runs.values()]
    curves.append(_surface(first.time))
    return Panel("distance (mm)", curves, settings={"ylim": (-limit, limit)}, shaded=first, legend=_LEGEND)


def _surface(x: np.ndarray) -> Curve:
    """The line of a wall's surface over an axis."""
    ends = x[[0, -1]] if len(x) else np.zeros(0)
    return Curve(ends, np.zeros(len(ends)), style=_SURFACE)


def force_panel(runs: Mapping[str, WallRun], wall: int = 0) -> Panel:
    """Force of a wall, and that of the hand of the first run along its normal."""
    first = next(iter(runs.values()))
    curves = [Curve(run.time, run.force[:, wall], run.name, {"linewidth": 0.6}) for run in runs.values()]
    curves.append(Curve(first.time, -first.hand @ first.normals[wall], "hand", {"color": "black"}))
    return Panel("force (N)", curves, settings={"ylim": (-2.0, 30.0)}, shaded=first, legend=_LEGEND)


def effort_panel(runs: Mapping[str, WallRun]) -> Panel:
    """Fraction of the motors' limit that the most loaded motor uses."""
    first = next(iter(runs.values()))
    curves = [Curve(run.time, 100.0 * run.saturation.max(axis=1), style={"linewidth": 0.6}) for run in runs.values()]
    return Panel("largest effort (% of limit)", curves, settings={"ylim": (0.0, 105.0)}, shaded=first)


def zoom_panel(
    runs: Mapping[str, WallRun], name: str, before: float, length: float, walls: Sequence[str] = ()
) -> Panel:
    """Distance from the walls around the beginning of a phase, time from there.

    Args:
        runs: By name.
        name: Of the phase.
        before, length: Time before the beginning, and after it [s].
        walls: Labels of the walls; default: the first wall alone, labelled with the run.
    """
    curves = []
    for run in runs.values():
        starts = [phase["start"] for phase in run.phases if phase["name"] == name]
        if starts and starts[0] < run.time[-1]:
            part = run.part(starts[0] - before, starts[0] + length)
            time = 1e3 * (run.time[part] - starts[0])
            for wall, label in enumerate(walls or (run.name,)):
                curves.append(Curve(time, -1e3 * run.depth[part, wall], label, {"linewidth": 1.0}))
    curves += [_surface(curve.x) for curve in curves[:1]]
    return Panel("distance (mm)", curves, "time from its beginning (ms)", {"title": name})
