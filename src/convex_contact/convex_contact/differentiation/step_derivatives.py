"""Derivatives of one step of a world with respect to the state before it and to its parameters.

The velocity v of the step solves r(v; q, v0, theta) = A (v - v*) - sum_k J_k^T gamma_k = 0, so that

    H dv = -(R_q dq + R_v dv0 + R_theta dtheta),    H = A + J^T G J.

The part A (v - v*) is differentiated for fixed v. For a free body it is

    m (v - v0) - dt (m g + f),    I (omega - omega0) - dt (tau - omega0 x I omega0),    I = R I_b R^T,

and for an articulated tree dt ID(q, v0, (v - v0)/dt) and linear terms, ID being inverse dynamics, of which Pinocchio
gives the derivatives. A contact at p with normal n acts on its bodies with wrenches of the force f = F^T gamma, F its
frame; with the tangents xi of the bodies' poses (see `geometry_derivatives`), r_s = p - c_s and dF = [dn-turn] F,

    dgamma = gamma_v dv_c + gamma_phi dphi + gamma_vn0 dv_n0 + gamma_w dw + gamma_e de + gamma_theta dtheta,
    dv_c = F (dDelta - turn x Delta),    Delta = sum_s +-(V_s + omega_s x r_s),
    df = F^T dgamma + turn x f,          d(moment) = dr_s x f + r_s x df.

w = ||D||_F/3 with D = sum_t Q_t A_t^-1 Q_t^T (Q: the contact's Jacobian in world axes) depends on r_s and A only.

The elastic displacement of `lagged_elastoplastic` passes from step to step as a vector x of the world together with the
normal n on which it lies; the new contact reads e = F x'' with x'' carried by the smallest rotation and the mean spin.

`differentiate_contacts` does this for the contacts that bear force, in their trees' velocities (slots of width d).
"""

from __future__ import annotations

import numpy as np
from numba import njit

from convex_contact.differentiation.body_derivatives import add_blocks as add_blocks
from convex_contact.differentiation.body_derivatives import add_contact_blocks as add_contact_blocks
from convex_contact.differentiation.body_derivatives import differentiate_free_bodies as differentiate_free_bodies
from convex_contact.differentiation.body_derivatives import rotation_step as rotation_step
from convex_contact.differentiation.delassus_derivatives import differentiate_delassus_norm
from convex_contact.differentiation.elastic_derivatives import differentiate_memory, differentiate_transport
from convex_contact.differentiation.impulse_derivatives import (
    B_T,
    ELASTIC,
    K_T,
    MOBILITY,
    PARTIALS,
    PHI,
    STIFFNESS,
    V_N0,
    partial_derivatives,
)
from convex_contact.differentiation.impulse_derivatives import DISSIPATION as DISSIPATION
from convex_contact.differentiation.impulse_derivatives import FRICTION as FRICTION
from convex_contact.differentiation.impulse_derivatives import RELAXATION_TIME as RELAXATION_TIME
from convex_contact.differentiation.impulse_derivatives import VELOCITY as VELOCITY
from convex_contact.differentiation.impulse_derivatives import bearing as bearing
from convex_contact.differentiation.records import ContactDerivatives, Points, Trees, points_of, trees_of
from convex_contact.differentiation.small_vectors import add_cross, add_scaled, dot, invert_leading
from convex_contact.model.arrays import ContactRecord, WorldRecord
from convex_contact.problem import contact_kernels as kernels


@njit(cache=True, nogil=True, error_model="numpy")
def _map(w: Trees, body: int, out: np.ndarray) -> None:
    """Jacobian (6, d) of a moving body's twist at its pose's origin."""
    out[:] = 0.0
    link = w.body_link[body]
    if link < 0:
        for i in range(6):
            out[i, i] = 1.0
    else:
        out[:] = w.link_jacobian[link]


