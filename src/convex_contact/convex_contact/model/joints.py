"""Joint laws of articulated trees: a prescribed motion, a motor with its controller, a gear, friction.

They are parts of a world's description. In every step the simulator makes a row of the convex problem of each
(`constraints`):

* :class:`JointMotion`: q follows q_d(t), by a spring with the near-rigid stiffness. With the secant velocity
  (q_d(t + dt) - q_d(t))/dt, q is on the motion at the end of every step, except for 2 dt R times the impulse that this
  requires, R the near-rigid limit; the velocity is that of the middle of the step.
* :class:`JointActuator`: u = kp (q_d - q) + kd (v_d - v) + u_0 at the end of the step, clamped at the effort limit.
  Beyond its velocity limit it brakes with all its effort.
* :class:`JointCoupler`: q = ratio q_other + offset, by a spring with the near-rigid stiffness.
* :class:`JointFriction`: v = 0 as long as this requires no more than the friction; then Coulomb friction.

Laws of several joints are in `tendons`.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from convex_contact.model.tendons import TendonActuator, TendonEquality, TendonLimit
from convex_contact.problem import checks
from convex_contact.problem.row_numbers import (
    controller_row,
    controller_slope,
    coupler_row,
    friction_row,
    rigid_row,
    rigid_slope,
)
from haptic_files.moved_modules import renamed

if TYPE_CHECKING:
    from convex_contact.simulation.dynamics import WorldDynamics

#: b, v^, R, beta, lower, upper of a row
Numbers = tuple[float, ...]
#: a number, or a function of time (s)
Given = float | Callable[[float], float]


@dataclass(frozen=True)
class Sinusoid:
    """q_d(t) = offset + amplitude sin(2 pi frequency t + phase).

    Attributes:
        amplitude: m or rad.
        frequency: Hz.
        phase: rad.
        offset: m or rad.

    Examples:
        >>> from convex_contact import Sinusoid
        >>> Sinusoid(amplitude=2.0, frequency=1.0)(0.25)
        2.0
    """

    amplitude: float
    frequency: float
    phase: float = 0.0
    offset: float = 0.0

    def __post_init__(self) -> None:
        for name in ("amplitude", "frequency", "phase", "offset"):
            object.__setattr__(self, name, checks.number(name, getattr(self, name)))

    def __call__(self, time: float) -> float:
        return self.offset + self.amplitude * math.sin(math.tau * self.frequency * time + self.phase)


@dataclass(frozen=True)
class StepFunction:
    """A piecewise constant function of time.

    Attributes:
        times: start of the second and later values, increasing [s].
        values: one more than times.

    Raises:
        ValueError: The lengths do not fit, a number is not finite, or the times do not increase.

    Examples:
        >>> from convex_contact import StepFunction
        >>> speed = StepFunction(times=(0.5,), values=(1.0, -1.0))
        >>> speed(0.4), speed(0.6)
        (1.0, -1.0)
    """

    times: tuple[float, ...]
    values: tuple[float, ...]

    def __post_init__(self) -> None:
        times = tuple(checks.number("times", time) for time in self.times)
        values = tuple(checks.number("values", value) for value in self.values)
        if len(values) != len(times) + 1 or any(b <= a for a, b in pairwise(times)):
            raise ValueError(
                f"times, values: expected increasing times and one value more than times, got {times} and {values}"
            )
        object.__setattr__(self, "times", times)
        object.__setattr__(self, "values", values)

    def __call__(self, time: float) -> float:
        return self.values[bisect.bisect_right(self.times, time)]


@dataclass
class JointMotion:
    """A joint with prescribed motion, whatever force this requires; its limits are ignored.

    Attributes:
        tree: number of the tree.
        joint: name of a joint with one coordinate.
        position: q_d [m or rad] over time [s].

    Examples:
        >>> from importlib.resources import files
        >>> from convex_contact import Simulator, World
        >>> world = World()
        >>> _ = world.add_urdf("motor", files("convex_contact") / "data/shaft.urdf", armature=1.0)
        >>> world.move_joint("motor", "turn", lambda time: 2.0 * time)  # adds a JointMotion
        >>> simulator = Simulator(world, period=0.01)
        >>> simulator.step(100)
        >>> round(simulator.joint("turn").position, 3)
        2.0
    """

    tree: int
    joint: str
    position: Callable[[float], float]

    def __post_init__(self) -> None:
        if not callable(self.position):
            raise ValueError(f"position: expected a function of time, got {self.position!r}")

    @property
    def terms(self) -> tuple[tuple[str, float], ...]:
        """Joints of the row and their coefficients."""
        return ((self.joint, 1.0),)

    def numbers(self, q: Sequence[float], time: float, period: float) -> Numbers:
        """Returns b, v^, R, beta, lower, upper of the row in a step, from its joints' coordinates at the start."""
        here, there = (checks.number(f"{self.joint}: position", self.position(t)) for t in (time, time + period))
        return rigid_row(period, q[0] - here, -(there - here) / period, -math.inf)

    def slope(self, time: float, period: float) -> float:
        """Returns the derivative of v^ by the row's length [1/s] for the step that starts at a time [s].

        The row's length is the sum of its terms.
        """
        return rigid_slope(period)


