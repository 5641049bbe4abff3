from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tau_wall_control import ForwardKinematicsError, SingularError, TauDevice, TauError, UnreachableError
from tau_wall_control.device.rotations import (
    quaternion_from_rotation,
    rotation_from_angles,
    rotation_from_quaternion,
    rotation_from_vector,
)


def test_round_trip_from_home_and_from_the_pose_before(device: TauDevice, poses: Any) -> None:
    for _ in range(40):
        p, R = poses.pose()
        theta = device.inverse_kinematics(p, R)
        near = (p + 2e-4, rotation_from_vector([1e-3, -2e-3, 1e-3]) @ R)
        for guess in (None, near):
            found, turned = device.forward_kinematics(theta, guess)
            assert_allclose(found, p, atol=1e-12)
            assert_allclose(turned, R, atol=2e-10)  # the tolerance is on the angles; J is up to 4 rad/rad


def test_angles_close_the_loops(device: TauDevice, poses: Any) -> None:
    """The wrist by the chain's angles is the platform's point, in the branch that was asked for."""
    R_B = device.parameters.chains.base_axes.rotation
    for _ in range(20):
        p, R = poses.pose()
        q = device.chain_angles(p, R)
        for i, c in enumerate(device.parameters.chains.all):
            r = c.link_1_length * math.cos(q[i, 1]) + c.link_2_length * math.cos(q[i, 1] + q[i, 2])
            h = c.link_1_length * math.sin(q[i, 1]) + c.link_2_length * math.sin(q[i, 1] + q[i, 2])
            wrist = np.array(c.base_origin) + R_B @ [r * math.cos(q[i, 0]), r * math.sin(q[i, 0]), h]
            assert_allclose(wrist, p + R @ c.platform_point, atol=1e-15)
            assert r > 0.0
            assert np.sign(q[i, 2]) == c.elbow_sign


def test_other_elbow(poses: Any) -> None:
    device = TauDevice.default().with_parameters("chains.chain_3.elbow_sign=1")
    p, R = poses.pose()
    assert device.chain_angles(p, R)[2, 2] > 0.0
    assert_allclose(device.forward_kinematics(device.inverse_kinematics(p, R), (p + 1e-3, R))[0], p, atol=1e-12)


def test_jacobian_is_the_derivative(device: TauDevice, poses: Any) -> None:
    for _ in range(10):
        p, R = poses.pose()
        J, h = device.jacobian_at(p, R), 1e-6
        for k in range(6):
            V = h * np.eye(6)[k]
            ahead = device.inverse_kinematics(p + V[:3], rotation_from_vector(V[3:]) @ R)
            behind = device.inverse_kinematics(p - V[:3], rotation_from_vector(-V[3:]) @ R)
            assert_allclose(J @ (ahead - behind) / (2 * h), np.eye(6)[k], atol=1e-6)


@pytest.mark.parametrize("chain", [1, 2, 3])
def test_out_of_reach_names_the_chain(chain: int) -> None:
    short = TauDevice.default().with_parameters(f"chains.chain_{chain}.link_2_length=0.005")
    with pytest.raises(UnreachableError, match=rf"out of reach of chain {chain}: .* m from its base") as caught:
        short.inverse_kinematics([0.0, 0.0, 0.0])
    assert caught.value.chain == chain
    assert "\n" not in str(caught.value)


def test_stretched_chain_is_singular(device: TauDevice) -> None:
    c = device.parameters.chains.chain_3
    point = np.array(c.base_origin) - c.platform_point
    point += (c.link_1_length + c.link_2_length - 1e-15) * np.array([0.0, np.sin(1.2), np.cos(1.2)])
    assert abs(device.chain_angles(point)[2, 2]) < 1e-6
    with pytest.raises(SingularError, match="chain 3 is singular"):
        device.dynamics(point)


def test_forward_kinematics_fails_loudly(device: TauDevice) -> None:
    with pytest.raises(ForwardKinematicsError, match="no pose found"):
        device.forward_kinematics([2.0, -1.0, 2.5, 0.5, -2.0, -1.5])
    with pytest.raises(TauError, match=r"theta: expected finite numbers of shape \(6,\)"):
        device.forward_kinematics([0.0] * 5 + [math.nan])
    with pytest.raises(TauError, match="rotation: expected an orthogonal matrix"):
        device.inverse_kinematics([0, 0, 0], 2.0 * np.eye(3))


def test_rotations(poses: Any) -> None:
    for _ in range(50):
        v = poses.random.normal(size=3) * 2.0
        R = rotation_from_vector(v)
        assert_allclose(R.T @ R, np.eye(3), atol=1e-14)
        assert_allclose(R @ v, v, atol=1e-13)
        assert_allclose(rotation_from_quaternion(quaternion_from_rotation(R)), R, atol=1e-14)
    a, b, c = 0.3, -0.2, 0.5
    axes = [rotation_from_vector(x) for x in np.diag([a, b, c])]
    assert_allclose(rotation_from_angles([a, b, c]), axes[2] @ axes[1] @ axes[0], atol=1e-15)
    assert_allclose(rotation_from_vector([1e-5, 0, 0])[2, 1], math.sin(1e-5), rtol=1e-12)
