"""ROS node that steps several friction models side by side on one input, for the paper's comparisons.

It commands nothing: its answer to every tick is NONE. The entries of its state are the models in order.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from haptic_core import process
from haptic_core.messages import allocate, vector
from haptic_core.rendering_node import RenderingNode
from haptic_friction.batch import ParallelElements
from haptic_friction.factory import make_model, parameters_of
from haptic_friction.model import AdmittanceModel, FrictionModel
from haptic_msgs.msg import DeviceState, FrictionState


class ComparisonNode(RenderingNode):
    """Steps its models with the tool's velocity or the measured force along one axis."""

    parameter_file = Path(__file__).with_name("comparison_node.yaml")
    command_mode = "NONE"
    state_type = FrictionState

    def __init__(self, **node_options: Any) -> None:
        super().__init__("comparison", **node_options)

    def build(self, parameters: dict[str, Any]) -> list[FrictionModel | ParallelElements]:
        return [make_model(parameters_of(parameters, place), dimension=1) for place in range(len(parameters["models"]))]

    def install(self, built: list[FrictionModel | ParallelElements]) -> None:
        self.models = built
        self._axis = "xyz".index(self.parameters["axis"])
        n = len(built)
        self._value = np.zeros(1)
        self._velocity, self._force = allocate(self.state, "velocity", n), allocate(self.state, "force", n)
        self._displacement = allocate(self.state, "elastic_displacement", n)
        self.state.model = ",".join(self.parameters["models"])
        self.reset()

    def reset(self) -> None:
        for model in self.models:
            if isinstance(model, AdmittanceModel):
                model.reset(velocity=[self.parameters["initial_velocity"]])
            else:
                model.reset()

    def render(self, device: DeviceState) -> None:
        impedance = self.parameters["rendering"] == "impedance"
        given = vector(device.tool_twist.linear if impedance else device.tool_wrench.force)
        self._value[0] = given[self._axis]
        for model in self.models:
            model.step(self._value)

    def fill_state(self) -> None:
        impedance = self.parameters["rendering"] == "impedance"
        for i, model in enumerate(self.models):
            self._velocity[i] = model.velocity[0]
            self._force[i] = model.force[0] if impedance else model.friction_force[0]
            self._displacement[i] = model.displacement[0]
        self.state.sticking = [model.sticking for model in self.models]
        self.state.dissipated_energy = sum(model.dissipated_energy for model in self.models)


def main() -> None:
    """Entry point of the executable comparison_node."""
    process.main(ComparisonNode)
