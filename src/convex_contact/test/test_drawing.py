"""Drawings of worlds: positions of triangles and lines."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from convex_contact import Geometry, Material, Sphere, World
from convex_contact.haptics.rendering import ContactRendering, CouplingNumbers, ToolTransform
from convex_contact.model.deformable import DeformableTree
from convex_contact.model.urdf import UrdfWarning
from convex_contact.model.world import Pose
from convex_contact.model.world_file import parse_world
from convex_contact.scenes.finray import FinRay
from convex_contact.scenes.gear_meshes import SpurGear, attach_mesh
from convex_contact.scenes.peg import ARM, BASE
from convex_contact.view.drawing import PALETTE, WorldDrawing

TURN = Rotation.from_rotvec([0.3, -1.1, 0.7])
PLACE = np.array([0.1, 0.2, 0.3])
SCALE = 2.0


class Sheet:
    """Keeps what is drawn, by kind and name."""

    def __init__(self) -> None:
        self.drawn: dict[tuple[str, str], tuple[Any, ...]] = {}

    def loads(self, *values: Any) -> None:
        """Contacts have no name."""

    def __getattr__(self, kind: str) -> Any:
        return lambda name, *values: self.drawn.__setitem__((kind, name), values)


def drawn(world: World) -> dict[tuple[str, str], tuple[Any, ...]]:
    place = ToolTransform(Pose(), SCALE, np.ones(3, dtype=bool), False)
    rendering = ContactRendering(world, period=1e-3, place=place, numbers=CouplingNumbers(*[1.0] * 7))
    rendering.bodies.read()
    sheet = Sheet()
    WorldDrawing(rendering, scale=SCALE).draw(sheet)  # type: ignore[arg-type]
    return sheet.drawn


@pytest.mark.parametrize("modulus", [np.inf, 5e8])
def test_a_gear_is_drawn_as_its_teeth_where_its_body_is(modulus: float) -> None:
    world = World()
    world.add_body("shaft", mass=1.0, inertia=1e-3, center=(0, 0, 0), position=PLACE, orientation=TURN.as_quat())
    gear, across = SpurGear(12, 1e-3, 0.4, 2e-3), Rotation.from_rotvec([1.0, 0.0, 0.0])
    attach_mesh(world, "shaft", gear.mesh(modulus), (0.0, 0.0, 0.01), across.as_quat())
    position, orientation, vertices, triangles, _ = drawn(world)["mesh", "shaft"]
    corners = Rotation.from_quat(orientation).apply(vertices[triangles.ravel()]) + position
    mesh = gear.mesh(modulus)
    expected = PLACE + TURN.apply(across.apply(mesh.vertices[triangles.ravel()]) + np.array([0.0, 0.0, 0.01]))
    np.testing.assert_allclose(corners, expected / SCALE, atol=1e-12)
    a, b, c = np.moveaxis(corners.reshape(-1, 3, 3), 1, 0)
    assert np.einsum("ij,ij->", a, np.cross(b, c)) > 0.0  # a closed surface that turns about its outward normals


def test_an_arm_without_shapes_is_drawn_from_its_base_from_joint_to_joint() -> None:
    world = World()
    world.add_urdf("arm", ARM, position=BASE, armature=0.1)
    found = {name: points for (kind, name), (points, *_) in drawn(world).items() if kind == "line"}
    joints = [f"arm/link_{i}" for i in range(1, 8)]
    assert list(found) == [*joints, "arm/finger_left", "arm/finger_right"]
    np.testing.assert_allclose(
        found[joints[0]], SCALE**-1 * np.array([BASE, BASE + np.array([0, 0, 0.333])]), atol=1e-12
    )
    for before, after in pairwise(joints):
        np.testing.assert_array_equal(found[before][1], found[after][0])
    for finger in ("left", "right"):
        np.testing.assert_array_equal(found[f"arm/finger_{finger}"][0], found[joints[-1]][1])


def test_a_tree_that_floats_has_no_line_from_where_it_was_put() -> None:
    world = World()
    world.add_urdf("arm", ARM, position=BASE, armature=0.1, floating=True)
    assert ("line", "arm/link_1") in drawn(world) and ("line", "arm/base") not in drawn(world)


def test_a_finger_is_drawn_where_its_vertices_are() -> None:
    world = World()
    finger = FinRay(ribs=2, cells=1, layers=1)
    mesh, gripping, base = finger.mesh()
    world.add_deformable("finger", mesh, contact=gripping, attached=base, drawn=finger.outline(), position=PLACE)
    seen = drawn(world)
    position, orientation, vertices, triangles, _ = seen["mesh", "finger"]
    assert not position.any() and orientation.tolist() == [0.0, 0.0, 0.0, 1.0]
    np.testing.assert_allclose(vertices, (mesh.vertices + PLACE) / SCALE, atol=1e-12)
    np.testing.assert_array_equal(triangles, finger.outline())
    assert isinstance(world.trees[0].model, DeformableTree)
    assert [kind for kind, _ in seen] == ["mesh"]  # no spheres for the vertices that touch


MJCF = """<mujoco><default><geom rgba="0.1 0.2 0.3 1"/></default><worldbody>
<geom name="floor" type="plane" size="1 1 1" rgba="0.2 0.7 0.3 1"/>
<body name="cube" pos="0 0 1"><freejoint/><geom name="a" type="box" size="0.1 0.1 0.1" rgba="1 0.5 0 0.8"/></body>
<body name="ball" pos="0 0 2"><freejoint/><geom type="sphere" size="0.1"/></body>
<body name="pin" pos="0 0 3"><freejoint/><geom type="sphere" size="0.1" rgba="1 1 1 0"/></body>
</worldbody></mujoco>"""

URDF = """<robot name="r"><material name="sky"><color rgba="0 0.4 0.9 1"/></material>
<link name="a"><visual><geometry><sphere radius="0.1"/></geometry><material name="sky"/></visual>
<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><geometry><sphere radius="0.1"/></geometry></collision></link></robot>"""

YAML = """
bodies:
  - {name: dot, mass: 1.0, shape: {type: sphere, radius: 0.1, color: [0.2, 0.9, 0.4, 1.0]}}
