"""Derivatives of one step of a world with respect to the state before it and to its parameters.

The velocity v of the step solves r(v; q, v0, theta) = A (v - v*) - sum_k J_k^T gamma_k = 0, so that

    H dv = -(R_q dq + R_v dv0 + R_theta dtheta),    H = A + J^T G J.

The part A (v - v*) is differentiated for fixed v. For a free body it is

    m (v - v0) - dt (m g + f),    I (omega - omega0) - dt (tau - omega0 x I omega0),    I = R I_b R^T,

and for an articulated tree dt ID(q, v0, (v - v0)/dt) and linear terms, ID being inverse dynamics, of which Pinocchio
gives the derivatives. A contact at p with normal n acts on its bodies with wrenches of the force f = F^T gamma, F its
frame; with the tangents xi of the bodies' poses (see `geometry_derivatives`), r_s = p - c_s and dF = [dn-turn] F,

    dgamma = gamma_v dv_c + gamma_phi dphi + gamma_vn0 dv_n0 + gamma_w dw + gamma_e de + gamma_theta dtheta,
    dv_c = F (dDelta - turn x Delta),    Delta = sum_s +-(V_s + omega_s x r_s),
    df = F^T dgamma + turn x f,          d(moment) = dr_s x f + r_s x df.

w = ||D||_F/3 with D = sum_t Q_t A_t^-1 Q_t^T (Q: the contact's Jacobian in world axes) depends on r_s and A only.

The elastic displacement of `lagged_elastoplastic` passes from step to step as a vector x of the world together with the
normal n on which it lies; the new contact reads e = F x'' with x'' carried by the smallest rotation and the mean spin.

`differentiate_contacts` does this for the contacts that bear force, in their trees' velocities (slots of width d).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from convex_contact.model.arrays import ContactRecord, WorldRecord
from convex_contact.model.bodies import FREE
from convex_contact.problem import contact_kernels as kernels

#: columns of a contact's partial derivatives
VELOCITY, PHI, V_N0, MOBILITY, STIFFNESS, DISSIPATION, RELAXATION_TIME, FRICTION, ELASTIC, K_T, B_T, PARTIALS = (
    0, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 14
)  # fmt: skip

_Five = tuple[float, float, float, float, float]


class Trees(NamedTuple):
    """The arrays of a world that derivatives need; each access to a record's array costs much to compile."""

    tree_v: np.ndarray
    tree_kind: np.ndarray
    tree_body: np.ndarray
    body_tree: np.ndarray
    body_link: np.ndarray
    body_twist: np.ndarray
    A: np.ndarray
    link_jacobian: np.ndarray
    mass: np.ndarray
    inertia: np.ndarray


class Points(NamedTuple):
    """Likewise of a list of contacts."""

    body: np.ndarray
    tree: np.ndarray
    point: np.ndarray
    frame: np.ndarray
    phi0: np.ndarray
    v_n0: np.ndarray
    stiffness: np.ndarray
    dissipation: np.ndarray
    relaxation_time: np.ndarray
    friction: np.ndarray


@njit(cache=True, nogil=True, error_model="numpy")
def trees_of(w: WorldRecord) -> Trees:
    """The arrays of a record."""
    return Trees(
        w.tree_v,
        w.tree_kind,
        w.tree_body,
        w.body_tree,
        w.body_link,
        w.body_twist,
        w.A,
        w.link_jacobian,
        w.mass,
        w.inertia,
    )


@njit(cache=True, nogil=True, error_model="numpy")
def points_of(c: ContactRecord) -> Points:
    """Likewise."""
    return Points(
        c.body, c.tree, c.point, c.frame, c.phi0, c.v_n0, c.stiffness, c.dissipation, c.relaxation_time, c.friction
    )


@njit(cache=True, nogil=True, error_model="numpy")
def _normal_law(law: int, addresses: np.ndarray, phi: float, v: float, k: float, d: float) -> _Five:
    """f_n and its derivatives by phi, v, k, d."""
    if law == kernels.FUNCTION:
        hk, hd = 1e-5 * abs(k), 1e-5 * max(abs(d), 1e-3)
        by_k = kernels._call4(addresses[0], phi, v, k + hk, d) - kernels._call4(addresses[0], phi, v, k - hk, d)
        by_d = kernels._call4(addresses[0], phi, v, k, d + hd) - kernels._call4(addresses[0], phi, v, k, d - hd)
        return (
            kernels._call4(addresses[0], phi, v, k, d),
            kernels._call4(addresses[1], phi, v, k, d),
            kernels._call4(addresses[2], phi, v, k, d),
            by_k / (2 * hk),
            by_d / (2 * hd),
        )
    part, u = 1.0 - d * v, -phi
    if u <= 0.0 or part <= 0.0:
        return 0.0, 0.0, 0.0, 0.0, 0.0
    if law == kernels.HERTZ:
        root = math.sqrt(u)
        return k * u * root * part, -1.5 * k * root * part, -k * u * root * d, u * root * part, -k * u * root * v
    return k * u * part, -k * part, -k * u * d, u * part, -k * u * v


