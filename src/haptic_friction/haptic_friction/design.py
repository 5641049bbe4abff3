"""Choice of stiffness and damping for model C (Kikuuwe et al., section IV-C).

A mass M on a sticking element of model C whose force acts one period later, eq. (60), has the linear map (63). With
a = T^2 K/M and b = T B/M its eigenvalues obey l^2 - (2 - a - b) l + (1 - b) = 0. They are real and in [0, 1] when
(a + b)^2 >= 4 a and b <= 1, which for critical damping B = 2 sqrt(K M) means a <= 1/4. One reaches -1 where
a + 2 b = 4, for critical damping at a = (2 sqrt(2) - 2)^2 = 0.686. With one more period of delay the eigenvalues obey
l^3 - 2 l^2 + (1 + a + b) l - b = 0, and by Jury's criterion lie inside the unit circle where a < b (1 - b). With this
delay too little damping is unstable, too.

Contacts of equal K and B between several bodies have modes, each of which acts as one mass: with the incidence C of the
contacts the values 1/M of the modes are the eigenvalues of C M^-1 C^T. The largest must not exceed `mobility_limit`;
for two equal masses in a row on a base it is (3 + sqrt(5))/2 = 2.618 times 1/M.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from haptic_friction.laws import checked
from haptic_friction.models.batch import ParallelElements
from haptic_friction.models.model import FrictionModel, WithMass
from haptic_friction.models.model_c import ModelC

#: T^2 K/M up to which a critically damped element converges without oscillation
CONVERGENCE_LIMIT = 0.25
#: T^2 K/M from which a critically damped element is unstable
INSTABILITY_LIMIT = (2.0 * math.sqrt(2.0) - 2.0) ** 2


def sticking_matrix(*, mass: float, stiffness: float, damping: float, period: float, delay: int = 0) -> np.ndarray:
    """Builds the map of (e, u) over one period while the element sticks, eq. (63); shape (2 + delay, 2 + delay).

    Args:
        mass: M [kg].
        stiffness: K [N/m].
        damping: B [N s/m].
        period: T [s].
        delay: further periods of delay of the force; each adds a row, the force of that age over M.
    """
    size = 2 + delay
    matrix = np.zeros((size, size))
    # u_k = u_(k-1) - T/M f_(k-1-delay), e_k = e_(k-1) + T u_k, f_k = K e_k + B u_k as in (61)
    if delay:
        matrix[1, 1], matrix[1, -1] = 1.0, -period
        matrix[0] = period * matrix[1]
        matrix[0, 0] += 1.0
        matrix[2, 0], matrix[2, 1] = stiffness / mass, damping / mass
        matrix[3:, 2:-1] = np.eye(delay - 1)
    else:
        matrix[1] = -period * stiffness / mass, 1.0 - period * damping / mass
        matrix[0] = period * matrix[1]
        matrix[0, 0] += 1.0
    return matrix


def mobility_limit(*, stiffness: float, damping: float, period: float, delay: int = 0) -> float:
    """Computes the largest 1/M [1/kg] for which stuck elements of model C are stable; 0 if there is none.

    Args:
        stiffness: K [N/m].
        damping: B [N s/m].
        period: T [s].
        delay: further periods of delay of the force, 0 or 1.

    Raises:
        ValueError: a number is out of its range.

    Examples:
        >>> from haptic_friction import mobility_limit
        >>> mass = 1.0 / mobility_limit(stiffness=1e4, damping=20.0, period=1e-3)
        >>> 0.0 < mass < 1.0  # [kg]
        True
    """
    K, B = checked("stiffness", stiffness, "N/m", positive=True), checked("damping", damping, "N s/m")
    T = checked("period", period, "s", positive=True)
    if delay == 0:
        return 4.0 / (T * (T * K + 2.0 * B))
    if delay != 1:
        raise ValueError(f"delay: expected 0 or 1 periods, got {delay!r}")
    return (B - T * K) / (T * B * B) if B > T * K else 0.0


@dataclass(frozen=True)
class ModelCDesign:
    """Stiffness and damping of model C for a mass and a period, with their ratios to the limits.

    Attributes:
        mass: M [kg].
        period: T [s].
        stiffness: K [N/m].
        damping: B [N s/m].
        delay: further periods of delay of the force.
        eigenvalues: of the sticking element's map (63).
        convergence_ratio: T^2 K/M over 1/4; above 1 a critically damped element oscillates.
        instability_ratio: T^2 K/M over 0.686; above 1 a critically damped element is unstable.

    Examples:
        >>> from haptic_friction import design_model_c
        >>> design = design_model_c(mass=1.0, period=1e-3)
        >>> design.warning
        ''
    """

    mass: float
    period: float
    stiffness: float
    damping: float
    delay: int
    eigenvalues: np.ndarray
    convergence_ratio: float
    instability_ratio: float

    @property
    def spectral_radius(self) -> float:
        """Largest magnitude of the eigenvalues; below 1 the stuck element comes to rest."""
        return float(np.abs(self.eigenvalues).max())

    @property
    def is_stable(self) -> bool:
        """True if the stuck element comes to rest."""
        return self.spectral_radius < 1.0

    @property
    def is_monotone(self) -> bool:
        """True if all eigenvalues are real and in [0, 1], so that the element comes to rest without oscillation."""
        # a double eigenvalue splits by the square root of the rounding
        tolerance = 1e-7
        return bool(
            (np.abs(self.eigenvalues.imag) <= tolerance).all()
            and (self.eigenvalues.real >= -tolerance).all()
            and self.is_stable
        )

    @property
    def warning(self) -> str:
        """Design rule that stiffness and damping violate, in one line with numbers; empty if none."""
        if self.is_monotone:
            return ""
        effect = "oscillates before it rests" if self.is_stable else "is unstable"
        return (
            f"stiffness {self.stiffness:g} N/m, damping {self.damping:g} N s/m: a mass of {self.mass:g} kg held by "
            f"model C at T = {self.period:g} s and {self.delay} ticks of delay {effect} "
            f"(spectral radius {self.spectral_radius:.4f}, T^2 K/M = {self.convergence_ratio:.3g} times the limit 1/4, "
            f"{self.instability_ratio:.3g} times 0.686; these limits are for B = 2 sqrt(K M) = "
            f"{2.0 * math.sqrt(self.stiffness * self.mass):.4g} N s/m)"
        )


def evaluate_model_c(*, mass: float, stiffness: float, damping: float, period: float, delay: int = 0) -> ModelCDesign:
    """Evaluates stiffness and damping of model C for a mass; raises ValueError that names a bad number.

    Examples:
        >>> from haptic_friction import evaluate_model_c
        >>> evaluate_model_c(mass=1.0, stiffness=1e4, damping=20.0, period=1e-3).instability_ratio < 1.0  # stable
        True
    """
    M, T = checked("mass", mass, "kg", positive=True), checked("period", period, "s", positive=True)
    K, B = checked("stiffness", stiffness, "N/m", positive=True), checked("damping", damping, "N s/m")
    if not 0 <= delay < math.inf or delay != int(delay):
        raise ValueError(f"delay: expected a whole number of periods, not negative, got {delay!r}")
    ratio = T * T * K / M
    eigenvalues = np.linalg.eigvals(sticking_matrix(mass=M, stiffness=K, damping=B, period=T, delay=int(delay)))
    return ModelCDesign(M, T, K, B, int(delay), eigenvalues, ratio / CONVERGENCE_LIMIT, ratio / INSTABILITY_LIMIT)


def design_model_c(*, mass: float, period: float, stiffness: float | None = None, margin: float = 2.0) -> ModelCDesign:
    """Chooses stiffness and critical damping of model C for a mass and a period (section IV-C).

    Args:
        mass: M [kg], above 0: the smallest mass on the element.
        period: T [s], above 0.
        stiffness: K [N/m]; None: the largest with real eigenvalues in [0, 1], M/(4 T^2), over `margin`.
        margin: factor on the limit, 1 or more.

    Returns:
        The design with B = 2 sqrt(K M); its `warning` is not empty if a given stiffness is too high.

    Raises:
        ValueError: a number is out of its range.

    Examples:
        >>> from haptic_friction import design_model_c
        >>> design = design_model_c(mass=1.0, period=1e-3)
        >>> design.stiffness, round(design.damping, 3)
        (125000.0, 707.107)
    """
    M, T = checked("mass", mass, "kg", positive=True), checked("period", period, "s", positive=True)
    if not margin >= 1.0:
        raise ValueError(f"margin: expected 1 or more, got {margin!r}")
    K = CONVERGENCE_LIMIT * M / (T * T * margin) if stiffness is None else stiffness
    K = checked("stiffness", K, "N/m", positive=True)
    return evaluate_model_c(mass=M, stiffness=K, damping=2.0 * math.sqrt(K * M), period=T)


#: Z max|g'| up to which an approximated Phi_Z gives no warning: its relative error is about that (47)
_ACCURATE = 0.1


def model_warning(model: FrictionModel | ParallelElements, *, load_mass: float = 0.0) -> str:
    """Checks a model against the conditions of the paper; returns the violated one in one line, empty if none.

    An approximated law is checked against (48), (58). Model C behind a mass, and with `load_mass` model C at a device
    for 0 and 1 further periods of delay, is checked against (63); a model C with matrices is not checked.

    Args:
        model: model in use.
        load_mass: smallest mass [kg] that model C renders at a device; 0: unknown.
    """
    inner = getattr(model, "model", model)  # of `WithMass`, `WithCompliance`
    accuracy = model.law.accuracy(getattr(inner, "Z", 0.0)) if model.law.is_approximated else 0.0
    if math.isinf(accuracy):
        return (
            "law: nothing bounds the error of (59) for an anisotropic law; its static limit can be twice the exact one"
        )
    if accuracy > _ACCURATE:
        return f"law: Z max|g'| = {accuracy:.3g}, (48), (58) want it far below 1 to approximate Phi_Z"
    if (
        not isinstance(inner, ModelC)
        or isinstance(inner.stiffness, np.ndarray)
        or isinstance(inner.damping, np.ndarray)
    ):
        return ""
    mass, delays = (model.mass, (0,)) if isinstance(model, WithMass) else (load_mass, (0, 1))
    for delay in delays if mass > 0.0 else ():
        design = evaluate_model_c(
            mass=mass, stiffness=inner.stiffness, damping=inner.damping, period=inner.period, delay=delay
        )
        if design.warning:
            return design.warning
    return ""
