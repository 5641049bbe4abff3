"""A rendering node in three layers: the equation, the object that is stepped, the node."""

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
    """Force of a spring and a damper on the tool, F = -K (x - x0) - B v [N], shape (3,).

    Args:
        position: x of the tool, shape (3,) [m].
        velocity: v of the tool, shape (3,) [m/s].
        anchor: x0, where the spring is at rest, shape (3,) [m].
        stiffness: K [N/m].
        damping: B [N s/m].
    """
    return -stiffness * (position - anchor) - damping * velocity


class Spring:
    """A spring and a damper, stepped tick by tick; counts the energy that they take from the hand.

    Args:
        anchor: rest position of the spring, shape (3,) [m].
        stiffness: [N/m].
        damping: [N s/m].
        period: control period T [s].
    """

    def __init__(self, anchor: np.ndarray, *, stiffness: float, damping: float, period: float) -> None:
        self.anchor = np.asarray(anchor, dtype=float)
        self.stiffness = stiffness
        self.damping = damping
        self.period = period
        self.reset()

    def reset(self) -> None:
        """No energy taken yet."""
        self.energy = 0.0

    def step(self, position: np.ndarray, velocity: np.ndarray) -> np.ndarray:
        """Force on the tool [N], shape (3,); it is held for one period."""
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
        """At configure, and again before each change of parameters; may refuse."""
        if len(parameters["anchor"]) != 3:
            raise ParameterError(f"parameter anchor: expected 3 numbers, got {len(parameters['anchor'])}")
        stiffness, damping, period = (parameters[name] for name in ("stiffness", "damping", "period"))
        return Spring(parameters["anchor"], stiffness=stiffness, damping=damping, period=period)

    def install(self, built: Spring) -> None:
        """The new spring takes the state of the old one over."""
        built.energy = self.spring.energy if self.configured else 0.0
        self.spring = built

    def reset(self) -> None:
        self.spring.reset()

    def render(self, device: DeviceState) -> None:
        """Messages to arrays, one call, arrays to messages."""
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
