"""The page shows what other programs write as text, and its content security policy refuses every other script."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import Page, browser, find_chromium
from diagnostic_msgs.msg import DiagnosticStatus
from page_client import PageClient
from rcl_interfaces.msg import ParameterDescriptor, SetParametersResult
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from sensor_msgs.msg import JointState
from started_runs import wait_until
from std_msgs.msg import String
from std_srvs.srv import SetBool
from visualization_msgs.msg import Marker, MarkerArray

from haptic_core.events import make_event
from haptic_core.qos import EVENT_DEPTH, display_qos, latched_qos, status_qos
from haptic_launch.launch_file import find_executable
from haptic_msgs.msg import DeviceState, TickEvent

NAMESPACE = "/joystick"
#: size of the window [pixel]
WIDTH, HEIGHT = 900, 500


def payload(source: str) -> str:
    """Text that runs a script if a page takes it for Markdown, HTML or JSX; `source` names where it comes from."""
    script = f"parent.marked='{source}';parent.document.title='{source}'"
    return (
        f'{source} <iframe srcdoc="<script>{script}</script>"></iframe><img src=x onerror="{script}"/>'
        f'<script>{script}</script><svg onload="{script}"></svg>{{{script}}}[a](javascript:{script})**b**&lt;i&gt;'
    )


class Attacker:
    """Nodes of an experiment whose every text is a payload.

    Args:
        context: of rclpy.
    """

    def __init__(self, context: Context) -> None:
        own: dict[str, Any] = {"context": context, "namespace": NAMESPACE, "enable_rosout": False}
        self._device = Node("device", start_parameter_services=False, **own)
        self._friction = Node("friction", **own)
        self._executor = SingleThreadedExecutor(context=context)
        for node in (self._device, self._friction):
            self._executor.add_node(node)
        self._declare()
        for service in ("pause", "hold"):
            self._device.create_service(SetBool, f"device/{service}", lambda _, answer, s=service: refuse(s, answer))
        make = self._device.create_publisher
        self._events = make(TickEvent, "tick_event", latched_qos(EVENT_DEPTH))
        self._status = make(DiagnosticStatus, "status", status_qos())
        self._description = make(String, "robot_description", latched_qos())
        self._states = make(DeviceState, "device_state", display_qos())
        self._joints = make(JointState, "joint_states", display_qos())
        self._markers = make(MarkerArray, "friction/markers", display_qos())
        self._tick = 0
        parameters = {"sources": ["friction", payload("source")], "period": 1e-3, "mode": payload("mode")}
        self.send_event("device", "state", {"state": "active", "parameters": parameters, "handle_axes": 2})
        for source in ("friction", payload("source")):
            self.send_event(source, "state", {"state": "active", "note": payload("note")})
        self.send_event("device", payload("kind"), {payload("key"): payload("detail")})
        self.send_status(DiagnosticStatus.ERROR, "status")
        link = payload("link").replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
        self._description.publish(String(data=f'<robot name="{link}"><link name="{link}"/></robot>'))
        self._device.create_timer(0.05, self._publish)
        self._thread = threading.Thread(target=self._executor.spin)
        self._thread.start()

    def _declare(self) -> None:
        described = {"description": payload("description") + " [-]", "additional_constraints": payload("constraint")}
        choices = ParameterDescriptor(description="", additional_constraints=f"one of {payload('choice')}, other")
        self._friction.declare_parameter("gain", 1.0)
        self._friction.declare_parameter(payload("name"), payload("value"), ParameterDescriptor(**described))
        self._friction.declare_parameter("options", payload("choice"), choices)
        refused = SetParametersResult(successful=False, reason=payload("refusal"))
        self._friction.add_on_set_parameters_callback(lambda _: refused)

    def _publish(self) -> None:
        """Publishes what a device publishes in every tick, and markers."""
        self._tick += 1
        state = DeviceState(tick=self._tick, period=1e-3)
        state.header.frame_id = payload("frame")
        self._states.publish(state)
        self._joints.publish(JointState(name=[payload("joint")], position=[0.0]))
        marker = Marker(ns=payload("namespace"), type=Marker.SPHERE, text=payload("marker"))
        marker.scale.x = marker.scale.y = marker.scale.z = 0.1
        marker.color.a = 1.0
        self._markers.publish(MarkerArray(markers=[marker]))

    def send_event(self, source: str, kind: str, detail: dict[str, Any]) -> None:
        """Publishes an event."""
        self._events.publish(make_event(source, kind, detail))

    def send_status(self, level: bytes, source: str) -> None:
        """Publishes the status of the experiment."""
        texts = {"name": payload("status name"), "hardware_id": payload("hardware"), "message": payload(source)}
        self._status.publish(DiagnosticStatus(level=level, **texts))

    def close(self) -> None:
        """Ends the nodes."""
        self._executor.shutdown()
        self._thread.join()
        for node in (self._device, self._friction):
            node.destroy_node()


def refuse(service: str, answer: SetBool.Response) -> SetBool.Response:
    answer.success, answer.message = False, payload(service)
    return answer


@pytest.fixture
def attacker(context: Context) -> Iterator[Attacker]:
    made = Attacker(context)
    yield made
    made.close()


@pytest.fixture
def port(tmp_path: Path) -> Iterator[int]:
    """Port of a viewer without an experiment."""
    output = tmp_path / "output.txt"
    command = [find_executable("haptic_viewer", "viewer"), "--ros-args", "-r", f"__ns:={NAMESPACE}", "-p", "port:=0"]
    with output.open("w") as file:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=file)
    try:
        pattern = re.compile(r"the page is at http://127.0.0.1:(\d+)/")

        def found() -> Any:
            assert process.poll() is None, output.read_text()
            return pattern.search(output.read_text())

        wait_until(found)
        yield int(found()[1])
        assert process.poll() is None, "the viewer ended"
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        process.wait(60)
        print(output.read_text())


@pytest.mark.slow
def test_every_text_of_another_program_reaches_the_page_unchanged(attacker: Attacker, port: int) -> None:
    """Without a browser: the paragraphs as text, labels and values as they were sent."""
    with PageClient(port) as client:
        for source in ("status", "mode"):
            client.until(lambda source=source: payload(source) in client.text)
        client.until(lambda: client.find(payload("name").replace("_", " ")))
        assert client.value(payload("name").replace("_", " ")) == payload("value")
        provoke(client, attacker, lambda source: client.until(lambda: payload(source) in client.text))
        attacker.send_status(b"\x09", "unknown level")  # refused, and the viewer goes on
        attacker.send_status(DiagnosticStatus.WARN, "warning")
        client.until(lambda: payload("warning") in client.text)
        shown = [one["content"] for one in client.gui.values() if one.get("kind") == "GuiHtmlMessage"]
        assert shown and not any(one.get("kind") == "GuiMarkdownMessage" for one in client.gui.values())
        assert {element for text in shown for element in re.findall("<[^>]*", text)} <= allowed_elements(shown[0])


def allowed_elements(paragraph: str) -> set[str]:
    """The elements of a paragraph: its frame, and bold type."""
    return {paragraph.partition(">")[0], "</div", "<strong", "</strong"}


def provoke(client: PageClient, attacker: Attacker, check: Any) -> None:
    """Causes each answer that holds a payload, and calls `check` with the name of its source."""
    client.change("clock", "Pause")
    check("pause")
    client.change("hold the handle", True)
    check("hold")
    client.change("gain", 2.0)
    check("refusal")
    attacker.send_event("friction", "parameter", {payload("name"): payload("event")})
    check("event")


# ---- in a browser ---------------------------------------------------------------------------------


#: what a payload would leave behind; the page's own scripts are three
TRACES = """({
  title: document.title,
  marked: window.marked ?? null,
  frames: document.querySelectorAll('iframe, frame, object, embed, base, form[action]').length,
  scripts: document.querySelectorAll('script').length,
  handlers: [...document.querySelectorAll('*')].flatMap(e => e.getAttributeNames()).filter(n => n.startsWith('on')),
  links: [...document.querySelectorAll('a, area, use, animate')].filter(e => /script:/.test(e.outerHTML)).length,
  images: [...document.images].filter(e => !/^(data|blob):/.test(e.src)).length,
})"""
CLEAN = {"title": "Viser", "marked": None, "frames": 0, "scripts": 3, "handlers": [], "links": 0, "images": 0}

#: scripts, frames and connections that the policy must refuse, by the directive that does
BARRED = {
    "script-src-elem": "(e => { e.textContent = 'window.marked = 1'; document.head.append(e) })"
    "(document.createElement('script'))",
    "script-src-attr": "document.body.insertAdjacentHTML('beforeend', '<i onclick=\"window.marked = 2\"></i>') ??"
    "document.body.lastElementChild.click()",  # Chromium may look at a handler only when it is called
    "script-src": "(() => { try { Function('window.marked = 3')() } catch (error) { return error.name } })()",
    "frame-src": "document.body.insertAdjacentHTML('beforeend', '<iframe src=\"data:text/html,a\"></iframe>')",
    "connect-src": "(() => { try { new WebSocket('ws://127.0.0.1:9/') } catch (error) { return error.name } })()",
    "object-src": "document.body.insertAdjacentHTML('beforeend', '<object data=\"data:text/html,a\"></object>')",
    "base-uri": "document.head.insertAdjacentHTML('beforeend', '<base href=\"http://127.0.0.1:9/\">')",
    "form-action": "(e => { e.action = 'http://127.0.0.1:9/'; document.body.append(e); e.submit() })"
    "(document.createElement('form'))",
    "img-src": "document.body.insertAdjacentHTML('beforeend', '<img src=\"http://127.0.0.1:9/a.png\">')",
}


def includes(text: str) -> str:
    """Expression: the page shows this text, as text or in a field."""
    return (
        f"(text => document.body?.innerText.includes(text) || "
        f"[...document.querySelectorAll('input, textarea')].some(e => e.value.includes(text)))({json.dumps(text)})"
    )


def hint_of(page: Page, label: str) -> str:
    """Text of the hint that appears when the mouse is above the field of a label."""
    find = (
        f"(text => [...document.querySelectorAll('label')].find(e => e.textContent === text))({json.dumps(label)})"
        ".closest('.mantine-Text-root').parentElement.parentElement.querySelector('input, textarea')"
    )
    page.run(f"{find}.scrollIntoView({{block: 'center'}})")
    x, y = page.run(f"(r => [r.x + r.width / 2, r.y + r.height / 2])({find}.getBoundingClientRect())")
    page.mouse("mouseMoved", x, y - 3.0)
    page.mouse("mouseMoved", x, y)
    return str(page.until("document.querySelector('[role=tooltip]')?.innerText"))


def in_a_browser(attacker: Attacker, port: int, picture: Path) -> None:
    with PageClient(port) as client, browser(f"http://127.0.0.1:{port}/", width=WIDTH, height=HEIGHT) as page:

        def shown(source: str) -> None:
            page.until(f"JSON.stringify({TRACES}) !== {clean} || {includes(payload(source))}")
            client.receive()
            assert page.run(TRACES) == CLEAN

        clean = json.dumps(json.dumps(CLEAN, separators=(",", ":")))
        page.until(includes("Run"))
        for source in ("status", "mode", "source", "value", "choice"):
            shown(source)
        page.screenshot(picture)
        name = payload("name").replace("_", " ")
        page.until(includes(name))
        provoke(client, attacker, shown)
        assert payload("description") in hint_of(page, name)
        page.run("document.querySelector('.tabler-icon-adjustments').closest('button').click()")
        names = payload("namespace").replace(" ", "_").split("/")  # each is a node of the scene's tree
        for name in names[:-1]:
            page.until(
                "document.querySelectorAll('[data-scene-node] .tabler-icon-caret-right').forEach(e => "
                f"e.closest('[data-scene-node]').click()) ?? {includes(name)}"
            )
        assert page.run(TRACES) == CLEAN
        assert page.violations == []
        page_bars(page)


def page_bars(page: Page) -> None:
    """What would run or connect without the policy is refused by it."""
    page.run(
        "window.refused = [];"
        "document.addEventListener('securitypolicyviolation', e => window.refused.push(e.effectiveDirective))"
    )
    for directive, script in BARRED.items():
        page.call("Runtime.evaluate", expression=script, allowUnsafeEvalBlockedByCSP=False)
        page.until(f"window.refused.includes({json.dumps(directive)})", timeout=30.0)
    assert page.run("window.marked ?? null") is None
    assert page.violations


if find_chromium():

    @pytest.mark.slow
    def test_no_text_of_another_program_runs_in_a_browser(attacker: Attacker, port: int, tmp_path: Path) -> None:
        in_a_browser(attacker, port, tmp_path / "page.png")
