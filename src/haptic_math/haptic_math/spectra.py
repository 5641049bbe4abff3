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
    lines = np.fft.rfft(np.hanning(n)[:, None] * flat, axis=0) * 4.0 / n
    return np.fft.rfftfreq(n, period), np.linalg.norm(lines, axis=1)


def spectrum_without_mean(values: np.ndarray, period: float) -> tuple[np.ndarray, np.ndarray]:
    """Computes frequencies [Hz] and amplitudes of numbers (n,) without their mean, with Hann's window."""
    window = np.hanning(len(values))
    amplitude = 2.0 * np.abs(np.fft.rfft((values - values.mean()) * window)) / window.sum()
    return np.fft.rfftfreq(len(values), period), amplitude


def rms_above(signal: np.ndarray, period: float, frequency: float) -> float:
    """Computes the RMS of a vector's (n, k) part above a frequency [Hz], without a window."""
    spectrum = np.fft.rfft(signal - signal.mean(axis=0), axis=0)
    high = np.fft.rfftfreq(len(signal), period) > frequency
    return float(np.sqrt(2.0 * np.sum(np.abs(spectrum[high]) ** 2)) / len(signal))


def fraction_above(signal: np.ndarray, period: float, frequency: float) -> float:
    """Computes the fraction of a vector's (n, k) RMS about its mean that lies above a frequency [Hz]; 0 without any."""
    spectrum = np.abs(np.fft.rfft(signal - signal.mean(axis=0), axis=0)) ** 2
    whole = float(spectrum.sum())
    if whole <= 0.0:
        return 0.0
    return float(np.sqrt(spectrum[np.fft.rfftfreq(len(signal), period) > frequency].sum() / whole))
