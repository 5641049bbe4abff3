"""The memory of the compiled solver: one object that compiled code takes, keeps and grows.

A `Workspace` is a Numba structref: passing it to a compiled function costs one pointer, and compiled code reads and
replaces its arrays. Its life in a simulator's compiled loop:

1. `reserve(w, cliques, velocities, ...)` makes room (nothing happens where there is room);
2. the loop writes the problem into the input arrays below, in place;
3. `newton.solve_step(w)` solves; v, gamma and the statistics are in the output arrays.

Inputs (capacities may exceed the counts):

==================== ==================== ======================================================================
n, dofs, nc, nr      integers             counts of cliques, velocities, contacts, constraint rows
dof_start            (n + 1,)             first velocity of each clique
A_start, A           (n + 1,), flat       block of A of each clique, row by row
v_star, v            (dofs,)              free-motion velocity; the guess, on return the solution
contact_a, contact_b (nc,)                two different cliques; contact_b = -1 where there is only one
J_start, J           (nc + 1,), flat      3 x n_a block, then 3 x n_b block, rows t1, t2, n
contact_parameters   (nc, 16)             columns of `contact_kernels` (PHI0, V_N0, ...)
row_a, row_b, ...    likewise             scalar rows of the constraints, `row_parameters` (nr, 6)
period, ...          numbers              stiction_tolerance, sigma, near_rigid, approximation, law, tolerances
addresses            (4,)                 of a user's normal law
==================== ==================== ======================================================================

The elimination order, the symbolic factorisation and the last numeric factors stay from step to step; they are made
anew only when a contact couples two cliques that the pattern does not (`newton`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, types
from numba.experimental import structref

from convex_contact.problem.contact_kernels import DERIVED, PARAMETERS, ROW_PARAMETERS
from convex_contact.solver.borrowed import Record

_INTEGERS = (
    # inputs
    "n",
    "dofs",
    "nc",
    "nr",
    "approximation",
    "law",
    "max_iterations",
    "polish",
    # outputs
    "iterations",
    "factorizations",
    "orderings",
    "status",
    "failed_island",
    # inside
    "pattern",
    "pattern_edges",
    "islands",
    "candidates",
    "active",
)
_NUMBERS = (
    "period",
    "stiction_tolerance",
    "sigma",
    "near_rigid",
    "relative_tolerance",
    "absolute_tolerance",
    "keep",
    "slope",
    # outputs
    "residual",
)
_FLOAT_VECTORS = (
    "A",
    "v_star",
    "v",
    "J",
    "row_J",
    "row_gamma",
    # inside
    "A_factor",
    "scratch",
    "A_v_star",
    "scale",
    "r",
    "r_momentum",
    "j",
    "dv",
    "A_dv",
    "v_old",
    "H",
    "L",
    "floor",
    "row_compliance",
    "row_s",
    "row_ds",
    "island_residual",
    "island_size",
    "island_last",
)
_FLOAT_TABLES = ("contact_parameters", "derived", "gamma", "vc", "dvc", "row_parameters")
_INTEGER_VECTORS = (
    "dof_start",
    "A_start",
    "contact_a",
    "contact_b",
    "J_start",
    "row_a",
    "row_b",
    "row_J_start",
    "addresses",
    # inside
    "candidate",
    "contact_slot",
    "contact_order",
    "row_slot",
    "row_order",
    "order",
    "position",
    "entry_start",
    "entry_column",
    "entry_block",
    "diagonal_block",
    "factor_block",
    "update_start",
    "update_block",
    "clique_island",
    "island_start",
    "island_contacts",
    "island_rows",
    "island_state",
    "island_factor",
    "island_stalls",
    "island_polishing",
    "island_carried",
    "edge_a",
    "edge_b",
    "parent",
    "degree",
    "touched",
)
_INTEGER_TABLES = ("lists",)
_BIT_TABLES = ("adjacency",)

_FIELDS: tuple[tuple[str, Any], ...] = (
    *((name, types.int64) for name in _INTEGERS),
    *((name, types.float64) for name in _NUMBERS),
    *((name, types.float64[::1]) for name in _FLOAT_VECTORS),
    *((name, types.float64[:, ::1]) for name in _FLOAT_TABLES),
    *((name, types.int64[::1]) for name in _INTEGER_VECTORS),
    *((name, types.int64[:, ::1]) for name in _INTEGER_TABLES),
    *((name, types.uint64[:, ::1]) for name in _BIT_TABLES),
)


@structref.register
class WorkspaceType(types.StructRef):
    """Numba's type of a workspace."""


