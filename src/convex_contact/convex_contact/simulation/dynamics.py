"""A world in motion: state, free-motion velocities and contact candidates of a step, in preallocated arrays.

One step of a simulation is

    prepare()      A, v*, poses                          from q0, v0
    collect()      contacts                              one query, at q0
    (the solver)   v
    covers(v)      were the contacts enough?             else collect(...) again
    advance(v)     q = q0 + dt N(q0) v, time, prescribed bodies

Arrays of :class:`~convex_contact.model.arrays.WorldArrays` (nt trees, nb bodies, ng geometries, d = largest number of
velocities of a tree; m, kg, s, rad, world axes):

======================  ================  =====================================================================
q, v, v_star            (nq,), (nv,)      state; free-motion velocity
effort                  (nv,)             applied forces of articulated trees
tree_q, tree_v          (nt + 1,)         where a tree's coordinates and velocities begin
tree_kind, tree_body    (nt,)             bodies.FREE or ARTICULATED; the body of a free one
A                       (nt, d, d)        blocks of A, of which the first nv_t rows and columns are used
body_tree               (nb,)             the tree that moves a body, -1 if none
body_pose               (nb, 12)          rotation row by row, position; of free bodies at the centre of mass
body_twist              (nb, 6)           [v; omega] at the start of the step, at the pose's origin
body_wrench             (nb, 6)           [f; m] applied to free bodies, at the centre of mass
body_margin             (nb,)             how far a body's contacts are looked for
body_speed              (2, nb)           bounds of the speed of its points, while margins are made
body_link               (nb,)             row of link_jacobian, -1: a free body, whose Jacobian is the identity
link_jacobian           (nl, 6, d)        of links, at the pose's origin
geometry_pose           (ng, 12)          of shapes
law                     (nc, nc, 4)       combined k, d, tau_d, mu by class of geometry
geometry_mesh           (ng,)             number of its mesh for hydroelastic contact, -1: none (`contact_surface`)
======================  ================  =====================================================================

**Which contacts are enough.** The paper's rule puts every pair with phi0 < 0.1 m into the problem; nearly all of them
do nothing. A contact whose force vanishes in a neighbourhood of the solution can be left out without changing it: let
v be the minimiser of the cost without the contacts of a set E. If every contact of E has zero impulse at v, then the
gradient of the full cost vanishes at v too, and as that cost is strictly convex, v is its only minimiser. So it is
enough to look at v afterwards. With V = |v_c| an upper bound of a contact's speed, its impulse is zero when

    phi0 >= h s V,   Lagged and its relatives:  h = dt,          s = 1              (phi0 + dt v_n >= 0)
                     Similar:                   h = dt,          s = sqrt(1 + mu^2) (phi0 + dt (v_n - mu ||v_t||) >= 0)
                     SAP:                       h = dt + tau_d,  s = sqrt(1 + mu^2) (v_n - mu ||v_t|| >= -phi0 / h)

because a normal law is zero for phi >= 0, a lagged bound mu gamma_n0 is zero where phi0 >= 0, and mu V_t - V_n <=
sqrt(1 + mu^2) V. (A law that pulls is not covered.) A contact that was left out has phi0 >= min(threshold, mA + mB)
with the margins of its bodies, and V <= SA + SB, where S = |v| + |omega| (r + threshold/2) bounds the speed of a
body's points. So **h s S <= m for every body proves that the solution is the full problem's**; where it fails, that
body's margin grows and the step is solved again. :meth:`WorldDynamics.covers` does this; margins come from the speeds
before the step, and are chosen so that it seldom fails. ``speculative=False`` is the paper's rule.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit

from convex_contact.collision import broad_phase, contacts, narrow_phase
from convex_contact.collision.contact_surface import mesh_arrays
from convex_contact.model import bodies, native
from convex_contact.model.arrays import ContactArrays, ContactRecord, WorldArrays, WorldRecord
from convex_contact.model.pressure_fields import Mesh
from convex_contact.model.shapes import HALF_SPACE, HULL, SPHERE, Hull
from convex_contact.model.world import Body, Placement, World, WorldError

#: Beyond this multiple of the median extent a geometry is tried against all others.
LARGE = 8.0
OWN_SPEED, OTHERS_SPEED = 1.5, 0.25  # of the travel of the body itself and of the fastest body, into the margin


@dataclass(frozen=True)
class BodyState:
    """Where a body is and how it moves.

    Attributes:
        position: Of its frame's origin (3,), m.
        orientation: Quaternion (x, y, z, w).
        velocity: Of the origin (3,), m/s.
        angular_velocity: (3,), rad/s, world.
    """

    position: np.ndarray
    orientation: np.ndarray
    velocity: np.ndarray
    angular_velocity: np.ndarray


@dataclass(frozen=True)
class JointLimits:
    """Limits of the joints with one coordinate.

    Attributes:
        velocity: Which velocity (n,).
        coordinate: Which coordinate (n,).
        lower: (n,), m or rad; -inf if none.
        upper: (n,).
    """

    velocity: np.ndarray
    coordinate: np.ndarray
    lower: np.ndarray
    upper: np.ndarray


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def body_speeds(w: WorldRecord, velocity: np.ndarray, out: np.ndarray) -> None:
    """Upper bounds (nb,) of the speed of the bodies' points and contact points, m/s, at velocity (nv,)."""
    reach = 0.5 * w.settings[broad_phase.THRESHOLD]
    for b in range(w.body_tree.shape[0]):
        tree, link = w.body_tree[b], w.body_link[b]
        linear, angular = 0.0, 0.0
        if tree < 0:
            for k in range(3):
                linear += w.body_twist[b, k] ** 2
                angular += w.body_twist[b, 3 + k] ** 2
        elif link < 0:
            i = w.tree_v[tree]
            for k in range(3):
                linear += velocity[i + k] ** 2
                angular += velocity[i + 3 + k] ** 2
        else:
            start = w.tree_v[tree]
            for k in range(6):
                s = 0.0
                for j in range(w.tree_v[tree + 1] - start):
                    s += w.link_jacobian[link, k, j] * velocity[start + j]
                if k < 3:
                    linear += s * s
                else:
                    angular += s * s
        out[b] = np.sqrt(linear)
        if angular > 0:
            out[b] += np.sqrt(angular) * (w.body_radius[b] + reach)


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def predict_margins(w: WorldRecord, travel: float) -> None:
    """Margins of all bodies from their speeds before the step and in free motion.

    Args:
        w: The world.
        travel: h s, s.
    """
    speeds = w.body_speed
    body_speeds(w, w.v, speeds[0])
    body_speeds(w, w.v_star, speeds[1])
    fastest = 0.0
    for b in range(speeds.shape[1]):
        speeds[0, b] = max(speeds[0, b], speeds[1, b])
        if w.body_tree[b] >= 0:
            fastest = max(fastest, speeds[0, b])
    for b in range(speeds.shape[1]):
        if w.body_tree[b] >= 0:
            w.body_margin[b] = travel * (OWN_SPEED * speeds[0, b] + OTHERS_SPEED * fastest)
        else:
            w.body_margin[b] = travel * speeds[0, b]


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def grow_margins(w: WorldRecord, velocity: np.ndarray, travel: float) -> int:
    """Widens the margins that do not cover a velocity; returns how many these are."""
    speeds = w.body_speed
    body_speeds(w, velocity, speeds[0])
    short = 0
    for b in range(speeds.shape[1]):
        needed = travel * speeds[0, b]
        if needed > w.body_margin[b] and w.body_margin[b] < w.settings[broad_phase.THRESHOLD]:
            w.body_margin[b] = OWN_SPEED * needed
            short += 1
    return short


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def find_contacts(w: WorldRecord, c: ContactRecord) -> bool:
    """Geometry of one query: pairs, points and all that belongs to them. True if the arrays were large enough."""
    broad_phase.place_geometries(w)
    broad_phase.find_pairs(w)
    counters = w.counters
    counters[broad_phase.REQUIRED_CONTACTS] = 0
    if counters[broad_phase.REQUIRED_PAIRS] > w.pair.shape[0]:
        return False
    narrow_phase.find_points(w, c)
    if counters[broad_phase.FAILED] or counters[broad_phase.REQUIRED_NATIVE] > w.native_gap.shape[0]:
        return False
    if counters[broad_phase.REQUIRED_CONTACTS] > c.phi0.shape[0]:
        return False
    contacts.complete(w, c)
    return True


