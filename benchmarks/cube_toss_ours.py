"""The cube in convex_contact: a box on a half space, many cubes in one world."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import product

import numpy as np
from cube_toss_cases import Model, Motion, Scene, Start

from convex_contact import Box, Geometry, Material, Pose, Simulator, Sphere, World
from convex_contact.scenes.tosses import INERTIA, MASS, PERIOD

#: between cubes, which are simulated together [m]
APART = 10.0


def geometries(half_width: float, radius: float, surface: Material) -> list[Geometry]:
    """A box, or eight spheres in its corners."""
    if not radius:
        return [Geometry(Box(3 * (2.0 * half_width,)), Pose(), surface)]
    inner = half_width - radius
    corners = product((-inner, inner), repeat=3)
    return [Geometry(Sphere(radius), Pose(np.array(corner)), surface) for corner in corners]


def made_world(
    x: dict[str, float], scene: Scene, starts: Sequence[Start], substeps: int
) -> tuple[World, tuple[float, float, float]]:
    """Board and cubes, and the place of a cube's centre of mass (3,), m."""
    world = World(gravity=scene.gravity)
    surface = Material(
        stiffness=2.0 * x["stiffness"],  # two in series
        dissipation=x.get("dissipation", 0.0),
        relaxation_time=x.get("relaxation_time", 0.0) / 2.0,
        friction=x["friction"],
    )
    center = (0.0, 0.0, x.get("center", 0.0))
    world.add_half_space("board", point=(0, 0, x["height"]), material=surface)
    for i, s in enumerate(starts):
        world.add_body(
            f"cube {i}",
            geometries=geometries(scene.half_width, x.get("radius", 0.0), surface),
            mass=MASS,
            inertia=x.get("inertia", INERTIA),
            center=center,
            position=s.position + np.array([APART * i, 0, 0]),
            orientation=s.orientation,
            velocity=s.stepped(PERIOD / substeps, scene.gravity),
            angular_velocity=s.angular_velocity,
        )
    return world, center


def simulate(
    x: dict[str, float], scene: Scene, starts: Sequence[Start], samples: int, substeps: int, *, approximation: str
) -> list[Motion]:
    """Motions from all starts, a row per sample after the first."""
    world, _ = made_world(x, scene, starts, substeps)
    options = {}
    if "tangential_stiffness" in x:
        options = {
            "tangential_stiffness": x["stiffness"] * x["tangential_stiffness"],
            "tangential_damping": x.get("tangential_damping", 0.0),
        }
    simulator = Simulator(
        world, period=PERIOD / substeps, approximation=approximation, relative_tolerance=1e-6, threshold=0.05, **options
    )
    rows = np.empty((samples - 1, len(starts), 7))
    for k in range(1, samples):
        simulator.step(substeps)
        rows[k - 1] = np.hstack(simulator.body_states()[:2])[1:]  # without the board
    rows[:, :, 0] -= APART * np.arange(len(starts))
    return [Motion(r[:, :3], r[:, 3:]) for r in rows.swapaxes(0, 1)]


def models() -> list[Model]:
    """Ways to simulate, with what is to be identified of each."""
    common = {"friction": (0.08, 0.35, False), "height": (-3e-3, 2e-3, False)}
    stiffness = {"stiffness": (1e3, 10**5.5, True)}
    dissipation, relaxation = {"dissipation": (0.03, 10.0, True)}, {"relaxation_time": (1e-4, 0.1, True)}
    tangential = {"tangential_stiffness": (0.1, 10.0, True), "tangential_damping": (0.1, 100.0, True)}
    return [
        Model("ours SAP", partial(simulate, approximation="sap"), stiffness | relaxation | common),
        Model("ours Lagged", partial(simulate, approximation="lagged"), stiffness | dissipation | common),
        Model("ours Similar", partial(simulate, approximation="similar"), stiffness | dissipation | common),
        Model(
            "ours elastoplastic",
            partial(simulate, approximation="lagged_elastoplastic"),
            stiffness | dissipation | common | tangential,
        ),
    ]
