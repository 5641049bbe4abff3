"""Classical friction without presliding displacement: Karnopp, Quinn, regularised and explicit Coulomb friction.

Section II-A of Kikuuwe et al.; index k is the step, h the force on the mass, f the friction force. All models
are explicit: f depends on the velocity of the step before. They serve for comparison with models A to D and have
the same interface. Each is given in n dimensions with vectors for v, h, f, q and lengths for absolute values.
Along a line this is the form of the paper; it does not depend on the axes.
"""

from __future__ import annotations

from typing import NamedTuple

from numba import njit
from numpy.typing import ArrayLike

from haptic_friction.laws import FrictionLaw, checked
from haptic_friction.laws.projection import (
    ASYMMETRIC,
    evaluate,
    is_anisotropic,
    is_asymmetric,
    magnitude,
    static_limit,
    static_ratio,
)
from haptic_friction.models.kernel import run, take_force, take_velocity
from haptic_friction.models.model import AdmittanceModel, ImpedanceModel
from haptic_friction.vectors import (
    Vector,
    along,
    axpy,
    difference,
    divided,
    dot,
    length,
    scaled,
    zeros,
)


def check_isotropic(law: FrictionLaw) -> None:
    """Raises ValueError unless the law has a magnitude g, above 0 at rest."""
    if not law.is_isotropic:
        kind = "asymmetric" if law.code & ASYMMETRIC else "anisotropic"
        raise ValueError(f"law: expected an isotropic law, got an {kind} one")
    if not law.breakaway_force > 0.0:
        raise ValueError(f"law: expected a friction force above 0 N at rest, got {law.breakaway_force:g} N")


def check_constant(law: FrictionLaw) -> None:
    """Raises ValueError unless the law is g(s) = F > 0."""
    check_isotropic(law)
    if law.slope_range != (0.0, 0.0):
        raise ValueError(
            "law: expected a friction force that does not depend on the speed, as that of CoulombLaw, "
            f"got one with slopes {law.slope_range[0]:g} to {law.slope_range[1]:g} N s/m"
        )


class MassState(NamedTuple):
    """State of the models of a mass."""

    velocity: Vector
    force: Vector
    friction_force: Vector
    stretch: Vector


class FlowState(NamedTuple):
    """State of the models without mass."""

    velocity: Vector
    force: Vector


@njit(inline="always", error_model="numpy")
def step_karnopp(code, coefficients, element, constants, row, state, h):  # type: ignore[no-untyped-def]
    """Steps Karnopp's model (3). Constants: T, coupling, T/M, threshold, 1 for v := 0 when stuck."""
    gain, threshold, clear = constants[row, 3], constants[row, 4], constants[row, 5] != 0.0
    v, static = state.velocity, False
    if length(v) > threshold:
        f = evaluate(code, coefficients, element, v)
    elif is_anisotropic(code):
        pull = static_ratio(coefficients, element, h)
        static = pull <= 1.0
        f = h if static else divided(h, pull)
    else:
        pull, limit = length(h), static_limit(code, coefficients, element, h)
        static = pull <= limit
        f = h if static else along(limit, h, pull)
    v = zeros(h) if static and clear else axpy(gain, difference(h, f), v)
    return MassState(v, h, f, state.stretch), static, dot(f, v)


@njit(cache=True, nogil=True, error_model="numpy")
def run_karnopp(  # type: ignore[no-untyped-def]
    code, coefficients, constants, inputs, states, outputs, sticking, energies, zero
):
    """Runs Karnopp's model over all samples, see `haptic_friction.models.kernel`."""
    run(
        step_karnopp, take_force, False, MassState(zero, zero, zero, zero),
        code, coefficients, constants, inputs, states, outputs, sticking, energies, zero,
    )  # fmt: skip


