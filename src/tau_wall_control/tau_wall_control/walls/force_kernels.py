"""Compiled forces of the planes in contact: normal forces, friction along them, torque limits.

The columns of S (6, c) are the normals of the c planes in contact.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from haptic_friction.laws.projection import project
from haptic_friction.tangential import remove_normal_part, write_normal_basis
from haptic_math.array_assignment import assign, assign_rows
from tau_wall_control.control import laws
from tau_wall_control.control.controller import SHARING_ACROSS, SHARING_ALONG
from tau_wall_control.device.linear_algebra import cholesky_solve


@njit(cache=True, error_model="numpy", forceinline=True)
def body_mobility(one: Any, other: Any) -> float:
    """Returns W_ij: acceleration of a plane away from the tool per newton on another plane [1/kg].

    It is the acceleration by translation of the body; 0 for planes of different bodies.
    """
    both = one.inverse_mass * other.inverse_mass
    if both == 0.0 or one.body != other.body:
        return 0.0
    cosine = 0.0
    for k in range(3):
        cosine += one.normal[k] * other.normal[k]
    return math.sqrt(both) * cosine


@njit(cache=True, error_model="numpy", forceinline=True)
def plane_mobility(planes: np.ndarray, i: int, j: int) -> float:
    """Returns W_ij of planes i and j, also for i = j [1/kg]."""
    return planes[i].inverse_mass if i == j else body_mobility(planes[i], planes[j])


@njit(cache=True, error_model="numpy", forceinline=True)
def delassus_matrix(planes: np.ndarray, contacts: np.ndarray, MS: np.ndarray, A: np.ndarray) -> None:
    """Writes A = S^T M_x^-1 S + W (c, c), with the rows of MS (c, 6) the columns of M_x^-1 S [1/kg]."""
    c = contacts.shape[0]
    for i in range(c):
        for j in range(c):
            total = 0.0
            for k in range(3):
                total += planes[contacts[j]].normal[k] * MS[i, k]
            A[j, i] = total + plane_mobility(planes, contacts[j], contacts[i])


@njit(cache=True, error_model="numpy", forceinline=True)
def gains_along(
    gains: laws.LinearGains, normal: np.ndarray, G: np.ndarray, MS: np.ndarray
) -> tuple[float, float, float]:
    """Returns k = s^T M_x^-1 G^T K G s of K_theta, K_rate, K_integral for a normal, with MS (6,) = M_x^-1 s."""
    GMS, GS = np.zeros(6), np.zeros(6)
    for j in range(6):
        for k in range(6):
            GMS[j] += G[j, k] * MS[k]
        for k in range(3):
            GS[j] += G[j, k] * normal[k]
    kp, kv, ki = 0.0, 0.0, 0.0
    for a in range(6):
        for e in range(6):
            product = GMS[a] * GS[e]
            kp += product * gains.angle[a, e]
            kv += product * gains.rate[a, e]
            ki += product * gains.integral[a, e]
    return kp, kv, ki


@njit(cache=True, error_model="numpy", forceinline=True)
def wanted_acceleration(
    settings: Any, plane: Any, memory: Any, twist: np.ndarray, k: tuple[float, float, float]
) -> float:
    """Returns a = -k_p x - k_v v + k_i xi - d^ along a plane, x and v predicted over the known delay [m/s^2]."""
    kp, kv, ki = k
    period = settings.period
    x, v = memory.distance, 0.0
    for i in range(3):
        v += plane.normal[i] * (twist[i] - plane.velocity[i])
    if settings.mode & laws.OBSERVER:
        d = memory.disturbance + memory.driven
        if settings.mode & laws.ESTIMATED:
            x, v = memory.filtered_distance, memory.filtered_rate
        for m in range(settings.delay):
            acceleration = memory.past[m] + memory.past_surface[m] + d
            x += period * v + 0.5 * period * period * acceleration
            v += period * acceleration
        wanted = -d
    else:
        wanted = ki * memory.integral
    return wanted - (kp * x + kv * v)


@njit(cache=True, error_model="numpy", forceinline=True)
def solve_pushes(delassus: np.ndarray, wanted: np.ndarray, f: np.ndarray) -> None:
    """Solves delassus f = wanted with f >= 0; removes planes with a negative force one by one, the lowest first."""
    count = wanted.shape[0]
    out = np.zeros(count, dtype=np.bool_)
    A, b = np.empty((count, count)), np.empty(count)
    for _ in range(count + 1):
        trace = 0.0
        for i in range(count):
            trace += delassus[i, i]
        for i in range(count):
            b[i] = 0.0 if out[i] else wanted[i]
            for j in range(count):
                A[i, j] = 0.0 if out[i] or out[j] else delassus[i, j]
            A[i, i] = 1.0 if out[i] else A[i, i] + 1e-9 * trace  # distributes the force of parallel planes
        cholesky_solve(A, b)
        worst, lowest = -1, 0.0
        for i in range(count):
            if not out[i] and b[i] < lowest:
                worst, lowest = i, b[i]
        if worst < 0:
            break
        out[worst] = True
    for i in range(count):
        f[i] = 0.0 if out[i] else b[i]


@njit(cache=True, error_model="numpy", forceinline=True)
def normal_forces(
    settings: Any,
    gains: laws.LinearGains,
    planes: np.ndarray,
    memories: np.ndarray,
    contacts: np.ndarray,
    M: np.ndarray,
    G: np.ndarray,
    twist: np.ndarray,
    push: np.ndarray,
) -> None:
    """Writes f (c,) of (S^T M_x^-1 S + W) f = a, f >= 0, to `push` and the planes' memories [N].

    Args:
        settings: record of the type SETTINGS.
        gains: gains of the controller at the tool.
        planes, memories: records of the types PLANE and PLANE_MEMORY (w,).
        contacts: indices of the planes in contact (c,).
        M, G: M_x and G at the tool (6, 6).
        twist: twist of the tool (6,) [m/s, rad/s].
        push: result, normal forces (c,) [N].
    """
    c = contacts.shape[0]
    MS, factor = np.zeros((c, 6)), np.empty((6, 6))
    delassus, wanted = np.empty((c, c)), np.empty(c)
    for i in range(c):
        assign_rows(factor, M)
        assign(MS[i, :3], planes[contacts[i]].normal)
        cholesky_solve(factor, MS[i])
    delassus_matrix(planes, contacts, MS, delassus)
    for i in range(c):
        plane = planes[contacts[i]]
        k = gains_along(gains, plane.normal, G, MS[i])
        wanted[i] = wanted_acceleration(settings, plane, memories[contacts[i]], twist, k)
    solve_pushes(delassus, wanted, push)
    for i in range(c):
        memories[contacts[i]].push = push[i]


@njit(cache=True, error_model="numpy", forceinline=True)
def tangential_friction(
    settings: Any, coefficients: np.ndarray, normal_force: float, v: np.ndarray, e: np.ndarray, force: np.ndarray
) -> None:
    """Computes the friction on the tool (3,) by model C, eq. (38) of Kikuuwe et al., under a normal force N.

    The normal force scales the law: with Phi' = N Phi, Phi'_Z(x) = N Phi_NZ(x).

    Args:
        settings: record of the type SETTINGS.
        coefficients: of the law per newton of normal force.
        normal_force: N [N], above 0.
        v: tangential velocity (3,) [m/s].
        e: elastic displacement (3,) [m]; updated in place.
        force: result [N].
    """
    K, B, period = settings.friction_stiffness, settings.friction_damping, settings.period
    Z = 1.0 / (B + period * K)
    trial = (v[0] + K * Z * e[0], v[1] + K * Z * e[1], v[2] + K * Z * e[2])
    unit, sticking = project(settings.friction_code, coefficients, 0, trial, Z * normal_force)
    for k in range(3):
        force[k] = -normal_force * unit[k]
        e[k] = e[k] + period * v[k] if sticking else Z * (B * e[k] - period * force[k])


@njit(cache=True, error_model="numpy", forceinline=True)
def friction_of_planes(
    settings: Any,
    coefficients: np.ndarray,
    planes: np.ndarray,
    contacts: np.ndarray,
    push: np.ndarray,
    twist: np.ndarray,
    sample: Any,
) -> None:
    """Writes the friction on the tool along the planes with a normal force to a record of the type SAMPLE [N].

    The law takes the velocity of the tool relative to the mean surface velocity, weighted by normal force, without the
    part in the space of the normals, which need not be perpendicular.
    """
    total, tangent, surface = 0.0, np.empty(3), np.zeros(3)
    for i in range(contacts.shape[0]):
        total += push[i]
        for k in range(3):
            surface[k] += push[i] * planes[contacts[i]].velocity[k]
    if settings.friction_code < 0 or not total > 0.0:
        for k in range(3):
            sample.elastic_displacement[k], sample.friction[k] = 0.0, 0.0
        return
    for k in range(3):
        tangent[k] = twist[k] - surface[k] / total
    normals, basis, count = np.empty((contacts.shape[0], 3)), np.zeros((3, 3)), 0
    for i in range(contacts.shape[0]):
        if push[i] > 0.0:
            for k in range(3):
                normals[count, k] = planes[contacts[i]].normal[k]
            count += 1
    rank = write_normal_basis(normals[:count], basis)
    remove_normal_part(basis, rank, tangent)
    remove_normal_part(basis, rank, sample.elastic_displacement)
    tangential_friction(settings, coefficients, total, tangent, sample.elastic_displacement, sample.friction)


@njit(cache=True, error_model="numpy")
def sharing_weight(
    planes: np.ndarray, contacts: np.ndarray, push: np.ndarray, G: np.ndarray, weight: np.ndarray
) -> None:
    """Writes G Wt G^T (6, 6); Wt weighs force along the normals, and moments, more than force across them."""
    W = np.zeros((6, 6))
    for k in range(6):
        W[k, k] = SHARING_ACROSS if k < 3 else SHARING_ALONG
    for i in range(contacts.shape[0]):
        if push[i] > 0.0:
            normal = planes[contacts[i]].normal
            for a in range(3):
                for e in range(3):
                    outer = normal[a] * normal[e]
                    W[a, e] += (SHARING_ALONG - SHARING_ACROSS) * outer
    for a in range(6):
        for e in range(6):
            weight[a, e] = 0.0
            for k in range(6):
                for m in range(6):
                    weight[a, e] += G[a, k] * W[k, m] * G[e, m]


@njit(cache=True, error_model="numpy")
def limit_torques(
    settings: Any, planes: np.ndarray, contacts: np.ndarray, push: np.ndarray, G: np.ndarray, torque: np.ndarray
) -> bool:
    """Brings joint torques (6,) within the limits; returns whether one was beyond."""
    peak = settings.peak
    saturated = False
    for j in range(6):
        saturated = saturated or abs(torque[j]) > peak
    if not saturated:
        return False
    if settings.exact_gravity or (settings.mode & laws.SHARING) != 0:
        weight, limited = np.empty((6, 6)), np.empty(6)
        sharing_weight(planes, contacts, push, G, weight)
        laws.share(weight, torque, peak, limited)
        assign(torque, limited)
    for j in range(6):
        torque[j] = min(max(torque[j], -peak), peak)
    return True
