"""A world as a system with inputs: its steps are those of a simulator, at their times and without played inputs."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import numpy as np
import pytest

from convex_contact import ActuatedWorld, Simulator, StepFunction, World

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
