"""ROS node that renders friction on a device: velocity in and force out, or force in and motion out."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from haptic_core import process
from haptic_core.errors import InputError, ParameterError
from haptic_core.messages import STATUS_OK, set_vector, vector, view
from haptic_core.rendering_node import RenderingNode
from haptic_core.tick_inputs import Input
from haptic_files.entries import node_and_kind
from haptic_files.moved_modules import renamed
from haptic_friction.load import FrictionInputError
from haptic_friction.renderer import Answer, FrictionRenderer, Model, ReferenceMotion, Surfaces
from haptic_friction.settings import command_mode
from haptic_friction.state_of_node import StateOfNode
from haptic_msgs.msg import (
    BodyStates,
    ConstrainedReference,
    ContactArray,
    DeviceCommand,
    DeviceState,
    FrictionState,
    WallState,
)


class FrictionNode(RenderingNode):
    """Translates messages for a `FrictionRenderer`, whose docstring explains the inputs.

    Friction on a constrained reference, and between two bodies, does not act on the tool: the device gets NONE.
    """

    parameter_file = Path(__file__).with_name("friction_node.yaml")
    command_mode = "WRENCH"
    state_type = FrictionState
    forceless = frozenset({"load_mass"})
    input_types: ClassVar = {
        "wall": Input(WallState),
        "contacts": Input(ContactArray, "contacts"),
        "bodies": Input(BodyStates),
        "constraints": Input(ConstrainedReference),
    }

    def __init__(self, **node_options: Any) -> None:
        self.renderer: FrictionRenderer | None = None
        super().__init__("friction", **node_options)

    @property
    def model(self) -> Model | None:
        """Model in use; None before the node is configured."""
        return None if self.renderer is None else self.renderer.model

    def configure(self) -> None:
        self.command_mode = command_mode(self.parameters)
        super().configure()

    def build(self, parameters: dict[str, Any]) -> FrictionRenderer:
        try:
            return FrictionRenderer.from_parameters(parameters)
        except ValueError as error:
            raise ParameterError(str(error)) from error

    def install(self, built: FrictionRenderer) -> None:
        if self.renderer is None:
            self.renderer = built
        else:
            self.renderer.replace(built)
        self._written = StateOfNode(self.state, self.renderer.state)
        self.state.model = self.parameters["model"]
        warning = self.warning()
        if warning:
            self.get_logger().warning(warning)

    def warning(self) -> str:
        """Returns the design rule that the present parameters violate; empty if none."""
        return "" if self.renderer is None else self.renderer.warning

    def reset(self) -> None:
        assert self.renderer is not None
        self.renderer.reset()

    def render(self, device: DeviceState) -> None:
        assert self.renderer is not None
        try:
            answer = self.renderer.step(
                velocity=vector(device.tool_twist.linear),
                force=vector(device.tool_wrench.force),
                position=vector(device.tool_pose.position),
                ready=device.status == STATUS_OK,
                **(self._given() if self.inputs else {}),
            )
        except FrictionInputError as error:
            raise InputError(error.kind, str(error)) from None
        if answer.position is None:
            set_vector(self.command.tool_wrench.force, answer.force.tolist())
        else:
            self._command_motion(device, answer)

    def _given(self) -> dict[str, Any]:
        """Converts the messages of the inputs to arguments of `FrictionRenderer.step`."""
        given: dict[str, Any] = {"surfaces": [], "contacts": [], "references": []}
        for entry, m in self.inputs.items():
            kind = node_and_kind(entry)[1]
            if kind == "bodies" and "bodies" not in given:
                given["bodies"] = None if m is None else view(m.velocity).reshape(-1, 3)
            elif m is None:
                continue
            elif kind == "wall":
                normals, velocities = view(m.normal).reshape(-1, 3), view(m.velocity).reshape(-1, 3)
                given["surfaces"].append(Surfaces(normals, view(m.push), velocities))
            elif kind == "contacts":
                given["contacts"].append(m)
            elif kind == "constraints":
                given["references"].append(ReferenceMotion(vector(m.twist.linear), m.multipliers))
        return given

    def _command_motion(self, device: DeviceState, answer: Answer) -> None:
        """Fills the command; its orientation is that of the tool at the start of the motion."""
        assert answer.position is not None and answer.velocity is not None
        command = self.command
        if answer.starts:
            command.tool_pose.orientation = device.tool_pose.orientation
            command.motion_fields = DeviceCommand.FIELD_POSITION | DeviceCommand.FIELD_VELOCITY
        set_vector(command.tool_pose.position, answer.position.tolist())
        set_vector(command.tool_twist.linear, answer.velocity.tolist())

    def fill_state(self) -> None:
        assert self.renderer is not None
        self._written.write(self.renderer.state)

    def diagnostic_values(self) -> dict[str, Any]:
        values = super().diagnostic_values()
        warning = self.warning() if self.configured else ""
        return {**values, "design": warning} if warning else values


def main() -> None:
    """Runs the executable friction_node."""
    process.main(FrictionNode)


#: names that have moved
__getattr__ = renamed(
    __name__,
    {"axes_of": "haptic_friction.settings:friction_axes", "take_over": "haptic_friction.renderer:take_over"},
)
