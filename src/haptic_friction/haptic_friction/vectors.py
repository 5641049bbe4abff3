"""Small vectors for compiled loops: tuples of floats, which stay in registers.

Numba turns a tuple of known length into scalars, so a loop written with these functions runs as fast as
one written out by hand for its dimension, and compiles once per dimension. `zero` is the tuple
(0.0, ..., 0.0) that gives a kernel its dimension.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numba.cpython.unsafe.tuple import tuple_setitem

Vector = tuple[float, ...]

#: a sum of squares down to here has all its digits
_SMALLEST_SQUARE = 1e-290


@njit(forceinline=True, error_model="numpy")
def zeros(x: Vector) -> Vector:
    """Returns the vector (0.0, ..., 0.0) of the dimension of x."""
    for i in range(len(x)):
        x = tuple_setitem(x, i, 0.0)
    return x


@njit(forceinline=True, error_model="numpy")
def is_zero(x: Vector) -> bool:
    """Returns whether all components are zero."""
    zero = True
    for i in range(len(x)):
        zero = zero and x[i] == 0.0
    return zero


@njit(forceinline=True, error_model="numpy")
def load(array: np.ndarray, element: int, row: int, zero: Vector) -> Vector:
    """Reads array[element, row, :] as a vector."""
    x = zero
    for i in range(len(zero)):
        x = tuple_setitem(x, i, array[element, row, i])
    return x


@njit(forceinline=True, error_model="numpy")
def store(array: np.ndarray, element: int, row: int, x: Vector) -> None:
    """Writes a vector to array[element, row, :]."""
    for i in range(len(x)):
        array[element, row, i] = x[i]


@njit(forceinline=True, error_model="numpy")
def scaled(a: float, x: Vector) -> Vector:
    """Returns a x."""
    y = x
    for i in range(len(x)):
        y = tuple_setitem(y, i, a * x[i])
    return y


@njit(forceinline=True, error_model="numpy")
def divided(x: Vector, a: float) -> Vector:
    """Returns x / a with one division per component, which rounds differently from scaled(1/a, x)."""
    y = x
    for i in range(len(x)):
        y = tuple_setitem(y, i, x[i] / a)
    return y


@njit(forceinline=True, error_model="numpy")
def axpy(a: float, x: Vector, y: Vector) -> Vector:
    """Returns a x + y."""
    z = y
    for i in range(len(x)):
        z = tuple_setitem(z, i, a * x[i] + y[i])
    return z


@njit(forceinline=True, error_model="numpy")
def difference(x: Vector, y: Vector) -> Vector:
    """Returns x - y."""
    return axpy(-1.0, y, x)


@njit(forceinline=True, error_model="numpy")
def dot(x: Vector, y: Vector) -> float:
    """Returns the dot product of x and y."""
    total = 0.0
    for i in range(len(x)):
        total += x[i] * y[i]
    return total


@njit(forceinline=True, error_model="numpy")
def length(x: Vector) -> float:
    """Returns |x|, also where the square underflows."""
    if len(x) == 1:
        return abs(x[0])
    square = dot(x, x)
    if square > _SMALLEST_SQUARE:
        return math.sqrt(square)
    largest = 0.0
    for i in range(len(x)):
        largest = max(largest, abs(x[i]))
    if largest == 0.0:
        return 0.0
    part = divided(x, largest)
    return largest * math.sqrt(dot(part, part))


@njit(forceinline=True, error_model="numpy")
def along(magnitude: float, x: Vector, x_length: float) -> Vector:
    """Returns the vector of length `magnitude` in the direction of x; `x_length` is |x|."""
    if len(x) == 1:
        return tuple_setitem(x, 0, math.copysign(magnitude, x[0]))
    return scaled(magnitude / x_length, x)


@njit(forceinline=True, error_model="numpy")
def transformed(matrix: np.ndarray, element: int, start: int, x: Vector, transpose: bool) -> Vector:
    """Returns A x or A^T x, with A (n, n) stored row by row in matrix[element, start:]."""
    n = len(x)
    y = x
    for i in range(n):
        total = 0.0
        for j in range(n):
            index = start + (j * n + i if transpose else i * n + j)
            total += matrix[element, index] * x[j]
        y = tuple_setitem(y, i, total)
    return y
