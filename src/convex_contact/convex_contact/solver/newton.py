"""Newton's method with exact line search on the block-sparse problem (section X), compiled.

    H dv = -r,   r = A (v - v*) - J^T gamma,   H = A + J^T G J,                                              (28)

then v <- v + alpha dv with alpha the zero of l'(alpha) = dv^T r(v + alpha dv), found by Newton steps inside a bracket,
and bisection where these leave it. A slope costs O(n): A dv and J dv are known. Differences of costs are never used,
because rounding spoils them long before the slope.

What the paper does not say, and what makes a step cheap:

* **Islands.** Cliques that no contact couples are independent problems. All iterate in step with each other, each with
  its own step length and its own stopping test; those that are done rest. (The paper's test on the whole system
  follows from the islands' tests, up to a factor of sqrt(2), which is taken off.)
* **Idle contacts** (gamma = 0 and G = 0 at the guess) are left out, and looked at again at the solution; the few that
  have come alive enter, and the iteration goes on. Since a left-out potential is flat at the solution, that solution
  is the minimum of the whole problem.
* **Factors are kept.** The symbolic factorisation serves as long as it has a block for every coupling, the numeric
  factors of the last iteration or step as long as they bring the residual down by `keep` (a tenth): any positive
  definite matrix gives a direction of descent, the line search is exact, and the stopping test is the same.
* **Rounding.** With phi0 + dt v_n the impulse of a contact of stiffness k changes by dt^2 k with the velocity, so that
  a velocity in doubles determines it only to dt^2 k eps |v|. An iteration that ends above the tolerance, but below a
  bound on this, has found the best velocity there is; it is accepted, anything else is a failure. Never a silent early
  stop.
"""

from __future__ import annotations

import math
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
    ROW_BIAS,
    ROW_COMPLIANCE,
    ROW_LOWER,
    ROW_NEAR_RIGID,
    ROW_TARGET,
    ROW_UPPER,
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
from convex_contact.solver.blocks import (
    add_congruence,
    add_outer,
    add_row,
    add_three_rows,
    inverse_factor,
    lower_times,
    lower_times_vector,
    row_times,
    subtract_product,
    subtract_times,
    subtract_transposed,
    transposed_lower_times_vector,
)
from convex_contact.solver.borrowed import borrow
from convex_contact.solver.structure import find, minimum_degree, trailing_zeros
from convex_contact.solver.vector_blocks import three_rows_times6, three_rows_times66

#: status of a workspace after `solve_step`
CONVERGED, ITERATION_LIMIT, NOT_FINITE = range(3)

#: Newton steps after which contacts are softened to come closer
PATIENCE = 50
#: unit rounding
_EPS = 2.0**-52
#: states of an island
_DONE, _ACTIVE, _FAILED = 0, 1, 2


@njit(error_model="numpy", cache=True)
def solve_step(w: Any) -> int:
    """Solves the problem in the workspace; v is the guess and the solution. Returns the status.

    Not CONVERGED: v is the last iterate, `failed_island` an island that failed.
    """
    b = borrow(w)
    b.iterations = b.factorizations = b.failed_island = 0
    b.status = CONVERGED
    _prepare(b)
    eased = 2 if b.max_iterations <= PATIENCE else 0
    while True:
        while not _match_pattern(b):
            _order(w)
        _sort(b)
        _iterate(b, PATIENCE if eased == 0 else b.max_iterations)
        if b.active > 0:
            if eased == 2:
                b.status = ITERATION_LIMIT
                break
            _ease(b, 30.0 if eased == 0 else 3.0, 1e-2 if eased == 0 else 1e-4)
            eased += 1
        elif b.status != CONVERGED or not _wake(b):
            break
    _finish(b)
    return int(b.status)


@njit(error_model="numpy", _nrt=False, cache=True)
def _iterate(w: Any, limit: int) -> None:
    """Newton steps until no island is active, or so many of them."""
    _evaluate(w, True)
    _judge(w, True)
    iteration = 0
    while w.active > 0 and iteration < limit:
        iteration += 1
        _factorise(w)
        _direction(w)
        _line_search(w)
        _evaluate(w, False)
        _judge(w, False)
    w.iterations += iteration


@njit(error_model="numpy", _nrt=False, cache=True)
def _ease(w: Any, ratio: float, tolerance: float) -> None:
    """Brings the islands that are still active near their solution by softer contacts, stiffer from stage to stage.

    A stiff contact far from its solution makes a narrow curved valley of the cost, along which Newton's steps are short
    (Similar above all). With the stiffness limited to `level` effective masses per dt^2 the valley is wide, and each
    solution is a good guess for the next level. The widths of the soft norms and the lagged impulses keep their values.

    Args:
        w: workspace.
        ratio: of one level to the one before.
        tolerance: relative tolerance of each level but the last, which is the problem itself.
    """
    relative, polish = w.relative_tolerance, w.polish
    w.relative_tolerance, w.polish = tolerance, 0
    island_contacts, contact_order, state, wanted = w.island_contacts, w.contact_order, w.island_state, w.touched
    islands = w.islands
    for i in range(islands):
        wanted[i] = 1 if state[i] == _ACTIVE else 0
    level, softened = 10.0, 1
    while softened > 0 and w.status == CONVERGED:
        softened = 0
        for island in range(islands):
            if wanted[island] != 0:
                w.island_factor[island] = 0
                for x in range(island_contacts[island], island_contacts[island + 1]):
                    softened += _soften(w, contact_order[x], level)
        if softened > 0:
            _iterate(w, 2 * PATIENCE)
        level *= ratio
    w.relative_tolerance, w.polish = relative, polish


