"""Joints of every kind by name, and roots of trees that float: what is set is read, and acts as in closed forms."""

from __future__ import annotations

import importlib.util
import math
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
import pytest

from convex_contact import Joint, Simulator, World, WorldError

G = 9.81
#: a body on a ball joint, with a hinge below, and a cart that floats with a hinge on it
BALL = """<mujoco><option gravity="0 0 0"/><worldbody>
  <body name="upper" pos="0.1 0.2 1" quat="0.9 0.1 0.3 -0.2"><joint name="socket" type="ball" pos="0 0 0.3"/>
    <inertial pos="0.02 0 0" mass="1.5" diaginertia="0.02 0.03 0.015"/>
    <body name="lower" pos="0 0 -0.3"><joint name="hinge" axis="0 1 0"/>
      <inertial pos="0 0 -0.1" mass="0.7" diaginertia="0.01 0.01 0.005"/></body></body>
</worldbody></mujoco>"""
FLOATING = """<mujoco><option gravity="0 0 0"/><worldbody>
  <body name="base" pos="0.1 0.2 1" quat="0.9 0.1 0.3 -0.2">{}
    <inertial pos="0.02 0.01 0" mass="1.5" diaginertia="0.02 0.03 0.015"/>
    <body name="arm" pos="0 0 -0.3"><joint name="hinge" axis="0 1 0"/>
      <inertial pos="0 0 -0.1" mass="0.7" diaginertia="0.01 0.01 0.005"/></body></body>
</worldbody></mujoco>"""
LINK = (
    '<link name="{}"><inertial><origin xyz="0.05 0.02 0"/><mass value="1.2"/>'
    '<inertia ixx="0.02" iyy="0.03" izz="0.025" ixy="0" ixz="0" iyz="0"/></inertial></link>'
)
HINGE = (
    '<joint name="hinge" type="revolute"><parent link="base"/><child link="arm"/><origin xyz="0.2 0 0.1"/>'
    '<axis xyz="0 1 0"/><limit lower="-2" upper="2" effort="5" velocity="9"/></joint>'
)
UNIT = np.array([0.3, -0.4, 0.5, 0.6]) / np.linalg.norm([0.3, -0.4, 0.5, 0.6])


def of_text(folder: Path, text: str, **options: Any) -> World:
    path = folder / ("model.xml" if text.startswith("<mujoco") else "model.urdf")
    path.write_text(text)
    return World.load(path, **options)


def turn(quaternion: Any) -> np.ndarray:
    return np.asarray(pin.Quaternion(np.asarray(quaternion, dtype=float)).matrix())


# --- joints of trees with several velocities ---------------------------------------------------------------------


def test_ball_joint_is_read_and_set_as_pinocchio_has_it(tmp_path: Path) -> None:
    sim = Simulator(of_text(tmp_path, BALL), period=1e-3)
    assert sim.joints == ("upper/socket", "upper/hinge")
    ball, hinge = sim.joint("socket"), sim.joint("hinge")
    assert (ball.kind, hinge.kind, ball.column, hinge.column) == ("ball", "hinge", 0, 3)
    ball.position, ball.velocity, hinge.position = 3.0 * UNIT, (0.5, -1.0, 2.0), 0.4
    np.testing.assert_allclose(ball.position, UNIT, atol=1e-15)
    np.testing.assert_array_equal(ball.velocity, [0.5, -1.0, 2.0])
    model = sim.world.trees[0].model.model
    data = model.createData()
    pin.forwardKinematics(model, data, np.array([*UNIT, 0.4]), np.array([0.5, -1.0, 2.0, 0.0]))
    for name, joint in (("upper", "socket"), ("lower", "hinge")):
        state, index = sim.state(name), model.getJointId(joint)
        np.testing.assert_allclose(turn(state.orientation), data.oMi[index].rotation, atol=1e-14)
        expected = pin.getVelocity(model, data, index, pin.LOCAL_WORLD_ALIGNED)
        np.testing.assert_allclose(state.angular_velocity, expected.angular, atol=1e-14)


