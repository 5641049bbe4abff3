"""Friction laws Phi and their implicit counterparts Phi_Z (Kikuuwe et al., sections II and III-F).

A law gives the steady friction force of a sliding contact, Phi(v) = g(|v|) v/|v|, in any dimension;
the force on the *other* side, which opposes the motion of the sliding body, is -Phi(v). At rest the
force is any vector of length g(0) or less. The models need Phi_Z, eq. (52), the solution y of
y = Phi(x - Z y), with Z >= 0 in m/(N s).

Where this departs from real friction: the laws are isotropic, have no memory and no presliding
displacement; models B, C and D add the latter.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import ArrayLike

from haptic_friction import kernels


def _checked(name: str, value: float, unit: str, *, positive: bool = False) -> float:
    """A finite number, positive or not negative, or a ValueError that names it."""
    number = float(value)
    if not math.isfinite(number) or number < 0.0 or (positive and number == 0.0):
        expected = "a finite number above 0" if positive else "a finite number, not negative"
        raise ValueError(f"{name}: expected {expected} [{unit}], got {value!r}")
    return number


class FrictionLaw(ABC):
    """An isotropic law Phi(v) = g(|v|) v/|v|.

    Attributes:
        code: which closed form `haptic_friction.kernels` evaluates.
        coefficients: its coefficients; the first is g(0), the breakaway force F [N].
    """

    code: int
    coefficients: np.ndarray

    @property
    def breakaway_force(self) -> float:
        """g(0) [N]: the largest force that static friction bears."""
        return float(self.coefficients[0])

    @abstractmethod
    def magnitude(self, speed: float) -> float:
        """g(s) [N] at a speed s > 0 [m/s]."""

    def force(self, velocity: ArrayLike) -> np.ndarray:
        """Phi(v) [N], shape (dimension,), for a velocity [m/s]; zero at rest, where Phi is a set (51)."""
        v = np.atleast_1d(np.asarray(velocity, dtype=float))
        speed = float(np.linalg.norm(v))
        if speed == 0.0:
            return np.zeros_like(v)
        return self.magnitude(speed) * v / speed

    def projected(self, x: ArrayLike, Z: float) -> np.ndarray:
        """Phi_Z(x) [N], eq. (52), shape (dimension,).

        Args:
            x: velocity-like argument [m/s], shape (dimension,).
            Z: inverse impedance of the model in use [m/(N s)], above 0: T/M for model A,
                1/(B + T K) for model C.

        Raises:
            ValueError: Z is not a finite number above 0.
        """
        Z = _checked("Z", Z, "m/(N s)", positive=True)
        argument = np.atleast_1d(np.asarray(x, dtype=float))
        result = np.empty_like(argument)
        kernels.project(self.code, self.coefficients, argument, Z, result)
        return result


class ViscousCoulombLaw(FrictionLaw):
    """g(s) = F + D s, eqs. (24), (54), with Phi_Z of (25), (55).

    Args:
        force: kinetic friction force F [N], not negative.
        viscosity: viscous coefficient D [N s/m], not negative.
    """

    code = kernels.COULOMB_VISCOUS

    def __init__(self, force: float, *, viscosity: float) -> None:
        self.coefficients = np.array([_checked("force", force, "N"), _checked("viscosity", viscosity, "N s/m")])

    def magnitude(self, speed: float) -> float:
        return float(self.coefficients[0] + self.coefficients[1] * speed)


class CoulombLaw(ViscousCoulombLaw):
    """g(s) = F, with Phi_Z of (23), (53).

    Args:
        force: kinetic friction force F [N], not negative.
    """

    def __init__(self, force: float) -> None:
        super().__init__(force, viscosity=0.0)
