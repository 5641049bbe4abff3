"""Shapes of the forces in the scene; only changed shapes are sent to the browsers."""

from __future__ import annotations

from typing import Any

import numpy as np
import viser

from haptic_viewer import forces
from haptic_viewer.forces import SMALLEST, ForcePanel, FrictionRatios, Loads, WorldFrame
from haptic_viewer.scene import Node

Color = tuple[int, int, int]


class Arrows:
    """Any number of arrows of one colour.

    Args:
        scene: scene of the page.
        name: name of the arrows in the scene.
        color: red, green, blue, 0 to 255.
    """

    def __init__(self, scene: viser.SceneApi, name: str, color: Color) -> None:
        points = np.zeros((1, 2, 3), dtype=np.float32)
        handle = scene.add_arrows(
            name, points, color, shaft_radius=0.0012, head_radius=0.003, head_length=0.007, visible=False
        )
        self._node = Node(handle)

    def show(self, points: np.ndarray) -> None:
        """Draws arrows (n, 2, 3) [m]; hides the object if n is 0."""
        if len(points):
            self._node.set(points=points.astype(np.float32))
        self._node.set(visible=len(points) > 0)


class Arrow(Arrows):
    """A force at a point."""

    def draw(self, start: np.ndarray, force: np.ndarray, length: float) -> None:
        """Draws a force (3,) [N] that acts at `start` (3,) [m]; `length` of 1 N [m]."""
        strong = bool(np.linalg.norm(force) > SMALLEST)
        self.show(np.array([[start, start + length * force]]) if strong else np.zeros((0, 2, 3)))


class Triangles:
    """Translucent triangles of one colour.

    Args:
        scene: scene of the page.
        name: name of the triangles in the scene.
        color: red, green, blue, 0 to 255.
        opacity: opacity, 0 to 1.
    """

    def __init__(self, scene: viser.SceneApi, name: str, color: Color, opacity: float) -> None:
        corners, faces = np.zeros((3, 3), dtype=np.float32), np.array([[0, 1, 2]], dtype=np.uint32)
        look: dict[str, Any] = {"color": color, "opacity": opacity, "side": "double", "cast_shadow": False}
        self._node = Node(scene.add_mesh_simple(name, corners, faces, visible=False, **look))

    def show(self, triangles: np.ndarray) -> None:
        """Draws triangles (n, 3, 3) [m]; hides the object if n is 0."""
        if len(triangles):
            corners = triangles.reshape(-1, 3).astype(np.float32)
            self._node.set(vertices=corners, faces=np.arange(len(corners), dtype=np.uint32).reshape(-1, 3))
        self._node.set(visible=len(triangles) > 0)


class ContactShapes:
    """Forces of the contacts of one node, their friction cones and contact patches.

    Args:
        scene: scene of the page.
        name: parent of the shapes in the scene.
        panel: settings of the forces.
        frame: frame of the node's world.
    """

    def __init__(self, scene: viser.SceneApi, name: str, panel: ForcePanel, frame: WorldFrame) -> None:
        self._panel, self._frame, self._ratios = panel, frame, FrictionRatios()
        self._normal = Arrows(scene, f"{name}/normal", forces.NORMAL)
        self._tangential = Arrows(scene, f"{name}/tangential", forces.TANGENTIAL)
        self._cones = Triangles(scene, f"{name}/cones", forces.CONE, 0.3)
        self._patches = Triangles(scene, f"{name}/patches", forces.PATCH, 0.8)

    def show(self, message: Any) -> None:
        """Draws the contacts of a ContactArray."""
        panel = self._panel
        panel.offer_contacts()
        loads, none = Loads.of(message, self._frame), np.zeros((0, 3, 3))
        normal, tangential = loads.arrows(panel.length) if panel.contacts else (none[:, :2], none[:, :2])
        self._normal.show(normal)
        self._tangential.show(tangential)
        ratios = self._ratios.of(loads)
        self._cones.show(forces.cones(loads, ratios, panel.length) if panel.cones else none)
        self._patches.show(forces.patches(loads) if panel.patches else none)


class WallShapes:
    """Normal forces of the walls of one node, and optionally the exaggerated penetration of the tool.

    Args:
        scene: scene of the page.
        name: parent of the shapes in the scene.
        panel: settings of the forces.
    """

    def __init__(self, scene: viser.SceneApi, name: str, panel: ForcePanel) -> None:
        self._scene, self._name, self._panel = scene, name, panel
        self._normal = Arrows(scene, f"{name}/push", forces.NORMAL)
        self._depth = Node(
            scene.add_line_segments(
                f"{name}/depth", np.zeros((1, 2, 3), dtype=np.float32), forces.DEPTH, thickness=0.002, visible=False
            )
        )
        ball: dict[str, Any] = {
            "radius": 0.003,
            "color": forces.DEPTH,
            "opacity": 0.5,
            "cast_shadow": False,
            "visible": False,
        }
        self._ghost = Node(scene.add_icosphere(f"{name}/ghost", **ball))
        self._label: Any = scene.add_label("/penetration", "", visible=False)

    def show(self, message: Any, tool: np.ndarray) -> None:
        """Draws a WallState, and the penetration of the tool at `tool` (3,) [m]."""
        panel = self._panel
        panel.offer_walls()
        normals = np.asarray(message.normal).reshape(-1, 3)
        force = np.asarray(message.push)
        strong = force > SMALLEST
        surface = tool + np.asarray(message.penetration)[strong, None] * normals[strong]
        self._normal.show(np.stack([surface, surface + panel.length * force[strong, None] * normals[strong]], axis=1))
        lines = forces.depths(message, tool, panel.times) if panel.times > 1.0 else np.zeros((0, 2, 3))
        for node in (self._depth, self._ghost):
            node.set(visible=len(lines) > 0)
        self._label.visible = len(lines) > 0
        if len(lines):
            self._depth.set(points=lines.astype(np.float32))
            deepest = int(np.argmax(np.linalg.norm(lines[:, 1] - lines[:, 0], axis=1)))
            self._ghost.set(position=tuple(lines[deepest, 1].tolist()))
            self._label.position = tuple(lines[deepest, 1].tolist())
            self._label.text = f"{1e3 * max(message.penetration):.3f} mm, times {panel.times:.0f}"
