"""Tables of the joint laws of a world, from which compiled code makes the numbers of their rows in a step."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numba import njit

from convex_contact.model.arrays import JointRowRecord
from convex_contact.model.joints import JointActuator, JointCoupler, JointFriction, JointLaw, SpeedLimit
from convex_contact.model.tendons import TendonActuator, TendonEquality, TendonLimit
from convex_contact.problem.row_numbers import (
    actuator_row,
    controller_row,
    coupler_row,
    friction_row,
    rigid_row,
    write_speed_row,
)

#: laws that have a table; Python computes the numbers of the others
_TABLED = (JointActuator, SpeedLimit, JointCoupler, JointFriction, TendonActuator, TendonLimit, TendonEquality)


class JointLawTables:
    """Tables of joint laws; attributes of the laws that are set later go into them as well.

    Args:
        laws: law and indices of its joints' coordinates, for each of the first rows.

    Attributes:
        arrays: the tables, by the names of `arrays.JOINT_ROW_TABLE`.
        others: row, law and indices of coordinates of laws without a table.
        timed: motors' numbers that are functions of time, by number of the motor and attribute.
        actuators_by_python: numbers of the actuators of tendons whose rows Python computes.
    """

    def __init__(self, laws: Sequence[tuple[JointLaw | SpeedLimit, list[int]]]) -> None:
        def of(*kinds: type) -> list[tuple[int, Any, list[int]]]:
            return [(row, law, places) for row, (law, places) in enumerate(laws) if isinstance(law, kinds)]

        terms: list[tuple[int, float]] = []

        def add_terms(tendon: Sequence[tuple[str, float]], places: list[int]) -> tuple[int, int]:
            terms.extend(zip(places, (coefficient for _, coefficient in tendon), strict=True))
            return len(terms) - len(places), len(terms)

        self._motors, self._actuators = of(JointActuator), of(TendonActuator)
        self.others = [entry for entry in of(object) if not isinstance(entry[1], _TABLED)]
        self.timed: set[tuple[int, str]] = set()
        self.actuators_by_python: set[int] = set()
        number = {id(motor): k for k, (_, motor, _) in enumerate(self._motors)}
        couplers, frictions = of(JointCoupler), of(JointFriction)
        speeds = [(row, number[id(limit.motor)], int(limit.sign)) for row, limit, _ in of(SpeedLimit)]
        self.arrays = {
            "motor": _table(8, [places for *_, places in self._motors]),
            "motor_row": np.array([row for row, *_ in self._motors], dtype=np.int64),
            "speed": np.array(speeds, dtype=np.int64).reshape(-1, 3),
            "coupler": _table(5, [(row, *places) for row, _, places in couplers]),
            "friction": _table(2, [(row,) for row, *_ in frictions]),
            "actuator": _table(9, [(row, *add_terms(law.terms, places)) for row, law, places in self._actuators]),
        }
        limits = [(row, *add_terms(law.tendon, q), law.bound, law.sign, 0.0) for row, law, q in of(TendonLimit)]
        held = [(row, *add_terms(law.tendon, q), law.length, 1.0, -math.inf) for row, law, q in of(TendonEquality)]
        self.arrays["tendon"] = _table(6, [*limits, *held])
        self.arrays["term"] = _table(2, terms)
        for k, (_, motor, _) in enumerate(self._motors):
            motor.share(k, self.arrays["motor"][k, 1:], self.timed)
        for k, (_, coupler, _) in enumerate(couplers):
            coupler.share(self.arrays["coupler"][k, 3:])
        for k, (_, friction, _) in enumerate(frictions):
            friction.share(self.arrays["friction"][k, 1:])
        for k, (_, actuator, _) in enumerate(self._actuators):
            actuator.share(k, self.arrays["actuator"][k, 3:], self.actuators_by_python)

    def evaluate(self, q: np.ndarray, time: float, period: float, numbers: np.ndarray) -> None:
        """Writes what Python computes of a step: numbers of rows, and values of motors' functions of time.

        Args:
            q: coordinates (nq,) at the start of the step.
            time: start of the step [s].
            period: its length dt [s].
            numbers: output, numbers of all rows (nr, 6).

        Raises:
            ValueError: a function of time gave an impossible number.
        """
        for row, law, places in (*self.others, *(self._actuators[k] for k in self.actuators_by_python)):
            numbers[row] = law.numbers([q[i] for i in places], time, period)
        for number, name in self.timed:
            motor = self._motors[number][1]
            self.arrays["motor"][number, 1:][motor.PLACES[name]] = motor.at(name, time)


def _table(width: int, rows: Sequence[Sequence[float]]) -> np.ndarray:
    """Returns a table whose rows begin with these numbers; the others are 0."""
    table = np.zeros((len(rows), width))
    for entry, row in zip(table, rows, strict=True):
        entry[: len(row)] = row
    return table


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def write_joint_numbers(q: np.ndarray, period: float, rows: JointRowRecord) -> None:
    """Writes the numbers of the rows of joint laws and limits to `parameters`, but for those that Python computes.

    Args:
        q: coordinates.
        period: dt [s].
        rows: tables and numbers of the rows.
    """
    numbers, motor_row, motors = rows.parameters, rows.motor_row, rows.motor
    for k in range(len(motors)):
        x = motors[k]
        _write(numbers, motor_row[k], controller_row(period, q[int(x[0])], x[1], x[2], x[3], x[4], x[5], x[6]))
    speed = rows.speed
    for k in range(len(speed)):
        row, motor, sign = speed[k, 0], speed[k, 1], float(speed[k, 2])
        write_speed_row(period, motors[motor, 7], sign, numbers[motor_row[motor]], numbers[row])
    coupler = rows.coupler
    for k in range(len(coupler)):
        x = coupler[k]
        _write(numbers, int(x[0]), coupler_row(period, q[int(x[1])], q[int(x[2])], x[3], x[4]))
    friction = rows.friction
    for k in range(len(friction)):
        _write(numbers, int(friction[k, 0]), friction_row(period, friction[k, 1]))
    actuator = rows.actuator
    for k in range(len(actuator)):
        x = actuator[k]
        if x[3] != 0.0:
            here = _length(q, rows.term, x)
            _write(numbers, int(x[0]), actuator_row(period, here, x[4], x[5], x[6], x[7], x[8]))
    tendon = rows.tendon
    for k in range(len(tendon)):
        x = tendon[k]
        _write(numbers, int(x[0]), rigid_row(period, x[4] * (_length(q, rows.term, x) - x[3]), 0.0, x[5]))
    bound = rows.bound
    first = len(numbers) - len(bound)
    for k in range(len(bound)):
        gap = bound[k, 1] * (q[int(bound[k, 0])] - bound[k, 2])
        _write(numbers, first + k, rigid_row(period, gap, 0.0, 0.0))


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def _write(numbers: np.ndarray, row: int, found: tuple[float, float, float, float, float, float]) -> None:
    for i in range(6):
        numbers[row, i] = found[i]


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def _length(q: np.ndarray, term: np.ndarray, tendon: np.ndarray) -> float:
    """Returns the length of a tendon whose first and last + 1 term are in columns 1 and 2."""
    total = 0.0
    for k in range(int(tendon[1]), int(tendon[2])):
        total += term[k, 1] * q[int(term[k, 0])]
    return total
