"""Functions of a mechanism's state in one chart: accelerations, submanifold, output.

A chart is either the mechanism's own coordinates or, for a rigid body, coordinates about its present pose. It has three
groups of functions of the state (z, zdot, q, qdot) and the parameters p = (period, ...):

* accelerations: eqs. (11) to (16) under the force (f_x; wrench);
* state_after: q = phi^-1(psi(z)) and qdot = (dphi/dq)^+ (dpsi/dz) zdot, lines 12 and 14 of Algorithm 1, and the
  projection onto A qdot = 0 if it is chosen; without psi, z = q is projected onto H' = 0 first;
* output: x, twist, energies, residuals.

`integrators` combines them into integration rules, `kernels` into time steps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import casadi as ca

from admittance_constraints.model import symbolic
from admittance_constraints.model.definition import TASK
from admittance_constraints.model.mechanism import Mechanism

#: f_x (6) and the wrench [force; moment] in the base frame (6)
FORCE = 2 * TASK
#: number of Newton steps to the submanifold: the error of integration is of the order of T^2, each step squares it
NEWTON_STEPS = 4
#: bound of the last step of a converged iteration [m], [rad]; the next step would be below rounding
CONVERGED = 1e-8


class Accelerations(NamedTuple):
    """Outputs of `Chart.accelerations`.

    Attributes:
        qddot: (12), shape (n,).
        multipliers: lambda (11), shape (m,).
        xddot: (14), shape (6,).
        zddot: (16), shape (nz,).
        twist_rate: rate of the tool's twist, shape (6,).
        healths: smallest pivots of the three systems of equations, shape (3,).
        free: qddot without the constraint forces, shape (n,).
    """

    qddot: ca.MX
    multipliers: ca.MX
    xddot: ca.MX
    zddot: ca.MX
    twist_rate: ca.MX
    healths: ca.MX
    free: ca.MX


@dataclass(frozen=True)
class Prediction:
    """Result of an integration rule, before `Chart.state_after` brings it onto the submanifold.

    Attributes:
        z, zdot: at the end of the step, shape (nz,).
        guess: of q at the end of the step, shape (n,).
        first: accelerations at the beginning of the step.
        health: 0 where an implicit rule has not converged, else 1.
        free: qdot at the end of the step under all forces except those of the constraints, shape (n,); rules of order
            one have it, and the symmetric projection then computes the constraint forces anew.
    """

    z: ca.MX
    zdot: ca.MX
    guess: ca.MX
    first: Accelerations
    health: ca.MX
    free: ca.MX | None = None


class Chart:
    """Functions of one mechanism, described in the module's docstring.

    Args:
        mechanism: rendered mechanism.
        projection: "symmetric", "orthogonal" or "off", see `ReferenceGenerator`.
        about_pose: true for the chart about the present pose, of a rigid body.
        hold: "zero" or "linear", see `ReferenceGenerator`.
        with_response: true if steps output the response to impulses, which friction needs.
    """

    def __init__(
        self, mechanism: Mechanism, *, projection: str, about_pose: bool, hold: str, with_response: bool
    ) -> None:
        self.hold = hold
        self.with_response = with_response
        self.mechanism = mechanism
        self.about_pose = about_pose
        self.system = s = mechanism.pose_system if about_pose else mechanism.system
        self.parametrised = mechanism.has_parametrisation and not about_pose
        self.projection = projection
        self.n, self.m, self.b = s.q.numel(), s.constraint_matrix.shape[0], s.holonomic.numel()
        self.nz = mechanism.parameter_dimension if self.parametrised else self.n
        self.p = ca.vertcat(ca.SX.sym("period"), s.parameters)
        self.force = ca.SX.sym("force", FORCE)
        self.constrained = ca.SX.sym("constrained", self.n)
        if self.parametrised:
            self.z, self.zdot, self.psi = mechanism.parametric_symbols
            self.psi_jacobian = ca.jacobian(self.psi, self.z)
            self.psi_bias = symbolic.along(ca.mtimes(self.psi_jacobian, self.zdot), self.z, self.zdot)
        else:
            self.z, self.zdot = ca.SX.sym("z", self.n), ca.SX.sym("zdot", self.n)

    # --- equations of motion --------------------------------------------------------------------------------

    @cached_property
    def user_force(self) -> ca.SX:
        """f_q = (dphi/dq)^T f_x, and the generalised force of the wrench."""
        s = self.system
        tau = ca.mtimes(s.twist_jacobian.T, self.force[TASK:])
        if not self.about_pose:  # there f_x has been converted to a wrench
            tau = tau + ca.mtimes(s.task_jacobian.T, self.force[:TASK])
        return tau

    @property
    def applied(self) -> ca.SX:
        """tau of section II-E, without the part of f_q along the constraints at the beginning of the step."""
        return self.user_force + self.system.passive_force - self.constrained

    @cached_property
    def _constrained_part(self) -> ca.Function:
        """(q, force, p, pose) -> A^T A~^T f_q, the part of f_q along the constraints, (13), or the same as a wrench."""
        s = self.system
        part = ca.mtimes(s.constraint_matrix.T, ca.mtimes(self._weighted_inverse.T, self.user_force))
        wrench = ca.SX(FORCE, 1)
        if self.about_pose:  # at u = 0 the twist's Jacobian is orthogonal
            wrench[TASK:], part = ca.mtimes(s.twist_jacobian, part), ca.SX(self.n, 1)
        return function("constrained", [s.q, self.force, self.p, s.pose], [part, wrench], ["part", "wrench"])

    def constrained_part(self, q: ca.MX, force: ca.MX, p: ca.MX, pose: ca.MX) -> tuple[ca.MX, ca.MX]:
        """Computes the parts of f_q and of the force along the constraints at q; zero unless the force is held.

        A constant force on a constraint that rotates during the step would get a component along the motion, a
        negative damping of (force) T / (2 radius). Inner stages of a step therefore omit this constrained part.
        """
        if self.hold != "zero" or not self.m:
            return ca.MX.zeros(self.n), ca.MX.zeros(FORCE)
        part, wrench = self._constrained_part(q, force, p, pose)
        return part, wrench

    @cached_property
    def _weighted_inverse(self) -> ca.SX:
        """A~ = M^-1 A^T (A M^-1 A^T)^-1 of (13)."""
        A = self.system.constraint_matrix
        W, _ = symbolic.solve_positive_definite(self.system.inertia, A.T)
        transposed, _ = symbolic.solve_positive_definite(ca.mtimes(A, W), W.T)
        return transposed.T

    @cached_property
    def accelerations(self) -> ca.Function:
        s = self.system
        free, health = symbolic.solve_positive_definite(s.inertia, self.applied - s.coriolis_force)
        W, _ = symbolic.solve_positive_definite(s.inertia, s.constraint_matrix.T)
        right = -(s.constraint_bias + ca.mtimes(s.constraint_matrix, free))
        multipliers, constraint_health = symbolic.solve_positive_definite(
            ca.mtimes(s.constraint_matrix, W), right
        )  # (11)
        qddot = free + ca.mtimes(W, multipliers)  # (12)
        twist_rate = ca.mtimes(s.twist_jacobian, qddot) + s.twist_bias
        psi_health = ca.SX(1)
        if self.parametrised:
            xddot = ca.mtimes(s.task_jacobian, qddot) + s.task_bias  # (14)
            zddot, psi_health = symbolic.least_squares(self.psi_jacobian, xddot - self.psi_bias)  # (16)
        elif self.about_pose:
            xddot, zddot = ca.SX(TASK, 1), qddot  # x follows from the twist, see report
        else:
            xddot, zddot = ca.mtimes(s.task_jacobian, qddot) + s.task_bias, qddot
        healths = ca.vertcat(health, constraint_health, psi_health)
        outputs = [qddot, multipliers, xddot, zddot, twist_rate, healths, free]
        names = ["qddot", "multipliers", "xddot", "zddot", "twist_rate", "health", "free"]
        arguments = [self.z, self.zdot, s.q, s.qdot, self.force, self.constrained, self.p, s.pose]
        return function("accelerations", arguments, outputs, names)

    @cached_property
    def response(self) -> ca.Function:
        """Response of zdot to impulses on the tool: d zddot/d wrench, and the twist of the tool per zdot."""
        s = self.system
        J = s.twist_jacobian
        free, _ = symbolic.solve_positive_definite(s.inertia, J.T)
        constrained = free - ca.mtimes(self._weighted_inverse, ca.mtimes(s.constraint_matrix, free))  # M^-1 P_u J^T
        if self.parametrised:
            to_z, _ = symbolic.least_squares(self.psi_jacobian, s.task_jacobian)
            q_of_z, _ = symbolic.least_squares(s.task_jacobian, self.psi_jacobian)
            outputs = [ca.mtimes(to_z, constrained), ca.mtimes(J, q_of_z)]
        else:
            outputs = [constrained, J]
        return function("response", [self.z, s.q, self.p, s.pose], outputs, ["mobility", "twist_per_zdot"])

    # --- the submanifold ------------------------------------------------------------------------------------

    @cached_property
    def _configuration(self) -> ca.Function:
        """(z, guess, p) -> q, and the smallest pivot of dphi/dq."""
        s = self.system
        if self.mechanism.definition.is_rigid_body:  # phi is the identity
            q, health = ca.densify(self.psi), ca.SX(1)
            return function("configuration", [self.z, s.q, self.p], [q, health], ["q", "health"])
        improve, health = symbolic.least_squares(s.task_jacobian, self.psi - s.x)
        newton = function("newton", [self.z, s.q, self.p], [s.q + improve, health], ["q", "health"])
        z, q, p = (ca.MX.sym(name, size) for name, size in (("z", self.nz), ("q", self.n), ("p", self.p.numel())))
        guess = q
        q, health = newton_steps(lambda q: newton(z, q, p), q)
        return function("configuration", [z, guess, p], [q, health], ["q", "health"])

    @cached_property
    def _velocity(self) -> ca.Function:
        """(z, zdot, q) -> qdot, zdot, projected unless the projection is off."""
        s = self.system
        if self.parametrised:
            velocity, _ = symbolic.least_squares(s.task_jacobian, ca.mtimes(self.psi_jacobian, self.zdot))
        else:
            velocity = self.zdot
        zdot = self.zdot
        if self.m > self.b or not self.parametrised:
            v = ca.SX.sym("v", self.n)
            along = v - ca.mtimes(self._weighted_inverse, ca.mtimes(s.constraint_matrix, v))
            project = function("project", [s.q, v, self.p, s.pose], [along], ["v"])
            # the second projection removes the rounding error of the first
            projected = project(s.q, project(s.q, velocity, self.p, s.pose), self.p, s.pose)
            velocity = velocity if self.projection == "off" else projected
            if self.parametrised and self.projection != "off":
                zdot, _ = symbolic.least_squares(self.psi_jacobian, ca.mtimes(s.task_jacobian, velocity))
            elif not self.parametrised:
                zdot = velocity
        return function("velocity", [self.z, self.zdot, s.q, self.p, s.pose], [velocity, zdot], ["qdot", "zdot"])

    @cached_property
    def _symmetric(self) -> ca.Function:
        """(q before, q after, velocity after the free forces, z after) -> qdot and zdot with A qdot = 0 after.

        The constraint impulse acts along the rows of A at the middle of the step, qdot = v + M^-1 A_mid^T Lambda. It
        neither adds nor removes energy while the constraint rotates.
        """
        s = self.system
        old, new, v = (ca.SX.sym(name, self.n) for name in ("old", "new", "v"))
        M = ca.substitute([s.inertia], [s.q], [old])[0]
        A_mid = ca.substitute([s.constraint_matrix], [s.q], [(old + new) / 2])[0]
        A = ca.substitute([s.constraint_matrix], [s.q], [new])[0]
        W, _ = symbolic.solve_positive_definite(M, A_mid.T)
        impulse = symbolic.solve_nearly_symmetric(ca.mtimes(A, W), -ca.mtimes(A, v))
        velocity = v + ca.mtimes(W, impulse)
        zdot = velocity
        if self.parametrised:
            J = ca.substitute([s.task_jacobian], [s.q], [new])[0]
            zdot, _ = symbolic.least_squares(self.psi_jacobian, ca.mtimes(J, velocity))
        return function("symmetric", [self.z, old, new, v, self.p, s.pose], [zdot], ["zdot"])

    @cached_property
    def _onto_submanifold(self) -> ca.Function:
        """One Newton step of least kinetic energy towards H' = 0, from q."""
        s = self.system
        A = s.constraint_matrix[: self.b, :]
        W, _ = symbolic.solve_positive_definite(s.inertia, A.T)
        push, health = symbolic.solve_positive_definite(ca.mtimes(A, W), -s.holonomic)
        return function("onto", [s.q, self.p, s.pose], [s.q + ca.mtimes(W, push), health], ["q", "health"])

    def state_after(
        self, predicted: Prediction, old: ca.MX, p: ca.MX, pose: ca.MX
    ) -> tuple[ca.MX, ca.MX, ca.MX, ca.MX, ca.MX]:
        """Gives z, zdot, q, qdot and health after lines 12 and 14 of Algorithm 1, and projection."""
        z, zdot = predicted.z, predicted.zdot
        q, health = self.configuration(z, predicted.guess, p)
        if not self.parametrised:
            if self.b:
                q, health = newton_steps(lambda q: self._onto_submanifold(q, p, pose), q)
            z = q
        drifts = self.m > self.b or not self.parametrised
        if predicted.free is not None and self.projection == "symmetric" and drifts:
            zdot = self._symmetric(z, old, q, predicted.free, p, pose)
        qdot, zdot = self._velocity(z, zdot, q, p, pose)
        return z, zdot, q, qdot, ca.fmin(health, predicted.health)

    def stage(self, z: ca.MX, zdot: ca.MX, guess: ca.MX, p: ca.MX) -> tuple[ca.MX, ca.MX]:
        """Gives q, qdot of an inner stage, without projection."""
        if not self.parametrised:
            return z, zdot
        q, _ = self.configuration(z, guess, p)
        return q, self._plain_velocity(z, zdot, q, p)

    def configuration(self, z: ca.MX, guess: ca.MX, p: ca.MX) -> tuple[ca.MX, ca.MX]:
        """Gives q = phi^-1(psi(z)) next to the guess, and the smallest pivot of the search."""
        if not self.parametrised:
            return z, ca.MX(1)
        q, health = self._configuration(z, guess, p)
        return q, health

    @cached_property
    def _plain_velocity(self) -> ca.Function:
        s = self.system
        velocity, _ = symbolic.least_squares(s.task_jacobian, ca.mtimes(self.psi_jacobian, self.zdot))
        return function("plain_velocity", [self.z, self.zdot, s.q, self.p], [velocity], ["qdot"])

    # --- midpoint rule --------------------------------------------------------------------------------------

    @cached_property
    def _reduced(self) -> tuple[ca.SX, ca.SX, ca.SX]:
        """Inertia in z, the force conjugate to z (dL/dz and all forces but constraints), rows A dq/dz."""
        s = self.system
        G = symbolic.least_squares(s.task_jacobian, self.psi_jacobian)[0] if self.parametrised else ca.SX.eye(self.n)
        inertia = ca.mtimes(G.T, ca.mtimes(s.inertia, G))
        kinetic = ca.dot(self.zdot, ca.mtimes(inertia, self.zdot)) / 2
        # q depends on z: the derivative by z is a total one
        slope = ca.gradient(kinetic, self.z) + ca.mtimes(G.T, ca.gradient(kinetic, s.q))
        velocity = ca.mtimes(G, self.zdot)
        force = ca.substitute([self.applied], [s.qdot], [velocity])[0]
        rows = ca.mtimes(s.constraint_matrix[self.b :, :], G)
        return inertia, slope + ca.mtimes(G.T, force), rows

    @cached_property
    def momentum(self) -> ca.Function:
        inertia, _, _ = self._reduced
        arguments = [self.z, self.zdot, self.system.q, self.p]
        return function("momentum", arguments, [ca.mtimes(inertia, self.zdot)], ["momentum"])

    @cached_property
    def half(self) -> ca.Function:
        """(z, w, q, force, momentum) -> next w, and the momentum at the end of the step."""
        inertia, force, rows = self._reduced
        momentum = ca.SX.sym("momentum", self.nz)
        half = self.p[0] / 2
        velocity, _ = symbolic.solve_positive_definite(inertia, momentum + half * force)
        impulse = ca.SX(self.nz, 1)
        if rows.shape[0]:
            W, _ = symbolic.solve_positive_definite(inertia, rows.T)
            reaction, _ = symbolic.solve_positive_definite(ca.mtimes(rows, W), -ca.mtimes(rows, velocity))
            velocity, impulse = velocity + ca.mtimes(W, reaction), ca.mtimes(rows.T, reaction)
        end = ca.mtimes(inertia, self.zdot) + half * force + impulse
        arguments = [self.z, self.zdot, self.system.q, self.force, self.constrained, momentum, self.p]
        return function("half", arguments, [velocity, end], ["w", "momentum"])

    @cached_property
    def velocity_of(self) -> ca.Function:
        """(z, q, momentum) -> zdot."""
        inertia, _, _ = self._reduced
        momentum = ca.SX.sym("momentum", self.nz)
        zdot, _ = symbolic.solve_positive_definite(inertia, momentum)
        return function("velocity_of", [self.z, self.system.q, momentum, self.p], [zdot], ["zdot"])

    # --- output ---------------------------------------------------------------------------------------------

    @cached_property
    def output(self) -> ca.Function:
        """(z, zdot, q, qdot, p, pose) -> x, xdot, orientation, twist, residuals and energies."""
        s = self.system
        x, xdot = s.x, ca.mtimes(s.task_jacobian, s.qdot)
        if self.parametrised:  # x_r = psi(z), line 12
            x, xdot = self.psi, ca.mtimes(self.psi_jacobian, self.zdot)
        residual = ca.mtimes(s.constraint_matrix, s.qdot)
        outputs = [
            ca.densify(x), ca.densify(xdot), s.orientation, ca.mtimes(s.twist_jacobian, s.qdot),
            _largest(s.holonomic), _largest(residual), s.kinetic_energy, s.potential_energy,
        ]  # fmt: skip
        names = ["x", "xdot", "orientation", "twist", "holonomic", "velocity_residual", "kinetic", "potential"]
        return function("output", [self.z, self.zdot, s.q, s.qdot, self.p, s.pose], outputs, names)


def newton_steps(improve: Callable[[ca.MX], tuple[ca.MX, ca.MX]], q: ca.MX) -> tuple[ca.MX, ca.MX]:
    """Runs Newton's method with a fixed number of steps; the health is 0 where it has not converged."""
    health, old = ca.MX(1), q
    for _ in range(NEWTON_STEPS):
        old = q
        q, pivot = improve(q)
        health = ca.fmin(health, pivot)
    return q, ca.if_else(ca.mmax(ca.fabs(q - old)) < CONVERGED, health, 0)


def _largest(values: ca.SX) -> ca.SX:
    """Gives the largest magnitude; 0 if there are no values."""
    result = ca.SX(0)
    for i in range(values.numel()):
        result = ca.fmax(result, ca.fabs(values[i]))
    return result


def function(name: str, arguments: list, outputs: list, names: list[str]) -> ca.Function:  # type: ignore[type-arg]
    """Makes a CasADi function with dense outputs."""
    labels = [f"i{k}" for k in range(len(arguments))]
    return ca.Function(name, arguments, [ca.densify(o) for o in outputs], labels, [f"o_{n}" for n in names])
