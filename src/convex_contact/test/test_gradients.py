"""Derivatives by the implicit function theorem against finite differences of whole solutions."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from convex_contact import ContactProblem, FunctionLaw, HertzLaw, solve
from convex_contact.problem.gradients import NAMES, PER_CONTACT

RandomProblem = Callable[..., ContactProblem]


def smooth(problem: ContactProblem) -> ContactProblem:
    """With a stiction tolerance that a difference quotient can resolve."""
    return dataclasses.replace(problem, stiction_tolerance=0.05, near_rigid=1.0)


def changed(problem: ContactProblem, name: str, direction: np.ndarray, h: float) -> ContactProblem:
    """The problem with theta + h direction."""
    if name == "v0":
        J = problem.J.reshape(problem.contacts, 3, -1)
        return dataclasses.replace(
            problem, v_star=problem.v_star + h * direction, v_n0=problem.v_n0 + h * J[:, 2] @ direction
        )
    if name == "actuation":
        more = problem.period * np.linalg.solve(problem.A, direction)
        return dataclasses.replace(problem, v_star=problem.v_star + h * more)
    if name == "mass_scale":
        return dataclasses.replace(problem, A=problem.A * (1.0 + h * float(direction)))
    value = np.asarray(getattr(problem, name)) + h * direction
    scalar = name in ("stiction_tolerance", "sigma", "near_rigid")
    return dataclasses.replace(problem, **{name: float(value) if scalar else value})


def direction_of(random: np.random.Generator, problem: ContactProblem, name: str) -> np.ndarray:
    """A random direction of the size of theta."""
    if name in ("v0", "v_star", "actuation"):
        return random.normal(size=problem.velocities)
    if name == "mass_scale":
        return np.array(1.0)
    value = np.asarray(getattr(problem, name))
    if name == "friction" and value.ndim == 3:
        d = random.normal(size=value.shape)
        return np.asarray(0.1 * (d + np.swapaxes(d, 1, 2)))
    return np.asarray(np.maximum(np.abs(value), 1e-3) * random.uniform(0.5, 1.5, value.shape))


def difference(problem: ContactProblem, approximation: str, name: str, d: np.ndarray, h: float) -> Any:
    ends = [solve(changed(problem, name, d, s * h), approximation) for s in (-1.0, 1.0)]
    return [
        (getattr(ends[1], output) - getattr(ends[0], output)) / (2.0 * h)
        for output in ("velocity", "impulse", "elastic_displacement")
    ]


@pytest.mark.covering
@pytest.mark.parametrize("tensor", [False, True], ids=["isotropic", "tensor"])
def test_all_parameters(random_problem: RandomProblem, approximation: str, tensor: bool) -> None:
    random = np.random.default_rng(21)
    for trial in range(2):
        problem = smooth(random_problem(random, contacts=4, tensor=tensor, constraints=trial > 0, stiffest=1e5))
        solution = solve(problem, approximation)
        vbar = random.normal(size=problem.velocities)
        gbar, ebar = random.normal(size=(4, 3)), random.normal(size=(4, 2)) * 1e3
        pulled = solution.pullback(vbar)
        all_pulled = solution.pullback(vbar, impulse=gbar, elastic_displacement=ebar)
        for name in NAMES:
            if name == "constraint_target":
                continue
            d = direction_of(random, problem, name)
            gradient = solution.gradient(name)
            came = gradient.reshape(problem.velocities, -1) @ d.ravel()
            v, g, e = difference(problem, approximation, name, d, 1e-5)
            size = max(np.linalg.norm(v), 1e-6 * np.linalg.norm(solution.velocity))
            assert np.linalg.norm(came - v) <= 2e-5 * size, (name, trial)
            assert vbar @ came == pytest.approx(float((pulled[name] * d).sum()), rel=1e-9, abs=1e-10 * size), name
            total = float(vbar @ v + (gbar * g).sum() + (ebar * e).sum())
            parts = abs(vbar) @ abs(v) + (abs(gbar) * abs(g)).sum() + (abs(ebar) * abs(e)).sum()
            came_total = float((all_pulled[name] * d).sum())
            assert came_total == pytest.approx(total, abs=5e-5 * parts + 1e-7 * size), (name, trial)


def test_matrices(random_problem: RandomProblem, approximation: str) -> None:
    """The pullback on A and J; w depends on both."""
    random = np.random.default_rng(22)
    problem = smooth(random_problem(random, cliques=2, contacts=3, constraints=False, stiffest=1e5))
    vbar = random.normal(size=problem.velocities)
    pulled = solve(problem, approximation).pullback(vbar)
    for name in ("A", "J"):
        d = 0.1 * random.normal(size=getattr(problem, name).shape) * (getattr(problem, name) != 0.0)
        d = d + d.T if name == "A" else d
        h = 1e-6
        ends = [
            solve(dataclasses.replace(problem, **{name: getattr(problem, name) + s * h * d}), approximation).velocity
            for s in (-1.0, 1.0)
        ]
        expected = float(vbar @ (ends[1] - ends[0]) / (2.0 * h))
        assert float((pulled[name] * d).sum()) == pytest.approx(expected, rel=1e-4, abs=1e-7)


def test_constraint_targets(random_problem: RandomProblem) -> None:
    """dv/dv^ = H^-1 J^T G, and what a held row does: follow its target."""
    from convex_contact import PrescribedMotion

    problem = random_problem(np.random.default_rng(23), cliques=1, contacts=2, constraints=False)
    J = np.eye(6)[:1]
    held = dataclasses.replace(problem, constraints=(PrescribedMotion(J, [0.0], [0.0], relaxation_time=0.0),))
    came = solve(held).gradient("constraint_target")
    # an error g0 shifts v^ by -g0/dt
    h = 1e-6 * problem.period
    ends = [
        solve(
            dataclasses.replace(held, constraints=(PrescribedMotion(J, [s * h], [0.0], relaxation_time=0.0),))
        ).velocity
        for s in (-1.0, 1.0)
    ]
    expected = -(ends[1] - ends[0]) / (2.0 * h) * problem.period
    assert came[:, 0] == pytest.approx(expected, rel=1e-4, abs=1e-6)
    assert came[0, 0] == pytest.approx(1.0, rel=1e-3)


def power(phi: float, v: float, k: float, d: float) -> float:
    return k * (-phi) ** 1.5 * max(1.0 - d * v, 0.0) if phi < 0.0 else 0.0


def power_derivatives(phi: float, v: float, k: float, d: float) -> tuple[float, float]:
    if phi >= 0.0 or d * v >= 1.0:
        return 0.0, 0.0
    return -1.5 * k * (-phi) ** 0.5 * (1.0 - d * v), -k * (-phi) ** 1.5 * d


def power_antiderivative(v: float, phi0: float, dt: float, k: float, d: float) -> float:
    x = min(v, -phi0 / dt)
    if d > 0.0:
        x = min(x, 1.0 / d)
    u = max(-(phi0 + dt * x), 0.0)
    return -k / dt * u**2.5 * (0.4 * (1.0 + d * phi0 / dt) + 2.0 / 7.0 * d / dt * u)


@pytest.mark.slow
@pytest.mark.covering(1)
@pytest.mark.parametrize("approximation", ["lagged", "similar_regularized", "lagged_elastoplastic"])
def test_own_law_is_as_good_as_one_built_in(random_problem: RandomProblem, approximation: str) -> None:
    """Hertz' law written by a user: same solution, cost and derivatives."""
    own = FunctionLaw(power, power_derivatives, power_antiderivative, stiffness=1e7)
    problem = random_problem(np.random.default_rng(24), contacts=5, constraints=False)
    first = solve(dataclasses.replace(problem, normal_law=HertzLaw()), approximation)
    second = solve(dataclasses.replace(problem, normal_law=own), approximation)
    assert second.velocity == pytest.approx(first.velocity, rel=1e-9, abs=1e-12)
    assert second.cost == pytest.approx(first.cost, rel=1e-9)
    for name in PER_CONTACT:
        expected = first.gradient(name)
        assert np.abs(second.gradient(name) - expected).max() <= 1e-6 * np.abs(expected).max() + 1e-15, name


def test_unknown_name(random_problem: RandomProblem) -> None:
    problem = random_problem(np.random.default_rng(25), contacts=1)
    with pytest.raises(ValueError, match=r"name: expected one of v0, .*, got 'mass'"):
        solve(problem).gradient("mass")
    with pytest.raises(ValueError, match=r"impulse: expected shape \(1, 3\), got \(3,\)"):
        solve(problem).pullback(np.zeros(problem.velocities), impulse=np.zeros(3))
