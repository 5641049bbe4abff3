"""A law of two functions, g and its derivative, which are compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy
from numba import cfunc

from haptic_friction.laws import projection
from haptic_friction.laws.law import FrictionLaw

#: speeds [m/s] at which a user's g and g' are inspected
INSPECTED_SPEEDS = np.concatenate(([0.0], np.logspace(-9.0, 3.0, 1201)))


class FunctionLaw(FrictionLaw):
    """Any g with its derivative, compiled; Phi_Z by Newton's method with bisection in a bracket.

    Both functions take a speed [m/s] as a float and may use `math`, `numpy` and numbers of their enclosing scope.
    They are inspected between 1e-9 and 1000 m/s.

    Args:
        magnitude: g(s) [N], continuous and above 0 for s > 0; g(0) is the limit at rest.
        slope: derivative g'(s) [N s/m].

    Raises:
        ValueError: a function cannot be compiled, a value is not finite or not positive, or `slope` is not the
            derivative of `magnitude`.

    Examples:
        >>> from haptic_friction import FunctionLaw
        >>> law = FunctionLaw(lambda speed: 2.0 + 5.0 * speed, lambda speed: 5.0)
        >>> law.force([0.2]).round(6).tolist()
        [3.0]
    """

    code = projection.FUNCTION

    def __init__(self, magnitude: Callable[[float], float], slope: Callable[[float], float]) -> None:
        compiled = [_compiled("magnitude", magnitude), _compiled("slope", slope)]
        self._functions = compiled  # keeps the code at these addresses alive
        g, rate = (np.array([function.ctypes(s) for s in INSPECTED_SPEEDS]) for function in compiled)
        for name, function, values in zip(("magnitude", "slope"), compiled, (g, rate[1:]), strict=True):
            if not np.isfinite(values).all():
                s = INSPECTED_SPEEDS[-len(values) :][~np.isfinite(values)][0]
                raise ValueError(
                    f"{name}: expected a finite number at every speed, got {function.ctypes(s)} at {s:g} m/s"
                )
        if (g[1:] <= 0.0).any() or g[0] < 0.0:
            s = INSPECTED_SPEEDS[1:][g[1:] <= 0.0]
            raise ValueError(
                f"magnitude: expected a force above 0, got a smaller one at {s[0] if len(s) else 0.0:g} m/s"
            )
        self._check_derivative(rate)
        self.coefficients = np.array([g[0], 0.0, 0.0])
        self.coefficients.view(np.int64)[1:] = [function.address for function in compiled]
        self.slope_range = (self._extreme(rate, 1.0), -self._extreme(-rate, -1.0))
        self._shown = ", ".join(getattr(function, "__name__", "?") for function in (magnitude, slope))

    def _check_derivative(self, rate: np.ndarray) -> None:
        """Compares g' with central differences of g where their rounding leaves six digits."""
        g = self._functions[0].ctypes
        for s, expected in zip(INSPECTED_SPEEDS[1::40], rate[1::40], strict=True):
            step = 1e-5 * s
            measured = (g(s + step) - g(s - step)) / (2.0 * step)
            rounding = 4e-16 * abs(g(s)) / step
            if abs(measured - expected) > 1e-3 * abs(expected) + 10.0 * rounding + 1e-9:
                raise ValueError(
                    f"slope: expected the derivative of magnitude, {measured:.6g} N s/m at {s:.6g} m/s, "
                    f"got {expected:.6g}"
                )

    def _extreme(self, rate: np.ndarray, sign: float) -> float:
        """Finds the smallest sign g' at the inspected speeds and between the neighbours of the best of them."""
        best = int(np.argmin(rate[1:])) + 1
        low, high = INSPECTED_SPEEDS[max(best - 1, 0)], INSPECTED_SPEEDS[min(best + 1, len(rate) - 1)]
        slope = self._functions[1].ctypes
        refined = scipy.optimize.minimize_scalar(
            lambda s: sign * slope(s), bounds=(low, high), method="bounded", options={"xatol": 1e-9 * high}
        )
        return float(min(rate[best], refined.fun))


def _compiled(name: str, function: Callable[[float], float]) -> Any:
    """Compiles the function to machine code; its ValueError has the compiler's first line that names the cause."""
    if not callable(function):
        raise ValueError(f"{name}: expected a function of the speed [m/s], got {function!r}")
    try:
        return cfunc("float64(float64)", error_model="numpy")(function)
    except Exception as error:  # Numba raises its own errors and some of Python's
        lines = [line.strip() for line in str(error).splitlines()]
        reasons = [line for line in lines if line and not line.startswith("Failed in nopython mode")]
        reason = reasons[0] if reasons else type(error).__name__
        raise ValueError(f"{name}: cannot be compiled: {reason}") from error
