"""Exact line search: v <- v + alpha dv with the zero alpha of l'(alpha), island by island."""

from __future__ import annotations

import math
from typing import Any

from numba import njit

from convex_contact.solver import terms
from convex_contact.solver.island_states import ACTIVE, EPS
from convex_contact.solver.masses import negative_mass_product

#: evaluations of l' per search, enough to halve a bracket down to rounding
MAX_TRIALS = 60


@njit(error_model="numpy", _nrt=False, cache=True)
def search_lines(w: Any) -> None:
    """Moves the active islands along dv."""
    state = w.island_state
    for island in range(w.islands):
        if state[island] == ACTIVE:
            f0, c0, c1 = _project_masses(w, island)
            terms.project(w, island)
            alpha, found = _find_zero(w, island, f0, c0, c1)
            _advance(w, island, alpha, found)


@njit(error_model="numpy", _nrt=False, cache=True)
def _project_masses(w: Any, island: int) -> tuple[float, float, float]:
    """Computes -A dv; returns l'(0), and c0, c1 of dv^T A (v + alpha dv - v*) = c0 + alpha c1."""
    dof_start, order, island_start = w.dof_start, w.order, w.island_start
    dv, A_dv, r, momentum = w.dv, w.A_dv, w.r, w.r_momentum
    f0 = c0 = c1 = 0.0
    for p in range(island_start[island], island_start[island + 1]):
        c = order[p]
        negative_mass_product(w, c, dv, A_dv)
        for k in range(dof_start[c], dof_start[c + 1]):
            f0 += dv[k] * r[k]
            c0 += dv[k] * momentum[k]
            c1 -= dv[k] * A_dv[k]
    return f0, c0, c1


@njit(error_model="numpy", _nrt=False, cache=True)
def _find_zero(w: Any, island: int, f0: float, c0: float, c1: float) -> tuple[float, bool]:
    """Returns the step length, and whether l' has converged there; the impulses then are those of v + alpha dv."""
    alpha, low, high, f_low, f_high = 1.0, 0.0, math.inf, f0, math.inf
    for trial in range(MAX_TRIALS if f0 < 0.0 else 0):
        f, curvature = terms.subtract_slope(w, island, alpha, trial > 0, c0 + alpha * c1, c1)
        if abs(f) <= w.slope * abs(f0):
            return alpha, True
        if f < 0.0:
            low, f_low = alpha, f
        else:
            high, f_high = alpha, f
        if high - low <= 4.0 * EPS * high:
            break
        following = alpha - f / curvature
        if trial == 0:  # no curvature yet
            following = 2.0 if f < 0.0 else f_low / (f_low - f_high)
        if not following > low or not following < high:
            following = 2.0 * low if high == math.inf else 0.5 * (low + high)
        elif trial % 4 == 3:
            following = 0.5 * (low + high) if high < math.inf else 2.0 * low
        alpha = following
    return alpha, False


@njit(error_model="numpy", _nrt=False, cache=True)
def _advance(w: Any, island: int, alpha: float, found: bool) -> None:
    """Updates v; if the impulses at the new v are known, also updates A (v - v*) and the velocities of the terms."""
    dof_start, order, island_start = w.dof_start, w.order, w.island_start
    v, v_old, dv, A_dv, momentum, evaluated = w.v, w.v_old, w.dv, w.A_dv, w.r_momentum, w.island_evaluated
    for p in range(island_start[island], island_start[island + 1]):
        c = order[p]
        for k in range(dof_start[c], dof_start[c + 1]):
            v_old[k] = v[k]
            v[k] += alpha * dv[k]
    evaluated[island] = 1 if found and w.island_stalls[island] == 0 and w.polish == 0 else 0
    if evaluated[island] == 0:
        return
    for p in range(island_start[island], island_start[island + 1]):
        c = order[p]
        for k in range(dof_start[c], dof_start[c + 1]):
            momentum[k] -= alpha * A_dv[k]
    terms.advance(w, island, alpha)
