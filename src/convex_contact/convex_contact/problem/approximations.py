"""The convex approximations of contact (section V): potential, impulse and Hessian of one contact, in NumPy.

With the velocity v_c = (v_t, v_n) of a contact its impulse is gamma = -dl/dv_c and its share of the Newton matrix
G = d^2 l/dv_c^2, which is positive semidefinite because l is convex. This is the readable form, vectorised over the
contacts; `contact_kernels` has the same equations compiled. It also takes complex numbers, so that derivatives by
the complex step are exact to rounding (`gradients`).

All approximations treat anisotropic friction by the change of variables of appendix B: with a friction tensor M
the tangential velocity enters as x = M v_t and friction has the coefficient s = 1; isotropic friction is x = v_t
with s = mu. A force M y then satisfies ||M^-1 (M y)|| <= gamma_n, the elliptic cone. m2 = ||M||_F^2/2 (1 for isotropic
friction) carries the regularisation over, so that M = mu I has the tangential stiffness of the coefficient mu.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from convex_contact.problem.near_rigid import near_rigid_compliance
from convex_contact.problem.normal_laws import NormalLaw


@dataclass(frozen=True)
class ContactParameters:
    """What the potentials of nc contacts depend on beside their velocities; arrays (nc,) unless said otherwise.

    Attributes:
        period: dt [s].
        law: normal law.
        phi0: signed distance at the start of the step [m].
        v_n0: normal velocity of the previous step [m/s].
        stiffness: k [N/m].
        dissipation: d [s/m].
        relaxation_time: tau_d [s].
        friction: mu, shape (nc,), or the tensor M, shape (nc, 2, 2).
        delassus: w = ||J_i A^-1 J_i^T||_F / 3 [1/kg].
        stiction_tolerance: v_s [m/s], a number.
        sigma: a number.
        near_rigid: beta, a number.
        tangential_stiffness: k_t [N/m].
        tangential_damping: b_t [N s/m].
        elastic_displacement: e at the start of the step, in the contact's frame [m], shape (nc, 2).
    """

    period: float
    law: NormalLaw
    phi0: np.ndarray
    v_n0: np.ndarray
    stiffness: np.ndarray
    dissipation: np.ndarray
    relaxation_time: np.ndarray
    friction: np.ndarray
    delassus: np.ndarray
    stiction_tolerance: Any
    sigma: Any
    near_rigid: Any
    tangential_stiffness: np.ndarray
    tangential_damping: np.ndarray
    elastic_displacement: np.ndarray

    @property
    def coefficient(self) -> np.ndarray:
        """s: mu of isotropic friction, 1 of a tensor, shape (nc,)."""
        return self.friction if self.friction.ndim == 1 else np.ones(len(self.phi0))

    @property
    def mean_square(self) -> np.ndarray:
        """m2 = ||M||_F^2/2, 1 for isotropic friction, shape (nc,)."""
        return np.ones(len(self.phi0)) if self.friction.ndim == 1 else 0.5 * (self.friction**2).sum(axis=(1, 2))

    @property
    def lagged_impulse(self) -> np.ndarray:
        """gamma_n0 = dt f_n(phi0, v_n0) [N s], the normal impulse of the previous step."""
        return self.period * self.law.force(self.phi0, self.v_n0, self.stiffness, self.dissipation)

    def stretched(self, tangent: np.ndarray) -> np.ndarray:
        """x = M v, or v for isotropic friction; vectors (nc, 2)."""
        return tangent if self.friction.ndim == 1 else np.einsum("nij,nj->ni", self.friction, tangent)

    def stretched_twice(self, matrix: np.ndarray) -> np.ndarray:
        """M X M, or X for isotropic friction; matrices (nc, 2, 2)."""
        return matrix if self.friction.ndim == 1 else self.friction @ matrix @ self.friction

    def unstretched(self, x: np.ndarray) -> np.ndarray:
        """M^-1 x, or x for isotropic friction; vectors (nc, 2)."""
        return x if self.friction.ndim == 1 else np.linalg.solve(self.friction, x[..., None])[..., 0]

    def with_values(self, **values: Any) -> ContactParameters:
        """The same contacts with some parameters replaced."""
        return replace(self, **values)


class Approximation(ABC):
    """One convex approximation. Velocities v_c are arrays (nc, 3): t1, t2, n.

    Attributes:
        name: as `solve` takes it.
        code: as the compiled kernels take it.
    """

    name: str
    code: int

    @abstractmethod
    def potential(self, p: ContactParameters, v: np.ndarray) -> np.ndarray:
        """l [J], shape (nc,); up to a constant."""

    @abstractmethod
    def impulse(self, p: ContactParameters, v: np.ndarray) -> np.ndarray:
        """gamma = -dl/dv [N s], shape (nc, 3)."""

    @abstractmethod
    def hessian(self, p: ContactParameters, v: np.ndarray) -> np.ndarray:
        """G = d^2 l/dv^2 [kg], shape (nc, 3, 3), symmetric positive semidefinite."""

    @abstractmethod
    def sticking(self, p: ContactParameters, v: np.ndarray) -> np.ndarray:
        """The contact bears a force and stays below its transition speed (Table I), shape (nc,)."""

    def displacement(self, p: ContactParameters, impulse: np.ndarray) -> np.ndarray:
        """e at the end of the step [m], shape (nc, 2); zero where the approximation has none."""
        return np.zeros_like(p.elastic_displacement)


class Sap(Approximation):
    """SAP (section V-A; Castro, Permenter, Han 2022): linear spring and relaxation time, friction strongly coupled.

    With R_n = max(beta^2 w/(4 pi^2), 1/(dt k (dt + tau_d))), R_t = sigma w m2, v^_n = -phi0/(dt + tau_d) and
    y = -R^-1 (x, v_n - v^_n) the impulse is the projection of y on the friction cone in the norm of R, and
    l = gamma^T R gamma / 2.
    """

    name, code = "sap", 0

    def _unprojected(self, p: ContactParameters, v: np.ndarray) -> tuple[np.ndarray, ...]:
        rigid = near_rigid_compliance(p.near_rigid, p.delassus)
        soft = 1.0 / (p.period * p.stiffness * (p.period + p.relaxation_time))
        Rn = np.where(np.real(rigid) > np.real(soft), rigid, soft)
        Rt = p.sigma * p.delassus * p.mean_square
        yt = -p.stretched(v[:, :2]) / Rt[:, None]
        yn = (-p.phi0 / (p.period + p.relaxation_time) - v[:, 2]) / Rn
        yr = np.sqrt((yt * yt).sum(axis=1))
        mu = p.coefficient
        stick = np.real(yr) < np.real(mu * yn)
        slide = ~stick & (np.real(yn) > -np.real(mu * Rt / Rn * yr))
        direction = yt / np.where(np.real(yr) > 0.0, yr, 1.0)[:, None]
        return Rt, Rn, yt, yn, yr, mu, stick, slide, direction

    def _cone(self, p: ContactParameters, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Tangential (in x) and normal impulse."""
        Rt, Rn, yt, yn, yr, mu, stick, slide, direction = self._unprojected(p, v)
        sliding = (yn + mu * Rt / Rn * yr) / (1.0 + mu * mu * Rt / Rn)
        normal = np.where(stick, yn, np.where(slide, sliding, 0.0))
        tangent = np.where(stick[:, None], yt, np.where(slide, mu * sliding, 0.0)[:, None] * direction)
        return tangent, normal

    def potential(self, p: ContactParameters, v: np.ndarray) -> np.ndarray:
        Rt, Rn, *_ = self._unprojected(p, v)
        tangent, normal = self._cone(p, v)
        return 0.5 * (Rt * (tangent * tangent).sum(axis=1) + Rn * normal * normal)

    def impulse(self, p: ContactParameters, v: np.ndarray) -> np.ndarray:
        tangent, normal = self._cone(p, v)
        return np.concatenate([p.stretched(tangent), normal[:, None]], axis=1)

    def hessian(self, p: ContactParameters, v: np.ndarray) -> np.ndarray:
        Rt, Rn, _, yn, yr, mu, stick, slide, t = self._unprojected(p, v)
        ratio = mu * mu * Rt / Rn
        sliding = (yn + mu * Rt / Rn * yr) / (1.0 + ratio)
        along = np.where(stick, 1.0 / Rt, np.where(slide, mu * mu / (Rn * (1.0 + ratio)), 0.0))
        across = np.where(
            stick, 1.0 / Rt, np.where(slide, mu * sliding / (Rt * np.where(np.real(yr) > 0.0, yr, 1.0)), 0.0)
        )
        mixed = np.where(slide, mu / (Rn * (1.0 + ratio)), 0.0)[:, None] * t
        normal = np.where(stick, 1.0 / Rn, np.where(slide, 1.0 / (Rn * (1.0 + ratio)), 0.0))
        P = t[:, :, None] * t[:, None, :]
        tangent = across[:, None, None] * np.eye(2) + (along - across)[:, None, None] * P
        return _assembled(p, tangent, mixed, normal)

    def sticking(self, p: ContactParameters, v: np.ndarray) -> np.ndarray:
        return np.asarray(self._unprojected(p, v)[6])


