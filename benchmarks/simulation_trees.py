"""Articulated trees of the simulation benchmark: chains, binary trees and quadrupeds, each written as one URDF text.

All engines read the same text. Links have masses on principal axes along the link's frame, and spheres as surfaces;
joints turn. The root moves freely.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

SEED = 17
#: of the links of chains and binary trees: length, radius of the sphere at the far end [m], mass [kg]
LENGTH, RADIUS, MASS = 0.1, 0.02, 0.1
#: largest speed of their joints at the start [rad/s], height of their lowest point above the floor [m], damping of the
#: joints [N m s/rad]: without it a chain whips so fast that steps of 2 ms gain energy
SPEED, HEIGHT, DAMPING = 0.3, 0.3, 0.02


@dataclass(frozen=True)
class Link:
    """A rigid link and the joint that moves it; the root has none.

    Attributes:
        name: unique in the tree.
        mass: kg.
        center: centre of mass in the link's frame (3,), m.
        moments: principal moments of inertia (3,), along the link's axes, kg m^2.
        spheres: centres in the link's frame (n, 3), m.
        radius: of all these spheres, m.
        parent: number of the link that carries the joint.
        origin: of the joint in the parent's frame (3,), m.
        axis: of the joint (3,), a unit vector.
        angle: of the joint at the start, rad.
        speed: of the joint at the start, rad/s.
    """

    name: str
    mass: float
    center: np.ndarray
    moments: np.ndarray
    spheres: np.ndarray = field(default_factory=lambda: np.zeros((0, 3)))
    radius: float = RADIUS
    parent: int = -1
    origin: np.ndarray = field(default_factory=lambda: np.zeros(3))
    axis: np.ndarray = field(default_factory=lambda: np.array([0.0, 1.0, 0.0]))
    angle: float = 0.0
    speed: float = 0.0

    @property
    def joint(self) -> str:
        """Name of the joint that moves the link."""
        return f"{self.name}_joint"


@dataclass(frozen=True)
class Tree:
    """A tree of links with a free root.

    Attributes:
        name: unique in the scene.
        links: the root first, parents before children.
        position: of the root at the start (3,), m; its orientation is that of the world.
        stiffness: of PD controllers that hold the angles of the start, N m/rad; 0: no motors.
        damping: of these, N m s/rad.
        armature: inertia of the motors' rotors as the joints see them, kg m^2.
        joint_damping: of the joints themselves, N m s/rad.
    """

    name: str
    links: tuple[Link, ...]
    position: np.ndarray
    stiffness: float = 0.0
    damping: float = 0.0
    armature: float = 0.0
    joint_damping: float = 0.0

    @property
    def moved(self) -> tuple[Link, ...]:
        """Links with a joint."""
        return self.links[1:]

    def urdf(self) -> str:
        """The tree as a URDF text."""
        parts = [f'<robot name="{self.name}">']
        for link in self.links:
            moments = " ".join(
                f'{name}="{value!r}"' for name, value in zip(("ixx", "iyy", "izz"), link.moments.tolist(), strict=True)
            )
            parts.append(
                f'<link name="{link.name}"><inertial><origin xyz="{numbers(link.center)}"/>'
                f'<mass value="{link.mass!r}"/><inertia {moments} ixy="0" ixz="0" iyz="0"/></inertial>'
            )
            parts += [
                f'<collision name="{link.name}_{k}"><origin xyz="{numbers(point)}"/><geometry>'
                f'<sphere radius="{link.radius!r}"/></geometry></collision>'
                for k, point in enumerate(link.spheres)
            ]
            parts.append("</link>")
        for link in self.moved:
            parts.append(
                f'<joint name="{link.joint}" type="revolute"><parent link="{self.links[link.parent].name}"/>'
                f'<child link="{link.name}"/><origin xyz="{numbers(link.origin)}"/><axis xyz="{numbers(link.axis)}"/>'
                f'<limit lower="-9" upper="9" effort="1e6" velocity="1e6"/><dynamics damping="{self.joint_damping!r}"/>'
                f"</joint>"
            )
        return "".join([*parts, "</robot>"])

    def frames(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Rotations (3, 3) and positions (3,) of the links at the start, relative to the root."""
        found: list[tuple[np.ndarray, np.ndarray]] = [(np.eye(3), np.zeros(3))]
        for link in self.moved:
            rotation, position = found[link.parent]
            found.append((rotation @ turned(link.axis, link.angle), position + rotation @ link.origin))
        return found


def numbers(values: np.ndarray) -> str:
    """A vector in XML."""
    return " ".join(repr(float(value)) for value in values)


