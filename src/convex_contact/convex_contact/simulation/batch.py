"""Simulators that move at once, each in a thread: compiled steps leave the interpreter to the others.

    >>> batch = Batch.of(world, 8, period=2e-3)
    >>> for number, simulator in enumerate(batch):
    ...     simulator.set_state("ball", velocity=(0.1 * number, 0.0, 0.0))
    >>> batch.step(500)
    >>> batch.body_states()[0]  # positions (simulator, body, 3)

Simulators share nothing, so each moves to the last bit as it does alone. Many steps (:meth:`Batch.step`) are one
compiled call of each, unless Python has to act between them: couplings, constraints, prescribed bodies, elastoplastic
friction, steps with an accuracy. What a function of the user does between steps (:meth:`Batch.run`) holds the
interpreter.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np

from convex_contact.model.world import World
from convex_contact.problem.errors import ContactError
from convex_contact.simulation.simulator import Simulator

Result = TypeVar("Result")


class BatchError(ContactError, RuntimeError):
    """Something went wrong in one of the simulators; its cause is the error itself.

    Attributes:
        number: Of the simulator.
    """

    def __init__(self, number: int, error: BaseException) -> None:
        super().__init__(f"simulator {number}: {error}")
        self.number, self._error = number, error

    def __reduce__(self) -> tuple[type[BatchError], tuple[int, BaseException]]:
        return BatchError, (self.number, self._error)


class Batch:
    """Simulators that do not depend on each other, on all processors.

    Args:
        simulators: At least one, none of them twice. Their worlds may differ.
        workers: Number of threads; None: of the processors that this process may use.

    Raises:
        ValueError: There is no simulator, one is there twice, or the number of workers is not positive.

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
        if self.workers < 1:
            raise ValueError(f"workers: expected a positive number, got {workers}")

    @classmethod
    def of(cls, world: World, count: int, *, workers: int | None = None, **options: Any) -> Batch:
        """Simulators of one world.

        Args:
            world: The description.
            count: How many.
            workers: As of :class:`Batch`.
            **options: Of each :class:`~convex_contact.Simulator`, such as its period.
        """
        return cls([Simulator(world, **options) for _ in range(count)], workers=workers)

    def __len__(self) -> int:
        return len(self._simulators)

    def __getitem__(self, number: int) -> Simulator:
        return self._simulators[number]

    def __iter__(self) -> Iterator[Simulator]:
        return iter(self._simulators)

    def run(self, function: Callable[[Simulator], Result]) -> list[Result]:
        """What a function makes of each simulator, in their order; it is called from several threads.

        It may make steps with forces that it sets in between, a rollout and its derivatives, or a whole experiment.

        Raises:
            BatchError: It failed with a simulator; all others have come to their end, the first failure is raised.
        """
        with ThreadPoolExecutor(min(self.workers, len(self))) as pool:
            futures = [pool.submit(function, one) for one in self._simulators]
        for number, future in enumerate(futures):
            error = future.exception()
            if error is not None:
                raise BatchError(number, error) from error
        return [future.result() for future in futures]

    def step(self, count: int = 1) -> None:
        """Makes one step or more with each simulator; many at once are better than one call for each.

        Raises:
            BatchError: The solver did not converge in a simulator, which stays before that step.
        """
        self.run(lambda one: one.step(count))

    def advance(self, duration: float) -> None:
        """Makes steps until a duration (s) has passed in each simulator; see :meth:`Simulator.advance`.

        Raises:
            BatchError: As of :meth:`step`, or steps of constant length do not add up to the duration.
        """
        self.run(lambda one: one.advance(duration))

    def body_states(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Positions (m, n, 3), quaternions (m, n, 4), velocities and angular velocities (m, n, 3) of all bodies.

        Raises:
            ValueError: The worlds have different numbers of bodies.
        """
        counts = sorted({len(one.world.bodies) for one in self._simulators})
        if len(counts) > 1:
            raise ValueError(f"simulators: expected worlds of as many bodies each, got {counts[0]} to {counts[-1]}")
        a, b, c, d = (
            np.array(columns) for columns in zip(*(one.body_states() for one in self._simulators), strict=True)
        )
        return a, b, c, d
