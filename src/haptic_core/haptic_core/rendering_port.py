"""The port of a rendering node: messages to `passivity` and back, on the data of the tick."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
from geometry_msgs.msg import Wrench

from haptic_core import commands
from haptic_core.messages import set_wrench, vector
from haptic_math.passivity import TOOL_WEIGHTS, AdmittancePort, ImpedancePort, PassivityRule, tool_motion
from haptic_msgs.msg import DeviceCommand, DeviceState, PassivityState


def rule_of(parameters: dict[str, Any]) -> PassivityRule:
    """Limits of a rendering node's port, from its parameters."""
    names = ("initial_energy", "device_damping", "largest_damping", "largest_force")
    return PassivityRule(
        parameters["period"],
        control=parameters["passivity"] == "control",
        **{name: parameters[f"passivity_{name}"] for name in names},
    )


class RenderingPort:
    """The port of a rendering node at the device: joint efforts, a wrench at the tool, or the tool's motion.

    In each tick `arrive` comes before the node's step and `hold` after it.

    Args:
        name: of the node.
        mode: of its commands, EFFORT, WRENCH or MOTION.
        parameters: of the node.

    Attributes:
        message: haptic_msgs/PassivityState of the tick; header and tick are the caller's.
    """

    def __init__(self, name: str, mode: int, parameters: dict[str, Any]) -> None:
        self.message = PassivityState(port=name)
        self._mode = mode
        self._delay = parameters["passivity_delay"] + (parameters["mode"] == "realtime")
        self._rule = rule_of(parameters)
        self._joints = -1
        self._told_wrench = Wrench()
        self._undamped: Sequence[float] | None = None
        self.restart()

    def restart(self) -> None:
        """Sets the energy to zero."""
        self._last: Sequence[float] | None = None
        self._port = self._made(max(self._joints, 0))

    def _made(self, joints: int) -> AdmittancePort | ImpedancePort:
        if self._mode == commands.MOTION:
            return AdmittancePort(self._rule, TOOL_WEIGHTS)
        weights = (1.0,) * joints if self._mode == commands.EFFORT else TOOL_WEIGHTS
        return ImpedancePort(self._rule, weights, self._delay)

    def arrive(self, device: DeviceState, command: DeviceCommand) -> DeviceState:
        """Adds the energy of the last period.

        Args:
            device: checked state.
            command: last command of the node; the damper's part is removed from it.

        Returns:
            The state for the node's step; for a MOTION node the user's force in it is reduced by the damper.
        """
        if self._undamped is not None:
            self._write(command, self._undamped)
            self._undamped = None
        place: Sequence[float]
        if self._mode == commands.EFFORT:
            place = device.joint_position.tolist()
            if len(place) != self._joints:
                self._joints = len(place)
                self.restart()
            moved: Sequence[float] = [now - then for now, then in zip(place, self._last or place, strict=True)]
        else:
            place = _pose(device)
            moved = tool_motion(self._last or place, place)
        self._last = place
        if isinstance(self._port, ImpedancePort):
            self._port.arrive(moved)
            return device
        user = _wrench(device.tool_wrench)
        self._port.arrive(moved, user)
        told = self._port.damped_force(user, self._velocity(device))
        if told is user:
            return device
        set_wrench(self._told_wrench, np.asarray(told))
        seen = copy.copy(device)  # the state may be others', too
        seen.tool_wrench = self._told_wrench
        return seen

    def hold(self, device: DeviceState, command: DeviceCommand) -> None:
        """Adds the damper to the tick's command, and stores the force that is held from now on."""
        port = self._port
        if isinstance(port, ImpedancePort):
            if device.status != DeviceState.STATUS_OK or command.mode == commands.NONE:
                port.damping = 0.0
                port.hold((0.0,) * len(port.weights), (0.0,) * len(port.weights))
            else:
                wanted = (
                    command.joint_effort.tolist() if self._mode == commands.EFFORT else _wrench(command.tool_wrench)
                )
                held = port.hold(wanted, self._velocity(device))
                if held is not wanted:
                    self._undamped = wanted
                    self._write(command, held)
        message = self.message
        message.energy, message.power = port.energy, port.power
        message.dissipated_energy, message.injected_damping = port.dissipated, port.damping

    def _velocity(self, device: DeviceState) -> Sequence[float]:
        if self._mode == commands.EFFORT:
            return device.joint_velocity.tolist()
        return (*vector(device.tool_twist.linear), *vector(device.tool_twist.angular))

    def _write(self, command: DeviceCommand, force: Sequence[float]) -> None:
        if self._mode == commands.EFFORT:
            for i, effort in enumerate(force):
                command.joint_effort[i] = effort
        else:
            set_wrench(command.tool_wrench, np.asarray(force))


def _pose(device: DeviceState) -> tuple[float, ...]:
    q = device.tool_pose.orientation
    return (*vector(device.tool_pose.position), q._x, q._y, q._z, q._w)


def _wrench(wrench: Wrench) -> tuple[float, ...]:
    return (*vector(wrench.force), *vector(wrench.torque))
