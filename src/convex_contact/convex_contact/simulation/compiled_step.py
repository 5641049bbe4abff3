"""A step of a simulator in one compiled call; several calls would cost a small world as much as its arithmetic.

:func:`step_world` makes one step:

1. Prepare: A, v* and poses from q0, v0, couplings, and rows of joints between bodies, joint laws and limits. Unless
   the step is whole, Python does this.
2. Contacts: finds the pairs within the margins of the bodies, and matches them with the contacts of the last step.
3. Load: writes A, v*, and the Jacobians and parameters of the contacts into the solver's workspace.
4. Solve: computes the velocity v at the end of the step.
5. Repeat: from 2 with wider margins, if a pair that was left out might act at v. If a limit of a joint acts that was
   left out, the caller repeats the step with all limits.
6. Move: q = q0 + dt N(q0) v, prescribed bodies, and the elastic displacements of the contacts.

Two lists of contacts alternate: a step writes one of them and reads the last step's contacts in the other.
:func:`make_steps` is the compiled loop over steps that alternates them. :meth:`StepRecords.advance` calls it for many
whole steps at once, :meth:`StepRecords.make_step` for a step before and after which Python has work in the world.
It is called by the addresses of its code and of its record, at which Numba would look longer than a tenth of a small
world's step.

The large functions of 1 to 4 are called by their address (`solver/stages.py`). `contact_query` has the margins
PREDICTED, ALL_PAIRS and KEPT; `solver/borrowed.py` explains `borrow` and `_nrt=False`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numba import njit
from numba.experimental import structref

from convex_contact.collision.contacts import carry_tangential
from convex_contact.model.arrays import BodyRowRecord, ContactRecord, JointRowRecord, WorldRecord
from convex_contact.model.bodies import move_free_bodies, prepare_free_bodies
from convex_contact.model.tree_kernels import move_trees, prepare_trees
from convex_contact.problem.elastoplastic import find_elastic_displacement
from convex_contact.problem.errors import ConvergenceError
from convex_contact.simulation.coupling import CouplingTable, add_couplings, finish_couplings
from convex_contact.simulation.dynamics import ALL_PAIRS, KEPT, PREDICTED, collect_contacts, grow_margins
from convex_contact.simulation.joint_rows import acts
from convex_contact.simulation.prescribed_bodies import move_prescribed
from convex_contact.simulation.step_inputs import load, load_joint_rows
from convex_contact.solver import newton
from convex_contact.solver.borrowed import Borrowed, Record, RecordType, borrow
from convex_contact.solver.guess import note_changes
from convex_contact.solver.solver import convergence_error
from convex_contact.solver.stages import address_of
from convex_contact.solver.workspace import inputs
from haptic_files.moved_modules import renamed
from haptic_math.native_calls import call_integer

if TYPE_CHECKING:
    from convex_contact.simulation.body_joint_rows import BodyRows
    from convex_contact.simulation.dynamics import WorldDynamics

#: records that a simulator keeps, each for both orders of its lists of contacts
KEPT_RECORDS = 6
#: status of :func:`make_steps`, in addition to those of `newton`; all are below STATUSES
NO_ROOM, LIMIT_REACHED, ROWS_FAILED = 3, 4, 5
STATUSES = 8


@structref.register
class StepType(RecordType):
    """Numba's type of :class:`StepRecord`."""


class StepRecord(Record):
    """Arguments that all steps with the same two lists of contacts share; one argument costs less than ten.

    Attributes:
        world: arrays of the world.
        first, second: lists of contacts, which the steps write in turn.
        between: rows of joints between bodies; None: the world has no such joint.
        joints: rows of joint laws and limits of trees; None: the world has no tree.
        couplings: of the simulator, rows of `coupling.CouplingTable`.
        prescribed: numbers of the prescribed bodies.
        workspace: of the solver.
        find_faces: address of the function that finds the faces of contact surfaces; 0: the world has none.
        load_joint_rows, collect_contacts, load, solve, iterate, add_couplings, finish_couplings: addresses of a step's
            large functions (`_stages`).
        stiffness_t: tangential stiffness [N/m]; 0: that of the normal direction.
        damping_t: tangential damping [N s/m].
        elastoplastic: whether contacts have an elastic displacement.
        speculative: whether contacts are found within the margins PREDICTED first, not ALL_PAIRS.
        linear: whether rotations are moved by `bodies.rotate_quaternion_linearly`.
    """


