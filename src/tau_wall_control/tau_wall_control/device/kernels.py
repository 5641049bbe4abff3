"""Compiled kinematics and dynamics of the mechanism.

Equations of docs/tau.md. All kernels work on three arrays that `pack` makes from the parameters,

    chains (3, 26), base (3, 3) = R_B, platform (10,),

and write their results into arrays of the caller. Chain angles q (3, 3) are rows [yaw, pitch, elbow] of chains
1 to 3; theta (6,) is [q11, q21, q12, q22, q13, q23]; twists V (6,) are [v; w] in world axes at the TCP. A kernel
that can fail returns a code: 0, or 1 to 3 for a chain that does not reach, or 4 to 6 for a singular one.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from tau_wall_control.device.parameters import TauParameters

OK, UNREACHABLE, SINGULAR = 0, 1, 4  # UNREACHABLE + i, SINGULAR + i for chain i = 0, 1, 2
FK_DIVERGED = 7

# columns of `chains`
_A, _B, L1, L2, ELBOW, CARRIAGE = 0, 3, 6, 7, 8, 9
M1, A1, IA1, IT1, M2, A2, IA2, IT2 = 10, 11, 12, 13, 14, 15, 16, 17
ROTOR, VISCOUS, VISCOUS_ELBOW, COULOMB, SMOOTHING, _G = 18, 19, 20, 21, 22, 23
CHAIN_COLUMNS = 26

#: a chain counts as singular where r [m] or |sin q3| is below
SMALLEST_REACH = 1e-6
FK_TOLERANCE = 1e-12
FK_ITERATIONS = 20


def pack(parameters: TauParameters) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The kernels' arrays chains, base, platform."""
    R_B = parameters.chains.base_axes.rotation
    gravity = np.array(parameters.frame.gravity)
    actuators, friction = parameters.actuators, parameters.friction
    rotor = actuators.capstan_ratio**2 * actuators.rotor_inertia
    rows = []
    for c in parameters.chains.all:
        links = [x for k in (c.link_1, c.link_2) for x in (k.mass, k.com, k.inertia_axial, k.inertia_transverse)]
        geometry = [*c.base_origin, *c.platform_point, c.link_1_length, c.link_2_length, c.elbow_sign]
        losses = [friction.viscous_actuated, friction.viscous_elbow]
        losses += [friction.coulomb_actuated, friction.coulomb_smoothing_speed]
        rows.append([*geometry, c.carriage_inertia_yaw, *links, rotor, *losses, *(R_B.T @ gravity)])
    p = parameters.platform
    platform = np.array([p.mass, *p.com, *p.inertia_about_com, *gravity])
    return np.array(rows, dtype=float), np.ascontiguousarray(R_B), platform


@njit(cache=True, error_model="numpy")
def cholesky_solve(A: np.ndarray, b: np.ndarray) -> bool:
    """Solves A x = b for a positive definite A; overwrites A with its factor and b with x."""
    n = b.shape[0]
    for j in range(n):
        d = A[j, j]
        for k in range(j):
            d -= A[j, k] * A[j, k]
        if not d > 0.0:
            return False
        d = math.sqrt(d)
        A[j, j] = d
        for i in range(j + 1, n):
            s = A[i, j]
            for k in range(j):
                s -= A[i, k] * A[j, k]
            A[i, j] = s / d
    for i in range(n):
        s = b[i]
        for k in range(i):
            s -= A[i, k] * b[k]
        b[i] = s / A[i, i]
    for i in range(n - 1, -1, -1):
        s = b[i]
        for k in range(i + 1, n):
            s -= A[k, i] * b[k]
        b[i] = s / A[i, i]
    return True


@njit(cache=True, error_model="numpy")
def gauss_solve(A: np.ndarray, B: np.ndarray) -> bool:
    """Solves A X = B by elimination with pivoting; overwrites A, and B (n, m) with X. False if A is singular."""
    n, m = A.shape[0], B.shape[1]
    for j in range(n):
        pivot = j
        for i in range(j + 1, n):
            if abs(A[i, j]) > abs(A[pivot, j]):
                pivot = i
        if A[pivot, j] == 0.0:
            return False
        if pivot != j:
            for k in range(n):
                A[j, k], A[pivot, k] = A[pivot, k], A[j, k]
            for k in range(m):
                B[j, k], B[pivot, k] = B[pivot, k], B[j, k]
        for i in range(j + 1, n):
            f = A[i, j] / A[j, j]
            if f != 0.0:
                for k in range(j + 1, n):
                    A[i, k] -= f * A[j, k]
                for k in range(m):
                    B[i, k] -= f * B[j, k]
    for k in range(m):
        for i in range(n - 1, -1, -1):
            s = B[i, k]
            for j in range(i + 1, n):
                s -= A[i, j] * B[j, k]
            B[i, k] = s / A[i, i]
    return True


