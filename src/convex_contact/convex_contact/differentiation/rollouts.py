"""Gradients of a world's motion, through one step or many.

    >>> r = rollout(simulator, 200)
    >>> r.jacobian(["friction(cube, board)", {"position(board)": [0, 0, 1]}])   # states by parameters, forward
    >>> r.pullback({200: cotangent})["initial_velocity"]                        # one number by everything, adjoint

A state is (q, v). Its tangent has 2 nv numbers [dq; dv]: dq of a free body is [dc; dtheta], the displacement of its
centre of mass and the rotation vector that turns its orientation R to exp(dtheta) R, world axes; dq of an articulated
tree is Pinocchio's tangent. A step is v = solve(problem(q0, v0)), q = q0 [+] dt v, hence

    dv = -H^-1 (R_q dq0 + R_v dv0 + R_theta dtheta),    dq = E dq0 + K dv

(`step_derivatives`). The elastic displacements of `lagged_elastoplastic` are part of the state inside a rollout. The
adjoint takes the transposes in reverse order: one solve with H per step, whatever the number of parameters.

The derivatives are those of the exact solution of the discrete steps, with the contacts found in each: a simulator that
polishes its solutions has the corresponding finite differences. They are one-sided where a contact is at a kink.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pinocchio as pin
import scipy
from numpy.typing import ArrayLike

from convex_contact.differentiation import step_derivatives
from convex_contact.differentiation.geometry_derivatives import differentiate
from convex_contact.model.arrays import WorldArrays
from convex_contact.model.bodies import ARTICULATED, FREE
from convex_contact.model.materials import Material, PairLaw
from convex_contact.model.world import World
from convex_contact.problem import checks, contact_kernels
from convex_contact.simulation.coupling import Coupling
from convex_contact.simulation.simulator import Simulator
from convex_contact.solver.workspace import outputs

#: parameters of surfaces, in the order of their columns
SURFACE = ("stiffness", "dissipation", "relaxation_time", "friction")
#: up to this many velocities matrices are dense
DENSE = 120

Direction = Mapping[str, ArrayLike]


class Gradients(dict[str, np.ndarray]):
    """Gradients by name; a pair of bodies may be named in either order."""

    def __missing__(self, name: str) -> np.ndarray:
        match = re.fullmatch(r"(\w+)\((.*?),\s*(.*)\)", name)
        swapped = f"{match[1]}({match[3]}, {match[2].strip()})" if match else ""
        if swapped in self:
            return self[swapped]
        raise KeyError(name)


@dataclass
class _Contacts:
    """What is kept of the m contacts of a step that bear force; arrays of `differentiate_contacts`."""

    tree: np.ndarray
    pair: np.ndarray
    fixed: np.ndarray  # the body that no tree moves, -1 if none
    columns: np.ndarray  # the slots' velocities (m, 2d); 0, with columns of zeros, where there is none
    J: np.ndarray
    R_fixed: np.ndarray
    theta: np.ndarray
    mobility: np.ndarray
    by_mass: np.ndarray
    past: np.ndarray
    previous: np.ndarray  # place in the list of the step before, -1 if it is new
    memory_q: np.ndarray
    memory_v: np.ndarray
    memory_end: np.ndarray
    memory_past: np.ndarray
    memory_theta: np.ndarray
    memory_fixed: np.ndarray

    def __len__(self) -> int:
        return len(self.pair)


@dataclass
class _Step:
    """Derivatives of one step: matrices (nv, nv), dense or sparse, and what the parameters need."""

    R_q: Any
    R_v: Any
    E: Any
    K: Any
    solve: Callable[[np.ndarray], np.ndarray]
    contacts: _Contacts
    change: np.ndarray  # v - v0 (nv,)
    spin: np.ndarray  # v0 (nv,)
    rotation: np.ndarray  # of free bodies (nt, 3, 3)
    trees: dict[int, _TreeStep] = field(default_factory=dict)
    turned: dict[int, np.ndarray] = field(default_factory=dict)  # rotation of a prescribed body since the start
    limits: list[tuple[int, int, float, np.ndarray]] = field(
        default_factory=list
    )  # tree, velocity, J dgamma/dw, -dw/dA


@dataclass
class _TreeStep:
    """Of an articulated tree: residual by gravity (nv, 3) and link parameters (nv, p), mass matrix by these."""

    gravity: np.ndarray
    links: np.ndarray
    mass: np.ndarray | None  # (nv, nv, p)


class Rollout:
    """A motion and its derivatives; made by :func:`rollout`.

    Attributes:
        world: What moved.
        steps: Number of steps.
        period: s.
        time: (steps + 1,), s.
        q: Coordinates (steps + 1, nq): trees first, then free bodies, each [centre of mass; quaternion x, y, z, w].
        v: Velocities (steps + 1, nv): of free bodies [linear; angular], world.
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
        self._tape: list[_Step] = []
        self._elastoplastic = simulator.approximation == "lagged_elastoplastic"
        self._tangential = simulator._tangential[0] > 0.0
        self.time: np.ndarray = np.zeros(0)
        self.q: np.ndarray = np.zeros((0, 0))
        self.v: np.ndarray = np.zeros((0, 0))
        self._members = list(self.world.numbered_geometries())

    @property
    def steps(self) -> int:
        """Number of steps."""
        return len(self._tape)

    @property
    def nv(self) -> int:
        """Number of velocities."""
        return int(self._tree_v[-1])

    def slices(self, body: int | str) -> tuple[slice, slice]:
        """Where a free body's coordinates and velocities are.

        Raises:
            ValueError: The body is not free.
        """
        number = self.world.number(body)
        if self.world.bodies[number].kind != "free":
            raise ValueError(f"{self.world.bodies[number].name}: expected a free body")
        tree = int(self._arrays.body_tree[number])
        return slice(*self._tree_q[tree : tree + 2]), slice(*self._tree_v[tree : tree + 2])

    def step_jacobians(self) -> tuple[np.ndarray, np.ndarray]:
        """Derivatives of each step's state by the state before it, and by the actuation.

        Returns:
            A (steps, 2 nv, 2 nv) and B (steps, 2 nv, nv): d[q; v]_(k+1) = A_k d[q; v]_k + B_k df_k, tangents as in
            :meth:`jacobian`, f the generalised forces of the step (`actuation`).

        Raises:
            ValueError: The approximation is lagged_elastoplastic, whose contacts remember more than q and v.
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

    # --- parameters ------------------------------------------------------------------------------------------

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of a parameter.

        Raises:
            ValueError: There is no such parameter.
        """
        kind, bodies = self._parsed(name)
        if kind in ("initial_position", "initial_velocity"):
            return (self.nv,)
        if kind == "gravity" or kind in ("position", "orientation"):
            return (3,)
        if kind == "inertia":
            return (3, 3)
        if kind == "actuation":
            return (self.steps, self.nv)
        if kind == "link_parameters":
            return (len(self.world.trees[bodies[0]].model.link_joints), 10)
        return ()

    @property
    def names(self) -> list[str]:
        """All parameters."""
        names = ["initial_position", "initial_velocity", "gravity", "actuation"]
        if self._elastoplastic:
            names += ["tangential_damping"] + (["tangential_stiffness"] if self._tangential else [])
        for body in self.world.bodies:
            if body.kind == "free":
                names += [f"mass({body.name})", f"inertia({body.name})"]
            elif body.kind in ("fixed", "prescribed"):
                names += [f"position({body.name})", f"orientation({body.name})"]
            if body.geometries:
                names += [f"{kind}({body.name})" for kind in SURFACE]
        names += [f"link_parameters({tree.name})" for tree in self.world.trees]
        met = {(self._members[a][0], self._members[b][0]) for a, b in self._pairs}
        for one, two in sorted({(min(pair), max(pair)) for pair in met}):
            pair = f"({self.world.bodies[one].name}, {self.world.bodies[two].name})"
            names += [kind + pair for kind in SURFACE]
        return names

    def _parsed(self, name: str) -> tuple[str, tuple[int, ...]]:
        """Kind of a parameter and the numbers of its bodies, or of its tree."""
        match = re.fullmatch(r"(\w+)(?:\((.*)\))?", name) if isinstance(name, str) else None
        if match is not None:
            kind, inside = match[1], match[2]
            given = [] if inside is None else [part.strip() for part in inside.split(",")]
            if kind in ("initial_position", "initial_velocity", "gravity", "actuation") and inside is None:
                return kind, ()
            if inside is None and kind == "tangential_damping" and self._elastoplastic:
                return kind, ()
            if inside is None and kind == "tangential_stiffness" and self._elastoplastic and self._tangential:
                return kind, ()
            if kind == "link_parameters" and len(given) == 1:
                for number, tree in enumerate(self.world.trees):
                    if tree.name == given[0]:
                        return kind, (number,)
            names = {body.name: number for number, body in enumerate(self.world.bodies)}
            if given and all(part in names for part in given):
                bodies = tuple(names[part] for part in given)
                kinds = [self.world.bodies[number].kind for number in bodies]
                if kind in SURFACE and (len(bodies) == 1 or (len(bodies) == 2 and bodies[0] != bodies[1])):
                    return kind, bodies
                if kind in ("mass", "inertia") and kinds == ["free"]:
                    return kind, bodies
                if kind in ("position", "orientation") and kinds in (["fixed"], ["prescribed"]):
                    return kind, bodies
        raise ValueError(
            f"parameters: there is no {name!r}; expected a name such as mass(BODY), friction(BODY) or friction(A, B), "
            "position(FIXED BODY), gravity, initial_velocity"
        )

    def _surface_chain(self, kind: str, bodies: tuple[int, ...]) -> np.ndarray:
        """d(k, d, tau_d, mu of each pair of geometries) by one surface parameter (pairs, 4)."""
        column, out = SURFACE.index(kind), np.zeros((len(self._pairs), 4))
        for (a, b), row in self._pairs.items():
            (one, g), (two, h) = self._members[a], self._members[b]
            if len(bodies) == 2:
                out[row, column] = float({one, two} == set(bodies))
                continue
            law = self.world.pair_laws.get((min(one, two), max(one, two)), PairLaw())
            for body, own, other in ((one, g.material, h.material), (two, h.material, g.material)):
                if body == bodies[0]:
                    out[row] += combination_derivative(own, other, kind)
            for i, name in enumerate(SURFACE):
                if getattr(law, name) is not None:
                    out[row, i] = 0.0
        return out

    def _directions(self, directions: Sequence[Direction]) -> _Direction:
        """The parameters' primitives along directions, one column each."""
        n = len(directions)
        d = _Direction.zeros(self, n)
        chains: dict[tuple[str, tuple[int, ...]], np.ndarray] = {}
        for column, direction in enumerate(directions):
            for name, value in direction.items():
                kind, bodies = self._parsed(name)
                array = checks.array(name, value, self.shape(name))
                if kind == "initial_position":
                    d.q[:, column] += array
                elif kind == "initial_velocity":
                    d.v[:, column] += array
                elif kind == "gravity":
                    d.gravity[:, column] += array
                elif kind == "actuation":
                    if d.actuation is None:
                        d.actuation = np.zeros((self.steps, self.nv, n))
                    d.actuation[:, :, column] += array
                elif kind == "mass":
                    d.mass[self._arrays.body_tree[bodies[0]], column] += array
                elif kind == "inertia":
                    d.inertia[self._arrays.body_tree[bodies[0]], :, :, column] += 0.5 * (array + array.T)
                elif kind in ("position", "orientation"):
                    first = 0 if kind == "position" else 3
                    d.fixed[bodies[0], first : first + 3, column] += array
                elif kind == "link_parameters":
                    d.links[bodies[0]][:, column] += array.ravel()
                elif kind in ("tangential_stiffness", "tangential_damping"):
                    d.tangential[0 if kind == "tangential_stiffness" else 1, column] += float(array)
                else:
                    if (kind, bodies) not in chains:
                        chains[kind, bodies] = self._surface_chain(kind, bodies)
                    d.surface[:, :, column] += float(array) * chains[kind, bodies]
        return d

    # --- forward ---------------------------------------------------------------------------------------------

    def tangent(self, direction: Direction) -> np.ndarray:
        """How all states change along a direction of the parameters.

        Args:
            direction: Values by name; what is not named stays.

        Returns:
            (steps + 1, 2 nv), [dq; dv].

        Raises:
            ValueError: An unknown name, or a wrong shape.
        """
        return self._forward(self._directions([direction]))[:, :, 0]

    def jacobian(self, parameters: Sequence[str | Direction]) -> np.ndarray:
        """Derivatives of all states by some parameters.

        Args:
            parameters: Names, each of which makes a column per component (row by row), or directions, one column each.

        Returns:
            (steps + 1, 2 nv, n).

        Raises:
            ValueError: An unknown name, or a wrong shape.
        """
        directions: list[Direction] = []
        for item in parameters:
            if not isinstance(item, str):
                directions.append(item)
                continue
            shape = self.shape(item)
            size = int(np.prod(shape))
            directions += [{item: np.eye(size)[i].reshape(shape)} for i in range(size)]
        return self._forward(self._directions(directions))

    def _forward(self, d: _Direction) -> np.ndarray:
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
                    impulse += c.mobility[:, :, None] * dw[:, None]
                if self._elastoplastic:
                    past = np.zeros((len(c), 6, n))
                    old = c.previous >= 0
                    past[old] = memory[c.previous[old]]
                    impulse += c.past @ past
                push = c.J.transpose(0, 2, 1) @ impulse + c.R_fixed @ self._fixed(step, d)
                np.add.at(side, c.columns.ravel(), -push.reshape(-1, n))
            new = step.solve(-side)
            if self._elastoplastic:
                memory = np.zeros((0, 6, n))
                if len(c):
                    memory = (
                        c.memory_q @ q[c.columns] + c.memory_v @ v[c.columns] + c.memory_end @ new[c.columns]
                        + c.memory_past @ past + c.memory_theta @ theta + c.memory_fixed @ self._fixed(step, d)
                    )  # fmt: skip
            out[i + 1, :nv] = step.E @ q + step.K @ new
            out[i + 1, nv:] = new
        return out

    def _add_body_part(self, step: _Step, d: _Direction, i: int, changed: np.ndarray | None, side: np.ndarray) -> None:
        """Adds the derivative of A (v - v*) - (limits' impulses) by the parameters (nv, n)."""
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
                turned = np.einsum("fia,fabn,fjb->fijn", R, dI, R, optimize=True)
                spin = step.spin[angular]
                momentum = np.einsum("fijn,fj->fin", turned, spin)
                side[angular] += np.einsum("fijn,fj->fin", turned, step.change[angular])
                side[angular] += dt * np.cross(spin[:, :, None], momentum, axis=1)
        for t, tree in step.trees.items():
            rows = slice(*self._tree_v[t : t + 2])
            side[rows] += tree.gravity @ d.gravity + tree.links @ d.links[t]
        if changed is not None:
            for t, row, slope, U in step.limits:
                size = len(U)
                side[row] += slope * np.einsum("ab,abn->n", U, changed[t, :size, :size])

    def _mass_change(self, step: _Step, d: _Direction) -> np.ndarray | None:
        """dA by the parameters (nt, d, d, n), where something depends on it."""
        if not (step.contacts.by_mass.size or step.limits) or not (d.any_mass or d.any_inertia or d.any_link):
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

    def _theta(self, c: _Contacts, d: _Direction) -> np.ndarray:
        """Change of the contacts' k, d, tau_d, mu, k_t, b_t (m, 6, n)."""
        out = np.empty((len(c), 6, d.q.shape[1]))
        out[:, :4], out[:, 4:] = d.surface[c.pair], d.tangential
        return out

    def _fixed(self, step: _Step, d: _Direction) -> np.ndarray:
        """Tangents of the contacts' bodies that no tree moves (m, 6, n)."""
        out = d.fixed[step.contacts.fixed]
        for body, turn in step.turned.items():
            which = step.contacts.fixed == body
            out[which, 3:] = turn @ out[which, 3:]
        return out

    def _free_columns(self) -> tuple[np.ndarray, np.ndarray]:
        """Columns of linear and angular velocity of the free bodies (nf, 3) each."""
        start = self._tree_v[self._free][:, None] + np.arange(3)
        return start, start + 3

    # --- adjoint ---------------------------------------------------------------------------------------------

    def pullback(self, cotangents: ArrayLike | Mapping[int, ArrayLike]) -> Gradients:
        """The gradient of a number with respect to all parameters at once.

        Args:
            cotangents: Derivatives of the number by the states' tangents (steps + 1, 2 nv); or (2 nv,) by number of the
                step, the others being zero; -1 is the last.

        Returns:
            Gradients by name, with the shapes of :meth:`shape`.

        Raises:
            ValueError: A wrong shape, or a step that there is not.
        """
        nv, dt = self.nv, self.period
        if isinstance(cotangents, Mapping):
            states = np.zeros((self.steps + 1, 2 * nv))
            for number, value in cotangents.items():
                if not -self.steps - 1 <= number <= self.steps:
                    raise ValueError(f"cotangents: expected steps from 0 to {self.steps}, got {number}")
                states[number] += checks.array("cotangents", value, (2 * nv,))
        else:
            states = checks.array("cotangents", cotangents, (self.steps + 1, 2 * nv))
        g = _Direction.zeros(self, 1).squeezed()
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
            with_mass = bool(c.by_mass.size or step.limits)
            mass = np.zeros((self._nt if with_mass else 0, self._width, self._width))
            earlier = np.zeros((len(self._tape[i - 1].contacts) if i else 0, 6))
            if len(c):
                at = adjoint[c.columns]
                impulse = np.einsum("mia,ma->mi", c.J, at)
                theta = np.einsum("mij,mi->mj", c.theta, impulse)
                fixed = np.einsum("mai,ma->mi", c.R_fixed, at)
                if c.by_mass.size:
                    by_w = (impulse * c.mobility).sum(axis=1)
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
                for body, turn in step.turned.items():
                    which = c.fixed == body
                    fixed[which, 3:] = fixed[which, 3:] @ turn
                np.add.at(g.fixed, c.fixed, fixed)
            memory = earlier
            g.actuation[i] = dt * adjoint
            self._add_body_gradients(step, adjoint, mass, g)
            q += states[i, :nv]
            v += states[i, nv:]
        g.q, g.v = q, v
        return self._named(g)

    def _add_body_gradients(self, step: _Step, adjoint: np.ndarray, mass: np.ndarray, g: _Direction) -> None:
        dt = self.period
        for t, row, slope, U in step.limits:
            mass[t, : len(U), : len(U)] -= adjoint[row] * slope * U
        if len(self._free):
            linear, angular = self._free_columns()
            force, moment = adjoint[linear], adjoint[angular]
            g.gravity += dt * self._mass[self._free] @ force
            g.mass[self._free] -= (force * (step.change[linear] - dt * self._gravity)).sum(axis=1)
            spin = step.spin[angular]
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

    def _named(self, g: _Direction) -> Gradients:
        out = Gradients()
        for name in self.names:
            kind, bodies = self._parsed(name)
            if kind in ("initial_position", "initial_velocity"):
                out[name] = g.q if kind == "initial_position" else g.v
            elif kind == "gravity":
                out[name] = g.gravity
            elif kind == "actuation":
                assert g.actuation is not None
                out[name] = g.actuation
            elif kind in ("mass", "inertia"):
                values = g.mass if kind == "mass" else g.inertia
                out[name] = np.asarray(values[self._arrays.body_tree[bodies[0]]])
            elif kind in ("position", "orientation"):
                out[name] = g.fixed[bodies[0], :3] if kind == "position" else g.fixed[bodies[0], 3:]
            elif kind == "link_parameters":
                out[name] = g.links[bodies[0]].reshape(-1, 10)
            elif kind in ("tangential_stiffness", "tangential_damping"):
                out[name] = np.asarray(g.tangential[0 if kind == "tangential_stiffness" else 1])
            else:
                out[name] = np.asarray((self._surface_chain(kind, bodies) * g.surface).sum())
        return out


