"""A step of a simulator in one compiled call; several calls would cost a small world as much as its arithmetic.

:func:`step_world` makes one step:

1. Prepare: A, v* and poses from q0, v0, and rows of joint laws and limits. Unless the step is whole, Python does this.
2. Contacts: finds the pairs within the margins of the bodies, and matches them with the contacts of the last step.
3. Load: writes A, v*, and the Jacobians and parameters of the contacts into the solver's workspace.
4. Solve: computes the velocity v at the end of the step.
5. Repeat: from 2 with wider margins, if a pair that was left out might act at v. If a limit of a joint acts that was
   left out, the caller repeats the step with all limits.
6. Move: q = q0 + dt N(q0) v, and the elastic displacements of the contacts.

Two lists of contacts alternate: a step writes one of them and reads the last step's contacts in the other.
:func:`make_steps` is the compiled loop over steps that alternates them. :meth:`StepRecords.advance` calls it for many
whole steps at once, :meth:`StepRecords.make_step` for a step before and after which Python has work in the world.

`contact_query` has the margins PREDICTED, ALL_PAIRS and KEPT; `solver/borrowed.py` explains `borrow` and `_nrt=False`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit, types
from numba.experimental import structref

from convex_contact.collision.contacts import carry_tangential
from convex_contact.model.arrays import ContactRecord, JointRowRecord, WorldRecord
from convex_contact.model.bodies import move_free_bodies, prepare_free_bodies
from convex_contact.model.tree_kernels import move_trees, prepare_trees
from convex_contact.problem import contact_kernels
from convex_contact.problem.elastoplastic import update_elastic_displacement
from convex_contact.problem.errors import ConvergenceError
from convex_contact.simulation.dynamics import ALL_PAIRS, KEPT, PREDICTED, collect_contacts, grow_margins
from convex_contact.simulation.joint_rows import acts, choose_rows
from convex_contact.simulation.torsional_friction import torsional_sizes, write_torsional_rows
from convex_contact.solver import newton
from convex_contact.solver.borrowed import Borrowed, Record, borrow
from convex_contact.solver.branches import branches_of, copy_branches, side_of
from convex_contact.solver.solver import convergence_error
from convex_contact.solver.workspace import TermInputs, inputs, reserve
from haptic_files.moved_modules import renamed

if TYPE_CHECKING:
    from convex_contact.simulation.dynamics import WorldDynamics

_P = contact_kernels
_U = np.uintp
#: number of records that a simulator keeps
KEPT_RECORDS = 6
#: status of :func:`make_steps`, in addition to those of `newton`
NO_ROOM, LIMIT_REACHED = 3, 4


@structref.register
class StepType(types.StructRef):
    """Numba's type of :class:`StepRecord`."""


class StepRecord(Record):
    """Arguments that all steps with the same two lists of contacts share; one argument costs less than ten."""


structref.define_proxy(
    StepRecord,
    StepType,
    ["world", "first", "second", "joints", "workspace", "stiffness_t", "damping_t", "elastoplastic", "speculative",
     "linear"],
)  # fmt: skip


@njit(cache=True)
def _step_record(
    world: WorldRecord, first: ContactRecord, second: ContactRecord, joints: JointRowRecord | None, workspace: Any,
    stiffness_t: float, damping_t: float, elastoplastic: bool, speculative: bool, linear: bool,
) -> StepRecord:  # fmt: skip
    return StepRecord(
        world, first, second, joints, workspace, stiffness_t, damping_t, elastoplastic, speculative, linear
    )


