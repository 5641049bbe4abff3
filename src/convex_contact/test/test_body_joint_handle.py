"""Joints between bodies by name: what is set is read and held, and efforts and motors act as in closed forms."""

from __future__ import annotations

import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
import pytest

from convex_contact import Simulator, World, WorldError
from convex_contact.simulation.body_joint_handle import BodyJointHandle
from convex_contact.simulation.constraint_rows import dense_rows

PERIOD = 1e-3
UNIT = np.array([0.3, -0.4, 0.5, 0.6]) / np.linalg.norm([0.3, -0.4, 0.5, 0.6])
#: a position and a velocity of each kind
VALUES: dict[str, tuple[Any, Any]] = {
    "hinge": (-2.5, 1.5), "slide": (0.2, -0.4), "distance": (0.6, 0.3), "ball": (UNIT, np.array([0.5, -1.0, 2.0])),
}  # fmt: skip


def two_boxes(kind: str, *, base: bool = True, gravity: float = 0.0) -> World:
    """A box on a joint at a cart that moves and rotates, or at the world; neither's frame is at its centre of mass."""
    world = World(gravity=(0.0, 0.0, -gravity))
    common = {"inertia": (0.02, 0.03, 0.04)}
    world.add_body("cart", mass=3.0, center=(0.1, 0.0, 0.05), orientation=(0.1, 0.2, 0.3, 0.9), **common)
    world.add_body("box", mass=1.0, center=(0.0, 0.02, 0.0), position=(0.5, 0.1, 0.0), **common)
    values: dict[str, Any] = {"axis": (1.0, 2.0, -1.0)} if kind in ("hinge", "slide") else {}
    values |= {"point_b": (0.5, 0.1, 0.2)} if kind == "distance" else {}
    world.add_joint("joint", kind, "cart" if base else None, "box", point=(0.3, 0.0, 0.1), **values)
    return world


def violation(sim: Simulator) -> float:
    """Largest error of the joint's rows at the present state, m or rad, and of their rates, m/s or rad/s."""
    sim.dynamics.prepare()
    count = {"hinge": 5, "slide": 5, "ball": 3}[sim.joint("joint").kind]
    rows = dense_rows(sim.dynamics, sim._body_rows.flat(sim.dynamics), 0, count)
    error = np.abs(rows.target * 2.0 * PERIOD).max(initial=0.0)
    return max(error, float(np.abs(rows.jacobian @ sim.dynamics.velocities()).max(initial=0.0)))


@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("order", ["position first", "velocity first"])
def test_joint_between_bodies_is_read_as_it_was_set_and_holds(kind: str, order: str) -> None:
    world, (position, velocity) = two_boxes(kind), VALUES[kind]
    sim = Simulator(world, period=PERIOD)
    sim.set_state("cart", velocity=(0.3, 0.1, 0.2), angular_velocity=(0.5, -1.0, 0.7))
    cart, joint = sim.state("cart"), sim.joint("joint")
    assert sim.joints == ("joint",) and joint.kind == kind
    for field in ("position", "velocity") if order == "position first" else ("velocity", "position"):
        setattr(joint, field, {"position": position, "velocity": velocity}[field])
    sign = math.copysign(1.0, np.dot(joint.position, position))
    np.testing.assert_allclose(sign * np.asarray(joint.position), position, atol=1e-14)
    np.testing.assert_allclose(joint.velocity, velocity, atol=1e-14)
    for field in ("position", "velocity", "angular_velocity"):  # the other body stays
        np.testing.assert_array_equal(getattr(sim.state("cart"), field), getattr(cart, field))
    if kind != "distance":  # whose length holds it elsewhere
        assert violation(sim) < 1e-13
    else:
        np.testing.assert_allclose(sim.body_joint("joint"), (position, velocity), atol=1e-14)


