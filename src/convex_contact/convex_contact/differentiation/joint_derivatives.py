"""What the rows of joint laws and joint limits add to the derivatives of a step.

A row of a tree has the velocity s = J v + b with a constant J, and the impulse gamma = clamp((v^ - s)/R, lower, upper).
Its v^, and of velocity limits its bounds, depend on the state before the step by the row's length J q alone. In the
residual A (v - v*) - J^T gamma - ... of a step, between its bounds, it is

    -J^T dgamma = J^T J dv/R - J^T (dv^/d(J q)) J dq/R + J^T gamma dw/w,

the last where the near-rigid limit R = beta^2 w/(4 pi^2), w = J A^-1 J^T, decides.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from convex_contact.model.joints import SpeedLimit
from convex_contact.problem.contact_kernels import ROW_NEAR_RIGID
from convex_contact.problem.near_rigid import near_rigid_compliance
from convex_contact.problem.row_numbers import rigid_slope
from convex_contact.simulation.joint_rows import JointRows


@dataclass(frozen=True)
class NearRigidRow:
    """A row whose impulse depends on the mass matrix of its tree.

    Attributes:
        tree: Number.
        slope: Of the residual by the entries of U (n,): -J gamma/w.
        U: -dw/dA (n, n).
    """

    tree: int
    slope: np.ndarray
    U: np.ndarray


@dataclass(frozen=True)
class JointRow:
    """A row of the last step.

    Attributes:
        tree: Number.
        J: Of the tree's velocities (n,).
        numbers: v^ - b, R, beta, lower, upper.
        slopes: Of v^ - b, lower and upper by the row's length.
    """

    tree: int
    J: np.ndarray
    numbers: tuple[float, float, float, float, float]
    slopes: tuple[float, float, float]


def joint_rows(rows: JointRows, time: float, period: float) -> Iterator[JointRow]:
    """The rows of the last step, which started at a time, with the slopes of their numbers."""
    every = rows.every
    numbers, count = every.parameters, len(rows)
    slopes = np.zeros((count, 3))
    slopes[:, 0] = rigid_slope(period)  # of the joint limits
    row_of = {id(law): i for i, law in enumerate(rows.laws)}
    for i, law in enumerate(rows.laws):
        if not isinstance(law, SpeedLimit):
            slopes[i, 0] = law.slope(time, period)
            continue
        slopes[i, 0], motor = 0.0, row_of[id(law.motor)]
        bound = 1 if law.sign > 0.0 else 2
        there, width = numbers[motor, 3 + bound], numbers[i, 5]
        limit = width - law.sign * there  # dt E
        if -limit < there < limit:
            slope = slopes[motor, 0] / numbers[motor, 2]
            slopes[motor, bound], slopes[i, 2] = slope, -slope
    for i in range(count):
        bias, target, R, beta, lower, upper = numbers[i]
        J = every.J[every.start[i] : every.start[i + 1]]
        yield JointRow(int(every.a[i]), J, (target - bias, R, beta, lower, upper), tuple(slopes[i].tolist()))


def add_joint_rows(
    rows: JointRows, time: float, period: float, velocity: np.ndarray, tree_v: np.ndarray, A: np.ndarray, H: np.ndarray,
    R_q: np.ndarray, mass_by_q: dict[int, np.ndarray],
) -> list[NearRigidRow]:  # fmt: skip
    """Adds the rows to H and R_q.

    Args:
        rows: Of the last step.
        time: At its start, s.
        period: dt, s.
        velocity: After the step (nv,).
        tree_v: Where the velocities of each tree begin (nt + 1,).
        A: The step's matrix by trees (nt, d, d).
        H: Derivative of the residual by v, likewise.
        R_q: By q, likewise.
        mass_by_q: dA/dq (n, n, n) of the trees with rows.

    Returns:
        The rows that depend on the mass matrix.
    """
    kept, inverses = [], dict[int, np.ndarray]()
    for row in joint_rows(rows, time, period):
        t, J, n = row.tree, row.J, len(row.J)
        target, R, beta, lower, upper = row.numbers
        rigid, w, column = 0.0, 0.0, J
        if beta > 0.0:
            if t not in inverses:
                inverses[t] = np.linalg.inv(A[t, :n, :n])
            column = inverses[t] @ J
            w = float(J @ column)
            rigid = near_rigid_compliance(beta, w)
        decides = rigid >= R
        R = max(R, rigid)
        impulse = (target - J @ velocity[tree_v[t] : tree_v[t + 1]]) / R
        square = np.outer(J, J)
        if not lower < impulse < upper:
            R_q[t, :n, :n] -= row.slopes[1 if impulse <= lower else 2] * square
            continue
        H[t, :n, :n] += square / R
        R_q[t, :n, :n] -= row.slopes[0] / R * square
        if decides:
            U = np.outer(column, column)
            slope = -J * impulse / w
            R_q[t, :n, :n] += np.outer(slope, np.einsum("ab,abk->k", U, mass_by_q[t]))
            kept.append(NearRigidRow(t, slope, U))
    return kept


def needs_mass(rows: JointRows) -> bool:
    """Whether a row may depend on the mass matrix."""
    return bool((rows.every.parameters[:, ROW_NEAR_RIGID] > 0.0).any())
