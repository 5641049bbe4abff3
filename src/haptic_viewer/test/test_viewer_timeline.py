"""The last minute of the page, and the way back in it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from recorded_gui import Gui
from sensor_msgs.msg import JointState
from visualization_msgs.msg import Marker, MarkerArray

from haptic_viewer import picture as picture_module
from haptic_viewer.picture import Picture
from haptic_viewer.timeline import WINDOW, Timeline, TimePanel


def test_a_moment_has_the_newest_message_of_each_topic_before_it() -> None:
    timeline = Timeline()
    for n in range(20):
        timeline.add("a", 0.5 * n, n)
    timeline.add("b", 3.2, "late")
    assert timeline.at(2.6) == {"a": 5, "b": "late"}
    assert timeline.at(4.0) == {"a": 8, "b": "late"} and timeline.at(-1.0)["a"] == 0


def test_a_minute_is_kept_and_no_more_than_ten_messages_a_second() -> None:
    timeline = Timeline()
    for n in range(10_000):
        timeline.add("a", 0.01 * n, n)
    kept = timeline._messages["a"]
    assert kept[-1][0] - kept[0][0] <= WINDOW and len(kept) <= 10 * WINDOW + 1
    assert timeline.at(99.9)["a"] == pytest.approx(9990, abs=11)


def test_the_moment_stands_still_until_the_slider_is_back() -> None:
    now = [100.0]
    panel = TimePanel(Gui(), lambda: now[0])  # type: ignore[arg-type]
    assert panel.moment is None
    panel.go_back(10.0)
    now[0] = 130.0
    assert panel.moment == 90.0
    panel.go_back(20.0)
    assert panel.moment == 80.0
    panel.go_back(0.0)
    assert panel.moment is None
    panel.go_back(1.0)
    assert panel.moment == 129.0


class Server:
    """Stands for viser's server: keeps objects by name."""

    def __init__(self) -> None:
        self.gui, self.made, self.scene = Gui(), dict[str, Any](), self

    def atomic(self) -> Any:
        return self.gui

    def __getattr__(self, method: str) -> Any:
        def add(name: str, *_: Any, **options: Any) -> Any:
            self.made[name] = SimpleNamespace(**options)
            return self.made[name]

        return add


def test_the_scene_goes_back_and_returns(monkeypatch: pytest.MonkeyPatch) -> None:
    newest: dict[str, Any] = {}
    taps = SimpleNamespace(open=lambda *_: None, newest=lambda topic: newest.pop(topic, None))
    server, now = Server(), [50.0]
    monkeypatch.setattr(picture_module.time, "monotonic", lambda: now[0])
    picture = Picture(server, taps, "/tau/", Gui(), lambda _, show, *given: show(*given))  # type: ignore[arg-type]
    built: list[np.ndarray] = []
    stage: Any = SimpleNamespace(build=lambda points, _: built.append(np.array(points)), follow=lambda _: None)
    picture.stage = stage
    picture.look_around({"/tau/wall/markers": "visualization_msgs/msg/MarkerArray"})

    def place() -> np.ndarray:
        return np.array(server.made["/markers/tau/wall/markers/ball/0"].position)

    def draw_at(x: float) -> None:
        now[0] += 1.0
        marker = Marker(ns="ball", type=Marker.SPHERE)
        marker.pose.position.x, marker.color.a = x, 1.0
        newest.update({"/tau/wall/markers": MarkerArray(markers=[marker]), "/tau/joint_states": JointState()})
        picture.draw()

    for x in (1.0, 2.0, 3.0):
        draw_at(x)
    assert place()[0] == 3.0
    assert picture.time_panel is not None
    picture.time_panel.go_back(1.5)
    draw_at(4.0)
    assert place()[0] == 1.0
    picture.time_panel.go_back(0.0)
    draw_at(5.0)
    assert place()[0] == 5.0
    # the camera is put there once: a body that moves does not move it
    assert len(built) == 1
    # a node whose shapes come later is seen, too
    picture.look_around({"/tau/contact/markers": "visualization_msgs/msg/MarkerArray"})
    marker = Marker(ns="table", type=Marker.CUBE)
    marker.pose.position.z, marker.color.a = -3.0, 1.0
    newest["/tau/contact/markers"] = MarkerArray(markers=[marker])
    draw_at(6.0)
    draw_at(7.0)
    assert len(built) == 2
    np.testing.assert_allclose((built[1].min(axis=0), built[1].max(axis=0)), [(0.0, 0.0, -3.0), (6.0, 0.0, 0.0)])
    # a setting that a user changes while the run stands still is seen at once
    picture._panel._patches.value = True
    picture.draw()
    assert server.made["/markers/tau/wall/markers/ball/0"].opacity < 1.0
