"""Claims and panels of the reports of walls on the TAU device; the runs are those of `wall_run`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from matplotlib.figure import Figure

from haptic_bags.bags import Bag
from haptic_experiments.kit.figures import Curve, Panel
from haptic_experiments.kit.results import Claims, Report
from haptic_experiments.kit.wall_run import WallNumbers, WallRun
from tau_wall_control.simulation.recorded_contacts import TAP_MARGIN

_Numbers = TypeVar("_Numbers")

STEP_LIMIT = 150e-6  #: longest control step [s]
#: standard deviation of the wall's force in the second half of a push that has come to rest, at most [N]
RESTLESS = 1.0
LEAVING = 0.05  #: longest time until a released tool has left the wall [s]
STATIC = 5.5e-5  #: depth that may be left under a push: five counts of 11 µm [m]
PULL = 0.05  #: largest pull towards a wall, by the weight's error at the rounded, measured pose [N]


def wall_report(
    bags: Mapping[str, Bag],
    measure: Callable[[WallRun], _Numbers],
    claim: Callable[[Claims, WallRun, _Numbers], None],
    figure: Callable[[dict[str, WallRun]], Figure],
    caption: str,
) -> Report:
    """Makes a report of runs with walls alone.

    Args:
        bags: bags of the runs, by name.
        measure: measures a run.
        claim: adds the claims on a run with its numbers.
        figure: draws the runs.
        caption: caption of the figure.
    """
    runs = {name: WallRun.from_bag(bag) for name, bag in bags.items()}
    numbers = {name: measure(run) for name, run in runs.items()}
    claims = Claims()
    for name, run in runs.items():
        claim(claims, run, numbers[name])
    time_claim(claims, runs)
    first = next(iter(runs.values()))
    words = caption + first.left_out
    return Report({"runs": numbers}, claims, lambda: figure(runs), words, {"wall": first.parameters})


def rest_claim(claims: Claims, run: WallRun, n: WallNumbers) -> None:
    """Adds the claim that no push makes the walls bounce, and none leaves a depth."""
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
    """Adds the claim that every push meets more than a stiffness [N/m]."""
    steps = [
        (f"{p.force:.1f} N: {1e3 * p.penetration:.3f} mm, {1e-3 * p.stiffness:.1f} kN/m", p.stiffness > wanted)
        for p in n.pushes
        if not math.isnan(p.stiffness)
    ]
    limit = f"{1e-3 * wanted:g} kN/m"
    text = f"A step of the hand's force meets more than {limit} ({run.name})."
    claims.each(text, steps, f" (limit {limit})", between=", ", unless="no push")


def tap_claim(claims: Claims, run: WallRun, n: WallNumbers) -> None:
    """Adds the claim that taps stay within the motors' energy bound."""
    taps = []
    for tap in n.taps:
        late = f", and {1e3 * tap.late:.2f} mm in the ticks of delay" if tap.late else ""
        words = f"{tap.speed:.2f} m/s: {1e3 * tap.penetration:.2f} mm (allowed {1e3 * tap.allowed:.2f} mm{late})"
        taps.append((words, tap.penetration <= tap.allowed))
    claims.each(
        f"A tap passes the wall by no more than {TAP_MARGIN:g} m v²/(2 F_max), the motors' energy bound, plus the "
        f"static penetration ({run.name}).",
        taps,
        unless="no tap",
    )


def release_claim(claims: Claims, run: WallRun, n: WallNumbers) -> None:
    """Adds the claim that a released tool leaves the walls."""
    numbers = {}
    for found in n.releases:
        numbers[f"{found.name}: contact ends after [ms]"] = (1e3 * found.contact_ends, 1e3 * LEAVING)
        numbers[f"{found.name}: pull [N]"] = (found.pull, PULL)
    claims.all_below(f"A released tool does not stick: contact ends, and no wall pulls ({run.name}).", numbers)


def time_claim(claims: Claims, runs: Mapping[str, WallRun]) -> None:
    """Adds the claim that the control steps are short, by the times that the node has published."""
    steps = {run.name: run.timing["control_step_p99"] for run in runs.values() if run.timing}
    text = f"The node's control step takes less than {1e6 * STEP_LIMIT:g} µs in 99 % of the ticks."
    claims.all_below(text, {f"{name} [µs]": (1e6 * step, 1e6 * STEP_LIMIT) for name, step in steps.items()})


_LEGEND = {"loc": "upper right"}
_SURFACE: dict[str, Any] = {"color": "black", "linewidth": 0.5}  #: the wall's surface in a panel of distances


def depth_panel(runs: Mapping[str, WallRun], wall: int = 0, limit: float = 0.5) -> Panel:
    """Makes a panel of the tool's distance from a wall over time, within plus and minus a limit [mm]."""
    first = next(iter(runs.values()))
    curves = [Curve(run.time, -1e3 * run.depth[:, wall], run.name) for run in runs.values()]
    curves.append(Curve.level(first.time, 0.0, **_SURFACE))
    return Panel("distance (mm)", curves, settings={"ylim": (-limit, limit)}, shaded=first, legend=_LEGEND)


def force_panel(runs: Mapping[str, WallRun], wall: int = 0) -> Panel:
    """Makes a panel of a wall's force, and of the first run's hand along the normal."""
    first = next(iter(runs.values()))
    curves = [Curve(run.time, run.force[:, wall], run.name, {"linewidth": 0.6}) for run in runs.values()]
    curves.append(Curve(first.time, -first.hand @ first.normals[wall], "hand", {"color": "black"}))
    return Panel("force (N)", curves, settings={"ylim": (-2.0, 30.0)}, shaded=first, legend=_LEGEND)


def effort_panel(runs: Mapping[str, WallRun]) -> Panel:
    """Makes a panel of the most loaded motor's effort as a fraction of its limit."""
    first = next(iter(runs.values()))
    curves = [Curve(run.time, 100.0 * run.saturation.max(axis=1), style={"linewidth": 0.6}) for run in runs.values()]
    return Panel("largest effort (% of limit)", curves, settings={"ylim": (0.0, 105.0)}, shaded=first)


def zoom_panel(
    runs: Mapping[str, WallRun], name: str, before: float, length: float, walls: Sequence[str] = ()
) -> Panel:
    """Makes a panel of the distance from the walls around the beginning of a phase.

    Args:
        runs: runs by name.
        name: name of the phase.
        before, length: time before the beginning, and after it [s].
        walls: labels of the walls; default: the first wall alone, labelled with the run.
    """
    curves = []
    for run in runs.values():
        starts = [phase["start"] for phase in run.phases if phase["name"] == name]
        if starts and starts[0] < run.time[-1]:
            part = run.part(starts[0] - before, starts[0] + length)
            time = 1e3 * (run.time[part] - starts[0])
            for wall, label in enumerate(walls or (run.name,)):
                curves.append(Curve(time, -1e3 * run.depth[part, wall], label, {"linewidth": 1.0}))
    curves += [Curve.level(curve.x, 0.0, **_SURFACE) for curve in curves[:1]]
    return Panel("distance (mm)", curves, "time from its beginning (ms)", {"title": name})
