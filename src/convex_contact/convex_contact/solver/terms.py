"""Terms of the cost beside the momentum: potentials of velocities J v + b, by families.

A family is a module with the functions below for its own entries of the workspace. A function with the argument
`island` acts on one island. `families` lists the families: a new family is a new module and its name there. Its arrays
are fields of `workspace`.

==================  ==================================================================================================
mark_needed_masses  marks in `touched` the cliques whose inverse masses `prepare_terms` needs
prepare_terms       derived numbers at v0; marks the cliques of the family's entries
couplings_of        entries of the family and the cliques that they couple, for `pattern`
update              velocities and impulses from v
add_momentum        j += J^T gamma
add_rounding        bound += effect of rounding of v on J^T gamma
add_hessian         H += J^T G J
keep_branches       whether J^T G J of an island that is one tree has the zeros of its branches
project             J dv
subtract_slope      impulses at v + alpha dv; slope and curvature of the cost along dv
advance             velocities += alpha J dv
wake                adds entries that were left out as idle and are not idle at v; whether there are any
soften              limits the stiffness of an island's entries for a better guess; number of stiffer entries
start_hessian       the next G is the Hessian itself, not that of a primal-dual step
==================  ==================================================================================================

The functions of this module do the same for all families. Each one is combined from those of the families, two at a
time. Numba inserts the combined functions into their callers, so that the code is that of direct calls.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

from numba import njit

from convex_contact.solver import families
from convex_contact.solver.pattern import list_by_island, list_couplings, match_couplings


def _call_both(first: Any, second: Any) -> Any:
    """Returns a function of the workspace that calls the first, then the second."""

    @njit(inline="always")  # no compilation and linking of its own, like those below
    def both(w: Any) -> None:
        first(w)
        second(w)

    return both


def _call_both_on_island(first: Any, second: Any) -> Any:
    """Returns a function of an island that calls the first, then the second."""

    @njit(inline="always")
    def both(w: Any, island: int) -> None:
        first(w, island)
        second(w, island)

    return both


def _advance_both(first: Any, second: Any) -> Any:
    """Returns `advance` of two families."""

    @njit(inline="always")
    def advance_both(w: Any, island: int, alpha: float) -> None:
        first(w, island, alpha)
        second(w, island, alpha)

    return advance_both


def _both_keep_branches(first: Any, second: Any) -> Any:
    """Returns `keep_branches` of two families."""

    @njit(inline="always")
    def both_keep_branches(w: Any, island: int) -> bool:
        return first(w, island) and second(w, island)  # type: ignore[no-any-return]

    return both_keep_branches


def _subtract_both_slopes(first: Any, second: Any) -> Any:
    """Returns `subtract_slope` of two families."""

    @njit(inline="always")
    def subtract_both_slopes(
        w: Any, island: int, alpha: float, curved: bool, f: float, h: float
    ) -> tuple[float, float]:
        f, h = first(w, island, alpha, curved, f, h)
        return second(w, island, alpha, curved, f, h)  # type: ignore[no-any-return]

    return subtract_both_slopes


def _count_both(first: Any, second: Any) -> Any:
    """Returns a function with the sum of two counts, -1 if one of them is -1; the second is then not called."""

    @njit(inline="always")
    def count_both(w: Any) -> int:
        pairs = first(w)
        more = second(w) if pairs >= 0 else -1
        return pairs + more if more >= 0 else -1

    return count_both


def _wake_both(first: Any, second: Any) -> Any:
    """Returns `wake` of two families."""

    @njit(inline="always")
    def wake_both(w: Any) -> bool:
        one = first(w)
        other = second(w)
        return one or other  # type: ignore[no-any-return]

    return wake_both


def _soften_both(first: Any, second: Any) -> Any:
    """Returns `soften` of two families."""

    @njit(inline="always")
    def soften_both(w: Any, island: int, level: float) -> int:
        return first(w, island, level) + second(w, island, level)  # type: ignore[no-any-return]

    return soften_both


def _append_both(first: Any, second: Any) -> Any:
    """Returns a function that appends the edges of two families."""

    @njit(inline="always")
    def append_both(w: Any, edges: int) -> int:
        return second(w, first(w, edges))  # type: ignore[no-any-return]

    return append_both


def _count_entries_of(couplings_of: Any) -> Any:
    """Returns `count_entries` of one family."""

    @njit(inline="always")
    def count(w: Any) -> int:
        return couplings_of(w).entries  # type: ignore[no-any-return]

    return count


def _match_entries_of(couplings_of: Any) -> Any:
    """Returns `match_entries` of one family."""

    @njit(inline="always")
    def match(w: Any) -> int:
        return match_couplings(w, couplings_of(w))  # type: ignore[no-any-return]

    return match


def _append_edges_of(couplings_of: Any) -> Any:
    """Returns `append_edges` of one family."""

    @njit(inline="always")
    def append(w: Any, edges: int) -> int:
        return list_couplings(w, couplings_of(w), edges)  # type: ignore[no-any-return]

    return append


def _sort_by_island_of(couplings_of: Any) -> Any:
    """Returns `sort_by_island` of one family."""

    @njit(inline="always")
    def sort(w: Any) -> None:
        list_by_island(w, couplings_of(w))

    return sort


def _combine(name: str, two: Callable[[Any, Any], Any], one: Callable[[Any], Any] = lambda function: function) -> Any:
    """Returns a function of all families: `two` combines two of them, each made by `one` from the family's own."""
    return reduce(two, [one(getattr(family, name)) for family in families.FAMILIES])


