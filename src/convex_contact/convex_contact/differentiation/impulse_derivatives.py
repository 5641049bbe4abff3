"""Impulse of a contact and its derivatives by velocity, geometry and parameters."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from convex_contact.model.arrays import ContactRecord
from convex_contact.problem import contact_kernels as kernels
from convex_contact.problem.contact_kernels import ContactLaw, Regularisation
from convex_contact.problem.near_rigid import near_rigid_compliance
from convex_contact.problem.normal_law_kernels import normal_derivatives, normal_force
from haptic_files.moved_modules import renamed

#: columns of a contact's partial derivatives
VELOCITY, PHI, V_N0, DELASSUS_NORM, STIFFNESS, DISSIPATION, RELAXATION_TIME, FRICTION, ELASTIC, K_T, B_T, PARTIALS = (
    0, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 14
)  # fmt: skip


class _NormalForce(NamedTuple):
    """Normal force f_n [N] and its derivatives."""

    force: float
    by_phi: float
    by_v: float
    by_k: float
    by_d: float


@njit(cache=True, nogil=True, error_model="numpy")
def _evaluate_normal_law(law: ContactLaw, p: np.ndarray, phi: float, v: float) -> _NormalForce:
    """Evaluates the normal law at a signed distance [m] and a separation velocity [m/s]."""
    k, d = p[kernels.STIFFNESS], p[kernels.DISSIPATION]
    by_phi, by_v, by_k, by_d = normal_derivatives(law.normal_law, law.addresses, phi, v, k, d)
    return _NormalForce(normal_force(law.normal_law, law.addresses, phi, v, k, d), by_phi, by_v, by_k, by_d)


@njit(cache=True, nogil=True, error_model="numpy")
def partial_derivatives(
    law: ContactLaw,
    numbers: Regularisation,
    w: float,
    parameters: np.ndarray,
    v: np.ndarray,
    gamma: np.ndarray,
    out: np.ndarray,
) -> None:
    """Computes the impulse of a contact with isotropic friction, and its partial derivatives.

    Args:
        law: approximation, normal law and period.
        numbers: v_s, sigma, beta.
        w: Delassus estimate [1/kg].
        parameters: parameters with the columns of `contact_kernels` (16,).
        v: contact velocity v_c [m/s] (3,).
        gamma: output, impulse [N s] (3,).
        out: output, derivatives with the columns of this module (3, 14).
    """
    table, q = parameters.reshape((1, kernels.PARAMETERS)), np.zeros((1, kernels.DERIVED))
    kernels.prepare(law, numbers, w, table, q, 0)
    gamma[0], gamma[1], gamma[2] = kernels.impulse(law, q, 0, v[0], v[1], v[2])
    if law.approximation == kernels.SAP:
        _sap(law.period, numbers, w, parameters, q, v, out)
    elif law.approximation == kernels.LAGGED_ELASTOPLASTIC:
        _elastoplastic(law, parameters, q, v, out)
    else:
        _soft(law, numbers, w, parameters, q, v, out)


@njit(cache=True, nogil=True, error_model="numpy")
def _sap(
    dt: float,
    numbers: Regularisation,
    w: float,
    parameters: np.ndarray,
    q: np.ndarray,
    v: np.ndarray,
    out: np.ndarray,
) -> None:
    """Differentiates SAP's projection; q are the derived numbers, see `partial_derivatives` for the other arguments."""
    phi, k, mu = parameters[kernels.PHI0], parameters[kernels.STIFFNESS], parameters[kernels.COEFFICIENT]
    dt_plus_tau = dt + parameters[kernels.RELAXATION_TIME]
    Rt, Rn = q[0, kernels.D_EPS], q[0, kernels.D_BOUND]
    rigid = near_rigid_compliance(numbers.near_rigid, w) >= Rn
    y1, y2, N, yr, part = kernels.project_on_cone(q, 0, v[0], v[1], v[2])
    yn, ratio = (q[0, kernels.D_FIRST] - v[2]) / Rn, Rt / Rn
    t1, t2 = (y1 / yr, y2 / yr) if yr > 0.0 else (0.0, 0.0)
    scale = 1.0 + mu * mu * ratio
    seed = np.zeros(PARTIALS)
    for j in range(PARTIALS):
        # derivative by variable j at fixed other variables
        seed[j] = 1.0
        d1, d2, dn, dphi, _, dw, dk, _, dtau, dmu, _, _, _, _ = seed
        seed[j] = 0.0
        dRt = numbers.sigma * dw
        dRn = Rn / w * dw if rigid else -Rn * (dk / k + dtau / dt_plus_tau)
        dy1, dy2 = -(d1 + y1 * dRt) / Rt, -(d2 + y2 * dRt) / Rt
        dyn = (-dphi / dt_plus_tau + phi / (dt_plus_tau * dt_plus_tau) * dtau - dn - yn * dRn) / Rn
        if part == kernels.STICK:
            out[0, j], out[1, j], out[2, j] = dy1, dy2, dyn
        elif part == kernels.SLIDE:
            dyr = t1 * dy1 + t2 * dy2
            dratio = (dRt - ratio * dRn) / Rn
            dN = (dyn + mu * Rt / Rn * dyr + ratio * yr * dmu + mu * yr * dratio) / scale
            dN -= N * (2.0 * mu * ratio * dmu + mu * mu * dratio) / scale
            dt1, dt2 = ((dy1 - t1 * dyr) / yr, (dy2 - t2 * dyr) / yr) if yr > 0.0 else (0.0, 0.0)
            out[0, j] = mu * t1 * dN + N * t1 * dmu + mu * N * dt1
            out[1, j] = mu * t2 * dN + N * t2 * dmu + mu * N * dt2
            out[2, j] = dN
        else:
            out[0, j] = out[1, j] = out[2, j] = 0.0


