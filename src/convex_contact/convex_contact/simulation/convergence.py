"""Position errors of a simulation over its time step, as in the convergence studies of Castro et al. (section XI)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from convex_contact.model.world import World
from convex_contact.simulation.simulator import Simulator


def trajectory(
    world: World,
    body: str,
    *,
    period: float,
    duration: float,
    observe: Callable[[Simulator], Any] | None = None,
    **options: Any,
) -> tuple[np.ndarray, np.ndarray, list[Any]]:
    """Simulates a world and records the path of one body.

    Args:
        world: description of the world.
        body: name of the body.
        period: dt [s].
        duration: of the simulation [s].
        observe: called after each step.
        **options: arguments of the :class:`Simulator`.

    Returns:
        Times (n + 1,) [s] and positions (n + 1, 3) [m], the first at time 0; n values that `observe` returned.
    """
    simulator = Simulator(world, period=period, **options)
    steps = round(duration / period)
    path, seen = np.empty((steps + 1, 3)), []
    number = world.number(body)
    path[0] = simulator.state(number).position
    for k in range(steps):
        simulator.step()
        path[k + 1] = simulator.state(number).position
        if observe is not None:
            seen.append(observe(simulator))
    return period * np.arange(steps + 1), path, seen


def rms_error(time: np.ndarray, path: np.ndarray, reference_time: np.ndarray, reference: np.ndarray) -> float:
    """Computes e_q = sqrt(1/T int |p - p_ref|^2 dt) by trapezoids, m.

    Args:
        time: of the path (n,), s.
        path: p (n, 3), m.
        reference_time: of the reference (m,), s.
        reference: p_ref (m, 3), m; it is interpolated at the times of the path.
    """
    other = np.stack([np.interp(time, reference_time, column) for column in reference.T], axis=1)
    square = np.sum((path - other) ** 2, axis=1)
    return float(np.sqrt(np.trapezoid(square, time) / (time[-1] - time[0])))


def position_errors(
    scene: Callable[[str, float], World],
    body: str,
    *,
    approximations: Sequence[str],
    reference: float,
    periods: Sequence[float],
    duration: float,
) -> dict[str, dict[float, float]]:
    """Computes the position errors of a body against Lagged at a short time step.

    Args:
        scene: makes the world for an approximation and a time step, s.
        body: name of the body.
        approximations: names.
        reference: time step of the reference, s.
        periods: time steps, s.
        duration: s.

    Returns:
        e_q, m, by approximation and time step.
    """
    t, best, _ = trajectory(scene("lagged", reference), body, period=reference, duration=duration)
    errors: dict[str, dict[float, float]] = {}
    for name in approximations:
        errors[name] = {}
        for period in periods:
            own, path, _ = trajectory(scene(name, period), body, period=period, duration=duration, approximation=name)
            errors[name][period] = rms_error(own, path, t, best)
    return errors


def convergence_order(errors: dict[float, float], periods: Sequence[float] | None = None) -> float:
    """Computes the order of convergence: the slope of log(error) over log(time step), by least squares.

    Args:
        errors: by time step.
        periods: time steps that count; None: all.
    """
    chosen = list(errors) if periods is None else list(periods)
    return float(np.polyfit(np.log(chosen), np.log([errors[p] for p in chosen]), 1)[0])


def extrapolated(fine: float, coarse: float, period: float, target: float) -> float:
    """Extrapolates a number with an error of first order to a shorter time step.

    Args:
        fine: the number at the time step `period`.
        coarse: the number at twice that time step.
        period: s.
        target: the shorter time step, s.
    """
    return fine - (period - target) / period * (coarse - fine)


@dataclass(frozen=True)
class ConvergenceStudy:
    """Position errors of a body over the time step of the simulation.

    Attributes:
        errors: position errors, m, by approximation and time step, s.
        orders: orders of convergence by approximation.
    """

    errors: dict[str, dict[float, float]]
    orders: dict[str, float]

    @classmethod
    def simulated(cls, scene: Callable[[str, float], World], body: str, **study: Any) -> ConvergenceStudy:
        """Simulates a scene; the arguments are those of `position_errors`."""
        errors = position_errors(scene, body, **study)
        return cls(errors, {name: convergence_order(of) for name, of in errors.items()})

    @property
    def is_first_order(self) -> bool:
        """Lagged and Similar converge with an order of 1 within 0.15."""
        return all(abs(self.orders[name] - 1.0) < 0.15 for name in ("lagged", "similar"))
