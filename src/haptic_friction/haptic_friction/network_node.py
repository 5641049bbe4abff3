"""ROS node that steps a small network of bodies and frictional contacts whose base the tool moves.

The wrench on the tool is what the contacts with the base exert on it. The entries of its state are the
contacts in order; `velocity` is the relative velocity that each element saw.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from haptic_core import process
from haptic_core.messages import allocate, set_vector, vector
from haptic_core.rendering_node import RenderingNode
from haptic_friction.factory import MODELS, make_law
from haptic_friction.network import BASE, Body, Contact, ContactNetwork
from haptic_msgs.msg import DeviceState, FrictionState


def make_network(p: dict[str, Any]) -> ContactNetwork:
    """The network that the node's parameters describe, its compiled loop ready.

    Raises:
        ValueError: lists of different length, or a number that is refused; the message names it.
    """
    for name, count in (
        ("body_stiffness", len(p["body_mass"])),
        ("contact_second", len(p["contact_first"])),
        ("friction_force", len(p["contact_first"])),
        ("static_force", len(p["contact_first"])),
    ):
        if len(p[name]) != count:
            raise ValueError(f"parameter {name}: expected {count} entries, got {len(p[name])}")
    common = {"period": p["period"], "dimension": 1}
    own = [
        {"friction_force": kinetic, "static_force": static}
        for kinetic, static in zip(p["friction_force"], p["static_force"], strict=True)
    ]
    bodies = [Body(M, K) for M, K in zip(p["body_mass"], p["body_stiffness"], strict=True)]
    contacts = [
        Contact(first, second, MODELS[p["model"]](make_law({**p, **forces}), p, common))  # type: ignore[arg-type]
        for first, second, forces in zip(p["contact_first"], p["contact_second"], own, strict=True)
    ]
    network = ContactNetwork(bodies, contacts)
    network.step([0.0])  # compiles, or loads what was compiled before
    network.reset()
    return network


class NetworkNode(RenderingNode):
    """Moves the network's base with the tool and answers with the contact forces on it."""

    parameter_file = Path(__file__).with_name("network_node.yaml")
    command_mode = "WRENCH"
    state_type = FrictionState

    def __init__(self, **node_options: Any) -> None:
        super().__init__("network", **node_options)

    def build(self, parameters: dict[str, Any]) -> ContactNetwork:
        return make_network(parameters)

    def install(self, built: ContactNetwork) -> None:
        self.network = built
        p = self.parameters
        self._axis = "xyz".index(p["axis"])
        self._on_base = -np.array(
            [
                float(first == BASE) - float(second == BASE)
                for first, second in zip(p["contact_first"], p["contact_second"], strict=True)
            ]
        )
        n = len(p["contact_first"])
        self._velocity, self._force = allocate(self.state, "velocity", n), allocate(self.state, "force", n)
        self._displacement = allocate(self.state, "elastic_displacement", n)
        self.state.model = p["model"]

    def reset(self) -> None:
        self.network.reset()

    def render(self, device: DeviceState) -> None:
        force = self.network.step([vector(device.tool_twist.linear)[self._axis]])
        wrench = [0.0, 0.0, 0.0]
        wrench[self._axis] = float(self._on_base @ force[:, 0])
        set_vector(self.command.tool_wrench.force, wrench)

    def fill_state(self) -> None:
        elements = self.network.elements
        self._velocity[:] = self.network.relative_velocity[:, 0]
        self._force[:] = self.network.force[:, 0]
        self._displacement[:] = elements.row("displacement")[:, 0]
        self.state.sticking = elements.sticking.tolist()
        self.state.dissipated_energy = float(elements.dissipated_energy.sum())


def main() -> None:
    """Entry point of the executable network_node."""
    process.main(NetworkNode)