#: how a query sets the margins
KEPT, ALL_PAIRS, PREDICTED = range(3)


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def collect_contacts(w: WorldRecord, c: ContactRecord, old: ContactRecord, travel: float, margins: int) -> bool:
    """Contacts of the step, matched with those of the step before. True if the arrays were large enough.

    Args:
        w: The world.
        c: The contacts to fill in.
        old: Those of the step before.
        travel: h s, s.
        margins: KEPT, ALL_PAIRS or PREDICTED.
    """
    if margins == ALL_PAIRS:
        w.body_margin[:] = 0.5 * w.settings[broad_phase.THRESHOLD]
    elif margins == PREDICTED:
        predict_margins(w, travel)
    if not find_contacts(w, c):
        return False
    contacts.match(w, c, old)
    return True


class WorldDynamics:
    """State, dynamics and contact candidates of a world.

    Args:
        world: The description; later changes to it are not seen.
        period: dt, s.
        threshold: Pairs with phi0 below it are in the problem, m.
        speculative: Leave out contacts that provably do nothing (see the module).
        linear_rotation: Integrate quaternions by q0 + dt N(q0) v and normalise, as the paper writes it; otherwise by
            the exponential map, which is exact for a constant angular velocity.

    Attributes:
        arrays: All arrays.
        contacts: The contacts of the last :meth:`collect`.
        previous: Those of the step before.
        time: s.
        alone: There are free and fixed bodies only.

    Raises:
        NativeLibraryError: The compiled library is missing, and a pair of shapes needs it.
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
        for name, value in (("period", period), ("threshold", threshold)):
            if not 0 < value < math.inf:
                raise ValueError(f"{name}: expected a positive number, got {value}")
        self.world = world
        self.period = float(period)
        self.threshold = float(threshold)
        self.speculative = speculative
        self.linear_rotation = linear_rotation
        self.time = 0.0
        self._trees = [tree.model for tree in world.trees]
        self.arrays, self._shapes, self._tree_bodies = _world_arrays(world, self.threshold)
        self._width = self.arrays.A.shape[1]
        self._tree_of_body = {b: t for t, bs in enumerate(self._tree_bodies) for b in bs}
        self._articulated = [t for t, kind in enumerate(self.arrays.tree_kind) if kind == bodies.ARTICULATED]
        self._prescribed = [i for i, body in enumerate(world.bodies) if body.kind == "prescribed"]
        self.alone = not self._articulated and not self._prescribed
        self._steepest = math.sqrt(1 + float(self.arrays.law[:, :, 3].max(initial=0.0)) ** 2)
        self._longest_relaxation = float(self.arrays.law[:, :, 2].max(initial=0.0))
        self._start = (self.arrays.q.copy(), self.arrays.v.copy(), self.arrays.body_pose.copy())
        capacity = 64 + 16 * len(self.arrays.geometry_kind)
        self.contacts = contacts.empty_contacts(capacity, self._width)
        self.previous = contacts.empty_contacts(capacity, self._width)
        self.reset()

    # --- state -----------------------------------------------------------------------------------------------

    @property
    def nv(self) -> int:
        """Number of velocities."""
        return len(self.arrays.v)

    @property
    def has_compliant_bodies(self) -> bool:
        """Whether there can be hydroelastic contact."""
        return bool(self.arrays.mesh_flattest.any())

    def reset(self) -> None:
        """Back to the state that the description gives."""
        a = self.arrays
        a.q[:], a.v[:], a.body_pose[:] = self._start
        a.body_wrench[:] = 0
        a.effort[:] = 0
        a.counters[:] = 0
        self.time = 0.0
        self.contacts.count[0] = self.previous.count[0] = 0
        for number in self._prescribed:
            body = self.world.bodies[number]
            a.body_twist[number] = np.concatenate([body.velocity, body.angular_velocity])
            if body.motion is not None:
                a.body_twist[number] = body.motion(0.0)

    def state(self, body: int | str) -> BodyState:
        """Position and velocity of a body, from q and v."""
        number = self.world.number(body)
        described = self.world.bodies[number]
        a = self.arrays
        if described.kind == "free":
            tree = self._tree_of_body[number]
            q, v = a.q[a.tree_q[tree] :][:7], a.v[a.tree_v[tree] :][:6]
            placement = Placement(q[:3].copy(), q[3:] / np.linalg.norm(q[3:]))
            velocity, angular = v[:3].copy(), v[3:].copy()
        else:
            if described.kind == "link":
                self._write_links(self._tree_of_body[number])
            pose, twist = a.body_pose[number], a.body_twist[number]
            quaternion = np.empty(4)
            _quaternion(pose, quaternion)
            placement = Placement(pose[9:].copy(), quaternion)
            velocity, angular = twist[:3].copy(), twist[3:].copy()
        lever = placement.rotation @ described.center
        (x, y, z), (a1, a2, a3) = lever.tolist(), angular.tolist()
        turning = np.array([a2 * z - a3 * y, a3 * x - a1 * z, a1 * y - a2 * x])  # np.cross takes ten times as long
        return BodyState(placement.position - lever, placement.orientation, velocity - turning, angular)

    def prescribe(self, body: int | str, twist: Any, position: Any = None, orientation: Any = None) -> None:
        """Sets the twist (6,) of a prescribed body for the coming step, and where it is at its start.

        Args:
            body: Number or name.
            twist: [linear; angular], world, at the body's origin.
            position: (3,), m; default: where it got to.
            orientation: Quaternion (x, y, z, w).

        Raises:
            ValueError: The body is not prescribed, or a length is wrong.
        """
        number = self.world.number(body)
        if number not in self._prescribed:
            raise ValueError(
                f"{self.world.bodies[number].name}: it is {self.world.bodies[number].kind}, not prescribed"
            )
        values = np.asarray(twist, dtype=np.float64)
        if values.shape != (6,) or not np.isfinite(values).all():
            raise ValueError(f"twist: expected 6 finite numbers, got {twist!r}")
        pose = self.arrays.body_pose[number]
        self.arrays.body_twist[number] = values
        if position is not None or orientation is not None:
            q = np.empty(7)
            q[:3] = pose[9:] if position is None else position
            _quaternion(pose, q[3:])
            q[3:] = q[3:] if orientation is None else orientation
            bodies.write_pose(pose, q)

    # --- one step ----------------------------------------------------------------------------------------------

    def prepare(self) -> None:
        """A, v*, poses and twists at (q, v). A prescribed body's motion is taken at the end of the step."""
        a = self.arrays
        for number in self._prescribed:
            motion = self.world.bodies[number].motion
            if motion is not None:
                a.body_twist[number] = motion(self.time + self.period)
        bodies.prepare_free_bodies(a.record, self.period)
        for tree in self._articulated:
            i, j, k, m = a.tree_q[tree], a.tree_q[tree + 1], a.tree_v[tree], a.tree_v[tree + 1]
            model, drive = self._trees[tree], self.world.trees[tree].drive
            effort = a.effort[k:m] if drive is None else a.effort[k:m] + drive(self.time)
            model.prepare(a.q[i:j], a.v[k:m], effort, self.period, a.A[tree, : m - k, : m - k], a.v_star[k:m])
            self._write_links(tree)

    def _write_links(self, tree: int) -> None:
        a = self.arrays
        model = self._trees[tree]
        q, v = a.q[a.tree_q[tree] : a.tree_q[tree + 1]], a.v[a.tree_v[tree] : a.tree_v[tree + 1]]
        numbers = np.array(self._tree_bodies[tree])
        n = len(numbers)
        poses, twists, jacobians = np.empty((n, 12)), np.empty((n, 6)), np.zeros((n, 6, self._width))
        model.write_links(q, v, poses, twists, jacobians)
        a.body_pose[numbers], a.body_twist[numbers] = poses, twists
        a.link_jacobian[a.body_link[numbers]] = jacobians

    def travel(self, approximation: str) -> float:
        """h s of the module's proof, s: how far a contact reaches per speed of its bodies."""
        if approximation == "sap":
            return (self.period + self._longest_relaxation) * self._steepest
        return self.period * (self._steepest if approximation.startswith("similar") else 1.0)

    def collect(self, approximation: str = "lagged", *, again: bool = False) -> ContactArrays:
        """Finds the contacts of the step, after :meth:`prepare`.

        Args:
            approximation: Of the solver; only decides how far is looked.
            again: After :meth:`covers` said no: with the wider margins, and still against the step before.

        Returns:
            The contacts; the same object as :attr:`contacts`.
        """
        margins = KEPT
        if not again:
            self.swap()
            margins = PREDICTED if self.speculative else ALL_PAIRS
        travel = self.travel(approximation)
        while not collect_contacts(self.arrays.record, self.contacts.record, self.previous.record, travel, margins):
            self.enlarge()
        return self.contacts

    def covers(self, velocity: np.ndarray, approximation: str = "lagged") -> bool:
        """Whether the solution (nv,) with the collected contacts is that of all pairs below the threshold.

        If not, the margins have been widened: ``collect(approximation, again=True)`` and solve again.
        """
        if not self.speculative:
            return True
        return bool(grow_margins(self.arrays.record, velocity, self.travel(approximation)) == 0)

    def swap(self) -> None:
        """The contacts become those of the step before; once more: takes that back."""
        self.contacts, self.previous = self.previous, self.contacts

    def advance(self, velocity: np.ndarray) -> None:
        """Ends the step: v becomes the solution (nv,), q moves with it, and prescribed bodies with theirs."""
        self.arrays.v[:] = velocity
        bodies.move_free_bodies(self.arrays.record, velocity, self.period, self.linear_rotation)
        self.move_others()

    def move_others(self) -> None:
        """Moves trees and prescribed bodies by the velocities of the step, and the time."""
        a = self.arrays
        for tree in self._articulated:
            i, j, k, m = a.tree_q[tree], a.tree_q[tree + 1], a.tree_v[tree], a.tree_v[tree + 1]
            a.q[i:j] = self._trees[tree].moved(a.q[i:j], a.v[k:m], self.period)
        for number in self._prescribed:
            if a.body_twist[number].any():
                q = np.empty(7)
                q[:3] = a.body_pose[number, 9:]
                _quaternion(a.body_pose[number], q[3:])
                bodies.move(q, a.body_twist[number], self.period, self.linear_rotation)
                bodies.write_pose(a.body_pose[number], q)
        self.time += self.period

    def carried(self, values: np.ndarray) -> np.ndarray:
        """A tangential quantity (n, 2) of the step before's contacts, at those of this step (see ``contacts``)."""
        out = np.empty((int(self.contacts.count[0]), 2))
        contacts.carry_tangential(
            self.arrays.record, self.contacts.record, self.previous.record, self.period, values, out
        )
        return out

    # --- for solvers and tests ---------------------------------------------------------------------------------

    def dense(self) -> dict[str, Any]:
        """The problem of the step in dense matrices, as ``ContactProblem`` takes it (no laws, no period)."""
        a, c = self.arrays, self.contacts
        n = int(c.count[0])
        matrix, jacobian = np.zeros((self.nv, self.nv)), np.zeros((n, 3, self.nv))
        for tree in range(len(a.tree_kind)):
            i, j = a.tree_v[tree], a.tree_v[tree + 1]
            matrix[i:j, i:j] = a.A[tree, : j - i, : j - i]
        for k in range(n):
            for side, tree in enumerate(c.tree[k]):
                if tree >= 0:
                    i, j = a.tree_v[tree], a.tree_v[tree + 1]
                    jacobian[k, :, i:j] += c.J[k, side, :, : j - i]
        names = ("phi0", "v_n0", "stiffness", "dissipation", "relaxation_time", "friction")
        return {
            "A": matrix,
            "v_star": a.v_star.copy(),
            "J": jacobian.reshape(3 * n, self.nv),
            "bias": c.bias[:n].copy(),
        } | {name: getattr(c, name)[:n].copy() for name in names}

    def joint_limits(self) -> JointLimits:
        """Limits of all joints with one coordinate that have any."""
        rows = []
        for tree in self._articulated:
            model = self._trees[tree].model
            for joint in list(model.joints)[1:]:  # the first is the world
                if joint.nq == 1 and joint.nv == 1:
                    low, high = model.lowerPositionLimit[joint.idx_q], model.upperPositionLimit[joint.idx_q]
                    low = low if abs(low) < 1e300 else -math.inf
                    high = high if abs(high) < 1e300 else math.inf
                    if not (math.isinf(low) and math.isinf(high)):
                        start_v, start_q = self.arrays.tree_v[tree], self.arrays.tree_q[tree]
                        rows.append((start_v + joint.idx_v, start_q + joint.idx_q, low, high))
        table = np.array(rows, dtype=np.float64).reshape(-1, 4)
        whole = table[:, :2].astype(np.int64)
        return JointLimits(whole[:, 0], whole[:, 1], table[:, 2], table[:, 3])

    def enlarge(self) -> None:
        """Makes room for what the last query needed.

        Raises:
            NativeLibraryError: Coal failed.
        """
        a = self.arrays
        if a.counters[broad_phase.FAILED]:
            raise native.NativeLibraryError(f"Coal failed: {self._shapes.error if self._shapes else 'no library'}")
        pairs = int(a.counters[broad_phase.REQUIRED_PAIRS])
        if pairs > len(a.pair):
            a.replace(**_pair_arrays(2 * pairs))
        points = int(a.counters[broad_phase.REQUIRED_NATIVE])
        if points > len(a.native_gap):
            a.replace(native_point=np.zeros((2 * points, 3)), native_gap=np.zeros(2 * points))
        needed = int(a.counters[broad_phase.REQUIRED_CONTACTS])
        if needed > len(self.contacts.phi0):
            self.contacts = contacts.empty_contacts(2 * needed, self._width)


