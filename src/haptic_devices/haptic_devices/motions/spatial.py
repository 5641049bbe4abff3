"""Motions of a simulated hand with six degrees of freedom: those of section IV (Faulring et al.), as tables.

All plans start at rest in the device's base frame and are continuous in pose and twist.

- `parallel_parking`: a disk of radius 0.03 m that rolls upright on the plane z = -0.03 m (IV-A, Fig. 8). The tool
  point is its centre. With yaw and roll angles psi and phi the tool's orientation is Rz(psi) Ry(phi); the disk's
  axis is the tool's -y. The heading is the yaw; the disk rolls without slip, phi' = v/r. Three S-shaped cycles forward
  and back move it sideways by 63 mm. Then it rotates on the spot and drives, and the hand pushes it sideways and
  downwards with 20 N.
- `steering`: the same disk, driven through a slalom and along arcs.
- `sphere_tour`: a disk that stays tangent to the sphere of radius 0.05 m about (0, 0, -0.05) m; the tool's z axis
  is the outward normal (IV-B). The path starts at the pole, reaches 60 degrees from it and crosses it once, with spin.
  The hand presses towards the centre with 20 N while it moves and while it rests, and pulls outwards once.
- `guided_push`: a tool on the trough z = y^2 c/2 moves between positions, straight in the x-y plane, and pushes
  bodies in its path; on some paths, and once at rest, the hand presses downwards. Not of the paper.
- `push_and_release`: the end point of a linkage moves on a circle of radius 0.05 m about the origin at 0.3 m/s
  for some seconds, then the hand releases it (IV-C, Fig. 12).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.polynomial import Polynomial

from haptic_core.errors import ParameterError
from haptic_devices.motions.planar import PhaseBuilder, Plan
from haptic_math.profiles import STEP, STEP_INTEGRAL, STEP_RATE, quintic
from haptic_math.quantities import first_entry
from haptic_math.rotations import quaternion_product

#: columns of SpatialPlan.table, and their number
POSITION, QUATERNION, TWIST, WRENCH, GRIP = slice(0, 3), slice(3, 7), slice(7, 13), slice(13, 19), 19
COLUMN_COUNT = 20
#: other groups of these columns: position and quaternion, the parts of twist and wrench, the quaternion's scalar part
POSE, VELOCITY, ANGULAR_VELOCITY, FORCE = slice(0, 7), slice(7, 10), slice(10, 13), slice(13, 16)
QUATERNION_W = 6

#: radius of the disk that rolls [m], section IV-A
DISK_RADIUS = 0.03
#: radius of the sphere [m], section IV-B; its pole is the origin
SPHERE_RADIUS = 0.05
#: c of the trough z = c y^2/2 [1/m]
GUIDE_CURVATURE = 4.0
#: radius of the circle about the origin [m], and speed on it [m/s], section IV-C and Fig. 12
CIRCLE_RADIUS, CIRCLE_SPEED = 0.05, 0.3
#: extra force of the hand [N]
PUSH = 20.0

#: error of a quaternion's length that counts as rounding
_QUATERNION_ROUNDING = 0.01
#: largest angle of the sphere's normal from the vertical in the tour [rad]
_STEEPEST = np.radians(60.0)
#: duration of the ramps of an extra wrench at its start and end [s]
_RAMP = 0.4
#: time in which the hand releases the tool [s]
_RELEASE_TIME = 0.05


@dataclass(frozen=True)
class SpatialPlan(Plan):
    """A plan with six degrees of freedom, in the device's base frame.

    Attributes:
        table: shape (n, 20), row k for the time k T: columns POSITION (3) [m] and QUATERNION (4; x, y, z, w) of the
            tool, TWIST (6) [m/s], [rad/s], extra WRENCH (6) [N], [N m], and GRIP, the fraction (0 to 1) of the hand's
            wrench and inertia that acts.

    Raises:
        ParameterError: as for `Plan`, or a quaternion is not of length 1.
    """

    column_count, grip_column = COLUMN_COUNT, GRIP

    def __post_init__(self) -> None:
        super().__post_init__()
        length = np.linalg.norm(self.table[:, QUATERNION], axis=1)
        wrong = np.abs(length - 1.0) > _QUATERNION_ROUNDING
        if wrong.any():
            got = first_entry(wrong, length)
            raise ParameterError(f"table: quaternion (x, y, z, w): expected length 1, got {got}")


def _envelope(t: np.ndarray) -> np.ndarray:
    """Returns factors at times (n,) [s] that rise smoothly from 0 at time 0 to 1 and return to 0 at the last time."""
    return STEP(np.clip(t / _RAMP, 0.0, 1.0)) * STEP(np.clip((t[-1] - t) / _RAMP, 0.0, 1.0))


def about(axis: int, angle: np.ndarray) -> np.ndarray:
    """Returns quaternions (n, 4) of rotations by angles (n,) [rad] about the axis 0, 1 or 2."""
    rows = np.zeros((len(angle), 4))
    rows[:, axis], rows[:, 3] = np.sin(angle / 2), np.cos(angle / 2)
    return rows


def _rows(count: int) -> np.ndarray:
    """Makes rows of a hand that holds the tool at rest at the origin."""
    rows = np.zeros((count, COLUMN_COUNT))
    rows[:, QUATERNION_W], rows[:, GRIP] = 1.0, 1.0
    return rows


class _SpatialBuilder(PhaseBuilder):
    """Builds a plan from rows; starts with a rest at the first row."""

    def __init__(self, period: float, first: np.ndarray) -> None:
        super().__init__(period)
        self._last = first
        self.hold("start", 0.3)

    def rows(self, name: str, kind: str, rows: np.ndarray) -> None:
        self._append(name, kind, rows)
        self._last = rows[-1]

    def hold(self, name: str, duration: float, force: np.ndarray | None = None, kind: str = "rest") -> None:
        """Rests at the present pose and, if a force (3,) [N] is given, exerts it."""
        t = self._times(duration)
        rows = np.tile(self._last, (len(t), 1))
        rows[:, TWIST] = rows[:, WRENCH] = 0.0
        if force is not None:
            rows[:, FORCE] = _envelope(t)[:, None] * force
        self.rows(name, kind, rows)

    def build(self) -> SpatialPlan:
        return SpatialPlan(self.period, np.concatenate(self._blocks), tuple(self._phases))


# ---- a disk that rolls ----------------------------------------------------------------------------

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(6)


class _Roller(_SpatialBuilder):
    """Builds poses of a disk that rolls without slip from headings and distances."""

    def __init__(self, period: float, position: tuple[float, float] = (0.0, 0.0)) -> None:
        self.position, self.heading, self.roll = np.array(position), 0.0, 0.0
        super().__init__(period, self._disk(np.zeros((1, 2)) + position, np.zeros(1), np.zeros(1))[0])

    @staticmethod
    def _disk(position: np.ndarray, heading: np.ndarray, roll: np.ndarray) -> np.ndarray:
        rows = _rows(len(position))
        rows[:, POSITION][:, :2] = position
        rows[:, QUATERNION] = quaternion_product(about(2, heading), about(1, roll))
        return rows

    def drive(
        self,
        name: str,
        duration: float,
        distance: float,
        rotation: Callable[[np.ndarray], np.ndarray] | Polynomial,
        slope: Callable[[np.ndarray], np.ndarray] | None = None,
    ) -> None:
        """Rolls a distance [m], backwards if negative, or rotates on the spot if it is zero.

        Args:
            name: name of the phase.
            duration: duration [s].
            distance: distance [m].
            rotation: change of the heading [rad] as a function of the fraction of the distance, 0 to 1; starts at 0.
            slope: derivative of `rotation`; not needed for a polynomial.
        """
        if isinstance(rotation, Polynomial):
            slope = rotation.deriv()
        assert slope is not None
        t = self._times(duration)
        fraction, rate = STEP(t / t[-1]), STEP_RATE(t / t[-1]) / t[-1]
        heading, roll = self.heading + rotation(fraction), self.roll + distance * fraction / DISK_RADIUS
        # the position is the integral of (cos, sin) of the heading over the distance, by Gauss' rule from row to row
        before = np.concatenate(([0.0], fraction[:-1]))
        width = (fraction - before)[:, None]
        headings = self.heading + rotation(before[:, None] + width * (1.0 + _NODES) / 2.0)
        steps = [(distance * width * np.array(f(headings)) * _WEIGHTS / 2.0).sum(axis=1) for f in (np.cos, np.sin)]
        rows = self._disk(self.position + np.cumsum(np.column_stack(steps), axis=0), heading, roll)
        forward = np.column_stack((np.cos(heading), np.sin(heading)))
        speed = (distance * rate)[:, None]
        rows[:, VELOCITY][:, :2] = speed * forward
        omega = rows[:, ANGULAR_VELOCITY]
        omega[:, :2] = speed / DISK_RADIUS * np.column_stack((-forward[:, 1], forward[:, 0]))
        omega[:, 2] = slope(fraction) * rate
        self.rows(name, "slide", rows)
        self.position, self.heading, self.roll = rows[-1, POSITION][:2].copy(), float(heading[-1]), float(roll[-1])

    def push_sideways(self, name: str, duration: float) -> None:
        """Pushes the disk to its left, normal to the wheel plane."""
        left = np.array([-np.sin(self.heading), np.cos(self.heading), 0.0])
        self.hold(name, duration, PUSH * left, "push")


#: 16 s^2 (1 - s)^2, which rises from 0 to 1 and returns to 0
_BUMP = Polynomial([0.0, 0.0, 16.0, -32.0, 16.0])
_EVEN = Polynomial([0.0, 1.0])


def parallel_parking_plan(period: float) -> SpatialPlan:
    """Builds the rolling disk's parallel parking: three S-shaped cycles, rotation, drive, arc, two pushes."""
    plan = _Roller(period)
    for cycle in range(1, 4):
        # the path back mirrors the heading: the displacements along x cancel, those along y add up
        plan.drive(f"forward {cycle}", 1.0, 0.045, 0.45 * _BUMP)
        plan.drive(f"back {cycle}", 1.0, -0.045, -0.45 * _BUMP)
    plan.drive("steering: turn", 1.2, 0.0, -np.pi / 2 * _EVEN)
    plan.drive("steering: drive", 1.2, 0.04, 0.0 * _EVEN)
    plan.drive("steering: arc", 1.6, 0.06, 1.5 * _EVEN)
    plan.push_sideways("push sideways", 2.2)
    plan.hold("push down", 1.8, np.array([0.0, 0.0, -PUSH]), "push")
    plan.hold("rest", 1.0)
    return plan.build()


