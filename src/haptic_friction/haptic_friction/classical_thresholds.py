"""Classical friction without presliding displacement: Karnopp, Quinn, regularised and explicit Coulomb friction.

Section II-A of Kikuuwe et al.; index k is the step, h the force on the mass, f the friction force. All
are explicit: f comes from the velocity of the step before. They are here to be compared with models A to
D, whose interface they have. Each is given in n dimensions with vectors for v, h, f, q and lengths for
absolute values, which is the printed form along a line and does not depend on the axes.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from haptic_friction import projection
from haptic_friction.laws import FrictionLaw, checked
from haptic_friction.model import AdmittanceModel, ImpedanceModel, incoming_force, incoming_velocity
from haptic_friction.projection import ANISOTROPIC, APPROXIMATE, evaluate
from haptic_friction.vectors import (
    Vector,
    along,
    axpy,
    difference,
    divided,
    dot,
    length,
    load,
    scaled,
    store,
    transformed,
)


def check_isotropic(law: FrictionLaw) -> None:
    """Raises ValueError unless the law has a magnitude g, above 0 at rest."""
    if law.code & ~APPROXIMATE == ANISOTROPIC:
        raise ValueError("law: expected an isotropic law, got an anisotropic one")
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


@njit(cache=True, nogil=True, error_model="numpy")
def run_karnopp(
    code: int,
    coefficients: np.ndarray,
    constants: np.ndarray,
    inputs: np.ndarray,
    states: np.ndarray,
    outputs: np.ndarray,
    sticking: np.ndarray,
    energies: np.ndarray,
    zero: Vector,
) -> None:
    """Kernel of Karnopp's model, see `haptic_friction.model`.

    Constants T, coupling K and B, T/M, threshold, 1 for v := 0 when stuck, of an anisotropic law S^-1 (n, n).
    """
    for m in range(inputs.shape[0]):
        c, p = min(m, coefficients.shape[0] - 1), min(m, constants.shape[0] - 1)
        T, K, B = constants[p, 0], constants[p, 1], constants[p, 2]
        gain, threshold, clear = constants[p, 3], constants[p, 4], constants[p, 5] != 0.0
        free = K == 0.0 and B == 0.0
        anisotropic = code & ~APPROXIMATE == ANISOTROPIC
        v, h, f = load(states, m, 0, zero), load(states, m, 1, zero), load(states, m, 2, zero)
        stretch = load(states, m, 3, zero)
        static, energy = sticking[m], 0.0
        for k in range(inputs.shape[1]):
            h, stretch = incoming_force(inputs, m, k, T, K, B, v, stretch)
            static = False
            if length(v) > threshold:
                f = evaluate(code, coefficients, c, v)
            elif anisotropic:
                pull = length(transformed(constants, p, 6, h, False))
                static = pull <= 1.0
                f = h if static else divided(h, pull)
            else:
                pull, limit = length(h), coefficients[c, 0]
                static = pull <= limit
                f = h if static else along(limit, h, pull)
            v = zero if static and clear else axpy(gain, difference(h, f), v)
            energy += T * dot(f, v)
            store(outputs, m, k, v if free else h)
        store(states, m, 0, v)
        store(states, m, 1, h)
        store(states, m, 2, f)
        store(states, m, 3, stretch)
        sticking[m] = static
        energies[m] += energy


class KarnoppModel(AdmittanceModel):
    """A mass with Karnopp's friction (1985), eq. (3): speeds up to a threshold count as zero.

        f_k = Phi(v_(k-1))                          |v_(k-1)| > eps
        f_k = h_k                                   |v_(k-1)| <= eps and h_k in the static set F
        f_k = the end of F in the direction of h_k  |v_(k-1)| <= eps and h_k outside F
        v_k = v_(k-1) + T/M (h_k - f_k),            or 0 in the second case with `zero_velocity`

    F is |f| <= g(0), the end g(0) h/|h|; of an anisotropic law F is the ellipsoid of S, the end h/|S^-1 h|.

    What goes wrong: as printed, a stuck mass keeps what velocity it has, up to eps, for ever; eps has no
    physical meaning, and where T g(0)/M is above 2 eps, v may jump over the band at every reversal. With
    `zero_velocity` it stops, by losing the momentum M eps at once.

    `dissipated_energy` is the work T f_k . v_k of the friction force on the mass.

    Args:
        law: friction law Phi.
        mass: M [kg], above 0.
        velocity_threshold: eps [m/s], above 0.
        period: T [s], above 0.
        zero_velocity: set v to zero when stuck; False is (3) to the letter.
        dimension: number of components of force and velocity.
    """

    rows = ("velocity", "force", "friction_force", "stretch")
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
        constants = [gain, self.velocity_threshold, float(self.zero_velocity)]
        if law.code & ~APPROXIMATE == ANISOTROPIC:
            law.check_dimension(dimension)
            start, n = 2 + 2 * dimension + dimension**2, dimension
            constants += np.linalg.inv(law.coefficients[start : start + n * n].reshape(n, n)).ravel().tolist()
        super().__init__(law, period, dimension, constants)

    def reset(self, *, velocity: ArrayLike | None = None) -> None:
        """Starts again from a velocity v [m/s], shape (dimension,); zero if not given."""
        self._restart(velocity=velocity)


@njit(cache=True, nogil=True, error_model="numpy")
def run_quinn(
    code: int,
    coefficients: np.ndarray,
    constants: np.ndarray,
    inputs: np.ndarray,
    states: np.ndarray,
    outputs: np.ndarray,
    sticking: np.ndarray,
    energies: np.ndarray,
    zero: Vector,
) -> None:
    """Kernel of Quinn's model, see `haptic_friction.model`; constants T, coupling K and B, T/M, threshold."""
    for m in range(inputs.shape[0]):
        c, p = min(m, coefficients.shape[0] - 1), min(m, constants.shape[0] - 1)
        T, K, B, gain, threshold = constants[p, 0], constants[p, 1], constants[p, 2], constants[p, 3], constants[p, 4]
        F = coefficients[c, 0]
        free = K == 0.0 and B == 0.0
        v, h, f = load(states, m, 0, zero), load(states, m, 1, zero), load(states, m, 2, zero)
        stretch = load(states, m, 3, zero)
        static, energy = sticking[m], 0.0
        for k in range(inputs.shape[1]):
            h, stretch = incoming_force(inputs, m, k, T, K, B, v, stretch)
            pull = length(h)
            q = axpy(threshold, along(1.0, h, pull) if pull > F else divided(h, F), v)  # (4b)
            reach = length(q)
            static = reach <= threshold
            f = divided(scaled(F, q), threshold) if static else along(F, q, reach)  # (4a)
            v = axpy(gain, difference(h, f), v)
            energy += T * dot(f, v)
            store(outputs, m, k, v if free else h)
        store(states, m, 0, v)
        store(states, m, 1, h)
        store(states, m, 2, f)
        store(states, m, 3, stretch)
        sticking[m] = static
        energies[m] += energy


