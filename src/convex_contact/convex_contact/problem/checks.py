"""Checks of arguments: each message names the field, the expected value and the given one."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from haptic_math.quantities import finite_array as array
from haptic_math.quantities import finite_number as number
from haptic_math.quantities import first_entry, float_array, quaternion_length

__all__ = [
    "array",
    "field_names",
    "float_array",
    "number",
    "per_contact",
    "positive",
    "positive_definite",
    "quaternion_length",
]

#: largest difference of A and its transpose, relative to the diagonal
_SYMMETRIC = 1e-9


def per_contact(
    name: str, value: ArrayLike, count: int, *, minimum: float | None = None, above: float | None = None
) -> np.ndarray:
    """Returns one number per contact, shape (count,); a single number is repeated for all contacts."""
    result = array(name, np.full(count, value) if np.ndim(value) == 0 else value, (count,))
    if minimum is not None and (result < minimum).any():
        raise ValueError(f"{name}: expected {minimum:g} or more, got {first_entry(result < minimum, result)}")
    if above is not None and (result <= above).any():
        raise ValueError(f"{name}: expected more than {above:g}, got {first_entry(result <= above, result)}")
    return result


def is_whole(value: Any) -> bool:
    """Returns whether a value is a whole number of Python or NumPy, and no truth value."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def positive(name: str, value: Any, *, expected: str = "a number above 0, or inf") -> float:
    """Returns a number above 0, which may be infinite.

    Raises:
        ValueError: the value is another one; the message has `name` and what is expected.
    """
    return (
        math.inf
        if isinstance(value, float) and value == math.inf
        else number(name, value, above=0.0, expected=expected)
    )


def field_names(kind: Any, values: Collection[str]) -> None:
    """Checks that a dataclass has a field of each of these names; raises a ValueError otherwise."""
    known = [field.name for field in fields(kind)]
    for name in values:
        if name not in known:
            raise ValueError(f"{name}: expected one of {', '.join(known)}")


def positive_definite(name: str, value: ArrayLike, shape: tuple[int, ...]) -> np.ndarray:
    """Returns symmetric positive definite matrices (..., n, n), made exactly symmetric.

    Raises:
        ValueError: a matrix is not symmetric or not positive definite; the message has `name`.
    """
    matrix = array(name, value, shape)
    transposed = np.swapaxes(matrix, -1, -2)
    diagonal = np.diagonal(matrix, axis1=-2, axis2=-1)
    if (diagonal <= 0.0).any():
        raise ValueError(f"{name}: expected a positive definite matrix, got the diagonal {diagonal}")
    scale = np.sqrt(diagonal[..., :, None] * diagonal[..., None, :])
    asymmetry = np.abs(matrix - transposed) / scale
    if (asymmetry > _SYMMETRIC).any():
        raise ValueError(
            f"{name}: expected a symmetric matrix, got entries that differ by {asymmetry.max():.3g} of the diagonal "
            f"from their mirror images"
        )
    matrix = 0.5 * (matrix + transposed)
    try:
        np.linalg.cholesky(matrix / scale)
    except np.linalg.LinAlgError:
        smallest = float(np.linalg.eigvalsh(matrix / scale).min())
        raise ValueError(
            f"{name}: expected a positive definite matrix, got one whose smallest eigenvalue, scaled to a diagonal of "
            f"ones, is {smallest:.3g}"
        ) from None
    return matrix
