"""Rows of joint laws and joint limits in the derivatives of a step.

A row of a tree has the velocity s = J v + b with a constant J, and the impulse gamma = clamp((v^ - s)/R, lower, upper).
Its v^, and the bounds of velocity limits, depend on the state before the step only by the row's length J q. Between its
bounds, a row has this term in the derivative of the residual A (v - v*) - J^T gamma - ... of a step:

    -J^T dgamma = J^T J dv/R - J^T (dv^/d(J q)) J dq/R + J^T gamma dw/w,

the last part if R is the near-rigid limit beta^2 w/(4 pi^2), w = J A^-1 J^T.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from convex_contact.model.joints import JointLaw, SpeedLimit
from convex_contact.problem.contact_kernels import ROW_COMPLIANCE, ROW_LOWER, ROW_NEAR_RIGID, ROW_UPPER
from convex_contact.problem.near_rigid import near_rigid_compliance
from convex_contact.problem.row_law import row_impulse
from convex_contact.problem.row_numbers import rigid_slope
from convex_contact.simulation.joint_rows import JointRows

#: columns of the derivatives of a row's numbers
_TARGET, _LOWER, _UPPER = range(3)


@dataclass(frozen=True)
class NearRigidRow:
    """A row whose impulse depends on the mass matrix of its tree.

    Attributes:
        tree: number of the tree.
        slope: derivative of the residual by -w, -J gamma/w (n,).
        U: -dw/dA (n, n).
    """

    tree: int
    slope: np.ndarray
    U: np.ndarray


def _slopes(rows: JointRows, time: float, period: float) -> np.ndarray:
    """Returns derivatives (rows, 3) of targets and bounds by the rows' lengths, for the step from `time` [s] on."""
    laws = rows.laws
    slopes = np.zeros((len(rows), 3))
    for i, law in enumerate(laws):
        if not isinstance(law, SpeedLimit):
            slopes[i, _TARGET] = law.slope(time, period)
    slopes[len(laws) :, _TARGET] = rigid_slope(period)  # of joint limits
    _add_velocity_limits(laws, rows.arrays.parameters, slopes)
    return slopes


def _add_velocity_limits(laws: Sequence[JointLaw | SpeedLimit], numbers: np.ndarray, slopes: np.ndarray) -> None:
    """Writes derivatives of the bounds of `row_numbers.write_speed_row`, for the rows of motors and velocity limits.

    One bound of the motor is the impulse dt u(V) of its controller at the limit, unless that exceeds the effort limit
    E. The range of the limit's row is dt (u(V) + E), and its length has the opposite sign of the joint's.
    """
    row_of = {id(law): i for i, law in enumerate(laws)}
    for i, law in enumerate(laws):
        if isinstance(law, SpeedLimit):
            motor = row_of[id(law.motor)]
            bound, number = (_LOWER, ROW_LOWER) if law.sign > 0.0 else (_UPPER, ROW_UPPER)
            impulse = numbers[motor, number]
            largest = numbers[i, ROW_UPPER] - law.sign * impulse  # dt E
            if abs(impulse) < largest:
                slopes[motor, bound] = slopes[motor, _TARGET] / numbers[motor, ROW_COMPLIANCE]
                slopes[i, _UPPER] = -slopes[motor, bound]


def add_joint_rows(
    rows: JointRows, time: float, period: float, velocity: np.ndarray, tree_v: np.ndarray, A: np.ndarray, H: np.ndarray,
    R_q: np.ndarray, mass_by_q: dict[int, np.ndarray],
) -> list[NearRigidRow]:  # fmt: skip
    """Adds the rows of joint laws and joint limits to H and R_q.

    Args:
        rows: rows of the last step.
        time: time at the start of the step [s].
        period: dt [s].
        velocity: velocity after the step (nv,).
        tree_v: first velocity of each tree (nt + 1,).
        A: matrix A of the step by trees (nt, d, d).
        H: derivative of the residual by v, by trees (nt, d, d).
        R_q: derivative of the residual by q, by trees (nt, d, d).
        mass_by_q: dA/dq (n, n, n) of the trees with rows.

    Returns:
        The rows whose impulse depends on the mass matrix.
    """
    kept, inverses = [], dict[int, np.ndarray]()
    every, slopes = rows.arrays, _slopes(rows, time, period)
    for i, (bias, target, R, beta, lower, upper) in enumerate(every.parameters.tolist()):
        t, J = int(every.tree[i]), every.J[every.start[i] : every.start[i + 1]]
        n = len(J)
        rigid, w, column = 0.0, 0.0, J
        if beta > 0.0:
            if t not in inverses:
                inverses[t] = np.linalg.inv(A[t, :n, :n])
            column = inverses[t] @ J
            w = float(J @ column)
            rigid = near_rigid_compliance(beta, w)
        near_rigid = rigid >= R
        R = max(R, rigid)
        impulse = row_impulse(bias + J @ velocity[tree_v[t] : tree_v[t + 1]], target, R, lower, upper)
        square = np.outer(J, J)
        if not lower < impulse < upper:
            R_q[t, :n, :n] -= slopes[i, _LOWER if impulse <= lower else _UPPER] * square
            continue
        H[t, :n, :n] += square / R
        R_q[t, :n, :n] -= slopes[i, _TARGET] / R * square
        if near_rigid:
            U = np.outer(column, column)
            slope = -J * impulse / w
            R_q[t, :n, :n] += np.outer(slope, np.einsum("ab,abk->k", U, mass_by_q[t]))
            kept.append(NearRigidRow(t, slope, U))
    return kept


def needs_mass(rows: JointRows) -> bool:
    """Returns whether a row has a near-rigid limit, so that its impulse may depend on the mass matrix."""
    return bool((rows.arrays.parameters[:, ROW_NEAR_RIGID] > 0.0).any())
