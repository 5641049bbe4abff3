"""A headless Chromium for tests, driven by the DevTools protocol."""

from __future__ import annotations

import base64
import itertools
import json
import shutil
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from machine_speed import limit
from websockets.sync.client import ClientConnection, connect

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "chrome")
OPTIONS = (
    "--headless=new",
    "--no-sandbox",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--no-first-run",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",  # no page of another machine
    "--remote-debugging-port=0",
    "--remote-allow-origins=*",
)


#: waits until the page has drawn two pictures in which nothing is on its way to another place
DRAWN = """new Promise(done => {
  let still = 0;
  const look = () => {
    const ends = a => isFinite(a.effect.getComputedTiming().endTime);
    const moves = document.getAnimations().some(a => a.playState === 'running' && ends(a));
    still = moves ? 0 : still + 1;
    still > 1 ? done() : requestAnimationFrame(look);
  };
  look();
})"""


#: text and controls beyond the window, or beyond a panel that does not scroll to them, and text that is cut
CUT = """(() => {
  const cut = [];
  for (const e of document.querySelectorAll('body *:not(svg *)')) {
    const style = getComputedStyle(e), r = e.getBoundingClientRect();
    const leaf = !e.children.length && e.textContent.trim();
    if (!(leaf || e.matches('input, button')) || !r.width || style.visibility === 'hidden') continue;
    const what = e.textContent.trim() || e.value || e.tagName;
    if (r.left < -1 || r.right > innerWidth + 1) cut.push(`${what}: beyond the window`);
    if (style.overflowX !== 'visible' && e.scrollWidth > e.clientWidth + 1 && leaf) cut.push(`${what}: shortened`);
    for (let a = e.parentElement; a && a !== document.body; a = a.parentElement) {
      const b = a.getBoundingClientRect();
      if (getComputedStyle(a).overflowX !== 'visible' && (r.left < b.left - 1 || r.right > b.right + 1))
        cut.push(`${what}: beyond its panel`);
    }
  }
  return cut;
})()"""


def find_chromium() -> str | None:
    """Path of an installed Chromium; None: there is none."""
    return next((path for path in map(shutil.which, PROGRAMS) if path), None)


