"""Report of the hand that pushes objects about: force, energy at the tool, motion of the objects."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from haptic_bags.bags import Bag
from haptic_experiments.kit.contact import ContactRun
from haptic_experiments.kit.figures import Curve, Panel, panels
from haptic_experiments.kit.results import HIDDEN, Claims, Report, key
from haptic_experiments.kit.signals import Counts, Percentiles, path_length
from haptic_files.moved_modules import renamed
from haptic_math.spectra import fraction_above

NAMESPACE = "/joystick"
_MOVED = 0.005  #: least displacement of a moved object [m]
#: lower end of the force's band above the hand's tremor [Hz], and largest fraction of the force in it
_FAST, _FAST_SHARE = 60.0, 0.05
_DEEP = 1e-3  #: largest depth of a contact of stiff bodies [m]
#: energy that the world may give at the start: ten objects of 0.15 kg settle by 0.1 mm at most [J]
_SETTLING = 10 * 0.15 * 9.81 * 1e-4


@dataclass(frozen=True)
class Numbers:
    """Numbers of one run."""

    ticks: int  #: number of ticks
    largest_force: float  #: largest force on the tool [N]
    mean_force: float  #: mean force on the tool [N]
    fast_share: float  #: fraction of the force's RMS above `_FAST`
    path_length: dict[str, float] = field(metadata=key("way"))  #: length of the path of each object [m]
    moved: int  #: number of objects that were moved
    objects: int  #: number of all objects
    lowest_object: float  #: lowest centre of an object; 0 without objects [m]
    deepest_contact: float  #: depth of the deepest contact [m]
    least_energy: float  #: least energy that the tool has put into the world [J]
    energy: float  #: energy that the tool has put into the world at the end [J]
    saturated_ticks: int  #: number of ticks at the bound of the force
    iterations: Counts  #: Newton iterations
    step_time: Percentiles = field(metadata=HIDDEN)  #: time of a step [s]


def port_energy(run: ContactRun) -> np.ndarray:
    """Sums the energy that the tool has put into the world, -F_k (x_k - x_(k-1)), up to each tick (n,) [J]."""
    work = -np.einsum("ij,ij->i", run.wrench[1:, :3], np.diff(run.tool, axis=0))
    return np.concatenate([[0.0], np.cumsum(work)])


def fast_share(force: np.ndarray, period: float) -> float:
    """Computes the fraction of a force's (n, 3) RMS above `_FAST`."""
    return fraction_above(force, period, _FAST)


def measure(run: ContactRun) -> Numbers:
    """Measures one run."""
    force = np.linalg.norm(run.wrench[:, :3], axis=1)
    proxy = run.parameters["proxy"]
    objects = [i for i, mass in enumerate(run.masses) if mass > 0.0 and run.names[i] != proxy]
    lengths = path_length(run.position[:, objects])
    depth = [max(0.0, float(-c.signed_distance.min(initial=0.0))) for c in run.contacts]
    energy = port_energy(run)
    return Numbers(
        ticks=len(run.tick),
        largest_force=float(force.max()),
        mean_force=float(force.mean()),
        fast_share=fast_share(run.wrench[:, :3], run.period),
        path_length={run.names[i]: float(length) for i, length in zip(objects, lengths, strict=True)},
        moved=int(np.sum(np.linalg.norm(run.position[-1, objects] - run.position[0, objects], axis=1) > _MOVED)),
        objects=len(objects),
        lowest_object=float(run.position[:, objects, 2].min()) if objects else 0.0,
        deepest_contact=float(np.max(depth)),
        least_energy=float(energy.min()) + 0.0,
        energy=float(energy[-1]),
        saturated_ticks=int(np.sum(force > 0.999999 * run.parameters["max_force"])),
        iterations=Counts.of(run.iterations, first=1),
        step_time=Percentiles.of(run.solve_time[1:]),
    )


def analyse(bags: dict[str, Bag]) -> Report:
    """Makes the report of one or more bags of the experiment."""
    runs = {name: ContactRun.from_bag(bag, NAMESPACE) for name, bag in bags.items()}
    numbers = {name: measure(run) for name, run in runs.items()}
    labels, claims = delays(runs), Claims()
    claim_coupling(claims, runs, numbers, labels)
    _claim_motion(claims, next(iter(numbers.values())))
    claim_depth(claims, numbers)
    return touch_report(runs, numbers, labels, claims)


def touch_report(
    runs: dict[str, ContactRun], numbers: dict[str, Numbers], labels: dict[str, str], claims: Claims
) -> Report:
    """Makes the report of runs in which a tool touches bodies."""
    times = [
        f" {labels[name]}: a tick of the simulation took {1e6 * n.step_time.p50:.0f} µs (median), "
        f"{1e6 * n.step_time.p99:.0f} µs (99 %)."
        for name, n in numbers.items()
    ]
    parameters = {"contact": next(iter(runs.values())).parameters}
    return Report({"runs": numbers}, claims, lambda: _figure(runs, labels), _CAPTION + "".join(times), parameters)


