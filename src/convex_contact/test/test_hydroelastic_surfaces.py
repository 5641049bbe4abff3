"""Hydroelastic contact: meshes, contact surfaces and the motion of bodies that meet in them.

Forces are checked against integrals of the pressure in closed form, against a slow construction of each face from all
its possible corners, and as the gradient of an energy; motions against rest, sliding and spinning in closed form.
"""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.spatial.transform import Rotation

from convex_contact import (
    Box,
    Cylinder,
    Geometry,
    HertzLaw,
    Hull,
    Hydroelastic,
    Material,
    Placement,
    PressureField,
    RigidSurface,
    Simulator,
    Sphere,
    World,
    WorldError,
    rollout,
)
from convex_contact.model.pressure_fields import mesh_of
from convex_contact.model.shapes import Capsule, Shape
from convex_contact.model.world_file import parse_world

E, R = 1e6, 0.05
SOFT, RIGID = Hydroelastic(E, 0.03), Hydroelastic(math.inf, 0.03)
#: a generic rigid motion
TURN, SHIFT = Rotation.from_rotvec([0.3, -0.7, 1.1]), np.array([0.4, -0.2, 0.9])


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


def moved(place: Place) -> Place:
    return SHIFT + TURN.apply(place[0]), TURN * place[1]


def between(
    one: Shape, meets: Any, place: Place, two: Shape | None, others: Any = None, where: Place = HERE
) -> Surface:
    """The surface between a free body and a second one, or a half space below z = 0 of `where`; free of gravity."""
    world = World(gravity=(0.0, 0.0, 0.0))
    world.add_body(
        "one", mass=1.0, geometries=[Geometry(one, Placement(), Material(), meets)],
        position=place[0], orientation=place[1].as_quat(),
    )  # fmt: skip
    if two is None:
        world.add_half_space("two", point=where[0], normal=where[1].apply([0.0, 0.0, 1.0]))
    else:
        world.add_body(
            "two", mass=1.0, geometries=[Geometry(two, Placement(), Material(), others)],
            position=where[0], orientation=where[1].as_quat(),
        )  # fmt: skip
    return surface(Simulator(world, period=1e-6))


# --- meshes --------------------------------------------------------------------------------------------------

SHAPES = {
    "sphere": Sphere(R),
    "box": Box((0.12, 0.08, 0.1)),
    "cube": Box((0.1, 0.1, 0.1)),
    "long cylinder": Cylinder(0.03, 0.15),
    "flat cylinder": Cylinder(0.06, 0.03),
    "even cylinder": Cylinder(0.05, 0.1),
}


@pytest.mark.parametrize("name", SHAPES)
def test_a_made_mesh_fills_its_shape_and_its_pressure_rises_evenly(name: str) -> None:
    shape = SHAPES[name]
    smallest = min(x for x in shape.parameters if x > 0)
    volumes = []
    for resolution in (0.02, 0.01):
        field = mesh_of(shape, Hydroelastic(E, resolution))
        assert isinstance(field, PressureField)
        corners = field.vertices[field.tetrahedra]
        volumes.append(np.linalg.det(corners[:, 1:] - corners[:, :1]).sum() / 6)
        edges = field.vertices[field.surface]
        # edges lie on the surface as asked for; a quadrilateral's diagonal is longer by sqrt(2)
        assert np.linalg.norm(edges - np.roll(edges, 1, axis=1), axis=2).max() < 1.45 * resolution
        assert set(field.pressure) == {0.0, E}
        steepness = np.linalg.norm(field.gradient, axis=1) * smallest / E
        # a polyhedron's faces lie closer to the middle than the round surface, by less than (edge)^2/(8 R)/R
        assert steepness.min() > 1 - 1e-9 and steepness.max() < 1 + (1.45 * resolution / smallest) ** 2 / 6
        rigid = mesh_of(shape, Hydroelastic(math.inf, resolution))
        assert isinstance(rigid, RigidSurface) and len(rigid.triangles) == len(field.surface)
    missing = 1 - np.array(volumes) / shape.volume()
    if isinstance(shape, Box):
        np.testing.assert_allclose(missing, 0.0, atol=1e-12)
    else:
        assert 0 < missing[1] < missing[0] / 3 and missing[0] < 0.1  # second order


