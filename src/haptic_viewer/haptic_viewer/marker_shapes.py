"""Shapes in the scene for the markers of the nodes. Positions are in the device's base frame."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import viser
from visualization_msgs.msg import Marker, MarkerArray

from haptic_math.rotations import matrix_from_quaternion
from haptic_viewer.scene import Node, look_of, unit_mesh
from haptic_viewer.text import plain

#: radii of an arrow's shaft and head, and length of the head, as multiples of the shaft's width
_SHAFT, _HEAD, _HEAD_LENGTH = 0.5, 1.1, 2.5
#: smallest size of a body that counts as scenery and does not affect the camera [m]
_SCENERY = 0.5
#: largest opacity of translucent bodies
_SEE_THROUGH = 0.35
#: markers of forces and contacts, by the last part of their namespace; the page draws these from the messages
_FORCES = re.compile(r"contacts|contact forces|felt force|force \d+")
#: last part of the namespace of the line of a virtual coupling
_COUPLING = "coupling"
#: coils of a spring, points per coil, ratio of radius to length, and largest and smallest radius [m]
_COILS, _COIL_POINTS, _SLENDER, _WIDEST, _NARROWEST = 9, 12, 0.12, 0.004, 0.0008

_SHAPES = {Marker.CUBE: "box", Marker.SPHERE: "sphere", Marker.CYLINDER: "cylinder"}


def spring(start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Returns the lines (n, 2, 3) of a coil spring between two points (3,) [m]."""
    span = end - start
    length = float(np.linalg.norm(span))
    if length < 2.0 * _NARROWEST:
        return np.array([[start, end]], dtype=np.float32)
    first = np.cross(span, np.eye(3)[int(np.argmin(np.abs(span)))])
    first /= np.linalg.norm(first)
    second = np.cross(span / length, first)
    t = np.linspace(0.0, 1.0, _COILS * _COIL_POINTS + 1)[:, None]
    radius = np.clip(_SLENDER * length, _NARROWEST, _WIDEST) * np.minimum(1.0, 8.0 * np.minimum(t, 1.0 - t))
    angle = 2.0 * np.pi * _COILS * t
    points = start + t * span + radius * (np.cos(angle) * first + np.sin(angle) * second)
    return np.stack([points[:-1], points[1:]], axis=1).astype(np.float32)