class Page:
    """A page of the browser.

    Attributes:
        requested: addresses of all requests.
        violations: reports of the console that the content security policy refused something.
    """

    def __init__(self, connection: ClientConnection) -> None:
        self._connection, self._numbers = connection, itertools.count(1)
        self.requested: list[str] = []
        self.violations: list[str] = []
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Calls a method and returns its result; raises RuntimeError where it fails."""
        number = next(self._numbers)
        self._connection.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self._connection.recv(timeout=limit(60.0)))
            if message.get("method") in ("Network.requestWillBeSent", "Network.webSocketCreated"):
                about = message["params"]
                self.requested.append(about.get("url") or about["request"]["url"])
            if message.get("method") == "Log.entryAdded":
                entry = message["params"]["entry"]
                if "Content Security Policy" in entry["text"]:
                    self.violations.append(entry["text"])
            if message.get("id") == number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']['message']}")
                return dict(message["result"])

    def run(self, script: str) -> Any:
        """The value of a JavaScript expression."""
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(str(result["exceptionDetails"]))
        return result["result"].get("value")

    def until(self, script: str, timeout: float = 200.0) -> Any:
        """The first value of an expression that counts as true."""
        end = time.monotonic() + limit(timeout)
        while time.monotonic() < end:
            if value := self.run(script):
                return value
            time.sleep(0.1)
        raise AssertionError(f"never true: {script}")

    def nothing_cut(self) -> None:
        """Waits until the page has the size of the window, and no text and no control is cut."""
        found, end = self.run(CUT), time.monotonic() + limit(60.0)
        while found and time.monotonic() < end:
            time.sleep(0.2)
            found = self.run(CUT)
        assert not found, found

    def mouse(self, kind: str, x: float, y: float, pressed: bool = False) -> None:
        """One event of the mouse: mousePressed, mouseMoved, mouseReleased, at a place of the window [pixel]."""
        moved = kind == "mouseMoved"
        button = "none" if moved and not pressed else "left"
        place = {"x": x, "y": y, "pointerType": "mouse"}
        self.call(
            "Input.dispatchMouseEvent", type=kind, button=button, buttons=int(pressed), clickCount=1 - moved, **place
        )

    def key(self, code: str, *, pressed: bool, key: str = "") -> None:
        """Presses or releases a key, given by its place on the keyboard, such as ArrowUp, and by its character."""
        kind = "keyDown" if pressed else "keyUp"
        self.call("Input.dispatchKeyEvent", type=kind, code=code, key=key or code)

    def type_key(self, code: str, key: str = "") -> None:
        """Presses a key and releases it."""
        self.key(code, pressed=True, key=key)
        self.key(code, pressed=False, key=key)

    def drag(self, start: tuple[float, float], end: tuple[float, float], steps: int = 20, pause: float = 0.03) -> None:
        """Drags the mouse from one place to another [pixel]."""
        self.mouse("mouseMoved", *start)
        time.sleep(0.2)
        self.mouse("mousePressed", *start, pressed=True)
        for n in range(1, steps + 1):
            x, y = (a + (b - a) * n / steps for a, b in zip(start, end, strict=True))
            self.mouse("mouseMoved", x, y, pressed=True)
            time.sleep(pause)
        self.mouse("mouseReleased", *end)

    def click(self, text: str) -> None:
        """Clicks the button, tab or folder with a text, once it is there and nothing covers it."""
        find = f"""(() => {{
          const named = e => e.innerText.trim() === {json.dumps(text)} && e.getBoundingClientRect().width;
          const e = [...document.querySelectorAll('button, label, [role=tab], legend, div, span')].filter(named).at(-1);
          if (!e) return null;
          e.scrollIntoView({{block: 'center'}});
          const r = e.getBoundingClientRect(), x = r.x + r.width / 2, y = r.y + r.height / 2;
          const there = document.elementFromPoint(x, y);
          return e.contains(there) || there?.contains(e) && there !== document.body ? [x, y] : null;
        }})()"""
        place, before = self.until(find), None
        while place != before:  # a folder that opens moves it, on a busy machine only some pictures later
            self.run(DRAWN)
            place, before = self.until(find), place
        x, y = place
        self.mouse("mouseMoved", x, y)
        self.mouse("mousePressed", x, y, pressed=True)
        self.mouse("mouseReleased", x, y)

    def resize(self, width: int, height: int) -> None:
        """Gives the window another size [pixel]."""
        size: dict[str, Any] = {"width": width, "height": height}
        self.call("Emulation.setDeviceMetricsOverride", **size, deviceScaleFactor=1, mobile=False)

    def screenshot(self, path: Path) -> None:
        """Writes what is seen as PNG."""
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))


@contextmanager
def browser(url: str, *, width: int = 1400, height: int = 850) -> Iterator[Page]:
    """Opens a page in a browser of its own."""
    program = find_chromium()
    assert program is not None
    with tempfile.TemporaryDirectory(prefix="haptic_browser_", ignore_cleanup_errors=True) as folder:
        command = [program, *OPTIONS, f"--user-data-dir={folder}", f"--window-size={width},{height}", "about:blank"]
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            file, end = Path(folder) / "DevToolsActivePort", time.monotonic() + limit(60.0)
            while not (file.exists() and file.read_text().count("\n")):
                assert time.monotonic() < end and process.poll() is None, "Chromium did not start"
                time.sleep(0.05)
            port = int(file.read_text().split()[0])
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/json/list", timeout=limit(30.0)) as answer:
                (target,) = [one for one in json.load(answer) if one["type"] == "page"]
            patient: dict[str, Any] = {"max_size": None, "max_queue": None, "ping_interval": None}
            with connect(target["webSocketDebuggerUrl"], **patient) as connection:
                page = Page(connection)
                page.resize(width, height)
                page.call("Page.navigate", url=url)
                yield page
        finally:
            process.terminate()
            process.wait(limit(30.0))
