"""Derivatives of a world's motion by its initial state and parameters, through one step or many.

    >>> r = rollout(simulator, 200)
    >>> r.jacobian(["friction(cube, board)", {"position(board)": [0, 0, 1]}])   # states by parameters, forward
    >>> r.pullback({200: cotangent})["initial_velocity"]                        # a scalar by all parameters, adjoint

A state is (q, v). Its tangent has 2 nv numbers [dq; dv]: dq of a free body is [dc; dtheta], the displacement of its
centre of mass and the rotation vector from its orientation R to exp(dtheta) R, world axes; dq of an articulated tree is
Pinocchio's tangent. A step is v = solve(problem(q0, v0)), q = q0 [+] dt v, hence

    dv = -H^-1 (R_q dq0 + R_v dv0 + R_theta dtheta),    dq = E dq0 + K dv

(`step_derivatives`). The elastic displacements of `lagged_elastoplastic` are part of the state inside a rollout. The
adjoint applies the transposes in reverse order: one solve with H per step for any number of parameters.

The derivatives are those of the exact solution of the discrete steps, with the contacts found in each. They agree with
finite differences of a simulator that polishes its solutions. They are one-sided where a contact is at a kink.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from convex_contact.differentiation.parameters import SURFACE as SURFACE
from convex_contact.differentiation.parameters import Direction, Gradients, RolloutParameters
from convex_contact.differentiation.parameters import combination_derivative as combination_derivative
from convex_contact.differentiation.recorder import Recorder, check_differentiable
from convex_contact.differentiation.tape import DENSE as DENSE
from convex_contact.differentiation.tape import Changes, ContactTape, StepTape
from convex_contact.model.arrays import WorldArrays
from convex_contact.model.bodies import FREE
from convex_contact.model.world import World
from convex_contact.problem import checks
from convex_contact.simulation.simulator import Simulator


class Rollout(RolloutParameters):
    """A motion and its derivatives; made by :func:`rollout`.

    Attributes:
        world: world of the motion.
        steps: number of steps.
        period: dt [s].
        time: times of the states [s] (steps + 1,).
        q: coordinates (steps + 1, nq): trees first, then free bodies, each [centre of mass; quaternion x, y, z, w].
        v: velocities (steps + 1, nv): of free bodies [linear; angular], world axes.

    Examples:
        >>> from convex_contact import Simulator, World, rollout
        >>> world = World(gravity=(0.0, 0.0, -10.0))
        >>> _ = world.add_sphere("ball", mass=1.0, radius=0.1, velocity=(0.0, 0.0, 5.0))
        >>> motion = rollout(Simulator(world, period=0.01), 50)
        >>> motion.q.shape, motion.v[-1, 2].round(6).item()  # at the top after 0.5 s
        ((51, 7), 0.0)
    """

    def __init__(self, simulator: Simulator) -> None:
        self.world: World = simulator.world
        self.period = simulator.period
        self._arrays: WorldArrays = simulator.dynamics.arrays
        a = self._arrays
        self._nt, self._width = len(a.tree_kind), a.A.shape[1]
        self._tree_v, self._tree_q = a.tree_v.copy(), a.tree_q.copy()
        self._free = np.flatnonzero(a.tree_kind == FREE)
        self._mass, self._inertia = a.mass.copy(), a.inertia.reshape(-1, 3, 3).copy()
        self._gravity = a.gravity.copy()
        self._pairs: dict[tuple[int, int], int] = {}
        self._tape: list[StepTape] = []
        self._elastoplastic = simulator.approximation == "lagged_elastoplastic"
        self._tangential = simulator._tangential[0] > 0.0
        self.time: np.ndarray = np.zeros(0)
        self.q: np.ndarray = np.zeros((0, 0))
        self.v: np.ndarray = np.zeros((0, 0))
        self._members = list(self.world.numbered_geometries())

    def slices(self, body: int | str) -> tuple[slice, slice]:
        """Returns the slices of a free body's coordinates in q and of its velocities in v.

        Raises:
            ValueError: the body is not free.
        """
        number = self.world.number(body)
        if self.world.bodies[number].kind != "free":
            raise ValueError(f"{self.world.bodies[number].name}: expected a free body")
        tree = int(self._arrays.body_tree[number])
        return slice(*self._tree_q[tree : tree + 2]), slice(*self._tree_v[tree : tree + 2])

    def step_jacobians(self) -> tuple[np.ndarray, np.ndarray]:
        """Computes derivatives of each step's state by the state before it, and by the actuation.

        Returns:
            A (steps, 2 nv, 2 nv) and B (steps, 2 nv, nv): d[q; v]_(k+1) = A_k d[q; v]_k + B_k df_k, tangents as in
            :meth:`jacobian`, f the generalised forces of the step (`actuation`).

        Raises:
            ValueError: the approximation is lagged_elastoplastic, whose elastic displacements are a state beside q, v.
        """
        if self._elastoplastic:
            raise ValueError(
                "approximation: expected one whose state is q and v, got lagged_elastoplastic, whose contacts remember "
                "their elastic displacement"
            )
        nv = self.nv
        A, B = np.zeros((self.steps, 2 * nv, 2 * nv)), np.zeros((self.steps, 2 * nv, nv))
        identity = np.eye(nv)
        for k, step in enumerate(self._tape):
            R_q, R_v, E, K = (
                x if isinstance(x, np.ndarray) else x.toarray() for x in (step.R_q, step.R_v, step.E, step.K)
            )
            by = step.solve(np.hstack([-R_q, -R_v, self.period * identity]))
            A[k, nv:], B[k, nv:] = by[:, : 2 * nv], by[:, 2 * nv :]
            A[k, :nv], B[k, :nv] = K @ by[:, : 2 * nv], K @ by[:, 2 * nv :]
            A[k, :nv, :nv] += E
        return A, B

    # --- forward ---------------------------------------------------------------------------------------------

    def tangent(self, direction: Direction) -> np.ndarray:
        """Computes the change of all states along a direction of the parameters.

        Args:
            direction: changes by name of the parameter; other parameters do not change.

        Returns:
            Tangents [dq; dv] (steps + 1, 2 nv).

        Raises:
            ValueError: a name is unknown, or a shape is wrong.
        """
        return self._forward(self._directions([direction]))[:, :, 0]

    def jacobian(self, parameters: Sequence[str | Direction]) -> np.ndarray:
        """Computes derivatives of all states by some parameters.

        Args:
            parameters: names, with a column per component (row by row), or directions, with one column each.

        Returns:
            Derivatives of the tangents [dq; dv] (steps + 1, 2 nv, n).

        Raises:
            ValueError: a name is unknown, a shape is wrong, or one text was given in place of a list.
        """
        if isinstance(parameters, str | Mapping) or not isinstance(parameters, Iterable):
            raise ValueError(f"parameters: expected a list of names or directions, got {parameters!r}")
        directions: list[Direction] = []
        for item in parameters:
            if not isinstance(item, str):
                directions.append(item)
                continue
            shape = self.shape(item)
            size = int(np.prod(shape))
            directions += [{item: np.eye(size)[i].reshape(shape)} for i in range(size)]
        return self._forward(self._directions(directions))

    def _forward(self, d: Changes) -> np.ndarray:
        nv, n = self.nv, d.q.shape[1]
        out = np.zeros((self.steps + 1, 2 * nv, n))
        out[0, :nv], out[0, nv:] = d.q, d.v
        memory = np.zeros((0, 6, n))
        for i, step in enumerate(self._tape):
            q, v = out[i, :nv], out[i, nv:]
            c = step.contacts
            side = step.R_q @ q + step.R_v @ v
            changed = self._mass_change(step, d)
            self._add_body_part(step, d, i, changed, side)
            if len(c):
                theta = self._theta(c, d)
                impulse = c.theta @ theta
                if changed is not None and c.by_mass.size:
                    dw = -np.einsum("msab,msabn->mn", c.by_mass, changed[c.tree])
                    impulse += c.by_norm[:, :, None] * dw[:, None]
                if self._elastoplastic:
                    past = np.zeros((len(c), 6, n))
                    old = c.previous >= 0
                    past[old] = memory[c.previous[old]]
                    impulse += c.past @ past
                generalised = c.J.transpose(0, 2, 1) @ impulse + c.R_fixed @ self._fixed(step, c.fixed, d)
                np.add.at(side, c.columns.ravel(), -generalised.reshape(-1, n))
            for rows in step.body_rows:
                rows.add_change(self._fixed(step, rows.body, d), changed, side)
            new = step.solve(-side)
            if self._elastoplastic:
                memory = np.zeros((0, 6, n))
                if len(c):
                    memory = (
                        c.memory_q @ q[c.columns] + c.memory_v @ v[c.columns] + c.memory_end @ new[c.columns]
                        + c.memory_past @ past + c.memory_theta @ theta + c.memory_fixed @ self._fixed(step, c.fixed, d)
                    )  # fmt: skip
            out[i + 1, :nv] = step.E @ q + step.K @ new
            out[i + 1, nv:] = new
        return out

    def _add_body_part(self, step: StepTape, d: Changes, i: int, changed: np.ndarray | None, side: np.ndarray) -> None:
        """Adds the derivative of A (v - v*) - (joint rows' impulses) by the parameters (nv, n)."""
        dt = self.period
        if d.actuation is not None:
            side -= dt * d.actuation[i]
        if len(self._free):
            linear, angular = self._free_columns()
            mass = self._mass[self._free, None, None]
            side[linear] -= dt * mass * d.gravity
            if d.any_mass:
                path = step.change[linear] - dt * self._gravity
                side[linear] += path[:, :, None] * d.mass[self._free, None]
            if d.any_inertia:
                R, dI = step.rotation, d.inertia[self._free]
                rotated = np.einsum("fia,fabn,fjb->fijn", R, dI, R, optimize=True)
                spin = step.v0[angular]
                momentum = np.einsum("fijn,fj->fin", rotated, spin)
                side[angular] += np.einsum("fijn,fj->fin", rotated, step.change[angular])
                side[angular] += dt * np.cross(spin[:, :, None], momentum, axis=1)
        for t, tree in step.trees.items():
            rows = slice(*self._tree_v[t : t + 2])
            side[rows] += tree.gravity @ d.gravity + tree.links @ d.links[t]
        if changed is not None:
            for row in step.near_rigid:
                size, own = len(row.U), slice(*self._tree_v[row.tree : row.tree + 2])
                side[own] += np.outer(row.slope, np.einsum("ab,abn->n", row.U, changed[row.tree, :size, :size]))

    def _mass_change(self, step: StepTape, d: Changes) -> np.ndarray | None:
        """Returns the change of A along the directions (nt, d, d, n); None if no impulse depends on it."""
        if not step.with_mass or not (d.any_mass or d.any_inertia or d.any_link):
            return None
        out = np.zeros((self._nt, self._width, self._width, d.q.shape[1]))
        for i in range(3):
            out[self._free, i, i] = d.mass[self._free]
        R = step.rotation
        out[self._free, 3:6, 3:6] = np.einsum("fia,fabn,fjb->fijn", R, d.inertia[self._free], R, optimize=True)
        for t, tree in step.trees.items():
            size = len(tree.gravity)
            assert tree.mass is not None
            out[t, :size, :size] = tree.mass @ d.links[t]
        return out

    def _theta(self, c: ContactTape, d: Changes) -> np.ndarray:
        """Returns the change of the contacts' k, d, tau_d, mu, k_t, b_t (m, 6, n)."""
        out = np.empty((len(c), 6, d.q.shape[1]))
        out[:, :4], out[:, 4:] = d.surface[c.pair], d.tangential
        return out

    def _fixed(self, step: StepTape, fixed: np.ndarray, d: Changes) -> np.ndarray:
        """Returns the tangents (..., 6, n) of bodies that no tree moves, by their numbers (...)."""
        out = d.fixed[fixed]
        for body, rotation in step.prescribed_rotation.items():
            which = fixed == body
            out[which, 3:] = rotation @ out[which, 3:]
        return out

    @staticmethod
    def _add_fixed(step: StepTape, fixed: np.ndarray, gradient: np.ndarray, g: Changes) -> None:
        """Adds the gradient (..., 6) by the tangents of bodies, the transpose of :meth:`_fixed`."""
        for body, rotation in step.prescribed_rotation.items():
            which = fixed == body
            gradient[which, 3:] = gradient[which, 3:] @ rotation
        np.add.at(g.fixed, fixed, gradient)

    def _free_columns(self) -> tuple[np.ndarray, np.ndarray]:
        """Returns the columns of linear and of angular velocity of the free bodies (nf, 3)."""
        start = self._tree_v[self._free][:, None] + np.arange(3)
        return start, start + 3

    # --- adjoint ---------------------------------------------------------------------------------------------

    def pullback(self, cotangents: ArrayLike | Mapping[int, ArrayLike]) -> Gradients:
        """Computes the gradient of a scalar with respect to all parameters at once.

        Args:
            cotangents: derivatives of the scalar by the states' tangents (steps + 1, 2 nv); or a mapping from numbers
                of steps to derivatives (2 nv,), with zeros for other steps; -1 is the last step.

        Returns:
            Gradients by name of the parameter, with the shapes of :meth:`shape`.

        Raises:
            ValueError: a shape is wrong, or a step does not exist.
        """
        nv, dt = self.nv, self.period
        if isinstance(cotangents, Mapping):
            states = np.zeros((self.steps + 1, 2 * nv))
            for number, value in cotangents.items():
                if not checks.is_whole(number):
                    raise ValueError(f"cotangents: expected numbers of steps, got {number!r}")
                if not -self.steps - 1 <= number <= self.steps:
                    raise ValueError(f"cotangents: expected steps from 0 to {self.steps}, got {number}")
                states[number] += checks.array("cotangents", value, (2 * nv,))
        else:
            states = checks.array("cotangents", cotangents, (self.steps + 1, 2 * nv))
        g = Changes.zeros(self, 1).squeezed()
        g.actuation = np.zeros((self.steps, nv))
        q, v = states[-1, :nv].copy(), states[-1, nv:].copy()
        memory = np.zeros((len(self._tape[-1].contacts) if self._tape else 0, 6))
        for i in range(self.steps - 1, -1, -1):
            step = self._tape[i]
            c = step.contacts
            v = v + step.K.T @ q
            q = step.E.T @ q
            if self._elastoplastic and len(c):
                np.add.at(v, c.columns, np.einsum("mia,mi->ma", c.memory_end, memory))
            adjoint = step.solve(v)
            q -= step.R_q.T @ adjoint
            v = -(step.R_v.T @ adjoint)
            mass = np.zeros((self._nt if step.with_mass else 0, self._width, self._width))
            earlier = np.zeros((len(self._tape[i - 1].contacts) if i else 0, 6))
            if len(c):
                at = adjoint[c.columns]
                impulse = np.einsum("mia,ma->mi", c.J, at)
                theta = np.einsum("mij,mi->mj", c.theta, impulse)
                fixed = np.einsum("mai,ma->mi", c.R_fixed, at)
                if c.by_mass.size:
                    by_w = (impulse * c.by_norm).sum(axis=1)
                    np.add.at(mass, np.maximum(c.tree, 0), -by_w[:, None, None, None] * c.by_mass)
                if self._elastoplastic:
                    theta += np.einsum("mij,mi->mj", c.memory_theta, memory)
                    fixed += np.einsum("mij,mi->mj", c.memory_fixed, memory)
                    np.add.at(q, c.columns, np.einsum("mia,mi->ma", c.memory_q, memory))
                    np.add.at(v, c.columns, np.einsum("mia,mi->ma", c.memory_v, memory))
                    past = np.einsum("mij,mi->mj", c.past, impulse) + np.einsum("mij,mi->mj", c.memory_past, memory)
                    old = c.previous >= 0
                    np.add.at(earlier, c.previous[old], past[old])
                np.add.at(g.surface, c.pair, theta[:, :4])
                g.tangential += theta[:, 4:].sum(axis=0)
                self._add_fixed(step, c.fixed, fixed, g)
            for rows in step.body_rows:
                self._add_fixed(step, rows.body, rows.add_gradient(adjoint, mass), g)
            memory = earlier
            g.actuation[i] = dt * adjoint
            self._add_body_gradients(step, adjoint, mass, g)
            q += states[i, :nv]
            v += states[i, nv:]
        g.q, g.v = q, v
        return self._named(g)

    def _add_body_gradients(self, step: StepTape, adjoint: np.ndarray, mass: np.ndarray, g: Changes) -> None:
        dt = self.period
        for row in step.near_rigid:
            size, columns = len(row.U), slice(*self._tree_v[row.tree : row.tree + 2])
            mass[row.tree, :size, :size] -= (adjoint[columns] @ row.slope) * row.U
        if len(self._free):
            linear, angular = self._free_columns()
            force, moment = adjoint[linear], adjoint[angular]
            g.gravity += dt * self._mass[self._free] @ force
            g.mass[self._free] -= (force * (step.change[linear] - dt * self._gravity)).sum(axis=1)
            spin = step.v0[angular]
            outer = moment[:, :, None] * step.change[angular][:, None]
            outer += dt * np.cross(moment, spin)[:, :, None] * spin[:, None]
            if len(mass):
                outer = outer - mass[self._free, 3:6, 3:6]
                g.mass[self._free] += np.einsum("tii->t", mass[self._free, :3, :3])
            R = step.rotation
            inner = R.transpose(0, 2, 1) @ outer @ R
            g.inertia[self._free] -= 0.5 * (inner + inner.transpose(0, 2, 1))
        for t, tree in step.trees.items():
            own = adjoint[slice(*self._tree_v[t : t + 2])]
            g.gravity -= tree.gravity.T @ own
            g.links[t] -= tree.links.T @ own
            if len(mass) and tree.mass is not None:
                g.links[t] += np.einsum("ab,abp->p", mass[t, : len(own), : len(own)], tree.mass)


def rollout(
    simulator: Simulator,
    steps: int,
    *,
    actuation: ArrayLike | None = None,
    before: Callable[[int, Simulator], None] | None = None,
) -> Rollout:
    """Makes steps from a simulator's present state, and records their derivatives.

    Args:
        simulator: simulator, which makes the steps. With `polish=True` its solutions, and so the derivatives, are exact
            to rounding.
        steps: number of steps.
        actuation: generalised forces of each step in addition to the simulator's forces (steps, nv): force and torque
            at the centre of mass of free bodies (world axes), joint forces of trees [N, N m].
        before: function of the number of the step and the simulator, called before each step to set forces and targets.
            The derivatives treat these as constants.

    Raises:
        ValueError: a shape or number is wrong, the simulator has constraints without derivatives (joints between
            bodies, gears, welds, motors, joint laws, joint limits and couplings have derivatives; motors of ball and
            planar joints of trees, and others, have none), or its world has compliant or deformable bodies.
        ConvergenceError: a step failed.

    Examples:
        >>> from convex_contact import Simulator, World, rollout
        >>> world = World()
        >>> _ = world.add_sphere("ball", mass=2.0, radius=0.1)
        >>> motion = rollout(Simulator(world, period=0.01), 100)
        >>> motion.tangent({"gravity": [0.0, 0.0, 1.0]})[-1, 8].round(6).item()  # velocity is gravity times 1 s
        1.0
    """
    if not isinstance(simulator, Simulator):
        raise ValueError(f"simulator: expected a Simulator, got {simulator!r}")
    if not checks.is_whole(steps) or steps < 0:
        raise ValueError(f"steps: expected a whole number, not negative, got {steps!r}")
    check_differentiable(simulator)
    r, d = Rollout(simulator), simulator.dynamics
    a = d.arrays
    forces = None if actuation is None else checks.array("actuation", actuation, (steps, d.nv))
    recorder = Recorder(r, simulator)
    q, v, time = np.empty((steps + 1, len(a.q))), np.empty((steps + 1, d.nv)), np.empty(steps + 1)
    q[0], v[0], time[0] = a.q, a.v, d.time
    free = [(int(a.tree_body[t]), int(a.tree_v[t])) for t in r._free]
    for i in range(steps):
        if before is not None:
            before(i, simulator)
        saved = a.body_wrench.copy(), a.effort.copy()
        if forces is not None:
            a.effort[:] += forces[i]
            for body, start in free:
                a.body_wrench[body] += forces[i, start : start + 6]
        try:
            recorder.step()
        finally:
            a.body_wrench[:] = saved[0]
            a.effort[:] = saved[1]
        q[i + 1], v[i + 1], time[i + 1] = a.q, a.v, d.time
    r.q, r.v, r.time = q, v, time
    return r
