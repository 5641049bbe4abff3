"""The mechanism as URDF, generated from the same parameters: for RViz, ros2_control and `pinocchio_model`.

URDF describes trees only: three chains that end at their spherical joints, and the platform, which floats (or hangs on
six virtual joints, so that a JointState can set its pose). The file contains neither the closures of the loops nor the
rotor inertia, which belongs to the joints.
"""

from __future__ import annotations

import math
from typing import Any
from xml.etree import ElementTree

import numpy as np
from numpy.typing import ArrayLike

from tau_wall_control.device.tau_device import TauDevice
from tau_wall_control.errors import TauError

#: mass of the carriage [kg]; its centre of mass never moves, so any positive number gives the same motion
CARRIAGE_MASS = 0.01
PLATFORM_JOINTS = (
    ("x", "prismatic", "1 0 0"),
    ("y", "prismatic", "0 1 0"),
    ("z", "prismatic", "0 0 1"),
    ("c", "revolute", "0 0 1"),
    ("b", "revolute", "0 1 0"),
    ("a", "revolute", "1 0 0"),
)


def _numbers(*values: float) -> str:
    return " ".join(repr(float(x)) for x in values)


def _angles(R: np.ndarray) -> tuple[float, float, float]:
    """Returns roll, pitch, yaw of R = Rz(yaw) Ry(pitch) Rx(roll)."""
    pitch = math.atan2(-R[2, 0], math.hypot(R[0, 0], R[1, 0]))
    if abs(abs(pitch) - math.pi / 2) > 1e-9:
        return math.atan2(R[2, 1], R[2, 2]), pitch, math.atan2(R[1, 0], R[0, 0])
    return math.atan2(math.copysign(1.0, pitch) * R[0, 1], R[1, 1]), pitch, 0.0


class _Robot:
    def __init__(self, name: str, prefix: str) -> None:
        self._prefix = prefix
        self.root = ElementTree.Element("robot", name=name)

    def link(
        self,
        name: str,
        mass: float = 0.0,
        com: tuple[float, ...] = (0.0, 0.0, 0.0),
        inertia: tuple[float, ...] = (0.0, 0.0, 0.0),
    ) -> ElementTree.Element:
        link = ElementTree.SubElement(self.root, "link", name=self._prefix + name)
        if mass:
            inertial = ElementTree.SubElement(link, "inertial")
            ElementTree.SubElement(inertial, "origin", xyz=_numbers(*com), rpy="0 0 0")
            ElementTree.SubElement(inertial, "mass", value=_numbers(mass))
            moments = dict(zip(("ixx", "iyy", "izz"), map(_numbers, inertia), strict=True))
            ElementTree.SubElement(inertial, "inertia", {**moments, "ixy": "0", "ixz": "0", "iyz": "0"})
        return link

    def joint(
        self,
        name: str,
        kind: str,
        parent: str,
        child: str,
        axis: str = "",
        xyz: tuple[float, ...] = (0.0, 0.0, 0.0),
        rpy: tuple[float, ...] = (0.0, 0.0, 0.0),
        effort: float = 0.0,
        damping: float = 0.0,
        friction: float = 0.0,
    ) -> None:
        joint = ElementTree.SubElement(self.root, "joint", name=name, type=kind)
        ElementTree.SubElement(joint, "parent", link=self._prefix + parent)
        ElementTree.SubElement(joint, "child", link=self._prefix + child)
        ElementTree.SubElement(joint, "origin", xyz=_numbers(*xyz), rpy=_numbers(*rpy))
        if axis:
            ElementTree.SubElement(joint, "axis", xyz=axis)
            limits = {"lower": _numbers(-math.pi), "upper": _numbers(math.pi), "velocity": "100.0"}
            ElementTree.SubElement(joint, "limit", {**limits, "effort": _numbers(effort)})
            ElementTree.SubElement(joint, "dynamics", damping=_numbers(damping), friction=_numbers(friction))


