"""Virtual coupling: an implicit spring and damper between a body and a moving target (Colgate, Stanley, Brown 1995).

With the target's pose x_d at the end of the step, its velocity v_d, and x = x0 + dt v_p of the body's frame,

    F = k (x_d - x0 - dt v_p) + b (v_d - v_p),        dt F = dt k (x_d - x0) + dt b v_d - (dt b + dt^2 k) v_p,

so that the part with v_p joins A and the rest v* (as `implicit_terms` does for joints); rotations likewise, with the
rotation vector from the body's orientation to the target's. The body's side is unconditionally stable. A device that
holds the opposite force for one period T is passive against it if its own damping exceeds `device_damping`,

    b_device > k T / 2 + b,                                                        (Colgate and Schenkel 1997)

with any passive world behind the coupling.
"""

from __future__ import annotations

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from convex_contact import checks
from convex_contact.dynamics import WorldDynamics
from convex_contact.world import WorldError


class Coupling:
    """A spring and damper that pulls a body's frame to a target.

    Args:
        dynamics: The world in motion.
        body: Number or name of a free body or a link.
        stiffness: k, N/m.
        damping: b, N s/m.
        rotational_stiffness: N m/rad.
        rotational_damping: N m s/rad.

    Attributes:
        force: On the body in the last step (3,), N, world.
        torque: On the body about its frame's origin in the last step (3,), N m, world.

    Raises:
        WorldError: The body does not exist or cannot be pulled.
        ValueError: A number is negative or not finite.
    """

    def __init__(
        self,
        dynamics: WorldDynamics,
        body: int | str,
        *,
        stiffness: float,
        damping: float,
        rotational_stiffness: float = 0.0,
        rotational_damping: float = 0.0,
    ) -> None:
        self._dynamics, self.body = dynamics, dynamics.world.number(body)
        kind = dynamics.world.bodies[self.body].kind
        if kind not in ("free", "link"):
            raise WorldError(
                f"{dynamics.world.bodies[self.body].name}: a coupling pulls a free body or a link, not a {kind} one"
            )
        names = ("stiffness", "damping", "rotational_stiffness", "rotational_damping")
        values = (stiffness, damping, rotational_stiffness, rotational_damping)
        k, b, kr, br = (checks.number(n, x, minimum=0.0) for n, x in zip(names, values, strict=True))
        self._stiffness, self._damping = np.repeat([k, kr], 3), np.repeat([b, br], 3)
        self.reset()

    def reset(self) -> None:
        """The target where the body is, at rest; no force."""
        state = self._dynamics.state(self.body)
        self.force, self.torque = np.zeros(3), np.zeros(3)
        self.target(state.position, state.orientation)

    def device_damping(self, period: float) -> float:
        """Least damping of a device, N s/m, that is passive when it holds this coupling's force for a period (s)."""
        return float(0.5 * period * self._stiffness[0] + self._damping[0])

    def target(
        self,
        position: ArrayLike,
        orientation: ArrayLike = (0.0, 0.0, 0.0, 1.0),
        velocity: ArrayLike = (0.0, 0.0, 0.0),
        angular_velocity: ArrayLike = (0.0, 0.0, 0.0),
    ) -> None:
        """Where the body's frame is pulled in the coming steps.

        Args:
            position: At the end of the step (3,), m.
            orientation: Likewise, quaternion (x, y, z, w).
            velocity: (3,), m/s.
            angular_velocity: (3,), rad/s, world.

        Raises:
            ValueError: A length or a number is wrong; the target stays.
        """
        position = checks.array("position", position, (3,))
        quaternion = checks.array("orientation", orientation, (4,))
        norm = float(np.linalg.norm(quaternion))
        if norm < 1e-9:
            raise ValueError(f"orientation: expected a quaternion (x, y, z, w) that is not zero, got {orientation!r}")
        twist = np.concatenate(
            [checks.array("velocity", velocity, (3,)), checks.array("angular_velocity", angular_velocity, (3,))]
        )
        self._position, self._twist = position, twist
        self._rotation = np.asarray(pin.Quaternion(*np.roll(quaternion / norm, 1)).matrix())

    def add(self, period: float) -> None:
        """Adds the coupling to A and v* of the step, after `WorldDynamics.prepare`."""
        d, a = self._dynamics, self._dynamics.arrays
        tree, self._jacobian = d.frame_jacobian(self.body)
        pose = a.body_pose[self.body]
        rotation = pose[:9].reshape(3, 3)
        position = pose[9:] - rotation @ d.world.bodies[self.body].center
        self._error = np.concatenate([self._position - position, pin.log3(self._rotation @ rotation.T)])
        k, b, J = self._stiffness, self._damping, self._jacobian
        i, j = a.tree_v[tree], a.tree_v[tree + 1]
        A, v_star = a.A[tree, : j - i, : j - i], a.v_star[i:j]
        impulse = A @ v_star + period * J.T @ (k * self._error + b * self._twist)
        A += J.T @ ((period * b + period * period * k)[:, None] * J)
        v_star[:] = np.linalg.solve(A, impulse)
        self._slice = slice(i, j)

    def finish(self, velocity: np.ndarray, period: float) -> None:
        """The force that acted, from the solution (nv,)."""
        twist = self._jacobian @ velocity[self._slice]
        wrench = self._stiffness * (self._error - period * twist) + self._damping * (self._twist - twist)
        self.force, self.torque = wrench[:3], wrench[3:]