@njit(cache=True, nogil=True, error_model="numpy")
def _kinematics(
    w: Trees,
    c: Points,
    k: int,
    poses: np.ndarray,
    start: np.ndarray,
    velocity: np.ndarray,
    maps: tuple[np.ndarray, ...],
    slots: np.ndarray,
    twist: np.ndarray,
    twist0: np.ndarray,
    r: np.ndarray,
    Delta: np.ndarray,
    Delta0: np.ndarray,
    J: np.ndarray,
) -> None:
    """Levers, twists at the end and the start, their maps from the trees' velocities, and the contact's Jacobian."""
    T, P, V_q, V0_q, link_hessian = maps
    F, d = c.frame[k], J.shape[1] // 2
    for side in range(2):
        b = c.body[k, side]
        sign = 2.0 * side - 1.0
        tree, link = w.body_tree[b], w.body_link[b]
        slots[side] = -1
        if tree >= 0:
            slots[side] = 0 if c.tree[k, 0] == tree else 1
            _map(w, b, T[side])
        for i in range(3):
            r[side, i] = c.point[k, i] - poses[b, 9 + i]
        for i in range(6):
            twist0[side, i] = twist[side, i] = w.body_twist[b, i]
            if tree >= 0:
                x = 0.0
                for j in range(w.tree_v[tree + 1] - w.tree_v[tree]):
                    x += T[side, i, j] * velocity[w.tree_v[tree] + j]
                twist[side, i] = x
        if link >= 0:
            V_q[side], V0_q[side] = 0.0, 0.0
            for i in range(w.tree_v[tree + 1] - w.tree_v[tree]):
                a, a0 = velocity[w.tree_v[tree] + i], start[w.tree_v[tree] + i]
                for row in range(6):
                    for j in range(d):
                        V_q[side, row, j] += link_hessian[link, row, i, j] * a
                        V0_q[side, row, j] += link_hessian[link, row, i, j] * a0
        for i in range(3):
            f = F[i]
            P[side, i, 0], P[side, i, 1], P[side, i, 2] = sign * f[0], sign * f[1], sign * f[2]
            P[side, i, 3] = sign * (r[side, 1] * f[2] - r[side, 2] * f[1])
            P[side, i, 4] = sign * (r[side, 2] * f[0] - r[side, 0] * f[2])
            P[side, i, 5] = sign * (r[side, 0] * f[1] - r[side, 1] * f[0])
            if slots[side] >= 0:
                for j in range(d):
                    x = 0.0
                    for row in range(6):
                        x += P[side, i, row] * T[side, row, j]
                    J[i, slots[side] * d + j] += x
        for i in range(3):
            Delta[i] += sign * twist[side, i]
            Delta0[i] += sign * twist0[side, i]
        add_cross(sign, twist[side, 3:], r[side], Delta)
        add_cross(sign, twist0[side, 3:], r[side], Delta0)


@njit(cache=True, nogil=True, error_model="numpy")
def _by_tangents(
    F: np.ndarray,
    D: np.ndarray,
    relative: tuple[np.ndarray, ...],
    partial: np.ndarray,
    E_x: np.ndarray,
    force: np.ndarray,
    G_x: np.ndarray,
    W_x: np.ndarray,
) -> None:
    """Derivatives of a contact's impulse (3, 12) and wrenches (2, 6, 12) by its bodies' tangents, at fixed twists."""
    twist, twist0, r, Delta, Delta0, by_r = relative
    turn, dr, dDelta, dDelta0, df = np.zeros(3), np.zeros((2, 3)), np.zeros(3), np.zeros(3), np.zeros(3)
    n = F[2]
    for j in range(12):
        turn[:], dDelta[:], dDelta0[:], df[:] = 0.0, 0.0, 0.0, 0.0
        add_cross(1.0, n, D[4:, j], turn)
        dw = 0.0
        for side in range(2):
            sign = 2.0 * side - 1.0
            for i in range(3):
                dr[side, i] = D[1 + i, j] - (1.0 if j == 6 * side + i else 0.0)
                dw += by_r[side, i] * dr[side, i]
            add_cross(sign, twist[side, 3:], dr[side], dDelta)
            add_cross(sign, twist0[side, 3:], dr[side], dDelta0)
        add_cross(-1.0, turn, Delta, dDelta)
        add_cross(-1.0, turn, Delta0, dDelta0)
        dv_n0 = dot(n, dDelta0)
        for i in range(3):
            x = partial[i, PHI] * D[0, j] + partial[i, V_N0] * dv_n0 + partial[i, MOBILITY] * dw
            x += partial[i, ELASTIC] * E_x[0, j] + partial[i, ELASTIC + 1] * E_x[1, j]
            for a in range(3):
                x += partial[i, a] * dot(F[a], dDelta)
            G_x[i, j] = x
            add_scaled(x, F[i], df)
        add_cross(1.0, turn, force, df)
        for side in range(2):
            sign = 2.0 * side - 1.0
            column = W_x[side, :, j]
            column[:] = 0.0
            add_scaled(sign, df, column)
            add_cross(sign, dr[side], force, column[3:])
            add_cross(sign, r[side], df, column[3:])


