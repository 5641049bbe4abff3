"""Position measurement by encoders, and the velocity estimate of a driver."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

#: indices of `constants`
RESOLUTION, GAIN, PERIOD = range(3)


@njit(cache=True)
def quantise(position: float, resolution: float) -> float:
    """Rounds a position to the nearest count; resolution 0 returns it unchanged."""
    return position if resolution == 0.0 else np.round(position / resolution) * resolution


@njit(cache=True)
def sample(true_position: np.ndarray, encoder: np.ndarray, position: np.ndarray, velocity: np.ndarray) -> None:
    """Measures the true position in the next period; updates the driver's reported values in place.

    v_k = v_(k-1) + a ((p_k - p_(k-1))/T - v_(k-1)): backward difference and first-order low-pass filter.

    Args:
        true_position: true position of the joints (n,) [rad] or [m].
        encoder: constants from `constants`.
        position: (n,) reported position, quantised.
        velocity: (n,) reported velocity.
    """
    resolution, gain, period = encoder
    for i in range(true_position.size):
        measured = quantise(true_position[i], resolution)
        velocity[i] += gain * ((measured - position[i]) / period - velocity[i])
        position[i] = measured


def constants(*, resolution: float, cutoff: float, period: float) -> np.ndarray:
    """Returns the constants of `sample`.

    Args:
        resolution: size of one count [rad] or [m]; 0 measures exactly.
        cutoff: corner frequency f_c of the filter [Hz]; a = 1 - exp(-2 pi f_c T).
        period: sampling period T [s].
    """
    return np.array([resolution, 1.0 - math.exp(-2.0 * math.pi * cutoff * period), period])


def velocity_delay(cutoff: float, period: float) -> float:
    """Computes the delay of the measured velocity [s]: T/2 of the difference, and the filter's (1 - a) T/a.

    Args:
        cutoff: corner frequency of the velocity filter [Hz].
        period: T [s].
    """
    return float(period * (0.5 + 1.0 / np.expm1(2.0 * np.pi * cutoff * period)))
