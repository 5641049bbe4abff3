"""Contact surfaces of hydroelastic bodies: forces, moments and stiffnesses.

Forces are checked against integrals of the pressure in closed form, against a slow construction of each face from all
its possible corners, and as the gradient of an energy.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hydroelastic_cases import HERE, RIGID, SHAPES, SOFT, E, Place, R, at, between, force_of_box, surface
from scipy.spatial.transform import Rotation

from convex_contact import Box, Geometry, Hydroelastic, Material, Pose, PressureField, Simulator, Sphere, World
from convex_contact.model.pressure_fields import mesh_of

#: a generic rigid motion
TURN, SHIFT = Rotation.from_rotvec([0.3, -0.7, 1.1]), np.array([0.4, -0.2, 0.9])


def moved(place: Place) -> Place:
    return SHIFT + TURN.apply(place[0]), TURN * place[1]


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
        geometry = Geometry(shape, Pose(), Material(), mesh)
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
