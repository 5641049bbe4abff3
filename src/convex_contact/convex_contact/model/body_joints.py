"""Joints between bodies, also those that close a loop, and gears between hinges.

A joint is described in the world frame at the start. Its springs are so stiff that a step cannot distinguish them from
rigid parts (:mod:`convex_contact.problem.constraints`). T is the twist of body b against body a at the joint's point
x_b of b, x_a is the point of a, and the axes e_1, e_2, e_3 = n rotate with a:

========  ===========================================  ========================================================
kind      rows                                         errors
========  ===========================================  ========================================================
ball      e_1, e_2, e_3 . T_linear                     e_i . (x_b - x_a)
hinge     those of ball; e_1, e_2 . T_angular          e_i . (n x n_b), n_b being the axis that rotates with b
slide     e_1, e_2 . T_linear; e_i . T_angular         e_1, e_2 . (x_b - x_a); e_i . log of the rotation of b
weld      those of ball; e_i . T_angular               those of ball; e_i . log of the rotation of b
distance  u . T_linear, u from x_a to x_b              |x_b - x_a| - length
========  ===========================================  ========================================================

A gear keeps n_1 theta_1 + n_2 theta_2 of two hinges with n_1 and n_2 teeth constant up to multiples of 2 pi. It
therefore does not count revolutions and does not drift.
"""

from __future__ import annotations

import math
from collections.abc import Sized
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np
import pinocchio as pin

from convex_contact.model import body_joint_kernels as kernels
from convex_contact.model.body import Vector, WorldError, vector
from convex_contact.model.body_rows import BodyRowLists, frame_of
from convex_contact.model.names import unknown_name
from convex_contact.problem import checks
from convex_contact.problem.row_numbers import NEAR_RIGID, NEAR_RIGID_STIFFNESS

if TYPE_CHECKING:
    from convex_contact.model.world import World
    from convex_contact.simulation.dynamics import WorldDynamics

Kind = Literal["ball", "hinge", "slide", "weld", "distance"]
KINDS: tuple[str, ...] = get_args(Kind)
#: kinds with an axis; those whose coordinate can be read
WITH_AXIS, WITH_COORDINATE = ("hinge", "slide"), ("hinge", "slide", "distance")
#: largest number of teeth
TEETH = 10_000


#: rotation (3, 3), position (3,) and twist [linear; angular] (6,) of a body's pose
BodyFrame = tuple[np.ndarray, np.ndarray, np.ndarray]


class JointCoordinate(NamedTuple):
    """Position and velocity of a joint.

    Attributes:
        position: angle of b against a since the start, from -pi to pi (hinge) [rad]; displacement (slide) or distance
            [m].
        velocity: rate of the position [rad/s or m/s].

    Examples:
        >>> from convex_contact import Simulator, World
        >>> world = World()
        >>> ball = world.add_sphere("ball", mass=1.0, radius=0.1, position=(0.0, 0.0, -1.0))
        >>> rod = world.add_joint("rod", "distance", None, "ball", point=(0, 0, 0), point_b=(0, 0, -1))
        >>> Simulator(world, period=1e-3).body_joint("rod").position
        1.0
    """

    position: float
    velocity: float


@dataclass(frozen=True)
class BodyJoint:
    """A joint between two bodies, see the module.

    Attributes:
        name: unique among these joints.
        kind: "ball", "hinge", "slide", "weld" or "distance".
        a: number of a body; None: the world.
        b: number of another body.
        point: point of the joint on a, in the world frame at the start (3,) [m].
        point_b: point of the joint on b, in the world frame at the start (3,) [m]; equals `point` unless a distance.
        axis: of a hinge or a slide, a unit vector in the world frame at the start (3,).
        length: of a distance [m]; None: as at the start.
        stiffness: of the springs [N/m and N m/rad].
        relaxation_time: of the springs [s]; None: the period, which halves an error in each step.
        near_rigid: beta of the near-rigid limit; 0: none.

    Examples:
        >>> from convex_contact import World
        >>> world = World()
        >>> door = world.add_box("door", mass=10.0, size=(0.8, 0.04, 2.0), position=(0.4, 0.0, 1.0))
        >>> world.add_joint("hinge", "hinge", None, door, point=(0.0, 0.0, 0.0), axis=(0.0, 0.0, 1.0)).kind
        'hinge'
    """

    name: str
    kind: Kind
    a: int | None
    b: int
    point: np.ndarray
    point_b: np.ndarray
    axis: np.ndarray
    length: float | None = None
    stiffness: float = NEAR_RIGID_STIFFNESS
    relaxation_time: float | None = None
    near_rigid: float = NEAR_RIGID

    def start(self, d: WorldDynamics) -> StartedJoint:
        """Returns the joint in a simulation, whose rows compiled code makes; see `joints.Controller.start`."""
        return StartedJoint(self, d)


