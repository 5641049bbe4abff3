"""Parallel simulators, one per thread: compiled steps release Python's interpreter lock.

    >>> batch = Batch.of(world, 8, period=2e-3)
    >>> for number, simulator in enumerate(batch):
    ...     simulator.set_state("ball", velocity=(0.1 * number, 0.0, 0.0))
    >>> batch.step(500)
    >>> batch.body_states()[0]  # positions (simulator, body, 3)

Simulators share no state, so each gives the same bits as alone. Many steps (:meth:`Batch.step`) are one
compiled call of each, a step with an accuracy is one call for each attempt, unless Python has work in a step:
constraints, deformable bodies. Functions of time are evaluated before each step. They and a user's function between
steps (:meth:`Batch.run`) hold the interpreter lock.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from convex_contact.model.world import World
from convex_contact.problem.errors import ContactError
from convex_contact.simulation.simulator import Simulator
from convex_contact.simulation.trajectories import StateTrajectory, trajectory

Result = TypeVar("Result")


class BatchError(ContactError, RuntimeError):
    """One of the simulators failed; its cause is the error itself.

    Attributes:
        number: of the simulator.
    """

    def __init__(self, number: int, error: BaseException) -> None:
        super().__init__(f"simulator {number}: {error}")
        self.number, self._error = number, error

    def __reduce__(self) -> tuple[type[BatchError], tuple[int, BaseException]]:
        return BatchError, (self.number, self._error)


class Batch:
    """Simulators that do not depend on each other, on all processors.

    Args:
        simulators: at least one, none of them twice. Their worlds may differ.
        workers: number of threads; None: number of processors that this process may use.

    Raises:
        ValueError: there is no simulator, one is there twice, or the number of workers is not positive.

    Examples:
        >>> from convex_contact import Batch, World
        >>> world = World()
        >>> _ = world.add_sphere("ball", mass=1.0, radius=0.1)
        >>> batch = Batch.of(world, 2, workers=1, period=0.01)
        >>> batch[1].set_state("ball", velocity=(2.0, 0.0, 0.0))
        >>> batch.step(100)
        >>> batch.body_states()[0][:, 0, 0].round(6).tolist()  # x of the ball in both
        [0.0, 2.0]
    """

    def __init__(self, simulators: Sequence[Simulator], *, workers: int | None = None) -> None:
        self._simulators = tuple(simulators)
        if not self._simulators or len({id(one) for one in self._simulators}) < len(self._simulators):
            raise ValueError(f"simulators: expected at least one, and none twice, got {len(self._simulators)}")
        self.workers = len(os.sched_getaffinity(0)) if workers is None else workers
        if type(self.workers) is not int or self.workers < 1:
            raise ValueError(f"workers: expected a positive number, got {workers!r}")

    @classmethod
    def of(cls, world: World, count: int, *, workers: int | None = None, **options: Any) -> Batch:
        """Makes simulators of one world.

        Args:
            world: description of the world.
            count: number of simulators.
            workers: number of threads, see :class:`Batch`.
            **options: arguments of each :class:`~convex_contact.Simulator`, such as its period.

        Raises:
            ValueError: the count is no number above 0, or an argument is wrong.
        """
        if type(count) is not int or count < 1:
            raise ValueError(f"count: expected a positive number of simulators, got {count!r}")
        return cls([Simulator(world, **options) for _ in range(count)], workers=workers)

    def __len__(self) -> int:
        return len(self._simulators)

    def __getitem__(self, number: int) -> Simulator:
        return self._simulators[number]

    def __iter__(self) -> Iterator[Simulator]:
        return iter(self._simulators)

    def run(self, function: Callable[[Simulator], Result]) -> list[Result]:
        """Calls a function with each simulator, from several threads; returns the results in their order.

        The function may make steps and set forces in between, compute a rollout with derivatives, or run an experiment.

        Raises:
            BatchError: the function failed with a simulator. It is the first failure; all other calls have ended.
        """
        with ThreadPoolExecutor(min(self.workers, len(self))) as pool:
            futures = [pool.submit(function, one) for one in self._simulators]
        for number, future in enumerate(futures):
            error = future.exception()
            if error is not None:
                raise BatchError(number, error) from error
        return [future.result() for future in futures]

    def step(self, count: int = 1) -> None:
        """Makes one step or more with each simulator; one call with many steps is faster than many calls.

        Raises:
            BatchError: the solver did not converge in a simulator, which stays before that step.
        """
        self.run(lambda one: one.step(count))

    def advance(self, duration: float) -> None:
        """Makes steps until a duration [s] has passed in each simulator; see :meth:`Simulator.advance`.

        Raises:
            BatchError: a step failed, or steps of constant length do not add up to the duration.
        """
        self.run(lambda one: one.advance(duration))

    def trajectories(self, steps: int, forces: Sequence[ArrayLike] | np.ndarray | None = None) -> list[StateTrajectory]:
        """Makes steps with each simulator and returns its states, see :func:`~convex_contact.trajectory`.

        Args:
            steps: number of steps.
            forces: generalised forces of each step in each simulator beside its own, shape (m, steps, nv).

        Raises:
            ValueError: there are not as many forces as simulators.
            BatchError: a step failed, or a number or shape is wrong.
        """
        if forces is None:
            return self.run(lambda one: trajectory(one, steps))
        if len(forces) != len(self):
            raise ValueError(f"forces: expected those of {len(self)} simulators, got {len(forces)}")
        given = dict(zip(map(id, self._simulators), forces, strict=True))
        return self.run(lambda one: trajectory(one, steps, given[id(one)]))

    def body_states(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Returns positions (m, n, 3), quaternions (m, n, 4), velocities and angular velocities (m, n, 3) of bodies.

        Raises:
            ValueError: the worlds have different numbers of bodies.
        """
        counts = sorted({len(one.world.bodies) for one in self._simulators})
        if len(counts) > 1:
            raise ValueError(f"simulators: expected worlds of as many bodies each, got {counts[0]} to {counts[-1]}")
        a, b, c, d = (
            np.array(columns) for columns in zip(*(one.body_states() for one in self._simulators), strict=True)
        )
        return a, b, c, d
