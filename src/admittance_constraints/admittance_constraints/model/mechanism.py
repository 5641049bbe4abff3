"""A mechanism: the definition by a user, the functions derived from it, and its checks (section II)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property

import casadi as ca
import numpy as np
import scipy
from numpy.typing import ArrayLike

from admittance_constraints import rotations
from admittance_constraints.checks import finite_vector
from admittance_constraints.errors import MechanismError, SingularConfigurationError
from admittance_constraints.model import consistency, symbolic
from admittance_constraints.model.definition import TASK, Definition
from admittance_constraints.model.drawing import MOVING, TRACK, Canvas
from admittance_constraints.model.system import System, about_pose, in_coordinates
from haptic_math.quantities import quaternion_length

#: largest number of Newton steps of phi^-1; each squares the error, so that it is enough wherever they converge
_NEWTON_LIMIT = 50
#: |H'| of a projected point that counts as rounding, in the units of the constraints
_KEPT = 1e-9
#: search for the point next to a pose: length per radian [m], starts beside the nominal one, cost that counts as zero
_METRES_PER_RADIAN, _STARTS, _SAME_COST = 0.1, 12, 1e-12


class Mechanism(ABC):
    """A mechanism under holonomic and nonholonomic constraints; a subclass defines it in `define`.

    The methods evaluate the paper's functions at given numbers. Shapes: n = `dimension`, m = number of
    `constraint_names`, nz = `parameter_dimension`. Multipliers and rows of A are in the order of
    `constraint_names`, holonomic constraints first. A mechanism has no state.

    Attributes:
        parameters: parameters of the compiled code, by name.
        constraint_names: names of the active constraints, holonomic first.
        dropped_constraints: names of the constraints whose row of A is zero for every q (after (10)).

    Raises:
        MechanismError: the definition contradicts itself; the message names the constraint or part.
        AttributeError: a parameter is assigned to later; a mechanism is fixed when it is made.

    Examples:
        >>> from admittance_constraints import Pendulum
        >>> mechanism = Pendulum(mass=0.5, length=0.2)
        >>> q = mechanism.configuration([0.0])
        >>> mechanism.inertia(q).shape
        (1, 1)
    """

    definition: Definition
    system: System
    parameters: dict[str, float]
    constraint_names: tuple[str, ...]
    dropped_constraints: tuple[str, ...]
    dimension: int
    holonomic_count: int
    has_parametrisation: bool
    parameter_dimension: int

    def __init__(self) -> None:
        own = frozenset(vars(self))
        for name in own:
            if hasattr(Mechanism, name) or name in Mechanism.__annotations__:
                raise MechanismError(f"attribute {name}: the name belongs to Mechanism; choose another one")
        d = Definition()
        self.define(d)
        consistency.check_definition(d)
        self.definition = d
        everything = in_coordinates(d)
        kept = consistency.nonzero_constraints(d, everything)
        self.dropped_constraints = tuple(name for name in everything.names if name not in kept)
        self.system = in_coordinates(d, kept) if self.dropped_constraints else everything
        self.parameters = dict(d.parameter_values)
        self.constraint_names = self.system.names
        self.dimension = int(d.q.numel())
        self.holonomic_count = int(self.system.holonomic.numel())
        self.has_parametrisation = d.psi is not None
        self.parameter_dimension = int(d.z.numel()) if self.has_parametrisation else self.dimension
        consistency.check_mechanism(self)
        self._fixed = own

    def __setattr__(self, name: str, value: object) -> None:
        if name in self.__dict__.get("_fixed", ()):
            kind = type(self).__name__
            raise AttributeError(f"{name}: fixed when a {kind} is made; expected a new {kind}")
        super().__setattr__(name, value)

    def __repr__(self) -> str:
        if "_fixed" not in self.__dict__:
            return f"{type(self).__name__}(without super().__init__())"
        parameters = "".join(f"{name}={value:g}; " for name, value in self.parameters.items())
        return f"{type(self).__name__}({parameters}constraints: {', '.join(self.constraint_names) or 'none'})"

    @abstractmethod
    def define(self, d: Definition) -> None:
        """Defines coordinates, energy, kinematics, constraints and forces."""

    def draw(self, canvas: Canvas, q: np.ndarray) -> None:
        """Draws the mechanism at q (n,) in its spatial frame; the default is the tool and its trail."""
        p = self.forward(q)[:3]
        canvas.sphere("tool", p, 0.006, MOVING)
        canvas.trail("trail", p, 0.001, TRACK)

    # --- the paper's functions ------------------------------------------------------------------------------

    def inertia(self, q: ArrayLike) -> np.ndarray:
        """Evaluates M(q), eq. (5), shape (n, n)."""
        return self._evaluate("inertia", q)

    def coriolis_matrix(self, q: ArrayLike, qdot: ArrayLike) -> np.ndarray:
        """Evaluates C(q, qdot) by Christoffel symbols, eqs. (6), (7), shape (n, n)."""
        return self._evaluate("coriolis", q, qdot)

    def coriolis_force(self, q: ArrayLike, qdot: ArrayLike) -> np.ndarray:
        """Evaluates C(q, qdot) qdot, shape (n,)."""
        return self._evaluate("coriolis_force", q, qdot).ravel()

    def constraint_matrix(self, q: ArrayLike) -> np.ndarray:
        """Evaluates A(q) of A qdot = 0, eqs. (4), (10), shape (m, n)."""
        return self._evaluate("constraint_matrix", q)

    def constraint_matrix_rate(self, q: ArrayLike, qdot: ArrayLike) -> np.ndarray:
        """Evaluates dA/dt along qdot, shape (m, n)."""
        return self._evaluate("constraint_matrix_rate", q, qdot)

    def holonomic_residual(self, q: ArrayLike) -> np.ndarray:
        """Evaluates H'(phi(q)), eq. (8), shape (b,), in the units of the constraints."""
        return self._evaluate("holonomic", q).ravel()

    def kinetic_energy(self, q: ArrayLike, qdot: ArrayLike) -> float:
        """Evaluates T(q, qdot) [J]."""
        return float(self._evaluate("kinetic_energy", q, qdot)[0, 0])

    def potential_energy(self, q: ArrayLike) -> float:
        """Evaluates V(q) [J] of the stated potentials (gravity, springs in coordinates)."""
        return float(self._evaluate("potential_energy", q)[0, 0])

    def passive_force(self, q: ArrayLike, qdot: ArrayLike) -> np.ndarray:
        """Evaluates -tau_d - tau_s - g (section II-E) and all other stated forces, shape (n,)."""
        return self._evaluate("passive_force", q, qdot).ravel()

    def forward(self, q: ArrayLike) -> np.ndarray:
        """Evaluates x = phi(q), eq. (1), shape (6,): position [m] and angles [rad], see `definition`."""
        return self._evaluate("x", q).ravel()

    def task_jacobian(self, q: ArrayLike) -> np.ndarray:
        """Evaluates dphi/dq, shape (6, n)."""
        return self._evaluate("task_jacobian", q)

    def task_bias(self, q: ArrayLike, qdot: ArrayLike) -> np.ndarray:
        """Evaluates qdot^T (d2phi/dq2) qdot of (14), shape (6,)."""
        return self._evaluate("task_bias", q, qdot).ravel()

    def twist(self, q: ArrayLike, qdot: ArrayLike) -> np.ndarray:
        """Evaluates [velocity; angular velocity] of the tool in the base frame, shape (6,) [m/s; rad/s]."""
        return self._evaluate("twist_jacobian", q) @ finite_vector("qdot", qdot, self.dimension)

    def orientation(self, q: ArrayLike) -> np.ndarray:
        """Evaluates the quaternion (x, y, z, w) of the tool, base frame."""
        return self._evaluate("orientation", q).ravel()

    def task_force(self, wrench: ArrayLike, q: ArrayLike) -> np.ndarray:
        """Converts a wrench on the tool to f_x, dual to the task coordinates.

        Args:
            wrench: [force; moment] on the tool at the tool point, base frame, shape (6,) [N; N m].
            q: coordinates, shape (n,).

        Returns:
            f_x, shape (6,): the force, and the moment's power per rate of x4, x5, x6.
        """
        w = finite_vector("wrench", wrench, TASK)
        return np.concatenate([w[:3], self._evaluate("angle_jacobian", q).T @ w[3:]])

    def generalised_force(self, task_force: ArrayLike, q: ArrayLike) -> np.ndarray:
        """Evaluates f_q = (dphi/dq)^T f_x, eq. (2), shape (n,)."""
        return self.task_jacobian(q).T @ finite_vector("task_force", task_force, TASK)

    # --- the submanifold ------------------------------------------------------------------------------------

    def parametric(self, z: ArrayLike) -> np.ndarray:
        """Evaluates x = psi(z), shape (6,); phi(z) for a mechanism without psi."""
        return self._evaluate_z("psi", z).ravel()

    def parametric_jacobian(self, z: ArrayLike) -> np.ndarray:
        """Evaluates dpsi/dz, shape (6, nz)."""
        return self._evaluate_z("psi_jacobian", z)

    def parametric_bias(self, z: ArrayLike, zdot: ArrayLike) -> np.ndarray:
        """Evaluates zdot^T (d2psi/dz2) zdot of (15), shape (6,)."""
        return self._evaluate_z("psi_bias", z, zdot).ravel()

    def configuration(self, z: ArrayLike, guess: ArrayLike | None = None) -> np.ndarray:
        """Computes q = phi^-1(psi(z)), shape (n,); without psi this is z itself, checked against H'.

        Args:
            z: parameters, shape (nz,).
            guess: start of the search, shape (n,); the stated inverse or the nominal point if not given.

        Raises:
            ValueError: there is no psi, and z violates a holonomic constraint; the message names it.
            SingularConfigurationError: phi(q) = psi(z) has no solution near the guess.
        """
        start = finite_vector("z", z, self.parameter_dimension)
        if not self.has_parametrisation:
            residual = self.holonomic_residual(start)
            for name, value in zip(self.constraint_names, residual, strict=False):
                if not abs(value) < 1e-6:
                    raise ValueError(
                        f"z: constraint {name} is violated by {value:.3g}; project_position(q) gives a point near by"
                    )
            return start.copy()
        x = self.parametric(start)
        if guess is not None:
            q = finite_vector("guess", guess, self.dimension).copy()
        elif self.definition.inverse_map is not None:
            q = self._evaluate_x("inverse", x).ravel()
            if not np.isfinite(q).all():
                raise SingularConfigurationError(f"phi^-1 does not exist at z = {start}: the tool cannot reach x = {x}")
        else:
            q = consistency.nominal_q(self.definition).copy()
        for _ in range(_NEWTON_LIMIT):
            error = x - self.forward(q)
            step, *_ = np.linalg.lstsq(self.task_jacobian(q), error, rcond=1e-13)
            q = q + step / max(1.0, float(np.abs(step).max()))  # never further than 1 m or 1 rad at once
            if np.abs(step).max() <= 1e-15 * max(1.0, float(np.abs(q).max())):
                break
        if not np.abs(x - self.forward(q)).max() <= 1e-9 * max(1.0, float(np.abs(x).max())):
            raise SingularConfigurationError(f"phi(q) = psi(z) has no solution near the guess, for z = {start}")
        return q

    def project_position(self, q: ArrayLike) -> np.ndarray:
        """Finds the point of H' = 0 next to q by Newton steps of least kinetic energy, shape (n,).

        Raises:
            SingularConfigurationError: the search does not converge.
        """
        point = finite_vector("q", q, self.dimension).copy()
        for _ in range(_NEWTON_LIMIT):
            H = self.holonomic_residual(point)
            if not H.size or np.abs(H).max() == 0.0:
                return point
            A = self.constraint_matrix(point)[: self.holonomic_count]
            if not np.isfinite(A).all():
                break
            W = np.linalg.solve(self.inertia(point), A.T)
            step = W @ np.linalg.lstsq(A @ W, -H, rcond=1e-13)[0]
            point = point + step / max(1.0, float(np.abs(step).max()))  # never further than 1 m or 1 rad at once
            if np.abs(step).max() <= 1e-15 * max(1.0, float(np.abs(point).max())):
                if np.abs(self.holonomic_residual(point)).max() <= _KEPT:
                    return point
                break  # the rows of A vanish before H' does
        raise SingularConfigurationError(f"the holonomic constraints have no solution near q = {point}")

    def project_velocity(self, q: ArrayLike, qdot: ArrayLike) -> np.ndarray:
        """Projects qdot onto A qdot = 0 with the least kinetic energy, as an impulse does, shape (n,)."""
        v = finite_vector("qdot", qdot, self.dimension)
        A = self.constraint_matrix(q)
        W = np.linalg.solve(self.inertia(q), A.T)
        return v - W @ np.linalg.solve(A @ W, A @ v)

    def nearest_parameters(self, position: ArrayLike, orientation: ArrayLike) -> np.ndarray:
        """Finds z of the point of the submanifold next to a pose of the tool, shape (nz,).

        The search minimises the squared error of the pose, where a radian counts as 0.1 m, from the nominal point and
        from points around it. Of several points at the same distance the first is taken. Without psi the search is
        over q, and its result is projected by `project_position`; if that fails, its start is projected.

        Args:
            position: position of the tool [m], base frame, shape (3,).
            orientation: orientation of the tool, unit quaternion (x, y, z, w).

        Raises:
            ValueError: wrong shape, a number that is not finite, or no unit quaternion.
            SingularConfigurationError: there is no psi, and no point is found.
        """
        quaternion_length("orientation", finite_vector("orientation", orientation, 4), unit=True)
        p, R = finite_vector("position", position, 3), rotations.rotation_from_quaternion(orientation)
        weights = np.repeat([1.0, _METRES_PER_RADIAN], 3)

        def error(z: np.ndarray) -> np.ndarray:
            x = self.parametric(z)
            R_error = R.T @ rotations.rotation_from_angles(x[3:])
            return np.asarray(weights * np.concatenate([x[:3] - p, R @ rotations.rotation_vector(R_error)]))

        def jacobian(z: np.ndarray) -> np.ndarray:
            J = self.parametric_jacobian(z)
            return weights[:, None] * np.vstack([J[:3], rotations.angle_jacobian(self.parametric(z)[3:]) @ J[3:]])

        d = self.definition
        nominal = consistency.nominal_z(d) if self.has_parametrisation else consistency.nominal_q(d)
        offsets = np.random.default_rng(0).uniform(-np.pi, np.pi, (_STARTS, nominal.size))
        nearest, least = None, np.inf
        for start in (nominal, *(nominal + offsets)):
            z = scipy.optimize.least_squares(error, start, jacobian, method="lm").x
            if not self.has_parametrisation:
                z = self._projected(z, start)
            if z is None:
                continue
            e = error(z)
            cost = 0.5 * float(e @ e)
            if cost < least - _SAME_COST:
                nearest, least = z, cost
            if least <= _SAME_COST:
                break
        if nearest is None:
            raise SingularConfigurationError(f"the holonomic constraints have no solution near the tool at {p}")
        return np.asarray(nearest)

    def _projected(self, *points: np.ndarray) -> np.ndarray | None:
        """Projects the first of some points that can be projected; None if none can."""
        for point in points:
            try:
                return self.project_position(point)
            except (SingularConfigurationError, np.linalg.LinAlgError):
                continue
        return None

    @cached_property
    def pose_system(self) -> System:
        """System of the mechanism in coordinates about a pose, where no orientation is singular."""
        return about_pose(self.definition, set(self.constraint_names))

    # --- numbers --------------------------------------------------------------------------------------------

    @property
    def parameter_vector(self) -> np.ndarray:
        """Values of the run-time parameters, in the order of the system's symbols."""
        return np.array([self.parameters[name] for name in self.definition.parameter_values], dtype=float)

    @cached_property
    def _functions(self) -> dict[str, ca.Function]:
        s, d = self.system, self.definition
        arguments = [s.q, s.qdot, s.parameters]
        names = (
            *("inertia", "coriolis", "coriolis_force", "constraint_matrix", "constraint_matrix_rate", "holonomic"),
            *("kinetic_energy", "potential_energy", "passive_force", "x", "task_jacobian", "task_bias"),
            *("twist_jacobian", "orientation"),
        )
        functions = {name: ca.Function(name, arguments, [getattr(s, name)]) for name in names}
        angles = s.x[3:]
        E = ca.mtimes(symbolic.rotation_from_angles(angles), symbolic.body_rates(angles))
        functions["angle_jacobian"] = ca.Function("angle_jacobian", arguments, [E])
        z, zdot, psi = self.parametric_symbols
        J = ca.jacobian(psi, z)
        of_z = [z, zdot, s.parameters]
        functions["psi"] = ca.Function("psi", of_z, [psi])
        functions["psi_jacobian"] = ca.Function("psi_jacobian", of_z, [J])
        functions["psi_bias"] = ca.Function("psi_bias", of_z, [symbolic.along(ca.mtimes(J, zdot), z, zdot)])
        if d.inverse_map is not None:
            functions["inverse"] = ca.Function("inverse", [d.x, s.parameters], [d.inverse_map])
        return functions

    @cached_property
    def parametric_symbols(self) -> tuple[ca.SX, ca.SX, ca.SX]:
        """Symbols z, zdot and the expression psi(z)."""
        d = self.definition
        if d.psi is not None:
            return d.z, ca.SX.sym("zdot", d.z.numel()), d.psi
        return self.system.q, self.system.qdot, self.system.x

    def _evaluate(self, name: str, q: ArrayLike, qdot: ArrayLike | None = None) -> np.ndarray:
        v = np.zeros(self.dimension) if qdot is None else finite_vector("qdot", qdot, self.dimension)
        return self._call(name, finite_vector("q", q, self.dimension), v, self.parameter_vector)

    def _evaluate_z(self, name: str, z: ArrayLike, zdot: ArrayLike | None = None) -> np.ndarray:
        v = (
            np.zeros(self.parameter_dimension)
            if zdot is None
            else finite_vector("zdot", zdot, self.parameter_dimension)
        )
        return self._call(name, finite_vector("z", z, self.parameter_dimension), v, self.parameter_vector)

    def _evaluate_x(self, name: str, x: np.ndarray) -> np.ndarray:
        return self._call(name, x, self.parameter_vector)

    def _call(self, name: str, *arguments: np.ndarray) -> np.ndarray:
        return np.asarray(self._functions[name](*arguments).full())


def checked_mechanism(mechanism: object) -> Mechanism:
    """Returns the mechanism; raises ValueError that names the argument if it is none, or is not complete."""
    if not isinstance(mechanism, Mechanism):
        raise ValueError(f"mechanism: expected a mechanism such as RollingDisk(), got {mechanism!r}")
    if "parameters" not in vars(mechanism):
        raise ValueError(f"mechanism: expected {type(mechanism).__name__}.__init__ to call super().__init__()")
    return mechanism
