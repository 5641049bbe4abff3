"""Tendons: of joints (fixed) and through sites (spatial), with limits, springs and dampers."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import pinocchio as pin

from convex_contact.model.mjcf.bodies import MjcfBody, MjcfModel
from convex_contact.model.mjcf.defaults import Defaults
from convex_contact.model.mjcf.document import MjcfDocument, numbers_up_to
from convex_contact.model.mjcf.joints import MjcfJoint, read_range
from convex_contact.model.mjcf.settings import Compiler, Options
from convex_contact.model.mjcf.trees import WorldIndices
from convex_contact.model.tendons import TendonActuator, TendonLimit, Terms
from convex_contact.model.world import World
from convex_contact.model.xml_document import Element


@dataclass(eq=False)
class MjcfTendon:
    """A tendon.

    Attributes:
        element: with the attributes of its class.
        name: unique.
        joints: of a fixed tendon, with their coefficients; each once.
        sites: of a spatial tendon, a body and a pose in its frame each.
        limits: least and greatest length [m or rad]; infinite without limits.
        stiffness: [N/m or N m/rad].
        damping: [N s/m or N m s/rad].
        rest: length at which its spring is at rest [m or rad]; None: the length in the joints' rest positions.
    """

    element: Element
    name: str
    joints: dict[MjcfJoint, float]
    limits: tuple[float, float]
    stiffness: float
    damping: float
    rest: float | None
    sites: list[tuple[MjcfBody, pin.SE3]] = field(default_factory=list)

    def terms(self) -> Terms:
        """Returns joints and coefficients for a world."""
        return tuple((joint.name, coefficient) for joint, coefficient in self.joints.items())


def scalar_joint(element: Element, attribute: str, model: MjcfModel) -> MjcfJoint:
    """Returns the hinge or slide that an attribute names.

    Raises:
        XmlError: there is none.
    """
    joint = model.joint.get(element.name(attribute))
    if joint is None or not joint.scalar:
        raise element.error("expected the name of a hinge or slide, got another one", attribute)
    return joint


def read_tendons(
    document: MjcfDocument, defaults: Defaults, model: MjcfModel, compiler: Compiler, options: Options
) -> dict[str, MjcfTendon]:
    """Reads the tendons of a file; returns them by name, in their order.

    Raises:
        XmlError: a tendon is wrong.
    """
    tendons: dict[str, MjcfTendon] = {}
    for i, given in enumerate(document.sections.get("tendon", [])):
        element = defaults.resolved(given)
        name = element.name() if "name" in element.attributes else f"tendon {i}"
        if name in tendons:
            raise element.error("expected a name that no other tendon has, got one twice", "name")
        stiffness, damping = (element.number(each, "0", minimum=0.0) for each in ("stiffness", "damping"))
        limits = read_range(element, compiler.autolimits, "range", "limited")
        tendon = MjcfTendon(
            element=element,
            name=name,
            joints={},
            limits=limits if options.has("limit") else (-math.inf, math.inf),
            stiffness=stiffness if options.has("spring") else 0.0,
            damping=damping if options.has("damper") else 0.0,
            rest=_rest(element),
        )
        for child in element.children:
            if child.tag == "joint":
                joint = scalar_joint(child, "joint", model)
                tendon.joints[joint] = tendon.joints.get(joint, 0.0) + child.number("coef")
            else:
                site = model.sites.get(child.name("site"))
                if site is None:
                    raise child.error("expected the name of a site, got that of none", "site")
                tendon.sites.append(site)
        if element.tag == "spatial" and len(tendon.sites) < 2:
            raise element.error(f"expected 2 sites or more, got {len(tendon.sites)}")
        if element.tag == "fixed" and not tendon.joints:
            raise element.error("expected a joint or more, got none")
        tendons[name] = tendon
    return tendons


def _rest(element: Element) -> float | None:
    """Returns the rest length of a tendon's spring; None: the length in the joints' rest positions."""
    if "springlength" not in element.attributes:
        return None
    values = numbers_up_to(element, "springlength", 2)
    if values[-1] != values[0]:
        raise element.error("expected one length, a range without force is not supported", "springlength")
    return None if values[0] == -1.0 else values[0]


def add_tendons(world: World, tendons: dict[str, MjcfTendon], indices: WorldIndices) -> None:
    """Adds the limits, springs and dampers of tendons to a world.

    Raises:
        XmlError: a spatial tendon has limits, stiffness or damping.
    """
    for tendon in tendons.values():
        if tendon.sites:
            if math.isfinite(tendon.limits[0]) or tendon.stiffness or tendon.damping:
                raise tendon.element.error(
                    "expected no limits, stiffness and damping of a spatial tendon, which is not supported"
                )
            continue
        tree = indices.joint[next(iter(tendon.joints))][0]
        for bound, sign in zip(tendon.limits, (1.0, -1.0), strict=True):
            if math.isfinite(bound):
                world.joint_laws.append(TendonLimit(tree, tendon.terms(), bound, sign))
        if tendon.stiffness or tendon.damping:
            rest = tendon.rest
            if rest is None:
                rest = sum(coefficient * joint.springref for joint, coefficient in tendon.joints.items())
            bias = (tendon.stiffness * rest, -tendon.stiffness, -tendon.damping)
            name = f"spring of {tendon.name}"
            world.joint_laws.append(TendonActuator(tree, name, tendon.terms(), gain=(0.0, 0.0, 0.0), bias=bias))
