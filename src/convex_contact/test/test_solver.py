"""The compiled solver against the readable one, an independent minimiser, and what must not change the answer."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from types import ModuleType

import numpy as np
import pytest
from scipy.optimize import minimize

from convex_contact import ContactProblem, HertzLaw, HolonomicConstraint, solve
from convex_contact.problem.reference import DenseProblem, solve_dense
from convex_contact.solver.solver import cliques

RandomProblem = Callable[..., ContactProblem]


def relative(x: np.ndarray, y: np.ndarray) -> float:
    return float(np.linalg.norm(x - y) / np.linalg.norm(y))


@pytest.mark.slow
@pytest.mark.covering(3)
@pytest.mark.parametrize("sizes", [(6,), (1, 2, 3, 6, 7)], ids=["bodies", "trees"])
def test_against_readable_solver(random_problem: RandomProblem, approximation: str, sizes: tuple[int, ...]) -> None:
    random = np.random.default_rng(5)
    for _ in range(12):
        problem = random_problem(random, sizes=sizes)
        solution = solve(problem, approximation)
        expected, _, _ = solve_dense(problem, approximation)
        assert relative(solution.velocity, expected) <= 1e-9
        assert np.abs(DenseProblem(problem, approximation).gradient(solution.velocity)).max() <= 1e-7 * max(
            1.0, np.abs(problem.A @ solution.velocity).max()
        )


def test_against_independent_minimiser(random_problem: RandomProblem, approximation: str) -> None:
    """SciPy's trust-region method on the cost alone finds the same minimum."""
    random = np.random.default_rng(6)
    for _ in range(3):
        problem = random_problem(random, cliques=2, contacts=3, stiffest=1e5)
        dense, solution = DenseProblem(problem, approximation), solve(problem, approximation)
        found = minimize(
            dense.cost, problem.v_star, jac=dense.gradient, hess=dense.hessian, method="trust-exact", tol=1e-10
        )
        assert relative(solution.velocity, found.x) <= 1e-6
        assert solution.cost <= found.fun + 1e-9 * abs(found.fun)
        # and no random direction goes down
        for _ in range(20):
            other = solution.velocity + 1e-3 * random.normal(size=problem.velocities)
            assert dense.cost(other) >= solution.cost


def test_momentum_balance(random_problem: RandomProblem, approximation: str) -> None:
    """A (v - v*) = J^T gamma, eq. (2), with the constraints' multipliers."""
    random = np.random.default_rng(7)
    for _ in range(5):
        problem = random_problem(random, contacts=6)
        s = solve(problem, approximation)
        impulse = problem.J.T @ s.impulse.ravel()
        if s.multipliers:
            impulse += problem.rows.jacobian.T @ np.concatenate(s.multipliers)
        assert problem.A @ (s.velocity - problem.v_star) == pytest.approx(impulse, abs=1e-8 * np.abs(impulse).max())


def test_guess_does_not_matter(random_problem: RandomProblem, approximation: str) -> None:
    random = np.random.default_rng(8)
    problem = random_problem(random, contacts=6)
    first = solve(problem, approximation)
    for scale in (1.0, 100.0):
        again = solve(problem, approximation, initial=scale * random.normal(size=problem.velocities))
        assert relative(again.velocity, first.velocity) <= 1e-10
    assert solve(problem, approximation, initial=first.velocity).iterations <= 1


def test_order_of_contacts_does_not_matter(random_problem: RandomProblem, approximation: str) -> None:
    random = np.random.default_rng(9)
    problem = random_problem(random, contacts=7, tensor=True)
    order = random.permutation(7)
    rows = (3 * order[:, None] + np.arange(3)).ravel()
    names = ("phi0", "v_n0", "stiffness", "dissipation", "relaxation_time", "friction", "bias", "tangential_damping")
    names += ("tangential_stiffness", "elastic_displacement")
    changed = {name: np.asarray(getattr(problem, name))[order] for name in names}
    shuffled = dataclasses.replace(problem, J=problem.J[rows], **changed)
    first, second = solve(problem, approximation), solve(shuffled, approximation)
    assert relative(second.velocity, first.velocity) <= 1e-10
    assert second.impulse == pytest.approx(first.impulse[order], rel=1e-6, abs=1e-9 * np.abs(first.impulse).max())


def test_turned_tangents_do_not_matter(random_problem: RandomProblem, approximation: str) -> None:
    """Isotropic friction: any t1, t2; a tensor turns with them."""
    random = np.random.default_rng(10)
    for tensor in (False, True):
        problem = random_problem(random, contacts=5, tensor=tensor)
        angle = random.uniform(0.0, 6.0, 5)
        R = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]]).transpose(2, 0, 1)
        J, bias = problem.J.reshape(5, 3, -1).copy(), np.asarray(problem.bias).copy()
        J[:, :2], bias[:, :2] = R @ J[:, :2], np.einsum("nij,nj->ni", R, bias[:, :2])
        friction = R @ problem.friction @ np.swapaxes(R, 1, 2) if tensor else problem.friction
        e = np.einsum("nij,nj->ni", R, np.asarray(problem.elastic_displacement))
        turned = dataclasses.replace(problem, J=J.reshape(15, -1), bias=bias, friction=friction, elastic_displacement=e)
        first, second = solve(problem, approximation), solve(turned, approximation)
        assert relative(second.velocity, first.velocity) <= 1e-9
        assert np.einsum("nij,nj->ni", R, first.elastic_displacement) == pytest.approx(
            second.elastic_displacement, rel=1e-6, abs=1e-9 * np.abs(e).max()
        )


