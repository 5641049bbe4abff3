"""`solve`: copies the matrices of a problem to the compiled kernels and returns their solution."""

from __future__ import annotations

from dataclasses import astuple
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike

from convex_contact.problem import checks
from convex_contact.problem import contact_kernels as kernels
from convex_contact.problem.approximations import approximation_named
from convex_contact.problem.errors import ConvergenceError
from convex_contact.problem.problem import ContactProblem
from convex_contact.solver import newton
from convex_contact.solver.options import SolverOptions
from convex_contact.solver.solution import Solution
from convex_contact.solver.workspace import configure, inputs, new_workspace, reserve, statistics

#: message by status of the kernels
REASONS = {
    newton.ITERATION_LIMIT: "the limit of iterations is reached",
    newton.NOT_FINITE: "a number is not finite any more",
}


# Longer than others because of its docstring.
def solve(
    problem: ContactProblem,
    approximation: str = "lagged",
    *,
    initial: ArrayLike | None = None,
    relative_tolerance: float = 1e-5,
    absolute_tolerance: float = 1e-14,
    max_iterations: int = 1000,
    polish: bool = True,
) -> Solution:
    """Computes the velocity at the end of a step: the minimum of (3).

    The kernels work on blocks, which are found from the zeros of A and J. A block belongs to a clique: velocities that
    A or a contact couples inseparably.

    Args:
        problem: the contact problem of the step.
        approximation: "sap", "lagged", "lagged_regularized", "similar", "similar_regularized" or
            "lagged_elastoplastic".
        initial: first iterate, shape (nv,); None for v*. The solution does not depend on it.
        relative_tolerance: largest residual relative to the momenta (`options.SolverOptions`).
        absolute_tolerance: largest residual where all momenta vanish [sqrt(J)].
        max_iterations: largest number of Newton steps.
        polish: True: the iteration goes on after convergence while each step quarters the residual, so that the result
            is exact to rounding.

    Raises:
        TypeError: the problem is not a `ContactProblem`.
        ValueError: the approximation is unknown, or does not fit the problem.
        ConvergenceError: the criterion is not reached; there is no result in that case.

    Examples:
        >>> import numpy as np
        >>> from convex_contact import ContactProblem, solve
        >>> problem = ContactProblem(
        ...     A=np.eye(3), v_star=[0.0, 0.0, -1.0], J=np.eye(3), phi0=[0.0], v_n0=[-1.0], period=1e-3,
        ...     stiffness=[1e8], dissipation=[0.0], relaxation_time=[1e-4], friction=[0.5],
        ... )
        >>> bool(abs(solve(problem).velocity[2]) < 0.1)  # the contact stops a mass of 1 kg
        True
    """
    if not isinstance(problem, ContactProblem):
        raise TypeError(f"problem: expected a ContactProblem, got {problem!r}")
    chosen = approximation_named(approximation)
    if chosen.name == "sap" and problem.law.code != kernels.LINEAR:
        raise ValueError(
            f"normal_law: expected None with sap, which has its own linear law, got {type(problem.law).__name__}"
        )
    options = SolverOptions(relative_tolerance, absolute_tolerance, max_iterations, polish)
    start = problem.v_star if initial is None else checks.array("initial", initial, (problem.velocities,))
    w = new_workspace()
    permutation = load(w, problem)
    numbers = (problem.period, problem.stiction_tolerance, problem.sigma, problem.near_rigid)
    configure(w, chosen.code, problem.law.code, *numbers, *astuple(options))
    v = inputs(w).structure.v
    v[: len(start)] = start[permutation]
    status = newton.solve_step(w)
    velocity = np.empty_like(start)
    velocity[permutation] = v[: len(start)]
    found = statistics(w)
    if status != newton.CONVERGED:
        raise convergence_error(w, status, velocity)

    def solve_hessian(B: np.ndarray) -> np.ndarray:
        """Returns H^-1 B with the block factors at the solution."""
        newton.factorise_at_solution(w)
        rows = np.ascontiguousarray(B.T[:, permutation])
        newton.apply_inverse(w, rows)
        result = np.empty((len(rows), problem.velocities))
        result[:, permutation] = rows
        return np.ascontiguousarray(result.T)

    return Solution(
        problem,
        chosen,
        velocity,
        iterations=found.iterations,
        residual=found.residual,
        solve_hessian=solve_hessian,
    )


