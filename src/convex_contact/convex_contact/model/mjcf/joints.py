"""Joints: axis, anchor, limits, spring, damping, friction and the inertia of rotors."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from convex_contact.model.mjcf.document import choice
from convex_contact.model.mjcf.settings import Compiler, Options, unit
from convex_contact.model.xml_document import Element

KINDS = ("hinge", "slide", "ball", "free")
#: coordinates and velocities of each kind in MuJoCo
COORDINATES = {"hinge": 1, "slide": 1, "ball": 4, "free": 7}
VELOCITIES = {"hinge": 1, "slide": 1, "ball": 3, "free": 6}


@dataclass(eq=False)
class MjcfJoint:
    """A joint of a body.

    Attributes:
        element: with the attributes of its class.
        name: unique.
        kind: one of `KINDS`.
        anchor: in the body's frame (3,) [m].
        axis: in the body's frame (3,).
        limits: least and greatest position [m or rad]; infinite without limits.
        ref: position in the pose of the file [m or rad].
        springref: rest position of its spring [m or rad].
        stiffness: [N/m or N m/rad].
        damping: [N s/m or N m s/rad].
        friction: largest force or torque of Coulomb friction [N or N m].
        armature: inertia of the rotor reflected to the joint [kg or kg m^2].
    """

    element: Element
    name: str
    kind: str
    anchor: np.ndarray
    axis: np.ndarray
    limits: tuple[float, float]
    ref: float
    springref: float
    stiffness: float
    damping: float
    friction: float
    armature: float

    @property
    def scalar(self) -> bool:
        """The joint has one coordinate."""
        return self.kind in ("hinge", "slide")


def read_joint(element: Element, name: str, compiler: Compiler, options: Options) -> MjcfJoint:
    """Makes a joint of its element, which has the attributes of its class.

    Args:
        element: of a joint or a free joint.
        name: its own, or one made for it.
        compiler: settings.
        options: flags that disable limits, springs, dampers or friction.

    Raises:
        XmlError: it is wrong, or of a kind that is not supported.
    """
    free = element.tag == "freejoint"
    kind = "free" if free else choice(element, "type", KINDS, "hinge")
    degrees = compiler.angle if kind in ("hinge", "ball") else 1.0
    positive = {
        name: element.number(name, "0", minimum=0.0) for name in ("stiffness", "damping", "frictionloss", "armature")
    }
    limits = read_range(element, compiler.autolimits, "range", "limited")
    if kind in ("ball", "free"):
        if math.isfinite(limits[0]) and kind == "ball":
            raise element.error("expected no limits, those of a ball joint are not supported", "range")
        limits = (-math.inf, math.inf)
        if positive["frictionloss"] and options.has("frictionloss"):
            raise element.error(f"expected 0, friction of a {kind} joint is not supported", "frictionloss")
    if not options.has("limit"):
        limits = (-math.inf, math.inf)
    ref = degrees * element.number("ref", "0") if kind in ("hinge", "slide") else 0.0
    return MjcfJoint(
        element=element,
        name=name,
        kind=kind,
        anchor=np.zeros(3) if kind == "free" else np.array(element.numbers("pos", 3, "0 0 0")),
        axis=unit(element, "axis", np.array(element.numbers("axis", 3, "0 0 1"))),
        limits=(degrees * limits[0], degrees * limits[1]),
        ref=ref,
        springref=degrees * element.number("springref", "0"),
        stiffness=positive["stiffness"] if options.has("spring") else 0.0,
        damping=positive["damping"] if options.has("damper") else 0.0,
        friction=positive["frictionloss"] if options.has("frictionloss") else 0.0,
        armature=positive["armature"],
    )


def read_range(element: Element, auto: bool, name: str, limited: str) -> tuple[float, float]:
    """Returns a range that limits a value; infinite if it does not limit.

    Args:
        element: the element.
        auto: without `limited`, a range limits.
        name: attribute of the range.
        limited: attribute that enables the range.

    Raises:
        XmlError: the range is missing or empty, or nothing determines whether it limits.
    """
    state = choice(element, limited, ("true", "false", "auto"), "auto")
    given = name in element.attributes
    low, high = element.numbers(name, 2, "0 0")
    if state == "false" or (state == "auto" and not given):
        return -math.inf, math.inf
    if state == "auto" and not auto and (low or high):
        raise element.error("expected true or false without autolimits, got nothing", limited)
    if low > high or (state == "true" and low == high):
        raise element.error(f"expected two numbers that increase, got {low:g} and {high:g}", name)
    return (low, high) if low < high else (-math.inf, math.inf)
