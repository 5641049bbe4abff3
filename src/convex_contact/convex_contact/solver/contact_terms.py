"""Contacts as terms of the problem: the functions of `terms`, for impulses along t1, t2, n."""

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
    Response,
    idle_by_velocity,
    impulse,
    impulse_and_hessian,
    is_idle,
    needs_delassus_norm,
    newton_hessian,
    normal_slope,
    prepare,
)
from convex_contact.problem.friction_directions import start_direction, update_direction
from convex_contact.solver.blocks import add_congruence, add_three_rows
from convex_contact.solver.branches import (
    Branches,
    Side,
    add_path,
    add_path_congruence,
    add_path_sizes,
    branches_of,
    path_times,
    path_times_sizes,
    side_of,
)
from convex_contact.solver.delassus import delassus_norm
from convex_contact.solver.masses import factorise_masses
from convex_contact.solver.pattern import Couplings
from convex_contact.solver.vector_blocks import three_rows_times6, three_rows_times66


class Jacobians(NamedTuple):
    """Contact Jacobians of a workspace, with the cliques that they belong to; see `workspace`."""

    dof_start: np.ndarray
    a: np.ndarray
    b: np.ndarray
    start: np.ndarray
    J: np.ndarray
    last: np.ndarray
    branches: Branches


@njit(inline="always")  # no compilation and linking of its own
def jacobians_of(w: Any) -> Jacobians:
    """Returns the Jacobians of the contacts."""
    return Jacobians(w.dof_start, w.contact_a, w.contact_b, w.J_start, w.J, w.contact_last, branches_of(w))


@njit(inline="always")
def law_of(w: Any) -> ContactLaw:
    """Returns the approximation, normal law and period of all contacts."""
    return ContactLaw(w.approximation, w.law, w.addresses, w.period)


@njit(error_model="numpy", forceinline=True, _nrt=False, cache=True)
def jacobian_times(x: Jacobians, i: int, v: np.ndarray) -> tuple[float, float, float]:
    """Returns J v of contact i [m/s], along t1, t2, n."""
    dof_start, J, j, a, b = x.dof_start, x.J, x.start[i], x.a[i], x.b[i]
    s = dof_start[a]
    if dof_start[a + 1] - s == 6 and x.last[i, 0] < 0:
        if b < 0:
            return three_rows_times6(J, j, v, s)
        t = dof_start[b]
        if dof_start[b + 1] - t == 6 and x.last[i, 1] < 0:
            return three_rows_times66(J, j, v, s, t)
    return _general_jacobian_times(x, i, v)


@njit(error_model="numpy", forceinline=True, _nrt=False, cache=True)
def _sides(x: Jacobians, i: int) -> tuple[Side, Side, int]:
    """Returns both sides of contact i and the offset of the second side's columns; a single side is returned twice."""
    one = side_of(x.dof_start, x.branches, x.a[i], x.last[i, 0])
    if x.b[i] < 0:
        return one, one, x.start[i]
    return one, side_of(x.dof_start, x.branches, x.b[i], x.last[i, 1]), x.start[i] + 3 * one.columns


@njit(error_model="numpy", _nrt=False, cache=True)
def _general_jacobian_times(x: Jacobians, i: int, v: np.ndarray) -> tuple[float, float, float]:
    """Returns J v of a contact between cliques of any sizes."""
    one, two, second = _sides(x, i)
    v1, v2, vn = path_times(x.J, x.start[i], v, one, x.branches)
    if x.b[i] >= 0:
        u1, u2, un = path_times(x.J, second, v, two, x.branches)
        return v1 + u1, v2 + u2, vn + un
    return v1, v2, vn


@njit(error_model="numpy", forceinline=True, _nrt=False, cache=True)
def _find_velocity(
    x: Jacobians, i: int, v: np.ndarray, parameters: np.ndarray, vc: np.ndarray
) -> tuple[float, float, float]:
    """Writes and returns v_c = J v + b of contact i [m/s]."""
    v1, v2, vn = jacobian_times(x, i, v)
    v1 += parameters[i, BIAS]
    v2 += parameters[i, BIAS + 1]
    vn += parameters[i, BIAS + 2]
    vc[i, 0], vc[i, 1], vc[i, 2] = v1, v2, vn
    return v1, v2, vn


