"""Equations of a mechanism, derived from its definition as symbolic expressions (sections II-B to II-G).

A `System` is written in one chart. `in_coordinates` uses the mechanism's own q. `about_pose` is for rigid bodies: its
coordinates u are the displacement of the centre and the Cayley coordinates of the rotation from a given pose, which is
a further argument. At that pose u = 0, and no orientation is singular.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import casadi as ca

from admittance_constraints.errors import MechanismError
from admittance_constraints.model import symbolic
from admittance_constraints.model.definition import TASK, Definition


@dataclass(frozen=True)
class System:
    """Expressions of one mechanism in one chart; n coordinates, m constraints, b of them holonomic.

    Attributes:
        q, qdot: coordinates and rates, shape (n,).
        parameters: symbols of the run-time parameters, shape (k,).
        pose: position (3) and quaternion (x, y, z, w) where u = 0; shape (0,) in the mechanism's own coordinates.
        inertia: M, eq. (5), shape (n, n).
        coriolis: C, eqs. (6), (7), shape (n, n).
        kinetic_energy, potential_energy: T, V [J].
        passive_force: -tau_d - tau_s - g and all other forces except the user's, shape (n,).
        names: of the constraints, holonomic ones first.
        holonomic: H'(phi(q)), shape (b,).
        constraint_matrix: A, eq. (10), shape (m, n).
        constraint_matrix_rate: dA/dt, shape (m, n).
        x: phi(q), shape (6,). In a chart about a pose its angles are not unwrapped.
        task_jacobian: dphi/dq, shape (6, n), and task_bias: qdot^T d2phi/dq2 qdot of (14), shape (6,).
        orientation: quaternion (x, y, z, w) of the tool.
        twist_jacobian: maps qdot to [velocity; angular velocity] in the base frame, shape (6, n).
        twist_bias: its rate times qdot, shape (6,).
    """

    q: ca.SX
    qdot: ca.SX
    parameters: ca.SX
    pose: ca.SX
    inertia: ca.SX
    coriolis: ca.SX
    kinetic_energy: ca.SX
    potential_energy: ca.SX
    passive_force: ca.SX
    names: tuple[str, ...]
    holonomic: ca.SX
    constraint_matrix: ca.SX
    constraint_matrix_rate: ca.SX
    x: ca.SX
    task_jacobian: ca.SX
    task_bias: ca.SX
    orientation: ca.SX
    twist_jacobian: ca.SX
    twist_bias: ca.SX

    @property
    def coriolis_force(self) -> ca.SX:
        """C(q, qdot) qdot, shape (n,)."""
        return ca.mtimes(self.coriolis, self.qdot)

    @property
    def constraint_bias(self) -> ca.SX:
        """(dA/dt) qdot, shape (m,)."""
        return ca.mtimes(self.constraint_matrix_rate, self.qdot)

    @property
    def arguments(self) -> list[ca.SX]:
        """Symbols of the expressions: q, qdot, parameters, pose."""
        return [self.q, self.qdot, self.parameters, self.pose]


class _Motion(NamedTuple):
    """Motion of the tool as expressions of the coordinates of a chart.

    Attributes:
        q, qdot: symbols of coordinates and rates, shape (n,).
        pose: symbols of the pose where u = 0, shape (7,); shape (0,) in the mechanism's own coordinates.
        x, xdot: task coordinates and rates, shape (6,).
        rotation: rotation matrix of the body, shape (3, 3).
        omega: angular velocity in body axes, shape (3,).
        orientation: quaternion (x, y, z, w).
    """

    q: ca.SX
    qdot: ca.SX
    pose: ca.SX
    x: ca.SX
    xdot: ca.SX
    rotation: ca.SX
    omega: ca.SX
    orientation: ca.SX

    def express(self, d: Definition, expression: ca.SX) -> ca.SX:
        """Writes an expression of a definition in the chart's own symbols."""
        old = [d.x, d.xdot, ca.vec(d.rotation), d.angular_velocity]
        new = [self.x, self.xdot, ca.vec(self.rotation), self.omega]
        if d.is_rigid_body and self.q is not d.q:  # a user may have written q instead of x
            old, new = [d.q, d.qdot, *old], [self.x, self.xdot, *new]
        result: ca.SX = ca.substitute([ca.SX(expression)], old, [ca.densify(value) for value in new])[0]
        return result


def in_coordinates(d: Definition, keep: set[str] | None = None) -> System:
    """Derives the system in the mechanism's own coordinates, with all constraints or those named in `keep`."""
    assert d.phi is not None
    angles = d.phi[3:]
    xdot = symbolic.along(d.phi, d.q, d.qdot)
    motion = _Motion(
        q=d.q,
        qdot=d.qdot,
        pose=ca.SX(0, 1),
        x=d.phi,
        xdot=xdot,
        rotation=symbolic.rotation_from_angles(angles),
        omega=ca.mtimes(symbolic.body_rates(angles), xdot[3:]),
        orientation=symbolic.quaternion_from_angles(angles),
    )
    return _derive(d, motion, keep)


