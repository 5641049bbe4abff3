"""ROS node that renders friction on a device: velocity in and force out, or force in and motion out."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from haptic_core import process
from haptic_core.errors import InputError, ParameterError
from haptic_core.messages import allocate, set_vector, vector, view
from haptic_core.rendering_node import RenderingNode
from haptic_core.tick_inputs import Input, node_and_kind, of_kind
from haptic_friction.batch import ParallelElements
from haptic_friction.design import model_warning
from haptic_friction.factory import make_model
from haptic_friction.load import carried, contacts_of, press, surface_force
from haptic_friction.model import AdmittanceModel, FrictionModel
from haptic_friction.partners import relative_velocity, share_of_tool
from haptic_msgs.msg import (
    BodyStates,
    ConstrainedReference,
    ContactArray,
    DeviceCommand,
    DeviceState,
    FrictionState,
    WallState,
)

Model = FrictionModel | ParallelElements

#: kinds of inputs that press, and so scale the law
_PRESSING = {"wall", "contacts", "constraints"}


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
    return ["x", "y", "z"] if _kinds(parameters) & _PRESSING else list(parameters["axes"])


def _kinds(parameters: dict[str, Any]) -> set[str]:
    """Kinds of the inputs."""
    return {node_and_kind(entry)[1] for entry in parameters["inputs"] if entry}


def _check_partners(parameters: dict[str, Any], model: Model) -> None:
    """Refuses what cannot lie between two partners."""
    if parameters["first"] == parameters["second"]:
        raise ParameterError(f"parameters first, second: expected two, got {parameters['first']} twice")
    if model.kind != "impedance":
        raise ParameterError("parameter rendering: expected impedance with an input of kind bodies, got admittance")


def _check_load(parameters: dict[str, Any], model: Model, sources: list[str]) -> None:
    """Refuses what cannot be scaled by a load."""
    if not isinstance(model, FrictionModel):
        raise ParameterError(f"parameter model: expected a single element with inputs {sources}, got 'parallel'")
    if not parameters["friction_force"] > 0.0:
        raise ParameterError(f"parameter friction_force: expected above 0 with inputs {sources}, got 0")
    model.set_load(1.0)
    if "constraints" in _kinds(parameters) and parameters["rendering"] != "impedance":
        raise ParameterError(f"parameter rendering: expected impedance with inputs {sources}, got admittance")


class FrictionNode(RenderingNode):
    """Answers with the wrench -f (rendering: impedance) or with the motion of the mass (admittance).

    With an input that presses, friction acts along it: the law is scaled so that its kinetic force is mu N, with the
    normal forces of the walls, or of the contacts that the tool's body has in a simulated world, or with the force of a
    constrained reference's surface, on which it then acts. With an input of kind bodies it lies between two partners,
    the tool or bodies of a world whose axes are the device's, and takes their relative velocity. On a reference, and
    between two bodies, the device is answered with NONE.
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
        self.model: Model | None = None
        super().__init__("friction", **node_options)

    def configure(self) -> None:
        p = self.parameters
        kinds = _kinds(p)
        self.command_mode = "WRENCH" if p["rendering"] == "impedance" else "MOTION"
        if "constraints" in kinds or ("bodies" in kinds and not share_of_tool((p["first"], p["second"]))):
            self.command_mode = "NONE"
        super().configure()

    def build(self, parameters: dict[str, Any]) -> Model:
        model = make_model(parameters, dimension=len(axes_of(parameters)))
        kinds = _kinds(parameters)
        if kinds & _PRESSING:
            _check_load(parameters, model, [name for name in parameters["inputs"] if name])
        if "bodies" in kinds:
            _check_partners(parameters, model)
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
        kinds = _kinds(self.parameters)
        self._pressed = bool(kinds & _PRESSING)
        # other nodes take the force along x, y, z
        self._rows, width = (self._axes, 3) if kinds else (list(range(built.dimension)), built.dimension)
        self._velocity, self._force = allocate(self.state, "velocity", width), allocate(self.state, "force", width)
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
        share = -1.0
        if self.inputs:
            acting = np.array(given)
            if of_kind(self.inputs, "bodies"):
                acting, share = self._between(acting)
            given = (self._press(acting) if self._pressed else acting).tolist()
        for i, axis in enumerate(self._axes):
            self._value[i] = given[axis]
        output = model.step(self._value).tolist()
        answer = [0.0, 0.0, 0.0]
        for axis, component in zip(self._axes, output, strict=True):
            answer[axis] = component
        if impedance:
            set_vector(self.command.tool_wrench.force, [share * component for component in answer])
        else:
            self._command_motion(device, answer)

    def _between(self, tool: np.ndarray) -> tuple[np.ndarray, float]:
        """Relative velocity of the partners (3,) [m/s], and the share of the force that acts on the tool."""
        partners = self.parameters["first"], self.parameters["second"]
        (_, states), *_ = of_kind(self.inputs, "bodies")
        bodies = np.zeros((max(partners) + 1, 3)) if states is None else view(states.velocity).reshape(-1, 3)
        if max(partners) >= len(bodies):
            raise InputError("no such body", f"first, second: expected numbers below {len(bodies)}, got {partners}")
        velocity = relative_velocity(*partners, tool, bodies)
        if not np.isfinite(velocity).all():
            raise InputError("not finite", f"velocity of bodies {partners}: expected finite numbers, got {velocity}")
        return velocity, share_of_tool(partners)

    def _press(self, velocity: np.ndarray) -> np.ndarray:
        """Scales the law with what presses; returns the velocity (3,) [m/s] along the surfaces."""
        model = self.model
        assert isinstance(model, FrictionModel)
        load, rows = 0.0, model.state
        elastic = [rows[name] for name in rows if name.endswith(("displacement", "stretch"))]
        for _, wall in of_kind(self.inputs, "wall"):
            if wall is not None:
                push = view(wall.push)
                velocity -= carried(push, view(wall.velocity).reshape(-1, 3))
                load += press(view(wall.normal).reshape(-1, 3), push, velocity, *elastic)
        for _, contacts in of_kind(self.inputs, "contacts"):
            if contacts is not None:
                normals, forces, slip = contacts_of(contacts, self.parameters["load_body"])
                pressing = press(normals, forces, *elastic)
                if pressing > 0.0:
                    velocity = forces @ slip / pressing
                load += pressing
        for _, reference in of_kind(self.inputs, "constraints"):
            if reference is not None:
                velocity = np.array(vector(reference.twist.linear))
                load += surface_force(reference.multipliers, self.parameters["load_constraint"])
        try:
            model.set_load(self.parameters["friction_coefficient"] * load / self.parameters["friction_force"])
        except ValueError as error:  # a law too steep for the period at this load
            raise InputError("unusable load", str(error)) from None
        model.restore(rows if load > 0.0 else {name: np.zeros_like(row) for name, row in rows.items()})
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
        self._velocity[self._rows] = model.velocity
        self._force[self._rows] = model.force if model.kind == "impedance" else model.friction_force
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
