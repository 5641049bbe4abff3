"""Results of a simulator's last step: its contacts, forces, statistics, and its problem for :func:`solve`."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike

from convex_contact.model.world import World, vector
from convex_contact.problem.approximations import Approximation
from convex_contact.problem.constraints import Constraint
from convex_contact.problem.normal_laws import NormalLaw
from convex_contact.problem.problem import ContactProblem
from convex_contact.problem.reference import DenseProblem
from convex_contact.simulation.body_joint_rows import BodyRows
from convex_contact.simulation.dynamics import WorldDynamics
from convex_contact.simulation.joint_rows import JointRows
from convex_contact.simulation.reports import (
    ContactReport,
    StepStatistics,
    WorldAxesContacts,
    contact_report,
    solver_numbers,
    step_impulses,
    step_world_axes_arrays,
    stiction_tolerances,
    world_axes_arrays,
)
from convex_contact.simulation.torsional_friction import torsional_constraints, torsional_impulses
from convex_contact.solver.solution import Solution


class LastStep:
    """Results of the last step of a :class:`Simulator`, which is a subclass.

    Attributes:
        world, period, approximation, dynamics: see :class:`Simulator`.
    """

    world: World
    period: float
    approximation: str
    dynamics: WorldDynamics
    _chosen: Approximation
    _law: NormalLaw
    _options: dict[str, float]
    _tangential: tuple[float, float]
    _elastoplastic: bool
    _workspace: Any
    _body_rows: BodyRows
    _joint_rows: JointRows
    _own: list[Constraint]
    _own_count: int
    _solved: bool

    def __repr__(self) -> str:
        bodies, contacts = len(self.world.bodies), int(self.dynamics.contacts.count[0])
        steps = f"time={self.dynamics.time:g} s, period={self.period:g} s, {self.approximation}"
        return f"{type(self).__name__}({steps}, {bodies} bodies, {contacts if self._solved else 0} contacts)"

    @property
    def statistics(self) -> StepStatistics:
        """Statistics of the last step."""
        iterations, factorizations, active, residual = solver_numbers(self._workspace)
        return StepStatistics(iterations, factorizations, int(self.dynamics.contacts.count[0]), active, residual)

    @property
    def contacts(self) -> ContactReport:
        """Contacts of the last step; empty before the first."""
        c = self.dynamics.contacts
        if not self._solved:  # the workspace has no room yet
            none = np.zeros((0, 3))
            flat, flags = np.zeros(0), np.zeros(0, dtype=bool)
            whole, frames = np.zeros((0, 2), dtype=np.int64), np.zeros((0, 3, 3))
            return ContactReport(whole, none, frames, flat, none, none, flat, flags, flat)
        return contact_report(c.record, self._workspace)

    @property
    def contacts_in_world_axes(self) -> WorldAxesContacts:
        """Contacts of the last step with the impulses in world axes."""
        if self._solved:
            return step_world_axes_arrays(self.dynamics.contacts.record, self._workspace)
        r = self.contacts
        return world_axes_arrays(r.body, r.position, r.frame, r.signed_distance, r.impulse, r.slip_velocity, r.sticking)

    def contacts_between(self, a: int | str, b: int | str) -> ContactReport:
        """Returns the contacts of two bodies; normals point from a into b, velocities and impulses are those of b."""
        return self.contacts.between(self.world.number(a), self.world.number(b))

    def contact_wrench(self, body: int | str, about: ArrayLike | None = None) -> np.ndarray:
        """Returns the mean contact force on a body in the last step and its torque (6,) [N, N m], world axes; 0 before.

        Args:
            body: number or name.
            about: reference point of the torque (3,) [m], in the world frame; default: present origin of the body.
        """
        number = self.world.number(body)
        point = self.dynamics.state(number).position if about is None else vector(about, 3, "about")
        return self.contacts.impulse_on(number, self.torsional_impulse, point) / self.period

    @property
    def contact_jacobian(self) -> np.ndarray:
        """Jacobian of the last step's contacts (n, 3, nv): velocities along t1, t2, n by the world's velocities."""
        return np.asarray(self.dynamics.dense()["J"].reshape(-1, 3, self.dynamics.nv))

    @property
    def stiction_tolerance(self) -> np.ndarray:
        """Effective stiction tolerance of the last step's contacts (n,) [m/s]; NaN for a contact without force.

        It is the slip speed at which friction reaches its bound (Table I): v_s of Lagged and Similar, the larger of v_s
        and sigma w mu gamma_n0 of their regularised forms (26), sigma w mu gamma_n of SAP, and 0 of
        lagged_elastoplastic. It is empty before the first step.
        """
        contacts = int(self.dynamics.contacts.count[0]) if self._solved else 0
        return stiction_tolerances(self._workspace, contacts, self._chosen.code) if contacts else np.zeros(0)

    @property
    def pressing(self) -> tuple[Any, np.ndarray]:
        """Last step's contacts and their impulses along t1, t2, n (at least n, 3), views for compiled code."""
        return self.dynamics.contacts.record, step_impulses(self._workspace)

    @property
    def torsional_impulse(self) -> np.ndarray:
        """Impulses about the normals of the last step's contacts, on their second bodies (n,) [N m s]; 0 without."""
        if not self._solved:
            return np.zeros(0)
        return torsional_impulses(self.dynamics, self._workspace, self._torsional_start)

    @property
    def elastic_displacement(self) -> np.ndarray:
        """Elastic displacements of the contacts at the end of the last step along t1, t2 (n, 2) [m]."""
        return self._elastic_displacement(self.dynamics.contacts.elastic)

    def _elastic_displacement(self, column: np.ndarray) -> np.ndarray:
        n = int(self.dynamics.contacts.count[0]) if self._elastoplastic and self._solved else 0
        return column[:n].copy()

    @property
    def _torsional_start(self) -> int:
        """Number of rows in the last step before those of torsional friction."""
        return self._body_rows.count + self._own_count + len(self._joint_rows) - len(self._joint_rows.idle)

    @property
    def _constraints(self) -> list[Constraint]:
        """Constraints of the last step."""
        between = self._body_rows.constraints(self.dynamics, self._workspace)
        return between + self._own + self._joint_rows.constraints()

    @property
    def solution(self) -> Solution:
        """Last step in the form of :func:`~convex_contact.solve`, for its cost, condition number or gradients.

        Raises:
            RuntimeError: there was no step yet.
        """
        if not self._solved:
            raise RuntimeError("solution: there was no step yet")
        options: dict[str, Any] = dict(self._options)
        if self._elastoplastic:
            options["elastic_displacement"] = self._elastic_displacement(self.dynamics.contacts.elastic_start)
            options["tangential_stiffness"] = self._tangential[0] or None
            options["tangential_damping"] = self._tangential[1]
        problem = ContactProblem(
            **self.dynamics.dense(),
            period=self.period,
            normal_law=None if self.approximation == "sap" else self._law,
            constraints=self._constraints
            + torsional_constraints(self.dynamics, self._workspace, self._torsional_start),
            **options,
        )
        velocity = self.dynamics.arrays.v.copy()
        done = self.statistics

        def solve_hessian(B: np.ndarray) -> np.ndarray:
            H = DenseProblem(problem, self.approximation).hessian(velocity)
            return np.asarray(scipy.linalg.solve(H, B, assume_a="pos"))

        return Solution(
            problem,
            self._chosen,
            velocity,
            iterations=done.iterations,
            residual=done.residual,
            solve_hessian=solve_hessian,
        )
