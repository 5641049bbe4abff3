"""A world of a file for touching: a mesh, a URDF or an MJCF model on a table, and a finger that a tool drives.

    ./haptics run touch world:=mug.stl world_parameters:='[density=700]'

A mesh becomes a free body that stands on the table. Mesh files have no unit: a mesh that is larger than `LARGEST` or
smaller than `SMALLEST` is scaled to `SIZE`.
"""

from __future__ import annotations

from pathlib import Path

from convex_contact.model.materials import Material
from convex_contact.model.mesh_files import SUFFIXES
from convex_contact.model.shapes import HalfSpace
from convex_contact.model.world import World, WorldError

#: extents of a mesh beyond which it is scaled, and the scaled extent [m]
SMALLEST, LARGEST, SIZE = 0.005, 0.15, 0.05
#: density of the body of a mesh [kg/m^3]
DENSITY = 500.0
#: surfaces of the table and the mesh, and of the finger; their combined stiffness is 1e5 N/m
WOOD = Material(stiffness=2e5, dissipation=5.0, relaxation_time=1e-4, friction=0.4)
RUBBER = Material(stiffness=2e5, dissipation=5.0, relaxation_time=1e-4, friction=0.8)
#: names of the bodies beside those of the file
TABLE, FINGER = "table", "finger"


def touched_file(file: str, density: float | None = None) -> World:
    """Returns the world of a file with a table, if it has none, and a finger.

    Args:
        file: path of a mesh, a URDF or an MJCF file.
        density: of the body of a mesh [kg/m^3]; None: `DENSITY`.

    Raises:
        WorldError: the file is wrong, has a body named as one of those that are added, or is no mesh although a density
            is given.
    """
    path = Path(str(file))
    if path.suffix.lower() in SUFFIXES:
        world = _mesh(path, DENSITY if density is None else density)
    elif density is None:
        world = World.load(path)
    else:
        raise WorldError(f"{path.name}: density: expected none, since the file is no mesh and has masses of its own")
    taken = {TABLE, FINGER} & {body.name for body in world.bodies}
    if taken:
        raise WorldError(f"{path.name}: expected no body named {sorted(taken)[0]}, which is added")
    if not any(isinstance(geometry.shape, HalfSpace) for _, geometry in world.numbered_geometries()):
        world.add_half_space(TABLE, material=WOOD)
    world.add_capsule(FINGER, radius=0.01, length=0.04, material=RUBBER, mass=0.05, position=(-0.08, -0.08, 0.035))
    return world


def _mesh(path: Path, density: float) -> World:
    """Makes a world with the body of a mesh on the plane z = 0, its bounding box above the origin."""
    shape = World.load(path).bodies[0].geometries[0].shape
    extent = 2.0 * float(shape.extent.max())
    factor = 1.0 if SMALLEST <= extent <= LARGEST else SIZE / extent
    x, y, z = (factor * (shape.extent * [0.0, 0.0, 1.0] - shape.center)).tolist()
    return World.load(path, density=density, material=WOOD, scale=(factor,) * 3, position=(x, y, z))
