"""Integration rules over one period: line 11 of Algorithm 1, and rules of higher order or without energy drift.

Arguments of a rule: the chart c, z, zdot, q, qdot, the force at the beginning (f0) and at the end (f1) of the period,
p, pose.
"""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca

from admittance_constraints.dynamics.chart import CONVERGED, Chart, Prediction
from admittance_constraints.errors import MechanismError

#: fixed-point steps of the midpoint rule; each reduces the error by about T times the velocity's rate of change
_MIDPOINT_STEPS = 10


def algorithm1(
    c: Chart, z: ca.MX, zdot: ca.MX, q: ca.MX, qdot: ca.MX, f0: ca.MX, f1: ca.MX, p: ca.MX, pose: ca.MX
) -> Prediction:
    """Computes line 11: z + zdot T + zddot T^2/2, zdot + zddot T."""
    first = c.accelerations(z, zdot, q, qdot, f0, ca.MX.zeros(c.n), p, pose)
    T = p[0]
    return Prediction(
        z + zdot * T + first[3] * T**2 / 2, zdot + first[3] * T, q + qdot * T, first, ca.MX(1), qdot + first[6] * T
    )


def symplectic_euler(
    c: Chart, z: ca.MX, zdot: ca.MX, q: ca.MX, qdot: ca.MX, f0: ca.MX, f1: ca.MX, p: ca.MX, pose: ca.MX
) -> Prediction:
    """Advances zdot, then z with the new zdot; symplectic where the inertia in z is constant."""
    first = c.accelerations(z, zdot, q, qdot, f0, ca.MX.zeros(c.n), p, pose)
    T = p[0]
    velocity = zdot + first[3] * T
    return Prediction(z + velocity * T, velocity, q + qdot * T, first, ca.MX(1), qdot + first[6] * T)


def rk4(
    c: Chart, z: ca.MX, zdot: ca.MX, q: ca.MX, qdot: ca.MX, f0: ca.MX, f1: ca.MX, p: ca.MX, pose: ca.MX
) -> Prediction:
    """Applies the classical Runge-Kutta method of order 4 to (z, zdot)."""
    T = p[0]
    first = c.accelerations(z, zdot, q, qdot, f0, ca.MX.zeros(c.n), p, pose)
    constrained, wrench = c.constrained_part(q, f0, p, pose)
    velocities, accelerations = [zdot], [first[3]]
    for fraction, force in ((0.5, (f0 + f1) / 2), (0.5, (f0 + f1) / 2), (1.0, f1)):
        stage_z, stage_zdot = z + fraction * T * velocities[-1], zdot + fraction * T * accelerations[-1]
        stage_q, stage_qdot = c.stage(stage_z, stage_zdot, q + fraction * T * qdot, p, pose)
        velocities.append(stage_zdot)
        accelerations.append(
            c.accelerations(stage_z, stage_zdot, stage_q, stage_qdot, force - wrench, constrained, p, pose)[3]
        )

    def mean(k: list[ca.MX]) -> ca.MX:
        return (k[0] + 2 * k[1] + 2 * k[2] + k[3]) / 6

    return Prediction(z + T * mean(velocities), zdot + T * mean(accelerations), q + qdot * T, first, ca.MX(1))


def midpoint(
    c: Chart, z: ca.MX, zdot: ca.MX, q: ca.MX, qdot: ca.MX, f0: ca.MX, f1: ca.MX, p: ca.MX, pose: ca.MX
) -> Prediction:
    """Applies the variational midpoint rule (implicit), of order 2, symplectic for holonomic constraints.

    With L the Lagrangian in z, w the mean velocity and Q the forces:
    p_k = M(z_m) w - T/2 (dL/dz + Q)(z_m, w) - impulse, p_(k+1) = M(z_m) w + T/2 (dL/dz + Q)(z_m, w) + impulse.
    """
    if c.about_pose or (c.b and not c.parametrised):
        raise MechanismError(
            "integrator: midpoint needs orientation='euler', and psi(z) for holonomic constraints; use rk4 without"
        )
    T = p[0]
    first = c.accelerations(z, zdot, q, qdot, f0, ca.MX.zeros(c.n), p, pose)
    start = c.momentum(z, zdot, q, p)
    force, (constrained, _) = (f0 + f1) / 2, c.constrained_part(q, f0, p, pose)
    w = old = zdot + T / 2 * first[3]
    end = start
    for _ in range(_MIDPOINT_STEPS):
        old = w
        middle = z + T / 2 * w
        middle_q = c.configuration(middle, q + T / 2 * qdot, p)[0]
        w, end = c.half(middle, w, middle_q, force, constrained, start, p)
    new_z, guess = z + T * w, q + T * qdot
    new_q = c.configuration(new_z, guess, p)[0]
    health = ca.if_else(ca.mmax(ca.fabs(w - old)) < CONVERGED * (1 + ca.mmax(ca.fabs(w))), 1, 0)
    return Prediction(new_z, c.velocity_of(new_z, new_q, end, p), guess, first, health)


Rule = Callable[[Chart, ca.MX, ca.MX, ca.MX, ca.MX, ca.MX, ca.MX, ca.MX, ca.MX], Prediction]

RULES: dict[str, Rule] = {
    "algorithm1": algorithm1,
    "symplectic_euler": symplectic_euler,
    "midpoint": midpoint,
    "rk4": rk4,
}