def delays(runs: dict[str, ContactRun]) -> dict[str, str]:
    """Returns the runs' delays in words, by name."""
    ticks = {name: run.device.get("parameters", {}).get("command_delay_ticks", 0) for name, run in runs.items()}
    return {name: f"delay of {number} ticks" for name, number in ticks.items()}


def claim_coupling(
    claims: Claims, runs: dict[str, ContactRun], numbers: dict[str, Numbers], labels: dict[str, str]
) -> None:
    """Adds the claims on energy and force of the virtual coupling."""
    coupled = all(run.parameters["proxy"] and np.any(run.wrench) for run in runs.values())
    unless = "" if coupled else "a run without a force on the tool"
    saturated = any(n.saturated_ticks for n in numbers.values())
    settled = all(n.least_energy > -_SETTLING for n in numbers.values())
    claims.say(
        "The world with its virtual coupling is passive: it never gives the tool more energy than it got.",
        "; ".join(
            f"{labels[name]}: {1e3 * n.least_energy:.2g} mJ at least, {1e3 * n.energy:.3g} mJ at the end"
            for name, n in numbers.items()
        )
        + f" (limit {-1e3 * _SETTLING:.2g} mJ, which objects give as they settle)"
        + ("; no verdict, since the force reaches its bound, and is then not the coupling's" if saturated else ""),
        settled if not saturated else None,
        unless=unless,
    )
    claims.say(
        f"Contact is stable: the force on the tool has little above {_FAST:g} Hz, and stays below its bound.",
        "; ".join(
            f"{labels[name]}: up to {n.largest_force:.2f} N, {100 * n.fast_share:.1f} % of its RMS above "
            f"(limit {100 * _FAST_SHARE:g} %), {n.saturated_ticks} ticks at the bound"
            for name, n in numbers.items()
        ),
        all(n.fast_share < _FAST_SHARE for n in numbers.values()) and not saturated,
        unless=unless,
    )


def _claim_motion(claims: Claims, first: Numbers) -> None:
    farthest, length = max(first.path_length.items(), key=lambda item: item[1], default=("none", 0.0))
    claims.say(
        "The objects are pushed about, and stay on the table.",
        f"{first.moved} of {first.objects} objects end more than {1e3 * _MOVED:g} mm away; {farthest} went "
        f"farthest, {length:.2f} m; lowest centre {1e3 * first.lowest_object:.1f} mm above the table",
        bool(first.moved) and first.lowest_object > 0.0,
    )


def claim_depth(claims: Claims, numbers: dict[str, Numbers], about: str = "deepest contact") -> None:
    """Adds the claim on the depth of the contacts; `about` names the measured depth."""
    worst = max(n.deepest_contact for n in numbers.values())
    text = f"Bodies keep their shape: no contact is deeper than {1e3 * _DEEP:g} mm."
    claims.below(text, 1e3 * worst, 1e3 * _DEEP, "mm", about=about)


_CAPTION = (
    "Left: path of the tool (grey) and of the objects (colours, from the hollow to the full mark); links that turn in "
    "place, and fixed bodies, have none. Right: force on the tool along x and y, energy that the tool has put into the "
    "world, and Newton iterations of each tick."
)


def _figure(runs: dict[str, ContactRun], labels: dict[str, str]) -> Figure:
    force, energy, work = [], [], []
    for number, (name, run) in enumerate(runs.items()):
        width = {"linewidth": 2.4 if number == 0 else 0.7}  # equal lines of two runs are both visible
        force += [Curve(run.time, run.wrench[:, i], f"{x}, {labels[name]}", width) for i, x in enumerate("xy")]
        energy.append(Curve(run.time, 1e3 * port_energy(run), labels[name], width))
        work.append(Curve(run.time, run.iterations, style={"linewidth": 0.4}))
    return panels(
        Panel("force on the tool (N)", force, ""),
        Panel("energy from the tool (mJ)", energy, ""),
        Panel("Newton iterations", work),
        left=Panel("y (mm)", [], "x (mm)", title="seen from above",
                   extra=partial(_draw_paths, run=next(iter(runs.values())))),
        size=(13, 8), width_ratios=(1.1, 1),
    )  # fmt: skip


def _draw_paths(axes: Axes, run: ContactRun) -> None:
    p = run.parameters
    axes.plot(*(1e3 * p["scale"] * run.tool[:, :2].T), color="0.75", linewidth=2.5, label="tool")
    axes.set_prop_cycle(color=[colormaps["tab20"](i) for i in range(20)])
    for i, name in enumerate(run.names):
        if run.masses[i] <= 0.0 and not np.ptp(run.position[:, i], axis=0).any():
            continue  # a fixed body; links have no mass of their own in a scene
        path = 1e3 * run.position[:, i, :2]
        (line,) = axes.plot(*path.T, linewidth=0.9, label=name)
        axes.plot(*path[0], marker="o", markerfacecolor="none", color=line.get_color())
        axes.plot(*path[-1], marker="o", color=line.get_color())
    axes.set_aspect("equal")
    axes.legend(fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5))


__getattr__ = renamed(__name__, {"judge_coupling": "claim_coupling", "judge_depth": "claim_depth"})
