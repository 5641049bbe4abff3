"""Normal force laws f_n(phi, v_n), eqs. (6), (8) and section VI, and their antiderivatives.

A law gives the normal force between two bodies from the signed distance phi (m, negative where they overlap) and the
separation velocity v_n (m/s). The convex formulation allows any law whose force does not grow with either,

    df_n/dphi <= 0,   df_n/dv_n <= 0,                                                                      (8)

because the impulse n(v_n) = dt f_n(phi0 + dt v_n, v_n) then falls with v_n, and the potential -N(v_n), with
N' = n, is convex. The solver needs the force of a law, its two derivatives and, for the cost alone, the antiderivative

    N(v_n)/dt = integral of f_n(phi0 + dt s, s) over s up to v_n, from any fixed lower limit.

`LinearLaw` and `HertzLaw` have the dissipation of Hunt & Crossley. `FunctionLaw` is a user's law; a law that violates
(8) is refused. SAP (section V-A) has its own linear law, with the relaxation time instead of d.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy
from numba import cfunc, njit
from numpy.typing import ArrayLike

from convex_contact.problem.elementwise import run
from convex_contact.problem.normal_law_kernels import (
    FUNCTION,
    HERTZ,
    LINEAR,
    normal_antiderivative,
    normal_derivatives,
    normal_force,
    normal_slope,
)
from convex_contact.problem.normal_law_kernels import breaking_velocity as breaking_velocity

#: tolerance of a user's derivatives relative to central differences, and of the antiderivative to quadrature
_TOLERANCE = 1e-5


class NormalLaw:
    """A normal force law; all methods act on arrays of one shape, element by element.

    Attributes:
        code: code of the law in `normal_law_kernels`.
        addresses: addresses of the compiled force, its two derivatives and antiderivative, zeros for a built-in law,
            shape (4,).

    Examples:
        >>> from convex_contact import HertzLaw, LinearLaw, NormalLaw
        >>> def stiffness(law: NormalLaw) -> float:  # at 10 mm of overlap, at rest [N/m]
        ...     return -round(float(law.derivatives(-0.01, 0.0, 1e5, 0.0)[0]))
        >>> stiffness(LinearLaw()), stiffness(HertzLaw())  # k and 3/2 k sqrt(0.01)
        (100000, 15000)
    """

    code: int
    addresses = np.zeros(4, dtype=np.int64)

    def force(self, phi: ArrayLike, v: ArrayLike, stiffness: ArrayLike, dissipation: ArrayLike) -> np.ndarray:
        """Returns the force f_n [N] at a signed distance phi [m] and a separation velocity v [m/s]."""
        return self._map_elements(_forces, phi, v, stiffness, dissipation)[0]

    def derivatives(
        self, phi: ArrayLike, v: ArrayLike, stiffness: ArrayLike, dissipation: ArrayLike
    ) -> tuple[np.ndarray, np.ndarray]:
        """Returns df_n/dphi [N/m] and df_n/dv_n [N s/m]."""
        by_phi, by_v, _, _ = self._map_elements(_derivatives, phi, v, stiffness, dissipation, results=4)
        return by_phi, by_v

    def parameter_derivatives(
        self, phi: ArrayLike, v: ArrayLike, stiffness: ArrayLike, dissipation: ArrayLike
    ) -> tuple[np.ndarray, np.ndarray]:
        """Returns df_n/dk and df_n/dd at fixed phi and v; for a `FunctionLaw` by central differences, ten digits."""
        _, _, by_k, by_d = self._map_elements(_derivatives, phi, v, stiffness, dissipation, results=4)
        return by_k, by_d

    def antiderivative(
        self, v: ArrayLike, phi0: ArrayLike, period: float, stiffness: ArrayLike, dissipation: ArrayLike
    ) -> np.ndarray:
        """Returns N/dt [N m/s], the integral of f_n(phi0 + dt s, s) over s up to v."""
        return self._map_elements(_antiderivatives, v, phi0, stiffness, dissipation, period)[0]

    def slope(
        self, v: ArrayLike, phi0: ArrayLike, period: float, stiffness: ArrayLike, dissipation: ArrayLike
    ) -> np.ndarray:
        """Returns -n'(v) [kg], the law's part of the Hessian, not negative."""
        return self._map_elements(_slopes, v, phi0, stiffness, dissipation, period)[0]

    def _map_elements(self, loop: Callable[..., None], *arguments: ArrayLike, results: int = 1) -> list[np.ndarray]:
        """Runs a loop over the elements of the arguments; returns its results in their broadcast shape."""
        arrays = np.broadcast_arrays(*arguments)
        dtype = np.result_type(float, *arrays)
        flat = np.array([array.ravel() for array in arrays], dtype=dtype)
        out = np.empty((results, flat.shape[1]), dtype=dtype)
        run(loop, dtype, self.code, self.addresses, flat, out)
        return [row.reshape(arrays[0].shape) for row in out]


def _forces(law: int, addresses: np.ndarray, x: np.ndarray, out: np.ndarray) -> None:
    for i in range(x.shape[1]):
        out[0, i] = normal_force(law, addresses, x[0, i], x[1, i], x[2, i], x[3, i])


def _derivatives(law: int, addresses: np.ndarray, x: np.ndarray, out: np.ndarray) -> None:
    for i in range(x.shape[1]):
        numbers = normal_derivatives(law, addresses, x[0, i], x[1, i], x[2, i], x[3, i])
        out[0, i], out[1, i], out[2, i], out[3, i] = numbers


def _antiderivatives(law: int, addresses: np.ndarray, x: np.ndarray, out: np.ndarray) -> None:
    for i in range(x.shape[1]):
        out[0, i] = normal_antiderivative(law, addresses, x[0, i], x[1, i], x[4, i], x[2, i], x[3, i])


def _slopes(law: int, addresses: np.ndarray, x: np.ndarray, out: np.ndarray) -> None:
    for i in range(x.shape[1]):
        phi = x[1, i] + x[4, i] * x[0, i]
        out[0, i] = normal_slope(law, addresses, x[4, i], phi, x[0, i], x[2, i], x[3, i])


class LinearLaw(NormalLaw):
    """f_n = k (-phi)_+ (1 - d v_n)_+, eq. (22): linear in the overlap, dissipation of Hunt & Crossley.

    The force vanishes from the breaking velocity v^ = min(-phi0/dt, 1/d), eq. (23), on. `stiffness` is k [N/m],
    `dissipation` d [s/m].

    Examples:
        >>> from convex_contact import LinearLaw
        >>> law = LinearLaw()
        >>> force = law.force(-1e-3, [0.0, 0.05], 1e5, 10.0)  # 1 mm of overlap, at rest and at half of 1/d
        >>> force.round(6).tolist()
        [100.0, 50.0]
    """

    code = LINEAR


class HertzLaw(NormalLaw):
    """f_n = k (-phi)_+^(3/2) (1 - d v_n)_+: a sphere on an elastic half space, dissipation of Hunt & Crossley.

    `stiffness` is Hertz' constant [N/m^(3/2)], (4/3) E* sqrt(R); `dissipation` d [s/m].

    Examples:
        >>> from convex_contact import HertzLaw
        >>> force = HertzLaw().force([-0.01, -0.04], 0.0, 1e6, 0.0)  # four times the overlap, eight times the force
        >>> force.round(6).tolist()
        [1000.0, 8000.0]
    """

    code = HERTZ


class FunctionLaw(NormalLaw):
    """A user's law, as functions of numbers that Numba can compile.

    The law is checked at typical parameters on a grid of phi and v.

    Args:
        force: f(phi, v, stiffness, dissipation) [N]; continuous.
        derivatives: (df/dphi, df/dv) of the same arguments.
        antiderivative: N/dt as a function of (v, phi0, period, stiffness, dissipation).
        stiffness: typical stiffness for the check, in the law's unit.
        dissipation: typical dissipation for the check, in the law's unit.
        largest_overlap: bound of |phi| for the check [m].
        largest_speed: bound of |v| for the check [m/s].

    Raises:
        ValueError: (8) is violated in that range, or a derivative or the antiderivative does not fit the force; the
            message has the values of phi and v.

    Examples:
        >>> from convex_contact import FunctionLaw
        >>> spring = FunctionLaw(
        ...     lambda phi, v, k, d: k * max(-phi, 0.0),
        ...     lambda phi, v, k, d: (-k if phi < 0.0 else 0.0, 0.0),
        ...     lambda v, phi0, dt, k, d: -k * max(-(phi0 + dt * v), 0.0) ** 2 / (2.0 * dt),
        ... )
        >>> spring.force([-1e-3, 1e-3], 0.0, 1e5, 0.0).round(6).tolist()
        [100.0, 0.0]
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
        limits = stiffness, dissipation, largest_overlap, largest_speed
        self._check_derivatives(*limits)
        self._check_antiderivative(*limits)

    def _check_derivatives(self, k: float, d: float, overlap: float, speed: float) -> None:
        """Compares the derivatives with differences of the force, on a grid of overlaps [m] and speeds [m/s].

        Raises:
            ValueError: a number is not finite, the force rises with phi or v, or a derivative differs.
        """
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

    def _check_antiderivative(self, k: float, d: float, overlap: float, speed: float) -> None:
        """Compares differences of the antiderivative with quadratures of the force over the speed.

        Raises:
            ValueError: a difference is another number.
        """
        for period in (1e-3, 1e-2):
            for phi0 in (-overlap, -0.1 * overlap, 0.3 * overlap):
                low, high = -speed, 0.7 * speed
                kinks = [x for x in (-phi0 / period, 1.0 / d if d > 0.0 else math.inf) if low < x < high]
                expected, _ = scipy.integrate.quad(
                    lambda s: float(self.force(phi0 + period * s, s, k, d)),  # noqa: B023
                    low,
                    high,
                    points=kinks or None,
                    limit=400,
                    epsabs=0.0,
                    epsrel=1e-9,
                )
                start, end = (float(self.antiderivative(x, phi0, period, k, d)) for x in (low, high))
                integral = end - start
                if not abs(integral - expected) <= _TOLERANCE * max(abs(expected), 1e-6 * abs(start)):
                    raise ValueError(
                        f"antiderivative: expected {expected:.9g} between v = {low:g} and {high:g} m/s with phi0 = "
                        f"{phi0:g} m and period = {period:g} s (by quadrature of the force), got {integral:.9g}"
                    )
