"""Motions of a simulated hand with six degrees of freedom: those of section IV (Faulring et al.), as tables.

All plans start at rest in the device's base frame and are continuous in pose and twist.

- `parallel_parking`: a disk of radius 0.03 m that rolls upright on the plane z = -0.03 m (IV-A, Fig. 8). The tool
  point is its centre; with yaw and roll angles psi and phi the tool's orientation is Rz(psi) Ry(phi), the disk's
  axis the tool's -y. Heading is the yaw; the disk rolls without slip, phi' = v/r. S-shaped paths forward and back
  shift it sideways, then it rotates on the spot, drives, and the hand pushes it across its wheel plane and from above.
- `steering`: the same disk, driven through a slalom and along arcs.
- `sphere_tour`: a disk that stays tangent to the sphere of radius 0.05 m about (0, 0, -0.05) m, the tool's z axis
  being the outward normal (IV-B): from the pole over its upper side, past the pole, with spin; the hand presses
  towards the centre while it moves and while it rests, and pulls outwards once.
- `guided_push`: a tool on the trough z = y^2 c/2 moves from position to position, straight as seen from above, and
  pushes bodies in its path; on some paths, and once at rest, the hand presses downwards.
- `push_and_release`: the end point of a linkage moves on a circle of radius 0.05 m about the origin at 0.3 m/s
  for some seconds, then the hand releases it (IV-C, Fig. 12).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.polynomial import Polynomial

from haptic_devices.motions.planar import PhaseBuilder, Plan
from haptic_math.profiles import STEP, STEP_INTEGRAL, STEP_RATE, quintic
from haptic_math.rotations import quaternion_product

#: columns of SpatialPlan.table
POSITION, QUATERNION, TWIST, WRENCH, GRIP = slice(0, 3), slice(3, 7), slice(7, 13), slice(13, 19), 19

#: of the disk that rolls [m], section IV-A
DISK_RADIUS = 0.03
#: of the sphere [m], section IV-B; its pole is the origin
SPHERE_RADIUS = 0.05
#: c of the trough z = c y^2/2 [1/m]
GUIDE_CURVATURE = 4.0
#: of the circle about the origin [m], and the speed on it [m/s], section IV-C and Fig. 12
CIRCLE_RADIUS, CIRCLE_SPEED = 0.05, 0.3
#: the hand's extra force [N]
PUSH = 20.0

#: angle of the sphere's normal from the vertical that the tour reaches [rad]
_STEEPEST = np.radians(60.0)
#: time in which an extra wrench comes and goes [s]
_RAMP = 0.4
#: time in which the hand lets go [s]
_LETTING_GO = 0.05


@dataclass(frozen=True)
class SpatialPlan(Plan):
    """A plan with six degrees of freedom, in the device's base frame.

    Attributes:
        table: shape (n, 20), row k for the time k T: columns POSITION (3) [m] and QUATERNION (4; x, y, z, w) of the
            tool, TWIST (6) [m/s], [rad/s], extra WRENCH (6) [N], [N m], and GRIP, the fraction (0 to 1) of the hand
            that holds.
    """


def _up_and_down(t: np.ndarray) -> np.ndarray:
    """1 with a smooth beginning at time 0 and a smooth end at the last of the times (n,) [s]."""
    return STEP(np.clip(t / _RAMP, 0.0, 1.0)) * STEP(np.clip((t[-1] - t) / _RAMP, 0.0, 1.0))


def about(axis: int, angle: np.ndarray) -> np.ndarray:
    """Quaternions (n, 4) of rotations by angles (n,) [rad] about the axis 0, 1 or 2."""
    rows = np.zeros((len(angle), 4))
    rows[:, axis], rows[:, 3] = np.sin(angle / 2), np.cos(angle / 2)
    return rows


def _rows(count: int) -> np.ndarray:
    """Rows of a hand that holds the origin still."""
    rows = np.zeros((count, 20))
    rows[:, QUATERNION.stop - 1], rows[:, GRIP] = 1.0, 1.0
    return rows


class _SpatialBuilder(PhaseBuilder):
    """Puts a plan together from rows; starts with a hold at its first row."""

    def __init__(self, period: float, first: np.ndarray) -> None:
        super().__init__(period)
        self._last = first
        self.hold("start", 0.3)

    def rows(self, name: str, kind: str, rows: np.ndarray) -> None:
        self._append(name, kind, rows)
        self._last = rows[-1]

    def hold(self, name: str, duration: float, force: np.ndarray | None = None, kind: str = "rest") -> None:
        """Stands still and, where a force (3,) [N] is given, pushes with it."""
        t = self._times(duration)
        rows = np.tile(self._last, (len(t), 1))
        rows[:, TWIST] = rows[:, WRENCH] = 0.0
        if force is not None:
            rows[:, WRENCH.start : WRENCH.start + 3] = _up_and_down(t)[:, None] * force
        self.rows(name, kind, rows)

    def build(self) -> SpatialPlan:
        return SpatialPlan(self.period, np.concatenate(self._blocks), tuple(self._phases))


# ---- a disk that rolls ----------------------------------------------------------------------------

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(6)


class _Roller(_SpatialBuilder):
    """Drives the disk: headings and distances in, poses that roll without slip out."""

    def __init__(self, period: float, place: tuple[float, float] = (0.0, 0.0)) -> None:
        self.place, self.heading, self.roll = np.array(place), 0.0, 0.0
        super().__init__(period, self._disk(np.zeros((1, 2)) + place, np.zeros(1), np.zeros(1))[0])

    @staticmethod
    def _disk(place: np.ndarray, heading: np.ndarray, roll: np.ndarray) -> np.ndarray:
        rows = _rows(len(place))
        rows[:, 0:2] = place
        rows[:, QUATERNION] = quaternion_product(about(2, heading), about(1, roll))
        return rows

    def drive(
        self,
        name: str,
        duration: float,
        distance: float,
        turn: Callable[[np.ndarray], np.ndarray] | Polynomial,
        slope: Callable[[np.ndarray], np.ndarray] | None = None,
    ) -> None:
        """Rolls a distance [m], backwards if negative, or rotates on the spot if it is zero.

        Args:
            name: of the phase.
            duration: [s].
            distance: [m].
            turn: change of the heading [rad] over the share of the distance, 0 to 1; starts at 0.
            slope: its derivative; not needed for a polynomial.
        """
        if isinstance(turn, Polynomial):
            slope = turn.deriv()
        assert slope is not None
        t = self._times(duration)
        share, rate = STEP(t / t[-1]), STEP_RATE(t / t[-1]) / t[-1]
        heading, roll = self.heading + turn(share), self.roll + distance * share / DISK_RADIUS
        # the position is the integral of (cos, sin) of the heading over the distance, by Gauss' rule from row to row
        before = np.concatenate(([0.0], share[:-1]))
        width = (share - before)[:, None]
        way = self.heading + turn(before[:, None] + width * (1.0 + _NODES) / 2.0)
        steps = [(distance * width * np.array(f(way)) * _WEIGHTS / 2.0).sum(axis=1) for f in (np.cos, np.sin)]
        rows = self._disk(self.place + np.cumsum(np.column_stack(steps), axis=0), heading, roll)
        forward = np.column_stack((np.cos(heading), np.sin(heading)))
        speed = (distance * rate)[:, None]
        rows[:, 7:9] = speed * forward
        rows[:, 10:12] = speed / DISK_RADIUS * np.column_stack((-forward[:, 1], forward[:, 0]))
        rows[:, 12] = slope(share) * rate
        self.rows(name, "slide", rows)
        self.place, self.heading, self.roll = rows[-1, 0:2].copy(), float(heading[-1]), float(roll[-1])

    def push_sideways(self, name: str, duration: float) -> None:
        """Pushes the disk to its left, across the wheel plane."""
        left = np.array([-np.sin(self.heading), np.cos(self.heading), 0.0])
        self.hold(name, duration, PUSH * left, "push")


#: there and back: the bump 16 s^2 (1 - s)^2 has height 1
_BUMP = Polynomial([0.0, 0.0, 16.0, -32.0, 16.0])
_EVEN = Polynomial([0.0, 1.0])


def parallel_parking_plan(period: float) -> SpatialPlan:
    """Rolling disk: three cycles of S-shaped paths forward and back, rotation on the spot, drive, arc, two pushes."""
    plan = _Roller(period)
    for cycle in range(1, 4):
        # the path back mirrors the heading: the distances along x cancel, those along y add up
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
    """Rolling disk: a slalom forward, an arc of a small circle back, one of a larger circle forward, and back."""
    plan, turns = _Roller(period, (-0.07, -0.03)), 4.0 * np.pi
    plan.drive("slalom", 4.0, 0.14, lambda s: 0.6 * np.sin(turns * s), lambda s: 0.6 * turns * np.cos(turns * s))
    plan.drive("arc 1", 2.2, -0.09, -2.4 * _EVEN)
    plan.drive("arc 2", 1.6, 0.06, 2.4 * _EVEN)
    plan.drive("arc 3", 1.6, -0.08, 1.2 * _EVEN)
    plan.hold("rest", 0.5)
    return plan.build()


# ---- a disk on a sphere ---------------------------------------------------------------------------


class _Tour(_SpatialBuilder):
    """Leads the disk over the sphere.

    The coordinates are (a, b, c) [rad]: the normal is the vertical rotated by the rotation vector (-b, a, 0), so that
    it leans by |(a, b)| towards (a, b) and the pole is a regular point; c is the spin of the disk about the normal.
    """

    def __init__(self, period: float) -> None:
        self.place = np.zeros(3)
        super().__init__(period, _rows(1)[0])

    def move(self, name: str, duration: float, lean: float, towards: float, spin: float, push: float = 0.0) -> None:
        """Goes straight in the coordinates, from rest to rest.

        Args:
            name: of the phase.
            duration: [s].
            lean: of the normal at the end [rad].
            towards: direction from the pole [rad].
            spin: at the end [rad].
            push: extra force outwards, negative towards the sphere's centre [N].
        """
        target = np.array([lean * np.cos(towards), lean * np.sin(towards), spin])
        t = self._times(duration)
        place, rate = quintic(self.place, np.zeros(3), target, np.zeros(3), t)
        rows = _tangent(place, rate)
        normal = rows[:, 0:3] / SPHERE_RADIUS + [0.0, 0.0, 1.0]
        rows[:, WRENCH.start : WRENCH.start + 3] = push * _up_and_down(t)[:, None] * normal
        self.rows(name, "push" if push else "slide", rows)
        self.place = target

    def press(self, name: str, duration: float, push: float) -> None:
        """Stands and pushes with an extra force, as in `move`."""
        normal = self._last[0:3] / SPHERE_RADIUS + [0.0, 0.0, 1.0]
        self.hold(name, duration, push * normal, "push")


def _tangent(place: np.ndarray, rate: np.ndarray) -> np.ndarray:
    """Rows of a disk that is tangent to the sphere, from the coordinates of `_Tour` and their rates, (n, 3) each."""
    a, b, spin = place.T
    angle = np.hypot(a, b)
    u, du = np.column_stack((-b, a, 0 * a)), np.column_stack((-rate[:, 1], rate[:, 0], 0 * a))
    half = np.sinc(angle / (2 * np.pi)) / 2  # sin(angle/2)/angle
    lean = np.column_stack((u * half[:, None], np.cos(angle / 2)))
    # sin(x)/x, cos(x) - 1 = -2 sin^2(x/2), and (1 - cos x)/x^2 = 2 half^2 are exact at the pole, too
    whole = np.sinc(angle / np.pi)
    normal = np.column_stack((a * whole, b * whole, 1.0 - 2.0 * np.sin(angle / 2) ** 2))
    # angular velocity of exp([u]): u' + (1 - cos x)/x^2 u x u' + (x - sin x)/x^3 u x (u x u')
    small = angle < 0.02  # there the series is exact to rounding: the next term is x^4/5040
    safe = np.where(small, 1.0, angle)
    cubic = np.where(small, 1.0 / 6.0 - angle**2 / 120.0, (safe - np.sin(safe)) / safe**3)
    cross = np.cross(u, du)
    omega = du + (2.0 * half**2)[:, None] * cross + cubic[:, None] * np.cross(u, cross)
    omega += rate[:, 2:3] * normal
    rows = _rows(len(place))
    rows[:, 0:3] = SPHERE_RADIUS * (normal - [0.0, 0.0, 1.0])
    rows[:, QUATERNION] = quaternion_product(lean, about(2, spin))
    rows[:, 7:10] = np.cross(omega, SPHERE_RADIUS * normal)
    rows[:, 10:13] = omega
    return rows


def sphere_tour_plan(period: float) -> SpatialPlan:
    """Disk on a sphere: out from the pole, round, across the pole, and back, with pushes in and a pull out."""
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
    """Leads the tool over the trough."""

    def __init__(self, period: float, place: tuple[float, float]) -> None:
        self.place = np.array(place)
        super().__init__(period, self._on_the_guide(self.place[None], np.zeros((1, 2)))[0])

    @staticmethod
    def _on_the_guide(place: np.ndarray, rate: np.ndarray) -> np.ndarray:
        rows, y = _rows(len(place)), place[:, 1]
        rows[:, 0:2], rows[:, 2] = place, GUIDE_CURVATURE * y**2 / 2.0
        rows[:, 7:9], rows[:, 9] = rate, GUIDE_CURVATURE * y * rate[:, 1]
        return rows

    def move(self, name: str, duration: float, place: tuple[float, float], push: float = 0.0) -> None:
        """Goes straight as seen from above, from rest to rest, and presses downwards with an extra force [N]."""
        t = self._times(duration)
        rows = self._on_the_guide(*quintic(self.place, np.zeros(2), np.array(place), np.zeros(2), t))
        rows[:, WRENCH.start + 2] = -push * _up_and_down(t)
        self.rows(name, "push" if push else "slide", rows)
        self.place = np.array(place)


def guided_push_plan(period: float) -> SpatialPlan:
    """Over the trough: along a row of bodies, pressed and not, at rest pressed, and across the trough and back."""
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
    """Around the circle at a constant tangential speed, then the hand releases the tool.

    Args:
        period: sampling period [s].
        start_up: time in which the target reaches its speed [s].
        hold: time in which the hand leads the end point, with the start-up [s].
        free: time in which the end point is left alone [s].
        braking: time in which the target, that the hand no longer follows, comes to rest [s].
    """
    rate = CIRCLE_SPEED / CIRCLE_RADIUS
    first = _rows(1)[0]
    first[0] = CIRCLE_RADIUS
    plan = _SpatialBuilder(period, first)
    t = plan._times(hold + free)
    up, down = np.clip(t / start_up, 0.0, 1.0), np.clip((t - hold - _LETTING_GO) / braking, 0.0, 1.0)
    turning = rate * (STEP(up) - STEP(down))
    angle = rate * (start_up * STEP_INTEGRAL(up) + np.maximum(t - start_up, 0.0))
    angle -= rate * (braking * STEP_INTEGRAL(down) + np.maximum(t - hold - _LETTING_GO - braking, 0.0))
    rows = _rows(len(t))
    rows[:, 0:2] = CIRCLE_RADIUS * np.column_stack((np.cos(angle), np.sin(angle)))
    rows[:, 7:9] = CIRCLE_RADIUS * turning[:, None] * np.column_stack((-np.sin(angle), np.cos(angle)))
    rows[:, GRIP] = 1.0 - STEP(np.clip((t - hold) / _LETTING_GO, 0.0, 1.0))
    released = round(hold / period)
    plan.rows("push", "slide", rows[:released])
    plan.rows("released", "release", rows[released:])
    return plan.build()


_PLANS: dict[str, Callable[[float], SpatialPlan]] = {
    "parallel_parking": parallel_parking_plan,
    "steering": steering_plan,
    "sphere_tour": sphere_tour_plan,
    "guided_push": guided_push_plan,
    "push_and_release": push_and_release_plan,
}
#: values of the device node's parameter `motion` that have six degrees of freedom
SPATIAL_MOTIONS = tuple(_PLANS)


def make_spatial_plan(motion: str, period: float) -> SpatialPlan:
    """The plan of one of `SPATIAL_MOTIONS`."""
    return _PLANS[motion](period)
