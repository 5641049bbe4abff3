"""Friction on the free directions: laws that oppose the tool's motion tangential to the constraints.

The paper renders viscous damping (section II-E). Dry friction evaluated at the last velocity would chatter at rest.
Here friction is implicit: v* is the velocity of the tool after the step without friction, W its response to an impulse.
The force f and the velocity v after the step satisfy

    v = v* - T W f,   f = g(|v|) v/|v| while sliding,   |f| <= g(0) at v = 0,

the vector form of Kikuuwe et al. (52) with the matrix T W = T J M^-1 P_u J^T instead of the scalar Z. Friction does not
depend on constraint forces: for Coulomb friction with a coefficient the user sets the breakaway force.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from admittance_constraints.generation import friction_kernel
from haptic_friction.laws.law import FrictionLaw

#: coefficients in place of a law that is not given
_NONE = np.zeros((1, 2))


@dataclass(frozen=True)
class FrictionSolution:
    """Friction of one step.

    Attributes:
        wrench: [force; moment] on the tool against its motion, base frame, shape (6,) [N; N m].
        sticking: true if every element sticks. If one of two elements slides and the other sticks, the velocity of
            the second is zero to the convergence of their iteration (1e-14 of the force), not exactly.
        at_rest: true if all elements stick and no free direction remains, so that the mechanism does not move.
        converged: false if the forces of two elements still change after the largest number of sweeps; then they do not
            satisfy both laws.
    """

    wrench: np.ndarray
    sticking: bool
    at_rest: bool
    converged: bool = True


class FreeDirectionFriction:
    """Laws of friction on the tool's velocity, its angular velocity, or both.

    Args:
        translation: isotropic law on the tool point's velocity [N, m/s], or None.
        rotation: isotropic law on the tool's angular velocity [N m, rad/s], or None.

    Raises:
        ValueError: neither is given, or one is not an isotropic law.

    Examples:
        >>> from admittance_constraints import FreeDirectionFriction, ReferenceGenerator, RollingDisk
        >>> from haptic_friction import CoulombLaw
        >>> friction = FreeDirectionFriction(translation=CoulombLaw(1.0))
        >>> generator = ReferenceGenerator(RollingDisk(), period=1e-3, friction=friction)
        >>> generator.step([0.5, 0.0, 0.0, 0.0, 0.0, 0.0]).sticking
        True
    """

    def __init__(self, *, translation: FrictionLaw | None = None, rotation: FrictionLaw | None = None) -> None:
        if translation is None and rotation is None:
            raise ValueError("translation: expected a law for translation, rotation or both, got neither")
        for name, law in (("translation", translation), ("rotation", rotation)):
            if law is not None and not (isinstance(law, FrictionLaw) and law.is_isotropic):
                raise ValueError(f"{name}: expected an isotropic law such as CoulombLaw(1.0), got {law!r}")
        self.translation, self.rotation = translation, rotation
        laws = (translation, rotation)
        given = [law for law in laws if law is not None]
        plain = all(law.kernel_code is None for law in given)
        # codes of one type, whichever law is absent: the kernel is compiled for two pairs of types, not for four
        self._codes = tuple(None if plain else given[0].code if law is None else law.code for law in laws)
        self._coefficients = tuple(_NONE if law is None else law.coefficients[None] for law in laws)
        self._acts = tuple(law is not None for law in laws)
        self._falling = [(law, k) for k, law in enumerate(laws) if law is not None and law.slope_range[0] < 0.0]
        self._wrench, self._largest = np.zeros(6), np.zeros(2)
        self.solve(np.zeros(1), np.zeros((1, 6)), np.zeros((6, 1)), 1.0, 1)  # compiles it now, or loads it

    def __repr__(self) -> str:
        return f"FreeDirectionFriction(translation={self.translation!r}, rotation={self.rotation!r})"

    def solve(
        self, velocity: np.ndarray, mobility: np.ndarray, twist: np.ndarray, period: float, freedoms: int
    ) -> FrictionSolution:
        """Computes the friction of one step.

        Args:
            velocity: v* in the free coordinates after the step without friction, shape (k,).
            mobility: acceleration of the free coordinates per wrench on the tool, shape (k, 6).
            twist: twist of the tool per velocity of the free coordinates, shape (6, k).
            period: T [s].
            freedoms: number of free directions, n - m.

        Raises:
            ValueError: a law falls too steeply for the period and the inertia (Kikuuwe et al. (15)).
        """
        sticking, directions, converged = friction_kernel.solve(
            self._codes,
            self._coefficients,
            self._acts,
            velocity,
            mobility,
            twist,
            period,
            self._wrench,
            self._largest,
        )
        if not sticking:
            for law, k in self._falling:
                law.check_existence(float(self._largest[k]))
        return FrictionSolution(self._wrench.copy(), sticking, sticking and directions == freedoms, converged)
