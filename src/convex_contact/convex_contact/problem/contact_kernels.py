"""The convex approximations of contact (section V): potential, impulse and Hessian of one contact.

With the velocity v_c = (v_t, v_n) of a contact its impulse is gamma = -dl/dv_c and its part of the Newton matrix
G = d^2 l/dv_c^2, which is positive semidefinite because l is convex. `prepare` computes a row of derived numbers from
the parameters of a contact; the other functions use this row. Velocities and impulses are scalars t1, t2, n, so that
nothing is allocated. `approximations` maps these functions over arrays; `prepare` and `impulse` are `elementwise`.

All approximations treat anisotropic friction by the change of variables of appendix B: with a friction tensor M
the tangential velocity enters as x = M v_t and friction has the coefficient s = 1; isotropic friction is x = v_t
with s = mu. A force M y then satisfies ||M^-1 (M y)|| <= gamma_n, the elliptic cone. m2 = ||M||_F^2/2 (1 for isotropic
friction) scales the regularisation, so that M = mu I has the tangential stiffness of the coefficient mu.

**SAP** (section V-A; Castro, Permenter, Han 2022): linear spring and relaxation time, friction strongly coupled. With
R_n = max(beta^2 w/(4 pi^2), 1/(dt k (dt + tau_d))), R_t = sigma w m2, v^_n = -phi0/(dt + tau_d) and
y = -R^-1 (x, v_n - v^_n) the impulse is the projection of y on the friction cone in the norm of R, and
l = gamma^T R gamma / 2.

**Lagged** (section V-B): friction bounded by the normal impulse of the previous step, gamma_n0 = dt f_n(phi0, v_n0).
l = s gamma_n0 ||x||_s - N(v_n), with the soft norm of appendix A of width eps = v_s, or, regularised,
eps = max(v_s, sigma w s m2 gamma_n0), eq. (26).

**Similar** (section V-C): normal force and friction as functions of z = v_n - s ||x||_s.
l = -N(z); gamma_n = n(z), gamma_x = -s n(z) t_s. The bracket of the paper's Hessian lacks a mu; here

    G_xx = s n(z) (I - t_s t_s^T)/(||x||_s + eps) - s^2 n'(z) t_s t_s^T,  G_xn = s n'(z) t_s,  G_nn = -n'(z).

**Elastoplastic**, beyond the paper: Lagged with tangential springs, the implicit model C of Kikuuwe et al.
With the bound F = s gamma_n0/dt, kappa = b_t + dt k_t (over m2 for a tensor) and the trial force
p(x) = k_t (e + dt x) + b_t x, also for x, the potential is Huber's function of an affine map,

    l_t = dt/kappa h(p),   h(p) = ||p||^2/2 for ||p|| <= F,   F ||p|| - F^2/2 beyond,

convex and once continuously differentiable: gamma_x = -dt f with f = min(1, F/||p||) p, and
G_xx = dt kappa [I, or F/||p|| (I - p p^T/||p||^2)]. Then e_new = (b_t e + dt f)/kappa, as in their (38c)
(`elastoplastic`). A sticking contact comes to rest where k_t e balances the load: there is no creep.

The matrix of a primal-dual Newton step (`friction_directions`) has a second direction y of friction beside t in the
part (I - t t^T) of G_xx.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from convex_contact.problem.elementwise import elementwise, larger
from convex_contact.problem.near_rigid import near_rigid_compliance
from convex_contact.problem.normal_law_kernels import FUNCTION as FUNCTION
from convex_contact.problem.normal_law_kernels import HERTZ as HERTZ
from convex_contact.problem.normal_law_kernels import LINEAR as LINEAR
from convex_contact.problem.normal_law_kernels import normal_antiderivative, normal_force, normal_slope
from convex_contact.problem.row_law import spring_compliance
from haptic_files.moved_modules import renamed

SAP, LAGGED, LAGGED_REGULARIZED, SIMILAR, SIMILAR_REGULARIZED, LAGGED_ELASTOPLASTIC = range(6)

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
D_DIRECTION = 14  # y, two components
DERIVED = 16

#: columns of a row's parameters (`constraints`)
ROW_BIAS, ROW_TARGET, ROW_COMPLIANCE, ROW_NEAR_RIGID, ROW_LOWER, ROW_UPPER, ROW_PARAMETERS = range(7)


class ContactLaw(NamedTuple):
    """Approximation, normal law and period of all contacts of a problem.

    Attributes:
        approximation: code of the approximation.
        normal_law: code of the normal law.
        addresses: addresses of the functions of a user's normal law, shape (4,).
        period: dt [s].
    """

    approximation: int
    normal_law: int
    addresses: np.ndarray
    period: Any


class Regularisation(NamedTuple):
    """Regularisation of a problem: v_s [m/s], sigma [-] and beta [-] of SAP."""

    stiction_tolerance: Any
    sigma: Any
    near_rigid: Any


class Response(NamedTuple):
    """Impulse of a contact along t1, t2, n [N s] and the entries of its symmetric Hessian G [kg]."""

    g1: float
    g2: float
    gn: float
    h11: float
    h12: float
    h22: float
    h1n: float
    h2n: float
    hnn: float


@elementwise
def mean_square(m11: Any, m12: Any, m22: Any) -> Any:
    """Returns m2 = ||M||_F^2/2 of a friction tensor M; 1 for M = I."""
    return 0.5 * (m11 * m11 + 2.0 * m12 * m12 + m22 * m22)


#: regions of SAP's projection on the friction cone: inside it, on its surface, at its apex
STICK, SLIDE, APART = range(3)


@elementwise
def prepare(law: ContactLaw, numbers: Regularisation, w: Any, p: np.ndarray, derived: np.ndarray, i: int) -> None:
    """Computes the derived numbers of contact i, from its row of `p` and w = ||J A^-1 J^T||_F / 3 [1/kg]."""
    dt, approximation = law.period, law.approximation
    k, s = p[i, STIFFNESS], p[i, COEFFICIENT]
    a, b, c = p[i, M11], p[i, M12], p[i, M22]
    m2 = mean_square(a, b, c)
    derived[i, PHI0], derived[i, STIFFNESS], derived[i, DISSIPATION] = p[i, PHI0], k, p[i, DISSIPATION]
    derived[i, COEFFICIENT] = s
    derived[i, M11], derived[i, M12], derived[i, M22] = a, b, c
    derived[i, D_ISOTROPIC] = 1.0 if a == 1.0 and b == 0.0 and c == 1.0 else 0.0
    if approximation == SAP:
        dt_plus_tau = dt + p[i, RELAXATION_TIME]
        Rn = larger(near_rigid_compliance(numbers.near_rigid, w), spring_compliance(dt, k, dt_plus_tau))
        Rt = numbers.sigma * w * m2
        derived[i, D_EPS], derived[i, D_BOUND] = Rt, Rn
        derived[i, D_FIRST], derived[i, D_SECOND] = -p[i, PHI0] / dt_plus_tau, s * s * Rt / Rn
        return
    lagged = s * dt * normal_force(law.normal_law, law.addresses, p[i, PHI0], p[i, V_N0], k, p[i, DISSIPATION])
    if approximation == LAGGED_ELASTOPLASTIC:
        kt = p[i, TANGENTIAL_STIFFNESS] / m2
        e1, e2 = p[i, ELASTIC_DISPLACEMENT], p[i, ELASTIC_DISPLACEMENT + 1]
        derived[i, D_EPS] = p[i, TANGENTIAL_DAMPING] / m2 + dt * kt
        derived[i, D_BOUND] = lagged / dt
        derived[i, D_FIRST], derived[i, D_SECOND] = kt * (a * e1 + b * e2), kt * (b * e1 + c * e2)
        return
    eps = numbers.stiction_tolerance
    if approximation in (LAGGED_REGULARIZED, SIMILAR_REGULARIZED):
        eps = larger(eps, numbers.sigma * w * m2 * lagged)
    derived[i, D_EPS], derived[i, D_BOUND] = eps, lagged


@njit(error_model="numpy", _nrt=False, cache=True)
def needs_delassus_norm(approximation: int) -> bool:
    """Returns whether the approximation depends on w."""
    return approximation in (SAP, LAGGED_REGULARIZED, SIMILAR_REGULARIZED)


@elementwise
def scale_velocity(q: np.ndarray, i: int, v1: Any, v2: Any) -> Any:
    """Returns M v for a tangential vector v."""
    return q[i, M11] * v1 + q[i, M12] * v2, q[i, M12] * v1 + q[i, M22] * v2


@elementwise
def project_on_cone(q: np.ndarray, i: int, x1: Any, x2: Any, vn: Any) -> Any:
    """Projects y of SAP on the friction cone; returns y_1, y_2, the normal impulse, ||y_t|| and the region.

    The tangential impulse is y_t (STICK), s gamma_n y_t/||y_t|| (SLIDE) or 0 (APART).
    """
    s, Rt, Rn = q[i, COEFFICIENT], q[i, D_EPS], q[i, D_BOUND]
    y1, y2, yn = -x1 / Rt, -x2 / Rt, (q[i, D_FIRST] - vn) / Rn
    yr = np.sqrt(y1 * y1 + y2 * y2)
    if yr.real < (s * yn).real:
        return y1, y2, yn, yr, STICK
    yn = yn + s * Rt / Rn * yr
    if yn.real <= 0.0:
        return y1, y2, yn, yr, APART
    return y1, y2, yn / (1.0 + q[i, D_SECOND]), yr, SLIDE


@elementwise
def trial_force(q: np.ndarray, i: int, x1: Any, x2: Any) -> Any:
    """Returns the trial force p of the elastoplastic approximation [N], and ||p||."""
    p1, p2 = q[i, D_FIRST] + q[i, D_EPS] * x1, q[i, D_SECOND] + q[i, D_EPS] * x2
    return p1, p2, np.sqrt(p1 * p1 + p2 * p2)


@elementwise
def soft_root(x1: Any, x2: Any, eps: Any) -> Any:
    """Returns ||x||^2 and root = sqrt(||x||^2 + eps^2); ||x||_s = ||x||^2/(root + eps), t_s = x/root (appendix A)."""
    size = x1 * x1 + x2 * x2
    return size, np.sqrt(size + eps * eps)


@elementwise
def similar_velocity(q: np.ndarray, i: int, size: Any, root: Any, vn: Any) -> Any:
    """Returns z = v_n - s ||x||_s of Similar [m/s]."""
    return vn - q[i, COEFFICIENT] * size / (root + q[i, D_EPS])


@elementwise
def _normal_impulse(law: ContactLaw, q: np.ndarray, i: int, v: Any) -> Any:
    """Returns the normal impulse n(v) = dt f_n(phi0 + dt v, v) [N s]."""
    dt = law.period
    return dt * normal_force(law.normal_law, law.addresses, q[i, PHI0] + dt * v, v, q[i, STIFFNESS], q[i, DISSIPATION])


@elementwise
def _normal_slope(law: ContactLaw, q: np.ndarray, i: int, v: float) -> float:
    """Returns -n'(v) [kg]."""
    dt = law.period
    return normal_slope(law.normal_law, law.addresses, dt, q[i, PHI0] + dt * v, v, q[i, STIFFNESS], q[i, DISSIPATION])


