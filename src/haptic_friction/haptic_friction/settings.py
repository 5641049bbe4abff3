"""Parameters of the friction node that say how the model is used on the tool."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from haptic_files.entries import node_and_kind
from haptic_friction.models.batch import ParallelElements
from haptic_friction.models.model import FrictionModel
from haptic_friction.partners import tool_force_factor

Parameters = Mapping[str, Any]
Model = FrictionModel | ParallelElements

#: kinds of inputs with a normal force, which scales the law
NORMAL_FORCE_INPUTS = frozenset({"wall", "contacts", "constraints"})


@dataclass(frozen=True)
class FrictionSettings:
    """Use of the model in a `FrictionRenderer`.

    Attributes:
        axes: numbers of the axes along which friction acts, one per component of the model.
        kinds: kinds of the inputs: "wall", "contacts", "constraints", "bodies".
        friction_coefficient: mu, for inputs with a normal force.
        friction_force: F of the law [N]; the law is scaled by mu N/F.
        load_body: number of the tool's body in the contacts.
        load_constraint: number of the surface's constraint in the references.
        partners: numbers of bodies, or TOOL; the element takes the velocity of the first minus that of the second.
        initial_velocity: start velocity of an admittance along the first axis [m/s].
        largest_lead: distance ahead of the tool at which an admittance stops [m]; 0: any distance.
        load_mass: smallest mass at the tool [kg]; 0: unknown.
    """

    axes: tuple[int, ...] = (0, 1, 2)
    kinds: frozenset[str] = frozenset()
    friction_coefficient: float = 0.3
    friction_force: float = 1.0
    load_body: int = 0
    load_constraint: int = 0
    partners: tuple[int, int] = (-1, 0)
    initial_velocity: float = 0.0
    largest_lead: float = 0.1
    load_mass: float = 0.0

    @classmethod
    def from_parameters(cls, values: Parameters) -> FrictionSettings:
        """Takes the settings from the parameters of the friction node."""
        names = ("friction_coefficient", "friction_force", "load_body", "load_constraint", "initial_velocity")
        return cls(
            axes=tuple("xyz".index(axis) for axis in friction_axes(values)),
            kinds=input_kinds(values),
            partners=(values["first"], values["second"]),
            largest_lead=values["largest_lead"],
            load_mass=values["load_mass"],
            **{name: values[name] for name in names},
        )


def input_kinds(values: Parameters) -> frozenset[str]:
    """Returns the kinds of the entries `node:kind` of the parameter `inputs`; `wall` is short for `wall:wall`."""
    return frozenset(node_and_kind(entry)[1] for entry in values["inputs"] if entry)


def friction_axes(values: Parameters) -> list[str]:
    """Returns the axes along which friction acts: the parameter `axes`, or all if an input has a normal force."""
    return ["x", "y", "z"] if input_kinds(values) & NORMAL_FORCE_INPUTS else list(values["axes"])


def command_mode(values: Parameters) -> str:
    """Returns the mode of the node's commands: "WRENCH", "MOTION", or "NONE" if its force is not on the tool."""
    kinds = input_kinds(values)
    if "constraints" in kinds or ("bodies" in kinds and not tool_force_factor((values["first"], values["second"]))):
        return "NONE"
    return "WRENCH" if values["rendering"] == "impedance" else "MOTION"


def check_inputs(values: Parameters, model: Model) -> None:
    """Raises ValueError that names the parameter if the model cannot be used with the inputs."""
    if input_kinds(values) & NORMAL_FORCE_INPUTS:
        _check_scalable(values, model)
    if "bodies" in input_kinds(values):
        _check_partners(values, model)


def _check_partners(values: Parameters, model: Model) -> None:
    """Refuses a model that cannot act between two partners."""
    if values["first"] == values["second"]:
        raise ValueError(f"parameters first, second: expected two, got {values['first']} twice")
    if model.kind != "impedance":
        raise ValueError("parameter rendering: expected impedance with an input of kind bodies, got admittance")


def _check_scalable(values: Parameters, model: Model) -> None:
    """Refuses a model that a normal force cannot scale."""
    inputs = [name for name in values["inputs"] if name]
    if values["rendering"] != "impedance":
        raise ValueError(f"parameter rendering: expected impedance with inputs {inputs}, got admittance")
    if not isinstance(model, FrictionModel):
        raise ValueError(f"parameter model: expected a single element with inputs {inputs}, got 'parallel'")
    if not values["friction_force"] > 0.0:
        raise ValueError(f"parameter friction_force: expected above 0 with inputs {inputs}, got 0")
    model.set_load(1.0)
