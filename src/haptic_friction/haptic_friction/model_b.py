"""Model B, the inertial impedance-type model (Kikuuwe et al., section III-B, eq. (36)).

A mass M that slides on a fixed surface with friction law Phi and is pulled through a spring K and a
damper B. Input: the velocity u of the free end; output: the force h of the spring and damper. Implicit
Euler of (28), (10), (11) with period T gives, with C = M + T B + T^2 K and Z = T/C,

    v* = u + T K e_1 / C - M/C (u - u_1 + (e_1 - e_2)/T)     (36a)
    f  = Phi_Z(v*)                                           (36b)
    e  = e_1 + T u - T (v* - T f/C)                          (36c)
    h  = K e + B (e - e_1)/T                                 (36d)

where index 1, 2 is one, two steps ago. While the contact sticks, e = e_1 + T u exactly (37a). It stays
bounded for any K: above about 1e15 N/m the rounding of e itself limits the force.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from haptic_friction.laws import FrictionLaw, checked
from haptic_friction.model import ImpedanceModel, incoming_velocity
from haptic_friction.projection import project
from haptic_friction.vectors import Vector, axpy, difference, dot, load, scaled, store


@njit(cache=True, nogil=True, error_model="numpy")
def run_model_b(
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
    """Kernel of model B, see `haptic_friction.model`; constants T, coupling T/M and 0, M, K, B, Z."""
    for m in range(inputs.shape[0]):
        c, p = min(m, coefficients.shape[0] - 1), min(m, constants.shape[0] - 1)
        T, T_over_M = constants[p, 0], constants[p, 1]
        M, K, B, Z = constants[p, 3], constants[p, 4], constants[p, 5], constants[p, 6]
        inertia, pull = M * Z / T, K * Z  # M/C, T K/C
        u, h, f = load(states, m, 0, zero), load(states, m, 1, zero), load(states, m, 2, zero)
        e, e_1, v = load(states, m, 3, zero), load(states, m, 4, zero), load(states, m, 5, zero)
        static, energy = sticking[m], 0.0
        for k in range(inputs.shape[1]):
            u_1, e_2, e_1 = u, e_1, e
            u = incoming_velocity(inputs, m, k, T_over_M, u_1, h)
            gain = axpy(1.0 / T, difference(e_1, e_2), difference(u, u_1))
            v_star = axpy(-inertia, gain, axpy(pull, e_1, u))  # (36a)
            f, static = project(code, coefficients, c, v_star, Z)  # (36b)
            v = zero if static else axpy(-Z, f, v_star)
            rate = difference(u, v)
            e = axpy(T, rate, e_1)  # (36c)
            h = axpy(B, rate, scaled(K, e))  # (36d)
            energy += T * dot(f, v)
            store(outputs, m, k, h if T_over_M == 0.0 else u)
        store(states, m, 0, u)
        store(states, m, 1, h)
        store(states, m, 2, f)
        store(states, m, 3, e)
        store(states, m, 4, e_1)
        store(states, m, 5, v)
        sticking[m] = static
        energies[m] += energy


class ModelB(ImpedanceModel):
    """Friction element with mass and compliance, velocity in, force out, eq. (36).

    Args:
        law: friction law Phi.
        mass: M [kg], not negative; 0 gives model C.
        stiffness: K [N/m], above 0.
        damping: B [N s/m], not negative.
        period: T [s], above 0.
        dimension: number of components of velocity, displacement and force.

    Raises:
        ValueError: a parameter is out of its range, or Phi_Z does not exist for Z = T/(M + T B + T^2 K) (15).
    """

    rows = ("velocity", "force", "friction_force", "displacement", "previous_displacement", "sliding_velocity")
    kernel = staticmethod(run_model_b)

    def __init__(
        self, law: FrictionLaw, *, mass: float, stiffness: float, damping: float, period: float, dimension: int = 1
    ) -> None:
        self.mass = checked("mass", mass, "kg")
        self.stiffness = checked("stiffness", stiffness, "N/m", positive=True)
        self.damping = checked("damping", damping, "N s/m")
        T = checked("period", period, "s", positive=True)
        self.Z = T / (self.mass + T * self.damping + T * T * self.stiffness)
        law.check_existence(self.Z)
        super().__init__(law, period, dimension, [self.mass, self.stiffness, self.damping, self.Z])

    def reset(
        self,
        *,
        velocity: ArrayLike | None = None,
        displacement: ArrayLike | None = None,
        previous_displacement: ArrayLike | None = None,
    ) -> None:
        """Starts again; shape (dimension,) each, zero if not given.

        Args:
            velocity: u of the step before [m/s].
            displacement: e of the step before [m].
            previous_displacement: e of two steps before [m].
        """
        self._restart(velocity=velocity, displacement=displacement, previous_displacement=previous_displacement)