def test_effort_of_a_ball_joint_accelerates_its_inertia(tmp_path: Path) -> None:
    sim = Simulator(of_text(tmp_path, BALL), period=1e-3)
    ball = sim.joint("socket")
    ball.effort = (0.3, -0.2, 0.1)
    assert ball.effort.tolist() == [0.3, -0.2, 0.1]
    mass = sim.world.trees[0].model.mass_matrix(sim.dynamics.coordinates(0))
    sim.step()
    expected = 1e-3 * np.linalg.solve(mass, [0.3, -0.2, 0.1, 0.0])
    np.testing.assert_allclose(sim.dynamics.velocities(0), expected, rtol=1e-9)
    sim.reset()
    assert not ball.effort.any()


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("mujoco") is None, reason="needs mujoco, which is not installed")
def test_ball_joint_moves_as_in_mujoco_from_the_same_numbers(tmp_path: Path) -> None:
    import mujoco

    path = tmp_path / "model.xml"
    path.write_text(BALL)
    model = mujoco.MjModel.from_xml_path(str(path))
    data, velocity = mujoco.MjData(model), np.array([0.5, -1.0, 2.0])
    data.qpos[:4], data.qvel[:3], data.qpos[4] = np.roll(UNIT, 1), velocity, 0.4
    data.qfrc_applied[:3] = (0.3, -0.2, 0.1)
    model.opt.timestep, model.opt.integrator = 1e-4, mujoco.mjtIntegrator.mjINT_RK4
    for _ in range(1000):
        mujoco.mj_step(model, data)
    found = []
    for period in (1e-3, 5e-4):
        sim = Simulator(World.load(path), period=period)
        ball = sim.joint("socket")
        ball.position, ball.velocity, sim.joint("hinge").position = UNIT, velocity, 0.4
        ball.effort = (0.3, -0.2, 0.1)
        sim.advance(0.1)
        found.append(np.concatenate([ball.position, ball.velocity]))
    extrapolated = 2.0 * found[1] - found[0]
    np.testing.assert_allclose(extrapolated, [*np.roll(data.qpos[:4], -1), *data.qvel[:3]], atol=1e-5)


def test_planar_and_floating_joints_of_a_urdf_are_read_and_set(tmp_path: Path) -> None:
    text = '<robot name="r"><link name="base"/>' + LINK.format("a") + LINK.format("b")
    text += '<joint name="plane" type="planar"><parent link="base"/><child link="a"/><axis xyz="0 0 1"/></joint>'
    text += '<joint name="free" type="floating"><parent link="a"/><child link="b"/><origin xyz="0 0 1"/></joint>'
    sim = Simulator(of_text(tmp_path, f"{text}</robot>"), period=1e-3)
    plane, free = sim.joint("plane"), sim.joint("r/free")
    plane.position, plane.velocity = (0.1, 0.2, 2.5), (0.3, 0.0, 1.0)
    free.position = (1.0, 2.0, 3.0, *UNIT)
    free.velocity = free.effort = np.arange(6.0)
    np.testing.assert_allclose(plane.position, [0.1, 0.2, 2.5], atol=1e-15)
    np.testing.assert_array_equal(free.position, [1.0, 2.0, 3.0, *UNIT])
    np.testing.assert_array_equal(free.effort, np.arange(6.0))
    a, b = sim.state("r/a"), sim.state("r/b")
    np.testing.assert_allclose(a.position, [0.1, 0.2, 0.0], atol=1e-15)
    c, s = math.cos(2.5), math.sin(2.5)
    np.testing.assert_allclose(a.velocity, [0.3 * c, 0.3 * s, 0.0], atol=1e-15)  # along the link's axes
    np.testing.assert_allclose(b.position, [0.1 + c - 2.0 * s, 0.2 + s + 2.0 * c, 4.0], atol=1e-14)
    with pytest.raises(ValueError, match="read-only"):
        free.velocity[0] = 1.0  # a copy: setting it would have no effect
    with pytest.raises(WorldError, match="r/free: expected a joint with a motor"):
        free.target = np.zeros(7)


