"""Inputs of a step in the solver's workspace: A, v*, contacts, and rows of joints and constraints.

`solver/borrowed.py` explains `borrow` and `_nrt=False`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from convex_contact.model.arrays import BodyRowRecord, ContactRecord, JointRowRecord, WorldRecord
from convex_contact.model.body_joint_kernels import write_body_rows
from convex_contact.model.body_row_kernels import DONE, STATUS
from convex_contact.problem import contact_kernels
from convex_contact.simulation.joint_rows import choose_rows
from convex_contact.simulation.torsional_friction import torsional_sizes, write_torsional_rows
from convex_contact.solver.borrowed import borrow
from convex_contact.solver.branches import branches_of, copy_branches, side_of
from convex_contact.solver.workspace import TermInputs, inputs, reserve, reserve_rows
from haptic_math.array_assignment import assign, assign_rows

_P = contact_kernels
_U = np.uintp


@njit(cache=True, nogil=True, error_model="numpy")
def load_joint_rows(
    w: WorldRecord, between: BodyRowRecord | None, joints: JointRowRecord | None, s: Any, period: float,
    everything: bool,
) -> int:  # fmt: skip
    """Writes the rows of all joints into the workspace; returns their number, -1 if `write_body_rows` fails."""
    first = rows = entries = 0
    if between is not None:
        first, entries = _body_row_sizes(between)
    if joints is not None:
        rows, more = _row_sizes(joints)
        entries += more
    if first + rows == 0:
        return 0
    reserve_rows(s, first + rows, entries)
    m = 0
    if between is not None and first:
        m = _write_body_rows(w, between, borrow(s), period)
        if m < 0:
            return m
    if joints is not None and rows:
        m = _choose_rows(w, joints, borrow(s), period, everything, m)
    return m


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def _row_sizes(joints: JointRowRecord) -> tuple[int, int]:
    return len(joints.tree), len(joints.J)


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def _body_row_sizes(between: BodyRowRecord) -> tuple[int, int]:
    return between.room[0], between.room[1]


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def _write_body_rows(w: WorldRecord, between: BodyRowRecord, s: Any, period: float) -> int:
    out = TermInputs(s.row_a, s.row_b, s.row_J_start, s.row_J, s.row_parameters)
    m = write_body_rows(w, between, period, out)
    return m if between.count[STATUS] == DONE else -1


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def _choose_rows(w: WorldRecord, joints: JointRowRecord, s: Any, period: float, everything: bool, first: int) -> int:
    chosen = TermInputs(s.row_a, s.row_b, s.row_J_start, s.row_J, s.row_parameters)
    return choose_rows(w, joints, period, everything, chosen, first)


class _Sizes(NamedTuple):
    """Sizes of a step's arrays, as `workspace.reserve` takes them: trees, velocities, entries of A, contacts, of J."""

    cliques: int
    dofs: int
    blocks: int
    contacts: int
    entries: int