def test_units_do_not_matter(random_problem: RandomProblem, approximation: str) -> None:
    """Length in mm, mass in g: velocities times 1000, everything else along with it."""
    random = np.random.default_rng(11)
    problem = random_problem(random, contacts=5, sizes=(3,), constraints=False)
    L, M = 1e3, 1e3
    scaled = dataclasses.replace(
        problem,
        A=problem.A * M,
        v_star=problem.v_star * L,
        phi0=problem.phi0 * L,
        v_n0=problem.v_n0 * L,
        bias=np.asarray(problem.bias) * L,
        stiffness=problem.stiffness * M,
        tangential_stiffness=np.asarray(problem.tangential_stiffness) * M,
        tangential_damping=np.asarray(problem.tangential_damping) * M,
        dissipation=problem.dissipation / L,
        stiction_tolerance=problem.stiction_tolerance * L,
        elastic_displacement=np.asarray(problem.elastic_displacement) * L,
        # Appendix B: the width of the soft norm acts on M v_t, which has a velocity's unit in both systems
    )
    first, second = solve(problem, approximation), solve(scaled, approximation)
    assert relative(second.velocity / L, first.velocity) <= 1e-9


def test_tensor_mu_times_identity(random_problem: RandomProblem, approximation: str) -> None:
    """M = mu I is the coefficient mu; but for the soft norm's width v_s, which acts on M v_t (appendix B)."""
    problem = random_problem(np.random.default_rng(12), contacts=4, tensor=False)
    mu = 0.5
    isotropic = dataclasses.replace(problem, friction=np.full(4, mu))
    tensor = dataclasses.replace(problem, friction=np.tile(mu * np.eye(2), (4, 1, 1)))
    if approximation in ("lagged", "similar"):
        tensor = dataclasses.replace(tensor, stiction_tolerance=mu * problem.stiction_tolerance)
    if approximation in ("lagged_regularized", "similar_regularized"):  # both widths given by (26)
        isotropic = dataclasses.replace(isotropic, stiction_tolerance=1e-12)
        tensor = dataclasses.replace(tensor, stiction_tolerance=1e-12)
    first, second = solve(isotropic, approximation), solve(tensor, approximation)
    assert relative(second.velocity, first.velocity) <= 1e-9


def test_hertz_contact_at_rest() -> None:
    """f = k u^(3/2) carries the weight."""
    k, weight, dt = 1e6, 9.81, 1e-3
    problem = ContactProblem(
        A=np.eye(3),
        v_star=[0.0, 0.0, -dt * weight],
        J=np.eye(3),
        phi0=[-((weight / k) ** (2.0 / 3.0))],
        v_n0=[0.0],
        period=dt,
        stiffness=k,
        dissipation=10.0,
        relaxation_time=0.0,
        friction=[0.5],
        normal_law=HertzLaw(),
    )
    assert np.abs(solve(problem).velocity).max() <= 1e-15


def test_no_contacts() -> None:
    problem = ContactProblem(
        A=np.diag([1.0, 2.0]),
        v_star=[1.0, -1.0],
        J=np.zeros((0, 2)),
        phi0=[],
        v_n0=[],
        period=1e-3,
        stiffness=1.0,
        dissipation=0.0,
        relaxation_time=0.0,
        friction=[],
    )
    s = solve(problem)
    assert s.velocity.tolist() == [1.0, -1.0] and s.iterations == 0 and s.impulse.shape == (0, 3)


def test_cliques(random_problem: RandomProblem) -> None:
    """What A couples belongs together; contacts of three bodies make one clique of them."""
    problem = random_problem(np.random.default_rng(13), cliques=4, contacts=0, constraints=False)
    assert cliques(problem).tolist() == sorted(list(range(4)) * 6)
    J = np.random.default_rng(14).normal(size=(3, 24))
    J[:, 18:] = 0.0
    ones = np.ones(1)
    wide = dataclasses.replace(
        problem,
        J=J,
        phi0=-1e-4 * ones,
        v_n0=ones,
        stiffness=1e5 * ones,
        dissipation=ones,
        relaxation_time=ones,
        friction=ones,
        bias=None,
        tangential_stiffness=None,
        tangential_damping=None,
        elastic_displacement=None,
    )
    assert cliques(wide).tolist() == [0] * 18 + [1] * 6
    expected, _, _ = solve_dense(wide, "lagged")
    assert relative(solve(wide).velocity, expected) <= 1e-10


def test_a_constraint_on_three_bodies_makes_one_clique_of_them(random_problem: RandomProblem) -> None:
    """One on two of them does not."""
    problem = random_problem(np.random.default_rng(13), cliques=4, contacts=0, constraints=False)
    row = np.zeros((1, 24))
    row[0, [1, 14]] = 1.0
    two = dataclasses.replace(problem, constraints=[HolonomicConstraint(row, [0.0])])
    assert cliques(two).tolist() == sorted(list(range(4)) * 6)
    row[0, 20] = -1.0
    three = dataclasses.replace(problem, constraints=[HolonomicConstraint(row, [0.0])])
    assert cliques(three).tolist() == [0] * 6 + [1] * 6 + [0] * 12


def test_condition_number(random_problem: RandomProblem) -> None:
    problem = random_problem(np.random.default_rng(15), contacts=3)
    s = solve(problem)
    H = DenseProblem(problem, "lagged").hessian(s.velocity)
    assert s.condition_number == pytest.approx(np.linalg.cond(H))


@pytest.mark.slow
def test_stress(script: Callable[[str], ModuleType]) -> None:
    """Stiffness to 1e12 N/m, mass ratios of 1e6, 10 us to 50 ms: solved or refused, never wrong."""
    outcome = script("stress_contact_solver").run(600, 1)
    assert outcome["wrong"] == 0 and outcome["refused"] <= 1 and outcome["converged"] >= 599
