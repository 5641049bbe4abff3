"""Contact points of every pair of shapes: against closed forms, Coal's Python bindings and each other."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from convex_contact import Box, Capsule, Cylinder, HalfSpace, Hull, Sphere
from convex_contact.collision.narrow_phase import closest_on_box, closest_on_capsule, closest_on_cylinder

EYE, ORIGIN = np.eye(3), np.zeros(3)
KINDS = ("sphere", "box", "cylinder", "capsule", "hull", "half_space")
PAIRS = [pair for pair in itertools.combinations_with_replacement(KINDS, 2) if pair != ("half_space", "half_space")]
#: the signed distance where rims meet rims or edges: rounded for GJK by 2 % of the radius, the square of that remains
RIM = 1e-5
#: some operations on numbers of 0.1 m
ROUNDING = 1e-15


def random_poses(seed: int, apart: float) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    direction = rng.normal(size=3)
    turns = Rotation.from_quat(rng.normal(size=(2, 4))).as_matrix()
    return (turns[0], rng.normal(size=3)), (turns[1], apart * direction / np.linalg.norm(direction))


def apart(a: Any, pose_a: Any, b: Any, pose_b: Any, gap: float, helpers: Any) -> Any:
    """The second pose, moved until the smallest gap is about the one wanted."""
    rotation, position = pose_b
    if isinstance(b, HalfSpace):
        return rotation, pose_a[1] - rotation[:, 2] * (gap + helpers.support(a, -(pose_a[0].T @ rotation[:, 2])))
    direction = position / np.linalg.norm(position)
    near, far = 0.0, 0.5
    for _ in range(40):
        middle = 0.5 * (near + far)
        d = helpers.two_bodies(a, pose_a, b, (rotation, pose_a[1] + middle * direction), threshold=5.0)
        near, far = (near, middle) if helpers.points(d)[2].min() > gap else (middle, far)
    return rotation, pose_a[1] + far * direction


# --- closed forms ----------------------------------------------------------------------------------------------


def test_spheres(helpers: Any) -> None:
    d = helpers.two_bodies(Sphere(0.1), (EYE, [1, 2, 3]), Sphere(0.2), (EYE, [1.2, 2.1, 3.2]))
    point, normal, gap = helpers.points(d)
    n = np.array([2, 1, 2]) / 3
    np.testing.assert_allclose(normal, [n], atol=ROUNDING)
    np.testing.assert_allclose(gap, [0.0], atol=ROUNDING)
    np.testing.assert_allclose(point, [np.array([1, 2, 3]) + 0.1 * n], atol=ROUNDING)


def test_spheres_with_one_centre_have_a_contact_all_the_same(helpers: Any) -> None:
    _, normal, gap = helpers.points(helpers.two_bodies(Sphere(0.1), (EYE, ORIGIN), Sphere(0.2), (EYE, ORIGIN)))
    np.testing.assert_allclose(gap, [-0.3])
    assert np.linalg.norm(normal[0]) == 1.0


@pytest.mark.parametrize("gap", [0.05, 1e-6, -1e-6, -0.01])
def test_sphere_on_a_tilted_half_space(helpers: Any, gap: float) -> None:
    turn = Rotation.from_rotvec([0.5, -0.3, 0.1]).as_matrix()
    up, foot = turn[:, 2], np.array([0.3, 0.2, 0.1])
    center = foot + (0.1 + gap) * up + 0.4 * turn[:, 0]
    point, normal, phi = helpers.points(helpers.two_bodies(Sphere(0.1), (EYE, center), HalfSpace(), (turn, foot)))
    np.testing.assert_allclose(phi, [gap], atol=ROUNDING)
    np.testing.assert_allclose(normal, [-up], atol=ROUNDING)
    np.testing.assert_allclose(point, [center - (0.1 + gap / 2) * up], atol=ROUNDING)


@pytest.mark.parametrize(
    ("point", "direction", "distance"),
    [
        ((0.3, 0.0, 0.0), (-1, 0, 0), 0.2),  # before a face
        ((-0.4, 0.6, 0.0), (0.6, -0.8, 0), 0.5),  # before an edge
        ((0.2, -0.4, 0.5), (-1 / 3, 2 / 3, -2 / 3), 0.3),  # before a corner
        ((0.09, 0.0, 0.0), (-1, 0, 0), -0.01),  # inside, near a face
        ((0.0, -0.19, 0.0), (0, 1, 0), -0.01),
        ((0.0, 0.0, 0.0), (-1, 0, 0), -0.1),
    ],
)
def test_closest_point_of_a_box(point: Any, direction: Any, distance: float) -> None:
    *found, signed = closest_on_box(*point, 0.1, 0.2, 0.3)
    np.testing.assert_allclose([*found, signed], [*direction, distance], atol=ROUNDING)


@pytest.mark.parametrize(
    ("point", "direction", "distance"),
    [
        ((0.3, 0.4, 0.1), (-0.6, -0.8, 0), 0.4),  # before the side
        ((0.05, 0.0, -0.5), (0, 0, 1), 0.3),  # below the lower base
        ((0.4, 0.0, 0.6), (-0.6, 0, -0.8), 0.5),  # before the rim
        ((0.0, 0.09, 0.0), (0, -1, 0), -0.01),  # inside, near the side
        ((0.0, 0.0, 0.19), (0, 0, -1), -0.01),
    ],
)
def test_closest_point_of_a_cylinder(point: Any, direction: Any, distance: float) -> None:
    *found, signed = closest_on_cylinder(*point, 0.1, 0.2)
    np.testing.assert_allclose([*found, signed], [*direction, distance], atol=ROUNDING)


@pytest.mark.parametrize(
    ("point", "direction", "distance"),
    [((0.3, 0.4, 0.1), (-0.6, -0.8, 0), 0.4), ((0.3, 0.0, -0.6), (-0.6, 0, 0.8), 0.4), ((0, 0, 0.1), (-1, 0, 0), -0.1)],
)
def test_closest_point_of_a_capsule(point: Any, direction: Any, distance: float) -> None:
    *found, signed = closest_on_capsule(*map(float, point), 0.1, 0.2)
    np.testing.assert_allclose([*found, signed], [*direction, distance], atol=ROUNDING)


def test_a_box_on_the_ground_touches_with_its_four_lower_corners(helpers: Any) -> None:
    turn = Rotation.from_euler("z", 0.3).as_matrix()
    d = helpers.two_bodies(Box((0.04, 0.06, 0.05)), (turn, [0.1, 0, 0.025 - 1e-6]), HalfSpace(), (EYE, ORIGIN))
    point, normal, gap = helpers.points(d)
    corners = np.array([[x, y, -0.025] for y in (-0.03, 0.03) for x in (-0.02, 0.02)])
    expected = corners @ turn.T + [0.1, 0, 0.025 - 0.5e-6]
    np.testing.assert_allclose(point, expected, atol=ROUNDING)
    np.testing.assert_allclose(gap, -1e-6, atol=ROUNDING)
    np.testing.assert_allclose(normal, np.tile([0, 0, -1], (4, 1)), atol=ROUNDING)
    np.testing.assert_array_equal(d.contacts.feature[:4], [0, 1, 2, 3])


@pytest.mark.parametrize(("angles", "count"), [((0.1, 0.2), 4), ((np.pi / 4, 0.0), 6), ((0.6155, np.pi / 4), 4)])
def test_a_tilted_box_has_the_corners_below_its_centre(helpers: Any, angles: Any, count: int) -> None:
    turn = Rotation.from_euler("xy", angles).as_matrix()
    d = helpers.two_bodies(Box((0.06, 0.06, 0.06)), (turn, [0, 0, 0.05]), HalfSpace(), (EYE, ORIGIN))
    point, _, gap = helpers.points(d)
    corners = np.array(list(itertools.product((-0.03, 0.03), repeat=3))) @ turn.T
    lower = np.sort(corners[corners[:, 2] < 1e-12, 2])
    assert len(gap) == count
    np.testing.assert_allclose(np.sort(gap), lower + 0.05, atol=ROUNDING)
    np.testing.assert_allclose(point[:, 2], gap / 2, atol=ROUNDING)  # midway between corner and ground


def test_a_capsule_touches_the_ground_with_both_ends(helpers: Any) -> None:
    tilt = 0.2
    turn = Rotation.from_euler("y", np.pi / 2 + tilt).as_matrix()
    d = helpers.two_bodies(Capsule(0.03, 0.1), (turn, [0, 0, 0.04]), HalfSpace(), (EYE, ORIGIN))
    _, _, gap = helpers.points(d)
    np.testing.assert_allclose(np.sort(gap), 0.04 - 0.03 + 0.05 * np.sin([-tilt, tilt]), atol=ROUNDING)


def test_an_upright_cylinder_stands_on_four_points_that_turn_with_it(helpers: Any) -> None:
    for angle in (0.0, 0.3):
        turn = Rotation.from_euler("z", angle)
        d = helpers.two_bodies(Cylinder(0.04, 0.1), (turn.as_matrix(), [0, 0, 0.05]), HalfSpace(), (EYE, ORIGIN))
        point, _, gap = helpers.points(d)
        expected = turn.apply([[0.04, 0, 0], [0, 0.04, 0], [-0.04, 0, 0], [0, -0.04, 0]])
        np.testing.assert_allclose(point, expected, atol=1e-15)
        np.testing.assert_allclose(gap, 0, atol=ROUNDING)


@pytest.mark.parametrize("tilt", [1e-3, 0.3, 1.2, np.pi / 2 - 1e-3, np.pi - 0.2])
def test_a_tilted_cylinder_touches_at_its_lowest_point(helpers: Any, tilt: float) -> None:
    turn = Rotation.from_euler("zx", [0.7, tilt]).as_matrix()
    d = helpers.two_bodies(Cylinder(0.04, 0.1), (turn, [0, 0, 0.08]), HalfSpace(), (EYE, ORIGIN), threshold=1.0)
    point, _, gap = helpers.points(d)
    s, c = np.sin(tilt), abs(np.cos(tilt))
    assert len(gap) == 5
    np.testing.assert_allclose(gap.min(), 0.08 - 0.05 * c - 0.04 * s, atol=ROUNDING)
    np.testing.assert_allclose(np.sort(gap)[-1], 0.08 + max(0.05 * c - 0.04 * s, -0.05 * c + 0.04 * s), atol=1e-15)
    local = (point - np.outer(gap / 2, [0, 0, -1]) - [0, 0, 0.08]) @ turn  # back on the cylinder's rims
    np.testing.assert_allclose(np.hypot(local[:, 0], local[:, 1]), 0.04, atol=1e-15)
    np.testing.assert_allclose(np.abs(local[:, 2]), 0.05, atol=1e-15)


def test_a_lying_cylinder_touches_along_a_line(helpers: Any) -> None:
    turn = Rotation.from_euler("y", np.pi / 2).as_matrix()
    d = helpers.two_bodies(Cylinder(0.04, 0.1), (turn, [0, 0, 0.04]), HalfSpace(), (EYE, ORIGIN), threshold=0.01)
    point, _, gap = helpers.points(d)
    np.testing.assert_allclose(gap, 0, atol=ROUNDING)
    np.testing.assert_allclose(np.sort(point[:, 0]), [-0.05, 0.05], atol=ROUNDING)


def test_a_hull_has_its_vertices_below_its_middle(helpers: Any) -> None:
    hull = helpers.shape_of("hull")
    turn = Rotation.from_rotvec([0.2, 0.1, -0.4]).as_matrix()
    d = helpers.two_bodies(hull, (turn, [0, 0, 0.03]), HalfSpace(), (EYE, ORIGIN))
    _, _, gap = helpers.points(d)
    heights = hull.vertices @ turn[2] + 0.03
    np.testing.assert_allclose(gap, heights[heights <= hull.center @ turn[2] + 0.03], atol=ROUNDING)


# --- all pairs -------------------------------------------------------------------------------------------------


# Coal's Python bindings make no hulls; the hull of a box's corners is compared with the box below
@pytest.mark.slow
@pytest.mark.covering
@pytest.mark.parametrize(("one", "two"), [pair for pair in PAIRS if "hull" not in pair], ids=str)
@pytest.mark.parametrize("gap", [0.03, 1e-4, -1e-4])
def test_smallest_gap_and_normal_are_those_of_coals_own_interface(helpers: Any, one: str, two: str, gap: float) -> None:
    a, b = helpers.shape_of(one), helpers.shape_of(two)
    for seed in range(3):
        pose_a, pose_b = random_poses(seed, 0.3)
        pose_b = apart(a, pose_a, b, pose_b, gap, helpers)
        _, normal, phi = helpers.points(helpers.two_bodies(a, pose_a, b, pose_b))
        expected, direction = helpers.coal_distance(a, pose_a, b, pose_b)
        tolerance = RIM if "cylinder" in (one, two) else 2e-6  # twice Coal's default
        assert phi.min() == pytest.approx(expected, abs=tolerance)
        assert normal[0] @ direction == pytest.approx(1.0, abs=2e-3)  # its normal at that tolerance


@pytest.mark.slow
@pytest.mark.covering
@pytest.mark.parametrize(("one", "two"), PAIRS, ids=str)
@pytest.mark.parametrize("gap", [0.02, -1e-5])
def test_exchanging_the_bodies_mirrors_the_contacts(helpers: Any, one: str, two: str, gap: float) -> None:
    a, b = helpers.shape_of(one), helpers.shape_of(two)
    pose_a, pose_b = random_poses(7, 0.3)
    pose_b = apart(a, pose_a, b, pose_b, gap, helpers)
    p, n, phi = helpers.points(helpers.two_bodies(a, pose_a, b, pose_b))
    q, m, psi = helpers.points(helpers.two_bodies(b, pose_b, a, pose_a))
    assert len(phi) == len(psi) > 0
    first, second = np.lexsort(p.round(7).T), np.lexsort(q.round(7).T)
    smooth = {"cylinder", "capsule"} & {one, two}
    tolerance = 1e-6 if smooth and "half_space" not in (one, two) else 1e-11  # GJK from another side
    np.testing.assert_allclose(p[first], q[second], atol=max(tolerance, 1e-11))
    np.testing.assert_allclose(n[first], -m[second], atol=3e-4 if tolerance > 1e-9 else 1e-9)
    np.testing.assert_allclose(phi[first], psi[second], atol=tolerance)


@pytest.mark.slow
@pytest.mark.covering(10)
@pytest.mark.parametrize(("one", "two"), PAIRS, ids=str)
def test_points_lie_midway_between_the_surfaces(helpers: Any, one: str, two: str) -> None:
    """From a point, half the gap either way along the normal ends on (not in, not beyond) each surface."""
    a, b = helpers.shape_of(one), helpers.shape_of(two)
    for seed, gap in ((1, 0.02), (2, -1e-3)):
        pose_a, pose_b = random_poses(seed, 0.3)
        pose_b = apart(a, pose_a, b, pose_b, gap, helpers)
        p, n, phi = helpers.points(helpers.two_bodies(a, pose_a, b, pose_b))
        if (one, two) == ("capsule", "half_space"):  # its upper end's lowest point may lie inside the capsule
            p, n, phi = (found[[phi.argmin()]] for found in (p, n, phi))
        for side, shape, (rotation, position) in ((-1, a, pose_a), (1, b, pose_b)):
            ends = p + side * 0.5 * phi[:, None] * n
            local = (ends - position) @ rotation
            tolerance = 2 * RIM if "cylinder" in (one, two) else 1e-7 if "capsule" in (one, two) else 1e-9
            np.testing.assert_allclose([depth(shape, x) for x in local], 0, atol=tolerance)


def depth(shape: Any, x: np.ndarray) -> float:
    """Signed distance of a point of the shape's frame from its surface (from its faces' planes, for a hull)."""
    p = shape.parameters
    if isinstance(shape, Sphere):
        return float(np.linalg.norm(x) - p[0])
    if isinstance(shape, Box):
        return float(closest_on_box(*x, *p)[3])
    if isinstance(shape, Cylinder):
        return float(closest_on_cylinder(*x, p[0], p[1])[3])
    if isinstance(shape, Capsule):
        return float(closest_on_capsule(*x, p[0], p[1])[3])
    if isinstance(shape, HalfSpace):
        return float(x[2])
    from scipy.spatial import ConvexHull

    planes = ConvexHull(shape.vertices).equations
    return float((planes[:, :3] @ x + planes[:, 3]).max())


@pytest.mark.parametrize("one", ["sphere", "box", "cylinder", "capsule", "half_space"])
def test_a_box_given_as_a_hull_has_the_boxs_contacts(helpers: Any, one: str) -> None:
    size = np.array([0.1, 0.08, 0.06])
    hull = Hull(np.array(list(itertools.product((-0.5, 0.5), repeat=3))) * size)
    a = helpers.shape_of(one)
    for seed in range(4):
        pose_a, pose_b = random_poses(seed, 0.12)
        pose_b = (pose_b[0], pose_a[1] + pose_b[1])
        if one == "half_space":
            pose_b = (pose_b[0], pose_a[1] + 0.05 * pose_a[0][:, 2])
        box = helpers.points(helpers.two_bodies(a, pose_a, Box(tuple(size)), pose_b, threshold=0.2))
        same = helpers.points(helpers.two_bodies(a, pose_a, hull, pose_b, threshold=0.2))
        order = [np.lexsort(found[0].round(7).T) for found in (box, same)]
        # the place and direction of a contact on a curve are as the root of the distance's tolerance
        tolerance = (3e-4, 3e-4, RIM) if one == "cylinder" else (2e-7, 2e-7, 1e-9)
        for x, y, limit in zip(box, same, tolerance, strict=True):
            np.testing.assert_allclose(x[order[0]], y[order[1]], atol=limit)


@pytest.mark.covering(10)
@pytest.mark.parametrize(("one", "two"), PAIRS, ids=str)
def test_gap_is_continuous_and_its_slope_is_the_normal(helpers: Any, one: str, two: str) -> None:
    """A straight pass through the other shape: the smallest gap changes no faster than the motion."""
    a, b = helpers.shape_of(one), helpers.shape_of(two)
    pose_a, (rotation, _) = random_poses(11, 0.3)
    if two == "half_space":
        path = np.linspace(0.15, -0.15, 45)[:, None] * rotation[:, 2]
    else:
        path = np.linspace(-0.15, 0.15, 45)[:, None] * np.array([0.6, 0.8, 0]) + [0, 0, 0.02]
    gaps = []
    for x in path:
        _, _, phi = helpers.points(helpers.two_bodies(a, pose_a, b, (rotation, pose_a[1] + x), threshold=1.0))
        gaps.append(phi.min())
    steps = np.linalg.norm(np.diff(path, axis=0), axis=1)
    assert (np.abs(np.diff(gaps)) <= steps * (1 + 1e-6) + 1e-7).all()
    assert min(gaps) < 0 < max(gaps)


def test_deep_overlap_gives_finite_contacts(helpers: Any) -> None:
    for one, two in PAIRS:
        a, b = helpers.shape_of(one), helpers.shape_of(two)
        for offset in ([0, 0, 0], [1e-9, 0, 0], [0.01, 0.01, 0.02]):
            p, n, phi = helpers.points(helpers.two_bodies(a, (EYE, ORIGIN), b, (EYE, offset)))
            assert len(phi) > 0 and (phi <= 1e-9).any(), (one, two)
            assert np.isfinite(p).all() and np.isfinite(phi).all(), (one, two)
            np.testing.assert_allclose(np.linalg.norm(n, axis=1), 1, atol=1e-9)
