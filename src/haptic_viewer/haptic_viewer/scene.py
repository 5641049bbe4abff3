"""Objects in the scene of the page: the robot of a URDF. Positions are in the device's base frame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any
from xml.etree import ElementTree

import coal
import numpy as np
import pinocchio
import trimesh
import viser

import haptic_files
from haptic_core.errors import shortened
from haptic_math.rotations import wxyz


@cache
def unit_mesh(kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Builds vertices and faces of a box, a sphere or a cylinder about z with edges, diameters and height 1."""
    if kind == "box":
        mesh = trimesh.creation.box((1.0, 1.0, 1.0))
    elif kind == "sphere":
        mesh = trimesh.creation.icosphere(subdivisions=3, radius=0.5)
    else:
        mesh = trimesh.creation.cylinder(radius=0.5, height=1.0, sections=32)
    return np.asarray(mesh.vertices, dtype=np.float32), np.asarray(mesh.faces, dtype=np.uint32)


def look_of(color: Sequence[float] | np.ndarray) -> dict[str, Any]:
    """Returns the properties of a mesh of a colour (red, green, blue, opacity), each 0 to 1.

    Opaque bodies cast shadows.
    """
    red, green, blue, opacity = (float(value) for value in color)
    return {
        "color": (round(255 * red), round(255 * green), round(255 * blue)),
        "opacity": None if opacity >= 1.0 else opacity,
        "cast_shadow": opacity >= 1.0,
    }


class Node:
    """Object on the page of which only changed properties are sent.

    Args:
        handle: viser's handle of the object.
    """

    def __init__(self, handle: Any) -> None:
        self._handle = handle
        self._sent: dict[str, Any] = {}

    def set(self, **properties: Any) -> None:
        """Sets properties, given as tuples, numbers or arrays."""
        for name, value in properties.items():
            if name not in self._sent or not np.array_equal(self._sent[name], value):
                self._sent[name] = value
                setattr(self._handle, name, value)

    def note(self, **properties: Any) -> None:
        """Records properties with which the object was created."""
        self._sent |= properties

    def sent(self, name: str) -> Any:
        """Returns the last value of a property; None if it was never set."""
        return self._sent.get(name)

    def remove(self) -> None:
        """Removes the object from the page."""
        self._handle.remove()


def check_meshes(description: str) -> None:
    """Refuses meshes of a URDF that would block the library that reads them, since any program may send a description.

    Raises:
        ValueError: the text is no XML, a mesh is no regular file of at most 64 MiB, or leaves its package.
    """
    try:
        elements = ElementTree.fromstring(description).iter()
    except ElementTree.ParseError as error:
        raise ValueError(f"robot_description: no XML: {error}") from None
    for element in elements:
        name = element.get("filename", "")
        path = name.removeprefix("file://")
        if path.startswith("/"):
            haptic_files.check_file(path)
        elif ".." in path.split("/"):
            raise ValueError(f"robot_description: mesh {shortened(name, 60)}: expected a path without ..")


class Robot:
    """Robot with the visual elements of its URDF.

    Args:
        scene: scene of the page.
        description: URDF.

    Raises:
        ValueError: the description is no URDF, or a mesh is refused.
    """

    def __init__(self, scene: viser.SceneApi, description: str) -> None:
        check_meshes(description)
        self._model = pinocchio.buildModelFromXML(description)
        self._data = self._model.createData()
        self._geometry = pinocchio.GeometryModel()
        pinocchio.buildGeomFromUrdfString(self._model, description, pinocchio.GeometryType.VISUAL, self._geometry)
        self._geometry_data = self._geometry.createData()
        self._q = pinocchio.neutral(self._model)
        self._corners: list[np.ndarray] = []
        self._nodes = [
            Node(self._solid(scene, f"/robot/{index}", shape))
            for index, shape in enumerate(self._geometry.geometryObjects)
        ]
        self.move({})

    def move(self, positions: Mapping[str, float], base: str = "") -> None:
        """Moves the robot to joint positions.

        Args:
            positions: joint positions by name [rad] or [m].
            base: link whose frame is that of the page; the root if there is no such link.
        """
        for name, value in positions.items():
            if not self._model.existJointName(name):
                continue
            joint = self._model.joints[self._model.getJointId(name)]
            bounded = joint.nq == 1  # a continuous joint has cosine and sine
            self._q[joint.idx_q : joint.idx_q + joint.nq] = value if bounded else (np.cos(value), np.sin(value))
        pinocchio.forwardKinematics(self._model, self._data, self._q)
        pinocchio.updateGeometryPlacements(self._model, self._data, self._geometry, self._geometry_data)
        self._poses = list(self._geometry_data.oMg)
        if self._model.existBodyName(base):
            pinocchio.updateFramePlacements(self._model, self._data)
            frame = self._data.oMf[self._model.getBodyId(base)]
            self._poses = [frame.actInv(pose) for pose in self._poses]
        for node, pose in zip(self._nodes, self._poses, strict=True):
            values = pinocchio.SE3ToXYZQUAT(pose)
            node.set(position=tuple(values[:3].tolist()), wxyz=wxyz(values[3:]))

    def points(self) -> list[np.ndarray]:
        """Returns two opposite corners (3,) of the bounding box of each part [m]."""
        ends: list[np.ndarray] = []
        for pose, corners in zip(self._poses, self._corners, strict=True):
            moved = corners @ np.array(pose.rotation).T + np.array(pose.translation)
            ends += [moved.min(axis=0), moved.max(axis=0)]
        return ends

    def remove(self) -> None:
        """Removes the robot from the page."""
        for node in self._nodes:
            node.remove()

    def _solid(self, scene: viser.SceneApi, name: str, shape: pinocchio.GeometryObject) -> Any:
        """Adds the shape of one visual element of a URDF."""
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
            self._corners.append(np.asarray(mesh.bounds))
            return scene.add_mesh_trimesh(name, mesh)
        vertices, faces = unit_mesh(kind)
        corners = vertices * scale.astype(np.float32)
        self._corners.append(corners)
        return scene.add_mesh_simple(name, corners, faces, **look_of(color))
