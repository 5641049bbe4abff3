"""The potentials of `approximations` for one contact, compiled.

`prepare` turns the parameters of a contact into a row of derived numbers; `impulse` and `impulse_and_hessian`
evaluate gamma and G from it. Velocities and impulses are scalars t1, t2, n, so that nothing is allocated.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from convex_contact.problem.near_rigid import compiled_near_rigid_compliance as near_rigid_compliance

SAP, LAGGED, LAGGED_REGULARIZED, SIMILAR, SIMILAR_REGULARIZED, LAGGED_ELASTOPLASTIC = range(6)
LINEAR, HERTZ, FUNCTION = range(3)

#: columns of a contact's parameters; isotropic friction has the coefficient mu and the tensor I, a tensor M the
#: coefficient 1
(
    PHI0,
    V_N0,
    STIFFNESS,
    DISSIPATION,
    RELAXATION_TIME,
    COEFFICIENT,
    M11,
    M12,
    M22,
    BIAS,
    TANGENTIAL_STIFFNESS,
    TANGENTIAL_DAMPING,
    ELASTIC_DISPLACEMENT,
    PARAMETERS,
) = (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 14, 16)

#: columns of a contact's derived numbers, beside PHI0, STIFFNESS, DISSIPATION, COEFFICIENT and M11 to M22
D_EPS = 9  # soft norm's width; elastoplastic: kappa; SAP: R_t
D_BOUND = 10  # s gamma_n0; elastoplastic: F; SAP: R_n
D_FIRST = 11  # elastoplastic: trial force at x = 0, first component; SAP: v^_n
D_SECOND = 12  # elastoplastic: second component; SAP: s^2 R_t/R_n
D_ISOTROPIC = 13  # 1 where M = I
DERIVED = 14

#: columns of a row's parameters (`constraints`)
ROW_BIAS, ROW_TARGET, ROW_COMPLIANCE, ROW_NEAR_RIGID, ROW_LOWER, ROW_UPPER, ROW_PARAMETERS = range(7)

_Three = tuple[float, float, float]
_Nine = tuple[float, float, float, float, float, float, float, float, float]


@intrinsic
def _call4(context, address, a, b, c, d):  # type: ignore[no-untyped-def]
    """Calls the double(double, double, double, double) function at an address."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        double = ir.DoubleType()
        pointer = builder.inttoptr(arguments[0], ir.FunctionType(double, [double] * 4).as_pointer())
        return builder.call(pointer, arguments[1:])

    return types.float64(types.int64, *[types.float64] * 4), generate


@njit(error_model="numpy", forceinline=True, _nrt=False, cache=True)
def normal_force(law: int, addresses: np.ndarray, phi: float, v: float, k: float, d: float) -> float:
    """f_n(phi, v)."""
    if law == FUNCTION:
        return _call4(addresses[0], phi, v, k, d)
    part = 1.0 - d * v
    if phi >= 0.0 or part <= 0.0:
        return 0.0
    if law == HERTZ:
        return k * -phi * math.sqrt(-phi) * part
    return k * -phi * part


@njit(error_model="numpy", forceinline=True, _nrt=False, cache=True)
def normal_slope(law: int, addresses: np.ndarray, dt: float, phi: float, v: float, k: float, d: float) -> float:
    """-n'(v) = -dt (dt df/dphi + df/dv)."""
    if law == FUNCTION:
        return -dt * (dt * _call4(addresses[1], phi, v, k, d) + _call4(addresses[2], phi, v, k, d))
    part = 1.0 - d * v
    if phi >= 0.0 or part <= 0.0:
        return 0.0
    if law == HERTZ:
        root = math.sqrt(-phi)
        return dt * k * root * (1.5 * dt * part - d * phi)
    return dt * k * (dt * part - d * phi)


