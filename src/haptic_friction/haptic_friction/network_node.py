"""ROS node that steps a small network of bodies and frictional contacts whose base the tool moves.

The wrench on the tool is the force of the contacts with the base. The entries of the state are the contacts in order;
`velocity` is the relative velocity of each contact.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from haptic_core import process
from haptic_core.messages import set_vector, vector
from haptic_core.rendering_node import RenderingNode
from haptic_friction.factory import make_network
from haptic_friction.network import ContactNetwork
from haptic_friction.network_renderer import NetworkRenderer
from haptic_friction.state_of_node import StateOfNode
from haptic_msgs.msg import DeviceState, FrictionState

__all__ = ["NetworkNode", "main", "make_network"]


class NetworkNode(RenderingNode):
    """Moves the network's base with the tool and answers with the contact forces on it."""

    parameter_file = Path(__file__).with_name("network_node.yaml")
    command_mode = "WRENCH"
    state_type = FrictionState

    def __init__(self, **node_options: Any) -> None:
        super().__init__("network", **node_options)

    @property
    def network(self) -> ContactNetwork:
        """Network in use."""
        return self.renderer.network

    def build(self, parameters: dict[str, Any]) -> NetworkRenderer:
        return NetworkRenderer.from_parameters(parameters)

    def install(self, built: NetworkRenderer) -> None:
        self.renderer = built
        self._written = StateOfNode(self.state, built.state)
        self.state.model = self.parameters["model"]

    def reset(self) -> None:
        self.renderer.reset()

    def render(self, device: DeviceState) -> None:
        force = self.renderer.step(velocity=vector(device.tool_twist.linear))
        set_vector(self.command.tool_wrench.force, force.tolist())

    def fill_state(self) -> None:
        self._written.write(self.renderer.state)


def main() -> None:
    """Runs the executable network_node."""
    process.main(NetworkNode)
