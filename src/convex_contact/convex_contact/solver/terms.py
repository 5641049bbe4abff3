"""Terms of the cost beside the momentum: potentials of velocities J v + b, by families.

A family is a module with the functions below for its own entries of the workspace. A function with the argument
`island` acts on one island. `contact_terms` and `row_terms` are the families; a new family is a new module and a line
in each function here.

==================  ==================================================================================================
prepare_terms       derived numbers at the guess; marks the cliques of the family's entries
couplings_of        entries of the family and the cliques that they couple, for `pattern`
update              velocities and impulses from v
add_momentum        j += J^T gamma
add_rounding        bound += effect of rounding of v on J^T gamma
add_hessian         H += J^T G J
keep_branches       whether J^T G J of an island that is one tree has the zeros of its branches
project             J dv
subtract_slope      impulses at v + alpha dv; slope and curvature of the cost along dv
advance             velocities += alpha J dv
==================  ==================================================================================================
"""

from __future__ import annotations

from typing import Any

from numba import njit

from convex_contact.solver import contact_terms, row_terms
from convex_contact.solver.pattern import list_by_island, list_couplings, match_couplings


@njit(inline="always")  # no compilation and linking of its own
def prepare_terms(w: Any) -> None:
    """Prepares the terms of all families."""
    contact_terms.prepare_terms(w)
    row_terms.prepare_terms(w)


@njit(inline="always")  # no compilation and linking of its own
def match_entries(w: Any) -> int:
    """Returns the number of couplings of two cliques, -1 if H has no block for one of them."""
    pairs = match_couplings(w, contact_terms.couplings_of(w))
    more = match_couplings(w, row_terms.couplings_of(w)) if pairs >= 0 else -1
    return pairs + more if more >= 0 else -1


@njit(inline="always")  # no compilation and linking of its own
def list_edges(w: Any) -> int:
    """Lists the couplings of two cliques; returns their number."""
    return list_couplings(w, row_terms.couplings_of(w), list_couplings(w, contact_terms.couplings_of(w), 0))


@njit(inline="always")  # no compilation and linking of its own
def sort_by_island(w: Any) -> None:
    """Lists the entries of all families island by island."""
    list_by_island(w, contact_terms.couplings_of(w))
    list_by_island(w, row_terms.couplings_of(w))


@njit(inline="always")  # no compilation and linking of its own
def update(w: Any, island: int) -> None:
    """Computes velocities and impulses of an island from v."""
    contact_terms.update(w, island)
    row_terms.update(w, island)


@njit(inline="always")  # no compilation and linking of its own
def add_momentum(w: Any, island: int) -> None:
    """Adds J^T gamma of an island to j."""
    contact_terms.add_momentum(w, island)
    row_terms.add_momentum(w, island)


@njit(inline="always")  # no compilation and linking of its own
def add_rounding(w: Any, island: int) -> None:
    """Adds the effect of rounding of v on J^T gamma of an island to `dv`."""
    contact_terms.add_rounding(w, island)
    row_terms.add_rounding(w, island)


@njit(inline="always")  # no compilation and linking of its own
def add_hessian(w: Any, island: int) -> None:
    """Adds J^T G J of an island to H."""
    contact_terms.add_hessian(w, island)
    row_terms.add_hessian(w, island)


@njit(inline="always")  # no compilation and linking of its own
def keep_branches(w: Any, island: int) -> bool:
    """Returns whether J^T G J of an island that is one branched tree has the zeros of its branches."""
    return contact_terms.keep_branches(w, island) and row_terms.keep_branches(w, island)  # type: ignore[no-any-return]


@njit(inline="always")  # no compilation and linking of its own
def project(w: Any, island: int) -> None:
    """Computes J dv of an island."""
    contact_terms.project(w, island)
    row_terms.project(w, island)


@njit(inline="always")  # no compilation and linking of its own
def advance(w: Any, island: int, alpha: float) -> None:
    """Adds alpha J dv to the velocities of an island."""
    contact_terms.advance(w, island, alpha)
    row_terms.advance(w, island, alpha)


@njit(inline="always")  # no compilation and linking of its own
def subtract_slope(w: Any, island: int, alpha: float, curved: bool, f: float, h: float) -> tuple[float, float]:
    """Computes impulses at v + alpha dv; adds their parts to the slope f and, if curved, to the curvature h."""
    f, h = contact_terms.subtract_slope(w, island, alpha, curved, f, h)
    return row_terms.subtract_slope(w, island, alpha, curved, f, h)  # type: ignore[no-any-return]
