"""Feedback of the manipulandum onto the reference, eqs. (17), (18), with anti-windup.

The error is either a difference of task coordinates, as in the paper, or a difference of poses as position and rotation
vector, which has no singular angles. A display with poses at its interface uses the second form.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from admittance_constraints.checks import finite_number, finite_vector
from admittance_constraints.display import motion_kernels
from admittance_constraints.generation.reference_generator import Reference
from haptic_math.quantities import float_array

_SIZE = 6


class PIDFeedback:
    """xddot_fb = K_p e + K_i (integral of e) + K_d edot, eq. (17), with a bounded integral.

    Args:
        proportional: K_p [1/s^2], a number, shape (6,) or (6, 6).
        integral: K_i [1/s^3], a number, shape (6,) or (6, 6).
        derivative: K_d [1/s], a number, shape (6,) or (6, 6).
        period: T [s].
        limit: bound of each component of xddot_fb [m/s^2; rad/s^2], a number or shape (6,); inf if not given.
            The integral does not grow in a direction whose component is at its bound, unless the error reduces the
            component (conditional integration).

    Raises:
        ValueError: an argument is out of its range; the message names it.

    Examples:
        >>> import numpy as np
        >>> from admittance_constraints import PIDFeedback
        >>> feedback = PIDFeedback(proportional=10.0, derivative=1.0)
        >>> feedback.step(np.full(6, 0.1), np.zeros(6)).tolist()
        [1.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    """

    def __init__(
        self,
        *,
        proportional: ArrayLike,
        derivative: ArrayLike,
        integral: ArrayLike = 0.0,
        period: float = 1e-3,
        limit: ArrayLike = math.inf,
    ) -> None:
        self.proportional = _gain("proportional", proportional)
        self.integral = _gain("integral", integral)
        self.derivative = _gain("derivative", derivative)
        self.period = finite_number("period", period, above=0.0)
        bound = np.broadcast_to(np.asarray(limit, dtype=float), (_SIZE,)).copy()
        if np.isnan(bound).any() or (bound <= 0.0).any():
            raise ValueError(f"limit: expected numbers above 0, got {limit!r}")
        self.limit = bound
        self.reset()
        self.step(np.zeros(_SIZE), np.zeros(_SIZE))  # compiles it, or loads it

    def __repr__(self) -> str:
        gains = (self.proportional, self.integral, self.derivative)
        K_p, K_i, K_d = (np.array2string(gain.diagonal(), separator=", ", max_line_width=200) for gain in gains)
        return f"PIDFeedback(diagonals of K_p {K_p}, K_i {K_i}, K_d {K_d}; period={self.period:g})"

    def reset(self) -> None:
        """Sets the integral to zero."""
        self._sum = np.zeros(_SIZE)
        self.saturated = np.zeros(_SIZE, dtype=bool)

    def restore(self, error_integral: ArrayLike) -> None:
        """Sets the integral of e, shape (6,) [m s; rad s]."""
        self._sum = finite_vector("error_integral", error_integral, _SIZE).copy()

    @property
    def error_integral(self) -> np.ndarray:
        """Copy of the integral of e, shape (6,) [m s; rad s]."""
        return self._sum.copy()

    def step(self, error: ArrayLike, error_rate: ArrayLike) -> np.ndarray:
        """Computes xddot_fb, shape (6,) [m/s^2; rad/s^2].

        Args:
            error: e = x_r - x, shape (6,).
            error_rate: edot, shape (6,).

        Raises:
            ValueError: wrong shape, or a number that is not finite; the state is unchanged.
        """
        e, rate = finite_vector("error", error, _SIZE), finite_vector("error_rate", error_rate, _SIZE)
        before, self._sum = self._sum, self._sum + self.period * e
        unbounded, self.saturated = np.empty(_SIZE), np.empty(_SIZE, dtype=bool)
        if not self._write_unbounded(e, rate, unbounded, self.saturated):
            return unbounded
        drives_outwards = (self.integral @ e) * np.sign(unbounded) > 0.0
        stopped = self.saturated & drives_outwards
        if stopped.any():  # the part of e that drives the components at their bounds is not integrated
            blocked = self.integral[stopped]
            e_integrated = e - np.linalg.pinv(blocked) @ (blocked @ e)
            self._sum = before + self.period * e_integrated
            self._write_unbounded(e, rate, unbounded, np.empty(_SIZE, dtype=bool))
        return np.clip(unbounded, -self.limit, self.limit)

    def _write_unbounded(self, e: np.ndarray, rate: np.ndarray, unbounded: np.ndarray, saturated: np.ndarray) -> bool:
        """Writes (17) and flags of the components beyond their bounds; returns whether there is one."""
        gains = (self.proportional, self.integral, self.derivative)
        return bool(motion_kernels.write_feedback(gains, e, self._sum, rate, self.limit, unbounded, saturated))


def task_error(reference: Reference, x: ArrayLike, x_velocity: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Computes e = x_r - x with angles in (-pi, pi], and edot (line 13 of Algorithm 1), each of shape (6,).

    Examples:
        >>> from admittance_constraints import ReferenceGenerator, RollingDisk, task_error
        >>> reference = ReferenceGenerator(RollingDisk(), period=1e-3).step([0.0] * 6)
        >>> behind = reference.x - [0.25, 0.0, 0.0, 0.0, 0.0, 0.0]  # the tool lags by 0.25 m
        >>> error, error_rate = task_error(reference, behind, [0.0] * 6)
        >>> error.round(9).tolist()
        [0.25, 0.0, 0.0, 0.0, 0.0, 0.0]
    """
    e = reference.x - finite_vector("x", x, _SIZE)
    e[3:] -= 2.0 * math.pi * np.round(e[3:] / (2.0 * math.pi))
    return e, reference.x_velocity - finite_vector("x_velocity", x_velocity, _SIZE)


def pose_error(
    reference: Reference, position: ArrayLike, orientation: ArrayLike, twist: ArrayLike
) -> tuple[np.ndarray, np.ndarray]:
    """Computes e = [p_r - p; rotation vector from body to reference] in the base frame, and edot between twists.

    Args:
        reference: with the pose and the twist of x_r.
        position: of the manipulandum [m], base frame, shape (3,).
        orientation: its unit quaternion (x, y, z, w).
        twist: [velocity; angular velocity], base frame, shape (6,).

    Examples:
        >>> from admittance_constraints import Pendulum, ReferenceGenerator, pose_error
        >>> reference = ReferenceGenerator(Pendulum(length=0.2), period=1e-3).step([0.0] * 6)  # at rest, straight down
        >>> quarter = [0.0, 0.0, 0.5**0.5, 0.5**0.5]  # the tool is rotated by 90 deg about z
        >>> error, _ = pose_error(reference, [0.0, 0.0, -0.3], quarter, [0.0] * 6)
        >>> error.round(3).tolist()
        [0.0, 0.0, 0.1, 0.0, 0.0, -1.571]
    """
    p, Q = finite_vector("position", position, 3), finite_vector("orientation", orientation, 4)
    e = pose_difference(np.concatenate([reference.x[:3], reference.orientation]), np.concatenate([p, Q]))
    return e, reference.twist - finite_vector("twist", twist, _SIZE)


def pose_difference(target: np.ndarray, pose: np.ndarray) -> np.ndarray:
    """Computes [position; rotation vector] from a pose (7,) to a target (7,), base frame, shape (6,) [m; rad]."""
    difference = np.empty(_SIZE)
    motion_kernels.write_pose_difference(target, pose, difference)
    return difference


def motion_command(feedforward: ArrayLike, feedback: ArrayLike) -> np.ndarray:
    """Computes xddot = xddot_ff + xddot_fb, eq. (18), shape (6,).

    Examples:
        >>> import numpy as np
        >>> from admittance_constraints import motion_command
        >>> motion_command(np.ones(6), np.zeros(6)).tolist()
        [1.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    """
    return finite_vector("feedforward", feedforward, _SIZE) + finite_vector("feedback", feedback, _SIZE)


def _gain(name: str, value: ArrayLike) -> np.ndarray:
    gain = float_array(name, value, f"(), ({_SIZE},) or ({_SIZE}, {_SIZE})")
    if gain.shape == ():
        gain = np.full(_SIZE, float(gain))
    if gain.shape == (_SIZE,):
        gain = np.diag(gain)
    if gain.shape != (_SIZE, _SIZE):
        raise ValueError(f"{name}: expected a number, shape ({_SIZE},) or ({_SIZE}, {_SIZE}), got {gain.shape}")
    if not np.isfinite(gain).all():
        raise ValueError(f"{name}: expected finite numbers, got {value!r}")
    if np.ndim(value) < 2 and (gain < 0.0).any():
        raise ValueError(f"{name}: expected gains of 0 or more, got {np.asarray(value).tolist()}")
    return np.ascontiguousarray(gain)