@njit(error_model="numpy", _nrt=False, cache=True)
def prepare(
    approximation: int,
    law: int,
    addresses: np.ndarray,
    dt: float,
    stiction_tolerance: float,
    sigma: float,
    near_rigid: float,
    w: float,
    p: np.ndarray,
    derived: np.ndarray,
    i: int,
) -> None:
    """Derived numbers of contact i, from its row of `p` and w = ||J A^-1 J^T||_F / 3."""
    k, s = p[i, STIFFNESS], p[i, COEFFICIENT]
    a, b, c = p[i, M11], p[i, M12], p[i, M22]
    m2 = 0.5 * (a * a + 2.0 * b * b + c * c)
    derived[i, PHI0], derived[i, STIFFNESS], derived[i, DISSIPATION] = p[i, PHI0], k, p[i, DISSIPATION]
    derived[i, COEFFICIENT] = s
    derived[i, M11], derived[i, M12], derived[i, M22] = a, b, c
    derived[i, D_ISOTROPIC] = 1.0 if a == 1.0 and b == 0.0 and c == 1.0 else 0.0
    if approximation == SAP:
        dt_plus_tau = dt + p[i, RELAXATION_TIME]
        Rn = max(near_rigid_compliance(near_rigid, w), 1.0 / (dt * k * dt_plus_tau))
        Rt = sigma * w * m2
        derived[i, D_EPS], derived[i, D_BOUND] = Rt, Rn
        derived[i, D_FIRST], derived[i, D_SECOND] = -p[i, PHI0] / dt_plus_tau, s * s * Rt / Rn
        return
    lagged = s * dt * normal_force(law, addresses, p[i, PHI0], p[i, V_N0], k, p[i, DISSIPATION])
    if approximation == LAGGED_ELASTOPLASTIC:
        kt = p[i, TANGENTIAL_STIFFNESS] / m2
        e1, e2 = p[i, ELASTIC_DISPLACEMENT], p[i, ELASTIC_DISPLACEMENT + 1]
        derived[i, D_EPS] = p[i, TANGENTIAL_DAMPING] / m2 + dt * kt
        derived[i, D_BOUND] = lagged / dt
        derived[i, D_FIRST], derived[i, D_SECOND] = kt * (a * e1 + b * e2), kt * (b * e1 + c * e2)
        return
    eps = stiction_tolerance
    if approximation in (LAGGED_REGULARIZED, SIMILAR_REGULARIZED):
        eps = max(eps, sigma * w * m2 * lagged)
    derived[i, D_EPS], derived[i, D_BOUND] = eps, lagged


@njit(error_model="numpy", _nrt=False, cache=True)
def needs_mobility(approximation: int) -> bool:
    """The approximation depends on w."""
    return approximation in (SAP, LAGGED_REGULARIZED, SIMILAR_REGULARIZED)


@njit(error_model="numpy", forceinline=True, _nrt=False, cache=True)
def impulse(
    approximation: int,
    law: int,
    addresses: np.ndarray,
    dt: float,
    q: np.ndarray,
    i: int,
    v1: float,
    v2: float,
    vn: float,
) -> _Three:
    """gamma of contact i, whose derived numbers are q[i]."""
    a, b, c = q[i, M11], q[i, M12], q[i, M22]
    s = q[i, COEFFICIENT]
    x1, x2 = a * v1 + b * v2, b * v1 + c * v2
    if approximation == SAP:
        Rt, Rn, ratio = q[i, D_EPS], q[i, D_BOUND], q[i, D_SECOND]
        y1, y2, yn = -x1 / Rt, -x2 / Rt, (q[i, D_FIRST] - vn) / Rn
        yr = math.sqrt(y1 * y1 + y2 * y2)
        if yr >= s * yn:
            yn += s * Rt / Rn * yr
            if yn <= 0.0:
                return 0.0, 0.0, 0.0
            yn /= 1.0 + ratio
            factor = s * yn / yr if yr > 0.0 else 0.0
            y1 *= factor
            y2 *= factor
        return a * y1 + b * y2, b * y1 + c * y2, yn
    k, d = q[i, STIFFNESS], q[i, DISSIPATION]
    eps, bound = q[i, D_EPS], q[i, D_BOUND]
    if approximation == LAGGED_ELASTOPLASTIC:
        gn = dt * normal_force(law, addresses, q[i, PHI0] + dt * vn, vn, k, d)
        x1, x2 = q[i, D_FIRST] + eps * x1, q[i, D_SECOND] + eps * x2
        size = math.sqrt(x1 * x1 + x2 * x2)
        factor = -dt if size <= bound else -dt * bound / size  # size > 0 where it exceeds the bound
    elif approximation in (LAGGED, LAGGED_REGULARIZED):
        gn = dt * normal_force(law, addresses, q[i, PHI0] + dt * vn, vn, k, d)
        factor = -bound / math.sqrt(x1 * x1 + x2 * x2 + eps * eps)
    else:
        size = x1 * x1 + x2 * x2
        root = math.sqrt(size + eps * eps)
        z = vn - s * size / (root + eps)
        gn = dt * normal_force(law, addresses, q[i, PHI0] + dt * z, z, k, d)
        factor = -s * gn / root
    return factor * (a * x1 + b * x2), factor * (b * x1 + c * x2), gn


