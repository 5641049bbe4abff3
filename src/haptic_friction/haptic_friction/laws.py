"""Friction laws Phi and their implicit counterparts Phi_Z (Kikuuwe et al., sections II, III-E and III-F).

A law gives the steady friction force of a sliding contact; at rest the force is any of a set. Isotropic
laws are Phi(v) = g(|v|) v/|v| in any dimension, with any vector of length g(0) or less at rest. The force
on the *other* side, which opposes the motion of the sliding body, is -Phi(v). The models need Phi_Z,
eq. (52), the solution y of y = Phi(x - Z y), with Z > 0 in m/(N s).

A law of one's own is a class that names a closed form and its coefficients, a `FunctionLaw` of g and g',
or a `TableLaw` of measured points. What no law here has: memory, dwell-time dependence, presliding
displacement (models B, C and D add the latter).
"""

from __future__ import annotations

import copy
import math
from abc import ABC
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import scipy
from numba import cfunc
from numpy.typing import ArrayLike

from haptic_friction import projection

#: speeds [m/s] at which a user's g and g' are inspected
INSPECTED_SPEEDS = np.concatenate(([0.0], np.logspace(-9.0, 3.0, 1201)))


Law = TypeVar("Law", bound="FrictionLaw")

#: inputs [m/s], [N] from here on are refused: their square could overflow
LARGEST = 1e100


def checked(name: str, value: float, unit: str, *, positive: bool = False) -> float:
    """A finite number, positive or not negative, or a ValueError that names it."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number) or number < 0.0 or (positive and number == 0.0):
        expected = "a finite number above 0" if positive else "a finite number, not negative"
        raise ValueError(f"{name}: expected {expected} [{unit}], got {value!r}")
    return number


class FrictionLaw(ABC):
    """A friction law Phi.

    Attributes:
        code: which closed form `haptic_friction.projection` evaluates.
        coefficients: its coefficients; the first is g(0), the breakaway force [N].
        slope_range: smallest and largest g' [N s/m] over all speeds above 0.
        forces: which coefficients are proportional to Phi; None where Phi cannot be scaled.
    """

    code: int
    coefficients: np.ndarray
    slope_range: tuple[float, float]
    forces: np.ndarray | None = None

    @property
    def breakaway_force(self) -> float:
        """g(0) [N]: the largest force that static friction bears (in the strongest direction)."""
        return float(self.coefficients[0])

    @property
    def kernel_code(self) -> int | None:
        """The code as kernels take it: None for the closed form (53), (55), so that nothing else is compiled for it."""
        return None if self.code == projection.COULOMB_VISCOUS else self.code

    @property
    def is_approximated(self) -> bool:
        """Phi_Z is the closed-form approximation instead of the exact solution."""
        return bool(self.code & projection.APPROXIMATE)

    def approximated(self: Law) -> Law:
        """The same law with Phi_Z by the closed-form approximation (46), (57) or, if anisotropic, (59).

        It needs no iteration and exists for every Z; `accuracy` says how far it can be trusted. Its
        largest static force is g where g(s) = s/Z, instead of g(0).
        """
        law = copy.copy(self)
        law.code = self.code | projection.APPROXIMATE
        return law

    def magnitude(self, speed: float) -> float:
        """g(s) [N] at a speed s > 0 [m/s], of an isotropic law."""
        return float(projection.magnitude(self.kernel_code, self.coefficients[None], 0, float(speed)))

    def slope(self, speed: float) -> float:
        """g'(s) [N s/m] at a speed s > 0 [m/s], of an isotropic law."""
        return float(projection.slope(self.kernel_code, self.coefficients[None], 0, float(speed)))

    def force(self, velocity: ArrayLike) -> np.ndarray:
        """Phi(v) [N] for v [m/s], shape (dimension,) or (n, dimension); zero at rest, where Phi is a set (51)."""
        v = self._vectors("velocity", velocity)
        result = np.empty_like(v)
        projection.evaluate_all(self.kernel_code, self.coefficients[None], v[None], result[None], (0.0,) * v.shape[1])
        return result[0] if np.ndim(velocity) < 2 else result

    def projected(self, x: ArrayLike, Z: float) -> np.ndarray:
        """Phi_Z(x) [N], eq. (52), shape (dimension,) or (n, dimension).

        Args:
            x: velocity-like argument [m/s], shape (dimension,) or (n, dimension).
            Z: inverse impedance of the model in use [m/(N s)], above 0: T/M for model A, T/(M + T B + T^2 K)
                for B, 1/(B + T K) for C, T/M + 1/(B + T K) for D.

        Raises:
            ValueError: Z is not a finite number above 0, or Phi_Z does not exist for it, see `check_existence`.
        """
        self.check_existence(checked("Z", Z, "m/(N s)", positive=True))
        argument = self._vectors("x", x)
        result, static = np.empty_like(argument), np.empty(len(argument), dtype=bool)
        zero = (0.0,) * argument.shape[1]
        projection.project_all(
            self.kernel_code, self.coefficients[None], argument[None], float(Z), result[None], static, zero
        )
        return result[0] if np.ndim(x) < 2 else result

    def check_existence(self, Z: float) -> None:
        """Refuses a Z for which Phi_Z is not unique: (15), (56) demand g'(s) > -1/Z at all speeds.

        An approximated law exists for every Z.

        Raises:
            ValueError: the condition is violated, then the message gives both numbers; or Z is 0, infinite or NaN.
        """
        if not 0.0 < Z < math.inf:
            raise ValueError(
                f"Z: expected a finite number above 0 [m/(N s)] from mass, stiffness, damping, period, got {Z}"
            )
        if not self.is_approximated and self.slope_range[0] * Z <= -1.0:
            raise ValueError(
                f"law: its steepest fall g' = {self.slope_range[0]:.6g} N s/m is not above -1/Z = {-1.0 / Z:.6g} "
                "N s/m, so Phi_Z does not exist (eq. (15)); expected a shorter period, a larger mass, or more "
                "stiffness or damping"
            )

    def accuracy(self, Z: float) -> float:
        """Z max|g'|: (48), (58) ask it to be far below 1 for the approximation to be valid."""
        return Z * max(abs(bound) for bound in self.slope_range)

    def check_dimension(self, dimension: int) -> None:  # noqa: B027 -- an isotropic law acts in any
        """Raises ValueError unless the law can act in that many dimensions; an isotropic one always can."""

    def _vectors(self, name: str, value: ArrayLike) -> np.ndarray:
        vectors = np.atleast_2d(np.require(value, dtype=float, requirements=["C", "W"]))
        if vectors.ndim != 2 or vectors.shape[1] < 1 or not (np.abs(vectors) < LARGEST).all():
            raise ValueError(
                f"{name}: expected finite numbers below {LARGEST:g} [m/s], shape (dimension,) or (n, dimension), "
                f"got {value!r}"
            )
        self.check_dimension(vectors.shape[1])
        return vectors


