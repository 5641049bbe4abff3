"""Derivatives of one step of a world with respect to the state before it and to its parameters.

The velocity v of the step solves r(v; q, v0, theta) = A (v - v*) - sum_k J_k^T gamma_k = 0, so that

    H dv = -(R_q dq + R_v dv0 + R_theta dtheta),    H = A + J^T G J.

The part A (v - v*) is differentiated for fixed v. For a free body it is

    m (v - v0) - dt (m g + f),    I (omega - omega0) - dt (tau - omega0 x I omega0),    I = R I_b R^T,

and for an articulated tree dt ID(q, v0, (v - v0)/dt) and linear terms, with inverse dynamics ID, which Pinocchio
differentiates. A contact at p with normal n acts on its bodies with wrenches of the force f = F^T gamma. Its frame F
rotates by psi = n x dn. With the tangents xi of the bodies' poses (see `geometry_derivatives`) and r_s = p - c_s,

    dgamma = gamma_v dv_c + gamma_phi dphi + gamma_vn0 dv_n0 + gamma_w dw + gamma_e de + gamma_theta dtheta,
    dv_c = F (dDelta - psi x Delta),    Delta = sum_s +-(V_s + omega_s x r_s),
    df = F^T dgamma + psi x f,          d(moment) = dr_s x f + r_s x df.

w = ||D||_F/3 with D = sum_t Q_t A_t^-1 Q_t^T (Q: the contact's Jacobian in world axes) depends on r_s and A only.

The elastic displacement of `lagged_elastoplastic` is transported from step to step as a vector x in the world, together
with the contact's normal n. The new contact has e = F x''; x'' is x after the smallest rotation and the mean spin.

`differentiate_contacts` computes these derivatives for contacts with nonzero impulse or derivatives, by the velocities
of their trees (slots of width d).
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
    DELASSUS_NORM,
    ELASTIC,
    K_T,
    PHI,
    STIFFNESS,
    V_N0,
    partial_derivatives,
)
from convex_contact.differentiation.impulse_derivatives import DISSIPATION as DISSIPATION
from convex_contact.differentiation.impulse_derivatives import FRICTION as FRICTION
from convex_contact.differentiation.impulse_derivatives import PARTIALS as PARTIALS
from convex_contact.differentiation.impulse_derivatives import RELAXATION_TIME as RELAXATION_TIME
from convex_contact.differentiation.impulse_derivatives import VELOCITY as VELOCITY
from convex_contact.differentiation.impulse_derivatives import find_active_contacts as find_active_contacts
from convex_contact.differentiation.records import (
    ContactDerivatives,
    ContactMotion,
    ContactPartials,
    Points,
    StepMotion,
    StepSetting,
    Trees,
    new_motion,
    new_partials,
    points_of,
    trees_of,
)
from convex_contact.differentiation.small_vectors import add_cross, add_scaled, dot, invert_leading
from convex_contact.model.arrays import ContactRecord, WorldRecord
from convex_contact.problem import contact_kernels as kernels
from haptic_files.moved_modules import renamed
from haptic_math.array_assignment import assign_rows


@njit(cache=True, nogil=True, error_model="numpy")
def _twist_jacobian(w: Trees, body: int, out: np.ndarray) -> None:
    """Writes the Jacobian (6, d) of a moving body's twist at its pose's origin, world axes."""
    out[:] = 0.0
    link = w.body_link[body]
    if link < 0:
        for i in range(6):
            out[i, i] = 1.0
    else:
        assign_rows(out, w.link_jacobian[link])


@njit(cache=True, nogil=True, error_model="numpy")
def _kinematics(
    w: Trees,
    c: Points,
    k: int,
    motion: StepMotion,
    link_hessian: np.ndarray,
    x: ContactMotion,
    J: np.ndarray,
) -> None:
    """Computes the fields of `x` except force and wrench, and the contact's Jacobian J (3, 2d), zero before."""
    poses, start, velocity = motion.poses, motion.start, motion.velocity
    slots, T, P, V_q, V0_q, twist, twist0, r = x.slots, x.T, x.P, x.V_q, x.V0_q, x.twist, x.twist0, x.r
    F, d = c.frame[k], J.shape[1] // 2
    x.Delta[:], x.Delta0[:] = 0.0, 0.0
    for side in range(2):
        b = c.body[k, side]
        sign = 2.0 * side - 1.0
        tree, link = w.body_tree[b], w.body_link[b]
        slots[side] = -1
        if tree >= 0:
            slots[side] = 0 if c.tree[k, 0] == tree else 1
            _twist_jacobian(w, b, T[side])
        for i in range(3):
            r[side, i] = c.point[k, i] - poses[b, 9 + i]
        for i in range(6):
            twist0[side, i] = twist[side, i] = w.body_twist[b, i]
            if tree >= 0:
                total = 0.0
                for j in range(w.tree_v[tree + 1] - w.tree_v[tree]):
                    total += T[side, i, j] * velocity[w.tree_v[tree] + j]
                twist[side, i] = total
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
                    total = 0.0
                    for row in range(6):
                        total += P[side, i, row] * T[side, row, j]
                    J[i, slots[side] * d + j] += total
        for i in range(3):
            x.Delta[i] += sign * twist[side, i]
            x.Delta0[i] += sign * twist0[side, i]
        add_cross(sign, twist[side, 3:], r[side], x.Delta)
        add_cross(sign, twist0[side, 3:], r[side], x.Delta0)


