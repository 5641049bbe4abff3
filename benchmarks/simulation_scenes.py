"""Scenes of the simulation benchmark, as data that each engine builds its model from.

`rolling`, `bouncing`, `grid` are after the tests of SimBenchmark (D. Kang and J. Hwangbo, leggedrobotics/SimBenchmark);
the closed forms that they are compared with are in `simulation_measures`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import contact_scenes
import numpy as np
from contact_scenes import GRAVITY, Contact, Item
from scipy.spatial import ConvexHull
from simulation_trees import Tree, binary_tree, chain, quadrupeds

from convex_contact import Material, World

SEED = 42
FLOOR = (np.zeros(3), np.array([0.0, 0.0, 1.0]))


@dataclass(frozen=True)
class Body(Item):
    """A free sphere, box or hull.

    Attributes:
        points: of a hull in the frame of its principal axes (n, 3), m.
        principal: principal moments of a hull (3,), kg m^2.
        velocity: at the start (3,), m/s, world.
        friction: of its surface where engines take the harmonic mean of two (this suite, Drake); None: the scene's.
        larger_friction: coefficient for engines that take the larger of two (MuJoCo); None: the scene's.
    """

    points: np.ndarray | None = None
    principal: np.ndarray | None = None
    velocity: np.ndarray = field(default_factory=lambda: np.zeros(3))
    friction: float | None = None
    larger_friction: float | None = None

    @property
    def moments(self) -> np.ndarray:
        """Principal moments of inertia (3,), kg m^2."""
        return super().moments if self.principal is None else self.principal


@dataclass(frozen=True)
class Scene(contact_scenes.Scene):
    """Free bodies and trees among half spaces.

    Attributes:
        items: free bodies.
        planes: of the half spaces, a point and the normal each.
        contact: combined values of all contacts.
        trees: their roots move freely; they touch the half spaces alone.
        plane_friction, plane_larger_friction: as of `Body`.
    """

    items: list[Body]  # type: ignore[assignment]
    trees: tuple[Tree, ...] = ()
    plane_friction: float | None = None
    plane_larger_friction: float | None = None

    @cached_property
    def mass(self) -> np.ndarray:
        """Masses of the free bodies, then of the trees' links (n,), kg."""
        links = [link.mass for tree in self.trees for link in tree.links]
        return np.array([body.mass for body in self.items] + links)

    @cached_property
    def moments(self) -> np.ndarray:
        """Principal moments of inertia of these (n, 3), kg m^2."""
        links = [link.moments for tree in self.trees for link in tree.links]
        return np.array([body.moments for body in self.items] + links)

    @cached_property
    def centers(self) -> np.ndarray:
        """Centres of mass of these in their frames (n, 3), m."""
        links = [link.center for tree in self.trees for link in tree.links]
        return np.array([np.zeros(3)] * len(self.items) + links)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names in this suite of the free bodies, then of the trees' links."""
        bodies = tuple(f"item {k}" for k in range(len(self.items)))
        return bodies + tuple(f"{tree.name}/{link.name}" for tree in self.trees for link in tree.links)

    def world(self) -> World:
        """The same for this suite; two surfaces of twice the stiffness have the wanted one."""
        c = self.contact

        def surface(friction: float | None) -> Material:
            return Material(
                stiffness=2.0 * c.stiffness,
                dissipation=c.dissipation,
                relaxation_time=0.5 * c.relaxation_time,
                friction=c.friction if friction is None else friction,
            )

        world = World(gravity=(0.0, 0.0, -GRAVITY))
        for k, (point, normal) in enumerate(self.planes):
            world.add_half_space(f"plane {k}", point=point, normal=normal, material=surface(self.plane_friction))
        for k, body in enumerate(self.items):
            common: dict[str, Any] = {
                "mass": body.mass,
                "inertia": np.diag(body.moments),
                "position": body.position,
                "orientation": body.orientation,
                "velocity": body.velocity,
                "material": surface(body.friction),
            }
            if body.shape == "sphere":
                world.add_sphere(f"item {k}", radius=float(body.half[0]), **common)
            elif body.shape == "box":
                world.add_box(f"item {k}", size=2.0 * body.half, **common)
            else:
                world.add_hull(f"item {k}", points=body.points, center=np.zeros(3), **common)
        with TemporaryDirectory() as folder:
            for tree in self.trees:
                self._add_tree(world, tree, Path(folder) / f"{tree.name}.urdf")
        return world

    def _add_tree(self, world: World, tree: Tree, file: Path) -> None:
        c = self.contact
        file.write_text(tree.urdf())
        surface = Material(
            stiffness=2.0 * c.stiffness,
            dissipation=c.dissipation,
            relaxation_time=0.5 * c.relaxation_time,
            friction=c.friction,
        )
        options: dict[str, Any] = {
            "position": tree.position,
            "floating": True,
            "self_collision": False,
            "armature": tree.armature,
        }
        world.add_urdf(tree.name, file, material=surface, **options)
        if tree.stiffness:
            for link in tree.moved:
                world.actuate_joint(
                    tree.name, link.joint, proportional_gain=tree.stiffness, derivative_gain=tree.damping,
                    target_position=link.angle,
                )  # fmt: skip