def about_pose(d: Definition, keep: set[str] | None = None) -> System:
    """Derives the system of a rigid body in coordinates about a pose; `keep` as in `in_coordinates`."""
    if not d.is_rigid_body:
        raise MechanismError("orientation: only a rigid body (Definition.rigid_body) has a pose as its coordinates")
    u, udot, pose = ca.SX.sym("u", TASK), ca.SX.sym("udot", TASK), ca.SX.sym("pose", 7)
    orientation = symbolic.quaternion_product(pose[3:], symbolic.cayley_quaternion(u[3:]))
    rotation = symbolic.rotation_from_quaternion(orientation)
    x = ca.vertcat(pose[:3] + u[:3], symbolic.angles_from_rotation(rotation))
    motion = _Motion(
        q=u,
        qdot=udot,
        pose=pose,
        x=x,
        xdot=symbolic.along(x, u, udot),
        rotation=rotation,
        omega=ca.mtimes(symbolic.cayley_body_rates(u[3:]), udot[3:]),
        orientation=orientation,
    )
    return _derive(d, motion, keep)


def _derive(d: Definition, motion: _Motion, keep: set[str] | None) -> System:
    """Derives the system in the chart of a motion; `keep` as in `in_coordinates`."""
    q, qdot, x = motion.q, motion.qdot, motion.x
    assert d.energy is not None
    energy = motion.express(d, d.energy)
    inertia, _ = ca.hessian(energy, qdot)
    potential = motion.express(d, d.potential_energy)
    holonomic, nonholonomic = (
        [(name, motion.express(d, expression)) for name, expression in constraints if keep is None or name in keep]
        for constraints in (d.holonomic_constraints, d.nonholonomic_constraints)
    )
    values = [value for _, value in holonomic]
    rows = [ca.jacobian(value, q) for value in values] + [ca.jacobian(value, qdot) for _, value in nonholonomic]
    A = ca.vertcat(ca.SX(0, q.numel()), *rows)
    twist = ca.vertcat(motion.xdot[:3], ca.mtimes(motion.rotation, motion.omega))
    twist_jacobian = ca.jacobian(twist, qdot)
    task_jacobian = ca.jacobian(x, q)
    return System(
        q=q,
        qdot=qdot,
        parameters=ca.vertcat(ca.SX(0, 1), *d.parameter_symbols),
        pose=motion.pose,
        inertia=inertia,
        coriolis=_christoffel(inertia, q, qdot),
        kinetic_energy=energy,
        potential_energy=potential,
        passive_force=_passive_force(d, motion, potential),
        names=tuple(name for name, _ in holonomic + nonholonomic),
        holonomic=ca.vertcat(ca.SX(0, 1), *values),
        constraint_matrix=A,
        constraint_matrix_rate=_rate(A, q, qdot),
        x=x,
        task_jacobian=task_jacobian,
        task_bias=symbolic.along(ca.mtimes(task_jacobian, qdot), q, qdot),
        orientation=motion.orientation,
        twist_jacobian=twist_jacobian,
        twist_bias=symbolic.along(ca.mtimes(twist_jacobian, qdot), q, qdot),
    )


def _passive_force(d: Definition, motion: _Motion, potential: ca.SX) -> ca.SX:
    """Derives all forces but the user's, dual to the coordinates' rates, shape (n,)."""
    body_velocity = ca.vertcat(ca.mtimes(motion.rotation.T, motion.xdot[:3]), motion.omega)
    passive = -ca.gradient(potential, motion.q)
    body_jacobian = ca.jacobian(body_velocity, motion.qdot)
    for wrench in d.body_wrenches:  # tau_q = J_b^T tau_body (appendices)
        passive = passive + ca.mtimes(body_jacobian.T, motion.express(d, wrench))
    others = motion.express(d, d.applied - d.damping)
    if d.is_rigid_body and motion.pose.numel():  # forces dual to the angles' rates become forces dual to u'
        passive = passive + ca.mtimes(ca.jacobian(motion.xdot, motion.qdot).T, others + ca.SX.zeros(TASK))
    else:
        passive = passive + others
    return ca.densify(passive)


def _christoffel(M: ca.SX, q: ca.SX, qdot: ca.SX) -> ca.SX:
    """Derives C with C_ij = sum_k Gamma^k_ij qdot_k, eqs. (6), (7)."""
    n = q.numel()
    derivatives = [ca.reshape(ca.jacobian(ca.vec(ca.densify(M)), q[k]), n, n) for k in range(n)]
    total = sum((derivatives[k] * qdot[k] for k in range(n)), ca.SX(n, n))
    columns = ca.horzcat(*[ca.mtimes(derivatives[j], qdot) for j in range(n)])  # (i, j): sum_k dM_ik/dq_j qdot_k
    return (total + columns - columns.T) / 2


def _rate(A: ca.SX, q: ca.SX, qdot: ca.SX) -> ca.SX:
    """Derives dA/dt along qdot."""
    if not A.numel():
        return ca.SX(A.shape[0], A.shape[1])
    return ca.reshape(symbolic.along(ca.vec(ca.densify(A)), q, qdot), *A.shape)
