"""Plots of the page: signals of messages over time."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from recorded_gui import Gui

from haptic_msgs.msg import ContactArray, WallState
from haptic_viewer.plots import SIGNALS, WINDOW, Plot


class Plots(Gui):
    """Keeps the charts that are made."""

    def add_uplot(self, data: Any, series: Any, **options: Any) -> Any:
        item = SimpleNamespace(data=data, series=series, **options)
        item.remove = lambda: self.made.pop(options["title"])
        self.made[options["title"]] = item
        return item


def plot_of(kind: str, place: int = 0) -> tuple[Plot, Plots]:
    gui = Plots()
    return Plot(gui, gui, SIGNALS[kind][place], "wall"), gui  # type: ignore[arg-type]


def test_a_plot_shows_the_last_seconds_in_its_unit() -> None:
    plot, gui = plot_of("haptic_msgs/msg/WallState")
    for n in range(600):
        plot.add(0.05 * n, WallState(penetration=[1e-3 * n, 0.0]))
    plot.draw()
    (chart,) = gui.made.values()
    time, first, second = chart.data
    assert time[-1] == 0.05 * 599 and time[-1] - time[0] == pytest.approx(WINDOW, abs=0.051)
    np.testing.assert_allclose(first, time / 0.05)  # [mm]
    assert not second.any() and [s["label"] for s in chart.series] == ["t [s]", "1", "2"]
    assert chart.title == "wall: penetration of each wall [mm]"


def test_a_plot_begins_anew_when_time_does_and_when_there_are_other_curves() -> None:
    plot, gui = plot_of("haptic_msgs/msg/WallState")
    for time, walls in ((5.0, 2), (6.0, 2), (0.0, 2), (0.1, 2)):
        plot.add(time, WallState(penetration=[0.0] * walls))
    plot.draw()
    (chart,) = gui.made.values()
    np.testing.assert_array_equal(chart.data[0], [0.0, 0.1])
    for time in (0.2, 0.3):
        plot.add(time, WallState(penetration=[0.0] * 3))
    plot.draw()
    (chart,) = gui.made.values()
    assert len(chart.data) == 4
    plot.add(0.4, WallState())  # no wall, no point
    plot.draw()
    assert len(chart.data[0]) == 2


def test_contact_forces_are_impulses_over_the_period() -> None:
    message = ContactArray(
        period=0.002, normal_impulse=[0.01, 0.03], tangential_impulse=[0.003, 0.004, 0.0, 0.0, 0.0, 0.0]
    )
    (signal,) = SIGNALS["haptic_msgs/msg/ContactArray"]
    np.testing.assert_allclose(signal.values(message), [20.0, 2.5], rtol=1e-12)


@pytest.mark.parametrize("kind", SIGNALS)
def test_every_signal_can_be_read_from_an_empty_message(kind: str) -> None:
    from haptic_viewer.taps import message_class

    for signal in SIGNALS[kind]:
        message = message_class(kind)()
        if hasattr(message, "period"):
            message.period = 1e-3
        assert all(isinstance(value, float) for value in signal.values(message))
        json.dumps(list(signal.values(message)))