class QuinnModel(AdmittanceModel):
    """A mass with Quinn's friction (2004), eq. (4): Karnopp's without the jumps.

        q   = v_(k-1) + eps h_k/F      |h_k| <= F,      v_(k-1) + eps h_k/|h_k|   above   (4b)
        f_k = F q/eps                  |q| <= eps,      F q/|q|                   above   (4a)
        v_k = v_(k-1) + T/M (h_k - f_k)

    What goes wrong: near rest v_k = (1 - T F/(M eps)) v_(k-1), which decays without ringing up to
    T F/(M eps) = 1 and grows above 2: then the mass chatters, and drifts because it does.

    `sticking` is |q| <= eps; `dissipated_energy` is the work T f_k . v_k of the friction force on the mass.

    Args:
        law: friction law with a constant g(s) = F above 0: (4) has no other.
        mass: M [kg], above 0.
        velocity_threshold: eps [m/s], above 0.
        period: T [s], above 0.
        dimension: number of components of force and velocity.
    """

    rows = ("velocity", "force", "friction_force", "stretch")
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


@njit(cache=True, nogil=True, error_model="numpy")
def run_regularized(
    code: int,
    coefficients: np.ndarray,
    constants: np.ndarray,
    inputs: np.ndarray,
    states: np.ndarray,
    outputs: np.ndarray,
    sticking: np.ndarray,
    energies: np.ndarray,
    zero: Vector,
) -> None:
    """Kernel of (5) and (6), see `haptic_friction.model`; constants T, coupling T/M and 0, threshold (0: none)."""
    for m in range(inputs.shape[0]):
        c, p = min(m, coefficients.shape[0] - 1), min(m, constants.shape[0] - 1)
        T, T_over_M, threshold = constants[p, 0], constants[p, 1], constants[p, 3]
        u, f = load(states, m, 0, zero), load(states, m, 1, zero)
        static, energy = sticking[m], 0.0
        for k in range(inputs.shape[1]):
            u = incoming_velocity(inputs, m, k, T_over_M, u, f)
            speed = length(u)
            static = speed <= threshold
            if speed > threshold or speed == 0.0:
                f = evaluate(code, coefficients, c, u)
            elif code & ~APPROXIMATE == ANISOTROPIC:
                f = scaled(speed / threshold, evaluate(code, coefficients, c, scaled(threshold / speed, u)))
            else:
                f = divided(scaled(projection.magnitude(code, coefficients, c, threshold), u), threshold)
            energy += T * dot(f, u)
            store(outputs, m, k, f if T_over_M == 0.0 else u)
        store(states, m, 0, u)
        store(states, m, 1, f)
        sticking[m] = static
        energies[m] += energy