@njit(cache=True, nogil=True, error_model="numpy")
def load(w: WorldRecord, c: ContactRecord, s: Any, stiffness_t: float, damping_t: float, rows: int) -> int:
    """Writes the step, except the constraints' rows, into the solver's workspace; the guess is the last velocity.

    Args:
        w: the world, prepared.
        c: the contacts of the step.
        s: the solver's workspace.
        stiffness_t, damping_t: tangential stiffness [N/m] (0: that of the normal direction) and damping [N s/m].
        rows: number of the constraints' rows, which `load_rows` has written.

    Returns:
        Number of rows, those of torsional friction included.
    """
    found = _sizes(w, c)
    torsional, more = torsional_sizes(w, c)
    if torsional == 0:
        reserve(s, found.cliques, found.dofs, found.blocks, found.contacts, found.entries, rows, more)
    else:
        given = inputs(s).rows
        start = given.start[rows] if rows else 0
        reserve(
            s, found.cliques, found.dofs, found.blocks, found.contacts, found.entries, rows + torsional, start + more
        )
        if rows:
            _keep(given, inputs(s).rows, rows)
        write_torsional_rows(w, c, borrow(s), rows)
    _write(w, c, borrow(s), stiffness_t, damping_t)
    return rows + torsional


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def _sizes(w: WorldRecord, c: ContactRecord) -> _Sizes:
    """Returns the sizes of the step's arrays."""
    tree_v, trees, branches, lasts = w.tree_v, c.tree, branches_of(w), c.last
    nt, n = len(w.tree_kind), c.count[0]
    size, entries = 0, 0
    for t in range(nt):
        size += (tree_v[t + 1] - tree_v[t]) ** 2
    for i in range(n):
        for side in range(2):
            t = trees[i, side]
            if t >= 0:
                entries += 3 * side_of(tree_v, branches, t, lasts[i, side]).columns
    return _Sizes(nt, tree_v[nt], size, n, entries)


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False, forceinline=True)
def _copy(target: np.ndarray, at: int, source: np.ndarray, first: int, count: int) -> None:
    a, b = _U(at), _U(first)
    for i in range(_U(count)):
        target[a + i] = source[b + i]


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def _write(w: WorldRecord, c: ContactRecord, s: Any, stiffness_t: float, damping_t: float) -> None:
    """Writes the step into a workspace that is large enough; see :func:`load`."""
    tree_v, blocks, trees, jacobians = w.tree_v, w.A, c.tree, c.J
    nt, n = len(w.tree_kind), c.count[0]
    dof_start, A_start, A = s.dof_start, s.A_start, s.A
    contact_a, contact_b, J_start, J, p = s.contact_a, s.contact_b, s.J_start, s.J, s.contact_parameters
    branches, last, elastic = branches_of(w), s.contact_last, c.elastic_start
    width = blocks.shape[1]
    flat_blocks, flat_J = blocks.reshape(-1), jacobians.reshape(-1)
    at = 0
    for t in range(nt):
        d = tree_v[t + 1] - tree_v[t]
        dof_start[t], A_start[t] = tree_v[t], at
        if t < len(w.tree_branched) and w.tree_branched[t] != 0:
            copy_branches(flat_blocks, t * width * width, (width, 1), A, at, (d, 1), branches, tree_v[t], tree_v[t + 1])
            at += d * d
            continue
        for i in range(d):
            _copy(A, at + i * d, flat_blocks, (t * width + i) * width, d)
        at += d * d
    dof_start[nt], A_start[nt] = tree_v[nt], at
    _write_branches(w, s)
    _copy(s.v_star, 0, w.v_star, 0, tree_v[nt])
    _copy(s.v, 0, w.v, 0, tree_v[nt])
    phi0, v_n0, stiffness, dissipation, relaxation_time, friction, tensor, bias = (
        c.phi0, c.v_n0, c.stiffness, c.dissipation, c.relaxation_time, c.friction, c.friction_tensor, c.bias
    )  # fmt: skip
    at = 0
    for k in range(_U(n)):
        contact_a[k], contact_b[k], J_start[k] = trees[k, 0], trees[k, 1], at
        for side in range(2):
            t = trees[k, side]
            if t < 0:
                continue
            last[k, side] = c.last[k, side]
            d, first = side_of(tree_v, branches, t, last[k, side]).columns, (2 * np.int64(k) + side) * 3 * width
            if d == width:
                _copy(J, at, flat_J, first, 3 * d)
            else:
                for i in range(3):
                    _copy(J, at + i * d, flat_J, first + i * width, d)
            at += 3 * d
        p[k, _P.PHI0], p[k, _P.V_N0] = phi0[k], v_n0[k]
        p[k, _P.STIFFNESS], p[k, _P.DISSIPATION] = stiffness[k], dissipation[k]
        p[k, _P.RELAXATION_TIME], p[k, _P.COEFFICIENT] = relaxation_time[k], friction[k]
        p[k, _P.M11], p[k, _P.M12], p[k, _P.M22] = tensor[k, 0], tensor[k, 1], tensor[k, 2]
        for i in range(3):
            p[k, _P.BIAS + i] = bias[k, i]
        p[k, _P.TANGENTIAL_STIFFNESS] = stiffness_t if stiffness_t > 0.0 else stiffness[k]
        p[k, _P.TANGENTIAL_DAMPING] = damping_t
        for i in range(2):
            p[k, _P.ELASTIC_DISPLACEMENT + i] = elastic[k, i]
    J_start[n] = at


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def _write_branches(w: WorldRecord, s: Any) -> None:
    """Writes which cliques are trees with branches, and the path of each velocity in its tree."""
    branched, parent, run, depth = s.clique_branched, s.dof_parent, s.dof_run, s.dof_depth
    articulated, tree_v = len(w.tree_branched), w.tree_v
    for t in range(len(w.tree_kind)):
        branched[t] = w.tree_branched[t] if t < articulated else 0
    for k in range(tree_v[articulated]):
        parent[k], run[k], depth[k] = w.dof_parent[k], w.dof_run[k], w.dof_depth[k]


@njit(cache=True, nogil=True, error_model="numpy")
def load_rows(s: Any, rows: TermInputs) -> None:
    """Writes the constraints' rows of the next step into the workspace, before `compiled_step.make_steps`.

    Args:
        s: the workspace.
        rows: the rows, all of them.
    """
    m = len(rows.a)
    reserve_rows(s, m, len(rows.J))
    if m:
        _keep(rows, inputs(s).rows, m)


@njit(cache=True, nogil=True, error_model="numpy")
def _keep(source: TermInputs, target: TermInputs, m: int) -> None:
    """Copies m rows; arrays that are the same stay as they are."""
    n = source.start[m]
    assign(target.a[:m], source.a)
    assign(target.b[:m], source.b)
    assign(target.start[: m + 1], source.start)
    assign(target.J[:n], source.J)
    assign_rows(target.parameters[:m], source.parameters)
