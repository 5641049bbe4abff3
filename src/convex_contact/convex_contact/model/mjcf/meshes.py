"""Meshes of the assets: files or vertices, with their scale and reference frame."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import numpy as np
import pinocchio as pin

from convex_contact.model.mesh_files import MeshFile, hull_of, read_meshes
from convex_contact.model.mjcf.defaults import Defaults
from convex_contact.model.mjcf.document import MjcfDocument, choice
from convex_contact.model.mjcf.settings import Compiler
from convex_contact.model.shapes import Hull, MassProperties
from convex_contact.model.xml_document import Element
from haptic_files import FileError


@dataclass
class MjcfMesh:
    """A mesh in the frame of its geoms.

    Attributes:
        element: XML element of the mesh.
        mesh: vertices and triangles.
        inertia: source of the mass properties: "convex" (the hull), "exact" or "legacy" (the surface).
    """

    element: Element
    mesh: MeshFile
    inertia: str

    def hull(self) -> Hull:
        """Returns the convex hull.

        Raises:
            XmlError: the mesh is flat.
        """
        try:
            return hull_of(self.mesh)
        except ValueError as error:
            raise self.element.error(f"{error}") from None

    def solid(self) -> MassProperties:
        """Returns volume [m^3], centre and inertia at density 1.

        Raises:
            XmlError: the mesh encloses no volume.
        """
        if self.inertia == "convex" or not len(self.mesh.triangles):
            hull = self.hull()
            return hull.solid(hull.volume())
        solid = enclosed(self.mesh, signed=self.inertia == "exact")
        if not solid.mass > 0.0:
            raise self.element.error("expected a surface that encloses a volume, got none")
        return solid


def enclosed(mesh: MeshFile, *, signed: bool) -> MassProperties:
    """Returns the mass properties of the solid in a surface at density 1, from tetrahedra of a point and its triangles.

    Args:
        mesh: the surface; its triangles are counterclockwise as seen from outside.
        signed: tetrahedra count negative where the surface is seen from behind; else all count positive, from the
            centroid of the surface, as MuJoCo's inertia "legacy" has it.
    """
    corners = mesh.vertices[mesh.triangles]
    areas = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
    origin = (areas @ corners.mean(axis=1)) / max(float(areas.sum()), 1e-300)
    volume, center, second = _moments(corners - origin, signed)
    if not volume > 0.0:
        return MassProperties(0.0, origin, np.zeros((3, 3)))
    origin = origin + center
    volume, center, second = _moments(corners - origin, signed)  # the legacy rule gives another volume and center
    if signed:
        second = second - volume * np.outer(center, center)
    return MassProperties(volume, origin, np.trace(second) * np.eye(3) - second)


def _moments(corners: np.ndarray, signed: bool) -> tuple[float, np.ndarray, np.ndarray]:
    """Returns volume, centre (3,) and second moments (3, 3) of tetrahedra from the origin to triangles (n, 3, 3)."""
    volumes = np.linalg.det(corners) / 6.0
    volumes = volumes if signed else np.abs(volumes)
    volume, sums = float(volumes.sum()), corners.sum(axis=1)
    center = volumes @ sums / (4.0 * max(volume, 1e-300))
    moments = np.einsum("n,ni,nj->ij", volumes, sums, sums) + np.einsum("n,nki,nkj->ij", volumes, corners, corners)
    return volume, center, moments / 20.0


def read_assets(document: MjcfDocument, defaults: Defaults, compiler: Compiler, used: set[str]) -> dict[str, MjcfMesh]:
    """Reads the meshes that geoms use; returns them by name.

    Args:
        document: the file.
        defaults: its default classes.
        compiler: its settings.
        used: names of the meshes to read.

    Raises:
        XmlError: a mesh is wrong or cannot be read.
    """
    files: dict[str, tuple[Element, Path]] = {}
    found: dict[str, MjcfMesh] = {}
    names: set[str] = set()
    for given in document.sections.get("asset", []):
        element = defaults.resolved(given)
        name = _name(element)
        if name in names:
            raise element.error("expected a name that no other mesh has, got one twice", "name")
        names.add(name)
        if name not in used:
            continue
        if "file" in element.attributes:
            files[name] = element, _path(element, compiler)
        else:
            vertices = _vertices(element)
            found[name] = _made(element, MeshFile(vertices, _faces(element, len(vertices))), compiler)
    try:
        meshes = read_meshes([path for _, path in files.values()], triangles=True)
    except FileError:
        meshes = []
        for element, path in files.values():  # reads them one by one to find the wrong file
            try:
                meshes += read_meshes([path], triangles=True)
            except FileError as error:
                raise element.error(f"{error}", "file") from None
    for (name, (element, _)), mesh in zip(files.items(), meshes, strict=True):
        found[name] = _made(element, mesh, compiler)
    return found


def _name(element: Element) -> str:
    if "name" in element.attributes or "file" not in element.attributes:
        return element.name()
    return PurePosixPath(element.name("file")).stem


def _path(element: Element, compiler: Compiler) -> Path:
    name = element.attributes["file"]
    if not name.isprintable() or not name:
        raise element.error("expected the path of a mesh, got none", "file")
    return compiler.meshdir / (PurePosixPath(name).name if compiler.strippath else name)


def _vertices(element: Element) -> np.ndarray:
    if "vertex" not in element.attributes:
        raise element.error("expected a file or vertices, got neither")
    count = len(element.attributes["vertex"].split())
    if count < 12 or count % 3:
        raise element.error(f"expected 3 numbers for each of 4 vertices or more, got {count}", "vertex")
    return np.array(element.numbers("vertex", count)).reshape(-1, 3)


def _faces(element: Element, vertices: int) -> np.ndarray:
    """Returns the triangles (n, 3) between the vertices of an element; none if it gives none."""
    count = len(element.attributes.get("face", "").split())
    if count % 3:
        raise element.error(f"expected 3 numbers for each triangle, got {count}", "face")
    values = np.array(element.numbers("face", count, "", minimum=0.0)) if count else np.zeros(0)
    if not (values < vertices).all() or (values % 1.0).any():
        raise element.error(f"expected whole numbers of vertices, 0 to {vertices - 1}, got others", "face")
    return values.astype(np.int64).reshape(-1, 3)


def _made(element: Element, mesh: MeshFile, compiler: Compiler) -> MjcfMesh:
    """Makes a mesh with its reference frame and scale: x' = scale R^T (x - p)."""
    scale = np.array(element.numbers("scale", 3, "1 1 1"))
    if not scale.all():
        raise element.error("expected 3 numbers other than 0, got a 0", "scale")
    quat = Element(element.tag, {"quat": element.attributes.get("refquat", "1 0 0 0")}, element.line, file=element.file)
    rotation = compiler.rotation(quat)
    vertices = (mesh.vertices - np.array(element.numbers("refpos", 3, "0 0 0"))) @ rotation * scale
    triangles = mesh.triangles if scale.prod() > 0.0 else mesh.triangles[:, ::-1]
    inertia = choice(element, "inertia", ("convex", "exact", "legacy"), "legacy")
    return MjcfMesh(element, MeshFile(vertices, triangles), inertia)


def pose_of(solid: MassProperties, pose: pin.SE3) -> pin.Inertia:
    """Returns the inertia of a solid at a pose, in the frame of the pose's parent."""
    return pose.act(pin.Inertia(solid.mass, solid.center, solid.inertia))