@njit(cache=True, nogil=True, error_model="numpy")
def _by_tangents(F: np.ndarray, D: np.ndarray, motion: ContactMotion, y: ContactPartials) -> None:
    """Computes G_x and W_x from D = d(phi, p, n) by the bodies' tangents (7, 12)."""
    twist, twist0, r, force = motion.twist, motion.twist0, motion.r, motion.force
    partial, E_x, G_x, W_x = y.partial, y.E_x, y.G_x, y.W_x
    psi, dr, dDelta, dDelta0, df = np.zeros(3), np.zeros((2, 3)), np.zeros(3), np.zeros(3), np.zeros(3)
    n = F[2]
    for j in range(12):
        psi[:], dDelta[:], dDelta0[:], df[:] = 0.0, 0.0, 0.0, 0.0
        add_cross(1.0, n, D[4:, j], psi)
        dw = 0.0
        for side in range(2):
            sign = 2.0 * side - 1.0
            for i in range(3):
                dr[side, i] = D[1 + i, j] - (1.0 if j == 6 * side + i else 0.0)
                dw += y.w_r[side, i] * dr[side, i]
            add_cross(sign, twist[side, 3:], dr[side], dDelta)
            add_cross(sign, twist0[side, 3:], dr[side], dDelta0)
        add_cross(-1.0, psi, motion.Delta, dDelta)
        add_cross(-1.0, psi, motion.Delta0, dDelta0)
        dv_n0 = dot(n, dDelta0)
        for i in range(3):
            x = partial[i, PHI] * D[0, j] + partial[i, V_N0] * dv_n0 + partial[i, DELASSUS_NORM] * dw
            x += partial[i, ELASTIC] * E_x[0, j] + partial[i, ELASTIC + 1] * E_x[1, j]
            for a in range(3):
                x += partial[i, a] * dot(F[a], dDelta)
            G_x[i, j] = x
            add_scaled(x, F[i], df)
        add_cross(1.0, psi, force, df)
        for side in range(2):
            sign = 2.0 * side - 1.0
            column = W_x[side, :, j]
            column[:] = 0.0
            add_scaled(sign, df, column)
            add_cross(sign, dr[side], force, column[3:])
            add_cross(sign, r[side], df, column[3:])