class StartedJoint:
    """A joint with its poses on the bodies at the start.

    Args:
        joint: description of the joint.
        d: the world at the start.

    Attributes:
        joint: description of the joint.
        effort: dual to :meth:`rates` [N or N m], held until it is set again, shape (k,).
    """

    def __init__(self, joint: BodyJoint, d: WorldDynamics) -> None:
        self.joint = joint
        self.effort = np.zeros({"weld": 0, "ball": 3}.get(joint.kind, 1))
        R, p, _ = frame_of(d, joint.a)
        Q, q, _ = frame_of(d, joint.b)
        alignment = pin.Quaternion.FromTwoVectors(np.array([0.0, 0.0, 1.0]), joint.axis).matrix()
        self._axes = R.T @ alignment  # columns e_1, e_2, e_3 in the frame of a
        self._point_a, self._point_b = R.T @ (joint.point - p), Q.T @ (joint.point_b - q)
        self._relative = R.T @ Q
        length = float(np.linalg.norm(joint.point_b - joint.point))
        self._length = length if joint.length is None else joint.length

    def number(self, rows: BodyRowLists) -> int:
        """Returns the number of the joint among those of the rows, to which it is added if it is new."""
        joint = self.joint
        tau = math.nan if joint.relaxation_time is None else joint.relaxation_time
        return rows.joint(
            joint,
            body=(-1 if joint.a is None else joint.a, joint.b),
            axes=self._axes,
            point=(self._point_a, self._point_b),
            at_a=False,
            relative=self._relative,
            spring=(joint.stiffness, joint.stiffness, tau, joint.near_rigid, self._length),
        )

    def add_rows(self, rows: BodyRowLists) -> int:
        """Adds the rows of the joint and of its effort; returns its number."""
        kind, number = self.joint.kind, self.number(rows)
        kept = {"ball": 3, "hinge": 5, "slide": 5, "weld": 6, "distance": 1}[kind]
        code = {"ball": kernels.BALL, "hinge": kernels.HINGE, "slide": kernels.SLIDE, "weld": kernels.WELD,
                "distance": kernels.DISTANCE}[kind]  # fmt: skip
        rows.add_springs(code, number, kept + len(self.effort))
        return number

    def _relative_pose(self, d: WorldDynamics) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Returns axes (3, 3), x_b - x_a, the rotation of b against a since the start, and the Jacobian of T."""
        R, p, J = frame_of(d, self.joint.a)
        Q, q, K = frame_of(d, self.joint.b)
        x_a, x_b = p + R @ self._point_a, q + Q @ self._point_b
        J[:3] -= pin.skew(x_b - p) @ J[3:]
        K[:3] -= pin.skew(x_b - q) @ K[3:]
        return R @ self._axes, x_b - x_a, Q @ (R @ self._relative).T, K - J

    def coordinate(self, d: WorldDynamics) -> tuple[float, np.ndarray]:
        """Returns the position and the row (nv + 1,) of its rate, see :class:`JointCoordinate`."""
        e, displacement, rotation, twist = self._relative_pose(d)
        if self.joint.kind == "hinge":
            there = e.T @ rotation @ e[:, 0]
            return math.atan2(there[1], there[0]), e[:, 2] @ twist[3:]
        if self.joint.kind == "slide":
            return float(e[:, 2] @ displacement), e[:, 2] @ twist[:3]
        distance = float(np.linalg.norm(displacement))
        return distance, (displacement / distance) @ twist[:3]

    def rates(self, d: WorldDynamics) -> np.ndarray:
        """Returns the rows (k, nv + 1) of the joint's velocity: of a ball along the axes of b, of others one rate."""
        return self.ball(d)[1] if self.joint.kind == "ball" else self.coordinate(d)[1][None]

    def placed(self, a: BodyFrame, b: BodyFrame, position: Any, moves_b: bool) -> tuple[np.ndarray, np.ndarray]:
        """Returns rotation (3, 3) and position (3,) of one body at which the joint holds.

        Args:
            a: frame of a.
            b: frame of b.
            position: position of the joint, that of a ball as rotation matrix.
            moves_b: whether b is moved; else a.
        """
        (R, p, _), (Q, q, _) = a, b
        kind, axis = self.joint.kind, self._axes[:, 2]
        rotation = self._relative
        if kind == "hinge":
            rotation = pin.AngleAxis(position, axis).matrix() @ rotation
        elif kind == "ball":
            rotation = rotation @ position
        if kind != "distance" and moves_b:
            Q = R @ rotation
        elif kind != "distance":
            R = Q @ rotation.T
        displacement = np.zeros(3)
        if kind == "slide":
            displacement = position * (R @ axis)
        elif kind == "distance":
            displacement = position * _direction(self.joint.name, q + Q @ self._point_b - p - R @ self._point_a)
        if moves_b:
            return Q, p + R @ self._point_a + displacement - Q @ self._point_b
        return R, q + Q @ self._point_b - displacement - R @ self._point_a

    def twisted(self, a: BodyFrame, b: BodyFrame, velocity: Any, moves_b: bool) -> np.ndarray:
        """Returns the twist [linear; angular] (6,) of one body at which the joint holds, with its pose as given.

        Args:
            a: frame of a.
            b: frame of b.
            velocity: velocity of the joint.
            moves_b: whether the twist is that of b; else of a.
        """
        (R, p, twist_a), (Q, q, twist_b) = a, b
        kind, axis, x_b = self.joint.kind, R @ self._axes[:, 2], q + Q @ self._point_b
        linear, angular = np.zeros(3), np.zeros(3)
        if kind == "hinge":
            angular = velocity * axis
        elif kind == "slide":
            linear = velocity * axis
        elif kind == "ball":
            angular = Q @ velocity
        else:  # but for its length, it leaves the bodies free
            along = _direction(self.joint.name, x_b - p - R @ self._point_a)
            v_a = twist_a[:3] + np.cross(twist_a[3:], x_b - p)
            linear = twist_b[:3] + np.cross(twist_b[3:], x_b - q) - v_a
            linear = linear + (velocity - along @ linear) * along
            angular = twist_b[3:] - twist_a[3:]
        if moves_b:
            omega = twist_a[3:] + angular
            v = twist_a[:3] + np.cross(twist_a[3:], x_b - p) + linear
            return np.concatenate([v + np.cross(omega, q - x_b), omega])
        omega = twist_b[3:] - angular
        v = twist_b[:3] + np.cross(twist_b[3:], x_b - q) - linear
        return np.concatenate([v + np.cross(omega, p - x_b), omega])

    def ball(self, d: WorldDynamics) -> tuple[np.ndarray, np.ndarray]:
        """Returns the position of a ball, a rotation matrix (3, 3), and the rows (3, nv + 1) of its velocity.

        The rotation maps the axes of b to those of b at the start, fixed to a.
        """
        (R, *_), (Q, *_) = frame_of(d, self.joint.a), frame_of(d, self.joint.b)
        return (R @ self._relative).T @ Q, Q.T @ self._relative_pose(d)[3][3:]


