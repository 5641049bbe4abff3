"""Blends a command from its value before a change of parameters to its value after it. No ROS import.

With u_0 the last command before the change, w_j the node's own command at the j-th tick after it, T the period
and tau the change time,

    u_j = (1 - s_j) u_0 + s_j w_j,      s_j = x^2 (3 - 2 x),      x = min(1, j T/tau),      j = 1, 2, ...

Each component of a force stays between u_0 and w_j. The step of a tick is

    u_j - u_(j-1) = (s_j - s_(j-1)) (w_j - u_0) + s_(j-1) (w_j - w_(j-1)),      s_j - s_(j-1) <= 1.5 T/tau,

1.5 % of the whole change with tau = 0.1 s, T = 1 ms. A velocity that is commanded without a position is blended in the
same manner. A motion with positions starts where the old motion would be at the first tick. Its offset from the new
motion, o in position and o' in velocity, vanishes with x = (j - 1) T/tau,

    p = p_w + o (1 - 3 x^2 + 2 x^3) + tau o' (x - 2 x^2 + x^3),      v = dp/dt,

without a jump of either: the step of the velocity is at most T (4 |o'|/tau + 6 |o|/tau^2) plus that of p_w. Motions
in joint coordinates, which no node of the suite commands, act at once. The ramp does not change the node's state.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy

from haptic_core import commands
from haptic_core.messages import pose_array, set_pose, set_twist, set_wrench, twist_array, view, wrench_array

Values = dict[str, np.ndarray]

_IDENTITY = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])


class ChangeRamp:
    """Blends one node's commands after a change of its parameters.

    In each tick `restore` comes before the node fills its command and `apply` after it.

    Args:
        mode: mode of the commands, NONE, EFFORT, WRENCH or MOTION.
        period: control period T [s].
        change_time: tau [s]; below two periods, changes act at once.
    """

    def __init__(self, mode: int, *, period: float, change_time: float) -> None:
        self._mode, self._period = mode, period
        self._ticks = round(change_time / period)
        self._tick = 0
        self._held: Values = {}
        self._own: Values = {}
        self._offset = np.zeros(6), np.zeros(6)
        if mode == commands.MOTION:
            _displacement(_IDENTITY, _IDENTITY)  # loads SciPy's rotations now, and not in the first tick of a change

    def start(self, command: Any) -> None:
        """Starts a ramp, before parameters change, at the haptic_msgs/DeviceCommand that acts now."""
        held = self._read(command) if self._ticks > 1 and command.mode == self._mode != commands.NONE else {}
        self.restore(command)
        self.cancel()
        self._held = held

    def cancel(self) -> None:
        """Ends the ramp: later commands are not blended."""
        self._tick = 0
        self._held, self._own = {}, {}

    def restore(self, command: Any) -> None:
        """Writes the node's own values back into the command, since a node need not fill all of them in every tick."""
        if self._own:
            self._write(command, self._own)
            self._own = {}

    def apply(self, command: Any) -> None:
        """Blends a filled and checked command."""
        if not self._held:
            return
        self._tick += 1
        own, has_pose = self._read(command), "pose" in self._held
        same = own.keys() == self._held.keys() and all(own[n].shape == row.shape for n, row in self._held.items())
        if self._tick >= self._ticks + has_pose or not same:
            self.cancel()
            return
        self._own = own
        x = self._tick / self._ticks
        s = x * x * (3.0 - 2.0 * x)
        blended = {name: held + s * (own[name] - held) for name, held in self._held.items()}
        self._write(command, blended | self._blended_motion(own) if has_pose else blended)

    def _blended_motion(self, own: Values) -> Values:
        """Returns pose and twist of this tick for a motion with positions."""
        held, time = self._held, self._ticks * self._period
        if self._tick == 1:
            old_pose = _shifted(held["pose"], self._period * held["twist"])
            self._offset = _displacement(own["pose"], old_pose), held["twist"] - own["twist"]
        o, o_rate = self._offset
        x = (self._tick - 1) / self._ticks
        offset = (1 - 3 * x**2 + 2 * x**3) * o + (time * (x - 2 * x**2 + x**3)) * o_rate
        change = (6 * (x * x - x) / time) * o + (1 - 4 * x + 3 * x**2) * o_rate
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


def _shifted(pose: np.ndarray, displacement: np.ndarray) -> np.ndarray:
    """Moves a pose (7,) by a displacement (6,) [m; rotation vector in rad], base frame."""
    Rotation = scipy.spatial.transform.Rotation
    orientation = Rotation.from_rotvec(displacement[3:]) * Rotation.from_quat(pose[3:])
    return np.concatenate((pose[:3] + displacement[:3], orientation.as_quat()))


def _displacement(start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Computes the displacement (6,) [m; rotation vector in rad] from one pose (7,) to another, base frame."""
    Rotation = scipy.spatial.transform.Rotation
    rotation = Rotation.from_quat(end[3:]) * Rotation.from_quat(start[3:]).inv()
    return np.concatenate((end[:3] - start[:3], rotation.as_rotvec()))
