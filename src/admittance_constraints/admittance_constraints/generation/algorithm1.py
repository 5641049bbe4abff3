"""Algorithm 1 of Faulring et al. in NumPy, line by line: the readable reference of the compiled `ReferenceGenerator`.

`algorithm1_step` is the algorithm of the paper without changes. A `ReferenceGenerator` with the integrator "algorithm1"
and the velocity projection "off" gives the same results to rounding, more than a hundred times faster; the tests
compare both step by step. `project_velocity_of` has the other velocity projections of the generator, which are not in
the paper.

The loop of the paper (lines 2, 3, 13 and 15 to 19) measures the display and closes the feedback, see
`display.controller`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from admittance_constraints.dynamics.accelerations import solve_accelerations
from admittance_constraints.model.mechanism import Mechanism


@dataclass(frozen=True)
class Algorithm1State:
    """State between two steps; nz parameters, n coordinates.

    Attributes:
        z: parameters of the holonomic submanifold, shape (nz,).
        z_velocity: time derivative of z, shape (nz,).
        q: coordinates of the mechanism, shape (n,).
        q_velocity: time derivative of q, shape (n,).
    """

    z: np.ndarray
    z_velocity: np.ndarray
    q: np.ndarray
    q_velocity: np.ndarray


@dataclass(frozen=True)
class Algorithm1Step(Algorithm1State):
    """State after a step, with the intermediate results of the step.

    Attributes:
        x: reference x_r after the step, shape (6,), line 12.
        x_velocity: time derivative of x_r, shape (6,), line 12.
        q_acceleration: acceleration of q at the beginning of the step, shape (n,), (13).
        multipliers: constraint forces lambda at the beginning, shape (m,), (11).
        x_acceleration: feedforward at the beginning, shape (6,), (14).
        z_acceleration: acceleration of z at the beginning, shape (nz,), (16).
    """

    x: np.ndarray
    x_velocity: np.ndarray
    q_acceleration: np.ndarray
    multipliers: np.ndarray
    x_acceleration: np.ndarray
    z_acceleration: np.ndarray


def algorithm1_start(mechanism: Mechanism, z: ArrayLike, z_velocity: ArrayLike | None = None) -> Algorithm1State:
    """Initialises the state, line 1.

    Args:
        mechanism: mechanism with a parametrisation psi(z), or without holonomic constraints.
        z: z_o, shape (nz,).
        z_velocity: velocity of z, shape (nz,); default: zero, as in the paper.

    Raises:
        SingularConfigurationError: phi^-1(psi(z)) does not exist.
    """
    m, z = mechanism, np.array(z, dtype=float)
    zdot = np.zeros_like(z) if z_velocity is None else np.array(z_velocity, dtype=float)
    q = m.configuration(z)
    return Algorithm1State(z, zdot, q, np.linalg.pinv(m.task_jacobian(q)) @ m.parametric_jacobian(z) @ zdot)


def algorithm1_step(
    mechanism: Mechanism, state: Algorithm1State, task_force: ArrayLike, period: float
) -> Algorithm1Step:
    """Computes one timestep, lines 4 to 12 and 14.

    Args:
        mechanism: mechanism with a parametrisation psi(z), or without holonomic constraints.
        state: state at the beginning of the step.
        task_force: f_x of the user on the tool, shape (6,), dual to the task coordinates x [N; N m].
        period: T [s].

    Raises:
        SingularConfigurationError: the equations of motion are singular, or phi^-1(psi(z)) does not exist.
    """
    m, T = mechanism, period
    z, zdot, q, qdot = state.z, state.z_velocity, state.q, state.q_velocity
    f_q = m.generalised_force(task_force, q)  # line 4: (2)
    tau = f_q + m.passive_force(q, qdot)  # lines 5, 6: f_q - tau_d - tau_s - g
    qddot, multipliers = solve_accelerations(m, q, qdot, tau)  # lines 7, 8: (11) to (13)
    xddot = m.task_jacobian(q) @ qddot + m.task_bias(q, qdot)  # line 9: (14)
    zddot = np.linalg.pinv(m.parametric_jacobian(z)) @ (xddot - m.parametric_bias(z, zdot))  # line 10: (16)
    z_new = z + zdot * T + zddot * T**2 / 2  # line 11
    zdot_new = zdot + zddot * T
    x, xdot = m.parametric(z_new), m.parametric_jacobian(z_new) @ zdot_new  # line 12
    q_new = m.configuration(z_new, q + qdot * T)  # line 14: q = phi^-1(x_r), from the predicted q
    qdot_new = np.linalg.pinv(m.task_jacobian(q_new)) @ xdot
    return Algorithm1Step(z_new, zdot_new, q_new, qdot_new, x, xdot, qddot, multipliers, xddot, zddot)


def project_velocity_of(
    step: Algorithm1Step,
    mechanism: Mechanism,
    state: Algorithm1State,
    task_force: ArrayLike,
    period: float,
    *,
    symmetric: bool,
) -> Algorithm1Step:
    """Projects the velocity after a step onto A qdot = 0, which the algorithm of the paper does not preserve.

    Args:
        step: computed by `algorithm1_step` with the other arguments.
        mechanism: see `algorithm1_step`.
        state: see `algorithm1_step`.
        task_force: see `algorithm1_step`.
        period: see `algorithm1_step`.
        symmetric: true replaces the constraint impulse of the step by one along the rows of A at the middle of the
            step, if the mechanism has nonholonomic constraints; a rotating constraint then does no work. False only
            applies the projection of least kinetic energy.
    """
    m, T = mechanism, period
    q, qdot = state.q, state.q_velocity
    velocity = step.q_velocity
    if symmetric and len(m.constraint_names) > m.holonomic_count:
        M, tau = m.inertia(q), m.generalised_force(task_force, q) + m.passive_force(q, qdot)
        free = qdot + T * np.linalg.solve(M, tau - m.coriolis_force(q, qdot))
        W = np.linalg.solve(M, m.constraint_matrix((q + step.q) / 2).T)
        A = m.constraint_matrix(step.q)
        velocity = free - W @ np.linalg.solve(A @ W, A @ free)
    velocity = m.project_velocity(step.q, velocity)
    J = m.parametric_jacobian(step.z)
    zdot = np.linalg.pinv(J) @ m.task_jacobian(step.q) @ velocity
    return replace(step, q_velocity=velocity, z_velocity=zdot, x_velocity=J @ zdot)
