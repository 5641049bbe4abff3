"""Checks of arguments."""

from __future__ import annotations

from functools import cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from haptic_math.quantities import finite_array, one_line
from tau_wall_control.errors import TauError

Kind = TypeVar("Kind")


def vector(name: str, value: ArrayLike, shape: tuple[int, ...]) -> np.ndarray:
    """Returns a copy of a value as finite floats of a shape.

    Raises:
        TauError: the value is not of the shape, or not finite; names it.
    """
    return finite_array(name, value, shape, expected=_expectation(shape), error=TauError)


def instance(name: str, value: object, kind: type[Kind], such_as: str = "") -> Kind:
    """Returns a value that is of a class.

    Raises:
        TauError: the value is of another class; names it.
    """
    if not isinstance(value, kind):
        example = f" such as {such_as}" if such_as else ""
        raise TauError(f"{name}: expected a {kind.__name__}{example}, got {one_line(value)}")
    return value


def whole_number(name: str, value: object, unit: str) -> int:
    """Returns a whole number that is not negative.

    Raises:
        TauError: the value is another number, or none; names it.
    """
    if not isinstance(value, (int, np.integer)) or value < 0:
        raise TauError(f"{name}: expected 0 or more {unit}, a whole number, got {one_line(value)}")
    return int(value)


def pose_controller(value: Any) -> Any:
    """Returns a controller that holds a contact pose, see `simulation.push.PoseController`.

    Raises:
        TauError: the value lacks what such a controller has; names it.
    """
    names = "period", "normal", "start", "step"
    if not all(hasattr(value, name) for name in names):
        raise TauError(f"controller: expected one with {', '.join(names)}, got {one_line(value)}")
    return value


@cache
def _expectation(shape: tuple[int, ...]) -> str:
    return f"finite numbers of shape {shape}"
