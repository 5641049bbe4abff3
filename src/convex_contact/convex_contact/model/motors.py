"""Motors that act by rows of their own: those of ball joints, and of hinges and slides between bodies.

The motor of a joint of a tree with one coordinate is a :class:`~convex_contact.model.joints.JointActuator` alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pinocchio as pin

from convex_contact.model.body import WorldError, vector
from convex_contact.model.body_joints import WITH_AXIS, BodyJoint, body_joints
from convex_contact.model.joints import JointActuator
from convex_contact.problem import checks
from convex_contact.problem.constraints import Constraint, GivenRows, Rows
from convex_contact.problem.row_numbers import controller_row

if TYPE_CHECKING:
    from convex_contact.model.world import World
    from convex_contact.simulation.dynamics import WorldDynamics

#: number of the tree of a joint that belongs to none
NO_TREE = -1
#: numbers, or a function of time (s) that gives them
GivenNumbers = Sequence[float] | np.ndarray | Callable[[float], Sequence[float] | np.ndarray]


@dataclass
class BallActuator:
    """A motor of a ball joint with a PD controller; what is changed between steps acts from the next one on.

    Its torque along the axes of the joint's link is kp e + kd (v_d - v) + u_0 at the end of the step, e being the
    rotation vector from the position to the target. Each component is clamped at the effort limit. Targets and
    feedforward may be functions of time (s).

    Attributes:
        tree: Number of the tree; -1 for a joint between bodies.
        joint: Name of the joint.
        proportional_gain: kp, N m/rad, not negative.
        derivative_gain: kd, N m s/rad, not negative; not both zero.
        target_position: Quaternion (x, y, z, w) of any length, see :class:`~convex_contact.Joint`.
        target_velocity: v_d (3,), rad/s, along the axes of the link.
        feedforward: u_0 (3,), N m, likewise.
        effort_limit: Largest component of the torque, N m, above 0; may be inf.

    Examples:
        >>> from convex_contact import Simulator, World
        >>> world = World(gravity=(0.0, 0.0, 0.0))
        >>> _ = world.add_sphere("bob", mass=1.0, radius=0.1, position=(0.0, 0.0, -0.5))
        >>> _ = world.add_joint("pivot", "ball", None, "bob", point=(0.0, 0.0, 0.0))
        >>> world.actuate_joint(None, "pivot", proportional_gain=20.0, derivative_gain=4.0)  # makes a BallActuator
        >>> simulator = Simulator(world, period=0.01)
        >>> simulator.joint("pivot").target = (0.6, 0.0, 0.0, 0.8)
        >>> simulator.step(300)
        >>> (simulator.joint("pivot").position.round(3) + 0.0).tolist()
        [0.6, 0.0, 0.0, 0.8]
    """

    tree: int
    joint: str
    proportional_gain: float
    derivative_gain: float = 0.0
    target_position: GivenNumbers = (0.0, 0.0, 0.0, 1.0)
    target_velocity: GivenNumbers = (0.0, 0.0, 0.0)
    feedforward: GivenNumbers = (0.0, 0.0, 0.0)
    effort_limit: float = math.inf

    _COUNTS: ClassVar[dict[str, int]] = {"target_position": 4, "target_velocity": 3, "feedforward": 3}

    def __setattr__(self, name: str, value: Any) -> None:
        if not (callable(value) and name in self._COUNTS):
            value = self._checked(name, value)
        object.__setattr__(self, name, value)

    def __post_init__(self) -> None:
        if self.proportional_gain + self.derivative_gain == 0.0:
            raise ValueError("proportional_gain, derivative_gain: expected at least one above 0, got 0 and 0")

    def _checked(self, name: str, value: Any) -> Any:
        if name in ("proportional_gain", "derivative_gain"):
            return checks.number(name, value, minimum=0.0)
        if name == "effort_limit" and not value > 0.0:
            raise ValueError(f"{name}: expected a number above 0, or inf, got {value!r}")
        if name not in self._COUNTS:
            return value
        numbers = vector(value, self._COUNTS[name], name)
        if name == "target_position" and not np.linalg.norm(numbers) > 1e-9:
            raise WorldError(f"{name}: expected a quaternion (x, y, z, w) that is not zero, got {numbers}")
        return tuple(numbers.tolist())

    def at(self, name: str, time: float) -> np.ndarray:
        """Returns a target or the feedforward at a time (s).

        Raises:
            WorldError: A function of time gave impossible numbers.
        """
        value = getattr(self, name)
        return np.array(self._checked(name, value(time)) if callable(value) else value)

    def numbers(self, rotation: np.ndarray, time: float, period: float) -> np.ndarray:
        """Returns numbers b, v^, R, beta, lower, upper of the three rows in a step (6, 3).

        Args:
            rotation: Position of the joint, a rotation matrix (3, 3).
            time: At the start of the step, s.
            period: Its length, s.
        """
        target = pin.Quaternion(self.at("target_position", time)).normalized().matrix()
        error = pin.log3(rotation.T @ target)
        given = zip(error, self.at("target_velocity", time), self.at("feedforward", time), strict=True)
        gains = self.proportional_gain, self.derivative_gain
        rows = [
            controller_row(period, 0.0, *gains, float(e), float(v), float(u), self.effort_limit) for e, v, u in given
        ]
        return np.array(rows).T


@dataclass(frozen=True)
class Motor:
    """A motor that acts by rows of its own.

    Attributes:
        law: Its controller.
        joint: The joint between bodies, a hinge, a slide or a ball; None: a ball joint of a tree.

    Examples:
        >>> from convex_contact import Simulator, World
        >>> world = World()
        >>> _ = world.add_box("door", mass=10.0, size=(0.8, 0.04, 2.0), position=(0.4, 0.0, 1.0))
        >>> _ = world.add_joint("hinge", "hinge", None, "door", point=(0.0, 0.0, 0.0), axis=(0.0, 0.0, 1.0))
        >>> world.actuate_joint(None, "hinge", proportional_gain=200.0, derivative_gain=60.0, target_position=0.5)
        >>> simulator = Simulator(world, period=0.01)
        >>> simulator.step(500)
        >>> round(simulator.joint("hinge").position, 3)
        0.5
    """

    law: JointActuator | BallActuator
    joint: BodyJoint | None = None

    def start(self, d: WorldDynamics) -> StartedMotor:
        """Returns the function that makes the rows of each step, see `joints.Controller.start`."""
        return StartedMotor(self, d)


class StartedMotor:
    """A motor in a simulation.

    Args:
        motor: Its description.
        d: The world at the start.

    Attributes:
        law: A copy of the motor's controller, whose targets and gains can be set.
    """

    def __init__(self, motor: Motor, d: WorldDynamics) -> None:
        self.law = copy(motor.law)
        self._started = None if motor.joint is None else motor.joint.start(d)

    def __call__(self, d: WorldDynamics) -> Constraint:
        """Returns the rows of the coming step."""
        law = self.law
        if isinstance(law, BallActuator):
            rotation, rates = _tree_ball(law, d) if self._started is None else self._started.ball(d)
            numbers = law.numbers(rotation, d.time, d.period)
        else:
            assert self._started is not None
            position, rate = self._started.coordinate(d)
            if self._started.joint.kind == "hinge":  # the shorter way to the target
                target = law.at("target_position", d.time)
                position = target - math.remainder(target - position, math.tau)
            rates, numbers = rate[None], np.array(law.numbers([position], d.time, d.period)).reshape(6, 1)
        numbers[0] += rates[:, -1]
        moves = rates[:, :-1].any(axis=1)  # mechanisms in a plane do not rotate about all axes
        return GivenRows(Rows(rates[moves, :-1], *numbers[:, moves]))


def _tree_ball(law: BallActuator, d: WorldDynamics) -> tuple[np.ndarray, np.ndarray]:
    """Returns the rotation (3, 3) of a ball joint of a tree and the rows (3, nv + 1) of its velocity."""
    model = d.world.trees[law.tree].model.model
    joint = model.joints[model.getJointId(law.joint)]
    first, q = d.columns(tree=law.tree).start + joint.idx_v, d.coordinates(law.tree)[joint.idx_q :][:4]
    return pin.Quaternion(q).normalized().matrix(), np.eye(3, d.nv + 1, first)


def motor_laws(controllers: Iterable[Any]) -> list[JointActuator | BallActuator]:
    """Returns the laws of the motors among the controllers of a simulation."""
    return [controller.law for controller in controllers if isinstance(controller, StartedMotor)]


def add_motor(world: World, tree: int | None, name: str, values: dict[str, Any]) -> None:
    """Adds a motor of a ball joint, or of a hinge or a slide between bodies; see :meth:`World.actuate_joint`.

    Args:
        world: the world of the joint.
        tree: number of the tree; None: the joint is one between bodies.
        name: name of the joint.
        values: fields of the controller, by name.

    Raises:
        WorldError: There is no such joint, it has a motor, or a value is wrong; nothing is added.
    """
    joint = None
    if tree is None:
        known = {joint.name: joint for joint in body_joints(world) if joint.kind in (*WITH_AXIS, "ball")}
        if name not in known:
            expected = f"one of the hinges, slides and balls {', '.join(known) or 'none'}"
            raise WorldError(f"joint: expected {expected}, got {name!r}")
        joint = known[name]
    where = name if tree is None else f"{world.trees[tree].name}: {name}"
    kind: Any = JointActuator if joint is not None and joint.kind in WITH_AXIS else BallActuator
    number = NO_TREE if tree is None else tree
    for other in world.controllers:
        if isinstance(other, Motor) and (other.law.tree, other.law.joint) == (number, name):
            raise WorldError(f"{where}: expected one motor, got a second")
    try:
        checks.field_names(kind, values)
        law = kind(number, name, **values)
    except (TypeError, ValueError) as error:
        raise WorldError(f"{where}: {error}") from None
    if isinstance(law, JointActuator) and law.velocity_limit != math.inf:
        expected = "expected inf for a joint between bodies"
        raise WorldError(f"{where}: velocity_limit: {expected}, got {law.velocity_limit!r}")
    world.controllers.append(Motor(law, joint))


def is_ball(world: World, tree: int | str, joint: str) -> bool:
    """Returns whether a tree, by number or name, has a ball joint of a name."""
    for number, known in enumerate(world.trees):
        model = known.model.model
        if tree in (number, known.name) and model.existJointName(joint):
            return bool(model.joints[model.getJointId(joint)].shortname() == "JointModelSpherical")
    return False