class RegularizedCoulombModel(ImpedanceModel):
    """Friction that is viscous up to a threshold speed, eq. (5) (Martins and Oden 1983): velocity in, force out.

        f_k = Phi(u_k)                              |u_k| > eps
        f_k = |u_k|/eps Phi(eps u_k/|u_k|)          |u_k| <= eps

    which is F u_k/eps for Coulomb friction, and continuous for every law.

    What goes wrong: it never sticks. A mass under a force h creeps at eps h/F; behind a mass it rings
    above T F/(M eps) = 1 and chatters above 2, so that a small creep asks for a short period.

    `sticking` is |u| <= eps, although the contact moves; `dissipated_energy` is the work T f_k . u_k.

    Args:
        law: friction law Phi.
        velocity_threshold: eps [m/s], above 0.
        period: T [s], above 0.
        dimension: number of components of velocity and force.
    """

    rows = ("velocity", "force")
    kernel = staticmethod(run_regularized)

    def __init__(self, law: FrictionLaw, *, velocity_threshold: float, period: float, dimension: int = 1) -> None:
        self.velocity_threshold = checked("velocity_threshold", velocity_threshold, "m/s", positive=True)
        super().__init__(law, period, dimension, [self.velocity_threshold])

    def reset(self) -> None:
        """Starts again at rest."""
        self._restart()


class ExplicitCoulombModel(ImpedanceModel):
    """f_k = Phi(u_k), eq. (6), with zero at u = 0 exactly: velocity in, force out.

    What goes wrong: it has no static friction. Behind a mass the force switches between Phi(+0) and
    Phi(-0) at most steps, v chatters by T g(0)/M, and the mass drifts although the force is below g(0).

    `sticking` is u = 0; `dissipated_energy` is the work T f_k . u_k.

    Args:
        law: friction law Phi.
        period: T [s], above 0.
        dimension: number of components of velocity and force.
    """

    rows = ("velocity", "force")
    kernel = staticmethod(run_regularized)

    def __init__(self, law: FrictionLaw, *, period: float, dimension: int = 1) -> None:
        super().__init__(law, period, dimension, [0.0])

    def reset(self) -> None:
        """Starts again at rest."""
        self._restart()
