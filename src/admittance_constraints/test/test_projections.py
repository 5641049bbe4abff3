"""A~, P_u and M' of eq. (13) and Fig. 1: their definitions, their properties, and the accelerations made of them."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest

from admittance_constraints import (
    DiskOnSphere,
    FourBar,
    KnifeEdge,
    Mechanism,
    RollingDisk,
    SingularConfigurationError,
    TwoLinkOnCircle,
    constraint_inverse,
    solve_accelerations,
    task_space_inertia,
    unconstrained_projection,
)
from admittance_constraints.figures import figure_3

MECHANISMS: dict[str, tuple[Mechanism, Any]] = {
    "rolling_disk": (RollingDisk(inertia=(0.0015, 0.0025, 0.004)), [0.1, 0.2, 0.3, 0.4]),
    "disk_on_sphere": (DiskOnSphere(inertia=(0.0015, 0.0025, 0.004)), [0.4, 0.2, 1.2]),
    "two_link": (TwoLinkOnCircle(), [0.4]),
    "knife_edge": (KnifeEdge(), [0.0, 0.1, 0.3]),
    "four_bar": (FourBar(), None),
}


def at(name: str) -> tuple[Mechanism, np.ndarray]:
    m, z = MECHANISMS[name]
    return m, m.configuration(z) if z is not None else np.asarray(m.near, dtype=float)


@pytest.mark.parametrize("name", MECHANISMS)
def test_the_acceleration_is_made_of_them_as_in_13(name: str) -> None:
    m, q = at(name)
    random = np.random.default_rng(1)
    v, tau = random.normal(size=m.dimension), random.normal(size=m.dimension)
    inverse, P = constraint_inverse(m, q), unconstrained_projection(m, q)
    bias = m.constraint_matrix_rate(q, v) @ v
    built = -inverse @ bias + np.linalg.solve(m.inertia(q), P @ (tau - m.coriolis_force(q, v)))
    expected = solve_accelerations(m, q, v, tau)[0]
    np.testing.assert_allclose(built, expected, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("name", MECHANISMS)
def test_the_projection_keeps_what_does_work_and_drops_what_the_constraints_bear(name: str) -> None:
    m, q = at(name)
    A, M = m.constraint_matrix(q), m.inertia(q)
    inverse, P = constraint_inverse(m, q), unconstrained_projection(m, q)
    np.testing.assert_allclose(A @ inverse, np.eye(len(A)), atol=1e-10)
    np.testing.assert_allclose(P @ P, P, atol=1e-10)
    np.testing.assert_allclose(P @ A.T, 0.0, atol=1e-10 * np.abs(A).max())
    np.testing.assert_allclose(A @ np.linalg.solve(M, P), 0.0, atol=1e-9 * np.abs(np.linalg.inv(M)).max())
    assert np.linalg.matrix_rank(P, tol=1e-8) == m.dimension - len(A)
    allowed = np.linalg.svd(A)[2][len(A) :]  # motions that the constraints allow
    force = np.random.default_rng(2).normal(size=m.dimension)
    np.testing.assert_allclose(allowed @ (P @ force), allowed @ force, atol=1e-10)  # the work is the same


@pytest.mark.parametrize("name", MECHANISMS)
def test_the_task_space_inertia_has_the_kinetic_energy_of_every_motion(name: str) -> None:
    m, q = at(name)
    inertia = task_space_inertia(m, q)
    for v in np.random.default_rng(3).normal(size=(5, m.dimension)):
        x_velocity = m.task_jacobian(q) @ v
        assert 0.5 * x_velocity @ inertia @ x_velocity == pytest.approx(m.kinetic_energy(q, v), rel=1e-9)
    np.testing.assert_allclose(inertia, inertia.T, atol=1e-12 * np.abs(inertia).max())


def test_of_a_rigid_body_it_is_the_mass_in_the_translations() -> None:
    m = RollingDisk(mass=0.7)
    np.testing.assert_allclose(task_space_inertia(m, at("rolling_disk")[1])[:3, :3], 0.7 * np.eye(3), atol=1e-12)


def test_a_singular_configuration_is_refused() -> None:
    m = TwoLinkOnCircle()
    with pytest.raises(SingularConfigurationError, match="the map to the task space is singular"):
        task_space_inertia(m, [0.3, 0.0])  # stretched


@pytest.mark.slow
def test_the_drawn_curve_is_the_submanifold() -> None:
    figure = figure_3(z=0.8)
    m, (space, task) = TwoLinkOnCircle(), figure.axes
    q = np.array(space.lines[0].get_xydata())
    x = np.array([m.forward(row)[:2] for row in q])
    np.testing.assert_allclose(1e3 * x, task.lines[0].get_xydata(), atol=1e-9)
    file = io.BytesIO()
    figure.savefig(file, dpi=40)
    assert len(file.getvalue()) > 5000