@njit(error_model="numpy", forceinline=True, _nrt=False, cache=True)
def _sap(q: np.ndarray, i: int, x1: float, x2: float, vn: float) -> _Nine:
    """SAP: gamma and G of contact i in the stretched velocity x."""
    s, Rt, Rn, ratio = q[i, COEFFICIENT], q[i, D_EPS], q[i, D_BOUND], q[i, D_SECOND]
    h1 = h2 = 0.0
    y1, y2, yn = -x1 / Rt, -x2 / Rt, (q[i, D_FIRST] - vn) / Rn
    yr = math.sqrt(y1 * y1 + y2 * y2)
    if yr < s * yn:
        h11, h12, h22, hn = 1.0 / Rt, 0.0, 1.0 / Rt, 1.0 / Rn
    else:
        yn += s * Rt / Rn * yr
        if yn <= 0.0:
            return 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        yn /= 1.0 + ratio
        hn = 1.0 / (Rn * (1.0 + ratio))
        if yr > 0.0:
            t1, t2 = y1 / yr, y2 / yr
            across, along = s * yn / (Rt * yr), s * s * hn
            h11 = across * t2 * t2 + along * t1 * t1
            h22 = across * t1 * t1 + along * t2 * t2
            h12 = (along - across) * t1 * t2
            h1, h2 = s * hn * t1, s * hn * t2
            y1, y2 = s * yn * t1, s * yn * t2
        else:
            h11 = h12 = h22 = 0.0
            y1 = y2 = 0.0
    return y1, y2, yn, h11, h12, h22, h1, h2, hn


@njit(error_model="numpy", forceinline=True, _nrt=False, cache=True)
def _elastoplastic(
    law: int, addresses: np.ndarray, dt: float, q: np.ndarray, i: int, x1: float, x2: float, vn: float
) -> _Nine:
    """The elastoplastic approximation, likewise."""
    k, d, kappa, bound = q[i, STIFFNESS], q[i, DISSIPATION], q[i, D_EPS], q[i, D_BOUND]
    phi = q[i, PHI0] + dt * vn
    gn = dt * normal_force(law, addresses, phi, vn, k, d)
    hn = normal_slope(law, addresses, dt, phi, vn, k, d)
    x1, x2 = q[i, D_FIRST] + kappa * x1, q[i, D_SECOND] + kappa * x2
    size = math.sqrt(x1 * x1 + x2 * x2)
    if bound <= 0.0:
        h11 = h12 = h22 = g1 = g2 = 0.0
    elif size <= bound:
        h11 = h22 = dt * kappa
        h12 = 0.0
        g1, g2 = -dt * x1, -dt * x2
    else:
        t1, t2 = x1 / size, x2 / size
        g1, g2 = -dt * bound * t1, -dt * bound * t2
        across = dt * kappa * bound / size
        h11, h12, h22 = across * t2 * t2, -across * t1 * t2, across * t1 * t1
    return g1, g2, gn, h11, h12, h22, 0.0, 0.0, hn


@njit(error_model="numpy", forceinline=True, _nrt=False, cache=True)
def _soft(
    law: int, addresses: np.ndarray, dt: float, lagged: bool, q: np.ndarray, i: int, x1: float, x2: float, vn: float
) -> _Nine:
    """Lagged and Similar with the soft norm, likewise."""
    k, d, s, eps, bound = q[i, STIFFNESS], q[i, DISSIPATION], q[i, COEFFICIENT], q[i, D_EPS], q[i, D_BOUND]
    size = x1 * x1 + x2 * x2
    root = math.sqrt(size + eps * eps)
    t1, t2 = x1 / root, x2 / root
    # I - t t^T, without cancellation: (eps^2 I + x x^T turned by a right angle)/root^2
    e2 = (eps / root) * (eps / root)
    p11, p12, p22 = e2 + t2 * t2, -t1 * t2, e2 + t1 * t1
    if lagged:
        phi = q[i, PHI0] + dt * vn
        gn = dt * normal_force(law, addresses, phi, vn, k, d)
        hn = normal_slope(law, addresses, dt, phi, vn, k, d)
        curvature = bound / root
        return (
            -bound * t1, -bound * t2, gn, curvature * p11, curvature * p12, curvature * p22, 0.0, 0.0, hn
        )  # fmt: skip
    z = vn - s * size / (root + eps)
    phi = q[i, PHI0] + dt * z
    gn = dt * normal_force(law, addresses, phi, z, k, d)
    hn = normal_slope(law, addresses, dt, phi, z, k, d)
    curvature, along = s * gn / root, s * s * hn
    h11 = curvature * p11 + along * t1 * t1
    h12 = curvature * p12 + along * t1 * t2
    h22 = curvature * p22 + along * t2 * t2
    return -s * gn * t1, -s * gn * t2, gn, h11, h12, h22, -s * hn * t1, -s * hn * t2, hn


