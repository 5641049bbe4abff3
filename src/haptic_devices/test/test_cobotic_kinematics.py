"""Kinematics of the six-degree-of-freedom display: pose, twist, Jacobian, bias, inverse, singularity."""

from __future__ import annotations

import math

import numpy as np
import pytest
from cobotic_cases import DEFAULT, REACH, ROUNDING, bias_of, forward_of, jacobian_of, places, rates
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from haptic_devices.cobotic import inverse, joint_rates, rotation


@given(places)
def test_the_tool_is_at_the_slides_turned_by_yaw_tilt_and_roll(q):
    pose, matrix = forward_of(q)[0], np.zeros((3, 3))
    rotation(q, matrix)
    expected = Rotation.from_euler("ZXY", q[3:])
    assert (pose[:3] == q[:3]).all()
    assert matrix == pytest.approx(expected.as_matrix(), abs=ROUNDING)
    assert Rotation.from_quat(pose[3:]).as_matrix() == pytest.approx(matrix, abs=ROUNDING)
    assert np.linalg.norm(pose[3:]) == pytest.approx(1.0, abs=ROUNDING)


def test_at_home_the_tool_s_axes_are_those_of_the_base():
    assert forward_of(np.zeros(6))[0].tolist() == [0, 0, 0, 0, 0, 0, 1]


@given(places, rates)
def test_the_twist_is_the_jacobian_times_the_joint_rates_and_back(q, qd):
    twist, back = forward_of(q, qd)[1], np.zeros(6)
    assert twist == pytest.approx(jacobian_of(q) @ qd, abs=10 * ROUNDING)
    joint_rates(q, twist, back)
    assert back == pytest.approx(qd, abs=100 * ROUNDING)  # 1/cos(1.3) = 3.7


@given(places)
def test_the_jacobian_s_columns_agree_with_finite_differences(q):
    jacobian, h = jacobian_of(q), 1e-5
    for joint, step in enumerate(h * np.eye(6)):
        ahead, behind = (forward_of(q + sign * step)[0] for sign in (1, -1))
        # central difference: truncation h^2/6 = 2e-11, rounding 1e-16/h = 1e-11
        assert jacobian[:3, joint] == pytest.approx((ahead[:3] - behind[:3]) / (2 * h), abs=1e-10)
        turned = Rotation.from_quat(ahead[3:]) * Rotation.from_quat(behind[3:]).inv()
        assert jacobian[3:, joint] == pytest.approx(turned.as_rotvec() / (2 * h), abs=1e-10)


@given(places, rates)
def test_the_bias_is_the_twist_s_rate_at_constant_joint_rates(q, qd):
    h = 1e-5
    ahead, behind = (forward_of(q + sign * h * qd, qd)[1] for sign in (1, -1))
    # central difference: h^2/6 of the third derivative, 5^4, is 1e-8; rounding 1e-15/h = 1e-10
    assert bias_of(q, qd) == pytest.approx((ahead - behind) / (2 * h), abs=2e-8)


@given(places, st.floats(-np.pi, np.pi), st.floats(-np.pi, np.pi))
def test_the_inverse_kinematics_find_the_joints_again_on_their_turn(q, yaw, roll):
    near, found = q + np.array([0, 0, 0, 0.99 * yaw, 0, 0.99 * roll]), np.zeros(6)
    pose = forward_of(q)[0]
    for factor in (1.0, -1.0, 3.0):  # both quaternions, and one that is not of length one
        inverse(np.concatenate((pose[:3], factor * pose[3:])), near, found)
        assert found == pytest.approx(q, abs=10 * ROUNDING)  # 1/cos(1.3) = 3.7


def test_a_roll_over_several_turns_is_counted():
    q, near = np.zeros(6), np.zeros(6)
    for roll in np.linspace(0.0, 14.0, 29):
        inverse(forward_of(np.array([0, 0, 0, 0.1, 0.2, roll]))[0], near, q)
        near[:] = q
        assert q[3:] == pytest.approx([0.1, 0.2, roll], abs=10 * ROUNDING)


@pytest.mark.parametrize("tilt", [np.pi / 2, -np.pi / 2])
def test_at_90_degrees_of_tilt_the_yaw_stays_and_the_pose_is_met(tilt):
    pose, near, q = forward_of(np.array([0, 0, 0, 0.7, tilt, 0.4]))[0], np.zeros(6), np.zeros(6)
    near[3] = 0.3
    inverse(pose, near, q)
    assert q[3] == 0.3 and q[4] == pytest.approx(tilt, abs=1e-7)  # the arctangent's root of a rounding
    assert abs(forward_of(q)[0][3:] @ pose[3:]) == pytest.approx(1.0, abs=1e-12)


def test_a_pose_without_orientation_keeps_the_angles():
    q, near = np.zeros(6), np.array([0, 0, 0, 1.0, 0.5, 4.0])
    inverse(np.array([0.1, 0.2, 0.3, 0, 0, 0, 0]), near, q)
    assert q.tolist() == [0.1, 0.2, 0.3, 1.0, 0.5, 4.0]


def test_the_workspace_keeps_away_from_the_singularity():
    smallest = np.inf
    for q in np.random.default_rng(0).uniform(-REACH, REACH, (2000, 6)):
        values = np.linalg.svd(jacobian_of(q)[3:, 3:], compute_uv=False)
        sine = abs(math.sin(q[4]))
        assert values == pytest.approx(np.sqrt([1 + sine, 1.0, 1 - sine]), abs=ROUNDING)
        smallest = min(smallest, values[2])
    limit = math.sqrt(1.0 - math.sin(DEFAULT.range_tilt))
    assert 0.19 < limit <= smallest < 1.05 * limit
