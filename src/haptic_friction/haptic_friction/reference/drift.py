"""Drift and chatter of a mass under a load below the friction force (Kikuuwe et al., sections II and III)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

#: fraction at the end of the load's duration over which the rate of drift is measured
_RATE_FRACTION = 1.0 / 6.0
#: a force chatters if its second differences are `ROUGHNESS_RATIO` times those of the load, or if it changes its sign
#: `FLIP_RATIO` times as often: a spring that resonates with the tremor reaches 7, a switching force 300
ROUGHNESS_RATIO, FLIP_RATIO = 20.0, 2.0


def roughness(values: np.ndarray) -> float:
    """Computes the RMS second difference of values (n,): 0 for a straight line, 4 times the amplitude of a zigzag."""
    return float(np.sqrt(np.mean(np.diff(values, n=2) ** 2))) if len(values) > 2 else 0.0


def sign_changes(values: np.ndarray) -> int:
    """Counts the changes of a signal (n,) from one sign to the other; exact zeros between do not count."""
    signs = np.sign(values[values != 0.0])
    return int(np.count_nonzero(np.diff(signs)))


@dataclass(frozen=True)
class Load:
    """End of a load.

    Attributes:
        end: index of the first sample at which the load falls.
        zero: index of the first sample from which the load stays zero.
    """

    end: int
    zero: int

    @classmethod
    def of(cls, force: np.ndarray) -> Load:
        """Finds the monotone fall to zero at the end of a load (n,); the end of the run if the load does not end so."""
        loaded = np.flatnonzero(force)
        zero = int(loaded[-1]) + 1 if len(loaded) else len(force)
        if zero == len(force):
            return cls(zero, zero)
        end, magnitude = zero, np.abs(force)
        while end > 0 and magnitude[end - 1] > magnitude[end]:
            end -= 1
        return cls(end, zero)


@dataclass(frozen=True)
class Drift:
    """Motion of a mass under a load that is taken away.

    Attributes:
        displacement_at_load_end: displacement at the end of the load [m].
        largest_displacement: largest displacement of the run [m].
        residual_displacement: displacement at the end of the run [m]; None if the load does not end.
        drift_rate: mean velocity over the last sixth of the load [m/s].
        exact_zero_velocity_share: fraction of the load's samples at which the velocity is exactly zero.
        sign_flips_per_second: changes of the friction force's sign under the load [1/s].
        roughness_over_load: RMS of the force's second differences over that of the load; None without a load.
        chatters: True if the force is much rougher than the load or flips much more often; None without a load.
    """

    displacement_at_load_end: float
    largest_displacement: float
    residual_displacement: float | None
    drift_rate: float
    exact_zero_velocity_share: float
    sign_flips_per_second: float
    roughness_over_load: float | None
    chatters: bool | None

    @classmethod
    def of(cls, x: np.ndarray, velocity: np.ndarray, force: np.ndarray, load: np.ndarray, period: float) -> Drift:
        """Measures a run.

        Args:
            x: displacement of the mass [m], shape (n,).
            velocity: velocity of the mass [m/s], shape (n,).
            force: friction force [N], shape (n,).
            load: force on the mass [N], shape (n,).
            period: T [s].
        """
        ends = Load.of(load)
        end, last = max(ends.end, 2), min(max(ends.end, 1), len(x) - 1)
        start, smooth = last - max(1, round(_RATE_FRACTION * last)), roughness(load[:end])
        flips, ratio = float(sign_changes(force[:end]) / (end * period)), None
        if smooth > 0.0:
            ratio = roughness(force[:end]) / smooth
        limit = FLIP_RATIO * load_flips(load, period)
        return cls(
            displacement_at_load_end=float(x[last]),
            largest_displacement=float(np.abs(x).max()),
            residual_displacement=float(x[-1]) if ends.zero < len(x) else None,
            drift_rate=float((x[last] - x[start]) / ((last - start) * period)),
            exact_zero_velocity_share=float(np.mean(velocity[:end] == 0.0)),
            sign_flips_per_second=flips,
            roughness_over_load=ratio,
            chatters=None if ratio is None else bool(ratio > ROUGHNESS_RATIO or flips > limit),
        )


def load_flips(load: np.ndarray, period: float) -> float:
    """Computes the rate of sign changes of a load (n,) until it falls at its end [1/s]."""
    end = Load.of(load).end
    return sign_changes(load[:end]) / (max(end, 1) * period)


@dataclass(frozen=True)
class Stop:
    """Remaining motion in the second half of a run in which a mass should have come to rest.

    Attributes:
        largest_speed: largest speed [m/s].
        displacement: displacement over the second half [m].
        velocity_sign_changes: changes of the velocity's sign.
    """

    largest_speed: float
    displacement: float
    velocity_sign_changes: int

    @classmethod
    def of(cls, x: np.ndarray, velocity: np.ndarray) -> Stop:
        """Measures a run of displacements x [m] and velocities [m/s], shape (n,) each."""
        half = len(x) // 2
        left = velocity[half:]
        return cls(float(np.abs(left).max()), float(x[-1] - x[half]), sign_changes(left))
