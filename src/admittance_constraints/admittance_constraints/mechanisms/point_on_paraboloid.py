"""Point mass on a paraboloid, or on a plane: a surface that guides a tool over a table."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np

from admittance_constraints.checks import finite_number, finite_vector
from admittance_constraints.model.definition import Definition
from admittance_constraints.model.drawing import FIXED, MOVING, TRACK, Canvas
from admittance_constraints.model.mechanism import Mechanism

#: half the side of the square that is drawn [m], and number of lines in each direction
_SIDE, _LINES = 0.12, 9


class PointOnParaboloid(Mechanism):
    """A point mass on x3 = h(x1, x2) = (c1 x1^2 + c2 x2^2)/2.

    q = (q1, q2, q3) is its position [m], z = (q1, q2). The constraint is H' = (x3 - h)/sqrt(1 + |dh|^2), whose gradient
    on the surface is the upward unit normal: the multiplier is the surface's force on the tool along it [N].

    Args:
        mass: [kg].
        curvature: c1, c2 [1/m]; (0, 0) is the plane x3 = 0.
        damping: isotropic [N s/m].
        gravity: [m/s^2], along -x3.

    Examples:
        >>> from admittance_constraints import PointOnParaboloid
        >>> PointOnParaboloid(mass=0.5, curvature=(1.0, 2.0)).parameter_dimension
        2
    """

    def __init__(
        self,
        *,
        mass: float = 0.5,
        curvature: Sequence[float] = (0.0, 0.0),
        damping: float = 0.0,
        gravity: float = 0.0,
    ) -> None:
        self.mass = finite_number("mass", mass, above=0.0)
        self.curvature = tuple(finite_vector("curvature", curvature, 2).tolist())
        self.damping = finite_number("damping", damping, minimum=0.0)
        self.gravity = finite_number("gravity", gravity)
        super().__init__()

    def draw(self, canvas: Canvas, q: np.ndarray) -> None:
        """Draws the tool, its path, and lines along the surface."""
        p, (c1, c2) = self.forward(q)[:3], self.curvature
        along = np.linspace(-_SIDE, _SIDE, 33)
        for i, across in enumerate(np.linspace(-_SIDE, _SIDE, _LINES)):
            for name, x, y in (("x", along, across), ("y", across, along)):
                height = (c1 * np.square(x) + c2 * np.square(y)) / 2.0
                points = np.column_stack(np.broadcast_arrays(x, y, height))
                canvas.line(f"surface {name}{i}", points, 0.0005, FIXED)
        canvas.sphere("tool", p, 0.006, MOVING)
        canvas.trail("trail", p, 0.001, TRACK)

    def define(self, d: Definition) -> None:
        m = d.parameter("mass", self.mass)
        c = [d.parameter(f"curvature[{i}]", value) for i, value in enumerate(self.curvature)]
        q, qdot = d.coordinates(3)
        d.forward(q)
        d.inverse(d.x[:3])
        d.kinetic_energy(m * ca.sumsqr(qdot) / 2)
        d.potential(m * d.parameter("gravity", self.gravity) * q[2])
        d.damping_force(d.parameter("damping", self.damping) * qdot)
        x, y = d.position[0], d.position[1]
        steepness = ca.sqrt(1 + (c[0] * x) ** 2 + (c[1] * y) ** 2)
        d.holonomic("on the surface", (d.position[2] - (c[0] * x**2 + c[1] * y**2) / 2) / steepness)
        z = d.parameters(2)
        d.parametrisation(ca.vertcat(z, (c[0] * z[0] ** 2 + c[1] * z[1] ** 2) / 2))
