"""Combines the answers of a device's sources, tick by tick. No ROS import."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from haptic_core.errors import HapticError, InputError
from haptic_core.messages import detail_of, require_finite, require_length, require_rotation, vector, wrench_array

NONE, EFFORT, WRENCH, MOTION = range(4)
MODE_NAMES = ("NONE", "EFFORT", "WRENCH", "MOTION")
POSITION, VELOCITY, ACCELERATION = 1, 2, 4
_MOTION_FIELDS = POSITION | VELOCITY | ACCELERATION


class CommandConflictError(HapticError):
    """The sources' modes cannot be combined on one device."""


@dataclass(frozen=True)
class Motion:
    """The commanded motion of an admittance device, in its base frame.

    Attributes:
        fields: sum of those of POSITION, VELOCITY, ACCELERATION that are given.
        pose: (7,) x, y, z [m] and quaternion x, y, z, w of the tool.
        twist: (6,) of the tool point [m/s], [rad/s].
        acceleration: (6,) of the tool point [m/s^2], [rad/s^2].
        joint_position: (n,) [rad] or [m], replaces `pose`; None: the pose is used.
        joint_velocity: (n,) [rad/s] or [m/s], replaces `twist`; None: the twist is used.
    """

    fields: int
    pose: np.ndarray
    twist: np.ndarray
    acceleration: np.ndarray
    joint_position: np.ndarray | None = None
    joint_velocity: np.ndarray | None = None


def check_modes(modes: dict[str, str], kind: str) -> None:
    """Refuses combinations of sources that a device cannot add up.

    Args:
        modes: mode name of each source.
        kind: "impedance" (takes EFFORT and WRENCH), "admittance" (takes MOTION) or "scripted" (takes
            every mode and ignores the commands).

    Raises:
        CommandConflictError: two sources command MOTION, one commands MOTION and another a force, or the device
            does not take that mode.
    """
    if kind == "scripted":
        return
    motion = sorted(source for source, mode in modes.items() if mode == "MOTION")
    force = sorted(source for source, mode in modes.items() if mode in ("EFFORT", "WRENCH"))
    if len(motion) > 1:
        raise CommandConflictError(f"sources {', '.join(motion)}: at most one may command MOTION")
    if motion and force:
        raise CommandConflictError(
            f"sources {motion[0]} (MOTION) and {force[0]} ({modes[force[0]]}): motion and force cannot be combined"
        )
    if motion and kind == "impedance":
        raise CommandConflictError(f"source {motion[0]}: an impedance device takes EFFORT or WRENCH, not MOTION")
    if force and kind == "admittance":
        raise CommandConflictError(f"source {force[0]}: an admittance device takes MOTION, not {modes[force[0]]}")


def state_of(event: Any) -> dict[str, Any]:
    """Parses a source's event of kind "state"; raises InputError if a required entry is missing."""
    detail = detail_of(event)
    parameters = detail.get("parameters", {})
    inputs = parameters.get("inputs", []) if isinstance(parameters, dict) else None
    fits = isinstance(inputs, list) and all(isinstance(entry, str) for entry in inputs)
    if not fits or (detail.get("state") == "active" and detail.get("mode") not in MODE_NAMES):
        raise InputError("malformed", f"event of {event.source}: expected state, mode and parameters of a source")
    return detail


def check_command(command: Any, joints: int) -> None:
    """Raises InputError unless a DeviceCommand is complete and finite in the fields that its mode uses."""
    mode = command.mode
    if mode == EFFORT:
        require_length("joint_effort", command.joint_effort, joints)
        require_finite("joint_effort", *command.joint_effort)
    elif mode == WRENCH:
        wrench = command.tool_wrench
        require_finite("tool_wrench", *vector(wrench.force), *vector(wrench.torque))
    elif mode == MOTION:
        _check_motion(command, joints)
    elif mode != NONE:
        raise InputError("unknown mode", f"mode: expected 0 to 3, got {mode}")


def _check_motion(command: Any, joints: int) -> None:
    if not 0 < command.motion_fields <= _MOTION_FIELDS:
        raise InputError("unknown mode", f"motion_fields: expected 1 to 7, got {command.motion_fields}")
    for name in ("joint_position", "joint_velocity"):
        values = getattr(command, name)
        if len(values):
            require_length(name, values, joints)
            require_finite(name, *values)
    pose, twist, accel = command.tool_pose, command.tool_twist, command.tool_acceleration
    q = pose.orientation
    require_finite("tool_pose", *vector(pose.position), q.x, q.y, q.z, q.w)
    if command.motion_fields & POSITION and not len(command.joint_position):
        require_rotation("tool_pose.orientation", q.x, q.y, q.z, q.w)
    require_finite("tool_twist", *vector(twist.linear), *vector(twist.angular))
    require_finite("tool_acceleration", *vector(accel.linear), *vector(accel.angular))


