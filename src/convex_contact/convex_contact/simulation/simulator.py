"""A world in motion: one call per step, from the description to the new state.

    >>> w = World()
    >>> ground = w.add_half_space("ground")
    >>> ball = w.add_sphere("ball", mass=0.5, radius=0.025, position=(0, 0, 0.1))
    >>> sim = Simulator(w, period=2e-3)
    >>> sim.step(100)
    >>> sim.state(ball).position

A step takes A, v* and the contacts from `dynamics`, solves the convex problem by `newton`, and moves the bodies.
:func:`~convex_contact.solve` solves the same problem: :attr:`Simulator.solution` is the last step in that form.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import astuple
from typing import overload

import numpy as np
from numpy.typing import ArrayLike

from convex_contact.model.body_joints import WITH_COORDINATE, JointCoordinate
from convex_contact.model.motors import with_own_laws
from convex_contact.model.names import number_of, unknown_name
from convex_contact.model.tendons import TendonActuator
from convex_contact.model.world import World, WorldError, vector
from convex_contact.problem import checks
from convex_contact.problem.approximations import approximation_named
from convex_contact.problem.constraints import Constraint
from convex_contact.problem.normal_laws import LinearLaw, NormalLaw
from convex_contact.simulation.body_joint_handle import find_joint, started_joints
from convex_contact.simulation.body_joint_rows import BodyRows
from convex_contact.simulation.body_placement import set_body_state
from convex_contact.simulation.body_table import BodyTable
from convex_contact.simulation.compiled_step import StepRecords
from convex_contact.simulation.coupling import Coupling, CouplingTable
from convex_contact.simulation.dynamics import BodyState, WorldDynamics
from convex_contact.simulation.interpreted_step import make_interpreted_step
from convex_contact.simulation.joint import Joint
from convex_contact.simulation.joint_rows import JointRows
from convex_contact.simulation.last_step import LastStep
from convex_contact.simulation.python_numbers import PythonNumbers
from convex_contact.simulation.reports import ContactReport as ContactReport
from convex_contact.simulation.reports import StepStatistics as StepStatistics
from convex_contact.simulation.simulator_state import NotCopied, SimulatorState
from convex_contact.simulation.step_control import FIRST, StepControl
from convex_contact.solver.options import SolverOptions
from convex_contact.solver.workspace import configure, forget, inputs, new_workspace

#: fraction of the end time below which a remaining duration counts as 0
ROUNDING = 1e-13


class Simulator(LastStep, NotCopied):
    """Moves a world in steps of constant length, or of lengths that an accuracy allows.

    Args:
        world: description of the world; later changes to it have no effect, but those of a tree's `drive`.
        period: dt [s]. Give it or the accuracy; without both it is that of the world's file, if it has one.
        accuracy: largest error of a body's points in a step [m]; steps choose their lengths (`step_control`).
        largest_period: of the steps with an accuracy [s].
        second_order: extrapolate steps with an accuracy: elastic motion keeps its energy at longer steps.
        approximation: "sap", "lagged", "lagged_regularized", "similar", "similar_regularized", "lagged_elastoplastic".
        stiction_tolerance: v_s [m/s].
        sigma: regularisation of SAP and of eq. (26).
        near_rigid: beta of SAP's near-rigid limit, 0 without.
        normal_law: of all contacts; None: linear with Hunt and Crossley dissipation. SAP has its own.
        tangential_stiffness: k_t of lagged_elastoplastic [N/m]; None: each contact's normal stiffness.
        tangential_damping: b_t of lagged_elastoplastic [N s/m].
        relative_tolerance: of the residual to the momenta, where the solver ends (`SolverOptions`).
        absolute_tolerance: of the residual [sqrt(J)]; matters only where all momenta vanish.
        max_iterations: Newton steps, after which the step has failed.
        polish: continue while steps still quarter the residual: exact to rounding.
        threshold: pairs with a gap below it are in the problem [m].
        speculative: leave out contacts that provably have no force (`dynamics`).
        linear_rotation: integrate quaternions as in the paper, else exactly.
        joint_limits: keep the limits of the joints of articulated trees.
        still: accept a world in which nothing can move.

    Attributes:
        world, approximation: as given.
        control: chooses the lengths of steps, and counts them; None without an accuracy.
        dynamics: state, dynamics and contact candidates.
        constraints: functions dynamics -> Constraint, called in each step; append your own.
        joint_laws: motions, actuators and couplers of the world's joints, in its order (copies).
        couplings: made by :meth:`couple`.
        springs: couplings for the bodies' springs to their initial positions.

    Raises:
        ValueError: a parameter is out of its bounds, or a normal law is not linear beside compliant bodies; the message
            names it.

    Examples:
        >>> from convex_contact import Simulator, World
        >>> world = World()
        >>> ground = world.add_half_space("ground")
        >>> ball = world.add_sphere("ball", mass=1.0, radius=0.1, position=(0.0, 0.0, 0.5))
        >>> simulator = Simulator(world, period=2e-3)
        >>> simulator.step(500)
        >>> simulator.state(ball).position.round(3).tolist()
        [0.0, 0.0, 0.1]
    """

    # Longer than others by its arguments and their checks.
    def __init__(
        self,
        world: World,
        *,
        period: float | None = None,
        accuracy: float | None = None,
        largest_period: float = 0.01,
        second_order: bool = False,
        approximation: str = "lagged",
        stiction_tolerance: float = 1e-4,
        sigma: float = 1e-3,
        near_rigid: float = 0.0,
        normal_law: NormalLaw | None = None,
        tangential_stiffness: float | None = None,
        tangential_damping: float = 0.0,
        relative_tolerance: float = 1e-5,
        absolute_tolerance: float = 1e-14,
        max_iterations: int = 1000,
        polish: bool = False,
        threshold: float = 0.1,
        speculative: bool = True,
        linear_rotation: bool = False,
        joint_limits: bool = True,
        still: bool = False,
    ) -> None:
        if not isinstance(world, World):
            raise WorldError(f"world: expected a World, got {world!r}")
        self._chosen = approximation_named(approximation)
        self.approximation = self._chosen.name
        if normal_law is not None and not isinstance(normal_law, NormalLaw):
            raise ValueError(f"normal_law: expected a NormalLaw or None, got {normal_law!r}")
        if normal_law is not None and self.approximation == "sap":
            raise ValueError(f"normal_law: expected None with sap, which has its own linear law, got {normal_law!r}")
        self._law = LinearLaw() if normal_law is None else normal_law
        self._options = {
            "stiction_tolerance": checks.number("stiction_tolerance", stiction_tolerance, above=0.0),
            "sigma": checks.number("sigma", sigma, above=0.0),
            "near_rigid": checks.number("near_rigid", near_rigid, minimum=0.0),
        }
        k_t = tangential_stiffness
        k_t = 0.0 if k_t is None else checks.number("tangential_stiffness", k_t, above=0.0)
        self._tangential = (k_t, checks.number("tangential_damping", tangential_damping, minimum=0.0))
        checks.number("max_iterations", max_iterations, minimum=1.0)
        self._solver_options = SolverOptions(relative_tolerance, absolute_tolerance, max_iterations, polish)
        self._solver_numbers = astuple(self._solver_options)
        self.world = world
        if period is None and accuracy is None:
            period = world.period
        if (period is None) == (accuracy is None):
            raise ValueError(f"period, accuracy: expected one of them, got {period} and {accuracy}")
        if accuracy is None and second_order:
            raise ValueError("second_order: expected False with a period, got True; give an accuracy instead")
        first = FIRST * checks.number("largest_period", largest_period, above=0.0) if period is None else period
        self.dynamics = WorldDynamics(
            world, period=first, threshold=threshold, speculative=speculative, linear_rotation=linear_rotation
        )
        self._bodies = BodyTable(self.dynamics)
        if self.dynamics.has_compliant_bodies and not isinstance(self._law, LinearLaw):
            raise ValueError(f"normal_law: expected a linear one with compliant bodies, got {normal_law!r}")
        if not self.dynamics.nv and not still:
            raise WorldError("world: expected a free body or an articulated tree, got none: nothing can move")
        self._workspace = new_workspace()
        self.set_period(self.dynamics.period)
        inputs(self._workspace).addresses[:] = self._law.addresses
        limits = self.dynamics.joint_limits() if joint_limits else None
        self._joint_limits = limits if limits is not None and len(limits.velocity) else None
        self._described = [copy(law) for law in world.joint_laws], with_own_laws(world.controllers)
        self._own: list[Constraint] = []
        self.constraints: list[Callable[[WorldDynamics], Constraint]] = []
        self._describe_joints()
        self.couplings: list[Coupling] = []
        self.springs = [
            Coupling(self.dynamics, i, stiffness=body.spring_stiffness, damping=body.spring_damping)
            for i, body in enumerate(world.bodies)
            if body.spring_stiffness or body.spring_damping
        ]
        self._table = CouplingTable()
        self._elastoplastic = self.approximation == "lagged_elastoplastic"
        self._records = StepRecords(self.dynamics, *self._tangential, self._elastoplastic, speculative, linear_rotation)
        self._own_count, self._solved = 0, False
        self.control: StepControl | None = None
        if accuracy is not None:
            steps = {"accuracy": accuracy, "largest_period": largest_period}
            self.control = StepControl(self, **steps, second_order=second_order)

    # --- state -----------------------------------------------------------------------------------------------

    @property
    def time(self) -> float:
        """Time of the simulation [s]."""
        return self.dynamics.time

    @overload
    def state(self, body: int | str) -> BodyState: ...

    @overload
    def state(self, body: None = None) -> SimulatorState: ...

    def state(self, body: int | str | None = None) -> BodyState | SimulatorState:
        """Returns pose and velocities of a body; without a body the whole state, for :meth:`restore`."""
        return SimulatorState(self) if body is None else self.dynamics.state(body)

    def restore(self, state: SimulatorState) -> None:
        """Restores a state that :meth:`state` returned; all that follows is repeated to the last bit.

        Raises:
            ValueError: it is no such state, or that of another simulator.
        """
        if not isinstance(state, SimulatorState):
            raise ValueError(f"state: expected what state() returns, got {state!r}")
        state.give_back(self)

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of all joints that move: ``tree/joint``, and the names in :meth:`World.add_joint`."""
        return (*self.dynamics.joint_places, *started_joints(self._controllers))

    def joint(self, name: str) -> Joint:
        """Returns a joint to read and to set, by its name or as ``tree/joint``; see :class:`Joint`.

        The whole name of a joint, such as that of :meth:`World.add_joint`, goes before the short name of another.

        Raises:
            WorldError: there is no such joint, or several.
        """
        return find_joint(self.dynamics, lambda: self.joint_laws, lambda: self._controllers, name)

    def body_joint(self, name: str) -> JointCoordinate:
        """Returns position and velocity of a hinge, slide or distance, by its name in :meth:`World.add_joint`.

        Raises:
            WorldError: there is no such joint, or it is a ball or a weld, which has no coordinate.
        """
        started = started_joints(self._controllers).items()
        known = {known: joint for known, joint in started if joint.joint.kind in WITH_COORDINATE}
        if not isinstance(name, str) or name not in known:
            raise unknown_name("body_joint", name, known)
        self.dynamics.prepare()
        position, rate = known[name].coordinate(self.dynamics)
        return JointCoordinate(position, float(rate[:-1] @ self.dynamics.arrays.v + rate[-1]))

    def actuator(self, name: str) -> TendonActuator:
        """Returns an actuator of an MJCF file by its name, with a control that can be set.

        Raises:
            WorldError: there is no such actuator.
        """
        known = {law.name: law for law in self.joint_laws if isinstance(law, TendonActuator)}
        if not isinstance(name, str) or name not in known:
            raise unknown_name("actuator", name, known)
        return known[name]

    def jacobian(self, body: int | str) -> np.ndarray:
        """Returns the Jacobian (6, nv) of the twist [linear; angular] of a body's frame, world axes."""
        return self.dynamics.jacobian(body)

    def body_states(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Returns positions (n, 3), quaternions (n, 4), velocities and angular velocities (n, 3) of all bodies."""
        a, b, c, d = (column.copy() for column in self._bodies.read().columns)
        return a, b, c, d

    def set_state(
        self,
        body: int | str,
        *,
        position: ArrayLike | None = None,
        orientation: ArrayLike | None = None,
        velocity: ArrayLike | None = None,
        angular_velocity: ArrayLike | None = None,
    ) -> None:
        """Sets the state of a free body, or the root of a floating tree; omitted values and joints do not change.

        Args:
            body: number or name.
            position: position of the body's frame in the world [m], shape (3,).
            orientation: quaternion (x, y, z, w) of any length, body to world.
            velocity: velocity of the frame's origin in the world [m/s], shape (3,).
            angular_velocity: in the world [rad/s], shape (3,).

        Raises:
            WorldError: the body is neither free nor such a root, or a value is wrong; nothing is changed.
        """
        pose = {"position": position, "orientation": orientation}
        set_body_state(self.dynamics, body, **pose, velocity=velocity, angular_velocity=angular_velocity)

    def deformed(self, tree: int | str) -> np.ndarray:
        """Returns the positions of all vertices of a deformable body's mesh in the world (n, 3), m."""
        return self.dynamics.deformed(tree)

    def apply_wrench(self, body: int | str, force: ArrayLike = (0, 0, 0), torque: ArrayLike = (0, 0, 0)) -> None:
        """Sets the wrench on a free body or a link, held until it is set again.

        Args:
            body: number or name.
            force: at the centre of mass (3,) [N], in the world frame.
            torque: about the centre of mass (3,) [N m], in the world frame.

        Raises:
            WorldError: no tree moves the body, or a value is wrong.
        """
        number = self.world.number(body)
        described = self.world.bodies[number]
        if described.kind not in ("free", "link"):
            raise WorldError(f"{described.name}: a wrench acts on a free body or a link, not on a {described.kind} one")
        f, m = vector(force, 3, f"{described.name}: force"), vector(torque, 3, f"{described.name}: torque")
        self.dynamics.arrays.body_wrench[number] = np.concatenate([f, m])

    def set_effort(self, tree: int | str, effort: ArrayLike) -> None:
        """Sets the joint forces (nv,) [N or N m] of an articulated tree, held until they are set again."""
        a, number = self.dynamics.arrays, number_of("tree", tree, self.world.trees)
        i, j = a.tree_v[number], a.tree_v[number + 1]
        a.effort[i:j] = vector(effort, int(j - i), f"{self.world.trees[number].name}: effort")

    def couple(self, body: int | str, **gains: float) -> Coupling:
        """Pulls a body's frame to a moving target by an implicit spring and damper; see :class:`Coupling`."""
        self.couplings.append(Coupling(self.dynamics, body, **gains))
        return self.couplings[-1]

    def reset(self) -> None:
        """Resets state, time and applied forces to the world's description, and clears all memory of earlier steps."""
        self.dynamics.reset()
        self._describe_joints()
        forget(self._workspace)
        self._solved = False
        for coupling in (*self.springs, *self.couplings):
            coupling.reset()
        if self.control is not None:
            self.control.reset()

    # --- steps -----------------------------------------------------------------------------------------------

    def step(self, count: int = 1) -> None:
        """Makes one step or more; with an accuracy each has its own length.

        Raises:
            ValueError: the count is negative or no whole number.
            ConvergenceError: no convergence, or the accuracy is missed; time and state are those before the step.
        """
        if (type(count) is not int and not isinstance(count, np.integer)) or count < 0:
            raise ValueError(f"count: expected 0 or more steps, got {count!r}")
        if self.control is None:
            self._make_steps(count)
            return
        for _ in range(count):
            self.control.step(self)

    def advance(self, duration: float) -> None:
        """Makes steps until a duration [s] has passed.

        Raises:
            ValueError: steps of constant length do not add up to it.
            ConvergenceError: see :meth:`step`.
        """
        duration = checks.number("duration", duration, minimum=0.0)
        if self.control is None:
            count = round(duration / self.period)
            if abs(duration - count * self.period) > 1e-9 * duration:
                raise ValueError(f"duration: expected a multiple of the period {self.period:g} s, got {duration:g} s")
            self.step(count)
            return
        end = self.time + duration
        while end - self.time > ROUNDING * end:
            self.control.step(self, longest=end - self.time)

    @property
    def period(self) -> float:
        """Length of the coming steps [s], which can be set; with an accuracy that of the last step."""
        return self.dynamics.period

    @period.setter
    def period(self, period: float) -> None:
        self.set_period(period)

    def set_period(self, period: float) -> None:
        """Sets the length of the coming steps [s]; with an accuracy steps choose their lengths all the same.

        Raises:
            ValueError: it is no number above 0; nothing is changed.
        """
        self.dynamics.period = period = checks.number("period", period, above=0.0)
        numbers = (period, *self._options.values())
        configure(self._workspace, self._chosen.code, self._law.code, *numbers, *self._solver_numbers)

    @property
    def is_whole(self) -> bool:
        """Compiled code alone makes the coming steps: Python has no work in them."""
        return self._is_compiled() and not self._numbers.needed

    def _is_compiled(self) -> bool:
        """Returns whether one compiled call makes the coming step, after Python has written its numbers."""
        by_python = self.constraints or self._own or self._body_rows.others
        return not by_python and self.dynamics.compiled and self._coupling_table().compiled

    def make_step(self) -> None:
        """Makes one step of length :attr:`period`; like :meth:`step` without an accuracy."""
        self._make_steps(1)

    def _make_steps(self, count: int) -> None:
        while count > 0:
            if not self._is_compiled():
                make_interpreted_step(self)
            elif self._numbers.needed:
                self._numbers.write()
                self._advance(1)
            else:
                self._advance(count)
                return
            count -= 1

    def _advance(self, count: int, run: Callable[..., int] | None = None) -> None:
        """Makes compiled steps, see :meth:`StepRecords.advance`, after :meth:`_is_compiled` found the couplings."""
        d, before = self.dynamics, self.dynamics.time
        between, joints, workspace = self._body_rows, self._joint_rows.record, self._workspace
        try:
            self._records.advance(between, joints, self._table, workspace, self.approximation, count, run)
        finally:
            self._solved = self._solved or d.time != before

    def _coupling_table(self) -> CouplingTable:
        """Returns the table of springs and couplings, which is made again when they are others."""
        pulling = [*self.springs, *self.couplings]
        if pulling != self._table.couplings:
            self._table = CouplingTable(pulling)
        return self._table

    def _describe_joints(self) -> None:
        laws, controllers = self._described
        self.joint_laws = [copy(law) for law in laws]
        self._joint_rows = JointRows(self.dynamics, self.joint_laws, self._joint_limits)
        if controllers:
            self.dynamics.prepare()  # controllers may read poses
        self._controllers = [controller.start(self.dynamics) for controller in controllers]
        self._body_rows = BodyRows(self.dynamics, self._controllers)
        self._numbers = PythonNumbers(self.dynamics, self._body_rows, self._joint_rows)
