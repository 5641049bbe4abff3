"""Point mass on a surface that is only known as h(p) = 0: projection keeps it there, without a parametrisation."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import casadi as ca

from admittance_constraints.checks import finite_number, finite_vector
from admittance_constraints.model.definition import Definition
from admittance_constraints.model.mechanism import Mechanism


def torus(p: ca.SX) -> ca.SX:
    """Gives h(p) of a torus about x3 with radii 0.08 m and 0.03 m."""
    return (ca.sqrt(p[0] ** 2 + p[1] ** 2) - 0.08) ** 2 + p[2] ** 2 - 0.03**2


class PointOnSurface(Mechanism):
    """A point mass on a surface; q = z = (q1, q2, q3) is its position [m].

    Args:
        surface: h(p), of symbols p of shape (3,); the surface is h = 0, its gradient must not vanish there.
        near: point near which the rendering starts [m], shape (3,).
        mass: [kg].
        damping: isotropic [N s/m].
        gravity: [m/s^2], along -x3.

    Examples:
        >>> from admittance_constraints import PointOnSurface
        >>> PointOnSurface(mass=0.25).dimension
        3
    """

    def __init__(
        self,
        surface: Callable[[ca.SX], ca.SX] = torus,
        *,
        near: Sequence[float] = (0.11, 0.0, 0.01),
        mass: float = 0.25,
        damping: float = 0.0,
        gravity: float = 0.0,
    ) -> None:
        if not callable(surface):
            raise ValueError(f"surface: expected a function of the position, got {surface!r}")
        self.surface = surface
        self.near = finite_vector("near", near, 3)
        self.mass = finite_number("mass", mass, above=0.0)
        self.damping = finite_number("damping", damping, minimum=0.0)
        self.gravity = finite_number("gravity", gravity)
        super().__init__()

    def define(self, d: Definition) -> None:
        m = d.parameter("mass", self.mass)
        q, qdot = d.coordinates(3)
        d.forward(q)
        d.inverse(d.x[:3])
        d.kinetic_energy(m * ca.sumsqr(qdot) / 2)
        d.potential(m * d.parameter("gravity", self.gravity) * q[2])
        d.damping_force(d.parameter("damping", self.damping) * qdot)
        d.holonomic("on the surface", self.surface(d.position))
        d.nominal(q=self.near)
