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
from typing import TYPE_CHECKING

import numpy as np
import pinocchio as pin
from numba import njit

from convex_contact.model.arrays import WorldRecord
from convex_contact.model.bodies import FREE
from convex_contact.problem import checks
from convex_contact.problem.errors import ConvergenceError
from convex_contact.simulation.step_start import StepStart

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
        statistics: counts of steps.

    Raises:
        ValueError: a number is not positive, or the world has deformable bodies and is to be extrapolated.
    """

    def __init__(self, simulator: Simulator, *, accuracy: float, largest_period: float, second_order: bool) -> None:
        self.accuracy = checks.number("accuracy", accuracy, above=0.0)
        self.largest = checks.number("largest_period", largest_period, above=0.0)
        self.second_order = second_order
        d = simulator.dynamics
        self._models = [tree.model.model for tree in simulator.world.trees if hasattr(tree.model, "model")]
        if second_order and len(self._models) < len(simulator.world.trees):
            raise ValueError("second_order: expected a world without deformable bodies, got one with")
        self._moving = np.flatnonzero(d.arrays.body_tree >= 0)
        self._radius = d.arrays.body_radius[self._moving]
        self._start: StepStart | None = None
        self.reset()

    def reset(self) -> None:
        """Restarts with a short step and clears the statistics."""
        self._next = FIRST * self.largest
        self.statistics = StepCounts()

    def copies(self) -> tuple[float, StepCounts]:
        """Returns the length of the coming step and the statistics, for :meth:`restore`."""
        return self._next, replace(self.statistics)

    def restore(self, values: tuple[float, StepCounts]) -> None:
        """Restores what :meth:`copies` returned."""
        self._next, self.statistics = values[0], replace(values[1])

    def step(self, simulator: Simulator, longest: float = math.inf) -> float:
        """Makes one step within the accuracy, and returns its length [s].

        Args:
            simulator: as given.
            longest: limit of the step's length [s].

        Raises:
            ConvergenceError: the shortest step has no solution, or errs by more than the accuracy.
        """
        start = self._start = self._start or StepStart(simulator)
        start.note()
        period = min(self._next, longest)
        while True:
            failure = None
            try:
                error = self._try(simulator, start, period)
            except ConvergenceError as unsolved:
                error, failure = math.inf, unsolved
            ratio = SAFETY * math.sqrt(self.accuracy / error) if error > 0.0 else GROWTH
            proposed = min(period * min(max(ratio, SHRINK), GROWTH), self.largest)
            if error <= self.accuracy:
                start.accept()
                break
            self.statistics.rejected += 1
            start.return_to()
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
        if period == self._next or proposed < self._next:  # `longest` did not shorten it
            self._next = proposed
        return period

    def _try(self, simulator: Simulator, start: StepStart, period: float) -> float:
        """Makes a step, and from the start again two halves; returns the error [m]."""
        d = simulator.dynamics
        start.begin()
        simulator.set_period(period)
        simulator.make_step()
        whole = [part[self._moving] for part in simulator.body_states()[:2]]
        q1, v1 = d.arrays.q.copy(), d.arrays.v.copy()
        start.begin()
        simulator.set_period(0.5 * period)
        simulator.make_step()
        start.keep()
        simulator.make_step()
        halves = [part[self._moving] for part in simulator.body_states()[:2]]
        distance = np.linalg.norm(halves[0] - whole[0], axis=1)
        cosine = np.einsum("bi,bi->b", halves[1], whole[1])
        chord = np.linalg.norm(halves[1] - np.copysign(1.0, cosine)[:, None] * whole[1], axis=1)
        angle = 4.0 * np.arcsin(np.minimum(0.5 * chord, 1.0))
        if self.second_order:
            self._extrapolate(simulator, q1, v1)
        return float((distance + self._radius * angle).max())

    def _extrapolate(self, simulator: Simulator, q1: np.ndarray, v1: np.ndarray) -> None:
        """Moves the result of the halves by its difference from that of the whole step."""
        a = simulator.dynamics.arrays
        a.v[:] = 2.0 * a.v - v1
        for tree, model in enumerate(self._models):
            i, j = a.tree_q[tree], a.tree_q[tree + 1]
            a.q[i:j] = pin.integrate(model, a.q[i:j], pin.difference(model, q1[i:j], a.q[i:j]))
        _extrapolate_free_bodies(a.record, q1)


@njit(cache=True, error_model="numpy")
def _extrapolate_free_bodies(w: WorldRecord, q1: np.ndarray) -> None:
    """Moves each free body by its difference from coordinates q1 (nq,): by a translation and a rotation."""
    for tree in range(len(w.tree_kind)):
        if w.tree_kind[tree] != FREE:
            continue
        i = w.tree_q[tree]
        for k in range(i, i + 3):
            w.q[k] += w.q[k] - q1[k]
        halves, whole = w.q[i + 3 : i + 7], q1[i + 3 : i + 7]
        u, c = _product(halves[:3], halves[3], -whole[:3], whole[3])
        u, c = _product(u, c, halves[:3], halves[3])
        length = math.sqrt(u @ u + c * c)
        halves[:3], halves[3] = u / length, c / length


@njit(cache=True)
def _product(u: np.ndarray, c: float, v: np.ndarray, d: float) -> tuple[np.ndarray, float]:
    """Returns the product of the quaternions [u; c] and [v; d]."""
    return c * v + d * u + np.cross(u, v), c * d - u @ v
