"""ROS node that renders friction on a device: velocity of the tool in, friction force out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from haptic_core import process
from haptic_core.messages import allocate, set_vector, vector
from haptic_core.rendering_node import RenderingNode
from haptic_friction.laws import CoulombLaw, FrictionLaw, ViscousCoulombLaw
from haptic_friction.model_c import ModelC
from haptic_msgs.msg import DeviceState, FrictionState


def make_law(parameters: dict[str, Any]) -> FrictionLaw:
    """The friction law that the node's parameters describe."""
    if parameters["law"] == "viscous_coulomb":
        return ViscousCoulombLaw(parameters["friction_force"], viscosity=parameters["viscosity"])
    return CoulombLaw(parameters["friction_force"])


def make_model(parameters: dict[str, Any]) -> ModelC:
    """The friction model that the node's parameters describe, with its compiled loop ready."""
    options = {name: parameters[name] for name in ("stiffness", "damping", "period")}
    model = ModelC(make_law(parameters), dimension=len(parameters["axes"]), **options)
    model.step(np.zeros(model.dimension))  # compiles, or loads what was compiled before
    model.reset()
    return model


class FrictionNode(RenderingNode):
    """Answers the tool's velocity with the wrench -f of the friction model."""

    parameter_file = Path(__file__).with_name("friction_node.yaml")
    command_mode = "WRENCH"
    state_type = FrictionState

    def __init__(self, **node_options: Any) -> None:
        self.model: ModelC | None = None
        super().__init__("friction", **node_options)

    def build(self, parameters: dict[str, Any]) -> ModelC:
        return make_model(parameters)

    def install(self, built: ModelC) -> None:
        """Takes over the spring's force, so that a change of parameters moves nothing by itself."""
        old = self.model
        if old is not None:
            built.reset(displacement=old.displacement * (old.stiffness / built.stiffness))
            built.dissipated_energy = old.dissipated_energy
        self.model = built
        self._axes = ["xyz".index(axis) for axis in self.parameters["axes"]]
        self._velocity = allocate(self.state, "velocity", built.dimension)
        self._force = allocate(self.state, "force", built.dimension)
        self._displacement = allocate(self.state, "elastic_displacement", built.dimension)
        self.state.model = self.parameters["model"]

    def reset(self) -> None:
        assert self.model is not None
        self.model.reset()

    def render(self, device: DeviceState) -> None:
        model = self.model
        assert model is not None
        twist = vector(device.tool_twist.linear)
        for i, axis in enumerate(self._axes):
            self._velocity[i] = twist[axis]
        force = model.step(self._velocity)
        self._force[:] = force
        wrench = [0.0, 0.0, 0.0]
        for axis, component in zip(self._axes, force.tolist(), strict=True):
            wrench[axis] = -component
        set_vector(self.command.tool_wrench.force, wrench)

    def fill_state(self) -> None:
        model = self.model
        assert model is not None
        self._displacement[:] = model.displacement
        self.state.sticking = [model.sticking]
        self.state.dissipated_energy = model.dissipated_energy


def main() -> None:
    """Entry point of the executable friction_node."""
    process.main(FrictionNode)
