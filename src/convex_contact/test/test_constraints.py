"""Constraints with closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest

from convex_contact import (
    Compliant,
    Constraint,
    ContactProblem,
    ConvergenceError,
    CouplerConstraint,
    DistanceConstraint,
    HolonomicConstraint,
    JointLimit,
    PDActuator,
    PrescribedMotion,
    Simulator,
    Solution,
    WeldConstraint,
    World,
    implicit_terms,
    solve,
)
from convex_contact.problem.constraints import GivenRows, Rows

DT = 1e-3


def solved(A: np.ndarray, v_star: list[float], *constraints: Constraint, approximation: str = "sap") -> Solution:
    nv = len(v_star)
    return solve(
        ContactProblem(
            A=A,
            v_star=v_star,
            J=np.zeros((0, nv)),
            phi0=[],
            v_n0=[],
            period=DT,
            stiffness=1.0,
            dissipation=0.0,
            relaxation_time=0.0,
            friction=[],
            constraints=constraints,
        ),
        approximation,
    )


def test_spring() -> None:
    """One mass on a compliant constraint: m (v - v*) = -dt k (g0 + (dt + tau) v)."""
    m, k, tau, g0 = 2.0, 3e4, 2e-3, 0.01
    spring = HolonomicConstraint([[1.0]], [g0], stiffness=k, relaxation_time=tau, near_rigid=0.0)
    s = solved(np.array([[m]]), [0.7], spring)
    expected = (m * 0.7 - DT * k * g0) / (m + DT * k * (DT + tau))
    assert s.velocity[0] == pytest.approx(expected, rel=1e-12)
    assert s.multipliers[0] == pytest.approx([m * (expected - 0.7)], rel=1e-9)


@pytest.mark.slow
def test_near_rigid_limit() -> None:
    """R = beta^2 w/(4 pi^2): the error shrinks by the compliance alone."""
    m, beta = 2.0, 0.1
    s = solved(np.array([[m]]), [0.7], HolonomicConstraint([[1.0]], [0.0], near_rigid=beta))
    R = beta**2 / m / (4.0 * math.pi**2)
    assert s.velocity[0] == pytest.approx(0.7 * m / (m + 1.0 / R), rel=1e-9)
    assert s.gradient("mass_scale") == pytest.approx([0.0], abs=1e-12)  # R follows the mass


def test_weld() -> None:
    """Two bodies move as one: common twist, momenta kept, error halved per step with tau = dt."""
    A = np.diag([1.0, 1.0, 1.0, 0.1, 0.2, 0.3, 3.0, 3.0, 3.0, 0.3, 0.1, 0.2])
    v = np.random.default_rng(41).normal(size=12)
    J = np.hstack([-np.eye(6), np.eye(6)])
    s = solved(A, v.tolist(), WeldConstraint(J, [1e-4, 0.0, 0.0], [0.0, 2e-4, 0.0]))
    difference = J @ s.velocity
    assert difference == pytest.approx([-0.05, 0, 0, 0, -0.1, 0], abs=2e-3)
    momentum = A @ (s.velocity - v)
    assert momentum[:6] + momentum[6:] == pytest.approx(np.zeros(6), abs=1e-12)


def test_distance() -> None:
    """A rod between a ceiling and a mass that swings: no motion along it."""
    p, q = np.array([0.3, 0.0, -0.4]), np.zeros(3)
    rod = DistanceConstraint(np.eye(3), np.zeros((3, 3)), p, q, 0.5)
    s = solved(np.eye(3), [0.4, 0.2, -1.0], rod)
    n = p / 0.5
    expected = np.array([0.4, 0.2, -1.0]) - n * (n @ [0.4, 0.2, -1.0])
    assert s.velocity == pytest.approx(expected, abs=1e-3)
    with pytest.raises(ValueError, match="p, q: expected two points"):
        DistanceConstraint(np.eye(3), np.eye(3), p, p, 0.5)


def test_coupler() -> None:
    """Gears: v_i = r v_j, the torque split by the reflected inertia."""
    I1, I2, ratio = 0.5, 2.0, -3.0
    s = solved(np.diag([I1, I2]), [1.0, 0.0], CouplerConstraint(2, 0, 1, 0.0, 0.0, ratio=ratio))
    expected = I1 * ratio * 1.0 / (I1 * ratio**2 + I2)
    assert s.velocity == pytest.approx([ratio * expected, expected], rel=1e-3)


def test_prescribed_motion() -> None:
    s = solved(np.eye(2), [1.0, 0.5], PrescribedMotion([[1.0, 0.0]], [0.0], [-2.0]))
    assert s.velocity == pytest.approx([-2.0, 0.5], abs=2e-3)


@pytest.mark.parametrize("side", ["lower", "upper"])
def test_joint_limit(side: str) -> None:
    sign = 1.0 if side == "lower" else -1.0
    bounds = {side: 0.0}
    away = solved(np.eye(1), [sign * 0.3], JointLimit(1, 0, 0.0, **bounds))
    assert away.velocity[0] == sign * 0.3 and away.multipliers[0][0] == 0.0
    into = solved(np.eye(1), [-sign * 0.3], JointLimit(1, 0, 0.0, **bounds))
    assert into.velocity[0] == pytest.approx(0.0, abs=1e-3)
    assert into.multipliers[0][0] == pytest.approx(0.3, rel=1e-2)  # along the row, which points inwards
    inside = solved(np.eye(1), [-sign * 0.3], JointLimit(1, 0, sign * 1.0, **bounds))
    assert inside.velocity[0] == -sign * 0.3
    both = JointLimit(1, 0, 0.5, lower=0.0, upper=1.0)
    assert len(both.rows(1, DT).target) == 2


def test_pd_actuator() -> None:
    """Implicit gains below the limit, the limit exactly beyond, and a convex cost between."""
    m, kp, kd = 0.5, 200.0, 4.0
    gains = {"proportional_gain": kp, "derivative_gain": kd, "target_position": 0.1, "feedforward": 0.3}
    free = solved(np.array([[m]]), [0.2], PDActuator([1.0], 0.02, **gains))
    expected = (m * 0.2 + DT * (kp * 0.08 + 0.3)) / (m + DT * (DT * kp + kd))
    assert free.velocity[0] == pytest.approx(expected, rel=1e-12)
    for target in (5.0, -5.0):
        actuator = PDActuator([1.0], 0.02, **{**gains, "target_position": target}, effort_limit=2.0)
        held = solved(np.array([[m]]), [0.2], actuator)
        assert held.velocity[0] == pytest.approx(0.2 + math.copysign(2.0, target) * DT / m, rel=1e-12)
        assert held.multipliers[0][0] == pytest.approx(math.copysign(2.0 * DT, target))
        assert held.gradient("v_star") == pytest.approx(np.eye(1))


def test_implicit_terms() -> None:
    """A = M + R + dt D + dt^2 K; v* as implicit Euler of a damped oscillator."""
    m, c, k, q, v, f = 2.0, 3.0, 400.0, 0.05, 0.4, 1.5
    A, v_star = implicit_terms(
        [[m]], [v], period=DT, force=[f], damping=[c], stiffness=[[k]], deflection=[q], rotor_inertia=[0.5]
    )
    assert A[0, 0] == pytest.approx(m + 0.5 + DT * c + DT**2 * k)
    expected = v_star[0]
    assert (m + 0.5) * (expected - v) == pytest.approx(DT * (f - c * expected - k * (q + DT * expected)), rel=1e-10)
    with pytest.raises(ValueError, match=r"damping: expected shape \(1,\), got \(2,\)"):
        implicit_terms([[m]], [v], period=DT, damping=[1.0, 2.0])


def test_contact_and_constraints_together() -> None:
    """A block pushed against a wall by a motor that saturates: the wall carries the limit."""
    problem = ContactProblem(
        A=np.eye(1),
        v_star=[0.0],
        J=[[0.0], [0.0], [-1.0]],
        phi0=[-2.0 / 1e6],
        v_n0=[0.0],
        period=DT,
        stiffness=1e6,
        dissipation=1.0,
        relaxation_time=0.0,
        friction=0.5,
        constraints=(PDActuator([1.0], 0.0, proportional_gain=1e4, target_position=1.0, effort_limit=2.0),),
    )
    s = solve(problem)
    assert s.velocity[0] == pytest.approx(0.0, abs=1e-12)
    assert s.impulse[0, 2] == pytest.approx(2.0 * DT)


def test_bad_input() -> None:
    with pytest.raises(ValueError, match="constraints: expected a Jacobian with 2 columns, got one with 3"):
        solved(np.eye(2), [0.0, 0.0], HolonomicConstraint(np.ones((1, 3)), [0.0]))
    with pytest.raises(ValueError, match=r"value: expected shape \(2,\), got \(3,\)"):
        Compliant(np.ones((2, 2)), [0.0, 0.0, 0.0])
    with pytest.raises(ValueError, match="stiffness: expected more than 0"):
        HolonomicConstraint([[1.0]], [0.0], stiffness=0.0)
    with pytest.raises(ValueError, match="lower, upper: expected lower < upper"):
        JointLimit(1, 0, 0.0)
    with pytest.raises(ValueError, match="index: expected an index from 0 to 0, got 1"):
        JointLimit(1, 1, 0.0, lower=0.0)
    with pytest.raises(ValueError, match="effort_limit: expected a number above 0"):
        PDActuator([1.0], 0.0, proportional_gain=1.0, effort_limit=0.0)
    with pytest.raises(ValueError, match="expected at least one above 0"):
        PDActuator([1.0], 0.0, proportional_gain=0.0)
    with pytest.raises(ValueError, match="constraints: expected Constraint objects, got 'weld'"):
        solved(np.eye(1), [0.0], "weld")  # type: ignore[arg-type]


def rows_of(m: int, velocities: int) -> Rows:
    """Rows that want the velocity 0, m of them beside one Jacobian row."""
    return Rows(np.ones((1, velocities)), *(np.full(m, value) for value in (0.0, 0.0, 1.0, 0.0, -1.0, 1.0)))


def test_rows_of_a_constraint_of_one_s_own_are_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"^bias: expected shape \(1,\), as jacobian has, got \(2,\)$"):
        rows_of(2, 6)
    world = World()
    world.add_sphere("ball", mass=1.0, radius=0.1)
    simulator = Simulator(world, period=DT)
    simulator.constraints.append(lambda dynamics: GivenRows(rows_of(1, 5)))
    with pytest.raises(ValueError, match="expected a Jacobian with 6 columns, got one with 5 in GivenRows"):
        simulator.step()


def test_convergence_error_carries_the_state() -> None:
    limit = JointLimit(1, 0, 0.0, lower=0.0)
    problem = ContactProblem(
        A=np.eye(1),
        v_star=[-1.0],
        J=np.zeros((0, 1)),
        phi0=[],
        v_n0=[],
        period=DT,
        stiffness=1.0,
        dissipation=0.0,
        relaxation_time=0.0,
        friction=[],
        constraints=(limit,),
    )
    with pytest.raises(ConvergenceError, match="no convergence after 0 Newton iterations: the limit") as caught:
        solve(problem, max_iterations=0)
    assert caught.value.velocity.tolist() == [-1.0] and caught.value.iterations == 0
    assert caught.value.residual > 0.9 and caught.value.tolerance == 1e-5
