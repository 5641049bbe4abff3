"""Motion of the tool at walls over a run, and its pushes, taps and releases.

Rows are ticks; positions, forces and walls are in the device's base frame. Distances are those of the true tool. Forces
of the walls are those that the commanded efforts beyond the weight exert on the tool, G^T (tau - tau_g), by the model
that the controller has.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tau_wall_control.device.commanded_forces import forces_beyond_weight
from tau_wall_control.device.tau_device import TauDevice
from tau_wall_control.simulation.limits import tap_bound

#: allowed depth of a tap over its energy bound
TAP_MARGIN = 1.2


@dataclass(frozen=True)
class WallMotion:
    """Signals of a run at w walls.

    Attributes:
        position: position of the true tool (n, 3) [m].
        velocity: velocity of the true tool (n, 3) [m/s].
        measured: pose of the tool by the encoders (n, 7).
        hand: force of the hand on the tool (n, 3) [N].
        effort: commanded efforts (n, 6) [N m].
        saturation: efforts as fractions of the motors' limits (n, 6).
        points: points of the walls (w, 3) [m].
        normals: normals of the walls (w, 3).
        in_contact: flags of the walls in contact (n, w).
        operating_point: operating point of the controller (n,).
        device: device as the controller knows it.
    """

    position: np.ndarray
    velocity: np.ndarray
    measured: np.ndarray
    hand: np.ndarray
    effort: np.ndarray
    saturation: np.ndarray
    points: np.ndarray
    normals: np.ndarray
    in_contact: np.ndarray
    operating_point: np.ndarray
    device: TauDevice

    @cached_property
    def depth(self) -> np.ndarray:
        """Depth of the true tool behind each wall, (n, w), negative outside [m]."""
        return np.asarray(((self.points[None] - self.position[:, None]) * self.normals).sum(axis=2))

    @cached_property
    def speed_in(self) -> np.ndarray:
        """Speed of the true tool into each wall, (n, w) [m/s]."""
        return -self.velocity @ self.normals.T

    @cached_property
    def wrench(self) -> np.ndarray:
        """Force of the walls on the tool as commanded (n, 3) [N]."""
        return forces_beyond_weight(self.device, self.measured, self.effort)

    @cached_property
    def force(self) -> np.ndarray:
        """Force along the normal of each wall, (n, w), for walls at right angles [N]."""
        return self.wrench @ self.normals.T

    @cached_property
    def saturated(self) -> np.ndarray:
        """Flags of the ticks (n,) with a motor at its limit."""
        return np.asarray((self.saturation >= 1.0 - 1e-9).any(axis=1))


@dataclass(frozen=True)
class Push:
    """A push of the hand; NaN where a number does not apply, as those of rest under a ramp.

    Attributes:
        name: name of the phase.
        force: force of the hand along the wall's normal, mean of the last quarter but for its end [N].
        penetration: largest depth of all walls from the push on [m].
        stiffness: force over penetration of the wall where that is the most [N/m].
        static: depth that is left in the last quarter [m].
        rmse: RMS depth of the walls in contact [m].
        restless: standard deviation of the walls' force in the second half, the largest of all walls [N].
        contact: fraction of the ticks in contact.
        saturated: fraction of the ticks with a motor at its limit.
        sideways: largest displacement of the tool across all normals [m].
    """

    name: str
    force: float
    penetration: float
    stiffness: float
    static: float
    rmse: float
    restless: float
    contact: float
    saturated: float
    sideways: float


@dataclass(frozen=True)
class Tap:
    """A tap: the fingers open before the wall, and the motors alone stop the tool.

    Attributes:
        name: name of the phase.
        speed: speed at the impact [m/s].
        penetration: largest depth [m].
        energy_bound: m v^2/(2 F_max) at the position and speed of the impact (`limits.tap_bound`) [m].
        static: depth that the strongest push leaves [m].
        allowed: `TAP_MARGIN` times the bound plus that [m].
        late: distance that the tool goes on during the ticks of delay, which the bound does not contain [m].
        rebound: speed out of the wall [m/s].
        saturated: time with a motor at its limit [s].
    """

    name: str
    speed: float
    penetration: float
    energy_bound: float
    static: float
    allowed: float
    late: float
    rebound: float
    saturated: float


@dataclass(frozen=True)
class Release:
    """The hand lets go of a pushed tool.

    Attributes:
        name: name of the phase.
        contact_ends: time until contact ends [s].
        pull: largest pull towards the wall [N].
        speed: speed out of the wall at the end [m/s].
    """

    name: str
    contact_ends: float
    pull: float
    speed: float


def measure_push(run: WallMotion, part: slice, name: str) -> Push:
    """Measures a push of the hand in a part of the ticks; under a "ramp" in the name nothing comes to rest."""
    n = part.stop - part.start
    late = slice(part.stop - n // 4, part.stop - 2)
    depth, pushed = run.depth[part], -run.hand[late].mean(axis=0) @ run.normals.T
    touched = run.in_contact[part].any(axis=0)
    wall = int(np.argmax(np.where(touched, depth.max(axis=0), -np.inf)))
    penetration = max(float(depth[:, wall].max()), 0.0)
    steady = "ramp" not in name
    return Push(
        name=name,
        force=float(pushed[wall]) if steady else math.nan,
        penetration=penetration,
        stiffness=float(pushed[wall]) / penetration if steady and penetration > 0.0 else math.nan,
        static=float(run.depth[late][:, wall].mean()) if steady else math.nan,
        rmse=float(np.sqrt(np.mean(depth[:, touched] ** 2))) if touched.any() else math.nan,
        restless=float(run.force[part.stop - n // 2 : part.stop - 2].std(axis=0).max()) if steady else math.nan,
        contact=float(run.in_contact[part][:, touched].mean()) if touched.any() else 0.0,
        saturated=float(run.saturated[part].mean()),
        sideways=_sideways(run, part),
    )


def _sideways(run: WallMotion, part: slice) -> float:
    """Measures the largest displacement of the tool across all normals [m]."""
    basis = np.linalg.svd(run.normals)[2][np.linalg.matrix_rank(run.normals) :]
    moved = (run.position[part] - run.position[part.start]) @ basis.T
    return float(np.linalg.norm(moved, axis=1).max()) if len(basis) else 0.0


def measure_tap(run: WallMotion, part: slice, name: str, *, static: float, period: float, ticks: int) -> Tap | None:
    """Measures a tap; returns None if the tool does not come into a wall.

    Args:
        run: the run.
        part: ticks from the opening of the fingers on.
        name: name of the phase.
        static: depth that the strongest push leaves [m].
        period: T [s].
        ticks: ticks of delay of the commands.
    """
    first = slice(max(0, part.start - 10), part.stop)  # the fingers may open a little late
    inside = np.flatnonzero(run.depth[first].max(axis=1) > 0.0)
    if not len(inside) or not inside[0]:
        return None
    k = first.start + int(inside[0])
    wall = int(np.argmax(run.depth[k]))
    speed = float(run.speed_in[k - 1, wall])
    bound = tap_bound(run.device, run.position[k], speed, normal=run.normals[wall])
    return Tap(
        name=name,
        speed=speed,
        penetration=float(run.depth[first, wall].max()),
        energy_bound=float(bound),
        static=static,
        allowed=TAP_MARGIN * float(bound) + static,
        late=ticks * period * speed,
        rebound=max(0.0, float(-run.speed_in[first, wall].min())),
        saturated=float(run.saturated[first].sum()) * period,
    )


def measure_release(run: WallMotion, part: slice, name: str, period: float) -> Release:
    """Measures the release of a pushed tool in a part of the ticks, which are a period [s] apart."""
    touching = np.flatnonzero(run.in_contact[part].any(axis=1))
    return Release(
        name=name,
        contact_ends=(int(touching[-1]) + 1) * period if len(touching) else 0.0,
        pull=float(max(0.0, -run.force[part].min())),
        speed=float(-run.speed_in[part.stop - 1].min()),
    )


@dataclass(frozen=True)
class Slide:
    """A slide along the walls, after its first 0.1 s; NaN where a number does not apply.

    Attributes:
        name: name of the phase.
        displacement: displacement of the tool, from the beginning on [m].
        penetration: largest depth [m].
        contact: fraction of the ticks in contact.
        friction: mean of the walls' force against the motion, over their push.
    """

    name: str
    displacement: float
    penetration: float
    contact: float
    friction: float


def measure_slide(run: WallMotion, part: slice, name: str, period: float) -> Slide:
    """Measures a slide along the walls in a part of the ticks, which are a period [s] apart."""
    late = slice(part.start + round(0.1 / period), part.stop)
    velocity = run.velocity[late]
    speed = np.linalg.norm(velocity, axis=1)
    moves = speed > 0.5 * speed.max()
    along = velocity[moves] / speed[moves, None]
    against = -np.sum(run.wrench[late][moves] * along, axis=1).mean()
    push = run.force[late][moves].clip(min=0.0).sum(axis=1).mean()
    touched = run.in_contact[part].any(axis=0)
    return Slide(
        name=name,
        displacement=float(np.linalg.norm(run.position[part.stop - 1] - run.position[part.start])),
        penetration=float(run.depth[late][:, touched].max()) if touched.any() else math.nan,
        contact=float(run.in_contact[late][:, touched].any(axis=1).mean()) if touched.any() else 0.0,
        friction=float(against / push) if push > 0.0 else math.nan,
    )