@njit(cache=True, nogil=True, error_model="numpy")
def _map_to_trees(
    w: Trees,
    c: Points,
    k: int,
    link_hessian: np.ndarray,
    motion: ContactMotion,
    y: ContactPartials,
    J: np.ndarray,
    R_q: np.ndarray,
    R_fixed: np.ndarray,
) -> None:
    """Maps derivatives by the bodies' tangents and twists to the trees: computes G, and adds to R_q and R_fixed."""
    slots, T, partial, E_0, W_x, G, w_q = motion.slots, motion.T, y.partial, y.E_0, y.W_x, y.G, y.w_q
    d = J.shape[1] // 2
    G[:] = 0.0
    for i in range(3):
        for j in range(2 * d):
            G[0, i, j] = partial[i, DELASSUS_NORM] * w_q[j]
            G[1, i, j] = partial[i, V_N0] * J[2, j]
            for a in range(3):
                G[2, i, j] += partial[i, a] * J[a, j]
    generalised = np.zeros((2 * d, 12))  # T^T dW
    for side in range(2):
        if slots[side] < 0:
            continue
        for i in range(d):
            for row in range(6):
                t = T[side, row, i]
                for j in range(12):
                    generalised[slots[side] * d + i, j] += t * W_x[side, row, j]
    for side in range(2):
        slot, link = slots[side], w.body_link[c.body[k, side]]
        if slot < 0:
            for i in range(2 * d):
                for j in range(6):
                    R_fixed[i, j] += generalised[i, 6 * side + j]
            continue
        for i in range(2 * d):
            for row in range(6):
                x = generalised[i, 6 * side + row]
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
            _add_link_part(link, side, link_hessian, motion, y, R_q)


@njit(cache=True, nogil=True, error_model="numpy")
def _add_link_part(
    link: int, side: int, link_hessian: np.ndarray, motion: ContactMotion, y: ContactPartials, R_q: np.ndarray
) -> None:
    """Adds the change of a link's Jacobian with q: of its twist at fixed velocities to G, of its wrench to R_q."""
    slot, P, V_q, V0_q = motion.slots[side], motion.P, motion.V_q, motion.V0_q
    partial, E_0, G = y.partial, y.E_0, y.G
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
        x = motion.wrench[side, row]
        for i in range(d):
            for j in range(d):
                R_q[slot * d + i, slot * d + j] += link_hessian[link, row, i, j] * x


@njit(cache=True, nogil=True, error_model="numpy")
def _load_parameters(c: Points, k: int, elastic: np.ndarray, setting: StepSetting, p: np.ndarray) -> None:
    """Writes the parameters of contact k for `partial_derivatives`."""
    p[kernels.PHI0], p[kernels.V_N0], p[kernels.STIFFNESS] = c.phi0[k], c.v_n0[k], c.stiffness[k]
    p[kernels.DISSIPATION], p[kernels.RELAXATION_TIME] = c.dissipation[k], c.relaxation_time[k]
    p[kernels.COEFFICIENT], p[kernels.M11], p[kernels.M22] = c.friction[k], 1.0, 1.0
    p[kernels.ELASTIC_DISPLACEMENT], p[kernels.ELASTIC_DISPLACEMENT + 1] = elastic[k, 0], elastic[k, 1]
    own = setting.tangential_stiffness
    p[kernels.TANGENTIAL_STIFFNESS] = own if own > 0.0 else c.stiffness[k]
    p[kernels.TANGENTIAL_DAMPING] = setting.tangential_damping


@njit(cache=True, nogil=True, error_model="numpy")
def _keep_partials(partial: np.ndarray, own_stiffness: bool, theta: np.ndarray, by_norm: np.ndarray) -> None:
    """Writes dgamma by k, d, tau_d, mu, k_t, b_t (3, 6) and by w (3,); without its own value, k_t equals k."""
    if not own_stiffness:
        for i in range(3):
            partial[i, STIFFNESS] += partial[i, K_T]
    for i in range(3):
        for j in range(4):
            theta[i, j] = partial[i, STIFFNESS + j]
        theta[i, 4], theta[i, 5] = partial[i, K_T], partial[i, B_T]
        by_norm[i] = partial[i, DELASSUS_NORM]