class StepRecords:
    """Last records of a simulator's steps, and steps with them; workspaces of steps with an accuracy alternate.

    Args:
        constants: stiffness_t, damping_t, elastoplastic, speculative and linear of :func:`step_world`.
    """

    def __init__(self, *constants: Any) -> None:
        self._constants = constants
        self._made: list[tuple[Borrowed, Any, Any, Any, Any, Any]] = []

    def _of(self, d: WorldDynamics, joints: Any, workspace: Any) -> tuple[Borrowed, bool]:
        """Returns the record of these parts, kept alive, and whether the contacts of the last step are its second."""
        world, now, before = d.arrays.record, d.contacts.record, d.previous.record
        for record, w, a, b, j, s in self._made:
            if w is world and j is joints and s is workspace:
                if a is before and b is now:
                    return record, True
                if a is now and b is before:
                    return record, False
        made = Borrowed(_step_record(world, before, now, joints, workspace, *self._constants))
        self._made = [(made, world, before, now, joints, workspace), *self._made[: KEPT_RECORDS - 1]]
        return made, True

    def advance(self, d: WorldDynamics, joints: Any, workspace: Any, approximation: str, count: int) -> None:
        """Makes whole steps, in one call if all contacts find room.

        Raises:
            ConvergenceError: a step failed; the steps before it are made.
        """
        period, horizon, left = d.period, d.contact_horizon(approximation), count
        while left > 0:
            record, into_first = self._of(d, joints, workspace)
            made, status = make_steps(record, into_first, period, horizon, left, True, 0)
            for _ in range(made):
                d.time += period
            if made & 1:
                d.swap()
            left -= made
            if status != newton.CONVERGED:
                self._enlarge(d, workspace, status)

    def make_step(
        self, d: WorldDynamics, joints: Any, workspace: Any, approximation: str, load: Callable[[bool], int]
    ) -> None:
        """Makes a step of a prepared world without moving what Python moves; time does not advance.

        Args:
            d, joints, workspace, approximation: world in motion, rows of joints, workspace and method of the solver.
            load: loads the rows of the step, with all limits of joints if it is called with True; returns their number.

        Raises:
            ConvergenceError: the step failed.
        """
        period, horizon, given = d.period, d.contact_horizon(approximation), load(False)
        while True:
            record, into_first = self._of(d, joints, workspace)
            made, status = make_steps(record, into_first, period, horizon, 1, False, given)
            if made:
                d.swap()
                return
            if status == LIMIT_REACHED:
                given = load(True)
            else:
                self._enlarge(d, workspace, status)

    def _enlarge(self, d: WorldDynamics, workspace: Any, status: int) -> None:
        """Makes room for the contacts of the coming step.

        Raises:
            ConvergenceError: the step failed for another reason.
        """
        if status != NO_ROOM:
            raise self.error(d, workspace, status)
        d.swap()
        try:
            d.enlarge()
        finally:
            d.swap()

    @staticmethod
    def error(d: WorldDynamics, workspace: Any, status: int) -> ConvergenceError:
        """Returns the error for a failed step from the present time."""
        v = inputs(workspace).structure.v[: d.nv].copy()
        return convergence_error(workspace, status, v, f" in the step from t = {d.time:.9g} s")


@njit(cache=True, nogil=True, error_model="numpy")
def make_steps(
    x: StepRecord, into_first: bool, period: float, horizon: float, count: int, whole: bool, given: int
) -> tuple[int, int]:
    """Makes steps with the two lists of contacts of a record in turn; repeats whole steps with all limits if needed.

    Args:
        x: the record.
        into_first: the first step writes the record's first list of contacts, and the second list has the last step's.
        period, horizon, whole, given: see :func:`step_world`.
        count: number of steps; one, unless they are whole.

    Returns:
        Number of steps that converged, and the status of the last step that was tried.
    """
    for k in range(count):
        first = into_first == (k % 2 == 0)
        c, old = (x.first, x.second) if first else (x.second, x.first)
        everything = False
        while True:
            status = step_world(
                x.world, c, old, x.joints, x.workspace, x.stiffness_t, x.damping_t, period, horizon, x.elastoplastic,
                x.speculative, x.linear, whole, everything, given,
            )  # fmt: skip
            if status != LIMIT_REACHED or everything or not whole:
                break
            everything = True
        if status != newton.CONVERGED:
            return k, status
    return count, newton.CONVERGED


@njit(cache=True, nogil=True, error_model="numpy")
def step_world(
    w: WorldRecord, c: ContactRecord, old: ContactRecord, joints: JointRowRecord | None, s: Any,
    stiffness_t: float, damping_t: float, period: float, horizon: float, elastoplastic: bool, speculative: bool,
    linear: bool, whole: bool, everything: bool, given: int,
) -> int:  # fmt: skip
    """Makes a step; does not move trees without kernels and prescribed bodies.

    Args:
        w: the world; prepared, unless the step is whole.
        c: output, the contacts.
        old: contacts of the last step.
        joints: rows of joint laws and limits; None in a world without trees, for which no code of trees is compiled.
        s: the solver's workspace, with the rows of constraints and joints, unless the step is whole.
        stiffness_t, damping_t: tangential stiffness [N/m] (0: that of the normal direction) and damping [N s/m].
        period: dt [s].
        horizon: time for which the margins must cover the bodies' speeds, h s of `dynamics` [s].
        elastoplastic: contacts have elastic displacements.
        speculative: leave out contacts that provably have no force.
        linear: integrate quaternions linearly.
        whole: prepare the world and load the rows of joints first; there are no other rows.
        everything: in a whole step, include all limits of joints.
        given: number of rows in the workspace, unless the step is whole.

    Returns:
        CONVERGED; otherwise NO_ROOM, LIMIT_REACHED (a limit that was left out acts) or the solver's status, and the
        state is that before the step.
    """
    rows = given
    if whole:
        prepare_free_bodies(w, period)
        if joints is not None:
            prepare_trees(w, period)
            rows = _load_joint_rows(w, joints, s, period, everything)
    margins = PREDICTED if speculative else ALL_PAIRS
    while True:
        if not collect_contacts(w, c, old, horizon, margins):
            return NO_ROOM
        if elastoplastic:
            _transport_elastic(w, c, old, period)
        load(w, c, s, stiffness_t, damping_t, rows)
        status = newton.solve_step(s)
        if status != newton.CONVERGED:
            return status
        b = borrow(s)
        if not speculative or grow_margins(w, b.v, horizon) == 0:
            break
        margins = KEPT
    if joints is not None and acts(joints, b.v):
        return LIMIT_REACHED
    _copy_velocity(w, b.v)
    move_free_bodies(w, b.v, period, linear)
    if joints is not None:
        move_trees(w, period)
    if elastoplastic:
        update_elastic_displacements(c, b, period)
    return newton.CONVERGED


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def _transport_elastic(w: WorldRecord, c: ContactRecord, old: ContactRecord, period: float) -> None:
    carry_tangential(w, c, old, period, old.elastic, c.elastic_start)


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def _copy_velocity(w: WorldRecord, velocity: np.ndarray) -> None:
    v = w.v
    for i in range(len(v)):
        v[i] = velocity[i]


