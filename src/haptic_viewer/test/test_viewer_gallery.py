"""The gallery: which scenes it has, its panel, and the process behind it. The page itself is in test/test_view.py."""

from __future__ import annotations

import asyncio
import os
import select
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from machine_speed import limit
from recorded_gui import Gui
from started_runs import wait_until

from haptic_core.errors import HapticError
from haptic_launch.experiments import load_experiment
from haptic_viewer.gallery import GalleryPanel
from haptic_viewer.scene_process import SceneProcess
from haptic_viewer.scenes import GalleryScene, has_hand, scene_of, scene_of_file


def test_scenes_are_the_experiments_with_a_hand() -> None:
    names = ("friction_impedance", "tau_wall", "dental_probe", "clutter", "friction_hysteresis")
    assert [has_hand(load_experiment(name)) for name in names] == [True, True, True, False, False]
    scene = scene_of(load_experiment("tau_wall"))
    assert scene.namespace == "/tau" and scene.title.startswith("A stiff wall")


class Buttons(Gui):
    """Keeps the buttons of the scenes."""

    def __init__(self) -> None:
        super().__init__()
        self.buttons: list[Any] = []
        self.html: list[str] = []

    def add_html(self, content: str, visible: bool = True) -> Any:
        self.html.append(content)
        return super().add_html(content, visible)

    def add_upload_button(self, label: str, **options: Any) -> Any:
        self.upload = SimpleNamespace(label=label, **options)
        self.upload.on_upload = lambda callback: setattr(self.upload, "uploaded", callback)
        return self.upload

    def add_button(self, label: str, **options: Any) -> Any:
        button = SimpleNamespace(label=label, disabled=False, **options)
        button.on_click = lambda callback: setattr(button, "clicked", callback)
        self.buttons.append(button)
        return button


def test_a_scene_has_a_picture_a_line_and_a_button(tmp_path: Path) -> None:
    gui, chosen = Buttons(), list[str]()
    picture = tmp_path / "picture.jpg"
    picture.write_bytes(b"jpeg")
    scenes = [
        GalleryScene("one", "First <b>", "/a", picture),
        GalleryScene("two", "Second", "/b", None),
    ]
    wishes, files = list[bool](), list[tuple[str, bytes]]()
    open_file = lambda *given: files.append(given)  # noqa: E731
    panel = GalleryPanel(gui, gui, scenes, chosen.append, wishes.append, open_file)  # type: ignore[arg-type]
    assert sum("data:image/jpeg" in html for html in gui.html) == 1
    assert any("First &lt;b&gt;" in html for html in gui.html)
    for button in gui.buttons:
        asyncio.run(button.clicked(None))
    given = SimpleNamespace(name="mug.stl", content=b"solid")
    asyncio.run(gui.upload.uploaded(SimpleNamespace(target=SimpleNamespace(value=given))))
    assert files == [("mug.stl", b"solid")]
    assert chosen == ["one", "two"] and wishes == [True, False]
    panel.mark("two")
    record, stop, one, two = gui.buttons
    assert (one.disabled, two.disabled, record.visible, stop.visible) == (False, True, True, False)
    panel.mark("two", records=True)
    assert (record.visible, stop.visible) == (False, True)
    panel.mark("")
    assert not (two.disabled or record.visible or stop.visible)


def test_a_file_is_kept_under_a_name_of_the_suite_and_becomes_a_world(tmp_path: Path) -> None:
    name, world = scene_of_file("../../My Mug.STL", b"solid", tmp_path)
    assert (tmp_path / "file.stl").read_bytes() == b"solid" and [path.name for path in tmp_path.iterdir()] == [
        "file.stl"
    ]
    assert (name, world) == ("touch", f"world:={tmp_path}/file.stl")
    for wrong in ("mug", "mug.", "mug.a'b", "mug.toolong"):
        with pytest.raises(HapticError, match="expected a file ending in"):
            scene_of_file(wrong, b"", tmp_path)


def test_a_scene_that_is_stopped_ends_its_children_and_its_output_is_kept() -> None:
    script = "import signal, subprocess, sys; p = subprocess.Popen(['sleep', '1000']); print(p.pid, flush=True); " + (
        "signal.signal(signal.SIGINT, lambda *_: (p.terminate(), p.wait(), print('bye', flush=True), sys.exit(3))); "
        "signal.pause()"
    )
    scene = SceneProcess([sys.executable, "-c", script])
    wait_until(scene.tail)
    child = int(scene.tail())
    assert not scene.ended and scene.code is None and Path(f"/proc/{child}").exists()
    wait_until(scene.stop)
    assert scene.code == 3 and scene.tail().endswith("bye") and not Path(f"/proc/{child}").exists()
    scene.close()


def test_the_priority_of_a_scene_is_not_that_of_its_page() -> None:
    scene = SceneProcess([sys.executable, "-c", "import os; print(os.nice(0))"])
    wait_until(lambda: scene.ended)
    assert int(scene.tail()) == os.nice(0)
    scene.close()


def test_scene_ends_if_the_page_is_killed() -> None:
    """Otherwise the experiment runs for days, and its device refuses the next one in the ROS domain."""
    script = "import time; from haptic_viewer.scene_process import SceneProcess; "
    script += "print(SceneProcess(['sleep', '600'])._process.pid, flush=True); time.sleep(600)"
    page = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert page.stdout is not None
    with page:
        scene = os.pidfd_open(int(page.stdout.readline()))
        try:
            page.kill()
            assert select.select([scene], [], [], limit(10.0))[0]
        finally:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(scene, signal.SIGKILL)
            os.close(scene)
