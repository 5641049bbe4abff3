"""Numbers of a step that Python computes before the compiled call."""

from __future__ import annotations

from convex_contact.simulation.body_joint_rows import BodyRows
from convex_contact.simulation.dynamics import WorldDynamics
from convex_contact.simulation.joint_rows import JointRows


class PythonNumbers:
    """Functions of time, motions of joints, actuators with an activation: Python writes their numbers before a step.

    Args:
        d: world in motion, with drives of trees and motions of prescribed bodies.
        between: rows of joints between bodies, with functions of time of their motors.
        joints: rows of trees, with functions of time of their motors, motions, and actuators with an activation.
    """

    def __init__(self, d: WorldDynamics, between: BodyRows, joints: JointRows) -> None:
        self._d, self._between, self._joints = d, between, joints
        self._evaluated = (between.evaluated, *joints.evaluated)

    @property
    def needed(self) -> bool:
        """True if the coming step has such numbers."""
        return any(self._evaluated) or bool(self._d.functions)

    def write(self) -> None:
        """Writes the numbers of the coming step.

        Raises:
            ValueError: a function of time gave an impossible number.
        """
        self._d.functions.evaluate(self._d.time, self._d.period)
        self._between.evaluate(self._d.time)
        self._joints.evaluate(self._d)
