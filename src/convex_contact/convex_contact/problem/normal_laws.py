"""Normal force laws f_n(phi, v_n), eqs. (6), (8) and section VI, and their antiderivatives.

A law gives the force that two bodies press on each other with, from the signed distance phi (m, negative where
they overlap) and the separation velocity v_n (m/s). The convex formulation takes any law whose force does not grow
with either,

    df_n/dphi <= 0,   df_n/dv_n <= 0,                                                                      (8)

because the impulse n(v_n) = dt f_n(phi0 + dt v_n, v_n) then falls with v_n, and the potential -N(v_n), with
N' = n, is convex. What the solver needs of a law is the force, its two derivatives and, for the cost alone, the
antiderivative

    N(v_n)/dt = integral of f_n(phi0 + dt s, s) over s up to v_n, from any fixed lower limit.

`LinearLaw` and `HertzLaw` carry the dissipation of Hunt & Crossley; `FunctionLaw` is a law of one's own, and is
refused where it violates (8). SAP (section V-A) has its linear law built in, with the relaxation time in place of d.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy
from numba import cfunc, njit

#: codes of `contact_kernels`
LINEAR, HERTZ, FUNCTION = 0, 1, 2

#: relative agreement asked of a user's derivatives with central differences, and of the antiderivative
_TOLERANCE = 1e-5


class NormalLaw(ABC):
    """A normal force law; all methods take and give arrays of one shape, element by element.

    Attributes:
        code: number of the form that the compiled kernels evaluate.
        addresses: of the compiled force, its two derivatives and antiderivative, zeros for a law that is built in,
            shape (4,).
    """

    code: int
    addresses = np.zeros(4, dtype=np.int64)

    @abstractmethod
    def force(self, phi: np.ndarray, v: np.ndarray, stiffness: np.ndarray, dissipation: np.ndarray) -> np.ndarray:
        """f_n [N] at a signed distance phi [m] and a separation velocity v [m/s]."""

    @abstractmethod
    def derivatives(
        self, phi: np.ndarray, v: np.ndarray, stiffness: np.ndarray, dissipation: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """df_n/dphi [N/m] and df_n/dv_n [N s/m]."""

    @abstractmethod
    def antiderivative(
        self, v: np.ndarray, phi0: np.ndarray, period: float, stiffness: np.ndarray, dissipation: np.ndarray
    ) -> np.ndarray:
        """N/dt [N m/s]: the integral of f_n(phi0 + dt s, s) over s up to v."""

    def slope(
        self, v: np.ndarray, phi0: np.ndarray, period: float, stiffness: np.ndarray, dissipation: np.ndarray
    ) -> np.ndarray:
        """-n'(v) [kg], not negative: the law's share of the Hessian."""
        by_phi, by_v = self.derivatives(phi0 + period * v, v, stiffness, dissipation)
        return -period * (period * by_phi + by_v)


class LinearLaw(NormalLaw):
    """f_n = k (-phi)_+ (1 - d v_n)_+, eq. (22): linear in the overlap, dissipation of Hunt & Crossley.

    The force vanishes from the breaking velocity v^ = min(-phi0/dt, 1/d), eq. (23), on. `stiffness` is k [N/m],
    `dissipation` d [s/m].
    """

    code = LINEAR

    def force(self, phi: np.ndarray, v: np.ndarray, stiffness: np.ndarray, dissipation: np.ndarray) -> np.ndarray:
        return stiffness * _positive(-phi) * _positive(1.0 - dissipation * v)

    def derivatives(
        self, phi: np.ndarray, v: np.ndarray, stiffness: np.ndarray, dissipation: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        touching = (np.real(phi) < 0.0) & (np.real(1.0 - dissipation * v) > 0.0)
        return (
            np.where(touching, -stiffness * (1.0 - dissipation * v), 0.0),
            np.where(touching, stiffness * phi * dissipation, 0.0),
        )

    def antiderivative(
        self, v: np.ndarray, phi0: np.ndarray, period: float, stiffness: np.ndarray, dissipation: np.ndarray
    ) -> np.ndarray:
        x = np.minimum(v, breaking_velocity(phi0, period, dissipation))
        return stiffness * (
            -x * (phi0 + 0.5 * period * x) + 0.5 * dissipation * x * x * (phi0 + 2.0 / 3.0 * period * x)
        )


class HertzLaw(NormalLaw):
    """f_n = k (-phi)_+^(3/2) (1 - d v_n)_+: a sphere on an elastic half space, dissipation of Hunt & Crossley.

    `stiffness` is Hertz' constant [N/m^(3/2)], (4/3) E* sqrt(R); `dissipation` d [s/m]. With the overlap
    u = -(phi0 + dt v_n) and c = 1 + d phi0/dt is 1 - d v_n = c + d u/dt, so that
    N/dt = -k/dt (2/5 c u^(5/2) + 2/7 (d/dt) u^(7/2)).
    """

    code = HERTZ

    def force(self, phi: np.ndarray, v: np.ndarray, stiffness: np.ndarray, dissipation: np.ndarray) -> np.ndarray:
        overlap = _positive(-phi)
        return stiffness * overlap * np.sqrt(overlap) * _positive(1.0 - dissipation * v)

    def derivatives(
        self, phi: np.ndarray, v: np.ndarray, stiffness: np.ndarray, dissipation: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        root = np.sqrt(_positive(-phi))
        part = _positive(1.0 - dissipation * v)
        return -1.5 * stiffness * root * part, np.where(
            np.real(part) > 0.0, -stiffness * root * root * root * dissipation, 0.0
        )

    def antiderivative(
        self, v: np.ndarray, phi0: np.ndarray, period: float, stiffness: np.ndarray, dissipation: np.ndarray
    ) -> np.ndarray:
        x = np.minimum(v, breaking_velocity(phi0, period, dissipation))
        u = _positive(-(phi0 + period * x))
        c = 1.0 + dissipation * phi0 / period
        return -stiffness / period * u * u * np.sqrt(u) * (0.4 * c + 2.0 / 7.0 * dissipation / period * u)


class FunctionLaw(NormalLaw):
    """A law of one's own, as functions of numbers that Numba can compile.

    Args:
        force: f(phi, v, stiffness, dissipation) [N]; continuous.
        derivatives: (df/dphi, df/dv) of the same arguments.
        antiderivative: N/dt as a function of (v, phi0, period, stiffness, dissipation).
        stiffness: a typical value of what the law calls stiffness, with which it is inspected.
        dissipation: likewise.
        largest_overlap: it is inspected for phi from minus this to plus this [m].
        largest_speed: and for v from minus this to plus this [m/s].

    Raises:
        ValueError: (8) is violated somewhere in that range, a derivative does not fit the force, or the antiderivative
            does not; the message says where.
    """

    code = FUNCTION

    def __init__(
        self,
        force: Callable[[float, float, float, float], float],
        derivatives: Callable[[float, float, float, float], tuple[float, float]],
        antiderivative: Callable[[float, float, float, float, float], float],
        *,
        stiffness: float = 1e5,
        dissipation: float = 1.0,
        largest_overlap: float = 1e-2,
        largest_speed: float = 1.0,
    ) -> None:
        options: dict[str, Any] = {"error_model": "numpy"}
        both = njit(**options)(derivatives)
        self._functions = [
            cfunc("float64(float64, float64, float64, float64)", **options)(function)
            for function in (force, lambda p, v, k, d: both(p, v, k, d)[0], lambda p, v, k, d: both(p, v, k, d)[1])
        ]
        self._functions.append(cfunc("float64(float64, float64, float64, float64, float64)", **options)(antiderivative))
        self.addresses = np.array([function.address for function in self._functions], dtype=np.int64)
        calls: list[Any] = [function.ctypes for function in self._functions]
        self._force, self._by_phi, self._by_v, self._antiderivative = (
            np.vectorize(call, otypes=[float]) for call in calls
        )
        self._inspect(stiffness, dissipation, largest_overlap, largest_speed)

    def force(self, phi: np.ndarray, v: np.ndarray, stiffness: np.ndarray, dissipation: np.ndarray) -> np.ndarray:
        arguments = phi, v, stiffness, dissipation
        if not any(np.iscomplexobj(x) for x in arguments):
            return np.asarray(self._force(*arguments))
        # the compiled function takes real numbers: its first-order continuation serves the complex step
        real = [np.real(x) for x in arguments]
        slopes = (*self.derivatives(*real), *self.parameter_derivatives(*real))
        small = sum(slope * np.imag(x) for slope, x in zip(slopes, arguments, strict=True))
        return np.asarray(self._force(*real) + 1j * small)

    def derivatives(
        self, phi: np.ndarray, v: np.ndarray, stiffness: np.ndarray, dissipation: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        arguments = phi, v, stiffness, dissipation
        return np.asarray(self._by_phi(*arguments)), np.asarray(self._by_v(*arguments))

    def antiderivative(
        self, v: np.ndarray, phi0: np.ndarray, period: float, stiffness: np.ndarray, dissipation: np.ndarray
    ) -> np.ndarray:
        return np.asarray(self._antiderivative(v, phi0, period, stiffness, dissipation))

    def parameter_derivatives(
        self, phi: np.ndarray, v: np.ndarray, stiffness: np.ndarray, dissipation: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """df/dk and df/dd at fixed phi and v, by central differences: about ten digits."""
        hk, hd = 1e-5 * np.abs(stiffness), 1e-5 * np.maximum(np.abs(dissipation), 1e-3)
        by_k = self.force(phi, v, stiffness + hk, dissipation) - self.force(phi, v, stiffness - hk, dissipation)
        by_d = self.force(phi, v, stiffness, dissipation + hd) - self.force(phi, v, stiffness, dissipation - hd)
        return by_k / (2.0 * hk), by_d / (2.0 * hd)

    def _inspect(self, k: float, d: float, overlap: float, speed: float) -> None:
        # an odd number of points, shifted off zero: laws have their kinks there
        grid = np.linspace(-1.0, 1.0, 41)
        phi, v = (x.ravel() for x in np.meshgrid(overlap * (grid + 0.003), speed * (grid + 0.007)))
        K, D = np.full_like(phi, k), np.full_like(phi, d)
        f = self.force(phi, v, K, D)
        given = self.derivatives(phi, v, K, D)
        if not (np.isfinite(f).all() and np.isfinite(given[0]).all() and np.isfinite(given[1]).all()):
            raise ValueError("force: expected finite values and derivatives, got some that are not")
        for i, (name, step) in enumerate((("phi", 1e-6 * overlap), ("v", 1e-6 * speed))):
            shift = (step, 0.0) if i == 0 else (0.0, step)
            less, more = (self.force(phi + s * shift[0], v + s * shift[1], K, D) for s in (-1.0, 1.0))
            found = (more - less) / (2.0 * step)
            scale = max(float(np.abs(found).max()), 1e-300)
            worst = int(np.argmax(found))
            if found[worst] > 1e-8 * scale:
                raise ValueError(
                    f"force: expected df/d{name} <= 0 (eq. (8)), got {found[worst]:.6g} at phi = {phi[worst]:.6g} m, "
                    f"v = {v[worst]:.6g} m/s"
                )
            wrong = np.abs(found - given[i])
            worst = int(np.argmax(wrong))
            if wrong[worst] > _TOLERANCE * scale:
                raise ValueError(
                    f"derivatives: expected df/d{name} = {found[worst]:.6g} at phi = {phi[worst]:.6g} m, "
                    f"v = {v[worst]:.6g} m/s, got {given[i][worst]:.6g}"
                )
        for period in (1e-3, 1e-2):
            for phi0 in (-overlap, -0.1 * overlap, 0.3 * overlap):
                low, high = -speed, 0.7 * speed
                kinks = [x for x in (-phi0 / period, 1.0 / d if d > 0.0 else math.inf) if low < x < high]
                expected, _ = scipy.integrate.quad(
                    lambda s: float(self._force(phi0 + period * s, s, k, d)),  # noqa: B023
                    low,
                    high,
                    points=kinks or None,
                    limit=400,
                    epsabs=0.0,
                    epsrel=1e-9,
                )
                start, end = (float(self._antiderivative(x, phi0, period, k, d)) for x in (low, high))
                came = end - start
                if not abs(came - expected) <= _TOLERANCE * max(abs(expected), 1e-6 * abs(start)):
                    raise ValueError(
                        f"antiderivative: expected {expected:.9g} between v = {low:g} and {high:g} m/s with phi0 = "
                        f"{phi0:g} m and period = {period:g} s (by quadrature of the force), got {came:.9g}"
                    )


def breaking_velocity(phi0: np.ndarray, period: float, dissipation: np.ndarray) -> np.ndarray:
    """v^ = min(-phi0/dt, 1/d) [m/s], eq. (23): from there on the force is zero."""
    with np.errstate(divide="ignore"):
        return np.minimum(-phi0 / period, np.where(dissipation > 0.0, 1.0 / np.abs(dissipation), np.inf))


def _positive(x: np.ndarray) -> np.ndarray:
    """(x)_+, also of complex numbers, by the real part."""
    return np.where(np.real(x) > 0.0, x, 0.0)
