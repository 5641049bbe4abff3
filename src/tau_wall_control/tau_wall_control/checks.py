"""Checks of what a caller passes in."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from tau_wall_control.errors import TauError


def vector(name: str, value: ArrayLike, shape: tuple[int, ...]) -> np.ndarray:
    """A copy as floats of a shape, or a TauError that names it."""
    try:
        array = np.array(value, dtype=float)
    except (TypeError, ValueError):
        array = np.array(np.nan)
    if array.shape != shape or not np.isfinite(array).all():
        raise TauError(f"{name}: expected finite numbers of shape {shape}, got {value!r}")
    return array
