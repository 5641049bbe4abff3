"""Arrays of worlds and contacts that derivatives need, by name."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from convex_contact.differentiation.impulse_derivatives import PARTIALS
from convex_contact.model.arrays import ContactRecord, WorldRecord
from convex_contact.problem.contact_kernels import PARAMETERS, ContactLaw, Regularisation


class Trees(NamedTuple):
    """Arrays of a world that derivatives need; each access to an array of a record takes long to compile."""

    tree_v: np.ndarray
    tree_kind: np.ndarray
    tree_body: np.ndarray
    body_tree: np.ndarray
    body_link: np.ndarray
    body_twist: np.ndarray
    A: np.ndarray
    link_jacobian: np.ndarray
    mass: np.ndarray
    inertia: np.ndarray


class Points(NamedTuple):
    """Arrays of a list of contacts that derivatives need."""

    body: np.ndarray
    tree: np.ndarray
    point: np.ndarray
    frame: np.ndarray
    phi0: np.ndarray
    v_n0: np.ndarray
    stiffness: np.ndarray
    dissipation: np.ndarray
    relaxation_time: np.ndarray
    friction: np.ndarray


@njit(cache=True, nogil=True, error_model="numpy")
def trees_of(w: WorldRecord) -> Trees:
    """Returns the arrays of a world's record that derivatives need."""
    return Trees(
        w.tree_v,
        w.tree_kind,
        w.tree_body,
        w.body_tree,
        w.body_link,
        w.body_twist,
        w.A,
        w.link_jacobian,
        w.mass,
        w.inertia,
    )


@njit(cache=True, nogil=True, error_model="numpy")
def points_of(c: ContactRecord) -> Points:
    """Returns the arrays of a contact record that derivatives need."""
    return Points(
        c.body, c.tree, c.point, c.frame, c.phi0, c.v_n0, c.stiffness, c.dissipation, c.relaxation_time, c.friction
    )


class StepSetting(NamedTuple):
    """Approximation, law and parameters of all contacts of all steps.

    Attributes:
        law: approximation, normal law and period.
        numbers: v_s, sigma, beta.
        tangential_stiffness: k_t [N/m]; 0: k_t is the normal stiffness.
        tangential_damping: b_t [N s/m].
    """

    law: ContactLaw
    numbers: Regularisation
    tangential_stiffness: float
    tangential_damping: float


class StepMotion(NamedTuple):
    """A step's poses of the bodies at the query (nb, 12), velocities v0 and v (nv,), and contact velocities (n, 3)."""

    poses: np.ndarray
    start: np.ndarray
    velocity: np.ndarray
    vc: np.ndarray


class ContactMotion(NamedTuple):
    """Motion of a contact of bodies A and B of two trees, with d velocities each; overwritten from contact to contact.

    Attributes:
        slots: index of the contact's tree that moves each body, -1: none (2,).
        T: maps of the trees' velocities to the twists at the bodies' origins (2, 6, d).
        P: maps of the bodies' twists to the contact velocity (2, 3, 6).
        V_q, V0_q: derivatives of a link's twist at the end and at the start by its tree's tangent (2, 6, d).
        twist, twist0: twists at the end and at the start (2, 6).
        r: levers from the origins to the point (2, 3).
        Delta, Delta0: relative velocities in the world at the end and at the start (3,).
        force: force on B, world (3,).
        wrench: wrenches of this force on both bodies (2, 6).
    """

    slots: np.ndarray
    T: np.ndarray
    P: np.ndarray
    V_q: np.ndarray
    V0_q: np.ndarray
    twist: np.ndarray
    twist0: np.ndarray
    r: np.ndarray
    Delta: np.ndarray
    Delta0: np.ndarray
    force: np.ndarray
    wrench: np.ndarray


class ContactPartials(NamedTuple):
    """Derivatives of one contact by the motion of its bodies; overwritten from contact to contact.

    Attributes:
        partial: derivatives of gamma, columns of `impulse_derivatives` (3, 14).
        parameters: parameters of the contact, columns of `contact_kernels` (16,).
        w_r, w_q: derivatives of w by the levers (2, 3), and by q at fixed levers (2 d,).
        E_x, E_0: derivatives of e at the start of the step by the tangents, and by the twists before it (2, 12).
        E_m: derivative of e at the start of the step by the memory (2, 6).
        G_x, W_x: derivatives of gamma (3, 12) and of the wrenches (2, 6, 12) by the bodies' tangents at fixed twists.
        G: derivatives of gamma by q at fixed poses, by v0, by v (3, 3, 2 d).
    """

    partial: np.ndarray
    parameters: np.ndarray
    w_r: np.ndarray
    w_q: np.ndarray
    E_x: np.ndarray
    E_0: np.ndarray
    E_m: np.ndarray
    G_x: np.ndarray
    W_x: np.ndarray
    G: np.ndarray


