"""Writes the pictures of the gallery of the live page, config/<experiment>/picture.jpg, from a browser.

    ./haptics exec python docs/write_scenes.py [EXPERIMENT ...]

The script needs a Chromium. Without names it runs every experiment with a simulated hand, one after the other.
"""

from __future__ import annotations

import base64
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "test"), str(ROOT / "tools" / "setup")]

from browser import Page, browser  # noqa: E402
from started_runs import HAPTICS, wait_until  # noqa: E402

from haptic_viewer.scenes import touchable_scenes  # noqa: E402

#: window, and the part of the scene that is kept: width over height, and the width of the picture [pixel]
WINDOW, SHAPE, WIDTH = (1500, 640), 1.6, 320
#: time of the picture after the first tick, at which the simulated hand has moved visibly [s]
DELAY = 12.0
_CANVAS = "(r => [r.x, r.y, r.width, r.height])(document.querySelector('canvas').getBoundingClientRect())"


def picture(page: Page) -> bytes:
    """Takes a picture of the middle of the scene as JPEG."""
    page.run("document.querySelectorAll('.mantine-Notification-closeButton').forEach(e => e.click())")
    time.sleep(3.0)
    x, y, width, height = page.run(_CANVAS)
    kept = min(width, SHAPE * height)
    clip = {
        "x": x + 0.5 * (width - kept),
        "y": y + 0.5 * (height - kept / SHAPE),
        "width": kept,
        "height": kept / SHAPE,
    }
    shot = page.call("Page.captureScreenshot", format="jpeg", quality=80, clip={**clip, "scale": WIDTH / kept})
    return base64.b64decode(shot["data"])


def write(name: str) -> None:
    """Runs an experiment and writes its picture."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder, "output.txt")
        with output.open("w") as file:
            command = [*HAPTICS, "view", name, "view_port:=0"]
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=file, cwd=folder)
        try:
            wait_until(lambda: "the page is at" in output.read_text() or process.poll() is not None)
            found = re.search(r"the page is at (http://\S+)", output.read_text())
            if found is None:
                sys.exit(output.read_text())
            with browser(found[1], width=WINDOW[0], height=WINDOW[1]) as page:
                page.until("document.body && /tick \\d\\d+/.test(document.body.innerText)", timeout=400.0)
                time.sleep(DELAY)
                (ROOT / "config" / name / "picture.jpg").write_bytes(picture(page))
        finally:
            process.send_signal(signal.SIGINT)
            process.wait()


def main() -> None:
    """Writes the pictures of the named experiments, or of all."""
    known = [scene.name for scene in touchable_scenes()]
    chosen = sys.argv[1:] or known
    if unknown := [name for name in chosen if name not in known]:
        sys.exit(f"{unknown[0]}: no experiment with a hand, expected one of: {', '.join(known)}")
    for name in chosen:
        write(name)


if __name__ == "__main__":
    main()
