"""Diagonal estimate of the Delassus operator J A^-1 J^T, from the factors of the cliques' masses."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from convex_contact.solver.blocks import forward_vector
from convex_contact.solver.branches import Branches, Side, branches_of, last_velocity, side_of, unpack_path

#: entries 11, 12, 13, 22, 23, 33 of a symmetric 3 x 3 matrix
Entries = tuple[float, float, float, float, float, float]


@njit(error_model="numpy", _nrt=False, cache=True)
def delassus_norm(w: Any, i: int) -> float:
    """Returns w = ||J A^-1 J^T||_F / 3 of contact i [1/kg], after `masses.factorise_masses`.

    The arrays dv, A_dv and v_old of the workspace are overwritten.
    """
    branches, j = branches_of(w), w.J_start[i]
    total = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for slot in range(2):
        c = w.contact_a[i] if slot == 0 else w.contact_b[i]
        if c < 0:
            break
        side = side_of(w.dof_start, branches, c, w.contact_last[i, slot])
        unpack_path(w.J, j, side, branches, w.dv, w.A_dv, w.v_old)
        if w.clique_branched[c] != 0:
            total = _on_tree(w.A_factor, w.A_start[c], branches, side, w.dv, w.A_dv, w.v_old, total)
        else:
            total = _on_block(w.A_factor, w.A_start[c], side, w.dv, w.A_dv, w.v_old, total)
        j += 3 * side.columns
    w11, w12, w13, w22, w23, w33 = total
    return math.sqrt(w11 * w11 + w22 * w22 + w33 * w33 + 2.0 * (w12 * w12 + w13 * w13 + w23 * w23)) / 3.0


@njit(error_model="numpy", _nrt=False, cache=True)
def _on_block(
    F: np.ndarray, f: int, side: Side, y1: np.ndarray, y2: np.ndarray, y3: np.ndarray, total: Entries
) -> Entries:
    """Adds J A^-1 J^T = Y^T Y of a side, A = U^T U and Y = U^-T J^T, to the entries `total`."""
    w11, w12, w13, w22, w23, w33 = total
    s, m = side.start, side.size
    for y in (y1, y2, y3):
        forward_vector(F, f, y, s, m)
    for r in range(s, s + m):
        u1, u2, u3 = y1[r], y2[r], y3[r]
        w11, w12, w13 = w11 + u1 * u1, w12 + u1 * u2, w13 + u1 * u3
        w22, w23, w33 = w22 + u2 * u2, w23 + u2 * u3, w33 + u3 * u3
    return w11, w12, w13, w22, w23, w33


@njit(error_model="numpy", _nrt=False, cache=True)
def _on_tree(
    L: np.ndarray, o: int, branches: Branches, side: Side, y1: np.ndarray, y2: np.ndarray, y3: np.ndarray,
    total: Entries,
) -> Entries:  # fmt: skip
    """Adds J A^-1 J^T = Y^T D^-1 Y of a side, A = L^T D L; Y = L^-T J^T has no entries off the side's path."""
    parent, run = branches.parent, branches.run
    w11, w12, w13, w22, w23, w33 = total
    k = last_velocity(side)
    while k >= side.start:
        row = o + (k - side.start) * side.size - side.start
        u1, u2, u3 = y1[k], y2[k], y3[k]
        inverse = 1.0 / L[row + k]
        w11, w12, w13 = w11 + u1 * u1 * inverse, w12 + u1 * u2 * inverse, w13 + u1 * u3 * inverse
        w22, w23, w33 = w22 + u2 * u2 * inverse, w23 + u2 * u3 * inverse, w33 + u3 * u3 * inverse
        m = parent[k]
        while m >= 0:
            for i in range(run[m], m + 1):
                x = L[row + i]
                y1[i] -= x * u1
                y2[i] -= x * u2
                y3[i] -= x * u3
            m = parent[run[m]]
        k = k - 1 if side.last < 0 else parent[k]
    return w11, w12, w13, w22, w23, w33


@njit(error_model="numpy", _nrt=False, cache=True)
def row_delassus(w: Any, i: int) -> float:
    """Returns J A^-1 J^T of row i [1/kg]; overwrites dv of the workspace."""
    dof_start, A_start, A_factor, J, j, branches = (
        w.dof_start, w.A_start, w.A_factor, w.row_J, w.row_J_start[i], branches_of(w)
    )  # fmt: skip
    parent, y, total = branches.parent, w.dv, 0.0
    for slot in range(2):
        c = w.row_a[i] if slot == 0 else w.row_b[i]
        if c < 0:
            break
        s, m, o = dof_start[c], dof_start[c + 1] - dof_start[c], A_start[c]
        if w.clique_branched[c] != 0:
            for k in range(m):
                y[s + k] = J[j + k]
            for back in range(m):
                k = m - 1 - back
                value = y[s + k]
                if value != 0.0:
                    total += value * value / A_factor[o + k * m + k]
                    above = parent[s + k]
                    while above >= 0:
                        y[above] -= A_factor[o + k * m + above - s] * value
                        above = parent[above]
        else:
            for k in range(m):
                y[s + k] = J[j + k]
            forward_vector(A_factor, o, y, s, m)
            for k in range(m):
                total += y[s + k] * y[s + k]
        j += m
    return total
