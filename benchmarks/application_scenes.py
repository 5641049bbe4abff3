"""The scenes of `bench_applications`, and how this suite simulates them.

A simulation of a scene is made from the scene, the period (s) and the name of an approximation; it has `step()` and
`figures()`, some numbers as text by which one sees that two engines solve the same problem.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from convex_contact import Hydroelastic, Material, Simulator, World
from convex_contact.model.corotational import Elasticity, TetrahedralMesh
from convex_contact.model.joints import JointMotion, Sinusoid
from convex_contact.scenes.barrett_finger import Finger
from convex_contact.scenes.finray import FinRay
from convex_contact.scenes.grasp import Grasp

PUSHER = Path(__file__).with_name("pusher.urdf")


class OwnSimulation:
    """A world of this suite in motion."""

    def __init__(self, world: World, period: float, approximation: str) -> None:
        self.simulator = Simulator(world, period=period, approximation=approximation)

    def step(self) -> None:
        self.simulator.step()

    def coordinate(self, tree: str, joint: str) -> float:
        """Returns the position of a joint [m or rad]."""
        return self.simulator.joint(f"{tree}/{joint}").position


# --- contact surfaces ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Patch:
    """A compliant body on a rigid floor.

    Attributes:
        shape: "sphere", "box" or "cylinder".
        sizes: radius; sides; radius and length, m.
        modulus: Pa; resolution: m.
        height: of the body at the start, m; velocity, spin: m/s, rad/s.
    """

    shape: str
    sizes: tuple[float, ...]
    modulus: float
    resolution: float
    height: float
    velocity: tuple[float, float, float] = (0.0, 0.0, 0.0)
    spin: tuple[float, float, float] = (0.0, 0.0, 0.0)
    mass: float = 1.0
    dissipation: float = 20.0
    relaxation_time: float = 0.02
    friction: float = 0.5


class OwnPatch(OwnSimulation):
    """The floor has half the relaxation time and the same friction."""

    def __init__(self, patch: Patch, period: float, approximation: str) -> None:
        world = World()
        surface = Material(
            dissipation=patch.dissipation, relaxation_time=0.5 * patch.relaxation_time, friction=patch.friction
        )
        world.add_half_space("floor", material=surface)
        add: dict[str, Callable[..., int]] = {
            "sphere": lambda **o: world.add_sphere("body", radius=patch.sizes[0], **o),
            "box": lambda **o: world.add_box("body", size=patch.sizes, **o),
            "cylinder": lambda **o: world.add_cylinder("body", radius=patch.sizes[0], length=patch.sizes[1], **o),
        }
        add[patch.shape](
            mass=patch.mass, material=surface, position=(0.0, 0.0, patch.height), velocity=patch.velocity,
            angular_velocity=patch.spin, hydroelastic=Hydroelastic(patch.modulus, patch.resolution),
        )  # fmt: skip
        super().__init__(world, period, approximation)
        self._height = patch.height

    def figures(self) -> list[str]:
        depth = self._height - float(self.simulator.state("body").position[2])
        return [f"{len(self.simulator.contacts.area)}", f"{1e3 * depth:.4f}"]


# --- grasp -----------------------------------------------------------------------------------------------------

#: of the motors that lead the hand round the circle: N/m, N s/m
HAND_GAIN, HAND_DAMPING = 1e5, 1e3
#: a rod that has sunk so far in the hand is lost, m; a longer run is held, s
LOST, HELD = 0.01, 4.0
#: joints of the hand's carriage and the phases of their sines, rad
CIRCLE = (("slide_x", 0.5 * math.pi), ("slide_y", 0.0))


def finish(simulation: object, sunk: Callable[[], float], time: float, period: float) -> list[str]:
    """Sinking in mm now, and the time of failure in s: steps on until the rod is lost."""
    begun = 1e3 * sunk()
    every = max(1, round(1e-3 / period))
    while sunk() < LOST and time < HELD:
        for _ in range(every):
            simulation.step()  # type: ignore[attr-defined]
        time += every * period
    return [f"{begun:.3f}", f"{time:.3f}" if time < HELD else "held"]


class OwnGrasp(OwnSimulation):
    """The scene of `scenes.grasp`, but motors lead the hand: Drake has no prescribed motion."""

    def __init__(self, grasp: Grasp, period: float, approximation: str) -> None:
        world = grasp.world()
        world.joint_laws = [law for law in world.joint_laws if not isinstance(law, JointMotion)]
        for joint, phase in CIRCLE:
            speed = math.tau * grasp.frequency * grasp.circle_radius
            world.actuate_joint(
                "gripper", joint, proportional_gain=HAND_GAIN, derivative_gain=HAND_DAMPING,
                target_position=Sinusoid(grasp.circle_radius, grasp.frequency, phase),
                target_velocity=Sinusoid(speed, grasp.frequency, phase + 0.5 * math.pi),
            )  # fmt: skip
        super().__init__(world, period, approximation)
        self._grasp = grasp

    def figures(self) -> list[str]:
        sim = self.simulator
        return finish(self, lambda: -self._grasp.arm - float(sim.state("rod").position[2]), sim.time, sim.period)


# --- gears -----------------------------------------------------------------------------------------------------


def gears(**numbers: float) -> Finger:
    """The whole finger, wound up for 30 ms and then driven; one effort limit, as Drake's is no function of time."""
    return Finger(loading_effort=6e-3, driving_effort=6e-3, loading_time=0.03 - 1e-6, **numbers)


