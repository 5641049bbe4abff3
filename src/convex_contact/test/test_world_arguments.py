"""Wrong arguments of a world's parts: each is refused by an error that names it, and nothing is added."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from convex_contact import (
    Batch,
    Geometry,
    Hydroelastic,
    JointMotion,
    Material,
    Pose,
    Sphere,
    TetrahedralMesh,
    UrdfWarning,
    World,
    WorldError,
)

SHAFT = Path(__file__).parents[1] / "convex_contact" / "data" / "shaft.urdf"


def counts(world: World) -> tuple[int, ...]:
    return len(world.bodies), len(world.trees), len(world.controllers), len(world.joint_laws), len(world.disabled)


def ball(world: World, **given: Any) -> Any:
    return world.add_sphere(**{"name": "ball", "mass": 1.0, "radius": 0.1} | given)


def shaft(world: World, **given: Any) -> Any:
    return world.add_urdf(**{"name": "motor", "path": SHAFT, "armature": 0.5} | given)


def hinge(world: World, **given: Any) -> Any:
    return world.add_joint(**{"name": "hinge", "kind": "hinge", "a": None, "b": "bob", "point": (0, 0, 0)} | given)


@pytest.mark.parametrize(
    "add, wrong, message",
    [
        (ball, {"name": True}, "name: expected a text, got True"),
        (ball, {"mass": "1 kg"}, "ball: mass: expected a positive number of kilograms, got '1 kg'"),
        (ball, {"radius": None}, "ball: radius: expected a positive number of metres, got None"),
        (ball, {"inertia": "x"}, "ball: inertia: expected finite numbers, got 'x'"),
        (ball, {"inertia": math.inf}, "ball: inertia: expected finite numbers, got inf"),
        (ball, {"spring_stiffness": [1.0]}, "ball: spring_stiffness: expected a number not below 0, got [1.0]"),
        (ball, {"motion": 1.0}, "ball: motion: expected a function of time, got 1.0"),
        (ball, {"material": 0}, "ball: material: expected a Material, got 0"),
        (
            ball,
            {"hydroelastic": 1e6},
            "ball: hydroelastic: expected a Hydroelastic, a PressureField, a RigidSurface or None, got 1000000.0",
        ),
        (shaft, {"name": 1}, "name: expected a text, got 1"),
        (shaft, {"path": None}, "motor: path: expected a path, got None"),
        (shaft, {"material": "steel"}, "motor: material: expected a Material, got 'steel'"),
        (shaft, {"materials": {"shaft": 0.5}}, "motor: materials: shaft: expected a Material, got 0.5"),
        (shaft, {"materials": 1}, "motor: materials: expected a material by the name of a link, got 1"),
        (hinge, {"name": 1, "axis": (0, 0, 1)}, "name: expected a text, got 1"),
    ],
)
def test_wrong_value_is_refused_by_its_name(add: Callable[..., Any], wrong: dict[str, Any], message: str) -> None:
    world = World()
    world.add_sphere("bob", mass=1.0, radius=0.1)
    before = counts(world)
    with pytest.raises(WorldError) as refused:
        add(world, **wrong)
    assert str(refused.value) == message
    assert counts(world) == before


def test_geometries_are_geometries() -> None:
    world = World()
    with pytest.raises(WorldError, match=r"^box: geometries: expected a list of Geometry, got 'box'$"):
        world.add_body("box", mass=1.0, inertia=1.0, center=(0, 0, 0), geometries=["box"])  # type: ignore[list-item]
    for name, wrong in (("shape", "sphere"), ("placement", (0, 0, 0)), ("material", None)):
        given: dict[str, Any] = {"shape": Sphere(0.1), "placement": Pose(), "material": Material()} | {name: wrong}
        with pytest.raises(ValueError, match=rf"^{name}: expected a "):
            Geometry(**given)
    with pytest.raises(ValueError, match=r"^color: expected red, green, blue and opacity from 0 to 1, got 1$"):
        Geometry(Sphere(0.1), Pose(), Material(), color=1)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["stiffness", "dissipation", "relaxation_time", "friction", "torsional_friction"])
@pytest.mark.parametrize("wrong", [None, "soft", [1.0]])
def test_numbers_of_a_material_are_numbers(name: str, wrong: Any) -> None:
    with pytest.raises(ValueError, match=rf"^{name}: expected .*, got "):
        Material(**{name: wrong})


def test_values_are_kept_as_numbers() -> None:
    material = Material(stiffness=np.float32(10.0), friction=True)
    assert (material.stiffness, material.friction) == (10.0, 1.0)
    assert all(type(value) is float for value in (material.stiffness, material.friction, Sphere("2").radius))  # type: ignore[arg-type]


@pytest.mark.parametrize("modulus, resolution", [("x", 0.1), (None, 0.1), (1e5, "x"), (1e5, None)])
def test_numbers_of_a_pressure_field_are_numbers(modulus: Any, resolution: Any) -> None:
    with pytest.raises(ValueError, match=r"^(modulus|resolution): expected a positive number of .*, got "):
        Hydroelastic(modulus, resolution)


@pytest.mark.parametrize("name", ["effort_limit", "velocity_limit"])
@pytest.mark.parametrize("wrong", [None, "x", math.nan, 0.0])
def test_limits_of_motors_are_numbers(name: str, wrong: Any) -> None:
    world = World()
    shaft(world)
    with pytest.raises(WorldError, match=rf"^motor: turn: {name}: expected a number above 0, or inf, got "):
        world.actuate_joint("motor", "turn", proportional_gain=1.0, **{name: wrong})
    assert not world.joint_laws


def test_motion_of_a_joint_is_a_function() -> None:
    world = World()
    shaft(world)
    with pytest.raises(WorldError, match=r"^motor: turn: position: expected a function of time, got 0\.5$"):
        world.move_joint("motor", "turn", 0.5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^turn: position: expected a number, got \[1\.0\]$"):
        JointMotion(0, "turn", lambda _: [1.0]).numbers([0.0], 0.0, 1e-3)  # type: ignore[arg-type,return-value]


@pytest.mark.parametrize("teeth", [10, None, (10,), (10, 20.0)])
def test_teeth_are_two_whole_numbers(teeth: Any) -> None:
    world = World()
    for x, name in enumerate(("one", "two")):
        ball(world, name=name, position=(x, 0, 0))
        world.add_joint(name, "hinge", None, name, point=(x, 0, 0), axis=(0, 0, 1))
    with pytest.raises(WorldError, match=r"^teeth: expected two whole numbers from 1 to 10000, got "):
        world.add_gear("one", "two", teeth=teeth)


def test_start_of_a_continuous_joint_is_a_direction(tmp_path: Path) -> None:
    file = tmp_path / "wheel.urdf"
    inertial = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    file.write_text(
        f'<robot name="r"><link name="a"/><link name="b">{inertial}</link>'
        f'<joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint></robot>'
    )
    with pytest.raises(WorldError, match=r"^r: q: expected cosines, sines and quaternions that are not zero, got "):
        World.load(file, q=(0.0, 0.0))


CELL = TetrahedralMesh([(0, 0, 0), (0.1, 0, 0), (0, 0.1, 0), (0, 0, 0.1)], [(0, 1, 2, 3)])


@pytest.mark.parametrize(
    "wrong, message",
    [
        ({"mesh": "cube"}, "cube: mesh: expected a TetrahedralMesh, got 'cube'"),
        ({"elasticity": 1e6}, "cube: elasticity: expected an Elasticity, got 1000000.0"),
        ({"material": 1}, "cube: material: expected a Material, got 1"),
        ({"velocity": (1, 2)}, "cube: velocity: expected 3 finite numbers, got (1, 2)"),
        ({"contact": [0.5]}, "cube: contact: expected numbers of vertices, got [0.5]"),
        ({"contact": "all"}, "cube: contact: expected numbers of vertices, got 'all'"),
        ({"name": True}, "name: True is no text, empty or taken"),
        ({}, "name: 'cube/3' is empty or taken"),
    ],
)
def test_deformable_body_is_added_whole_or_not(wrong: dict[str, Any], message: str) -> None:
    world = World()
    ball(world, name="cube/3")
    before = counts(world)
    with pytest.raises(WorldError) as refused:
        world.add_deformable(**{"name": "cube", "mesh": CELL} | wrong)
    assert (str(refused.value), counts(world)) == (message, before)


@pytest.mark.parametrize("warned", [False, True])
def test_tree_is_added_whole_or_not(tmp_path: Path, warned: bool) -> None:
    """A taken name of a link, and a warning that is an error, leave the world as it was."""
    world, file = World(), tmp_path / "arm.urdf"
    inertial = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    links = "".join(f'<link name="{link}">{inertial}</link>' for link in ("base", "upper", "lower"))
    joints = "".join(
        f'<joint name="{b}" type="continuous"><parent link="{a}"/><child link="{b}"/></joint>'
        for a, b in (("base", "upper"), ("upper", "lower"))
    )
    file.write_text(f'<robot name="arm">{links}{joints}<gazebo/></robot>')
    if not warned:
        ball(world, name="arm/lower")
    before = counts(world)
    with warnings.catch_warnings():
        warnings.simplefilter("error" if warned else "ignore")
        with pytest.raises(UrdfWarning if warned else WorldError, match="gazebo" if warned else "arm/lower"):
            world.add_urdf("arm", file)
    assert counts(world) == before


def test_weld_holds_a_body_that_moves_freely() -> None:
    world = World()
    for x, name in enumerate(("one", "two")):
        world.add_box(name, size=(0.1, 0.1, 0.1), position=(x, 0, 0), prescribed=True)
    with pytest.raises(WorldError, match=r"^one: a weld holds a body that can move$"):
        world.weld("one", "two")


def test_joint_has_one_motor() -> None:
    world = World()
    shaft(world)
    world.actuate_joint("motor", "turn", proportional_gain=1.0)
    with pytest.raises(WorldError, match=r"^motor: turn: expected one motor, got a second$"):
        world.actuate_joint("motor", "turn", derivative_gain=1.0, proportional_gain=0.0)


@pytest.mark.parametrize("wrong", [0, -1, 2.5, "x", True])
def test_numbers_of_simulators_and_threads_are_whole(wrong: Any) -> None:
    world = World()
    ball(world)
    with pytest.raises(ValueError, match=r"^count: expected a positive number of simulators, got "):
        Batch.of(world, wrong, period=1e-3)
    with pytest.raises(ValueError, match=r"^workers: expected a positive number, got "):
        Batch.of(world, 1, workers=wrong, period=1e-3)


@pytest.mark.parametrize("path", [None, 1.0, True])
def test_path_of_a_file_is_a_path(path: Any) -> None:
    with pytest.raises(WorldError, match=r"^path: expected a path, got "):
        World.load(path)
    with pytest.raises(WorldError, match=r"^mug: path: expected a path, got "):
        World().add_mesh("mug", path)
