"""Steps of variable length: each as long as the accuracy allows, from one step and two steps of half its length.

From q0, v0 one step of length h gives q1, v1, and two of h/2 give q2, v2. The implicit Euler method errs by c h^2 in a
step, so the two halves err by half of what one step does, and their difference is the error of the halves:

    e = max over bodies of |p2 - p1| + r |theta(R1, R2)|,

p the position, R the orientation, r the radius of the body's shapes about it: no point of a body errs by more. A step
with e above the accuracy is rejected; the next length is h times SAFETY (accuracy/e)^(1/2), within bounds. At an
impact v jumps and e falls only with h: one step becomes short.

With `second_order` the result is q2 + (q2 - q1), v2 + (v2 - v1), on rotations by the exponential map (Richardson's
extrapolation): the term c h^2 cancels. The estimated error is that of the method without extrapolation; the true one
is smaller.

The method is that of error-controlled implicit Euler steps with convex contact (V. Kurtz and A. Castro, "CENIC", 2025).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from convex_contact.problem import checks
from convex_contact.problem.errors import ConvergenceError
from convex_contact.simulation.step_attempts import Attempts, CompiledAttempts, InterpretedAttempts, MovingBodies

if TYPE_CHECKING:
    from convex_contact.simulation.simulator import Simulator

#: fraction of the length at which the estimated error would equal the accuracy
SAFETY = 0.8
#: bounds of the ratio of a step's length to the one before
SHRINK, GROWTH = 0.1, 4.0
#: length of the first step, and the shortest of all, as fractions of the longest
FIRST, SHORTEST = 0.1, 1e-8


@dataclass
class StepCounts:
    """Steps since the start or the last reset.

    Attributes:
        accepted: accepted steps; each solved three problems.
        rejected: rejected steps.
        shortest: [s].
    """

    accepted: int = 0
    rejected: int = 0
    shortest: float = math.inf


class StepControl:
    """Chooses the lengths of a simulator's steps.

    Args:
        simulator: that makes the steps.
        accuracy: largest error of a body's points in a step [m].
        largest_period: longest step [s].
        second_order: extrapolate the result.

    Attributes:
        next_period: length of the coming step, unless it is limited [s].
        statistics: counts of steps.

    Raises:
        ValueError: a number is not positive, or the world has deformable bodies and is to be extrapolated.
    """

    def __init__(self, simulator: Simulator, *, accuracy: float, largest_period: float, second_order: bool) -> None:
        self.accuracy = checks.number("accuracy", accuracy, above=0.0)
        self.largest = checks.number("largest_period", largest_period, above=0.0)
        self.second_order = second_order
        if second_order and not all(hasattr(tree.model, "model") for tree in simulator.world.trees):
            raise ValueError("second_order: expected a world without deformable bodies, got one with")
        arrays = simulator.dynamics.arrays
        moving = np.flatnonzero(arrays.body_tree >= 0)
        self._moving = MovingBodies(moving, arrays.body_radius[moving])
        self._made: dict[type[Attempts], Attempts] = {}
        self.reset()

    def reset(self) -> None:
        """Restarts with a short step and clears the statistics."""
        self.next_period = FIRST * self.largest
        self.statistics = StepCounts()

    def copies(self) -> tuple[float, StepCounts]:
        """Returns the length of the coming step and the statistics, for :meth:`restore`."""
        return self.next_period, replace(self.statistics)

    def restore(self, values: tuple[float, StepCounts]) -> None:
        """Restores what :meth:`copies` returned."""
        self.next_period, self.statistics = values[0], replace(values[1])

    def step(self, simulator: Simulator, longest: float = math.inf) -> float:
        """Makes one step within the accuracy, and returns its length [s].

        Args:
            simulator: as given.
            longest: limit of the step's length [s].

        Raises:
            ConvergenceError: the shortest step has no solution, or errs by more than the accuracy.
        """
        attempts = self._attempts(simulator)
        attempts.note()
        period = min(self.next_period, longest)
        while True:
            failure = None
            try:
                error = attempts.make(period)
            except ConvergenceError as unsolved:
                error, failure = math.inf, unsolved
            ratio = SAFETY * math.sqrt(self.accuracy / error) if error > 0.0 else GROWTH
            proposed = min(period * min(max(ratio, SHRINK), GROWTH), self.largest)
            if error <= self.accuracy:
                attempts.accept()
                break
            self.statistics.rejected += 1
            attempts.return_to()
            if period <= SHORTEST * self.largest:
                raise failure or ConvergenceError(
                    f"an error of {error:.3g} m in a step of {period:.3g} s from t = {simulator.time:.9g} s",
                    velocity=simulator.dynamics.arrays.v.copy(),
                    iterations=0,
                    residual=error,
                    tolerance=self.accuracy,
                )
            period = min(proposed, SAFETY * period)
        self.statistics.accepted += 1
        self.statistics.shortest = min(self.statistics.shortest, period)
        if period == self.next_period or proposed < self.next_period:  # `longest` did not shorten it
            self.next_period = proposed
        return period

    def _attempts(self, simulator: Simulator) -> Attempts:
        """Returns the attempts that are possible now: compiled ones, unless Python has work in a step."""
        kind: Any = CompiledAttempts if simulator.is_whole else InterpretedAttempts
        if kind not in self._made:
            self._made = {kind: kind(simulator, self._moving, self.second_order)}
        return self._made[kind]
