"""Arguments of a simulator, and which later changes of its world and functions act."""

from __future__ import annotations

import copy
import math
import pickle
from importlib.resources import files
from typing import Any

import numpy as np
import pytest

from convex_contact import Simulator, World, WorldError, rollout

SHAFT: Any = files("convex_contact") / "data/shaft.urdf"


def falling() -> World:
    world = World()
    world.add_sphere("ball", mass=1.0, radius=0.1)
    return world


@pytest.mark.parametrize("period", [None, "x", math.nan, math.inf, 0.0, -1e-3])
def test_period_that_is_none_changes_nothing(period: Any) -> None:
    simulator = Simulator(falling(), period=1e-3)
    with pytest.raises(ValueError, match=r"^period: expected "):
        simulator.set_period(period)
    with pytest.raises(ValueError, match=r"^period: expected "):
        simulator.period = period
    simulator.step(10)
    assert (simulator.period, simulator.dynamics.period, round(simulator.time, 12)) == (1e-3, 1e-3, 0.01)


def test_period_that_is_set_is_that_of_the_coming_steps() -> None:
    simulator = Simulator(falling(), period=1e-3)
    simulator.period = 2e-3
    simulator.advance(0.01)
    assert simulator.time == pytest.approx(0.01)
    assert simulator.state("ball").velocity[2] == pytest.approx(-9.81 * 0.01)


@pytest.mark.parametrize("result", [None, 1.0, [1.0], [0.0] * 5, [0.0] * 5 + [math.nan], {}])
def test_motion_gives_six_finite_numbers(result: Any) -> None:
    world = falling()
    world.add_box("belt", size=(1.0, 1.0, 1.0), position=(0.0, 0.0, -2.0), motion=lambda t: result if t else [0.0] * 6)
    simulator = Simulator(world, period=1e-3)
    with pytest.raises(WorldError, match=r"^belt: motion: expected 6 finite numbers, got "):
        simulator.step()
    assert simulator.time == 0.0
    assert simulator.state("belt").position.tolist() == [0.0, 0.0, -2.0]


@pytest.mark.parametrize("result", [None, 1.0, [1.0, 2.0], [math.nan], {}])
def test_drive_gives_a_finite_number_for_each_velocity(result: Any) -> None:
    world = World()
    world.add_urdf("motor", SHAFT, armature=0.5)
    world.trees[0].drive = lambda _: result
    with pytest.raises(WorldError, match=r"^motor: drive: expected 1 finite numbers, got "):
        Simulator(world, period=1e-3).step()


@pytest.mark.parametrize("changed", ["law", "motor", "joint"])
def test_reset_simulator_has_the_world_with_which_it_was_made(changed: str) -> None:
    world = World(gravity=(0.0, 0.0, 0.0))
    world.add_urdf("motor", SHAFT, armature=0.5)
    world.actuate_joint("motor", "turn", proportional_gain=1.0, target_position=1.0)
    world.add_box("door", mass=1.0, size=(0.4, 0.1, 0.4), position=(1.2, 0.0, 0.0))
    world.add_joint("hinge", "hinge", None, "door", point=(1.0, 0.0, 0.0), axis=(0.0, 0.0, 1.0))
    world.actuate_joint(None, "hinge", proportional_gain=1.0, target_position=1.0)
    simulator = Simulator(world, period=1e-3)
    simulator.step(50)
    expected = simulator.dynamics.coordinates()
    if changed == "law":
        world.joint_laws[0].target_position = -1.0  # type: ignore[union-attr]
    elif changed == "motor":
        world.controllers[1].law.target_position = -1.0  # type: ignore[attr-defined]
    else:
        world.add_joint("lock", "weld", None, "door", point=(1.2, 0.0, 0.0))
    simulator.reset()
    simulator.step(50)
    np.testing.assert_array_equal(simulator.dynamics.coordinates(), expected)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps])
