"""Makes the objects that the parameters of constraint_node.yaml describe."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from admittance_constraints.display.controller import AdmittanceController
from admittance_constraints.display.external import ExternalForces
from admittance_constraints.display.feedback import PIDFeedback
from admittance_constraints.display.placement import DisplayTransform
from admittance_constraints.errors import SingularConfigurationError
from admittance_constraints.generation.friction import FreeDirectionFriction
from admittance_constraints.generation.reference_generator import ReferenceGenerator
from admittance_constraints.model.loading import installed_mechanism
from admittance_constraints.model.mechanism import Mechanism
from haptic_friction import CoulombLaw

#: parameters whose change needs another generator, which takes longer than the watchdog of a device
REFERENCE_PARAMETERS = (
    *("mechanism", "mechanism_parameters", "period", "integrator", "orientation", "velocity_projection", "force_hold"),
    *("friction_force", "friction_torque"),
)

#: parameters that a refused mechanism names
_SUBJECT = "parameters mechanism, mechanism_parameters"


def make_controller(
    p: Mapping[str, Any], arguments: Mapping[str, Any], generator: ReferenceGenerator | None = None
) -> AdmittanceController:
    """Makes the controller, with a compiled step.

    Args:
        p: parameters.
        arguments: of the mechanism, the entries of the parameter mechanism_parameters.
        generator: of a controller with the same `REFERENCE_PARAMETERS`; made if not given.

    Raises:
        ValueError: a parameter is refused; the message names it.
    """
    if generator is None:
        generator = _generator(p, arguments)
    placement = make_placement(p)
    feedback = None
    if p["feedback"] == "node":
        gains = {name: p[f"{name}_gain"] for name in ("proportional", "integral", "derivative")}
        feedback = PIDFeedback(period=p["period"], **gains)
    return AdmittanceController(
        generator,
        placement,
        feedback=feedback,
        derivative_cutoff=p["derivative_cutoff"],
        largest_correction=(p["largest_correction"], p["largest_turn_correction"]),
        force_deadband=p["force_deadband"],
        moment_deadband=p["moment_deadband"],
        largest_lead=(p["largest_lead"], p["largest_turn_lead"]),
        approach_time=p["approach_time"],
    )


def make_placement(p: Mapping[str, Any]) -> DisplayTransform:
    """Makes the transform from the device's base frame to the mechanism's frame.

    Raises:
        ValueError: a parameter is refused; the message names it.
    """
    with _renamed({"position": "frame_position", "orientation": "frame_orientation"}):
        return DisplayTransform(p["frame_position"], p["frame_orientation"], p["tool_orientation"])


def make_external(p: Mapping[str, Any]) -> ExternalForces:
    """Makes the forces of the world whose contacts act on the tool.

    Raises:
        ValueError: a parameter is refused; the message names it.
    """
    with _renamed({"position": "world_position", "orientation": "world_orientation"}):
        return ExternalForces(p["contact_body"], p["world_position"], p["world_orientation"])


def make_mechanism(p: Mapping[str, Any], arguments: Mapping[str, Any]) -> Mechanism:
    """Makes the mechanism of the parameter `mechanism`.

    Args:
        p: parameters.
        arguments: of the mechanism, the entries of the parameter mechanism_parameters.

    Raises:
        ValueError: a parameter is refused; the message names it.
    """
    try:
        return installed_mechanism(p["mechanism"], **arguments)
    except (ValueError, SingularConfigurationError) as error:
        raise ValueError(f"{_SUBJECT}: {_line(error)}") from None
    except Exception as error:  # the class may be a user's own
        raise ValueError(f"{_SUBJECT}: {type(error).__name__}: {_line(error)}") from error


def _generator(p: Mapping[str, Any], arguments: Mapping[str, Any]) -> ReferenceGenerator:
    mechanism = make_mechanism(p, arguments)
    friction = _friction(p)
    default = "rk4" if friction is None else "algorithm1"
    try:
        with _renamed({"friction": "friction_force, friction_torque"}):
            return ReferenceGenerator(
                mechanism,
                period=p["period"],
                integrator=default if p["integrator"] == "default" else p["integrator"],
                orientation=p["orientation"],
                velocity_projection=p["velocity_projection"],
                force_hold=p["force_hold"],
                friction=friction,
            )
    except SingularConfigurationError as error:
        raise ValueError(f"{_SUBJECT}: it cannot start: {_line(error)}") from None


@contextmanager
def _renamed(parameters: Mapping[str, str]) -> Iterator[None]:
    """Replaces the name of an argument in a refusal by the name of the node's parameter."""
    try:
        yield
    except ValueError as error:
        argument, _, rest = _line(error).partition(": ")
        raise ValueError(f"{parameters.get(argument, argument)}: {rest}") from None


def _line(error: Exception) -> str:
    return " ".join(str(error).split())


def _friction(p: Mapping[str, Any]) -> FreeDirectionFriction | None:
    laws = {
        name: CoulombLaw(p[parameter])
        for name, parameter in (("translation", "friction_force"), ("rotation", "friction_torque"))
        if p[parameter] > 0.0
    }
    return FreeDirectionFriction(**laws) if laws else None