class Workspace(Record):
    """Proxy of a workspace on Python's side; `new_workspace` makes one."""


structref.define_boxing(WorkspaceType, Workspace)

WORKSPACE = WorkspaceType(_FIELDS)


@njit(cache=True)
def new_workspace() -> Any:
    """An empty workspace with default tolerances."""
    w = structref.new(WORKSPACE)
    w.max_iterations = 1000
    w.period, w.stiction_tolerance, w.sigma, w.near_rigid = 1e-3, 1e-4, 1e-3, 0.0
    w.relative_tolerance, w.absolute_tolerance = 1e-5, 1e-14
    w.keep, w.slope = 0.1, 1e-3
    w.addresses = np.zeros(4, dtype=np.int64)
    return w


@njit(cache=True)
def _floats(x: np.ndarray, size: int) -> np.ndarray:
    return x if len(x) >= size else np.zeros(size + size // 2)


@njit(cache=True)
def _table(x: np.ndarray, size: int, columns: int) -> np.ndarray:
    return x if len(x) >= size else np.zeros((size + size // 2, columns))


@njit(cache=True)
def _integers(x: np.ndarray, size: int) -> np.ndarray:
    return x if len(x) >= size else np.zeros(size + size // 2, dtype=np.int64)


@njit(cache=True)
def reserve(
    w: Any, cliques: int, dofs: int, blocks: int, contacts: int, entries: int, rows: int, row_entries: int
) -> None:
    """Makes room and sets the counts. Arrays that grow lose their contents; the pattern is made anew if cliques change.

    Args:
        w: workspace.
        cliques: n.
        dofs: nv.
        blocks: length of A.
        contacts: nc.
        entries: length of J.
        rows: nr.
        row_entries: length of row_J.
    """
    if cliques != w.n or dofs != w.dofs:
        w.pattern = 0
    w.n, w.dofs, w.nc, w.nr = cliques, dofs, contacts, rows
    n1 = cliques + 1
    if len(w.dof_start) < n1:
        w.dof_start, w.A_start = _integers(w.dof_start, n1), _integers(w.A_start, n1)
        w.order, w.position = _integers(w.order, n1), _integers(w.position, n1)
        w.entry_start, w.diagonal_block = _integers(w.entry_start, n1), _integers(w.diagonal_block, n1)
        w.factor_block, w.update_start = _integers(w.factor_block, n1), _integers(w.update_start, n1)
        w.clique_island, w.island_start = _integers(w.clique_island, n1), _integers(w.island_start, n1)
        w.island_contacts, w.island_rows = _integers(w.island_contacts, n1), _integers(w.island_rows, n1)
        w.island_state, w.island_factor = _integers(w.island_state, n1), _integers(w.island_factor, n1)
        w.island_stalls, w.island_polishing = _integers(w.island_stalls, n1), _integers(w.island_polishing, n1)
        w.parent, w.island_carried = _integers(w.parent, n1), _integers(w.island_carried, n1)
        w.degree, w.touched = _integers(w.degree, n1), _integers(w.touched, n1)
        w.island_residual, w.island_size = _floats(w.island_residual, n1), _floats(w.island_size, n1)
        w.island_last = _floats(w.island_last, n1)
        size = len(w.order)
        w.lists = np.zeros((5, size), dtype=np.int64)
        w.adjacency = np.zeros((size, (size + 63) // 64), dtype=np.uint64)
        w.pattern = 0
    if len(w.v) < dofs:
        w.v_star, w.v, w.scale, w.r = (
            _floats(w.v_star, dofs),
            _floats(w.v, dofs),
            _floats(w.scale, dofs),
            _floats(w.r, dofs),
        )
        w.r_momentum, w.j, w.dv = _floats(w.r_momentum, dofs), _floats(w.j, dofs), _floats(w.dv, dofs)
        w.A_dv, w.v_old, w.floor = _floats(w.A_dv, dofs), _floats(w.v_old, dofs), _floats(w.floor, dofs)
        w.A_v_star = _floats(w.A_v_star, dofs)
    w.A, w.A_factor, w.L = _floats(w.A, blocks), _floats(w.A_factor, blocks), _floats(w.L, blocks)
    w.scratch = _floats(w.scratch, blocks)
    if len(w.gamma) < contacts or len(w.J_start) < contacts + 1:
        m = contacts + 1
        w.contact_parameters = _table(w.contact_parameters, m, PARAMETERS)
        w.derived, w.gamma = _table(w.derived, m, DERIVED), _table(w.gamma, m, 3)
        w.vc, w.dvc = _table(w.vc, m, 3), _table(w.dvc, m, 3)
        w.contact_a, w.contact_b = _integers(w.contact_a, m), _integers(w.contact_b, m)
        w.J_start, w.candidate = _integers(w.J_start, m), _integers(w.candidate, m)
        w.contact_slot, w.contact_order = _integers(w.contact_slot, m), _integers(w.contact_order, m)
    w.J = _floats(w.J, entries)
    if len(w.row_gamma) < rows or len(w.row_J_start) < rows + 1:
        m = rows + 1
        w.row_parameters = _table(w.row_parameters, m, ROW_PARAMETERS)
        w.row_a, w.row_b, w.row_J_start = _integers(w.row_a, m), _integers(w.row_b, m), _integers(w.row_J_start, m)
        w.row_slot, w.row_order = _integers(w.row_slot, m), _integers(w.row_order, m)
        w.row_gamma, w.row_compliance = _floats(w.row_gamma, m), _floats(w.row_compliance, m)
        w.row_s, w.row_ds = _floats(w.row_s, m), _floats(w.row_ds, m)
    w.row_J = _floats(w.row_J, row_entries)
    if len(w.edge_a) < contacts + rows:
        w.edge_a, w.edge_b = _integers(w.edge_a, contacts + rows), _integers(w.edge_b, contacts + rows)


@njit(cache=True)
def forget(w: Any) -> None:
    """Drops pattern and factors: needed where the cliques' sizes change but not their number and sum."""
    w.pattern = 0


@njit(cache=True)
def inputs(w: Any) -> Any:
    """Views of the input arrays, after `reserve`: structure, matrices, contacts, rows."""
    return (
        (w.dof_start, w.A_start, w.A, w.v_star, w.v),
        (w.contact_a, w.contact_b, w.J_start, w.J, w.contact_parameters),
        (w.row_a, w.row_b, w.row_J_start, w.row_J, w.row_parameters),
        w.addresses,
    )


@njit(cache=True)
def outputs(w: Any) -> Any:
    """Views after a solve: gamma and v_c (nc, 3), derived numbers, which contacts took part, rows' impulses."""
    return w.gamma, w.vc, w.derived, w.candidate, w.row_gamma


@njit(cache=True)
def configure(
    w: Any,
    approximation: int,
    law: int,
    period: float,
    stiction_tolerance: float,
    sigma: float,
    near_rigid: float,
    relative_tolerance: float,
    absolute_tolerance: float,
    max_iterations: int,
    polish: bool,
) -> None:
    """Sets the numbers of a problem."""
    w.approximation, w.law, w.period, w.stiction_tolerance = approximation, law, period, stiction_tolerance
    w.sigma, w.near_rigid, w.relative_tolerance, w.absolute_tolerance = (
        sigma,
        near_rigid,
        relative_tolerance,
        absolute_tolerance,
    )
    w.max_iterations, w.polish = max_iterations, 1 if polish else 0


@njit(cache=True)
def statistics(w: Any) -> tuple[int, int, int, int, float, int]:
    """Status, iterations, factorisations of the last step; orderings so far; residual; islands."""
    return w.status, w.iterations, w.factorizations, w.orderings, w.residual, w.islands


@njit(cache=True)
def load_of(w: Any) -> int:
    """Contacts that took part in the last step: all but the idle ones."""
    return w.candidates
