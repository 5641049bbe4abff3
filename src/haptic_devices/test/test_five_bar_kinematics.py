"""Kinematics of the five-bar: pose, twist, Jacobian, inverse, workspace."""

from __future__ import annotations

import math

import numpy as np
import pytest
from five_bar_cases import DEFAULT, GEOMETRY, HOME, PERIOD, ROUNDING, five_bar, rates, tool, ways
from hypothesis import given
from scipy.spatial.transform import Rotation

from haptic_devices.five_bar import forward, inverse, joint_rates, tool_jacobian
from haptic_devices.motions.planar import paper_admittance_plan, paper_plan, stroke_plan


def test_at_home_the_tool_is_in_the_origin_in_front_of_the_motors():
    pose, _ = tool(HOME)
    assert pose[:3] == pytest.approx([0, 0, 0], abs=ROUNDING)
    assert GEOMETRY.axis == pytest.approx([0.0, -0.3 * math.sqrt(2.0)], abs=ROUNDING)


@given(ways)
def test_the_tool_is_at_the_end_of_the_two_arms_turned_with_the_forearm(way):
    q = HOME + way
    pose, _ = tool(q)
    arms = [Rotation.from_euler("z", angle).apply([0.3, 0, 0]) for angle in q]
    assert pose[:3] == pytest.approx([*GEOMETRY.axis, 0.0] + arms[0] + arms[1], abs=ROUNDING)
    assert pose[3:] == pytest.approx(Rotation.from_euler("z", q[1]).as_quat(canonical=False), abs=ROUNDING)


@given(ways, rates)
def test_the_twist_is_the_jacobian_times_the_joint_rates(way, qd):
    jacobian = np.zeros((6, 2))
    tool_jacobian(GEOMETRY, HOME + way, jacobian)
    assert tool(HOME + way, qd)[1] == pytest.approx(jacobian @ qd, abs=ROUNDING)


@given(ways)
def test_the_jacobian_s_rows_agree_with_finite_differences(way):
    jacobian, h = np.zeros((6, 2)), 1e-6
    tool_jacobian(GEOMETRY, HOME + way, jacobian)
    for joint, step in enumerate(h * np.eye(2)):
        ahead, behind = (tool(HOME + way + sign * step)[0] for sign in (1, -1))
        # central difference: truncation h^2/6 = 1e-13, rounding 1e-16/h = 1e-10
        assert jacobian[:3, joint] == pytest.approx((ahead[:3] - behind[:3]) / (2 * h), abs=1e-9)
        turned = Rotation.from_quat(ahead[3:]) * Rotation.from_quat(behind[3:]).inv()
        assert jacobian[3:, joint] == pytest.approx(turned.as_rotvec() / (2 * h), abs=1e-9)


@given(ways)
def test_the_inverse_kinematics_find_the_angles_again(way):
    q = np.zeros(2)
    inverse(GEOMETRY, *tool(HOME + way)[0][:2], q)
    # near the stops sin(elbow) is 0.54: the arc cosine enlarges the roundings a little
    assert q == pytest.approx(HOME + way, abs=10 * ROUNDING)


@given(ways, rates)
def test_the_joint_rates_are_the_inverse_jacobian_times_the_tool_s_velocity(way, velocity):
    found, jacobian = np.zeros(2), np.zeros((6, 2))
    joint_rates(GEOMETRY, HOME + way, *velocity, found)
    tool_jacobian(GEOMETRY, HOME + way, jacobian)
    assert jacobian[:2] @ found == pytest.approx(velocity, abs=100 * ROUNDING)


@pytest.mark.parametrize("home", [(0.3, 1.9), (-0.3, -1.9), (3.0, -1.6), (-3.1, 1.5)])
def test_any_home_is_the_origin_and_keeps_its_elbow_s_side_across_the_turn_of_pi(home):
    device = five_bar(home_upper_arm=home[0], home_forearm=home[1], range=0.4)
    q = np.zeros(2)
    for x, y in ((0.0, 0.0), (0.03, 0.02), (-0.04, 0.01)):
        inverse(device.geometry, x, y, q)
        pose, twist = np.zeros(7), np.zeros(6)
        forward(device.geometry, q, np.zeros(2), pose, twist)
        assert pose[:2] == pytest.approx([x, y], abs=10 * ROUNDING)
        assert np.abs(q - home).max() < 0.4


@pytest.mark.parametrize(
    "plan", [paper_plan(PERIOD), paper_admittance_plan(PERIOD), stroke_plan(PERIOD, list(range(10)))]
)
def test_the_hand_s_plans_fit_into_the_workspace(plan):
    q = np.zeros(2)
    for x, y in plan.table[::20, :2]:
        inverse(GEOMETRY, x, y, q)
        assert np.abs(q - HOME).max() < 0.8 * DEFAULT.range


def test_the_workspace_is_0_37_m_wide_and_0_41_m_deep():
    q = np.zeros(2)
    for scale, inside in ((0.99, True), (1.01, False)):
        for x, y in ((0.183, 0.0), (-0.183, 0.0), (0.0, 0.151), (0.0, -0.255)):
            inverse(GEOMETRY, scale * x, scale * y, q)
            assert (np.abs(q - HOME).max() < DEFAULT.range) == inside


@pytest.mark.parametrize(("upper_arm", "forearm"), [(0.3, 0.2), (0.25, 0.35)])
def test_one_count_displaces_the_tool_by_at_most_the_resolution(upper_arm, forearm):
    device = five_bar(length_upper_arm=upper_arm, length_forearm=forearm, encoder_resolution=1e-4)
    jacobian = np.zeros((6, 2))
    tool_jacobian(device.geometry, HOME + np.array((0.2, -0.3)), jacobian)
    assert device.tool_resolution == pytest.approx(1e-4 * np.linalg.norm(jacobian[:2], axis=0).max())
