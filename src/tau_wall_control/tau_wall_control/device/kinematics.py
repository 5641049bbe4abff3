"""Compiled kinematics of the mechanism (docs/tau.md, "Kinematics").

Chain angles q (3, 3) are rows [yaw, pitch, elbow] of chains 1 to 3; theta (6,) is [q11, q21, q12, q22, q13, q23];
twists V (6,) are [v; w] in world axes at the TCP. Kernels write their results into arrays of the caller. A kernel that
can fail returns a code of `arrays`.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from haptic_math.rotations import matrix_entries
from tau_wall_control.device.arrays import FK_DIVERGED, OK, SINGULAR, UNREACHABLE
from tau_wall_control.device.linear_algebra import gauss_solve

#: a chain is singular if r [m] or |sin q3| is below
SMALLEST_REACH = 1e-6
#: tolerance of forward kinematics on each joint angle [rad]
FK_TOLERANCE = 1e-12
FK_ITERATIONS = 20

_matrix_entries = njit(cache=True, error_model="numpy")(matrix_entries)


@njit(cache=True, error_model="numpy", forceinline=True)
def rotated(R: np.ndarray, v: np.ndarray) -> tuple[float, float, float]:
    """Returns R v of a vector (3,)."""
    return (
        R[0, 0] * v[0] + R[0, 1] * v[1] + R[0, 2] * v[2],
        R[1, 0] * v[0] + R[1, 1] * v[1] + R[1, 2] * v[2],
        R[2, 0] * v[0] + R[2, 1] * v[1] + R[2, 2] * v[2],
    )


@njit(cache=True, error_model="numpy", forceinline=True)
def in_chain_axes(base: np.ndarray, d0: float, d1: float, d2: float) -> tuple[float, float, float]:
    """Returns R_B^T d of a vector in world axes."""
    return (
        base[0, 0] * d0 + base[1, 0] * d1 + base[2, 0] * d2,
        base[0, 1] * d0 + base[1, 1] * d1 + base[2, 1] * d2,
        base[0, 2] * d0 + base[1, 2] * d1 + base[2, 2] * d2,
    )


@njit(cache=True, error_model="numpy")
def rotation_of(quaternion: np.ndarray, R: np.ndarray) -> None:
    """Writes R (3, 3) of a unit quaternion x, y, z, w."""
    entries = _matrix_entries(quaternion[0], quaternion[1], quaternion[2], quaternion[3])
    R[0, 0], R[0, 1], R[0, 2] = entries[0], entries[1], entries[2]
    R[1, 0], R[1, 1], R[1, 2] = entries[3], entries[4], entries[5]
    R[2, 0], R[2, 1], R[2, 2] = entries[6], entries[7], entries[8]


@njit(cache=True, error_model="numpy")
def chain_angles(chains: np.ndarray, base: np.ndarray, p: np.ndarray, R: np.ndarray, q: np.ndarray) -> int:
    """Writes q (3, 3) of a pose by inverse kinematics in closed form; returns a code."""
    for i in range(3):
        chain = chains[i]
        origin, point = chain.base_origin, chain.platform_point
        x, y, z = in_chain_axes(
            base,
            p[0] + R[0, 0] * point[0] + R[0, 1] * point[1] + R[0, 2] * point[2] - origin[0],
            p[1] + R[1, 0] * point[0] + R[1, 1] * point[1] + R[1, 2] * point[2] - origin[1],
            p[2] + R[2, 0] * point[0] + R[2, 1] * point[1] + R[2, 2] * point[2] - origin[2],
        )
        l1, l2 = chain.length_1, chain.length_2
        r = math.sqrt(x * x + y * y)
        D = (r * r + z * z - l1 * l1 - l2 * l2) / (2.0 * l1 * l2)
        if not -1.0 <= D <= 1.0:
            return UNREACHABLE + i
        q3 = chain.elbow_sign * math.acos(D)
        q[i, 0] = math.atan2(y, x)
        q[i, 1] = math.atan2(z, r) - math.atan2(l2 * math.sin(q3), l1 + l2 * math.cos(q3))
        q[i, 2] = q3
    return OK


@njit(cache=True, error_model="numpy")
def chain_maps(chains: np.ndarray, base: np.ndarray, R: np.ndarray, q: np.ndarray, H: np.ndarray) -> int:
    """Writes H (3, 3, 6), qdot_i = H_i V; returns a code. The rows are [n, rho x n], n the rows of Jc_i^-1."""
    for i in range(3):
        c1, s1 = math.cos(q[i, 0]), math.sin(q[i, 0])
        c2, s2 = math.cos(q[i, 1]), math.sin(q[i, 1])
        c23, s23 = math.cos(q[i, 1] + q[i, 2]), math.sin(q[i, 1] + q[i, 2])
        s3 = math.sin(q[i, 2])
        chain = chains[i]
        l1, l2 = chain.length_1, chain.length_2
        r, h = l1 * c2 + l2 * c23, l1 * s2 + l2 * s23
        if not (r > SMALLEST_REACH and abs(s3) > SMALLEST_REACH):
            return SINGULAR + i
        det = l1 * l2 * s3
        rho0, rho1, rho2 = rotated(R, chain.platform_point)
        for k in range(3):
            radial = base[k, 0] * c1 + base[k, 1] * s1
            H[i, 0, k] = (base[k, 1] * c1 - base[k, 0] * s1) / r
            H[i, 1, k] = l2 * (c23 * radial + s23 * base[k, 2]) / det
            H[i, 2, k] = -(r * radial + h * base[k, 2]) / det
        for k in range(3):
            H[i, k, 3] = rho1 * H[i, k, 2] - rho2 * H[i, k, 1]
            H[i, k, 4] = rho2 * H[i, k, 0] - rho0 * H[i, k, 2]
            H[i, k, 5] = rho0 * H[i, k, 1] - rho1 * H[i, k, 0]
    return OK


@njit(cache=True, error_model="numpy")
def actuated(q: np.ndarray, theta: np.ndarray) -> None:
    """Writes theta (6,) of chain angles q (3, 3)."""
    for i in range(3):
        theta[2 * i], theta[2 * i + 1] = q[i, 0], q[i, 1]


@njit(cache=True, error_model="numpy")
def actuated_map(H: np.ndarray, G: np.ndarray) -> None:
    """Writes G (6, 6), thetadot = G V, from H (3, 3, 6)."""
    for i in range(3):
        for k in range(6):
            G[2 * i, k], G[2 * i + 1, k] = H[i, 0, k], H[i, 1, k]


@njit(cache=True, error_model="numpy")
def rotate(R: np.ndarray, w0: float, w1: float, w2: float) -> None:
    """Rotates R by a rotation vector: R <- exp([w]x) R (Rodrigues)."""
    angle2 = w0 * w0 + w1 * w1 + w2 * w2
    angle = math.sqrt(angle2)
    if angle < 1e-4:
        a, b = 1.0 - angle2 / 6.0, 0.5 - angle2 / 24.0
    else:
        a, b = math.sin(angle) / angle, (1.0 - math.cos(angle)) / angle2
    for k in range(3):
        x, y, z = R[0, k], R[1, k], R[2, k]
        u0, u1, u2 = w1 * z - w2 * y, w2 * x - w0 * z, w0 * y - w1 * x
        R[0, k] = x + a * u0 + b * (w1 * u2 - w2 * u1)
        R[1, k] = y + a * u1 + b * (w2 * u0 - w0 * u2)
        R[2, k] = z + a * u2 + b * (w0 * u1 - w1 * u0)


@njit(cache=True, error_model="numpy")
def forward_kinematics(
    chains: np.ndarray, base: np.ndarray, theta: np.ndarray, p: np.ndarray, R: np.ndarray, tolerance: float
) -> tuple[int, int]:
    """Finds the pose of joint angles by Newton's method, from the pose (p, R), which it replaces.

    Each correction is p += d_v, R <- exp([d_w]x) R with d = G^-1 (theta - IK(p, R)). Returns a code, and the number of
    corrections.
    """
    q, H, G, e = np.empty((3, 3)), np.empty((3, 3, 6)), np.empty((6, 6)), np.empty((6, 1))
    for corrections in range(FK_ITERATIONS + 1):
        code = chain_angles(chains, base, p, R, q)
        if code != OK:
            return code, corrections
        worst = 0.0
        for i in range(3):
            for j in range(2):
                d = theta[2 * i + j] - q[i, j]
                d -= 2.0 * math.pi * math.ceil(d / (2.0 * math.pi) - 0.5)  # to (-pi, pi]
                e[2 * i + j, 0] = d
                worst = max(worst, abs(d))
        if worst < tolerance:
            return OK, corrections
        if not worst < math.inf or corrections == FK_ITERATIONS:
            break
        code = chain_maps(chains, base, R, q, H)
        if code != OK:
            return code, corrections
        actuated_map(H, G)
        if not gauss_solve(G, e):
            break
        for k in range(3):
            p[k] += e[k, 0]
        rotate(R, e[3, 0], e[4, 0], e[5, 0])
    return FK_DIVERGED, FK_ITERATIONS
