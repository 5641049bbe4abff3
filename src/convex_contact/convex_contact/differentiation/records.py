"""The arrays of worlds and contacts that derivatives need, by name."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from convex_contact.model.arrays import ContactRecord, WorldRecord


class Trees(NamedTuple):
    """The arrays of a world that derivatives need; each access to a record's array costs much to compile."""

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
    """Likewise of a list of contacts."""

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
    """The arrays of a record."""
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
    """Likewise."""
    return Points(
        c.body, c.tree, c.point, c.frame, c.phi0, c.v_n0, c.stiffness, c.dissipation, c.relaxation_time, c.friction
    )


class ContactDerivatives(NamedTuple):
    """Derivatives of the m contacts of a step that may have an impulse; 2 d columns for the velocities of two trees.

    Attributes:
        gamma: impulses (m, 3).
        J: Jacobian (m, 3, 2d).
        R_q: of J^T gamma by dq, for fixed v (m, 2d, 2d).
        R_v: by dv0 (m, 2d, 2d).
        R_end: by dv (m, 2d, 2d).
        R_fixed: by the tangent of the body that no tree moves (m, 2d, 6).
        theta: of gamma by k, d, tau_d, mu, k_t, b_t (m, 3, 6).
        mobility: of gamma by w (m, 3).
        by_mass: -dw/dA of the two trees (m, 2, d, d); without rows where w does not matter.
        past: of gamma by the memory of the step before (m, 3, 6); this and what follows without rows where contacts
            have no memory.
        memory: elastic displacement and normal at the end of the step (m, 6).
        memory_q, memory_v, memory_end: its derivatives by q, v0, v (m, 6, 2d).
        memory_past: by the memory of the step before (m, 6, 6).
        memory_theta: by k, d, tau_d, mu, k_t, b_t (m, 6, 6).
        memory_fixed: by the tangent of the body that no tree moves (m, 6, 6).
    """

    gamma: np.ndarray
    J: np.ndarray
    R_q: np.ndarray
    R_v: np.ndarray
    R_end: np.ndarray
    R_fixed: np.ndarray
    theta: np.ndarray
    mobility: np.ndarray
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
