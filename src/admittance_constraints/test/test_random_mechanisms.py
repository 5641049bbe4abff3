"""Identities of mechanics on random mechanisms: energies, kinematics and constraints without any symmetry."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np
import pytest

from admittance_constraints import Definition, Mechanism, ReferenceGenerator, solve_accelerations


class RandomMechanism(Mechanism):
    """Three to five coordinates with smooth random energy, kinematics, two or three constraints, and forces."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        super().__init__()

    def wave(self, q: ca.SX) -> ca.SX:
        """A smooth function of all of q, of order one."""
        k, phase = self.random.normal(size=q.numel()), self.random.uniform(0, 6)
        return ca.sin(ca.dot(ca.SX(k), q) + phase)

    def define(self, d: Definition) -> None:
        n = int(self.random.integers(3, 6))
        q, qdot = d.coordinates(n)
        d.nominal(q=0.3 * self.random.normal(size=n))
        root = ca.SX.eye(n) + 0.2 * ca.reshape(ca.vertcat(*[self.wave(q) for _ in range(n * n)]), n, n)
        d.kinetic_energy(ca.sumsqr(ca.mtimes(root, qdot)) / 2)
        d.forward(ca.vertcat(q, ca.SX.zeros(6 - n)) + 0.1 * ca.vertcat(*[self.wave(q) for _ in range(6)]))
        x = d.x
        d.holonomic("surface", self.wave(x) + 0.5 * x[0] - 0.3 * x[1])
        d.nonholonomic("slip", sum((self.wave(x) * d.xdot[i] for i in range(6)), ca.SX(0)))
        if n > 3:
            d.nonholonomic("turn", d.xdot[2] + self.wave(x) * d.angular_velocity[1])
        d.potential(0.5 * self.wave(q) + 0.2 * ca.sumsqr(x))
        d.damping_force(0.1 * qdot)
        d.task_damping(0.2, 0.03)
        d.task_spring(5.0, 0.2, position=[0.1, 0.2, 0.3], orientation=[0.0, 0.6, 0.0, 0.8])


MECHANISMS = [RandomMechanism(seed) for seed in range(6)]
#: central differences of functions of order one with step 1e-5
DIFFERENCES = 1e-7


@pytest.fixture(params=range(len(MECHANISMS)))
def case(request: pytest.FixtureRequest) -> tuple[Mechanism, np.ndarray, np.ndarray]:
    m = MECHANISMS[request.param]
    random = np.random.default_rng(100 + request.param)
    nominal = m.definition.nominal_q
    assert nominal is not None
    return m, nominal + 0.1 * random.normal(size=m.dimension), random.normal(size=m.dimension)


def test_gradients_are_those_of_finite_differences(
    case: tuple[Mechanism, np.ndarray, np.ndarray], derivative: Callable[..., np.ndarray]
) -> None:
    m, q, v = case
    J = m.task_jacobian(q)
    np.testing.assert_allclose(J, derivative(m.forward, q), atol=DIFFERENCES)
    np.testing.assert_allclose(m.task_bias(q, v), derivative(m.task_jacobian, q) @ v @ v, atol=1e-6)
    np.testing.assert_allclose(m.constraint_matrix_rate(q, v), derivative(m.constraint_matrix, q) @ v, atol=1e-6)
    gradient = derivative(m.holonomic_residual, q)
    np.testing.assert_allclose(m.constraint_matrix(q)[: m.holonomic_count], gradient, atol=DIFFERENCES)


def test_inertia_is_the_hessian_of_the_energy_and_coriolis_its_lagrangian(
    case: tuple[Mechanism, np.ndarray, np.ndarray], derivative: Callable[..., np.ndarray]
) -> None:
    m, q, v = case
    M, C = m.inertia(q), m.coriolis_matrix(q, v)
    np.testing.assert_allclose(M, M.T, atol=1e-15)
    assert np.linalg.eigvalsh(M).min() > 0.0
    assert m.kinetic_energy(q, v) == pytest.approx(v @ M @ v / 2, rel=1e-13)
    rate = derivative(m.inertia, q)
    np.testing.assert_allclose(C @ v, rate @ v @ v - np.einsum("ijk,i,j->k", rate, v, v) / 2, atol=1e-6)
    skew = rate @ v - 2 * C  # Mdot - 2 C is skew with Christoffel symbols
    np.testing.assert_allclose(skew, -skew.T, atol=1e-6)
    np.testing.assert_allclose(m.coriolis_force(q, v), C @ v, rtol=1e-13)


