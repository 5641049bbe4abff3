"""Compiled dynamics of the mechanism in the platform's coordinates (docs/tau.md, "Dynamics").

    M_x Vdot + n_x + g_x = G^T tau + W

with the terms of the platform, and of each open chain mapped by qdot_i = H_i V, qddot_i = H_i Vdot + h_i. Names of
arrays as in `kinematics`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from tau_wall_control.device.arrays import OK
from tau_wall_control.device.kinematics import chain_angles, chain_maps, in_chain_axes, rotated, rotation_of
from tau_wall_control.device.linear_algebra import cholesky_solve


class ChainAngles(NamedTuple):
    """Sines and cosines of yaw, pitch, elbow and pitch + elbow of a chain."""

    c1: float
    s1: float
    c2: float
    s2: float
    c3: float
    s3: float
    c23: float
    s23: float


class ChainInertia(NamedTuple):
    """Inertia matrix of an open chain; M12 = M13 = 0 [kg m^2]."""

    M11: float
    M22: float
    M23: float
    M33: float


@njit(cache=True, error_model="numpy", forceinline=True)
def platform_terms(platform: Any, R: np.ndarray, V: np.ndarray, M: np.ndarray, n: np.ndarray, g: np.ndarray) -> None:
    """Writes M_p (6, 6), n_p (6,) and g_p (6,) of the platform at the TCP.

    With rho_c = R c_p, S = [rho_c]x and I_O = R I_c R^T + m S^T S: M_p = [m I, -m S; m S, I_O],
    n_p = [m w x (w x rho_c); w x I_O w], g_p = -[m g; m rho_c x g].
    """
    m, w0, w1, w2 = platform.mass, V[3], V[4], V[5]
    r0, r1, r2 = rotated(R, platform.com)
    for a in range(6):
        for b in range(6):
            M[a, b] = 0.0
    for a in range(3):
        M[a, a] = m
        for b in range(3):
            inertia = 0.0
            for k in range(3):
                inertia += R[a, k] * platform.inertia[k] * R[b, k]
            M[3 + a, 3 + b] = inertia
    square = r0 * r0 + r1 * r1 + r2 * r2
    M[3, 3] += m * (square - r0 * r0)
    M[4, 4] += m * (square - r1 * r1)
    M[5, 5] += m * (square - r2 * r2)
    M[3, 4] -= m * r0 * r1
    M[3, 5] -= m * r0 * r2
    M[4, 5] -= m * r1 * r2
    M[4, 3], M[5, 3], M[5, 4] = M[3, 4], M[3, 5], M[4, 5]
    # I_O w
    L0 = M[3, 3] * w0 + M[3, 4] * w1 + M[3, 5] * w2
    L1 = M[4, 3] * w0 + M[4, 4] * w1 + M[4, 5] * w2
    L2 = M[5, 3] * w0 + M[5, 4] * w1 + M[5, 5] * w2
    # -m S above the diagonal block, m S below
    M[0, 4], M[0, 5], M[1, 3], M[1, 5], M[2, 3], M[2, 4] = m * r2, -m * r1, -m * r2, m * r0, m * r1, -m * r0
    M[4, 0], M[5, 0], M[3, 1], M[5, 1], M[3, 2], M[4, 2] = m * r2, -m * r1, -m * r2, m * r0, m * r1, -m * r0
    u0, u1, u2 = w1 * r2 - w2 * r1, w2 * r0 - w0 * r2, w0 * r1 - w1 * r0
    n[0], n[1], n[2] = m * (w1 * u2 - w2 * u1), m * (w2 * u0 - w0 * u2), m * (w0 * u1 - w1 * u0)
    n[3], n[4], n[5] = w1 * L2 - w2 * L1, w2 * L0 - w0 * L2, w0 * L1 - w1 * L0
    g0, g1, g2 = platform.gravity[0], platform.gravity[1], platform.gravity[2]
    g[0], g[1], g[2] = -m * g0, -m * g1, -m * g2
    g[3], g[4], g[5] = -m * (r1 * g2 - r2 * g1), -m * (r2 * g0 - r0 * g2), -m * (r0 * g1 - r1 * g0)


@njit(cache=True, error_model="numpy", forceinline=True)
def angles_of(q: np.ndarray) -> ChainAngles:
    """Returns sines and cosines of a chain's angles (3,)."""
    c1, s1 = math.cos(q[0]), math.sin(q[0])
    c2, s2 = math.cos(q[1]), math.sin(q[1])
    c3, s3 = math.cos(q[2]), math.sin(q[2])
    return ChainAngles(c1, s1, c2, s2, c3, s3, c2 * c3 - s2 * s3, s2 * c3 + c2 * s3)


