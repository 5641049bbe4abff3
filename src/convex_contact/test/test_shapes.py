"""Mass properties and extents of uniform solids."""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio as pin
import pytest
from scipy.spatial.transform import Rotation

from convex_contact import Box, Capsule, Cylinder, Geometry, Hull, Material, Pose, Sphere, World, WorldError

SURFACE = Material()


@pytest.mark.parametrize(
    ("shape", "reference"),
    [
        (Sphere(0.3), pin.Inertia.FromSphere(2.0, 0.3)),
        (Box((0.1, 0.2, 0.3)), pin.Inertia.FromBox(2.0, 0.1, 0.2, 0.3)),
        (Cylinder(0.1, 0.4), pin.Inertia.FromCylinder(2.0, 0.1, 0.4)),
        (Capsule(0.1, 0.4), pin.Inertia.FromCapsule(2.0, 0.1, 0.4)),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_inertia_is_that_of_pinocchio(shape: Any, reference: pin.Inertia) -> None:
    np.testing.assert_allclose(shape.solid(2.0).inertia, reference.inertia, rtol=1e-12, atol=1e-15)


def test_a_capsule_lies_between_its_cylinder_and_the_longer_one() -> None:
    r, length = 0.1, 0.4
    inner, outer = Cylinder(r, length), Cylinder(r, length + 2 * r)
    assert inner.volume() < Capsule(r, length).volume() < outer.volume()
    # a capsule that is nearly a sphere has its inertia
    np.testing.assert_allclose(Capsule(r, 1e-9).solid(1.0).inertia, Sphere(r).solid(1.0).inertia, rtol=1e-7)


def test_the_hull_of_a_boxs_corners_is_the_box() -> None:
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * [0.05, 0.1, 0.15]
    shift = np.array([0.3, -0.2, 0.1])
    hull, box = Hull(corners + shift), Box((0.1, 0.2, 0.3))
    assert len(hull.vertices) == 8
    assert hull.volume() == pytest.approx(box.volume(), rel=1e-12)
    solid = hull.solid(3.0)
    np.testing.assert_allclose(solid.center, shift, atol=1e-12)
    np.testing.assert_allclose(solid.inertia, box.solid(3.0).inertia, atol=1e-12)
    np.testing.assert_allclose(hull.center, shift, atol=1e-15)
    np.testing.assert_allclose(hull.extent, [0.05, 0.1, 0.15], atol=1e-15)


def test_tetrahedron_has_its_closed_form() -> None:
    hull = Hull(np.vstack([np.zeros(3), np.eye(3)]))
    assert hull.volume() == pytest.approx(1 / 6)
    np.testing.assert_allclose(hull.solid(1.0).center, [0.25] * 3, atol=1e-15)
    # integral of x^2 is V/10, of x y V/20, both from the corner: with the centre at 1/4, 3/80 and -1/80
    inertia = np.full((3, 3), 1 / 80) + np.diag([2 * 3 / 80 - 1 / 80] * 3)
    np.testing.assert_allclose(hull.solid(1.0).inertia, inertia, atol=1e-15)


def test_two_half_boxes_make_one_box() -> None:
    w = World()
    turn = Rotation.from_rotvec([0.3, -0.5, 0.2])
    middle = np.array([0.4, 0.5, 0.6])
    halves = [
        Geometry(Box((0.1, 0.2, 0.15)), Pose(turn.apply([0, 0, z]) + middle, turn.as_quat()), SURFACE)
        for z in (-0.075, 0.075)
    ]
    body = w.bodies[w.add_body("b", geometries=halves, mass=2.0)]
    expected = turn.as_matrix() @ Box((0.1, 0.2, 0.3)).solid(2.0).inertia @ turn.as_matrix().T
    np.testing.assert_allclose(body.center, middle, atol=1e-15)
    np.testing.assert_allclose(body.inertia, expected, atol=1e-15)


def test_inertia_about_a_given_centre_has_steiners_share() -> None:
    w = World()
    body = w.bodies[w.add_sphere("b", mass=2.0, radius=0.1, center=(0.3, 0, 0))]
    own = 0.4 * 2.0 * 0.01
    np.testing.assert_allclose(body.inertia, np.diag([own, own + 2 * 0.09, own + 2 * 0.09]), atol=1e-15)


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (
            lambda w: w.add_sphere("b", mass=1.0, radius=-1.0),
            "b: radius: expected a positive number of metres, got -1.0",
        ),
        (lambda w: w.add_box("b", mass=1.0, size=(1, 2)), "b: size: expected 3 finite numbers, got (1, 2)"),
        (
            lambda w: w.add_box("b", mass=1.0, size=(1, 0, 1)),
            "b: size[1]: expected a positive number of metres, got 0.0",
        ),
        (lambda w: w.add_cylinder("b", mass=1.0, radius=0.1, length=0.0), "b: length: expected a positive number"),
        (lambda w: w.add_hull("b", mass=1.0, points=np.eye(3)), "b: points: expected (n, 3) with n of 4 or more"),
        (
            lambda w: w.add_hull("b", mass=1.0, points=np.eye(4)[:, :3] * [1, 1, 0]),
            "b: points: expected points that do",
        ),
        (lambda w: w.add_sphere("b", radius=1.0), "b: mass: missing"),
        (
            lambda w: w.add_sphere("b", radius=1.0, mass=0.0),
            "b: mass: expected a positive number of kilograms, got 0.0",
        ),
        (lambda w: w.add_sphere("b", radius=1.0, mass=1.0, inertia=(1, 1, 3)), "b: inertia: no body has the principal"),
        (lambda w: w.add_sphere("b", radius=1.0, mass=1.0, inertia=(1, 1)), "b: inertia: expected a number, (3,)"),
        (
            lambda w: w.add_sphere("b", radius=1.0, mass=1.0, inertia=(1, 1, 0)),
            "b: inertia: expected positive principal",
        ),
        (lambda w: w.add_sphere("b", radius=1.0, mass=1.0, position=(1, 2)), "b: position: expected 3 finite numbers"),
        (
            lambda w: w.add_sphere("b", radius=1.0, mass=1.0, orientation=(0, 0, 0, 0)),
            "b: orientation: expected a quat",
        ),
        (lambda w: w.add_sphere("b", radius=1.0, fixed=True, velocity=(1, 0, 0)), "b: velocity: a fixed body has none"),
        (lambda w: w.add_body("b", mass=1.0), "b: inertia: missing, and there is no shape"),
        (lambda w: w.add_half_space("b", normal=(0, 0, 0)), "b: normal: expected a vector that is not zero"),
        (lambda w: w.add_sphere("", radius=1.0, mass=1.0), "name: '' is empty or taken"),
        (lambda w: w.set_pair("x", "y"), "x: no such body; there are: none"),
        (lambda w: w.disable_pair(3, 4), "3: no such body; there are 0"),
        (lambda w: w.number(True), "body: expected a name or a number, got True"),
        (lambda w: w.number(0.0), "body: expected a name or a number, got 0.0"),
        (lambda w: w.actuate_joint(False, "x"), "tree: expected a name or a number, got False"),
    ],
)
def test_impossible_bodies_are_refused_by_name(make: Any, expected: str) -> None:
    w = World()
    with pytest.raises(WorldError) as caught:
        make(w)
    assert str(caught.value).startswith(expected)
    assert not w.bodies


def test_an_unknown_body_is_refused_with_the_known_ones() -> None:
    w = World()
    for name in ("ball", "arm/hand", "floor"):
        w.add_sphere(name, radius=1.0, mass=1.0)
    for name, ending in (("bal", "; did you mean ball?"), ("hand", "; did you mean arm/hand?"), ("xyz", "")):
        with pytest.raises(WorldError) as caught:
            w.set_pair("floor", name)
        assert str(caught.value) == f"{name}: no such body; there are: ball, arm/hand, floor{ending}"
    for number in range(100):
        w.add_sphere(f"stone_{number:02}", radius=1.0, mass=1.0)
    with pytest.raises(WorldError, match=r"^stone_7: no such body; there are: stone_\d\d, .* and 100 more; did"):
        w.number("stone_7")


def test_a_world_and_its_bodies_are_printed_in_one_line() -> None:
    w = World()
    assert repr(w) == "World(0 bodies; 0 trees)"
    w.bodies += [w.bodies[w.add_box("box", size=(1.0, 1.0, 1.0), mass=2.5)]] * 9
    assert repr(w) == f"World(10 bodies: {'box, ' * 8}...; 0 trees)"
    assert repr(w.bodies[0]) == "Body('box', free, 2.5 kg, shapes: Box)"
