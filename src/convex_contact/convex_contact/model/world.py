"""Description of a world: bodies, shapes, materials, pairs. It does not change in a simulation.

    >>> w = World()
    >>> ground = w.add_half_space("ground", material=Material(friction=0.8))
    >>> ball = w.add_sphere("ball", mass=0.5, radius=0.025, position=(0, 0, 0.1))

:class:`~convex_contact.simulation.dynamics.WorldDynamics` makes the arrays of a simulation from it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pinocchio as pin

from convex_contact.model import body_joints
from convex_contact.model.body import (
    Body,
    Geometry,
    KinematicTree,
    Motion,
    Pose,
    Vector,
    WorldError,
    checked_geometries,
    checked_motion,
    give_mass,
    give_springs,
    made,
    vector,
)
from convex_contact.model.body import Drive as Drive
from convex_contact.model.joints import Controller, JointActuator, JointCoupler, JointLaw, JointMotion
from convex_contact.model.materials import Material, PairLaw
from convex_contact.model.motors import add_motor, kind_of_several
from convex_contact.model.names import number_of, unknown_name
from convex_contact.model.shapes import Box, Capsule, Cylinder, HalfSpace, Hull, Shape, Sphere
from convex_contact.model.weld import Weld

if TYPE_CHECKING:
    from convex_contact.model.corotational import TetrahedralMesh


class World:
    """Bodies, their surfaces, and the rules of contact between them.

    Args:
        gravity: (3,) [m/s^2].

    Attributes:
        bodies: by number; ``add_*`` returns the number.
        trees: articulated trees.
        joint_laws: motions, actuators, couplers and friction of their joints.
        controllers: other sources of rows of every step's problem (:class:`~convex_contact.model.joints.Controller`).
        pair_laws: combined values that are set, by pair of body numbers (smaller first).
        disabled: pairs of body numbers (smaller first) that do not collide.
        disabled_geometries: pairs of geometries that do not collide, as body number and index in `Body.geometries`.
        period: length of a step in the world's file [s]; None: the file gives none.

    Examples:
        >>> from convex_contact import World
        >>> world = World()
        >>> world.bodies[world.add_sphere("ball", mass=1.0, radius=0.1)].inertia.diagonal().round(6).tolist()
        [0.004, 0.004, 0.004]
    """

    def __init__(self, gravity: Vector = (0.0, 0.0, -9.81)) -> None:
        self.bodies: list[Body] = []
        self.trees: list[KinematicTree] = []
        self.gravity = vector(gravity, 3, "gravity")
        self.joint_laws: list[JointLaw] = []
        self.controllers: list[Controller] = []
        self.pair_laws: dict[tuple[int, int], PairLaw] = {}
        self.disabled: set[tuple[int, int]] = set()
        self.disabled_geometries: set[tuple[tuple[int, int], tuple[int, int]]] = set()
        self.period: float | None = None

    def __repr__(self) -> str:
        return f"World({_counted('body', self.bodies)}; {_counted('tree', self.trees)})"

    @property
    def gravity(self) -> np.ndarray:
        """Gravity (3,) [m/s^2] of simulators that are made afterwards."""
        return self._gravity

    @gravity.setter
    def gravity(self, gravity: Vector) -> None:
        self._gravity = vector(gravity, 3, "gravity")

    # --- bodies ----------------------------------------------------------------------------------------------

    def add_body(
        self,
        name: str,
        *,
        geometries: Sequence[Geometry] = (),
        mass: float | None = None,
        inertia: Any = None,
        center: Vector | None = None,
        position: Vector = (0.0, 0.0, 0.0),
        orientation: Vector = (0.0, 0.0, 0.0, 1.0),
        velocity: Vector = (0.0, 0.0, 0.0),
        angular_velocity: Vector = (0.0, 0.0, 0.0),
        fixed: bool = False,
        prescribed: bool = False,
        motion: Motion | None = None,
        spring_stiffness: float = 0.0,
        spring_damping: float = 0.0,
    ) -> int:
        """Adds a rigid body with any number of shapes.

        Args:
            name: unique.
            geometries: shapes of the body.
            mass: [kg]; needed for a free body.
            inertia: about the centre of mass, along the body's axes [kg m^2]: a number, (3,) or (3, 3). Default: the
                shapes as one solid of uniform density (overlaps count twice).
            center: centre of mass (3,) [m]; default as for the inertia.
            position: of the body's frame (3,) [m].
            orientation: quaternion (x, y, z, w), body to world.
            velocity: of the frame's origin (3,) [m/s].
            angular_velocity: (3,) [rad/s], in the world frame.
            fixed: the body does not move.
            prescribed: it moves with a velocity that is set before each step.
            motion: its twist as a function of time; makes it prescribed.
            spring_stiffness: of a spring that pulls the frame's origin of a free body to `position` [N/m].
            spring_damping: of a damper parallel to it [N s/m]; both act implicitly.

        Returns:
            The body's number.

        Raises:
            WorldError: a value is missing or impossible.
        """
        if not isinstance(name, str):
            raise WorldError(f"name: expected a text, got {name!r}")
        placement = Pose.of(position, orientation, name)
        prescribed = prescribed or motion is not None
        if fixed and prescribed:
            raise WorldError(f"{name}: fixed: it cannot be fixed and prescribed at once")
        body = Body(
            name=name,
            kind="fixed" if fixed else "prescribed" if prescribed else "free",
            geometries=checked_geometries(name, geometries),
            placement=placement,
            velocity=vector(velocity, 3, f"{name}: velocity"),
            angular_velocity=vector(angular_velocity, 3, f"{name}: angular_velocity"),
            motion=checked_motion(name, motion),
        )
        if fixed and (body.velocity.any() or body.angular_velocity.any()):
            raise WorldError(f"{name}: velocity: a fixed body has none; prescribed=True lets it move as commanded")
        if body.kind == "free":
            give_mass(body, mass, inertia, center)
        give_springs(body, spring_stiffness=spring_stiffness, spring_damping=spring_damping)
        return self._append(body)

    def _append(self, *bodies: Body) -> int:
        """Adds all bodies or, if a name is empty or taken, none; returns the number of the first."""
        taken = {other.name for other in self.bodies}
        for body in bodies:
            if not body.name or body.name in taken:
                raise WorldError(f"name: {body.name!r} is empty or taken")
            taken.add(body.name)
        self.bodies += bodies
        return len(self.bodies) - len(bodies)

    def _add_shape(self, name: str, shape: Shape, material: Material | None, options: dict[str, Any]) -> int:
        hydroelastic = options.pop("hydroelastic", None)
        geometry = made(name, Geometry, shape, Pose(), Material() if material is None else material, hydroelastic)
        return self.add_body(name, geometries=[geometry], **options)

    def add_sphere(self, name: str, *, radius: float, material: Material | None = None, **body: Any) -> int:
        """Adds a sphere of a radius (m); other arguments as in :meth:`add_body`."""
        return self._add_shape(name, made(name, Sphere, radius), material, body)

    def add_box(self, name: str, *, size: Vector, material: Material | None = None, **body: Any) -> int:
        """Adds a box with sides (3,) (m); other arguments as in :meth:`add_body`."""
        return self._add_shape(name, made(name, Box, tuple(vector(size, 3, f"{name}: size"))), material, body)

    def add_cylinder(
        self, name: str, *, radius: float, length: float, material: Material | None = None, **body: Any
    ) -> int:
        """Adds a cylinder along its z axis (m); other arguments as in :meth:`add_body`."""
        return self._add_shape(name, made(name, Cylinder, radius, length), material, body)

    def add_capsule(
        self, name: str, *, radius: float, length: float, material: Material | None = None, **body: Any
    ) -> int:
        """Adds a capsule; length is that of its segment along z (m); other arguments as in :meth:`add_body`."""
        return self._add_shape(name, made(name, Capsule, radius, length), material, body)

    def add_hull(self, name: str, *, points: Any, material: Material | None = None, **body: Any) -> int:
        """Adds the convex hull of points (n, 3) (m), given in the body's frame; others as in :meth:`add_body`."""
        return self._add_shape(name, made(name, Hull, points), material, body)

    def add_mesh(self, name: str, path: str | Path, **options: Any) -> int:
        """Adds the convex hull of a mesh file, or its convex parts; see :func:`convex_contact.model.load.add_mesh`."""
        from convex_contact.model.load import add_mesh

        return add_mesh(self, name, path, **options)

    def add_half_space(
        self,
        name: str,
        *,
        point: Vector = (0.0, 0.0, 0.0),
        normal: Vector = (0.0, 0.0, 1.0),
        material: Material | None = None,
        prescribed: bool = False,
        motion: Motion | None = None,
    ) -> int:
        """Adds the half space behind a plane: a floor, a wall, or a belt if it is prescribed.

        Args:
            name: unique.
            point: on the plane (3,) [m].
            normal: outward normal (3,), of any length.
            material: of the surface.
            prescribed: it moves with a velocity that is set before each step.
            motion: its twist as a function of time.
        """
        n = vector(normal, 3, f"{name}: normal")
        if not np.linalg.norm(n) > 0:
            raise WorldError(f"{name}: normal: expected a vector that is not zero")
        rotation = pin.Quaternion.FromTwoVectors(np.array([0.0, 0.0, 1.0]), n / np.linalg.norm(n)).coeffs()
        pose = {"position": point, "orientation": rotation, "fixed": not (prescribed or motion is not None)}
        surface = [made(name, Geometry, HalfSpace(), Pose(), Material() if material is None else material)]
        return self.add_body(name, geometries=surface, prescribed=prescribed, motion=motion, **pose)

    def add_urdf(self, name: str, path: str | Path, **options: Any) -> int:
        """Adds an articulated tree; see :func:`convex_contact.model.urdf.add_urdf`. Returns the tree's number."""
        from convex_contact.model.urdf import add_urdf

        return add_urdf(self, name, path, **options)

    def add_deformable(self, name: str, mesh: TetrahedralMesh, **options: Any) -> int:
        """Adds a deformable body of corotational tetrahedra (`deformable`).

        Its tree's bodies are "name/mount", if vertices are attached, and "name/i" for each vertex i that can touch.

        Args:
            name: unique among the trees.
            mesh: at rest, in the body's frame.
            **options: `elasticity` (:class:`~convex_contact.model.corotational.Elasticity`); `contact`: numbers of the
                vertices that can touch shapes, default: all of the surface; `attached`: of those that move as the
                mount, default: none; `contact_radius` of the vertices [m]; `drawn`: triangles that pictures show;
                `material` of the surface; `position` (3,) [m] and `orientation`, quaternion (x, y, z, w), of the
                body's frame; `velocity` (3,) [m/s].

        Returns:
            The tree's number.

        Raises:
            WorldError: a value is wrong.
        """
        from convex_contact.model.deformable import add_deformable

        return add_deformable(self, name, mesh, **options)

    add_joint, add_gear = body_joints.add_joint, body_joints.add_gear

    def _joint(self, tree: int | str, *joints: str) -> tuple[int, str]:
        """Returns a tree's number and its name; checks that it has these joints, with one coordinate each."""
        number = number_of("tree", tree, self.trees)
        name, model = self.trees[number].name, self.trees[number].model.model
        known = [name for name, j in list(zip(model.names, model.joints, strict=True))[1:] if j.nq == j.nv == 1]
        for joint in joints:
            if joint not in known:
                raise unknown_name(f"{name}: joint", joint, known, "the joints of one coordinate")
        return number, name

    def _add_joint_law(self, kind: Callable[..., JointLaw], tree: int | str, *joints: str, **values: Any) -> None:
        number, name = self._joint(tree, *joints)
        try:
            if kind is JointActuator:
                values = self.trees[number].motor_limits(joints[0], values)
        except ValueError as error:
            raise WorldError(f"{name}: {joints[0]}: {error}") from None
        law = made(f"{name}: {joints[0]}", kind, number, *joints, **values)
        for only, word in ((JointMotion, "motion"), (JointActuator, "motor")):
            if isinstance(law, only) and any(
                isinstance(other, only) and (other.tree, other.joint) == (number, law.joint)
                for other in self.joint_laws
            ):
                raise WorldError(f"{name}: {law.joint}: expected one {word}, got a second")
        self.joint_laws.append(law)

    def move_joint(self, tree: int | str, joint: str, position: Callable[[float], float]) -> None:
        """Prescribes a joint's motion, whatever force this requires (:class:`~convex_contact.JointMotion`).

        Args:
            tree: number or name.
            joint: name of a joint with one coordinate.
            position: coordinate [m or rad] over time [s], such as a :class:`~convex_contact.Sinusoid`. The state at the
                start should fit: its error halves in each step.

        Raises:
            WorldError: there is no such joint, or it has a motion.
        """
        self._add_joint_law(JointMotion, tree, joint, position=position)

    def actuate_joint(self, tree: int | str | None, joint: str, **values: Any) -> None:
        """Adds a PD controller with an effort limit to a joint; values as in :class:`~convex_contact.JointActuator`.

        The limits of effort and velocity are by default those of the tree's file. With None for the tree the joint is a
        hinge, a slide or a ball of :meth:`add_joint`. A ball joint has the values and defaults of
        :class:`~convex_contact.BallActuator`, a planar one those of :class:`~convex_contact.PlanarActuator`.

        Raises:
            WorldError: there is no such joint, or a value is wrong.
        """
        if tree is None or kind_of_several(self, tree, joint):
            add_motor(self, None if tree is None else self._joint(tree)[0], joint, values)
        else:
            self._add_joint_law(JointActuator, tree, joint, **values)

    def couple_joints(
        self, tree: int | str, joint: str, other: str, *, ratio: float = 1.0, offset: float = 0.0
    ) -> None:
        """Keeps q = ratio q_other + offset (a gear) between two joints of a tree.

        Raises:
            WorldError: there is no such joint, or a value is wrong.
        """
        self._add_joint_law(JointCoupler, tree, joint, other, ratio=ratio, offset=offset)

    def weld(self, a: int | str, b: int | str, **values: Any) -> None:
        """Welds two bodies by springs; one is a link or a free body.

        Args:
            a: a body.
            b: another body.
            **values: of :class:`~convex_contact.model.weld.Weld`.

        Raises:
            WorldError: there is no such body, neither body can move, or a value is wrong.
        """
        i, j = self.number(a), self.number(b)
        if not {self.bodies[i].kind, self.bodies[j].kind} & {"free", "link"}:
            raise WorldError(f"{self.bodies[i].name}: a weld holds a body that can move")
        self.controllers.append(made(self.bodies[i].name, Weld, i, j, **values))

    @classmethod
    def load(cls, path: str | Path, **options: Any) -> World:
        """Loads the world of a file (URDF, YAML, MJCF, mesh) by its suffix; see :mod:`convex_contact.model.load`."""
        from convex_contact.model.load import load

        return load(path, **options)

    @classmethod
    def from_yaml(cls, path: str | Path) -> World:
        """Loads the world of a YAML file; see :mod:`convex_contact.model.world_file`."""
        from convex_contact.model.world_file import load_world

        return load_world(path)

    def to_yaml(self) -> str:
        """Returns this world as a YAML text."""
        from convex_contact.model.world_file import dump_world

        return dump_world(self)

    # --- pairs -----------------------------------------------------------------------------------------------

    def number(self, body: int | str) -> int:
        """Returns the number of a body given by number or name.

        Raises:
            WorldError: there is no such body.
        """
        return number_of("body", body, self.bodies)

    def _pair(self, a: int | str, b: int | str) -> tuple[int, int]:
        i, j = self.number(a), self.number(b)
        if i == j:
            raise WorldError(f"{self.bodies[i].name}: a body makes no pair with itself")
        return min(i, j), max(i, j)

    def set_pair(
        self,
        a: int | str,
        b: int | str,
        *,
        stiffness: float | None = None,
        dissipation: float | None = None,
        relaxation_time: float | None = None,
        friction: float | None = None,
        static_friction: float | None = None,
        stribeck_velocity: float | None = None,
        torsional_friction: float | None = None,
    ) -> None:
        """Sets combined values of a pair of bodies directly; other values follow the materials' rule.

        A second call for a pair replaces all values of the first.
        The values are those of :class:`~convex_contact.model.materials.PairLaw`.
        """
        self.pair_laws[self._pair(a, b)] = PairLaw(
            stiffness=stiffness,
            dissipation=dissipation,
            relaxation_time=relaxation_time,
            friction=friction,
            static_friction=static_friction,
            stribeck_velocity=stribeck_velocity,
            torsional_friction=torsional_friction,
        )

    def disable_pair(self, a: int | str, b: int | str) -> None:
        """Disables collisions between two bodies."""
        self.disabled.add(self._pair(a, b))

    def law(self, a: Geometry, b: Geometry, one: int, two: int) -> Material:
        """Returns the combined values of two geometries on bodies ``one`` and ``two``.

        If they touch in a contact surface, the moduli replace the stiffnesses in the rule of the materials, and the
        stiffness is that of the faces.
        """
        first, second = a.material, b.material
        pair = self.pair_laws.get((min(one, two), max(one, two)))
        one_modulus, two_modulus = a.modulus, b.modulus
        if one_modulus is not None and two_modulus is not None and min(one_modulus, two_modulus) < math.inf:
            if pair is not None and pair.stiffness is not None:
                raise ValueError("stiffness: expected none for a pair that meets in a contact surface")
            first, second = replace(first, stiffness=one_modulus), replace(second, stiffness=two_modulus)
        elif pair is not None and pair.stiffness is not None and first.stiffness == second.stiffness == math.inf:
            rule = replace(first, stiffness=pair.stiffness).combined(second)
            own = Material()
            rule = replace(rule, dissipation=own.dissipation, relaxation_time=own.relaxation_time)
            return pair.applied(rule)
        rule = first.combined(second)
        return rule if pair is None else pair.applied(rule)

    def numbered_geometries(self) -> Iterator[tuple[int, Geometry]]:
        """Yields body number and geometry of all geometries, in the order of their numbers."""
        for number, body in enumerate(self.bodies):
            for geometry in body.geometries:
                yield number, geometry


def _counted(kind: str, known: Sequence[Body | KinematicTree]) -> str:
    """Returns number and names of bodies or trees, at most eight of them."""
    plural = kind if len(known) == 1 else {"body": "bodies"}.get(kind, f"{kind}s")
    names = [one.name for one in known[:8]] + ["..."] * (len(known) > 8)
    return f"{len(known)} {plural}" + (f": {', '.join(names)}" if names else "")
