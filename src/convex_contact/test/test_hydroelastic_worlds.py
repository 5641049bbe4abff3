"""Hydroelastic bodies in world files, and combinations that are refused."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest
from hydroelastic_cases import OUTSIDE, SOFT, TETRAHEDRON, R, box_on_floor

from convex_contact import HertzLaw, Hydroelastic, PressureField, RigidSurface, Simulator, WorldError, rollout
from convex_contact.model.world_file import parse_world

FILE = """
bodies:
- {name: floor, fixed: true, shape: {type: half_space}}
- name: ball
  mass: 1.0
  position: [0, 0, 0.045]
  shape: {type: sphere, radius: 0.05, hydroelastic: {modulus: 1e6, resolution: 0.02}}
- name: anvil
  fixed: true
  position: [0.2, 0, 0]
  shape: {type: mesh, file: anvil.obj, hydroelastic: {modulus: .inf}}
- name: own
  mass: 1.0
  position: [0.2, 0, 0.2]
  shape:
    type: hull
    points: [[0, 0, 0], [0.1, 0, 0], [0, 0.1, 0], [0, 0, 0.1]]
    hydroelastic:
      vertices: [[0, 0, 0], [0.1, 0, 0], [0, 0.1, 0], [0, 0, 0.1], [0.02, 0.02, 0.02]]
      tetrahedra: [[4, 1, 2, 3], [0, 4, 2, 3], [0, 1, 4, 3], [0, 1, 2, 4]]
      pressure: [0, 0, 0, 0, 1e5]
"""


def write_anvil(folder: Path) -> None:
    lines = [f"v {x} {y} {z}" for x, y, z in TETRAHEDRON[:4]] + [f"f {a + 1} {b + 1} {c + 1}" for a, b, c in OUTSIDE]
    (folder / "anvil.obj").write_text("\n".join(lines) + "\n")


@pytest.mark.slow
def test_world_files_store_and_restore_hydroelastic_properties(tmp_path: Path) -> None:
    write_anvil(tmp_path)
    world = parse_world(FILE, folder=tmp_path)
    _, ball, anvil, own = (g for _, g in world.numbered_geometries())
    assert ball.hydroelastic == Hydroelastic(1e6, 0.02) and ball.modulus == 1e6
    assert isinstance(anvil.mesh, RigidSurface) and len(anvil.mesh.triangles) == 4 and anvil.modulus == math.inf
    assert isinstance(own.mesh, PressureField) and own.modulus == 1e5
    again = parse_world(world.to_yaml())
    for simulator in (a := Simulator(world, period=1e-3), b := Simulator(again, period=1e-3)):
        simulator.step(20)
    assert a.contacts.area.size and (a.contacts.area > 0).all()
    for x, y in zip(a.body_states(), b.body_states(), strict=True):
        np.testing.assert_array_equal(x, y)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("resolution: 0.02", "resolution: -1", "world: bodies.1.shape.hydroelastic: resolution: expected a positive"),
        (", resolution: 0.02", "", "expected modulus, resolution; or vertices, tetrahedra, pressure; or vertices, tri"),
        ("modulus: .inf", "triangle: 3", "world: line 11: bodies.2.shape.hydroelastic: unknown field"),
        ("pressure: [0, 0,", "pressure: [5, 0,", "world: bodies.3.shape.hydroelastic: pressure: expected 0 on"),
        ("{type: half_space}", "{type: half_space, hydroelastic: {modulus: 1e6, resolution: 1}}", "got a half_space"),
    ],
)  # fmt: skip
def test_world_files_name_what_is_wrong(tmp_path: Path, old: str, new: str, message: str) -> None:
    write_anvil(tmp_path)
    with pytest.raises(WorldError, match=re.escape(message)):
        parse_world(FILE.replace(old, new), folder=tmp_path)


def test_options_that_compliant_bodies_do_not_allow_are_refused() -> None:
    world = box_on_floor()
    with pytest.raises(ValueError, match=r"^normal_law: expected a linear one with compliant bodies, "):
        Simulator(world, period=1e-3, normal_law=HertzLaw())
    with pytest.raises(ValueError, match=r"^simulator: expected no compliant bodies; contact surfaces"):
        rollout(Simulator(world, period=1e-3), 1)
    world.set_pair("box", "floor", stiffness=1e5)
    with pytest.raises(WorldError, match=r"^(box and floor|floor and box): stiffness: expected none"):
        Simulator(world, period=1e-3)
    with pytest.raises(WorldError, match=r"^pill: hydroelastic: expected a sphere"):
        world.add_capsule("pill", radius=R, length=R, mass=1.0, hydroelastic=SOFT)
