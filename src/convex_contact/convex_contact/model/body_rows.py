"""Rows between the poses and twists of two bodies: their arrays for compiled code, and rows of one's own."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from convex_contact.model.arrays import BodyRowArrays, WorldArrays
from convex_contact.model.body_joint_kernels import BALL_MOTOR, GEAR
from convex_contact.model.body_row_kernels import TREES
from convex_contact.problem.constraints import Constraint, GivenRows, Rows
from convex_contact.problem.row_law import spring_compliance
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
    compliance = spring_compliance(period, np.broadcast_to(stiffness, error.shape), dt_plus_tau)
    moves = difference[:, :-1].any(axis=1)  # mechanisms in a plane do not move across it
    m = int(moves.sum())
    limit, infinite = np.full(m, near_rigid), np.full(m, math.inf)
    return GivenRows(
        Rows(difference[moves, :-1], np.zeros(m), target[moves], compliance[moves], limit, -infinite, infinite)
    )


class BodyRowLists:
    """Joints between bodies, gears and motors in the order of their rows, until their arrays are made.

    A joint that a gear or a motor moves as well is there once.
    """

    def __init__(self) -> None:
        self._joints: list[dict[str, Any]] = []
        self._numbers: dict[int, int] = {}
        self._items: list[tuple[int, int, int, tuple[int, ...], int]] = []  # kind, number, joint, joints, rows
        self._gears: list[tuple[int, int, int, int]] = []
        self._motors = 0

    def joint(self, described: object, **values: Any) -> int:
        """Returns the number of a joint, which is added if it is new.

        Args:
            described: description of the joint, by which it is known again.
            **values: row of each array of a joint in `arrays.BODY_ROW_TABLE`, by its name; not `effort`.
        """
        if id(described) not in self._numbers:
            self._numbers[id(described)] = len(self._joints)
            self._joints.append(values)
        return self._numbers[id(described)]

    def add_springs(self, kind: int, joint: int, rows: int) -> None:
        """Adds the springs of a joint or a weld, and the applied effort of a joint.

        Args:
            kind: kind of `body_joint_kernels`.
            joint: number of the joint.
            rows: number of rows at most.
        """
        self._items.append((kind, 0, joint, (joint,), rows))

    def add_gear(self, first: int, second: int, teeth: tuple[int, int]) -> int:
        """Adds a gear between two hinges, by their numbers; the second number of teeth is negative if internal.

        Returns:
            Number of the gear.
        """
        self._items.append((GEAR, len(self._gears), first, (first, second), 1))
        self._gears.append((first, second, *teeth))
        return len(self._gears) - 1

    def add_motor(self, kind: int, joint: int) -> int:
        """Adds a motor of a kind of `body_joint_kernels` to a joint; returns the motor's number."""
        self._items.append((kind, self._motors, joint, (joint,), 9 if kind == BALL_MOTOR else 3))
        self._motors += 1
        return self._motors - 1

    def arrays(self, a: WorldArrays) -> BodyRowArrays:
        """Returns the arrays for a world's kernels."""
        joints = len(self._joints)
        body = np.array([values["body"] for values in self._joints], dtype=np.int64).reshape(-1, 2)
        tree, room = np.full((len(self._items), TREES), -1, dtype=np.int64), np.zeros(2, dtype=np.int64)
        for item, (_, _, _, of, rows) in zip(tree, self._items, strict=True):
            bodies = body[list(of)].ravel()
            trees = np.unique(a.body_tree[bodies[bodies >= 0]])
            trees = trees[trees >= 0]
            item[: len(trees)] = trees
            room += rows, rows * int((a.tree_v[trees + 1] - a.tree_v[trees]).sum())
        columns = {"axes": 9, "relative": 9, "spring": 5}
        return BodyRowArrays(
            item=np.array([item[:3] for item in self._items], dtype=np.int64).reshape(-1, 3),
            tree=tree,
            body=body,
            **{
                name: np.array([np.ravel(values[name]) for values in self._joints], dtype=float).reshape(-1, count)
                for name, count in columns.items()
            },
            point=np.array([values["point"] for values in self._joints], dtype=float).reshape(-1, 2, 3),
            at_a=np.array([values["at_a"] for values in self._joints], dtype=np.int64),
            effort=np.zeros((joints, 3)),
            gear=np.array(self._gears, dtype=np.int64).reshape(-1, 4),
            motor=np.full((self._motors, 14), math.nan),
            frame=np.zeros((joints, 9)),
            displacement=np.zeros((joints, 3)),
            rotation=np.zeros((joints, 9)),
            lever=np.zeros((joints, 2, 3)),
            scratch=np.zeros(13),
            source=np.full((room[0], 2), -1, dtype=np.int64),
            direction=np.zeros((room[0], 2, 3)),
            room=room,
            count=np.zeros(3, dtype=np.int64),
        )


__getattr__ = renamed(__name__, {"held_rows": "spring_rows"})
