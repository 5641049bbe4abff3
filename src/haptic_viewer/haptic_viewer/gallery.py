"""The page with a gallery of scenes, and the viewer of the running scene."""

from __future__ import annotations

import os
import queue
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import viser
from rclpy.executors import Executor, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter

from haptic_core import process
from haptic_core.errors import HapticError
from haptic_launch.experiments import load_experiment
from haptic_launch.runner import IN_VIEW, LONGEST_RUN, parse_arguments
from haptic_viewer.frame_rate import make_pictures
from haptic_viewer.hands import Hands
from haptic_viewer.keys import add_scene_keys
from haptic_viewer.layout import Layout
from haptic_viewer.node import Viewer
from haptic_viewer.page import address, open_page
from haptic_viewer.scene_process import SceneProcess
from haptic_viewer.scenes import GalleryScene, scene_of, scene_of_file, touchable_scenes
from haptic_viewer.share import read_link
from haptic_viewer.text import PlainText, Strong, add_picture, plain

#: rate at which the gallery handles the actions of its users while no scene runs [Hz]
_IDLE_RATE = 20.0
#: increment of the page's nice value over that of the scene
_NICE = 10
#: arguments of every scene
_ARGUMENTS = [
    *("view:=false", "record:=false", f"duration:={LONGEST_RUN}"),
    *(f"{name}:={value}" for name, value in IN_VIEW.items()),
]
#: text beside the gallery, until a scene runs
_WELCOME = (
    "Each scene is a simulated haptic device in a simulated hand. Choose one on the left, then hold the handle and "
    "drag it: the hand follows, and the device renders what it touches."
)


class GalleryPanel:
    """Picture, title and button of each scene, and a line about the change from one scene to another.

    viser's thread calls the functions.

    Args:
        gui: GUI of the page.
        place: tab of the gallery, entered with `with`.
        scenes: scenes of the gallery.
        choose: called with the name of a scene.
        record: called with True to restart the running scene with a bag, False to restart it without one.
        open_file: called with name and content of a file that a user wants to touch.
    """

    def __init__(
        self,
        gui: viser.GuiApi,
        place: Any,
        scenes: Sequence[GalleryScene],
        choose: Callable[[str], None],
        record: Callable[[bool], None],
        open_file: Callable[[str, bytes], None],
    ) -> None:
        self._buttons: dict[str, Any] = {}
        with place:
            self._words = PlainText(gui, "Choose a scene; it runs until another one is chosen.")
            self._record: Any = gui.add_button("start anew and record", visible=False)
            self._stop: Any = gui.add_button("stop recording", visible=False)
            upload = gui.add_upload_button("touch a file", hint="mesh, URDF or MJCF; or drop one on the page")
            for scene in scenes:
                with gui.add_folder(plain(scene.name.replace("_", " "))):
                    if scene.picture is not None:
                        add_picture(gui, scene.picture.read_bytes())
                    PlainText(gui, scene.title)
                    self._buttons[scene.name] = button = gui.add_button("touch it")

                @button.on_click
                async def _(_: viser.GuiEvent, name: str = scene.name) -> None:
                    choose(name)

        @upload.on_upload
        async def _(event: viser.GuiEvent) -> None:
            open_file(event.target.value.name, event.target.value.content)

        @self._record.on_click
        async def _(_: viser.GuiEvent) -> None:
            record(True)

        @self._stop.on_click
        async def _(_: viser.GuiEvent) -> None:
            record(False)

    def say(self, *parts: str | Strong) -> None:
        """Shows a line above the scenes."""
        self._words.show(*parts)

    def mark(self, running: str, *, records: bool = False) -> None:
        """Disables the button of the running scene, and offers to record it; empty: no scene runs."""
        for name, button in self._buttons.items():
            button.disabled = name == running
        self._record.visible, self._stop.visible = bool(running) and not records, records


