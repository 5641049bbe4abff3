"""Mass and inertia of bodies: of their inertial elements or their geoms, with the bounds of the compiler."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from convex_contact.model.mjcf.geoms import MjcfGeom
from convex_contact.model.mjcf.settings import Compiler
from convex_contact.model.xml_document import Element

#: tolerance by which the largest principal moment may exceed the sum of the others, for rounded digits
ROUNDED_DIGITS = 1e-6


def body_inertia(body: Element, geoms: list[MjcfGeom], compiler: Compiler) -> pin.Inertia:
    """Returns mass and inertia of a body in its frame.

    Args:
        body: its element.
        geoms: its geoms.
        compiler: settings.

    Raises:
        XmlError: no rigid body can have the inertia.
    """
    inertial = body.one("inertial")
    if inertial is not None and compiler.inertiafromgeom != "true":
        found = _inertial(inertial, compiler)
    elif compiler.inertiafromgeom == "false":
        found = pin.Inertia.Zero()
    else:
        low, high = compiler.inertiagrouprange
        groups = [geom.element.number("group", "0") for geom in geoms]
        found = total([geom.inertia() for geom, group in zip(geoms, groups, strict=True) if low <= group <= high])
    return _bounded(found, inertial or body, compiler)


def total(inertias: list[pin.Inertia]) -> pin.Inertia:
    """Returns the sum of inertias that have mass."""
    result = pin.Inertia.Zero()
    for inertia in inertias:
        if inertia.mass > 0.0:
            result = inertia if result.mass == 0.0 else result + inertia
    return result


def _inertial(element: Element, compiler: Compiler) -> pin.Inertia:
    if "pos" not in element.attributes:
        raise element.error("expected the centre of mass, got nothing", "pos")
    mass, pose = element.number("mass", minimum=0.0), compiler.pose(element)
    full = "fullinertia" in element.attributes
    if full == ("diaginertia" in element.attributes):
        if full:
            raise element.error("expected one of diaginertia and fullinertia, got both")
        if mass > 0.0:
            raise element.error("expected one of diaginertia and fullinertia, got neither")
    if full:
        xx, yy, zz, xy, xz, yz = element.numbers("fullinertia", 6)
        inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    else:
        inertia = np.diag(element.numbers("diaginertia", 3, "0 0 0"))
    if np.linalg.eigvalsh(inertia)[0] < 0.0:
        name = "fullinertia" if full else "diaginertia"
        raise element.error("expected principal moments of 0 or more, got a negative one", name)
    return pose.act(pin.Inertia(mass, np.zeros(3), inertia))


def _bounded(inertia: pin.Inertia, element: Element, compiler: Compiler) -> pin.Inertia:
    """Applies the bounds of the compiler to an inertia.

    Raises:
        XmlError: no rigid body can have it.
    """
    moments, axes = np.linalg.eigh(inertia.inertia)
    if compiler.boundmass <= inertia.mass and compiler.boundinertia <= moments[0]:
        bounded = moments
    else:
        bounded = np.maximum(moments, compiler.boundinertia)
    mass = max(inertia.mass, compiler.boundmass)
    if bounded[2] > (1.0 + ROUNDED_DIGITS) * (bounded[0] + bounded[1]) + 1e-15:
        if not compiler.balanceinertia:
            raise element.error("expected principal moments of which none exceeds the sum of the others, got others")
        bounded = np.full(3, bounded.mean())
    if mass == inertia.mass and bounded is moments:
        return inertia
    return pin.Inertia(float(mass), inertia.lever, axes @ np.diag(bounded) @ axes.T)
