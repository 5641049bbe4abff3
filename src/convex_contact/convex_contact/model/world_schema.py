"""Form of a world file (`world_file`): its fields, their types and defaults."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pinocchio as pin
from pydantic import BaseModel, ConfigDict, Field, model_validator

from convex_contact.model.materials import Material
from convex_contact.model.mesh_files import MeshFile, hull_of, read_meshes
from convex_contact.model.pressure_fields import Hydroelastic, Mesh, PressureField, RigidSurface
from convex_contact.model.shapes import Box, Capsule, Cylinder, HalfSpace, Hull, Shape, Sphere
from haptic_files import FileError

Triple = tuple[float, float, float]


Quadruple = tuple[float, float, float, float]


PerJoint = float | list[float]


class StrictModel(BaseModel):
    """A mapping with these keys and no others."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=True)


class MaterialEntry(StrictModel):
    """Numbers of a surface; see `materials.Material`."""

    stiffness: float = Material.stiffness
    dissipation: float = Material.dissipation
    relaxation_time: float = Material.relaxation_time
    friction: float = Material.friction
    static_friction: float | None = None
    stribeck_velocity: float = Material.stribeck_velocity
    friction_across: float | None = None
    friction_direction: Triple | None = None
    torsional_friction: float = Material.torsional_friction


class HydroelasticEntry(StrictModel):
    """Parameters of a mesh, or the mesh itself; see `pressure_fields`."""

    modulus: float | None = None
    resolution: float | None = None
    vertices: list[Triple] | None = None
    tetrahedra: list[tuple[int, int, int, int]] | None = None
    pressure: list[float] | None = None
    triangles: list[tuple[int, int, int]] | None = None

    def to_surface(self) -> Hydroelastic | Mesh:
        given = self.model_dump(exclude_none=True)
        for kind, names in HYDROELASTIC_FIELDS.items():
            if set(given) == set(names):
                surface: Hydroelastic | Mesh = kind(**given)
                return surface
        expected = "; or ".join(", ".join(names) for names in HYDROELASTIC_FIELDS.values())
        raise ValueError(f"expected {expected}; got {', '.join(given) or 'nothing'}")


HYDROELASTIC_FIELDS: dict[Any, tuple[str, ...]] = {
    Hydroelastic: ("modulus", "resolution"),
    PressureField: ("vertices", "tetrahedra", "pressure"),
    RigidSurface: ("vertices", "triangles"),
}


class ShapeEntry(StrictModel):
    """Fields of all shapes."""

    material: str | MaterialEntry | None = None
    hydroelastic: HydroelasticEntry | None = None
    color: Quadruple | None = None
    position: Triple = (0, 0, 0)
    orientation: Quadruple = (0, 0, 0, 1)

    def to_surface(self, folder: Path) -> Hydroelastic | Mesh | None:
        return None if self.hydroelastic is None else self.hydroelastic.to_surface()


class _Sphere(ShapeEntry):
    type: Literal["sphere"]
    radius: float

    def to_shape(self, folder: Path) -> Shape:
        return Sphere(self.radius)


class _Box(ShapeEntry):
    type: Literal["box"]
    size: Triple

    def to_shape(self, folder: Path) -> Shape:
        return Box(self.size)


class _Cylinder(ShapeEntry):
    type: Literal["cylinder"]
    radius: float
    length: float

    def to_shape(self, folder: Path) -> Shape:
        return Cylinder(self.radius, self.length)


class _Capsule(ShapeEntry):
    type: Literal["capsule"]
    radius: float
    length: float

    def to_shape(self, folder: Path) -> Shape:
        return Capsule(self.radius, self.length)


class _HalfSpace(ShapeEntry):
    type: Literal["half_space"]
    normal: Triple | None = None

    @model_validator(mode="after")
    def _orient_along_normal(self) -> _HalfSpace:
        if self.normal is not None:
            if "orientation" in self.model_fields_set or not any(self.normal):
                raise ValueError("normal: expected a vector that is not zero, and no orientation beside it")
            n = np.array(self.normal) / np.linalg.norm(self.normal)
            rotation = pin.Quaternion.FromTwoVectors(np.array([0.0, 0.0, 1.0]), n).coeffs()
            self.orientation = tuple(float(x) for x in rotation)  # type: ignore[assignment]
        return self

    def to_shape(self, folder: Path) -> Shape:
        return HalfSpace()