class Gallery(Node):
    """Page of the gallery, with the process and the viewer of the chosen scene.

    Args:
        options: host, port, token of the page.
        run: function that starts the process of a scene, from its name and arguments name:=value.
        first: name of the scene that is started at once, and its arguments; empty: none.
    """

    def __init__(
        self, options: Mapping[str, Any], run: Callable[[Sequence[str]], SceneProcess], first: Sequence[str]
    ) -> None:
        super().__init__("gallery", start_parameter_services=False, enable_rosout=False)
        self.finished, self.exit_code = False, 0
        self._options, self._run = options, run
        self._tasks: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._scenes = touchable_scenes()
        self._next_words: Sequence[str] = first
        self._folder = TemporaryDirectory(prefix="haptic_files_")
        self._running, self._linked = "", dict[str, Any]()
        self._words, self._records, self._recorded = list[str](), False, ""
        self._scene: SceneProcess | None = None
        self._viewer: Viewer | None = None

    def start(self) -> None:
        """Opens the page; raises PageError if that is not possible."""
        self._hands = Hands()
        self._hands.on_file = self._open
        self._hands.on_open = lambda path: self._tasks.put(partial(self._follow_link, path))
        self.server = open_page(self._options["host"], self._options["port"], self._options["token"], self._hands)
        self._add_panels()
        self._address = address(self.server, self._options["host"], self._options["token"])
        self.get_logger().info(f"the page is at {self._address}")

    def spin(self, executor: Executor) -> None:
        """Draws frames until it is stopped.

        A separate executor serves the viewers of the scenes: the process's own, rclpy's EventsExecutor, crashes when a
        subscription with event callbacks is destroyed, such as a viewer's subscription to the status.
        """
        self._executor = SingleThreadedExecutor(context=self.context)
        make_pictures(self._executor, self._frame, lambda: self._viewer.rate if self._viewer else _IDLE_RATE)
        self._leave()
        self._executor.shutdown()
        if self._scene is not None:
            self._scene.close()
        self._folder.cleanup()
        self.server.stop()

    def _add_panels(self) -> None:
        """Clears the page and adds its panels; the browsers get them once their callbacks exist."""
        with self.server.atomic():
            self.server.scene.reset()
            self.server.gui.reset()
            self.server.gui.set_panel_label("haptics")
            self._layout = Layout(self.server, gallery=True, running=bool(self._running))
            self._panel = GalleryPanel(
                self.server.gui, self._layout.scenes, self._scenes, self._choose, self._record, self._open
            )
            self._panel.mark(self._running, records=self._records)
            add_scene_keys(self.server.gui, [scene.name for scene in self._scenes], self._choose)
            if not self._running:
                PlainText(self.server.gui, _WELCOME)

    def _choose(self, name: str) -> None:
        """Queues the scene that a user has chosen; viser's threads call this."""
        self._tasks.put(partial(self._request, [name]))

    def _record(self, records: bool) -> None:
        """Queues a restart of the running scene with or without a bag; viser's threads call this."""
        self._tasks.put(lambda: self._request([self._running, *self._words, f"record:={str(records).lower()}"]))

    def _open(self, name: str, content: bytes) -> None:
        """Queues a file of a user; viser's threads call this."""

        def show() -> None:
            try:
                self._request(scene_of_file(name, content, Path(self._folder.name)))
            except (HapticError, OSError) as error:
                self._panel.say(Strong(str(error)))

        self._tasks.put(show)

    def _request(self, words: Sequence[str]) -> None:
        if words[0]:
            self._next_words = words

    def _follow_link(self, path: str) -> None:
        """Requests the scene and the parameters in the address of an opened page, if it names a scene."""
        name, values = read_link(path)
        if name not in {scene.name for scene in self._scenes}:
            return
        if name != self._running:
            self._request([name])
            self._linked = values
        elif self._viewer is not None:
            self._viewer.follow_link(values)

    def _frame(self) -> None:
        while not self._tasks.empty():
            self._tasks.get()()
        if self._next_words:
            self._change()
        elif self._running and self._scene is not None and self._scene.ended:
            words, tail = f"{self._running} has ended, exit code {self._scene.code}", self._scene.tail()
            self.get_logger().info(f"{words}\n{tail}")
            self._panel.say(Strong(words), f"\n{tail}")
            self._running = ""
            self._panel.mark("")
        if self._viewer is not None:
            self._viewer.frame()

    def _change(self) -> None:
        """Stops the running scene, and starts the next one once its process has ended."""
        if self._viewer is not None:
            self._leave()
            stopped, self._running = self._running, ""
            self._recorded, self._records = stopped if self._records else "", False
            self._add_panels()
            self._panel.say(f"{stopped or 'the scene'} is being stopped")
        if self._scene is not None:
            if not self._scene.stop():
                return
            self._scene.close()
        (name, *words), self._next_words = self._next_words, ()
        before = self._recording()
        self._running, self._words = name, [word for word in words if not word.startswith("record:=")]
        self._records = parse_arguments(words).get("record") == "true"
        self._add_panels()
        state = "runs, and a bag is written" if self._records else "runs"
        self._panel.say(f"{name} {state}; it starts slowly where code is compiled first{before}")
        namespace = scene_of(load_experiment(name)).namespace
        given = [Parameter("experiment", value=name)]
        self._viewer = Viewer(namespace=namespace, use_global_arguments=False, parameter_overrides=given)
        self._viewer.show_on(self.server, self._layout, self._hands, self._address)
        linked, self._linked = self._linked, {}
        self._viewer.follow_link(linked)
        self._executor.add_node(self._viewer)
        self._scene = self._run([name, *_ARGUMENTS, *words])

    def _recording(self) -> str:
        """Describes the newest run of the recorded scene; empty if no scene was recorded."""
        runs = sorted(Path("runs").glob(f"*-{self._recorded}")) if self._recorded else []
        return f"\n\nThe recording is in {runs[-1]}; ./haptics report makes its figure" if runs else ""

    def _leave(self) -> None:
        """Destroys the viewer of the last scene."""
        if self._viewer is not None:
            self._executor.remove_node(self._viewer)
            self._viewer.leave()
            self._viewer.destroy_node()
            self._viewer = None


def run_gallery(options: Mapping[str, Any], command: Sequence[str], first: Sequence[str] = ()) -> int:
    """Shows the gallery until it is stopped.

    Args:
        options: host, port, token of the page.
        command: command line before `run`.
        first: scene that is started at once, and its arguments; empty: none.

    Returns:
        Exit code.
    """
    with ThreadPoolExecutor(1) as starter:
        # its thread keeps the priority, which the process of a scene inherits, and ends after the last scene
        starter.submit(os.getpid).result()
        os.nice(_NICE)

        def run(words: Sequence[str]) -> SceneProcess:
            return starter.submit(SceneProcess, [*command, "run", *words]).result()

        return process.run(partial(Gallery, options, run, first), [])
