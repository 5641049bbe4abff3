"""Reports of a step: statistics of the solver, and the contacts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from convex_contact.model.arrays import ContactRecord
from convex_contact.problem import checks, contact_kernels
from convex_contact.solver.contact_terms import law_of
from convex_contact.solver.workspace import inputs, load_of, outputs, statistics

_P = contact_kernels


@dataclass(frozen=True)
class StepStatistics:
    """Statistics of a step's solution.

    Attributes:
        iterations: Newton steps.
        factorizations: of the Hessian or parts of it.
        contacts: in the list.
        active_contacts: that took part; the potentials of the others are flat at the solution.
        residual: relative momentum residual, scaled by diag(A)^(-1/2).

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


class ContactReport(NamedTuple):
    """Contacts of a step, n of them; velocities and impulses are those of B against A, or on B.

    Attributes:
        body: numbers of the bodies A and B (n, 2).
        position: of the points in the world frame (n, 3) [m].
        frame: rows t1, t2, n in the world frame (n, 3, 3); n points from A into B.
        signed_distance: at the start of the step (n,) [m].
        impulse: along t1, t2, n (n, 3) [N s].
        slip_velocity: in the world frame (n, 3) [m/s].
        normal_velocity: (n,) [m/s]; positive separates.
        sticking: the contact has a force below its transition speed (Table I) or its yield force (n,).
        area: of a face of a hydroelastic contact surface [m^2]; 0: a point (n,).

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
        """Returns the contacts of two bodies, with a as A; reverses normals, velocities and impulses if needed.

        Args:
            a: number of a body; :meth:`~convex_contact.Simulator.contacts_between` also takes names.
            b: number of another body.

        Raises:
            ValueError: it is no number of a body.
        """
        for name, number in (("a", a), ("b", b)):
            if not checks.is_whole(number):
                raise ValueError(f"{name}: expected the number of a body, got {number!r}")
        flipped = (self.body == [b, a]).all(axis=1)
        chosen = np.flatnonzero(flipped | (self.body == [a, b]).all(axis=1))
        flipped = flipped[chosen]
        frame, impulse, body = self.frame[chosen], self.impulse[chosen], self.body[chosen]
        frame[flipped, 1:] *= -1.0  # a half rotation about t1 keeps it right-handed
        impulse[flipped, 0] *= -1.0  # the opposite impulse: its components along t2 and n keep their signs
        body[flipped] = body[flipped, ::-1]
        sign = np.where(flipped, -1.0, 1.0)
        return ContactReport(
            body, self.position[chosen], frame, self.signed_distance[chosen], impulse,
            sign[:, None] * self.slip_velocity[chosen], self.normal_velocity[chosen], self.sticking[chosen],
            self.area[chosen],
        )  # fmt: skip

    def impulse_on(self, body: int, torsional: np.ndarray, point: np.ndarray) -> np.ndarray:
        """Returns the impulse of all contacts on a body and its moment about a point (6,) [N s, N m s], in world axes.

        Args:
            body: number.
            torsional: impulses about the normals, on the second bodies (n,) [N m s].
            point: (3,) [m], in the world frame.
        """
        total = np.zeros(6)
        _add_impulses(self.body, self.position, self.frame, self.impulse, torsional, body, point, total)
        return total


@njit(cache=True, nogil=True, error_model="numpy")
def _add_impulses(
    bodies: np.ndarray, position: np.ndarray, frame: np.ndarray, impulse: np.ndarray, torsional: np.ndarray, body: int,
    point: np.ndarray, total: np.ndarray,
) -> None:  # fmt: skip
    """Adds the impulses of contacts on a body, and their moments about a point, to a total (6,)."""
    for k in range(len(bodies)):
        for side in range(2):
            if bodies[k, side] != body:
                continue
            sign, f = (-1.0, 1.0)[side], np.zeros(3)
            for r in range(3):
                for x in range(3):
                    f[x] += sign * impulse[k, r] * frame[k, r, x]
            for x in range(3):
                y, z = (x + 1) % 3, (x + 2) % 3
                total[x] += f[x]
                total[3 + x] += (position[k, y] - point[y]) * f[z] - (position[k, z] - point[z]) * f[y]
                total[3 + x] += sign * torsional[k] * frame[k, 2, x]


class WorldAxesContacts(NamedTuple):
    """Contacts of a step with the impulses in world axes, n of them; on B, or of B against A.

    Attributes:
        body_a, body_b: numbers of the bodies (n,).
        position: of the points (n, 3) [m].
        normal: from A to B (n, 3).
        signed_distance: (n,) [m].
        normal_impulse: along the normal (n,) [N s].
        tangential_impulse: (n, 3) [N s].
        slip_velocity: (n, 3) [m/s].
        sticking: (n,).
    """

    body_a: np.ndarray
    body_b: np.ndarray
    position: np.ndarray
    normal: np.ndarray
    signed_distance: np.ndarray
    normal_impulse: np.ndarray
    tangential_impulse: np.ndarray
    slip_velocity: np.ndarray
    sticking: np.ndarray


@njit(cache=True, nogil=True, error_model="numpy")
def contact_report(c: ContactRecord, s: Any) -> ContactReport:
    """Returns the contacts of the last step."""
    gamma, vc, derived, took_part, _ = outputs(s)
    law = law_of(s)
    n = c.count[0]
    slip, sticking = np.zeros((n, 3)), np.zeros(n, dtype=np.bool_)
    for k in range(n):
        for i in range(3):
            slip[k, i] = vc[k, 0] * c.frame[k, 0, i] + vc[k, 1] * c.frame[k, 1, i]
        sticking[k] = took_part[k] != 0 and _P.sticks(law, derived, k, vc[k, 0], vc[k, 1], vc[k, 2])
    return ContactReport(
        c.body[:n].copy(), c.point[:n].copy(), c.frame[:n].copy(), c.phi0[:n].copy(), gamma[:n].copy(), slip,
        vc[:n, 2].copy(), sticking, c.area[:n].copy(),
    )  # fmt: skip


@njit(cache=True, nogil=True, error_model="numpy")
def world_axes_arrays(
    body: np.ndarray, point: np.ndarray, frame: np.ndarray, distance: np.ndarray, impulse: np.ndarray,
    slip: np.ndarray, sticking: np.ndarray,
) -> WorldAxesContacts:  # fmt: skip
    """Returns the contacts of a :class:`ContactReport` with the impulses in world axes."""
    n = len(distance)
    a, b = np.empty(n, dtype=np.uint32), np.empty(n, dtype=np.uint32)
    normal, push, tangential = np.empty((n, 3)), np.empty(n), np.empty((n, 3))
    for k in range(n):
        a[k], b[k], push[k] = body[k, 0], body[k, 1], impulse[k, 2]
        for i in range(3):
            normal[k, i] = frame[k, 2, i]
            tangential[k, i] = 0.0 + impulse[k, 0] * frame[k, 0, i] + impulse[k, 1] * frame[k, 1, i]  # no zero is -0.0
    return WorldAxesContacts(a, b, point, normal, distance, push, tangential, slip, sticking)


@njit(cache=True, nogil=True, error_model="numpy")
def step_world_axes_arrays(c: ContactRecord, s: Any) -> WorldAxesContacts:
    """Returns the contacts of the last step with the impulses in world axes."""
    r = contact_report(c, s)
    return world_axes_arrays(r.body, r.position, r.frame, r.signed_distance, r.impulse, r.slip_velocity, r.sticking)


@njit(cache=True, nogil=True, error_model="numpy")
def solver_numbers(s: Any) -> tuple[int, int, int, float]:
    """Returns iterations, factorizations, active contacts and residual of the last step."""
    done = statistics(s)
    return done.iterations, done.factorizations, load_of(s), done.residual


@njit(cache=True, nogil=True, error_model="numpy")
def step_impulses(s: Any) -> np.ndarray:
    """Returns the impulses of the last step's contacts along t1, t2, n, a view (at least n, 3)."""
    return outputs(s).gamma


def stiction_tolerances(workspace: Any, contacts: int, approximation: int) -> np.ndarray:
    """Returns slip speeds below which contacts stick (contacts,) [m/s]; see :attr:`Simulator.stiction_tolerance`."""
    solved = outputs(workspace)
    gamma, derived = solved.gamma[:contacts], solved.derived[:contacts]
    loaded = gamma[:, 2] > 0.0
    tolerance = np.full(contacts, np.nan)
    if approximation == _P.LAGGED_ELASTOPLASTIC:
        tolerance[loaded] = 0.0
    elif approximation == _P.SAP:
        mu = inputs(workspace).contacts.parameters[:contacts, _P.COEFFICIENT]
        tolerance[loaded] = mu[loaded] * derived[loaded, _P.D_EPS] * gamma[loaded, 2]
    else:
        tolerance[loaded] = derived[loaded, _P.D_EPS]
    return tolerance