@njit(cache=True, nogil=True, error_model="numpy")
def _elastoplastic(law: ContactLaw, parameters: np.ndarray, q: np.ndarray, v: np.ndarray, out: np.ndarray) -> None:
    """Differentiates the elastoplastic law; arguments as in `_sap`."""
    dt, mu, kt = law.period, parameters[kernels.COEFFICIENT], parameters[kernels.TANGENTIAL_STIFFNESS]
    phi, e = parameters[kernels.PHI0], parameters[kernels.ELASTIC_DISPLACEMENT :]
    f0 = _evaluate_normal_law(law, parameters, phi, parameters[kernels.V_N0])
    f1 = _evaluate_normal_law(law, parameters, phi + dt * v[2], v[2])
    kappa, F = q[0, kernels.D_EPS], q[0, kernels.D_BOUND]
    p1, p2, size = kernels.trial_force(q, 0, v[0], v[1])
    seed = np.zeros(PARTIALS)
    for j in range(PARTIALS):
        seed[j] = 1.0
        d1, d2, dn, dphi, dv0, _, dk, dd, _, dmu, de1, de2, dkt, dbt = seed
        seed[j] = 0.0
        out[2, j] = dt * ((dt * f1.by_phi + f1.by_v) * dn + f1.by_phi * dphi + f1.by_k * dk + f1.by_d * dd)
        if F <= 0.0:
            out[0, j] = out[1, j] = 0.0
            continue
        dkappa = dbt + dt * dkt
        dp1 = kt * de1 + e[0] * dkt + kappa * d1 + v[0] * dkappa
        dp2 = kt * de2 + e[1] * dkt + kappa * d2 + v[1] * dkappa
        if size <= F:
            out[0, j], out[1, j] = -dt * dp1, -dt * dp2
        else:
            df0 = f0.by_phi * dphi + f0.by_v * dv0 + f0.by_k * dk + f0.by_d * dd
            dbound = mu * dt * df0 + dt * f0.force * dmu
            u1, u2 = p1 / size, p2 / size
            along = u1 * dp1 + u2 * dp2
            out[0, j] = -dbound * u1 - dt * F / size * (dp1 - along * u1)
            out[1, j] = -dbound * u2 - dt * F / size * (dp2 - along * u2)


@njit(cache=True, nogil=True, error_model="numpy")
def _soft(
    law: ContactLaw,
    numbers: Regularisation,
    w: float,
    parameters: np.ndarray,
    q: np.ndarray,
    v: np.ndarray,
    out: np.ndarray,
) -> None:
    """Differentiates Lagged and Similar; arguments as in `_sap`."""
    dt, sigma, phi, mu = law.period, numbers.sigma, parameters[kernels.PHI0], parameters[kernels.COEFFICIENT]
    similar = law.approximation in (kernels.SIMILAR, kernels.SIMILAR_REGULARIZED)
    eps, bound = q[0, kernels.D_EPS], q[0, kernels.D_BOUND]
    wide = eps != numbers.stiction_tolerance
    square, root = kernels.soft_root(v[0], v[1], eps)
    t1, t2, soft_norm = v[0] / root, v[1] / root, square / (root + eps)
    z = kernels.similar_velocity(q, 0, square, root, v[2]) if similar else v[2]
    f0 = _evaluate_normal_law(law, parameters, phi, parameters[kernels.V_N0])
    f1 = _evaluate_normal_law(law, parameters, phi + dt * z, z)
    N = dt * f1.force
    friction = mu * N if similar else bound
    seed = np.zeros(PARTIALS)
    for j in range(PARTIALS):
        seed[j] = 1.0
        d1, d2, dn, dphi, dv0, dw, dk, dd, _, dmu, _, _, _, _ = seed
        seed[j] = 0.0
        df0 = f0.by_phi * dphi + f0.by_v * dv0 + f0.by_k * dk + f0.by_d * dd
        dbound = mu * dt * df0 + dt * f0.force * dmu
        deps = sigma * (bound * dw + w * dbound) if wide else 0.0
        along = t1 * d1 + t2 * d2
        dt1 = (d1 - t1 * along) / root - t1 * eps / (root * root) * deps
        dt2 = (d2 - t2 * along) / root - t2 * eps / (root * root) * deps
        dz = dn
        if similar:
            dz -= mu * along + soft_norm * dmu + mu * (eps / root - 1.0) * deps
        dN = dt * ((dt * f1.by_phi + f1.by_v) * dz + f1.by_phi * dphi + f1.by_k * dk + f1.by_d * dd)
        out[2, j] = dN
        if similar:
            dbound = dmu * N + mu * dN
        out[0, j], out[1, j] = -dbound * t1 - friction * dt1, -dbound * t2 - friction * dt2


@njit(cache=True, nogil=True, error_model="numpy")
def find_active_contacts(law: ContactLaw, c: ContactRecord, vc: np.ndarray, out: np.ndarray) -> None:
    """Writes the mask (n,) of the contacts whose impulse or its derivatives may be nonzero."""
    for k in range(c.count[0]):
        out[k] = not kernels.certainly_idle(
            law, c.phi0[k], c.relaxation_time[k], c.friction[k], vc[k, 0], vc[k, 1], vc[k, 2]
        )


__getattr__ = renamed(__name__, {"bearing": "find_active_contacts", "MOBILITY": "DELASSUS_NORM"})