def _direction(name: str, displacement: np.ndarray) -> np.ndarray:
    """Returns the unit vector from the point of a to that of b of a distance.

    Raises:
        WorldError: the points are the same.
    """
    distance = float(np.linalg.norm(displacement))
    if not distance > 0.0:
        raise WorldError(f"{name}: distance: expected points apart, got the same one")
    return displacement / distance


@dataclass(frozen=True)
class Gear:
    """Two hinges that are coupled by a gear.

    Attributes:
        first: a hinge.
        second: another hinge.
        teeth: of their wheels; the second rotates by teeth[0]/teeth[1] of the first.
        internal: with parallel axes both rotate in the same direction, as a wheel in a ring gear does; False: opposite.

    Examples:
        >>> from convex_contact import World
        >>> world = World()
        >>> for name, x in (("pinion", 0.0), ("wheel", 0.3)):
        ...     number = world.add_sphere(name, mass=1.0, radius=0.1, position=(x, 0.0, 0.0))
        ...     hinge = world.add_joint(name, "hinge", None, name, point=(x, 0.0, 0.0), axis=(0.0, 0.0, 1.0))
        >>> world.add_gear("pinion", "wheel", teeth=(20, 40))
        >>> world.controllers[-1].teeth
        (20, 40)
    """

    first: BodyJoint
    second: BodyJoint
    teeth: tuple[int, int]
    internal: bool = False

    def start(self, d: WorldDynamics) -> StartedGear:
        """Returns the gear in a simulation, whose row compiled code makes; see `joints.Controller.start`."""
        return StartedGear(self, d)


class StartedGear:
    """A gear in a simulation.

    Args:
        gear: its description.
        d: the world at the start.
    """

    def __init__(self, gear: Gear, d: WorldDynamics) -> None:
        self._gear, self._joints = gear, (gear.first.start(d), gear.second.start(d))

    def add_rows(self, rows: BodyRowLists) -> int:
        """Adds the row of the gear; returns its number."""
        first, second = (joint.number(rows) for joint in self._joints)
        one, other = self._gear.teeth
        return rows.add_gear(first, second, (one, -other if self._gear.internal else other))


