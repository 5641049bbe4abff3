"""Worlds of files by their suffix: URDF, world files, meshes in several formats."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import coal
import numpy as np
import pytest

from convex_contact import Hull, Material, Simulator, World, WorldError
from convex_contact.model.load import LOADERS
from convex_contact.model.mesh_files import SUFFIXES, read_meshes

DATA = Path(__file__).with_name("data")
#: a tetrahedron with a right-angled corner at the origin, edges 1, 2, 3 m
CORNERS = np.array([[0.0, 0, 0], [1, 0, 0], [0, 2, 0], [0, 0, 3]])
FACES = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])


def ascii_stl() -> str:
    facets = []
    for face in FACES:
        vertices = "".join(f"vertex {x} {y} {z}\n" for x, y, z in CORNERS[face])
        facets.append(f"facet normal 0 0 0\nouter loop\n{vertices}endloop\nendfacet\n")
    return f"solid t\n{''.join(facets)}endsolid t\n"


def listed(first: str, vertex: str, face: str, start: int) -> str:
    vertices = "".join(f"{vertex}{x} {y} {z}\n" for x, y, z in CORNERS)
    return first + vertices + "".join(f"{face}{a + start} {b + start} {c + start}\n" for a, b, c in FACES)


PLY = (
    "ply\nformat ascii 1.0\nelement vertex 4\nproperty double x\nproperty double y\nproperty double z\n"
    "element face 4\nproperty list uchar int vertex_indices\nend_header\n"
)
DAE = f"""<?xml version="1.0" encoding="utf-8"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><unit name="meter" meter="1"/><up_axis>Z_UP</up_axis></asset>
<library_geometries><geometry id="g" name="g"><mesh>
<source id="p"><float_array id="pa" count="12">{" ".join(f"{x:g}" for x in CORNERS.ravel())}</float_array>
<technique_common><accessor source="#pa" count="4" stride="3"><param name="X" type="float"/>
<param name="Y" type="float"/><param name="Z" type="float"/></accessor></technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
<triangles count="4"><input semantic="VERTEX" source="#v" offset="0"/>
<p>{" ".join(map(str, FACES.ravel()))}</p></triangles>
</mesh></geometry></library_geometries>
<library_visual_scenes><visual_scene id="s"><node id="n"><instance_geometry url="#g"/></node></visual_scene>
</library_visual_scenes><scene><instance_visual_scene url="#s"/></scene></COLLADA>
"""
MESHES = {
    "t.stl": ascii_stl(),
    "t.obj": listed("", "v ", "f ", 1),
    "t.off": listed("OFF\n4 4 0\n", "", "3 ", 0),
    "t.ply": listed(PLY, "", "3 ", 0),
    "t.dae": DAE,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", MESHES)
def test_a_mesh_is_one_free_body_of_its_hull(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text(MESHES[name])
    world = World.load(path)
    assert [(body.name, body.kind) for body in world.bodies] == [("t", "free")]
    body = world.bodies[0]
    assert isinstance(body.geometries[0].shape, Hull)
    np.testing.assert_allclose(body.geometries[0].shape.vertices, CORNERS[[0, 3, 2, 1]], atol=1e-6)
    assert body.mass == pytest.approx(1000.0 * 1.0, rel=1e-6)  # of water; the volume is a b c/6
    np.testing.assert_allclose(body.center, CORNERS.mean(axis=0), atol=1e-6)
    sim = Simulator(world, period=1e-3)
    sim.step(10)
    assert sim.state("t").velocity[2] == pytest.approx(-9.81 * 1e-2, rel=1e-9)


def test_density_scale_and_the_arguments_of_a_body_are_options(tmp_path: Path) -> None:
    path = tmp_path / "t.OBJ"
    path.write_text(MESHES["t.obj"])
    options = {"scale": (0.1, 0.1, -0.1), "material": Material(friction=0.9), "position": (1, 2, 3)}
    body = World.load(path, density=500.0, **options).bodies[0]
    assert body.mass == pytest.approx(0.5, rel=1e-6) and body.geometries[0].material.friction == 0.9
    np.testing.assert_array_equal(body.placement.position, (1, 2, 3))
    np.testing.assert_allclose(body.center, CORNERS.mean(axis=0) * (0.1, 0.1, -0.1), atol=1e-9)
    assert World.load(path, mass=7.0).bodies[0].mass == 7.0
    for density in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(WorldError, match=r"^t: density: expected a positive number"):
            World.load(path, density=density)
    for scale in ((1, 2), (1, 1, math.nan), 0.1):
        with pytest.raises(WorldError, match=r"^t: scale: expected 3 finite numbers"):
            World.load(path, scale=scale)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*MESHES, "wedge.stl"])
def test_the_process_reads_what_coal_reads(tmp_path: Path, name: str) -> None:
    path = DATA / name
    if name in MESHES:
        path = tmp_path / name
        path.write_text(MESHES[name])
    found, expected = read_meshes([path], triangles=True)[0], coal.MeshLoader().load(str(path), np.ones(3))
    np.testing.assert_array_equal(found.vertices, expected.vertices())
    triangles = [[expected.tri_indices(i)[k] for k in range(3)] for i in range(expected.num_tris)]
    np.testing.assert_array_equal(found.triangles, triangles)
    scale = np.array([0.3, 1.7, -2.1])
    np.testing.assert_array_equal(found.vertices * scale, coal.MeshLoader().load(str(path), scale).vertices())


def test_a_urdf_is_one_tree_named_after_the_robot() -> None:
    world, by_hand = World.load(DATA / "arm.urdf"), World()
    by_hand.add_urdf("arm", DATA / "arm.urdf")
    assert [tree.name for tree in world.trees] == ["arm"]
    assert world.to_yaml() == by_hand.to_yaml()
    floating = World.load(DATA / "arm.urdf", floating=True, position=(0, 0, 2))
    np.testing.assert_array_equal(floating.trees[0].q[:7], [0, 0, 2, 0, 0, 0, 1])


def test_a_urdf_without_joints_is_a_fixed_body_that_others_meet(tmp_path: Path) -> None:
    path = tmp_path / "table.urdf"
    shape = '<collision><geometry><box size="2 2 0.2"/></geometry></collision>'
    path.write_text(f'<robot name="table"><link name="top">{shape}</link></robot>')
    world = World.load(path, position=(0, 0, -0.1))
    world.add_sphere("ball", mass=1.0, radius=0.1, position=(0, 0, 0.0999))
    sim = Simulator(world, period=1e-3)
    sim.step(200)
    assert sim.state("ball").position[2] == pytest.approx(0.1, abs=1e-3)
    assert sim.contact_wrench("ball")[2] == pytest.approx(9.81, rel=1e-3)


@pytest.mark.parametrize("suffix", [".yaml", ".yml"])
def test_a_world_file_is_its_world(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"world{suffix}"
    path.write_text("bodies: [{name: ball, mass: 1, shape: {type: sphere, radius: 0.1}}]")
    assert World.load(path).to_yaml() == World.from_yaml(path).to_yaml()


def test_mjcf_is_a_world_of_its_bodies(tmp_path: Path) -> None:
    path = tmp_path / "arm.xml"
    ball = '<body name="ball" pos="0 0 1"><freejoint/><geom size="0.1" density="700"/></body>'
    key = '<keyframe><key name="high" qpos="0 0 2 1 0 0 0"/></keyframe>'
    path.write_text(f"<mujoco><worldbody>{ball}</worldbody>{key}</mujoco>")
    world = World.load(path)
    assert [(body.name, body.kind) for body in world.bodies] == [("ball", "free")]
    assert world.bodies[0].mass == pytest.approx(700.0 * 4.0 / 3.0 * math.pi * 1e-3)
    high = World.load(path, keyframe="high", material=Material(stiffness=1e5)).bodies[0]
    assert high.placement.position[2] == 2.0 and high.geometries[0].material.stiffness == 1e5
    assert World.load(path, keyframe=0).bodies[0].placement.position[2] == 2.0
    for wrong in (False, 1, -1):
        with pytest.raises(WorldError, match=rf"keyframe: expected .*, got {wrong}"):
            World.load(path, keyframe=wrong)


@pytest.mark.parametrize("name", ["arm.sdf", "arm", ".stl", ""])
def test_an_unknown_suffix_names_the_expected_ones(name: str) -> None:
    with pytest.raises(WorldError) as caught:
        World.load(Path("folder", name))
    assert str(caught.value).endswith(f": expected a file ending in {', '.join(sorted(LOADERS))}")
    assert set(SUFFIXES) <= LOADERS.keys() and "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["none.urdf", "none.yaml", "none.stl", "none.dae"])
def test_a_missing_file_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(WorldError, match=r"none\.\w+: cannot be read: No such file or directory$"):
        World.load(tmp_path / name)


def test_a_xacro_file_is_refused_with_the_program_that_expands_it() -> None:
    with pytest.raises(WorldError, match=r"^arm\.urdf\.xacro: expected a URDF, got macros; `xacro arm\.urdf\.xacro > "):
        World.load("arm.urdf.xacro")


def test_a_material_that_is_none_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.stl"
    path.write_text(ascii_stl())
    steel: Any = "steel"
    with pytest.raises(ValueError, match="material: expected a Material, got 'steel'"):
        World().add_mesh("t", path, material=steel)
    with pytest.raises(WorldError, match="material: expected a Material, got 'steel'"):
        World().add_sphere("s", radius=1.0, mass=1.0, material=steel)