@njit(inline="always")
def mark_needed_masses(w: Any) -> None:
    """Does nothing: whether contacts need inverse masses depends on the approximation (`needs_delassus_norm`)."""


@njit(error_model="numpy", _nrt=False, cache=True)
def prepare_terms(w: Any) -> None:
    """Computes velocities and derived numbers, finds contacts that are idle at v and at v*.

    The cliques of the others are marked in `touched`.
    """
    jacobians, v, touched = jacobians_of(w), w.v, w.touched
    parameters, vc, candidate, gamma = w.contact_parameters, w.vc, w.candidate, w.gamma
    total = 0
    for i in range(w.nc):
        v1, v2, vn = _find_velocity(jacobians, i, v, parameters, vc)
        candidate[i] = 0 if _is_idle_at_start(w, i, v1, v2, vn) else 1
        if candidate[i] == 0:
            gamma[i, 0] = gamma[i, 1] = gamma[i, 2] = 0.0
            continue
        total += 1
        touched[jacobians.a[i]] = 1
        if jacobians.b[i] >= 0:
            touched[jacobians.b[i]] = 1
    w.candidates = total


@njit(error_model="numpy", forceinline=True, _nrt=False, cache=True)
def _is_idle_at_start(w: Any, i: int, v1: float, v2: float, vn: float) -> bool:
    """Returns whether contact i is idle at v0, where its velocity is this, and at v*; else it is derived."""
    law, p, derived = law_of(w), w.contact_parameters, w.derived
    possible = not idle_by_velocity(law, p, i, v1, v2, vn)
    if possible:
        _derive(w, i)
        if not is_idle(law, derived, i, v1, v2, vn):
            return False
    v1, v2, vn = jacobian_times(jacobians_of(w), i, w.v_star)
    v1, v2, vn = v1 + p[i, BIAS], v2 + p[i, BIAS + 1], vn + p[i, BIAS + 2]
    if idle_by_velocity(law, p, i, v1, v2, vn):
        return True
    if not possible:
        _derive(w, i)
    return is_idle(law, derived, i, v1, v2, vn)  # type: ignore[no-any-return]


@njit(error_model="numpy", _nrt=False, cache=True)
def wake(w: Any) -> bool:
    """Activates the idle contacts that are not idle at the present v; returns whether there are any."""
    factor, island = w.island_factor, w.clique_island
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
                factor[island[jacobians.a[i]]] = 0
                if jacobians.b[i] >= 0:
                    factor[island[jacobians.b[i]]] = 0
    w.candidates += woken
    return woken > 0


@njit(error_model="numpy", _nrt=False, cache=True)
def _derive(w: Any, i: int) -> None:
    """Computes the derived numbers of contact i, at its velocity `vc` (`contact_kernels.prepare`)."""
    norm = delassus_norm(w, i) if needs_delassus_norm(w.approximation) else 0.0
    numbers = Regularisation(w.stiction_tolerance, w.sigma, w.near_rigid)
    prepare(law_of(w), numbers, norm, w.contact_parameters, w.derived, i)
    start_direction(law_of(w), w.derived, i, w.vc[i, 0], w.vc[i, 1], w.vc[i, 2])


@njit(error_model="numpy", _nrt=False, cache=True)
def soften(w: Any, island: int, level: float) -> int:
    """Limits the stiffness of the contacts of an island to level/(w dt^2); returns the number of stiffer contacts."""
    softened = 0
    for x in range(w.island_contacts[island], w.island_contacts[island + 1]):
        softened += _soften(w, w.contact_order[x], level)
    return softened