def sphere(radius: float, mass: float, position: np.ndarray, **values: object) -> Body:
    """A uniform ball."""
    return Body("sphere", np.full(3, radius), mass, position, **values)  # type: ignore[arg-type]


# --- closed forms ----------------------------------------------------------------------------------------------

#: of `rolling`: masses of box and ball [kg], force [N], friction of box on ground and of ball on box
BOX, BALL, PULL, SLIDING, GRIP = 10.0, 1.0, 150.0, 0.4, 0.8
#: unit vector of the force, in the plane
DIRECTION = np.array([0.5, math.sqrt(0.75), 0.0])


def rolling(count: int) -> Scene:
    """A box on the ground, pulled at its centre so that it slides, with balls that roll on it.

    Friction by the harmonic mean is 0.4 and 0.8 with 0.8 of box and balls, and 4/15 of the ground. All start at the
    depths at which contacts bear the weights: the friction of the first step is that of the others.
    """
    half, contact = np.array([10.0, 10.0, 0.5]), Contact()
    depth = (BOX + count * BALL) * GRAVITY / (4.0 * contact.stiffness)
    top = 2.0 * half[2] - depth
    items = [
        Body("box", half, BOX, np.array([0.0, 0.0, half[2] - depth]), force=PULL * DIRECTION, friction=GRIP,
             larger_friction=SLIDING)
    ]  # fmt: skip
    side = math.ceil(math.sqrt(count))
    pitch = 16.0 / side
    for k in range(count):
        place = pitch * (np.array(divmod(k, side)) - 0.5 * (side - 1))
        items.append(
            sphere(0.5, BALL, np.array([*place, top + 0.5 - BALL * GRAVITY / contact.stiffness]), friction=GRIP,
                   larger_friction=GRIP)
        )  # fmt: skip
    return Scene(items, [FLOOR], contact, plane_friction=4.0 / 15.0, plane_larger_friction=SLIDING)


def pulled(count: int) -> Scene:
    """Balls of 1 kg on the ground, pulled with 0.5 to 1.5 times the force 3.5 mu m g from which on they slide."""
    contact, radius = Contact(friction=0.4), 0.1
    height = radius - BALL * GRAVITY / contact.stiffness
    items = []
    for k, share in enumerate(np.linspace(0.5, 1.5, count)):
        force = share * 3.5 * contact.friction * BALL * GRAVITY
        items.append(sphere(radius, BALL, np.array([0.0, 0.5 * k, height]), force=np.array([force, 0.0, 0.0])))
    return Scene(items, [FLOOR], contact)


#: height of the fall [m], mass [kg] and radius [m] of bouncing balls
FALL, HEAVY, BOUNCER = 1.0, 10.0, 0.1


def bouncing(count: int, dissipation: float = 0.0) -> Scene:
    """Balls that fall by 1 m on the ground, without friction.

    Args:
        count: number of balls.
        dissipation: d of Hunt and Crossley's law, s/m.
    """
    side = math.ceil(math.sqrt(count))
    items = [
        sphere(BOUNCER, HEAVY, np.array([*(0.5 * np.array(divmod(k, side))), BOUNCER + FALL])) for k in range(count)
    ]
    return Scene(items, [FLOOR], Contact(1e6, dissipation, 0.0, 0.0))


def grid(count: int, elastic: bool) -> Scene:
    """Balls in a cubic grid, disturbed at random, that fall on the ground: 666 and elastic 666, of 6^3 balls.

    They start close to the ground with the speed of a fall of 1 m.

    Args:
        count: number of balls.
        elastic: neither dissipation nor friction.
    """
    random = np.random.default_rng(SEED)
    side = math.ceil(round(count ** (1.0 / 3.0), 9))
    items = []
    for index in islice(np.ndindex(side, side, side), count):
        place = 0.21 * np.array(index) + np.array([0.0, 0.0, 0.11]) + 1e-3 * random.uniform(0.0, 1.0, 3)
        items.append(sphere(BOUNCER, HEAVY, place, velocity=np.array([0.0, 0.0, -math.sqrt(2.0 * GRAVITY * FALL)])))
    return Scene(items, [FLOOR], Contact(1e6, 0.0, 0.0, 0.0) if elastic else Contact(1e7, 10.0, 1e-4, 0.5))