def turned(axis: np.ndarray, angle: float) -> np.ndarray:
    """The rotation (3, 3) by an angle (rad) about a unit vector."""
    x, y, z = axis
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.asarray(np.eye(3) + math.sin(angle) * cross + (1.0 - math.cos(angle)) * cross @ cross)


def rod(name: str, **joint: object) -> Link:
    """A link of chains and binary trees: a rod along x with a sphere at its far end."""
    moments = MASS * np.array([0.5 * RADIUS**2, *[LENGTH**2 / 12.0 + 0.25 * RADIUS**2] * 2])
    far = np.array([LENGTH, 0.0, 0.0])
    return Link(name, MASS, 0.5 * far, moments, far[None], **joint)  # type: ignore[arg-type]


def jointed(parents: list[int], spread: list[float]) -> Tree:
    """Rods that begin at the far ends of others, in free fall above the floor with moving joints.

    Args:
        parents: numbers of the links that carry the joints, from the first joint on.
        spread: angles at the start about the vertical, which the joints with horizontal axes do not have, rad.
    """
    random = np.random.default_rng(SEED)
    axes = np.array([0.0, 0.0, 1.0]), np.array([0.0, 1.0, 0.0])
    links = [rod("link0")]
    for k, parent in enumerate(parents):
        axis = axes[k % 2] if not spread[k] else axes[0]
        angle = spread[k] or float(random.uniform(-0.3, 0.3))
        speed = float(random.uniform(-SPEED, SPEED))
        origin = np.array([LENGTH, 0.0, 0.0])
        links.append(rod(f"link{k + 1}", parent=parent, origin=origin, axis=axis, angle=angle, speed=speed))
    tree = Tree("tree", tuple(links), np.zeros(3))
    lowest = min(
        float((position + rotation @ link.spheres[0])[2]) - link.radius
        for link, (rotation, position) in zip(tree.links, tree.frames(), strict=True)
    )
    return Tree("tree", tree.links, np.array([0.0, 0.0, HEIGHT - lowest]), joint_damping=DAMPING)


def chain(joints: int) -> Tree:
    """A chain whose joints turn about z and y in turn."""
    return jointed(list(range(joints)), [0.0] * joints)


def binary_tree(joints: int) -> Tree:
    """A tree whose links carry two further ones each, which fan out."""
    parents = [0] + [k // 2 for k in range(2, joints + 1)]
    spread = [0.0] + [(0.5 if k % 2 else -0.5) for k in range(2, joints + 1)]
    return jointed(parents, spread)


#: of quadrupeds: half distances of the hips, sideways offset of the thighs, lengths of thigh and shank [m]
HIPS, OFFSET, SEGMENT = np.array([0.2, 0.1]), 0.06, 0.2
#: bend of the thighs [rad]; the knees bend back by twice as much
BEND = 0.7


def quadruped(name: str, place: np.ndarray) -> Tree:
    """A robot of 16 kg on four legs of three joints each, which stands on its spherical feet.

    Args:
        name: unique in the scene.
        place: on the floor (2,), m.
    """
    size = np.array([0.5, 0.25, 0.12])
    links = [Link("trunk", 10.0, np.zeros(3), 10.0 / 12.0 * ((size**2).sum() - size**2))]
    down = np.array([0.0, 0.0, -SEGMENT])
    slender = np.array([SEGMENT**2 / 12.0, SEGMENT**2 / 12.0, 2e-4])
    roll, pitch = np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0])
    for leg, (x, y) in enumerate(((1, 1), (1, -1), (-1, 1), (-1, -1))):
        hip = len(links)
        aside = np.array([0.0, y * OFFSET, 0.0])
        links += [
            Link(
                f"hip{leg}", 0.5, 0.5 * aside, np.full(3, 5e-4), parent=0, origin=np.array([*(HIPS * (x, y)), 0.0]),
                axis=roll,
            ),
            Link(
                f"thigh{leg}", 0.7, 0.5 * down, 0.7 * slender, parent=hip, origin=aside, axis=pitch, angle=BEND,
            ),
            Link(
                f"shank{leg}", 0.3, 0.5 * down, 0.3 * slender, down[None], parent=hip + 1, origin=down, axis=pitch,
                angle=-2.0 * BEND,
            ),
        ]  # fmt: skip
    height = 2.0 * SEGMENT * math.cos(BEND) + RADIUS
    return Tree(name, tuple(links), np.array([*place, height]), stiffness=150.0, damping=3.0, armature=0.01)


def quadrupeds(count: int) -> tuple[Tree, ...]:
    """A number of robots on a square grid, 1 m apart."""
    side = math.ceil(math.sqrt(count))
    return tuple(quadruped(f"robot{k}", 1.0 * np.array(divmod(k, side))) for k in range(count))
