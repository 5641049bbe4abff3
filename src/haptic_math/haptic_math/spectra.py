"""Spectra of evenly sampled signals: lines with Hann's window, and what lies above a frequency."""

from __future__ import annotations

import numpy as np


def spectrum_without_trend(signal: np.ndarray, period: float) -> tuple[np.ndarray, np.ndarray]:
    """Computes the lines of a vector without its linear trend, with Hann's window.

    Args:
        signal: vectors in any unit, shape (n, k).
        period: time between two of them [s].

    Returns:
        Frequencies [Hz] and amplitudes of the vector in its unit, shape (n // 2 + 1,) each.
    """
    n = len(signal)
    t = np.linspace(-1.0, 1.0, n)
    flat = signal - np.polynomial.polynomial.polyval(t, np.polynomial.polynomial.polyfit(t, signal, 1)).T
    lines = np.fft.rfft(np.hanning(n)[:, None] * flat, axis=0) * 2.0 / n
    return np.fft.rfftfreq(n, period), _one_sided(n) * np.linalg.norm(lines, axis=1)


def spectrum_without_mean(values: np.ndarray, period: float) -> tuple[np.ndarray, np.ndarray]:
    """Computes frequencies [Hz] and amplitudes of numbers (n,) without their mean, with Hann's window."""
    window = np.hanning(len(values))
    amplitude = np.abs(np.fft.rfft((values - values.mean()) * window)) / window.sum()
    return np.fft.rfftfreq(len(values), period), _one_sided(len(values)) * amplitude


def rms_above(signal: np.ndarray, period: float, frequency: float) -> float:
    """Computes the RMS of a vector's (n, k) part above a frequency [Hz], without a window."""
    high = np.fft.rfftfreq(len(signal), period) > frequency
    return float(np.sqrt(_powers(signal)[high].sum()) / len(signal))


def fraction_above(signal: np.ndarray, period: float, frequency: float) -> float:
    """Computes the fraction of a vector's (n, k) RMS about its mean that lies above a frequency [Hz]; 0 without any."""
    powers = _powers(signal)
    whole = float(powers.sum())
    if whole <= 0.0:
        return 0.0
    return float(np.sqrt(powers[np.fft.rfftfreq(len(signal), period) > frequency].sum() / whole))


def _powers(signal: np.ndarray) -> np.ndarray:
    """Computes the powers of all lines of a vector (n, k) about its mean, shape (n // 2 + 1,)."""
    spectrum = np.fft.rfft(signal - signal.mean(axis=0), axis=0)
    return np.asarray(_one_sided(len(signal)) * np.sum(np.abs(spectrum) ** 2, axis=1))


def _one_sided(n: int) -> np.ndarray:
    """Returns how often each line of a spectrum of n samples counts: twice, but for the mean and Nyquist's line."""
    counts = np.full(n // 2 + 1, 2.0)
    counts[0] = 1.0
    if n % 2 == 0:
        counts[-1] = 1.0
    return counts
