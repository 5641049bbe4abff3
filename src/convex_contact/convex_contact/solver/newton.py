"""Newton's method with exact line search on the block-sparse problem (section X), compiled.

    H dv = -r,   r = A (v - v*) - J^T gamma,   H = A + J^T G J,                                              (28)

then v <- v + alpha dv with alpha the zero of l'(alpha) = dv^T r(v + alpha dv), found by Newton steps inside a bracket,
and bisection where these leave it. A slope costs O(n): A dv and J dv are known. Differences of costs are never used,
because rounding spoils them long before the slope.

Beyond the paper, these make a step cheap:

* **Guess.** It is v0, or extrapolated where velocities change evenly (`guess`). Laws that depend on v0 take v0 itself.
* **Islands.** Cliques that no contact couples are independent problems. All islands iterate together, each with its
  own step length and its own stopping test, until it has converged. (The paper's test on the whole system follows from
  the islands' tests, up to a factor of sqrt(2), by which their tolerance is reduced.)
* **Idle contacts** (gamma = 0 and G = 0 at v0 and at v*) are left out, and checked again when the residuals are
  below a tenth of the momenta, and at the solution. Contacts that are no longer idle are added, and the iteration goes
  on. Since the potential of an idle contact is flat at the solution, that solution is the minimum of the whole problem.
* **Directions of friction** are second unknowns: the steps are primal-dual (`problem.friction_directions`) until the
  island has converged.
* **Factors are reused.** The symbolic factorisation is valid as long as it has a block for every coupling. The numeric
  factors of the last iteration or step are reused as long as they reduce the residual by `keep` (a tenth): any positive
  definite matrix gives a direction of descent, the line search is exact, and the stopping test is the same.
* **Rounding.** With phi0 + dt v_n the impulse of a contact of stiffness k changes by dt^2 k with the velocity, so that
  a velocity in doubles determines it only to dt^2 k eps |v|. An iteration that ends above the tolerance but below a
  bound on this error has found the best velocity in doubles and is accepted. Any other end above the tolerance is a
  failure.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from convex_contact.problem.contact_kernels import needs_delassus_norm
from convex_contact.solver import terms
from convex_contact.solver.borrowed import Borrowed, borrow
from convex_contact.solver.factorization import factorise, find_direction, solve_island
from convex_contact.solver.guess import extrapolate
from convex_contact.solver.island_states import (
    ACTIVE,
    CONVERGED,
    DONE,
    EPS,
    FAILED,
    NOT_FINITE,
)
from convex_contact.solver.island_states import (
    ITERATION_LIMIT as ITERATION_LIMIT,
)
from convex_contact.solver.line_search import search_lines
from convex_contact.solver.masses import add_mass_sizes, factorise_masses, negative_mass_product
from convex_contact.solver.ordering import match_pattern, order_cliques
from convex_contact.solver.stages import address_of
from haptic_math.native_calls import call_integer

#: Newton steps after which contacts are softened for a better guess; typical problems need 2 to 20
PATIENCE = 50
#: first stiffness of softened contacts [effective masses per dt^2]
FIRST_LEVEL = 10.0
#: ratio of each stiffness level to the previous one, and relative tolerance of each level: first and second attempt
LEVEL_RATIO, FINER_LEVEL_RATIO = 30.0, 3.0
LEVEL_TOLERANCE, FINER_LEVEL_TOLERANCE = 1e-2, 1e-4
#: polishing goes on while a step lowers the residual below this fraction
POLISH_RATIO = 0.25
#: residuals relative to the momenta below which idle contacts are checked before the solution
NEAR = 0.1
#: a step that does not lower the residual below this fraction stalls; after `STALLS` stalls in a row the bound of
#: rounding is accepted
STALL_RATIO, STALLS = 0.5, 4
#: residuals up to this fraction of the momenta are zero
ZERO = 4.0 * EPS
#: and those of a guess are zero up to the bound of rounding, which is larger where heavy bodies press on light ones;
#: it is computed for residuals up to this fraction of the momenta
NEAR_ZERO = 1e-12
#: a residual that was below that bound is so until it has changed by this fraction: bodies at rest do not compute it
REPEATED = 1e-3


def solve_step(w: Any) -> int:
    """Solves the problem in the workspace from Python, see :func:`solve`."""
    return int(solve(w, address_of_iterate(w)))


def address_of_iterate(w: Any) -> int:
    """Compiles :func:`iterate` for this type of workspace; returns its address for :func:`solve`."""
    return address_of(iterate, Borrowed(w), 0, True, 0.0)


@njit(error_model="numpy", cache=True)
def solve(w: Any, iterate: int) -> int:
    """Solves the problem in the workspace; v is the guess and the solution. Returns the status.

    If the status is not CONVERGED, v is the last iterate. NOT_FINITE: `failed_island` is the island that failed.

    Args:
        w: workspace.
        iterate: address of :func:`iterate`, which is called at two places and would be compiled for each again.
    """
    b = borrow(w)
    b.iterations = b.factorizations = b.failed_island = 0
    b.status = CONVERGED
    if terms.count_entries(b) == 0:
        while not match_pattern(b):
            order_cliques(w)
        _sort_by_island(b)
        _move_freely(b)
        return int(b.status)
    _prepare(b)
    continuations, guess, first = 2 if b.max_iterations <= PATIENCE else 0, True, 0
    while True:
        while not match_pattern(b):
            order_cliques(w)
        _sort_by_island(b)
        limit = PATIENCE if continuations == 0 else b.max_iterations
        woken = call_integer(iterate, (b, limit - (b.iterations - first), guess, NEAR))
        guess = False
        if woken != 0:
            continue
        if b.active > 0:
            if continuations == 2:
                b.status = ITERATION_LIMIT
                break
            if continuations == 0:
                _continue_in_stiffness(b, iterate, LEVEL_RATIO, LEVEL_TOLERANCE)
            else:
                _continue_in_stiffness(b, iterate, FINER_LEVEL_RATIO, FINER_LEVEL_TOLERANCE)
            continuations, first = continuations + 1, b.iterations
        elif b.status != CONVERGED or not terms.wake(b):
            break
    _finish(b)
    return int(b.status)


@njit(error_model="numpy", _nrt=False, cache=True)
def _move_freely(w: Any) -> None:
    """Solves a step without any term: v = v*, without residual unless it is not finite."""
    v, v_star, momentum, j, r, dof_start = w.v, w.v_star, w.r_momentum, w.j, w.r, w.dof_start
    state, residual = w.island_state, w.island_residual
    w.candidates, w.active, w.residual = 0, 0, 0.0
    for island in range(w.islands):
        rest = 0.0
        for p in range(w.island_start[island], w.island_start[island + 1]):
            c = w.order[p]
            for k in range(dof_start[c], dof_start[c + 1]):
                v[k] = v_star[k]
                momentum[k] = j[k] = r[k] = v[k] - v_star[k]  # not a number, if v* is infinite or none itself
                rest += r[k]
        state[island], residual[island] = DONE, rest
        if rest != 0.0:
            state[island] = FAILED
            w.status, w.failed_island, w.residual = NOT_FINITE, island, rest


@njit(error_model="numpy", _nrt=False, cache=True)
def _sort_by_island(w: Any) -> None:
    terms.sort_by_island(w)


@njit(error_model="numpy", _nrt=False, cache=True)
def iterate(w: Any, limit: int, guess: bool, near: float) -> int:
    """Makes Newton steps until no island is active, at most `limit`; returns 1 if idle contacts now take part, else 0.

    Args:
        w: workspace.
        limit: largest number of steps.
        guess: v is no result of a step.
        near: residuals relative to the momenta below which idle contacts are checked, once; 0: they are not.
    """
    iteration, woken = 0, False
    while True:
        first = iteration == 0
        _evaluate(w, first)
        _check_convergence(w, first, guess)
        if not first and near > 0.0 and w.active > 0 and _is_near(w, near):
            near, woken = 0.0, terms.wake(w)
        if woken or w.active == 0 or iteration >= limit:
            break
        iteration += 1
        factorise(w)
        find_direction(w)
        search_lines(w)
    w.iterations += iteration
    return 1 if woken else 0


@njit(error_model="numpy", _nrt=False, cache=True)
def _is_near(w: Any, near: float) -> bool:
    """Returns whether the residuals of all islands are below this fraction of their momenta."""
    residual, size = w.island_residual, w.island_size
    excess = 0.0
    for i in range(w.islands):
        excess = max(excess, residual[i] - near * size[i])
    return excess == 0.0


@njit(error_model="numpy", _nrt=False, cache=True)
def _continue_in_stiffness(w: Any, iterate: int, ratio: float, tolerance: float) -> None:
    """Solves the islands that are still active with softer contacts, at increasing levels of stiffness (continuation).

    A stiff contact far from its solution makes a narrow curved valley of the cost, along which Newton's steps are short
    (Similar above all). With the stiffness limited to `level` effective masses per dt^2 the valley is wide, and each
    solution is a good guess for the next level. The widths of the soft norms and the lagged impulses keep their values.

    Args:
        w: workspace.
        iterate: address of :func:`iterate`.
        ratio: ratio of each level to the previous one.
        tolerance: relative tolerance of each level but the last, which is the problem itself.
    """
    relative, polish = w.relative_tolerance, w.polish
    w.relative_tolerance, w.polish = tolerance, 0
    state, wanted = w.island_state, w.touched
    islands = w.islands
    for i in range(islands):
        wanted[i] = 1 if state[i] == ACTIVE else 0
    level, softened = FIRST_LEVEL, 1
    while softened > 0 and w.status == CONVERGED:
        softened = 0
        for island in range(islands):
            if wanted[island] != 0:
                w.island_factor[island] = 0
                softened += terms.soften(w, island, level)
        if softened > 0:
            call_integer(iterate, (w, 2 * PATIENCE, True, 0.0))
        level *= ratio
    w.relative_tolerance, w.polish = relative, polish


@njit(error_model="numpy", _nrt=False, cache=True)
def _prepare(w: Any) -> None:
    """Computes scaling, derived numbers of the terms at v0, and the guess; cliques without a term move freely."""
    dof_start, A_start, A, scale = w.dof_start, w.A_start, w.A, w.scale
    v, v_star, A_v_star, touched = w.v, w.v_star, w.A_v_star, w.touched
    for c in range(w.n):
        s, m, a = dof_start[c], dof_start[c + 1] - dof_start[c], A_start[c]
        for k in range(m):
            scale[s + k] = 1.0 / math.sqrt(A[a + k * m + k])
        negative_mass_product(w, c, v_star, A_v_star)
        for k in range(m):
            A_v_star[s + k] = -A_v_star[s + k]
    for c in range(w.n):
        touched[c] = 0
    terms.mark_needed_masses(w)
    factorise_masses(w, needs_delassus_norm(w.approximation))
    for c in range(w.n):
        touched[c] = 0
    terms.prepare_terms(w)
    for c in range(w.n):
        if touched[c] == 0:
            for k in range(dof_start[c], dof_start[c + 1]):
                v[k] = v_star[k]
        else:
            extrapolate(w, c)


@njit(error_model="numpy", _nrt=False, cache=True)
def _evaluate(w: Any, everything: bool) -> None:
    """Computes impulses, r and the norms of the active islands, or of all islands.

    A (v - v*), velocities and impulses that the line search has updated are not computed again.
    """
    dof_start, order, island_start = w.dof_start, w.order, w.island_start
    scale, r, momentum, j, A_v_star = w.scale, w.r, w.r_momentum, w.j, w.A_v_star
    state, residual, size, evaluated = w.island_state, w.island_residual, w.island_size, w.island_evaluated
    for island in range(w.islands):
        if not everything and state[island] != ACTIVE:
            continue
        if everything or evaluated[island] == 0:
            _update_momentum(w, island)
            terms.update(w, island)
        for p in range(island_start[island], island_start[island + 1]):
            c = order[p]
            for k in range(dof_start[c], dof_start[c + 1]):
                j[k] = 0.0
        terms.add_momentum(w, island)
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
def _update_momentum(w: Any, island: int) -> None:
    """Computes A (v - v*) of an island."""
    dof_start, order, island_start = w.dof_start, w.order, w.island_start
    v, v_star, momentum, difference = w.v, w.v_star, w.r_momentum, w.A_dv
    for p in range(island_start[island], island_start[island + 1]):
        c = order[p]
        for k in range(dof_start[c], dof_start[c + 1]):
            difference[k] = v_star[k] - v[k]
        negative_mass_product(w, c, difference, momentum)


@njit(error_model="numpy", _nrt=False, cache=True)
def _check_convergence(w: Any, first: bool, guess: bool) -> None:
    """Checks which islands have converged or failed, and which of the active ones need a new factor.

    A guess that passes the test still gets one step: at small periods the velocity of the previous step passes it, and
    gravity and small forces, always below the tolerance, would never act; but none if the residual is mere rounding, as
    that of bodies at rest. With `polish` a converged island goes on as long as each step, of Newton's method itself,
    quarters its residual; a last step that raises it is undone.
    """
    state, residual, size, last = w.island_state, w.island_residual, w.island_size, w.island_last
    factor, stalls, polishing = w.island_factor, w.island_stalls, w.island_polishing
    relative, absolute, polish = w.relative_tolerance / math.sqrt(2.0), w.absolute_tolerance, w.polish != 0
    active = 0
    for i in range(w.islands):
        if not first and state[i] != ACTIVE:
            continue
        if not residual[i] < math.inf:
            state[i] = FAILED
            w.status, w.failed_island = NOT_FINITE, i
            continue
        converged = residual[i] <= absolute + relative * size[i]
        finished = residual[i] <= ZERO * size[i] or (converged and not polish and not (first and guess))
        if first and guess and not finished and residual[i] <= NEAR_ZERO * size[i]:
            finished = _is_rounding(w, i)
        if first:
            stalls[i] = polishing[i] = 0
        elif polishing[i] != 0:
            finished = finished or not residual[i] < POLISH_RATIO * last[i]
            if residual[i] > last[i]:
                _restore(w, i)
        elif not converged:
            stalls[i] = 0 if residual[i] < STALL_RATIO * last[i] else stalls[i] + 1
            if stalls[i] >= STALLS:
                finished = residual[i] <= _rounding(w, i)
        polishing[i] = 1 if converged else 0
        state[i] = DONE if finished else ACTIVE
        if not finished:
            active += 1
            if polishing[i] != 0 and polish:
                terms.start_hessian(w, i)
            if polish or (not first and residual[i] > w.keep * last[i]):
                factor[i] = 0
        last[i] = residual[i]
    w.active = 0 if w.status != CONVERGED else active


@njit(error_model="numpy", _nrt=False, cache=True)
def _is_rounding(w: Any, island: int) -> bool:
    """Returns whether the residual of a guess is below the bound of rounding, as one that hardly changes still is."""
    residual, passed = w.island_residual[island], w.island_rounded
    if abs(residual - passed[island]) > REPEATED * residual:
        passed[island] = residual if residual <= _rounding(w, island) else 0.0
    return bool(passed[island] > 0.0)


@njit(error_model="numpy", _nrt=False, cache=True)
def _restore(w: Any, island: int) -> None:
    """Restores v of an island before its last step."""
    dof_start, order, v, v_old = w.dof_start, w.order, w.v, w.v_old
    for p in range(w.island_start[island], w.island_start[island + 1]):
        c = order[p]
        for k in range(dof_start[c], dof_start[c + 1]):
            v[k] = v_old[k]


@njit(error_model="numpy", _nrt=False, cache=True)
def _rounding(w: Any, island: int) -> float:
    """Returns a bound on the scaled residual of an island [sqrt(J)] due to rounding of v.

    To first order |dr| <= eps (|A| (|v| + |v*|) + |J|^T (|gamma| + |G| (|J| |v| + |b| + |phi0|/dt))).
    """
    dof_start, order, scale, bound = w.dof_start, w.order, w.scale, w.dv
    for p in range(w.island_start[island], w.island_start[island + 1]):
        c = order[p]
        for k in range(dof_start[c], dof_start[c + 1]):
            bound[k] = 0.0
        add_mass_sizes(w, c, bound)
    terms.add_rounding(w, island)
    total = 0.0
    for p in range(w.island_start[island], w.island_start[island + 1]):
        c = order[p]
        for k in range(dof_start[c], dof_start[c + 1]):
            total += (scale[k] * bound[k]) ** 2
    return 2.0 * EPS * math.sqrt(total)


@njit(error_model="numpy", _nrt=False, cache=True)
def _finish(w: Any) -> None:
    """Computes the relative residual of the whole system."""
    everything = w.polish != 0
    if everything:  # a constant would have `_evaluate` compiled once more, for it
        _evaluate(w, everything)  # the last step may have been undone
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
    """Factorises H at the present v for all islands, for derivatives by the implicit function theorem, eq. (29)."""
    b = borrow(w)
    _evaluate(b, True)
    state, factor = b.island_state, b.island_factor
    for i in range(b.islands):
        terms.start_hessian(b, i)
        state[i], factor[i] = ACTIVE, 0
    factorise(b)
    for i in range(b.islands):
        state[i] = DONE


@njit(error_model="numpy", cache=True)
def apply_inverse(w: Any, B: np.ndarray) -> None:
    """Replaces each row of B by (H^-1 row^T)^T with the last factors; B (m, nv), C-ordered."""
    b = borrow(w)
    for k in range(len(B)):
        for island in range(b.islands):
            solve_island(b, island, B[k])
