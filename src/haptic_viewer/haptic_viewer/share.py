"""Links that reopen a scene with its parameters, and GIFs of the view of a browser."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import imageio.v3 as imageio
import numpy as np
import viser

from haptic_viewer.layout import LAST_FOLDERS
from haptic_viewer.text import PlainText, plain

#: name of the scene in a link
SCENE = "scene"
#: largest number of frames of a GIF, smallest interval between frames [s], and largest width [pixel]
_FRAMES, _INTERVAL, _WIDTH = 24, 0.15, 640
#: smallest number of frames from a slow browser, and time after which no more are requested [s]
_FEWEST, _LONGEST = 8, 12.0
#: longest wait for a frame of a browser [s]
_PATIENCE = 60.0
_DROPPED = ("token", SCENE)


def link_of(page: str, scene: str, parameters: Mapping[str, Any]) -> str:
    """Returns the address that reopens a scene.

    Args:
        page: address of the page; its query, which may contain a token, is removed.
        scene: name of the experiment.
        parameters: values by node.parameter.
    """
    values = {name: json.dumps(value) for name, value in parameters.items()}
    return f"{page.partition('?')[0]}?{urlencode({SCENE: scene, **values})}"


def read_link(path: str) -> tuple[str, dict[str, Any]]:
    """Parses an address: the scene, empty if it names none, and values by node.parameter."""
    given = dict(parse_qsl(urlsplit(path).query))
    values: dict[str, Any] = {}
    for name, text in given.items():
        if name in _DROPPED or "." not in name:
            continue
        try:
            values[name] = json.loads(text)
        except (ValueError, RecursionError):
            values[name] = text
    return given.get(SCENE, ""), values


def moving_picture(render: Callable[[int, int], np.ndarray], width: int, height: int) -> bytes:
    """Records some seconds of the view of a browser as a GIF, which plays at the rate of the recorded frames.

    Args:
        render: function that returns a frame (height, width, 3) of a given height and width [pixel].
        width, height: size of the scene in the browser [pixel].
    """
    scale = min(1.0, _WIDTH / max(width, 1))
    size = max(round(scale * height), 2), max(round(scale * width), 2)
    frames: list[np.ndarray] = []
    times, start = list[float](), time.monotonic()
    while len(frames) < _FRAMES and (len(frames) < _FEWEST or time.monotonic() < start + _LONGEST):
        frames.append(render(*size)[..., :3])
        times.append(time.monotonic())
        time.sleep(max(0.0, start + _INTERVAL * len(frames) - time.monotonic()))
    shown = [1e3 * max(later - one, _INTERVAL) for one, later in pairwise([*times, times[-1] + _INTERVAL])]
    data: bytes = imageio.imwrite("<bytes>", np.stack(frames), extension=".gif", duration=shown, loop=0)
    return data


class SharePanel:
    """Link that reopens the scene, and a button that saves a GIF.

    Args:
        gui: GUI of the page.
        name: name of the file, without its suffix.
    """

    def __init__(self, gui: viser.GuiApi, name: str) -> None:
        with gui.add_folder("Share", order=LAST_FOLDERS["Share"], expand_by_default=False):
            button = gui.add_button("save a GIF", hint=f"of the next {_FRAMES * _INTERVAL:.0f} s")
            self._link = PlainText(gui)

        @button.on_click
        def _(event: viser.GuiEvent) -> None:  # no coroutine: viser runs it in a thread, since it waits for the browser
            client = event.client
            if client is None:
                return
            note = client.add_notification(plain("A GIF is being made"), plain("It takes some seconds."), loading=True)

            def render(height: int, width: int) -> np.ndarray:
                return client.get_render(height, width, timeout=_PATIENCE)

            try:
                camera = client.camera
                picture = moving_picture(render, camera.image_width, camera.image_height)
                client.send_file_download(f"{name}.gif", picture, save_immediately=True)
            except (RuntimeError, TimeoutError):
                client.add_notification(plain("No GIF"), plain("The browser gave no picture."), auto_close_seconds=5.0)
            finally:
                note.remove()

    def show_link(self, link: str) -> None:
        """Shows the link; empty: hides it."""
        self._link.show(*((f"This scene with these parameters: {link}",) if link else ()))
