"""A contact's impulse and its derivatives by velocity, geometry and parameters."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from convex_contact.model.arrays import ContactRecord
from convex_contact.problem import contact_kernels as kernels
from convex_contact.problem.near_rigid import compiled_near_rigid_compliance as near_rigid_compliance

#: columns of a contact's partial derivatives
VELOCITY, PHI, V_N0, MOBILITY, STIFFNESS, DISSIPATION, RELAXATION_TIME, FRICTION, ELASTIC, K_T, B_T, PARTIALS = (
    0, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 14
)  # fmt: skip


_Five = tuple[float, float, float, float, float]


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
    if approximation == kernels.SAP:
        _sap(numbers, w, parameters, v, gamma, out)
        return
    dt, _, _, _ = numbers
    phi, v_n0, k, d = parameters[0], parameters[1], parameters[2], parameters[3]
    f0 = _normal_law(law, addresses, phi, v_n0, k, d)
    if approximation == kernels.LAGGED_ELASTOPLASTIC:
        f1 = _normal_law(law, addresses, phi + dt * v[2], v[2], k, d)
        _elastoplastic(dt, f0, f1, parameters, v, gamma, out)
    else:
        _soft(approximation, law, addresses, numbers, w, f0, parameters, v, gamma, out)


@njit(cache=True, nogil=True, error_model="numpy")
def _sap(
    numbers: tuple[float, float, float, float],
    w: float,
    parameters: np.ndarray,
    v: np.ndarray,
    gamma: np.ndarray,
    out: np.ndarray,
) -> None:
    """Derivatives of SAP's projection; arguments as of `partial_derivatives`."""
    dt, _, sigma, beta = numbers
    phi, _, k, _, tau, mu, _, _, _, _ = parameters
    v1, v2, vn = v
    dt_plus_tau = dt + tau
    rigid, soft = near_rigid_compliance(beta, w), 1.0 / (dt * k * dt_plus_tau)
    Rn, Rt = max(rigid, soft), sigma * w
    y1, y2, yn = -v1 / Rt, -v2 / Rt, (-phi / dt_plus_tau - vn) / Rn
    yr, ratio = math.sqrt(y1 * y1 + y2 * y2), Rt / Rn
    t1, t2 = (y1 / yr, y2 / yr) if yr > 0.0 else (0.0, 0.0)
    scale = 1.0 + mu * mu * ratio
    N = (yn + mu * ratio * yr) / scale
    if yr < mu * yn:
        gamma[0], gamma[1], gamma[2] = y1, y2, yn
    elif N > 0.0:
        gamma[0], gamma[1], gamma[2] = mu * N * t1, mu * N * t2, N
    else:
        gamma[:] = 0.0
    seed = np.zeros(PARTIALS)
    for j in range(PARTIALS):
        # the derivative along one variable; the others stay
        seed[j] = 1.0
        d1, d2, dn, dphi, _, dw, dk, _, dtau, dmu, _, _, _, _ = seed
        seed[j] = 0.0
        dRt = sigma * dw
        dRn = rigid / w * dw if rigid > soft else -Rn * (dk / k + dtau / dt_plus_tau)
        dy1, dy2 = -(d1 + y1 * dRt) / Rt, -(d2 + y2 * dRt) / Rt
        dyn = (-dphi / dt_plus_tau + phi / (dt_plus_tau * dt_plus_tau) * dtau - dn - yn * dRn) / Rn
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


@njit(cache=True, nogil=True, error_model="numpy")
def _elastoplastic(
    dt: float,
    f0: _Five,
    f1: _Five,
    parameters: np.ndarray,
    v: np.ndarray,
    gamma: np.ndarray,
    out: np.ndarray,
) -> None:
    """Derivatives of the elastoplastic law; f0 and f1 are the normal law at the lagged and at the new state."""
    mu, e1, e2, kt, bt = parameters[5], parameters[6], parameters[7], parameters[8], parameters[9]
    v1, v2 = v[0], v[1]
    bound = mu * dt * f0[0]
    kappa = bt + dt * kt
    p1, p2 = kt * e1 + kappa * v1, kt * e2 + kappa * v2
    size = math.sqrt(p1 * p1 + p2 * p2)
    F = bound / dt
    factor = 0.0 if F <= 0.0 else -dt if size <= F else -dt * F / size
    gamma[0], gamma[1], gamma[2] = factor * p1, factor * p2, dt * f1[0]
    seed = np.zeros(PARTIALS)
    for j in range(PARTIALS):
        seed[j] = 1.0
        d1, d2, dn, dphi, dv0, _, dk, dd, _, dmu, de1, de2, dkt, dbt = seed
        seed[j] = 0.0
        out[2, j] = dt * ((dt * f1[1] + f1[2]) * dn + f1[1] * dphi + f1[3] * dk + f1[4] * dd)
        if F <= 0.0:
            out[0, j] = out[1, j] = 0.0
            continue
        dkappa = dbt + dt * dkt
        dp1 = kt * de1 + e1 * dkt + kappa * d1 + v1 * dkappa
        dp2 = kt * de2 + e2 * dkt + kappa * d2 + v2 * dkappa
        if size <= F:
            out[0, j], out[1, j] = -dt * dp1, -dt * dp2
        else:
            dbound = mu * dt * (f0[1] * dphi + f0[2] * dv0 + f0[3] * dk + f0[4] * dd) + dt * f0[0] * dmu
            u1, u2 = p1 / size, p2 / size
            along = u1 * dp1 + u2 * dp2
            out[0, j] = -dbound * u1 - dt * F / size * (dp1 - along * u1)
            out[1, j] = -dbound * u2 - dt * F / size * (dp2 - along * u2)


