"""A world as a system with inputs: its steps are those of a simulator, at their times and without played inputs."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import numpy as np
import pytest

from convex_contact import (
    ActuatedWorld,
    QuadraticCost,
    Simulator,
    StepFunction,
    TendonActuator,
    TetrahedralMesh,
    World,
    optimize,
    rollout,
)

SHAFT: Any = files("convex_contact") / "data/shaft.urdf"


def shaft() -> World:
    world = World()
    world.add_urdf("motor", SHAFT, armature=1.0)
    return world


def test_steps_are_made_at_their_times() -> None:
    world = shaft()
    target = StepFunction((0.05,), (0.0, 1.0))
    world.actuate_joint("motor", "turn", proportional_gain=100.0, derivative_gain=10.0, target_position=target)
    system, state = ActuatedWorld(world, period=0.01), np.zeros(2)
    for k in range(20):
        state = system.step(k, state, np.zeros(1))
    simulator = Simulator(world, period=0.01, polish=True)
    simulator.step(20)
    np.testing.assert_allclose(state, [simulator.joint("turn").position, simulator.joint("turn").velocity], rtol=1e-12)
    assert state[0] > 0.5


def test_inputs_that_are_played_do_not_act_in_the_system() -> None:
    world = shaft()
    system = ActuatedWorld(world, period=0.01)
    states = np.array([system.start] * 3)
    before, slopes = system.step(0, system.start, np.array([2.0])), system.linearize(states, np.zeros((2, 1)))
    system.play(np.full((5, 1), 10.0))
    np.testing.assert_array_equal(system.step(0, system.start, np.array([2.0])), before)
    for found, expected in zip(system.linearize(states, np.zeros((2, 1))), slopes, strict=True):
        np.testing.assert_array_equal(found, expected)
    simulator = Simulator(world, period=0.01)
    simulator.step(5)
    assert simulator.joint("turn").velocity == pytest.approx(0.5)
    with pytest.raises(ValueError, match=r"^motor: drive: expected none, the forces of its joints are the inputs$"):
        ActuatedWorld(world, period=0.01)


@pytest.mark.parametrize("wrong", [2.0, [1.0, 2.0], [np.nan], "x"])
def test_inputs_of_a_step_are_one_number_for_each_joint(wrong: Any) -> None:
    system = ActuatedWorld(shaft(), period=0.01)
    with pytest.raises(ValueError, match=r"^u: expected "):
        system.step(0, system.start, wrong)


def shafts(*names: str) -> World:
    world = World()
    for name in names:
        world.add_urdf(name, SHAFT, armature=1.0)
    return world


def test_equal_trees_have_an_input_each() -> None:
    system = ActuatedWorld(shafts("left", "right"), period=0.1)
    assert system.joints == ["left/turn", "right/turn"]
    np.testing.assert_allclose(system.step(0, system.start, np.array([1.0, 3.0]))[2:], [0.1, 0.3], rtol=1e-8)
    one = ActuatedWorld(shafts("left", "right"), period=0.1, joints=["right/turn"])
    np.testing.assert_allclose(one.step(0, one.start, np.array([3.0]))[2:], [0.0, 0.3], rtol=1e-8, atol=1e-15)
    assert ActuatedWorld(shaft(), period=0.1).joints == ["turn"]


@pytest.mark.parametrize(
    "joints, said",
    [
        (["turn"], "'turn' is a joint of 2 trees, only left/turn, right/turn"),
        (["left/turn", "left/turn"], "expected each joint once, got 'left/turn' twice"),
        (["knee"], "there is no joint 'knee' of one velocity, only left/turn, right/turn"),
        ([3], "there is no joint 3 of one velocity"),
    ],
)
def test_joints_without_one_meaning_are_refused(joints: Any, said: str) -> None:
    with pytest.raises(ValueError, match=f"^joints: {said}"):
        ActuatedWorld(shafts("left", "right"), period=0.1, joints=joints)


def test_worlds_with_more_state_are_refused() -> None:
    world = shaft()
    world.joint_laws.append(TendonActuator(0, "winch", (("turn", 1.0),), dynamics="integrator"))
    with pytest.raises(ValueError, match=r"^winch: expected an actuator without activation"):
        ActuatedWorld(world, period=0.1)
    world = shaft()
    world.add_deformable("pad", TetrahedralMesh(np.vstack([np.zeros(3), 0.1 * np.eye(3)]), [[0, 1, 2, 3]]))
    with pytest.raises(ValueError, match=r"^pad: expected no deformable body; its motion has no derivatives here$"):
        ActuatedWorld(world, period=0.1)
    with pytest.raises(ValueError, match=r"^pad: expected no deformable body; its motion has no derivatives here$"):
        rollout(Simulator(world, period=0.1), 1)
    with pytest.raises(ValueError, match=r"^world: expected a World, got 3$"):
        ActuatedWorld(3, period=0.1)  # type: ignore[arg-type]


def test_states_and_inputs_of_another_shape_are_refused() -> None:
    system = ActuatedWorld(shaft(), period=0.1)
    weights: Any = {"state": [0.0, 0.0], "input": [1.0], "final": [1.0, 1.0]}
    for reference in ([1.0], [1.0, 0.0, 0.0], "x"):
        with pytest.raises(ValueError, match=r"^reference: expected "):
            QuadraticCost(system, reference, **weights)
    with pytest.raises(ValueError, match=r"^input_reference: expected numbers"):
        QuadraticCost(system, [1.0, 0.0], input_reference="x", **weights)  # type: ignore[arg-type]
    cost = QuadraticCost(system, [1.0, 0.0], input_reference=np.zeros((2, 1)), **weights)
    with pytest.raises(ValueError, match=r"^input_reference: expected a row for each step, got 2 rows$"):
        optimize(system, cost, system.start, np.zeros((3, 1)))
    with pytest.raises(ValueError, match=r"^start: expected a state of the system"):
        optimize(system, cost, [0.0], np.zeros((2, 1)))
    with pytest.raises(ValueError, match=r"^lower, upper: expected limits that finite inputs can keep"):
        optimize(system, cost, system.start, np.zeros((2, 1)), lower=np.inf)
    for wrong in (3.0, [1.0, 2.0]):
        with pytest.raises(ValueError, match=r"^inputs: expected shape \(steps, 1\), got"):
            system.play(wrong)
    with pytest.raises(ValueError, match=r"^inputs: expected shape \(2, 1\), got \(2,\)$"):
        system.linearize(np.zeros((3, 2)), np.zeros(2))
    for call in (lambda x: system.difference(x, system.start), lambda x: system.moved(x, [0.0, 0.0]), system.holding):
        with pytest.raises(ValueError, match=r"^x: expected shape \(2,\), got \(3,\)$"):
            call(np.zeros(3))
