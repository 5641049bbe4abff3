"""Virtual coupling: an implicit spring and damper between a body and a moving target (Colgate, Stanley, Brown 1995).

With the target's pose x_d at the end of the step, its velocity v_d, and x = x0 + dt v_p of the body's frame,

    F = k (x_d - x0 - dt v_p) + b (v_d - v_p),        dt F = dt k (x_d - x0) + dt b v_d - (dt b + dt^2 k) v_p,

so that the term with v_p is added to A and the others to v* (as `implicit_terms` does for joints). Rotations are alike,
with the rotation vector from the body's orientation to the target's. The body's side is unconditionally stable. A
device that holds the opposite force for one period T is passive if its own damping exceeds `device_damping`,

    b_device > k T / 2 + b,                                                        (Colgate and Schenkel 1997)

with any passive world behind the coupling.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from convex_contact.model.arrays import WorldRecord
from convex_contact.model.bodies import rotation_entries
from convex_contact.model.small_matrices import factorise_leading, solve_factorised
from convex_contact.model.tree_kernels import write_jacobians
from convex_contact.model.world import WorldError
from convex_contact.problem import checks
from convex_contact.simulation.dynamics import WorldDynamics
from haptic_files.moved_modules import RenamedMember, renamed
from haptic_math.array_assignment import assign
from haptic_math.native_calls import doubles_at


@njit(cache=True, nogil=True, error_model="numpy")
def _pose_error(pose: np.ndarray, center: np.ndarray, target: np.ndarray, error: np.ndarray) -> None:
    """Writes displacement and rotation vector from a body's frame to the target, in world axes (6,).

    Args:
        pose: of the body (12,), rotation and position.
        center: point of the body at that position, from its frame's origin (3,).
        target: position and unit quaternion (x, y, z, w) (7,).
        error: output.
    """
    for i in range(3):
        lever = pose[3 * i] * center[0] + pose[3 * i + 1] * center[1] + pose[3 * i + 2] * center[2]
        error[i] = target[i] - (pose[9 + i] - lever)
    d = rotation_entries(target[3], target[4], target[5], target[6])
    rotation = np.empty((3, 3))
    for i in range(3):
        for j in range(3):
            rotation[i, j] = 0.0
            for k in range(3):
                rotation[i, j] += d[3 * i + k] * pose[3 * j + k]
    # the quaternion of the rotation, from its largest entry, and its logarithm
    trace = rotation[0, 0] + rotation[1, 1] + rotation[2, 2]
    q = np.empty(4)
    if trace > 0.0:
        q[3] = 1.0 + trace
        for i in range(3):
            q[i] = rotation[(i + 2) % 3, (i + 1) % 3] - rotation[(i + 1) % 3, (i + 2) % 3]
    else:
        i = 0
        for k in range(1, 3):
            if rotation[k, k] > rotation[i, i]:
                i = k
        j, k = (i + 1) % 3, (i + 2) % 3
        q[i] = 1.0 + rotation[i, i] - rotation[j, j] - rotation[k, k]
        q[j], q[k] = rotation[i, j] + rotation[j, i], rotation[i, k] + rotation[k, i]
        q[3] = rotation[k, j] - rotation[j, k]
        if q[3] < 0.0:
            assign(q, -q)
    sine = np.sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2])
    scale = 2.0 * np.arctan2(sine, q[3]) / sine if sine > 0.0 else 0.0
    for i in range(3):
        error[3 + i] = scale * q[i]


#: first indices of the parts of a coupling's memory, which compiled code takes as one array
GOAL, POSE_ERROR, STIFFNESS, DAMPING, CENTER, WRENCH = 0, 13, 19, 25, 31, 34
_SIZE = 40


@njit(cache=True, nogil=True, error_model="numpy")
def _frame_jacobian(w: WorldRecord, body: int, center: np.ndarray, jacobian: np.ndarray) -> None:
    """Writes the Jacobian (6, nv_t) of the twist [linear; angular] of a body's frame, in world axes."""
    tree, link = w.body_tree[body], w.body_link[body]
    n = w.tree_v[tree + 1] - w.tree_v[tree]
    for r in range(6):
        for i in range(n):
            jacobian[r, i] = w.link_jacobian[link, r, i] if link >= 0 else (1.0 if r == i else 0.0)
    p = w.body_pose[body]
    x = -(p[0] * center[0] + p[1] * center[1] + p[2] * center[2])  # from the pose's origin to the frame's
    y = -(p[3] * center[0] + p[4] * center[1] + p[5] * center[2])
    z = -(p[6] * center[0] + p[7] * center[1] + p[8] * center[2])
    for i in range(n):  # omega x r
        a, b, c = jacobian[3, i], jacobian[4, i], jacobian[5, i]
        jacobian[0, i] += b * z - c * y
        jacobian[1, i] += c * x - a * z
        jacobian[2, i] += a * y - b * x