@njit(error_model="numpy", _nrt=False, cache=True)
def _soften(w: Any, i: int, level: float) -> int:
    """Derived numbers of contact i with its stiffness limited to level/(w dt^2); 1 where that is less than its own."""
    p, q, dt = w.contact_parameters, w.derived, w.period
    if not needs_mobility(w.approximation):
        _invert_masses(w, True)
    mobility = _mobility(w.dof_start, w.A_start, w.A_factor, w.J, w.J_start[i], w.contact_a[i], w.contact_b[i])
    k, s = p[i, STIFFNESS], p[i, COEFFICIENT]
    if w.approximation == SAP:
        _derive(w, i)
        Rn = q[i, D_BOUND]
        if Rn * level >= mobility:
            return 0
        q[i, D_BOUND], q[i, D_SECOND] = mobility / level, s * s * q[i, D_EPS] * level / mobility
        return 1
    overlap = max(abs(p[i, PHI0]), dt * abs(w.vc[i, 2]))
    slope = normal_slope(w.law, w.addresses, dt, -overlap, 0.0, k, p[i, DISSIPATION])
    q[i, STIFFNESS] = k
    if slope * mobility <= level:
        return 0
    q[i, STIFFNESS] = k * level / (slope * mobility)
    return 1


@njit(error_model="numpy", _nrt=False, cache=True)
def _invert_masses(w: Any, every: bool) -> None:
    """L of A^-1 = L^T L for each clique, or for each that is touched."""
    dof_start, A_start, A, A_factor, floor, scratch = w.dof_start, w.A_start, w.A, w.A_factor, w.floor, w.scratch
    touched = w.touched
    for c in range(w.n):
        if not every and touched[c] == 0:
            continue
        s, m, a = dof_start[c], dof_start[c + 1] - dof_start[c], A_start[c]
        for k in range(m * m):
            scratch[k] = A[a + k]
        for k in range(m):
            floor[s + k] = 0.0
        inverse_factor(scratch, 0, A_factor, a, m, floor, s)


@njit(error_model="numpy", _nrt=False, cache=True)
def _mobility(
    dof_start: np.ndarray,
    A_start: np.ndarray,
    A_factor: np.ndarray,
    J: np.ndarray,
    j: int,
    a: int,
    b: int,
) -> float:
    """w = ||J A^-1 J^T||_F / 3 of a contact; A^-1 = L^T L with the L of `inverse_factor`."""
    w11 = w12 = w13 = w22 = w23 = w33 = 0.0
    c = a
    while c >= 0:
        m, o = dof_start[c + 1] - dof_start[c], A_start[c]
        for r in range(m):
            y1 = y2 = y3 = 0.0
            for k in range(r + 1):
                x = A_factor[o + r * m + k]
                y1 += x * J[j + k]
                y2 += x * J[j + m + k]
                y3 += x * J[j + 2 * m + k]
            w11 += y1 * y1
            w12 += y1 * y2
            w13 += y1 * y3
            w22 += y2 * y2
            w23 += y2 * y3
            w33 += y3 * y3
        j += 3 * m
        c = b if c == a else -1
    return math.sqrt(w11 * w11 + w22 * w22 + w33 * w33 + 2.0 * (w12 * w12 + w13 * w13 + w23 * w23)) / 3.0


@njit(error_model="numpy", _nrt=False, cache=True)
def _row_mobility(
    dof_start: np.ndarray, A_start: np.ndarray, A_factor: np.ndarray, J: np.ndarray, j: int, a: int, b: int
) -> float:
    """J A^-1 J^T of one row."""
    total = 0.0
    c = a
    while c >= 0:
        m, o = dof_start[c + 1] - dof_start[c], A_start[c]
        for r in range(m):
            y = 0.0
            for k in range(r + 1):
                y += A_factor[o + r * m + k] * J[j + k]
            total += y * y
        j += m
        c = b if c == a else -1
    return total


