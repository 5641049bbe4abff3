"""Worlds as YAML files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from convex_contact import Hull, Material, PlanarActuator, World, WorldDynamics, WorldError
from convex_contact.model.motors import Motor
from convex_contact.model.world_file import parse_world

DATA = Path(__file__).with_name("data")

WORLD = """
gravity: [0, 0, -1.62]
materials:
  steel: {stiffness: 1e7, dissipation: 10, relaxation_time: 1e-4, friction: 0.5}
  rubber: {stiffness: 2e5, dissipation: 1, relaxation_time: 1e-3, friction: 1.1}
bodies:
  - {name: floor, shape: {type: half_space}, material: steel, fixed: true}
  - {name: wall, shape: {type: half_space, normal: [0, -2, 0]}, position: [0, 3, 0], fixed: true}
  - {name: belt, shape: {type: box, size: [1, 1, 0.1]}, prescribed: true, velocity: [0.1, 0, 0]}
  - name: ball
    mass: 0.5
    shape: {type: sphere, radius: 0.05, material: rubber}
    position: [1, 2, 3]
    orientation: [0, 0, 1, 1]
    velocity: [1, 0, 0]
    angular_velocity: [0, 2, 0]
  - name: hammer
    mass: 0.8
    inertia: [0.01, 0.02, 0.025]
    center: [0, 0, 0.1]
    material: steel
    shapes:
      - {type: cylinder, radius: 0.01, length: 0.3}
      - {type: box, size: [0.1, 0.03, 0.03], position: [0, 0, 0.15], material: rubber}
      - {type: capsule, radius: 0.02, length: 0.1, orientation: [0, 1, 0, 1]}
  - {name: bob, mass: 2, shape: {type: sphere, radius: 1}, position: [9, 0, 9], spring_stiffness: 200,
     spring_damping: 3}
  - {name: wedge, mass: 1, shape: {type: mesh, file: wedge.stl, scale: [1, 2, 1]}}
  - {name: tetrahedron, mass: 1, shape: {type: hull, points: [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]}}
trees:
  - {name: arm, urdf: arm.urdf, position: [0, 0, 1], armature: 0.01, stiffness: [0, 1, 2], material: rubber}
pairs:
  - {a: ball, b: floor, friction: 0.3, stiffness: 3e5}
disabled:
  - [arm/hand, ball]
