"""Derivatives of a step's solution by the implicit function theorem (section X-B).

At the minimum r(v; theta) = A (v - v*) - J^T gamma(J v + b; theta) = 0, hence

    H dv/dtheta = -dr/dtheta,    H = A + J^T G J,                                                         (29)

with the same H that Newton's method factorises. All derivatives are total: quantities of the step that depend on theta
(gamma_n0, the soft norm's width, w, R_t, R_n) are differentiated too. The partial derivatives of one contact's impulse
at fixed v_c are computed by the complex step, exact to rounding.

At a kink of a contact's law (phi = 0 at the end of the step, the boundary of SAP's cone or of the plastic region) the
derivative is one-sided, for the branch that the kernel evaluates.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from convex_contact.problem.approximations import Approximation
from convex_contact.problem.problem import ContactProblem
from convex_contact.problem.row_law import row_hessian, row_impulse

_STEP = 1e-100

#: parameters with one number per contact
PER_CONTACT = (
    "phi0",
    "v_n0",
    "stiffness",
    "dissipation",
    "relaxation_time",
    "tangential_stiffness",
    "tangential_damping",
)
#: parameters with one number per problem
PER_PROBLEM = ("stiction_tolerance", "sigma", "near_rigid", "mass_scale")

NAMES = (
    "v0",
    "v_star",
    "actuation",
    *PER_CONTACT,
    "friction",
    "elastic_displacement",
    "bias",
    *PER_PROBLEM,
    "constraint_target",
)


class Sensitivity:
    """Derivatives of the velocity v of one solved step.

    Args:
        problem: contact problem of the step.
        approximation: approximation of its contacts.
        velocity: solution v, shape (nv,).
        solve: function that returns H^-1 B for B of shape (nv, m), H at the solution.
    """

    def __init__(
        self,
        problem: ContactProblem,
        approximation: Approximation,
        velocity: np.ndarray,
        solve: Callable[[np.ndarray], np.ndarray],
    ) -> None:
        self.problem, self.approximation, self.v, self._solve = problem, approximation, velocity, solve
        self._vc = problem.contact_velocity(velocity)
        self._J = problem.J.reshape(problem.contacts, 3, problem.velocities)

    def gradient(self, name: str) -> np.ndarray:
        """Returns dv/dtheta; see `Solution.gradient`."""
        p = self.problem
        if name == "v_star":
            return self._solve(p.A)
        if name == "actuation":
            return self._solve(p.period * np.eye(p.velocities))
        if name == "v0":
            return self._solve(p.A + self._from_contacts("v_n0") @ self._J[:, 2])
        if name in PER_CONTACT:
            return self._solve(self._from_contacts(name))
        if name == "friction" and p.friction.ndim == 3:
            diagonal = [self._friction_partial(i, j) for i, j in ((0, 0), (0, 1), (1, 1))]
            columns = [self._solve(self._spread(partial[:, :3])) for partial in diagonal]
            result = np.empty((p.velocities, p.contacts, 2, 2))
            result[..., 0, 0], result[..., 1, 1] = columns[0], columns[2]
            result[..., 0, 1] = result[..., 1, 0] = 0.5 * columns[1]
            return result
        if name == "friction":
            return self._solve(self._from_contacts(name))
        if name == "elastic_displacement":
            sides = [self._spread(self._displacement_partial(i)[:, :3]) for i in range(2)]
            return np.stack([self._solve(side) for side in sides], axis=-1)
        if name == "bias":
            # dgamma/db = -G
            side = np.einsum("nia,nij->anj", self._J, self._by_velocity[:, :3])
            flat = self._solve(side.reshape(p.velocities, -1))
            return flat.reshape(p.velocities, p.contacts, 3)
        if name in ("stiction_tolerance", "sigma", "near_rigid"):
            return self._solve(self._from_contacts(name).sum(axis=1, keepdims=True))[:, 0]
        if name == "mass_scale":
            side = -p.A @ (self.v - p.v_star) - self._from_contacts("delassus") @ p.delassus_estimate
            side += p.rows.jacobian.T @ (-self._row_compliance_partial * self._row_compliance_by_delassus)
            return self._solve(side[:, None])[:, 0]
        if name == "constraint_target":
            return self._solve(p.rows.jacobian.T * self._row_hessian)
        raise ValueError(f"name: expected one of {', '.join(NAMES)}, got {name!r}")

    def pullback(
        self, velocity: np.ndarray, impulse: np.ndarray, elastic_displacement: np.ndarray
    ) -> dict[str, np.ndarray]:
        """Computes the vector-Jacobian products of all parameters at once; see `Solution.pullback`."""
        p, v, J = self.problem, self.v, self._J
        output = np.concatenate([impulse, elastic_displacement], axis=1)  # cotangents of each contact's outputs
        direct = np.einsum("nki,nk->ni", self._by_velocity, output)
        adjoint = self._solve((velocity + np.einsum("nia,ni->a", J, direct))[:, None])[:, 0]
        # gamma acts on v through J^T gamma, and is an output itself
        cotangent = output.copy()
        cotangent[:, :3] += J @ adjoint
        at_contact = np.einsum("nki,nk->ni", self._by_velocity, cotangent)
        result: dict[str, np.ndarray] = {
            "v_star": p.A @ adjoint,
            "actuation": p.period * adjoint,
            "bias": at_contact,
        }
        for name in PER_CONTACT:
            result[name] = np.einsum("nk,nk->n", cotangent, self._partial(name))
        result["v0"] = result["v_star"] + result["v_n0"] @ J[:, 2]
        result["elastic_displacement"] = np.stack(
            [np.einsum("nk,nk->n", cotangent, self._displacement_partial(i)) for i in range(2)], axis=1
        )
        if p.friction.ndim == 3:
            parts = [
                np.einsum("nk,nk->n", cotangent, self._friction_partial(i, j)) for i, j in ((0, 0), (0, 1), (1, 1))
            ]
            result["friction"] = np.stack([parts[0], 0.5 * parts[1], 0.5 * parts[1], parts[2]], 1).reshape(-1, 2, 2)
        else:
            result["friction"] = np.einsum("nk,nk->n", cotangent, self._partial("friction"))
        for name in ("stiction_tolerance", "sigma", "near_rigid"):
            result[name] = np.asarray(np.einsum("nk,nk->", cotangent, self._partial(name)))
        # w = ||J A^-1 J^T||_F / 3 depends on A and J
        w, W = p.delassus_estimate, p.delassus
        by_w = np.einsum("nk,nk->n", cotangent, self._partial("delassus"))
        X = p.mobility_rows.reshape(p.velocities, p.contacts, 3)
        factor = by_w / (9.0 * w)
        A = -np.outer(adjoint, v - p.v_star) - np.einsum("n,ani,nij,bnj->ab", factor, X, W, X, optimize=True)
        gamma = self.approximation.impulse(p.parameters, self._vc)
        jacobian = gamma[:, :, None] * adjoint + at_contact[:, :, None] * v
        jacobian += 2.0 * factor[:, None, None] * np.einsum("nij,anj->nia", W, X)
        r = p.rows
        on_rows = r.jacobian @ adjoint
        result["constraint_target"] = self._row_hessian * on_rows
        by_row_w = self._row_compliance_partial * on_rows * self._row_compliance_by_delassus
        if len(on_rows):
            Y = np.linalg.solve(p.A, r.jacobian.T)
            row_delassus = np.einsum("ia,ai->i", r.jacobian, Y)
            A -= np.einsum("i,ai,bi->ab", by_row_w / row_delassus, Y, Y)
        result["A"] = 0.5 * (A + A.T)
        result["J"] = jacobian.reshape(-1, p.velocities)
        result["mass_scale"] = np.asarray(np.einsum("ab,ab->", result["A"], p.A))
        return result

    # outputs of one contact at fixed v_c: gamma (3), e_new (2)

    def _outputs(self, parameters: Any, vc: np.ndarray) -> np.ndarray:
        gamma = self.approximation.impulse(parameters, vc)
        return np.concatenate([gamma, self.approximation.displacement(parameters, gamma)], axis=1)

    def _stepped(self, name: str, direction: np.ndarray | float) -> np.ndarray:
        base = getattr(self.problem.parameters, name)
        changed = self.problem.parameters.with_values(**{name: base + 1j * _STEP * np.asarray(direction)})
        return np.imag(self._outputs(changed, self._vc)) / _STEP

    def _partial(self, name: str) -> np.ndarray:
        """Returns d(gamma, e_new)/dtheta, shape (nc, 5)."""
        return self._stepped(name, 1.0)

    def _friction_partial(self, i: int, j: int) -> np.ndarray:
        direction = np.zeros((2, 2))
        direction[i, j] = direction[j, i] = 1.0
        return self._stepped("friction", direction)

    def _displacement_partial(self, i: int) -> np.ndarray:
        return self._stepped("elastic_displacement", np.eye(2)[i])

    @cached_property
    def _by_velocity(self) -> np.ndarray:
        """d(gamma, e_new)/dv_c, shape (nc, 5, 3)."""
        columns = [
            np.imag(self._outputs(self.problem.parameters, self._vc + 1j * _STEP * np.eye(3)[i])) / _STEP
            for i in range(3)
        ]
        return np.stack(columns, axis=2)

    def _spread(self, partial: np.ndarray) -> np.ndarray:
        """Returns the columns J_i^T dgamma_i, shape (nv, nc)."""
        return np.einsum("nia,ni->an", self._J, partial)

    def _from_contacts(self, name: str) -> np.ndarray:
        return self._spread(self._partial(name)[:, :3])

    # rows of the constraints

    @cached_property
    def _row_arguments(self) -> tuple[np.ndarray, ...]:
        r = self.problem.rows
        return r.jacobian @ self.v + r.bias, r.target, r.compliance, r.lower, r.upper

    @cached_property
    def _row_hessian(self) -> np.ndarray:
        return row_hessian(*self._row_arguments)

    @cached_property
    def _row_compliance_partial(self) -> np.ndarray:
        """dgamma/dR: -gamma/R between the bounds."""
        return -row_impulse(*self._row_arguments) * self._row_hessian

    @cached_property
    def _row_compliance_by_delassus(self) -> np.ndarray:
        """w dR/dw: R where the near-rigid limit decides, else 0."""
        p = self.problem
        natural = [constraint.rows(p.velocities, p.period).compliance for constraint in p.constraints]
        return np.where(p.rows.compliance > np.concatenate([np.zeros(0), *natural]), p.rows.compliance, 0.0)
