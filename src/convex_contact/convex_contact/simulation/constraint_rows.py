"""Rows of constraints for one step, in the form of `compiled_step.load_rows`.

The cliques of the solver are the world's trees; parameters are b, v^, R, beta, lower, upper.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from convex_contact.problem.constraints import ROW_FIELDS, Constraint, checked_rows
from convex_contact.simulation.dynamics import WorldDynamics
from convex_contact.solver.workspace import TermInputs

NO_ROWS = TermInputs(
    np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(1, np.int64), np.zeros(0), np.zeros((0, 6))
)  # fmt: skip


def flat_rows(d: WorldDynamics, constraints: Sequence[Constraint]) -> TermInputs | None:
    """Returns the rows of constraints; None if there are none.

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
        return None
    return TermInputs(np.array(a), np.array(b), np.array(ends), np.concatenate(entries), np.array(parameters))


def joined_rows(first: TermInputs, second: TermInputs) -> TermInputs:
    """Joins two lists of rows."""
    shifted = second._replace(start=first.start[-1] + second.start[1:])
    return TermInputs(*(np.concatenate(pair) for pair in zip(first, shifted, strict=True)))
