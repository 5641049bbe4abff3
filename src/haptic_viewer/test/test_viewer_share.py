"""Links that reopen a scene, and GIFs."""

from __future__ import annotations

from io import BytesIO

import imageio.v3 as imageio
import numpy as np
import pytest
from PIL import Image, ImageSequence

from haptic_viewer import share
from haptic_viewer.share import link_of, moving_picture, read_link

PAGE = "http://127.0.0.1:8080/?token=secret"


def test_a_link_has_the_scene_and_the_parameters_and_no_token() -> None:
    values = {"contact.coupling_stiffness": 800.5, "wall.wall_normals": [0.0, 0.6, 0.8], "friction.law": "a&b=c"}
    link = link_of(PAGE, "touch_clutter", values)
    assert link.startswith("http://127.0.0.1:8080/?scene=touch_clutter&") and "secret" not in link
    assert read_link(link.removeprefix("http://127.0.0.1:8080")) == ("touch_clutter", values)


@pytest.mark.parametrize("path", ["/hands", "/hands?token=a", "/hands?x=1&scene=", "/hands?%ff=%ff"])
def test_an_address_without_a_scene_is_no_link(path: str) -> None:
    assert read_link(path) == ("", {})


def test_a_value_that_is_no_json_is_text() -> None:
    assert read_link("/?scene=a&friction.law=stribeck") == ("a", {"friction.law": "stribeck"})


def test_a_gif_has_the_pictures_of_the_browser_made_smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(share.time, "sleep", lambda _: None)
    asked = []

    def render(height: int, width: int) -> np.ndarray:
        asked.append((height, width))
        return np.full((height, width, 3), 5 * len(asked), dtype=np.uint8)

    frames = imageio.imread(moving_picture(render, 1280, 720), extension=".gif", index=None)
    assert set(asked) == {(360, 640)} and frames.shape == (len(asked), 360, 640, 3)
    assert frames[0].mean() < frames[-1].mean()


def test_a_gif_of_a_slow_browser_has_fewer_pictures_and_its_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(share.time, "sleep", lambda _: None)
    monkeypatch.setattr(share.time, "monotonic", lambda: now[0])

    def render(height: int, width: int) -> np.ndarray:
        now[0] += 2.0
        return np.full((height, width, 3), int(20 * now[0]) % 256, dtype=np.uint8)

    with Image.open(BytesIO(moving_picture(render, 320, 200))) as gif:
        shown = [frame.info["duration"] for frame in ImageSequence.Iterator(gif)]
    assert len(shown) == 8 and set(shown[:-1]) == {2000}  # [ms]
