"""Limits of the commands to a device, simulated or real, and a ramp after a stop. No ROS import.

u_k are the commanded joint efforts at tick k, T the period, u'_k the efforts that act, tau the engagement time. At j
ticks after the first command after a stop that is not zero,

    s_k  = min(1, j T / tau)                                    engagement
    w_k  = min(max(s_k u_k, -u_max), u_max)                     effort
    u'_k = min(max(w_k, u'_{k-1} - r T), u'_{k-1} + r T)        force rate r

A commanded position p is blended from the tool's measured position p_0 at j = 0: p_0 + s (p - p_0) (quaternions are
normalised). Rates are multiplied by s, joint velocities are clipped to their limits, and positions to the workspace.

The measured state is checked after every period: a joint faster than its limit, or a tool outside the workspace, stops
the device. A command that is not finite stops it, too. A command within all limits is unchanged to the last bit.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from haptic_core.commands import POSITION, Motion
from haptic_core.errors import HapticError, ParameterError

#: bits of DeviceState.limited, and the names under which their ticks are counted
LIMITED_EFFORT, LIMITED_EFFORT_RATE, LIMITED_VELOCITY, LIMITED_WORKSPACE, ENGAGING = (1 << i for i in range(5))
LIMIT_NAMES = {
    LIMITED_EFFORT: "effort",
    LIMITED_EFFORT_RATE: "effort rate",
    LIMITED_VELOCITY: "velocity",
    LIMITED_WORKSPACE: "workspace",
}

Corner = tuple[float, float, float]
EVERYWHERE: tuple[Corner, Corner] = ((-math.inf,) * 3, (math.inf,) * 3)


class SafetyError(HapticError):
    """The device must go to its safe state; the message has the reason."""


@dataclass(frozen=True)
class SafetyLimits:
    """Limits from a device's description; infinite if it has none.

    Attributes:
        joints: names of the n joints.
        effort: (n,) largest effort [N m] or [N].
        effort_rate: (n,) fastest change of the effort [N m/s] or [N/s].
        velocity: (n,) largest speed [rad/s] or [m/s].
        lower, upper: (n,) bounds of commanded positions [rad] or [m]; measured positions are limited by the mechanical
            stops.
        workspace: lower and upper corner (3,) of the box in the base frame that the tool point must not leave [m].

    Raises:
        ParameterError: a limit is missing, negative, not a number, or a range is empty.
    """

    joints: tuple[str, ...]
    effort: Sequence[float]
    effort_rate: Sequence[float]
    velocity: Sequence[float]
    lower: Sequence[float]
    upper: Sequence[float]
    workspace: tuple[Corner, Corner] = EVERYWHERE

    def __post_init__(self) -> None:
        for name in ("effort", "effort_rate", "velocity", "lower", "upper"):
            values = getattr(self, name)
            if len(values) != len(self.joints):
                raise ParameterError(f"limit {name}: expected {len(self.joints)} numbers, got {len(values)}")
        for name in ("effort", "effort_rate", "velocity"):
            for joint, value in zip(self.joints, getattr(self, name), strict=True):
                if not value > 0.0:  # also true for NaN
                    raise ParameterError(f"limit {name} of joint {joint}: expected above 0, got {value}")
        if [len(corner) for corner in self.workspace] != [3, 3]:
            raise ParameterError(f"workspace: expected two corners of 3 numbers, got {self.workspace}")
        ranges = [*zip((f"joint {name}" for name in self.joints), self.lower, self.upper, strict=True)]
        ranges += zip((f"workspace {axis}" for axis in "xyz"), *self.workspace, strict=True)
        for name, low, high in ranges:
            if not low < high:
                raise ParameterError(f"{name}: expected a lower limit below the upper one, got {low} and {high}")


class SafetyLayer:
    """Limits one device's commands, tick by tick.

    Args:
        limits: limits of the device.
        period: control period T [s].
        engagement_time: tau of the ramp after a stop [s]; 0: commands act at once.

    Attributes:
        limited: sum of the bits of DeviceState.limited in the last tick.
        counts: ticks in which each limit acted, by name.

    Raises:
        ParameterError: period or engagement time is out of range.
    """

    def __init__(self, limits: SafetyLimits, *, period: float, engagement_time: float = 0.0) -> None:
        if not 0.0 < period < math.inf:
            raise ParameterError(f"period: expected above 0 and finite [s], got {period}")
        if not 0.0 <= engagement_time < math.inf:
            raise ParameterError(f"engagement_time: expected 0 or more and finite [s], got {engagement_time}")
        self.limits = limits
        self.counts: Counter[str] = Counter()
        self._ramp_ticks = engagement_time / period
        self._bounds = [
            (name, effort, rate * period)
            for name, effort, rate in zip(limits.joints, limits.effort, limits.effort_rate, strict=True)
        ]
        self._box = [*zip("xyz", *limits.workspace, strict=True)]
        self._speeds = [*zip(limits.joints, limits.velocity, strict=True)]
        self._start = np.zeros(0), np.zeros(0)
        self.restart()

    def restart(self) -> None:
        """Starts at the first tick of a run: without ramp, with zero effort before, and with no counts."""
        self._last = [0.0] * len(self._bounds)
        self._ramp: int | None = None
        self.counts.clear()
        self.limited = 0

    def disengage(self) -> None:
        """Restarts the ramp for later commands, because the device is in its safe state."""
        self._last = [0.0] * len(self._last)
        self._ramp = 0
        self.limited = 0

    def _scale(self) -> float:
        """Returns s of this tick and advances the ramp by one tick."""
        if self._ramp is None:
            return 1.0
        if self._ramp >= self._ramp_ticks:
            self._ramp = None
            return 1.0
        scale = self._ramp / self._ramp_ticks
        self._ramp += 1
        self.limited |= ENGAGING
        return scale

    def _count(self) -> None:
        for bit, name in LIMIT_NAMES.items():
            if self.limited & bit:
                self.counts[name] += 1

    def effort(self, command: np.ndarray) -> np.ndarray:
        """Limits joint efforts (n,) [N m] or [N] for the next period. Returns the array itself if it is within limits.

        Raises:
            SafetyError: an effort is not finite, or there are not n of them.
        """
        self.limited = 0
        efforts = command.tolist()
        if len(efforts) != len(self._bounds):
            raise SafetyError(f"effort: expected {len(self._bounds)} numbers, got {len(efforts)}")
        for (name, _, _), value in zip(self._bounds, efforts, strict=True):
            if not math.isfinite(value):
                raise SafetyError(f"joint {name}: effort: expected finite, got {value}")
        if self._ramp is not None and any(efforts):
            scale = self._scale()
            efforts = [scale * value for value in efforts]
        for i, (_, limit, step) in enumerate(self._bounds):
            value, last = efforts[i], self._last[i]
            if not -limit <= value <= limit:
                value = math.copysign(limit, value)
                self.limited |= LIMITED_EFFORT
            if not -step <= value - last <= step:
                value = last + math.copysign(step, value - last)
                self.limited |= LIMITED_EFFORT_RATE
            efforts[i] = value
        self._last = efforts
        if not self.limited:
            return command
        self._count()
        return np.array(efforts)

    def motion(self, command: Motion | None, pose: np.ndarray, position: np.ndarray) -> Motion | None:
        """Limits a motion command for the next period. Returns the command itself if it is within limits.

        Args:
            command: motion command; None: hold the position.
            pose: measured pose of the tool (7,).
            position: measured positions of the joints (n,).

        Raises:
            SafetyError: a number is not finite.
        """
        self.limited = 0
        if command is None:
            return None
        joints = [values for values in (command.joint_position, command.joint_velocity) if values is not None]
        for values in (command.pose, command.twist, command.acceleration, *joints):
            numbers = values.tolist()
            if not math.isfinite(sum(numbers)) and not all(map(math.isfinite, numbers)):  # a sum may overflow
                raise SafetyError(f"motion: expected finite, got {numbers}")
        if self._ramp is not None:
            command = self._blended(command, pose, position)
        command = self._inside(command)
        if self.limited:
            self._count()
        return command

    def _blended(self, command: Motion, pose: np.ndarray, position: np.ndarray) -> Motion:
        if self._ramp == 0:
            self._start = pose.copy(), position.copy()
        s = self._scale()
        if s >= 1.0:
            return command
        start, joints = self._start
        wanted = command.pose.copy()
        if start[3:7] @ wanted[3:7] < 0.0:  # the same rotation by the shorter path
            wanted[3:7] *= -1.0
        wanted += (1.0 - s) * (start - wanted)
        norm = math.sqrt(float(wanted[3:7] @ wanted[3:7]))
        wanted[3:7] = wanted[3:7] / norm if norm > 0.0 else start[3:7]
        q, rate = command.joint_position, command.joint_velocity
        return replace(
            command,
            pose=wanted,
            twist=s * command.twist,
            acceleration=s * command.acceleration,
            joint_position=None if q is None else joints + s * (q - joints),
            joint_velocity=None if rate is None else s * rate,
        )

    def _inside(self, command: Motion) -> Motion:
        pose, q, rate = command.pose, command.joint_position, command.joint_velocity
        places = pose.tolist() if command.fields & POSITION and q is None else ()
        if any(not low <= value <= high for (_, low, high), value in zip(self._box, places, strict=False)):
            self.limited |= LIMITED_WORKSPACE
            command = replace(command, pose=np.concatenate((np.clip(pose[:3], *self.limits.workspace), pose[3:])))
        if q is not None:
            inside = np.clip(q, self.limits.lower, self.limits.upper)
            if (inside != q).any():
                self.limited |= LIMITED_WORKSPACE
                command = replace(command, joint_position=inside)
        if rate is not None:
            slow = np.clip(rate, np.negative(self.limits.velocity), self.limits.velocity)
            if (slow != rate).any():
                self.limited |= LIMITED_VELOCITY
                command = replace(command, joint_velocity=slow)
        return command

    def check(self, velocity: np.ndarray, place: np.ndarray) -> None:
        """Checks the measured state.

        Args:
            velocity: velocities of the joints (n,) [rad/s] or [m/s].
            place: position (3,) of the tool point in the base frame [m]; further numbers, as in a pose, are ignored.

        Raises:
            SafetyError: a joint is too fast, the tool is outside the workspace, or a number is not finite or missing.
        """
        if len(velocity) != len(self._speeds) or len(place) < len(self._box):
            expected = f"{len(self._speeds)} joint velocities and a position of {len(self._box)} numbers"
            raise SafetyError(f"measured state: expected {expected}, got {len(velocity)} and {len(place)}")
        for (name, limit), speed in zip(self._speeds, velocity.tolist(), strict=True):
            if not abs(speed) <= limit:  # also true for NaN
                raise SafetyError(f"joint {name}: speed {speed:.3g} above the limit {limit:g}")
        for (axis, low, high), value in zip(self._box, place.tolist(), strict=False):
            if not low <= value <= high:
                raise SafetyError(f"tool: {axis} = {value:.4g} m outside the workspace, {low:g} to {high:g} m")
