"""Panels of a report's figure: curves with labels and units, phases of the hand shaded."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from haptic_experiments.kit.phases import PhasedRun
from haptic_experiments.kit.signals import phases
from haptic_files.moved_modules import renamed

__getattr__ = renamed(__name__, {"shade_stretches": "shade_true"})

#: colour of each kind of phase
PHASE_COLOURS = {"push": "tab:red", "slide": "tab:blue", "release": "tab:green", "tap": "tab:orange"}

#: line of a closed form or a limit beside measured curves
DASHED: dict[str, Any] = {"color": "black", "linestyle": "--"}


@dataclass(frozen=True)
class Curve:
    """One line of a panel."""

    x: np.ndarray  #: values (n,), in the unit of the axis' label
    y: np.ndarray  #: values (n,), in the unit of the axis' label
    label: str = ""  #: entry of the legend; none if empty
    style: Mapping[str, Any] = field(default_factory=dict)  #: arguments of matplotlib's ``plot``

    @classmethod
    def level(cls, x: np.ndarray, value: float, label: str = "", **style: Any) -> Curve:
        """Makes a horizontal line at a value, from the first to the last entry of x (n,); empty without entries."""
        ends = x[[0, -1]] if len(x) else np.zeros(0)
        return cls(ends, np.full(len(ends), value), label, style)


@dataclass(frozen=True)
class Panel:
    """One pair of axes."""

    ylabel: str  #: quantity and unit
    curves: Sequence[Curve]  #: lines of the panel
    xlabel: str = "time (s)"  #: quantity and unit
    #: arguments of matplotlib's ``Axes.set``, for example limits and scales
    settings: Mapping[str, Any] = field(default_factory=dict)
    shaded: PhasedRun | None = None  #: the run whose phases are shaded
    #: arguments of matplotlib's ``legend``, which is drawn if a curve has a label; None: no legend
    legend: Mapping[str, Any] | None = field(default_factory=dict)
    title: str = ""  #: title; none if empty
    #: draws objects that are no curves, for example a limit's line or a body in space; called after the curves
    extra: Callable[[Axes], object] | None = None
    note: str = ""  #: text in a panel without data; none if empty

    def draw(self, axes: Axes) -> None:
        """Draws the panel."""
        for curve in self.curves:
            axes.plot(curve.x, curve.y, **{"linewidth": 0.8, **curve.style}, label=curve.label or None)
        if self.extra is not None:
            self.extra(axes)
        if self.note and not axes.has_data():
            axes.text(0.5, 0.5, self.note, ha="center", va="center", transform=axes.transAxes)
        title = {"title": self.title} if self.title else {}
        axes.set(**{"xlabel": self.xlabel, "ylabel": self.ylabel, **title, **self.settings})
        if self.shaded is not None:
            shade(axes, self.shaded)
        if self.legend is not None and any(curve.label for curve in self.curves):
            axes.legend(**{"fontsize": "small", **self.legend})


def panels(
    *rows: Panel | Sequence[Panel], size: tuple[float, float], left: Panel | None = None, **layout: Any
) -> Figure:
    """Makes a figure of panels, row by row.

    Args:
        *rows: a panel over the whole width, or the panels of a row, which divide it evenly.
        size: width and height [inch].
        left: a panel over the whole height at the left; the rows divide the rest.
        **layout: arguments of matplotlib's ``subplot_mosaic``, for example ``height_ratios``; the panels are named
            ``left``, and ``i.j`` for panel j of row i.
    """
    table = [[row] if isinstance(row, Panel) else list(row) for row in rows]
    width = int(np.lcm.reduce([len(row) for row in table]))
    names: list[Any] = [
        ["left"] * (width if left is not None else 0)
        + [f"{i}.{j}" for j in range(len(row)) for _ in range(width // len(row))]
        for i, row in enumerate(table)
    ]
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplot_mosaic(names, **layout)
    if left is not None:
        left.draw(axes["left"])
    for i, row in enumerate(table):
        for j, panel in enumerate(row):
            panel.draw(axes[f"{i}.{j}"])
    return figure


def mark(axes: Axes, *, x: Sequence[float] = (), y: Sequence[float] = (), **style: Any) -> None:
    """Draws lines over the whole panel at values of x and of y; for `Panel.extra`."""
    line = {"color": "black", "linewidth": 0.6, **style}
    for value in x:
        axes.axvline(value, **line)
    for value in y:
        axes.axhline(value, **line)


def shade(axes: Axes, run: PhasedRun, kinds: Sequence[str] = tuple(PHASE_COLOURS)) -> None:
    """Marks the phases of some kinds of a run, each kind in its colour."""
    for phase in run.phases:
        if phase["kind"] in kinds and phase["start"] < run.time[-1]:
            end = min(phase["end"], run.time[-1])
            axes.axvspan(phase["start"], end, color=PHASE_COLOURS[phase["kind"]], alpha=0.10, linewidth=0)


def make_room(axes: Axes, fraction: float = 0.25) -> None:
    """Raises the upper limit by a fraction of the range, as room for a legend; for `Panel.extra`."""
    low, high = axes.get_ylim()
    axes.set_ylim(low, high + fraction * (high - low))


def shade_true(axes: Axes, time: np.ndarray, flags: np.ndarray, shortest: float, color: str) -> None:
    """Marks the intervals in which flags are true.

    Args:
        axes: axes over time.
        time: times [s], shape (n,), equally spaced.
        flags: flags, shape (n,).
        shortest: length of the shortest interval that is marked [s].
        color: color of the intervals.
    """
    for start, end in phases(flags, max(1, round(shortest / float(time[1] - time[0])))):
        axes.axvspan(time[start], time[end - 1], color=color, zorder=0)


def legend_or_note(axes: Axes, note: str, **legend: Any) -> None:
    """Draws the legend of the labelled lines, or a note in the middle of axes without any line."""
    if axes.get_legend_handles_labels()[0]:
        axes.legend(**legend)
    elif not axes.has_data():
        axes.text(0.5, 0.5, note, ha="center", va="center", transform=axes.transAxes)
