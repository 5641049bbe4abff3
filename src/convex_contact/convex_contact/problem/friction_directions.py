"""Directions of friction as second unknowns: primal-dual Newton steps.

Where friction turns or begins to stick, the Hessian changes within v_s, and Newton's steps end there, one contact after
the other. So the direction y of friction is an unknown beside the velocity, as in T. F. Chan, G. H. Golub and P. Mulet,
"A Nonlinear Primal-Dual Method for Total Variation-Based Image Restoration" (SIAM J. Sci. Comput. 20, 1999). For Lagged
friction is -s gamma_n0 y, with

    r y = x,   r = sqrt(||x||^2 + eps^2),   ||y|| <= 1,

and a Newton step of this and of the momentum has, made symmetric, the matrix and the direction

    G_xx = s gamma_n0/r (I - (y t^T + t y^T)/2),   t = x/r,   y <- (x + dx)/r - y (x . dx)/r^2,

shortened to ||y|| = 1 where it is longer. G is positive semidefinite for any such y, and the Hessian where y = t: at
the first guess and at the solution. Cost, slope, line search and stopping test are those of the problem, and so is the
solution. Similar has the same x and r; elastoplastic contacts have p for x and max(||p||, F) for r; SAP has y_t and
max(||y_t||, mu y_n). The other parts of their Hessians stay as they are.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from convex_contact.problem.contact_kernels import (
    COEFFICIENT,
    D_BOUND,
    D_DIRECTION,
    D_EPS,
    LAGGED_ELASTOPLASTIC,
    SAP,
    STICK,
    ContactLaw,
    project_on_cone,
    scale_velocity,
    soft_root,
    trial_force,
)


@njit(error_model="numpy", forceinline=True, _nrt=False, cache=True)
def _find_vector(
    law: ContactLaw, q: np.ndarray, i: int, v1: float, v2: float, vn: float
) -> tuple[float, float, float, bool]:
    """Returns the vector x along which friction of contact i acts, its length r, and whether r changes with x."""
    x1, x2 = scale_velocity(q, i, v1, v2)
    if law.approximation == SAP:
        y1, y2, yn, size, part = project_on_cone(q, i, x1, x2, vn)
        return (y1, y2, q[i, COEFFICIENT] * yn, False) if part == STICK else (y1, y2, size, True)
    if law.approximation == LAGGED_ELASTOPLASTIC:
        p1, p2, size = trial_force(q, i, x1, x2)
        bound = q[i, D_BOUND]
        return (p1, p2, bound, False) if size <= bound else (p1, p2, size, True)
    return x1, x2, soft_root(x1, x2, q[i, D_EPS])[1], True


@njit(error_model="numpy", forceinline=True, _nrt=False, cache=True)
def _find_change(law: ContactLaw, q: np.ndarray, i: int, dv1: float, dv2: float) -> tuple[float, float]:
    """Returns the change of x of :func:`_find_vector` with the tangential velocity."""
    d1, d2 = scale_velocity(q, i, dv1, dv2)
    if law.approximation == SAP:
        return -d1 / q[i, D_EPS], -d2 / q[i, D_EPS]
    if law.approximation == LAGGED_ELASTOPLASTIC:
        return q[i, D_EPS] * d1, q[i, D_EPS] * d2
    return d1, d2


@njit(error_model="numpy", _nrt=False, cache=True)
def start_direction(law: ContactLaw, q: np.ndarray, i: int, v1: float, v2: float, vn: float) -> None:
    """Sets y of contact i to the direction of friction at this velocity; the next step has the Hessian itself."""
    x1, x2, r, _ = _find_vector(law, q, i, v1, v2, vn)
    q[i, D_DIRECTION], q[i, D_DIRECTION + 1] = (x1 / r, x2 / r) if r > 0.0 else (0.0, 0.0)


@njit(error_model="numpy", _nrt=False, cache=True)
def update_direction(
    law: ContactLaw, q: np.ndarray, i: int, v1: float, v2: float, vn: float, dv1: float, dv2: float
) -> None:
    """Makes the Newton step of y of contact i, from the contact velocity v along dv."""
    x1, x2, r, changes = _find_vector(law, q, i, v1, v2, vn)
    if r <= 0.0:
        return
    d1, d2 = _find_change(law, q, i, dv1, dv2)
    growth = (x1 * d1 + x2 * d2) / (r * r) if changes else 0.0
    y1 = (x1 + d1) / r - q[i, D_DIRECTION] * growth
    y2 = (x2 + d2) / r - q[i, D_DIRECTION + 1] * growth
    length = max(1.0, math.sqrt(y1 * y1 + y2 * y2))
    q[i, D_DIRECTION], q[i, D_DIRECTION + 1] = y1 / length, y2 / length
