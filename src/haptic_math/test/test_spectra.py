"""Spectra of sines of known amplitude and frequency."""

from __future__ import annotations

import numpy as np
import pytest

from haptic_math.spectra import fraction_above, rms_above, spectrum_without_mean, spectrum_without_trend

T = 1e-3
TIME = T * np.arange(1000)
#: 3 along x at 20 Hz, 4 along y at 100 Hz; both are periodic in the second of the samples
SIGNAL = np.column_stack((3.0 * np.sin(2.0 * np.pi * 20.0 * TIME), 4.0 * np.sin(2.0 * np.pi * 100.0 * TIME)))


def test_lines_have_the_amplitudes_of_the_sines() -> None:
    frequency, amplitude = spectrum_without_trend(SIGNAL + np.outer(TIME, [5.0, -2.0]), T)
    assert amplitude[[20, 100]] == pytest.approx([3.0, 4.0], rel=0.01)
    assert frequency[[20, 100]].tolist() == [20.0, 100.0]
    frequency, amplitude = spectrum_without_mean(7.0 + SIGNAL[:, 1], T)
    assert amplitude[100] == pytest.approx(4.0, rel=1e-6) and amplitude[:90].max() < 1e-4


def test_rms_above_a_frequency_is_that_of_the_fast_sine() -> None:
    assert rms_above(SIGNAL, T, 50.0) == pytest.approx(4.0 / np.sqrt(2.0))
    assert rms_above(SIGNAL, T, 200.0) == pytest.approx(0.0, abs=1e-9)
    assert fraction_above(SIGNAL, T, 50.0) == pytest.approx(0.8)
    assert fraction_above(np.ones((10, 2)), T, 50.0) == 0.0


def test_rms_above_zero_is_the_standard_deviation() -> None:
    """Parseval's theorem, for an odd number of samples."""
    noise = np.random.default_rng(3).normal(2.0, 1.0, (501, 1))
    assert rms_above(noise, T, 0.0) == pytest.approx(noise.std())
    assert fraction_above(noise, T, 0.0) == pytest.approx(1.0)


def test_the_line_of_nyquist_counts_once() -> None:
    alternating = (-1.0) ** np.arange(64)
    assert rms_above(alternating[:, None], T, 50.0) == pytest.approx(1.0)
    both = np.column_stack((alternating, np.sqrt(2.0) * np.sin(2.0 * np.pi * np.arange(64) / 16)))
    assert fraction_above(both, T, 0.4 / T) == pytest.approx(np.sqrt(0.5))
    assert spectrum_without_mean(alternating, T)[1][-1] == pytest.approx(1.0)
