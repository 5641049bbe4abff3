"""Frames of mechanism, display and tool, and the difference of poses, against SciPy's rotations."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from admittance_constraints import DisplayTransform
from admittance_constraints.display.feedback import pose_difference
from admittance_constraints.display.tool_path import RecordedFrames


@pytest.fixture(params=range(5))
def placed(request: pytest.FixtureRequest) -> tuple[DisplayTransform, np.ndarray, Rotation, Rotation]:
    """Makes a placement and gives its position and rotations in SciPy's form."""
    random = np.random.default_rng(request.param)
    origin, (frame, tool) = random.normal(size=3), Rotation.random(2, random_state=request.param)
    return DisplayTransform(origin, frame.as_quat(), tool.as_quat()), origin, frame, tool


def test_a_placement_is_two_rotations_and_an_origin(
    placed: tuple[DisplayTransform, np.ndarray, Rotation, Rotation],
) -> None:
    place, origin, frame, tool = placed
    virtual, p = Rotation.random(random_state=9), np.array([0.3, -0.2, 0.5])
    found = place.outside(p, virtual.as_quat())
    # a dozen products of numbers of order one
    np.testing.assert_allclose(found[:3], origin + frame.apply(p), atol=1e-15)
    turned = frame * virtual * tool.inv()
    assert (Rotation.from_quat(found[3:]).inv() * turned).magnitude() < 4e-15
    np.testing.assert_allclose(place.vector(np.arange(6.0))[:3], frame.apply([0, 1, 2]), atol=1e-14)
    np.testing.assert_allclose(place.wrench(np.arange(6.0))[3:], frame.inv().apply([3, 4, 5]), atol=1e-14)


def test_placement_and_its_inverse_cancel(placed: tuple[DisplayTransform, np.ndarray, Rotation, Rotation]) -> None:
    place = placed[0]
    p, Q = np.array([0.3, -0.2, 0.5]), Rotation.random(random_state=9).as_quat()
    there = place.outside(p, Q)
    back, turned = place.inside(there)
    np.testing.assert_allclose(back, p, atol=1e-15)
    assert abs(turned @ Q) == pytest.approx(1.0, abs=1e-15)
    np.testing.assert_allclose(place.outside(back, turned), there, atol=1e-15)


def test_a_placement_keeps_the_power(placed: tuple[DisplayTransform, np.ndarray, Rotation, Rotation]) -> None:
    place = placed[0]
    wrench, twist = np.random.default_rng(1).normal(size=(2, 6))
    assert place.wrench(wrench) @ twist == pytest.approx(wrench @ place.vector(twist), abs=1e-14)


def test_a_quaternion_that_was_rounded_is_brought_to_length_one() -> None:
    rounded = np.array([0.707, 0.0, 0.0, 0.707])
    place = DisplayTransform(orientation=rounded, tool_orientation=rounded)
    np.testing.assert_allclose(place.rotation.T @ place.rotation, np.eye(3), atol=1e-15)
    # frame and tool cancel
    np.testing.assert_allclose(place.outside(np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0]))[3:], [0, 0, 0, 1], atol=1e-15)


@pytest.mark.parametrize("angle", [0.0, 1e-13, 1e-8, 0.3, 3.0, np.pi - 1e-9])
def test_the_difference_of_poses_is_that_of_scipy(angle: float) -> None:
    random = np.random.default_rng(2)
    axis = random.normal(size=3)
    axis /= np.linalg.norm(axis)
    start, turn = Rotation.random(random_state=3), Rotation.from_rotvec(angle * axis)
    p, way = random.normal(size=(2, 3))
    for sign in (1.0, -1.0):  # Q and -Q are one orientation
        target = np.concatenate([p + way, sign * (turn * start).as_quat()])
        found = pose_difference(target, np.concatenate([p, start.as_quat()]))
        np.testing.assert_allclose(found, [*way, *(angle * axis)], atol=1e-14)  # of a product of unit quaternions


def test_recorded_frames_are_those_of_single_poses() -> None:
    rng = np.random.default_rng(3)
    poses = np.column_stack((rng.normal(size=(5, 3)), Rotation.random(5, random_state=1).as_quat()))
    twists, wrenches = rng.normal(size=(5, 6)), rng.normal(size=(5, 6))
    turned, tool = (Rotation.from_rotvec(vector).as_quat() for vector in ([0.3, 0.2, -0.5], [0.0, 0.7, 0.0]))
    own = (0.1, -0.2, 0.3), turned, tool
    transform, frames = DisplayTransform(*own), RecordedFrames(*own)
    path = frames.path(poses, twists)
    for k, pose in enumerate(poses):
        position, quaternion = transform.inside(pose)
        np.testing.assert_allclose(path.position[k], position, atol=1e-14)
        assert (path.rotation[k].inv() * Rotation.from_quat(quaternion)).magnitude() < 1e-14
        np.testing.assert_allclose(transform.vector(np.hstack((path.velocity[k], path.angular_velocity[k]))), twists[k])
        np.testing.assert_allclose(frames.wrench(wrenches)[k], transform.wrench(wrenches[k]))
