"""Actuators, limits and couplers of tendons: weighted sums l = sum c_i q_i of joint coordinates of a tree.

A joint with a gear is a tendon with one term. A force f along the tendon exerts the joint forces c_i f. MuJoCo calls
this a fixed tendon.

* :class:`TendonActuator`: a force affine in length and velocity, implicit in both, with bounds.
* :class:`TendonLimit`: a bound of the length.
* :class:`TendonEquality`: a length that is held.
* :class:`TendonCoupler`: a length as a polynomial of another.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from convex_contact.problem import checks
from convex_contact.problem.constraints import Constraint, GivenRows, Rows
from convex_contact.problem.row_numbers import actuator_row, rigid_row, rigid_slope

if TYPE_CHECKING:
    from convex_contact.simulation.dynamics import WorldDynamics

#: name and coefficient of each joint of a tendon
Terms = tuple[tuple[str, float], ...]
Range = tuple[float, float]
UNBOUNDED: Range = (-math.inf, math.inf)


def length(terms: Terms, q: Sequence[float]) -> float:
    """Returns the length of a tendon from the coordinates of its joints."""
    return sum(c * x for (_, c), x in zip(terms, q, strict=True))


@dataclass
class TendonActuator:
    """f = (g0 + g1 l + g2 dl/dt) s + b0 + b1 l + b2 dl/dt at the end of the step, clamped to a range.

    The signal s is the control, clamped to its range, or an activation a that follows it: da/dt = u (integrator), or
    da/dt = (u - a)/tau (filter). Only a negative b1 + g1 s, a spring, is implicit.

    Attributes:
        tree: number of the tree.
        name: of the actuator; see `Simulator.actuator`.
        terms: joints with one coordinate, and their coefficients.
        gain: g0, g1, g2.
        bias: b0 [N or N m], b1, b2; b2 + g2 s is not above 0.
        control: u, or a function of time [s]; a value set between steps acts from the next step on.
        control_range: least and greatest control.
        force_range: least and greatest f [N or N m].
        dynamics: "none", "integrator" or "filter".
        time_constant: tau of the filter [s], above 0.
        activation: a; at the start, and in the last step.
        activation_range: least and greatest activation.

    Raises:
        ValueError: a value is out of its bounds; the message has the actuator's name.

    Examples:
        >>> from importlib.resources import files
        >>> from convex_contact import Simulator, TendonActuator, World
        >>> world = World()
        >>> tree = world.add_urdf("motor", files("convex_contact") / "data/shaft.urdf", armature=2.0)
        >>> world.joint_laws.append(TendonActuator(tree, "winch", (("turn", 0.5),), control=8.0))  # 8 N at 0.5 m
        >>> simulator = Simulator(world, period=0.01)
        >>> simulator.step(100)
        >>> round(simulator.joint("turn").velocity, 3)  # 4 N m on 2 kg m^2 for 1 s
        2.0
    """

    tree: int
    name: str
    terms: Terms
    gain: tuple[float, float, float] = (1.0, 0.0, 0.0)
    bias: tuple[float, float, float] = (0.0, 0.0, 0.0)
    control: float | Callable[[float], float] = 0.0
    control_range: Range = UNBOUNDED
    force_range: Range = UNBOUNDED
    dynamics: str = "none"
    time_constant: float = 1.0
    activation: float = 0.0
    activation_range: Range = UNBOUNDED
    #: time and control of the last step
    _last_control: tuple[float, float] | None = field(default=None, init=False, repr=False)

    #: attributes from which :meth:`share` makes its numbers
    _SHARED: ClassVar[tuple[str, ...]] = ("gain", "bias", "control", "control_range", "force_range", "dynamics")

    def __post_init__(self) -> None:
        if self.dynamics not in ("none", "integrator", "filter"):
            raise ValueError(f"{self.name}: dynamics: expected none, integrator or filter, got {self.dynamics!r}")
        checks.number(f"{self.name}: time_constant", self.time_constant, above=0.0)
        for name in ("control_range", "force_range", "activation_range"):
            low, high = getattr(self, name)
            if not low <= high:
                raise ValueError(f"{self.name}: {name}: expected two numbers that increase, got {low} and {high}")

    def __setattr__(self, name: str, value: object) -> None:
        if name == "control" and not callable(value):
            value = checks.number(f"{self.name}: control", value)
        object.__setattr__(self, name, value)
        if "_shared" in self.__dict__ and name in self._SHARED:
            self._share()

    def share(self, number: int, numbers: np.ndarray, by_python: set[int]) -> None:
        """Keeps the force in an array (6,) as well, where compiled code computes the row.

        Args:
            number: number of the actuator in its simulator.
            numbers: output, and kept up to date: 1 if compiled code computes the row, else 0 (functions of time, an
                activation, damping that depends on the signal); offset, kp and kd of f = offset - kp l - kd dl/dt;
                least and greatest f.
            by_python: output, and kept up to date: numbers of the actuators whose rows Python computes.
        """
        object.__setattr__(self, "_shared", (number, numbers, by_python))
        self._share()

    def _share(self) -> None:
        number, numbers, by_python = self.__dict__["_shared"]
        control = self.control
        compiled = not callable(control) and self.dynamics == "none" and self.gain[2] == 0.0 and self.bias[2] <= 0.0
        numbers[0] = compiled
        (by_python.discard if compiled else by_python.add)(number)
        if not callable(control):
            numbers[1:] = *self._affine(_clamped(control, self.control_range)), *self.force_range

    def _signal(self, time: float) -> float:
        """Returns s of the step that starts at a time [s]; advances the activation to that time."""
        given = self.control(time) if callable(self.control) else self.control
        u = _clamped(checks.number(f"{self.name}: control", given), self.control_range)
        if self.dynamics == "none":
            return u
        if self._last_control is not None and time > self._last_control[0]:
            since, before = time - self._last_control[0], self._last_control[1]
            a = self.activation
            if self.dynamics == "integrator":
                a += since * before
            else:
                a = before + (a - before) * math.exp(-since / self.time_constant)
            self.activation = _clamped(a, self.activation_range)
        self._last_control = time, u
        return self.activation

    def _affine(self, s: float) -> tuple[float, float, float]:
        """Returns offset, stiffness and damping of the force at a signal: f = offset - kp l - kd dl/dt."""
        offset, by_length, by_rate = (b + g * s for b, g in zip(self.bias, self.gain, strict=True))
        return offset, -by_length, -by_rate

    def numbers(self, q: Sequence[float], time: float, period: float) -> tuple[float, ...]:
        """Returns b, v^, R, beta, lower and upper of the row of a step, from its joints' coordinates at the start."""
        s, here = self._signal(time), length(self.terms, q)
        offset, kp, kd = self._affine(s)
        if kd < 0.0:
            raise ValueError(f"{self.name}: control: expected one for which the damping is not negative, got {s:g}")
        return actuator_row(period, here, offset, kp, kd, *map(float, self.force_range))

    def slope(self, time: float, period: float) -> float:
        """Returns the derivative of v^ by the row's length [1/s] in the last step, see `JointMotion.slope`.

        Raises:
            ValueError: the force rises with the length without damping: such a row has no slope.
        """
        s = self._signal(time) if self.dynamics == "none" else self.activation
        _, kp, kd = self._affine(s)
        gain = period * max(kp, 0.0) + kd
        if gain <= 0.0 and kp < 0.0:
            raise ValueError(f"{self.name}: expected a force with damping where it rises with the length")
        return -kp / gain if gain > 0.0 else 0.0


