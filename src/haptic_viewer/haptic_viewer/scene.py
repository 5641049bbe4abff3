"""What the page draws: the robot of a URDF, markers, forces. Positions are in the device's base frame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import coal
import numpy as np
import pinocchio
import trimesh
import viser
from visualization_msgs.msg import Marker, MarkerArray

from haptic_viewer.text import plain

#: radii of an arrow's shaft and head and length of the head, over the shaft's width
_SHAFT, _HEAD, _HEAD_LENGTH = 0.5, 1.1, 2.5
#: colours of forces: of the hand (or the sensor) and of what is rendered
HAND, RENDERED = (230, 140, 30), (40, 110, 220)
#: what is larger is scenery, and does not count where the camera looks [m]
_SCENERY = 0.5

_SHAPES = {Marker.CUBE: "box", Marker.SPHERE: "sphere", Marker.CYLINDER: "cylinder"}


@cache
def unit_mesh(kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Vertices and faces of a box, a sphere or a cylinder about z with edges, diameters and height 1."""
    if kind == "box":
        mesh = trimesh.creation.box((1.0, 1.0, 1.0))
    elif kind == "sphere":
        mesh = trimesh.creation.icosphere(subdivisions=3, radius=0.5)
    else:
        mesh = trimesh.creation.cylinder(radius=0.5, height=1.0, sections=32)
    return np.asarray(mesh.vertices, dtype=np.float32), np.asarray(mesh.faces, dtype=np.uint32)


def wxyz(quaternion: Sequence[float] | np.ndarray) -> tuple[float, float, float, float]:
    """From x, y, z, w, as everywhere in the suite, to what the page takes."""
    x, y, z, w = (float(value) for value in quaternion)
    return w, x, y, z


class Node:
    """An object on the page that is sent again only where it has changed.

    Args:
        handle: of viser.
    """

    def __init__(self, handle: Any) -> None:
        self._handle = handle
        self._sent: dict[str, Any] = {}

    def set(self, **properties: Any) -> None:
        """Changes properties, given as plain tuples and numbers, or arrays."""
        for name, value in properties.items():
            if name not in self._sent or not np.array_equal(self._sent[name], value):
                self._sent[name] = value
                setattr(self._handle, name, value)

    def remove(self) -> None:
        """Takes it from the page."""
        self._handle.remove()


class Robot:
    """A robot of which the page shows what its URDF says it looks like.

    Args:
        scene: of the page.
        description: URDF.
    """

    def __init__(self, scene: viser.SceneApi, description: str) -> None:
        self._model = pinocchio.buildModelFromXML(description)
        self._data = self._model.createData()
        self._geometry = pinocchio.GeometryModel()
        pinocchio.buildGeomFromUrdfString(self._model, description, pinocchio.GeometryType.VISUAL, self._geometry)
        self._geometry_data = self._geometry.createData()
        self._q = pinocchio.neutral(self._model)
        self._nodes = [
            Node(_solid(scene, f"/robot/{place}", shape)) for place, shape in enumerate(self._geometry.geometryObjects)
        ]
        self.move({})

    def move(self, positions: Mapping[str, float]) -> None:
        """Puts joints where they are, by name [rad] or [m]."""
        for name, value in positions.items():
            if not self._model.existJointName(name):
                continue
            joint = self._model.joints[self._model.getJointId(name)]
            whole = joint.nq == 1  # a continuous joint has cosine and sine
            self._q[joint.idx_q : joint.idx_q + joint.nq] = value if whole else (np.cos(value), np.sin(value))
        pinocchio.forwardKinematics(self._model, self._data, self._q)
        pinocchio.updateGeometryPlacements(self._model, self._data, self._geometry, self._geometry_data)
        for node, place in zip(self._nodes, self._geometry_data.oMg, strict=True):
            pose = pinocchio.SE3ToXYZQUAT(place)
            node.set(position=tuple(pose[:3].tolist()), wxyz=wxyz(pose[3:]))

    def points(self) -> list[np.ndarray]:
        """Where its parts are [m]."""
        return [np.array(place.translation) for place in self._geometry_data.oMg]

    def remove(self) -> None:
        """Takes it from the page."""
        for node in self._nodes:
            node.remove()


