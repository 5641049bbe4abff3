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