@njit(cache=True, nogil=True, error_model="numpy")
def _find_wrenches(F: np.ndarray, gamma: np.ndarray, motion: ContactMotion) -> None:
    """Computes the force F^T gamma, and its wrenches on both bodies."""
    force, r, wrench = motion.force, motion.r, motion.wrench
    force[:] = 0.0
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
    """Adds J^T G by q to R_q, and writes J^T G by v0 and by v to R_v and R_end."""
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


@njit(cache=True, nogil=True, error_model="numpy")
def differentiate_contacts(
    world: WorldRecord,
    contacts: ContactRecord,
    setting: StepSetting,
    motion: StepMotion,
    elastic: np.ndarray,
    memory: np.ndarray,
    geometry: np.ndarray,
    chosen: np.ndarray,
    link_hessian: np.ndarray,
    mass_hessian: np.ndarray,
    out: ContactDerivatives,
) -> None:
    """Differentiates the contacts' impulses and J^T gamma of a step.

    A contact has two slots for its trees, of d velocities each, side by side (2 d columns).

    Args:
        world: world after `prepare` and the query.
        contacts: contacts of the query.
        setting: setting of all contacts.
        motion: start and solution of the step.
        elastic: elastic displacements at the start of the step [m] (n, 2).
        memory: elastic displacement x and normal of each contact at the end of the previous step (n, 6), world axes.
        geometry: d(phi, p, n) (n, 7, 12).
        chosen: numbers of the contacts (m,).
        link_hessian: derivative of `link_jacobian` by the tree's tangent (links, 6, d, d): entry, column, tangent.
        mass_hessian: derivative of A by the tree's tangent (trees, d, d, d), used if the approximation depends on w.
        out: output, zeros before (`new_derivatives`).
    """
    w, c, law = trees_of(world), points_of(contacts), setting.law
    d = w.A.shape[1]
    with_w = kernels.needs_delassus_norm(law.approximation)
    inverse = np.zeros((w.A.shape[0], d, d))
    if with_w:
        for t in range(w.A.shape[0]):
            invert_leading(w.A[t], w.tree_v[t + 1] - w.tree_v[t], inverse[t])
    x, y = new_motion(d), new_partials(d)
    for index in range(chosen.shape[0]):
        k = chosen[index]
        J, gamma, theta = out.J[index], out.gamma[index], out.theta[index]
        _kinematics(w, c, k, motion, link_hessian, x, J)
        size = 1.0
        if with_w:
            size = differentiate_delassus_norm(
                w, c, k, x, J, inverse, link_hessian, mass_hessian, out.by_mass[index], y
            )
        _load_parameters(c, k, elastic, setting, y.parameters)
        partial_derivatives(law, setting.numbers, size, y.parameters, motion.vc[k], gamma, y.partial)
        _keep_partials(y.partial, setting.tangential_stiffness > 0.0, theta, out.by_norm[index])
        _find_wrenches(c.frame[k], gamma, x)
        if law.approximation == kernels.LAGGED_ELASTOPLASTIC:
            differentiate_transport(law.period, memory[k], c.frame[k], x.twist0, geometry[k], y)
        _by_tangents(c.frame[k], geometry[k], x, y)
        _map_to_trees(w, c, k, link_hessian, x, y, J, out.R_q[index], out.R_fixed[index])
        _add_products(J, y.G, out.R_q[index], out.R_v[index], out.R_end[index])
        if law.approximation == kernels.LAGGED_ELASTOPLASTIC:
            differentiate_memory(w, c, k, x, y, setting, geometry[k], out, index)


__getattr__ = renamed(__name__, {"bearing": "find_active_contacts", "MOBILITY": "DELASSUS_NORM"})