@njit(cache=True, nogil=True, error_model="numpy")
def partial_derivatives(
    approximation: int,
    law: int,
    addresses: np.ndarray,
    numbers: tuple[float, float, float, float],
    w: float,
    parameters: np.ndarray,
    v: np.ndarray,
    gamma: np.ndarray,
    out: np.ndarray,
) -> None:
    """Impulse of a contact with isotropic friction, and its partial derivatives (3, 14).

    Args:
        approximation: Its code.
        law: Code of the normal law.
        addresses: Of a user's law.
        numbers: dt, v_s, sigma, beta.
        w: Delassus estimate, 1/kg.
        parameters: phi0, v_n0, k, d, tau_d, mu, e1, e2, k_t, b_t.
        v: v_c (3,).
        gamma: Where the impulse goes (3,).
        out: Where the derivatives go, columns as above.
    """
    dt, v_s, sigma, beta = numbers
    phi, v_n0, k, d, tau, mu, e1, e2, kt, bt = parameters
    v1, v2, vn = v
    if approximation == kernels.SAP:
        wait = dt + tau
        rigid, soft = beta * beta * w / (4.0 * math.pi * math.pi), 1.0 / (dt * k * wait)
        Rn, Rt = max(rigid, soft), sigma * w
        y1, y2, yn = -v1 / Rt, -v2 / Rt, (-phi / wait - vn) / Rn
        yr, ratio = math.sqrt(y1 * y1 + y2 * y2), Rt / Rn
        t1, t2 = (y1 / yr, y2 / yr) if yr > 0.0 else (0.0, 0.0)
        scale = 1.0 + mu * mu * ratio
        N = (yn + mu * ratio * yr) / scale
    else:
        f1 = f0 = (0.0, 0.0, 0.0, 0.0, 0.0)
        f0 = _normal_law(law, addresses, phi, v_n0, k, d)
        bound = mu * dt * f0[0]
        eps = v_s
        wide = (approximation in (kernels.LAGGED_REGULARIZED, kernels.SIMILAR_REGULARIZED)) and sigma * w * bound > v_s
        if wide:
            eps = sigma * w * bound
        root = math.sqrt(v1 * v1 + v2 * v2 + eps * eps)
        t1, t2 = v1 / root, v2 / root
        soft_norm = (v1 * v1 + v2 * v2) / (root + eps)
        z = vn - mu * soft_norm if approximation in (kernels.SIMILAR, kernels.SIMILAR_REGULARIZED) else vn
        f1 = _normal_law(law, addresses, phi + dt * z, z, k, d)
        N = dt * f1[0]
        kappa = bt + dt * kt
        p1, p2 = kt * e1 + kappa * v1, kt * e2 + kappa * v2
        size = math.sqrt(p1 * p1 + p2 * p2)
        F = bound / dt
    if approximation == kernels.SAP:
        if yr < mu * yn:
            gamma[0], gamma[1], gamma[2] = y1, y2, yn
        elif N > 0.0:
            gamma[0], gamma[1], gamma[2] = mu * N * t1, mu * N * t2, N
        else:
            gamma[:] = 0.0
    elif approximation in (kernels.LAGGED, kernels.LAGGED_REGULARIZED):
        gamma[0], gamma[1], gamma[2] = -bound * t1, -bound * t2, N
    elif approximation in (kernels.SIMILAR, kernels.SIMILAR_REGULARIZED):
        gamma[0], gamma[1], gamma[2] = -mu * N * t1, -mu * N * t2, N
    else:
        factor = 0.0 if F <= 0.0 else -dt if size <= F else -dt * F / size
        gamma[0], gamma[1], gamma[2] = factor * p1, factor * p2, N
    seed = np.zeros(PARTIALS)
    for j in range(PARTIALS):
        # the derivative along one variable; the others stay
        seed[j] = 1.0
        d1, d2, dn, dphi, dv0, dw, dk, dd, dtau, dmu, de1, de2, dkt, dbt = seed
        seed[j] = 0.0
        if approximation == kernels.SAP:
            dRt = sigma * dw
            dRn = rigid / w * dw if rigid > soft else -Rn * (dk / k + dtau / wait)
            dy1, dy2 = -(d1 + y1 * dRt) / Rt, -(d2 + y2 * dRt) / Rt
            dyn = (-dphi / wait + phi / (wait * wait) * dtau - dn - yn * dRn) / Rn
            if yr < mu * yn:
                out[0, j], out[1, j], out[2, j] = dy1, dy2, dyn
            elif N > 0.0:
                dyr = t1 * dy1 + t2 * dy2
                dratio = (dRt - ratio * dRn) / Rn
                dN = (dyn + mu * ratio * dyr + ratio * yr * dmu + mu * yr * dratio) / scale
                dN -= N * (2.0 * mu * ratio * dmu + mu * mu * dratio) / scale
                turn1, turn2 = ((dy1 - t1 * dyr) / yr, (dy2 - t2 * dyr) / yr) if yr > 0.0 else (0.0, 0.0)
                out[0, j] = mu * t1 * dN + N * t1 * dmu + mu * N * turn1
                out[1, j] = mu * t2 * dN + N * t2 * dmu + mu * N * turn2
                out[2, j] = dN
            else:
                out[0, j] = out[1, j] = out[2, j] = 0.0
            continue
        dbound = mu * dt * (f0[1] * dphi + f0[2] * dv0 + f0[3] * dk + f0[4] * dd) + dt * f0[0] * dmu
        if approximation == kernels.LAGGED_ELASTOPLASTIC:
            dN = dt * ((dt * f1[1] + f1[2]) * dn + f1[1] * dphi + f1[3] * dk + f1[4] * dd)
            out[2, j] = dN
            if F <= 0.0:
                out[0, j] = out[1, j] = 0.0
                continue
            dkappa = dbt + dt * dkt
            dp1 = kt * de1 + e1 * dkt + kappa * d1 + v1 * dkappa
            dp2 = kt * de2 + e2 * dkt + kappa * d2 + v2 * dkappa
            if size <= F:
                out[0, j], out[1, j] = -dt * dp1, -dt * dp2
            else:
                u1, u2 = p1 / size, p2 / size
                along = u1 * dp1 + u2 * dp2
                out[0, j] = -dbound * u1 - dt * F / size * (dp1 - along * u1)
                out[1, j] = -dbound * u2 - dt * F / size * (dp2 - along * u2)
            continue
        deps = sigma * (bound * dw + w * dbound) if wide else 0.0
        along = t1 * d1 + t2 * d2
        dt1 = (d1 - t1 * along) / root - t1 * eps / (root * root) * deps
        dt2 = (d2 - t2 * along) / root - t2 * eps / (root * root) * deps
        dz = dn
        if approximation in (kernels.SIMILAR, kernels.SIMILAR_REGULARIZED):
            dz -= mu * along + soft_norm * dmu + mu * (eps / root - 1.0) * deps
        dN = dt * ((dt * f1[1] + f1[2]) * dz + f1[1] * dphi + f1[3] * dk + f1[4] * dd)
        out[2, j] = dN
        if approximation in (kernels.SIMILAR, kernels.SIMILAR_REGULARIZED):
            dbound, bound_now = dmu * N + mu * dN, mu * N
        else:
            bound_now = bound
        out[0, j], out[1, j] = -dbound * t1 - bound_now * dt1, -dbound * t2 - bound_now * dt2


