"""The page without a browser: a client of its websocket that keeps what the page shows and does what a user does."""

from __future__ import annotations

import dataclasses
import html
import re
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any

import msgspec
import numpy as np
import viser
import zstandard
from machine_speed import limit
from viser import _messages as messages
from websockets.sync.client import connect


def _messages_of(data: bytes) -> list[dict[str, Any]]:
    """What one packet holds; arrays are filled in."""
    packed = int.from_bytes(data[8:16], "little")
    document = msgspec.msgpack.decode(zstandard.ZstdDecompressor().decompress(data[16 : 16 + packed]))
    place, buffers = 16 + packed, []
    for length in document["binaryBufferLengths"]:
        place += -place % 8
        buffers.append(data[place : place + length])
        place += length

    def filled(value: Any) -> Any:
        if isinstance(value, dict):
            if "__binary_index" in value:
                return np.frombuffer(buffers[value["__binary_index"]], dtype=value["dtype"])
            return {name: filled(entry) for name, entry in value.items()}
        return [filled(entry) for entry in value] if isinstance(value, (list, tuple)) else value

    return [filled(message) for message in document["messages"]]


class PageClient:
    """Keeps the state of the page.

    Attributes:
        gui: by uuid, the properties of everything beside the scene.
        places: by name, position of everything in the scene.
        shown: by name, whether it is visible.
        vertices: by name, those of meshes (n, 3) [m].
        charts: by title, the curves.
    """

    def __init__(self, port: int) -> None:
        self.gui: dict[str, dict[str, Any]] = {}
        self.places: dict[str, tuple[float, ...]] = {}
        self.shown: dict[str, bool] = {}
        self.vertices: dict[str, np.ndarray] = {}
        version: list[Any] = [f"viser-v{viser.__version__}"]
        patient: dict[str, Any] = {"max_size": None, "max_queue": None, "ping_interval": None}
        self._connection = connect(f"ws://127.0.0.1:{port}/", subprotocols=version, compression=None, **patient)
        near = {"near": 0.01, "far": 100.0, "fov": 1.0, "image_height": 600, "image_width": 800}
        axes = {"look_at": (0.0, 0.0, 0.0), "up_direction": (0.0, 0.0, 1.0)}
        self.send(messages.ViewerCameraMessage(wxyz=(1.0, 0.0, 0.0, 0.0), position=(1.0, 0.0, 0.0), **near, **axes))

    def __enter__(self) -> PageClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()

    def send(self, message: Any) -> None:
        """Sends what a page of viser would."""
        named = {field.name: getattr(message, field.name) for field in dataclasses.fields(message)}
        self._connection.send(msgspec.msgpack.encode({**named, "type": type(message).__name__}))

    def receive(self, timeout: float = 0.1) -> None:
        """Takes all packets that are there, the first one if it comes in time [s]."""
        while True:
            try:
                data = self._connection.recv(timeout=timeout)
            except TimeoutError:
                return
            assert isinstance(data, bytes)
            for message in _messages_of(data):
                self._take(message)
            timeout = 0.0

    def _take(self, message: dict[str, Any]) -> None:
        kind, name = message["type"], message.get("name", "")
        if kind == "GuiUpdateMessage":
            self.gui.setdefault(message["uuid"], {}).update(message["updates"])
        elif "container_uuid" in message:
            own = {"kind": kind, "value": message.get("value"), "container": message["container_uuid"]}
            self.gui[message["uuid"]] = {**own, **message["props"]}
        elif kind == "GuiRemoveMessage":
            self.gui.pop(message["uuid"], None)
        elif kind in ("MeshMessage", "SceneNodeUpdateMessage"):
            changed = message["props" if kind == "MeshMessage" else "updates"]
            if "vertices" in changed:
                self.vertices[name] = changed["vertices"].reshape(-1, 3)
        elif kind == "SetPositionMessage":
            self.places[name] = tuple(message["position"])
        elif kind == "SetSceneNodeVisibilityMessage":
            self.shown[name] = message["visible"]

    def until(self, condition: Callable[[], Any], timeout: float = 200.0) -> Any:
        """Takes what comes until something holds."""
        end = time.monotonic() + limit(timeout)
        while not (found := condition()):
            assert time.monotonic() < end, f"did not come true; the page says: {self.text}"
            self.receive()
        return found

    @property
    def text(self) -> str:
        """What the page says in words."""
        shown = (one["content"] for one in self.gui.values() if one.get("kind") == "GuiHtmlMessage" and one["visible"])
        return "\n".join(html.unescape(re.sub("<[^>]*>", "", content)) for content in shown)

    def find(self, label: str) -> str:
        """uuid of the input of this label; empty: there is none."""
        return next((uuid for uuid, one in self.gui.items() if one.get("label") == label), "")

    def value(self, label: str) -> Any:
        """What the input of this label shows."""
        return self.gui[self.find(label)]["value"]

    def change(self, label: str, value: Any) -> None:
        """Changes an input, as a user does."""
        uuid = self.until(lambda: self.find(label))
        self.gui[uuid]["value"] = value
        self.send(messages.GuiUpdateMessage(uuid=uuid, updates={"value": value}))

    def press(self, label: str, below: str) -> None:
        """Presses the button of this label in the folder of a paragraph with this text."""

        def found() -> str:
            folders = {
                one["container"] for one in self.gui.values() if below in html.unescape(str(one.get("content", "")))
            }
            labelled = (uuid for uuid, one in self.gui.items() if one.get("label") == label)
            return next((uuid for uuid in labelled if self.gui[uuid]["container"] in folders), "")

        self.send(messages.GuiUpdateMessage(uuid=self.until(found), updates={"value": True}))

    def drag(self, position: tuple[float, float, float]) -> None:
        """Drags the handle to a place."""
        place = {"wxyz": (1.0, 0.0, 0.0, 0.0), "position": position}
        self.send(messages.TransformControlsUpdateMessage(name="/handle", **place))

    def chart(self, title: str) -> list[np.ndarray]:
        """The curves of the chart whose title begins so; empty: there is none."""
        for one in self.gui.values():
            if str(one.get("title", "")).startswith(title):
                return [np.asarray(column) for column in one["data"]]
        return []
