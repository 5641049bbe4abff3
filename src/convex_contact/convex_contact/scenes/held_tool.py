"""A tool as a body of a world whose motion without contact is given from outside, such as the tip of a held device.

The tool is a sphere that does not spin. In each step its inertia A and its velocity v* without contact are those of the
device, so that contacts act on the device as if it were part of the convex problem.
"""

from __future__ import annotations

import numpy as np

from convex_contact.model.world import World
from convex_contact.simulation.dynamics import WorldDynamics
from convex_contact.simulation.simulator import Simulator

#: moment of inertia of the tool, so large that it does not spin [kg m^2]
NO_SPIN = 1.0
#: normal force and friction of one contact on the tool [N], and displacement of the other body's point in a step [m]
ContactPart = tuple[np.ndarray, np.ndarray, np.ndarray]


class GivenMotion:
    """Replaces inertia and free velocity of a body by given ones, as a coupling of a simulator.

    Args:
        dynamics: dynamics of the simulator.
        body: number of the body.

    Attributes:
        inertia: apparent inertia of the body's translation (3, 3) [kg], world axes.
        velocity: velocity at the end of the step without contact (3,) [m/s].
    """

    def __init__(self, dynamics: WorldDynamics, body: int) -> None:
        self._block, self._goal = dynamics.free_motion(body)
        self.inertia, self.velocity = np.eye(3), np.zeros(3)

    def add(self, period: float) -> None:
        self._block[:6, :6] = NO_SPIN * np.eye(6)
        self._block[:3, :3] = self.inertia
        self._goal[:3], self._goal[3:] = self.velocity, 0.0

    def finish(self, period: float) -> None:
        """Does nothing."""

    def reset(self) -> None:
        """Has no state."""


def free_bodies(world: World) -> list[int]:
    """Returns the numbers of the bodies that can move."""
    return [i for i, body in enumerate(world.bodies) if body.kind == "free"]


def add_tool(world: World, *, radius: float, friction: float, stiffness: float, dissipation: float) -> int:
    """Adds the tool's tip to a world, a sphere with combined contact parameters against all others; returns its number.

    Args:
        world: world of the other bodies.
        radius: of the sphere [m].
        friction: coefficient of friction.
        stiffness: of the contacts [N/m].
        dissipation: Hunt and Crossley's [s/m].
    """
    others = [body.name for body in world.bodies]
    tool = world.add_sphere("tool tip", radius=radius, mass=1.0, inertia=NO_SPIN)
    for name in others:
        world.set_pair(
            tool,
            name,
            stiffness=stiffness,
            dissipation=dissipation,
            relaxation_time=0.0,
            friction=friction,
        )
    return tool


def forces_on_tool(
    simulator: Simulator, tool: int, R: np.ndarray
) -> tuple[np.ndarray, np.ndarray, bool, float, list[ContactPart]]:
    """Sums normal force and friction of the last step on the tool.

    Args:
        simulator: simulator of the world.
        tool: number of the tool.
        R: rotation from the world to the frame of the results (3, 3).

    Returns:
        Normal force and friction (3,) [N], whether all contacts stick, the largest depth [m], and the contacts.
    """
    found, T = simulator.contacts, simulator.period
    velocity = simulator.state(tool).velocity
    push, friction, depth, sticks, parts = np.zeros(3), np.zeros(3), 0.0, [], []
    for k in np.flatnonzero((found.body == tool).any(axis=1)):
        impulse = found.impulse[k]
        if impulse[2] <= 0.0:
            continue
        sign = 1.0 if found.body[k, 1] == tool else -1.0
        t1, t2, normal = sign * found.frame[k]
        slip = found.slip_velocity[k] + found.normal_velocity[k] * found.frame[k, 2]
        pressing, tangential = R @ (impulse[2] / T * normal), R @ ((impulse[0] * t1 + impulse[1] * t2) / T)
        parts.append((pressing, tangential, R @ (T * (velocity - sign * slip))))
        push, friction = push + pressing, friction + tangential
        depth = max(depth, -float(found.signed_distance[k]))
        sticks.append(bool(found.sticking[k]))
    return push, friction, bool(sticks) and all(sticks), depth, parts
