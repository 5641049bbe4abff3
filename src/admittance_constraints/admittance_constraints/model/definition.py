"""Definition of a mechanism by a user: coordinates, energy, kinematics, constraints, forces.

`Mechanism.define` gets a `Definition`. It provides symbols (CasADi SX) and takes expressions in them; `system` derives
the equations of motion. There are two spaces (section II-A):

* q, the mechanism's n coordinates, and qdot;
* x, the six task coordinates of the tool: position (x1, x2, x3) [m] in the base frame and angles
  (x4, x5, x6) [rad] with R = Rz(x4) Rx(x6) Rz(x5), and xdot. `position`, `rotation` (body to space) and
  `angular_velocity` (body frame) describe the same motion without angles; constraints written with them alone
  have no Euler singularity.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import cast

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from admittance_constraints.checks import finite_number, finite_vector
from admittance_constraints.errors import MechanismError
from admittance_constraints.model import symbolic

#: dimension of the task space
TASK = 6


class Definition:
    """Definition of one mechanism.

    Attributes:
        x: task coordinates, shape (6,).
        xdot: velocities of x, shape (6,).
        position: x1, x2, x3, shape (3,).
        rotation: R, body to space, shape (3, 3).
        angular_velocity: angular velocity of the tool in its own frame, shape (3,) [rad/s].
        q, qdot: coordinates and velocities, shape (n,), once `coordinates` or `rigid_body` has been called.
        z: parameters of the holonomic submanifold, once `parameters` has been called.

    Examples:
        >>> from admittance_constraints import Definition, Mechanism
        >>> class Bead(Mechanism):  # 0.5 kg on a straight wire along x
        ...     def define(self, d: Definition) -> None:
        ...         q, qdot = d.coordinates(1)
        ...         d.forward([q])
        ...         d.inverse([d.x[0]])
        ...         d.kinetic_energy(0.5 * qdot**2 / 2)
        >>> Bead().inertia([0.0]).tolist()
        [[0.5]]
    """

    def __init__(self) -> None:
        self.x = ca.SX.sym("x", TASK)
        self.xdot = ca.SX.sym("xdot", TASK)
        self.position = self.x[:3]
        self.rotation = ca.SX.sym("R", 3, 3)
        self.angular_velocity = ca.SX.sym("omega", 3)
        self.q = ca.SX(0, 1)
        self.qdot = ca.SX(0, 1)
        self.z = ca.SX(0, 1)
        self.is_rigid_body = False
        self.phi: ca.SX | None = None
        self.psi: ca.SX | None = None
        self.inverse_map: ca.SX | None = None
        self.energy: ca.SX | None = None
        self.potential_energy = ca.SX(0)
        self.damping = ca.SX(0)
        self.applied = ca.SX(0)
        self.body_wrenches: list[ca.SX] = []
        self.holonomic_constraints: list[tuple[str, ca.SX]] = []
        self.nonholonomic_constraints: list[tuple[str, ca.SX]] = []
        self.parameter_symbols: list[ca.SX] = []
        self.parameter_values: dict[str, float] = {}
        self.nominal_q: np.ndarray | None = None
        self.nominal_z: np.ndarray | None = None

    # --- coordinates ---------------------------------------------------------------------------------------

    def coordinates(self, count: int) -> tuple[ca.SX, ca.SX]:
        """Declares n = count coordinates and returns the symbols (q, qdot), each of shape (n,)."""
        if self.q.numel():
            raise MechanismError("coordinates: declared twice")
        if not isinstance(count, (int, np.integer)) or not 1 <= count <= TASK:
            raise MechanismError(f"coordinates: expected 1 to {TASK} (dim(q) <= dim(x), eq. (2)), got {count!r}")
        self.q, self.qdot = ca.SX.sym("q", count), ca.SX.sym("qdot", count)
        return self.q, self.qdot

    def forward(self, phi: ca.SX | Sequence[ca.SX]) -> None:
        """Sets the kinematics x = phi(q), eq. (1); fewer than six rows are completed by zeros."""
        rows = _column("forward", phi)
        if rows.numel() > TASK:
            raise MechanismError(f"forward: expected at most {TASK} rows, got {rows.numel()}")
        self.phi = ca.vertcat(rows, ca.SX(TASK - rows.numel(), 1))

    def inverse(self, q_of_x: ca.SX | Sequence[ca.SX]) -> None:
        """Sets q = phi^-1(x), an expression in `x` for the start. Without it a nominal point is needed."""
        self.inverse_map = _column("inverse", q_of_x)

    def parameters(self, count: int) -> ca.SX:
        """Declares the parameters z of the holonomic submanifold (section II-G); returns the symbols."""
        if self.z.numel():
            raise MechanismError("parameters: declared twice")
        if not isinstance(count, (int, np.integer)) or count < 1:
            raise MechanismError(f"parameters: expected a whole number from 1, got {count!r}")
        self.z = ca.SX.sym("z", count)
        return self.z

    def parametrisation(self, psi: ca.SX | Sequence[ca.SX]) -> None:
        """Sets x = psi(z); fewer than six rows are completed by zeros.

        Without a parametrisation the configuration is kept on the submanifold by projection, and z is q.
        """
        rows = _column("parametrisation", psi)
        if rows.numel() > TASK:
            raise MechanismError(f"parametrisation: expected at most {TASK} rows, got {rows.numel()}")
        self.psi = ca.vertcat(rows, ca.SX(TASK - rows.numel(), 1))

    def nominal(self, *, q: ArrayLike | None = None, z: ArrayLike | None = None) -> None:
        """Sets a typical configuration: the checks sample around it, and the search for phi^-1 starts there."""
        self.nominal_q = self.nominal_q if q is None else finite_vector("nominal q", q, self.q.numel())
        self.nominal_z = self.nominal_z if z is None else finite_vector("nominal z", z, self.z.numel())

    def parameter(self, name: str, value: float) -> ca.SX:
        """Declares a parameter of the compiled code, so that a change of its value needs no compilation.

        Plain floats in expressions become constants of the compiled code.
        """
        if name in self.parameter_values:
            raise MechanismError(f"parameter {name}: declared twice")
        self.parameter_values[name] = finite_number(name, value)
        symbol = ca.SX.sym(name)
        self.parameter_symbols.append(symbol)
        return symbol

    # --- inertia -------------------------------------------------------------------------------------------

    def kinetic_energy(self, energy: ca.SX) -> None:
        """Adds kinetic energy T [J], an expression in q, qdot, xdot and angular_velocity."""
        stated = _one_expression("kinetic_energy", energy)
        self.energy = stated if self.energy is None else self.energy + stated

    def rigid_body(self, mass: ca.SX | float, inertia: Sequence[ca.SX | float] | ca.SX) -> None:
        """Declares that the mechanism is one rigid body with its tool point in the centre of mass: q = x, eq. (19).

        Args:
            mass: m [kg].
            inertia: J in the body frame [kg m^2], (Jxx, Jyy, Jzz) or a symmetric (3, 3) matrix.
        """
        q, _ = self.coordinates(TASK)
        self.is_rigid_body = True
        self.phi, self.inverse_map = q, self.x
        J = _inertia_matrix(inertia)
        omega = self.angular_velocity
        m = _one_expression("mass", mass)
        self.kinetic_energy(m * ca.sumsqr(self.xdot[:3]) / 2 + ca.dot(omega, ca.mtimes(J, omega)) / 2)

    # --- constraints ---------------------------------------------------------------------------------------

    def holonomic(self, name: str, expression: ca.SX) -> None:
        """Adds the constraint H'(x) = 0, eq. (8): an expression in x, position, rotation (and q if needed)."""
        self._check_name_is_free(name)
        self.holonomic_constraints.append((name, _one_expression(f"constraint {name}", expression)))

    def nonholonomic(self, name: str, expression: ca.SX) -> None:
        """Adds the constraint A'(x) xdot = 0, eq. (9): an expression linear in xdot, angular_velocity (and qdot)."""
        self._check_name_is_free(name)
        self.nonholonomic_constraints.append((name, _one_expression(f"constraint {name}", expression)))

    # --- forces --------------------------------------------------------------------------------------------

    def potential(self, energy: ca.SX) -> None:
        """Adds potential energy V [J] of springs or gravity; its force is -dV/dq (section II-E)."""
        self.potential_energy = self.potential_energy + _one_expression("potential", energy)

    def gravity(self, mass: ca.SX | float, point: ca.SX, acceleration: Sequence[float] = (0.0, 0.0, -9.81)) -> None:
        """Adds the weight of a mass [kg] at a point [m] of the base frame; acceleration in m/s^2."""
        field = finite_vector("gravity acceleration", acceleration, 3)
        self.potential(-mass * sum((float(field[i]) * point[i] for i in range(3)), ca.SX(0)))

    def damping_force(self, force: ca.SX | Sequence[ca.SX]) -> None:
        """Adds tau_d, shape (n,), an expression in q, qdot; it acts as -tau_d."""
        self.damping = self.damping + _column("damping_force", force)

    def applied_force(self, force: ca.SX | Sequence[ca.SX]) -> None:
        """Adds any other generalised force, shape (n,), an expression in q, qdot; it acts with its own sign."""
        self.applied = self.applied + _column("applied_force", force)

    def task_damping(self, translational: ca.SX | float, rotational: ca.SX | float) -> None:
        """Adds a damper on the tool, eq. (41): b_t [N s/m], b_r [N m s/rad], isotropic in the body frame."""
        v = ca.mtimes(self.rotation.T, self.xdot[:3])
        self.body_wrenches.append(-ca.vertcat(translational * v, rotational * self.angular_velocity))

    def task_spring(
        self,
        translational: ca.SX | float,
        rotational: ca.SX | float,
        *,
        position: ca.SX | Sequence[float],
        orientation: ca.SX | Sequence[float] = (0.0, 0.0, 0.0, 1.0),
    ) -> None:
        """Adds a spring on the tool, eq. (44), with (45), (46) in a form that is exact at every angle.

        Args:
            translational: k_t [N/m].
            rotational: k_r [N m/rad].
            position: p_o [m], base frame.
            orientation: R_o as a quaternion (x, y, z, w).
        """
        p_o = _column("task_spring position", position)
        R_o = symbolic.rotation_from_quaternion(_column("task_spring orientation", orientation))
        displacement = ca.mtimes(self.rotation.T, p_o - self.position)
        Q = symbolic.quaternion_from_rotation(ca.mtimes(self.rotation.T, R_o))
        self.body_wrenches.append(ca.vertcat(translational * displacement, rotational * symbolic.rotation_vector(Q)))

    # ---------------------------------------------------------------------------------------------------------

    def _check_name_is_free(self, name: str) -> None:
        if any(name == other for other, _ in self.holonomic_constraints + self.nonholonomic_constraints):
            raise MechanismError(f"constraint {name}: the name is taken")


