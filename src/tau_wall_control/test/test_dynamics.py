from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tau_wall_control import TauDevice, TauError, UnreachableError
from tau_wall_control.device.commanded_forces import forces_beyond_weight, limited_forces
from tau_wall_control.device.pinocchio_model import PinocchioModel
from tau_wall_control.device.rotations import rotation_from_vector
from tau_wall_control.device.urdf import urdf

OTHER = (  # a device with other axes, weight that yaws, and chains that are not alike
    "frame.gravity=[1.5, -9.0, 3.0]",
    "chains.chain_1.link_1_length=0.140",
    "chains.chain_3.link_1.mass=0.09",
    "chains.chain_2.link_2.inertia_axial=2e-5",
    "platform.com=[0.004, -0.003, 0.01]",
)


@pytest.mark.parametrize("changes", [(), OTHER], ids=["stand-in", "other"])
def test_pinocchio_agrees(changes: tuple[str, ...], poses: Any) -> None:
    device = TauDevice.default().with_parameters(*changes)
    model = PinocchioModel(device)
    for _ in range(60):
        p, R, V, torque, wrench = poses.state()
        assert model.closure_error(p, R) < 1e-15
        for own, other in zip(
            device.acceleration(p, R, V, torque, wrench), model.acceleration(p, R, V, torque, wrench), strict=True
        ):
            assert_allclose(own, other, rtol=0.0, atol=1e-9 * np.abs(other).max())


def test_urdf_with_joints_places_the_platform(device: TauDevice) -> None:
    text = urdf(device, "joints")
    for name in ("platform_x", "platform_c", "yaw_1", "elbow_3"):
        assert f'name="{name}"' in text
    with pytest.raises(ValueError, match="platform: expected"):
        urdf(device, "welded")


def test_gravity_is_the_slope_of_the_potential(device: TauDevice, poses: Any) -> None:
    for d in (device, device.with_parameters(*OTHER)):
        p, R = poses.pose()
        g, h = d.dynamics(p, R).gravity_force, 1e-5
        for k in range(6):
            V = h * np.eye(6)[k]
            ahead = d.energy(p + V[:3], rotation_from_vector(V[3:]) @ R, np.zeros(6))[1]
            behind = d.energy(p - V[:3], rotation_from_vector(-V[3:]) @ R, np.zeros(6))[1]
            assert (ahead - behind) / (2 * h) == pytest.approx(g[k], abs=1e-8)


def test_power_balance(device: TauDevice, poses: Any) -> None:
    """Without friction the energy changes by what torques and wrench do, at any state."""
    free = device.with_parameters(
        *(f"friction.{n}=0" for n in ("viscous_actuated", "viscous_elbow", "coulomb_actuated"))
    )
    for _ in range(3):
        p, R, V, torque, wrench = poses.state()
        torque = free.saturated(torque)
        theta_rate = free.dynamics(p, R).actuated_map @ V
        expected = torque @ theta_rate + wrench @ V
        energies = []
        for sign in (1.0, -1.0):
            state = free.state(p, R, V)
            state.step(torque, wrench, sign * 1e-6)
            energies.append(sum(free.energy(state.position, state.rotation, state.twist)))
        assert (energies[0] - energies[1]) / 2e-6 == pytest.approx(expected, rel=1e-6, abs=1e-6)


def test_energy_falls_by_friction_only(device: TauDevice) -> None:
    """A tool that is thrown: RK4 keeps the energy of the frictionless device, friction takes some."""
    free = device.with_parameters(
        *(f"friction.{n}=0" for n in ("viscous_actuated", "viscous_elbow", "coulomb_actuated"))
    )
    V = [0.2, 0.1, -0.3, 2.0, 1.0, -3.0]
    ends = []
    for d in (free, device):
        state = d.state([0.0, 0.0, 0.0], None, V)
        before = sum(d.energy(state.position, state.rotation, state.twist))
        for _ in range(50):
            state.step(np.zeros(6), np.zeros(6), 1e-3)
        ends.append(sum(d.energy(state.position, state.rotation, state.twist)) - before)
    assert abs(ends[0]) < 1e-9
    assert ends[1] < -1e-3