@pytest.mark.parametrize(
    ("name", "field", "value", "message"),
    [
        ("socket", "position", (1.0, 0.0, 0.0), r"position: expected 4 finite numbers, a quaternion \(x, y, z, w\), g"),
        ("socket", "position", (0, 0, 0, 0), r"position: expected a quaternion \(x, y, z, w\) that is not zero, got"),
        ("socket", "position", 1.0, "position: expected 4 finite numbers"),
        ("socket", "velocity", (1.0, math.nan, 0.0), "velocity: expected 3 finite numbers, got"),
        ("socket", "effort", (1.0, 2.0), "effort: expected 3 finite numbers, got"),
        ("hinge", "position", (1.0, 2.0), "position: expected a number, got"),
    ],
)
def test_wrong_value_of_a_joint_is_refused_and_changes_nothing(
    tmp_path: Path, name: str, field: str, value: Any, message: str
) -> None:
    sim = Simulator(of_text(tmp_path, BALL), period=1e-3)
    before = sim.dynamics.coordinates(), sim.dynamics.velocities()
    with pytest.raises(ValueError, match=f"upper/{name}: {message}"):
        setattr(sim.joint(name), field, value)
    np.testing.assert_array_equal(sim.dynamics.coordinates(), before[0])
    np.testing.assert_array_equal(sim.dynamics.velocities(), before[1])


# --- roots of trees that float -----------------------------------------------------------------------------------

ROOTS = {
    "urdf": '<robot name="r">' + LINK.format("base") + LINK.format("arm") + HINGE + "</robot>",
    "urdf_joint": '<robot name="r"><link name="world"/>' + LINK.format("base") + LINK.format("arm") + HINGE + (
        '<joint name="free" type="floating"><parent link="world"/><child link="base"/>'
        '<origin xyz="0.3 -0.2 0.5" rpy="0.4 0.2 -0.7"/></joint></robot>'
    ),
    "mjcf": FLOATING.format("<freejoint/>"),
    "mjcf_with_rotor": FLOATING.format('<joint name="free" type="free" armature="0.1"/>'),
}  # fmt: skip


def floating(folder: Path, name: str) -> tuple[Simulator, str]:
    """A simulation of a tree that floats, and the name of its root."""
    world = of_text(folder, ROOTS[name], **({"floating": True} if name == "urdf" else {}))
    world.gravity[:] = 0.0
    return Simulator(world, period=1e-3), "base" if name.startswith("mjcf") else "r/base"


@pytest.mark.parametrize("name", ROOTS)
def test_state_of_a_floating_root_is_what_was_set(tmp_path: Path, name: str) -> None:
    sim, root = floating(tmp_path, name)
    sim.joint("hinge").position, sim.joint("hinge").velocity = 0.3, -0.5
    state = {"position": [0.4, -0.1, 0.7], "velocity": [1.0, 2.0, 3.0], "angular_velocity": [-2.0, 0.5, 1.5]}
    sim.set_state(root, orientation=2.0 * UNIT, **state)
    found = sim.state(root)
    for field, value in state.items():
        np.testing.assert_allclose(getattr(found, field), value, atol=4e-15, err_msg=field)
    assert abs(found.orientation @ UNIT) == pytest.approx(1.0, abs=1e-15)
    assert (sim.joint("hinge").position, sim.joint("hinge").velocity) == (0.3, -0.5)
    other = np.array([0.1, 0.2, 0.3, 0.4]) / np.linalg.norm([0.1, 0.2, 0.3, 0.4])
    for field, value in (("position", [3.0, 2.0, 1.0]), ("angular_velocity", [0.0, 0.0, 1.0]), ("orientation", other)):
        before = sim.state(root)
        sim.set_state(root, **{field: value})  # one alone: the others stay
        after = sim.state(root)
        for part in ("position", "velocity", "angular_velocity"):
            expected = value if part == field else getattr(before, part)
            np.testing.assert_allclose(getattr(after, part), expected, atol=4e-15, err_msg=f"{field}: {part}")
        assert abs(after.orientation @ (other if field == "orientation" else before.orientation)) == pytest.approx(1.0)


