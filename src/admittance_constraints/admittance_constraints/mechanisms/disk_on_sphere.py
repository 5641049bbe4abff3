"""Disk sliding on a sphere, section III-B, eqs. (27) to (32), in the corrected and in the printed form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

from admittance_constraints import rotations
from admittance_constraints.checks import finite_number, finite_vector, positive_numbers
from admittance_constraints.model import symbolic
from admittance_constraints.model.definition import Definition
from admittance_constraints.model.drawing import FIXED, MOVING, TRACK, Canvas
from admittance_constraints.model.mechanism import Mechanism


@dataclass(frozen=True)
class SphereDeviation:
    """Deviation of poses from the sphere, as in Fig. 11.

    Attributes:
        normal: of the sphere below the centre, outward, shape (n, 3).
        radial: distance of the centre from the surface, outward positive [m], shape (n,).
        tangency: angle between the normal and the disk's axis [rad], shape (n,).
        tilt: angle of the normal from the vertical [rad], shape (n,); 0 at the pole of the angles.
    """

    normal: np.ndarray
    radial: np.ndarray
    tangency: np.ndarray
    tilt: np.ndarray


class DiskOnSphere(Mechanism):
    """A disk whose centre stays on a sphere and whose axis stays along the sphere's normal.

    q = x = (q1, q2, q3; q4, q5, q6): centre [m], angles [rad], R = Rz(q4) Rx(q6) Rz(q5). z = (q4, q5, q6); the
    free spin about the normal is q5. The normal is the disk's axis, the third column of R,
    (sin q4 sin q6, -cos q4 sin q6, cos q6); the paper prints the third row (`DiskOnSphereAsPrinted`).
    The angles are singular at the poles (sin q6 = 0): use orientation="quaternion" to pass over them.

    Args:
        mass: m [kg].
        inertia: principal moments (Jxx, Jyy, Jzz) in the body frame [kg m^2].
        sphere_radius: r_s [m].
        center: of the sphere, (s1, s2, s3) [m].
        translational_damping: b_t [N s/m] of (41).
        rotational_damping: b_r [N m s/rad] of (41).

    The defaults are the paper's, except the damping, which is zero; `DiskOnSphere.paper()` has it.

    Examples:
        >>> import numpy as np
        >>> from admittance_constraints import DiskOnSphere
        >>> disk = DiskOnSphere(mass=0.25, sphere_radius=0.05)
        >>> bool(abs(disk.holonomic_residual(disk.configuration(np.zeros(disk.parameter_dimension)))).max() < 1e-9)
        True
    """

    def __init__(
        self,
        *,
        mass: float = 0.25,
        inertia: Sequence[float] = (0.0025, 0.0025, 0.0025),
        sphere_radius: float = 0.05,
        center: Sequence[float] = (0.0, 0.0, 0.0),
        translational_damping: float = 0.0,
        rotational_damping: float = 0.0,
    ) -> None:
        self.mass = finite_number("mass", mass, above=0.0)
        self.principal_inertia = positive_numbers("inertia", inertia, 3)
        self.sphere_radius = finite_number("sphere_radius", sphere_radius, above=0.0)
        self.center = tuple(finite_vector("center", center, 3).tolist())
        self.translational_damping = finite_number("translational_damping", translational_damping, minimum=0.0)
        self.rotational_damping = finite_number("rotational_damping", rotational_damping, minimum=0.0)
        super().__init__()

    @classmethod
    def paper(cls) -> DiskOnSphere:
        """Makes the disk of section IV-B, with inertia and damping of the rolling disk."""
        return cls(translational_damping=1.0, rotational_damping=0.1)

    def draw(self, canvas: Canvas, q: np.ndarray) -> None:
        """Draws the sphere, the disk, an arrow that rotates with it, and its path (Fig. 10)."""
        Q, size = self.orientation(q), 0.2 * self.sphere_radius
        canvas.sphere("sphere", np.array(self.center), self.sphere_radius, FIXED)
        canvas.cylinder("disk", q[:3], Q, size, 0.1 * size, MOVING)
        ahead = q[:3] + 1.5 * size * rotations.rotation_from_quaternion(Q)[:, 0]
        canvas.arrow("heading", q[:3], ahead, 0.1 * size, TRACK)
        canvas.trail("path", q[:3], 0.05 * size, TRACK)

    def normal(self, rotation: ca.SX) -> ca.SX:
        """Gives the direction from the sphere's centre to the disk's, of the disk's rotation matrix (3, 3)."""
        return rotation[:, 2]

    def deviation(self, position: np.ndarray, rotation: np.ndarray) -> SphereDeviation:
        """Gives the deviation of poses from the sphere, for example of a measured motion.

        Args:
            position: of the disk's centre [m], shape (n, 3).
            rotation: matrices, body to spatial frame, shape (n, 3, 3).
        """
        out = position - np.array(self.center)
        distance = np.linalg.norm(out, axis=1)
        normal = out / distance[:, None]
        axis = rotation[:, :, 2]
        across = np.linalg.norm(np.cross(normal, axis), axis=1)
        return SphereDeviation(
            normal=normal,
            radial=distance - self.sphere_radius,
            tangency=np.arctan2(across, np.sum(normal * axis, axis=1)),
            tilt=np.arctan2(np.hypot(normal[:, 0], normal[:, 1]), normal[:, 2]),
        )

    def define(self, d: Definition) -> None:
        mass, radius = d.parameter("mass", self.mass), d.parameter("sphere_radius", self.sphere_radius)
        J = [d.parameter(f"inertia[{i}]", value) for i, value in enumerate(self.principal_inertia)]
        center = ca.vertcat(*[d.parameter(f"center[{i}]", value) for i, value in enumerate(self.center)])
        d.rigid_body(mass, J)
        d.task_damping(
            d.parameter("translational_damping", self.translational_damping),
            d.parameter("rotational_damping", self.rotational_damping),
        )
        gap = d.position - center - radius * self.normal(d.rotation)
        for i, axis in enumerate("xyz"):
            d.holonomic(f"on the sphere, {axis}", gap[i])  # (28) to (30)
        z = d.parameters(3)
        d.nominal(z=[0.4, 0.2, 1.2])
        d.parametrisation(ca.vertcat(center + radius * self.normal(symbolic.rotation_from_angles(z)), z))  # (32)


class DiskOnSphereAsPrinted(DiskOnSphere):
    """The constraints (28) to (32) as printed: the third row of R instead of its third column.

    The disk's centre stays on the sphere, but the disk is not tangent to it, and the free direction is q4.
    Arguments, q and z as `DiskOnSphere`.

    Examples:
        >>> from admittance_constraints import DiskOnSphere, DiskOnSphereAsPrinted
        >>> isinstance(DiskOnSphereAsPrinted(), DiskOnSphere)
        True
    """

    def normal(self, rotation: ca.SX) -> ca.SX:
        return rotation[2, :].T