#: (w) marks in `touched` the cliques whose inverse masses the terms need
mark_needed_masses = _combine("mark_needed_masses", _call_both)
#: (w) prepares the terms
prepare_terms = _combine("prepare_terms", _call_both)
#: (w) returns the number of entries
count_entries = _combine("couplings_of", _count_both, _count_entries_of)
#: (w) finds the blocks of H; returns the number of couplings of two cliques, -1 if H has no block for one of them
match_entries = _combine("couplings_of", _count_both, _match_entries_of)
#: (w, edges) appends the couplings of two cliques to the first edges; returns the new number of edges
append_edges = _combine("couplings_of", _append_both, _append_edges_of)
#: (w) lists the entries island by island
sort_by_island = _combine("couplings_of", _call_both, _sort_by_island_of)
#: (w, island) computes velocities and impulses from v
update = _combine("update", _call_both_on_island)
#: (w, island) adds J^T gamma to j
add_momentum = _combine("add_momentum", _call_both_on_island)
#: (w, island) adds the effect of rounding of v on J^T gamma to `dv`
add_rounding = _combine("add_rounding", _call_both_on_island)
#: (w, island) adds J^T G J to H
add_hessian = _combine("add_hessian", _call_both_on_island)
#: (w, island) returns whether J^T G J of an island that is one branched tree has the zeros of its branches
keep_branches = _combine("keep_branches", _both_keep_branches)
#: (w, island) computes J dv
project = _combine("project", _call_both_on_island)
#: (w, island, alpha, curved, f, h) computes impulses at v + alpha dv; returns f and h with their parts of the slope
#: and, if curved, of the curvature
subtract_slope = _combine("subtract_slope", _subtract_both_slopes)
#: (w, island, alpha) adds alpha J dv to the velocities
advance = _combine("advance", _advance_both)
#: (w) adds idle entries that are not idle at v; returns whether there are any
wake = _combine("wake", _wake_both)
#: (w, island, level) limits stiffnesses to level effective masses per dt^2; returns the number of stiffer entries
soften = _combine("soften", _soften_both)
#: (w, island) makes the next H the Hessian itself
start_hessian = _combine("start_hessian", _call_both_on_island)
