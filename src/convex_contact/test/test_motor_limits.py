"""Motors by rows of their own: velocity limits of hinges, slides and balls, and motors of planar joints."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from convex_contact import PlanarActuator, Simulator, World, WorldError
from convex_contact.problem.row_numbers import NEAR_RIGID

DT = 1e-3
CREEP = (NEAR_RIGID / (2.0 * math.pi)) ** 2  # fraction of a force's effect that a near-rigid row lets pass
MASS, INERTIA, GRAVITY = 2.0, 0.05, 9.81
PLANAR = (
    '<robot name="table"><link name="base"/><link name="plate"><inertial><mass value="2.0"/>'
    '<inertia ixx="0.05" iyy="0.05" izz="0.05" ixy="0" ixz="0" iyz="0"/></inertial></link>'
    '<joint name="plane" type="{}"><parent link="base"/><child link="plate"/><axis xyz="0 0 1"/></joint></robot>'
)


def body_on(kind: str) -> World:
    """A body of 2 kg and 0.05 kg m^2 on a joint at its centre."""
    world = World(gravity=(0.0, 0.0, 0.0))
    world.add_body("body", mass=MASS, inertia=INERTIA, center=(0.0, 0.0, 0.0))
    world.add_joint("joint", kind, None, "body", point=(0, 0, 0), **({} if kind == "ball" else {"axis": (0, 0, 1)}))
    return world


def planar(folder: Path, kind: str = "planar", gravity: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> World:
    (folder / "table.urdf").write_text(PLANAR.format(kind))
    world = World(gravity=gravity)
    world.add_urdf("table", folder / "table.urdf")
    return world


@pytest.mark.parametrize("kind", ["hinge", "slide", "ball"])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_motor_between_bodies_accelerates_with_its_effort_limit_to_its_velocity_limit(kind: str, sign: float) -> None:
    world, mass = body_on(kind), MASS if kind == "slide" else INERTIA
    target = sign * np.array([0.0, 0.0, 9.0]) if kind == "ball" else sign * 9.0
    effort = 10.0 * mass
    gains = {"proportional_gain": 0.0, "derivative_gain": 100.0 * mass, "effort_limit": effort}
    world.actuate_joint(None, "joint", **gains, target_velocity=target, velocity_limit=0.5)
    sim = Simulator(world, period=DT)
    joint, speeds = sim.joint("joint"), []
    for _ in range(100):
        sim.step()
        speeds.append(sign * np.ravel(joint.velocity)[-1])
    np.testing.assert_allclose(speeds[:49], 10.0 * DT * np.arange(1, 50), rtol=1e-9)
    assert speeds[-1] == pytest.approx(0.5, abs=1.001 * CREEP * 10.0 * DT)
    if kind == "ball":
        np.testing.assert_allclose(joint.velocity[:2], 0.0, atol=1e-12)


@pytest.mark.parametrize("kind", ["hinge", "slide"])
def test_motor_between_bodies_brakes_with_its_effort_limit_when_a_load_drives_it_faster(kind: str) -> None:
    world, mass = body_on(kind), MASS if kind == "slide" else INERTIA
    world.actuate_joint(
        None, "joint", proportional_gain=0.0, derivative_gain=1e4, effort_limit=5.0 * mass, velocity_limit=0.5
    )
    sim = Simulator(world, period=DT)
    joint = sim.joint("joint")
    joint.velocity, joint.effort = -1.0, -8.0 * mass
    sim.step(10)
    assert joint.velocity == pytest.approx(-(1.0 + 10 * DT * (8.0 - 5.0)), rel=1e-9)


def test_velocity_limit_out_of_reach_changes_no_bit() -> None:
    moved = []
    for limit in (math.inf, 50.0):
        world = body_on("hinge")
        world.actuate_joint(None, "joint", proportional_gain=3.0, target_position=1.0, velocity_limit=limit)
        sim = Simulator(world, period=DT)
        sim.step(200)
        moved.append(tuple(sim.body_joint("joint")))
    assert moved[0] == moved[1]


def test_velocity_limit_can_change_between_steps() -> None:
    world = body_on("slide")
    world.actuate_joint(None, "joint", proportional_gain=0.0, derivative_gain=400.0, target_velocity=9.0)
    sim = Simulator(world, period=DT)
    joint = sim.joint("joint")
    for limit, expected in ((0.5, 0.5), (0.2, 0.2), (math.inf, 9.0)):
        joint.motor.velocity_limit = limit
        sim.step(200)
        assert joint.velocity == pytest.approx(expected, rel=0.05)


def test_each_axis_of_a_planar_joint_goes_to_its_velocity_limit(tmp_path: Path) -> None:
    """Each rate is E t/m, about the normal E t/I, up to its limit; x and y are those of the parent at any rotation."""
    world = planar(tmp_path)
    effort = np.array([4.0, 2.0, 0.1])
    limits, sign = np.array([0.3, 0.2, 0.4]), np.array([1.0, -1.0, 1.0])
    world.actuate_joint(
        "table", "plane", derivative_gain=(200.0, 200.0, 5.0), target_velocity=9.0 * sign, effort_limit=effort,
        velocity_limit=limits,
    )  # fmt: skip
    sim = Simulator(world, period=DT)
    joint = sim.joint("plane")
    assert isinstance(joint.motor, PlanarActuator)
    joint.position = (0.0, 0.0, 2.0)
    acceleration = effort / [MASS, MASS, INERTIA]
    before = joint.position
    for k in range(1, 500):
        sim.step()
        rates, before = (joint.position - before) / DT, joint.position
        expected = sign * np.minimum(acceleration * DT * k, limits)
        np.testing.assert_allclose(rates, expected, atol=3e-3)  # a step moves along the axes of its start
    np.testing.assert_allclose(rates, sign * limits, rtol=2e-3)


def test_deflection_of_a_planar_motor_is_load_over_stiffness(tmp_path: Path) -> None:
    world = planar(tmp_path, gravity=(0.0, -GRAVITY, 0.0))
    world.actuate_joint(
        "table", "plane", proportional_gain=(100.0, 400.0, 2.0), derivative_gain=(30.0, 60.0, 0.5),
        target_position=(0.1, 0.2, -3.0),
    )  # fmt: skip
    sim = Simulator(world, period=5e-3)
    joint = sim.joint("plane")
    joint.position = (0.0, 0.0, 3.0)
    angles = []
    for _ in range(100):
        sim.step(10)
        angles.append(joint.position[2])
    np.testing.assert_allclose(joint.position, [0.1, 0.2 - MASS * GRAVITY / 400.0, -3.0], atol=1e-6)
    assert np.abs(angles).min() > 2.9  # the shorter way
    saved = sim.state()
    joint.target = (0.0, 0.0, 0.0)
    sim.restore(saved)
    assert joint.target == (0.1, 0.2, -3.0)


def test_axis_without_gains_has_no_motor(tmp_path: Path) -> None:
    world = planar(tmp_path, gravity=(0.0, -GRAVITY, 0.0))
    world.actuate_joint("table", "plane", proportional_gain=(100.0, 0.0, 0.0), derivative_gain=(30.0, 0.0, 0.0))
    sim = Simulator(world, period=DT)
    sim.joint("plane").position = (0.05, 0.0, 0.0)
    sim.step(100)
    assert sim.joint("plane").velocity[1] == pytest.approx(-GRAVITY * 0.1, rel=1e-9)
    assert 0.0 < sim.joint("plane").position[0] < 0.05


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "table: plane: proportional_gain, derivative_gain: expected at least one above 0, got only 0"),
        ({"proportional_gain": (1.0, 2.0)}, "table: plane: proportional_gain: expected one or three finite numbers"),
        ({"derivative_gain": -1.0}, "table: plane: derivative_gain: expected one or three finite numbers of at least"),
        ({"proportional_gain": 1.0, "velocity_limit": (1.0, 0.0, 1.0)}, "table: plane: velocity_limit: expected one"),
        ({"proportional_gain": 1.0, "effort_limit": math.nan}, "table: plane: effort_limit: expected one or three"),
        ({"proportional_gain": 1.0, "target_position": 0.5}, "table: plane: target_position: expected 3 finite"),
    ],
)
def test_wrong_motor_of_a_planar_joint_is_refused(tmp_path: Path, values: dict[str, Any], message: str) -> None:
    world = planar(tmp_path)
    with pytest.raises(WorldError) as refused:
        world.actuate_joint("table", "plane", **values)
    assert str(refused.value).startswith(message) and not world.controllers


def test_free_joint_has_no_motor(tmp_path: Path) -> None:
    world = planar(tmp_path, "floating")
    with pytest.raises(WorldError, match=r"^table: plane: expected a hinge, .* joint for a motor, got a free joint$"):
        world.actuate_joint("table", "plane", proportional_gain=1.0)
    assert not world.controllers
