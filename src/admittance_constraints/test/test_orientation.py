"""Orientation by quaternions: poles, free bodies, agreement with the angles."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from admittance_constraints import (
    Definition,
    DiskOnSphere,
    Mechanism,
    ReferenceGenerator,
    SingularConfigurationError,
    rotations,
)
from admittance_constraints.dynamics import kernels


class FreeBody(Mechanism):
    """A rigid body that nothing holds."""

    def __init__(self, inertia: tuple[float, float, float] = (0.0015, 0.0025, 0.004)) -> None:
        self.principal = inertia
        super().__init__()

    def define(self, d: Definition) -> None:
        d.rigid_body(0.25, list(self.principal))
        d.nominal(q=[0.0, 0.0, 0.0, 0.3, 0.4, 1.0])


def test_rotations_are_scipys() -> None:
    for seed in range(10):
        a, b = Rotation.random(random_state=seed), Rotation.random(random_state=seed + 100)
        R = a.as_matrix()
        np.testing.assert_allclose(rotations.rotation_from_quaternion(a.as_quat()), R, atol=1e-15)
        Q = rotations.quaternion_from_rotation(R)
        assert abs(Q @ a.as_quat()) == pytest.approx(1.0, abs=1e-15)
        np.testing.assert_allclose(rotations.rotation_vector(R), a.as_rotvec(), atol=1e-14)
        product = rotations.quaternion_product(a.as_quat(), b.as_quat())
        assert abs(product @ (a * b).as_quat()) == pytest.approx(1.0, abs=1e-15)
        angles = np.random.default_rng(seed).uniform(-3, 3, 3)
        expected = Rotation.from_euler("ZXZ", angles[[0, 2, 1]]).as_matrix()
        np.testing.assert_allclose(rotations.rotation_from_angles(angles), expected, atol=1e-15)


def test_a_disk_slides_over_the_pole() -> None:
    """A great circle through the pole, where the angles are singular; the quaternion's path does not notice."""
    disk = DiskOnSphere()
    z, rate = [0.5, 0.0, 0.5], [0.0, 0.0, -1.0]  # towards the pole, reached after 0.5 s
    g = ReferenceGenerator(disk, integrator="rk4", orientation="quaternion", z=z, z_velocity=rate)
    rows = g.simulate(wrenches=np.zeros((1000, 6)))
    angle = 0.5 - 1e-3 * np.arange(1, 1001)
    n = np.stack([np.sin(0.5) * np.sin(angle), -np.cos(0.5) * np.sin(angle), np.cos(angle)], 1)
    np.testing.assert_allclose(rows.x[:, :3], disk.sphere_radius * n, atol=1e-12)
    axes = np.array([rotations.rotation_from_quaternion(Q)[:, 2] for Q in rows.orientation])
    np.testing.assert_allclose(axes, n, atol=1e-12)
    assert rows.holonomic_residual.max() < 1e-16 and rows.velocity_residual.max() < 1e-16
    np.testing.assert_allclose(rows.x[:, 5], angle, atol=1e-12)  # the angles go on without a jump, q6 below zero
    away = np.abs(angle) > 1e-6  # at the pole itself q4 means nothing
    np.testing.assert_allclose(rows.x[away, 3], 0.5, atol=1e-9)
    assert np.isfinite(rows.x_acceleration).all()


def test_angles_cannot_start_at_the_pole_and_quaternions_can() -> None:
    disk = DiskOnSphere()
    with pytest.raises(SingularConfigurationError, match="inertia M is singular"):
        ReferenceGenerator(disk, z=[0.4, 0.2, 0.0], compiled=False).step(np.zeros(6))
    g = ReferenceGenerator(disk, orientation="quaternion", z=[0.4, 0.2, 0.0], compiled=False)
    push = np.array([0.3, 0.0, -5.0, 0.0, 0.0, 0.0])
    r = g.step(wrench=push)
    reports = (r.x, r.x_velocity, r.x_acceleration, r.z, r.z_velocity, r.z_acceleration)
    assert all(np.isfinite(report).all() for report in reports)  # at the pole itself, where the angles have no rates
    # a body that slides and turns about the sphere's centre: (m r^2 + J) / r^2 is its inertia against the push
    inertia = disk.mass + disk.principal_inertia[0] / disk.sphere_radius**2
    np.testing.assert_allclose(r.twist_rate[:3], [0.3 / inertia, 0.0, 0.0], atol=1e-12)
    with pytest.raises(SingularConfigurationError, match="give the wrench"):
        ReferenceGenerator(disk, orientation="quaternion", z=[0.4, 0.2, 0.0], compiled=False).step([0, 0, 0, 1, 0, 0])