def steering_plan(period: float) -> SpatialPlan:
    """Builds the rolling disk's steering: a slalom forward, then arcs back, forward and back."""
    plan, k = _Roller(period, (-0.07, -0.03)), 4.0 * np.pi
    plan.drive("slalom", 4.0, 0.14, lambda s: 0.6 * np.sin(k * s), lambda s: 0.6 * k * np.cos(k * s))
    plan.drive("arc 1", 2.2, -0.09, -2.4 * _EVEN)
    plan.drive("arc 2", 1.6, 0.06, 2.4 * _EVEN)
    plan.drive("arc 3", 1.6, -0.08, 1.2 * _EVEN)
    plan.hold("rest", 0.5)
    return plan.build()


# ---- a disk on a sphere ---------------------------------------------------------------------------


class _Tour(_SpatialBuilder):
    """Builds poses of the disk on the sphere.

    The coordinates are (a, b, c) [rad]. The normal is the vertical rotated by the rotation vector (-b, a, 0), so that
    it leans by |(a, b)| towards (a, b) and the pole is a regular point; c is the spin of the disk about the normal.
    """

    def __init__(self, period: float) -> None:
        self.coordinates = np.zeros(3)
        super().__init__(period, _rows(1)[0])

    def move(self, name: str, duration: float, lean: float, towards: float, spin: float, push: float = 0.0) -> None:
        """Moves along a straight line in the coordinates, from rest to rest.

        Args:
            name: name of the phase.
            duration: duration [s].
            lean: angle of the normal from the vertical at the end [rad].
            towards: direction of the end from the pole [rad].
            spin: spin at the end [rad].
            push: extra force outwards, negative towards the sphere's centre [N].
        """
        target = np.array([lean * np.cos(towards), lean * np.sin(towards), spin])
        t = self._times(duration)
        coordinates, rate = quintic(self.coordinates, np.zeros(3), target, np.zeros(3), t)
        rows = _tangent(coordinates, rate)
        normal = rows[:, POSITION] / SPHERE_RADIUS + [0.0, 0.0, 1.0]
        rows[:, FORCE] = push * _envelope(t)[:, None] * normal
        self.rows(name, "push" if push else "slide", rows)
        self.coordinates = target

    def press(self, name: str, duration: float, push: float) -> None:
        """Rests and exerts an extra force, as in `move`."""
        normal = self._last[POSITION] / SPHERE_RADIUS + [0.0, 0.0, 1.0]
        self.hold(name, duration, push * normal, "push")