@njit(error_model="numpy", _nrt=False, cache=True)
def _soften(w: Any, i: int, level: float) -> int:
    """Computes derived numbers of contact i with a stiffness of at most level/(w dt^2); returns 1 if that lowers it."""
    p, q, dt = w.contact_parameters, w.derived, w.period
    if not needs_delassus_norm(w.approximation):
        factorise_masses(w, True)
    norm = delassus_norm(w, i)
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
    """Returns the couplings of cliques by the candidates."""
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
    """Adds J^T gamma of an island to j."""
    jacobians, j, gamma, island_contacts = jacobians_of(w), w.j, w.gamma, w.island_contacts
    contact_b, J_start, J, contact_order, branches = w.contact_b, w.J_start, w.J, w.contact_order, branches_of(w)
    for x in range(island_contacts[island], island_contacts[island + 1]):
        i = contact_order[x]
        g1, g2, gn = gamma[i, 0], gamma[i, 1], gamma[i, 2]
        one, two, second = _sides(jacobians, i)
        _add_impulse(J, J_start[i], g1, g2, gn, j, one, branches)
        if contact_b[i] >= 0:
            _add_impulse(J, second, g1, g2, gn, j, two, branches)


@njit(error_model="numpy", forceinline=True, _nrt=False, cache=True)
def _add_impulse(
    J: np.ndarray, at: int, g1: float, g2: float, gn: float, j: np.ndarray, side: Side, branches: Branches
) -> None:
    """Adds J^T gamma of one side of a contact to j; its Jacobian lies at offset `at`."""
    if side.last < 0:
        add_three_rows(J, at, g1, g2, gn, j, side.start, side.size)
    else:
        add_path(J, at, g1, g2, gn, j, side, branches)


@njit(error_model="numpy", _nrt=False, cache=True)
def add_rounding(w: Any, island: int) -> None:
    """Adds the effect of rounding of v on J^T gamma to `dv`: |J|^T (|gamma| + |G| (|J| |v| + |b| + |phi0|/dt))."""
    law, jacobians, branches = law_of(w), jacobians_of(w), branches_of(w)
    derived, vc, v, bound, J, J_start = w.derived, w.vc, w.v, w.dv, w.J, w.J_start
    contact_b, contact_order, gamma, parameters = w.contact_b, w.contact_order, w.gamma, w.contact_parameters
    for x in range(w.island_contacts[island], w.island_contacts[island + 1]):
        i = contact_order[x]
        one, two, second = _sides(jacobians, i)
        G = impulse_and_hessian(law, derived, i, vc[i, 0], vc[i, 1], vc[i, 2])
        u1, u2 = abs(parameters[i, BIAS]), abs(parameters[i, BIAS + 1])
        u3 = abs(parameters[i, BIAS + 2]) + abs(parameters[i, PHI0]) / law.period
        x1, x2, x3 = path_times_sizes(J, J_start[i], v, one, branches)
        u1, u2, u3 = u1 + x1, u2 + x2, u3 + x3
        if contact_b[i] >= 0:
            x1, x2, x3 = path_times_sizes(J, second, v, two, branches)
            u1, u2, u3 = u1 + x1, u2 + x2, u3 + x3
        g1 = abs(gamma[i, 0]) + abs(G.h11) * u1 + abs(G.h12) * u2 + abs(G.h1n) * u3
        g2 = abs(gamma[i, 1]) + abs(G.h12) * u1 + abs(G.h22) * u2 + abs(G.h2n) * u3
        g3 = abs(gamma[i, 2]) + abs(G.h1n) * u1 + abs(G.h2n) * u2 + abs(G.hnn) * u3
        add_path_sizes(J, J_start[i], g1, g2, g3, bound, one, branches)
        if contact_b[i] >= 0:
            add_path_sizes(J, second, g1, g2, g3, bound, two, branches)


