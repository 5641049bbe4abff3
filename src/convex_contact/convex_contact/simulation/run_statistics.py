"""Iterations, condition, penetration and stiction tolerance of a simulation, as in Figs. 15 to 19 of Castro et al."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from convex_contact.model.world import World
from convex_contact.simulation.simulator import Simulator

#: number of steps between two readings of the contacts
_EVERY = 5


@dataclass(frozen=True)
class RunStatistics:
    """Statistics of a simulation of n steps.

    Attributes:
        iterations: mean Newton steps per step.
        condition: condition number of the Hessian, mean of a sample of steps.
        penetration: mean depth of the overlapping contacts in the settled part [m].
        median_penetration: median depth [m].
        step_time: CPU time per step [s].
        tolerance: effective stiction tolerance, mean of the contacts of each step (n,) [m/s]; NaN without contact, or
            if tolerances were not collected.
    """

    iterations: float
    condition: float
    penetration: float
    median_penetration: float
    step_time: float
    tolerance: np.ndarray


def run_statistics(
    world: World,
    *,
    period: float,
    approximation: str,
    duration: float,
    settled: float,
    samples: int = 8,
    tolerances: bool = False,
) -> RunStatistics:
    """Simulates a world and collects statistics.

    Args:
        world: the description.
        period: dt, s.
        approximation: name.
        duration: s.
        settled: length of the part at the end in which penetration is measured, s.
        samples: number of condition numbers.
        tolerances: collect the stiction tolerance, too.

    Raises:
        ConvergenceError: A step did not converge.
    """
    simulator = Simulator(world, period=period, approximation=approximation)
    simulator.step()  # without the time of compilation
    simulator.reset()
    steps = round(duration / period)
    sampled = max(1, steps // samples)
    iterations, condition, depth = np.empty(steps), [], []
    tolerance, spent = np.full(steps, np.nan), 0.0
    for k in range(steps):
        start = time.process_time()
        simulator.step()
        spent += time.process_time() - start
        iterations[k] = simulator.statistics.iterations
        if k % sampled == sampled - 1:
            condition.append(simulator.solution.condition_number)
        if tolerances:
            values = simulator.stiction_tolerance
            values = values[np.isfinite(values)]
            tolerance[k] = values.mean() if len(values) else np.nan
        if (steps - k) * period <= settled and k % _EVERY == 0:
            distance = simulator.contacts.signed_distance
            depth.append(-distance[distance < 0.0])
    deep = np.concatenate(depth)
    return RunStatistics(
        iterations=float(iterations.mean()),
        condition=float(np.mean(condition)),
        penetration=float(deep.mean()),
        median_penetration=float(np.median(deep)),
        step_time=spent / steps,
        tolerance=tolerance,
    )