class KarnoppModel(AdmittanceModel):
    """A mass with Karnopp's friction (1985), eq. (3): speeds up to a threshold count as zero.

        f_k = Phi(v_(k-1))                          |v_(k-1)| > eps
        f_k = h_k                                   |v_(k-1)| <= eps and h_k in the static set F
        f_k = the end of F in the direction of h_k  |v_(k-1)| <= eps and h_k outside F
        v_k = v_(k-1) + T/M (h_k - f_k),            or 0 in the second case with `zero_velocity`

    F is |f| <= g(0) and its end g(0) h/|h|; an asymmetric law has the g of the direction of h. For an anisotropic law F
    is the ellipsoid of S and its end h/|S^-1 h|.

    Weakness: a stuck mass of eq. (3) keeps its velocity, up to eps, for ever. The threshold eps has no physical
    meaning, and where T g(0)/M is above 2 eps, v may jump over the band at every reversal. With `zero_velocity` the
    mass stops, and loses up to the momentum M eps at once.

    `dissipated_energy` is the work T f_k . v_k of the friction force on the mass.

    Args:
        law: friction law Phi.
        mass: M [kg], above 0.
        velocity_threshold: eps [m/s], above 0.
        period: T [s], above 0.
        zero_velocity: set v to zero when stuck; False: eq. (3) unchanged.
        dimension: number of components of force and velocity.

    Examples:
        >>> from haptic_friction import CoulombLaw, KarnoppModel
        >>> model = KarnoppModel(CoulombLaw(2.0), mass=1.0, velocity_threshold=1e-3, period=1e-3)
        >>> model.step([1.5]).tolist()
        [0.0]
    """

    rows = MassState._fields
    kernel = staticmethod(run_karnopp)

    def __init__(
        self,
        law: FrictionLaw,
        *,
        mass: float,
        velocity_threshold: float,
        period: float,
        zero_velocity: bool = False,
        dimension: int = 1,
    ) -> None:
        self.mass = checked("mass", mass, "kg", positive=True)
        self.velocity_threshold = checked("velocity_threshold", velocity_threshold, "m/s", positive=True)
        self.zero_velocity = bool(zero_velocity)
        gain = checked("period", period, "s", positive=True) / self.mass
        super().__init__(law, period, dimension, [gain, self.velocity_threshold, float(self.zero_velocity)])

    def reset(self, *, velocity: ArrayLike | None = None) -> None:
        """Starts again from a velocity v [m/s], shape (dimension,); zero if not given."""
        self._restart(velocity=velocity)


@njit(inline="always", error_model="numpy")
def step_quinn(code, coefficients, element, constants, row, state, h):  # type: ignore[no-untyped-def]
    """Steps Quinn's model (4). Constants: T, coupling, T/M, threshold."""
    gain, threshold, F = constants[row, 3], constants[row, 4], coefficients[element, 0]
    pull = length(h)
    q = axpy(threshold, along(1.0, h, pull) if pull > F else divided(h, F), state.velocity)  # (4b)
    reach = length(q)
    static = reach <= threshold
    f = divided(scaled(F, q), threshold) if static else along(F, q, reach)  # (4a)
    v = axpy(gain, difference(h, f), state.velocity)
    return MassState(v, h, f, state.stretch), static, dot(f, v)


@njit(cache=True, nogil=True, error_model="numpy")
def run_quinn(  # type: ignore[no-untyped-def]
    code, coefficients, constants, inputs, states, outputs, sticking, energies, zero
):
    """Runs Quinn's model over all samples, see `haptic_friction.models.kernel`."""
    run(
        step_quinn, take_force, False, MassState(zero, zero, zero, zero),
        code, coefficients, constants, inputs, states, outputs, sticking, energies, zero,
    )  # fmt: skip


class QuinnModel(AdmittanceModel):
    """A mass with Quinn's friction (2004), eq. (4): Karnopp's model without the jumps.

        q   = v_(k-1) + eps h_k/F      |h_k| <= F,      v_(k-1) + eps h_k/|h_k|   above   (4b)
        f_k = F q/eps                  |q| <= eps,      F q/|q|                   above   (4a)
        v_k = v_(k-1) + T/M (h_k - f_k)

    Weakness: near rest v_k = (1 - T F/(M eps)) v_(k-1), which decays without ringing up to
    T F/(M eps) = 1 and grows above 2: then the mass chatters and therefore drifts.

    `sticking` is |q| <= eps; `dissipated_energy` is the work T f_k . v_k of the friction force on the mass.

    Args:
        law: friction law with a constant g(s) = F above 0; (4) is defined for no other.
        mass: M [kg], above 0.
        velocity_threshold: eps [m/s], above 0.
        period: T [s], above 0.
        dimension: number of components of force and velocity.

    Examples:
        >>> from haptic_friction import CoulombLaw, QuinnModel
        >>> model = QuinnModel(CoulombLaw(2.0), mass=1.0, velocity_threshold=1e-3, period=1e-3)
        >>> model.step([1.5]).round(9).tolist()
        [0.0]
    """

    rows = MassState._fields
    kernel = staticmethod(run_quinn)

    def __init__(
        self, law: FrictionLaw, *, mass: float, velocity_threshold: float, period: float, dimension: int = 1
    ) -> None:
        check_constant(law)
        self.mass = checked("mass", mass, "kg", positive=True)
        self.velocity_threshold = checked("velocity_threshold", velocity_threshold, "m/s", positive=True)
        gain = checked("period", period, "s", positive=True) / self.mass
        super().__init__(law, period, dimension, [gain, self.velocity_threshold])

    def reset(self, *, velocity: ArrayLike | None = None) -> None:
        """Starts again from a velocity v [m/s], shape (dimension,); zero if not given."""
        self._restart(velocity=velocity)


