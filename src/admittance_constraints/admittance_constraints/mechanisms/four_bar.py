"""Planar four-bar linkage: crank and coupler as a chain, the rocker as the constraint that closes the loop."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from admittance_constraints.checks import finite_number, finite_vector, positive_numbers
from admittance_constraints.model.definition import Definition
from admittance_constraints.model.drawing import FIXED, MOVING, TRACK, Canvas
from admittance_constraints.model.linkage import Link, add_serial_linkage
from admittance_constraints.model.mechanism import Mechanism


class FourBar(Mechanism):
    """Three uniform bars between two fixed pivots, on x1 = 0 and x1 = ground.

    q = z = angle of the crank and of the coupler relative to it [rad]. The tool is the coupler's end, where the
    rocker keeps its distance from the second pivot. Projection keeps the configuration closed, since no parametrisation
    covers both branches of the linkage.

    Args:
        lengths: of crank, coupler, rocker [m].
        ground: distance of the fixed pivots [m].
        density: mass per length of the bars [kg/m].
        damping: of the crank's joint [N m s/rad].
        near: joint angles at which the search for a closed configuration starts [rad], shape (2,).

    Examples:
        >>> from admittance_constraints import FourBar
        >>> FourBar().parameter_dimension
        2
    """

    def __init__(
        self,
        *,
        lengths: Sequence[float] = (0.05, 0.12, 0.10),
        ground: float = 0.13,
        density: float = 2.0,
        damping: float = 0.0,
        near: Sequence[float] = (1.0, -0.6),
    ) -> None:
        self.lengths = positive_numbers("lengths", lengths, 3)
        self.ground = finite_number("ground", ground, above=0.0)
        self.density = finite_number("density", density, above=0.0)
        self.damping = finite_number("damping", damping, minimum=0.0)
        self.near = finite_vector("near", near, 2)
        super().__init__()

    def draw(self, canvas: Canvas, q: np.ndarray) -> None:
        """Draws the three bars, the ground, and the path of the coupler's end."""
        pivot, end = np.array([self.ground, 0.0, 0.0]), self.forward(q)[:3]
        elbow = self.lengths[0] * np.array([np.cos(q[0]), np.sin(q[0]), 0.0])
        canvas.line("ground", [np.zeros(3), pivot], 0.004, FIXED)
        canvas.line("bars", [np.zeros(3), elbow, end, pivot], 0.006, MOVING)
        canvas.trail("path", end, 0.001, TRACK)

    def define(self, d: Definition) -> None:
        crank, coupler, rocker = self.lengths
        bars = [Link.bar(length, mass=self.density * length) for length in (crank, coupler)]
        end = add_serial_linkage(d, bars).ends[-1]
        d.forward([end[0], end[1]])
        u, v = d.x[0] - self.ground, d.x[1]  # along the rocker, from its pivot
        rate = (u * d.xdot[1] - v * d.xdot[0]) / rocker**2
        d.kinetic_energy(self.density * rocker**3 / 3 * rate**2 / 2)
        d.holonomic("rocker", (u**2 + v**2 - rocker**2) / (2 * rocker))  # the multiplier is the force in the rocker
        d.damping_force([self.damping * d.qdot[0], 0 * d.qdot[1]])
        d.nominal(q=self.near)
