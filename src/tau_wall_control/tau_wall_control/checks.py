"""Checks of arguments."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from tau_wall_control.errors import TauError


def vector(name: str, value: ArrayLike, shape: tuple[int, ...]) -> np.ndarray:
    """Returns a copy of a value as finite floats of a shape.

    Raises:
        TauError: the value is not of the shape, or not finite; names it.
    """
    try:
        array = np.array(value, dtype=float)
    except (TypeError, ValueError):
        array = np.array(np.nan)
    if array.shape != shape or not np.logical_and.reduce(np.isfinite(array), axis=None):  # faster than .all()
        raise TauError(f"{name}: expected finite numbers of shape {shape}, got {value!r}")
    return array