@njit(cache=True, error_model="numpy")
def rotation_of(quaternion: np.ndarray, R: np.ndarray) -> None:
    """R (3, 3) of a unit quaternion x, y, z, w."""
    x, y, z, w = quaternion[0], quaternion[1], quaternion[2], quaternion[3]
    R[0, 0], R[0, 1], R[0, 2] = 1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)
    R[1, 0], R[1, 1], R[1, 2] = 2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w)
    R[2, 0], R[2, 1], R[2, 2] = 2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)


@njit(cache=True, error_model="numpy")
def chain_angles(chains: np.ndarray, base: np.ndarray, p: np.ndarray, R: np.ndarray, q: np.ndarray) -> int:
    """Inverse kinematics of all chains, closed form: q (3, 3)."""
    for i in range(3):
        d0 = p[0] + R[0, 0] * chains[i, 3] + R[0, 1] * chains[i, 4] + R[0, 2] * chains[i, 5] - chains[i, 0]
        d1 = p[1] + R[1, 0] * chains[i, 3] + R[1, 1] * chains[i, 4] + R[1, 2] * chains[i, 5] - chains[i, 1]
        d2 = p[2] + R[2, 0] * chains[i, 3] + R[2, 1] * chains[i, 4] + R[2, 2] * chains[i, 5] - chains[i, 2]
        x = base[0, 0] * d0 + base[1, 0] * d1 + base[2, 0] * d2
        y = base[0, 1] * d0 + base[1, 1] * d1 + base[2, 1] * d2
        z = base[0, 2] * d0 + base[1, 2] * d1 + base[2, 2] * d2
        l1, l2 = chains[i, L1], chains[i, L2]
        r = math.sqrt(x * x + y * y)
        D = (r * r + z * z - l1 * l1 - l2 * l2) / (2.0 * l1 * l2)
        if not -1.0 <= D <= 1.0:
            return UNREACHABLE + i
        q3 = chains[i, ELBOW] * math.acos(D)
        q[i, 0] = math.atan2(y, x)
        q[i, 1] = math.atan2(z, r) - math.atan2(l2 * math.sin(q3), l1 + l2 * math.cos(q3))
        q[i, 2] = q3
    return OK


@njit(cache=True, error_model="numpy")
def chain_maps(chains: np.ndarray, base: np.ndarray, R: np.ndarray, q: np.ndarray, H: np.ndarray) -> int:
    """H (3, 3, 6): qdot_i = H_i V. The rows are n and rho x n with the rows n of Jc_i^-1 in world axes."""
    for i in range(3):
        c1, s1 = math.cos(q[i, 0]), math.sin(q[i, 0])
        c2, s2 = math.cos(q[i, 1]), math.sin(q[i, 1])
        c23, s23 = math.cos(q[i, 1] + q[i, 2]), math.sin(q[i, 1] + q[i, 2])
        s3 = math.sin(q[i, 2])
        l1, l2 = chains[i, L1], chains[i, L2]
        r, h = l1 * c2 + l2 * c23, l1 * s2 + l2 * s23
        if not (r > SMALLEST_REACH and abs(s3) > SMALLEST_REACH):
            return SINGULAR + i
        det = l1 * l2 * s3
        rho0 = R[0, 0] * chains[i, 3] + R[0, 1] * chains[i, 4] + R[0, 2] * chains[i, 5]
        rho1 = R[1, 0] * chains[i, 3] + R[1, 1] * chains[i, 4] + R[1, 2] * chains[i, 5]
        rho2 = R[2, 0] * chains[i, 3] + R[2, 1] * chains[i, 4] + R[2, 2] * chains[i, 5]
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
    """theta (6,) from chain angles q (3, 3)."""
    for i in range(3):
        theta[2 * i], theta[2 * i + 1] = q[i, 0], q[i, 1]


@njit(cache=True, error_model="numpy")
def actuated_map(H: np.ndarray, G: np.ndarray) -> None:
    """G (6, 6), thetadot = G V, from H (3, 3, 6)."""
    for i in range(3):
        for k in range(6):
            G[2 * i, k], G[2 * i + 1, k] = H[i, 0, k], H[i, 1, k]


