"""Symbolic building blocks: rotations in the paper's parametrisation, factorisation of small matrices.

Orientation throughout is R = Rz(q4) Rx(q6) Rz(q5), body to space (section III-A), and angular velocities are
given in the body frame unless a name states another one. Angles in x are ordered (q4, q5, q6).
"""

from __future__ import annotations

from typing import cast

import casadi as ca


def skew(v: ca.SX) -> ca.SX:
    """Gives the matrix of the cross product, v x w = skew(v) w."""
    return cast(ca.SX, ca.skew(v))


def rotation_from_angles(angles: ca.SX) -> ca.SX:
    """Gives R = Rz(q4) Rx(q6) Rz(q5), shape (3, 3), of angles (q4, q5, q6) [rad]."""
    c4, c5, c6 = (ca.cos(angles[i]) for i in range(3))
    s4, s5, s6 = (ca.sin(angles[i]) for i in range(3))
    return ca.vertcat(
        ca.horzcat(c4 * c5 - s4 * c6 * s5, -c4 * s5 - s4 * c6 * c5, s4 * s6),
        ca.horzcat(s4 * c5 + c4 * c6 * s5, -s4 * s5 + c4 * c6 * c5, -c4 * s6),
        ca.horzcat(s6 * s5, s6 * c5, c6),
    )


def body_rates(angles: ca.SX) -> ca.SX:
    """Gives E with omega_body = E (q4', q5', q6'), from (42); singular where sin q6 = 0. Shape (3, 3)."""
    c5, c6, s5, s6 = ca.cos(angles[1]), ca.cos(angles[2]), ca.sin(angles[1]), ca.sin(angles[2])
    return ca.vertcat(ca.horzcat(s6 * s5, 0, c5), ca.horzcat(s6 * c5, 0, -s5), ca.horzcat(c6, 1, 0))


def angles_from_rotation(R: ca.SX) -> ca.SX:
    """Gives (q4, q5, q6) [rad] of a rotation matrix, 0 <= q6 <= pi; not differentiable where sin q6 = 0."""
    return ca.vertcat(
        ca.atan2(R[0, 2], -R[1, 2]), ca.atan2(R[2, 0], R[2, 1]), ca.atan2(ca.sqrt(R[0, 2] ** 2 + R[1, 2] ** 2), R[2, 2])
    )


def quaternion_from_angles(angles: ca.SX) -> ca.SX:
    """Gives the unit quaternion (x, y, z, w) of R = Rz(q4) Rx(q6) Rz(q5)."""
    total, difference, half = (angles[0] + angles[1]) / 2, (angles[0] - angles[1]) / 2, angles[2] / 2
    return ca.vertcat(
        ca.sin(half) * ca.cos(difference),
        ca.sin(half) * ca.sin(difference),
        ca.cos(half) * ca.sin(total),
        ca.cos(half) * ca.cos(total),
    )


def rotation_from_quaternion(Q: ca.SX) -> ca.SX:
    """Gives the rotation matrix of a unit quaternion (x, y, z, w)."""
    K = skew(Q[:3])
    return ca.SX.eye(3) + 2 * Q[3] * K + 2 * ca.mtimes(K, K)


def quaternion_product(a: ca.SX, b: ca.SX) -> ca.SX:
    """Gives the quaternion (x, y, z, w) of the rotation R(a) R(b)."""
    return ca.vertcat(a[3] * b[:3] + b[3] * a[:3] + ca.cross(a[:3], b[:3]), a[3] * b[3] - ca.dot(a[:3], b[:3]))


def cayley_quaternion(u: ca.SX) -> ca.SX:
    """Gives the unit quaternion (x, y, z, w) of the rotation with Cayley coordinates u = 2 tan(theta/2) K."""
    return ca.vertcat(u / 2, 1) / ca.sqrt(1 + ca.sumsqr(u) / 4)


def cayley_body_rates(u: ca.SX) -> ca.SX:
    """Gives W with omega_body = W u' for Cayley coordinates; the identity at u = 0. Shape (3, 3)."""
    return (ca.SX.eye(3) - skew(u) / 2) / (1 + ca.sumsqr(u) / 4)


