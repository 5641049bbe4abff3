"""How the elastic displacement of `lagged_elastoplastic` follows its contact from one step to the next.

The problem takes and gives e in the contact's tangent frame of that step. Between two steps the frame changes for
two reasons that have nothing to do with each other: bodies turn, which the springs between them must follow; and the
choice of t1, t2 for a normal is arbitrary, which they must not notice.
`transport_elastic_displacement` therefore carries e as a vector in space:

1. e is turned by the smallest rotation that takes the old normal to the new one (parallel transport). It has the
   length of e unchanged, so that no energy is made and no friction lost: projection on the new plane would shorten e at
   each step of a rolling contact and let it creep.
2. It is turned about the normal by the mean spin of the two bodies times the step: the bristles are rooted in both
   surfaces, and neither is distinguished. Two bodies that turn together carry e with them exactly.
3. The result is read in the new tangent frame.

A contact point that moves over the surfaces (rolling) needs nothing more: e is the displacement of the surfaces since
they met at the point where they touch now, and rolling changes it by the slip velocity alone, which v_t measures.

Contact lost: with the lagged bound F = mu gamma_n0/dt = 0 the problem itself gives f = 0 and
e_new = b_t e/(b_t + dt k_t): the unloaded bristles spring back with their own time constant b_t/k_t, at once without
damping. A pair that leaves the problem (phi beyond the threshold) is forgotten: e starts from zero when it returns. A
first touch has gamma_n0 = 0, hence no friction in its first step, as in Lagged.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from convex_contact.problem import checks
from convex_contact.problem.elementwise import elementwise
from haptic_files.moved_modules import renamed


@elementwise
def update_elastic_displacement(k: Any, b: Any, period: Any, e: Any, impulse: Any) -> Any:
    """Returns e at the end of a step [m], (b_t e - gamma_t)/(b_t + dt k_t), from e at its start; also of arrays."""
    return (b * e - impulse) / (b + period * k)


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False, forceinline=True)
def transport_contact_displacement(
    values: np.ndarray, k: int, old_frames: np.ndarray, new_frames: np.ndarray, i: int, angle: float
) -> tuple[float, float]:
    """Components along the new t1, t2 of the tangential vector k, whose contact is number i of the new frames.

    The rotation n -> m of a vector x that is orthogonal to n is x - (m.x)/(1 + n.m) (n + m); where m = -n it is not
    unique, and any tangent vector does as well. `angle` [rad] is the rotation about m, that of
    `transport_elastic_displacement`.
    """
    along, cosine = 0.0, 0.0
    for r in range(3):
        m = new_frames[i, 2, r]
        along += m * (old_frames[k, 0, r] * values[k, 0] + old_frames[k, 1, r] * values[k, 1])
        cosine += m * old_frames[k, 2, r]
    share = along / (1.0 + cosine) if cosine > -1.0 + 1e-12 else 0.0
    p, q = 0.0, 0.0
    for r in range(3):
        x = old_frames[k, 0, r] * values[k, 0] + old_frames[k, 1, r] * values[k, 1]
        x -= share * (old_frames[k, 2, r] + new_frames[i, 2, r])
        p += new_frames[i, 0, r] * x
        q += new_frames[i, 1, r] * x
    c, s = np.cos(angle), np.sin(angle)
    return c * p - s * q, s * p + c * q


def transport_elastic_displacement(
    elastic_displacement: ArrayLike, old_frames: ArrayLike, new_frames: ArrayLike, turn: ArrayLike | None = None
) -> np.ndarray:
    """e of the last step in the frames of the next one.

    Args:
        elastic_displacement: e along the old t1, t2 [m], shape (nc, 2).
        old_frames: rows t1, t2, n of each contact in the world, shape (nc, 3, 3).
        new_frames: likewise, one step later.
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
