"""Parts of the page that need no experiment: controls of parameters, who may open it, what is drawn and plotted."""

from __future__ import annotations

import asyncio
import http
import json
import socket
import threading
import urllib.error
import urllib.request
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pytest
import viser
import zstandard
from machine_speed import limit
from rcl_interfaces.msg import ParameterDescriptor
from visualization_msgs.msg import Marker, MarkerArray
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from haptic_bringup import runner
from haptic_core.markers import MarkerCanvas
from haptic_core.parameters import ParameterSpec, limits_in, load_parameter_specs
from haptic_devices.node.device_node import find_device
from haptic_msgs.msg import ContactArray, WallState
from haptic_viewer import page as viewer_page
from haptic_viewer.page import PageError, address, check_page, open_page
from haptic_viewer.parameters import ParameterPanel, control_of
from haptic_viewer.plots import SIGNALS, WINDOW, Plot
from haptic_viewer.scene import Arrow, Markers, Robot, unit_mesh

SOURCES = Path(__file__).parents[2]
FILES = sorted(path for path in SOURCES.glob("*/*/*_node.yaml"))
SPECS = [(path.stem, spec) for path in FILES for spec in load_parameter_specs(path).values()]
each_spec = pytest.mark.parametrize(("file", "spec"), SPECS, ids=[f"{file}-{spec.name}" for file, spec in SPECS])


def descriptor(spec: ParameterSpec) -> ParameterDescriptor:
    """As `SuiteNode` declares it."""
    return ParameterDescriptor(
        name=spec.name,
        description=spec.description,
        additional_constraints=spec.constraints,
        read_only=spec.read_only,
    )


# ---- parameters -----------------------------------------------------------------------------------


@each_spec
def test_a_control_takes_what_the_node_takes(file: str, spec: ParameterSpec) -> None:
    control = control_of(descriptor(spec), spec.default)
    assert (
        control.disabled == spec.read_only and spec.description in control.hint and control.hint.startswith(spec.name)
    )
    if spec.unit not in ("", "-"):
        assert control.label.endswith(f"[{spec.unit}]")
    kinds = {
        "bool": {"checkbox"},
        "string": {"text", "choice"},
        "double": {"slider", "number"},
        "int": {"slider", "number"},
    }
    assert control.kind in kinds.get(spec.type, {"text"})
    if control.kind == "choice":
        (listed,) = spec.validation["one_of<>"]
        assert list(control.choices) == listed
    if "bounds<>" in spec.validation and not spec.type.endswith("_array"):
        low, high = spec.validation["bounds<>"]
        assert limits_in(spec.constraints)[:2] == (pytest.approx(low, rel=1e-5), pytest.approx(high, rel=1e-5))
        assert control.low >= low - 1e-5 * abs(low) and control.high <= high + 1e-5 * abs(high)  # six digits
    if control.kind == "slider":
        assert control.low <= spec.default <= control.high and 0.0 < control.step <= (control.high - control.low) / 50
        for value in (control.low, control.high):
            spec.check(int(value) if spec.type == "int" else value)  # nothing that the node refuses


def test_wide_bounds_make_a_slider_round_the_value_and_narrow_ones_a_whole_one() -> None:
    about = ParameterDescriptor(name="gain", description="a gain [N/m]", additional_constraints="from 0 to 1e+07")
    wide = control_of(about, 500.0)
    assert (wide.kind, wide.low, wide.high, wide.step, wide.label) == ("slider", 0.0, 2000.0, 10.0, "gain [N/m]")
    about.additional_constraints = "from -1 to 1"
    narrow = control_of(about, 0.5)
    assert (narrow.kind, narrow.low, narrow.high) == ("slider", -1.0, 1.0)
    about.additional_constraints = "above 0"
    assert control_of(about, 0.0).kind == "number"  # from zero no width follows
    assert control_of(about, 3).step == 1.0


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("", (-np.inf, np.inf, ())),
        ("from 1e-07 to 0.01", (1e-7, 0.01, ())),
        ("above 2 and 9 or less", (2.0, 9.0, ())),
        ("3 or more and below 4", (3.0, 4.0, ())),
        ("one of a, b, c and not empty", (-np.inf, np.inf, ("a", "b", "c"))),
        ("entries from 0 to 1", (-np.inf, np.inf, ())),
    ],
)
def test_bounds_and_choices_are_read_from_the_words(words: str, expected: Any) -> None:
    assert limits_in(words) == expected


