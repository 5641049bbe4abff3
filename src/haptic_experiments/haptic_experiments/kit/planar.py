"""Runs with a tool that a hand moves in a plane: measures and drawings of friction_impedance and _admittance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from haptic_bags.bags import Bag
from haptic_experiments.kit.phases import PhasedRun
from haptic_files.moved_modules import renamed

__getattr__ = renamed(
    __name__,
    {"travel": "box_diagonal", "radius_of_curvature": "haptic_friction.reference.lag:radius_of_curvature"},
)


@dataclass(frozen=True)
class PlanarRun(PhasedRun):
    """The signals of a run on common ticks, along x and y."""

    measured: np.ndarray  #: position of the tool by the encoders (n, 2) [m]
    position: np.ndarray  #: true position of the tool (n, 2) [m]
    velocity: np.ndarray  #: true velocity of the tool (n, 2) [m/s]
    force: np.ndarray  #: force (n, 2) [N]
    sticking: np.ndarray  #: flags (n,)


def reported_parameters(bag: Bag) -> dict[str, dict[str, Any]]:
    """Returns the parameters for a report's page: of friction and device node, and the device's and the hand's own."""
    started = bag.started("device")
    own = {name: started[name] for name in ("device", "hand") if started.get(name)}
    return {"friction": bag.parameters("friction"), "device": bag.parameters("device")} | own


def delay_words(mode: str, ticks: int) -> str:
    """Describes the delay of a run's commands, or "realtime"."""
    return "realtime" if mode == "realtime" else f"{ticks} tick{'' if ticks == 1 else 's'} of delay"


def box_diagonal(position: np.ndarray) -> float:
    """Computes the diagonal [m] of the box that positions (n, 2) fill."""
    return float(np.linalg.norm(np.ptp(position, axis=0)))


def draw_path(
    axes: Axes, run: PlanarRun, force: np.ndarray, *, every: float, scale: float, widths: tuple[float, float]
) -> None:
    """Draws the measured path, and a force on it as thin lines.

    Args:
        axes: axes in mm.
        run: run with the path.
        force: force (n, 2) [N].
        every: time between two lines [s].
        scale: drawn length of one newton [m/N].
        widths: widths of the path and of the lines [point].
    """
    axes.plot(*(1e3 * run.measured.T), color="0.7", linewidth=widths[0], solid_capstyle="round")
    step = max(1, round(every / run.period))
    start, lines = run.measured[::step], force[::step]
    ends = start + scale * lines
    x, y = (np.column_stack((1e3 * start[:, i], 1e3 * ends[:, i], np.full(len(start), np.nan))).ravel() for i in (0, 1))
    axes.plot(x, y, color="black", linewidth=widths[1])
    axes.set(xlabel="x (mm)", ylabel="y (mm)", aspect="equal")


def draw_position_and_force(axes: Axes, run: PlanarRun, symbol: str, width: float) -> Axes:
    """Draws the measured position over time, and the magnitude of the force in grey behind it, and shades the rests.

    Args:
        axes: axes over time.
        run: run.
        symbol: symbol of the force in the legend.
        width: width of its line [point].

    Returns:
        The axes of the force.
    """
    axes.plot(run.time, 1e3 * run.measured[:, 0], "k-", label="x")
    axes.plot(run.time, 1e3 * run.measured[:, 1], "k--", label="y")
    axes.set(xlabel="time (s)", ylabel="position (mm)")
    force: Axes = axes.twinx()  # type: ignore[assignment]
    force.plot(run.time, np.linalg.norm(run.force, axis=1), color="0.6", linewidth=width, label=f"||{symbol}||")
    force.set_ylabel(f"||{symbol}|| (N)")
    axes.set_zorder(force.get_zorder() + 1)
    axes.patch.set_visible(False)
    for phase in run.reached():
        if phase["kind"] == "rest":
            axes.axvspan(phase["start"], min(phase["end"], run.time[-1]), color="tab:red", alpha=0.08, linewidth=0)
    return force


def joint_legend(axes: Axes, force: Axes, **legend: Any) -> None:
    """Draws one legend of the lines of position and force."""
    handles = [line for of in (axes, force) for line in of.get_lines() if not str(line.get_label()).startswith("_")]
    axes.legend(handles, [str(line.get_label()) for line in handles], **legend)
