"""Derivatives of the elastic displacement of `lagged_elastoplastic` from step to step."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from convex_contact.differentiation.impulse_derivatives import ELASTIC
from convex_contact.differentiation.records import (
    ContactDerivatives,
    ContactMotion,
    ContactPartials,
    Points,
    StepSetting,
    Trees,
)
from convex_contact.differentiation.small_vectors import add_cross, add_scaled, dot
from convex_contact.problem.contact_kernels import ELASTIC_DISPLACEMENT, TANGENTIAL_DAMPING, TANGENTIAL_STIFFNESS
from convex_contact.problem.elastoplastic import update_elastic_displacement


@njit(cache=True, nogil=True, error_model="numpy")
def differentiate_transport(
    dt: float,
    memory: np.ndarray,
    F: np.ndarray,
    twist0: np.ndarray,
    D: np.ndarray,
    out: ContactPartials,
) -> None:
    """Computes derivatives of e at the start of the step by the tangents, the twists before it, and the memory.

    x' = x - s (n0 + n), s = n.x/(1 + n.n0), and e = F (cos(a) x' + sin(a) n x x'), a = dt/2 n.(omega_A + omega_B).
    """
    E_x, E_0, E_m = out.E_x, out.E_0, out.E_m
    E_x[:], E_0[:], E_m[:] = 0.0, 0.0, 0.0
    n, x, n0 = F[2], memory[:3], memory[3:]
    omega, transported, perpendicular, rotated = np.zeros(3), np.zeros(3), np.zeros(3), np.zeros(3)
    add_scaled(1.0, twist0[0, 3:], omega)
    add_scaled(1.0, twist0[1, 3:], omega)
    cosine = dot(n, n0)
    denominator, angle = 1.0 + cosine, 0.5 * dt * dot(n, omega)
    fraction = dot(n, x) / denominator if cosine > -1.0 + 1e-12 else 0.0
    add_scaled(1.0, x, transported)
    add_scaled(-fraction, n0, transported)
    add_scaled(-fraction, n, transported)
    cos, sin = math.cos(angle), math.sin(angle)
    add_cross(1.0, n, transported, perpendicular)
    add_scaled(cos, transported, rotated)
    add_scaled(sin, perpendicular, rotated)
    dn, dx, dn0, domega = np.zeros(3), np.zeros(3), np.zeros(3), np.zeros(3)
    dtransported, change, spin = np.zeros(3), np.zeros(3), np.zeros(3)
    for j in range(30):
        dn[:], dx[:], dn0[:], domega[:], dtransported[:], change[:], spin[:] = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        if j < 12:
            add_scaled(1.0, D[4:, j], dn)
        elif j < 24:
            if (j - 12) % 6 < 3:
                continue
            domega[(j - 12) % 6 - 3] = 1.0
        elif j < 27:
            dx[j - 24] = 1.0
        else:
            dn0[j - 27] = 1.0
        dfraction = (dot(dn, x) + dot(n, dx) - fraction * (dot(dn, n0) + dot(n, dn0))) / denominator
        add_scaled(1.0, dx, dtransported)
        add_scaled(-dfraction, n0, dtransported)
        add_scaled(-dfraction, n, dtransported)
        add_scaled(-fraction, dn0, dtransported)
        add_scaled(-fraction, dn, dtransported)
        dangle = 0.5 * dt * (dot(dn, omega) + dot(n, domega))
        add_scaled(cos, dtransported, change)
        add_scaled(cos * dangle, perpendicular, change)
        add_scaled(-sin * dangle, transported, change)
        add_cross(sin, dn, transported, change)
        add_cross(sin, n, dtransported, change)
        add_cross(1.0, n, dn, spin)  # of the frame
        add_cross(-1.0, spin, rotated, change)
        for i in range(2):
            value = dot(F[i], change)
            if j < 12:
                E_x[i, j] = value
            elif j < 24:
                E_0[i, j - 12] = value
            else:
                E_m[i, j - 24] = value


# Longer than others by its arguments and their documentation.
@njit(cache=True, nogil=True, error_model="numpy")
def differentiate_memory(
    w: Trees,
    c: Points,
    k: int,
    motion: ContactMotion,
    y: ContactPartials,
    setting: StepSetting,
    D: np.ndarray,
    out: ContactDerivatives,
    index: int,
) -> None:
    """Computes the memory [x; n] of a contact and its derivatives.

    x = F^T e_new is the elastic displacement in the world, e_new = (b_t e - gamma_t)/(b_t + dt k_t), and n the normal.
    """
    slots, T, V0_q, E_x, E_0, E_m, G, G_x = motion.slots, motion.T, motion.V0_q, y.E_x, y.E_0, y.E_m, y.G, y.G_x
    gamma, past, theta, memory = out.gamma[index], out.past[index], out.theta[index], out.memory[index]
    M_q, M_v, M_end = out.memory_q[index], out.memory_v[index], out.memory_end[index]
    M_past, M_theta, M_fixed = out.memory_past[index], out.memory_theta[index], out.memory_fixed[index]
    for i in range(3):
        for j in range(6):
            past[i, j] = y.partial[i, ELASTIC] * E_m[0, j] + y.partial[i, ELASTIC + 1] * E_m[1, j]
    d = M_q.shape[1] // 2
    F, n = c.frame[k], c.frame[k, 2]
    X_x, rotation = np.zeros((6, 12)), np.zeros(3)  # by the tangents
    for i in range(3):
        memory[3 + i] = n[i]
        for j in range(12):
            X_x[3 + i, j] = D[4 + i, j]
    dt, e = setting.law.period, y.parameters[ELASTIC_DISPLACEMENT:]
    kt, bt = y.parameters[TANGENTIAL_STIFFNESS], y.parameters[TANGENTIAL_DAMPING]
    kappa = bt + dt * kt
    if c.phi0[k] < 0.0:
        for a in range(2):
            left = update_elastic_displacement(kt, bt, dt, e[a], gamma[a])
            add_scaled(left, F[a], memory)
            for i in range(3):
                f = F[a, i] / kappa
                for j in range(12):
                    X_x[i, j] += f * (bt * E_x[a, j] - G_x[a, j])
                for j in range(2 * d):
                    M_q[i, j] -= f * G[0, a, j]
                    M_v[i, j] -= f * G[1, a, j]
                    M_end[i, j] -= f * G[2, a, j]
                for j in range(6):
                    M_past[i, j] += f * (bt * E_m[a, j] - past[a, j])
                    M_theta[i, j] -= f * theta[a, j]
                M_theta[i, 4 if setting.tangential_stiffness > 0.0 else 0] -= f * dt * left
                M_theta[i, 5] += f * (e[a] - left)
                for side in range(2):
                    slot = slots[side]
                    if slot < 0:
                        continue
                    for row in range(3, 6):
                        x = f * bt * E_0[a, 6 * side + row]
                        for j in range(d):
                            M_v[i, slot * d + j] += x * T[side, row, j]
                            if w.body_link[c.body[k, side]] >= 0:
                                M_q[i, slot * d + j] += x * V0_q[side, row, j]
        for j in range(12):
            rotation[:] = 0.0
            add_cross(1.0, n, D[4:, j], rotation)
            add_cross(1.0, rotation, memory, X_x[:, j])
    for side in range(2):
        for i in range(6):
            for row in range(6):
                x = X_x[i, 6 * side + row]
                if slots[side] < 0:
                    M_fixed[i, row] = x
                    continue
                for j in range(d):
                    M_q[i, slots[side] * d + j] += x * T[side, row, j]