class _Hull(ShapeEntry):
    type: Literal["hull"]
    points: list[Triple]

    def to_shape(self, folder: Path) -> Shape:
        return Hull(np.array(self.points))


class _Mesh(ShapeEntry):
    type: Literal["mesh"]
    file: Path
    scale: Triple = (1, 1, 1)

    def _loaded(self, folder: Path, *, triangles: bool = False) -> MeshFile:
        try:
            return read_meshes([folder / self.file], triangles=triangles)[0]
        except FileError as error:
            raise ValueError(f"file: {error}") from None

    def to_shape(self, folder: Path) -> Shape:
        return hull_of(self._loaded(folder), self.scale)

    def to_surface(self, folder: Path) -> Hydroelastic | Mesh | None:
        given = self.hydroelastic
        if given is None or given.model_dump(exclude_none=True) != {"modulus": math.inf}:
            return super().to_surface(folder)
        mesh = self._loaded(folder, triangles=True)
        vertices, number = np.unique(mesh.vertices * np.array(self.scale), axis=0, return_inverse=True)
        return RigidSurface(vertices, number.reshape(-1)[mesh.triangles])


_AnyShape = Annotated[
    _Sphere | _Box | _Cylinder | _Capsule | _HalfSpace | _Hull | _Mesh, Field(discriminator="type")
]  # fmt: skip


class BodyEntry(StrictModel):
    """A body; see `World.add_body`."""

    name: str
    shape: _AnyShape | None = None
    shapes: list[_AnyShape] = []
    material: str | MaterialEntry | None = None
    mass: float | None = None
    inertia: float | Triple | tuple[Triple, Triple, Triple] | None = None
    center: Triple | None = None
    position: Triple = (0, 0, 0)
    orientation: Quadruple = (0, 0, 0, 1)
    velocity: Triple = (0, 0, 0)
    angular_velocity: Triple = (0, 0, 0)
    fixed: bool = False
    prescribed: bool = False
    spring_stiffness: float = 0.0
    spring_damping: float = 0.0


class _JointMotion(StrictModel):
    joint: str
    amplitude: float
    frequency: float
    phase: float = 0.0
    offset: float = 0.0


class _JointActuator(StrictModel):
    joint: str
    proportional_gain: float
    derivative_gain: float = 0.0
    target_position: float = 0.0
    target_velocity: float = 0.0
    feedforward: float = 0.0
    effort_limit: float | None = None
    velocity_limit: float | None = None


class _JointCoupler(StrictModel):
    joint: str
    other: str
    ratio: float = 1.0
    offset: float = 0.0


class TreeEntry(StrictModel):
    """An articulated tree; see `World.add_urdf`."""

    name: str
    urdf: Path
    material: str | MaterialEntry | None = None
    materials: dict[str, str | MaterialEntry] = {}
    position: Triple = (0, 0, 0)
    orientation: Quadruple = (0, 0, 0, 1)
    floating: bool = False
    package_dirs: list[Path] = []
    q: list[float] | None = None
    v: list[float] | None = None
    armature: PerJoint = 0.0
    stiffness: PerJoint = 0.0
    damping: PerJoint | None = None
    friction: PerJoint | None = None
    self_collision: bool = True
    motions: list[_JointMotion] = []
    actuators: list[_JointActuator] = []
    couplers: list[_JointCoupler] = []


class _Pair(StrictModel):
    a: str
    b: str
    stiffness: float | None = None
    dissipation: float | None = None
    relaxation_time: float | None = None
    friction: float | None = None
    static_friction: float | None = None
    stribeck_velocity: float | None = None
    torsional_friction: float | None = None


class WorldEntry(StrictModel):
    """The whole file."""

    gravity: Triple = (0, 0, -9.81)
    materials: dict[str, MaterialEntry] = {}
    bodies: list[BodyEntry] = []
    trees: list[TreeEntry] = []
    pairs: list[_Pair] = []
    disabled: list[tuple[str, str]] = []
