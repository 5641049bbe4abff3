"""Upright rolling disk, section III-A, eqs. (21) to (26)."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np

from admittance_constraints import rotations
from admittance_constraints.checks import finite_number, positive_numbers
from admittance_constraints.model.definition import Definition
from admittance_constraints.model.drawing import MOVING, TRACK, Canvas
from admittance_constraints.model.mechanism import Mechanism


class RollingDisk(Mechanism):
    """A disk that rolls upright on the plane q3 = 0 without slipping.

    q = x = (q1, q2, q3; q4, q5, q6): centre [m]; heading q4, roll q5, tilt q6 [rad], R = Rz(q4) Rx(q6) Rz(q5).
    z = (q1, q2, q4, q5). Constraints: height (21), upright (22), rolling along x (23), rolling along y (24).

    Args:
        mass: m [kg].
        inertia: principal moments (Jxx, Jyy, Jzz) in the body frame [kg m^2]; z is the disk's axis.
        radius: r_d [m].
        translational_damping: b_t [N s/m] of (41).
        rotational_damping: b_r [N m s/rad] of (41).

    The defaults are the paper's, except the damping, which is zero; `RollingDisk.paper()` has it.
    """

    def __init__(
        self,
        *,
        mass: float = 0.25,
        inertia: Sequence[float] = (0.0025, 0.0025, 0.0025),
        radius: float = 0.03,
        translational_damping: float = 0.0,
        rotational_damping: float = 0.0,
    ) -> None:
        self.mass = finite_number("mass", mass, above=0.0)
        self.principal_inertia = positive_numbers("inertia", inertia, 3)
        self.radius = finite_number("radius", radius, above=0.0)
        self.translational_damping = finite_number("translational_damping", translational_damping, minimum=0.0)
        self.rotational_damping = finite_number("rotational_damping", rotational_damping, minimum=0.0)
        super().__init__()

    @classmethod
    def paper(cls) -> RollingDisk:
        """Makes the disk of section IV-A, with damping 1.0 N s/m and 0.1 N m s/rad."""
        return cls(translational_damping=1.0, rotational_damping=0.1)

    def draw(self, canvas: Canvas, q: np.ndarray) -> None:
        """Draws the disk, a spoke, and the track of its rim on the plane (Fig. 8)."""
        Q = self.orientation(q)
        rim = q[:3] + 0.9 * self.radius * rotations.rotation_from_quaternion(Q)[:, 0]
        canvas.cylinder("disk", q[:3], Q, self.radius, 0.1 * self.radius, MOVING)
        canvas.line("spoke", [q[:3], rim], 0.1 * self.radius, TRACK)
        canvas.trail("tyre track", np.array([q[0], q[1], q[2] - self.radius]), 0.05 * self.radius, TRACK)

    def define(self, d: Definition) -> None:
        mass, radius = d.parameter("mass", self.mass), d.parameter("radius", self.radius)
        J = [d.parameter(f"inertia[{i}]", value) for i, value in enumerate(self.principal_inertia)]
        d.rigid_body(mass, J)
        d.task_damping(
            d.parameter("translational_damping", self.translational_damping),
            d.parameter("rotational_damping", self.rotational_damping),
        )
        x, xdot = d.x, d.xdot
        d.holonomic("height", x[2] - radius)  # (21)
        d.holonomic("upright", x[5] - ca.pi / 2)  # (22)
        d.nonholonomic("rolling along x", xdot[0] + radius * ca.cos(x[3]) * xdot[4])  # (23)
        d.nonholonomic("rolling along y", xdot[1] + radius * ca.sin(x[3]) * xdot[4])  # (24)
        z = d.parameters(4)
        d.parametrisation([z[0], z[1], radius, z[2], z[3], ca.SX(ca.pi / 2)])  # (26)