class Gui:
    """Stands for viser's: keeps what is made."""

    def __init__(self) -> None:
        self.made: dict[str, Any] = {}

    def __enter__(self) -> Gui:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def add_folder(self, *_: Any, **__: Any) -> Gui:
        return self

    def add_html(self, content: str, visible: bool = True) -> Any:
        self.answer = SimpleNamespace(content=content, visible=visible)
        return self.answer

    def __getattr__(self, method: str) -> Any:
        def add(label: str, *values: Any, **options: Any) -> Any:
            value = options.get("initial_value", values[-1] if values else None)
            item = SimpleNamespace(method=method, value=value, **options)
            if method == "add_slider":
                item.min, item.max, item.step, item.value = values
            item.on_update = lambda callback: setattr(item, "changed", callback)
            self.made[label] = item
            return item

        return add


def change(item: Any, value: Any) -> None:
    """What viser does when a user has changed an input."""
    item.value = value
    with pytest.raises(StopIteration):
        item.changed(SimpleNamespace(client="somebody", target=item)).send(None)


@pytest.fixture
def panel() -> tuple[ParameterPanel, Gui, list[tuple[str, Any]]]:
    gui, changes = Gui(), list[tuple[str, Any]]()
    made = ParameterPanel(gui, "friction", lambda name, value: changes.append((name, value)))  # type: ignore[arg-type]
    folder = SOURCES / "haptic_friction" / "haptic_friction"
    specs = load_parameter_specs(folder / "friction_node.yaml")
    made.show([descriptor(spec) for spec in specs.values()], {name: spec.default for name, spec in specs.items()})
    return made, gui, changes


def test_a_panel_has_a_control_for_every_parameter_and_passes_changes_on(panel: Any) -> None:
    _, gui, changes = panel
    assert len(gui.made) == len(load_parameter_specs(SOURCES / "haptic_friction/haptic_friction/friction_node.yaml"))
    assert gui.made["model"].disabled and gui.made["model"].method == "add_dropdown"
    slider = gui.made["friction force [N]"]
    assert not slider.disabled and (slider.min, slider.max, slider.value) == (0.0, 100.0, 4.0)
    change(slider, 3.0)
    change(gui.made["law"], "stribeck")
    assert changes == [("friction_force", 3.0), ("law", "stribeck")]


def test_what_the_server_sets_is_no_change_of_a_user(panel: Any) -> None:
    _, gui, changes = panel
    slider = gui.made["friction force [N]"]
    with pytest.raises(StopIteration):
        slider.changed(SimpleNamespace(client=None, target=slider)).send(None)
    assert changes == []


def test_a_refusal_is_shown_and_the_value_that_counts_comes_back(panel: Any) -> None:
    made, gui, _ = panel
    slider = gui.made["friction force [N]"]
    slider.value = 90.0
    made.refuse("friction_force", "static_force: expected 90 or more")
    assert gui.answer.visible and "static_force: expected 90 or more" in gui.answer.content and slider.value == 4.0
    made.take("friction_force", 5.0)
    assert ">friction_force is 5.0 now<" in gui.answer.content and slider.value == 5.0


def test_a_value_beyond_the_slider_that_came_otherwise_widens_it(panel: Any) -> None:
    made, gui, _ = panel
    slider = gui.made["stiffness [N/m]"]
    assert slider.max < 1e6
    made.take("stiffness", 1e6)
    assert slider.value == slider.max == 1e6
    made.take("nothing of this node", 1.0)


@pytest.mark.parametrize("value", ["5.0", "<b>", None, True, [1.0], {}])
def test_a_value_of_another_type_is_not_shown(panel: Any, value: Any) -> None:
    made, gui, _ = panel
    with pytest.raises(ValueError, match=r"parameter friction_force: expected a value such as 4\.0, got "):
        made.take("friction_force", value)
    assert gui.made["friction force [N]"].value == 4.0 and not gui.answer.visible
    made.take("friction_force", 5)
    assert gui.made["friction force [N]"].value == 5


def test_text_becomes_what_the_parameter_is(panel: Any) -> None:
    made, *_ = panel
    assert made.value_of("force_tensor", "[4, 0.5, 0.5, 2]") == [4.0, 0.5, 0.5, 2.0]
    assert made.value_of("law_file", "a.csv") == "a.csv" and made.value_of("stiffness", 3) == 3.0
    for text in ("[4, 0", "4.0", ""):
        with pytest.raises(ValueError, match=r"force_tensor: expected a list such as \[4.0, 0.0, 0.0, 2.0\], got"):
            made.value_of("force_tensor", text)


