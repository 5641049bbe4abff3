"""Trajectories in one compiled call are those of single steps, to the last bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from convex_contact import Batch, BatchError, ConvergenceError, Material, Simulator, World, trajectory
from convex_contact.simulation import compiled_step
from convex_contact.simulation.world_arrays import pair_arrays

PERIOD = 2e-3
ARM = """<robot name="arm"><link name="base"/>
<link name="tip"><inertial><origin xyz="0.1 0 0"/><mass value="1"/>
  <inertia ixx="0.1" iyy="0.2" izz="0.2" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="turn" type="revolute"><parent link="base"/><child link="tip"/><axis xyz="0 1 0"/>
  <limit lower="-3" upper="3" effort="10" velocity="10"/></joint></robot>"""


@pytest.fixture
def make(tmp_path: Any) -> Callable[..., Simulator]:
    """Makes simulators of balls that fall on a floor, beside an arm with a door on a hinge."""
    (tmp_path / "arm.urdf").write_text(ARM)
    material = Material(stiffness=1e4, friction=0.5)
    world = World()
    world.add_half_space("floor", material=material)
    world.add_body("post", fixed=True, position=(1.0, 2.0, 3.0))
    for k in range(3):
        at = (0.01 * k, 0.0, 0.05 + 0.07 * k)
        world.add_sphere(f"ball{k}", mass=0.1, radius=0.03, position=at, material=material, velocity=(0.2, 0.0, 0.0))
    world.add_urdf("arm", tmp_path / "arm.urdf", position=(0.0, 1.0, 1.0))
    world.add_body("door", mass=1.0, inertia=0.1, center=(0.0, 0.02, 0.0), position=(0.3, 1.0, 1.0))
    world.add_joint("hinge", "hinge", "arm/tip", "door", point=(0.2, 1.0, 1.0), axis=(0.0, 0.0, 1.0))

    def simulator(**options: Any) -> Simulator:
        return Simulator(world, **({"period": PERIOD} | options))

    return simulator


def single_steps(sim: Simulator, steps: int, forces: np.ndarray | None = None) -> list[list[np.ndarray]]:
    a, states = sim.dynamics.arrays, []
    for k in range(steps + 1):
        states.append([np.array(sim.time), a.q.copy(), a.v.copy(), *sim.body_states()])
        if k < steps:
            if forces is not None:
                for name in ("ball0", "ball1", "ball2", "door"):
                    f = forces[k, sim.dynamics.columns(body=name)]
                    sim.apply_wrench(name, force=f[:3], torque=f[3:])
                sim.set_effort(0, forces[k, sim.dynamics.columns(tree=0)])
            sim.step()
    return [list(column) for column in zip(*states, strict=True)]


@pytest.mark.parametrize("forced", [False, True])
@pytest.mark.parametrize("python", [False, True])
def test_trajectory_has_the_bits_of_single_steps(
    make: Callable[..., Simulator], forced: bool, python: bool, constraint_without_rows: Any
) -> None:
    one, many = make(), make()
    forces = np.random.default_rng(1).normal(size=(60, one.dynamics.nv)) if forced else None
    if python:
        many.constraints.append(constraint_without_rows)
    many.dynamics.arrays.replace(**pair_arrays(1))  # the first steps find no room
    found = trajectory(many, 60, forces)
    for column, expected in zip(found, single_steps(one, 60, forces), strict=True):
        np.testing.assert_array_equal(column, np.array(expected))
    assert not many.dynamics.arrays.effort.any() and not many.dynamics.arrays.body_wrench.any()
    moved = np.ptp(found.position, axis=0).max(axis=1)
    assert many.time == one.time and moved[1] == 0.0 and moved[2] > 0.01
    np.testing.assert_array_equal(many.contacts.impulse, one.contacts.impulse)


def test_second_trajectory_continues_the_first(make: Callable[..., Simulator]) -> None:
    parts, whole = make(), make()
    first, second, expected = trajectory(parts, 7), trajectory(parts, 20), trajectory(whole, 27)
    for a, b, c in zip(first, second, expected, strict=True):
        np.testing.assert_array_equal(np.concatenate([a, b[1:]]), c)


def test_steps_of_a_trajectory_are_one_call(make: Callable[..., Simulator], monkeypatch: pytest.MonkeyPatch) -> None:
    sim = make()
    trajectory(sim, 30)
    monkeypatch.setattr(Simulator, "step", None)
    monkeypatch.setattr(compiled_step, "_call_steps", None)
    assert trajectory(sim, 30).q.shape == (31, len(sim.dynamics.arrays.q))


def test_trajectory_of_no_step_is_the_present_state(make: Callable[..., Simulator]) -> None:
    sim = make()
    found = trajectory(sim, 0)
    assert [column.shape[0] for column in found] == [1] * 7
    np.testing.assert_array_equal(found.position[0], sim.body_states()[0])


def test_steps_with_an_accuracy_have_their_own_times(make: Callable[..., Simulator]) -> None:
    sim = make(period=None, accuracy=1e-4)
    found = trajectory(sim, 10)
    assert len(set(np.diff(found.time).round(12).tolist())) > 1 and found.time[-1] == sim.time


def test_failed_step_ends_the_trajectory_before_it(make: Callable[..., Simulator]) -> None:
    sim = make(max_iterations=1)
    with pytest.raises(ConvergenceError):
        trajectory(sim, 200, np.ones((200, sim.dynamics.nv)))
    assert 0.0 <= sim.time < 200 * PERIOD
    assert not sim.dynamics.arrays.effort.any() and not sim.dynamics.arrays.body_wrench.any()


@pytest.mark.parametrize(
    ("steps", "shape", "message"),
    [
        (-1, None, "steps: expected a whole number"),
        (1.5, None, "steps: "),
        (2, (3, 25), "forces: "),
        (2, (2, 3), "forc"),
    ],
)
def test_wrong_numbers_are_refused(make: Callable[..., Simulator], steps: Any, shape: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        trajectory(make(), steps, None if shape is None else np.zeros(shape))


def test_trajectories_of_a_batch_are_those_alone(make: Callable[..., Simulator]) -> None:
    batch, alone = Batch([make() for _ in range(4)], workers=3), [make() for _ in range(4)]
    forces = np.random.default_rng(2).normal(size=(4, 30, alone[0].dynamics.nv))
    for found, one, force in zip(batch.trajectories(30, forces), alone, forces, strict=True):
        for column, expected in zip(found, trajectory(one, 30, force), strict=True):
            np.testing.assert_array_equal(column, expected)
    assert len(batch.trajectories(2)) == 4
    with pytest.raises(ValueError, match=r"^forces: expected those of 4 simulators, got 3$"):
        batch.trajectories(2, forces[:3, :2])
    with pytest.raises(BatchError, match=r"^simulator 0: forces: "):
        batch.trajectories(3, forces[:, :2])
