"""Actuators: forces along joints and fixed tendons."""

from __future__ import annotations

import math
from dataclasses import dataclass

from convex_contact.model.mjcf.bodies import MjcfModel
from convex_contact.model.mjcf.defaults import Defaults
from convex_contact.model.mjcf.document import MjcfDocument, choice, numbers_up_to
from convex_contact.model.mjcf.joints import MjcfJoint, read_range
from convex_contact.model.mjcf.settings import Compiler, Options
from convex_contact.model.mjcf.shortcuts import check_own
from convex_contact.model.mjcf.tendons import MjcfTendon, scalar_joint
from convex_contact.model.mjcf.trees import WorldIndices
from convex_contact.model.tendons import UNBOUNDED, TendonActuator
from convex_contact.model.world import World
from convex_contact.model.xml_document import Element

#: attributes that name the target of an actuator
_TARGETS = ("joint", "jointinparent", "tendon")
_DYNAMICS = {"none": "none", "integrator": "integrator", "filter": "filter", "filterexact": "filter"}


@dataclass(eq=False)
class MjcfActuator:
    """An actuator.

    Attributes:
        element: converted to a general actuator, with the attributes of its class.
        name: unique.
        joints: on which it acts, with gear times coefficient.
        values: arguments of a :class:`~convex_contact.model.tendons.TendonActuator`.
    """

    element: Element
    name: str
    joints: dict[MjcfJoint, float]
    values: dict[str, object]

    @property
    def has_activation(self) -> bool:
        """The actuator's signal is an activation."""
        return self.values["dynamics"] != "none"


def read_actuators(
    document: MjcfDocument, defaults: Defaults, model: MjcfModel, tendons: dict[str, MjcfTendon],
    compiler: Compiler, options: Options,
) -> list[MjcfActuator]:  # fmt: skip
    """Reads the actuators of a file in their order.

    Raises:
        XmlError: an actuator is wrong.
    """
    given = document.sections.get("actuator", [])
    taken = {element.attributes.get("name", "") for element in given}
    actuators: list[MjcfActuator] = []
    names: set[str] = set()
    for i, own in enumerate(given):
        check_own(own)
        element = defaults.resolved(own)
        name = f"actuator_{i}"
        while name in taken:
            name += "_"
        if "name" in own.attributes:
            name = own.name()
        if name in names:
            raise own.error("expected a name that no other actuator has, got one twice", "name")
        names.add(name)
        joints = _joints(element, model, tendons)
        actuators.append(MjcfActuator(element, name, joints, _values(element, joints, compiler, options)))
    return actuators


def _joints(element: Element, model: MjcfModel, tendons: dict[str, MjcfTendon]) -> dict[MjcfJoint, float]:
    """Returns the joints on which an actuator acts, with gear times coefficient."""
    targets = [name for name in _TARGETS if name in element.attributes]
    if len(targets) != 1:
        raise element.error(f"expected one of {', '.join(_TARGETS)}, got {len(targets)}")
    gear = numbers_up_to(element, "gear", 6, "1")[0]
    if targets[0] != "tendon":
        return {scalar_joint(element, targets[0], model): gear}
    tendon = tendons.get(element.name("tendon"))
    if tendon is None or tendon.sites:
        raise element.error("expected the name of a fixed tendon, got another one", "tendon")
    return {joint: gear * coefficient for joint, coefficient in tendon.joints.items()}


def _values(
    element: Element, joints: dict[MjcfJoint, float], compiler: Compiler, options: Options
) -> dict[str, object]:  # fmt: skip
    """Returns the arguments of a TendonActuator.

    Raises:
        XmlError: a value is wrong.
    """
    dynamics = _DYNAMICS[choice(element, "dyntype", tuple(_DYNAMICS), "none")]
    if element.attributes.get("actearly", "false") != "false" and dynamics != "none":
        raise element.error("expected false, another value is not supported", "actearly")
    gain = _three(element, "gainprm", "1")
    if choice(element, "gaintype", ("fixed", "affine"), "fixed") == "fixed":
        gain = (gain[0], 0.0, 0.0)
    bias = _three(element, "biasprm", "0")
    if choice(element, "biastype", ("none", "affine"), "none") == "none":
        bias = (0.0, 0.0, 0.0)
    if bias[2] > 0.0:
        raise element.error(f"expected a third number of 0 or less, which is a damping, got {bias[2]:g}", "biasprm")
    auto = compiler.autolimits
    control = read_range(element, auto, "ctrlrange", "ctrllimited")
    activation = read_range(element, auto, "actrange", "actlimited") if dynamics != "none" else UNBOUNDED
    inherit = element.number("inheritrange", "0", minimum=0.0)
    if inherit:
        inherited = _inherited(element, joints, inherit)
        control, activation = (control, inherited) if dynamics == "integrator" else (inherited, activation)
    if gain[2] > 0.0 or (gain[2] < 0.0 and not control[0] >= 0.0):
        raise element.error("expected a gain and a range of control that damp, got others", "gainprm")
    constant = numbers_up_to(element, "dynprm", 10, "1")[0]
    if dynamics == "filter" and not constant > 0.0:
        raise element.error(f"expected a time constant above 0, got {constant:g}", "dynprm")
    return {
        "gain": gain,
        "bias": bias,
        "control_range": control if options.has("clampctrl") else UNBOUNDED,
        "force_range": read_range(element, auto, "forcerange", "forcelimited"),
        "dynamics": dynamics,
        "time_constant": constant if dynamics == "filter" else 1.0,
        "activation_range": activation,
    }


def _three(element: Element, attribute: str, default: str) -> tuple[float, float, float]:
    values = (*numbers_up_to(element, attribute, 10, default), 0.0, 0.0)
    return values[0], values[1], values[2]


def _inherited(element: Element, joints: dict[MjcfJoint, float], factor: float) -> tuple[float, float]:
    """Returns the range of a joint, widened about its middle by a factor."""
    limits = next(iter(joints)).limits
    if len(joints) != 1 or not all(map(math.isfinite, limits)):
        raise element.error("expected a joint with a range, got none", "inheritrange")
    middle, half = 0.5 * (limits[0] + limits[1]), 0.5 * (limits[1] - limits[0])
    return middle - factor * half, middle + factor * half


def add_actuators(world: World, actuators: list[MjcfActuator], indices: WorldIndices) -> None:
    """Adds actuators to a world.

    Raises:
        XmlError: a value is wrong.
    """
    for actuator in actuators:
        tree = indices.joint[next(iter(actuator.joints))][0]
        terms = tuple((joint.name, coefficient) for joint, coefficient in actuator.joints.items())
        try:
            law = TendonActuator(tree, actuator.name, terms, **actuator.values)  # type: ignore[arg-type]
        except ValueError as error:
            raise actuator.element.error(f"{error}") from None
        world.joint_laws.append(law)
