"""Upright rolling disk, section III-A, eqs. (21) to (26)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

from admittance_constraints import rotations
from admittance_constraints.checks import finite_number, positive_numbers
from admittance_constraints.model.definition import Definition
from admittance_constraints.model.drawing import MOVING, TRACK, Canvas
from admittance_constraints.model.mechanism import Mechanism


@dataclass(frozen=True)
class Parking:
    """Parallel parking: a displacement across the first heading by rolling to and fro.

    Attributes:
        across: displacement across the first heading [m].
        along: displacement along the first heading [m].
        rolled: rolled distance [m].
        slipped: range of the integral of the velocity along the axis, so that slips to and fro do not cancel [m].
    """

    across: float
    along: float
    rolled: float
    slipped: float


@dataclass(frozen=True)
class RollingMotion:
    """A motion of the disk in the quantities of Fig. 9, from poses and twists that need not keep the constraints.

    Attributes:
        height: error of the centre's height x3 - r_d [m], shape (n,).
        upright: angle of the disk's axis with the plane [rad], shape (n,); 0 if the disk is upright.
        heading: x4 [rad], shape (n,), continuous.
        speed: v = x1' cos x4 + x2' sin x4 [m/s], shape (n,).
        rolling_speed: r_d w = -r_d x5' [m/s], shape (n,).
        sideways: velocity along the horizontal direction of the disk's axis [m/s], shape (n,); the error does not
            contain it.
    """

    height: np.ndarray
    upright: np.ndarray
    heading: np.ndarray
    speed: np.ndarray
    rolling_speed: np.ndarray
    sideways: np.ndarray

    def rolling_error(self, epsilon: float = 1e-3) -> np.ndarray:
        """Gives the error of Fig. 9D, 100 |v - r_d w|/(|v| + epsilon) [%], shape (n,), with epsilon in m/s."""
        return np.asarray(100.0 * np.abs(self.speed - self.rolling_speed) / (np.abs(self.speed) + epsilon))

    def slip(self, epsilon: float = 1e-3) -> np.ndarray:
        """Gives the fraction |sideways|/(|v| + epsilon), shape (n,), with epsilon in m/s."""
        return np.abs(self.sideways) / (np.abs(self.speed) + epsilon)

    def parking(self, position: np.ndarray, period: float, first: int, last: int) -> Parking:
        """Measures parallel parking between two ticks.

        Args:
            position: positions of the centre [m], shape (n, 3).
            period: T [s].
            first: index of the first tick.
            last: index of the last tick.
        """
        heading, part = self.heading[first], slice(first, last)
        shift = position[last, :2] - position[first, :2]
        ahead = np.array((np.cos(heading), np.sin(heading)))
        slip = np.concatenate(([0.0], np.cumsum(period * self.sideways[part])))
        return Parking(
            across=float(abs(ahead[0] * shift[1] - ahead[1] * shift[0])),
            along=float(ahead @ shift),
            rolled=float(period * np.abs(self.speed[part]).sum()),
            slipped=float(np.ptp(slip)),
        )


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

    Examples:
        >>> from admittance_constraints import RollingDisk
        >>> disk = RollingDisk(mass=1.0, inertia=(0.01, 0.02, 0.01), radius=0.1)
        >>> q = disk.configuration([0.0, 0.0, 0.0, 0.0])
        >>> disk.constraint_matrix(q).shape  # constraints, coordinates
        (4, 6)
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

    def rolling_motion(
        self, position: np.ndarray, rotation: np.ndarray, velocity: np.ndarray, angular_velocity: np.ndarray
    ) -> RollingMotion:
        """Gives the quantities of Fig. 9, for example of a measured motion.

        Args:
            position: of the centre [m], shape (n, 3).
            rotation: matrices, body to spatial frame, shape (n, 3, 3).
            velocity: of the centre [m/s], shape (n, 3).
            angular_velocity: in the spatial frame [rad/s], shape (n, 3).
        """
        axis = rotation[:, :, 2]
        heading = np.arctan2(axis[:, 0], -axis[:, 1])
        flat = np.hypot(axis[:, 0], axis[:, 1])
        ahead = np.column_stack((np.cos(heading), np.sin(heading)))
        # omega = x4' e_z + x5' axis + x6' (cos x4, sin x4, 0): the part along the axis' horizontal direction is x5'
        level = axis[:, :2] / flat[:, None]
        spin = np.sum(angular_velocity[:, :2] * level, axis=1) / flat
        return RollingMotion(
            height=position[:, 2] - self.radius,
            upright=np.arcsin(np.clip(axis[:, 2], -1.0, 1.0)),
            heading=np.unwrap(heading),
            speed=np.sum(velocity[:, :2] * ahead, axis=1),
            rolling_speed=-self.radius * spin,
            sideways=np.sum(velocity[:, :2] * level, axis=1),
        )

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
