"""Friction on the free directions: laws that oppose the tool's motion tangential to the constraints.

The paper renders viscous damping (section II-E). Dry friction evaluated at the last velocity would chatter at rest.
Here it is implicit: v* is the velocity of the tool after the step without friction, W its response to an impulse. The
force f and the velocity v after the step satisfy together

    v = v* - T W f,   f = g(|v|) v/|v| while sliding,   |f| <= g(0) at v = 0,

the vector form of Kikuuwe et al. (52) with the matrix T W = T J M^-1 P_u J^T instead of the scalar Z. Constraint
forces do not enter: for a friction that grows with the normal force (Coulomb's with a coefficient) the user sets the
breakaway force.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg.lapack import dsyevd

#: eigenvalues of W below this fraction of the largest are directions that the constraints forbid
_FORBIDDEN = 1e-9
#: eigenvalues of W that differ by less than this fraction count as equal: the law's own closed form then holds
_EQUAL = 1e-12
_SWEEPS = 200


class Law(Protocol):
    """Friction law, as in `haptic_friction`."""

    @property
    def breakaway_force(self) -> float:
        """g(0): the largest force of static friction."""
        ...

    def projected(self, x: ArrayLike, Z: ArrayLike) -> np.ndarray:
        """Computes Phi_Z(x), the solution y of y = Phi(x - Z y), for a number or a matrix Z."""
        ...


@dataclass(frozen=True)
class FrictionSolution:
    """Friction of one step.

    Attributes:
        wrench: [force; moment] on the tool against its motion, base frame, shape (6,) [N; N m].
        sticking: whether every element sticks. If one of two elements slides and the other sticks, the velocity of
            the second is zero to the convergence of their iteration (1e-14 of the force), not exactly.
        at_rest: whether they stick and leave no free direction, so that the mechanism does not move.
    """

    wrench: np.ndarray
    sticking: bool
    at_rest: bool


class FreeDirectionFriction:
    """Laws of friction on the tool's velocity, its angular velocity, or both.

    Args:
        translation: law on the tool point's velocity [N, m/s], or None.
        rotation: law on the tool's angular velocity [N m, rad/s], or None.

    Raises:
        ValueError: neither is given.

    Examples:
        >>> from admittance_constraints import FreeDirectionFriction, ReferenceGenerator, RollingDisk
        >>> from haptic_friction import CoulombLaw
        >>> friction = FreeDirectionFriction(translation=CoulombLaw(1.0))
        >>> generator = ReferenceGenerator(RollingDisk(), period=1e-3, friction=friction)
        >>> generator.step([0.5, 0.0, 0.0, 0.0, 0.0, 0.0]).sticking
        True
    """

    def __init__(self, *, translation: Law | None = None, rotation: Law | None = None) -> None:
        if translation is None and rotation is None:
            raise ValueError("translation: expected a law for translation, rotation or both, got neither")
        self.translation, self.rotation = translation, rotation
        self._laws = [law for law in (translation, rotation) if law is not None]
        self._rows = slice(0 if translation is not None else 3, 6 if rotation is not None else 3)

    def solve(
        self, velocity: np.ndarray, mobility: np.ndarray, twist: np.ndarray, period: float, freedoms: int
    ) -> FrictionSolution:
        """Computes the friction of one step.

        Args:
            velocity: v* in the free coordinates after the step without friction, shape (k,).
            mobility: their acceleration per wrench on the tool, shape (k, 6).
            twist: the tool's twist per velocity, shape (6, k).
            period: T [s].
            freedoms: number of free directions, n - m.
        """
        rows = self._rows
        response = _Response(period * (twist[rows] @ mobility[:, rows]))
        y = response.within(twist[rows] @ velocity)
        wrench = np.zeros(6)
        sticking = response.sticking_force(y, self._laws)
        if sticking is not None:
            wrench[rows] = -sticking
            return FrictionSolution(wrench, True, len(response.values) == freedoms)
        if len(self._laws) == 1:
            wrench[rows] = -response.slide(y, self._laws[0])
        else:
            wrench -= self._slide_together(velocity, mobility, twist, period)
        return FrictionSolution(wrench, False, False)

    def _slide_together(
        self, velocity: np.ndarray, mobility: np.ndarray, twist: np.ndarray, period: float
    ) -> np.ndarray:
        """Computes the forces of two elements of which at least one slides, shape (6,), by block Gauss-Seidel."""
        parts = (slice(0, 3), slice(3, 6))
        responses = [_Response(period * (twist[part] @ mobility[:, part])) for part in parts]
        forces = np.zeros(6)
        for _ in range(_SWEEPS):
            before = forces.copy()
            for part, response, law in zip(parts, responses, self._laws, strict=True):
                forces[part] = 0.0
                y = response.within(twist[part] @ (velocity - period * (mobility @ forces)))
                sticking = response.sticking_force(y, [law])
                forces[part] = response.slide(y, law) if sticking is None else sticking
            if np.abs(forces - before).max() <= 1e-14 * np.abs(forces).max():
                break
        return forces


class _Response:
    """Solves f = Phi(v* - Z f) for a symmetric matrix Z, positive semidefinite, shape (r, r)."""

    def __init__(self, Z: np.ndarray) -> None:
        # the routine that numpy.linalg.eigh calls, which takes as long again around it
        values, vectors, failed = dsyevd((Z + Z.T) / 2.0, lower=1)
        if failed:
            raise np.linalg.LinAlgError("the eigenvalues of the tool's response do not converge")
        # if the constraints forbid all motion, no direction is left and no friction acts
        first = int(values.searchsorted(_FORBIDDEN * max(float(values[-1]), 1e-300), side="right"))
        self.values: np.ndarray = values[first:]
        self.vectors: np.ndarray = np.ascontiguousarray(vectors)[:, first:]

    def within(self, velocity: np.ndarray) -> np.ndarray:
        """Gives the components of a velocity along the eigenvectors that can move."""
        return np.asarray(self.vectors.T @ velocity)

    def sticking_force(self, y: np.ndarray, laws: list[Law]) -> np.ndarray | None:
        """Finds forces within the breakaway forces of all laws that leave no velocity, shape (r,); None without any.

        Each law has three of the rows. Let a, b be the utilisations of two laws. The least weighted norm
        lambda a^2 + (1 - lambda) b^2 among the forces that leave no velocity is a lower bound of max(a, b)^2 for
        every lambda. Either some lambda shows that both laws can stick, or some lambda shows that they cannot.
        """
        if not y.any():
            return np.zeros(len(self.vectors))
        force = self.vectors @ (y / self.values)
        if len(laws) == 1:
            return force if math.sqrt(float(force @ force)) <= laws[0].breakaway_force else None
        B = (self.vectors * self.values).T
        breakaway = np.array([max(law.breakaway_force, 1e-300) for law in laws])
        low, high = 0.0, 1.0
        for _ in range(_SWEEPS):
            weights = np.array([(low + high) / 2, 1.0 - (low + high) / 2])
            D = np.repeat(breakaway**2 / weights, 3)
            force = D * (B.T @ np.linalg.solve((B * D) @ B.T, y))
            used = np.sqrt((force * force).reshape(2, 3).sum(axis=1)) / breakaway
            if used.max() <= 1.0:
                return force
            if weights @ used**2 > 1.0:
                return None
            low, high = ((low + high) / 2, high) if used[0] > used[1] else (low, (low + high) / 2)
        return None

    def slide(self, y: np.ndarray, law: Law) -> np.ndarray:
        """Computes f of a sliding contact, shape (3,)."""
        equal = self.values[-1] - self.values[0] <= _EQUAL * self.values[-1]
        Z = float(self.values[-1]) if equal else np.diag(self.values)
        return np.asarray(self.vectors @ law.projected(y, Z))
