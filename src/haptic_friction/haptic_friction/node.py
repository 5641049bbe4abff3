"""ROS node that renders friction on a device: velocity in and force out, or force in and motion out."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from haptic_core import process
from haptic_core.messages import allocate, set_vector, vector
from haptic_core.rendering_node import RenderingNode
from haptic_friction.batch import ParallelElements
from haptic_friction.design import model_warning
from haptic_friction.factory import make_model
from haptic_friction.model import AdmittanceModel, FrictionModel
from haptic_msgs.msg import DeviceCommand, DeviceState, FrictionState

Model = FrictionModel | ParallelElements


def take_over(old: Model, new: Model) -> None:
    """Gives a model the state of the one it replaces, so that a change of parameters moves nothing by itself.

    An elastic displacement is scaled so that its spring keeps the force. Models with other states start anew.
    """
    state, fresh = old.state, new.state
    if {name: value.shape for name, value in state.items()} != {name: value.shape for name, value in fresh.items()}:
        return
    ratio = np.divide(getattr(old, "stiffness", 1.0), getattr(new, "stiffness", 1.0))
    for name in state:
        if name.endswith("displacement") or name == "stretch":
            state[name] *= ratio[:, None] if ratio.ndim else ratio
    new.restore(state)
    if isinstance(old, FrictionModel) and isinstance(new, FrictionModel):
        new.dissipated_energy = old.dissipated_energy


class FrictionNode(RenderingNode):
    """Answers with the wrench -f (rendering: impedance) or with the motion of the mass (admittance)."""

    parameter_file = Path(__file__).with_name("friction_node.yaml")
    command_mode = "WRENCH"
    state_type = FrictionState

    def __init__(self, **node_options: Any) -> None:
        self.model: Model | None = None
        super().__init__("friction", **node_options)

    def configure(self) -> None:
        self.command_mode = "WRENCH" if self.parameters["rendering"] == "impedance" else "MOTION"
        super().configure()

    def build(self, parameters: dict[str, Any]) -> Model:
        return make_model(parameters, dimension=len(parameters["axes"]))

    def install(self, built: Model) -> None:
        if self.model is None:
            self.model = built
            self.reset()
        else:
            take_over(self.model, built)
            self.model = built
        self._axes = ["xyz".index(axis) for axis in self.parameters["axes"]]
        self._value = np.zeros(built.dimension)
        self._velocity = allocate(self.state, "velocity", built.dimension)
        self._force = allocate(self.state, "force", built.dimension)
        self._displacement = allocate(self.state, "elastic_displacement", built.displacement.size)
        self.state.model = self.parameters["model"]
        warning = self.warning()
        if warning:
            self.get_logger().warning(warning)

    def warning(self) -> str:
        """What the design rules say against the present parameters; empty if nothing."""
        return model_warning(self.model, load_mass=self.parameters["load_mass"]) if self.model is not None else ""

    def reset(self) -> None:
        model = self.model
        assert model is not None
        if isinstance(model, AdmittanceModel):
            start = np.zeros(model.dimension)
            start[0] = self.parameters["initial_velocity"]
            model.reset(velocity=start)
        else:
            model.reset()
        self._position: np.ndarray | None = None

    def render(self, device: DeviceState) -> None:
        model = self.model
        assert model is not None
        impedance = model.kind == "impedance"
        given = vector(device.tool_twist.linear if impedance else device.tool_wrench.force)
        for i, axis in enumerate(self._axes):
            self._value[i] = given[axis]
        output = model.step(self._value).tolist()
        answer = [0.0, 0.0, 0.0]
        for axis, component in zip(self._axes, output, strict=True):
            answer[axis] = component
        if impedance:
            set_vector(self.command.tool_wrench.force, [-component for component in answer])
        else:
            self._command_motion(device, answer)

    def _command_motion(self, device: DeviceState, velocity: list[float]) -> None:
        """Integrates the velocity from the tool's pose at the first tick after a reset.

        A tool that cannot follow, at a stop or in the safe state, is waited for: the mass stops
        `largest_lead` ahead of it, and at the tool itself while the device is not OK.
        """
        command = self.command
        tool = np.array(vector(device.tool_pose.position))
        if device.status != DeviceState.STATUS_OK:
            velocity, self._position = self._stop(), None
        if self._position is None:
            self._position = tool.copy()
            command.tool_pose.orientation = device.tool_pose.orientation
            command.motion_fields = DeviceCommand.POSITION | DeviceCommand.VELOCITY
        self._position += self.parameters["period"] * np.array(velocity)
        lead, largest = self._position - tool, self.parameters["largest_lead"]
        distance = math.sqrt(float(lead @ lead))
        if 0.0 < largest < distance:
            self._position = tool + lead * (largest / distance)
            velocity = self._stop()
        set_vector(command.tool_pose.position, self._position.tolist())
        set_vector(command.tool_twist.linear, velocity)

    def _stop(self) -> list[float]:
        """Takes the mass's velocity away; returns it along x, y, z."""
        assert isinstance(self.model, FrictionModel)
        self.model.restore({"velocity": np.zeros(self.model.dimension)})
        return [0.0, 0.0, 0.0]

    def fill_state(self) -> None:
        model = self.model
        assert model is not None
        self._velocity[:] = model.velocity
        self._force[:] = model.force if model.kind == "impedance" else model.friction_force
        self._displacement[:] = model.displacement
        self.state.sticking = [model.sticking]
        self.state.dissipated_energy = model.dissipated_energy

    def diagnostic_values(self) -> dict[str, Any]:
        values = super().diagnostic_values()
        warning = self.warning() if self.configured else ""
        return {**values, "design": warning} if warning else values


def main() -> None:
    """Entry point of the executable friction_node."""
    process.main(FrictionNode)
