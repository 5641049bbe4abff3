"""The compiled step of walls that let the tool slide and leave (docs/tau.md, "Walls").

A plane acts only along its normal, from contact until the tool is pulled away; along the plane the tool is free or
subject to friction. The 6-DOF gains of the controller become gains along the planes in contact: with the columns of
S (6, c) the normals, x the signed distances, v their rates,

    a_i = -k_p x_i - k_v v_i + k_i xi_i - d^_i,   k = s_i^T M_x^-1 G^T K G s_i   the acceleration of the 6-DOF law
    f = (S^T M_x^-1 S)^-1 a >= 0        the normal forces, without effect in the other directions
    tau = tau_g + G^-T (S f - friction)

so the closed loop along every normal is the designed one, for every pose of the planes. f is never negative: a wall
does not pull. Contact begins at x < 0 and ends outside at f = 0.

Planes may move and belong to bodies that move under the normal forces: u the velocity of a surface, W the
accelerations of the bodies per newton of normal force,

    v_i = n_i . (V - u_i),   (S^T M_x^-1 S + W) f = a,   W_ij = sqrt(w_i w_j) n_i . n_j on one body, else 0

with w_i the inverse mass of a body along n_i: the relative motion is the designed one for every mass of the body.
Between two planes of one body, W is that of its translation. The acceleration of a surface by other forces (`driven`,
a part of d^) is estimated from u. For a body that other contacts hold in place it is -W f, and the wall is soft until
the estimate converges.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from haptic_math.array_assignment import assign
from tau_wall_control.control import laws
from tau_wall_control.control.controller import select
from tau_wall_control.device.arrays import FK_DIVERGED, OK, MechanismArrays
from tau_wall_control.device.dynamics import assemble
from tau_wall_control.device.kinematics import actuated_map, forward_kinematics
from tau_wall_control.device.linear_algebra import cholesky_solve, gauss_solve
from tau_wall_control.walls.contact_kernels import end_contact, find_contacts, predict_filter
from tau_wall_control.walls.force_kernels import friction_of_planes, limit_torques, normal_forces, plane_mobility
from tau_wall_control.walls.records import MOST_CONTACTS, WallLaw

#: tolerance of the measured pose on each joint angle [rad]
POSE_TOLERANCE = 1e-11


@njit(cache=True, error_model="numpy", forceinline=True)
def dynamics_at_rest(
    mechanism: MechanismArrays, p: np.ndarray, R: np.ndarray, M: np.ndarray, g: np.ndarray, G: np.ndarray, J: np.ndarray
) -> int:
    """Writes M_x (6, 6), g_x (6,), G (6, 6) and J = G^-1 (6, 6) of a pose; returns a code of `arrays`."""
    q, H, bias = np.empty((3, 3)), np.empty((3, 3, 6)), np.empty((3, 3))
    n, still = np.empty(6), np.zeros(6)
    code = assemble(mechanism.chains, mechanism.base, mechanism.platform, p, R, still, q, H, M, n, g, bias)
    if code != OK:
        return code
    actuated_map(H, G)
    factor = G.copy()
    for i in range(6):
        for j in range(6):
            J[i, j] = 1.0 if i == j else 0.0
    return OK if gauss_solve(factor, J) else FK_DIVERGED


@njit(cache=True, error_model="numpy", forceinline=True)
def advance_planes(
    settings: Any,
    planes: np.ndarray,
    memories: np.ndarray,
    contacts: np.ndarray,
    push: np.ndarray,
    response: np.ndarray,
    saturated: bool,
) -> None:
    """Predicts the planes' filters for the next sample, updates integrals and ends contacts.

    Args:
        settings: record of the type SETTINGS.
        planes, memories: records of the types PLANE and PLANE_MEMORY (w,).
        contacts, push: planes in contact and their normal forces (c,).
        response: acceleration of the tool (6,) under the torques of this sample.
        saturated: true if torque limits are active.
    """
    for w in range(planes.shape[0]):
        plane, memory = planes[w], memories[w]
        acceleration, surface_acceleration = 0.0, 0.0
        for k in range(3):
            acceleration += plane.normal[k] * response[k]
        if plane.inverse_mass > 0.0:
            for i in range(contacts.shape[0]):
                surface_acceleration += plane_mobility(planes, w, contacts[i]) * push[i]
        if settings.mode & laws.OBSERVER:
            predict_filter(memory, settings, acceleration, surface_acceleration)
        end_contact(memory, settings, saturated)


@njit(cache=True, error_model="numpy")
def render(
    mechanism_arrays: tuple[np.ndarray, ...],
    law_arrays: tuple[np.ndarray, ...],
    planes: np.ndarray,
    memories: np.ndarray,
    p: np.ndarray,
    R: np.ndarray,
    theta: np.ndarray,
    rate: np.ndarray,
    samples: np.ndarray,
) -> int:
    """Renders one sample of the walls; returns a code of `arrays`.

    Args:
        mechanism_arrays: `MechanismArrays` of the device model in the controller, as a plain tuple.
        law_arrays: `WallLaw` as a plain tuple, which Numba takes from Python 1 us faster than a named tuple.
        planes: records of the type PLANE (w,).
        memories: records of the type PLANE_MEMORY (w,), updated in place.
        p, R: pose of the sample before (3,), (3, 3); overwritten by the present pose.
        theta, rate: angles and velocities of the joints (6,) [rad], [rad/s].
        samples: result, a record of the type SAMPLE (1,).
    """
    mechanism, law = MechanismArrays(*mechanism_arrays), WallLaw(*law_arrays)
    settings, sample = law.settings[0], samples[0]
    code, _ = forward_kinematics(mechanism.chains, mechanism.base, theta, p, R, POSE_TOLERANCE)
    if code != OK:
        return code
    M, g, G, J = np.empty((6, 6)), np.empty(6), np.empty((6, 6)), np.empty((6, 6))
    code = dynamics_at_rest(mechanism, p, R, M, g, G, J)
    if code != OK:
        return code
    twist, torque = sample.twist, sample.torque
    for i in range(6):
        twist[i] = 0.0
        for j in range(6):
            twist[i] += J[i, j] * rate[j]
    row = np.empty(laws.LINEAR)
    sample.operating_point = select(law.table, law.points, law.edges, settings.interpolated, p, row)

    found = np.empty(MOST_CONTACTS, dtype=np.int64)
    contacts = found[: find_contacts(settings, law.filter_gains, planes, memories, p, twist, found)]
    push, wrench = np.zeros(contacts.shape[0]), np.zeros(6)
    if settings.exact_gravity or contacts.shape[0] == 0:
        assign(wrench, g)
        torque[:] = 0.0
    else:
        assign(torque, row[laws.TORQUE])
    if contacts.shape[0] > 0:
        normal_forces(settings, laws.linear_gains(row), planes, memories, contacts, M, G, twist, push)
    for i in range(contacts.shape[0]):
        for k in range(3):
            wrench[k] += push[i] * planes[contacts[i]].normal[k]
    friction_of_planes(settings, law.friction, planes, contacts, push, twist, sample)
    for k in range(3):
        wrench[k] += sample.friction[k]
    for j in range(6):
        for k in range(6):
            torque[j] += J[k, j] * wrench[k]
    sample.saturated = limit_torques(settings, planes, contacts, push, G, torque)

    response = np.empty(6)
    for k in range(6):
        response[k] = -g[k]
        for j in range(6):
            response[k] += G[j, k] * torque[j]
    cholesky_solve(M, response)
    advance_planes(settings, planes, memories, contacts, push, response, sample.saturated)
    return OK