@elementwise
def _normal_potential(law: ContactLaw, q: np.ndarray, i: int, v: float) -> float:
    """Returns the potential -N(v) [J]."""
    k, d = q[i, STIFFNESS], q[i, DISSIPATION]
    return -law.period * normal_antiderivative(law.normal_law, law.addresses, v, q[i, PHI0], law.period, k, d)


@elementwise
def impulse(law: ContactLaw, q: np.ndarray, i: int, v1: Any, v2: Any, vn: Any) -> Any:
    """Returns the impulse gamma of contact i [N s] along t1, t2, n; q[i] are its derived numbers."""
    a, b, c = q[i, M11], q[i, M12], q[i, M22]
    dt, s, bound = law.period, q[i, COEFFICIENT], q[i, D_BOUND]
    x1, x2 = scale_velocity(q, i, v1, v2)
    if law.approximation == SAP:
        y1, y2, yn, yr, part = project_on_cone(q, i, x1, x2, vn)
        if part == APART:
            return 0.0, 0.0, 0.0
        if part == SLIDE:
            factor = s * yn / yr if yr.real > 0.0 else 0.0
            y1, y2 = y1 * factor, y2 * factor
        return a * y1 + b * y2, b * y1 + c * y2, yn
    if law.approximation == LAGGED_ELASTOPLASTIC:
        gn = _normal_impulse(law, q, i, vn)
        x1, x2, size = trial_force(q, i, x1, x2)
        sticking = size.real <= bound.real and (bound.real > 0.0 or size == 0.0)
        factor = -dt if sticking else -dt * bound / size  # size > 0 where it exceeds the bound
    elif law.approximation in (LAGGED, LAGGED_REGULARIZED):
        gn = _normal_impulse(law, q, i, vn)
        factor = -bound / soft_root(x1, x2, q[i, D_EPS])[1]
    else:
        size, root = soft_root(x1, x2, q[i, D_EPS])
        gn = _normal_impulse(law, q, i, similar_velocity(q, i, size, root, vn))
        factor = -s * gn / root
    return factor * (a * x1 + b * x2), factor * (b * x1 + c * x2), gn


