"""Model A, the rigid admittance-type model (Kikuuwe et al., section III-A, eq. (26)).

A mass M that slides on a fixed surface with friction law Phi. Input: the force h on the mass; output: its
velocity v. Implicit Euler of (10), (11) with period T gives, with Z = T/M,

    v* = v + T h / M       (26a)
    f  = Phi_Z(v*)         (26b)
    v <- v* - T f / M      (26c), exactly zero in the static branch

What it does: it stops without chatter, holds against any force below g(0) without drift, and never adds
energy, whatever T is. What it does not: it has no presliding displacement, and one contact per mass.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from haptic_friction.laws import FrictionLaw, checked
from haptic_friction.model import AdmittanceModel, incoming_force
from haptic_friction.projection import project
from haptic_friction.vectors import Vector, axpy, dot, load, store


@njit(cache=True, nogil=True, error_model="numpy")
def run_model_a(
    code: int,
    coefficients: np.ndarray,
    constants: np.ndarray,
    inputs: np.ndarray,
    states: np.ndarray,
    outputs: np.ndarray,
    sticking: np.ndarray,
    energies: np.ndarray,
    zero: Vector,
) -> None:
    """Kernel of model A, see `haptic_friction.model`; constants T, coupling K and B, Z."""
    for m in range(inputs.shape[0]):
        c, p = min(m, coefficients.shape[0] - 1), min(m, constants.shape[0] - 1)
        T, K, B, Z = constants[p, 0], constants[p, 1], constants[p, 2], constants[p, 3]
        free = K == 0.0 and B == 0.0
        v, h, f = load(states, m, 0, zero), load(states, m, 1, zero), load(states, m, 2, zero)
        stretch = load(states, m, 3, zero)
        static, energy = sticking[m], 0.0
        for k in range(inputs.shape[1]):
            h, stretch = incoming_force(inputs, m, k, T, K, B, v, stretch)
            v_star = axpy(Z, h, v)  # (26a)
            f, static = project(code, coefficients, c, v_star, Z)  # (26b)
            v = zero if static else axpy(-Z, f, v_star)  # (26c)
            energy += T * dot(f, v)
            store(outputs, m, k, v if free else h)
        store(states, m, 0, v)
        store(states, m, 1, h)
        store(states, m, 2, f)
        store(states, m, 3, stretch)
        sticking[m] = static
        energies[m] += energy


class ModelA(AdmittanceModel):
    """Rigid friction element: force in, velocity out, eq. (26).

    Args:
        law: friction law Phi.
        mass: M [kg], above 0.
        period: T [s], above 0.
        dimension: number of components of force and velocity.

    Raises:
        ValueError: a parameter is out of its range, or Phi_Z does not exist for Z = T/M (15).
    """

    rows = ("velocity", "force", "friction_force", "stretch")
    kernel = staticmethod(run_model_a)

    def __init__(self, law: FrictionLaw, *, mass: float, period: float, dimension: int = 1) -> None:
        self.mass = checked("mass", mass, "kg", positive=True)
        self.Z = checked("period", period, "s", positive=True) / self.mass
        law.check_existence(self.Z)
        super().__init__(law, period, dimension, [self.Z])

    def reset(self, *, velocity: ArrayLike | None = None) -> None:
        """Starts again from a velocity v [m/s], shape (dimension,); zero if not given."""
        self._restart(velocity=velocity)