@pytest.mark.parametrize("name", sorted(ROOTS.keys() - {"mjcf_with_rotor"}))  # a rotor is inertia against the world
def test_momentum_of_a_floating_tree_is_kept_after_it_was_set(tmp_path: Path, name: str) -> None:
    """The centre of mass moves on a straight line at the velocity that the root's twist and the hinge give it."""
    sim, root = floating(tmp_path, name)
    sim.set_state(root, position=(0, 0, 0), orientation=UNIT)
    sim.set_state(root, velocity=(0.3, 0.1, -0.2), angular_velocity=(0.2, 0.1, 0.4))
    model = sim.world.trees[0].model.model
    data = model.createData()

    def center() -> tuple[np.ndarray, np.ndarray]:
        pin.centerOfMass(model, data, sim.dynamics.coordinates(0), sim.dynamics.velocities(0))
        return data.com[0].copy(), data.vcom[0].copy()

    start, velocity = center()
    sim.step(100)
    end, later = center()
    np.testing.assert_allclose(later, velocity, atol=1e-4)
    np.testing.assert_allclose(end, start + 0.1 * velocity, atol=1e-5)


@pytest.mark.parametrize(
    ("body", "values", "message"),
    [
        ("r/arm", {"position": (0, 0, 0)}, "r/arm: its state cannot be set, it is a link; its joints place it"),
        ("r/base", {"position": (0, 0)}, "r/base: position: expected 3 finite numbers, got"),
        ("r/base", {"velocity": (1, 2, 3), "orientation": (0, 0, 0, 0)}, "r/base: orientation: expected a quaternion"),
        ("r/base", {"position": (1, 2, 3), "angular_velocity": (0, 0, math.inf)}, "r/base: angular_velocity: expected"),
    ],
)
def test_wrong_state_of_a_root_is_refused_and_changes_nothing(
    tmp_path: Path, body: str, values: dict[str, Any], message: str
) -> None:
    sim, _ = floating(tmp_path, "urdf")
    before = sim.dynamics.coordinates(), sim.dynamics.velocities()
    with pytest.raises(WorldError) as refused:
        sim.set_state(body, **values)
    assert str(refused.value).startswith(message)
    np.testing.assert_array_equal(sim.dynamics.coordinates(), before[0])
    np.testing.assert_array_equal(sim.dynamics.velocities(), before[1])


def test_joint_of_a_fixed_base_has_no_state_to_set(tmp_path: Path) -> None:
    sim = Simulator(of_text(tmp_path, BALL), period=1e-3)
    with pytest.raises(WorldError, match="upper: its state cannot be set, it is a link"):
        sim.set_state("upper", position=(0, 0, 0))
    assert isinstance(sim.joint("socket"), Joint)


# --- motors of ball joints ---------------------------------------------------------------------------------------


def test_motor_of_a_ball_joint_reaches_its_target(tmp_path: Path) -> None:
    world = of_text(tmp_path, BALL)
    world.actuate_joint("upper", "socket", proportional_gain=30.0, derivative_gain=4.0)
    world.actuate_joint("upper", "hinge", proportional_gain=10.0, derivative_gain=1.0)
    sim = Simulator(world, period=5e-3)
    ball = sim.joint("socket")
    ball.target = 2.0 * UNIT
    saved = sim.state()
    sim.step(500)
    assert abs(ball.position @ UNIT) == pytest.approx(1.0, abs=1e-8)
    ball.effort = (0.3, 0.0, 0.0)  # at rest the motor's torque kp e balances it
    sim.step(500)
    error = pin.log3(turn(ball.position).T @ turn(UNIT))
    np.testing.assert_allclose(error, [-0.3 / 30.0, 0.0, 0.0], atol=1e-6)
    ball.target = (0.0, 0.0, 0.0, 1.0)
    sim.restore(saved)
    np.testing.assert_allclose(ball.target, 2.0 * UNIT)
    sim.reset()
    assert ball.target == (0.0, 0.0, 0.0, 1.0)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"proportional_gain": -1.0}, "upper: socket: proportional_gain: expected 0 or more"),
        ({"proportional_gain": 1.0, "target_position": 0.5}, "upper: socket: target_position: expected 4 finite"),
        ({"proportional_gain": 1.0, "gain": 0.5}, "upper: socket: gain: expected one of"),
        ({"proportional_gain": 0.0}, "upper: socket: proportional_gain, derivative_gain: expected at least one"),
    ],
)
def test_wrong_motor_of_a_ball_joint_is_refused(tmp_path: Path, values: dict[str, Any], message: str) -> None:
    world = of_text(tmp_path, BALL)
    with pytest.raises(WorldError) as refused:
        world.actuate_joint("upper", "socket", **values)
    assert str(refused.value).startswith(message) and not world.controllers