def test_a_hull_has_the_modulus_in_its_middle() -> None:
    points = np.random.default_rng(3).normal(size=(30, 3)) * 0.05
    field = mesh_of(Hull(points), Hydroelastic(2 * E, 0.04))
    assert isinstance(field, PressureField) and (field.pressure > 0).sum() == 1
    np.testing.assert_allclose(field.vertices[field.pressure.argmax()], Hull(points).solid(1.0).center, atol=1e-9)


TETRAHEDRON = np.array([[0.0, 0, 0], [0.1, 0, 0], [0, 0.1, 0], [0, 0, 0.1], [0.02, 0.02, 0.02]])
CELLS = np.array([[4, 1, 2, 3], [0, 4, 2, 3], [0, 1, 4, 3], [0, 1, 2, 4]])
PRESSURE = np.array([0.0, 0.0, 0.0, 0.0, E])
OUTSIDE = np.array([[1, 2, 3], [0, 3, 2], [0, 1, 3], [0, 2, 1]])


def test_own_meshes() -> None:
    field = PressureField(TETRAHEDRON, CELLS, PRESSURE)
    np.testing.assert_allclose(field.gradient[1], [E / 0.02, 0.0, 0.0], rtol=1e-12, atol=1e-3)
    assert {tuple(sorted(t)) for t in field.surface} == {tuple(sorted(t)) for t in OUTSIDE}
    RigidSurface(TETRAHEDRON, OUTSIDE)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"vertices": TETRAHEDRON[:, :2]}, r"^vertices: expected shape \(n, 3\), got \(5, 2\)$"),
        ({"vertices": np.where(TETRAHEDRON == 0.1, np.nan, TETRAHEDRON)}, "^vertices: expected finite numbers$"),
        ({"tetrahedra": CELLS + 1}, "^tetrahedra: expected numbers of vertices from 0 to 4, got 5$"),
        ({"tetrahedra": CELLS + 0.5}, "^tetrahedra: expected numbers of vertices$"),
        ({"tetrahedra": CELLS[:, [1, 0, 2, 3]]}, "^tetrahedra: expected positive volumes, number 0 is inside out$"),
        ({"tetrahedra": [[0, 1, 2, 2]]}, "^tetrahedra: expected positive volumes, number 0 is flat$"),
        ({"tetrahedra": np.concatenate([CELLS, CELLS[:1]])}, "^tetrahedra: expected two at most at a face, got 3$"),
        ({"pressure": PRESSURE[1:]}, "^pressure: expected one for each of 5 vertices, got 4$"),
        ({"pressure": -PRESSURE}, "^pressure: expected none below 0, got -1000000.0$"),
        ({"pressure": PRESSURE + 1.0}, "^pressure: expected 0 on the surface, got 1.0 at vertex 0$"),
        ({"pressure": 0 * PRESSURE}, "^pressure: expected a positive one at a vertex inside"),
    ],
)  # fmt: skip
def test_bad_fields_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        PressureField(**({"vertices": TETRAHEDRON, "tetrahedra": CELLS, "pressure": PRESSURE} | change))


