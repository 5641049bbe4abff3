"""A world in motion: state, free-motion velocities and contact candidates of a step, in preallocated arrays.

One step of a simulation is

    prepare()      A, v*, poses                          from q0, v0
    collect()      contacts                              one query, at q0
    (the solver)   v
    covers(v)      were the contacts sufficient?         else collect(...) again
    advance(v)     q = q0 + dt N(q0) v, time, prescribed bodies

**Sufficient contacts.** The paper's rule puts every pair with phi0 < 0.1 m into the problem; nearly all have no force.
Let v be the minimiser of the cost without the contacts of a set E. If every contact of E has zero impulse at v, then
the gradient of the full cost vanishes at v too. That cost is strictly convex, so v is its only minimiser. It is
therefore sufficient to check the left-out contacts at v. With V = |v_c| an upper bound of a contact's speed, its
impulse is zero if

    phi0 >= h s V,   Lagged and its relatives:  h = dt,          s = 1              (phi0 + dt v_n >= 0)
                     Similar:                   h = dt,          s = sqrt(1 + mu^2) (phi0 + dt (v_n - mu ||v_t||) >= 0)
                     SAP:                       h = dt + tau_d,  s = sqrt(1 + mu^2) (v_n - mu ||v_t|| >= -phi0 / h)

because a normal law is zero for phi >= 0, a lagged bound mu gamma_n0 is zero where phi0 >= 0, and mu V_t - V_n <=
sqrt(1 + mu^2) V. (An adhesive law is not covered.) A contact that was left out has phi0 >= min(threshold, mA + mB)
with the margins of its bodies, and V <= SA + SB, where S = |v| + |omega| (r + threshold/2) bounds the speed of a
body's points. So **h s S <= m for every body proves that the solution is the full problem's**; where it fails, that
body's margin grows and the step is solved again. :meth:`WorldDynamics.covers` does this. Margins come from the speeds
before the step, and are chosen so that it seldom fails. ``speculative=False`` is the paper's rule.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from convex_contact.collision import broad_phase, contact_surface, contacts
from convex_contact.collision.friction import friction_of_problem
from convex_contact.model import bodies, native, tree_kernels
from convex_contact.model.arrays import (
    LAW_DIRECTIONAL,
    LAW_FRICTION,
    LAW_RELAXATION_TIME,
    LAW_REST,
    LAW_TORSION,
    ContactArrays,
)
from convex_contact.model.world import Pose, World
from convex_contact.problem import checks
from convex_contact.simulation.contact_query import ALL_PAIRS, KEPT, PREDICTED, collect_contacts, grow_margins
from convex_contact.simulation.contact_query import OTHERS_SPEED as OTHERS_SPEED
from convex_contact.simulation.contact_query import OWN_SPEED as OWN_SPEED
from convex_contact.simulation.contact_query import body_speeds as body_speeds
from convex_contact.simulation.contact_query import find_contacts as find_contacts
from convex_contact.simulation.contact_query import predict_margins as predict_margins
from convex_contact.simulation.functions_of_time import FunctionsOfTime, twist_of
from convex_contact.simulation.joint_limits import JointLimits, position_limits
from convex_contact.simulation.prescribed_bodies import move_prescribed
from convex_contact.simulation.state_access import StateAccess
from convex_contact.simulation.world_arrays import LARGE as LARGE
from convex_contact.simulation.world_arrays import pair_arrays, world_arrays
from convex_contact.solver.branches import Branches, side_columns
from convex_contact.solver.stages import address_of
from haptic_files.moved_modules import RenamedMember


@dataclass(frozen=True)
class BodyState:
    """Pose and velocities of a body.

    Attributes:
        position: of its frame's origin (3,) [m].
        orientation: quaternion (x, y, z, w).
        velocity: of the origin (3,) [m/s].
        angular_velocity: (3,) [rad/s], in the world frame.

    Examples:
        >>> from convex_contact import Simulator, World
        >>> world = World()
        >>> ball = world.add_sphere("ball", mass=1.0, radius=0.1, velocity=(1.0, 0.0, 0.0))
        >>> Simulator(world, period=2e-3).state(ball).velocity.tolist()
        [1.0, 0.0, 0.0]
    """

    position: np.ndarray
    orientation: np.ndarray
    velocity: np.ndarray
    angular_velocity: np.ndarray


class WorldDynamics(StateAccess):
    """State, dynamics and contact candidates of a world.

    Args:
        world: description of the world; later changes to it have no effect, but those of a tree's `drive`.
        period: dt [s].
        threshold: pairs with phi0 below it are in the problem [m].
        speculative: leave out contacts that provably have no force (see the module).
        linear_rotation: integrate quaternions by q0 + dt N(q0) v and normalise, as in the paper; otherwise by
            the exponential map, which is exact for a constant angular velocity.

    Attributes:
        arrays: all arrays, of `arrays.WORLD_TABLE`.
        tree_models: dynamics of the world's trees, with working memory of their own.
        contacts, previous: contacts of the last :meth:`collect`, and of the step before.
        prescribed: numbers of the prescribed bodies.
        time: [s].
        functions: drives of trees and motions of prescribed bodies.
        compiled: compiled code alone prepares and moves the world, after `functions` are evaluated.

    Raises:
        NativeLibraryError: the compiled library is missing, and a pair of shapes needs it.

    Examples:
        >>> from convex_contact import World, WorldDynamics
        >>> world = World()
        >>> _ = world.add_sphere("ball", mass=1.0, radius=0.1, velocity=(1.0, 2.0, 3.0))
        >>> dynamics = WorldDynamics(world, period=1e-3)
        >>> dynamics.arrays.v.tolist()  # linear and angular velocity
        [1.0, 2.0, 3.0, 0.0, 0.0, 0.0]
    """

    def __init__(
        self,
        world: World,
        *,
        period: float,
        threshold: float = 0.1,
        speculative: bool = True,
        linear_rotation: bool = False,
    ) -> None:
        self.world = world
        self.period = checks.number("period", period, above=0.0)
        self.threshold = checks.number("threshold", threshold, above=0.0)
        self.speculative = speculative
        self.linear_rotation = linear_rotation
        self.time = 0.0
        self.tree_models = [tree.model.started(world.gravity) for tree in world.trees]
        self.arrays, self._shapes, self._tree_bodies = world_arrays(world, self.threshold)
        self._width = self.arrays.A.shape[1]
        self._tree_of_body = {b: t for t, bs in enumerate(self._tree_bodies) for b in bs}
        self._articulated = [t for t, kind in enumerate(self.arrays.tree_kind) if kind == bodies.ARTICULATED]
        self._kernels = any(self.tree_models[t].has_kernels for t in self._articulated)
        self._others = [t for t in self._articulated if not self.tree_models[t].has_kernels]
        self.compiled = not self._others
        self.prescribed = [i for i, body in enumerate(world.bodies) if body.kind == "prescribed"]
        self.functions = FunctionsOfTime(world, self.arrays, self.prescribed)
        law, surfaces = self.arrays.law, self.arrays.class_friction[:, 3:]
        coefficient = max(law[:, :, LAW_REST].max(initial=0.0), surfaces.max(initial=0.0) if self.has_grooves else 0.0)
        self._steepest = math.sqrt(1 + float(coefficient) ** 2)
        self._longest_relaxation = float(law[:, :, LAW_RELAXATION_TIME].max(initial=0.0))
        self._start = (self.arrays.q.copy(), self.arrays.v.copy(), self.arrays.body_pose.copy())
        capacity = 64 + 16 * len(self.arrays.geometry_kind)
        self.contacts, self.previous = (contacts.empty_contacts(capacity, self._width) for _ in range(2))
        found = self.arrays.record, self.contacts.record
        self.find_faces = address_of(contact_surface.find_faces, *found, 0, 0, 0) if self.has_compliant_bodies else 0
        self.reset()

    # --- state -----------------------------------------------------------------------------------------------

    @property
    def nv(self) -> int:
        """Number of velocities."""
        return len(self.arrays.v)

    @property
    def has_compliant_bodies(self) -> bool:
        """A body has a pressure field, so there can be hydroelastic contact."""
        return bool(self.arrays.mesh_flattest.any())

    @property
    def has_grooves(self) -> bool:
        """Friction of some contacts depends on the direction of slip."""
        return bool(self.arrays.law[:, :, LAW_DIRECTIONAL].any())

    @property
    def has_static_friction(self) -> bool:
        """Friction of some contacts depends on the slip speed."""
        return bool((self.arrays.law[:, :, LAW_REST] > self.arrays.law[:, :, LAW_FRICTION]).any())

    @property
    def has_torsional_friction(self) -> bool:
        """Some contacts resist spin about their normal."""
        return bool(self.arrays.law[:, :, LAW_TORSION].any())

    def reset(self) -> None:
        """Resets the state to that of the description."""
        a = self.arrays
        a.q[:], a.v[:], a.body_pose[:] = self._start
        a.body_wrench[:] = 0
        a.effort[:] = a.drive_effort[:] = 0
        self.functions.note_forces()
        a.counters[:] = 0
        self.time = 0.0
        self.contacts.count[0] = self.previous.count[0] = 0
        for number in self.prescribed:
            body = self.world.bodies[number]
            a.body_twist[number] = np.concatenate([body.velocity, body.angular_velocity])
            if body.motion is not None:
                a.body_twist[number] = twist_of(body, 0.0)

    def state(self, body: int | str) -> BodyState:
        """Returns the pose and velocities of a body, from q and v."""
        number = self.world.number(body)
        described = self.world.bodies[number]
        a = self.arrays
        if described.kind == "free":
            tree = self._tree_of_body[number]
            q, v = a.q[a.tree_q[tree] :][:7], a.v[a.tree_v[tree] :][:6]
            placement = Pose(q[:3].copy(), q[3:] / np.linalg.norm(q[3:]))
            velocity, angular = v[:3].copy(), v[3:].copy()
        else:
            if described.kind == "link":
                self.write_links(self._tree_of_body[number])
            pose, twist = a.body_pose[number], a.body_twist[number]
            quaternion = np.empty(4)
            bodies.write_quaternion(pose, quaternion)
            placement = Pose(pose[9:].copy(), quaternion)
            velocity, angular = twist[:3].copy(), twist[3:].copy()
        lever = placement.rotation @ described.center
        (x, y, z), (a1, a2, a3) = lever.tolist(), angular.tolist()
        turning = np.array([a2 * z - a3 * y, a3 * x - a1 * z, a1 * y - a2 * x])  # np.cross takes ten times as long
        return BodyState(placement.position - lever, placement.orientation, velocity - turning, angular)

    def jacobian(self, body: int | str) -> np.ndarray:
        """Returns the Jacobian (6, nv) of the twist [linear; angular] of a body's frame, in world axes."""
        number, a = self.world.number(body), self.arrays
        J, tree, pose = np.zeros((6, self.nv)), a.body_tree[number], a.body_pose[number].copy()
        if tree >= 0:
            i, j = a.tree_v[tree], a.tree_v[tree + 1]
            if self.world.bodies[number].kind == "free":
                bodies.write_pose(pose, a.q[a.tree_q[tree] :][:7])
                J[:, i:j] = np.eye(6)
            else:
                self.write_links(int(tree))
                tree_kernels.write_jacobians(a.record)
                pose, J[:, i:j] = a.body_pose[number], a.link_jacobian[a.body_link[number], :, : j - i]
            lever = -pose[:9].reshape(3, 3) @ self.world.bodies[number].center
            for r, y, z in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
                J[r] += J[3 + y] * lever[z] - J[3 + z] * lever[y]  # np.cross takes five times as long
        return J

    def prescribe(self, body: int | str, twist: Any, position: Any = None, orientation: Any = None) -> None:
        """Sets the twist (6,) of a prescribed body for the coming step, and its pose at the start of the step.

        Args:
            body: number or name.
            twist: [linear; angular], in the world frame, at the body's origin.
            position: (3,) [m]; default: the present position.
            orientation: quaternion (x, y, z, w); default: the present orientation.

        Raises:
            ValueError: the body is not prescribed, or a length is wrong.
        """
        number = self.world.number(body)
        described = self.world.bodies[number]
        if described.kind != "prescribed":
            raise ValueError(f"{described.name}: it is {described.kind}, not prescribed")
        values = np.asarray(twist, dtype=np.float64)
        if values.shape != (6,) or not all(map(math.isfinite, values.tolist())):
            raise ValueError(f"twist: expected 6 finite numbers, got {twist!r}")
        pose = self.arrays.body_pose[number]
        self.arrays.body_twist[number] = values
        if position is not None or orientation is not None:
            q = np.empty(7)
            q[:3] = pose[9:] if position is None else position
            bodies.write_quaternion(pose, q[3:])
            q[3:] = q[3:] if orientation is None else orientation
            bodies.write_pose(pose, q)

    # --- one step ----------------------------------------------------------------------------------------------

    def prepare(self) -> None:
        """Computes A, v*, poses and twists at (q, v), with the functions of time."""
        a = self.arrays
        self.functions.evaluate(self.time, self.period)
        bodies.prepare_free_bodies(a.record, self.period)
        if self._kernels:
            tree_kernels.prepare_trees(a.record, self.period)
            tree_kernels.write_jacobians(a.record)
        for tree in self._others:
            i, j, k, m = a.tree_q[tree], a.tree_q[tree + 1], a.tree_v[tree], a.tree_v[tree + 1]
            self.write_links(tree)
            effort, block = a.effort[k:m] + a.drive_effort[k:m], a.A[tree, : m - k, : m - k]
            effort += self._applied(tree)
            self.tree_models[tree].prepare(a.q[i:j], a.v[k:m], effort, self.period, block, a.v_star[k:m])

    def _applied(self, tree: int) -> np.ndarray:
        """Returns joint forces (nv,) of the wrenches on the links of a tree without kernels."""
        a, model = self.arrays, self.tree_models[tree]
        effort = np.zeros(a.tree_v[tree + 1] - a.tree_v[tree])
        for i, number in enumerate(self._tree_bodies[tree]):
            wrench = a.body_wrench[number].copy()
            if wrench.any():
                wrench[3:] += np.cross(a.body_pose[number, :9].reshape(3, 3) @ model.center(i), wrench[:3])
                effort += a.link_jacobian[a.body_link[number], :, : len(effort)].T @ wrench
        return effort

    def write_links(self, tree: int) -> None:
        """Writes poses and twists of the links of a tree at (q, v); for a tree without kernels also their Jacobians."""
        a = self.arrays
        model = self.tree_models[tree]
        if model.has_kernels:
            tree_kernels.place_links(a.record, tree)
            return
        q, v = a.q[a.tree_q[tree] : a.tree_q[tree + 1]], a.v[a.tree_v[tree] : a.tree_v[tree + 1]]
        numbers = np.array(self._tree_bodies[tree])
        n = len(numbers)
        poses, twists, jacobians = np.empty((n, 12)), np.empty((n, 6)), np.zeros((n, 6, self._width))
        model.write_links(q, v, poses, twists, jacobians)
        a.body_pose[numbers], a.body_twist[numbers] = poses, twists
        a.link_jacobian[a.body_link[numbers]] = jacobians

    def contact_horizon(self, approximation: str, period: float | None = None) -> float:
        """Returns h s of the module's proof [s] in a step of a period [s]; None: in the coming step."""
        period = self.period if period is None else period
        if approximation == "sap":
            return (period + self._longest_relaxation) * self._steepest
        return period * (self._steepest if approximation.startswith("similar") else 1.0)

    def collect(self, approximation: str = "lagged", *, again: bool = False) -> ContactArrays:
        """Finds the contacts of the step, after :meth:`prepare`.

        Args:
            approximation: of the solver; it only determines the margins.
            again: after :meth:`covers` returned False: use the wider margins, and match with the same last step.

        Returns:
            The contacts; the same object as :attr:`contacts`.
        """
        margins = KEPT
        if not again:
            self.swap()
            margins = PREDICTED if self.speculative else ALL_PAIRS
        horizon = self.contact_horizon(approximation)
        while True:
            now, before = self.contacts.record, self.previous.record
            if collect_contacts(self.arrays.record, now, before, self.find_faces, horizon, margins):
                return self.contacts
            self.enlarge()

    def covers(self, velocity: np.ndarray, approximation: str = "lagged") -> bool:
        """Returns whether the solution (nv,) with the collected contacts is that of all pairs below the threshold.

        If not, the margins have been widened: ``collect(approximation, again=True)`` and solve again.
        """
        if not self.speculative:
            return True
        return bool(grow_margins(self.arrays.record, velocity, self.contact_horizon(approximation)) == 0)

    def swap(self) -> None:
        """Exchanges the contacts of this step and of the last one."""
        self.contacts, self.previous = self.previous, self.contacts

    def advance(self, velocity: np.ndarray) -> None:
        """Ends the step: sets v to the solution (nv,), integrates q, and moves prescribed bodies by their twists."""
        self.arrays.v[:] = velocity
        bodies.move_free_bodies(self.arrays.record, velocity, self.period, self.linear_rotation)
        if self._kernels:
            tree_kernels.move_trees(self.arrays.record, self.period)
        self.move_others()

    def move_others(self) -> None:
        """Moves trees without kernels and prescribed bodies by the velocities of the step, and advances the time."""
        a = self.arrays
        for tree in self._others:
            i, j, k, m = a.tree_q[tree], a.tree_q[tree + 1], a.tree_v[tree], a.tree_v[tree + 1]
            a.q[i:j] = self.tree_models[tree].moved(a.q[i:j], a.v[k:m], self.period)
        for number in self.prescribed:
            move_prescribed(a.body_pose[number], a.body_twist[number], self.period, self.linear_rotation)
        self.time += self.period

    def transport_tangential(self, values: np.ndarray) -> np.ndarray:
        """Transports a tangential quantity (n, 2) of the last step's contacts to those of this step."""
        out = np.empty((int(self.contacts.count[0]), 2))
        contacts.carry_tangential(
            self.arrays.record, self.contacts.record, self.previous.record, self.period, values, out
        )
        return out

    carried, travel = RenamedMember("transport_tangential"), RenamedMember("contact_horizon")

    # --- for solvers and tests ---------------------------------------------------------------------------------

    def dense(self) -> dict[str, Any]:
        """Returns the step's problem in dense matrices, as arguments of ``ContactProblem`` (no laws, no period)."""
        a, c = self.arrays, self.contacts
        n, branches = int(c.count[0]), Branches(a.dof_parent, a.dof_run, a.dof_depth)
        matrix, jacobian = np.zeros((self.nv, self.nv)), np.zeros((n, 3, self.nv))
        for tree in range(len(a.tree_kind)):
            i, j = a.tree_v[tree], a.tree_v[tree + 1]
            matrix[i:j, i:j] = a.A[tree, : j - i, : j - i]
        for k in range(n):
            for side, tree in enumerate(c.tree[k]):
                if tree >= 0:
                    columns = side_columns(a.tree_v, branches, int(tree), int(c.last[k, side]))
                    jacobian[k, :, columns] = c.J[k, side, :, : len(columns)].T
        names = ("phi0", "v_n0", "stiffness", "dissipation", "relaxation_time")
        friction = friction_of_problem(c.friction[:n].copy(), c.friction_tensor[:n][:, [[0, 1], [1, 2]]])
        return {
            "A": matrix,
            "v_star": a.v_star.copy(),
            "J": jacobian.reshape(3 * n, self.nv),
            "bias": c.bias[:n].copy(),
            **friction,
        } | {name: getattr(c, name)[:n].copy() for name in names}

    def joint_limits(self) -> JointLimits:
        """Returns the limits of all joints with one coordinate that have any."""
        rows = []
        for tree in self._articulated:
            model = self.tree_models[tree].model
            for joint in list(model.joints)[1:]:  # the first is the world
                if joint.nq == 1 and joint.nv == 1:
                    low, high = position_limits(model, joint)
                    if not (math.isinf(low) and math.isinf(high)):
                        start_v, start_q = self.arrays.tree_v[tree], self.arrays.tree_q[tree]
                        rows.append((start_v + joint.idx_v, start_q + joint.idx_q, low, high))
        table = np.array(rows, dtype=np.float64).reshape(-1, 4)
        whole = table[:, :2].astype(np.int64)
        return JointLimits(whole[:, 0], whole[:, 1], table[:, 2], table[:, 3])

    def enlarge(self) -> None:
        """Enlarges arrays to the size that the last query required.

        Raises:
            NativeLibraryError: Coal failed.
        """
        a = self.arrays
        if a.counters[broad_phase.FAILED]:
            raise native.NativeLibraryError(f"Coal failed: {self._shapes.error if self._shapes else 'no library'}")
        pairs = int(a.counters[broad_phase.REQUIRED_PAIRS])
        if pairs > len(a.pair):
            a.replace(**pair_arrays(2 * pairs))
        points = int(a.counters[broad_phase.REQUIRED_NATIVE])
        if points > len(a.native_gap):
            a.replace(native_point=np.zeros((2 * points, 3)), native_gap=np.zeros(2 * points))
        needed = int(a.counters[broad_phase.REQUIRED_CONTACTS])
        if needed > len(self.contacts.phi0):
            self.contacts = contacts.empty_contacts(2 * needed, self._width)
