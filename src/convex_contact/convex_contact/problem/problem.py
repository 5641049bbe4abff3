"""The convex problem of one step (section III-A), as arrays.

    min over v of  1/2 (v - v*)^T A (v - v*) + sum_i l_i(J_i v + b_i),                                             (3)

with the linearised balance of momentum A (v - v*) = J^T gamma, eq. (2), at the minimum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import scipy
from numpy.typing import ArrayLike

from convex_contact.problem import checks
from convex_contact.problem.approximations import ContactParameters
from convex_contact.problem.constraints import ROW_FIELDS, Constraint, Rows, checked_rows
from convex_contact.problem.near_rigid import near_rigid_compliance
from convex_contact.problem.normal_laws import LinearLaw, NormalLaw


@dataclass(frozen=True, kw_only=True)
class ContactProblem:
    """One step of nv velocities with nc contacts. A single number may stand for equal numbers of all contacts.

    Attributes:
        A: linearised momentum matrix [kg, kg m^2], symmetric positive definite: the mass matrix plus implicit terms
            (`implicit_terms`), shape (nv, nv).
        v_star: v*, the velocity of free motion [m/s, rad/s], shape (nv,).
        J: contact Jacobian, rows t1, t2, n of each contact, v_n > 0 separates; shape (3 nc, nv).
        phi0: signed distances at the start of the step [m], negative where bodies overlap, shape (nc,).
        v_n0: normal velocities at the start of the step [m/s], shape (nc,).
        period: dt [s].
        stiffness: k [N/m], above 0, shape (nc,). (Hertz: N/m^(3/2).)
        dissipation: d of Hunt & Crossley [s/m], shape (nc,); not used by SAP.
        relaxation_time: tau_d [s], shape (nc,); used by SAP only.
        friction: mu, shape (nc,), or a friction tensor, symmetric positive definite, shape (nc, 2, 2).
        stiction_tolerance: v_s [m/s].
        sigma: regularisation of SAP and of eq. (26).
        near_rigid: beta of SAP; 0: no near-rigid limit.
        bias: b of v_c = J v + b [m/s], shape (3 nc,) or (nc, 3); None for zeros.
        normal_law: None for the linear law with Hunt & Crossley dissipation; not for SAP.
        constraints: constraints beside contact (module `constraints`).
        tangential_stiffness: k_t [N/m] of lagged_elastoplastic, above 0, shape (nc,); None for `stiffness`.
        tangential_damping: b_t [N s/m] of lagged_elastoplastic, shape (nc,); None for zeros.
        elastic_displacement: e of lagged_elastoplastic along t1, t2 [m], shape (nc, 2); None for zeros.
        friction_tensor: M beside the coefficient mu, symmetric positive definite, shape (nc, 2, 2), so that contacts
            with mu (M = I) and contacts with a tensor (mu = 1) are in one problem; None: `friction` says all.

    Raises:
        ValueError: a field has a wrong shape, a number that is not finite or out of bounds, or a matrix is not
            symmetric positive definite; the message names the field, the expected value and the given one.

    Examples:
        >>> import numpy as np
        >>> from convex_contact import ContactProblem
        >>> problem = ContactProblem(
        ...     A=np.eye(3), v_star=[0.0, 0.0, -1.0], J=np.eye(3), phi0=[0.0], v_n0=[-1.0], period=1e-3,
        ...     stiffness=[1e8], dissipation=[0.0], relaxation_time=[1e-4], friction=[0.5],
        ... )
        >>> problem.J.shape
        (3, 3)
    """

    A: np.ndarray
    v_star: np.ndarray
    J: np.ndarray
    phi0: np.ndarray
    v_n0: np.ndarray
    period: float
    stiffness: np.ndarray
    dissipation: np.ndarray
    relaxation_time: np.ndarray
    friction: np.ndarray
    stiction_tolerance: float = 1e-4
    sigma: float = 1e-3
    near_rigid: float = 0.0
    bias: ArrayLike | None = None
    normal_law: NormalLaw | None = None
    constraints: Sequence[Constraint] = field(default=())
    tangential_stiffness: ArrayLike | None = None
    tangential_damping: ArrayLike | None = None
    elastic_displacement: ArrayLike | None = None
    friction_tensor: ArrayLike | None = None

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        if np.ndim(self.phi0) != 1:
            raise ValueError(f"phi0: expected shape (nc,), got {np.shape(self.phi0)}")
        if np.ndim(self.v_star) != 1 or not len(self.v_star):
            raise ValueError(f"v_star: expected shape (nv,) with nv > 0, got {np.shape(self.v_star)}")
        nc, nv = len(self.phi0), len(self.v_star)
        set_(self, "A", checks.positive_definite("A", self.A, (nv, nv)))
        set_(self, "v_star", checks.array("v_star", self.v_star, (nv,)))
        set_(self, "J", checks.array("J", self.J, (3 * nc, nv)))
        for name, minimum, above in (
            ("phi0", None, None),
            ("v_n0", None, None),
            ("stiffness", None, 0.0),
            ("dissipation", 0.0, None),
            ("relaxation_time", 0.0, None),
        ):
            value = getattr(self, name)
            set_(self, name, checks.per_contact(name, value, nc, minimum=minimum, above=above))
        set_(self, "period", checks.number("period", self.period, above=0.0))
        set_(self, "stiction_tolerance", checks.number("stiction_tolerance", self.stiction_tolerance, above=0.0))
        set_(self, "sigma", checks.number("sigma", self.sigma, above=0.0))
        set_(self, "near_rigid", checks.number("near_rigid", self.near_rigid, minimum=0.0))
        if np.ndim(self.friction) == 3:
            set_(self, "friction", checks.positive_definite("friction", self.friction, (nc, 2, 2)))
        elif np.ndim(self.friction) <= 1:
            set_(self, "friction", checks.per_contact("friction", self.friction, nc, minimum=0.0))
        else:
            raise ValueError(f"friction: expected shape ({nc},) or ({nc}, 2, 2), got {np.shape(self.friction)}")
        if self.friction_tensor is not None:
            if np.ndim(self.friction) == 3:
                raise ValueError("friction_tensor: expected None, since friction has tensors already")
            tensor = checks.positive_definite("friction_tensor", self.friction_tensor, (nc, 2, 2))
            set_(self, "friction_tensor", tensor)
        bias = np.zeros((nc, 3)) if self.bias is None else self.bias
        set_(
            self, "bias", checks.array("bias", np.reshape(bias, (nc, 3)) if np.size(bias) == 3 * nc else bias, (nc, 3))
        )
        if self.normal_law is None:
            set_(self, "normal_law", LinearLaw())
        elif not isinstance(self.normal_law, NormalLaw):
            raise ValueError(f"normal_law: expected a NormalLaw or None, got {self.normal_law!r}")
        set_(self, "constraints", tuple(self.constraints))
        for constraint in self.constraints:
            if not isinstance(constraint, Constraint):
                raise ValueError(f"constraints: expected Constraint objects, got {constraint!r}")
        kt = self.stiffness if self.tangential_stiffness is None else self.tangential_stiffness
        set_(self, "tangential_stiffness", checks.per_contact("tangential_stiffness", kt, nc, above=0.0))
        bt = 0.0 if self.tangential_damping is None else self.tangential_damping
        set_(self, "tangential_damping", checks.per_contact("tangential_damping", bt, nc, minimum=0.0))
        e = np.zeros((nc, 2)) if self.elastic_displacement is None else self.elastic_displacement
        set_(self, "elastic_displacement", checks.array("elastic_displacement", e, (nc, 2)))
        fixed = ~self.J.any(axis=1).reshape(nc, 3).any(axis=1)
        if fixed.any():
            raise ValueError(f"J: expected contacts that can move, got only zeros for contact {int(np.argmax(fixed))}")
        _ = self.rows  # checks the constraints' number of columns

    @property
    def contacts(self) -> int:
        """Number of contacts nc."""
        return len(self.phi0)

    @property
    def velocities(self) -> int:
        """Number of velocities nv."""
        return len(self.v_star)

    @property
    def law(self) -> NormalLaw:
        """The normal law."""
        assert self.normal_law is not None
        return self.normal_law

    @cached_property
    def cholesky(self) -> np.ndarray:
        """Lower Cholesky factor of A."""
        return np.linalg.cholesky(self.A)

    @cached_property
    def mobility_rows(self) -> np.ndarray:
        """A^-1 J^T, shape (nv, 3 nc)."""
        return np.asarray(scipy.linalg.cho_solve((self.cholesky, True), self.J.T, check_finite=False))

    @cached_property
    def delassus(self) -> np.ndarray:
        """W_i = J_i A^-1 J_i^T of each contact [1/kg], shape (nc, 3, 3)."""
        J = self.J.reshape(self.contacts, 3, self.velocities)
        X = self.mobility_rows.reshape(self.velocities, self.contacts, 3)
        return np.einsum("nik,knj->nij", J, X)

    @cached_property
    def delassus_estimate(self) -> np.ndarray:
        """w_i = ||W_i||_F / 3 [1/kg], shape (nc,)."""
        return np.asarray(np.linalg.norm(self.delassus, axis=(1, 2)) / 3.0)

    @cached_property
    def rows(self) -> Rows:
        """Rows of all constraints, in their order; `compliance` includes the near-rigid limit."""
        each = [checked_rows(constraint, self.velocities, self.period) for constraint in self.constraints]
        empty, none = np.zeros((0, self.velocities)), np.zeros(0)
        together = Rows(
            np.concatenate([empty, *(r.jacobian for r in each)]),
            *(np.concatenate([none, *(getattr(r, name) for r in each)]) for name in ROW_FIELDS),
        )
        J = together.jacobian
        w = np.einsum("ij,ji->i", J, scipy.linalg.cho_solve((self.cholesky, True), J.T)) if len(J) else none
        R = np.maximum(together.compliance, near_rigid_compliance(together.near_rigid, w))
        return Rows(J, together.bias, together.target, R, together.near_rigid, together.lower, together.upper)

    @cached_property
    def parameters(self) -> ContactParameters:
        """Parameters of the contacts' potentials."""
        return ContactParameters(
            period=self.period,
            law=self.law,
            phi0=self.phi0,
            v_n0=self.v_n0,
            stiffness=self.stiffness,
            dissipation=self.dissipation,
            relaxation_time=self.relaxation_time,
            friction=self.friction,
            delassus=self.delassus_estimate,
            stiction_tolerance=self.stiction_tolerance,
            sigma=self.sigma,
            near_rigid=self.near_rigid,
            tangential_stiffness=np.asarray(self.tangential_stiffness),
            tangential_damping=np.asarray(self.tangential_damping),
            elastic_displacement=np.asarray(self.elastic_displacement),
            friction_tensor=None if self.friction_tensor is None else np.asarray(self.friction_tensor),
        )

    def contact_velocity(self, v: np.ndarray) -> np.ndarray:
        """Returns v_c = J v + b [m/s], shape (nc, 3)."""
        return (self.J @ v).reshape(-1, 3) + np.asarray(self.bias)
