"""The compiled loop of all models: samples, coupling, state, sticking and energy around one step of a model.

A model of this package is a *step* and a *kernel* that puts it into the loop of this module. The step is a function

    step(code, coefficients, element, constants, row, state, x) -> state, sticks, power

of the law (`coefficients[element]`, see `haptic_friction.laws.projection`), the model's constants (`constants[row]`),
the state before and the input x of one sample: the velocity of an impedance [m/s], the force on an admittance [N]. It
returns the state after, whether the contact sticks, and the power that friction dissipates [W]. A state is a NamedTuple
of vectors (see `haptic_friction.vectors`): first velocity and force of the port, and for an admittance last `stretch`,
the elongation of its compliance. The first three constants are the period T and the coupling, see `take_velocity` and
`take_force`.

Every kernel has the same arguments, for m independent elements with n samples each:

    kernel(code, coefficients (m or 1, .), constants (m or 1, .), inputs (m, n, dimension),
           states (m, rows, dimension), outputs (m, n, dimension), sticking (m,), energies (m,), zero)

It changes states, sticking and energies, and writes the outputs; `zero` is the vector (0.0, ..., 0.0).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit
from numba.cpython.unsafe.tuple import tuple_setitem

from haptic_friction.vectors import Vector, axpy, difference, load, scaled, store
from haptic_math.borrowed_arrays import borrowed


@njit(inline="always", error_model="numpy")
def take_velocity(x: Vector, T: float, T_over_M: float, unused: float, state: Any) -> tuple[Vector, Any]:
    """Returns u_k of an impedance: the input, or with a mass M the velocity (60) after the input force acted on M."""
    if T_over_M == 0.0:
        return x, state
    return axpy(T_over_M, difference(x, state.force), state.velocity), state


@njit(inline="always", error_model="numpy")
def take_force(x: Vector, T: float, K: float, B: float, state: Any) -> tuple[Vector, Any]:
    """Returns h_k of an admittance: the input, or K e + B e' of Fig. 12(a), e the elongation of the compliance."""
    if K == 0.0 and B == 0.0:
        return x, state
    relative = difference(x, state.velocity)
    stretch = axpy(T, relative, state.stretch)
    return axpy(B, relative, scaled(K, stretch)), tuple_setitem(state, len(state) - 1, stretch)


@njit(inline="always", error_model="numpy")
def run(
    step: Callable[..., Any], take: Callable[..., Any], gives_force: bool, state: Any, code: int | None,
    coefficients: np.ndarray, constants: np.ndarray, inputs: np.ndarray, states: np.ndarray, outputs: np.ndarray,
    sticking: np.ndarray, energies: np.ndarray, zero: Vector,
) -> None:  # fmt: skip
    """Runs the loop over all elements and samples, see the module.

    Args:
        step: step function of the model.
        take: `take_velocity` for an impedance, `take_force` for an admittance.
        gives_force: true for an impedance; a coupled impedance returns its velocity, a coupled admittance its force.
        state: any state of the model; only its type counts.
        code, coefficients, constants, inputs, states, outputs, sticking, energies, zero: of the kernel.
    """
    coefficient_rows, constant_rows = borrowed(coefficients), borrowed(constants)
    for m in range(inputs.shape[0]):
        element, row = min(m, coefficients.shape[0] - 1), min(m, constants.shape[0] - 1)
        T, first, second = constants[row, 0], constants[row, 1], constants[row, 2]
        force_out = gives_force == (first == 0.0 and second == 0.0)
        for i in range(len(state)):
            state = tuple_setitem(state, i, load(states, m, i, zero))
        static, energy = sticking[m], 0.0
        for k in range(inputs.shape[1]):
            x, state = take(load(inputs, m, k, zero), T, first, second, state)
            state, static, power = step(code, coefficient_rows, element, constant_rows, row, state, x)
            energy += T * power
            store(outputs, m, k, state.force if force_out else state.velocity)
        for i in range(len(state)):
            store(states, m, i, state[i])
        sticking[m] = static
        energies[m] += energy
