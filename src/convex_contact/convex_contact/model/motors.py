"""Motors that act by rows of their own: those of ball and planar joints, and of hinges and slides between bodies.

The motor of a joint of a tree with one coordinate is a :class:`~convex_contact.model.joints.JointActuator` alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pinocchio as pin

from convex_contact.model import body_joint_kernels as kernels
from convex_contact.model.body import WorldError, vector
from convex_contact.model.body_joints import WITH_AXIS, BodyJoint, body_joints
from convex_contact.model.body_rows import BodyRowLists
from convex_contact.model.joints import JointActuator, MotorNumbers
from convex_contact.model.names import unknown_name
from convex_contact.problem import checks
from convex_contact.problem.constraints import Constraint, GivenRows, Rows
from convex_contact.problem.row_numbers import controller_row, write_speed_row

if TYPE_CHECKING:
    from convex_contact.model.world import World
    from convex_contact.simulation.dynamics import WorldDynamics

#: number of the tree of a joint that belongs to none
NO_TREE = -1
#: numbers, or a function of time (s) that gives them
GivenNumbers = Sequence[float] | np.ndarray | Callable[[float], Sequence[float] | np.ndarray]


#: kinds of the joints of trees with several velocities, by the names of Pinocchio
_SEVERAL = {"JointModelSpherical": "ball", "JointModelPlanar": "planar", "JointModelFreeFlyer": "free"}


class AxesActuator(MotorNumbers):
    """Base of the motors of joints with three velocities: checks of their numbers, and functions of time.

    Attributes:
        tree: number of the tree; -1 for a joint between bodies.
        joint: name of the joint.
        velocity_limit: limit of the velocity's components, one or three numbers.
    """

    tree: int
    joint: str
    velocity_limit: Any
    _COUNTS: ClassVar[dict[str, int]]

    def __setattr__(self, name: str, value: Any) -> None:
        if not (callable(value) and name in self._COUNTS):
            value = self._checked(name, value)
        object.__setattr__(self, name, value)
        if "_shared" in self.__dict__ and name in self.PLACES:
            self._share(name, value)

    def _checked(self, name: str, value: Any) -> Any:
        return tuple(vector(value, self._COUNTS[name], name).tolist()) if name in self._COUNTS else value

    def at(self, name: str, time: float) -> np.ndarray:
        """Returns a target or the feedforward at a time (s).

        Raises:
            WorldError: A function of time gave impossible numbers.
        """
        value = getattr(self, name)
        return np.array(self._checked(name, value(time)) if callable(value) else value)


@dataclass
class BallActuator(AxesActuator):
    """A motor of a ball joint with a PD controller; what is changed between steps acts from the next one on.

    Its torque along the axes of the joint's link is kp e + kd (v_d - v) + u_0 at the end of the step, e being the
    rotation vector from the position to the target. Each component is clamped at the effort limit. Targets and
    feedforward may be functions of time (s).

    Attributes:
        tree: number of the tree; -1 for a joint between bodies.
        joint: name of the joint.
        proportional_gain: kp, N m/rad, not negative.
        derivative_gain: kd, N m s/rad, not negative; not both zero.
        target_position: quaternion (x, y, z, w) of any length, see :class:`~convex_contact.Joint`.
        target_velocity: v_d (3,), rad/s, along the axes of the link.
        feedforward: u_0 (3,), N m, likewise.
        effort_limit: largest component of the torque, N m, above 0; may be inf.
        velocity_limit: limit of each component of the velocity, rad/s, above 0; may be inf. It acts as the one of
            :class:`~convex_contact.JointActuator`.

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
    velocity_limit: float = math.inf

    _COUNTS: ClassVar[dict[str, int]] = {"target_position": 4, "target_velocity": 3, "feedforward": 3}
    #: attributes that may be functions of time
    TIMED: ClassVar[tuple[str, ...]] = tuple(_COUNTS)
    PLACES: ClassVar[dict[str, slice]] = {
        "proportional_gain": slice(0, 1), "derivative_gain": slice(1, 2), "target_position": slice(2, 6),
        "target_velocity": slice(6, 9), "feedforward": slice(9, 12), "effort_limit": slice(12, 13),
        "velocity_limit": slice(13, 14),
    }  # fmt: skip

    def __post_init__(self) -> None:
        if self.proportional_gain + self.derivative_gain == 0.0:
            raise ValueError("proportional_gain, derivative_gain: expected at least one above 0, got 0 and 0")

    def _checked(self, name: str, value: Any) -> Any:
        if name in ("proportional_gain", "derivative_gain"):
            return checks.number(name, value, minimum=0.0)
        if name in ("effort_limit", "velocity_limit"):
            return checks.positive(name, value)
        found = super()._checked(name, value)
        if name == "target_position":
            checks.quaternion_length(name, found, error=WorldError)
        return found

    def numbers(self, rotation: np.ndarray, time: float, period: float) -> np.ndarray:
        """Returns numbers b, v^, R, beta, lower, upper of the three rows in a step (6, 3).

        Args:
            rotation: position of the joint, a rotation matrix (3, 3).
            time: at the start of the step, s.
            period: its length, s.
        """
        target = pin.Quaternion(self.at("target_position", time)).normalized().matrix()
        error = pin.log3(rotation.T @ target)
        given = zip(error, self.at("target_velocity", time), self.at("feedforward", time), strict=True)
        gains = self.proportional_gain, self.derivative_gain
        rows = [
            controller_row(period, 0.0, *gains, float(e), float(v), float(u), self.effort_limit) for e, v, u in given
        ]
        return np.array(rows).T


