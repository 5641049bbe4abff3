"""Primal-dual Newton steps: their matrix, the step of the direction, and how many steps they need."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from convex_contact import ContactProblem, Material, Simulator, World, solve
from convex_contact.problem import contact_kernels as kernels
from convex_contact.problem.approximations import APPROXIMATIONS, approximation_named
from convex_contact.problem.contact_kernels import D_DIRECTION, D_EPS, ContactLaw, Response
from convex_contact.problem.friction_directions import start_direction, update_direction
from convex_contact.problem.reference import solve_dense

Prepared = tuple[ContactLaw, np.ndarray, np.ndarray]


def _tangential(x: Response) -> np.ndarray:
    return np.array([[x.h11, x.h12], [x.h12, x.h22]])


def _matrix(x: Response) -> np.ndarray:
    return np.array([[x.h11, x.h12, x.h1n], [x.h12, x.h22, x.h2n], [x.h1n, x.h2n, x.hnn]])


@pytest.fixture(params=[(name, tensor) for name in APPROXIMATIONS for tensor in (False, True)])
def prepared(random_problem: Callable[..., ContactProblem], request: Any) -> Prepared:
    """Law, derived numbers and velocities of 40 contacts that stick, slide or are apart."""
    name, tensor = request.param
    random = np.random.default_rng(31)
    problem = random_problem(random, contacts=40, constraints=False, tensor=tensor)
    velocity = 10.0 ** random.uniform(-5.0, 0.0, (40, 1)) * random.normal(size=(40, 3))
    return approximation_named(name)._prepared(problem.parameters, velocity)


def test_matrix_is_the_hessian_at_the_start_and_never_indefinite(prepared: Prepared) -> None:
    law, q, velocity = prepared
    random = np.random.default_rng(32)
    for i, v in enumerate(velocity):
        start_direction(law, q, i, *v)
        assert np.hypot(*q[i, D_DIRECTION:]) <= 1.0 + 1e-15
        exact = kernels.impulse_and_hessian(law, q, i, *v)
        assert kernels.newton_hessian(law, q, i, *v) == exact
        for _ in range(20):
            angle, length = random.uniform(0.0, 2.0 * np.pi), random.uniform(0.0, 1.0)
            q[i, D_DIRECTION:] = length * np.cos(angle), length * np.sin(angle)
            response = kernels.newton_hessian(law, q, i, *v)
            assert response[:3] == exact[:3]
            lowest = np.linalg.eigvalsh(_matrix(response)).min()
            assert lowest >= -1e-14 * np.abs(_matrix(response)).max()  # rounding of the products


def test_direction_without_a_step_is_that_of_friction(prepared: Prepared) -> None:
    law, q, velocity = prepared
    for i, v in enumerate(velocity):
        start_direction(law, q, i, *v)
        wanted = q[i, D_DIRECTION:].copy()
        slides = np.hypot(*wanted) > 1.0 - 1e-9
        q[i, D_DIRECTION:] = 0.3, -0.8
        update_direction(law, q, i, *v, 0.0, 0.0)
        assert_allclose(q[i, D_DIRECTION:], wanted, rtol=0.0, atol=1e-15)
        gamma = np.array(kernels.impulse(law, q, i, *v))
        isotropic = q[i, kernels.D_ISOTROPIC] == 1.0
        if slides and isotropic and gamma[2] > 0.0 and np.hypot(*gamma[:2]) > 0.0:
            sign = 1.0 if law.approximation == kernels.SAP else -1.0  # y_t of SAP is along friction
            assert_allclose(sign * gamma[:2] / np.hypot(*gamma[:2]), wanted, rtol=0.0, atol=1e-6)


@pytest.mark.parametrize("name", ["lagged", "lagged_elastoplastic"])
def test_step_is_newtons_of_both_equations(random_problem: Callable[..., ContactProblem], name: str) -> None:
    """The friction -F y of the new direction is linear in dx, with the step's matrix as symmetric part."""
    random = np.random.default_rng(33)
    problem = random_problem(random, contacts=40, constraints=False, tensor=False)
    velocity = 10.0 ** random.uniform(-5.0, -2.0, (40, 1)) * random.normal(size=(40, 3))
    law, q, _ = approximation_named(name)._prepared(problem.parameters, velocity)
    sliding = 0
    for i, v in enumerate(velocity):
        start_direction(law, q, i, *v)
        q[i, D_DIRECTION:] *= random.uniform(0.2, 0.9)
        before = q[i, D_DIRECTION:].copy()
        bound = q[i, kernels.D_BOUND] * (law.period if name == "lagged_elastoplastic" else 1.0)
        scale = q[i, D_EPS] if name == "lagged_elastoplastic" else 1.0
        matrix = np.zeros((2, 2))
        update_direction(law, q, i, *v, 0.0, 0.0)
        rest = q[i, D_DIRECTION:].copy()
        h = 1e-3 * (1.0 - np.hypot(*before)) * np.hypot(v[0], v[1])  # small enough that the length stays below 1
        for k in range(2):
            q[i, D_DIRECTION:] = before
            step = h * np.eye(2)[k]
            update_direction(law, q, i, *v, *step)
            if np.hypot(*q[i, D_DIRECTION:]) < 1.0 - 1e-12:  # not shortened
                matrix[:, k] = bound * (q[i, D_DIRECTION:] - rest) / h
            else:
                matrix[:, k] = np.nan
        if np.isnan(matrix).any() or bound <= 0.0:
            continue
        sliding += 1
        q[i, D_DIRECTION:] = before
        response = kernels.newton_hessian(law, q, i, *v)
        size = np.abs(matrix).max() + 1e-9 * bound * scale
        assert_allclose(_tangential(response), 0.5 * (matrix + matrix.T), rtol=0.0, atol=1e-6 * size)
    assert sliding > 5


