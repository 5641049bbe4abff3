"""The equation of `FreeDirectionFriction` in NumPy, as the reference of its compiled form."""

from __future__ import annotations

import numpy as np

from haptic_friction.laws.law import FrictionLaw

Element = tuple[slice, FrictionLaw]


def principal(Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues and eigenvectors of Z in the directions that can move."""
    values, vectors = np.linalg.eigh(0.5 * (Z + Z.T))
    moving = values > 1e-9 * values[-1]
    return values[moving], vectors[:, moving]


def friction_force(
    elements: list[Element], velocity: np.ndarray, mobility: np.ndarray, twist: np.ndarray, period: float
) -> tuple[np.ndarray, bool]:
    """Force and moment (6,) of the elements, and whether all of them stick.

    Args:
        elements: rows of the tool's twist, and the law on them.
        velocity: v* in the free coordinates (k,).
        mobility: (k, 6).
        twist: (6, k).
        period: T, s.
    """
    forces = np.zeros(6)
    if len(elements) == 1:
        sticks = slide(*elements[0], forces, velocity, mobility, twist, period)
        return forces, sticks
    values, vectors = principal(period * (twist @ mobility))
    found = sticking_forces(elements, values, vectors, vectors.T @ (twist @ velocity))
    if found is not None:
        return found, True
    before = np.full(6, np.inf)
    while np.abs(forces - before).max() > 1e-14 * np.abs(forces).max():
        before = forces.copy()
        for element in elements:
            slide(*element, forces, velocity, mobility, twist, period)
    return forces, False


def slide(
    rows: slice, law: FrictionLaw, forces: np.ndarray, velocity: np.ndarray, mobility: np.ndarray, twist: np.ndarray,
    period: float,
) -> bool:  # fmt: skip
    """Writes the force of an element under that of the others; whether it sticks."""
    forces[rows] = 0.0
    values, vectors = principal(period * (twist[rows] @ mobility[:, rows]))
    y = vectors.T @ (twist[rows] @ (velocity - period * (mobility @ forces)))
    held = y / values
    sticks = bool(np.linalg.norm(held) <= law.breakaway_force)
    forces[rows] = vectors @ (held if sticks else law.projected(y, np.diag(values)))
    return sticks


def sticking_forces(
    elements: list[Element], values: np.ndarray, vectors: np.ndarray, y: np.ndarray
) -> np.ndarray | None:
    """Forces within both breakaway forces that leave no velocity, by a search over the weight of the two."""
    limits = np.repeat([law.breakaway_force for _, law in elements], 3)
    B = (vectors * values).T
    for weight in np.linspace(0.0, 1.0, 401)[1:-1]:
        D = limits**2 / np.repeat([weight, 1.0 - weight], 3)
        force: np.ndarray = D * (B.T @ np.linalg.solve((B * D) @ B.T, y))
        if np.linalg.norm((force / limits).reshape(2, 3), axis=1).max() <= 1.0:
            return force
    return None