# ---- who may open the page ------------------------------------------------------------------------


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def server() -> Any:
    server = open_page("127.0.0.1", 0, "")
    yield server
    server.stop()


def get(url: str, **headers: str) -> Any:
    return urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=limit(100.0))


def subprotocol() -> list[Any]:
    return [f"viser-v{viser.__version__}"]


def test_the_page_listens_on_loopback_only(server: Any) -> None:
    sockets = [one for one in Path("/proc/net/tcp").read_text().splitlines()[1:] if one.split()[3] == "0A"]
    mine = [one.split()[1] for one in sockets if int(one.split()[1].split(":")[1], 16) == server.get_port()]
    assert mine == [f"0100007F:{server.get_port():04X}"]  # 127.0.0.1
    six = Path("/proc/net/tcp6").read_text()
    assert f":{server.get_port():04X} " not in "".join(line.split("  ")[0] for line in six.splitlines()[1:])


def test_the_page_is_whole_and_refers_to_nothing_elsewhere(server: Any) -> None:
    answer = get(f"http://127.0.0.1:{server.get_port()}/")
    text = answer.read().decode()
    assert answer.status == 200 and "<html" in text and len(text) > 100_000
    assert "https://" not in text.replace("https://www.w3.org", "")
    policy = answer.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'") and "http" not in policy


def test_nobody_can_give_the_page_to_a_public_server(server: Any) -> None:
    handlers = {message.__name__ for message in server._websock_server._incoming_handlers}
    assert handlers and not any("Share" in name for name in handlers)


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "::", "example.org"])
def test_beyond_loopback_a_token_is_asked_for(host: str) -> None:
    with pytest.raises(PageError, match=f"view_host {host}: .*without a token") as caught:
        check_page(host, 0, "")
    assert "view_token:=" in caught.value.hint


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_on_loopback_none_is(host: str) -> None:
    check_page(host, 0, "")


def test_a_taken_port_is_one_clear_error() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        for way in (check_page, open_page):
            with pytest.raises(PageError, match=rf"view_port {port}: 127.0.0.1 cannot listen there: address already"):
                way("127.0.0.1", port, "")


def test_a_run_with_a_page_that_cannot_be_is_refused_before_anything_starts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from haptic_bringup import cli

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(runner, "launch", lambda *_: pytest.fail("started"))
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        for words in (["view", "tau_wall"], ["run", "tau_wall", "view:=true"]):
            monkeypatch.setattr("sys.argv", ["haptics", *words, f"view_port:={taken.getsockname()[1]}"])
            with pytest.raises(SystemExit) as caught:
                cli.main()
            assert caught.value.code == 1 and not list(tmp_path.iterdir())
            error, hint = capsys.readouterr().err.splitlines()
            assert error.startswith("error: view_port ") and "view_port:=8081" in hint


