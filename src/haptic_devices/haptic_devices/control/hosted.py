"""A device inside a program of another language: calls without arguments, arrays that both sides share. No ROS import.

haptic_hardware, a ros2_control plugin in C++, embeds Python and calls one `HostedDevice` for each hardware component.
All numbers are in arrays, which are made once. The names of their entries are those of ros2_control's interfaces,
"component/interface". `name` is that of the hardware; it is the prefix of all components except joints.

    states     joint/position, velocity, effort; name_tool/position.x ...; name_force_torque/force.x ...;
               name_truth/... of a simulated device; passive joints' position, velocity;
               name_loop/buttons, status, limited
    commands   name_loop/run, resets;
               impedance: joint/effort, name_tool/force.x ... (added, the wrench mapped by the Jacobian);
               admittance: name_tool/motion_fields, by_joints, position.x ..., joint/position, velocity

A real device reads in `read` and acts in `write`. A simulated device integrates its period in `write`. The safety layer
is part of this class: it limits the commands of all controllers.
"""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from typing import Any

import numpy as np
import yaml

from haptic_core.commands import Motion
from haptic_core.errors import ParameterError
from haptic_core.parameters import check_all, load_parameter_specs
from haptic_core.safety import SafetyError, SafetyLayer
from haptic_devices.device import Device, DeviceError
from haptic_devices.factories import NODE_PARAMETER_FILE, find_device
from haptic_devices.loop import FAULT, OK, SAFE_STOP
from haptic_files.fast_yaml import load_yaml

#: values of `run`: commands do not act; commands act; safe state until `resets` changes; commands act, ramped in from
#: this period on
IDLE, RUN, STOP, RAMP = range(4)

_POSE = ("position.x", "position.y", "position.z", "orientation.x", "orientation.y", "orientation.z", "orientation.w")
_TWIST = tuple(f"{part}_velocity.{axis}" for part in ("linear", "angular") for axis in "xyz")
_ACCELERATION = tuple(f"{part}_acceleration.{axis}" for part in ("linear", "angular") for axis in "xyz")
_WRENCH = tuple(f"{part}.{axis}" for part in ("force", "torque") for axis in "xyz")

#: passive joints are only displayed: they are updated at this interval [s]
PASSIVE_INTERVAL = 0.02


def parse_parameters(texts: Mapping[str, str]) -> dict[str, Any]:
    """Parses and checks the device node's parameters in the texts of a URDF; missing ones have their defaults.

    Raises:
        ParameterError: a name is unknown, or a value is refused.
    """
    specs = load_parameter_specs(NODE_PARAMETER_FILE)
    values: dict[str, Any] = {}
    for name, text in texts.items():
        try:
            is_text = name in specs and specs[name].type == "string"
            values[name] = text if is_text else load_yaml(text)
        except yaml.YAMLError:
            raise ParameterError(f"parameter {name}: not YAML: {text!r}") from None
    return check_all(specs, values)


def interface_names(device: Device, name: str) -> tuple[list[str], list[str]]:
    """Returns the names of all state and all command interfaces, in the order of the shared arrays."""
    joints = [joint.name for joint in device.joints]
    tool, loop, truth = f"{name}_tool", f"{name}_loop", f"{name}_truth"
    states = [f"{joint}/{kind}" for kind in ("position", "velocity", "effort") for joint in joints]
    states += [f"{tool}/{part}" for part in (*_POSE, *_TWIST)]
    states += [f"{name}_force_torque/{part}" for part in _WRENCH]
    if device.truth() is not None:
        states += [f"{truth}/{joint}.{kind}" for kind in ("position", "velocity", "effort") for joint in joints]
        states += [f"{truth}/{part}" for part in (*_POSE, *_TWIST, *_WRENCH, *(f"target.{part}" for part in _POSE))]
    states += [f"{joint}/{kind}" for kind in ("position", "velocity") for joint in device.passive_joints]
    states += [f"{loop}/buttons", f"{loop}/status", f"{loop}/limited"]
    commands = [f"{loop}/run", f"{loop}/resets"]
    if device.kind == "admittance":
        commands += [f"{tool}/motion_fields", f"{tool}/by_joints"]
        commands += [f"{tool}/{part}" for part in (*_POSE, *_TWIST, *_ACCELERATION)]
        commands += [f"{joint}/{kind}" for kind in ("position", "velocity") for joint in joints]
    else:
        commands += [f"{joint}/effort" for joint in joints]
        commands += [f"{tool}/{part}" for part in _WRENCH]
    return states, commands


