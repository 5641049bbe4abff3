"""Differential inverse kinematics: joint velocities that lead a frame to a target, by damped least squares.

    minimise |J dq - e|^2 + damping^2 |dq|^2 + posture^2 |dq - rate (q_rest - q)|^2    within the joints' limits

with the twist e = error/horizon that would bring the frame to the target within the horizon. Limits of speed and
position are kept by an active set: what a joint would exceed is fixed at its limit, and the others make up for it as
far as they can (Chiaverini, Siciliano, Egeland 1994 for the damping; the projection is that of bounded least squares).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from convex_contact.problem import checks


@dataclass(frozen=True)
class DifferentialIK:
    """Numbers of the method.

    Attributes:
        horizon: Within which the frame would reach its target, s.
        damping: Of the least squares, m/rad (rotations count as metres at 1 m).
        posture: Weight of the way to the posture at rest, m/rad; what the task leaves free goes there.
        largest_velocity: Of each joint, rad/s (m/s).
        rotation_weight: Of a radian of the frame, as so many metres.
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
        """dq (n,), rad/s.

        Args:
            q: (n,).
            jacobian: Of the frame's twist [linear; angular], world axes (6, n).
            error: From the frame to the target: displacement and rotation vector, world axes (6,).
            lower: Limits of q (n,).
            upper: (n,).
            rest: Posture (n,).
            period: For which dq is taken, s: q + period dq is within the limits.
        """
        weight = np.array([1.0] * 3 + [self.rotation_weight] * 3)
        J, e = weight[:, None] * jacobian, weight * error / self.horizon
        n = len(q)
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


def pose_error(frame: pin.SE3, target: pin.SE3) -> np.ndarray:
    """From a frame to a target: displacement and rotation vector, world axes (6,)."""
    turn = pin.log3(target.rotation @ frame.rotation.T)
    return np.concatenate([target.translation - frame.translation, turn])


def reach(
    model: pin.Model, q: np.ndarray, joint: int, tool: pin.SE3, target: pin.SE3, *, moving: slice,
    method: DifferentialIK | None = None, steps: int = 500, tolerance: float = 1e-9,
) -> np.ndarray:  # fmt: skip
    """Coordinates (nq,) at which a tool on a joint is at a target, from a first guess that is the posture at rest.

    Args:
        model: Of joints of one coordinate.
        q: First guess (nq,).
        joint: Number of the joint that carries the tool.
        tool: Its pose on the joint.
        target: In the world.
        moving: The coordinates that may change.
        method: Its numbers.
        steps: At most.
        tolerance: Of the error, m and rad.

    Raises:
        ValueError: It is not reached.
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
    """Pose of a tool on a joint, and the Jacobian (6, nv) of its twist, at its origin, world axes."""
    pin.computeJointJacobians(model, data, q)
    placement = data.oMi[joint]
    J = pin.getJointJacobian(model, data, joint, pin.LOCAL_WORLD_ALIGNED).copy()
    r = placement.rotation @ tool.translation
    J[:3] += np.cross(J[3:].T, r).T  # omega x r
    return placement * tool, J
