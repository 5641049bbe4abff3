"""Torsional friction: a contact patch resists spin about its normal, by one scalar row per contact.

With the spin s = n . (omega_B - omega_A), the largest torque per normal force c [m] and the normal impulse of the last
step, gamma_n0, the row has the impulse

    gamma = clamp(-s/R, -L, L),    L = c gamma_n0,    R = v_s mu/(c L)

It sticks below the spin v_s mu/c, at which the rim of a patch with the radius c/mu slips at the stiction tolerance v_s.
The potential is Huber's function of s, so the step's problem remains convex. Without friction mu the spin is v_s/c.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from convex_contact.model.arrays import ContactRecord, WorldRecord
from convex_contact.problem.constraints import Constraint
from convex_contact.problem.contact_kernels import (
    ROW_BIAS,
    ROW_COMPLIANCE,
    ROW_LOWER,
    ROW_NEAR_RIGID,
    ROW_TARGET,
    ROW_UPPER,
    SAP,
)
from convex_contact.problem.normal_law_kernels import normal_force
from convex_contact.simulation.constraint_rows import constraints_of
from convex_contact.simulation.dynamics import WorldDynamics
from convex_contact.solver.workspace import outputs


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def torsional_sizes(w: WorldRecord, c: ContactRecord) -> tuple[int, int]:
    """Returns the numbers of rows, and of entries of their Jacobians."""
    rows, entries, tree_v = 0, 0, w.tree_v
    for k in range(c.count[0]):
        if c.torsional_friction[k] > 0.0 and c.phi0[k] < 0.0:
            rows += 1
            for side in range(2):
                t = c.tree[k, side]
                if t >= 0:
                    entries += tree_v[t + 1] - tree_v[t]
    return rows, entries


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def write_torsional_rows(w: WorldRecord, c: ContactRecord, s: Any, first: int) -> None:
    """Writes the rows of all overlapping contacts with torsional friction, from number `first` on.

    Args:
        w: the world, prepared.
        c: the contacts.
        s: the solver's workspace, with room for the rows.
        first: number of the constraints' rows.
    """
    row, at, tree_v = first, s.row_J_start[first] if first else 0, w.tree_v
    s.row_J_start[0] = 0
    for k in range(c.count[0]):
        if not (c.torsional_friction[k] > 0.0 and c.phi0[k] < 0.0):
            continue
        s.row_a[row], s.row_b[row], s.row_J_start[row] = c.tree[k, 0], c.tree[k, 1], at
        for side in range(2):
            t = c.tree[k, side]
            if t >= 0:
                for d in range(tree_v[t + 1] - tree_v[t]):
                    s.row_J[at + d] = 0.0
                at += tree_v[t + 1] - tree_v[t]
        bias = 0.0
        for side in range(2):
            bias += _add_spin(w, c, s, row, k, side)
        _write_numbers(c, s, row, k, bias)
        row += 1
    s.row_J_start[row] = at


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def _add_spin(w: WorldRecord, c: ContactRecord, s: Any, row: int, k: int, side: int) -> float:
    """Adds the spin of one body to the row's Jacobian; returns the spin of a body that no tree moves [rad/s]."""
    body, sign, frame = c.body[k, side], 2.0 * side - 1.0, c.frame
    tree, link = w.body_tree[body], w.body_link[body]
    if tree < 0:
        spin = 0.0
        for i in range(3):
            spin += sign * frame[k, 2, i] * w.body_twist[body, 3 + i]
        return spin
    at = s.row_J_start[row]
    if tree != c.tree[k, 0]:
        at += w.tree_v[c.tree[k, 0] + 1] - w.tree_v[c.tree[k, 0]]
    for i in range(3):
        n = sign * frame[k, 2, i]
        if link < 0:
            s.row_J[at + 3 + i] += n
        elif w.link_dof[link] < 0:
            for d in range(w.tree_v[tree + 1] - w.tree_v[tree]):
                s.row_J[at + d] += n * w.link_jacobian[link, 3 + i, d]
        else:
            dof = w.link_dof[link]
            while dof >= 0:
                s.row_J[at + dof - w.tree_v[tree]] += n * w.dof_axis[dof, 3 + i]
                dof = w.dof_parent[dof]
    return 0.0


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def _write_numbers(c: ContactRecord, s: Any, row: int, k: int, bias: float) -> None:
    """Writes bias, compliance and bounds of a row."""
    if s.approximation == SAP:
        force = max(0.0, -c.stiffness[k] * (c.phi0[k] + c.relaxation_time[k] * c.v_n0[k]))
    else:
        force = normal_force(s.law, s.addresses, c.phi0[k], c.v_n0[k], c.stiffness[k], c.dissipation[k])
    torsion, p = c.torsional_friction[k], s.row_parameters
    limit = torsion * s.period * force
    mu = np.sqrt(0.5) * np.sqrt(
        c.friction_tensor[k, 0] ** 2 + 2.0 * c.friction_tensor[k, 1] ** 2 + c.friction_tensor[k, 2] ** 2
    )
    mu *= c.friction[k]
    spin = s.stiction_tolerance * (mu if mu > 0.0 else 1.0) / torsion
    p[row, ROW_BIAS], p[row, ROW_TARGET], p[row, ROW_NEAR_RIGID] = bias, 0.0, 0.0
    p[row, ROW_COMPLIANCE] = spin / limit if limit > 0.0 else 1e300
    p[row, ROW_LOWER], p[row, ROW_UPPER] = -limit, limit


def _torsional_contacts(d: WorldDynamics) -> np.ndarray:
    """Returns a mask (n,) of the last step's contacts that have a row."""
    c, n = d.contacts, int(d.contacts.count[0])
    return (c.torsional_friction[:n] > 0.0) & (c.phi0[:n] < 0.0)


def torsional_impulses(d: WorldDynamics, workspace: Any, first: int) -> np.ndarray:
    """Returns the impulses of the last step by contact (n,) [N m s]; its rows begin at number `first`."""
    torsional = _torsional_contacts(d)
    impulses = np.zeros(len(torsional))
    impulses[torsional] = outputs(workspace).row_gamma[first : first + torsional.sum()]
    return impulses


def torsional_constraints(d: WorldDynamics, workspace: Any, first: int) -> list[Constraint]:
    """Returns the rows of the last step, which begin at number `first`, as a constraint of the dense problem."""
    return constraints_of(d, workspace, first, int(_torsional_contacts(d).sum()))
