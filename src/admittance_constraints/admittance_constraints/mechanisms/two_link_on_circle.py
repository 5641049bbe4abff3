"""Manipulator with two links whose end point stays on a circle, section III-C, eqs. (33) to (40)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

from admittance_constraints.checks import finite_number, finite_vector
from admittance_constraints.model.definition import Definition
from admittance_constraints.model.drawing import FIXED, MOVING, TRACK, Canvas, circle
from admittance_constraints.model.mechanism import Mechanism


@dataclass(frozen=True)
class CircleMotion:
    """Signals of Fig. 12, of a reference and (`measured_...`) of a measured end point.

    Attributes:
        links: kinetic energies of the links (n, 2) [J].
        total: sum of the links' energies (n,) [J].
        first_rate: rate of the first joint (n,) [rad/s].
        measured_links: measured kinetic energies of the links (n, 2) [J].
        measured_total: sum of the measured energies (n,) [J].
        speed: speed of the end point along the circle (n,) [m/s].
        measured_speed: measured speed along the circle (n,) [m/s].
        error: measured less reference position along the circle (n,) [m].
        radial: measured distance from the circle (n,) [m].
        force: measured force along the circle (n,) [N].
    """

    links: np.ndarray
    total: np.ndarray
    first_rate: np.ndarray
    measured_links: np.ndarray
    measured_total: np.ndarray
    speed: np.ndarray
    measured_speed: np.ndarray
    error: np.ndarray
    radial: np.ndarray
    force: np.ndarray


class TwoLinkOnCircle(Mechanism):
    """Two uniform links in the plane x3 = 0; the end point moves on the circle x1^2 + x2^2 = r_c^2, (37).

    q = (q1, q2): angle of the first link and of the second relative to it [rad]. z = the angle on the circle.
    The row of A has the factor 2 of (38), so that the multiplier is half the radial force over r_c.

    Args:
        link_mass: m of each link [kg].
        link_length: l of each link [m].
        base: (s1, s2) [m].
        circle_radius: r_c [m].
        elbow: sign of q2, 1 or -1.
        joint_damping: of each joint [N m s/rad].

    The defaults are the paper's, except the damping, which is zero; `TwoLinkOnCircle.paper()` has it. For the base
    the paper gives only the distance, 0.21 m.

    Examples:
        >>> from admittance_constraints import TwoLinkOnCircle
        >>> linkage = TwoLinkOnCircle(link_mass=2.0, link_length=0.15)
        >>> linkage.dimension, linkage.parameter_dimension
        (2, 1)
    """

    def __init__(
        self,
        *,
        link_mass: float = 2.0,
        link_length: float = 0.15,
        base: Sequence[float] = (-0.21, 0.0),
        circle_radius: float = 0.05,
        elbow: int = 1,
        joint_damping: float = 0.0,
    ) -> None:
        self.link_mass = finite_number("link_mass", link_mass, above=0.0)
        self.link_length = finite_number("link_length", link_length, above=0.0)
        self.base = tuple(finite_vector("base", base, 2).tolist())
        self.circle_radius = finite_number("circle_radius", circle_radius, above=0.0)
        if elbow not in (1, -1):
            raise ValueError(f"elbow: expected 1 or -1, got {elbow!r}")
        self.elbow = int(elbow)
        self.joint_damping = finite_number("joint_damping", joint_damping, minimum=0.0)
        super().__init__()

    @classmethod
    def paper(cls) -> TwoLinkOnCircle:
        """Makes the manipulator of section IV-C, with damping 0.01 N m s/rad at the joints."""
        return cls(joint_damping=0.01)

    def draw(self, canvas: Canvas, q: np.ndarray) -> None:
        """Draws both links, the circle and the joints."""
        base = np.array([*self.base, 0.0])
        elbow = base + self.link_length * np.array([np.cos(q[0]), np.sin(q[0]), 0.0])
        end = elbow + self.link_length * np.array([np.cos(q[0] + q[1]), np.sin(q[0] + q[1]), 0.0])
        canvas.line("circle", circle(np.zeros(3), self.circle_radius), 0.001, FIXED)
        canvas.line("links", [base, elbow, end], 0.01, MOVING)
        for name, joint in (("base", base), ("elbow", elbow), ("end point", end)):
            canvas.sphere(name, joint, 0.008, TRACK if name == "end point" else FIXED)

    def link_energies(self, q: np.ndarray, qdot: np.ndarray) -> np.ndarray:
        """Gives the kinetic energies of link 1 and link 2 [J], shape (n, 2); their sum is (33).

        T1 = m l^2 q1'^2/6; T2 = m/2 |v_c|^2 + m l^2 (q1' + q2')^2/24 with the velocity v_c of the second link's centre.

        Args:
            q: joint angles [rad], shape (n, 2).
            qdot: their rates [rad/s], shape (n, 2).
        """
        m, length = self.link_mass, self.link_length
        rate, both = qdot[:, 0], qdot[:, 0] + qdot[:, 1]
        centre = (length * rate) ** 2 + (0.5 * length * both) ** 2 + length**2 * rate * both * np.cos(q[:, 1])
        first = m * length**2 * rate**2 / 6.0
        return np.column_stack((first, 0.5 * m * centre + m * length**2 * both**2 / 24.0))

    def joint_motion(
        self, position: np.ndarray, velocity: np.ndarray, near: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Computes joint angles [rad] and velocities [rad/s], shape (n, 2), of an end point also off the circle.

        Velocities are NaN where the distance of the end point from the base is the length of both links or more.

        Args:
            position: position of the end point [m], shape (n, 2) or (n, 3).
            velocity: velocity of the end point [m/s], shape (n, 2) or (n, 3).
            near: joint angles on the same branch of the elbow [rad], shape (n, 2).
        """
        length = self.link_length
        a, b = (position[:, i] - self.base[i] for i in range(2))
        elbow = np.arccos(np.clip((a**2 + b**2) / (2.0 * length**2) - 1.0, -1.0, 1.0)) * np.sign(np.sin(near[:, 1]))
        q = np.column_stack((np.arctan2(b, a) - 0.5 * elbow, elbow))
        both = q[:, 0] + q[:, 1]
        sine, u, v = np.where(np.sin(elbow) == 0.0, np.nan, np.sin(elbow)), velocity[:, 0], velocity[:, 1]
        first = (np.cos(both) * u + np.sin(both) * v) / (length * sine)
        sum_of_rates = -(np.cos(q[:, 0]) * u + np.sin(q[:, 0]) * v) / (length * sine)
        return q, np.column_stack((first, sum_of_rates - first))

    def circle_motion(
        self,
        q: np.ndarray,
        qdot: np.ndarray,
        *,
        measured: tuple[np.ndarray, np.ndarray],
        reference: tuple[np.ndarray, np.ndarray],
        force: np.ndarray,
    ) -> CircleMotion:
        """Computes the signals of Fig. 12.

        Args:
            q: joint angles of the reference [rad], shape (n, 2).
            qdot: their rates [rad/s], shape (n, 2).
            measured: positions [m] and velocities [m/s] of the measured end point, shape (n, 3) each.
            reference: positions [m] and velocities [m/s] of the reference, shape (n, 3) each.
            force: measured forces on the end point [N], shape (n, 3).
        """
        (p, velocity), (x, wanted_velocity) = measured, reference
        links = self.link_energies(q, qdot)
        own = self.link_energies(*self.joint_motion(p, velocity, q))
        angle, wanted = (np.unwrap(np.arctan2(position[:, 1], position[:, 0])) for position in (p, x))
        tangent, reference_tangent = (np.column_stack((-np.sin(a), np.cos(a))) for a in (angle, wanted))
        return CircleMotion(
            links=links,
            total=links.sum(axis=1),
            first_rate=qdot[:, 0],
            measured_links=own,
            measured_total=own.sum(axis=1),
            speed=np.sum(wanted_velocity[:, :2] * reference_tangent, axis=1),
            measured_speed=np.sum(velocity[:, :2] * tangent, axis=1),
            error=self.circle_radius * ((angle - wanted + np.pi) % (2.0 * np.pi) - np.pi),
            radial=np.hypot(p[:, 0], p[:, 1]) - self.circle_radius,
            force=np.sum(force[:, :2] * tangent, axis=1),
        )

    def define(self, d: Definition) -> None:
        m, length = d.parameter("link_mass", self.link_mass), d.parameter("link_length", self.link_length)
        s1, s2 = (d.parameter(f"base[{i}]", value) for i, value in enumerate(self.base))
        r = d.parameter("circle_radius", self.circle_radius)
        q, qdot = d.coordinates(2)
        c2 = ca.cos(q[1])
        quadratic = (5 + 3 * c2) * qdot[0] ** 2 + (2 + 3 * c2) * qdot[0] * qdot[1] + qdot[1] ** 2
        d.kinetic_energy(m * length**2 / 6 * quadratic)  # (33)
        both = q[0] + q[1]
        d.forward(
            [s1 + length * ca.cos(q[0]) + length * ca.cos(both), s2 + length * ca.sin(q[0]) + length * ca.sin(both)]
        )  # (36)
        a, b = d.x[0] - s1, d.x[1] - s2
        elbow_angle = self.elbow * ca.acos((a**2 + b**2) / (2 * length**2) - 1)
        d.inverse([ca.atan2(b, a) - elbow_angle / 2, elbow_angle])
        d.holonomic("on the circle", d.x[0] ** 2 + d.x[1] ** 2 - r**2)  # (37)
        z = d.parameters(1)
        d.parametrisation([r * ca.cos(z), r * ca.sin(z)])  # (40)
        d.damping_force(d.parameter("joint_damping", self.joint_damping) * qdot)