def test_rk4_is_of_order_four(device: TauDevice) -> None:
    ends = []
    for substeps in (1, 2, 32):
        state = device.state([0.0, 0.0, 0.0], None, [0.2, 0.1, -0.3, 2.0, 1.0, -3.0])
        for _ in range(5):
            state.step(np.full(6, 0.1), np.zeros(6), 4e-3, substeps)
        ends.append(state.values.copy())
    errors = [np.abs(e - ends[2]).max() for e in ends[:2]]
    assert 12.0 < errors[0] / errors[1] < 22.0


def test_gravity_torque_holds_the_device(device: TauDevice, poses: Any) -> None:
    p, R = poses.pose()
    Vdot, acceleration = device.acceleration(p, R, None, device.gravity_torque_at(p, R))
    assert_allclose(Vdot, 0.0, atol=1e-12)
    assert_allclose(acceleration, 0.0, atol=1e-12)


def test_torques_are_clipped(device: TauDevice) -> None:
    a, b = (device.state([0.0, 0.0, 0.0]) for _ in range(2))
    a.step(np.full(6, 50.0), np.zeros(6), 1e-3)
    b.step(np.full(6, device.peak_torque), np.zeros(6), 1e-3)
    assert_allclose(a.values, b.values, atol=0.0)


def test_a_state_that_leaves_the_workspace_stays(device: TauDevice) -> None:
    state = device.state([0.0, 0.03, 0.03], None, [0.0, 5.0, 5.0, 0.0, 0.0, 0.0])
    before = state.values.copy()
    with pytest.raises(UnreachableError, match="chain"):
        state.step(np.zeros(6), np.zeros(6), 5e-3)
    assert_allclose(state.values, before, atol=0.0)


def test_inverse_dynamics_is_the_inverse(device: TauDevice, poses: Any) -> None:
    """Its torques give the acceleration that was asked for; at rest they are gravity's."""
    for _ in range(20):
        p, R, V, Vdot, _ = poses.state()
        torque = device.inverse_dynamics(p, R, V, Vdot)
        assert_allclose(device.acceleration(p, R, V, torque)[0], Vdot, rtol=1e-9, atol=1e-9)
        assert_allclose(device.inverse_dynamics(p, R), device.gravity_torque_at(p, R), atol=1e-14)
    with pytest.raises(TauError, match="acceleration: expected finite numbers"):
        device.inverse_dynamics((0, 0, 0), acceleration=[1.0])


def test_efforts_that_hold_the_weight_exert_no_force(device: TauDevice) -> None:
    pose = np.array([0.01, -0.005, 0.002, 0.0, 0.0, 0.0, 1.0])
    d = device.dynamics(pose[:3], np.eye(3))
    weight = np.linalg.solve(d.actuated_map.T, d.gravity_force)
    pushed = weight + np.linalg.solve(d.actuated_map.T, [0.5, 0.0, 1.0, 0.0, 0.0, 0.0])
    poses, efforts = np.tile(pose, (3, 1)), np.array([weight, pushed, np.zeros(6)])
    np.testing.assert_allclose(forces_beyond_weight(device, poses, efforts)[:2], [[0, 0, 0], [0.5, 0, 1]], atol=1e-12)
    assert not forces_beyond_weight(device, poses, efforts)[2].any()  # no command, not a fall


def test_force_of_two_controllers_adds_up_within_the_limits(device: TauDevice) -> None:
    pose = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
    d = device.dynamics(pose[:3], np.eye(3))
    weight, rate = np.linalg.solve(d.actuated_map.T, d.gravity_force), d.actuated_map @ [0.1, 0, 0, 0, 0, 0]
    force = np.array([[0.3, 0.0, -0.2]])
    total, found, power = limited_forces(device, pose[None], rate[None], weight[None], force)
    np.testing.assert_allclose(found, force, atol=1e-12)
    assert power[0] == pytest.approx(0.03) and total.shape == (1, 6)
