"""ROS node that renders friction on a device: velocity in and force out, or force in and motion out."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from haptic_core import process
from haptic_core.errors import ParameterError
from haptic_core.messages import allocate, set_vector, vector, view
from haptic_core.rendering_node import RenderingNode
from haptic_friction.batch import ParallelElements
from haptic_friction.design import model_warning
from haptic_friction.factory import make_model
from haptic_friction.load import contacts_of, press
from haptic_friction.model import AdmittanceModel, FrictionModel
from haptic_msgs.msg import ContactArray, DeviceCommand, DeviceState, FrictionState, WallState

Model = FrictionModel | ParallelElements


def take_over(old: Model, new: Model) -> None:
    """Gives a model the state of the one it replaces, so that a change of parameters moves nothing by itself.

    An elastic displacement is scaled so that its spring keeps the force. Models with other states start anew.
    """
    state, fresh = old.state, new.state
    if {name: value.shape for name, value in state.items()} != {name: value.shape for name, value in fresh.items()}:
        return
    ratio = np.divide(getattr(old, "stiffness", 1.0), getattr(new, "stiffness", 1.0))
    for name in state:
        if name.endswith("displacement") or name == "stretch":
            state[name] *= ratio[:, None] if ratio.ndim else ratio
    new.restore(state)
    if isinstance(old, FrictionModel) and isinstance(new, FrictionModel):
        new.dissipated_energy = old.dissipated_energy


def axes_of(parameters: dict[str, Any]) -> list[str]:
    """Along which axes friction acts: those of the parameter, or all where what presses decides."""
    return ["x", "y", "z"] if any(parameters["inputs"]) else list(parameters["axes"])


def _check_load(parameters: dict[str, Any], model: Model, sources: list[str]) -> None:
    """Refuses what cannot be scaled by a load."""
    if not isinstance(model, FrictionModel):
        raise ParameterError(f"parameter model: expected a single element with inputs {sources}, got 'parallel'")
    if not parameters["friction_force"] > 0.0:
        raise ParameterError(f"parameter friction_force: expected above 0 with inputs {sources}, got 0")
    model.set_load(1.0)


class FrictionNode(RenderingNode):
    """Answers with the wrench -f (rendering: impedance) or with the motion of the mass (admittance).

    With an input, friction acts along what presses: the law is scaled so that its kinetic force is mu N, with the
    normal forces of the walls, or of the contacts that the tool's body has in a simulated world.
    """

    parameter_file = Path(__file__).with_name("friction_node.yaml")
    command_mode = "WRENCH"
    state_type = FrictionState
    input_types: ClassVar = {"wall": WallState, "contact": ContactArray}

    def __init__(self, **node_options: Any) -> None:
        self.model: Model | None = None
        super().__init__("friction", **node_options)

    def configure(self) -> None:
        self.command_mode = "WRENCH" if self.parameters["rendering"] == "impedance" else "MOTION"
        super().configure()

    def build(self, parameters: dict[str, Any]) -> Model:
        model = make_model(parameters, dimension=len(axes_of(parameters)))
        sources = [name for name in parameters["inputs"] if name]
        if sources:
            _check_load(parameters, model, sources)
        return model

    def install(self, built: Model) -> None:
        if self.model is None:
            self.model = built
            self.reset()
        else:
            take_over(self.model, built)
            self.model = built
        self._axes = ["xyz".index(axis) for axis in axes_of(self.parameters)]
        self._value = np.zeros(built.dimension)
        self._velocity = allocate(self.state, "velocity", built.dimension)
        self._force = allocate(self.state, "force", built.dimension)
        self._displacement = allocate(self.state, "elastic_displacement", built.displacement.size)
        self.state.model = self.parameters["model"]
        warning = self.warning()
        if warning:
            self.get_logger().warning(warning)

    def warning(self) -> str:
        """What the design rules say against the present parameters; empty if nothing."""
        return model_warning(self.model, load_mass=self.parameters["load_mass"]) if self.model is not None else ""

    def reset(self) -> None:
        model = self.model
        assert model is not None
        if isinstance(model, AdmittanceModel):
            start = np.zeros(model.dimension)
            start[0] = self.parameters["initial_velocity"]
            model.reset(velocity=start)
        else:
            model.reset()
        self._position: np.ndarray | None = None

    def render(self, device: DeviceState) -> None:
        model = self.model
        assert model is not None
        impedance = model.kind == "impedance"
        given = vector(device.tool_twist.linear if impedance else device.tool_wrench.force)
        if self.inputs:
            given = self._press(np.array(given)).tolist()
        for i, axis in enumerate(self._axes):
            self._value[i] = given[axis]
        output = model.step(self._value).tolist()
        answer = [0.0, 0.0, 0.0]
        for axis, component in zip(self._axes, output, strict=True):
            answer[axis] = component
        if impedance:
            set_vector(self.command.tool_wrench.force, [-component for component in answer])
        else:
            self._command_motion(device, answer)

    def _press(self, velocity: np.ndarray) -> np.ndarray:
        """Scales the law with what presses; returns the velocity (3,) [m/s] along the surfaces."""
        model = self.model
        assert isinstance(model, FrictionModel)
        load, rows = 0.0, model.state
        elastic = [rows[name] for name in rows if name.endswith(("displacement", "stretch"))]
        wall, contacts = self.inputs.get("wall"), self.inputs.get("contact")
        if wall is not None:
            load += press(view(wall.normal).reshape(-1, 3), view(wall.push), velocity, *elastic)
        if contacts is not None:
            normals, forces, slip = contacts_of(contacts, self.parameters["load_body"])
            pressing = press(normals, forces, *elastic)
            if pressing > 0.0:
                velocity = forces @ slip / pressing
            load += pressing
        model.restore(rows if load > 0.0 else {name: np.zeros_like(row) for name, row in rows.items()})
        model.set_load(self.parameters["friction_coefficient"] * load / self.parameters["friction_force"])
        return velocity

    def _command_motion(self, device: DeviceState, velocity: list[float]) -> None:
        """Integrates the velocity from the tool's pose at the first tick after a reset.

        A tool that cannot follow, at a stop or in the safe state, is waited for: the mass stops
        `largest_lead` ahead of it, and at the tool itself while the device is not OK.
        """
        command = self.command
        tool = np.array(vector(device.tool_pose.position))
        if device.status != DeviceState.STATUS_OK:
            velocity, self._position = self._stop(), None
        if self._position is None:
            self._position = tool.copy()
            command.tool_pose.orientation = device.tool_pose.orientation
            command.motion_fields = DeviceCommand.POSITION | DeviceCommand.VELOCITY
        self._position += self.parameters["period"] * np.array(velocity)
        lead, largest = self._position - tool, self.parameters["largest_lead"]
        distance = math.sqrt(float(lead @ lead))
        if 0.0 < largest < distance:
            self._position = tool + lead * (largest / distance)
            velocity = self._stop()
        set_vector(command.tool_pose.position, self._position.tolist())
        set_vector(command.tool_twist.linear, velocity)

    def _stop(self) -> list[float]:
        """Takes the mass's velocity away; returns it along x, y, z."""
        assert isinstance(self.model, FrictionModel)
        self.model.restore({"velocity": np.zeros(self.model.dimension)})
        return [0.0, 0.0, 0.0]

    def fill_state(self) -> None:
        model = self.model
        assert model is not None
        self._velocity[:] = model.velocity
        self._force[:] = model.force if model.kind == "impedance" else model.friction_force
        self._displacement[:] = model.displacement
        self.state.sticking = [model.sticking]
        self.state.dissipated_energy = model.dissipated_energy

    def diagnostic_values(self) -> dict[str, Any]:
        values = super().diagnostic_values()
        warning = self.warning() if self.configured else ""
        return {**values, "design": warning} if warning else values


def main() -> None:
    """Entry point of the executable friction_node."""
    process.main(FrictionNode)
