"""Shapes, meshes, contact surfaces and worlds of the tests of hydroelastic contact."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from convex_contact import Box, Cylinder, Geometry, Hydroelastic, Material, Pose, Simulator, Sphere, World
from convex_contact.model.shapes import Shape

E, R = 1e6, 0.05
SOFT, RIGID = Hydroelastic(E, 0.03), Hydroelastic(math.inf, 0.03)


@dataclass(frozen=True)
class Surface:
    """The faces of a contact surface at the start of a step; normals from the first body into the second."""

    point: np.ndarray
    normal: np.ndarray
    area: np.ndarray
    pressure: np.ndarray
    stiffness: np.ndarray
    feature: np.ndarray

    @property
    def force(self) -> np.ndarray:
        """On the second body (3,), N."""
        return (self.area * self.pressure) @ self.normal

    @property
    def moment(self) -> np.ndarray:
        """On the second body, about the world's origin (3,), N m."""
        return np.cross(self.point, (self.area * self.pressure)[:, None] * self.normal).sum(axis=0)


def surface(simulator: Simulator) -> Surface:
    """That of the state before a step, which this makes."""
    simulator.step()
    c = simulator.dynamics.contacts
    n = int(c.count[0])
    area, stiffness = c.area[:n].copy(), c.stiffness[:n].copy()
    pressure = -c.phi0[:n] * stiffness / area
    return Surface(c.point[:n].copy(), c.frame[:n, 2].copy(), area, pressure, stiffness, c.feature[:n].copy())


Place = tuple[Any, Any]  # position (3,), rotation
HERE: Place = (np.zeros(3), Rotation.identity())


def at(x: float, y: float, z: float, turn: Rotation | None = None) -> Place:
    return np.array([x, y, z]), turn or Rotation.identity()


def between(
    one: Shape, meets: Any, place: Place, two: Shape | None, others: Any = None, where: Place = HERE
) -> Surface:
    """The surface between a free body and a second one, or a half space below z = 0 of `where`; free of gravity."""
    world = World(gravity=(0.0, 0.0, 0.0))
    world.add_body(
        "one", mass=1.0, geometries=[Geometry(one, Pose(), Material(), meets)],
        position=place[0], orientation=place[1].as_quat(),
    )  # fmt: skip
    if two is None:
        world.add_half_space("two", point=where[0], normal=where[1].apply([0.0, 0.0, 1.0]))
    else:
        world.add_body(
            "two", mass=1.0, geometries=[Geometry(two, Pose(), Material(), others)],
            position=where[0], orientation=where[1].as_quat(),
        )  # fmt: skip
    return surface(Simulator(world, period=1e-6))


SHAPES = {
    "sphere": Sphere(R),
    "box": Box((0.12, 0.08, 0.1)),
    "cube": Box((0.1, 0.1, 0.1)),
    "long cylinder": Cylinder(0.03, 0.15),
    "flat cylinder": Cylinder(0.06, 0.03),
    "even cylinder": Cylinder(0.05, 0.1),
}

TETRAHEDRON = np.array([[0.0, 0, 0], [0.1, 0, 0], [0, 0.1, 0], [0, 0, 0.1], [0.02, 0.02, 0.02]])
CELLS = np.array([[4, 1, 2, 3], [0, 4, 2, 3], [0, 1, 4, 3], [0, 1, 2, 4]])
PRESSURE = np.array([0.0, 0.0, 0.0, 0.0, E])
OUTSIDE = np.array([[1, 2, 3], [0, 3, 2], [0, 1, 3], [0, 2, 1]])


def force_of_box(a: float, b: float, c: float, depth: float) -> float:
    """int p dA of p = E min(distance from a side)/min(a, b, c) of a box with half sides a, b, c on a plane, N."""
    return E / min(a, b, c) * (4 * a * b * depth - 2 * (a + b) * depth**2 + 4 / 3 * depth**3)


HALF, MASS, GRAVITY = np.array([0.06, 0.04, 0.05]), 2.0, 9.81


def box_on_floor(**options: Any) -> World:
    world = World((0.0, 0.0, -GRAVITY))
    surface = {name: options.pop(name) for name in ("dissipation", "relaxation_time") if name in options}
    material = Material(**({"dissipation": 10.0} | surface), friction=0.4)
    world.add_half_space("floor", material=material)
    options = {"position": (0.0, 0.0, HALF[2])} | options
    world.add_box("box", mass=MASS, size=tuple(2 * HALF), material=material, hydroelastic=SOFT, **options)
    return world
