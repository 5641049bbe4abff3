"""A finger with a clutch that releases one joint when it is blocked (Castro et al., section XII-C, Figs. 23 and 24).

One motor drives both joints of a finger through worm drives. The proximal gear is a nut on a thread of the proximal
worm's shaft. Screwed down, it presses on a washer, whose friction locks it to the shaft: the clutch is engaged. When
the proximal link is blocked, the torque in the clutch grows until the gear slips, unscrews and leaves the washer. The
motor then moves the distal joint alone, and the friction of the proximal worm holds the blocked link.

The paper gives the motor's speed and effort limits, the step, the frictions, and the order of events. All other numbers
are chosen here: module 0.5 mm; a pinion of 8 teeth, which moves a quarter of a tooth's thickness in the paper's step;
gears of 20 and 15 teeth and wheels of 50. The motor makes 125 revolutions for one of the proximal link and 93.75
for one of the distal wheel. The thread is left-handed with a lead of 0.5 mm.

Seven degrees of freedom: motor; proximal worm; proximal gear on its thread ("wind", and "slide", which a holonomic
screw couples to it); proximal link with its wheel; distal worm; distal wheel; distal link. The pulley, another
holonomic constraint, couples the last two.

Frames: z along the shafts, y along the axes of wheels and joints, the origin in the middle of the proximal worm.
There is no gravity: the finger closes in a horizontal plane.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from convex_contact.model.joints import StepFunction
from convex_contact.model.materials import Material
from convex_contact.model.pressure_fields import Hydroelastic
from convex_contact.model.shapes import Capsule, Cylinder
from convex_contact.model.world import Geometry, Pose, World
from convex_contact.model.world_source import scene_world
from convex_contact.problem import checks
from convex_contact.scenes.gear_meshes import SpurGear, Worm, attach_mesh, ring

_DATA = Path(__file__).parents[1] / "data"
MODULE, SPUR_ANGLE, WORM_ANGLE = 0.5e-3, math.radians(25.0), math.radians(20.0)
PINION_TEETH, PROXIMAL_TEETH, DISTAL_TEETH, WHEEL_TEETH = 8, 20, 15, 50
#: profile shift of the pinion, which keeps its teeth from being undercut; the gears have the opposite one
SHIFT = 0.3
#: widths of pinion, gears and wheels, m
PINION_WIDTH, GEAR_WIDTH, WHEEL_WIDTH = 3.5e-3, 2e-3, 2e-3
#: pitch radius of the worms, m
WORM_RADIUS = 2.5e-3
#: height of the gears over the middle of the worms, and from the proximal to the distal shaft, m
GEAR_HEIGHT, SHAFT_DISTANCE = 12e-3, 11e-3
#: lead of the thread, m, left-handed; inner and outer radius of the gear's friction face on the washer, m
THREAD_LEAD, RING = 0.5e-3, (2.5e-3, 3.5e-3)
#: radius and thickness of the washer, m; from the gear's middle down to its face, m
WASHER, FACE = (5e-3, 0.8e-3), 1.5e-3
#: length of the proximal link, its radius and that of the obstacle, position of the obstacle along the link, m
LINK, THICKNESS, REACH = 0.07, 5e-3, 0.05
#: inertia of the rotor, and of the distal shaft with its gear, kg m^2
ROTOR, DISTAL_SHAFT = 5e-8, 1.5e-8
#: angle between distal joint and proximal link at the start, in teeth of the distal wheel
DISTAL_START = 2
#: rotation that moves an axis along z to y and keeps x: a quarter turn about x, quaternion (x, y, z, w)
ACROSS = (-math.sqrt(0.5), 0.0, 0.0, math.sqrt(0.5))

_MAY_VANISH = ("clutch_friction", "friction_ratio", "dissipation", "backlash", "clutch_gap", "joint_damping")


#: rotations of the motor per rotation of the proximal worm, and of the proximal link
WORM_RATIO, LINK_RATIO = PROXIMAL_TEETH / PINION_TEETH, PROXIMAL_TEETH / PINION_TEETH * WHEEL_TEETH


def meshing_frequencies(rate: float) -> dict[str, float]:
    """Returns the meshing frequencies of the proximal drive, "worm" and "pinion" [Hz], at a rate of the motor [1/s]."""
    return {"worm": rate / WORM_RATIO, "pinion": rate * PINION_TEETH}


@dataclass(frozen=True)
class Finger:
    """Parameters of the scene.

    Attributes:
        motor_speed: of the motor [rad/s].
        loading_effort: limit of its effort while it loads the clutch [N m].
        driving_effort: limit while it drives [N m].
        motor_gain: derivative gain of its controller [N m s/rad].
        loading_time: time at which it is reversed [s].
        clutch_friction: between proximal gear and washer.
        friction_ratio: friction of the worms over the tangent of their lead angle; above 1 they hold their wheels.
        clutch_gap: from the gear to the washer at the start [m].
        clutch_modulus: hydroelastic modulus of the washer [Pa].
        obstacle_angle: of the proximal link when it meets the obstacle [rad].
        obstacle_stiffness: [N/m].
        modulus: hydroelastic modulus of the compliant teeth [Pa].
        dissipation: Hunt and Crossley's, of all contacts [s/m].
        joint_damping: of both finger joints, the load that the motor drives against [N m s/rad].
        backlash: of every pair of teeth at the pitch line [m].
        slices: edges of a worm per revolution, a whole number.
        flank: edges of a flank of wheels and gears, a whole number.
    """

    motor_speed: float = 200.0
    loading_effort: float = 6.0e-3
    driving_effort: float = 6.6e-3
    motor_gain: float = 1e-4
    loading_time: float = 0.05
    clutch_friction: float = 1.0
    friction_ratio: float = 1.05
    clutch_gap: float = 0.1e-3
    clutch_modulus: float = 6e6
    obstacle_angle: float = 0.33
    obstacle_stiffness: float = 2e4
    modulus: float = 5e8
    dissipation: float = 5.0
    joint_damping: float = 0.05
    backlash: float = 30e-6
    slices: int = 64
    flank: int = 10

    def __post_init__(self) -> None:
        for field in fields(self):
            may_vanish = field.name in _MAY_VANISH
            minimum, above = (0.0, None) if may_vanish else (None, 0.0)
            checks.number(field.name, getattr(self, field.name), minimum=minimum, above=above)
        if not self.backlash <= 0.2 * MODULE:
            raise ValueError(f"backlash: expected at most {0.2 * MODULE:g} m, got {self.backlash!r}")

    # --- gears -----------------------------------------------------------------------------------------------

    @property
    def worm(self) -> Worm:
        """Shape of both worms."""
        return Worm(MODULE, WORM_ANGLE, WORM_RADIUS, backlash=self.backlash, slices=int(self.slices))

    @property
    def wheel(self) -> SpurGear:
        """Shape of both worm wheels, with a gap at the worm."""
        lead = self.worm.lead_angle
        return SpurGear(
            WHEEL_TEETH, MODULE, WORM_ANGLE, WHEEL_WIDTH, helix_angle=lead, flank=int(self.flank),
            phase=math.pi + math.pi / WHEEL_TEETH,
        )  # fmt: skip

    @property
    def worm_friction(self) -> float:
        """Friction coefficient mu of the worms, (ratio) tan(lead angle)."""
        return self.friction_ratio * math.tan(self.worm.lead_angle)

    @property
    def pinion(self) -> SpurGear:
        """Shape of the motor's pinion."""
        return SpurGear(
            PINION_TEETH, MODULE, SPUR_ANGLE, PINION_WIDTH, shift=SHIFT, addendum=0.9, backlash=self.backlash,
            flank=12,
        )  # fmt: skip

    def gear(self, teeth: int, direction: float) -> SpurGear:
        """Returns the gear that the pinion drives, in a direction [rad] from the pinion."""
        made = SpurGear(teeth, MODULE, SPUR_ANGLE, GEAR_WIDTH, shift=-SHIFT, addendum=1.0, flank=int(self.flank))
        phase = self.pinion.conjugate_phase(made, direction)
        return SpurGear(**{f.name: getattr(made, f.name) for f in fields(made)} | {"phase": phase})

    # --- closed forms ----------------------------------------------------------------------------------------

    @property
    def clutch_radius(self) -> float:
        """Lever arm (2/3) (R^3 - r^3)/(R^2 - r^2) of the friction of a ring under even pressure [m]."""
        r, R = RING
        return 2.0 / 3.0 * (R**3 - r**3) / (R**2 - r**2)

    def clutch_force(self, torque: float) -> float:
        """Returns the force T/(p/2 pi + mu r) [N] of the gear on the washer that a torque [N m] produces."""
        return torque / (THREAD_LEAD / math.tau + self.clutch_friction * self.clutch_radius)

    def breakaway_torque(self, force: float) -> float:
        """Returns the torque F (mu r - p/2 pi) [N m] that unscrews a gear pressed on the washer with a force F [N]."""
        return force * (self.clutch_friction * self.clutch_radius - THREAD_LEAD / math.tau)

    # --- scene -----------------------------------------------------------------------------------------------

    @property
    def pinion_play(self) -> float:
        """Rotation of the pinion by its backlash at both ends of a motion [rad]: teeth may be anywhere in it."""
        return 2.0 * self.backlash / (MODULE * PINION_TEETH / 2)

    @property
    def motor_position(self) -> tuple[float, float]:
        """x and y of the motor's axis [m]."""
        near, far = ((PINION_TEETH + z) * MODULE / 2 for z in (PROXIMAL_TEETH, DISTAL_TEETH))
        y = (near**2 - far**2 + SHAFT_DISTANCE**2) / (2.0 * SHAFT_DISTANCE)
        return -math.sqrt(near**2 - y**2), y

    def world(self) -> World:
        """Makes the scene: trees "motor", "proximal", "distal" (shafts) and "finger", and the body "obstacle"."""
        world = World((0.0, 0.0, 0.0))
        x, y = self.motor_position
        world.add_urdf("motor", _DATA / "shaft.urdf", position=(x, y, 0.0), armature=ROTOR)
        world.add_urdf("proximal", _DATA / "threaded_shaft.urdf")
        world.add_urdf("distal", _DATA / "shaft.urdf", position=(0.0, SHAFT_DISTANCE, 0.0), armature=DISTAL_SHAFT)
        center = WORM_RADIUS + self.wheel.pitch_radius
        begin = DISTAL_START * math.tau / WHEEL_TEETH
        world.add_urdf(
            "finger",
            _DATA / "worm_driven_finger.urdf",
            position=(center, 0.0, 0.0),
            q=(0.0, begin, begin),
            damping=(self.joint_damping, self.joint_damping, 0.0),
        )
        world.couple_joints("proximal", "slide", "wind", ratio=-THREAD_LEAD / math.tau)
        world.couple_joints("finger", "distal", "wheel")
        reversal_times = (self.loading_time,)
        world.actuate_joint(
            "motor",
            "turn",
            proportional_gain=0.0,
            derivative_gain=self.motor_gain,
            target_velocity=StepFunction(reversal_times, (-self.motor_speed, self.motor_speed)),
            effort_limit=StepFunction(reversal_times, (self.loading_effort, self.driving_effort)),
        )
        self._add_meshes(world)
        self._add_link_and_obstacle(world, center)
        pairs = {
            ("motor/shaft", "proximal/gear"): 0.0,
            ("motor/shaft", "distal/shaft"): 0.0,
            ("proximal/worm", "proximal/gear"): self.clutch_friction,
            ("proximal/worm", "finger/proximal"): self.worm_friction,
            ("distal/shaft", "finger/distal_wheel"): self.worm_friction,
            ("finger/proximal", "obstacle"): 0.0,
        }
        meeting = {tuple(sorted((world.number(a), world.number(b)))) for a, b in pairs}
        for i in range(len(world.bodies)):
            for j in range(i):
                if (j, i) not in meeting:
                    world.disable_pair(i, j)
        for (a, b), friction in pairs.items():
            stiffness = self.obstacle_stiffness if b == "obstacle" else None
            world.set_pair(a, b, friction=friction, dissipation=self.dissipation, relaxation_time=0.0,
                           stiffness=stiffness)  # fmt: skip
        return world

    def _add_meshes(self, world: World) -> None:
        x, y = self.motor_position
        proximal = self.gear(PROXIMAL_TEETH, math.atan2(-y, -x))
        distal = self.gear(DISTAL_TEETH, math.atan2(SHAFT_DISTANCE - y, -x))
        above = (0.0, 0.0, GEAR_HEIGHT)
        worm, wheel = self.worm.mesh(self.modulus), self.wheel.mesh()
        attach_mesh(world, "motor/shaft", self.pinion.mesh(self.modulus), above)
        attach_mesh(world, "proximal/gear", proximal.mesh(), above)
        face = ring(*RING, -FACE, 0.5 * GEAR_WIDTH - FACE, around=24)
        attach_mesh(world, "proximal/gear", face, above)
        attach_mesh(world, "distal/shaft", distal.mesh(), above)
        for shaft in ("proximal/worm", "distal/shaft"):
            attach_mesh(world, shaft, worm, (0.0, 0.0, 0.0))
        attach_mesh(world, "finger/proximal", wheel, (0.0, 0.0, 0.0), ACROSS)
        attach_mesh(world, "finger/distal_wheel", wheel, (0.0, SHAFT_DISTANCE, 0.0), ACROSS)
        radius, thickness = WASHER
        middle = GEAR_HEIGHT - FACE - self.clutch_gap - 0.5 * thickness
        washer = Geometry(
            Cylinder(radius, thickness), Pose(np.array([0.0, 0.0, middle])), Material(),
            Hydroelastic(self.clutch_modulus, 0.5 * radius),
        )  # fmt: skip
        world.bodies[world.number("proximal/worm")].geometries.append(washer)

    def _add_link_and_obstacle(self, world: World, center: float) -> None:
        along = np.array([0.0, math.sqrt(0.5), 0.0, math.sqrt(0.5)])
        link = Geometry(Capsule(THICKNESS, LINK), Pose(np.array([0.5 * LINK, 0.0, 0.0]), along), Material())
        world.bodies[world.number("finger/proximal")].geometries.append(link)
        tip = Geometry(Capsule(THICKNESS, 0.05), Pose(np.array([0.025, 0.0, 0.0]), along), Material())
        world.bodies[world.number("finger/distal")].geometries.append(tip)
        c, s = math.cos(self.obstacle_angle), math.sin(self.obstacle_angle)
        beside = 2.0 * THICKNESS
        world.add_sphere(
            "obstacle", radius=THICKNESS, fixed=True,
            position=(center + REACH * c - beside * s, 0.0, -REACH * s - beside * c),
        )  # fmt: skip


def barrett_finger(**numbers: Any) -> World:
    """Makes the scene with other numbers than those of :class:`Finger`.

    Raises:
        WorldError: there is no such number, or it is impossible.
    """
    return scene_world(Finger, "finger", numbers)
