"""Compiled inner loops of the friction models.

Laws of friction are isotropic here, Phi(x) = g(|x|) x/|x|, so that the implicit function Phi_Z of
eq. (52) only needs the scalar magnitude |Phi_Z(x)|. A law reaches the kernels as an integer code and
an array of coefficients, which keeps every kernel cacheable on disk.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

#: g(s) = F + D s, coefficients (F, D): Coulomb (53) with D = 0, Coulomb and viscous (55) otherwise
COULOMB_VISCOUS = 0


@njit(cache=True)
def projected_magnitude(code: int, coefficients: np.ndarray, speed: float, Z: float) -> tuple[float, bool]:
    """Magnitude of Phi_Z at a vector of length `speed`, and whether it lies in the static branch."""
    # every law of this module has g(0) = coefficients[0]
    if speed <= Z * coefficients[0]:
        return speed / Z, True
    return (coefficients[0] + coefficients[1] * speed) / (1.0 + Z * coefficients[1]), False  # (55)


@njit(cache=True)
def project(code: int, coefficients: np.ndarray, x: np.ndarray, Z: float, y: np.ndarray) -> bool:
    """Writes y = Phi_Z(x), eq. (52); returns True in the static branch."""
    square = 0.0
    for i in range(x.size):
        square += x[i] * x[i]
    speed = math.sqrt(square)
    magnitude, static = projected_magnitude(code, coefficients, speed, Z)
    if static:
        for i in range(x.size):
            y[i] = x[i] / Z
    else:
        scale = magnitude / speed
        for i in range(x.size):
            y[i] = scale * x[i]
    return static


@njit(cache=True)
def step_model_c(
    code: int,
    coefficients: np.ndarray,
    stiffness: float,
    damping: float,
    period: float,
    velocity: np.ndarray,
    displacement: np.ndarray,
    force: np.ndarray,
    sliding_velocity: np.ndarray,
) -> bool:
    """One step of model C, eq. (38), in place; returns True in the static branch.

    In the static branch the sliding velocity is exactly zero and the displacement grows by exactly
    T u: both follow from (38c) with f = v*/Z and are used in that form, so that rounding cannot make
    the element creep.
    """
    total = damping + period * stiffness
    Z = 1.0 / total
    pull = stiffness / total
    for i in range(velocity.size):
        sliding_velocity[i] = velocity[i] + pull * displacement[i]  # v*, (38a)
    static = project(code, coefficients, sliding_velocity, Z, force)  # (38b)
    for i in range(velocity.size):
        if static:
            displacement[i] += period * velocity[i]
            sliding_velocity[i] = 0.0
        else:
            displacement[i] = (damping * displacement[i] + period * force[i]) * Z  # (38c)
            sliding_velocity[i] -= Z * force[i]
    return static


@njit(cache=True)
def simulate_model_c(
    code: int,
    coefficients: np.ndarray,
    stiffness: float,
    damping: float,
    period: float,
    velocities: np.ndarray,
    displacement: np.ndarray,
    forces: np.ndarray,
    sliding_velocity: np.ndarray,
) -> tuple[bool, float]:
    """Model C over an array of velocities (n, dimension); returns the last branch and the energy (J)."""
    static = True
    energy = 0.0
    for k in range(velocities.shape[0]):
        static = step_model_c(
            code,
            coefficients,
            stiffness,
            damping,
            period,
            velocities[k],
            displacement,
            forces[k],
            sliding_velocity,
        )
        for i in range(displacement.size):
            energy += period * forces[k, i] * sliding_velocity[i]
    return static, energy
