"""Integration rules over one period: line 11 of Algorithm 1, and rules of higher order or without energy drift.

A rule takes the chart and the start of the period. A new rule is a function with an entry of `RULES`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import casadi as ca

from admittance_constraints.dynamics.chart import CONVERGED, Accelerations, Chart, Prediction
from admittance_constraints.errors import MechanismError

#: fixed-point steps of the midpoint rule; each reduces the error by about T times the velocity's rate of change
_MIDPOINT_STEPS = 10


class Start(NamedTuple):
    """State at the beginning of a period, and the forces during it.

    Attributes:
        z, zdot: shape (nz,).
        q, qdot: shape (n,).
        f0, f1: (f_x; wrench) at the beginning and at the end of the period, shape (12,) each.
        p: parameters of the chart; the first is the period T [s].
        pose: pose of the body in the chart about it, shape (7,); else shape (0,).
    """

    z: ca.MX
    zdot: ca.MX
    q: ca.MX
    qdot: ca.MX
    f0: ca.MX
    f1: ca.MX
    p: ca.MX
    pose: ca.MX

    @property
    def period(self) -> ca.MX:
        """T [s]."""
        return self.p[0]

    def accelerations(self, c: Chart) -> Accelerations:
        """Computes the accelerations under the force f0."""
        zero = ca.MX.zeros(c.n)
        return Accelerations(*c.accelerations(self.z, self.zdot, self.q, self.qdot, self.f0, zero, self.p, self.pose))


def algorithm1(c: Chart, s: Start) -> Prediction:
    """Computes line 11: z + zdot T + zddot T^2/2, zdot + zddot T."""
    first, T = s.accelerations(c), s.period
    z, zdot = s.z + s.zdot * T + first.zddot * T**2 / 2, s.zdot + first.zddot * T
    return Prediction(z, zdot, s.q + s.qdot * T, first, ca.MX(1), s.qdot + first.free * T)


def symplectic_euler(c: Chart, s: Start) -> Prediction:
    """Advances zdot, then z with the new zdot; symplectic where the inertia in z is constant."""
    first, T = s.accelerations(c), s.period
    zdot = s.zdot + first.zddot * T
    return Prediction(s.z + zdot * T, zdot, s.q + s.qdot * T, first, ca.MX(1), s.qdot + first.free * T)


def rk4(c: Chart, s: Start) -> Prediction:
    """Applies the classical Runge-Kutta method of order 4 to (z, zdot)."""
    first, T, p, pose = s.accelerations(c), s.period, s.p, s.pose
    constrained, wrench = c.constrained_part(s.q, s.f0, p, pose)
    velocities, accelerations = [s.zdot], [first.zddot]
    for fraction, force in ((0.5, (s.f0 + s.f1) / 2), (0.5, (s.f0 + s.f1) / 2), (1.0, s.f1)):
        z, zdot = s.z + fraction * T * velocities[-1], s.zdot + fraction * T * accelerations[-1]
        q, qdot = c.stage(z, zdot, s.q + fraction * T * s.qdot, p)
        velocities.append(zdot)
        stage = Accelerations(*c.accelerations(z, zdot, q, qdot, force - wrench, constrained, p, pose))
        accelerations.append(stage.zddot)

    def mean(k: list[ca.MX]) -> ca.MX:
        return (k[0] + 2 * k[1] + 2 * k[2] + k[3]) / 6

    z, zdot = s.z + T * mean(velocities), s.zdot + T * mean(accelerations)
    return Prediction(z, zdot, s.q + s.qdot * T, first, ca.MX(1))


def midpoint(c: Chart, s: Start) -> Prediction:
    """Applies the variational midpoint rule (implicit), of order 2, symplectic for holonomic constraints.

    With L the Lagrangian in z, w the mean velocity and Q the forces:
    p_k = M(z_m) w - T/2 (dL/dz + Q)(z_m, w) - impulse, p_(k+1) = M(z_m) w + T/2 (dL/dz + Q)(z_m, w) + impulse.
    """
    if c.about_pose or (c.b and not c.parametrised):
        raise MechanismError(
            "integrator: midpoint needs orientation='euler', and psi(z) for holonomic constraints; use rk4 without"
        )
    first, T, p = s.accelerations(c), s.period, s.p
    start = c.momentum(s.z, s.zdot, s.q, p)
    force, (constrained, _) = (s.f0 + s.f1) / 2, c.constrained_part(s.q, s.f0, p, s.pose)
    w = old = s.zdot + T / 2 * first.zddot
    end = start
    for _ in range(_MIDPOINT_STEPS):
        old = w
        middle = s.z + T / 2 * w
        middle_q = c.configuration(middle, s.q + T / 2 * s.qdot, p)[0]
        w, end = c.half(middle, w, middle_q, force, constrained, start, p)
    z, guess = s.z + T * w, s.q + T * s.qdot
    q = c.configuration(z, guess, p)[0]
    health = ca.if_else(ca.mmax(ca.fabs(w - old)) < CONVERGED * (1 + ca.mmax(ca.fabs(w))), 1, 0)
    return Prediction(z, c.velocity_of(z, q, end, p), guess, first, health)


Rule = Callable[[Chart, Start], Prediction]

RULES: dict[str, Rule] = {
    "algorithm1": algorithm1,
    "symplectic_euler": symplectic_euler,
    "midpoint": midpoint,
    "rk4": rk4,
}