def motion_of(command: Any, *, late: bool = False) -> Motion | None:
    """Returns the motion of a checked DeviceCommand; None if the device is to hold its position.

    Args:
        command: haptic_msgs/DeviceCommand, or None.
        late: the command is from an earlier tick, and only its POSITION is used.
    """
    if command is None or command.mode != MOTION:
        return None
    fields = command.motion_fields & (POSITION if late else _MOTION_FIELDS)
    if not fields:
        return None
    pose, twist, accel = command.tool_pose, command.tool_twist, command.tool_acceleration
    q = pose.orientation
    joints = [np.array(field) if len(field) else None for field in (command.joint_position, command.joint_velocity)]
    return Motion(
        fields,
        np.array((*vector(pose.position), q.x, q.y, q.z, q.w)),
        np.array((*vector(twist.linear), *vector(twist.angular))),
        np.array((*vector(accel.linear), *vector(accel.angular))),
        *joints,
    )


class CommandCollector:
    """Collects the commands of all sources for the open tick.

    The efforts are added in the order of `sources`, never in the order of arrival, so that a run is
    repeatable to the last bit.

    Args:
        sources: names of the nodes that must answer.
        joints: number of joints.
    """

    def __init__(self, sources: Sequence[str], joints: int) -> None:
        self.sources = tuple(sources)
        self.joints = joints
        self._wrench = np.zeros(6)
        self.reset()

    def reset(self) -> None:
        """Forgets all commands; any tick may be next."""
        self.expect(-1)
        self._commands: dict[str, Any] = {}
        self.last_answer = dict.fromkeys(self.sources, -1)

    def resume(self) -> None:
        """Forgets all commands, but not which sources have answered the open tick; silence counts from that tick."""
        self._commands = {}
        self.last_answer = {source: max(tick, self.tick - 1) for source, tick in self.last_answer.items()}

    def expect(self, tick: int) -> None:
        """Opens a tick: from now on `offer` takes commands of this tick."""
        self.tick = tick
        self._outstanding = len(self.sources)

    def age(self, ticks: int) -> None:
        """Ages all answers by a number of ticks that the device skipped."""
        self.last_answer = {source: answered - ticks for source, answered in self.last_answer.items()}

    def offer(self, command: Any) -> None:
        """Takes a command for the open tick.

        Raises:
            InputError: the source is unknown, the tick is another one, the source has answered before, or a field
                cannot be used. A command with an unusable field counts as an answer that commands nothing.
        """
        source = command.source
        if source not in self.last_answer:
            raise InputError("unknown source", f"source: expected one of {', '.join(self.sources)}, got {source!r}")
        if command.tick != self.tick:
            kind = "late" if command.tick < self.tick else "wrong tick"
            raise InputError(kind, f"tick of {source}: expected {self.tick}, got {command.tick}")
        if self.last_answer[source] == self.tick:
            raise InputError("duplicate", f"source {source}: answered tick {self.tick} twice")
        self.last_answer[source] = self.tick
        self._outstanding -= 1
        try:
            check_command(command, self.joints)
        except InputError as error:
            self._commands.pop(source, None)
            raise InputError(error.kind, f"command of {source}: {error}") from None
        self._commands[source] = command

    def command_of(self, source: str) -> Any:
        """Returns the last valid command of a source; None if there is none."""
        return self._commands.get(source)

    @property
    def missing(self) -> list[str]:
        """Sources that have not answered the open tick."""
        return [source for source, tick in self.last_answer.items() if tick != self.tick]

    @property
    def complete(self) -> bool:
        """True if all sources have answered the open tick."""
        return self._outstanding == 0

    def silent(self, periods: int) -> list[str]:
        """Returns the sources whose last answer is at least `periods` ticks old."""
        return [source for source, tick in self.last_answer.items() if self.tick - tick >= periods]

    def effort(self, jacobian: np.ndarray) -> np.ndarray:
        """Sums all commanded forces as joint efforts [N m] or [N], shape (joints,).

        A source that has not answered in time contributes its last valid force until the watchdog stops the device.
        A source whose last answer was unusable contributes nothing.

        Args:
            jacobian: of the tool point in the base frame, shape (6, joints), rows [linear; angular].
        """
        total = np.dot(self.wrench(), jacobian)
        for source in self.sources:
            command = self._commands.get(source)
            if command is not None and command.mode == EFFORT:
                total += command.joint_effort
        return total

    def motion(self) -> Motion | None:
        """Returns the commanded motion; None if the device is to hold its position.

        If the source has not answered in time, its last POSITION is used, without velocity and acceleration, until
        the watchdog stops the device. After an unusable answer or NONE there is no motion.
        """
        for source in self.sources:
            command = self._commands.get(source)
            if command is not None and command.mode == MOTION:
                return motion_of(command, late=self.last_answer[source] != self.tick)
        return None

    def wrench(self) -> np.ndarray:
        """Sums the last commanded wrenches [N], [N m], shape (6,), without joint efforts; the array is reused."""
        total = self._wrench
        total[:] = 0.0
        for source in self.sources:
            command = self._commands.get(source)
            if command is not None and command.mode == WRENCH:
                total += wrench_array(command.tool_wrench)
        return total
