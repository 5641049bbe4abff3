"""Contact points of boxes and hulls: faces on faces, corners, edges, and boxes that overlap."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from convex_contact import Box, Hull

EYE, ORIGIN = np.eye(3), np.zeros(3)


@pytest.mark.parametrize("gap", [0.05, 1e-4, 1e-9, 0.0, -1e-9, -1e-6, -1e-3])
def test_face_on_face_has_the_corners_of_the_overlap(helpers: Any, gap: float) -> None:
    cube = Box((0.1, 0.1, 0.1))
    d = helpers.two_bodies(cube, (EYE, ORIGIN), cube, (EYE, [0.03, 0.02, 0.1 + gap]))
    point, normal, phi = helpers.points(d)
    expected = [[x, y, 0.05 + gap / 2] for x in (-0.02, 0.05) for y in (-0.03, 0.05)]
    np.testing.assert_allclose(sorted(point.round(12).tolist()), expected, atol=1e-9)
    np.testing.assert_allclose(phi, gap, atol=1e-15)
    np.testing.assert_allclose(normal, np.tile([0, 0, 1], (4, 1)), atol=1e-6)


def test_a_turned_face_on_a_face_has_eight_corners(helpers: Any) -> None:
    cube = Box((0.1, 0.1, 0.1))
    turn = Rotation.from_euler("z", np.pi / 4).as_matrix()
    point, _, phi = helpers.points(helpers.two_bodies(cube, (EYE, ORIGIN), cube, (turn, [0, 0, 0.1])))
    assert len(phi) == 8
    reach = 0.05 * np.sqrt(2) - 0.05  # where the diamond's sides cut the square's
    np.testing.assert_allclose(np.sort(np.abs(point[:, :2]), axis=1), np.tile([reach, 0.05], (8, 1)), atol=1e-12)


def separation(helpers: Any, a: Box, pose_a: Any, b: Box, pose_b: Any, n: np.ndarray) -> float:
    """Distance of two boxes along a unit vector from the first to the second."""
    gap = float(n @ (np.asarray(pose_b[1]) - pose_a[1]))
    return gap - helpers.support(a, pose_a[0].T @ n) - helpers.support(b, -(pose_b[0].T @ n))


@pytest.mark.parametrize("tilt", [1e-7, 1e-2, 1.0])
@pytest.mark.parametrize("depth", [1e-9, 1e-5, 1e-3, 2e-2])
def test_boxes_that_overlap_are_separated_most_along_their_normal(helpers: Any, depth: float, tilt: float) -> None:
    a, b = Box((0.1, 0.2, 0.3)), Box((0.3, 0.15, 0.12))
    faces = 0
    for seed in range(25):
        rng = np.random.default_rng(seed)
        turn = Rotation.from_quat(rng.normal(size=4))
        pose_a = turn.as_matrix(), rng.normal(size=3)
        rotation = (turn * Rotation.from_rotvec(tilt * rng.normal(size=3))).as_matrix()
        edges = [np.cross(x, y) for x in pose_a[0].T for y in rotation.T]
        axes = [*pose_a[0].T, *rotation.T, *(e / np.linalg.norm(e) for e in edges if np.linalg.norm(e) > 1e-3)]
        near, far, direction = 0.0, 1.0, rng.normal(size=3)
        for _ in range(60):
            pose_b = rotation, pose_a[1] + 0.5 * (near + far) * direction
            found = [max(separation(helpers, a, pose_a, b, pose_b, s * n) for s in (1.0, -1.0)) for n in axes]
            near, far = (near, 0.5 * (near + far)) if max(found) > -depth else (0.5 * (near + far), far)
        by_face = int(np.argmax(found)) < 6
        faces += by_face
        _, normal, phi = helpers.points(helpers.two_bodies(a, pose_a, b, pose_b))
        tolerance = 1e-14 if by_face else 2e-8  # positions of 1 m are rounded; EPA, where edges cross
        assert separation(helpers, a, pose_a, b, pose_b, normal[0]) == pytest.approx(max(found), abs=tolerance)
        assert phi.min() == pytest.approx(max(found), abs=tolerance)
    assert faces > 5


@pytest.mark.parametrize("tilt", [1e-9, 1e-6, 1e-3, 0.03])
def test_each_corner_of_a_tilted_face_has_its_own_gap(helpers: Any, tilt: float) -> None:
    cube = Box((0.1, 0.1, 0.1))
    turn = Rotation.from_euler("y", tilt).as_matrix()
    large = Box((1.0, 1.0, 0.1))
    d = helpers.two_bodies(large, (EYE, [0, 0, -0.05]), cube, (turn, [0, 0, 0.0501]))
    point, _, phi = helpers.points(d)
    corners = np.array([[x, y, -0.05] for x in (-0.05, 0.05) for y in (-0.05, 0.05)]) @ turn.T + [0, 0, 0.0501]
    order, expected = np.argsort(point[:, 0], kind="stable"), np.sort(corners[:, 0], kind="stable")
    np.testing.assert_allclose(point[order, 0], expected, atol=1e-8)
    heights = corners[np.argsort(corners[:, 0], kind="stable"), 2]
    np.testing.assert_allclose(phi[order], heights, atol=1e-12)


@pytest.mark.parametrize("gap", [0.01, 1e-8, -1e-8, -1e-4])
def test_crossing_edges_have_one_point(helpers: Any, gap: float) -> None:
    cube = Box((0.1, 0.1, 0.1))
    below, above = (Rotation.from_euler(axis, np.pi / 4).as_matrix() for axis in "xy")
    d = helpers.two_bodies(cube, (below, ORIGIN), cube, (above, [0.01, 0.02, 0.1 * np.sqrt(2) + gap]))
    point, normal, phi = helpers.points(d)
    np.testing.assert_allclose(phi, [gap], atol=1e-12)
    np.testing.assert_allclose(normal, [[0, 0, 1]], atol=2e-7)
    np.testing.assert_allclose(point, [[0.01, 0.0, 0.05 * np.sqrt(2) + gap / 2]], atol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("before", [False, True])
def test_boxes_do_not_depend_on_the_first_question_of_the_process(before: bool) -> None:
    """A process of its own: Coal keeps for good whether it was first asked along an axis."""
    code = f"""