@njit(cache=True, nogil=True, error_model="numpy")
def bearing(approximation: int, law: int, period: float, c: ContactRecord, vc: np.ndarray, out: np.ndarray) -> None:
    """Which contacts may have an impulse or a derivative of it that is not zero (n,)."""
    for k in range(c.count[0]):
        gap = c.phi0[k]
        speed = vc[k, 2]
        if approximation in (kernels.SAP, kernels.SIMILAR, kernels.SIMILAR_REGULARIZED):
            wait = period + (c.relaxation_time[k] if approximation == kernels.SAP else 0.0)
            slip = math.sqrt(vc[k, 0] ** 2 + vc[k, 1] ** 2)
            out[k] = law == kernels.FUNCTION or gap + wait * (speed - c.friction[k] * slip) < 0.0
        else:
            out[k] = law == kernels.FUNCTION or gap < 0.0 or gap + period * speed < 0.0


@njit(cache=True, nogil=True, error_model="numpy")
def _inverse(A: np.ndarray, n: int, out: np.ndarray) -> None:
    """Inverse of the leading n x n block, symmetric positive definite, by Cholesky's method."""
    L = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            s = A[i, j]
            for k in range(j):
                s -= L[i, k] * L[j, k]
            L[i, j] = math.sqrt(s) if i == j else s / L[j, j]
    x = np.zeros(n)
    for column in range(n):
        for i in range(n):
            s = 1.0 if i == column else 0.0
            for k in range(i):
                s -= L[i, k] * x[k]
            x[i] = s / L[i, i]
        for i in range(n - 1, -1, -1):
            s = x[i]
            for k in range(i + 1, n):
                s -= L[k, i] * x[k]
            x[i] = s / L[i, i]
            out[i, column] = x[i]


@njit(cache=True, nogil=True, error_model="numpy")
def _cross(s: float, a: np.ndarray, b: np.ndarray, out: np.ndarray) -> None:
    """out += s a x b."""
    x, y, z = a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]
    out[0] += s * x
    out[1] += s * y
    out[2] += s * z


@njit(cache=True, nogil=True, error_model="numpy")
def _dot(a: np.ndarray, b: np.ndarray) -> float:
    return float(a[0] * b[0] + a[1] * b[1] + a[2] * b[2])


@njit(cache=True, nogil=True, error_model="numpy")
def _add(s: float, a: np.ndarray, out: np.ndarray) -> None:
    """out += s a."""
    for i in range(3):
        out[i] += s * a[i]


@njit(cache=True, nogil=True, error_model="numpy")
def _map(w: Trees, body: int, out: np.ndarray) -> None:
    """Jacobian (6, d) of a moving body's twist at its pose's origin."""
    out[:] = 0.0
    link = w.body_link[body]
    if link < 0:
        for i in range(6):
            out[i, i] = 1.0
    else:
        out[:] = w.link_jacobian[link]


@njit(cache=True, nogil=True, error_model="numpy")
def _kinematics(
    w: Trees,
    c: Points,
    k: int,
    poses: np.ndarray,
    start: np.ndarray,
    velocity: np.ndarray,
    maps: tuple[np.ndarray, ...],
    slots: np.ndarray,
    twist: np.ndarray,
    twist0: np.ndarray,
    r: np.ndarray,
    Delta: np.ndarray,
    Delta0: np.ndarray,
    J: np.ndarray,
) -> None:
    """Levers, twists at the end and the start, their maps from the trees' velocities, and the contact's Jacobian."""
    T, P, V_q, V0_q, link_hessian = maps
    F, d = c.frame[k], J.shape[1] // 2
    for side in range(2):
        b = c.body[k, side]
        sign = 2.0 * side - 1.0
        tree, link = w.body_tree[b], w.body_link[b]
        slots[side] = -1
        if tree >= 0:
            slots[side] = 0 if c.tree[k, 0] == tree else 1
            _map(w, b, T[side])
        for i in range(3):
            r[side, i] = c.point[k, i] - poses[b, 9 + i]
        for i in range(6):
            twist0[side, i] = twist[side, i] = w.body_twist[b, i]
            if tree >= 0:
                x = 0.0
                for j in range(w.tree_v[tree + 1] - w.tree_v[tree]):
                    x += T[side, i, j] * velocity[w.tree_v[tree] + j]
                twist[side, i] = x
        if link >= 0:
            V_q[side], V0_q[side] = 0.0, 0.0
            for i in range(w.tree_v[tree + 1] - w.tree_v[tree]):
                a, a0 = velocity[w.tree_v[tree] + i], start[w.tree_v[tree] + i]
                for row in range(6):
                    for j in range(d):
                        V_q[side, row, j] += link_hessian[link, row, i, j] * a
                        V0_q[side, row, j] += link_hessian[link, row, i, j] * a0
        for i in range(3):
            f = F[i]
            P[side, i, 0], P[side, i, 1], P[side, i, 2] = sign * f[0], sign * f[1], sign * f[2]
            P[side, i, 3] = sign * (r[side, 1] * f[2] - r[side, 2] * f[1])
            P[side, i, 4] = sign * (r[side, 2] * f[0] - r[side, 0] * f[2])
            P[side, i, 5] = sign * (r[side, 0] * f[1] - r[side, 1] * f[0])
            if slots[side] >= 0:
                for j in range(d):
                    x = 0.0
                    for row in range(6):
                        x += P[side, i, row] * T[side, row, j]
                    J[i, slots[side] * d + j] += x
        for i in range(3):
            Delta[i] += sign * twist[side, i]
            Delta0[i] += sign * twist0[side, i]
        _cross(sign, twist[side, 3:], r[side], Delta)
        _cross(sign, twist0[side, 3:], r[side], Delta0)


