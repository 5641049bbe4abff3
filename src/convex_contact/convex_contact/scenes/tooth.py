"""A tooth-like world for a probe: four cusps with grooves between them, as overlapping convex hulls of one fixed body.

A cusp is a cone with a round tip: radius `TIP` at the apex, then the slope `SLOPE`, cut at `WIDTH`/2 from its axis, and
a prism down to `DEPTH`. The apexes lie at (+-APART_X, +-APART_Y) in the plane z = 0, z outward. Where the cones of
neighbours intersect there is a groove: along y = 0 (the long one) and along x = 0; the pit, their deepest point, is
at their intersection. A sphere of radius r whose centre is d from one axis touches that cone when its centre is at

    z = (TIP + r)/cos(SLOPE) - TIP - d tan(SLOPE)           from d = (TIP + r) sin(SLOPE) on,

so in the long groove, which lies between two cones at the same distance, d^2 = (|x| - APART_X)^2 + APART_Y^2.
The numbers are those of a lower molar, about 11 mm wide with cusps of 2 mm; they describe no actual tooth.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from convex_contact.model.materials import Material
from convex_contact.model.shapes import Hull
from convex_contact.model.world import Geometry, Pose, World

#: distances of the axes of the cusps from the middle [m]
APART_X, APART_Y = 2.2e-3, 2.0e-3
#: radius of an apex, width of a cusp, depth of the crown below the apexes [m]
TIP, WIDTH, DEPTH = 1.0e-3, 6.4e-3, 6.0e-3
#: angle of a cusp's flank against the plane of the apexes [rad]
SLOPE = math.radians(30.0)
#: number of cusps, and flags of those on the side of +y
CUSPS, LEFT = 4, np.array([False, False, True, True])
#: corners of a cusp's outline, and rings of its round apex
CORNERS, RINGS = 32, 3


def cusp() -> np.ndarray:
    """Returns corners of one cusp's hull (n, 3) [m], its apex at the origin."""
    polar = SLOPE * np.arange(1, RINGS + 1) / RINGS
    rings = [(TIP * math.sin(a), TIP * (math.cos(a) - 1.0)) for a in polar]
    radius, height = rings[-1]
    end = 0.5 * WIDTH
    rings += [(end, height - (end - radius) * math.tan(SLOPE)), (end, -DEPTH)]
    around = 2.0 * math.pi * np.arange(CORNERS) / CORNERS
    circle = np.column_stack([np.cos(around), np.sin(around), np.zeros(CORNERS)])
    return np.vstack([np.zeros((1, 3)), *(r * circle + [0.0, 0.0, z] for r, z in rings)])


def groove_height(x: np.ndarray | float, radius: float) -> np.ndarray:
    """Returns the height of the centre of a sphere in the long groove at x [m], for cones without corners."""
    away = np.hypot(np.abs(x) - APART_X, APART_Y)
    return np.asarray((TIP + radius) / math.cos(SLOPE) - TIP - away * math.tan(SLOPE))


def molar(friction: float = 0.15) -> World:
    """Makes a world with the fixed body "tooth", without gravity; cusps in the order (-,-), (+,-), (-,+), (+,+).

    Args:
        friction: of the enamel, for bodies that are put beside it.
    """
    world = World((0.0, 0.0, 0.0))
    hull, enamel = Hull(cusp()), Material(friction=friction)
    places = [(x, y, 0.0) for y in (-APART_Y, APART_Y) for x in (-APART_X, APART_X)]
    world.add_body("tooth", geometries=[Geometry(hull, Pose(np.array(p)), enamel) for p in places], fixed=True)
    return world


@dataclass(frozen=True)
class CuspTap:
    """A tap on a cusp.

    Attributes:
        name: name of the phase.
        speed: speed at the touch [m/s].
        peak_force: largest force [N].
        penetration: largest depth of the true tool [m].
        stiffness: force over depth [N/m].
        rebound: speed when the tool leaves [m/s].
    """

    name: str
    speed: float
    peak_force: float
    penetration: float
    stiffness: float
    rebound: float


@dataclass(frozen=True)
class InGroove:
    """The tip in the groove, in one phase.

    Attributes:
        sideways: largest distance from the groove's line, sideways [m].
        depth: largest depth [m].
        height: largest distance from the groove's height [m].
        both_flanks: fraction of the ticks in which both flanks are in contact.
        both_push: fraction of the ticks in which both flanks push.
        planes: largest number of planes that push.
        length: length of the path along the groove [m].
    """

    sideways: float
    depth: float
    height: float
    both_flanks: float
    both_push: float
    planes: int
    length: float


def measure_tap(
    velocity: np.ndarray, force: np.ndarray, distance: np.ndarray, part: slice, name: str
) -> CuspTap | None:
    """Measures a tap on a cusp; returns None if the tip does not come to touch the tooth.

    Args:
        velocity: of the true tip (n, 3) [m/s].
        force: on the tip (n, 3) [N].
        distance: of the true tip from the tooth (n,) [m].
        part: ticks of the tap.
        name: name of the tap.
    """
    inside = np.flatnonzero(distance[part] < 0.0)
    touch = part.start + int(inside[0]) if len(inside) else 0
    if not touch:  # without a tick before, there is no speed of the impact
        return None
    push, depth = float(np.linalg.norm(force[part], axis=1).max()), float(-distance[part].min())
    return CuspTap(
        name=name,
        speed=float(-velocity[touch - 1, 2]),
        peak_force=push,
        penetration=depth,
        stiffness=push / depth,
        rebound=float(velocity[touch : part.stop, 2].max()),
    )


def measure_groove(
    position: np.ndarray, distance: np.ndarray, contact: np.ndarray, pushes: np.ndarray, radius: float
) -> InGroove:
    """Measures the tip in the long groove.

    Args:
        position: of the true tip (n, 3) [m].
        distance: of the true tip from the tooth (n,) [m].
        contact: flags of contact with each cusp (n, 4).
        pushes: flags of the cusps that push (n, 4).
        radius: of the tip [m].
    """
    return InGroove(
        sideways=float(np.abs(position[:, 1]).max()),
        depth=float(-distance.min()),
        height=float(np.abs(position[:, 2] - groove_height(position[:, 0], radius)).max()),
        both_flanks=_both(contact),
        both_push=_both(pushes),
        planes=int(pushes.sum(axis=1).max()),
        length=float(np.ptp(position[:, 0])),
    )


def _both(flags: np.ndarray) -> float:
    """Computes the fraction of rows with flags (n, 4) of cusps on both sides of the groove."""
    return float((flags[:, LEFT].any(axis=1) & flags[:, ~LEFT].any(axis=1)).mean())