@dataclass
class _Direction:
    """Changes of the primitives, n directions in the last axis; or gradients by them, without that axis."""

    q: np.ndarray
    v: np.ndarray
    gravity: np.ndarray
    mass: np.ndarray
    inertia: np.ndarray
    surface: np.ndarray
    tangential: np.ndarray
    fixed: np.ndarray
    links: dict[int, np.ndarray]
    actuation: np.ndarray | None = None

    @staticmethod
    def zeros(r: Rollout, n: int) -> _Direction:
        nt = r._nt
        return _Direction(
            q=np.zeros((r.nv, n)),
            v=np.zeros((r.nv, n)),
            gravity=np.zeros((3, n)),
            mass=np.zeros((nt, n)),
            inertia=np.zeros((nt, 3, 3, n)),
            surface=np.zeros((len(r._pairs), 4, n)),
            tangential=np.zeros((2, n)),
            fixed=np.zeros((len(r.world.bodies), 6, n)),
            links={t: np.zeros((10 * len(tree.model.link_joints), n)) for t, tree in enumerate(r.world.trees)},
        )

    def squeezed(self) -> _Direction:
        names = ("q", "v", "gravity", "mass", "inertia", "surface", "tangential", "fixed")
        links = {t: x[..., 0] for t, x in self.links.items()}
        return _Direction(**{name: getattr(self, name)[..., 0] for name in names}, links=links)

    @property
    def any_mass(self) -> bool:
        return bool(self.mass.any())

    @property
    def any_inertia(self) -> bool:
        return bool(self.inertia.any())

    @property
    def any_link(self) -> bool:
        return any(x.any() for x in self.links.values())