def _rod(link: ElementTree.Element, start: ArrayLike, end: ArrayLike, radius: float, colour: str) -> None:
    """Adds a cylinder from one point of the link's frame to another."""
    start, axis = np.asarray(start, dtype=float), np.subtract(end, start)
    x, y, z = axis
    visual = ElementTree.SubElement(link, "visual")
    rpy = _numbers(0, math.atan2(math.hypot(x, y), z), math.atan2(y, x))
    ElementTree.SubElement(visual, "origin", xyz=_numbers(*(start + axis / 2)), rpy=rpy)
    shape = ElementTree.SubElement(visual, "geometry")
    ElementTree.SubElement(shape, "cylinder", radius=_numbers(radius), length=_numbers(float(np.linalg.norm(axis))))
    material = ElementTree.SubElement(visual, "material", name=colour.replace(" ", "_"))
    ElementTree.SubElement(material, "color", rgba=colour)


def urdf(device: TauDevice, platform: str = "floating", *, prefix: str = "", upright: bool = False) -> str:
    """Returns the device as URDF.

    Links: base, whose y axis is up, then carriage_i, link_1_i, link_2_i, wrist_i of each chain, platform, and
    attachment_i where chain i's spherical joint is. Joints yaw_i, pitch_i, elbow_i have the signs of theta.

    Args:
        device: the device.
        platform: "floating", or "joints" for six virtual joints platform_x, y, z, c, b, a.
        prefix: start of the names of all links.
        upright: with the root base_link, whose axes are right, forward, up, and to which base is fixed.
    """
    if platform not in ("floating", "joints"):
        raise TauError(f"platform: expected floating or joints, got {platform!r}")
    parameters = device.parameters
    robot, base = _Robot("tau", prefix), "base"
    if upright:
        robot.link("base_link")
        robot.joint(base, "fixed", "base_link", base, rpy=(math.pi / 2, 0.0, 0.0))
    column = robot.link(base)
    f, peak = parameters.friction, device.peak_torque
    R_B = parameters.chains.base_axes.rotation
    actuated: dict[str, Any] = {"effort": peak, "damping": f.viscous_actuated, "friction": f.coulomb_actuated}
    for i, c in enumerate(parameters.chains.all, start=1):
        robot.link(f"carriage_{i}", CARRIAGE_MASS, inertia=(max(c.carriage_inertia_yaw, 1e-12),) * 3)
        for k, (link, length) in enumerate(((c.link_1, c.link_1_length), (c.link_2, c.link_2_length)), start=1):
            moments = (link.inertia_axial, link.inertia_transverse, link.inertia_transverse)
            element = robot.link(f"link_{k}_{i}", link.mass, (link.com, 0.0, 0.0), moments)
            _rod(element, (0.0, 0.0, 0.0), (length, 0.0, 0.0), 0.004, "0.35 0.45 0.6 1" if k == 1 else "0.6 0.65 0.7 1")
        robot.link(f"wrist_{i}")
        robot.joint(f"yaw_{i}", "revolute", base, f"carriage_{i}", "0 0 1", c.base_origin, _angles(R_B), **actuated)
        robot.joint(f"pitch_{i}", "revolute", f"carriage_{i}", f"link_1_{i}", "0 -1 0", **actuated)
        elbow = (c.link_1_length, 0.0, 0.0)
        robot.joint(f"elbow_{i}", "revolute", f"link_1_{i}", f"link_2_{i}", "0 -1 0", elbow, damping=f.viscous_elbow)
        robot.joint(f"wrist_{i}", "fixed", f"link_2_{i}", f"wrist_{i}", xyz=(c.link_2_length, 0.0, 0.0))
    p = parameters.platform
    if platform == "floating":
        robot.joint("platform", "floating", base, "platform")
    else:
        parent = base
        for name, kind, axis in PLATFORM_JOINTS:
            child = "platform" if name == "a" else f"platform_{name}"
            if name != "a":
                robot.link(child)
            robot.joint(f"platform_{name}", kind, parent, child, axis)
            parent = child
    tool = robot.link("platform", p.mass, p.com, p.inertia_about_com)
    chains = parameters.chains.all
    for c, following in zip(chains, (*chains[1:], chains[0]), strict=True):
        _rod(column, c.base_origin, following.base_origin, 0.006, "0.35 0.35 0.35 1")
        _rod(tool, (0.0, 0.0, 0.0), c.platform_point, 0.003, "0.17 0.63 0.17 1")
    for i, c in enumerate(parameters.chains.all, start=1):
        robot.link(f"attachment_{i}")
        robot.joint(f"attachment_{i}", "fixed", "platform", f"attachment_{i}", xyz=c.platform_point)
    ElementTree.indent(robot.root)
    return ElementTree.tostring(robot.root, encoding="unicode")