def _expression(part: str, value: object) -> ca.SX:
    """Converts to an expression, or raises a MechanismError that names the part."""
    try:
        stated = ca.SX(value)
    except (NotImplementedError, TypeError):
        raise MechanismError(f"{part}: expected an expression in CasADi's symbols, got {value!r}") from None
    evaluate = ca.Function("stated", [ca.vertcat(ca.SX(0, 1), *ca.symvar(stated))], [stated])
    operations = range(evaluate.n_instructions())
    constants = [evaluate.instruction_constant(k) for k in operations if evaluate.instruction_id(k) == ca.OP_CONST]
    if any(map(math.isnan, constants)):
        raise MechanismError(f"{part}: expected an expression, got NaN; functions are CasADi's (ca.sin, not math.sin)")
    return stated


def _one_expression(part: str, value: object) -> ca.SX:
    stated = _expression(part, value)
    if stated.numel() != 1:
        raise MechanismError(f"{part}: expected one expression, got {stated.numel()}")
    return stated


def _column(part: str, value: object) -> ca.SX:
    """Makes a column of expressions."""
    if isinstance(value, (list, tuple)):
        return cast(ca.SX, ca.vertcat(*[_expression(part, element) for element in value]))
    return cast(ca.SX, ca.vec(_expression(part, value)))


def _inertia_matrix(inertia: Sequence[ca.SX | float] | ca.SX) -> ca.SX:
    """Makes the (3, 3) matrix from principal moments or from a full matrix."""
    if isinstance(inertia, (list, tuple)) and not any(isinstance(element, (list, tuple)) for element in inertia):
        J = _column("inertia", inertia)
    else:
        J = _expression("inertia", inertia if isinstance(inertia, ca.SX) else np.asarray(inertia))
    if J.shape == (3, 3):
        return J
    if J.numel() != 3:
        raise MechanismError(f"inertia: expected (Jxx, Jyy, Jzz) or a (3, 3) matrix, got {J.numel()} numbers")
    return cast(ca.SX, ca.diag(J))