@njit(error_model="numpy", _nrt=False, cache=True)
def _prepare(w: Any) -> None:
    """Scaling, mobilities, derived numbers, and which contacts may be left out."""
    n, nc, nr = w.n, w.nc, w.nr
    dof_start, A_start, A, A_factor, scale = w.dof_start, w.A_start, w.A, w.A_factor, w.scale
    v, v_star, A_v_star = w.v, w.v_star, w.A_v_star
    for c in range(n):
        s, m, a = dof_start[c], dof_start[c + 1] - dof_start[c], A_start[c]
        for k in range(m):
            scale[s + k] = 1.0 / math.sqrt(A[a + k * m + k])
            A_v_star[s + k] = 0.0
        subtract_times(A, a, v_star, s, A_v_star, s, m, m)
        for k in range(m):
            A_v_star[s + k] = -A_v_star[s + k]
    mobility = needs_mobility(w.approximation)
    row_parameters, row_compliance, row_a, row_b = w.row_parameters, w.row_compliance, w.row_a, w.row_b
    touched = w.touched
    for c in range(n):
        touched[c] = 0
    for i in range(nr):
        if row_parameters[i, ROW_NEAR_RIGID] > 0.0:
            touched[row_a[i]] = 1
            if row_b[i] >= 0:
                touched[row_b[i]] = 1
    _invert_masses(w, mobility)
    approximation, law, addresses, dt = w.approximation, w.law, w.addresses, w.period
    contact_a, contact_b, J_start, J = w.contact_a, w.contact_b, w.J_start, w.J
    parameters, derived, vc, candidate, gamma = w.contact_parameters, w.derived, w.vc, w.candidate, w.gamma
    for c in range(n):
        touched[c] = 0
    vs, sigma, beta = w.stiction_tolerance, w.sigma, w.near_rigid
    total = 0
    for i in range(nc):
        a, b, j = contact_a[i], contact_b[i], J_start[i]
        v1, v2, vn = _contact_velocity(dof_start, J, j, a, b, v)
        v1 += parameters[i, BIAS]
        v2 += parameters[i, BIAS + 1]
        vn += parameters[i, BIAS + 2]
        vc[i, 0], vc[i, 1], vc[i, 2] = v1, v2, vn
        if idle_by_velocity(approximation, law, dt, parameters, i, v1, v2, vn):
            candidate[i] = 0
            gamma[i, 0] = gamma[i, 1] = gamma[i, 2] = 0.0
            continue
        weight = _mobility(dof_start, A_start, A_factor, J, j, a, b) if mobility else 0.0
        prepare(approximation, law, addresses, dt, vs, sigma, beta, weight, parameters, derived, i)
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
    row_J, row_J_start = w.row_J, w.row_J_start
    for i in range(nr):
        a, b = row_a[i], row_b[i]
        touched[a] = 1
        if b >= 0:
            touched[b] = 1
        R, near = row_parameters[i, ROW_COMPLIANCE], row_parameters[i, ROW_NEAR_RIGID]
        if near > 0.0:
            mass = _row_mobility(dof_start, A_start, A_factor, row_J, row_J_start[i], a, b)
            R = max(R, near * near * mass / (4.0 * math.pi * math.pi))
        row_compliance[i] = R
    for c in range(n):
        if touched[c] == 0:  # free motion
            for k in range(dof_start[c], dof_start[c + 1]):
                v[k] = v_star[k]


