"""Free bodies and articulated trees in one compiled call before the contacts of a step, and in one after its solution.

Trees without kernels are not among them.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from convex_contact.model.arrays import WorldRecord
from convex_contact.model.bodies import move_free_bodies, prepare_free_bodies
from convex_contact.model.tree_kernels import move_trees, prepare_trees


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def prepare_bodies(w: WorldRecord, period: float) -> None:
    """Writes poses, twists, Jacobians of links, blocks of A and free-motion velocities from q and v."""
    prepare_free_bodies(w, period)
    prepare_trees(w, period)


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def move_bodies(w: WorldRecord, velocity: np.ndarray, period: float, linear: bool) -> None:
    """Takes over the velocity (nv,) of a step and moves the coordinates with it.

    Args:
        w: The world.
        velocity: At the end of the step, m/s and rad/s.
        period: dt, s.
        linear: Integrate the quaternions of free bodies linearly.
    """
    v = w.v
    for i in range(len(v)):
        v[i] = velocity[i]
    move_free_bodies(w, v, period, linear)
    move_trees(w, period)
