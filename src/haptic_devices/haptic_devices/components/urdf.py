"""Writes URDF: links of simple shapes, and the joints between them. No ROS import.

A device uses it for its description (`Device.robot_description`). URDF describes trees only: the file has the passive
joints, but no constraints that close a loop. It also has no rotors and gears, which act only on their joint.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from xml.etree import ElementTree

from haptic_devices.device import Joint

Vector = Sequence[float]
#: red, green, blue, opacity
Color = tuple[float, float, float, float]

STEEL: Color = (0.6, 0.65, 0.7, 1.0)
MOVED: Color = (0.35, 0.45, 0.6, 1.0)
FRAME: Color = (0.35, 0.35, 0.35, 1.0)
TOOL: Color = (0.17, 0.63, 0.17, 1.0)

_ORIGIN = (0.0, 0.0, 0.0)


class Robot:
    """A robot description to which links and joints are added.

    Args:
        name: name of the robot.
    """

    def __init__(self, name: str) -> None:
        self._root = ElementTree.Element("robot", name=name)

    def link(self, name: str, mass: float = 0.0, center: Vector = _ORIGIN, inertia: Vector = (0.0, 0.0, 0.0)) -> Link:
        """Adds a link.

        Args:
            name: name of the link and of its frame.
            mass: mass [kg]; 0: the link has no inertial element.
            center: centre of mass in the link's frame (3,) [m].
            inertia: principal moments about the centre of mass, along the axes of the link's frame (3,) [kg m^2].
        """
        element = ElementTree.SubElement(self._root, "link", name=name)
        if mass > 0.0:
            inertial = ElementTree.SubElement(element, "inertial")
            ElementTree.SubElement(inertial, "origin", xyz=_numbers(center), rpy=_numbers(_ORIGIN))
            ElementTree.SubElement(inertial, "mass", value=repr(float(mass)))
            xx, yy, zz = (repr(float(moment)) for moment in inertia)
            ElementTree.SubElement(inertial, "inertia", ixx=xx, iyy=yy, izz=zz, ixy="0.0", ixz="0.0", iyz="0.0")
        return Link(element)

    def joint(self, joint: Joint, parent: str, child: str, axis: Vector, origin: Vector = _ORIGIN) -> None:
        """Adds a joint with its limits.

        Args:
            joint: name, kind and limits.
            parent, child: names of the links.
            axis: axis of the child's motion (3,).
            origin: origin of the child's frame in the parent's frame (3,) [m]; at position 0 their axes are parallel.
        """
        element = self._joint(joint.name, joint.kind, parent, child, origin)
        ElementTree.SubElement(element, "axis", xyz=_numbers(axis))
        limits = {"lower": joint.lower, "upper": joint.upper}
        limits |= {"effort": joint.effort_limit, "velocity": joint.velocity_limit}
        ElementTree.SubElement(element, "limit", {name: repr(float(value)) for name, value in limits.items()})

    def fixed(self, parent: str, child: str, origin: Vector = _ORIGIN) -> None:
        """Fixes a link to another one, with parallel axes."""
        self._joint(child, "fixed", parent, child, origin)

    def _joint(self, name: str, kind: str, parent: str, child: str, origin: Vector) -> ElementTree.Element:
        element = ElementTree.SubElement(self._root, "joint", name=name, type=kind)
        ElementTree.SubElement(element, "parent", link=parent)
        ElementTree.SubElement(element, "child", link=child)
        ElementTree.SubElement(element, "origin", xyz=_numbers(origin), rpy=_numbers(_ORIGIN))
        return element

    def xml(self) -> str:
        """Returns the text of the URDF file."""
        ElementTree.indent(self._root)
        return ElementTree.tostring(self._root, encoding="unicode")


class Link:
    """Shapes of a link; positions (3,) [m] are in the link's frame."""

    def __init__(self, element: ElementTree.Element) -> None:
        self._element = element

    def bar(self, start: Vector, end: Vector, radius: float, color: Color) -> None:
        """Adds a cylinder from one point to another; radius [m]."""
        x, y, z = (b - a for a, b in zip(start, end, strict=True))
        middle = [(a + b) / 2.0 for a, b in zip(start, end, strict=True)]
        rpy = (0.0, math.atan2(math.hypot(x, y), z), math.atan2(y, x))
        self._shape("cylinder", middle, rpy, color, radius=radius, length=math.hypot(x, y, z))

    def ball(self, center: Vector, radius: float, color: Color) -> None:
        """Adds a sphere; radius [m]."""
        self._shape("sphere", center, _ORIGIN, color, radius=radius)

    def _shape(self, kind: str, position: Vector, rpy: Vector, color: Color, **sizes: float) -> None:
        visual = ElementTree.SubElement(self._element, "visual")
        ElementTree.SubElement(visual, "origin", xyz=_numbers(position), rpy=_numbers(rpy))
        geometry = ElementTree.SubElement(visual, "geometry")
        ElementTree.SubElement(geometry, kind, {name: repr(float(size)) for name, size in sizes.items()})
        material = ElementTree.SubElement(visual, "material", name="_".join(map(str, color)))
        ElementTree.SubElement(material, "color", rgba=_numbers(color))


def _numbers(values: Sequence[float]) -> str:
    return " ".join(repr(float(value)) for value in values)
