"""Inertia of serial linkages from the parameters of their links."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

from admittance_constraints.checks import finite_matrix, finite_number, finite_vector
from admittance_constraints.errors import MechanismError
from admittance_constraints.model import symbolic
from admittance_constraints.model.definition import Definition


@dataclass(frozen=True)
class Link:
    """A rigid link behind a revolute joint. Its frame has its origin in the joint and rotates with the link.

    Attributes:
        mass: [kg].
        center: centre of mass in the link's frame [m], shape (3,).
        inertia: about the centre of mass, in the link's frame [kg m^2], shape (3, 3).
        tip: position of the next joint, or of the tool, in the link's frame [m], shape (3,).
        axis: of the joint, unit vector in the frame of the link before, shape (3,).

    Examples:
        >>> from admittance_constraints import Link
        >>> link = Link.bar(0.6, mass=1.0)
        >>> round(float(link.inertia[2, 2] + link.mass * link.center[0] ** 2), 9)  # about the joint, m l^2/3
        0.12
    """

    mass: float
    center: np.ndarray
    inertia: np.ndarray
    tip: np.ndarray
    axis: np.ndarray

    @staticmethod
    def of(
        *,
        mass: float,
        center: Sequence[float],
        inertia: Sequence[float] | Sequence[Sequence[float]],
        tip: Sequence[float],
        axis: Sequence[float] = (0.0, 0.0, 1.0),
    ) -> Link:
        """Makes a link from numbers; inertia as principal moments (3,) or as a matrix (3, 3)."""
        J = np.asarray(inertia, dtype=float)
        direction = finite_vector("axis", axis, 3)
        length = float(np.linalg.norm(direction))
        if length == 0.0:
            raise ValueError("axis: expected a direction, got zero")
        return Link(
            finite_number("mass", mass, minimum=0.0),
            finite_vector("center", center, 3).copy(),
            finite_matrix("inertia", np.diag(J) if J.shape == (3,) else J, (3, 3)).copy(),
            finite_vector("tip", tip, 3).copy(),
            direction / length,
        )

    @staticmethod
    def bar(length: float, *, mass: float, axis: Sequence[float] = (0.0, 0.0, 1.0)) -> Link:
        """Makes a thin uniform bar along the link's x axis; length [m], mass [kg]."""
        size = finite_number("length", length, above=0.0)
        J = mass * size**2 / 12.0
        return Link.of(mass=mass, center=(size / 2, 0.0, 0.0), inertia=(0.0, J, J), tip=(size, 0.0, 0.0), axis=axis)


@dataclass(frozen=True)
class Chain:
    """Expressions of a linkage that a definition may use.

    Attributes:
        ends: tip of each link in the base frame, shape (3,) each.
        rotations: each link's orientation, link to base, shape (3, 3) each.
        centers: centre of mass of each link in the base frame.
    """

    ends: tuple[ca.SX, ...]
    rotations: tuple[ca.SX, ...]
    centers: tuple[ca.SX, ...]


def add_serial_linkage(
    d: Definition,
    links: Sequence[Link],
    *,
    base: Sequence[float] = (0.0, 0.0, 0.0),
    gravity: Sequence[float] = (0.0, 0.0, 0.0),
) -> Chain:
    """Declares one joint angle per link and adds their kinetic and potential energy.

    Args:
        d: the definition; its coordinates are declared here.
        links: from the base outwards, one to six.
        base: of the first joint [m], base frame.
        gravity: [m/s^2], base frame; off by default, as a display usually balances its linkage.

    Examples:
        >>> from admittance_constraints import Definition, Link, Mechanism, add_serial_linkage
        >>> class Arm(Mechanism):
        ...     def define(self, d: Definition) -> None:
        ...         chain = add_serial_linkage(d, [Link.bar(0.3, mass=1.0), Link.bar(0.2, mass=1.0)])
        ...         d.forward(chain.ends[-1])
        ...         d.nominal(q=[0.4, 0.9])
        >>> Arm().forward([0.0, 0.0])[:3].round(9).tolist()  # stretched along x
        [0.5, 0.0, 0.0]
    """
    if not links:
        raise MechanismError("links: expected one or more, got none")
    for link in links:
        if not isinstance(link, Link):
            raise MechanismError(f"links: expected links such as Link.bar(0.3, mass=1.0), got {link!r}")
    q, qdot = d.coordinates(len(links))
    position, R = ca.SX(finite_vector("base", base, 3)), ca.SX.eye(3)
    ends: list[ca.SX] = []
    rotations: list[ca.SX] = []
    centers: list[ca.SX] = []
    omega = ca.SX.zeros(3)
    for i, link in enumerate(links):
        K = symbolic.skew(ca.SX(link.axis))
        joint = ca.SX.eye(3) + ca.sin(q[i]) * K + (1 - ca.cos(q[i])) * ca.mtimes(K, K)
        omega = ca.mtimes(joint.T, omega + ca.SX(link.axis) * qdot[i])  # in the link's own frame
        R = ca.mtimes(R, joint)
        center = position + ca.mtimes(R, ca.SX(link.center))
        velocity = symbolic.along(center, q, qdot)
        J = ca.SX(link.inertia)
        d.kinetic_energy(link.mass * ca.sumsqr(velocity) / 2 + ca.dot(omega, ca.mtimes(J, omega)) / 2)
        if any(gravity):
            d.gravity(link.mass, center, gravity)
        position = position + ca.mtimes(R, ca.SX(link.tip))
        ends.append(position)
        rotations.append(R)
        centers.append(center)
    return Chain(tuple(ends), tuple(rotations), tuple(centers))