@njit(cache=True, nogil=True, error_model="numpy")
def _mobility(
    w: Trees,
    c: Points,
    k: int,
    slots: np.ndarray,
    r: np.ndarray,
    T: np.ndarray,
    J: np.ndarray,
    inverse: np.ndarray,
    link_hessian: np.ndarray,
    mass_hessian: np.ndarray,
    w_A: np.ndarray,
    by_r: np.ndarray,
    w_q: np.ndarray,
) -> float:
    """w = ||D||_F/3 of contact k; adds -dw/dA (2, d, d), dw/dr (2, 3) and dw/dq at fixed r (2 d,).

    With Z = D/(3 ||D||_F), X = A^-1 Q^T and Y = X Z: dw = 2 <dQ^T, Y> - <Y X^T, dA>.
    """
    d = J.shape[1] // 2
    X, Y, D = np.zeros((2 * d, 3)), np.zeros((2 * d, 3)), np.zeros((3, 3))
    F = c.frame[k]
    for slot in range(2):
        tree = c.tree[k, slot]
        if tree < 0:
            continue
        for i in range(d):
            for j in range(d):
                for row in range(3):
                    x = inverse[tree, i, j] * J[row, slot * d + j]
                    for a in range(3):
                        X[slot * d + i, a] += F[row, a] * x
        for j in range(d):
            for row in range(3):
                for i in range(3):
                    for a in range(3):
                        D[i, a] += F[row, i] * J[row, slot * d + j] * X[slot * d + j, a]
    norm = 0.0
    for i in range(3):
        norm += _dot(D[i], D[i])
    norm = math.sqrt(norm)
    for i in range(2 * d):
        for a in range(3):
            Y[i, a] = _dot(D[a], X[i]) / (3.0 * norm)
    for slot in range(2):
        tree = c.tree[k, slot]
        if tree < 0:
            continue
        U = w_A[slot]
        for i in range(d):
            for j in range(d):
                U[i, j] = 0.5 * (_dot(Y[slot * d + i], X[slot * d + j]) + _dot(Y[slot * d + j], X[slot * d + i]))
        if w.tree_kind[tree] == FREE:
            # dA = [t] A - A [t], [t] acting on both halves: <U, dA> = 2 tr([t] A U)
            M = np.zeros((3, 3))
            for i in range(3):
                for a in range(3):
                    for j in range(6):
                        M[i, a] += w.A[tree, i, j] * U[j, a] + w.A[tree, 3 + i, j] * U[j, 3 + a]
            w_q[slot * d + 3] -= 2.0 * (M[1, 2] - M[2, 1])
            w_q[slot * d + 4] -= 2.0 * (M[2, 0] - M[0, 2])
            w_q[slot * d + 5] -= 2.0 * (M[0, 1] - M[1, 0])
        else:
            for i in range(d):
                for j in range(d):
                    for a in range(d):
                        w_q[slot * d + a] -= U[i, j] * mass_hessian[tree, i, j, a]
    at = np.zeros(3)
    for side in range(2):
        slot, link = slots[side], w.body_link[c.body[k, side]]
        sign = 2.0 * side - 1.0
        if slot < 0:
            continue
        for i in range(d):
            _cross(2.0 * sign, Y[slot * d + i], T[side, 3:, i], by_r[side])
            if link < 0:
                continue
            for j in range(d):
                column = link_hessian[link, :, i, j]
                at[0], at[1], at[2] = column[0], column[1], column[2]
                _cross(1.0, column[3:], r[side], at)
                w_q[slot * d + j] += 2.0 * sign * _dot(at, Y[slot * d + i])
    return norm / 3.0


@njit(cache=True, nogil=True, error_model="numpy")
def _carry(
    dt: float,
    memory: np.ndarray,
    F: np.ndarray,
    twist0: np.ndarray,
    D: np.ndarray,
    E_x: np.ndarray,
    E_0: np.ndarray,
    E_m: np.ndarray,
) -> None:
    """Derivatives of e at the start of the step by the tangents, the twists before it (2, 12), and the memory (2, 6).

    x' = x - s (n0 + n), s = n.x/(1 + n.n0), and e = F (cos(a) x' + sin(a) n x x'), a = dt/2 n.(omega_A + omega_B).
    """
    n, x, n0 = F[2], memory[:3], memory[3:]
    omega, flat, quarter, carried = np.zeros(3), np.zeros(3), np.zeros(3), np.zeros(3)
    _add(1.0, twist0[0, 3:], omega)
    _add(1.0, twist0[1, 3:], omega)
    cosine = _dot(n, n0)
    whole, angle = 1.0 + cosine, 0.5 * dt * _dot(n, omega)
    share = _dot(n, x) / whole if cosine > -1.0 + 1e-12 else 0.0
    _add(1.0, x, flat)
    _add(-share, n0, flat)
    _add(-share, n, flat)
    cos, sin = math.cos(angle), math.sin(angle)
    _cross(1.0, n, flat, quarter)
    _add(cos, flat, carried)
    _add(sin, quarter, carried)
    dn, dx, dn0, domega = np.zeros(3), np.zeros(3), np.zeros(3), np.zeros(3)
    dflat, change, spin = np.zeros(3), np.zeros(3), np.zeros(3)
    for j in range(30):
        dn[:], dx[:], dn0[:], domega[:], dflat[:], change[:], spin[:] = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        if j < 12:
            _add(1.0, D[4:, j], dn)
        elif j < 24:
            if (j - 12) % 6 < 3:
                continue
            domega[(j - 12) % 6 - 3] = 1.0
        elif j < 27:
            dx[j - 24] = 1.0
        else:
            dn0[j - 27] = 1.0
        dshare = (_dot(dn, x) + _dot(n, dx) - share * (_dot(dn, n0) + _dot(n, dn0))) / whole
        _add(1.0, dx, dflat)
        _add(-dshare, n0, dflat)
        _add(-dshare, n, dflat)
        _add(-share, dn0, dflat)
        _add(-share, dn, dflat)
        dangle = 0.5 * dt * (_dot(dn, omega) + _dot(n, domega))
        _add(cos, dflat, change)
        _add(cos * dangle, quarter, change)
        _add(-sin * dangle, flat, change)
        _cross(sin, dn, flat, change)
        _cross(sin, n, dflat, change)
        _cross(1.0, n, dn, spin)  # of the frame
        _cross(-1.0, spin, carried, change)
        for i in range(2):
            value = _dot(F[i], change)
            if j < 12:
                E_x[i, j] = value
            elif j < 24:
                E_0[i, j - 12] = value
            else:
                E_m[i, j - 24] = value