def quaternion_from_rotation(R: ca.SX) -> ca.SX:
    """Gives a unit quaternion (x, y, z, w) of a rotation matrix, from its largest component, exact at every angle."""
    trace = R[0, 0] + R[1, 1] + R[2, 2]
    squares = [1 + 2 * R[i, i] - trace for i in range(3)] + [1 + trace]
    outer = ca.vertcat(
        ca.horzcat(squares[0], R[0, 1] + R[1, 0], R[0, 2] + R[2, 0], R[2, 1] - R[1, 2]),
        ca.horzcat(R[0, 1] + R[1, 0], squares[1], R[1, 2] + R[2, 1], R[0, 2] - R[2, 0]),
        ca.horzcat(R[0, 2] + R[2, 0], R[1, 2] + R[2, 1], squares[2], R[1, 0] - R[0, 1]),
        ca.horzcat(R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1], squares[3]),
    )  # 4 Q Q^T: every row is Q times four times its own component
    best, value = outer[3, :], squares[3]
    for i in range(3):
        larger = squares[i] > value
        best, value = ca.if_else(larger, outer[i, :], best), ca.if_else(larger, squares[i], value)
    return (best / ca.sqrt(ca.sumsqr(best))).T


def rotation_vector(Q: ca.SX) -> ca.SX:
    """Gives theta K [rad] of a unit quaternion (x, y, z, w), 0 <= theta <= pi: (45), (46), exact at every angle."""
    sine = ca.sqrt(ca.sumsqr(Q[:3]))
    sign = ca.if_else(Q[3] < 0, -1, 1)
    tiny = sine < 1e-150  # the square would underflow; theta/sine is 2 there to the last digit
    return sign * ca.if_else(tiny, 2, 2 * ca.atan2(sine, sign * Q[3]) / ca.if_else(tiny, 1, sine)) * Q[:3]


def solve_positive_definite(matrix: ca.SX, right: ca.SX) -> tuple[ca.SX, ca.SX]:
    """Solves for matrix^-1 right by L D L^T without pivoting, as straight-line code.

    Returns:
        The solution, and the smallest pivot relative to its diagonal element: 1 for a diagonal matrix, 0 for a
        singular one. It measures the distance of the rows from dependence.
    """
    n = matrix.shape[0]
    L, D = ca.SX.eye(n), [ca.SX(0)] * n
    health = ca.SX(1)
    for j in range(n):
        D[j] = matrix[j, j] - sum((L[j, k] ** 2 * D[k] for k in range(j)), ca.SX(0))
        health = ca.fmin(health, D[j] / matrix[j, j])
        for i in range(j + 1, n):
            L[i, j] = (matrix[i, j] - sum((L[i, k] * L[j, k] * D[k] for k in range(j)), ca.SX(0))) / D[j]
    solution = ca.SX(right)
    for i in range(n):
        for k in range(i):
            solution[i, :] -= L[i, k] * solution[k, :]
    for i in range(n):
        solution[i, :] /= D[i]
    for i in reversed(range(n)):
        for k in range(i + 1, n):
            solution[i, :] -= L[k, i] * solution[k, :]
    return solution, health


def solve_nearly_symmetric(matrix: ca.SX, right: ca.SX) -> ca.SX:
    """Solves for matrix^-1 right by elimination without pivoting, for a matrix near a positive definite one."""
    n = matrix.shape[0]
    A, x = ca.SX(matrix), ca.SX(right)
    for j in range(n):
        for i in range(j + 1, n):
            factor = A[i, j] / A[j, j]
            A[i, :] -= factor * A[j, :]
            x[i, :] -= factor * x[j, :]
    for i in reversed(range(n)):
        for k in range(i + 1, n):
            x[i, :] -= A[i, k] * x[k, :]
        x[i, :] /= A[i, i]
    return x


def least_squares(matrix: ca.SX, right: ca.SX) -> tuple[ca.SX, ca.SX]:
    """Gives the Moore-Penrose solution matrix^+ right for full column rank, and the smallest relative pivot."""
    return solve_positive_definite(ca.mtimes(matrix.T, matrix), ca.mtimes(matrix.T, right))


def along(expression: ca.SX, variable: ca.SX, direction: ca.SX) -> ca.SX:
    """Derives an expression in a direction, (d expression/d variable) direction."""
    return cast(ca.SX, ca.jtimes(expression, variable, direction))