def _quaternion(pose: np.ndarray, out: np.ndarray) -> None:
    import pinocchio as pin

    out[:] = pin.Quaternion(pose[:9].reshape(3, 3)).coeffs()


def _pair_arrays(n: int) -> dict[str, np.ndarray]:
    return {
        "pair": np.zeros((n, 2), dtype=np.int64),
        "pair_reach": np.zeros(n),
        "pair_second": np.zeros(n, dtype=np.int64),
        "pair_sorted": np.zeros(n, dtype=np.int64),
        "native_pair": np.zeros((n, 2), dtype=np.int64),
        "native_reach": np.zeros(n),
        "native_start": np.zeros(n + 1, dtype=np.int64),
        "native_normal": np.zeros((n, 3)),
    }


def _world_arrays(world: World, threshold: float) -> tuple[WorldArrays, native.ShapeTable | None, list[list[int]]]:
    """The arrays of a world at its start, its shapes in the compiled library, and the bodies of each tree.

    Articulated trees come first, then free bodies in their order.
    """
    nb = len(world.bodies)
    free = [i for i, body in enumerate(world.bodies) if body.kind == "free"]
    tree_bodies = [list(tree.bodies) for tree in world.trees] + [[i] for i in free]
    nt, articulated = len(tree_bodies), len(world.trees)
    nq = [len(tree.q) for tree in world.trees] + [7] * len(free)
    nv = [len(tree.v) for tree in world.trees] + [6] * len(free)
    width = max(nv, default=6)
    width = max(width, 6)
    tree_q, tree_v = np.concatenate([[0], np.cumsum(nq)]), np.concatenate([[0], np.cumsum(nv)])
    a: dict[str, np.ndarray] = {
        "settings": np.array([threshold]),
        "counters": np.zeros(8, dtype=np.int64),
        "q": np.zeros(int(tree_q[-1])),
        "v": np.zeros(int(tree_v[-1])),
        "v_star": np.zeros(int(tree_v[-1])),
        "effort": np.zeros(int(tree_v[-1])),
        "gravity": world.gravity.copy(),
        "tree_kind": np.array([bodies.ARTICULATED] * articulated + [bodies.FREE] * len(free), dtype=np.int64),
        "tree_q": tree_q.astype(np.int64),
        "tree_v": tree_v.astype(np.int64),
        "tree_body": np.array([-1] * articulated + free, dtype=np.int64),
        "mass": np.zeros(nt),
        "inertia": np.zeros((nt, 9)),
        "inertia_inverse": np.zeros((nt, 9)),
        "A": np.zeros((nt, width, width)),
        "body_tree": np.full(nb, -1, dtype=np.int64),
        "body_pose": np.zeros((nb, 12)),
        "body_twist": np.zeros((nb, 6)),
        "body_wrench": np.zeros((nb, 6)),
        "body_radius": np.zeros(nb),
        "body_margin": np.zeros(nb),
        "body_speed": np.zeros((2, nb)),
        "body_link": np.full(nb, -1, dtype=np.int64),
    }
    links = 0
    for t, members in enumerate(tree_bodies):
        for number in members:
            a["body_tree"][number] = t
            if t < articulated:
                a["body_link"][number] = links
                links += 1
    a["link_jacobian"] = np.zeros((links, 6, width))
    for t, tree in enumerate(world.trees):
        a["q"][tree_q[t] : tree_q[t + 1]], a["v"][tree_v[t] : tree_v[t + 1]] = tree.q, tree.v
    for number, body in enumerate(world.bodies):
        _start_body(a, number, body)
    shapes = _geometry_arrays(world, a)
    a.update(_pair_arrays(64 + 16 * len(a["geometry_kind"])))
    a["native_point"], a["native_gap"] = np.zeros((8 * len(a["pair"]), 3)), np.zeros(8 * len(a["pair"]))
    return WorldArrays(**a), shapes, tree_bodies


