"""An arm that moves a ball on a plane to a target (Castro et al., section XII-D, Fig. 25; Kurtz and Lin, IROS 2022).

The contact sequence is not given: `ilqr` finds inputs with the derivatives of steps with contact. The arm
has three joints and a ball as hand (`data/pushing_arm.urdf`) instead of the paper's Kinova Gen3 with seven joints and
hydroelastic contact, and the contacts are points. Steps of 10 ms over 0.5 s are the paper's.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import InitVar, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin

from convex_contact.control.actuated_world import ActuatedWorld
from convex_contact.control.ilqr import Iteration, QuadraticCost, Trajectory, optimize
from convex_contact.model.world import World, WorldError
from haptic_files.moved_modules import RenamedMember

ARM = Path(__file__).parents[1] / "data" / "pushing_arm.urdf"
#: dt (s) and number of steps
PERIOD, STEPS = 0.01, 50
GRAVITY = 9.81
#: ball: kg, m, start on the floor (x, y), m; hand: m
BALL_MASS, BALL_RADIUS, BALL_START, HAND_RADIUS = 0.3, 0.06, (0.40, 0.0), 0.04
#: height of the arm's shoulder (m), and its joints at the start (rad)
SHOULDER, POSTURE = 0.25, (0.0, -0.3755, 1.943)
#: combined values of all pairs: s/m; s
DISSIPATION, RELAXATION_TIME = 0.2, 0.01
#: the first guess holds the arm, and adds this effort at the elbow for a number of steps: N m
NUDGE, NUDGE_STEPS = -1.0, 20
#: body with the arm's hand, and position of the hand in it, m
HAND, HAND_PLACE = "arm/lower", (0.3, 0.0, 0.0)


@dataclass(frozen=True)
class Weights:
    """Weights of the cost, per step or at the end.

    Attributes:
        target: of the ball's position on the plane at the end [1/m^2].
        rest: of the ball's velocity at the end [(s/m)^2].
        position: of the ball's position on the plane in each step [1/m^2].
        joints: of the joints' velocities in each step [(s/rad)^2]; a hundred times as much at the end.
        effort: of the efforts in addition to gravity compensation [1/(N m)^2].
    """

    target: float = 5e3
    rest: float = 5.0
    position: float = 1.0
    joints: float = 1e-2
    effort: float = 1e-3
    way: InitVar[float | None] = None  #: old name of `position`

    def __post_init__(self, former: float | None) -> None:
        if former is not None:
            warnings.warn("Weights: way has been renamed; use position", DeprecationWarning, stacklevel=3)
            object.__setattr__(self, "position", former)


setattr(Weights, "way", RenamedMember("position"))  # noqa: B010


@dataclass(frozen=True)
class Push:
    """Trajectory optimisation problem.

    Attributes:
        system: steps and derivatives.
        cost: quadratic.
        guess: first inputs (STEPS, 3) [N m].
        limit: of each effort [N m].
        target: of the ball on the plane (2,) [m].
    """

    system: ActuatedWorld
    cost: QuadraticCost
    guess: np.ndarray
    limit: float
    target: np.ndarray

    def solve(
        self,
        *,
        max_iterations: int = 100,
        tolerance: float = 1e-3,
        report: Callable[[int, Iteration], None] | None = None,
    ) -> Trajectory:
        """Optimises from the guess."""
        return optimize(
            self.system, self.cost, self.system.start, self.guess, lower=-self.limit, upper=self.limit,
            max_iterations=max_iterations, tolerance=tolerance, report=report,
        )  # fmt: skip

    def ball_path(self, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Returns position (n, 3) [m] and velocity (n, 3) [m/s] of the ball's centre in n states."""
        path, speed = [], []
        for x in states:
            self.system.set_state(x)
            state = self.system.simulator.state("ball")
            path.append(state.position)
            speed.append(state.velocity)
        return np.array(path), np.array(speed)

    def arm_points(self, states: np.ndarray) -> np.ndarray:
        """Returns the positions of shoulder, elbow and hand in n states (n, 3, 3) [m]."""
        points = []
        for x in states:
            self.system.set_state(x)
            state = self.system.simulator.state(HAND)
            rotation = pin.Quaternion(state.orientation).matrix()
            points.append([(0.0, 0.0, SHOULDER), state.position, state.position + rotation @ HAND_PLACE])
        return np.array(points)


@dataclass(frozen=True)
class Touch:
    """Consecutive steps in which two bodies press on each other.

    Attributes:
        bodies: their names.
        first, last: numbers of the steps.
        force: largest normal force [N].
        sticking: fraction of the steps in which they stick.
    """

    bodies: tuple[str, str]
    first: int
    last: int
    force: float
    sticking: float


