"""Readings of a strain-gauge force sensor: low-pass filter of second order, noise, range, resolution."""

from __future__ import annotations

import math

import numpy as np
import scipy
from numba import njit

from haptic_devices.components.encoder import quantise


def filter_matrix(cutoff: float) -> np.ndarray:
    """Returns the system matrix (3, 3) of (y, y', u) for y'' = w^2 (u - y) - sqrt(2) w y' (Butterworth), constant u.

    Args:
        cutoff: corner frequency w/(2 pi) [Hz].
    """
    w = 2.0 * math.pi * cutoff
    return np.array([[0.0, 1.0, 0.0], [-w * w, -math.sqrt(2.0) * w, w * w], [0.0, 0.0, 0.0]])


def filter_constants(cutoff: float, step: float) -> np.ndarray:
    """Computes the constants of `low_pass`, shape (2, 3), exact for an input that is constant during a step [s]."""
    return np.ascontiguousarray(scipy.linalg.expm(filter_matrix(cutoff) * step)[:2])


@njit(cache=True)
def low_pass(constants: np.ndarray, force: float, state: np.ndarray) -> None:
    """Filters a force [N] for one step; `state` (2,), the filtered force [N] and its rate [N/s], is updated."""
    value, rate = state
    state[0] = constants[0, 0] * value + constants[0, 1] * rate + constants[0, 2] * force
    state[1] = constants[1, 0] * value + constants[1, 1] * rate + constants[1, 2] * force


@njit(cache=True)
def report(value: float, noise: float, limit: float, resolution: float) -> float:
    """Returns one axis of a reading: adds noise, limits to the range, and rounds to the nearest count."""
    return quantise(min(max(value + noise, -limit), limit), resolution)