@dataclass
class PlanarActuator(AxesActuator):
    """Motors of a planar joint with PD controllers along x and y of the parent and about the joint's normal.

    The force or torque of each axis is kp (q_d - q) + kd (v_d - v) + u_0 at the end of the step, clamped at the effort
    limit, as that of :class:`~convex_contact.JointActuator`. Gains and limits are one number for each axis, or one for
    all; an axis whose gains are zero has no motor. Targets and feedforward may be functions of time (s).

    Attributes:
        tree: number of the tree.
        joint: name of the joint.
        proportional_gain: kp (3,), N/m and N m/rad, not negative.
        derivative_gain: kd (3,), N s/m and N m s/rad, not negative; not all gains zero.
        target_position: x, y, angle (3,), m and rad; the motor rotates the shorter way.
        target_velocity: v_d (3,), rates of x, y, angle, m/s and rad/s.
        feedforward: u_0 (3,), N and N m.
        effort_limit: largest force along each axis and torque (3,), N and N m, above 0; may be inf.
        velocity_limit: limit of each rate (3,), m/s and rad/s, above 0; may be inf. It acts as the one of
            :class:`~convex_contact.JointActuator`.

    Examples:
        >>> from convex_contact import PlanarActuator
        >>> gains = {"proportional_gain": (100.0, 100.0, 2.0), "derivative_gain": (30.0, 30.0, 0.5)}
        >>> motor = PlanarActuator(0, "plane", **gains, effort_limit=5.0)
        >>> motor.target_position, motor.effort_limit
        ((0.0, 0.0, 0.0), (5.0, 5.0, 5.0))
    """

    tree: int
    joint: str
    proportional_gain: float | Sequence[float] = 0.0
    derivative_gain: float | Sequence[float] = 0.0
    target_position: GivenNumbers = (0.0, 0.0, 0.0)
    target_velocity: GivenNumbers = (0.0, 0.0, 0.0)
    feedforward: GivenNumbers = (0.0, 0.0, 0.0)
    effort_limit: float | Sequence[float] = math.inf
    velocity_limit: float | Sequence[float] = math.inf

    _COUNTS: ClassVar[dict[str, int]] = {"target_position": 3, "target_velocity": 3, "feedforward": 3}
    _EXPECTED: ClassVar[dict[str, str]] = {
        "proportional_gain": "finite numbers of at least 0", "derivative_gain": "finite numbers of at least 0",
        "effort_limit": "numbers above 0, or inf", "velocity_limit": "numbers above 0, or inf",
    }  # fmt: skip

    def __post_init__(self) -> None:
        if not np.any(self._gains()):
            raise ValueError("proportional_gain, derivative_gain: expected at least one above 0, got only 0")

    def _gains(self) -> tuple[np.ndarray, np.ndarray]:
        return np.array(self.proportional_gain), np.array(self.derivative_gain)

    def _checked(self, name: str, value: Any) -> Any:
        if name not in self._EXPECTED:
            return super()._checked(name, value)
        numbers = np.array(value, dtype=float)
        numbers = np.full(3, numbers) if numbers.ndim == 0 else numbers
        allowed = (numbers >= 0.0) & np.isfinite(numbers) if name.endswith("gain") else numbers > 0.0
        if numbers.shape != (3,) or not allowed.all():
            raise ValueError(f"{name}: expected one or three {self._EXPECTED[name]}, got {value!r}")
        return tuple(numbers.tolist())

    def numbers(self, position: np.ndarray, time: float, period: float) -> np.ndarray:
        """Returns numbers b, v^, R, beta, lower, upper of the three rows in a step (6, 3); R is inf without a motor.

        Args:
            position: x, y, angle (3,), m and rad.
            time: at the start of the step, s.
            period: its length, s.
        """
        error = self.at("target_position", time) - position
        error[2] = math.remainder(error[2], math.tau)
        limits = np.array(self.effort_limit)
        given = error, self.at("target_velocity", time), self.at("feedforward", time), limits
        rows = []
        for kp, kd, *values in zip(*self._gains(), *given, strict=True):
            driven = kp > 0.0 or kd > 0.0
            row = controller_row(period, 0.0, float(kp), float(kd), *map(float, values)) if driven else _NO_MOTOR
            rows.append(row)
        return np.array(rows).T