@njit(error_model="numpy", _nrt=False, cache=True)
def add_hessian(w: Any, island: int) -> None:
    """Adds J^T G J of an island to the blocks of H, with G of the primal-dual Newton step."""
    law, jacobians, branches = law_of(w), jacobians_of(w), branches_of(w)
    H, diagonal_block, entry_block, position = w.H, w.diagonal_block, w.entry_block, w.position
    contact_a, contact_b, J_start, J, contact_order = w.contact_a, w.contact_b, w.J_start, w.J, w.contact_order
    derived, vc, island_contacts, contact_slot = w.derived, w.vc, w.island_contacts, w.contact_slot
    for x in range(island_contacts[island], island_contacts[island + 1]):
        i = contact_order[x]
        G = newton_hessian(law, derived, i, vc[i, 0], vc[i, 1], vc[i, 2])
        if G.h11 == 0.0 and G.h22 == 0.0 and G.hnn == 0.0:
            continue
        a, b, o = contact_a[i], contact_b[i], J_start[i]
        one, two, ob = _sides(jacobians, i)
        _add_block(H, diagonal_block[position[a]], J, o, one, o, one, G, branches)
        if b >= 0:
            _add_block(H, diagonal_block[position[b]], J, ob, two, ob, two, G, branches)
            h = entry_block[contact_slot[i] >> 1]
            if contact_slot[i] & 1 == 0:
                _add_block(H, h, J, o, one, ob, two, G, branches)
            else:
                _add_block(H, h, J, ob, two, o, one, G, branches)


@njit(error_model="numpy", forceinline=True, _nrt=False, cache=True)
def _add_block(
    H: np.ndarray, h: int, J: np.ndarray, a: int, rows: Side, b: int, columns: Side, G: Response, branches: Branches
) -> None:
    """Adds Ja^T G Jb to the block of H at h; if a = b, to its upper half."""
    if rows.last < 0 and columns.last < 0:
        add_congruence(H, h, J, a, rows.size, b, columns.size, G)
    else:
        add_path_congruence(H, h, J, a, rows, b, columns, G, branches)


@njit(error_model="numpy", _nrt=False, cache=True)
def keep_branches(w: Any, island: int) -> bool:
    """Returns whether J^T G J of an island that is one branched tree keeps its zeros: each contact acts on one path."""
    contact_last, contact_order = w.contact_last, w.contact_order
    for x in range(w.island_contacts[island], w.island_contacts[island + 1]):
        if contact_last[contact_order[x], 0] < 0:
            return False
    return True


@njit(error_model="numpy", _nrt=False, cache=True)
def project(w: Any, island: int) -> None:
    """Computes J dv of an island, and the directions of friction after the Newton step dv."""
    jacobians, law, derived, dv, vc, dvc = jacobians_of(w), law_of(w), w.derived, w.dv, w.vc, w.dvc
    contact_order, island_contacts = w.contact_order, w.island_contacts
    for x in range(island_contacts[island], island_contacts[island + 1]):
        i = contact_order[x]
        dvc[i, 0], dvc[i, 1], dvc[i, 2] = jacobian_times(jacobians, i, dv)
        update_direction(law, derived, i, vc[i, 0], vc[i, 1], vc[i, 2], dvc[i, 0], dvc[i, 1])


@njit(error_model="numpy", _nrt=False, cache=True)
def start_hessian(w: Any, island: int) -> None:
    """Sets the directions of friction of an island to those at v, so that H is the Hessian itself."""
    law, derived, vc, contact_order = law_of(w), w.derived, w.vc, w.contact_order
    for x in range(w.island_contacts[island], w.island_contacts[island + 1]):
        i = contact_order[x]
        start_direction(law, derived, i, vc[i, 0], vc[i, 1], vc[i, 2])


@njit(error_model="numpy", _nrt=False, cache=True)
def subtract_slope(w: Any, island: int, alpha: float, curved: bool, f: float, h: float) -> tuple[float, float]:
    """Computes gamma at v + alpha dv; adds its part of l'(alpha) to f and, if curved, of l''(alpha) to h."""
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
    """Adds alpha J dv to v_c of an island."""
    vc, dvc, contact_order, island_contacts = w.vc, w.dvc, w.contact_order, w.island_contacts
    for x in range(island_contacts[island], island_contacts[island + 1]):
        i = contact_order[x]
        for k in range(3):
            vc[i, k] += alpha * dvc[i, k]
