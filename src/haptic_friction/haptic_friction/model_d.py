"""Model D, the compliant admittance-type model (Kikuuwe et al., section III-D, eq. (45)).

A mass M on a contact with friction law Phi that yields by a spring K and a damper B. Input: the force h
on the mass; output: its velocity u. Implicit Euler of (39) to (41) with period T gives, with
A = T/M + 1/(B + T K), eq. (44),

    v* = u + T h / M + K e / (B + T K)     (45a)
    f  = Phi_A(v*)                         (45b)
    e <- (B e + T f) / (B + T K)           (45c)
    u <- u + T (h - f) / M                 (45d)

It becomes model A as K grows and stays stable for any K. While the contact sticks, e grows by exactly
T u: (45c) with f = v*/A is that, and is used in that form.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from haptic_friction.laws import FrictionLaw, checked
from haptic_friction.model import AdmittanceModel, incoming_force
from haptic_friction.projection import project
from haptic_friction.vectors import Vector, axpy, difference, dot, load, scaled, store


@njit(cache=True, nogil=True, error_model="numpy")
def run_model_d(
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
    """Kernel of model D, see `haptic_friction.model`; constants T, coupling, T/M, B, Zc = 1/(B + T K), K Zc, A."""
    for m in range(inputs.shape[0]):
        c, p = min(m, coefficients.shape[0] - 1), min(m, constants.shape[0] - 1)
        T, K, B = constants[p, 0], constants[p, 1], constants[p, 2]
        gain, damping, Zc, pull, A = constants[p, 3], constants[p, 4], constants[p, 5], constants[p, 6], constants[p, 7]
        free = K == 0.0 and B == 0.0
        u, h, f = load(states, m, 0, zero), load(states, m, 1, zero), load(states, m, 2, zero)
        e, v, stretch = load(states, m, 3, zero), load(states, m, 4, zero), load(states, m, 5, zero)
        static, energy = sticking[m], 0.0
        for k in range(inputs.shape[1]):
            h, stretch = incoming_force(inputs, m, k, T, K, B, u, stretch)
            v_star = axpy(pull, e, axpy(gain, h, u))  # (45a)
            f, static = project(code, coefficients, c, v_star, A)  # (45b)
            u = axpy(gain, difference(h, f), u)  # (45d)
            if static:
                e = axpy(T, u, e)
                v = zero
            else:
                e = scaled(Zc, axpy(damping, e, scaled(T, f)))  # (45c)
                v = axpy(-A, f, v_star)
                energy += T * dot(f, v)
            store(outputs, m, k, u if free else h)
        store(states, m, 0, u)
        store(states, m, 1, h)
        store(states, m, 2, f)
        store(states, m, 3, e)
        store(states, m, 4, v)
        store(states, m, 5, stretch)
        sticking[m] = static
        energies[m] += energy


class ModelD(AdmittanceModel):
    """Friction element with mass and compliance, force in, velocity out, eq. (45).

    Args:
        law: friction law Phi.
        mass: M [kg], above 0.
        stiffness: K [N/m], above 0.
        damping: B [N s/m], not negative.
        period: T [s], above 0.
        dimension: number of components of force, displacement and velocity.

    Raises:
        ValueError: a parameter is out of its range, or Phi_Z does not exist for Z = A (15), (44).
    """

    rows = ("velocity", "force", "friction_force", "displacement", "sliding_velocity", "stretch")
    kernel = staticmethod(run_model_d)

    def __init__(
        self, law: FrictionLaw, *, mass: float, stiffness: float, damping: float, period: float, dimension: int = 1
    ) -> None:
        self.mass = checked("mass", mass, "kg", positive=True)
        self.stiffness = checked("stiffness", stiffness, "N/m", positive=True)
        self.damping = checked("damping", damping, "N s/m")
        T = checked("period", period, "s", positive=True)
        contact = 1.0 / (self.damping + T * self.stiffness)
        self.Z = T / self.mass + contact
        law.check_existence(self.Z)
        constants = [T / self.mass, self.damping, contact, self.stiffness * contact, self.Z]
        super().__init__(law, period, dimension, constants)

    def reset(self, *, velocity: ArrayLike | None = None, displacement: ArrayLike | None = None) -> None:
        """Starts again from u [m/s] and e [m], shape (dimension,) each; zero if not given."""
        self._restart(velocity=velocity, displacement=displacement)