@njit(cache=True, nogil=True, error_model="numpy")
def _add_to_step(w: WorldRecord, body: int, memory: np.ndarray, jacobian: np.ndarray, period: float) -> None:
    """Adds the coupling to its tree's block of A and v*, after the world was prepared."""
    error, twist = memory[POSE_ERROR:STIFFNESS], memory[GOAL + 7 : POSE_ERROR]
    stiffness, damping, center = memory[STIFFNESS:DAMPING], memory[DAMPING:CENTER], memory[CENTER:WRENCH]
    _frame_jacobian(w, body, center, jacobian)
    _pose_error(w.body_pose[body], center, memory[GOAL:POSE_ERROR], error)
    tree = w.body_tree[body]
    first = w.tree_v[tree]
    n = w.tree_v[tree + 1] - first
    A, v_star = w.A[tree], w.v_star[first : first + n]
    impulse = np.empty(n)
    for i in range(n):
        impulse[i] = 0.0
        for j in range(n):
            impulse[i] += A[i, j] * v_star[j]
        for r in range(6):
            impulse[i] += period * jacobian[r, i] * (stiffness[r] * error[r] + damping[r] * twist[r])
    for r in range(6):
        weight = period * damping[r] + period * period * stiffness[r]
        for i in range(n):
            for j in range(n):
                A[i, j] += weight * jacobian[r, i] * jacobian[r, j]
    # A v* = impulse by Cholesky's factor
    L = np.empty((n, n))
    factorise_leading(A, n, L)
    for i in range(n):
        v_star[i] = impulse[i]
    solve_factorised(L, n, v_star)


@njit(cache=True, nogil=True, error_model="numpy")
def _write_wrench(w: WorldRecord, body: int, memory: np.ndarray, jacobian: np.ndarray, period: float) -> None:
    """Writes the wrench of the last step, from the solution in the world's v."""
    tree = w.body_tree[body]
    first = w.tree_v[tree]
    for r in range(6):
        rate = 0.0
        for i in range(w.tree_v[tree + 1] - first):
            rate += jacobian[r, i] * w.v[first + i]
        memory[WRENCH + r] = memory[STIFFNESS + r] * (memory[POSE_ERROR + r] - period * rate)
        memory[WRENCH + r] += memory[DAMPING + r] * (memory[GOAL + 7 + r] - rate)


@njit(cache=True, nogil=True, error_model="numpy")
def _lead(memory: np.ndarray, start: np.ndarray, end: np.ndarray, step: int, steps: int, period: float) -> None:
    """Moves the target along a line, see `Coupling.lead`."""
    for i in range(3):
        displacement = end[i] - start[i]
        memory[GOAL + i] = end[i] if step == steps else start[i] + step * (displacement / steps)
        memory[GOAL + 7 + i] = displacement / period
        memory[GOAL + 10 + i] = 0.0


@njit(cache=True, nogil=True, error_model="numpy")
def add_couplings(w: WorldRecord, couplings: np.ndarray, period: float) -> int:
    """Adds couplings, the rows of a :class:`CouplingTable`, to A and v* of a prepared world; returns their number."""
    for k in range(len(couplings)):
        if w.body_link[couplings[k, 0]] >= 0:
            write_jacobians(w)
            break
    for k in range(len(couplings)):
        memory, jacobian = _memory_of(w, couplings, k)
        _add_to_step(w, couplings[k, 0], memory, jacobian, period)
    return len(couplings)


@njit(cache=True, nogil=True, error_model="numpy")
def finish_couplings(w: WorldRecord, couplings: np.ndarray, period: float) -> int:
    """Writes the wrenches of couplings in a step from the velocity at its end; returns their number."""
    for k in range(len(couplings)):
        memory, jacobian = _memory_of(w, couplings, k)
        _write_wrench(w, couplings[k, 0], memory, jacobian, period)
    return len(couplings)


