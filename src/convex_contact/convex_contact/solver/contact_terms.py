"""Contacts as terms of the problem: the operations of `terms`, for impulses along t1, t2, n."""

from __future__ import annotations

from typing import Any

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
    idle_by_velocity,
    impulse,
    impulse_and_hessian,
    is_idle,
    needs_mobility,
    normal_slope,
    prepare,
)
from convex_contact.solver.blocks import add_congruence, add_three_rows, row_times
from convex_contact.solver.delassus import delassus_norm, invert_masses
from convex_contact.solver.pattern import find_entry
from convex_contact.solver.vector_blocks import three_rows_times6, three_rows_times66


@njit(error_model="numpy", forceinline=True, _nrt=False, cache=True)
def jacobian_times(
    dof_start: np.ndarray, J: np.ndarray, j: int, a: int, b: int, v: np.ndarray
) -> tuple[float, float, float]:
    """J v of one contact."""
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
    v1, v2, vn = row_times(J, j, v, s, m), row_times(J, j + m, v, s, m), row_times(J, j + 2 * m, v, s, m)
    if b >= 0:
        t, k = dof_start[b], dof_start[b + 1] - dof_start[b]
        j += 3 * m
        v1 += row_times(J, j, v, t, k)
        v2 += row_times(J, j + k, v, t, k)
        vn += row_times(J, j + 2 * k, v, t, k)
    return v1, v2, vn


@njit(error_model="numpy", _nrt=False, cache=True)
def prepare_terms(w: Any) -> None:
    """Computes velocities and derived numbers, and finds which contacts may be left out; marks cliques in `touched`."""
    dof_start, A_start, A_factor, v, touched = w.dof_start, w.A_start, w.A_factor, w.v, w.touched
    approximation, law, addresses, dt = w.approximation, w.law, w.addresses, w.period
    contact_a, contact_b, J_start, J = w.contact_a, w.contact_b, w.J_start, w.J
    parameters, derived, vc, candidate, gamma = w.contact_parameters, w.derived, w.vc, w.candidate, w.gamma
    vs, sigma, beta = w.stiction_tolerance, w.sigma, w.near_rigid
    needed = needs_mobility(approximation)
    total = 0
    for i in range(w.nc):
        a, b, j = contact_a[i], contact_b[i], J_start[i]
        v1, v2, vn = jacobian_times(dof_start, J, j, a, b, v)
        v1 += parameters[i, BIAS]
        v2 += parameters[i, BIAS + 1]
        vn += parameters[i, BIAS + 2]
        vc[i, 0], vc[i, 1], vc[i, 2] = v1, v2, vn
        if idle_by_velocity(approximation, law, dt, parameters, i, v1, v2, vn):
            candidate[i] = 0
            gamma[i, 0] = gamma[i, 1] = gamma[i, 2] = 0.0
            continue
        norm = delassus_norm(dof_start, A_start, A_factor, J, j, a, b) if needed else 0.0
        prepare(approximation, law, addresses, dt, vs, sigma, beta, norm, parameters, derived, i)
        if is_idle(approximation, law, addresses, dt, derived, i, v1, v2, vn):
            candidate[i] = 0
            gamma[i, 0] = gamma[i, 1] = gamma[i, 2] = 0.0
        else:
            candidate[i] = 1
            total += 1
            touched[a] = 1
            if b >= 0:
                touched[b] = 1
    w.candidates = total


@njit(error_model="numpy", _nrt=False, cache=True)
def wake(w: Any) -> bool:
    """Takes in the idle contacts that are not idle at the present v; True where there are any."""
    approximation, law, addresses, dt = w.approximation, w.law, w.addresses, w.period
    contact_a, contact_b, J_start, J, dof_start = w.contact_a, w.contact_b, w.J_start, w.J, w.dof_start
    parameters, derived, vc, candidate, v = w.contact_parameters, w.derived, w.vc, w.candidate, w.v
    woken = 0
    for i in range(w.nc):
        if candidate[i] == 0:
            a, b, j = contact_a[i], contact_b[i], J_start[i]
            v1, v2, vn = jacobian_times(dof_start, J, j, a, b, v)
            v1 += parameters[i, BIAS]
            v2 += parameters[i, BIAS + 1]
            vn += parameters[i, BIAS + 2]
            vc[i, 0], vc[i, 1], vc[i, 2] = v1, v2, vn
            if idle_by_velocity(approximation, law, dt, parameters, i, v1, v2, vn):
                continue
            _derive(w, i)
            if not is_idle(approximation, law, addresses, dt, derived, i, v1, v2, vn):
                candidate[i] = 1
                woken += 1
    w.candidates += woken
    return woken > 0