@njit(cache=True, error_model="numpy", forceinline=True)
def chain_rates(H: np.ndarray, V: np.ndarray) -> tuple[float, float, float]:
    """Returns qdot = H V of a chain with H (3, 6)."""
    y1, y2, y3 = 0.0, 0.0, 0.0
    for k in range(6):
        y1 += H[0, k] * V[k]
        y2 += H[1, k] * V[k]
        y3 += H[2, k] * V[k]
    return y1, y2, y3


@njit(cache=True, error_model="numpy", forceinline=True)
def closure_bias(
    chain: Any, base: np.ndarray, R: np.ndarray, V: np.ndarray, angle: ChainAngles, rates: tuple[float, float, float]
) -> tuple[float, float, float]:
    """Returns h = Jc^-1 (w x (w x rho) - Jcdot qdot) of a chain, rho = R b [rad/s^2]."""
    c1, s1, c2, s2, _, s3, c23, s23 = angle
    y1, y2, y3 = rates
    w0, w1, w2 = V[3], V[4], V[5]
    l1, l2 = chain.length_1, chain.length_2
    rho0, rho1, rho2 = rotated(R, chain.platform_point)
    u0, u1, u2 = w1 * rho2 - w2 * rho1, w2 * rho0 - w0 * rho2, w0 * rho1 - w1 * rho0
    x, y, z = in_chain_axes(base, w1 * u2 - w2 * u1, w2 * u0 - w0 * u2, w0 * u1 - w1 * u0)
    y23 = y2 + y3
    r, h = l1 * c2 + l2 * c23, l1 * s2 + l2 * s23
    rate = -h * y2 - l2 * s23 * y3
    radial = l1 * c2 * y2 * y2 + l2 * c23 * y23 * y23 + r * y1 * y1
    tangential, vertical = -2.0 * rate * y1, l1 * s2 * y2 * y2 + l2 * s23 * y23 * y23
    vertical += z
    radial += c1 * x + s1 * y
    tangential += c1 * y - s1 * x
    det = l1 * l2 * s3
    return (
        tangential / r,
        l2 * (c23 * radial + s23 * vertical) / det,
        -(r * radial + h * vertical) / det,
    )


@njit(cache=True, error_model="numpy", forceinline=True)
def chain_inertia(chain: Any, angle: ChainAngles) -> ChainInertia:
    """Returns the inertia matrix of an open chain; the rotors' inertia counts at yaw and pitch."""
    c2, s2, c3, c23, s23 = angle.c2, angle.s2, angle.c3, angle.c23, angle.s23
    l1, a1, a2, m1, m2 = chain.length_1, chain.com_1, chain.com_2, chain.mass_1, chain.mass_2
    ia1, it1, ia2, it2 = (
        chain.axial_inertia_1,
        chain.transverse_inertia_1,
        chain.axial_inertia_2,
        chain.transverse_inertia_2,
    )
    r1, r2 = a1 * c2, l1 * c2 + a2 * c23
    M11 = chain.carriage_inertia + chain.rotor_inertia + m1 * r1 * r1 + ia1 * s2 * s2 + it1 * c2 * c2
    M11 += m2 * r2 * r2 + ia2 * s23 * s23 + it2 * c23 * c23
    M22 = chain.rotor_inertia + m1 * a1 * a1 + it1 + m2 * (l1 * l1 + a2 * a2 + 2.0 * l1 * a2 * c3) + it2
    M23 = m2 * (a2 * a2 + l1 * a2 * c3) + it2
    return ChainInertia(M11, M22, M23, m2 * a2 * a2 + it2)


