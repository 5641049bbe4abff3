"""Convex shapes: sizes, extents, and the mass properties of uniform solids.

A shape has its own frame: a box, cylinder or capsule is centred, the latter two along z; a half space is the
region below the plane z = 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from convex_contact.model import native
from convex_contact.problem import checks
from haptic_files.moved_modules import renamed

SPHERE, BOX, CYLINDER, CAPSULE, HALF_SPACE, HULL = range(6)


@dataclass(frozen=True)
class MassProperties:
    """Mass properties.

    Attributes:
        mass: kg.
        center: centre of mass (3,), m, in the shape's frame.
        inertia: (3, 3), kg m^2, about the centre of mass, along the axes of the shape's frame.

    Examples:
        >>> from convex_contact import Box
        >>> Box((0.1, 0.1, 0.1)).solid(mass=6.0).inertia.round(6).tolist()
        [[0.01, 0.0, 0.0], [0.0, 0.01, 0.0], [0.0, 0.0, 0.01]]
    """

    mass: float
    center: np.ndarray
    inertia: np.ndarray


class Shape:
    """A convex shape.

    Attributes:
        kind: number of the kind in compiled code.
        parameters: (3,), m: radius; half sides; or radius and half length.
        center: (3,), the middle of its bounding box, m.
        extent: (3,), half the sides of its bounding box, m.
        radius: of the smallest sphere about the frame's origin that contains it [m].

    Examples:
        >>> from convex_contact import Box, Cylinder, Shape
        >>> def weight(shape: Shape) -> float:  # of water [kg]
        ...     return round(1000.0 * shape.volume(), 3)
        >>> weight(Box((0.1, 0.1, 0.1))), weight(Cylinder(0.1, 0.1))
        (1.0, 3.142)
    """

    kind: ClassVar[int]
    name: ClassVar[str]
    parameters: np.ndarray
    center: np.ndarray
    extent: np.ndarray
    radius: float

    def volume(self) -> float:
        """Returns the volume [m^3]."""
        raise NotImplementedError

    def solid(self, mass: float) -> MassProperties:
        """Returns the mass properties of a uniform solid of this shape with a mass [kg]."""
        raise NotImplementedError


def _length(name: str, size: Any) -> float:
    return checks.number(name, size, above=0.0, expected="a positive number of metres")


def _set(shape: Shape, parameters: Any, extent: Any, radius: float) -> None:
    padded = np.zeros(3)
    padded[: len(parameters)] = parameters
    for name, value in (
        ("parameters", padded),
        ("center", np.zeros(3)),
        ("extent", np.array(extent, dtype=np.float64)),
        ("radius", float(radius)),
    ):
        object.__setattr__(shape, name, value)


@dataclass(frozen=True)
class Sphere(Shape):
    """A sphere of a radius (m).

    Examples:
        >>> from convex_contact import Sphere
        >>> Sphere(0.1).solid(mass=1.0).inertia.diagonal().round(6).tolist()
        [0.004, 0.004, 0.004]
    """

    radius: float
    kind = SPHERE
    name = "sphere"

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", _length("radius", self.radius))
        _set(self, [self.radius], [self.radius] * 3, self.radius)

    def volume(self) -> float:
        return 4 / 3 * math.pi * self.radius**3

    def solid(self, mass: float) -> MassProperties:
        return MassProperties(mass, np.zeros(3), 0.4 * mass * self.radius**2 * np.eye(3))


@dataclass(frozen=True)
class Box(Shape):
    """A box with sides (3,) along its axes (m).

    Examples:
        >>> from convex_contact import Box
        >>> round(Box((0.1, 0.2, 0.3)).volume(), 9)
        0.006
    """

    size: tuple[float, float, float]
    kind = BOX
    name = "box"

    def __post_init__(self) -> None:
        sides = checks.array("size", self.size, (3,), expected="three sides")
        object.__setattr__(self, "size", tuple(_length(f"size[{k}]", side) for k, side in enumerate(sides.tolist())))
        _set(self, sides / 2, sides / 2, float(np.linalg.norm(sides / 2)))

    def volume(self) -> float:
        return math.prod(self.size)

    def solid(self, mass: float) -> MassProperties:
        squares = np.array(self.size) ** 2
        return MassProperties(mass, np.zeros(3), np.diag(mass / 12 * (squares.sum() - squares)))


@dataclass(frozen=True)
class Cylinder(Shape):
    """A cylinder with a radius and a length along z (m).

    Examples:
        >>> from convex_contact import Cylinder
        >>> round(Cylinder(0.1, 0.5).volume(), 6)
        0.015708
    """

    base_radius: float
    length: float
    kind = CYLINDER
    name = "cylinder"

    def __post_init__(self) -> None:
        object.__setattr__(self, "base_radius", _length("radius", self.base_radius))
        object.__setattr__(self, "length", _length("length", self.length))
        r, h = self.base_radius, self.length / 2
        _set(self, [r, h], [r, r, h], math.hypot(r, h))

    def volume(self) -> float:
        return math.pi * self.base_radius**2 * self.length

    def solid(self, mass: float) -> MassProperties:
        r, length = self.base_radius, self.length
        across = mass * (3 * r**2 + length**2) / 12
        return MassProperties(mass, np.zeros(3), np.diag([across, across, mass * r**2 / 2]))


@dataclass(frozen=True)
class Capsule(Shape):
    """A capsule: all points within a radius of a segment with some length along z (m).

    Examples:
        >>> from convex_contact import Capsule
        >>> round(Capsule(0.1, 0.5).volume(), 6)
        0.019897
    """

    base_radius: float
    length: float
    kind = CAPSULE
    name = "capsule"

    def __post_init__(self) -> None:
        object.__setattr__(self, "base_radius", _length("radius", self.base_radius))
        object.__setattr__(self, "length", _length("length", self.length))
        r, h = self.base_radius, self.length / 2
        _set(self, [r, h], [r, r, h + r], h + r)

    def volume(self) -> float:
        return math.pi * self.base_radius**2 * (self.length + 4 / 3 * self.base_radius)

    def solid(self, mass: float) -> MassProperties:
        r, h = self.base_radius, self.length / 2
        caps = mass * (4 / 3 * math.pi * r**3) / self.volume()
        middle = mass - caps
        # a hemisphere's centre is 3 r / 8 from its base; about its base plane it has 2/5 m r^2 like a whole sphere
        across = middle * (3 * r**2 + self.length**2) / 12 + caps * (0.4 * r**2 + h**2 + 0.75 * r * h)
        along = middle * r**2 / 2 + caps * 0.4 * r**2
        return MassProperties(mass, np.zeros(3), np.diag([across, across, along]))


@dataclass(frozen=True)
class HalfSpace(Shape):
    """The region below the plane z = 0 of its frame.

    Examples:
        >>> from convex_contact import World
        >>> world = World()
        >>> world.add_half_space("ground")
        0
    """

    kind = HALF_SPACE
    name = "half_space"

    def __post_init__(self) -> None:
        _set(self, [], [math.inf] * 3, math.inf)

    def volume(self) -> float:
        return math.inf

    def solid(self, mass: float) -> MassProperties:
        raise ValueError("half_space: it has no mass and cannot move freely")


@dataclass(frozen=True, eq=False)
class Hull(Shape):
    """The convex hull of points (n, 3) (m), by Coal.

    Raises:
        NativeLibraryError: The compiled library is missing, or the points are flat.

    Examples:
        >>> from itertools import product
        >>> from convex_contact import Hull
        >>> hull = Hull([*product((0.0, 0.2), repeat=3), (0.1, 0.1, 0.1)])  # corners of a cube, and its middle
        >>> len(hull.vertices), round(hull.volume(), 9), hull.solid(mass=1.0).center.round(9).tolist()
        (8, 0.008, [0.1, 0.1, 0.1])
    """

    points: np.ndarray
    vertices: np.ndarray = field(init=False)
    _unit: MassProperties = field(init=False, repr=False)
    kind = HULL
    name = "hull"

    def __post_init__(self) -> None:
        points = np.array(self.points, dtype=np.float64)
        if points.ndim != 2 or points.shape[1] != 3 or len(points) < 4:
            raise ValueError(f"points: expected (n, 3) with n of 4 or more, got shape {points.shape}")
        if not np.isfinite(points).all():
            raise ValueError("points: expected finite numbers")
        if np.linalg.matrix_rank(points - points.mean(axis=0), tol=1e-9 * np.ptp(points)) < 3:
            raise ValueError("points: expected points that do not lie in a plane")
        table = native.ShapeTable()
        vertices, volume, center, inertia = table.hull(table.add_hull(points))
        vertices = vertices[np.lexsort(vertices.T[::-1])]  # an order that does not depend on that of the points
        low, high = vertices.min(axis=0), vertices.max(axis=0)
        _set(self, [], (high - low) / 2, float(np.linalg.norm(vertices, axis=1).max()))
        object.__setattr__(self, "center", (low + high) / 2)
        object.__setattr__(self, "points", points)
        object.__setattr__(self, "vertices", vertices)
        object.__setattr__(self, "_unit", MassProperties(volume, center, inertia))

    def volume(self) -> float:
        return self._unit.mass

    def solid(self, mass: float) -> MassProperties:
        return MassProperties(mass, self._unit.center.copy(), self._unit.inertia * (mass / self._unit.mass))


__getattr__ = renamed(__name__, {"Solid": "MassProperties"})
