"""Bodies of a file as bodies and articulated trees of a world.

A free body without moving parts is a free body of the world. All other bodies that joints move belong to articulated
trees, one for each child of the world that moves, or one for several of them that tendons or equalities couple. A body
with several joints is a chain of links without mass, which are named `<body>/<joint>`. Bodies without joints are rigid
parts of their parent; those fixed to the world are fixed bodies.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import pinocchio as pin

from convex_contact.model.bodies import ArticulatedTree
from convex_contact.model.joints import JointFriction
from convex_contact.model.materials import Material
from convex_contact.model.mjcf.bodies import MjcfBody, MjcfModel
from convex_contact.model.mjcf.contacts import Contacts, material_of
from convex_contact.model.mjcf.geoms import MjcfGeom
from convex_contact.model.mjcf.inertia import total
from convex_contact.model.mjcf.joints import MjcfJoint
from convex_contact.model.tree_arrays import MAX_VELOCITIES
from convex_contact.model.world import Body, Geometry, KinematicTree, Pose, World, WorldError

#: least eigenvalue of a mass matrix relative to its greatest
LEAST_INERTIA = 1e-12


@dataclass
class WorldIndices:
    """Numbers that the parts of a file have in the world.

    Attributes:
        body: number of a root body in the world.
        free: free bodies of the world, by root.
        joint: number of the tree and Pinocchio's joint, by joint; for a free joint with a spring or a rotor the first
            of its four joints.
        shapes: geoms of a body of the world, in the order of its geometries.
        fixed: number of a fixed body in the world, by body.
    """

    body: dict[MjcfBody, int] = field(default_factory=dict)
    free: set[MjcfBody] = field(default_factory=set)
    joint: dict[MjcfJoint, tuple[int, int]] = field(default_factory=dict)
    shapes: dict[int, list[MjcfGeom]] = field(default_factory=dict)
    fixed: dict[MjcfBody, int] = field(default_factory=dict)


class Builder:
    """Adds the bodies of a file to a world.

    Args:
        model: bodies.
        contacts: rules that decide which geoms have a shape.
        material: of the surfaces, except for their friction.
        world: the world.

    Attributes:
        indices: numbers of the parts in the world.
    """

    def __init__(self, model: MjcfModel, contacts: Contacts, material: Material, world: World) -> None:
        self._model, self._contacts, self._material, self._world = model, contacts, material, world
        self.indices = WorldIndices()
        self._members: dict[MjcfBody, list[MjcfBody]] = {}
        for body in model.bodies:
            self._members.setdefault(body.root, []).append(body)

    def build(self, coupled: list[list[MjcfJoint]]) -> None:
        """Adds all bodies.

        Args:
            coupled: groups of joints that must be in one tree.

        Raises:
            XmlError: a shape or an inertia is wrong.
        """
        for body in self._model.bodies:
            if body.static and any(self._contacts.has_shape(geom) for geom in body.geoms):
                self.fixed(body)
            elif body.mocap:
                self._add(body, prescribed=True)
        for group in self._groups(coupled):
            if len(group) == 1 and self._is_free(group[0]):
                self._add_free(group[0])
            else:
                self._add_tree(group)

    def fixed(self, body: MjcfBody) -> int:
        """Returns the number of a fixed body; adds the body if it is missing."""
        if body not in self.indices.fixed:
            shapes = [geom for geom in body.geoms if self._contacts.has_shape(geom)]
            pose = Pose.from_se3(body.offset)
            number = self._world.add_body(
                body.name, geometries=[self._geometry(geom, geom.pose) for geom in shapes], fixed=True,
                position=pose.position, orientation=pose.orientation,
            )  # fmt: skip
            self.indices.fixed[body] = number
            self.indices.shapes[number] = shapes
        return self.indices.fixed[body]

    def _geometry(self, geom: MjcfGeom, pose: pin.SE3) -> Geometry:
        surface = material_of(geom, self._material)
        return Geometry(geom.shape(), Pose.from_se3(pose), surface, color=geom.color)

    def _geometries(self, root: MjcfBody) -> tuple[list[MjcfGeom], list[Geometry]]:
        """Returns the geoms with a shape of all parts of a root body, and their geometries."""
        geoms, geometries = [], []
        for body in self._members[root]:
            for geom in body.geoms:
                if not self._contacts.has_shape(geom):
                    continue
                if geom.kind == "plane" and not root.mocap:
                    raise geom.element.error("expected a plane in a body that joints do not move", "type")
                geoms.append(geom)
                geometries.append(self._geometry(geom, body.offset * geom.pose))
        return geoms, geometries

    def _inertia(self, root: MjcfBody) -> pin.Inertia:
        return total([body.offset.act(body.inertia) for body in self._members[root] if body.inertia.mass > 0.0])

    def _groups(self, coupled: list[list[MjcfJoint]]) -> list[list[MjcfBody]]:
        """Returns the bodies that joints move, grouped by tree, in the order of the file."""
        leader: dict[MjcfBody, MjcfBody] = {}

        def first(body: MjcfBody) -> MjcfBody:
            while leader[body] is not body:
                body = leader[body]
            return body

        owner: dict[MjcfJoint, MjcfBody] = {}
        for body in self._model.bodies:
            if body.joints:
                above = body.parent.root if body.parent else body
                leader[body] = first(above) if above.joints else body
                owner |= dict.fromkeys(body.joints, body)
        order = {body: i for i, body in enumerate(leader)}
        for joints in coupled:
            ends = sorted((first(owner[joint]) for joint in joints), key=order.__getitem__)
            for end in ends:
                leader[end] = ends[0]
        groups: dict[MjcfBody, list[MjcfBody]] = {}
        for body in leader:
            groups.setdefault(first(body), []).append(body)
        return list(groups.values())

    def _add(self, root: MjcfBody, **options: object) -> None:
        geoms, geometries = self._geometries(root)
        pose = Pose.from_se3(root.pose)
        number = self._world.add_body(
            root.name, geometries=geometries, position=pose.position, orientation=pose.orientation, **options,  # type: ignore[arg-type]
        )  # fmt: skip
        self.indices.body[root], self.indices.shapes[number] = number, geoms

    def _is_free(self, body: MjcfBody) -> bool:
        joint = body.joints[0]
        return joint.kind == "free" and not (joint.armature or joint.damping or joint.stiffness)

    def _add_free(self, root: MjcfBody) -> None:
        inertia = self._inertia(root)
        if not (inertia.mass > 0.0 and np.linalg.eigvalsh(inertia.inertia)[0] > 0.0):
            raise root.element.error("expected a mass and an inertia above 0, as its joint moves it, got none")
        try:
            self._add(root, mass=inertia.mass, inertia=inertia.inertia, center=inertia.lever)
        except WorldError:
            raise root.element.error("expected an inertia of a rigid body, got another one") from None
        self.indices.free.add(root)

    # --- trees -----------------------------------------------------------------------------------------------

    def _add_tree(self, bodies: list[MjcfBody]) -> None:
        """Adds a tree of bodies that joints move."""
        tree, model = len(self._world.trees), pin.Model()
        model.gravity.linear = self._world.gravity
        joints: list[tuple[MjcfBody, MjcfJoint, int]] = []
        for body in bodies:
            self._add_joints(model, body, joints, tree)
        if model.nv > MAX_VELOCITIES:
            raise bodies[0].element.error(
                f"expected joints with {MAX_VELOCITIES} velocities at the most in a tree, got {model.nv}"
            )
        values = _Values(model)
        for _, joint, index in joints:
            values.add(joint, index)
        for body in bodies:
            values.place_free(body, self.indices.joint[body.joints[0]][1])
        made = ArticulatedTree(
            model=model,
            link_joints=list(range(1, model.njoints)),
            damping=values.damping,
            stiffness=values.stiffness,
            rest=values.rest,
            armature=values.armature,
        )
        self._check_mass(made, values.q, bodies)
        numbers = self._add_links(bodies, model, tree)
        laws = [JointFriction(tree, joint.name, joint.friction) for _, joint, _ in joints if joint.friction]
        state = values.q, np.zeros(model.nv), numbers
        self._world.trees.append(KinematicTree(bodies[0].name, made, *state, {}, own_laws=list(laws)))
        self._world.joint_laws += laws

    def _add_joints(
        self, model: pin.Model, body: MjcfBody, joints: list[tuple[MjcfBody, MjcfJoint, int]], tree: int
    ) -> None:
        """Adds the joints of a body to a model of Pinocchio."""
        above = body.parent
        assert above is not None
        parent, pose = 0, above.offset * body.pose
        if above.root.joints:
            last = above.root.joints[-1]
            parent = self.indices.joint[last][1] + (3 if _is_split(last) else 0)
            pose = pin.SE3(np.eye(3), -last.anchor) * pose
        for joint in body.joints:
            if model.existJointName(joint.name):
                raise joint.element.error("expected a name other than universe", "name")
            first, parent = _add_joint(model, parent, pose * pin.SE3(np.eye(3), joint.anchor), joint)
            self.indices.joint[joint] = tree, first
            joints.append((body, joint, first))
            pose = pin.SE3(np.eye(3), -joint.anchor)
        inertia = self._inertia(body)
        if inertia.mass > 0.0:
            model.appendBodyToJoint(parent, pose.act(inertia), pin.SE3.Identity())

    def _add_links(self, bodies: list[MjcfBody], model: pin.Model, tree: int) -> list[int]:
        """Adds the bodies of the links to the world; returns their numbers."""
        numbers = []
        for body in bodies:
            names = [name for joint in body.joints for name in _names(joint)]
            geoms, geometries = self._geometries(body)
            for i, name in enumerate(names):
                last = i == len(names) - 1
                link = Body(
                    body.name if last else f"{body.name}/{name}", "link", geometries if last else [], tree=tree,
                    link=model.getJointId(name) - 1, center=body.joints[-1].anchor.copy() if last else np.zeros(3),
                )  # fmt: skip
                numbers.append(self._world._append(link))
            self.indices.body[body], self.indices.shapes[numbers[-1]] = numbers[-1], geoms
        return numbers

    def _check_mass(self, tree: ArticulatedTree, q: np.ndarray, bodies: list[MjcfBody]) -> None:
        """Checks that every joint moves mass.

        Raises:
            XmlError: a joint does not.
        """
        masses = [inertia.mass for inertia in tree.model.inertias]
        for i in range(tree.model.njoints - 1, 0, -1):
            masses[tree.model.parents[i]] += masses[i]
        for body in bodies:
            for joint in body.joints:
                if not joint.armature and not masses[self.indices.joint[joint][1]] > 0.0:
                    raise joint.element.error("expected a joint that moves mass, got one that moves none")
        moments = np.linalg.eigvalsh(tree.mass_matrix(q))
        if not moments[0] > max(LEAST_INERTIA * moments[-1], 1e-18):  # NaN, too
            raise bodies[0].element.error("expected joints that move mass and inertia, got one that moves too little")


class _Values:
    """Springs, dampers, rotors and coordinates of the joints of a model of Pinocchio.

    Attributes:
        q, rest: coordinates at the start, and those at which springs are at rest (nq,).
        damping, stiffness, armature: (nv,).
    """

    def __init__(self, model: pin.Model) -> None:
        self._model = model
        self.q, self.rest = np.asarray(pin.neutral(model)), np.asarray(pin.neutral(model))
        self.damping, self.stiffness, self.armature = np.zeros(model.nv), np.zeros(model.nv), np.zeros(model.nv)

    def add(self, joint: MjcfJoint, index: int) -> None:
        """Copies the values of a joint."""
        for i in range(index, index + len(_names(joint))):
            made = self._model.joints[i]
            part = slice(made.idx_v, made.idx_v + made.nv)
            self.damping[part], self.stiffness[part] = joint.damping, joint.stiffness
            self.armature[part] = joint.armature
            if joint.scalar:
                self.q[made.idx_q], self.rest[made.idx_q] = joint.ref, joint.springref

    def place_free(self, body: MjcfBody, index: int) -> None:
        """Sets the coordinates of a free joint to the pose of its body."""
        if body.joints[0].kind == "free":
            i, j = self._model.joints[index].idx_q, len(self.q)
            pose = pin.SE3ToXYZQUAT(body.pose)
            for q in (self.q, self.rest):
                q[i : min(i + 7, j)] = pose


def _is_split(joint: MjcfJoint) -> bool:
    """Returns whether a free joint is split into three slides and a ball, so that its velocity is along world axes."""
    return joint.kind == "free" and bool(joint.armature or joint.stiffness)


def _names(joint: MjcfJoint) -> list[str]:
    """Returns the names of Pinocchio's joints for a joint."""
    return [*(f"{joint.name}/{axis}" for axis in "xyz"), joint.name] if _is_split(joint) else [joint.name]


