"""Scenes of the contact benchmarks, as data that each engine builds its model from; and measures taken from poses.

`clutter`: columns of ten objects over a wide floor between four walls (Castro et al., section XII-A). `block`: a box
that lies on a plane and is pulled.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from convex_contact import Material, World, WorldDynamics

GRAVITY = 9.81
SIDE, DENSITY, PITCH = 0.1, 1000.0, 0.4  # of the clutter's objects [m, kg/m^3], between its columns [m]
SEED = 41


@dataclass(frozen=True)
class Contact:
    """Combined values of every contact: N/m, s/m, s, and the friction coefficient."""

    stiffness: float = 1e7
    dissipation: float = 10.0
    relaxation_time: float = 1e-4
    friction: float = 1.0


@dataclass(frozen=True)
class Item:
    """A free sphere or cuboid; position and orientation (x, y, z, w) of its centre, force held on it, world."""

    shape: str
    half: np.ndarray
    mass: float
    position: np.ndarray
    orientation: np.ndarray = field(default_factory=lambda: np.array([0.0, 0.0, 0.0, 1.0]))
    force: np.ndarray = field(default_factory=lambda: np.zeros(3))

    @property
    def moments(self) -> np.ndarray:
        """Principal moments of inertia (3,), kg m^2."""
        if self.shape == "sphere":
            return np.full(3, 0.4 * self.mass * self.half[0] ** 2)
        square = self.half**2
        return self.mass / 3.0 * (square.sum() - square)


@dataclass(frozen=True)
class Scene:
    """Free objects among half spaces, each a point and its normal."""

    items: list[Item]
    planes: list[tuple[np.ndarray, np.ndarray]]
    contact: Contact

    def world(self) -> World:
        """The same for this suite; two surfaces of twice the stiffness have the wanted one."""
        c = self.contact
        surface = Material(
            stiffness=2.0 * c.stiffness,
            dissipation=c.dissipation,
            relaxation_time=0.5 * c.relaxation_time,
            friction=c.friction,
        )
        world = World(gravity=(0.0, 0.0, -GRAVITY))
        for k, (point, normal) in enumerate(self.planes):
            world.add_half_space(f"plane {k}", point=point, normal=normal, material=surface)
        for k, item in enumerate(self.items):
            common = {
                "mass": item.mass,
                "inertia": np.diag(item.moments),
                "position": item.position,
                "orientation": item.orientation,
                "material": surface,
            }
            if item.shape == "sphere":
                world.add_sphere(f"item {k}", radius=float(item.half[0]), **common)
            else:
                world.add_box(f"item {k}", size=2.0 * item.half, **common)
        return world

    def gaps(self, poses: np.ndarray) -> np.ndarray:
        """Signed distances (m,) of all contact points nearer than 1 mm at poses (n, 7) of any engine."""
        dynamics = WorldDynamics(self.world(), period=1e-3, threshold=1e-3, speculative=False)
        dynamics.set_state(poses.ravel())
        dynamics.prepare()
        contacts = dynamics.collect()
        return np.array(contacts.phi0[: contacts.count[0]])

    def residual(self, before: np.ndarray, after: np.ndarray, impulse: np.ndarray, period: float) -> float:
        """|A (v - v*) - j| over max(|A v|, |j|), each scaled by A^(-1/2): how far forces and motion of a step agree.

        Args:
            before: twists [v; omega] (n, 6) at the start, axes of the world or of the bodies.
            after: at the end.
            impulse: of the contacts on the centres of mass [f; m] (n, 6), N s, N m s.
            period: s.
        """
        A = np.array([[item.mass] * 3 + list(item.moments) for item in self.items])
        applied = np.array([[*(item.force - [0, 0, GRAVITY * item.mass]), 0, 0, 0] for item in self.items])
        r = (A * (after - before) - period * applied - impulse) / np.sqrt(A)
        size = max(np.linalg.norm(np.sqrt(A) * after), np.linalg.norm(impulse / np.sqrt(A)))
        return float(np.linalg.norm(r) / size)


def clutter(kind: str, count: int) -> Scene:
    """`count` spheres, or spheres and boxes at random ("mixed"), in columns of ten."""
    random = np.random.default_rng(SEED)
    columns = max(1, count // 10)
    rows = max(k for k in range(1, columns + 1) if columns % k == 0 and k * k <= columns)
    half = 0.5 * PITCH * np.array([rows, columns // rows])
    items = []
    for k in range(count):
        column, layer = divmod(k, 10)
        is_box = bool(random.integers(2)) and kind == "mixed"
        turn = random.normal(size=4)
        turn /= np.linalg.norm(turn)
        place = PITCH * (np.array(divmod(column, columns // rows)) + 0.5) - half + random.uniform(-1e-3, 1e-3, 2)
        items.append(
            Item(
                "box" if is_box else "sphere",
                np.full(3, 0.5 * SIDE),
                DENSITY * SIDE**3 * (1.0 if is_box else np.pi / 6.0),
                np.array([*place, 1.5 * SIDE * layer + 0.75 * SIDE]),
                np.roll(turn, -1),
            )
        )
    planes = [(np.zeros(3), np.array([0.0, 0.0, 1.0]))]
    for axis in range(2):
        for sign in (1.0, -1.0):
            normal = -sign * np.eye(3)[axis]
            planes.append((-half[axis] * normal, normal))
    return Scene(items, planes, Contact())


def block(pull: float) -> Scene:
    """A box of 1 kg on a plane, at rest, pulled at its centre with `pull` times the limit of static friction."""
    contact = Contact(friction=0.5)
    half = np.array([0.05, 0.05, 0.025])
    force = np.array([pull * contact.friction * GRAVITY, 0.0, 0.0])
    depth = GRAVITY / (4.0 * contact.stiffness)
    item = Item("box", half, 1.0, np.array([0.0, 0.0, half[2] - depth]), force=force)
    return Scene([item], [(np.zeros(3), np.array([0.0, 0.0, 1.0]))], contact)
