"""Compiled evaluation of the friction laws: Phi and its implicit counterpart Phi_Z (eqs. (52) to (59)).

Compiled code takes a law as an integer, the code of its closed form, and a row of coefficients, the first of
which is g(0). So every kernel can be cached on disk and does not depend on the law's class. An array
(elements, coefficients) has one row per element, or one for all. The code None stands for COULOMB_VISCOUS, too:
a kernel compiled for None contains no other law and compiles in a third of the time.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numba.cpython.unsafe.tuple import tuple_setitem

from haptic_friction.vectors import Vector, along, axpy, divided, length, load, scaled, store, transformed
from haptic_math.native_calls import call_double

# codes of laws, below APPROXIMATE; an isotropic law has a branch in `magnitude` and one in `slope`
#: g(s) = F + D s; coefficients F, D
COULOMB_VISCOUS = 0
#: g(s) = Fc + (Fs - Fc) exp(-(s/vs)^2) + D s; coefficients Fs, Fc, vs, D
STRIBECK = 1
#: linear between points (s_j, g_j), constant beyond the last; coefficients g_0, n, s_0 = 0 ... s_n-1, g_0 ... g_n-1
TABLE = 2
#: g and g' as compiled functions; coefficients g(0) and the two addresses as bits
FUNCTION = 3
#: Phi(x) = S x/|x| + V x; coefficients max sigma, n, then sigma (n), nu (n), Q (n, n), S (n, n), V (n, n)
#: with S = Q diag(sigma) Q^T, V = Q diag(nu) Q^T
ANISOTROPIC = 4
#: added to one of the above: Phi_Z by the closed-form approximation (46), (57), (59)
APPROXIMATE = 8
#: one isotropic law for each direction along a line: this, the forward law's code, and the backward law's code shifted;
#: the first half of the coefficients is the forward law's, the second the backward law's
ASYMMETRIC, BACKWARD_SHIFT = 16, 5

#: Newton steps and bisections together; 60 bisections alone reach rounding
_MOST_ITERATIONS = 100


@njit(forceinline=True, error_model="numpy")
def is_anisotropic(code: int | None) -> bool:
    """Returns whether the law depends on the direction."""
    if code is None:
        return False
    return code & ~APPROXIMATE == ANISOTROPIC


@njit(forceinline=True, error_model="numpy")
def is_asymmetric(code: int | None) -> bool:
    """Returns whether the law has a part for each direction along a line."""
    if code is None:
        return False
    return code & ASYMMETRIC != 0


@njit(forceinline=True, error_model="numpy")
def _law_of_direction(code: int, coefficients: np.ndarray, element: int, x: Vector) -> tuple[int, np.ndarray, int]:
    """Selects code, coefficients and element of an asymmetric law's part for the direction of x."""
    halves = coefficients.reshape(2 * coefficients.shape[0], coefficients.shape[1] // 2)
    if x[0] < 0.0:
        return code >> BACKWARD_SHIFT, halves, 2 * element + 1
    return code & (ASYMMETRIC - 1), halves, 2 * element


@njit(cache=True, error_model="numpy")
def _segment(coefficients: np.ndarray, element: int, speed: float, Z: float) -> int:
    """Finds the last j of a table with s_j + Z g_j <= speed; 0 where there is none."""
    n = int(coefficients[element, 1])
    low, high = 0, n
    while high - low > 1:
        middle = (low + high) // 2
        if coefficients[element, 2 + middle] + Z * coefficients[element, 2 + n + middle] <= speed:
            low = middle
        else:
            high = middle
    return low


@njit(cache=True, error_model="numpy")
def slope(code: int | None, coefficients: np.ndarray, element: int, speed: float) -> float:
    """Returns g'(s) [N s/m] of an isotropic law at a speed [m/s]; at a kink the slope to its right."""
    if code is None:
        return coefficients[element, 1]
    law = code & ~APPROXIMATE
    if law == COULOMB_VISCOUS:
        return coefficients[element, 1]
    if law == STRIBECK:
        excess = coefficients[element, 0] - coefficients[element, 1]
        r = speed / coefficients[element, 2]
        return coefficients[element, 3] - 2.0 * excess * r * math.exp(-r * r) / coefficients[element, 2]
    if law == TABLE:
        n, j = int(coefficients[element, 1]), _segment(coefficients, element, speed, 0.0)
        if j == n - 1:
            return 0.0
        rise = coefficients[element, 3 + n + j] - coefficients[element, 2 + n + j]
        return rise / (coefficients[element, 3 + j] - coefficients[element, 2 + j])
    if law == FUNCTION:
        return call_double(coefficients[element].view(np.int64)[2], (speed,))
    return math.nan  # a law without a branch here


@njit(cache=True, error_model="numpy")
def magnitude(code: int | None, coefficients: np.ndarray, element: int, speed: float) -> float:
    """Returns g(s) [N] of an isotropic law at a speed [m/s]."""
    if code is None:
        return coefficients[element, 0] + coefficients[element, 1] * speed
    law = code & ~APPROXIMATE
    if law == COULOMB_VISCOUS:
        return coefficients[element, 0] + coefficients[element, 1] * speed
    if law == STRIBECK:
        r = speed / coefficients[element, 2]
        excess = coefficients[element, 0] - coefficients[element, 1]
        return coefficients[element, 1] + excess * math.exp(-r * r) + coefficients[element, 3] * speed
    if law == TABLE:
        n, j = int(coefficients[element, 1]), _segment(coefficients, element, speed, 0.0)
        rate = slope(code, coefficients, element, speed)
        return coefficients[element, 2 + n + j] + rate * (speed - coefficients[element, 2 + j])
    if law == FUNCTION:
        return call_double(coefficients[element].view(np.int64)[1], (speed,))
    return math.nan


@njit(cache=True, error_model="numpy")
def evaluate(code: int | None, coefficients: np.ndarray, element: int, x: Vector) -> Vector:
    """Evaluates Phi(x) [N]; zero at x = 0, where Phi is a set (51)."""
    speed = length(x)
    if speed == 0.0:
        return x
    if code is None:
        return along(magnitude(code, coefficients, element, speed), x, speed)
    if code & ASYMMETRIC:
        part, halves, own = _law_of_direction(code, coefficients, element, x)
        return along(magnitude(part, halves, own, speed), x, speed)
    if not is_anisotropic(code):
        return along(magnitude(code, coefficients, element, speed), x, speed)
    n = len(x)
    start = 2 + 2 * n + n * n
    coulomb = transformed(coefficients, element, start, divided(x, speed), False)
    return axpy(1.0, transformed(coefficients, element, start + n * n, x, False), coulomb)


@njit(cache=True, error_model="numpy")
def implicit_magnitude(code: int | None, coefficients: np.ndarray, element: int, speed: float, Z: float) -> float:
    """Returns |Phi_Z(x)| for |x| = speed > Z g(0): g(s) at the root s > 0 of s + Z g(s) = speed, eq. (16).

    The left side rises with s where the existence condition (15) holds. A table is solved on the segment that
    contains the root, any other law by Newton's method with bisection in a shrinking bracket.
    """
    if code == TABLE:
        n, j = int(coefficients[element, 1]), _segment(coefficients, element, speed, Z)
        start, force = coefficients[element, 2 + j], coefficients[element, 2 + n + j]
        rate = slope(code, coefficients, element, start)
        return force + rate * (speed - start - Z * force) / (1.0 + Z * rate)
    low, high = 0.0, speed
    s = max(speed - Z * magnitude(code, coefficients, element, speed), 0.5 * speed)
    for _ in range(_MOST_ITERATIONS):
        excess = s + Z * magnitude(code, coefficients, element, s) - speed
        if excess > 0.0:
            high = s
        else:
            low = s
        step = excess / (1.0 + Z * slope(code, coefficients, element, s))
        trial = s - step
        if not (low < trial < high):
            trial = 0.5 * (low + high)
        if abs(trial - s) <= 2e-16 * s:
            s = trial
            break
        s = trial
    return magnitude(code, coefficients, element, s)


@njit(cache=True, error_model="numpy")
def _principal_length(coefficients: np.ndarray, element: int, x: Vector, Z: float, s: float) -> tuple[float, float]:
    """Returns |n|^2 and its derivative in s, with n = (s (1 + Z V) + Z S)^-1 x in the principal axes."""
    n = len(x)
    square, rate = 0.0, 0.0
    for i in range(n):
        gain = 1.0 + Z * coefficients[element, 2 + n + i]
        denominator = gain * s + Z * coefficients[element, 2 + i]
        component = x[i] / denominator
        square += component * component
        rate -= 2.0 * component * component * gain / denominator
    return square, rate


@njit(cache=True, error_model="numpy")
def static_ratio(coefficients: np.ndarray, element: int, h: Vector) -> float:
    """Returns |S^-1 h| of an anisotropic law, which is 1 on the boundary of the static set."""
    principal = transformed(coefficients, element, 2 + 2 * len(h), h, True)
    return math.sqrt(_principal_length(coefficients, element, principal, 1.0, 0.0)[0])


@njit(cache=True, error_model="numpy")
def _project_anisotropic(coefficients: np.ndarray, element: int, x: Vector, Z: float) -> tuple[Vector, bool]:
    """Evaluates Phi_Z(x) for Phi(x) = S x/|x| + V x with common principal axes.

    With w = x - Z y = s n, |n| = 1: n = (s (1 + Z V) + Z S)^-1 x, and |n| = 1 has one root s > 0 when x/Z
    lies outside the ellipsoid F = {S n, |n| <= 1}, because |n| falls with s. 1/|n| is concave in s, so Newton's
    method from s = 0 stays on the left of the root.
    """
    n = len(x)
    principal = transformed(coefficients, element, 2 + 2 * n, x, True)
    square, rate = _principal_length(coefficients, element, principal, Z, 0.0)
    if square <= 1.0:
        return divided(x, Z), True
    s = 0.0
    for _ in range(_MOST_ITERATIONS):
        # 1/|n| - 1 is nearly linear in s, so its Newton step converges where that of |n|^2 - 1 is slow
        step = 2.0 * square * (math.sqrt(square) - 1.0) / -rate
        s += step
        square, rate = _principal_length(coefficients, element, principal, Z, s)
        if abs(step) <= 4e-16 * s:
            break
    y = principal
    for i in range(n):
        sigma, nu = coefficients[element, 2 + i], coefficients[element, 2 + n + i]
        y = tuple_setitem(y, i, (sigma + nu * s) * principal[i] / ((1.0 + Z * nu) * s + Z * sigma))
    return transformed(coefficients, element, 2 + 2 * n, y, False), False


@njit(cache=True, error_model="numpy")
def static_limit(code: int | None, coefficients: np.ndarray, element: int, x: Vector) -> float:
    """Returns g(0) [N] of a law that is not anisotropic, in the direction of x."""
    if code is None:
        return coefficients[element, 0]
    if code & ASYMMETRIC:
        _, halves, own = _law_of_direction(code, coefficients, element, x)
        return halves[own, 0]
    return coefficients[element, 0]


@njit(forceinline=True, error_model="numpy")
def _project_coulomb(coefficients: np.ndarray, element: int, x: Vector, Z: float) -> tuple[Vector, bool]:
    """Implements `project` for COULOMB_VISCOUS, eqs. (53), (55)."""
    speed = length(x)
    if speed <= Z * coefficients[element, 0]:
        return divided(x, Z), True
    viscosity = coefficients[element, 1]
    return along((coefficients[element, 0] + viscosity * speed) / (1.0 + Z * viscosity), x, speed), False


@njit(cache=True, error_model="numpy")
def _project_isotropic(code: int, coefficients: np.ndarray, element: int, x: Vector, Z: float) -> tuple[Vector, bool]:
    """Implements `project` for a law g(|v|) v/|v|."""
    if code == COULOMB_VISCOUS:
        return _project_coulomb(coefficients, element, x, Z)
    speed = length(x)
    if code & APPROXIMATE:
        force = evaluate(code, coefficients, element, x)
        static = speed <= Z * length(force) or speed == 0.0
        return (divided(x, Z), True) if static else (force, False)  # (46), (57)
    if speed <= Z * coefficients[element, 0]:
        return divided(x, Z), True
    return along(implicit_magnitude(code, coefficients, element, speed, Z), x, speed), False


@njit(cache=True, error_model="numpy")
def _project_generally(code: int, coefficients: np.ndarray, element: int, x: Vector, Z: float) -> tuple[Vector, bool]:
    """Implements `project` for all laws without a short closed form."""
    if code & ASYMMETRIC:
        part, halves, own = _law_of_direction(code, coefficients, element, x)
        return _project_isotropic(part, halves, own, x, Z)
    if code == ANISOTROPIC:
        return _project_anisotropic(coefficients, element, x, Z)
    if code != ANISOTROPIC | APPROXIMATE:
        return _project_isotropic(code, coefficients, element, x, Z)
    speed, force = length(x), evaluate(code, coefficients, element, x)
    strength = length(force)
    if speed <= Z * strength or speed == 0.0:
        return divided(x, Z), True
    correction = axpy(strength / speed, x, scaled(-1.0, force))
    return axpy(Z * strength / speed, correction, force), False  # (59)


@njit(forceinline=True, error_model="numpy")
def project(code: int | None, coefficients: np.ndarray, element: int, x: Vector, Z: float) -> tuple[Vector, bool]:
    """Evaluates Phi_Z(x), eq. (52); also returns whether x is in the static branch."""
    if code is not None and code != COULOMB_VISCOUS:
        return _project_generally(code, coefficients, element, x, Z)
    return _project_coulomb(coefficients, element, x, Z)


@njit(cache=True, error_model="numpy")
def _principal_square(
    y: Vector, z: np.ndarray, row: int, start: int, s: float, g: float, rate: float
) -> tuple[float, float]:
    """Returns |n|^2 and its derivative in s, with n_i = y_i/(s + z_i g), z_i = z[row, start + i] and g' = rate."""
    square, derivative = 0.0, 0.0
    for i in range(len(y)):
        denominator = s + z[row, start + i] * g
        component = y[i] / denominator
        square += component * component
        derivative -= 2.0 * component * component * (1.0 + z[row, start + i] * rate) / denominator
    return square, derivative


@njit(cache=True, error_model="numpy")
def project_principal(
    code: int | None, coefficients: np.ndarray, element: int, y: Vector, z: np.ndarray, row: int, start: int
) -> tuple[Vector, bool]:
    """Solves f = Phi(y - diag(z) f) of an isotropic law for f; also returns whether y is in the static branch.

    z_i = z[row, start + i] > 0. With y - z f = s n, |n| = 1: n_i = y_i/(s + z_i g(s)), and |n| = 1 has one root s in
    (0, |y|] outside the static set, because each s + z_i g(s) rises with s where g' > -1/max z. Newton's method
    solves 1/|n| = 1, which is linear in s for equal z_i and constant g. A bracket limits its steps, and each is at
    most half the one before it.
    """
    f = y
    for i in range(len(y)):
        f = tuple_setitem(f, i, y[i] / z[row, start + i])
    if length(f) <= coefficients[element, 0]:
        return f, True
    low, high = 0.0, length(y)
    s, before = 0.5 * high, high
    for _ in range(_MOST_ITERATIONS):
        g = magnitude(code, coefficients, element, s)
        square, derivative = _principal_square(y, z, row, start, s, g, slope(code, coefficients, element, s))
        root = math.sqrt(square)
        if root > 1.0:
            low = s
        else:
            high = s
        step = 2.0 * square * (root - 1.0) / derivative
        trial = s - step
        if not (low < trial < high) or abs(step) > 0.5 * before:
            trial = 0.5 * (low + high)
        before = abs(trial - s)
        s = trial
        if before <= 2e-16 * s:
            break
    g = magnitude(code, coefficients, element, s)
    for i in range(len(y)):
        f = tuple_setitem(f, i, g * y[i] / (s + z[row, start + i] * g))
    return f, False


@njit(cache=True, error_model="numpy")
def project_along_axes(
    code: int | None, coefficients: np.ndarray, x: np.ndarray, axes: np.ndarray, y: np.ndarray, zero: Vector
) -> None:
    """Applies `project_principal` row by row: writes y (1, n, dimension) for x (1, n, dimension).

    `axes` (1, dimension + dimension^2) has z and the matrix R whose columns are the principal axes: f = R phi(R^T x).
    """
    n = len(zero)
    for k in range(x.shape[1]):
        principal = transformed(axes, 0, n, load(x, 0, k, zero), True)
        force, _ = project_principal(code, coefficients, 0, principal, axes, 0, 0)
        store(y, 0, k, transformed(axes, 0, n, force, False))


@njit(cache=True, error_model="numpy")
def project_all(
    code: int | None, coefficients: np.ndarray, x: np.ndarray, Z: float, y: np.ndarray, static: np.ndarray, zero: Vector
) -> None:
    """Applies `project` row by row: writes y (1, n, dimension) and static (n,) for x (1, n, dimension)."""
    for k in range(x.shape[1]):
        force, static[k] = project(code, coefficients, 0, load(x, 0, k, zero), Z)
        store(y, 0, k, force)


@njit(cache=True, error_model="numpy")
def evaluate_all(code: int | None, coefficients: np.ndarray, x: np.ndarray, y: np.ndarray, zero: Vector) -> None:
    """Evaluates Phi(x) row by row, zero at x = 0: writes y (1, n, dimension) for x (1, n, dimension)."""
    for k in range(x.shape[1]):
        store(y, 0, k, evaluate(code, coefficients, 0, load(x, 0, k, zero)))
