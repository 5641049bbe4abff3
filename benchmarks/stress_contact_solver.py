"""Contact solver under stress: random problems far outside of any sensible simulation, each answer checked
independently.

Bodies with masses over six decades, contacts with stiffnesses up to 1e12 N/m, periods from 10 us to 50 ms, all
approximations, isotropic and anisotropic friction. A solution is judged by code that shares nothing with the kernels:
the readable potentials in extended precision. Accepted is a residual within the solver's own tolerance or, where
rounding of the velocity alone exceeds that, a velocity within 1e-5 of the minimum by one Newton step in extended
precision.
"""

from __future__ import annotations

import argparse
import math
import time
from collections import Counter

import numpy as np

from convex_contact import APPROXIMATIONS, ContactProblem, ConvergenceError, solve
from convex_contact.problem.approximations import ContactParameters
from convex_contact.problem.reference import DenseProblem

LONG = np.longdouble


def random_problem(
    random: np.random.Generator, *, largest_stiffness: float = 1e12, decades: float = 6.0
) -> ContactProblem:
    """Bodies of 6 velocities, contacts between them and the world, phi0 and v of all kinds."""
    bodies, contacts = int(random.integers(1, 5)), int(random.integers(1, 9))
    nv = 6 * bodies
    A = np.zeros((nv, nv))
    for b in range(bodies):
        mass = 10.0 ** random.uniform(-decades / 2.0, decades / 2.0)
        turn, _ = np.linalg.qr(random.normal(size=(3, 3)))
        size = 0.1 * mass ** (1.0 / 3.0)
        s = 6 * b
        A[s : s + 3, s : s + 3] = mass * np.eye(3)
        A[s + 3 : s + 6, s + 3 : s + 6] = (turn * (mass * size**2 * random.uniform(0.1, 1.0, 3))) @ turn.T
    J = np.zeros((contacts, 3, nv))
    for i in range(contacts):
        frame, _ = np.linalg.qr(random.normal(size=(3, 3)))
        a = int(random.integers(bodies))
        sides = [(a, 1.0)]
        if bodies > 1 and random.random() < 0.6:
            sides.append(((a + int(random.integers(1, bodies))) % bodies, -1.0))
        for body, sign in sides:
            size = 0.1 * A[6 * body, 6 * body] ** (1.0 / 3.0)
            x, y, z = size * random.normal(size=3)
            J[i, :, 6 * body : 6 * body + 3] = sign * frame
            J[i, :, 6 * body + 3 : 6 * body + 6] = -sign * frame @ np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    period = math.exp(random.uniform(math.log(1e-5), math.log(5e-2)))
    v0 = random.normal(size=nv) * 10.0 ** random.uniform(-4.0, 1.0)
    stiffness = np.exp(random.uniform(math.log(1e3), math.log(largest_stiffness), contacts))
    # overlaps between those of resting bodies and the way of one step
    deep = np.exp(
        random.uniform(np.log(1.0 / stiffness), np.log(np.maximum(2.0 / stiffness, period * np.abs(v0).max())))
    )
    phi0 = np.where(random.random(contacts) < 0.7, -deep, period * random.exponential(size=contacts))
    if random.random() < 0.3:
        turn = random.normal(size=(contacts, 2, 2))
        friction = turn @ np.swapaxes(turn, 1, 2) * 0.2 + 0.05 * np.eye(2)
    else:
        friction = random.uniform(0.0, 1.5, contacts)
    return ContactProblem(
        A=A,
        v_star=v0 + period * random.normal(size=nv) * 10.0,
        J=J.reshape(-1, nv),
        phi0=phi0,
        v_n0=J[:, 2] @ v0,
        period=period,
        stiffness=stiffness,
        dissipation=random.choice([0.0, 1.0, 20.0, 500.0], contacts),
        relaxation_time=random.choice([0.0, 1e-4, 1e-2], contacts),
        friction=friction,
        near_rigid=float(random.choice([0.0, 1.0])),
        tangential_damping=random.choice([0.0, 10.0], contacts),
        elastic_displacement=1.0 / stiffness[:, None] * random.normal(size=(contacts, 2)),
    )


def extended(p: ContactParameters) -> ContactParameters:
    """The same parameters as extended doubles."""
    arrays = {name: value.astype(LONG) for name, value in vars(p).items() if isinstance(value, np.ndarray)}
    return p.with_values(**arrays, period=LONG(p.period))


def errors(problem: ContactProblem, approximation: str, velocity: np.ndarray) -> tuple[float, float]:
    """Relative residual of a velocity, and its distance to the minimum by a Newton step, both by extended precision."""
    v, A = velocity.astype(LONG), problem.A.astype(LONG)
    vc = (problem.J.astype(LONG) @ v).reshape(-1, 3) + np.asarray(problem.bias)
    gamma = APPROXIMATIONS[approximation].impulse(extended(problem.parameters), vc)
    scale = 1.0 / np.sqrt(np.diag(A))
    j = problem.J.T.astype(LONG) @ gamma.ravel()
    r = A @ (v - problem.v_star) - j
    size = max(float(np.linalg.norm((scale * (A @ v)).astype(float))), float(np.linalg.norm((scale * j).astype(float))))
    H = DenseProblem(problem, approximation).hessian(velocity)
    s = scale.astype(float)
    step = np.linalg.lstsq(H * s[:, None] * s[None, :], (scale * r).astype(float), rcond=1e-17)[0]
    return float(np.linalg.norm((scale * r).astype(float))) / size, float(np.linalg.norm(step)) / size


def run(count: int, seed: int, verbose: bool = False) -> dict[str, float]:
    """Solves `count` random problems; the keys say what happened how often."""
    random = np.random.default_rng(seed)
    names = list(APPROXIMATIONS)
    outcome: Counter[str] = Counter(converged=0, refused=0, wrong=0, to_rounding=0)
    most = total = 0
    for k in range(count):
        problem, approximation = random_problem(random), names[k % len(names)]
        try:
            solution = solve(problem, approximation, polish=k % 2 == 0)
        except ConvergenceError as error:
            outcome["refused"] += 1
            if verbose:
                print(f"{k} {approximation}: {error}", flush=True)
            continue
        most, total = max(most, solution.iterations), total + solution.iterations
        residual, distance = errors(problem, approximation, solution.velocity)
        outcome["converged"] += 1
        if residual > 1.01e-5:
            outcome["to_rounding" if distance <= 1e-5 else "wrong"] += 1
            if verbose:
                print(f"{k} {approximation}: residual {residual:.2e}, distance {distance:.2e}", flush=True)
    return {**outcome, "most_iterations": most, "mean_iterations": total / max(outcome["converged"], 1)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    start = time.perf_counter()
    outcome = run(options.count, options.seed, options.verbose)
    print(", ".join(f"{key} {value:g}" for key, value in outcome.items()), f"in {time.perf_counter() - start:.1f} s")
    raise SystemExit(outcome["wrong"] > 0 or outcome["refused"] > 1e-3 * options.count)


if __name__ == "__main__":
    main()
