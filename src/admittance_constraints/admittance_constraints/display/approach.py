"""Motion of the display's tool, and the motion that leads it to the start of the reference."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from admittance_constraints import rotations
from admittance_constraints.display.feedback import pose_difference
from haptic_math.profiles import smooth_step, smooth_step_curvature, smooth_step_rate
from haptic_math.rotations import quaternion_from_vector


@dataclass(frozen=True)
class ToolMotion:
    """Motion of the display's tool in its base frame.

    Attributes:
        pose: position [m] and quaternion (x, y, z, w), shape (7,).
        twist: of the tool point, [velocity; angular velocity], shape (6,) [m/s; rad/s].
        acceleration: its rate, shape (6,) [m/s^2; rad/s^2].

    Examples:
        >>> import numpy as np
        >>> from admittance_constraints import AdmittanceController, Pendulum, ReferenceGenerator
        >>> generator = ReferenceGenerator(Pendulum(mass=0.5, length=0.2), period=1e-3)
        >>> controller = AdmittanceController(generator, approach_time=0.0)
        >>> pose, wrench = np.array([0.0, 0.0, -0.2, 0.0, 0.0, 0.0, 1.0]), np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0])
        >>> controller.step(pose, wrench).acceleration[:3].round(3).tolist()  # 1 N on 0.5 kg that hangs straight down
        [2.0, 0.0, 0.0]
    """

    pose: np.ndarray
    twist: np.ndarray
    acceleration: np.ndarray

    def __repr__(self) -> str:
        pose, twist, acceleration = (part.tolist() for part in (self.pose, self.twist, self.acceleration))
        return f"ToolMotion(pose={pose}, twist={twist}, acceleration={acceleration})"


class Approach:
    """Motion from one pose to another on a straight line and about one axis, with a quintic polynomial in time.

    Args:
        start: pose (7,) at which the tool is.
        end: pose (7,) at which it comes to rest.
        steps: number of periods, 1 or more.
        period: T [s].
    """

    def __init__(self, start: np.ndarray, end: np.ndarray, steps: int, period: float) -> None:
        self._end, self._steps, self._duration = end, steps, steps * period
        self._distance = pose_difference(start, end)
        self._done = 0

    @property
    def is_over(self) -> bool:
        """True once the motion has ended at the second pose."""
        return self._done >= self._steps

    def step(self) -> ToolMotion:
        """Gives the motion at the end of the next period."""
        self._done += 1
        s = min(self._done / self._steps, 1.0)
        left = 1.0 - smooth_step(s)
        rate = -smooth_step_rate(s) / self._duration
        curvature = -smooth_step_curvature(s) / self._duration**2
        Q = quaternion_from_vector(left * self._distance[3:])
        position = self._end[:3] + left * self._distance[:3]
        pose = np.concatenate([position, rotations.quaternion_product(Q, self._end[3:])])
        return ToolMotion(pose, rate * self._distance, curvature * self._distance)