def _tangent(coordinates: np.ndarray, rate: np.ndarray) -> np.ndarray:
    """Makes rows of a disk tangent to the sphere from the coordinates of `_Tour` and their rates, (n, 3) each."""
    a, b, spin = coordinates.T
    angle = np.hypot(a, b)
    u, du = np.column_stack((-b, a, 0 * a)), np.column_stack((-rate[:, 1], rate[:, 0], 0 * a))
    half = np.sinc(angle / (2 * np.pi)) / 2  # sin(angle/2)/angle
    lean = np.column_stack((u * half[:, None], np.cos(angle / 2)))
    # sin(x)/x, cos(x) - 1 = -2 sin^2(x/2), and (1 - cos x)/x^2 = 2 half^2 are also exact at the pole
    whole = np.sinc(angle / np.pi)
    normal = np.column_stack((a * whole, b * whole, 1.0 - 2.0 * np.sin(angle / 2) ** 2))
    # angular velocity of exp([u]): u' + (1 - cos x)/x^2 u x u' + (x - sin x)/x^3 u x (u x u')
    small = angle < 0.02  # below it the series is exact to rounding: the next term is x^4/5040
    safe = np.where(small, 1.0, angle)
    cubic = np.where(small, 1.0 / 6.0 - angle**2 / 120.0, (safe - np.sin(safe)) / safe**3)
    cross = np.cross(u, du)
    omega = du + (2.0 * half**2)[:, None] * cross + cubic[:, None] * np.cross(u, cross)
    omega += rate[:, 2:3] * normal
    rows = _rows(len(coordinates))
    rows[:, POSITION] = SPHERE_RADIUS * (normal - [0.0, 0.0, 1.0])
    rows[:, QUATERNION] = quaternion_product(lean, about(2, spin))
    rows[:, VELOCITY] = np.cross(omega, SPHERE_RADIUS * normal)
    rows[:, ANGULAR_VELOCITY] = omega
    return rows


