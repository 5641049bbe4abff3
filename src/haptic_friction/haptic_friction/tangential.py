"""Directions across several surfaces at once: an orthonormal basis of their normals, compiled."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from haptic_friction.errors import FrictionInputError
from haptic_math.array_assignment import assign

#: a unit normal with a smaller part outside the span of the others adds no direction [-]
DEPENDENT = 1e-6
#: relative difference below which two squares are equal; the first of them is taken
_TIE = 1e-12


@njit(cache=True, error_model="numpy")
def write_normal_basis(normals: np.ndarray, basis: np.ndarray) -> int:
    """Writes an orthonormal basis of the space that unit normals (m, 3) span to the rows of `basis` (3, 3).

    This is a QR factorisation of the normals with pivoting: the next normal is the one with the largest part outside
    the space of those before, so the space does not depend on their order. A single normal is copied.

    Returns:
        Dimension of the space, 0 to 3; a normal that depends on others does not add to it.
    """
    rest, rank = normals.copy(), 0
    while rank < 3:
        best, largest = -1, DEPENDENT * DEPENDENT
        for i in range(rest.shape[0]):
            square = rest[i, 0] * rest[i, 0] + rest[i, 1] * rest[i, 1] + rest[i, 2] * rest[i, 2]
            if square > largest * (1.0 + _TIE):
                best, largest = i, square
        if best < 0:
            break
        direction = basis[rank]
        assign(direction, rest[best])
        if rank > 0:
            for j in range(rank):  # a second time, because rounding is large in the rest of a nearly dependent normal
                _remove(basis[j], direction)
            direction /= math.sqrt(direction[0] ** 2 + direction[1] ** 2 + direction[2] ** 2)
        rank += 1
        for i in range(rest.shape[0]):
            _remove(direction, rest[i])
    return rank


@njit(forceinline=True, error_model="numpy")
def _remove(direction: np.ndarray, x: np.ndarray) -> None:
    """Removes the part of a vector (3,) along a unit direction."""
    along = direction[0] * x[0] + direction[1] * x[1] + direction[2] * x[2]
    for k in range(3):
        x[k] -= along * direction[k]


@njit(cache=True, error_model="numpy")
def remove_normal_part(basis: np.ndarray, rank: int, x: np.ndarray) -> None:
    """Removes the part of a vector (3,) in the space of the first `rank` rows of a basis."""
    for k in range(rank):
        _remove(basis[k], x)


@njit(cache=True, error_model="numpy")
def write_pressing_basis(normals: np.ndarray, forces: np.ndarray, basis: np.ndarray) -> int:
    """Writes the basis of `write_normal_basis` for the normals (m, 3) of surfaces with a force (m,) above 0 [N]."""
    pressing, count = np.empty_like(normals), 0
    for i in range(len(forces)):
        if forces[i] > 0.0:
            assign(pressing[count], normals[i])
            count += 1
    return write_normal_basis(pressing[:count], basis)


def normal_basis(normals: np.ndarray) -> np.ndarray:
    """Returns an orthonormal basis (r, 3), r <= 3, of the span of unit normals (m, 3), see `write_normal_basis`."""
    return pressing_basis(normals, np.ones(len(normals)))


def pressing_basis(normals: np.ndarray, forces: np.ndarray) -> np.ndarray:
    """Returns an orthonormal basis (r, 3), r <= 3, of the span of the unit normals (m, 3) with a force (m,) above 0.

    Raises:
        FrictionInputError: a shape is wrong; the compiled loop does not check it.
    """
    basis = np.zeros((3, 3))
    rows, numbers = np.ascontiguousarray(normals, dtype=float), np.ascontiguousarray(forces, dtype=float)
    if rows.shape != (len(rows), 3) or numbers.shape != (len(rows),):
        got = f"{rows.shape} and {numbers.shape}"
        raise FrictionInputError("wrong length", f"normals, forces: expected shapes (m, 3) and (m,), got {got}")
    return basis[: write_pressing_basis(rows, numbers, basis)]
