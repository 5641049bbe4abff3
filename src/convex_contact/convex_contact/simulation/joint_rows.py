"""The rows of all joint laws and joint limits of a world, for every step."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from convex_contact.model.arrays import JointRowArrays, JointRowRecord, WorldRecord
from convex_contact.model.joints import JointActuator, JointLaw, JointMotion, SpeedLimit
from convex_contact.problem.constraints import Constraint, GivenRows, Rows
from convex_contact.simulation.dynamics import WorldDynamics
from convex_contact.simulation.joint_law_tables import JointLawTables, write_joint_numbers
from convex_contact.simulation.joint_limits import JointLimits
from convex_contact.solver.workspace import TermInputs

_U = np.uintp  # Numba tests at each access whether a signed index is negative
#: a limit is in the problem if the joint would reach it at this multiple of its speed, present or without contact
REACH = 2.0


class _Row(NamedTuple):
    """A row of the Jacobian.

    Attributes:
        tree: number of the tree.
        entries: entries at the velocities of the tree.
        velocity, sign: index of the velocity and sign of a limit, which may be left out; -1 and 0 in other rows.
    """

    tree: int
    entries: np.ndarray
    velocity: int = -1
    sign: float = 0.0


class JointRows:
    """Rows of all joint laws and joint limits of a world; their Jacobian is constant.

    A limit of position or speed that a joint does not come near has no impulse. Such rows are left out and checked at
    the solution: as their potential is flat there, it is the solution with them, too.

    Args:
        d: the world in motion.
        laws: motions, actuators, couplers.
        limits: of joints; None: without limits. Limits of joints with prescribed motion are left out.

    Attributes:
        arrays: all rows, and the values from which their numbers are made.
        record: these arrays for kernels; None in a world without trees.
    """

    def __init__(self, d: WorldDynamics, laws: Sequence[JointLaw], limits: JointLimits | None) -> None:
        self._nv = d.nv
        tree_v = d.arrays.tree_v
        self._laws: list[tuple[JointLaw | SpeedLimit, list[int]]] = []  # each with the coordinates of its row
        rows: list[_Row] = []
        for law in (*laws, *_speed_limits(laws)):
            row, coordinates = _row_of_law(d, law)
            rows.append(row)
            self._laws.append((law, coordinates))
        self._rows_of = [1] * len(rows)
        prescribed = {coordinates[0] for law, coordinates in self._laws if isinstance(law, JointMotion)}
        bounds: list[tuple[int, float, float]] = []
        for index, coordinate, lower, upper in _limits(limits):
            if coordinate in prescribed:
                continue
            finite = [(sign, bound) for bound, sign in ((lower, 1.0), (upper, -1.0)) if math.isfinite(bound)]
            rows += [_row_of_limit(tree_v, index, sign) for sign, _ in finite]
            bounds += [(coordinate, sign, bound) for sign, bound in finite]
            self._rows_of.append(len(finite))
        self._columns = [slice(int(tree_v[row.tree]), int(tree_v[row.tree + 1])) for row in rows]
        self._tables = JointLawTables(self._laws)
        count, ends = len(rows), np.cumsum([0, *(len(row.entries) for row in rows)])
        optional = np.array([(row.velocity, row.sign) for row in rows], dtype=np.float64).reshape(-1, 2)
        self.arrays = JointRowArrays(
            **self._tables.arrays,
            bound=np.array(bounds, dtype=np.float64).reshape(-1, 3),
            tree=np.array([row.tree for row in rows], dtype=np.int64),
            second_tree=np.full(count, -1, dtype=np.int64),
            start=ends.astype(np.int64),
            J=np.concatenate([*(row.entries for row in rows), np.zeros(0)]),
            parameters=np.zeros((count, 6)),
            optional=optional,
            idle=np.zeros((np.count_nonzero(optional[:, 0] >= 0.0), 3)),
            idle_count=np.zeros(1, dtype=np.int64),
        )
        a = self.arrays
        self._chosen = TermInputs(*(x.copy() for x in (a.tree, a.second_tree, a.start, a.J, a.parameters)))
        self.record = a.record if d.world.trees else None

    @property
    def laws(self) -> list[JointLaw | SpeedLimit]:
        """Laws of the first rows, one for each; the rows of joint limits follow."""
        return [law for law, _ in self._laws]

    def __len__(self) -> int:
        return len(self.arrays.tree)

    @property
    def idle(self) -> np.ndarray:
        """Limits that are left out of the step: index of the velocity, sign, target velocity (n, 3)."""
        return self.arrays.idle[: int(self.arrays.idle_count[0])]

    @property
    def evaluated(self) -> tuple[Collection[Any], ...]:
        """Laws and functions of time that :meth:`evaluate` evaluates; the collections stay the same objects."""
        tables = self._tables
        return tables.others, tables.timed, tables.actuators_by_python

    def copies(self) -> list[np.ndarray]:
        """Copies all arrays that steps change, for :meth:`restore`; the numbers of motors follow their attributes."""
        return [array.copy() for array in self._changing()]

    def restore(self, copies: list[np.ndarray]) -> None:
        """Restores the arrays that :meth:`copies` returned."""
        for array, values in zip(self._changing(), copies, strict=True):
            array[:] = values

    def _changing(self) -> tuple[np.ndarray, ...]:
        return self.arrays.parameters, self.arrays.idle, self.arrays.idle_count

    def evaluate(self, d: WorldDynamics) -> None:
        """Writes the numbers in the coming step that Python computes.

        Raises:
            ValueError: a function of time gave an impossible number.
        """
        self._tables.evaluate(d.arrays.q, d.time, d.period, self.arrays.parameters)

    def flat(self, d: WorldDynamics, *, everything: bool = False) -> TermInputs:
        """Returns the rows of the coming step for `step_inputs.load_rows`, after `WorldDynamics.prepare`.

        Args:
            d: the world in motion.
            everything: include all limits of position and speed.
        """
        self.evaluate(d)
        chosen = self._chosen
        m = choose_rows(d.arrays.record, self.record, d.period, everything, chosen, 0)
        n = chosen.start[m]
        return TermInputs(chosen.a[:m], chosen.b[:m], chosen.start[: m + 1], chosen.J[:n], chosen.parameters[:m])

    def constraints(self) -> list[Constraint]:
        """Returns the rows of the last step with all limits, one constraint for each law and each joint."""
        found: list[Constraint] = []
        row, every = 0, self.arrays
        for count in self._rows_of:
            jacobian = np.zeros((count, self._nv))
            for i in range(count):
                jacobian[i, self._columns[row + i]] = every.J[every.start[row + i] : every.start[row + i + 1]]
            found.append(GivenRows(Rows(jacobian, *every.parameters[row : row + count].T)))
            row += count
        return found


def _row_of_law(d: WorldDynamics, law: JointLaw | SpeedLimit) -> tuple[_Row, list[int]]:
    """Returns the row of a law, and the indices of its coordinates."""
    tree_q, tree_v = d.arrays.tree_q, d.arrays.tree_v
    model = d.world.trees[law.tree].model.model
    entries, coordinates = np.zeros(tree_v[law.tree + 1] - tree_v[law.tree]), []
    for name, coefficient in law.terms:
        joint = model.joints[model.getJointId(name)]
        entries[joint.idx_v] = coefficient
        coordinates.append(int(tree_q[law.tree]) + joint.idx_q)
    row = _Row(law.tree, entries)
    if isinstance(law, SpeedLimit):
        row = row._replace(velocity=int(tree_v[law.tree] + np.flatnonzero(entries)[0]), sign=-law.sign)
    return row, coordinates


def _row_of_limit(tree_v: np.ndarray, index: int, sign: float) -> _Row:
    """Returns the row of a limit of position at the velocity of an index."""
    tree = int(np.searchsorted(tree_v, index, side="right")) - 1
    entries = np.zeros(tree_v[tree + 1] - tree_v[tree])
    entries[index - tree_v[tree]] = sign
    return _Row(tree, entries, index, sign)


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def choose_rows(
    w: WorldRecord, rows: JointRowRecord, period: float, everything: bool, chosen: TermInputs, m: int
) -> int:  # fmt: skip
    """Writes the rows of laws and of the limits that may act in a step; the other limits go to `idle`.

    A limit acts if its row's velocity s is below the row's target: v^ = -g/(2 dt) of the gap g to a bound, or the
    limit of the speed. What Python computes (`JointRows.evaluate`) is already in `rows`.

    Args:
        w: the world, prepared.
        rows: all rows of joints.
        period: dt [s].
        everything: include all limits of position and speed.
        chosen: output, the rows from number m on; with room for all of them.
        m: number of rows before them.

    Returns:
        Number of rows, with those before them.
    """
    a, b, start, J, parameters, optional, idle = (
        rows.tree, rows.second_tree, rows.start, rows.J, rows.parameters, rows.optional, rows.idle
    )  # fmt: skip
    write_joint_numbers(w.q, period, rows)
    v, v_star = w.v, w.v_star
    numbers, entries, ends = chosen.parameters, chosen.J, chosen.start
    if m == 0:
        ends[0] = 0
    n, left = _U(ends[m]), 0
    for i in range(len(a)):
        k, sign = int(optional[i, 0]), optional[i, 1]
        if k >= 0 and not everything:
            speed = abs(v[k]) + abs(v_star[k] - v[k])
            if parameters[i, 1] < -REACH * speed:
                idle[left, 0], idle[left, 1], idle[left, 2] = k, sign, parameters[i, 1]
                left += 1
                continue
        chosen.a[m], chosen.b[m] = a[i], b[i]
        for x in range(6):
            numbers[m, x] = parameters[i, x]
        first, count = _U(start[i]), _U(start[i + 1] - start[i])
        for x in range(count):
            entries[n + x] = J[first + x]
        n += count
        m += 1
        ends[m] = n
    rows.idle_count[0] = left
    return m


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def acts(rows: JointRowRecord, velocity: np.ndarray) -> bool:
    """Returns whether a limit that was left out of the step acts at the velocity (nv,) of its end."""
    idle, acting = rows.idle, False
    for k in range(rows.idle_count[0]):
        acting = acting or idle[k, 1] * velocity[int(idle[k, 0])] < idle[k, 2]
    return acting


def _speed_limits(laws: Sequence[JointLaw]) -> list[SpeedLimit]:
    """Returns the two sides of the velocity limits of all motors that have one."""
    motors = [law for law in laws if isinstance(law, JointActuator) and law.velocity_limit < math.inf]
    return [SpeedLimit(motor, sign) for motor in motors for sign in (1.0, -1.0)]


def _limits(limits: JointLimits | None) -> list[tuple[int, int, float, float]]:
    if limits is None:
        return []
    columns = (limits.velocity, limits.coordinate, limits.lower, limits.upper)
    return list(zip(*(column.tolist() for column in columns), strict=True))
