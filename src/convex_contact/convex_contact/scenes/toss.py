"""A recorded toss and its simulation in one world."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from convex_contact.model.materials import Material
from convex_contact.model.shapes import Sphere
from convex_contact.model.world import Geometry, Pose, World, WorldError
from convex_contact.scenes.tosses import MASS, PERIOD, Toss, load_tosses
from haptic_files.fast_yaml import load_yaml

#: the cube and its contact as identified from the recording
IDENTIFIED = Path(__file__).parents[1] / "data" / "cube_toss.yaml"


def recorded_motion(toss: Toss) -> Any:
    """Returns the twist (6,) over time that moves a body from each sample of a toss to the next; 0 after the last."""
    linear = np.diff(toss.position, axis=0) / PERIOD
    rotations = Rotation.from_quat(toss.orientation)
    angular = (rotations[1:] * rotations[:-1].inv()).as_rotvec() / PERIOD
    twist = np.concatenate([np.hstack([linear, angular]), np.zeros((1, 6))])

    def motion(time: float) -> Sequence[float]:
        # the twist of a step is evaluated at its end, which may be a sample
        return twist[min(int(max(time / PERIOD - 1e-6, 0.0)), len(twist) - 1)]  # type: ignore[no-any-return]

    return motion


def toss_beside_simulation(toss: float = 0, steps: float = 4, **numbers: Any) -> World:
    """Makes a world with the simulated "cube" from a toss's first sample on, and the "recording", which has no contact.

    The cube touches with a sphere in each corner. Its first velocity makes symplectic Euler follow the parabola whose
    mean velocity over the interval before the sample was recorded.

    Args:
        toss: number in the recording's order.
        steps: of the simulation from sample to sample.
        **numbers: replacements of identified values (`data/cube_toss.yaml`): gravity (3,) [m/s^2]; half_width [m];
            inertia [kg m^2]; center (3,) [m]; radius of the corners [m]; stiffness [N/m], dissipation [s/m] and
            friction of the contact; height of the board [m].

    Raises:
        WorldError: there is no such toss or number, or a number is impossible.
    """
    p = load_yaml(IDENTIFIED.read_text())
    unknown = sorted(numbers.keys() - (p.keys() - {"approximation", "period"}))
    if unknown:
        raise WorldError(f"{unknown[0]}: no number of the cube; expected one of {', '.join(list(p)[2:])}")
    p |= numbers
    radius, half_width = p["radius"], p["half_width"]
    tosses = load_tosses()
    if toss != int(toss) or not 0 <= toss < len(tosses):
        raise WorldError(f"toss: expected a number from 0 to {len(tosses) - 1}, got {toss:g}")
    if not 0.0 < radius < half_width:
        raise WorldError(f"radius: expected more than 0 and less than half_width, {half_width:g} m, got {radius:g}")
    chosen = tosses[int(toss)]
    world = World(p["gravity"])
    world.add_half_space("board", point=(0.0, 0.0, p["height"]))
    start: Mapping[str, Any] = {"position": chosen.position[0], "orientation": chosen.orientation[0]}
    corners = (half_width - radius) * np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    world.add_body(
        "cube",
        geometries=[Geometry(Sphere(radius), Pose(corner), Material()) for corner in corners],
        mass=MASS,
        inertia=p["inertia"],
        center=p["center"],
        velocity=chosen.velocity[0] + 0.5 * PERIOD * (1.0 - 1.0 / steps) * world.gravity,
        angular_velocity=chosen.angular_velocity[0],
        **start,
    )
    world.add_body("recording", geometries=[], motion=recorded_motion(chosen), **start)
    world.set_pair("cube", "board", **{n: p[n] for n in ("stiffness", "dissipation", "friction")})
    return world