def gear_figures(motor: float, link: float, slide: float, finger: Finger) -> list[str]:
    """Angles of motor and link, and how far the gear is pressed into the washer."""
    return [f"{motor:.3f}", f"{1e3 * link:.3f}", f"{1e6 * (-slide - finger.clutch_gap):.2f}"]


class OwnGears(OwnSimulation):
    """The scene of `barrett_finger`."""

    def __init__(self, finger: Finger, period: float, approximation: str) -> None:
        super().__init__(finger.world(), period, approximation)
        self._finger = finger

    def figures(self) -> list[str]:
        joints = (("motor", "turn"), ("finger", "proximal"), ("proximal", "slide"))
        return [*gear_figures(*(self.coordinate(*joint) for joint in joints), self._finger)]


# --- deformable finger -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PushedFinger:
    """A deformable FinRay finger, held by its base, whose gripping wall a rod pushes with a constant force.

    Attributes:
        finger: the mesh.
        elasticity: the material inside; the paper's.
        place: of the rod along the finger, m.
        radius: of the rod (as in `pusher.urdf`), m.
        reach: distance from the rod's middle, along the finger, within which vertices can touch it here [m].
        stiffness: of a vertex against the rod here, N/m; in Drake the rod has a hydroelastic modulus.
        friction: -.
        force: effort limit of the motor that pushes, N.
        gain: of its position controller, N/m, and target, m: so far away that it saturates.
    """

    finger: FinRay = field(default_factory=FinRay)
    elasticity: Elasticity = field(default_factory=Elasticity)
    place: float = 0.05
    radius: float = 0.012
    reach: float = 0.015
    stiffness: float = 1e5
    friction: float = 0.7
    force: float = 4.0
    gain: float = 1e3
    target: float = 1.0

    @property
    def start(self) -> np.ndarray:
        """Position of the rod that touches the wall [m], shape (3,)."""
        return np.array([self.place, -self.radius, 0.0])

    @property
    def mesh(self) -> TetrahedralMesh:
        """At rest."""
        return self.finger.mesh()[0]

    @property
    def watched(self) -> np.ndarray:
        """Numbers of two vertices of the gripping wall in the middle of its width: under the rod, and at the tip."""
        mesh, front, _ = self.finger.mesh()
        x, _, z = mesh.vertices[front].T
        return front[[np.lexsort((np.abs(z), np.abs(x - at)))[0] for at in (self.place, self.finger.length)]]

    def figures(self, positions: np.ndarray) -> list[str]:
        """Formats the displacements of the watched vertices [mm], given the positions (n, 3) of all vertices [m]."""
        moved = (positions - self.mesh.vertices)[self.watched, 1]
        return [f"{1e3 * y:.3f}" for y in moved]


class OwnFinger(OwnSimulation):
    """The base is a mount that is welded to a fixed stand; vertices near the rod can touch it."""

    def __init__(self, scene: PushedFinger, period: float, approximation: str) -> None:
        world = World()
        mesh, front, base = scene.finger.mesh()
        near = front[np.abs(mesh.vertices[front, 0] - scene.place) < scene.reach]
        surface = Material(stiffness=2.0 * scene.stiffness, friction=scene.friction)
        world.add_deformable(
            "finger", mesh, elasticity=scene.elasticity, contact=near, attached=base, material=surface,
            contact_radius=1e-5,
        )  # fmt: skip
        world.weld("finger/mount", world.add_body("stand", fixed=True))
        world.add_urdf("pusher", PUSHER, position=scene.start, material=surface)
        world.actuate_joint(
            "pusher", "slide", proportional_gain=scene.gain, target_position=scene.target, effort_limit=scene.force
        )
        super().__init__(world, period, approximation)
        self._scene = scene

    def figures(self) -> list[str]:
        return self._scene.figures(self.simulator.deformed("finger"))


#: what simulates a scene, by the scene's kind
SIMULATIONS = {Patch: OwnPatch, Grasp: OwnGrasp, Finger: OwnGears, PushedFinger: OwnFinger}
