"""Point mass on a rigid rod that swings in the vertical plane: the shortest complete example."""

from __future__ import annotations

import casadi as ca
import numpy as np

from admittance_constraints.checks import finite_number
from admittance_constraints.model.definition import Definition
from admittance_constraints.model.drawing import FIXED, MOVING, Canvas
from admittance_constraints.model.mechanism import Mechanism


class Pendulum(Mechanism):
    """A pendulum in the plane x2 = 0; the tool is the mass.

    q = z = (q1): angle from straight down [rad], towards +x1.

    Args:
        mass: [kg].
        length: of the rod [m].
        gravity: [m/s^2], along -x3.
        damping: at the joint [N m s/rad].

    Examples:
        >>> from admittance_constraints import Pendulum
        >>> pendulum = Pendulum(mass=0.5, length=0.2)
        >>> pendulum.inertia(pendulum.configuration([0.0])).round(6).tolist()  # m l^2
        [[0.02]]
    """

    def __init__(self, *, mass: float = 0.5, length: float = 0.2, gravity: float = 9.81, damping: float = 0.0) -> None:
        self.mass = finite_number("mass", mass, above=0.0)
        self.length = finite_number("length", length, above=0.0)
        self.gravity = finite_number("gravity", gravity)
        self.damping = finite_number("damping", damping, minimum=0.0)
        super().__init__()

    def draw(self, canvas: Canvas, q: np.ndarray) -> None:
        """Draws the rod and the mass."""
        p = self.forward(q)[:3]
        canvas.line("rod", [np.zeros(3), p], 0.003, FIXED)
        canvas.sphere("mass", p, 0.015, MOVING)

    def define(self, d: Definition) -> None:
        m, length = d.parameter("mass", self.mass), d.parameter("length", self.length)
        q, qdot = d.coordinates(1)
        d.forward([length * ca.sin(q), ca.SX(0), -length * ca.cos(q)])
        d.inverse([ca.atan2(d.x[0], -d.x[2])])
        d.kinetic_energy(m * ca.sumsqr(d.xdot[:3]) / 2)
        d.potential(m * d.parameter("gravity", self.gravity) * d.x[2])
        d.damping_force(d.parameter("damping", self.damping) * qdot)