@njit(cache=True, nogil=True, error_model="numpy")
def _soft(
    approximation: int,
    law: int,
    addresses: np.ndarray,
    numbers: tuple[float, float, float, float],
    w: float,
    f0: _Five,
    parameters: np.ndarray,
    v: np.ndarray,
    gamma: np.ndarray,
    out: np.ndarray,
) -> None:
    """Derivatives of Lagged and Similar, with the soft norm; f0 is the normal law at the lagged state."""
    dt, v_s, sigma, _ = numbers
    phi, k, d, mu = parameters[0], parameters[2], parameters[3], parameters[5]
    v1, v2, vn = v
    similar = approximation in (kernels.SIMILAR, kernels.SIMILAR_REGULARIZED)
    bound = mu * dt * f0[0]
    eps = v_s
    wide = (approximation in (kernels.LAGGED_REGULARIZED, kernels.SIMILAR_REGULARIZED)) and sigma * w * bound > v_s
    if wide:
        eps = sigma * w * bound
    root = math.sqrt(v1 * v1 + v2 * v2 + eps * eps)
    t1, t2 = v1 / root, v2 / root
    soft_norm = (v1 * v1 + v2 * v2) / (root + eps)
    z = vn - mu * soft_norm if similar else vn
    f1 = _normal_law(law, addresses, phi + dt * z, z, k, d)
    N = dt * f1[0]
    friction = mu * N if similar else bound
    gamma[0], gamma[1], gamma[2] = -friction * t1, -friction * t2, N
    seed = np.zeros(PARTIALS)
    for j in range(PARTIALS):
        seed[j] = 1.0
        d1, d2, dn, dphi, dv0, dw, dk, dd, _, dmu, _, _, _, _ = seed
        seed[j] = 0.0
        dbound = mu * dt * (f0[1] * dphi + f0[2] * dv0 + f0[3] * dk + f0[4] * dd) + dt * f0[0] * dmu
        deps = sigma * (bound * dw + w * dbound) if wide else 0.0
        along = t1 * d1 + t2 * d2
        dt1 = (d1 - t1 * along) / root - t1 * eps / (root * root) * deps
        dt2 = (d2 - t2 * along) / root - t2 * eps / (root * root) * deps
        dz = dn
        if similar:
            dz -= mu * along + soft_norm * dmu + mu * (eps / root - 1.0) * deps
        dN = dt * ((dt * f1[1] + f1[2]) * dz + f1[1] * dphi + f1[3] * dk + f1[4] * dd)
        out[2, j] = dN
        if similar:
            dbound = dmu * N + mu * dN
        out[0, j], out[1, j] = -dbound * t1 - friction * dt1, -dbound * t2 - friction * dt2


@njit(cache=True, nogil=True, error_model="numpy")
def bearing(approximation: int, law: int, period: float, c: ContactRecord, vc: np.ndarray, out: np.ndarray) -> None:
    """Which contacts may have an impulse or a derivative of it that is not zero (n,)."""
    for k in range(c.count[0]):
        gap = c.phi0[k]
        speed = vc[k, 2]
        if approximation in (kernels.SAP, kernels.SIMILAR, kernels.SIMILAR_REGULARIZED):
            horizon = period + (c.relaxation_time[k] if approximation == kernels.SAP else 0.0)
            slip = math.sqrt(vc[k, 0] ** 2 + vc[k, 1] ** 2)
            out[k] = law == kernels.FUNCTION or gap + horizon * (speed - c.friction[k] * slip) < 0.0
        else:
            out[k] = law == kernels.FUNCTION or gap < 0.0 or gap + period * speed < 0.0
