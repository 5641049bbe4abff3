"""Report of the angled wall on the TAU device."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from matplotlib.figure import Figure

from haptic_bags.bags import Bag
from haptic_experiments.kit import tau
from haptic_experiments.kit.figures import Curve, Panel, panels
from haptic_experiments.kit.results import Claims, Report, key
from haptic_experiments.kit.wall_run import WallNumbers, WallRun, wall_numbers
from tau_wall_control.simulation import recorded_contacts
from tau_wall_control.simulation.recorded_contacts import measure_slide

STIFF = 2e4  #: least stiffness that a step of the hand's force meets [N/m]


@dataclass(frozen=True)
class Slide(recorded_contacts.Slide):
    """A slide along the walls; its displacement has another name in metrics.json."""

    displacement: float = field(metadata=key("way"))  #: displacement of the tool, from the beginning on [m]


@dataclass(frozen=True)
class Numbers(WallNumbers):
    """Numbers of one run."""

    slides: list[Slide]


def measure(run: WallRun) -> Numbers:
    """Measures one run."""
    return Numbers(**vars(wall_numbers(run)), slides=slides(run))


def analyse(bags: dict[str, Bag]) -> Report:
    """Makes the report of one or more bags of the experiment."""
    return tau.wall_report(bags, measure, _claims, _figure, _CAPTION)


def _claims(claims: Claims, run: WallRun, n: Numbers) -> None:
    tau.rest_claim(claims, run, n)
    tau.stiffness_claim(claims, run, n, STIFF)
    slide_claim(claims, run, n.slides)
    tau.release_claim(claims, run, n)
    tau.tap_claim(claims, run, n)


def slides(run: WallRun) -> list[Slide]:
    """Measures each slide."""
    found = [measure_slide(run, part, phase["name"], run.period) for phase, part in run.parts("slide")]
    return [Slide(**vars(slide)) for slide in found]


def slide_claim(claims: Claims, run: WallRun, all_slides: list[Slide]) -> None:
    """Adds the claim that the tool is free along the walls, or has the friction of the parameters."""
    wanted = run.parameters["friction_coefficient"]
    found = [slide for slide in all_slides if not math.isnan(slide.friction)]
    words = ", ".join(f"{slide.friction:.3f} over {1e3 * slide.displacement:.0f} mm" for slide in found)
    contact = min((slide.contact for slide in found), default=0.0)
    claims.say(
        f"Along the wall the tool is free, or held back by the friction asked for, {wanted:g} ({run.name}).",
        f"coefficient of friction {words} (limit {FRICTION:g} from it); in contact for {100 * contact:.1f} % (limit "
        f"{100 * CONTACT:g} %)",
        all(abs(slide.friction - wanted) < FRICTION for slide in found) and contact > CONTACT,
        unless="" if found else "no slide in contact",
    )


#: largest error of the coefficient, by the lag of the measured velocity and the rounding of the measured pose
FRICTION = 0.05
CONTACT = 0.99  #: least fraction of a slide in contact

_CAPTION = (
    "Left: path of the tool in the plane x = 0 and the wall. Right: distance of the true tool from the wall (negative "
    "inside), force along the normal, effort of the most loaded motor. Shaded: pushes (red), slides (blue), fingers "
    "open (green), the tool is sped up for a tap (orange). Below: the step of 9 N and the tap with open fingers."
)


def _figure(runs: dict[str, WallRun]) -> Figure:
    rows = (tau.depth_panel(runs), tau.force_panel(runs), tau.effort_panel(runs))
    zooms = [tau.zoom_panel(runs, "step 9 N", 0.005, 0.06), tau.zoom_panel(runs, "tap, let go", 0.005, 0.03)]
    run = next(iter(runs.values()))
    point, normal = run.points[0], run.normals[0]
    z, y = 1e3 * (point[[2, 1]] + np.outer([-0.025, 0.025], [normal[1], -normal[2]])).T
    path = Panel(
        "y (mm)",
        [
            Curve(1e3 * run.position[:, 2], 1e3 * run.position[:, 1]),
            Curve(z, y, style={"color": "k", "linewidth": 1.5}),
        ],
        "z (mm), towards the user",
        {"title": "path of the tool", "aspect": "equal"},
    )
    ratios = {"height_ratios": (3, 3, 2, 4), "width_ratios": (0.5, 0.5, 1.0, 1.0)}
    return panels(*rows, zooms, left=path, size=(14, 11), **ratios)
