"""Constraint rows between the poses and twists of two bodies."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import TYPE_CHECKING

import numpy as np

from convex_contact.problem.constraints import Constraint, GivenRows, Rows
from haptic_files.moved_modules import renamed

if TYPE_CHECKING:
    from convex_contact.simulation.dynamics import WorldDynamics


def frame_of(d: WorldDynamics, body: int | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns rotation (3, 3) and position (3,) of a body's pose, and the Jacobian (6, nv + 1) of its twist there.

    The last column is the twist of a body that no tree moves. None stands for the world.
    """
    J = np.zeros((6, d.nv + 1))
    if body is None:
        return np.eye(3), np.zeros(3), J
    a = d.arrays
    pose, tree, link = a.body_pose[body], a.body_tree[body], a.body_link[body]
    if tree < 0:
        J[:, -1] = a.body_twist[body]
    else:
        i, j = a.tree_v[tree], a.tree_v[tree + 1]
        J[:, i:j] = np.eye(6) if link < 0 else a.link_jacobian[link, :, : j - i]
    return pose[:9].reshape(3, 3), pose[9:], J


def spring_rows(
    difference: np.ndarray,
    error: np.ndarray,
    *,
    period: float,
    stiffness: float | np.ndarray,
    relaxation_time: float,
    near_rigid: float,
) -> Constraint:
    """Returns near-rigid spring rows that pull errors to zero.

    Args:
        difference: Jacobian of the errors (m, nv + 1); the last column is the rate that does not depend on trees.
        error: position errors (m,) [m or rad].
        period: dt [s].
        stiffness: of all rows or of each (m,) [N/m or N m/rad].
        relaxation_time: of the springs [s].
        near_rigid: beta of the near-rigid limit; 0: none.
    """
    dt_plus_tau = period + relaxation_time
    target = -error / dt_plus_tau - difference[:, -1]
    compliance = 1.0 / (period * dt_plus_tau * np.broadcast_to(stiffness, error.shape))
    moves = difference[:, :-1].any(axis=1)  # mechanisms in a plane do not move across it
    m = int(moves.sum())
    limit, infinite = np.full(m, near_rigid), np.full(m, math.inf)
    return GivenRows(
        Rows(difference[moves, :-1], np.zeros(m), target[moves], compliance[moves], limit, -infinite, infinite)
    )


def with_impulses(constraint: Constraint, rates: np.ndarray, impulse: np.ndarray, period: float) -> Constraint:
    """Returns the rows of a constraint, followed by rows with given impulses.

    Args:
        constraint: the constraint.
        rates: rows of the velocities on which the impulses act; the last column is the part that no tree moves,
            shape (k, nv + 1).
        impulse: impulses [N s or N m s], shape (k,).
        period: dt [s].
    """
    acts = (impulse != 0.0) & rates[:, :-1].any(axis=1)
    k, rows = int(acts.sum()), constraint.rows(rates.shape[1] - 1, period)
    zero, given = np.zeros(k), impulse[acts]
    more = Rows(rates[acts, :-1], rates[acts, -1], zero, np.ones(k), zero, given, given)
    return GivenRows(Rows(*(np.concatenate([getattr(rows, f.name), getattr(more, f.name)]) for f in fields(Rows))))


__getattr__ = renamed(__name__, {"held_rows": "spring_rows"})