def test_what_belongs_to_one_simulation_is_not_copied(copied: Any) -> None:
    simulator = Simulator(falling(), period=1e-3)
    for each in (simulator, simulator.state()):
        with pytest.raises(TypeError, match=r"^Simulator(State)?: expected a World to be copied or pickled, got an "):
            copied(each)


@pytest.mark.parametrize("wrong", ["ball", None, 1.0, True])
def test_contacts_of_bodies_by_name_are_not_empty(wrong: Any) -> None:
    world = World()
    world.add_half_space("ground")
    world.add_sphere("ball", mass=1.0, radius=0.1, position=(0.0, 0.0, 0.1))
    simulator = Simulator(world, period=1e-3)
    simulator.step(10)
    assert len(simulator.contacts.between(np.int64(0), 1).impulse) == 1
    for pair, name in (((wrong, 0), "a"), ((0, wrong), "b")):
        with pytest.raises(ValueError, match=rf"^{name}: expected the number of a body, got "):
            simulator.contacts.between(*pair)


@pytest.mark.parametrize("name", [["hinge"], {}, None])
def test_name_of_a_joint_is_a_text(name: Any) -> None:
    simulator = Simulator(falling(), period=1e-3)
    for look_up in (simulator.joint, simulator.body_joint, simulator.actuator):
        with pytest.raises(WorldError, match=r"joint|actuator"):
            look_up(name)


PLANE = """<robot name="cart"><link name="a"/><link name="b"><inertial><origin xyz="0.1 0 0"/><mass value="2"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="plane" type="KIND"><axis xyz="0 0 1"/><parent link="a"/><child link="b"/></joint></robot>"""


@pytest.mark.parametrize("kind", ["planar", "continuous"])
def test_gravity_that_is_set_acts_on_trees(tmp_path: Any, kind: str) -> None:
    file = tmp_path / "cart.urdf"
    file.write_text(PLANE.replace("KIND", kind))
    changed, expected = World(), World(gravity=(0.0, -2.0, 0.0))
    for world in (changed, expected):
        world.add_urdf("cart", file)
    earlier = Simulator(changed, period=1e-3)
    changed.gravity = (0.0, -2.0, 0.0)  # type: ignore[assignment]
    found, right = (Simulator(world, period=1e-3, polish=True) for world in (changed, expected))
    for simulator in (earlier, found, right):
        simulator.step(100)
    np.testing.assert_array_equal(found.dynamics.velocities(), right.dynamics.velocities())
    assert np.abs(found.dynamics.velocities()).max() > 0.01
    assert not earlier.dynamics.velocities().any()
    with pytest.raises(WorldError, match=r"^gravity: expected 3 finite numbers, got 9\.81$"):
        changed.gravity = 9.81  # type: ignore[assignment]


def test_derivatives_are_those_of_the_gravity_that_is_set(tmp_path: Any) -> None:
    file = tmp_path / "pendulum.urdf"
    file.write_text(PLANE.replace("KIND", "continuous"))
    slopes = []
    for given in (False, True):
        world = World(gravity=(0.0, -2.0, 0.0) if given else (0.0, 0.0, -9.81))
        world.add_urdf("cart", file)
        world.gravity = np.array([0.0, -2.0, 0.0])
        slopes.append(rollout(Simulator(world, period=1e-3, polish=True), 50).jacobian(["initial_velocity"]))
    np.testing.assert_array_equal(*slopes)


def test_weld_without_rotation_turns_about_the_centre_of_its_second_body() -> None:
    """Also where the second body has the smaller number: a box that hangs in its centre does not swing."""
    world = World()
    world.add_box("box", mass=1.0, size=(0.1, 0.1, 0.1))
    world.add_body("post", fixed=True, position=(0.5, 0.0, 0.0))
    world.weld("post", "box", rotational_stiffness=0.0)
    simulator = Simulator(world, period=2e-3)
    simulator.step(100)
    np.testing.assert_allclose(simulator.state("box").position, [0.0, 0.0, -9.81e-6], atol=1e-9)