@njit(error_model="numpy", forceinline=True, _nrt=False, cache=True)
def _contact_velocity(
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
    return _general_contact_velocity(dof_start, J, j, a, b, v)


@njit(error_model="numpy", _nrt=False, cache=True)
def _general_contact_velocity(
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
def _row_velocity(dof_start: np.ndarray, J: np.ndarray, j: int, a: int, b: int, v: np.ndarray) -> float:
    """J v of one constraint row."""
    s, m = dof_start[a], dof_start[a + 1] - dof_start[a]
    total = row_times(J, j, v, s, m)
    if b >= 0:
        s, k = dof_start[b], dof_start[b + 1] - dof_start[b]
        total += row_times(J, j + m, v, s, k)
    return total


@njit(error_model="numpy", _nrt=False, cache=True)
def _find_entry(position: np.ndarray, entry_start: np.ndarray, entry_column: np.ndarray, a: int, b: int) -> int:
    """2 e + swapped for the block of cliques a and b, -2 where the pattern has none."""
    p, q, swapped = position[a], position[b], 0
    if p > q:
        p, q, swapped = q, p, 1
    for e in range(entry_start[p], entry_start[p + 1]):
        if entry_column[e] == q:
            return 2 * e + swapped
    return -2


@njit(error_model="numpy", _nrt=False, cache=True)
def _match_pattern(w: Any) -> bool:
    """Finds the block of each coupling; False where one is missing, or where the pattern has become too large."""
    if w.pattern == 0:
        return False
    pairs = 0
    position, entry_start, entry_column = w.position, w.entry_start, w.entry_column
    candidate, contact_a, contact_b, contact_slot = w.candidate, w.contact_a, w.contact_b, w.contact_slot
    for i in range(w.nc):
        if candidate[i] != 0 and contact_b[i] >= 0:
            contact_slot[i] = _find_entry(position, entry_start, entry_column, contact_a[i], contact_b[i])
            pairs += 1
            if contact_slot[i] < 0:
                return False
    row_a, row_b, row_slot = w.row_a, w.row_b, w.row_slot
    for i in range(w.nr):
        if row_b[i] >= 0:
            row_slot[i] = _find_entry(position, entry_start, entry_column, row_a[i], row_b[i])
            pairs += 1
            if row_slot[i] < 0:
                return False
    return 2 * pairs + 4 >= w.pattern_edges


@njit(error_model="numpy", cache=True)
def _order(w: Any) -> None:
    """Elimination order, symbolic factorisation and islands of the present candidates."""
    n = w.n
    edge_a, edge_b, parent = w.edge_a, w.edge_b, w.parent
    edges = 0
    for c in range(n):
        parent[c] = c
    candidate, contact_a, contact_b = w.candidate, w.contact_a, w.contact_b
    for i in range(w.nc):
        if candidate[i] != 0 and contact_b[i] >= 0:
            edge_a[edges], edge_b[edges] = contact_a[i], contact_b[i]
            edges += 1
    row_a, row_b = w.row_a, w.row_b
    for i in range(w.nr):
        if row_b[i] >= 0:
            edge_a[edges], edge_b[edges] = row_a[i], row_b[i]
            edges += 1
    for e in range(edges):
        x, y = find(parent, edge_a[e]), find(parent, edge_b[e])
        if x != y:
            parent[max(x, y)] = min(x, y)
    lists, adjacency = w.lists, w.adjacency
    total = minimum_degree(n, edge_a, edge_b, edges, adjacency, w.degree, lists)
    # islands in the order of their first elimination, each with its cliques in the order of elimination
    clique_island, island_start, order, position = w.clique_island, w.island_start, w.order, w.position
    elimination, label = lists[4], lists[0]
    for c in range(n):
        label[c] = -1
    islands = 0
    for k in range(n):
        root = find(parent, elimination[k])
        if label[root] < 0:
            label[root] = islands
            island_start[islands] = 0
            islands += 1
        clique_island[elimination[k]] = label[root]
        island_start[label[root]] += 1
    first = 0
    for i in range(islands):
        count = island_start[i]
        island_start[i] = first
        first += count
    island_start[islands] = n
    following = lists[1]
    for i in range(islands):
        following[i] = island_start[i]
    for k in range(n):
        c = elimination[k]
        p = following[clique_island[c]]
        following[clique_island[c]] += 1
        order[p], position[c] = c, p
    # rows of the factor
    if len(w.entry_column) < total:
        w.entry_column = np.zeros(2 * total, dtype=np.int64)
        w.entry_block = np.zeros(2 * total, dtype=np.int64)
    entry_start, entry_column, entry_block = w.entry_start, w.entry_column, w.entry_block
    diagonal_block, dof_start = w.diagonal_block, w.dof_start
    words = (n + 63) // 64
    entry, block, updates = 0, 0, 0
    for p in range(n):
        c = order[p]
        entry_start[p] = entry
        for q in range(words):
            word = adjacency[c, q]
            while word != np.uint64(0):
                u = (q << 6) + trailing_zeros(word)
                word &= word - np.uint64(1)
                x, e = position[u], entry
                while e > entry_start[p] and entry_column[e - 1] > x:
                    entry_column[e] = entry_column[e - 1]
                    e -= 1
                entry_column[e] = x
                entry += 1
        m = dof_start[c + 1] - dof_start[c]
        diagonal_block[p] = block
        block += m * m
        for e in range(entry_start[p], entry):
            u = order[entry_column[e]]
            entry_block[e] = block
            block += m * (dof_start[u + 1] - dof_start[u])
        count = entry - entry_start[p]
        updates += count * (count + 1) // 2
    entry_start[n], diagonal_block[n] = entry, block
    if len(w.H) < block:
        w.H = np.zeros(2 * block)
    if len(w.update_block) < updates:
        w.update_block = np.zeros(2 * updates, dtype=np.int64)
    update_start, update_block = w.update_start, w.update_block
    update = 0
    for p in range(n):
        update_start[p] = update
        for e in range(entry_start[p], entry_start[p + 1]):
            q = entry_column[e]
            update_block[update] = diagonal_block[q]
            update += 1
            at = entry_start[q]
            for f in range(e + 1, entry_start[p + 1]):
                while entry_column[at] != entry_column[f]:
                    at += 1
                update_block[update] = entry_block[at]
                update += 1
    island_factor = w.island_factor
    for i in range(islands):
        island_factor[i] = 0
    w.islands, w.pattern, w.pattern_edges = islands, 1, edges
    w.orderings += 1


@njit(error_model="numpy", _nrt=False, cache=True)
def _sort(w: Any) -> None:
    """Lists of contacts and rows island by island."""
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
    row_owner, row_order, row_start = w.row_a, w.row_order, w.island_rows
    for i in range(islands + 1):
        row_start[i] = 0
    for i in range(w.nr):
        row_start[clique_island[row_owner[i]] + 1] += 1
    for i in range(islands):
        row_start[i + 1] += row_start[i]
    for back in range(w.nr):
        i = w.nr - 1 - back
        island = clique_island[row_owner[i]] + 1
        row_start[island] -= 1
        row_order[row_start[island]] = i
    for i in range(islands):
        row_start[i] = row_start[i + 1]
    row_start[islands] = w.nr


@njit(error_model="numpy", _nrt=False, cache=True)
def _evaluate(w: Any, everything: bool) -> None:
    """v_c, gamma, r and the norms of the islands that are active, or of all.

    What the line search has carried along with the step (A (v - v*), v_c, gamma) is not computed again.
    """
    dof_start, order, island_start = w.dof_start, w.order, w.island_start
    scale, r, momentum, j, A_v_star = w.scale, w.r, w.r_momentum, w.j, w.A_v_star
    contact_a, contact_b, J_start, J, contact_order = w.contact_a, w.contact_b, w.J_start, w.J, w.contact_order
    gamma, island_contacts, row_gamma, island_rows = w.gamma, w.island_contacts, w.row_gamma, w.island_rows
    row_a, row_b, row_J, row_J_start, row_order = w.row_a, w.row_b, w.row_J, w.row_J_start, w.row_order
    state, residual, size, carried = w.island_state, w.island_residual, w.island_size, w.island_carried
    for island in range(w.islands):
        if not everything and state[island] != _ACTIVE:
            continue
        if everything or carried[island] == 0:
            _impulses(w, island)
        for p in range(island_start[island], island_start[island + 1]):
            c = order[p]
            for k in range(dof_start[c], dof_start[c + 1]):
                j[k] = 0.0
        for x in range(island_contacts[island], island_contacts[island + 1]):
            i = contact_order[x]
            a, b, o = contact_a[i], contact_b[i], J_start[i]
            g1, g2, gn = gamma[i, 0], gamma[i, 1], gamma[i, 2]
            m = dof_start[a + 1] - dof_start[a]
            add_three_rows(J, o, g1, g2, gn, j, dof_start[a], m)
            if b >= 0:
                add_three_rows(J, o + 3 * m, g1, g2, gn, j, dof_start[b], dof_start[b + 1] - dof_start[b])
        for x in range(island_rows[island], island_rows[island + 1]):
            i = row_order[x]
            a, b, o = row_a[i], row_b[i], row_J_start[i]
            m = dof_start[a + 1] - dof_start[a]
            add_row(row_J, o, row_gamma[i], j, dof_start[a], m)
            if b >= 0:
                add_row(row_J, o + m, row_gamma[i], j, dof_start[b], dof_start[b + 1] - dof_start[b])
        rr = pp = jj = 0.0
        for p in range(island_start[island], island_start[island + 1]):
            c = order[p]
            for k in range(dof_start[c], dof_start[c + 1]):
                r[k] = momentum[k] - j[k]
                x1, x2, x3 = scale[k] * r[k], scale[k] * (momentum[k] + A_v_star[k]), scale[k] * j[k]
                rr += x1 * x1
                pp += x2 * x2
                jj += x3 * x3
        residual[island] = math.sqrt(rr)
        size[island] = math.sqrt(max(pp, jj))


@njit(error_model="numpy", _nrt=False, cache=True)
def _impulses(w: Any, island: int) -> None:
    """A (v - v*), v_c and gamma of an island, from v."""
    approximation, law, addresses, dt = w.approximation, w.law, w.addresses, w.period
    dof_start, A_start, A, order, island_start = w.dof_start, w.A_start, w.A, w.order, w.island_start
    v, v_star, momentum, difference = w.v, w.v_star, w.r_momentum, w.A_dv
    contact_a, contact_b, J_start, J, contact_order = w.contact_a, w.contact_b, w.J_start, w.J, w.contact_order
    parameters, derived, vc, gamma, island_contacts = w.contact_parameters, w.derived, w.vc, w.gamma, w.island_contacts
    row_order, row_s, row_parameters, island_rows = w.row_order, w.row_s, w.row_parameters, w.island_rows
    for p in range(island_start[island], island_start[island + 1]):
        c = order[p]
        s, m = dof_start[c], dof_start[c + 1] - dof_start[c]
        for k in range(s, s + m):
            momentum[k] = 0.0
            difference[k] = v_star[k] - v[k]
        subtract_times(A, A_start[c], difference, s, momentum, s, m, m)
    for x in range(island_contacts[island], island_contacts[island + 1]):
        i = contact_order[x]
        v1, v2, vn = _contact_velocity(dof_start, J, J_start[i], contact_a[i], contact_b[i], v)
        v1 += parameters[i, BIAS]
        v2 += parameters[i, BIAS + 1]
        vn += parameters[i, BIAS + 2]
        vc[i, 0], vc[i, 1], vc[i, 2] = v1, v2, vn
        gamma[i, 0], gamma[i, 1], gamma[i, 2] = impulse(approximation, law, addresses, dt, derived, i, v1, v2, vn)
    for x in range(island_rows[island], island_rows[island + 1]):
        i = row_order[x]
        velocity = _row_velocity(dof_start, w.row_J, w.row_J_start[i], w.row_a[i], w.row_b[i], v)
        row_s[i] = row_parameters[i, ROW_BIAS] + velocity
        y = (row_parameters[i, ROW_TARGET] - row_s[i]) / w.row_compliance[i]
        w.row_gamma[i] = min(max(y, row_parameters[i, ROW_LOWER]), row_parameters[i, ROW_UPPER])


@njit(error_model="numpy", _nrt=False, cache=True)
def _judge(w: Any, first: bool) -> None:
    """Which islands go on, and which of them need a new factor.

    A guess that passes the test is improved once all the same: at small periods the velocity of the step before passes
    it, and gravity and small forces, always below the tolerance, would never act. With `polish` an island goes on from
    where it has converged for as long as a step quarters its residual; a last step that makes it worse is taken back.
    """
    state, residual, size, last = w.island_state, w.island_residual, w.island_size, w.island_last
    factor, stalls, polishing = w.island_factor, w.island_stalls, w.island_polishing
    relative, absolute, polish = w.relative_tolerance / math.sqrt(2.0), w.absolute_tolerance, w.polish != 0
    active = 0
    for i in range(w.islands):
        if not first and state[i] != _ACTIVE:
            continue
        if not residual[i] < math.inf:
            state[i] = _FAILED
            w.status, w.failed_island = NOT_FINITE, i
            continue
        converged = residual[i] <= absolute + relative * size[i]
        finished = residual[i] <= 4.0 * _EPS * size[i] or (converged and not polish and not first)
        if first:
            stalls[i] = polishing[i] = 0
        elif polishing[i] != 0:
            finished = finished or not residual[i] < 0.25 * last[i]
            if residual[i] > last[i]:
                _restore(w, i)
        elif not converged:
            stalls[i] = 0 if residual[i] < 0.5 * last[i] else stalls[i] + 1
            if stalls[i] >= 4:
                finished = residual[i] <= _rounding(w, i)
        polishing[i] = 1 if converged else 0
        state[i] = _DONE if finished else _ACTIVE
        if not finished:
            active += 1
            if polish or (not first and residual[i] > w.keep * last[i]):
                factor[i] = 0
        last[i] = residual[i]
    w.active = 0 if w.status != CONVERGED else active


@njit(error_model="numpy", _nrt=False, cache=True)
def _restore(w: Any, island: int) -> None:
    """Takes back the last step of an island."""
    dof_start, order, v, v_old = w.dof_start, w.order, w.v, w.v_old
    for p in range(w.island_start[island], w.island_start[island + 1]):
        c = order[p]
        for k in range(dof_start[c], dof_start[c + 1]):
            v[k] = v_old[k]


@njit(error_model="numpy", _nrt=False, cache=True)
def _rounding(w: Any, island: int) -> float:
    """Bound on the scaled residual that rounding of v leaves in an island.

    To first order |dr| <= eps (|A| (|v| + |v*|) + |J|^T (|gamma| + |G| (|J| |v| + |b| + |phi0|/dt))).
    """
    approximation, law, addresses, dt = w.approximation, w.law, w.addresses, w.period
    dof_start, A_start, A, order, derived, vc = w.dof_start, w.A_start, w.A, w.order, w.derived, w.vc
    v, v_star, scale, bound, J, J_start = w.v, w.v_star, w.scale, w.dv, w.J, w.J_start
    contact_a, contact_b, contact_order, gamma = w.contact_a, w.contact_b, w.contact_order, w.gamma
    parameters = w.contact_parameters
    for p in range(w.island_start[island], w.island_start[island + 1]):
        c = order[p]
        s, m = dof_start[c], dof_start[c + 1] - dof_start[c]
        for k in range(m):
            total = 0.0
            for x in range(m):
                total += abs(A[A_start[c] + k * m + x]) * (abs(v[s + x]) + abs(v_star[s + x]))
            bound[s + k] = total
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
    row_order, row_a, row_b, row_J, row_J_start = w.row_order, w.row_a, w.row_b, w.row_J, w.row_J_start
    for x in range(w.island_rows[island], w.island_rows[island + 1]):
        i = row_order[x]
        a, b = row_a[i], row_b[i]
        u = abs(w.row_parameters[i, ROW_BIAS]) + abs(w.row_parameters[i, ROW_TARGET])
        for side in range(2):
            c = a if side == 0 else b
            o = row_J_start[i] if side == 0 else row_J_start[i] + dof_start[a + 1] - dof_start[a]
            if c >= 0:
                for k in range(dof_start[c + 1] - dof_start[c]):
                    u += abs(row_J[o + k] * v[dof_start[c] + k])
        g = abs(w.row_gamma[i]) + u / w.row_compliance[i]
        for side in range(2):
            c = a if side == 0 else b
            o = row_J_start[i] if side == 0 else row_J_start[i] + dof_start[a + 1] - dof_start[a]
            if c >= 0:
                for k in range(dof_start[c + 1] - dof_start[c]):
                    bound[dof_start[c] + k] += abs(row_J[o + k]) * g
    total = 0.0
    for p in range(w.island_start[island], w.island_start[island + 1]):
        c = order[p]
        for k in range(dof_start[c], dof_start[c + 1]):
            total += (scale[k] * bound[k]) ** 2
    return 2.0 * _EPS * math.sqrt(total)


@njit(error_model="numpy", _nrt=False, cache=True)
def _factorise(w: Any) -> None:
    """H = A + J^T G J and its block Cholesky factor, for active islands whose factor is out of date."""
    approximation, law, addresses, dt = w.approximation, w.law, w.addresses, w.period
    dof_start, A_start, A, order, island_start = w.dof_start, w.A_start, w.A, w.order, w.island_start
    entry_start, entry_column, entry_block = w.entry_start, w.entry_column, w.entry_block
    update_start, update_block, diagonal_block = w.update_start, w.update_block, w.diagonal_block
    contact_a, contact_b, J_start, J, contact_order = w.contact_a, w.contact_b, w.J_start, w.J, w.contact_order
    derived, vc, island_contacts, contact_slot = w.derived, w.vc, w.island_contacts, w.contact_slot
    row_a, row_b, row_J, row_J_start, row_order = w.row_a, w.row_b, w.row_J, w.row_J_start, w.row_order
    row_s, row_parameters, row_compliance, row_slot = w.row_s, w.row_parameters, w.row_compliance, w.row_slot
    island_rows, state, factor, position = w.island_rows, w.island_state, w.island_factor, w.position
    H, L, floor = w.H, w.L, w.floor
    for island in range(w.islands):
        if state[island] != _ACTIVE or factor[island] != 0:
            continue
        first, end = island_start[island], island_start[island + 1]
        for k in range(diagonal_block[first], diagonal_block[end]):
            H[k] = 0.0
        for p in range(first, end):
            c = order[p]
            m = dof_start[c + 1] - dof_start[c]
            o, h = A_start[c], diagonal_block[p]
            for k in range(m * m):
                H[h + k] = A[o + k]
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
        for x in range(island_rows[island], island_rows[island + 1]):
            i = row_order[x]
            y = (row_parameters[i, ROW_TARGET] - row_s[i]) / row_compliance[i]
            if y <= row_parameters[i, ROW_LOWER] or y >= row_parameters[i, ROW_UPPER]:
                continue
            g = 1.0 / row_compliance[i]
            a, b, o = row_a[i], row_b[i], row_J_start[i]
            m = dof_start[a + 1] - dof_start[a]
            add_outer(H, diagonal_block[position[a]], g, row_J, o, m, o, m)
            if b >= 0:
                ob, mb = o + m, dof_start[b + 1] - dof_start[b]
                add_outer(H, diagonal_block[position[b]], g, row_J, ob, mb, ob, mb)
                h = entry_block[row_slot[i] >> 1]
                if row_slot[i] & 1 == 0:
                    add_outer(H, h, g, row_J, o, m, ob, mb)
                else:
                    add_outer(H, h, g, row_J, ob, mb, o, m)
        # H = U^T U; pivots below the rounding of H are replaced by those of A
        for p in range(first, end):
            c = order[p]
            s, m, h, o = dof_start[c], dof_start[c + 1] - dof_start[c], diagonal_block[p], A_start[c]
            for k in range(m):
                floor[s + k] = min(8.0 * _EPS * H[h + k * m + k], A[o + k * m + k])
        for p in range(first, end):
            c = order[p]
            s, m, h, o = dof_start[c], dof_start[c + 1] - dof_start[c], diagonal_block[p], A_start[c]
            inverse_factor(H, h, L, o, m, floor, s)
            for e in range(entry_start[p], entry_start[p + 1]):
                u = order[entry_column[e]]
                lower_times(H, entry_block[e], L, o, m, dof_start[u + 1] - dof_start[u])
            update = update_start[p]
            for e in range(entry_start[p], entry_start[p + 1]):
                u = order[entry_column[e]]
                mr = dof_start[u + 1] - dof_start[u]
                for f in range(e, entry_start[p + 1]):
                    z = order[entry_column[f]]
                    subtract_product(
                        H, update_block[update], entry_block[e], entry_block[f], m, mr, dof_start[z + 1] - dof_start[z]
                    )
                    update += 1
        factor[island] = 1
        w.factorizations += 1


@njit(error_model="numpy", _nrt=False, cache=True)
def _solve_island(w: Any, island: int, x: np.ndarray) -> None:
    """x <- H^-1 x for the velocities of one island, with its last factor."""
    dof_start, A_start, order, island_start = w.dof_start, w.A_start, w.order, w.island_start
    entry_start, entry_column, entry_block, H, L = w.entry_start, w.entry_column, w.entry_block, w.H, w.L
    first, end = island_start[island], island_start[island + 1]
    for p in range(first, end):
        c = order[p]
        s, m = dof_start[c], dof_start[c + 1] - dof_start[c]
        lower_times_vector(L, A_start[c], x, s, m)
        for e in range(entry_start[p], entry_start[p + 1]):
            u = order[entry_column[e]]
            subtract_transposed(H, entry_block[e], x, s, x, dof_start[u], m, dof_start[u + 1] - dof_start[u])
    for back in range(end - first):
        p = end - 1 - back
        c = order[p]
        s, m = dof_start[c], dof_start[c + 1] - dof_start[c]
        for e in range(entry_start[p], entry_start[p + 1]):
            u = order[entry_column[e]]
            subtract_times(H, entry_block[e], x, dof_start[u], x, s, m, dof_start[u + 1] - dof_start[u])
        transposed_lower_times_vector(L, A_start[c], x, s, m)


@njit(error_model="numpy", _nrt=False, cache=True)
def _direction(w: Any) -> None:
    """dv = -H^-1 r of the active islands."""
    dof_start, order, island_start, state, dv, r = w.dof_start, w.order, w.island_start, w.island_state, w.dv, w.r
    for island in range(w.islands):
        if state[island] != _ACTIVE:
            continue
        for p in range(island_start[island], island_start[island + 1]):
            c = order[p]
            for k in range(dof_start[c], dof_start[c + 1]):
                dv[k] = -r[k]
        _solve_island(w, island, dv)


@njit(error_model="numpy", _nrt=False, cache=True)
def _line_search(w: Any) -> None:
    """v <- v + alpha dv with l'(alpha) = 0, island by island."""
    approximation, law, addresses, dt = w.approximation, w.law, w.addresses, w.period
    dof_start, A_start, A, order, island_start = w.dof_start, w.A_start, w.A, w.order, w.island_start
    v, v_old, dv, A_dv, r, momentum, state = w.v, w.v_old, w.dv, w.A_dv, w.r, w.r_momentum, w.island_state
    contact_a, contact_b, J_start, J, contact_order = w.contact_a, w.contact_b, w.J_start, w.J, w.contact_order
    derived, vc, dvc, island_contacts = w.derived, w.vc, w.dvc, w.island_contacts
    row_a, row_b, row_J, row_J_start, row_order = w.row_a, w.row_b, w.row_J, w.row_J_start, w.row_order
    row_s, row_ds, row_parameters, row_compliance = w.row_s, w.row_ds, w.row_parameters, w.row_compliance
    island_rows, stalls, carried, gamma, row_gamma = (
        w.island_rows,
        w.island_stalls,
        w.island_carried,
        w.gamma,
        w.row_gamma,
    )
    for island in range(w.islands):
        if state[island] != _ACTIVE:
            continue
        f0 = c0 = c1 = 0.0
        for p in range(island_start[island], island_start[island + 1]):
            c = order[p]
            s, m = dof_start[c], dof_start[c + 1] - dof_start[c]
            for k in range(s, s + m):
                A_dv[k] = 0.0
            subtract_times(A, A_start[c], dv, s, A_dv, s, m, m)
            for k in range(s, s + m):
                f0 += dv[k] * r[k]
                c0 += dv[k] * momentum[k]
                c1 -= dv[k] * A_dv[k]
        first_contact, last_contact = island_contacts[island], island_contacts[island + 1]
        first_row, last_row = island_rows[island], island_rows[island + 1]
        for x in range(first_contact, last_contact):
            i = contact_order[x]
            dvc[i, 0], dvc[i, 1], dvc[i, 2] = _contact_velocity(
                dof_start, J, J_start[i], contact_a[i], contact_b[i], dv
            )
        for x in range(first_row, last_row):
            i = row_order[x]
            row_ds[i] = _row_velocity(dof_start, row_J, row_J_start[i], row_a[i], row_b[i], dv)
        alpha, low, high, f_low, f_high = 1.0, 0.0, math.inf, f0, math.inf
        found = False
        for trial in range(60 if f0 < 0.0 else 0):
            f, bend = c0 + alpha * c1, c1
            for x in range(first_contact, last_contact):
                i = contact_order[x]
                d1, d2, d3 = dvc[i, 0], dvc[i, 1], dvc[i, 2]
                u1, u2, u3 = vc[i, 0] + alpha * d1, vc[i, 1] + alpha * d2, vc[i, 2] + alpha * d3
                if trial == 0:
                    g1, g2, g3 = impulse(approximation, law, addresses, dt, derived, i, u1, u2, u3)
                else:
                    g1, g2, g3, h11, h12, h22, h13, h23, h33 = impulse_and_hessian(
                        approximation, law, addresses, dt, derived, i, u1, u2, u3
                    )
                    bend += d1 * (h11 * d1 + 2.0 * (h12 * d2 + h13 * d3)) + d2 * (h22 * d2 + 2.0 * h23 * d3)
                    bend += d3 * h33 * d3
                gamma[i, 0], gamma[i, 1], gamma[i, 2] = g1, g2, g3
                f -= g1 * d1 + g2 * d2 + g3 * d3
            for x in range(first_row, last_row):
                i = row_order[x]
                y = (row_parameters[i, ROW_TARGET] - row_s[i] - alpha * row_ds[i]) / row_compliance[i]
                if row_parameters[i, ROW_LOWER] < y < row_parameters[i, ROW_UPPER]:
                    bend += row_ds[i] * row_ds[i] / row_compliance[i]
                row_gamma[i] = min(max(y, row_parameters[i, ROW_LOWER]), row_parameters[i, ROW_UPPER])
                f -= row_ds[i] * row_gamma[i]
            if abs(f) <= w.slope * abs(f0):
                found = True
                break
            if f < 0.0:
                low, f_low = alpha, f
            else:
                high, f_high = alpha, f
            if high - low <= 4.0 * _EPS * high:
                break
            following = alpha - f / bend
            if trial == 0:  # no curvature yet
                following = 2.0 if f < 0.0 else f_low / (f_low - f_high)
            if not following > low or not following < high:
                following = 2.0 * low if high == math.inf else 0.5 * (low + high)
            elif trial % 4 == 3:
                following = 0.5 * (low + high) if high < math.inf else 2.0 * low
            alpha = following
        for p in range(island_start[island], island_start[island + 1]):
            c = order[p]
            for k in range(dof_start[c], dof_start[c + 1]):
                v_old[k] = v[k]
                v[k] += alpha * dv[k]
        carried[island] = 1 if found and stalls[island] == 0 and w.polish == 0 else 0
        if carried[island] == 0:
            continue
        for p in range(island_start[island], island_start[island + 1]):
            c = order[p]
            for k in range(dof_start[c], dof_start[c + 1]):
                momentum[k] -= alpha * A_dv[k]
        for x in range(first_contact, last_contact):
            i = contact_order[x]
            for k in range(3):
                vc[i, k] += alpha * dvc[i, k]
        for x in range(first_row, last_row):
            row_s[row_order[x]] += alpha * row_ds[row_order[x]]


@njit(error_model="numpy", _nrt=False, cache=True)
def _derive(w: Any, i: int) -> None:
    """Derived numbers of a contact that was left out."""
    weight = 0.0
    if needs_mobility(w.approximation):
        weight = _mobility(w.dof_start, w.A_start, w.A_factor, w.J, w.J_start[i], w.contact_a[i], w.contact_b[i])
    prepare(
        w.approximation,
        w.law,
        w.addresses,
        w.period,
        w.stiction_tolerance,
        w.sigma,
        w.near_rigid,
        weight,
        w.contact_parameters,
        w.derived,
        i,
    )


@njit(error_model="numpy", _nrt=False, cache=True)
def _wake(w: Any) -> bool:
    """Takes in the idle contacts that are not idle at the present v; True where there are any."""
    approximation, law, addresses, dt = w.approximation, w.law, w.addresses, w.period
    contact_a, contact_b, J_start, J, dof_start = w.contact_a, w.contact_b, w.J_start, w.J, w.dof_start
    parameters, derived, vc, candidate, v = w.contact_parameters, w.derived, w.vc, w.candidate, w.v
    woken = 0
    for i in range(w.nc):
        if candidate[i] == 0:
            a, b, j = contact_a[i], contact_b[i], J_start[i]
            v1, v2, vn = _contact_velocity(dof_start, J, j, a, b, v)
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
def _finish(w: Any) -> None:
    """Relative residual of the whole system."""
    if w.polish != 0:
        _evaluate(w, True)  # a step may have been taken back
    scale, r, momentum, j, A_v_star = w.scale, w.r, w.r_momentum, w.j, w.A_v_star
    rr = pp = jj = 0.0
    for k in range(w.dofs):
        x1, x2, x3 = scale[k] * r[k], scale[k] * (momentum[k] + A_v_star[k]), scale[k] * j[k]
        rr += x1 * x1
        pp += x2 * x2
        jj += x3 * x3
    size = math.sqrt(max(pp, jj))
    w.residual = math.sqrt(rr) / size if size > 0.0 else math.sqrt(rr)


@njit(error_model="numpy", cache=True)
def factorise_at_solution(w: Any) -> None:
    """New factors of H at the present v for all islands: what the implicit function theorem needs, eq. (29)."""
    b = borrow(w)
    _evaluate(b, True)
    state, factor = b.island_state, b.island_factor
    for i in range(b.islands):
        state[i], factor[i] = _ACTIVE, 0
    _factorise(b)
    for i in range(b.islands):
        state[i] = _DONE


@njit(error_model="numpy", cache=True)
def apply_inverse(w: Any, B: np.ndarray) -> None:
    """Rows of B <- (H^-1 row^T)^T with the last factors; B (m, nv), C-ordered."""
    b = borrow(w)
    for k in range(len(B)):
        for island in range(b.islands):
            _solve_island(b, island, B[k])
