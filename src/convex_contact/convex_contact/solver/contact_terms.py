"""Contacts as terms of the problem: the operations of `terms`, for impulses along t1, t2, n."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from convex_contact.problem.contact_kernels import (
    BIAS,
    COEFFICIENT,
    D_BOUND,
    D_EPS,
    D_SECOND,
    DISSIPATION,
    PHI0,
    SAP,
    STIFFNESS,
    ContactLaw,
    Regularisation,
    idle_by_velocity,
    impulse,
    impulse_and_hessian,
    is_idle,
    needs_mobility,
    normal_slope,
    prepare,
)
from convex_contact.solver.blocks import add_congruence, add_three_rows, three_rows_times
from convex_contact.solver.delassus import delassus_norm, invert_masses
from convex_contact.solver.pattern import Couplings
from convex_contact.solver.vector_blocks import three_rows_times6, three_rows_times66


class Jacobians(NamedTuple):
    """Contact Jacobians of a workspace, with the cliques that they belong to; see `workspace`."""

    dof_start: np.ndarray
    a: np.ndarray
    b: np.ndarray
    start: np.ndarray
    J: np.ndarray


@njit(inline="always")  # no compilation and linking of its own
def jacobians_of(w: Any) -> Jacobians:
    """Returns the Jacobians of the contacts."""
    return Jacobians(w.dof_start, w.contact_a, w.contact_b, w.J_start, w.J)


@njit(inline="always")
def law_of(w: Any) -> ContactLaw:
    """Returns what all contacts share."""
    return ContactLaw(w.approximation, w.law, w.addresses, w.period)


@njit(error_model="numpy", forceinline=True, _nrt=False, cache=True)
def jacobian_times(x: Jacobians, i: int, v: np.ndarray) -> tuple[float, float, float]:
    """J v of contact i."""
    dof_start, J, j, a, b = x.dof_start, x.J, x.start[i], x.a[i], x.b[i]
    s = dof_start[a]
    if dof_start[a + 1] - s == 6:
        if b < 0:
            return three_rows_times6(J, j, v, s)
        t = dof_start[b]
        if dof_start[b + 1] - t == 6:
            return three_rows_times66(J, j, v, s, t)
    return _general_jacobian_times(dof_start, J, j, a, b, v)


@njit(error_model="numpy", _nrt=False, cache=True)
def _general_jacobian_times(
    dof_start: np.ndarray, J: np.ndarray, j: int, a: int, b: int, v: np.ndarray
) -> tuple[float, float, float]:
    """J v of one contact between cliques of any sizes."""
    s, m = dof_start[a], dof_start[a + 1] - dof_start[a]
    v1, v2, vn = three_rows_times(J, j, v, s, m)
    if b >= 0:
        u1, u2, un = three_rows_times(J, j + 3 * m, v, dof_start[b], dof_start[b + 1] - dof_start[b])
        return v1 + u1, v2 + u2, vn + un
    return v1, v2, vn


@njit(error_model="numpy", forceinline=True, _nrt=False, cache=True)
def _find_velocity(
    x: Jacobians, i: int, v: np.ndarray, parameters: np.ndarray, vc: np.ndarray
) -> tuple[float, float, float]:
    """Writes v_c = J v + b of contact i, and returns it."""
    v1, v2, vn = jacobian_times(x, i, v)
    v1 += parameters[i, BIAS]
    v2 += parameters[i, BIAS + 1]
    vn += parameters[i, BIAS + 2]
    vc[i, 0], vc[i, 1], vc[i, 2] = v1, v2, vn
    return v1, v2, vn


@njit(error_model="numpy", _nrt=False, cache=True)
def prepare_terms(w: Any) -> None:
    """Computes velocities and derived numbers, and finds which contacts may be left out; marks cliques in `touched`."""
    jacobians, law, v, touched = jacobians_of(w), law_of(w), w.v, w.touched
    parameters, derived, vc, candidate, gamma = w.contact_parameters, w.derived, w.vc, w.candidate, w.gamma
    total = 0
    for i in range(w.nc):
        v1, v2, vn = _find_velocity(jacobians, i, v, parameters, vc)
        candidate[i] = 0
        if not idle_by_velocity(law, parameters, i, v1, v2, vn):
            _derive(w, i)
            candidate[i] = 0 if is_idle(law, derived, i, v1, v2, vn) else 1
        if candidate[i] == 0:
            gamma[i, 0] = gamma[i, 1] = gamma[i, 2] = 0.0
            continue
        total += 1
        touched[jacobians.a[i]] = 1
        if jacobians.b[i] >= 0:
            touched[jacobians.b[i]] = 1
    w.candidates = total


@njit(error_model="numpy", _nrt=False, cache=True)
def wake(w: Any) -> bool:
    """Takes in the idle contacts that are not idle at the present v; True where there are any."""
    jacobians, law, v = jacobians_of(w), law_of(w), w.v
    parameters, derived, vc, candidate = w.contact_parameters, w.derived, w.vc, w.candidate
    woken = 0
    for i in range(w.nc):
        if candidate[i] == 0:
            v1, v2, vn = _find_velocity(jacobians, i, v, parameters, vc)
            if idle_by_velocity(law, parameters, i, v1, v2, vn):
                continue
            _derive(w, i)
            if not is_idle(law, derived, i, v1, v2, vn):
                candidate[i] = 1
                woken += 1
    w.candidates += woken
    return woken > 0


@njit(error_model="numpy", _nrt=False, cache=True)
def _delassus_norm(w: Any, i: int) -> float:
    """w of contact i."""
    return delassus_norm(w.dof_start, w.A_start, w.A_factor, w.J, w.J_start[i], w.contact_a[i], w.contact_b[i])


@njit(error_model="numpy", _nrt=False, cache=True)
def _derive(w: Any, i: int) -> None:
    """Derived numbers of contact i."""
    norm = _delassus_norm(w, i) if needs_mobility(w.approximation) else 0.0
    numbers = Regularisation(w.stiction_tolerance, w.sigma, w.near_rigid)
    prepare(law_of(w), numbers, norm, w.contact_parameters, w.derived, i)


@njit(error_model="numpy", _nrt=False, cache=True)
def soften(w: Any, island: int, level: float) -> int:
    """Limits the stiffness of the contacts of an island to level/(w dt^2); returns how many were stiffer."""
    softened = 0
    for x in range(w.island_contacts[island], w.island_contacts[island + 1]):
        softened += _soften(w, w.contact_order[x], level)
    return softened


@njit(error_model="numpy", _nrt=False, cache=True)
def _soften(w: Any, i: int, level: float) -> int:
    """Derived numbers of contact i with its stiffness limited to level/(w dt^2); 1 where that is less than its own."""
    p, q, dt = w.contact_parameters, w.derived, w.period
    if not needs_mobility(w.approximation):
        invert_masses(w, True)
    norm = _delassus_norm(w, i)
    k, s = p[i, STIFFNESS], p[i, COEFFICIENT]
    if w.approximation == SAP:
        _derive(w, i)
        Rn = q[i, D_BOUND]
        if Rn * level >= norm:
            return 0
        q[i, D_BOUND], q[i, D_SECOND] = norm / level, s * s * q[i, D_EPS] * level / norm
        return 1
    overlap = max(abs(p[i, PHI0]), dt * abs(w.vc[i, 2]))
    slope = normal_slope(w.law, w.addresses, dt, -overlap, 0.0, k, p[i, DISSIPATION])
    q[i, STIFFNESS] = k
    if slope * norm <= level:
        return 0
    q[i, STIFFNESS] = k * level / (slope * norm)
    return 1


@njit(inline="always")
def couplings_of(w: Any) -> Couplings:
    """Returns the cliques that the candidates couple."""
    a, b, order = w.contact_a, w.contact_b, w.contact_order
    return Couplings(w.nc, a, b, w.candidate, False, w.contact_slot, order, w.island_contacts)


@njit(error_model="numpy", _nrt=False, cache=True)
def update(w: Any, island: int) -> None:
    """Computes v_c and gamma of an island from v."""
    jacobians, law, v, contact_order = jacobians_of(w), law_of(w), w.v, w.contact_order
    parameters, derived, vc, gamma, island_contacts = w.contact_parameters, w.derived, w.vc, w.gamma, w.island_contacts
    for x in range(island_contacts[island], island_contacts[island + 1]):
        i = contact_order[x]
        v1, v2, vn = _find_velocity(jacobians, i, v, parameters, vc)
        gamma[i, 0], gamma[i, 1], gamma[i, 2] = impulse(law, derived, i, v1, v2, vn)


@njit(error_model="numpy", _nrt=False, cache=True)
def add_momentum(w: Any, island: int) -> None:
    """Adds J^T gamma to j."""
    dof_start, j, gamma, island_contacts = w.dof_start, w.j, w.gamma, w.island_contacts
    contact_a, contact_b, J_start, J, contact_order = w.contact_a, w.contact_b, w.J_start, w.J, w.contact_order
    for x in range(island_contacts[island], island_contacts[island + 1]):
        i = contact_order[x]
        a, b, o = contact_a[i], contact_b[i], J_start[i]
        g1, g2, gn = gamma[i, 0], gamma[i, 1], gamma[i, 2]
        m = dof_start[a + 1] - dof_start[a]
        add_three_rows(J, o, g1, g2, gn, j, dof_start[a], m)
        if b >= 0:
            add_three_rows(J, o + 3 * m, g1, g2, gn, j, dof_start[b], dof_start[b + 1] - dof_start[b])


@njit(error_model="numpy", _nrt=False, cache=True)
def add_rounding(w: Any, island: int) -> None:
    """Adds to `dv` what rounding of v does to J^T gamma: |J|^T (|gamma| + |G| (|J| |v| + |b| + |phi0|/dt))."""
    law = law_of(w)
    dof_start, derived, vc, v, bound, J, J_start = w.dof_start, w.derived, w.vc, w.v, w.dv, w.J, w.J_start
    contact_a, contact_b, contact_order, gamma = w.contact_a, w.contact_b, w.contact_order, w.gamma
    parameters = w.contact_parameters
    for x in range(w.island_contacts[island], w.island_contacts[island + 1]):
        i = contact_order[x]
        a, b = contact_a[i], contact_b[i]
        G = impulse_and_hessian(law, derived, i, vc[i, 0], vc[i, 1], vc[i, 2])
        u1, u2 = abs(parameters[i, BIAS]), abs(parameters[i, BIAS + 1])
        u3 = abs(parameters[i, BIAS + 2]) + abs(parameters[i, PHI0]) / law.period
        for side in range(2):
            c = a if side == 0 else b
            o = J_start[i] if side == 0 else J_start[i] + 3 * (dof_start[a + 1] - dof_start[a])
            if c >= 0:
                s, m = dof_start[c], dof_start[c + 1] - dof_start[c]
                for k in range(m):
                    u1 += abs(J[o + k] * v[s + k])
                    u2 += abs(J[o + m + k] * v[s + k])
                    u3 += abs(J[o + 2 * m + k] * v[s + k])
        g1 = abs(gamma[i, 0]) + abs(G.h11) * u1 + abs(G.h12) * u2 + abs(G.h1n) * u3
        g2 = abs(gamma[i, 1]) + abs(G.h12) * u1 + abs(G.h22) * u2 + abs(G.h2n) * u3
        g3 = abs(gamma[i, 2]) + abs(G.h1n) * u1 + abs(G.h2n) * u2 + abs(G.hnn) * u3
        for side in range(2):
            c = a if side == 0 else b
            o = J_start[i] if side == 0 else J_start[i] + 3 * (dof_start[a + 1] - dof_start[a])
            if c >= 0:
                s, m = dof_start[c], dof_start[c + 1] - dof_start[c]
                for k in range(m):
                    bound[s + k] += abs(J[o + k]) * g1 + abs(J[o + m + k]) * g2 + abs(J[o + 2 * m + k]) * g3


@njit(error_model="numpy", _nrt=False, cache=True)
def add_hessian(w: Any, island: int) -> None:
    """Adds J^T G J to the blocks of H."""
    law = law_of(w)
    dof_start, H, diagonal_block, entry_block, position = w.dof_start, w.H, w.diagonal_block, w.entry_block, w.position
    contact_a, contact_b, J_start, J, contact_order = w.contact_a, w.contact_b, w.J_start, w.J, w.contact_order
    derived, vc, island_contacts, contact_slot = w.derived, w.vc, w.island_contacts, w.contact_slot
    for x in range(island_contacts[island], island_contacts[island + 1]):
        i = contact_order[x]
        G = impulse_and_hessian(law, derived, i, vc[i, 0], vc[i, 1], vc[i, 2])
        if G.h11 == 0.0 and G.h22 == 0.0 and G.hnn == 0.0:
            continue
        a, b, o = contact_a[i], contact_b[i], J_start[i]
        m = dof_start[a + 1] - dof_start[a]
        add_congruence(H, diagonal_block[position[a]], J, o, m, o, m, G)
        if b >= 0:
            ob, mb = o + 3 * m, dof_start[b + 1] - dof_start[b]
            add_congruence(H, diagonal_block[position[b]], J, ob, mb, ob, mb, G)
            h = entry_block[contact_slot[i] >> 1]
            if contact_slot[i] & 1 == 0:
                add_congruence(H, h, J, o, m, ob, mb, G)
            else:
                add_congruence(H, h, J, ob, mb, o, m, G)


@njit(error_model="numpy", _nrt=False, cache=True)
def project(w: Any, island: int) -> None:
    """Computes J dv."""
    jacobians, dv, dvc = jacobians_of(w), w.dv, w.dvc
    contact_order, island_contacts = w.contact_order, w.island_contacts
    for x in range(island_contacts[island], island_contacts[island + 1]):
        i = contact_order[x]
        dvc[i, 0], dvc[i, 1], dvc[i, 2] = jacobian_times(jacobians, i, dv)


@njit(error_model="numpy", _nrt=False, cache=True)
def subtract_slope(w: Any, island: int, alpha: float, curved: bool, f: float, h: float) -> tuple[float, float]:
    """Computes gamma at v + alpha dv; returns f less its part of l'(alpha), and if curved h plus that of l''(alpha)."""
    law, derived, vc, dvc, gamma = law_of(w), w.derived, w.vc, w.dvc, w.gamma
    contact_order, island_contacts = w.contact_order, w.island_contacts
    for x in range(island_contacts[island], island_contacts[island + 1]):
        i = contact_order[x]
        d1, d2, d3 = dvc[i, 0], dvc[i, 1], dvc[i, 2]
        u1, u2, u3 = vc[i, 0] + alpha * d1, vc[i, 1] + alpha * d2, vc[i, 2] + alpha * d3
        if not curved:
            g1, g2, g3 = impulse(law, derived, i, u1, u2, u3)
        else:
            G = impulse_and_hessian(law, derived, i, u1, u2, u3)
            g1, g2, g3 = G.g1, G.g2, G.gn
            h += d1 * (G.h11 * d1 + 2.0 * (G.h12 * d2 + G.h1n * d3)) + d2 * (G.h22 * d2 + 2.0 * G.h2n * d3)
            h += d3 * G.hnn * d3
        gamma[i, 0], gamma[i, 1], gamma[i, 2] = g1, g2, g3
        f -= g1 * d1 + g2 * d2 + g3 * d3
    return f, h


@njit(error_model="numpy", _nrt=False, cache=True)
def advance(w: Any, island: int, alpha: float) -> None:
    """Moves v_c by alpha J dv."""
    vc, dvc, contact_order, island_contacts = w.vc, w.dvc, w.contact_order, w.island_contacts
    for x in range(island_contacts[island], island_contacts[island + 1]):
        i = contact_order[x]
        for k in range(3):
            vc[i, k] += alpha * dvc[i, k]