class HostedDevice:
    """One device, its shared arrays, and its safety layer.

    Args:
        name: name of the hardware and prefix of the interfaces.
        texts: parameters of the device node, with `device` and `period`, as texts.

    Attributes:
        device: configured device.
        state_names, command_names: names of the arrays' entries.
        states: float64 arrays; their entries, one array after the other, are the states.
        commands: (len(command_names),) commands, written by the host; NaN only if no controller commands.
        status: OK, SAFE_STOP or FAULT.
        reason: reason of the status, if it is not OK.
        safety: safety layer that limits the commands.
    """

    def __init__(self, name: str, texts: Mapping[str, str]) -> None:
        parameters = parse_parameters(texts)
        if parameters["device"] == "scripted":
            raise ParameterError("parameter device: expected a device with joints, got 'scripted'")
        self.device = device = find_device(parameters["device"])({**parameters, "mode": "realtime"})
        device.configure(parameters["period"])
        self.state_names, self.command_names = interface_names(device, name)
        self._reading, truth, n = device.read(), device.truth(), len(device.joints)
        self._passive = np.zeros((2, len(device.passive_joints)))
        self._loop_state = np.zeros(3)
        true = [truth.values] if truth is not None else []
        self.states = [self._reading.values, *true, self._passive.reshape(-1), self._loop_state]
        self.commands = np.zeros(len(self.command_names))
        self._effort = np.zeros(n)
        self.safety = SafetyLayer(
            device.limits(), period=parameters["period"], engagement_time=parameters["engagement_time"]
        )
        self._acted = False
        self._follows = device.kind == "admittance"
        self._motions = self._make_motions(n) if self._follows else {}
        self._passive_reads = max(1, round(PASSIVE_INTERVAL / parameters["period"])) if self._passive.size else 0
        self._reads = 0
        self.activate()

    def _make_motions(self, n: int) -> dict[tuple[int, int], Motion]:
        """Makes a Motion for each combination of fields, as views of `commands`, so that the loop makes none."""
        parts = np.split(self.commands[4:], np.cumsum([7, 6, 6, n]))
        pose, twist, acceleration, position, velocity = parts
        return {
            (fields, joints): Motion(
                fields,
                pose,
                twist,
                acceleration,
                position if joints & 1 else None,
                velocity if joints & 2 else None,
            )
            for fields in range(1, 8)
            for joints in range(4)
        }

    def activate(self) -> None:
        """Switches the device on and ends the safe state; commands are ramped in, except at the first activation."""
        if self._acted:
            self.safety.disengage()
        self.device.activate()
        self.status, self.reason = OK, ""
        self._ran = False
        self._resets = float(self.commands[1])
        self.commands[0] = IDLE

    def deactivate(self) -> None:
        """Brings the device to its safe state and switches it off."""
        self.device.safe_stop()
        self.device.deactivate()

    def read(self) -> None:
        """Fills `states` with the present values of the sensors."""
        device = self.device
        try:
            reading = device.read()
        except DeviceError as error:
            self.stop(FAULT, str(error))
            reading = device.read()
        if reading is not self._reading:
            raise TypeError(f"{type(device).__name__}.read: expected the same Reading at every call")
        if self.status == OK:
            try:
                self.safety.check(reading.velocity, reading.tool_pose)
            except SafetyError as error:
                self.stop(SAFE_STOP, str(error))
        if self._passive_reads and self._reads % self._passive_reads == 0:
            self._passive[:] = device.passive_state()
        self._reads += 1
        self._loop_state[0] = reading.buttons
        self._loop_state[1] = self.status
        self._loop_state[2] = self.safety.limited

    def write(self) -> None:
        """Sends `commands` to the device, for one period."""
        device, commands = self.device, self.commands
        run = int(commands[0])
        if commands[1] != self._resets:
            self.activate()
            run = commands[0] = IDLE if run == STOP else run
        if run == STOP and self.status == OK:
            self.stop(SAFE_STOP, "the controller asks for it")
        if run == RAMP:
            self.safety.disengage()
        if run == IDLE:
            if self._ran:
                self._ran = False
                device.safe_stop()
            return
        self._ran = True
        try:
            try:
                command = self._limited()
            except SafetyError as error:
                self.stop(SAFE_STOP, str(error))
                command = self._limited()
            self._acted = self._acted or (command is not None and (self._follows or bool(command.any())))
            (device.follow if self._follows else device.write)(command)
        except DeviceError as error:
            self.stop(FAULT, str(error))

    def _limited(self) -> Any:
        """Returns the limited commands; zero effort or None unless the status is OK. Raises SafetyError."""
        if self._follows:
            fields = int(self.commands[2]) if self.status == OK else 0
            motion = self._motions[fields, int(self.commands[3])] if fields else None
            return self.safety.motion(motion, self._reading.tool_pose, self._reading.position)
        effort, n = self._effort, len(self._effort)
        if self.status != OK:
            effort[:] = 0.0
            return effort
        np.dot(self.commands[2 + n :], self.device.jacobian(), out=effort)
        effort += self.commands[2 : 2 + n]
        return self.safety.effort(effort)

    def stop(self, status: int, reason: str) -> None:
        """Brings the device to its safe state."""
        self.status, self.reason = status, reason
        self.safety.disengage()
        self.device.safe_stop()


def describe_error(error: BaseException) -> str:
    """Formats an exception with its traceback, for a log."""
    return "".join(traceback.format_exception(error)).rstrip()
