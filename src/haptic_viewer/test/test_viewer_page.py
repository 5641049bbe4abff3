"""The server of the page: who may open it, ports, tokens, and changes from several threads."""

from __future__ import annotations

import asyncio
import http
import json
import re
import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
import viser
import zstandard
from machine_speed import limit
from rcl_interfaces.msg import ParameterDescriptor
from rclpy.context import Context
from rclpy.parameter import Parameter
from started_runs import wait_until
from viser._gui_handles import GuiButtonGroupHandle, GuiButtonHandle, GuiInputHandle
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from haptic_bringup import runner
from haptic_core.events import make_event
from haptic_launch.experiments import load_experiment
from haptic_launch.launch_file import load_launch_file
from haptic_launch.runner import write_run_file
from haptic_viewer import attach
from haptic_viewer import page as viewer_page
from haptic_viewer.hands import SCRIPT, Hands
from haptic_viewer.layout import Layout
from haptic_viewer.node import Viewer
from haptic_viewer.page import LARGEST_MESSAGE, MOST_CONNECTIONS, PageError, address, check_page, open_page
from haptic_viewer.services import Services

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
    assert f"<script>{SCRIPT.read_text()}</script></head>" in text
    policy = answer.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'") and "http" not in policy


def test_page_cannot_be_published_on_a_public_server(server: Any) -> None:
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
def test_invalid_port_is_a_usage_error(
    command: list[str], port: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from haptic_bringup import cli

    monkeypatch.setattr(runner, "launch", lambda *_: pytest.fail("started"))
    monkeypatch.setattr("sys.argv", ["haptics", *command, f"view_port:={port}"])
    with pytest.raises(SystemExit) as caught:
        cli.main()
    error = capsys.readouterr().err
    assert caught.value.code == 2 and re.search(rf"view_port: expected .*, got '?{port}'?$", error.splitlines()[0])


def test_view_opens_the_gallery_with_the_experiment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from haptic_bringup import cli

    seen: list[tuple[Any, ...]] = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(attach, "show_gallery", lambda *given: seen.append(given) or 0)
    monkeypatch.setattr("sys.argv", ["haptics", "view", "touch_clutter", "pace:=0.5", "view_port:=0"])
    with pytest.raises(SystemExit) as caught:
        cli.main()
    assert caught.value.code == 0 and not list(tmp_path.iterdir())
    ((arguments, _, first),) = seen  # once, though the experiment has variants
    assert {"view": "true", "record": "false", "pace": "0.5", "view_port": "0"}.items() <= arguments.items()
    assert float(arguments["duration"]) == 1e6
    assert first == ["touch_clutter", "pace:=0.5"]


def test_parameter_services_and_log_do_not_report_the_token(
    context: Context, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The page asks for it all the same, and the terminal has the whole address."""
    overrides = [Parameter("token", value="s3cret"), Parameter("port", value=0)]
    viewer = Viewer(namespace="/joystick", context=context, parameter_overrides=overrides)
    try:
        logged: list[str] = []
        monkeypatch.setattr(viewer.get_logger(), "info", logged.append)
        assert viewer.parameters["token"] == "s3cret"
        assert "s3cret" not in str([parameter.value for parameter in viewer.get_parameters(list(viewer.parameters))])
        viewer.start()
        with pytest.raises(urllib.error.HTTPError):
            get(viewer.url.partition("?")[0])
        out, err = capfd.readouterr()
        assert f"the page is at {viewer.url}\n" in out and "s3cret" in viewer.url
        assert "s3cret" not in err + str(logged)
    finally:
        viewer.server.stop()
        viewer.destroy_node()


def test_environment_gives_the_token_of_a_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HAPTICS_VIEW_TOKEN", "s3cret")
    experiment = load_experiment("friction_impedance")
    arguments = runner.effective_arguments(load_launch_file(experiment.launch_file), {})
    assert arguments["view_token"] == attach.page_options(["view_port:=0"])["view_token"] == "s3cret"


def test_run_file_does_not_have_the_token(tmp_path: Path) -> None:
    write_run_file(tmp_path, load_experiment("friction_impedance"), {"view": "true", "view_token": "s3cret"}, {}, 0)
    assert "view: 'true'" in (tmp_path / "run.yaml").read_text() and "s3cret" not in (tmp_path / "run.yaml").read_text()


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


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_link_on_another_site_opens_the_page_but_chooses_no_scene(server: Any, site: str) -> None:
    url = f"http://127.0.0.1:{server.get_port()}/"
    assert get(url, **{"Sec-Fetch-Site": site}).status == 200
    for query in ("?scene=friction_impedance", "?friction.friction_force=50", "?token=&scene=tau_wall"):
        with pytest.raises(urllib.error.HTTPError) as refused:
            get(url + query, **{"Sec-Fetch-Site": site})
        assert refused.value.code == 403 and "paste it as an address" in refused.value.read().decode()
        assert get(url + query, **{"Sec-Fetch-Site": "none"}).status == 200  # typed or pasted


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


def test_no_page_is_opened_without_its_guard(monkeypatch: pytest.MonkeyPatch) -> None:
    """As with another version of viser that starts its server otherwise."""
    stopped = []
    fake = SimpleNamespace(get_port=lambda: 0, stop=lambda: stopped.append(True))
    monkeypatch.setattr(viewer_page.viser, "ViserServer", lambda **_: fake)
    with pytest.raises(PageError):
        open_page("127.0.0.1", 0, "")
    assert stopped == [True]


# ---- changes from several threads ----------------------------------------------------------------


def test_another_thread_wakes_waiting_tasks_through_the_loop(server: Any) -> None:
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


def test_no_input_reaches_a_page_before_it_can_be_used(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user who answers before an input has its callback would not be heard."""
    held_back = list[bool]()

    def watched(register: Callable[..., Any]) -> Callable[..., Any]:
        def registered(*arguments: Any) -> Any:
            held_back.append(server._websock_server._broadcast_buffer.atomic_counter > 0)
            return register(*arguments)

        return registered

    for kind in (GuiInputHandle, GuiButtonHandle, GuiButtonGroupHandle):
        for name in {"on_update", "on_click"} & vars(kind).keys():
            monkeypatch.setattr(kind, name, watched(vars(kind)[name]))
    monkeypatch.setattr(
        Services, "ask_parameters", lambda _, __, show: show([ParameterDescriptor(name="gain")], {"gain": 1.0})
    )
    context = Context()
    context.init()
    viewer = Viewer(namespace="/joystick", context=context, parameter_overrides=[])
    viewer.show_on(server, Layout(server), Hands())
    made = [len(held_back)]
    parameters = {"sources": ["friction"], "period": 1e-3, "mode": "lockstep"}
    for source, detail in (("device", {"parameters": parameters, "handle_axes": 2}), ("friction", {})):
        viewer._on_event(make_event(source, "state", {"state": "active", **detail}))
        made.append(len(held_back))
    viewer.close()
    viewer.destroy_node()
    context.shutdown()
    assert made[0] > 5 and made[1] == made[0] + 1 and made[2] == made[1] + 1
    assert all(held_back)


# ---- limits ---------------------------------------------------------------------------------------


@pytest.mark.slow
def test_two_hundred_connections_are_refused_and_the_page_goes_on(server: Any) -> None:
    url = f"ws://127.0.0.1:{server.get_port()}/"
    options: dict[str, Any] = {"subprotocols": subprotocol(), "compression": None, "ping_interval": None}
    opened, refused = [], 0
    try:
        for _ in range(200):
            try:
                opened.append(connect(url, **options))
            except InvalidStatus as error:
                assert error.response.status_code == http.HTTPStatus.SERVICE_UNAVAILABLE
                refused += 1
        assert len(opened) == MOST_CONNECTIONS and refused == 200 - MOST_CONNECTIONS
    finally:
        for connection in opened:
            connection.close()

    def answers() -> bool:
        try:
            return bool(get(f"http://127.0.0.1:{server.get_port()}/").status == http.HTTPStatus.OK)
        except urllib.error.HTTPError as error:
            error.close()
            return False

    wait_until(answers)


def test_a_message_of_ten_megabytes_ends_its_connection_alone(server: Any) -> None:
    url = f"ws://127.0.0.1:{server.get_port()}/"
    options: dict[str, Any] = {"subprotocols": subprotocol(), "compression": None, "max_size": None}
    with connect(url, **options) as other, connect(url, **options) as sender:
        assert LARGEST_MESSAGE < 10_000_000
        with pytest.raises(ConnectionClosed) as caught:
            sender.send(b"\0" * 10_000_000)
            while True:
                sender.recv(timeout=limit(60.0))
        assert caught.value.rcvd is not None and caught.value.rcvd.code == 1009
        other.ping().wait(limit(60.0))


def test_malformed_message_of_the_script_ends_its_connection() -> None:
    hands = Hands()
    server = open_page("127.0.0.1", 0, "", hands)
    try:
        url = f"ws://127.0.0.1:{server.get_port()}/hands"
        for text in ("{", "[]", '{"axes": [1, 2], "buttons": []}', '{"axes": ["a", 0, 0], "buttons": []}', "1" * 9000):
            with connect(url, compression=None) as connection, pytest.raises(ConnectionClosed):
                connection.send(text)
                while True:
                    connection.recv(timeout=limit(60.0))
        with connect(url, compression=None) as connection:
            connection.send('{"axes": [1, 0, 0], "buttons": [0, 9]}')
            pressed: list[int] = []
            wait_until(lambda: pressed.extend(hands.pressed()) or pressed)
            assert pressed == [0, 9]
            hands.feel(held=True, force=5.0)
            answers = (json.loads(connection.recv(timeout=limit(60.0))) for _ in range(1000))
            assert next(answer for answer in answers if answer["held"]) == {"held": True, "rumble": 0.5}
    finally:
        server.stop()
