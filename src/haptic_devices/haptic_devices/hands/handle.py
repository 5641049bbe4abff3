"""A simulated hand that a user leads: its target follows a handle that the user moves during the run. No ROS import.

Each coordinate x of the target follows the handle h by a critically damped filter,

    x'' = w^2 (h - x) - 2 w x'

whose exact solution for a handle that is constant during one period is used. It smooths the jumps of a mouse. h is
limited to the distance `REACH` from x, which limits the target's speed to w REACH/2. It is also limited to a distance
from the tool at which the force of the hand's stiffness is `STRENGTH`. Orientations are filtered as quaternions and
normalised.
"""

from __future__ import annotations

import math

import numpy as np

from haptic_devices.motions import planar, spatial

#: w [rad/s]: the target follows within about 0.2 s
RATE = 25.0
#: largest distance from handle to target [m], [-]; it limits the target's speed to 0.5 m/s, and (of a quaternion, half
#: an angle) to 2.5 rad/s
REACH = 0.04, 0.1
#: largest force and moment of the hand's stiffness [N], [N m]
STRENGTH = 20.0, 0.5


class Handle:
    """A target that follows a handle, as a plan's table of one row.

    At the start the hand exerts the same force as before, with any grip, so that no force jumps.

    Args:
        row: present row of the plan, a `planar.MotionPlan` (7,) or a `spatial.SpatialPlan` (20,).
        target: present target of the hand, pose (7,).
        tool: pose of the tool (7,).
        stiffness: stiffness of the hand, translation [N/m] and rotation [N m/rad].

    Attributes:
        table: table of the hand's plan, (1, 7) or (1, 20).
        pose: pose of the target (7,); with a planar hand all but x and y are those of the tool at the start.
    """

    def __init__(self, row: np.ndarray, target: np.ndarray, tool: np.ndarray, stiffness: tuple[float, float]) -> None:
        self._planar = len(row) == len(planar.COLUMNS)
        columns = planar if self._planar else spatial
        self._n = 2 if self._planar else 3
        self._strength = [force / k if k > 0.0 else math.inf for force, k in zip(STRENGTH, stiffness, strict=True)]
        grip, n = float(row[columns.GRIP]), self._n
        extra = row[columns.FORCE] if self._planar else grip * row[columns.FORCE]
        pose = tool.copy()
        pose[:n] += grip * (target[:n] - tool[:n]) + (extra / stiffness[0] if stiffness[0] > 0.0 else 0.0)
        if not self._planar:
            pose[3:7] = tool[3:7] + grip * (_aligned(target[3:7], tool[3:7]) - tool[3:7])
            pose[3:7] /= np.linalg.norm(pose[3:7])
        self.pose, self._rate, self._wanted = pose, np.zeros(7), pose.copy()
        # a planar hand's damping acts with any grip
        self._rate[:n] = row[columns.VELOCITY] if self._planar else grip * row[columns.VELOCITY]
        self.table = np.zeros((1, len(row)))
        self.table[0, columns.GRIP] = 1.0
        self._write()

    def move(self, pose: np.ndarray) -> None:
        """Moves the handle to a pose (7,); a planar hand uses x and y."""
        self._wanted[: self._n] = pose[: self._n]
        if not self._planar:
            self._wanted[3:7] = pose[3:7] / np.linalg.norm(pose[3:7])

    def release(self) -> None:
        """Releases the handle: the target stays at its present pose."""
        self._wanted[:] = self.pose

    def advance(self, tool: np.ndarray, period: float) -> None:
        """Advances the target by one period [s], with the tool at a pose (7,)."""
        self._follow(slice(0, self._n), self._wanted[: self._n], tool[: self._n], self._strength[0], REACH[0], period)
        if not self._planar:
            q = self.pose[3:7]
            wanted, present = _aligned(self._wanted[3:7], q), _aligned(tool[3:7], q)
            self._follow(slice(3, 7), wanted, present, 0.5 * self._strength[1], REACH[1], period)
            norm = np.linalg.norm(q)
            q /= norm
            self._rate[3:7] = (self._rate[3:7] - q * (q @ self._rate[3:7])) / norm
        self._write()

    def _follow(
        self, part: slice, wanted: np.ndarray, tool: np.ndarray, strength: float, reach: float, period: float
    ) -> None:
        x, v = self.pose[part], self._rate[part]
        h = _within(_within(wanted, tool, strength), x, reach)
        a, decay = x - h, math.exp(-RATE * period)
        b = v + RATE * a
        x[:] = h + (a + b * period) * decay
        v[:] = (b - RATE * (a + b * period)) * decay

    def _write(self) -> None:
        row = self.table[0]
        if self._planar:
            row[planar.POSITION], row[planar.VELOCITY] = self.pose[:2], self._rate[:2]
            return
        row[spatial.POSE], row[spatial.VELOCITY] = self.pose, self._rate[:3]
        u, w, du, dw = self.pose[3:6], self.pose[6], self._rate[3:6], self._rate[6]
        row[spatial.ANGULAR_VELOCITY] = 2.0 * (w * du - dw * u - np.cross(du, u))  # 2 q' q*


def _within(point: np.ndarray, center: np.ndarray, reach: float) -> np.ndarray:
    """Limits the distance of a point from a centre."""
    offset = point - center
    distance = math.sqrt(offset @ offset)
    return point if distance <= reach else center + offset * (reach / distance)


def _aligned(quaternion: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Returns the quaternion of the same rotation (q or -q) that is nearer to another one."""
    return quaternion if quaternion @ other >= 0.0 else -quaternion