structref.define_proxy(
    StepRecord,
    StepType,
    ["world", "first", "second", "between", "joints", "couplings", "prescribed", "workspace", "find_faces",
     "load_joint_rows", "collect_contacts", "load", "solve", "iterate", "add_couplings", "finish_couplings",
     "stiffness_t", "damping_t", "elastoplastic", "speculative", "linear"],
)  # fmt: skip


@njit(cache=True)
def _step_record(
    world: WorldRecord, first: ContactRecord, second: ContactRecord, between: BodyRowRecord | None,
    joints: JointRowRecord | None, couplings: np.ndarray, prescribed: np.ndarray, workspace: Any, find_faces: int,
    load_joint_rows: int, collect_contacts: int, load: int, solve: int, iterate: int, add_couplings: int,
    finish_couplings: int, stiffness_t: float, damping_t: float, elastoplastic: bool, speculative: bool, linear: bool,
) -> StepRecord:  # fmt: skip
    return StepRecord(
        world, first, second, between, joints, couplings, prescribed, workspace, find_faces, load_joint_rows,
        collect_contacts, load, solve, iterate, add_couplings, finish_couplings, stiffness_t, damping_t, elastoplastic,
        speculative, linear,
    )  # fmt: skip


def _stages(
    world: Any, now: Any, before: Any, between: Any, joints: Any, couplings: np.ndarray, workspace: Any
) -> tuple[int, ...]:
    """Returns the addresses of a step's large functions; 0 for those of what the world does not have."""
    no_joints = between is None and joints is None
    pulled = len(couplings) > 0
    return (
        0 if no_joints else address_of(load_joint_rows, world, between, joints, workspace, 0.0, False),
        address_of(collect_contacts, world, now, before, 0, 0.0, KEPT),
        address_of(load, world, now, workspace, 0.0, 0.0, 0),
        address_of(newton.solve, workspace, 0),
        newton.address_of_iterate(workspace),
        address_of(add_couplings, world, couplings, 0.0) if pulled else 0,
        address_of(finish_couplings, world, couplings, 0.0) if pulled else 0,
    )


class PreparedSteps(NamedTuple):
    """Record and code of a simulator's compiled steps.

    Attributes:
        record: the steps' arguments.
        code: address of :func:`make_steps` for this type of record.
        into_first: the coming step writes the record's first list of contacts.
    """

    record: Borrowed
    code: int
    into_first: bool


class PreparedRecords(dict[tuple[Any, ...], PreparedSteps]):
    """Prepared steps by the parts from which they are made, for both orders of the lists of contacts.

    The parts are five records, the table of couplings and the workspace; the record of the steps borrows them. The five
    are those of the world, of the contacts that the coming step writes, of the last step's contacts, and of the rows of
    joints between bodies and of trees. Steps that are missing are prepared.

    Args:
        d: world in motion.
        constants: stiffness_t, damping_t, elastoplastic, speculative and linear of :func:`step_world`.
    """

    def __init__(self, d: WorldDynamics, constants: tuple[Any, ...]) -> None:
        self._constants = d.find_faces, constants, np.array(d.prescribed, dtype=np.int64)

    def __missing__(self, parts: tuple[Any, ...]) -> PreparedSteps:
        world, written, last, between, joints, couplings, workspace = parts
        find_faces, constants, prescribed = self._constants
        stages = _stages(world, written, last, between, joints, couplings.rows, workspace)
        arrays = *parts[:-2], couplings.rows, prescribed, workspace
        record = Borrowed(_step_record(*arrays, find_faces, *stages, *constants))
        code = address_of(make_steps, record, True, 0.0, 0.0, 0, True, 0)
        if len(self) >= 2 * KEPT_RECORDS:
            self.clear()
        self[world, last, written, between, joints, couplings, workspace] = PreparedSteps(record, code, False)
        self[parts] = PreparedSteps(record, code, True)
        return self[parts]


