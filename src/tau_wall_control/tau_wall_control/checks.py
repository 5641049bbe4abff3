"""Checks of arguments."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import ArrayLike

from haptic_math.quantities import finite_array
from tau_wall_control.errors import TauError


def vector(name: str, value: ArrayLike, shape: tuple[int, ...]) -> np.ndarray:
    """Returns a copy of a value as finite floats of a shape.

    Raises:
        TauError: the value is not of the shape, or not finite; names it.
    """
    return finite_array(name, value, shape, expected=_expectation(shape), error=TauError)


@cache
def _expectation(shape: tuple[int, ...]) -> str:
    return f"finite numbers of shape {shape}"
