"""Number of operating points, 1 to 125, with switched and with interpolated gains, at constant pushes and sliding."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from tau_wall_control.device.parameters import TauParameters
from tau_wall_control.device.tau_device import TauDevice
from tau_wall_control.simulation.monte_carlo import FIGURES, Design, query_points
from tau_wall_control.study.settings import Answer, Finding, Grid, Results, StudySettings, Task
from tau_wall_control.walls import Plane, WallRenderer

PER_AXIS = (1, 2, 3, 4, 5)
#: name and scheme; all of them over the same grids
KINDS = {"switched": "mopc", "interpolated": "scheduled", "stiff": "stiff"}
#: slide: speed along each axis [m/s], normal force [N], time at rest before [s]
SPEED, PRESSING, REST = 0.04, 5.0, 0.25
#: sliding hand: stiffness [N/m], damping [N s/m], and of its wrist [N m/rad], [N m s/rad]
HAND, WRIST = (800.0, 10.0), (1.0, 0.02)


#: figures by kind of gains and number of points per axis
Numbers = dict[str, dict[int, dict[str, float]]]


@dataclass(frozen=True)
class Slide:
    """Slide of a hand that presses the tool against the wall, across all subspaces along x and y.

    Attributes:
        parameters: parameters of the device.
        design: design of the controller.
    """

    parameters: TauParameters
    design: Design

    def run(self) -> dict[str, np.ndarray]:
        """Simulates the slide.

        Returns:
            Per period `torque` (n, 6) [N m], `position` (n, 3) [m] and the operating point, `switches` (n,); and the
            cost of the controller, `memory` [bytes] and `design_time` [s].
        """
        device = TauDevice(self.parameters)
        controller = self.design.controller(self.parameters)
        period, z = controller.period, self.parameters.wall.plane_z
        far = 0.44 * self.parameters.workspace.cube_edge
        walls = WallRenderer(controller, (Plane((0.0, 0.0, z), (0.0, 0.0, 1.0)),))
        state = device.state((-far, -far, z))
        walls.reset(state.joints()[0])
        torques, positions, points = [], [], []
        for k in range(round((REST + 2.0 * far / SPEED) / period)):
            seen = walls.step(*state.joints())
            R, w = state.rotation, state.twist[3:]
            rotation = 0.5 * np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
            target = -far + SPEED * max(0.0, k * period - REST)
            force = HAND[0] * (target - state.position) - HAND[1] * state.twist[:3]
            force[2] = -PRESSING
            torques.append(seen.torque)
            positions.append(state.position.copy())
            points.append(seen.operating_point)
            state.step(seen.torque, np.concatenate([force, -WRIST[0] * rotation - WRIST[1] * w]), period)
        return {
            "torque": np.array(torques),
            "position": np.array(positions),
            "switches": np.array(points),
            "memory": np.array(controller.memory_bytes),
            "design_time": np.array(controller.design_time),
        }


def tasks(settings: StudySettings) -> dict[str, Task]:
    """Returns constant pushes at query points between the operating points, and slides."""
    rows, columns = settings.grid[:2]
    points = query_points(settings.tau, rows, columns)
    work: dict[str, Task] = {}
    for kind, scheme in KINDS.items():
        for n in settings.thin(PER_AXIS):
            design = Design(scheme, per_axis=n)
            work[f"wall-{kind}-{n}"] = settings.pushes(design, points)
            work[f"slide-{kind}-{n}"] = Slide(settings.tau.parameters, design)
    return work


def _jump(slide: dict[str, np.ndarray], period: float) -> float:
    """Returns the largest change of a torque from sample to sample during the slide [N m]."""
    moving = slide["torque"][round(REST / period) :]
    return float(np.abs(np.diff(moving, axis=0)).max())


def answer(settings: StudySettings, results: Results) -> Answer:
    """Makes table and curves over the number of points."""
    numbers, timings = _numbers(settings, results)
    metrics: dict[str, Any] = {k: {str(n**3): row for n, row in by.items()} for k, by in numbers.items()}
    result = Answer(metrics, timings=timings)
    result.tables.append(_table(numbers, timings))
    result.figures["grids"] = (
        partial(_figure, settings, numbers, results),
        "Above: what more operating points bring, at the query points and sliding (below 1e-3 µm: drawn "
        "there). Below: a slide across the wall "
        f"under {PRESSING:g} N; the vertical lines are borders of subspaces.",
    )
    if 3 in settings.thin(PER_AXIS):
        result.findings += _findings(numbers, max(settings.thin(PER_AXIS)))
    return result


def _design_time(kind: str, n: int) -> str:
    """Returns the name of a design's time."""
    return f"design of {KINDS[kind]}, {n**3} points"