def combination_derivative(own: Material, other: Material, name: str) -> np.ndarray:
    """d(k, d, tau_d, mu) of the combined law (`Material.combined`) by one number of a material (4,)."""
    out = np.zeros(4)
    a, b = own.stiffness, other.stiffness
    if name == "relaxation_time":
        out[2] = 1.0
    elif name == "friction":
        total = own.friction + other.friction
        out[3] = 2.0 * (other.friction / total) ** 2 if total > 0.0 else 0.0
    elif np.isinf(a):
        pass  # the other decides
    elif np.isinf(b):
        out[0 if name == "stiffness" else 1] = 1.0
    elif name == "stiffness":
        share = b / (a + b)
        out[0], out[1] = share * share, share * (other.dissipation - own.dissipation) / (a + b)
    else:
        out[1] = b / (a + b)
    return out


def rollout(
    simulator: Simulator,
    steps: int,
    *,
    actuation: ArrayLike | None = None,
    before: Callable[[int, Simulator], None] | None = None,
) -> Rollout:
    """Makes steps from a simulator's present state, and keeps what their derivatives need.

    Args:
        simulator: Moves on. `polish=True` makes its solutions, and so the derivatives, exact to rounding.
        steps: How many.
        actuation: Generalised forces of each step beside those the simulator holds (steps, nv): of free bodies force
            and torque at the centre of mass (world), of trees joint forces; N, N m.
        before: Called with the number of the step and the simulator before each step, to set forces and targets; what
            it sets is taken as given.

    Raises:
        ValueError: A wrong shape or number, the simulator has constraints of its own (joint limits and couplings are
            differentiated, others are not), or its world has compliant bodies.
        ConvergenceError: A step failed.
    """
    if not isinstance(steps, int) or steps < 0:
        raise ValueError(f"steps: expected a whole number, not negative, got {steps!r}")
    if simulator.constraints or simulator.joint_laws or simulator.world.controllers:
        raise ValueError("constraints: expected none but joint limits; others have no derivatives here")
    if simulator.dynamics.has_compliant_bodies:
        raise ValueError("simulator: expected no compliant bodies; contact surfaces have no derivatives here")
    r = Rollout(simulator)
    d = simulator.dynamics
    a = d.arrays
    forces = None if actuation is None else checks.array("actuation", actuation, (steps, d.nv))
    recorder = _Recorder(r, simulator)
    q, v, time = np.empty((steps + 1, len(a.q))), np.empty((steps + 1, d.nv)), np.empty(steps + 1)
    q[0], v[0], time[0] = a.q, a.v, d.time
    free = [(int(a.tree_body[t]), int(a.tree_v[t])) for t in r._free]
    for i in range(steps):
        if before is not None:
            before(i, simulator)
        held = a.body_wrench.copy(), a.effort.copy()
        if forces is not None:
            a.effort[:] += forces[i]
            for body, start in free:
                a.body_wrench[body] += forces[i, start : start + 6]
        try:
            recorder.step()
        finally:
            a.body_wrench[:] = held[0]
            a.effort[:] = held[1]
        q[i + 1], v[i + 1], time[i + 1] = a.q, a.v, d.time
    r.q, r.v, r.time = q, v, time
    return r