@pytest.mark.parametrize("port", ["abc", "-1", "65536", "1.5"])
@pytest.mark.parametrize("command", [["run", "tau_wall", "view:=true"], ["view", "tau_wall"], ["view"]])
def test_what_is_no_port_is_a_usage_error(
    command: list[str], port: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from haptic_bringup import cli

    monkeypatch.setattr(runner, "launch", lambda *_: pytest.fail("started"))
    monkeypatch.setattr("sys.argv", ["haptics", *command, f"view_port:={port}"])
    with pytest.raises(SystemExit) as caught:
        cli.main()
    assert caught.value.code == 2 and f"view_port: expected a whole number from 0 to 65535, got '{port}'" in (
        capsys.readouterr().err
    )


def test_view_runs_once_in_real_time_without_end_and_without_a_bag(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from haptic_bringup import cli

    seen: list[dict[str, str]] = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(runner, "launch", lambda _, arguments: seen.append(dict(arguments)) or 0)
    for words in (["view", "touch_clutter"], ["view", "touch_clutter", "pace:=0.5", "duration:=3.0"]):
        monkeypatch.setattr("sys.argv", ["haptics", *words, "view_port:=0"])
        with pytest.raises(SystemExit) as caught:
            cli.main()
        assert caught.value.code == 0 and not list(tmp_path.iterdir())
    first, second = seen  # two commands, one run each, though the experiment has variants
    assert {"view": "true", "record": "false", "pace": "1.0", "view_port": "0"}.items() <= first.items()
    assert float(first["duration"]) == 1e6
    assert (second["pace"], second["duration"]) == ("0.5", "3.0")


def test_a_token_opens_the_page_and_its_websocket() -> None:
    server = open_page("127.0.0.1", free_port(), "s3cret")
    url = f"http://127.0.0.1:{server.get_port()}/"
    try:
        for wrong in (url, f"{url}?token=secret", f"{url}?token="):
            with pytest.raises(urllib.error.HTTPError) as caught:
                get(wrong)
            caught.value.close()  # a connection that is open is waited for when the server stops
            assert caught.value.code == http.HTTPStatus.UNAUTHORIZED
        assert address(server, "127.0.0.1", "s3cret") == f"{url}?token=s3cret"
        answer = get(f"{url}?token=s3cret")
        answer.close()
        cookie = answer.headers["Set-Cookie"]
        assert answer.status == 200 and "HttpOnly" in cookie and "SameSite=Strict" in cookie
        socket_url, given = url.replace("http", "ws"), {"Cookie": cookie.split(";")[0]}
        with pytest.raises(InvalidStatus):
            connect(socket_url, subprotocols=subprotocol())
        with connect(socket_url, subprotocols=subprotocol(), additional_headers=given) as connection:
            assert connection.recv(timeout=limit(100.0))
    finally:
        server.stop()


@pytest.mark.parametrize(
    "headers",
    [{"Origin": "http://example.org"}, {"Host": "example.org"}, {"Origin": "http://127.0.0.1:1"}, {"Origin": "null"}],
)
def test_another_site_cannot_use_the_page(server: Any, headers: dict[str, str]) -> None:
    port = server.get_port()
    with pytest.raises(urllib.error.HTTPError) as caught:
        get(f"http://127.0.0.1:{port}/", **headers)
    caught.value.close()
    assert caught.value.code == http.HTTPStatus.FORBIDDEN
    if "Origin" in headers:
        with pytest.raises(InvalidStatus):
            connect(f"ws://127.0.0.1:{port}/", subprotocols=subprotocol(), origin=headers["Origin"])  # type: ignore[arg-type]


def test_where_the_guard_is_not_asked_no_page_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    """As with another version of viser that starts its server otherwise."""
    stopped = []
    fake = SimpleNamespace(get_port=lambda: 0, stop=lambda: stopped.append(True))
    monkeypatch.setattr(viewer_page.viser, "ViserServer", lambda **_: fake)
    with pytest.raises(PageError):
        open_page("127.0.0.1", 0, "")
    assert stopped == [True]


# ---- what is drawn --------------------------------------------------------------------------------


class Scene:
    """Stands for viser's: objects by name, with what was set last, and how often."""

    def __init__(self) -> None:
        self.things: dict[str, Any] = {}

    def __getattr__(self, method: str) -> Any:
        def add(name: str, *arguments: Any, **options: Any) -> Any:
            thing = Thing(self, name, method, arguments, options)
            self.things[name] = thing
            return thing

        return add


class Thing:
    def __init__(self, scene: Scene, name: str, method: str, arguments: Any, options: dict[str, Any]) -> None:
        self.__dict__.update(scene=scene, name=name, method=method, arguments=arguments, sent=0, **options)

    def __setattr__(self, name: str, value: Any) -> None:
        self.__dict__[name] = value
        self.__dict__["sent"] += 1

    def remove(self) -> None:
        del self.scene.things[self.name]


def test_unit_meshes_have_edges_diameters_and_height_one() -> None:
    for kind in ("box", "sphere", "cylinder"):
        vertices, faces = unit_mesh(kind)
        np.testing.assert_allclose(vertices.max(axis=0), 0.5, atol=2e-3)  # a sphere of 642 corners
        np.testing.assert_allclose(vertices.min(axis=0), -0.5, atol=2e-3)
        assert faces.max() == len(vertices) - 1


@pytest.mark.parametrize(("name", "motion"), [("joystick", "paper"), ("five_bar", "paper_admittance")])
def test_the_robot_stands_where_its_joints_are(name: str, motion: str) -> None:
    specs = load_parameter_specs(SOURCES / "haptic_devices" / "haptic_devices" / "device_node.yaml")
    values = {name: spec.default for name, spec in specs.items()} | {"device": name, "motion": motion}
    device: Any = find_device(name)(values)
    device.configure(1e-3)
    device.activate()
    scene, reading = Scene(), device.read()
    robot = Robot(scene, device.robot_description())  # type: ignore[arg-type]
    joints = dict(zip([joint.name for joint in device.joints], reading.position, strict=True))
    joints |= dict(zip(device.passive_joints, device.passive_state()[0], strict=True))
    before = [thing.position for thing in scene.things.values()]
    robot.move(joints)
    places = [np.array(thing.position) for thing in scene.things.values()]
    assert max(np.linalg.norm(a - b) for a, b in zip(before, places, strict=True)) > 1e-3
    # the tool's ball is at the tool point of the description
    assert min(np.linalg.norm(place - reading.tool_pose[:3]) for place in places) < 1e-6
    robot.move({**joints, "no joint of it": 1.0})
    robot.remove()
    assert scene.things == {}


def canvas_message(*shapes: tuple[Any, ...]) -> MarkerArray:
    canvas = MarkerCanvas("base", "node")
    for method, *arguments in shapes:
        getattr(canvas, method)(*arguments)
    return canvas.message(Marker().header.stamp)


RED, CLEAR, HIDDEN = (1.0, 0.0, 0.0, 1.0), (0.0, 0.0, 1.0, 0.25), (1.0, 0.0, 0.0, 0.0)
TURN = np.array([0.0, 0.0, np.sqrt(0.5), np.sqrt(0.5)])


def test_markers_become_shapes_of_their_size_place_and_colour() -> None:
    scene, p = Scene(), np.array([0.1, 0.2, 0.3])
    markers = Markers(scene, "/markers")  # type: ignore[arg-type]
    shapes = [
        ("box", "wall 1", p, TURN, (1.0, 2.0, 3.0), CLEAR),
        ("sphere", "ball", p, 0.05, RED),
        ("cylinder", "disk", p, TURN, 0.1, 0.02, RED),
        ("arrow", "force", p, 2 * p, 0.002, RED),
        ("line", "rope", [p, 2 * p, 3 * p], 0.001, RED),
        ("sphere", "gone", p, 0.05, HIDDEN),
    ]
    markers.show(canvas_message(*shapes))
    box, ball, disk, force, rope, gone = scene.things.values()
    assert box.scale == (1.0, 2.0, 3.0) and box.opacity == pytest.approx(0.25) and box.color == (0, 0, 255)
    assert box.position == (0.1, 0.2, 0.3) and box.wxyz == (TURN[3], 0.0, 0.0, TURN[2])
    assert ball.scale == (0.1, 0.1, 0.1) and disk.scale == (0.2, 0.2, 0.02) and ball.opacity is None
    np.testing.assert_allclose(force.points, [[p, 2 * p]], rtol=1e-6)
    np.testing.assert_allclose(rope.points, [[p, 2 * p], [2 * p, 3 * p]], rtol=1e-6)
    assert ball.visible and not gone.visible
    assert len(markers.points()) == 2  # the wall is scenery


def test_triangles_have_their_place_and_are_sent_where_they_change() -> None:
    scene, p = Scene(), np.array([0.1, 0.2, 0.3])
    markers = Markers(scene, "/markers")  # type: ignore[arg-type]
    corners, triangles = np.array([[0.3, 0.0, 0.0], [0.0, 0.3, 0.0], [0.0, 0.0, 0.3]]), np.array([[0, 1, 2]])
    markers.show(canvas_message(("mesh", "gear", p, TURN, corners, triangles, CLEAR)))
    (gear,) = scene.things.values()
    np.testing.assert_allclose(gear.vertices, corners, rtol=1e-6)
    assert gear.faces.tolist() == [[0, 1, 2]] and gear.opacity == pytest.approx(0.25) and gear.color == (0, 0, 255)
    assert gear.position == (0.1, 0.2, 0.3) and gear.wxyz == (TURN[3], 0.0, 0.0, TURN[2])
    np.testing.assert_allclose(markers.points(), [[0.0, 0.3, 0.4]], atol=1e-7)  # a quarter turn about z
    first, sent = gear.vertices, gear.sent
    markers.show(canvas_message(("mesh", "gear", 2 * p, TURN, corners, triangles, CLEAR)))
    assert gear.vertices is first and gear.sent == sent + 1 and gear.position == (0.2, 0.4, 0.6)
    markers.show(canvas_message(("mesh", "gear", 2 * p, TURN, 2 * corners, triangles, CLEAR)))
    np.testing.assert_allclose(gear.vertices, 2 * corners, rtol=1e-6)


def test_markers_that_have_not_changed_are_not_sent_again_and_those_left_out_go() -> None:
    scene, p = Scene(), np.array([0.1, 0.2, 0.3])
    markers = Markers(scene, "/markers")  # type: ignore[arg-type]
    two = canvas_message(("sphere", "ball", p, 0.05, RED), ("arrow", "force", p, 2 * p, 0.002, RED))
    markers.show(two)
    sent = [thing.sent for thing in scene.things.values()]
    markers.show(two)
    assert [thing.sent for thing in scene.things.values()] == sent
    ball, _ = scene.things.values()
    markers.show(canvas_message(("sphere", "ball", 2 * p, 0.05, RED)))
    assert list(scene.things.values()) == [ball] and ball.position == (0.2, 0.4, 0.6)
    markers.show(MarkerArray(markers=[Marker(action=Marker.DELETEALL)]))
    assert scene.things == {}


def test_a_marker_of_another_kind_or_colour_replaces_the_one_of_its_name() -> None:
    scene, p = Scene(), np.array([0.1, 0.2, 0.3])
    markers = Markers(scene, "/markers")  # type: ignore[arg-type]
    markers.show(canvas_message(("sphere", "ball", p, 0.05, RED), ("line", "rope", [p, 2 * p], 0.001, RED)))
    markers.show(canvas_message(("box", "ball", p, TURN, (1.0, 1.0, 1.0), RED), ("line", "rope", [p, p], 0.001, CLEAR)))
    ball, rope = scene.things.values()
    np.testing.assert_array_equal(ball.arguments[0], unit_mesh("box")[0])
    assert rope.arguments[1] == (0, 0, 255)


def test_a_force_is_an_arrow_of_its_length_and_a_small_one_none() -> None:
    scene = Scene()
    arrow = Arrow(scene, "/force", (1, 2, 3))  # type: ignore[arg-type]
    (thing,) = scene.things.values()
    assert not thing.visible
    arrow.show(np.array([0.1, 0.0, 0.0]), np.array([0.0, 5.0, 0.0]), 0.01)
    assert thing.visible
    np.testing.assert_allclose(thing.points, [[[0.1, 0.0, 0.0], [0.1, 0.05, 0.0]]], atol=1e-8)
    arrow.show(np.zeros(3), np.array([0.0, 0.01, 0.0]), 0.01)
    assert not thing.visible


# ---- plots ----------------------------------------------------------------------------------------


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


def test_another_thread_leaves_it_to_the_loop_to_wake_who_waits(server: Any) -> None:
    loop = asyncio.new_event_loop()
    signal = viewer_page._Signal(loop)
    signal.set()
    assert not signal.is_set()  # the loop does not run yet; asyncio's own event would touch its waiters here
    assert loop.run_until_complete(signal.wait()) and signal.is_set()
    signal.clear()

    async def within() -> bool:
        signal.set()
        return signal.is_set()

    assert loop.run_until_complete(within())
    loop.close()
    signal.clear()
    signal.set()  # no one waits any more
    assert isinstance(server._websock_server._broadcast_buffer.message_event, viewer_page._Signal)


def test_any_thread_may_change_the_page(server: Any) -> None:
    """Thousands of changes from two threads all reach a page that is open."""
    url, errors = f"ws://127.0.0.1:{server.get_port()}/", list[BaseException]()
    texts = [server.gui.add_html("0") for _ in range(2)]

    def write(text: Any) -> None:
        try:
            for number in range(3000):
                text.content = str(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=write, args=(text,)) for text in texts]
    with connect(url, subprotocols=subprotocol(), max_queue=None) as connection:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        last = {text._impl.uuid for text in texts}
        while last:
            data = connection.recv(timeout=limit(100.0))
            assert isinstance(data, bytes)
            packed = zstandard.ZstdDecompressor().decompress(data[16 : 16 + int.from_bytes(data[8:16], "little")])
            for message in msgspec.msgpack.decode(packed)["messages"]:
                if message["type"] == "GuiUpdateMessage" and "2999" in str(message["updates"]):
                    last.discard(message["uuid"])
    assert errors == []
