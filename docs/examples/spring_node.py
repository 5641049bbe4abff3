"""A rendering node in three layers: the equation, the object with a state, the node."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from haptic_core import process
from haptic_core.errors import ParameterError
from haptic_core.messages import set_vector, vector
from haptic_core.rendering_node import RenderingNode
from haptic_msgs.msg import DeviceState, PassivityState


def spring_force(
    position: np.ndarray, velocity: np.ndarray, *, anchor: np.ndarray, stiffness: float, damping: float
) -> np.ndarray:
    """Computes the force of a spring and a damper on the tool, F = -K (x - x0) - B v [N], shape (3,).

    Args:
        position: x of the tool [m], shape (3,).
        velocity: v of the tool [m/s], shape (3,).
        anchor: x0, rest position of the spring [m], shape (3,).
        stiffness: K [N/m].
        damping: B [N s/m].
    """
    return -stiffness * (position - anchor) - damping * velocity


class Spring:
    """A spring and a damper with one step per tick and the energy that they absorb from the user.

    Args:
        anchor: rest position of the spring [m], shape (3,).
        stiffness: K [N/m].
        damping: B [N s/m].
        period: control period T [s].
    """

    def __init__(self, anchor: np.ndarray, *, stiffness: float, damping: float, period: float) -> None:
        self.anchor = np.asarray(anchor, dtype=float)
        self.stiffness = stiffness
        self.damping = damping
        self.period = period
        self.reset()

    def reset(self) -> None:
        """Sets the absorbed energy to zero."""
        self.energy = 0.0

    def step(self, position: np.ndarray, velocity: np.ndarray) -> np.ndarray:
        """Returns the force on the tool [N], shape (3,), which is constant for one period."""
        force = spring_force(position, velocity, anchor=self.anchor, stiffness=self.stiffness, damping=self.damping)
        self.energy -= float(force @ velocity) * self.period
        return force


class SpringNode(RenderingNode):
    """Answers each device state with the spring's force."""

    parameter_file = Path(__file__).with_name("spring_node.yaml")
    command_mode = "WRENCH"
    state_type = PassivityState
    spring: Spring

    def __init__(self, **node_options: Any) -> None:
        super().__init__("spring", **node_options)
        self.state.port = "tool"

    def build(self, parameters: dict[str, Any]) -> Spring:
        """Makes the spring at configure and before each change of parameters; may refuse the parameters."""
        if len(parameters["anchor"]) != 3:
            raise ParameterError(f"parameter anchor: expected 3 numbers, got {len(parameters['anchor'])}")
        stiffness, damping, period = (parameters[name] for name in ("stiffness", "damping", "period"))
        return Spring(parameters["anchor"], stiffness=stiffness, damping=damping, period=period)

    def install(self, built: Spring) -> None:
        """Replaces the spring; the new one takes over the state of the old one."""
        built.energy = self.spring.energy if self.configured else 0.0
        self.spring = built

    def reset(self) -> None:
        self.spring.reset()

    def render(self, device: DeviceState) -> None:
        """Converts messages to arrays, steps the spring, and converts the force to a message."""
        position, velocity = np.array(vector(device.tool_pose.position)), np.array(vector(device.tool_twist.linear))
        force = self.spring.step(position, velocity)
        set_vector(self.command.tool_wrench.force, force)

    def fill_state(self) -> None:
        self.state.energy = self.spring.energy


def main() -> None:
    """Runs the node; the console script of a package."""
    process.main(SpringNode)


if __name__ == "__main__":
    main()
