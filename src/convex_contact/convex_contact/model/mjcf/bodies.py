"""Bodies: the tree of the file with frames, joints, geoms and sites."""

from __future__ import annotations

from dataclasses import dataclass, field

import pinocchio as pin

from convex_contact.model.mjcf.defaults import Defaults
from convex_contact.model.mjcf.document import MjcfDocument, flag, walk
from convex_contact.model.mjcf.geoms import MjcfGeom, read_geom
from convex_contact.model.mjcf.inertia import body_inertia
from convex_contact.model.mjcf.joints import MjcfJoint, read_joint
from convex_contact.model.mjcf.meshes import MjcfMesh, read_assets
from convex_contact.model.mjcf.settings import Compiler, Options
from convex_contact.model.xml_document import Element, XmlError

#: largest number of bodies
MAX_BODIES = 1000
#: name of the body of the world
WORLD = "world"


@dataclass(eq=False)
class MjcfBody:
    """A body.

    Attributes:
        element: XML element of the body.
        name: unique.
        parent: its parent; None for the world.
        pose: in the parent's frame.
        joints: in their order.
        geoms: in their order.
        inertia: in the body's frame.
        mocap: the body moves as commanded.
        root: body of which this one is a rigid part: itself if it has joints, is commanded or is the world, else that
            of its parent.
        offset: pose of this body in the root's frame.
    """

    element: Element
    name: str
    parent: MjcfBody | None
    pose: pin.SE3
    joints: list[MjcfJoint] = field(default_factory=list)
    geoms: list[MjcfGeom] = field(default_factory=list)
    inertia: pin.Inertia = field(default_factory=pin.Inertia.Zero)
    mocap: bool = False

    def __post_init__(self) -> None:
        self.root: MjcfBody = self
        self.offset = pin.SE3.Identity()

    @property
    def static(self) -> bool:
        """The body is fixed to the world."""
        return self.root.parent is None

    @property
    def moved(self) -> bool:
        """Joints move the body."""
        return bool(self.root.joints)


@dataclass
class MjcfModel:
    """The bodies of a file.

    Attributes:
        bodies: in the order of MuJoCo's numbers, the first is the world.
        body: by name.
        joint: by name, in the order of MuJoCo's numbers.
        geom: by name, only geoms with a name.
        sites: body and pose in its frame by name.
    """

    bodies: list[MjcfBody] = field(default_factory=list)
    body: dict[str, MjcfBody] = field(default_factory=dict)
    joint: dict[str, MjcfJoint] = field(default_factory=dict)
    geom: dict[str, MjcfGeom] = field(default_factory=dict)
    sites: dict[str, tuple[MjcfBody, pin.SE3]] = field(default_factory=dict)


def read_bodies(document: MjcfDocument, defaults: Defaults, compiler: Compiler, options: Options) -> MjcfModel:
    """Reads the bodies of a file.

    Raises:
        XmlError: a body is wrong.
    """
    worlds = document.sections["worldbody"]
    if not worlds:
        raise XmlError("expected a worldbody, got none")
    count = sum(element.tag == "body" for world in worlds for element in walk(world))
    if count > MAX_BODIES:
        raise worlds[0].error(f"expected {MAX_BODIES} bodies at the most, got {count}")
    return _Reader(document, defaults, compiler, options).model


