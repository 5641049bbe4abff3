"""Model A, the rigid admittance-type model (Kikuuwe et al., section III-A, eq. (26)).

A mass M slides on a fixed surface with friction law Phi. Input: the force h on the mass; output: its
velocity v. Implicit Euler of (10), (11) with period T gives, with Z = T/M,

    v* = v + T h / M       (26a)
    f  = Phi_Z(v*)         (26b)
    v <- v* - T f / M      (26c), exactly zero in the static branch

For any T the mass stops without chatter, does not drift under any force below g(0), and friction never adds energy.
The model has no presliding displacement, and one contact per mass.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from haptic_friction.laws import FrictionLaw, checked, checked_law
from haptic_friction.laws.projection import project
from haptic_friction.models.kernel import run, take_force
from haptic_friction.models.matrices import CONTACT, coefficient, contact_constants, solve_contact, symmetric
from haptic_friction.models.model import AdmittanceModel
from haptic_friction.vectors import Vector, axpy, dot, transformed, zeros


class State(NamedTuple):
    """State of model A: v, h, f, and the elongation of a compliance."""

    velocity: Vector
    force: Vector
    friction_force: Vector
    stretch: Vector


@njit(inline="always", error_model="numpy")
def step_model_a(code, coefficients, element, constants, row, state, h):  # type: ignore[no-untyped-def]
    """Steps model A (26). Constants: T, coupling, Z."""
    Z = constants[row, 3]
    v_star = axpy(Z, h, state.velocity)  # (26a)
    f, static = project(code, coefficients, element, v_star, Z)  # (26b)
    v = zeros(h) if static else axpy(-Z, f, v_star)  # (26c)
    return State(v, h, f, state.stretch), static, dot(f, v)


@njit(cache=True, nogil=True, error_model="numpy")
def run_model_a(  # type: ignore[no-untyped-def]
    code, coefficients, constants, inputs, states, outputs, sticking, energies, zero
):
    """Runs model A over all samples, see `haptic_friction.models.kernel`."""
    run(
        step_model_a, take_force, False, State(zero, zero, zero, zero),
        code, coefficients, constants, inputs, states, outputs, sticking, energies, zero,
    )  # fmt: skip


@njit(inline="always", error_model="numpy")
def step_model_a_matrix(code, coefficients, element, constants, row, state, h):  # type: ignore[no-untyped-def]
    """Steps model A (26) with the matrix Z = T M^-1. Constants: T, coupling, contact."""
    n = len(h)
    v_star = axpy(1.0, transformed(constants, row, CONTACT + n + n * n, h, False), state.velocity)  # (26a)
    f, v, static = solve_contact(code, coefficients, element, constants, row, v_star)  # (26b), (26c)
    return State(v, h, f, state.stretch), static, dot(f, v)


@njit(cache=True, nogil=True, error_model="numpy")
def run_model_a_matrix(  # type: ignore[no-untyped-def]
    code, coefficients, constants, inputs, states, outputs, sticking, energies, zero
):
    """Runs model A with matrices over all samples, see `haptic_friction.models.kernel`."""
    run(
        step_model_a_matrix, take_force, False, State(zero, zero, zero, zero),
        code, coefficients, constants, inputs, states, outputs, sticking, energies, zero,
    )  # fmt: skip


class ModelA(AdmittanceModel):
    """Rigid friction element: force in, velocity out, eq. (26).

    Args:
        law: friction law Phi.
        mass: M [kg], above 0, or a symmetric matrix, shape (dimension, dimension).
        period: T [s], above 0.
        dimension: number of components of force and velocity.

    Raises:
        ValueError: a parameter is out of its range, or Phi_Z does not exist for Z = T/M (15).

    Examples:
        >>> from haptic_friction import CoulombLaw, ModelA
        >>> model = ModelA(CoulombLaw(2.0), mass=1.0, period=1e-3)
        >>> model.step([1.5]).tolist(), model.sticking  # below the friction force the mass stays
        ([0.0], True)
        >>> model.step([3.0]).tolist()  # (3 N - 2 N) / 1 kg * 1 ms
        [0.001]
    """

    rows = State._fields
    kernel = staticmethod(run_model_a)

    def __init__(self, law: FrictionLaw, *, mass: ArrayLike, period: float, dimension: int = 1) -> None:
        self.mass = coefficient("mass", mass, "kg", dimension, positive=True)
        T = checked("period", period, "s", positive=True)
        self.Z: float | np.ndarray
        if isinstance(self.mass, np.ndarray):
            self.Z = T * symmetric(np.linalg.inv(self.mass))
            self.kernel = run_model_a_matrix
            super().__init__(law, period, dimension, contact_constants(law, self.Z))
            return
        self.Z = T / self.mass
        checked_law(law).check_existence(self.Z)
        super().__init__(law, period, dimension, [self.Z])

    def reset(self, *, velocity: ArrayLike | None = None) -> None:
        """Starts again from a velocity v [m/s], shape (dimension,); zero if not given."""
        self._restart(velocity=velocity)
