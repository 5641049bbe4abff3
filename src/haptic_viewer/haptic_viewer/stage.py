"""Floor and cameras of the scene: the squares of the floor show the scale, users choose the view of their camera."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import viser

from haptic_viewer.layout import LAST_FOLDERS
from haptic_viewer.text import PlainText

#: directions from the centre to the camera, as components along front, side and up
VIEWS = {
    "all": (1.0, 0.35, 1.0),
    "front": (1.0, 0.0, 0.12),
    "side": (0.0, 1.0, 0.12),
    "top": (0.02, 0.0, 1.0),
}
FOLLOW = "follow"
#: distance of a camera as a multiple of the size of the scene
_DISTANCE = 0.9
#: smallest motion of the tool that a camera follows [m]; viser ignores motions that are small relative to a position
_STEP = 1e-4
#: smallest size of a scene [m]
_SMALLEST = 0.1
#: edge of the floor, and distance at which its lines fade, as multiples of the size of the scene
_FLOOR, _FADE = 12.0, 8.0
_LINES, _SECTIONS, _PLANE = (206, 212, 218), (150, 158, 168), (240, 242, 244)
#: number of squares between two strong lines of the floor
_SECTION = 5


def square_of(size: float) -> float:
    """Returns the edge of a square of the floor [m]: 1, 2 or 5 times a power of ten, at most a tenth of a size [m]."""
    power = 10.0 ** math.floor(math.log10(0.1 * size))
    return power * max(factor for factor in (1.0, 2.0, 5.0) if factor * power <= 0.1 * size * (1.0 + 1e-9))


def length_text(length: float) -> str:
    """Formats a length [m] as text in metres, centimetres or millimetres."""
    for unit, factor in (("m", 1.0), ("cm", 1e2)):
        if length * factor >= 1.0 - 1e-9:
            return f"{length * factor:g} {unit}"
    return f"{1e3 * length:g} mm"


def directions(up_axis: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns front, side and up (3,) in the base frame: unit vectors from the scene towards cameras of these views."""
    up = np.eye(3)["xyz".index(up_axis)]
    front = np.array([0.0, 0.0, 1.0]) if up_axis == "y" else np.array([0.0, -1.0, 0.0])
    return front, np.cross(up, front), up


class Stage:
    """Floor and cameras of a scene.

    Args:
        server: server of the page.
    """

    def __init__(self, server: viser.ViserServer) -> None:
        self._server = server
        self._center, self._size, self._up_axis = np.zeros(3), 1.0, "z"
        self._followers: set[int] = set()
        self._followed: np.ndarray | None = None
        self._floor: Any = None
        #: edge of a square of the floor [m]; 0 without a floor
        self.square = 0.0

    def build(self, points: Sequence[np.ndarray], up_axis: str) -> None:
        """Adds the floor below the points (n, 3) [m], and places all cameras to show the points."""
        low, high = np.min(points, axis=0), np.max(points, axis=0)
        self._center, self._size = (low + high) / 2.0, max(float(np.linalg.norm(high - low)), _SMALLEST)
        self._up_axis, self.square = up_axis, square_of(self._size)
        self._server.scene.set_up_direction(directions(up_axis)[2])
        self._add_floor(float(low["xyz".index(up_axis)]) - 0.01 * self._size)
        position, up = self._eye("all")
        camera = self._server.initial_camera
        camera.up, camera.look_at, camera.position = up, self._center, position
        for client in self._server.get_clients().values():
            self.look(client, "all")

    def look(self, client: viser.ClientHandle, view: str) -> None:
        """Moves a user's camera to a view of `VIEWS`, or lets it follow the tool from its present position."""
        if view == FOLLOW:
            self._followers.add(client.client_id)
            return
        self._followers.discard(client.client_id)
        position, up = self._eye(view)
        with client.atomic():
            client.camera.up_direction = up
            client.camera.position = position  # moves the point that the camera looks at, too
            client.camera.look_at = self._center

    def follow(self, tool: np.ndarray) -> None:
        """Moves the following cameras by the displacement of the tool (3,) [m] since the last call."""
        moved = tool - self._followed if self._followed is not None else np.zeros(3)
        if self._followed is not None and np.linalg.norm(moved) < _STEP:
            return
        self._followed = tool.copy()
        if not self._followers:
            return
        clients = self._server.get_clients()
        self._followers &= clients.keys()
        for number in self._followers:
            camera = clients[number].camera
            with clients[number].atomic():
                camera.position = camera.position + moved  # moves the point that the camera looks at, too

    def _eye(self, view: str) -> tuple[np.ndarray, np.ndarray]:
        """Computes the position [m] and the up direction of a camera, (3,) each."""
        front, side, up = directions(self._up_axis)
        ahead, beside, above = VIEWS[view]
        direction = ahead * front + beside * side + above * up
        return self._center + _DISTANCE * self._size * direction / np.linalg.norm(direction), up

    def _add_floor(self, height: float) -> None:
        if self._floor is not None:
            self._floor.remove()
        plane: Any = {"z": "xy", "y": "xz", "x": "yz"}[self._up_axis]
        up = np.eye(3)["xyz".index(self._up_axis)]
        position = self._center * (1.0 - up) + height * up
        grid = self.square * _SECTION
        self._floor = self._server.scene.add_grid(
            "/floor",
            _FLOOR * self._size,
            _FLOOR * self._size,
            plane=plane,
            cell_size=self.square,
            section_size=grid,
            cell_color=_LINES,
            section_color=_SECTIONS,
            plane_color=_PLANE,
            plane_opacity=1.0,
            shadow_opacity=0.3,
            fade_distance=_FADE * self._size,
            position=tuple((np.round(position / grid) * grid * (1.0 - up) + height * up).tolist()),
        )


class CameraPanel:
    """Buttons for the views, and the size of the floor's squares as text.

    Args:
        gui: GUI of the page.
        look: called with the client of a user and a view, in viser's thread.
    """

    def __init__(self, gui: viser.GuiApi, look: Callable[[viser.ClientHandle, str], None]) -> None:
        with gui.add_folder("View", order=LAST_FOLDERS["View"]):
            buttons = gui.add_button_group("camera", list(VIEWS))
            follow = gui.add_button("follow the tool", hint="until another view is chosen")
            self._words = PlainText(gui)

        @buttons.on_click
        async def _(event: viser.GuiEvent) -> None:
            if event.client is not None:
                look(event.client, str(event.target.value))

        @follow.on_click
        async def _(event: viser.GuiEvent) -> None:
            if event.client is not None:
                look(event.client, FOLLOW)

    def show_square(self, edge: float) -> None:
        """Shows the edge of a square of the floor [m]."""
        if edge > 0.0:
            self._words.show(f"a square of the floor: {length_text(edge)}")