#: numbers of the row of an axis without a motor
_NO_MOTOR = (0.0, 0.0, math.inf, 0.0, 0.0, 0.0)
MotorLaw = JointActuator | BallActuator | PlanarActuator


@dataclass(frozen=True)
class Motor:
    """A motor that acts by rows of its own.

    Attributes:
        law: its controller.
        joint: the joint between bodies, a hinge, a slide or a ball; None: a ball or planar joint of a tree.

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

    law: MotorLaw
    joint: BodyJoint | None = None

    def start(self, d: WorldDynamics) -> StartedMotor | StartedTreeMotor:
        """Returns the motor in a simulation; see `joints.Controller.start`."""
        return StartedTreeMotor(self) if self.joint is None else StartedMotor(self, self.joint, d)


class StartedMotor:
    """A motor of a joint between bodies in a simulation, whose rows compiled code makes.

    Args:
        motor: its description.
        joint: its joint.
        d: the world at the start.

    Attributes:
        law: a copy of the motor's controller, whose targets and gains can be set.
    """

    law: JointActuator | BallActuator

    def __init__(self, motor: Motor, joint: BodyJoint, d: WorldDynamics) -> None:
        assert not isinstance(motor.law, PlanarActuator)
        self.law = copy(motor.law)
        self._joint = joint.start(d)

    def add_rows(self, rows: BodyRowLists) -> int:
        """Adds the rows of the motor; returns its number among the motors."""
        kinds = {"hinge": kernels.HINGE_MOTOR, "slide": kernels.SLIDE_MOTOR, "ball": kernels.BALL_MOTOR}
        return rows.add_motor(kinds[self._joint.joint.kind], self._joint.number(rows))


class StartedTreeMotor:
    """A motor of a ball or planar joint of a tree in a simulation; called in each step, it makes its rows.

    Args:
        motor: its description.

    Attributes:
        law: a copy of the motor's controller, whose targets and gains can be set.
    """

    law: BallActuator | PlanarActuator

    def __init__(self, motor: Motor) -> None:
        assert not isinstance(motor.law, JointActuator)
        self.law = copy(motor.law)

    def __call__(self, d: WorldDynamics) -> Constraint:
        """Returns the rows of the coming step."""
        law = self.law
        position, rates = _tree_ball(law, d) if isinstance(law, BallActuator) else _tree_planar(law, d)
        numbers = law.numbers(position, d.time, d.period).T
        limits = np.broadcast_to(law.velocity_limit, len(rates))
        acts = np.isfinite(numbers[:, 2])
        return GivenRows(_rows(rates[acts], numbers[acts], limits[acts], d.period))


def _rows(rates: np.ndarray, numbers: np.ndarray, limits: np.ndarray, period: float) -> Rows:
    """Returns the rows of controllers, followed by those of both sides of their velocity limits.

    Args:
        rates: rows of the velocities; the last column is the part that no tree moves, shape (k, nv + 1).
        numbers: numbers of the controllers' rows, shape (k, 6); velocity limits change the bounds.
        limits: velocity limits, shape (k,).
        period: dt [s].
    """
    all_rates, all_numbers = [*rates], [*np.ascontiguousarray(numbers)]
    for k in np.flatnonzero(limits < math.inf):
        for sign in (1.0, -1.0):
            side = np.empty(6)
            write_speed_row(period, limits[k], sign, all_numbers[k], side)
            all_rates.append(-sign * rates[k])
            all_numbers.append(side)
    jacobian = np.array(all_rates).reshape(-1, rates.shape[1])
    columns = np.array(all_numbers).reshape(-1, 6).T.copy()
    columns[0] += jacobian[:, -1]
    return Rows(jacobian[:, :-1], *columns)


def _tree_joint(law: AxesActuator, d: WorldDynamics) -> tuple[np.ndarray, int]:
    """Returns the coordinates (4,) of a ball or planar joint of a tree, and the column of its first velocity."""
    model = d.world.trees[law.tree].model.model
    joint = model.joints[model.getJointId(law.joint)]
    return d.coordinates(law.tree)[joint.idx_q :][:4], d.columns(tree=law.tree).start + joint.idx_v


def _tree_ball(law: BallActuator, d: WorldDynamics) -> tuple[np.ndarray, np.ndarray]:
    """Returns the rotation (3, 3) of a ball joint of a tree and the rows (3, nv + 1) of its velocity."""
    q, first = _tree_joint(law, d)
    return pin.Quaternion(q).normalized().matrix(), np.eye(3, d.nv + 1, first)


def _tree_planar(law: PlanarActuator, d: WorldDynamics) -> tuple[np.ndarray, np.ndarray]:
    """Returns x, y, angle (3,) of a planar joint of a tree and the rows (3, nv + 1) of their rates."""
    (x, y, cosine, sine), first = _tree_joint(law, d)
    angle = math.atan2(sine, cosine)
    rates = np.eye(3, d.nv + 1, first)
    c, s = math.cos(angle), math.sin(angle)
    rates[:2, first : first + 2] = [[c, -s], [s, c]]  # the joint's velocities are along the axes of its link
    return np.array([x, y, angle]), rates


def with_own_laws(controllers: Iterable[Any]) -> list[Any]:
    """Returns the controllers of a world; motors have copies of their laws, which do not change with the world's."""
    return [
        replace(controller, law=copy(controller.law)) if isinstance(controller, Motor) else controller
        for controller in controllers
    ]


