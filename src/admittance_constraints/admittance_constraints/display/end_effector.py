"""Weight and inertia of the end effector beyond the load cell (end of section II-H).

The cell measures the sum of the forces of the user and of the end effector. The Newton-Euler equations of the end
effector, a rigid body with mass m, centre of mass c from the tool point and inertia J about c, give the user's part:

    force  = cell force - m (g - a_c)
    moment = cell moment - c x m (g - a_c) + J alpha + omega x J omega

in the base frame about the tool point, with the acceleration a_c of c. A wrench is positive as it acts on the tool, so
that the cell reads the weight m g of a body at rest without a user.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from admittance_constraints import rotations
from admittance_constraints.checks import finite_matrix, finite_number, finite_vector


class EndEffector:
    """Rigid body that is mounted on the load cell, on the user's side.

    Args:
        mass: m [kg], not negative.
        center: centre of mass from the tool point [m], tool frame, shape (3,).
        inertia: inertia about the centre of mass, tool frame [kg m^2], principal moments (3,) or matrix (3, 3).
        gravity: g [m/s^2], base frame, shape (3,).

    The methods need the acceleration of the display at the time of the measurement, usually the command of the step
    before. This closes a loop of gain m/m_virtual around the display's lag. With a virtual mass below m and a slow
    display the loop is unstable: use a filtered acceleration, or zero.

    Examples:
        >>> from admittance_constraints import EndEffector
        >>> EndEffector(mass=0.2).mass
        0.2
    """

    def __init__(
        self,
        *,
        mass: float,
        center: Sequence[float] = (0.0, 0.0, 0.0),
        inertia: ArrayLike = (0.0, 0.0, 0.0),
        gravity: Sequence[float] = (0.0, 0.0, -9.81),
    ) -> None:
        self.mass = finite_number("mass", mass, minimum=0.0)
        self.center = finite_vector("center", center, 3).copy()
        J = np.asarray(inertia, dtype=float)
        self.inertia = finite_matrix("inertia", np.diag(J) if J.shape == (3,) else J, (3, 3)).copy()
        self.gravity = finite_vector("gravity", gravity, 3).copy()

    def own_wrench(self, orientation: ArrayLike, twist: ArrayLike, twist_rate: ArrayLike) -> np.ndarray:
        """Computes the cell's reading of the end effector alone, weight minus inertia, shape (6,) [N; N m].

        Args:
            orientation: orientation of the tool, unit quaternion (x, y, z, w).
            twist: [velocity; angular velocity] of the tool, base frame, shape (6,) [m/s; rad/s].
            twist_rate: time derivative of the twist, shape (6,) [m/s^2; rad/s^2].
        """
        R = rotations.rotation_from_quaternion(orientation)
        omega = finite_vector("twist", twist, 6)[3:]
        rate = finite_vector("twist_rate", twist_rate, 6)
        c, J = R @ self.center, R @ self.inertia @ R.T
        a_c = rate[:3] + np.cross(rate[3:], c) + np.cross(omega, np.cross(omega, c))
        force = self.mass * (self.gravity - a_c)
        return np.concatenate([force, np.cross(c, force) - J @ rate[3:] - np.cross(omega, J @ omega)])

    def user_wrench(
        self, cell_wrench: ArrayLike, orientation: ArrayLike, twist: ArrayLike, twist_rate: ArrayLike
    ) -> np.ndarray:
        """Computes the user's part of the measured wrench, shape (6,) [N; N m].

        Args:
            cell_wrench: measured [force; moment] on the tool about the tool point, base frame, shape (6,).
            orientation: see `own_wrench`.
            twist: see `own_wrench`.
            twist_rate: see `own_wrench`.
        """
        return finite_vector("cell_wrench", cell_wrench, 6) - self.own_wrench(orientation, twist, twist_rate)
