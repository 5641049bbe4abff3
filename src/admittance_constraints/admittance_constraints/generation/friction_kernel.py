"""The equation of friction on the free directions in compiled form, see `friction`.

One friction element has three rows: the tool's velocity or its angular velocity. With two elements all six rows
stick together, or the elements are solved alternately until their forces converge (block Gauss-Seidel). This is slow
where a force turns the tool nearly as it moves it, as at a tool far from the centre of mass.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from haptic_friction.laws.projection import project_principal
from haptic_math.array_assignment import assign

#: eigenvalues of W below this fraction of the largest are directions that the constraints forbid
_FORBIDDEN = 1e-9
#: largest number of sweeps over two elements, each some microseconds, and sweeps between two extrapolations
SWEEPS, _EXTRAPOLATED = 2000, 8
#: change of the forces at which the sweeps end, and at which they count as converged where rounding keeps them from
#: ending, relative to the largest force
_CONVERGED, _ROUNDED = 1e-14, 1e-11
_TINY = 1e-300


@njit(cache=True, error_model="numpy")
def solve(
    codes: tuple[int | None, int | None], coefficients: tuple[np.ndarray, np.ndarray], acts: tuple[bool, bool],
    velocity: np.ndarray, mobility: np.ndarray, twist: np.ndarray, period: float, wrench: np.ndarray,
    largest: np.ndarray,
) -> tuple[bool, int, bool]:  # fmt: skip
    """Writes the friction of one step.

    Args:
        codes: codes of the laws of translation and rotation, `FrictionLaw.kernel_code`.
        coefficients: coefficients of the laws, shapes (1, .).
        acts: flags of the laws that are given.
        velocity: v* in the free coordinates, shape (k,).
        mobility: acceleration of the free coordinates per wrench on the tool, shape (k, 6).
        twist: twist of the tool per velocity of the free coordinates, shape (6, k).
        period: T [s].
        wrench: result, wrench of the friction on the tool [N; N m], shape (6,).
        largest: result, largest eigenvalue of T W of each law [m/(N s)], [rad/(N m s)], shape (2,); not written for
            two laws that stick together.

    Returns:
        Flag of sticking of all elements, number of directions in which the elements' rows can move, and flag of
        convergence of the sweeps.
    """
    forces = np.zeros(6)
    if not (acts[0] and acts[1]):
        law = 0 if acts[0] else 1
        code = codes[0] if acts[0] else codes[1]
        sticks, directions, largest[law] = _solve_element(
            code, coefficients[law], 3 * law, velocity, mobility, twist, period, forces
        )
        assign(wrench, -forces)
        return sticks, directions, True
    values, vectors = _principal(period * (twist @ mobility))
    y = vectors.T.copy() @ (twist @ velocity)
    sticks, together = _stick_together(values, vectors, y, coefficients[0][0, 0], coefficients[1][0, 0])
    if sticks:
        assign(wrench, -together)
        return True, len(values), True
    step, change = np.zeros(6), 0.0
    for sweep in range(SWEEPS):
        before, last = forces.copy(), step
        for law in range(2):
            _, _, largest[law] = _solve_element(
                codes[law], coefficients[law], 3 * law, velocity, mobility, twist, period, forces
            )
        step = forces - before
        change = np.abs(step).max()
        if change <= _CONVERGED * np.abs(forces).max():
            break
        ratio = np.sum(step * last) / max(np.sum(last * last), _TINY)
        if sweep % _EXTRAPOLATED == _EXTRAPOLATED - 1 and sweep < SWEEPS - 1 and 0.0 < ratio < 1.0:
            forces += ratio / (1.0 - ratio) * step  # the limit of steps that keep shrinking by this ratio
    assign(wrench, -forces)
    return False, len(values), change <= _ROUNDED * np.abs(forces).max()


@njit(cache=True, error_model="numpy")
def _solve_element(
    code: int | None, coefficients: np.ndarray, first: int, velocity: np.ndarray, mobility: np.ndarray,
    twist: np.ndarray, period: float, forces: np.ndarray,
) -> tuple[bool, int, float]:  # fmt: skip
    """Writes the force of the element whose rows begin at `first`, for a given force of the other element.

    Returns:
        Flag of sticking, number of directions in which the rows can move, and largest eigenvalue of the element's T W.
    """
    own = slice(first, first + 3)
    forces[own] = 0.0
    rows, columns = twist[own].copy(), mobility[:, own].copy()
    values, vectors = _principal(period * (rows @ columns))
    y = vectors.T.copy() @ (rows @ (velocity - period * (mobility @ forces)))
    n = len(values)
    z, padded = np.ones((1, 3)), np.zeros(3)  # a direction that cannot move has no force for any eigenvalue
    z[0, :n], padded[:n] = values, y
    force, sticks = project_principal(code, coefficients, 0, (padded[0], padded[1], padded[2]), z, 0, 0)
    for k in range(n):
        for i in range(3):
            forces[first + i] += vectors[i, k] * force[k]
    return sticks, n, values[-1] if n else 0.0


@njit(cache=True, error_model="numpy")
def _principal(Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Computes the nonzero eigenvalues of a symmetric, positive semidefinite matrix Z, and their eigenvectors."""
    values, vectors = np.linalg.eigh(0.5 * (Z + Z.T))
    first = 0
    while first < len(values) and values[first] <= _FORBIDDEN * max(values[-1], _TINY):
        first += 1
    return values[first:].copy(), np.ascontiguousarray(vectors[:, first:])


@njit(cache=True, error_model="numpy")
def _stick_together(
    values: np.ndarray, vectors: np.ndarray, y: np.ndarray, first_limit: float, second_limit: float
) -> tuple[bool, np.ndarray]:
    """Finds forces (6,) within two breakaway forces that leave no velocity, if there are any.

    Let a, b be the utilisations of the two laws. The least weighted norm lambda a^2 + (1 - lambda) b^2 among the forces
    that leave no velocity is a lower bound of max(a, b)^2 for every lambda. Either some lambda shows that both laws can
    stick, or some lambda shows that they cannot.
    """
    force = np.zeros(6)
    if not np.any(y):
        return True, force
    B = np.ascontiguousarray((vectors * values).T)
    first_square, second_square = max(first_limit, _TINY) ** 2, max(second_limit, _TINY) ** 2
    low, high = 0.0, 1.0
    D = np.empty(6)
    for _ in range(SWEEPS):
        weight = 0.5 * (low + high)
        D[:3], D[3:] = first_square / weight, second_square / (1.0 - weight)
        force = D * (B.T.copy() @ np.linalg.solve((B * D) @ B.T.copy(), y))
        a = np.sum(force[:3] ** 2) / first_square
        b = np.sum(force[3:] ** 2) / second_square
        if max(a, b) <= 1.0:
            return True, force
        if weight * a + (1.0 - weight) * b > 1.0:
            return False, force
        if a > b:
            low = weight
        else:
            high = weight
    return False, force
