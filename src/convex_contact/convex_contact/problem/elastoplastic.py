"""Transport of the elastic displacement e of `lagged_elastoplastic` from one step to the next.

The problem has e in the contact's tangent frame of that step. Between two steps the frame changes for two independent
reasons. Bodies rotate, and the springs between them must follow. The choice of t1, t2 for a normal is arbitrary, and
the springs must not depend on it. `transport_elastic_displacement` therefore treats e as a vector in space:

1. e is rotated by the smallest rotation that takes the old normal to the new one (parallel transport). The rotation
   keeps the length of e, so that no energy is created and no friction lost. Projection on the new plane would shorten e
   at each step of a rolling contact and let it creep.
2. e is rotated about the normal by the mean spin of the two bodies times the period: the bristles are rooted in both
   surfaces alike. If two bodies rotate together, e rotates with them exactly.
3. The result is expressed in the new tangent frame.

A contact point that moves over the surfaces (rolling) needs no further term: e is the displacement of the surfaces
since they met at the present contact point, and rolling changes it only by the slip velocity v_t.

Loss of contact: with the lagged bound F = mu gamma_n0/dt = 0 the problem itself gives f = 0 and
e_new = b_t e/(b_t + dt k_t). A simulator sets e to zero where the bodies do not overlap at the start of a step: such a
contact has no friction, and may leave the list. A first touch has gamma_n0 = 0, hence no friction in its first step, as
in Lagged.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from convex_contact.problem import checks
from convex_contact.problem.contact_kernels import (
    M11,
    M12,
    M22,
    TANGENTIAL_DAMPING,
    TANGENTIAL_STIFFNESS,
    mean_square,
)
from convex_contact.problem.elementwise import elementwise
from haptic_files.moved_modules import renamed


@elementwise
def update_elastic_displacement(k: Any, b: Any, period: Any, e: Any, impulse: Any) -> Any:
    """Returns e at the end of a step [m], (b_t e - gamma_t)/(b_t + dt k_t), from e at its start; also for arrays."""
    return (b * e - impulse) / (b + period * k)


@elementwise
def _divided(a: Any, b: Any, c: Any, g1: Any, g2: Any) -> Any:
    """Returns M^-1 g of a friction tensor M = [[a, b], [b, c]]; of one without friction in a direction M^+ g."""
    determinant, trace = a * c - b * b, a + c
    if determinant.real <= 1e-14 * (trace * trace).real:
        square = trace * trace
        return (a * g1 + b * g2) / square, (b * g1 + c * g2) / square
    return (c * g1 - b * g2) / determinant, (a * g2 - b * g1) / determinant


@elementwise
def find_elastic_displacement(p: np.ndarray, i: int, period: Any, e1: Any, e2: Any, g1: Any, g2: Any) -> Any:
    """Returns e of contact i at the end of a step [m], with a friction tensor M by its parameters (`contact_kernels`).

    M e obeys the law of the scaled velocity M v with the stiffness k_t/m2 and the force M^-1 gamma_t, hence
    e <- (b_t e - m2 M^-2 gamma_t)/(b_t + dt k_t).

    Args:
        p: table of parameters.
        i: row of the contact.
        period: dt [s].
        e1, e2: e at the start of the step along t1, t2 [m].
        g1, g2: impulse along t1, t2 [N s].
    """
    a, b, c = p[i, M11], p[i, M12], p[i, M22]
    m2 = mean_square(a, b, c)
    x1, x2 = _divided(a, b, c, g1, g2)
    x1, x2 = _divided(a, b, c, x1, x2)
    k, damping = p[i, TANGENTIAL_STIFFNESS], p[i, TANGENTIAL_DAMPING]
    return (
        update_elastic_displacement(k, damping, period, e1, m2 * x1),
        update_elastic_displacement(k, damping, period, e2, m2 * x2),
    )


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False, forceinline=True)
def transport_contact_displacement(
    values: np.ndarray, k: int, old_frames: np.ndarray, new_frames: np.ndarray, i: int, angle: float
) -> tuple[float, float]:
    """Transports the tangential vector k to the contact with number i of the new frames; returns it along t1, t2.

    The rotation n -> m of a vector x that is orthogonal to n is x - (m.x)/(1 + n.m) (n + m). For m = -n the rotation is
    not unique, and x is left as it is. `angle` is the rotation about m [rad], as in `transport_elastic_displacement`.
    """
    along, cosine = 0.0, 0.0
    for r in range(3):
        m = new_frames[i, 2, r]
        along += m * (old_frames[k, 0, r] * values[k, 0] + old_frames[k, 1, r] * values[k, 1])
        cosine += m * old_frames[k, 2, r]
    fraction = along / (1.0 + cosine) if cosine > -1.0 + 1e-12 else 0.0
    p, q = 0.0, 0.0
    for r in range(3):
        x = old_frames[k, 0, r] * values[k, 0] + old_frames[k, 1, r] * values[k, 1]
        x -= fraction * (old_frames[k, 2, r] + new_frames[i, 2, r])
        p += new_frames[i, 0, r] * x
        q += new_frames[i, 1, r] * x
    c, s = np.cos(angle), np.sin(angle)
    return c * p - s * q, s * p + c * q


def transport_elastic_displacement(
    elastic_displacement: ArrayLike, old_frames: ArrayLike, new_frames: ArrayLike, turn: ArrayLike | None = None
) -> np.ndarray:
    """Transports e of the last step to the contact frames of the next one.

    Args:
        elastic_displacement: e along the old t1, t2 [m], shape (nc, 2).
        old_frames: rows t1, t2, n of each contact in the world, shape (nc, 3, 3).
        new_frames: rows t1, t2, n of each contact one step later, shape (nc, 3, 3).
        turn: mean of the two bodies' angular velocities along the normal, times the period [rad], shape (nc,); None for
            zeros.

    Returns:
        e along the new t1, t2, shape (nc, 2), of the same length.

    Raises:
        ValueError: wrong shapes, numbers that are not finite, or frames that are not orthonormal.

    Examples:
        >>> import numpy as np
        >>> from convex_contact import transport_elastic_displacement
        >>> frame = np.eye(3)[None]
        >>> transport_elastic_displacement([[1e-3, 0.0]], frame, frame).tolist()
        [[0.001, 0.0]]
    """
    nc = len(np.asarray(elastic_displacement))
    e = checks.array("elastic_displacement", elastic_displacement, (nc, 2))
    old, new = checks.array("old_frames", old_frames, (nc, 3, 3)), checks.array("new_frames", new_frames, (nc, 3, 3))
    for name, frames in (("old_frames", old), ("new_frames", new)):
        if nc and np.abs(np.einsum("nij,nkj->nik", frames, frames) - np.eye(3)).max() > 1e-6:
            raise ValueError(f"{name}: expected orthonormal rows t1, t2, n, got some that are not")
    angle = checks.per_contact("turn", 0.0 if turn is None else turn, nc)
    return np.array([transport_contact_displacement(e, i, old, new, i, angle[i]) for i in range(nc)]).reshape(nc, 2)


__getattr__ = renamed(__name__, {"transported": "transport_elastic_displacement"})
