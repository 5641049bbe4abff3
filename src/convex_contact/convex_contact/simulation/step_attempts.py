"""Attempts at a step with an accuracy: one step of length h, two of h/2 from the same start, error and result.

`step_control` chooses h by the error. :class:`CompiledAttempts` makes an attempt in one compiled call, in worlds in
which Python has no work between steps; :class:`InterpretedAttempts` calls the simulator's own steps. Three lists of
contacts take turns: that of the start, which stays until the step is accepted, and those of the two halves.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
import pinocchio as pin
from numba import njit
from numba.experimental import structref

from convex_contact.collision.contacts import empty_contacts
from convex_contact.model.arrays import WorldRecord
from convex_contact.model.bodies import FREE, rotation_entries
from convex_contact.model.tree_kernels import CONTINUOUS, FREE_FLYER, SPHERICAL
from convex_contact.simulation.body_table import BodyColumns, BodyLists, read_bodies
from convex_contact.simulation.compiled_step import STATUSES
from convex_contact.simulation.step_start import StepStart
from convex_contact.solver import newton
from convex_contact.solver.borrowed import Record, RecordType
from haptic_math.array_assignment import assign
from haptic_math.native_calls import call_integer
from haptic_math.rotations import product_entries

if TYPE_CHECKING:
    from convex_contact.simulation.simulator import Simulator


class MovingBodies(NamedTuple):
    """Bodies whose errors count.

    Attributes:
        number: numbers of the bodies that a tree moves (n,).
        radius: radii of their shapes about the origins of their frames (n,) [m].
    """

    number: np.ndarray
    radius: np.ndarray


class Attempts(Protocol):
    """Attempts at the steps of a simulator."""

    def note(self) -> None:
        """Sets the start of the step to the present state."""

    def make(self, period: float) -> float:
        """Makes a step of this length [s] from the start, and returns its error [m].

        Raises:
            ConvergenceError: it has no solution.
        """

    def accept(self) -> None:
        """Keeps the state that the last attempt reached."""

    def return_to(self) -> None:
        """Restores the simulator to the start."""


@njit(cache=True, nogil=True, error_model="numpy")
def largest_difference(moving: MovingBodies, one: BodyColumns, other: BodyColumns) -> float:
    """Returns a bound of the largest distance between the same points of moving bodies in two states [m]."""
    largest = 0.0
    for k, b in enumerate(moving.number):
        square = cosine = chord = 0.0
        for r in range(3):
            square += (other.position[b, r] - one.position[b, r]) ** 2
        for r in range(4):
            cosine += one.orientation[b, r] * other.orientation[b, r]
        for r in range(4):
            chord += (other.orientation[b, r] - math.copysign(1.0, cosine) * one.orientation[b, r]) ** 2
        angle = 4.0 * math.asin(min(0.5 * math.sqrt(chord), 1.0))
        largest = max(largest, math.sqrt(square) + moving.radius[k] * angle)
    return largest


@njit(cache=True, nogil=True, error_model="numpy")
def extrapolate(w: WorldRecord, q1: np.ndarray, v1: np.ndarray) -> None:
    """Moves the state q2, v2 of the world by its difference from q1 (nq,), v1 (nv,); of rotations it is q2 q1^-1.

    The coordinates of trees without kernels are left.
    """
    q = w.q
    for k in range(len(v1)):
        w.v[k] += w.v[k] - v1[k]
    for tree in range(len(w.tree_kind)):
        if w.tree_kind[tree] == FREE:
            i = w.tree_q[tree]
            for k in range(i, i + 3):
                q[k] += q[k] - q1[k]
            _rotate_on(q[i + 3 : i + 7], q1[i + 3 : i + 7])
    for j in range(len(w.joint_kind)):
        i = w.joint_q[j]
        if w.joint_kind[j] == FREE_FLYER:
            x, y, z = q[i] - q1[i], q[i + 1] - q1[i + 1], q[i + 2] - q1[i + 2]
            R = _rotate_on(q[i + 3 : i + 7], q1[i + 3 : i + 7])
            for k in range(3):
                q[i + k] += R[3 * k] * x + R[3 * k + 1] * y + R[3 * k + 2] * z
        elif w.joint_kind[j] == SPHERICAL:
            _rotate_on(q[i : i + 4], q1[i : i + 4])
        elif w.joint_kind[j] == CONTINUOUS:
            c, s = q[i], q[i + 1]
            cosine, sine = c * q1[i] + s * q1[i + 1], s * q1[i] - c * q1[i + 1]  # of the difference
            c, s = c * cosine - s * sine, s * cosine + c * sine
            size = math.sqrt(c * c + s * s)
            q[i], q[i + 1] = c / size, s / size
        else:
            q[i] += q[i] - q1[i]


_product = njit(cache=True, nogil=True, error_model="numpy")(product_entries)


@njit(cache=True, nogil=True, error_model="numpy")
def _rotate_on(rotation: np.ndarray, earlier: np.ndarray) -> Any:
    """Rotates a quaternion (4,) by its difference from an earlier one; returns the nine entries of that rotation."""
    x, y, z, w = rotation
    a, b, c, d = _product(x, y, z, w, -earlier[0], -earlier[1], -earlier[2], earlier[3])
    x, y, z, w = _product(a, b, c, d, x, y, z, w)
    size = math.sqrt(x * x + y * y + z * z + w * w)
    rotation[0], rotation[1], rotation[2], rotation[3] = x / size, y / size, z / size, w / size
    return rotation_entries(a, b, c, d)


class InterpretedAttempts:
    """Attempts by steps of the simulator; see :class:`Attempts`.

    Args:
        simulator: that makes the steps.
        moving: bodies whose errors count.
        second_order: extrapolate the result.
    """

    def __init__(self, simulator: Simulator, moving: MovingBodies, second_order: bool) -> None:
        self._simulator, self._moving, self._second_order = simulator, moving, second_order
        trees = enumerate(simulator.world.trees)
        self._others = [(t, tree.model.model) for t, tree in trees if second_order and not tree.model.has_kernels]
        self._start = StepStart(simulator)
        self.note, self.accept, self.return_to = self._start.note, self._start.accept, self._start.return_to

    def make(self, period: float) -> float:
        """Makes an attempt, see :class:`Attempts`."""
        simulator, start, arrays = self._simulator, self._start, self._simulator.dynamics.arrays
        start.begin()
        simulator.set_period(period)
        simulator.make_step()
        whole = BodyColumns(*simulator.body_states())
        q1, v1 = arrays.q.copy(), arrays.v.copy()
        start.begin()
        simulator.set_period(0.5 * period)
        simulator.make_step()
        start.keep()
        simulator.make_step()
        error = largest_difference(self._moving, whole, BodyColumns(*simulator.body_states()))
        if self._second_order:
            extrapolate(arrays.record, q1, v1)
            for tree, model in self._others:
                q = arrays.q[arrays.tree_q[tree] : arrays.tree_q[tree + 1]]
                before = q1[arrays.tree_q[tree] : arrays.tree_q[tree + 1]]
                q[:] = pin.integrate(model, q, pin.difference(model, before, q))
        return error


@structref.register
class AttemptType(RecordType):
    """Numba's type of :class:`AttemptRecord`."""