# --- robots ----------------------------------------------------------------------------------------------------


def standing(count: int) -> Scene:
    """Quadrupeds on a floor, held by PD controllers."""
    return Scene([], [FLOOR], Contact(1e6, 10.0, 1e-3, 0.8), quadrupeds(count))


def falling_chain(joints: int) -> Scene:
    """A chain that falls on a floor."""
    return Scene([], [FLOOR], Contact(1e6, 10.0, 1e-3, 0.5), (chain(joints),))


def falling_tree(joints: int) -> Scene:
    """A binary tree that falls on a floor."""
    return Scene([], [FLOOR], Contact(1e6, 10.0, 1e-3, 0.5), (binary_tree(joints),))


# --- rigid bodies ----------------------------------------------------------------------------------------------

#: side of the boxes of a tower [m]
SIDE = 0.1


def tower(ratio: int) -> Scene:
    """Ten boxes on each other at rest, of 1 and `ratio` kg in turn; corners of stiffness k bear the loads."""
    contact = Contact(1e8, 10.0, 1e-4, 0.5)
    masses = np.where(np.arange(10) % 2, float(ratio), 1.0)
    load = GRAVITY * np.cumsum(masses[::-1])[::-1]
    heights = SIDE * (np.arange(10) + 0.5) - np.cumsum(load / (4.0 * contact.stiffness))
    half = np.full(3, 0.5 * SIDE)
    items = [Body("box", half, float(m), np.array([0.0, 0.0, z])) for m, z in zip(masses, heights, strict=True)]
    return Scene(items, [FLOOR], contact)


def hulls(count: int) -> Scene:
    """Random convex hulls, each of 12 points, that fall between four walls."""
    random = np.random.default_rng(SEED)
    half = 0.25
    items = []
    for k in range(count):
        points, mass, principal = principal_hull(random.normal(size=(12, 3)))
        layer, place = divmod(k, 9)
        position = np.array([*(0.15 * (np.array(divmod(place, 3)) - 1.0)), 0.1 + 0.16 * layer])
        turn = random.normal(size=4)
        items.append(
            Body("hull", np.abs(points).max(axis=0), mass, position, turn / np.linalg.norm(turn), points=points,
                 principal=principal)
        )  # fmt: skip
    walls = [(-half * normal, normal) for axis in (0, 1) for normal in (np.eye(3)[axis], -np.eye(3)[axis])]
    return Scene(items, [FLOOR, *walls], Contact(1e7, 10.0, 1e-4, 0.5))


def principal_hull(
    directions: np.ndarray, radius: float = 0.06, density: float = 1000.0
) -> tuple[np.ndarray, float, np.ndarray]:
    """The hull of points on a sphere as a uniform solid.

    Args:
        directions: of the points from the centre (n, 3), of any lengths.
        radius: of the sphere, m.
        density: kg/m^3.

    Returns:
        Points along its principal axes from its centre of mass (n, 3), m; mass, kg; principal moments (3,), kg m^2.
    """
    points = radius * directions / np.linalg.norm(directions, axis=1)[:, None]
    points -= points.mean(axis=0)  # the origin is inside
    corners = points[ConvexHull(points).simplices]  # of tetrahedra whose fourth corner is the origin
    volume = np.abs(np.linalg.det(corners)) / 6.0
    center = (volume[:, None] * corners.sum(axis=1)).sum(axis=0) / (4.0 * volume.sum())
    # integral of x x^T over a tetrahedron with a corner in the origin: V/20 (sum of c c^T + s s^T), s the sum of c
    sums = corners.sum(axis=1)
    second = np.einsum("t,tci,tcj->ij", volume, corners, corners) + np.einsum("t,ti,tj->ij", volume, sums, sums)
    second = density * (second / 20.0 - volume.sum() * np.outer(center, center))
    _, axes = np.linalg.eigh(second)
    axes[:, 2] *= np.sign(np.linalg.det(axes))
    spread = np.diag(axes.T @ second @ axes)
    return (points - center) @ axes, float(density * volume.sum()), spread.sum() - spread
