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

from typing import NamedTuple

from numba import njit
from numpy.typing import ArrayLike

from haptic_friction.laws import FrictionLaw, checked
from haptic_friction.laws.projection import project
from haptic_friction.models.kernel import run, take_velocity
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
    """(36); constants T, coupling, M/C, T K/C, K, B, Z."""
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
    """Kernel of model B, see `haptic_friction.models.kernel`."""
    run(
        step_model_b, take_velocity, True, State(zero, zero, zero, zero, zero, zero),
        code, coefficients, constants, inputs, states, outputs, sticking, energies, zero,
    )  # fmt: skip


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

    Example:
        >>> import numpy as np
        >>> from haptic_friction import CoulombLaw, ModelB
        >>> model = ModelB(CoulombLaw(2.0), mass=0.1, stiffness=1e4, damping=20.0, period=1e-3)
        >>> model.simulate(np.full((2000, 1), 0.1))[-1].round(6).tolist()  # friction force of a long slide
        [2.0]
    """

    rows = State._fields
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
        constants = [self.mass * self.Z / T, self.stiffness * self.Z, self.stiffness, self.damping, self.Z]
        super().__init__(law, period, dimension, constants)

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
