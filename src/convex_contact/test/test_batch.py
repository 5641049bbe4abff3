"""Many simulators at once: each as it moves alone, failures with their numbers, worlds sent to other processes."""

from __future__ import annotations

import pickle
from importlib.resources import files
from threading import Barrier, get_ident

import numpy as np
import pytest

from convex_contact import (
    Batch,
    BatchError,
    ConvergenceError,
    Material,
    Simulator,
    World,
    rollout,
)


@pytest.fixture
def heap() -> World:
    """A sphere, a box and a capsule that fall into a corner."""
    material = Material(stiffness=1e4, friction=0.5)
    world = World()
    world.add_half_space("floor", material=material)
    world.add_half_space("wall", point=(0.2, 0.0, 0.0), normal=(-1.0, 0.0, 0.2), material=material)
    world.add_sphere("ball", mass=0.1, radius=0.03, position=(0.0, 0.0, 0.05), material=material)
    world.add_box("box", mass=0.2, size=(0.06, 0.05, 0.04), position=(0.06, 0.0, 0.05), material=material)
    world.add_capsule("rod", mass=0.1, radius=0.02, length=0.1, position=(0.0, 0.02, 0.12), material=material)
    return world


def _pushed(simulator: Simulator, number: int) -> Simulator:
    simulator.set_state("ball", velocity=(0.2 * number, 0.1, 0.0))
    return simulator


def test_each_simulator_of_a_batch_moves_as_it_does_alone(heap: World) -> None:
    batch = Batch([_pushed(Simulator(heap, period=2e-3), k) for k in range(6)], workers=3)
    batch.step(150)
    alone = [_pushed(Simulator(heap, period=2e-3), k) for k in range(6)]
    for one in alone:
        one.step(150)
    for found, expected in zip(
        batch.body_states(), zip(*(one.body_states() for one in alone), strict=True), strict=True
    ):
        np.testing.assert_array_equal(found, expected)
    assert np.ptp(batch.body_states()[0][:, 2, 0]) > 0.01  # they do not move alike


def test_simulators_of_a_world_have_trees_of_their_own() -> None:
    """Steps of Python share no memory of Pinocchio either."""
    world = World()
    world.add_urdf("motor", files("convex_contact") / "data/shaft.urdf", armature=0.5)  # type: ignore[arg-type]
    one, other = (Simulator(world, period=2e-3).dynamics.tree_models[0] for _ in range(2))
    assert one.data is not other.data


def test_as_many_threads_work_as_asked_for(heap: World) -> None:
    together = Barrier(3)  # passes when three wait in it

    def thread(_: Simulator) -> int:
        together.wait(timeout=600.0)
        return get_ident()

    assert len(set(Batch.of(heap, 3, workers=3, period=2e-3).run(thread))) == 3
    alone = Batch.of(heap, 3, workers=1, period=2e-3).run(lambda _: get_ident())
    assert len(set(alone)) == 1


def test_derivatives_of_rollouts_are_made_at_once(heap: World) -> None:
    parameters = ["friction(ball, floor)"]

    def slope(simulator: Simulator) -> np.ndarray:
        return rollout(simulator, 40).jacobian(parameters)[0]

    batch = Batch([_pushed(Simulator(heap, period=2e-3, polish=True), k) for k in range(4)], workers=4)
    for number, found in enumerate(batch.run(slope)):
        np.testing.assert_array_equal(found, slope(_pushed(Simulator(heap, period=2e-3, polish=True), number)))


def test_a_failure_names_its_simulator_and_the_others_come_to_their_end(heap: World) -> None:
    batch = Batch([Simulator(heap, period=2e-3, max_iterations=1 if k == 1 else 1000) for k in range(3)])
    with pytest.raises(BatchError, match=r"^simulator 1: no convergence after 1 Newton iterations") as failed:
        batch.step(100)
    assert failed.value.number == 1 and isinstance(failed.value.__cause__, ConvergenceError)
    assert batch[1].time < batch[0].time == batch[2].time == pytest.approx(0.2)


def test_batches_advance_by_durations_with_an_accuracy(heap: World) -> None:
    batch = Batch.of(heap, 2, accuracy=1e-4, largest_period=5e-3)
    batch.advance(0.05)
    assert [one.time for one in batch] == pytest.approx([0.05, 0.05], rel=1e-12)


@pytest.mark.parametrize("count, workers, message", [(0, None, "count"), (1, 0, "workers")])
def test_wrong_arguments_of_a_batch_are_refused(heap: World, count: int, workers: int | None, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}: expected"):
        Batch.of(heap, count, workers=workers, period=2e-3)


def test_a_simulator_is_in_a_batch_once_and_states_need_the_same_bodies(heap: World) -> None:
    one, other = Simulator(heap, period=2e-3), World()
    other.add_sphere("ball", mass=1.0, radius=0.1)
    with pytest.raises(ValueError, match="none twice"):
        Batch([one, one])
    with pytest.raises(ValueError, match="got 1 to 5"):
        Batch([one, Simulator(other, period=2e-3)]).body_states()


def test_a_world_travels_to_another_process(heap: World) -> None:
    """Tasks of a study on a Dask cluster take their world with them."""
    here, there = Simulator(heap, period=2e-3), Simulator(pickle.loads(pickle.dumps(heap)), period=2e-3)
    here.step(100), there.step(100)
    for found, expected in zip(there.body_states(), here.body_states(), strict=True):
        np.testing.assert_array_equal(found, expected)