def sphere_tour_plan(period: float) -> SpatialPlan:
    """Builds a tour of the disk on the sphere from and to the pole, with pushes inwards and one pull outwards."""
    plan = _Tour(period)
    plan.move("out", 1.6, 0.7, 0.0, 0.4)
    plan.move("round, pressed", 2.2, _STEEPEST, 1.9, -0.5, push=-PUSH)
    plan.press("press", 1.4, -PUSH)
    plan.move("across the pole", 2.4, -0.8, 1.9, 0.8)
    plan.press("pull", 1.4, PUSH)
    plan.move("back, pressed", 2.0, 0.9, 0.3, 0.5, push=-PUSH)
    plan.move("to the pole", 1.8, 0.0, 0.0, 0.0)
    plan.hold("rest", 0.6)
    return plan.build()


# ---- a tool on a guiding surface ------------------------------------------------------------------


class _Guided(_SpatialBuilder):
    """Builds motions of the tool on the trough."""

    def __init__(self, period: float, position: tuple[float, float]) -> None:
        self.position = np.array(position)
        super().__init__(period, self._on_guide(self.position[None], np.zeros((1, 2)))[0])

    @staticmethod
    def _on_guide(position: np.ndarray, rate: np.ndarray) -> np.ndarray:
        rows, y = _rows(len(position)), position[:, 1]
        rows[:, POSITION] = np.column_stack((position, GUIDE_CURVATURE * y**2 / 2.0))
        rows[:, VELOCITY] = np.column_stack((rate, GUIDE_CURVATURE * y * rate[:, 1]))
        return rows

    def move(self, name: str, duration: float, target: tuple[float, float], push: float = 0.0) -> None:
        """Moves straight in the x-y plane, from rest to rest, and presses downwards with an extra force [N]."""
        t = self._times(duration)
        rows = self._on_guide(*quintic(self.position, np.zeros(2), np.array(target), np.zeros(2), t))
        rows[:, FORCE][:, 2] = -push * _envelope(t)
        self.rows(name, "push" if push else "slide", rows)
        self.position = np.array(target)