"""


def colors(world: World) -> dict[str, Any]:
    return {name: values[-1] for (_, name), values in drawn(world).items()}


def test_shapes_have_the_colours_of_their_file(tmp_path: Path) -> None:
    for suffix, text in (("xml", MJCF), ("urdf", URDF), ("yaml", YAML)):
        (tmp_path / f"file.{suffix}").write_text(text)
    mjcf = colors(World.load(tmp_path / "file.xml"))
    assert mjcf["cube"] == (1.0, 0.5, 0.0, 0.8) and mjcf["ball"] == (0.1, 0.2, 0.3, 1.0)
    assert mjcf["world"] == (0.2, 0.7, 0.3, 1.0)
    assert mjcf["pin"] == PALETTE[2]  # what is invisible in the file is still seen
    assert (0.0, 0.4, 0.9, 1.0) in colors(World.load(tmp_path / "file.urdf", floating=True)).values()
    world = World.load(tmp_path / "file.yaml")
    assert colors(world)["dot"] == (0.2, 0.9, 0.4, 1.0)
    assert colors(parse_world(world.to_yaml(), folder=tmp_path))["dot"] == (0.2, 0.9, 0.4, 1.0)


def test_a_colour_that_is_none_is_refused_or_listed(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="color: expected red, green, blue and opacity from 0 to 1"):
        Geometry(Sphere(0.1), Pose(), Material(), color=(255.0, 0.0, 0.0, 1.0))
    (tmp_path / "file.urdf").write_text(URDF.replace("0.4 0.9 1", "102 230 255"))
    with pytest.warns(UrdfWarning, match="rgba"):
        World.load(tmp_path / "file.urdf", floating=True)