class Markers:
    """Shapes of one topic. Each message replaces all shapes, since the suite's nodes publish complete messages.

    Args:
        scene: scene of the page.
        name: parent of the shapes in the scene.
        with_forces: True if markers of forces and contacts are drawn as well.
    """

    def __init__(self, scene: viser.SceneApi, name: str, *, with_forces: bool = True) -> None:
        self._scene, self._name, self.with_forces = scene, name, with_forces
        #: True if bodies are translucent
        self.see_through = False
        self._nodes: dict[str, tuple[int, Node]] = {}
        self._corners: list[np.ndarray] = []
        self._colors: dict[str, tuple[int, int, int]] = {}

    def show(self, message: MarkerArray) -> None:
        """Draws a message."""
        shown = {}
        self._corners, self._colors = [], {}
        for marker in message.markers:
            last = marker.ns.rpartition("/")[2]
            if marker.action in (Marker.ADD, Marker.MODIFY) and (self.with_forces or not _FORCES.fullmatch(last)):
                shown[f"{self._name}/{plain(marker.ns)}/{marker.id}".replace(" ", "_")] = marker
        for name in self._nodes.keys() - shown.keys():
            self._nodes.pop(name)[1].remove()
        for name, marker in shown.items():
            self._draw(name, marker)

    def points(self) -> list[np.ndarray]:
        """Returns corners of the bounding boxes of the shapes that the camera should show, (3,) each [m]."""
        return self._corners

    def color_of(self, body: str) -> tuple[int, int, int] | None:
        """Returns the colour of a body, red, green, blue, 0 to 255; None: the body is not drawn."""
        return self._colors.get(body)

    def remove(self) -> None:
        """Removes all shapes from the page."""
        for _, node in self._nodes.values():
            node.remove()
        self._nodes = {}

    def _draw(self, name: str, marker: Marker) -> None:
        p, q = marker.pose.position, marker.pose.orientation
        visible = marker.color.a > 0.0
        look = self._look(marker)
        pose: dict[str, Any] = {"position": (p.x, p.y, p.z), "wxyz": (q.w, q.x, q.y, q.z), "visible": visible}
        if marker.type in _SHAPES:
            self._draw_solid(name, marker, look, pose)
        elif marker.type in (Marker.ARROW, Marker.LINE_STRIP) and len(marker.points) > 1:
            self._draw_lines(name, marker, look, pose)
        elif marker.type == Marker.TRIANGLE_LIST and len(marker.points) >= 3:
            self._draw_triangles(name, marker, look, pose)

    def _look(self, marker: Marker) -> dict[str, Any]:
        c = marker.color
        opacity = min(c.a, _SEE_THROUGH) if self.see_through else c.a
        look = look_of((c.r, c.g, c.b, opacity))
        body = marker.ns.rpartition("/")[2]
        if c.a > 0.0:
            self._colors.setdefault(body, look["color"])
        return look

    def _draw_solid(self, name: str, marker: Marker, look: dict[str, Any], pose: dict[str, Any]) -> None:
        size = (marker.scale.x, marker.scale.y, marker.scale.z)
        node = self._node(name, marker.type)
        if node is None:
            vertices, faces = unit_mesh(_SHAPES[marker.type])
            node = self._add(name, marker.type, self._scene.add_mesh_simple(name, vertices, faces, **look))
        node.set(scale=size, **(look if pose["visible"] else {}), **pose)
        if pose["visible"] and max(size) < _SCENERY:
            w, x, y, z = pose["wxyz"]
            half = 0.5 * np.abs(matrix_from_quaternion((x, y, z, w))) @ size
            self._corners += [np.array(pose["position"]) - half, np.array(pose["position"]) + half]

    def _draw_lines(self, name: str, marker: Marker, look: dict[str, Any], pose: dict[str, Any]) -> None:
        points = np.array([(v.x, v.y, v.z) for v in marker.points], dtype=np.float32)
        if marker.type == Marker.ARROW:
            pieces = points[None, :2]
        elif len(points) == 2 and marker.ns.rpartition("/")[2] == _COUPLING:
            pieces = spring(points[0], points[1])
        else:
            pieces = np.stack([points[:-1], points[1:]], axis=1)
        old = self._node(name, marker.type)
        if old is None or old.sent("colors") != look["color"]:
            if old is not None:
                self._nodes.pop(name)[1].remove()
            old = self._add(name, marker.type, self._line(name, marker, pieces, look["color"]))
            old.note(colors=look["color"])
        old.set(points=pieces, **pose)

    def _draw_triangles(self, name: str, marker: Marker, look: dict[str, Any], pose: dict[str, Any]) -> None:
        corners = np.array([(v.x, v.y, v.z) for v in marker.points], dtype=np.float32)
        faces = np.arange(len(corners) // 3 * 3, dtype=np.uint32).reshape(-1, 3)
        mesh = self._node(name, marker.type)
        if mesh is None:
            made = self._scene.add_mesh_simple(name, corners, faces, **{**look, "flat_shading": True})
            mesh = self._add(name, marker.type, made)
        mesh.set(vertices=corners, faces=faces, **look, **pose)
        w, x, y, z = pose["wxyz"]
        moved = np.array(pose["position"]) + corners @ matrix_from_quaternion((x, y, z, w)).T
        self._corners += [moved.min(axis=0), moved.max(axis=0)]

    def _node(self, name: str, kind: int) -> Node | None:
        found = self._nodes.get(name)
        if found is not None and found[0] != kind:
            self._nodes.pop(name)[1].remove()
            return None
        return found[1] if found is not None else None

    def _add(self, name: str, kind: int, handle: Any) -> Node:
        node = Node(handle)
        self._nodes[name] = kind, node
        return node

    def _line(self, name: str, marker: Marker, pieces: np.ndarray, color: Any) -> Any:
        width = marker.scale.x
        if marker.type == Marker.LINE_STRIP:
            return self._scene.add_line_segments(name, pieces, color, thickness=width)
        return self._scene.add_arrows(
            name,
            pieces,
            color,
            shaft_radius=_SHAFT * width,
            head_radius=_HEAD * width,
            head_length=_HEAD_LENGTH * width,
        )
