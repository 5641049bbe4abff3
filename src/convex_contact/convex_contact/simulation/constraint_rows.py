"""Rows of constraints for one step, in the form of `step_inputs.load_rows`.

The cliques of the solver are the world's trees; parameters are b, v^, R, beta, lower, upper.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from convex_contact.problem.constraints import ROW_FIELDS, Constraint, GivenRows, Rows, checked_rows
from convex_contact.simulation.dynamics import WorldDynamics
from convex_contact.solver.workspace import TermInputs, inputs

NO_ROWS = TermInputs(
    np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(1, np.int64), np.zeros(0), np.zeros((0, 6))
)  # fmt: skip


def flat_rows(d: WorldDynamics, constraints: Sequence[Constraint]) -> TermInputs:
    """Returns the rows of constraints.

    Raises:
        ValueError: a row couples more than two trees, or has another number of columns than there are velocities.
    """
    tree_v = d.arrays.tree_v
    owner = np.repeat(np.arange(len(tree_v) - 1), np.diff(tree_v))
    a, b, ends, entries, parameters = [], [], [0], [], []
    for constraint in constraints:
        rows = checked_rows(constraint, d.nv, d.period)
        for i, row in enumerate(rows.jacobian):
            trees = np.unique(owner[row != 0.0])
            if not 1 <= len(trees) <= 2:
                raise ValueError(
                    f"{type(constraint).__name__}: expected rows that couple one tree or two, got {len(trees)}"
                )
            a.append(trees[0])
            b.append(trees[1] if len(trees) > 1 else -1)
            entries += [row[tree_v[t] : tree_v[t + 1]] for t in trees]
            ends.append(sum(len(e) for e in entries))
            parameters.append([getattr(rows, name)[i] for name in ROW_FIELDS])
    if not a:
        return NO_ROWS
    return TermInputs(np.array(a), np.array(b), np.array(ends), np.concatenate(entries), np.array(parameters))


def joined_rows(first: TermInputs, second: TermInputs) -> TermInputs:
    """Joins two lists of rows."""
    if not len(first.a) or not len(second.a):
        return first if len(first.a) else second
    shifted = second._replace(start=first.start[-1] + second.start[1:])
    return TermInputs(*(np.concatenate(pair) for pair in zip(first, shifted, strict=True)))


def dense_rows(d: WorldDynamics, rows: TermInputs, first: int, count: int) -> Rows:
    """Returns some rows, from number `first` on, with the velocities of the whole world as columns."""
    jacobian, tree_v = np.zeros((count, d.nv)), d.arrays.tree_v
    for row, k in zip(jacobian, range(first, first + count), strict=True):
        at = rows.start[k]
        for tree in (rows.a[k], rows.b[k]):
            if tree >= 0:
                i, j = tree_v[tree], tree_v[tree + 1]
                row[i:j], at = rows.J[at : at + j - i], at + j - i
    return Rows(jacobian, *rows.parameters[first : first + count].T.copy())


def constraints_of(d: WorldDynamics, workspace: Any, first: int, count: int) -> list[Constraint]:
    """Returns some rows of the last step, from number `first` on, as a constraint of the dense problem."""
    return [GivenRows(dense_rows(d, inputs(workspace).rows, first, count))] if count else []
