"""Classical friction with presliding displacement: Dahl, LuGre, elastoplastic, reset integrator, Hayward-Armstrong.

The models take a velocity u and return a force f, from a contact whose bristle is deflected by z: u = z' + w'
with the sliding velocity w'. They serve for comparison with models A to D and have the same interface.
Each is given in n dimensions with vectors for u, z, w, f and lengths for absolute values. Along a line this is the
common form; it does not depend on the axes. For LuGre it is the form of Velenis, Tsiotras and Canudas de Wit (2002)
with isotropic constants.

`displacement` is z, `sliding_velocity` is w', `sticking` is w' = 0, and `dissipated_energy` is the work
T f_k . w'_k of the force on the sliding velocity. It does not contain the energy that the bristles store, nor the
energy that their damping dissipates. The energy of LuGre can fall, see `LuGreModel.passivity_margin`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from haptic_friction.classical.thresholds import check_constant, check_isotropic
from haptic_friction.laws import INSPECTED_SPEEDS, FrictionLaw, checked
from haptic_friction.laws.projection import magnitude
from haptic_friction.models.kernel import run, take_velocity
from haptic_friction.models.model import ImpedanceModel
from haptic_friction.vectors import Vector, along, axpy, difference, divided, dot, is_zero, length, scaled, zeros

#: bound of the relative error of a vector's length after it is shortened to that length, in a few dimensions
_ROUNDING = 1e-14


@njit(cache=True, error_model="numpy")
def _sliding_fraction(z: Vector, u: Vector, largest: float, elastic_fraction: float) -> float:
    """Computes alpha of the elastoplastic model, 0 (elastic) to 1 (sliding); 1 for elastic_fraction < 0."""
    if elastic_fraction < 0.0:
        return 1.0
    deflection, elastic = length(z), elastic_fraction * largest
    if deflection <= elastic or dot(z, u) <= 0.0:
        return 0.0
    if deflection >= largest:
        return 1.0
    return 0.5 * math.sin(math.pi * (deflection - (largest + elastic) / 2.0) / (largest - elastic)) + 0.5


class State(NamedTuple):
    """State of all models of this module: u, f, z, w'."""

    velocity: Vector
    force: Vector
    displacement: Vector
    sliding_velocity: Vector


@njit(inline="always", error_model="numpy")
def step_bristle(code, coefficients, element, constants, row, state, u):  # type: ignore[no-untyped-def]
    """Steps z' = u - alpha s0 |u| z/g(|u|) by implicit or explicit Euler.

    Constants: T, coupling, s0, s1, s2, elastic fraction (negative: alpha = 1), 1 for explicit Euler.
    """
    T, s0, s1, s2 = constants[row, 0], constants[row, 3], constants[row, 4], constants[row, 5]
    speed, z_1 = length(u), state.displacement
    g = magnitude(code, coefficients, element, speed)
    alpha = _sliding_fraction(z_1, u, g / s0, constants[row, 6])
    if constants[row, 7] != 0.0:
        w = divided(scaled(alpha * s0 * speed, z_1), g)
        rate = difference(u, w)
        z, damping = axpy(T, rate, z_1), scaled(s1, rate)
    else:
        z = divided(axpy(T, u, z_1), 1.0 + T * alpha * s0 * speed / g)
        w = divided(scaled(alpha * s0 * speed, z), g)
        damping = divided(scaled(s1, difference(z, z_1)), T)
    f = axpy(s2, u, axpy(s0, z, damping))
    return State(u, f, z, w), is_zero(w), dot(f, w)


@njit(cache=True, nogil=True, error_model="numpy")
def run_bristle(  # type: ignore[no-untyped-def]
    code, coefficients, constants, inputs, states, outputs, sticking, energies, zero
):
    """Runs Dahl's model, LuGre or the elastoplastic model over all samples, see `haptic_friction.models.kernel`."""
    run(
        step_bristle, take_velocity, True, State(zero, zero, zero, zero),
        code, coefficients, constants, inputs, states, outputs, sticking, energies, zero,
    )  # fmt: skip


