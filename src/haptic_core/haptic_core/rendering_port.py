"""Port of a rendering node: connects messages of a tick with `haptic_math.passivity`."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
from geometry_msgs.msg import Wrench

from haptic_core import commands
from haptic_core.messages import STATUS_OK, set_wrench, vector
from haptic_math.passivity import TOOL_WEIGHTS, AdmittancePort, ImpedancePort, PassivityRule, tool_motion
from haptic_msgs.msg import DeviceCommand, DeviceState, PassivityState


def rule_of(parameters: dict[str, Any]) -> PassivityRule:
    """Makes the rule of a rendering node's port from the node's parameters."""
    names = ("initial_energy", "device_damping", "largest_damping", "largest_force")
    return PassivityRule(
        parameters["period"],
        control=parameters["passivity"] == "control",
        **{name: parameters[f"passivity_{name}"] for name in names},
    )


class RenderingPort:
    """Port between a rendering node and the device: joint efforts, a wrench at the tool, or the tool's motion.

    In each tick `arrive` comes before the node's step and `hold` after it.

    Args:
        name: name of the node.
        mode: mode of its commands, EFFORT, WRENCH or MOTION.
        parameters: parameters of the node.

    Attributes:
        message: haptic_msgs/PassivityState of the tick; the caller sets header and tick.
    """

    def __init__(self, name: str, mode: int, parameters: dict[str, Any]) -> None:
        self.message = PassivityState(port=name)
        self._mode = mode
        self._delay = parameters["passivity_delay"] + (parameters["mode"] == "realtime")
        self._rule = rule_of(parameters)
        self._joints = -1
        self._reduced_wrench = Wrench()
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
            command: last command of the node, from which the damper's force is removed.

        Returns:
            State for the node's step. For a MOTION node the damper has reduced the user's force in it.
        """
        if self._undamped is not None:
            self._write(command, self._undamped)
            self._undamped = None
        position: Sequence[float]
        if self._mode == commands.EFFORT:
            position = device.joint_position.tolist()
            if len(position) != self._joints:
                self._joints = len(position)
                self.restart()
            moved: Sequence[float] = [now - then for now, then in zip(position, self._last or position, strict=True)]
        else:
            position = _pose(device)
            moved = tool_motion(self._last or position, position)
        self._last = position
        if isinstance(self._port, ImpedancePort):
            self._port.arrive(moved)
            return device
        user = _wrench(device.tool_wrench)
        self._port.arrive(moved, user)
        damped = self._port.damped_force(user, self._velocity(device))
        if damped is user:
            return device
        set_wrench(self._reduced_wrench, np.asarray(damped))
        reduced = copy.copy(device)  # other nodes may use this state, too
        reduced.tool_wrench = self._reduced_wrench
        return reduced

    def hold(self, device: DeviceState, command: DeviceCommand) -> None:
        """Adds the damper's force to the tick's command, and stores the force that acts from now on."""
        port = self._port
        if isinstance(port, ImpedancePort):
            if device.status != STATUS_OK or command.mode == commands.NONE:
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