class _Recorder:
    """Steps a simulator and differentiates each step."""

    def __init__(self, r: Rollout, simulator: Simulator) -> None:
        self.r, self.simulator = r, simulator
        a = simulator.dynamics.arrays
        self._trees = [t for t, kind in enumerate(a.tree_kind) if kind == ARTICULATED]
        self._prescribed = [i for i, body in enumerate(r.world.bodies) if body.kind == "prescribed"]
        self._first = {body: a.body_pose[body, :9].reshape(3, 3).copy() for body in self._prescribed}
        chosen = simulator._chosen.code
        options = simulator._options
        self._setting = (
            chosen,
            simulator._law.code,
            np.ascontiguousarray(simulator._law.addresses),
            (simulator.period, options["stiction_tolerance"], options["sigma"], options["near_rigid"]),
            (float(simulator._tangential[0]), float(simulator._tangential[1])),
        )
        self._with_w = bool(contact_kernels.needs_mobility(chosen))
        self._place = np.zeros(0, dtype=np.int64)  # of the last step's contacts in its tape
        self._ancestry = [_ancestry(r.world.trees[t].model.model) for t in self._trees]

    def step(self) -> None:
        """One step, appended to the tape."""
        r, simulator = self.r, self.simulator
        d = simulator.dynamics
        a = d.arrays
        start_q, start = a.q.copy(), a.v.copy()
        fixed_poses = a.body_pose[self._prescribed]
        elastic_before = simulator._elastic
        simulator.step()
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
        limits = simulator._joint_limits
        limited = limits is not None and len(limits.velocity) > 0
        trees = {}
        mass_by_q: dict[int, np.ndarray] = {}
        for t, ancestry in zip(self._trees, self._ancestry, strict=True):
            trees[t] = self._tree(t, start_q, start, velocity, R_q, R_v, E, K, self._with_w or limited, mass_by_q)
            links = np.array([a.body_link[b] for b in r.world.trees[t].bodies])
            n = len(trees[t].gravity)
            link_hessian[links, :, :n, :n] = _link_hessian(a.link_jacobian[links, :, :n], ancestry)
        for coupling in (*simulator.springs, *simulator.couplings):
            self._coupling(coupling, poses, velocity, link_hessian, R_q, mass_by_q)
        for t, by_q in mass_by_q.items():
            if self._with_w:
                mass_hessian[t, : len(by_q), : len(by_q), : len(by_q)] = by_q
        H = a.A.copy()
        rows = self._limits(velocity, H, R_q, mass_by_q) if limited else []
        contacts, blocks = self._contacts(poses, start, velocity, elastic_before, link_hessian, mass_hessian)
        matrices: list[Any] = []
        tree_of = contacts.tree
        for own, contact in ((R_q, blocks[0]), (R_v, blocks[1]), (H, blocks[2]), (E, None), (K, None)):
            matrices.append(_assembled(a.tree_v, own, tree_of, contact, nv))
        r._tape.append(
            _Step(
                R_q=matrices[0],
                R_v=matrices[1],
                E=matrices[3],
                K=matrices[4],
                solve=_solver(matrices[2]),
                contacts=contacts,
                change=velocity - start,
                spin=start,
                rotation=poses[a.tree_body[r._free], :9].reshape(-1, 3, 3),
                trees=trees,
                turned={
                    body: poses[body, :9].reshape(3, 3) @ first.T
                    for body, first in self._first.items()
                    if not np.array_equal(poses[body, :9], first.ravel())
                },
                limits=rows,
            )
        )

    def _contacts(
        self,
        poses: np.ndarray,
        start: np.ndarray,
        velocity: np.ndarray,
        elastic_before: np.ndarray,
        link_hessian: np.ndarray,
        mass_hessian: np.ndarray,
    ) -> tuple[_Contacts, tuple[np.ndarray, ...]]:
        r, simulator = self.r, self.simulator
        dynamics = simulator.dynamics
        a, c, old = dynamics.arrays, dynamics.contacts, dynamics.previous
        n, width = int(c.count[0]), r._width
        vc = outputs(simulator._workspace)[1][:n]
        wanted = np.zeros(n, dtype=np.bool_)
        step_derivatives.bearing(self._setting[0], self._setting[1], r.period, c.record, vc, wanted)
        chosen = np.flatnonzero(wanted)
        m = len(chosen)
        geometry = np.zeros((n, 7, 12))
        elastic, memory = np.zeros((n, 2)), np.zeros((n, 6))
        if m:
            differentiate(a.record, poses, c.record, wanted, geometry)
        e = m if r._elastoplastic else 0
        if r._elastoplastic:
            elastic = simulator._elastic_start
            known = np.flatnonzero((c.previous[:n] >= 0) & (len(elastic_before) > 0))
            k = c.previous[known]
            memory[known, :3] = np.einsum("ni,nij->nj", elastic_before[k], old.frame[k, :2])
            memory[known, 3:] = old.frame[k, 2]
        w = m if self._with_w else 0
        two = 2 * width
        out = tuple(
            np.zeros(shape)
            for shape in (
                (m, 3), (m, 3, two), (m, two, two), (m, two, two), (m, two, two), (m, two, 6), (m, 3, 6), (m, 3),
                (w, 2, width, width), (e, 3, 6), (e, 6), (e, 6, two), (e, 6, two), (e, 6, two), (e, 6, 6), (e, 6, 6),
                (e, 6, 6),
            )
        )  # fmt: skip
        if m:
            step_derivatives.differentiate_contacts(
                a.record, c.record, self._setting, poses, start, velocity, vc, elastic, memory, geometry, chosen,
                link_hessian, mass_hessian, out,
            )  # fmt: skip
        (
            _,
            J,
            R_q,
            R_v,
            R_end,
            R_fixed,
            theta,
            mobility,
            by_mass,
            past,
            _,
            memory_q,
            memory_v,
            memory_end,
            memory_past,
            memory_theta,
            memory_fixed,
        ) = out
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
            previous[k >= 0] = self._place[k[k >= 0]]
        self._place = np.full(n, -1, dtype=np.int64)
        self._place[chosen] = np.arange(m)
        kept = _Contacts(
            tree, pair, fixed, columns.reshape(m, two), J, R_fixed, theta, mobility, by_mass, past, previous,
            memory_q, memory_v, memory_end, memory_past, memory_theta, memory_fixed,
        )  # fmt: skip
        return kept, (-R_q, -R_v, -R_end)

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
    ) -> _TreeStep:
        """Derivatives of an articulated tree's residual, dt ID(q, v0, (v - v0)/dt) and linear terms."""
        r, dt = self.r, self.r.period
        tree = r.world.trees[t].model
        model, data = tree.model, tree.data
        rows = slice(*r._tree_v[t : t + 2])
        q, v0, v = start_q[slice(*r._tree_q[t : t + 2])], start[rows], velocity[rows]
        n = len(v)
        acceleration = (v - v0) / dt
        pin.computeRNEADerivatives(model, data, q, v0, acceleration)
        stretch = pin.dDifference(model, tree.rest, q)[1] if tree.stiffness.any() else np.zeros((n, n))
        R_q[t, :n, :n] = dt * data.dtau_dq + dt * tree.stiffness[:, None] * stretch
        R_v[t, :n, :n] = dt * data.dtau_dv - tree.mass_matrix(q)
        by_q, by_v = pin.dIntegrate(model, q, dt * v)
        E[t, :n, :n], K[t, :n, :n] = by_q, dt * by_v
        links = dt * pin.computeJointTorqueRegressor(model, data, q, v0, acceleration)
        total = pin.computeTotalMass(model, data)
        gravity = -dt * total * pin.jacobianCenterOfMass(model, data, q).T
        mass = None
        if with_mass:
            still = np.zeros(n)
            pin.computeRNEADerivatives(model, data, q, still, still)
            rest, rest_links = data.dtau_dq.copy(), pin.computeJointTorqueRegressor(model, data, q, still, still).copy()
            by = np.empty((n, n, n))
            mass = np.empty((n, n, links.shape[1]))
            for i in range(n):
                unit = np.eye(n)[i]
                pin.computeRNEADerivatives(model, data, q, still, unit)
                by[:, i] = data.dtau_dq - rest
                mass[:, i] = pin.computeJointTorqueRegressor(model, data, q, still, unit) - rest_links
            mass_by_q[t] = by
        return _TreeStep(np.asarray(gravity), np.asarray(links), mass)

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
        T, k, b, stretch, twist = coupling.terms
        n = T.shape[1]
        if link >= 0:
            by_q = link_hessian[link, :, :n, :n]
        else:  # the frame's origin turns about the centre of mass
            lever = -poses[body, :9].reshape(3, 3) @ r.world.bodies[body].center
            by_q = np.zeros((6, 6, 6))
            unit = np.eye(3)
            for i in range(3):
                for j in range(3):
                    by_q[:3, 3 + i, 3 + j] = np.cross(unit[i], np.cross(unit[j], lever))
        gain = dt * b + dt * dt * k
        wrench = gain * (T @ velocity[rows]) - dt * (k * stretch + b * twist)
        error = np.zeros((6, n))
        error[:3] = -T[:3]
        error[3:] = -pin.Jlog3(pin.exp3(stretch[3:])) @ T[3:]
        by = gain[:, None] * np.einsum("aij,i->aj", by_q, velocity[rows]) - dt * k[:, None] * error
        R_q[t, :n, :n] += T.T @ by + np.einsum("aij,a->ij", by_q, wrench)
        if t in mass_by_q:
            half = np.einsum("ai,a,ajk->ijk", T, gain, by_q)
            mass_by_q[t] = mass_by_q[t] + half + half.transpose(1, 0, 2)

    def _limits(
        self,
        velocity: np.ndarray,
        H: np.ndarray,
        R_q: np.ndarray,
        mass_by_q: dict[int, np.ndarray],
    ) -> list[tuple[int, int, float, np.ndarray]]:
        """Adds the joint limits to H and R_q; returns what depends on the mass matrix."""
        simulator, r = self.simulator, self.r
        limits, a = simulator._joint_limits, simulator.dynamics.arrays
        assert limits is not None
        owner = np.repeat(np.arange(r._nt), np.diff(r._tree_v))
        kept: list[tuple[int, int, float, np.ndarray]] = []
        inverses: dict[int, np.ndarray] = {}
        for index, constraint in zip(limits.velocity, simulator._constraints, strict=True):
            velocity_index = int(index)
            rows = constraint.rows(r.nv, r.period)
            t = int(owner[velocity_index])
            i, n = velocity_index - int(r._tree_v[t]), int(np.diff(r._tree_v)[t])
            if t not in inverses:
                inverses[t] = np.linalg.inv(a.A[t, :n, :n])
            w = float(inverses[t][i, i])
            for row in range(len(rows.target)):
                sign = float(rows.jacobian[row, velocity_index])
                rigid = rows.near_rigid[row] ** 2 * w / (4.0 * np.pi**2)
                R = max(float(rows.compliance[row]), rigid)
                impulse = (rows.target[row] - sign * velocity[velocity_index]) / R
                if not impulse > 0.0:
                    continue
                H_before = H[t, i, i]
                H[t, i, i] = H_before + 1.0 / R
                wait = 2.0 * r.period
                R_q[t, i, i] += 1.0 / (wait * R)
                if rigid >= rows.compliance[row]:
                    # gamma ~ 1/w: dgamma = -gamma dw/w, and -dw/dA = column column^T
                    column = inverses[t][:, i]
                    U = np.outer(column, column)
                    slope = sign * impulse / w
                    R_q[t, i, :n] -= slope * np.einsum("ab,abk->k", U, mass_by_q[t])
                    kept.append((t, velocity_index, -slope, U))
        return kept