@njit(cache=True, nogil=True, error_model="numpy")
def _by_tangents(
    F: np.ndarray,
    D: np.ndarray,
    relative: tuple[np.ndarray, ...],
    partial: np.ndarray,
    E_x: np.ndarray,
    force: np.ndarray,
    G_x: np.ndarray,
    W_x: np.ndarray,
) -> None:
    """Derivatives of a contact's impulse (3, 12) and wrenches (2, 6, 12) by its bodies' tangents, at fixed twists."""
    twist, twist0, r, Delta, Delta0, by_r = relative
    turn, dr, dDelta, dDelta0, df = np.zeros(3), np.zeros((2, 3)), np.zeros(3), np.zeros(3), np.zeros(3)
    n = F[2]
    for j in range(12):
        turn[:], dDelta[:], dDelta0[:], df[:] = 0.0, 0.0, 0.0, 0.0
        _cross(1.0, n, D[4:, j], turn)
        dw = 0.0
        for side in range(2):
            sign = 2.0 * side - 1.0
            for i in range(3):
                dr[side, i] = D[1 + i, j] - (1.0 if j == 6 * side + i else 0.0)
                dw += by_r[side, i] * dr[side, i]
            _cross(sign, twist[side, 3:], dr[side], dDelta)
            _cross(sign, twist0[side, 3:], dr[side], dDelta0)
        _cross(-1.0, turn, Delta, dDelta)
        _cross(-1.0, turn, Delta0, dDelta0)
        dv_n0 = _dot(n, dDelta0)
        for i in range(3):
            x = partial[i, PHI] * D[0, j] + partial[i, V_N0] * dv_n0 + partial[i, MOBILITY] * dw
            x += partial[i, ELASTIC] * E_x[0, j] + partial[i, ELASTIC + 1] * E_x[1, j]
            for a in range(3):
                x += partial[i, a] * _dot(F[a], dDelta)
            G_x[i, j] = x
            _add(x, F[i], df)
        _cross(1.0, turn, force, df)
        for side in range(2):
            sign = 2.0 * side - 1.0
            column = W_x[side, :, j]
            column[:] = 0.0
            _add(sign, df, column)
            _cross(sign, dr[side], force, column[3:])
            _cross(sign, r[side], df, column[3:])


@njit(cache=True, nogil=True, error_model="numpy")
def _in_trees(
    w: Trees,
    c: Points,
    k: int,
    slots: np.ndarray,
    maps: tuple[np.ndarray, ...],
    wrench: np.ndarray,
    partial: np.ndarray,
    w_q: np.ndarray,
    G_x: np.ndarray,
    W_x: np.ndarray,
    elastic_by: tuple[np.ndarray, ...],
    G: np.ndarray,
    J: np.ndarray,
    R_q: np.ndarray,
    R_fixed: np.ndarray,
) -> None:
    """From bodies to trees.

    Fills G (3, 3, 2 d): dgamma by q at fixed poses (twists and w change), by v0, by v. Adds to R_q and R_fixed what
    the poses and the maps of the wrenches do.
    """
    T, P, V_q, V0_q, link_hessian = maps
    _, E_0, _ = elastic_by
    d = J.shape[1] // 2
    for i in range(3):
        for j in range(2 * d):
            G[0, i, j] = partial[i, MOBILITY] * w_q[j]
            G[1, i, j] = partial[i, V_N0] * J[2, j]
            for a in range(3):
                G[2, i, j] += partial[i, a] * J[a, j]
    pushed = np.zeros((2 * d, 12))  # T^T dW
    for side in range(2):
        if slots[side] < 0:
            continue
        for i in range(d):
            for row in range(6):
                t = T[side, row, i]
                for j in range(12):
                    pushed[slots[side] * d + i, j] += t * W_x[side, row, j]
    for side in range(2):
        slot, link = slots[side], w.body_link[c.body[k, side]]
        if slot < 0:
            for i in range(2 * d):
                for j in range(6):
                    R_fixed[i, j] += pushed[i, 6 * side + j]
            continue
        for i in range(2 * d):
            for row in range(6):
                x = pushed[i, 6 * side + row]
                for j in range(d):
                    R_q[i, slot * d + j] += x * T[side, row, j]
        for i in range(3):
            for row in range(3, 6):
                x = 0.0
                for a in range(2):
                    x += partial[i, ELASTIC + a] * E_0[a, 6 * side + row]
                for j in range(d):
                    G[1, i, slot * d + j] += x * T[side, row, j]
        if link < 0:
            continue
        # the twists at fixed joint velocities, and the map of the wrench
        for i in range(3):
            for row in range(6):
                now, before = 0.0, partial[i, V_N0] * P[side, 2, row]
                for a in range(3):
                    now += partial[i, a] * P[side, a, row]
                for a in range(2):
                    before += partial[i, ELASTIC + a] * E_0[a, 6 * side + row]
                for j in range(d):
                    G[0, i, slot * d + j] += now * V_q[side, row, j] + before * V0_q[side, row, j]
        for row in range(6):
            x = wrench[side, row]
            for i in range(d):
                for j in range(d):
                    R_q[slot * d + i, slot * d + j] += link_hessian[link, row, i, j] * x