def pushing_world(*, stiffness: float = 2e3, friction: float = 0.5) -> World:
    """Makes a world with floor, arm and ball at rest.

    Args:
        stiffness: combined, of all pairs [N/m].
        friction: combined, of all pairs.
    """
    world = World((0.0, 0.0, -GRAVITY))
    world.add_half_space("floor")
    world.add_urdf("arm", ARM, position=(0.0, 0.0, SHOULDER), q=POSTURE)
    height = BALL_RADIUS - BALL_MASS * GRAVITY / stiffness
    world.add_sphere("ball", mass=BALL_MASS, radius=BALL_RADIUS, position=(*BALL_START, height))
    for pair in (("floor", "ball"), (HAND, "ball"), ("floor", HAND)):
        world.set_pair(
            *pair, stiffness=stiffness, dissipation=DISSIPATION, relaxation_time=RELAXATION_TIME, friction=friction
        )
    return world


def push(
    *,
    target_x: float = 0.55,
    target_y: float = 0.12,
    effort_limit: float = 20.0,
    stiffness: float = 2e3,
    friction: float = 0.5,
    approximation: str = "lagged",
    stiction_tolerance: float = 1e-2,
    weights: Weights | None = None,
) -> Push:
    """Makes the optimisation problem.

    Args:
        target_x: of the ball [m].
        target_y: of the ball [m].
        effort_limit: of each joint [N m].
        stiffness: of all contacts [N/m].
        friction: of all contacts.
        approximation: of contact.
        stiction_tolerance: v_s [m/s].
        weights: of the cost.

    Raises:
        WorldError: a number is impossible.
    """
    for name, value in (("effort_limit", effort_limit), ("stiffness", stiffness)):
        if not 0.0 < value < math.inf:
            raise WorldError(f"{name}: expected a positive number, got {value}")
    if not math.isfinite(target_x + target_y):
        raise WorldError(f"target_x, target_y: expected finite numbers, got {target_x}, {target_y}")
    w = weights or Weights()
    world = pushing_world(stiffness=stiffness, friction=friction)
    system = ActuatedWorld(world, period=PERIOD, approximation=approximation, stiction_tolerance=stiction_tolerance)
    place, motion = system.slices("ball")
    joints = slice(system.tangent // 2, system.tangent // 2 + system.inputs)
    running, final = np.zeros(system.tangent), np.zeros(system.tangent)
    running[place][:2], running[joints] = w.position, w.joints
    final[place][:2], final[motion][:3], final[joints] = w.target, w.rest, 100.0 * w.joints
    height = BALL_RADIUS - BALL_MASS * GRAVITY / stiffness
    hold = system.holding(system.start)
    cost = QuadraticCost(
        system, system.goal(ball=(target_x, target_y, height)), state=running, final=final,
        input=np.full(system.inputs, w.effort), input_reference=hold,
    )  # fmt: skip
    guess = np.tile(hold, (STEPS, 1))
    guess[:NUDGE_STEPS, 2] += NUDGE
    return Push(system, cost, guess, effort_limit, np.array([target_x, target_y]))


def arm_pushes_ball(max_iterations: float = 100, tolerance: float = 1e-3, **numbers: Any) -> World:
    """Optimises the inputs and makes the world in which the arm's drive plays them.

    Args:
        max_iterations: of the optimisation.
        tolerance: of the optimisation.
        **numbers: of :func:`push`.

    Raises:
        WorldError: a number is impossible.
    """
    try:
        problem = push(**numbers)
        problem.system.play(problem.solve(max_iterations=int(max_iterations), tolerance=tolerance).inputs)
    except TypeError as error:
        raise WorldError(str(error)) from None
    return problem.system.world


def touches(system: ActuatedWorld, found: Trajectory) -> list[Touch]:
    """Returns the contacts of a motion in the order in which they begin, without those of floor and ball."""
    seen: dict[tuple[str, str], list[tuple[int, float, bool]]] = {}
    names = [body.name for body in system.world.bodies]
    for k, (x, u) in enumerate(zip(found.states[:-1], found.inputs, strict=True)):
        report = system.contacts(x, u)
        for (a, b), impulse, sticks in zip(report.body, report.impulse, report.sticking, strict=True):
            pair = (names[a], names[b])
            if impulse[2] > 0.0 and set(pair) != {"floor", "ball"}:
                seen.setdefault(pair, []).append((k, float(impulse[2]) / system.period, bool(sticks)))
    out = []
    for pair, steps in seen.items():
        numbers = np.array([k for k, _, _ in steps])
        for part in np.split(np.arange(len(steps)), np.flatnonzero(np.diff(numbers) > 1) + 1):
            force, sticking = max(steps[i][1] for i in part), float(np.mean([steps[i][2] for i in part]))
            out.append(Touch(pair, int(numbers[part[0]]), int(numbers[part[-1]]), force, sticking))
    return sorted(out, key=lambda touch: touch.first)
