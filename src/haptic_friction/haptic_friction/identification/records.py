"""Recorded signals: their check, and the samples that slide or stick."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from haptic_friction.laws import checked
from haptic_math.quantities import float_array

#: smallest number of samples of a record and of sliding, and of sticking, for an estimate
FEWEST, FEWEST_STATIC = 50, 20
#: fraction of the minimum of g below which a force is static; the force of a sliding contact is never below it
_STATIC_FRACTION = 0.8
#: shortest sequence of static samples that is a rest and not noise [samples]
_SHORTEST_STICK = 5


def signals(velocity: ArrayLike, force: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Checks both signals, (n, dimension) or (n,) along a line; returns arrays of one shape (n, dimension)."""
    result = []
    for name, signal, unit in (("velocity", velocity, "m/s"), ("force", force, "N")):
        array = np.ascontiguousarray(float_array(name, signal, "(n_samples, dimension)"))
        if array.ndim == 1:
            array = array[:, None]
        if array.ndim != 2 or array.shape[1] < 1:
            raise ValueError(f"{name}: expected shape (n_samples, dimension), got {array.shape}")
        if not np.isfinite(array).all():
            raise ValueError(f"{name}: expected finite numbers [{unit}]")
        result.append(array)
    u, f = result
    if u.shape != f.shape:
        raise ValueError(f"force: expected the shape of velocity {u.shape}, got {f.shape}")
    if len(u) < FEWEST:
        raise ValueError(f"velocity: expected {FEWEST} samples or more, got {len(u)}")
    return u, f


def moving_samples(u: np.ndarray, minimum_speed: float) -> np.ndarray:
    """Returns the mask (n,) of the samples of a velocity (n, dimension) that are faster than a speed [m/s]."""
    speed: np.ndarray = np.linalg.norm(u, axis=1)
    return speed > checked("minimum_speed", minimum_speed, "m/s")


def split_samples(
    u: np.ndarray, f: np.ndarray, minimum_speed: float, per_direction: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Finds the samples of model C that certainly slide, and those that certainly stick.

    A sliding contact has |f| = g(|v|), not below the minimum of g; a force well below that is static. The minimum of
    g comes from a straight line through |f| over the speed, fitted again without the static samples.

    Args:
        u, f: velocity and force (n, dimension).
        minimum_speed: speed from which a sample may slide [m/s].
        per_direction: True if forces of each sign have their own g; requires dimension 1.

    Returns:
        Masks (n,) of sliding and of sticking samples.
    """
    moving, speed, magnitude = moving_samples(u, minimum_speed), np.linalg.norm(u, axis=1), np.linalg.norm(f, axis=1)
    sides = [f[:, 0] >= 0.0, f[:, 0] < 0.0] if per_direction else [np.ones(len(u), dtype=bool)]
    slides, static = moving, np.zeros(len(u), dtype=bool)
    for _ in range(3):
        if slides.sum() < FEWEST:
            raise ValueError(
                f"velocity: nothing slides, {slides.sum()} samples above minimum_speed = {minimum_speed:g} m/s that "
                f"bear a kinetic force (expected {FEWEST} or more)"
            )
        least = np.zeros(len(u))
        for side in sides:
            there = slides & side
            if there.sum() >= 2:
                line = np.column_stack((np.ones(there.sum()), speed[there]))
                intercept, slope = np.linalg.lstsq(line, magnitude[there], rcond=None)[0]
                least[side] = _STATIC_FRACTION * min(intercept, intercept + slope * speed.max())
        static = _rests(magnitude < least)
        slides = moving & ~static
    along = float(np.sum(f[slides] * u[slides]) / speed[slides].sum())
    if along <= 0.0:
        raise ValueError(wrong_direction(along))
    return slides, static


def wrong_direction(along: float) -> str:
    """Returns the error text for a force against the velocity; `along` is its mean along the velocity [N]."""
    return f"force: expected in the direction of sliding, got {along:.3g} N along it on average (is it -f?)"


def _rests(mask: np.ndarray) -> np.ndarray:
    """Removes from a mask the sequences that are shorter than a rest, and the first sample of each rest."""
    result = np.zeros_like(mask)
    for first, end in ranges(mask):
        result[first + 1 : end] = end - first >= _SHORTEST_STICK
    return result


def ranges(mask: np.ndarray) -> np.ndarray:
    """Finds the first sample and the end of each sequence of true samples of a mask, shape (n, 2)."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], mask, [False])).astype(np.int8)))
    return edges.reshape(-1, 2)