class ViscousCoulombLaw(FrictionLaw):
    """g(s) = F + D s, eqs. (24), (54), with Phi_Z of (25), (55).

    Args:
        force: kinetic friction force F [N], not negative.
        viscosity: viscous coefficient D [N s/m], not negative.
    """

    code = projection.COULOMB_VISCOUS

    def __init__(self, force: float, *, viscosity: float) -> None:
        F, D = checked("force", force, "N"), checked("viscosity", viscosity, "N s/m")
        self.coefficients, self.forces = np.array([F, D]), np.array([True, True])
        self.slope_range = (D, D)


class CoulombLaw(ViscousCoulombLaw):
    """g(s) = F, with Phi_Z of (23), (53).

    Args:
        force: kinetic friction force F [N], not negative.
    """

    def __init__(self, force: float) -> None:
        super().__init__(force, viscosity=0.0)


class StribeckLaw(FrictionLaw):
    """g(s) = Fc + (Fs - Fc) exp(-(s/vs)^2) + D s: static friction above kinetic friction.

    The fall of g between rest and the Stribeck velocity bounds Z, see `check_existence`: its steepest
    slope is D - (Fs - Fc) sqrt(2/e)/vs at s = vs/sqrt(2).

    Args:
        kinetic_force: Fc [N], not negative.
        static_force: Fs [N], not below Fc.
        stribeck_velocity: vs [m/s], above 0.
        viscosity: D [N s/m], not negative.
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


class TableLaw(FrictionLaw):
    """g through measured points, linear between them and constant beyond the last.

    Phi_Z is exact: the segment that contains the solution is found by bisection, and solved.

    Args:
        speed: s_j [m/s], shape (n,), rising, the first is 0.
        force: g(s_j) [N], shape (n,), above 0 (the first may be 0).
    """

    code = projection.TABLE

    def __init__(self, speed: ArrayLike, force: ArrayLike) -> None:
        speeds, forces = (np.asarray(values, dtype=float) for values in (speed, force))
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


class FunctionLaw(FrictionLaw):
    """Any g with its derivative, compiled; Phi_Z by Newton's method kept in a bracket by bisection.

    Both functions take a speed [m/s] as a float and may use `math`, `numpy` and numbers from around them.
    They are inspected between 1e-9 and 1000 m/s.

    Args:
        magnitude: g(s) [N], continuous and above 0 for s > 0; g(0) is the limit at rest.
        slope: its derivative g'(s) [N s/m].

    Raises:
        ValueError: a function cannot be compiled, a value is not finite or not positive, or `slope` is not the
            derivative of `magnitude`.
    """

    code = projection.FUNCTION

    def __init__(self, magnitude: Callable[[float], float], slope: Callable[[float], float]) -> None:
        compiled = [_compiled("magnitude", magnitude), _compiled("slope", slope)]
        self._functions = compiled  # keeps the code at these addresses alive
        g, rate = (np.array([function.ctypes(s) for s in INSPECTED_SPEEDS]) for function in compiled)
        for name, function, values in zip(("magnitude", "slope"), compiled, (g, rate[1:]), strict=True):
            if not np.isfinite(values).all():
                s = INSPECTED_SPEEDS[-len(values) :][~np.isfinite(values)][0]
                raise ValueError(
                    f"{name}: expected a finite number at every speed, got {function.ctypes(s)} at {s:g} m/s"
                )
        if (g[1:] <= 0.0).any() or g[0] < 0.0:
            s = INSPECTED_SPEEDS[1:][g[1:] <= 0.0]
            raise ValueError(
                f"magnitude: expected a force above 0, got a smaller one at {s[0] if len(s) else 0.0:g} m/s"
            )
        self._check_derivative(rate)
        self.coefficients = np.array([g[0], 0.0, 0.0])
        self.coefficients.view(np.int64)[1:] = [function.address for function in compiled]
        self.slope_range = (self._extreme(rate, 1.0), -self._extreme(-rate, -1.0))

    def _check_derivative(self, rate: np.ndarray) -> None:
        """Compares g' with central differences of g where their rounding leaves six digits."""
        g = self._functions[0].ctypes
        for s, expected in zip(INSPECTED_SPEEDS[1::40], rate[1::40], strict=True):
            step = 1e-5 * s
            measured = (g(s + step) - g(s - step)) / (2.0 * step)
            rounding = 4e-16 * abs(g(s)) / step
            if abs(measured - expected) > 1e-3 * abs(expected) + 10.0 * rounding + 1e-9:
                raise ValueError(
                    f"slope: expected the derivative of magnitude, {measured:.6g} N s/m at {s:.6g} m/s, "
                    f"got {expected:.6g}"
                )

    def _extreme(self, rate: np.ndarray, sign: float) -> float:
        """Least value of sign g' at the inspected speeds and between the neighbours of the best of them."""
        best = int(np.argmin(rate[1:])) + 1
        low, high = INSPECTED_SPEEDS[max(best - 1, 0)], INSPECTED_SPEEDS[min(best + 1, len(rate) - 1)]
        slope = self._functions[1].ctypes
        refined = scipy.optimize.minimize_scalar(
            lambda s: sign * slope(s), bounds=(low, high), method="bounded", options={"xatol": 1e-9 * high}
        )
        return float(min(rate[best], refined.fun))


