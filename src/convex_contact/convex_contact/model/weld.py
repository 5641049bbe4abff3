"""Welds: springs that keep a body, or a point of it, at a pose relative to another body."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pinocchio as pin

from convex_contact.model.body_rows import frame_of, spring_rows
from convex_contact.problem import checks
from convex_contact.problem.constraints import Constraint

if TYPE_CHECKING:
    from convex_contact.simulation.dynamics import WorldDynamics

Triple = tuple[float, float, float]


@dataclass(frozen=True)
class Weld:
    """Springs between two bodies that keep their relative pose at the start, or a given one.

    Attributes:
        a: number of a body.
        b: number of another body; one of them moves freely or is a link.
        stiffness: [N/m]. A spring of 1e6 N/m or more is rigid to hands and tools; with dt^2 k far above the masses it
            needs no near-rigid limit.
        rotational_stiffness: [N m/rad]; 0: b may rotate about the point.
        relaxation_time: of both springs, damping over stiffness [s].
        near_rigid: beta of the near-rigid limit of both (`constraints`); 0: none.
        point: attachment in the frame of b (3,) [m]; None: its centre of mass, for a link the origin of its joint.
        position: of that point in the frame of a (3,) [m]; None: as at the start.
        orientation: of b in the frame of a, quaternion (x, y, z, w); None: as at the start.

    Examples:
        >>> from convex_contact import Simulator, World
        >>> world = World()
        >>> _ = world.add_body("ceiling", fixed=True)
        >>> ball = world.add_sphere("ball", mass=1.0, radius=0.1)
        >>> world.weld("ceiling", "ball", stiffness=1e3, relaxation_time=0.1)  # adds a Weld
        >>> simulator = Simulator(world, period=0.01)
        >>> simulator.step(200)
        >>> round(1e3 * float(simulator.state(ball).position[2]), 2)  # the weight over the stiffness [mm]
        -9.81
    """

    a: int
    b: int
    stiffness: float = 1e6
    rotational_stiffness: float = 1e3
    relaxation_time: float = 0.01
    near_rigid: float = 0.0
    point: Triple | None = None
    position: Triple | None = None
    orientation: tuple[float, float, float, float] | None = None

    #: values for which the order of the bodies matters
    DIRECTED: ClassVar[frozenset[str]] = frozenset(("point", "position", "orientation"))

    def __post_init__(self) -> None:
        if self.a == self.b:
            raise ValueError("b: expected another body, got the same one")
        for name in ("stiffness", "relaxation_time"):
            checks.number(name, getattr(self, name), above=0.0)
        for name in ("rotational_stiffness", "near_rigid"):
            checks.number(name, getattr(self, name), minimum=0.0)
        for name, count in (("point", 3), ("position", 3), ("orientation", 4)):
            value = getattr(self, name)
            if value is not None:
                numbers = checks.array(name, value, (count,))
                if name == "orientation":
                    checks.quaternion_length(name, numbers)
                object.__setattr__(self, name, tuple(numbers.tolist()))

    def start(self, d: WorldDynamics) -> Callable[[WorldDynamics], Constraint]:
        """Returns a function that makes the rows of each step, see `joints.Controller.start`."""
        R, p, _ = frame_of(d, self.a)
        Q, q, _ = frame_of(d, self.b)
        lever = np.zeros(3) if self.point is None else np.array(self.point) - d.world.bodies[self.b].center
        position, orientation = R.T @ (q + Q @ lever - p), R.T @ Q
        if self.position is not None:
            position = np.array(self.position) - d.world.bodies[self.a].center
        if self.orientation is not None:
            orientation = pin.Quaternion(np.array(self.orientation)).normalized().matrix()
        rows = 6 if self.rotational_stiffness else 3

        def make(d: WorldDynamics) -> Constraint:
            R, p, J = frame_of(d, self.a)
            Q, q, K = frame_of(d, self.b)
            there, here = R @ position, Q @ lever
            error = np.concatenate([q + here - p - there, pin.log3(Q @ (R @ orientation).T)])
            J[:3] -= pin.skew(there) @ J[3:]  # at the target of b's point, fixed to a
            K[:3] -= pin.skew(here) @ K[3:]
            difference = (K - J)[:rows]
            gain = np.repeat([self.stiffness, self.rotational_stiffness], 3)[:rows]
            return spring_rows(
                difference,
                error[:rows],
                period=d.period,
                stiffness=gain,
                relaxation_time=self.relaxation_time,
                near_rigid=self.near_rigid,
            )

        return make
