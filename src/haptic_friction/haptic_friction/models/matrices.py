"""Matrices as stiffness, damping and mass: their check, and the contact of all models with a matrix Z, compiled.

A step with matrices is the step with numbers, with products of matrices for K e, B e', M v. The contact is
f = Phi(v* - Z f) with the symmetric, positive definite Z of the model, shape (n, n). From `CONTACT` on, a row of
constants has n numbers z, the axes R (n, n) of `FrictionLaw.principal_axes`, Z (n, n), and the model's own matrices.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from haptic_friction.laws import FrictionLaw, checked, checked_law, symmetric_matrix
from haptic_friction.laws.projection import project_principal
from haptic_friction.vectors import Vector, difference, transformed, zeros

#: index of the first constant of a model, after the period and the coupling
CONTACT = 3


def coefficient(
    name: str, value: ArrayLike, unit: str, dimension: int, *, positive: bool = False
) -> float | np.ndarray:
    """Returns a stiffness, damping or mass as a number or a symmetric matrix (n, n); a (1, 1) matrix as a number.

    Raises:
        ValueError: the value is neither, or not positive (semi)definite; the message names it.
    """
    if np.ndim(value) == 0:
        return checked(name, value, unit, positive=positive)  # type: ignore[arg-type]
    matrix = symmetric_matrix(name, value, unit, int(dimension), positive=positive)
    return float(matrix[0, 0]) if len(matrix) == 1 else matrix


def as_matrix(value: float | np.ndarray, dimension: int) -> np.ndarray:
    """Returns the matrix of a coefficient; a I for a number a."""
    return value if isinstance(value, np.ndarray) else value * np.eye(int(dimension))


def symmetric(A: np.ndarray) -> np.ndarray:
    """Returns the symmetric part of a matrix, which removes the asymmetric rounding of an inverse."""
    return np.asarray(0.5 * (A + A.T))


def contact_constants(law: FrictionLaw, Z: np.ndarray, *others: np.ndarray) -> np.ndarray:
    """Concatenates the constants of a model with the matrix Z: z, R, Z and the model's own matrices.

    Raises:
        ValueError: Phi_Z does not exist for the law and Z, see `FrictionLaw.check_existence`.
    """
    checked_law(law).check_dimension(len(Z))
    law.check_existence(Z)
    return np.concatenate([part.ravel() for part in (*law.principal_axes(Z), Z, *others)])


@njit(inline="always", error_model="numpy")
def multiplied(constants: np.ndarray, row: int, number: int, x: Vector) -> Vector:
    """Returns A x, where A is the model's own matrix with the given number, counted from 0."""
    n = len(x)
    return transformed(constants, row, CONTACT + n + (2 + number) * n * n, x, False)


@njit(inline="always", error_model="numpy")
def solve_contact(code, coefficients, element, constants, row, v_star):  # type: ignore[no-untyped-def]
    """Solves the contact: returns f, its velocity v* - Z f, exactly zero in the static branch, and a flag for that."""
    n = len(v_star)
    principal = transformed(constants, row, CONTACT + n, v_star, True)
    force, static = project_principal(code, coefficients, element, principal, constants, row, CONTACT)
    f = transformed(constants, row, CONTACT + n, force, False)
    if static:
        return f, zeros(f), static
    return f, difference(v_star, transformed(constants, row, CONTACT + n + n * n, f, False)), static