def _compiled(name: str, function: Callable[[float], float]) -> Any:
    """The function as machine code; of a compiler's many lines the first one that says why it is refused."""
    try:
        return cfunc("float64(float64)", error_model="numpy")(function)
    except Exception as error:  # beside its own errors, numba lets some of Python's through
        lines = [line.strip() for line in str(error).splitlines()]
        reasons = [line for line in lines if line and not line.startswith("Failed in nopython mode")]
        reason = reasons[0] if reasons else type(error).__name__
        raise ValueError(f"{name}: cannot be compiled: {reason}") from error


class AnisotropicLaw(FrictionLaw):
    """Phi(v) = S v/|v| + V v with friction tensors S and V.

    The static set F, eq. (50), is the ellipsoid of S. Phi_Z is exact where S and V have common principal
    axes (a scalar V always has); otherwise existence and uniqueness are not guaranteed, as the paper
    says, and only the approximation (59) is offered: `AnisotropicLaw(S, viscosity=V, exact=False)`.

    Args:
        force_tensor: S [N], shape (n, n), symmetric, positive definite.
        viscosity: V [N s/m], a number or shape (n, n), symmetric, positive semidefinite.
        exact: False gives the law with the approximation (59), see `approximated`.
    """

    code = projection.ANISOTROPIC

    def __init__(self, force_tensor: ArrayLike, *, viscosity: ArrayLike = 0.0, exact: bool = True) -> None:
        S = _symmetric("force_tensor", force_tensor)
        self.dimension = n = len(S)
        V = _symmetric("viscosity", viscosity if np.ndim(viscosity) else np.multiply(viscosity, np.eye(n)))
        if V.shape != S.shape:
            raise ValueError(f"viscosity: expected shape {S.shape} or a number, got {V.shape}")
        forces = np.linalg.eigvalsh(S)
        if not forces[0] > 0.0:
            raise ValueError(f"force_tensor: expected positive eigenvalues [N], got {forces}")
        viscosities = np.linalg.eigvalsh(V)
        if viscosities[0] < -1e-12 * max(1.0, viscosities[-1]):
            raise ValueError(f"viscosity: expected no negative eigenvalue [N s/m], got {viscosities}")
        mismatch = float(np.linalg.norm(S @ V - V @ S))
        if exact and mismatch > 1e-9 * np.linalg.norm(S) * np.linalg.norm(V):
            raise ValueError(
                "viscosity: expected the principal axes of force_tensor for an exact Phi_Z, "
                f"got tensors with |S V - V S| = {mismatch:.3g} N^2 s/m; use exact=False for (59)"
            )
        Q = _common_axes(S, V)
        sigma, nu = (np.einsum("ji,jk,ki->i", Q, tensor, Q) for tensor in (S, V))
        self.coefficients = np.concatenate(
            ([forces[-1], float(n)], sigma, np.maximum(nu, 0.0), Q.ravel(), S.ravel(), V.ravel())
        )
        self.forces = np.ones(len(self.coefficients), dtype=bool)
        self.forces[1], self.forces[2 + 2 * n : 2 + 2 * n + n * n] = False, False  # n and Q
        self.slope_range = (max(float(viscosities[0]), 0.0), float(viscosities[-1]))
        if not exact:
            self.code |= projection.APPROXIMATE

    def accuracy(self, Z: float) -> float:
        """As for other laws where S is isotropic; infinite elsewhere: (59) has no such condition.

        (59) changes the static set: with S = diag(4, 1) N and V = 0 it holds 2.92 N at 45 degrees, where
        the exact limit is 1.37 N, for every Z.
        """
        sigma = self.coefficients[2 : 2 + self.dimension]
        isotropic = np.ptp(sigma) <= 1e-12 * sigma.max()
        return super().accuracy(Z) if isotropic else math.inf

    def magnitude(self, speed: float) -> float:
        """An anisotropic law has no g; raises ValueError."""
        raise ValueError("law: an anisotropic law has no magnitude g(s); use force(velocity)")

    slope = magnitude

    def check_dimension(self, dimension: int) -> None:
        if dimension != self.dimension:
            raise ValueError(f"dimension: expected {self.dimension}, that of force_tensor, got {dimension}")