class MotorNumbers:
    """Base of motors whose numbers compiled code reads in an array."""

    #: columns of the attributes in the array
    PLACES: ClassVar[dict[str, slice]] = {}

    def share(self, number: int, numbers: np.ndarray, timed: set[tuple[int, str]], *, limitable: bool = False) -> None:
        """Keeps gains, targets, feedforward and limits in an array as well.

        Args:
            number: number of the motor in its simulator.
            numbers: output, and kept up to date: the values; of functions of time those of the last step, first NaN.
            timed: output, and kept up to date: the functions of time, by the motor's number and the attribute's name.
            limitable: a velocity limit may be set later where there is none now.
        """
        object.__setattr__(self, "_shared", (number, numbers, timed, limitable))
        for name in self.PLACES:
            self._share(name, getattr(self, name))

    def _share(self, name: str, value: Any) -> None:
        number, numbers, timed, _ = self.__dict__["_shared"]
        numbers[self.PLACES[name]] = math.nan if callable(value) else value
        (timed.add if callable(value) else timed.discard)((number, name))


@dataclass
class JointActuator(MotorNumbers):
    """A motor with a PD controller; changes between steps act from the next step on.

    Targets, feedforward and limit may be functions of time (s), such as :class:`StepFunction`: a step takes their
    values at its start.

    Attributes:
        tree: number of the tree.
        joint: name of the joint, one of one coordinate.
        proportional_gain: kp, N/m or N m/rad, not negative.
        derivative_gain: kd, N s/m or N m s/rad, not negative; not both zero.
        target_position: q_d, m or rad.
        target_velocity: v_d, m/s or rad/s.
        feedforward: u_0, N or N m.
        effort_limit: largest |u|, N or N m, above 0; may be inf.
        velocity_limit: beyond this |v| (m/s or rad/s, above 0) the motor brakes with up to its effort limit; below, it
            has no effect. If it is inf when a simulator is made, the simulator has no such limit.

    Examples:
        >>> from importlib.resources import files
        >>> from convex_contact import Simulator, World
        >>> world = World()
        >>> _ = world.add_urdf("motor", files("convex_contact") / "data/shaft.urdf", armature=1.0)
        >>> world.actuate_joint("motor", "turn", proportional_gain=100.0, derivative_gain=20.0, target_position=0.5)
        >>> simulator = Simulator(world, period=0.01)
        >>> simulator.step(300)
        >>> round(simulator.joint("turn").position, 3)
        0.5
    """

    tree: int
    joint: str
    proportional_gain: float
    derivative_gain: float = 0.0
    target_position: Given = 0.0
    target_velocity: Given = 0.0
    feedforward: Given = 0.0
    effort_limit: Given = math.inf
    velocity_limit: float = math.inf

    _LOWEST: ClassVar[dict[str, float | None]] = {
        "proportional_gain": 0.0, "derivative_gain": 0.0, "target_position": None, "target_velocity": None,
        "feedforward": None,
    }  # fmt: skip
    #: attributes that may be functions of time
    TIMED: ClassVar[tuple[str, ...]] = ("target_position", "target_velocity", "feedforward", "effort_limit")
    PLACES: ClassVar[dict[str, slice]] = {
        name: slice(k, k + 1)
        for k, name in enumerate(("proportional_gain", "derivative_gain", *TIMED, "velocity_limit"))
    }

    def __setattr__(self, name: str, value: Any) -> None:
        if not (callable(value) and name in self.TIMED):
            value = self._checked(name, value)
        shared = self.__dict__.get("_shared")
        fixed = shared is not None and not shared[3]
        if fixed and name == "velocity_limit" and value < self.velocity_limit == math.inf:
            raise ValueError("velocity_limit: expected inf, as when the simulator was made, got a limit")
        object.__setattr__(self, name, value)
        if shared is not None and name in self.PLACES:
            self._share(name, value)

    def _checked(self, name: str, value: Any) -> Any:
        if name in self._LOWEST:
            return checks.number(name, value, minimum=self._LOWEST[name])
        return checks.positive(name, value) if name in ("effort_limit", "velocity_limit") else value

    def at(self, name: str, time: float) -> float:
        """Returns a target, the feedforward or the effort limit at a time [s].

        Raises:
            ValueError: a function of time gave an impossible number.
        """
        value = getattr(self, name)
        return float(self._checked(name, value(time)) if callable(value) else value)

    def __post_init__(self) -> None:
        if self.proportional_gain + self.derivative_gain == 0.0:
            raise ValueError("proportional_gain, derivative_gain: expected at least one above 0, got 0 and 0")

    @property
    def terms(self) -> tuple[tuple[str, float], ...]:
        """Joints of the row and their coefficients."""
        return ((self.joint, 1.0),)

    def numbers(self, q: Sequence[float], time: float, period: float) -> Numbers:
        """Returns the numbers of the row in a step, see `JointMotion.numbers`."""
        timed = (self.at(name, time) for name in self.TIMED)
        return controller_row(period, q[0], self.proportional_gain, self.derivative_gain, *timed)

    def slope(self, time: float, period: float) -> float:
        """Returns the derivative of v^ by the row's length [1/s], see `JointMotion.slope`."""
        return controller_slope(period, self.proportional_gain, self.derivative_gain)