class AttemptRecord(Record):
    """Arrays of the attempts at the steps of a world.

    Attributes:
        q0, v0: coordinates (nq,) and velocities (nv,) at the start.
        pose0: poses of the prescribed bodies at the start (n, 12).
        q1, v1: coordinates and velocities after the whole step.
        whole, halves: states of the bodies after the whole step and after the halves.
        bodies: bodies that move, as `body_table` lists them.
        moving: bodies whose errors count.
        prescribed: numbers of the prescribed bodies (n,).
        second_order: whether the result is extrapolated.
    """


structref.define_proxy(
    AttemptRecord,
    AttemptType,
    ["q0", "v0", "pose0", "q1", "v1", "whole", "halves", "bodies", "moving", "prescribed", "second_order"],
)


@njit(cache=True)
def _attempt_record(
    q0: np.ndarray, v0: np.ndarray, pose0: np.ndarray, columns: BodyColumns, bodies: BodyLists, moving: MovingBodies,
    prescribed: np.ndarray, second_order: bool,
) -> AttemptRecord:  # fmt: skip
    a, b, c, d = columns
    whole = BodyColumns(a.copy(), b.copy(), c.copy(), d.copy())
    halves = BodyColumns(a.copy(), b.copy(), c.copy(), d.copy())
    return AttemptRecord(q0, v0, pose0, q0.copy(), v0.copy(), whole, halves, bodies, moving, prescribed, second_order)


@njit(cache=True, nogil=True, error_model="numpy")
def _return_to_start(x: AttemptRecord, w: WorldRecord) -> None:
    assign(w.q, x.q0)
    assign(w.v, x.v0)
    for k, body in enumerate(x.prescribed):
        assign(w.body_pose[body], x.pose0[k])


