"""Model C, the compliant massless impedance-type model (Kikuuwe et al., section III-C, eq. (38)).

A contact that obeys a friction law Phi, in series with a spring K and a damper B. Input: the velocity
u of the free end; output: the force f that the element exerts against it (the body that moves with u
feels -f). Implicit Euler with period T gives, with Z = 1/(B + T K),

    v* = u + K e / (B + T K)          (38a)
    f  = Phi_Z(v*)                    (38b)
    e <- (B e + T f) / (B + T K)      (38c)

where e is the elastic displacement. The contact sticks while v*/Z lies in the static set; then e <- e + T u
exactly, and a force below g(0) moves nothing for good: the model does not drift.
What it is not: rigid. At rest it yields by f/K, and with a real device the product of K, B and the
loop's delay bounds the mass that it can hold without vibrating (`haptic_friction.design`).
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from haptic_friction.laws import FrictionLaw, checked
from haptic_friction.model import ImpedanceModel, incoming_velocity
from haptic_friction.projection import project
from haptic_friction.vectors import Vector, axpy, dot, load, scaled, store


@njit(cache=True, nogil=True, error_model="numpy")
def run_model_c(
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
    """Kernel of model C, see `haptic_friction.model`; constants T, coupling T/M and 0, B, Z, K Z.

    In the static branch the sliding velocity is exactly zero and the displacement grows by exactly T u:
    both follow from (38c) with f = v*/Z and are used in that form, so that rounding cannot make the
    element creep.
    """
    for m in range(inputs.shape[0]):
        c, p = min(m, coefficients.shape[0] - 1), min(m, constants.shape[0] - 1)
        T, T_over_M, B, Z, pull = constants[p, 0], constants[p, 1], constants[p, 3], constants[p, 4], constants[p, 5]
        u, f, e = load(states, m, 0, zero), load(states, m, 1, zero), load(states, m, 2, zero)
        v = load(states, m, 3, zero)
        static, energy = sticking[m], 0.0
        for k in range(inputs.shape[1]):
            u = incoming_velocity(inputs, m, k, T_over_M, u, f)
            v_star = axpy(pull, e, u)  # (38a)
            f, static = project(code, coefficients, c, v_star, Z)  # (38b)
            if static:
                e = axpy(T, u, e)
                v = zero
            else:
                e = scaled(Z, axpy(B, e, scaled(T, f)))  # (38c)
                v = axpy(-Z, f, v_star)
                energy += T * dot(f, v)
            store(outputs, m, k, f if T_over_M == 0.0 else u)
        store(states, m, 0, u)
        store(states, m, 1, f)
        store(states, m, 2, e)
        store(states, m, 3, v)
        sticking[m] = static
        energies[m] += energy


class ModelC(ImpedanceModel):
    """Friction element with compliance, velocity in, force out, eq. (38).

    Args:
        law: friction law Phi.
        stiffness: K [N/m], above 0.
        damping: B [N s/m], not negative.
        period: T [s], above 0.
        dimension: number of components of velocity, displacement and force.

    Raises:
        ValueError: a parameter is out of its range, or Phi_Z does not exist for Z = 1/(B + T K) (15).
    """

    rows = ("velocity", "force", "displacement", "sliding_velocity")
    kernel = staticmethod(run_model_c)

    def __init__(
        self, law: FrictionLaw, *, stiffness: float, damping: float, period: float, dimension: int = 1
    ) -> None:
        self.stiffness = checked("stiffness", stiffness, "N/m", positive=True)
        self.damping = checked("damping", damping, "N s/m")
        self.Z = 1.0 / (self.damping + checked("period", period, "s", positive=True) * self.stiffness)
        law.check_existence(self.Z)
        super().__init__(law, period, dimension, [self.damping, self.Z, self.stiffness * self.Z])

    def reset(self, *, displacement: ArrayLike | None = None) -> None:
        """Starts again from an elastic displacement e [m], shape (dimension,); zero if not given."""
        self._restart(displacement=displacement)
