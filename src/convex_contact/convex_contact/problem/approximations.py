"""The convex approximations of contact (section V), mapped over the contacts of a problem.

The formulas are those of `contact_kernels`; this module evaluates them for arrays of contacts. `Approximation.impulse`
and `Approximation.displacement` also take complex numbers, so that derivatives by the complex step are exact to
rounding (`gradients`), and extended doubles.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numba import njit

from convex_contact.problem import contact_kernels as kernels
from convex_contact.problem.contact_kernels import ContactLaw, Regularisation
from convex_contact.problem.elastoplastic import find_elastic_displacement
from convex_contact.problem.elementwise import run
from convex_contact.problem.normal_laws import NormalLaw


@dataclass(frozen=True)
class ContactParameters:
    """Parameters of the potentials of nc contacts; arrays have shape (nc,) unless another shape is given.

    Attributes:
        period: dt [s].
        law: normal law.
        phi0: signed distance at the start of the step [m].
        v_n0: normal velocity of the previous step [m/s].
        stiffness: k [N/m].
        dissipation: d [s/m].
        relaxation_time: tau_d [s].
        friction: mu, shape (nc,), or the tensor M, shape (nc, 2, 2).
        delassus: w = ||J_i A^-1 J_i^T||_F / 3 [1/kg].
        stiction_tolerance: v_s [m/s], a number.
        sigma: regularisation [-], a number.
        near_rigid: beta [-], a number.
        tangential_stiffness: k_t [N/m].
        tangential_damping: b_t [N s/m].
        elastic_displacement: e at the start of the step, in the contact's frame [m], shape (nc, 2).
        friction_tensor: M beside mu, shape (nc, 2, 2); None: I beside mu.
    """

    period: float
    law: NormalLaw
    phi0: np.ndarray
    v_n0: np.ndarray
    stiffness: np.ndarray
    dissipation: np.ndarray
    relaxation_time: np.ndarray
    friction: np.ndarray
    delassus: np.ndarray
    stiction_tolerance: Any
    sigma: Any
    near_rigid: Any
    tangential_stiffness: np.ndarray
    tangential_damping: np.ndarray
    elastic_displacement: np.ndarray
    friction_tensor: np.ndarray | None = None

    @property
    def tensor(self) -> np.ndarray:
        """M, shape (nc, 2, 2) or (1, 2, 2)."""
        if self.friction.ndim == 3:
            return self.friction
        return np.eye(2)[None] if self.friction_tensor is None else self.friction_tensor

    @property
    def coefficient(self) -> np.ndarray:
        """s: mu for isotropic friction, 1 for a tensor, shape (nc,)."""
        return self.friction if self.friction.ndim == 1 else np.ones(len(self.phi0))

    @property
    def mean_square(self) -> np.ndarray:
        """m2: ||M||_F^2/2 for a tensor, 1 for isotropic friction, shape (nc,)."""
        M = self.tensor
        return kernels.mean_square(M[:, 0, 0], M[:, 0, 1], M[:, 1, 1]) + np.zeros(len(self.phi0))

    @property
    def lagged_impulse(self) -> np.ndarray:
        """gamma_n0 = dt f_n(phi0, v_n0) [N s], the normal impulse of the previous step."""
        return self.period * self.law.force(self.phi0, self.v_n0, self.stiffness, self.dissipation)

    @property
    def table(self) -> np.ndarray:
        """Table of the contacts for the kernels, with the columns of `contact_kernels`, shape (nc, 16)."""
        M = self.tensor
        e = self.elastic_displacement
        columns = {
            kernels.PHI0: self.phi0,
            kernels.V_N0: self.v_n0,
            kernels.STIFFNESS: self.stiffness,
            kernels.DISSIPATION: self.dissipation,
            kernels.RELAXATION_TIME: self.relaxation_time,
            kernels.COEFFICIENT: self.coefficient,
            kernels.M11: M[:, 0, 0],
            kernels.M12: M[:, 0, 1],
            kernels.M22: M[:, 1, 1],
            kernels.TANGENTIAL_STIFFNESS: self.tangential_stiffness,
            kernels.TANGENTIAL_DAMPING: self.tangential_damping,
            kernels.ELASTIC_DISPLACEMENT: e[:, 0],
            kernels.ELASTIC_DISPLACEMENT + 1: e[:, 1],
        }
        table = np.zeros((len(self.phi0), kernels.PARAMETERS), dtype=np.result_type(*columns.values()))
        for column, values in columns.items():
            table[:, column] = values
        return table

    def with_values(self, **values: Any) -> ContactParameters:
        """Returns the same contacts with some parameters replaced."""
        return replace(self, **values)


@dataclass(frozen=True)
class Approximation:
    """One convex approximation. Velocities v_c are arrays (nc, 3): t1, t2, n.

    Attributes:
        name: name, as an argument of `solve`.
        code: code for the compiled kernels.
    """

    name: str
    code: int

    def potential(self, p: ContactParameters, v: np.ndarray) -> np.ndarray:
        """Returns the potential l [J] up to a constant, shape (nc,)."""
        out = np.empty(len(v))
        _potentials(*self._prepared(p, v), out)
        return out

    def impulse(self, p: ContactParameters, v: np.ndarray) -> np.ndarray:
        """Returns the impulse gamma = -dl/dv [N s], shape (nc, 3)."""
        law, derived, v = self._prepared(p, v)
        out = np.empty_like(v)
        run(_impulses, v.dtype, law, derived, v, out)
        return out

    def hessian(self, p: ContactParameters, v: np.ndarray) -> np.ndarray:
        """Returns the Hessian G = d^2 l/dv^2 [kg], shape (nc, 3, 3), symmetric positive semidefinite."""
        out = np.empty((len(v), 3, 3))
        _hessians(*self._prepared(p, v), out)
        return out

    def sticking(self, p: ContactParameters, v: np.ndarray) -> np.ndarray:
        """Returns the mask (nc,) of sticking contacts: friction bound above 0, below the transition speed (Table I)."""
        out = np.empty(len(v), dtype=bool)
        _sticking(*self._prepared(p, v), out)
        return out

    def displacement(self, p: ContactParameters, impulse: np.ndarray) -> np.ndarray:
        """Returns e at the end of the step [m], shape (nc, 2); zeros unless lagged_elastoplastic."""
        if self.code != kernels.LAGGED_ELASTOPLASTIC:
            return np.zeros_like(p.elastic_displacement)
        table, e = p.table, p.elastic_displacement
        dtype = np.result_type(table, impulse, np.asarray(p.period))
        arrays = table.astype(dtype), dtype.type(p.period), e.astype(dtype), impulse.astype(dtype)
        out = np.empty((len(e), 2), dtype=dtype)
        run(_displacements, dtype, *arrays, out)
        return out

    def _prepared(self, p: ContactParameters, v: np.ndarray) -> tuple[ContactLaw, np.ndarray, np.ndarray]:
        """Returns law, derived numbers of the contacts and velocities for the loops, all of one type of number."""
        table, numbers = p.table, (p.stiction_tolerance, p.sigma, p.near_rigid)
        dtype = np.result_type(table, p.delassus, v, np.asarray(p.period), *(np.asarray(x) for x in numbers))
        law = ContactLaw(self.code, p.law.code, p.law.addresses, dtype.type(p.period))
        derived = np.zeros((len(v), kernels.DERIVED), dtype=dtype)
        regularisation = Regularisation(*(dtype.type(x) for x in numbers))
        run(_prepare, dtype, law, regularisation, p.delassus.astype(dtype), table.astype(dtype), derived)
        return law, derived, np.ascontiguousarray(v, dtype=dtype)


def _prepare(law: ContactLaw, numbers: Regularisation, w: np.ndarray, table: np.ndarray, derived: np.ndarray) -> None:
    for i in range(len(table)):
        kernels.prepare(law, numbers, w[i], table, derived, i)


def _impulses(law: ContactLaw, derived: np.ndarray, v: np.ndarray, out: np.ndarray) -> None:
    for i in range(len(v)):
        out[i, 0], out[i, 1], out[i, 2] = kernels.impulse(law, derived, i, v[i, 0], v[i, 1], v[i, 2])


def _displacements(table: np.ndarray, period: Any, e: np.ndarray, impulse: np.ndarray, out: np.ndarray) -> None:
    for i in range(len(e)):
        g = impulse[i]
        out[i, 0], out[i, 1] = find_elastic_displacement(table, i, period, e[i, 0], e[i, 1], g[0], g[1])


@njit(error_model="numpy", cache=True)
def _potentials(law: ContactLaw, derived: np.ndarray, v: np.ndarray, out: np.ndarray) -> None:
    for i in range(len(v)):
        out[i] = kernels.potential(law, derived, i, v[i, 0], v[i, 1], v[i, 2])


@njit(error_model="numpy", cache=True)
def _hessians(law: ContactLaw, derived: np.ndarray, v: np.ndarray, out: np.ndarray) -> None:
    for i in range(len(v)):
        x = kernels.impulse_and_hessian(law, derived, i, v[i, 0], v[i, 1], v[i, 2])
        out[i, 0, 0], out[i, 1, 1], out[i, 2, 2] = x.h11, x.h22, x.hnn
        out[i, 0, 1] = out[i, 1, 0] = x.h12
        out[i, 0, 2] = out[i, 2, 0] = x.h1n
        out[i, 1, 2] = out[i, 2, 1] = x.h2n


@njit(error_model="numpy", cache=True)
def _sticking(law: ContactLaw, derived: np.ndarray, v: np.ndarray, out: np.ndarray) -> None:
    for i in range(len(v)):
        out[i] = kernels.sticks(law, derived, i, v[i, 0], v[i, 1], v[i, 2])


#: approximations by name
APPROXIMATIONS: dict[str, Approximation] = {
    a.name: a
    for a in (
        Approximation("sap", kernels.SAP),
        Approximation("lagged", kernels.LAGGED),
        Approximation("lagged_regularized", kernels.LAGGED_REGULARIZED),
        Approximation("similar", kernels.SIMILAR),
        Approximation("similar_regularized", kernels.SIMILAR_REGULARIZED),
        Approximation("lagged_elastoplastic", kernels.LAGGED_ELASTOPLASTIC),
    )
}


def approximation_named(name: str) -> Approximation:
    """Returns the approximation with a name.

    Raises:
        ValueError: the name is unknown; the message lists the known names.
    """
    try:
        return APPROXIMATIONS[name]
    except (KeyError, TypeError):
        raise ValueError(f"approximation: expected one of {', '.join(APPROXIMATIONS)}, got {name!r}") from None
