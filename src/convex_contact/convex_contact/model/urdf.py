"""Articulated trees from URDF files, by Pinocchio.

Joints, masses, damping and friction (``<dynamics>``), limits, mimic and collision shapes come from the file. Armature
and springs, which URDF does not have, are arguments. Meshes become their convex hulls. Links that fixed joints connect
are one body; a body is named ``<tree>/<link>`` after the link that its joint moves. Bodies that a joint
connects do not collide.

Limits of a joint's position hold whatever force this requires. Limits of effort and velocity are those of its motor:
they are the defaults of :meth:`~convex_contact.model.world.World.actuate_joint`. Friction is a
:class:`~convex_contact.model.joints.JointFriction`, mimic a :class:`~convex_contact.model.joints.JointCoupler`. Other
parts of a file are refused, listed in a :class:`UrdfWarning`, or ignored because they are for other programs
(`convex_contact.model.urdf_document`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pinocchio as pin

from convex_contact.model.bodies import ArticulatedTree
from convex_contact.model.joints import JointCoupler, JointFriction, JointLaw
from convex_contact.model.materials import Material
from convex_contact.model.mesh_files import hull_of, read_meshes
from convex_contact.model.names import path_of, unknown_name
from convex_contact.model.shapes import Shape
from convex_contact.model.tree_arrays import MAX_VELOCITIES
from convex_contact.model.urdf_document import UrdfDocument, UrdfJoint, UrdfMesh, read_urdf
from convex_contact.model.world import Body, Geometry, KinematicTree, Pose, Vector, WorldError, vector
from convex_contact.model.xml_document import XmlError, warn_user
from haptic_files import FileError

if TYPE_CHECKING:
    from convex_contact.model.world import World

#: number of parts that are not simulated which a warning lists
LISTED = 4
#: error text where Pinocchio refuses a file after all checks
NOT_READ = "expected a URDF model, of which Pinocchio did not read all"
#: least eigenvalue of a mass matrix that is accepted [kg or kg m^2]
LEAST_INERTIA = 1e-18


class UrdfWarning(UserWarning):
    """A URDF file has parts that are not simulated."""


# Longer than others by its arguments and their documentation.
def add_urdf(
    world: World,
    name: str,
    path: str | Path,
    *,
    material: Material | None = None,
    materials: Mapping[str, Material] | None = None,
    position: Vector = (0.0, 0.0, 0.0),
    orientation: Vector = (0.0, 0.0, 0.0, 1.0),
    floating: bool = False,
    package_dirs: Sequence[str | Path] = (),
    q: Vector | None = None,
    v: Vector | None = None,
    armature: Any = 0.0,
    stiffness: Any = 0.0,
    damping: Any = None,
    friction: Any = None,
    self_collision: bool = True,
) -> int:
    """Adds the tree of a URDF file to a world.

    Args:
        world: the world.
        name: unique; the links' bodies are called ``<name>/<link>``.
        path: of the file.
        material: of the surfaces.
        materials: of the surfaces of links by name, in place of `material`.
        position: of the root in the world (3,) [m] (at the start if it floats).
        orientation: of the root, quaternion (x, y, z, w).
        floating: the root moves freely. Its coordinates are then Pinocchio's free flyer: position and quaternion
            (x, y, z, w), velocity [linear; angular] in the root's frame.
        package_dirs: directories in which ``package://`` is searched.
        q: coordinates at the start (nq,), a continuous joint's being its cosine and sine; default: Pinocchio's neutral
            ones, moved into the limits.
        v: velocities at the start (nv,).
        armature: inertia of the rotors reflected to the joints, a number for all joints or (joint velocities,).
        stiffness: of springs at the joints, a number or (joint velocities,); at rest at ``q``.
        damping: of the joints, a number or (joint velocities,); default: the file's.
        friction: of the joints [N or N m], a number or (joint velocities,); default: the file's.
        self_collision: links that no joint connects can touch each other.

    Returns:
        The tree's number.

    Raises:
        WorldError: the file cannot be read, or a length does not fit.

    Warns:
        UrdfWarning: Parts of the file are not simulated.
    """
    if not isinstance(name, str):
        raise WorldError(f"name: expected a text, got {name!r}")
    _check_materials(name, material, {} if materials is None else materials)
    file = path_of(f"{name}: path", path)
    if not name or any(other.name == name for other in world.trees):
        raise WorldError(f"name: {name!r} is empty or taken")
    document = _document(file, name)
    root = Pose.of(position, orientation, name)
    unknown = sorted(set(materials or {}) - document.shapes.keys())
    if unknown:
        raise unknown_name(f"{name}: materials", unknown[0], document.shapes, f"the links of {file.name}")
    shapes = _shapes(document, file, name, package_dirs)
    model, poses = _read(file, name, floating, document)
    if model.nv > MAX_VELOCITIES:
        raise WorldError(
            f"{name}: {file.name}: expected joints with {MAX_VELOCITIES} velocities at the most, got {model.nv}"
        )
    model.gravity.linear = world.gravity
    welded = pin.SE3.Identity() if floating else root.se3
    for joint in range(1, model.njoints):
        if model.parents[joint] == 0:
            model.jointPlacements[joint] = welded * model.jointPlacements[joint]
    free = 6 if floating else 0
    start = _start(model, floating, root, document) if q is None else vector(q, model.nq, f"{name}: q")
    tree = ArticulatedTree(
        model=model,
        link_joints=list(range(1, model.njoints)),
        damping=np.array(model.damping) if damping is None else _per_joint(model, free, damping, f"{name}: damping"),
        stiffness=_per_joint(model, free, stiffness, f"{name}: stiffness"),
        rest=pin.normalize(model, start),
        armature=np.array(model.armature) + _per_joint(model, free, armature, f"{name}: armature"),
    )
    if not pin.isNormalized(model, tree.rest, 1e-6):
        raise WorldError(f"{name}: q: expected cosines, sines and quaternions that are not zero, got {start}")
    speed = np.zeros(model.nv) if v is None else vector(v, model.nv, f"{name}: v")
    mass = tree.mass_matrix(tree.rest)
    if not np.isfinite(mass).all():
        raise WorldError(f"{name}: {file.name}: expected a mass matrix of finite numbers, got others")
    inertia = np.linalg.eigvalsh(mass)
    if model.nv and not inertia[0] > max(1e-12 * inertia[-1], LEAST_INERTIA):
        least = _least_joint(tree)
        raise WorldError(
            f"{name}: {file.name}: joint {least} moves no mass; its link needs an <inertial>, or give an armature"
        )
    laws = _laws(len(world.trees), name, model, free, document, friction)
    surface = Material() if material is None else material
    surfaces = dict.fromkeys(shapes, surface) | dict(materials or {})
    geometries = {
        link: [
            Geometry(shape, pose, surfaces[link], color=document.colors.get(link))
            for shape, pose in zip(solids, poses[link], strict=True)
        ]
        for link, solids in shapes.items()
    }
    _warn(document, file, name)
    bodies = _add_links(world, name, tree, geometries, root, self_collision)
    given = {"armature": armature, "stiffness": stiffness, "damping": damping, "friction": friction}
    source = {
        "urdf": str(file.resolve()),
        "material": surface,
        "materials": dict(materials or {}),
        "position": root.position,
        "orientation": root.orientation,
        "floating": floating,
        "package_dirs": [str(Path(directory).resolve()) for directory in package_dirs],
        "self_collision": self_collision,
    }
    motors = {joint.name: (joint.effort_limit, joint.velocity_limit) for joint in document.joints.values()}
    world.trees.append(
        KinematicTree(name, tree, tree.rest.copy(), speed, bodies, source | given, own_laws=laws, motors=motors)
    )
    world.joint_laws += laws
    return len(world.trees) - 1


def _check_materials(name: str, material: Any, materials: Any) -> None:
    if not isinstance(materials, Mapping):
        raise WorldError(f"{name}: materials: expected a material by the name of a link, got {materials!r}")
    for link, one in ((None, material), *materials.items()):
        if not isinstance(one, Material) and not (link is None and one is None):
            where = "material" if link is None else f"materials: {link}"
            raise WorldError(f"{name}: {where}: expected a Material, got {one!r}")


def _document(file: Path, name: str) -> UrdfDocument:
    try:
        return read_urdf(file)
    except FileError as error:
        raise WorldError(f"{name}: {error}") from None
    except XmlError as error:
        raise WorldError(f"{name}: {file.name}: {error}") from None


def _shapes(
    document: UrdfDocument, file: Path, name: str, package_dirs: Sequence[str | Path]
) -> dict[str, list[Shape]]:
    """Returns the collision shapes of the links, with the hulls of the meshes.

    Raises:
        WorldError: there is no such mesh, or it has no hull.
    """
    places: dict[str, Path] = {}
    for mesh in (shape for shapes in document.shapes.values() for shape in shapes if isinstance(shape, UrdfMesh)):
        if mesh.filename not in places:
            found = _mesh_file(mesh.filename, [*package_dirs, file.parent])
            if found is None:
                expected = "expected a file, or one below package_dirs or the URDF's folder"
                raise WorldError(
                    f"{name}: {file.name}: line {mesh.line}: mesh: filename: {expected}, got none that exists"
                )
            places[mesh.filename] = found
    try:
        meshes = dict(zip(places, read_meshes(list(places.values())), strict=True))
    except FileError as error:
        raise WorldError(f"{name}: {file.name}: mesh: {error}") from None

    def solid(shape: Shape | UrdfMesh) -> Shape:
        if not isinstance(shape, UrdfMesh):
            return shape
        try:
            return hull_of(meshes[shape.filename], shape.scale)
        except ValueError as error:
            raise WorldError(f"{name}: {file.name}: line {shape.line}: mesh: {error}") from None

    return {link: [solid(shape) for shape in shapes] for link, shapes in document.shapes.items()}


def _mesh_file(filename: str, directories: Sequence[str | Path]) -> Path | None:
    """Finds the file of a mesh by its filename; None if there is none."""
    scheme, separator, rest = filename.partition("://")
    path = rest if separator else filename
    inside = [Path(directory, path.lstrip("/")) for directory in directories]
    for candidate in inside if scheme == "package" and separator else [Path(path), *inside]:
        with suppress(OSError, ValueError):
            if candidate.exists():
                return candidate
    return None


def _read(file: Path, name: str, floating: bool, document: UrdfDocument) -> tuple[pin.Model, dict[str, list[Pose]]]:
    """Returns Pinocchio's model of a URDF file, and the poses of its collision shapes in the bodies, by link.

    Raises:
        WorldError: the file describes no model.
    """
    root = [pin.JointModelFreeFlyer()] if floating else []
    try:
        model = pin.buildModelFromXML(document.text, *root)
        items = pin.buildGeomFromUrdfString(model, document.text, pin.GeometryType.COLLISION).geometryObjects
    except (ValueError, RuntimeError):  # their texts may quote the file
        raise WorldError(f"{name}: {file.name}: {NOT_READ}") from None
    poses: dict[str, list[Pose]] = {link: [] for link in document.shapes}
    for item in items:
        poses[str(model.frames[item.parentFrame].name)].append(Pose.from_se3(item.placement))
    counts = {link: len(shapes) for link, shapes in document.shapes.items()}
    if {link: len(found) for link, found in poses.items()} != counts or not set(document.joints) <= set(model.names):
        raise WorldError(f"{name}: {file.name}: {NOT_READ}")
    return model, poses


def _least_joint(tree: ArticulatedTree) -> str:
    """Returns the name of the last joint that moves no mass, or else of the joint that moves the least."""
    model = tree.model
    masses = [inertia.mass for inertia in model.inertias]
    for joint in range(model.njoints - 1, 0, -1):
        masses[model.parents[joint]] += masses[joint]
    return str(model.names[min(range(1, model.njoints), key=lambda joint: (masses[joint], -joint))])


def _laws(number: int, name: str, model: pin.Model, free: int, document: UrdfDocument, friction: Any) -> list[JointLaw]:
    """Returns couplers of the joints with mimic, and the friction of joints.

    Args:
        number: of the tree.
        name: of the tree.
        model: Pinocchio's model.
        free: number of velocities of the root.
        document: the file.
        friction: for all joints or for each velocity; None: the file's.

    Raises:
        WorldError: a length does not fit, or a joint with several velocities has friction.
    """
    given = None if friction is None else _per_joint(model, free, friction, f"{name}: friction")
    laws: list[JointLaw] = []
    for joint in list(model.names)[2 if free else 1 :]:
        made, entry = model.joints[model.getJointId(joint)], document.joints.get(str(joint), UrdfJoint(str(joint)))
        if entry.mimic is not None:
            laws.append(JointCoupler(number, entry.name, *entry.mimic))
        values = [entry.friction] if given is None else given[made.idx_v : made.idx_v + made.nv].tolist()
        if made.nv > 1 and any(values) and np.ndim(friction):
            raise WorldError(f"{name}: friction: expected 0 at {entry.name}, which has {made.nv} velocities")
        if made.nv == 1 and values[0]:
            laws.append(JointFriction(number, entry.name, values[0]))
    return laws


def _warn(document: UrdfDocument, file: Path, name: str) -> None:
    """Warns in one line of the parts that are not simulated."""
    parts = document.ignored
    if parts:
        more = f"; and {len(parts) - LISTED} more" if len(parts) > LISTED else ""
        warn_user(f"{name}: {file.name}: {'; '.join(parts[:LISTED])}{more}", UrdfWarning)


def _per_joint(model: pin.Model, free: int, values: Any, where: str) -> np.ndarray:
    """Expands a number, or one for each joint velocity after the free root's, to all velocities (nv,)."""
    count = model.nv - free
    spread = np.broadcast_to(np.asarray(values, dtype=np.float64), (count,)) if np.ndim(values) == 0 else values
    array = vector(spread, count, where)
    if (array < 0).any():
        raise WorldError(f"{where}: expected no negative numbers, got {array}")
    return np.concatenate([np.zeros(model.nv - count), array])


