"""Model C, the compliant massless impedance-type model (Kikuuwe et al., section III-C, eq. (38)).

A contact with a friction law Phi is in series with a spring K and a damper B. Input: the velocity u of the
free end; output: the force f in the direction of u (-f acts on the body that moves with u). Implicit Euler with
period T gives, with Z = 1/(B + T K),

    v* = u + K e / (B + T K)          (38a)
    f  = Phi_Z(v*)                    (38b)
    e <- (B e + T f) / (B + T K)      (38c)

where e is the elastic displacement. The contact sticks while v*/Z lies in the static set; then e <- e + T u
exactly, and a force below g(0) causes no lasting displacement: the model does not drift.
The model is not rigid: at rest its deflection is f/K. With a real device, K, B and the loop's delay bound the mass
that it can hold without vibration (`haptic_friction.design`).
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
    """State of model C: u, f, e, and the velocity at the contact."""

    velocity: Vector
    force: Vector
    displacement: Vector
    sliding_velocity: Vector


@njit(inline="always", error_model="numpy")
def step_model_c(code, coefficients, element, constants, row, state, u):  # type: ignore[no-untyped-def]
    """Steps model C (38). Constants: T, coupling, B, Z, K Z.

    In the static branch the sliding velocity is set to zero and the displacement grows by T u. Both follow from (38c)
    with f = v*/Z; used in this form, rounding cannot make the element creep.
    """
    T, B, Z, pull = constants[row, 0], constants[row, 3], constants[row, 4], constants[row, 5]
    v_star = axpy(pull, state.displacement, u)  # (38a)
    f, static = project(code, coefficients, element, v_star, Z)  # (38b)
    if static:
        e, v = axpy(T, u, state.displacement), zeros(u)
    else:
        e, v = scaled(Z, axpy(B, state.displacement, scaled(T, f))), axpy(-Z, f, v_star)  # (38c)
    return State(u, f, e, v), static, dot(f, v)


@njit(cache=True, nogil=True, error_model="numpy")
def run_model_c(  # type: ignore[no-untyped-def]
    code, coefficients, constants, inputs, states, outputs, sticking, energies, zero
):
    """Runs model C over all samples, see `haptic_friction.models.kernel`."""
    run(
        step_model_c, take_velocity, True, State(zero, zero, zero, zero),
        code, coefficients, constants, inputs, states, outputs, sticking, energies, zero,
    )  # fmt: skip


@njit(inline="always", error_model="numpy")
def step_model_c_matrix(code, coefficients, element, constants, row, state, u):  # type: ignore[no-untyped-def]
    """Steps model C (38) with matrices. Constants: T, coupling, contact, Z K. (38c) is used as e + T (u - v)."""
    v_star = axpy(1.0, multiplied(constants, row, 0, state.displacement), u)  # (38a)
    f, v, static = solve_contact(code, coefficients, element, constants, row, v_star)  # (38b)
    e = axpy(constants[row, 0], difference(u, v), state.displacement)  # (38c)
    return State(u, f, e, v), static, dot(f, v)


@njit(cache=True, nogil=True, error_model="numpy")
def run_model_c_matrix(  # type: ignore[no-untyped-def]
    code, coefficients, constants, inputs, states, outputs, sticking, energies, zero
):
    """Runs model C with matrices over all samples, see `haptic_friction.models.kernel`."""
    run(
        step_model_c_matrix, take_velocity, True, State(zero, zero, zero, zero),
        code, coefficients, constants, inputs, states, outputs, sticking, energies, zero,
    )  # fmt: skip


class ModelC(ImpedanceModel):
    """Friction element with compliance, velocity in, force out, eq. (38).

    Args:
        law: friction law Phi.
        stiffness: K [N/m], above 0, or a symmetric matrix, shape (dimension, dimension).
        damping: B [N s/m], not negative, or a symmetric matrix, shape (dimension, dimension).
        period: T [s], above 0.
        dimension: number of components of velocity, displacement and force.

    Raises:
        ValueError: a parameter is out of its range, or Phi_Z does not exist for Z = 1/(B + T K) (15).

    Examples:
        >>> from haptic_friction import CoulombLaw, ModelC
        >>> model = ModelC(CoulombLaw(2.0), stiffness=1e4, damping=0.0, period=1e-3)
        >>> model.step([0.01]).round(6).tolist(), model.sticking  # K T v
        ([0.1], True)
        >>> model.step([1.0]).tolist(), model.sticking
        ([2.0], False)
        >>> K = [[1e4, 5e3], [5e3, 1e4]]
        >>> oblique = ModelC(CoulombLaw(2.0), stiffness=K, damping=0.0, period=1e-3, dimension=2)
        >>> oblique.step([0.01, 0.0]).round(6).tolist()  # K T v
        [0.1, 0.05]
    """

    rows = State._fields
    kernel = staticmethod(run_model_c)

    def __init__(
        self, law: FrictionLaw, *, stiffness: ArrayLike, damping: ArrayLike, period: float, dimension: int = 1
    ) -> None:
        self.stiffness = coefficient("stiffness", stiffness, "N/m", dimension, positive=True)
        self.damping = coefficient("damping", damping, "N s/m", dimension)
        T = checked("period", period, "s", positive=True)
        K, B = self.stiffness, self.damping
        self.Z: float | np.ndarray
        if isinstance(K, np.ndarray) or isinstance(B, np.ndarray):
            K, B = as_matrix(K, dimension), as_matrix(B, dimension)
            self.Z = symmetric(np.linalg.inv(B + T * K))
            self.kernel = run_model_c_matrix
            super().__init__(law, period, dimension, contact_constants(law, self.Z, self.Z @ K))
            return
        self.Z = 1.0 / (B + T * K)
        checked_law(law).check_existence(self.Z)
        super().__init__(law, period, dimension, [B, self.Z, K * self.Z])

    def reset(self, *, displacement: ArrayLike | None = None) -> None:
        """Starts again from an elastic displacement e [m], shape (dimension,); zero if not given."""
        self._restart(displacement=displacement)
