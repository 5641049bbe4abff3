"""The rows of all joints between bodies of a world, of gears, welds and motors on them, for every step."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from convex_contact.model.body import WorldError
from convex_contact.model.body_joint_kernels import write_body_rows
from convex_contact.model.body_joints import StartedGear, StartedJoint
from convex_contact.model.body_row_kernels import FAILED_ITEM, ROWS, SAME_POINT, STATUS
from convex_contact.model.body_rows import BodyRowLists
from convex_contact.model.motors import StartedMotor
from convex_contact.model.weld import StartedWeld
from convex_contact.problem.constraints import Constraint
from convex_contact.simulation.constraint_rows import NO_ROWS, constraints_of
from convex_contact.simulation.dynamics import WorldDynamics
from convex_contact.solver.workspace import TermInputs

#: parts of a world in a simulation whose rows compiled code makes
COMPILED = (StartedJoint, StartedGear, StartedWeld, StartedMotor)


class BodyRows:
    """Rows of joints between bodies, gears, welds and motors; compiled code makes them in every step.

    Args:
        d: the world in motion.
        controllers: of the simulation; efforts of joints and numbers of motors are kept in the arrays from now on.

    Attributes:
        others: controllers that make rows by Python.
        arrays: description and relative poses of the joints.
        record: these arrays for kernels; None if there are no joints.
    """

    def __init__(self, d: WorldDynamics, controllers: Sequence[Any]) -> None:
        self.others = [each for each in controllers if not isinstance(each, COMPILED)]
        described = [each for each in controllers if isinstance(each, COMPILED)]
        lists = BodyRowLists()
        self._motors: list[StartedMotor] = []
        self._timed: set[tuple[int, str]] = set()
        self._names: list[str] = []
        numbers: list[int] = []
        for each in described:
            numbers.append(each.add_rows(lists))
            self._names.append(each.joint.name if isinstance(each, StartedJoint) else "")
        self.arrays = lists.arrays(d.arrays)
        for each, number in zip(described, numbers, strict=True):
            if isinstance(each, StartedJoint):
                each.effort = self.arrays.effort[number, : len(each.effort)]
            elif isinstance(each, StartedMotor):
                each.law.share(number, self.arrays.motor[number], self._timed, limitable=True)
                self._motors.append(each)
        self.record = self.arrays.record if len(self.arrays.item) else None
        rows, entries = self.arrays.room.tolist()
        self._chosen = TermInputs(
            np.zeros(rows, np.int64), np.zeros(rows, np.int64), np.zeros(rows + 1, np.int64), np.zeros(entries),
            np.zeros((rows, 6)),
        )  # fmt: skip

    @property
    def evaluated(self) -> Collection[Any]:
        """Motors' numbers that are functions of time, for :meth:`evaluate`; the same object."""
        return self._timed

    @property
    def count(self) -> int:
        """Number of rows in the last step, which are the first ones of the problem."""
        return int(self.arrays.count[ROWS])

    def copies(self) -> np.ndarray:
        """Copies what steps change, for :meth:`restore`; efforts and numbers of motors are kept by their owners."""
        return self.arrays.count.copy()

    def restore(self, copies: np.ndarray) -> None:
        """Restores what :meth:`copies` returned."""
        self.arrays.count[:] = copies

    def evaluate(self, time: float) -> None:
        """Writes the values of motors' functions of time in a step that starts at a time [s].

        Raises:
            ValueError: a function of time gave impossible numbers.
        """
        for number, name in self._timed:
            law = self._motors[number].law
            self.arrays.motor[number, law.PLACES[name]] = law.at(name, time)

    def flat(self, d: WorldDynamics) -> TermInputs:
        """Returns the rows of the coming step for `step_inputs.load_rows`, after `WorldDynamics.prepare`.

        Raises:
            WorldError: the points of a distance are the same.
            ValueError: a row couples more than two trees, or a function of time gave impossible numbers.
        """
        if not len(self.arrays.item):
            return NO_ROWS
        self.evaluate(d.time)
        chosen = self._chosen
        m = write_body_rows(d.arrays.record, self.record, d.period, chosen)
        if self.arrays.count[STATUS]:
            raise self.error()
        return TermInputs(chosen.a[:m], chosen.b[:m], chosen.start[: m + 1], chosen.J[: chosen.start[m]],
                          chosen.parameters[:m])  # fmt: skip

    def error(self) -> ValueError:
        """Returns the error of rows that could not be made."""
        item = int(self.arrays.count[FAILED_ITEM])
        if self.arrays.count[STATUS] == SAME_POINT:
            return WorldError(f"{self._names[item]}: distance: expected points apart, got the same one")
        trees = np.count_nonzero(self.arrays.tree[item] >= 0)
        return ValueError(f"gear: expected rows that couple one tree or two, got {trees}")

    def constraints(self, d: WorldDynamics, workspace: Any) -> list[Constraint]:
        """Returns the rows of the last step as a constraint of the dense problem."""
        return constraints_of(d, workspace, 0, self.count)
