"""Welds: springs that keep a body, or a point of it, at a pose relative to another body."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pinocchio as pin

from convex_contact.model.body_joint_kernels import SPRINGS
from convex_contact.model.body_rows import BodyRowLists, frame_of
from convex_contact.problem import checks

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

    def __post_init__(self) -> None:
        if self.a == self.b:
            raise ValueError("b: expected another body, got the same one")
        for name in ("stiffness", "relaxation_time"):
            object.__setattr__(self, name, checks.number(name, getattr(self, name), above=0.0))
        for name in ("rotational_stiffness", "near_rigid"):
            object.__setattr__(self, name, checks.number(name, getattr(self, name), minimum=0.0))
        for name, count in (("point", 3), ("position", 3), ("orientation", 4)):
            value = getattr(self, name)
            if value is not None:
                numbers = checks.array(name, value, (count,))
                if name == "orientation":
                    checks.quaternion_length(name, numbers)
                object.__setattr__(self, name, tuple(numbers.tolist()))

    def start(self, d: WorldDynamics) -> StartedWeld:
        """Returns the weld in a simulation, whose rows compiled code makes; see `joints.Controller.start`."""
        return StartedWeld(self, d)


class StartedWeld:
    """A weld in a simulation, with the pose that it keeps.

    Args:
        weld: its description.
        d: the world at the start.
    """

    def __init__(self, weld: Weld, d: WorldDynamics) -> None:
        self._weld = weld
        R, p, _ = frame_of(d, weld.a)
        Q, q, _ = frame_of(d, weld.b)
        self._lever = np.zeros(3) if weld.point is None else np.array(weld.point) - d.world.bodies[weld.b].center
        self._position, self._orientation = R.T @ (q + Q @ self._lever - p), R.T @ Q
        if weld.position is not None:
            self._position = np.array(weld.position) - d.world.bodies[weld.a].center
        if weld.orientation is not None:
            self._orientation = pin.Quaternion(np.array(weld.orientation)).normalized().matrix()

    def add_rows(self, rows: BodyRowLists) -> int:
        """Adds the rows of the weld; returns the number of its joint."""
        weld = self._weld
        number = rows.joint(
            weld,
            body=(weld.a, weld.b),
            axes=np.eye(3),
            point=(self._position, self._lever),
            at_a=True,
            relative=self._orientation,
            spring=(weld.stiffness, weld.rotational_stiffness, weld.relaxation_time, weld.near_rigid, 0.0),
        )
        rows.add_springs(SPRINGS, number, 6 if weld.rotational_stiffness else 3)
        return number