def test_accelerations_satisfy_motion_and_constraints(case: tuple[Mechanism, np.ndarray, np.ndarray]) -> None:
    m, q, v = case
    tau = m.passive_force(q, v) + np.arange(1.0, m.dimension + 1)
    a, multipliers = solve_accelerations(m, q, v, tau)
    A = m.constraint_matrix(q)
    motion = m.inertia(q) @ a + m.coriolis_force(q, v) - tau - A.T @ multipliers
    np.testing.assert_allclose(motion, 0.0, atol=1e-11)  # condition up to 1e3 on numbers up to 1e1
    np.testing.assert_allclose(A @ a + m.constraint_matrix_rate(q, v) @ v, 0.0, atol=1e-11)


def test_gauss_principle_of_least_constraint(case: tuple[Mechanism, np.ndarray, np.ndarray]) -> None:
    """The acceleration is, of all that the constraints allow, the nearest to the free one in the metric M."""
    m, q, v = case
    tau = np.arange(1.0, m.dimension + 1)
    a, _ = solve_accelerations(m, q, v, tau)
    free = np.linalg.solve(m.inertia(q), tau - m.coriolis_force(q, v))
    null = np.linalg.svd(m.constraint_matrix(q))[2][len(m.constraint_names) :]
    assert len(null) == m.dimension - len(m.constraint_names) > 0
    np.testing.assert_allclose(null @ m.inertia(q) @ (a - free), 0.0, atol=1e-11)


def test_constraint_forces_do_no_work_and_damping_takes_energy(case: tuple[Mechanism, np.ndarray, np.ndarray]) -> None:
    """Power balance on the constraint: d(T + V)/dt is the power of damping and spring alone."""
    m, q, v = case
    v = m.project_velocity(q, v)
    np.testing.assert_allclose(m.constraint_matrix(q) @ v, 0.0, atol=1e-13)
    _, multipliers = solve_accelerations(m, q, v, m.passive_force(q, v))
    assert abs(multipliers @ m.constraint_matrix(q) @ v) < 1e-12
    rest = m.passive_force(q, np.zeros_like(v))
    assert (m.passive_force(q, v) - rest) @ v < 0.0


def test_projection_of_velocity_takes_the_least_energy(case: tuple[Mechanism, np.ndarray, np.ndarray]) -> None:
    m, q, v = case
    p = m.project_velocity(q, v)
    assert m.kinetic_energy(q, v) == pytest.approx(m.kinetic_energy(q, p) + m.kinetic_energy(q, v - p), rel=1e-11)
    np.testing.assert_allclose(m.project_velocity(q, p), p, atol=1e-13)


@pytest.mark.covering(1)
@pytest.mark.parametrize("seed", [0, 3])
def test_the_energy_balance_of_a_rendered_motion(seed: int) -> None:
    """Kinetic energy, potential and dissipated power over 0.2 s agree to the integrator's order."""
    m = MECHANISMS[seed]
    q0 = m.project_position(m.definition.nominal_q)  # type: ignore[arg-type]
    v0 = m.project_velocity(q0, np.ones(m.dimension))
    g = ReferenceGenerator(m, integrator="rk4", z=q0, z_velocity=v0, compiled=False)
    rows = g.simulate(wrenches=np.zeros((200, 6)))
    potential = np.array([m.potential_energy(q) for q in rows.q])
    energy = rows.kinetic_energy + potential
    # the passive forces that are not in the potential: damping, task damping, task spring
    power = np.array([
        v @ (m.passive_force(q, v) - conservative(m, q)) for q, v in zip(rows.q, rows.q_velocity, strict=True)
    ])  # fmt: skip
    work = 1e-3 * (np.cumsum(power) - (power + power[0]) / 2)
    # trapezoidal rule: T^2/12 times the change of power's slope, below 1e2
    np.testing.assert_allclose(energy - energy[0], work, atol=1e-5)
    assert rows.holonomic_residual.max() < 1e-15 and rows.velocity_residual.max() < 1e-14
    np.testing.assert_allclose(rows.potential_energy, potential, atol=1e-14)


def conservative(m: Mechanism, q: np.ndarray) -> np.ndarray:
    h = 1e-5
    return np.array([
        -(m.potential_energy(q + h * e) - m.potential_energy(q - h * e)) / (2 * h) for e in np.eye(m.dimension)
    ])  # fmt: skip