class StepRecords:
    """Last records of a simulator's steps, and steps with them.

    Steps with an accuracy have three lists of contacts in turn, or two workspaces.

    Args:
        d: world in motion.
        constants: stiffness_t, damping_t, elastoplastic, speculative and linear of :func:`step_world`.

    Attributes:
        prepared: the records.
    """

    def __init__(self, d: WorldDynamics, *constants: Any) -> None:
        self._d = d
        self.prepared = PreparedRecords(d, constants)

    def advance(
        self, between: BodyRows, joints: Any, couplings: CouplingTable, workspace: Any, approximation: str, count: int,
        run: Callable[..., int] | None = None,
    ) -> None:  # fmt: skip
        """Makes whole steps, in one call if all contacts find room.

        Args:
            between, joints, couplings, workspace, approximation: see :meth:`make_step`.
            count: number of steps.
            run: like :func:`make_steps` with the record, `into_first`, `period`, `horizon` and the number of steps that
                are made already; None: steps alone.

        Raises:
            ConvergenceError: a step failed; the steps before it are made.
            ValueError: the rows of a joint between bodies could not be made; likewise.
        """
        d, left = self._d, count
        period, horizon = d.period, d.contact_horizon(approximation)
        while left > 0:
            written, last = d.previous.record, d.contacts.record
            parts = d.arrays.record, written, last, between.record, joints, couplings, workspace
            record, code, into_first = self.prepared[parts]
            if run is None:
                result = _call_steps(code, record.address, into_first, period, horizon, left, True, 0)
            else:
                result = run(record, into_first, period, horizon, count - left)
            made, status = divmod(result, STATUSES)
            for _ in range(made):
                d.time += period
            if made & 1:
                d.swap()
            left -= made
            if status != newton.CONVERGED:
                self.mend(between, workspace, status)

    def make_step(
        self, between: BodyRows, joints: Any, couplings: CouplingTable, workspace: Any, approximation: str,
        load: Callable[[bool], int],
    ) -> None:  # fmt: skip
        """Makes a step of a prepared world without moving what Python moves; time does not advance.

        Args:
            between: rows of joints between bodies.
            joints: record of the rows of joints of trees.
            couplings: of the simulator; here Python adds them to the step.
            workspace, approximation: workspace and method of the solver.
            load: loads the rows of the step, with all limits of joints if it is called with True; returns their number.

        Raises:
            ConvergenceError: the step failed.
        """
        d, given = self._d, load(False)
        period, horizon = d.period, d.contact_horizon(approximation)
        while True:
            written, last = d.previous.record, d.contacts.record
            parts = d.arrays.record, written, last, between.record, joints, couplings, workspace
            record, code, into_first = self.prepared[parts]
            status = _call_steps(code, record.address, into_first, period, horizon, 1, False, given)
            if status >= STATUSES:  # it is made
                d.swap()
                return
            if status == LIMIT_REACHED:
                given = load(True)
            else:
                self.mend(between, workspace, status)

    def mend(self, between: BodyRows, workspace: Any, status: int) -> None:
        """Makes room for the contacts of the coming step, which failed.

        Raises:
            ConvergenceError: the step failed for another reason.
            ValueError: the rows of a joint between bodies could not be made.
        """
        d = self._d
        if status == ROWS_FAILED:
            raise between.error()
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
) -> int:
    """Makes steps with the two lists of contacts of a record in turn; repeats whole steps with all limits if needed.

    Args:
        x: the record.
        into_first: the first step writes the record's first list of contacts, and the second list has the last step's.
        period, horizon, whole, given: see :func:`step_world`.
        count: number of steps; one, unless they are whole.

    Returns:
        Number of steps that converged, times STATUSES, plus the status of the last step that was tried.
    """
    borrow(x.workspace).period = period
    for k in range(count):
        first = into_first == (k % 2 == 0)
        status = LIMIT_REACHED
        for attempt in range(2):
            status = step_world(x, x.joints, first, period, horizon, whole, attempt == 1, given)
            if not whole or status != LIMIT_REACHED:
                break
        if status != newton.CONVERGED:
            return STATUSES * k + status
    return STATUSES * count + newton.CONVERGED