class _Bristle(ImpedanceModel):
    """Base class of the models of one bristle."""

    rows = State._fields
    bristle_stiffness: float

    @property
    def elastic_stiffness(self) -> dict[str, float | np.ndarray]:
        """Stiffness s0 [N/m] of the bristle, for the row `displacement`."""
        return {"displacement": self.bristle_stiffness}

    def reset(self, *, displacement: ArrayLike | None = None) -> None:
        """Starts again from a displacement z [m] of the bristle, shape (dimension,); zero if not given."""
        self._restart(displacement=displacement)


class DahlModel(_Bristle):
    """Dahl's solid friction (1968) with exponent 1: velocity in, force out.

        z' = u - s0 |u| z/F,   f = s0 z

    Implicit Euler z_k = (z_(k-1) + T u_k)/(1 + T s0 |u_k|/F), or explicit Euler
    z_k = z_(k-1) + T (u_k - s0 |u_k| z_(k-1)/F). Steady sliding gives f = F u/|u|.

    Weakness: z relaxes in every motion, however small, so a force that oscillates below F makes a mass drift without
    bound. A mass on the bristle is not damped. Explicit Euler overshoots above T s0 |u|/F = 1 and diverges above 2.

    Args:
        law: friction law with a constant g(s) = F above 0.
        bristle_stiffness: s0 [N/m], above 0.
        period: T [s], above 0.
        dimension: number of components of velocity, displacement and force.
        explicit: explicit Euler instead of implicit.

    Examples:
        >>> import numpy as np
        >>> from haptic_friction import CoulombLaw, DahlModel
        >>> model = DahlModel(CoulombLaw(2.0), bristle_stiffness=1e4, period=1e-3)
        >>> model.simulate(np.full((1000, 1), 0.1))[-1].round(6).tolist()
        [2.0]
    """

    kernel = staticmethod(run_bristle)

    def __init__(
        self,
        law: FrictionLaw,
        *,
        bristle_stiffness: float,
        period: float,
        dimension: int = 1,
        explicit: bool = False,
    ) -> None:
        check_constant(law)
        self.bristle_stiffness = checked("bristle_stiffness", bristle_stiffness, "N/m", positive=True)
        self.explicit = bool(explicit)
        super().__init__(law, period, dimension, [self.bristle_stiffness, 0.0, 0.0, -1.0, float(self.explicit)])