"""


def world() -> World:
    return parse_world(WORLD, folder=DATA)


def test_file_and_methods_give_the_same_world() -> None:
    w = world()
    names = ["floor", "wall", "belt", "ball", "hammer", "bob", "wedge", "tetrahedron"]
    assert [b.name for b in w.bodies[:8]] == names
    assert [(b.spring_stiffness, b.spring_damping) for b in w.bodies[4:7]] == [(0.0, 0.0), (200.0, 3.0), (0.0, 0.0)]
    assert [b.kind for b in w.bodies[:5]] == ["fixed", "fixed", "prescribed", "free", "free"]
    np.testing.assert_array_equal(w.gravity, [0, 0, -1.62])
    ball, hammer = w.bodies[3], w.bodies[4]
    by_hand = World()
    by_hand.add_sphere(
        "ball",
        mass=0.5,
        radius=0.05,
        position=(1, 2, 3),
        orientation=(0, 0, 1, 1),
        velocity=(1, 0, 0),
        angular_velocity=(0, 2, 0),
        material=Material(stiffness=2e5, dissipation=1, relaxation_time=1e-3, friction=1.1),
    )
    for name in ("mass", "inertia", "velocity", "angular_velocity"):
        np.testing.assert_array_equal(getattr(ball, name), getattr(by_hand.bodies[0], name))
    assert ball.geometries[0].material == by_hand.bodies[0].geometries[0].material
    np.testing.assert_allclose(ball.placement.orientation, [0, 0, np.sqrt(0.5), np.sqrt(0.5)])
    assert [g.material.friction for g in hammer.geometries] == [0.5, 1.1, 0.5]
    np.testing.assert_array_equal(hammer.inertia, np.diag([0.01, 0.02, 0.025]))
    wall = w.bodies[1]
    np.testing.assert_allclose(
        (wall.placement.rotation @ wall.geometries[0].placement.rotation)[:, 2], [0, -1, 0], atol=1e-15
    )
    wedge = w.bodies[6].geometries[0].shape
    assert isinstance(wedge, Hull)
    np.testing.assert_allclose(wedge.extent, [0.06, 0.08, 0.035])
    assert w.disabled >= {(3, w.number("arm/hand"))}
    assert w.pair_laws[0, 3].friction == 0.3 and w.pair_laws[0, 3].stiffness == 3e5
    np.testing.assert_array_equal(w.trees[0].model.stiffness, [0, 1, 2])


def test_writing_and_reading_again_changes_nothing() -> None:
    first = world()
    text = first.to_yaml()
    second = parse_world(text, folder="/nowhere")
    assert second.to_yaml() == text
    assert (second.bodies[5].spring_stiffness, second.bodies[5].spring_damping) == (200.0, 3.0)
    one, two = (WorldDynamics(w, period=1e-3, speculative=False) for w in (first, second))
    for d in (one, two):
        d.prepare()
        d.collect()
    for name in ("q", "v", "v_star", "A", "body_pose", "law", "geometry_local", "inertia", "disabled_other"):
        np.testing.assert_allclose(getattr(one.arrays, name), getattr(two.arrays, name), rtol=1e-12, atol=1e-15)
    np.testing.assert_array_equal(one.contacts.geometry, two.contacts.geometry)


def test_a_joint_between_bodies_is_not_left_out_silently() -> None:
    world = World()
    world.add_sphere("ball", mass=1.0, radius=0.1)
    world.add_joint("pivot", "ball", None, "ball", point=(0.0, 0.0, 0.1))
    with pytest.raises(WorldError, match=r"^pivot: a joint between bodies has no form in a world file$"):
        world.to_yaml()


@pytest.mark.parametrize("kind", ["Weld", "Motor", "Rows"])
def test_controllers_are_not_left_out_silently(kind: str) -> None:
    world = World()
    for name in ("ball", "box"):
        world.add_sphere(name, mass=1.0, radius=0.1)
    if kind == "Weld":
        world.weld("ball", "box")
    elif kind == "Motor":
        world.controllers.append(Motor(PlanarActuator(0, "plane", proportional_gain=1.0)))
    else:
        world.controllers.append(type(kind, (), {"start": None})())
    with pytest.raises(WorldError, match=rf"^controllers: expected none, {kind} has no form in a world file$"):
        world.to_yaml()


def test_body_whose_name_has_a_slash_is_written() -> None:
    world = World()
    world.add_sphere("toys/ball", mass=1.0, radius=0.1)
    assert [body.name for body in parse_world(world.to_yaml()).bodies] == ["toys/ball"]


def test_base_of_a_tree_is_that_of_its_file() -> None:
    world = World()
    world.add_urdf("arm", Path(__file__).with_name("data") / "arm.urdf")
    names = [body.name for body in parse_world(world.to_yaml(), folder="/nowhere").bodies]
    assert names == [body.name for body in world.bodies]


def test_a_file_is_read_with_its_folder(tmp_path: Path) -> None:
    (tmp_path / "wedge.stl").write_bytes((DATA / "wedge.stl").read_bytes())
    path = tmp_path / "w.yaml"
    path.write_text("bodies: [{name: w, mass: 1, shape: {type: mesh, file: wedge.stl}}]")
    assert World.from_yaml(path).bodies[0].name == "w"
    with pytest.raises(WorldError, match=r"none\.yaml: cannot be read: No such file"):
        World.from_yaml(tmp_path / "none.yaml")


BOX = "{name: b, mass: 1, shape: {type: box, size: [1, 1, 1]}}"


@pytest.mark.covering(10)
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[1, 2]", "world: expected a mapping with bodies, got a list of 2"),
        ("a: [", "world: not YAML: line 1, column 5: "),
        ("colour: red", "world: line 1: unknown field"),
        (
            "bodies: [{name: b, mass: heavy, shape: {type: sphere, radius: 1}}]",
            "world: line 1: bodies.0.mass: input should be a",
        ),
        ("bodies: [{name: b, mass: 1, shape: {type: sphere}}]", "world: line 1: bodies.0.shape.radius: field required"),
        (
            "bodies: [{name: b, mass: 1, shape: {type: torus}}]",
            "world: line 1: bodies.0.shape: input should be of one of the types 'sphere",
        ),
        (
            "bodies: [{name: b, mass: 1, shape: {type: box, size: [1, 1]}}]",
            "world: line 1: bodies.0.shape.size.2: field required",
        ),
        (
            "bodies: [{name: b, mass: 1, shape: {type: sphere, radius: -1}}]",
            "world: bodies.0.shape: radius: expected a pos",
        ),
        ("bodies: [{name: b, shape: {type: sphere, radius: 1}}]", "world: bodies.0: b: mass: missing"),
        (
            "bodies: [{name: b, mass: 1, material: x, shape: {type: sphere, radius: 1}}]",
            "world: bodies.0.material: expected a name in materials, got a text of 1 character",
        ),
        (f"bodies: [{BOX}, {BOX}]", "world: bodies.1: name: 'b' is empty or taken"),
        (
            "bodies: [{name: b, mass: 1, shape: {type: sphere, radius: 1}, spring_damping: -1}]",
            "world: bodies.0: b: spring_damping: expected a number not below 0, got -1.0",
        ),
        (
            "bodies: [{name: b, fixed: true, shape: {type: sphere, radius: 1}, spring_stiffness: 1}]",
            "world: bodies.0: b: spring_stiffness: a spring pulls a free body, not a fixed one",
        ),
        (
            f"bodies: [{BOX.replace('b,', 'box_1,')}, {BOX.replace('b,', 'box_1,')}]",
            "world: bodies.1: name: '*' is empty",
        ),
        (f"bodies: [{BOX}]\npairs: [{{a: b, b: c}}]", "world: pairs.0: *: no such body"),
        (f"bodies: [{BOX}]\ndisabled: [[b, b]]", "world: disabled.0: b: a body makes no pair with itself"),
        ("materials: {m: {friction: -1}}", "world: materials.m: friction: expected finite and not negative, got -1.0"),
        ("trees: [{name: t, urdf: none.urdf}]", "world: trees.0: *: "),
        ("bodies: [{name: b, mass: 1, shape: {type: mesh, file: no.stl}}]", "world: bodies.0.shape: file: "),
        (
            "bodies: [{name: b, fixed: true, shape: {type: half_space, normal: [0, 0, 0]}}]",
            "world: line 1: bodies.0.shape: normal: expected a vector that is not zero",
        ),
    ],
)
def test_errors_name_file_and_field(text: str, expected: str) -> None:
    with pytest.raises(WorldError) as caught:
        parse_world(text)
    message = str(caught.value)
    assert message.startswith(expected)
    assert "\n" not in message


def test_every_number_of_a_material_may_be_written_as_yaml_does_not_know_it() -> None:
    for text, value in (("1e7", 1e7), ("1.0e+7", 1e7), (".inf", np.inf)):
        body = "{name: b, material: m, mass: 1, shape: {type: sphere, radius: 1}}"
        w: Any = parse_world(f"materials: {{m: {{stiffness: {text}}}}}\nbodies: [{body}]")
        assert w.bodies[0].geometries[0].material.stiffness == value
