"""Worlds to touch of files: where the body stands, its size, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import trimesh

from convex_contact import Simulator
from convex_contact.model.world import WorldError
from convex_contact.model.world_source import open_world
from convex_contact.scenes.touched_file import DENSITY, SIZE, touched_file

BALL = "<mujoco><worldbody><geom type='plane' size='1 1 1'/><body name='{}' pos='0 0 0.02'><freejoint/>" + (
    "<geom size='0.02'/></body></worldbody></mujoco>"
)


def box_file(folder: Path, edge: float) -> Path:
    mesh = trimesh.creation.box((edge, 0.5 * edge, edge))
    mesh.apply_translation((edge, 0.0, -3.0 * edge))
    path = folder / "box.stl"
    mesh.export(path)
    return path


@pytest.mark.slow
@pytest.mark.parametrize(("edge", "expected"), [(0.04, 0.04), (40.0, SIZE), (0.001, SIZE)])
def test_a_mesh_stands_on_the_table_in_a_size_to_touch(tmp_path: Path, edge: float, expected: float) -> None:
    world = touched_file(str(box_file(tmp_path, edge)))
    assert [body.name for body in world.bodies] == ["box", "table", "finger"]
    box = world.bodies[0]
    shape = box.geometries[0].shape
    np.testing.assert_allclose(2.0 * shape.extent, [expected, 0.5 * expected, expected], rtol=1e-6)
    middle = box.placement.position + shape.center
    np.testing.assert_allclose(middle, [0.0, 0.0, 0.5 * expected], atol=1e-9)
    assert box.mass == pytest.approx(0.5 * DENSITY * expected**3, rel=1e-6)


def test_density_counts(tmp_path: Path) -> None:
    path = str(box_file(tmp_path, 0.04))
    masses = [touched_file(path, density=density).bodies[0].mass for density in (500.0, 1000.0)]
    assert masses[1] == pytest.approx(2.0 * masses[0])


def test_a_mesh_rests_where_it_stands(tmp_path: Path) -> None:
    simulator = Simulator(touched_file(str(box_file(tmp_path, 0.04))), period=1e-3)
    before = simulator.state(0).position.copy()
    for _ in range(50):
        simulator.step()
    assert np.linalg.norm(simulator.state(0).position - before) < 1e-4


def test_a_model_with_a_floor_gets_no_second_one(tmp_path: Path) -> None:
    path = tmp_path / "ball.xml"
    path.write_text(BALL.format("ball"))
    world = touched_file(str(path))
    names = [body.name for body in world.bodies]
    assert "table" not in names and names[-1] == "finger" and "ball" in " ".join(names)


def test_file_that_cannot_be_a_scene_is_one_clear_error(tmp_path: Path) -> None:
    path = tmp_path / "ball.xml"
    path.write_text(BALL.format("finger"))
    with pytest.raises(WorldError, match=r"ball\.xml: expected no body named finger"):
        touched_file(str(path))
    with pytest.raises(WorldError, match=r"none\.stl"):
        touched_file(str(tmp_path / "none.stl"))
    with pytest.raises(WorldError, match=r"a\.txt: expected a file ending in"):
        touched_file(str(tmp_path / "a.txt"))
    path.write_text(BALL.format("ball"))
    with pytest.raises(WorldError, match=r"^ball\.xml: density: expected none, since the file is no mesh"):
        open_world(str(path), {"density": 700.0})
    with pytest.raises(WorldError, match=r"^entry bodies\.ball\.mass: ball\.xml takes density alone"):
        open_world(str(path), {"density": 700.0, "bodies.ball.mass": 2.0})


def test_the_path_of_a_model_or_a_mesh_is_a_world_to_touch(tmp_path: Path) -> None:
    path = str(box_file(tmp_path, 0.04))
    world = open_world(path, {"density": 700.0})
    assert world.bodies[0].mass == pytest.approx(0.5 * 700.0 * 0.04**3, rel=1e-6)
    assert [body.name for body in world.bodies] == [body.name for body in touched_file(path).bodies]
    with pytest.raises(WorldError, match="colour"):
        open_world(path, {"colour": "red"})
    with pytest.raises(WorldError, match=r"none\.urdf"):
        open_world(str(tmp_path / "none.urdf"))
