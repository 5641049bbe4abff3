"""The law of a constraint row, eqs. (a), (b) of `constraints`, for numbers, arrays and compiled code."""

from __future__ import annotations

from typing import Any

import numpy as np

from convex_contact.problem.elementwise import elementwise


@elementwise
def row_impulse(s: Any, target: Any, R: Any, lower: Any, upper: Any) -> Any:
    """Returns the impulse gamma = clamp((v^ - s)/R, lower, upper) [N s].

    Args:
        s: velocity of the row [m/s].
        target: v^ [m/s].
        R: compliance [1/kg].
        lower: smallest impulse [N s].
        upper: largest impulse [N s].
    """
    return np.minimum(np.maximum((target - s) / R, lower), upper)


@elementwise
def row_hessian(s: Any, target: Any, R: Any, lower: Any, upper: Any) -> Any:
    """Returns d^2 l/ds^2 = -dgamma/ds [kg]: 1/R between the bounds, else 0; arguments like :func:`row_impulse`."""
    y = (target - s) / R
    return ((y > lower) & (y < upper)) / R


@elementwise
def spring_compliance(period: Any, stiffness: Any, dt_plus_tau: Any) -> Any:
    """Returns R = 1/(dt k (dt + tau)) of a spring [1/kg], without the near-rigid limit.

    Args:
        period: dt [s].
        stiffness: k [N/m].
        dt_plus_tau: period plus the spring's relaxation time [s].
    """
    return 1.0 / (period * stiffness * dt_plus_tau)
