"""Steps a simulator and differentiates each step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pinocchio as pin

from convex_contact.differentiation import step_derivatives
from convex_contact.differentiation.body_joint_derivatives import RowMotion, differentiate_body_rows
from convex_contact.differentiation.geometry_derivatives import differentiate
from convex_contact.differentiation.joint_derivatives import add_joint_rows, needs_mass
from convex_contact.differentiation.records import StepMotion, StepSetting, new_derivatives
from convex_contact.differentiation.tape import ContactTape, StepTape, TreeTape, assemble, solver_of
from convex_contact.model.bodies import ARTICULATED
from convex_contact.model.deformable import DeformableTree
from convex_contact.model.motors import Motor
from convex_contact.model.tree_kernels import write_jacobians
from convex_contact.problem import contact_kernels
from convex_contact.problem.contact_kernels import ContactLaw, Regularisation
from convex_contact.simulation.body_joint_rows import COMPILED
from convex_contact.simulation.coupling import Coupling
from convex_contact.simulation.simulator import Simulator
from convex_contact.solver.workspace import inputs, outputs

if TYPE_CHECKING:
    from convex_contact.differentiation.rollouts import Rollout
    from convex_contact.model.world import World


def refuse_deformable_bodies(world: World) -> None:
    """Raises ValueError with the name of a deformable body of a world, whose motion has no derivatives."""
    for tree in world.trees:
        if isinstance(tree.model, DeformableTree):
            raise ValueError(f"{tree.name}: expected no deformable body; its motion has no derivatives here")


def check_differentiable(simulator: Simulator) -> None:
    """Refuses a simulator with steps that have no derivatives.

    Raises:
        ValueError: see :func:`~convex_contact.differentiation.rollouts.rollout`.
    """
    refuse_deformable_bodies(simulator.world)
    if simulator.control is not None:
        raise ValueError("simulator: expected one with a period, got one with an accuracy")
    started = zip(simulator.world.controllers, simulator._controllers, strict=True)
    by_python = [each for each, rows in started if not isinstance(rows, COMPILED)] + list(simulator.constraints)
    for one in by_python:
        if isinstance(one, Motor):
            raise ValueError(
                f"{simulator.world.trees[one.law.tree].name}: {one.law.joint}: expected no motor of a ball or planar "
                "joint of a tree; its rows have no derivatives here"
            )
        raise ValueError(
            "constraints: expected joints and their laws, limits, motors, gears and welds alone, got "
            f"{type(one).__name__}; its rows have no derivatives here"
        )
    if simulator.dynamics.has_compliant_bodies:
        raise ValueError("simulator: expected no compliant bodies; contact surfaces have no derivatives here")
    d = simulator.dynamics
    if d.has_grooves or d.has_static_friction or d.has_torsional_friction:
        raise ValueError(
            "world: expected one coefficient of friction, got one that has a direction, falls with the slip speed, or "
            "resists spin; such friction has no derivatives here"
        )


class Recorder:
    """Steps a simulator and differentiates each step."""

    def __init__(self, r: Rollout, simulator: Simulator) -> None:
        self.r, self.simulator = r, simulator
        a = simulator.dynamics.arrays
        self._trees = [t for t, kind in enumerate(a.tree_kind) if kind == ARTICULATED]
        self._prescribed = [i for i, body in enumerate(r.world.bodies) if body.kind == "prescribed"]
        self._start_rotation = {body: a.body_pose[body, :9].reshape(3, 3).copy() for body in self._prescribed}
        chosen = simulator._chosen.code
        options = simulator._options
        self._setting = StepSetting(
            ContactLaw(
                chosen, simulator._law.code, np.ascontiguousarray(simulator._law.addresses), float(simulator.period)
            ),
            Regularisation(*(float(options[name]) for name in Regularisation._fields)),
            *map(float, simulator._tangential),
        )
        self._with_w = bool(contact_kernels.needs_delassus_norm(chosen))
        self._tape_index = np.zeros(0, dtype=np.int64)  # of the last step's contacts
        self._ancestry = [_ancestry(r.world.trees[t].model.model) for t in self._trees]

    def step(self) -> None:
        """Makes one step, and appends its derivatives to the tape."""
        r, simulator = self.r, self.simulator
        d = simulator.dynamics
        a = d.arrays
        start_q, start = a.q.copy(), a.v.copy()
        fixed_poses = a.body_pose[self._prescribed]
        time = d.time
        simulator.step()
        if self._trees:
            write_jacobians(a.record)
        poses = a.body_pose.copy()
        poses[self._prescribed] = fixed_poses
        velocity = a.v
        nt, width, nv = r._nt, r._width, r.nv
        R_q, R_v, E, K = np.zeros((4, nt, width, width))
        step_derivatives.differentiate_free_bodies(
            a.record, poses, start, velocity, r.period, d.linear_rotation, R_q, R_v, E, K
        )
        link_hessian = np.zeros((len(a.link_jacobian), 6, width, width))
        mass_hessian = np.zeros((nt, width, width, width) if self._with_w else (0, width, width, width))
        joints = simulator._joint_rows
        count = simulator._body_rows.count
        with_mass = self._with_w or needs_mass(joints) or count > 0
        trees = {}
        mass_by_q: dict[int, np.ndarray] = {}
        for t, ancestry in zip(self._trees, self._ancestry, strict=True):
            trees[t] = self._tree(t, start_q, start, velocity, R_q, R_v, E, K, with_mass, mass_by_q)
            links = np.array([a.body_link[b] for b in r.world.trees[t].bodies])
            n = len(trees[t].gravity)
            link_hessian[links, :, :n, :n] = _link_hessian(a.link_jacobian[links, :, :n], ancestry)
            self._wrenches(t, trees[t], poses, link_hessian, R_q)
        for coupling in (*simulator.springs, *simulator.couplings):
            self._coupling(coupling, poses, velocity, link_hessian, R_q, mass_by_q)
        for t, by_q in mass_by_q.items():
            if self._with_w:
                mass_hessian[t, : len(by_q), : len(by_q), : len(by_q)] = by_q
        H = a.A.copy()
        near_rigid = add_joint_rows(joints, time, r.period, velocity, a.tree_v, a.A, H, R_q, mass_by_q)
        contacts, blocks = self._contacts(poses, start, velocity, link_hessian, mass_hessian)
        coupled = [[(contacts.tree, block)] for block in blocks]  # by q, v0, v
        numbers = inputs(simulator._workspace).rows.parameters[:count].copy()
        motion = RowMotion(a, poses, velocity, time, r.period, link_hessian, mass_by_q)
        between = differentiate_body_rows(simulator._body_rows, numbers, motion) if count else []
        coupled[0] += [(rows.tree, rows.R_q) for rows in between]
        coupled[2] += [(rows.tree, rows.H) for rows in between]
        matrices: list[Any] = []
        for own, others in zip((R_q, R_v, H, E, K), (*coupled, [], []), strict=True):
            matrices.append(assemble(a.tree_v, own, others, nv))
        r._tape.append(
            StepTape(
                R_q=matrices[0],
                R_v=matrices[1],
                E=matrices[3],
                K=matrices[4],
                solve=solver_of(matrices[2]),
                contacts=contacts,
                change=velocity - start,
                v0=start,
                rotation=poses[a.tree_body[r._free], :9].reshape(-1, 3, 3),
                trees=trees,
                prescribed_rotation=self._rotations(poses),
                near_rigid=near_rigid,
                body_rows=[rows.tape for rows in between],
            )
        )

    def _rotations(self, poses: np.ndarray) -> dict[int, np.ndarray]:
        """Returns the rotations (3, 3) of the prescribed bodies since the start, of those that turned."""
        first = self._start_rotation.items()
        now = {body: poses[body, :9].reshape(3, 3) for body, _ in first}
        return {body: now[body] @ R.T for body, R in first if not np.array_equal(now[body], R)}

    def _contacts(
        self,
        poses: np.ndarray,
        start: np.ndarray,
        velocity: np.ndarray,
        link_hessian: np.ndarray,
        mass_hessian: np.ndarray,
    ) -> tuple[ContactTape, tuple[np.ndarray, ...]]:
        r, simulator = self.r, self.simulator
        dynamics = simulator.dynamics
        a, c, old = dynamics.arrays, dynamics.contacts, dynamics.previous
        n, width = int(c.count[0]), r._width
        vc = outputs(simulator._workspace).vc[:n]
        wanted = np.zeros(n, dtype=np.bool_)
        step_derivatives.find_active_contacts(self._setting.law, c.record, vc, wanted)
        chosen = np.flatnonzero(wanted)
        m = len(chosen)
        geometry = np.zeros((n, 7, 12))
        elastic, memory = np.zeros((n, 2)), np.zeros((n, 6))
        if m:
            differentiate(a.record, poses, c.record, wanted, geometry)
        if r._elastoplastic:
            elastic = c.elastic_start[:n]
            known = np.flatnonzero(c.previous[:n] >= 0)
            k = c.previous[known]
            memory[known, :3] = np.einsum("ni,nij->nj", old.elastic[k], old.frame[k, :2])
            memory[known, 3:] = old.frame[k, 2]
        out = new_derivatives(m, width, with_mobility=self._with_w, with_memory=r._elastoplastic)
        if m:
            step_derivatives.differentiate_contacts(
                a.record, c.record, self._setting, StepMotion(poses, start, velocity, vc), elastic, memory, geometry,
                chosen, link_hessian, mass_hessian, out,
            )  # fmt: skip
        tree, body = c.tree[chosen], c.body[chosen]
        pairs = r._pairs
        pair = np.array([pairs.setdefault((x, y), len(pairs)) for x, y in c.geometry[chosen].tolist()], dtype=np.int64)
        unmoved = a.body_tree[body] < 0
        fixed = np.where(unmoved[:, 0], body[:, 0], np.where(unmoved[:, 1], body[:, 1], 0))
        size = np.diff(a.tree_v)[tree]
        columns = a.tree_v[tree][:, :, None] + np.arange(width)
        columns[(tree < 0)[:, :, None] | (np.arange(width) >= size[:, :, None])] = 0
        previous = np.full(m, -1, dtype=np.int64)
        if r._elastoplastic and r._tape:
            k = c.previous[chosen]
            previous[k >= 0] = self._tape_index[k[k >= 0]]
        self._tape_index = np.full(n, -1, dtype=np.int64)
        self._tape_index[chosen] = np.arange(m)
        kept = ContactTape(
            tree, pair, fixed, columns.reshape(m, 2 * width), out.J, out.R_fixed, out.theta, out.by_norm, out.by_mass,
            out.past, previous, out.memory_q, out.memory_v, out.memory_end, out.memory_past, out.memory_theta,
            out.memory_fixed,
        )  # fmt: skip
        return kept, (-out.R_q, -out.R_v, -out.R_end)

    def _tree(
        self,
        t: int,
        start_q: np.ndarray,
        start: np.ndarray,
        velocity: np.ndarray,
        R_q: np.ndarray,
        R_v: np.ndarray,
        E: np.ndarray,
        K: np.ndarray,
        with_mass: bool,
        mass_by_q: dict[int, np.ndarray],
    ) -> TreeTape:
        """Differentiates an articulated tree's residual, dt ID(q, v0, (v - v0)/dt) and linear terms."""
        r, dt = self.r, self.r.period
        tree = self.simulator.dynamics.tree_models[t]
        model, data = tree.model, tree.data
        rows = slice(*r._tree_v[t : t + 2])
        q, v0, v = start_q[slice(*r._tree_q[t : t + 2])], start[rows], velocity[rows]
        n = len(v)
        acceleration = (v - v0) / dt
        pin.computeRNEADerivatives(model, data, q, v0, acceleration)
        deflection_q = pin.dDifference(model, tree.rest, q)[1] if tree.stiffness.any() else np.zeros((n, n))
        R_q[t, :n, :n] = dt * data.dtau_dq + dt * tree.stiffness[:, None] * deflection_q
        R_v[t, :n, :n] = dt * data.dtau_dv - tree.mass_matrix(q)
        by_q, by_v = pin.dIntegrate(model, q, dt * v)
        E[t, :n, :n], K[t, :n, :n] = by_q, dt * by_v
        links = dt * _regressor(model, data, q, v0, acceleration)
        total = pin.computeTotalMass(model, data)
        gravity = -dt * total * pin.jacobianCenterOfMass(model, data, q).reshape(3, n).T
        mass = None
        if with_mass:
            still = np.zeros(n)
            pin.computeRNEADerivatives(model, data, q, still, still)
            rest, rest_links = data.dtau_dq.copy(), _regressor(model, data, q, still, still)
            by = np.empty((n, n, n))
            mass = np.empty((n, n, links.shape[1]))
            for i in range(n):
                unit = np.eye(n)[i]
                pin.computeRNEADerivatives(model, data, q, still, unit)
                by[:, i] = data.dtau_dq - rest
                mass[:, i] = _regressor(model, data, q, still, unit) - rest_links
            mass_by_q[t] = by
        return TreeTape(np.asarray(gravity), np.asarray(links), mass)

    def _wrenches(
        self, tree: int, tape: TreeTape, poses: np.ndarray, link_hessian: np.ndarray, R_q: np.ndarray
    ) -> None:
        """Adds derivatives of -dt J^T W, the residual's part of wrenches W on links at their centres of mass."""
        dt, a, n = self.r.period, self.simulator.dynamics.arrays, len(tape.gravity)
        described = self.r.world.trees[tree]
        for i, body in enumerate(described.bodies):
            force, moment = a.body_wrench[body, :3], a.body_wrench[body, 3:]
            if not a.body_wrench[body].any():
                continue
            J, R = a.link_jacobian[a.body_link[body], 3:, :n], poses[body, :9].reshape(3, 3)
            c = described.model.center(i)
            lever = R @ c
            wrench = np.concatenate([force, moment + np.cross(lever, force)])
            rotated = np.outer(lever, force) - (lever @ force) * np.eye(3)  # (omega x lever) x force
            by_q = np.einsum("aij,a->ij", link_hessian[a.body_link[body], :, :n, :n], wrench)
            R_q[tree, :n, :n] -= dt * (by_q + J.T @ rotated @ J)
            mass = described.model.model.inertias[described.model.link_joints[i]].mass
            by_center = -dt * J.T @ np.cross(R.T, force).T  # by c; the parameters are the mass and mass times c
            tape.links[:, 10 * i + 1 : 10 * i + 4] += by_center / mass
            tape.links[:, 10 * i] -= by_center @ c / mass

    def _coupling(
        self,
        coupling: Coupling,
        poses: np.ndarray,
        velocity: np.ndarray,
        link_hessian: np.ndarray,
        R_q: np.ndarray,
        mass_by_q: dict[int, np.ndarray],
    ) -> None:
        """Adds the derivatives of a coupling's part of the residual, T^T ((dt b + dt^2 k) T v - dt (k e + b v_d))."""
        r, dt = self.r, self.r.period
        a = self.simulator.dynamics.arrays
        body = coupling.body
        t, link = int(a.body_tree[body]), int(a.body_link[body])
        rows = slice(*r._tree_v[t : t + 2])
        T, k, b, displacement, twist = coupling.terms
        n = T.shape[1]
        if link >= 0:
            by_q = link_hessian[link, :, :n, :n]
        else:  # the frame's origin rotates about the centre of mass
            lever = -poses[body, :9].reshape(3, 3) @ r.world.bodies[body].center
            by_q = np.zeros((6, 6, 6))
            unit = np.eye(3)
            for i in range(3):
                for j in range(3):
                    by_q[:3, 3 + i, 3 + j] = np.cross(unit[i], np.cross(unit[j], lever))
        gain = dt * b + dt * dt * k
        wrench = gain * (T @ velocity[rows]) - dt * (k * displacement + b * twist)
        displacement_q = np.zeros((6, n))
        displacement_q[:3] = -T[:3]
        displacement_q[3:] = -pin.Jlog3(pin.exp3(displacement[3:])) @ T[3:]
        by = gain[:, None] * np.einsum("aij,i->aj", by_q, velocity[rows]) - dt * k[:, None] * displacement_q
        R_q[t, :n, :n] += T.T @ by + np.einsum("aij,a->ij", by_q, wrench)
        if t in mass_by_q:
            half = np.einsum("ai,a,ajk->ijk", T, gain, by_q)
            mass_by_q[t] = mass_by_q[t] + half + half.transpose(1, 0, 2)