@njit(cache=True, nogil=True, error_model="numpy")
def _remember(
    w: Trees,
    c: Points,
    k: int,
    slots: np.ndarray,
    maps: tuple[np.ndarray, ...],
    dt: float,
    parameters: np.ndarray,
    own_stiffness: bool,
    gamma: np.ndarray,
    G: np.ndarray,
    G_x: np.ndarray,
    elastic_by: tuple[np.ndarray, ...],
    D: np.ndarray,
    past: np.ndarray,
    theta: np.ndarray,
    kept: tuple[np.ndarray, ...],
) -> None:
    """The memory that a contact leaves, x = F^T e_new with e_new = (b_t e - gamma_t)/(b_t + dt k_t), and n."""
    T, _, _, V0_q, _ = maps
    E_x, E_0, E_m = elastic_by
    memory, M_q, M_v, M_end, M_past, M_theta, M_fixed = kept
    d = M_q.shape[1] // 2
    F, n = c.frame[k], c.frame[k, 2]
    X_x, turn = np.zeros((6, 12)), np.zeros(3)  # by the tangents
    for i in range(3):
        memory[3 + i] = n[i]
        for j in range(12):
            X_x[3 + i, j] = D[4 + i, j]
    kt, bt = parameters[8], parameters[9]
    kappa = bt + dt * kt
    if c.phi0[k] < 0.0:
        for a in range(2):
            left = (bt * parameters[6 + a] - gamma[a]) / kappa
            _add(left, F[a], memory)
            for i in range(3):
                f = F[a, i] / kappa
                for j in range(12):
                    X_x[i, j] += f * (bt * E_x[a, j] - G_x[a, j])
                for j in range(2 * d):
                    M_q[i, j] -= f * G[0, a, j]
                    M_v[i, j] -= f * G[1, a, j]
                    M_end[i, j] -= f * G[2, a, j]
                for j in range(6):
                    M_past[i, j] += f * (bt * E_m[a, j] - past[a, j])
                    M_theta[i, j] -= f * theta[a, j]
                M_theta[i, 4 if own_stiffness else 0] -= f * dt * left
                M_theta[i, 5] += f * (parameters[6 + a] - left)
                for side in range(2):
                    slot = slots[side]
                    if slot < 0:
                        continue
                    for row in range(3, 6):
                        x = f * bt * E_0[a, 6 * side + row]
                        for j in range(d):
                            M_v[i, slot * d + j] += x * T[side, row, j]
                            if w.body_link[c.body[k, side]] >= 0:
                                M_q[i, slot * d + j] += x * V0_q[side, row, j]
        for j in range(12):
            turn[:] = 0.0
            _cross(1.0, n, D[4:, j], turn)
            _cross(1.0, turn, memory, X_x[:, j])
    for side in range(2):
        for i in range(6):
            for row in range(6):
                x = X_x[i, 6 * side + row]
                if slots[side] < 0:
                    M_fixed[i, row] = x
                    continue
                for j in range(d):
                    M_q[i, slots[side] * d + j] += x * T[side, row, j]


