"""Table I: gliding, effective stiffness, transition speed and consistency, for random parameters."""

from __future__ import annotations

import math

import numpy as np
import pytest

from convex_contact import APPROXIMATIONS, ContactProblem, solve

GRAVITY = 9.81


def sliding(
    random: np.random.Generator, approximation: str, dt: float, speed: float, mass: float | None = None
) -> ContactProblem:
    """A mass that slides at a constant speed at the height that Table I gives; the force on it balances friction."""
    m, k = mass or 10.0 ** random.uniform(-1, 1), 10.0 ** random.uniform(4, 7)
    mu, d, tau = random.uniform(0.1, 1.5), random.uniform(0.0, 10.0), random.uniform(0.0, 1e-3)
    load = m * GRAVITY
    w = math.sqrt(3.0) / m / 3.0
    Rt, Rn = 1e-3 * w, 1.0 / (dt * k * (dt + tau))
    gap, stiffness = {
        "sap": (mu * (dt + tau) * speed, k / (1.0 + mu * mu * Rt / Rn)),
        "similar": (mu * dt * speed, k * (1.0 + mu * d * speed)),
        "lagged": (0.0, k),
    }[approximation.split("_")[0]]
    return ContactProblem(
        A=m * np.eye(3),
        v_star=[speed + dt * mu * GRAVITY, 0.0, -dt * GRAVITY],
        J=np.eye(3),
        phi0=[gap - load / stiffness],
        v_n0=[0.0],
        period=dt,
        stiffness=k,
        dissipation=d,
        relaxation_time=tau,
        friction=mu,
        stiction_tolerance=1e-9,
    )


@pytest.mark.parametrize("approximation", ["sap", "lagged", "lagged_regularized", "similar", "similar_regularized"])
def test_gliding_distance_and_effective_stiffness(approximation: str) -> None:
    """At the height gap - load/stiffness nothing moves but along the slip."""
    random = np.random.default_rng(31)
    for _ in range(50):
        dt, speed = 10.0 ** random.uniform(-4, -2), random.uniform(0.5, 3.0)
        problem = sliding(random, approximation, dt, speed)
        if approximation.startswith("lagged"):  # gamma_n0 is the load too: phi0 and v_n0 of a steady state
            assert problem.parameters.lagged_impulse[0] == pytest.approx(problem.A[0, 0] * GRAVITY * dt)
        solution = solve(problem, approximation)
        # the soft norm's width shortens friction by (eps/v)^2/2
        assert solution.velocity == pytest.approx([speed, 0.0, 0.0], abs=1e-5 * speed)


def test_consistency() -> None:
    """As dt goes to 0 only SAP's gap stays, mu tau_d v: it carries a load at a distance."""
    random = np.random.default_rng(32)
    for approximation in ("sap", "lagged", "similar"):
        problem = sliding(random, approximation, 1e-7, 1.0)
        solution = solve(problem, approximation)
        assert solution.velocity[2] == pytest.approx(0.0, abs=1e-6)
        assert solution.impulse[0, 2] == pytest.approx(problem.A[0, 0] * GRAVITY * 1e-7, rel=1e-3)
        assert (problem.phi0[0] > 0.0) == (approximation == "sap")


def test_transition_speed() -> None:
    """v_s for Lagged and Similar (friction 1/sqrt(2) of its bound there), sigma w mu gamma_n for SAP."""
    random = np.random.default_rng(33)
    problem = sliding(random, "sap", 1e-3, 1.0)
    p = problem.parameters.with_values(phi0=np.array([-1e-5]))
    a = APPROXIMATIONS["sap"]
    mu = problem.friction[0]
    gamma_n = a.impulse(p, np.array([[0.0, 0.0, 0.0]]))[0, 2]
    speed = p.sigma * p.delassus[0] * mu * gamma_n
    for factor, sticks in ((0.999, True), (1.001, False)):
        v = np.array([[factor * speed, 0.0, 0.0]])
        gamma = a.impulse(p, v)[0]
        assert a.sticking(p, v)[0] == sticks
        assert -gamma[0] / (mu * gamma[2]) == pytest.approx(min(factor, 1.0), rel=1e-3)
    for name in ("lagged", "similar"):
        a = APPROXIMATIONS[name]
        v = np.array([[p.stiction_tolerance, 0.0, 0.0]])
        gamma = a.impulse(p, v)[0]
        normal = p.lagged_impulse[0] if name == "lagged" else gamma[2]
        assert -gamma[0] / (mu * normal) == pytest.approx(math.sqrt(0.5))
        assert a.sticking(p, v)[0] and not a.sticking(p, 1.01 * v)[0]


def test_regularisation_bounds_the_tangential_stiffness() -> None:
    """(26): G_t <= 1/(sigma w), as SAP's, also for a tensor whose mean square is that of mu."""
    random = np.random.default_rng(34)
    problem = sliding(random, "lagged", 1e-3, 1.0, mass=1.0)
    p = problem.parameters
    for q in (p, p.with_values(friction=p.friction[0] * np.eye(2)[None])):
        G = APPROXIMATIONS["lagged_regularized"].hessian(q, np.zeros((1, 3)))[0]
        assert G[0, 0] == pytest.approx(1.0 / (p.sigma * p.delassus[0]), rel=1e-9)


def test_impact_of_a_sliding_start() -> None:
    """A body that starts in slip at phi = 0 is kicked off by Similar and SAP at about mu |v_t|, not by Lagged."""
    random = np.random.default_rng(35)
    for approximation, kick in (("lagged", 0.0), ("similar", 1.0), ("sap", 1.0)):
        problem = sliding(random, approximation, 1e-4, 1.0)
        start = ContactProblem(
            A=problem.A,
            v_star=problem.v_star,
            J=problem.J,
            phi0=[0.0],
            v_n0=[0.0],
            period=1e-4,
            stiffness=1e12,
            dissipation=0.0,
            relaxation_time=0.0,
            friction=[0.5],
        )
        v = solve(start, approximation).velocity
        assert v[2] == pytest.approx(kick * 0.5 * v[0], abs=2e-3)
