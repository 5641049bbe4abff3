"""Response of a model to a recorded velocity, by the steps of the model or by its differential equation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np


class Simulated(Protocol):
    """A model that gives forces (n, dimension) for velocities (n, dimension)."""

    def simulate(self, velocities: np.ndarray, /) -> np.ndarray:
        """Advances over an array of velocities."""
        ...


def check_substeps(substeps: int) -> None:
    """Raises ValueError for a number of substeps that is not whole or below 1."""
    if substeps != int(substeps) or substeps < 1:
        raise ValueError(f"substeps: expected a whole number from 1, got {substeps!r}")


def response_to(
    velocity: np.ndarray, period: float, substeps: int
) -> Callable[[Callable[[float], Simulated]], np.ndarray]:
    """Makes a function that computes the force (n, dimension) of a model under a recorded velocity.

    With one substep the force is that of the model stepped with the period of the record. With more it is the solution
    of the model's differential equation for a velocity that is linear between samples. Implicit Euler with the substep
    h and with h/2 has the errors c h and c h/2, so 2 f(h/2) - f(h) has a second-order error (Richardson extrapolation).

    Args:
        velocity: recorded velocity [m/s], shape (n, dimension).
        period: T [s].
        substeps: steps of the model per sample.

    Returns:
        Function of a callable that makes the model for a period [s].
    """
    divisions = [1] if substeps == 1 else [substeps, 2 * substeps]
    inputs = [(k, _interpolated(velocity, k)) for k in divisions]

    def response(make: Callable[[float], Simulated]) -> np.ndarray:
        forces = [make(period / k).simulate(fine)[::k] for k, fine in inputs]
        return forces[0] if len(forces) == 1 else 2.0 * forces[1] - forces[0]

    return response


def _interpolated(velocity: np.ndarray, k: int) -> np.ndarray:
    """Interpolates the velocity linearly to k times the rate; the first and the last sample stay."""
    if k == 1:
        return velocity
    sample, fine = np.arange(len(velocity)), np.arange((len(velocity) - 1) * k + 1) / k
    return np.column_stack([np.interp(fine, sample, component) for component in velocity.T])
