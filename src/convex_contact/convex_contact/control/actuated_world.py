"""A world with actuated joints as a system for `ilqr`: state (q, v), inputs the joint forces, derivatives included.

    >>> system = ActuatedWorld(world, period=0.01, stiction_tolerance=1e-2)
    >>> cost = QuadraticCost(system, goal, state=..., input=..., final=...)
    >>> found = optimize(system, cost, system.start, guess, lower=-20.0, upper=20.0)
    >>> system.play(found.inputs)       # drives the world's trees, in any simulator with that period

A state is q and v in one vector; its tangent space is that of `rollouts`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from convex_contact.differentiation.recorder import refuse_deformable_bodies
from convex_contact.differentiation.rollouts import rollout
from convex_contact.model.bodies import FREE, move
from convex_contact.model.tendons import TendonActuator
from convex_contact.model.world import World, WorldError
from convex_contact.problem import checks
from convex_contact.simulation.simulator import ContactReport, Simulator
from haptic_files import listed
from haptic_files.moved_modules import RenamedMember

#: largest error of the length of a quaternion that is left as it is
_ROUNDING = 1e-9


class ActuatedWorld:
    """Steps of a world and their derivatives.

    Args:
        world: without prescribed bodies and actuators with an activation, whose pose or activation is not part of the
            state, without deformable bodies, and without drives.
        period: dt [s].
        joints: names of the actuated joints, with one velocity each, as "joint" or "tree/joint"; default: all of the
            world's trees.
        approximation: any but lagged_elastoplastic, whose contacts have state beyond q and v.
        **options: of :class:`Simulator`; solutions are polished unless `polish=False`.

    Attributes:
        world: as given.
        simulator: makes the steps.
        joints: names of the joints, in the order of the inputs; by default "tree/joint" where several trees have the
            same.

    Raises:
        ValueError: the world has no actuated joint, or a part that cannot be differentiated here.

    Examples:
        >>> from importlib.resources import files
        >>> from convex_contact import ActuatedWorld, World
        >>> world = World()
        >>> _ = world.add_urdf("motor", files("convex_contact") / "data/shaft.urdf", armature=1.0)  # 1 kg m^2
        >>> system = ActuatedWorld(world, period=0.01)
        >>> system.step(0, system.start, [2.0]).round(4).tolist()  # angle and velocity after 2 N m for 0.01 s
        [0.0002, 0.02]
    """

    def __init__(
        self,
        world: World,
        *,
        period: float,
        joints: Sequence[str] | None = None,
        approximation: str = "lagged",
        **options: Any,
    ) -> None:
        if not isinstance(world, World):
            raise ValueError(f"world: expected a World, got {world!r}")
        self.world = world
        for body in world.bodies:
            if body.kind == "prescribed":
                raise ValueError(f"{body.name}: expected no prescribed body: its place is not part of the state")
        refuse_deformable_bodies(world)
        for tree in world.trees:
            if tree.drive is not None:
                raise ValueError(f"{tree.name}: drive: expected none, the forces of its joints are the inputs")
        for law in world.joint_laws:
            if isinstance(law, TendonActuator) and law.dynamics != "none":
                raise ValueError(f"{law.name}: expected an actuator without activation, which is not part of the state")
        self.simulator = Simulator(world, period=period, approximation=approximation, **{"polish": True} | options)
        if self.simulator.approximation == "lagged_elastoplastic":
            raise ValueError(
                "approximation: expected one whose state is q and v, got lagged_elastoplastic, whose contacts remember "
                "their elastic displacement"
            )
        a = self.simulator.dynamics.arrays
        self._nq, self._nv = len(a.q), len(a.v)
        columns, default = _single_joints(world, a.tree_v)
        self.joints = default if joints is None else list(joints)
        self._columns = np.array([_column(name, columns, default) for name in self.joints], dtype=np.int64)
        if not self.joints:
            raise ValueError("joints: expected at least one, the world has none of one velocity")
        for number, name in enumerate(self.joints):
            if self._columns[number] in self._columns[:number]:
                raise ValueError(f"joints: expected each joint once, got {name!r} twice")
        self._start = np.concatenate([a.q, a.v])

    # --- states ------------------------------------------------------------------------------------------------

    @property
    def period(self) -> float:
        """Period dt [s]."""
        return self.simulator.period

    @property
    def start(self) -> np.ndarray:
        """Initial state of the world as described (nq + nv,)."""
        return self._start.copy()

    @property
    def tangent(self) -> int:
        """Dimension 2 nv of the tangent space."""
        return 2 * self._nv

    @property
    def inputs(self) -> int:
        """Number of actuated joints."""
        return len(self._columns)

    def difference(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Returns the change [dq; dv] (2 nv,) that leads from x to y."""
        x, y = self._state("x", x), self._state("y", y)
        out = np.empty(2 * self._nv)
        out[self._nv :] = y[self._nq :] - x[self._nq :]
        for kind, tree, q, v in self._trees():
            if kind == FREE:
                out[v][:3] = y[q][:3] - x[q][:3]
                out[v][3:] = pin.log3(_rotation(y[q]) @ _rotation(x[q]).T)
            else:
                out[v] = pin.difference(self.world.trees[tree].model.model, x[q], y[q])
        return out

    def difference_jacobian(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Returns the derivative (2 nv, 2 nv) of :meth:`difference` by a change of y."""
        x, y = self._state("x", x), self._state("y", y)
        out = np.eye(2 * self._nv)
        for kind, tree, q, v in self._trees():
            if kind == FREE:
                # log(exp(d) R) = log R + J_l^-1 d, and J_l(r) = J_r(r)^T
                out[v, v][3:, 3:] = pin.Jlog3(_rotation(y[q]) @ _rotation(x[q]).T).T
            else:
                out[v, v] = pin.dDifference(self.world.trees[tree].model.model, x[q], y[q])[1]
        return out

    def moved(self, x: np.ndarray, change: ArrayLike) -> np.ndarray:
        """Returns the state that a change [dq; dv] (2 nv,) of x leads to."""
        change = checks.array("change", change, (2 * self._nv,))
        out = self._state("x", x).copy()
        out[self._nq :] += change[self._nv :]
        for kind, tree, q, v in self._trees():
            if kind == FREE:
                move(out[q], change[v], 1.0, False)
            else:
                out[q] = pin.integrate(self.world.trees[tree].model.model, x[q], change[v])
        return out

    def set_state(self, x: ArrayLike) -> None:
        """Sets the simulator to a state, at time 0; quaternions may have any length.

        Raises:
            ValueError: x is not a state of this world.
        """
        state = self._normalized(self._state("state", x))
        d = self.simulator.dynamics
        d.arrays.q[:], d.arrays.v[:] = state[: self._nq], state[self._nq :]
        d.time = 0.0

    place = RenamedMember("set_state")

    def goal(self, **positions: ArrayLike) -> np.ndarray:
        """Returns the start state at rest, with free bodies moved to positions (3,) [m], given by name."""
        self.set_state(self._start)
        for name, position in positions.items():
            self.simulator.set_state(name, position=position)
        a = self.simulator.dynamics.arrays
        return np.concatenate([a.q, np.zeros(self._nv)])

    def slices(self, body: int | str) -> tuple[slice, slice]:
        """Returns the slices of a free body's [linear; angular] parts in dq and in dv of a change.

        Raises:
            WorldError: the body is not free.
        """
        number = self.world.number(body)
        if self.world.bodies[number].kind != "free":
            raise WorldError(f"{self.world.bodies[number].name}: expected a free body")
        a = self.simulator.dynamics.arrays
        tree = a.body_tree[number]
        first, last = int(a.tree_v[tree]), int(a.tree_v[tree + 1])
        return slice(first, last), slice(self._nv + first, self._nv + last)

    # --- steps -------------------------------------------------------------------------------------------------

    def step(self, k: int, x: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Returns the state after step k, which starts at the time k dt from x, with joint forces u [N or N m].

        Raises:
            ConvergenceError: the step has no solution.
            ValueError: x is not a state of this world, or u has a wrong shape.
        """
        self.set_state(x)
        d = self.simulator.dynamics
        d.time, a = k * self.period, d.arrays
        a.effort[:] = 0.0
        a.effort[self._columns] = checks.array("u", u, (self.inputs,), copy=False)
        try:
            with self._without_drives():
                self.simulator.step()
        finally:
            a.effort[:] = 0.0
        return np.concatenate([a.q, a.v])

    @contextmanager
    def _without_drives(self) -> Iterator[None]:
        """Takes away the drives that :meth:`play` set; the inputs of a step are given with it."""
        drives = [tree.drive for tree in self.world.trees]
        for tree in self.world.trees:
            tree.drive = None
        try:
            yield
        finally:
            for tree, drive in zip(self.world.trees, drives, strict=True):
                tree.drive = drive

    def linearize(self, states: np.ndarray, inputs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Returns A (N, 2 nv, 2 nv) and B (N, 2 nv, inputs) of the motion from states[0]."""
        actuation = np.zeros((len(inputs), self._nv))
        actuation[:, self._columns] = checks.array("inputs", inputs, (len(inputs), self.inputs))
        self.set_state(states[0])
        with self._without_drives():
            A, B = rollout(self.simulator, len(inputs), actuation=actuation).step_jacobians()
        return A, B[:, :, self._columns]

    def holding(self, x: np.ndarray) -> np.ndarray:
        """Returns the inputs (inputs,) that balance gravity in a state."""
        x, out = self._state("x", x), np.zeros(self._nv)
        for kind, tree, q, v in self._trees():
            if kind != FREE:
                model = self.simulator.dynamics.tree_models[tree]
                out[v] = pin.computeGeneralizedGravity(model.model, model.data, x[q])
        return out[self._columns]

    def contacts(self, x: np.ndarray, u: np.ndarray) -> ContactReport:
        """Returns the contacts of the step from x with inputs u."""
        self.step(0, x, u)
        return self.simulator.contacts

    def play(self, inputs: ArrayLike) -> None:
        """Sets the inputs (N, inputs) as drive of the world's trees, one row per step; zero after the last.

        Raises:
            ValueError: wrong shape.
        """
        if np.ndim(inputs) != 2:
            raise ValueError(f"inputs: expected shape (steps, {self.inputs}), got {np.shape(inputs)}")
        given = checks.array("inputs", inputs, (len(np.asarray(inputs)), self.inputs))
        forces = np.zeros((len(given) + 1, self._nv))
        forces[:-1, self._columns] = given
        tree_v, period = self.simulator.dynamics.arrays.tree_v, self.period
        for t, tree in enumerate(self.world.trees):
            part = forces[:, tree_v[t] : tree_v[t + 1]]

            def drive(time: float, part: np.ndarray = part) -> Any:
                return part[min(int(time / period + 1e-6), len(part) - 1)]

            tree.drive = drive

    def _state(self, name: str, x: ArrayLike) -> np.ndarray:
        """Returns a state (nq + nv,); raises a ValueError with its name if it has another shape."""
        return checks.array(name, x, (self._nq + self._nv,), copy=False)

    def _normalized(self, x: np.ndarray) -> np.ndarray:
        """Returns a state with quaternions, and pairs (cos, sin) of continuous joints, of length 1."""
        for kind, tree, at, _ in self._trees():
            q = x[at]
            if kind == FREE:
                length = checks.quaternion_length("state", q[3:])
                if abs(length - 1.0) > _ROUNDING:
                    x = x.copy()
                    x[at][3:] /= length
            elif not pin.isNormalized(self.world.trees[tree].model.model, q, _ROUNDING):
                x = x.copy()
                x[at] = pin.normalize(self.world.trees[tree].model.model, q)
                if not np.isfinite(x[at]).all():
                    raise ValueError("state: expected quaternions and pairs (cos, sin) that are not zero, got one")
        return x

    def _trees(self) -> Any:
        a = self.simulator.dynamics.arrays
        for t, kind in enumerate(a.tree_kind):
            yield kind, t, slice(a.tree_q[t], a.tree_q[t + 1]), slice(a.tree_v[t], a.tree_v[t + 1])


class DifferencedWorld(ActuatedWorld):
    """An actuated world with derivatives by central differences of steps, for comparison; needs polished solutions.

    Args:
        h: difference in every entry of state and inputs, in its unit.
        **options: of :class:`ActuatedWorld`.
    """

    def __init__(self, world: World, *, h: float = 1e-6, **options: Any) -> None:
        super().__init__(world, **options)
        self.h = checks.number("h", h, above=0.0)

    def linearize(self, states: np.ndarray, inputs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Returns A and B from 2 (2 nv + inputs) steps per step of the motion."""
        n, m = self.tangent, self.inputs
        A, B = np.empty((len(inputs), n, n)), np.empty((len(inputs), n, m))
        for k, (x, u) in enumerate(zip(states[:-1], inputs, strict=True)):
            for j, change in enumerate(self.h * np.eye(n)):
                low, high = (self.step(k, self.moved(x, sign * change), u) for sign in (-1.0, 1.0))
                A[k, :, j] = self.difference(low, high) / (2.0 * self.h)
            for j, change in enumerate(self.h * np.eye(m)):
                low, high = (self.step(k, x, u + sign * change) for sign in (-1.0, 1.0))
                B[k, :, j] = self.difference(low, high) / (2.0 * self.h)
        return A, B


def _rotation(q: np.ndarray) -> np.ndarray:
    """Returns the rotation matrix of a free body's coordinates (7,)."""
    return np.asarray(pin.Quaternion(q[3:]).matrix())


def _single_joints(world: World, tree_v: np.ndarray) -> tuple[dict[str, list[int]], list[str]]:
    """Returns the columns in v of the joints with one velocity, by "joint" and "tree/joint", and a unique name of each.

    Args:
        world: the world.
        tree_v: first velocity of each tree.
    """
    columns, short, whole = dict[str, list[int]](), list[str](), list[str]()
    for t, tree in enumerate(world.trees):
        model = tree.model.model
        for name, joint in list(zip(model.names, model.joints, strict=True))[1:]:
            if joint.nv == 1:
                short.append(name)
                whole.append(f"{tree.name}/{name}")
                for each in (name, whole[-1]):
                    columns.setdefault(each, []).append(int(tree_v[t] + joint.idx_v))
    unique = [one if len(columns[one]) == 1 else full for one, full in zip(short, whole, strict=True)]
    return columns, unique


def _column(name: str, columns: dict[str, list[int]], known: list[str]) -> int:
    """Returns the column of a joint; raises a ValueError if no joint, or several, have this name."""
    found = columns.get(name, []) if isinstance(name, str) else []
    if len(found) == 1:
        return found[0]
    wrong = f"{name!r} is a joint of {len(found)} trees" if found else f"there is no joint {name!r} of one velocity"
    raise ValueError(f"joints: {wrong}, only {listed(known, str(name)) or 'none'}")