class CompiledLaw:
    """Base of joint laws of constant numbers, which compiled code reads in an array."""

    #: attributes that are kept in the array
    NUMBERS: ClassVar[tuple[str, ...]]

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, self._checked(name, value))
        if "_shared" in self.__dict__ and name in self.NUMBERS:
            self.__dict__["_shared"][self.NUMBERS.index(name)] = getattr(self, name)

    def share(self, numbers: np.ndarray) -> None:
        """Keeps the attributes `NUMBERS` in an array as well."""
        object.__setattr__(self, "_shared", numbers)
        numbers[:] = [getattr(self, name) for name in self.NUMBERS]

    def _checked(self, name: str, value: Any) -> Any:
        return checks.number(name, value) if name in self.NUMBERS else value


@dataclass
class JointCoupler(CompiledLaw):
    """q = ratio q_other + offset: a gear, a belt, a rack that moves two fingers.

    Attributes:
        tree: number of the tree.
        joint: name of a joint of one coordinate.
        other: name of another of the same tree.
        ratio: -, or m/rad, rad/m; not 0.
        offset: m or rad.

    Examples:
        >>> from importlib.resources import files
        >>> from convex_contact import Simulator, World
        >>> world = World()
        >>> _ = world.add_urdf("gripper", files("convex_contact") / "data/parallel_gripper.urdf", self_collision=False)
        >>> world.move_joint("gripper", "left", lambda time: 0.01 * time)
        >>> world.couple_joints("gripper", "right", "left", ratio=2.0)  # adds a JointCoupler
        >>> simulator = Simulator(world, period=0.01)
        >>> simulator.step(100)
        >>> round(simulator.joint("right").position, 4)
        0.02
    """

    tree: int
    joint: str
    other: str
    ratio: float = 1.0
    offset: float = 0.0

    NUMBERS: ClassVar[tuple[str, ...]] = ("ratio", "offset")

    def __post_init__(self) -> None:
        if self.ratio == 0.0 or self.joint == self.other:
            raise ValueError(
                f"ratio, other: expected a number other than 0 and another joint, got {self.ratio:g}, {self.other!r}"
            )

    @property
    def terms(self) -> tuple[tuple[str, float], ...]:
        """Joints of the row and their coefficients."""
        return ((self.joint, 1.0), (self.other, -self.ratio))

    def numbers(self, q: Sequence[float], time: float, period: float) -> Numbers:
        """Returns the numbers of the row in a step, see `JointMotion.numbers`."""
        return coupler_row(period, q[0], q[1], self.ratio, self.offset)

    def slope(self, time: float, period: float) -> float:
        """Returns the derivative of v^ by the row's length [1/s], see `JointMotion.slope`."""
        return rigid_slope(period)


