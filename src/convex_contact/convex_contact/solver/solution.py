"""The result of `solve`: velocity, impulses, and derivatives on request."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from convex_contact.problem import checks
from convex_contact.problem.approximations import Approximation
from convex_contact.problem.gradients import Sensitivity
from convex_contact.problem.problem import ContactProblem
from convex_contact.problem.reference import DenseProblem
from convex_contact.problem.row_law import row_impulse


class Solution:
    """The solution of one contact problem.

    Attributes:
        problem: the problem.
        approximation: name of the approximation.
        velocity: v at the end of the step, shape (nv,).
        impulse: gamma [N s], rows t1, t2, n of each contact, on the side of v_c, shape (nc, 3).
        iterations: Newton steps.
        residual: ||A (v - v*) - J^T gamma|| over the larger of ||A v|| and ||J^T gamma||, all scaled by diag(A)^(-1/2).
        converged: True; without convergence there is no solution but a `ConvergenceError`.

    Examples:
        >>> import numpy as np
        >>> from convex_contact import ContactProblem, solve
        >>> problem = ContactProblem(
        ...     A=np.eye(3), v_star=[0.0, 0.0, -1.0], J=np.eye(3), phi0=[0.0], v_n0=[-1.0], period=1e-3,
        ...     stiffness=[1e8], dissipation=[0.0], relaxation_time=[1e-4], friction=[0.5],
        ... )
        >>> round(float(solve(problem).impulse[0, 2]), 1)  # normal impulse [N s]
        1.0
    """

    converged = True

    def __init__(
        self,
        problem: ContactProblem,
        approximation: Approximation,
        velocity: np.ndarray,
        *,
        iterations: int,
        residual: float,
        solve_hessian: Callable[[np.ndarray], np.ndarray],
    ) -> None:
        self.problem, self.approximation = problem, approximation.name
        self.velocity, self.iterations, self.residual = velocity, iterations, residual
        self._approximation = approximation
        self._solve_hessian = solve_hessian
        self._vc = problem.contact_velocity(velocity)
        self.impulse = approximation.impulse(problem.parameters, self._vc)

    @property
    def contact_velocity(self) -> np.ndarray:
        """v_c = J v + b [m/s], shape (nc, 3)."""
        return self._vc

    @cached_property
    def cost(self) -> float:
        """l(v) [J], up to a constant."""
        return self._dense.cost(self.velocity)

    @cached_property
    def elastic_displacement(self) -> np.ndarray:
        """e at the end of the step [m] along t1, t2, shape (nc, 2); zero unless lagged_elastoplastic."""
        return self._approximation.displacement(self.problem.parameters, self.impulse)

    @cached_property
    def sticking(self) -> np.ndarray:
        """Mask of sticking contacts, shape (nc,): friction bound above 0, below transition speed (Table I) or yield."""
        return self._approximation.sticking(self.problem.parameters, self._vc)

    @cached_property
    def multipliers(self) -> list[np.ndarray]:
        """Impulses [N s, N m s] of the constraints, one array per constraint, in their order."""
        p, r = self.problem, self.problem.rows
        gamma = row_impulse(r.jacobian @ self.velocity + r.bias, r.target, r.compliance, r.lower, r.upper)
        counts = [len(constraint.rows(p.velocities, p.period).target) for constraint in p.constraints]
        return np.split(gamma, np.cumsum(counts)[:-1]) if counts else []

    @cached_property
    def condition_number(self) -> float:
        """Condition number of the Hessian H = A + J^T G J at the solution, in the 2-norm; computed on first access."""
        return float(np.linalg.cond(self._dense.hessian(self.velocity)))

    def gradient(self, name: str) -> np.ndarray:
        """Returns the total derivative dv/dtheta of the velocity, eq. (29).

        Args:
            name: theta, and the shape of the result:

                - "v_star" (nv, nv); "v0" (nv, nv): v* follows v0 one to one and v_n0 = J_n v0;
                  "actuation" (nv, nv): a generalised force, constant over the step, per N or N m;
                - "phi0", "v_n0", "stiffness", "dissipation", "relaxation_time", "friction", "tangential_stiffness",
                  "tangential_damping" (nv, nc); "friction" of a tensor (nv, nc, 2, 2), symmetric, so that
                  dv = sum_ij g_ij dM_ij for symmetric dM;
                - "elastic_displacement" (nv, nc, 2); "bias" (nv, nc, 3);
                - "mass_scale" (nv,): scale of A with v* fixed; "stiction_tolerance", "sigma", "near_rigid" (nv,);
                - "constraint_target" (nv, m): v^ of the constraints' rows.

        Raises:
            ValueError: an unknown name.
        """
        return self._sensitivity.gradient(name)

    def pullback(
        self,
        velocity: ArrayLike,
        *,
        impulse: ArrayLike | None = None,
        elastic_displacement: ArrayLike | None = None,
    ) -> dict[str, np.ndarray]:
        """Computes vector-Jacobian products: the gradient of a scalar by all parameters, with a single solve with H.

        Args:
            velocity: derivative of the scalar with respect to v, shape (nv,).
            impulse: derivative with respect to gamma, shape (nc, 3); None for zeros.
            elastic_displacement: derivative with respect to the new e, shape (nc, 2); None for zeros.

        Returns:
            Total derivatives of the scalar by name of the parameter, each of the parameter's shape: the parameters of
            `gradient`, "A" (for symmetric changes, with v* fixed) and "J" (with v_n0 and phi0 fixed).
        """
        p = self.problem
        return self._sensitivity.pullback(
            checks.array("velocity", velocity, (p.velocities,)),
            checks.array("impulse", np.zeros((p.contacts, 3)) if impulse is None else impulse, (p.contacts, 3)),
            checks.array(
                "elastic_displacement",
                np.zeros((p.contacts, 2)) if elastic_displacement is None else elastic_displacement,
                (p.contacts, 2),
            ),
        )

    @cached_property
    def _sensitivity(self) -> Sensitivity:
        return Sensitivity(self.problem, self._approximation, self.velocity, self._solve_hessian)

    @cached_property
    def _dense(self) -> DenseProblem:
        return DenseProblem(self.problem, self.approximation)
