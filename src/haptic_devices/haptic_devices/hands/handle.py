"""The simulated hand led by a person: its target follows a handle that is moved while the run goes on. No ROS import.

Each coordinate of the target follows by a critically damped filter,

    x'' = w^2 (h - x) - 2 w x'

stepped exactly for a handle h that stays for one period, so that a mouse's jumps become motions of a hand. h is at
most `REACH` away from x, which bounds the target's speed at w REACH/2, and so near to the tool that the hand's
stiffness pulls no more than a person does. Orientations are filtered as quaternions and normalised.
"""

from __future__ import annotations

import math

import numpy as np

#: w: the target follows within about 0.2 s [rad/s]
RATE = 25.0
#: bounds the target's speed: 0.5 m/s, and (of a quaternion, half an angle) 2.5 rad/s
REACH = 0.04, 0.1
#: what the hand's stiffness pulls with at most [N], [N m]
STRENGTH = 20.0, 0.5


class Handle:
    """A target, as a plan's table of one row, that follows a handle.

    It begins with the force that the hand's stiffness and plan exert now, whatever its grip, so that nothing jumps.

    Args:
        row: present row of the plan, of `motion.MotionPlan` (7,) or `spatial_motion.SpatialPlan` (20,).
        target: present target of the hand, pose (7,).
        tool: pose of the tool (7,).
        stiffness: of the hand, translation [N/m] and rotation [N m/rad].

    Attributes:
        table: (1, 7) or (1, 20), of the hand's plan.
        pose: of the target (7,); a planar hand's has the rest of the tool's pose at the beginning.
    """

    def __init__(self, row: np.ndarray, target: np.ndarray, tool: np.ndarray, stiffness: tuple[float, float]) -> None:
        self._planar = len(row) == 7
        self._n = 2 if self._planar else 3
        self._strength = [force / k if k > 0.0 else math.inf for force, k in zip(STRENGTH, stiffness, strict=True)]
        grip, n = float(row[-1]), self._n
        extra = row[4:6] if self._planar else grip * row[13:16]
        pose = tool.copy()
        pose[:n] += grip * (target[:n] - tool[:n]) + (extra / stiffness[0] if stiffness[0] > 0.0 else 0.0)
        if not self._planar:
            pose[3:7] = tool[3:7] + grip * (_aligned(target[3:7], tool[3:7]) - tool[3:7])
            pose[3:7] /= np.linalg.norm(pose[3:7])
        self.pose, self._rate, self._wanted = pose, np.zeros(7), pose.copy()
        self._rate[:n] = grip * (row[2:4] if self._planar else row[7:10])
        self.table = np.zeros((1, len(row)))
        self.table[0, -1] = 1.0
        self._write()

    def move(self, pose: np.ndarray) -> None:
        """The handle is here now, pose (7,); of a planar hand x and y count."""
        self._wanted[: self._n] = pose[: self._n]
        if not self._planar:
            self._wanted[3:7] = pose[3:7] / np.linalg.norm(pose[3:7])

    def release(self) -> None:
        """Ends the leading: the target stays at its present position."""
        self._wanted[:] = self.pose

    def advance(self, tool: np.ndarray, period: float) -> None:
        """One period [s] passes, with the tool at this pose (7,)."""
        self._follow(slice(0, self._n), self._wanted[: self._n], tool[: self._n], self._strength[0], REACH[0], period)
        if not self._planar:
            q = self.pose[3:7]
            wanted, present = _aligned(self._wanted[3:7], q), _aligned(tool[3:7], q)
            self._follow(slice(3, 7), wanted, present, 0.5 * self._strength[1], REACH[1], period)
            length = np.linalg.norm(q)
            q /= length
            self._rate[3:7] = (self._rate[3:7] - q * (q @ self._rate[3:7])) / length
        self._write()

    def _follow(
        self, part: slice, wanted: np.ndarray, tool: np.ndarray, strength: float, reach: float, period: float
    ) -> None:
        x, v = self.pose[part], self._rate[part]
        h = _near(_near(wanted, tool, strength), x, reach)
        a, decay = x - h, math.exp(-RATE * period)
        b = v + RATE * a
        x[:] = h + (a + b * period) * decay
        v[:] = (b - RATE * (a + b * period)) * decay

    def _write(self) -> None:
        row, n = self.table[0], self._n
        row[:n] = self.pose[:n]
        if self._planar:
            row[2:4] = self._rate[:2]
            return
        row[3:7], row[7:10] = self.pose[3:7], self._rate[:3]
        u, w, du, dw = self.pose[3:6], self.pose[6], self._rate[3:6], self._rate[6]
        row[10:13] = 2.0 * (w * du - dw * u - np.cross(du, u))  # 2 q' q*


def _near(point: np.ndarray, center: np.ndarray, reach: float) -> np.ndarray:
    """The point, or that in its direction at this distance from the centre."""
    way = point - center
    distance = math.sqrt(way @ way)
    return point if distance <= reach else center + way * (reach / distance)


def _aligned(quaternion: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Of the two quaternions of this rotation that nearer to another one."""
    return quaternion if quaternion @ other >= 0.0 else -quaternion
