"""Articulated trees from URDF files, by Pinocchio.

Joints, masses, damping (``<dynamics damping>``), limits and collision shapes come from the file; what URDF has no
place for (armature, springs) is given beside it. Meshes become their convex hulls. Links that are welded together are
one body; a body is named ``<tree>/<link>`` after the link that its joint moves. Bodies that a joint connects do not
collide.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree
from xml.parsers import expat

import coal
import numpy as np
import pinocchio as pin

from convex_contact.model.bodies import ArticulatedTree
from convex_contact.model.materials import Material
from convex_contact.model.shapes import Box, Capsule, Cylinder, HalfSpace, Hull, Shape, Sphere
from convex_contact.model.world import Body, Geometry, Placement, Tree, Vector, WorldError, vector
from haptic_files import FileError, check_file, read_bytes

if TYPE_CHECKING:
    from convex_contact.model.world import World


# Longer than others by its arguments and their documentation.
def add_urdf(
    world: World,
    name: str,
    path: str | Path,
    *,
    material: Material | None = None,
    position: Vector = (0.0, 0.0, 0.0),
    orientation: Vector = (0.0, 0.0, 0.0, 1.0),
    floating: bool = False,
    package_dirs: Sequence[str | Path] = (),
    q: Vector | None = None,
    v: Vector | None = None,
    armature: Any = 0.0,
    stiffness: Any = 0.0,
    damping: Any = None,
    self_collision: bool = True,
) -> int:
    """Adds the tree of a URDF file to a world.

    Args:
        world: The world.
        name: Unique; the links' bodies are called ``<name>/<link>``.
        path: The file.
        material: Of all its surfaces.
        position: Of its root in the world (3,), m (at the start if it floats).
        orientation: Of its root, quaternion (x, y, z, w).
        floating: The root moves freely. Its coordinates are then Pinocchio's free flyer: position and quaternion
            (x, y, z, w), velocity [linear; angular] in the root's frame.
        package_dirs: Where ``package://`` leads.
        q: Coordinates at the start (nq,), a continuous joint's being its cosine and sine; default: Pinocchio's neutral
            ones, moved into the limits.
        v: Velocities at the start (nv,).
        armature: Inertia of the rotors as the joints see them, a number for all joints or (joint velocities,).
        stiffness: Of springs at the joints, likewise; at rest at ``q``.
        damping: Of the joints, likewise; default: the file's.
        self_collision: Links that no joint connects can touch each other.

    Returns:
        The tree's number.

    Raises:
        WorldError: The file cannot be read, or a length does not fit.
    """
    file = Path(path)
    if not name or any(other.name == name for other in world.trees):
        raise WorldError(f"name: {name!r} is empty or taken")
    description, directories = _description(file, name, package_dirs)
    root = Placement.of(position, orientation, name)
    model, shapes = _read(file, name, floating, description, directories)
    model.gravity.linear = world.gravity
    welded = pin.SE3.Identity() if floating else root.se3
    for joint in range(1, model.njoints):
        if model.parents[joint] == 0:
            model.jointPlacements[joint] = welded * model.jointPlacements[joint]
    free = 6 if floating else 0
    start = _start(model, floating, root) if q is None else vector(q, model.nq, f"{name}: q")
    tree = ArticulatedTree(
        model=model,
        link_joints=list(range(1, model.njoints)),
        damping=np.array(model.damping) if damping is None else _per_joint(model, free, damping, f"{name}: damping"),
        stiffness=_per_joint(model, free, stiffness, f"{name}: stiffness"),
        rest=pin.normalize(model, start),
        armature=np.array(model.armature) + _per_joint(model, free, armature, f"{name}: armature"),
    )
    speed = np.zeros(model.nv) if v is None else vector(v, model.nv, f"{name}: v")
    inertia = np.linalg.eigvalsh(tree.mass_matrix(tree.rest))
    if not inertia[0] > 1e-12 * inertia[-1]:
        raise WorldError(
            f"{name}: {file.name}: a joint moves no mass; its link needs an <inertial>, or give an armature"
        )
    surface = material or Material()
    bodies = _add_links(world, name, file, tree, shapes, surface, root, self_collision)
    given = {"armature": armature, "stiffness": stiffness, "damping": damping, "self_collision": self_collision}
    source = {
        "urdf": str(file.resolve()),
        "material": surface,
        "position": root.position,
        "orientation": root.orientation,
        "floating": floating,
        "package_dirs": [str(Path(directory).resolve()) for directory in package_dirs],
    }
    world.trees.append(Tree(name, tree, tree.rest.copy(), speed, bodies, source | given))
    return len(world.trees) - 1


def _description(file: Path, name: str, package_dirs: Sequence[str | Path]) -> tuple[bytes, list[str]]:
    """Reads a URDF file, and checks the meshes that it names; returns it, and the folders of its packages.

    Raises:
        WorldError: The file or a mesh cannot be read.
    """
    directories = [str(directory) for directory in (*package_dirs, file.parent)]
    try:
        description = read_bytes(file)
        for mesh in _mesh_files(description, directories):
            check_file(mesh)
    except FileError as error:
        raise WorldError(f"{name}: {error}") from None
    return description, directories


def _read(
    file: Path, name: str, floating: bool, description: bytes, directories: list[str]
) -> tuple[pin.Model, pin.GeometryModel]:
    """Returns Pinocchio's model and collision geometry of a URDF file.

    Raises:
        WorldError: It describes no model.
    """
    try:
        model = (
            pin.buildModelFromUrdf(str(file), pin.JointModelFreeFlyer())
            if floating
            else pin.buildModelFromUrdf(str(file))
        )
        shapes = pin.buildGeomFromUrdf(model, str(file), pin.GeometryType.COLLISION, package_dirs=directories)
    except (ValueError, RuntimeError):  # their texts may quote the file
        raise WorldError(f"{name}: {file.name}: {_fault(description)}") from None
    return model, shapes


def _per_joint(model: pin.Model, free: int, values: Any, where: str) -> np.ndarray:
    """Spreads a number, or one for each joint velocity after the free root's, over all velocities (nv,)."""
    count = model.nv - free
    spread = np.broadcast_to(np.asarray(values, dtype=np.float64), (count,)) if np.ndim(values) == 0 else values
    array = vector(spread, count, where)
    if (array < 0).any():
        raise WorldError(f"{where}: expected no negative numbers, got {array}")
    return np.concatenate([np.zeros(model.nv - count), array])