@njit(cache=True, error_model="numpy", forceinline=True)
def velocity_torques(chain: Any, angle: ChainAngles, rates: tuple[float, float, float]) -> tuple[float, float, float]:
    """Returns centrifugal, Coriolis and friction torques of an open chain [N m]."""
    c2, s2, c23, s23 = angle.c2, angle.s2, angle.c23, angle.s23
    y1, y2, y3 = rates
    l1, a1, a2, m1, m2 = chain.length_1, chain.com_1, chain.com_2, chain.mass_1, chain.mass_2
    difference_1 = chain.axial_inertia_1 - chain.transverse_inertia_1
    difference_2 = chain.axial_inertia_2 - chain.transverse_inertia_2
    r2 = l1 * c2 + a2 * c23
    slope = -(l1 * s2 + a2 * s23)  # dr2/dq2
    # D2, D3 = dM11/dq2, dM11/dq3
    D3 = -2.0 * m2 * r2 * a2 * s23 + 2.0 * difference_2 * s23 * c23
    D2 = -2.0 * m1 * a1 * a1 * c2 * s2 + 2.0 * difference_1 * s2 * c2
    D2 += 2.0 * m2 * r2 * slope + 2.0 * difference_2 * s23 * c23
    k3 = m2 * l1 * a2 * angle.s3
    b, coulomb = chain.viscous, chain.coulomb
    f1 = y1 * (D2 * y2 + D3 * y3) + b * y1
    f2 = -0.5 * D2 * y1 * y1 - k3 * (2.0 * y2 * y3 + y3 * y3) + b * y2
    if coulomb != 0.0:
        f1 += coulomb * math.tanh(y1 / chain.smoothing_speed)
        f2 += coulomb * math.tanh(y2 / chain.smoothing_speed)
    return f1, f2, -0.5 * D3 * y1 * y1 + k3 * y2 * y2 + chain.viscous_elbow * y3


@njit(cache=True, error_model="numpy", forceinline=True)
def chain_weight(chain: Any, angle: ChainAngles) -> tuple[float, float, float]:
    """Returns the gravity torques of an open chain [N m]."""
    c1, s1, c2, s2, _, _, c23, s23 = angle
    l1, a1, a2, m1, m2 = chain.length_1, chain.com_1, chain.com_2, chain.mass_1, chain.mass_2
    gx, gy, gz = chain.gravity[0], chain.gravity[1], chain.gravity[2]
    forward, sideways = c1 * gx + s1 * gy, c1 * gy - s1 * gx
    G1 = -(m1 * (a1 * c2) + m2 * (l1 * c2 + a2 * c23)) * sideways
    G3 = -m2 * a2 * (c23 * gz - s23 * forward)
    G2 = -(m1 * a1 + m2 * l1) * (c2 * gz - s2 * forward) + G3
    return G1, G2, G3


@njit(cache=True, error_model="numpy", forceinline=True)
def add_chain(
    chain: Any,
    base: np.ndarray,
    R: np.ndarray,
    V: np.ndarray,
    q: np.ndarray,
    H: np.ndarray,
    M: np.ndarray,
    n: np.ndarray,
    g: np.ndarray,
    bias: np.ndarray,
) -> None:
    """Adds H^T M_i H (lower triangle), H^T (M_i h + c + f) and H^T g of a chain; writes its bias h (3,)."""
    angle, rates = angles_of(q), chain_rates(H, V)
    h1, h2, h3 = closure_bias(chain, base, R, V, angle, rates)
    bias[0], bias[1], bias[2] = h1, h2, h3
    M11, M22, M23, M33 = chain_inertia(chain, angle)
    f1, f2, f3 = velocity_torques(chain, angle, rates)
    f1 += M11 * h1
    f2 += M22 * h2 + M23 * h3
    f3 += M23 * h2 + M33 * h3
    G1, G2, G3 = chain_weight(chain, angle)
    for a in range(6):
        Ha1, Ha2, Ha3 = H[0, a], H[1, a], H[2, a]
        n[a] += Ha1 * f1 + Ha2 * f2 + Ha3 * f3
        g[a] += Ha1 * G1 + Ha2 * G2 + Ha3 * G3
        P1, P2, P3 = Ha1 * M11, Ha2 * M22 + Ha3 * M23, Ha2 * M23 + Ha3 * M33
        for c in range(a + 1):
            M[a, c] += P1 * H[0, c] + P2 * H[1, c] + P3 * H[2, c]