def _solid(scene: viser.SceneApi, name: str, shape: pinocchio.GeometryObject) -> Any:
    """Adds what one visual element of a URDF looks like."""
    solid, color = shape.geometry, np.asarray(shape.meshColor)
    if isinstance(solid, coal.Box):
        kind, scale = "box", 2.0 * np.asarray(solid.halfSide)
    elif isinstance(solid, coal.Sphere):
        kind, scale = "sphere", np.full(3, 2.0 * solid.radius)
    elif isinstance(solid, coal.Cylinder):
        kind, scale = "cylinder", np.array([2.0 * solid.radius, 2.0 * solid.radius, 2.0 * solid.halfLength])
    else:
        mesh: Any = trimesh.load(shape.meshPath, force="mesh")
        mesh.apply_scale(np.asarray(shape.meshScale).reshape(3))
        return scene.add_mesh_trimesh(name, mesh)
    vertices, faces = unit_mesh(kind)
    return scene.add_mesh_simple(name, vertices * scale.astype(np.float32), faces, **_look(color))


def _look(color: Sequence[float] | np.ndarray) -> dict[str, Any]:
    """Colour and opacity of (r, g, b, opacity), each 0 to 1."""
    red, green, blue, opacity = (float(value) for value in color)
    return {
        "color": (round(255 * red), round(255 * green), round(255 * blue)),
        "opacity": None if opacity >= 1.0 else opacity,
        "cast_shadow": opacity >= 1.0,
    }