@njit(cache=True, nogil=True, error_model="numpy")
def _attempt(
    x: AttemptRecord, w: WorldRecord, code: int, first: int, into_first: bool, second: int, into_second: bool,
    period: float, horizon: float, half_horizon: float,
) -> tuple[float, int]:  # fmt: skip
    """Makes an attempt; returns its error [m] and the status. Unless that is CONVERGED, the state is that at the start.

    Args:
        x: arrays of the attempt.
        w: the world at the start.
        code: address of `compiled_step.make_steps`.
        first, into_first: address of the steps' record with the lists of contacts of the start and of the first half,
            and the list of the first half; the whole step writes the same list.
        second, into_second: the same with the lists of the first and the second half.
        period: length of the whole step [s].
        horizon, half_horizon: see `compiled_step.make_steps`, of the whole step and of a half [s].
    """
    q, v = w.q, w.v
    x.q0[:], x.v0[:] = q, v
    for k, body in enumerate(x.prescribed):
        x.pose0[k] = w.body_pose[body]
    result = call_integer(code, (first, into_first, period, horizon, 1, True, 0))
    if result >= STATUSES:
        read_bodies(w, x.bodies, x.whole)
        x.q1[:], x.v1[:] = q, v
        _return_to_start(x, w)
        result = call_integer(code, (first, into_first, 0.5 * period, half_horizon, 1, True, 0))
    if result >= STATUSES:
        result = call_integer(code, (second, into_second, 0.5 * period, half_horizon, 1, True, 0))
    if result < STATUSES:
        _return_to_start(x, w)
        return math.inf, result
    read_bodies(w, x.bodies, x.halves)
    error = largest_difference(x.moving, x.whole, x.halves)
    if x.second_order:
        extrapolate(w, x.q1, x.v1)
    return error, newton.CONVERGED


class CompiledAttempts:
    """Attempts in one compiled call each, in a world whose steps are compiled; see :class:`Attempts`.

    The solver's memory goes on through attempts: what it keeps only makes the next solution faster.

    Args:
        simulator: that makes the steps.
        moving: bodies whose errors count.
        second_order: extrapolate the result.
    """

    def __init__(self, simulator: Simulator, moving: MovingBodies, second_order: bool) -> None:
        self._simulator = simulator
        d, table = simulator.dynamics, simulator._bodies
        prescribed = np.array(d.prescribed, dtype=np.int64)
        start = d.arrays.q.copy(), d.arrays.v.copy(), d.arrays.body_pose[prescribed]
        self._record = _attempt_record(*start, table.columns, table.lists, moving, prescribed, second_order)
        self._third = empty_contacts(len(d.contacts.phi0), d.contacts.J.shape[3])
        self._length = simulator.period

    def note(self) -> None:
        """Notes the period and the couplings; each attempt notes the state of the bodies."""
        sim = self._simulator
        self._period = sim.period
        self._couplings = [(each, each.copies()) for each in (*sim.springs, *sim.couplings)]

    def make(self, period: float) -> float:
        """Makes an attempt, see :class:`Attempts`."""
        sim, d = self._simulator, self._simulator.dynamics
        between, workspace = sim._body_rows, sim._workspace
        rows = between.record, sim._joint_rows.record, sim._coupling_table(), workspace
        horizons = [d.contact_horizon(sim.approximation, length) for length in (period, 0.5 * period)]
        self._length = period
        while True:
            last, other, room = d.contacts, d.previous, len(d.previous.phi0)
            if len(self._third.phi0) < room:
                self._third = empty_contacts(room, other.J.shape[3])
            world, prepared = d.arrays.record, sim._records.prepared
            first = prepared[(world, other.record, last.record, *rows)]
            second = prepared[(world, self._third.record, other.record, *rows)]
            places = first.record.address, first.into_first, second.record.address, second.into_first
            error, status = _attempt(self._record, d.arrays.record, first.code, *places, period, *horizons)
            if status == newton.CONVERGED:
                return float(error)
            sim._records.mend(between, workspace, status)

    def accept(self) -> None:
        """Keeps the state that the last attempt reached."""
        sim, d = self._simulator, self._simulator.dynamics
        d.contacts, d.previous, self._third = self._third, d.previous, d.contacts
        half = sim.period = d.period = 0.5 * self._length
        d.time += half
        d.time += half
        sim._solved = True

    def return_to(self) -> None:
        """Restores the simulator to the start."""
        sim = self._simulator
        _return_to_start(self._record, sim.dynamics.arrays.record)
        for coupling, values in self._couplings:
            coupling.restore(values)
        sim.set_period(self._period)
