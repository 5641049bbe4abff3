"""Isotropic laws with a closed form: Coulomb, viscous, Stribeck, and tables of measured points."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from haptic_friction.laws import projection
from haptic_friction.laws.law import FrictionLaw, checked
from haptic_math.quantities import float_array


class ViscousCoulombLaw(FrictionLaw):
    """g(s) = F + D s, eqs. (24), (54), with Phi_Z of (25), (55).

    Args:
        force: kinetic friction force F [N], not negative.
        viscosity: viscous coefficient D [N s/m], not negative.

    Examples:
        >>> from haptic_friction import ViscousCoulombLaw
        >>> ViscousCoulombLaw(2.0, viscosity=5.0).force([0.1]).tolist()
        [2.5]
    """

    code = projection.COULOMB_VISCOUS

    def __init__(self, force: float, *, viscosity: float) -> None:
        F, D = checked("force", force, "N"), checked("viscosity", viscosity, "N s/m")
        self.coefficients, self.forces = np.array([F, D]), np.array([True, True])
        self.slope_range = (D, D)
        self._shown = f"{F:g}, viscosity={D:g}"


class CoulombLaw(ViscousCoulombLaw):
    """g(s) = F, with Phi_Z of (23), (53).

    Args:
        force: kinetic friction force F [N], not negative.

    Examples:
        >>> from haptic_friction import CoulombLaw
        >>> law = CoulombLaw(2.0)
        >>> law.force([0.1]).tolist()
        [2.0]
        >>> law.projected([1.5], 10.0).tolist()  # x / Z is below the friction force
        [0.15]
    """

    def __init__(self, force: float) -> None:
        super().__init__(force, viscosity=0.0)
        self._shown = f"{self.coefficients[0]:g}"


class StribeckLaw(FrictionLaw):
    """g(s) = Fc + (Fs - Fc) exp(-(s/vs)^2) + D s: static friction above kinetic friction.

    The fall of g between rest and the Stribeck velocity bounds Z, see `check_existence`: its steepest
    slope is D - (Fs - Fc) sqrt(2/e)/vs at s = vs/sqrt(2).

    Args:
        kinetic_force: Fc [N], not negative.
        static_force: Fs [N], not below Fc.
        stribeck_velocity: vs [m/s], above 0.
        viscosity: D [N s/m], not negative.

    Examples:
        >>> from haptic_friction import StribeckLaw
        >>> law = StribeckLaw(1.0, static_force=1.5, stribeck_velocity=0.01)
        >>> law.force([1e-9]).round(3).tolist(), law.force([0.1]).round(3).tolist()
        ([1.5], [1.0])
    """

    code = projection.STRIBECK

    def __init__(
        self, kinetic_force: float, *, static_force: float, stribeck_velocity: float, viscosity: float = 0.0
    ) -> None:
        kinetic = checked("kinetic_force", kinetic_force, "N")
        static = checked("static_force", static_force, "N")
        speed = checked("stribeck_velocity", stribeck_velocity, "m/s", positive=True)
        viscous = checked("viscosity", viscosity, "N s/m")
        if static < kinetic:
            raise ValueError(f"static_force: expected kinetic_force = {kinetic:g} N or more, got {static_force!r}")
        self.coefficients, self.forces = (
            np.array([static, kinetic, speed, viscous]),
            np.array([True, True, False, True]),
        )
        fall = (static - kinetic) * math.sqrt(2.0 / math.e) / speed
        # g' returns to D far from vs; close to rest it starts there
        self.slope_range = (viscous - fall, viscous)
        self._shown = (
            f"{kinetic:g}, static_force={static:g}, stribeck_velocity={speed:g}"
            + f", viscosity={viscous:g}" * (viscous > 0)
        )


class TableLaw(FrictionLaw):
    """g through measured points, linear between them and constant beyond the last.

    Phi_Z is exact: the segment that contains the solution is found by bisection, and solved.

    Args:
        speed: s_j [m/s], shape (n,), rising, the first is 0.
        force: g(s_j) [N], shape (n,), above 0 (the first may be 0).

    Examples:
        >>> from haptic_friction import TableLaw
        >>> TableLaw([0.0, 0.1], [1.0, 2.0]).force([0.05]).round(6).tolist()
        [1.5]
    """

    code = projection.TABLE

    def __init__(self, speed: ArrayLike, force: ArrayLike) -> None:
        speeds, forces = (float_array(name, values, "(n,)") for name, values in (("speed", speed), ("force", force)))
        if speeds.ndim != 1 or speeds.shape != forces.shape or len(speeds) < 2:
            raise ValueError(
                f"speed, force: expected two or more points each, got shapes {speeds.shape} and {forces.shape}"
            )
        if speeds[0] != 0.0 or not (np.diff(speeds) > 0.0).all() or not math.isfinite(speeds[-1]):
            raise ValueError(f"speed: expected rising, finite speeds from 0 [m/s], got {speeds}")
        if not np.isfinite(forces).all() or not (forces[1:] > 0.0).all() or forces[0] < 0.0:
            raise ValueError(f"force: expected finite forces above 0 [N], got {forces}")
        self.coefficients = np.concatenate(([forces[0], float(len(speeds))], speeds, forces))
        self.forces = np.concatenate(([True, False], np.zeros(len(speeds), bool), np.ones(len(speeds), bool)))
        slopes = np.append(np.diff(forces) / np.diff(speeds), 0.0)
        self.slope_range = (float(slopes.min()), float(slopes.max()))
        self._shown = f"{len(speeds)} points, 0 to {speeds[-1]:g} m/s, {forces.min():g} to {forces.max():g} N"