def guided_push_plan(period: float) -> SpatialPlan:
    """Builds a motion on the trough: along a row of bodies and across, in part pressed, and once pressed at rest."""
    plan = _Guided(period, (-0.11, -0.045))
    plan.move("along, pressed", 2.4, (0.03, -0.045), push=PUSH)
    plan.move("aside", 1.2, (-0.11, 0.015))
    plan.move("row", 2.4, (0.05, 0.015))
    plan.hold("press", 1.4, np.array([0.0, 0.0, -PUSH]), "push")
    plan.move("across, pressed", 2.0, (0.09, -0.08), push=PUSH)
    plan.move("round", 1.2, (0.10, 0.09))
    plan.move("back, pressed", 2.6, (-0.06, 0.07), push=PUSH)
    plan.move("home", 1.2, (-0.11, 0.0))
    plan.hold("rest", 0.6)
    return plan.build()


# ---- the end point of a linkage -------------------------------------------------------------------


def push_and_release_plan(
    period: float, *, start_up: float = 0.6, hold: float = 4.5, free: float = 6.0, braking: float = 0.5
) -> SpatialPlan:
    """Builds a motion around the circle at a constant speed, after which the hand releases the tool.

    Args:
        period: sampling period [s].
        start_up: time in which the target reaches its speed [s].
        hold: time in which the hand leads the end point, including the start-up [s].
        free: time in which the end point is released [s].
        braking: time in which the target, which the hand no longer follows, comes to rest [s].
    """
    rate = CIRCLE_SPEED / CIRCLE_RADIUS
    first = _rows(1)[0]
    first[0] = CIRCLE_RADIUS
    plan = _SpatialBuilder(period, first)
    t = plan._times(hold + free)
    up, down = np.clip(t / start_up, 0.0, 1.0), np.clip((t - hold - _RELEASE_TIME) / braking, 0.0, 1.0)
    angular_speed = rate * (STEP(up) - STEP(down))
    angle = rate * (start_up * STEP_INTEGRAL(up) + np.maximum(t - start_up, 0.0))
    angle -= rate * (braking * STEP_INTEGRAL(down) + np.maximum(t - hold - _RELEASE_TIME - braking, 0.0))
    rows = _rows(len(t))
    rows[:, POSITION][:, :2] = CIRCLE_RADIUS * np.column_stack((np.cos(angle), np.sin(angle)))
    tangent = np.column_stack((-np.sin(angle), np.cos(angle)))
    rows[:, VELOCITY][:, :2] = CIRCLE_RADIUS * angular_speed[:, None] * tangent
    rows[:, GRIP] = 1.0 - STEP(np.clip((t - hold) / _RELEASE_TIME, 0.0, 1.0))
    released = round(hold / period)
    plan.rows("push", "slide", rows[:released])
    plan.rows("released", "release", rows[released:])
    return plan.build()


def of_period(plan: Callable[[float], SpatialPlan]) -> Callable[[Mapping[str, Any]], SpatialPlan]:
    """Makes a function of the node's parameters from one of the sampling period [s]."""
    return lambda given: plan(given["period"])


#: motions of the Cobotic Hand Controller by name, as functions of the parameters of the device's node
SPATIAL_MOTIONS = {
    "parallel_parking": of_period(parallel_parking_plan),
    "steering": of_period(steering_plan),
    "sphere_tour": of_period(sphere_tour_plan),
    "guided_push": of_period(guided_push_plan),
    "push_and_release": of_period(push_and_release_plan),
}


def make_spatial_plan(motion: str, period: float) -> SpatialPlan:
    """Makes the plan of one of `SPATIAL_MOTIONS` for a sampling period [s]."""
    return SPATIAL_MOTIONS[motion]({"period": period})