@njit(cache=True, nogil=True)
def _call_steps(
    code: int, record: int, into_first: bool, period: float, horizon: float, count: int, whole: bool, given: int
) -> int:
    """Calls :func:`make_steps` at an address with the record at an address."""
    return call_integer(code, (record, into_first, period, horizon, count, whole, given))


@njit(cache=True, nogil=True, error_model="numpy")
def step_world(
    x: StepRecord, joints: JointRowRecord | None, first: bool, period: float, horizon: float, whole: bool,
    everything: bool, given: int,
) -> int:  # fmt: skip
    """Makes a step; does not move trees without kernels, and prescribed bodies only in a whole step.

    Args:
        x: the record.
        joints: its rows of joint laws and limits; None in a world without trees, whose code is then not compiled.
        first: the contacts of the step are the record's first list, and those of the last step its second.
        period: dt [s].
        horizon: time for which the margins must cover the bodies' speeds, h s of `dynamics` [s].
        whole: prepare the world, add the couplings and load the rows of all joints first; there are no other rows.
            Otherwise the world is prepared, and the workspace has the rows of constraints and joints.
        everything: in a whole step, include all limits of joints.
        given: number of rows in the workspace, unless the step is whole.

    Returns:
        CONVERGED; otherwise NO_ROOM, LIMIT_REACHED (a limit that was left out acts), ROWS_FAILED (those between bodies)
        or the solver's status, and the state is that before the step.
    """
    w, s = x.world, x.workspace
    c, old = (x.first, x.second) if first else (x.second, x.first)
    rows = given
    if whole:
        prepare_free_bodies(w, period)
        if joints is not None:
            prepare_trees(w, period)
        if x.add_couplings != 0:
            call_integer(x.add_couplings, (w, x.couplings, period))
        rows = 0
        if x.load_joint_rows != 0:
            rows = call_integer(x.load_joint_rows, (w, x.between, joints, s, period, everything))
            if rows < 0:
                return ROWS_FAILED
    margins = PREDICTED if x.speculative else ALL_PAIRS
    while True:
        if call_integer(x.collect_contacts, (w, c, old, x.find_faces, horizon, margins)) == 0:
            return NO_ROOM
        if x.elastoplastic:
            _transport_elastic(w, c, old, period)
        call_integer(x.load, (w, c, s, x.stiffness_t, x.damping_t, rows))
        status = call_integer(x.solve, (s, x.iterate))
        if status != newton.CONVERGED:
            return status
        b = borrow(s)
        if not x.speculative or grow_margins(w, b.v, horizon) == 0:
            break
        margins = KEPT
    if joints is not None and acts(joints, b.v):
        return LIMIT_REACHED
    note_changes(b, w.v)
    _copy_velocity(w, b.v)
    move_free_bodies(w, b.v, period, x.linear)
    if joints is not None:
        move_trees(w, period)
    if whole:
        for body in x.prescribed:
            move_prescribed(w.body_pose[body], w.body_twist[body], period, x.linear)
        if x.finish_couplings != 0:
            call_integer(x.finish_couplings, (w, x.couplings, period))
    if x.elastoplastic:
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


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def update_elastic_displacements(c: ContactRecord, s: Any, period: float) -> None:
    """Writes the contacts' elastic displacements at the end of the step, see `find_elastic_displacement`.

    A contact that did not overlap at the start of the step has none: it has no friction, and may leave the list.
    """
    gamma, p, start, end = s.gamma, s.contact_parameters, c.elastic_start, c.elastic
    phi0 = c.phi0
    for k in range(c.count[0]):
        e1, e2 = find_elastic_displacement(p, k, period, start[k, 0], start[k, 1], gamma[k, 0], gamma[k, 1])
        end[k, 0], end[k, 1] = (e1, e2) if phi0[k] < 0.0 else (0.0, 0.0)


__getattr__ = renamed(__name__, {"yielded": "update_elastic_displacements"})
