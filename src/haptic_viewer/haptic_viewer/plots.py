"""Live plots of the main signals: which ones a message has, and the curves."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import viser
from viser import uplot

from haptic_core.messages import pose_array, wrench_array
from haptic_viewer.text import plain

#: time that a plot shows [s]
WINDOW = 10.0
#: curves that a plot has at most
MOST_CURVES = 6
_COLORS = ("#d62728", "#2ca02c", "#1f77b4", "#ff7f0e", "#9467bd", "#17becf")
_POINTS = 400


@dataclass(frozen=True)
class Signal:
    """A plot of numbers of a message.

    Attributes:
        title: of the plot.
        unit: of its axis.
        values: from a message to the numbers.
        labels: of the curves; where there are too few, "1", "2" and so on.
    """

    title: str
    unit: str
    values: Callable[[Any], Sequence[float]]
    labels: tuple[str, ...] = ()


def _norms(flat: Any) -> list[float]:
    return [float(n) for n in np.linalg.norm(np.asarray(flat, dtype=float).reshape(-1, 3), axis=1)]


def _scaled(factor: float, values: Any) -> list[float]:
    return [factor * float(value) for value in values]


def _contact_forces(message: Any) -> list[float]:
    normal = np.asarray(message.normal_impulse) / message.period
    tangential = np.linalg.norm(np.asarray(message.tangential_impulse).reshape(-1, 3), axis=1) / message.period
    return [float(normal.sum()), float(tangential.sum())]


_XYZ = ("x", "y", "z")

#: by message type; what is not here is not plotted
SIGNALS: dict[str, tuple[Signal, ...]] = {
    "haptic_msgs/msg/DeviceState": (
        Signal("position of the tool", "mm", lambda m: _scaled(1e3, pose_array(m.tool_pose)[:3]), _XYZ),
    ),
    "haptic_msgs/msg/SimulationState": (
        Signal("force of the hand", "N", lambda m: wrench_array(m.operator_wrench)[:3].tolist(), _XYZ),
    ),
    "haptic_msgs/msg/FrictionState": (
        Signal("friction force", "N", lambda m: list(m.force)),
        Signal("elastic displacement", "mm", lambda m: _scaled(1e3, m.elastic_displacement)),
    ),
    "haptic_msgs/msg/ConstrainedReference": (
        Signal("kinetic energy", "mJ", lambda m: [1e3 * m.kinetic_energy], ("energy",)),
        Signal("constraint forces", "J over the constraint's unit", lambda m: list(m.multipliers)),
    ),
    "haptic_msgs/msg/BodyStates": (Signal("speed of the bodies", "m/s", lambda m: _norms(m.velocity)),),
    "haptic_msgs/msg/ContactArray": (Signal("sum of contact forces", "N", _contact_forces, ("normal", "tangential")),),
    "haptic_msgs/msg/WallState": (
        Signal("penetration of each wall", "mm", lambda m: _scaled(1e3, m.penetration)),
        Signal("efforts of the motors", "N m", lambda m: list(m.effort)),
    ),
    "haptic_msgs/msg/PassivityState": (Signal("energy at the port", "mJ", lambda m: [1e3 * m.energy], ("energy",)),),
}


class Plot:
    """One signal over the last `WINDOW` seconds.

    Args:
        gui: of the page.
        place: folder of the page, entered with `with`.
        signal: the plotted signal.
        subject: node that publishes it, for the title; empty: none.
    """

    def __init__(self, gui: viser.GuiApi, place: Any, signal: Signal, subject: str) -> None:
        self._gui, self._place, self._signal = gui, place, signal
        self._subject = f"{subject}: " if subject else ""
        self._handle: Any = None
        self._rows: deque[tuple[float, ...]] = deque(maxlen=_POINTS)
        self._changed = False

    def add(self, time: float, message: Any) -> None:
        """Takes a message of this time [s]; a time before the last one begins anew."""
        values = self._signal.values(message)[:MOST_CURVES]
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
        """Sends the curves where they have changed."""
        if not self._changed or len(self._rows) < 2:
            return
        self._changed = False
        data = tuple(np.ascontiguousarray(column) for column in np.array(self._rows).T)
        if self._handle is None or len(self._handle.data) != len(data):
            if self._handle is not None:
                self._handle.remove()
            self._handle = self._make(data)
        else:
            self._handle.data = data

    def remove(self) -> None:
        """Takes it from the page."""
        if self._handle is not None:
            self._handle.remove()

    def _make(self, data: tuple[np.ndarray, ...]) -> Any:
        labels = self._signal.labels
        names = labels if len(labels) >= len(data) - 1 else [str(place + 1) for place in range(len(data) - 1)]
        curves = [
            uplot.Series(label=name, stroke=color, width=1.5) for name, color in zip(names, _COLORS, strict=False)
        ][: len(data) - 1]
        with self._place:
            return self._gui.add_uplot(
                data,
                (uplot.Series(label="t [s]"), *curves),
                title=plain(f"{self._subject}{self._signal.title} [{self._signal.unit}]"),
                scales={"x": uplot.Scale(time=False)},
                legend=uplot.Legend(show=len(curves) > 1),
                height=170,
            )