def convergence_error(w: Any, status: int, velocity: np.ndarray, where: str = "") -> ConvergenceError:
    """Returns the error for a workspace whose last step has failed with a status."""
    found = statistics(w)
    return ConvergenceError(
        f"{REASONS[status]}{where}",
        velocity=velocity,
        iterations=found.iterations,
        residual=found.residual,
        tolerance=found.relative_tolerance,
    )


def cliques(problem: ContactProblem) -> np.ndarray:
    """Returns the number of the clique of each velocity, shape (nv,).

    Velocities that A couples share a clique. If a contact or a row involves more than two cliques, they are merged.
    """
    nv = problem.velocities
    first, second = np.nonzero(problem.A)
    pairs = [np.stack([first, second])]
    touched = [
        *(problem.J.reshape(problem.contacts, 3, nv) != 0.0).any(axis=1),
        *(problem.rows.jacobian != 0.0),
    ]
    while True:
        edges = np.concatenate(pairs, axis=1)
        graph = scipy.sparse.coo_array((np.ones(edges.shape[1]), (edges[0], edges[1])), shape=(nv, nv))
        labels = scipy.sparse.csgraph.connected_components(graph, directed=False)[1]
        more = []
        for where in touched:
            velocities = np.flatnonzero(where)
            if len(np.unique(labels[velocities])) > 2:
                more.append(np.stack([velocities[:-1], velocities[1:]]))
        if not more:
            return np.asarray(labels)
        pairs += more


def load(w: Any, problem: ContactProblem) -> np.ndarray:
    """Writes a problem's matrices into a workspace.

    Returns:
        The permutation of the velocities: velocity k of the workspace is velocity permutation[k] of the problem.
    """
    labels = cliques(problem)
    n, nv, nc = int(labels.max()) + 1, problem.velocities, problem.contacts
    permutation = np.argsort(labels, kind="stable")
    sizes = np.bincount(labels, minlength=n)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    block_starts = np.concatenate([[0], np.cumsum(sizes**2)])
    A, J = problem.A[np.ix_(permutation, permutation)], problem.J[:, permutation].reshape(nc, 3, nv)
    rows = problem.rows
    R = rows.jacobian[:, permutation]
    ordered = labels[permutation]

    def couplings(blocks: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Returns cliques a and b, offsets and entries of Jacobian blocks (m, nv)."""
        a, b, offsets, entries = [], [], [0], []
        for block in blocks:
            own = np.unique(ordered[(block != 0.0).any(axis=0)])
            own = own if len(own) else np.array([0])
            a.append(own[0])
            b.append(own[1] if len(own) > 1 else -1)
            for clique in own:
                entries.append(block[:, starts[clique] : starts[clique + 1]].ravel())
            offsets.append(offsets[-1] + sum(entry.size for entry in entries[-len(own) :]))
        flat = np.concatenate(entries) if entries else np.zeros(0)
        return np.array(a, dtype=np.int64), np.array(b, dtype=np.int64), np.array(offsets), flat

    contact = couplings(list(J))
    row = couplings([r[None] for r in R])
    reserve(w, n, nv, int(block_starts[-1]), nc, contact[3].size, len(R), row[3].size)
    w_inputs = inputs(w)
    structure, p, q = w_inputs.structure, w_inputs.contacts.parameters[:nc], w_inputs.rows.parameters[: len(R)]
    structure.dof_start[: n + 1], structure.A_start[: n + 1] = starts, block_starts
    for c in range(n):
        s, e = starts[c], starts[c + 1]
        structure.A[block_starts[c] : block_starts[c + 1]] = A[s:e, s:e].ravel()
    structure.v_star[:nv] = problem.v_star[permutation]
    for target, (a, b, offsets, entries), count in ((w_inputs.contacts, contact, nc), (w_inputs.rows, row, len(R))):
        target.a[:count], target.b[:count], target.start[: count + 1] = a, b, offsets
        target.J[: entries.size] = entries
    p[:] = problem.parameters.table
    p[:, kernels.BIAS : kernels.BIAS + 3] = problem.bias
    q[:, kernels.ROW_BIAS], q[:, kernels.ROW_TARGET] = rows.bias, rows.target
    q[:, kernels.ROW_COMPLIANCE], q[:, kernels.ROW_NEAR_RIGID] = rows.compliance, 0.0  # the limit is in it
    q[:, kernels.ROW_LOWER], q[:, kernels.ROW_UPPER] = rows.lower, rows.upper
    w_inputs.addresses[:] = problem.law.addresses
    return permutation
