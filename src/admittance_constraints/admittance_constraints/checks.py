"""Checks of arguments: each message names the field, the expectation and the value."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from haptic_math.quantities import finite_array, finite_number

__all__ = ["finite_matrix", "finite_number", "finite_vector", "positive_numbers"]


def finite_vector(name: str, value: ArrayLike, size: int) -> np.ndarray:
    """Converts to a finite array of shape (size,), or raises a ValueError that names it. May share memory."""
    return finite_array(name, value, (size,), copy=False)


def positive_numbers(name: str, value: ArrayLike, size: int) -> tuple[float, ...]:
    """Converts to finite numbers above 0, or raises a ValueError that names the first one that is not."""
    return tuple(
        finite_number(f"{name}[{i}]", number, above=0.0) for i, number in enumerate(finite_vector(name, value, size))
    )


def finite_matrix(name: str, value: ArrayLike, shape: tuple[int, int]) -> np.ndarray:
    """Converts to a finite array of a given shape, or raises a ValueError that names it. May share memory."""
    return finite_array(name, value, shape, copy=False)