@njit(cache=True, nogil=True, error_model="numpy")
def differentiate_contacts(
    world: WorldRecord,
    contacts: ContactRecord,
    setting: tuple[int, int, np.ndarray, tuple[float, float, float, float], tuple[float, float]],
    poses: np.ndarray,
    start: np.ndarray,
    velocity: np.ndarray,
    vc: np.ndarray,
    elastic: np.ndarray,
    memory: np.ndarray,
    geometry: np.ndarray,
    chosen: np.ndarray,
    link_hessian: np.ndarray,
    mass_hessian: np.ndarray,
    out: tuple[np.ndarray, ...],
) -> None:
    """Derivatives of the contacts' impulses and of J^T gamma of a step.

    A contact has two slots for its trees, of d velocities each, side by side (2 d columns).

    Args:
        world: As `prepare` and the query left it.
        contacts: Of the query.
        setting: Approximation, law, addresses, (dt, v_s, sigma, beta), (k_t or 0, b_t).
        poses: Of the bodies at the query (nb, 12).
        start: v0 (nv,).
        velocity: The solution (nv,).
        vc: Contact velocities at the solution (n, 3).
        elastic: Elastic displacements at the start of the step (n, 2), m.
        memory: Elastic displacement x and normal (6,) of each contact at the end of the step before (n, 6), world.
        geometry: d(phi, p, n) (n, 7, 12).
        chosen: Numbers of the contacts (m,).
        link_hessian: Derivative of `link_jacobian` by the tree's tangent (links, 6, d, d): entry, column, tangent.
        mass_hessian: Of A by it (trees, d, d, d), where w matters.
        out: Zeros; in this order, for the m chosen contacts:
            gamma (m, 3);
            J (m, 3, 2d);
            R_q (m, 2d, 2d): of J^T gamma by dq, for fixed v; R_v (m, 2d, 2d): by dv0; R_end (m, 2d, 2d): by dv;
            R_fixed (m, 2d, 6): by the tangent of the body that no tree moves;
            theta (m, 3, 6): dgamma by k, d, tau_d, mu, k_t, b_t;
            mobility (m, 3): dgamma/dw;
            w_A (m, 2, d, d): -dw/dA of the two trees;
            past (m, 3, 6): dgamma by the memory;
            new memory (m, 6) and its derivatives by q, v0, v (m, 6, 2d) each, by the memory (m, 6, 6), by theta
            (m, 6, 6), by the fixed body (m, 6, 6).
    """
    approximation, law, addresses, numbers, tangential = setting
    (
        gammas, Js, R_q, R_v, R_end, R_fixed, thetas, mobilities, w_A, pasts, memories, M_q, M_v, M_end, M_past,
        M_theta, M_fixed,
    ) = out  # fmt: skip
    w, c, dt = trees_of(world), points_of(contacts), numbers[0]
    d = w.A.shape[1]
    with_w = kernels.needs_mobility(approximation)
    elastoplastic = approximation == kernels.LAGGED_ELASTOPLASTIC
    inverse = np.zeros((w.A.shape[0], d, d))
    if with_w:
        for t in range(w.A.shape[0]):
            _inverse(w.A[t], w.tree_v[t + 1] - w.tree_v[t], inverse[t])
    partial, parameters = np.zeros((3, PARTIALS)), np.zeros(10)
    T, P = np.zeros((2, 6, d)), np.zeros((2, 3, 6))
    twist0, twist = np.zeros((2, 6)), np.zeros((2, 6))
    r, wrench = np.zeros((2, 3)), np.zeros((2, 6))
    V_q, V0_q = np.zeros((2, 6, d)), np.zeros((2, 6, d))
    maps = (T, P, V_q, V0_q, link_hessian)
    by_r, w_q = np.zeros((2, 3)), np.zeros(2 * d)
    slots = np.zeros(2, dtype=np.int64)
    G_x, W_x = np.zeros((3, 12)), np.zeros((2, 6, 12))
    E_x, E_0, E_m = np.zeros((2, 12)), np.zeros((2, 12)), np.zeros((2, 6))
    G = np.zeros((3, 3, 2 * d))
    for index in range(chosen.shape[0]):
        k = chosen[index]
        F = c.frame[k]
        D = geometry[k]
        J = Js[index]
        Delta, Delta0 = np.zeros(3), np.zeros(3)
        _kinematics(w, c, k, poses, start, velocity, maps, slots, twist, twist0, r, Delta, Delta0, J)

        # w and its derivatives
        size, by_r[:], w_q[:] = 1.0, 0.0, 0.0
        if with_w:
            size = _mobility(w, c, k, slots, r, T, J, inverse, link_hessian, mass_hessian, w_A[index], by_r, w_q)

        parameters[0], parameters[1], parameters[2] = c.phi0[k], c.v_n0[k], c.stiffness[k]
        parameters[3], parameters[4], parameters[5] = c.dissipation[k], c.relaxation_time[k], c.friction[k]
        parameters[6], parameters[7] = elastic[k, 0], elastic[k, 1]
        parameters[8] = tangential[0] if tangential[0] > 0.0 else c.stiffness[k]
        parameters[9] = tangential[1]
        gamma = gammas[index]
        partial_derivatives(approximation, law, addresses, numbers, size, parameters, vc[k], gamma, partial)
        if not tangential[0] > 0.0:
            for i in range(3):
                partial[i, STIFFNESS] += partial[i, K_T]
        for i in range(3):
            for j in range(4):
                thetas[index, i, j] = partial[i, STIFFNESS + j]
            thetas[index, i, 4], thetas[index, i, 5] = partial[i, K_T], partial[i, B_T]
            mobilities[index, i] = partial[i, MOBILITY]
        force = np.zeros(3)
        for i in range(3):
            for a in range(3):
                force[i] += F[a, i] * gamma[a]
        for side in range(2):
            sign = 2.0 * side - 1.0
            wrench[side] = 0.0
            _add(sign, force, wrench[side])
            _cross(sign, r[side], force, wrench[side, 3:])

        # the elastic displacement at the start, from the memory
        E_x[:], E_0[:], E_m[:] = 0.0, 0.0, 0.0
        if elastoplastic:
            _carry(dt, memory[k], F, twist0, D, E_x, E_0, E_m)

        relative = (twist, twist0, r, Delta, Delta0, by_r)
        _by_tangents(F, D, relative, partial, E_x, force, G_x, W_x)
        elastic_by = (E_x, E_0, E_m)
        G[:] = 0.0
        _in_trees(w, c, k, slots, maps, wrench, partial, w_q, G_x, W_x, elastic_by, G, J, R_q[index], R_fixed[index])
        for i in range(2 * d):
            for j in range(2 * d):
                x = y = z = 0.0
                for a in range(3):
                    x += J[a, i] * G[0, a, j]
                    y += J[a, i] * G[1, a, j]
                    z += J[a, i] * G[2, a, j]
                R_q[index, i, j] += x
                R_v[index, i, j] = y
                R_end[index, i, j] = z
        if not elastoplastic:
            continue
        for i in range(3):
            for j in range(6):
                pasts[index, i, j] = partial[i, ELASTIC] * E_m[0, j] + partial[i, ELASTIC + 1] * E_m[1, j]
        kept = (
            memories[index], M_q[index], M_v[index], M_end[index], M_past[index], M_theta[index], M_fixed[index],
        )  # fmt: skip
        _remember(
            w, c, k, slots, maps, dt, parameters, tangential[0] > 0.0, gamma, G, G_x, elastic_by, D, pasts[index],
            thetas[index], kept,
        )  # fmt: skip


