"""Reference solver: Newton's method with exact line search (section X) on dense matrices in NumPy.

Tests compare the compiled kernels with it. Users call `solve`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy

from convex_contact.problem.approximations import approximation_named
from convex_contact.problem.constraints import row_potential
from convex_contact.problem.errors import ConvergenceError
from convex_contact.problem.problem import ContactProblem
from convex_contact.problem.row_law import row_hessian, row_impulse


class DenseProblem:
    """Cost, gradient and Hessian of (3) for one approximation."""

    def __init__(self, problem: ContactProblem, approximation: str) -> None:
        self.problem, self.approximation = problem, approximation_named(approximation)
        r = problem.rows
        self._rows = (r.target, r.compliance, r.lower, r.upper)

    def _row_velocity(self, v: np.ndarray) -> np.ndarray:
        return np.asarray(self.problem.rows.jacobian @ v + self.problem.rows.bias)

    def cost(self, v: np.ndarray) -> float:
        """Returns the cost l(v) [J], eq. (3)."""
        p, d = self.problem, v - self.problem.v_star
        contacts = self.approximation.potential(p.parameters, p.contact_velocity(v)).sum()
        return float(0.5 * d @ p.A @ d + contacts + row_potential(self._row_velocity(v), *self._rows).sum())

    def impulses(self, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Returns the impulses gamma [N s] of the contacts (nc, 3) and of the rows (m,)."""
        p = self.problem
        return (
            self.approximation.impulse(p.parameters, p.contact_velocity(v)),
            row_impulse(self._row_velocity(v), *self._rows),
        )

    def generalised_impulse(self, v: np.ndarray) -> np.ndarray:
        """Returns j = J^T gamma of contacts and rows, shape (nv,)."""
        gamma, rows = self.impulses(v)
        return np.asarray(self.problem.J.T @ gamma.ravel() + self.problem.rows.jacobian.T @ rows)

    def gradient(self, v: np.ndarray) -> np.ndarray:
        """Returns the residual r(v) = A (v - v*) - J^T gamma, shape (nv,)."""
        return np.asarray(self.problem.A @ (v - self.problem.v_star) - self.generalised_impulse(v))

    def hessian(self, v: np.ndarray) -> np.ndarray:
        """Returns the Hessian H(v) = A + J^T G J, shape (nv, nv)."""
        p = self.problem
        J = p.J.reshape(-1, 3, p.velocities)
        G = self.approximation.hessian(p.parameters, p.contact_velocity(v))
        g, R = row_hessian(self._row_velocity(v), *self._rows), p.rows.jacobian
        return np.asarray(p.A + np.einsum("nia,nij,njb->ab", J, G, J, optimize=True) + (R.T * g) @ R)


def solve_dense(
    problem: ContactProblem,
    approximation: str = "lagged",
    *,
    initial: np.ndarray | None = None,
    relative_tolerance: float = 1e-13,
    max_iterations: int = 500,
) -> tuple[np.ndarray, int, float]:
    """Solves a problem by Newton's method with exact line search, until the residual no longer falls.

    Args:
        problem: contact problem of nv velocities.
        approximation: name of the approximation.
        initial: first iterate, shape (nv,); None for v*.
        relative_tolerance: largest residual relative to the larger of the momenta A v and J^T gamma, all scaled by
            diag(A)^(-1/2); below 1e-5 the iteration also ends where rounding stops it.
        max_iterations: largest number of Newton steps.

    Returns:
        Velocity v, number of Newton steps, relative residual.

    Raises:
        ConvergenceError: max_iterations reached, or stopped by rounding above 1e-5.
    """
    dense = DenseProblem(problem, approximation)
    scale = 1.0 / np.sqrt(np.diag(problem.A))
    v = problem.v_star.copy() if initial is None else np.array(initial, dtype=float)
    best, best_residual, stalled = v, np.inf, 0
    for iteration in range(max_iterations + 1):
        r, j = dense.gradient(v), dense.generalised_impulse(v)
        size = max(float(np.linalg.norm(scale * (problem.A @ v))), float(np.linalg.norm(scale * j)), 1e-300)
        residual = float(np.linalg.norm(scale * r)) / size
        stalled = 0 if residual < 0.5 * best_residual else stalled + 1
        if residual < best_residual:
            best, best_residual = v, residual
        if best_residual <= relative_tolerance or (best_residual <= 1e-5 and stalled > 3):
            return best, iteration, best_residual
        dv = -_solve(dense.hessian(v), r, scale)
        v = v + exact_line_search(lambda a: float(dense.gradient(v + a * dv) @ dv)) * dv  # noqa: B023
    raise ConvergenceError(
        "the limit of iterations is reached",
        velocity=best,
        iterations=max_iterations,
        residual=best_residual,
        tolerance=1e-5,
    )


def exact_line_search(slope: Callable[[float], float], *, tolerance: float = 1e-12) -> float:
    """Finds the zero of l'(alpha) along a descent direction, by bracketing and bisection with regula falsi.

    The slope rises with alpha because l is convex. Only the slope is used: differences of costs are lost in rounding
    long before the slope.
    """
    first = slope(0.0)
    if not first < 0.0:
        return 1.0
    low, f_low, high, f_high = 0.0, first, 1.0, slope(1.0)
    while f_high < 0.0 and high < 1e6:
        low, f_low, high = high, f_high, 2.0 * high
        f_high = slope(high)
    for _ in range(200):
        if abs(f_high) <= tolerance * abs(first):
            return high
        middle = low - f_low * (high - low) / (f_high - f_low)
        if not low + 0.01 * (high - low) < middle < high - 0.01 * (high - low) or _ % 3 == 2:
            middle = 0.5 * (low + high)
        f = slope(middle)
        if abs(f) <= tolerance * abs(first) or high - low <= 4e-16 * high:
            return middle
        if f < 0.0:
            low, f_low = middle, f
        else:
            high, f_high = middle, f
    return 0.5 * (low + high)


def _solve(H: np.ndarray, r: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Returns H^-1 r, with H scaled by diag(A)^(-1/2) from both sides."""
    S = H * scale[:, None] * scale[None, :]
    try:
        return np.asarray(scale * scipy.linalg.cho_solve(scipy.linalg.cho_factor(S, lower=True), scale * r))
    except np.linalg.LinAlgError:
        return np.asarray(scale * np.linalg.lstsq(S, scale * r, rcond=None)[0])
