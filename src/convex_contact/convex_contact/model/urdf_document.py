"""Checked contents of URDF files.

:func:`read_urdf` reads the parts that a simulation uses: links with inertia and collision shapes, joints with axis,
limits, damping, friction and mimic, and the links' colours. It refuses a wrong part and names its line. Parts for
other programs are ignored: shapes of visual elements, calibration, sensors, ros2_control. All other ignored parts are
listed in `UrdfDocument.ignored`; transmissions and the extensions of Gazebo once for each kind of element.

The text for Pinocchio is written from the checked parts. It has boxes in place of the collision shapes, whose poses
Pinocchio gives, and no mimic.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from convex_contact.model.shapes import Box, Capsule, Cylinder, Shape, Sphere
from convex_contact.model.xml_document import Element, XmlError, parse_xml
from haptic_files import kind_of, read_bytes

#: largest number of links
MAX_LINKS = 1000
#: limit in the text for Pinocchio of a position without limit
UNLIMITED = "1e308"
#: least moment of inertia, a rounded 0 [kg m^2]
ROUNDED_ZERO = -1e-12
#: tolerance by which the largest principal moment may exceed the sum of the others, for rounded digits
ROUNDED_DIGITS = 0.01

#: attributes and children of the elements that are read
_KNOWN: dict[str, tuple[set[str], set[str]]] = {
    "robot": ({"name", "version"}, {"link", "joint"}),
    "link": ({"name"}, {"inertial", "collision"}),
    "inertial": (set(), {"origin", "mass", "inertia"}),
    "mass": ({"value"}, set()),
    "inertia": ({"ixx", "iyy", "izz", "ixy", "ixz", "iyz"}, set()),
    "origin": ({"xyz", "rpy"}, set()),
    "collision": ({"name"}, {"origin", "geometry"}),
    "geometry": (set(), {"box", "cylinder", "sphere", "capsule", "mesh"}),
    "box": ({"size"}, set()),
    "sphere": ({"radius"}, set()),
    "cylinder": ({"radius", "length"}, set()),
    "capsule": ({"radius", "length"}, set()),
    "mesh": ({"filename", "scale"}, set()),
    "joint": ({"name", "type"}, {"origin", "parent", "child", "axis", "limit", "dynamics", "mimic"}),
    "parent": ({"link"}, set()),
    "child": ({"link"}, set()),
    "axis": ({"xyz"}, set()),
    "limit": ({"lower", "upper", "effort", "velocity"}, set()),
    "dynamics": ({"damping", "friction"}, set()),
    "mimic": ({"joint", "multiplier", "offset"}, set()),
}
#: elements for other programs
_OTHER_PROGRAMS = {"visual", "material", "calibration", "sensor", "ros2_control"}
#: elements for other programs that give numbers to the motion there, such as friction and ratios of gears
_OTHER_SIMULATORS = ("gazebo", "transmission")
#: so many lines of a kind of these are listed
_LINES = 3
_KINDS = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")
_TAG = re.compile(r"[\w.:-]{1,40}")


@dataclass(frozen=True)
class UrdfMesh:
    """A mesh of a collision shape.

    Attributes:
        filename: as in the file.
        scale: factors along the axes (3,).
        line: of the element.
    """

    filename: str
    scale: tuple[float, ...]
    line: int


@dataclass(frozen=True)
class UrdfJoint:
    """Values of a joint that Pinocchio's model does not have.

    Attributes:
        name: of the joint.
        friction: largest force or torque of Coulomb friction [N or N m].
        effort_limit: of its motor [N or N m]; inf without one.
        velocity_limit: of its motor [m/s or rad/s]; inf without one.
        mimic: name of another joint, multiplier and offset: q = multiplier q_other + offset; None without.
    """

    name: str
    friction: float = 0.0
    effort_limit: float = math.inf
    velocity_limit: float = math.inf
    mimic: tuple[str, float, float] | None = None


@dataclass
class UrdfDocument:
    """The checked parts of a URDF file.

    Attributes:
        name: of the robot.
        text: links and joints for Pinocchio.
        joints: by name, of all joints that move.
        shapes: collision shapes of the links, by link, in the order of the file.
        colors: red, green, blue, opacity, 0 to 1, by link, of its first visual element with a colour.
        ignored: one phrase with its line for each part that is not simulated or looks wrong.
    """

    name: str
    text: str = ""
    joints: dict[str, UrdfJoint] = field(default_factory=dict)
    shapes: dict[str, list[Shape | UrdfMesh]] = field(default_factory=dict)
    colors: dict[str, tuple[float, float, float, float]] = field(default_factory=dict)
    ignored: list[str] = field(default_factory=list)


def read_urdf(path: str | Path) -> UrdfDocument:
    """Reads and checks a URDF file.

    Raises:
        FileError: The file cannot be read.
        XmlError: It describes no robot; the message has the line, but not the file.
    """
    return urdf_document(parse_xml(read_bytes(path)))


def urdf_document(root: Element) -> UrdfDocument:
    """Checks the root of a URDF document.

    Raises:
        XmlError: it describes no robot, see :func:`read_urdf`.
    """
    if root.tag != "robot":
        raise XmlError(f"line {root.line}: expected a URDF, whose root is a robot, got another element")
    document = UrdfDocument(root.name())
    for tag in _OTHER_SIMULATORS:
        lines = _lines(root, tag)
        more = f" and {len(lines) - _LINES} more" if len(lines) > _LINES else ""
        if lines:
            listed = ", ".join(f"line {line}" for line in lines[:_LINES])
            document.ignored.append(f"{tag} ({listed}{more}) is not simulated")
    _list_ignored(root, document.ignored)
    links = root.all("link")
    if not 0 < len(links) <= MAX_LINKS:
        raise root.error(f"expected 1 to {MAX_LINKS} links, got {len(links)}")
    parts = [_link(link, document) for link in links]
    _read_colors(root, links, document)
    joints = root.all("joint")
    for joint in joints:
        if joint.attributes.get("type") not in _KINDS:
            raise joint.error(
                f"expected one of {', '.join(_KINDS)}, got {kind_of(joint.attributes.get('type'))}", "type"
            )
    _check_tree(links, joints)
    followed = _followed(joints, document.ignored)
    parts += [_joint(joint, document, followed) for joint in joints]
    document.text = "".join((root.written("name")[:-2], ">", *parts, "</robot>"))
    return document


def _list_ignored(element: Element, ignored: list[str]) -> None:
    """Lists the attributes and elements of an element that are not simulated.

    Raises:
        XmlError: A macro or an expression of xacro is not expanded.
    """
    attributes, children = _KNOWN[element.tag]
    for name, value in element.attributes.items():
        if "${" in value or "$(" in value:
            raise element.error("expected a value, got an expression of xacro; xacro makes a URDF of the file", name)
        if name not in attributes and name.partition(":")[0] != "xmlns":
            ignored.append(f"line {element.line}: attribute {_printed(name)} of {element.tag} is not simulated")
    for child in element.children:
        if child.tag in children:
            _list_ignored(child, ignored)
        elif child.tag.startswith("xacro:"):
            raise XmlError(f"line {child.line}: expected a URDF, got macros; xacro makes one of them")
        elif child.tag not in _OTHER_PROGRAMS | {*_OTHER_SIMULATORS} and element.tag != "geometry":
            ignored.append(f"line {child.line}: {_printed(child.tag)} in {element.tag} is not simulated")


def _lines(element: Element, tag: str) -> list[int]:
    """Returns the lines of the elements of a tag among the children of an element and of those that count."""
    found = []
    for child in element.children:
        found += [child.line] if child.tag == tag else _lines(child, tag) if child.tag in _KNOWN[element.tag][1] else []
    return found


def _printed(name: str) -> str:
    return name if _TAG.fullmatch(name) else "an element of another name"


# --- links -------------------------------------------------------------------------------------------------------


def _origin(element: Element) -> str:
    origin = element.one("origin")
    if origin is None:
        return ""
    origin.numbers("xyz", 3, "0 0 0")
    origin.numbers("rpy", 3, "0 0 0")
    return origin.written("xyz", "rpy")


def _link(link: Element, document: UrdfDocument) -> str:
    """Returns a link as XML for Pinocchio; writes its shapes to the document."""
    name = link.name()
    if name in document.shapes:
        raise link.error("expected a name that no other link has, got one twice", "name")
    inertial = link.one("inertial")
    parts = [] if inertial is None else [_inertial(inertial, document)]
    document.shapes[name] = []
    for collision in link.all("collision"):
        document.shapes[name].append(_shape(collision.required("geometry")))
        parts.append(f'<collision>{_origin(collision)}<geometry><box size="1 1 1"/></geometry></collision>')
    return f"{link.written('name')[:-2]}>{''.join(parts)}</link>"


def _read_colors(root: Element, links: list[Element], document: UrdfDocument) -> None:
    """Reads the colours of the links; an invalid colour is listed as ignored, since other programs may support it."""
    materials = {one.attributes.get("name", ""): one for one in root.all("material")}
    for link in links:
        visuals = [material for visual in link.all("visual") for material in visual.all("material")]
        for given in visuals[:1]:
            named = given if given.all("color") else materials.get(given.attributes.get("name", ""), given)
            try:
                for color in named.all("color")[:1]:
                    red, green, blue, opacity = color.numbers("rgba", 4, minimum=0.0, largest=1.0)
                    if opacity > 0.0:
                        document.colors[link.name()] = (red, green, blue, opacity)
            except XmlError as error:
                document.ignored.append(str(error))


def _inertial(inertial: Element, document: UrdfDocument) -> str:
    mass, inertia = inertial.required("mass"), inertial.required("inertia")
    mass.number("value", minimum=0.0)
    xx, yy, zz = (inertia.number(name, minimum=ROUNDED_ZERO) for name in ("ixx", "iyy", "izz"))
    xy, xz, yz = (inertia.number(name) for name in ("ixy", "ixz", "iyz"))
    moments = np.linalg.eigvalsh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    if moments[2] > (1.0 + ROUNDED_DIGITS) * (moments[0] + moments[1]) + 1e-15:  # or moments[0] is negative
        document.ignored.append(f"line {inertia.line}: no rigid body has this inertia")
    names = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
    return f"<inertial>{_origin(inertial)}{mass.written('value')}{inertia.written(*names)}</inertial>"


def _shape(geometry: Element) -> Shape | UrdfMesh:
    if len(geometry.children) != 1 or geometry.children[0].tag not in _KNOWN["geometry"][1]:
        kinds = ", ".join(sorted(_KNOWN["geometry"][1]))
        raise geometry.error(f"expected one of {kinds}, got {kind_of(geometry.children)} elements")
    shape = geometry.children[0]
    try:
        if shape.tag == "box":
            return Box(shape.numbers("size", 3))  # type: ignore[arg-type]
        if shape.tag == "sphere":
            return Sphere(shape.number("radius"))
        if shape.tag == "cylinder":
            return Cylinder(shape.number("radius"), shape.number("length"))
        if shape.tag == "capsule":
            return Capsule(shape.number("radius"), shape.number("length"))
    except XmlError:
        raise
    except ValueError as error:  # a size that is not above 0
        raise XmlError(f"line {shape.line}: {error}") from None
    scale = shape.numbers("scale", 3, "1 1 1")
    if 0.0 in scale:
        raise shape.error("expected 3 numbers other than 0, got a 0", "scale")
    filename = shape.attributes.get("filename", "")
    if not filename or "\0" in filename:
        raise shape.error("expected the path of a mesh, got none", "filename")
    return UrdfMesh(filename, scale, shape.line)


# --- joints ------------------------------------------------------------------------------------------------------


def _check_tree(links: list[Element], joints: list[Element]) -> None:
    """Checks that joints connect the links to one tree.

    Raises:
        XmlError: the joints do not.
    """
    names = {link.name() for link in links}
    parent_of: dict[str, str] = {}
    taken: set[str] = {"universe"}  # Pinocchio's name of the world
    for joint in joints:
        if joint.name() in taken:
            raise joint.error("expected a name that no other joint has and that is not universe", "name")
        taken.add(joint.name())
        parent, child = joint.required("parent"), joint.required("child")
        for end in (parent, child):
            if end.name("link") not in names:
                raise end.error("expected the name of a link, got that of none", "link")
        if child.name("link") in parent_of:
            raise child.error("expected a link that no other joint moves, got one that has a parent", "link")
        parent_of[child.name("link")] = parent.name("link")
    reached = names - parent_of.keys()
    if len(reached) > 1:
        second = [link for link in links if link.name() in reached][1]
        raise second.error("expected one link that no joint moves, the root, got a second")
    children: dict[str, list[str]] = {}
    for below, above in parent_of.items():
        children.setdefault(above, []).append(below)
    level = list(reached)
    while level:
        level = [below for above in level for below in children.get(above, [])]
        reached |= set(level)
    for link in links:
        if link.name() not in reached:
            raise link.error("expected a tree of links, got a loop of joints that it is in")


def _followed(joints: list[Element], ignored: list[str]) -> set[str]:
    """Returns the names of the joints with mimic, and of those that they follow; ignores the mimic of a fixed joint.

    Raises:
        XmlError: the other joint has not one coordinate, or the joints form a loop.
    """
    usable = {
        joint.name() for joint in joints if joint.attributes.get("type") in ("revolute", "continuous", "prismatic")
    }
    leads: dict[str, str] = {}
    for joint in joints:
        mimic = joint.one("mimic")
        if mimic is None:
            continue
        if joint.attributes["type"] == "fixed":
            ignored.append(f"line {mimic.line}: mimic of a fixed joint is not simulated")
            continue
        if not {joint.name(), mimic.name("joint")} <= usable:
            raise mimic.error("expected two joints that are revolute, continuous or prismatic", "joint")
        leads[joint.name()] = mimic.name("joint")
        at: str | None = leads[joint.name()]
        while at is not None and at != joint.name():
            at = leads.get(at)
        if at is not None:
            raise mimic.error("expected another joint, that does not follow this one, got a loop", "joint")
    return leads.keys() | set(leads.values())


def _joint(joint: Element, document: UrdfDocument, followed: set[str]) -> str:
    """Returns a joint as XML for Pinocchio; writes its other values to the document.

    A continuous joint with mimic becomes a revolute one without limits, whose coordinate is its angle.
    """
    name, kind = joint.name(), joint.attributes["type"]
    parts = [_origin(joint), joint.required("parent").written("link"), joint.required("child").written("link")]
    if kind != "fixed":
        friction, damping = _dynamics(joint, kind, document)
        effort, velocity, limit = _limit(joint, kind, document, name in followed)
        document.joints[name] = UrdfJoint(name, friction, effort, velocity, _mimic(joint))
        parts += [_axis(joint, kind), limit, damping]
    if kind == "continuous" and name in followed:
        kind = "revolute"
    return f"{joint.written('name', type=kind)[:-2]}>{''.join(parts)}</joint>"


def _axis(joint: Element, kind: str) -> str:
    axis = joint.one("axis")
    values = (1.0, 0.0, 0.0) if axis is None else axis.numbers("xyz", 3)
    if not 1e-6 < math.hypot(*values) < 1e6:
        raise (axis or joint).error("expected a vector that is not 0, such as 0 0 1", "xyz")
    if kind == "planar" and (values[0] or values[1] or values[2] < 0.0):
        raise (axis or joint).error("expected 0 0 1 for a planar joint; the origin's rpy turns its plane", "axis")
    return "" if axis is None else axis.written("xyz")


def _dynamics(joint: Element, kind: str, document: UrdfDocument) -> tuple[float, str]:
    """Returns friction, and the damping as XML for Pinocchio."""
    dynamics = joint.one("dynamics")
    if dynamics is None:
        return 0.0, ""
    friction, damping = (dynamics.number(name, "0", minimum=0.0) for name in ("friction", "damping"))
    if kind in ("floating", "planar"):
        if friction or damping:
            document.ignored.append(f"line {dynamics.line}: dynamics of a {kind} joint are not simulated")
        return 0.0, ""
    return friction, dynamics.written("damping") if "damping" in dynamics.attributes else ""


def _limit(joint: Element, kind: str, document: UrdfDocument, followed: bool) -> tuple[float, float, str]:
    """Returns limits of effort and velocity, and all limits as XML for Pinocchio."""
    limit = joint.one("limit")
    if limit is None:
        if kind in ("revolute", "prismatic"):
            raise joint.error(f"expected a limit with effort and velocity in a {kind} joint, got none")
        if kind != "continuous" or not followed:
            return math.inf, math.inf, ""
        limit = Element("limit", {}, joint.line)
    missing = None if kind in ("revolute", "prismatic") else UNLIMITED
    effort, velocity = (limit.number(n, missing, minimum=0.0, largest=math.inf) for n in ("effort", "velocity"))
    lower, upper = (limit.number(name, "0", largest=math.inf) for name in ("lower", "upper"))
    effort, velocity = (value if value < float(UNLIMITED) else math.inf for value in (effort, velocity))
    if lower > upper:
        raise limit.error(f"expected lower up to upper, got {lower:g} and {upper:g}")
    if kind in ("floating", "planar"):
        document.ignored.append(f"line {limit.line}: limit of a {kind} joint is not simulated")
        return math.inf, math.inf, ""
    given = {name: limit.attributes.get(name, UNLIMITED) for name in ("effort", "velocity")}
    if kind == "continuous":
        if lower or upper:
            document.ignored.append(f"line {limit.line}: lower and upper of a continuous joint are not simulated")
        bounds = {"lower": f"-{UNLIMITED}", "upper": UNLIMITED} if followed else {}
        return effort, velocity, limit.written(**given, **bounds)
    return effort, velocity, limit.written("lower", "upper", **given)


def _mimic(joint: Element) -> tuple[str, float, float] | None:
    mimic = joint.one("mimic")
    if mimic is None:
        return None
    multiplier, offset = mimic.number("multiplier", "1"), mimic.number("offset", "0")
    if multiplier == 0.0:
        raise mimic.error("expected a number other than 0; a fixed joint does not move", "multiplier")
    return mimic.name("joint"), multiplier, offset
