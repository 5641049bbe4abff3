"""Plots of the page: signals of messages over time."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from recorded_gui import Gui

from haptic_msgs.msg import BodyStates, ContactArray, WallState
from haptic_msgs.msg import Scene as SceneMessage
from haptic_viewer.curves import MOST_CURVES, Curves
from haptic_viewer.plots import SIGNALS, WINDOW, Plot


class Plots(Gui):
    """Keeps the charts that are made."""

    def add_uplot(self, data: Any, series: Any, **options: Any) -> Any:
        item = SimpleNamespace(data=data, series=series, **options)
        item.remove = lambda: self.made.pop(options["title"])
        self.made[options["title"]] = item
        return item


def plot_of(kind: str, place: int = 0, curves: Curves | None = None) -> tuple[Plot, Plots]:
    gui = Plots()
    return Plot(gui, gui, SIGNALS[kind][place], "wall", (curves or Curves()).of), gui  # type: ignore[arg-type]


def test_a_plot_shows_the_last_seconds_in_its_unit() -> None:
    plot, gui = plot_of("haptic_msgs/msg/WallState")
    for n in range(600):
        plot.add(0.05 * n, WallState(penetration=[1e-3 * n, 0.0]))
    plot.draw()
    (chart,) = gui.made.values()
    time, first, second = chart.data
    assert time[-1] == 0.05 * 599 and time[-1] - time[0] == pytest.approx(WINDOW, abs=0.051)
    np.testing.assert_allclose(first, time / 0.05)  # [mm]
    assert not second.any() and [s["label"] for s in chart.series] == ["t [s]", "wall 1", "wall 2"]
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


def test_curves_have_the_names_of_the_joints_and_legends_no_empty_values() -> None:
    curves = Curves()
    curves.set_names("joints", ["motor_1", "motor_2", "elbow_1"])  # a passive joint comes last
    plot, gui = plot_of("haptic_msgs/msg/WallState", 1, curves)
    for time in (0.0, 0.1):
        plot.add(time, WallState(effort=[1.0, 2.0]))
    plot.draw()
    (chart,) = gui.made.values()
    assert [s["label"] for s in chart.series] == ["t [s]", "motor_1", "motor_2"]
    assert chart.title == "wall: efforts of the motors [N m]" and chart.legend == {"show": True, "live": False}


def test_bodies_that_move_have_curves_in_their_colours_and_their_names_come_late() -> None:
    curves = Curves(color_of={"ball": (1, 2, 255)}.get)
    plot, gui = plot_of("haptic_msgs/msg/BodyStates", 0, curves)
    for time in (0.0, 0.1):
        plot.add(time, BodyStates(velocity=[0.0, 0.0, 0.0, 3.0, 0.0, 4.0]))
    plot.draw()
    (chart,) = gui.made.values()
    assert [s["label"] for s in chart.series] == ["t [s]", "body 1", "body 2"]
    curves.set_scene(SceneMessage(name=["table", "ball"], mass=[0.0, 1.0]))
    plot.add(0.2, BodyStates(velocity=[0.0, 0.0, 0.0, 3.0, 0.0, 4.0]))
    plot.draw()
    (chart,) = gui.made.values()
    assert [s["label"] for s in chart.series] == ["t [s]", "ball"] and chart.series[1]["stroke"] == "#0102ff"
    np.testing.assert_allclose(chart.data[1], 5.0)


def test_plot_has_only_as_many_curves_as_can_be_distinguished() -> None:
    plot, gui = plot_of("haptic_msgs/msg/WallState")
    for time in (0.0, 0.1):
        plot.add(time, WallState(penetration=[0.0] * 20))
    plot.draw()
    (chart,) = gui.made.values()
    assert len(chart.data) == len(chart.series) == MOST_CURVES + 1


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