@njit(cache=True, nogil=True, error_model="numpy")
def new_motion(d: int) -> ContactMotion:
    """Returns zeros for the motion of a contact between trees of at most d velocities."""
    return ContactMotion(
        np.zeros(2, dtype=np.int64), np.zeros((2, 6, d)), np.zeros((2, 3, 6)), np.zeros((2, 6, d)), np.zeros((2, 6, d)),
        np.zeros((2, 6)), np.zeros((2, 6)), np.zeros((2, 3)), np.zeros(3), np.zeros(3), np.zeros(3), np.zeros((2, 6)),
    )  # fmt: skip


@njit(cache=True, nogil=True, error_model="numpy")
def new_partials(d: int) -> ContactPartials:
    """Returns zeros for the derivatives of a contact between trees of at most d velocities."""
    return ContactPartials(
        np.zeros((3, PARTIALS)), np.zeros(PARAMETERS), np.zeros((2, 3)), np.zeros(2 * d), np.zeros((2, 12)),
        np.zeros((2, 12)), np.zeros((2, 6)), np.zeros((3, 12)), np.zeros((2, 6, 12)), np.zeros((3, 3, 2 * d)),
    )  # fmt: skip


class ContactDerivatives(NamedTuple):
    """Derivatives of the m contacts of a step that may have an impulse; 2 d columns for the velocities of two trees.

    Attributes:
        gamma: impulses (m, 3).
        J: Jacobians (m, 3, 2d).
        R_q: derivatives of J^T gamma by q, for fixed v (m, 2d, 2d).
        R_v: derivatives of J^T gamma by v0 (m, 2d, 2d).
        R_end: derivatives of J^T gamma by v (m, 2d, 2d).
        R_fixed: derivatives of J^T gamma by the tangent of the body that no tree moves (m, 2d, 6).
        theta: derivatives of gamma by k, d, tau_d, mu, k_t, b_t (m, 3, 6).
        by_norm: derivatives of gamma by w (m, 3).
        by_mass: -dw/dA of the two trees (m, 2, d, d); no rows if the approximation does not depend on w.
        past: derivatives of gamma by the memory of the previous step (m, 3, 6); this array and the following ones have
            no rows if contacts have no memory.
        memory: elastic displacement and normal at the end of the step (m, 6).
        memory_q, memory_v, memory_end: derivatives of the memory by q, v0, v (m, 6, 2d).
        memory_past: derivatives of the memory by the memory of the previous step (m, 6, 6).
        memory_theta: derivatives of the memory by k, d, tau_d, mu, k_t, b_t (m, 6, 6).
        memory_fixed: derivatives of the memory by the tangent of the body that no tree moves (m, 6, 6).
    """

    gamma: np.ndarray
    J: np.ndarray
    R_q: np.ndarray
    R_v: np.ndarray
    R_end: np.ndarray
    R_fixed: np.ndarray
    theta: np.ndarray
    by_norm: np.ndarray
    by_mass: np.ndarray
    past: np.ndarray
    memory: np.ndarray
    memory_q: np.ndarray
    memory_v: np.ndarray
    memory_end: np.ndarray
    memory_past: np.ndarray
    memory_theta: np.ndarray
    memory_fixed: np.ndarray


def new_derivatives(m: int, d: int, *, with_mobility: bool, with_memory: bool) -> ContactDerivatives:
    """Returns zeros for m contacts between trees of at most d velocities."""
    w, e, two = (m if with_mobility else 0), (m if with_memory else 0), 2 * d
    shapes = (
        (m, 3), (m, 3, two), (m, two, two), (m, two, two), (m, two, two), (m, two, 6), (m, 3, 6), (m, 3), (w, 2, d, d),
        (e, 3, 6), (e, 6), (e, 6, two), (e, 6, two), (e, 6, two), (e, 6, 6), (e, 6, 6), (e, 6, 6),
    )  # fmt: skip
    return ContactDerivatives(*(np.zeros(shape) for shape in shapes))
