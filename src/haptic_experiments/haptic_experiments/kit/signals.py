"""Measures of sampled signals that several reports use."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from haptic_friction.reference.drift import roughness, sign_changes
from haptic_friction.reference.modes import dominant_mode

__all__ = [
    "Counts",
    "Percentiles",
    "Spread",
    "dominant_mode",
    "largest",
    "path_length",
    "phases",
    "rms",
    "roughness",
    "sign_changes",
    "worst",
]

_Part = TypeVar("_Part")


@dataclass(frozen=True)
class Spread:
    """Magnitude of a signal, in its unit."""

    rms: float  #: root of the mean square
    p99: float  #: 99th percentile
    largest: float  #: largest magnitude

    @classmethod
    def of(cls, values: np.ndarray) -> Spread:
        """Measures a signal (n,)."""
        size = np.abs(values)
        return cls(float(np.sqrt(np.mean(size**2))), float(np.percentile(size, 99)), float(size.max()))


@dataclass(frozen=True)
class Counts:
    """Counts of the ticks of a run."""

    mean: float
    largest: int

    @classmethod
    def of(cls, values: np.ndarray, first: int = 0) -> Counts:
        """Measures numbers (n,), their mean from the tick `first` on."""
        return cls(float(values[first:].mean()), int(values.max()))


@dataclass(frozen=True)
class Percentiles:
    """Median and 99th percentile of a signal, in its unit."""

    p50: float
    p99: float

    @classmethod
    def of(cls, values: np.ndarray) -> Percentiles:
        """Measures a signal (n,)."""
        return cls(float(np.percentile(values, 50)), float(np.percentile(values, 99)))


def largest(values: np.ndarray) -> float:
    """Returns the largest magnitude of an array's numbers; 0 for an empty array."""
    return float(np.abs(values).max(initial=0.0))


def rms(values: np.ndarray) -> float:
    """Computes the root of the mean square of all numbers of an array."""
    return float(np.sqrt(np.mean(np.square(values))))


def path_length(position: np.ndarray) -> np.ndarray:
    """Computes the length of each path (b,) [m] from positions (n, b, 3) [m]."""
    return np.asarray(np.linalg.norm(np.diff(position, axis=0), axis=2).sum(axis=0))


def worst(parts: Iterable[_Part | None], size: Callable[[_Part], float]) -> _Part | None:
    """Returns the part of which a number is largest in magnitude; None if there is no part."""
    return max((part for part in parts if part is not None), key=lambda part: abs(size(part)), default=None)


def phases(flags: np.ndarray, shortest: int = 1) -> list[tuple[int, int]]:
    """Finds the unbroken sequences of at least `shortest` true flags (n,): first index and end (exclusive) of each."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], flags.astype(int), [0]))))
    return [(int(a), int(b)) for a, b in edges.reshape(-1, 2) if b - a >= shortest]


def bisected_decades(holds: Callable[[float], bool], good: float, bad: float, steps: int) -> float:
    """Finds the last number at which a condition holds, by bisection of decimal logarithms from a good to a bad one."""
    for _ in range(steps):
        middle = 0.5 * (good + bad)
        good, bad = (middle, bad) if holds(10.0**middle) else (good, middle)
    return float(10.0**good)
