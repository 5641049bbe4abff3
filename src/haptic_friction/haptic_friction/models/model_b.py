"""Model B, the inertial impedance-type model (Kikuuwe et al., section III-B, eq. (36)).

A mass M slides on a fixed surface with friction law Phi and is pulled through a spring K and a
damper B. Input: the velocity u of the free end; output: the force h of the spring and damper. Implicit
Euler of (28), (10), (11) with period T gives, with C = M + T B + T^2 K and Z = T/C,

    v* = u + T K e_1 / C - M/C (u - u_1 + (e_1 - e_2)/T)     (36a)
    f  = Phi_Z(v*)                                           (36b)
    e  = e_1 + T u - T (v* - T f/C)                          (36c)
    h  = K e + B (e - e_1)/T                                 (36d)

where index 1, 2 is one, two steps ago. While the contact sticks, e = e_1 + T u exactly (37a). The force stays
bounded for any K: above about 1e15 N/m it is limited by the rounding of e.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from haptic_friction.laws import FrictionLaw, checked, checked_law
from haptic_friction.laws.projection import project
from haptic_friction.models.kernel import run, take_velocity
from haptic_friction.models.matrices import (
    as_matrix,
    coefficient,
    contact_constants,
    multiplied,
    solve_contact,
    symmetric,
)
from haptic_friction.models.model import ImpedanceModel
from haptic_friction.vectors import Vector, axpy, difference, dot, scaled, zeros


class State(NamedTuple):
    """State of model B: u, h, f, e, e of the step before, and the velocity at the contact."""

    velocity: Vector
    force: Vector
    friction_force: Vector
    displacement: Vector
    previous_displacement: Vector
    sliding_velocity: Vector


@njit(inline="always", error_model="numpy")
def step_model_b(code, coefficients, element, constants, row, state, u):  # type: ignore[no-untyped-def]
    """Steps model B (36). Constants: T, coupling, M/C, T K/C, K, B, Z."""
    T, inertia, pull = constants[row, 0], constants[row, 3], constants[row, 4]
    K, B, Z = constants[row, 5], constants[row, 6], constants[row, 7]
    e_1 = state.displacement
    gain = axpy(1.0 / T, difference(e_1, state.previous_displacement), difference(u, state.velocity))
    v_star = axpy(-inertia, gain, axpy(pull, e_1, u))  # (36a)
    f, static = project(code, coefficients, element, v_star, Z)  # (36b)
    v = zeros(u) if static else axpy(-Z, f, v_star)
    rate = difference(u, v)
    e = axpy(T, rate, e_1)  # (36c)
    h = axpy(B, rate, scaled(K, e))  # (36d)
    return State(u, h, f, e, e_1, v), static, dot(f, v)


@njit(cache=True, nogil=True, error_model="numpy")
def run_model_b(  # type: ignore[no-untyped-def]
    code, coefficients, constants, inputs, states, outputs, sticking, energies, zero
):
    """Runs model B over all samples, see `haptic_friction.models.kernel`."""
    run(
        step_model_b, take_velocity, True, State(zero, zero, zero, zero, zero, zero),
        code, coefficients, constants, inputs, states, outputs, sticking, energies, zero,
    )  # fmt: skip


@njit(inline="always", error_model="numpy")
def step_model_b_matrix(code, coefficients, element, constants, row, state, u):  # type: ignore[no-untyped-def]
    """Steps model B (36) with matrices. Constants: T, coupling, contact, C^-1 M, T C^-1 K, K, B."""
    T, e_1 = constants[row, 0], state.displacement
    gain = axpy(1.0 / T, difference(e_1, state.previous_displacement), difference(u, state.velocity))
    pulled = axpy(1.0, multiplied(constants, row, 1, e_1), u)
    v_star = difference(pulled, multiplied(constants, row, 0, gain))  # (36a)
    f, v, static = solve_contact(code, coefficients, element, constants, row, v_star)  # (36b)
    rate = difference(u, v)
    e = axpy(T, rate, e_1)  # (36c)
    h = axpy(1.0, multiplied(constants, row, 2, e), multiplied(constants, row, 3, rate))  # (36d)
    return State(u, h, f, e, e_1, v), static, dot(f, v)


@njit(cache=True, nogil=True, error_model="numpy")
def run_model_b_matrix(  # type: ignore[no-untyped-def]
    code, coefficients, constants, inputs, states, outputs, sticking, energies, zero
):
    """Runs model B with matrices over all samples, see `haptic_friction.models.kernel`."""
    run(
        step_model_b_matrix, take_velocity, True, State(zero, zero, zero, zero, zero, zero),
        code, coefficients, constants, inputs, states, outputs, sticking, energies, zero,
    )  # fmt: skip


class ModelB(ImpedanceModel):
    """Friction element with mass and compliance, velocity in, force out, eq. (36).

    Args:
        law: friction law Phi.
        mass: M [kg], not negative, or a symmetric matrix, shape (dimension, dimension); 0 gives model C.
        stiffness: K [N/m], above 0, or a symmetric matrix, shape (dimension, dimension).
        damping: B [N s/m], not negative, or a symmetric matrix, shape (dimension, dimension).
        period: T [s], above 0.
        dimension: number of components of velocity, displacement and force.

    Raises:
        ValueError: a parameter is out of its range, or Phi_Z does not exist for Z = T/(M + T B + T^2 K) (15).

    Examples:
        >>> import numpy as np
        >>> from haptic_friction import CoulombLaw, ModelB
        >>> model = ModelB(CoulombLaw(2.0), mass=0.1, stiffness=1e4, damping=20.0, period=1e-3)
        >>> model.simulate(np.full((2000, 1), 0.1))[-1].round(6).tolist()  # friction force of a long slide
        [2.0]
    """

    rows = State._fields
    kernel = staticmethod(run_model_b)

    def __init__(
        self,
        law: FrictionLaw,
        *,
        mass: ArrayLike,
        stiffness: ArrayLike,
        damping: ArrayLike,
        period: float,
        dimension: int = 1,
    ) -> None:
        self.mass = coefficient("mass", mass, "kg", dimension)
        self.stiffness = coefficient("stiffness", stiffness, "N/m", dimension, positive=True)
        self.damping = coefficient("damping", damping, "N s/m", dimension)
        T = checked("period", period, "s", positive=True)
        M, K, B = self.mass, self.stiffness, self.damping
        self.Z: float | np.ndarray
        if isinstance(M, np.ndarray) or isinstance(K, np.ndarray) or isinstance(B, np.ndarray):
            M, K, B = (as_matrix(value, dimension) for value in (M, K, B))
            C = np.linalg.inv(M + T * B + T * T * K)
            self.Z = T * symmetric(C)
            self.kernel = run_model_b_matrix
            super().__init__(law, period, dimension, contact_constants(law, self.Z, C @ M, T * C @ K, K, B))
            return
        self.Z = T / (M + T * B + T * T * K)
        checked_law(law).check_existence(self.Z)
        super().__init__(law, period, dimension, [M * self.Z / T, K * self.Z, K, B, self.Z])

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
