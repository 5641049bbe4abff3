"""ROS node of the constraint renderer: translates messages to arrays and back."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from visualization_msgs.msg import MarkerArray

from admittance_constraints.display.approach import ToolMotion
from admittance_constraints.errors import SingularConfigurationError
from admittance_constraints.generation.friction_kernel import SWEEPS
from admittance_constraints.renderer import ConstraintRenderer
from haptic_core import process
from haptic_core.errors import InputError
from haptic_core.markers import MarkerCanvas
from haptic_core.messages import STATUS_OK, allocate, pose_array, set_pose, set_twist, wrench_array
from haptic_core.qos import display_qos
from haptic_core.rendering_node import RenderingNode
from haptic_core.tick_inputs import Input, of_kind
from haptic_msgs.msg import ConstrainedReference, ContactArray, DeviceCommand, DeviceState, FrictionState


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
        self.renderer: ConstraintRenderer | None = None
        super().__init__("constraints", **node_options)

    def configure(self) -> None:
        super().configure()
        self._markers = self.create_lifecycle_publisher(MarkerArray, "~/markers", display_qos())
        self._display_ticks = self.ticks_between(self.parameters["display_rate"])
        self._canvas: MarkerCanvas | None = None

    def cleanup(self) -> None:
        super().cleanup()
        self.destroy_publisher(self._markers)
        self.renderer = None

    def build(self, parameters: dict[str, Any]) -> ConstraintRenderer:
        if self.renderer is None:
            return ConstraintRenderer.from_parameters(parameters)
        return self.renderer.with_parameters(parameters)

    def install(self, built: ConstraintRenderer) -> None:
        if self.renderer is not None:
            built.take_over(self.renderer)
        self.renderer = built
        self._vectors = [(name, allocate(self.state, name, size)) for name, size in built.sizes.items()]
        self.command.motion_fields = DeviceCommand.FIELD_VELOCITY | DeviceCommand.FIELD_ACCELERATION
        if built.commands_pose:
            self.command.motion_fields |= DeviceCommand.FIELD_POSITION

    def reset(self) -> None:
        assert self.renderer is not None
        self.renderer.reset()
        self._canvas = None

    def render(self, device: DeviceState) -> None:
        assert self.renderer is not None
        contacts, frictions = (
            [message for _, message in of_kind(self.inputs, kind) if message is not None] if self.inputs else None
            for kind in ("contacts", "friction")
        )
        try:
            motion = self.renderer.step(
                pose_array(device.tool_pose),
                wrench_array(device.tool_wrench),
                contacts=contacts,
                frictions=frictions,
                follows=device.status == STATUS_OK,
            )
        except SingularConfigurationError as error:
            raise InputError("singular", str(error)) from None
        except ValueError as error:
            raise InputError("unusable input", str(error)) from None
        _write(motion, self.command.tool_pose, self.command.tool_twist, self.command.tool_acceleration)
        reference = self.renderer.reference
        if reference is not None and not reference.friction_converged:
            text = f"tick {device.tick}: the forces of the two friction elements did not converge in {SWEEPS} sweeps"
            self.reject("friction not converged", text)

    def fill_state(self) -> None:
        assert self.renderer is not None
        state, message = self.renderer.state, self.state
        if state.motion is not None:
            _write(state.motion, message.pose, message.twist, message.acceleration)
        for name, vector in self._vectors:
            vector[:] = getattr(state, name)
        message.kinetic_energy = state.kinetic_energy
        message.constraint_residual = state.constraint_residual
        if self.renderer.reference is None:
            return
        if self.tick % self._display_ticks == 0 and self._markers.get_subscription_count():
            self._draw(self.renderer)

    def _draw(self, renderer: ConstraintRenderer) -> None:
        if self._canvas is None:
            p = self.parameters
            frame = self.command.header.frame_id
            self._canvas = MarkerCanvas(frame, self.get_name(), p["frame_position"], p["frame_orientation"])
        renderer.draw(self._canvas)
        self._markers.publish(self._canvas.message(self.command.header.stamp))


def _write(motion: ToolMotion, pose: Any, twist: Any, acceleration: Any) -> None:
    """Fills a Pose, a Twist and an Accel."""
    set_pose(pose, motion.pose)
    set_twist(twist, motion.twist)
    set_twist(acceleration, motion.acceleration)


def main() -> None:
    """Runs the executable constraint_node."""
    process.main(ConstraintNode)