class Lagged(Approximation):
    """Lagged (section V-B): friction bounded by the normal impulse of the previous step.

    l = s gamma_n0 ||x||_s - N(v_n), with the soft norm of appendix A of width eps = v_s, or, regularised,
    eps = max(v_s, sigma w s m2 gamma_n0), eq. (26).

    Args:
        regularized: use (26).
    """

    def __init__(self, regularized: bool) -> None:
        self.regularized = regularized
        self.name, self.code = ("lagged_regularized", 2) if regularized else ("lagged", 1)

    def potential(self, p: ContactParameters, v: np.ndarray) -> np.ndarray:
        norm, _, _ = soft_norm(p.stretched(v[:, :2]), tolerance(p, self.regularized))
        return p.coefficient * p.lagged_impulse * norm + _normal_potential(p, v[:, 2])

    def impulse(self, p: ContactParameters, v: np.ndarray) -> np.ndarray:
        _, t, _ = soft_norm(p.stretched(v[:, :2]), tolerance(p, self.regularized))
        tangent = p.stretched(-(p.coefficient * p.lagged_impulse)[:, None] * t)
        return np.concatenate([tangent, _normal_impulse(p, v[:, 2])[:, None]], axis=1)

    def hessian(self, p: ContactParameters, v: np.ndarray) -> np.ndarray:
        _, _, curvature = soft_norm(p.stretched(v[:, :2]), tolerance(p, self.regularized))
        tangent = (p.coefficient * p.lagged_impulse)[:, None, None] * curvature
        return _assembled(p, tangent, np.zeros_like(v[:, :2]), _normal_slope(p, v[:, 2]))

    def sticking(self, p: ContactParameters, v: np.ndarray) -> np.ndarray:
        x = p.stretched(v[:, :2])
        slow = np.hypot(x[:, 0], x[:, 1]) <= tolerance(p, self.regularized)
        return np.asarray(slow & (p.coefficient * p.lagged_impulse > 0.0))


