"""Report of the tour over a wall on the TAU device: what happens at the borders of the operating points' subspaces."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from haptic_experiments.experiments.tau_angled_wall import Numbers as SlideNumbers
from haptic_experiments.experiments.tau_angled_wall import measure as measure_slides
from haptic_experiments.experiments.tau_angled_wall import slide_claim
from haptic_experiments.kit import tau
from haptic_experiments.kit.figures import Curve, Panel, panels
from haptic_experiments.kit.results import Claims
from haptic_experiments.kit.wall_run import WallRun

#: number of averaged ticks before and after a tick, which cuts the effect of the encoders' counts to a third
WINDOW = 4
_SETTLING = 0.1  #: time after the beginning of a slide in which the force steps without a border [s]
#: ratio of the mean jumps at the borders and elsewhere: least of switched gains, largest of interpolated ones
JUMPS, SMOOTH = 4.0, 2.0
SUBSPACES = 9  #: subspaces of a plane with 27 operating points


@dataclass(frozen=True)
class Borders:
    """Jumps at the borders of the operating points, and elsewhere, in the slides; means, NaN without any."""

    operating_points: list[int]  #: operating points of the slides in contact
    crossed: int  #: number of borders crossed
    effort_at: float  #: mean jump of a joint's effort at the borders [N m]
    effort_elsewhere: float  #: mean jump of a joint's effort elsewhere [N m]
    largest_effort_at: float  #: largest jump of a joint's effort at the borders [N m]
    force_at: float  #: mean jump of the walls' force at the borders [N]
    force_elsewhere: float  #: mean jump of the walls' force elsewhere [N]
    largest_force_at: float  #: largest jump of the walls' force at the borders [N]


@dataclass(frozen=True)
class Numbers(SlideNumbers):
    """Numbers of one run."""

    borders: Borders  #: jumps at the borders


def measure(run: WallRun) -> Numbers:
    """Measures one run."""
    return Numbers(**vars(measure_slides(run)), borders=borders(run))


def _claims(claims: Claims, run: WallRun, n: Numbers) -> None:
    crossing_claim(claims, run, n.borders)
    border_claim(claims, run, n.borders)
    slide_claim(claims, run, n.slides)
    tau.tap_claim(claims, run, n)


def jumps(run: WallRun) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Measures the change of effort and force about each tick of the slides.

    Returns:
        Ticks' indices (m,), flags of a change of the operating point (m,), and the jumps (m, 2): the largest change of
        a joint's effort [N m] and the change of the walls' force on the tool [N], each the mean of the next `WINDOW`
        ticks less that of the last.
    """
    ticks, at, sizes = [], [], []
    for _, part in run.parts("slide"):
        change = np.flatnonzero(np.diff(run.operating_point[part])) + 1 + part.start
        for k in range(part.start + round(_SETTLING / run.period), part.stop - WINDOW):
            here = bool((change == k).any())
            if not run.in_contact[k - WINDOW : k + WINDOW].any(axis=1).all():
                continue
            if not here and len(change) and np.abs(change - k).min() <= 3 * WINDOW:
                continue
            row = []
            for signal in (run.effort, run.wrench):
                step = signal[k : k + WINDOW].mean(axis=0) - signal[k - WINDOW : k].mean(axis=0)
                row.append(float(np.abs(step).max() if signal is run.effort else np.linalg.norm(step)))
            ticks.append(k)
            at.append(here)
            sizes.append(row)
    return np.array(ticks, dtype=int), np.array(at, dtype=bool), np.reshape(sizes, (-1, 2))


def borders(run: WallRun) -> Borders:
    """Measures the jumps of `jumps` at the borders and elsewhere."""
    ticks, at, sizes = jumps(run)
    points = np.unique(run.operating_point[ticks]) if len(ticks) else np.empty(0, dtype=int)
    none = [math.nan, math.nan]
    mean, elsewhere = (sizes[flags].mean(axis=0).tolist() if flags.any() else none for flags in (at, ~at))
    largest = sizes[at].max(axis=0).tolist() if at.any() else none
    effort, force = zip(mean, elsewhere, largest, strict=True)
    return Borders(points.tolist(), int(at.sum()), *effort, *force)


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


analyse = partial(tau.wall_report, measure=measure, claim=_claims, figure=_figure, caption=_CAPTION)
