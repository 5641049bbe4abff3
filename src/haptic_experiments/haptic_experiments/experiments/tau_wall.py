"""Report of the wall on the TAU device that is pushed at a point."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

from haptic_bags.bags import Bag
from haptic_experiments.kit import tau
from haptic_experiments.kit.tau import WallRun
from haptic_experiments.report import Claim, Report

#: what every step of the hand must meet [N/m]; above some 20 kN/m a real device's links would give way
STIFF = 2e4


def analyse(bags: dict[str, Bag]) -> Report:
    """Metrics, claims and figure of one or more bags of the experiment."""
    runs = {name: WallRun.from_bag(bag) for name, bag in bags.items()}
    metrics = {name: tau.common_metrics(run) for name, run in runs.items()}
    claims: list[Claim] = []
    for name, run in runs.items():
        n = metrics[name]
        claims += [tau.rest_claim(run, n), tau.stiffness_claim(run, n, STIFF), tau.release_claim(run, n)]
        claims.append(tau.tap_claim(run, n))
    claims.append(tau.time_claim(runs))
    first = next(iter(runs.values()))
    return Report(
        {"runs": metrics}, claims, lambda: _figure(runs), _CAPTION + first.left_out, {"wall": first.parameters}
    )


_CAPTION = (
    "Top to bottom: distance of the true tool from the wall (negative inside), force along the normal, effort of the "
    "most loaded motor. Shaded: pushes (red), the fingers open (green), the tool is sped up for a tap (orange). Below: "
    "the step of 13 N, the release under 13 N, and the tap, which nobody holds."
)


def _figure(runs: dict[str, WallRun]) -> Figure:
    figure = Figure(figsize=(13, 12), layout="constrained")
    panels: list[Any] = [["depth"] * 3, ["force"] * 3, ["effort"] * 3, ["step", "release", "tap"]]
    axes = figure.subplot_mosaic(panels, height_ratios=(3, 3, 2, 4))
    tau.draw_depth(axes["depth"], runs)
    tau.draw_force(axes["force"], runs)
    axes["force"].set_ylim(-2.0, 30.0)
    tau.draw_saturation(axes["effort"], runs)
    tau.draw_zoom(axes["step"], runs, "step 13 N", 0.005, 0.06)
    tau.draw_zoom(axes["release"], runs, "let go", 0.005, 0.03)
    tau.draw_zoom(axes["tap"], runs, "tap, let go", 0.005, 0.03)
    return figure