@pytest.mark.parametrize("kind", VALUES)
def test_first_body_is_moved_where_the_second_belongs_to_a_tree(kind: str, tmp_path: Any) -> None:
    inertia = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    (tmp_path / "arm.urdf").write_text(
        f'<robot name="arm"><link name="base"/><link name="tip">{inertia}</link><joint name="turn" type="continuous">'
        '<parent link="base"/><child link="tip"/><axis xyz="0 0 1"/></joint></robot>'
    )
    world, (position, velocity) = World(), VALUES[kind]
    world.add_urdf("arm", tmp_path / "arm.urdf")
    world.add_body("box", mass=1.0, inertia=0.1, center=(0.0, 0.02, 0.0), position=(0.5, 0.1, 0.0))
    values: dict[str, Any] = {"axis": (1.0, 2.0, -1.0)} if kind in ("hinge", "slide") else {}
    values |= {"point_b": (0.2, 0.1, 0.2)} if kind == "distance" else {}
    world.add_joint("joint", kind, "box", "arm/tip", point=(0.3, 0.0, 0.1), **values)
    world.add_joint("other", "ball", None, "arm/tip", point=(0.0, 0.0, 0.0))
    sim = Simulator(world, period=PERIOD)
    sim.joint("turn").velocity = 0.7
    joint = sim.joint("joint")
    joint.position, joint.velocity = position, velocity
    sign = math.copysign(1.0, np.dot(joint.position, position))
    np.testing.assert_allclose(sign * np.asarray(joint.position), position, atol=1e-14)
    np.testing.assert_allclose(joint.velocity, velocity, atol=1e-14)
    assert sim.joint("turn").velocity == 0.7
    if kind != "distance":
        assert violation(sim) < 1e-13
    before = sim.dynamics.coordinates()
    message = "other: position: expected a free body or the root of a floating tree on one side, got the world and the"
    with pytest.raises(WorldError, match=message):
        sim.joint("other").position = UNIT
    np.testing.assert_array_equal(sim.dynamics.coordinates(), before)


def test_torque_of_a_hinge_accelerates_a_door() -> None:
    """About a fixed hinge w = w_0 + torque t/I; the same torque acts on the other body of a hinge, reversed."""
    world = World(gravity=(0.0, 0.0, 0.0))
    world.add_box("door", mass=10.0, size=(0.8, 0.04, 2.0), position=(0.4, 0.0, 1.0))
    world.add_joint("hinge", "hinge", None, "door", point=(0.0, 0.0, 0.0), axis=(0.0, 0.0, 1.0))
    sim = Simulator(world, period=PERIOD)
    hinge, inertia = sim.joint("hinge"), 10.0 * (0.8**2 + 0.04**2) / 12.0 + 10.0 * 0.4**2
    hinge.effort = 3.0
    assert hinge.effort == 3.0
    saved = sim.state()
    sim.step(100)
    assert hinge.velocity == pytest.approx(0.1 * 3.0 / inertia, rel=1e-4)
    hinge.effort = 0.0
    sim.restore(saved)
    assert hinge.effort == 3.0
    sim.reset()
    assert hinge.effort == 0.0
    free = Simulator(two_boxes("ball"), period=PERIOD)
    free.joint("joint").effort = (0.1, 0.2, -0.3)
    free.step(20)
    momentum = np.array([3.0, 1.0]) @ [
        state.velocity + np.cross(state.angular_velocity, turn(state.orientation) @ free.world.bodies[i].center)
        for i, state in enumerate(map(free.state, ("cart", "box")))
    ]
    np.testing.assert_allclose(momentum, np.zeros(3), atol=1e-5)
    assert np.abs(free.joint("joint").velocity).max() > 1e-2


def turn(quaternion: np.ndarray) -> np.ndarray:
    return np.asarray(pin.Quaternion(quaternion).matrix())


