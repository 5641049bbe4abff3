"""Report of the corner of walls on the TAU device."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from mpl_toolkits.mplot3d import Axes3D

from haptic_bags.bags import Bag
from haptic_experiments.experiments.tau_angled_wall import slides
from haptic_experiments.kit import tau
from haptic_experiments.kit.tau import WallRun
from haptic_experiments.report import Claim, Report


def analyse(bags: dict[str, Bag]) -> Report:
    """Metrics, claims and figure of one or more bags of the experiment."""
    runs = {name: WallRun.from_bag(bag) for name, bag in bags.items()}
    metrics = {name: {**tau.common_metrics(run), "slides": slides(run)} for name, run in runs.items()}
    claims: list[Claim] = []
    for name, run in runs.items():
        n = metrics[name]
        claims += [tau.rest_claim(run, n), together_claim(run), tau.release_claim(run, n)]
    claims.append(tau.time_claim(runs))
    first = next(iter(runs.values()))
    return Report(
        {"runs": metrics}, claims, lambda: _figure(runs), _CAPTION + first.left_out, {"wall": first.parameters}
    )


def together_claim(run: WallRun) -> Claim:
    """As many walls push as the hand pushes into, each with what the hand pushes into it."""
    text = f"Each wall carries its own part of the push, one, two or three at once ({run.name})."
    worst, words = 0.0, []
    for phase, part in run.parts("push"):
        late = slice(part.stop - (part.stop - part.start) // 4, part.stop - 2)
        hand, wall = -run.hand[late].mean(axis=0) @ run.normals.T, run.force[late].mean(axis=0)
        touched = run.in_contact[late].mean(axis=0) > 0.5
        worst = max(worst, float(np.abs(np.where(touched, wall - hand, 0.0)).max()))
        words.append(f"{phase['name']}: " + " + ".join(f"{force:.1f}" for force in wall[touched]) + " N")
    if not words:
        return Claim(text, "no push", None)
    return Claim(text, f"{'; '.join(words)}; at most {worst:.2f} N off the hand's (limit {OFF:g} N)", worst < OFF)


#: the device's Coulomb friction, 0.005 N m in each joint, is about this at the tool [N]
OFF = 0.4

_CAPTION = (
    "Left: the tool's way and the walls. Right: distance of the true tool from each wall (negative inside) and the "
    "walls' forces, in the run without delay. Shaded: pushes (red), slides (blue), fingers open (green). Below: the "
    "same forces with delay, and the push into the corner."
)


def _figure(runs: dict[str, WallRun]) -> Figure:
    figure = Figure(figsize=(14, 11), layout="constrained")
    grid = figure.add_gridspec(3, 3)
    first, last = next(iter(runs.values())), list(runs.values())[-1]
    _draw_way(figure.add_subplot(grid[:2, 0], projection="3d"), first)
    names = ["x = -10 mm", "y = -10 mm", "z = 0"] if len(first.normals) == 3 else [f"wall {i + 1}" for i in range(32)]
    depth, force, late = (figure.add_subplot(grid[row, 1:]) for row in range(3))
    for i, name in enumerate(names[: len(first.normals)]):
        depth.plot(first.time, -1e3 * first.depth[:, i], linewidth=0.8, label=name)
        force.plot(first.time, first.force[:, i], linewidth=0.6, label=name)
        late.plot(last.time, last.force[:, i], linewidth=0.6, label=name)
    depth.set(ylim=(-0.5, 0.5), ylabel="distance (mm)", title=first.name)
    force.set(ylim=(-2.0, 20.0), ylabel="force (N)", title=first.name)
    late.set(ylim=(-2.0, 20.0), ylabel="force (N)", title=last.name)
    for axes in (depth, force, late):
        axes.set_xlabel("time (s)")
        tau.shade(axes, first)
        axes.legend(loc="upper right", fontsize="small")
    zoom = figure.add_subplot(grid[2, 0])
    for i, name in enumerate(names[: len(first.normals)]):
        tau.draw_zoom(zoom, {name: first}, "the corner", 0.01, 0.06, wall=i)
        if zoom.lines[:-1]:
            zoom.lines[-2].set_label(name)
    zoom.legend(fontsize="small")
    return figure


def _draw_way(axes: Axes3D, run: WallRun) -> None:
    axes.plot(*(1e3 * run.position.T), color="tab:blue", linewidth=0.6)
    low, high = run.position.min(axis=0) - 0.002, run.position.max(axis=0) + 0.004
    for point, normal in zip(run.points, run.normals, strict=True):
        k = int(np.argmax(np.abs(normal)))
        if abs(normal[k]) < 0.999:
            continue  # only walls along the axes are drawn
        a, b = (i for i in range(3) if i != k)
        u, v = np.meshgrid([low[a], high[a]], [low[b], high[b]])
        plane = np.empty((3, 2, 2))
        plane[a], plane[b], plane[k] = u, v, point[k]
        axes.plot_surface(*(1e3 * plane), alpha=0.15, color="0.5")
    axes.set(xlabel="x (mm)", ylabel="y (mm)", zlabel="z (mm)", title="the tool's way")
    axes.view_init(elev=25, azim=40)
