"""The reference that an admittance display follows: Algorithm 1 as an object with state.

Each period takes the force on the tool and returns the reference x_r, its velocity, and the feedforward acceleration.
The step is machine code; `algorithm1` has the same algorithm in readable form. The feedback of (17), (18) is in
`display.feedback`, the correction of the measured force in `display.end_effector`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from admittance_constraints import rotations
from admittance_constraints.checks import finite_matrix, finite_number, finite_vector
from admittance_constraints.dynamics import kernels
from admittance_constraints.dynamics.chart import FORCE
from admittance_constraints.dynamics.compiled import Step
from admittance_constraints.dynamics.integrators import RULES
from admittance_constraints.dynamics.kernels import Layout
from admittance_constraints.errors import SingularConfigurationError
from admittance_constraints.generation.friction import FreeDirectionFriction
from admittance_constraints.generation.reference import GeneratorState, Reference, Trajectory
from admittance_constraints.generation.start import consistent_velocity, nominal_parameters
from admittance_constraints.model.definition import TASK
from admittance_constraints.model.mechanism import Mechanism, checked_mechanism

#: relative pivot below which equations count as singular: four of 16 digits are left
_SINGULAR = 1e-12
#: jump of the tool [m], [rad] that counts as rounding of its state
_UNMOVED = 1e-6

_EQUATIONS = (
    "the inertia M is singular (for angles: sin q6 = 0; orientation='quaternion' has no such point)",
    "the constraints {names} are dependent",
    "the parametrisation dpsi/dz is singular",
    "the configuration after the step is not found: dphi/dq (or dH/dq) is singular, as in a stretched linkage, or the "
    "step is too large",
)


class ReferenceGenerator:
    """Algorithm 1 for one mechanism.

    Args:
        mechanism: rendered mechanism.
        period: T [s].
        z: start, shape (nz,); the mechanism's nominal point, or zero, if not given.
        z_velocity: velocity of z at the start, shape (nz,); zero if not given. A velocity that violates a nonholonomic
            constraint is projected onto it, unless velocity_projection is off, with a warning if the change is more
            than rounding.
        q: configuration near which phi^-1(psi(z)) is searched for, shape (n,).
        integrator: "rk4", "midpoint" (variational, implicit, order 2), "symplectic_euler", or "algorithm1", the
            paper's line 11, of order one. If not given, "rk4", and with friction "algorithm1".
        velocity_projection: projection of the velocity after each step onto A qdot = 0. "orthogonal" removes the
            integration error of A qdot with the least kinetic energy. "symmetric" (True, the default) also applies the
            constraint impulse of "algorithm1" and "symplectic_euler" along the rows of A at the middle of the step. A
            rotating constraint then does no work. Quaternions and friction use "orthogonal" instead. "off" (False) is
            the form of the paper, whose rolling constraint drifts.
        orientation: "euler" integrates the mechanism's coordinates; "quaternion" integrates a rigid body's pose,
            which has no singular orientation, and a projection keeps it on the submanifold.
        force_hold: "zero" holds the force over the period, and its constrained part rotates with the constraints.
            "linear" extrapolates it from the last two, which makes "midpoint" and "rk4" accurate to second order for
            a changing force, and amplifies its noise. Rules of order one only use the force at the beginning.
        friction: friction elements on the free directions, see `friction`; with "algorithm1" and
            "symplectic_euler" only.
        compiled: True for machine code, False for CasADi's virtual machine.

    Raises:
        ValueError: an argument is out of its range; the message names it.
        SingularConfigurationError: the mechanism cannot start there.

    Examples:
        >>> from admittance_constraints import ReferenceGenerator, RollingDisk
        >>> generator = ReferenceGenerator(RollingDisk(), period=1e-3)
        >>> reference = generator.step([0.0] * 6)  # no force: the disk stays
        >>> float(abs(reference.q_velocity).max())
        0.0
    """

    def __init__(
        self,
        mechanism: Mechanism,
        *,
        period: float = 1e-3,
        z: ArrayLike | None = None,
        z_velocity: ArrayLike | None = None,
        q: ArrayLike | None = None,
        integrator: str | None = None,
        velocity_projection: str | bool = True,
        orientation: str = "euler",
        force_hold: str = "zero",
        friction: FreeDirectionFriction | None = None,
        compiled: bool = True,
    ) -> None:
        _one_of("orientation", orientation, ("euler", "quaternion"))
        if integrator is None:
            integrator = "rk4" if friction is None else "algorithm1"
        _one_of("integrator", integrator, tuple(RULES))
        _one_of("force_hold", force_hold, ("zero", "linear"))
        if friction is not None and integrator not in ("algorithm1", "symplectic_euler"):
            raise ValueError(f"friction: expected integrator algorithm1 or symplectic_euler with it, got {integrator}")
        if not isinstance(friction, (FreeDirectionFriction, type(None))):
            raise ValueError(f"friction: expected FreeDirectionFriction(translation=...) or None, got {friction!r}")
        self.mechanism = checked_mechanism(mechanism)
        self._period = finite_number("period", period, above=0.0)
        self.integrator = integrator
        if isinstance(velocity_projection, (bool, np.bool_)):
            velocity_projection = "symmetric" if velocity_projection else "off"
        _one_of("velocity_projection", velocity_projection, ("symmetric", "orthogonal", "off"))
        if friction is not None and velocity_projection == "symmetric":
            velocity_projection = "orthogonal"
        self.velocity_projection = velocity_projection
        self.orientation = orientation
        self.force_hold = force_hold
        self.friction = friction
        self._about_pose = orientation == "quaternion"
        self._freedoms = mechanism.dimension - len(mechanism.constraint_names)
        built = kernels.step_function(
            mechanism,
            integrator=integrator,
            projection=self.velocity_projection,
            about_pose=self._about_pose,
            hold=self.force_hold,
            with_response=friction is not None,
        )
        self._states: Layout = built.state
        self._slices = built.result.slices
        self._step = Step(
            built.function,
            checksum=self._slices["checksum"].start,
            health=self._slices["health"].start,
            threshold=_SINGULAR,
            compiled=compiled,
        )
        self._step.parameters[:] = np.concatenate([[self.period], mechanism.parameter_vector])
        self._no_friction = np.zeros(TASK)
        self._no_friction.setflags(write=False)
        self.reset(z=z, z_velocity=z_velocity, q=q)

    def __repr__(self) -> str:
        options = f"period={self.period:g}, integrator={self.integrator!r}, orientation={self.orientation!r}"
        return f"ReferenceGenerator({self.mechanism!r}, {options}, steps={self.steps})"

    @property
    def period(self) -> float:
        """T [s], fixed when the generator is made."""
        return self._period

    @property
    def is_compiled(self) -> bool:
        """True if the steps are compiled to machine code; otherwise CasADi interprets them."""
        return self._step.is_compiled

    # --- state ----------------------------------------------------------------------------------------------

    def reset(
        self, *, z: ArrayLike | None = None, z_velocity: ArrayLike | None = None, q: ArrayLike | None = None
    ) -> None:
        """Starts again (line 1 of Algorithm 1); the arguments are those of the class.

        Raises:
            ValueError: wrong shape, or a number that is not finite; the state is unchanged.
            SingularConfigurationError: the mechanism cannot start there; the state is unchanged.
        """
        m = self.mechanism
        if z is None:
            z = nominal_parameters(m, q)
        start = finite_vector("z", z, m.parameter_dimension)
        rate = np.zeros(m.parameter_dimension)
        if z_velocity is not None:
            rate = finite_vector("z_velocity", z_velocity, m.parameter_dimension)
        configuration = m.configuration(start, q)
        velocity = np.linalg.lstsq(m.task_jacobian(configuration), m.parametric_jacobian(start) @ rate, rcond=None)[0]
        rate, velocity = consistent_velocity(
            m, start, configuration, rate.copy(), velocity, is_projected=self.velocity_projection != "off"
        )
        vector = np.zeros(self._states.size)
        if self._about_pose:
            twist = m.twist(configuration, velocity)
            Q = m.orientation(configuration)
            body = rotations.rotation_from_quaternion(Q).T @ twist[3:]
            pose, rates = np.concatenate([configuration[:3], Q]), np.concatenate([twist[:3], body])
            values = {"pose": pose, "twist": rates, "x": configuration, "z": start}
        else:
            values = {"z": start, "z_velocity": rate, "q": configuration, "q_velocity": velocity}
        for name, value in values.items():
            vector[self._states.slices[name]] = value
        self._vector = vector
        self._previous_force: np.ndarray | None = None
        self._still: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None
        self.steps = 0

    @property
    def state(self) -> GeneratorState:
        """Copy of the state, for `restore`."""
        force = None if self._previous_force is None else self._previous_force.copy()
        return GeneratorState(self._vector.copy(), force, self.steps)

    def restore(self, state: GeneratorState) -> None:
        """Returns to a state: the steps that follow repeat to the last bit.

        Raises:
            ValueError: the state belongs to another mechanism or chart.
        """
        if not isinstance(state, GeneratorState):
            raise ValueError(f"state: expected an earlier value of `state`, got {state!r}")
        vector = finite_vector("state", state.vector, self._states.size)
        self._vector = vector.copy()
        self._still = None
        self._previous_force = None if state.force is None else state.force.copy()
        self.steps = state.steps

    def agrees_with(self, other: ReferenceGenerator) -> bool:
        """Returns whether this generator can continue from the state of another one without a jump of the tool."""
        state, m = other.state, self.mechanism
        if self._states.size != state.vector.size:
            return False
        q = state.vector[self._states.slices["x" if self._about_pose else "q"]]
        try:
            due = m.configuration(state.vector[self._states.slices["z"]], q)
        except (ValueError, SingularConfigurationError):
            return False
        jump = max(np.abs(due - q).max(), np.abs(m.forward(q) - other.mechanism.forward(q)).max())
        return bool(jump <= _UNMOVED)

    @property
    def pose(self) -> tuple[np.ndarray, np.ndarray]:
        """Position (3,) [m] and unit quaternion (x, y, z, w) of the tool, base frame."""
        slices, vector, m = self._states.slices, self._vector, self.mechanism
        if self._about_pose:
            return vector[slices["pose"]][:3].copy(), vector[slices["pose"]][3:].copy()
        q = vector[slices["q"]]
        return m.forward(q)[:3], m.orientation(q)

    @property
    def task_position(self) -> np.ndarray:
        """Task coordinates x (6,) of the tool [m], [rad]."""
        return self.mechanism.forward(self._vector[self._states.slices["x" if self._about_pose else "q"]])

    def stop(self) -> None:
        """Sets all velocities to zero; the configuration stays the same to the last bit."""
        for name in ("z_velocity", "q_velocity", "twist"):
            if name in self._states.slices:
                self._vector[self._states.slices[name]] = 0.0
        self._previous_force = None

    @property
    def time(self) -> float:
        """Number of steps times the period [s]."""
        return self.steps * self.period

    # --- stepping -------------------------------------------------------------------------------------------

    def step(self, task_force: ArrayLike | None = None, *, wrench: ArrayLike | None = None) -> Reference:
        """Advances one period under a force that is one of the arguments or the sum of both.

        Args:
            task_force: f_x of the user on the tool, shape (6,), dual to the task coordinates x [N; N m].
            wrench: [force; moment] on the tool at the tool point in the base frame, shape (6,) [N; N m]; exact also
                where angles are singular.

        Raises:
            ValueError: wrong shape, or a number that is not finite; the state is unchanged.
            SingularConfigurationError: the equations are singular here; the state is unchanged.
        """
        force = self._force(task_force, wrench)
        step = self._step
        step.state[:] = self._vector
        step.start[:] = force
        if self.force_hold == "linear" and self._previous_force is not None:
            step.end[:] = 2.0 * force - self._previous_force
        else:
            step.end[:] = force
        step.run()
        if not step.is_good():
            raise self._singular()
        if self.friction is not None:
            return self._step_with_friction(force)
        self._vector[:] = step.new_state
        self._previous_force = force
        self.steps += 1
        return Reference(step.result.copy(), self._slices, self._no_friction, False)

    def simulate(
        self, task_forces: ArrayLike | None = None, *, wrenches: ArrayLike | None = None, every: int = 1
    ) -> Trajectory:
        """Advances over rows of inputs in one compiled loop, with the same numbers as calls of `step`.

        Args:
            task_forces: f_x, shape (steps, 6); see `step`.
            wrenches: [force; moment], shape (steps, 6); see `step`.
            every: each `every`-th result is kept.

        Raises:
            ValueError: as in `step`; also for quaternions with task_forces and for friction, which need Python between
                steps.
            SingularConfigurationError: as in `step`, with the step's number; the state is that before the call.
        """
        if self.friction is not None:
            raise ValueError("friction: expected none in simulate; call step")
        if task_forces is None and wrenches is None:
            raise ValueError("task_forces: expected task_forces, wrenches or both, got neither")
        if self._about_pose and task_forces is not None:
            raise ValueError("task_forces: expected wrenches with orientation='quaternion' in simulate")
        rows = np.asarray(wrenches if task_forces is None else task_forces).shape[:1]
        start = np.zeros((*rows, FORCE) if rows else (1, FORCE))
        for name, value, part in (("task_forces", task_forces, slice(TASK)), ("wrenches", wrenches, slice(TASK, None))):
            if value is not None:
                start[:, part] = finite_matrix(name, value, (len(start), TASK))
        if not isinstance(every, (int, np.integer)) or every < 1:
            raise ValueError(f"every: expected 1 or more, a whole number, got {every!r}")
        end = start.copy()
        if self.force_hold == "linear":
            end[1:] = 2.0 * start[1:] - start[:-1]
            if len(start) and self._previous_force is not None:
                end[0] = 2.0 * start[0] - self._previous_force
        vector = self._vector.copy()
        good, results = self._step.simulate(vector, start, end, every)
        if good < len(start):
            raise self._singular(f" in step {good} of {len(start)}")
        self._vector = vector
        if len(start):
            self._previous_force = start[-1].copy()
        self.steps += len(start)
        return Trajectory(results, self._slices)

    # --- parts ----------------------------------------------------------------------------------------------

    def _force(self, task_force: ArrayLike | None, wrench: ArrayLike | None) -> np.ndarray:
        force = np.zeros(FORCE)
        if task_force is None and wrench is None:
            raise ValueError("task_force: expected task_force, wrench or both, got neither")
        if task_force is not None:
            force[:TASK] = finite_vector("task_force", task_force, TASK)
        if wrench is not None:
            force[TASK:] = finite_vector("wrench", wrench, TASK)
        if self._about_pose and task_force is not None:
            force[TASK:] += self._wrench_of(force[:TASK])
            force[:TASK] = 0.0
        return force

    def _wrench_of(self, task_force: np.ndarray) -> np.ndarray:
        """Converts f_x to the wrench of the same power: its moment is E^-T f_x[3:], which needs regular angles."""
        if not task_force[3:].any():
            return task_force
        x = self._vector[self._states.slices["x"]]
        E = rotations.angle_jacobian(x[3:])
        if abs(np.sin(x[5])) < 1e-9:
            raise SingularConfigurationError("task_force: f_x has no moment at sin x6 = 0; give the wrench")
        return np.concatenate([task_force[:3], np.linalg.solve(E.T, task_force[3:])])

    def _step_with_friction(self, force: np.ndarray) -> Reference:
        """Repeats the step with the friction force that follows from the step without friction."""
        assert self.friction is not None
        step, s = self._step, self._slices
        free = step.result.copy()
        nz = s["mobility"].stop - s["mobility"].start
        nz //= TASK
        if self._about_pose:
            velocity = self._vector[self._states.slices["twist"]]
        else:
            velocity = self._vector[self._states.slices["z_velocity"]]
        acceleration = self._free_acceleration(free)
        found = self.friction.solve(
            velocity + self.period * acceleration,
            free[s["mobility"]].reshape(nz, TASK),
            free[s["twist_per_z_velocity"]].reshape(TASK, nz),
            self.period,
            self._freedoms,
        )
        step.state[:] = self._vector
        step.start[:] = force
        step.start[TASK:] += found.wrench  # [force; moment], base frame
        step.end[:] = step.start
        step.run()
        if not step.is_good():
            raise self._singular()
        result = step.result.copy()
        new = step.new_state.copy()
        if found.at_rest:
            self._stop(new, result, velocity)
        else:
            self._still = None
        self._vector = new
        self._previous_force = force
        self.steps += 1
        return Reference(result, s, found.wrench, found.sticking, found.converged)

    def _free_acceleration(self, result: np.ndarray) -> np.ndarray:
        if self._about_pose:
            R = rotations.rotation_from_quaternion(self._vector[self._states.slices["pose"]][3:])
            rate = result[self._slices["twist_rate"]]
            return np.concatenate([rate[:3], R.T @ rate[3:]])
        return result[self._slices["z_acceleration"]]

    def _stop(self, new: np.ndarray, result: np.ndarray, velocity: np.ndarray) -> None:
        """Sets the velocities to exactly zero, and keeps the configuration to the last bit if it was at rest before."""
        states, s = self._states.slices, self._slices
        for name in ("z_velocity", "q_velocity", "x_velocity", "twist", "velocity_residual", "kinetic_energy"):
            result[s[name]] = 0.0
        for name in ("z_velocity", "q_velocity", "twist"):
            if name in states:
                new[states[name]] = 0.0
        if not velocity.any():
            new[:] = self._vector
            result[s["z"]] = new[states["z"]]
            if self._still is None:  # a configuration at rest is output with the same last bit
                q = new[states["x" if self._about_pose else "q"]]
                pose = new[states["pose"]][3:] if self._about_pose else self.mechanism.orientation(q)
                x = q if self._about_pose else self.mechanism.forward(q)
                self._still = (q.copy(), x.copy(), pose.copy())
            result[s["q"]], result[s["x"]], result[s["orientation"]] = self._still
            for name in ("z_acceleration", "q_acceleration", "x_acceleration", "twist_rate"):
                result[s[name]] = 0.0

    def _singular(self, where: str = "") -> SingularConfigurationError:
        healths = self._step.result[self._slices["healths"]]
        names = ", ".join(self.mechanism.constraint_names)
        for text, health in zip(_EQUATIONS, healths, strict=True):
            if not health > _SINGULAR:
                return SingularConfigurationError(f"{text.format(names=names)}{where}; the state is unchanged")
        return SingularConfigurationError(f"the step gives numbers that are not finite{where}; the state is unchanged")


def _one_of(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ValueError(f"{name}: expected one of {', '.join(choices)}, got {value!r}")