class LuGreModel(_Bristle):
    """The LuGre model (Canudas de Wit, Olsson, Astrom, Lischinsky 1995): velocity in, force out.

        z' = u - s0 |u| z/g(|u|),   f = s0 z + s1 z' + s2 u

    g is the whole magnitude of the law, with its viscous part if the law has one: steady sliding gives
    g(|u|) + s2 |u|. In the usual form the viscous part is in s2, and the law has none.

    Implicit Euler z_k = (z_(k-1) + T u_k)/(1 + T s0 |u_k|/g), z' = (z_k - z_(k-1))/T, or explicit Euler
    z' = u_k - s0 |u_k| z_(k-1)/g, z_k = z_(k-1) + T z'.

    Weakness: a mass drifts as with Dahl's model. Explicit Euler diverges above T s0 |u|/g = 2. A large s1 with a
    falling g makes the element active, see `passivity_margin`.

    Args:
        law: isotropic friction law with g(0) above 0, usually a `StribeckLaw` without viscosity.
        bristle_stiffness: s0 [N/m], above 0.
        bristle_damping: s1 [N s/m], not negative.
        viscosity: s2 [N s/m], not negative.
        period: T [s], above 0.
        dimension: number of components of velocity, displacement and force.
        explicit: explicit Euler instead of implicit.

    Examples:
        >>> import numpy as np
        >>> from haptic_friction import CoulombLaw, LuGreModel
        >>> model = LuGreModel(CoulombLaw(2.0), bristle_stiffness=1e4, bristle_damping=10.0, period=1e-3)
        >>> model.simulate(np.full((1000, 1), 0.1))[-1].round(6).tolist()
        [2.0]
    """

    kernel = staticmethod(run_bristle)

    def __init__(
        self,
        law: FrictionLaw,
        *,
        bristle_stiffness: float,
        bristle_damping: float,
        viscosity: float = 0.0,
        period: float,
        dimension: int = 1,
        explicit: bool = False,
    ) -> None:
        check_isotropic(law)
        self.bristle_stiffness = checked("bristle_stiffness", bristle_stiffness, "N/m", positive=True)
        self.bristle_damping = checked("bristle_damping", bristle_damping, "N s/m")
        self.viscosity = checked("viscosity", viscosity, "N s/m")
        self.explicit = bool(explicit)
        constants = [self.bristle_stiffness, self.bristle_damping, self.viscosity, -1.0, float(self.explicit)]
        super().__init__(law, period, dimension, constants)

    def passivity_margin(self, speed: float = math.inf) -> float:
        """Computes the smallest remaining damping [N s/m] up to a speed; the element is passive if it is not negative.

        With the stored energy V = s0 |z|^2/2 and the relative load r = s0 z/g(|u|), z' = u - |u| r gives

            f . u - V' = g |u| |r|^2 + (s1 + s2) |u|^2 - s1 |u| r . u
                      >= |u|^2 (g |r|^2/|u| + s1 (1 - |r|) + s2)

        and z never leaves |z| <= G/s0 once it is inside, with G the largest g, so |r| <= G/g. The margin is the
        smallest value of the bracket over these |r| and all speeds. For unlimited speed and bounded g the margin is
        s2 - s1 (G/g - 1) with the smallest g, if that is at high speed. A margin that is not negative is then the
        condition s1 (Fs - Fc)/Fc <= s2 of Barabanov and Ortega (2000), which is also necessary. Without the bound
        on z the smallest value is at |r| = s1 |u|/(2 g) and gives s1 <= 4 g/|u| for s2 = 0 (Olsson 1996).

        Implicit Euler preserves passivity for every period: V is convex, so V_k - V_(k-1) <= T s0 z_k . z'_k, and the
        bound on z holds. Explicit Euler does not preserve it, nor does `WithMass`, whose force acts a step late.

        Args:
            speed: highest speed [m/s], above 0; infinity for all.
        """
        if math.isnan(speed) or speed <= 0.0:
            raise ValueError(f"speed: expected a number above 0 [m/s], got {speed!r}")
        s1, s2 = self.bristle_damping, self.viscosity
        if s1 == 0.0:
            return s2
        speeds = INSPECTED_SPEEDS[1:]
        if math.isfinite(speed):
            speeds = np.append(speeds[speeds < speed], speed)
        g = np.array([self.law.magnitude(s) for s in speeds])
        largest = max(self.law.breakaway_force, float(g.max()))
        if math.isinf(speed):
            if self.law.slope(float(speeds[-1])) > 0.0:
                largest = math.inf
            speeds, g = np.append(speeds, math.inf), np.append(g, g[-1])
        if math.isinf(largest):
            # g = g(s) + D s at high speed: |u|/g tends to 1/D
            slowness = np.append(speeds[:-1] / g[:-1], 1.0 / self.law.slope(float(speeds[-2])))
            return float((s1 + s2 - s1 * s1 * slowness / 4.0).min())
        load_ratio = np.minimum(s1 * speeds / (2.0 * g), largest / g)
        return float((g * load_ratio**2 / speeds + s1 * (1.0 - load_ratio) + s2).min())


