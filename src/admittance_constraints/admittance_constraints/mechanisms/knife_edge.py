"""Skate on a plane: a body that slides along its edge and rotates about it, without slip sideways."""

from __future__ import annotations

import math

import casadi as ca
import numpy as np

from admittance_constraints.checks import finite_number
from admittance_constraints.model.definition import Definition
from admittance_constraints.model.drawing import MOVING, TRACK, Canvas
from admittance_constraints.model.mechanism import Mechanism


class KnifeEdge(Mechanism):
    """A skate on a plane, with its centre of mass over the contact point.

    q = z = (q1, q2, q3): contact point [m] and heading [rad]. On a plane inclined by `slope` about x1 (downhill along
    -x2) the free skate moves on a cycloid: its mean height does not change.

    Args:
        mass: [kg].
        inertia: about the vertical [kg m^2].
        slope: of the plane [rad].
        gravity: [m/s^2].

    Examples:
        >>> from admittance_constraints import KnifeEdge
        >>> KnifeEdge(mass=0.5).dimension
        3
    """

    def __init__(self, *, mass: float = 0.5, inertia: float = 0.001, slope: float = 0.0, gravity: float = 9.81) -> None:
        self.mass = finite_number("mass", mass, above=0.0)
        self.moment = finite_number("inertia", inertia, above=0.0)
        self.slope = finite_number("slope", slope)
        if not abs(self.slope) <= math.pi / 2.0:
            raise ValueError(f"slope: expected -pi/2 to pi/2 [rad], got {self.slope:g}")
        self.gravity = finite_number("gravity", gravity)
        super().__init__()

    def draw(self, canvas: Canvas, q: np.ndarray) -> None:
        """Draws the blade and its track."""
        p, along = self.forward(q)[:3], 0.03 * np.array([np.cos(q[2]), np.sin(q[2]), 0.0])
        canvas.arrow("blade", p - along, p + along, 0.004, MOVING)
        canvas.trail("track", p, 0.001, TRACK)

    def define(self, d: Definition) -> None:
        m, J = d.parameter("mass", self.mass), d.parameter("inertia", self.moment)
        q, qdot = d.coordinates(3)
        d.forward([q[0], q[1], ca.SX(0), q[2]])  # the heading is x4
        d.inverse([d.x[0], d.x[1], d.x[3]])
        d.kinetic_energy(m * (qdot[0] ** 2 + qdot[1] ** 2) / 2 + J * qdot[2] ** 2 / 2)
        d.potential(m * d.parameter("downhill", self.gravity * math.sin(self.slope)) * q[1])
        d.nonholonomic("no side slip", -ca.sin(d.x[3]) * d.xdot[0] + ca.cos(d.x[3]) * d.xdot[1])
