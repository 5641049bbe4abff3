"""Joints between bodies in a simulation by name, to read and to set like those of trees."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pinocchio as pin

from convex_contact.model.body_joints import BodyFrame, StartedJoint
from convex_contact.model.body_rows import frame_of
from convex_contact.model.joints import JointLaw
from convex_contact.model.motors import NO_TREE, motor_laws
from convex_contact.model.world import WorldError
from convex_contact.problem import checks
from convex_contact.simulation.body_placement import can_be_placed, set_body_state
from convex_contact.simulation.dynamics import WorldDynamics
from convex_contact.simulation.joint import POSITIONS, Joint, full_name, read_only, unit_quaternion


def started_joints(controllers: Iterable[Any]) -> dict[str, StartedJoint]:
    """Returns the joints between bodies that move, by name: all but welds."""
    started = (joint for joint in controllers if isinstance(joint, StartedJoint))
    return {joint.joint.name: joint for joint in started if joint.joint.kind != "weld"}


def find_joint(
    d: WorldDynamics, laws: Callable[[], Sequence[JointLaw]], controllers: Callable[[], Sequence[Any]], name: str
) -> Joint:
    """Returns a joint of a tree or between bodies; a whole name is found even if it is the short name of another joint.

    A joint between bodies has no short name. If its name is the short name of joints of trees, a warning names them.

    Args:
        d: the world in motion.
        laws: returns the joint laws of the simulator, which a reset makes anew.
        controllers: returns the controllers of the simulator, which a reset makes anew.
        name: name as in :meth:`~convex_contact.Simulator.joint`.

    Raises:
        WorldError: There is no such joint, or several.
    """
    if not isinstance(name, str):
        raise WorldError(f"joint: expected a name, got {name!r}")
    between = started_joints(controllers())

    def all_laws() -> list[Any]:
        return [*laws(), *motor_laws(controllers())]

    if name in between:
        if name in d.joint_places:
            raise WorldError(f"joint: expected the name of one joint, got {name!r} of a tree and between bodies")
        others = [whole for whole, (_, short) in d.joint_places.items() if short == name]
        if others:
            text = f"joint: {name!r} is the joint between bodies; another joint of this name is {', '.join(others)}"
            warnings.warn(text, stacklevel=3)
        return BodyJointHandle(d, all_laws, controllers, name)
    return Joint(d, all_laws, full_name(d.joint_places, name, list(between)))


class BodyJointHandle(Joint):
    """A joint between bodies a and b (:meth:`~convex_contact.World.add_joint`) in a simulation, as :class:`Joint`.

    ======== ========================================================= =============================================
    kind     position                                                  velocity; the effort on b, and opposite on a
    ======== ========================================================= =============================================
    hinge    angle of b against a since the start, -pi to pi, rad      rad/s; N m
    slide    displacement of b since the start, m                      m/s; N
    distance distance of the points, m                                 m/s; N
    ball     unit quaternion (x, y, z, w) of b against a since the     angular velocity of b against a (3,), rad/s,
             start, from the axes of b to those of b at the start      along the axes of b; N m
    ======== ========================================================= =============================================

    Setting position or velocity moves b so that the joint holds exactly, or a if b is neither free nor the root of a
    tree that floats. The other body stays, and so do bodies that other joints hold to the moved one.

    Args:
        dynamics: the world in motion.
        laws: returns the joint laws of the simulator and those of its motors, which a reset makes anew.
        controllers: returns the controllers of the simulator, which a reset makes anew.
        name: name of the joint.

    Attributes:
        name: as given.
        kind: "hinge", "slide", "distance" or "ball".

    Examples:
        >>> from convex_contact import Simulator, World
        >>> world = World(gravity=(0.0, 0.0, 0.0))
        >>> _ = world.add_box("door", mass=10.0, size=(0.8, 0.04, 2.0), position=(0.4, 0.0, 1.0))
        >>> _ = world.add_joint("hinge", "hinge", None, "door", point=(0.0, 0.0, 0.0), axis=(0.0, 0.0, 1.0))
        >>> simulator = Simulator(world, period=0.01)
        >>> joint = simulator.joint("hinge")
        >>> joint.position, joint.velocity = 0.5 * 3.14159265, 2.0
        >>> simulator.state("door").position.round(3).tolist(), simulator.state("door").velocity.round(3).tolist()
        ([0.0, 0.4, 1.0], [-0.8, 0.0, 0.0])
    """

    __slots__ = ("_controllers", "_dynamics")

    def __init__(
        self,
        dynamics: WorldDynamics,
        laws: Callable[[], Sequence[Any]],
        controllers: Callable[[], Sequence[Any]],
        name: str,
    ) -> None:
        self._dynamics, self._controllers = dynamics, controllers
        self._laws, self._place = laws, (NO_TREE, name)
        self.name, self.kind = name, started_joints(controllers())[name].joint.kind
        self.lower, self.upper = -math.inf, math.inf

    @property
    def position(self) -> Any:
        """Position of the joint; see the class."""
        d = self._prepared()
        if self.kind != "ball":
            return self._started.coordinate(d)[0]
        return read_only(np.array(pin.Quaternion(self._started.ball(d)[0]).coeffs()))

    @position.setter
    def position(self, value: Any) -> None:
        where, rate = f"{self.name}: position", self.velocity
        if self.kind == "ball":
            given = self._numbers(where, value, 4, POSITIONS["ball"])
            self._move(where, pin.Quaternion(unit_quaternion(given, where)).matrix(), rate)
        else:
            self._move(where, checks.number(where, value, above=0.0 if self.kind == "distance" else None), rate)

    @property
    def velocity(self) -> Any:
        """Velocity of the joint; see the class."""
        d = self._prepared()
        found = self._started.rates(d) @ np.append(d.arrays.v, 1.0)
        return read_only(found) if self.kind == "ball" else float(found[0])

    @velocity.setter
    def velocity(self, value: Any) -> None:
        where = f"{self.name}: velocity"
        self._move(where, None, self._numbers(where, value, 3) if self.kind == "ball" else checks.number(where, value))

    @property
    def effort(self) -> Any:
        """Force or torque of the joint on b beside its motor's, and opposite on a, until it is set again, N or N m."""
        effort = self._started.effort
        return read_only(effort.copy()) if self.kind == "ball" else float(effort[0])

    @effort.setter
    def effort(self, value: Any) -> None:
        where = f"{self.name}: effort"
        given = self._numbers(where, value, 3) if self.kind == "ball" else checks.number(where, value)
        self._started.effort[:] = given

    @property
    def column(self) -> int:
        """Has no value: a joint between bodies has no velocity of its own.

        Raises:
            WorldError: In every case.
        """
        raise WorldError(f"{self.name}: column: expected a joint of a tree, got one between bodies")

    @property
    def _started(self) -> StartedJoint:
        return started_joints(self._controllers())[self.name]

    def _prepared(self) -> WorldDynamics:
        self._dynamics.prepare()
        return self._dynamics

    def _move(self, where: str, position: Any, velocity: Any) -> None:
        """Puts b, or a, where the joint has a position and a velocity.

        Args:
            where: beginning of messages.
            position: of the joint, a rotation matrix of a ball; None: the body stays, and only its velocity changes.
            velocity: of the joint.

        Raises:
            WorldError: Neither body can be placed; nothing is changed.
        """
        d, joint = self._prepared(), self._started.joint
        moves_b = can_be_placed(d, joint.b)
        if not moves_b and not can_be_placed(d, joint.a):
            raise WorldError(
                f"{where}: expected a free body or the root of a floating tree on one side, got {self._names()}; set "
                f"the joints of the tree"
            )
        a, b = self._frame(joint.a), self._frame(joint.b)
        R, p, old = b if moves_b else a
        if position is not None:
            R, p = self._started.placed(a, b, position, moves_b)
        a, b = (a, (R, p, old)) if moves_b else ((R, p, old), b)
        twist = self._started.twisted(a, b, velocity, moves_b)
        body = joint.b if moves_b or joint.a is None else joint.a
        center = R @ d.world.bodies[body].center
        set_body_state(
            d, body,
            position=None if position is None else p - center,
            orientation=None if position is None else pin.Quaternion(R).coeffs(),
            velocity=twist[:3] - np.cross(twist[3:], center),
            angular_velocity=twist[3:],
        )  # fmt: skip

    def _frame(self, body: int | None) -> BodyFrame:
        R, p, J = frame_of(self._dynamics, body)
        return R.copy(), p.copy(), J @ np.append(self._dynamics.arrays.v, 1.0)

    def _names(self) -> str:
        bodies, joint = self._dynamics.world.bodies, self._started.joint
        known = (None if number is None else bodies[number] for number in (joint.a, joint.b))
        return " and ".join("the world" if body is None else f"the {body.kind} {body.name}" for body in known)