@njit(cache=True, nogil=True, error_model="numpy")
def _load_joint_rows(w: WorldRecord, joints: JointRowRecord, s: Any, period: float, everything: bool) -> int:
    """Writes the rows of joint laws and limits into the workspace; returns their number."""
    rows, entries = _row_sizes(joints)
    if rows == 0:
        return 0
    reserve(s, s.n, s.dofs, 0, 0, 0, rows, entries)
    return _choose_rows(w, joints, borrow(s), period, everything)


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def _row_sizes(joints: JointRowRecord) -> tuple[int, int]:
    return len(joints.tree), len(joints.J)


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def _choose_rows(w: WorldRecord, joints: JointRowRecord, s: Any, period: float, everything: bool) -> int:
    chosen = TermInputs(s.row_a, s.row_b, s.row_J_start, s.row_J, s.row_parameters)
    return choose_rows(w, joints, joints.motor, period, everything, chosen)


@njit(cache=True, nogil=True, error_model="numpy")
def load(w: WorldRecord, c: ContactRecord, s: Any, stiffness_t: float, damping_t: float, rows: int) -> None:
    """Writes the step, except the constraints' rows, into the solver's workspace; the guess is the last velocity.

    Args:
        w, c, s, stiffness_t, damping_t: see :func:`step_world`; the world is prepared.
        rows: number of the constraints' rows, which `load_rows` has written.
    """
    trees, dofs, size, contacts, entries = _sizes(w, c)
    torsional, more = torsional_sizes(w, c)
    if torsional == 0:
        reserve(s, trees, dofs, size, contacts, entries, rows, 0)
    else:
        given = inputs(s).rows
        start = given.start[rows] if rows else 0
        reserve(s, trees, dofs, size, contacts, entries, rows + torsional, start + more)
        if rows:
            _keep(given, inputs(s).rows, rows)
        write_torsional_rows(w, c, borrow(s), rows)
    _write(w, c, borrow(s), stiffness_t, damping_t)


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def _sizes(w: WorldRecord, c: ContactRecord) -> tuple[int, int, int, int, int]:
    """Returns the numbers of trees, velocities, entries of A, contacts, entries of J."""
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
    return nt, tree_v[nt], size, n, entries


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
    """Writes the constraints' rows of the next step into the workspace, before :func:`make_steps`.

    Args:
        s: the workspace.
        rows: the rows, all of them.
    """
    m = len(rows.a)
    reserve(s, s.n, s.dofs, 0, 0, 0, m, len(rows.J))
    if m:
        _keep(rows, inputs(s).rows, m)


@njit(cache=True, nogil=True, error_model="numpy")
def _keep(source: TermInputs, target: TermInputs, m: int) -> None:
    """Copies m rows; arrays that are the same stay as they are."""
    n = source.start[m]
    target.a[:m], target.b[:m], target.start[: m + 1] = source.a[:m], source.b[:m], source.start[: m + 1]
    target.J[:n] = source.J[:n]
    target.parameters[:m] = source.parameters[:m]


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def update_elastic_displacements(c: ContactRecord, s: Any, period: float) -> None:
    """Writes the contacts' elastic displacements at the end of the step: e <- (b_t e - gamma_t)/(b_t + dt k_t).

    A contact that did not overlap at the start of the step has none: it has no friction, and may leave the list.
    """
    gamma, p, start, end = s.gamma, s.contact_parameters, c.elastic_start, c.elastic
    phi0 = c.phi0
    for k in range(c.count[0]):
        kt, bt = p[k, _P.TANGENTIAL_STIFFNESS], p[k, _P.TANGENTIAL_DAMPING]
        for i in range(2):
            e, g = start[k, i], gamma[k, i]
            end[k, i] = update_elastic_displacement(kt, bt, period, e, g) if phi0[k] < 0.0 else 0.0


__getattr__ = renamed(__name__, {"yielded": "update_elastic_displacements"})
