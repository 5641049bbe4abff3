"""Worlds as YAML files.

    gravity: [0, 0, -9.81]
    materials:
      steel: {stiffness: 1e7, dissipation: 10, relaxation_time: 1e-4, friction: 0.5}
    bodies:
      - {name: floor, shape: {type: half_space}, material: steel, fixed: true}
      - {name: box, mass: 1.0, shape: {type: box, size: [0.1, 0.1, 0.1]}, material: steel, position: [0, 0, 0.1]}
      - {name: bob, mass: 1.0, shape: {type: sphere, radius: 0.1}, position: [1, 0, 1], spring_stiffness: 200}
      - name: ball                         # touches the floor, the mug and other such shapes in a contact surface
        mass: 0.2
        shape: {type: sphere, radius: 0.05, hydroelastic: {modulus: 1e6, resolution: 0.01}}
      - name: mug                          # rigid, with the triangles of its file
        fixed: true
        shape: {type: mesh, file: mug.stl, hydroelastic: {modulus: .inf}}
      - name: hammer                       # several shapes, each with its own pose
        mass: 0.8
        shapes:
          - {type: cylinder, radius: 0.01, length: 0.3}
          - {type: box, size: [0.1, 0.03, 0.03], position: [0, 0, 0.15], material: steel}
    trees:
      - name: arm
        urdf: arm.urdf
        position: [0, 0, 1]
        armature: 0.01
        materials: {hand: steel}           # of one link, in place of material
        motions: [{joint: shoulder, amplitude: 0.1, frequency: 2.0, phase: 0.0, offset: 0.0}]   # rad or m, Hz, rad
        actuators: [{joint: elbow, proportional_gain: 50, derivative_gain: 1, target_position: 0.5, effort_limit: 10}]
        couplers: [{joint: slide, other: elbow, ratio: 0.02}]   # q_slide = ratio q_elbow + offset
    pairs:
      - {a: box, b: floor, friction: 0.3}  # combined values
    disabled:
      - [arm/hand, box]

Lengths in m, masses in kg, quaternions x, y, z, w; the names are those of :class:`~convex_contact.model.world.World`'s
methods. Paths are relative to the file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from pydantic import ValidationError

from convex_contact.model.bodies import ArticulatedTree
from convex_contact.model.body_joints import body_joints
from convex_contact.model.joints import JointCoupler, JointFriction, JointLaw, JointMotion, Sinusoid
from convex_contact.model.materials import Material
from convex_contact.model.shapes import Box, Capsule, Cylinder, Hull, Shape, Sphere
from convex_contact.model.tendons import TendonActuator, TendonCoupler, TendonEquality, TendonLimit
from convex_contact.model.urdf import base_name
from convex_contact.model.world import Geometry, KinematicTree, Pose, World, WorldError
from convex_contact.model.world_schema import HYDROELASTIC_FIELDS, BodyEntry, MaterialEntry, TreeEntry, WorldEntry
from convex_contact.model.world_schema import PerJoint as PerJoint
from convex_contact.model.world_schema import Quadruple as Quadruple
from convex_contact.model.world_schema import Triple as Triple
from haptic_files import FileError, YamlDocument, kind_of, parse_yaml, read_yaml
from haptic_files.schema import describe_refusal, texts_of, withhold


def load_world(path: str | Path) -> World:
    """Loads the world that a YAML file describes.

    Raises:
        WorldError: the file is missing or wrong; the message names file and field.
    """
    try:
        document = read_yaml(path)
    except FileError as error:
        raise WorldError(str(error)) from None
    return world_of(document, Path(path).parent)


def parse_world(text: str, *, folder: str | Path = ".", name: str = "world") -> World:
    """Makes the world that a YAML text describes.

    Args:
        text: the text.
        folder: to which its paths are relative.
        name: of the text in messages.

    Raises:
        WorldError: see :func:`load_world`.
    """
    try:
        document = parse_yaml(text, name)
    except FileError as error:
        raise WorldError(str(error)) from None
    return world_of(document, Path(folder))


def world_of(document: YamlDocument, folder: Path) -> World:
    """Makes the world that a YAML document describes.

    Args:
        document: the document; messages have its name without folders.
        folder: to which its paths are relative.

    Raises:
        WorldError: see :func:`load_world`.
    """
    document = replace(document, name=Path(document.name).name)
    if not isinstance(document.value, dict):
        raise WorldError(f"{document.name}: expected a mapping with bodies, got {kind_of(document.value)}")
    try:
        description = WorldEntry.model_validate(document.value)
    except ValidationError as error:
        raise WorldError(describe_refusal(error, WorldEntry, document)) from None
    return _Builder(description, folder, document.name, texts_of(document.value, WorldEntry)).world


class _LocatedError(WorldError):
    """An error that already names file and field."""


class _Builder:
    """Makes a world from a validated description.

    Args:
        given: the description.
        folder: to which its paths are relative.
        name: of the file in messages.
        texts: of the document, which messages must not quote.
    """

    def __init__(self, given: WorldEntry, folder: Path, name: str, texts: set[str]) -> None:
        self.folder, self.name, self.texts = folder, name, texts
        self.materials = {key: self._checked(f"materials.{key}", value) for key, value in given.materials.items()}
        self.world = World(given.gravity)
        for i, body in enumerate(given.bodies):
            self._named(f"bodies.{i}", self._add_body, f"bodies.{i}", body)
        for i, tree in enumerate(given.trees):
            self._named(f"trees.{i}", self._add_tree, f"trees.{i}", tree)
        for i, pair in enumerate(given.pairs):
            self._named(f"pairs.{i}", self.world.set_pair, **pair.model_dump())
        for i, (a, b) in enumerate(given.disabled):
            self._named(f"disabled.{i}", self.world.disable_pair, a, b)

    def _named(self, field: str, function: Any, *arguments: Any, **options: Any) -> Any:
        try:
            return function(*arguments, **options)
        except ValueError as error:
            if isinstance(error, _LocatedError):
                raise
            raise _LocatedError(f"{self.name}: {field}: {withhold(str(error), self.texts)}") from None

    def _checked(self, field: str, given: MaterialEntry) -> Material:
        made: Material = self._named(field, Material, **given.model_dump())
        return made

    def _material(self, field: str, given: str | MaterialEntry | None, default: Material) -> Material:
        if isinstance(given, MaterialEntry):
            return self._checked(field, given)
        if given is None:
            return default
        if given not in self.materials:
            raise _LocatedError(f"{self.name}: {field}: expected a name in materials, got {kind_of(given)}")
        return self.materials[given]

    def _add_body(self, field: str, body: BodyEntry) -> None:
        if body.shape is not None and body.shapes:
            raise WorldError("expected shape or shapes, got both")
        default = self._material(f"{field}.material", body.material, Material())
        shapes = [("shape", body.shape)] if body.shape else [(f"shapes.{i}", s) for i, s in enumerate(body.shapes)]
        geometries = []
        for part, shape in shapes:
            where = f"{field}.{part}"
            solid: Shape = self._named(where, shape.to_shape, self.folder)
            placement = self._named(where, Pose.of, shape.position, shape.orientation, "placement")
            surface = self._material(f"{where}.material", shape.material, default)
            hydroelastic = self._named(f"{where}.hydroelastic", shape.to_surface, self.folder)
            geometries.append(self._named(where, Geometry, solid, placement, surface, hydroelastic, shape.color))
        options = body.model_dump(exclude={"name", "shape", "shapes", "material"})
        self.world.add_body(body.name, geometries=geometries, **options)

    def _add_tree(self, field: str, tree: TreeEntry) -> None:
        laws = {"motions", "actuators", "couplers"}
        options = tree.model_dump(exclude={"name", "urdf", "material", "materials", "package_dirs"} | laws)
        links = {
            link: self._material(f"{field}.materials", given, Material()) for link, given in tree.materials.items()
        }
        self.world.add_urdf(
            tree.name,
            self.folder / tree.urdf,
            material=self._material(f"{field}.material", tree.material, Material()),
            materials=links,
            package_dirs=[self.folder / directory for directory in tree.package_dirs],
            **options,
        )
        self.texts |= set(self.world.trees[-1].model.model.names)
        for motion in tree.motions:
            wave = Sinusoid(**motion.model_dump(exclude={"joint"}))
            self.world.move_joint(tree.name, motion.joint, wave)
        for actuator in tree.actuators:
            self.world.actuate_joint(tree.name, **actuator.model_dump(exclude_none=True))
        for coupler in tree.couplers:
            self.world.couple_joints(tree.name, **coupler.model_dump())


def dump_world(world: World) -> str:
    """Returns a YAML text that describes a world.

    Functions are left out: a body with a motion is prescribed, and so is a joint unless it follows a Sinusoid.

    Raises:
        WorldError: the world has a part that a file cannot describe: a joint between bodies, a weld, a motor of a ball
            or planar joint, rows of one's own, an MJCF tree, a deformable body, or shapes that do not collide.
    """
    names: dict[Material, str] = {}
    if world.disabled_geometries:
        raise WorldError("disabled_geometries: expected none, they have no form in a world file")
    for joint in body_joints(world):
        raise WorldError(f"{joint.name}: a joint between bodies has no form in a world file")
    for controller in world.controllers:
        raise WorldError(f"controllers: expected none, {type(controller).__name__} has no form in a world file")

    def surface(material: Material) -> str:
        return names.setdefault(material, f"material_{len(names) + 1}")

    bases = {base_name(tree.name, tree.model.model) for tree in world.trees if tree.source}  # their files have them
    bodies = [_body_entry(body, surface) for body in world.bodies if body.kind != "link" and body.name not in bases]
    trees = []
    for number, tree in enumerate(world.trees):
        if not tree.source:
            kind = "a tree of an MJCF file" if isinstance(tree.model, ArticulatedTree) else "a deformable body"
            raise WorldError(f"{tree.name}: {kind} has no form in a world file")
        left_out = ("material", "materials")
        entry = {"name": tree.name} | {key: _plain(value) for key, value in tree.source.items() if key not in left_out}
        entry |= _joint_law_entries([law for law in world.joint_laws if law.tree == number], tree)
        materials = {link: surface(material) for link, material in tree.source.get("materials", {}).items()}
        entry |= {"material": surface(tree.source["material"])} | ({"materials": materials} if materials else {})
        trees.append(entry | {"q": _plain(tree.q), "v": _plain(tree.v)})
    whole: dict[str, Any] = {
        "gravity": _plain(world.gravity),
        "materials": {},
        "bodies": bodies,
        "trees": trees,
        "pairs": [
            {"a": world.bodies[i].name, "b": world.bodies[j].name}
            | {key: value for key, value in vars(law).items() if value is not None}
            for (i, j), law in sorted(world.pair_laws.items())
        ],
        "disabled": [[world.bodies[i].name, world.bodies[j].name] for i, j in sorted(world.disabled)],
    }
    whole["materials"] = {name: _material_entry(material) for material, name in names.items()}
    return str(yaml.safe_dump({key: value for key, value in whole.items() if value}, sort_keys=False))


def _material_entry(material: Material) -> dict[str, Any]:
    """Returns the four numbers that every material has, and the others if they are not the default."""
    usual = vars(Material())
    always = ("stiffness", "dissipation", "relaxation_time", "friction")
    return {k: _plain(v) for k, v in vars(material).items() if k in always or v != usual[k]}


def _joint_law_entries(laws: Sequence[JointLaw], tree: KinematicTree) -> dict[str, Any]:
    entries: dict[str, list[dict[str, Any]]] = {}
    for law in laws:
        if any(law is own for own in tree.own_laws):  # its file has it
            continue
        if isinstance(law, TendonActuator | TendonLimit | TendonEquality | TendonCoupler):
            raise WorldError(f"{tree.name}: actuators, limits and equalities of tendons have no form in a world file")
        if isinstance(law, JointFriction):
            raise WorldError(
                f"{tree.name}: {law.joint}: expected friction of add_urdf, which has a form in a world file"
            )
        if isinstance(law, JointMotion):
            if isinstance(law.position, Sinusoid):
                entries.setdefault("motions", []).append({"joint": law.joint} | vars(law.position))
            continue
        values = {key: value for key, value in vars(law).items() if key != "tree"}
        if any(callable(value) for value in values.values()):
            continue
        entries.setdefault("couplers" if isinstance(law, JointCoupler) else "actuators", []).append(values)
    return entries


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, Path) else value


def _body_entry(body: Any, surface: Any) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": body.name}
    if body.kind == "free":
        entry |= {"mass": body.mass, "center": _plain(body.center), "inertia": _plain(body.inertia)}
        entry |= {name: getattr(body, name) for name in ("spring_stiffness", "spring_damping") if getattr(body, name)}
    else:
        entry[body.kind] = True
    for name in ("velocity", "angular_velocity"):
        if getattr(body, name).any():
            entry[name] = _plain(getattr(body, name))
    entry |= {"position": _plain(body.placement.position), "orientation": _plain(body.placement.orientation)}
    entry["shapes"] = [_shape_entry(g, surface) for g in body.geometries]
    return entry


def _shape_entry(geometry: Geometry, surface: Any) -> dict[str, Any]:
    s = geometry.shape
    entry: dict[str, Any] = {"type": s.name}
    if isinstance(s, Sphere):
        entry["radius"] = s.radius
    elif isinstance(s, Box):
        entry["size"] = list(s.size)
    elif isinstance(s, Cylinder | Capsule):
        entry |= {"radius": s.base_radius, "length": s.length}
    elif isinstance(s, Hull):
        entry["points"] = _plain(s.vertices)
    place = geometry.placement
    entry |= {"position": _plain(place.position), "orientation": _plain(place.orientation)}
    entry["material"] = surface(geometry.material)
    if geometry.hydroelastic is not None:
        names = next(names for kind, names in HYDROELASTIC_FIELDS.items() if isinstance(geometry.hydroelastic, kind))
        entry["hydroelastic"] = {name: _plain(getattr(geometry.hydroelastic, name)) for name in names}
    if geometry.color is not None:
        entry["color"] = list(geometry.color)
    return entry
