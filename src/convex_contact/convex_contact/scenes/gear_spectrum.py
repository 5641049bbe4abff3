"""Spectrum of a torque between gears, and the fraction of its power at harmonics of the meshing frequency."""

from __future__ import annotations

import numpy as np

#: harmonics that count, and half the width of each [bins]
_HARMONICS, _HALF_WIDTH = 10, 1.5


def spectrum(values: np.ndarray, period: float) -> tuple[np.ndarray, np.ndarray]:
    """Computes frequencies [Hz] and amplitudes of evenly spaced values without linear trend, with Hann's window.

    Args:
        values: (n,).
        period: between the values [s].
    """
    time = np.arange(len(values))
    rest = values - np.polyval(np.polyfit(time, values, 1), time)
    window = np.hanning(len(values))
    return np.fft.rfftfreq(len(values), period), 2.0 * np.abs(np.fft.rfft(window * rest)) / window.sum()


def harmonic_power(values: np.ndarray, period: float, frequency: float) -> float:
    """Computes the fraction of the power that lies within 1.5 bins of the first ten multiples of a frequency.

    Multiples above half the sampling rate are folded back.

    Args:
        values: (n,).
        period: between the values [s].
        frequency: [Hz].
    """
    bins, amplitude = spectrum(values, period)
    marked = np.zeros(len(bins), dtype=bool)
    rate = 1.0 / period
    for k in range(1, _HARMONICS + 1):
        f = k * frequency % rate
        marked |= np.abs(bins - min(f, rate - f)) <= _HALF_WIDTH * bins[1]
    return float((amplitude[marked] ** 2).sum() / (amplitude**2).sum())


def harmonic_bins(count: int) -> float:
    """Computes the fraction of the bins that :func:`harmonic_power` counts: its value for noise with `count` values."""
    return float(min(1.0, _HARMONICS * 2.0 * _HALF_WIDTH / (count // 2 + 1)))
