"""Differential inverse kinematics: joint velocities that lead a frame to a target, by damped least squares.

    minimise |J dq - e|^2 + damping^2 |dq|^2 + posture^2 |dq - rate (q_rest - q)|^2    within the joints' limits

with the twist e = error/horizon that would bring the frame to the target within the horizon. An active set keeps the
limits of velocity and position: the joint that exceeds its limit most is fixed there, and the others are solved for
again (Chiaverini, Siciliano, Egeland 1994 for the damping; the projection is that of bounded least squares).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from convex_contact.problem import checks


@dataclass(frozen=True)
class DifferentialIK:
    """Parameters of the method.

    Attributes:
        horizon: time in which the frame would reach its target [s].
        damping: of the least squares [m/rad] (rotations count as metres at 1 m).
        posture: weight of the displacement to the rest posture [m/rad]; determines motion that the task leaves free.
        largest_velocity: of each joint [rad/s or m/s].
        rotation_weight: metres that a radian of rotation error counts as [m/rad].
    """

    horizon: float = 0.05
    damping: float = 0.02
    posture: float = 0.003
    largest_velocity: float = 2.0
    rotation_weight: float = 0.3

    def __post_init__(self) -> None:
        for name in ("horizon", "damping", "largest_velocity", "rotation_weight"):
            checks.number(name, getattr(self, name), above=0.0)
        checks.number("posture", self.posture, minimum=0.0)

    def velocity(
        self, q: np.ndarray, jacobian: np.ndarray, error: np.ndarray, lower: np.ndarray, upper: np.ndarray,
        rest: np.ndarray, period: float,
    ) -> np.ndarray:  # fmt: skip
        """Returns joint velocities dq (n,) [rad/s].

        Args:
            q: joint positions (n,).
            jacobian: of the frame's twist [linear; angular] in world axes (6, n).
            error: displacement and rotation vector from the frame to the target, in world axes (6,).
            lower: lower limits of q (n,).
            upper: upper limits of q (n,).
            rest: rest posture (n,).
            period: duration of the motion at dq [s]; q + period dq is within the limits if q is.

        Raises:
            ValueError: a shape is wrong, a number is not finite, or the limits contradict each other.
        """
        n = np.size(q)
        q, rest = checks.array("q", q, (n,)), checks.array("rest", rest, (n,))
        jacobian, error = checks.array("jacobian", jacobian, (6, n)), checks.array("error", error, (6,))
        lower, upper = _limits(lower, upper, n)
        period = checks.number("period", period, above=0.0)
        weight = np.array([1.0] * 3 + [self.rotation_weight] * 3)
        J, e = weight[:, None] * jacobian, weight * error / self.horizon
        H = J.T @ J + (self.damping**2 + self.posture**2) * np.eye(n)
        g = J.T @ e + self.posture**2 * (rest - q) / self.horizon
        low = np.maximum(-self.largest_velocity, np.minimum((lower - q) / period, 0.0))
        high = np.minimum(self.largest_velocity, np.maximum((upper - q) / period, 0.0))
        dq, free = np.zeros(n), np.ones(n, dtype=bool)
        while free.any():
            dq[free] = np.linalg.solve(H[np.ix_(free, free)], g[free] - H[np.ix_(free, ~free)] @ dq[~free])
            beyond = free & ((dq > high) | (dq < low))
            if not beyond.any():
                break
            excess = np.where(beyond, np.maximum(dq - high, low - dq), -1.0)
            worst = int(np.argmax(excess))
            dq[worst], free[worst] = min(max(dq[worst], low[worst]), high[worst]), False
        return dq


def _limits(lower: np.ndarray, upper: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns the limits of positions (n,), which may be infinite; raises a ValueError if no position is within."""
    low, high = (checks.float_array(name, value, (n,)) for name, value in (("lower", lower), ("upper", upper)))
    for name, value in (("lower", low), ("upper", high)):
        if value.shape != (n,) or np.isnan(value).any():
            raise ValueError(f"{name}: expected numbers of shape ({n},), got {value}")
    if (low > high).any():
        raise ValueError(f"lower: expected no more than upper, {high}, got {low}")
    return low, high


def pose_error(frame: pin.SE3, target: pin.SE3) -> np.ndarray:
    """Returns displacement and rotation vector from a frame to a target, in world axes (6,) [m, rad]."""
    rotation = pin.log3(target.rotation @ frame.rotation.T)
    return np.concatenate([target.translation - frame.translation, rotation])


def reach(
    model: pin.Model, q: np.ndarray, joint: int, tool: pin.SE3, target: pin.SE3, *, moving: slice,
    method: DifferentialIK | None = None, steps: int = 500, tolerance: float = 1e-9,
) -> np.ndarray:  # fmt: skip
    """Returns coordinates (nq,) at which a tool on a joint has a target pose; solves inverse kinematics iteratively.

    Args:
        model: of joints with one coordinate each.
        q: first guess (nq,).
        joint: number of the joint that the tool is fixed to.
        tool: pose of the tool in the joint's frame.
        target: pose in the world frame.
        moving: the coordinates that may change.
        method: parameters of the iteration.
        steps: largest number of iterations.
        tolerance: of the error [m and rad].

    Raises:
        ValueError: the target is not reached.
    """
    method = method or DifferentialIK(horizon=1.0, posture=0.0, damping=1e-4, largest_velocity=0.5)
    data, q = model.createData(), q.copy()
    for _ in range(steps):
        frame, jacobian = tool_jacobian(model, data, q, joint, tool)
        error = pose_error(frame, target)
        if np.abs(error).max() < tolerance:
            return q
        low, high = model.lowerPositionLimit[moving], model.upperPositionLimit[moving]
        q[moving] += method.velocity(q[moving], jacobian[:, moving], error, low, high, q[moving], 1.0)
    raise ValueError(f"target: expected one within the joints' limits, got one missed by {np.abs(error).max():.3g}")


def tool_jacobian(
    model: pin.Model, data: pin.Data, q: np.ndarray, joint: int, tool: pin.SE3
) -> tuple[pin.SE3, np.ndarray]:
    """Returns pose and Jacobian (6, nv) of a tool on a joint; the twist is at the tool's origin, in world axes."""
    pin.computeJointJacobians(model, data, q)
    placement = data.oMi[joint]
    J = pin.getJointJacobian(model, data, joint, pin.LOCAL_WORLD_ALIGNED).copy()
    r = placement.rotation @ tool.translation
    J[:3] += np.cross(J[3:].T, r).T  # omega x r
    return placement * tool, J