def _ancestry(model: pin.Model) -> tuple[np.ndarray, np.ndarray]:
    """Returns two masks (n, n) of velocities (i, k): k moves the axis of i; i comes before k and moves its axis."""
    joint = np.empty(model.nv, dtype=np.int64)
    for number, j in enumerate(model.joints):
        if j.nv > 0 and number:
            joint[j.idx_v : j.idx_v + j.nv] = number
    supports = [set(support) for support in model.supports]
    inner = np.array([[joint[k] in supports[joint[i]] for k in range(model.nv)] for i in range(model.nv)])
    outer = np.array(
        [[joint[i] in supports[joint[k]] and joint[i] != joint[k] for k in range(model.nv)] for i in range(model.nv)]
    )
    return inner.reshape(model.nv, model.nv), outer.reshape(model.nv, model.nv)


def _link_hessian(T: np.ndarray, ancestry: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """Returns derivatives (links, 6, n, n) of link Jacobians (links, 6, n): entry, column i, tangent k.

    A joint k before or at i rotates the whole screw of i about the axis of k. A joint k after i moves only the origin.
    """
    inner, outer = ancestry
    on = (T != 0.0).any(axis=1)  # velocities that move the link
    both = on[:, :, None] & on[:, None, :]
    linear, angular = T[:, :3].transpose(0, 2, 1), T[:, 3:].transpose(0, 2, 1)
    out = np.zeros((*T.shape, T.shape[2]))
    rotates = (both & inner)[..., None]
    moves = (both & outer)[..., None]
    angular_change = np.cross(angular[:, None, :, :], angular[:, :, None, :]) * rotates
    linear_change = np.cross(angular[:, None, :, :], linear[:, :, None, :]) * rotates
    origin_change = np.cross(angular[:, :, None, :], linear[:, None, :, :]) * moves
    out[:, :3], out[:, 3:] = np.moveaxis(linear_change + origin_change, 3, 1), np.moveaxis(angular_change, 3, 1)
    return out


def _regressor(
    model: pin.Model, data: pin.Data, q: np.ndarray, velocity: np.ndarray, acceleration: np.ndarray
) -> np.ndarray:
    """Returns a copy of pin's joint torque regressor (n, 10 links), with the axis that pin drops for a single joint."""
    return np.array(pin.computeJointTorqueRegressor(model, data, q, velocity, acceleration)).reshape(model.nv, -1)
