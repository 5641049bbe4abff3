"""Solves a contact problem; see `convex_contact.newton` for the compiled kernels."""

from __future__ import annotations

import numpy as np

from convex_contact.approximations import approximation_named
from convex_contact.problem import ContactProblem
from convex_contact.reference import DenseProblem, solve_dense
from convex_contact.solution import Solution


def solve(problem: ContactProblem, approximation: str = "lagged", *, initial: np.ndarray | None = None) -> Solution:
    """The velocity at the end of a step."""
    chosen = approximation_named(approximation)
    velocity, iterations, residual = solve_dense(problem, approximation, initial=initial)
    H = DenseProblem(problem, approximation).hessian(velocity)
    return Solution(
        problem,
        chosen,
        velocity,
        iterations=iterations,
        residual=residual,
        solve_hessian=lambda B: np.linalg.solve(H, B),
    )
