"""The page of a recorded run: a timeline of its bag, and optionally a second run. No ROS node is started."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import viser

from haptic_core.errors import HapticError
from haptic_core.messages import pose_array
from haptic_viewer.keys import add_key
from haptic_viewer.layout import LAST_FOLDERS, Layout
from haptic_viewer.page import address, open_page
from haptic_viewer.picture import Picture
from haptic_viewer.recorded_bodies import RecordedBodies
from haptic_viewer.recorded_run import RecordedRun
from haptic_viewer.recorded_walls import RecordedWalls
from haptic_viewer.run_curves import RUN_COLORS, RunCharts, short_names
from haptic_viewer.scene import Node
from haptic_viewer.share import SharePanel
from haptic_viewer.stage import CameraPanel
from haptic_viewer.text import PlainText, Strong, plain

#: rate of the frames, and of the charts [Hz]
_RATE, _CHART_RATE = 20.0, 5.0
#: playback speeds as multiples of real time [-]
SPEEDS = ("0.05", "0.1", "0.25", "0.5", "1", "2", "4")
#: points of the path of a tool, and duration of the drawn path before the moment [s]
_PATH_POINTS, _PATH_TIME = 4000, 2.0
#: radius of the ball at a tool, and width of its path [m]
_BALL, _WIDTH = 0.0025, 0.0012
_BODIES, _WALLS = "haptic_msgs/msg/BodyStates", "haptic_msgs/msg/WallState"


class RunsDifferError(HapticError):
    """Two runs that cannot be shown beside each other.

    Attributes:
        hint: advice to the user.
    """

    hint = "both runs must be of one device, such as two runs of one experiment"


class Playhead:
    """Moment of the recording that is shown.

    Args:
        start, end: times of the recording [s].
        now: steady clock [s].

    Attributes:
        speed: playback speed as a multiple of real time [-].
        plays: True while the recording plays.
    """

    def __init__(self, start: float, end: float, now: Callable[[], float] = time.monotonic) -> None:
        self._start, self._end, self._now = start, end, now
        self._time, self._since = start, now()
        self.speed, self.plays = 1.0, False

    @property
    def moment(self) -> float:
        """Time of the recording that is shown [s]; the recording stops at its end."""
        now = self._now()
        if self.plays:
            self._time += self.speed * (now - self._since)
        self._since = now
        if self._time >= self._end:
            self._time, self.plays = self._end, False
        return self._time

    def go_to(self, moment: float) -> None:
        """Shows a moment [s], limited to the recording."""
        self._time, self._since = min(max(moment, self._start), self._end), self._now()

    def set_speed(self, speed: float) -> None:
        """Sets the speed [-] from now on."""
        self._time, self.speed = self.moment, speed

    def toggle(self) -> None:
        """Starts or pauses the recording; from its start if the end is shown."""
        moment = self.moment
        if not self.plays and moment >= self._end:
            self.go_to(self._start)
        self.plays = not self.plays


class PlaybackPanel:
    """Slider, speed and button of the playhead.

    Args:
        gui: GUI of the page.
        playhead: playhead that the panel controls.
        start, end: times of the recording [s].
    """

    def __init__(self, gui: viser.GuiApi, playhead: Playhead, start: float, end: float) -> None:
        self._playhead = playhead
        with gui.add_folder("Time", order=LAST_FOLDERS["Time"]):
            step = max((end - start) / 2000.0, 1e-4)
            self._slider: Any = gui.add_slider("time [s]", start, max(end, start + step), step, start)
            self._button: Any = gui.add_button("play", hint="space plays and pauses")
            speed: Any = gui.add_dropdown("speed", SPEEDS, initial_value="1", hint="over real time")
            self._words = PlainText(gui)
        add_key(gui, "Play or pause", "space", playhead.toggle)

        @self._slider.on_update
        async def _(event: viser.GuiEvent) -> None:
            if event.client is not None:  # a user, not `show`
                playhead.go_to(float(event.target.value))

        @self._button.on_click
        async def _(_: viser.GuiEvent) -> None:
            playhead.toggle()

        @speed.on_update
        async def _(event: viser.GuiEvent) -> None:
            playhead.set_speed(float(event.target.value))

    def show(self, moment: float, tick: int) -> None:
        """Shows the moment [s], its tick, and the label of the button."""
        if self._playhead.plays:
            self._slider.value = round(moment, 4)
        label = "pause" if self._playhead.plays else "play"
        if self._button.label != label:
            self._button.label = label
        self._words.show(f"tick {tick}, {moment:.3f} s of the recording")


class ToolPath:
    """Tool of a run as a ball, with the last part of its path as a line.

    Args:
        scene: scene of the page.
        name: parent of the shapes in the scene.
        run: run of the tool.
        color: red, green, blue, 0 to 255.
    """

    def __init__(self, scene: viser.SceneApi, name: str, run: RecordedRun, color: tuple[int, int, int]) -> None:
        self._run = run
        self._times = np.linspace(run.start, run.end, min(_PATH_POINTS, 2 + round((run.end - run.start) / run.period)))
        self.points = run.path(self._times)
        self._ball = Node(scene.add_icosphere(f"{name}/ball", radius=_BALL, color=color, visible=False))
        pieces = np.zeros((1, 2, 3), dtype=np.float32)
        self._line = Node(scene.add_line_segments(f"{name}/path", pieces, color, thickness=_WIDTH, visible=False))

    def show(self, moment: float) -> None:
        """Draws the tool at a time [s]: nothing before the first tick, its last position after the last tick."""
        last = min(int(np.searchsorted(self._times, moment, side="right")), len(self.points))
        first = int(np.searchsorted(self._times, moment - _PATH_TIME))
        part = self.points[min(first, last) : last].astype(np.float32)
        state = self._run.message(f"{self._run.prefix}device_state", moment)
        self._ball.set(visible=state is not None)
        if state is not None:
            self._ball.set(position=tuple(pose_array(state.tool_pose)[:3].tolist()))
        if len(part) > 1:
            self._line.set(points=np.stack([part[:-1], part[1:]], axis=1))
        self._line.set(visible=len(part) > 1)


class Playback:
    """Page of one run, or of two.

    Args:
        server: server of the page.
        runs: run that is shown completely, and optionally a second one of which tool and curves are shown.

    Raises:
        RunsDifferError: the poses of the tools are given in different frames.
    """

    def __init__(self, server: viser.ViserServer, runs: Sequence[RecordedRun]) -> None:
        run = runs[0]
        for other in runs[1:]:
            if other.base_frame != run.base_frame:
                raise RunsDifferError(
                    f"{other.name}: expected the base frame {run.base_frame} of {run.name}, got {other.base_frame}"
                )
        self._server, self._run = server, run
        self._errors: dict[str, str] = {}
        layout, gui = Layout(server), server.gui
        gui.set_panel_label(plain(run.prefix.strip("/") or "haptics"))
        with gui.add_folder("Recording"):
            named = [f"{name}: {one.name}" for name, one in zip(short_names(runs), runs, strict=True)]
            PlainText(gui, *(Strong(run.name),) if len(runs) == 1 else ("\n".join(named),))
            self._words = PlainText(gui)
        start, end = min(one.start for one in runs), max(one.end for one in runs)
        self.playhead = Playhead(start, end)
        self._panel = PlaybackPanel(gui, self.playhead, start, end)
        self._paths = [
            ToolPath(server.scene, f"/tools/{index}", one, RUN_COLORS[index]) for index, one in enumerate(runs)
        ]
        self._picture = self._make_picture()
        self._camera = CameraPanel(gui, self._picture.stage.look)
        SharePanel(gui, run.name.partition("/")[0])
        self._drawings = self._make_drawings()
        self._shown, self._drawn = start, 0.0
        self._draw(start)  # sets the colours of the bodies, which their curves have as well
        self._charts = RunCharts(gui, layout.signals, runs, self._picture.curves)

    def _make_picture(self) -> Picture:
        run = self._run
        taps: Any = None  # the messages come from the bag
        picture = Picture(self._server, taps, run.prefix, None, self._guarded)
        if run.about:
            self._guarded("device", picture.meet, run.about)
        if run.device is not None:
            self._guarded("robot_description", picture.describe, run.device.robot_description())
        for source, parameters in run.parameters().items():
            self._guarded(source, picture.set_parameters, source, parameters)
        if run.scene is not None:
            self._guarded("scene", picture.set_scene, run.scene)
        markers = [self._markers_of(topic) for topic, kind in run.kinds.items() if kind in (_BODIES, _WALLS)]
        picture.offer(run.kinds, markers, [point for path in self._paths for point in path.points])
        return picture

    @staticmethod
    def _markers_of(topic: str) -> str:
        return f"{topic.rpartition('/')[0]}/markers"

    def _make_drawings(self) -> dict[str, RecordedBodies | RecordedWalls]:
        run, found = self._run, dict[str, RecordedBodies | RecordedWalls]()
        parameters: Mapping[str, Mapping[str, Any]] = run.parameters()
        makers: dict[str, Callable[..., RecordedBodies | RecordedWalls]] = {_WALLS: RecordedWalls}
        if run.scene is not None:
            makers[_BODIES] = partial(RecordedBodies, run.scene)
        for topic, kind in run.kinds.items():
            if kind in makers:
                node = topic.removeprefix(run.prefix).rpartition("/")[0]
                make = partial(makers[kind], run.base_frame, node, parameters.get(node, {}))
                self._guarded(topic, lambda topic=topic, make=make: found.update({topic: make()}))
        return found

    def _guarded(self, what: str, show: Callable[..., None], *arguments: Any) -> None:
        """Shows a part of the bag; an error is shown on the page, and the other parts are shown."""
        try:
            show(*arguments)
        except Exception as error:  # a bag may have any content
            if what not in self._errors:
                self._errors[what] = f"not shown: {what}: {' '.join(str(error).split())}"
                self._words.show("\n".join(self._errors.values()))

    def frame(self) -> None:
        """Draws the moment if it, or a setting of the forces, differs from the last frame."""
        moment = self.playhead.moment
        self._panel.show(moment, round(moment / self._run.period))
        now = time.monotonic()
        if moment != self._shown or self._picture.outdated:
            self._shown = moment
            self._draw(moment)
        if now - self._drawn > 1.0 / _CHART_RATE and self._charts.moment != moment:
            self._drawn = now
            self._charts.show(moment)

    def _draw(self, moment: float) -> None:
        messages = self._run.at(moment)
        for topic, drawing in self._drawings.items():
            if topic in messages:
                self._guarded(topic, partial(self._add_markers, messages, topic, drawing))
        self._picture.show_moment(messages)
        for path in self._paths:
            path.show(moment)
        self._camera.show_square(self._picture.stage.square)

    def _add_markers(self, messages: dict[str, Any], topic: str, drawing: Any) -> None:
        messages[self._markers_of(topic)] = drawing.markers(messages[topic])

    def spin(self) -> None:
        """Draws frames until the process is interrupted."""
        while True:
            start = time.monotonic()
            if self._server.get_clients():
                self.frame()
            time.sleep(max(0.0, start + 1.0 / _RATE - time.monotonic()))


def show_runs(paths: Sequence[Path], options: Mapping[str, str]) -> None:
    """Shows recorded runs as a page until the process is interrupted.

    Args:
        paths: path of a bag or run, and optionally of a second one.
        options: view_host, view_port and view_token of the page.

    Raises:
        BagError: a path is not a bag of a run.
        RunsDifferError: see `Playback`.
        PageError: the page cannot be opened.
    """
    for path in paths:
        print(f"reading {path}", flush=True)
    runs = [RecordedRun(path) for path in paths]
    server = open_page(options["view_host"], int(options["view_port"]), options["view_token"])
    try:
        playback = Playback(server, runs)
        print(f"the page is at {address(server, options['view_host'], options['view_token'])}", flush=True)
        with suppress(KeyboardInterrupt):
            playback.spin()
    finally:
        server.stop()