def _start_body(a: dict[str, np.ndarray], number: int, body: Body) -> None:
    """Pose of a body, and inertia and state of a free one."""
    rotation = body.placement.rotation
    lever = rotation @ body.center
    a["body_pose"][number] = np.concatenate([rotation.ravel(), body.placement.position + lever])
    if body.kind != "free":
        return
    t = a["body_tree"][number]
    i, j = a["tree_q"][t], a["tree_v"][t]
    a["q"][i : i + 3], a["q"][i + 3 : i + 7] = body.placement.position + lever, body.placement.orientation
    a["v"][j : j + 3] = body.velocity + np.cross(body.angular_velocity, lever)
    a["v"][j + 3 : j + 6] = body.angular_velocity
    a["mass"][t] = body.mass
    a["inertia"][t], a["inertia_inverse"][t] = body.inertia.ravel(), np.linalg.inv(body.inertia).ravel()


def _geometry_arrays(world: World, a: dict[str, np.ndarray]) -> native.ShapeTable | None:
    """Adds the arrays of all geometries; returns the shapes in the compiled library if they are needed."""
    items = list(world.numbered_geometries())
    ng = len(items)
    shapes = [g.shape for _, g in items]
    kinds = np.array([s.kind for s in shapes], dtype=np.int64).reshape(ng)
    a["geometry_kind"] = kinds
    a["geometry_body"] = np.array([b for b, _ in items], dtype=np.int64).reshape(ng)
    a["geometry_local"], a["geometry_pose"] = np.zeros((ng, 12)), np.zeros((ng, 12))
    for i, (number, g) in enumerate(items):
        center = world.bodies[number].center
        a["geometry_local"][i] = np.concatenate([g.placement.rotation.ravel(), g.placement.position - center])
        reach = float(np.linalg.norm(g.placement.position - center)) + g.shape.radius
        a["body_radius"][number] = max(a["body_radius"][number], reach)
    for name, attribute in (("size", "parameters"), ("center", "center"), ("extent", "extent")):
        a[f"geometry_{name}"] = np.array([getattr(s, attribute) for s in shapes]).reshape(ng, 3)
    a["geometry_radius"] = np.array([s.radius for s in shapes]).reshape(ng)
    a["geometry_bounds"] = np.zeros((ng, 6))

    finite = np.flatnonzero(kinds != HALF_SPACE)
    widest = a["geometry_extent"].max(axis=1, initial=0.0)
    typical = float(np.median(widest[finite])) if len(finite) else 0.0
    a["large"] = finite[widest[finite] > LARGE * typical].astype(np.int64)
    a["finite"] = finite[widest[finite] <= LARGE * typical].astype(np.int64)
    a["sweep"] = np.zeros((len(a["finite"]), 6))
    a["planes"] = np.flatnonzero(kinds == HALF_SPACE).astype(np.int64)
    a["pair_start"], a["pair_fill"] = np.zeros(ng + 1, dtype=np.int64), np.zeros(ng, dtype=np.int64)

    others: list[list[int]] = [[] for _ in items]
    for i, j in world.disabled:
        for x in np.flatnonzero(a["geometry_body"] == i):
            for y in np.flatnonzero(a["geometry_body"] == j):
                others[min(x, y)].append(int(max(x, y)))
    a["disabled_start"] = np.concatenate([[0], np.cumsum([len(o) for o in others])]).astype(np.int64)
    a["disabled_other"] = np.array([y for o in others for y in sorted(o)], dtype=np.int64)

    meshes: dict[int, tuple[int, Mesh]] = {}
    a["geometry_mesh"] = np.full(ng, -1, dtype=np.int64)
    for i, (_, g) in enumerate(items):
        if g.mesh is not None:
            a["geometry_mesh"][i] = meshes.setdefault(id(g.mesh), (len(meshes), g.mesh))[0]
    a.update(mesh_arrays([mesh for _, mesh in meshes.values()]))

    _classify(world, items, a)
    hulls = [s.vertices if isinstance(s, Hull) else np.zeros((0, 3)) for s in shapes]
    ends = np.concatenate([[0], np.cumsum([len(h) for h in hulls])]).astype(np.int64)
    a["hull_range"] = np.stack([ends[:-1], ends[1:]], axis=1)
    a["hull_vertices"] = np.concatenate([*hulls, np.zeros((0, 3))])

    moving = a["body_tree"][a["geometry_body"]] >= 0
    solid = kinds[(kinds != HALF_SPACE)]
    needed = np.isin(kinds, [HULL]).any() or ((solid != SPHERE).sum() > 1 and bool(moving.any()))
    a["geometry_shape"] = np.full(ng, -1, dtype=np.int64)
    a["context"] = np.zeros(1, dtype=np.int64)
    if not needed:
        return None
    table = native.ShapeTable()
    a["context"][0] = table.address
    known: dict[Any, int] = {}
    for i, s in enumerate(shapes):
        if s.kind == HALF_SPACE:
            continue
        key = id(s) if isinstance(s, Hull) else (s.kind, *s.parameters)
        if key not in known:
            known[key] = (
                table.add_hull(s.vertices) if isinstance(s, Hull) else table.add_primitive(s.kind, s.parameters)
            )
        a["geometry_shape"][i] = known[key]
    return table


