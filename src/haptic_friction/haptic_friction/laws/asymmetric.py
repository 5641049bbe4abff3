"""A law along a line that differs between the two directions: Phi(-0) /= -Phi(+0)."""

from __future__ import annotations

import numpy as np

from haptic_friction.laws import projection
from haptic_friction.laws.law import FrictionLaw


class AsymmetricLaw(FrictionLaw):
    """Phi(v) = g+(v) for v > 0 and -g-(-v) for v < 0; at rest any force from -g-(0) to g+(0).

    Kikuuwe et al. allow such a Phi in (1), (8), (16) and Theorem 1. Phi_Z(x) has the sign of x, so it is that of the
    forward law for x > 0 and that of the backward law for x < 0.

    Args:
        forward: law of positive velocities, isotropic; only its g counts.
        backward: law of negative velocities, isotropic; only its g counts.

    Raises:
        ValueError: A part is anisotropic, or asymmetric itself.

    Examples:
        >>> from haptic_friction import AsymmetricLaw, CoulombLaw
        >>> law = AsymmetricLaw(CoulombLaw(1.0), CoulombLaw(3.0))
        >>> law.force([0.1]).tolist(), law.force([-0.1]).tolist()
        ([1.0], [-3.0])
    """

    def __init__(self, forward: FrictionLaw, backward: FrictionLaw) -> None:
        for name, law in (("forward", forward), ("backward", backward)):
            if not isinstance(law, FrictionLaw) or not law.is_isotropic:
                raise ValueError(f"{name}: expected an isotropic law, got {type(law).__name__}")
        self.forward, self.backward = forward, backward
        self.code = projection.ASYMMETRIC | forward.code | backward.code << projection.BACKWARD_SHIFT
        width = max(len(forward.coefficients), len(backward.coefficients))
        self.coefficients = np.zeros(2 * width)
        for start, law in ((0, forward), (width, backward)):
            self.coefficients[start : start + len(law.coefficients)] = law.coefficients
        if forward.forces is not None and backward.forces is not None:
            self.forces = np.zeros(2 * width, dtype=bool)
            for start, forces in ((0, forward.forces), (width, backward.forces)):
                self.forces[start : start + len(forces)] = forces
        low, high = zip(forward.slope_range, backward.slope_range, strict=True)
        self.slope_range = (min(low), max(high))
        self._shown = f"{forward!r}, {backward!r}"

    def __repr__(self) -> str:
        return f"AsymmetricLaw({self._shown})"

    @property
    def breakaway_force(self) -> float:
        """Static friction force of the stronger direction [N]."""
        return max(self.forward.breakaway_force, self.backward.breakaway_force)

    @property
    def is_approximated(self) -> bool:
        """True if Phi_Z is the closed-form approximation in both directions."""
        return self.forward.is_approximated and self.backward.is_approximated

    def approximated(self) -> AsymmetricLaw:
        """Returns the same law with Phi_Z by the closed-form approximation (46) in both directions."""
        return AsymmetricLaw(self.forward.approximated(), self.backward.approximated())

    def magnitude(self, speed: float) -> float:
        """Returns g+(v) [N] at a velocity v >= 0 [m/s], g-(-v) at v < 0."""
        return self.forward.magnitude(speed) if speed >= 0.0 else self.backward.magnitude(-speed)

    def slope(self, speed: float) -> float:
        """Returns g+'(v) [N s/m] at a velocity v >= 0 [m/s], g-'(-v) at v < 0: dPhi/dv in both directions."""
        return self.forward.slope(speed) if speed >= 0.0 else self.backward.slope(-speed)

    def reversed(self) -> AsymmetricLaw:
        """Returns the law of the opposite axis, -Phi(-v)."""
        return AsymmetricLaw(self.backward, self.forward)

    def check_existence(self, Z: float | np.ndarray) -> None:
        """Refuses a Z for which Phi_Z is not unique in one of the directions, see `FrictionLaw.check_existence`."""
        self.forward.check_existence(Z)
        self.backward.check_existence(Z)

    def check_dimension(self, dimension: int) -> None:
        """Raises ValueError unless the dimension is 1: in more dimensions there are more than two directions."""
        if dimension != 1:
            raise ValueError(f"law: an asymmetric law acts in 1 dimension, got {dimension}")