@njit(cache=True, nogil=True, error_model="numpy")
def _in_trees(
    w: Trees,
    c: Points,
    k: int,
    slots: np.ndarray,
    maps: tuple[np.ndarray, ...],
    wrench: np.ndarray,
    partial: np.ndarray,
    w_q: np.ndarray,
    G_x: np.ndarray,
    W_x: np.ndarray,
    elastic_by: tuple[np.ndarray, ...],
    G: np.ndarray,
    J: np.ndarray,
    R_q: np.ndarray,
    R_fixed: np.ndarray,
) -> None:
    """From bodies to trees.

    Fills G (3, 3, 2 d): dgamma by q at fixed poses (twists and w change), by v0, by v. Adds to R_q and R_fixed what
    the poses and the maps of the wrenches do.
    """
    T, _, _, _, link_hessian = maps
    _, E_0, _ = elastic_by
    d = J.shape[1] // 2
    for i in range(3):
        for j in range(2 * d):
            G[0, i, j] = partial[i, MOBILITY] * w_q[j]
            G[1, i, j] = partial[i, V_N0] * J[2, j]
            for a in range(3):
                G[2, i, j] += partial[i, a] * J[a, j]
    pushed = np.zeros((2 * d, 12))  # T^T dW
    for side in range(2):
        if slots[side] < 0:
            continue
        for i in range(d):
            for row in range(6):
                t = T[side, row, i]
                for j in range(12):
                    pushed[slots[side] * d + i, j] += t * W_x[side, row, j]
    for side in range(2):
        slot, link = slots[side], w.body_link[c.body[k, side]]
        if slot < 0:
            for i in range(2 * d):
                for j in range(6):
                    R_fixed[i, j] += pushed[i, 6 * side + j]
            continue
        for i in range(2 * d):
            for row in range(6):
                x = pushed[i, 6 * side + row]
                for j in range(d):
                    R_q[i, slot * d + j] += x * T[side, row, j]
        for i in range(3):
            for row in range(3, 6):
                x = 0.0
                for a in range(2):
                    x += partial[i, ELASTIC + a] * E_0[a, 6 * side + row]
                for j in range(d):
                    G[1, i, slot * d + j] += x * T[side, row, j]
        if link >= 0:
            _add_link_part(link, slot, side, maps, wrench, partial, E_0, link_hessian, G, R_q)


@njit(cache=True, nogil=True, error_model="numpy")
def _add_link_part(
    link: int,
    slot: int,
    side: int,
    maps: tuple[np.ndarray, ...],
    wrench: np.ndarray,
    partial: np.ndarray,
    E_0: np.ndarray,
    link_hessian: np.ndarray,
    G: np.ndarray,
    R_q: np.ndarray,
) -> None:
    """Adds what the twists of a link at fixed joint velocities do, and the map of its wrench."""
    _, P, V_q, V0_q, _ = maps
    d = link_hessian.shape[2]
    for i in range(3):
        for row in range(6):
            now, before = 0.0, partial[i, V_N0] * P[side, 2, row]
            for a in range(3):
                now += partial[i, a] * P[side, a, row]
            for a in range(2):
                before += partial[i, ELASTIC + a] * E_0[a, 6 * side + row]
            for j in range(d):
                G[0, i, slot * d + j] += now * V_q[side, row, j] + before * V0_q[side, row, j]
    for row in range(6):
        x = wrench[side, row]
        for i in range(d):
            for j in range(d):
                R_q[slot * d + i, slot * d + j] += link_hessian[link, row, i, j] * x


