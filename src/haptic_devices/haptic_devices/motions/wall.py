"""Motions of a simulated hand at walls, as tables: it touches, pushes (step, ramp), taps, slides and releases.

Base frame of the device `tau`: x right, y up, z towards the user. All plans start at rest and are continuous in pose;
the tool never rotates. The plans and their walls:

- `wall_push`: the plane z = 0. Touch at the origin, steps of 5, 9 and 13 N, a ramp of 13 N, a push of 13 N after which
  the hand releases the tool, a slow retraction from the wall, a tap of 0.5 m/s.
- `wall_tour`: the plane z = 0. Slides along y = 20, 0, -20 mm from x = -20 to 20 mm and back, pressed with 4 N, so
  that all nine subspaces of the plane are crossed; a tap of 0.5 m/s at the end of each line.
- `angled_wall`: the plane through the origin with the normal (0, 0.6, 0.8). Steps of 5 and 9 N, a slide up and down
  the slope, a tap, a push after which the hand releases the tool.
- `rough_wall`: the plane z = 0 with friction. Pressed with 5 N, the hand leans sideways by 2 mm and back, slides fast,
  across and slowly (2 mm/s), rests, and releases the tool.
- `dental_probe`: a tooth with four cusps, apexes at (+-2.2, +-2.0, 0) mm, the long groove along x, and a tip of 0.5 mm
  radius (`convex_contact.scenes.tooth`). Taps an apex with 0.05, 0.1 and 0.2 m/s, rests in the groove with 2 N, slides
  along it through the pit in the middle and back with 1 N, rests in the pit, and slides off over a cusp.
- `corner`: the planes x = -10 mm, y = -10 mm, z = 0, free towards +x, +y, +z. The tip is pushed into one wall, an edge
  and the corner, slides along an edge and back, and is released in the corner.
- `touch_world`: the world tau_touch_world 30 mm below the origin, y up. The tip rests on the block, pressed with 5 N;
  slides over its edge and the roll, pressed with 2 N; pushes the box by its side and leaves it; hits the ball; presses
  the box against the stop; drags on the box's top, pressed with 4 N, first sticking, then sliding; and is released.

In a tap the hand accelerates the tool and opens its fingers 2 mm before the wall, so that only the motors stop it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from haptic_devices.motions.planar import PhaseBuilder
from haptic_devices.motions.spatial import (
    COLUMN_COUNT,
    FORCE,
    GRIP,
    POSITION,
    QUATERNION_W,
    VELOCITY,
    SpatialPlan,
    of_period,
)
from haptic_math.profiles import quintic

#: normals and positions of the walls
X, Y, PLANE = np.eye(3)
ANGLED = np.array([0.0, 0.6, 0.8])
CORNER = np.array([-0.01, -0.01, 0.0])
#: positions of the tip in contact with a tooth: on an apex, in the groove beside it, and in the pit [m]
APEX, GROOVE, PIT = np.array([[2.2e-3, 2.0e-3, 0.5e-3], [2.2e-3, 0.0, -0.423e-3], [0.0, 0.0, -0.985e-3]])

#: speed of a tap [m/s], and distance from the wall at which the fingers open [m]
TAP_SPEED, TAP_OPEN = 0.5, 2e-3
#: mass of hand and tool that is accelerated for a tap [kg]
_TAP_MASS = 0.45
#: depth of the hand's target behind the wall in a touch: 0.2 N with 400 N/m [m]
_TOUCH = 5e-4
#: time in which a grip closes [s]
_CLOSING = 0.1


class _WallPlanBuilder(PhaseBuilder):
    """Builds a plan that starts with a rest at a position (3,) [m]."""

    def __init__(self, period: float, position: Sequence[float] | np.ndarray) -> None:
        super().__init__(period)
        self._position = np.array(position, dtype=float)
        self.stay("start", 0.3)

    def _rows(self, count: int) -> np.ndarray:
        rows = np.zeros((count, COLUMN_COUNT))
        rows[:, POSITION], rows[:, QUATERNION_W], rows[:, GRIP] = self._position, 1.0, 1.0
        return rows

    def stay(self, name: str, duration: float) -> None:
        """Holds the tool at its position."""
        self._append(name, "rest", self._rows(len(self._times(duration))))

    def move(self, name: str, target: Sequence[float] | np.ndarray, duration: float, kind: str = "move") -> None:
        """Moves the tool straight to a position, from rest to rest."""
        self._append_line(name, kind, np.array(target, dtype=float), duration, np.zeros(3))

    def slide(self, name: str, target: Sequence[float] | np.ndarray, duration: float, force: np.ndarray) -> None:
        """Moves the tool as in `move`, with a constant extra force (3,) [N]."""
        self._append_line(name, "slide", np.array(target, dtype=float), duration, force)

    def take(self, name: str, target: Sequence[float] | np.ndarray, duration: float) -> None:
        """Closes the fingers around a tool that is near, and moves it to a position."""
        self._append_line(name, "move", np.array(target, dtype=float), duration, np.zeros(3), closing=_CLOSING)

    def _append_line(
        self, name: str, kind: str, target: np.ndarray, duration: float, force: np.ndarray, closing: float = 0.0
    ) -> None:
        t = self._times(duration)
        rows = self._rows(len(t))
        rows[:, POSITION], rows[:, VELOCITY] = quintic(self._position, np.zeros(3), target, np.zeros(3), t)
        rows[:, FORCE] = force
        if closing:
            rows[:, GRIP] = np.clip(t / closing, 0.0, 1.0)
        self._append(name, kind, rows)
        self._position = target

    def push(self, name: str, duration: float, force: np.ndarray, ramp: float = 0.0) -> None:
        """Rests and exerts an extra force (3,) [N] as a step, or with ramps of duration `ramp` [s] at both ends."""
        t = self._times(duration)
        rows = self._rows(len(t))
        fraction = np.ones(len(t)) if ramp == 0.0 else np.clip(np.minimum(t, t[-1] - t) / ramp, 0.0, 1.0)
        rows[:, FORCE] = fraction[:, None] * force
        self._append(name, "push", rows)

    def release(self, name: str, duration: float) -> None:
        """Opens the fingers at once."""
        rows = self._rows(len(self._times(duration)))
        rows[:, GRIP] = 0.0
        self._append(name, "release", rows)

    def tap(
        self, name: str, point: np.ndarray, normal: np.ndarray, speed: float = TAP_SPEED, opened: float = TAP_OPEN
    ) -> None:
        """Accelerates the tool towards a point of a wall, opens the fingers, and closes them again."""
        distance = (self._position - point) @ normal - opened
        t = self._times(2.0 * distance / speed)
        rows = self._rows(len(t))
        rate = speed / t[-1]
        rows[:, POSITION] = self._position - 0.5 * rate * t[:, None] ** 2 * normal
        rows[:, VELOCITY] = -rate * t[:, None] * normal
        rows[:, FORCE] = -_TAP_MASS * rate * normal
        self._append(name, "tap", rows)
        start, self._position = self._position, rows[-1, POSITION].copy()
        self.release(f"{name}, let go", 0.06)
        self.take(f"{name}, taken", start, 0.6)

    def build(self) -> SpatialPlan:
        """Returns the finished plan."""
        return SpatialPlan(self.period, np.concatenate(self._blocks), tuple(self._phases))


def wall_push_plan(period: float) -> SpatialPlan:
    """Builds touches and pushes at one point of the plane z = 0."""
    hand = _WallPlanBuilder(period, 0.008 * PLANE)
    hand.move("touch", -_TOUCH * PLANE, 0.5)
    hand.stay("touching", 0.3)
    for force in (5.0, 9.0, 13.0):
        hand.push(f"step {force:g} N", 0.5, -force * PLANE)
        hand.stay(f"after step {force:g} N", 0.3)
    hand.push("ramp 13 N", 0.8, -13.0 * PLANE, ramp=0.2)
    hand.stay("after the ramp", 0.3)
    hand.push("push to let go", 0.4, -13.0 * PLANE)
    hand.release("let go", 0.15)
    hand.take("taken", 0.005 * PLANE, 0.6)
    hand.move("touch again", -_TOUCH * PLANE, 0.5)
    hand.stay("touching again", 0.2)
    hand.move("pull off", 0.018 * PLANE, 0.8)
    hand.tap("tap", np.zeros(3), PLANE)
    return hand.build()


def wall_tour_plan(period: float) -> SpatialPlan:
    """Builds slides and taps in all nine subspaces of the plane z = 0."""
    reach, side = 0.02, -1.0
    hand = _WallPlanBuilder(period, (-reach, reach, 0.008))
    for line, y in enumerate((reach, 0.0, -reach), 1):
        hand.move(f"to line {line}", (side * reach, y, -_TOUCH), 0.5)
        for direction in ("there", "back"):
            side = -side
            hand.slide(f"line {line}, {direction}", (side * reach, y, -_TOUCH), 0.8, -4.0 * PLANE)
        above = np.array([side * reach, y, 0.018])
        hand.move(f"off line {line}", above, 0.4)
        hand.tap(f"tap {line}", above * [1.0, 1.0, 0.0], PLANE)
    return hand.build()


def angled_wall_plan(period: float) -> SpatialPlan:
    """Builds pushes, slides and a tap at the plane through the origin with the normal (0, 0.6, 0.8)."""
    up = np.array([0.0, 0.8, -0.6])
    hand = _WallPlanBuilder(period, 0.008 * ANGLED)
    hand.move("touch", -_TOUCH * ANGLED, 0.5)
    hand.stay("touching", 0.2)
    for force in (5.0, 9.0):
        hand.push(f"step {force:g} N", 0.5, -force * ANGLED)
        hand.stay(f"after step {force:g} N", 0.3)
    for name, offset in (("up", 0.015), ("down", -0.015), ("back", 0.0)):
        hand.slide(f"slide {name}", offset * up - _TOUCH * ANGLED, 0.8, -4.0 * ANGLED)
    hand.move("pull off", 0.016 * ANGLED, 0.6)
    hand.tap("tap", np.zeros(3), ANGLED)
    hand.move("touch again", -_TOUCH * ANGLED, 0.6)
    hand.push("push to let go", 0.4, -9.0 * ANGLED)
    hand.release("let go", 0.15)
    hand.take("taken", 0.008 * ANGLED, 0.6)
    return hand.build()


def rough_wall_plan(period: float) -> SpatialPlan:
    """Builds pressed slides around the middle of the plane z = 0 with friction."""
    x, y, _ = np.eye(3)
    load, deep = -5.0 * PLANE, -_TOUCH * PLANE
    hand = _WallPlanBuilder(period, 0.008 * PLANE)
    hand.move("touch", deep, 0.5)
    hand.slide("lean", deep + 0.002 * x, 0.5, load)
    hand.slide("lean back", deep, 0.5, load)
    hand.slide("fast", deep + 0.02 * x, 0.5, load)
    hand.slide("across", deep + 0.02 * y, 0.6, load)
    hand.slide("slow", deep + 0.02 * y - 0.004 * x, 2.0, load)
    hand.push("rest", 0.4, load)
    hand.push("push to let go", 0.3, load)
    hand.release("let go", 0.15)
    hand.take("taken", 0.02 * y + 0.008 * PLANE, 0.6)
    return hand.build()


def dental_probe_plan(period: float) -> SpatialPlan:
    """Builds taps and slides on the tooth of `convex_contact.scenes.tooth`, whose z axis points to the user."""
    load, deep, mirrored = -1.0 * PLANE, -_TOUCH * PLANE, np.array([-1.0, 1.0, 1.0])
    end = GROOVE + 0.001 * X + deep  # the tip lags behind where the groove rises
    # accelerated along z, the tool moves 0.8 mm along -y
    hand = _WallPlanBuilder(period, APEX + 0.0008 * Y + 0.004 * PLANE)
    for speed in (0.05, 0.1, 0.2):
        hand.tap(f"tap {speed:g} m/s", APEX, PLANE, speed, 0.01 * speed)
    hand.move("to the groove", GROOVE * mirrored + 0.004 * PLANE, 0.6)
    hand.move("into the groove", GROOVE * mirrored + deep, 0.4)
    hand.push("rest in the groove", 0.8, 2.0 * load)
    hand.slide("along the groove", end, 1.5, load)
    hand.slide("back", end * mirrored, 1.5, load)
    hand.slide("to the pit", PIT + deep, 0.8, load)
    hand.push("rest in the pit", 0.6, 2.0 * load)
    hand.slide("out of the pit", end, 0.8, load)
    hand.slide("up the cusp", APEX + 0.001 * Y + deep, 1.0, load)
    hand.slide("off the cusp", APEX + 0.003 * Y - 0.002 * PLANE, 0.8, load)
    hand.move("away", APEX + 0.004 * Y + 0.008 * PLANE, 0.5)
    return hand.build()


def corner_plan(period: float) -> SpatialPlan:
    """Builds pushes and slides in the corner of the planes x = -10 mm, y = -10 mm, z = 0."""
    x, y, z = np.eye(3)
    hand = _WallPlanBuilder(period, CORNER + 0.008)
    hand.move("to the wall", CORNER + np.array([0.008, 0.008, -_TOUCH]), 0.5)
    hand.push("one wall", 0.5, -6.0 * z)
    hand.slide("to the edge", CORNER + np.array([0.008, -_TOUCH, -_TOUCH]), 0.5, -3.0 * z)
    hand.push("an edge", 0.5, -5.0 * (y + z))
    hand.slide("to the corner", CORNER - _TOUCH, 0.5, -2.0 * (y + z))
    hand.push("the corner", 0.6, -4.0 * (x + y + z))
    hand.slide("out along the edge", CORNER + np.array([0.02, -_TOUCH, -_TOUCH]), 0.8, -3.0 * (y + z))
    hand.slide("back along the edge", CORNER - _TOUCH, 0.8, -3.0 * (y + z))
    hand.push("push to let go", 0.4, -4.0 * (x + y + z))
    hand.release("let go", 0.15)
    hand.take("taken", CORNER + 0.008, 0.6)
    return hand.build()


def touch_world_plan(period: float) -> SpatialPlan:
    """Builds a motion to the bodies of tau_touch_world: block, roll at z = -22 mm; box, ball, stop at z = 13 mm."""
    x, y, z = np.eye(3)
    back, front, low, top = -0.022 * z, 0.013 * z, -0.020 * y, -0.002 * y
    hand = _WallPlanBuilder(period, -0.014 * x + 0.008 * y + back)
    hand.move("to the block", -0.014 * x + top - _TOUCH * y + back, 0.6)
    hand.push("step 5 N", 1.0, -5.0 * y)
    hand.push("rest", 1.5, -5.0 * y)
    hand.slide("over the edge", top - 0.002 * y + back, 1.2, -2.0 * y)
    hand.slide("over the roll", 0.018 * x + top - 0.004 * y + back, 1.8, -2.0 * y)
    hand.move("off the roll", 0.018 * x + 0.012 * y + back, 0.5)
    hand.move("to the side", -0.015 * x + 0.012 * y + front, 0.8)
    hand.move("down", -0.015 * x + low + front, 0.7)
    hand.slide("push the box", 0.007 * x + low + front, 1.5, 0.0 * x)
    hand.move("leave the box", -0.012 * x + low + front, 0.5)
    hand.move("knock the ball", -0.021 * x + low + front, 0.25)
    hand.move("back", -0.012 * x + low + front, 0.4)
    hand.slide("push to the stop", 0.019 * x + low + front, 2.0, 0.0 * x)
    hand.push("press to the stop", 1.0, 3.0 * x)
    hand.move("leave the stop", -0.002 * x + low + front, 0.4)
    hand.move("up", -0.002 * x + 0.006 * y + front, 0.6)
    hand.move("over the box", 0.022 * x + 0.006 * y + front, 0.6)
    deep = 0.022 * x - 0.004 * y - _TOUCH * y + front
    hand.move("on the box", deep, 0.6)
    hand.push("press the box", 0.6, -4.0 * y)
    hand.slide("lean", deep + 0.001 * z, 0.5, -4.0 * y)
    hand.slide("lean back", deep, 0.5, -4.0 * y)
    hand.slide("drag", deep - 0.008 * z, 1.5, -4.0 * y)
    hand.slide("drag back", deep + 0.006 * z, 1.2, -4.0 * y)
    hand.push("stay on the box", 0.5, -4.0 * y)
    hand.release("let go", 0.15)
    hand.take("taken", 0.022 * x + 0.008 * y + front, 0.6)
    hand.stay("end", 0.4)
    return hand.build()


#: motions of the TAU device by name, as functions of the parameters of the device's node
WALL_MOTIONS = {
    "wall_push": of_period(wall_push_plan),
    "wall_tour": of_period(wall_tour_plan),
    "angled_wall": of_period(angled_wall_plan),
    "rough_wall": of_period(rough_wall_plan),
    "dental_probe": of_period(dental_probe_plan),
    "corner": of_period(corner_plan),
    "touch_world": of_period(touch_world_plan),
}


def make_wall_plan(motion: str, period: float) -> SpatialPlan:
    """Makes the plan of one of `WALL_MOTIONS` for a sampling period [s]."""
    return WALL_MOTIONS[motion]({"period": period})
