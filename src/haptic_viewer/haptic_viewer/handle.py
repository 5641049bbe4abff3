"""The handle with which a user leads the simulated hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import viser

from haptic_math.rotations import wxyz
from haptic_viewer.marker_shapes import spring
from haptic_viewer.scene import Node, unit_mesh
from haptic_viewer.text import PlainText, Strong

_COLOR = (250, 200, 30)
_SIZE, _BALL = 0.05, 0.007


class HandlePanel:
    """A checkbox and, while the handle is held, an object to drag, the hand's target, and a spring to the tool.

    viser's thread calls the functions.

    Args:
        server: server of the page.
        axes: 2: the hand leads x and y; 6: it leads position and orientation.
        hold: called with True when the user takes the handle, False when it is released.
        move: called with the handle's pose (7,): position [m], quaternion x, y, z, w.
    """

    def __init__(
        self,
        server: viser.ViserServer,
        axes: int,
        hold: Callable[[bool], None],
        move: Callable[[np.ndarray], None],
    ) -> None:
        planar, scene = axes == 2, server.scene
        self._move = move
        #: True if the device moves in a plane
        self.planar = planar
        with server.gui.add_folder("Hand"):
            self._box: Any = server.gui.add_checkbox(
                "hold the handle",
                False,
                hint="the simulated hand follows what you drag, by its impedance",
            )
            self._refusal = PlainText(server.gui)
        self._grip = scene.add_transform_controls(
            "/handle",
            scale=_SIZE,
            active_axes=(True, True, not planar),
            disable_rotations=planar,
            depth_test=False,
            visible=False,
        )
        vertices, faces = unit_mesh("sphere")
        self._target = Node(scene.add_mesh_simple("/target", _BALL * vertices, faces, color=_COLOR, visible=False))
        line = np.zeros((1, 2, 3), dtype=np.float32)
        self._spring = Node(scene.add_line_segments("/spring", line, _COLOR, thickness=0.0012, visible=False))
        self.held = False

        @self._box.on_update
        async def _(event: viser.GuiEvent) -> None:
            if event.client is not None:
                hold(bool(event.target.value))

        @self._grip.on_update
        async def _(event: Any) -> None:
            if self.held and event.client is not None:
                grip = event.target
                w, x, y, z = (float(value) for value in grip.wxyz)
                move(np.array([*(float(value) for value in grip.position), x, y, z, w]))

    def shift(self, displacement: np.ndarray) -> None:
        """Moves the held handle by a displacement (3,) [m], as dragging does."""
        if self.held and displacement.any():
            grip = self._grip
            position = np.asarray(grip.position) + displacement
            grip.position = tuple(position.tolist())
            w, x, y, z = (float(value) for value in grip.wxyz)
            self._move(np.array([*position.tolist(), x, y, z, w]))

    def set_held(self, held: bool, target: np.ndarray) -> None:
        """Shows the handle at the hand's target, pose (7,), if the user holds it; else hides it."""
        if held and not self.held:
            self._grip.position, self._grip.wxyz = tuple(target[:3]), wxyz(target[3:])
        self.held = held
        self._grip.visible = held
        self._box.value = held
        for node in (self._target, self._spring):
            node.set(visible=held)
        self.say("")

    def show(self, target: np.ndarray, tool: np.ndarray) -> None:
        """Shows the hand's target for the tool and the position of the tool, (3,) each [m]."""
        if self.held:
            self._target.set(position=tuple(target.tolist()))
            self._spring.set(points=spring(target, tool))

    def say(self, text: str) -> None:
        """Shows the reason of a refusal; empty: clears it."""
        self._refusal.show(*((Strong(text),) if text else ()))
        if text:
            self._box.value = self.held
