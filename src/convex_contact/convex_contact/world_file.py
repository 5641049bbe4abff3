"""Worlds as YAML files.

    gravity: [0, 0, -9.81]
    materials:
      steel: {stiffness: 1e7, dissipation: 10, relaxation_time: 1e-4, friction: 0.5}
    bodies:
      - {name: floor, shape: {type: half_space}, material: steel, fixed: true}
      - {name: box, mass: 1.0, shape: {type: box, size: [0.1, 0.1, 0.1]}, material: steel, position: [0, 0, 0.1]}
      - name: hammer                       # several shapes, each with a place of its own
        mass: 0.8
        shapes:
          - {type: cylinder, radius: 0.01, length: 0.3}
          - {type: box, size: [0.1, 0.03, 0.03], position: [0, 0, 0.15], material: steel}
    trees:
      - {name: arm, urdf: arm.urdf, position: [0, 0, 1], armature: 0.01}
    pairs:
      - {a: box, b: floor, friction: 0.3}  # combined values
    disabled:
      - [arm/hand, box]

Lengths in m, masses in kg, quaternions x, y, z, w; the names are those of :class:`~convex_contact.world.World`'s
methods. Paths are relative to the file.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import coal
import numpy as np
import pinocchio as pin
import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from convex_contact.materials import Material
from convex_contact.shapes import Box, Capsule, Cylinder, HalfSpace, Hull, Shape, Sphere
from convex_contact.world import Geometry, Placement, World, WorldError

Triple = tuple[float, float, float]
Quadruple = tuple[float, float, float, float]
PerJoint = float | list[float]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=True)


class _Material(_Strict):
    stiffness: float = Material.stiffness
    dissipation: float = Material.dissipation
    relaxation_time: float = Material.relaxation_time
    friction: float = Material.friction


class _Shape(_Strict):
    material: str | _Material | None = None
    position: Triple = (0, 0, 0)
    orientation: Quadruple = (0, 0, 0, 1)


class _Sphere(_Shape):
    type: Literal["sphere"]
    radius: float

    def made(self, folder: Path) -> Shape:
        return Sphere(self.radius)


class _Box(_Shape):
    type: Literal["box"]
    size: Triple

    def made(self, folder: Path) -> Shape:
        return Box(self.size)


class _Cylinder(_Shape):
    type: Literal["cylinder"]
    radius: float
    length: float

    def made(self, folder: Path) -> Shape:
        return Cylinder(self.radius, self.length)


class _Capsule(_Shape):
    type: Literal["capsule"]
    radius: float
    length: float

    def made(self, folder: Path) -> Shape:
        return Capsule(self.radius, self.length)


class _HalfSpace(_Shape):
    type: Literal["half_space"]
    normal: Triple | None = None

    @model_validator(mode="after")
    def _turned(self) -> _HalfSpace:
        if self.normal is not None:
            if "orientation" in self.model_fields_set or not any(self.normal):
                raise ValueError("normal: expected a vector that is not zero, and no orientation beside it")
            n = np.array(self.normal) / np.linalg.norm(self.normal)
            turn = pin.Quaternion.FromTwoVectors(np.array([0.0, 0.0, 1.0]), n).coeffs()
            self.orientation = tuple(float(x) for x in turn)  # type: ignore[assignment]
        return self

    def made(self, folder: Path) -> Shape:
        return HalfSpace()


class _Hull(_Shape):
    type: Literal["hull"]
    points: list[Triple]

    def made(self, folder: Path) -> Shape:
        return Hull(np.array(self.points))


class _Mesh(_Shape):
    type: Literal["mesh"]
    file: Path
    scale: Triple = (1, 1, 1)

    def made(self, folder: Path) -> Shape:
        path = folder / self.file
        if not path.is_file():
            raise ValueError(f"file: {path} does not exist")
        mesh = coal.MeshLoader().load(str(path), np.array(self.scale, dtype=np.float64))
        return Hull(np.unique(mesh.vertices(), axis=0))


_AnyShape = Annotated[
    _Sphere | _Box | _Cylinder | _Capsule | _HalfSpace | _Hull | _Mesh, Field(discriminator="type")
]  # fmt: skip


class _Body(_Strict):
    name: str
    shape: _AnyShape | None = None
    shapes: list[_AnyShape] = []
    material: str | _Material | None = None
    mass: float | None = None
    inertia: float | Triple | tuple[Triple, Triple, Triple] | None = None
    center: Triple | None = None
    position: Triple = (0, 0, 0)
    orientation: Quadruple = (0, 0, 0, 1)
    velocity: Triple = (0, 0, 0)
    angular_velocity: Triple = (0, 0, 0)
    fixed: bool = False
    prescribed: bool = False


class _Tree(_Strict):
    name: str
    urdf: Path
    material: str | _Material | None = None
    position: Triple = (0, 0, 0)
    orientation: Quadruple = (0, 0, 0, 1)
    floating: bool = False
    package_dirs: list[Path] = []
    q: list[float] | None = None
    v: list[float] | None = None
    armature: PerJoint = 0.0
    stiffness: PerJoint = 0.0
    damping: PerJoint | None = None
    self_collision: bool = True


class _Pair(_Strict):
    a: str
    b: str
    stiffness: float | None = None
    dissipation: float | None = None
    relaxation_time: float | None = None
    friction: float | None = None


class _World(_Strict):
    gravity: Triple = (0, 0, -9.81)
    materials: dict[str, _Material] = {}
    bodies: list[_Body] = []
    trees: list[_Tree] = []
    pairs: list[_Pair] = []
    disabled: list[tuple[str, str]] = []


def load_world(path: str | Path) -> World:
    """The world that a YAML file describes.

    Raises:
        WorldError: The file is missing or wrong; the message names file and field.
    """
    file = Path(path)
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise WorldError(f"{path}: {error.strerror}") from None
    return parse_world(text, folder=file.parent, name=file.name)


def parse_world(text: str, *, folder: str | Path = ".", name: str = "world") -> World:
    """The world that a YAML text describes.

    Args:
        text: The text.
        folder: What its paths are relative to.
        name: What messages call it.

    Raises:
        WorldError: As :func:`load_world`.
    """
    try:
        given = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise WorldError(f"{name}: no YAML: {' '.join(str(error).split())}") from None
    if not isinstance(given, dict):
        raise WorldError(f"{name}: expected a mapping with bodies, got {type(given).__name__}")
    try:
        description = _World.model_validate(given)
    except ValidationError as error:
        first, more = error.errors()[0], error.error_count() - 1
        kinds = {"sphere", "box", "cylinder", "capsule", "half_space", "hull", "mesh"}
        field = ".".join(str(part) for part in first["loc"] if part not in kinds)
        got = "" if first["type"] in ("missing", "value_error") else f", got {first['input']!r}"
        rest = f" (and {more} more)" if more else ""
        raise WorldError(f"{name}: {field}: {first['msg']}{got}{rest}") from None
    return _Builder(description, Path(folder), name).world


class _Builder:
    """Makes a world from a validated description."""

    def __init__(self, given: _World, folder: Path, name: str) -> None:
        self.folder, self.name = folder, name
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
            text = str(error)
            raise WorldError(text if text.startswith(f"{self.name}: ") else f"{self.name}: {field}: {text}") from None

    def _checked(self, field: str, given: _Material) -> Material:
        made: Material = self._named(field, Material, **given.model_dump())
        return made

    def _material(self, field: str, given: str | _Material | None, default: Material) -> Material:
        if isinstance(given, _Material):
            return self._checked(field, given)
        if given is None:
            return default
        if given not in self.materials:
            known = ", ".join(self.materials) or "none"
            raise WorldError(f"{self.name}: {field}: no material {given!r}; there are: {known}")
        return self.materials[given]

    def _add_body(self, field: str, body: _Body) -> None:
        if body.shape is not None and body.shapes:
            raise WorldError("expected shape or shapes, got both")
        default = self._material(f"{field}.material", body.material, Material())
        shapes = [("shape", body.shape)] if body.shape else [(f"shapes.{i}", s) for i, s in enumerate(body.shapes)]
        geometries = []
        for part, shape in shapes:
            where = f"{field}.{part}"
            solid: Shape = self._named(where, shape.made, self.folder)
            placement = self._named(where, Placement.of, shape.position, shape.orientation, "placement")
            geometries.append(Geometry(solid, placement, self._material(f"{where}.material", shape.material, default)))
        options = body.model_dump(exclude={"name", "shape", "shapes", "material"})
        self.world.add_body(body.name, geometries=geometries, **options)

    def _add_tree(self, field: str, tree: _Tree) -> None:
        options = tree.model_dump(exclude={"name", "urdf", "material", "package_dirs"})
        self.world.add_urdf(
            tree.name,
            self.folder / tree.urdf,
            material=self._material(f"{field}.material", tree.material, Material()),
            package_dirs=[self.folder / directory for directory in tree.package_dirs],
            **options,
        )


# --- writing -------------------------------------------------------------------------------------------------


def dump_world(world: World) -> str:
    """A YAML text that describes a world. A motion given as a function is left out: the body is prescribed."""
    names: dict[Material, str] = {}

    def surface(material: Material) -> str:
        return names.setdefault(material, f"material_{len(names) + 1}")

    bodies = [_body_entry(body, surface) for body in world.bodies if body.kind != "link" and "/" not in body.name]
    trees = []
    for tree in world.trees:
        entry = {"name": tree.name} | {key: _plain(value) for key, value in tree.source.items() if key != "material"}
        trees.append(entry | {"material": surface(tree.source["material"]), "q": _plain(tree.q), "v": _plain(tree.v)})
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
    whole["materials"] = {name: vars(material).copy() for material, name in names.items()}
    return str(yaml.safe_dump({key: value for key, value in whole.items() if value}, sort_keys=False))


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
    return entry | {"material": surface(geometry.material)}