# Longer than others by its arguments and their documentation.
def add_joint(
    world: World,
    name: str,
    kind: str,
    a: int | str | None,
    b: int | str,
    *,
    point: Vector,
    axis: Vector | None = None,
    point_b: Vector | None = None,
    length: float | None = None,
    collide: bool = False,
    stiffness: float = NEAR_RIGID_STIFFNESS,
    relaxation_time: float | None = None,
    near_rigid: float = NEAR_RIGID,
) -> BodyJoint:
    """Joins two bodies of a world.

    Args:
        world: the world of the bodies.
        name: unique among the joints between bodies.
        kind: "ball", "hinge", "slide", "weld" or "distance".
        a: number or name of a body; None: the world.
        b: number or name of another body; a tree moves it or a.
        point: of the joint in the world frame at the start (3,) [m]; for a distance the point on a.
        axis: of a hinge or a slide in the world frame at the start (3,), of any length.
        point_b: for a distance, the point on b in the world frame at the start (3,) [m].
        length: of a distance [m]; None: as at the start.
        collide: the two bodies can touch each other.
        stiffness: of the springs [N/m and N m/rad], reduced to the near-rigid limit.
        relaxation_time: of the springs [s]; None: the period.
        near_rigid: beta of the near-rigid limit; 0: none.

    Returns:
        The joint.

    Raises:
        WorldError: a value is missing or wrong; nothing is added.
    """
    known = [joint.name for joint in body_joints(world)]
    if not isinstance(name, str):
        raise WorldError(f"name: expected a text, got {name!r}")
    if not name or name in known:
        raise WorldError(f"name: {name!r} is empty or taken")
    if kind not in KINDS:
        raise unknown_name(f"{name}: kind", kind, KINDS)
    one, other = None if a is None else world.number(a), world.number(b)
    if one == other:
        raise WorldError(f"{name}: b: expected another body, got the same one")
    if not any(n is not None and world.bodies[n].kind in ("free", "link") for n in (one, other)):
        raise WorldError(f"{name}: b: expected a body that can move, on one side at least")
    for field, value, kinds in (("axis", axis, WITH_AXIS), ("point_b", point_b, ("distance",))):
        if (value is not None) != (kind in kinds):
            raise WorldError(f"{name}: {field}: expected {'one' if kind in kinds else 'none'} for a {kind}")
    if length is not None and kind != "distance":
        raise WorldError(f"{name}: length: expected none for a {kind}")
    here = vector(point, 3, f"{name}: point")
    there = here if point_b is None else vector(point_b, 3, f"{name}: point_b")
    along = np.array([0.0, 0.0, 1.0]) if axis is None else vector(axis, 3, f"{name}: axis")
    if not np.linalg.norm(along) > 1e-9:
        raise WorldError(f"{name}: axis: expected a vector that is not zero")
    try:
        joint = BodyJoint(
            name, kind, one, other, here, there, along / np.linalg.norm(along),  # type: ignore[arg-type]
            None if length is None else checks.number("length", length, above=0.0),
            checks.number("stiffness", stiffness, above=0.0),
            None if relaxation_time is None else checks.number("relaxation_time", relaxation_time, minimum=0.0),
            checks.number("near_rigid", near_rigid, minimum=0.0),
        )  # fmt: skip
    except ValueError as error:
        raise WorldError(f"{name}: {error}") from None
    world.controllers.append(joint)
    if one is not None and not collide:
        world.disable_pair(one, other)
    return joint


def add_gear(world: World, first: str, second: str, *, teeth: tuple[int, int], internal: bool = False) -> None:
    """Couples two hinges by a gear.

    Args:
        world: the world of the hinges.
        first: name of a hinge.
        second: name of another hinge.
        teeth: of their wheels.
        internal: with parallel axes both rotate in the same direction; False: in opposite directions.

    Raises:
        WorldError: a joint is no hinge, or a number of teeth is wrong.
    """
    hinges = {joint.name: joint for joint in body_joints(world) if joint.kind == "hinge"}
    for place, name in (("first", first), ("second", second)):
        if not isinstance(name, str) or name not in hinges:
            raise unknown_name(place, name, hinges, "the hinges")
    if first == second:
        raise WorldError(f"second: expected another hinge, got {first!r} again")
    if not isinstance(teeth, Sized) or len(teeth) != 2 or not all(isinstance(n, int) and 0 < n <= TEETH for n in teeth):
        raise WorldError(f"teeth: expected two whole numbers from 1 to {TEETH}, got {teeth!r}")
    world.controllers.append(Gear(hinges[first], hinges[second], (teeth[0], teeth[1]), internal))


def body_joints(world: World) -> list[BodyJoint]:
    """Returns the joints between bodies of a world."""
    return [controller for controller in world.controllers if isinstance(controller, BodyJoint)]
