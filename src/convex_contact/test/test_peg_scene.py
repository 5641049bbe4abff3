"""The arm with deformable fingers: it follows its target, grips and lifts; every number of scene and finger acts."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import pytest

from convex_contact import Simulator, World
from convex_contact.model.world import WorldError
from convex_contact.scenes.finray import FinRay
from convex_contact.scenes.peg import Peg, deformable_peg

#: the coarsest mesh of the scene's fingers
COARSE = {"cells": 1, "layers": 1}
#: how far the target is lifted, m, and how long the hand stays and is lifted, s
LIFT, REST, WAY = 0.03, 0.5, 0.5


def lifted(scene: Peg) -> Simulator:
    """The hand rests about the standing peg, grips it, and is lifted."""
    sim = Simulator(scene.world(), period=0.01)
    for k in range(round((REST + WAY) / sim.period)):
        share = min(max((k * sim.period - REST) / WAY, 0.0), 1.0)
        place = (0.0, 0.0, scene.grasp_height + LIFT * share)
        sim.set_state("target", position=place, velocity=np.zeros(3), angular_velocity=np.zeros(3))
        sim.step()
    return sim


def seen(sim: Simulator) -> np.ndarray:
    """Peg and hand, and how the left finger is bent; as many numbers for every mesh."""
    (finger,) = (t for t, tree in enumerate(sim.world.trees) if tree.name == "left")
    a = sim.dynamics.arrays
    energy = sim.world.trees[finger].model.energy(a.q[a.tree_q[finger] : a.tree_q[finger + 1]])
    states = [sim.state(name) for name in ("peg", "arm/link_7")]
    return np.concatenate([[energy], *(np.concatenate([s.position, s.orientation, s.velocity]) for s in states)])


def test_the_arm_grips_the_peg_and_lifts_it_with_its_target() -> None:
    scene = Peg(**COARSE)
    sim = lifted(scene)
    assert sim.state("peg").position[2] - 0.5 * scene.length == pytest.approx(LIFT, abs=5e-3)  # it is held back by 2 mm
    names = [body.name.split("/")[0] for body in sim.world.bodies]
    report = sim.contacts
    bearing = report.body[report.impulse[:, 2] > 0.0]
    held = {names[i] for pair in bearing for i in pair}
    assert held == {"left", "right", "peg"}


def test_the_peg_stands_where_four_contacts_bear_its_weight() -> None:
    scene = Peg(**COARSE)
    (peg,) = (body for body in scene.world().bodies if body.name == "peg")
    depth = 0.5 * scene.length - peg.placement.position[2]
    assert 4.0 * scene.stiffness * depth == pytest.approx(9.81 * scene.mass, rel=1e-9)


def test_a_peg_is_inserted_from_half_the_depth_of_the_holder_on() -> None:
    scene = Peg()

    def at(lowest: float, x: float = 0.0, y: float = 0.0) -> bool:
        return scene.inserted(np.array([x, scene.holder + y, lowest * scene.holder_height + 0.5 * scene.length]))

    aside = 2.0 * scene.clearance
    assert at(0.0) and at(0.49) and not at(0.51)
    assert at(0.0, 0.99 * aside, -0.99 * aside) and not at(0.0, -1.01 * aside) and not at(0.0, y=1.01 * aside)


@pytest.fixture(scope="module")
def usual() -> tuple[np.ndarray, np.ndarray]:
    return seen(lifted(Peg(**COARSE))), leaning(Peg(**COARSE))


def leaning(scene: Peg) -> np.ndarray:
    """Velocity of a peg half a millimetre inside the wall of the usual holder, after three steps (3,), m/s."""
    sim, usual = Simulator(scene.world(), period=0.01), Peg()
    away = usual.holder + usual.clearance + 5e-4
    sim.set_state("peg", position=(0.0, away, 0.5 * scene.length))
    sim.step(3)
    return np.asarray(sim.state("peg").velocity)


OTHER = {
    "modulus": 2e6, "poisson_ratio": 0.4, "damping": 0.02, "radius": 0.011, "length": 0.13, "mass": 0.12,
    "clearance": 0.008, "holder": 0.13, "opening": 0.024, "effort_limit": 6.0, "stiffness": 2e4, "friction": 0.5,
    "tether": 100.0, "cells": 2, "layers": 2,
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.covering(3)
@pytest.mark.parametrize("name", [field.name for field in fields(Peg)])
def test_every_number_of_the_scene_acts(name: str, usual: tuple[np.ndarray, np.ndarray]) -> None:
    scene = Peg(**{**COARSE, name: OTHER[name]})
    if name in ("clearance", "holder"):
        assert np.abs(leaning(scene) - usual[1]).max() > 1e-3
    else:
        assert np.abs(seen(lifted(scene)) - usual[0]).max() > 1e-6  # the same scene twice: equal to the last bit


def bent(numbers: dict[str, Any]) -> np.ndarray:
    """Elastic energy, J, and deflection of the tip, m, of a finger that is held at its base and falls to the side."""
    world = World((0.0, -9.81, 0.0))
    finger = FinRay(**{"ribs": 2, "cells": 1, "layers": 1, **numbers})
    mesh, _, base = finger.mesh()
    world.add_deformable("finger", mesh, contact=(), attached=base)
    world.weld("finger/mount", world.add_body("stand", fixed=True))
    sim = Simulator(world, period=0.01)
    sim.step(10)
    model, q = world.trees[0].model, sim.dynamics.arrays.q
    tip = mesh.vertices[:, 0] > finger.length - 1e-9
    return np.array([model.energy(q), (model.positions(q) - mesh.vertices)[tip, 1].mean()])


@pytest.mark.parametrize("layers", [1, 3])
def test_the_outline_of_a_finger_encloses_its_mesh(layers: int) -> None:
    finger = FinRay(ribs=2, cells=1, layers=layers)
    mesh, _, _ = finger.mesh()
    corner = mesh.vertices[mesh.tetrahedra]
    volume = np.linalg.det(corner[:, 1:] - corner[:, :1]).sum()
    a, b, c = np.moveaxis(mesh.vertices[finger.outline()], 1, 0)
    assert np.einsum("ij,ij->", a, np.cross(b, c)) == pytest.approx(volume, rel=1e-9)


SHAPE = {
    "length": 0.08, "depth": 0.025, "width": 0.015, "thickness": 0.0025, "rib_thickness": 0.0015, "ribs": 3, "cells": 2,
    "through": 2, "layers": 2,
}  # fmt: skip


@pytest.mark.parametrize("name", [field.name for field in fields(FinRay)])
def test_every_number_of_the_finger_acts(name: str) -> None:
    usual, other = bent({}), bent({name: SHAPE[name]})
    assert usual[1] < 0.0
    assert np.abs(other / usual - 1.0).max() > 1e-3


def test_error_names_the_impossible_number() -> None:
    for numbers, message in (
        ({"colour": 1.0}, r"^colour: no number of the scene; expected one of modulus, "),
        ({"friction": -1.0}, r"^friction: expected 0 or more"),
        ({"poisson_ratio": 0.5}, r"^poisson_ratio: expected from 0 to below 0.5, got 0.5"),
        ({"opening": 0.012}, r"^opening: expected more than the peg's radius"),
        ({"holder": 0.05}, r"^holder: expected it beyond the open gripper"),
        ({"length": 0.09}, r"^length: expected 0.1 m or more"),
        ({"cells": 0}, r"^cells: expected 1 or more"),
        ({"layers": 1.5}, r"^layers: expected a whole number, got 1.5"),
    ):
        with pytest.raises(WorldError, match=message):
            deformable_peg(**numbers)
    with pytest.raises(ValueError, match="thickness: expected walls that leave room between them"):
        FinRay(thickness=0.01)