@njit(cache=True, nogil=True, error_model="numpy")
def rotation_step(x: float, y: float, z: float, linear: bool, turn: np.ndarray, jacobian: np.ndarray) -> None:
    """What a rotation by the vector r = (x, y, z) in a step does to tangents: d+ = E d + K dr, E and K (3, 3).

    Exactly, E = exp(r) and K is the left Jacobian of SO(3); with the paper's q0 + dt N(q0) v (`linear`) the angle is
    2 atan(|r|/2), and K = (I + [r/2])/(1 + |r/2|^2).
    """
    square = x * x + y * y + z * z
    angle = math.sqrt(square)
    # E = I + a [r] + b [r]^2, K = scale I + e [r] + f [r]^2
    if linear:
        scale = 1.0 / (1.0 + 0.25 * square)
        a, b, e, f = scale, 0.5 * scale, 0.5 * scale, 0.0
    else:
        scale = 1.0
        if angle < 1e-3:
            a, b, f = 1.0 - square / 6.0, 0.5 - square / 24.0, 1.0 / 6.0 - square / 120.0
        else:
            half = math.sin(0.5 * angle)
            a, b = math.sin(angle) / angle, 2.0 * half * half / square
            f = (1.0 - a) / square
        e = b
    r = (x, y, z)
    for i in range(3):
        for j in range(3):
            one = 1.0 if i == j else 0.0
            # [r]_ij, and [r]^2 = r r^T - |r|^2 I
            skew = 0.0 if i == j else (-r[3 - i - j] if (j - i) % 3 == 1 else r[3 - i - j])
            twice = r[i] * r[j] - square * one
            turn[i, j] = one + a * skew + b * twice
            jacobian[i, j] = scale * one + e * skew + f * twice


@njit(cache=True, nogil=True, error_model="numpy")
def differentiate_free_bodies(
    world: WorldRecord,
    poses: np.ndarray,
    start: np.ndarray,
    velocity: np.ndarray,
    period: float,
    linear: bool,
    R_q: np.ndarray,
    R_v: np.ndarray,
    Q_q: np.ndarray,
    Q_v: np.ndarray,
) -> None:
    """Derivatives of m (v - v0) ... by q and v0, and of the moved coordinates by q and v; blocks (trees, d, d).

    With L = I omega0 and a = omega - omega0, I turning with the body, the angular part has the derivatives

        by theta:   I [a] - [I a] + dt [omega0] (I [omega0] - [L]),        by omega0:   dt ([omega0] I - [L]) - I.

    Args:
        world: As `prepare` left it.
        poses: Of the bodies at the start of the step (nb, 12).
        start: v0 (nv,).
        velocity: v (nv,).
        period: s.
        linear: The rotation is linearised.
        R_q: Zeros, where the derivatives of the residual go; likewise the others.
    """
    w = trees_of(world)
    inertia, axis, x, y = np.zeros((3, 3)), np.zeros(3), np.zeros(3), np.zeros(3)
    change, spin, momentum = np.zeros(3), np.zeros(3), np.zeros(3)
    for tree in range(w.tree_kind.shape[0]):
        if w.tree_kind[tree] != FREE:
            continue
        i = w.tree_v[tree]
        pose = poses[w.tree_body[tree]]
        for a in range(3):
            spin[a], change[a] = start[i + 3 + a], velocity[i + 3 + a] - start[i + 3 + a]
            for b in range(3):
                inertia[a, b] = 0.0
                for p in range(3):
                    for q in range(3):
                        inertia[a, b] += pose[3 * a + p] * w.inertia[tree, 3 * p + q] * pose[3 * b + q]
        for a in range(3):
            momentum[a] = _dot(inertia[a], spin)
            y[a] = _dot(inertia[a], change)
        for j in range(3):
            axis[:] = 0.0
            axis[j] = 1.0
            # by theta: axis x I u - I (axis x u) for u = a, and for u = omega0 under dt omega0 x
            column = R_q[tree, 3:6, 3 + j]
            x[:] = 0.0
            _cross(1.0, change, axis, x)
            for a in range(3):
                column[a] = _dot(inertia[a], x)
            _cross(1.0, axis, y, column)
            x[:] = 0.0
            _cross(1.0, spin, axis, x)
            turned = np.zeros(3)
            for a in range(3):
                turned[a] = _dot(inertia[a], x)
            _cross(1.0, axis, momentum, turned)
            _cross(period, spin, turned, column)
            column = R_v[tree, 3:6, 3 + j]
            for a in range(3):
                column[a] = -inertia[a, j]
            _cross(period, spin, inertia[j], column)
            _cross(period, axis, momentum, column)
            R_v[tree, j, j] = -w.mass[tree]
            Q_q[tree, j, j], Q_v[tree, j, j] = 1.0, period
        rotation_step(
            period * velocity[i + 3], period * velocity[i + 4], period * velocity[i + 5], linear,
            Q_q[tree, 3:6, 3:6], Q_v[tree, 3:6, 3:6],
        )  # fmt: skip
        for a in range(3):
            for b in range(3):
                Q_v[tree, 3 + a, 3 + b] *= period


@njit(cache=True, nogil=True, error_model="numpy")
def add_blocks(tree_v: np.ndarray, blocks: np.ndarray, out: np.ndarray) -> None:
    """Adds the diagonal blocks (trees, d, d) of a matrix (nv, nv)."""
    for tree in range(blocks.shape[0]):
        i = tree_v[tree]
        n = tree_v[tree + 1] - i
        for a in range(n):
            for b in range(n):
                out[i + a, i + b] += blocks[tree, a, b]


@njit(cache=True, nogil=True, error_model="numpy")
def add_contact_blocks(tree_v: np.ndarray, trees: np.ndarray, blocks: np.ndarray, sign: float, out: np.ndarray) -> None:
    """Adds blocks (m, 2d, 2d) of contacts between trees (m, 2) to a matrix (nv, nv)."""
    d = blocks.shape[1] // 2
    for k in range(blocks.shape[0]):
        for one in range(2):
            if trees[k, one] < 0:
                continue
            i = tree_v[trees[k, one]]
            for two in range(2):
                if trees[k, two] < 0:
                    continue
                j = tree_v[trees[k, two]]
                for a in range(tree_v[trees[k, one] + 1] - i):
                    for b in range(tree_v[trees[k, two] + 1] - j):
                        out[i + a, j + b] += sign * blocks[k, one * d + a, two * d + b]