def _symmetric(name: str, value: ArrayLike) -> np.ndarray:
    tensor = np.asarray(value, dtype=float)
    if tensor.ndim != 2 or tensor.shape[0] != tensor.shape[1] or not np.isfinite(tensor).all():
        raise ValueError(f"{name}: expected a finite tensor, shape (n, n), got {value!r}")
    if np.abs(tensor - tensor.T).max() > 1e-12 * np.abs(tensor).max():
        raise ValueError(f"{name}: expected a symmetric tensor, got {value!r}")
    return 0.5 * (tensor + tensor.T)


def _common_axes(S: np.ndarray, V: np.ndarray) -> np.ndarray:
    """Orthogonal Q, its columns the principal axes of both tensors, where they have common ones.

    Within equal eigenvalues of S the axes are free; a generic S + a V has those of both. Two eigenvalues of
    it are equal by chance for one a per pair of axes at most, so of one a more than pairs the best is taken.
    """
    tensors = (S / np.linalg.norm(S), V / max(np.linalg.norm(V), 1e-300))

    def leftover(Q: np.ndarray) -> float:
        turned = [Q.T @ tensor @ Q for tensor in tensors]
        return sum(float(np.linalg.norm(tensor - np.diag(np.diag(tensor)))) for tensor in turned)

    weights = np.linspace(0.5, 1.0, len(S) * (len(S) - 1) // 2 + 1)
    return min((np.linalg.eigh(tensors[0] + a * tensors[1])[1] for a in weights), key=leftover)
