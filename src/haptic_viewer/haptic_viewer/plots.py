"""Live plots of the main signals of messages."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import viser
from viser import uplot

from haptic_core.messages import pose_array, wrench_array
from haptic_viewer.curves import MOST_CURVES, Curve
from haptic_viewer.text import plain

#: time that a plot shows [s]
WINDOW = 10.0
_POINTS = 400
#: padding around the curves: top, right, bottom, left [pixel]; half of an axis's last number extends into it
_PADDING = (10, 14, 0, 0)
#: width of the numbers of the vertical axis, height of those of the horizontal axis, length of a tick mark, gap [pixel]
_NUMBERS_WIDTH, _NUMBERS_HEIGHT, _MARK, _GAP = 48, 30, 4, 4
_HEIGHT = 150


@dataclass(frozen=True)
class Signal:
    """Plotted numbers of a message.

    Attributes:
        title: title of the plot.
        unit: unit of the vertical axis.
        values: function that returns the numbers of a message.
        of: list of `curves.Curves` with the names of the numbers; empty for a single number.
    """

    title: str
    unit: str
    values: Callable[[Any], Sequence[float]]
    of: str = ""


def _norms(flat: Any) -> list[float]:
    return [float(n) for n in np.linalg.norm(np.asarray(flat, dtype=float).reshape(-1, 3), axis=1)]


def _scaled(factor: float, values: Any) -> list[float]:
    return [factor * float(value) for value in values]


def _contact_forces(message: Any) -> list[float]:
    normal = np.asarray(message.normal_impulse) / message.period
    tangential = np.linalg.norm(np.asarray(message.tangential_impulse).reshape(-1, 3), axis=1) / message.period
    return [float(normal.sum()), float(tangential.sum())]


#: plotted signals by message type; other types are not plotted
SIGNALS: dict[str, tuple[Signal, ...]] = {
    "haptic_msgs/msg/DeviceState": (
        Signal("position of the tool", "mm", lambda m: _scaled(1e3, pose_array(m.tool_pose)[:3]), "axes"),
    ),
    "haptic_msgs/msg/SimulationState": (
        Signal("force of the hand", "N", lambda m: wrench_array(m.operator_wrench)[:3].tolist(), "axes"),
    ),
    "haptic_msgs/msg/FrictionState": (
        Signal("friction force", "N", lambda m: list(m.force), "elements"),
        Signal("elastic displacement", "mm", lambda m: _scaled(1e3, m.elastic_displacement), "elements"),
    ),
    "haptic_msgs/msg/ConstrainedReference": (
        Signal("kinetic energy", "mJ", lambda m: [1e3 * m.kinetic_energy]),
        Signal("constraint forces", "J over the constraint's unit", lambda m: list(m.multipliers), "constraints"),
    ),
    "haptic_msgs/msg/BodyStates": (Signal("speed of the bodies", "m/s", lambda m: _norms(m.velocity), "bodies"),),
    "haptic_msgs/msg/ContactArray": (Signal("sum of contact forces", "N", _contact_forces, "directions"),),
    "haptic_msgs/msg/WallState": (
        Signal("penetration of each wall", "mm", lambda m: _scaled(1e3, m.penetration), "walls"),
        Signal("efforts of the motors", "N m", lambda m: list(m.effort), "joints"),
    ),
    "haptic_msgs/msg/PassivityState": (Signal("energy at the port", "mJ", lambda m: [1e3 * m.energy]),),
}


class Plot:
    """Plot of one signal over the last `WINDOW` seconds.

    Args:
        gui: GUI of the page.
        place: folder of the page, entered with `with`.
        signal: plotted signal.
        subject: node that publishes the signal, for the title; empty: none.
        curves: function that returns the curves of `n` numbers of the list `Signal.of`.
    """

    def __init__(
        self, gui: viser.GuiApi, place: Any, signal: Signal, subject: str, curves: Callable[[str, int], Sequence[Curve]]
    ) -> None:
        self._gui, self._folder, self._signal, self._curves = gui, place, signal, curves
        self._subject = f"{subject}: " if subject else ""
        self._handle: Any = None
        self._shown: Sequence[Curve] = ()
        self._rows: deque[tuple[float, ...]] = deque(maxlen=_POINTS)
        self._changed = False

    def add(self, time: float, message: Any) -> None:
        """Adds a message of this time [s]; a time before the last one clears the plot."""
        values = self._signal.values(message)
        if not values:
            return
        if self._rows and (time < self._rows[-1][0] or len(values) + 1 != len(self._rows[-1])):
            self._rows.clear()
        if self._rows and time - self._rows[-1][0] < WINDOW / _POINTS:
            return
        self._rows.append((time, *values))
        while self._rows[-1][0] - self._rows[0][0] > WINDOW:
            self._rows.popleft()
        self._changed = True

    def draw(self) -> None:
        """Sends the curves if they have changed."""
        if not self._changed or len(self._rows) < 2:
            return
        self._changed = False
        table = np.array(self._rows)
        curves = list(self._curves(self._signal.of, table.shape[1] - 1))[:MOST_CURVES]
        data = tuple(np.ascontiguousarray(table[:, n]) for n in (0, *(curve.number + 1 for curve in curves)))
        if self._handle is None or curves != self._shown:
            self.remove()
            self._shown, self._handle = curves, self._make(data, curves) if curves else None
        else:
            self._handle.data = data

    def remove(self) -> None:
        """Removes the plot from the page."""
        if self._handle is not None:
            self._handle.remove()
            self._handle = None

    def _make(self, data: tuple[np.ndarray, ...], curves: Sequence[Curve]) -> Any:
        with self._folder:
            return add_chart(self._gui, f"{self._subject}{self._signal.title} [{self._signal.unit}]", data, curves)


def add_chart(
    gui: viser.GuiApi,
    title: str,
    data: tuple[np.ndarray, ...],
    curves: Sequence[Curve],
    ends: tuple[float, float] | None = None,
) -> Any:
    """Adds a chart to the panel that is entered with `with`.

    Args:
        gui: GUI of the page.
        title: title with the unit of the vertical axis.
        data: times [s], then the values of each curve; all of shape (n,), NaN where a curve has no value.
        curves: names and colours. A single curve has no legend.
        ends: limits of the vertical axis, required for data with NaN; None: those of the data.

    Returns:
        Handle of the chart, whose `data` can be replaced.
    """
    dots = uplot.Series_Points(show=False)  # uplot draws circles when there are few points
    series = [uplot.Series(label=plain(c.name), stroke=c.color, width=1.5, points=dots) for c in curves]
    return gui.add_uplot(
        data,
        (uplot.Series(label="t [s]"), *series),
        title=plain(title),
        scales={"x": uplot.Scale(time=False), **({"y": uplot.Scale(range=ends)} if ends is not None else {})},
        axes=tuple(
            uplot.Axis(size=size, gap=_GAP, ticks={"size": _MARK}) for size in (_NUMBERS_HEIGHT, _NUMBERS_WIDTH)
        ),
        legend=uplot.Legend(show=len(curves) > 1, live=False),
        padding=_PADDING,
        height=_HEIGHT,
    )