@njit(error_model="numpy", forceinline=True, _nrt=False, cache=True)
def impulse_and_hessian(
    approximation: int,
    law: int,
    addresses: np.ndarray,
    dt: float,
    q: np.ndarray,
    i: int,
    v1: float,
    v2: float,
    vn: float,
) -> _Nine:
    """gamma_1, gamma_2, gamma_n, G_11, G_12, G_22, G_1n, G_2n, G_nn of contact i."""
    a, b, c = q[i, M11], q[i, M12], q[i, M22]
    x1, x2 = a * v1 + b * v2, b * v1 + c * v2
    if approximation == SAP:
        g1, g2, gn, h11, h12, h22, h1, h2, hn = _sap(q, i, x1, x2, vn)
    elif approximation == LAGGED_ELASTOPLASTIC:
        g1, g2, gn, h11, h12, h22, h1, h2, hn = _elastoplastic(law, addresses, dt, q, i, x1, x2, vn)
    else:
        lagged = approximation in (LAGGED, LAGGED_REGULARIZED)
        g1, g2, gn, h11, h12, h22, h1, h2, hn = _soft(law, addresses, dt, lagged, q, i, x1, x2, vn)
    if q[i, D_ISOTROPIC] == 1.0:
        return g1, g2, gn, h11, h12, h22, h1, h2, hn
    u11, u12, u21, u22 = h11 * a + h12 * b, h11 * b + h12 * c, h12 * a + h22 * b, h12 * b + h22 * c
    return (
        a * g1 + b * g2,
        b * g1 + c * g2,
        gn,
        a * u11 + b * u21,
        a * u12 + b * u22,
        b * u12 + c * u22,
        a * h1 + b * h2,
        b * h1 + c * h2,
        hn,
    )


@njit(error_model="numpy", forceinline=True, _nrt=False, cache=True)
def idle_by_velocity(
    approximation: int, law: int, dt: float, p: np.ndarray, i: int, v1: float, v2: float, vn: float
) -> bool:
    """Contact i has neither impulse nor Hessian, by its parameters alone, without w; False: not known.

    The lagged approximations have no friction where phi0 >= 0. Similar's z is at least v_n - s ||x||, and SAP's cone
    is left where v_n - v^_n >= s ||x||, whatever R is.
    """
    phi0 = p[i, PHI0]
    if approximation in (SAP, SIMILAR, SIMILAR_REGULARIZED):
        if law == FUNCTION:
            return False
        a, b, c = p[i, M11], p[i, M12], p[i, M22]
        x1, x2 = a * v1 + b * v2, b * v1 + c * v2
        horizon = dt + p[i, RELAXATION_TIME] if approximation == SAP else dt
        return phi0 + horizon * (vn - p[i, COEFFICIENT] * math.sqrt(x1 * x1 + x2 * x2)) >= 0.0
    return phi0 >= 0.0 and phi0 + dt * vn >= 0.0 and law != FUNCTION


@njit(error_model="numpy", _nrt=False, cache=True)
def is_idle(
    approximation: int,
    law: int,
    addresses: np.ndarray,
    dt: float,
    q: np.ndarray,
    i: int,
    v1: float,
    v2: float,
    vn: float,
) -> bool:
    """Contact i has neither impulse nor Hessian at this velocity."""
    g1, g2, gn, h11, _, h22, _, _, hn = impulse_and_hessian(approximation, law, addresses, dt, q, i, v1, v2, vn)
    return gn == 0.0 and hn == 0.0 and g1 == 0.0 and g2 == 0.0 and h11 == 0.0 and h22 == 0.0