def _add_links(
    world: World, name: str, tree: ArticulatedTree, geometries: dict[str, list[Geometry]], root: Pose,
    self_collision: bool,
) -> list[int]:  # fmt: skip
    """Adds the bodies of a tree's links, and disables collisions between some of them; returns their numbers."""
    model, number = tree.model, len(world.trees)
    by_joint: dict[int, list[Geometry]] = {joint: [] for joint in range(model.njoints)}
    for frame in model.frames:
        if frame.type == pin.FrameType.BODY:
            by_joint[frame.parentJoint] += geometries.get(str(frame.name), [])
    made = [Body(base_name(name, model), "fixed", by_joint[0], root)] if by_joint[0] else []
    for link, joint in enumerate(tree.link_joints):
        made.append(Body(f"{name}/{_link(model, joint)}", "link", by_joint[joint], tree=number, link=link))
    first = world._append(*made)
    base, first = (first, first + 1) if by_joint[0] else (None, first)
    bodies = list(range(first, len(world.bodies)))
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


def _start(model: pin.Model, floating: bool, root: Pose, document: UrdfDocument) -> np.ndarray:
    """Returns coordinates (nq,) within all limits, near to 0, that satisfy every mimic."""
    q = pin.neutral(model)
    if floating:
        q[:3], q[3:7] = root.position, root.orientation
    for joint in range(2 if floating else 1, model.njoints):
        i = model.joints[joint].idx_q
        if model.joints[joint].nq == 1:
            q[i] = min(max(q[i], model.lowerPositionLimit[i]), model.upperPositionLimit[i])
    for entry in document.joints.values():
        chain = [entry]
        while (mimic := chain[-1].mimic) is not None:
            chain.append(document.joints[mimic[0]])
        for follower, leader in zip(chain[-2::-1], chain[:0:-1], strict=True):
            _, ratio, offset = follower.mimic or ("", 1.0, 0.0)
            i, j = (model.joints[model.getJointId(each.name)].idx_q for each in (follower, leader))
            q[i] = ratio * q[j] + offset
    return np.asarray(q)


def base_name(tree: str, model: pin.Model) -> str:
    """Returns the name of the body of the shapes that no joint of a tree moves."""
    return f"{tree}/{_link(model, 0)}"


def _link(model: pin.Model, joint: int) -> str:
    """Returns the name of the link that a joint moves: its first body frame."""
    for frame in model.frames:
        if frame.parentJoint == joint and frame.type == pin.FrameType.BODY:
            return str(frame.name)
    return str(model.names[joint])
