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

import math

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from convex_contact import checks
from convex_contact.bodies import rotation_entries
from convex_contact.dynamics import WorldDynamics
from convex_contact.world import WorldError


@njit(cache=True, nogil=True, error_model="numpy")
def _stretch(pose: np.ndarray, center: np.ndarray, target: np.ndarray, error: np.ndarray) -> None:
    """From a body's frame to the target: displacement and rotation vector, world axes (6,).

    Args:
        pose: Of the body (12,), rotation and position.
        center: What of the body is at that position, from its frame's origin (3,).
        target: Position and unit quaternion (x, y, z, w) (7,).
        error: Where the result goes.
    """
    for i in range(3):
        lever = pose[3 * i] * center[0] + pose[3 * i + 1] * center[1] + pose[3 * i + 2] * center[2]
        error[i] = target[i] - (pose[9 + i] - lever)
    d = rotation_entries(target[3], target[4], target[5], target[6])
    turn = np.empty((3, 3))
    for i in range(3):
        for j in range(3):
            turn[i, j] = 0.0
            for k in range(3):
                turn[i, j] += d[3 * i + k] * pose[3 * j + k]
    # the quaternion of the rotation, from its largest entry, and its logarithm
    trace = turn[0, 0] + turn[1, 1] + turn[2, 2]
    q = np.empty(4)
    if trace > 0.0:
        q[3] = 1.0 + trace
        for i in range(3):
            q[i] = turn[(i + 2) % 3, (i + 1) % 3] - turn[(i + 1) % 3, (i + 2) % 3]
    else:
        i = 0
        for k in range(1, 3):
            if turn[k, k] > turn[i, i]:
                i = k
        j, k = (i + 1) % 3, (i + 2) % 3
        q[i] = 1.0 + turn[i, i] - turn[j, j] - turn[k, k]
        q[j], q[k] = turn[i, j] + turn[j, i], turn[i, k] + turn[k, i]
        q[3] = turn[k, j] - turn[j, k]
        if q[3] < 0.0:
            q[:] = -q
    sine = np.sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2])
    scale = 2.0 * np.arctan2(sine, q[3]) / sine if sine > 0.0 else 0.0
    for i in range(3):
        error[3 + i] = scale * q[i]


@njit(cache=True, nogil=True, error_model="numpy")
def _add(
    A: np.ndarray,
    v_star: np.ndarray,
    jacobian: np.ndarray,
    gains: np.ndarray,
    error: np.ndarray,
    twist: np.ndarray,
    period: float,
) -> None:
    """Adds the coupling to a tree's block of A and v*; gains are rows k and b (2, 6)."""
    n = len(v_star)
    impulse = np.empty(n)
    for i in range(n):
        impulse[i] = 0.0
        for j in range(n):
            impulse[i] += A[i, j] * v_star[j]
        for r in range(6):
            impulse[i] += period * jacobian[r, i] * (gains[0, r] * error[r] + gains[1, r] * twist[r])
    for r in range(6):
        weight = period * gains[1, r] + period * period * gains[0, r]
        for i in range(n):
            for j in range(n):
                A[i, j] += weight * jacobian[r, i] * jacobian[r, j]
    # A v* = impulse by Cholesky's factor
    L = np.empty((n, n))
    for i in range(n):
        for j in range(i + 1):
            x = A[i, j]
            for k in range(j):
                x -= L[i, k] * L[j, k]
            L[i, j] = np.sqrt(x) if i == j else x / L[j, j]
    for i in range(n):
        x = impulse[i]
        for k in range(i):
            x -= L[i, k] * v_star[k]
        v_star[i] = x / L[i, i]
    for i in range(n - 1, -1, -1):
        x = v_star[i]
        for k in range(i + 1, n):
            x -= L[k, i] * v_star[k]
        v_star[i] = x / L[i, i]


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
        self._gains = np.array([[k] * 3 + [kr] * 3, [b] * 3 + [br] * 3])
        self._center = np.array(dynamics.world.bodies[self.body].center, dtype=float)
        self._goal, self._error = np.zeros(13), np.zeros(6)  # pose and twist of the target; stretch of the spring
        self.reset()

    def reset(self) -> None:
        """The target where the body is, at rest; no force."""
        state = self._dynamics.state(self.body)
        self.force, self.torque = np.zeros(3), np.zeros(3)
        self.target(state.position, state.orientation)

    def device_damping(self, period: float) -> float:
        """Least damping of a device, N s/m, that is passive when it holds this coupling's force for a period (s)."""
        return float(0.5 * period * self._gains[0, 0] + self._gains[1, 0])

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
        goal = np.empty(13)
        parts = (("position", position), ("orientation", orientation), ("velocity", velocity))
        start = 0
        for name, value in (*parts, ("angular_velocity", angular_velocity)):
            size = 4 if name == "orientation" else 3
            if not (isinstance(value, np.ndarray) and value.shape == (size,)):  # else checked below, all at once
                value = checks.array(name, value, (size,))
            goal[start : start + size] = value
            start += size
        norm = math.sqrt(goal[3:7] @ goal[3:7])
        if not norm > 1e-9 or not np.isfinite(goal).all():
            for name, value in (*parts, ("angular_velocity", angular_velocity)):
                checks.array(name, value, (4 if name == "orientation" else 3,))
            raise ValueError(f"orientation: expected a quaternion (x, y, z, w) that is not zero, got {orientation!r}")
        goal[3:7] /= norm
        self._goal = goal

    def add(self, period: float) -> None:
        """Adds the coupling to A and v* of the step, after `WorldDynamics.prepare`."""
        d, a = self._dynamics, self._dynamics.arrays
        tree, self._jacobian = d.frame_jacobian(self.body)
        i, j = int(a.tree_v[tree]), int(a.tree_v[tree + 1])
        self._slice = slice(i, j)
        _stretch(a.body_pose[self.body], self._center, self._goal, self._error)
        block, v_star = a.A[tree, : j - i, : j - i], a.v_star[self._slice]
        _add(block, v_star, self._jacobian, self._gains, self._error, self._goal[7:], period)

    def finish(self, velocity: np.ndarray, period: float) -> None:
        """The force that acted, from the solution (nv,)."""
        twist = self._jacobian @ velocity[self._slice]
        wrench = self._gains[0] * (self._error - period * twist) + self._gains[1] * (self._goal[7:] - twist)
        self.force, self.torque = wrench[:3], wrench[3:]
