"""The cliques' blocks of A, compiled: dense, or for branched trees the entries of the lower half along paths."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from convex_contact.solver.blocks import factorise, negative_product
from convex_contact.solver.branches import (
    add_branch_sizes,
    branches_of,
    copy_branches,
    factorise_branches,
    negative_branch_product,
)

_U = np.uintp


@njit(error_model="numpy", _nrt=False, cache=True)
def negative_mass_product(w: Any, c: int, x: np.ndarray, y: np.ndarray) -> None:
    """Computes y = -A x for the velocities of clique c."""
    s, a = w.dof_start[c], w.A_start[c]
    n = w.dof_start[c + 1] - s
    if w.clique_branched[c] != 0:
        negative_branch_product(w.A, a, branches_of(w), s, s + n, x, y)
    else:
        negative_product(w.A, a, x, y, s, n)


@njit(error_model="numpy", _nrt=False, cache=True)
def add_mass_sizes(w: Any, c: int, y: np.ndarray) -> None:
    """Adds |A| (|v| + |v*|) to y for the velocities of clique c."""
    s, a, A, v, v_star = w.dof_start[c], w.A_start[c], w.A, w.v, w.v_star
    n = w.dof_start[c + 1] - s
    if w.clique_branched[c] != 0:
        add_branch_sizes(A, a, branches_of(w), s, s + n, v, v_star, y)
        return
    for k in range(n):
        total = 0.0
        for x in range(n):
            total += abs(A[a + k * n + x]) * (abs(v[s + x]) + abs(v_star[s + x]))
        y[s + k] += total


@njit(error_model="numpy", _nrt=False, cache=True)
def load_mass(w: Any, c: int, h: int) -> None:
    """Copies A of clique c to the block of H at h; of a branched tree only the upper half, along paths."""
    s, a, A, H = w.dof_start[c], _U(w.A_start[c]), w.A, w.H
    n, o = w.dof_start[c + 1] - s, _U(h)
    if w.clique_branched[c] != 0:
        copy_branches(A, w.A_start[c], (n, 1), H, h, (1, n), branches_of(w), s, s + n)
        return
    for k in range(_U(n * n)):
        H[o + k] = A[a + k]


@njit(error_model="numpy", _nrt=False, cache=True)
def factorise_masses(w: Any, every: bool) -> None:
    """Factorises A of every clique, or of the touched ones, by `blocks.factorise`; branched trees as A = L^T D L."""
    dof_start, A_start, A, A_factor, floor, scratch = w.dof_start, w.A_start, w.A, w.A_factor, w.floor, w.scratch
    touched, branched, branches = w.touched, w.clique_branched, branches_of(w)
    for c in range(w.n):
        if not every and touched[c] == 0:
            continue
        s, m, a = dof_start[c], dof_start[c + 1] - dof_start[c], A_start[c]
        if branched[c] != 0:
            copy_branches(A, a, (m, 1), A_factor, a, (m, 1), branches, s, s + m)
            factorise_branches(A_factor, a, m, branches, s, s + m, None)
            continue
        for k in range(m * m):
            scratch[k] = A[a + k]
        for k in range(m):
            floor[s + k] = 0.0
        factorise(scratch, 0, A_factor, a, m, floor, s)
