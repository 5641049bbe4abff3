"""Charts of one or two recorded runs: each signal over the whole time, with a vertical line at the moment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import viser

from haptic_viewer.curves import MOST_CURVES, Curve, Curves
from haptic_viewer.plots import SIGNALS, Signal, add_chart
from haptic_viewer.recorded_run import RecordedRun

#: points of a curve
_POINTS = 400
#: colours of the first run's tool and of the second's, red, green, blue, 0 to 255
RUN_COLORS = ((34, 139, 34), (214, 30, 160))
#: colours of the second run's curves, in the order of the first run's red, green, blue, orange, violet and cyan
_SECOND = ("#f78fb3", "#8c6d1f", "#7f3fd6", "#8a8a8a", "#d65fd6", "#1b3a6b")
_MOMENT = Curve(-1, "moment", "#444444")


def short_names(runs: Sequence[RecordedRun]) -> list[str]:
    """Returns the parts in which the names of runs differ; the whole names if a run has no such part."""
    parts = [run.name.replace("/", "-").split("-") for run in runs]
    differing = [[word for word in words if not all(word in other for other in parts)] for words in parts]
    names = ["-".join(words) for words in differing]
    return names if all(names) and len(set(names)) == len(names) else [run.name for run in runs]


class RunChart:
    """Chart of one signal of one run, or of two.

    Args:
        times: times of the curves (n,) [s].
        tables: values (n, k) of the curves of each run; k is 0 if the run lacks the signal.
        curves: curves of each run.

    Attributes:
        curves: curves of all runs, and last the line at the moment.
        ends: limits of the vertical axis.
    """

    def __init__(self, times: np.ndarray, tables: Sequence[np.ndarray], curves: Sequence[Sequence[Curve]]) -> None:
        self._times = times
        self._columns = [
            table[:, curve.number]
            for table, chosen in zip(tables, curves, strict=True)
            for curve in chosen
            if curve.number < table.shape[1]
        ]
        values = np.concatenate([column[np.isfinite(column)] for column in self._columns] or [np.zeros(0)])
        low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)
        margin = 0.05 * (high - low) or 1.0
        self.ends = low - margin, high + margin
        self.curves = [curve for chosen in curves for curve in chosen] + [_MOMENT]

    def data(self, moment: float) -> tuple[np.ndarray, ...]:
        """Returns times (n + 2,), the values of each curve, and a vertical line at a moment [s]."""
        index = int(np.searchsorted(self._times, moment))

        def widened(values: np.ndarray, *two: float) -> np.ndarray:
            return np.insert(values, [index, index], two)

        shown = [widened(column, *([np.interp(moment, self._times, column)] * 2)) for column in self._columns]
        line = widened(np.full(len(self._times), np.nan), *self.ends)
        return (widened(self._times, moment, moment), *shown, line)


class RunCharts:
    """Charts of all signals of the first run.

    Args:
        gui: GUI of the page.
        place: tab of the charts, entered with `with`.
        runs: first run, and optionally a second one with the same topics below its namespace.
        curves: names and colours of the first run's curves.

    Attributes:
        moment: moment that the charts show [s].
    """

    def __init__(self, gui: viser.GuiApi, place: Any, runs: Sequence[RecordedRun], curves: Curves) -> None:
        self._runs, self._curves, self._names = runs, curves, short_names(runs)
        self._times = np.linspace(min(run.start for run in runs), max(run.end for run in runs), _POINTS)
        self.moment = float(self._times[0])
        if runs[0].device is not None:
            curves.set_names("joints", [joint.name for joint in runs[0].device.joints])
        self._charts: list[tuple[RunChart, Any]] = []
        for topic, kind in runs[0].kinds.items():
            name = topic.removeprefix(runs[0].prefix)
            for signal in SIGNALS[kind]:
                chart = self._chart(name, kind, signal)
                if len(chart.curves) > 1:
                    node = name.rpartition("/")[0].partition("/")[0]
                    title = f"{node}: {signal.title}" if node else signal.title
                    with place:
                        made = add_chart(
                            gui, f"{title} [{signal.unit}]", chart.data(self.moment), chart.curves, chart.ends
                        )
                    self._charts.append((chart, made))

    def _chart(self, name: str, kind: str, signal: Signal) -> RunChart:
        most = MOST_CURVES // len(self._runs)
        tables, chosen = [], []
        for index, run in enumerate(self._runs):
            topic = f"{run.prefix}{name}"
            table = np.zeros((len(self._times), 0))
            if run.kinds.get(topic) == kind:
                table = run.signal(topic, signal, self._times)
            tables.append(table)
            curves = self._curves.of(signal.of, table.shape[1])[:most] if table.shape[1] else []
            chosen.append([self._curve_of_run(curve, index, number) for number, curve in enumerate(curves)])
        return RunChart(self._times, tables, chosen)

    def _curve_of_run(self, curve: Curve, index: int, number: int) -> Curve:
        """Returns a curve with the name of its run, and the colour of the second run; unchanged for a single run."""
        if len(self._runs) == 1:
            return curve
        color = curve.color if index == 0 else _SECOND[number % len(_SECOND)]
        return replace(curve, name=f"{curve.name}, {self._names[index]}", color=color)

    def show(self, moment: float) -> None:
        """Moves the line of each chart to a moment [s]."""
        self.moment = moment
        for chart, made in self._charts:
            made.data = chart.data(moment)