@njit(error_model="numpy", _nrt=False, cache=True)
def _derive(w: Any, i: int) -> None:
    """Derived numbers of a contact that was left out."""
    norm = 0.0
    if needs_mobility(w.approximation):
        norm = delassus_norm(w.dof_start, w.A_start, w.A_factor, w.J, w.J_start[i], w.contact_a[i], w.contact_b[i])
    prepare(
        w.approximation,
        w.law,
        w.addresses,
        w.period,
        w.stiction_tolerance,
        w.sigma,
        w.near_rigid,
        norm,
        w.contact_parameters,
        w.derived,
        i,
    )


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
    norm = delassus_norm(w.dof_start, w.A_start, w.A_factor, w.J, w.J_start[i], w.contact_a[i], w.contact_b[i])
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


@njit(error_model="numpy", _nrt=False, cache=True)
def match_entries(w: Any) -> int:
    """Finds the block of each coupling of two cliques; returns how many there are, -1 if a block is missing."""
    pairs = 0
    position, entry_start, entry_column = w.position, w.entry_start, w.entry_column
    candidate, contact_a, contact_b, contact_slot = w.candidate, w.contact_a, w.contact_b, w.contact_slot
    for i in range(w.nc):
        if candidate[i] != 0 and contact_b[i] >= 0:
            contact_slot[i] = find_entry(position, entry_start, entry_column, contact_a[i], contact_b[i])
            pairs += 1
            if contact_slot[i] < 0:
                return -1
    return pairs


@njit(error_model="numpy", _nrt=False, cache=True)
def list_edges(w: Any, edges: int) -> int:
    """Appends the pairs of cliques that candidates couple to the first edges; returns the new number of edges."""
    edge_a, edge_b = w.edge_a, w.edge_b
    candidate, contact_a, contact_b = w.candidate, w.contact_a, w.contact_b
    for i in range(w.nc):
        if candidate[i] != 0 and contact_b[i] >= 0:
            edge_a[edges], edge_b[edges] = contact_a[i], contact_b[i]
            edges += 1
    return edges


@njit(error_model="numpy", _nrt=False, cache=True)
def sort_by_island(w: Any) -> None:
    """Lists the candidates island by island."""
    islands, clique_island = w.islands, w.clique_island
    candidate, owner, order, start = w.candidate, w.contact_a, w.contact_order, w.island_contacts
    for i in range(islands + 1):
        start[i] = 0
    for i in range(w.nc):
        if candidate[i] != 0:
            start[clique_island[owner[i]] + 1] += 1
    for i in range(islands):
        start[i + 1] += start[i]
    for back in range(w.nc):
        i = w.nc - 1 - back
        if candidate[i] != 0:
            island = clique_island[owner[i]] + 1
            start[island] -= 1
            order[start[island]] = i
    for i in range(islands):
        start[i] = start[i + 1]
    start[islands] = w.candidates


