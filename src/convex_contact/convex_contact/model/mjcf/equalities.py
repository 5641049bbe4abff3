"""Equalities: couplings of joints and tendons, connections and welds of bodies."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from convex_contact.model.joints import JointCoupler, JointMotion, StepFunction
from convex_contact.model.mjcf.bodies import WORLD, MjcfBody, MjcfModel
from convex_contact.model.mjcf.defaults import Defaults
from convex_contact.model.mjcf.document import MjcfDocument, Notes, flag, numbers_up_to
from convex_contact.model.mjcf.joints import MjcfJoint
from convex_contact.model.mjcf.settings import Options
from convex_contact.model.mjcf.tendons import MjcfTendon, scalar_joint
from convex_contact.model.mjcf.trees import Builder
from convex_contact.model.tendons import TendonCoupler, TendonEquality
from convex_contact.model.weld import Weld
from convex_contact.model.world import World
from convex_contact.model.xml_document import Element
from convex_contact.problem.row_numbers import NEAR_RIGID, NEAR_RIGID_STIFFNESS

#: time in which the error of a weld or connection falls to a third [s]
RELAXATION_TIME = 0.005

#: joints and coefficients
Sum = dict[MjcfJoint, float]


def read_equalities(document: MjcfDocument, defaults: Defaults, options: Options) -> list[Element]:
    """Returns the active equalities of a file, with the attributes of their classes.

    Raises:
        XmlError: a class is wrong.
    """
    active = []
    for given in document.sections.get("equality", []):
        element = defaults.resolved(given, kind="equality")
        if not options.has("equality"):
            continue
        if flag(element, "active", True):
            active.append(element)
        else:
            document.notes.add(element, "active=false")
    return active


def sums(element: Element, model: MjcfModel, tendons: dict[str, MjcfTendon]) -> tuple[Sum, Sum]:
    """Returns the joints of both sides of a joint or tendon equality; no joints for a side that is missing.

    Raises:
        XmlError: a side names no joint or tendon.
    """
    found: list[Sum] = []
    for i in ("1", "2"):
        name = f"{element.tag}{i}"
        if i == "2" and name not in element.attributes:
            found.append({})
        elif element.tag == "joint":
            found.append({scalar_joint(element, name, model): 1.0})
        else:
            tendon = tendons.get(element.name(name))
            if tendon is None or tendon.sites:
                raise element.error("expected the name of a fixed tendon, got another one", name)
            found.append(tendon.joints)
    if found[0].keys() == found[1].keys() and found[0] == found[1]:
        raise element.error(f"expected two {element.tag}s, got the same one twice")
    return found[0], found[1]


def add_equalities(
    world: World, elements: list[Element], model: MjcfModel, tendons: dict[str, MjcfTendon], builder: Builder,
    notes: Notes,
) -> None:  # fmt: skip
    """Adds equalities to a world; lists parts of them that are not simulated.

    Raises:
        XmlError: an equality is wrong.
    """
    for element in elements:
        if element.tag in ("joint", "tendon"):
            _add_coupler(world, element, sums(element, model, tendons), builder)
        else:
            if element.attributes.get("torquescale", "1") not in ("0", "1"):
                notes.add(element, "torquescale")
            _add_weld(world, element, model, builder)


def _add_coupler(world: World, element: Element, sides: tuple[Sum, Sum], builder: Builder) -> None:
    """Adds y - y0 = c0 + c1 (x - x0) + c2 (x - x0)^2 + ..., with the lengths in the pose of the file."""
    first, second = sides
    tree = builder.indices.joint[next(iter(first))][0]
    given = numbers_up_to(element, "polycoef", 5, "0 1 0 0 0")
    coefficients = [*given, *(0.0, 1.0, 0.0, 0.0, 0.0)[len(given) :]]
    y0, x0 = (sum(c * joint.ref for joint, c in side.items()) for side in sides)
    if not second:
        coefficients[1:] = [0.0] * 4
    shifted = np.polynomial.Polynomial(coefficients)(np.polynomial.Polynomial([-x0, 1.0]))
    values = np.pad(shifted.coef, (0, 5 - len(shifted.coef)))
    values[0] += y0
    linear = not values[2:].any()
    if element.tag == "joint" and linear and values[1]:
        names = next(iter(first)).name, next(iter(second)).name
        world.joint_laws.append(JointCoupler(tree, *names, ratio=float(values[1]), offset=float(values[0])))
    elif element.tag == "joint" and not values[1:].any():
        world.joint_laws.append(JointMotion(tree, next(iter(first)).name, StepFunction((), (float(values[0]),))))
    else:
        y, x = (tuple((joint.name, c) for joint, c in side.items()) for side in sides)
        if linear:
            difference = (*y, *((name, -float(values[1]) * c) for name, c in x if values[1]))
            world.joint_laws.append(TendonEquality(tree, difference, length=float(values[0])))
        else:
            world.controllers.append(TendonCoupler(tree, y, x, tuple(values.tolist())))


# --- points and poses of bodies ----------------------------------------------------------------------------------


def _add_weld(world: World, element: Element, model: MjcfModel, builder: Builder) -> None:
    """Adds a connection of a point, or a weld of a pose."""
    if "site1" in element.attributes or "site2" in element.attributes:
        for name in ("body1", "body2", "anchor", "relpose"):
            if name in element.attributes:
                raise element.error("expected none beside sites, got one", name)
        (one, at), (two, here) = _site(element, "site1", model), _site(element, "site2", model)
        relative = at * here.inverse()  # of the frame of body 2 in that of body 1, when the sites coincide
        point = here.translation
    else:
        one, two = _body(element, "body1", model), _body(element, "body2", model)
        start = pose_at_start(one).inverse() * pose_at_start(two)
        relative, point = _weld_pose(element, start)
    if one.root is two.root or not (one.moved or two.moved):
        raise element.error("expected two bodies that move against each other, got others")
    factor = 0.0
    if element.tag == "weld":
        factor = element.number("torquescale", "1", minimum=0.0)
    a, b = (_number(body, builder) for body in (one, two))
    offsets = [pin.SE3.Identity() if body.static else body.offset for body in (one, two)]
    frame = offsets[0] * relative * offsets[1].inverse()
    anchor_b = offsets[1] * point
    quaternion = pin.Quaternion(frame.rotation).coeffs()
    world.controllers.append(
        Weld(
            a,
            b,
            stiffness=NEAR_RIGID_STIFFNESS,
            rotational_stiffness=factor * NEAR_RIGID_STIFFNESS,
            relaxation_time=RELAXATION_TIME,
            near_rigid=NEAR_RIGID,
            point=triple(anchor_b),
            position=triple(frame * anchor_b),
            orientation=(*triple(quaternion), float(quaternion[3])),
        )
    )


def triple(vector: np.ndarray) -> tuple[float, float, float]:
    """Returns the first three numbers of an array."""
    return float(vector[0]), float(vector[1]), float(vector[2])


def _weld_pose(element: Element, start: pin.SE3) -> tuple[pin.SE3, np.ndarray]:
    """Returns the pose of body 2 in the frame of body 1, and the anchor in the frame of body 2.

    Args:
        element: a connection or a weld of bodies.
        start: pose of body 2 in the frame of body 1 in the file.
    """
    if element.tag == "connect":
        anchor = np.array(element.numbers("anchor", 3))  # in the frame of body 1
        return start, start.actInv(anchor)
    point = np.array(element.numbers("anchor", 3, "0 0 0"))
    x, y, z, w, a, b, c = element.numbers("relpose", 7, "0 1 0 0 0 0 0")
    if not np.linalg.norm((w, a, b, c)) > 1e-9:
        return start, point
    return pin.SE3(pin.Quaternion(w, a, b, c).normalized().matrix(), np.array([x, y, z])), point


def pose_at_start(body: MjcfBody) -> pin.SE3:
    """Returns the pose of a body in the world frame, as in the file."""
    pose = body.pose
    while body.parent is not None:
        body = body.parent
        pose = body.pose * pose
    return pose


def _number(body: MjcfBody, builder: Builder) -> int:
    return builder.fixed(body) if body.static else builder.indices.body[body.root]


def _body(element: Element, attribute: str, model: MjcfModel) -> MjcfBody:
    if attribute == "body2" and attribute not in element.attributes:
        return model.body[WORLD]
    body = model.body.get(element.name(attribute))
    if body is None:
        raise element.error("expected the name of a body, got that of none", attribute)
    return body


def _site(element: Element, attribute: str, model: MjcfModel) -> tuple[MjcfBody, pin.SE3]:
    site = model.sites.get(element.name(attribute))
    if site is None:
        raise element.error("expected the name of a site, got that of none", attribute)
    return site
