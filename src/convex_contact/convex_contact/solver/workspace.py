"""Workspace of the compiled solver: one object with all its arrays, which compiled code reads, writes and grows.

A `Workspace` is a Numba structref: passing it to a compiled function costs one pointer, and compiled code reads and
replaces its arrays. A simulator's compiled loop uses it in three steps:

1. `reserve(w, cliques, velocities, ...)` makes room (nothing happens if there is room already);
2. the loop writes the problem into the input arrays below, in place;
3. `newton.solve_step(w)` solves; v, gamma and the statistics are in the output arrays.

Its fields are listed below; capacities may exceed the counts. Fields that are marked neither input nor output are
internal to the solver.

The elimination order, the symbolic factorisation and the last numeric factors stay from step to step. They are
computed again only when a contact couples two cliques that the pattern does not couple (`newton`).
"""

from __future__ import annotations

from dataclasses import astuple
from typing import Any, NamedTuple

import numpy as np
from numba import njit, types
from numba.experimental import structref

from convex_contact.problem.contact_kernels import DERIVED, PARAMETERS, ROW_PARAMETERS
from convex_contact.solver.borrowed import Field, Record, RecordType, borrow
from convex_contact.solver.options import SolverOptions

#: numbers have no shape
INTEGERS = (
    Field("n", "", "-", "cliques: groups of velocities that A couples"),
    Field("dofs", "", "-", "velocities"),
    Field("nc", "", "-", "contacts"),
    Field("nr", "", "-", "rows of constraints"),
    Field("approximation", "", "-", "code of `contact_kernels`"),
    Field("law", "", "-", "code of the normal law"),
    Field("max_iterations", "", "-", "largest number of Newton steps"),
    Field("polish", "", "-", "1: iterate to rounding"),
    Field("iterations", "", "-", "output: Newton steps"),
    Field("factorizations", "", "-", "output: factorisations of islands"),
    Field("orderings", "", "-", "output: elimination orders computed since the start"),
    Field("status", "", "-", "output: CONVERGED, ITERATION_LIMIT or NOT_FINITE"),
    Field("failed_island", "", "-", "output: island with a number that is not finite"),
    Field("pattern", "", "-", "1: order and symbolic factorisation are valid"),
    Field("pattern_edges", "", "-", "number of couplings when they were computed"),
    Field("islands", "", "-", "number of islands"),
    Field("candidates", "", "-", "contacts that are not idle"),
    Field("active", "", "-", "islands that have not converged"),
)
NUMBERS = (
    Field("period", "", "s", "dt"),
    Field("stiction_tolerance", "", "m/s", "v_s"),
    Field("sigma", "", "-", "regularisation of friction"),
    Field("near_rigid", "", "-", "beta of SAP"),
    Field("relative_tolerance", "", "-", "relative tolerance of the convergence test"),
    Field("absolute_tolerance", "", "sqrt(J)", "absolute tolerance of the convergence test"),
    Field("keep", "", "-", "a factor is kept while a step lowers the residual to this fraction"),
    Field("slope", "", "-", "the line search ends where l' is below this fraction of l'(0)"),
    Field("residual", "", "-", "output: scaled as in the convergence test"),
)
FLOAT_VECTORS = (
    Field("A", "flat", "kg, kg m^2", "input: block of A of each clique, row by row; see `masses`"),
    Field("v_star", "(dofs,)", "m/s, rad/s", "input: free-motion velocity"),
    Field("v", "(dofs,)", "m/s, rad/s", "guess and solution"),
    Field(
        "J", "flat", "-, m", "input: of each contact the blocks of a and b, rows t1, t2, n; columns as in `branches`"
    ),
    Field("row_J", "flat", "-, m", "input: of each row its entries in a, then in b"),
    Field("row_gamma", "(nr,)", "N s", "output: impulses of the rows"),
    Field("A_factor", "like A", "", "factor of A of each clique, see `masses.factorise_masses`"),
    Field("scratch", "like A", "", "copy of a block, while it is factorised"),
    Field("A_v_star", "(dofs,)", "N s", "A v*"),
    Field("scale", "(dofs,)", "1/sqrt(kg)", "diag(A)^(-1/2)"),
    Field("r", "(dofs,)", "N s", "residual A (v - v*) - J^T gamma"),
    Field("r_momentum", "(dofs,)", "N s", "A (v - v*)"),
    Field("j", "(dofs,)", "N s", "J^T gamma"),
    Field("dv", "(dofs,)", "m/s, rad/s", "Newton direction; bound of the rounding of r in `_rounding`"),
    Field("A_dv", "(dofs,)", "N s", "-A dv"),
    Field("v_old", "(dofs,)", "m/s, rad/s", "v before the last step"),
    Field("change", "(dofs,)", "m/s, rad/s", "change of v by the last step; memory"),
    Field("change_before", "(dofs,)", "m/s, rad/s", "change of v by the step before it; memory"),
    Field("H", "flat", "kg", "blocks of H and of its factor U"),
    Field("L", "flat", "", "factors of the diagonal blocks (`blocks.factorise`)"),
    Field("floor", "(dofs,)", "kg", "least pivots"),
    Field("row_compliance", "(nr,)", "1/kg", "R with the near-rigid limit"),
    Field("row_s", "(nr,)", "m/s", "J v + b of the rows"),
    Field("row_ds", "(nr,)", "m/s", "J dv of the rows"),
    Field("island_residual", "(islands,)", "sqrt(J)", "scaled norm of r"),
    Field("island_size", "(islands,)", "sqrt(J)", "scaled norm of the larger of A v and J^T gamma"),
    Field("island_last", "(islands,)", "sqrt(J)", "residual before the last step"),
    Field("island_rounded", "(islands,)", "sqrt(J)", "residual of a guess, if it was only rounding; memory"),
)
FLOAT_TABLES = (
    Field("contact_parameters", f"(nc, {PARAMETERS})", "", "input: columns of `contact_kernels` (PHI0, ...)"),
    Field("derived", f"(nc, {DERIVED})", "", "output: derived numbers, columns D_EPS, ..."),
    Field("gamma", "(nc, 3)", "N s", "output: impulses t1, t2, n"),
    Field("vc", "(nc, 3)", "m/s", "output: J v + b"),
    Field("dvc", "(nc, 3)", "m/s", "J dv"),
    Field("row_parameters", f"(nr, {ROW_PARAMETERS})", "", "input: columns ROW_BIAS, ... of `contact_kernels`"),
)
INTEGER_VECTORS = (
    Field("dof_start", "(n + 1,)", "-", "input: first velocity of each clique"),
    Field("A_start", "(n + 1,)", "-", "input: where the clique's block of A begins"),
    Field("contact_a", "(nc,)", "-", "input: clique"),
    Field("contact_b", "(nc,)", "-", "input: another clique, -1: none"),
    Field("J_start", "(nc + 1,)", "-", "input: where the contact's entries of J begin"),
    Field("row_a", "(nr,)", "-", "input: clique"),
    Field("row_b", "(nr,)", "-", "input: another clique, -1: none"),
    Field("row_J_start", "(nr + 1,)", "-", "input: where the row's entries of row_J begin"),
    Field("clique_branched", "(n,)", "-", "input: 1: a tree with branches, of which A has the zeros (`branches`)"),
    Field("dof_parent", "(dofs,)", "-", "input, of trees: like `branches.Branches`, as are the next two"),
    Field("dof_run", "(dofs,)", "-", "input"),
    Field("dof_depth", "(dofs,)", "-", "input"),
    Field("addresses", "(4,)", "-", "input: of a user's normal law"),
    Field("candidate", "(nc,)", "-", "output: 1: takes part; 0: idle"),
    Field("contact_slot", "(nc,)", "-", "entry of the coupling, twice, plus 1 if a comes after b in the order"),
    Field("contact_order", "(nc,)", "-", "candidates island by island"),
    Field("row_slot", "(nr,)", "-", "like contact_slot"),
    Field("row_order", "(nr,)", "-", "rows island by island"),
    Field("order", "(n,)", "-", "clique at each position of the elimination"),
    Field("position", "(n,)", "-", "position of each clique"),
    Field("entry_start", "(n + 1,)", "-", "like `block_cholesky.BlockPattern`, as are the next five"),
    Field("entry_column", "flat", "-", ""),
    Field("entry_block", "flat", "-", ""),
    Field("diagonal_block", "(n + 1,)", "-", ""),
    Field("update_start", "(n + 1,)", "-", ""),
    Field("update_block", "flat", "-", ""),
    Field("clique_island", "(n,)", "-", "island of each clique"),
    Field("island_start", "(islands + 1,)", "-", "first position of each island"),
    Field("island_contacts", "(islands + 1,)", "-", "where the island's part of contact_order begins"),
    Field("island_rows", "(islands + 1,)", "-", "where the island's part of row_order begins"),
    Field("island_state", "(islands,)", "-", "DONE, ACTIVE or FAILED"),
    Field("island_factor", "(islands,)", "-", "1: the factor is valid"),
    Field("island_branched", "(islands,)", "-", "1: the factor in L is L^T D L with the zeros of a tree's branches"),
    Field("island_stalls", "(islands,)", "-", "steps in a row that hardly lowered the residual"),
    Field("island_polishing", "(islands,)", "-", "1: has converged before"),
    Field("island_evaluated", "(islands,)", "-", "1: velocities and impulses are those of the line search"),
    Field("edge_a", "(edges,)", "-", "a clique of each coupling by candidates and rows"),
    Field("edge_b", "(edges,)", "-", "other clique of each coupling"),
    Field("parent", "(n,)", "-", "union-find forest of the islands"),
    Field("degree", "(n,)", "-", "of `structure.minimum_degree`"),
    Field("touched", "(n,)", "-", "1: a term acts on the clique; in continuation, 1: the island is softened"),
)
INTEGER_TABLES = (
    Field(
        "contact_last", "(nc, 2)", "-", "input: last velocity of the path that moves each side; -1: all of its clique"
    ),
    Field("row_first", "(nr, 2)", "-", "first entry in row_J of each side's range of nonzero entries"),
    Field("row_velocity", "(nr, 2)", "-", "velocity of that entry"),
    Field("row_count", "(nr, 2)", "-", "length of that range"),
    Field("lists", "(5, n)", "-", "of `structure.minimum_degree`"),
)
BIT_TABLES = (Field("adjacency", "(n, n / 64)", "-", "bit sets of `structure.minimum_degree`"),)

