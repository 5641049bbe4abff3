"""The rows of all joint laws and joint limits of a world, for every step."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numba import njit

from convex_contact.model.joints import JointActuator, JointLaw, JointMotion, SpeedLimit
from convex_contact.problem.constraints import Constraint, GivenRows, Rows
from convex_contact.problem.row_numbers import write_joint_numbers
from convex_contact.simulation.dynamics import WorldDynamics
from convex_contact.simulation.joint_limits import JointLimits
from convex_contact.solver.workspace import TermInputs

#: a limit is in the problem if the joint would reach it at so many times the speed that it has, or would have
#: without contact
REACH = 2.0


class JointRows:
    """The rows of all joint laws and joint limits of a world, whose Jacobian never changes.

    A limit of position or speed that a joint does not come near has no impulse. Such rows are left out and looked at
    again at the solution: as their potential is flat there, it is the solution with them, too.

    Args:
        d: The world in motion.
        laws: Motions, actuators, couplers.
        limits: Of joints; None: they do not hold. Those of joints with prescribed motion are left out.

    Attributes:
        idle: Limits that are left out of the step: index of the velocity, sign, target velocity (n, 3).
    """

    def __init__(self, d: WorldDynamics, laws: Sequence[JointLaw], limits: JointLimits | None) -> None:
        self._nv = d.nv
        tree_q, tree_v = d.arrays.tree_q, d.arrays.tree_v
        trees: list[int] = []
        entries: list[np.ndarray] = []
        self._rows_of: list[int] = []
        self._laws: list[tuple[JointLaw | SpeedLimit, list[int]]] = []
        optional: list[tuple[int, float]] = []  # index of the velocity and sign of rows that may be left out, else -1
        prescribed: set[int] = set()
        for law in (*laws, *_speed_limits(laws)):
            model = d.world.trees[law.tree].model.model
            entry, coordinates = np.zeros(tree_v[law.tree + 1] - tree_v[law.tree]), []
            for name, coefficient in law.terms:
                joint = model.joints[model.getJointId(name)]
                entry[joint.idx_v] = coefficient
                coordinates.append(int(tree_q[law.tree]) + joint.idx_q)
            if isinstance(law, JointMotion):
                prescribed.add(coordinates[0])
            self._laws.append((law, coordinates))
            if isinstance(law, SpeedLimit):
                optional.append((int(tree_v[law.tree] + np.flatnonzero(entry)[0]), -law.sign))
            else:
                optional.append((-1, 0.0))
            trees.append(law.tree)
            entries.append(entry)
            self._rows_of.append(1)
        bounds: list[tuple[int, float, float]] = []
        for index, coordinate, lower, upper in _limits(limits):
            if coordinate in prescribed:
                continue
            tree = int(np.searchsorted(tree_v, index, side="right")) - 1
            rows = [(sign, bound) for bound, sign in ((lower, 1.0), (upper, -1.0)) if math.isfinite(bound)]
            for sign, bound in rows:
                entry = np.zeros(tree_v[tree + 1] - tree_v[tree])
                entry[index - tree_v[tree]] = sign
                trees.append(tree)
                entries.append(entry)
                bounds.append((coordinate, sign, bound))
                optional.append((index, sign))
            self._rows_of.append(len(rows))
        ends = np.concatenate([[0], np.cumsum([len(e) for e in entries])]).astype(np.int64)
        count, flat = len(trees), np.concatenate([*entries, np.zeros(0)])
        second = np.full(count, -1, dtype=np.int64)
        self._all = TermInputs(np.array(trees, dtype=np.int64), second, ends, flat, np.zeros((count, 6)))
        self._chosen = TermInputs(*(array.copy() for array in self._all))
        self._columns = [slice(int(tree_v[t]), int(tree_v[t + 1])) for t in trees]
        self._bounds = np.array(bounds, dtype=np.float64).reshape(-1, 3)
        self._optional = np.array(optional, dtype=np.float64).reshape(-1, 2)
        self._idle = np.zeros((np.count_nonzero(self._optional[:, 0] >= 0.0), 3))
        self.idle = self._idle[:0]
        self._motors: list[tuple[int, JointActuator, int]] = []
        self._others: list[tuple[int, JointLaw, list[int]]] = []
        speeds: list[tuple[int, int, int]] = []  # row, motor, sign
        for row, (law, coordinates) in enumerate(self._laws):
            if isinstance(law, JointActuator):
                self._motors.append((row, law, coordinates[0]))
            elif isinstance(law, SpeedLimit):
                number = next(i for i, (_, m, _) in enumerate(self._motors) if m is law.motor)
                speeds.append((row, number, int(law.sign)))
            else:
                self._others.append((row, law, coordinates))
        self._motor_rows = np.array([row for row, _, _ in self._motors], dtype=np.int64)
        self._speeds = np.array(speeds, dtype=np.int64).reshape(-1, 3)
        self._motor_table = np.zeros((len(self._motors), 8))  # coordinate, kp, kd, q_d, v_d, u_0, limits
        for numbers, (_, motor, place) in zip(self._motor_table, self._motors, strict=True):
            numbers[0] = place
            motor.share(numbers[1:])

    @property
    def laws(self) -> list[JointLaw | SpeedLimit]:
        """Those of the first rows, one for each; the rows of joint limits follow."""
        return [law for law, _ in self._laws]

    @property
    def every(self) -> TermInputs:
        """All rows, with the numbers of the last step."""
        return self._all

    def __len__(self) -> int:
        return len(self._all.a)

    def copies(self) -> tuple[list[np.ndarray], int]:
        """All that changes from step to step, for :meth:`restore`: arrays, and the number of idle limits."""
        return [array.copy() for array in self._changing()], len(self.idle)

    def restore(self, copies: tuple[list[np.ndarray], int]) -> None:
        """Takes back what :meth:`copies` gave."""
        saved, idle = copies
        for array, values in zip(self._changing(), saved, strict=True):
            array[:] = values
        self.idle = self._idle[:idle]

    def _changing(self) -> tuple[np.ndarray, ...]:
        return self._all.parameters, *self._chosen, self._idle, self._motor_table

    def flat(self, d: WorldDynamics, *, everything: bool = False) -> TermInputs:
        """The rows of the coming step as `compiled_step.load_rows` takes them, after `WorldDynamics.prepare`.

        Args:
            d: The world in motion.
            everything: With all limits of position and speed.
        """
        a, time, period, numbers = d.arrays, d.time, d.period, self._all.parameters
        for row, law, places in self._others:
            numbers[row] = law.numbers([a.q[i] for i in places], time, period)
        motors = self._motor_table
        if np.isnan(motors.sum()):  # functions of time
            motors = motors.copy()
            for entry, (_, motor, _) in zip(motors, self._motors, strict=True):
                entry[3:7] = [motor.at(name, time) for name in motor.TIMED]
        write_joint_numbers(a.q, period, motors, self._motor_rows, self._speeds, self._bounds, numbers)
        chosen = self._chosen
        m, n = _choose_rows(a.v, a.v_star, self._optional, everything, self._all, chosen, self._idle)
        self.idle = self._idle[: len(numbers) - m]
        return TermInputs(chosen.a[:m], chosen.b[:m], chosen.start[: m + 1], chosen.J[:n], chosen.parameters[:m])

    def constraints(self) -> list[Constraint]:
        """The rows of the last step with all limits, one constraint for each law and each joint."""
        found: list[Constraint] = []
        row, every = 0, self._all
        for count in self._rows_of:
            jacobian = np.zeros((count, self._nv))
            for i in range(count):
                jacobian[i, self._columns[row + i]] = every.J[every.start[row + i] : every.start[row + i + 1]]
            found.append(GivenRows(Rows(jacobian, *every.parameters[row : row + count].T)))
            row += count
        return found


@njit(cache=True, nogil=True, error_model="numpy")
def _choose_rows(
    v: np.ndarray, v_star: np.ndarray, optional: np.ndarray, everything: bool, rows: TermInputs, chosen: TermInputs,
    idle: np.ndarray,
) -> tuple[int, int]:  # fmt: skip
    """Copies the rows of laws and of the limits that may act; the others go to `idle`. Returns rows and entries.

    A limit acts where its row's velocity s is below the row's target: v^ = -g/(2 dt) of the gap g to a bound, or the
    limit of the speed.
    """
    m, n, left = 0, 0, 0
    for i in range(len(rows.a)):
        k, sign = int(optional[i, 0]), optional[i, 1]
        if k >= 0 and not everything:
            speed = abs(v[k]) + abs(v_star[k] - v[k])
            if rows.parameters[i, 1] < -REACH * speed:
                idle[left, 0], idle[left, 1], idle[left, 2] = k, sign, rows.parameters[i, 1]
                left += 1
                continue
        chosen.a[m], chosen.b[m] = rows.a[i], rows.b[i]
        for x in range(6):
            chosen.parameters[m, x] = rows.parameters[i, x]
        for x in range(rows.start[i], rows.start[i + 1]):
            chosen.J[n] = rows.J[x]
            n += 1
        m += 1
        chosen.start[m] = n
    return m, n


def _speed_limits(laws: Sequence[JointLaw]) -> list[SpeedLimit]:
    """The two sides of the velocity limits of all motors that have one."""
    motors = [law for law in laws if isinstance(law, JointActuator) and law.velocity_limit < math.inf]
    return [SpeedLimit(motor, sign) for motor in motors for sign in (1.0, -1.0)]


def _limits(limits: JointLimits | None) -> list[tuple[int, int, float, float]]:
    if limits is None:
        return []
    columns = (limits.velocity, limits.coordinate, limits.lower, limits.upper)
    return list(zip(*(column.tolist() for column in columns), strict=True))
