"""Leads a command from its value before a change of parameters to its value after it. No ROS import.

With u_0 the last command before the change, w_j what the changed node answers at its j-th tick after it, T the period
and tau the change time,

    u_j = (1 - s_j) u_0 + s_j w_j,      s_j = x^2 (3 - 2 x),      x = min(1, j T/tau),      j = 1, 2, ...

so that no component of a force leaves the range between u_0 and w_j, and the step of a tick is

    u_j - u_(j-1) = (s_j - s_(j-1)) (w_j - u_0) + s_(j-1) (w_j - w_(j-1)),      s_j - s_(j-1) <= 1.5 T/tau,

1.5 % of the whole change with tau = 0.1 s, T = 1 ms. A velocity that is commanded alone is led likewise. A motion with
positions starts where the motion before would be at the first tick; its distance o in position and o' in velocity from
the new motion vanishes with x = (j - 1) T/tau,

    p = p_w + o (1 - 3 x^2 + 2 x^3) + tau o' (x - 2 x^2 + x^3),      v = dp/dt,

without a jump of either: the step of the velocity is at most T (4 |o'|/tau + 6 |o|/tau^2) beside that of p_w. Motions
in joint coordinates, which no node of the suite gives, act at once. The ramp does not change the state of the node.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy

from haptic_core import commands
from haptic_core.messages import pose_array, set_pose, set_twist, set_wrench, twist_array, view, wrench_array

Values = dict[str, np.ndarray]

_NOWHERE = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])


class ChangeRamp:
    """Blends one node's commands after a change of its parameters.

    In each tick `restore` comes before the node fills its command and `apply` after it.

    Args:
        mode: of the commands, NONE, EFFORT, WRENCH or MOTION.
        period: T [s].
        change_time: tau; 0, or less than two periods: changes act at once [s].
    """

    def __init__(self, mode: int, *, period: float, change_time: float) -> None:
        self._mode, self._period = mode, period
        self._ticks = round(change_time / period)
        self._tick = 0
        self._held: Values = {}
        self._own: Values = {}
        self._distance = np.zeros(6), np.zeros(6)
        if mode == commands.MOTION:
            _way(_NOWHERE, _NOWHERE)  # loads SciPy's rotations now, and not in the first tick of a change

    def start(self, command: Any) -> None:
        """Parameters are about to change; the command, haptic_msgs/DeviceCommand, is the one that acts."""
        held = self._read(command) if self._ticks > 1 and command.mode == self._mode != commands.NONE else {}
        self.restore(command)
        self.cancel()
        self._held = held

    def cancel(self) -> None:
        """Commands are as the node gives them."""
        self._tick = 0
        self._held, self._own = {}, {}

    def restore(self, command: Any) -> None:
        """Brings the node's own numbers back into the command; a node need not fill all of them in every tick."""
        if self._own:
            self._write(command, self._own)
            self._own = {}

    def apply(self, command: Any) -> None:
        """Blends a filled and checked command."""
        if not self._held:
            return
        self._tick += 1
        own, placed = self._read(command), "pose" in self._held
        same = own.keys() == self._held.keys() and all(own[n].shape == row.shape for n, row in self._held.items())
        if self._tick >= self._ticks + placed or not same:
            self.cancel()
            return
        self._own = own
        x = self._tick / self._ticks
        s = x * x * (3.0 - 2.0 * x)
        blended = {name: held + s * (own[name] - held) for name, held in self._held.items()}
        self._write(command, blended | self._led(own) if placed else blended)

    def _led(self, own: Values) -> Values:
        """Position and velocity of a motion with positions."""
        held, time = self._held, self._ticks * self._period
        if self._tick == 1:
            before = _shifted(held["pose"], self._period * held["twist"])
            self._distance = _way(own["pose"], before), held["twist"] - own["twist"]
        away, rate = self._distance
        x = (self._tick - 1) / self._ticks
        offset = (1 - 3 * x**2 + 2 * x**3) * away + (time * (x - 2 * x**2 + x**3)) * rate
        change = (6 * (x * x - x) / time) * away + (1 - 4 * x + 3 * x**2) * rate
        return {"pose": _shifted(own["pose"], offset), "twist": own["twist"] + change}

    def _read(self, command: Any) -> Values:
        if self._mode == commands.EFFORT:
            return {"joint_effort": np.array(command.joint_effort)}
        if self._mode == commands.WRENCH:
            return {"wrench": wrench_array(command.tool_wrench)}
        if len(command.joint_position) or len(command.joint_velocity):
            return {}
        values = {"twist": twist_array(command.tool_twist), "acceleration": twist_array(command.tool_acceleration)}
        return values | ({"pose": pose_array(command.tool_pose)} if command.motion_fields & commands.POSITION else {})

    def _write(self, command: Any, values: Values) -> None:
        for name, row in values.items():
            if name == "wrench":
                set_wrench(command.tool_wrench, row)
            elif name == "pose":
                set_pose(command.tool_pose, row)
            elif name in ("twist", "acceleration"):
                set_twist(getattr(command, f"tool_{name}"), row)
            else:
                view(command.joint_effort)[:] = row


def _shifted(pose: np.ndarray, way: np.ndarray) -> np.ndarray:
    """A pose (7,) after a displacement [m; rotation vector in rad] (6,), base frame."""
    Rotation = scipy.spatial.transform.Rotation
    turned = Rotation.from_rotvec(way[3:]) * Rotation.from_quat(pose[3:])
    return np.concatenate((pose[:3] + way[:3], turned.as_quat()))


def _way(start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """From one pose (7,) to another: [m; rotation vector in rad] (6,), base frame."""
    Rotation = scipy.spatial.transform.Rotation
    turn = Rotation.from_quat(end[3:]) * Rotation.from_quat(start[3:]).inv()
    return np.concatenate((end[:3] - start[:3], turn.as_rotvec()))