@njit(cache=True, nogil=True)
def _memory_of(w: WorldRecord, couplings: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    return doubles_at(couplings[k, 1], (_SIZE,)), doubles_at(couplings[k, 2], (6, w.A.shape[1]))


class CouplingTerms(NamedTuple):
    """Terms of a coupling in the last step, for derivatives.

    Attributes:
        jacobian: of the frame's twist [linear; angular], in world axes (6, nv_t).
        stiffness: (6,) [N/m and N m/rad].
        damping: (6,) [N s/m and N m s/rad].
        pose_error: displacement and rotation vector from frame to target at the start of the step (6,) [m, rad].
        twist: of the target (6,) [m/s and rad/s].
    """

    jacobian: np.ndarray
    stiffness: np.ndarray
    damping: np.ndarray
    pose_error: np.ndarray
    twist: np.ndarray


# outside the class, where type checkers would take it for a field
setattr(CouplingTerms, "stretch", RenamedMember("pose_error"))  # noqa: B010


class Coupling:
    """A spring and damper that pulls a body's frame to a target.

    Args:
        dynamics: the world in motion.
        body: number or name of a free body or a link.
        stiffness: k [N/m].
        damping: b [N s/m].
        rotational_stiffness: [N m/rad].
        rotational_damping: [N m s/rad].

    Attributes:
        force: on the body in the last step (3,) [N], in the world frame; a view, which the next step changes.
        torque: on the body about its frame's origin in the last step (3,) [N m], in the world frame; a view.

    Raises:
        WorldError: the body does not exist or cannot be pulled.
        ValueError: a number is negative or not finite.

    Examples:
        >>> from convex_contact import Simulator, World
        >>> world = World()
        >>> _ = world.add_sphere("ball", mass=1.0, radius=0.1)
        >>> simulator = Simulator(world, period=1e-3)
        >>> coupling = simulator.couple("ball", stiffness=100.0, damping=20.0)  # damped critically
        >>> coupling.target((0.0, 0.0, 0.0))
        >>> simulator.step(3000)
        >>> round(float(coupling.force[2]), 2)  # the weight [N]
        9.81
    """

    def __init__(
        self,
        dynamics: WorldDynamics,
        body: int | str,
        *,
        stiffness: float,
        damping: float,
        rotational_stiffness: float = 0.0,
        rotational_damping: float = 0.0,
    ) -> None:
        self._dynamics, self.body = dynamics, dynamics.world.number(body)
        kind = dynamics.world.bodies[self.body].kind
        if kind not in ("free", "link"):
            raise WorldError(
                f"{dynamics.world.bodies[self.body].name}: a coupling pulls a free body or a link, not a {kind} one"
            )
        names = ("stiffness", "damping", "rotational_stiffness", "rotational_damping")
        values = (stiffness, damping, rotational_stiffness, rotational_damping)
        k, b, kr, br = (checks.number(n, x, minimum=0.0) for n, x in zip(names, values, strict=True))
        self._memory = np.zeros(_SIZE)
        self._memory[STIFFNESS:DAMPING] = [k] * 3 + [kr] * 3
        self._memory[DAMPING:CENTER] = [b] * 3 + [br] * 3
        self._memory[CENTER:WRENCH] = dynamics.world.bodies[self.body].center
        self._jacobian = np.zeros((6, dynamics.arrays.A.shape[1]))
        self.force, self.torque = self._memory[WRENCH : WRENCH + 3], self._memory[WRENCH + 3 :]
        self.reset()

    def reset(self) -> None:
        """Sets the target to the body's pose, at rest, and the force to 0."""
        state = self._dynamics.state(self.body)
        self._memory[WRENCH:] = 0.0
        self.target(state.position, state.orientation)

    def copies(self) -> tuple[np.ndarray, np.ndarray]:
        """Copies the coupling's whole state, for :meth:`restore`."""
        return self._memory.copy(), self._jacobian.copy()

    def restore(self, copies: tuple[np.ndarray, np.ndarray]) -> None:
        """Restores the state that :meth:`copies` returned."""
        self._memory[:], self._jacobian[:] = copies

    def device_damping(self, period: float) -> float:
        """Returns the least damping [N s/m] of a passive device that holds this coupling's force for a period [s]."""
        return float(0.5 * period * self._memory[STIFFNESS] + self._memory[DAMPING])

    def target(
        self,
        position: ArrayLike,
        orientation: ArrayLike = (0.0, 0.0, 0.0, 1.0),
        velocity: ArrayLike = (0.0, 0.0, 0.0),
        angular_velocity: ArrayLike = (0.0, 0.0, 0.0),
    ) -> None:
        """Sets the target of the body's frame for the coming steps.

        Args:
            position: at the end of the step (3,) [m].
            orientation: at the end of the step, quaternion (x, y, z, w).
            velocity: (3,) [m/s].
            angular_velocity: (3,) [rad/s], in the world frame.

        Raises:
            ValueError: a length or a number is wrong; the target stays.
        """
        goal = np.empty(13)
        parts = (("position", position), ("orientation", orientation), ("velocity", velocity))
        start = 0
        for name, value in (*parts, ("angular_velocity", angular_velocity)):
            size = 4 if name == "orientation" else 3
            if not (isinstance(value, np.ndarray) and value.shape == (size,)):  # else checked below, all at once
                value = checks.array(name, value, (size,))
            goal[start : start + size] = value
            start += size
        norm = math.sqrt(goal[3:7] @ goal[3:7])
        if not norm > 1e-9 or not np.isfinite(goal).all():
            for name, value in (*parts, ("angular_velocity", angular_velocity)):
                checks.array(name, value, (4 if name == "orientation" else 3,))
            raise ValueError(f"orientation: expected a quaternion (x, y, z, w) that is not zero, got {orientation!r}")
        goal[3:7] /= norm
        self._memory[GOAL:POSE_ERROR] = goal

    def lead(self, start: np.ndarray, end: np.ndarray, step: int, steps: int, period: float) -> None:
        """Moves the target along the straight line that it takes in some steps, for loops: nothing is checked.

        Its orientation stays as it is, at rest.

        Args:
            start: position at the start of the line (3,) [m].
            end: position at the end of the line (3,) [m].
            step: number of the coming step, from 1.
            steps: number of steps of the line.
            period: duration of all steps [s].
        """
        _lead(self._memory, start, end, step, steps, period)

    def set_orientation(self, orientation: np.ndarray, angular_velocity: np.ndarray) -> None:
        """Sets the target's unit quaternion (x, y, z, w) and angular velocity (3,) [rad/s], after :meth:`lead`."""
        self._memory[GOAL + 3 : GOAL + 7] = orientation
        self._memory[GOAL + 10 : GOAL + 13] = angular_velocity

    turn = RenamedMember("set_orientation")

    def add(self, period: float) -> None:
        """Adds the coupling to A and v* of the step, after `WorldDynamics.prepare`."""
        _add_to_step(self._dynamics.arrays.record, self.body, self._memory, self._jacobian, period)

    def finish(self, period: float) -> None:
        """Computes the force of the step from the velocity at its end."""
        _write_wrench(self._dynamics.arrays.record, self.body, self._memory, self._jacobian, period)

    @property
    def terms(self) -> CouplingTerms:
        """Terms of the last step."""
        a, m = self._dynamics.arrays, self._memory
        tree = int(a.body_tree[self.body])
        width = int(a.tree_v[tree + 1] - a.tree_v[tree])
        parts = (m[STIFFNESS:DAMPING], m[DAMPING:CENTER], m[POSE_ERROR:STIFFNESS], m[GOAL + 7 : POSE_ERROR])
        return CouplingTerms(self._jacobian[:, :width].copy(), *(part.copy() for part in parts))


class CouplingTable:
    """Couplings of a simulator for compiled code.

    Args:
        couplings: the couplings, which live as long as the table.

    Attributes:
        couplings: as given.
        compiled: whether all are of the class :class:`Coupling`, and none has methods `add` and `finish` of its own.
        rows: body and addresses of memory and Jacobian of each coupling (n, 3); none unless all are compiled.
    """

    def __init__(self, couplings: Sequence[Coupling] = ()) -> None:
        self.couplings = list(couplings)
        self.compiled = all(type(each) is Coupling for each in couplings)
        known = self.couplings if self.compiled else []
        rows = [(each.body, each._memory.ctypes.data, each._jacobian.ctypes.data) for each in known]
        self.rows = np.array(rows, dtype=np.int64).reshape(-1, 3)


__getattr__ = renamed(__name__, {"STRETCH": "POSE_ERROR"})