@njit(cache=True, error_model="numpy")
def rotate(R: np.ndarray, w0: float, w1: float, w2: float) -> None:
    """R <- exp([w]x) R (Rodrigues)."""
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
    """Newton from the pose (p, R), which it replaces: p += d_v, R <- exp([d_w]x) R, d = G^-1 (theta - IK(p, R)).

    Returns a code, and the number of corrections.
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
    """M_x (6, 6), n_x (6,) with friction, g_x (6,) of M_x Vdot + n_x + g_x = G^T tau + W, and bias = h_i (3, 3).

    Also leaves q (3, 3) and H (3, 3, 6).
    """
    code = chain_angles(chains, base, p, R, q)
    if code != OK:
        return code
    code = chain_maps(chains, base, R, q, H)
    if code != OK:
        return code
    w0, w1, w2 = V[3], V[4], V[5]

    # platform at the TCP
    m = platform[0]
    r0 = R[0, 0] * platform[1] + R[0, 1] * platform[2] + R[0, 2] * platform[3]
    r1 = R[1, 0] * platform[1] + R[1, 1] * platform[2] + R[1, 2] * platform[3]
    r2 = R[2, 0] * platform[1] + R[2, 1] * platform[2] + R[2, 2] * platform[3]
    for a in range(6):
        for b in range(6):
            M[a, b] = 0.0
    for a in range(3):
        M[a, a] = m
        for b in range(3):
            inertia = 0.0
            for k in range(3):
                inertia += R[a, k] * platform[4 + k] * R[b, k]
            M[3 + a, 3 + b] = inertia
    square = r0 * r0 + r1 * r1 + r2 * r2
    M[3, 3] += m * (square - r0 * r0)
    M[4, 4] += m * (square - r1 * r1)
    M[5, 5] += m * (square - r2 * r2)
    M[3, 4] -= m * r0 * r1
    M[3, 5] -= m * r0 * r2
    M[4, 5] -= m * r1 * r2
    M[4, 3], M[5, 3], M[5, 4] = M[3, 4], M[3, 5], M[4, 5]
    L0 = M[3, 3] * w0 + M[3, 4] * w1 + M[3, 5] * w2
    L1_ = M[4, 3] * w0 + M[4, 4] * w1 + M[4, 5] * w2
    L2_ = M[5, 3] * w0 + M[5, 4] * w1 + M[5, 5] * w2
    # -m S above the diagonal block, m S below, S = [rho_c]x
    M[0, 4], M[0, 5], M[1, 3], M[1, 5], M[2, 3], M[2, 4] = m * r2, -m * r1, -m * r2, m * r0, m * r1, -m * r0
    M[4, 0], M[5, 0], M[3, 1], M[5, 1], M[3, 2], M[4, 2] = m * r2, -m * r1, -m * r2, m * r0, m * r1, -m * r0
    u0, u1, u2 = w1 * r2 - w2 * r1, w2 * r0 - w0 * r2, w0 * r1 - w1 * r0
    n[0], n[1], n[2] = m * (w1 * u2 - w2 * u1), m * (w2 * u0 - w0 * u2), m * (w0 * u1 - w1 * u0)
    n[3], n[4], n[5] = w1 * L2_ - w2 * L1_, w2 * L0 - w0 * L2_, w0 * L1_ - w1 * L0
    g0, g1, g2 = platform[7], platform[8], platform[9]
    g[0], g[1], g[2] = -m * g0, -m * g1, -m * g2
    g[3], g[4], g[5] = -m * (r1 * g2 - r2 * g1), -m * (r2 * g0 - r0 * g2), -m * (r0 * g1 - r1 * g0)

    for i in range(3):
        y1, y2, y3 = 0.0, 0.0, 0.0
        for k in range(6):
            y1 += H[i, 0, k] * V[k]
            y2 += H[i, 1, k] * V[k]
            y3 += H[i, 2, k] * V[k]
        c1, s1 = math.cos(q[i, 0]), math.sin(q[i, 0])
        c2, s2 = math.cos(q[i, 1]), math.sin(q[i, 1])
        c3, s3 = math.cos(q[i, 2]), math.sin(q[i, 2])
        c23, s23 = c2 * c3 - s2 * s3, s2 * c3 + c2 * s3
        l1, l2 = chains[i, L1], chains[i, L2]
        m1, a1, ia1, it1 = chains[i, M1], chains[i, A1], chains[i, IA1], chains[i, IT1]
        m2, a2, ia2, it2 = chains[i, M2], chains[i, A2], chains[i, IA2], chains[i, IT2]
        rotor = chains[i, ROTOR]

        # h_i = Jc^-1 (w x (w x rho) - Jcdot qdot)
        rho0 = R[0, 0] * chains[i, 3] + R[0, 1] * chains[i, 4] + R[0, 2] * chains[i, 5]
        rho1 = R[1, 0] * chains[i, 3] + R[1, 1] * chains[i, 4] + R[1, 2] * chains[i, 5]
        rho2 = R[2, 0] * chains[i, 3] + R[2, 1] * chains[i, 4] + R[2, 2] * chains[i, 5]
        u0, u1, u2 = w1 * rho2 - w2 * rho1, w2 * rho0 - w0 * rho2, w0 * rho1 - w1 * rho0
        y23 = y2 + y3
        r, h = l1 * c2 + l2 * c23, l1 * s2 + l2 * s23
        rate = -h * y2 - l2 * s23 * y3
        fall = l1 * c2 * y2 * y2 + l2 * c23 * y23 * y23 + r * y1 * y1
        radial, tangential, vertical = fall, -2.0 * rate * y1, l1 * s2 * y2 * y2 + l2 * s23 * y23 * y23
        b0 = w1 * u2 - w2 * u1
        b1 = w2 * u0 - w0 * u2
        b2 = w0 * u1 - w1 * u0
        x = base[0, 0] * b0 + base[1, 0] * b1 + base[2, 0] * b2
        y = base[0, 1] * b0 + base[1, 1] * b1 + base[2, 1] * b2
        vertical += base[0, 2] * b0 + base[1, 2] * b1 + base[2, 2] * b2
        radial += c1 * x + s1 * y
        tangential += c1 * y - s1 * x
        det = l1 * l2 * s3
        h1 = tangential / r
        h2 = l2 * (c23 * radial + s23 * vertical) / det
        h3 = -(r * radial + h * vertical) / det
        bias[i, 0], bias[i, 1], bias[i, 2] = h1, h2, h3

        # inertia of the open chain
        r1_, r2_ = a1 * c2, l1 * c2 + a2 * c23
        M11 = chains[i, CARRIAGE] + rotor + m1 * r1_ * r1_ + ia1 * s2 * s2 + it1 * c2 * c2
        M11 += m2 * r2_ * r2_ + ia2 * s23 * s23 + it2 * c23 * c23
        M22 = rotor + m1 * a1 * a1 + it1 + m2 * (l1 * l1 + a2 * a2 + 2.0 * l1 * a2 * c3) + it2
        M23 = m2 * (a2 * a2 + l1 * a2 * c3) + it2
        M33 = m2 * a2 * a2 + it2
        # velocity terms, friction
        slope2 = -(l1 * s2 + a2 * s23)
        D3 = -2.0 * m2 * r2_ * a2 * s23 + 2.0 * (ia2 - it2) * s23 * c23
        D2 = -2.0 * m1 * a1 * a1 * c2 * s2 + 2.0 * (ia1 - it1) * s2 * c2
        D2 += 2.0 * m2 * r2_ * slope2 + 2.0 * (ia2 - it2) * s23 * c23
        k3 = m2 * l1 * a2 * s3
        b, tau_c, v_s = chains[i, VISCOUS], chains[i, COULOMB], chains[i, SMOOTHING]
        f1 = y1 * (D2 * y2 + D3 * y3) + b * y1
        f2 = -0.5 * D2 * y1 * y1 - k3 * (2.0 * y2 * y3 + y3 * y3) + b * y2
        if tau_c != 0.0:
            f1 += tau_c * math.tanh(y1 / v_s)
            f2 += tau_c * math.tanh(y2 / v_s)
        f3 = -0.5 * D3 * y1 * y1 + k3 * y2 * y2 + chains[i, VISCOUS_ELBOW] * y3
        f1 += M11 * h1
        f2 += M22 * h2 + M23 * h3
        f3 += M23 * h2 + M33 * h3
        # weight: gravity gx, gy, gz in the chain's axes
        gx, gy, gz = chains[i, 23], chains[i, 24], chains[i, 25]
        forward, sideways = c1 * gx + s1 * gy, c1 * gy - s1 * gx
        G1 = -(m1 * r1_ + m2 * r2_) * sideways
        G3 = -m2 * a2 * (c23 * gz - s23 * forward)
        G2 = -(m1 * a1 + m2 * l1) * (c2 * gz - s2 * forward) + G3

        for a in range(6):
            Ha1, Ha2, Ha3 = H[i, 0, a], H[i, 1, a], H[i, 2, a]
            n[a] += Ha1 * f1 + Ha2 * f2 + Ha3 * f3
            g[a] += Ha1 * G1 + Ha2 * G2 + Ha3 * G3
            P1, P2, P3 = Ha1 * M11, Ha2 * M22 + Ha3 * M23, Ha2 * M23 + Ha3 * M33
            for c in range(a + 1):
                M[a, c] += P1 * H[i, 0, c] + P2 * H[i, 1, c] + P3 * H[i, 2, c]
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
    """Vdot (6,) under joint torques and an external wrench; overwrites M with its factor."""
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
    """One RK4 step of the state [p (3), unit quaternion x, y, z, w (4), V (6)] with torque and wrench held.

    `work` is (20, 6, 6). On failure the state stays.
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
