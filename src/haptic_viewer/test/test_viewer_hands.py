"""Keys and gamepads: how they lead the hand, and what the user feels."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from recorded_gui import Gui

from haptic_viewer.handle import HandlePanel
from haptic_viewer.hands import SPEED, Hands, parse, rumble_of
from haptic_viewer.keys import COMMANDS, Keys, add_scene_keys


class Connection:
    """A browser that sends messages and stays open."""

    def __init__(self, *messages: str | bytes) -> None:
        self._messages = list(messages)
        self.request = SimpleNamespace(path="/hands?scene=a")
        self.closed: list[int] = []

    def __aiter__(self) -> Any:
        return self

    async def __anext__(self) -> str | bytes:
        if not self._messages:
            await asyncio.sleep(3600.0)
        return self._messages.pop(0)

    async def send(self, text: str) -> None:
        pass

    async def close(self, code: int, reason: str) -> None:
        self.closed.append(code)


def led(axes: list[float], up_axis: str, *, planar: bool) -> np.ndarray:
    """The displacement of 0.1 s."""
    hands = Hands()

    async def send() -> None:
        task = asyncio.create_task(hands.serve(Connection(json.dumps({"axes": axes, "buttons": []}))))
        for _ in range(5):
            await asyncio.sleep(0)
        result.append(hands.displacement(up_axis, planar=planar, now=lambda: hands._time + 0.1))
        task.cancel()

    result: list[np.ndarray] = []
    asyncio.run(send())
    return result[0]


@pytest.mark.parametrize(
    ("axes", "up_axis", "planar", "direction"),
    [
        ([1.0, 0.0, 0.0], "z", True, [1.0, 0.0, 0.0]),
        ([0.0, 1.0, 0.0], "z", True, [0.0, 1.0, 0.0]),  # away from the user
        ([0.0, 0.0, 1.0], "z", True, [0.0, 0.0, 0.0]),
        ([1.0, 0.0, 0.0], "y", False, [1.0, 0.0, 0.0]),
        ([0.0, 0.5, 0.0], "y", False, [0.0, 0.5, 0.0]),
        ([0.0, 0.0, 1.0], "y", False, [0.0, 0.0, -1.0]),  # into the wall of the TAU
        ([9.0, 0.0, 0.0], "y", False, [1.0, 0.0, 0.0]),
    ],
)
def test_axes_lead_the_handle_as_the_user_sees_it(
    axes: list[float], up_axis: str, planar: bool, direction: list[float]
) -> None:
    np.testing.assert_allclose(led(axes, up_axis, planar=planar), SPEED * 0.1 * np.array(direction), atol=1e-12)


def test_addresses_and_dropped_files_reach_the_gallery() -> None:
    hands, opened, files = Hands(), list[str](), list[tuple[str, bytes]]()
    hands.on_open = opened.append
    hands.on_file = lambda name, content: files.append((name, content))

    async def send() -> None:
        task = asyncio.create_task(hands.serve(Connection(b"mug.stl\nsolid\n\0", b"no name")))
        for _ in range(5):
            await asyncio.sleep(0)
        task.cancel()

    asyncio.run(send())
    assert opened == ["/hands?scene=a"] and files == [("mug.stl", b"solid\n\0"), ("no name", b"")]


def test_the_rumble_follows_the_force() -> None:
    assert [rumble_of(force) for force in (0.0, 0.2, 5.0, 10.0, 50.0)] == [0.0, 0.0, 0.5, 1.0, 1.0]


@pytest.mark.parametrize(
    "text",
    [
        *("", "1", "{}", '{"axes": [NaN, 0, 0], "buttons": []}', '{"axes": [0], "buttons": []}'),
        *(f'{{"axes": [1{"0" * 400}, 0, 0], "buttons": []}}', '{"axes": [0, 0, 0], "buttons": [1e999]}'),
    ],
)
def test_malformed_message_is_an_error(text: str) -> None:
    with pytest.raises((ValueError, TypeError, KeyError)):
        parse(text)


class Scene:
    """Stands for viser's: keeps the handle."""

    def add_transform_controls(self, name: str, **options: Any) -> Any:
        self.grip = SimpleNamespace(position=(0.0, 0.0, 0.0), wxyz=(1.0, 0.0, 0.0, 0.0), on_update=lambda f: f)
        return self.grip

    def __getattr__(self, method: str) -> Any:
        return lambda *_, **__: SimpleNamespace()


def test_keys_move_the_handle_while_it_is_held() -> None:
    scene, moves = Scene(), list[np.ndarray]()
    server = SimpleNamespace(scene=scene, gui=Gui())
    handle = HandlePanel(server, 2, lambda _: None, moves.append)  # type: ignore[arg-type]
    handle.shift(np.array([0.01, 0.0, 0.0]))
    assert not moves
    handle.set_held(True, np.array([0.1, 0.2, 0.3, 0.0, 0.0, 0.0, 1.0]))
    handle.shift(np.zeros(3))
    assert not moves
    handle.shift(np.array([0.01, 0.0, 0.0]))
    np.testing.assert_allclose(moves, [[0.11, 0.2, 0.3, 0.0, 0.0, 0.0, 1.0]])
    np.testing.assert_allclose(scene.grip.position, [0.11, 0.2, 0.3])


class Commands:
    """Stands for viser's palette."""

    def __init__(self) -> None:
        self.by_key: dict[str, Any] = {}

    def add_command(self, label: str, *, hotkey: str) -> Any:
        command = SimpleNamespace(label=label, on_trigger=lambda act: setattr(command, "act", act))
        self.by_key[hotkey] = command
        return command


def test_each_key_moves_the_handle_as_documented() -> None:
    page, done = Commands(), list[str]()
    Keys(page, done.append)  # type: ignore[arg-type]
    add_scene_keys(page, [f"scene_{n}" for n in range(1, 20)], done.append)  # type: ignore[arg-type]
    for key in ("space", "R", "H", "1", "9"):
        asyncio.run(page.by_key[key].act(None))
    assert done == ["pause", "reset", "hold", "scene_1", "scene_9"] and set(done[:3]) == set(COMMANDS)
    assert len(page.by_key) == 3 + 9
