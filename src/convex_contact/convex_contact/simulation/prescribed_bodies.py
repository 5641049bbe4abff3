"""Motion of prescribed bodies in a step, compiled."""

from __future__ import annotations

import numpy as np
from numba import njit

from convex_contact.model.bodies import move, write_pose, write_quaternion
from haptic_math.array_assignment import assign


@njit(cache=True, nogil=True, error_model="numpy")
def move_prescribed(pose: np.ndarray, twist: np.ndarray, period: float, linear: bool) -> None:
    """Moves a pose (12,) by a twist (6,) for a period [s]; a body at rest keeps its pose to the last bit."""
    moves = False
    for k in range(6):
        moves |= twist[k] != 0.0
    if not moves:
        return
    q = np.empty(7)
    assign(q[:3], pose[9:])
    write_quaternion(pose, q[3:])
    move(q, twist, period, linear)
    write_pose(pose, q)