class Similar(Approximation):
    """Similar (section V-C): normal force and friction as functions of z = v_n - s ||x||_s.

    l = -N(z); gamma_n = n(z), gamma_x = -s n(z) t_s. The bracket of the paper's Hessian lacks a mu; here

        G_xx = s n(z) (I - t_s t_s^T)/(||x||_s + eps) - s^2 n'(z) t_s t_s^T,  G_xn = s n'(z) t_s,  G_nn = -n'(z).

    Args:
        regularized: use (26), with the normal impulse of the previous step.
    """

    def __init__(self, regularized: bool) -> None:
        self.regularized = regularized
        self.name, self.code = ("similar_regularized", 4) if regularized else ("similar", 3)

    def _similar(self, p: ContactParameters, v: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        norm, t, curvature = soft_norm(p.stretched(v[:, :2]), tolerance(p, self.regularized))
        return v[:, 2] - p.coefficient * norm, t, curvature

    def potential(self, p: ContactParameters, v: np.ndarray) -> np.ndarray:
        return _normal_potential(p, self._similar(p, v)[0])

    def impulse(self, p: ContactParameters, v: np.ndarray) -> np.ndarray:
        z, t, _ = self._similar(p, v)
        normal = _normal_impulse(p, z)
        return np.concatenate([p.stretched(-(p.coefficient * normal)[:, None] * t), normal[:, None]], axis=1)

    def hessian(self, p: ContactParameters, v: np.ndarray) -> np.ndarray:
        z, t, curvature = self._similar(p, v)
        s, slope = p.coefficient, _normal_slope(p, z)
        tangent = (s * _normal_impulse(p, z))[:, None, None] * curvature
        tangent = tangent + (s * s * slope)[:, None, None] * t[:, :, None] * t[:, None, :]
        return _assembled(p, tangent, -(s * slope)[:, None] * t, slope)

    def sticking(self, p: ContactParameters, v: np.ndarray) -> np.ndarray:
        x = p.stretched(v[:, :2])
        slow = np.hypot(x[:, 0], x[:, 1]) <= tolerance(p, self.regularized)
        return np.asarray(slow & (p.coefficient * self.impulse(p, v)[:, 2] > 0.0))


class LaggedElastoplastic(Approximation):
    """Beyond the paper: Lagged with tangential springs that hold, the implicit model C of Kikuuwe et al.

    With the bound F = s gamma_n0/dt, kappa = b_t + dt k_t (over m2 for a tensor) and the trial force
    p(x) = k_t (e + dt x) + b_t x, also stretched, the potential is Huber's function of an affine map,

        l_t = dt/kappa h(p),   h(p) = ||p||^2/2 for ||p|| <= F,   F ||p|| - F^2/2 beyond,

    convex and once continuously differentiable: gamma_x = -dt f with f = min(1, F/||p||) p, and
    G_xx = dt kappa [I, or F/||p|| (I - p p^T/||p||^2)]. Then e_new = (b_t e + dt f)/kappa, as in their (38c).
    A contact that sticks comes to rest where k_t e carries the load: there is no creep.
    """

    name, code = "lagged_elastoplastic", 5

    def _trial(self, p: ContactParameters, v: np.ndarray) -> tuple[np.ndarray, ...]:
        k, b = p.tangential_stiffness / p.mean_square, p.tangential_damping / p.mean_square
        kappa = b + p.period * k
        trial = k[:, None] * p.stretched(p.elastic_displacement) + kappa[:, None] * p.stretched(v[:, :2])
        size = np.sqrt((trial * trial).sum(axis=1))
        bound = p.coefficient * p.lagged_impulse / p.period
        held = (np.real(size) <= np.real(bound)) & (np.real(bound) > 0.0)
        factor = np.where(held, 1.0, bound / np.where(np.real(size) > 0.0, size, 1.0))
        return kappa, trial, size, bound, held, factor

    def potential(self, p: ContactParameters, v: np.ndarray) -> np.ndarray:
        kappa, _, size, bound, held, _ = self._trial(p, v)
        huber = np.where(held, 0.5 * size * size, bound * size - 0.5 * bound * bound)
        return p.period / kappa * huber + _normal_potential(p, v[:, 2])

    def impulse(self, p: ContactParameters, v: np.ndarray) -> np.ndarray:
        _, trial, _, _, _, factor = self._trial(p, v)
        tangent = p.stretched(-p.period * factor[:, None] * trial)
        return np.concatenate([tangent, _normal_impulse(p, v[:, 2])[:, None]], axis=1)

    def hessian(self, p: ContactParameters, v: np.ndarray) -> np.ndarray:
        kappa, trial, size, _, held, factor = self._trial(p, v)
        t = trial / np.where(np.real(size) > 0.0, size, 1.0)[:, None]
        across = np.where(held, 0.0, 1.0)[:, None, None] * t[:, :, None] * t[:, None, :]
        tangent = (p.period * kappa * factor)[:, None, None] * (np.eye(2) - across)
        return _assembled(p, tangent, np.zeros_like(v[:, :2]), _normal_slope(p, v[:, 2]))

    def sticking(self, p: ContactParameters, v: np.ndarray) -> np.ndarray:
        _, _, _, bound, held, _ = self._trial(p, v)
        return np.asarray(held & (bound > 0.0))

    def displacement(self, p: ContactParameters, impulse: np.ndarray) -> np.ndarray:
        m2 = p.mean_square[:, None]
        k, b = p.tangential_stiffness[:, None] / m2, p.tangential_damping[:, None] / m2
        force = -p.unstretched(impulse[:, :2]) / p.period
        stretched = (b * p.stretched(p.elastic_displacement) + p.period * force) / (b + p.period * k)
        return p.unstretched(stretched)


def soft_norm(x: np.ndarray, eps: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Appendix A: ||x||_s = sqrt(||x||^2 + eps^2) - eps, its gradient t_s (nc, 2) and Hessian (nc, 2, 2)."""
    size = (x * x).sum(axis=1)
    root = np.sqrt(size + eps * eps)
    t = x / root[:, None]
    return size / (root + eps), t, (np.eye(2) - t[:, :, None] * t[:, None, :]) / root[:, None, None]


def tolerance(p: ContactParameters, regularized: bool) -> np.ndarray:
    """Width eps of the soft norm: v_s, or max(v_s, sigma w s m2 gamma_n0), eq. (26), shape (nc,)."""
    smallest = p.stiction_tolerance + np.zeros(len(p.phi0))
    if not regularized:
        return np.asarray(smallest)
    wide = p.sigma * p.delassus * p.coefficient * p.mean_square * p.lagged_impulse
    return np.where(np.real(wide) > np.real(smallest), wide, smallest)


def _normal_impulse(p: ContactParameters, v: np.ndarray) -> np.ndarray:
    """n(v) = dt f_n(phi0 + dt v, v)."""
    return np.asarray(p.period * p.law.force(p.phi0 + p.period * v, v, p.stiffness, p.dissipation))


def _normal_potential(p: ContactParameters, v: np.ndarray) -> np.ndarray:
    """-N(v)."""
    return np.asarray(-p.period * p.law.antiderivative(v, p.phi0, p.period, p.stiffness, p.dissipation))


def _normal_slope(p: ContactParameters, v: np.ndarray) -> np.ndarray:
    """-n'(v)."""
    return np.asarray(p.law.slope(v, p.phi0, p.period, p.stiffness, p.dissipation))


def _assembled(p: ContactParameters, tangent: np.ndarray, mixed: np.ndarray, normal: np.ndarray) -> np.ndarray:
    """G from its blocks in x: M G_xx M, M g_xn, g_nn."""
    G = np.zeros((len(normal), 3, 3), dtype=np.result_type(tangent, mixed, normal))
    G[:, :2, :2] = p.stretched_twice(tangent)
    G[:, :2, 2] = G[:, 2, :2] = p.stretched(mixed)
    G[:, 2, 2] = normal
    return G


#: every approximation, by its name
APPROXIMATIONS: dict[str, Approximation] = {
    a.name: a for a in (Sap(), Lagged(False), Lagged(True), Similar(False), Similar(True), LaggedElastoplastic())
}


def approximation_named(name: str) -> Approximation:
    """The approximation of that name, or a ValueError that lists them."""
    try:
        return APPROXIMATIONS[name]
    except (KeyError, TypeError):
        raise ValueError(f"approximation: expected one of {', '.join(APPROXIMATIONS)}, got {name!r}") from None
