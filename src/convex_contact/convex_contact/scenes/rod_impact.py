"""Impact of the sliding rod at short time steps (Castro et al., Figs. 9 to 12): force and velocity of its low tip."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from convex_contact.scenes.one_body import sliding_rod
from convex_contact.simulation.convergence import trajectory
from convex_contact.simulation.simulator import Simulator

#: duration of the start, whose forces are not part of the impact, s
_START = 0.005


@dataclass(frozen=True)
class Impact:
    """Signals of the contact of the low tip at the ends of n steps.

    Attributes:
        time: (n,) [s].
        force: normal force (n,) [N].
        slip: velocity along the ground (n,) [m/s]; NaN without contact.
        normal_velocity: (n,) [m/s]; positive separates; NaN without contact.
        sticking: 1 if the tip sticks, else 0 (n,).
    """

    time: np.ndarray
    force: np.ndarray
    slip: np.ndarray
    normal_velocity: np.ndarray
    sticking: np.ndarray

    @property
    def peak(self) -> tuple[float, float]:
        """Time [s] and height [N] of the largest normal force after the start."""
        k = int(np.argmax(np.where(self.time > _START, self.force, -np.inf)))
        return float(self.time[k]), float(self.force[k])

    @property
    def sticking_time(self) -> float:
        """Duration for which the tip sticks after the start [s]."""
        return float((self.time[1] - self.time[0]) * self.sticking[self.time > _START].sum())


def simulate_impact(approximation: str, *, period: float, duration: float, dissipation: bool) -> Impact:
    """Simulates the rod until after its impact.

    Args:
        approximation: name.
        period: dt [s].
        duration: [s].
        dissipation: see :func:`~convex_contact.scenes.one_body.sliding_rod`.
    """
    world = sliding_rod(approximation, period, dissipation)
    time, _, seen = trajectory(
        world, "rod", period=period, duration=duration, approximation=approximation, observe=_observe
    )
    return Impact(time[1:], *np.array(seen).T)


def _observe(simulator: Simulator) -> tuple[float, float, float, float]:
    c = simulator.contacts
    low = np.flatnonzero(c.impulse[:, 2] > 0.0)
    if not len(low):
        return 0.0, np.nan, np.nan, 0.0
    k = low[0]
    force = float(c.impulse[k, 2]) / simulator.period
    return force, c.slip_velocity[k, 0], c.normal_velocity[k], float(c.sticking[k])
