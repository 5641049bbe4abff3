"""Parts of a world: poses, shapes with surfaces, bodies and trees."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pinocchio as pin

from convex_contact.model.materials import Material
from convex_contact.model.pressure_fields import Hydroelastic, Mesh, PressureField, RigidSurface, mesh_of
from convex_contact.model.shapes import HalfSpace, Shape
from convex_contact.problem import checks
from convex_contact.problem.errors import ContactError
from haptic_files.moved_modules import renamed
from haptic_math.quantities import finite_array, finite_number, one_line, quaternion_length

if TYPE_CHECKING:
    from convex_contact.model.joints import JointLaw


#: Twist [linear; angular] (6,) of a prescribed body in the world at a time (s).
Motion = Callable[[float], Sequence[float]]


#: Joint forces (nv,) of a tree in the step that starts at a time (s).
Drive = Callable[[float], Sequence[float]]


Vector = Sequence[float] | np.ndarray
Made = TypeVar("Made")


class WorldError(ContactError, ValueError):
    """A world is contradictory or incomplete; the message names the body and the field."""


@dataclass(frozen=True)
class Pose:
    """A pose: position (3,), m, and quaternion (x, y, z, w), normalised.

    Examples:
        >>> from convex_contact import Pose
        >>> Pose.of((0.0, 0.0, 1.0), (0.0, 0.0, 0.0, 2.0), "tool").orientation.tolist()
        [0.0, 0.0, 0.0, 1.0]
    """

    position: np.ndarray = field(default_factory=lambda: np.zeros(3))
    orientation: np.ndarray = field(default_factory=lambda: np.array([0.0, 0.0, 0.0, 1.0]))

    @staticmethod
    def of(position: Vector, orientation: Vector, where: str) -> Pose:
        """Checks and normalises position (3,) [m] and quaternion (x, y, z, w).

        Raises:
            WorldError: a length or a number is wrong; the message starts with ``where``.
        """
        p = vector(position, 3, f"{where}: position")
        q = vector(orientation, 4, f"{where}: orientation")
        norm = quaternion_length(f"{where}: orientation", q, error=WorldError)
        return Pose(p, q if abs(norm - 1) < 1e-15 else q / norm)  # a written pose is read without change

    @property
    def rotation(self) -> np.ndarray:
        """Rotation matrix (3, 3)."""
        x, y, z, w = self.orientation
        return np.asarray(pin.Quaternion(w, x, y, z).matrix())

    @property
    def se3(self) -> pin.SE3:
        """The pose for Pinocchio."""
        return pin.SE3(self.rotation, self.position)

    @staticmethod
    def from_se3(pose: pin.SE3) -> Pose:
        """Converts a pose of Pinocchio."""
        return Pose(np.array(pose.translation), np.array(pin.Quaternion(pose.rotation).coeffs()))


@dataclass(frozen=True)
class Geometry:
    """A shape on a body.

    Attributes:
        shape: the shape.
        placement: pose of the shape's frame in the body's frame.
        material: of the surface.
        hydroelastic: description of the mesh that is made from the shape, or a mesh in the shape's frame that lies in
            the shape. Two shapes with a mesh, or one and a half space, touch in a contact surface instead of points, if
            one of them is compliant. Half spaces are rigid to compliant bodies and have no mesh.
        color: red, green, blue and opacity in pictures, 0 to 1 (4,); None: the colour follows from the body's number.
        mesh: the mesh (made).

    Raises:
        ValueError: an attribute is of another type, the mesh cannot be made, or reaches out of the shape's bounding
            box or sphere, or a component of the colour is out of its bounds.

    Examples:
        >>> from convex_contact import Geometry, Material, Pose, Sphere
        >>> geometry = Geometry(Sphere(0.1), Pose(), Material(friction=0.3))
        >>> geometry.shape.radius
        0.1
    """

    shape: Shape
    placement: Pose
    material: Material
    hydroelastic: Hydroelastic | Mesh | None = None
    color: tuple[float, float, float, float] | None = None
    mesh: Mesh | None = field(init=False, default=None, repr=False)

    def __post_init__(self) -> None:
        for name, kind in (("shape", Shape), ("placement", Pose), ("material", Material)):
            if not isinstance(getattr(self, name), kind):
                raise ValueError(f"{name}: expected a {kind.__name__}, got {getattr(self, name)!r}")
        if self.color is not None:
            expected = "red, green, blue and opacity from 0 to 1"
            color = finite_array("color", self.color, (4,), expected=expected)
            if not ((color >= 0.0) & (color <= 1.0)).all():
                raise ValueError(f"color: expected {expected}, got {self.color}")
        if not isinstance(self.hydroelastic, Hydroelastic | PressureField | RigidSurface | None):
            words = "a Hydroelastic, a PressureField, a RigidSurface or None"
            raise ValueError(f"hydroelastic: expected {words}, got {self.hydroelastic!r}")
        given, shape = self.hydroelastic, self.shape
        mesh = mesh_of(shape, given) if isinstance(given, Hydroelastic) else given
        object.__setattr__(self, "mesh", mesh)
        if mesh is None or mesh is not given:
            return
        if isinstance(shape, HalfSpace):
            raise ValueError("hydroelastic: a half space is rigid to compliant bodies and has no mesh")
        beyond = (np.abs(mesh.vertices - shape.center) - shape.extent).max()
        beyond = max(beyond, np.linalg.norm(mesh.vertices, axis=1).max() - shape.radius)
        if beyond > 1e-6 * shape.radius:
            raise ValueError(f"hydroelastic: expected a mesh inside the shape's bounds, got {beyond:.3g} m beyond")

    @property
    def modulus(self) -> float | None:
        """Largest pressure inside [Pa]; infinite: rigid to compliant bodies; None: only point contacts."""
        if self.mesh is None:
            return math.inf if isinstance(self.shape, HalfSpace) else None
        return float(self.mesh.pressure.max()) if isinstance(self.mesh, PressureField) else math.inf


@dataclass
class Body:
    """A rigid body.

    Attributes:
        name: unique in its world.
        kind: "free"; "fixed"; "prescribed" (moves as commanded); "link" (of an articulated tree).
        geometries: shapes for contact.
        placement: pose of the body's frame in the world at the start (links: ignored).
        mass: kg (free bodies).
        center: centre of mass (3,) in the body's frame, m.
        inertia: (3, 3), about the centre of mass, along the body's axes, kg m^2.
        velocity: of the frame's origin at the start (3,), m/s.
        angular_velocity: at the start (3,), rad/s, world.
        motion: twist of a prescribed body as a function of time; None: set by the user before each step.
        tree: number of the articulated tree in :attr:`World.trees` (links).
        link: number of the link in the tree (links).
        spring_stiffness: of a spring from the frame's origin to its placement [N/m] (free bodies).
        spring_damping: of a damper parallel to the spring [N s/m].

    Examples:
        >>> from convex_contact import World
        >>> world = World()
        >>> number = world.add_box("box", mass=6.0, size=(0.1, 0.1, 0.1))
        >>> body = world.bodies[number]
        >>> body.kind, body.inertia.diagonal().round(9).tolist()  # m a^2/6
        ('free', [0.01, 0.01, 0.01])
    """

    name: str
    kind: str
    geometries: list[Geometry] = field(default_factory=list)
    placement: Pose = field(default_factory=Pose)
    mass: float = 0.0
    center: np.ndarray = field(default_factory=lambda: np.zeros(3))
    inertia: np.ndarray = field(default_factory=lambda: np.zeros((3, 3)))
    velocity: np.ndarray = field(default_factory=lambda: np.zeros(3))
    angular_velocity: np.ndarray = field(default_factory=lambda: np.zeros(3))
    motion: Motion | None = None
    tree: int = -1
    link: int = -1
    spring_stiffness: float = 0.0
    spring_damping: float = 0.0

    def __repr__(self) -> str:
        shapes = [type(geometry.shape).__name__ for geometry in self.geometries]
        more = f", and {len(shapes) - 4} more" if len(shapes) > 4 else ""
        mass = f", {self.mass:g} kg" if self.mass else ""
        return f"Body({self.name!r}, {self.kind}{mass}, shapes: {', '.join(shapes[:4]) or 'none'}{more})"


@dataclass
class KinematicTree:
    """An articulated tree, or a deformable body, with its state at the start.

    Attributes:
        name: unique in its world.
        model: kinematics and dynamics: an `ArticulatedTree`, or a `deformable.DeformableTree` with the same methods.
        q: coordinates at the start (nq,).
        v: velocities at the start (nv,).
        bodies: numbers of its links' bodies.
        source: the URDF file, and the options of reading it.
        drive: joint forces (nv,) [N or N m] as a function of the time at which a step starts; they add to the forces
            that are set; None: none.
        own_laws: couplers and friction of its file, which are also among the world's joint laws.
        motors: limits of effort [N or N m] and velocity [m/s or rad/s] of its joints' motors by name, as in its file.

    Examples:
        >>> from importlib.resources import files
        >>> from convex_contact import World
        >>> world = World()
        >>> number = world.add_urdf("motor", files("convex_contact") / "data/shaft.urdf", q=(0.5,))
        >>> tree = world.trees[number]
        >>> tree.q.tolist(), [world.bodies[body].name for body in tree.bodies]
        ([0.5], ['motor/shaft'])
    """

    name: str
    model: Any
    q: np.ndarray
    v: np.ndarray
    bodies: list[int]
    source: dict[str, Any]
    drive: Drive | None = None
    own_laws: list[JointLaw] = field(default_factory=list)
    motors: dict[str, tuple[float, float]] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {len(self.bodies)} bodies, {len(self.v)} velocities)"

    def motor_limits(self, joint: str, given: dict[str, Any]) -> dict[str, Any]:
        """Adds the limits of the file to the given values of a joint's motor, where they are not given.

        Raises:
            ValueError: a limit of the file is 0.
        """
        names = ("effort_limit", "velocity_limit")
        limits = dict(zip(names, self.motors.get(joint, (math.inf, math.inf)), strict=True))
        for name, limit in limits.items():
            if limit == 0.0 and name not in given:
                raise ValueError(f"{name}: expected a number above 0, got none, and 0 in the file")
        return limits | given


def vector(values: Any, length: int, where: str) -> np.ndarray:
    """Converts values to an array of finite numbers with a given length.

    Raises:
        WorldError: the values are no such array; the message starts with ``where``.
    """
    return finite_array(where, values, (length,), expected=f"{length} finite numbers", error=WorldError)


def checked_inertia(inertia: Any, where: str) -> np.ndarray:
    """Returns an inertia (3, 3) from a number, principal moments (3,) or a matrix.

    Raises:
        WorldError: no body can have this inertia; the message starts with ``where``.
    """
    try:
        array = np.array(inertia, dtype=np.float64)
    except (TypeError, ValueError):
        array = np.full(1, math.nan)
    if not np.isfinite(array).all():
        raise WorldError(f"{where}: inertia: expected finite numbers, got {one_line(inertia)}")
    if array.shape == ():
        array = array * np.eye(3)
    elif array.shape == (3,):
        array = np.diag(array)
    if array.shape != (3, 3) or not np.allclose(array, array.T):
        raise WorldError(f"{where}: inertia: expected a number, (3,) or a symmetric (3, 3), got shape {array.shape}")
    moments = np.linalg.eigvalsh(array)
    if not moments[0] > 0:
        raise WorldError(f"{where}: inertia: expected positive principal moments, got {moments}")
    if moments[2] > (moments[0] + moments[1]) * (1 + 1e-9):
        raise WorldError(f"{where}: inertia: no body has the principal moments {moments} (one exceeds the others' sum)")
    return 0.5 * (array + array.T)


def give_mass(body: Body, mass: float | None, inertia: Any, center: Vector | None) -> None:
    """Sets mass, centre and inertia of a free body; see :meth:`~convex_contact.model.world.World.add_body`.

    Raises:
        WorldError: a value is missing or impossible.
    """
    if mass is None:
        raise WorldError(f"{body.name}: mass: missing (a body without mass is fixed=True or prescribed=True)")
    expected = "a positive number of kilograms"
    body.mass = mass = finite_number(f"{body.name}: mass", mass, above=0.0, expected=expected, error=WorldError)
    if any(isinstance(g.shape, HalfSpace) for g in body.geometries):
        raise WorldError(f"{body.name}: a half space cannot move freely")
    if (inertia is None or center is None) and not body.geometries:
        raise WorldError(f"{body.name}: inertia: missing, and there is no shape to take it from")
    if inertia is None or center is None:
        solid_center, solid_inertia = uniform_solid(body.geometries, mass)
    body.center = solid_center if center is None else vector(center, 3, f"{body.name}: center")
    if inertia is not None:
        body.inertia = checked_inertia(inertia, body.name)
    else:
        d = body.center - solid_center
        inertia = solid_inertia + mass * (d @ d * np.eye(3) - np.outer(d, d))
        body.inertia = 0.5 * (inertia + inertia.T)


def give_springs(body: Body, **given: Any) -> None:
    """Sets stiffness and damping of the spring of a free body; see :meth:`~convex_contact.World.add_body`.

    Raises:
        WorldError: a number is negative, or the body is not free.
    """
    for name, value in given.items():
        where = f"{body.name}: {name}"
        number = finite_number(where, value, minimum=0.0, expected="a number not below 0", error=WorldError)
        if number and body.kind != "free":
            raise WorldError(f"{where}: a spring pulls a free body, not a {body.kind} one")
        setattr(body, name, number)


def checked_geometries(name: str, given: Any) -> list[Geometry]:
    """Returns the geometries of a body as a list; raises a WorldError if one is something else."""
    try:
        geometries = list(given)
    except TypeError:
        geometries = [given]
    for geometry in geometries:
        if not isinstance(geometry, Geometry):
            raise WorldError(f"{name}: geometries: expected a list of Geometry, got {geometry!r}")
    return geometries


def checked_motion(name: str, motion: Any) -> Motion | None:
    """Returns the motion of a body; raises a WorldError if it is neither None nor a function."""
    if motion is not None and not callable(motion):
        raise WorldError(f"{name}: motion: expected a function of time, got {motion!r}")
    return motion  # type: ignore[no-any-return]


def made(name: str, kind: Callable[..., Made], *arguments: Any, **values: Any) -> Made:
    """Makes a part of a world of dataclass fields; a wrong value is a WorldError that begins with the name."""
    try:
        checks.field_names(kind, values)
        return kind(*arguments, **values)
    except (TypeError, ValueError) as error:
        raise WorldError(f"{name}: {error}") from None


def uniform_solid(geometries: Sequence[Geometry], mass: float) -> tuple[np.ndarray, np.ndarray]:
    """Returns centre (3,) and inertia (3, 3) of shapes as one solid of uniform density, in the body's frame."""
    volume = sum(g.shape.volume() for g in geometries)
    parts = [(g.shape.solid(mass * g.shape.volume() / volume), g.placement) for g in geometries]
    places = [p.position + p.rotation @ s.center for s, p in parts]
    center = sum((s.mass / mass * c for (s, _), c in zip(parts, places, strict=True)), np.zeros(3))
    inertia = np.zeros((3, 3))
    for (s, p), c in zip(parts, places, strict=True):
        d = c - center
        inertia += p.rotation @ s.inertia @ p.rotation.T + s.mass * (d @ d * np.eye(3) - np.outer(d, d))
    return center, inertia


__getattr__ = renamed(__name__, {"Placement": "Pose", "Tree": "KinematicTree"})