_FIELDS: tuple[tuple[str, Any], ...] = (
    *((name, types.int64) for name, *_ in INTEGERS),
    *((name, types.float64) for name, *_ in NUMBERS),
    *((name, types.float64[::1]) for name, *_ in FLOAT_VECTORS),
    *((name, types.float64[:, ::1]) for name, *_ in FLOAT_TABLES),
    *((name, types.int64[::1]) for name, *_ in INTEGER_VECTORS),
    *((name, types.int64[:, ::1]) for name, *_ in INTEGER_TABLES),
    *((name, types.uint64[:, ::1]) for name, *_ in BIT_TABLES),
)


@structref.register
class WorkspaceType(RecordType):
    """Numba's type of a workspace."""


class Workspace(Record):
    """Proxy of a workspace in Python; `new_workspace` makes one."""


structref.define_boxing(WorkspaceType, Workspace)

WORKSPACE = WorkspaceType(_FIELDS)

_RELATIVE_TOLERANCE, _ABSOLUTE_TOLERANCE, _MAX_ITERATIONS, _ = astuple(SolverOptions())


@njit(cache=True)
def new_workspace() -> Any:
    """Returns an empty workspace with the tolerances of `SolverOptions`, without polishing."""
    w = structref.new(WORKSPACE)
    w.max_iterations = _MAX_ITERATIONS
    w.period, w.stiction_tolerance, w.sigma, w.near_rigid = 1e-3, 1e-4, 1e-3, 0.0
    w.relative_tolerance, w.absolute_tolerance = _RELATIVE_TOLERANCE, _ABSOLUTE_TOLERANCE
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
def _pairs(x: np.ndarray, size: int) -> np.ndarray:
    return x if len(x) >= size else np.zeros((size + size // 2, 2), dtype=np.int64)


@njit(cache=True)
def reserve(
    w: Any, cliques: int, dofs: int, blocks: int, contacts: int, entries: int, rows: int, row_entries: int
) -> None:
    """Makes room and sets the counts; arrays that grow lose their contents, and new counts invalidate the pattern.

    Args:
        w: workspace.
        cliques: number of cliques n.
        dofs: number of velocities nv.
        blocks: length of A.
        contacts: number of contacts nc.
        entries: length of J.
        rows: number of rows nr.
        row_entries: length of row_J.
    """
    if not _set_counts(borrow(w), cliques, dofs, blocks, contacts, entries, rows, row_entries):
        _grow(w, cliques, dofs, blocks, contacts, entries, rows, row_entries)


@njit(cache=True)
def reserve_rows(w: Any, rows: int, row_entries: int) -> None:
    """Makes room for rows, of a step whose contacts are not known yet; see :func:`reserve`."""
    none = np.int64(0)  # as a constant it would have `reserve` compiled once more
    reserve(w, w.n, w.dofs, none, none, none, rows, row_entries)


@njit(cache=True, error_model="numpy", _nrt=False)
def _set_counts(
    w: Any, cliques: int, dofs: int, blocks: int, contacts: int, entries: int, rows: int, row_entries: int
) -> bool:
    """Sets the counts; returns whether all arrays have room. Without counted references, which cost a small step much.

    The arguments are those of :func:`reserve`, the conditions those under which :func:`_grow` leaves an array.
    """
    if cliques != w.n or dofs != w.dofs:
        w.pattern = 0
    w.n, w.dofs, w.nc, w.nr = cliques, dofs, contacts, rows
    return bool(
        len(w.dof_start) > cliques
        and len(w.v) >= dofs
        and min(len(w.A), len(w.A_factor), len(w.L), len(w.scratch)) >= blocks
        and min(len(w.gamma), len(w.J_start) - 1) >= contacts
        and len(w.J) >= entries
        and min(len(w.row_gamma), len(w.row_J_start) - 1) >= rows
        and len(w.row_J) >= row_entries
        and len(w.edge_a) >= contacts + rows
    )


@njit(cache=True)
def _grow(
    w: Any, cliques: int, dofs: int, blocks: int, contacts: int, entries: int, rows: int, row_entries: int
) -> None:
    """Makes room in all arrays that have too little; the arguments are those of :func:`reserve`."""
    n1 = cliques + 1
    if len(w.dof_start) < n1:
        w.dof_start, w.A_start = _integers(w.dof_start, n1), _integers(w.A_start, n1)
        w.order, w.position = _integers(w.order, n1), _integers(w.position, n1)
        w.entry_start, w.diagonal_block = _integers(w.entry_start, n1), _integers(w.diagonal_block, n1)
        w.update_start = _integers(w.update_start, n1)
        w.clique_island, w.island_start = _integers(w.clique_island, n1), _integers(w.island_start, n1)
        w.island_contacts, w.island_rows = _integers(w.island_contacts, n1), _integers(w.island_rows, n1)
        w.island_state, w.island_factor = _integers(w.island_state, n1), _integers(w.island_factor, n1)
        w.island_stalls, w.island_polishing = _integers(w.island_stalls, n1), _integers(w.island_polishing, n1)
        w.parent, w.island_evaluated = _integers(w.parent, n1), _integers(w.island_evaluated, n1)
        w.degree, w.touched = _integers(w.degree, n1), _integers(w.touched, n1)
        w.island_residual, w.island_size = _floats(w.island_residual, n1), _floats(w.island_size, n1)
        w.island_last, w.island_rounded = _floats(w.island_last, n1), _floats(w.island_rounded, n1)
        w.island_branched, w.clique_branched = _integers(w.island_branched, n1), _integers(w.clique_branched, n1)
        size = len(w.order)
        w.lists = np.zeros((5, size), dtype=np.int64)
        w.adjacency = np.zeros((size, (size + 63) // 64), dtype=np.uint64)
        w.pattern = 0
    if len(w.v) < dofs:
        w.v_star, w.v, w.scale = _floats(w.v_star, dofs), _floats(w.v, dofs), _floats(w.scale, dofs)
        w.change, w.change_before = _floats(w.change, dofs), _floats(w.change_before, dofs)
        w.r, w.r_momentum, w.j = _floats(w.r, dofs), _floats(w.r_momentum, dofs), _floats(w.j, dofs)
        w.dv, w.A_dv, w.v_old = _floats(w.dv, dofs), _floats(w.A_dv, dofs), _floats(w.v_old, dofs)
        w.floor, w.A_v_star = _floats(w.floor, dofs), _floats(w.A_v_star, dofs)
        w.dof_parent, w.dof_run = _integers(w.dof_parent, dofs), _integers(w.dof_run, dofs)
        w.dof_depth = _integers(w.dof_depth, dofs)
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
        if len(w.contact_last) < m:
            w.contact_last = _pairs(w.contact_last, m)
            w.contact_last[:] = -1
    w.J = _floats(w.J, entries)
    if len(w.row_gamma) < rows or len(w.row_J_start) < rows + 1:
        m = rows + 1
        w.row_parameters = _table(w.row_parameters, m, ROW_PARAMETERS)
        w.row_a, w.row_b, w.row_J_start = _integers(w.row_a, m), _integers(w.row_b, m), _integers(w.row_J_start, m)
        w.row_slot, w.row_order = _integers(w.row_slot, m), _integers(w.row_order, m)
        w.row_gamma, w.row_compliance = _floats(w.row_gamma, m), _floats(w.row_compliance, m)
        w.row_s, w.row_ds = _floats(w.row_s, m), _floats(w.row_ds, m)
        w.row_first, w.row_velocity, w.row_count = (
            _pairs(w.row_first, m),
            _pairs(w.row_velocity, m),
            _pairs(w.row_count, m),
        )
    w.row_J = _floats(w.row_J, row_entries)
    if len(w.edge_a) < contacts + rows:
        w.edge_a, w.edge_b = _integers(w.edge_a, contacts + rows), _integers(w.edge_b, contacts + rows)


@njit(cache=True)
def forget(w: Any) -> None:
    """Invalidates pattern and factors, for cliques whose sizes change but not their number and sum; clears changes."""
    w.pattern = 0
    w.change[:] = 0.0
    w.change_before[:] = 0.0


class Structure(NamedTuple):
    """Cliques, their masses and velocities."""

    dof_start: np.ndarray
    A_start: np.ndarray
    A: np.ndarray
    v_star: np.ndarray
    v: np.ndarray


class TermInputs(NamedTuple):
    """Inputs of one family of terms: cliques a and b, start in J and parameters of each entry, and J."""

    a: np.ndarray
    b: np.ndarray
    start: np.ndarray
    J: np.ndarray
    parameters: np.ndarray


class Inputs(NamedTuple):
    """Input arrays of a workspace."""

    structure: Structure
    contacts: TermInputs
    rows: TermInputs
    addresses: np.ndarray


class Outputs(NamedTuple):
    """Output arrays of a workspace; see `FLOAT_TABLES` and `INTEGER_VECTORS`."""

    gamma: np.ndarray
    vc: np.ndarray
    derived: np.ndarray
    candidate: np.ndarray
    row_gamma: np.ndarray


class Statistics(NamedTuple):
    """Statistics of the last step; `orderings` counts since the start."""

    status: int
    iterations: int
    factorizations: int
    orderings: int
    residual: float
    islands: int
    relative_tolerance: float


@njit(cache=True)
def inputs(w: Any) -> Inputs:
    """Returns views of the input arrays, after `reserve`."""
    return Inputs(
        Structure(w.dof_start, w.A_start, w.A, w.v_star, w.v),
        TermInputs(w.contact_a, w.contact_b, w.J_start, w.J, w.contact_parameters),
        TermInputs(w.row_a, w.row_b, w.row_J_start, w.row_J, w.row_parameters),
        w.addresses,
    )


@njit(cache=True)
def outputs(w: Any) -> Outputs:
    """Returns views of the output arrays, after a solve."""
    return Outputs(w.gamma, w.vc, w.derived, w.candidate, w.row_gamma)


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
    """Sets the scalar parameters of a problem."""
    w.approximation, w.law, w.period, w.stiction_tolerance = approximation, law, period, stiction_tolerance
    w.sigma, w.near_rigid = sigma, near_rigid
    w.relative_tolerance, w.absolute_tolerance = relative_tolerance, absolute_tolerance
    w.max_iterations, w.polish = max_iterations, 1 if polish else 0


@njit(cache=True)
def statistics(w: Any) -> Statistics:
    """Returns statistics of the last step."""
    return Statistics(
        w.status, w.iterations, w.factorizations, w.orderings, w.residual, w.islands, w.relative_tolerance
    )


@njit(cache=True)
def load_of(w: Any) -> int:
    """Returns the number of contacts that took part in the last step: all but the idle ones."""
    return w.candidates
