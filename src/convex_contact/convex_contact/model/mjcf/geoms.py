"""Geoms: shapes with mass, contact bits and friction."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from convex_contact.model.mjcf.document import Notes, choice, numbers_up_to
from convex_contact.model.mjcf.meshes import MjcfMesh, pose_of
from convex_contact.model.mjcf.settings import Compiler, rotation_to
from convex_contact.model.shapes import Box, Capsule, Cylinder, HalfSpace, Hull, MassProperties, Shape, Sphere
from convex_contact.model.xml_document import Element, XmlError

KINDS = ("plane", "sphere", "capsule", "cylinder", "ellipsoid", "box", "mesh")
#: count of numbers of a size for each kind; one with fromto
_SIZES = {"sphere": 1, "capsule": 2, "cylinder": 2, "ellipsoid": 3, "box": 3}
#: kinds whose pose fromto can give
_LONG = ("capsule", "cylinder", "ellipsoid", "box")
#: density of a geom that gives neither mass nor density [kg/m^3]
DENSITY = "1000"
#: parts of an edge of an octahedron, whose points on a sphere approximate an ellipsoid; faces lie up to 0.5 % of the
#: semiaxes inside
EDGE_PARTS = 14


@dataclass(eq=False)
class MjcfGeom:
    """A geom.

    Attributes:
        element: with the attributes of its class.
        name: empty without one.
        kind: one of `KINDS`.
        pose: in its body's frame.
        size: half sizes, or radius and half length [m]; empty for a plane or a mesh.
        mesh: of a geom of kind mesh.
        contype, conaffinity: bits that decide which geoms collide.
        condim: 1: no friction; 3: friction; 4 or 6: also torsional friction.
        friction: coefficient, torsional friction [m], rolling friction [m].
        priority: of its friction in a contact.
        margin: gap at which contact forces begin [m].
        color: red, green, blue, opacity, 0 to 1; None: the file gives none, or one that is not visible.
    """

    element: Element
    name: str
    kind: str
    pose: pin.SE3
    size: tuple[float, ...]
    mesh: MjcfMesh | None
    contype: int
    conaffinity: int
    condim: int
    friction: tuple[float, ...]
    priority: int
    margin: float
    color: tuple[float, float, float, float] | None = None

    def shape(self) -> Shape:
        """Makes the shape for contact.

        Raises:
            XmlError: a size is not above 0, or a mesh is flat.
        """
        try:
            if self.mesh is not None:
                return self.mesh.hull()
            if self.kind == "plane":
                return HalfSpace()
            if self.kind == "sphere":
                return Sphere(self.size[0])
            if self.kind == "box":
                return Box((2.0 * self.size[0], 2.0 * self.size[1], 2.0 * self.size[2]))
            if self.kind == "ellipsoid":
                return _ellipsoid(self.size)
            return (Capsule if self.kind == "capsule" else Cylinder)(self.size[0], 2.0 * self.size[1])
        except XmlError:
            raise
        except ValueError as error:
            raise self.element.error(f"{error}") from None

    def inertia(self) -> pin.Inertia:
        """Returns mass and inertia in the body's frame; 0 for a plane.

        Raises:
            XmlError: the mass is negative, or a mesh encloses no volume.
        """
        if self.kind == "plane":
            return pin.Inertia.Zero()
        mass = None if "mass" not in self.element.attributes else self.element.number("mass", minimum=0.0)
        density = self.element.number("density", DENSITY, minimum=0.0)
        if mass == 0.0 or (mass is None and density == 0.0):
            return pin.Inertia.Zero()
        unit = self._unit()
        factor = density if mass is None else mass / unit.mass
        return pose_of(MassProperties(factor * unit.mass, unit.center, factor * unit.inertia), self.pose)

    def _unit(self) -> MassProperties:
        """Returns the mass properties at density 1."""
        if self.mesh is not None:
            return self.mesh.solid()
        if self.kind == "ellipsoid":
            squares = np.array(self.size) ** 2
            volume = 4.0 / 3.0 * math.pi * math.prod(self.size)
            return MassProperties(volume, np.zeros(3), np.diag(volume / 5.0 * (squares.sum() - squares)))
        shape = self.shape()
        return shape.solid(shape.volume())


def _ellipsoid(size: tuple[float, ...]) -> Shape:
    if size[0] == size[1] == size[2]:
        return Sphere(size[0])
    steps = np.arange(-EDGE_PARTS, EDGE_PARTS + 1.0)
    grid = np.stack(np.meshgrid(steps, steps, steps, indexing="ij"), axis=-1).reshape(-1, 3)
    points = grid[np.abs(grid).sum(axis=1) == EDGE_PARTS]
    return Hull(points / np.linalg.norm(points, axis=1, keepdims=True) * np.array(size))


def read_geom(element: Element, compiler: Compiler, meshes: dict[str, MjcfMesh], notes: Notes) -> MjcfGeom:
    """Makes a geom of its element, which has the attributes of its class.

    Raises:
        XmlError: it is wrong, or of a kind that is not supported.
    """
    kind = element.attributes.get("type", "sphere")
    if kind not in KINDS:
        raise element.error(f"expected one of {', '.join(KINDS)}, got another kind", "type")
    if "mesh" in element.attributes and kind != "mesh":
        raise element.error("expected type mesh beside the name of a mesh, got another kind", "type")
    if "hfield" in element.attributes:
        raise element.error("expected none, a height field is not supported", "hfield")
    mesh = None
    if kind == "mesh":
        mesh = meshes.get(element.name("mesh"))
        if mesh is None:
            raise element.error("expected the name of a mesh, got that of none", "mesh")
    pose, size = _placed(element, kind, compiler)
    given = element.attributes.get("friction", "")
    missing = ("1", "0.005", "0.0001")[len(given.split()) :]
    completed = Element(element.tag, {"friction": " ".join((*given.split(), *missing))}, element.line)
    completed.file = element.file
    friction = completed.numbers("friction", 3, minimum=0.0)
    condim = int(choice(element, "condim", ("1", "3", "4", "6"), "3"))
    if condim == 6 and friction[2]:
        notes.add(element, "rolling friction (condim 6)")
    margin = element.number("margin", "0") - element.number("gap", "0")
    if margin:
        notes.add(element, "margin")
    return MjcfGeom(
        element=element,
        name=element.name() if "name" in element.attributes else "",
        kind=kind,
        pose=pose,
        size=size,
        mesh=mesh,
        contype=_integer(element, "contype", "1"),
        conaffinity=_integer(element, "conaffinity", "1"),
        condim=condim,
        friction=friction,
        priority=_integer(element, "priority", "0"),
        margin=margin,
        color=_color(element),
    )


def _color(element: Element) -> tuple[float, float, float, float] | None:
    """Returns the colour of a geom; None for an invisible one, as geoms for contact alone often are."""
    if "rgba" not in element.attributes:
        return None
    red, green, blue, opacity = element.numbers("rgba", 4, minimum=0.0, largest=1.0)
    return (red, green, blue, opacity) if opacity > 0.0 else None


def _integer(element: Element, attribute: str, default: str) -> int:
    value = element.number(attribute, default, largest=2.0**31)
    if value != int(value):
        raise element.error(f"expected a whole number, got {value:g}", attribute)
    return int(value)


def _placed(element: Element, kind: str, compiler: Compiler) -> tuple[pin.SE3, tuple[float, ...]]:
    """Returns the pose and the size of a geom.

    Raises:
        XmlError: a size is missing or not above 0.
    """
    if kind in ("plane", "mesh"):
        return compiler.pose(element), ()
    given = numbers_up_to(element, "size", 3)
    if "fromto" not in element.attributes or kind not in _LONG:
        pose, size = compiler.pose(element), given[: _SIZES[kind]]
    else:
        pose, half = between(element)
        size = (given[0], half) if kind in ("capsule", "cylinder") else (given[0], given[0], half)
    if len(size) < _SIZES[kind]:
        raise element.error(f"expected {_SIZES[kind]} numbers for a {kind}, got {len(size)}", "size")
    if not all(x > 0.0 for x in size):
        raise element.error(f"expected numbers above 0, got {min(size):g}", "size")
    return pose, size


def between(element: Element) -> tuple[pin.SE3, float]:
    """Returns the pose midway between the two points of fromto, with z along them, and half their distance.

    Raises:
        XmlError: the points are the same.
    """
    numbers = np.array(element.numbers("fromto", 6))
    start, end = numbers[:3], numbers[3:]
    length = float(np.linalg.norm(start - end))
    if not length > 1e-12:
        raise element.error("expected two points, got the same one twice", "fromto")
    return pin.SE3(rotation_to((start - end) / length), 0.5 * (start + end)), 0.5 * length