def _clamped(value: float, bounds: Range) -> float:
    return min(max(value, bounds[0]), bounds[1])


@dataclass(frozen=True)
class TendonLimit:
    """A bound of a tendon's length, whatever force it requires.

    Attributes:
        tree: number of the tree.
        tendon: joints with one coordinate, and their coefficients.
        bound: least or greatest length [m or rad].
        sign: 1: least, -1: greatest.

    Examples:
        >>> from importlib.resources import files
        >>> from convex_contact import Simulator, TendonLimit, World
        >>> world = World()
        >>> tree = world.add_urdf("motor", files("convex_contact") / "data/shaft.urdf", armature=1.0)
        >>> world.joint_laws.append(TendonLimit(tree, (("turn", 0.5),), bound=0.1, sign=-1.0))  # at most 0.1 m
        >>> simulator = Simulator(world, period=0.01)
        >>> simulator.joint("turn").effort = 1.0
        >>> simulator.step(200)
        >>> round(simulator.joint("turn").position, 3)
        0.2
    """

    tree: int
    tendon: Terms
    bound: float
    sign: float

    @property
    def terms(self) -> Terms:
        """Joints of the row and their coefficients."""
        return tuple((joint, self.sign * c) for joint, c in self.tendon)

    def numbers(self, q: Sequence[float], time: float, period: float) -> tuple[float, ...]:
        """Returns the numbers of the row in a step, see `TendonActuator.numbers`."""
        return rigid_row(period, self.sign * (length(self.tendon, q) - self.bound), 0.0, 0.0)

    def slope(self, time: float, period: float) -> float:
        """Returns the derivative of v^ by the row's length [1/s], see `JointMotion.slope`."""
        return rigid_slope(period)


