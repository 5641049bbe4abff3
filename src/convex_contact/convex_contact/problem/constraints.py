"""Constraints beside contact: linearised rows with SAP's regularised convex potentials.

Every constraint here is a set of scalar rows. A row has the velocity s = J v + b and the impulse

    gamma = clamp((v^ - s)/R, lower, upper),                                                                (a)

the negative derivative of a convex, once differentiable potential: R gamma^2/2 between the bounds, straight beyond.

*Compliant rows* keep a constraint function g at zero, or above zero. Implicit Euler on a spring k with relaxation
time tau gives gamma = -dt k (g + tau dg/dt) with g = g0 + dt s, which is (a) with

    R = 1/(dt k (dt + tau)),   v^ = -g0/(dt + tau).                                                         (b)

As k grows, R is bounded by the near-rigid limit R >= beta^2 w/(4 pi^2), w = J A^-1 J^T (Castro, Permenter, Han 2022,
section V). With the effective mass 1/w this is the spring whose natural period is beta dt, which a step of dt cannot
distinguish from a rigid one.

*Controllers* have the gains of a PD law: tau = kp (q_d - q) + kd (v_d - s) + u with q = q0 + dt s gives (a)
with R = 1/(dt (dt kp + kd)), v^ = (kp (q_d - q0) + kd v_d + u)/(dt kp + kd), and bounds of plus and minus dt times
the effort limit: the saturation is part of the convex problem.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from convex_contact.problem import checks
from convex_contact.problem.row_law import row_impulse, spring_compliance
from convex_contact.problem.row_numbers import NEAR_RIGID, NEAR_RIGID_STIFFNESS, controller_row

#: fields of a row beside its Jacobian, in the order of compiled code
ROW_FIELDS = ("bias", "target", "compliance", "near_rigid", "lower", "upper")


@dataclass(frozen=True)
class Rows:
    """Scalar rows of a constraint for one step.

    Attributes:
        jacobian: J, shape (m, nv).
        bias: b [m/s], shape (m,).
        target: v^ [m/s], shape (m,).
        compliance: R [1/kg] before the near-rigid limit, above 0, shape (m,).
        near_rigid: beta, shape (m,).
        lower: least impulse [N s], shape (m,), may be -inf.
        upper: largest impulse [N s], shape (m,), may be inf.
    """

    jacobian: np.ndarray
    bias: np.ndarray
    target: np.ndarray
    compliance: np.ndarray
    near_rigid: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    def __post_init__(self) -> None:
        m = len(self.jacobian)
        for name in ROW_FIELDS:
            if np.shape(getattr(self, name)) != (m,):
                raise ValueError(f"{name}: expected shape ({m},), as jacobian has, got {np.shape(getattr(self, name))}")


def compliance(period: float, stiffness: float, relaxation_time: float | None) -> tuple[float, float]:
    """Returns R without the near-rigid limit, and dt + tau of v^ = -g0/(dt + tau), (b); tau = None stands for dt."""
    dt_plus_tau = period + (period if relaxation_time is None else relaxation_time)
    return spring_compliance(period, stiffness, dt_plus_tau), dt_plus_tau


class Constraint(ABC):
    """Base class of constraints, which add scalar rows to a contact problem.

    Examples:
        >>> import numpy as np
        >>> from convex_contact import Compliant, Constraint, Simulator, World
        >>> class Level(Constraint):  # holds the height of the first body
        ...     def rows(self, velocities, period):
        ...         return Compliant(np.eye(velocities)[2], [0.0]).rows(velocities, period)
        >>> world = World()
        >>> ball = world.add_sphere("ball", mass=1.0, radius=0.1, velocity=(1.0, 0.0, 0.0))
        >>> simulator = Simulator(world, period=0.01)
        >>> simulator.constraints.append(lambda dynamics: Level())
        >>> simulator.step(100)
        >>> simulator.state(ball).position.round(2).tolist()
        [1.0, 0.0, -0.0]
    """

    @abstractmethod
    def rows(self, velocities: int, period: float) -> Rows:
        """Returns the rows for a problem with that number of velocities and that period [s]."""


class Compliant(Constraint):
    """A spring that keeps g = 0, or g >= 0 with impulses of one sign only, (a) and (b).

    Args:
        jacobian: dg/dt = J v + b, shape (m, nv) or (nv,).
        value: g at the start of the step [m or rad], shape (m,).
        unilateral: whether the constraint is g >= 0 instead of g = 0.
        bias: b, shape (m,).
        stiffness: k [N/m or N m/rad].
        relaxation_time: tau [s]; None for the period, which damps critically or more at any mass.
        near_rigid: beta; 0 switches the limit off.

    Examples:
        >>> from convex_contact import Compliant
        >>> rows = Compliant([[1.0]], [0.02], stiffness=1e3).rows(1, 0.01)
        >>> rows.target.round(9).tolist()  # the velocity -g0/(dt + tau), tau the period [m/s]
        [-1.0]
        >>> (1.0 / rows.compliance).round(6).tolist()  # dt k (dt + tau) [kg]
        [0.2]
    """

    def __init__(
        self,
        jacobian: ArrayLike,
        value: ArrayLike,
        *,
        unilateral: bool = False,
        bias: ArrayLike = 0.0,
        stiffness: float = NEAR_RIGID_STIFFNESS,
        relaxation_time: float | None = None,
        near_rigid: float = NEAR_RIGID,
    ) -> None:
        J = np.atleast_2d(np.asarray(jacobian, dtype=float))
        self.jacobian = checks.array("jacobian", J, J.shape)
        self.value = checks.per_contact("value", value, len(J))
        self.bias = checks.per_contact("bias", bias, len(J))
        self.unilateral = bool(unilateral)
        self.stiffness = checks.number("stiffness", stiffness, above=0.0)
        self.near_rigid = checks.number("near_rigid", near_rigid, minimum=0.0)
        self.relaxation_time = (
            None if relaxation_time is None else checks.number("relaxation_time", relaxation_time, minimum=0.0)
        )

    def rows(self, velocities: int, period: float) -> Rows:
        m = len(self.jacobian)
        R, dt_plus_tau = compliance(period, self.stiffness, self.relaxation_time)
        return Rows(
            self.jacobian,
            self.bias,
            -self.value / dt_plus_tau,
            np.full(m, R),
            np.full(m, self.near_rigid),
            np.full(m, 0.0 if self.unilateral else -math.inf),
            np.full(m, math.inf),
        )


class GivenRows(Constraint):
    """A constraint given directly as rows, valid for one problem.

    Args:
        rows: rows of the constraint.
    """

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def rows(self, velocities: int, period: float) -> Rows:
        return self._rows


class HolonomicConstraint(Compliant):
    """g(q) = 0, linearised: dg/dt = J v + b; see `Compliant`.

    Examples:
        >>> from convex_contact import HolonomicConstraint
        >>> rows = HolonomicConstraint([[1.0, -1.0]], [0.0]).rows(2, 0.01)  # two equal coordinates
        >>> rows.lower.tolist(), rows.upper.tolist()  # it pulls and pushes
        ([-inf], [inf])
    """

    def __init__(self, jacobian: ArrayLike, value: ArrayLike, **options: float) -> None:
        super().__init__(jacobian, value, unilateral=False, **options)  # type: ignore[arg-type]


class WeldConstraint(HolonomicConstraint):
    """A weld of two frames P and Q.

    Args:
        jacobian: Jacobian of the twist of Q relative to P, [linear; angular] at Q's origin, world axes, shape (6, nv).
        position: displacement from P's origin to Q's, world axes [m], shape (3,).
        rotation: rotation vector from P's axes to Q's, world axes [rad], shape (3,); small.
        **options: options of `Compliant`.

    Examples:
        >>> import numpy as np
        >>> from convex_contact import WeldConstraint
        >>> weld = WeldConstraint(np.eye(6), position=(0.02, 0.0, 0.0), rotation=(0.0, 0.0, 0.0))
        >>> weld.rows(6, 0.01).target[0].round(9).item()  # corrects 0.02 m in two periods [m/s]
        -1.0
    """

    def __init__(self, jacobian: ArrayLike, position: ArrayLike, rotation: ArrayLike, **options: float) -> None:
        error = np.concatenate([checks.array("position", position, (3,)), checks.array("rotation", rotation, (3,))])
        super().__init__(jacobian, error, **options)


class DistanceConstraint(HolonomicConstraint):
    """A constant distance of two points p and q; row n^T (J_p - J_q), n = (p - q)/|p - q|.

    Args:
        jacobian_p: Jacobian of the velocity of p, world axes, shape (3, nv).
        jacobian_q: Jacobian of the velocity of q, world axes, shape (3, nv).
        p: position of p [m], shape (3,).
        q: position of q [m], shape (3,); must differ from p.
        length: distance [m], above 0.
        **options: options of `Compliant`.

    Examples:
        >>> import numpy as np
        >>> from convex_contact import DistanceConstraint
        >>> rod = DistanceConstraint(np.eye(3), np.zeros((3, 3)), p=(3.0, 4.0, 0.0), q=(0.0, 0.0, 0.0), length=4.5)
        >>> rod.value.tolist(), rod.jacobian.round(9).tolist()  # 0.5 m too long, along (0.6, 0.8, 0)
        ([0.5], [[0.6, 0.8, 0.0]])
    """

    def __init__(
        self,
        jacobian_p: ArrayLike,
        jacobian_q: ArrayLike,
        p: ArrayLike,
        q: ArrayLike,
        length: float,
        **options: float,
    ) -> None:
        displacement = checks.array("p", p, (3,)) - checks.array("q", q, (3,))
        distance = float(np.linalg.norm(displacement))
        if distance == 0.0:
            raise ValueError(f"p, q: expected two points, got the same one {np.asarray(p)}: no direction")
        length = checks.number("length", length, above=0.0)
        row = (displacement / distance) @ (np.asarray(jacobian_p, dtype=float) - np.asarray(jacobian_q, dtype=float))
        super().__init__(row, distance - length, **options)


class CouplerConstraint(HolonomicConstraint):
    """A coupling q_i = ratio q_j + offset of two coordinates: gears, belts.

    Args:
        velocities: nv of the problem.
        i: index of the first coordinate's velocity.
        j: index of the second coordinate's velocity.
        position_i: q_i at the start of the step.
        position_j: q_j at the start of the step.
        ratio: transmission ratio.
        offset: q_i at q_j = 0.
        **options: options of `Compliant`.

    Examples:
        >>> from convex_contact import CouplerConstraint
        >>> gear = CouplerConstraint(2, 0, 1, position_i=1.0, position_j=0.5, ratio=2.0)
        >>> gear.value.tolist(), (gear.jacobian @ [2.0, 1.0]).tolist()  # 1 = 2 x 0.5, and it rotates freely at 2 : 1
        ([0.0], [0.0])
    """

    def __init__(
        self,
        velocities: int,
        i: int,
        j: int,
        position_i: float,
        position_j: float,
        *,
        ratio: float = 1.0,
        offset: float = 0.0,
        **options: float,
    ) -> None:
        row = np.zeros(velocities)
        _set(row, "i", i, 1.0)
        _set(row, "j", j, -checks.number("ratio", ratio))
        super().__init__(row, position_i - ratio * position_j - offset, **options)


class PrescribedMotion(HolonomicConstraint):
    """A prescribed motion x_d of coordinates x with dx/dt = J v: g = x - x_d, dg/dt = J v - v_d.

    Args:
        jacobian: J, shape (m, nv).
        error: x - x_d at the start of the step, shape (m,).
        velocity: v_d of this step, shape (m,).
        **options: options of `Compliant`.

    Examples:
        >>> import numpy as np
        >>> from convex_contact import PrescribedMotion
        >>> motion = PrescribedMotion([[1.0]], error=[0.0], velocity=[0.3])
        >>> (motion.jacobian @ [0.3] + motion.bias).tolist()  # dg/dt vanishes at the velocity of the motion
        [0.0]
    """

    def __init__(self, jacobian: ArrayLike, error: ArrayLike, velocity: ArrayLike, **options: float) -> None:
        super().__init__(jacobian, error, bias=-np.asarray(velocity, dtype=float), **options)  # type: ignore[arg-type]


class JointLimit(Compliant):
    """Limits lower <= q <= upper of one coordinate; each finite bound is a unilateral row.

    Args:
        velocities: nv of the problem.
        index: index of the coordinate's velocity.
        position: q at the start of the step.
        lower: lower bound, may be -inf.
        upper: upper bound, may be inf.
        **options: options of `Compliant`.

    Examples:
        >>> from convex_contact import JointLimit
        >>> limit = JointLimit(1, 0, position=0.75, lower=-1.0, upper=1.0)
        >>> limit.value.tolist()  # distances from the lower and the upper bound
        [1.75, 0.25]
        >>> limit.rows(1, 0.01).lower.tolist()  # impulses only point away from the bounds
        [0.0, 0.0]
    """

    def __init__(
        self,
        velocities: int,
        index: int,
        position: float,
        *,
        lower: float = -math.inf,
        upper: float = math.inf,
        **options: float,
    ) -> None:
        if not lower < upper or not (math.isfinite(lower) or math.isfinite(upper)):
            raise ValueError(f"lower, upper: expected lower < upper, at least one of them finite, got {lower}, {upper}")
        position = checks.number("position", position)
        rows, values = [], []
        for bound, sign in ((lower, 1.0), (upper, -1.0)):
            if math.isfinite(bound):
                row = np.zeros(velocities)
                _set(row, "index", index, sign)
                rows.append(row)
                values.append(sign * (position - bound))
        super().__init__(np.array(rows), values, unilateral=True, **options)


class PDActuator(Constraint):
    """A PD controller with an effort limit on one coordinate, or on any combination J v of velocities.

    Args:
        jacobian: row J, shape (nv,).
        position: q at the start of the step.
        proportional_gain: kp, not negative.
        derivative_gain: kd, not negative; not both gains zero.
        target_position: q_d at the end of the step.
        target_velocity: target velocity v_d.
        feedforward: effort u [N or N m].
        effort_limit: largest effort [N or N m], above 0, may be inf.

    Examples:
        >>> from convex_contact import PDActuator
        >>> motor = PDActuator([1.0], 0.0, proportional_gain=100.0, derivative_gain=20.0, effort_limit=5.0)
        >>> rows = motor.rows(1, 0.01)
        >>> rows.lower.round(9).tolist(), rows.upper.round(9).tolist()  # impulses of 5 N m over 0.01 s
        ([-0.05], [0.05])
    """

    def __init__(
        self,
        jacobian: ArrayLike,
        position: float,
        *,
        proportional_gain: float,
        derivative_gain: float = 0.0,
        target_position: float = 0.0,
        target_velocity: float = 0.0,
        feedforward: float = 0.0,
        effort_limit: float = math.inf,
    ) -> None:
        row = np.asarray(jacobian, dtype=float)
        self.jacobian = checks.array("jacobian", row.reshape(1, -1), (1, row.size))
        self.position = checks.number("position", position)
        self.proportional_gain = checks.number("proportional_gain", proportional_gain, minimum=0.0)
        self.derivative_gain = checks.number("derivative_gain", derivative_gain, minimum=0.0)
        if self.proportional_gain + self.derivative_gain == 0.0:
            raise ValueError("proportional_gain, derivative_gain: expected at least one above 0, got 0 and 0")
        self.target_position = checks.number("target_position", target_position)
        self.target_velocity = checks.number("target_velocity", target_velocity)
        self.feedforward = checks.number("feedforward", feedforward)
        self.effort_limit = float(effort_limit)
        if not self.effort_limit > 0.0:
            raise ValueError(f"effort_limit: expected a number above 0, or inf, got {effort_limit!r}")

    def rows(self, velocities: int, period: float) -> Rows:
        numbers = controller_row(
            period, self.position, self.proportional_gain, self.derivative_gain, self.target_position,
            self.target_velocity, self.feedforward, self.effort_limit,
        )  # fmt: skip
        return Rows(self.jacobian, *np.array(numbers).reshape(6, 1))


def row_potential(s: np.ndarray, target: np.ndarray, R: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Returns the potentials l of rows [J]: R y gamma - R gamma^2/2 with y = (v^ - s)/R; R gamma^2/2 within bounds."""
    gamma = row_impulse(s, target, R, lower, upper)
    return np.asarray((target - s) * gamma - 0.5 * R * gamma * gamma)


def checked_rows(constraint: Constraint, velocities: int, period: float) -> Rows:
    """Returns the rows of a constraint in a problem with that number of velocities and that period [s].

    Raises:
        ValueError: the Jacobian's number of columns differs.
    """
    rows = constraint.rows(velocities, period)
    if rows.jacobian.shape[1] != velocities:
        raise ValueError(
            f"constraints: expected a Jacobian with {velocities} columns, got one with {rows.jacobian.shape[1]} in "
            f"{type(constraint).__name__}"
        )
    return rows


def _set(row: np.ndarray, name: str, index: int, value: float) -> None:
    if not 0 <= index < len(row):
        raise ValueError(f"{name}: expected an index from 0 to {len(row) - 1}, got {index!r}")
    row[index] += value