@njit(inline="always", error_model="numpy")
def step_regularized(code, coefficients, element, constants, row, state, u):  # type: ignore[no-untyped-def]
    """Steps regularised (5) or explicit (6) Coulomb friction. Constants: T, coupling, threshold (0: none)."""
    threshold, speed = constants[row, 3], length(u)
    if speed > threshold or speed == 0.0:
        f = evaluate(code, coefficients, element, u)
    elif is_anisotropic(code) or is_asymmetric(code):
        f = scaled(speed / threshold, evaluate(code, coefficients, element, scaled(threshold / speed, u)))
    else:
        f = divided(scaled(magnitude(code, coefficients, element, threshold), u), threshold)
    return FlowState(u, f), speed <= threshold, dot(f, u)


@njit(cache=True, nogil=True, error_model="numpy")
def run_regularized(  # type: ignore[no-untyped-def]
    code, coefficients, constants, inputs, states, outputs, sticking, energies, zero
):
    """Runs regularised or explicit Coulomb friction over all samples, see `haptic_friction.models.kernel`."""
    run(
        step_regularized, take_velocity, True, FlowState(zero, zero),
        code, coefficients, constants, inputs, states, outputs, sticking, energies, zero,
    )  # fmt: skip


class RegularizedCoulombModel(ImpedanceModel):
    """Friction that is viscous up to a threshold speed, eq. (5) (Martins and Oden 1983): velocity in, force out.

        f_k = Phi(u_k)                              |u_k| > eps
        f_k = |u_k|/eps Phi(eps u_k/|u_k|)          |u_k| <= eps

    The second line is F u_k/eps for Coulomb friction; the force is continuous for every law.

    Weakness: the contact never sticks. A mass under a force h creeps at eps h/F. Behind a mass the model rings
    above T F/(M eps) = 1 and chatters above 2, so a small creep needs a short period.

    `sticking` is |u| <= eps, although the contact moves; `dissipated_energy` is the work T f_k . u_k.

    Args:
        law: friction law Phi.
        velocity_threshold: eps [m/s], above 0.
        period: T [s], above 0.
        dimension: number of components of velocity and force.

    Examples:
        >>> from haptic_friction import CoulombLaw, RegularizedCoulombModel
        >>> model = RegularizedCoulombModel(CoulombLaw(2.0), velocity_threshold=0.1, period=1e-3)
        >>> model.step([0.05]).round(6).tolist()
        [1.0]
    """

    rows = FlowState._fields
    kernel = staticmethod(run_regularized)

    def __init__(self, law: FrictionLaw, *, velocity_threshold: float, period: float, dimension: int = 1) -> None:
        self.velocity_threshold = checked("velocity_threshold", velocity_threshold, "m/s", positive=True)
        super().__init__(law, period, dimension, [self.velocity_threshold])

    def reset(self) -> None:
        """Starts again at rest."""
        self._restart()


class ExplicitCoulombModel(ImpedanceModel):
    """f_k = Phi(u_k), eq. (6), with zero at u = 0 exactly: velocity in, force out.

    Weakness: the model has no static friction. Behind a mass the force switches between Phi(+0) and
    Phi(-0) at most steps, v chatters by T g(0)/M, and the mass drifts although the force is below g(0).

    `sticking` is u = 0; `dissipated_energy` is the work T f_k . u_k.

    Args:
        law: friction law Phi.
        period: T [s], above 0.
        dimension: number of components of velocity and force.

    Examples:
        >>> from haptic_friction import CoulombLaw, ExplicitCoulombModel
        >>> ExplicitCoulombModel(CoulombLaw(2.0), period=1e-3).step([-1e-6]).tolist()
        [-2.0]
    """

    rows = FlowState._fields
    kernel = staticmethod(run_regularized)

    def __init__(self, law: FrictionLaw, *, period: float, dimension: int = 1) -> None:
        super().__init__(law, period, dimension, [0.0])

    def reset(self) -> None:
        """Starts again at rest."""
        self._restart()