def _ancestry(model: pin.Model) -> tuple[np.ndarray, np.ndarray]:
    """For each pair of velocities (i, k) of a tree: k moves the axis of i; and i comes before k, and moves it."""
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
    """Derivatives (links, 6, n, n) of link Jacobians (links, 6, n): entry, column i, tangent k.

    A joint k before or at i turns the whole screw of i about its own axis; a joint k after i moves only the origin.
    """
    inner, outer = ancestry
    on = (T != 0.0).any(axis=1)  # velocities that move the link
    both = on[:, :, None] & on[:, None, :]
    linear, angular = T[:, :3].transpose(0, 2, 1), T[:, 3:].transpose(0, 2, 1)
    out = np.zeros((*T.shape, T.shape[2]))
    turns = (both & inner)[..., None]
    moves = (both & outer)[..., None]
    spun = np.cross(angular[:, None, :, :], angular[:, :, None, :]) * turns
    swung = np.cross(angular[:, None, :, :], linear[:, :, None, :]) * turns
    shifted = np.cross(angular[:, :, None, :], linear[:, None, :, :]) * moves
    out[:, :3], out[:, 3:] = np.moveaxis(swung + shifted, 3, 1), np.moveaxis(spun, 3, 1)
    return out


def _assembled(
    tree_v: np.ndarray, blocks: np.ndarray, trees: np.ndarray, contact_blocks: np.ndarray | None, nv: int
) -> Any:
    """A matrix (nv, nv) from its trees' and contacts' blocks, dense or sparse."""
    if nv <= DENSE:
        out = np.zeros((nv, nv))
        step_derivatives.add_blocks(tree_v, blocks, out)
        if contact_blocks is not None:
            step_derivatives.add_contact_blocks(tree_v, trees, contact_blocks, 1.0, out)
        return out
    width = blocks.shape[1]
    sizes = np.diff(tree_v)
    inside = np.arange(width)
    index = np.where(inside < sizes[:, None], tree_v[:-1, None] + inside, -1)
    values, first, second = [blocks.ravel()], [], []
    first.append(np.repeat(index, width, axis=1).ravel())
    second.append(np.tile(index, (1, width)).ravel())
    if contact_blocks is not None and len(contact_blocks):
        both = np.where((trees >= 0)[:, :, None], index[trees], -1).reshape(len(trees), -1)
        values.append(contact_blocks.ravel())
        first.append(np.repeat(both, 2 * width, axis=1).ravel())
        second.append(np.tile(both, (1, 2 * width)).ravel())
    x, i, j = np.concatenate(values), np.concatenate(first), np.concatenate(second)
    kept = (i >= 0) & (j >= 0)
    return scipy.sparse.csc_array(scipy.sparse.coo_array((x[kept], (i[kept], j[kept])), shape=(nv, nv)))


def _solver(H: Any) -> Callable[[np.ndarray], np.ndarray]:
    """H^-1 for right-hand sides (nv,) or (nv, n)."""
    if isinstance(H, np.ndarray):
        factor, info = scipy.linalg.lapack.dpotrf(H, lower=1)
        if info:
            raise np.linalg.LinAlgError(f"H is not positive definite (leading minor {info})")
        return lambda b: scipy.linalg.lapack.dpotrs(factor, b, lower=1)[0]
    return scipy.sparse.linalg.splu(H).solve
