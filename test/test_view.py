"""The live view of a running experiment: through its websocket, and in a browser where one is installed."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser import Page, browser, find_chromium
from machine_speed import limit
from page_client import PageClient
from ros_domain import worker_domain
from scipy.spatial.transform import Rotation
from started_runs import ANSWER_TIMEOUT, HAPTICS, find_child, finish, start, wait_until

from haptic_bags.bags import Bag
from haptic_bags.recording import Recording

pytestmark = pytest.mark.experiment

FIRST = "friction_impedance"
#: size of the window [pixel]
WIDTH, HEIGHT = 1000, 700
#: no slow answer ends a run
PATIENT = f"answer_timeout:={ANSWER_TIMEOUT}"


@contextmanager
def viewed(folder: Path, *words: str) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """A run with a page on a free port; its process and the port."""
    output = folder / "output.txt"
    process = start([*HAPTICS, *words, "view_port:=0"], folder, worker_domain(), output)
    try:
        pattern = re.compile(r"the page is at http://127.0.0.1:(\d+)/")

        def port() -> Any:
            assert process.poll() is None, output.read_text()
            return pattern.search(output.read_text())

        wait_until(port)
        yield process, int(port()[1])
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            process.wait(limit(60.0))
        print(output.read_text())


def tick_of(client: PageClient) -> int:
    found = re.search(r"tick (\d+),", client.text)
    return int(found[1]) if found else -1


def test_a_person_leads_the_hand_pauses_steps_sets_parameters_and_the_recording_replays(tmp_path: Path) -> None:
    law = ("law:=stribeck", "friction_force:=2.0", "static_force:=3.0")
    words = ("run", FIRST, "view:=true", "record:=true", "duration:=1000.0", "layout:=processes", PATIENT, *law)
    with viewed(tmp_path, *words) as (process, port), PageClient(port) as client:
        client.until(lambda: tick_of(client) > 100)
        client.until(lambda: client.chart("position of the tool") and client.chart("friction: friction force"))
        client.until(lambda: any(name.startswith("/robot/") for name in client.places))
        # the handle begins at the hand's target, and the tool follows it
        client.change("hold the handle", True)
        client.until(lambda: client.shown.get("/handle"))
        x, y, z = client.places["/handle"]
        goal = (x + (0.03 if x < 0.0 else -0.03), y + (0.02 if y < 0.0 else -0.02), z)
        client.drag(goal)

        def there() -> bool:
            _, *place = client.chart("position of the tool")
            return float(np.hypot(place[0][-1] - 1e3 * goal[0], place[1][-1] - 1e3 * goal[1])) < 12.0  # [mm]

        def drawn_there() -> bool:
            """Returns whether the page has drawn the ball at the tip at the goal; the chart may be drawn earlier."""
            drawn = [place for name, place in client.places.items() if name.startswith("/robot/")]
            return min(np.hypot(*np.subtract(place[:2], goal[:2])) for place in drawn) < 12e-3  # [m]

        client.until(there)
        client.until(drawn_there)
        client.until(lambda: max(np.abs(client.chart("friction: friction force")[1])) > 1.0)  # [N]
        # parameters: one that the node takes, and one that it refuses
        client.change("friction force [N]", 2.5)
        client.until(lambda: "friction_force is 2.5 now" in client.text)
        client.change("friction force [N]", 90.0)
        client.until(lambda: "refused" in client.text and "static_force" in client.text)
        client.until(lambda: client.value("friction force [N]") == 2.5)
        # the clock
        client.change("clock", "Pause")
        client.until(lambda: "paused" in client.text)
        before = settled_tick(client)
        client.change("ticks of a step", 7)
        client.change("clock", "Step")
        client.until(lambda: tick_of(client) == before + 7)
        client.change("clock", "Start")
        client.until(lambda: tick_of(client) > before + 200)
        client.change("clock", "Step")
        client.until(lambda: "the run is not paused" in client.text)
        client.change("clock", "Reset")
        client.until(lambda: not client.shown["/handle"] and client.value("hold the handle") is False)
        after = tick_of(client)
        client.until(lambda: tick_of(client) > after + 300)
        # the status of the experiment: a node that hangs
        friction = find_child(process.pid, "friction_node")
        os.kill(friction, signal.SIGSTOP)
        client.until(lambda: "error" in client.text and "waits for the answer of friction" in client.text)
        os.kill(friction, signal.SIGCONT)
        client.until(lambda: "waits for the answer" not in client.text)
        process.send_signal(signal.SIGINT)
        assert process.wait(limit(60.0)) == 130
    (directory,) = (tmp_path / "runs").iterdir()
    bag = Bag(directory / "bag")
    events = [event for event in bag.events if event.kind not in ("state", "times")]
    kinds = {name: [event.kind for event in events if event.source == name] for name in ("device", "friction")}
    assert kinds == {  # those of two nodes may be recorded in either order
        "device": ["hold", "pause", "step", "pause", "pause", "reset", "pause"],
        "friction": ["parameter", "reset"],
    }
    changed = next(event for event in bag.events if event.kind == "parameter")
    assert changed.detail == {"friction_force": 2.5}
    resets = [event.tick for event in bag.events if event.kind == "reset"]
    assert resets[0] == resets[1]  # the run stood still
    truth = bag.topics["/joystick/simulation_state"]
    np.testing.assert_allclose(truth["operator_target"][resets[0] - 1, :2], goal[:2], atol=1e-4)
    replays(tmp_path, directory / "bag")


def settled_tick(client: PageClient) -> int:
    """The tick at which a paused run stands: that of several messages in a row."""
    seen = [-1]

    def same() -> bool:
        seen.append(tick_of(client))
        return len(seen) > 12 and len(set(seen[-10:])) == 1

    client.until(same)
    return seen[-1]


def replays(folder: Path, bag: Path) -> None:
    """The replay of what a person did is the recording, bit for bit."""
    output = finish(folder / "replay", [*HAPTICS, "replay", str(bag)])
    assert "the replay is the recording bit for bit: shown (0 of " in output
    (again,) = (folder / "replay" / "runs").iterdir()
    one, other = Recording.read(bag), Recording.read(again / "bag")
    kinds = [
        [(e.event.tick, e.event.source, e.event.kind) for e in run.events if e.event.source == "device"]
        for run in (one, other)
    ]
    assert kinds[0] == kinds[1]


def test_view_alone_attaches_to_what_runs(tmp_path: Path) -> None:
    runs, pages = tmp_path / "runs_here", tmp_path / "pages"
    for folder in (runs, pages):
        folder.mkdir()
    words = ("run", FIRST, "record:=false", "duration:=1000.0", "pace:=1.0", "view:=true", PATIENT)
    with viewed(runs, *words), viewed(pages, "view") as (process, port):
        with PageClient(port) as client:
            client.until(lambda: tick_of(client) > 10)
            client.until(lambda: client.find("friction force [N]") and client.find("hold the handle"))
        process.send_signal(signal.SIGINT)
        assert process.wait(limit(60.0)) == 0


def test_view_alone_is_a_gallery_in_which_scenes_change_while_the_page_stays(tmp_path: Path) -> None:
    with viewed(tmp_path, "view") as (process, port), PageClient(port) as client:
        client.until(lambda: "Choose a scene" in client.text)
        client.press("touch it", "Friction model C on a force-feedback joystick")
        client.until(lambda: tick_of(client) > 10 and client.find("friction force [N]"))
        client.press("start anew and record", f"{FIRST} runs")
        client.until(lambda: "a bag is written" in client.text)
        client.until(lambda: tick_of(client) > 100)
        client.press("stop recording", f"{FIRST} runs, and a bag is written")
        client.until(lambda: "The recording is in runs/" in client.text)
        (folder,) = (tmp_path / "runs").iterdir()
        assert len(Bag(folder / "bag").topics["/joystick/device_state"]["tick"]) > 100
        client.press("touch it", "Friction model A on a manipulator with a force sensor")
        client.until(lambda: "friction_admittance runs" in client.text)
        client.until(lambda: tick_of(client) > 10 and client.find("hold the handle"))
        os.kill(find_child(process.pid, "composed_nodes"), signal.SIGKILL)
        client.until(lambda: "friction_admittance has ended" in client.text)
        process.send_signal(signal.SIGINT)
        assert process.wait(limit(60.0)) == 0


def test_a_script_s_page_has_plots_and_no_hand(tmp_path: Path) -> None:
    words = ("view", "friction_zero_reaching", PATIENT)
    with viewed(tmp_path, *words) as (_, port), PageClient(port) as client:
        client.until(lambda: len(client.chart("comparison: friction force")) >= 2)
        assert not client.find("hold the handle") and client.find("pace")


def test_a_person_lifts_a_peg_with_an_arm_s_deformable_fingers(tmp_path: Path) -> None:
    """The handle is led to where the peg stands, stays there until the gripper has closed, and is lifted by 6 cm."""
    words = ("view", "deformable_peg", "world_parameters:=['cells=1', 'layers=1']", PATIENT)
    with viewed(tmp_path, *words) as (_, port), PageClient(port) as client:
        client.change("hold the handle", True)
        client.until(lambda: client.shown.get("/handle"))
        above, start = 0.06, (-0.06, -0.045, client.places["/handle"][2])

        def place(thing: str) -> np.ndarray:
            (found,) = [np.array(at) for name, at in client.places.items() if f"/{thing}/" in name]
            return found

        def tip(finger: str) -> np.ndarray:
            (found,) = [corners for name, corners in client.vertices.items() if f"/{finger}/" in name]
            return found.mean(axis=0)

        client.until(lambda: any("/peg/" in name for name in client.places))
        for finger in ("/left/", "/right/"):
            client.until(lambda finger=finger: any(finger in name for name in client.vertices))
        client.drag(start)
        client.until(lambda: abs(tip("left")[2] - 0.09) < 0.005)  # of the grasp's height, in the world's axes
        standing = place("peg")
        client.until(lambda: np.linalg.norm(tip("left") - tip("right")) < 0.045)  # closed: open it is 0.063 m
        client.drag((start[0], start[1] + above, start[2]))
        client.until(lambda: place("peg")[1] - standing[1] > above - 0.01)  # y of the joystick is up
        assert np.linalg.norm((place("peg") - standing)[[0, 2]]) < 0.01


# ---- in a browser ---------------------------------------------------------------------------------


def projected(point: np.ndarray, eye: np.ndarray, target: np.ndarray, fov: float, rectangle: list[float]) -> np.ndarray:
    """Computes the place of a point in a camera's picture [pixel].

    Args:
        point, eye, target: the point, the camera, and the point at which it looks [m]; z is up.
        fov: vertical field of view [rad].
        rectangle: left, top, width and height of the canvas [pixel].
    """
    forward = (target - eye) / np.linalg.norm(target - eye)
    right = np.cross(forward, [0.0, 0.0, 1.0])
    right /= np.linalg.norm(right)
    seen = Rotation.from_matrix(np.array([right, -np.cross(right, forward), forward])).apply(point - eye)
    left, top, width, height = rectangle
    scale = 0.5 * height / np.tan(0.5 * fov)
    return np.array([left + 0.5 * width + scale * seen[0] / seen[2], top + 0.5 * height + scale * seen[1] / seen[2]])


#: titles of the plots, as soon as there are any, and names of their curves
TITLES = "(found => found.length && found)([...document.querySelectorAll('.u-title')].map(e => e.innerText))"
LABELS = "[...document.querySelectorAll('.u-legend .u-label')].map(e => e.innerText)"


def check_layout(page: Page) -> None:
    """Nothing is cut in a laptop's and in a tablet's window; signals have units, and names where there are several."""
    page.run("document.querySelectorAll('.mantine-Notification-closeButton').forEach(e => e.click())")
    page.resize(1280, 720)
    page.nothing_cut()
    titles = page.until(TITLES)
    assert all(title.endswith("]") and "[" in title for title in titles), titles
    page.until(f"(found => ['x', 'y'].every(one => found.includes(one)) && found.every(one => one))({LABELS})")
    page.resize(768, 1024)
    page.nothing_cut()


def in_a_browser(tmp_path: Path) -> None:
    eye, target, fov = np.array([0.0, -0.12, 0.45]), np.array([0.0, 0.0, 0.13]), 0.8
    camera = "&".join(
        f"initialCamera{name}={','.join(map(str, values))}"
        for name, values in {"Position": eye, "LookAt": target, "Up": (0, 0, 1), "Fov": (fov,)}.items()
    )
    with viewed(tmp_path, "view", FIRST, PATIENT) as (_, port), PageClient(port) as client:
        client.until(lambda: tick_of(client) > 100)
        client.change("hold the handle", True)
        client.until(lambda: client.shown.get("/handle"))
        x, y, z = client.places["/handle"]
        with browser(f"http://127.0.0.1:{port}/?{camera}", width=WIDTH, height=HEIGHT) as page:
            page.until("document.body && /tick \\d+/.test(document.body.innerText)")
            canvas = "document.querySelector('canvas')"
            page.until(f"{canvas} && {canvas}.getBoundingClientRect().width > 100")
            for text in ("Run", "Hand", "friction force [N]", "position of the tool"):
                page.until(f"document.body.innerText.includes({json.dumps(text)})")
            find = f"(r => [r.x, r.y, r.width, r.height])({canvas}.getBoundingClientRect())"
            rectangle = [float(number) for number in page.run(find)]
            # the red arrow, which is 0.05 m long, along x
            sign = 1.0 if x < 0.0 else -1.0
            start = projected(np.array([x + 0.04, y, z]), eye, target, fov, rectangle)
            end = projected(np.array([x + 0.04 + sign * 0.02, y, z]), eye, target, fov, rectangle)
            for _ in range(5):  # the first pictures of a slow machine come late
                page.drag((start[0], start[1]), (end[0], end[1]))
                client.receive()
                if abs(client.places["/handle"][0] - x) > 0.01:
                    break
            page.screenshot(tmp_path / "page.png")
            check_layout(page)
            requested = list(page.requested)
        moved = client.places["/handle"]
        assert sign * (moved[0] - x) > 0.01 and abs(moved[1] - y) < 1e-6  # by the mouse, along x alone

        def followed() -> bool:
            return abs(client.chart("position of the tool")[1][-1] - 1e3 * moved[0]) < 12.0  # [mm]

        client.until(followed)
        client.until(lambda: max(np.abs(client.chart("friction: friction force")[1])) > 1.0)  # [N]
    own = ("data:", "blob:", f"http://127.0.0.1:{port}/", f"ws://127.0.0.1:{port}/")
    assert requested and all(url.startswith(own) for url in requested), requested


#: a gamepad whose left stick points to the left; it keeps the strength of its rumble
GAMEPAD = """navigator.getGamepads = () => [{axes: [-1, 0, 0, 0], buttons: [], vibrationActuator: {
  playEffect: (kind, effect) => { window.rumble = effect.strongMagnitude; return Promise.resolve() }}}]"""


def by_keys_in_a_browser(tmp_path: Path) -> None:
    with viewed(tmp_path, "view", FIRST, PATIENT) as (_, port), PageClient(port) as client:
        client.until(lambda: tick_of(client) > 100)
        with browser(f"http://127.0.0.1:{port}/", width=WIDTH, height=HEIGHT) as page:
            page.until("document.body && /tick \\d+/.test(document.body.innerText)")
            page.type_key("KeyH", "h")
            client.until(lambda: client.shown.get("/handle"))
            x, y, _ = client.places["/handle"]
            page.key("ArrowUp", pressed=True)
            client.until(lambda: client.places["/handle"][1] > y + 0.01)
            page.key("ArrowUp", pressed=False)
            page.run(GAMEPAD)
            client.until(lambda: client.places["/handle"][0] < x - 0.02)
            page.until("window.rumble > 0.1")  # 4 N of friction
            page.run("navigator.getGamepads = () => []")
            page.type_key("Space", " ")
            client.until(lambda: "paused" in client.text)
            page.type_key("Space", " ")
            client.until(lambda: "paused" not in client.text)
            page.type_key("KeyR", "r")
            client.until(lambda: not client.shown["/handle"])
            page.type_key("Digit5", "5")
            client.until(lambda: "friction_admittance runs" in client.text)
            assert page.violations == []


if find_chromium():

    def test_keys_and_a_gamepad_lead_the_hand_in_a_browser(tmp_path: Path) -> None:
        by_keys_in_a_browser(tmp_path)

    def test_the_handle_is_dragged_with_the_mouse_in_a_browser(tmp_path: Path) -> None:
        in_a_browser(tmp_path)
