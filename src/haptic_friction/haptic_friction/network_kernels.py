"""The compiled loop of `network.ImplicitNetwork`: bodies and contacts of model C, solved together."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numba import njit

from haptic_friction.laws.projection import project
from haptic_friction.vectors import Vector, axpy, dot, load, scaled, store
from haptic_math.borrowed_arrays import borrowed

if TYPE_CHECKING:
    from haptic_friction.network import NetworkRun

#: largest number of sweeps in one step, and change of the forces at which they end, relative to the largest force
MOST_SWEEPS, _CONVERGED = 2000, 1e-15


@njit(inline="always", error_model="numpy")
def _predict(
    T: float, incidence: np.ndarray, mass: np.ndarray, stiffness: np.ndarray, inverse: np.ndarray, base: np.ndarray,
    k: int, position: np.ndarray, velocity: np.ndarray, free: np.ndarray,
) -> None:  # fmt: skip
    """Computes the velocities a of the bodies without contact forces, and writes those of the contacts to `free`."""
    bodies = mass.shape[0]
    for i in range(bodies):
        for r in range(base.shape[1]):
            velocity[i, r] = inverse[i] * (mass[i] * velocity[i, r] - T * stiffness[i] * position[i, r])
    for j in range(free.shape[0]):
        for r in range(base.shape[1]):
            total = incidence[j, bodies] * base[k, r]
            for i in range(bodies):
                total += incidence[j, i] * velocity[i, r]
            free[j, 0, r] = total


@njit(inline="always", error_model="numpy")
def _solve_forces(
    code: int | None, coefficients: np.ndarray, constants: np.ndarray, mobility: np.ndarray, states: np.ndarray,
    sticking: np.ndarray, free: np.ndarray, force: np.ndarray, zero: Vector,
) -> bool:  # fmt: skip
    """Sweeps over the contacts until their forces do not change; returns whether they converged."""
    contacts = states.shape[0]
    change, largest = 0.0, 0.0
    for _ in range(MOST_SWEEPS):
        change, largest = 0.0, 0.0
        for j in range(contacts):
            Z, pull = constants[j, 4], constants[j, 5]
            q = axpy(pull, load(states, j, 2, zero), load(free, j, 0, zero))
            for other in range(contacts):
                if other != j:
                    q = axpy(-mobility[j, other], load(force, other, 0, zero), q)
            f, sticking[j] = project(code, coefficients, j, q, Z + mobility[j, j])
            for r in range(len(zero)):
                change = max(change, abs(f[r] - force[j, 0, r]))
                largest = max(largest, abs(f[r]))
            store(force, j, 0, f)
        if change <= _CONVERGED * largest:
            return True
    return change <= 1e3 * _CONVERGED * largest  # rounding can keep the forces from converging further


@njit(inline="always", error_model="numpy")
def _update_contacts(
    constants: np.ndarray, mobility: np.ndarray, states: np.ndarray, sticking: np.ndarray, energies: np.ndarray,
    free: np.ndarray, force: np.ndarray, zero: Vector,
) -> None:  # fmt: skip
    """Writes the states of the contacts at the end of the step, and adds their dissipated energies."""
    T = constants[0, 0]
    for j in range(states.shape[0]):
        B, Z, pull = constants[j, 3], constants[j, 4], constants[j, 5]
        f, e, w = load(force, j, 0, zero), load(states, j, 2, zero), load(free, j, 0, zero)
        for other in range(states.shape[0]):
            w = axpy(-mobility[j, other], load(force, other, 0, zero), w)
        v = zero
        if sticking[j]:
            new = axpy(T, w, e)
        else:
            new = scaled(Z, axpy(B, e, scaled(T, f)))
            v = axpy(-Z, f, axpy(pull, e, w))
            energies[j] += T * dot(f, v)
        for row, value in enumerate((w, f, new, v)):
            store(states, j, row, value)


@njit(inline="always", error_model="numpy")
def _move_bodies(
    T: float, incidence: np.ndarray, inverse: np.ndarray, force: np.ndarray, position: np.ndarray, velocity: np.ndarray
) -> None:
    """Adds the effect of the contact forces to the velocities, and integrates the positions of the bodies."""
    for i in range(inverse.shape[0]):
        for r in range(position.shape[1]):
            total = 0.0
            for j in range(force.shape[0]):
                total += incidence[j, i] * force[j, 0, r]
            velocity[i, r] -= T * inverse[i] * total
            position[i, r] += T * velocity[i, r]


class NetworkBodies(NamedTuple):
    """Bodies of an `ImplicitNetwork`, and how the contacts join them.

    Attributes:
        incidence: of the contacts on the bodies and the base, 1 and -1 (contacts, bodies + 1).
        mobility: velocity of each contact by the impulse of each (contacts, contacts) [1/kg] times T.
        mass, stiffness: of the bodies (bodies,) [kg], [N/m].
        inverse: of mass and stiffness over a period (bodies,) [1/kg].
        position, velocity: of the bodies (bodies, dimension) [m], [m/s]; updated.
    """

    incidence: np.ndarray
    mobility: np.ndarray
    mass: np.ndarray
    stiffness: np.ndarray
    inverse: np.ndarray
    position: np.ndarray
    velocity: np.ndarray


@njit(cache=True, nogil=True, error_model="numpy")
def run_implicit_network(
    code: int | None, coefficients: np.ndarray, constants: np.ndarray, bodies: NetworkBodies, base: np.ndarray,
    states: np.ndarray, sticking: np.ndarray, energies: np.ndarray, run: NetworkRun, zero: Vector,
) -> int:  # fmt: skip
    """Steps `ImplicitNetwork`; returns the step that failed, -1 if none.

    Args:
        code, coefficients, constants, states, sticking, energies, zero: of the contacts, as in `run_model_c`.
        bodies: the bodies; their positions and velocities are updated.
        base: velocities of the base (n, dimension) [m/s].
        run: result.
    """
    contacts, T = states.shape[0], constants[0, 0]
    incidence, mobility, mass, stiffness, inverse, position, velocity = bodies
    free, force = np.zeros((contacts, 1, len(zero))), np.zeros((contacts, 1, len(zero)))
    laws, numbers, coupling, state, stick = (
        borrowed(coefficients), borrowed(constants), borrowed(mobility), borrowed(states), borrowed(sticking)
    )  # fmt: skip
    for j in range(contacts):
        store(force, j, 0, load(states, j, 1, zero))
    for k in range(base.shape[0]):
        _predict(T, incidence, mass, stiffness, inverse, base, k, position, velocity, free)
        if not _solve_forces(code, laws, numbers, coupling, state, stick, free, force, zero):
            return k
        _update_contacts(numbers, coupling, state, stick, energies, free, force, zero)
        _move_bodies(T, incidence, inverse, force, position, velocity)
        for i in range(position.shape[0]):
            for r in range(position.shape[1]):
                run.position[k, i, r], run.velocity[k, i, r] = position[i, r], velocity[i, r]
        for j in range(contacts):
            store(run.force, k, j, load(states, j, 1, zero))
            store(run.displacement, k, j, load(states, j, 2, zero))
            run.sticking[k, j] = sticking[j]
    return -1
