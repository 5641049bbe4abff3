"""Checks of arguments: each message names the field, the expectation and the value."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike


def finite_number(name: str, value: float, *, minimum: float | None = None, above: float | None = None) -> float:
    """Converts to a finite number within its bounds, or raises a ValueError that names it."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ValueError(f"{name}: expected a number, got {value!r}") from None
    if not math.isfinite(number):
        raise ValueError(f"{name}: expected a finite number, got {number!r}")
    if minimum is not None and number < minimum:
        raise ValueError(f"{name}: expected {minimum:g} or more, got {number!r}")
    if above is not None and number <= above:
        raise ValueError(f"{name}: expected more than {above:g}, got {number!r}")
    return number


def finite_vector(name: str, value: ArrayLike, size: int) -> np.ndarray:
    """Converts to a finite array of shape (size,), or raises a ValueError that names it. May share memory."""
    try:
        vector = np.ascontiguousarray(value, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"{name}: expected {size} numbers, got {value!r}") from None
    if vector.shape != (size,):
        raise ValueError(f"{name}: expected shape ({size},), got {vector.shape}")
    # the sum is finite if and only if all numbers are, unless it overflows; then the slow test decides
    if not math.isfinite(sum(vector.tolist())) and not np.isfinite(vector).all():
        raise ValueError(f"{name}: expected finite numbers, got {vector}")
    return vector


def positive_numbers(name: str, value: ArrayLike, size: int) -> tuple[float, ...]:
    """Converts to finite numbers above 0, or raises a ValueError that names the first one that is not."""
    return tuple(
        finite_number(f"{name}[{i}]", number, above=0.0) for i, number in enumerate(finite_vector(name, value, size))
    )


def finite_matrix(name: str, value: ArrayLike, shape: tuple[int, int]) -> np.ndarray:
    """Converts to a finite array of a given shape, or raises a ValueError that names it. May share memory."""
    try:
        matrix = np.ascontiguousarray(value, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"{name}: expected shape {shape} of numbers, got {value!r}") from None
    if matrix.shape != shape:
        raise ValueError(f"{name}: expected shape {shape}, got {matrix.shape}")
    if not np.isfinite(matrix).all():
        raise ValueError(f"{name}: expected finite numbers, got {matrix}")
    return matrix