def _add_links(
    world: World, name: str, file: Path, tree: ArticulatedTree, shapes: pin.GeometryModel, surface: Material,
    root: Placement, self_collision: bool,
) -> list[int]:  # fmt: skip
    """Adds the bodies of a tree's links, and which of them pass through each other; returns their numbers."""
    model, number = tree.model, len(world.trees)
    by_joint: dict[int, list[Geometry]] = {joint: [] for joint in range(model.njoints)}
    for i, shape in enumerate(shapes.geometryObjects):
        placement = Placement.from_se3(shape.placement)
        try:
            solid = _shape(shape)
        except ValueError as error:
            raise WorldError(f"{name}: {file.name}: collision shape {i}: {error}") from None
        by_joint[shape.parentJoint].append(Geometry(solid, placement, surface))
    bodies = []
    root_at: dict[str, Any] = {"position": root.position, "orientation": root.orientation, "fixed": True}
    base = world.add_body(f"{name}/{_link(model, 0)}", geometries=by_joint[0], **root_at) if by_joint[0] else None
    for link, joint in enumerate(tree.link_joints):
        body = Body(f"{name}/{_link(model, joint)}", "link", by_joint[joint], tree=number, link=link)
        bodies.append(world._append(body))
    at = {0: base} | dict(zip(tree.link_joints, bodies, strict=True))
    for joint in tree.link_joints:
        parent = at[model.parents[joint]]
        if parent is not None:
            world.disable_pair(parent, at[joint])  # type: ignore[arg-type]
    if not self_collision:
        inner = [body for body in at.values() if body is not None]
        for i, a in enumerate(inner):
            for b in inner[i + 1 :]:
                world.disable_pair(a, b)
    return bodies


def _mesh_files(description: bytes, directories: Sequence[str]) -> Iterator[Path]:
    """Existing files that the meshes of a URDF name; none where it is not XML."""
    try:
        root = ElementTree.fromstring(description)
    except (ElementTree.ParseError, ValueError, LookupError):
        return
    for mesh in root.iter("mesh"):
        name = mesh.get("filename", "")
        for scheme in ("package://", "file://"):
            name = name.removeprefix(scheme)
        for path in (Path(name), *(Path(directory, name.lstrip("/")) for directory in directories)):
            with suppress(OSError, ValueError):
                if name and path.exists():
                    yield path


def _fault(description: bytes) -> str:
    """Describes why a file is not a URDF model, without what it says."""
    try:
        ElementTree.fromstring(description)
    except ElementTree.ParseError as error:
        line, column = error.position
        return f"line {line}, column {column + 1}: not XML: {expat.ErrorString(error.code)}"
    except (ValueError, LookupError):
        return "not XML: expected an encoding such as UTF-8"
    return "expected a URDF model: a robot with one root link, joints between its links, and meshes that exist"


def _start(model: pin.Model, floating: bool, root: Placement) -> np.ndarray:
    q = pin.neutral(model)
    if floating:
        q[:3], q[3:7] = root.position, root.orientation
    for joint in range(2 if floating else 1, model.njoints):
        i = model.joints[joint].idx_q
        if model.joints[joint].nq == 1:
            q[i] = min(max(q[i], model.lowerPositionLimit[i]), model.upperPositionLimit[i])
    return np.asarray(q)


def _link(model: pin.Model, joint: int) -> str:
    """The link that a joint moves: its first body frame."""
    for frame in model.frames:
        if frame.parentJoint == joint and frame.type == pin.FrameType.BODY:
            return str(frame.name)
    return str(model.names[joint])


def _shape(item: pin.GeometryObject) -> Shape:
    """A shape of Coal's as one of ours.

    Raises:
        WorldError: Of a kind that has no contact here.
    """
    g = item.geometry
    if isinstance(g, coal.Sphere):
        return Sphere(g.radius)
    if isinstance(g, coal.Box):
        return Box(tuple(2 * np.array(g.halfSide)))
    if isinstance(g, coal.Cylinder):
        return Cylinder(g.radius, 2 * g.halfLength)
    if isinstance(g, coal.Capsule):
        return Capsule(g.radius, 2 * g.halfLength)
    if isinstance(g, coal.Halfspace):
        return HalfSpace()
    if isinstance(g, coal.BVHModelBase):
        return Hull(np.unique(g.vertices(), axis=0))
    raise WorldError(f"no contact with a {type(g).__name__}")
