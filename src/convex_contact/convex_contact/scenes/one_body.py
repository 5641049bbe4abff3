"""The paper's three scenes with one body (sections XI-A to XI-C), with the numbers of its text.

Each function returns a world with a moving body "box", "ball" or "rod". Pairs have the combined values.
"""

from __future__ import annotations

import math

import numpy as np

from convex_contact.model.materials import Material
from convex_contact.model.shapes import Sphere
from convex_contact.model.world import Geometry, Pose, World
from convex_contact.scenes.closed_forms import gliding_time

#: combined stiffness of all three scenes, N/m
STIFFNESS = 1e7
#: amplitude (m) and angular frequency (rad/s) of the belt
BELT_AMPLITUDE, BELT_FREQUENCY = 0.2, 2.0 * math.pi
#: sliding speed at the start of the ball and of the rod, m/s
BALL_SPEED, ROD_SPEED = 2.0, 10.0
#: side (m), mass (kg), friction coefficient and relaxation time (s) of the box on the belt
BOX_SIDE, BOX_MASS, BOX_FRICTION, BOX_RELAXATION_TIME = 0.05, 1.0, 0.7, 1e-3
#: radius (m), mass (kg) and friction coefficient of the ball
BALL_RADIUS, BALL_MASS, BALL_FRICTION = 0.025, 0.5, 0.5
ROD_FRICTION = 2.3
GRAVITY = 9.81


def conveyor_belt() -> World:
    """Makes a world with a box of 1 kg and 5 cm on an oscillating belt, v = A w sin(w t) (Figs. 2 to 4)."""
    world, side, mass = World((0.0, 0.0, -GRAVITY)), BOX_SIDE, BOX_MASS

    def motion(time: float) -> tuple[float, ...]:
        return (BELT_AMPLITUDE * BELT_FREQUENCY * math.sin(BELT_FREQUENCY * time), 0.0, 0.0, 0.0, 0.0, 0.0)

    world.add_half_space("belt", motion=motion)
    height = 0.5 * side - mass * GRAVITY / (4.0 * STIFFNESS)  # at rest on its four corners
    world.add_box("box", mass=mass, size=(side,) * 3, inertia=mass * side**2 / 6.0, position=(0.0, 0.0, height))
    world.set_pair(
        "belt", "box", stiffness=STIFFNESS, dissipation=500.0, relaxation_time=BOX_RELAXATION_TIME,
        friction=BOX_FRICTION,
    )  # fmt: skip
    return world


def falling_sphere(height: float = 0.05) -> World:
    """Makes a world with a ball of 0.5 kg and 2.5 cm radius that falls, slides and rolls (Figs. 5 to 7).

    Args:
        height: of its centre at the start [m].
    """
    world = World((0.0, 0.0, -GRAVITY))
    world.add_half_space("floor")
    world.add_sphere(
        "ball", mass=BALL_MASS, radius=BALL_RADIUS, position=(0.0, 0.0, height), velocity=(BALL_SPEED, 0.0, 0.0)
    )
    world.set_pair(
        "floor", "ball", stiffness=STIFFNESS, dissipation=500.0, relaxation_time=1e-3, friction=BALL_FRICTION
    )
    return world


def sliding_rod(
    approximation: str = "lagged", period: float = 1e-5, dissipation: bool = True, raised: bool = True
) -> World:
    """Makes a world with a rod of 0.3 kg and 0.5 m that slides on its tip, sticks and jumps (Figs. 8 to 13).

    The jump is Painleve's paradox.

    Args:
        approximation: determines the gap at the start.
        period: dt [s]; determines the gap, too.
        dissipation: with d = 0.2 s/m and tau_d = 4e-6 s, else without.
        raised: SAP and Similar start at their gliding distance (Table I), without which they accelerate the rod upwards
            to about mu |v_t| in the first step; else touching.
    """
    world, mass, length, radius, pitch = World((0.0, 0.0, -GRAVITY)), 0.3, 0.5, 0.005, math.radians(30.0)
    d, relaxation_time = (0.2, 4e-6) if dissipation else (0.0, 0.0)
    gap = ROD_FRICTION * gliding_time(approximation, period, relaxation_time) * ROD_SPEED if raised else 0.0
    arm = 0.5 * length - radius
    across = mass * (3.0 * radius**2 + length**2) / 12.0
    world.add_half_space("floor")
    world.add_body(
        "rod",
        geometries=[Geometry(Sphere(radius), Pose(np.array([x, 0.0, 0.0])), Material()) for x in (arm, -arm)],
        mass=mass,
        inertia=(0.5 * mass * radius**2, across, across),
        center=(0.0, 0.0, 0.0),
        position=(0.0, 0.0, arm * math.sin(pitch) + radius + gap),
        orientation=(0.0, math.sin(0.5 * pitch), 0.0, math.cos(0.5 * pitch)),
        velocity=(ROD_SPEED, 0.0, 0.0),
    )
    world.set_pair(
        "floor", "rod", stiffness=STIFFNESS, dissipation=d, relaxation_time=relaxation_time, friction=ROD_FRICTION
    )
    return world
