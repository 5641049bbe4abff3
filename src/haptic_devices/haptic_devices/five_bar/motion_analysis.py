"""Motion of the tool after a run: its parts along and across the path, its drift on elastic gears, and filters.

Rows of arrays are the n ticks of a run, at intervals of T.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.signal import butter, sosfiltfilt

from haptic_devices.five_bar.device import FiveBar
from haptic_devices.five_bar.friction_analysis import coulomb_forces

#: fewest samples that are filtered, and highest corner frequency over half the sampling rate
_SAMPLES, _CORNER = 50, 0.9


@dataclass(frozen=True)
class PathMotion:
    """Motion in the plane, along its path and across it.

    Attributes:
        acceleration: acceleration [m/s^2], shape (n, 2).
        speed: speed [m/s], shape (n,).
        along: unit vector of the velocity, shape (n, 2); zero where nothing moves.
        inside: unit vector across it, towards the inside of the path's curve, shape (n, 2).
        normal: normal acceleration v^2/R, not negative [m/s^2], shape (n,).
    """

    acceleration: np.ndarray
    speed: np.ndarray
    along: np.ndarray
    inside: np.ndarray
    normal: np.ndarray


def path_motion(velocity: np.ndarray, time: np.ndarray) -> PathMotion:
    """Computes the parts of a motion from velocities (n, 2) without noise [m/s] at times (n,) [s]."""
    acceleration = np.gradient(velocity, time, axis=0)
    speed = np.linalg.norm(velocity, axis=1)
    along = np.divide(velocity, speed[:, None], out=np.zeros_like(velocity), where=speed[:, None] > 0.0)
    turning = along[:, 0] * acceleration[:, 1] - along[:, 1] * acceleration[:, 0]
    side = np.where(turning < 0.0, -1.0, 1.0)[:, None]
    inside = side * np.column_stack((-along[:, 1], along[:, 0]))
    return PathMotion(acceleration, speed, along, inside, np.abs(turning))


def compliant_drift(time: np.ndarray, force: np.ndarray, position: np.ndarray) -> np.ndarray:
    """Computes the drift (2,) [m] of a loaded tool on elastic gears over a rest.

    The force displaces the tool, so that a straight line is fitted together with a compliance S,

        position = c + d t + S (h - mean of h);

    the drift is d times the length of the rest.

    Args:
        time: times from the beginning of the rest [s], shape (n,).
        force: forces h [N], shape (n, 2).
        position: True positions [m], shape (n, 2).
    """
    regressors = np.column_stack((np.ones_like(time), time, force - force.mean(axis=0)))
    return np.asarray(np.linalg.lstsq(regressors, position - position[0], rcond=None)[0][1] * time[-1])


def coulomb_force_ranges(device: FiveBar, joints: np.ndarray) -> tuple[tuple[float, float], tuple[float, float], float]:
    """Computes the ranges of the joints' Coulomb friction at the tool, over 72 directions and some positions.

    Args:
        device: the manipulator.
        joints: joint angles [rad], shape (m, 2).

    Returns:
        Range of the component along the motion [N], range of the force [N], and largest angle to the motion [rad].
    """
    direction = np.arange(72) * np.pi / 36.0
    unit = np.column_stack((np.cos(direction), np.sin(direction)))
    forces = np.array([coulomb_forces(device, q, direction) for q in joints])
    sizes, along = np.linalg.norm(forces, axis=2), np.sum(forces * unit, axis=2)
    angle = float(np.arccos(np.clip(along / sizes, -1.0, 1.0)).max()) if sizes.all() else 0.0
    return (float(along.min()), float(along.max())), (float(sizes.min()), float(sizes.max())), angle


def low_passed(values: np.ndarray, period: float, frequency: float) -> np.ndarray:
    """Filters signals (n, k) below a frequency [Hz] without phase shift; returns too short or slow ones as they are."""
    if len(values) < _SAMPLES or 2.0 * frequency * period >= _CORNER:
        return values
    return np.asarray(sosfiltfilt(butter(4, frequency, fs=1.0 / period, output="sos"), values, axis=0))


def high_passed(values: np.ndarray, period: float, frequency: float) -> np.ndarray | None:
    """Filters signals (n, k) above a frequency [Hz] without phase shift; returns None for too short or slow ones."""
    if len(values) < _SAMPLES or 2.0 * frequency * period >= _CORNER:
        return None
    return np.asarray(sosfiltfilt(butter(4, frequency, "highpass", fs=1.0 / period, output="sos"), values, axis=0))
