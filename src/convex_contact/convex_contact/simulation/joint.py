"""A joint of an articulated tree in a simulation: position, velocity, effort and motor."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from convex_contact.model.joints import Given, JointActuator, JointLaw
from convex_contact.model.world import World, WorldError
from convex_contact.problem import checks
from convex_contact.simulation.dynamics import WorldDynamics
from convex_contact.simulation.joint_limits import position_limits


def joint_places(world: World) -> dict[str, tuple[int, str]]:
    """Returns the tree and the name within it of all joints that have one velocity, by ``tree/joint``."""
    return {
        f"{tree.name}/{name}": (number, name)
        for number, tree in enumerate(world.trees)
        if hasattr(tree.model, "model")
        for name, joint in list(zip(tree.model.model.names, tree.model.model.joints, strict=True))[1:]
        if joint.nv == 1
    }


class Joint:
    """A joint with one velocity: revolute, continuous or prismatic. A set value acts from the next step on.

    Args:
        dynamics: the world in motion.
        laws: returns the motions, actuators and couplers of the simulator, which a reset makes again.
        name: as ``tree/joint``, or the joint's name alone if no other tree has it.

    Attributes:
        name: as ``tree/joint``.
        lower: lower limit of the position [m or rad]; -inf if none.
        upper: upper limit of the position [m or rad]; inf if none.

    Raises:
        WorldError: there is no such joint, or several.

    Examples:
        >>> from importlib.resources import files
        >>> from convex_contact import Simulator, World
        >>> world = World()
        >>> _ = world.add_urdf("motor", files("convex_contact") / "data/shaft.urdf", armature=0.5)  # kg m^2
        >>> simulator = Simulator(world, period=0.01)
        >>> joint = simulator.joint("motor/turn")
        >>> joint.effort = 2.0  # N m
        >>> simulator.step(100)
        >>> round(joint.velocity, 3)  # 4 rad/s^2 for 1 s
        4.0
    """

    def __init__(self, dynamics: WorldDynamics, laws: Callable[[], Sequence[JointLaw]], name: str) -> None:
        places = joint_places(dynamics.world)
        found = [known for known in places if name in (known, places[known][1])]
        if len(found) != 1:
            expected = f"one of {', '.join(found or places) or 'none'}"
            raise WorldError(f"joint: expected {expected}, got {name!r}")
        self.name = found[0]
        tree, within = places[self.name]
        model, a = dynamics.world.trees[tree].model.model, dynamics.arrays
        joint = model.joints[model.getJointId(within)]
        self._arrays, self._q, self._nq = a, int(a.tree_q[tree]) + joint.idx_q, joint.nq
        self._v = int(a.tree_v[tree]) + joint.idx_v
        unlimited = (-math.inf, math.inf)  # a continuous joint
        self.lower, self.upper = position_limits(model, joint) if joint.nq == 1 else unlimited
        self._laws, self._place = laws, (tree, within)

    def __repr__(self) -> str:
        return f"Joint({self.name!r}, position={self.position:g}, velocity={self.velocity:g})"

    @property
    def position(self) -> float:
        """Position [m or rad]; of a continuous joint from -pi to pi. It may be set beyond the limits."""
        q, i = self._arrays.q, self._q
        return float(q[i]) if self._nq == 1 else math.atan2(q[i + 1], q[i])

    @position.setter
    def position(self, value: float) -> None:
        q, i, x = self._arrays.q, self._q, checks.number(f"{self.name}: position", value)
        if self._nq == 1:
            q[i] = x
        else:
            q[i], q[i + 1] = math.cos(x), math.sin(x)

    @property
    def velocity(self) -> float:
        """Velocity [m/s or rad/s]."""
        return float(self._arrays.v[self._v])

    @velocity.setter
    def velocity(self, value: float) -> None:
        self._arrays.v[self._v] = checks.number(f"{self.name}: velocity", value)

    @property
    def effort(self) -> float:
        """Force or torque on the joint [N or N m], without motor and limits; it holds until it is set again."""
        return float(self._arrays.effort[self._v])

    @effort.setter
    def effort(self, value: float) -> None:
        self._arrays.effort[self._v] = checks.number(f"{self.name}: effort", value)

    @property
    def motor(self) -> JointActuator:
        """PD controller that the world gives the joint, with gains and targets that can be set.

        Raises:
            WorldError: the joint has none.
        """
        for law in self._laws():
            if isinstance(law, JointActuator) and (law.tree, law.joint) == self._place:
                return law
        raise WorldError(f"{self.name}: expected a joint with a motor (World.actuate_joint), got one without")

    @property
    def target(self) -> Given:
        """Target position of the motor [m or rad], or a function of time [s]."""
        return self.motor.target_position

    @target.setter
    def target(self, value: Any) -> None:
        self.motor.target_position = value

    @property
    def column(self) -> int:
        """Index of the joint's velocity among those of the world, as in Jacobians."""
        return self._v
