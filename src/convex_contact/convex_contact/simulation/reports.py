"""What a step did: statistics of the solver, and the contacts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit

from convex_contact.model.arrays import ContactRecord
from convex_contact.problem import contact_kernels
from convex_contact.solver.workspace import inputs, outputs

_P = contact_kernels


@dataclass(frozen=True)
class StepStatistics:
    """How a step was solved.

    Attributes:
        iterations: Newton steps.
        factorizations: Of the Hessian or parts of it.
        contacts: In the list.
        active_contacts: That took part; the others are flat at the solution.
        residual: Relative momentum residual, scaled by diag(A)^(-1/2).

    Examples:
        >>> from convex_contact import Simulator, World
        >>> world = World()
        >>> _ = world.add_half_space("ground")
        >>> _ = world.add_sphere("ball", mass=1.0, radius=0.1, position=(0.0, 0.0, 1.0))
        >>> simulator = Simulator(world, period=1e-3)
        >>> simulator.step()
        >>> simulator.statistics.active_contacts  # the ball still falls
        0
    """

    iterations: int
    factorizations: int
    contacts: int
    active_contacts: int
    residual: float


@dataclass(frozen=True)
class ContactReport:
    """The contacts of a step, n of them; velocities and impulses are those of B against A, or on B.

    Attributes:
        body: Numbers of the bodies A and B, shape (n, 2).
        position: Of the points, world (n, 3), m.
        frame: Rows t1, t2, n, world (n, 3, 3); n points from A into B.
        signed_distance: At the start of the step (n,), m.
        impulse: Along t1, t2, n (n, 3), N s.
        slip_velocity: World (n, 3), m/s.
        normal_velocity: (n,), m/s; positive separates.
        sticking: Bears a force below its transition speed (Table I) or its yield force (n,).
        area: Of a face of a hydroelastic contact surface, m^2; 0: a point (n,).

    Examples:
        >>> from convex_contact import Simulator, World
        >>> world = World()
        >>> ground = world.add_half_space("ground")
        >>> ball = world.add_sphere("ball", mass=1.0, radius=0.1, position=(0.0, 0.0, 0.1))
        >>> simulator = Simulator(world, period=1e-3)
        >>> simulator.step(1000)
        >>> contacts = simulator.contacts.between(ground, ball)
        >>> (contacts.impulse[:, 2] / 1e-3).round(2).tolist()  # the weight [N]
        [9.81]
    """

    body: np.ndarray
    position: np.ndarray
    frame: np.ndarray
    signed_distance: np.ndarray
    impulse: np.ndarray
    slip_velocity: np.ndarray
    normal_velocity: np.ndarray
    sticking: np.ndarray
    area: np.ndarray

    def between(self, a: int, b: int) -> ContactReport:
        """The contacts of two bodies, with the first as A: normals, velocities and impulses are turned where needed."""
        turned = (self.body == [b, a]).all(axis=1)
        chosen = np.flatnonzero(turned | (self.body == [a, b]).all(axis=1))
        turned = turned[chosen]
        frame, impulse, body = self.frame[chosen], self.impulse[chosen], self.body[chosen]
        frame[turned, 1:] *= -1.0  # half a turn about t1, so that it stays right-handed
        impulse[turned, 0] *= -1.0  # the impulse is the opposite one: that along t2 and n keeps its sign
        body[turned] = body[turned, ::-1]
        sign = np.where(turned, -1.0, 1.0)
        return ContactReport(
            body, self.position[chosen], frame, self.signed_distance[chosen], impulse,
            sign[:, None] * self.slip_velocity[chosen], self.normal_velocity[chosen], self.sticking[chosen],
            self.area[chosen],
        )  # fmt: skip

    def impulse_on(self, body: int, torsional: np.ndarray, point: np.ndarray) -> np.ndarray:
        """The impulse of all contacts on a body and its moment about a point (6,), N s and N m s, world.

        Args:
            body: Number.
            torsional: About the normals, on the second bodies (n,), N m s.
            point: (3,), m, world.
        """
        total = np.zeros(6)
        for side, sign in ((0, -1.0), (1, 1.0)):
            k = self.body[:, side] == body
            linear = sign * np.einsum("kr,krx->kx", self.impulse[k], self.frame[k])
            angular = np.cross(self.position[k] - point, linear) + sign * torsional[k, None] * self.frame[k, 2]
            total += np.concatenate([linear.sum(axis=0), angular.sum(axis=0)])
        return total


@njit(cache=True, nogil=True, error_model="numpy")
def contact_report_arrays(c: ContactRecord, s: Any, approximation: int, period: float) -> Any:
    """The arrays of a :class:`ContactReport`."""
    gamma, vc, derived, took_part, _ = outputs(s)
    n = c.count[0]
    slip, sticking = np.zeros((n, 3)), np.zeros(n, dtype=np.bool_)
    for k in range(n):
        for i in range(3):
            slip[k, i] = vc[k, 0] * c.frame[k, 0, i] + vc[k, 1] * c.frame[k, 1, i]
        size = math.hypot(gamma[k, 0], gamma[k, 1])
        if approximation == _P.LAGGED_ELASTOPLASTIC:  # below the yield force
            bound = period * derived[k, _P.D_BOUND]
        elif approximation == _P.SAP:  # inside the cone
            bound = c.friction[k] * gamma[k, 2]
        else:  # below the soft norm's width
            lagged = approximation == _P.LAGGED or approximation == _P.LAGGED_REGULARIZED
            load = derived[k, _P.D_BOUND] if lagged else c.friction[k] * gamma[k, 2]
            slow = math.hypot(vc[k, 0], vc[k, 1]) <= derived[k, _P.D_EPS]
            bound = math.inf if slow and load > 0.0 else 0.0
        sticking[k] = took_part[k] != 0 and size < bound * (1 - 1e-12)
    return (
        c.body[:n].copy(), c.point[:n].copy(), c.frame[:n].copy(), c.phi0[:n].copy(), gamma[:n].copy(), slip,
        vc[:n, 2].copy(), sticking, c.area[:n].copy(),
    )  # fmt: skip


def stiction_tolerances(workspace: Any, contacts: int, approximation: int) -> np.ndarray:
    """Slip speeds below which contacts stick, of :attr:`Simulator.stiction_tolerance` (contacts,), m/s."""
    solved = outputs(workspace)
    gamma, derived = solved.gamma[:contacts], solved.derived[:contacts]
    bears = gamma[:, 2] > 0.0
    tolerance = np.full(contacts, np.nan)
    if approximation == _P.LAGGED_ELASTOPLASTIC:
        tolerance[bears] = 0.0
    elif approximation == _P.SAP:
        mu = inputs(workspace).contacts.parameters[:contacts, _P.COEFFICIENT]
        tolerance[bears] = mu[bears] * derived[bears, _P.D_EPS] * gamma[bears, 2]
    else:
        tolerance[bears] = derived[bears, _P.D_EPS]
    return tolerance