def motor_laws(controllers: Iterable[Any]) -> list[MotorLaw]:
    """Returns the laws of the motors among the controllers of a simulation."""
    return [controller.law for controller in controllers if isinstance(controller, StartedMotor | StartedTreeMotor)]


def add_motor(world: World, tree: int | None, name: str, values: dict[str, Any]) -> None:
    """Adds a motor of a ball or planar joint, or of a hinge or a slide between bodies; see `World.actuate_joint`.

    Args:
        world: the world of the joint.
        tree: number of the tree; None: the joint is one between bodies.
        name: name of the joint.
        values: fields of the controller, by name.

    Raises:
        WorldError: There is no such joint, it has a motor or is free, or a value is wrong; nothing is added.
    """
    joint, kind = None, "" if tree is None else kind_of_several(world, tree, name)
    if tree is None:
        known = {joint.name: joint for joint in body_joints(world) if joint.kind in (*WITH_AXIS, "ball")}
        if name not in known:
            raise unknown_name("joint", name, known, "the hinges, slides and balls")
        joint, kind = known[name], known[name].kind
    where = name if tree is None else f"{world.trees[tree].name}: {name}"
    if kind == "free":
        raise WorldError(f"{where}: expected a hinge, a slide, a ball or a planar joint for a motor, got a free joint")
    make: Any = {"ball": BallActuator, "planar": PlanarActuator}.get(kind, JointActuator)
    number = NO_TREE if tree is None else tree
    for other in world.controllers:
        if isinstance(other, Motor) and (other.law.tree, other.law.joint) == (number, name):
            raise WorldError(f"{where}: expected one motor, got a second")
    try:
        checks.field_names(make, values)
        law = make(number, name, **values)
    except (TypeError, ValueError) as error:
        raise WorldError(f"{where}: {error}") from None
    world.controllers.append(Motor(law, joint))


def kind_of_several(world: World, tree: int | str, joint: str) -> str:
    """Returns "ball", "planar" or "free" for a joint with several velocities of a tree, by number or name; else ""."""
    for number, known in enumerate(world.trees):
        model = getattr(known.model, "model", None)  # a deformable body has none
        if tree in (number, known.name) and model is not None and model.existJointName(joint):
            return _SEVERAL.get(model.joints[model.getJointId(joint)].shortname(), "")
    return ""