class ElastoplasticModel(_Bristle):
    """The elastoplastic model (Dupont, Hayward, Armstrong, Altpeter 2002): velocity in, force out.

        z' = u - alpha s0 |u| z/g(|u|),   f = s0 z + s1 z' + s2 u

    This is LuGre with an elastic range: with zmax = g(|u|)/s0 and zba = c zmax,

        alpha = 0                                                       |z| <= zba, or z . u <= 0
        alpha = 1                                                       |z| >= zmax
        alpha = (1 + sin(pi (|z| - (zmax + zba)/2)/(zmax - zba)))/2     between

    at z_(k-1). Implicit Euler: z_k = (z_(k-1) + T u_k)/(1 + T alpha s0 |u_k|/g), z' = (z_k - z_(k-1))/T. The
    original has one zba for all speeds, which is the same for a constant g.

    Weakness: above a force of c g(0) a mass drifts as with LuGre. Because alpha is evaluated at z of the step before,
    a displacement T |u| above zmax from the elastic range overshoots zmax, with a force far above g for one step.

    Args:
        law: isotropic friction law with g(0) above 0, with its viscous part if it has one.
        bristle_stiffness: s0 [N/m], above 0.
        bristle_damping: s1 [N s/m], not negative.
        viscosity: s2 [N s/m], not negative.
        elastic_fraction: c, from 0 to below 1.
        period: T [s], above 0.
        dimension: number of components of velocity, displacement and force.

    Examples:
        >>> import numpy as np
        >>> from haptic_friction import CoulombLaw, ElastoplasticModel
        >>> model = ElastoplasticModel(CoulombLaw(2.0), bristle_stiffness=1e4, bristle_damping=10.0, period=1e-3)
        >>> model.simulate(np.full((1000, 1), 0.1))[-1].round(6).tolist()
        [2.0]
    """

    kernel = staticmethod(run_bristle)

    def __init__(
        self,
        law: FrictionLaw,
        *,
        bristle_stiffness: float,
        bristle_damping: float,
        viscosity: float = 0.0,
        elastic_fraction: float = 0.7,
        period: float,
        dimension: int = 1,
    ) -> None:
        check_isotropic(law)
        self.bristle_stiffness = checked("bristle_stiffness", bristle_stiffness, "N/m", positive=True)
        self.bristle_damping = checked("bristle_damping", bristle_damping, "N s/m")
        self.viscosity = checked("viscosity", viscosity, "N s/m")
        self.elastic_fraction = checked("elastic_fraction", elastic_fraction, "1")
        if self.elastic_fraction >= 1.0:
            raise ValueError(f"elastic_fraction: expected a number below 1, got {elastic_fraction!r}")
        constants = [self.bristle_stiffness, self.bristle_damping, self.viscosity, self.elastic_fraction, 0.0]
        super().__init__(law, period, dimension, constants)


@njit(inline="always", error_model="numpy")
def step_limited_spring(code, coefficients, element, constants, row, state, u):  # type: ignore[no-untyped-def]
    """Steps a spring that slips at the deflection F/s0.

    Constants: T, coupling, s0, stiffness and damping while it sticks, exponent of the creep (0: none).
    """
    T, s0, exponent = constants[row, 0], constants[row, 3], constants[row, 6]
    limit = coefficients[element, 0] / s0
    z_1, w = state.displacement, zeros(u)
    z = axpy(T, u, z_1)
    deflection = length(z)
    if deflection >= limit * (1.0 - _ROUNDING):
        z = along(limit, z, deflection)
        if deflection > limit * (1.0 + _ROUNDING):
            w = axpy(-1.0 / T, difference(z, z_1), u)
        f = scaled(s0, z)
    else:
        if exponent > 0.0:
            w = scaled(length(u) * (deflection / limit) ** exponent / limit, z)
            z = axpy(-T, w, z)
        f = axpy(constants[row, 5], u, scaled(constants[row, 4], z))
    return State(u, f, z, w), is_zero(w), dot(f, w)


@njit(cache=True, nogil=True, error_model="numpy")
def run_limited_spring(  # type: ignore[no-untyped-def]
    code, coefficients, constants, inputs, states, outputs, sticking, energies, zero
):
    """Runs the reset integrator or Hayward and Armstrong's model over all samples, see `models.kernel`."""
    run(
        step_limited_spring, take_velocity, True, State(zero, zero, zero, zero),
        code, coefficients, constants, inputs, states, outputs, sticking, energies, zero,
    )  # fmt: skip


