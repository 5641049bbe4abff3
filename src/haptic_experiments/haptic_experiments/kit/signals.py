"""Measures of sampled signals that several reports use."""

from __future__ import annotations

import numpy as np

from haptic_friction.reference.drift import roughness, sign_changes

__all__ = ["dominant_mode", "largest", "phases", "rms", "roughness", "sign_changes"]


def largest(values: np.ndarray) -> float:
    """Largest magnitude; 0 for nothing."""
    return float(np.abs(values).max(initial=0.0))


def rms(values: np.ndarray) -> float:
    """Root of the mean square of all numbers of an array."""
    return float(np.sqrt(np.mean(np.square(values))))


def phases(flags: np.ndarray, shortest: int = 1) -> list[tuple[int, int]]:
    """First index and end (exclusive) of each unbroken stretch of true flags (n,) of at least `shortest` entries."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], flags.astype(int), [0]))))
    return [(int(a), int(b)) for a, b in edges.reshape(-1, 2) if b - a >= shortest]


def dominant_mode(values: np.ndarray) -> float | None:
    """Factor by which the strongest mode of a free linear second-order system changes in one step.

    Args:
        values: x (n,) with x_k = p x_(k-1) + q x_(k-2), which rounding limits only.

    Returns:
        Largest magnitude of the roots of z^2 = p z + q, fitted by least squares; None for fewer than 5 values, or
        for nothing but zeros.
    """
    scale = largest(values)
    if len(values) < 5 or not 0.0 < scale < np.inf:
        return None
    x = values / scale
    p, q = np.linalg.lstsq(np.column_stack((x[1:-1], x[:-2])), x[2:], rcond=None)[0]
    return float(np.abs(np.roots((1.0, -p, -q))).max())
