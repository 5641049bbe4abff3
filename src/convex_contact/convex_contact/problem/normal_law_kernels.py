"""Normal force laws f_n(phi, v_n) for one contact, eqs. (6), (8) and section VI; see `normal_laws`.

Each function takes the code of a law and the addresses of a user's functions (zeros for a law that is built in).

    linear  f_n = k (-phi)_+ (1 - d v_n)_+, eq. (22)
    Hertz   f_n = k (-phi)_+^(3/2) (1 - d v_n)_+
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

from convex_contact.problem.elementwise import elementwise
from haptic_math.native_calls import call_double

LINEAR, HERTZ, FUNCTION = range(3)
#: indices of a user's functions in the addresses
_FORCE, _BY_PHI, _BY_V, _ANTIDERIVATIVE = range(4)


def _user_force(addresses: np.ndarray, phi: Any, v: Any, k: Any, d: Any) -> Any:
    """Returns f_n of a user's law [N]; for complex numbers its first-order continuation, for the complex step."""
    raise TypeError("normal_law: expected real or complex doubles, since a user's law is compiled")


@overload(_user_force, jit_options={"error_model": "numpy", "forceinline": True, "_nrt": False})
def _compiled_user_force(addresses, phi, v, k, d):  # type: ignore[no-untyped-def]
    def force(addresses, phi, v, k, d):  # type: ignore[no-untyped-def]
        return call_double(addresses[_FORCE], (phi, v, k, d))

    def continued(addresses, phi, v, k, d):  # type: ignore[no-untyped-def]
        p, u, s, c = phi.real, v.real, k.real, d.real
        by_phi, by_v, by_k, by_d = normal_derivatives(FUNCTION, addresses, p, u, s, c)
        change = by_phi * phi.imag + by_v * v.imag + by_k * k.imag + by_d * d.imag
        return complex(call_double(addresses[_FORCE], (p, u, s, c)), change)

    return continued if isinstance(phi, types.Complex) else force


@elementwise
def normal_force(law: int, addresses: np.ndarray, phi: Any, v: Any, k: Any, d: Any) -> Any:
    """Returns the normal force f_n(phi, v) [N]."""
    if law == FUNCTION:
        return _user_force(addresses, phi, v, k, d)
    part = 1.0 - d * v
    if phi.real >= 0.0 or part.real <= 0.0:
        return 0.0
    if law == HERTZ:
        return k * -phi * np.sqrt(-phi) * part
    return k * -phi * part


@elementwise
def normal_slope(law: int, addresses: np.ndarray, dt: float, phi: float, v: float, k: float, d: float) -> float:
    """Returns -n'(v) = -dt (dt df/dphi + df/dv) [kg]."""
    if law == FUNCTION:
        by_phi, by_v = call_double(addresses[_BY_PHI], (phi, v, k, d)), call_double(addresses[_BY_V], (phi, v, k, d))
        return -dt * (dt * by_phi + by_v)
    part = 1.0 - d * v
    if phi >= 0.0 or part <= 0.0:
        return 0.0
    if law == HERTZ:
        root = math.sqrt(-phi)
        return dt * k * root * (1.5 * dt * part - d * phi)
    return dt * k * (dt * part - d * phi)


@elementwise
def normal_derivatives(
    law: int, addresses: np.ndarray, phi: float, v: float, k: float, d: float
) -> tuple[float, float, float, float]:
    """Returns df_n/dphi [N/m], df_n/dv [N s/m], df_n/dk, df_n/dd; for a user's law dk, dd by central differences."""
    if law == FUNCTION:
        hk, hd = 1e-5 * abs(k), 1e-5 * max(abs(d), 1e-3)
        by_k = call_double(addresses[_FORCE], (phi, v, k + hk, d)) - call_double(addresses[_FORCE], (phi, v, k - hk, d))
        by_d = call_double(addresses[_FORCE], (phi, v, k, d + hd)) - call_double(addresses[_FORCE], (phi, v, k, d - hd))
        return (
            call_double(addresses[_BY_PHI], (phi, v, k, d)),
            call_double(addresses[_BY_V], (phi, v, k, d)),
            by_k / (2 * hk),
            by_d / (2 * hd),
        )
    part, u = 1.0 - d * v, -phi
    if u <= 0.0 or part <= 0.0:
        return 0.0, 0.0, 0.0, 0.0
    if law == HERTZ:
        root = math.sqrt(u)
        return -1.5 * k * root * part, -k * u * root * d, u * root * part, -k * u * root * v
    return -k * part, -k * u * d, u * part, -k * u * v


@elementwise
def breaking_velocity(phi0: float, dt: float, d: float) -> float:
    """Returns v^ = min(-phi0/dt, 1/d) [m/s], eq. (23), the velocity from which on the force is zero."""
    return min(-phi0 / dt, 1.0 / d) if d > 0.0 else -phi0 / dt


@elementwise
def normal_antiderivative(
    law: int, addresses: np.ndarray, v: float, phi0: float, dt: float, k: float, d: float
) -> float:
    """Returns N/dt [N m/s], the integral of f_n(phi0 + dt s, s) over s up to v.

    Hertz: with the overlap u = -(phi0 + dt v) and c = 1 + d phi0/dt is 1 - d v = c + d u/dt.
    """
    if law == FUNCTION:
        return call_double(addresses[_ANTIDERIVATIVE], (v, phi0, dt, k, d))
    x = min(v, breaking_velocity(phi0, dt, d))
    if law == HERTZ:
        u = max(-(phi0 + dt * x), 0.0)
        c = 1.0 + d * phi0 / dt
        return -k / dt * u * u * math.sqrt(u) * (0.4 * c + 2.0 / 7.0 * d / dt * u)
    return k * (-x * (phi0 + 0.5 * dt * x) + 0.5 * d * x * x * (phi0 + 2.0 / 3.0 * dt * x))
