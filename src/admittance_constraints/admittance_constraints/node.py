"""ROS node that renders a constrained mechanism on an admittance display: measured wrench in, motion out."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from visualization_msgs.msg import MarkerArray

from admittance_constraints.display.controller import AdmittanceController, ToolMotion
from admittance_constraints.display.factory import REFERENCE_PARAMETERS, make_controller, make_external
from admittance_constraints.errors import SingularConfigurationError
from haptic_core import process
from haptic_core.errors import EntryError, InputError, ParameterError
from haptic_core.markers import MarkerCanvas
from haptic_core.messages import allocate, pose_array, set_pose, set_twist, wrench_array
from haptic_core.parameters import parse_entries
from haptic_core.qos import display_qos
from haptic_core.rendering_node import RenderingNode
from haptic_core.tick_inputs import Input, of_kind
from haptic_msgs.msg import ConstrainedReference, ContactArray, DeviceCommand, DeviceState, FrictionState

_NUMBERS = ("z", "z_velocity", "q", "q_velocity", "q_acceleration", "multipliers")


class ConstraintNode(RenderingNode):
    """Answers with the motion of the mechanism's tool; its state is the reference in the device's base frame.

    With inputs, the contacts of a simulated world with the body that follows the reference, and friction, act on the
    virtual tool beside the hand. They depend on the reference: these inputs must be delayed.
    """

    parameter_file = Path(__file__).with_name("constraint_node.yaml")
    command_mode = "MOTION"
    state_type = ConstrainedReference
    input_types: ClassVar = {"contacts": Input(ContactArray, "contacts"), "friction": Input(FrictionState)}

    def __init__(self, **node_options: Any) -> None:
        self.controller: AdmittanceController | None = None
        super().__init__("constraints", **node_options)

    def configure(self) -> None:
        super().configure()
        self._markers = self.create_lifecycle_publisher(MarkerArray, "markers", display_qos())
        self._display_ticks = max(1, round(1.0 / (self.parameters["display_rate"] * self.parameters["period"])))
        self._canvas: MarkerCanvas | None = None

    def cleanup(self) -> None:
        super().cleanup()
        self.destroy_publisher(self._markers)
        self.controller = None

    def build(self, parameters: dict[str, Any]) -> AdmittanceController:
        try:
            entries = parse_entries(parameters["mechanism_parameters"])
        except EntryError as error:
            raise ParameterError(f"parameter mechanism_parameters: {error}") from None
        make_external(parameters)
        generator = None
        if self.controller is not None and all(parameters[n] == self.parameters[n] for n in REFERENCE_PARAMETERS):
            generator = self.controller.generator
        return make_controller(parameters, {name: value for name, (value, _) in entries.items()}, generator)

    def install(self, built: AdmittanceController) -> None:
        if self.controller is not None:
            built.take_over(self.controller)
        self.controller = built
        self._external = make_external(self.parameters)
        m = built.generator.mechanism
        sizes = (*[m.parameter_dimension] * 2, *[m.dimension] * 3, len(m.constraint_names))
        self._numbers = [allocate(self.state, name, size) for name, size in zip(_NUMBERS, sizes, strict=True)]
        self.command.motion_fields = DeviceCommand.VELOCITY | DeviceCommand.ACCELERATION
        if built.feedback is None:
            self.command.motion_fields |= DeviceCommand.POSITION

    def reset(self) -> None:
        assert self.controller is not None
        self.controller.restart()
        self._canvas = None

    def render(self, device: DeviceState) -> None:
        assert self.controller is not None
        external = None
        if self.inputs and self.controller.motion is not None:
            # they came of where the reference was then
            contacts, frictions = (
                [message for _, message in of_kind(self.inputs, kind) if message is not None]
                for kind in ("contacts", "friction")
            )
            try:
                external = self._external.wrench(contacts, frictions, self.controller.motion.pose[:3])
            except ValueError as error:
                raise InputError("unusable input", str(error)) from None
        try:
            motion = self.controller.step(
                pose_array(device.tool_pose),
                wrench_array(device.tool_wrench),
                external=external,
                follows=device.status == DeviceState.STATUS_OK,
            )
        except SingularConfigurationError as error:
            raise InputError("singular", str(error)) from None
        _write(motion, self.command.tool_pose, self.command.tool_twist, self.command.tool_acceleration)

    def fill_state(self) -> None:
        controller, state = self.controller, self.state
        assert controller is not None
        reference, motion = controller.reference, controller.motion
        if motion is not None:
            _write(motion, state.pose, state.twist, state.acceleration)
        if reference is None:
            for numbers in self._numbers:
                numbers[:] = 0.0
            state.kinetic_energy = state.constraint_residual = 0.0
            return
        for name, numbers in zip(_NUMBERS, self._numbers, strict=True):
            numbers[:] = getattr(reference, name)
        state.kinetic_energy = reference.kinetic_energy
        state.constraint_residual = reference.holonomic_residual
        if self.tick % self._display_ticks == 0 and self._markers.get_subscription_count():
            self._draw(controller, reference.q)

    def _draw(self, controller: AdmittanceController, q: np.ndarray) -> None:
        if self._canvas is None:
            p = self.parameters
            frame = self.command.header.frame_id
            self._canvas = MarkerCanvas(frame, self.get_name(), p["frame_position"], p["frame_orientation"])
        controller.generator.mechanism.draw(self._canvas, q)
        self._markers.publish(self._canvas.message(self.command.header.stamp))


def _write(motion: ToolMotion, pose: Any, twist: Any, acceleration: Any) -> None:
    """Fills a Pose, a Twist and an Accel."""
    set_pose(pose, motion.pose)
    set_twist(twist, motion.twist)
    set_twist(acceleration, motion.acceleration)


def main() -> None:
    """Entry point of the executable constraint_node."""
    process.main(ConstraintNode)