class Markers:
    """The shapes of one topic; the newest message is all that there is, as the suite's nodes publish it.

    Args:
        scene: of the page.
        name: below which the shapes are.
    """

    def __init__(self, scene: viser.SceneApi, name: str) -> None:
        self._scene, self._name = scene, name
        self._nodes: dict[str, tuple[int, Node]] = {}
        self._middles: list[np.ndarray] = []

    def show(self, message: MarkerArray) -> None:
        """Draws a message."""
        shown = {}
        self._middles = []
        for marker in message.markers:
            if marker.action in (Marker.ADD, Marker.MODIFY):
                shown[f"{self._name}/{plain(marker.ns)}/{marker.id}".replace(" ", "_")] = marker
        for name in self._nodes.keys() - shown.keys():
            self._nodes.pop(name)[1].remove()
        for name, marker in shown.items():
            self._draw(name, marker)

    def points(self) -> list[np.ndarray]:
        """Positions of objects of a size to look at [m]."""
        return self._middles

    def remove(self) -> None:
        """Takes all from the page."""
        for _, node in self._nodes.values():
            node.remove()
        self._nodes = {}

    def _draw(self, name: str, marker: Marker) -> None:
        p, q, s = marker.pose.position, marker.pose.orientation, marker.scale
        seen = marker.color.a > 0.0
        c = marker.color
        look = _look((c.r, c.g, c.b, c.a))
        place: dict[str, Any] = {"position": (p.x, p.y, p.z), "wxyz": (q.w, q.x, q.y, q.z), "visible": seen}
        if marker.type in _SHAPES:
            node = self._node(name, marker.type) or self._add(name, marker.type, self._solid(name, marker.type, look))
            node.set(scale=(s.x, s.y, s.z), **(look if seen else {}), **place)
            if seen and max(s.x, s.y, s.z) < _SCENERY:
                self._middles.append(np.array([p.x, p.y, p.z]))
        elif marker.type in (Marker.ARROW, Marker.LINE_STRIP) and len(marker.points) > 1:
            points = np.array([(v.x, v.y, v.z) for v in marker.points], dtype=np.float32)
            pieces = points[None, :2] if marker.type == Marker.ARROW else np.stack([points[:-1], points[1:]], axis=1)
            old = self._node(name, marker.type)
            if old is None or old._sent.get("colors") != look["color"]:
                if old is not None:
                    self._nodes.pop(name)[1].remove()
                old = self._add(name, marker.type, self._line(name, marker.type, pieces, look["color"], s.x))
                old._sent["colors"] = look["color"]
            old.set(points=pieces, **place)
        elif marker.type == Marker.TRIANGLE_LIST and len(marker.points) >= 3:
            corners = np.array([(v.x, v.y, v.z) for v in marker.points], dtype=np.float32)
            faces = np.arange(len(corners) // 3 * 3, dtype=np.uint32).reshape(-1, 3)
            mesh = self._node(name, marker.type)
            if mesh is None:
                made = self._scene.add_mesh_simple(name, corners, faces, **{**look, "flat_shading": True})
                mesh = self._add(name, marker.type, made)
            mesh.set(vertices=corners, faces=faces, **place)
            turn = pinocchio.Quaternion(q.w, q.x, q.y, q.z).matrix()
            self._middles.append(np.array([p.x, p.y, p.z]) + turn @ corners.mean(axis=0))

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

    def _solid(self, name: str, kind: int, look: dict[str, Any]) -> Any:
        vertices, faces = unit_mesh(_SHAPES[kind])
        return self._scene.add_mesh_simple(name, vertices, faces, **look)

    def _line(self, name: str, kind: int, pieces: np.ndarray, color: Any, width: float) -> Any:
        if kind == Marker.LINE_STRIP:
            return self._scene.add_line_segments(name, pieces, color, thickness=width)
        return self._scene.add_arrows(
            name,
            pieces,
            color,
            shaft_radius=_SHAFT * width,
            head_radius=_HEAD * width,
            head_length=_HEAD_LENGTH * width,
        )


class Arrow:
    """A force at a place.

    Args:
        scene: of the page.
        name: of the arrow.
        color: red, green, blue, 0 to 255.
    """

    #: what is weaker is not drawn [N]
    SMALLEST = 0.05

    def __init__(self, scene: viser.SceneApi, name: str, color: tuple[int, int, int]) -> None:
        points = np.zeros((1, 2, 3), dtype=np.float32)
        handle = scene.add_arrows(
            name, points, color, shaft_radius=0.0012, head_radius=0.003, head_length=0.007, visible=False
        )
        self._node = Node(handle)

    def show(self, start: np.ndarray, force: np.ndarray, length: float) -> None:
        """Draws a force (3,) [N] that acts at `start` (3,) [m]; `length` of 1 N [m]."""
        seen = bool(np.linalg.norm(force) > self.SMALLEST)
        if seen:
            self._node.set(points=np.array([[start, start + length * force]], dtype=np.float32))
        self._node.set(visible=seen)

    def hide(self) -> None:
        """Draws none."""
        self._node.set(visible=False)


def floor(up_axis: str, with_handle: bool) -> tuple[float, float, float]:
    """Returns the place of the grid, below the bodies and, where there is one, below the handle [m]."""
    height = -0.06 if with_handle else -0.001
    x, y, z = (height * (axis == up_axis) for axis in "xyz")
    return x, y, z


def look_at(server: viser.ViserServer, points: Sequence[np.ndarray], up_axis: str) -> None:
    """Puts the camera where it sees all points: in front of them, a little above and beside."""
    low, high = np.min(points, axis=0), np.max(points, axis=0)
    center, size = (low + high) / 2.0, max(float(np.linalg.norm(high - low)), 0.1)
    up = np.eye(3)["xyz".index(up_axis)]
    front = np.array([0.0, 0.0, 1.0]) if up_axis == "y" else np.array([0.0, -1.0, 0.0])
    way = front + 1.0 * up + 0.35 * np.cross(up, front)
    eye = center + 1.5 * size * way / np.linalg.norm(way)
    camera = server.initial_camera
    camera.up, camera.look_at, camera.position = tuple(up), tuple(center), tuple(eye)
    for client in server.get_clients().values():
        client.camera.up_direction = up
        client.camera.look_at = center
        client.camera.position = eye