class _Reader:
    """Reads the bodies of a file into `model`."""

    def __init__(self, document: MjcfDocument, defaults: Defaults, compiler: Compiler, options: Options) -> None:
        self.model = MjcfModel()
        self._defaults, self._compiler, self._options, self._notes = defaults, compiler, options, document.notes
        worlds = document.sections["worldbody"]
        self._taken = {"body": _names(worlds, "body"), "joint": _names(worlds, "joint", "freejoint")}
        self._meshes = self._read_meshes(document, worlds)
        world = MjcfBody(worlds[0], WORLD, None, pin.SE3.Identity())
        self._add_body(world)
        for element in worlds:
            self._read_children(world, element, pin.SE3.Identity(), None)
        for body in self.model.bodies:
            body.inertia = body_inertia(body.element, body.geoms, self._compiler) if body.parent else body.inertia
        self._scale_masses()

    def _read_meshes(self, document: MjcfDocument, worlds: list[Element]) -> dict[str, MjcfMesh]:
        used: set[str] = set()
        for element in [*worlds, *document.sections.get("default", [])]:
            used |= {e.attributes["mesh"] for e in walk(element) if e.tag == "geom" and "mesh" in e.attributes}
        return read_assets(document, self._defaults, self._compiler, used)

    def _unique(self, kind: str, element: Element) -> str:
        """Returns the name of an element, or makes one for it."""
        if "name" in element.attributes:
            return element.name()
        known = self.model.body if kind == "body" else self.model.joint
        number = len(known)
        while f"{kind}_{number}" in self._taken[kind] or f"{kind}_{number}" in known:
            number += 1
        return f"{kind}_{number}"

    def _add_body(self, body: MjcfBody) -> None:
        if body.name in self.model.body:
            raise body.element.error("expected a name that no other body has and that is not world", "name")
        self.model.bodies.append(body)
        self.model.body[body.name] = body

    def _read_children(self, body: MjcfBody, element: Element, frame: pin.SE3, childclass: str | None) -> None:
        """Reads the elements of a body or of a frame in it.

        Args:
            body: the body.
            element: of the body or the frame.
            frame: pose of the frame in the body.
            childclass: class of elements that name none.

        Raises:
            XmlError: an element is wrong.
        """
        for child in element.children:
            if child.tag == "frame":
                pose = frame * self._compiler.pose(child)
                self._read_children(body, child, pose, self._defaults.check(child, "childclass") or childclass)
            elif child.tag == "body":
                self._read_body(child, body, frame, childclass)
            elif child.tag in ("joint", "freejoint"):
                self._read_joint(body, child, frame, childclass)
            elif child.tag == "geom":
                resolved = self._defaults.resolved(child, childclass)
                geom = read_geom(resolved, self._compiler, self._meshes, self._notes)
                geom.pose = frame * geom.pose
                body.geoms.append(geom)
                if geom.name and self.model.geom.setdefault(geom.name, geom) is not geom:
                    raise child.error("expected a name that no other geom has, got one twice", "name")
            elif child.tag == "site" and "name" in child.attributes:
                resolved = self._defaults.resolved(child, childclass)
                if child.name() in self.model.sites:
                    raise child.error("expected a name that no other site has, got one twice", "name")
                self.model.sites[child.name()] = body, frame * self._compiler.pose(resolved)

    def _read_body(self, element: Element, parent: MjcfBody, frame: pin.SE3, childclass: str | None) -> None:
        name = self._unique("body", element)
        body = MjcfBody(element, name, parent, frame * self._compiler.pose(element))
        body.mocap = flag(element, "mocap", False)
        own = self._defaults.check(element, "childclass") or childclass
        self._add_body(body)
        moving = any(child.tag in ("joint", "freejoint") for child in _in_frames(element))
        if body.mocap:
            if parent.parent is not None or moving:
                raise element.error("expected a body of the world without joints", "mocap")
        elif not moving:
            body.root, body.offset = parent.root, parent.offset * body.pose
        if moving and parent.root.mocap:
            raise element.error("expected no joints in a mocap body, they are not supported")
        self._read_children(body, element, pin.SE3.Identity(), own)

    def _read_joint(self, body: MjcfBody, element: Element, frame: pin.SE3, childclass: str | None) -> None:
        resolved = element if element.tag == "freejoint" else self._defaults.resolved(element, childclass)
        name = self._unique("joint", element)
        joint = read_joint(resolved, name, self._compiler, self._options)
        joint.anchor, joint.axis = frame * joint.anchor, frame.rotation @ joint.axis
        if self.model.joint.setdefault(name, joint) is not joint:
            raise element.error("expected a name that no other joint has, got one twice", "name")
        body.joints.append(joint)
        kinds = [each.kind for each in body.joints]
        if "free" in kinds and (len(kinds) > 1 or body.parent is None or body.parent.parent is not None):
            raise element.error("expected a free joint alone in a body of the world, got another place")
        if kinds.count("ball") and kinds.index("ball") < len(kinds) - 1 and joint.kind in ("ball", "hinge"):
            raise element.error("expected no joint that rotates after a ball joint of the body, got one")

    def _scale_masses(self) -> None:
        """Scales masses and inertias to the total mass that the compiler gives."""
        mass, wanted = sum(body.inertia.mass for body in self.model.bodies), self._compiler.settotalmass
        if wanted > 0.0 and mass > 0.0:
            for body in self.model.bodies:
                if body.inertia.mass > 0.0:
                    body.inertia = pin.Inertia(
                        body.inertia.mass * wanted / mass, body.inertia.lever, body.inertia.inertia * wanted / mass
                    )


def _in_frames(element: Element) -> list[Element]:
    """Returns the elements of a body and of the frames in it."""
    found: list[Element] = []
    for child in element.children:
        found += _in_frames(child) if child.tag == "frame" else [child]
    return found


def _names(worlds: list[Element], *tags: str) -> set[str]:
    """Returns the names of all elements with one of the tags."""
    found = (element for world in worlds for element in walk(world) if element.tag in tags)
    return {element.attributes["name"] for element in found if "name" in element.attributes}
