"""Report of the corner of walls on the TAU device."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from mpl_toolkits.mplot3d import Axes3D

from haptic_bags.bags import Bag
from haptic_experiments.experiments.tau_angled_wall import Numbers, measure
from haptic_experiments.kit import tau
from haptic_experiments.kit.figures import Curve, Panel
from haptic_experiments.kit.results import Claims, Report
from haptic_experiments.kit.wall_run import WallRun


def analyse(bags: dict[str, Bag]) -> Report:
    """Makes the report of one or more bags of the experiment."""
    return tau.wall_report(bags, measure, _claims, _figure, _CAPTION)


def _claims(claims: Claims, run: WallRun, n: Numbers) -> None:
    tau.rest_claim(claims, run, n)
    together_claim(claims, run)
    tau.release_claim(claims, run, n)


def together_claim(claims: Claims, run: WallRun) -> None:
    """Adds the claim that each wall that the hand pushes into carries its part of the push."""
    worst, words, borne = 0.0, [], True
    for phase, part in run.parts("push"):
        late = slice(part.stop - (part.stop - part.start) // 4, part.stop - 2)
        hand, wall = -run.hand[late].mean(axis=0) @ run.normals.T, run.force[late].mean(axis=0)
        touched = run.in_contact[late].mean(axis=0) > 0.5
        worst = max(worst, float(np.abs(np.where(touched, wall - hand, 0.0)).max()))
        parts = " + ".join(f"{force:.1f}" for force in wall[touched])
        words.append(f"{phase['name']}: {parts} N" if parts else f"{phase['name']}: no wall")
        borne &= bool(touched.any())
    claims.below(
        f"Each wall carries its own part of the push, one, two or three at once ({run.name}).",
        worst if borne else np.inf,
        OFF,
        "N",
        about=f"{'; '.join(words)}; off the hand's by at most",
        unless="" if words else "no push",
    )


OFF = 0.4  #: largest error of a wall's force: the Coulomb friction of 0.005 N m in each joint, at the tool [N]

_CAPTION = (
    "Left: path of the tool and the walls. Right: distance of the true tool from each wall (negative inside) and the "
    "walls' forces, in the run without delay. Shaded: pushes (red), slides (blue), fingers open (green). Below: the "
    "same forces with delay, and the push into the corner."
)


def _figure(runs: dict[str, WallRun]) -> Figure:
    figure = Figure(figsize=(14, 11), layout="constrained")
    grid = figure.add_gridspec(3, 3)
    first, last = next(iter(runs.values())), list(runs.values())[-1]
    _draw_path(figure.add_subplot(grid[:2, 0], projection="3d"), first)
    count = len(first.normals)
    names = ["x = -10 mm", "y = -10 mm", "z = 0"] if count == 3 else [f"wall {i + 1}" for i in range(count)]
    rows: tuple[tuple[str, WallRun, np.ndarray, tuple[float, float], float], ...] = (
        ("distance (mm)", first, -1e3 * first.depth, (-0.5, 0.5), 0.8),
        ("force (N)", first, first.force, (-2.0, 20.0), 0.6),
        ("force (N)", last, last.force, (-2.0, 20.0), 0.6),
    )
    for row, (words, run, values, limits, width) in enumerate(rows):
        curves = [Curve(run.time, values[:, i], name, {"linewidth": width}) for i, name in enumerate(names)]
        settings = {"ylim": limits, "title": run.name}
        panel = Panel(words, curves, settings=settings, shaded=first, legend={"loc": "upper right"})
        panel.draw(figure.add_subplot(grid[row, 1:]))
    tau.zoom_panel({"": first}, "the corner", 0.01, 0.06, names).draw(figure.add_subplot(grid[2, 0]))
    return figure


def _draw_path(axes: Axes3D, run: WallRun) -> None:
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
    axes.set(xlabel="x (mm)", ylabel="y (mm)", zlabel="z (mm)", title="path of the tool")
    axes.view_init(elev=25, azim=40)