import numpy as np
from convex_contact import World
from convex_contact.simulation.dynamics import WorldDynamics
def gap(w):
    d = WorldDynamics(w, period=1e-3)
    d.prepare()
    return d.collect().phi0[0]
def boxes(turn_a, turn_b, position):
    w = World()
    w.add_box("a", mass=1.0, size=(0.1,) * 3, orientation=turn_a)
    w.add_box("b", mass=1.0, size=(0.1,) * 3, orientation=turn_b, position=position)
    return w
s, c = np.sin(np.pi / 8), np.cos(np.pi / 8)
if {before}:
    gap(boxes((0, 0, 0, 1), (0, 0, 0, 1), (0.0, 0.0, 0.0999)))
print(gap(boxes((s, 0, 0, c), (0, s, 0, c), (0.01, 0.02, 0.1 * np.sqrt(2) + 1e-8))).hex())
"""
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    # rounding of lengths of 0.1 m; the larger boxes' gap is smaller by 1.4e-11 m
    assert float.fromhex(told) == pytest.approx(1e-8, abs=1e-16)


def test_parallel_edges_have_two_points(helpers: Any) -> None:
    cube = Box((0.1, 0.1, 0.1))
    turn = Rotation.from_euler("x", np.pi / 4).as_matrix()
    point, _, phi = helpers.points(
        helpers.two_bodies(cube, (turn, ORIGIN), cube, (turn, [0.01, 0, 0.1 * np.sqrt(2) + 1e-5]))
    )
    np.testing.assert_allclose(np.sort(point[:, 0]), [-0.04, 0.05], atol=1e-9)
    np.testing.assert_allclose(phi, 1e-5, atol=1e-12)


def test_lying_capsules_and_cylinders_touch_along_lines(helpers: Any) -> None:
    lie = Rotation.from_euler("x", np.pi / 2).as_matrix()
    for name, radius, half in (("capsule", 0.03, 0.04), ("cylinder", 0.04, 0.05)):
        shape = helpers.shape_of(name)
        d = helpers.two_bodies(Box((0.4, 0.4, 0.1)), (EYE, [0, 0, -0.05]), shape, (lie, [0, 0, radius - 1e-6]))
        point, _, phi = helpers.points(d)
        np.testing.assert_allclose(np.sort(point[:, 1]), [-half, half], atol=1e-6)
        np.testing.assert_allclose(phi, -1e-6, atol=1e-8)


def test_large_hulls_have_the_contacts_of_what_they_approximate_whatever_was_asked_before(helpers: Any) -> None:
    rng = np.random.default_rng(0)
    round_points = rng.normal(size=(3000, 3))
    ball = Hull(0.05 * round_points / np.linalg.norm(round_points, axis=1)[:, None])
    prism = [[0.05 * np.cos(a), 0.05 * np.sin(a), z] for a in np.arange(40) * np.pi / 20 for z in (-0.03, 0.03)]
    disk, cube = Hull(np.array(prism)), Box((0.1, 0.1, 0.1))
    assert len(ball.vertices) > 1000 and len(disk.vertices) == 80
    asked = []
    for _ in range(2):
        for a, b, height in ((ball, cube, 0.1), (disk, disk, 0.06), (cube, disk, 0.08), (ball, ball, 0.1)):
            asked.append(helpers.points(helpers.two_bodies(a, (EYE, ORIGIN), b, (EYE, [0, 0, height + 1e-3]))))
    for (point, normal, gap), again in zip(asked[:4], asked[4:], strict=True):
        np.testing.assert_array_equal(point, again[0])
        np.testing.assert_array_equal(normal, again[1])
        np.testing.assert_array_equal(gap, again[2])
    assert asked[0][2].min() == pytest.approx(1e-3, abs=1e-4) and asked[3][2].min() == pytest.approx(1e-3, abs=2e-4)
    np.testing.assert_allclose(asked[1][2], 1e-3, atol=1e-12)
    np.testing.assert_allclose(asked[2][2], 1e-3, atol=1e-12)
    assert len(asked[1][2]) == len(asked[2][2]) == 40