def _numbers(settings: StudySettings, results: Results) -> tuple[Numbers, dict[str, float]]:
    """Returns the figures of each kind of gains and number of points per axis, and the times of the designs [s]."""
    period = settings.tau.parameters.control.sample_time
    numbers: Numbers = {}
    timings: dict[str, float] = {}
    for kind in KINDS:
        for n in settings.thin(PER_AXIS):
            figures = results[f"wall-{kind}-{n}"]["figures"][:, 0]
            slide = results[f"slide-{kind}-{n}"]
            depth = slide["position"][round(REST / period) :, 2]
            numbers.setdefault(kind, {})[n] = {
                "stiffness_min": float(figures[:, FIGURES.index("stiffness")].min()),
                "penetration_mean": float(figures[:, FIGURES.index("max_penetration")].mean()),
                "initial_deviation_max": float(figures[:, FIGURES.index("initial_deviation")].max()),
                "slide_torque_jump": _jump(slide, period),
                "slide_wobble": float(depth.max() - depth.min()),
                "memory": int(slide["memory"]),
            }
            timings[_design_time(kind, n)] = float(slide["design_time"])
    return numbers, timings


def _table(numbers: Numbers, timings: dict[str, float]) -> Grid:
    header = (
        "gains",
        "points",
        "lowest K [kN/m]",
        "mean pen. [mm]",
        "initial [µm]",
        "torque jump sliding [mN m]",
        "wobble sliding [µm]",
        "memory [kB]",
        "design [s]",
    )
    rows = [
        (
            kind,
            str(n**3),
            f"{1e-3 * r['stiffness_min']:.2f}",
            f"{1e3 * r['penetration_mean']:.4f}",
            f"{1e6 * r['initial_deviation_max']:.2f}",
            f"{1e3 * r['slide_torque_jump']:.2f}",
            f"{1e6 * r['slide_wobble']:.1f}",
            f"{1e-3 * r['memory']:.1f}",
            f"{timings[_design_time(kind, n)]:.2f}",
        )
        for kind, by in numbers.items()
        for n, r in by.items()
    ]
    return Grid("Grids of operating points", header, rows)


def _findings(numbers: Numbers, finest: int) -> list[Finding]:
    switched, smooth = numbers["switched"][3], numbers["interpolated"][3]
    gain = 1.0 - numbers["switched"][finest]["penetration_mean"] / switched["penetration_mean"]
    from_one = 1.0 - switched["penetration_mean"] / numbers["switched"][1]["penetration_mean"]
    return [
        Finding(
            "27 operating points are probably enough (the paper's discussion)",
            f"1 to 27 points: mean penetration {100 * from_one:.1f} % less; 27 to {finest**3}: {100 * gain:.1f} %",
            bool(gain < from_one),
        ),
        Finding(
            "interpolated gains with exact gravity do not jump while sliding",
            f"largest change of a torque between samples {1e3 * smooth['slide_torque_jump']:.2f} mN m, switched "
            f"{1e3 * switched['slide_torque_jump']:.1f} mN m; wobble {1e6 * smooth['slide_wobble']:.1f} and "
            f"{1e6 * switched['slide_wobble']:.1f} µm",
            bool(5.0 * smooth["slide_torque_jump"] < switched["slide_torque_jump"]),
        ),
    ]


def _figure(settings: StudySettings, numbers: Numbers, results: Results) -> Figure:
    figure = Figure(figsize=(13.0, 8.0), layout="constrained")
    parts = figure.subfigures(2, 1)
    above, below = parts[0], parts[1]  # type: ignore[index]
    panels = (
        ("penetration_mean", 1e3, "mean penetration [mm]"),
        ("initial_deviation_max", 1e6, "largest initial deviation [µm]"),
        ("slide_torque_jump", 1e3, "largest torque jump, sliding [mN m]"),
    )
    for axes, (key, scale, words) in zip(above.subplots(1, 3), panels, strict=True):
        for i, (kind, by) in enumerate(numbers.items()):
            values = [max(scale * r[key], 1e-3) for r in by.values()]
            axes.plot([n**3 for n in by], values, "o-", color=f"C{i}", label=kind)
        axes.set(xlabel="operating points", ylabel=words, xscale="log", yscale="linear" if "mean" in key else "log")
        axes.set_xticks([n**3 for n in by], [str(n**3) for n in by])
        axes.minorticks_off()
        axes.grid(alpha=0.3)
    axes.legend(fontsize=9)
    middle = 3 if 3 in settings.thin(PER_AXIS) else settings.thin(PER_AXIS)[0]
    period = settings.tau.parameters.control.sample_time
    left, right = below.subplots(1, 2)
    for i, kind in enumerate(KINDS):
        slide = results[f"slide-{kind}-{middle}"]
        t = period * np.arange(len(slide["torque"]))
        late = t >= 0.8 * REST
        left.plot(t[late], 1e3 * slide["torque"][late, 1], color=f"C{i}", label=kind, lw=1.0)
        right.plot(t[late], 1e6 * slide["position"][late, 2], color=f"C{i}", lw=1.0)
        if kind == "switched":
            for k in np.flatnonzero(np.diff(slide["switches"])):
                for axes in (left, right):
                    axes.axvline(t[k + 1], color="0.8", lw=0.8, zorder=0)
    left.set(xlabel="t [s]", ylabel="torque of pitch 1 [mN m]", title=f"sliding, {middle**3} points")
    right.set(xlabel="t [s]", ylabel="deviation from the wall [µm]", title=f"sliding, {middle**3} points")
    left.legend(fontsize=9)
    return figure
