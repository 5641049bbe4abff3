"""A gripper that holds a rod and moves it along a horizontal circle (Castro et al., section XII-B, Figs. 20 to 22).

The paper gives the rod's density, the radius of the circle, and its dissipations; all other numbers are chosen here: a
bar of 20 x 20 x 150 mm, held 15 mm below its upper end, with a compound-pendulum frequency of 1.65 Hz, and a gripper
with the stroke, masses and effort of a Franka hand (`data/parallel_gripper.urdf`). One motor closes both fingers: the
target of its PD controller is a closed gripper, and it saturates, so that each pad presses with half its effort limit.
A coupler keeps the fingers symmetric. The simulation starts in a steady state: the pads are loaded, the rod hangs and
has the hand's velocity.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from convex_contact.model.joints import Sinusoid
from convex_contact.model.world import World
from convex_contact.model.world_source import scene_world
from convex_contact.problem import checks
from convex_contact.simulation.simulator import Simulator

GRIPPER = Path(__file__).parents[1] / "data" / "parallel_gripper.urdf"
GRAVITY = 9.81
#: number of contact elements of a pad, and distance of the outermost from its middle, m
ELEMENTS, PAD = 9, 0.008
#: distance from the pads' middle up to the palm, m
PALM = 0.05
#: time without force from the pads after which the rod is lost, s: it has fallen 5 cm
LOST = 0.1
#: gains of the fingers' PD controller: N/m, N s/m
PROPORTIONAL_GAIN, DERIVATIVE_GAIN = 5e3, 20.0
#: inertia of the motor reflected to either finger, kg
ROTOR = 0.2


@dataclass(frozen=True)
class Grasp:
    """Parameters of the scene.

    Attributes:
        frequency: of the circle [Hz]; 0: the hand is at rest.
        circle_radius: [m].
        length: of the rod [m].
        width: of its square section [m].
        density: [kg/m^3].
        overhang: from the pads' middle to the rod's upper end [m].
        effort_limit: of the motor that closes both fingers [N].
        stiffness: combined, of each of the nine contact elements of a pad [N/m].
        dissipation: combined, Hunt and Crossley's [s/m].
        relaxation_time: combined, of SAP [s].
        friction: combined.
    """

    frequency: float = 1.5
    circle_radius: float = 0.03
    length: float = 0.15
    width: float = 0.02
    density: float = 8000.0
    overhang: float = 0.015
    effort_limit: float = 20.0
    stiffness: float = 2e3
    dissipation: float = 0.0
    relaxation_time: float = 0.0
    friction: float = 0.5

    def __post_init__(self) -> None:
        for name in ("frequency", "circle_radius", "dissipation", "relaxation_time", "friction"):
            checks.number(name, getattr(self, name), minimum=0.0)
        for name in ("length", "width", "density", "effort_limit", "stiffness"):
            checks.number(name, getattr(self, name), above=0.0)
        highest = min(self.length - PAD, PALM)
        if not PAD <= self.overhang <= highest:
            raise ValueError(
                f"overhang: expected {PAD:g} to {highest:g} m, pads on the rod and rod below the palm, "
                f"got {self.overhang!r}"
            )
        if not self.width < 0.08:
            raise ValueError(f"width: expected less than the gripper opens, 0.08 m, got {self.width!r}")

    @property
    def mass(self) -> float:
        """Mass of the rod [kg]."""
        return self.density * self.width**2 * self.length

    @property
    def arm(self) -> float:
        """Distance from the pads' middle down to the rod's centre of mass [m]."""
        return 0.5 * self.length - self.overhang

    @property
    def pendulum_frequency(self) -> float:
        """Frequency of the rod about the line between the pads, sqrt(m g c/(I + m c^2))/(2 pi) [Hz]."""
        about = (self.length**2 + self.width**2) / 12.0 + self.arm**2
        return math.sqrt(GRAVITY * self.arm / about) / math.tau

    @property
    def holding_limit(self) -> float:
        """Largest weight that the hand at rest can hold, 2 mu (effort limit)/2 [N]."""
        return self.friction * self.effort_limit

    @property
    def overlap(self) -> float:
        """Overlap of each pad and the rod when each element has an equal fraction of the grip force [m]."""
        return 0.5 * self.effort_limit / (ELEMENTS * self.stiffness)

    def circle(self, time: np.ndarray) -> np.ndarray:
        """Computes the position of the hand on its circle, x and y [m], at times (n,) [s], shape (n, 2)."""
        angle = 2.0 * np.pi * self.frequency * time
        return self.circle_radius * np.column_stack([np.cos(angle), np.sin(angle)])

    def elongation_limit(self, period: float) -> float:
        """Computes a bound of the hand's distance from its circle [m], in steps of a period dt [s].

        The near-rigid spring is elongated by 5e-4 dt^2 a for the mass that it moves; the bound is four times this, for
        the rod and the fingers.
        """
        return 2e-3 * (period**2) * self.circle_radius * (2.0 * np.pi * self.frequency) ** 2 + 1e-12

    def world(self) -> World:
        """Makes the scene; its rod is the body "rod", its hand the tree "gripper"."""
        world = World((0.0, 0.0, -GRAVITY))
        speed = math.tau * self.frequency * self.circle_radius
        opening = 0.5 * self.width - self.overlap
        world.add_urdf(
            "gripper",
            GRIPPER,
            q=(self.circle_radius, 0.0, opening, opening),
            v=(0.0, speed, 0.0, 0.0),
            armature=(0.0, 0.0, ROTOR, ROTOR),
            self_collision=False,
        )
        for joint, phase in (("slide_x", 0.5 * math.pi), ("slide_y", 0.0)):
            world.move_joint("gripper", joint, Sinusoid(self.circle_radius, self.frequency, phase))
        world.actuate_joint(
            "gripper",
            "left",
            proportional_gain=PROPORTIONAL_GAIN,
            derivative_gain=DERIVATIVE_GAIN,
            target_position=opening - 2.0 * self.effort_limit / PROPORTIONAL_GAIN,
            effort_limit=self.effort_limit,
        )
        world.couple_joints("gripper", "right", "left")
        world.add_box(
            "rod",
            size=(self.width, self.width, self.length),
            mass=self.mass,
            position=(self.circle_radius, 0.0, -self.arm),
            velocity=(0.0, speed, 0.0),
        )
        for link in ("hand", "finger_left", "finger_right"):
            world.set_pair(
                f"gripper/{link}",
                "rod",
                stiffness=self.stiffness,
                dissipation=self.dissipation,
                relaxation_time=self.relaxation_time,
                friction=self.friction,
            )
        return world


def grasp(**numbers: Any) -> World:
    """Makes the scene with other numbers than those of :class:`Grasp`.

    Raises:
        WorldError: there is no such number, or it is impossible.
    """
    return scene_world(Grasp, "grasp", numbers)


@dataclass(frozen=True)
class Hold:
    """Result of a grasp.

    Attributes:
        time_to_failure: last time at which a pad exerted a force on the rod [s]; inf: the rod was held to the end.
        time: of the samples (n,) [s].
        offset: displacement of the rod's centre of mass in the hand since the start (n, 3) [m].
        tilt: of the rod's axis against the vertical (n,) [rad].
        iterations: mean Newton steps per step.
    """

    time_to_failure: float
    time: np.ndarray
    offset: np.ndarray
    tilt: np.ndarray
    iterations: float


def hold(
    scene: Grasp,
    *,
    period: float,
    approximation: str,
    duration: float,
    sample: float = 0.01,
    **options: Any,
) -> Hold:
    """Moves the rod along the circle until it is lost.

    Args:
        scene: parameters of the scene.
        period: dt [s].
        approximation: of :class:`~convex_contact.simulation.simulator.Simulator`.
        duration: largest duration [s].
        sample: time between samples [s]; the nearest multiple of the period.
        **options: arguments of the simulator.

    Raises:
        ConvergenceError: a step failed.
    """
    sim = Simulator(scene.world(), period=period, approximation=approximation, **options)
    rod, hand = sim.world.number("rod"), sim.world.number("gripper/hand")
    start = np.array([0.0, 0.0, -scene.arm])
    every = max(1, round(sample / period))
    held, iterations, steps = 0.0, 0, 0
    rows = [(0.0, 0.0, 0.0, 0.0, 0.0)]
    for k in range(1, round(duration / period) + 1):
        sim.step()
        steps, iterations = k, iterations + sim.statistics.iterations
        impulse = sim.contacts.impulse[:, 2]
        if (impulse > 0.0).any():  # only the hand can touch the rod, and only the rod the hand
            held = sim.time
        if k % every == 0:
            state = sim.state(rod)
            offset = state.position - sim.state(hand).position - start
            x, y, _, _ = state.orientation
            cosine = 1.0 - 2.0 * (x * x + y * y)
            rows.append((sim.time, *offset, math.acos(min(max(cosine, -1.0), 1.0))))
        if sim.time - held > LOST:
            break
    table = np.array(rows)
    lost = held if sim.time - held > LOST else math.inf
    return Hold(lost, table[:, 0], table[:, 1:4], table[:, 4], iterations / max(steps, 1))