def test_force_of_a_slide_moves_a_box_and_its_motor_holds_it_against_its_weight() -> None:
    """v = (F/m - g) t along a vertical slide; a motor with the gain kp holds the box m g/kp below its target."""
    world = World()
    world.add_box("box", mass=2.0, size=(0.1, 0.1, 0.1))
    world.add_joint("lift", "slide", None, "box", point=(0.3, 0.0, 0.0), axis=(0.0, 0.0, 1.0))
    sim = Simulator(world, period=PERIOD)
    sim.joint("lift").effort = 50.0
    sim.step(100)
    assert sim.joint("lift").velocity == pytest.approx(0.1 * (25.0 - 9.81), rel=1e-4)
    world.actuate_joint(None, "lift", proportional_gain=400.0, derivative_gain=60.0, target_position=0.2)
    sim = Simulator(world, period=PERIOD)
    lift = sim.joint("lift")
    sim.step(2000)
    assert lift.position == pytest.approx(0.2 - 2.0 * 9.81 / 400.0, abs=1e-5)
    lift.target = 0.1
    lift.effort = 2.0 * 9.81
    sim.step(2000)
    assert lift.target == 0.1 and lift.position == pytest.approx(0.1, abs=1e-5)


def test_motor_of_a_hinge_takes_the_shorter_way() -> None:
    world = two_boxes("hinge", base=False)
    world.actuate_joint(None, "joint", proportional_gain=20.0, derivative_gain=3.0, target_position=-3.0)
    sim = Simulator(world, period=5e-3)
    hinge = sim.joint("joint")
    hinge.position = 3.0
    positions = []
    for _ in range(60):
        sim.step(10)
        positions.append(hinge.position)
    assert positions[-1] == pytest.approx(-3.0, abs=1e-3) and np.abs(positions).min() > 2.9


def test_motor_of_a_ball_between_bodies_reaches_its_target() -> None:
    world = two_boxes("ball", base=False)
    world.actuate_joint(None, "joint", proportional_gain=20.0, derivative_gain=4.0)
    sim = Simulator(world, period=5e-3)
    ball = sim.joint("joint")
    ball.target = UNIT
    sim.step(600)
    assert abs(ball.position @ UNIT) == pytest.approx(1.0, abs=1e-8)
    state = sim.state("box")
    np.testing.assert_allclose(turn(state.orientation), turn(UNIT), atol=1e-4)


@pytest.mark.parametrize(
    ("kind", "field", "value", "message"),
    [
        ("hinge", "position", math.nan, "joint: position: expected a finite number, got nan"),
        ("hinge", "velocity", (1.0, 2.0), "joint: velocity: expected a number, got"),
        ("distance", "position", -1.0, "joint: position: expected more than 0, got -1.0"),
        ("ball", "position", 0.3, "joint: position: expected 4 finite numbers, a quaternion (x, y, z, w), got 0.3"),
        ("ball", "position", np.zeros(4), "joint: position: expected a quaternion (x, y, z, w) that is not zero"),
        ("ball", "velocity", (1.0, 2.0), "joint: velocity: expected 3 finite numbers, got"),
        ("ball", "effort", (1.0, 2.0, math.inf), "joint: effort: expected 3 finite numbers, got"),
        ("slide", "target", 1.0, "joint: expected a joint with a motor (World.actuate_joint), got one without"),
    ],
)
def test_wrong_value_of_a_joint_between_bodies_is_refused(kind: str, field: str, value: Any, message: str) -> None:
    sim = Simulator(two_boxes(kind), period=PERIOD)
    before = sim.dynamics.coordinates(), sim.dynamics.velocities()
    with pytest.raises(ValueError) as refused:
        setattr(sim.joint("joint"), field, value)
    assert str(refused.value).startswith(message)
    np.testing.assert_array_equal(sim.dynamics.coordinates(), before[0])
    np.testing.assert_array_equal(sim.dynamics.velocities(), before[1])