class ResetIntegratorModel(_Bristle):
    """The reset integrator (Haessig and Friedland 1991): velocity in, force out.

        z' = u, but z stays within |z| <= z0 = F/s0 (a vector outside is shortened to z0)
        f  = s0 (1 + a) z + s1 u     |z| < z0
        f  = s0 z                    |z| = z0

    with z_k = z_(k-1) + T u_k.

    Weakness: the force jumps at |z| = z0, where damping and the gain a end, so the force exceeds F by
    a F + s1 |u| just before the contact slides. A mass does not drift.

    Args:
        law: friction law with a constant g(s) = F above 0.
        bristle_stiffness: s0 [N/m], above 0.
        bristle_damping: s1 [N s/m], not negative.
        stiction_gain: a, not negative: static friction is F (1 + a).
        period: T [s], above 0.
        dimension: number of components of velocity, displacement and force.

    Examples:
        >>> import numpy as np
        >>> from haptic_friction import CoulombLaw, ResetIntegratorModel
        >>> model = ResetIntegratorModel(CoulombLaw(2.0), bristle_stiffness=1e4, bristle_damping=10.0, period=1e-3)
        >>> model.simulate(np.full((1000, 1), 0.1))[-1].round(6).tolist()
        [2.0]
    """

    kernel = staticmethod(run_limited_spring)

    def __init__(
        self,
        law: FrictionLaw,
        *,
        bristle_stiffness: float,
        bristle_damping: float,
        stiction_gain: float = 0.0,
        period: float,
        dimension: int = 1,
    ) -> None:
        check_constant(law)
        self.bristle_stiffness = checked("bristle_stiffness", bristle_stiffness, "N/m", positive=True)
        self.bristle_damping = checked("bristle_damping", bristle_damping, "N s/m")
        self.stiction_gain = checked("stiction_gain", stiction_gain, "1")
        static = self.bristle_stiffness * (1.0 + self.stiction_gain)
        super().__init__(law, period, dimension, [self.bristle_stiffness, static, self.bristle_damping, 0.0])


class HaywardArmstrongModel(_Bristle):
    """Hayward and Armstrong's model (2000): velocity in, force out.

        z_k = z_(k-1) + T u_k, shortened to zmax = F/s0 if it is longer,   f_k = s0 z_k

    z = x - w, with the position x and an anchor w that is dragged at zmax. With a creep exponent p the anchor also
    moves inside the limit: w grows by |T u_k| (|z|/zmax)^p z/zmax, an approximation of the creep of the original.
    Without creep the model is model C with B = 0 and Coulomb friction.

    Weakness: a mass on the spring is not damped, so it rings, and slips when driven near the resonance of mass
    and spring.

    Args:
        law: friction law with a constant g(s) = F above 0.
        bristle_stiffness: s0 [N/m], above 0.
        creep_exponent: p, not negative; 0 for no creep.
        period: T [s], above 0.
        dimension: number of components of velocity, displacement and force.

    Examples:
        >>> import numpy as np
        >>> from haptic_friction import CoulombLaw, HaywardArmstrongModel
        >>> model = HaywardArmstrongModel(CoulombLaw(2.0), bristle_stiffness=1e4, period=1e-3)
        >>> model.simulate(np.full((1000, 1), 0.1))[-1].round(6).tolist()
        [2.0]
    """

    kernel = staticmethod(run_limited_spring)

    def __init__(
        self,
        law: FrictionLaw,
        *,
        bristle_stiffness: float,
        creep_exponent: float = 0.0,
        period: float,
        dimension: int = 1,
    ) -> None:
        check_constant(law)
        self.bristle_stiffness = checked("bristle_stiffness", bristle_stiffness, "N/m", positive=True)
        self.creep_exponent = checked("creep_exponent", creep_exponent, "1")
        constants = [self.bristle_stiffness, self.bristle_stiffness, 0.0, self.creep_exponent]
        super().__init__(law, period, dimension, constants)
