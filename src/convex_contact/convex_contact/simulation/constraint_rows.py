"""Rows of constraints that are given for one step, in the flat form of `compiled_step.load_rows`.

A flat list of m rows is a tuple of: first tree (m,) and second tree (m,), -1 for none, of each row; where the entries
of each row end (m + 1,); the entries of the rows' Jacobians in these trees; and b, v^, R, beta, lower, upper (m, 6).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from convex_contact.problem.constraints import Constraint
from convex_contact.simulation.dynamics import WorldDynamics

FlatRows = tuple[np.ndarray, ...]

NO_ROWS: FlatRows = (
    np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(1, np.int64), np.zeros(0), np.zeros((0, 6))
)  # fmt: skip
ROW_FIELDS = ("bias", "target", "compliance", "near_rigid", "lower", "upper")


def flat_rows(d: WorldDynamics, constraints: Sequence[Constraint]) -> FlatRows | None:
    """Returns the rows of constraints; None if there are none.

    Raises:
        ValueError: A row couples more than two trees.
    """
    tree_v = d.arrays.tree_v
    owner = np.repeat(np.arange(len(tree_v) - 1), np.diff(tree_v))
    a, b, ends, entries, parameters = [], [], [0], [], []
    for constraint in constraints:
        rows = constraint.rows(d.nv, d.period)
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
    return np.array(a), np.array(b), np.array(ends), np.concatenate(entries), np.array(parameters)


def joined_rows(first: FlatRows, second: FlatRows) -> FlatRows:
    """Returns one list of both."""
    end = first[2][-1] + second[2][1:]
    return tuple(np.concatenate(pair) for pair in zip(first, (*second[:2], end, *second[3:]), strict=True))