def _classify(world: World, items: list[Any], a: dict[str, np.ndarray]) -> None:
    """Gives each geometry a class, and each pair of classes its combined values.

    Raises:
        WorldError: Two surfaces that can meet are both rigid.
    """
    special = {body for pair in world.pair_laws for body in pair}
    members: dict[Any, list[Any]] = {}
    for number, g in items:
        members.setdefault((g.material, g.modulus, number if number in special else -1), []).append((number, g))
    numbers = {key: i for i, key in enumerate(members)}
    a["geometry_class"] = np.array(
        [numbers[g.material, g.modulus, number if number in special else -1] for number, g in items], dtype=np.int64
    ).reshape(len(items))
    a["law"] = np.zeros((len(members), len(members), 4))
    groups = list(members.values())
    moves = [any(world.bodies[number].kind in ("free", "link") for number, _ in group) for group in groups]
    for i, group in enumerate(groups):
        for j in range(i, len(groups)):
            if not (moves[i] or moves[j]) or (i == j and len(group) == 1):
                continue
            (one, g), (two, h) = group[0], groups[j][-1]
            try:
                law = world.law(g, h, one, two)
            except ValueError as error:
                raise WorldError(f"{world.bodies[one].name} and {world.bodies[two].name}: {error}") from None
            a["law"][i, j] = a["law"][j, i] = (law.stiffness, law.dissipation, law.relaxation_time, law.friction)
