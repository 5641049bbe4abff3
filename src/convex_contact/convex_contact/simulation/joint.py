"""Joints of a simulation by name: position, velocity, effort and motor, to read and to set."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from convex_contact.model.motors import MotorLaw
from convex_contact.model.names import unknown_name
from convex_contact.model.world import WorldError
from convex_contact.problem import checks
from convex_contact.simulation.dynamics import WorldDynamics
from convex_contact.simulation.joint_limits import position_limits

#: kinds of joints with several velocities, by the names of Pinocchio
_SEVERAL = {"JointModelSpherical": "ball", "JointModelPlanar": "planar", "JointModelFreeFlyer": "free"}
#: numbers of the position by kind of joint, for messages
POSITIONS = {
    "ball": "4 finite numbers, a quaternion (x, y, z, w)",
    "planar": "3 finite numbers x, y, angle",
    "free": "7 finite numbers, position and quaternion (x, y, z, w)",
}


def full_name(places: Mapping[str, tuple[int, str]], name: str, others: Sequence[str] = ()) -> str:
    """Returns the name of a joint of a tree as ``tree/joint``.

    Args:
        places: :attr:`StateAccess.joint_places`.
        name: as ``tree/joint``, or the joint's name alone if it is not that of another joint.
        others: names of other joints, for the message.

    Raises:
        WorldError: there is no such joint, or several.
    """
    found = [name] if name in places else [known for known in places if places[known][1] == name]
    if len(found) > 1:
        raise WorldError(f"joint: expected one of {', '.join(found)}, got {name!r}")
    if not found:
        raise unknown_name("joint", name, [*places, *others], near=[short for _, short in places.values()])
    return found[0]


def unit_quaternion(values: np.ndarray, where: str) -> np.ndarray:
    """Returns a quaternion (x, y, z, w) of length 1; one that has it to rounding stays as it is.

    Raises:
        WorldError: It is zero.
    """
    norm = checks.quaternion_length(where, values, error=WorldError)
    return values if abs(norm - 1.0) < 1e-15 else values / norm


def read_only(values: np.ndarray) -> np.ndarray:
    """Returns an array whose entries cannot be set, since setting those of a copy would have no effect."""
    values.setflags(write=False)
    return values


class Joint:
    """A joint of an articulated tree in a simulation. Values that are set act from the next step on.

    Numbers depend on the kind of the joint:

    ========== ================================================= ==========================================
    kind       position                                          velocity; the effort is its dual
    ========== ================================================= ==========================================
    hinge      angle, rad                                        rad/s
    slide      displacement, m                                   m/s
    ball       unit quaternion (x, y, z, w) of the joint's link  angular (3,), rad/s, along the link's axes
               in its parent
    planar     x, y, angle (3,), m and rad                       [linear x, y; angular] (3,) along the link's
                                                                 axes
    free       position (3,), m, and unit quaternion (7,)        [linear; angular] (6,) along the link's axes
    ========== ================================================= ==========================================

    Arrays are read as copies and set whole. A quaternion that is set is normalised.
    :meth:`~convex_contact.Simulator.set_state` sets a free joint of a root by pose and twist in the world.

    Args:
        dynamics: the world in motion.
        laws: returns the joint laws of the simulator and those of its motors, which a reset makes anew.
        name: as ``tree/joint``, or the joint's name alone if no other joint has it.

    Attributes:
        name: as ``tree/joint``.
        kind: "hinge", "slide", "ball", "planar" or "free".
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

    #: a value that is set by a wrong name is an error
    __slots__ = ("_arrays", "_laws", "_nq", "_nv", "_place", "_q", "_v", "kind", "lower", "name", "upper")
    name: str
    kind: str
    lower: float
    upper: float

    def __init__(self, dynamics: WorldDynamics, laws: Callable[[], Sequence[Any]], name: str) -> None:
        self.name = full_name(dynamics.joint_places, name)
        tree, within = dynamics.joint_places[self.name]
        model, a = dynamics.world.trees[tree].model.model, dynamics.arrays
        joint = model.joints[model.getJointId(within)]
        self._arrays, self._q, self._nq = a, int(a.tree_q[tree]) + joint.idx_q, joint.nq
        self._v, self._nv = int(a.tree_v[tree]) + joint.idx_v, joint.nv
        unlimited = (-math.inf, math.inf)  # a continuous joint, or one with several velocities
        self.lower, self.upper = position_limits(model, joint) if joint.nq == 1 else unlimited
        kind = joint.shortname()
        self.kind = _SEVERAL.get(kind, "slide" if kind.startswith("JointModelP") else "hinge")
        self._laws, self._place = laws, (tree, within)

    def __repr__(self) -> str:
        position, velocity = (format(x, "g") if np.ndim(x) == 0 else str(x) for x in (self.position, self.velocity))
        return f"{type(self).__name__}({self.name!r}, position={position}, velocity={velocity})"

    @property
    def position(self) -> Any:
        """Position of the joint, see the class; from -pi to pi if continuous. It may be set beyond the limits."""
        q, i = self._arrays.q, self._q
        if self._nv == 1:
            return float(q[i]) if self._nq == 1 else math.atan2(q[i + 1], q[i])
        now = q[i : i + self._nq].copy()
        if self.kind == "planar":
            return read_only(np.array([now[0], now[1], math.atan2(now[3], now[2])]))
        now[-4:] = unit_quaternion(now[-4:], self.name)
        return read_only(now)

    @position.setter
    def position(self, value: Any) -> None:
        q, i, where = self._arrays.q, self._q, f"{self.name}: position"
        if self._nv == 1:
            x = checks.number(where, value)
            q[i : i + self._nq] = x if self._nq == 1 else (math.cos(x), math.sin(x))
            return
        given = self._numbers(where, value, 3 if self.kind == "planar" else self._nq, POSITIONS[self.kind])
        if self.kind == "planar":
            q[i : i + 4] = given[0], given[1], math.cos(given[2]), math.sin(given[2])
        else:
            given[-4:] = unit_quaternion(given[-4:], where)
            q[i : i + self._nq] = given

    @property
    def velocity(self) -> Any:
        """Velocity of the joint; see the class."""
        return self._read(self._arrays.v)

    @velocity.setter
    def velocity(self, value: Any) -> None:
        self._write(self._arrays.v, "velocity", value)

    @property
    def effort(self) -> Any:
        """Force or torque on the joint [N or N m], without motor and limits; it holds until it is set again."""
        return self._read(self._arrays.effort)

    @effort.setter
    def effort(self, value: Any) -> None:
        self._write(self._arrays.effort, "effort", value)

    @property
    def motor(self) -> MotorLaw:
        """PD controller that the world gives the joint, with gains and targets that can be set.

        Raises:
            WorldError: the joint has none.
        """
        for law in self._laws():
            if isinstance(law, MotorLaw) and (law.tree, law.joint) == self._place:
                return law
        raise WorldError(f"{self.name}: expected a joint with a motor (World.actuate_joint), got one without")

    @property
    def target(self) -> Any:
        """Target position of the motor, as :attr:`position`, or a function of time [s]."""
        return self.motor.target_position

    @target.setter
    def target(self, value: Any) -> None:
        self.motor.target_position = value

    @property
    def column(self) -> int:
        """Index of the joint's first velocity among those of the world, as in Jacobians."""
        return self._v

    def _numbers(self, where: str, value: Any, count: int, expected: str = "") -> np.ndarray:
        return checks.array(where, value, (count,), expected=expected or f"{count} finite numbers", error=WorldError)

    def _read(self, values: np.ndarray) -> Any:
        if self._nv == 1:
            return float(values[self._v])
        return read_only(values[self._v : self._v + self._nv].copy())

    def _write(self, values: np.ndarray, field: str, value: Any) -> None:
        where = f"{self.name}: {field}"
        if self._nv == 1:
            values[self._v] = checks.number(where, value)
        else:
            values[self._v : self._v + self._nv] = self._numbers(where, value, self._nv)
