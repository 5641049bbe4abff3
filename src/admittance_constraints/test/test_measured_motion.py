"""Quantities of Figs. 9, 11 and 12 from motions that need not keep the constraints."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from admittance_constraints import DiskOnSphere, RollingDisk, TwoLinkOnCircle
from admittance_constraints.mechanisms.rolling_disk import RollingMotion


def rotations(x: np.ndarray) -> np.ndarray:
    """Matrices (n, 3, 3) of the coordinates (n, 6)."""
    return np.asarray(Rotation.from_euler("ZXZ", x[:, [3, 5, 4]]).as_matrix())


# ---- rolling disk ---------------------------------------------------------------------------------------------


def test_the_quantities_of_fig_9_are_the_paper_s_in_the_coordinates_of_the_disk() -> None:
    random, disk = np.random.default_rng(2), RollingDisk(radius=0.04)
    x, xdot = random.uniform(-1.0, 1.0, (60, 6)), random.normal(size=(60, 6))
    x[:, 5] = np.pi / 2 + random.uniform(-0.4, 0.4, 60)
    twist = np.array([disk.twist(*row) for row in zip(x, xdot, strict=True)])
    found = disk.rolling_motion(x[:, :3], rotations(x), twist[:, :3], twist[:, 3:])
    speed, rolled = xdot[:, 0] * np.cos(x[:, 3]) + xdot[:, 1] * np.sin(x[:, 3]), -0.04 * xdot[:, 4]
    np.testing.assert_allclose(found.height, x[:, 2] - 0.04, atol=1e-15)
    np.testing.assert_allclose(found.upright, np.pi / 2 - x[:, 5], atol=1e-14)
    np.testing.assert_allclose(found.heading, x[:, 3], atol=1e-14)
    np.testing.assert_allclose(found.speed, speed, atol=1e-14)
    np.testing.assert_allclose(found.rolling_speed, rolled, atol=1e-14)  # whatever x4' and x6' are
    sideways = xdot[:, 0] * np.sin(x[:, 3]) - xdot[:, 1] * np.cos(x[:, 3])
    np.testing.assert_allclose(found.sideways, sideways, atol=1e-14)
    expected = 100.0 * np.abs(speed - rolled) / (np.abs(speed) + 1e-3)
    np.testing.assert_allclose(found.rolling_error(), expected, atol=1e-9)
    np.testing.assert_allclose(found.rolling_error(1.0) * (np.abs(speed) + 1.0), expected * (np.abs(speed) + 1e-3))


def test_a_heading_beyond_half_a_turn_is_continuous() -> None:
    x = np.zeros((700, 6))
    x[:, 3], x[:, 5] = 0.01 * np.arange(700), np.pi / 2
    found = RollingDisk().rolling_motion(x[:, :3], rotations(x), x[:, :3], x[:, :3])
    np.testing.assert_allclose(found.heading, x[:, 3], atol=1e-12)


def test_parking_counts_what_is_rolled_and_what_slips_across_and_along() -> None:
    n, period = 5, 0.1
    flat, heading = np.zeros(n), np.full(n, np.pi / 2)  # along y
    motion = RollingMotion(
        flat, flat, heading, np.array([1.0, 1.0, -1.0, -1.0, 0.0]), flat, np.array([0, 0, 0.2, -0.2, 0])
    )
    position = np.column_stack((np.linspace(0.0, 0.3, n), np.linspace(0.0, 0.1, n), flat))
    found = motion.parking(position, period, 0, n - 1)
    assert (found.across, found.along) == pytest.approx((0.3, 0.1))
    assert (found.rolled, found.slipped) == pytest.approx((0.4, 0.02))


# ---- disk on a sphere -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("lean", [0.0, 1e-9, 0.5, np.pi / 2, 3.0, np.pi])
def test_the_deviation_from_the_sphere_is_exact_at_every_angle(lean: float) -> None:
    disk, tilt = DiskOnSphere(sphere_radius=0.08, center=(0.02, -0.01, 0.04)), np.linspace(0.01, 2.0, 50)
    normal = np.column_stack((np.sin(0.7) * np.sin(tilt), -np.cos(0.7) * np.sin(tilt), np.cos(tilt)))
    x = np.column_stack((np.zeros((50, 3)), np.full(50, 0.7), 3.0 * tilt, tilt + lean))
    found = disk.deviation(np.array(disk.center) + (0.08 + 1e-4) * normal, rotations(x))
    np.testing.assert_allclose(found.normal, normal, atol=1e-15)
    np.testing.assert_allclose(found.radial, 1e-4, atol=1e-16)
    np.testing.assert_allclose(found.tangency, lean, atol=1e-14)
    np.testing.assert_allclose(found.tilt, tilt, atol=1e-14)


# ---- two links ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", [TwoLinkOnCircle(), TwoLinkOnCircle(link_mass=0.7, link_length=0.2)])
def test_the_energies_of_the_links_are_those_of_uniform_rods(mechanism: TwoLinkOnCircle) -> None:
    random = np.random.default_rng(0)
    q, qdot = random.uniform(-3.0, 3.0, (40, 2)), random.normal(size=(40, 2))
    found = mechanism.link_energies(q, qdot)
    m, length, first, both = mechanism.link_mass, mechanism.link_length, qdot[:, 0], qdot.sum(axis=1)
    printed = (5 + 3 * np.cos(q[:, 1])) * first**2 + (2 + 3 * np.cos(q[:, 1])) * first * qdot[:, 1] + qdot[:, 1] ** 2
    np.testing.assert_allclose(found.sum(axis=1), m * length**2 / 6.0 * printed, rtol=1e-13)  # (33)
    total = [mechanism.kinetic_energy(*row) for row in zip(q, qdot, strict=True)]
    np.testing.assert_allclose(found.sum(axis=1), total, rtol=1e-13)
    # each rod as twenty points: 1/12 becomes (1 - 1/400)/12
    places = (np.arange(20) + 0.5) / 20 * length
    for k in range(40):
        u = np.array([-np.sin(q[k, 0]), np.cos(q[k, 0])])
        w = np.array([-np.sin(q[k].sum()), np.cos(q[k].sum())])
        rods = (places[:, None] * first[k] * u, length * first[k] * u + places[:, None] * both[k] * w)
        for energy, velocity in zip(found[k], rods, strict=True):
            assert energy == pytest.approx(0.5 * m * np.mean(np.sum(velocity**2, axis=1)), rel=3e-3)


@pytest.mark.parametrize("elbow", [1, -1])
def test_joints_follow_from_the_end_point_on_and_beside_the_circle(elbow: int) -> None:
    mechanism = TwoLinkOnCircle(elbow=elbow, base=(-0.2, 0.03))
    random = np.random.default_rng(1)
    q = np.column_stack((random.uniform(-1.0, 1.0, 50), elbow * random.uniform(0.1, 3.0, 50)))
    qdot = random.normal(size=(50, 2))
    x = np.array([mechanism.forward(row) for row in q])
    xdot = np.array([mechanism.task_jacobian(row) @ rate for row, rate in zip(q, qdot, strict=True)])
    found, rates = mechanism.joint_motion(x[:, :3], xdot[:, :3], q + random.uniform(-0.05, 0.05, (50, 2)))
    np.testing.assert_allclose(np.cos(found - q), 1.0, atol=1e-12)
    np.testing.assert_allclose(rates, qdot, rtol=1e-9, atol=1e-9)  # 1/sin(0.1) of rounding


def test_beyond_the_links_reach_there_are_no_rates() -> None:
    x = np.array([[0.09, 0.0, 0.0], [0.095, 0.0, 0.0]])  # 0.30 and 0.305 m from the base
    q, rates = TwoLinkOnCircle().joint_motion(x, np.ones((2, 3)), np.ones((2, 2)))
    assert q[1, 1] == 0.0 and np.isnan(rates[1]).all()


def test_end_point_beside_the_circle_has_its_own_speed_error_and_energy() -> None:
    mechanism, n = TwoLinkOnCircle(), 40
    wanted = np.linspace(np.pi - 0.01, np.pi + 0.3, n)  # the measured angle begins on the other branch of arctan2

    def moving(angle: np.ndarray, radius: float, rate: float, outwards: float) -> tuple[np.ndarray, np.ndarray]:
        radial = np.column_stack((np.cos(angle), np.sin(angle), np.zeros(n)))
        tangent = np.column_stack((-np.sin(angle), np.cos(angle), np.zeros(n)))
        return radius * radial, radius * rate * tangent + outwards * radial

    reference, measured = moving(wanted, 0.05, 0.4, 0.0), moving(wanted + 0.02, 0.051, 0.3, 0.01)
    force = moving(wanted + 0.02, 1.0, 2.0, 5.0)[1]  # 2 N along the circle, 5 N outwards
    elbow = np.ones((n, 2))
    q, qdot = mechanism.joint_motion(*reference, elbow)
    found = mechanism.circle_motion(q, qdot, measured=measured, reference=reference, force=force)
    np.testing.assert_allclose(found.speed, 0.05 * 0.4)
    np.testing.assert_allclose(found.measured_speed, 0.051 * 0.3)
    np.testing.assert_allclose(found.error, 0.05 * 0.02)
    np.testing.assert_allclose(found.radial, 0.001)
    np.testing.assert_allclose(found.force, 2.0)
    assert (found.first_rate == qdot[:, 0]).all()
    for total, links, joints in (
        (found.total, found.links, (q, qdot)),
        (found.measured_total, found.measured_links, mechanism.joint_motion(*measured, elbow)),
    ):
        energy = [mechanism.kinetic_energy(*row) for row in zip(*joints, strict=True)]
        np.testing.assert_allclose(total, energy)
        np.testing.assert_allclose(links.sum(axis=1), energy)


def test_error_along_the_circle_excludes_full_rotations() -> None:
    mechanism = TwoLinkOnCircle()
    angle = np.array([[3.0, -3.1], [0.1, -0.1]])  # measured and reference at each of two ticks
    p, x = (0.05 * np.column_stack((np.cos(a), np.sin(a), np.zeros(2))) for a in angle.T)
    q, rest = np.ones((2, 2)), np.zeros((2, 3))
    found = mechanism.circle_motion(q, 0.0 * q, measured=(p, rest), reference=(x, rest), force=rest)
    np.testing.assert_allclose(found.error, 0.05 * np.array([6.1 - 2.0 * np.pi, 0.2]), atol=1e-15)
