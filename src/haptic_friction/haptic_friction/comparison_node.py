"""ROS node that steps several friction models side by side on one input, for the paper's comparisons.

The node commands nothing: its answer to every tick is NONE. The entries of its state are the models in order.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from haptic_core import process
from haptic_core.messages import vector
from haptic_core.rendering_node import RenderingNode
from haptic_friction.comparison_renderer import ComparisonRenderer
from haptic_friction.state_of_node import StateOfNode
from haptic_msgs.msg import DeviceState, FrictionState


class ComparisonNode(RenderingNode):
    """Steps its models with the tool's velocity or the measured force along one axis."""

    parameter_file = Path(__file__).with_name("comparison_node.yaml")
    command_mode = "NONE"
    state_type = FrictionState

    def __init__(self, **node_options: Any) -> None:
        super().__init__("comparison", **node_options)

    def build(self, parameters: dict[str, Any]) -> ComparisonRenderer:
        return ComparisonRenderer.from_parameters(parameters)

    def install(self, built: ComparisonRenderer) -> None:
        self.renderer = built
        self._written = StateOfNode(self.state, built.state)
        self.state.model = ",".join(self.parameters["models"])

    def reset(self) -> None:
        self.renderer.reset()

    def render(self, device: DeviceState) -> None:
        self.renderer.step(velocity=vector(device.tool_twist.linear), force=vector(device.tool_wrench.force))

    def fill_state(self) -> None:
        self._written.write(self.renderer.state)


def main() -> None:
    """Runs the executable comparison_node."""
    process.main(ComparisonNode)