@elementwise
def _sap(q: np.ndarray, i: int, x1: float, x2: float, vn: float, dual: bool) -> Response:
    """Returns gamma and G of SAP for contact i with respect to the scaled velocity (x, v_n), x = M v_t."""
    s, Rt, Rn = q[i, COEFFICIENT], q[i, D_EPS], q[i, D_BOUND]
    y1, y2, yn, yr, part = project_on_cone(q, i, x1, x2, vn)
    if part == STICK:
        return Response(y1, y2, yn, 1.0 / Rt, 0.0, 1.0 / Rt, 0.0, 0.0, 1.0 / Rn)
    if part == APART:
        return Response(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    hn = 1.0 / (Rn * (1.0 + q[i, D_SECOND]))
    if yr == 0.0:
        return Response(0.0, 0.0, yn, 0.0, 0.0, 0.0, 0.0, 0.0, hn)
    t1, t2 = y1 / yr, y2 / yr
    across, along = s * yn / (Rt * yr), s * s * hn
    d1, d2 = _direction_difference(q, i, t1, t2, dual)
    h11 = across * (t2 * t2 - d1 * t1) + along * t1 * t1
    h22 = across * (t1 * t1 - d2 * t2) + along * t2 * t2
    h12 = (along - across) * t1 * t2 - 0.5 * across * (d1 * t2 + d2 * t1)
    return Response(s * yn * t1, s * yn * t2, yn, h11, h12, h22, s * hn * t1, s * hn * t2, hn)


@elementwise
def _direction_difference(q: np.ndarray, i: int, t1: float, t2: float, dual: bool) -> tuple[float, float]:
    """Returns y - t of a primal-dual Newton step; 0 for the Hessian."""
    if dual:
        return q[i, D_DIRECTION] - t1, q[i, D_DIRECTION + 1] - t2
    return 0.0, 0.0


@elementwise
def _elastoplastic(law: ContactLaw, q: np.ndarray, i: int, x1: float, x2: float, vn: float, dual: bool) -> Response:
    """Returns gamma and G of the elastoplastic approximation with respect to the scaled velocity (x, v_n)."""
    dt, kappa, bound = law.period, q[i, D_EPS], q[i, D_BOUND]
    gn, hn = _normal_impulse(law, q, i, vn), _normal_slope(law, q, i, vn)
    p1, p2, size = trial_force(q, i, x1, x2)
    if bound <= 0.0:
        return Response(0.0, 0.0, gn, 0.0, 0.0, 0.0, 0.0, 0.0, hn)
    if size <= bound:
        return Response(-dt * p1, -dt * p2, gn, dt * kappa, 0.0, dt * kappa, 0.0, 0.0, hn)
    t1, t2 = p1 / size, p2 / size
    across = dt * kappa * bound / size
    d1, d2 = _direction_difference(q, i, t1, t2, dual)
    h11, h22 = across * (t2 * t2 - d1 * t1), across * (t1 * t1 - d2 * t2)
    h12 = -across * (t1 * t2 + 0.5 * (d1 * t2 + d2 * t1))
    return Response(-dt * bound * t1, -dt * bound * t2, gn, h11, h12, h22, 0.0, 0.0, hn)


@elementwise
def _soft(law: ContactLaw, q: np.ndarray, i: int, x1: float, x2: float, vn: float, dual: bool) -> Response:
    """Returns gamma and G of Lagged or Similar with respect to the scaled velocity (x, v_n)."""
    s, eps, bound = q[i, COEFFICIENT], q[i, D_EPS], q[i, D_BOUND]
    size, root = soft_root(x1, x2, q[i, D_EPS])
    t1, t2 = x1 / root, x2 / root
    # I - t t^T, without cancellation: (eps^2 I + x x^T rotated by a right angle)/root^2
    e2 = (eps / root) * (eps / root)
    d1, d2 = _direction_difference(q, i, t1, t2, dual)
    p11, p12, p22 = e2 + t2 * t2 - d1 * t1, -t1 * t2 - 0.5 * (d1 * t2 + d2 * t1), e2 + t1 * t1 - d2 * t2
    if law.approximation in (LAGGED, LAGGED_REGULARIZED):
        gn, hn = _normal_impulse(law, q, i, vn), _normal_slope(law, q, i, vn)
        h = bound / root
        return Response(-bound * t1, -bound * t2, gn, h * p11, h * p12, h * p22, 0.0, 0.0, hn)
    z = similar_velocity(q, i, size, root, vn)
    gn, hn = _normal_impulse(law, q, i, z), _normal_slope(law, q, i, z)
    curvature, along = s * gn / root, s * s * hn
    h11 = curvature * p11 + along * t1 * t1
    h12 = curvature * p12 + along * t1 * t2
    h22 = curvature * p22 + along * t2 * t2
    return Response(-s * gn * t1, -s * gn * t2, gn, h11, h12, h22, -s * hn * t1, -s * hn * t2, hn)


@njit(error_model="numpy", forceinline=True, _nrt=False, cache=True)
def impulse_and_hessian(law: ContactLaw, q: np.ndarray, i: int, v1: float, v2: float, vn: float) -> Response:
    """Returns the impulse gamma and the Hessian G of contact i."""
    return _response(law, q, i, v1, v2, vn, False)


@njit(error_model="numpy", forceinline=True, _nrt=False, cache=True)
def newton_hessian(law: ContactLaw, q: np.ndarray, i: int, v1: float, v2: float, vn: float) -> Response:
    """Returns the impulse gamma, and the matrix of the primal-dual Newton step in place of G."""
    return _response(law, q, i, v1, v2, vn, True)


@elementwise
def _response(law: ContactLaw, q: np.ndarray, i: int, v1: float, v2: float, vn: float, dual: bool) -> Response:
    a, b, c = q[i, M11], q[i, M12], q[i, M22]
    x1, x2 = scale_velocity(q, i, v1, v2)
    if law.approximation == SAP:
        x = _sap(q, i, x1, x2, vn, dual)
    elif law.approximation == LAGGED_ELASTOPLASTIC:
        x = _elastoplastic(law, q, i, x1, x2, vn, dual)
    else:
        x = _soft(law, q, i, x1, x2, vn, dual)
    if q[i, D_ISOTROPIC] == 1.0:
        return x
    g1, g2 = scale_velocity(q, i, x.g1, x.g2)
    h1n, h2n = scale_velocity(q, i, x.h1n, x.h2n)
    u11, u12 = x.h11 * a + x.h12 * b, x.h11 * b + x.h12 * c
    u21, u22 = x.h12 * a + x.h22 * b, x.h12 * b + x.h22 * c
    h11, h12, h22 = a * u11 + b * u21, a * u12 + b * u22, b * u12 + c * u22
    return Response(g1, g2, x.gn, h11, h12, h22, h1n, h2n, x.hnn)


@njit(error_model="numpy", _nrt=False, cache=True)
def potential(law: ContactLaw, q: np.ndarray, i: int, v1: float, v2: float, vn: float) -> float:
    """Returns the potential l of contact i [J], up to a constant."""
    x1, x2 = scale_velocity(q, i, v1, v2)
    bound = q[i, D_BOUND]
    if law.approximation == SAP:
        x = _sap(q, i, x1, x2, vn, False)
        return 0.5 * (q[i, D_EPS] * (x.g1 * x.g1 + x.g2 * x.g2) + q[i, D_BOUND] * x.gn * x.gn)
    if law.approximation == LAGGED_ELASTOPLASTIC:
        size = trial_force(q, i, x1, x2)[2]
        huber = 0.5 * size * size if size <= bound else bound * size - 0.5 * bound * bound
        return law.period / q[i, D_EPS] * huber + _normal_potential(law, q, i, vn)
    size, root = soft_root(x1, x2, q[i, D_EPS])
    if law.approximation in (LAGGED, LAGGED_REGULARIZED):
        return bound * size / (root + q[i, D_EPS]) + _normal_potential(law, q, i, vn)
    return _normal_potential(law, q, i, similar_velocity(q, i, size, root, vn))


@njit(error_model="numpy", _nrt=False, cache=True)
def sticks(law: ContactLaw, q: np.ndarray, i: int, v1: float, v2: float, vn: float) -> bool:
    """Returns whether contact i has a friction bound above 0 and is below its transition speed (Table I)."""
    x1, x2 = scale_velocity(q, i, v1, v2)
    bound = q[i, D_BOUND]
    if law.approximation == SAP:
        return project_on_cone(q, i, x1, x2, vn)[4] == STICK
    if law.approximation == LAGGED_ELASTOPLASTIC:
        return bound > 0.0 and trial_force(q, i, x1, x2)[2] <= bound
    if law.approximation in (SIMILAR, SIMILAR_REGULARIZED):
        bound = q[i, COEFFICIENT] * impulse(law, q, i, v1, v2, vn)[2]
    return math.hypot(x1, x2) <= q[i, D_EPS] and bound > 0.0


@elementwise
def certainly_idle(law: ContactLaw, phi0: float, tau: float, s: float, x1: float, x2: float, vn: float) -> bool:
    """Returns whether a contact certainly has zero impulse and Hessian, by its parameters and x without w.

    The lagged approximations have no friction where phi0 >= 0. Similar's z is at least v_n - s ||x||. SAP's projection
    is at the apex of the cone where v_n - v^_n >= s ||x||, for any R.
    """
    if law.normal_law == FUNCTION:
        return False
    if law.approximation in (SAP, SIMILAR, SIMILAR_REGULARIZED):
        horizon = law.period + tau if law.approximation == SAP else law.period
        return phi0 + horizon * (vn - s * math.sqrt(x1 * x1 + x2 * x2)) >= 0.0
    return phi0 >= 0.0 and phi0 + law.period * vn >= 0.0


@njit(error_model="numpy", forceinline=True, _nrt=False, cache=True)
def idle_by_velocity(law: ContactLaw, p: np.ndarray, i: int, v1: float, v2: float, vn: float) -> bool:
    """Returns `certainly_idle` of contact i at a contact velocity."""
    x1, x2 = scale_velocity(p, i, v1, v2)
    return certainly_idle(law, p[i, PHI0], p[i, RELAXATION_TIME], p[i, COEFFICIENT], x1, x2, vn)


@njit(error_model="numpy", _nrt=False, cache=True)
def is_idle(law: ContactLaw, q: np.ndarray, i: int, v1: float, v2: float, vn: float) -> bool:
    """Returns whether contact i has zero impulse and Hessian at this velocity."""
    x = impulse_and_hessian(law, q, i, v1, v2, vn)
    return x.gn == 0.0 and x.hnn == 0.0 and x.g1 == 0.0 and x.g2 == 0.0 and x.h11 == 0.0 and x.h22 == 0.0


__getattr__ = renamed(__name__, {"needs_mobility": "needs_delassus_norm"})