def _add_joint(model: pin.Model, parent: int, pose: pin.SE3, joint: MjcfJoint) -> tuple[int, int]:
    """Adds a joint with its anchor at a pose in its parent; returns the numbers of its first and last joint."""
    if joint.kind == "ball":
        index = model.addJoint(parent, pin.JointModelSpherical(), pose, joint.name)
        return index, index
    if joint.kind == "free":
        if not _is_split(joint):
            index = model.addJoint(parent, pin.JointModelFreeFlyer(), pin.SE3.Identity(), joint.name)
            return index, index
        slides = (pin.JointModelPX(), pin.JointModelPY(), pin.JointModelPZ())
        indices = []
        for slide, name in zip((*slides, pin.JointModelSpherical()), _names(joint), strict=True):
            parent = model.addJoint(parent, slide, pin.SE3.Identity(), name)
            indices.append(parent)
        for i in indices[:3]:
            model.lowerPositionLimit[model.joints[i].idx_q] = -math.inf
            model.upperPositionLimit[model.joints[i].idx_q] = math.inf
        return indices[0], indices[-1]
    if joint.kind == "hinge":
        pose = pose * pin.SE3(pin.AngleAxis(-joint.ref, joint.axis).matrix(), np.zeros(3))
        kind = pin.JointModelRevoluteUnaligned(joint.axis)
    else:
        pose = pose * pin.SE3(np.eye(3), -joint.ref * joint.axis)
        kind = pin.JointModelPrismaticUnaligned(joint.axis)
    infinite, bounds = np.array([math.inf]), [np.array([limit]) for limit in joint.limits]
    index = model.addJoint(parent, kind, pose, joint.name, infinite, infinite, *bounds)
    return index, index
