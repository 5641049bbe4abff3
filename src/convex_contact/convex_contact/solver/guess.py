"""The guess of a step's velocity: that of the last step, and where it changes evenly plus its change by the last step.

The velocities of what slides, rolls or swings change by nearly the same in each step; so extrapolated they are a much
better guess than the last ones. Those of impacts are not: they keep the last velocity.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

#: velocities change evenly if the changes by two steps in a row differ by less than this fraction
EVEN = 0.5


@njit(error_model="numpy", _nrt=False, cache=True)
def extrapolate(w: Any, c: int) -> None:
    """Adds the last step's change of velocity to the guess of a clique, if it differs little from the one before.

    Changes are compared in the norm of the convergence test, in which each velocity is divided by its scale.

    Args:
        w: workspace, borrowed; v is v0.
        c: clique.
    """
    last, before, scale = w.change, w.change_before, w.scale
    size = difference = 0.0
    for k in range(w.dof_start[c], w.dof_start[c + 1]):
        size += (last[k] / scale[k]) ** 2
        difference += ((last[k] - before[k]) / scale[k]) ** 2
    if difference < EVEN * EVEN * size:
        v = w.v
        for k in range(w.dof_start[c], w.dof_start[c + 1]):
            v[k] += last[k]


@njit(error_model="numpy", _nrt=False, cache=True)
def note_changes(w: Any, start: np.ndarray) -> None:
    """Notes the change of velocity by a step that is solved.

    Args:
        w: workspace, borrowed.
        start: velocity at the start of the step (dofs,), m/s and rad/s.
    """
    v, last, before = w.v, w.change, w.change_before
    for k in range(w.dofs):
        before[k], last[k] = last[k], v[k] - start[k]