@njit(error_model="numpy", _nrt=False, cache=True)
def update(w: Any, island: int) -> None:
    """Computes v_c and gamma of an island from v."""
    approximation, law, addresses, dt = w.approximation, w.law, w.addresses, w.period
    dof_start, v = w.dof_start, w.v
    contact_a, contact_b, J_start, J, contact_order = w.contact_a, w.contact_b, w.J_start, w.J, w.contact_order
    parameters, derived, vc, gamma, island_contacts = w.contact_parameters, w.derived, w.vc, w.gamma, w.island_contacts
    for x in range(island_contacts[island], island_contacts[island + 1]):
        i = contact_order[x]
        v1, v2, vn = jacobian_times(dof_start, J, J_start[i], contact_a[i], contact_b[i], v)
        v1 += parameters[i, BIAS]
        v2 += parameters[i, BIAS + 1]
        vn += parameters[i, BIAS + 2]
        vc[i, 0], vc[i, 1], vc[i, 2] = v1, v2, vn
        gamma[i, 0], gamma[i, 1], gamma[i, 2] = impulse(approximation, law, addresses, dt, derived, i, v1, v2, vn)


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
    approximation, law, addresses, dt = w.approximation, w.law, w.addresses, w.period
    dof_start, derived, vc, v, bound, J, J_start = w.dof_start, w.derived, w.vc, w.v, w.dv, w.J, w.J_start
    contact_a, contact_b, contact_order, gamma = w.contact_a, w.contact_b, w.contact_order, w.gamma
    parameters = w.contact_parameters
    for x in range(w.island_contacts[island], w.island_contacts[island + 1]):
        i = contact_order[x]
        a, b = contact_a[i], contact_b[i]
        _, _, _, h11, h12, h22, h13, h23, h33 = impulse_and_hessian(
            approximation, law, addresses, dt, derived, i, vc[i, 0], vc[i, 1], vc[i, 2]
        )
        u1, u2 = abs(parameters[i, BIAS]), abs(parameters[i, BIAS + 1])
        u3 = abs(parameters[i, BIAS + 2]) + abs(parameters[i, PHI0]) / dt
        for side in range(2):
            c = a if side == 0 else b
            o = J_start[i] if side == 0 else J_start[i] + 3 * (dof_start[a + 1] - dof_start[a])
            if c >= 0:
                s, m = dof_start[c], dof_start[c + 1] - dof_start[c]
                for k in range(m):
                    u1 += abs(J[o + k] * v[s + k])
                    u2 += abs(J[o + m + k] * v[s + k])
                    u3 += abs(J[o + 2 * m + k] * v[s + k])
        g1 = abs(gamma[i, 0]) + abs(h11) * u1 + abs(h12) * u2 + abs(h13) * u3
        g2 = abs(gamma[i, 1]) + abs(h12) * u1 + abs(h22) * u2 + abs(h23) * u3
        g3 = abs(gamma[i, 2]) + abs(h13) * u1 + abs(h23) * u2 + abs(h33) * u3
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
    approximation, law, addresses, dt = w.approximation, w.law, w.addresses, w.period
    dof_start, H, diagonal_block, entry_block, position = w.dof_start, w.H, w.diagonal_block, w.entry_block, w.position
    contact_a, contact_b, J_start, J, contact_order = w.contact_a, w.contact_b, w.J_start, w.J, w.contact_order
    derived, vc, island_contacts, contact_slot = w.derived, w.vc, w.island_contacts, w.contact_slot
    for x in range(island_contacts[island], island_contacts[island + 1]):
        i = contact_order[x]
        _, _, _, h11, h12, h22, h13, h23, h33 = impulse_and_hessian(
            approximation, law, addresses, dt, derived, i, vc[i, 0], vc[i, 1], vc[i, 2]
        )
        if h11 == 0.0 and h22 == 0.0 and h33 == 0.0:
            continue
        a, b, o = contact_a[i], contact_b[i], J_start[i]
        m = dof_start[a + 1] - dof_start[a]
        add_congruence(H, diagonal_block[position[a]], J, o, m, o, m, h11, h12, h22, h13, h23, h33)
        if b >= 0:
            ob, mb = o + 3 * m, dof_start[b + 1] - dof_start[b]
            add_congruence(H, diagonal_block[position[b]], J, ob, mb, ob, mb, h11, h12, h22, h13, h23, h33)
            h = entry_block[contact_slot[i] >> 1]
            if contact_slot[i] & 1 == 0:
                add_congruence(H, h, J, o, m, ob, mb, h11, h12, h22, h13, h23, h33)
            else:
                add_congruence(H, h, J, ob, mb, o, m, h11, h12, h22, h13, h23, h33)


@njit(error_model="numpy", _nrt=False, cache=True)
def project(w: Any, island: int) -> None:
    """Computes J dv."""
    dof_start, dv, dvc, island_contacts = w.dof_start, w.dv, w.dvc, w.island_contacts
    contact_a, contact_b, J_start, J, contact_order = w.contact_a, w.contact_b, w.J_start, w.J, w.contact_order
    for x in range(island_contacts[island], island_contacts[island + 1]):
        i = contact_order[x]
        dvc[i, 0], dvc[i, 1], dvc[i, 2] = jacobian_times(dof_start, J, J_start[i], contact_a[i], contact_b[i], dv)


@njit(error_model="numpy", _nrt=False, cache=True)
def subtract_slope(w: Any, island: int, alpha: float, curved: bool, f: float, h: float) -> tuple[float, float]:
    """Computes gamma at v + alpha dv; returns f less its part of l'(alpha), and if curved h plus that of l''(alpha)."""
    approximation, law, addresses, dt = w.approximation, w.law, w.addresses, w.period
    derived, vc, dvc, gamma, contact_order, island_contacts = (
        w.derived, w.vc, w.dvc, w.gamma, w.contact_order, w.island_contacts
    )  # fmt: skip
    for x in range(island_contacts[island], island_contacts[island + 1]):
        i = contact_order[x]
        d1, d2, d3 = dvc[i, 0], dvc[i, 1], dvc[i, 2]
        u1, u2, u3 = vc[i, 0] + alpha * d1, vc[i, 1] + alpha * d2, vc[i, 2] + alpha * d3
        if not curved:
            g1, g2, g3 = impulse(approximation, law, addresses, dt, derived, i, u1, u2, u3)
        else:
            g1, g2, g3, h11, h12, h22, h13, h23, h33 = impulse_and_hessian(
                approximation, law, addresses, dt, derived, i, u1, u2, u3
            )
            h += d1 * (h11 * d1 + 2.0 * (h12 * d2 + h13 * d3)) + d2 * (h22 * d2 + 2.0 * h23 * d3)
            h += d3 * h33 * d3
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
