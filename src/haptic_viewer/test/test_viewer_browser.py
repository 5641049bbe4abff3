"""What a user sees and does on the page, in a browser: the page of a recorded run, which needs no experiment."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle, pairwise
from pathlib import Path

import numpy as np
import pytest
from browser import Page, browser, find_chromium
from machine_speed import limit
from PIL import Image, ImageSequence
from replay_bags import event, wire, write_bag
from started_runs import wait_until

from haptic_bags.recording import DEVICE_COMMAND, DEVICE_STATE, SIMULATION_STATE
from haptic_viewer.page import address, open_page
from haptic_viewer.playback import Playback
from haptic_viewer.recorded_run import RecordedRun
from haptic_viewer.stage import VIEWS, directions

pytestmark = pytest.mark.experiment

#: ticks of the recording, and those after which the tool is behind the wall
TICKS, TOUCHES = 4000, 500
WALL_STATE = "haptic_msgs/msg/WallState"
#: force of the hand on the tool in contact [N], and depth of the tool [m]
FORCE, DEPTH = 5.0, 2e-4
#: windows of a laptop and of a tablet, and a small one, which is drawn in less time [pixel]
LAPTOP, TABLET, SMALL = (1280, 720), (768, 1024), (800, 450)
#: width of the scene between the panels [pixel]
SCENE_WIDTH = "document.querySelector('canvas').getBoundingClientRect().width"


def recorded(folder: Path) -> RecordedRun:
    """A run in which the tool meets a wall at z = 0 and slides along x."""
    parameters = {"device": "none", "sources": ["wall"], "period": 0.001}
    run = [
        event(0, "wall", "state", state="active", mode="EFFORT", parameters={}),
        event(0, "device", "state", state="active", base_frame="base", up_axis="z", parameters=parameters),
    ]
    for k in range(0, TICKS, 20):
        inside = k >= TOUCHES
        z = -DEPTH if inside else 1e-4 * (TOUCHES - k)
        place = {"tool_pose__position__x": 1e-5 * k, "tool_pose__position__z": z, "tool_pose__orientation__w": 1.0}
        hand = {"operator_wrench__force__z": -FORCE if inside else 0.0}
        wall = {"point": np.zeros(3), "normal": np.array([0.0, 0.0, 1.0]), "in_contact": np.array([inside])}
        wall |= {"penetration": np.array([DEPTH if inside else 0.0]), "push": np.array([FORCE if inside else 0.0])}
        for topic, kind, fields in (
            ("device_state", DEVICE_STATE, {"period": 0.001, **place}),
            ("simulation_state", SIMULATION_STATE, hand),
            ("wall/state", WALL_STATE, {**wall, "effort": np.zeros(6)}),
            ("device_command", DEVICE_COMMAND, {"source": "wall"}),
        ):
            run.append((f"/joystick/{topic}", kind, k, wire(kind, k, **fields)))
    return RecordedRun(write_bag(folder / "bag", run, experiment="tau_wall", mode="lockstep"))


@contextmanager
def shown(run: RecordedRun) -> Iterator[tuple[Playback, str]]:
    """The page of a run; a thread makes its pictures, as a process does for a user."""
    server, ends = open_page("127.0.0.1", 0, ""), threading.Event()
    playback = Playback(server, [run])

    def make_pictures() -> None:
        while not ends.wait(0.05):
            playback.frame()

    pictures = threading.Thread(target=make_pictures)
    pictures.start()
    try:
        yield playback, address(server, "127.0.0.1", "")
    finally:
        ends.set()
        pictures.join(limit(60.0))
        server.stop()


def set_number(page: Page, label: str, value: float) -> None:
    """Types a value into the field beside a label, as a user does."""
    field = f"""[...document.querySelectorAll('label')].find(e => e.innerText.trim() === {json.dumps(label)})
      .closest('p').parentElement.parentElement.querySelector('input[type=text]')"""
    page.until(f"(e => {{ e.focus(); e.select(); return document.activeElement === e }})({field})")
    page.call("Input.insertText", text=f"{value:g}")
    page.type_key("Enter", "Enter")


def check_cameras(page: Page, playback: Playback) -> None:
    (client,) = playback._server.get_clients().values()
    axes = directions("z")
    for view in ("top", "side", "front", "all"):
        way = np.array(VIEWS[view]) @ axes
        page.click(view)

        def seen_from_there(way: np.ndarray = way) -> bool:
            seen = np.asarray(client.camera.position) - np.asarray(client.camera.look_at)
            return bool(seen @ way > 0.999 * np.linalg.norm(seen) * np.linalg.norm(way))

        wait_until(seen_from_there)


def check_tablet(page: Page) -> None:
    """On a tablet that stands upright the signals are folded, and can be unfolded."""
    page.resize(*TABLET)
    page.until(f"{SCENE_WIDTH} >= {TABLET[0] / 2} && innerWidth === {TABLET[0]}")
    page.nothing_cut()
    press = "document.querySelector('[aria-label=\"Expand column\"]')"
    x, y = page.run(f"(r => [r.x + r.width / 2, r.y + r.height / 2])({press}.getBoundingClientRect())")
    page.mouse("mousePressed", x, y, pressed=True)
    page.mouse("mouseReleased", x, y)
    page.until(f"{SCENE_WIDTH} < {TABLET[0] / 4} && document.querySelectorAll('.u-legend').length > 3")
    page.nothing_cut()


def check_gif(page: Page, playback: Playback, folder: Path) -> None:
    page.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(folder))
    page.click("Share")
    page.click("save a GIF")
    moments = cycle(np.linspace(0.0, 3.9, 14).tolist())

    def made() -> bool:
        playback.playhead.go_to(next(moments))  # the tool moves, however long the pictures take
        time.sleep(limit(0.5))  # each move is a picture more to draw
        return any(folder.glob("*.gif"))

    wait_until(made, 1000.0)
    (path,) = folder.glob("*.gif")
    with Image.open(path) as gif:
        frames = [np.asarray(frame.convert("L"), dtype=float) for frame in ImageSequence.Iterator(gif)]
    changes = [np.abs(one - other).max() for one, other in pairwise(frames)]
    assert len(frames) > 2 and sum(change > 20.0 for change in changes) > 1, changes
    assert all(np.ptp(frame) > 50.0 for frame in frames)  # none is empty
    height, width = frames[0].shape
    assert width / height == pytest.approx(page.run(SCENE_WIDTH) / SMALL[1], rel=0.05)


def in_a_browser(folder: Path) -> None:
    with (
        shown(recorded(folder)) as (playback, url),
        browser(url, width=SMALL[0], height=SMALL[1]) as page,
    ):
        page.until("document.querySelectorAll('.u-legend').length > 3")
        page.until("document.body.innerText.includes('tick 0')")
        page.run("document.querySelectorAll('.mantine-Notification-closeButton').forEach(e => e.click())")
        page.resize(*LAPTOP)
        page.nothing_cut()
        check_tablet(page)
        page.resize(*SMALL)
        # signals have units, and names where there are several
        titles = page.run("[...document.querySelectorAll('.u-title')].map(e => e.innerText)")
        assert len(titles) > 3 and all(title.endswith("]") and "[" in title for title in titles), titles
        labels = "[...document.querySelectorAll('.u-legend .u-label')].map(e => e.innerText)"
        wait_until(lambda: {"x", "y", "z", "wall 1"} <= set(page.run(labels)))
        assert all(page.run(labels))
        check_cameras(page, playback)
        # forces: the scale is shown, and a depth is exaggerated on demand
        playback.playhead.go_to(2.0)
        picture = playback._picture
        arrow = picture._arrows["hand"]._node

        def length() -> float:
            return float(np.linalg.norm(np.diff(arrow.sent("points"), axis=1))) if arrow.sent("visible") else 0.0

        wait_until(lambda: length() == pytest.approx(0.01 * FORCE))
        set_number(page, "1 N is drawn as [mm]", 20)
        wait_until(lambda: length() == pytest.approx(0.02 * FORCE))
        (walls,) = picture._forces.values()
        assert not walls._ghost.sent("visible")
        set_number(page, "penetration, times", 100)

        def exaggerated() -> bool:
            place = walls._ghost.sent("position")
            return place is not None and place[2] == pytest.approx(-100.0 * DEPTH)

        wait_until(exaggerated)
        wait_until(lambda: walls._label.text == "0.200 mm, times 100")
        check_gif(page, playback, folder)
        # the space key plays
        playback.playhead.go_to(0.0)
        page.type_key("Space", " ")
        wait_until(lambda: playback.playhead.plays or playback.playhead.moment > 0.0)
        assert page.violations == []


if find_chromium():

    def test_page_works_in_a_browser(tmp_path: Path) -> None:
        in_a_browser(tmp_path)