@njit(cache=True, nogil=True, error_model="numpy")
def _load_parameters(
    c: Points, k: int, elastic: np.ndarray, tangential: tuple[float, float], parameters: np.ndarray
) -> None:
    """Writes what `partial_derivatives` takes of contact k."""
    parameters[0], parameters[1], parameters[2] = c.phi0[k], c.v_n0[k], c.stiffness[k]
    parameters[3], parameters[4], parameters[5] = c.dissipation[k], c.relaxation_time[k], c.friction[k]
    parameters[6], parameters[7] = elastic[k, 0], elastic[k, 1]
    parameters[8] = tangential[0] if tangential[0] > 0.0 else c.stiffness[k]
    parameters[9] = tangential[1]


@njit(cache=True, nogil=True, error_model="numpy")
def _keep_partials(partial: np.ndarray, own_stiffness: bool, theta: np.ndarray, mobility: np.ndarray) -> None:
    """Writes dgamma by k, d, tau_d, mu, k_t, b_t (3, 6) and by w (3,); without an own k_t, k is k_t, too."""
    if not own_stiffness:
        for i in range(3):
            partial[i, STIFFNESS] += partial[i, K_T]
    for i in range(3):
        for j in range(4):
            theta[i, j] = partial[i, STIFFNESS + j]
        theta[i, 4], theta[i, 5] = partial[i, K_T], partial[i, B_T]
        mobility[i] = partial[i, MOBILITY]


@njit(cache=True, nogil=True, error_model="numpy")
def _find_wrenches(F: np.ndarray, gamma: np.ndarray, r: np.ndarray, force: np.ndarray, wrench: np.ndarray) -> None:
    """Adds F^T gamma to the force (3,), and writes its wrenches on both bodies (2, 6)."""
    for i in range(3):
        for a in range(3):
            force[i] += F[a, i] * gamma[a]
    for side in range(2):
        sign = 2.0 * side - 1.0
        wrench[side] = 0.0
        add_scaled(sign, force, wrench[side])
        add_cross(sign, r[side], force, wrench[side, 3:])


@njit(cache=True, nogil=True, error_model="numpy")
def _add_products(J: np.ndarray, G: np.ndarray, R_q: np.ndarray, R_v: np.ndarray, R_end: np.ndarray) -> None:
    """Adds J^T G of q to R_q, and writes those of v0 and v."""
    for i in range(J.shape[1]):
        for j in range(J.shape[1]):
            x = y = z = 0.0
            for a in range(3):
                x += J[a, i] * G[0, a, j]
                y += J[a, i] * G[1, a, j]
                z += J[a, i] * G[2, a, j]
            R_q[i, j] += x
            R_v[i, j] = y
            R_end[i, j] = z


