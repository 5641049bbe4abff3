"""Report of the tour over a wall on the TAU device: what happens at the borders of the operating points' subspaces."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from haptic_bags.bags import Bag
from haptic_experiments.experiments.tau_angled_wall import Numbers as SlideNumbers
from haptic_experiments.experiments.tau_angled_wall import measure as measure_slides
from haptic_experiments.experiments.tau_angled_wall import slide_claim
from haptic_experiments.kit import tau
from haptic_experiments.kit.figures import Curve, Panel, panels
from haptic_experiments.kit.results import Claims, Report
from haptic_experiments.kit.wall_run import WallRun
from tau_wall_control.simulation import border_jumps
from tau_wall_control.simulation.border_jumps import WINDOW, Borders

#: ratio of the mean jumps at the borders and elsewhere: least of switched gains, largest of interpolated ones
JUMPS, SMOOTH = 4.0, 2.0
SUBSPACES = 9  #: subspaces of a plane with 27 operating points


@dataclass(frozen=True)
class Numbers(SlideNumbers):
    """Numbers of one run."""

    borders: Borders  #: jumps at the borders


def measure(run: WallRun) -> Numbers:
    """Measures one run."""
    return Numbers(**vars(measure_slides(run)), borders=borders(run))


def analyse(bags: dict[str, Bag]) -> Report:
    """Makes the report of one or more bags of the experiment."""
    return tau.wall_report(bags, measure, _claims, _figure, _CAPTION)


def _claims(claims: Claims, run: WallRun, n: Numbers) -> None:
    crossing_claim(claims, run, n.borders)
    border_claim(claims, run, n.borders)
    slide_claim(claims, run, n.slides)
    tau.tap_claim(claims, run, n)


def jumps(run: WallRun) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Measures the jumps of the slides, see `border_jumps.jumps`."""
    return border_jumps.jumps(run, [part for _, part in run.parts("slide")], run.period)


def borders(run: WallRun) -> Borders:
    """Measures the jumps at the borders and elsewhere."""
    return border_jumps.borders(run, [part for _, part in run.parts("slide")], run.period)


def crossing_claim(claims: Claims, run: WallRun, found: Borders) -> None:
    """Adds the claim that the tool is in all nine subspaces of the paper's plane."""
    p, count = run.parameters, len(found.operating_points)
    per_axis = len(p["wall_normals"]) == 3 and p["per_axis"] in (0, 3)
    other = p["scheme"] == "sopc" or p["controller_file"] or not per_axis
    claims.say(
        f"The tool crosses all subspaces of the wall in contact ({run.name}).",
        f"{count} of {SUBSPACES} subspaces, {found.crossed} borders",
        count == SUBSPACES,
        unless=f"{count} operating points in use; not the paper's 27" if other else "",
    )


def border_claim(claims: Claims, run: WallRun, found: Borders) -> None:
    """Adds the claim that switched gains jump at the borders, and that interpolated ones do not."""
    switched = run.parameters["scheme"] == "mopc"
    text = (
        f"Switching between operating points (the paper's MOPC) jumps at the borders ({run.name})."
        if switched
        else f"Interpolated gains and the weight of the pose itself do not jump at the borders ({run.name})."
    )
    if math.isnan(found.effort_at) or run.parameters["controller_file"]:
        claims.say(text, "no border was crossed")
        return
    ratio = found.effort_at / found.effort_elsewhere
    claims.say(
        text,
        f"effort {1e3 * found.effort_at:.1f} mN m (largest {1e3 * found.largest_effort_at:.1f}), elsewhere "
        f"{1e3 * found.effort_elsewhere:.1f}: {ratio:.1f} times (limit {JUMPS if switched else SMOOTH:g}); force "
        f"{found.force_at:.2f} N, elsewhere {found.force_elsewhere:.2f} N",
        ratio > JUMPS if switched else ratio < SMOOTH,
    )


_CAPTION = (
    "Left: path of the tool in contact, coloured by the operating point in use, and the subspaces' borders. Right: "
    f"jumps of the efforts while the tool slides (means of {WINDOW} ticks after and before), circles where the "
    "operating point changes. Below: distance of the true tool from the wall (negative inside), taps. Shaded: slides "
    "(blue), the fingers open (green), the tool is sped up for a tap (orange)."
)


def _figure(runs: dict[str, WallRun]) -> Figure:
    run = next(iter(runs.values()))
    limits = {"aspect": "equal", "xlim": (-26, 26), "ylim": (-26, 26), "title": "in contact"}
    path = Panel("y (mm)", (), "x (mm)", limits, extra=partial(_draw_subspaces, run))
    dots, legend = list[Curve](), {"loc": "upper right", "markerscale": 5}
    for i, one in enumerate(runs.values()):
        ticks, at, sizes = jumps(one)
        time, size, style = one.time[ticks], 1e3 * sizes[:, 0], {"color": f"C{i}", "linestyle": ""}
        if len(ticks):
            dots.append(Curve(time, size, one.name, {**style, "marker": ".", "markersize": 1.5}))
            dots.append(Curve(time[at], size[at], style={**style, "marker": "o", "fillstyle": "none"}))
    title = {"title": "while sliding"}
    return panels(
        [path, Panel("jump of the efforts (mN m)", dots, settings=title, shaded=run, legend=legend)],
        tau.depth_panel(runs),
        [tau.zoom_panel(runs, f"tap {k}, let go", 0.005, 0.03) for k in (1, 2, 3)],
        size=(14, 11),
        height_ratios=(4, 3, 3),
    )


def _draw_subspaces(run: WallRun, axes: Axes) -> None:
    """Draws the path in contact, coloured by operating point, and the borders of the subspaces."""
    touched = run.in_contact.any(axis=1)
    x, y = 1e3 * run.position[touched, :2].T
    axes.scatter(x, y, c=run.operating_point[touched], cmap="tab20", s=3)
    for edge in (-12.5, 12.5):
        axes.axvline(edge, color="0.5", linewidth=0.8, linestyle="--")
        axes.axhline(edge, color="0.5", linewidth=0.8, linestyle="--")