@njit(cache=True, error_model="numpy")
def assemble(
    chains: np.ndarray,
    base: np.ndarray,
    platform: np.ndarray,
    p: np.ndarray,
    R: np.ndarray,
    V: np.ndarray,
    q: np.ndarray,
    H: np.ndarray,
    M: np.ndarray,
    n: np.ndarray,
    g: np.ndarray,
    bias: np.ndarray,
) -> int:
    """Writes M_x (6, 6), n_x (6,) with friction, g_x (6,), and bias (3, 3) with the rows h_i; returns a code.

    Also writes q (3, 3) and H (3, 3, 6).
    """
    code = chain_angles(chains, base, p, R, q)
    if code != OK:
        return code
    code = chain_maps(chains, base, R, q, H)
    if code != OK:
        return code
    platform_terms(platform[0], R, V, M, n, g)
    for i in range(3):
        add_chain(chains[i], base, R, V, q[i], H[i], M, n, g, bias[i])
    for a in range(6):
        for c in range(a):
            M[c, a] = M[a, c]
    return OK


@njit(cache=True, error_model="numpy")
def task_acceleration(
    chains: np.ndarray,
    base: np.ndarray,
    platform: np.ndarray,
    p: np.ndarray,
    R: np.ndarray,
    V: np.ndarray,
    tau: np.ndarray,
    wrench: np.ndarray,
    q: np.ndarray,
    H: np.ndarray,
    M: np.ndarray,
    n: np.ndarray,
    g: np.ndarray,
    bias: np.ndarray,
    Vdot: np.ndarray,
) -> int:
    """Writes Vdot (6,) under joint torques and an external wrench; overwrites M with its factor. Returns a code."""
    code = assemble(chains, base, platform, p, R, V, q, H, M, n, g, bias)
    if code != OK:
        return code
    for a in range(6):
        s = wrench[a] - n[a] - g[a]
        for i in range(3):
            s += H[i, 0, a] * tau[2 * i] + H[i, 1, a] * tau[2 * i + 1]
        Vdot[a] = s
    cholesky_solve(M, Vdot)
    return OK


@njit(cache=True, error_model="numpy")
def integrate(
    chains: np.ndarray,
    base: np.ndarray,
    platform: np.ndarray,
    state: np.ndarray,
    tau: np.ndarray,
    wrench: np.ndarray,
    period: float,
    work: np.ndarray,
) -> int:
    """Makes one RK4 step of the state [p (3), unit quaternion x, y, z, w (4), V (6)] with constant torque and wrench.

    Returns a code; the state changes only if the code is OK. `work` is (20, 6, 6).
    """
    q, H, M, bias = work[0, :3, :3], work[1:4, :3, :], work[4], work[5, :3, :3]
    n, g, Vdot, R = work[6, 0], work[6, 1], work[6, 2], work[7, :3, :3]
    s, rates = work[8:11].reshape(108)[:13], work[11:14].reshape(108)
    total = rates[13:26]
    for k in range(13):
        total[k] = 0.0
        s[k] = state[k]
    for stage in range(4):
        rotation_of(s[3:7], R)
        code = task_acceleration(chains, base, platform, s[:3], R, s[7:], tau, wrench, q, H, M, n, g, bias, Vdot)
        if code != OK:
            return code
        rates[0], rates[1], rates[2] = s[7], s[8], s[9]
        x, y, z, w = s[3], s[4], s[5], s[6]
        a, b, c = s[10], s[11], s[12]
        rates[3] = 0.5 * (w * a + b * z - c * y)
        rates[4] = 0.5 * (w * b + c * x - a * z)
        rates[5] = 0.5 * (w * c + a * y - b * x)
        rates[6] = -0.5 * (a * x + b * y + c * z)
        for k in range(6):
            rates[7 + k] = Vdot[k]
        weight = 1.0 if stage == 0 or stage == 3 else 2.0
        ahead = period if stage == 2 else 0.5 * period
        for k in range(13):
            total[k] += weight * rates[k]
            s[k] = state[k] + ahead * rates[k]
    length = 0.0
    for k in range(13):
        s[k] = state[k] + period / 6.0 * total[k]
    for k in range(3, 7):
        length += s[k] * s[k]
    length = math.sqrt(length)
    for k in range(3, 7):
        s[k] /= length
    rotation_of(s[3:7], R)
    code = chain_angles(chains, base, s[:3], R, q)
    if code != OK:
        return code
    for k in range(13):
        state[k] = s[k]
    return OK