@pytest.mark.parametrize(
    ("triangles", "message"),
    [
        (OUTSIDE[:3], r"^triangles: expected a closed surface, got an open edge \["),
        (OUTSIDE[:, ::-1], "^triangles: expected them counterclockwise seen from outside, got a surface inside out$"),
        (np.vstack([OUTSIDE[:3], OUTSIDE[3:, ::-1]]), "^triangles: expected neighbours turned alike"),
        (np.vstack([OUTSIDE[:3], [[0, 2, 2]]]), "^triangles: expected areas, got none of number 3$"),
        (np.zeros((0, 3)), r"^triangles: expected shape \(n, 3\), got \(0, 3\)$"),
        (OUTSIDE - 1, "^triangles: expected numbers of vertices from 0 to 4"),
    ],
)
def test_bad_surfaces_are_refused(triangles: np.ndarray, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        RigidSurface(TETRAHEDRON, triangles)


@pytest.mark.parametrize(
    ("shape", "meets", "message"),
    [
        (Sphere(R), lambda: Hydroelastic(0.0, 0.01), "^modulus: expected a positive number of pascals"),
        (Sphere(R), lambda: Hydroelastic(math.nan, 0.01), "^modulus: "),
        (Sphere(R), lambda: Hydroelastic(E, math.inf), "^resolution: expected a positive number of metres, got inf$"),
        (Sphere(R), lambda: Hydroelastic(E, 1e-4), "^resolution: 0.0001 m gives about 2e.07 faces; expected 40000 at"),
        (Box((1, 1, 1)), lambda: Hydroelastic(E, 1e-3), "^resolution: "),
        (Capsule(R, R), lambda: SOFT, "^hydroelastic: expected a sphere, box, cylinder or hull, got a capsule$"),
        (Sphere(R), lambda: PressureField(TETRAHEDRON, CELLS, PRESSURE), "^hydroelastic: expected a mesh inside"),
    ],
)
def test_shapes_without_a_mesh_are_refused(shape: Shape, meets: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Geometry(shape, Placement(), Material(), meets())


# --- contact surfaces ----------------------------------------------------------------------------------------


def force_of_sphere(depth: float) -> float:
    """int p dA of p = E (1 - r/R) over the disk in which a plane cuts a sphere, N."""
    h = R - depth
    return 2 * math.pi * E * ((R**2 - h**2) / 2 - (R**3 - h**3) / (3 * R))


def test_sphere_on_plane_converges_to_the_integral_of_the_pressure() -> None:
    """Second order, because the polyhedron's faces are second-order close to the sphere."""
    depth, errors = 0.2 * R, []
    for resolution in (R / 3, R / 6, R / 12):
        s = between(Sphere(R), Hydroelastic(E, resolution), at(0.3, 0.1, R - depth), None)
        errors.append([
            1 + s.force[2] / force_of_sphere(depth),
            1 - s.area.sum() / (math.pi * (R**2 - (R - depth) ** 2)),
            # the patch lies below the centre
            np.abs(s.moment - np.cross([0.3, 0.1, 0.0], s.force)).max() / (R * abs(s.force[2])),
        ])  # fmt: skip
        assert np.abs(s.force[:2]).max() < 1e-9 * abs(s.force[2])
    orders = np.log2(np.abs(errors[:-1])[:, :2] / np.abs(errors[1:])[:, :2])
    assert orders.min() > 1.7, orders
    assert max(np.abs(errors[-1])[:2]) < 0.02 and np.abs(errors)[:, 2].max() < 1e-9


def force_of_box(a: float, b: float, c: float, depth: float) -> float:
    """int p dA of p = E min(distance from a side)/min(a, b, c) of a box with half sides a, b, c on a plane, N."""
    return E / min(a, b, c) * (4 * a * b * depth - 2 * (a + b) * depth**2 + 4 / 3 * depth**3)


@pytest.mark.parametrize("resolution", [1.0, 0.03])
def test_box_on_half_space_is_exact(resolution: float) -> None:
    box, meets = Box((0.12, 0.08, 0.1)), Hydroelastic(E, resolution)
    s = between(box, meets, at(0.2, 0.1, 0.05 - 0.003), None)
    np.testing.assert_allclose(s.force, [0, 0, -force_of_box(0.06, 0.04, 0.05, 0.003)], rtol=1e-11, atol=1e-9)
    np.testing.assert_allclose(s.moment, np.cross([0.2, 0.1, 0.0], s.force), rtol=1e-11, atol=1e-9)
    assert s.area.sum() == pytest.approx(0.12 * 0.08, rel=1e-11)
    # a rigid box in its place, whose lower side is the half space's plane
    rigid = between(box, meets, at(0.2, 0.1, 0.05 - 0.003), Box((0.5, 0.5, 0.1)), RIGID, at(0.2, 0.1, -0.05))
    np.testing.assert_allclose(rigid.force, s.force, rtol=1e-11, atol=1e-9)


def test_tilted_box_has_force_and_moment_of_the_pressure() -> None:
    """Against a sum over a fine grid; a pressure's kinks leave it the square of the grid's step."""
    half, turn, z = np.array([0.06, 0.04, 0.05]), Rotation.from_rotvec([0.1, 0.25, 0.0]), 0.048
    s = between(Box(tuple(2 * half)), SOFT, at(0.0, 0.0, z, turn), None)
    step = 0.2 / 800
    x, y = np.meshgrid(*[np.arange(-0.1, 0.1, step) + step / 2] * 2)
    inside = turn.inv().apply(np.column_stack([x.ravel(), y.ravel(), np.full(x.size, -z)]))
    p = E / half.min() * np.maximum((half - np.abs(inside)).min(axis=1), 0.0) * step**2
    np.testing.assert_allclose(-s.force[2], p.sum(), rtol=1e-4)
    np.testing.assert_allclose(s.moment[:2], [-(p * y.ravel()).sum(), (p * x.ravel()).sum()], rtol=1e-4)


def slow_faces(one: PressureField, place: Place, two: PressureField, where: Place) -> np.ndarray:
    """Force and moment (6,) on the second body, each face made from all its possible corners."""
    total = np.zeros(6)
    sides = []
    for field, (position, turn) in ((one, place), (two, where)):
        corners = position + turn.apply(field.vertices[field.tetrahedra].reshape(-1, 3)).reshape(-1, 4, 3)
        gradients = turn.apply(field.gradient)
        constants = field.pressure[field.tetrahedra[:, 0]] - np.einsum("ij,ij->i", gradients, corners[:, 0])
        sides.append(list(zip(corners, gradients, constants, strict=True)))
    for (c1, g1, p1), (c2, g2, p2) in itertools.product(*sides):
        if (c1.max(axis=0) < c2.min(axis=0)).any() or (c2.max(axis=0) < c1.min(axis=0)).any():
            continue
        # in both tetrahedra: rows a . x <= b; on the plane (g2 - g1) . x = p1 - p2
        rows = []
        for c in (c1, c2):
            for k in range(4):
                others = np.delete(c, k, axis=0)
                n = np.cross(others[1] - others[0], others[2] - others[0])
                n *= np.sign(n @ (others[0] - c[k])) / np.linalg.norm(n)
                rows.append((*n, n @ others[0]))
        rows_array = np.array(rows)
        n = g2 - g1
        corners = []
        for i, j in itertools.combinations(range(8), 2):
            matrix = np.array([rows_array[i, :3], rows_array[j, :3], n / np.linalg.norm(n)])
            if abs(np.linalg.det(matrix)) > 1e-9:
                x = np.linalg.solve(matrix, [rows_array[i, 3], rows_array[j, 3], (p1 - p2) / np.linalg.norm(n)])
                if (rows_array[:, :3] @ x <= rows_array[:, 3] + 1e-12).all():
                    corners.append(x)
        if len(corners) < 3:
            continue
        n /= np.linalg.norm(n)
        middle = np.mean(corners, axis=0)
        u = np.cross(n, [1.0, 0, 0] if abs(n[0]) < 0.9 else [0, 1.0, 0])
        v = np.cross(n, u)
        ring = sorted(corners, key=lambda x: math.atan2((x - middle) @ v, (x - middle) @ u))
        for a, b in zip(ring, [*ring[1:], ring[0]], strict=True):
            area = 0.5 * abs(np.cross(a - middle, b - middle) @ n)
            for x in ((a + b) / 2, (b + middle) / 2, (middle + a) / 2):  # exact for products of two linear functions
                f = area / 3 * (g1 @ x + p1) * n
                total += np.concatenate([f, np.cross(x, f)])
    return total


def test_two_fields_meet_as_constructed_slowly() -> None:
    box, place = Box((0.1, 0.12, 0.08)), at(0.03, -0.02, 0.07, Rotation.from_rotvec([0.4, 0.3, 0.2]))
    coarse, stiffer = Hydroelastic(E, 1.0), Hydroelastic(3 * E, 1.0)
    where = at(0.0, 0.0, 0.0, Rotation.from_rotvec([-0.1, 0.2, 0.9]))
    s = between(box, coarse, place, SHAPES["cube"], stiffer, where)
    expected = slow_faces(mesh_of(box, coarse), place, mesh_of(SHAPES["cube"], stiffer), where)  # type: ignore[arg-type]
    assert len(s.area) > 10
    # the slow construction decides about corners to 1e-12 m
    wrench = np.concatenate([s.force, s.moment])
    np.testing.assert_allclose(wrench, expected, rtol=1e-7, atol=1e-7 * np.abs(expected).max())


def test_two_equal_fields_meet_in_the_plane_between_them() -> None:
    """At half the depth, with the pressure that each has against a rigid plane there, and half the stiffness."""
    depth = 0.1 * R
    mirror = Rotation.from_rotvec([math.pi, 0.0, 0.0])
    two = between(Sphere(R), SOFT, at(0, 0, R - depth), Sphere(R), SOFT, at(0, 0, depth - R, mirror))
    one = between(Sphere(R), SOFT, at(0, 0, R - depth), None)
    np.testing.assert_allclose(two.point[:, 2], 0.0, atol=1e-12)
    np.testing.assert_allclose(two.normal, np.tile([0.0, 0.0, -1.0], (len(two.area), 1)), atol=1e-9)
    np.testing.assert_allclose(two.force, one.force, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(two.stiffness.sum(), one.stiffness.sum() / 2, rtol=1e-9)


PAIRS: dict[str, tuple[Any, ...]] = {
    "plane": (Sphere(R), SOFT, at(0, 0, 0.045), None, None, HERE),
    "rigid": (Sphere(R), SOFT, at(0.01, 0, 0.045), Box((0.3, 0.2, 0.1)), RIGID, at(0, 0, -0.05)),
    "soft": (
        SHAPES["even cylinder"], SOFT, at(0.01, 0, 0.045), SHAPES["box"], Hydroelastic(2 * E, 0.05), at(0, 0, -0.04),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PAIRS)
def test_a_rigid_motion_of_both_bodies_moves_the_surface(name: str) -> None:
    one, meets, place, two, others, where = PAIRS[name]
    s = between(one, meets, place, two, others, where)
    t = between(one, meets, moved(place), two, others, moved(where))
    assert len(s.area) > 4
    size = np.abs(s.force).max()
    np.testing.assert_allclose(t.force, TURN.apply(s.force), atol=1e-9 * size)
    np.testing.assert_allclose(t.moment, TURN.apply(s.moment) + np.cross(SHIFT, t.force), atol=1e-9 * size)
    np.testing.assert_allclose(t.stiffness.sum(), s.stiffness.sum(), rtol=1e-9)


@pytest.mark.parametrize("name", ["rigid", "soft"])
def test_action_is_reaction(name: str) -> None:
    """The same surface, whichever body is named first; and the momentum of the two together stays."""
    one, meets, place, two, others, where = PAIRS[name]
    s, t = between(one, meets, place, two, others, where), between(two, others, where, one, meets, place)
    np.testing.assert_allclose(t.force, -s.force, rtol=1e-9, atol=1e-9 * np.abs(s.force).max())
    np.testing.assert_allclose(t.moment, -s.moment, rtol=1e-9, atol=1e-9 * np.abs(s.force).max())
    world = World(gravity=(0.0, 0.0, 0.0))
    for body, shape, mesh, (position, _), speed in (("a", one, meets, place, -0.3), ("b", two, others, where, 0.1)):
        geometry = Geometry(shape, Placement(), Material(), mesh)
        world.add_body(body, mass=0.7, geometries=[geometry], position=position, velocity=(speed, 0.2, speed))
    sim = Simulator(world, period=1e-3)
    sim.step(5)
    momentum = sum(0.7 * sim.state(body).velocity for body in ("a", "b"))
    assert abs(sim.state("a").velocity[2] + 0.3) > 0.05  # they have pushed each other
    np.testing.assert_allclose(momentum, [-0.14, 0.28, -0.14], atol=1e-12)


def test_the_force_has_an_energy() -> None:
    """Its work on a closed way vanishes as the points on the way become many; one side of it takes 1."""
    world = World(gravity=(0.0, 0.0, 0.0))
    world.add_sphere("a", radius=R, mass=1.0, hydroelastic=SOFT)
    world.add_box("b", size=(0.08, 0.1, 0.06), fixed=True, hydroelastic=Hydroelastic(2 * E, 0.04))
    sim = Simulator(world, period=1e-6)
    turn = Rotation.from_rotvec([0.2, 0.5, 0.0]).as_quat()
    angle = 2 * math.pi * np.arange(48) / 48
    # around the corner of the box, so that its sides take part, too
    way = np.array([0.045, 0.01, 0.06]) + 0.012 * np.column_stack([np.cos(angle), 0 * angle, np.sin(angle)])
    forces = []
    for position in way:
        sim.set_state("a", position=position, orientation=turn, velocity=(0, 0, 0), angular_velocity=(0, 0, 0))
        forces.append(surface(sim).force)
    work = np.einsum("ij,ij->i", forces, np.roll(way, -1, axis=0) - np.roll(way, 1, axis=0)) / 2
    assert abs(work.sum()) < 2e-3 * np.abs(work).sum()


def test_a_surface_in_the_cells_faces_counts_once() -> None:
    """A rigid box with a side in a plane where tetrahedra meet; the force goes with its place."""
    meets, indenter = Hydroelastic(E, 0.05), Box((0.1, 0.3, 0.06))
    forces = [
        between(SHAPES["cube"], meets, HERE, indenter, RIGID, at(0.05 + x, 0, 0.05)).force for x in (-1e-7, 0.0, 1e-7)
    ]
    assert abs(forces[1][0]) > 100.0
    np.testing.assert_allclose(forces[1], (forces[0] + forces[2]) / 2, rtol=1e-6, atol=1e-6 * abs(forces[1][2]))


def test_gradients_act_in_series_and_the_softer_body_s_dissipation_counts_most() -> None:
    world = World(gravity=(0.0, 0.0, 0.0))
    for name, modulus, z, d in (("a", E, 0.098, 3.0), ("b", 3 * E, 0.0, 1.0)):
        world.add_box(
            name, size=(0.1 if name == "a" else 0.2,) * 2 + (0.1,), mass=1.0, position=(0, 0, z),
            material=Material(dissipation=d, relaxation_time=0.01, friction=0.4),
            hydroelastic=Hydroelastic(modulus, 0.1),
        )  # fmt: skip
    sim = Simulator(world, period=1e-6)
    s, c = surface(sim), sim.dynamics.contacts
    flat = s.area > 1e-4  # the others are at the rim
    g = 1 / (0.05 / E + 0.05 / (3 * E))
    np.testing.assert_allclose(s.stiffness[flat] / s.area[flat], g, rtol=1e-9)
    # the depth of 2 mm is shared as 3 : 1; d = (E_a d_b + E_b d_a)/(E_a + E_b) as with stiffnesses
    np.testing.assert_allclose(s.pressure[flat].max(), g * 0.002, rtol=1e-9)
    np.testing.assert_allclose(c.dissipation[: len(s.area)], (1.0 + 3 * 3.0) / 4)
    np.testing.assert_allclose(c.relaxation_time[: len(s.area)], 0.02)
    np.testing.assert_allclose(c.friction[: len(s.area)], 0.4)


def test_other_pairs_meet_in_points() -> None:
    """Rigid surfaces among themselves, and a compliant body with one that has no mesh."""
    for mesh, other in ((RIGID, RIGID), (SOFT, None)):
        world = World(gravity=(0.0, 0.0, 0.0))
        world.add_sphere("ball", radius=R, mass=1.0, position=(0, 0, 0.06), hydroelastic=mesh)
        world.add_box("block", size=(0.2, 0.2, 0.04), fixed=True, hydroelastic=other)
        sim = Simulator(world, period=1e-3)
        sim.step()
        report = sim.contacts
        np.testing.assert_array_equal(report.area, [0.0])
        assert report.signed_distance[0] == pytest.approx(-0.01) and sim.dynamics.contacts.stiffness[0] == 5e6


@pytest.mark.slow
def test_modulus_and_resolution_act() -> None:
    surfaces = {
        (modulus, resolution): between(Sphere(R), Hydroelastic(modulus, resolution), at(0, 0, 0.04), None)
        for modulus, resolution in ((E, 0.01), (2 * E, 0.01), (E, 0.004))
    }
    s, stiffer, finer = surfaces.values()
    np.testing.assert_allclose(stiffer.force, 2 * s.force, rtol=1e-12)
    # more faces than there is room for at first
    assert len(finer.area) > 3 * len(s.area) > 200


# --- motion --------------------------------------------------------------------------------------------------

HALF, MASS, GRAVITY = np.array([0.06, 0.04, 0.05]), 2.0, 9.81


def box_on_floor(**options: Any) -> World:
    world = World((0.0, 0.0, -GRAVITY))
    surface = {name: options.pop(name) for name in ("dissipation", "relaxation_time") if name in options}
    material = Material(**({"dissipation": 10.0} | surface), friction=0.4)
    world.add_half_space("floor", material=material)
    options = {"position": (0.0, 0.0, HALF[2])} | options
    world.add_box("box", mass=MASS, size=tuple(2 * HALF), material=material, hydroelastic=SOFT, **options)
    return world


@pytest.mark.parametrize(
    "approximation", ["sap", "lagged", "lagged_regularized", "similar", "similar_regularized", "lagged_elastoplastic"]
)
def test_a_box_rests_at_the_depth_of_its_weight(approximation: str) -> None:
    sim = Simulator(box_on_floor(), period=5e-3, approximation=approximation)
    sim.step(200)
    depth = brentq(lambda d: force_of_box(*HALF, d) - MASS * GRAVITY, 0.0, 0.01, xtol=1e-15)
    state = sim.state("box")
    assert HALF[2] - state.position[2] == pytest.approx(depth, rel=1e-5)  # the solver's tolerance
    assert np.abs(state.velocity).max() < 1e-6 and np.abs(state.orientation[:3]).max() < 1e-6
    report = sim.contacts
    assert report.area.sum() == pytest.approx(4 * HALF[0] * HALF[1], rel=1e-3)
    assert report.impulse[:, 2].sum() == pytest.approx(MASS * GRAVITY * 5e-3, rel=1e-5)


def test_a_tilted_box_comes_to_rest_flat() -> None:
    tilt = Rotation.from_rotvec([0.06, 0.04, 0.0])
    sim = Simulator(box_on_floor(position=(0, 0, 0.06), orientation=tilt.as_quat()), period=2e-3)
    sim.step(500)
    state = sim.state("box")
    upright = Rotation.from_quat(state.orientation).apply([0.0, 0.0, 1.0])
    np.testing.assert_allclose(upright, [0.0, 0.0, 1.0], atol=1e-5)
    assert np.abs(state.angular_velocity).max() < 1e-3


def test_dissipation_takes_energy_from_a_bounce() -> None:
    """A falling box rises less high the larger d is, and never higher than without."""
    heights = []
    for dissipation in (0.0, 1.0, 4.0):
        sim = Simulator(box_on_floor(position=(0, 0, HALF[2] + 0.02), dissipation=dissipation), period=2e-4)
        z = []
        for _ in range(800):
            sim.step()
            z.append(sim.state("box").position[2] - HALF[2])
        lowest = int(np.argmin(z))
        heights.append(max(z[lowest:]))
    assert 0.02 > heights[0] > 0.012 and heights[0] > heights[1] * 1.2 > heights[2] * 1.4


@pytest.mark.parametrize("approximation", ["sap", "lagged", "similar"])
def test_a_sliding_patch_has_the_friction_mu_n(approximation: str) -> None:
    """Over many steps, since Lagged takes the load of the step before.

    The depth at rest is larger than the gap mu dt |v_t| with which SAP and Similar glide; else they would chatter.
    """
    world = box_on_floor(velocity=(1.0, 0.0, 0.0), dissipation=50.0, relaxation_time=0.0)
    sim = Simulator(world, period=1e-4, approximation=approximation)
    sim.step(500)
    start, friction, load = sim.state("box").velocity, np.zeros(3), 0.0
    for _ in range(500):
        sim.step()
        report = sim.contacts
        friction += np.einsum("nk,nki->i", report.impulse[:, :2], report.frame[:, :2])
        load += report.impulse[:, 2].sum()
    end = sim.state("box").velocity
    assert end[0] > 0.2
    size = np.linalg.norm(friction)
    np.testing.assert_allclose([size, abs(friction[0])], 0.4 * load, rtol=1e-2)
    np.testing.assert_allclose(MASS * (start[0] - end[0]), size, rtol=1e-2)


def test_a_spinning_disk_has_the_torsional_friction_of_a_disk() -> None:
    """(2/3) mu N R with even pressure; the faces bear it in their middles, which is second-order close."""
    radius, mu, errors = 0.06, 0.5, []
    for resolution in (0.03, 0.015):
        world = World((0.0, 0.0, -GRAVITY))
        material = Material(dissipation=20.0, friction=mu)
        world.add_half_space("floor", material=material)
        world.add_cylinder(
            "disk", mass=1.0, radius=radius, length=0.04, position=(0, 0, 0.02), angular_velocity=(0, 0, 60.0),
            material=material, hydroelastic=Hydroelastic(1e7, resolution),
        )  # fmt: skip
        sim = Simulator(world, period=1e-3)
        sim.step(150)
        before = sim.state("disk").angular_velocity[2]
        sim.step(50)
        torque = 0.5 * radius**2 * (before - sim.state("disk").angular_velocity[2]) / 0.05
        errors.append(1 - torque / (2 / 3 * mu * GRAVITY * radius))
        assert np.linalg.norm(sim.state("disk").velocity[:2]) < 0.01  # its rim has 2 m/s
    assert abs(errors[1]) < abs(errors[0]) / 2 and abs(errors[1]) < 0.02, errors


# --- worlds --------------------------------------------------------------------------------------------------

FILE = """
bodies:
- {name: floor, fixed: true, shape: {type: half_space}}
- name: ball
  mass: 1.0
  position: [0, 0, 0.045]
  shape: {type: sphere, radius: 0.05, hydroelastic: {modulus: 1e6, resolution: 0.02}}
- name: anvil
  fixed: true
  position: [0.2, 0, 0]
  shape: {type: mesh, file: anvil.obj, hydroelastic: {modulus: .inf}}
- name: own
  mass: 1.0
  position: [0.2, 0, 0.2]
  shape:
    type: hull
    points: [[0, 0, 0], [0.1, 0, 0], [0, 0.1, 0], [0, 0, 0.1]]
    hydroelastic:
      vertices: [[0, 0, 0], [0.1, 0, 0], [0, 0.1, 0], [0, 0, 0.1], [0.02, 0.02, 0.02]]
      tetrahedra: [[4, 1, 2, 3], [0, 4, 2, 3], [0, 1, 4, 3], [0, 1, 2, 4]]
      pressure: [0, 0, 0, 0, 1e5]
"""


def write_anvil(folder: Path) -> None:
    lines = [f"v {x} {y} {z}" for x, y, z in TETRAHEDRON[:4]] + [f"f {a + 1} {b + 1} {c + 1}" for a, b, c in OUTSIDE]
    (folder / "anvil.obj").write_text("\n".join(lines) + "\n")


def test_world_files_say_it_and_give_it_back(tmp_path: Path) -> None:
    write_anvil(tmp_path)
    world = parse_world(FILE, folder=tmp_path)
    _, ball, anvil, own = (g for _, g in world.numbered_geometries())
    assert ball.hydroelastic == Hydroelastic(1e6, 0.02) and ball.modulus == 1e6
    assert isinstance(anvil.mesh, RigidSurface) and len(anvil.mesh.triangles) == 4 and anvil.modulus == math.inf
    assert isinstance(own.mesh, PressureField) and own.modulus == 1e5
    again = parse_world(world.to_yaml())
    for simulator in (a := Simulator(world, period=1e-3), b := Simulator(again, period=1e-3)):
        simulator.step(20)
    assert a.contacts.area.size and (a.contacts.area > 0).all()
    for x, y in zip(a.body_states(), b.body_states(), strict=True):
        np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("resolution: 0.02", "resolution: -1", "world: bodies.1.shape.hydroelastic: resolution: expected a positive"),
        (", resolution: 0.02", "", "expected modulus, resolution; or vertices, tetrahedra, pressure; or vertices, tri"),
        ("modulus: .inf", "triangle: 3", "world: line 11: bodies.2.shape.hydroelastic: unknown field"),
        ("pressure: [0, 0,", "pressure: [5, 0,", "world: bodies.3.shape.hydroelastic: pressure: expected 0 on"),
        ("{type: half_space}", "{type: half_space, hydroelastic: {modulus: 1e6, resolution: 1}}", "got a half_space"),
    ],
)  # fmt: skip
def test_world_files_name_what_is_wrong(tmp_path: Path, old: str, new: str, message: str) -> None:
    write_anvil(tmp_path)
    with pytest.raises(WorldError, match=re.escape(message)):
        parse_world(FILE.replace(old, new), folder=tmp_path)


def test_what_does_not_go_together_is_refused() -> None:
    world = box_on_floor()
    with pytest.raises(ValueError, match=r"^normal_law: expected a linear one with compliant bodies, "):
        Simulator(world, period=1e-3, normal_law=HertzLaw())
    with pytest.raises(ValueError, match=r"^simulator: expected no compliant bodies; contact surfaces"):
        rollout(Simulator(world, period=1e-3), 1)
    world.set_pair("box", "floor", stiffness=1e5)
    with pytest.raises(WorldError, match=r"^(box and floor|floor and box): stiffness: expected none"):
        Simulator(world, period=1e-3)
    with pytest.raises(WorldError, match=r"^pill: hydroelastic: expected a sphere"):
        world.add_capsule("pill", radius=R, length=R, mass=1.0, hydroelastic=SOFT)