def test_wrong_names_and_motors_are_refused() -> None:
    sim = Simulator(two_boxes("weld"), period=PERIOD)
    with pytest.raises(WorldError, match="joint: expected one of none, got 'joint'"):
        sim.joint("joint")  # a weld does not move
    world = two_boxes("hinge")
    with pytest.raises(WorldError, match="joint: column: expected a joint of a tree"):
        _ = Simulator(world, period=PERIOD).joint("joint").column
    with pytest.raises(WorldError, match=r"joint: expected one of the hinges, slides and balls \(joint\), got 'none'"):
        world.actuate_joint(None, "none", proportional_gain=1.0)
    with pytest.raises(WorldError, match="joint: velocity_limit: expected a number above 0, or inf, got 0"):
        world.actuate_joint(None, "joint", proportional_gain=1.0, velocity_limit=0.0)
    assert len(world.controllers) == 1
    world.actuate_joint(None, "joint", proportional_gain=1.0)
    with pytest.raises(WorldError, match="joint: expected one motor, got a second"):
        world.actuate_joint(None, "joint", proportional_gain=1.0)


def trees_with_joints(folder: Path, **joints: str) -> World:
    """Trees of one link each, with joints of the given names."""
    inertia = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    world = World()
    for tree, joint in joints.items():
        (folder / f"{tree}.urdf").write_text(
            f'<robot name="{tree}"><link name="base"/><link name="tip">{inertia}</link><joint name="{joint}" '
            'type="continuous"><parent link="base"/><child link="tip"/><axis xyz="0 0 1"/></joint></robot>'
        )
        world.add_urdf(tree, folder / f"{tree}.urdf")
    return world


def test_short_name_of_several_joints_is_refused_with_their_whole_names(tmp_path: Path) -> None:
    sim = Simulator(trees_with_joints(tmp_path, arm="turn", leg="turn"), period=PERIOD)
    with pytest.raises(WorldError, match=r"^joint: expected one of arm/turn, leg/turn, got 'turn'$"):
        sim.joint("turn")
    assert [sim.joint(name).name for name in sim.joints] == ["arm/turn", "leg/turn"]


def test_whole_name_is_found_where_it_is_the_short_name_of_another_joint(tmp_path: Path) -> None:
    sim = Simulator(trees_with_joints(tmp_path, arm="turn", leg="arm/turn"), period=PERIOD)
    assert [sim.joint(name).name for name in sim.joints] == ["arm/turn", "leg/arm/turn"]
    world = trees_with_joints(tmp_path, arm="turn", leg="knee")
    world.add_box("door", mass=1.0, size=(0.8, 0.04, 2.0))
    world.add_joint("turn", "hinge", None, "door", point=(0.0, 0.0, 0.0), axis=(0.0, 0.0, 1.0))
    world.add_joint("pivot", "hinge", None, "door", point=(0.0, 0.0, 0.0), axis=(0.0, 0.0, 1.0))
    sim = Simulator(world, period=PERIOD)
    warning = "^joint: 'turn' is the joint between bodies; another joint of this name is arm/turn$"
    with pytest.warns(UserWarning, match=warning):
        assert isinstance(sim.joint("turn"), BodyJointHandle)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert [sim.joint(name).name for name in ("arm/turn", "knee", "pivot")] == ["arm/turn", "leg/knee", "pivot"]


def test_name_of_a_joint_of_a_tree_and_of_one_between_bodies_is_refused(tmp_path: Path) -> None:
    world = trees_with_joints(tmp_path, arm="turn")
    world.add_box("door", mass=1.0, size=(0.8, 0.04, 2.0))
    world.add_joint("arm/turn", "hinge", None, "door", point=(0.0, 0.0, 0.0), axis=(0.0, 0.0, 1.0))
    sim = Simulator(world, period=PERIOD)
    expected = "^joint: expected the name of one joint, got 'arm/turn' of a tree and between bodies$"
    with pytest.raises(WorldError, match=expected):
        sim.joint("arm/turn")
    assert sim.joint("turn").name == "arm/turn"