@dataclass(frozen=True)
class TendonEquality:
    """A length that is held, whatever force this requires, by a spring near the rigid limit.

    Attributes:
        tree: number of the tree.
        tendon: joints with one coordinate, and their coefficients.
        length: that is held [m or rad].

    Examples:
        >>> from importlib.resources import files
        >>> from convex_contact import Simulator, TendonEquality, World
        >>> world = World()
        >>> tree = world.add_urdf("hand", files("convex_contact") / "data/parallel_gripper.urdf", self_collision=False)
        >>> world.joint_laws.append(TendonEquality(tree, (("right", 1.0), ("left", -1.0)), length=0.005))
        >>> world.move_joint("hand", "left", lambda time: 0.01 * time)
        >>> simulator = Simulator(world, period=0.01)
        >>> simulator.step(100)
        >>> round(simulator.joint("right").position, 4)  # 0.005 + 0.01
        0.015
    """

    tree: int
    tendon: Terms
    length: float

    @property
    def terms(self) -> Terms:
        """Joints of the row and their coefficients."""
        return self.tendon

    def numbers(self, q: Sequence[float], time: float, period: float) -> tuple[float, ...]:
        """Returns the numbers of the row in a step, see `TendonActuator.numbers`."""
        return rigid_row(period, length(self.tendon, q) - self.length, 0.0, -math.inf)

    def slope(self, time: float, period: float) -> float:
        """Returns the derivative of v^ by the row's length [1/s], see `JointMotion.slope`."""
        return rigid_slope(period)


@dataclass(frozen=True)
class TendonCoupler:
    """y = c0 + c1 x + c2 x^2 + ... between the lengths of two tendons of a tree, by a spring near the rigid limit.

    Attributes:
        tree: number of the tree.
        terms: joints of y with one coordinate, and their coefficients.
        other: joints of x and their coefficients; empty: x = 0.
        coefficients: c0, c1, ...

    Examples:
        >>> from importlib.resources import files
        >>> from convex_contact import Simulator, TendonCoupler, World
        >>> world = World()
        >>> tree = world.add_urdf("hand", files("convex_contact") / "data/parallel_gripper.urdf", self_collision=False)
        >>> world.move_joint("hand", "left", lambda time: 0.01 * time)
        >>> coupler = TendonCoupler(tree, (("right", 1.0),), (("left", 1.0),), coefficients=(0.005, 1.0))
        >>> world.controllers.append(coupler)
        >>> simulator = Simulator(world, period=0.01)
        >>> simulator.step(100)
        >>> round(simulator.joint("right").position, 4)  # 0.005 + 0.01
        0.015
    """

    tree: int
    terms: Terms
    other: Terms
    coefficients: tuple[float, ...]

    def start(self, d: WorldDynamics) -> Callable[[WorldDynamics], Constraint]:
        """Returns a function that makes the rows of each step, see `joints.Controller.start`."""
        model, a = d.world.trees[self.tree].model.model, d.arrays
        first_q, first_v = int(a.tree_q[self.tree]), int(a.tree_v[self.tree])
        joints = [[model.joints[model.getJointId(name)] for name, _ in terms] for terms in (self.terms, self.other)]
        places = [[first_q + joint.idx_q for joint in group] for group in joints]
        rows = np.zeros((2, d.nv))
        for row, terms, group in zip(rows, (self.terms, self.other), joints, strict=True):
            for (_, coefficient), joint in zip(terms, group, strict=True):
                row[first_v + joint.idx_v] += coefficient
        function = np.polynomial.Polynomial(self.coefficients)
        slope = function.deriv()

        def make(d: WorldDynamics) -> Constraint:
            y, x = (
                length(terms, d.arrays.q[place].tolist())
                for terms, place in zip((self.terms, self.other), places, strict=True)
            )
            numbers = np.array(rigid_row(d.period, float(y - function(x)), 0.0, -math.inf)).reshape(6, 1)
            return GivenRows(Rows((rows[0] - slope(x) * rows[1]).reshape(1, -1), *numbers))

        return make