def _heap() -> World:
    """Returns 27 balls in a grid, each beside the one below, that fall and roll over each other."""
    world, random = World(), np.random.default_rng(34)
    rubber = Material(stiffness=1e6, dissipation=0.0, friction=0.8)
    world.add_half_space("ground", material=rubber)
    for i, cell in enumerate(np.ndindex(3, 3, 3)):
        position = 0.21 * np.array(cell) + random.uniform(-0.02, 0.02, 3) + [0.0, 0.0, 0.1]
        world.add_sphere(f"ball{i}", mass=1.0, radius=0.1, material=rubber, position=position, velocity=(0, 0, -2.0))
    return world


@pytest.mark.parametrize("approximation", ["lagged", "sap"])
def test_turning_friction_needs_fewer_steps_than_newtons_method(approximation: str) -> None:
    simulator = Simulator(_heap(), period=2e-3, approximation=approximation)
    primal_dual = newton = 0
    for step in range(150):
        guess = simulator.dynamics.arrays.v.copy()
        simulator.step()
        if simulator.statistics.active_contacts < 10 or step % 5:
            continue
        problem = simulator.solution.problem
        primal_dual += solve(problem, approximation, initial=guess, polish=False).iterations
        newton += solve_dense(problem, approximation, initial=guess, relative_tolerance=1e-5)[1]
    assert newton > 100
    assert primal_dual < 0.8 * newton


@pytest.mark.parametrize("approximation", list(APPROXIMATIONS))
def test_contacts_that_are_idle_at_the_guess_and_at_v_star(
    random_problem: Callable[..., ContactProblem], approximation: str
) -> None:
    """Several islands whose contacts are found on the way; the first guess and v* separate most of them."""
    random, found = np.random.default_rng(35), 0
    for _ in range(20):
        problem = random_problem(random, cliques=5, contacts=30, constraints=False, tensor=False, stiffest=1e5)
        guess = problem.v_star + 3.0 * random.normal(size=problem.velocities)
        velocity, _, _ = solve_dense(problem, approximation)
        solution = solve(problem, approximation, initial=guess)
        assert_allclose(solution.velocity, velocity, rtol=0.0, atol=1e-9 * np.linalg.norm(velocity))
        normal = problem.contact_velocity(problem.v_star)[:, 2]
        apart = (problem.phi0 >= 0.0) & (problem.phi0 + problem.period * normal > 0.0)
        found += np.count_nonzero(apart & (solution.impulse[:, 2] > 0.0))
    assert found > 0
