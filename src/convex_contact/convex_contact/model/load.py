"""Worlds from files, chosen by their suffix.

World.load("arm.urdf")             # one tree, named after the robot, its root fixed; options of add_urdf
World.load("scene.yaml")           # a world file
World.load("arm.xml")              # MJCF; options of load_mjcf
World.load("mug.stl", density=700, decompose=True) # one free body; options of add_mesh
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from convex_contact.model.decomposition import DEFAULT as DEFAULT_CONCAVITY
from convex_contact.model.decomposition import convex_parts
from convex_contact.model.materials import Material
from convex_contact.model.mesh_files import SUFFIXES, hull_of, read_meshes
from convex_contact.model.mjcf import load_mjcf
from convex_contact.model.names import path_of
from convex_contact.model.urdf_document import read_urdf
from convex_contact.model.world import Geometry, Pose, World, WorldError, made, vector
from convex_contact.model.xml_document import XmlError
from haptic_files import FileError
from haptic_math.quantities import finite_number

#: default density of the body of a mesh, that of water [kg/m^3]
DENSITY = 1000.0


def load(path: str | Path, **options: Any) -> World:
    """Loads the world of a file.

    Args:
        path: of the file; its suffix selects the loader, see `LOADERS`.
        **options: of the loader.

    Raises:
        WorldError: there is no loader for the suffix, or the file is wrong; one line that names the file.
    """
    file = path_of("path", path)
    loader = LOADERS.get(file.suffix.lower())
    if file.suffix.lower() == ".xacro":
        raise WorldError(f"{file.name}: expected a URDF, got macros; `xacro {file.name} > robot.urdf` makes one")
    if loader is None:
        raise WorldError(f"{file.name}: expected a file ending in {', '.join(sorted(LOADERS))}")
    return loader(file, **options)


def load_urdf(path: Path, **options: Any) -> World:
    """Makes a world with the tree of a URDF file, which is named after the robot.

    Args:
        path: of the file.
        **options: of :func:`~convex_contact.model.urdf.add_urdf`.

    Raises:
        WorldError: the file is wrong.
    """
    try:
        name = read_urdf(path).name
    except FileError as error:
        raise WorldError(str(error)) from None
    except XmlError as error:
        raise WorldError(f"{path.name}: {error}") from None
    world = World()
    world.add_urdf(name, path, **options)
    return world


def load_mesh(path: Path, **options: Any) -> World:
    """Makes a world with one free body of a mesh, which is named after the file.

    Args:
        path: of the file.
        **options: of :func:`add_mesh`.

    Raises:
        WorldError: the file has no mesh, or a value is wrong.
    """
    world = World()
    world.add_mesh(path.stem, path, **options)
    return world


def add_mesh(
    world: World,
    name: str,
    path: str | Path,
    *,
    decompose: bool = False,
    concavity: float = DEFAULT_CONCAVITY,
    density: float = DENSITY,
    material: Material | None = None,
    scale: Any = (1.0, 1.0, 1.0),
    **body: Any,
) -> int:
    """Adds a body with the shape of a mesh file (STL, OBJ, DAE, PLY, OFF, GLB).

    Args:
        world: the world.
        name: of the body, unique.
        path: of the file.
        decompose: convex parts (:mod:`convex_contact.model.decomposition`) form the shape and keep its hollows; False:
            the shape is the convex hull of the mesh.
        concavity: of the parts, in units of half the longest side of the mesh's bounding box.
        density: of the shape [kg/m^3]; ignored if `mass` is among the other arguments.
        material: of the surface.
        scale: factors along the axes (3,); 0.001 each for a file in millimetres that has no `unit`.
        **body: arguments of :meth:`~convex_contact.model.world.World.add_body`.

    Returns:
        The body's number.

    Raises:
        WorldError: The file has no mesh, or a value is wrong.
    """
    file, factors = path_of(f"{name}: path", path), vector(scale, 3, f"{name}: scale").tolist()
    expected = "a positive number of kg/m^3"
    density = finite_number(f"{name}: density", density, above=0.0, expected=expected, error=WorldError)
    try:
        mesh = read_meshes([file], triangles=decompose)[0]
        hulls = convex_parts(mesh, factors, concavity=concavity) if decompose else [hull_of(mesh, factors)]
    except FileError as error:
        raise WorldError(str(error)) from None
    except ValueError as error:
        raise WorldError(f"{file.name}: {error}") from None
    geometries = [made(name, Geometry, hull, Pose(), Material() if material is None else material) for hull in hulls]
    mass = {} if body.get("fixed") or body.get("prescribed") else {"mass": density * sum(h.volume() for h in hulls)}
    return world.add_body(name, geometries=geometries, **mass | body)


#: loader by suffix, a function of the path and its options
LOADERS: dict[str, Callable[..., World]] = {
    ".urdf": load_urdf,
    ".xml": load_mjcf,
    ".yaml": World.from_yaml,
    ".yml": World.from_yaml,
    **dict.fromkeys(SUFFIXES, load_mesh),
}
