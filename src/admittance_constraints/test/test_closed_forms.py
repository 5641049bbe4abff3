"""Derived expressions against the paper's printed ones (with the corrections of docs/constraints.md)."""

from __future__ import annotations

import numpy as np
import pytest

from admittance_constraints import DiskOnSphere, DiskOnSphereAsPrinted, RollingDisk, TwoLinkOnCircle

Q = np.array([0.02, -0.01, 0.05, 0.7, -1.1, 0.9])
QDOT = np.array([0.1, 0.2, -0.3, 1.3, -0.4, 0.8])
#: a few operations on numbers of order one
ROUNDING = 1e-14


def test_inertia_of_a_rigid_body_is_that_of_equation_20() -> None:
    m, jx, jy, jz = 0.25, 0.0015, 0.0025, 0.004
    s5, c5, s6, c6 = np.sin(Q[4]), np.cos(Q[4]), np.sin(Q[5]), np.cos(Q[5])
    expected = np.diag([m, m, m, 0.0, 0.0, 0.0])
    expected[3, 3] = (jx * s5**2 + jy * c5**2) * s6**2 + jz * c6**2
    expected[3, 4] = expected[4, 3] = c6 * jz
    expected[3, 5] = expected[5, 3] = c5 * (jx - jy) * s5 * s6
    expected[4, 4] = jz
    expected[5, 5] = c5**2 * jx + s5**2 * jy
    np.testing.assert_allclose(RollingDisk(mass=m, inertia=(jx, jy, jz)).inertia(Q), expected, atol=ROUNDING)


def test_rolling_constraints_are_those_of_equation_25() -> None:
    r = 0.03
    expected = [
        [0, 0, 1, 0, 0, 0],
        [0, 0, 0, 0, 0, 1],
        [1, 0, 0, 0, r * np.cos(Q[3]), 0],
        [0, 1, 0, 0, r * np.sin(Q[3]), 0],
    ]
    disk = RollingDisk(radius=r)
    np.testing.assert_allclose(disk.constraint_matrix(Q), expected, atol=ROUNDING)
    assert disk.constraint_names == ("height", "upright", "rolling along x", "rolling along y")
    np.testing.assert_array_equal(disk.parametric([1.0, 2.0, 3.0, 4.0]), [1.0, 2.0, r, 3.0, 4.0, np.pi / 2])  # (26)


def test_sphere_constraints_are_the_corrected_equation_31() -> None:
    r = 0.05
    s4, c4, s6, c6 = np.sin(Q[3]), np.cos(Q[3]), np.sin(Q[5]), np.cos(Q[5])
    expected = [
        [1, 0, 0, -r * c4 * s6, 0, -r * s4 * c6],
        [0, 1, 0, -r * s4 * s6, 0, r * c4 * c6],
        [0, 0, 1, 0, 0, r * s6],
    ]
    np.testing.assert_allclose(DiskOnSphere(sphere_radius=r).constraint_matrix(Q), expected, atol=ROUNDING)


def test_printed_sphere_constraints_are_equation_31_with_its_missing_zero() -> None:
    r = 0.05
    s5, c5, s6, c6 = np.sin(Q[4]), np.cos(Q[4]), np.sin(Q[5]), np.cos(Q[5])
    expected = [
        [1, 0, 0, 0, -r * c5 * s6, -r * s5 * c6],
        [0, 1, 0, 0, r * s5 * s6, -r * c5 * c6],
        [0, 0, 1, 0, 0, r * s6],
    ]
    np.testing.assert_allclose(DiskOnSphereAsPrinted(sphere_radius=r).constraint_matrix(Q), expected, atol=ROUNDING)


@pytest.mark.parametrize("kind", [DiskOnSphere, DiskOnSphereAsPrinted])
def test_only_the_corrected_disk_is_tangent_to_the_sphere(kind: type[DiskOnSphere]) -> None:
    disk = kind(center=(0.1, 0.2, 0.3))
    x = disk.parametric([0.7, -1.1, 0.9])
    normal = (x[:3] - [0.1, 0.2, 0.3]) / disk.sphere_radius
    assert np.linalg.norm(normal) == pytest.approx(1.0, abs=ROUNDING)
    axis = np.array([np.sin(x[3]) * np.sin(x[5]), -np.cos(x[3]) * np.sin(x[5]), np.cos(x[5])])
    aligned = float(normal @ axis)
    assert (aligned == pytest.approx(1.0, abs=ROUNDING)) == (kind is DiskOnSphere)


def test_two_link_inertia_coriolis_and_constraint_are_equations_34_35_39() -> None:
    m, length, base = 2.0, 0.15, (-0.21, 0.04)
    arm = TwoLinkOnCircle(link_mass=m, link_length=length, base=base)
    q, qdot = np.array([0.4, -1.2]), np.array([0.7, 1.9])
    c2, s2 = np.cos(q[1]), np.sin(q[1])
    a = m * length**2
    inertia = [[a / 3 * (5 + 3 * c2), a / 6 * (2 + 3 * c2)], [a / 6 * (2 + 3 * c2), a / 3]]
    coriolis = [[-a / 2 * s2 * qdot[1], -a / 2 * s2 * (qdot[0] + qdot[1])], [a / 2 * s2 * qdot[0], 0]]
    np.testing.assert_allclose(arm.inertia(q), inertia, atol=ROUNDING)
    np.testing.assert_allclose(arm.coriolis_matrix(q, qdot), coriolis, atol=ROUNDING)
    both = q[0] + q[1]
    row = [
        2 * length * ((np.cos(both) + np.cos(q[0])) * base[1] - (np.sin(both) + np.sin(q[0])) * base[0]),
        2 * length * (np.cos(both) * base[1] - np.sin(both) * base[0] - length * s2),
    ]
    np.testing.assert_allclose(arm.constraint_matrix(q), [row], atol=ROUNDING)


def test_task_force_of_a_wrench_has_its_power() -> None:
    disk = RollingDisk()
    wrench = np.array([1.0, -2.0, 0.5, 0.03, 0.01, -0.02])
    power = disk.task_force(wrench, Q) @ QDOT
    assert power == pytest.approx(wrench @ disk.twist(Q, QDOT), rel=1e-13)
    arm = TwoLinkOnCircle()
    np.testing.assert_allclose(arm.task_force(wrench, [0.4, 1.2])[:3], wrench[:3])
