"""Model D, the compliant admittance-type model (Kikuuwe et al., section III-D, eq. (45)).

A mass M rests on a contact with friction law Phi, in series with a spring K and a damper B. Input: the force h
on the mass; output: its velocity u. Implicit Euler of (39) to (41) with period T gives, with
A = T/M + 1/(B + T K), eq. (44),

    v* = u + T h / M + K e / (B + T K)     (45a)
    f  = Phi_A(v*)                         (45b)
    e <- (B e + T f) / (B + T K)           (45c)
    u <- u + T (h - f) / M                 (45d)

The model tends to model A as K grows and is stable for any K. While the contact sticks, (45c) with f = v*/A makes e
grow by T u; it is used in this form.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from haptic_friction.laws import FrictionLaw, checked, checked_law
from haptic_friction.laws.projection import project
from haptic_friction.models.kernel import run, take_force
from haptic_friction.models.matrices import (
    as_matrix,
    coefficient,
    contact_constants,
    multiplied,
    solve_contact,
    symmetric,
)
from haptic_friction.models.model import AdmittanceModel
from haptic_friction.vectors import Vector, axpy, difference, dot, scaled, zeros


class State(NamedTuple):
    """State of model D: u, h, f, e, the velocity at the contact, and the elongation of a compliance."""

    velocity: Vector
    force: Vector
    friction_force: Vector
    displacement: Vector
    sliding_velocity: Vector
    stretch: Vector


@njit(inline="always", error_model="numpy")
def step_model_d(code, coefficients, element, constants, row, state, h):  # type: ignore[no-untyped-def]
    """Steps model D (45). Constants: T, coupling, T/M, B, Zc = 1/(B + T K), K Zc, A."""
    T, gain, B = constants[row, 0], constants[row, 3], constants[row, 4]
    Zc, pull, A = constants[row, 5], constants[row, 6], constants[row, 7]
    v_star = axpy(pull, state.displacement, axpy(gain, h, state.velocity))  # (45a)
    f, static = project(code, coefficients, element, v_star, A)  # (45b)
    u = axpy(gain, difference(h, f), state.velocity)  # (45d)
    if static:
        e, v = axpy(T, u, state.displacement), zeros(h)
    else:
        e, v = scaled(Zc, axpy(B, state.displacement, scaled(T, f))), axpy(-A, f, v_star)  # (45c)
    return State(u, h, f, e, v, state.stretch), static, dot(f, v)


@njit(cache=True, nogil=True, error_model="numpy")
def run_model_d(  # type: ignore[no-untyped-def]
    code, coefficients, constants, inputs, states, outputs, sticking, energies, zero
):
    """Runs model D over all samples, see `haptic_friction.models.kernel`."""
    run(
        step_model_d, take_force, False, State(zero, zero, zero, zero, zero, zero),
        code, coefficients, constants, inputs, states, outputs, sticking, energies, zero,
    )  # fmt: skip


@njit(inline="always", error_model="numpy")
def step_model_d_matrix(code, coefficients, element, constants, row, state, h):  # type: ignore[no-untyped-def]
    """Steps model D (45) with matrices. Constants: T, coupling, contact, T M^-1, (B + T K)^-1 K.

    (45c) is used in the form e + T (u - v).
    """
    free = axpy(1.0, multiplied(constants, row, 0, h), state.velocity)
    v_star = axpy(1.0, multiplied(constants, row, 1, state.displacement), free)  # (45a)
    f, v, static = solve_contact(code, coefficients, element, constants, row, v_star)  # (45b)
    u = difference(free, multiplied(constants, row, 0, f))  # (45d)
    e = axpy(constants[row, 0], difference(u, v), state.displacement)  # (45c)
    return State(u, h, f, e, v, state.stretch), static, dot(f, v)


@njit(cache=True, nogil=True, error_model="numpy")
def run_model_d_matrix(  # type: ignore[no-untyped-def]
    code, coefficients, constants, inputs, states, outputs, sticking, energies, zero
):
    """Runs model D with matrices over all samples, see `haptic_friction.models.kernel`."""
    run(
        step_model_d_matrix, take_force, False, State(zero, zero, zero, zero, zero, zero),
        code, coefficients, constants, inputs, states, outputs, sticking, energies, zero,
    )  # fmt: skip


class ModelD(AdmittanceModel):
    """Friction element with mass and compliance, force in, velocity out, eq. (45).

    Args:
        law: friction law Phi.
        mass: M [kg], above 0, or a symmetric matrix, shape (dimension, dimension).
        stiffness: K [N/m], above 0, or a symmetric matrix, shape (dimension, dimension).
        damping: B [N s/m], not negative, or a symmetric matrix, shape (dimension, dimension).
        period: T [s], above 0.
        dimension: number of components of force, displacement and velocity.

    Raises:
        ValueError: a parameter is out of its range, or Phi_Z does not exist for Z = A (15), (44).

    Examples:
        >>> import numpy as np
        >>> from haptic_friction import CoulombLaw, ModelD
        >>> model = ModelD(CoulombLaw(2.0), mass=1.0, stiffness=1e4, damping=20.0, period=1e-3)
        >>> bool(abs(model.simulate(np.full((2000, 1), 1.5))[-1, 0]) < 1e-9)  # held by friction
        True
    """

    rows = State._fields
    kernel = staticmethod(run_model_d)

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
        self.mass = coefficient("mass", mass, "kg", dimension, positive=True)
        self.stiffness = coefficient("stiffness", stiffness, "N/m", dimension, positive=True)
        self.damping = coefficient("damping", damping, "N s/m", dimension)
        T = checked("period", period, "s", positive=True)
        M, K, B = self.mass, self.stiffness, self.damping
        self.Z: float | np.ndarray
        if isinstance(M, np.ndarray) or isinstance(K, np.ndarray) or isinstance(B, np.ndarray):
            M, K, B = (as_matrix(value, dimension) for value in (M, K, B))
            mobility, spring = T * symmetric(np.linalg.inv(M)), symmetric(np.linalg.inv(B + T * K))
            Z = self.Z = mobility + spring
            self.kernel = run_model_d_matrix
            super().__init__(law, period, dimension, contact_constants(law, Z, mobility, spring @ K))
            return
        contact = 1.0 / (B + T * K)
        self.Z = T / M + contact
        checked_law(law).check_existence(self.Z)
        super().__init__(law, period, dimension, [T / M, B, contact, K * contact, self.Z])

    def reset(self, *, velocity: ArrayLike | None = None, displacement: ArrayLike | None = None) -> None:
        """Starts again from u [m/s] and e [m], shape (dimension,) each; zero if not given."""
        self._restart(velocity=velocity, displacement=displacement)
