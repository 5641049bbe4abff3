"""How the elastic displacement of `lagged_elastoplastic` follows its contact from one step to the next.

The problem takes and gives e in the contact's tangent frame of that step. Between two steps the frame changes for
two reasons that have nothing to do with each other: bodies turn, which the springs between them must follow; and the
choice of t1, t2 for a normal is arbitrary, which they must not notice. `transported` therefore carries e as a vector in
space:

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

import numpy as np
from numpy.typing import ArrayLike

from convex_contact.problem import checks


def transported(
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
    """
    nc = len(np.asarray(elastic_displacement))
    e = checks.array("elastic_displacement", elastic_displacement, (nc, 2))
    old, new = checks.array("old_frames", old_frames, (nc, 3, 3)), checks.array("new_frames", new_frames, (nc, 3, 3))
    for name, frames in (("old_frames", old), ("new_frames", new)):
        if nc and np.abs(np.einsum("nij,nkj->nik", frames, frames) - np.eye(3)).max() > 1e-6:
            raise ValueError(f"{name}: expected orthonormal rows t1, t2, n, got some that are not")
    angle = checks.per_contact("turn", 0.0 if turn is None else turn, nc)
    x = np.einsum("ni,nij->nj", e, old[:, :2])
    n, m = old[:, 2], new[:, 2]
    # rotation n -> m applied to x, which is orthogonal to n: x - (m.x)/(1 + n.m) (n + m)
    along, cosine = np.einsum("ni,ni->n", m, x), np.einsum("ni,ni->n", n, m)
    opposite = cosine < -1.0 + 1e-12  # the rotation is not unique; any tangent vector does as well
    x = x - np.where(opposite, 0.0, along / np.where(opposite, 1.0, 1.0 + cosine))[:, None] * (n + m)
    x = np.cos(angle)[:, None] * x + np.sin(angle)[:, None] * np.cross(m, x)
    return np.einsum("nij,nj->ni", new[:, :2], x)