def test_a_free_body_keeps_momentum_and_energy() -> None:
    body = FreeBody()
    g = ReferenceGenerator(
        body,
        integrator="rk4",
        orientation="quaternion",
        z=[0, 0, 0, 0.3, 0.4, 1.0],
        z_velocity=[0.1, 0.2, 0.3, 4, -3, 2],
    )
    rows = g.simulate(wrenches=np.zeros((10_000, 6)), every=10)
    J = np.diag(body.principal)
    momentum = []
    for Q, twist in zip(rows.orientation, rows.twist, strict=True):
        R = rotations.rotation_from_quaternion(Q)
        momentum.append(R @ J @ R.T @ twist[3:])
    # order four: the turning angle per step is 5e-3, its fifth power times 1e4 steps
    np.testing.assert_allclose(momentum, np.tile(momentum[0], (len(momentum), 1)), rtol=1e-7, atol=1e-10)
    assert rows.kinetic_energy.max() / rows.kinetic_energy.min() - 1.0 < 1e-8
    np.testing.assert_allclose(rows.twist[:, :3], [[0.1, 0.2, 0.3]] * len(rows), rtol=1e-13)
    np.testing.assert_allclose(np.linalg.norm(rows.orientation, axis=1), 1.0, atol=1e-15)


def test_spin_about_a_principal_axis_is_exact() -> None:
    """Constant rotation about the body's z axis: the angle is w t, whatever the number of turns."""
    body = FreeBody()
    g = ReferenceGenerator(
        body,
        integrator="rk4",
        orientation="quaternion",
        z=[0, 0, 0, 0.0, 0.0, np.pi / 2],
        z_velocity=[0, 0, 0, 0, 20.0, 0],
    )
    rows = g.simulate(wrenches=np.zeros((2000, 6)))
    # Cayley coordinates of a constant rotation are tan: (w T)^5 a step
    np.testing.assert_allclose(rows.x[:, 4], 20.0 * 1e-3 * np.arange(1, 2001), atol=1e-8)


def test_wrench_rotates_the_body_by_the_newton_euler_equations() -> None:
    body = FreeBody()
    start = {"z": [0, 0, 0, 0.3, 0.4, 1.0], "z_velocity": [0.1, 0.2, 0.3, 4.0, -3.0, 2.0]}
    wrench = np.array([0.5, -0.2, 0.1, 0.003, 0.004, -0.002])
    for orientation in ("euler", "quaternion"):
        g = ReferenceGenerator(body, orientation=orientation, compiled=False, **start)
        r = g.step(wrench=wrench)
        q = np.array(start["z"])
        R, omega = body_frame(q, np.array(start["z_velocity"]))
        J = np.diag(body.principal)
        rate = np.linalg.solve(J, R.T @ wrench[3:] - np.cross(omega, J @ omega))
        np.testing.assert_allclose(r.twist_rate, [*(wrench[:3] / 0.25), *(R @ rate)], atol=1e-11)


def body_frame(q: np.ndarray, qdot: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return rotations.rotation_from_angles(q[3:]), rotations.body_rates(q[3:]) @ qdot[3:]


def test_spring_in_the_quaternion_chart_is_the_angles() -> None:
    class Sprung(FreeBody):
        def define(self, d: Definition) -> None:
            super().define(d)
            d.task_spring(20.0, 0.3, position=[0.01, 0.0, 0.02], orientation=[0.0, 0.0, 0.6, 0.8])
            d.task_damping(0.5, 0.001)
            d.applied_force(ca.vertcat(ca.SX.zeros(3), 0.001, 0.002, 0.0))

    start = {"z": [0, 0, 0, 0.3, 0.4, 1.0], "z_velocity": [0.1, 0.2, 0.3, 1.0, -1.0, 0.5]}
    ends = []
    for orientation in ("euler", "quaternion"):
        g = ReferenceGenerator(Sprung(), period=2.5e-4, integrator="rk4", orientation=orientation, **start)
        ends.append(g.simulate(wrenches=np.zeros((1200, 6))).x[-1])
    # the body passes the angles' singularity at 0.07 rad: their error is 5e-8 here, and falls with the fourth order
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-7)


@pytest.mark.parametrize("revolutions", [0.0, 2.0 * np.pi])
def test_angles_of_a_pose_have_the_rates_of_its_angular_velocity(revolutions: float) -> None:
    """Angles along a parabola in time; they stay next to the old ones, a revolution further if these are."""
    angles, rates, accelerations = np.array([[0.3 + revolutions, -0.7, 1.1], [0.5, -0.4, 0.8], [1.0, 2.0, -3.0]])

    def angular_velocity(t: float) -> np.ndarray:
        return np.asarray(rotations.body_rates(angles + rates * t) @ (rates + accelerations * t))

    pose = [0.1, 0.2, 0.3, *rotations.quaternion_from_rotation(rotations.rotation_from_angles(angles))]
    change = (angular_velocity(1e-5) - angular_velocity(-1e-5)) / 2e-5
    old = [0.0, 0.0, 0.0, *(angles + 0.1)]
    x, xdot, xddot = kernels._angles()(pose, [1, 2, 3, *angular_velocity(0.0)], [4, 5, 6, *change], old)
    np.testing.assert_allclose(x.full().ravel(), [0.1, 0.2, 0.3, *angles], atol=1e-14)
    np.testing.assert_allclose(xdot.full().ravel(), [1.0, 2.0, 3.0, *rates], atol=1e-14)
    np.testing.assert_allclose(xddot.full().ravel(), [4.0, 5.0, 6.0, *accelerations], atol=1e-8)
