"""The independent implementation's values, to the tolerances that were agreed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tau_wall_control import TauDevice
from tau_wall_control.control.design import design_row, zero_order_hold
from tau_wall_control.control.laws import K_INTEGRAL, K_RATE, K_THETA
from tau_wall_control.control.linearisation import linearise
from tau_wall_control.control.options import DesignOptions
from tau_wall_control.device.rotations import rotation_from_angles
from tau_wall_control.device.workspace import singular_values


def close(value: Any, expected: Any, relative: float) -> None:
    """Relative to the largest entry."""
    expected = np.asarray(expected)
    assert_allclose(value, expected, rtol=0.0, atol=relative * np.abs(expected).max())


@pytest.mark.parametrize("number", range(25))
def test_pose(device: TauDevice, reference: dict[str, Any], number: int) -> None:
    r = reference["poses"][number]
    p, R = np.array(r["pose_xyz_rpy"][:3]), rotation_from_angles(r["pose_xyz_rpy"][3:])
    assert_allclose(R, r["R"], atol=1e-14)
    q = device.chain_angles(p, R)
    assert_allclose(q[:, :2].ravel(), r["theta"], atol=1e-10)
    assert_allclose(q[:, 2], r["elbow"], atol=1e-10)
    assert_allclose(device.forward_kinematics(r["theta"])[0], p, atol=1e-11)
    assert_allclose(device.jacobian(r["theta"]), r["jacobian"], atol=1e-10)
    close(singular_values(device, p, R), r["sigma_normalised"], 1e-9)
    close(device.mass_matrix(r["theta"]), r["mass_matrix_theta"], 1e-9)
    close(device.dynamics(p, R).mass_matrix, r["mass_matrix_task"], 1e-9)
    close(device.gravity_torque(r["theta"]), r["gravity_torque"], 1e-9)
    V = device.jacobian(r["theta"]) @ r["theta_dot"]
    close(V, r["twist"], 1e-9)
    Vdot, acceleration = device.acceleration(p, R, V, r["tau"], r["wrench_ext"])
    close(Vdot, r["twist_dot"], 1e-9)
    close(acceleration, r["theta_ddot"], 1e-9)
    names = ("viscous_actuated", "viscous_elbow", "coulomb_actuated")
    smooth = device.with_parameters(*(f"friction.{name}=0" for name in names))
    close(smooth.acceleration(p, R, V, r["tau"], r["wrench_ext"])[1], r["theta_ddot_no_friction"], 1e-9)


@pytest.mark.parametrize("number", range(4))
def test_operating_point(device: TauDevice, reference: dict[str, Any], number: int) -> None:
    r = reference["operating_points"][number]
    m = linearise(device, r["op"])
    close(m.theta, r["theta0"], 1e-10)
    close(m.torque, r["u0"], 1e-9)
    for name, value in (("A21", m.A21), ("A22", m.A22), ("B2", m.B2)):
        close(value, r[name], 1e-5)
    A, B = zero_order_hold(*m.augmented(), 1e-3)
    close(A, r["Ad_aug"], 1e-9)
    close(B, r["Bd_aug"], 1e-9)
    row = design_row(device, m, DesignOptions())
    for name, place in (("K_theta", K_THETA), ("K_thetadot", K_RATE), ("K_int", K_INTEGRAL)):
        expected = np.abs(np.asarray(r[name]))
        assert_allclose(np.abs(row[place].reshape(6, 6)), expected, atol=1e-5 * expected.max())
    K = np.hstack([row[K_THETA].reshape(6, 6), row[K_RATE].reshape(6, 6), -row[K_INTEGRAL].reshape(6, 6)])
    assert np.abs(np.linalg.eigvals(A - B @ K)).max() == pytest.approx(r["spectral_radius"], rel=1e-6)
