"""State message of the friction nodes, filled from the states of their renderers."""

from __future__ import annotations

from haptic_core.messages import allocate
from haptic_friction.renderer import FrictionOutput
from haptic_msgs.msg import FrictionState


class StateOfNode:
    """Writes states of a renderer to a message, whose arrays are allocated once.

    Args:
        state: message of the node.
        output: a state of the renderer; the arrays have its sizes.
    """

    def __init__(self, state: FrictionState, output: FrictionOutput) -> None:
        self._state = state
        self._velocity = allocate(state, "velocity", output.velocity.size)
        self._force = allocate(state, "force", output.force.size)
        self._displacement = allocate(state, "elastic_displacement", output.elastic_displacement.size)

    def write(self, output: FrictionOutput) -> None:
        """Writes a state."""
        velocity, force, displacement, self._state.sticking, self._state.dissipated_energy = output
        self._velocity[:], self._force[:], self._displacement[:] = velocity, force, displacement
