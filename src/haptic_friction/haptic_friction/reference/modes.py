"""Modes of linear motions between stick and slip, from sampled signals."""

from __future__ import annotations

import numpy as np


def dominant_mode(values: np.ndarray) -> float | None:
    """Computes the factor by which the strongest mode of a free linear second-order system changes in one step.

    Args:
        values: x (n,) with x_k = p x_(k-1) + q x_(k-2), which rounding limits only.

    Returns:
        Largest magnitude of the roots of z^2 = p z + q, fitted by least squares; None for fewer than 5 values, or
        for nothing but zeros.
    """
    scale = float(np.abs(values).max(initial=0.0))
    if len(values) < 5 or not 0.0 < scale < np.inf:
        return None
    x = values / scale
    p, q = np.linalg.lstsq(np.column_stack((x[1:-1], x[:-2])), x[2:], rcond=None)[0]
    return float(np.abs(np.roots((1.0, -p, -q))).max())


def first_slide_mode(velocity: np.ndarray, sticking: np.ndarray) -> float | None:
    """Computes the strongest mode's factor per step in the first sliding motion without a stop, at a ramp of the input.

    There the motion is linear, and at a ramp the second differences of the velocity are free of the input.

    Args:
        velocity: velocity [m/s], shape (n,).
        sticking: flags, shape (n,).

    Returns:
        Result of `dominant_mode`; None without such a motion.
    """
    moving = np.flatnonzero(~sticking & (velocity > 0.0))
    if not len(moving):
        return None
    first = int(moving[0])
    ends = np.flatnonzero(sticking[first:] | (velocity[first:] <= 0.0))
    last = first + (int(ends[0]) if len(ends) else len(velocity) - first)
    return dominant_mode(np.diff(velocity[first:last], n=2))
