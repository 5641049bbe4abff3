"""The force sensor: frequency response of its filter, noise, range and counts."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.signal import butter, lfilter

from haptic_devices.components import force_sensor

STEP = 1e-4


def filtered(force: np.ndarray, cutoff: float) -> np.ndarray:
    constants, state, values = force_sensor.filter_constants(cutoff, STEP), np.zeros(2), []
    for value in force:
        force_sensor.low_pass(constants, value, state)
        values.append(state[0])
    return np.array(values)


@pytest.mark.parametrize("cutoff", [30.0, 125.0, 500.0])
def test_the_filter_s_step_response_is_that_of_a_second_order_butterworth(cutoff):
    time = STEP * np.arange(1, 201)
    w = 2 * np.pi * cutoff / np.sqrt(2.0)  # real and imaginary part of the poles
    expected = 1.0 - np.exp(-w * time) * (np.cos(w * time) + np.sin(w * time))
    assert filtered(np.ones(200), cutoff) == pytest.approx(expected, abs=1e-12)  # exact for a constant input


@pytest.mark.parametrize("ratio", [0.1, 1.0, 4.0])
def test_the_amplitude_of_a_sine_is_that_of_a_butterworth_filter(ratio):
    cutoff = 50.0
    time = STEP * np.arange(8000)
    response = filtered(np.sin(2 * np.pi * ratio * cutoff * time), cutoff)[4000:]
    amplitude = np.sqrt(2.0) * response.std()
    # the hold of a step takes (pi f dt)^2/6 of the amplitude, 7e-4 at 200 Hz
    assert amplitude == pytest.approx(1.0 / np.sqrt(1.0 + ratio**4), rel=2e-3)


def test_the_filter_agrees_with_scipy_s_for_slow_signals():
    cutoff = 50.0
    force = np.sin(2 * np.pi * 20.0 * STEP * np.arange(4000))
    b, a = butter(2, cutoff, fs=1.0 / STEP)
    # the bilinear transformation of scipy's holds no input: half a step of lag, 2 pi 20 Hz dt/2 = 6e-3
    assert filtered(force, cutoff) == pytest.approx(lfilter(b, a, force), abs=1e-2)


@pytest.mark.parametrize(("value", "expected"), [(0.234, 0.2), (0.26, 0.3), (7.0, 5.0), (-7.0, -5.0), (0.0, 0.0)])
def test_a_reading_is_cut_off_at_the_range_and_rounded_to_counts(value, expected):
    assert force_sensor.report(value, 0.0, 5.0, 0.1) == pytest.approx(expected, abs=1e-15)


def test_the_noise_comes_before_the_counts():
    assert force_sensor.report(0.23, 0.03, 5.0, 0.1) == pytest.approx(0.3)
    assert force_sensor.report(0.23, 0.03, 5.0, 0.0) == pytest.approx(0.26)
