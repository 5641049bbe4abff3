"""Readings of a strain-gauge force sensor: low-pass filter of second order, noise, range, resolution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy
from numba import njit

from haptic_devices.components.encoder import quantise
from haptic_math.borrowed_arrays import borrowed


class LoadCell(NamedTuple):
    """A sensor of three forces [N] and three moments [N m].

    Attributes:
        filter: constants of `low_pass` (2, 3).
        noise: RMS noise of each reading (6,).
        resolution: one count (6,).
        range: largest force or moment that is reported (6,).
        state: state of `low_pass` for each axis (6, 2); updated.
    """

    filter: np.ndarray
    noise: np.ndarray
    resolution: np.ndarray
    range: np.ndarray
    state: np.ndarray

    def arrays(self) -> tuple[np.ndarray, ...]:
        """Returns the arrays in fewer parts, which Numba takes from Python in less time, for `cell_of`."""
        return self.filter, np.array([self.noise, self.resolution, self.range]), self.state


def make_cell(
    constants: np.ndarray, *, noise: Sequence[float], resolution: Sequence[float], limits: Sequence[float]
) -> LoadCell:
    """Makes a load cell without load.

    Args:
        constants: constants of the filter, from `filter_constants`.
        noise: RMS noise of forces [N] and of moments [N m].
        resolution: one count, likewise.
        limits: largest values that are reported, likewise.
    """
    return LoadCell(constants, np.repeat(noise, 3), np.repeat(resolution, 3), np.repeat(limits, 3), np.zeros((6, 2)))


@njit(cache=True)
def cell_of(arrays: tuple[np.ndarray, ...]) -> LoadCell:
    """Returns the record of `LoadCell.arrays`, for a kernel that has them as an argument; see `borrowed`."""
    constants, accuracy, state = arrays
    rows = borrowed(accuracy)
    return LoadCell(borrowed(constants), rows[0], rows[1], rows[2], borrowed(state))


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


@njit(cache=True)
def measure(cell: LoadCell, axis: int, noise: float) -> float:
    """Returns the reading of one axis; `noise` is a standard normal number."""
    return report(cell.state[axis, 0], cell.noise[axis] * noise, cell.range[axis], cell.resolution[axis])
