"""Report of the wall on the TAU device that is pushed at a point."""

from __future__ import annotations

from matplotlib.figure import Figure

from haptic_bags.bags import Bag
from haptic_experiments.kit import tau
from haptic_experiments.kit.figures import panels
from haptic_experiments.kit.results import Claims, Report
from haptic_experiments.kit.wall_run import WallNumbers, WallRun, wall_numbers

#: least stiffness that a step of the hand's force meets [N/m]; the links of a real device would yield above about this
STIFF = 2e4


def analyse(bags: dict[str, Bag]) -> Report:
    """Makes the report of one or more bags of the experiment."""
    return tau.wall_report(bags, wall_numbers, _claims, _figure, _CAPTION)


def _claims(claims: Claims, run: WallRun, n: WallNumbers) -> None:
    tau.rest_claim(claims, run, n)
    tau.stiffness_claim(claims, run, n, STIFF)
    tau.release_claim(claims, run, n)
    tau.tap_claim(claims, run, n)


_CAPTION = (
    "Top to bottom: distance of the true tool from the wall (negative inside), force along the normal, effort of the "
    "most loaded motor. Shaded: pushes (red), the fingers open (green), the tool is sped up for a tap (orange). Below: "
    "the step of 13 N, the release under 13 N, and the tap with open fingers."
)


def _figure(runs: dict[str, WallRun]) -> Figure:
    zooms = [
        tau.zoom_panel(runs, "step 13 N", 0.005, 0.06),
        tau.zoom_panel(runs, "let go", 0.005, 0.03),
        tau.zoom_panel(runs, "tap, let go", 0.005, 0.03),
    ]
    rows = (tau.depth_panel(runs), tau.force_panel(runs), tau.effort_panel(runs))
    return panels(*rows, zooms, size=(13, 12), height_ratios=(3, 3, 2, 4))