# Longer than others: arguments, working arrays and one call after the other.
@njit(cache=True, nogil=True, error_model="numpy")
def differentiate_contacts(
    world: WorldRecord,
    contacts: ContactRecord,
    setting: tuple[int, int, np.ndarray, tuple[float, float, float, float], tuple[float, float]],
    poses: np.ndarray,
    start: np.ndarray,
    velocity: np.ndarray,
    vc: np.ndarray,
    elastic: np.ndarray,
    memory: np.ndarray,
    geometry: np.ndarray,
    chosen: np.ndarray,
    link_hessian: np.ndarray,
    mass_hessian: np.ndarray,
    out: ContactDerivatives,
) -> None:
    """Derivatives of the contacts' impulses and of J^T gamma of a step.

    A contact has two slots for its trees, of d velocities each, side by side (2 d columns).

    Args:
        world: As `prepare` and the query left it.
        contacts: Of the query.
        setting: Approximation, law, addresses, (dt, v_s, sigma, beta), (k_t or 0, b_t).
        poses: Of the bodies at the query (nb, 12).
        start: v0 (nv,).
        velocity: The solution (nv,).
        vc: Contact velocities at the solution (n, 3).
        elastic: Elastic displacements at the start of the step (n, 2), m.
        memory: Elastic displacement x and normal (6,) of each contact at the end of the step before (n, 6), world.
        geometry: d(phi, p, n) (n, 7, 12).
        chosen: Numbers of the contacts (m,).
        link_hessian: Derivative of `link_jacobian` by the tree's tangent (links, 6, d, d): entry, column, tangent.
        mass_hessian: Of A by it (trees, d, d, d), where w matters.
        out: Zeros (`new_derivatives`), where the derivatives go.
    """
    approximation, law, addresses, numbers, tangential = setting
    w, c, dt = trees_of(world), points_of(contacts), numbers[0]
    d = w.A.shape[1]
    with_w = kernels.needs_mobility(approximation)
    elastoplastic = approximation == kernels.LAGGED_ELASTOPLASTIC
    inverse = np.zeros((w.A.shape[0], d, d))
    if with_w:
        for t in range(w.A.shape[0]):
            invert_leading(w.A[t], w.tree_v[t + 1] - w.tree_v[t], inverse[t])
    partial, parameters = np.zeros((3, PARTIALS)), np.zeros(10)
    T, P = np.zeros((2, 6, d)), np.zeros((2, 3, 6))
    twist0, twist = np.zeros((2, 6)), np.zeros((2, 6))
    r, wrench = np.zeros((2, 3)), np.zeros((2, 6))
    V_q, V0_q = np.zeros((2, 6, d)), np.zeros((2, 6, d))
    maps = (T, P, V_q, V0_q, link_hessian)
    by_r, w_q = np.zeros((2, 3)), np.zeros(2 * d)
    slots = np.zeros(2, dtype=np.int64)
    G_x, W_x = np.zeros((3, 12)), np.zeros((2, 6, 12))
    E_x, E_0, E_m = np.zeros((2, 12)), np.zeros((2, 12)), np.zeros((2, 6))
    G = np.zeros((3, 3, 2 * d))
    for index in range(chosen.shape[0]):
        k = chosen[index]
        F = c.frame[k]
        D = geometry[k]
        J = out.J[index]
        Delta, Delta0 = np.zeros(3), np.zeros(3)
        _kinematics(w, c, k, poses, start, velocity, maps, slots, twist, twist0, r, Delta, Delta0, J)

        # w and its derivatives
        size, by_r[:], w_q[:] = 1.0, 0.0, 0.0
        if with_w:
            size = differentiate_delassus_norm(
                w, c, k, slots, r, T, J, inverse, link_hessian, mass_hessian, out.by_mass[index], by_r, w_q
            )

        _load_parameters(c, k, elastic, tangential, parameters)
        gamma = out.gamma[index]
        partial_derivatives(approximation, law, addresses, numbers, size, parameters, vc[k], gamma, partial)
        _keep_partials(partial, tangential[0] > 0.0, out.theta[index], out.mobility[index])
        force = np.zeros(3)
        _find_wrenches(F, gamma, r, force, wrench)

        # the elastic displacement at the start, from the memory
        E_x[:], E_0[:], E_m[:] = 0.0, 0.0, 0.0
        if elastoplastic:
            differentiate_transport(dt, memory[k], F, twist0, D, E_x, E_0, E_m)

        relative = (twist, twist0, r, Delta, Delta0, by_r)
        _by_tangents(F, D, relative, partial, E_x, force, G_x, W_x)
        elastic_by = (E_x, E_0, E_m)
        G[:] = 0.0
        _in_trees(
            w, c, k, slots, maps, wrench, partial, w_q, G_x, W_x, elastic_by, G, J, out.R_q[index], out.R_fixed[index]
        )
        _add_products(J, G, out.R_q[index], out.R_v[index], out.R_end[index])
        if not elastoplastic:
            continue
        for i in range(3):
            for j in range(6):
                out.past[index, i, j] = partial[i, ELASTIC] * E_m[0, j] + partial[i, ELASTIC + 1] * E_m[1, j]
        kept = (
            out.memory[index], out.memory_q[index], out.memory_v[index], out.memory_end[index], out.memory_past[index],
            out.memory_theta[index], out.memory_fixed[index],
        )  # fmt: skip
        differentiate_memory(
            w, c, k, slots, maps, dt, parameters, tangential[0] > 0.0, gamma, G, G_x, elastic_by, D, out.past[index],
            out.theta[index], kept,
        )  # fmt: skip
