"""The compiled interface, as a simulator uses it: warm start, kept patterns and factors, elimination order."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import numpy as np
import pytest

from convex_contact import APPROXIMATIONS, ContactProblem
from convex_contact.problem import contact_kernels as kernels
from convex_contact.problem.reference import solve_dense
from convex_contact.solver import contact_terms, newton, workspace
from convex_contact.solver.borrowed import Borrowed
from convex_contact.solver.solver import load
from convex_contact.solver.structure import minimum_degree


@pytest.mark.slow
@pytest.mark.covering(1)
@pytest.mark.parametrize("approximation", ["sap", "lagged", "similar_regularized"])
def test_falling_spheres(script: Callable[[str], ModuleType], approximation: str) -> None:
    """Every step of a pile, warm started, against the readable solver on the same numbers."""
    bench = script("bench_contact_solver")
    n, dt, k = 5, 2e-3, 1e5
    position, half = bench.scene("chain", n)
    w = workspace.new_workspace()
    workspace.reserve(w, n, 6 * n, 36 * n, 60, 36 * 60, 0, 0)
    code = APPROXIMATIONS[approximation].code
    workspace.configure(w, code, kernels.LINEAR, dt, 1e-4, 1e-3, 0.0, 1e-5, 1e-14, 200, False)
    v = workspace.inputs(w)[0][4]
    used = 0
    for step in range(120):
        bench.begin(w, n, 9.81)
        count = bench.write_contacts(w, position, v, half, 0.1, k, 10.0, 1e-4, 1.0)
        workspace.reserve(w, n, 6 * n, 36 * n, count, 36 * count, 0, 0)
        structure, contacts, _, _ = workspace.inputs(w)
        if step % 15 == 0:
            J = np.zeros((count, 3, 6 * n))
            for i in range(count):
                for side, body in enumerate((contacts[0][i], contacts[1][i])):
                    if body >= 0:
                        block = contacts[3][36 * i + 18 * side : 36 * i + 18 * side + 18].reshape(3, 6)
                        J[i, :, 6 * body : 6 * body + 6] = block
            p = contacts[4][:count].copy()
            problem = ContactProblem(
                A=np.diag(np.tile([bench.MASS] * 3 + [bench.INERTIA] * 3, n)),
                v_star=structure[3][: 6 * n].copy(),
                J=J.reshape(-1, 6 * n),
                phi0=p[:, kernels.PHI0],
                v_n0=p[:, kernels.V_N0],
                period=dt,
                stiffness=k,
                dissipation=10.0,
                relaxation_time=1e-4,
                friction=1.0,
            )
        assert newton.solve_step(w) == newton.CONVERGED
        found = workspace.statistics(w)
        assert found.status == newton.CONVERGED and found.residual <= found.relative_tolerance == 1e-5
        if step % 15 == 0:
            expected, _, _ = solve_dense(problem, approximation)
            # to the criterion's 1e-5 of the momenta
            assert np.abs(v[: 6 * n] - expected).max() <= 1e-4 * max(np.abs(expected).max(), dt * 9.81)
            used += workspace.load_of(w)
        bench.end(w, position)
    assert used > 0 and workspace.statistics(w)[3] < 60  # patterns were kept for most of the steps
    assert (np.diff(position[:, 2]) > 0.099).all() and position[0, 2] > 0.0497


@pytest.mark.slow
def test_converged_step_needs_one_cheap_iteration(script: Callable[[str], ModuleType]) -> None:
    """At rest the guess passes the test and is improved once, with the factors of the step before."""
    bench = script("bench_contact_solver")
    position = np.array([[0.0, 0.0, bench.RADIUS - bench.MASS * 9.81 / 1e6]])
    w = workspace.new_workspace()
    workspace.reserve(w, 1, 6, 36, 8, 36 * 8, 0, 0)
    workspace.configure(w, APPROXIMATIONS["lagged"].code, 0, 2e-3, 1e-4, 1e-3, 0.0, 1e-5, 1e-14, 200, False)
    for _ in range(3):
        assert bench.step(w, position, np.array([1.0, 1.0]), 0.1, 1e6) == newton.CONVERGED
    assert workspace.statistics(w)[:3] == (newton.CONVERGED, 1, 0)


def test_minimum_degree_of_a_tree_has_no_fill() -> None:
    """A tree has a perfect elimination order; exact minimum degree finds one."""
    random = np.random.default_rng(61)
    n = 150
    first = np.arange(1, n)
    second = np.array([random.integers(0, k) for k in first])
    adjacency = np.zeros((n, 3), dtype=np.uint64)
    lists = np.zeros((5, n + 1), dtype=np.int64)
    assert minimum_degree(n, first, second, n - 1, adjacency, np.zeros(n, dtype=np.int64), lists) == n - 1
    assert sorted(lists[4, :n]) == list(range(n))


def test_minimum_degree_structure() -> None:
    """The rows that it leaves are those of the Cholesky factor of a matrix with that graph."""
    random = np.random.default_rng(62)
    n = 70
    edges = random.integers(0, n, (2, 160))
    A = np.zeros((n, n))
    A[edges[0], edges[1]] = -random.uniform(0.1, 1.0, 160)
    A = A + A.T
    np.fill_diagonal(A, 0.0)
    np.fill_diagonal(A, 1.0 - A.sum(axis=1))
    adjacency = np.zeros((n, 2), dtype=np.uint64)
    lists = np.zeros((5, n + 1), dtype=np.int64)
    total = minimum_degree(n, edges[0], edges[1], 160, adjacency, np.zeros(n, dtype=np.int64), lists)
    order = lists[4, :n]
    L = np.linalg.cholesky(A[np.ix_(order, order)])
    below = np.abs(np.tril(L, -1)) > 1e-14
    assert below.sum() == total
    for k, node in enumerate(order):
        later = {int(j) for j in range(n) if int(adjacency[node, j >> 6]) >> (j & 63) & 1}
        assert later == {int(order[i]) for i in np.flatnonzero(below[:, k])}


def test_a_workspace_takes_cliques_of_other_sizes(random_problem: Callable[..., ContactProblem]) -> None:
    """The pattern that it keeps is that of as many cliques, which have other numbers of velocities."""
    w = workspace.new_workspace()
    for size in (6, 2, 7):
        problem = random_problem(
            np.random.default_rng(size), sizes=(size,), cliques=3, contacts=8, constraints=False, stiffest=1e5
        )
        permutation = load(w, problem)
        numbers = (problem.period, problem.stiction_tolerance, problem.sigma, problem.near_rigid)
        workspace.configure(w, kernels.LAGGED, kernels.LINEAR, *numbers, 1e-10, 1e-14, 200, False)
        v = workspace.inputs(w).structure.v
        v[: len(permutation)] = problem.v_star[permutation]
        assert newton.solve_step(w) == newton.CONVERGED
        expected, _, _ = solve_dense(problem, "lagged")
        np.testing.assert_allclose(v[: len(permutation)], expected[permutation], atol=1e-7 * np.abs(expected).max())


@pytest.mark.parametrize("approximation", ["sap", "lagged"])
def test_softened_contacts_have_as_many_effective_masses_per_square_of_the_period(
    random_problem: Callable[..., ContactProblem], approximation: str
) -> None:
    """SAP by its compliance, the others by the slope of their force at an overlap, at rest."""
    problem = random_problem(np.random.default_rng(3), cliques=1, contacts=6, constraints=False, tensor=False)
    w, level, dt = workspace.new_workspace(), 1e-3, problem.period
    load(w, problem)
    numbers = (dt, problem.stiction_tolerance, problem.sigma, problem.near_rigid)
    code = APPROXIMATIONS[approximation].code
    workspace.configure(w, code, kernels.LINEAR, *numbers, 1e-5, 1e-14, 200, False)
    assert newton.solve_step(w) == newton.CONVERGED
    derived, vc, candidate = workspace.outputs(w)[2], workspace.outputs(w)[1], workspace.outputs(w)[3]
    taking_part = np.flatnonzero(candidate[:6])
    assert contact_terms.soften(Borrowed(w), 0, level) == len(taking_part) > 1
    for i in taking_part:
        J = problem.J[3 * i : 3 * i + 3]
        norm = np.linalg.norm(J @ np.linalg.solve(problem.A, J.T)) / 3.0
        if approximation == "sap":
            assert norm / derived[i, kernels.D_BOUND] == pytest.approx(level, rel=1e-9)
        else:
            overlap = max(abs(problem.phi0[i]), dt * abs(vc[i, 2]))
            slope = dt * derived[i, kernels.STIFFNESS] * (dt + problem.dissipation[i] * overlap)
            assert slope * norm == pytest.approx(level, rel=1e-9)


def test_gravity_acts_however_small_the_period_is(script: Callable[[str], ModuleType]) -> None:
    """At 1 us the velocity of the step before passes the relative test; v = -g t holds all the same."""
    bench = script("bench_contact_solver")
    position = np.array([[0.0, 0.0, 0.06]])
    w = workspace.new_workspace()
    workspace.reserve(w, 1, 6, 36, 8, 36 * 8, 0, 0)
    workspace.configure(w, APPROXIMATIONS["lagged"].code, 0, 1e-6, 1e-4, 1e-3, 0.0, 1e-5, 1e-14, 200, False)
    v = workspace.inputs(w)[0][4]
    v[:6] = [0.0, 0.0, -1.0, 0.0, 0.0, 0.0]
    position[0, 2] = bench.RADIUS - 1e-12  # touching: a contact, whose force is below the tolerance
    for _ in range(3):
        assert bench.step(w, position, np.array([1.0, 1.0]), 0.1, 1e2) == newton.CONVERGED
    push = 11.0 * 1e2 * 1e-6 * 1e-6 * (1 + 2 + 3) / bench.MASS  # dt k (1 - d v_n) times the growing overlap
    assert v[2] == pytest.approx(-1.0 - 3e-6 * 9.81 + push, abs=1e-9)
