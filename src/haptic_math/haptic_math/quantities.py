"""Checks of arguments: each error is one line with field, expectation and value."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

#: largest size of an array whose entries are summed in Python to check that all are finite, faster than NumPy
_FEW = 32
#: length above which a quaternion is a rotation, and error of the length of a unit quaternion that counts as rounding
_ZERO, _ROUNDED = 1e-9, 0.01


def finite_number(
    name: str,
    value: Any,
    *,
    minimum: float | None = None,
    above: float | None = None,
    expected: str = "",
    error: type[Exception] = ValueError,
) -> float:
    """Converts to a finite number within its bounds.

    Args:
        name: field for the message.
        value: number, or a value that `float` converts.
        minimum: smallest allowed value.
        above: value that the number has to exceed.
        expected: expectation in words, for every error; empty: each error names the bound that is not met.
        error: class of the error.

    Raises:
        error: the value is not a number, not finite, or out of its bounds.
    """
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise error(f"{name}: expected {expected or 'a number'}, got {one_line(value)}") from None
    if not math.isfinite(number):
        words = "a finite number"
    elif minimum is not None and number < minimum:
        words = f"{minimum:g} or more"
    elif above is not None and number <= above:
        words = f"more than {above:g}"
    else:
        return number
    raise error(
        f"{name}: expected {expected}, got {one_line(value)}"
        if expected
        else f"{name}: expected {words}, got {number!r}"
    )


def float_array(
    name: str, value: ArrayLike, shape: str | tuple[int, ...], *, error: type[Exception] = ValueError
) -> np.ndarray:
    """Converts to an array of floats; neither its shape nor its numbers are checked. It may share memory.

    Args:
        name: field for the message.
        value: numbers.
        shape: expected shape, for the message.
        error: class of the error.

    Raises:
        error: the value is not numeric.
    """
    try:
        return np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise error(f"{name}: expected numbers of shape {shape}, got {one_line(value)}") from None


def finite_array(
    name: str,
    value: ArrayLike,
    shape: tuple[int, ...],
    *,
    copy: bool = True,
    expected: str = "",
    error: type[Exception] = ValueError,
) -> np.ndarray:
    """Converts to a contiguous array of finite numbers of a given shape.

    Args:
        name: field for the message.
        value: numbers.
        shape: expected shape.
        copy: true if the result must not share memory with the value.
        expected: expectation in words, for every error; empty: the error names the shape, or the first entry that
            is not finite.
        error: class of the error.

    Raises:
        error: the value is not numeric, has another shape, or an entry is not finite.
    """
    try:
        array = np.array(value, dtype=float, order="C") if copy else np.asarray(value, dtype=float, order="C")
    except (TypeError, ValueError):
        words = f"{shape[0]} numbers" if len(shape) == 1 else f"numbers of shape {shape}"
        raise error(f"{name}: expected {expected or words}, got {one_line(value)}") from None
    if array.shape != shape:
        words = f"{expected}, got {one_line(value)}" if expected else f"shape {shape}, got {array.shape}"
        raise error(f"{name}: expected {words}")
    # a sum is finite if and only if all numbers are, unless it overflows; then the slow test decides
    if array.size > _FEW or not math.isfinite(sum(array.ravel().tolist())):
        finite = np.isfinite(array)
        if not finite.all():
            words = (
                f"{expected}, got {one_line(value)}"
                if expected
                else f"finite numbers, got {first_entry(~finite, array)}"
            )
            raise error(f"{name}: expected {words}")
    return array


def quaternion_length(
    name: str, quaternion: ArrayLike, *, unit: bool = False, got: str = "", error: type[Exception] = ValueError
) -> float:
    """Returns the length of a quaternion that is a rotation.

    Args:
        name: field for the message.
        quaternion: x, y, z, w, finite, shape (4,).
        unit: true if the length has to be 1, within 1 %; false if it has to be above 1e-9.
        got: given value in words; empty: the length of a unit quaternion, the numbers of another.
        error: class of the error.

    Raises:
        error: the quaternion has another length.
    """
    q = np.asarray(quaternion, dtype=float)
    length = math.sqrt(q.dot(q))
    if unit and not abs(length - 1.0) < _ROUNDED:
        raise error(f"{name}: expected a quaternion of length 1, got {got or f'length {length:g}'}")
    if not _ZERO < length < math.inf:
        raise error(f"{name}: expected a quaternion (x, y, z, w) that is not zero, got {got or q}")
    return length


def one_line(value: object) -> str:
    """Describes a value by its `repr` in one line; NumPy breaks those of arrays."""
    return " ".join(repr(value).split())


def first_entry(chosen: np.ndarray, values: np.ndarray) -> str:
    """Describes the first of the chosen entries by its value and its index."""
    index = np.argwhere(np.atleast_1d(chosen))[0]
    return f"{np.atleast_1d(values)[tuple(index)].item()!r} at [{', '.join(map(str, index))}]"