@dataclass
class JointFriction(CompiledLaw):
    """Coulomb friction of a joint: it holds the joint up to a force or torque, and resists motion with that force.

    The row is gamma = clamp(-v/R, -dt F, dt F) with the near-rigid limit R. A joint at rest therefore creeps at
    beta^2/(4 pi^2) = 2.5e-4 of the speed that its load would give it in a step without friction.

    Attributes:
        tree: number of the tree.
        joint: name of a joint of one velocity.
        friction: F, N or N m, not negative.

    Examples:
        >>> from importlib.resources import files
        >>> from convex_contact import JointFriction, Simulator, World
        >>> world = World()
        >>> tree = world.add_urdf("motor", files("convex_contact") / "data/shaft.urdf", armature=1.0)
        >>> world.joint_laws.append(JointFriction(tree, "turn", friction=1.0))
        >>> simulator = Simulator(world, period=0.01)
        >>> simulator.joint("turn").effort = 3.0  # N m, of which the friction takes 1
        >>> simulator.step(100)
        >>> round(simulator.joint("turn").velocity, 3)
        2.0
    """

    tree: int
    joint: str
    friction: float

    NUMBERS: ClassVar[tuple[str, ...]] = ("friction",)

    def _checked(self, name: str, value: Any) -> Any:
        return checks.number(name, value, minimum=0.0) if name in self.NUMBERS else value

    @property
    def terms(self) -> tuple[tuple[str, float], ...]:
        """Joints of the row and their coefficients."""
        return ((self.joint, 1.0),)

    def numbers(self, q: Sequence[float], time: float, period: float) -> Numbers:
        """Returns the numbers of the row in a step, see `JointMotion.numbers`."""
        return friction_row(period, self.friction)

    def slope(self, time: float, period: float) -> float:
        """Returns 0: friction does not depend on the position, see `JointMotion.slope`."""
        return 0.0


@dataclass(frozen=True)
class SpeedLimit:
    """One side of the velocity limit of a motor, as a row of its own (`write_speed_row`); made by the simulator.

    Attributes:
        motor: the motor.
        sign: 1 for V, -1 for -V.
    """

    motor: JointActuator
    sign: float

    @property
    def tree(self) -> int:
        """Number of the tree."""
        return self.motor.tree

    @property
    def terms(self) -> tuple[tuple[str, float], ...]:
        """Joints of the row and their coefficients."""
        return ((self.motor.joint, -self.sign),)


JointLaw = JointMotion | JointActuator | JointCoupler | JointFriction | TendonActuator | TendonLimit | TendonEquality


class Controller(Protocol):
    """Part of a world that makes rows for every step from its state."""

    def start(self, d: WorldDynamics) -> Any:
        """Returns a function that makes the rows of each step; called at every reset.

        The function is called with the world after `WorldDynamics.prepare`, and returns a `Constraint`. Joints between
        bodies, gears, welds and their motors return objects instead, whose rows compiled code makes (`body_rows`).
        """


__getattr__ = renamed(__name__, {"Steps": "StepFunction", "Weld": "convex_contact.model.weld:Weld"})
